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

namespace assay::inline v0_2::abft {

struct CheckedProduct;
struct Prepared;
class RowForms;
struct ThresholdParameter;
struct ThresholdSpec;

// The precision in which the checksums are computed and compared. The table arithmetics() describes
// each.
enum class Arithmetic : std::uint8_t { kFloat64, kFloat32, kHiLo, kOutput, kMachine };
// A row of the table of these precisions.
struct ArithmeticRow {
  Arithmetic arithmetic;
  std::string_view name;
  std::string_view summary;
};
// Return all rows of the table, and the name in one of them, such as "hi_lo".
std::span<const ArithmeticRow> arithmetics();
std::string_view arithmetic_name(Arithmetic arithmetic);

// Selects the first `width` of every `period` indices.
struct Sampling {
  int width = 1, period = 1;
  bool all() const { return width >= period; }
  friend bool operator==(const Sampling&, const Sampling&) = default;
};

// A published version of a threshold. It gives values to other parameters.
struct ThresholdVariant {
  std::string_view name;
  Sampling sample_a = {};
  bool recheck = false;
  // True if a threshold with reads_operand_sizes also reads max_k |a_ik (sum_j b_kj)|.
  bool reads_products = false;
};

// A row of the table: the description of a threshold, its parameters, its properties, and its code.
struct Threshold {
  std::string_view name;
  std::string_view summary;
  std::string_view source;
  std::string_view validity;
  std::span<const ThresholdParameter* const> parameters;
  // Columns for each check by default. 0 means whole rows.
  int groups = 0;
  Arithmetic arithmetic = Arithmetic::kFloat64;     // the default
  std::span<const ThresholdVariant> variants = {};  // the first variant is the default

  bool confirms = false;  // by default, confirms checks above the threshold by their elements
  bool golden_suffices = false;  // can judge by a golden result, without operands
  // Needs the residual R, which is lost in the cast of C, and checks R as well.
  bool takes_residuals = false;
  // T is computed from variances. The variance of C's rounding comes from its ulps. The variance of
  // the accumulation comes from the products and the squares of C. If the outputs have fewer than
  // 24 bits of precision, bounds of the squares are used.
  bool by_variance = false;
  bool reads_sizes = false;  // true if its forms read max |c|
  // True if its forms also read sum |c|, and depend on max |c| / mean |c| of all rows.
  bool reads_peaks = false;
  bool reads_operand_sizes = false;  // true if its forms read Checksums::sizes

  // Computes the parts of the thresholds that depend only on the operands, once for each product
  // and format of outputs. May be null.
  void (*prepare)(const CheckedProduct& product, const Format& output, Prepared& to) = nullptr;
  // Returns the form of the check of group `group` of row `row`.
  simd::BoundForm (*form)(const RowForms& rows, std::int64_t row, std::int64_t group) = nullptr;
  // Returns why the threshold cannot judge float outputs of this format. Empty if it can. Reasons
  // that hold for all thresholds are checked elsewhere. Null if the threshold has no reasons of its
  // own.
  std::string (*why_not)(const CheckedProduct& product, const Format& output) = nullptr;

  bool takes(std::string_view parameter) const;
  // Returns the number of checks for each group of columns.
  int checks_each() const { return takes_residuals ? 2 : 1; }
  std::string_view default_variant() const { return variants.empty() ? "" : variants[0].name; }
};
// Returns all rows of the table.
std::span<const Threshold> thresholds();

// The name of the threshold that is used if nothing names another one.
inline constexpr std::string_view kDefaultThreshold = "rounding_variance";

// The rule by which v_abft computes the deviation of a row of n values with mean mu.
enum class Spread : std::uint8_t {
  kBound,      // sigma^2 = (max - mu)(mu - min), an upper bound
  kExtreme,    // sigma = (max - mu) / sqrt(2 ln n)
  kDeviation,  // sigma is the standard deviation itself
};

// A threshold with its parameters. In text, such as "rounding_variance,groups=16" or
// "v_abft,variant=recalibrated".
struct ThresholdSpec {
  const Threshold* threshold = nullptr;
  int groups = -1;       // columns of C per check, 0 for whole rows, -1 for the default
  bool columns = false;  // true if columns of C are checked as well
  // True if confirmation judges each element before a check is reported. parse_threshold() sets it
  // if the threshold confirms by default.
  bool confirm = false;
  double delta = 1e-9;          // false-alarm budget over all checks of a case
  std::optional<double> kappa;  // overrides the kappa that follows from delta
  // True if the values reach only few bits below the output's ulp. The variance of a rounding is
  // then ulp^2 / 8.
  bool coarse = false;
  std::string variant = "";        // the name of one of the threshold's variants
  std::optional<double> e_max, c;  // for v_abft: override the variant's values
  Spread sigma = Spread::kBound;   // for v_abft
  Sampling sample_a, sample_b;     // for v_abft: the columns that means and deviations cover
  double raise = 1;                // for v_abft with sampling: factor of the threshold
  // For v_abft with sampling: a detection is checked again without sampling.
  bool recheck = false;
  // For a_abft_original: y is computed from the `top` largest values. 0 means the exact y.
  int top = 0;
  std::optional<double> lambda;  // for analytic: makes the bound probabilistic, with this lambda
  Arithmetic arithmetic = Arithmetic::kFloat64;

  int group_width() const;  // columns as requested, 0 for whole rows
  // For rows of `columns_of_c` columns: width_of() is the number of columns of a check, at least 1,
  // and groups_of() is the number of checks of a row.
  std::int64_t width_of(std::int64_t columns_of_c) const;
  std::int64_t groups_of(std::int64_t columns_of_c) const;
  bool sampled() const { return !sample_a.all() || !sample_b.all(); }
  std::string text() const;  // Returns the spec in the form that parse_threshold() reads.
};

// A parameter of a threshold, such as "groups" in "rounding_variance,groups=8".
struct ThresholdParameter {
  std::string_view name;
  std::string_view words;  // what the parameter sets, as `assay list thresholds` prints it
  std::variant<bool ThresholdSpec::*, int ThresholdSpec::*, double ThresholdSpec::*,
               std::optional<double> ThresholdSpec::*, Sampling ThresholdSpec::*,
               std::string ThresholdSpec::*, Spread ThresholdSpec::*, Arithmetic ThresholdSpec::*>
      field;
  std::string_view wanted = {};  // describes the whole numbers that it takes, for messages
};

// Returns the variant that the spec names. If the threshold has no variants, returns one that sets
// nothing.
const ThresholdVariant& variant_of(const ThresholdSpec& spec);

// Reads a spec. Throws Refusal, which names the wrong part and the nearest known
// word.
ThresholdSpec parse_threshold(std::string_view text);

// Returns sqrt(2 ln(2 checks / delta)). For each check, P(|error| > kappa sigma) <= 2 exp(-kappa^2
// / 2).
double kappa_for(std::int64_t checks, double delta);

}  // namespace assay::abft

namespace assay::inline v0_2 {
using abft::kDefaultThreshold;
using abft::parse_threshold;
using abft::Threshold;
using abft::thresholds;
using abft::ThresholdSpec;
}  // namespace assay
