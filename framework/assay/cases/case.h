// A test case: an operator with its attributes and inputs, and outputs by name. Each output has its
// golden result and the results that producers recorded.
//
//   Case c;
//   c.name = "matmul/small";  c.op = "matmul";
//   c.inputs.emplace("a", a);  c.inputs.emplace("b", b);
//   c.output().golden = golden;
//   c.output().recorded["npu"].tensor = output;
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "assay/cases/epilogue.h"
#include "assay/tensor/tensor.h"

namespace assay {

using Attribute = std::variant<std::int64_t, double, std::string>;
std::string attribute_text(const Attribute& attribute);

// The result that a producer recorded for one output.
template <typename Array>
struct BasicRecorded {
  Array tensor = {};  // empty if it was not read
  BasicEpilogue<Array> epilogue = {};
  std::string machine = {};  // the one that computed it, or empty if the file does not name it
};

// The golden result of an output: present; pending, because it is not computed or not read yet; or
// absent, because the output is not to be compared.
template <typename Array>
class BasicGolden {
 public:
  BasicGolden() = default;                                // pending
  BasicGolden(Array array) : array_(std::move(array)) {}  // NOLINT: an array is a result
  static BasicGolden absent() {
    BasicGolden golden;
    golden.is_absent_ = true;
    return golden;
  }

  explicit operator bool() const { return array_.has_value(); }  // present
  bool is_absent() const { return is_absent_; }
  const Array& operator*() const { return *array_; }
  Array& operator*() { return *array_; }
  const Array* operator->() const { return &*array_; }
  Array* operator->() { return &*array_; }

 private:
  std::optional<Array> array_;
  bool is_absent_ = false;
};

// One output of a case.
template <typename Array>
struct BasicOutput {
  // `output_dtype`, `standard`, `rtol`, `atol` and others. They override those of the case.
  std::map<std::string, Attribute> attributes = {};
  // The case has arrays in files of their own, and nothing says which dtype the operator returns:
  // take_output_dtype() asks the output.
  bool output_dtype_is_open = false;
  BasicGolden<Array> golden = {};
  std::map<std::string, BasicRecorded<Array>> recorded = {};  // by producer

  // The array that a producer recorded. nullptr if it recorded no array or the array was not read.
  const Array* recorded_by(const std::string& producer) const {
    const auto found = recorded.find(producer);
    return found == recorded.end() || found->second.tensor.empty() ? nullptr
                                                                   : &found->second.tensor;
  }
};
using CaseOutput = BasicOutput<Tensor>;
using Golden = BasicGolden<Tensor>;
using RecordedResult = BasicRecorded<Tensor>;

// The same output with other arrays: `convert` makes each that is there.
template <typename To, typename From, typename Convert>
BasicOutput<To> converted(const BasicOutput<From>& from, const Convert& convert) {
  const auto part = [&](const From& array) { return array.empty() ? To() : convert(array); };
  BasicOutput<To> to{from.attributes, from.output_dtype_is_open};
  if (from.golden) to.golden = convert(*from.golden);
  if (from.golden.is_absent()) to.golden = BasicGolden<To>::absent();
  for (const auto& [producer, r] : from.recorded) {
    to.recorded[producer] = {
        part(r.tensor), {part(r.epilogue.accumulator), part(r.epilogue.residual)}, r.machine};
  }
  return to;
}

// A test case: an operator with its attributes and inputs, and its outputs by name. `Array` stands
// for an array: a tensor, or a reference into a file (datasets/store/case_source.h).
template <typename Array>
struct BasicCase {
  std::string name = {};  // parts joined by '/'
  std::string op = {};
  std::map<std::string, Attribute> attributes = {};  // without `op`
  std::map<std::string, Array> inputs = {};          // those of a list x are x/0, x/1 and so on
  // Optional inputs that the case says it does not have. None of them is in `inputs`.
  std::set<std::string> absent_inputs = {};
  // By name. A case with one output has one, named "". A case without any is taken as one whose
  // output "" has a pending golden result and no recorded results.
  std::map<std::string, BasicOutput<Array>> outputs = {};

  // True if its outputs have names.
  bool names_outputs() const { return !outputs.empty() && !outputs.begin()->first.empty(); }
  // True if the case has this output. A case without outputs has the output "".
  bool has_output(const std::string& output) const {
    return outputs.count(output) != 0 || (outputs.empty() && output.empty());
  }
  const BasicOutput<Array>* find_output(const std::string& output) const {
    const auto found = outputs.find(output);
    return found == outputs.end() ? nullptr : &found->second;
  }
};

// The producers that recorded any of the outputs.
template <typename Array>
std::vector<std::string> producers_of(const BasicCase<Array>& test_case) {
  std::set<std::string> producers;
  for (const auto& [output, of] : test_case.outputs) {
    for (const auto& [producer, recorded] : of.recorded) {
      if (!recorded.tensor.empty()) producers.insert(producer);
    }
  }
  return {producers.begin(), producers.end()};
}

struct Case : BasicCase<Tensor> {
  std::string file = {};  // the dataset file that it came from, or empty
  std::map<std::string, const Format*> unread_inputs = {};  // only their dtypes are known

  // The output of a case that has one. Throws CaseError if the case has several. The second one
  // adds the output "" to a case without outputs.
  const CaseOutput& output() const;
  CaseOutput& output();
  // Its name; "" for a case without outputs. Throws CaseError if the case has several.
  std::string output_name() const;
  // Everything but the tensors: names, attributes, and the machines of recorded results.
  Case without_tensors() const;
  // The case with one of its outputs, whose attributes are laid over the case's. Inputs are copied.
  // Throws CaseError, which lists the outputs, if the case does not have this one.
  Case only(const std::string& output) const;

  // An attribute of that type. Throws Refusal that names case and attribute if it
  // has another type (an integer serves as a real number, a whole real number as an integer).
  std::optional<std::string> text(std::string_view name) const;
  std::optional<std::int64_t> integer(std::string_view name) const;
  std::optional<double> real(std::string_view name) const;
  // 0 and 1, also as the words true and false.
  std::optional<bool> flag(std::string_view name) const;

  std::vector<std::string> tags() const;

  // The dtype of an input, read or not; nullptr where the case has no such input.
  const Format* input_format(const std::string& operand) const;
  // Throws CaseError that names the operand if the case does not have this input.
  const Tensor& input(const std::string& name) const;
  const Tensor& golden_tensor() const;

  // If the output dtype is open, a golden result of more precision does not say which dtype the
  // output is meant to have: its `output_dtype` becomes `format`. Returns whether it did.
  bool take_output_dtype(const std::string& output, const Format& format);
};

// True if `name` is one or more parts of [A-Za-z0-9_.=]+ joined by '/', and no part is a reserved
// word.
bool is_case_name(std::string_view name);

}  // namespace assay
