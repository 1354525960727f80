// Thresholds for |row sum - checksum|: a table with their code, and the parameters that a user may
// set for each.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>

#include "assay/format/format.h"
#include "assay/simd/bound_form_kernel.h"

namespace assay::abft {

struct CheckedProduct;
struct Prepared;
class RowForms;
struct ThresholdParameter;
struct ThresholdSpec;

// The precision in which the checksums are computed and compared. This is a table as well.
enum class Arithmetic : std::uint8_t { kFloat64, kFloat32, kHiLo, kOutput, kMachine };
struct ArithmeticRow {
  Arithmetic arithmetic;
  std::string_view name;
  std::string_view summary;
};
std::span<const ArithmeticRow> arithmetics();
std::string_view arithmetic_name(Arithmetic arithmetic);

// Reads the first `width` of every `period` indices.
struct Sampling {
  int width = 1, period = 1;
  bool all() const { return width >= period; }
  friend bool operator==(const Sampling&, const Sampling&) = default;
};

// A published version of a threshold, and the values that it gives to other parameters.
struct ThresholdVariant {
  std::string_view name;
  Sampling sample_a = {};
  bool recheck = false;
  bool reads_products = false;  // for reads_operand_sizes: also reads max_k |a_ik (sum_j b_kj)|
};

// A row of the table: the description of a threshold, its parameters, its properties, and its code.
struct Threshold {
  std::string_view name;
  std::string_view summary;
  std::string_view source;
  std::string_view validity;
  std::span<const ThresholdParameter* const> parameters;
  int groups = 0;                                   // default columns per check, 0 for whole rows
  Arithmetic arithmetic = Arithmetic::kFloat64;     // the default
  std::span<const ThresholdVariant> variants = {};  // the first is the default

  bool confirms = false;         // by default, elements are judged before a check is reported
  bool golden_suffices = false;  // a golden result is enough, without operands
  bool takes_residuals = false;  // needs R, the loss in the cast of C, and checks R as well
  // T is computed from variances. The variance of C's rounding comes from its ulps. The variance of
  // the accumulation comes from the products and the squares of C. If the outputs have fewer than
  // 24 bits, bounds of the squares are used.
  bool by_variance = false;
  bool reads_sizes = false;  // its forms read max |c|
  // its forms also read sum |c|, and depend on max |c| / mean |c| of all rows
  bool reads_peaks = false;
  bool reads_operand_sizes = false;  // its forms read Checksums::sizes

  // Computes what depends only on the operands, once per product and format of outputs. May be
  // null.
  void (*prepare)(const CheckedProduct& product, const Format& output, Prepared& to) = nullptr;
  // Returns the form of the check of group `group` of row `row`.
  simd::BoundForm (*form)(const RowForms& rows, std::int64_t row, std::int64_t group) = nullptr;
  // Returns why the threshold cannot judge float outputs of this format. Empty if it can. Reasons
  // that hold for all thresholds are checked elsewhere. Null if the threshold has no reasons of its
  // own.
  std::string (*why_not)(const CheckedProduct& product, const Format& output) = nullptr;

  bool takes(std::string_view parameter) const;
  int checks_each() const { return takes_residuals ? 2 : 1; }  // for each group of columns
  std::string_view default_variant() const { return variants.empty() ? "" : variants[0].name; }
};
std::span<const Threshold> thresholds();

inline constexpr std::string_view kDefaultThreshold = "rounding_variance";

// The rule by which v_abft computes the deviation of a row of n values with mean mu.
enum class Spread : std::uint8_t {
  kBound,      // sigma^2 = (max - mu)(mu - min), an upper bound
  kExtreme,    // (max - mu) / sqrt(2 ln n)
  kDeviation,  // the standard deviation itself
};

// A threshold with its parameters: "rounding_variance,groups=16", "v_abft,variant=recalibrated".
struct ThresholdSpec {
  const Threshold* threshold = nullptr;
  int groups = -1;       // columns of C per check, 0 for whole rows, -1 for the default
  bool columns = false;  // check columns of C as well
  // judge each element before a check is reported; parse_threshold sets it if the threshold
  // confirms
  bool confirm = false;
  double delta = 1e-9;             // false-alarm budget over all checks of a case
  std::optional<double> kappa;     // overrides the value that follows from delta
  bool coarse = false;             // the inputs reach few bits below the output's ulp: ulp^2 / 8
  std::string variant = "";        // the name of one of the threshold's variants
  std::optional<double> e_max, c;  // for v_abft: override the variant's values
  Spread sigma = Spread::kBound;   // for v_abft
  Sampling sample_a, sample_b;     // for v_abft: the columns that means and deviations cover
  double raise = 1;                // for v_abft, sampled: factor of the threshold
  bool recheck = false;  // for v_abft, sampled: a detection is checked again without sampling
  int top = 0;           // for a_abft_original: y from the `top` largest values, 0 for the exact y
  std::optional<double> lambda;  // for analytic: probabilistic, with this lambda
  Arithmetic arithmetic = Arithmetic::kFloat64;

  int group_width() const;  // as requested, 0 for whole rows
  // Columns per check, at least 1, and checks per row, for rows of `columns_of_c` columns.
  std::int64_t width_of(std::int64_t columns_of_c) const;
  std::int64_t groups_of(std::int64_t columns_of_c) const;
  bool sampled() const { return !sample_a.all() || !sample_b.all(); }
  std::string text() const;  // in the form that parse_threshold reads
};

// A parameter of a threshold, such as "groups" in "rounding_variance,groups=8".
struct ThresholdParameter {
  std::string_view name;
  std::string_view words;  // what it sets, for `assay list thresholds`
  std::variant<bool ThresholdSpec::*, int ThresholdSpec::*, double ThresholdSpec::*,
               std::optional<double> ThresholdSpec::*, Sampling ThresholdSpec::*,
               std::string ThresholdSpec::*, Spread ThresholdSpec::*, Arithmetic ThresholdSpec::*>
      field;
  std::string_view wanted = {};  // describes its whole numbers, for messages
};

// Returns the variant of the spec. If the threshold has no variants, returns one that sets nothing.
const ThresholdVariant& variant_of(const ThresholdSpec& spec);

// Reads a spec. Throws Refusal, which names the wrong part and the nearest known
// word.
ThresholdSpec parse_threshold(std::string_view text);

// Returns sqrt(2 ln(2 checks / delta)). For each check, P(|error| > kappa sigma) <= 2 exp(-kappa^2
// / 2).
double kappa_for(std::int64_t checks, double delta);

}  // namespace assay::abft

namespace assay {
using abft::kDefaultThreshold;
using abft::parse_threshold;
using abft::Threshold;
using abft::thresholds;
using abft::ThresholdSpec;
}  // namespace assay
