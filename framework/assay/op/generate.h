// Test cases made from a seed: inputs drawn from distributions, named by what they are.
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

namespace assay {

struct Recipe {
  const Format* dtype = nullptr;  // of the inputs
  // As the operator counts them: matmul takes its batch dimensions, then M, K, N.
  std::vector<std::int64_t> sizes;
  std::map<std::string, Attribute> attributes = {};  // parameters of the operator, output_dtype
  // Of all inputs; of those named here instead. An optional input (matmul's bias) is made where it
  // is named. Inputs that the operator makes by a rule of its own (scales, regions) are drawn only
  // where they are named.
  DistributionSpec distribution = parse_distribution("normal");
  std::map<std::string, DistributionSpec> distributions = {};
  std::uint64_t seed = 0;  // below 2^63, as attributes go
  int threads = 0;

  bool names(const std::string& input) const { return distributions.count(input) != 0; }
  const DistributionSpec& distribution_of(const std::string& input) const;
  // The input, drawn from its distribution in the stream of its name.
  Tensor draw_input(const std::string& input, const Format& format, const Shape& shape) const;
};

// A case whose inputs follow from the recipe alone: the same operator, dtype, sizes, attributes,
// distributions and seed give the same bits. Its attributes seed, distribution and why say how it
// was made; its name does so in short:
// "matmul/bfloat16/128x1024x256/normal.mean=1/seed7". Throws std::invalid_argument on an operator
// that has no `generate` in its row, and where the operator cannot take what the recipe says.
Case generate_case(std::string_view op, const Recipe& recipe);

// An input that is more than drawn: `drawn` and then changed, or made without a distribution.
struct InputRule {
  bool drawn;
  std::string what;
};
// Writes the case's attributes distribution and why: "x: mean + deviation N(0, 1), as codes; scale:
// amax / 448". generate_case does so for inputs that are all drawn; a `generate` that has rules of
// its own calls it itself.
void describe_inputs(const Recipe& recipe, Case& to,
                     const std::map<std::string, InputRule>& rules = {});
// Throws std::invalid_argument "OP takes WORDS; given [...]" where a recipe has not so many sizes,
// or one below 1.
inline constexpr std::size_t kAnyRank = ~std::size_t{0};
void check_sizes(const Recipe& recipe, const Case& c, std::size_t least, std::size_t most,
                 std::string_view words);

// Draws inputs of the recipe's sizes, one size or more, each at least 1.
void draw_vectors(const Recipe& recipe, Case& to, const std::vector<const char*>& inputs);
// The column `generate` of an operator whose inputs all have the recipe's sizes: every input of its
// row, optional ones where they are named.
void generate_vector(const Recipe& recipe, Case& to);
// Whether the row of the case's operator has an input of this name.
bool has_input(const Case& test_case, std::string_view input);

}  // namespace assay
