// The emulated operators: a table; one pair of files a family. A team's own operators join it
// behind assay's by register_operator (docs/own_operator.md).
#pragma once

#include <deque>
#include <map>
#include <string>
#include <string_view>

#include "assay/machine/machine.h"
#include "assay/tensor/product.h"

namespace assay {

struct Recipe;

struct Call {
  const Case& test_case;
  const Machine& machine;
  const Format& output;  // what the result is rounded to
  int threads = 0;       // 0: default_threads()
};

// An elementwise tolerance that follows from a case's own data: how far a result may be from the
// exact one, which therefore is not rounded before they are compared (Bound::round_expected).
struct DerivedTolerance {
  double rtol, atol;
  std::string why;

  // As a case carries it: rtol, atol, round_expected = 0, equal_nan = 1 (where the exact result is
  // NaN, so is the right one) and why.
  std::map<std::string, Attribute> attributes() const;
};

struct Operator {
  std::string_view name = {};
  std::string_view inputs = {};      // as `assay list operators` prints them, the first one first
  std::string_view parameters = {};  // attribute names it knows, separated by blanks
  // The result on a machine, in call.output.
  Tensor (*run)(const Call&) = nullptr;
  DerivedTolerance (*tolerance)(const Case&) = nullptr;  // nullptr: no rule
  // Adds the inputs of a recipe (op/generate.h) to a case that has its name, op and attributes.
  void (*generate)(const Recipe&, Case&) = nullptr;  // nullptr: no cases can be made
  // The golden result, by a path that shares nothing with `run`: float64, or the output dtype where
  // that is an integer. nullptr: `run` on machine `exact`, for assay's own operators alone.
  Tensor (*reference)(const Case&, int threads) = nullptr;
  // The dtype of a result where the case has no `output_dtype`, of a registered operator; nullptr:
  // that of the first input.
  const Format& (*output_format)(const Case&) = nullptr;
};

// Adds a row behind assay's own: everything that lists or looks up operators knows it from then on.
// The texts are copied; rows that were there stay where they are. For the beginning of main: the
// table has no lock, so no other thread may use assay meanwhile. Throws std::invalid_argument where
// the name is empty, malformed (it has letters, digits and underscores, a letter first) or taken,
// and where the inputs, `run` or `reference` are missing: a golden result never comes from the code
// under test.
void register_operator(const Operator& row);

// assay's own, then the registered ones in their order.
const std::deque<Operator>& operators();
// nullptr where assay does not emulate it.
const Operator* find_operator(std::string_view name);
// The first name of the row's `inputs`: "x" of "x (...), gate (...)"; empty where no name is first.
std::string first_input(const Operator& op);

// The case's operator on a machine, in the case's output dtype. Throws std::invalid_argument that
// names the case: an operator that is not in the table, inputs that do not fit, a parameter that
// the operator does not know, a dtype that the machine's unit does not take; a registered
// operator's result of another dtype, or of another shape than the golden result (the case's own,
// else the reference's, computed once for each kind of case).
Tensor emulate(const Case& test_case, const Machine& machine, int threads = 0);

// The golden result: the operator on machine `exact`, in float64 (integer results in their dtype);
// of a registered operator what its reference gives. Throws as emulate() does, and where the
// reference gives another dtype.
Tensor golden_result(const Case& test_case, int threads = 0);

// The tolerance by the operator's rule. Throws std::invalid_argument for operators that it has no
// rule for, and where the case's data allow none.
DerivedTolerance derived_tolerance(const Case& test_case);
// Throws std::invalid_argument where the case has a parameter that the operator does not know.
void check_parameters(const Case& test_case, const Operator& op);
// Says that there is no rule for the case.
[[noreturn]] void no_tolerance(const Case& test_case);

Tensor run_matmul(const Call& call);
// For a product with float32 accumulation in any order: rtol is half an ulp of the output, atol is
// K 2^-24 max_ij sum_k |a_ik b_kj| (Higham, Accuracy and Stability of Numerical Algorithms, 2nd
// ed., equation 3.5, to first order), rounded with it. Zero for integers.
// Where the case's attribute `machine` names one, atol is the largest of its accumulation_bounds():
// accumulators of fewer bits (fp8) need it.
DerivedTolerance matmul_tolerance(const Case& test_case);

}  // namespace assay
