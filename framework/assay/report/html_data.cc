#include "assay/report/html_data.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <map>
#include <numeric>
#include <unordered_map>
#include <utility>
#include <vector>

#include "assay/base/printable.h"
#include "assay/base/text.h"
#include "assay/judge/metric_table.h"
#include "assay/report/gate_text.h"
#include "assay/wire/json.h"

namespace assay::inline v0_2::report {
namespace {

// Returns a text as a JSON string.
std::string json_text(std::string_view text) {
  using wire::Json;
  return Json(printable_lines(text)).dump(-1, ' ', false, Json::error_handler_t::replace);
}

// Collects texts and stores each only once.
class Strings {
 public:
  std::size_t number(std::string text) {
    return numbers_.try_emplace(std::move(text), numbers_.size()).first->second;
  }

  // Sets `texts` to the stored texts in natural order. Returns the place there of each number.
  std::vector<std::size_t> order(std::vector<const std::string*>& texts) const {
    texts.assign(numbers_.size(), nullptr);
    for (const auto& [text, number] : numbers_) texts[number] = &text;
    std::vector<std::size_t> sorted(texts.size()), places(texts.size());
    std::iota(sorted.begin(), sorted.end(), std::size_t{0});
    std::ranges::sort(sorted, [&](std::size_t a, std::size_t b) {
      const std::string &one = *texts[a], &other = *texts[b];
      if (natural_less(one, other)) return true;
      return !natural_less(other, one) && one < other;
    });
    std::vector<const std::string*> in_order;
    for (std::size_t i = 0; i < sorted.size(); ++i) {
      places[sorted[i]] = i;
      in_order.push_back(texts[sorted[i]]);
    }
    texts = std::move(in_order);
    return places;
  }

 private:
  std::unordered_map<std::string, std::size_t> numbers_;
};

// The kind of a row, which decides its colour.
enum Kind : std::uint8_t { kGood, kWarned, kBad };

// The index of each value in a row of the JSON. The script in html_script.cc has the same list.
enum Place : std::uint8_t {
  kName,
  kFile,
  kOperator,
  kOutcome,
  kOutput,
  kProducer,
  kMismatches,
  kRatio,
  kBlind,
  kMetrics,
  kBound = kMetrics + std::size(kMetricColumns),
  kNotes,
  kTexts  // the end of the numbers of strings; behind them are rank, kind, and the number of the
          // detail, -1 for none
};

struct Row {
  std::array<std::string, kTexts> texts;
  int rank = 0;
  Kind kind = kGood;
  std::string detail;
};

// Returns CaseReport::rank() for one row of a case, which may have several rows.
int rank_of(const CaseReport& c, Outcome outcome) {
  if (!c.error.empty()) return 0;
  if (c.remark != Remark::kNone && outcome == c.judged()) {
    return c.remark == Remark::kKnownFailure ? 4 : 1;
  }
  return outcome == Outcome::kFail            ? 1
         : outcome == Outcome::kNotComparable ? 2
         : outcome == Outcome::kUntrusted     ? 3
                                              : 5;
}

Row row_of(const CaseReport& c, Outcome outcome) {
  Row row;
  const bool remarked = c.remark != Remark::kNone && outcome == c.judged();
  row.texts[kName] = c.title();
  row.texts[kFile] = c.file;
  row.texts[kOperator] = c.op;
  row.texts[kOutcome] = c.error.empty() ? c.outcome_text(outcome) : c.outcome_text();
  row.texts[kOutput] = c.dtype.empty() ? "" : formatted("{} {}", c.dtype, shape_text(c.shape));
  row.texts[kProducer] = c.producer;
  for (std::size_t i = kMismatches; i < kBound; ++i) row.texts[i] = "-";
  row.texts[kBound] = "-";
  row.rank = rank_of(c, outcome);
  if (remarked)
    row.kind = c.remark == Remark::kKnownFailure ? kWarned : kBad;
  else
    row.kind = outcome == Outcome::kPass ? kGood : outcome == Outcome::kFail ? kBad : kWarned;
  if (!c.error.empty()) row.kind = kBad;
  return row;
}

// Returns the counts of a histogram by octaves as [title, count below the first octave, [[octave,
// count], ...]].
std::string histogram_json(std::string_view title, const Histogram& h) {
  if (h.per_octave == 0 || h.total() == 0) return "";
  std::map<int, std::int64_t> octaves;
  for (const auto& [bin, count] : h.bins) {
    octaves[static_cast<int>(std::floor(static_cast<double>(bin) / h.per_octave))] += count;
  }
  std::string out;
  for (const auto& [octave, count] : octaves) {
    out += formatted("{}[{},{}]", out.empty() ? "" : ",", octave, count);
  }
  return formatted("[{},{},[{}]]", json_text(title), h.below, out);
}

// Returns the map of mismatches as [rows, columns, rows of a block, columns of a block, blocks
// across, [block, mismatches in the block, ...]].
std::string map_json(const MismatchMap& map) {
  std::string out;
  for (std::size_t i = 0; i < map.counts.size(); ++i) {
    if (map.counts[i] > 0) out += formatted("{}{},{}", out.empty() ? "" : ",", i, map.counts[i]);
  }
  return formatted("[{},{},{},{},{},[{}]]", map.rows, map.columns, map.block_rows,
                   map.block_columns, map.across, out);
}

// The details of a row as a JSON object. Keys without a value are left out.
class Detail {
 public:
  void add(std::string_view key, const std::string& json) {
    if (!json.empty()) json_ += formatted("{}\"{}\":{}", json_.empty() ? "" : ",", key, json);
  }
  void add_text(std::string_view key, std::string_view text) {
    if (!text.empty()) add(key, json_text(text));
  }
  std::string text() const { return json_.empty() ? "" : "{" + json_ + "}"; }

 private:
  std::string json_;
};

std::string detail_of(const CaseReport& c, const Verdict& v, bool pictured) {
  Detail detail;
  if (v.outcome == c.judged()) detail.add_text("remark", c.remark_text);
  detail.add_text("why", why_text(v));
  if (!v.worst.empty()) {
    std::string rows;
    for (const Mismatch& mismatch : v.worst) {
      const MismatchWords w = mismatch_words(v, mismatch);
      rows += formatted("{}[{},{},{},{},{},{}]", rows.empty() ? "" : ",", json_text(w.index),
                        json_text(w.actual), json_text(w.expected), json_text(w.error),
                        json_text(w.bound), json_text(w.ulps));
    }
    detail.add("worst", formatted("[{},[{}]]", json_text(worst_heading(v)), rows));
  }
  std::string lines;
  for (const ExplanationLine& line : lines_of(v)) {
    if (line.label == "note: ") continue;  // notes are left out, because the row already has them
    lines += formatted("{}[{},{}]", lines.empty() ? "" : ",", json_text(line.label),
                       json_text(line.text));
  }
  if (!lines.empty()) detail.add("lines", "[" + lines + "]");
  if (pictured && v.metrics) {
    const std::string errors = histogram_json("|actual - expected|", v.metrics->abs_errors),
                      ulps = histogram_json("distance in ulp", v.metrics->ulps);
    if (!errors.empty() || !ulps.empty()) {
      detail.add("histograms",
                 formatted("[{}{}{}]", errors, errors.empty() || ulps.empty() ? "" : ",", ulps));
    }
  }
  if (pictured && v.mismatch_map) detail.add("map", map_json(*v.mismatch_map));
  detail.add_text("reproduce", c.reproduce);
  return detail.text();
}

// The details of a row without elements, as one text. `decides` is true if the row has the case's
// outcome.
std::string detail_of(const CaseReport& c, bool decides, std::string_view why,
                      std::string_view text) {
  Detail detail;
  if (decides && why != c.remark_text) detail.add_text("remark", c.remark_text);
  detail.add_text("why", why);
  detail.add_text("text", text);
  detail.add_text("reproduce", c.reproduce);
  return detail.text();
}

void add_rows(const CaseReport& c, bool pictured, std::vector<Row>& rows) {
  if (!c.error.empty() || (c.verdicts.empty() && !c.abft)) {
    Row& row = rows.emplace_back(row_of(c, c.judged()));
    row.kind = kBad;
    row.detail = detail_of(c, true, c.because(), "");
    return;
  }
  for (const Verdict& v : c.verdicts) {
    Row& row = rows.emplace_back(row_of(c, v.outcome));
    if (v.sites > 0) {
      row.texts[kMismatches] = grouped(v.mismatches);
      row.texts[kRatio] = short_number(v.worst_ratio);
    }
    row.texts[kBlind] = blind_cell(v);
    for (std::size_t i = 0; v.metrics && i < std::size(kMetricColumns); ++i) {
      row.texts[kMetrics + i] = find_metric(kMetricColumns[i])->cell(*v.metrics);
    }
    if (!v.bound.standard.empty()) {
      row.texts[kBound] = formatted("{}: {}", standard_text(v.bound), v.bound.text());
    }
    row.texts[kNotes] = joined(notes_of(v), "\n");
    if (notes_of(v).empty()) row.texts[kNotes].clear();
    const bool speaks = c.remark != Remark::kNone && v.outcome == c.judged();
    if (v.outcome != Outcome::kPass || speaks) row.detail = detail_of(c, v, pictured);
  }
  if (c.abft) {
    const AbftVerdict& a = *c.abft;
    Row& row = rows.emplace_back(row_of(c, a.outcome));
    if (a.checks > 0) {
      row.texts[kMismatches] = grouped(a.flagged);
      row.texts[kRatio] = short_number(a.worst_ratio);
    }
    row.texts[kBound] = "abft " + a.spec;
    if (!a.notes.empty()) row.texts[kNotes] = joined(a.notes, "\n");
    const bool decides = a.outcome == c.judged() && c.deciding_verdict() == nullptr;
    if (a.outcome != Outcome::kPass) {
      row.detail = detail_of(c, decides, "checksums", explain(a));
    } else if (c.remark != Remark::kNone && decides) {
      row.detail = detail_of(c, false, c.remark_text, "");
    }
  }
}

}  // namespace

std::string gate_data_json(const GateReport& report) {
  std::vector<Row> rows;
  std::size_t pictured = 0, details = 0;
  for (const CaseReport& c : report.cases) {
    const bool speaks = !c.passes() || c.remark != Remark::kNone;
    std::size_t added = rows.size();
    add_rows(c, speaks && pictured < kPicturedCases, rows);
    pictured += speaks ? 1 : 0;
    for (; added < rows.size(); ++added) {
      if (details == kExplainedRows) rows[added].detail.clear();
      details += rows[added].detail.empty() ? 0 : 1;
    }
  }
  Strings strings;
  std::vector<std::array<std::size_t, kTexts>> numbers(rows.size());
  for (std::size_t r = 0; r < rows.size(); ++r) {
    for (std::size_t i = 0; i < kTexts; ++i) {
      numbers[r][i] = strings.number(std::move(rows[r].texts[i]));
    }
  }
  std::vector<const std::string*> texts;
  const std::vector<std::size_t> places = strings.order(texts);
  std::string out = formatted("{{\"several_files\":{},\"metrics\":[", !report.files.empty());
  for (const std::string_view name : kMetricColumns) {
    out += (out.back() == '[' ? "" : ",") + json_text(find_metric(name)->heading());
  }
  out += "],\n\"strings\":[";
  for (const std::string* text : texts) out += (out.back() == '[' ? "" : ",") + json_text(*text);
  out += "],\n\"rows\":[";
  details = 0;
  for (std::size_t r = 0; r < rows.size(); ++r) {
    out += r == 0 ? "[" : ",\n[";
    for (const std::size_t number : numbers[r]) out += formatted("{},", places[number]);
    out += formatted("{},{},", rows[r].rank, static_cast<int>(rows[r].kind));
    out += rows[r].detail.empty() ? std::string("-1]") : formatted("{}]", details++);
  }
  out += "],\n\"details\":[";
  details = 0;
  for (const Row& row : rows) {
    if (row.detail.empty()) continue;
    out += (details++ == 0 ? "" : ",\n") + row.detail;
  }
  return out + "]}";
}

}  // namespace assay::report
