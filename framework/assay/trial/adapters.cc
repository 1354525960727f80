#include "assay/trial/adapters.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <new>
#include <optional>

#include "assay/base/text.h"
#include "assay/base/words.h"
#include "assay/machine/machine.h"
#include "assay/op/operator.h"
#include "assay/op/parameter.h"

namespace assay::inline v0_2::trial {
namespace {

constexpr std::string_view kOutputNames[] = {"y", "output", "out"};
constexpr std::string_view kSizeNames[] = {"rows", "columns", "size", "batch"};

const OperatorInput* find_input(const Operator& op, std::string_view name) {
  return find_row(op.inputs, name, &OperatorInput::name);
}

bool is_output(const Operator& op, std::string_view name) {
  return name == op.output || (find_input(op, name) == nullptr &&
                               std::ranges::find(kOutputNames, name) != std::end(kOutputNames));
}

// Returns the names of dimensions in the shapes of the operator's inputs, such as M and K.
std::vector<std::string> dimension_names(const Operator& op) {
  std::vector<std::string> names;
  for (const OperatorInput& input : op.inputs) {
    std::string name;
    for (const char c : input.shape + ")") {
      if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z')) {
        name += c;
      } else if (!name.empty()) {
        if (name != "or" && std::ranges::find(names, name) == names.end()) names.push_back(name);
        name.clear();
      }
    }
  }
  return names;
}

// A dimension of an input, such as x.0 or x.-1.
struct Indexed {
  std::string input;
  std::int64_t axis = 0;
};
std::optional<Indexed> indexed(const Operator& op, const std::string& name) {
  const std::size_t dot = name.find('.');
  if (dot == std::string::npos || find_input(op, name.substr(0, dot)) == nullptr) return {};
  Indexed found{name.substr(0, dot)};
  const char* const end = name.data() + name.size();
  const auto [stop, error] = std::from_chars(name.data() + dot + 1, end, found.axis);
  if (error != std::errc() || stop != end) return {};
  return found;
}

[[noreturn]] void refuse_name(const Operator& op, const std::string& name) {
  std::vector<std::string> sizes = dimension_names(op);
  sizes.insert(sizes.end(), std::begin(kSizeNames), std::end(kSizeNames));
  sizes.push_back(op.inputs.front().name + ".0");
  const std::vector<std::string> parameters = names_of(op.parameters);
  refuse(
      "'{}' is not an argument of {}: inputs are {}; the output is {}; sizes are {}; parameters "
      "are {}",
      name, op.name, joined(names_of(op.inputs)), op.output, joined(sizes), joined(parameters));
}

TrialKernel with_arguments(const Operator& op, const std::vector<std::string>& names) {
  TrialKernel kernel;
  kernel.takes_strides = kernel.takes_out_strides = false;
  bool has_batch = false, has_output = false;
  std::int64_t highest = -1;
  bool counts_from_start = false;
  for (const std::string& name : names) {
    has_batch = has_batch || name == "batch" || name == "rows" || name == "size";
    has_output = has_output || is_output(op, name);
    if (const OperatorInput* input = find_input(op, name); input != nullptr && input->optional) {
      kernel.always.insert(name);
    }
    if (find_parameter(op, name) != nullptr) kernel.parameters.insert(name);
    if (const auto dimension = indexed(op, name); dimension && dimension->axis >= 0) {
      counts_from_start = true;
      highest = std::max(highest, dimension->axis);
    }
  }
  for (const OperatorInput& input : op.inputs) {
    if (!input.optional && std::ranges::find(names, input.name) == names.end()) {
      refuse("args() does not name the input {} of {}: {}", input.name, op.name, inputs_text(op));
    }
  }
  if (!has_output) refuse("args() does not name the output of {}, which is {}", op.name, op.output);
  // Without an argument for them, there are no batch dimensions.
  if (counts_from_start) {
    kernel.least_rank = kernel.most_rank = static_cast<int>(highest) + 1;
  } else if (op.sizes != "..." && !has_batch) {
    kernel.most_rank = 2;
  }
  return kernel;
}

}  // namespace

std::vector<std::string> input_names(const Operator& op, std::size_t count) {
  std::vector<std::string> names;
  std::size_t optional = count;
  for (const OperatorInput& input : op.inputs) optional -= input.optional ? 0 : 1;
  for (const OperatorInput& input : op.inputs) {
    if (!input.optional) {
      names.push_back(input.name);
    } else if (optional > 0) {
      names.push_back(input.name);
      --optional;
    }
  }
  return names;
}

TrialKernel kernel_of_all(const Operator& op) {
  TrialKernel kernel;
  kernel.takes_strides = kernel.takes_out_strides = true;
  for (const OperatorInput& input : op.inputs) {
    if (input.optional) kernel.sometimes.insert(input.name);
  }
  for (const Parameter& parameter : op.parameters) kernel.parameters.insert(parameter.name);
  return kernel;
}

TrialKernel kernel_of_inputs(const Operator& op, std::size_t count) {
  std::size_t needed = 0;
  for (const OperatorInput& input : op.inputs) needed += input.optional ? 0 : 1;
  TrialKernel kernel;
  kernel.takes_strides = kernel.takes_out_strides = true;
  if (count < needed || count > op.inputs.size()) {
    refuse("the function has {}, but {} has {}", counted(static_cast<std::int64_t>(count), "input"),
           op.name, inputs_text(op));
  }
  for (const std::string& name : input_names(op, count)) {
    if (find_input(op, name)->optional) kernel.always.insert(name);
  }
  return kernel;
}

namespace {

// Returns what an argument of this name is. Throws Refusal, which lists the names, if it is
// unknown.
Argument::Kind kind_of_argument(const Operator& op, const std::string& name) {
  if (find_input(op, name) != nullptr && name != op.output) return Argument::Kind::kInput;
  if (is_output(op, name)) return Argument::Kind::kOutput;
  if (const Parameter* parameter = find_parameter(op, name)) {
    if (parameter->kind == ParameterKind::kNumber) return Argument::Kind::kReal;
    if (parameter->kind == ParameterKind::kInteger || parameter->kind == ParameterKind::kFlag) {
      return Argument::Kind::kWhole;
    }
    refuse("the parameter {} of {} is a {}, which cannot be an argument of as_kernel()", name,
           op.name, kind_word(parameter->kind));
  }
  const std::vector<std::string> dimensions = dimension_names(op);
  if (std::ranges::find(kSizeNames, name) != std::end(kSizeNames) ||
      std::ranges::find(dimensions, name) != dimensions.end() || indexed(op, name)) {
    return Argument::Kind::kWhole;
  }
  refuse_name(op, name);
}

}  // namespace

std::string arguments_text(const std::vector<std::string>& names) {
  return formatted("a function of ({})", joined(names));
}

TrialKernel one_of(std::vector<TrialKernel> kernels) {
  TrialKernel all = kernels.front();
  all.dtypes.clear();
  for (const TrialKernel& kernel : kernels) {
    all.dtypes.insert(all.dtypes.end(), kernel.dtypes.begin(), kernel.dtypes.end());
  }
  all.call = [kernels = std::move(kernels)](const KernelCall& call) {
    const Operator& op = *find_operator(call.test_case.op);
    const std::string dtype(call.input(op.inputs.front().name).format->name);
    for (const TrialKernel& kernel : kernels) {
      if (kernel.dtypes == std::vector<std::string>{dtype}) return kernel.call(call);
    }
    throw NotSupported(formatted("{} is not among the types of as_kernel()", dtype));
  };
  return all;
}

TrialKernel kernel_of_arguments(const Operator& op, const std::vector<Argument>& arguments) {
  std::vector<std::string> names;
  const Format* input_format = nullptr;
  const Format* output = nullptr;
  for (const Argument& argument : arguments) {
    names.push_back(argument.name);
    const Argument::Kind kind = kind_of_argument(op, argument.name);
    const bool is_pointer =
        argument.kind == Argument::Kind::kInput || argument.kind == Argument::Kind::kOutput;
    const bool names_pointer = kind == Argument::Kind::kInput || kind == Argument::Kind::kOutput;
    if (is_pointer != names_pointer) {
      refuse("the argument '{}' is {}, and its type is {}", argument.name,
             names_pointer ? "a tensor" : "a number", is_pointer ? "a pointer" : "a number");
    }
    if (kind == Argument::Kind::kOutput && argument.kind == Argument::Kind::kInput) {
      refuse("the output '{}' is a pointer to const", argument.name);
    }
    if (kind == Argument::Kind::kOutput) output = argument.format;
    if (kind == Argument::Kind::kInput && argument.name == op.inputs.front().name) {
      input_format = argument.format;
    }
  }
  TrialKernel kernel = with_arguments(op, names);
  if (input_format != nullptr) kernel.dtypes = {std::string(input_format->name)};
  if (output != nullptr && output != input_format) kernel.output_dtype = output->name;
  return kernel;
}

double argument_value(const KernelCall& call, const std::string& name) {
  const Operator& op = *find_operator(call.test_case.op);
  if (const Parameter* parameter = find_parameter(op, name)) {
    if (const auto value = call.test_case.real(name)) return *value;
    if (parameter->default_value.empty()) {
      refuse("{} has no default value, and the case does not give one", name);
    }
    return parameter->kind == ParameterKind::kFlag ? (flag_of(call.test_case, name) ? 1 : 0)
                                                   : number_of(call.test_case, name);
  }
  const auto extent = [](const Shape& shape, std::int64_t axis) {
    const auto rank = static_cast<std::int64_t>(shape.size());
    if (axis < 0) axis += rank;
    if (axis < 0 || axis >= rank) throw NotSupported("an input of another rank");
    return static_cast<double>(shape[static_cast<std::size_t>(axis)]);
  };
  const Shape& first = call.input(op.inputs.front().name).shape;
  const double size = static_cast<double>(element_count(first));
  const double columns = first.empty() ? 1 : static_cast<double>(first.back());
  if (name == "size") return size;
  if (name == "columns") return columns;
  if (name == "rows") {
    double rows = 1;
    for (std::size_t d = 0; d + 1 < first.size(); ++d) rows *= static_cast<double>(first[d]);
    return rows;
  }
  if (name == "batch") {
    double batch = 1;
    for (std::size_t d = 0; d + 2 < call.output.shape.size(); ++d) {
      batch *= static_cast<double>(call.output.shape[d]);
    }
    return batch;
  }
  if (const auto dimension = indexed(op, name)) {
    return extent(call.input(dimension->input).shape, dimension->axis);
  }
  // A named dimension, counted from the end of the first input that has it.
  for (const OperatorInput& input : op.inputs) {
    if (!call.has(input.name)) continue;
    std::vector<std::string> names;
    Operator one{.name = op.name, .inputs = {input}};
    names = dimension_names(one);
    const auto found = std::ranges::find(names, name);
    if (found == names.end()) continue;
    auto from_end = std::distance(found, names.end());
    const std::string transpose = "transpose_" + input.name;
    if (find_parameter(op, transpose) != nullptr && flag_of(call.test_case, transpose)) {
      from_end = from_end == 1 ? 2 : 1;
    }
    return extent(call.input(input.name).shape, -static_cast<std::int64_t>(from_end));
  }
  refuse_name(op, name);
}

const void* input_pointer(const KernelCall& call, const std::string& name) {
  return call.input(name).data;
}

static void call_emulated(const KernelCall& call, const Machine& machine) {
  Case c = call.test_case;
  c.attributes["output_dtype"] = std::string(call.output.format->name);
  for (const auto& [name, view] : call.inputs) c.inputs[name] = copy_of(view);
  Tensor output;
  try {
    output = emulate(c, machine, 1);
  } catch (const Refusal& e) {
    throw NotSupported(e.reason());
  }
  copy_elements(output.view(), call.output);
}

}  // namespace assay::trial

namespace assay::inline v0_2 {

TrialKernel emulated_kernel(const Operator& op, const Machine& machine) {
  TrialKernel kernel = trial::kernel_of_all(op);
  kernel.name = formatted("the emulated machine {}", machine.name);
  kernel.call = [&machine](const KernelCall& call) {
    try {
      trial::call_emulated(call, machine);
    } catch (const std::bad_alloc&) {
      throw trial::OutOfMemory();
    }
  };
  return kernel;
}

}  // namespace assay
