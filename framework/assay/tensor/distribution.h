// Seeded inputs: a table of distributions, and tensors drawn from them.
//
//   DistributionSpec spec = parse_distribution("normal,mean=1,deviation=0.5");
//   Tensor a = draw(spec, format_named("bfloat16"), {128, 1024}, seed, stream_of("a"));
//
// Element i of a tensor is addressed by (seed, stream, i). It has the same bits on every machine,
// SIMD target and number of threads, and any part can be drawn separately. Values are computed in
// float64 and rounded to the format once, ties to even. A value that is too large becomes infinity,
// NaN if the format has NaN but no infinity, or the largest value if it has neither.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "assay/tensor/tensor.h"

namespace assay::inline v0_2 {

// A parameter of a distribution, with its default value and its range.
struct DistributionParameter {
  std::string_view name;
  // The default value. NaN means that the parameter has no default and is then not set.
  double value;
  double low, high;    // the smallest and the largest value of the parameter
  bool whole = false;  // true if only whole numbers are allowed
  std::string_view meaning;
};

struct DistributionSpec;
struct DrawCall;

// A row of the table of distributions: the name, parameters and code of a distribution.
struct Distribution {
  std::string_view name;
  std::span<const DistributionParameter> parameters;
  std::string_view summary;
  std::string_view source;
  // Draws elements [begin, begin + n) as float64, n at most kDrawBlock.
  void (*fill)(const DrawCall& call, std::int64_t begin, std::size_t n, double* to);
  // Returns a problem of the parameters taken together, or an empty string. May be null.
  std::string (*problem)(const DistributionSpec& spec) = nullptr;
  // Returns the reason why this format and shape cannot be drawn, or an empty string. May be null.
  std::string (*obstacle)(const DrawCall& call) = nullptr;
};
// Returns the rows of the table.
std::span<const Distribution> distributions();

// The largest number of parameters that a distribution can have.
inline constexpr std::size_t kMaxDistributionParameters = 8;

// A distribution with its parameters.
struct DistributionSpec {
  const Distribution* distribution = nullptr;
  // Values of the parameters, in the order of the row.
  std::array<double, kMaxDistributionParameters> values{};

  double get(std::string_view parameter) const;
  bool has(std::string_view parameter) const;  // it is set
  std::string text() const;                    // Returns the text that parse_distribution() reads.
};

// Reads a text such as "uniform,low=-6,high=6". Throws Refusal, which names the wrong part and the
// nearest known word.
DistributionSpec parse_distribution(std::string_view text);

// The tensor to draw. The functions of a row of the table receive it.
struct DrawCall {
  const DistributionSpec& spec;
  const Format& format;
  std::span<const std::int64_t> shape;
  std::uint64_t seed, stream;
};
// The largest number of elements that one call of Distribution::fill draws.
inline constexpr std::size_t kDrawBlock = 1024;

// Draws a tensor of the shape. `threads` is the number of threads, and 0 means default_threads().
// The result does not depend on it. Throws Refusal if the distribution cannot be
// drawn in that format or shape.
Tensor draw(const DistributionSpec& spec, const Format& format, const Shape& shape,
            std::uint64_t seed, std::uint64_t stream, int threads = 0);

// Writes the elements [begin, begin + count), in row-major order, into the caller's storage of
// count * format.storage_bytes bytes. Runs on this thread and does not allocate.
void draw_part(const DistributionSpec& spec, const Format& format, const Shape& shape,
               std::uint64_t seed, std::uint64_t stream, std::int64_t begin, std::int64_t count,
               std::byte* to);

}  // namespace assay
