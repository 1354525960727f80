#include "assay/op/generate.h"

#include <algorithm>
#include <limits>

#include "assay/base/float_environment.h"
#include "assay/base/random.h"
#include "assay/base/text.h"
#include "assay/base/words.h"
#include "assay/op/operator.h"

namespace assay::inline v0_2 {
namespace {

const Operator& maker_of(std::string_view op) {
  const std::vector<std::string> all = names_of(operators()),
                                 making = names_with(operators(), &Operator::generate);
  const Operator* found = find_operator(op);
  if (found != nullptr && found->generate != nullptr) return *found;
  if (found != nullptr) {
    refuse("cases of '{}' cannot be made; choose one of {}", op, joined(making));
  }
  refuse("unknown operator '{}'{}; cases can be made for {}", op, did_you_mean(op, all),
         joined(making));
}

// Returns the text with only the characters that a case's name may have. '-' becomes m (for minus),
// '+' is dropped, and any other character becomes '.'.
std::string name_part(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (is_case_character(c)) {
      out += c;
    } else if (c == '-') {
      out += 'm';
    } else if (c != '+') {
      out += '.';
    }
  }
  return out;
}

// Returns a name such as "matmul/bfloat16/128x1024x256/normal.mean=1/seed7". In a name, "a: normal;
// b: uniform,low=-6" becomes a_normal__b_uniform.low=m6.
std::string case_name(const Recipe& recipe, const Operator& row, const Case& c,
                      const std::string& distributions) {
  std::string dtypes(recipe.dtype->name), sizes;
  for (const std::int64_t size : recipe.sizes) {
    sizes += formatted("{}{}", sizes.empty() ? "" : "x", size);
  }
  for (const auto& [name, value] : recipe.attributes) {
    if (name == "output_dtype") {
      dtypes += "_to_" + name_part(attribute_text(value));
    } else {
      sizes += "_" + name_part(name + "=" + attribute_text(value));
    }
  }
  for (const auto& [name, tensor] : c.inputs) {
    for (const OperatorInput& input : row.inputs) {
      if (input.name == name && input.optional) sizes += formatted("_{}", name);
    }
  }
  std::string drawn;
  for (std::string part : split(distributions, ';')) {
    if (part.front() == ' ') part.erase(0, 1);
    const std::size_t colon = part.find(": ");
    if (colon != std::string::npos) part.replace(colon, 2, "_");
    drawn += (drawn.empty() ? "" : "__") + name_part(part);
  }
  return formatted("{}/{}/{}/{}/seed{}", c.op, dtypes, sizes, drawn, recipe.seed);
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
    refuse("a case's seed must be below 2^63, not {}", recipe.seed);
  }
  Case c;
  c.op = std::string(op);
  c.name = c.op;  // stands here until the inputs are known
  c.attributes = recipe.attributes;
  for (const char* ours : {"seed", "distribution", "why"}) c.attributes.erase(ours);
  check_parameters(c, row);
  row.generate(recipe, c);
  for (const auto& [input, spec] : recipe.distributions) {
    if (c.inputs.count(input) != 0) continue;
    // A name of one or two letters is similar to too many others.
    const std::string near =
        input.size() < 3 ? "" : did_you_mean_aside(input, names_of(row.inputs));
    refuse("{} has no input '{}'{}: {}", op, input, near, inputs_text(row));
  }
  if (c.attributes.count("distribution") == 0) describe_inputs(recipe, c);
  c.attributes["seed"] = static_cast<std::int64_t>(recipe.seed);
  c.name = case_name(recipe, row, c, attribute_text(c.attributes.at("distribution")));
  return c;
}

void describe_inputs(const Recipe& recipe, Case& c, const std::map<std::string, InputRule>& rules) {
  // Writes "normal" if all inputs have one distribution, and "a: normal; b: uniform" otherwise.
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
      all += formatted("{}{}: {}", all.empty() ? "" : "; ", input, text);
      what = formatted("{}{}{}", spec.distribution->summary, what.empty() ? "" : ", ", what);
    }
    why += formatted("{}{}: {}", why.empty() ? "" : "; ", input, what);
  }
  c.attributes["distribution"] = same ? first : all;
  c.attributes["why"] = why;
}

void check_sizes(const Recipe& recipe, const Case& c, std::size_t least, std::size_t most,
                 std::string_view words) {
  const std::vector<std::int64_t>& sizes = recipe.sizes;
  if (sizes.size() < least || sizes.size() > most ||
      *std::ranges::min_element(sizes) < recipe.least_size) {
    refuse("{} takes {}; given {}", c.op, words, shape_text(sizes));
  }
}

void draw_vectors(const Recipe& recipe, Case& c, const std::vector<const char*>& inputs) {
  check_sizes(recipe, c, 1, kAnyRank, "one size or more, each at least 1");
  const Shape shape(recipe.sizes.begin(), recipe.sizes.end());
  for (const char* name : inputs) c.inputs[name] = recipe.draw_input(name, *recipe.dtype, shape);
}

void generate_vector(const Recipe& recipe, Case& c) {
  std::vector<const char*> inputs;
  for (const OperatorInput& input : find_operator(c.op)->inputs) {
    if (!input.optional || recipe.names(input.name)) inputs.push_back(input.name.c_str());
  }
  draw_vectors(recipe, c, inputs);
}

bool has_input(const Case& c, std::string_view name) {
  const Operator* op = find_operator(c.op);
  return op != nullptr && find_row(op->inputs, name, &OperatorInput::name) != nullptr;
}

}  // namespace assay
