#include "assay/identify/identify.h"

#include <algorithm>
#include <tuple>

#include "assay/base/error.h"
#include "assay/base/text.h"
#include "assay/base/words.h"
#include "assay/identify/candidate_text.h"
#include "assay/identify/group.h"
#include "assay/identify/integers.h"
#include "assay/identify/reductions.h"
#include "assay/identify/sentence.h"
#include "assay/op/operator.h"

namespace assay::inline v0_2::identify {
namespace {

constexpr std::size_t kShownRivals = 8;

// The properties that all outputs of one unit share: producer, formats of a and b, and whether sums
// are float16.
using UnitKey = std::tuple<std::string, std::string, std::string, bool>;
UnitKey unit_key(const Sums& s) {
  return {s.producer, std::string(s.a_format->name), std::string(s.b_format->name),
          s.sums_in_float16};
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
  f.output_name = c.output_name();
  f.producer = producer;
  f.op = c.op;
  return f;
}

void set_model(const Sums& s, const Candidate& c, Finding& f) {
  const CandidateText text = text_of(s, c);
  f.model = text.machine;
  f.parameters = text.parameters;
  f.is_row = text.is_row;
  f.candidate = c;
}

// Returns the machines whose rows compute as the model of `f` does, with the same parameters.
// `alike` are the models that no data of this kind distinguish from it.
std::vector<std::string> names_alike(const Sums& s, const Finding& f,
                                     const std::vector<Candidate>& alike) {
  if (!f.is_row) return {};
  std::vector<std::string> names = {f.model};
  for (const Candidate& c : alike) {
    for (const MachineRow& row : rows_like(s, c)) {
      const std::string name(row.machine->name);
      const bool is_there = contains(names, name);
      if (!is_there && text_of(s, row.candidate).parameters == f.parameters) {
        names.push_back(name);
      }
    }
  }
  return names;
}

Finding explained(const Sums& s, const Explanation& explanation, const Options& options) {
  const SearchResult& result = explanation.result;
  const bool by_others = explanation.by_others;
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
    f.sentence = sentence_of(formatted(
        "no model gives every element; the nearest, {}, gives {} of {}",
        arithmetic_in_words(s, nearest.candidate,
                            f.is_row ? std::vector{f.model} : std::vector<std::string>{}, f.model),
        grouped(f.agree), grouped(f.of)));
    return f;
  }
  set_model(s, result.fits[0], f);
  const Doubts doubts = doubts_about(s, result, threads);
  if (doubts.seldom > 0) {
    const bool is_one = doubts.seldom == 1;
    f.note = formatted(
        "{} that {} not in the table {} every bit as well, and would give other bits in fewer than "
        "one sum of {}",
        is_one ? "a model" : formatted("{} models", doubts.seldom), is_one ? "is" : "are",
        is_one ? "gives" : "give", Rival::kSeldom);
  }
  f.alike = names_alike(s, f, doubts.alike);
  f.has_more = result.has_more;
  f.outcome = doubts.rivals.empty() && !result.has_more ? Outcome::kFound : Outcome::kUndecided;
  if (f.outcome == Outcome::kUndecided) {
    std::vector<Candidate> models = doubts.alike;
    models.insert(models.end(), doubts.rivals.begin(), doubts.rivals.end());
    f.decision = what_decides(s, models, threads);
  }
  f.by_others = by_others;
  f.agree = f.of = s.count;
  f.sentence = arithmetic_in_words(s, result.fits[0], f.alike, f.model);
  if (f.outcome == Outcome::kUndecided) {
    // If the search stopped early, the list of models is incomplete. Then all models but the first
    // one count.
    const std::int64_t others =
        result.has_more ? std::ssize(result.fits) - 1 : std::ssize(doubts.rivals);
    f.sentence = formatted("undecided: {}; {}{} other {} every element as well", f.sentence,
                           result.has_more ? "at least " : "", grouped(others),
                           others == 1 ? "model gives" : "models give");
  }
  f.sentence = sentence_of(f.sentence);
  if (options.evidence) f.evidence = evidence_for(s, result.fits[0], threads);
  for (const Candidate& rival : doubts.rivals) {
    const std::string line = one_line(text_of(s, rival));
    const bool is_there = contains(f.rivals, line);
    if (!is_there && f.rivals.size() < kShownRivals) f.rivals.push_back(line);
  }
  return f;
}

std::string function_sentence(const FunctionReport& report) {
  if (!report.fits.empty()) {
    return sentence_of(formatted("{}, in every element", report.fits.front().name));
  }
  const auto kept = std::ranges::count_if(
      report.bounds, [](const FunctionBound& bound) { return bound.outside == 0; });
  if (kept == 0) {
    return "No known formula gives every element, and no known bound of the error is kept.";
  }
  return formatted(
      "No known formula gives every element; {} of {} known bounds of the error {} kept.", kept,
      report.bounds.size(), kept == 1 ? "is" : "are");
}

// Explains a recorded output of an elementwise function, such as exp.
Finding identify_elements(const Case& c, Finding f, int threads) {
  const Tensor& output = c.output().recorded.at(f.producer).tensor;
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
  f.sentence = function_sentence(report);
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
  constexpr std::string_view kWords[] = {"found", "none", "undecided"};
  return kWords[static_cast<std::size_t>(outcome)];
}

std::vector<std::string> identifiable_operators() {
  std::vector<std::string> all = {"matmul", "dot", "scaled_matmul", "reduce_sum", "reduce_mean"};
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
      if (sums_in_int32(c)) {
        findings.push_back(identify_integers(c, f, options.threads));
        continue;
      }
      if (c.op == "reduce_sum" || c.op == "reduce_mean") {
        findings.push_back(identify_reduction(c, f, options.threads));
        continue;
      }
      if (is_identifiable_function(c)) {
        findings.push_back(identify_elements(c, f, options.threads));
        continue;
      }
      Sums s = sums_of(c, output.producer);
      groups[unit_key(s)].push_back(std::move(s));
    } catch (const Refusal& e) {
      f.why = e.reason();
      findings.push_back(f);
    }
  }
  for (auto& [key, group] : groups) {
    const std::vector<Explanation> explanations = explain_group(group, options.threads);
    for (std::size_t i = 0; i < group.size(); ++i) {
      findings.push_back(explained(group[i], explanations[i], options));
    }
  }
  // Puts the findings in the order of `outputs`.
  const auto place = [&](const Finding& f) {
    return std::ranges::find_if(outputs, [&](const Recorded& r) {
      return r.test_case->name == f.case_name && r.test_case->output_name() == f.output_name &&
             r.producer == f.producer;
    });
  };
  std::ranges::stable_sort(findings, {}, place);
  return findings;
}

}  // namespace assay::identify
