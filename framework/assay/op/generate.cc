#include "assay/op/generate.h"

#include <algorithm>
#include <limits>
#include <stdexcept>

#include "assay/base/float_environment.h"
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
  for (const char* optional : {"bias", "weight", "offset"}) {
    if (c.inputs.count(optional) != 0) sizes += format("_{}", optional);
  }
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
  const FloatEnvironment environment;
  return draw(distribution_of(input), format, shape, seed, stream_of(input), threads);
}

Case generate_case(std::string_view op, const Recipe& recipe) {
  const FloatEnvironment environment;
  const Operator& row = maker_of(op);
  if (recipe.seed > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) {
    throw std::invalid_argument(format("a case's seed must be below 2^63, not {}", recipe.seed));
  }
  Case c;
  c.op = std::string(op);
  c.name = c.op;  // until the inputs are known
  c.attributes = recipe.attributes;
  for (const char* ours : {"seed", "distribution", "why"}) c.attributes.erase(ours);
  check_parameters(c, row);
  row.generate(recipe, c);
  for (const auto& [input, spec] : recipe.distributions) {
    if (c.inputs.count(input) != 0) continue;
    throw std::invalid_argument(format("{} has no input '{}': {}", op, input, row.inputs));
  }
  if (c.attributes.count("distribution") == 0) describe_inputs(recipe, c);
  c.attributes["seed"] = static_cast<std::int64_t>(recipe.seed);
  c.name = case_name(recipe, c, attribute_text(c.attributes.at("distribution")));
  return c;
}

void describe_inputs(const Recipe& recipe, Case& c, const std::map<std::string, InputRule>& rules) {
  // "normal" where all are the same, else "a: normal; b: uniform".
  std::string first, all, why;
  bool same = true;
  for (const auto& [input, tensor] : c.inputs) {
    const auto rule = rules.find(input);
    std::string what = rule == rules.end() ? "" : rule->second.what;
    if (rule == rules.end() || rule->second.drawn) {
      const DistributionSpec& spec = recipe.distribution_of(input);
      const std::string text = spec.text();
      if (all.empty()) first = text;
      same = same && text == first;
      all += format("{}{}: {}", all.empty() ? "" : "; ", input, text);
      what = format("{}{}{}", spec.distribution->summary, what.empty() ? "" : ", ", what);
    }
    why += format("{}{}: {}", why.empty() ? "" : "; ", input, what);
  }
  c.attributes["distribution"] = same ? first : all;
  c.attributes["why"] = why;
}

void check_sizes(const Recipe& recipe, const Case& c, std::size_t least, std::size_t most,
                 std::string_view words) {
  const std::vector<std::int64_t>& sizes = recipe.sizes;
  if (sizes.size() < least || sizes.size() > most ||
      *std::min_element(sizes.begin(), sizes.end()) < 1) {
    throw std::invalid_argument(format("{} takes {}; given {}", c.op, words, shape_text(sizes)));
  }
}

void generate_matmul(const Recipe& recipe, Case& c) {
  const std::vector<std::int64_t>& sizes = recipe.sizes;
  check_sizes(recipe, c, 3, kAnyRank, "sizes M,K,N of at least 1, batch dimensions before them");
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
  if (recipe.names("bias")) c.inputs["bias"] = recipe.draw_input("bias", c.output_format(), {n});
}

void generate_dot(const Recipe& recipe, Case& c) {
  check_sizes(recipe, c, 2, 2, "sizes n,K of at least 1");
  const std::int64_t n = recipe.sizes[0], k = recipe.sizes[1];
  for (const char* name : {"a", "b"})
    c.inputs[name] = recipe.draw_input(name, *recipe.dtype, {n, k});
  c.inputs["c"] = recipe.draw_input("c", c.output_format(), {n});
}

void generate_vector(const Recipe& recipe, Case& c) {
  check_sizes(recipe, c, 1, kAnyRank, "one size or more, each at least 1");
  const Shape shape(recipe.sizes.begin(), recipe.sizes.end());
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
    if (!recipe.names(name)) continue;
    const std::int64_t n = extent_along(c, c.integer("axis").value_or(-1)).n;
    c.inputs[name] = recipe.draw_input(name, *recipe.dtype, {n});
  }
}

void generate_attention(const Recipe& recipe, Case& c) {
  const std::vector<std::int64_t>& sizes = recipe.sizes;
  check_sizes(recipe, c, 3, kAnyRank, "sizes L,S,D of at least 1, batch dimensions before them");
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
