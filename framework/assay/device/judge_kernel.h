// The code that judges elements in the memory that holds them, for the host and for devices
// (base/kernel_code.h).
//
// A kernel decides for each unit of kUnit elements whether the host must look at it: if an element
// is a mismatch, or NaN or infinite on either side. The other elements match for sure, and the
// kernel counts what the verdict needs of them, as simd/compare.h does.
#pragma once

#include "assay/device/element_kernel.h"

namespace assay {
inline namespace v0_2 {
namespace device {

constexpr U64 kUnit = 65536;   // elements that a block of threads judges
constexpr U32 kThreads = 256;  // threads of a block

// The forms of tolerances (simd/compare.h), then those of the other rules.
enum class Form : int { kSum, kEither, kLargest, kSymmetric, kUlps, kBits };

// The constants of a kernel.
struct JudgeSpec {
  ElementFormat actual, expected;
  Form form;
  bool ratios;  // find the largest error / tolerance
  bool rounds;  // round expected values to the output's format first
  // Prove most results without float64: from float32 for the form kSum, from the codes for kUlps
  // and kBits.
  bool proves;
  int step;  // elements that a thread loads at once
  // The order of the output's values (simd/ordinals.h).
  int drop;
  U64 rebias;
};

// The numbers of a bound.
struct JudgeNumbers {
  double rtol, atol, floor, small_value, small_atol, ulps;
  double or_ulps;    // an element outside its tolerance matches within this number of ulps
  double vanishing;  // expected values up to this size round to 0 in the output's format
  // The limits of a proof in float32. An element with error < rtol |expected| + atol matches. If
  // its |expected| is above `above`, then 0 in its place would be a mismatch. If it is below
  // `below`, then 0 would match.
  float proof_rtol, proof_atol, proof_above, proof_below;
  // Within a binade, elements up to this distance of their float32 codes are or_ulps apart at most.
  // It is 0 without or_ulps, and if expected values are not those of the output's format.
  U32 near_codes;
  float near_above, near_below;  // the smallest normal number and the largest
};

struct UnitCounts {
  U32 bad;  // elements that the host must look at
  U32 zero, zero_within;
};
struct JudgeTotal {
  U64 worst;  // the bits of the largest ratio of all elements that match, as float64
  U64 bad_units;
  U64 zero, zero_within;  // of units without bad elements
};

struct JudgeCall {
  const void* actual;
  const void* expected;
  U64 count;
  UnitCounts* units;
  JudgeTotal* total;
  JudgeNumbers numbers;
};

// Rounds a finite value to nearest even. A result beyond `most` is the caller's to treat.
ASSAY_HERE double rounded(const ElementFormat& f, double x) {
  const double size = size_of(x);
  double r;
  if (size < f.min_normal) {
    const double magic = f.least * 0x1p52;  // its neighbours are the smallest number apart
    r = (size + magic) - magic;
  } else {
    const int drop = 52 - f.mantissa;
    const U64 bits = bits_of(size);
    if (drop == 0) return x;
    const U64 up = (U64{1} << (drop - 1)) - 1 + (bits >> drop & 1);
    r = as_double((bits + up) >> drop << drop);
  }
  const bool minus = bits_of(x) >> 63 != 0 && !(f.fnuz && r == 0);
  return minus ? -r : r;
}

ASSAY_HERE double tolerance(const JudgeSpec& spec, const JudgeNumbers& by, double size,
                            double actual) {
  if (size < by.small_value) return by.small_atol;
  double of = 0;
  if (spec.form == Form::kSum) {
    of = by.atol + by.rtol * size;
  } else if (spec.form == Form::kEither) {
    const double relative = by.rtol * size;
    of = by.atol < relative ? relative : by.atol;
  } else {
    const double larger = spec.form == Form::kSymmetric ? size + actual : size;
    of = by.rtol * (by.floor < larger ? larger : by.floor);
  }
  return of < kMostFinite ? of : kMostFinite;
}
ASSAY_HERE bool within(const JudgeSpec& spec, double error, double limit) {
  if (spec.form == Form::kSymmetric) return error <= kMostFinite && (error < limit || error == 0);
  return error <= kMostFinite && error <= limit;
}

// Returns the position of a magnitude among the output's values.
ASSAY_HERE U64 position(const JudgeSpec& spec, double size) {
  const ElementFormat& f = spec.actual;
  if (spec.drop == 0) return bits_of(size);
  if (size < f.min_normal) {
    const double magic = f.least * 0x1p52;
    return bits_of(size + magic) - bits_of(magic);
  }
  return (bits_of(size) >> spec.drop) - spec.rebias;
}
ASSAY_HERE double ulps_apart(const JudgeSpec& spec, double a, double e) {
  const U64 at = position(spec, size_of(a)), to = position(spec, size_of(e));
  if ((bits_of(a) ^ bits_of(e)) >> 63 != 0) return static_cast<double>(at + to);
  return static_cast<double>(at < to ? to - at : at - to);
}

// The counts of a thread.
struct Counted {
  U32 bad = 0, zero = 0, zero_within = 0;
  double worst = 0;
};

// Judges an element in float64.
ASSAY_HERE void judge_element(const JudgeSpec& spec, const JudgeNumbers& by, U64 actual,
                              U64 expected, Counted& to) {
  if (is_special(spec.actual, actual) || is_special(spec.expected, expected)) {
    ++to.bad;
    return;
  }
  const double a = value_of(spec.actual, actual);
  double e = value_of(spec.expected, expected);
  if (spec.rounds) e = rounded(spec.actual, e);
  const double size = size_of(e), error = size_of(a - e);
  if (size > spec.actual.most) {
    ++to.bad;
    return;
  }
  bool hit, zero_hit;
  double ratio = 0;
  if (spec.form == Form::kBits) {
    hit = bits_of(a) == bits_of(e);
    zero_hit = bits_of(e) == 0;
  } else if (spec.form == Form::kUlps) {
    hit = ulps_apart(spec, a, e) <= by.ulps;
    zero_hit = ulps_apart(spec, 0, size) <= by.ulps;
    const double octave = as_double(bits_of(size) & U64{0x7ff} << 52);
    const double spacing = octave * as_double(static_cast<U64>(1023 - 52 + spec.drop) << 52);
    ratio = error / (spacing < spec.actual.least ? spec.actual.least : spacing);
  } else {
    const double limit = tolerance(spec, by, size, size_of(a));
    hit = within(spec, error, limit);
    zero_hit = within(spec, size, tolerance(spec, by, size, 0));
    if (spec.ratios && error > 0 && limit > 0) ratio = error / limit;
    if (!hit && by.or_ulps > 0 &&
        ulps_apart(spec, a, spec.rounds ? e : rounded(spec.actual, e)) <= by.or_ulps) {
      hit = true;
      ratio = spec.ratios ? 1 : 0;
    }
  }
  if (!hit) {
    ++to.bad;
    ratio = 0;
  }
  const bool vanishes = e == 0 || size <= by.vanishing;
  if (vanishes) ++to.zero;
  if (zero_hit || (vanishes && e != 0)) ++to.zero_within;
  if (ratio > to.worst) to.worst = ratio;
}

// Rounds a float32 to the first bits of a float32, to nearest even.
ASSAY_HERE float first_bits(U32 bits, int drop) {
  const U32 up = drop == 0 ? 0 : (U32{1} << (drop - 1)) - 1 + (bits >> drop & 1);
  return as_float((bits + up) >> drop << drop);
}

// True if an element surely matches, with a ratio that is at most `allowed`, and if it is sure
// whether 0 would match in its place. Then it is counted. A ratio of the form kUlps is in ulps.
ASSAY_HERE bool is_clear(const JudgeSpec& spec, const JudgeNumbers& by, U32 actual, U32 expected,
                         float allowed, Counted& to) {
  if (spec.form == Form::kSum) {
    const float a = float_of(spec.actual, actual);
    const float e = spec.rounds ? first_bits(expected, 23 - spec.actual.mantissa)
                                : float_of(spec.expected, expected);
    const float size = size_of(e), error = size_of(a - e);
    float limit = by.proof_rtol * size + by.proof_atol;
    if (spec.ratios) limit *= allowed;
    bool hit = error < limit || error == 0;
    if (by.near_codes != 0) {  // such an element has the ratio 1
      const U32 ca = bits_of(a), ce = bits_of(e), apart = ca < ce ? ce - ca : ca - ce;
      hit |= allowed == 1 && (ca ^ ce) >> 23 == 0 && apart <= by.near_codes &&
             size >= by.near_above && size <= by.near_below;
    }
    const bool is_zero = size == 0, zero_matches = size < by.proof_below || is_zero;
    to.zero += is_zero ? 1 : 0;
    to.zero_within += zero_matches ? 1 : 0;
    bool clear = hit && (size > by.proof_above || zero_matches);
    if (!spec.actual.as_float) clear &= !is_special(spec.actual, actual);
    if (!spec.expected.as_float || spec.rounds) clear &= !is_special(spec.expected, expected);
    return clear;
  }
  // Both sides have one format. Within a binade, codes differ by ulps.
  const U32 size = static_cast<U32>(magnitude(spec.actual, expected));
  bool clear = size < static_cast<U32>(spec.actual.special);
  if (spec.form == Form::kBits) return clear && actual == expected && size != 0;
  const bool one_binade = (actual ^ expected) >> spec.actual.mantissa == 0;
  const U32 apart = actual < expected ? expected - actual : actual - expected;
  const U32 normal = U32{1} << spec.actual.mantissa;
  clear &= one_binade && size >= normal && static_cast<float>(apart) <= allowed;
  return clear && static_cast<double>(size) > by.ulps;
}

// Returns the ratio up to which an element is clear if `worst` was met elsewhere.
ASSAY_HERE float allowed_of(const JudgeSpec& spec, const JudgeNumbers& by, double worst) {
  const double most = spec.form == Form::kUlps ? by.ulps : 1;
  const double least = worst < most ? worst : most;
  // A number of ulps within a binade is exact. A ratio is not, except that none is above 1.
  if (spec.form == Form::kUlps || least == 1) return static_cast<float>(least);
  return static_cast<float>(least * (1 - 0x1p-20));
}

ASSAY_HERE void judge_packs(const JudgeSpec& spec, const JudgeNumbers& by, const Pack& actual,
                            const Pack& expected, float& allowed, Counted& to) {
  if (spec.proves) {
    bool clear = true;
    Counted counted;
    ASSAY_UNROLL
    for (int k = 0; k < spec.step; ++k) {
      clear &=
          is_clear(spec, by, static_cast<U32>(code_in(actual, spec.actual.bytes, k)),
                   static_cast<U32>(code_in(expected, spec.expected.bytes, k)), allowed, counted);
    }
    if (clear) {
      to.zero += counted.zero;
      to.zero_within += counted.zero_within;
      return;
    }
  }
  ASSAY_UNROLL
  for (int k = 0; k < spec.step; ++k) {
    judge_element(spec, by, code_in(actual, spec.actual.bytes, k),
                  code_in(expected, spec.expected.bytes, k), to);
  }
  if (spec.proves && spec.ratios) {
    const float own = allowed_of(spec, by, to.worst);
    allowed = allowed < own ? own : allowed;
  }
}

// Judges the part of a unit that belongs to a thread.
ASSAY_HERE void judge_unit(const JudgeSpec& spec, const JudgeCall& call, U64 unit, U32 thread) {
  const U64 first = unit * kUnit, behind = first + kUnit;
  const U64 end = behind < call.count ? behind : call.count;
  const auto step = static_cast<U64>(spec.step);
  const U64 stride = kThreads * step;
  U64 at = first + thread * step;
  Counted counted;
  // Elements that cannot raise the largest ratio so far, of any unit, need no ratio of their own.
  float allowed = 0;
  if (spec.ratios) allowed = allowed_of(spec, call.numbers, as_double(current(&call.total->worst)));
  constexpr int kDeep = 4;  // packs of each side on their way from memory
  while (spec.step > 1 && at + (kDeep - 1) * stride + step <= end) {
    Pack actual[kDeep], expected[kDeep];
    ASSAY_UNROLL
    for (int d = 0; d < kDeep; ++d) {
      const U64 index = at + static_cast<U64>(d) * stride;
      actual[d] = load(call.actual, index * static_cast<U64>(spec.actual.bytes),
                       spec.actual.bytes * spec.step);
      expected[d] = load(call.expected, index * static_cast<U64>(spec.expected.bytes),
                         spec.expected.bytes * spec.step);
    }
    ASSAY_UNROLL
    for (int d = 0; d < kDeep; ++d) {
      judge_packs(spec, call.numbers, actual[d], expected[d], allowed, counted);
    }
    at += kDeep * stride;
  }
  for (; at < end; at += stride) {
    ASSAY_NO_UNROLL
    for (U64 index = at; index < at + step && index < end; ++index) {
      judge_element(spec, call.numbers, code_at(call.actual, spec.actual.bytes, index),
                    code_at(call.expected, spec.expected.bytes, index), counted);
    }
  }
  UnitCounts* const sum = call.units + unit;
  add_to(&sum->bad, counted.bad);
  add_to(&sum->zero, counted.zero);
  add_to(&sum->zero_within, counted.zero_within);
  raise_to(&call.total->worst, bits_of(counted.worst));
}

// Adds up the units. `thread` is one of `threads` threads.
ASSAY_HERE void sum_units(const JudgeCall& call, U32 thread, U32 threads) {
  const U64 units = (call.count + kUnit - 1) / kUnit;
  U64 bad = 0, zero = 0, zero_within = 0;
  for (U64 unit = thread; unit < units; unit += threads) {
    const UnitCounts& counts = call.units[unit];
    if (counts.bad != 0) {
      ++bad;
      continue;
    }
    zero += counts.zero;
    zero_within += counts.zero_within;
  }
  add_to(&call.total->bad_units, bad);
  add_to(&call.total->zero, zero);
  add_to(&call.total->zero_within, zero_within);
}

}  // namespace device
}  // namespace v0_2
}  // namespace assay
