#include "assay/abft/threshold.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <stdexcept>

#include "assay/base/text.h"

namespace assay {
namespace {

constexpr Threshold kThresholds[] = {
    {"rounding_variance", ThresholdRule::kRoundingVariance,
     "min(kappa sigma, sum ulp/2) + accumulation; sigma^2 = sum ulp(c)^2 / 12 over the columns of "
     "a "
     "check",
     "assay (docs/abft.md): errors of nearest-even rounding are sub-Gaussian with their own "
     "variance",
     "outputs rounded by nearest_even; float32 accumulator rounded by nearest_even; not float64 "
     "results",
     "groups columns confirm delta kappa coarse arithmetic"},
    {"v_abft", ThresholdRule::kVAbft,
     "e_max (N|mu_A| sum|mu_B| + c sqrt(N mu_A^2 sum s_B^2 + N^2 s_A^2 sum mu_B^2) + c sqrt(N) s_A "
     "sqrt(sum s_B^2)), s^2 = (max - mu)(mu - min)",
     "V-ABFT design specification 1.2; arXiv 2602.08043",
     "e_max must be that of the machine; rows with outliers raise it",
     "variant e_max c columns confirm arithmetic"},
    {"a_abft", ThresholdRule::kAAbft,
     "mixed-precision A-ABFT: worst-case growth of rounding errors of C, A, B and both checksums",
     "V-ABFT design specification 1.2, section 4 (after Braun, Halder, Wunderlich, DSN 2014)",
     "fails on data whose mean is far from 0 when checksums are rounded to 16 bits",
     "columns confirm arithmetic"},
};

const Threshold& threshold_named(std::string_view name) {
  std::vector<std::string> names;
  for (const Threshold& t : kThresholds) {
    if (t.name == name) return t;
    names.emplace_back(t.name);
  }
  const std::string near = nearest_word(name, names);
  throw std::invalid_argument(format("unknown threshold '{}'{}; known: {}", name,
                                     near.empty() ? "" : format(": did you mean '{}'?", near),
                                     joined(names)));
}

double positive_number(std::string_view spec, std::string_view key, const std::string& text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || !(value > 0) ||
      !std::isfinite(value)) {
    throw std::invalid_argument(
        format("threshold '{}': {} must be a number above 0, not '{}'", spec, key, text));
  }
  return value;
}

bool yes_or_no(std::string_view spec, std::string_view key, const std::string& text) {
  if (text == "1" || text == "true") return true;
  if (text == "0" || text == "false") return false;
  throw std::invalid_argument(
      format("threshold '{}': {} must be 0 or 1, not '{}'", spec, key, text));
}

}  // namespace

std::span<const Threshold> thresholds() { return kThresholds; }

int ThresholdSpec::group_width() const {
  if (groups >= 0) return groups;
  return threshold->rule == ThresholdRule::kRoundingVariance ? 16 : 0;
}

std::string ThresholdSpec::text() const {
  std::string out(threshold->name);
  if (groups >= 0) out += format(",groups={}", groups);
  if (columns) out += ",columns=1";
  const bool confirms = threshold->rule == ThresholdRule::kRoundingVariance;
  if (confirm != confirms) out += format(",confirm={}", confirm ? 1 : 0);
  const bool has_budget = threshold->rule == ThresholdRule::kRoundingVariance;
  if (has_budget && delta != 1e-9) out += format(",delta={}", delta);
  if (kappa) out += format(",kappa={}", *kappa);
  if (coarse) out += ",coarse=1";
  if (threshold->rule == ThresholdRule::kVAbft && variant != "seed") out += ",variant=" + variant;
  if (e_max) out += format(",e_max={}", *e_max);
  if (c) out += format(",c={}", *c);
  if (arithmetic == Arithmetic::kOutput) out += ",arithmetic=output";
  return out;
}

ThresholdSpec parse_threshold(std::string_view text) {
  const std::vector<std::string> parts = split(text, ',');
  ThresholdSpec spec;
  spec.threshold = &threshold_named(parts.empty() ? "" : parts[0]);
  spec.confirm = spec.threshold->rule == ThresholdRule::kRoundingVariance;
  const std::vector<std::string> known = split(spec.threshold->parameters, ' ');
  for (std::size_t i = 1; i < parts.size(); ++i) {
    const std::size_t equals = parts[i].find('=');
    const std::string key = parts[i].substr(0, equals);
    const std::string value = equals == std::string::npos ? "" : parts[i].substr(equals + 1);
    if (std::find(known.begin(), known.end(), key) == known.end()) {
      const std::string near = nearest_word(key, known);
      throw std::invalid_argument(
          format("threshold '{}': {} takes no '{}'{}; it takes {}", text, spec.threshold->name, key,
                 near.empty() ? "" : format(" (did you mean '{}'?)", near), joined(known)));
    }
    if (key == "groups") {
      const auto [end, error] =
          std::from_chars(value.data(), value.data() + value.size(), spec.groups);
      if (error != std::errc() || end != value.data() + value.size() || spec.groups < 0) {
        throw std::invalid_argument(format(
            "threshold '{}': groups must be a number of columns, or 0 for whole rows", text));
      }
    } else if (key == "columns") {
      spec.columns = yes_or_no(text, key, value);
    } else if (key == "confirm") {
      spec.confirm = yes_or_no(text, key, value);
    } else if (key == "coarse") {
      spec.coarse = yes_or_no(text, key, value);
    } else if (key == "delta") {
      spec.delta = positive_number(text, key, value);
      if (spec.delta >= 1) {
        throw std::invalid_argument(
            format("threshold '{}': delta is a probability, below 1", text));
      }
    } else if (key == "kappa") {
      spec.kappa = positive_number(text, key, value);
    } else if (key == "e_max") {
      spec.e_max = positive_number(text, key, value);
    } else if (key == "c") {
      spec.c = positive_number(text, key, value);
    } else if (key == "variant") {
      if (value != "seed" && value != "recalibrated") {
        throw std::invalid_argument(
            format("threshold '{}': variant must be seed or recalibrated, not '{}'", text, value));
      }
      spec.variant = value;
    } else {
      if (value != "float64" && value != "output") {
        throw std::invalid_argument(
            format("threshold '{}': arithmetic must be float64 or output, not '{}'", text, value));
      }
      spec.arithmetic = value == "output" ? Arithmetic::kOutput : Arithmetic::kFloat64;
    }
  }
  return spec;
}

VAbftConstants v_abft_constants(const ThresholdSpec& spec, const Format& output, std::int64_t k) {
  VAbftConstants constants{0, 0};
  if (spec.variant == "recalibrated") {
    constants.c = 5.39;  // sqrt(2 ln(2 / 1e-6))
    if (output.name == "float32") {
      constants.e_max = 1.377e-6 * std::sqrt(static_cast<double>(k) / 1024);
    } else if (output.name == "float64") {
      constants.e_max = 7.5e-16;
    } else if (output.name == "bfloat16") {
      constants.e_max = 8e-3;
    } else if (output.name == "float16") {
      constants.e_max = 1e-3;
    } else if (!spec.e_max) {
      throw std::invalid_argument(
          format("v_abft: the variant recalibrated has no e_max for {}", output.name));
    }
  } else {
    constants.c = 2.5;
    if (output.name == "float32") {
      constants.e_max = 2.2e-6;
    } else if (output.name == "bfloat16") {
      constants.e_max = 8e-3;
    } else if (output.name == "float16") {
      constants.e_max = 1e-3;
    } else {
      constants = {3 * unit_roundoff(output), 4};  // the document's first guess
    }
  }
  return {spec.e_max.value_or(constants.e_max), spec.c.value_or(constants.c)};
}

double kappa_for(std::int64_t checks, double delta) {
  return std::sqrt(2 *
                   std::log(2 * static_cast<double>(std::max<std::int64_t>(checks, 1)) / delta));
}

}  // namespace assay
