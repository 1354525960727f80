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

namespace assay::inline v0_2 {

// The value of an attribute: an integer, a real number or a text.
using Attribute = std::variant<std::int64_t, double, std::string>;
// Returns the value as text. A real number becomes the shortest decimal number that reads back as
// the same float64.
std::string attribute_text(const Attribute& attribute);

// The result that a producer recorded for one output.
template <typename Array>
struct BasicRecorded {
  Array tensor = {};  // the recorded output, or empty if it was not read
  BasicEpilogue<Array> epilogue = {};
  // The machine that computed the result, or empty if the file does not name it.
  std::string machine = {};
};

// The golden result of an output. It is in one of three states: present; pending, because it is not
// computed or not read yet; or absent, because the output is not to be compared.
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
  // Attributes of only this output, such as `output_dtype`, `standard`, `rtol` and `atol`. They
  // override those of the case.
  std::map<std::string, Attribute> attributes = {};
  // True if the case's arrays come from separate files, and nothing says which dtype the operator
  // returns. Then take_output_dtype() takes it from the output.
  bool output_dtype_is_open = false;
  BasicGolden<Array> golden = {};
  std::map<std::string, BasicRecorded<Array>> recorded = {};  // by producer

  // Returns the array that a producer recorded, or nullptr if the producer recorded no array or it
  // was not read.
  const Array* recorded_by(const std::string& producer) const {
    const auto found = recorded.find(producer);
    return found == recorded.end() || found->second.tensor.empty() ? nullptr
                                                                   : &found->second.tensor;
  }
};
// The parts of a Case, whose arrays are tensors.
using CaseOutput = BasicOutput<Tensor>;
using Golden = BasicGolden<Tensor>;
using RecordedResult = BasicRecorded<Tensor>;

// Returns the same output with its arrays in another form. `convert` is called for each array that
// the output has.
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
  std::map<std::string, Array> inputs = {};  // the inputs of a list x are named x/0, x/1 and so on
  // Optional inputs that the case is known not to have. None of them is in `inputs`.
  std::set<std::string> absent_inputs = {};
  // The outputs by their names. If a case has only one output, its name may be "". A case without
  // any counts as one with the output "", whose golden result is pending and which has no recorded
  // results.
  std::map<std::string, BasicOutput<Array>> outputs = {};

  // True if the outputs of the case have names.
  bool names_outputs() const { return !outputs.empty() && !outputs.begin()->first.empty(); }
  // True if the case has an output of this name. A case without outputs has the output "".
  bool has_output(const std::string& output) const {
    return outputs.count(output) != 0 || (outputs.empty() && output.empty());
  }
  const BasicOutput<Array>* find_output(const std::string& output) const {
    const auto found = outputs.find(output);
    return found == outputs.end() ? nullptr : &found->second;
  }
};

// Returns the producers that recorded at least one output of the case.
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

// A test case whose arrays are tensors, with functions that read its attributes and tensors.
struct Case : BasicCase<Tensor> {
  std::string file = {};  // path of the dataset file that the case came from, or empty
  // The dtypes of inputs whose values were not read.
  std::map<std::string, const Format*> unread_inputs = {};

  // Return the output of a case that has only one. Throw CaseError if the case has several. The
  // second form adds the output "" to a case without outputs.
  const CaseOutput& output() const;
  CaseOutput& output();
  // Returns the name of the only output, or "" for a case without outputs. Throws CaseError if the
  // case has several.
  std::string output_name() const;
  // Returns a copy of the case without tensors. It keeps names, attributes, and the machines of
  // recorded results.
  Case without_tensors() const;
  // Returns a copy of the case with only this output, including the inputs. The output's attributes
  // override those of the case. Throws CaseError, which lists the outputs, if the case does not
  // have this one.
  Case only(const std::string& output) const;

  // Return the value of an attribute, or nothing if the case does not have it. Throw Refusal that
  // names case and attribute if the attribute has another type. A whole number also counts as a
  // real number, and a real number without a fraction as an integer.
  std::optional<std::string> text(std::string_view name) const;
  std::optional<std::int64_t> integer(std::string_view name) const;
  std::optional<double> real(std::string_view name) const;
  // Returns an attribute that is 0 or 1, or one of the words true and false.
  std::optional<bool> flag(std::string_view name) const;

  std::vector<std::string> tags() const;

  // Returns the dtype of an input, even if its values were not read. Returns nullptr if the case
  // has no such input.
  const Format* input_format(const std::string& operand) const;
  // Returns an input. Throws CaseError that names the input if the case does not have it.
  const Tensor& input(const std::string& name) const;
  const Tensor& golden_tensor() const;

  // Sets the attribute `output_dtype` of an output to `format`, and returns true, if the output's
  // dtype is open and the golden result has more precision than `format`. Such a golden result does
  // not say which dtype the output is meant to have.
  bool take_output_dtype(const std::string& output, const Format& format);
};

// True if the name of a case may have this character in its parts: [A-Za-z0-9_.=].
bool is_case_character(char c);
// True if `name` is one or more parts of [A-Za-z0-9_.=]+ joined by '/', and no part is a reserved
// word.
bool is_case_name(std::string_view name);

}  // namespace assay
