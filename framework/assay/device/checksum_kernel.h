// The code that checks matrix products C = A B + bias by their row sums, for the host and for
// devices (base/kernel_code.h). Nothing of it waits for the host: what it finds is added up in the
// device's memory.
//
//   rows, columns, join   sums over the rows of B, then over the rows of A with those of B as
//                         weights: everything that the threshold needs of the operands
//   totals                sums over all rows of B, for v_abft and a_abft
//   check                 the sums over the rows of C, their thresholds, and the findings
//
// "Rows" are the rows of the matrix, whatever is contiguous in memory: `rows` reads matrices whose
// rows are contiguous, and `columns` those whose columns are.
#pragma once

#include "assay/abft/rounding_tail_terms.h"
#include "assay/abft/threshold_terms.h"
#include "assay/device/element_kernel.h"
#include "assay/simd/bound_form-inl.h"

namespace assay {
inline namespace v0_2 {
namespace device {

enum class ProductRule : int { kVariance, kVAbft, kAAbft, kExact };
enum class Side : int { kA, kB, kC, kBias };

constexpr U32 kProductThreads = 256;  // threads of a block
constexpr int kRowsAtOnce = 4;        // rows that a thread reads at once
constexpr int kMostAtOnce = 8;        // elements of several columns that a thread reads at once

// The constants of the kernels of a kind of products.
struct ProductSpec {
  ElementFormat a, b, c, bias;
  ProductRule rule;
  bool own;        // VarianceNumbers::own
  bool truncates;  // the accumulator truncates or aligns, so that prefixes and signs are needed
};

ASSAY_HERE const ElementFormat& format_of(const ProductSpec& spec, Side side) {
  return side == Side::kA   ? spec.a
         : side == Side::kB ? spec.b
         : side == Side::kC ? spec.c
                            : spec.bias;
}
// Elements of a row that a thread loads at once.
ASSAY_HERE int row_step(const ElementFormat& f) { return 16 / f.bytes; }
// Elements of neighboring columns that a thread loads at once.
ASSAY_HERE int column_step(const ElementFormat& f) {
  return f.bytes == 1 ? kMostAtOnce : 16 / f.bytes;
}

// What is added up over a row.
//
// B      kVariance: sum b, sum b^2, sum b times roundings_after(k), sum of signs
//        kVAbft: sum b, min b, max b.  kAAbft: sum b, max |b|.  kExact: sum b
// A      with the sums of row k of B as weights:
//        kVariance: the checksum, sum a^2 B.square, sum a B.prefix, sum sign(a) B.sign
//        kVAbft: the checksum, sum a, min a, max a
//        kAAbft: the checksum, sum |a| max_j |b_kj|, max |a|.  kExact: the checksum
// C      kVariance: sum c, sum 2^e, sum 4^e with the exponents e of c, or sum c and sum c^2 if
// `own`
//        kAAbft: sum c, max |c|.  kVAbft, kExact: sum c
// bias   sum, sum of squares, sum of absolute values
constexpr int kMostSums = 4;
struct Sums {
  double of[kMostSums];
};
enum class Join : int { kAdd, kLeast, kMost };

// Returns the number of sums of a side.
ASSAY_HERE int sums_of(const ProductSpec& spec, Side side) {
  if (side == Side::kBias) return 3;
  if (spec.rule == ProductRule::kExact) return 1;
  if (spec.rule == ProductRule::kVariance) {
    if (side == Side::kC) return spec.own ? 2 : 3;
    return spec.truncates ? 4 : 2;
  }
  if (spec.rule == ProductRule::kVAbft) return side == Side::kA ? 4 : side == Side::kB ? 3 : 1;
  return side == Side::kA ? 3 : 2;
}
ASSAY_HERE Join join_of(const ProductSpec& spec, Side side, int sum) {
  if (side == Side::kBias || spec.rule == ProductRule::kVariance || sum == 0) return Join::kAdd;
  if (spec.rule == ProductRule::kVAbft) {
    const int least = side == Side::kA ? 2 : 1;
    return sum < least ? Join::kAdd : sum == least ? Join::kLeast : Join::kMost;
  }
  return side == Side::kA && sum == 1 ? Join::kAdd : Join::kMost;
}
ASSAY_HERE double join(Join how, double x, double y) {
  return how == Join::kAdd ? x + y : how == Join::kLeast ? lesser(x, y) : greater(x, y);
}
ASSAY_HERE void start(const ProductSpec& spec, Side side, Sums& to) {
  ASSAY_UNROLL
  for (int s = 0; s < sums_of(spec, side); ++s) {
    const Join how = join_of(spec, side, s);
    to.of[s] = how == Join::kAdd ? 0 : how == Join::kLeast ? kInfinity : -kInfinity;
  }
}
ASSAY_HERE void join(const ProductSpec& spec, Side side, const Sums& from, Sums& to) {
  ASSAY_UNROLL
  for (int s = 0; s < sums_of(spec, side); ++s) {
    to.of[s] = join(join_of(spec, side, s), to.of[s], from.of[s]);
  }
}

ASSAY_HERE double sign_of(double x) { return (x > 0 ? 1.0 : 0.0) - (x < 0 ? 1.0 : 0.0); }
// Returns the power of two at or below |x|, at least the format's smallest normal number.
ASSAY_HERE double power_of(const ElementFormat& f, double x) {
  const double power = as_double(bits_of(x) & U64{0x7ff} << 52);
  return power < f.min_normal ? f.min_normal : power;
}

// Adds one element. `by` has the sums of the row of B that belongs to an element of A.
ASSAY_HERE void take(const ProductSpec& spec, Side side, double x, const Sums& by, Sums& to) {
  double* const sum = to.of;
  if (side == Side::kA) {
    sum[0] += x * by.of[0];
    if (spec.rule == ProductRule::kVariance) {
      sum[1] += x * x * by.of[1];
      if (spec.truncates) {
        sum[2] += x * by.of[2];
        sum[3] += sign_of(x) * by.of[3];
      }
    } else if (spec.rule == ProductRule::kVAbft) {
      sum[1] += x;
      sum[2] = lesser(sum[2], x);
      sum[3] = greater(sum[3], x);
    } else if (spec.rule == ProductRule::kAAbft) {
      sum[1] += size_of(x) * by.of[1];
      sum[2] = greater(sum[2], size_of(x));
    }
    return;
  }
  sum[0] += x;
  if (side == Side::kBias) {
    sum[1] += x * x;
    sum[2] += size_of(x);
  } else if (spec.rule == ProductRule::kAAbft) {
    sum[1] = greater(sum[1], size_of(x));
  } else if (spec.rule == ProductRule::kVAbft && side == Side::kB) {
    sum[1] = lesser(sum[1], x);
    sum[2] = greater(sum[2], x);
  } else if (spec.rule == ProductRule::kVariance && (side == Side::kB || spec.own)) {
    sum[1] += x * x;
    if (side == Side::kB && spec.truncates) sum[3] += sign_of(x);
  } else if (spec.rule == ProductRule::kVariance) {
    const double power = power_of(spec.c, x);
    sum[1] += power;
    sum[2] += power * power;
  }
}

// Where the matrices of a batch begin: matrix i at (i / inner) outer_stride + (i % inner)
// inner_stride. All strides are in elements.
struct MatrixPlace {
  const void* data;
  I64 stride;  // from one row to the next, or from one column to the next
  I64 inner, outer_stride, inner_stride;
};
ASSAY_HERE const void* matrix_at(const MatrixPlace& place, const ElementFormat& f, I64 matrix) {
  const I64 offset =
      matrix / place.inner * place.outer_stride + matrix % place.inner * place.inner_stride;
  return static_cast<const char*>(place.data) + offset * f.bytes;
}

// One call of the kernels. Sums of a matrix are stored one after the other: those of the row r of
// matrix m are to[(m sums + s) rows + r].
struct SumsCall {
  MatrixPlace from;
  I64 matrices, rows, length;  // `length` elements are added up for each row
  bool packed;                 // every row, or every column, begins at a multiple of a load's size
  int lanes;                   // threads that share a row: a power of two, at most 32
  int slabs;                   // parts of a row's length, for columns()
  const double* by;            // sums of B for the rows of A, or null
  I64 by_matrices;             // 1 if all matrices have the same B
  double* to;
  // For join(): sums of slabs; those of slab l are from the row to[l ...] on.
  const double* parts;
  AccumulationTerms accumulation;
};

ASSAY_HERE Sums weights_at(const ProductSpec& spec, Side side, const SumsCall& call, I64 matrix,
                           I64 index) {
  Sums by = {};
  if (side != Side::kA) return by;
  const int sums = sums_of(spec, Side::kB);
  const double* const at = call.by + (call.by_matrices == 1 ? 0 : matrix) * sums * call.length;
  ASSAY_UNROLL
  for (int s = 0; s < sums; ++s) by.of[s] = at[s * call.length + index];
  return by;
}

ASSAY_HERE void write_sums(const ProductSpec& spec, Side side, const SumsCall& call, I64 matrix,
                           I64 row, Sums& sums) {
  if (side == Side::kB && spec.rule == ProductRule::kVariance && spec.truncates) {
    sums.of[2] = roundings_after(call.accumulation, row) * sums.of[0];
  }
  const int count = sums_of(spec, side);
  ASSAY_UNROLL
  for (int s = 0; s < count; ++s) call.to[(matrix * count + s) * call.rows + row] = sums.of[s];
}

// Adds the part of a lane to the sums of `count` rows from `row` on.
template <int kRows>
ASSAY_HERE void take_rows(const ProductSpec& spec, Side side, const SumsCall& call, I64 matrix,
                          I64 row, int lane, Sums* sums) {
  const ElementFormat& f = format_of(spec, side);
  const void* const from = matrix_at(call.from, f, matrix);
  const int step = row_step(f);
  bool special[kRows] = {};
  I64 offset[kRows];
  ASSAY_UNROLL
  for (int r = 0; r < kRows; ++r) {
    start(spec, side, sums[r]);
    const I64 last = call.rows - 1;  // rows behind the last one are read as the last one
    offset[r] = (row + r < last ? row + r : last) * call.from.stride;
  }
  const I64 whole = call.packed ? call.length / step * step : 0;
  for (I64 at = lane * step; at < whole; at += call.lanes * step) {
    Pack packs[kRows];
    ASSAY_UNROLL
    for (int r = 0; r < kRows; ++r) {
      packs[r] = load(from, static_cast<U64>((offset[r] + at) * f.bytes), f.bytes * step);
    }
    ASSAY_UNROLL
    for (int k = 0; k < step; ++k) {
      const Sums by = weights_at(spec, side, call, matrix, at + k);
      ASSAY_UNROLL
      for (int r = 0; r < kRows; ++r) {
        take(spec, side, number_of(f, code_in(packs[r], f.bytes, k), special[r]), by, sums[r]);
      }
    }
  }
  ASSAY_NO_UNROLL
  for (I64 at = whole + lane; at < call.length; at += call.lanes) {
    const Sums by = weights_at(spec, side, call, matrix, at);
    ASSAY_UNROLL
    for (int r = 0; r < kRows; ++r) {
      const U64 code = code_at(from, f.bytes, static_cast<U64>(offset[r] + at));
      take(spec, side, number_of(f, code, special[r]), by, sums[r]);
    }
  }
  ASSAY_UNROLL
  for (int r = 0; r < kRows; ++r) {
    if (special[r]) sums[r].of[0] = kNan;
  }
}

// Joins the sums of the lanes that share rows, so that each of them has the result. The host calls
// `part` for each lane.
#ifdef __CUDACC_RTC__
template <int kRows, typename Part>
ASSAY_HERE void join_lanes(const ProductSpec& spec, Side side, int lanes, int lane, Sums* sums,
                           const Part& part) {
  part(lane, sums);
  for (int distance = lanes / 2; distance > 0; distance /= 2) {
    ASSAY_UNROLL
    for (int r = 0; r < kRows; ++r) {
      ASSAY_UNROLL
      for (int s = 0; s < sums_of(spec, side); ++s) {
        sums[r].of[s] = join(join_of(spec, side, s), sums[r].of[s],
                             __shfl_xor_sync(0xffffffffu, sums[r].of[s], distance));
      }
    }
  }
}
#else
template <int kRows, typename Part>
ASSAY_HERE void join_lanes(const ProductSpec& spec, Side side, int lanes, int lane, Sums* sums,
                           const Part& part) {
  if (lane != 0) return;
  part(0, sums);
  for (int other = 1; other < lanes; ++other) {
    Sums more[kRows];
    part(other, more);
    for (int r = 0; r < kRows; ++r) join(spec, side, more[r], sums[r]);
  }
}
#endif

// The place of a thread among the lanes of all rows.
struct RowPlace {
  I64 matrix, row;
  int lane;
  bool inside;
};
ASSAY_HERE RowPlace row_place(const SumsCall& call, int rows_at_once, U64 block, U32 thread) {
  const U64 index = block * kProductThreads + thread, lanes = static_cast<U64>(call.lanes);
  const auto group = static_cast<I64>(index / lanes);
  const I64 groups = (call.rows + rows_at_once - 1) / rows_at_once;
  RowPlace at{group / groups, group % groups * rows_at_once, static_cast<int>(index % lanes), true};
  if (at.matrix >= call.matrices) at = {0, 0, at.lane, false};  // it takes part in exchanges
  return at;
}

// Adds up rows that are contiguous.
ASSAY_HERE void sum_rows(const ProductSpec& spec, Side side, const SumsCall& call, U64 block,
                         U32 thread) {
  const RowPlace at = row_place(call, kRowsAtOnce, block, thread);
  Sums sums[kRowsAtOnce];
  join_lanes<kRowsAtOnce>(spec, side, call.lanes, at.lane, sums, [&](int lane, Sums* to) {
    take_rows<kRowsAtOnce>(spec, side, call, at.matrix, at.row, lane, to);
  });
  if (at.lane != 0 || !at.inside) return;
  ASSAY_UNROLL
  for (int r = 0; r < kRowsAtOnce; ++r) {
    if (at.row + r < call.rows) write_sums(spec, side, call, at.matrix, at.row + r, sums[r]);
  }
}

// Adds up a slab of the rows of a matrix whose columns are contiguous.
ASSAY_HERE void sum_columns(const ProductSpec& spec, Side side, const SumsCall& call, U64 block,
                            U32 thread) {
  const ElementFormat& f = format_of(spec, side);
  const int step = column_step(f);
  const I64 packs = (call.rows + step - 1) / step;
  const auto index = static_cast<I64>(block * kProductThreads + thread);
  const I64 row = index % packs * step, slab = index / packs % call.slabs,
            matrix = index / packs / call.slabs;
  if (matrix >= call.matrices) return;
  const void* const from = matrix_at(call.from, f, matrix);
  const I64 first = slab * call.length / call.slabs, end = (slab + 1) * call.length / call.slabs;
  Sums sums[kMostAtOnce];
  bool special[kMostAtOnce] = {};
  ASSAY_UNROLL
  for (int k = 0; k < step; ++k) start(spec, side, sums[k]);
  const int present = call.rows - row < step ? static_cast<int>(call.rows - row) : step;
  I64 at = first;
  if (call.packed && present == step) {
    constexpr int kDeep = 4;
    for (; at + kDeep <= end; at += kDeep) {
      Pack read[kDeep];
      ASSAY_UNROLL
      for (int d = 0; d < kDeep; ++d) {
        const I64 element = (at + d) * call.from.stride + row;
        read[d] = load(from, static_cast<U64>(element * f.bytes), f.bytes * step);
      }
      ASSAY_UNROLL
      for (int d = 0; d < kDeep; ++d) {
        const Sums by = weights_at(spec, side, call, matrix, at + d);
        ASSAY_UNROLL
        for (int k = 0; k < step; ++k) {
          take(spec, side, number_of(f, code_in(read[d], f.bytes, k), special[k]), by, sums[k]);
        }
      }
    }
  }
  ASSAY_NO_UNROLL
  for (; at < end; ++at) {
    const Sums by = weights_at(spec, side, call, matrix, at);
    ASSAY_UNROLL
    for (int k = 0; k < step; ++k) {
      const int there = k < present ? k : present - 1;
      const U64 code =
          code_at(from, f.bytes, static_cast<U64>(at * call.from.stride + row + there));
      take(spec, side, number_of(f, code, special[k]), by, sums[k]);
    }
  }
  const int count = sums_of(spec, side);
  ASSAY_UNROLL
  for (int k = 0; k < step; ++k) {
    if (special[k]) sums[k].of[0] = kNan;
    if (k >= present) continue;
    ASSAY_UNROLL
    for (int s = 0; s < count; ++s) {
      call.to[((matrix * call.slabs + slab) * count + s) * call.rows + row + k] = sums[k].of[s];
    }
  }
}
// Joins the slabs of columns().
ASSAY_HERE void join_slabs(const ProductSpec& spec, Side side, const SumsCall& call, U64 block,
                           U32 thread) {
  const auto index = static_cast<I64>(block * kProductThreads + thread);
  const I64 row = index % call.rows, matrix = index / call.rows;
  if (matrix >= call.matrices) return;
  const int count = sums_of(spec, side);
  Sums all;
  start(spec, side, all);
  for (I64 slab = 0; slab < call.slabs; ++slab) {
    Sums part;
    ASSAY_UNROLL
    for (int s = 0; s < count; ++s) {
      part.of[s] = call.parts[((matrix * call.slabs + slab) * count + s) * call.rows + row];
    }
    join(spec, side, part, all);
  }
  write_sums(spec, side, call, matrix, row, all);
}

// Sums over all rows of B, for each matrix.
struct ProductTotals {
  GroupMoments moments;  // for v_abft
  double largest;        // for a_abft
};
// Adds up the rows first, first + step, ... of a matrix B. The call is that of B's sums.
ASSAY_HERE ProductTotals totals_part(const ProductSpec& spec, const SumsCall& call, I64 matrix,
                                     I64 first, I64 step) {
  ProductTotals t = {{0, 0, 0}, 0};
  const int count = sums_of(spec, Side::kB);
  const double* const sums = call.to + matrix * count * call.rows;
  for (I64 row = first; row < call.rows; row += step) {
    if (spec.rule == ProductRule::kAAbft) {
      t.largest = greater(t.largest, sums[call.rows + row]);
      continue;
    }
    const Moments m = bounded_moments(sums[row], sums[call.rows + row], sums[2 * call.rows + row],
                                      static_cast<double>(call.length));
    t.moments.mean += size_of(m.mean);
    t.moments.square += m.mean * m.mean;
    t.moments.variance += m.variance;
  }
  return t;
}
ASSAY_HERE void join_totals(const ProductTotals& from, ProductTotals& to) {
  to.moments.mean += from.moments.mean;
  to.moments.square += from.moments.square;
  to.moments.variance += from.moments.variance;
  to.largest = greater(to.largest, from.largest);
}
struct TotalsCall {
  SumsCall sums;  // those of B
  ProductTotals* to;
};
// One block for each matrix.
ASSAY_HERE void sum_totals(const ProductSpec& spec, const SumsCall& call, ProductTotals* to,
                           U64 block, U32 thread) {
  const auto matrix = static_cast<I64>(block);
#ifdef __CUDACC_RTC__
  __shared__ ProductTotals parts[kProductThreads];
  parts[thread] = totals_part(spec, call, matrix, thread, kProductThreads);
  __syncthreads();
  if (thread != 0) return;
  for (U32 other = 1; other < kProductThreads; ++other) join_totals(parts[other], parts[0]);
  to[matrix] = parts[0];
#else
  if (thread == 0) to[matrix] = totals_part(spec, call, matrix, 0, 1);
#endif
}

// What the checks of all calls so far found.
struct ChecksumFindings {
  U64 worst;  // the bits of the largest difference / threshold, as float64
  U64 flagged, not_checkable;
  // The number of the call that flagged first, 0 if none did, and one of the checks that it
  // flagged.
  U64 first_call;
  I64 first_matrix, first_row;
  double first_difference, first_threshold;
};

// The numbers of the thresholds.
struct CheckNumbers {
  VarianceNumbers variance;
  double e_max, c;                                // v_abft
  double per_largest, per_weighted, per_product;  // a_abft
};

struct CheckCall {
  SumsCall c;       // its rows are C's; `to` is not used
  I64 depth;        // K
  const double* a;  // the sums of A's rows
  const ProductTotals* totals;
  I64 totals_matrices;  // 1 if all matrices have the same B
  const double* bias;   // the sums of the bias, or null
  CheckNumbers numbers;
  U64 number;  // of this call, from 1
  ChecksumFindings* findings;
};

// The operands' side of a check.
struct Expected {
  double checksum;  // what C's row should sum to
  ProductStats stats;
};
ASSAY_HERE Expected expected_of(const ProductSpec& spec, const CheckCall& call, I64 matrix,
                                I64 row) {
  const int count = sums_of(spec, Side::kA);
  const double* const a = call.a + matrix * count * call.c.rows + row;
  const double bias = call.bias != nullptr ? call.bias[0] : 0;
  Expected e = {a[0] + bias, {}};
  if (spec.rule != ProductRule::kVariance) return e;
  e.stats.columns = static_cast<double>(call.c.length);
  e.stats.expected = a[0];
  e.stats.square = a[call.c.rows];
  e.stats.start = call.bias != nullptr ? call.bias[1] : 0;
  if (spec.truncates) {
    e.stats.prefixes = a[2 * call.c.rows];
    e.stats.sign = a[3 * call.c.rows] / (static_cast<double>(call.depth) * e.stats.columns);
    e.checksum += bias_of(call.numbers.variance.accumulation, e.stats);
  }
  return e;
}
// Returns the form of the threshold of a check.
ASSAY_HERE simd::BoundForm form_of(const ProductSpec& spec, const CheckCall& call,
                                   const Expected& e, I64 matrix, I64 row) {
  const CheckNumbers& by = call.numbers;
  if (spec.rule == ProductRule::kVariance) {
    simd::BoundForm form = variance_form(by.variance, e.stats);
    if (!spec.own) bound_squares_by_ulps(form, by.variance.mantissa);
    return form;
  }
  simd::BoundForm form;
  if (spec.rule == ProductRule::kExact) return form;
  const double* const a = call.a + matrix * sums_of(spec, Side::kA) * call.c.rows + row;
  const ProductTotals& b = call.totals[call.totals_matrices == 1 ? 0 : matrix];
  if (spec.rule == ProductRule::kVAbft) {
    const Moments of_a = bounded_moments(a[call.c.rows], a[2 * call.c.rows], a[3 * call.c.rows],
                                         static_cast<double>(call.depth));
    form.constant = v_abft_threshold(
        by.e_max, by.c, v_abft_sums(of_a, b.moments, static_cast<double>(call.c.length)));
    if (call.bias != nullptr) form.constant += by.e_max * call.bias[2];
    return form;
  }
  form.per_largest = by.per_largest;
  form.constant =
      by.per_weighted * a[call.c.rows] + by.per_product * b.largest * a[2 * call.c.rows];
  return form;
}
ASSAY_HERE simd::OutputStats stats_of(const ProductSpec& spec, const Sums& c, int mantissa) {
  simd::OutputStats stats;
  stats.sum = c.of[0];
  if (spec.rule == ProductRule::kAAbft) stats.largest = c.of[1];
  if (spec.rule != ProductRule::kVariance) return stats;
  if (spec.own) {
    stats.square = c.of[1];
  } else {
    stats.ulp = scaled(c.of[1], -mantissa);
    stats.ulp_square = scaled(c.of[2], -2 * mantissa);
  }
  return stats;
}

// Counts the exponents of a lane's elements of a row of C, for rounding_tail(). `top` is the
// largest exponent of the row, or -1: then only the largest one of the lane is returned.
ASSAY_RARE int count_exponents(const ProductSpec& spec, const SumsCall& call, I64 matrix, I64 row,
                               int lane, int top, UlpCounts& counts) {
  const void* const from = matrix_at(call.from, spec.c, matrix);
  int largest = 0;
  for (I64 at = lane; at < call.length; at += call.lanes) {
    bool special = false;
    const U64 code = code_at(from, spec.c.bytes, static_cast<U64>(row * call.from.stride + at));
    const double power = power_of(spec.c, number_of(spec.c, code, special));
    const int exponent = static_cast<int>(bits_of(power) >> 52);
    largest = exponent > largest ? exponent : largest;
    if (top >= 0 && top - exponent < kOctaves) counts.of[top - exponent] += 1;
  }
  return largest;
}

// Sets the tail of the rounding errors of a row whose difference is neither surely within the
// threshold nor surely above it. Returns false if the check is clear, and its ratio is not the
// largest so far.
ASSAY_RARE bool set_tail(const ProductSpec& spec, const CheckCall& call, const RowPlace& at,
                         const simd::BoundForm& form, double difference, double worst,
                         simd::OutputStats& stats) {
  UlpCounts counts = {};
  int top = 0;
  const int lanes = call.c.lanes;
#ifdef __CUDACC_RTC__
  top = count_exponents(spec, call.c, at.matrix, at.row, at.lane, -1, counts);
  for (int distance = lanes / 2; distance > 0; distance /= 2) {
    const int other = __shfl_xor_sync(0xffffffffu, top, distance);
    top = other > top ? other : top;
  }
#else
  for (int lane = 0; lane < lanes; ++lane) {
    const int of_lane = count_exponents(spec, call.c, at.matrix, at.row, lane, -1, counts);
    top = of_lane > top ? of_lane : top;
  }
#endif
  const VarianceNumbers& by = call.numbers.variance;
  const int unit = top - 1023 - by.mantissa - 1;
  simd::OutputStats least = stats;
  least.tail =
      least_tail(root_of(form.ulp_weight * stats.ulp_square), scaled(1, unit), by.kappa, by.coarse);
  const double least_threshold = simd::inlined::threshold(form, least);
  const bool clear = difference <= least_threshold && difference / least_threshold <= worst;
#ifdef __CUDACC_RTC__
  // Rows that share a warp count together.
  if (__all_sync(0xffffffffu, clear)) return false;
  count_exponents(spec, call.c, at.matrix, at.row, at.lane, top, counts);
  for (int i = 0; i < kOctaves; ++i) {
    for (int distance = lanes / 2; distance > 0; distance /= 2) {
      counts.of[i] += __shfl_xor_sync(0xffffffffu, counts.of[i], distance);
    }
  }
#else
  if (clear) return false;
  for (int lane = 0; lane < lanes; ++lane) {
    count_exponents(spec, call.c, at.matrix, at.row, lane, top, counts);
  }
#endif
  stats.tail = tail_of(counts, kOctaves, unit, by.kappa, by.coarse, kInfinity).value;
  return !clear;
}

#ifdef __CUDACC_RTC__
ASSAY_HERE bool is_first(U64* first, U64 number) { return atomicCAS(first, 0ull, number) == 0; }
ASSAY_HERE void add_together(U64* sum) { atomicAdd(sum, 1ull); }
ASSAY_HERE bool any_of_warp(bool x) { return __any_sync(0xffffffffu, x); }
#else
ASSAY_HERE bool is_first(U64* first, U64 number) {
  U64 none = 0;
  return __atomic_compare_exchange_n(first, &none, number, false, __ATOMIC_RELAXED,
                                     __ATOMIC_RELAXED);
}
ASSAY_HERE void add_together(U64* sum) { __atomic_fetch_add(sum, 1, __ATOMIC_RELAXED); }
ASSAY_HERE bool any_of_warp(bool x) { return x; }
#endif

// Checks the rows of C.
ASSAY_HERE void check_rows(const ProductSpec& spec, const CheckCall& call, U64 block, U32 thread) {
  const RowPlace at = row_place(call.c, 1, block, thread);
  Sums sums;
  join_lanes<1>(spec, Side::kC, call.c.lanes, at.lane, &sums, [&](int lane, Sums* to) {
    take_rows<1>(spec, Side::kC, call.c, at.matrix, at.row, lane, to);
  });
#ifndef __CUDACC_RTC__
  if (at.lane != 0) return;
#endif
  const Expected expected = expected_of(spec, call, at.matrix, at.row);
  const simd::BoundForm form = form_of(spec, call, expected, at.matrix, at.row);
  simd::OutputStats stats = stats_of(spec, sums, call.numbers.variance.mantissa);
  const double difference = size_of(stats.sum - expected.checksum);
  double threshold = simd::inlined::threshold(form, stats);
  const bool checkable = is_finite(expected.checksum);
  bool finite = is_finite(difference) && is_finite(threshold);
  if (spec.rule == ProductRule::kVariance && !spec.own) {
    const bool wanted = at.inside && checkable && finite && simd::inlined::uses_tail(form) &&
                        difference > form.tail_from * threshold;
    if (any_of_warp(wanted)) {
      const double worst = as_double(current(&call.findings->worst));
      const bool closer = set_tail(spec, call, at, form, difference, worst, stats);
      if (wanted && closer) threshold = simd::inlined::threshold(form, stats);
    }
  }
  if (at.lane != 0 || !at.inside) return;
  if (!checkable) {
    add_together(&call.findings->not_checkable);
    return;
  }
  const double ratio = !finite ? kInfinity : difference == 0 ? 0 : difference / threshold;
  raise_to(&call.findings->worst, bits_of(ratio));
  if (finite && difference <= threshold) return;
  add_together(&call.findings->flagged);
  if (is_first(&call.findings->first_call, call.number)) {
    call.findings->first_matrix = at.matrix;
    call.findings->first_row = at.row;
    call.findings->first_difference = difference;
    call.findings->first_threshold = threshold;
  }
}

}  // namespace device
}  // namespace v0_2
}  // namespace assay
