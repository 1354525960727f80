#include "assay/op/sum_bound.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "assay/base/error.h"
#include "assay/base/index.h"
#include "assay/base/text.h"
#include "assay/format/format.h"

namespace assay::inline v0_2 {

DotModel in_any_order(const Format& f) {
  return {.input = f.name,
          .chunk = assumed(1),
          .accumulator = assumed(std::string_view(f.is_float64() ? "float64" : "float32")),
          .rounding = assumed(Rounding::kNearestEven),
          .order = assumed(ChunkOrder::kSequential),
          .round_products = assumed(true)};
}

namespace {

// Returns the models of any_machine() or any_float32_machine(). If `short_sums` is true, sums of
// floats of at most 8 bits may keep as few bits as on any known machine.
std::vector<DotModel> rows_in_any_order(bool short_sums) {
  std::vector<DotModel> rows;
  std::vector<DotModel> of_small_floats;
  for (const Machine& machine : machines()) {
    for (DotModel row : machine.dots) {
      const Format& f = format_named(row.input);
      if (!f.is_float() || f.bits > 8) continue;
      row.promotion_interval = assumed(0);
      // Skips a row if another one with the same chunk keeps no more bits, because that one has at
      // least as large an error.
      const auto covers = [&](const DotModel& other) {
        return other.chunk.value == row.chunk.value &&
               other.kept_bits.value <= row.kept_bits.value && row.kept_bits.value > 0;
      };
      if (std::ranges::any_of(of_small_floats, covers)) continue;
      of_small_floats.push_back(row);
    }
  }
  for (const Format& f : formats()) {
    if (f.name == "int8") {
      DotModel row = in_any_order(f);
      row.accumulator = assumed(std::string_view("int32"));
      rows.push_back(row);
    } else if (f.is_float() && (f.bits > 8 || !short_sums)) {
      rows.push_back(in_any_order(f));
    } else if (f.is_float()) {
      for (DotModel row : of_small_floats) {
        row.input = f.name;
        rows.push_back(row);
      }
    }
  }
  return rows;
}

}  // namespace

const Machine& any_machine() {
  static const std::vector<DotModel> rows = rows_in_any_order(true);
  static const Machine machine = {.name = "any",
                                  .summary = "sums in any order",
                                  .dots = rows,
                                  .source = "IEEE 754, and the rows of machines"};
  return machine;
}

const Machine& any_float32_machine() {
  static const std::vector<DotModel> rows = rows_in_any_order(false);
  static const Machine machine = {.name = "any float32",
                                  .summary = "sums in any order, none of few bits",
                                  .dots = rows,
                                  .source = "IEEE 754"};
  return machine;
}

bool is_any_machine(const Machine& machine) {
  return &machine == &any_machine() || &machine == &any_float32_machine();
}

int shortest_sum_bits(const Case& c) {
  const Operator* op = find_operator(c.op);
  const Format* operand = c.input_format("a");
  if (operand == nullptr) operand = c.input_format("q");
  if (op == nullptr || operand == nullptr) return 0;
  if (const auto word = c.text("compute_dtype")) operand = &format_named(*word);
  int fewest = 0;
  for (const DotModel& row : any_machine().dots) {
    const int bits = row.input == operand->name ? row.kept_bits.value : 0;
    if (bits > 0 && (fewest == 0 || bits < fewest)) fewest = bits;
  }
  return fewest;
}

std::vector<std::string> any_machine_notes(const Case& c) {
  const Operator* op = find_operator(c.op);
  const Format* operand = c.input_format("a");
  if (op == nullptr || op->machine_free_bounds || operand == nullptr) return {};
  if (const auto word = c.text("compute_dtype")) operand = &format_named(*word);
  const DotModel& row = dot_model(any_machine(), *operand);
  if (row.accumulator.value == "int32") return {};
  // If c and the result are float16, the accumulator is float16 as well.
  const Format* start = c.input_format("c");
  const bool half = start != nullptr && start->name == "float16" && &output_format(c) == start;
  const std::string sums =
      row.kept_bits.value > 0
          ? formatted(
                "sums that keep {} bits and are never promoted, the widest errors known for {}",
                row.kept_bits.value, operand->name)
          : formatted("{} sums in any order", half ? start->name : row.accumulator.value);
  return {formatted(
      "no machine is named, so that the bound is that of {}; name the machine for a tighter bound",
      sums)};
}

double no_bound(const Format& output) {
  return std::min(max_finite(output), std::numeric_limits<double>::max() / 8) * 2;
}

Tensor held_bounds(const Format& output, const Shape& shape, std::vector<double> bounds,
                   const Unbounded& unbounded) {
  const double most = no_bound(output);
  std::size_t bounded = 0, lost = 0;
  for (double& v : bounds) {
    if (std::isnan(v)) {
      v = 0;
      continue;
    }
    ++(std::isinf(v) ? lost : bounded);
    v = std::min(v, most);
  }
  if (bounded == 0 && lost > 0) unbounded.rethrow();
  return Tensor::from_values(format_named("float64"), shape, bounds);
}

namespace {

bool all_finite(std::span<const double> values, std::int64_t first, std::int64_t count,
                std::int64_t step) {
  for (std::int64_t i = 0; i < count; ++i) {
    if (!std::isfinite(values[at(first + i * step)])) return false;
  }
  return true;
}

// True if all terms of a sum that are not 0 have one sign.
bool has_one_sign(std::span<const double> a, std::span<const double> b, std::int64_t row,
                  std::int64_t column, std::int64_t n, std::int64_t k, double start) {
  double positive = std::max(start, 0.0), negative = std::min(start, 0.0);
  for (std::int64_t kk = 0; kk < k; ++kk) {
    const double term = a[at(row * k + kk)] * b[at(kk * n + column)];
    positive = std::max(positive, term), negative = std::min(negative, term);
  }
  return positive == 0 || negative == 0;
}

}  // namespace

SumBounds sum_bounds(const Case& c, const Machine& machine, const DotModel& model, std::int64_t m,
                     std::int64_t n, std::int64_t k, std::span<const double> a,
                     std::span<const double> b, const std::vector<double>& start,
                     Unbounded& unbounded, int threads) {
  SumBounds widest;
  std::vector<char> reached_rows(at(m)), reached_columns(at(n));
  for (std::int64_t i = 0; i < m; ++i) reached_rows[at(i)] = all_finite(a, i * k, k, 1) ? 0 : 1;
  for (std::int64_t j = 0; j < n; ++j) {
    const bool finite = all_finite(b, j, k, n) && (start.empty() || std::isfinite(start[at(j)]));
    reached_columns[at(j)] = finite ? 0 : 1;
  }
  for (const DotModel& row : machine.dots) {
    if (row.input != model.input) continue;
    DotModel one = model;
    one.chunk = row.chunk;
    one.kept_bits = row.kept_bits;
    const std::string why = why_no_sum_bounds(one, k, !start.empty());
    if (!why.empty()) refuse_case(c.name, "no bound of accumulation: {}", why);
    SumBounds bounds = sum_bounds(one, m, n, k, a, b, start, threads);
    const Format accumulator = accumulator_format(one);
    const double most = max_finite(accumulator);
    const bool ends_there = max_finite(output_format(c)) <= most;
    for (std::size_t i = 0; i < bounds.size.size(); ++i) {
      const auto element = static_cast<std::int64_t>(i);
      if (reached_rows[at(element / n)] != 0 || reached_columns[at(element % n)] != 0) {
        bounds.size[i] = bounds.error[i] = std::numeric_limits<double>::quiet_NaN();
      } else if (!(bounds.size[i] + bounds.error[i] <= most)) {
        const double first = start.empty() ? 0 : start[at(element % n)];
        const bool clear = ends_there && std::isfinite(bounds.error[i]) &&
                           has_one_sign(a, b, element / n, element % n, n, k, first);
        if (!clear) {
          (void)unbounded.holds([&] {
            refuse_case(c.name, "no bound of accumulation: sums of at most {} may overflow {}",
                        short_number(bounds.size[i], 4), model.accumulator.value);
          });
          bounds.error[i] = std::numeric_limits<double>::infinity();
        }
      }
      if (!widest.error.empty()) bounds.error[i] = std::max(bounds.error[i], widest.error[i]);
    }
    widest = std::move(bounds);
  }
  return widest;
}

std::vector<double> columns_of(std::span<const double> a, std::int64_t m, std::int64_t k,
                               std::int64_t first, std::int64_t last) {
  std::vector<double> part;
  part.reserve(static_cast<std::size_t>(m * (last - first)));
  for (std::int64_t i = 0; i < m; ++i) {
    part.insert(part.end(), a.begin() + i * k + first, a.begin() + i * k + last);
  }
  return part;
}

double reached_size(const Case& c, const char* name, double size) {
  if (std::isfinite(size)) return size;
  if (c.input(name).format().is_float64()) {
    refuse_case(
        c.name,
        "no tolerance can be derived: its inputs hold NaN or infinity, or a sum overflows float64");
  }
  return 0;
}

Tensor accumulation_bounds(const Case& c, const Machine& machine, int threads) {
  const Operator* op = find_operator(c.op);
  if (op != nullptr && op->element_bounds != nullptr) {
    check_parameters(c, *op);
    return op->element_bounds(c, machine, threads);
  }
  std::vector<std::string> known;
  for (const Operator& row : operators()) {
    // Operators that bound only some of their cases give their own reason.
    if (row.element_bounds != nullptr && row.has_element_bounds == nullptr) {
      known.push_back(row.name);
    }
  }
  const std::string last = known.back();
  known.pop_back();
  refuse_case(c.name, "the bound of accumulation is known for {} and {}, not {}{}", joined(known),
              last, c.op.empty() ? "a case without an operator" : c.op,
              op == nullptr || op->no_element_bounds.empty() ? "" : ": " + op->no_element_bounds);
}

void require_matrix_unit(const Case& c, const Machine& machine) {
  if (machine.has_matrix_unit()) return;
  refuse_case(c.name,
              "machine {} is the reference and has no matrix unit whose sums could be bounded; "
              "name another, as in accumulation(hopper)",
              machine.name);
}

const Machine* named_machine(const Case& c) {
  const auto word = c.text("machine");
  if (!word) return nullptr;
  try {
    return &machine_named(*word);
  } catch (const Refusal& e) {
    refuse_case(c.name, e.what());
  }
}

const Machine* machine_of(const Case& c) {
  const Machine* machine = named_machine(c);
  return machine != nullptr && machine->has_matrix_unit() ? machine : nullptr;
}

DerivedTolerance accumulation_tolerance(const Case& c, const Machine& machine,
                                        const std::vector<double>& bounds) {
  const Format& output = output_format(c);
  const double rtol = unit_roundoff(output);
  const double most = bounds.empty() ? 0 : *std::ranges::max_element(bounds);
  if (most >= no_bound(output)) {
    refuse_case(c.name, "no tolerance can be derived: a sum may overflow on {}", machine.name);
  }
  return {rtol, (1 + rtol) * most + min_subnormal(output) / 2,
          formatted("rtol: half a {} ulp; atol: the largest bound of accumulation on {}",
                    output.name, machine.name)};
}

}  // namespace assay
