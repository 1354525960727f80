#include "assay/op/dot_operator.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "assay/base/index.h"
#include "assay/base/parallel.h"
#include "assay/base/text.h"
#include "assay/base/words.h"
#include "assay/cases/product.h"
#include "assay/format/convert.h"
#include "assay/format/rounding.h"
#include "assay/machine/dot.h"
#include "assay/machine/exact_matmul.h"
#include "assay/op/chance_unit.h"
#include "assay/op/generate.h"
#include "assay/op/sum_bound.h"
#include "assay/op/unit.h"

namespace assay::inline v0_2 {
namespace {

constexpr Rounding kComputeRoundings[] = {Rounding::kNearestEven, Rounding::kNearestAway,
                                          Rounding::kTowardZero};

// Checks the shapes of dot: a and b [n, K], c [n].
void check_shapes(const Case& c) {
  const Shape &a = c.input("a").shape(), &b = c.input("b").shape(), &start = c.input("c").shape();
  if (a.size() != 2 || a != b || start != Shape{a[0]}) {
    refuse_case(c.name, "a {}, b {} and c {} do not fit; dot takes [n, K], [n, K] and [n]",
                shape_text(a), shape_text(b), shape_text(start));
  }
}

bool sums_in_float16(const Case& c, const Format& output) {
  return c.input("c").format().name == "float16" && output.name == "float16";
}

}  // namespace

std::vector<double> MatrixUnit::operand(const TensorView& matrix) const {
  std::vector<double> values(at(matrix.size()));
  read_operand(matrix, values, 1);
  return values;
}

void MatrixUnit::read_operand(const TensorView& matrix, std::span<double> to, int threads) const {
  parallel_ranges(std::ssize(to), threads, [&](std::int64_t begin, std::int64_t count) {
    const std::span range = to.subspan(at(begin), at(count));
    matrix.read(begin, count, range.data());
    if (compute == nullptr || in_two_terms) return;
    if (compute_rounding == Rounding::kNearestEven) {
      round_array(*compute, range.data(), range.size());
    } else {
      for (double& v : range) v = round_to(*compute, v, compute_rounding);
    }
  });
}

double MatrixUnit::first_term(double value) const {
  return round_to(*compute, value, compute_rounding);
}

double MatrixUnit::rest(double value) const {
  const double left = value - first_term(value);
  return std::isfinite(left) ? first_term(left) : 0.0;
}

MatrixUnit::Summed MatrixUnit::summed(std::int64_t m, std::int64_t n, std::int64_t k,
                                      std::span<const double> a, std::span<const double> b) const {
  Summed s{*model, k, a, b, {}, {}, {}};
  KOrder order = k_order(split, in_two_terms, k, model->promotion_interval.value);
  s.parts = std::move(order.parts);
  if (order.terms.empty()) return s;
  s.model.promotion_interval.value = static_cast<int>(order.promotion);
  s.k = static_cast<std::int64_t>(order.terms.size());
  s.own_a.resize(at(m * s.k));
  s.own_b.resize(at(s.k * n));
  for (std::int64_t kk = 0; kk < s.k; ++kk) {
    const auto [from, pass] = order.terms[at(kk)];
    const auto term = [&, &which = pass](double value, KOrder::Pass of_rest) {
      if (!in_two_terms) return value;
      return which == of_rest ? rest(value) : first_term(value);
    };
    for (std::int64_t i = 0; i < m; ++i) {
      s.own_a[at(i * s.k + kk)] = term(a[at(i * k + from)], KOrder::Pass::kRestOfA);
    }
    for (std::int64_t j = 0; j < n; ++j) {
      s.own_b[at(kk * n + j)] = term(b[at(from * n + j)], KOrder::Pass::kRestOfB);
    }
  }
  s.a = s.own_a;
  s.b = s.own_b;
  return s;
}

void MatrixUnit::hold(std::span<double> sums) const {
  if (!overflow) return;
  constexpr double kRange = 0x1p32, kLeast = -0x1p31, kMost = 0x1p31 - 1;
  for (double& v : sums) {
    if (v >= kLeast && v <= kMost) continue;
    if (*overflow == IntegerOverflow::kSaturate) {
      v = std::clamp(v, kLeast, kMost);
    } else if (std::isfinite(v)) {
      v -= kRange * std::floor((v - kLeast) / kRange);
    }
  }
}

MatrixUnit exact_unit(const Case& c) {
  const Format &a = c.input("a").format(), &b = c.input("b").format();
  if (&a != &b && a.bits != b.bits) {
    refuse_case(c.name, "a is {} and b is {}; {} takes operands of one width", a.name, b.name,
                c.op);
  }
  for (const Format* f : {&a, &b}) {
    if (!f->is_float() && f->name != "int8") {
      refuse_case(c.name, "{} takes float and int8 operands, not {}", c.op, f->name);
    }
  }
  MatrixUnit unit;
  const auto word = c.text("compute_dtype");
  if (const Format* asked = word ? find_format(*word) : nullptr; word && asked != &a) {
    unit.compute = asked;
    if (asked == nullptr || a.name != "float32" || b.name != "float32" ||
        (asked->name != "tfloat32" && asked->name != "hfloat32" && asked->name != "bfloat16")) {
      refuse_case(c.name,
                  "compute_dtype is '{}' for {} operands; float32 operands can be rounded to "
                  "tfloat32, hfloat32 or bfloat16",
                  *word, a.name);
    }
  }
  unit.compute_rounding = *find_rounding(word_of(c, "compute_rounding"));
  unit.split = split_of(c);
  const Operator* op = find_operator(c.op);
  if (op == nullptr || find_parameter(*op, "compute_terms") == nullptr) return unit;
  unit.in_two_terms = integer_of(c, "compute_terms") == 2;
  if (unit.in_two_terms && unit.compute == nullptr) {
    refuse_case(c.name,
                "compute_terms is given without compute_dtype; give the dtype of the terms into "
                "which float32 operands are taken apart, or leave compute_terms out");
  }
  unit.output_rounding = *find_rounding(word_of(c, "output_rounding"));
  unit.round_before_bias = flag_of(c, "round_before_bias");
  return unit;
}

MatrixUnit matrix_unit(const Call& call) {
  const Case& c = call.test_case;
  const Format &a = c.input("a").format(), &b = c.input("b").format();
  MatrixUnit unit = exact_unit(c);
  if (!call.machine.has_matrix_unit()) return unit;
  DotModel model = dot_model(call.machine, unit.compute != nullptr ? *unit.compute : a);
  const DotModel& other = dot_model(call.machine, unit.compute != nullptr ? *unit.compute : b);
  if (&a != &b) model.other_input = other.input;
  if (model.accumulator.value == "int32") {
    unit.overflow = model.overflow.value;
    return unit;
  }
  const std::int64_t promotion = integer_of(c, "promotion_interval");
  if (promotion > 0) model.promotion_interval.value = static_cast<int>(promotion);
  unit.model = model;
  return unit;
}

std::vector<Parameter> product_parameters(std::vector<Parameter> own) {
  const std::vector<std::string> roundings = names_of(kComputeRoundings, rounding_name);
  const std::vector<Parameter> more = {
      dtype_parameter("output_dtype",
                      "dtype of the result. If it is not given, it is int32 for int8, float32 for "
                      "8-bit floats, and that of the operands for others"),
      dtype_parameter("compute_dtype",
                      "dtype to which float32 operands are rounded first: tfloat32, hfloat32 or "
                      "bfloat16. If it is not given, they are not rounded"),
      word_parameter("compute_rounding", roundings, "how operands are rounded to compute_dtype"),
      {.name = "promotion_interval",
       .kind = ParameterKind::kInteger,
       .default_value = "0",
       .least = 0,
       .most = std::numeric_limits<int>::max(),
       .words = "number of terms after which a partial sum is added to a float32. 0 means the "
                "machine's own"},
      count_parameter("split_k",
                      "number of terms in a part of K, whose sums are added in order. 0 means that "
                      "K is one part")};
  own.insert(own.end(), more.begin(), more.end());
  return own;
}

std::vector<Parameter> matmul_parameters() {
  std::vector<Parameter> all =
      product_parameters({transpose_parameter("a"), transpose_parameter("b")});
  for (Parameter& p : split_parameters()) all.push_back(std::move(p));
  const std::vector<std::string> roundings = names_of(deterministic_rounding_rows());
  all.push_back({.name = "compute_terms",
                 .kind = ParameterKind::kInteger,
                 .default_value = "1",
                 .least = 1,
                 .most = 2,
                 .words = "2: what compute_dtype leaves of an operand is multiplied too, but for "
                          "the product of both rests"});
  all.push_back(
      flag_parameter("round_before_bias",
                     "whether the sum is rounded to the output's dtype before the bias is added"));
  all.push_back(word_parameter("output_rounding", roundings,
                               "how the result is rounded to the output's dtype"));
  return all;
}

Parameter transpose_parameter(const std::string& operand) {
  return flag_parameter("transpose_" + operand, "whether " + operand + " is stored transposed",
                        kTriedFlag);
}

const Format& product_format(const Case& c) {
  const Format& first = first_input_format(c);
  const bool of_golden = c.inputs.empty() && c.unread_inputs.empty();
  return first.name == "int8" && !of_golden ? format_named("int32") : computed_format(c);
}

std::optional<DotModel> product_model(const Case& c, const Machine& machine, const Format& output) {
  const Operator* op = find_operator(c.op);
  if (op == nullptr || !op->product) return std::nullopt;
  const MatrixUnit unit = matrix_unit({c, machine, output, 1});
  std::optional<DotModel> model = unit.model;
  if (model && unit.split.terms > 0) {
    // Parts of K are added in float32, as partial sums are that are promoted. So the model's
    // interval of promotion becomes the longest part, unless it is shorter already.
    const std::int64_t k = matmul_shape(c).k;
    const KParts parts = k_order(unit.split, false, k, 0).parts;
    std::int64_t part = 1;
    for (std::size_t i = 0; i < parts.count(); ++i) {
      part = std::max(part, parts.ends[i] - parts.begin(i));
    }
    int& interval = model->promotion_interval.value;
    if (parts.is_split()) {
      interval = static_cast<int>(interval > 0 ? std::min<std::int64_t>(interval, part) : part);
    }
  }
  return model;
}

namespace {

std::string what_is_not_modelled(const MatrixUnit& unit) {
  if (unit.in_two_terms) return "operands in two terms (compute_terms)";
  if (unit.split.part != nullptr)
    return formatted("sums of parts of K rounded to {}", unit.split.part->name);
  if (unit.split.sum != nullptr)
    return formatted("sums of parts of K rounded to {}", unit.split.sum->name);
  if (unit.output_rounding != Rounding::kNearestEven) {
    return formatted("an output rounded {}", rounding_name(unit.output_rounding));
  }
  if (unit.round_before_bias) return "a sum rounded before its bias is added";
  return "";
}

}  // namespace

void require_known_errors(const Case& c) {
  const Operator* op = find_operator(c.op);
  if (op == nullptr || !op->product) return;
  const std::string what = what_is_not_modelled(exact_unit(c));
  if (!what.empty())
    refuse_case(c.name, "the errors of {} are not modelled, so that they have no bound", what);
}

bool may_be_product(const Case& c) {
  const Operator* op = find_operator(c.op);
  return op == nullptr || op->product;
}

std::string why_machine_is_needed(const Case& c) {
  for (const char* name : {"a", "b"}) {
    const Format& f = c.input(name).format();
    if (!f.is_float() || f.bits > 8) continue;
    return formatted(
        "matrix units sum products of {} with as few as 14 bits; name the machine that computed "
        "them, as in machine=hopper",
        f.name);
  }
  return "";
}

void require_machine(const Case& c) {
  const std::string why = why_machine_is_needed(c);
  if (!why.empty()) refuse_case(c.name, "no tolerance can be derived: " + why);
}

namespace {

// Computes dot, as all of its paths do: sums start from c, and add_products(rows, k, a, b, sums)
// adds the products to `rows` sums.
template <typename AddProducts>
Tensor dot_products(const Case& c, const MatrixUnit& unit, const Format& output, int threads,
                    const AddProducts& add_products) {
  const Tensor &a = c.input("a"), &b = c.input("b"), &start = c.input("c");
  const std::int64_t n = a.shape()[0], k = a.shape()[1];
  std::vector<double> sums = start.view().values();
  // Takes a few rows at a time, so that the operands' rows stay in the first-level cache.
  constexpr std::int64_t kRowsAtATime = 8;
  const auto add_rows = [&](std::int64_t first, std::int64_t rows) {
    const std::vector<double> as = unit.operand(a.view().slice(first, rows)),
                              bs = unit.operand(b.view().slice(first, rows));
    add_products(rows, k, as.data(), bs.data(), sums.data() + first);
  };
  parallel_ranges(n, threads, add_rows, kRowsAtATime);
  unit.hold(sums);
  return Tensor::from_values(output, start.shape(), sums);
}

void add_products_exactly(std::int64_t rows, std::int64_t k, const double* a, const double* b,
                          double* sums) {
  for (std::int64_t i = 0; i < rows; ++i) {
    exact_matmul(1, 1, k, a + i * k, b + i * k, sums + i, 1);
  }
}

// Returns the matrix unit of dot. If c and the result are float16, its accumulator is float16,
// rounded to nearest.
MatrixUnit dot_unit(const Call& call) {
  MatrixUnit unit = matrix_unit(call);
  if (!unit.sums_exactly() && sums_in_float16(call.test_case, call.output)) {
    unit.model->accumulator.value = "float16";
    unit.model->rounding.value = Rounding::kNearestEven;
    unit.model->mantissa_bits.value = 0;
  }
  return unit;
}

Tensor run_dot(const Call& call) {
  const Case& c = call.test_case;
  check_shapes(c);
  const MatrixUnit unit = dot_unit(call);
  if (unit.sums_exactly()) {
    return dot_products(c, unit, call.output, call.threads, add_products_exactly);
  }
  if (unit.split.terms > 0 && unit.split.terms < c.input("a").shape()[1]) {
    refuse_case(c.name, "dot does not split K; leave split_k out");
  }
  return dot_products(c, unit, call.output, call.threads,
                      [&](std::int64_t rows, std::int64_t k, const double* a, const double* b,
                          double* sums) { dot_rows(*unit.model, rows, k, a, b, sums); });
}

Tensor dot_reference(const ReferenceCall& call) {
  check_shapes(call.test_case);
  return dot_products(call.test_case, exact_unit(call.test_case), call.output, call.threads,
                      add_products_exactly);
}

// Returns the bounds of the sums' errors before the sums are rounded to the output's format.
std::vector<double> sum_errors(const Case& c, const Machine& machine, Unbounded& unbounded,
                               int threads) {
  check_shapes(c);
  const Tensor &a = c.input("a"), &b = c.input("b");
  const std::int64_t n = a.shape()[0], k = a.shape()[1];
  const MatrixUnit unit = dot_unit({c, machine, output_format(c), threads});
  const std::vector<double> starts = c.input("c").view().values();
  std::vector<double> bounds(static_cast<std::size_t>(n), 0.0);
  for (std::int64_t i = 0; i < n && !unit.sums_exactly(); ++i) {
    const auto at = static_cast<std::size_t>(i);
    const SumBounds sum =
        sum_bounds(c, machine, *unit.model, 1, 1, k, unit.operand(a.view().slice(i, 1)),
                   unit.operand(b.view().slice(i, 1)), {starts[at]}, unbounded, threads);
    bounds[at] = sum.error[0];
  }
  return bounds;
}

Tensor dot_bounds(const Case& c, const Machine& machine, int threads) {
  require_matrix_unit(c, machine);
  Unbounded unbounded;
  std::vector<double> bounds = sum_errors(c, machine, unbounded, threads);
  for (double& v : bounds) v *= 1 + unit_roundoff(output_format(c));
  return held_bounds(output_format(c), c.input("c").shape(), std::move(bounds), unbounded);
}

ExpectedErrors dot_errors(const Case& c, const Machine& machine, int threads) {
  require_matrix_unit(c, machine);
  check_shapes(c);
  const Format& output = output_format(c);
  const Tensor &a = c.input("a"), &b = c.input("b");
  const std::int64_t n = a.shape()[0], k = a.shape()[1];
  const MatrixUnit unit = dot_unit({c, machine, output, threads});
  const std::vector<double> starts = finite_or_zero(c.input("c").view().values());
  // Each sum starts from c, also on a machine that adds the bias of a matmul last.
  Machine from_c = machine;
  from_c.bias_first.value = true;
  const Machine& summed_by = is_any_machine(machine) ? machine : from_c;
  ExpectedErrors all{.last = &output};
  if (unit.sums_exactly()) all.resize(static_cast<std::size_t>(n));
  for (std::int64_t i = 0; i < n && !unit.sums_exactly(); ++i) {
    all.append(expected_sums(c, summed_by, *unit.model, output, 1, 1, k,
                             finite_or_zero(unit.operand(a.view().slice(i, 1))),
                             finite_or_zero(unit.operand(b.view().slice(i, 1))),
                             {starts[static_cast<std::size_t>(i)]}, threads));
  }
  return all;
}

DerivedTolerance dot_tolerance(const Case& c) {
  const Format& output = output_format(c);
  if (!output.is_float()) return {0, 0, std::string(kExactSums)};
  const Tensor &a = c.input("a"), &b = c.input("b");
  check_shapes(c);
  const std::vector<double> sums = c.input("c").view().values();
  const std::int64_t n = a.shape()[0], k = a.shape()[1];
  if (const Machine* machine = machine_of(c);
      machine != nullptr && a.format().is_float() && !sums_in_float16(c, output)) {
    return accumulation_tolerance(c, *machine, dot_bounds(c, *machine, 1).view().values());
  }
  require_machine(c);
  if (const Machine* machine = machine_of(c); machine != nullptr && sums_in_float16(c, output)) {
    const DotModel& row = dot_model(*machine, a.format());
    if (row.flush_inputs.value || row.flush_sums.value) {
      refuse_case(c.name, "no tolerance can be derived: {} flushes subnormals, and sums in float16",
                  machine->name);
    }
  }
  const std::vector<double> rows = a.view().values(), by = b.view().values();
  double largest = 0;
  for (std::int64_t i = 0; i < n; ++i) {
    double sum = std::abs(sums[static_cast<std::size_t>(i)]);
    for (std::int64_t j = i * k; j < (i + 1) * k; ++j) {
      sum += std::abs(rows[static_cast<std::size_t>(j)] * by[static_cast<std::size_t>(j)]);
    }
    largest = std::max(largest, reached_size(c, "a", sum));
  }
  const Format& accumulator = format_named(sums_in_float16(c, output) ? "float16" : "float32");
  const double h = static_cast<double>(k + 1) * unit_roundoff(accumulator);
  if (h >= 0.5) no_tolerance(c);
  require_range(c, accumulator, "a sum", (1 + h) * largest);
  const double sum_error =
      h / (1 - h) * largest + static_cast<double>(k + 1) * min_subnormal(accumulator) / 2;
  const double rtol = unit_roundoff(output);
  return {rtol, (1 + rtol) * sum_error + min_subnormal(output) / 2,
          formatted("rtol: half a {} ulp; atol: n u / (1 - n u) max (|c| + sum_k |a_k b_k|), n = K "
                    "+ 1, the error of {} accumulation in any order (K = {}, sum at most {})",
                    output.name, accumulator.name, k, short_number(largest, 4))};
}

// The recipe's sizes are n and K. c has the output's dtype.
void generate_dot(const Recipe& recipe, Case& c) {
  check_sizes(recipe, c, 2, 2, "sizes n,K of at least 1");
  const std::int64_t n = recipe.sizes[0], k = recipe.sizes[1];
  for (const char* name : {"a", "b"}) {
    c.inputs[name] = recipe.draw_input(name, *recipe.dtype, {n, k});
  }
  c.inputs["c"] = recipe.draw_input("c", output_format(c), {n});
}

}  // namespace

std::vector<Operator> dot_operators() {
  return {{.name = "dot",
           .summary = "c + a . b, n times, each sum separately",
           .inputs = {{.name = "a", .shape = "(n, K)"},
                      {.name = "b", .shape = "(n, K)"},
                      {.name = "c", .shape = "(n)", .words = "where each sum starts"}},
           .parameters = product_parameters({}),
           .output = "c",
           .sizes = "n, K",
           .run = run_dot,
           .reference = dot_reference,
           .output_format = product_format,
           .element_bounds = dot_bounds,
           .expected_errors = dot_errors,
           .tolerance = dot_tolerance,
           .generate = generate_dot}};
}

}  // namespace assay
