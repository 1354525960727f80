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
  // is named.
  DistributionSpec distribution = parse_distribution("normal");
  std::map<std::string, DistributionSpec> distributions = {};
  std::uint64_t seed = 0;  // below 2^63, as attributes go
  int threads = 0;

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

void generate_matmul(const Recipe& recipe, Case& to);
// Operators of the vector unit. Sizes are x's dimensions, or those of a, b and c (fma) and of x and
// y (axpy, whose a is a scalar), any number of them, each at least 1. weight and bias of layernorm
// and rmsnorm are as long as x along `axis`.
void generate_vector(const Recipe& recipe, Case& to);
// Sizes are batch dimensions, then L, S and D (of v, too), each at least 1.
void generate_attention(const Recipe& recipe, Case& to);

}  // namespace assay
