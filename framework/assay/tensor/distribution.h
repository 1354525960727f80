#pragma once
#include <string>
#include <string_view>
#include "assay/tensor/tensor.h"
namespace assay {
struct DistributionSpec { std::string words; std::string text() const { return words; } };
DistributionSpec parse_distribution(std::string_view text);
Tensor draw(const DistributionSpec&, const Format&, const Shape&, std::uint64_t seed, std::uint64_t stream, int threads = 0);
}
