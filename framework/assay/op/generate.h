// Test cases made from a seed. Inputs are drawn from distributions, and a case's name describes it.
//
//   Recipe recipe{&format_named("bfloat16"), {128, 1024, 256}};
//   recipe.distributions["a"] = parse_distribution("normal,mean=1");
//   Case c = generate_case("matmul", recipe);
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "assay/cases/case.h"
#include "assay/tensor/distribution.h"

namespace assay::inline v0_2 {

// The choices from which generate_case() makes a case.
struct Recipe {
  const Format* dtype = nullptr;  // of the inputs
  // Sizes in the operator's order: matmul takes its batch dimensions, then M, K, N.
  std::vector<std::int64_t> sizes = {};
  std::map<std::string, Attribute> attributes = {};  // parameters of the operator, output_dtype
  // `distribution` applies to all inputs, except those that `distributions` names. An optional
  // input (matmul's bias) is made if `distributions` names it. Inputs that the operator makes by
  // its own rule (scales, regions) are drawn only if `distributions` names them.
  DistributionSpec distribution = parse_distribution("normal");
  std::map<std::string, DistributionSpec> distributions = {};
  std::uint64_t seed = 0;       // must be below 2^63, the limit of integer attributes
  std::int64_t least_size = 1;  // sizes below it are refused. A trial also draws empty tensors.
  int threads = 0;

  bool names(const std::string& input) const { return distributions.count(input) != 0; }
  const DistributionSpec& distribution_of(const std::string& input) const;
  // Returns the input, drawn from its distribution in the random stream of its name.
  Tensor draw_input(const std::string& input, const Format& format, const Shape& shape) const;
};

// Returns a case whose inputs depend only on the recipe: the same operator, dtype, sizes,
// attributes, distributions and seed give the same bits. Its attributes seed, distribution and why
// describe how it was made. Its name is the short form:
// "matmul/bfloat16/128x1024x256/normal.mean=1/seed7". Throws Refusal if the operator
// has no `generate`, or does not accept the recipe.
Case generate_case(std::string_view op, const Recipe& recipe);

// Describes an input that is not simply drawn. If `drawn` is true, it is drawn and then changed as
// `what` says, otherwise it is made without a distribution.
struct InputRule {
  bool drawn;
  std::string what;
};
// Writes the case's attributes distribution and why, such as "x: mean + deviation N(0, 1), as
// codes; scale: amax / 448". generate_case() calls it for inputs that are all drawn. A `generate`
// with its own rules calls it itself.
void describe_inputs(const Recipe& recipe, Case& to,
                     const std::map<std::string, InputRule>& rules = {});
// Throws Refusal "OP takes WORDS; given [...]" if a recipe has fewer than `least` or
// more than `most` sizes, or a size below its least_size.
inline constexpr std::size_t kAnyRank = ~std::size_t{0};
void check_sizes(const Recipe& recipe, const Case& c, std::size_t least, std::size_t most,
                 std::string_view words);

// Draws the named inputs, each of the shape that the recipe's sizes give. Throws Refusal if there
// is no size, or one below the recipe's least_size.
void draw_vectors(const Recipe& recipe, Case& to, const std::vector<const char*>& inputs);
// The `generate` of an operator whose inputs all have the recipe's sizes as their shape. Makes
// every required input of the operator, and an optional one only if the recipe names it.
void generate_vector(const Recipe& recipe, Case& to);
// True if the case's operator has an input of this name.
bool has_input(const Case& test_case, std::string_view input);

}  // namespace assay
