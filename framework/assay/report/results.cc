#include "assay/report/results.h"

#include <charconv>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "assay/base/text.h"

namespace assay {
namespace {

using Json = nlohmann::json;

[[noreturn]] void wrong(const std::string& key, const char* expected) {
  throw std::invalid_argument(format("'{}' must be {}", key, expected));
}

const Json& member(const Json& object, const char* key) {
  if (!object.is_object() || !object.contains(key)) {
    throw std::invalid_argument(
        format("has no '{}'; it may come from an older assay: judge the tensors again", key));
  }
  return object[key];
}

double number(const Json& object, const char* key) {
  const Json& value = member(object, key);
  if (value.is_number()) return value.get<double>();
  if (value == "inf") return std::numeric_limits<double>::infinity();
  if (value == "-inf") return -std::numeric_limits<double>::infinity();
  if (value == "nan") return std::numeric_limits<double>::quiet_NaN();
  wrong(key, "a number");
}

std::int64_t count(const Json& object, const char* key) {
  const Json& value = member(object, key);
  if (!value.is_number_integer() ||
      (value.is_number_unsigned() && value.get<std::uint64_t>() > INT64_MAX)) {
    wrong(key, "a whole number");
  }
  return value.get<std::int64_t>();
}

bool flag(const Json& object, const char* key) {
  const Json& value = member(object, key);
  if (!value.is_boolean()) wrong(key, "true or false");
  return value.get<bool>();
}

std::string text(const Json& object, const char* key) {
  const Json& value = member(object, key);
  if (!value.is_string()) wrong(key, "a string");
  return value.get<std::string>();
}

Tally tally(const Json& metrics, const char* side) {
  const Json& t = member(metrics, side);
  return {count(t, "nan"), count(t, "positive_inf"), count(t, "negative_inf"), count(t, "zero"),
          count(t, "subnormal")};
}

Histogram histogram(const Json& metrics, const char* key) {
  const Json& json = member(metrics, key);
  Histogram h;
  const std::int64_t per_octave = count(json, "per_octave");
  if (per_octave < 1 || per_octave > 65536) wrong(key, "a histogram of 1 to 65536 bins an octave");
  h.per_octave = static_cast<int>(per_octave);
  h.below = count(json, "below");
  h.above = count(json, "above");
  const std::string bins = text(json, "bins");
  for (const char *at = bins.data(), *end = at + bins.size(); at != end;) {
    std::pair<int, std::int64_t> bin;
    const auto [colon, error] = std::from_chars(at, end, bin.first);
    if (error != std::errc() || colon == end || *colon != ':')
      wrong(key, "bins as in \"-12:3 5:1\"");
    const auto [next, second] = std::from_chars(colon + 1, end, bin.second);
    if (second != std::errc() || (next != end && *next != ' ') || bin.second < 0)
      wrong(key, "bins as in \"-12:3 5:1\"");
    h.bins.push_back(bin);
    at = next == end ? end : next + 1;
  }
  return h;
}

Metrics metrics(const Json& json) {
  Metrics m;
  m.compared = count(json, "compared");
  m.bit_identical = flag(json, "bit_identical");
  m.max_abs_error = number(json, "max_abs_error");
  m.max_abs_index = count(json, "max_abs_index");
  m.mean_abs_error = number(json, "mean_abs_error");
  m.median_abs_error = number(json, "median_abs_error");
  m.p99_abs_error = number(json, "p99_abs_error");
  m.relative = count(json, "relative");
  m.errors_at_zero = count(json, "errors_at_zero");
  m.max_rel_error = number(json, "max_rel_error");
  m.max_rel_index = count(json, "max_rel_index");
  m.mean_rel_error = number(json, "mean_rel_error");
  m.median_rel_error = number(json, "median_rel_error");
  m.p99_rel_error = number(json, "p99_rel_error");
  m.rel_at_least_1e3 = count(json, "rel_at_least_1e-3");
  m.rel_at_least_1e4 = count(json, "rel_at_least_1e-4");
  m.rmse = number(json, "rmse");
  m.mere = number(json, "mere");
  m.mare = number(json, "mare");
  m.bias = number(json, "bias");
  m.error_balance = number(json, "error_balance");
  m.max_balanced_error = number(json, "max_balanced_error");
  m.max_abs_expected = number(json, "max_abs_expected");
  m.ulp_compared = count(json, "ulp_compared");
  const Json& ulps = member(json, "max_ulp");
  if (!ulps.is_number_unsigned()) wrong("max_ulp", "a whole number");
  m.max_ulps = ulps.get<std::uint64_t>();
  m.mean_ulps = number(json, "mean_ulp");
  m.p99_ulps = number(json, "p99_ulp");
  m.over_1_ulp = count(json, "over_1_ulp");
  m.over_32_ulps = count(json, "over_32_ulp");
  m.small_limit = number(json, "small_limit");
  m.small_error = number(json, "small_error");
  m.small_values = count(json, "small_values");
  m.small_value_errors = count(json, "small_value_errors");
  m.snr_db = number(json, "snr_db");
  m.psnr_db = number(json, "psnr_db");
  m.cosine = number(json, "cosine");
  m.relative_l2 = number(json, "relative_l2");
  m.diff1 = number(json, "diff1");
  m.diff2 = number(json, "diff2");
  m.deepgemm_diff = number(json, "deepgemm_diff");
  m.required_rtol = number(json, "required_rtol");
  m.required_atol = number(json, "required_atol");
  m.required_at_rtol = number(json, "required_at_rtol");
  m.required_at_atol = number(json, "required_at_atol");
  m.required_rounded = flag(json, "required_rounded");
  m.expected_rounds = flag(json, "expected_rounds");
  m.both_nan = count(json, "both_nan");
  m.inf_mismatch = count(json, "inf_mismatch");
  m.actual = tally(json, "actual");
  m.expected = tally(json, "expected");
  m.abs_errors = histogram(json, "abs_error_histogram");
  m.rel_errors = histogram(json, "rel_error_histogram");
  m.ulps = histogram(json, "ulp_histogram");
  return m;
}

// `entry`: a case of a gate, or the verdict of a comparison.
SavedResult result(const Json& entry) {
  SavedResult saved;
  if (entry.contains("case")) saved.name = text(entry, "case");
  saved.because = text(entry, "because");
  if (entry.contains("sites")) saved.sites = count(entry, "sites");
  if (entry.contains("dtype")) {
    const std::string dtype = text(entry, "dtype");
    if (!dtype.empty()) saved.format = &format_named(dtype);
  }
  const auto add = [&](const Json& verdict) {
    const bool has = verdict.contains("metrics") && !verdict["metrics"].empty();
    if (has) saved.metrics.push_back(metrics(verdict["metrics"]));
  };
  if (entry.contains("verdicts")) {
    if (!entry["verdicts"].is_array()) wrong("verdicts", "an array");
    for (const Json& verdict : entry["verdicts"]) add(verdict);
  } else {
    add(entry);
  }
  return saved;
}

}  // namespace

std::vector<SavedResult> read_results(std::string_view source) {
  const Json json = Json::parse(source, nullptr, false);
  if (json.is_discarded()) throw std::invalid_argument("is no JSON");
  if (!json.is_object() || !json.contains("schema")) {
    throw std::invalid_argument("is no result of `assay gate --json` or `assay compare --json`");
  }
  if (json["schema"] != 1) {
    throw std::invalid_argument(
        format("has schema {}; this assay reads schema 1", json["schema"].dump()));
  }
  std::vector<SavedResult> results;
  const bool gate = json.contains("cases");
  if (gate && !json["cases"].is_array()) wrong("cases", "an array");
  const Json whole = gate ? json["cases"] : Json::array({json});
  for (const Json& entry : whole) {
    try {
      results.push_back(result(entry));
    } catch (const std::invalid_argument& e) {
      const bool named = entry.is_object() && entry.contains("case") && entry["case"].is_string();
      throw std::invalid_argument(format(
          "{}{}", named ? format("case {}: ", entry["case"].get<std::string>()) : "", e.what()));
    }
  }
  return results;
}

}  // namespace assay
