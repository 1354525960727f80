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

#include "assay/tensor/case.h"
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

// Sizes are M, K, N, batch dimensions before them. A bias is of the output's dtype.
void generate_matmul(const Recipe& recipe, Case& to);
// Sizes are n, K. c is of the output's dtype.
void generate_dot(const Recipe& recipe, Case& to);
// Operators of the vector unit. Sizes are x's dimensions, or those of a, b and c (fma) and of x and
// y (axpy, whose a is a scalar), any number of them, each at least 1. weight and bias of layernorm
// and rmsnorm are as long as x along `axis`.
void generate_vector(const Recipe& recipe, Case& to);
// Sizes are batch dimensions, then L, S and D (of v, too), each at least 1.
void generate_attention(const Recipe& recipe, Case& to);

// Sizes are those of x. Its distribution is that of numbers before they are quantized: codes and
// scales are what quantize makes of them by the case's `scaling` and `scales`. Where `scale` has a
// distribution, both are drawn as they are, the scales in float32.
void generate_dequantize(const Recipe& recipe, Case& to);
// Sizes are M, K, N, batch dimensions before them; a and scale_a, b and scale_b as in dequantize.
void generate_scaled_matmul(const Recipe& recipe, Case& to);

// Sizes are N, C, H, W and n, the number of regions. Region i is of image i modulo N. Its corners
// are whole numbers inside the image (in units of 1 / spatial_scale pixels): there a rounding of a
// coordinate moves it across a pixel. Drawn corners are put in order. An offset is made where it
// is named.
void generate_deform_roi_pool(const Recipe& recipe, Case& to);

}  // namespace assay
