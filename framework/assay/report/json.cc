#include "assay/report/json.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <type_traits>
#include <variant>

#include "assay/base/parallel.h"
#include "assay/base/text.h"
#include "assay/judge/metric_table.h"
#include "assay/judge/rule_table.h"
#include "assay/report/escape.h"
#include "assay/report/gate_text.h"
#include "assay/report/json_output.h"
#include "assay/report/mutations.h"

namespace assay::report {
namespace {

// nlohmann-json writes NaN and infinity as null; here they stay what they are.
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

// "bin:count bin:count": one line, for a line a bin would be most of the file.
Json field_json(const Histogram& h) {
  std::vector<std::string> bins;
  for (const auto& [bin, count] : h.bins) bins.push_back(formatted("{}:{}", bin, count));
  return {{"per_octave", h.per_octave},
          {"below", h.below},
          {"bins", bins.empty() ? "" : joined(bins, " ")},
          {"above", h.above}};
}

Json field_json(bool value) { return value; }
Json field_json(std::int64_t value) { return value; }
Json field_json(std::uint64_t value) { return value; }
Json field_json(double value) { return number(value); }

// Every field of the table of metrics, in its order.
Json metrics_json(const Metrics& m) {
  Json json = Json::object();
  for (const Metric& metric : metric_table()) {
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

// A value of an element; an integer with all its digits.
Json element_json(const Format& f, std::uint64_t bits, double value) {
  if (f.is_float()) return number(value);
  return f.is_signed() ? Json(*ordinal(f, bits)) : Json(bits);
}

// What a miss says of its two elements. Of complex ones two numbers for each, the real part first.
void add_elements(const Format& f, const Miss& m, Json& json) {
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
  const Miss::Part& other = *m.imaginary;
  json["actual"] = {json["actual"], number(other.actual)};
  json["actual_bits"] = {json["actual_bits"], hex_bits(part, other.actual_bits)};
  json["expected"] = {json["expected"], number(other.expected)};
  json["expected_bits"] = {json["expected_bits"], hex_bits(part, other.expected_bits)};
}

// The keys that a verdict and a case share.
Json outcome_json(const Verdict& v) {
  Json json = {{"outcome", outcome_word(v.outcome)},
               {"sites", v.sites},
               {"misses", v.misses},
               {"special_misses", v.special_misses},
               {"worst_ratio", number(v.worst_ratio)},
               {"because", v.because}};
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
    json["limits"] = Json::array();
    for (const LimitReading& r : v.readings) {
      Json entry = {{"statistic", statistic_name(r.limit.statistic)},
                    {"value", number(r.value)},
                    {"limit", number(r.limit.limit)},
                    {"text", r.limit.text()},
                    {"met", r.met}};
      if (r.limit.group != 0) entry["group"] = r.limit.group;
      json["limits"].push_back(std::move(entry));
    }
  }
  if (!v.tests.empty()) {
    json["tests"] = Json::array();
    for (const DrawTest& t : v.tests) {
      json["tests"].push_back({{"name", t.name},
                               {"statistic", number(t.statistic)},
                               {"p_value", number(t.p_value)},
                               {"limit", number(t.limit)},
                               {"passed", t.passed},
                               {"text", t.words}});
    }
  }
  Json worst = Json::array();
  for (const Miss& m : v.worst) {
    Json entry = {{"index", m.index}};
    // What has elements has a format. NOLINTNEXTLINE(clang-analyzer-core.NonNullParamChecker)
    add_elements(*v.format, m, entry);
    entry["error"] = number(m.error);
    entry["bound"] = number(m.bound);
    entry["ulps"] = m.ulps ? Json(*m.ulps) : Json("nan");
    worst.push_back(std::move(entry));
  }
  json["worst"] = std::move(worst);
  json["metrics"] = v.metrics ? metrics_json(*v.metrics) : Json::object();
  return json;
}

Json abft_json(const AbftVerdict& v) {
  Json flags = Json::array();
  for (const AbftFlag& flag : v.flags) {
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
    flags.push_back(std::move(entry));
  }
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

// The verdict that stands for a case: the one that decides it, else the first of the worst outcome.
const Verdict& leading_verdict(const CaseReport& c) {
  if (const Verdict* deciding = c.deciding_verdict()) return *deciding;
  for (const Verdict& v : c.verdicts) {
    if (v.outcome == worst_outcome(c.verdicts)) return v;
  }
  static const Verdict kNone = not_comparable("nothing was judged");
  return kNone;
}

}  // namespace

std::string verdict_json(const Verdict& verdict) {
  Json json = {{"schema", 1}};
  if (verdict.format != nullptr) json["dtype"] = verdict.format->name;
  json["shape"] = verdict.shape;
  json.update(outcome_json(verdict));
  return dumped(json, 2);
}

namespace {

Json case_json(const CaseReport& c) {
  Json entry;
  if (!c.file.empty()) entry["file"] = c.file;
  entry.update({{"case", c.name},
                {"op", c.op},
                {"dtype", c.dtype},
                {"shape", c.shape},
                {"output", c.producer},
                {"tags", c.tags}});
  if (!c.source_name.empty()) entry["source_name"] = c.source_name;
  if (!c.output.empty()) entry["output_name"] = c.output;
  entry.update(outcome_json(leading_verdict(c)));
  entry["outcome"] = c.outcome_text();
  entry["because"] = c.because();  // the checksums' where they decide
  if (c.remark != Remark::kNone) {
    entry["judged"] = c.verdicts.empty() && !c.abft ? "" : outcome_word(c.judged());
  }
  if (c.verdicts.size() > 1) {
    entry["verdicts"] = Json::array();
    for (const Verdict& v : c.verdicts) entry["verdicts"].push_back(outcome_json(v));
  }
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
    entry["mutations"].push_back(std::move(mutation));
  }
  entry["seconds"] = c.seconds;
  entry["reproduce"] = c.reproduce;
  return entry;
}

}  // namespace

std::string gate_json(const GateReport& report) {
  std::string text;
  write_gate_json(report, [&](std::string_view part) { text += part; });
  return text;
}

namespace {

// A case as it stands in the list of cases.
std::string case_text(const CaseReport& c) {
  const std::string entry = dumped(case_json(c), 2);
  std::string text;
  for (std::size_t at = 0; at < entry.size();) {
    const std::size_t end = entry.find('\n', at);
    text.append("    ").append(entry, at, end - at);
    at = end + 1;
    if (at < entry.size()) text += "\n";
  }
  return text;
}

}  // namespace

// The cases are written some hundreds at a time: of many, all of them as one object would take some
// times the memory of the text.
void write_gate_json(const GateReport& report, const std::function<void(std::string_view)>& write,
                     int threads) {
  const bool any_error = std::any_of(report.cases.begin(), report.cases.end(),
                                     [](const CaseReport& c) { return !c.error.empty(); });
  Json json = {{"schema", 1},
               {"assay", report.version},
               {"command", report.command},
               {"golden", report.golden_file},
               {"outcome", any_error ? "error" : outcome_word(report_outcome(report))}};
  if (!report.files.empty()) json["golden"] = report.files;
  if (!report.shard.empty()) json["shard"] = report.shard;
  if (!report.note.empty()) json["note"] = report.note;
  if (!report.notes.empty()) json["notes"] = report.notes;
  if (!report.without_golden.empty()) json["outputs_without_golden"] = report.without_golden;
  if (std::any_of(report.cases.begin(), report.cases.end(),
                  [](const CaseReport& c) { return !c.mutations.empty(); })) {
    const MutationScore score = mutation_score(report);
    json["mutations"] = {{"applied", score.applied},
                         {"caught", score.caught},
                         {"fraction", number(score.fraction())}};
  }
  json["cases"] = Json::array();
  std::string text = dumped(json, 2);
  if (report.cases.empty()) return write(text);
  text.resize(text.rfind("[]"));
  text += "[";
  write(text);
  constexpr std::size_t kTogether = 512;
  std::vector<std::string> texts;
  for (std::size_t first = 0; first < report.cases.size(); first += kTogether) {
    texts.assign(std::min(kTogether, report.cases.size() - first), "");
    parallel_for(static_cast<std::int64_t>(texts.size()), threads, [&](std::int64_t i) {
      const auto place = static_cast<std::size_t>(i);
      texts[place] = (first + place == 0 ? "\n" : ",\n") + case_text(report.cases[first + place]);
    });
    for (const std::string& of_case : texts) write(of_case);
  }
  write("\n  ]\n}\n");
}

namespace {

// What a suite counts.
struct SuiteCounts {
  std::int64_t tests = 0, failures = 0, errors = 0, skipped = 0;
  double seconds = 0;

  void add(const SuiteCounts& other) {
    tests += other.tests;
    failures += other.failures;
    errors += other.errors;
    skipped += other.skipped;
    seconds += other.seconds;
  }
  std::string attributes(std::string_view name) const {
    return formatted("name=\"{}\" tests=\"{}\" failures=\"{}\" errors=\"{}\"{} time=\"{:.3f}\"",
                     xml_escaped(name), tests, failures, errors,
                     skipped > 0 ? formatted(" skipped=\"{}\"", skipped) : "", seconds);
  }
};

// By which standard each verdict was given.
std::string properties(const CaseReport& c) {
  std::string list;
  for (const Verdict& v : c.verdicts) {
    if (v.bound.standard.empty()) continue;
    list += formatted("      <property name=\"standard\" value=\"{}\"/>\n",
                      xml_escaped(standard_text(v.bound)));
  }
  return list.empty() ? "" : formatted("    <properties>\n{}    </properties>\n", list);
}

std::string testcase(const CaseReport& c, SuiteCounts& counts) {
  ++counts.tests;
  counts.seconds += c.seconds;
  const auto element = [&](const std::string& content) {
    const std::string all = properties(c) + content;
    return formatted("  <testcase classname=\"{}\" name=\"{}\" time=\"{:.3f}\"{}",
                     xml_escaped(c.op), xml_escaped(c.title()), c.seconds,
                     all.empty() ? "/>\n" : formatted(">\n{}  </testcase>\n", all));
  };
  if (!c.error.empty()) {
    ++counts.errors;
    return element(formatted("    <error type=\"error\" message=\"{}\">{}</error>\n",
                             xml_escaped(c.error), xml_escaped(explain_error(c))));
  }
  if (c.remark == Remark::kKnownFailure) {
    ++counts.skipped;
    return element(formatted("    <skipped message=\"{}\">{}</skipped>\n",
                             xml_escaped("known failure: " + c.remark_text),
                             c.reproduce.empty() ? "" : xml_escaped("reproduce: " + c.reproduce)));
  }
  const Outcome outcome = c.outcome();
  if (outcome == Outcome::kPass) {
    std::string notes;
    for (const Verdict& v : c.verdicts) {
      for (const std::string& note : notes_of(v)) notes += xml_escaped(note) + "\n";
    }
    return element(notes.empty() ? "" : formatted("    <system-out>{}</system-out>\n", notes));
  }
  // JUnit knows failure and error: what could not be judged is an error.
  const char* kind = outcome == Outcome::kFail ? "failure" : "error";
  ++(outcome == Outcome::kFail ? counts.failures : counts.errors);
  // What decided the outcome: the remark, the elementwise verdict, else the checksums.
  const Verdict* deciding = c.deciding_verdict();
  const std::string text = c.remark != Remark::kNone ? explain_remark(c)
                           : deciding != nullptr || !c.abft
                               ? explain(leading_verdict(c), c.reproduce)
                               : explain(*c.abft, c.reproduce);
  return element(formatted("    <{0} type=\"{1}\" message=\"{2}\">{3}</{0}>\n", kind,
                           c.outcome_text(), xml_escaped(c.because()), xml_escaped(text)));
}

}  // namespace

std::string gate_junit(const GateReport& report) {
  // A suite a file, in the order in which they come; of one file the suite is the whole.
  std::vector<std::string> files = report.files;
  if (files.empty()) files.emplace_back();
  std::vector<SuiteCounts> counts(files.size());
  std::vector<std::string> bodies(files.size());
  std::map<std::string_view, std::size_t> places;
  for (std::size_t i = 0; i < files.size(); ++i) places.emplace(files[i], i);
  for (const CaseReport& c : report.cases) {
    const auto place = places.find(c.file);
    const std::size_t i = place == places.end() ? 0 : place->second;
    bodies[i] += testcase(c, counts[i]);
  }
  for (const std::string& name : report.without_golden) {
    bodies[0] += formatted(
        "  <testcase classname=\"\" name=\"{}\" time=\"0.000\">\n"
        "    <skipped message=\"an output without a golden case\"/>\n  </testcase>\n",
        xml_escaped(name));
    ++counts[0].tests;
    ++counts[0].skipped;
  }
  const std::string head = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n";
  if (report.files.empty()) {
    return head + formatted("<testsuite {}>\n{}</testsuite>\n",
                            counts[0].attributes(report.golden_file), bodies[0]);
  }
  SuiteCounts all;
  std::string suites;
  for (std::size_t i = 0; i < files.size(); ++i) {
    all.add(counts[i]);
    suites +=
        formatted("<testsuite {}>\n{}</testsuite>\n", counts[i].attributes(files[i]), bodies[i]);
  }
  return head + formatted("<testsuites {}>\n{}</testsuites>\n", all.attributes(report.golden_file),
                          suites);
}

}  // namespace assay::report
