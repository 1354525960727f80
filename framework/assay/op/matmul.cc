#include "assay/op/matmul.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <span>
#include <utility>

#include "assay/base/index.h"
#include "assay/base/large_memory.h"
#include "assay/base/parallel.h"
#include "assay/base/text.h"
#include "assay/format/convert.h"
#include "assay/machine/dot.h"
#include "assay/machine/exact_matmul.h"
#include "assay/op/chance_unit.h"
#include "assay/op/dot_operator.h"
#include "assay/op/generate.h"
#include "assay/op/sum_bound.h"

namespace assay::inline v0_2 {
namespace {

using Values = std::span<const double>;

// Returns the product in the format `output`. It computes one matrix of the batch after the other:
// multiply(shape, a, b, values) adds the product of a matrix a and a matrix b to `values`, which
// hold the bias or 0.
template <typename Multiply>
Tensor multiplied(const Case& c, const MatrixUnit& unit, const Format& output, Rounding rounding,
                  int threads, const Multiply& multiply) {
  const MatmulShape s = matmul_shape(c);
  const std::vector<double> bias = matmul_bias(c);
  Tensor result(output, s.output);
  const auto count = static_cast<std::size_t>(s.m * s.n);
  const auto bytes = count * static_cast<std::size_t>(output.storage_bytes);
  LargeArray<double> a(at(s.m * s.k)), b(at(s.k * s.n)), values(count);
  for (std::int64_t batch = 0; batch < s.batch; ++batch) {
    unit.read_operand(matmul_matrix(c, "a", batch), a, threads);
    unit.read_operand(matmul_matrix(c, "b", batch), b, threads);
    parallel_ranges(std::ssize(values), threads, [&](std::int64_t begin, std::int64_t elements) {
      if (bias.empty()) {
        std::fill_n(values.begin() + begin, elements, 0.0);
        return;
      }
      auto column = at(begin % std::ssize(bias));
      for (std::size_t i = at(begin); i < at(begin + elements); ++i) {
        values[i] = bias[column];
        if (++column == bias.size()) column = 0;
      }
    });
    multiply(s, Values(a), Values(b), std::span(values));
    std::byte* const to = result.bytes() + static_cast<std::size_t>(batch) * bytes;
    parallel_ranges(std::ssize(values), threads, [&](std::int64_t begin, std::int64_t elements) {
      const std::span range(values.data() + begin, static_cast<std::size_t>(elements));
      if (rounding != Rounding::kNearestEven) {
        for (double& v : range) v = round_to(output, v, rounding);
      }
      encode_array(output, range.data(), range.size(), to + begin * output.storage_bytes);
    });
  }
  return result;
}

Tensor multiplied_exactly(const Case& c, const MatrixUnit& unit, const Format& output,
                          int threads) {
  return multiplied(c, unit, output, Rounding::kNearestEven, threads,
                    [&](const MatmulShape& s, Values a, Values b, std::span<double> values) {
                      exact_matmul(s.m, s.n, s.k, a.data(), b.data(), values.data(), threads);
                      unit.hold(values);
                    });
}

Tensor run_matmul(const Call& call) {
  const Case& c = call.test_case;
  const MatrixUnit unit = matrix_unit(call);
  if (unit.sums_exactly()) return multiplied_exactly(c, unit, call.output, call.threads);
  const bool has_bias = c.inputs.count("bias") != 0,
             first = call.machine.bias_first.value && !unit.round_before_bias;
  return multiplied(
      c, unit, call.output, unit.output_rounding, call.threads,
      [&](const MatmulShape& s, Values a, Values b, std::span<double> values) {
        LargeArray<float> sums(values.size());
        parallel_ranges(std::ssize(values), call.threads,
                        [&](std::int64_t begin, std::int64_t count) {
                          for (std::size_t i = at(begin); i < at(begin + count); ++i) {
                            sums[i] = first ? static_cast<float>(values[i]) : 0.0f;
                          }
                        });
        const MatrixUnit::Summed p = unit.summed(s.m, s.n, s.k, a, b);
        dot_matmul(p.model, s.m, s.n, p.k, p.a.data(), p.b.data(), sums.data(), call.threads,
                   p.parts);
        parallel_ranges(
            std::ssize(values), call.threads, [&](std::int64_t begin, std::int64_t count) {
              for (std::size_t i = at(begin); i < at(begin + count); ++i) {
                if (unit.round_before_bias && has_bias) {
                  sums[i] = static_cast<float>(round_to(
                      output_format(c), static_cast<double>(sums[i]), unit.output_rounding));
                }
                values[i] = static_cast<double>(
                    first || !has_bias ? sums[i] : sums[i] + static_cast<float>(values[i]));
              }
            });
      });
}

Tensor matmul_reference(const ReferenceCall& call) {
  return multiplied_exactly(call.test_case, exact_unit(call.test_case), call.output, call.threads);
}

// Returns the largest error of the last rounding, in units of half an ulp.
double last_roundings(const MatrixUnit& unit) {
  const bool is_nearest = unit.output_rounding == Rounding::kNearestEven ||
                          unit.output_rounding == Rounding::kNearestAway;
  return is_nearest ? 1 : 2;
}

// Returns bounds of what the sums of operands in two terms leave out: sum_k of |a b - the products
// of terms that are computed|.
std::vector<double> left_out(const MatrixUnit& unit, const MatmulShape& s,
                             const std::vector<double>& a, const std::vector<double>& b,
                             int threads) {
  struct Sizes {
    // Sizes of an operand's values x: |x|, |its second term|, and |the part of x that neither term
    // has|.
    std::vector<double> all, rest, lost;
  };
  const auto sizes = [&](const std::vector<double>& values) {
    Sizes of;
    for (const double v : values) {
      const double first = unit.first_term(v), rest = unit.rest(v);
      of.all.push_back(std::abs(v));
      of.rest.push_back(std::abs(rest));
      of.lost.push_back(std::abs(v - first - rest));
    }
    return of;
  };
  const Sizes x = sizes(a), y = sizes(b);
  std::vector<double> sums(static_cast<std::size_t>(s.m * s.n), 0.0);
  exact_matmul(s.m, s.n, s.k, x.rest.data(), y.rest.data(), sums.data(), threads);
  exact_matmul(s.m, s.n, s.k, x.lost.data(), y.all.data(), sums.data(), threads);
  exact_matmul(s.m, s.n, s.k, x.all.data(), y.lost.data(), sums.data(), threads);
  // A first term may be larger than its operand, by an amount that the second term subtracts again.
  // The factor covers this.
  for (double& v : sums) v *= 1 + 0x1p-6;
  return sums;
}

// Returns the bounds of m x n sums, with K split as the case describes. Each part is summed from 0,
// and the parts are added to the bias in float32 or in the formats of the split. If no machine is
// named and the formats are float32, the split is ignored, because the bound of sums in any order
// covers it.
SumBounds bounds_of_sums(const Case& c, const Machine& machine, const MatrixUnit& unit,
                         const MatmulShape& s, const std::vector<double>& a,
                         const std::vector<double>& b, const std::vector<double>& bias,
                         Unbounded& unbounded, int threads) {
  const MatrixUnit::Summed p = unit.summed(s.m, s.n, s.k, a, b);
  const bool is_plain = p.parts.part == nullptr && p.parts.sum == nullptr;
  SumBounds all;
  if (!p.parts.is_split() || (is_any_machine(machine) && is_plain)) {
    all = sum_bounds(c, machine, p.model, s.m, s.n, p.k, p.a, p.b, bias, unbounded, threads);
  } else {
    all.size.assign(static_cast<std::size_t>(s.m * s.n), 0.0);
    all.error = all.size;
    const Format& float32 = format_named("float32");
    const Format &stored = p.parts.part != nullptr ? *p.parts.part : float32,
                 &summed = p.parts.sum != nullptr ? *p.parts.sum : float32;
    const double parts = static_cast<double>(p.parts.count());
    for (std::size_t number = 0; number < p.parts.count(); ++number) {
      const std::int64_t first = p.parts.begin(number), last = p.parts.ends[number];
      const std::vector<double> rows(p.b.begin() + first * s.n, p.b.begin() + last * s.n);
      const SumBounds part =
          sum_bounds(c, machine, p.model, s.m, s.n, last - first,
                     columns_of(p.a, s.m, p.k, first, last), rows, {}, unbounded, threads);
      for (std::size_t i = 0; i < all.size.size(); ++i) {
        all.size[i] += part.size[i];
        all.error[i] += part.error[i];
      }
    }
    const double u = unit_roundoff(stored);
    // The bias is rounded to float32 before it is added.
    const double n = (parts + (bias.empty() ? 0 : 2)) * unit_roundoff(summed);
    if (n >= 0.5)
      refuse_case(c.name,
                  "the bound of accumulation is not known, because K is split into too many parts");
    const double roundings = n / (1 - n);
    for (std::size_t i = 0; i < all.size.size(); ++i) {
      if (&stored != &float32) {
        all.error[i] += u * (all.size[i] + all.error[i]) + parts * min_subnormal(stored) / 2;
      }
      if (!bias.empty()) all.size[i] += std::abs(bias[i % bias.size()]);
      all.error[i] +=
          roundings * (all.size[i] + all.error[i]) + (parts + 1) * min_subnormal(summed) / 2;
      for (const Format* f : {&stored, &summed}) {
        if (!(all.size[i] + all.error[i] > max_finite(*f))) continue;
        (void)unbounded.holds([&] {
          refuse_case(c.name, "no bound of accumulation: sums of at most {} may overflow {}",
                      short_number(all.size[i], 4), f->name);
        });
        all.error[i] = std::numeric_limits<double>::infinity();
      }
    }
  }
  if (unit.in_two_terms) {
    const std::vector<double> left = left_out(unit, s, a, b, threads);
    for (std::size_t i = 0; i < left.size(); ++i) all.error[i] += left[i];
  }
  if (unit.round_before_bias && !bias.empty()) {
    const Format& output = output_format(c);
    const double u = last_roundings(unit) * unit_roundoff(output);
    for (std::size_t i = 0; i < all.size.size(); ++i) {
      all.error[i] += u * (all.size[i] + all.error[i]) + min_subnormal(output);
    }
  }
  return all;
}

Tensor matmul_bounds(const Case& c, const Machine& machine, int threads) {
  require_matrix_unit(c, machine);
  const Format& output = output_format(c);
  const MatrixUnit unit = matrix_unit({c, machine, output, threads});
  const MatmulShape s = matmul_shape(c);
  const std::vector<double> bias = matmul_bias(c);
  const auto part = static_cast<std::size_t>(s.m * s.n);
  std::vector<double> bounds;
  Unbounded unbounded;
  for (std::int64_t batch = 0; batch < s.batch; ++batch) {
    const TensorView a = matmul_matrix(c, "a", batch), b = matmul_matrix(c, "b", batch);
    if (unit.sums_exactly()) {
      bounds.insert(bounds.end(), part, 0.0);
      continue;
    }
    const SumBounds sums = bounds_of_sums(c, machine, unit, s, unit.operand(a), unit.operand(b),
                                          bias, unbounded, threads);
    for (const double error : sums.error) {
      // The last rounding is relative to the total with its error, so the bound grows by its share.
      bounds.push_back(error * (1 + unit_roundoff(output)));
    }
  }
  if (last_roundings(unit) > 1 && output.is_float()) {
    // The judge adds half an ulp. The other half that a directed rounding may lose is added here.
    const std::vector<double> exact =
        multiplied_exactly(c, exact_unit(c), format_named("float64"), threads).view().values();
    for (std::size_t i = 0; i < bounds.size(); ++i) {
      bounds[i] += unit_roundoff(output) * (std::abs(exact[i]) + bounds[i]) + min_subnormal(output);
    }
  }
  return held_bounds(output, s.output, std::move(bounds), unbounded);
}

ExpectedErrors matmul_errors(const Case& c, const Machine& machine, int threads) {
  require_matrix_unit(c, machine);
  const Format& output = output_format(c);
  const MatrixUnit unit = matrix_unit({c, machine, output, threads});
  const MatmulShape s = matmul_shape(c);
  const std::vector<double> bias = finite_or_zero(matmul_bias(c));
  ExpectedErrors all{.last = &output};
  if (unit.sums_exactly()) {
    all.resize(static_cast<std::size_t>(element_count(s.output)));
    return all;
  }
  require_known_errors(c);
  // Parts of K are added in float32, as partial sums are that are promoted. So product_model()
  // treats a split as promotion. Sums in any order include every split.
  const bool any = is_any_machine(machine);
  const DotModel model = any ? *unit.model : *product_model(c, machine, output);
  for (std::int64_t batch = 0; batch < s.batch; ++batch) {
    all.append(expected_sums(c, machine, model, output, s.m, s.n, s.k,
                             finite_or_zero(unit.operand(matmul_matrix(c, "a", batch))),
                             finite_or_zero(unit.operand(matmul_matrix(c, "b", batch))), bias,
                             threads));
  }
  return all;
}

DerivedTolerance matmul_tolerance(const Case& c) {
  const Format& output = output_format(c);
  if (!output.is_float()) return {0, 0, std::string(kExactSums)};
  if (const Machine* machine = machine_of(c)) {
    return accumulation_tolerance(c, *machine, accumulation_bounds(c, *machine).view().values());
  }
  const MatrixUnit unit = exact_unit(c);
  if (unit.in_two_terms || unit.split.part != nullptr || unit.split.sum != nullptr) {
    return accumulation_tolerance(c, any_machine(),
                                  accumulation_bounds(c, any_machine()).view().values());
  }
  const double rtol = last_roundings(unit) * unit_roundoff(output),
               tiny = min_subnormal(output) * last_roundings(unit) / 2;
  require_machine(c);
  const MatmulShape s = matmul_shape(c);
  const std::vector<double> bias = matmul_bias(c);
  double largest = 0;
  for (std::int64_t batch = 0; batch < s.batch; ++batch) {
    std::vector<double> a = matmul_matrix(c, "a", batch).values(),
                        b = matmul_matrix(c, "b", batch).values();
    for (double& v : a) v = std::abs(v);
    for (double& v : b) v = std::abs(v);
    std::vector<double> sums(static_cast<std::size_t>(s.m * s.n));
    for (std::size_t i = 0; i < sums.size() && !bias.empty(); ++i) {
      sums[i] = std::abs(bias[i % bias.size()]);
    }
    exact_matmul(s.m, s.n, s.k, a.data(), b.data(), sums.data());
    for (const double v : sums) largest = std::max(largest, reached_size(c, "a", v));
  }
  // A sum has relative rounding errors, and absolute ones below float32's normal numbers.
  const auto k = static_cast<double>(s.k);
  const double before_bias = unit.round_before_bias && !bias.empty() ? rtol * largest + tiny : 0;
  return {rtol, (1 + rtol) * (k * 0x1p-24 * largest + (k + 1) * 0x1p-150 + before_bias) + tiny,
          formatted("rtol: half a {} ulp; atol: K 2^-24 max sum_k |a_ik b_kj|, the error of "
                    "float32 accumulation in any order (K = {}, sum at most {})",
                    output.name, s.k, short_number(largest, 4))};
}

// Sizes are batch dimensions, then M, K, N. A bias has the output's dtype.
void generate_matmul(const Recipe& recipe, Case& c) {
  const std::vector<std::int64_t>& sizes = recipe.sizes;
  check_sizes(recipe, c, 3, kAnyRank, "sizes M,K,N of at least 1, batch dimensions before them");
  const Shape batch(sizes.begin(), sizes.end() - 3);
  const auto operand = [&](const std::string& name, std::int64_t rows, std::int64_t columns) {
    if (flag_of(c, "transpose_" + name)) std::swap(rows, columns);
    Shape shape = batch;
    shape.push_back(rows);
    shape.push_back(columns);
    c.inputs[name] = recipe.draw_input(name, *recipe.dtype, shape);
  };
  const std::int64_t n = sizes.back(), k = sizes[sizes.size() - 2], m = sizes[sizes.size() - 3];
  operand("a", m, k);
  operand("b", k, n);
  if (recipe.names("bias")) c.inputs["bias"] = recipe.draw_input("bias", output_format(c), {n});
}

}  // namespace

std::vector<Operator> matmul_operators() {
  return {{.name = "matmul",
           .summary = "a b, plus bias; batch dimensions are those of both operands, or of one",
           .inputs = {{.name = "a", .shape = "(..., M, K)"},
                      {.name = "b", .shape = "(..., K, N)"},
                      {.name = "bias",
                       .shape = "(N)",
                       .optional = true,
                       .words = "added to every row, in the output's dtype"}},
           .parameters = matmul_parameters(),
           .output = "c",
           .sizes = "..., M, K, N",
           .run = run_matmul,
           .reference = matmul_reference,
           .output_format = product_format,
           .element_bounds = matmul_bounds,
           .expected_errors = matmul_errors,
           .tolerance = matmul_tolerance,
           .generate = generate_matmul,
           .product = true}};
}

}  // namespace assay
