#include "peers.h"

#include <cstring>

namespace assay_bench {
namespace {

// Adds n values in 128 independent partial sums, so that the compiler may keep them in vector
// registers.
template <typename Load>
double sum(std::size_t n, Load load) {
  constexpr std::size_t kLanes = 128;
  float partial[kLanes] = {};
  std::size_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    for (std::size_t lane = 0; lane < kLanes; ++lane) partial[lane] += load(i + lane);
  }
  double total = 0;
  for (const float p : partial) total += static_cast<double>(p);
  for (; i < n; ++i) total += static_cast<double>(load(i));
  return total;
}

}  // namespace

double plain_sum(const float* values, std::size_t n) {
  return sum(n, [values](std::size_t i) { return values[i]; });
}

double plain_sum(const double* values, std::size_t n) {
  constexpr std::size_t kLanes = 64;
  double partial[kLanes] = {};
  std::size_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    for (std::size_t lane = 0; lane < kLanes; ++lane) partial[lane] += values[i + lane];
  }
  double total = 0;
  for (const double p : partial) total += p;
  for (; i < n; ++i) total += values[i];
  return total;
}

double plain_sum_bf16(const unsigned short* values, std::size_t n) {
  return sum(n, [values](std::size_t i) {
    const unsigned bits = static_cast<unsigned>(values[i]) << 16;
    float value;
    std::memcpy(&value, &bits, sizeof value);
    return value;
  });
}

}  // namespace assay_bench
