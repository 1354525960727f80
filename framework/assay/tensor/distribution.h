// Seeded inputs: a table of distributions, and tensors drawn from them.
//
//   DistributionSpec spec = parse_distribution("normal,mean=1,deviation=0.5");
//   Tensor a = draw(spec, format_named("bfloat16"), {128, 1024}, seed, stream_of("a"));
//
// Element i of a tensor is addressed by (seed, stream, i): the same bits on every machine, SIMD
// target and number of threads, and any part can be drawn alone. Values are computed in float64 and
// rounded to the format once, ties to even; what is too large becomes infinity, or the largest
// value where the format has no infinity and no NaN.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "assay/tensor/tensor.h"

namespace assay {

struct DistributionParameter {
  std::string_view name;
  double value;        // where it is not given; NaN: it is then not set at all
  double low, high;    // what it may be, both included
  bool whole = false;  // whole numbers alone
  std::string_view meaning;
};

struct DistributionSpec;
struct DrawCall;

struct Distribution {
  std::string_view name;
  std::span<const DistributionParameter> parameters;
  std::string_view summary;
  std::string_view source;
  // Elements [begin, begin + n) as float64, n at most kDrawBlock.
  void (*fill)(const DrawCall& call, std::int64_t begin, std::size_t n, double* to);
  // What is wrong with the parameters together; "" where nothing is. May be null.
  std::string (*problem)(const DistributionSpec& spec) = nullptr;
  // Why this format and shape cannot be drawn; "" where they can. May be null.
  std::string (*obstacle)(const DrawCall& call) = nullptr;
};
std::span<const Distribution> distributions();

inline constexpr std::size_t kMaxDistributionParameters = 8;

// A distribution with its parameters.
struct DistributionSpec {
  const Distribution* distribution = nullptr;
  std::array<double, kMaxDistributionParameters> values{};  // in the order of the row's parameters

  double get(std::string_view parameter) const;
  bool has(std::string_view parameter) const;  // it is set
  std::string text() const;                    // what parse_distribution reads
};

// "uniform,low=-6,high=6". Throws std::invalid_argument that names the part which is wrong, with
// the nearest known word.
DistributionSpec parse_distribution(std::string_view text);

// One tensor to draw, as the rows of the table see it.
struct DrawCall {
  const DistributionSpec& spec;
  const Format& format;
  std::span<const std::int64_t> shape;
  std::uint64_t seed, stream;
};
inline constexpr std::size_t kDrawBlock = 1024;

// A tensor of the shape. Threads (0: default_threads()) change nothing but the time. Throws
// std::invalid_argument where the distribution cannot be drawn in that format or shape.
Tensor draw(const DistributionSpec& spec, const Format& format, const Shape& shape,
            std::uint64_t seed, std::uint64_t stream, int threads = 0);

// Writes the elements [begin, begin + count), in row-major order, into the caller's storage of
// count * format.storage_bytes bytes. Runs on this thread and does not allocate.
void draw_part(const DistributionSpec& spec, const Format& format, const Shape& shape,
               std::uint64_t seed, std::uint64_t stream, std::int64_t begin, std::int64_t count,
               std::byte* to);

}  // namespace assay
