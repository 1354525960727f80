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
using Group = std::tuple<std::string, std::string, std::string, bool>;
Group group_of(const Sums& s) {
  return {s.producer, std::string(s.a_format->name), std::string(s.b_format->name),
          s.sums_in_float16};
}

// The model without what belongs to the case.
Candidate undivided(Candidate c) {
  c.interval = c.inner_interval = 0;
  return plain(c);
}

// Those that tell most of the model come first: wide results of many ordinary terms.
bool tells_more(const Sums& x, const Sums& y) {
  const auto rank = [](const Sums& s) {
    const bool ordinary = !s.has_specials && s.smallest_exponent > -100;
    const double size = static_cast<double>(s.k) * static_cast<double>(s.count);
    return std::tuple(!ordinary, s.output->bits <= 16, s.k < 32 || s.k > 1024, !s.start.empty(),
                      size > 1e8, s.case_name);
  };
  return rank(x) < rank(y);
}

std::string one_line(const CandidateText& text) {
  std::string line = text.machine;
  for (const auto& [name, value] : text.parameters) {
    line += format(" {}={}", name, attribute_text(value));
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

void set_model(const Sums& s, const Candidate& c, Finding& f) {
  const CandidateText text = text_of(s, c);
  f.model = text.machine;
  f.parameters = text.parameters;
  f.is_row = text.is_row;
  f.candidate = c;
}

Finding explained(const Sums& s, const SearchResult& result, bool by_others, int threads) {
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
  f.outcome = result.rivals.empty() ? Outcome::kFound : Outcome::kUndecided;
  f.by_others = by_others;
  f.agree = f.of = s.count;
  set_model(s, result.fits[0], f);
  f.evidence = evidence_for(s, result.fits[0], threads);
  for (std::size_t i = 0; i < std::min(kShownRivals, result.rivals.size()); ++i) {
    f.rivals.push_back(one_line(text_of(s, result.rivals[i])));
  }
  return f;
}

// The outputs of one group: each narrows down the models that explain those before it.
void identify_group(std::vector<Sums>& group, std::vector<Finding>& findings, int threads) {
  std::sort(group.begin(), group.end(), tells_more);
  std::vector<Candidate> known;  // that fit all members so far
  std::vector<std::size_t> members;
  std::vector<SearchResult> results(group.size());
  for (std::size_t i = 0; i < group.size(); ++i) {
    SearchResult& result = results[i];
    if (!known.empty()) result = search_among(group[i], known, threads);
    if (result.fits.empty()) {
      const std::int64_t tried = result.tried;
      result = search(group[i], threads);
      result.tried += tried;
      if (!known.empty()) continue;  // another unit's work, or none that is known
    }
    if (result.fits.empty()) continue;
    std::vector<Candidate> left;
    for (const Candidate& fit : result.fits) {
      const Candidate model = undivided(fit);
      if (std::none_of(left.begin(), left.end(),
                       [&](const Candidate& c) { return same(c, model); })) {
        left.push_back(model);
      }
    }
    known = left;
    members.push_back(i);
  }
  // What the last of them left holds for the first as well.
  for (const std::size_t i : members) {
    SearchResult& result = results[i];
    const std::size_t before = result.rivals.size();
    const SearchResult narrowed = search_among(group[i], known, threads);
    const bool by_others = before > 0 && narrowed.rivals.empty();
    if (!narrowed.fits.empty()) {
      const std::int64_t tried = result.tried;
      result = narrowed;
      result.tried += tried;
    }
    findings.push_back(explained(group[i], result, by_others, threads));
  }
  for (std::size_t i = 0; i < group.size(); ++i) {
    if (std::find(members.begin(), members.end(), i) != members.end()) continue;
    findings.push_back(explained(group[i], results[i], false, threads));
  }
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

std::vector<Finding> identify(const std::vector<Recorded>& outputs, int threads) {
  std::map<Group, std::vector<Sums>> groups;
  std::vector<Finding> findings;
  for (const Recorded& output : outputs) {
    const Case& c = *output.test_case;
    try {
      if (c.op == "reduce_sum") {
        findings.push_back(identify_reduction(c, output.producer, threads));
        continue;
      }
      Sums s = sums_of(c, output.producer);
      groups[group_of(s)].push_back(std::move(s));
    } catch (const std::invalid_argument& e) {
      Finding f;
      f.case_name = c.name;
      f.output_name = c.output_name;
      f.producer = output.producer;
      f.op = c.op;
      f.why = reason_of(e);
      findings.push_back(f);
    }
  }
  for (auto& [key, group] : groups) identify_group(group, findings, threads);
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
