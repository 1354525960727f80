#include "assay/tensor/distribution_fill.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "assay/base/constants.h"
#include "assay/base/elementary.h"
#include "assay/base/index.h"
#include "assay/base/int128.h"
#include "assay/base/random.h"
#include "assay/base/text.h"
#include "assay/simd/draw.h"

namespace assay::inline v0_2 {
namespace {

std::uint64_t address(std::int64_t i) { return static_cast<std::uint64_t>(i); }

// Returns floor(word n / 2^64), a number that is uniform in [0, n), except for a bias of n / 2^64.
std::uint64_t below(std::uint64_t word, std::uint64_t n) {
  return static_cast<std::uint64_t>((static_cast<UInt128>(word) * n) >> 64);
}

double uniform_of(std::uint64_t word) { return static_cast<double>(word >> 11) * 0x1p-53; }

// Replaces each value z by mean + deviation z.
void to_normal(const DrawCall& call, std::size_t n, double* values) {
  const double mean = call.spec.get("mean"), deviation = call.spec.get("deviation");
  if (mean != 0 || deviation != 1) simd::affine(mean, deviation, n, values);
}

// Assigns elements of a tensor to channels. A matrix has `matrix` elements, and its element i
// belongs to channel (i / stride) % extent. Channels are numbered through all matrices, one matrix
// after the other.
struct Channels {
  std::int64_t stride, extent, matrix;
};

// Writes one normal draw for each channel: all elements of channel c get draw c.
void normals_by_channel(const DrawCall& call, std::uint64_t stream, const Channels& channels,
                        std::int64_t begin, std::size_t n, double* to) {
  double drawn[kDrawBlock];
  const std::int64_t period = channels.stride * channels.extent;
  for (std::size_t done = 0; done < n;) {
    // The number of elements of this matrix that are left in the block.
    const std::int64_t number = begin / channels.matrix, position = begin % channels.matrix;
    const std::size_t count = std::min(n - done, at(channels.matrix - position));
    double* const out = to + done;
    // Draws runs of consecutive channels until the channels repeat.
    const std::size_t first = std::min(count, at(period));
    for (std::size_t i = 0; i < first;) {
      const std::int64_t place = position + static_cast<std::int64_t>(i);
      const std::int64_t channel = place / channels.stride % channels.extent;
      const std::int64_t inside = place % channels.stride;
      const std::int64_t left = (channels.extent - channel) * channels.stride - inside;
      const std::size_t run = std::min(first - i, at(left));
      const auto several = at((inside + static_cast<std::int64_t>(run) - 1) / channels.stride + 1);
      simd::draw_normals(call.seed, stream, address(number * channels.extent + channel), several,
                         drawn);
      for (std::size_t j = 0; j < run; ++j) {
        out[i + j] = drawn[at((inside + static_cast<std::int64_t>(j)) / channels.stride)];
      }
      i += run;
    }
    for (std::size_t i = first; i < count; ++i) out[i] = out[i - first];
    done += count;
    begin += static_cast<std::int64_t>(count);
  }
}

std::int64_t columns_of(const DrawCall& call) { return call.shape.empty() ? 1 : call.shape.back(); }
std::int64_t matrix_of(const DrawCall& call) {
  const std::size_t rank = call.shape.size();
  return columns_of(call) * (rank < 2 ? 1 : call.shape[rank - 2]);
}

// Returns channels that are the indices along the axis of the spec. The whole tensor is one matrix.
Channels along_axis(const DrawCall& call) {
  const auto rank = static_cast<std::int64_t>(call.shape.size());
  auto axis = static_cast<std::int64_t>(call.spec.get("axis"));
  if (axis < 0) axis += rank;
  Channels channels{1, call.shape[at(axis)], std::numeric_limits<std::int64_t>::max()};
  for (auto d = at(axis) + 1; d < call.shape.size(); ++d) {
    channels.stride *= call.shape[d];
  }
  return channels;
}

// Chooses the channels that are outliers: one in each of `count` parts of [0, extent), which are as
// equal in size as possible.
struct Outliers {
  std::int64_t extent, count;
  std::uint64_t seed, stream;

  std::int64_t part_begin(std::int64_t part) const {
    return static_cast<std::int64_t>(static_cast<Int128>(part) * extent / count);
  }
  std::int64_t part_of(std::int64_t channel) const {
    return static_cast<std::int64_t>((static_cast<Int128>(channel + 1) * count - 1) / extent);
  }
  std::int64_t channel(std::int64_t part) const {
    const std::int64_t first = part_begin(part), size = part_begin(part + 1) - first;
    std::uint64_t word;
    simd::draw_words(seed, stream, address(part), 1, &word);
    return first + static_cast<std::int64_t>(below(word, address(size)));
  }
};

Outliers outliers_of(const DrawCall& call, std::int64_t extent) {
  const auto all = static_cast<double>(extent);
  const double count = call.spec.has("count")
                           ? call.spec.get("count")
                           : std::max(1.0, std::floor(call.spec.get("fraction") * all + 0.5));
  return {extent, static_cast<std::int64_t>(count), call.seed, substream(call.stream, 1)};
}

// The probabilities of the ends of a truncated normal distribution, taken in the tail in which they
// are precise. A draw inverts a probability between them.
struct Truncation {
  double from, to, sign;
};
Truncation truncation_of(const DistributionSpec& spec) {
  const double mean = spec.get("mean"), deviation = spec.get("deviation");
  const double low = (spec.get("low") - mean) / deviation;
  const double high = (spec.get("high") - mean) / deviation;
  if (low > 0) return {portable::normal_cdf(-high), portable::normal_cdf(-low), -1};
  return {portable::normal_cdf(low), portable::normal_cdf(high), 1};
}

// Returns n if subnormal numbers are 1 to n - 1 times the smallest one, or 0 if the format has
// none.
std::uint64_t subnormal_count(const Format& format) {
  if (!format.is_float()) return 0;
  const double count = min_normal(format) / min_subnormal(format);
  return count > 1 ? static_cast<std::uint64_t>(count) : 0;
}

}  // namespace

void fill_normal(const DrawCall& call, std::int64_t begin, std::size_t n, double* to) {
  simd::draw_normals(call.seed, call.stream, address(begin), n, to);
  to_normal(call, n, to);
}

void fill_uniform(const DrawCall& call, std::int64_t begin, std::size_t n, double* to) {
  const double low = call.spec.get("low"), high = call.spec.get("high");
  simd::draw_uniforms(call.seed, call.stream, address(begin), n, to);
  simd::affine(low, high - low, n, to);
}

void fill_truncated_normal(const DrawCall& call, std::int64_t begin, std::size_t n, double* to) {
  const double mean = call.spec.get("mean"), deviation = call.spec.get("deviation");
  const double low = call.spec.get("low"), high = call.spec.get("high");
  const Truncation ends = truncation_of(call.spec);
  simd::draw_uniforms(call.seed, call.stream, address(begin), n, to);
  for (std::size_t i = 0; i < n; ++i) {
    const double p = std::min(1.0, ends.from + (ends.to - ends.from) * to[i]);
    to[i] = std::clamp(mean + deviation * (ends.sign * portable::normal_quantile(p)), low, high);
  }
}

void fill_clamped_normal(const DrawCall& call, std::int64_t begin, std::size_t n, double* to) {
  const double low = call.spec.get("low"), high = call.spec.get("high");
  fill_normal(call, begin, n, to);
  for (std::size_t i = 0; i < n; ++i) to[i] = std::min(std::max(to[i], low), high);
}

void fill_folded_normal(const DrawCall& call, std::int64_t begin, std::size_t n, double* to) {
  const double shift = call.spec.get("shift");
  fill_normal(call, begin, n, to);
  for (std::size_t i = 0; i < n; ++i) to[i] = std::abs(to[i]) + shift;
}

void fill_student_t(const DrawCall& call, std::int64_t begin, std::size_t n, double* to) {
  simd::draw_student_t(call.spec.get("nu"), call.seed, call.stream, address(begin), n, to);
}

void fill_lognormal(const DrawCall& call, std::int64_t begin, std::size_t n, double* to) {
  simd::draw_normals(call.seed, call.stream, address(begin), n, to);
  simd::affine(call.spec.get("mu"), call.spec.get("sigma"), n, to);
  for (std::size_t i = 0; i < n; ++i) to[i] = portable::exp(to[i]);
}

void fill_outlier_channels(const DrawCall& call, std::int64_t begin, std::size_t n, double* to) {
  fill_normal(call, begin, n, to);
  const double factor = call.spec.get("factor");
  const Channels channels = along_axis(call);
  const Outliers outliers = outliers_of(call, channels.extent);
  const std::int64_t period = channels.stride * channels.extent;
  const std::int64_t end = begin + static_cast<std::int64_t>(n);
  for (std::int64_t start = begin - begin % period; start < end; start += period) {
    const std::int64_t first = std::max<std::int64_t>(begin - start, 0) / channels.stride;
    const std::int64_t last = (std::min(end - start, period) - 1) / channels.stride;
    for (auto part = outliers.part_of(first); part <= outliers.part_of(last); ++part) {
      const std::int64_t from = start + outliers.channel(part) * channels.stride;
      const std::int64_t to_end = std::min(from + channels.stride, end);
      for (std::int64_t i = std::max(from, begin); i < to_end; ++i) to[i - begin] *= factor;
    }
  }
}

void fill_identical_columns(const DrawCall& call, std::int64_t begin, std::size_t n, double* to) {
  const std::int64_t matrix = matrix_of(call), columns = columns_of(call);
  normals_by_channel(call, call.stream, {columns, matrix / columns, matrix}, begin, n, to);
  to_normal(call, n, to);
}

void fill_constant_columns(const DrawCall& call, std::int64_t begin, std::size_t n, double* to) {
  normals_by_channel(call, call.stream, {1, columns_of(call), matrix_of(call)}, begin, n, to);
  to_normal(call, n, to);
}

void fill_correlated(const DrawCall& call, std::int64_t begin, std::size_t n, double* to) {
  const double rho = call.spec.get("rho");
  const double rest = call.spec.get("standard") != 0 ? std::sqrt((1 - rho) * (1 + rho)) : 1 - rho;
  const std::uint64_t stream = stream_of("correlated");
  double own[kDrawBlock];
  if (call.spec.has("axis")) {
    normals_by_channel(call, stream, along_axis(call), begin, n, to);
  } else {
    simd::draw_normals(call.seed, stream, address(begin), n, to);
  }
  simd::draw_normals(call.seed, call.stream, address(begin), n, own);
  for (std::size_t i = 0; i < n; ++i) to[i] = rho * to[i] + rest * own[i];
}

void fill_integers(const DrawCall& call, std::int64_t begin, std::size_t n, double* to) {
  const double low = call.spec.get("low");
  const auto span = static_cast<std::uint64_t>(call.spec.get("high") - low) + 1;
  std::uint64_t words[kDrawBlock];
  simd::draw_words(call.seed, call.stream, address(begin), n, words);
  for (std::size_t i = 0; i < n; ++i) to[i] = low + static_cast<double>(below(words[i], span));
}

void fill_subnormals(const DrawCall& call, std::int64_t begin, std::size_t n, double* to) {
  const double fraction = call.spec.get("fraction"), smallest = min_subnormal(call.format);
  const std::uint64_t count = subnormal_count(call.format);
  // The subnormal numbers of hifloat8 are powers of two.
  const bool tapered = call.format.specials == Specials::kTapered;
  const auto powers = static_cast<std::uint64_t>(std::countr_zero(count));
  std::uint64_t words[2 * kDrawBlock];
  simd::draw_words(call.seed, call.stream, 2 * address(begin), 2 * n, words);
  for (std::size_t i = 0; i < n; ++i) {
    const std::uint64_t kind = words[2 * i], size = words[2 * i + 1];
    std::uint64_t steps = count + below(size, count);
    if (uniform_of(kind) < fraction) {
      steps = tapered ? std::uint64_t{1} << below(size, powers) : 1 + below(size, count - 1);
    }
    to[i] = static_cast<double>(steps) * ((kind & 1) != 0 ? -smallest : smallest);
  }
}

void fill_specials(const DrawCall& call, std::int64_t begin, std::size_t n, double* to) {
  const Format& f = call.format;
  const bool has_nan = f.is_float() && f.specials != Specials::kFinite;
  // `up_to` adds up the fractions of the kinds. An element is of a kind, or of one before it, if
  // its uniform draw is below the sum.
  double up_to = 0;
  const auto add = [&](std::string_view kind) { return up_to += call.spec.get(kind); };
  const double zeros = add("zeros"), negative_zeros = add("negative_zeros");
  const double infinities = add("infinities"), nans = add("nans"), largest = add("largest");
  std::uint64_t words[kDrawBlock];
  simd::draw_words(call.seed, substream(call.stream, 1), address(begin), n, words);
  fill_normal(call, begin, n, to);
  for (std::size_t i = 0; i < n; ++i) {
    const double kind = uniform_of(words[i]);
    const double sign = (words[i] & 1) != 0 ? -1 : 1;
    if (!(kind < largest)) continue;
    if (kind < zeros) {
      to[i] = 0;
    } else if (kind < negative_zeros) {
      to[i] = -0.0;
    } else if (kind < infinities) {
      if (f.has_infinity()) to[i] = sign * kInfinity;
    } else if (kind < nans) {
      if (has_nan) to[i] = std::numeric_limits<double>::quiet_NaN();
    } else {
      to[i] = f.is_signed() ? sign * max_finite(f) : max_finite(f);
    }
  }
}

void fill_sparse(const DrawCall& call, std::int64_t begin, std::size_t n, double* to) {
  const double density = call.spec.get("density");
  double kind[kDrawBlock];
  simd::draw_uniforms(call.seed, substream(call.stream, 1), address(begin), n, kind);
  fill_normal(call, begin, n, to);
  for (std::size_t i = 0; i < n; ++i) {
    if (!(kind[i] < density)) to[i] = 0;
  }
}

void fill_one_hot(const DrawCall& call, std::int64_t begin, std::size_t n, double* to) {
  const std::int64_t columns = columns_of(call);
  const std::int64_t end = begin + static_cast<std::int64_t>(n);
  std::fill_n(to, n, 0.0);
  for (std::int64_t row = begin / columns; row * columns < end; ++row) {
    std::uint64_t word;
    simd::draw_words(call.seed, call.stream, address(row), 1, &word);
    const std::int64_t hot =
        row * columns + static_cast<std::int64_t>(below(word, address(columns)));
    if (hot >= begin && hot < end) to[hot - begin] = 1;
  }
}

void fill_hilbert(const DrawCall& call, std::int64_t begin, std::size_t n, double* to) {
  const std::int64_t columns = columns_of(call), matrix = matrix_of(call);
  for (std::size_t i = 0; i < n; ++i) {
    const std::int64_t at = (begin + static_cast<std::int64_t>(i)) % matrix;
    to[i] = 1 / static_cast<double>(at / columns + at % columns + 1);
  }
}

void fill_block_constant(const DrawCall& call, std::int64_t begin, std::size_t n, double* to) {
  const std::int64_t columns = columns_of(call), matrix = matrix_of(call);
  const auto side = static_cast<std::int64_t>(call.spec.get("block"));
  const std::int64_t across = (columns + side - 1) / side;
  const std::int64_t blocks = (matrix / columns + side - 1) / side * across;
  std::int64_t drawn = -1;
  double value = 0;
  for (std::size_t i = 0; i < n; ++i) {
    const std::int64_t whole = begin + static_cast<std::int64_t>(i), at = whole % matrix;
    const std::int64_t block =
        whole / matrix * blocks + at / columns / side * across + at % columns / side;
    if (block != drawn) simd::draw_normals(call.seed, call.stream, address(block), 1, &value);
    drawn = block;
    to[i] = value;
  }
  to_normal(call, n, to);
}

void fill_cancelling(const DrawCall& call, std::int64_t begin, std::size_t n, double* to) {
  const std::int64_t columns = columns_of(call), half = columns / 2;
  for (std::size_t i = 0; i < n;) {
    // A run of one half of a row has consecutive draws.
    const std::int64_t whole = begin + static_cast<std::int64_t>(i), column = whole % columns;
    const bool second = half > 0 && column >= half && column < 2 * half;
    const std::int64_t end = column < half ? half : second ? 2 * half : columns;
    const std::size_t run = std::min(n - i, at(end - column));
    const std::int64_t first = whole - (second ? half : 0);
    simd::draw_normals(call.seed, call.stream, address(first), run, to + i);
    to_normal(call, run, to + i);
    for (std::size_t j = i; second && j < i + run; ++j) to[j] = -to[j];
    if (second && column + static_cast<std::int64_t>(run) == 2 * half) to[i + run - 1] *= 0.75;
    i += run;
  }
}

void fill_stalling(const DrawCall& call, std::int64_t begin, std::size_t n, double* to) {
  const std::int64_t columns = columns_of(call);
  const double first = std::ldexp(1.0, static_cast<int>(call.spec.get("exponent")));
  for (std::size_t i = 0; i < n; ++i) {
    to[i] = (begin + static_cast<std::int64_t>(i)) % columns == 0 ? first : 1;
  }
}

void fill_halfway(const DrawCall& call, std::int64_t begin, std::size_t n, double* to) {
  const double spacing = std::ldexp(1.0, -static_cast<int>(call.spec.get("mantissa")));
  std::uint64_t words[kDrawBlock];
  simd::draw_words(call.seed, call.stream, address(begin), n, words);
  for (std::size_t i = 0; i < n; ++i) {
    // The highest bits choose the sign and one of 16 exponents, and the others the significand.
    const double sign = (words[i] >> 63) != 0 ? -1 : 1;
    const int exponent = static_cast<int>((words[i] >> 59) & 15) - 8;
    const auto steps =
        static_cast<double>(below(words[i] << 5, address(std::llround(1 / spacing))));
    to[i] = sign * std::ldexp(1 + (steps + 0.5) * spacing, exponent);
  }
}

void fill_masked(const DrawCall& call, std::int64_t begin, std::size_t n, double* to) {
  fill_normal(call, begin, n, to);
  const double fraction = call.spec.get("fraction");
  std::uint64_t words[kDrawBlock];
  simd::draw_words(call.seed, substream(call.stream, 1), address(begin), n, words);
  for (std::size_t i = 0; i < n; ++i) {
    if (uniform_of(words[i]) < fraction) to[i] = -std::numeric_limits<double>::infinity();
  }
  const double rows = call.spec.get("rows");
  const std::int64_t columns = columns_of(call);
  for (std::size_t i = 0; rows > 0 && i < n;) {
    const std::int64_t whole = begin + static_cast<std::int64_t>(i);
    const std::size_t run = std::min(n - i, at(columns - whole % columns));
    std::uint64_t word;
    simd::draw_words(call.seed, substream(call.stream, 2), address(whole / columns), 1, &word);
    if (uniform_of(word) < rows) {
      std::fill_n(to + i, run, -std::numeric_limits<double>::infinity());
    }
    i += run;
  }
}

std::string problem_of_bounds(const DistributionSpec& spec) {
  const double low = spec.get("low"), high = spec.get("high");
  if (low < high) return "";
  return formatted("low must be below high, not {} and {}", number_text(low), number_text(high));
}

std::string problem_of_truncation(const DistributionSpec& spec) {
  std::string bounds = problem_of_bounds(spec);
  if (!bounds.empty()) return bounds;
  if (!(spec.get("deviation") > 0)) return "deviation must be above 0";
  const Truncation ends = truncation_of(spec);
  if (ends.from < ends.to) return "";
  return "the normal has next to no probability from low to high";
}

std::string problem_of_fractions(const DistributionSpec& spec) {
  double sum = 0;
  for (const char* kind : {"zeros", "negative_zeros", "infinities", "nans", "largest"}) {
    sum += spec.get(kind);
  }
  return sum <= 1 ? "" : formatted("the fractions add up to {}, above 1", short_number(sum, 6));
}

std::string obstacle_of_axis(const DrawCall& call) {
  if (!call.spec.has("axis")) return "";
  const auto rank = static_cast<double>(call.shape.size());
  const double axis = call.spec.get("axis");
  if (axis >= -rank && axis < rank) return "";
  return formatted("a tensor of shape {} has no axis {}", shape_text(call.shape),
                   number_text(axis));
}

std::string obstacle_of_outliers(const DrawCall& call) {
  std::string axis = obstacle_of_axis(call);
  if (!axis.empty()) return axis;
  const Channels channels = along_axis(call);
  const Outliers outliers = outliers_of(call, channels.extent);
  if (outliers.count <= channels.extent || channels.extent == 0) return "";
  return formatted("there are fewer than {} channels in a tensor of shape {}", outliers.count,
                   shape_text(call.shape));
}

std::string obstacle_of_masks(const DrawCall& call) {
  if (call.format.specials == Specials::kInfNan) return "";
  return formatted("{} has no infinity", call.format.name);
}

std::string obstacle_of_subnormals(const DrawCall& call) {
  return subnormal_count(call.format) > 0
             ? ""
             : formatted("{} has no subnormal numbers", call.format.name);
}

}  // namespace assay
