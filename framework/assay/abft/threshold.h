// Thresholds for |row sum - checksum|: rows of a table, and what a user may set of each.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "assay/format/format.h"

namespace assay {

// In what precision the checksums are compared.
enum class Arithmetic : std::uint8_t {
  kFloat64,  // a host checks a dump
  kOutput,  // row sum and checksum are both rounded to the output's format, as on the device of the
            // published 910B experiment
};

enum class ThresholdRule : std::uint8_t { kRoundingVariance, kVAbft, kAAbft };

struct Threshold {
  std::string_view name;
  ThresholdRule rule;
  std::string_view summary;
  std::string_view source;
  std::string_view validity;
  std::string_view parameters;  // names that its spec takes, separated by blanks
};
std::span<const Threshold> thresholds();

inline constexpr std::string_view kDefaultThreshold = "rounding_variance";

// A threshold with its parameters: "rounding_variance,groups=16", "v_abft,variant=recalibrated".
struct ThresholdSpec {
  const Threshold* threshold = nullptr;
  int groups = -1;               // columns of C a check; 0: whole rows; -1: the threshold's default
  bool columns = false;          // check columns of C as well
  bool confirm = false;          // look at each element before a check is reported; parse_threshold
                                 // turns it on for rounding_variance
  double delta = 1e-9;           // false-alarm budget over all checks of a case
  std::optional<double> kappa;   // instead of the one that follows from delta
  bool coarse = false;           // inputs reach few bits below the output's ulp: ulp^2 / 8
  std::string variant = "seed";  // v_abft: seed, recalibrated
  std::optional<double> e_max, c;  // v_abft: instead of the variant's
  Arithmetic arithmetic = Arithmetic::kFloat64;

  int group_width() const;
  std::string text() const;  // what parse_threshold reads
};

// Throws std::invalid_argument that names the part which is wrong, with the nearest known word.
ThresholdSpec parse_threshold(std::string_view text);

// e_max and c of v_abft for an output format and depth K. Throws std::invalid_argument where the
// variant lacks the format.
struct VAbftConstants {
  double e_max, c;
};
VAbftConstants v_abft_constants(const ThresholdSpec& spec, const Format& output, std::int64_t k);

// sqrt(2 ln(2 checks / delta)): P(|error| > kappa sigma) <= 2 exp(-kappa^2 / 2) a check.
double kappa_for(std::int64_t checks, double delta);

}  // namespace assay
