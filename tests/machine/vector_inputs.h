// Units, operands and summands for tests of the vector unit.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "assay/base/constants.h"
#include "assay/base/random.h"
#include "assay/machine/vector.h"

namespace assay::vectors {

inline VectorArithmetic unit_of(const char* name, Overflow overflow = Overflow::kIeee,
                                Subnormals subnormals = Subnormals::kGradual, bool fused = true) {
  return {&format_named(name), overflow, subnormals, fused};
}

inline std::string text_of(const VectorArithmetic& unit) {
  return std::string(unit.format->name) +
         (unit.overflow == Overflow::kSaturate ? " saturating" : "") +
         (unit.subnormals == Subnormals::kFlush ? " flush" : "") + (unit.fused ? " fused" : "");
}

inline std::vector<VectorArithmetic> all_units() {
  std::vector<VectorArithmetic> units;
  for (const char* name : {"float16", "bfloat16", "float32", "float64"}) {
    for (const Overflow overflow : {Overflow::kIeee, Overflow::kSaturate}) {
      for (const Subnormals subnormals : {Subnormals::kGradual, Subnormals::kFlush}) {
        for (const bool fused : {true, false}) {
          units.push_back(unit_of(name, overflow, subnormals, fused));
        }
      }
    }
  }
  return units;
}

inline constexpr VectorOp kOps[] = {VectorOp::kAdd, VectorOp::kSub, VectorOp::kMul, VectorOp::kDiv,
                                    VectorOp::kFma};

// Functions of one operand.
inline constexpr VectorOp kFunctions[] = {VectorOp::kExp,   VectorOp::kLog,  VectorOp::kSqrt,
                                          VectorOp::kRsqrt, VectorOp::kTanh, VectorOp::kErf};

inline bool same(double a, double b) {
  return std::bit_cast<std::uint64_t>(a) == std::bit_cast<std::uint64_t>(b) ||
         (std::isnan(a) && std::isnan(b));
}

struct Triple {
  double a, b, c;
};

// Returns operands of a format: any bits, neighbours, cancelling values, and values at the edges of
// the range.
inline std::vector<Triple> triples(const Format& f, int count, std::uint64_t stream) {
  Random random(50, stream);
  const double edges[] = {0.0,       -0.0, 1.0,  min_subnormal(f),  min_normal(f),  max_finite(f),
                          kInfinity, kNan, -1.0, -min_subnormal(f), -max_finite(f), -kInfinity};
  const auto any = [&] { return decode(f, random.next64() >> (64 - f.bits)); };
  const auto near_one = [&] {
    return round_to(f, std::ldexp(1 + random.uniform(), static_cast<int>(random.below(5)) - 2));
  };
  const auto tiny = [&] {
    return round_to(f, std::ldexp(random.normal(), f.min_exponent() / 2 - f.mantissa_bits() / 2));
  };
  std::vector<Triple> all;
  for (int i = 0; i < count; ++i) {
    Triple t{any(), any(), any()};
    switch (random.below(7)) {
      case 0:
        break;
      case 1:
        t = {near_one(), near_one(), near_one()};
        break;
      case 2:  // what a product leaves when it is cancelled
        t = {near_one(), near_one(), 0};
        t.c = -round_to(f, t.a * t.b);
        break;
      case 3:  // a tie of the product, and something far below it
        t = {near_one(), near_one(), 0};
        t.c = round_to(f, std::ldexp(t.a, -static_cast<int>(random.below(70))));
        if (random.below(2) != 0) t.b = 1 + std::ldexp(1.0, -f.precision / 2);
        break;
      case 4:  // products in the subnormal range
        t = {tiny(), tiny(), random.below(2) != 0 ? round_to(f, min_normal(f) * near_one()) : 0.0};
        break;
      case 5:
        for (double* v : {&t.a, &t.b, &t.c}) *v = edges[random.below(std::size(edges))];
        break;
      default:  // around the largest value
        t = {near_one(), max_finite(f), random.below(2) != 0 ? -max_finite(f) : any()};
        break;
    }
    if (random.below(2) != 0) t.b = -t.b;
    for (double* v : {&t.a, &t.b, &t.c}) *v = round_to(f, *v);
    all.push_back(t);
  }
  return all;
}

// Returns summands of a format. Some are alike, cancel, are subnormal, or overflow when they are
// added.
inline std::vector<double> summands(const Format& f, std::size_t count, std::uint64_t kind,
                                    std::uint64_t stream) {
  Random random(51, stream);
  std::vector<double> x(count);
  for (double& v : x) {
    v = random.normal();
    if (kind == 1) v *= std::ldexp(1.0, static_cast<int>(random.below(30)) - 15);
    if (kind == 2) v *= min_normal(f);
    if (kind == 3) v = std::clamp(v * max_finite(f) / 2, -max_finite(f), max_finite(f));
    if (kind == 4 && random.below(50) == 0) v = random.below(2) != 0 ? kInfinity : kNan;
    if (kind == 5) v = random.below(3) != 0 ? -0.0 : -kInfinity;
    v = round_to(f, v);
  }
  return x;
}

inline constexpr ReduceOrder kOrders[] = {ReduceOrder::kSequential, ReduceOrder::kPairwise,
                                          ReduceOrder::kBlock, ReduceOrder::kFirstN,
                                          ReduceOrder::kHighDim};

}  // namespace assay::vectors
