// The code that adds up the rows of the matrices of a product C = A B + bias, for the host and for
// devices (base/kernel_code.h): everything that the threshold of a check by row sums needs.
//
//   sum_rows, sum_columns, join_slabs   sums over the rows of B, then over the rows of A with those
//                                       of B as weights
//   sum_totals                          sums over all rows of B, for v_abft and a_abft
//
// sum_rows() reads matrices whose rows are contiguous in memory, and sum_columns() those whose
// columns are.
#pragma once

#include "assay/abft/threshold_terms.h"
#include "assay/device/element_kernel.h"

namespace assay {
inline namespace v0_2 {
namespace device {

enum class ProductRule : int { kVariance, kVAbft, kAAbft, kExact };
enum class Side : int { kA, kB, kC, kBias };

constexpr U32 kProductThreads = 256;  // threads of a block
constexpr int kRowsAtOnce = 4;        // rows of A and B that a thread reads at once
constexpr int kCheckedAtOnce = 4;     // and rows of C
constexpr int kMostAtOnce = 8;        // elements of neighboring columns that a thread reads at once
constexpr I64 kRowLanes = 16;         // threads of a block that read the same columns

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

// The sums over a row.
//
// B      kVariance: sum b, sum b^2, sum b times roundings_after(k), sum of signs
//        kVAbft: sum b, min b, max b.  kAAbft: sum b, max |b|.  kExact: sum b
// A      with the sums of row k of B as weights:
//        kVariance: the checksum, sum a^2 B.square, sum a B.prefix, sum sign(a) B.sign
//        kVAbft: the checksum, sum a, min a, max a
//        kAAbft: the checksum, sum |a| max_j |b_kj|, max |a|.  kExact: the checksum
// C      kVariance: sum c, sum 2^e, sum 4^e and max 2^e with the exponents e of c
//        kVariance if `own`: sum c, sum c^2
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
    if (side == Side::kC) return spec.own ? 2 : 4;
    return spec.truncates ? 4 : 2;
  }
  if (spec.rule == ProductRule::kVAbft) return side == Side::kA ? 4 : side == Side::kB ? 3 : 1;
  return side == Side::kA ? 3 : 2;
}
ASSAY_HERE Join join_of(const ProductSpec& spec, Side side, int sum) {
  if (side == Side::kBias || sum == 0) return Join::kAdd;
  if (spec.rule == ProductRule::kVariance) {
    return side == Side::kC && sum == 3 ? Join::kMost : Join::kAdd;
  }
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
    const bool powers = side == Side::kC && spec.rule == ProductRule::kVariance;
    to.of[s] = how == Join::kAdd || powers ? 0 : how == Join::kLeast ? kInfinity : -kInfinity;
  }
}
ASSAY_HERE void join(const ProductSpec& spec, Side side, const Sums& from, Sums& to) {
  ASSAY_UNROLL
  for (int s = 0; s < sums_of(spec, side); ++s) {
    to.of[s] = join(join_of(spec, side, s), to.of[s], from.of[s]);
  }
}

ASSAY_HERE double sign_of(double x) { return (x > 0 ? 1.0 : 0.0) - (x < 0 ? 1.0 : 0.0); }
// Returns the power of two at or below |x| for an unscaled x, at least the format's smallest normal
// number.
ASSAY_HERE double power_of(const ElementFormat& f, double unscaled) {
  constexpr U32 kExponent = 0x7ff00000, kOne = U32{1023} << kHighMantissa;
  const U32 up = high_of(scale_of(f)) - kOne, least = high_of(f.min_normal) - up;
  return from_high(greater(high_of(unscaled) & kExponent, least) + up);
}

// Returns sum + x y. Devices round once.
#ifdef __CUDACC_RTC__
ASSAY_HERE double plus_product(double sum, double x, double y) { return __fma_rn(x, y, sum); }
#else
ASSAY_HERE double plus_product(double sum, double x, double y) { return sum + x * y; }
#endif

// Adds one unscaled element. `by` has the sums of the row of B that belongs to an element of A.
ASSAY_HERE void take(const ProductSpec& spec, Side side, double x, const Sums& by, Sums& to) {
  double* const sum = to.of;
  if (side == Side::kC && spec.rule == ProductRule::kVariance && !spec.own) {
    sum[0] += x;
    const double power = power_of(spec.c, x);
    sum[1] += power;
    sum[2] = plus_product(sum[2], power, power);
    sum[3] = from_high(greater(high_of(sum[3]), high_of(power)));
    return;
  }
  x *= scale_of(format_of(spec, side));
  if (side == Side::kA) {
    sum[0] = plus_product(sum[0], x, by.of[0]);
    if (spec.rule == ProductRule::kVariance) {
      sum[1] = plus_product(sum[1], x * x, by.of[1]);
      if (spec.truncates) {
        sum[2] = plus_product(sum[2], x, by.of[2]);
        sum[3] = plus_product(sum[3], sign_of(x), by.of[3]);
      }
    } else if (spec.rule == ProductRule::kVAbft) {
      sum[1] += x;
      sum[2] = lesser(sum[2], x);
      sum[3] = greater(sum[3], x);
    } else if (spec.rule == ProductRule::kAAbft) {
      sum[1] = plus_product(sum[1], size_of(x), by.of[1]);
      sum[2] = greater(sum[2], size_of(x));
    }
    return;
  }
  sum[0] += x;
  if (side == Side::kBias) {
    sum[1] = plus_product(sum[1], x, x);
    sum[2] += size_of(x);
  } else if (spec.rule == ProductRule::kAAbft) {
    sum[1] = greater(sum[1], size_of(x));
  } else if (spec.rule == ProductRule::kVAbft && side == Side::kB) {
    sum[1] = lesser(sum[1], x);
    sum[2] = greater(sum[2], x);
  } else if (spec.rule == ProductRule::kVariance) {
    sum[1] = plus_product(sum[1], x, x);
    if (side == Side::kB && spec.truncates) sum[3] += sign_of(x);
  }
}
// Ends the sums of a row, of whose elements `largest` is the largest magnitude (unscaled_number()).
ASSAY_HERE void finish(const ProductSpec& spec, Side side, U32 largest, Sums& to) {
  if (side == Side::kC && spec.rule == ProductRule::kVariance && !spec.own) {
    to.of[0] *= scale_of(spec.c);
  }
  if (has_special(format_of(spec, side), largest)) to.of[0] = kNan;
}

// The places of the matrices of a batch: matrix i at (i / inner) outer_stride + (i % inner)
// inner_stride. All strides are in elements.
struct MatrixPlace {
  const void* data;
  I64 stride;  // from one row to the next, or from one column to the next
  U32 inner;
  I64 outer_stride, inner_stride;
};
ASSAY_HERE const void* matrix_at(const MatrixPlace& place, const ElementFormat& f, I64 matrix) {
  const U32 outer = static_cast<U32>(matrix) / place.inner;
  const U32 inner = static_cast<U32>(matrix) - outer * place.inner;
  const I64 offset = outer * place.outer_stride + inner * place.inner_stride;
  return static_cast<const char*>(place.data) + offset * f.bytes;
}

// The order in which the sums of a matrix's rows are stored. Those of B are read by the `lanes`
// that share a row of A, each of which reads `step` of them. So that neighboring lanes read
// neighboring pairs, the pairs of a step are lanes apart.
struct Order {
  int lanes, step;
  I64 stride;  // from one sum of a matrix to the next, at least `rows`, a multiple of lanes step
};
ASSAY_HERE I64 position(const Order& order, I64 row) {
  if (order.lanes == 1) return row;
  const int block = order.lanes * order.step;
  const I64 first = row / block * block;
  const int in_block = static_cast<int>(row - first), lane = in_block / order.step,
            in_step = in_block % order.step;
  const int pair = in_step / 2 * order.lanes + lane, of_pair = in_step % 2;
  return first + 2 * I64{pair} + of_pair;
}

// One call of the kernels. Sum s of the row r of matrix m is at to[(m sums + s) order.stride +
// position(order, r)].
struct SumsCall {
  MatrixPlace from;
  I64 matrices, rows, length;  // `length` elements are added up for each row
  bool packed;                 // every row, or every column, begins at a multiple of a load's size
  int lanes;                   // threads that share a row: a power of two, at most 32
  int slabs;                   // parts of a row's length, for columns()
  const double* by;            // sums of B for the rows of A, or null
  I64 by_matrices;             // 1 if all matrices have the same B
  Order by_order;
  double* to;
  Order order;  // of `to`
  // For join(): sums of slabs; those of slab l are from the row to[l ...] on.
  const double* parts;
  AccumulationTerms accumulation;
};

// Returns the place of the sums of B for a matrix of A.
ASSAY_HERE const double* weights_of(const ProductSpec& spec, const SumsCall& call, I64 matrix) {
  return call.by +
         (call.by_matrices == 1 ? 0 : matrix) * sums_of(spec, Side::kB) * call.by_order.stride;
}
ASSAY_HERE Sums weights_at(const ProductSpec& spec, Side side, const SumsCall& call, I64 matrix,
                           I64 index) {
  Sums by = {};
  if (side != Side::kA) return by;
  const double* const at = weights_of(spec, call, matrix) + position(call.by_order, index);
  ASSAY_UNROLL
  for (int s = 0; s < sums_of(spec, Side::kB); ++s) by.of[s] = at[s * call.by_order.stride];
  return by;
}
// The weights of two neighboring elements. The first of them is at an even place of a step.
struct alignas(16) Pair {
  double of[2];
};
ASSAY_HERE void weights_of_pair(const ProductSpec& spec, Side side, const SumsCall& call,
                                const double* first, I64 step_at, int lane, int pair, Sums* by) {
  if (side != Side::kA) return;
  const int of_lane = pair * call.lanes + lane;
  const double* const at = first + step_at + 2 * I64{of_lane};
  ASSAY_UNROLL
  for (int s = 0; s < sums_of(spec, Side::kB); ++s) {
    const Pair both = *reinterpret_cast<const Pair*>(at + s * call.by_order.stride);
    by[0].of[s] = both.of[0];
    by[1].of[s] = both.of[1];
  }
}

ASSAY_HERE void write_sums(const ProductSpec& spec, Side side, const SumsCall& call, I64 matrix,
                           I64 row, Sums& sums) {
  if (side == Side::kB && spec.rule == ProductRule::kVariance && spec.truncates) {
    sums.of[2] = roundings_after(call.accumulation, row) * sums.of[0];
  }
  const int count = sums_of(spec, side);
  ASSAY_UNROLL
  for (int s = 0; s < count; ++s) {
    call.to[(matrix * count + s) * call.order.stride + position(call.order, row)] = sums.of[s];
  }
}

// Adds the part of a lane to the sums of `count` rows from `row` on.
template <int kRows>
ASSAY_HERE void take_rows(const ProductSpec& spec, Side side, const SumsCall& call, I64 matrix,
                          I64 row, int lane, Sums* sums) {
  const ElementFormat& f = format_of(spec, side);
  const void* const from = matrix_at(call.from, f, matrix);
  const int step = row_step(f);
  U32 largest[kRows] = {};
  I64 offset[kRows];
  ASSAY_UNROLL
  for (int r = 0; r < kRows; ++r) {
    start(spec, side, sums[r]);
    const I64 last = call.rows - 1;  // rows behind the last one are read as the last one
    offset[r] = (row + r < last ? row + r : last) * call.from.stride;
  }
  // A thread has kDeep packs of each row on their way from memory.
  constexpr int kDeep = 2;
  const I64 whole = call.packed ? call.length / step * step : 0;
  const I64 stride = static_cast<I64>(call.lanes) * step;
  const double* const weights = side == Side::kA ? weights_of(spec, call, matrix) : nullptr;
  const auto load_packs = [&](I64 at, Pack* packs) {
    ASSAY_UNROLL
    for (int r = 0; r < kRows; ++r) {
      packs[r] = load(from, static_cast<U64>((offset[r] + at) * f.bytes), f.bytes * step);
    }
  };
  const auto take_packs = [&](I64 at, const Pack* packs) {
    ASSAY_UNROLL
    for (int pair = 0; pair < (step + 1) / 2; ++pair) {
      Sums by[2];
      weights_of_pair(spec, side, call, weights, at - I64{lane} * step, lane, pair, by);
      ASSAY_UNROLL
      for (int k = 2 * pair; k < 2 * pair + 2 && k < step; ++k) {
        ASSAY_UNROLL
        for (int r = 0; r < kRows; ++r) {
          take(spec, side, unscaled_number(f, code_in(packs[r], f.bytes, k), largest[r]), by[k % 2],
               sums[r]);
        }
      }
    }
  };
  I64 at = static_cast<I64>(lane) * step;
  for (; at + (kDeep - 1) * stride < whole; at += kDeep * stride) {
    Pack packs[kDeep][kRows];
    ASSAY_UNROLL
    for (int d = 0; d < kDeep; ++d) load_packs(at + d * stride, packs[d]);
    ASSAY_UNROLL
    for (int d = 0; d < kDeep; ++d) take_packs(at + d * stride, packs[d]);
  }
  for (; at < whole; at += stride) {
    Pack packs[kRows];
    load_packs(at, packs);
    take_packs(at, packs);
  }
  ASSAY_NO_UNROLL
  for (at = whole + lane; at < call.length; at += call.lanes) {
    const Sums by = weights_at(spec, side, call, matrix, at);
    ASSAY_UNROLL
    for (int r = 0; r < kRows; ++r) {
      const U64 code = code_at(from, f.bytes, static_cast<U64>(offset[r] + at));
      take(spec, side, unscaled_number(f, code, largest[r]), by, sums[r]);
    }
  }
  ASSAY_UNROLL
  for (int r = 0; r < kRows; ++r) finish(spec, side, largest[r], sums[r]);
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
  const U32 lanes = static_cast<U32>(call.lanes), of_block = kProductThreads / lanes;
  const U64 group = block * of_block + thread / lanes;
  const U32 groups = static_cast<U32>((call.rows + rows_at_once - 1) / rows_at_once);
  const U32 matrix = static_cast<U32>(group) / groups, in_matrix = static_cast<U32>(group) % groups;
  RowPlace at{matrix, static_cast<I64>(in_matrix) * rows_at_once, static_cast<int>(thread % lanes),
              true};
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

// Adds the part of one lane to the sums of neighboring columns: every kRowLanes-th row of a slab.
ASSAY_HERE void take_columns(const ProductSpec& spec, Side side, const SumsCall& call, I64 matrix,
                             I64 slab, I64 row, int lane, Sums* sums) {
  const ElementFormat& f = format_of(spec, side);
  const int step = column_step(f);
  const void* const from = matrix_at(call.from, f, matrix);
  const I64 end = (slab + 1) * call.length / call.slabs;
  U32 largest[kMostAtOnce] = {};
  ASSAY_UNROLL
  for (int k = 0; k < step; ++k) start(spec, side, sums[k]);
  const int present = call.rows - row < step ? static_cast<int>(call.rows - row) : step;
  I64 at = slab * call.length / call.slabs + lane;
  if (call.packed && present == step) {
    constexpr int kDeep = 4;
    for (; at + (kDeep - 1) * kRowLanes < end; at += kDeep * kRowLanes) {
      Pack read[kDeep];
      ASSAY_UNROLL
      for (int d = 0; d < kDeep; ++d) {
        const I64 element = (at + d * kRowLanes) * call.from.stride + row;
        read[d] = load(from, static_cast<U64>(element * f.bytes), f.bytes * step);
      }
      ASSAY_UNROLL
      for (int d = 0; d < kDeep; ++d) {
        const Sums by = weights_at(spec, side, call, matrix, at + d * kRowLanes);
        ASSAY_UNROLL
        for (int k = 0; k < step; ++k) {
          take(spec, side, unscaled_number(f, code_in(read[d], f.bytes, k), largest[k]), by,
               sums[k]);
        }
      }
    }
  }
  ASSAY_NO_UNROLL
  for (; at < end; at += kRowLanes) {
    const Sums by = weights_at(spec, side, call, matrix, at);
    ASSAY_UNROLL
    for (int k = 0; k < step; ++k) {
      const int there = k < present ? k : present - 1;
      const U64 code =
          code_at(from, f.bytes, static_cast<U64>(at * call.from.stride + row + there));
      take(spec, side, unscaled_number(f, code, largest[k]), by, sums[k]);
    }
  }
  ASSAY_UNROLL
  for (int k = 0; k < step; ++k) finish(spec, side, largest[k], sums[k]);
}

// Adds up a slab of the rows of a matrix whose columns are contiguous. A block has kRowLanes
// threads for each of its groups of neighboring columns.
ASSAY_HERE void sum_columns(const ProductSpec& spec, Side side, const SumsCall& call, U64 block,
                            U32 thread) {
  const int step = column_step(format_of(spec, side)), count = sums_of(spec, side);
  constexpr int kGroups = static_cast<int>(kProductThreads) / kRowLanes;
  const I64 packs = (call.rows + step - 1) / step, across = (packs + kGroups - 1) / kGroups;
  const auto index = static_cast<I64>(block);
  const int group = static_cast<int>(thread) % kGroups, lane = static_cast<int>(thread) / kGroups;
  const I64 pack = index % across * kGroups + group, row = pack * step,
            slab = index / across % call.slabs, matrix = index / across / call.slabs;
  const bool inside = pack < packs;
  Sums sums[kMostAtOnce];
#ifdef __CUDACC_RTC__
  take_columns(spec, side, call, matrix, slab, inside ? row : 0, lane, sums);
  __shared__ double parts[kRowLanes][kGroups][kMostAtOnce];
  ASSAY_UNROLL
  for (int s = 0; s < count; ++s) {
    const Join how = join_of(spec, side, s);
    ASSAY_UNROLL
    for (int k = 0; k < step; ++k) parts[lane][group][k] = sums[k].of[s];
    for (int half = kRowLanes / 2; half > 0; half /= 2) {
      __syncthreads();
      if (lane >= half) continue;
      ASSAY_UNROLL
      for (int k = 0; k < step; ++k) {
        parts[lane][group][k] = join(how, parts[lane][group][k], parts[lane + half][group][k]);
      }
    }
    ASSAY_UNROLL
    for (int k = 0; k < step; ++k) {
      if (lane == 0) sums[k].of[s] = parts[0][group][k];
    }
    __syncthreads();
  }
#else
  if (lane == 0 && inside) {
    take_columns(spec, side, call, matrix, slab, row, 0, sums);
    for (int other = 1; other < kRowLanes; ++other) {
      Sums more[kMostAtOnce];
      take_columns(spec, side, call, matrix, slab, row, other, more);
      for (int k = 0; k < step; ++k) join(spec, side, more[k], sums[k]);
    }
  }
#endif
  if (lane != 0 || !inside) return;
  ASSAY_UNROLL
  for (int k = 0; k < step; ++k) {
    if (row + k >= call.rows) continue;
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
    Sums part = {};
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
  const double* const sums = call.to + matrix * count * call.order.stride;
  for (I64 row = first; row < call.rows; row += step) {
    const double* const of = sums + position(call.order, row);
    if (spec.rule == ProductRule::kAAbft) {
      t.largest = greater(t.largest, of[call.order.stride]);
      continue;
    }
    const Moments m = bounded_moments(of[0], of[call.order.stride], of[2 * call.order.stride],
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
  for (U32 half = kProductThreads / 2; half > 0; half /= 2) {
    __syncthreads();
    if (thread < half) join_totals(parts[thread + half], parts[thread]);
  }
  if (thread == 0) to[matrix] = parts[0];
#else
  if (thread == 0) to[matrix] = totals_part(spec, call, matrix, 0, 1);
#endif
}

}  // namespace device
}  // namespace v0_2
}  // namespace assay
