#include "assay/identify/identify.h"

#include <algorithm>
#include <cmath>
#include <tuple>

#include "assay/base/error.h"
#include "assay/base/text.h"
#include "assay/identify/reductions.h"
#include "assay/op/operator.h"

namespace assay::identify {
namespace {

constexpr std::size_t kShownRivals = 8;

// What one unit's work has in common.
using UnitKey = std::tuple<std::string, std::string, std::string, bool>;
UnitKey unit_key(const Sums& s) {
  return {s.producer, std::string(s.a_format->name), std::string(s.b_format->name),
          s.sums_in_float16};
}

// The model without what belongs to the case.
Candidate undivided(Candidate c) {
  c.split = {};
  c.inner_interval = 0;
  c.output_rounding = Rounding::kNearestEven;
  return plain(c);
}

// Those that tell most of the model come first: wide results of ordinary terms, of more than a
// chunk but no more: short sums are seldom divided.
bool tells_more(const Sums& x, const Sums& y) {
  const auto rank = [](const Sums& s) {
    const bool ordinary = !s.has_specials && s.smallest_exponent > -100;
    const double size = static_cast<double>(s.k) * static_cast<double>(s.count);
    return std::tuple(!ordinary, s.output->bits <= 16, s.k < 32 || s.k > 1024, !s.start.empty(),
                      size > 1e8, s.k, s.case_name);
  };
  return rank(x) < rank(y);
}

std::string one_line(const CandidateText& text) {
  std::string line = text.machine;
  for (const auto& [name, value] : text.parameters) {
    line += formatted(" {}={}", name, attribute_text(value));
  }
  return line;
}

Finding finding_of(const Sums& s) {
  Finding f;
  f.case_name = s.case_name;
  f.output_name = s.output_name;
  f.producer = s.producer;
  f.op = s.op;
  f.elements = s.count;
  return f;
}

Finding finding_of(const Case& c, const std::string& producer) {
  Finding f;
  f.case_name = c.name;
  f.output_name = c.output_name;
  f.producer = producer;
  f.op = c.op;
  return f;
}

CandidateText set_model(const Sums& s, const Candidate& c, Finding& f) {
  CandidateText text = text_of(s, c);
  f.model = text.machine;
  f.parameters = text.parameters;
  f.is_row = text.is_row;
  f.candidate = c;
  return text;
}

Finding explained(const Sums& s, const SearchResult& result, bool by_others,
                  const Options& options) {
  const int threads = options.threads;
  Finding f = finding_of(s);
  f.tried = result.tried;
  f.fits = result.fits.size();
  if (result.fits.empty()) {
    const Nearest nearest = nearest_model(s, threads);
    f.outcome = Outcome::kNone;
    set_model(s, nearest.candidate, f);
    f.agree = nearest.agree;
    f.of = nearest.of;
    f.largest_ulps = nearest.largest_ulps;
    f.first = {nearest.first};
    return f;
  }
  const bool has_rows_unit = set_model(s, result.fits[0], f).has_rows_unit;
  // More elements would decide between these. A row of the table is not doubted for what is no row
  // and hardly another model.
  std::vector<Candidate> rivals;
  int hardly = 0;
  for (const Rival& rival : rivals_of(s, result.fits, threads)) {
    if (has_rows_unit && rival.differs_seldom && !text_of(s, rival.candidate).has_rows_unit) {
      ++hardly;
    } else {
      rivals.push_back(rival.candidate);
    }
  }
  if (hardly > 0) {
    f.note = formatted(
        "{} that {} no row {} every bit as well, and would give others in less than one "
        "sum of {}",
        hardly == 1 ? "a model" : formatted("{} models", hardly), hardly == 1 ? "is" : "are",
        hardly == 1 ? "gives" : "give", Rival::kSeldom);
  }
  f.outcome = rivals.empty() && !result.has_more ? Outcome::kFound : Outcome::kUndecided;
  f.by_others = by_others;
  f.agree = f.of = s.count;
  if (options.evidence) f.evidence = evidence_for(s, result.fits[0], threads);
  for (const Candidate& rival : rivals) {
    const std::string line = one_line(text_of(s, rival));
    const bool is_there = std::find(f.rivals.begin(), f.rivals.end(), line) != f.rivals.end();
    if (!is_there && f.rivals.size() < kShownRivals) f.rivals.push_back(line);
  }
  return f;
}

// Models without what belongs to a case, each once.
std::vector<Candidate> models_of(const std::vector<Candidate>& fits) {
  std::vector<Candidate> models;
  for (const Candidate& fit : fits) models.push_back(undivided(fit));
  return each_once(models);
}

// What fits the outputs before may be near to what fits all: the known models and those in one or
// two parameters from them that explain `before`, a member, as well.
SearchResult search_near(const Sums& s, const Sums& before, const std::vector<Candidate>& known,
                         int threads) {
  constexpr std::size_t kMost[] = {64, 3};
  SearchResult result;
  for (const std::size_t most : kMost) {
    std::vector<Candidate> near;
    for (std::size_t i = 0; i < std::min(most, known.size()); ++i) {
      near.push_back(known[i]);
      for (const Candidate& next : neighbours(s, known[i], false)) {
        near.push_back(next);
        if (most == kMost[0]) continue;
        for (const Candidate& after : neighbours(s, next, false)) near.push_back(after);
      }
    }
    const std::int64_t tried = result.tried + static_cast<std::int64_t>(near.size());
    result =
        search_among(s, models_of(explaining(before, models_of(near), threads)), true, threads);
    result.tried += tried;
    if (!result.fits.empty()) break;
  }
  return result;
}

// The outputs of one group: each narrows down the models that explain those before it.
void identify_group(std::vector<Sums>& group, std::vector<Finding>& findings,
                    const Options& options) {
  const int threads = options.threads;
  std::sort(group.begin(), group.end(), tells_more);
  std::vector<Candidate> known;       // that fit all members so far,
  std::vector<Candidate> some;        // and those of the grid that fit the first alone
  std::optional<std::size_t> anchor;  // the last that these explain
  // Outputs of one unit have models near each other, or none has: a few that have not are enough.
  constexpr int kMostInVain = 3;
  int in_vain = 0;  // since `anchor` was set
  std::vector<std::size_t> members;
  std::vector<SearchResult> results(group.size());
  std::vector<std::size_t> fitted(group.size(), 0);
  std::vector<bool> is_done(group.size(), false);
  // What is quickly found in one output spares the long search in the others; what is found at last
  // may explain those before it.
  enum class Pass : std::uint8_t { kQuick, kLong, kKnownAlone };
  for (const Pass pass : {Pass::kQuick, Pass::kLong, Pass::kKnownAlone}) {
    for (std::size_t i = 0; i < group.size(); ++i) {
      if (is_done[i] || (pass == Pass::kKnownAlone && known.empty())) continue;
      const Sums& s = group[i];
      SearchResult& result = results[i];
      std::int64_t tried = result.tried;
      std::vector<Candidate>& list = known.empty() ? some : known;
      const auto take = [&](SearchResult next) {
        tried += result.tried;
        result = std::move(next);
      };
      result.tried = 0;
      if (list.size() > SearchResult::kMostFits) {
        std::vector<Candidate> left = models_of(explaining(s, list, threads));
        if (!left.empty()) {
          take(search_among(s, left, true, threads));
          list = std::move(left);
        }
      } else if (!list.empty()) {
        take(search_among(s, list, true, threads));
      }
      const bool by_list = !result.fits.empty();
      if (result.fits.empty() && anchor && in_vain < kMostInVain) {
        take(search_near(s, group[*anchor], list, threads));
        in_vain = result.fits.empty() ? in_vain + 1 : 0;
      }
      const bool is_member = known.empty() || !result.fits.empty();
      if (result.fits.empty() && pass != Pass::kKnownAlone) {
        take(search(s, pass == Pass::kQuick ? Effort::kUndivided : Effort::kAll, threads));
      }
      result.tried += tried;
      if (result.fits.empty()) continue;
      is_done[i] = true;
      if (!is_member) continue;  // another unit's work
      if (!result.has_more) {
        fitted[i] = result.fits.size();
        known = models_of(result.fits);
        members.push_back(i);
      } else if (by_list) {
        // More fit than were looked for: no complete list to go on with.
        std::vector<Candidate> left = models_of(explaining(s, list, threads));
        if (left.empty()) left = list;
        known = std::move(left);
      } else if (!anchor) {
        some = models_of(explaining_of_grid(s, threads));
        const std::vector<Candidate> more = models_of(result.fits);
        some.insert(some.end(), more.begin(), more.end());
        some = each_once(some);
      } else {
        continue;
      }
      anchor = i;
      in_vain = 0;
    }
  }
  // What the last of them left holds for the others as well.
  for (std::size_t i = 0; i < group.size(); ++i) {
    SearchResult& result = results[i];
    bool by_others = false;
    const bool is_member = std::find(members.begin(), members.end(), i) != members.end();
    if (!known.empty() && (is_member || result.has_more)) {
      const std::int64_t tried = result.tried;
      SearchResult narrowed = search_among(group[i], known, false, threads);
      if (!narrowed.fits.empty()) {
        by_others = group.size() > 1 && (!is_member || narrowed.fits.size() < fitted[i]);
        result = std::move(narrowed);
        result.tried += tried;
      }
    }
    findings.push_back(explained(group[i], result, by_others, options));
  }
}

// A function of each element.
Finding identify_elements(const Case& c, Finding f, int threads) {
  const Tensor& output = c.outputs.at(f.producer);
  f.elements = output.size();
  f.function = identify_function(c, output, threads);
  const FunctionReport& report = *f.function;
  f.function_lines = function_text(report, c, output);
  f.tried = static_cast<std::int64_t>(report.fits.size() + report.nearest.size());
  f.fits = report.fits.size();
  const std::string outcome = report.outcome();
  f.outcome = outcome == "found"     ? Outcome::kFound
              : outcome == "bounded" ? Outcome::kUndecided
                                     : Outcome::kNone;
  f.of = f.agree = f.elements;
  const std::vector<FunctionCandidate>& nearest =
      report.fits.empty() ? report.nearest : report.fits;
  if (nearest.empty()) return f;
  f.model = nearest.front().machine;
  f.parameters = nearest.front().parameters;
  f.is_row = true;
  f.agree -= nearest.front().differ;
  f.first = {nearest.front().first};
  return f;
}

}  // namespace

std::string_view outcome_word(Outcome outcome) {
  switch (outcome) {
    case Outcome::kFound:
      return "found";
    case Outcome::kNone:
      return "none";
    case Outcome::kUndecided:
      return "undecided";
  }
  return "";
}

std::vector<std::string> identifiable_operators() {
  std::vector<std::string> all = {"matmul", "dot", "scaled_matmul", "reduce_sum"};
  for (const std::string_view name : identifiable_functions()) all.emplace_back(name);
  return all;
}

std::vector<Finding> identify(const std::vector<Recorded>& outputs, const Options& options) {
  std::map<UnitKey, std::vector<Sums>> groups;
  std::vector<Finding> findings;
  for (const Recorded& output : outputs) {
    const Case& c = *output.test_case;
    Finding f = finding_of(c, output.producer);
    try {
      if (c.op == "reduce_sum") {
        findings.push_back(identify_reduction(c, f, options.threads));
        continue;
      }
      if (is_identifiable_function(c)) {
        findings.push_back(identify_elements(c, f, options.threads));
        continue;
      }
      Sums s = sums_of(c, output.producer);
      groups[unit_key(s)].push_back(std::move(s));
    } catch (const std::invalid_argument& e) {
      f.why = reason_of(e);
      findings.push_back(f);
    }
  }
  for (auto& [key, group] : groups) identify_group(group, findings, options);
  // As they were given.
  const auto place = [&](const Finding& f) {
    return std::find_if(outputs.begin(), outputs.end(),
                        [&](const Recorded& r) {
                          return r.test_case->name == f.case_name &&
                                 r.test_case->output_name == f.output_name &&
                                 r.producer == f.producer;
                        }) -
           outputs.begin();
  };
  std::stable_sort(findings.begin(), findings.end(),
                   [&](const Finding& x, const Finding& y) { return place(x) < place(y); });
  return findings;
}

}  // namespace assay::identify
