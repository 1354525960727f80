#include "assay/trial/dimensions.h"

#include <algorithm>
#include <cctype>

#include "assay/base/text.h"
#include "assay/op/parameter.h"

namespace assay::inline v0_2::trial {
namespace {

// Returns the names in a shape such as "(..., M, K)". Returns nothing for other texts.
std::vector<std::string> names_in(std::string_view shape) {
  if (shape.size() < 2 || shape.front() != '(' || shape.back() != ')') return {};
  std::vector<std::string> names;
  for (std::string name : split(shape.substr(1, shape.size() - 2), ',')) {
    while (!name.empty() && name.front() == ' ') name.erase(0, 1);
    const bool letters = std::ranges::all_of(
        name, [](char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0; });
    if (name != "..." && !letters) return {};
    names.push_back(name);
  }
  return names;
}

std::int64_t axis_of(const Case& c, std::int64_t rank) {
  const std::int64_t axis = c.integer("axis").value_or(-1);
  return axis < 0 ? axis + rank : axis;
}

void add(std::vector<Dimension>& all, const std::string& name, std::int64_t extent,
         const std::string& input, std::size_t axis) {
  const auto found = std::ranges::find(all, name, &Dimension::name);
  if (found == all.end()) {
    all.push_back({name, extent, {{input, axis}}});
  } else if (found->extent == extent) {
    found->places.emplace_back(input, axis);
  }
}

std::string leading_name(bool is_whole, const std::string& first, std::size_t axis) {
  return is_whole ? formatted("dimension {} of {}", axis, first) : formatted("batch {}", axis);
}

}  // namespace

std::vector<Dimension> dimensions_of(const Case& c) {
  const Operator* op = find_operator(c.op);
  if (op == nullptr) return {};
  std::vector<Dimension> all;
  const std::string& first = op->inputs.front().name;
  for (const OperatorInput& input : op->inputs) {
    const auto found = c.inputs.find(input.name);
    if (found == c.inputs.end()) continue;
    std::vector<std::string> names = names_in(input.shape);
    if (names.empty()) return {};
    const Shape& shape = found->second.shape();
    const auto parameter = "transpose_" + input.name;
    if (find_parameter(*op, parameter) != nullptr && flag_of(c, parameter)) {
      std::swap(names[names.size() - 1], names[names.size() - 2]);
    }
    const bool has_rest = names.front() == "...";
    const std::size_t named = names.size() - (has_rest ? 1 : 0);
    if (shape.size() < named) {
      if (shape.empty()) continue;  // a scalar beside tensors of any shape
      return {};
    }
    const std::size_t rest = shape.size() - named;
    for (std::size_t axis = 0; axis < rest; ++axis) {
      add(all, leading_name(named == 0, first, axis), shape[axis], input.name, axis);
    }
    for (std::size_t i = 0; i < named; ++i) {
      std::string name = names[names.size() - named + i];
      // A vector that is as long as x along the axis.
      if (find_parameter(*op, "axis") != nullptr && shape.size() == 1 && input.optional) {
        const auto rank = static_cast<std::int64_t>(c.input(first).shape().size());
        name = leading_name(true, first, static_cast<std::size_t>(axis_of(c, rank)));
      }
      add(all, name, shape[rest + i], input.name, rest + i);
    }
  }
  return all;
}

Case cut(const Case& c, const Dimension& dimension, std::int64_t begin, std::int64_t count) {
  Case to = c.without_tensors();
  to.outputs.clear();
  to.inputs = c.inputs;
  for (const auto& [name, axis] : dimension.places) {
    TensorView view = c.input(name).view();
    view.data += begin * view.strides[axis] * view.format->storage_bytes;
    view.shape[axis] = count;
    to.inputs[name] = copy_of(view);
  }
  return to;
}

RowDimension rows_of(const Case& c) {
  const std::vector<Dimension> all = dimensions_of(c);
  if (all.empty()) return {};
  const Operator& op = *find_operator(c.op);
  const auto named = [&](const std::string& name) {
    const auto found = std::ranges::find(all, name, &Dimension::name);
    return found == all.end() ? Dimension() : *found;
  };
  if (op.product) {
    // Batch dimensions of the output come first.
    const std::size_t rank = std::max(c.input("a").shape().size(), c.input("b").shape().size());
    return {named("M"), rank - 2};
  }
  // One scale for all rows would join them.
  if (std::ranges::find(op.parameters, ParameterKind::kScaling, &Parameter::kind) !=
      op.parameters.end()) {
    return {};
  }
  const bool is_whole = op.sizes == "...";
  const std::string& first = op.inputs.front().name;
  const Dimension rows = named(op.sizes.rfind("...", 0) == 0 ? leading_name(is_whole, first, 0)
                                                             : split(op.sizes, ',').front());
  for (const OperatorInput& input : op.inputs) {
    const auto found = c.inputs.find(input.name);
    if (found == c.inputs.end() || found->second.shape().empty() || input.optional) continue;
    if (std::ranges::find(rows.places, std::pair(input.name, std::size_t{0})) ==
        rows.places.end()) {
      return {};
    }
  }
  if (const Parameter* axis = find_parameter(op, "axis")) {
    const bool reduces_all = axis->default_value.empty() && !c.integer("axis");
    const auto rank = static_cast<std::int64_t>(c.input(first).shape().size());
    if (reduces_all || axis_of(c, rank) == 0) return {};
  }
  return {rows, 0};
}

}  // namespace assay::trial
