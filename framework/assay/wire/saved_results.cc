#include "assay/wire/saved_results.h"

#include <algorithm>
#include <cmath>
#include <type_traits>
#include <variant>

#include "assay/base/error.h"
#include "assay/base/text.h"
#include "assay/base/words.h"
#include "assay/judge/metric_table.h"
#include "assay/judge/rule_table.h"
#include "assay/wire/bins.h"
#include "assay/wire/json.h"
#include "assay/wire/main_metrics.h"

namespace assay::inline v0_2::wire {
namespace {

[[noreturn]] void not_as_expected(const std::string& key, const char* expected) {
  refuse("'{}' must be {}", key, expected);
}

const Json& member(const Json& object, const char* key) {
  if (!object.is_object() || !object.contains(key)) {
    refuse("has no '{}'; it may come from an older assay: judge the tensors again", key);
  }
  return object[key];
}

double number_in(const Json& object, const char* key) {
  const Json& value = member(object, key);
  if (value.is_number()) return value.get<double>();
  if (const auto special = special_number(value)) return *special;
  not_as_expected(key, "a number");
}

std::int64_t count(const Json& object, const char* key) {
  const Json& value = member(object, key);
  if (!is_int64(value)) not_as_expected(key, "a whole number");
  return value.get<std::int64_t>();
}

bool flag(const Json& object, const char* key) {
  const Json& value = member(object, key);
  if (!value.is_boolean()) not_as_expected(key, "true or false");
  return value.get<bool>();
}

std::string text(const Json& object, const char* key) {
  const Json& value = member(object, key);
  if (!value.is_string()) not_as_expected(key, "a string");
  return value.get<std::string>();
}

void read_field(const Json& object, const char* key, bool& value) { value = flag(object, key); }
void read_field(const Json& object, const char* key, std::int64_t& value) {
  value = count(object, key);
}
void read_field(const Json& object, const char* key, std::uint64_t& value) {
  const Json& json = member(object, key);
  if (!json.is_number_unsigned()) not_as_expected(key, "a whole number");
  value = json.get<std::uint64_t>();
}
void read_field(const Json& object, const char* key, double& value) {
  value = number_in(object, key);
}
void read_field(const Json& object, const char* key, Tally& value) {
  const Json& t = member(object, key);
  value = {count(t, "nan"), count(t, "positive_inf"), count(t, "negative_inf"), count(t, "zero"),
           count(t, "subnormal")};
}

void read_field(const Json& object, const char* key, Histogram& h) {
  const Json& json = member(object, key);
  const std::int64_t per_octave = count(json, "per_octave");
  if (per_octave < 1 || per_octave > 65536)
    not_as_expected(key, "a histogram of 1 to 65536 bins an octave");
  h.per_octave = static_cast<int>(per_octave);
  h.below = count(json, "below");
  h.above = count(json, "above");
  std::optional<Bins> bins = read_bins(text(json, "bins"));
  if (!bins) not_as_expected(key, "bins as in \"-12:3 5:1\"");
  h.bins = std::move(*bins);
}

// Reads the metrics. Every field of the table of metrics must be there.
Metrics metrics(const Json& json) {
  const auto& items = json.items();
  if (std::ranges::all_of(items, [](const auto& item) { return is_main_metric(item.key()); })) {
    refuse("has only the main metrics, not their histograms");
  }
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

// Reads the part of a verdict that says to how many elements its bound is blind.
SavedCheck check(const Json& verdict) {
  const Json& bound = member(verdict, "bound");
  SavedCheck check{.text = text(bound, "text"), .round_expected = flag(bound, "round_expected")};
  if (bound.contains("rtol") && bound.contains("atol")) {
    check.rtol = number_in(bound, "rtol");
    check.atol = number_in(bound, "atol");
  }
  check.nonzero = count(verdict, "nonzero");
  check.blind = count(verdict, "blind");
  return check;
}

void add_verdict(const Json& verdict, SavedResult& saved) {
  if (verdict.contains("sites")) saved.sites = count(verdict, "sites");
  if (verdict.contains("same_data")) saved.same_data |= flag(verdict, "same_data");
  if (verdict.contains("blind")) saved.checks.push_back(check(verdict));
  if (!verdict.contains("metrics") || verdict["metrics"].empty()) return;
  saved.metrics.push_back(metrics(verdict["metrics"]));
  saved.metrics.back().is_complex = saved.format != nullptr && saved.format->is_complex();
}

// Reads one result. `entry` is a case of a gate, or the verdict of a comparison.
SavedResult result(const Json& entry, bool is_case) {
  SavedResult saved;
  if (entry.contains("case")) saved.name = text(entry, "case");
  if (entry.contains("output_name")) saved.output = text(entry, "output_name");
  saved.because = text(entry, "because");
  if (entry.contains("dtype")) {
    const std::string dtype = text(entry, "dtype");
    if (!dtype.empty()) saved.format = &format_named(dtype);
  }
  if (!is_case) {
    add_verdict(entry, saved);
    return saved;
  }
  if (!member(entry, "verdicts").is_array()) not_as_expected("verdicts", "an array");
  for (const Json& verdict : entry["verdicts"]) add_verdict(verdict, saved);
  return saved;
}

}  // namespace

std::vector<SavedResult> read_results(std::string_view source) {
  const Json json = Json::parse(source, nullptr, false);
  if (json.is_discarded()) refuse("is no JSON");
  if (!json.is_object() || !json.contains("schema")) {
    refuse("is no result of a gate or of a comparison");
  }
  if (const std::string why = why_not_read(json["schema"]); !why.empty()) refuse(why);
  std::vector<SavedResult> results;
  const bool gate = json.contains("cases");
  if (gate && !json["cases"].is_array()) not_as_expected("cases", "an array");
  const Json whole = gate ? json["cases"] : Json::array({json});
  for (const Json& entry : whole) {
    try {
      results.push_back(result(entry, gate));
    } catch (const Refusal& e) {
      const bool named = entry.is_object() && entry.contains("case") && entry["case"].is_string();
      if (named) refuse_case(entry["case"].get<std::string>(), e.what());
      throw;
    }
  }
  return results;
}

}  // namespace assay::wire
