// Which arithmetic did a kernel use? This finds the models that explain recorded outputs bit for
// bit.
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

namespace assay::inline v0_2::identify {

enum class Outcome : std::uint8_t {
  kFound,  // one model gives every bit, or several that compute the same on such data
  kNone,   // no model of the space gives every bit
  // Several models give every bit, and more data of the same kind would distinguish them. For a
  // function of each element: no model does, but the output is within a documented error bound.
  kUndecided,
};
std::string_view outcome_word(Outcome outcome);

struct Finding {
  std::string case_name, output_name, producer, op;
  Outcome outcome = Outcome::kNone;
  // The result as one sentence: "Hopper's tensor cores, K in 4 parts of 1 024, added in float32."
  // Empty if the output was not tried.
  std::string sentence;
  // The model as a text for --machine and the parameters of the case. For kNone, this is the
  // nearest model. For some formats of operands, no machine exists and the text is empty.
  std::string model;
  std::map<std::string, Attribute> parameters;
  bool is_row = false;  // the model is an unchanged row of the table of machines
  // The machines of the table whose row computes the case as the model does, with the same
  // parameters. Empty if the model is not a row.
  std::vector<std::string> alike;
  std::int64_t elements = 0;
  // For kNone: the nearest model gives `agree` of `of` elements, which are a sample.
  std::int64_t agree = 0, of = 0;
  std::int64_t tried = 0;  // number of models that were tried on the output
  // True if other outputs of the same formats ruled out models that this output does not rule out.
  bool by_others = false;
  std::vector<Evidence> evidence;
  // For kUndecided, the texts of a few other models that fit.
  std::vector<std::string> rivals;
  std::optional<Decision> decision;  // data that would decide, for a product that is kUndecided
  bool has_more = false;             // true if the search stopped because too many models fit
  std::size_t fits = 0;  // number of models that fit and that other such operands may distinguish
  std::uint64_t largest_ulps = 0;  // for kNone, the largest error of the nearest model
  // For kNone, the index of the first element in which the nearest model differs.
  std::vector<std::int64_t> first;
  std::string why;                         // the reason why the output was not tried, or empty
  std::string note;                        // a remark, for example on what was not tried
  std::optional<FunctionReport> function;  // only set for an elementwise function such as exp
  std::string function_lines;              // `function` as text
  // The model from which a machine file can be written.
  std::optional<Candidate> candidate;
};

// A recorded output to explain: a product of a matrix unit, a reduction, or a function of each
// element. Each comes with a case that has only this output.
struct Recorded {
  const Case* test_case;
  std::string producer;
};
// Returns the operators whose outputs can be explained.
std::vector<std::string> identifiable_operators();
struct Options {
  // Number of threads. 0 means default_threads(). The findings do not depend on it.
  int threads = 0;
  bool evidence = true;  // true to search for evidence, which takes a while
};
std::vector<Finding> identify(const std::vector<Recorded>& outputs, const Options& options = {});

}  // namespace assay::identify
