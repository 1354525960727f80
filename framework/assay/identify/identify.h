// Which arithmetic did a kernel use? The models that explain recorded outputs bit for bit.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "assay/cases/case.h"
#include "assay/identify/decide.h"
#include "assay/identify/function_fit.h"
#include "assay/identify/model_search.h"
#include "assay/machine/machine.h"

namespace assay::identify {

enum class Outcome : std::uint8_t {
  kFound,  // one model gives every bit, or several that compute alike on such data
  kNone,   // no model of the space does
  // Several do, and more data of the same kind would tell them apart. Of a function of each
  // element: none does, and a documented bound of its error is kept.
  kUndecided,
};
std::string_view outcome_word(Outcome outcome);

struct Finding {
  std::string case_name, output_name, producer, op;
  Outcome outcome = Outcome::kNone;
  // The outcome for people, one sentence: "Hopper's tensor cores, K in 4 parts of 1 024, added in
  // float32." Empty for an output that was not tried.
  std::string sentence;
  // A text that --machine takes, and the case's parameters; of kNone those of the nearest model. No
  // machine takes operands of some formats: then there is no text.
  std::string model;
  std::map<std::string, Attribute> parameters;
  bool is_row = false;  // the model is a row of the table of machines as it is
  // The machines of the table whose row computes the case as the model does, with the same
  // parameters. Empty if the model is no row.
  std::vector<std::string> alike;
  std::int64_t elements = 0;
  std::int64_t agree = 0, of = 0;  // of kNone on a sample
  std::int64_t tried = 0;          // models
  // Whether other outputs of the same formats ruled out models that this one alone does not.
  bool by_others = false;
  std::vector<Evidence> evidence;
  // Of kUndecided: other models that fit, as texts, at most a few.
  std::vector<std::string> rivals;
  std::optional<Decision> decision;        // of kUndecided, for a product: what would decide
  bool has_more = false;                   // so many fit that the search for them was ended
  std::size_t fits = 0;                    // models that fit and that may differ on such operands
  std::uint64_t largest_ulps = 0;          // of kNone: how far the nearest model is off,
  std::vector<std::int64_t> first;         // and the first index where it is
  std::string why;                         // of an output that was not tried
  std::string note;                        // what was left untried, and why
  std::optional<FunctionReport> function;  // of a function of each element
  std::string function_lines;              // that report for a person
  // What a machine file is written from.
  std::optional<Candidate> candidate;
};

// Of recorded outputs, one case (with one output) each: products of a matrix unit, reduce_sum, and
// functions of each element. Products of one producer whose operands have the same formats are
// taken to be one unit's work: what one of them leaves open, the others may decide. An output that
// cannot be explained has its reason in `why`.
struct Recorded {
  const Case* test_case;
  std::string producer;
};
// The operators whose outputs can be.
std::vector<std::string> identifiable_operators();
struct Options {
  int threads = 0;       // 0: default_threads(); findings do not depend on it
  bool evidence = true;  // look for it, which takes a while
};
std::vector<Finding> identify(const std::vector<Recorded>& outputs, const Options& options = {});

}  // namespace assay::identify
