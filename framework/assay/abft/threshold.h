// Thresholds for |row sum - checksum|: rows of a table, and what a user may set of each.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "assay/format/format.h"

namespace assay {

// In what precision the checksums are computed and compared: rows of a table too.
enum class Arithmetic : std::uint8_t { kFloat64, kFloat32, kHiLo, kOutput, kMachine };
struct ArithmeticRow {
  Arithmetic arithmetic;
  std::string_view name;
  std::string_view summary;
};
std::span<const ArithmeticRow> arithmetics();
std::string_view arithmetic_name(Arithmetic arithmetic);

enum class ThresholdRule : std::uint8_t {
  kRoundingVariance,
  kResidualCompensated,
  kVAbft,
  kAAbft,
  kAAbftOriginal,
  kSeaAbft,
  kAnalytic,
  kMeanOrMax,  // torch_npu, mindspore
};

struct Threshold {
  std::string_view name;
  ThresholdRule rule;
  std::string_view summary;
  std::string_view source;
  std::string_view validity;
  std::string_view parameters;                   // names that its spec takes, separated by blanks
  int groups = 0;                                // columns a check unless told; 0: whole rows
  Arithmetic arithmetic = Arithmetic::kFloat64;  // unless told
  std::string_view variant = "";                 // unless told
  double times = 1;                              // kMeanOrMax: T = times e + 1e-20 times
};
std::span<const Threshold> thresholds();

inline constexpr std::string_view kDefaultThreshold = "rounding_variance";

// Of every `period` indices the first `width` are looked at.
struct Sampling {
  int width = 1, period = 1;
  bool all() const { return width >= period; }
  friend bool operator==(const Sampling&, const Sampling&) = default;
};

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
                                // turns it on for rounding_variance
  double delta = 1e-9;          // false-alarm budget over all checks of a case
  std::optional<double> kappa;  // instead of the one that follows from delta
  bool coarse = false;          // inputs reach few bits below the output's ulp: ulp^2 / 8
  std::string variant = "";     // v_abft: seed, recalibrated, april, sampling, h100; a_abft: mixed,
                                // components; a_abft_original: row, matrix
  std::optional<double> e_max, c;  // v_abft: instead of the variant's
  Spread sigma = Spread::kBound;   // v_abft
  Sampling sample_a, sample_b;     // v_abft: what means and deviations are taken of
  double raise = 1;                // v_abft, sampled: the threshold times this
  bool recheck = false;            // v_abft, sampled: a detection is checked again with everything
  int top = 0;                     // a_abft_original: y from so many largest values; 0: exactly
  std::optional<double> lambda;    // analytic: probabilistic, with this lambda
  Arithmetic arithmetic = Arithmetic::kFloat64;

  int group_width() const;
  bool sampled() const { return !sample_a.all() || !sample_b.all(); }
  std::string text() const;  // what parse_threshold reads
};

// Throws std::invalid_argument that names the part which is wrong, with the nearest known word.
ThresholdSpec parse_threshold(std::string_view text);

// e_max and c of v_abft for an output format, depth K, and format of the operands. Throws
// std::invalid_argument where the variant lacks the format.
struct VAbftConstants {
  double e_max, c;
};
VAbftConstants v_abft_constants(const ThresholdSpec& spec, const Format& output, std::int64_t k,
                                const Format* input = nullptr);

// sqrt(2 ln(2 checks / delta)): P(|error| > kappa sigma) <= 2 exp(-kappa^2 / 2) a check.
double kappa_for(std::int64_t checks, double delta);

}  // namespace assay
