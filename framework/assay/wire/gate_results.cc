#include "assay/wire/gate_results.h"

#include <algorithm>
#include <cmath>
#include <type_traits>
#include <variant>

#include "assay/base/error.h"
#include "assay/base/parallel.h"
#include "assay/base/text.h"
#include "assay/base/words.h"
#include "assay/judge/metric_table.h"
#include "assay/judge/rule_table.h"
#include "assay/wire/bins.h"
#include "assay/wire/json.h"
#include "assay/wire/main_metrics.h"

namespace assay::inline v0_2::wire {
namespace {

std::string hex_bits(const Format& f, std::uint64_t bits) {
  return formatted("0x{:0{}x}", bits, f.storage_bytes * 2);
}

Json field_json(const Tally& t) {
  return {{"nan", t.nan},
          {"positive_inf", t.positive_inf},
          {"negative_inf", t.negative_inf},
          {"zero", t.zero},
          {"subnormal", t.subnormal}};
}

Json field_json(const Histogram& h) {
  return {{"per_octave", h.per_octave},
          {"below", h.below},
          {"bins", bins_text(h.bins)},
          {"above", h.above}};
}

Json field_json(bool value) { return value; }
Json field_json(std::int64_t value) { return value; }
Json field_json(std::uint64_t value) { return value; }
Json field_json(double value) { return number(value); }

// Returns the fields of the table of metrics as JSON, in the order of the table.
Json metrics_json(const Metrics& m, JsonMetrics which) {
  Json json = Json::object();
  for (const Metric& metric : metric_table()) {
    if (which == JsonMetrics::kMain && !is_main_metric(metric.name)) continue;
    std::visit(
        [&](auto field) {
          if constexpr (!std::is_same_v<decltype(field), std::monostate>) {
            json[std::string(metric.name)] = field_json(m.*field);
          }
        },
        metric.field);
  }
  return json;
}

Json bound_json(const Bound& b) {
  Json json = {{"standard", b.standard}, {"origin", b.origin}, {"text", b.text()}};
  const RuleRow& rule = row_of(b.rule);
  for (const auto& [name, value] :
       {std::pair("rtol", b.rtol), std::pair("atol", b.atol), std::pair("floor", b.floor)}) {
    if (rule.takes(name)) json[name] = number(value);
  }
  if (rule.takes("ulps")) json["ulps"] = b.ulps;
  if (rule.takes("machine") && !b.machine.empty()) json["machine"] = b.machine;
  if (rule.takes("distribution")) json["distribution"] = b.distribution;
  if (b.or_ulps > 0) json["or_ulps"] = b.or_ulps;
  json["round_expected"] = b.round_expected;
  json["equal_nan"] = b.nan_equal;
  if (b.nan_accepts) json["nan_accepts"] = true;
  if (b.allow_empty) json["allow_empty"] = true;
  if (b.infinity != Infinity::kSign) json["infinity"] = infinity_word(b.infinity);
  if (b.small_value > 0) {
    json["small_value"] = number(b.small_value);
    json["small_atol"] = number(b.small_atol);
  }
  if (b.max_mismatches) json["max_mismatches"] = *b.max_mismatches;
  if (b.max_mismatch_fraction) json["max_mismatch_fraction"] = *b.max_mismatch_fraction;
  if (b.max_blind != kMaxBlind) json["max_blind"] = number(b.max_blind);
  return json;
}

// Returns the value of an element. An integer has all its digits.
Json element_json(const Format& f, std::uint64_t bits, double value) {
  if (f.is_float()) return number(value);
  return f.is_signed() ? Json(*ordinal(f, bits)) : Json(bits);
}

// Adds the two elements of a mismatch. Complex ones have two numbers each, the real part first.
void add_elements(const Format& f, const Mismatch& m, Json& json) {
  const auto expected = [](const Format& of, double value, std::uint64_t bits) {
    return std::isfinite(value) && value == std::nearbyint(value) ? element_json(of, bits, value)
                                                                  : number(value);
  };
  const Format& part = part_format(f);
  json["actual"] = element_json(part, m.actual_bits, m.actual);
  json["actual_bits"] = hex_bits(part, m.actual_bits);
  json["expected"] =
      m.expected_is_beyond ? number(m.expected) : expected(part, m.expected, m.expected_bits);
  json["expected_bits"] = m.expected_is_beyond ? Json() : Json(hex_bits(part, m.expected_bits));
  if (!m.imaginary) return;
  const Mismatch::Part& other = *m.imaginary;
  json["actual"] = {json["actual"], number(other.actual)};
  json["actual_bits"] = {json["actual_bits"], hex_bits(part, other.actual_bits)};
  json["expected"] = {json["expected"], number(other.expected)};
  json["expected_bits"] = {json["expected_bits"], hex_bits(part, other.expected_bits)};
}

Json outcome_json(const Verdict& v, JsonMetrics metrics) {
  Json json = {{"outcome", outcome_word(v.outcome)},   {"sites", v.sites},
               {"mismatches", v.mismatches},           {"special_mismatches", v.special_mismatches},
               {"worst_ratio", number(v.worst_ratio)}, {"because", v.because}};
  if (v.same_data) json["same_data"] = true;
  if (v.forgiven > 0) json["forgiven"] = v.forgiven;
  if (v.blind) {
    json["nonzero"] = v.nonzero;
    json["blind"] = *v.blind;
    json["blind_share"] = number(v.blind_share());
  }
  if (const std::vector<std::string> notes = notes_of(v); !notes.empty()) json["notes"] = notes;
  if (!v.where.empty()) json["where"] = v.where;
  json["bound"] = bound_json(v.bound);
  if (!v.readings.empty()) {
    json["limits"] = list_json(v.readings, [](const LimitReading& r) {
      Json entry = {{"statistic", statistic_name(r.limit.statistic)},
                    {"value", number(r.value)},
                    {"limit", number(r.limit.limit)},
                    {"text", r.limit.text()},
                    {"met", r.met}};
      if (r.limit.group != 0) entry["group"] = r.limit.group;
      return entry;
    });
  }
  if (!v.tests.empty()) {
    json["tests"] = list_json(v.tests, [](const DrawTest& t) -> Json {
      return {{"name", t.name},
              {"statistic", number(t.statistic)},
              {"p_value", number(t.p_value)},
              {"limit", number(t.limit)},
              {"passed", t.passed},
              {"text", t.words}};
    });
  }
  json["worst"] = list_json(v.worst, [&](const Mismatch& m) {
    Json entry = {{"index", m.index}};
    // A verdict with elements has a format. NOLINTNEXTLINE(clang-analyzer-core.NonNullParamChecker)
    add_elements(*v.format, m, entry);
    entry["error"] = number(m.error);
    entry["bound"] = number(m.bound);
    entry["ulps"] = m.ulps ? Json(*m.ulps) : Json("nan");
    return entry;
  });
  json["metrics"] = v.metrics ? metrics_json(*v.metrics, metrics) : Json::object();
  return json;
}

Json abft_json(const AbftVerdict& v) {
  Json flags = list_json(v.flags, [&](const AbftFlag& flag) {
    Json entry = {{"batch", flag.batch},
                  {flag.is_column ? "column" : "row", flag.index},
                  {"first", flag.first},
                  {"last", flag.last},
                  {"difference", number(flag.reading.difference)},
                  {"threshold", number(flag.reading.threshold)},
                  {"z", number(flag.reading.z())}};
    if (flag.element) {
      const AbftFlag::Element& e = *flag.element;
      entry["element"] = {{"index", {e.row, e.column}},
                          {"actual", number(e.actual)},
                          {"actual_bits", hex_bits(*v.format, e.bits)},
                          {"reference", number(e.reference)}};
      if (e.flipped_bit) {
        entry["element"]["flipped_bit"] = *e.flipped_bit;
        entry["element"]["repaired_bits"] = hex_bits(*v.format, e.repaired_bits);
      }
    }
    return entry;
  });
  return {{"threshold", v.spec},
          {"outcome", outcome_word(v.outcome)},
          {"because", v.because},
          {"notes", v.notes},
          {"checks", v.checks},
          {"flagged", v.flagged},
          {"not_checkable", v.not_checkable},
          {"right_specials", v.right_specials},
          {"blind", v.blind},
          {"confirmed_clean", v.confirmed_clean},
          {"worst_ratio", number(v.worst_ratio)},
          {"rms_z", number(v.rms_z)},
          {"flags", std::move(flags)}};
}

}  // namespace

std::string verdict_json(const Verdict& verdict) {
  Json json = {{"schema", kResultSchema}};
  if (verdict.format != nullptr) json["dtype"] = verdict.format->name;
  json["shape"] = verdict.shape;
  json.update(outcome_json(verdict, JsonMetrics::kAll));
  return dumped(json, 2);
}

namespace {

Json case_json(const CaseReport& c, JsonMetrics metrics) {
  Json entry = Json::object();
  if (!c.file.empty()) entry["file"] = c.file;
  entry.update({{"case", c.name},
                {"op", c.op},
                {"dtype", c.dtype},
                {"shape", c.shape},
                {"producer", c.producer},
                {"tags", c.tags}});
  if (!c.source_name.empty()) entry["source_name"] = c.source_name;
  if (!c.output.empty()) entry["output_name"] = c.output;
  entry["outcome"] = c.outcome_text();
  entry["because"] = c.because();  // the reason of the checksums if they decide the outcome
  if (c.remark != Remark::kNone) {
    entry["judged"] = c.verdicts.empty() && !c.abft ? "" : outcome_word(c.judged());
  }
  entry["verdicts"] =
      list_json(c.verdicts, [&](const Verdict& v) { return outcome_json(v, metrics); });
  if (c.sample) {
    entry["sample"] = {{"rows", c.sample->rows},
                       {"of", c.sample->of},
                       {"seed", c.sample->seed},
                       {"seen_share", c.sample->seen_share}};
  }
  if (c.abft) entry["abft"] = abft_json(*c.abft);
  for (const MutationResult& m : c.mutations) {
    Json mutation = {{"mutation", m.name}, {"applied", m.applied}};
    if (m.applied) {
      mutation["elementwise"] = outcome_word(m.elementwise);
      if (m.abft) mutation["abft"] = outcome_word(*m.abft);
      mutation["caught"] = m.caught();
    }
    array_in(entry, "mutations").push_back(std::move(mutation));
  }
  entry["seconds"] = c.seconds;
  entry["reproduce"] = c.reproduce;
  return entry;
}

}  // namespace

std::string gate_json(const GateReport& report, JsonMetrics metrics) {
  std::string text;
  write_gate_json(
      report, [&](std::string_view part) { text += part; }, 1, metrics);
  return text;
}

// Cases are written some hundreds at a time, because one object with all of many cases would take
// several times the memory of the text.
void write_gate_json(const GateReport& report, const std::function<void(std::string_view)>& write,
                     int threads, JsonMetrics metrics) {
  const bool any_error =
      std::ranges::any_of(report.cases, [](const CaseReport& c) { return !c.error.empty(); });
  Json json = {{"schema", kResultSchema},
               {"assay", report.version},
               {"command", report.command},
               {"golden", report.golden_file},
               {"outcome", any_error ? "error" : outcome_word(report_outcome(report))}};
  if (!report.files.empty()) json["golden"] = report.files;
  if (!report.shard.empty()) json["shard"] = report.shard;
  if (!report.note.empty()) json["note"] = report.note;
  if (!report.notes.empty()) json["notes"] = report.notes;
  if (!report.without_golden.empty()) json["outputs_without_golden"] = report.without_golden;
  if (std::ranges::any_of(report.cases, [](const CaseReport& c) { return !c.mutations.empty(); })) {
    const MutationScore score = mutation_score(report);
    json["mutations"] = {{"applied", score.applied},
                         {"caught", score.caught},
                         {"fraction", number(score.fraction())}};
  }
  write(begin_of_list(std::move(json), "cases"));
  constexpr std::size_t kTogether = 512;
  std::vector<std::string> texts;
  for (std::size_t first = 0; first < report.cases.size(); first += kTogether) {
    texts.assign(std::min(kTogether, report.cases.size() - first), "");
    parallel_for(static_cast<std::int64_t>(texts.size()), threads, [&](std::int64_t i) {
      const auto place = static_cast<std::size_t>(i);
      texts[place] =
          line_of_list(case_json(report.cases[first + place], metrics), first + place == 0);
    });
    for (const std::string& of_case : texts) write(of_case);
  }
  write(kEndOfList);
}

}  // namespace assay::wire
