#include "assay/op/dot.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>
#include <vector>

#include "assay/base/parallel.h"
#include "assay/base/text.h"
#include "assay/format/convert.h"
#include "assay/format/rounding.h"
#include "assay/machine/dot.h"
#include "assay/op/accumulation.h"

namespace assay {
namespace {

std::int64_t count_of(const Case& c, const char* name) {
  const std::int64_t count = c.integer(name).value_or(0);
  if (count < 0) {
    throw std::invalid_argument(format("case {}: {} is {}, below 0", c.name, name, count));
  }
  return count;
}

Rounding rounding_named(const Case& c, const char* attribute) {
  const std::string word = c.text(attribute).value_or("nearest_even");
  std::vector<std::string> names;
  for (const Rounding r : {Rounding::kNearestEven, Rounding::kNearestAway, Rounding::kTowardZero}) {
    if (find_rounding(word) == r) return r;
    names.emplace_back(rounding_name(r));
  }
  throw std::invalid_argument(
      format("case {}: {} is '{}'; it may be {}", c.name, attribute, word, joined(names)));
}

// Of dot: a and b [n, K], c [n].
void check_shapes(const Case& c) {
  const Shape &a = c.input("a").shape(), &b = c.input("b").shape(), &start = c.input("c").shape();
  if (a.size() != 2 || a != b || start != Shape{a[0]}) {
    throw std::invalid_argument(
        format("case {}: a {}, b {} and c {} do not fit; dot takes [n, K], [n, K] and [n]", c.name,
               shape_text(a), shape_text(b), shape_text(start)));
  }
}

bool sums_in_float16(const Case& c, const Format& output) {
  return c.input("c").format().name == "float16" && output.name == "float16";
}

}  // namespace

std::vector<double> MatrixUnit::operand(const TensorView& matrix) const {
  std::vector<double> values = matrix.values();
  if (compute == nullptr) return values;
  if (compute_rounding == Rounding::kNearestEven) {
    round_array(*compute, values.data(), values.size());
  } else {
    for (double& v : values) v = round_to(*compute, v, compute_rounding);
  }
  return values;
}

MatrixUnit matrix_unit(const Call& call) {
  const Case& c = call.test_case;
  const Format &a = c.input("a").format(), &b = c.input("b").format();
  if (&a != &b && a.bits != b.bits) {
    throw std::invalid_argument(
        format("case {}: a is {} and b is {}; {} takes operands of one width", c.name, a.name,
               b.name, c.op));
  }
  for (const Format* f : {&a, &b}) {
    if (!f->is_float() && f->name != "int8") {
      throw std::invalid_argument(
          format("case {}: {} takes float and int8 operands, not {}", c.name, c.op, f->name));
    }
  }
  MatrixUnit unit;
  if (const auto word = c.text("compute_dtype"); word && *word != a.name) {
    unit.compute = find_format(*word);
    if (unit.compute == nullptr || a.name != "float32" || b.name != "float32" ||
        (*word != "tfloat32" && *word != "hfloat32")) {
      throw std::invalid_argument(
          format("case {}: compute_dtype is '{}' for {} operands; float32 operands can be rounded "
                 "to tfloat32 or hfloat32",
                 c.name, *word, a.name));
    }
  }
  unit.compute_rounding = rounding_named(c, "compute_rounding");
  const std::int64_t promotion = count_of(c, "promotion_interval");
  unit.split_k = count_of(c, "split_k");
  if (call.machine.is_exact()) return unit;
  DotModel model = dot_model(call.machine, unit.compute != nullptr ? *unit.compute : a);
  const DotModel& other = dot_model(call.machine, unit.compute != nullptr ? *unit.compute : b);
  if (&a != &b) model.other_input = other.input;
  if (model.accumulator.value == "int32") return unit;
  if (promotion > 0) model.promotion_interval.value = static_cast<int>(promotion);
  unit.model = model;
  return unit;
}

std::optional<DotModel> product_model(const Case& c, const Machine& machine, const Format& output) {
  if (c.op != "matmul") return std::nullopt;
  return matrix_unit({c, machine, output, 1}).model;
}

Tensor run_dot(const Call& call) {
  const Case& c = call.test_case;
  check_shapes(c);
  const Tensor &a = c.input("a"), &b = c.input("b"), &start = c.input("c");
  MatrixUnit unit = matrix_unit(call);
  if (unit.model && sums_in_float16(c, call.output)) {
    unit.model->accumulator.value = "float16";
    unit.model->rounding.value = Rounding::kNearestEven;
    unit.model->mantissa_bits.value = 0;
  }
  const std::int64_t n = a.shape()[0], k = a.shape()[1];
  std::vector<double> sums = start.view().values();
  if (unit.model && unit.split_k > 0 && unit.split_k < k) {
    throw std::invalid_argument(format("case {}: dot does not split K; leave split_k out", c.name));
  }
  // By rows of a few sums: what is read of the operands stays in the first cache.
  constexpr std::int64_t kRows = 8;
  parallel_for((n + kRows - 1) / kRows, call.threads, [&](std::int64_t part) {
    const std::int64_t first = part * kRows, rows = std::min(kRows, n - first);
    const std::vector<double> as = unit.operand(a.view().slice(first, rows)),
                              bs = unit.operand(b.view().slice(first, rows));
    double* const to = sums.data() + first;
    if (!unit.is_exact()) return dot_rows(*unit.model, rows, k, as.data(), bs.data(), to);
    for (std::int64_t i = 0; i < rows; ++i) {
      exact_matmul(1, 1, k, as.data() + i * k, bs.data() + i * k, to + i, 1);
    }
  });
  return Tensor::from_values(call.output, start.shape(), sums);
}

void require_machine(const Case& c) {
  for (const char* name : {"a", "b"}) {
    const Format& f = c.input(name).format();
    if (!f.is_float() || f.bits > 8) continue;
    throw std::invalid_argument(
        format("case {}: no tolerance can be derived: matrix units sum products of {} with as few "
               "as 14 bits; say whose sums they are by the attribute machine, as in machine=hopper",
               c.name, f.name));
  }
}

bool may_be_product(const Case& c) { return c.op == "matmul" || find_operator(c.op) == nullptr; }

DerivedTolerance dot_tolerance(const Case& c) {
  const Format& output = c.output_format();
  if (!output.is_float()) return {0, 0, std::string(kExactSums)};
  const Tensor &a = c.input("a"), &b = c.input("b");
  check_shapes(c);
  const std::vector<double> sums = c.input("c").view().values();
  const std::int64_t n = a.shape()[0], k = a.shape()[1];
  if (const Machine* machine = machine_of(c); machine != nullptr && !sums_in_float16(c, output)) {
    const MatrixUnit unit = matrix_unit({c, *machine, output, 1});
    std::vector<double> bounds;
    for (std::int64_t i = 0; i < n; ++i) {
      const SumBounds sum =
          sum_bounds(c, *unit.model, 1, 1, k, unit.operand(a.view().slice(i, 1)),
                     unit.operand(b.view().slice(i, 1)), {sums[static_cast<std::size_t>(i)]}, 1);
      bounds.push_back(sum.error[0]);
    }
    return accumulation_tolerance(output, *machine, bounds);
  }
  require_machine(c);
  const std::vector<double> rows = a.view().values(), by = b.view().values();
  double largest = 0;
  for (std::int64_t i = 0; i < n; ++i) {
    double sum = std::abs(sums[static_cast<std::size_t>(i)]);
    for (std::int64_t j = i * k; j < (i + 1) * k; ++j) {
      sum += std::abs(rows[static_cast<std::size_t>(j)] * by[static_cast<std::size_t>(j)]);
    }
    if (!std::isfinite(sum)) {
      throw std::invalid_argument(
          format("case {}: no tolerance can be derived: its inputs hold NaN or infinity", c.name));
    }
    largest = std::max(largest, sum);
  }
  const Format& accumulator = format_named(sums_in_float16(c, output) ? "float16" : "float32");
  const double h = static_cast<double>(k + 1) * unit_roundoff(accumulator);
  if (h >= 0.5) no_tolerance(c);
  const double sum_error =
      h / (1 - h) * largest + static_cast<double>(k + 1) * min_subnormal(accumulator) / 2;
  const double rtol = unit_roundoff(output);
  return {
      rtol, (1 + rtol) * sum_error + min_subnormal(output) / 2,
      format("rtol: half a {} ulp; atol: n u / (1 - n u) max (|c| + sum_k |a_k b_k|), n = K + 1, "
             "the error of {} accumulation in any order (K = {}, sum at most {})",
             output.name, accumulator.name, k, short_number(largest, 4))};
}

}  // namespace assay
