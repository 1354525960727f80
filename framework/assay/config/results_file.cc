#include "assay/config/results_file.h"

#include <charconv>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <type_traits>
#include <variant>

#include "assay/base/error.h"
#include "assay/base/text.h"
#include "assay/judge/metric_table.h"

namespace assay::config {
namespace {

using AnyJson = nlohmann::json;

[[noreturn]] void not_as_expected(const std::string& key, const char* expected) {
  throw std::invalid_argument(formatted("'{}' must be {}", key, expected));
}

const AnyJson& member(const AnyJson& object, const char* key) {
  if (!object.is_object() || !object.contains(key)) {
    throw std::invalid_argument(
        formatted("has no '{}'; it may come from an older assay: judge the tensors again", key));
  }
  return object[key];
}

double number(const AnyJson& object, const char* key) {
  const AnyJson& value = member(object, key);
  if (value.is_number()) return value.get<double>();
  if (value == "inf") return std::numeric_limits<double>::infinity();
  if (value == "-inf") return -std::numeric_limits<double>::infinity();
  if (value == "nan") return std::numeric_limits<double>::quiet_NaN();
  not_as_expected(key, "a number");
}

std::int64_t count(const AnyJson& object, const char* key) {
  const AnyJson& value = member(object, key);
  if (!value.is_number_integer() ||
      (value.is_number_unsigned() && value.get<std::uint64_t>() > INT64_MAX)) {
    not_as_expected(key, "a whole number");
  }
  return value.get<std::int64_t>();
}

bool flag(const AnyJson& object, const char* key) {
  const AnyJson& value = member(object, key);
  if (!value.is_boolean()) not_as_expected(key, "true or false");
  return value.get<bool>();
}

std::string text(const AnyJson& object, const char* key) {
  const AnyJson& value = member(object, key);
  if (!value.is_string()) not_as_expected(key, "a string");
  return value.get<std::string>();
}

void read_field(const AnyJson& object, const char* key, bool& value) { value = flag(object, key); }
void read_field(const AnyJson& object, const char* key, std::int64_t& value) {
  value = count(object, key);
}
void read_field(const AnyJson& object, const char* key, std::uint64_t& value) {
  const AnyJson& json = member(object, key);
  if (!json.is_number_unsigned()) not_as_expected(key, "a whole number");
  value = json.get<std::uint64_t>();
}
void read_field(const AnyJson& object, const char* key, double& value) {
  value = number(object, key);
}
void read_field(const AnyJson& object, const char* key, Tally& value) {
  const AnyJson& t = member(object, key);
  value = {count(t, "nan"), count(t, "positive_inf"), count(t, "negative_inf"), count(t, "zero"),
           count(t, "subnormal")};
}

void read_field(const AnyJson& object, const char* key, Histogram& h) {
  const AnyJson& json = member(object, key);
  const std::int64_t per_octave = count(json, "per_octave");
  if (per_octave < 1 || per_octave > 65536)
    not_as_expected(key, "a histogram of 1 to 65536 bins an octave");
  h.per_octave = static_cast<int>(per_octave);
  h.below = count(json, "below");
  h.above = count(json, "above");
  const std::string bins = text(json, "bins");
  for (const char *at = bins.data(), *end = at + bins.size(); at != end;) {
    std::pair<int, std::int64_t> bin;
    const auto [colon, error] = std::from_chars(at, end, bin.first);
    if (error != std::errc() || colon == end || *colon != ':')
      not_as_expected(key, "bins as in \"-12:3 5:1\"");
    const auto [next, second] = std::from_chars(colon + 1, end, bin.second);
    if (second != std::errc() || (next != end && *next != ' ') || bin.second < 0)
      not_as_expected(key, "bins as in \"-12:3 5:1\"");
    h.bins.push_back(bin);
    at = next == end ? end : next + 1;
  }
}

// Every field of the table of metrics must be there.
Metrics metrics(const AnyJson& json) {
  Metrics m;
  for (const Metric& metric : metric_table()) {
    std::visit(
        [&](auto field) {
          if constexpr (!std::is_same_v<decltype(field), std::monostate>) {
            read_field(json, std::string(metric.name).c_str(), m.*field);
          }
        },
        metric.field);
  }
  return m;
}

// Of a verdict that says what its bound is blind to.
SavedCheck check(const AnyJson& verdict) {
  const AnyJson& bound = member(verdict, "bound");
  SavedCheck check{.text = text(bound, "text"), .round_expected = flag(bound, "round_expected")};
  if (bound.contains("rtol") && bound.contains("atol")) {
    check.rtol = number(bound, "rtol");
    check.atol = number(bound, "atol");
  }
  check.nonzero = count(verdict, "nonzero");
  check.blind = count(verdict, "blind");
  return check;
}

// `entry`: a case of a gate, or the verdict of a comparison.
SavedResult result(const AnyJson& entry) {
  SavedResult saved;
  if (entry.contains("case")) saved.name = text(entry, "case");
  if (entry.contains("output_name")) saved.output = text(entry, "output_name");
  saved.because = text(entry, "because");
  if (entry.contains("sites")) saved.sites = count(entry, "sites");
  if (entry.contains("dtype")) {
    const std::string dtype = text(entry, "dtype");
    if (!dtype.empty()) saved.format = &format_named(dtype);
  }
  const auto add = [&](const AnyJson& verdict) {
    if (verdict.contains("same_data")) saved.same_data |= flag(verdict, "same_data");
    if (verdict.contains("blind")) saved.checks.push_back(check(verdict));
    const bool has = verdict.contains("metrics") && !verdict["metrics"].empty();
    if (!has) return;
    saved.metrics.push_back(metrics(verdict["metrics"]));
    saved.metrics.back().is_complex = saved.format != nullptr && saved.format->is_complex();
  };
  if (entry.contains("verdicts")) {
    if (!entry["verdicts"].is_array()) not_as_expected("verdicts", "an array");
    for (const AnyJson& verdict : entry["verdicts"]) add(verdict);
  } else {
    add(entry);
  }
  return saved;
}

}  // namespace

std::vector<SavedResult> read_results(std::string_view source) {
  const AnyJson json = AnyJson::parse(source, nullptr, false);
  if (json.is_discarded()) throw std::invalid_argument("is no JSON");
  if (!json.is_object() || !json.contains("schema")) {
    throw std::invalid_argument("is no result of `assay gate --json` or `assay compare --json`");
  }
  if (json["schema"] != 1) {
    throw std::invalid_argument(
        formatted("has schema {}; this assay reads schema 1", json["schema"].dump()));
  }
  std::vector<SavedResult> results;
  const bool gate = json.contains("cases");
  if (gate && !json["cases"].is_array()) not_as_expected("cases", "an array");
  const AnyJson whole = gate ? json["cases"] : AnyJson::array({json});
  for (const AnyJson& entry : whole) {
    try {
      results.push_back(result(entry));
    } catch (const std::invalid_argument& e) {
      const bool named = entry.is_object() && entry.contains("case") && entry["case"].is_string();
      if (named) throw CaseError(entry["case"].get<std::string>(), e.what());
      throw;
    }
  }
  return results;
}

}  // namespace assay::config
