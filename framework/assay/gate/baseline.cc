#include "assay/gate/baseline.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <tuple>

#include "assay/base/text.h"
#include "assay/base/words.h"
#include "assay/judge/metric_table.h"

namespace assay::inline v0_2 {
namespace {

// The metrics whose growth is reported: the largest error, the error of all elements, an error in
// ulps of the output, which shows errors of small elements, and the used share of the bound. The
// error in ulps is the 99th percentile, because a single element next to 0 decides the largest one.
constexpr std::string_view kWatched[] = {"max_abs_error", "rmse", "p99_ulp", kBoundShare};

// Returns the verdict that represents a case: the first one with metrics. Returns nullptr if no
// verdict has metrics.
const Verdict* measured(const CaseReport& c) {
  for (const Verdict& v : c.verdicts) {
    if (v.metrics) return &v;
  }
  return nullptr;
}

double value_of(const Verdict& v, std::string_view metric) {
  return metric == kBoundShare ? v.worst_ratio : find_metric(metric)->value(*v.metrics);
}

std::string words_of(std::string_view metric) {
  return metric == kBoundShare ? "largest error / bound" : std::string(find_metric(metric)->words);
}

// Cases are the same if they have the same source name, output and producer. If one side has cases
// of several files, the file counts too.
using Key = std::tuple<std::string, std::string, std::string>;
Key key_of(const BaselineEntry& e) {
  return {e.source_name.empty() ? e.name : e.source_name, e.output, e.producer};
}

BaselineEntry entry_of(const GateReport& report, const CaseReport& c, const Verdict* v) {
  BaselineEntry entry{.file = c.file.empty() ? report.golden_file : c.file,
                      .name = c.name,
                      .producer = c.producer,
                      .output = c.output,
                      .source_name = c.source_name};
  if (v == nullptr) return entry;
  entry.standard = v->bound.standard;
  for (const std::string_view metric : kWatched) {
    const double value = value_of(*v, metric);
    if (!std::isnan(value)) entry.metrics[std::string(metric)] = {value, value};
  }
  return entry;
}

// Finds the partner of an entry: the entry of the same case in the other list.
class Entries {
 public:
  explicit Entries(const std::vector<BaselineEntry>& entries) {
    for (const BaselineEntry& e : entries) {
      found_[key_of(e)].push_back(&e);
      files_.insert(e.file);
    }
  }
  // `others` is the list that holds `e`. If both lists come from one file each, the files' names
  // need not be equal.
  const BaselineEntry* partner_of(const BaselineEntry& e, const Entries& others) const {
    const auto same = found_.find(key_of(e));
    if (same == found_.end()) return nullptr;
    if (files_.size() == 1 && others.files_.size() == 1) return same->second.front();
    const auto other = find_row(same->second, e.file, &BaselineEntry::file);
    return other != nullptr ? *other : nullptr;
  }

 private:
  std::map<Key, std::vector<const BaselineEntry*>> found_;
  std::set<std::string> files_;
};

// Returns the entries of all cases of a report, including those without metrics.
std::vector<BaselineEntry> entries_of(const GateReport& report) {
  std::vector<BaselineEntry> entries;
  for (const CaseReport& c : report.cases) entries.push_back(entry_of(report, c, measured(c)));
  return entries;
}

// The largest value that a metric may have before the case counts as worse, and the reason for this
// value.
struct Allowed {
  double most;
  std::string why;
};
Allowed allowed(std::string_view metric, const BaselineEntry& old, const Verdict& v) {
  const BaselineValue was = old.metrics.at(std::string(metric));
  if (old.repeats > 1) {
    return {was.high + (was.high - was.low),
            formatted("what its {} repeats differ by", old.repeats)};
  }
  for (const LimitReading& r : v.readings) {
    if (metric != "rmse" || r.limit.statistic != Statistic::kErrorSquares) continue;
    if (!(r.limit.parameter > 0)) continue;
    return {was.high * std::sqrt(r.limit.limit / r.limit.parameter),
            "what its expected error allows"};
  }
  return {was.high * (1 + kUnknownNoise), "10 %, because it is not known"};
}

}  // namespace

std::span<const std::string_view> baseline_metrics() { return kWatched; }

Baseline baseline_of(const GateReport& report) {
  Baseline baseline;
  for (const CaseReport& c : report.cases) {
    const Verdict* v = measured(c);
    const bool good = c.error.empty() && c.judged() == Outcome::kPass;
    if (v != nullptr && good) baseline.entries.push_back(entry_of(report, c, v));
  }
  return baseline;
}

Baseline updated(const Baseline& old, const GateReport& report, const IsChosen& is_chosen,
                 bool repeat) {
  Baseline fresh = baseline_of(report);
  const Entries before(old.entries), now(fresh.entries);
  std::set<const BaselineEntry*> replaced;
  for (BaselineEntry& e : fresh.entries) {
    const BaselineEntry* was = before.partner_of(e, now);
    if (was == nullptr) continue;
    replaced.insert(was);
    if (!repeat) continue;
    e.repeats = was->repeats + 1;
    for (auto& [metric, value] : e.metrics) {
      const auto seen = was->metrics.find(metric);
      if (seen == was->metrics.end()) continue;
      if (metric == kBoundShare && was->standard != e.standard) continue;
      value = {std::min(value.low, seen->second.low), std::max(value.high, seen->second.high)};
    }
  }
  for (const BaselineEntry& e : old.entries) {
    if (replaced.count(&e) == 0 && !is_chosen(e)) fresh.entries.push_back(e);
  }
  return fresh;
}

BaselineComparison compare_with_baseline(GateReport& report, const Baseline& baseline,
                                         const IsChosen& is_chosen) {
  BaselineComparison result;
  const std::vector<BaselineEntry> all = entries_of(report);
  const Entries before(baseline.entries), now(all);
  std::size_t fresh = 0, other_bounds = 0;
  for (std::size_t i = 0; i < all.size(); ++i) {
    CaseReport& c = report.cases[i];
    const Verdict* v = measured(c);
    if (before.partner_of(all[i], now) != nullptr) ++result.compared;
    if (v == nullptr || !c.error.empty() || c.outcome() != Outcome::kPass) continue;
    const BaselineEntry* was = before.partner_of(all[i], now);
    if (was == nullptr) {
      ++fresh;
      continue;
    }
    const bool other_bound = was->standard != v->bound.standard;
    if (other_bound) ++other_bounds;
    std::vector<std::string> worse;
    for (const std::string_view metric : kWatched) {
      if (was->metrics.count(std::string(metric)) == 0) continue;
      if (metric == kBoundShare && other_bound) continue;
      const double value = value_of(*v, metric);
      const Allowed limit = allowed(metric, *was, *v);
      if (value <= limit.most) continue;
      const double high = was->metrics.at(std::string(metric)).high;
      worse.push_back(formatted("{} is {} and was {}, more than its noise ({})", words_of(metric),
                                short_number(value), short_number(high), limit.why));
    }
    if (worse.empty()) continue;
    c.remark = Remark::kWorse;
    c.remark_text = "worse than the baseline: " + joined(worse, "; ");
  }
  for (const BaselineEntry& e : baseline.entries) {
    if (!is_chosen(e) || now.partner_of(e, before) != nullptr) continue;
    CaseReport gone;
    if (!report.files.empty()) gone.file = e.file;
    gone.name = e.name;
    gone.source_name = e.source_name;
    gone.producer = e.producer;
    gone.output = e.output;
    gone.remark = Remark::kDisappeared;
    gone.remark_text = "the baseline has this case, but it is no longer there";
    report.cases.push_back(std::move(gone));
  }
  std::vector<std::string>& notes = result.notes;
  if (fresh > 0) {
    notes.push_back(formatted("{} {} not in the baseline; update the baseline to add {}",
                              counted(static_cast<std::int64_t>(fresh), "case"),
                              fresh == 1 ? "is" : "are", fresh == 1 ? "it" : "them"));
  }
  if (other_bounds > 0) {
    notes.push_back(formatted(
        "the baseline judged {} {} by another standard, so that the used share of the bound was "
        "not compared",
        grouped(static_cast<std::int64_t>(other_bounds)), other_bounds == 1 ? "case" : "cases"));
  }
  return result;
}

}  // namespace assay
