#include "assay/op/generate.h"

#include <algorithm>
#include <limits>
#include <stdexcept>

#include "assay/base/random.h"
#include "assay/base/text.h"
#include "assay/op/operator.h"
#include "assay/op/rows.h"

namespace assay {
namespace {

const Operator& maker_of(std::string_view op) {
  std::vector<std::string> all, making;
  for (const Operator& row : operators()) {
    all.emplace_back(row.name);
    if (row.generate != nullptr) making.emplace_back(row.name);
  }
  const Operator* found = find_operator(op);
  if (found != nullptr && found->generate != nullptr) return *found;
  if (found != nullptr) {
    throw std::invalid_argument(
        format("no cases of '{}' can be made; of {} they can", op, joined(making)));
  }
  const std::string near = nearest_word(op, all);
  throw std::invalid_argument(format("unknown operator '{}'{}; cases can be made of {}", op,
                                     near.empty() ? "" : format(": did you mean '{}'?", near),
                                     joined(making)));
}

// What may stand in a case's name: '-' is written m (minus), what joins is written '.'.
std::string name_part(std::string_view text) {
  std::string out;
  for (const char c : text) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    if (plain || c == '_' || c == '=' || c == '.') {
      out += c;
    } else if (c == '-') {
      out += 'm';
    } else if (c != '+') {
      out += '.';
    }
  }
  return out;
}

// The distributions of a case's inputs: "normal" where all are the same, else "a: normal; b:
// uniform".
std::string distributions_text(const Recipe& recipe, const Case& c) {
  const std::string first = recipe.distribution_of(c.inputs.begin()->first).text();
  bool same = true;
  std::string all;
  for (const auto& [input, tensor] : c.inputs) {
    const std::string text = recipe.distribution_of(input).text();
    same = same && text == first;
    all += format("{}{}: {}", all.empty() ? "" : "; ", input, text);
  }
  return same ? first : all;
}

// "matmul/bfloat16/128x1024x256/normal.mean=1/seed7"; "a: normal; b: uniform,low=-6" becomes
// a_normal__b_uniform.low=m6.
std::string case_name(const Recipe& recipe, const Case& c, const std::string& distributions) {
  std::string dtypes(recipe.dtype->name), sizes;
  for (const std::int64_t size : recipe.sizes) {
    sizes += format("{}{}", sizes.empty() ? "" : "x", size);
  }
  for (const auto& [name, value] : recipe.attributes) {
    if (name == "output_dtype") {
      dtypes += "_to_" + name_part(attribute_text(value));
    } else {
      sizes += "_" + name_part(name + "=" + attribute_text(value));
    }
  }
  if (c.inputs.count("bias") != 0) sizes += "_bias";
  std::string drawn;
  for (std::string part : split(distributions, ';')) {
    if (part.front() == ' ') part.erase(0, 1);
    const std::size_t colon = part.find(": ");
    if (colon != std::string::npos) part.replace(colon, 2, "_");
    drawn += (drawn.empty() ? "" : "__") + name_part(part);
  }
  return format("{}/{}/{}/{}/seed{}", c.op, dtypes, sizes, drawn, recipe.seed);
}

}  // namespace

const DistributionSpec& Recipe::distribution_of(const std::string& input) const {
  const auto named = distributions.find(input);
  return named == distributions.end() ? distribution : named->second;
}

Tensor Recipe::draw_input(const std::string& input, const Format& format,
                          const Shape& shape) const {
  return draw(distribution_of(input), format, shape, seed, stream_of(input), threads);
}

Case generate_case(std::string_view op, const Recipe& recipe) {
  const Operator& row = maker_of(op);
  if (recipe.seed > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) {
    throw std::invalid_argument(format("a case's seed must be below 2^63, not {}", recipe.seed));
  }
  Case c;
  c.op = std::string(op);
  c.name = c.op;  // until the inputs are known
  c.attributes = recipe.attributes;
  check_parameters(c, row);
  row.generate(recipe, c);
  for (const auto& [input, spec] : recipe.distributions) {
    if (c.inputs.count(input) != 0) continue;
    throw std::invalid_argument(format("{} has no input '{}': {}", op, input, row.inputs));
  }
  c.attributes["seed"] = static_cast<std::int64_t>(recipe.seed);
  const std::string drawn = distributions_text(recipe, c);
  c.attributes["distribution"] = drawn;
  c.name = case_name(recipe, c, drawn);
  std::string why;
  for (const auto& [input, tensor] : c.inputs) {
    why += format("{}{}: {}", why.empty() ? "" : "; ", input,
                  recipe.distribution_of(input).distribution->summary);
  }
  c.attributes["why"] = why;
  return c;
}

void generate_matmul(const Recipe& recipe, Case& c) {
  const std::vector<std::int64_t>& sizes = recipe.sizes;
  if (sizes.size() < 3 || *std::min_element(sizes.begin(), sizes.end()) < 1) {
    throw std::invalid_argument(
        format("matmul takes sizes M,K,N of at least 1, batch dimensions before them; given {}",
               shape_text(sizes)));
  }
  const Shape batch(sizes.begin(), sizes.end() - 3);
  const auto operand = [&](const std::string& name, std::int64_t rows, std::int64_t columns) {
    if (c.flag("transpose_" + name).value_or(false)) std::swap(rows, columns);
    Shape shape = batch;
    shape.push_back(rows);
    shape.push_back(columns);
    c.inputs[name] = recipe.draw_input(name, *recipe.dtype, shape);
  };
  const std::int64_t n = sizes.back(), k = sizes[sizes.size() - 2], m = sizes[sizes.size() - 3];
  operand("a", m, k);
  operand("b", k, n);
  if (recipe.distributions.count("bias") != 0) {
    c.inputs["bias"] = recipe.draw_input("bias", c.output_format(), {n});
  }
}

void generate_vector(const Recipe& recipe, Case& c) {
  const Shape shape(recipe.sizes.begin(), recipe.sizes.end());
  if (shape.empty() || *std::min_element(shape.begin(), shape.end()) < 1) {
    throw std::invalid_argument(
        format("{} takes one size or more, each at least 1; given {}", c.op, shape_text(shape)));
  }
  const auto draw_all = [&](std::initializer_list<const char*> names) {
    for (const char* name : names) c.inputs[name] = recipe.draw_input(name, *recipe.dtype, shape);
  };
  const std::string_view op = c.op;
  if (op == "add" || op == "sub" || op == "mul" || op == "div") {
    draw_all({"a", "b"});
  } else if (op == "fma") {
    draw_all({"a", "b", "c"});
  } else if (op == "axpy") {
    draw_all({"x", "y"});
    c.inputs["a"] = recipe.draw_input("a", *recipe.dtype, {});
  } else {
    draw_all({"x"});
  }
  if (op != "layernorm" && op != "rmsnorm") return;
  for (const char* name : {"weight", "bias"}) {
    if (recipe.distributions.count(name) == 0) continue;
    const std::int64_t n = extent_along(c, c.integer("axis").value_or(-1)).n;
    c.inputs[name] = recipe.draw_input(name, *recipe.dtype, {n});
  }
}

void generate_attention(const Recipe& recipe, Case& c) {
  const std::vector<std::int64_t>& sizes = recipe.sizes;
  if (sizes.size() < 3 || *std::min_element(sizes.begin(), sizes.end()) < 1) {
    throw std::invalid_argument(
        format("attention takes sizes L,S,D of at least 1, batch dimensions before them; given {}",
               shape_text(sizes)));
  }
  const auto operand = [&](const char* name, std::int64_t rows) {
    Shape shape(sizes.begin(), sizes.end() - 3);
    shape.push_back(rows);
    shape.push_back(sizes.back());
    c.inputs[name] = recipe.draw_input(name, *recipe.dtype, shape);
  };
  operand("q", sizes[sizes.size() - 3]);
  operand("k", sizes[sizes.size() - 2]);
  operand("v", sizes[sizes.size() - 2]);
}

}  // namespace assay
