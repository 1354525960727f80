// The scalar oracle sums in integers, and rounds only in the places where the model rounds.
#include "assay/machine/dot_oracle.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "assay/base/int128.h"
#include "assay/machine/exact_sum.h"

namespace assay::inline v0_2 {
namespace {

// The products that a chunk adds up. One object serves all chunks of a sum, because allocations
// would take most of the time.
struct Terms {
  std::vector<double> a, b;      // factors
  std::vector<double> products;  // of add_chunk(), which rounds them as the unit does
};

struct Unit {
  explicit Unit(const DotModel& m)
      : model(m),
        a_input(format_named(m.input)),
        b_input(format_named(m.b_input())),
        accumulator(accumulator_format(m)) {}

  double rounded(double odd) const {
    const double sum = round_to(accumulator, odd, model.rounding.value);
    return model.flush_sums.value ? flushed(accumulator, sum) : sum;
  }
  static double flushed(const Format& format, double value) {
    return std::abs(value) < min_normal(format) ? std::copysign(0.0, value) : value;
  }
  double operand(const Format& input, double value) const {
    return model.flush_inputs.value ? flushed(input, value) : value;
  }

  const DotModel& model;
  const Format& a_input;
  const Format& b_input;
  Format accumulator;
};

// Returns a b + c, rounded once to the accumulator's format.
double fused_add(const Unit& unit, double a, double b, double c) {
  const double product = a * b;
  if (!std::isfinite(product) || !std::isfinite(c)) return product + c;
  if (product == 0 && c == 0) return std::signbit(product) && std::signbit(c) ? -0.0 : 0.0;
  ExactSum sum;
  sum.add_product(a, b);
  sum.add(c);
  const double odd = sum.to_odd();
  return odd == 0 ? 0.0 : unit.rounded(odd);
}

double aligned(const DotModel& model, double term, int emax) {
  // Returns a multiple of 2^(emax - F) as an integer. The scaling is exact, so there is only one
  // rounding.
  const double scaled = std::ldexp(term, model.kept_bits.value - emax);
  return model.alignment.value == Rounding::kTowardZero
             ? std::trunc(scaled)
             : round_to(format_named("int64"), scaled, model.alignment.value);
}

// Returns floor(value 2^-right).
Int128 floored(Int128 value, int right) {
  if (right <= 0) return value << -right;
  return right < 127 ? value >> right : (value < 0 ? -1 : 0);
}

// Returns `sum` times 2^unit, rounded to odd in float64.
double odd_of(Int128 sum, int unit) {
  // The sum is cut into two parts, because one float64 cannot hold its 128 bits.
  ExactSum exact;
  const auto high = static_cast<double>(static_cast<std::int64_t>(sum >> 32));
  exact.add_product(std::ldexp(high, 32), std::ldexp(1.0, unit));
  exact.add_product(static_cast<double>(static_cast<std::int64_t>(sum & 0xffffffff)),
                    std::ldexp(1.0, unit));
  return exact.to_odd();
}

int exponent_in(double value, const Format& format) {
  return std::max(std::ilogb(value), format.min_exponent());
}

// Returns the exponent of a product as the sum of the exponents of its factors, which are not 0.
int exponent_of_product(const Unit& unit, double a, double b) {
  return exponent_in(a, unit.a_input) + exponent_in(b, unit.b_input);
}

double aligned_sum(const Unit& unit, const Terms& terms, double c) {
  const DotModel& model = unit.model;
  int emax = model.emax_floor.value;
  if (c != 0) emax = std::max(emax, exponent_in(c, unit.accumulator));
  for (std::size_t k = 0; k < terms.a.size(); ++k) {
    if (terms.a[k] == 0 || terms.b[k] == 0) continue;
    emax = std::max(emax, exponent_of_product(unit, terms.a[k], terms.b[k]));
  }
  if (emax == DotModel::kNoFloor) return 0.0;  // every term is zero, and so is the sum
  auto sum = static_cast<Int128>(aligned(model, c, emax));
  for (std::size_t k = 0; k < terms.a.size(); ++k) {
    sum += static_cast<Int128>(aligned(model, terms.a[k] * terms.b[k], emax));
  }
  // odd_of() holds this sum exactly, because a unit keeps at most about 40 bits of a term and adds
  // few terms.
  return odd_of(sum, emax - model.kept_bits.value);
}

// Returns c with a chunk of products added to it, if the accumulator c is only added to the
// finished sum of the products (DotModel::sum_bits).
double joined_sum(const Unit& unit, const Terms& terms, double c) {
  const DotModel& model = unit.model;
  const int kept = model.kept_bits.value, lanes = model.interleave.value;
  std::vector<int> emax(static_cast<std::size_t>(lanes), model.emax_floor.value);
  const auto lane_of = [&](std::size_t k) { return k % static_cast<std::size_t>(lanes); };
  for (std::size_t k = 0; k < terms.a.size(); ++k) {
    if (terms.a[k] == 0 || terms.b[k] == 0) continue;
    int& of_lane = emax[lane_of(k)];
    of_lane = std::max(of_lane, exponent_of_product(unit, terms.a[k], terms.b[k]));
  }
  const int largest = *std::ranges::max_element(emax);
  const int joined = c == 0 ? largest : std::max(largest, exponent_in(c, unit.accumulator));
  if (joined == DotModel::kNoFloor) return 0.0;  // every term is zero, and so is the sum
  // The sum of the products, in units of 2^(largest - kept).
  Int128 products = 0;
  for (std::size_t lane = 0; lane < emax.size(); ++lane) {
    if (emax[lane] == DotModel::kNoFloor) continue;
    Int128 sum = 0;
    for (std::size_t k = lane; k < terms.a.size(); k += emax.size()) {
      sum += static_cast<Int128>(aligned(model, terms.a[k] * terms.b[k], emax[lane]));
    }
    products += floored(sum, largest - emax[lane]);
  }
  // Adds two integers in units of 2^(joined - deeper): the sum of the products, and the accumulator
  // if it is within reach. `joined` is the larger of their exponents.
  const int bits = model.sum_bits.value, deeper = std::max(bits, kept);
  Int128 sum = 0;
  if (largest != DotModel::kNoFloor) {
    sum = floored(products, joined - bits - (largest - kept)) << (deeper - bits);
  }
  const bool reached = model.reach.value == 0 || c == 0 ||
                       exponent_in(c, unit.accumulator) >= joined - model.reach.value;
  if (reached) {
    const double down = std::floor(std::ldexp(c, kept - joined));
    sum += static_cast<Int128>(down) << (deeper - kept);
  }
  return odd_of(sum, joined - deeper);
}

// Returns c with one chunk added to it.
double add_chunk(const Unit& unit, Terms& terms, double c) {
  const DotModel& model = unit.model;
  // NaN and infinity are handled first. Float64 arithmetic gives the right result for them, because
  // no product of finite values overflows in float64.
  double specials = c;
  bool all_negative_zero = c == 0 && std::signbit(c);
  std::vector<double>& products = terms.products;
  products.resize(terms.a.size());
  for (std::size_t k = 0; k < products.size(); ++k) {
    double product = terms.a[k] * terms.b[k];
    if (model.rounds_products() && std::isfinite(product)) {
      product = fused_add(unit, terms.a[k], terms.b[k], -0.0);
    }
    // As published, a unit with sum_bits makes a product infinite if it is 2^128 or larger, which
    // is beyond float32's range.
    if (model.sum_bits.value > 0 && std::abs(product) >= 0x1p128) {
      product = std::copysign(std::numeric_limits<double>::infinity(), product);
    }
    products[k] = product;
    specials += std::isfinite(product) ? 0.0 : product;
    all_negative_zero = all_negative_zero && product == 0 && std::signbit(product);
  }
  if (!std::isfinite(specials)) return specials;
  if (model.kept_bits.value > 0) {
    // As measured, a sum beyond the accumulator's range becomes infinite, also if the unit
    // truncates it, and a sum that is truncated to zero loses its sign.
    const double sum =
        model.sum_bits.value > 0 ? joined_sum(unit, terms, c) : aligned_sum(unit, terms, c);
    if (std::abs(sum) >= 2 * std::ldexp(1.0, std::ilogb(max_finite(unit.accumulator)))) {
      return std::copysign(std::numeric_limits<double>::infinity(), sum);
    }
    return unit.rounded(sum) + 0.0;
  }
  const bool rounded_products = model.rounds_products();
  if (model.order.value == ChunkOrder::kFused) {
    if (all_negative_zero) return -0.0;
    ExactSum sum;
    sum.add(c);
    for (std::size_t k = 0; k < products.size(); ++k) {
      if (rounded_products) {
        sum.add(products[k]);
      } else {
        sum.add_product(terms.a[k], terms.b[k]);
      }
    }
    return unit.rounded(sum.to_odd());
  }
  const auto add = [&](double x, double y) {
    if (!std::isfinite(x) || !std::isfinite(y)) return x + y;
    if (x == 0 && y == 0) return std::signbit(x) && std::signbit(y) ? -0.0 : 0.0;
    ExactSum sum;
    sum.add(x);
    sum.add(y);
    return unit.rounded(sum.to_odd());
  };
  if (model.order.value == ChunkOrder::kSequential) {
    // A product that has no rounding of its own is rounded together with the sum to which it is
    // added.
    double sum = 0;
    for (std::size_t k = 0; k < products.size(); ++k) {
      sum = rounded_products ? (k == 0 ? products[k] : add(sum, products[k]))
                             : fused_add(unit, terms.a[k], terms.b[k], k == 0 ? -0.0 : sum);
    }
    return add(c, sum);
  }
  // Each sum replaces the first of the two products that it adds, or one before them.
  while (products.size() > 1) {
    for (std::size_t k = 0; k < products.size(); k += 2) {
      products[k / 2] = k + 1 < products.size() ? add(products[k], products[k + 1]) : products[k];
    }
    products.resize((products.size() + 1) / 2);
  }
  return add(c, products[0]);
}

}  // namespace

double dot_part_oracle(const DotModel& model, std::int64_t n, const double* a,
                       std::int64_t a_stride, const double* b, std::int64_t b_stride, double c) {
  const Unit unit(model);
  Terms terms;
  for (std::int64_t begin = 0; begin < n; begin += model.chunk.value) {
    const std::int64_t end = std::min<std::int64_t>(begin + model.chunk.value, n);
    const auto count = static_cast<std::size_t>(end - begin);
    terms.a.resize(count);
    terms.b.resize(count);
    for (std::size_t i = 0; i < count; ++i) {
      const std::int64_t k = begin + static_cast<std::int64_t>(i);
      terms.a[i] = unit.operand(unit.a_input, a[k * a_stride]);
      terms.b[i] = unit.operand(unit.b_input, b[k * b_stride]);
    }
    c = add_chunk(unit, terms, c);
  }
  return c;
}

double dot_oracle(const DotModel& model, std::int64_t n, const double* a, std::int64_t a_stride,
                  const double* b, std::int64_t b_stride, double c) {
  const std::int64_t interval = model.promotion_interval.value;
  if (interval == 0) return dot_part_oracle(model, n, a, a_stride, b, b_stride, c);
  auto total = static_cast<float>(c);
  for (std::int64_t begin = 0; begin < n; begin += interval) {
    total += static_cast<float>(dot_part_oracle(model, std::min(interval, n - begin),
                                                a + begin * a_stride, a_stride,
                                                b + begin * b_stride, b_stride, 0.0));
  }
  return static_cast<double>(total);
}

}  // namespace assay
