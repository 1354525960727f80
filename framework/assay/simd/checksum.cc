#include "assay/simd/checksum.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "assay/simd/checksum.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>
#include <vector>

#include "assay/base/constants.h"
#include "assay/simd/read_ahead.h"
#include "assay/simd/stored-inl.h"
#include "assay/simd/unroll.h"

HWY_BEFORE_NAMESPACE();
namespace assay::inline v0_2::simd::HWY_NAMESPACE {

// Rows of at least this number of 16-bit elements are long. Their sums that need only some digits
// are computed in float32, at half the cost, and moved to float64 before they lose any digits that
// matter.
constexpr std::size_t kLongRow = 256;
// Number of steps between two moves of float32 sums to float64.
constexpr std::size_t kBetween = 16;

// True if a float32 sum of squares stayed in float32's range, so that the squares that vanished are
// negligible. If it did not, the squares are summed in float64.
HWY_INLINE bool in_range(double square) {
  return square >= 0x1p-80 && square < std::numeric_limits<double>::infinity();
}

struct LongSums {
  std::size_t read = 0;  // number of elements that were read. The caller reads the rest.
  double sum = 0;        // sum of the elements, as exact as float64 is
  // Sums of the values of `measure` and of their squares, with a relative error of 2^-19.
  double size = 0;
  double square = 0;
};
template <Storage kStorage, class Measure>
HWY_INLINE LongSums long_sums(const void* row, std::size_t n, Measure measure) {
  constexpr std::size_t kStep = 2 * kLanes;
  const auto* bytes = static_cast<const unsigned char*>(row);
  LongSums result;
  const Doubles one = Doubles::set(1.0);
  const Floats one_f = Floats::set(1.0f), zero_f = Floats::set(0.0f);
  Doubles s0 = Doubles::set(0.0), s1 = s0, size = s0, square = s0;
  while (result.read + kStep <= n) {
    Floats u0 = zero_f, u1 = u0, q0 = u0, q1 = u0;
    const std::size_t end = std::min(result.read + kBetween * kStep, n);
    for (; result.read + kStep <= end; result.read += kStep) {
      Floats a, b;
      load_floats<kStorage>(bytes + 2 * result.read, a, b);
      read_ahead(bytes + 2 * result.read, 2 * kStep);
      // Adds by multiply-adds with 1, because the units that add are busy with the conversions to
      // float64.
      s0 = multiply_add(promote(a), one, s0);
      s1 = multiply_add(promote(b), one, s1);
      const Floats ma = measure(a), mb = measure(b);
      u0 = multiply_add(ma, one_f, u0);
      u1 = multiply_add(mb, one_f, u1);
      q0 = multiply_add(ma, ma, q0);
      q1 = multiply_add(mb, mb, q1);
    }
    size = add(size, promote(add(u0, u1)));
    square = add(square, promote(add(q0, q1)));
  }
  result.sum = sum_of(add(s0, s1));
  result.size = sum_of(size);
  result.square = sum_of(square);
  if (in_range(result.square)) return result;
  size = square = Doubles::set(0.0);
  for (std::size_t i = 0; i < result.read; i += kStep) {
    Floats a, b;
    load_floats<kStorage>(bytes + 2 * i, a, b);
    for (const Doubles& m : {promote(measure(a)), promote(measure(b))}) {
      size = add(size, m);
      square = multiply_add(m, m, square);
    }
  }
  result.size = sum_of(size);
  result.square = sum_of(square);
  return result;
}

// Sums the elements of a group in the order that all kernels of this file use: sixteen at a time,
// then the rest. The rest is summed separately if the group is a long row of 16-bit elements.
template <Storage kStorage>
struct OrderedSum {
  Doubles s0, s1;
  double start;

  static HWY_INLINE OrderedSum zero() {
    const Doubles zeros = Doubles::set(0.0);
    return {zeros, zeros, 0.0};
  }
  HWY_INLINE void add_pair(const Doubles& a, const Doubles& b) {
    // Adds by multiply-adds with 1, because the units that add are busy with the conversions to
    // float64.
    s0 = multiply_add(a, Doubles::set(1.0), s0);
    s1 = multiply_add(b, Doubles::set(1.0), s1);
  }
  HWY_INLINE void end_pairs(bool whole_row, std::size_t n) {
    if (!kShort<kStorage> || !whole_row || n < kLongRow) return;
    start = sum_of(add(s0, s1));
    s0 = s1 = Doubles::set(0.0);
  }
  HWY_INLINE void add_rest(const Doubles& a) { s0 = add(s0, a); }
  HWY_INLINE double total() const { return start + sum_of(add(s0, s1)); }
};

template <Storage kStorage>
HWY_INLINE void plain_group_sums_of(const void* row, std::size_t n, std::size_t width,
                                    double* sum) {
  using L = Loader<kStorage>;
  const auto* bytes = static_cast<const unsigned char*>(row);
  for (std::size_t begin = 0; begin < n; begin += width, ++sum) {
    const std::size_t end = std::min(begin + width, n);
    auto s = OrderedSum<kStorage>::zero();
    std::size_t i = begin;
    for (; i + 2 * kLanes <= end; i += 2 * kLanes) {
      Doubles a, b;
      load_pair<kStorage>(bytes + i * L::kBytes, a, b);
      read_ahead(bytes + i * L::kBytes, 2 * kLanes * L::kBytes);
      s.add_pair(a, b);
    }
    s.end_pairs(width >= n, n);
    each_of_rest<kStorage>(row, i, end, [&](const Doubles& a) HWY_ATTR { s.add_rest(a); });
    *sum = s.total();
  }
}

template <Storage kStorage>
HWY_INLINE void group_sums_of(const void* row, std::size_t n, std::size_t width, double* sum,
                              double* square) {
  if (square == nullptr) return plain_group_sums_of<kStorage>(row, n, width, sum);
  std::size_t group = 0;
  for (std::size_t begin = 0; begin < n; begin += width, ++group) {
    Doubles s0 = Doubles::set(0.0), q0 = s0, s1 = s0, q1 = s0;
    LongSums start;
    if constexpr (kShort<kStorage>) {
      if (width >= n && n >= kLongRow) {
        start = long_sums<kStorage>(row, n, [](auto x) HWY_ATTR { return x; });
      }
    }
    each_pair<kStorage>(
        row, begin + start.read, std::min(begin + width, n),
        [&](const Doubles& a, const Doubles& b) HWY_ATTR {
          s0 = add(s0, a);
          s1 = add(s1, b);
          q0 = multiply_add(a, a, q0);
          q1 = multiply_add(b, b, q1);
        },
        [&](const Doubles& a) HWY_ATTR {
          s0 = add(s0, a);
          q0 = multiply_add(a, a, q0);
        });
    sum[group] = start.sum + sum_of(add(s0, s1));
    square[group] = start.square + sum_of(add(q0, q1));
  }
}

// The type of eight elements in which they are compared. 16-bit elements are compared as float32,
// which holds them. load_compared() loads sixteen elements.
template <Storage kStorage>
using Compared = std::conditional_t<kShort<kStorage>, Floats, Doubles>;
template <Storage kStorage>
HWY_INLINE void load_compared(const unsigned char* p, Compared<kStorage>& first,
                              Compared<kStorage>& second) {
  if constexpr (kShort<kStorage>) {
    load_floats<kStorage>(p, first, second);
  } else {
    load_pair<kStorage>(p, first, second);
  }
}
HWY_INLINE Doubles as_doubles(const Doubles& x) { return x; }
HWY_INLINE Doubles as_doubles(const Floats& x) { return promote(x); }

// The number of rows that are read together with the two vectors, so that their sums stay in
// registers.
constexpr int kRowsTogether = Doubles::kParts == 1 ? 4 : Doubles::kParts == 2 ? 2 : 1;
template <int n>
using Count = std::integral_constant<int, n>;

// Calls read(row, index, count) for groups of rows, then for each remaining row. `count` is a
// compile-time constant.
template <class Read>
HWY_INLINE void each_rows(const void* rows, std::ptrdiff_t stride, std::size_t count, Read read) {
  const auto* first = static_cast<const unsigned char*>(rows);
  const auto row = [&](std::size_t i) { return first + static_cast<std::ptrdiff_t>(i) * stride; };
  std::size_t i = 0;
  if constexpr (kRowsTogether > 1) {
    for (; i + kRowsTogether <= count; i += kRowsTogether) read(row(i), i, Count<kRowsTogether>());
  }
  for (; i < count; ++i) read(row(i), i, Count<1>());
}

// Multiplies kTogether rows by the two vectors, which are loaded once for all of these rows. This
// function and the following ones are not inlined, because the compiler takes long over each copy.
template <Storage kStorage, bool kSquares, int kTogether>
HWY_NOINLINE void row_products_of(const unsigned char* row, std::ptrdiff_t stride, std::size_t n,
                                  const double* x, const double* y, double* ax, double* aay) {
  using L = Loader<kStorage>;
  Doubles s[kTogether], q[kTogether];
  ASSAY_UNROLL
  for (int r = 0; r < kTogether; ++r) s[r] = q[r] = Doubles::set(0.0);
  std::size_t i = 0;
  for (; i + 2 * kLanes <= n; i += 2 * kLanes) {
    const Doubles x0 = Doubles::load(x + i), x1 = Doubles::load(x + i + kLanes);
    Doubles y0, y1;
    if constexpr (kSquares) {
      y0 = Doubles::load(y + i);
      y1 = Doubles::load(y + i + kLanes);
    }
    ASSAY_UNROLL
    for (int r = 0; r < kTogether; ++r) {
      const unsigned char* const at = row + r * stride + static_cast<std::ptrdiff_t>(i * L::kBytes);
      Doubles a0, a1;
      load_pair<kStorage>(at, a0, a1);
      read_ahead(at, 2 * kLanes * L::kBytes, kReadAhead / kTogether);
      s[r] = multiply_add(a1, x1, multiply_add(a0, x0, s[r]));
      if constexpr (kSquares) {
        q[r] = multiply_add(multiply(a1, a1), y1, multiply_add(multiply(a0, a0), y0, q[r]));
      }
    }
  }
  ASSAY_UNROLL
  for (int r = 0; r < kTogether; ++r) {
    ax[r] = sum_of(s[r]);
    if constexpr (kSquares) aay[r] = sum_of(q[r]);
  }
  for (; i < n; ++i) {
    for (int r = 0; r < kTogether; ++r) {
      const double a = L::load_one(row + r * stride + static_cast<std::ptrdiff_t>(i * L::kBytes));
      ax[r] += a * x[i];
      if constexpr (kSquares) aay[r] += a * a * y[i];
    }
  }
}

// Like row_products_of(), for rows whose length is a multiple of sixteen, if y scaled by
// 2^-exponent is float32. Rows whose squares leave float32's range are read once more in float64.
// So the result of a row does not depend on the rows that are read with it.
template <Storage kStorage, int kTogether>
HWY_NOINLINE void long_row_products(const unsigned char* row, std::ptrdiff_t stride, std::size_t n,
                                    const double* x, const float* y, int exponent,
                                    const double* exact_y, double* ax, double* aay) {
  Doubles s[kTogether], q[kTogether];
  ASSAY_UNROLL
  for (int r = 0; r < kTogether; ++r) s[r] = q[r] = Doubles::set(0.0);
  for (std::size_t i = 0; i < n;) {
    Floats p[kTogether];
    ASSAY_UNROLL
    for (int r = 0; r < kTogether; ++r) p[r] = Floats::set(0.0f);
    const std::size_t end = std::min(i + 2 * kLanes * kBetween, n);
    for (; i < end; i += 2 * kLanes) {
      const Doubles x0 = Doubles::load(x + i), x1 = Doubles::load(x + i + kLanes);
      const Floats y0 = Floats::load(y + i), y1 = Floats::load(y + i + kLanes);
      ASSAY_UNROLL
      for (int r = 0; r < kTogether; ++r) {
        const unsigned char* const at = row + r * stride + static_cast<std::ptrdiff_t>(2 * i);
        Floats a, b;
        load_floats<kStorage>(at, a, b);
        read_ahead(at, 4 * kLanes, kReadAhead / kTogether);
        s[r] = multiply_add(promote(b), x1, multiply_add(promote(a), x0, s[r]));
        p[r] = multiply_add(multiply(b, b), y1, multiply_add(multiply(a, a), y0, p[r]));
      }
    }
    ASSAY_UNROLL
    for (int r = 0; r < kTogether; ++r) q[r] = add(q[r], promote(p[r]));
  }
  ASSAY_UNROLL
  for (int r = 0; r < kTogether; ++r) {
    ax[r] = sum_of(s[r]);
    aay[r] = sum_of(q[r]);
  }
  for (int r = 0; r < kTogether; ++r) {
    if (in_range(aay[r])) {
      aay[r] = std::ldexp(aay[r], exponent);
    } else {
      row_products_of<kStorage, true, 1>(row + r * stride, stride, n, x, exact_y, ax + r, aay + r);
    }
  }
}

template <Storage kStorage>
HWY_INLINE void rows_products_of(const void* rows, std::ptrdiff_t stride, std::size_t count,
                                 std::size_t n, const double* x, const double* y, double* ax,
                                 double* aay) {
  std::vector<double> arranged((aay == nullptr ? 1 : 2) * n);
  const double *px = arranged.data(), *py = arranged.data() + n;
  arrange_for<kStorage>(x, n, arranged.data());
  if (aay == nullptr) {
    each_rows(
        rows, stride, count, [&](const unsigned char* row, std::size_t i, auto together) HWY_ATTR {
          row_products_of<kStorage, false, together>(row, stride, n, px, nullptr, ax + i, nullptr);
        });
    return;
  }
  arrange_for<kStorage>(y, n, arranged.data() + n);
  if constexpr (kShort<kStorage>) {
    const double largest = n > 0 ? *std::max_element(y, y + n) : 0;
    if (n >= kLongRow && n % (2 * kLanes) == 0 && in_range(largest)) {
      int exponent;
      (void)std::frexp(largest, &exponent);
      std::vector<float> scaled(n);
      for (std::size_t k = 0; k < n; ++k) {
        scaled[k] = static_cast<float>(std::ldexp(py[k], -exponent));
      }
      each_rows(rows, stride, count,
                [&](const unsigned char* row, std::size_t i, auto together) HWY_ATTR {
                  long_row_products<kStorage, together>(row, stride, n, px, scaled.data(), exponent,
                                                        py, ax + i, aay + i);
                });
      return;
    }
  }
  each_rows(rows, stride, count,
            [&](const unsigned char* row, std::size_t i, auto together) HWY_ATTR {
              row_products_of<kStorage, true, together>(row, stride, n, px, py, ax + i, aay + i);
            });
}

// Computes sum |a_k| x_k and the largest |a_k| of kTogether rows. With kSums, also sum a_k z_k, and
// with kProducts, the largest |a_k| y_k.
template <Storage kStorage, bool kProducts, bool kSums, int kTogether>
HWY_NOINLINE void row_sizes_of(const unsigned char* row, std::ptrdiff_t stride, std::size_t n,
                               const double* x, const double* y, RowSizes* to, const double* z,
                               double* az) {
  using L = Loader<kStorage>;
  Doubles s[kTogether], product[kTogether], sum[kTogether];
  Compared<kStorage> largest[kTogether];
  ASSAY_UNROLL
  for (int r = 0; r < kTogether; ++r) {
    s[r] = product[r] = sum[r] = Doubles::set(0.0);
    largest[r] = Compared<kStorage>::set(0);
  }
  std::size_t i = 0;
  for (; i + 2 * kLanes <= n; i += 2 * kLanes) {
    const Doubles x0 = Doubles::load(x + i), x1 = Doubles::load(x + i + kLanes);
    Doubles z0, z1;
    if constexpr (kSums) {
      z0 = Doubles::load(z + i);
      z1 = Doubles::load(z + i + kLanes);
    }
    ASSAY_UNROLL
    for (int r = 0; r < kTogether; ++r) {
      const unsigned char* const at = row + r * stride + static_cast<std::ptrdiff_t>(i * L::kBytes);
      Compared<kStorage> first, second;
      load_compared<kStorage>(at, first, second);
      read_ahead(at, 2 * kLanes * L::kBytes, kReadAhead / kTogether);
      largest[r] = greatest(largest[r], greatest(magnitude(first), magnitude(second)));
      Doubles a0 = as_doubles(first), a1 = as_doubles(second);
      if constexpr (kSums) sum[r] = multiply_add(a1, z1, multiply_add(a0, z0, sum[r]));
      a0 = magnitude(a0);
      a1 = magnitude(a1);
      s[r] = multiply_add(a1, x1, multiply_add(a0, x0, s[r]));
      if constexpr (kProducts) {
        const Doubles p0 = multiply(a0, Doubles::load(y + i));
        const Doubles p1 = multiply(a1, Doubles::load(y + i + kLanes));
        product[r] = greatest(product[r], greatest(p0, p1));
      }
    }
  }
  for (int r = 0; r < kTogether; ++r) {
    RowSizes sizes{sum_of(s[r]), greatest_of(as_doubles(largest[r])), greatest_of(product[r])};
    if constexpr (kSums) az[r] = sum_of(sum[r]);
    for (std::size_t k = i; k < n; ++k) {
      const double element =
          L::load_one(row + r * stride + static_cast<std::ptrdiff_t>(k * L::kBytes));
      const double a = std::abs(element);
      if constexpr (kSums) az[r] += element * z[k];
      sizes.weighted += a * x[k];
      sizes.largest = std::max(sizes.largest, a);
      if (kProducts) sizes.product = std::max(sizes.product, a * y[k]);
    }
    const bool finite = sizes.weighted < std::numeric_limits<double>::infinity();
    to[r] = finite ? sizes : RowSizes{sizes.weighted, sizes.weighted, sizes.weighted};
  }
}

template <Storage kStorage>
HWY_INLINE void rows_sizes_of(const void* rows, std::ptrdiff_t stride, std::size_t count,
                              std::size_t n, const double* x, const double* y, RowSizes* to,
                              const double* z, double* az) {
  std::vector<double> arranged(3 * n);
  const auto arrange = [&](const double* from, std::size_t place) {
    double* at = arranged.data() + place * n;
    if (from != nullptr) arrange_for<kStorage>(from, n, at);
    return at;
  };
  const double *px = arrange(x, 0), *py = arrange(y, 1), *pz = arrange(z, 2);
  const auto read = [&](auto products, auto sums) HWY_ATTR {
    each_rows(rows, stride, count,
              [&](const unsigned char* row, std::size_t i, auto together) HWY_ATTR {
                row_sizes_of<kStorage, products, sums, together>(row, stride, n, px, py, to + i, pz,
                                                                 az + (sums ? i : 0));
              });
  };
  using No = std::false_type;
  using Yes = std::true_type;
  if (az == nullptr) {
    read(No(), No());
  } else {
    y == nullptr ? read(No(), Yes()) : read(Yes(), Yes());
  }
}

// Returns x with the mantissa cleared. Infinity of either sign stays infinity.
HWY_INLINE Doubles power_of_two(const Doubles& x) {
  return masked(x, std::uint64_t{0x7ff0000000000000});
}
HWY_INLINE Floats power_of_two(const Floats& x) { return masked(x, std::uint32_t{0x7f800000}); }

template <Storage kStorage, bool kSquares>
HWY_INLINE void output_sums_with(const void* row, std::size_t n, std::size_t width,
                                 int mantissa_bits, double min_subnormal, OutputSums* groups) {
  // First sums the powers of two, 2^floor(log2 |c|), with the smallest normal as the lower limit.
  // An ulp is 2^-mantissa_bits of such a power.
  const double scale = 1.0 / static_cast<double>(std::uint64_t{1} << mantissa_bits);
  const Doubles smallest = Doubles::set(min_subnormal / scale);
  for (std::size_t begin = 0; begin < n; begin += width, ++groups) {
    const std::size_t end = std::min(begin + width, n);
    Doubles s0 = Doubles::set(0.0), s1 = s0, u0 = s0, u1 = s0, q0 = s0, q1 = s0, squares = s0;
    const auto visit = [&](const Doubles& c, Doubles& s, Doubles& u, Doubles& q) HWY_ATTR {
      const Doubles power = greatest(power_of_two(c), smallest);
      s = add(s, c);
      u = add(u, power);
      q = multiply_add(power, power, q);
      if constexpr (kSquares) squares = multiply_add(c, c, squares);
    };
    LongSums start;
    if constexpr (!kSquares && kShort<kStorage>) {
      if (width >= n && n >= kLongRow) {
        const Floats floor = Floats::set(static_cast<float>(min_subnormal / scale));
        start = long_sums<kStorage>(
            row, n, [&](const Floats& c) HWY_ATTR { return greatest(power_of_two(c), floor); });
      }
    }
    each_pair<kStorage>(
        row, begin + start.read, end,
        [&](const Doubles& a, const Doubles& b) HWY_ATTR {
          visit(a, s0, u0, q0);
          visit(b, s1, u1, q1);
        },
        [&](const Doubles& a) HWY_ATTR { visit(a, s0, u0, q0); });
    // Takes back the zeros that fill up the last eight elements, because they counted as elements
    // with the smallest ulp.
    const auto padding = static_cast<double>((kLanes - (end - begin) % kLanes) % kLanes);
    const double floor = min_subnormal / scale;
    const double powers = start.square + sum_of(add(q0, q1)) - padding * floor * floor;
    const double sizes = start.size + sum_of(add(u0, u1)) - padding * floor;
    // |c| is below twice its power of two, so 4 * powers bounds the sum of the squares.
    *groups = {start.sum + sum_of(add(s0, s1)), scale * sizes, scale * scale * powers,
               kSquares ? sum_of(squares) : 4 * powers};
  }
}

template <Storage kStorage>
HWY_INLINE void output_sums_of(const void* row, std::size_t n, std::size_t width, int mantissa_bits,
                               double min_subnormal, bool squares, OutputSums* groups) {
  if (squares) {
    output_sums_with<kStorage, true>(row, n, width, mantissa_bits, min_subnormal, groups);
  } else {
    output_sums_with<kStorage, false>(row, n, width, mantissa_bits, min_subnormal, groups);
  }
}

template <Storage kStorage, bool kAbsolute>
HWY_INLINE OutputSizes sizes_of_group(const void* row, std::size_t begin, std::size_t end,
                                      bool whole_row) {
  using L = Loader<kStorage>;
  const auto* bytes = static_cast<const unsigned char*>(row);
  auto s = OrderedSum<kStorage>::zero();
  Doubles u0 = Doubles::set(0.0), u1 = u0, last = u0;
  Compared<kStorage> largest = Compared<kStorage>::set(0);
  std::size_t i = begin;
  for (; i + 2 * kLanes <= end; i += 2 * kLanes) {
    Compared<kStorage> a, b;
    load_compared<kStorage>(bytes + i * L::kBytes, a, b);
    read_ahead(bytes + i * L::kBytes, 2 * kLanes * L::kBytes);
    s.add_pair(as_doubles(a), as_doubles(b));
    a = magnitude(a);
    b = magnitude(b);
    if constexpr (kAbsolute) {
      u0 = add(u0, as_doubles(a));
      u1 = add(u1, as_doubles(b));
    }
    largest = greatest(largest, greatest(a, b));
  }
  s.end_pairs(whole_row, end);
  each_of_rest<kStorage>(row, i, end, [&](const Doubles& a) HWY_ATTR {
    s.add_rest(a);
    if constexpr (kAbsolute) u0 = add(u0, magnitude(a));
    last = greatest(last, magnitude(a));
  });
  const double absolute = sum_of(add(u0, u1));
  const bool finite = absolute < std::numeric_limits<double>::infinity();
  return {s.total(), absolute,
          finite ? greatest_of(greatest(last, as_doubles(largest))) : absolute};
}

template <Storage kStorage>
HWY_INLINE void output_sizes_of(const void* row, std::size_t n, std::size_t width, bool absolute,
                                OutputSizes* groups) {
  for (std::size_t begin = 0; begin < n; begin += width, ++groups) {
    const std::size_t end = std::min(begin + width, n);
    if (!absolute) {
      *groups = sizes_of_group<kStorage, false>(row, begin, end, width >= n);
      if (std::isfinite(groups->sum)) continue;
    }
    *groups = sizes_of_group<kStorage, true>(row, begin, end, width >= n);
  }
}

template <Storage kStorage>
HWY_INLINE RowExtremes row_extremes_of(const void* row, std::size_t n) {
  using L = Loader<kStorage>;
  Doubles s = Doubles::set(0.0), low = Doubles::set(kInfinity), high = Doubles::set(-kInfinity);
  const auto* bytes = static_cast<const unsigned char*>(row);
  std::size_t i = 0;
  if constexpr (kShort<kStorage>) {
    // Extremes are found in float32, which holds the elements. Sums use multiply-adds, as in
    // long_sums.
    const Doubles one = Doubles::set(1.0);
    Doubles s0 = s, s1 = s;
    Floats low0 = Floats::set(std::numeric_limits<float>::infinity()), low1 = low0;
    Floats high0 = Floats::set(-std::numeric_limits<float>::infinity()), high1 = high0;
    for (; i + 2 * kLanes <= n; i += 2 * kLanes) {
      Floats a, b;
      load_floats<kStorage>(bytes + i * L::kBytes, a, b);
      read_ahead(bytes + i * L::kBytes, 2 * kLanes * L::kBytes);
      s0 = multiply_add(promote(a), one, s0);
      s1 = multiply_add(promote(b), one, s1);
      low0 = least(low0, a);
      low1 = least(low1, b);
      high0 = greatest(high0, a);
      high1 = greatest(high1, b);
    }
    s = add(s0, s1);
    low = promote(least(low0, low1));
    high = promote(greatest(high0, high1));
  }
  for (; i + kLanes <= n; i += kLanes) {
    const Doubles x = L::load(bytes + i * L::kBytes);
    s = add(s, x);
    low = least(low, x);
    high = greatest(high, x);
  }
  RowExtremes e{sum_of(s), least_of(low), greatest_of(high)};
  for (; i < n; ++i) {
    const double x = L::load_one(bytes + i * L::kBytes);
    e.sum += x;
    e.low = std::min(e.low, x);
    e.high = std::max(e.high, x);
  }
  if (e.sum != e.sum) e.low = e.high = e.sum;
  return e;
}

void group_sums_impl(Storage storage, const void* row, std::size_t n, std::size_t width,
                     double* sum, double* square) {
  return by_storage(storage, [&](auto kStorage) HWY_ATTR {
    return group_sums_of<kStorage>(row, n, width, sum, square);
  });
}
void row_products_impl(Storage storage, const void* rows, std::ptrdiff_t stride, std::size_t count,
                       std::size_t n, const double* x, const double* y, double* ax, double* aay) {
  return by_storage(storage, [&](auto kStorage) HWY_ATTR {
    return rows_products_of<kStorage>(rows, stride, count, n, x, y, ax, aay);
  });
}
void row_sizes_impl(Storage storage, const void* rows, std::ptrdiff_t stride, std::size_t count,
                    std::size_t n, const double* x, const double* y, RowSizes* to, const double* z,
                    double* az) {
  return by_storage(storage, [&](auto kStorage) HWY_ATTR {
    return rows_sizes_of<kStorage>(rows, stride, count, n, x, y, to, z, az);
  });
}
void output_sums_impl(Storage storage, const void* row, std::size_t n, std::size_t width,
                      int mantissa_bits, double min_subnormal, bool squares, OutputSums* groups) {
  return by_storage(storage, [&](auto kStorage) HWY_ATTR {
    return output_sums_of<kStorage>(row, n, width, mantissa_bits, min_subnormal, squares, groups);
  });
}
void output_sizes_impl(Storage storage, const void* row, std::size_t n, std::size_t width,
                       bool absolute, OutputSizes* groups) {
  return by_storage(storage, [&](auto kStorage) HWY_ATTR {
    return output_sizes_of<kStorage>(row, n, width, absolute, groups);
  });
}
RowExtremes row_extremes_impl(Storage storage, const void* row, std::size_t n) {
  return by_storage(storage,
                    [&](auto kStorage) HWY_ATTR { return row_extremes_of<kStorage>(row, n); });
}

}  // namespace assay::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace assay::inline v0_2::simd {

HWY_EXPORT(group_sums_impl);
HWY_EXPORT(row_products_impl);
HWY_EXPORT(row_sizes_impl);
HWY_EXPORT(output_sums_impl);
HWY_EXPORT(output_sizes_impl);
HWY_EXPORT(row_extremes_impl);

bool has_checksum_kernel(Storage storage) {
  return storage == Storage::kF64 || storage == Storage::kF32 || storage == Storage::kF16 ||
         storage == Storage::kBf16;
}

void group_sums(Storage storage, const void* row, std::size_t n, std::size_t width, double* sum,
                double* square) {
  HWY_DYNAMIC_DISPATCH(group_sums_impl)(storage, row, n, width, sum, square);
}
void row_products(Storage storage, const void* rows, std::ptrdiff_t stride, std::size_t count,
                  std::size_t n, const double* x, const double* y, double* ax, double* aay) {
  HWY_DYNAMIC_DISPATCH(row_products_impl)(storage, rows, stride, count, n, x, y, ax, aay);
}
void row_sizes(Storage storage, const void* rows, std::ptrdiff_t stride, std::size_t count,
               std::size_t n, const double* x, RowSizes* to) {
  HWY_DYNAMIC_DISPATCH(row_sizes_impl)
  (storage, rows, stride, count, n, x, nullptr, to, nullptr, nullptr);
}
void row_sizes(Storage storage, const void* rows, std::ptrdiff_t stride, std::size_t count,
               std::size_t n, const double* x, const double* y, RowSizes* to, const double* z,
               double* az) {
  HWY_DYNAMIC_DISPATCH(row_sizes_impl)(storage, rows, stride, count, n, x, y, to, z, az);
}
void output_sums(Storage storage, const void* row, std::size_t n, std::size_t width,
                 int mantissa_bits, double min_subnormal, bool squares, OutputSums* groups) {
  HWY_DYNAMIC_DISPATCH(output_sums_impl)
  (storage, row, n, width, mantissa_bits, min_subnormal, squares, groups);
}
void output_sizes(Storage storage, const void* row, std::size_t n, std::size_t width, bool absolute,
                  OutputSizes* groups) {
  HWY_DYNAMIC_DISPATCH(output_sizes_impl)(storage, row, n, width, absolute, groups);
}
RowExtremes row_extremes(Storage storage, const void* row, std::size_t n) {
  return HWY_DYNAMIC_DISPATCH(row_extremes_impl)(storage, row, n);
}

}  // namespace assay::simd
#endif
