// A test case in memory, as a dataset file (or a test) gives it: an operator with its parameters,
// inputs, the golden result, and results that someone recorded.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "assay/tensor/tensor.h"

namespace assay {

using Attribute = std::variant<std::int64_t, double, std::string>;
std::string attribute_text(const Attribute& attribute);

// What the epilogue of a kernel can give beside its output, of a product whose accumulator is cast
// to the output's dtype (docs/abft.md, residual_compensated). Empty: not given.
struct Epilogue {
  Tensor accumulator = {};  // the output before its cast: its shape, float32 or float64
  // R = sum (before - after the cast) over the columns of each check: (..., M, checks of a row).
  Tensor residual = {};

  bool empty() const { return accumulator.empty() && residual.empty(); }
  // Why they cannot belong to this output: shape or dtype; empty where they can.
  std::string why_not(const Format& output, const Shape& shape) const;
  // The same of one of the two by its dtype and shape alone.
  static std::string why_no_accumulator(const Format& format, const Shape& accumulator,
                                        const Format& output, const Shape& shape);
  static std::string why_no_residual(const Format& format, const Shape& residual,
                                     const Format& output, const Shape& shape);
};

// One of several outputs of a case.
struct CaseOutput {
  // Of this output alone (`output_dtype`, `standard`, `rtol`, `atol`, ...), over those of the case.
  std::map<std::string, Attribute> attributes;
  bool output_dtype_is_open = false;  // as Case has it
  std::optional<Tensor> golden;       // none: this output is not compared,
  bool golden_missing = false;  // unless nothing says so: then it is to be compared, and cannot be
  std::map<std::string, Tensor> outputs;      // by producer
  std::map<std::string, Epilogue> epilogues;  // by producer
  std::map<std::string, std::string> output_machines;

  // Where the output dtype is open, a golden result of more precision says nothing of what the
  // output is meant to be: `output_dtype` becomes that of the output. Returns whether it did.
  bool take_output_dtype(const Format& output);
};

struct Case {
  std::string name;  // parts joined by '/'
  std::string file;  // the dataset file that it came from; empty where it is in none
  std::string op;
  std::map<std::string, Attribute> attributes;  // without `op`
  // Of arrays in files of their own, where nothing says what the operator returns:
  // take_output_dtype() asks the output.
  bool output_dtype_is_open = false;
  std::map<std::string, Tensor> inputs;  // those of a list x are x/0, x/1 and so on
  // Optional inputs that the case says it does not have; none of `inputs`.
  std::set<std::string> absent_inputs;
  std::map<std::string, const Format*> unread_inputs;  // known by their dtype alone
  std::optional<Tensor> golden;
  std::map<std::string, Tensor> outputs;      // by producer
  std::map<std::string, Epilogue> epilogues;  // by producer, of outputs that have one
  // Of outputs whose file says it: the machine that computed them, by producer, read or not.
  std::map<std::string, std::string> output_machines;
  // The outputs of a case that has several, by name; empty for a case with one. Such a case has no
  // golden result, outputs or epilogues of its own: one_output() gives each its own case.
  std::map<std::string, CaseOutput> results;
  // Of a case that one_output() made: which one it is.
  std::string output_name;

  // An attribute of that type. Throws std::invalid_argument that names case and attribute where it
  // has another type (an integer serves as a real number, a whole real number as an integer).
  std::optional<std::string> text(std::string_view name) const;
  std::optional<std::int64_t> integer(std::string_view name) const;
  std::optional<double> real(std::string_view name) const;
  // 0 and 1, also as the words true and false.
  std::optional<bool> flag(std::string_view name) const;

  std::vector<std::string> tags() const;

  // The dtype of an input, read or not; nullptr where the case has no such input.
  const Format* input_format(const std::string& operand) const;
  // Throws std::invalid_argument that names the case and the operand where it has none.
  const Tensor& input(const std::string& name) const;
  const Tensor& golden_tensor() const;

  // What the row of the case's operator says of it (op/operator.h answers; docs/why/007):
  //
  // The dtype that the operator returns: `output_dtype`, else by the row's rule. Of a case without
  // a known operator that of its input a, q or x (float32 of an 8-bit float), else of its first
  // input by name, else the golden result's.
  const Format& output_format() const;
  // Why an output of this dtype is none of the case's, and what to set where it is meant to be one;
  // empty where it is one, or where the case has nothing beside its outputs.
  std::string why_not_output(const Format& output) const;
  bool take_output_dtype(const Format& output);  // as CaseOutput has it
  // Whether it is one product of its inputs a and b (tensor/product.h), and has both.
  bool is_product() const;
  // Whether it is softmax(scale q k^T) v of its inputs q, k and v, and has them all.
  bool is_attention() const;
};

// The case of one of its outputs: what is judged. Inputs are copied with it, of the outputs this
// one alone. Throws std::invalid_argument where the case has no such output.
Case one_output(const Case& test_case, const std::string& output);

// Whether `name` is one or more parts of [A-Za-z0-9_.=]+ joined by '/', none of them a reserved
// word.
bool is_case_name(std::string_view name);

}  // namespace assay
