// Thresholds for |row sum - checksum|: rows of a table with their code, and what a user may set of
// each.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "assay/format/format.h"
#include "assay/simd/bound_form_kernel.h"

namespace assay {
class SpecText;  // base/call_text.h
}

namespace assay::abft {

struct CheckedProduct;
struct Prepared;
class RowForms;
struct ThresholdSpec;

// In what precision the checksums are computed and compared: rows of a table too.
enum class Arithmetic : std::uint8_t { kFloat64, kFloat32, kHiLo, kOutput, kMachine };
struct ArithmeticRow {
  Arithmetic arithmetic;
  std::string_view name;
  std::string_view summary;
};
std::span<const ArithmeticRow> arithmetics();
std::string_view arithmetic_name(Arithmetic arithmetic);

// Of every `period` indices the first `width` are looked at.
struct Sampling {
  int width = 1, period = 1;
  bool all() const { return width >= period; }
  friend bool operator==(const Sampling&, const Sampling&) = default;
};

// What a spec may set of a threshold: "groups" of "rounding_variance,groups=8".
struct ThresholdParameter {
  std::string_view name;
  std::string_view words;  // what it sets, for `assay list thresholds`
  // Reads its value, which the text sets, into the spec. Throws std::invalid_argument that quotes
  // the whole text.
  void (*read)(ThresholdSpec& spec, const SpecText& text);
  // The value as it is read; empty where it is the default.
  std::string (*written)(const ThresholdSpec& spec);
};

// One of the published versions of a threshold, and what it sets of the other parameters.
struct ThresholdVariant {
  std::string_view name;
  Sampling sample_a = {};
  bool recheck = false;
  bool reads_products = false;  // of reads_operand_sizes: also max_k |a_ik (sum_j b_kj)|
};

// A row of the table: what it is in words, what may be set, what its code may be asked for, and its
// code.
struct Threshold {
  std::string_view name;
  std::string_view summary;
  std::string_view source;
  std::string_view validity;
  std::span<const ThresholdParameter* const> parameters;
  int groups = 0;                                   // columns a check unless told; 0: whole rows
  Arithmetic arithmetic = Arithmetic::kFloat64;     // unless told
  std::span<const ThresholdVariant> variants = {};  // the first unless told

  bool confirms = false;         // unless told, elements are looked at before a check is reported
  bool golden_suffices = false;  // a golden result alone is enough; else the operands are needed
  bool takes_residuals = false;  // needs R, what the cast of C took away, and checks it as well
  // T is made of variances: that of C's roundings from its ulps, that of the accumulation from the
  // products and the squares of C (of outputs below 24 bits from bounds of them).
  bool by_variance = false;
  bool reads_sizes = false;          // its forms read max |c|
  bool reads_peaks = false;          // and sum |c|: they depend on max |c| / mean |c| of all rows
  bool reads_operand_sizes = false;  // its forms read Checksums::sizes

  // What follows from the operands alone, once a product and format of outputs; null: nothing.
  void (*prepare)(const CheckedProduct& product, const Format& output, Prepared& to) = nullptr;
  // The form of the check of group `group` of row `row`.
  simd::BoundForm (*form)(const RowForms& rows, std::int64_t row, std::int64_t group) = nullptr;
  // Why it cannot judge float outputs of this format beyond what holds for all thresholds; empty
  // where it can. Null: it always can.
  std::string (*why_not)(const CheckedProduct& product, const Format& output) = nullptr;

  bool takes(std::string_view parameter) const;
  int checks_each() const { return takes_residuals ? 2 : 1; }  // of a group of columns
  std::string_view default_variant() const { return variants.empty() ? "" : variants[0].name; }
};
std::span<const Threshold> thresholds();

inline constexpr std::string_view kDefaultThreshold = "rounding_variance";

// How v_abft takes the deviation of a row of n values with mean mu.
enum class Spread : std::uint8_t {
  kBound,      // sigma^2 = (max - mu)(mu - min), an upper bound
  kExtreme,    // (max - mu) / sqrt(2 ln n)
  kDeviation,  // the deviation
};

// A threshold with its parameters: "rounding_variance,groups=16", "v_abft,variant=recalibrated".
struct ThresholdSpec {
  const Threshold* threshold = nullptr;
  int groups = -1;              // columns of C a check; 0: whole rows; -1: the threshold's default
  bool columns = false;         // check columns of C as well
  bool confirm = false;         // look at each element before a check is reported; parse_threshold
                                // turns it on where the threshold confirms
  double delta = 1e-9;          // false-alarm budget over all checks of a case
  std::optional<double> kappa;  // instead of the one that follows from delta
  bool coarse = false;          // inputs reach few bits below the output's ulp: ulp^2 / 8
  std::string variant = "";     // the name of one of the threshold's variants
  std::optional<double> e_max, c;  // v_abft: instead of the variant's
  Spread sigma = Spread::kBound;   // v_abft
  Sampling sample_a, sample_b;     // v_abft: what means and deviations are taken of
  double raise = 1;                // v_abft, sampled: the threshold times this
  bool recheck = false;            // v_abft, sampled: a detection is checked again with everything
  int top = 0;                     // a_abft_original: y from so many largest values; 0: exactly
  std::optional<double> lambda;    // analytic: probabilistic, with this lambda
  Arithmetic arithmetic = Arithmetic::kFloat64;

  int group_width() const;  // as asked for; 0: whole rows
  // Columns of a check of rows of so many columns, at least 1, and how many checks a row has.
  std::int64_t width_of(std::int64_t columns_of_c) const;
  std::int64_t groups_of(std::int64_t columns_of_c) const;
  bool sampled() const { return !sample_a.all() || !sample_b.all(); }
  std::string text() const;  // what parse_threshold reads
};

// The spec's own variant; one that sets nothing where the threshold has none.
const ThresholdVariant& variant_of(const ThresholdSpec& spec);

// Throws std::invalid_argument that names the part which is wrong, with the nearest known word.
ThresholdSpec parse_threshold(std::string_view text);

// sqrt(2 ln(2 checks / delta)): P(|error| > kappa sigma) <= 2 exp(-kappa^2 / 2) a check.
double kappa_for(std::int64_t checks, double delta);

}  // namespace assay::abft

namespace assay {
using abft::kDefaultThreshold;
using abft::parse_threshold;
using abft::Threshold;
using abft::thresholds;
using abft::ThresholdSpec;
}  // namespace assay
