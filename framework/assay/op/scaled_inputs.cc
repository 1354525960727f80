#include "assay/op/scaled_inputs.h"

#include <string>
#include <utility>

#include "assay/base/text.h"
#include "assay/op/quantize.h"
#include "assay/op/scales.h"

namespace assay::inline v0_2 {
namespace {

// Returns a block with its sides exchanged: "128x1" for "1x128".
std::string turned(const std::string& block) {
  const std::size_t cross = block.find('x');
  return block.substr(cross + 1) + "x" + block.substr(0, cross);
}

// An operand and its scales: their names, the operand's sizes, and the attribute for its `scaling`.
// `across` is that of scale_grid(). add_quantized() adds its descriptions to `rules`.
struct Operand {
  std::string name, scale, attribute;
  Shape shape;
  bool across = false;
};

void add_quantized(const Recipe& recipe, Case& c, const Operand& operand,
                   std::map<std::string, InputRule>& rules) {
  const std::string scaling = word_of(c, operand.attribute);
  const ScaleGrid grid = scale_grid(c, operand.attribute, scaling, operand.shape, operand.across);
  const Format &codes = *recipe.dtype, &float32 = format_named("float32");
  if (recipe.names(operand.scale)) {
    c.inputs[operand.name] = recipe.draw_input(operand.name, codes, operand.shape);
    c.inputs[operand.scale] = recipe.draw_input(operand.scale, float32, grid.shape);
    return;
  }
  if (!is_code_format(codes)) {
    refuse(
        "{}: numbers are quantized to int8 or a float of at most 16 bits, not {}; give {} a "
        "distribution, and {} is drawn as it is",
        c.op, codes.name, operand.scale, operand.name);
  }
  Case numbers;
  numbers.name = c.name;
  numbers.op = "quantize";
  numbers.inputs["x"] = recipe.draw_input(operand.name, float32, operand.shape);
  // `scaling` of quantize counts rows as they are stored. If rows lie across, "row" becomes a block
  // of one whole column, and the sides of a block are exchanged.
  const bool row = scaling == "row", block = scaling != "tensor" && !row;
  numbers.attributes["scaling"] = operand.across && row
                                      ? formatted("{}x1", operand.shape[operand.shape.size() - 2])
                                  : operand.across && block ? turned(scaling)
                                                            : scaling;
  const std::string scales = word_of(c, "scales");
  numbers.attributes["scales"] = scales;
  const auto quantized = [&](const Format& output) {
    numbers.attributes["output_dtype"] = std::string(output.name);
    return quantize_in_float32(numbers, output, nullptr, recipe.threads);
  };
  c.inputs[operand.name] = quantized(codes);
  numbers.attributes["result"] = std::string("scales");
  numbers.attributes["quantized_dtype"] = std::string(codes.name);
  const Tensor found = quantized(float32);
  c.inputs[operand.scale] = Tensor::from_values(float32, grid.shape, found.view().values());
  const std::string each = block ? formatted(" of each block {}", scaling)
                           : row ? formatted(" of each {}", operand.across ? "column" : "row")
                                 : "";
  const std::string quotient = formatted("amax / {}{}", number_text(max_finite(codes)), each);
  rules[operand.name] = {true, formatted("quantized to {}", codes.name)};
  rules[operand.scale] = {
      false, scales == "free" ? quotient : formatted("the power of two at or above {}", quotient)};
}

}  // namespace

void generate_dequantize(const Recipe& recipe, Case& c) {
  check_sizes(recipe, c, 1, kAnyRank, "one size or more, each at least 1");
  std::map<std::string, InputRule> rules;
  add_quantized(recipe, c, {"x", "scale", "scaling", recipe.sizes}, rules);
  describe_inputs(recipe, c, rules);
}

void generate_scaled_matmul(const Recipe& recipe, Case& c) {
  check_sizes(recipe, c, 3, kAnyRank, "sizes M,K,N of at least 1, batch dimensions before them");
  const std::vector<std::int64_t>& sizes = recipe.sizes;
  const std::int64_t n = sizes.back(), k = sizes[sizes.size() - 2], m = sizes[sizes.size() - 3];
  std::map<std::string, InputRule> rules;
  const auto add = [&](const std::string& name, std::int64_t rows, std::int64_t columns) {
    const bool transposed = flag_of(c, "transpose_" + name);
    if (transposed) std::swap(rows, columns);
    Shape shape(sizes.begin(), sizes.end() - 3);
    shape.push_back(rows);
    shape.push_back(columns);
    // K is the last dimension but one of b, and of a transposed a.
    add_quantized(recipe, c,
                  {name, "scale_" + name, name + "_scaling", shape, (name == "b") != transposed},
                  rules);
  };
  add("a", m, k);
  add("b", k, n);
  describe_inputs(recipe, c, rules);
}

}  // namespace assay
