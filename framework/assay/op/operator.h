// The emulated operators: a table whose rows carry their code; one pair of files a family. A
// team's own operators join it behind assay's by register_operator (docs/own_operator.md).
#pragma once

#include <deque>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "assay/cases/product.h"
#include "assay/machine/machine.h"
#include "assay/op/parameter.h"

namespace assay {

struct ExpectedErrors;
struct Recipe;

// What a machine is asked.
struct Call {
  const Case& test_case;
  const Machine& machine;
  const Format& output;  // what the result is rounded to
  int threads = 0;       // 0: default_threads()
};

// What the reference is asked. `output` is float64 for golden results (the case's output dtype
// where that is an integer), and the case's output dtype for `--machine exact`.
struct ReferenceCall {
  const Case& test_case;
  const Format& output;  // what the result is rounded to, once
  int threads = 0;       // 0: default_threads()
};

// An elementwise tolerance that follows from a case's own data: how far a result may be from the
// exact one, which therefore is not rounded before they are compared (Bound::round_expected).
struct DerivedTolerance {
  double rtol, atol;
  std::string why;

  // As a case carries it: rtol, atol, round_expected = 0, equal_nan = 1 (where the exact result is
  // NaN, so is the right one), infinity = saturating (where it leaves the output's range, units
  // differ) and why.
  std::map<std::string, Attribute> attributes() const;
};

struct Operator {
  std::string name = {};
  std::string summary = {};                // what it computes, in a line
  std::vector<OperatorInput> inputs = {};  // the first one first
  std::vector<Parameter> parameters = {};
  std::string output = "y";  // what its result is called in a case with several outputs

  // The result on a machine, in call.output.
  Tensor (*run)(const Call&) = nullptr;
  // The exact result in call.output, by a path that shares nothing with `run`.
  Tensor (*reference)(const ReferenceCall&) = nullptr;
  // The dtype of a result where the case has no `output_dtype`; nullptr: that of the first input.
  const Format& (*output_format)(const Case&) = nullptr;
  // The element bounds of the standard `accumulation` (op/sum_bound.h), float64 and of the
  // result's shape. nullptr: there are none, and `no_element_bounds` says why.
  Tensor (*element_bounds)(const Case&, const Machine&, int threads) = nullptr;
  std::string no_element_bounds = {};
  bool machine_free_bounds = false;  // element_bounds holds on every machine
  // The errors of right results by chance (op/expected_errors.h); nullptr: no rule.
  ExpectedErrors (*expected_errors)(const Case&, const Machine&, int threads) = nullptr;
  // An rtol and atol from the case's data; nullptr: no rule.
  DerivedTolerance (*tolerance)(const Case&) = nullptr;
  // The same for what a machine computes, where that matters; nullptr: `tolerance` holds for all.
  DerivedTolerance (*machine_tolerance)(const Case&, const Machine&) = nullptr;
  // Adds the inputs of a recipe (op/generate.h) to a case that has its name, op and attributes.
  void (*generate)(const Recipe&, Case&) = nullptr;  // nullptr: no cases can be made

  // Whether the result is one product of the inputs a and b, with `transpose_a`, `transpose_b` and
  // `bias` as cases/product.h reads them: what checksums, accumulator faults and counts of
  // accumulations need.
  bool product = false;
  // Whether it is softmax(scale q k^T) v of the inputs q, k and v, which has checksums of its own.
  bool attention = false;
  // Whether `tolerance` takes results in formats of uneven spacing, or without 0 and a sign, which
  // have no unit roundoff to reckon with.
  bool uneven_outputs = false;
  // Whether a NaN of the result has the sign of the input's NaN. Other operators' are positive on
  // every host, whatever sign its processor gives to infinity less infinity.
  bool keeps_nan_signs = false;
  // Whether `element_bounds` bounds the elements of this case. nullptr means of every case. For
  // other cases the operator's own bound is its `tolerance`.
  bool (*has_element_bounds)(const Case&) = nullptr;
  // Returns what a verdict should say of an output that passes by its element bounds, or an empty
  // string. nullptr means nothing.
  std::string (*remark)(const Case&, const TensorView& output) = nullptr;
};

// Adds a row behind assay's own: everything that lists or looks up operators knows it from then on.
// Rows that were there stay where they are. For the beginning of main: the table has no lock, so no
// other thread may use assay meanwhile. Throws std::invalid_argument where the name is empty,
// malformed (it has letters, digits and underscores, a letter first) or taken, where an input or
// parameter has no such name, is there twice or has a default that it would refuse itself, and
// where the inputs, `run` or `reference` are missing: a golden result never comes from the code
// under test.
void register_operator(const Operator& row);

// assay's own, then the registered ones in their order.
const std::deque<Operator>& operators();
// nullptr where assay does not emulate it.
const Operator* find_operator(std::string_view name);

// The case's operator on a machine, in the case's output dtype; on machine `exact` the reference,
// rounded to that dtype once. Throws std::invalid_argument that names the case: an operator that is
// not in the table, inputs that do not fit, a parameter that the operator does not know or take, a
// dtype that the machine's unit does not take; a registered operator's result of another dtype, or
// of another shape than the golden result (the case's own, else the reference's, computed once for
// each kind of case).
Tensor emulate(const Case& test_case, const Machine& machine, int threads = 0);

// What the accumulator of that result holds before it is cast, float32, of an operator that is one
// product on a machine that sums it in an accumulator. Throws as emulate() does, and where there is
// no such accumulator, or the result is not cast: integers, and floats as wide as the accumulator.
Tensor emulate_accumulator(const Case& test_case, const Machine& machine, int threads = 0);

// The golden result: the operator's reference, in float64 (integer results in their dtype). Throws
// as emulate() does, and where the reference gives another dtype.
Tensor golden_result(const Case& test_case, int threads = 0);

// The tolerance by the operator's rule, on a machine: the one that is given, else the one that the
// case's attribute `machine` names, else any. Throws std::invalid_argument for operators that it
// has no rule for, and where the case's data allow none.
DerivedTolerance derived_tolerance(const Case& test_case, const Machine* machine = nullptr);
// Throws std::invalid_argument that says that no tolerance can be derived for the case.
[[noreturn]] void no_tolerance(const Case& test_case);

// Returns the dtype of the operator's result: the attribute `output_dtype`, otherwise by the rule
// of the operator's row. If the operator is not known it is the dtype of the input a, q or x
// (float32 for an 8-bit float), otherwise of the first input by name, otherwise of the golden
// result. Throws CaseError if the case has none of these, or has several outputs.
const Format& output_format(const Case& test_case);
// Returns why an output of this dtype cannot be the case's output, and what to set if it can be.
// Empty if it is the case's output, or if the case has nothing but outputs.
std::string why_not_output(const Case& test_case, const Format& format);
// True if the result is one product of the inputs a and b (cases/product.h) and the case has both.
bool is_product(const Case& test_case);
// True if the result is softmax(scale q k^T) v and the case has the inputs q, k and v.
bool is_attention(const Case& test_case);

// Rules for the column `output_format`. The dtype of the first input that the row names; of a case
// without inputs the golden result's.
const Format& first_input_format(const Case& test_case);
// The same, but for 8-bit floats: operators compute with them, and give float32.
const Format& computed_format(const Case& test_case);

}  // namespace assay
