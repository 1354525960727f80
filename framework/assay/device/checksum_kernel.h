// The code that checks matrix products C = A B + bias by their row sums, for the host and for
// devices (base/kernel_code.h). Nothing of it waits for the host: what it finds is added up in the
// device's memory. The sums of A and B are those of sums_kernel.h.
#pragma once

#include "assay/abft/rounding_tail_terms.h"
#include "assay/device/sums_kernel.h"
#include "assay/simd/bound_form-inl.h"

namespace assay {
inline namespace v0_2 {
namespace device {

// The findings of the checks of all calls so far.
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
  AccumulationTerms accumulation;
  VarianceNumbers variance;
  int mantissa;                                   // bits of the outputs' mantissa
  double least_s;                                 // least_s() for a deviation of 1
  double e_max, c;                                // v_abft
  double per_largest, per_weighted, per_product;  // a_abft
};

struct CheckCall {
  SumsCall c;       // its rows are C's; `to` is not used
  I64 depth;        // K
  const double* a;  // the sums of A's rows, in c.order
  const ProductTotals* totals;
  I64 totals_matrices;  // 1 if all matrices have the same B
  const double* bias;   // the sums of the bias, or null
  CheckNumbers numbers;
  // The rows that the lanes of a row check one after the other, at most as many as lanes.
  int rows_each;
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
  const I64 stride = call.c.order.stride;
  const double* const a = call.a + matrix * count * stride + row;
  const double bias = call.bias != nullptr ? call.bias[0] : 0;
  Expected e = {a[0] + bias, {}};
  if (spec.rule != ProductRule::kVariance) return e;
  e.stats.columns = static_cast<double>(call.c.length);
  e.stats.expected = a[0];
  e.stats.square = a[stride];
  e.stats.start = call.bias != nullptr ? call.bias[1] : 0;
  if (spec.truncates) {
    e.stats.prefixes = a[2 * stride];
    e.stats.sign = a[3 * stride] / (static_cast<double>(call.depth) * e.stats.columns);
    e.checksum += bias_of(call.numbers.accumulation, e.stats);
  }
  return e;
}
// Returns the form of the threshold of a check.
ASSAY_HERE simd::BoundForm form_of(const ProductSpec& spec, const CheckCall& call,
                                   const Expected& e, I64 matrix, I64 row) {
  const CheckNumbers& by = call.numbers;
  if (spec.rule == ProductRule::kVariance) {
    simd::BoundForm form = variance_form(by.accumulation, by.variance, e.stats);
    if (!spec.own) bound_squares_by_ulps(form, by.mantissa);
    return form;
  }
  simd::BoundForm form;
  if (spec.rule == ProductRule::kExact) return form;
  const I64 stride = call.c.order.stride;
  const double* const a = call.a + matrix * sums_of(spec, Side::kA) * stride + row;
  const ProductTotals& b = call.totals[call.totals_matrices == 1 ? 0 : matrix];
  if (spec.rule == ProductRule::kVAbft) {
    const Moments of_a =
        bounded_moments(a[stride], a[2 * stride], a[3 * stride], static_cast<double>(call.depth));
    form.constant = v_abft_threshold(
        by.e_max, by.c, v_abft_sums(of_a, b.moments, static_cast<double>(call.c.length)));
    if (call.bias != nullptr) form.constant += by.e_max * call.bias[2];
    return form;
  }
  form.per_largest = by.per_largest;
  form.constant = by.per_weighted * a[stride] + by.per_product * b.largest * a[2 * stride];
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
// largest exponent of the row.
ASSAY_RARE void count_exponents(const ProductSpec& spec, const SumsCall& call, I64 matrix, I64 row,
                                int lane, int lanes, int top, UlpCounts& counts) {
  const ElementFormat& f = spec.c;
  const void* const from = matrix_at(call.from, f, matrix);
  const int step = row_step(f);
  U32 largest = 0;
  const auto count = [&](U64 code) {
    const U32 power = high_of(power_of(f, unscaled_number(f, code, largest)));
    const int octave = top - static_cast<int>(power >> kHighMantissa);
    if (octave >= 0 && octave < kOctaves) counts.of[octave] += 1;
  };
  const I64 whole = call.packed ? call.length / step * step : 0;
  constexpr int kDeep = 4;
  const I64 stride = static_cast<I64>(lanes) * step;
  for (I64 at = static_cast<I64>(lane) * step; at < whole; at += kDeep * stride) {
    Pack packs[kDeep];
    ASSAY_UNROLL
    for (int d = 0; d < kDeep; ++d) {
      const I64 there = at + d * stride < whole ? at + d * stride : at;
      packs[d] =
          load(from, static_cast<U64>((row * call.from.stride + there) * f.bytes), f.bytes * step);
    }
    for (int d = 0; d < kDeep && at + d * stride < whole; ++d) {
      ASSAY_UNROLL
      for (int k = 0; k < step; ++k) count(code_in(packs[d], f.bytes, k));
    }
  }
  for (I64 at = whole + lane; at < call.length; at += lanes) {
    count(code_at(from, f.bytes, static_cast<U64>(row * call.from.stride + at)));
  }
}

// The reading of a check.
struct CheckReading {
  double difference, threshold;
  bool checkable, finite;
  // The threshold is only an upper bound, and the check may be above it, or have the largest ratio:
  // the tail of the rounding errors decides.
  bool unclear;
};
// Returns a lower bound of rounding_tail() for a deviation of the sum and the largest half ulp. It
// is least_rounding_tail() with the bounds 1 - x^2 / 15 and 1 / (1 + x / 3) of r(x), which hold for
// coarse values too if x is doubled.
ASSAY_HERE double quick_tail(const CheckNumbers& by, double deviation, double largest) {
  const double x = by.least_s * largest / deviation * (by.variance.coarse ? 2 : 1);
  return by.least_s * deviation * greater(1 - x * x / 15, 1 / (1 + x / 3));
}
ASSAY_HERE double largest_half_ulp(const CheckCall& call, const Sums& sums) {
  return scaled(sums.of[3], -call.numbers.mantissa - 1);
}
// Returns the threshold of a row with this tail of its rounding errors.
ASSAY_HERE double threshold_with(const ProductSpec& spec, const CheckCall& call, I64 matrix,
                                 I64 row, const Sums& sums, double tail) {
  simd::OutputStats stats = stats_of(spec, sums, call.numbers.mantissa);
  stats.tail = tail;
  const Expected expected = expected_of(spec, call, matrix, row);
  return simd::inlined::threshold(form_of(spec, call, expected, matrix, row), stats);
}
ASSAY_HERE CheckReading read_check(const ProductSpec& spec, const CheckCall& call, I64 matrix,
                                   I64 row, const Sums& sums) {
  const Expected expected = expected_of(spec, call, matrix, row);
  const simd::BoundForm form = form_of(spec, call, expected, matrix, row);
  simd::OutputStats stats = stats_of(spec, sums, call.numbers.mantissa);
  CheckReading r;
  r.difference = size_of(stats.sum - expected.checksum);
  r.threshold = simd::inlined::threshold(form, stats);
  r.checkable = is_finite(expected.checksum);
  r.finite = is_finite(r.difference) && is_finite(r.threshold);
  r.unclear = false;
  if (spec.rule != ProductRule::kVariance || spec.own || !r.checkable || !r.finite ||
      !simd::inlined::uses_tail(form) || !(r.difference > form.tail_from * r.threshold)) {
    return r;
  }
  stats.tail = quick_tail(call.numbers, root_of(form.ulp_weight * stats.ulp_square),
                          largest_half_ulp(call, sums));
  const double least = simd::inlined::threshold(form, stats);
  const double worst = as_double(current(&call.findings->worst));
  r.unclear = !(r.difference <= least && r.difference <= worst * least);
  return r;
}
// Sets the threshold of an unclear check by the counts of its exponents. Stops as soon as the check
// is below it and its ratio is not above `worst`. `sum` is for tail_of(). All threads that share
// the sums must have the same arguments, because they take the same steps.
template <typename SumAt>
ASSAY_HERE void set_tail(const ProductSpec& spec, const CheckCall& call, I64 matrix, I64 row,
                         const Sums& sums, const UlpCounts& counts, double difference, double worst,
                         int top, const SumAt& sum, double& threshold) {
  const VarianceNumbers& by = call.numbers.variance;
  const double enough =
      difference / lesser(worst, 1) - threshold_with(spec, call, matrix, row, sums, 0);
  const double tail = tail_of(counts, kOctaves, top - 1023 - call.numbers.mantissa - 1, by.kappa,
                              by.coarse, enough, sum)
                          .value;
  threshold = threshold_with(spec, call, matrix, row, sums, tail);
}

#ifdef __CUDACC_RTC__
ASSAY_HERE bool is_first(U64* first, U64 number) { return atomicCAS(first, 0ull, number) == 0; }
ASSAY_HERE void add_together(U64* sum) { atomicAdd(sum, 1ull); }
#else
ASSAY_HERE bool is_first(U64* first, U64 number) {
  U64 none = 0;
  return __atomic_compare_exchange_n(first, &none, number, false, __ATOMIC_RELAXED,
                                     __ATOMIC_RELAXED);
}
ASSAY_HERE void add_together(U64* sum) { __atomic_fetch_add(sum, 1, __ATOMIC_RELAXED); }
#endif

ASSAY_HERE void note(const CheckCall& call, I64 matrix, I64 row, const CheckReading& r) {
  ChecksumFindings& findings = *call.findings;
  if (!r.checkable) {
    add_together(&findings.not_checkable);
    return;
  }
  const double ratio = !r.finite ? kInfinity : r.difference == 0 ? 0 : r.difference / r.threshold;
  raise_to(&findings.worst, bits_of(ratio));
  if (r.finite && r.difference <= r.threshold) return;
  add_together(&findings.flagged);
  if (is_first(&findings.first_call, call.number)) {
    findings.first_matrix = matrix;
    findings.first_row = row;
    findings.first_difference = r.difference;
    findings.first_threshold = r.threshold;
  }
}

#ifdef __CUDACC_RTC__
// Settles the unclear checks of a warp, one after the other, by all of its threads.
ASSAY_RARE void settle_unclear(const ProductSpec& spec, const CheckCall& call, I64 matrix, I64 row,
                               int warp_lane, const Sums& sums, U32 unclear,
                               CheckReading& reading) {
  constexpr U32 kAll = 0xffffffffu;
  for (; unclear != 0; unclear &= unclear - 1) {
    const int source = __ffs(static_cast<int>(unclear)) - 1;
    const I64 of_matrix = __shfl_sync(kAll, matrix, source),
              of_row = __shfl_sync(kAll, row, source);
    const double difference = __shfl_sync(kAll, reading.difference, source);
    const double worst = __shfl_sync(kAll, as_double(current(&call.findings->worst)), source);
    Sums of_sums;
    for (int s = 0; s < kMostSums; ++s) of_sums.of[s] = __shfl_sync(kAll, sums.of[s], source);
    const int top = static_cast<int>(high_of(of_sums.of[3]) >> kHighMantissa);
    UlpCounts counts = {};
    count_exponents(spec, call.c, of_matrix, of_row, warp_lane, 32, top, counts);
    for (int i = 0; i < kOctaves; ++i) {
      for (int distance = 16; distance > 0; distance /= 2) {
        counts.of[i] += __shfl_xor_sync(kAll, counts.of[i], distance);
      }
    }
    double threshold = 0;
    set_tail(
        spec, call, of_matrix, of_row, of_sums, counts, difference, worst, top,
        [&](double s, const UlpCounts& of, int used, bool coarse) {
          Cumulant sum = sum_at(s, of, used, coarse, warp_lane, 32);
          for (int distance = 16; distance > 0; distance /= 2) {
            sum.value += __shfl_xor_sync(kAll, sum.value, distance);
            sum.rest += __shfl_xor_sync(kAll, sum.rest, distance);
            sum.second += __shfl_xor_sync(kAll, sum.second, distance);
          }
          return sum;
        },
        threshold);
    if (warp_lane == source) reading.threshold = threshold;
  }
}
#endif

// Checks rows of C. The lanes of a row add up several rows, one after the other. Then each lane
// reads the check of one of them.
ASSAY_HERE void check_rows(const ProductSpec& spec, const CheckCall& call, U64 block, U32 thread) {
  const RowPlace at = row_place(call.c, call.rows_each, block, thread);
  const auto take_some = [&](I64 row, int lane, Sums* to) {
    take_rows<kCheckedAtOnce>(spec, Side::kC, call.c, at.matrix, row, lane, to);
  };
#ifdef __CUDACC_RTC__
  Sums mine = {};
  for (int i = 0; i < call.rows_each; i += kCheckedAtOnce) {
    Sums sums[kCheckedAtOnce];
    join_lanes<kCheckedAtOnce>(spec, Side::kC, call.c.lanes, at.lane, sums,
                               [&](int lane, Sums* to) { take_some(at.row + i, lane, to); });
    ASSAY_UNROLL
    for (int r = 0; r < kCheckedAtOnce; ++r) {
      if (at.lane == i + r) mine = sums[r];
    }
  }
  const I64 row = at.row + at.lane;
  const bool active = at.inside && at.lane < call.rows_each && row < call.c.rows;
  CheckReading reading = {};
  if (active) reading = read_check(spec, call, at.matrix, row, mine);
  const U32 unclear = __ballot_sync(0xffffffffu, reading.unclear);
  if (unclear != 0) {
    settle_unclear(spec, call, at.matrix, row, static_cast<int>(thread % 32), mine, unclear,
                   reading);
  }
  if (active) note(call, at.matrix, row, reading);
#else
  if (at.lane != 0 || !at.inside) return;
  const I64 behind = at.row + call.rows_each, end = behind < call.c.rows ? behind : call.c.rows;
  for (I64 row = at.row; row < end; ++row) {
    Sums sums[kCheckedAtOnce];
    join_lanes<kCheckedAtOnce>(spec, Side::kC, call.c.lanes, 0, sums,
                               [&](int lane, Sums* to) { take_some(row, lane, to); });
    CheckReading reading = read_check(spec, call, at.matrix, row, sums[0]);
    if (reading.unclear) {
      const int top = static_cast<int>(high_of(sums[0].of[3]) >> kHighMantissa);
      UlpCounts counts = {};
      count_exponents(spec, call.c, at.matrix, row, 0, 1, top, counts);
      set_tail(
          spec, call, at.matrix, row, sums[0], counts, reading.difference,
          as_double(current(&call.findings->worst)), top,
          [](double s, const UlpCounts& of, int used, bool coarse) {
            return sum_at(s, of, used, coarse);
          },
          reading.threshold);
    }
    note(call, at.matrix, row, reading);
  }
#endif
}

}  // namespace device
}  // namespace v0_2
}  // namespace assay
