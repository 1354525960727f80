// The emulated operators: a table whose rows hold their code, with one pair of files for each
// family. register_operator() adds a team's own operators after assay's (docs/own_operator.md).
#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "assay/cases/product.h"
#include "assay/machine/machine.h"
#include "assay/op/parameter.h"

namespace assay::inline v0_2 {

struct ExpectedErrors;
struct Recipe;

// The arguments of an operator's emulation.
struct Call {
  const Case& test_case;
  const Machine& machine;
  const Format& output;  // format that the result is rounded to
  int threads = 0;       // number of threads. 0 means default_threads().
};

// The arguments of an operator's reference. `output` is float64 for golden results, or the case's
// output dtype if that is an integer. It is the case's output dtype for `--machine exact`.
struct ReferenceCall {
  const Case& test_case;
  const Format& output;  // format that the result is rounded to, once
  int threads = 0;       // number of threads. 0 means default_threads().
};

// An elementwise tolerance that follows from a case's own data: the largest distance of a result
// from the exact one. The exact result is therefore not rounded before they are compared
// (Bound::round_expected).
struct DerivedTolerance {
  double rtol, atol;
  std::string why;

  // Returns the tolerance as attributes of a case: rtol, atol, round_expected = 0, equal_nan = 1,
  // infinity = saturating, and why. equal_nan is 1 because a correct result is NaN wherever the
  // exact one is. infinity is saturating because units differ if the exact result leaves the
  // output's range.
  std::map<std::string, Attribute> attributes() const;
};

// A row of the table of operators: an operator's inputs, its parameters, its code and its
// properties.
struct Operator {
  std::string name = {};
  std::string summary = {};                // what the operator computes, in one line
  std::vector<OperatorInput> inputs = {};  // the first one often decides the dtype of the result
  std::vector<Parameter> parameters = {};
  std::string output = "y";  // name of its result in a case with several outputs
  // The sizes of a recipe (op/generate.h) in their order, as dimensions of the inputs' shapes.
  // "..." stands for any number of sizes.
  std::string sizes = "...";

  // Returns the result on a machine, in call.output.
  Tensor (*run)(const Call&) = nullptr;
  // Returns the exact result in call.output. It should not use the arithmetic of `run`, so that
  // both do not have the same fault.
  Tensor (*reference)(const ReferenceCall&) = nullptr;
  // Returns the dtype of a result if the case has no `output_dtype`. If nullptr, it is the dtype of
  // the first input.
  const Format& (*output_format)(const Case&) = nullptr;
  // Returns the element bounds of the standard `accumulation` (op/sum_bound.h), float64 and of the
  // result's shape. If nullptr, the operator has no such bounds, and `no_element_bounds` gives the
  // reason.
  Tensor (*element_bounds)(const Case&, const Machine&, int threads) = nullptr;
  std::string no_element_bounds = {};
  bool machine_free_bounds = false;  // true if the bounds of element_bounds hold on every machine
  // Returns the errors that correct results have by chance (op/expected_errors.h). nullptr if there
  // is no rule.
  ExpectedErrors (*expected_errors)(const Case&, const Machine&, int threads) = nullptr;
  // Returns an rtol and atol from the case's data. nullptr if there is no rule.
  DerivedTolerance (*tolerance)(const Case&) = nullptr;
  // Returns the tolerance for a given machine, if it depends on the machine. If nullptr,
  // `tolerance` holds for all machines.
  DerivedTolerance (*machine_tolerance)(const Case&, const Machine&) = nullptr;
  // Adds the inputs of a recipe (op/generate.h) to a case that has its name, op and attributes.
  void (*generate)(const Recipe&, Case&) = nullptr;  // nullptr if no cases can be made

  // True if the result is one product of the inputs a and b, with `transpose_a`, `transpose_b` and
  // `bias` as cases/product.h reads them. Checksums, accumulator faults and counts of accumulations
  // need this.
  bool product = false;
  // True if the result is softmax(scale q k^T) v of the inputs q, k and v, which has its own
  // checksums.
  bool attention = false;
  // True if `tolerance` also accepts results in formats that have uneven spacing, or lack 0 and a
  // sign. Such formats have no unit roundoff to compute with.
  bool uneven_outputs = false;
  // True if a NaN of the result has the sign of the input's NaN. NaNs of other operators are
  // positive on every host, whatever sign the processor gives to infinity minus infinity.
  bool keeps_nan_signs = false;
  // Returns true if the elements of this case have bounds by `element_bounds`. nullptr means that
  // the elements of every case have them. For other cases the operator's own bound is its
  // `tolerance`.
  bool (*has_element_bounds)(const Case&) = nullptr;
  // Returns a remark for the verdict on an output that passes by its element bounds, or an empty
  // string. nullptr means that there are no remarks.
  std::string (*remark)(const Case&, const TensorView& output) = nullptr;
};

// Adds a row after assay's own. From then on, everything that lists or looks up operators knows it.
// Existing rows keep their addresses. It may be called while other threads use assay.
//
// Throws Refusal if:
// - the name is empty, malformed or taken (a name has letters, digits and underscores, a letter
//   first)
// - an input or parameter has such a malformed name, occurs twice, or has a default that the
//   parameter itself refuses
// - the inputs, `run` or `reference` are missing. A golden result never comes from the code under
//   test.
// - 1024 operators are registered already.
void register_operator(const Operator& row);

// Returns assay's own operators, then the registered ones in their order.
std::span<const Operator> operators();
// Returns the row of the operator, or nullptr if assay does not emulate it.
const Operator* find_operator(std::string_view name);
// Returns the row of the operator. Throws Refusal, which names the nearest known one, if there is
// none.
const Operator& operator_named(std::string_view name);

// Runs the case's operator on a machine, in the case's output dtype. On machine `exact` it is the
// reference, rounded to that dtype once. Throws Refusal, which names the case, for:
// - an operator that is not in the table
// - inputs that do not fit
// - a parameter that the operator does not know, or a value that it does not take
// - a dtype that the machine's unit does not take
// - a registered operator's result of another dtype
// - a registered operator's result of another shape than the golden result: the case's own, or that
//   of the reference, which is computed once for each kind of case.
Tensor emulate(const Case& test_case, const Machine& machine, int threads = 0);

// Returns the float32 sums of all elements that emulate() would cast to its result. The operator
// must be one product, on a machine that rounds its sums. Throws like emulate(). Also throws if the
// machine sums exactly, or if the result is not cast, which holds for integers and for floats of at
// least float32's precision.
Tensor emulate_accumulator(const Case& test_case, const Machine& machine, int threads = 0);

// Returns the golden result: the operator's reference, in float64 (integer results in their dtype).
// Throws like emulate(), and if the reference returns another dtype.
Tensor golden_result(const Case& test_case, int threads = 0);

// Returns the tolerance by the operator's rule, on a machine: `machine` if it is not null,
// otherwise the one that the case's attribute `machine` names, otherwise any machine. Throws
// Refusal if the operator has no rule, or if the case's data allow no tolerance.
DerivedTolerance derived_tolerance(const Case& test_case, const Machine* machine = nullptr);
// Throws Refusal, which says that no tolerance can be derived for the case.
[[noreturn]] void no_tolerance(const Case& test_case);

// Returns the dtype of the operator's result: the attribute `output_dtype`, or the rule of the
// operator's row. An unknown operator has the dtype of its input a, q or x, with float32 for an
// 8-bit float. Without these inputs it is the dtype of the first input by name, and without inputs
// that of the golden result. Throws CaseError if the case has none of these, or has several
// outputs.
const Format& output_format(const Case& test_case);
// Returns the reason why an output of this dtype cannot be the case's output, and which attribute
// to set if it should be. Empty if it can be the case's output, or if the case has only outputs.
std::string why_not_output(const Case& test_case, const Format& format);
// True if the result is one product of the inputs a and b (cases/product.h) and the case has both.
bool is_product(const Case& test_case);
// True if the result is softmax(scale q k^T) v and the case has the inputs q, k and v.
bool is_attention(const Case& test_case);

// Two functions for Operator::output_format. This one returns the dtype of the first input in the
// row, or of the golden result if the case has no inputs.
const Format& first_input_format(const Case& test_case);
// Like first_input_format(), but returns float32 for 8-bit floats, because operators that compute
// with them return float32.
const Format& computed_format(const Case& test_case);

}  // namespace assay
