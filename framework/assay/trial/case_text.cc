#include "assay/trial/case_text.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>

#include "assay/base/text.h"
#include "assay/base/words.h"
#include "assay/op/parameter.h"

namespace assay::inline v0_2::trial {
namespace {

// Returns the value that most elements have, by their bits.
std::uint64_t commonest(const Tensor& tensor) {
  std::map<std::uint64_t, std::int64_t> counts;
  for (std::int64_t i = 0; i < tensor.size(); ++i) ++counts[tensor.bits_at(i)];
  std::uint64_t bits = 0;
  std::int64_t most = 0;
  for (const auto& [value, count] : counts) {
    if (count > most) bits = value, most = count;
  }
  return bits;
}

template <typename T>
T number_of_text(std::string_view text, std::string_view word) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) {
    refuse("the case's word '{}': '{}' is not a number", word, text);
  }
  return value;
}

}  // namespace

std::string tensor_text(const Tensor& tensor) {
  std::string text = formatted("{}[", tensor.format().name);
  for (std::size_t d = 0; d < tensor.shape().size(); ++d) {
    text += formatted("{}{}", d == 0 ? "" : ",", tensor.shape()[d]);
  }
  text += "]{";
  const std::uint64_t rest = commonest(tensor);
  bool is_first = true;
  const auto add = [&](const std::string& index, std::uint64_t bits) {
    text += formatted("{}{}:{}", is_first ? "" : ",", index,
                      number_text(decode(tensor.format(), bits)));
    is_first = false;
  };
  if (tensor.size() > 0 && rest != encode(tensor.format(), 0)) add("*", rest);
  for (std::int64_t i = 0; i < tensor.size(); ++i) {
    if (tensor.bits_at(i) != rest) add(std::to_string(i), tensor.bits_at(i));
  }
  return text + "}";
}

Tensor parse_tensor(std::string_view text, std::string_view word) {
  const std::size_t open = text.find('['), close = text.find(']'), brace = text.find('{');
  if (open == std::string_view::npos || close == std::string_view::npos || close < open ||
      brace != close + 1 || text.back() != '}') {
    const bool has_no_elements = close == text.size() - 1 && open < close;
    if (has_no_elements) {
      refuse(
          "the case's word '{}' does not say its elements; write {}{{}} for zeros, {}{{*:1}} for "
          "ones, or {}{{0:1.5}} for zeros and one other element",
          word, word, word, word);
    }
    refuse("the case's word '{}' is not a tensor; write one as x=float32[2,3]{{0:1.5}}", word);
  }
  const Format& format = format_named(text.substr(0, open));
  Shape shape;
  for (const std::string& extent : split(text.substr(open + 1, close - open - 1), ',')) {
    shape.push_back(number_of_text<std::int64_t>(extent, word));
  }
  // The text may come from a file, so the size is checked before there is memory for it.
  constexpr std::int64_t kMost = std::int64_t{1} << 28;
  std::int64_t most = kMost;
  for (const std::int64_t extent : shape) {
    if (extent < 0) refuse("the case's word '{}' has a negative size", word);
    if (extent > most) {
      refuse("the case's word '{}' has more than {} elements", word, grouped(kMost));
    }
    most /= std::max<std::int64_t>(extent, 1);
  }
  Tensor tensor(format, shape);
  const std::int64_t size = tensor.size();
  const std::vector<std::string> entries =
      split(text.substr(brace + 1, text.size() - brace - 2), ',');
  std::uint64_t rest = encode(format, 0);
  const auto value_of = [&](std::string_view entry) {
    const std::size_t colon = entry.find(':');
    if (colon == std::string_view::npos) {
      refuse("the case's word '{}': '{}' must be INDEX:VALUE", word, entry);
    }
    return encode(format, number_of_text<double>(entry.substr(colon + 1), word));
  };
  for (const std::string& entry : entries) {
    if (entry.front() == '*') rest = value_of(entry);
  }
  for (std::int64_t i = 0; i < size; ++i) tensor.set_bits(i, rest);
  for (const std::string& entry : entries) {
    if (entry.front() == '*') continue;
    const std::uint64_t bits = value_of(entry);
    const auto index =
        number_of_text<std::int64_t>(std::string_view(entry).substr(0, entry.find(':')), word);
    if (index < 0 || index >= size) {
      refuse("the case's word '{}': there is no element {}", word, index);
    }
    tensor.set_bits(index, bits);
  }
  return tensor;
}

std::int64_t nonzero_elements(const Case& c) {
  std::int64_t count = 0;
  for (const auto& [name, tensor] : c.inputs) {
    for (std::int64_t i = 0; i < tensor.size(); ++i) {
      if (decode(tensor.format(), tensor.bits_at(i)) != 0) ++count;
    }
  }
  return count;
}

std::string case_text(const Subject& subject) {
  std::string text;
  const auto add = [&](std::string_view name, const std::string& value) {
    text += formatted("{}{}={}", text.empty() ? "" : " ", name, value);
  };
  for (const auto& [name, tensor] : subject.test_case.inputs) add(name, tensor_text(tensor));
  const Operator* op = find_operator(subject.test_case.op);
  for (const auto& [name, value] : subject.test_case.attributes) {
    if (name == "output_dtype" || (op != nullptr && find_parameter(*op, name) != nullptr)) {
      add(name, attribute_text(value));
    }
  }
  if (subject.inputs != Layout::kContiguous)
    add("inputs", std::string(layout_word(subject.inputs)));
  if (subject.output != Layout::kContiguous)
    add("output", std::string(layout_word(subject.output)));
  return text;
}

Subject parse_case(const Operator& op, std::string_view text) {
  Subject subject;
  Case& c = subject.test_case;
  c.op = op.name;
  c.name = op.name + "/case";
  for (const std::string& word : split(text, ' ')) {
    const std::size_t equals = word.find('=');
    if (equals == std::string::npos) refuse("the case's word '{}' must be NAME=VALUE", word);
    const std::string name = word.substr(0, equals), value = word.substr(equals + 1);
    const bool is_input = find_row(op.inputs, name, &OperatorInput::name) != nullptr;
    const bool is_tensor = value.ends_with('}') || value.ends_with(']');
    if (is_input && (is_tensor || find_parameter(op, name) == nullptr)) {
      c.inputs[name] = parse_tensor(value, word);
    } else if (name == "inputs") {
      subject.inputs = layout_named(value);
    } else if (name == "output") {
      subject.output = layout_named(value);
    } else if (const Parameter* parameter = find_parameter(op, name)) {
      c.attributes[name] = parameter_value(*parameter, value);
    } else {
      refuse("the case's word '{}': {} has neither an input nor a parameter '{}'; inputs: {}", word,
             op.name, name, inputs_text(op));
    }
  }
  check_parameters(c, op);
  return subject;
}

Subject parse_case(std::string_view op, std::string_view text) {
  const Operator* row = find_operator(op);
  if (row == nullptr) refuse("unknown operator '{}'", op);
  return parse_case(*row, text);
}

}  // namespace assay::trial
