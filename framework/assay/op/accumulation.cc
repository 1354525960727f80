#include "assay/op/accumulation.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <stdexcept>
#include <vector>

#include "assay/base/error.h"
#include "assay/base/parallel.h"
#include "assay/base/text.h"

namespace assay {
namespace {

// Roundings between a product and the result, times their unit roundoffs.
double roundoff_of(const DotModel& model, std::int64_t k) {
  const Format accumulator = accumulator_format(model);
  const bool nearest = model.rounding.value == Rounding::kNearestEven ||
                       model.rounding.value == Rounding::kNearestAway;
  const double u = unit_roundoff(accumulator) * (nearest ? 1 : 2);
  const std::int64_t chunk = model.chunk.value, interval = model.promotion_interval.value;
  const std::int64_t part = interval > 0 ? std::min(interval, k) : k;
  std::int64_t roundings = (part + chunk - 1) / chunk;
  if (model.order.value == ChunkOrder::kSequential) roundings += chunk - 1;
  if (model.order.value == ChunkOrder::kPairwise) {
    roundings += std::bit_width(static_cast<std::uint64_t>(chunk - 1));
  }
  if (model.round_products.value) roundings += 1;
  double total = static_cast<double>(roundings) * u;
  if (interval > 0)
    total += static_cast<double>((k + part - 1) / std::max<std::int64_t>(part, 1)) * 0x1p-24;
  return total;
}

// |x| and |x|, at least the smallest normal where it is not 0.
struct Sizes {
  std::vector<double> size, aligned;
};
Sizes sizes_of(const std::vector<double>& values, const Format& f) {
  Sizes s;
  s.size = values;
  const double least = f.is_float() ? min_normal(f) : 1;
  for (double& v : s.size) {
    v = std::abs(v);
    s.aligned.push_back(v == 0 ? 0 : std::max(v, least));
  }
  return s;
}

}  // namespace

SumBounds sum_bounds(const Case& c, const Machine& machine, const DotModel& model, std::int64_t m,
                     std::int64_t n, std::int64_t k, const std::vector<double>& a,
                     const std::vector<double>& b, const std::vector<double>& start, int threads) {
  if (model.flush_inputs.value || model.flush_sums.value) {
    throw CaseError(c.name,
                    format("no bound of accumulation: {} flushes subnormals", machine.name));
  }
  // The start is rounded to float32 before it is added.
  const double total = roundoff_of(model, k) + (start.empty() ? 0 : 0x1p-24);
  if (total >= 0.5) {
    throw CaseError(c.name, "no bound of accumulation: the roundings leave no digit");
  }
  const Format accumulator = accumulator_format(model);
  const std::int64_t chunk = model.chunk.value;
  const double chunks = static_cast<double>((k + chunk - 1) / chunk);
  const int kept = model.kept_bits.value;
  const double share = kept > 0 ? static_cast<double>(chunk + 1) * std::ldexp(1.0, -kept) : 0;
  const double least =
      model.emax_floor.value > DotModel::kNoFloor ? std::ldexp(1.0, model.emax_floor.value) : 0;
  const double tiny = accumulator.is_float() ? chunks * min_subnormal(accumulator) : 0;
  const Sizes rows = sizes_of(a, format_named(model.input));
  const Sizes columns = sizes_of(b, format_named(model.b_input()));
  const auto width = static_cast<std::size_t>(n);
  SumBounds bounds;
  bounds.size.resize(static_cast<std::size_t>(m) * width);
  bounds.error.resize(bounds.size.size());
  parallel_for(m, threads, [&](std::int64_t i) {
    std::vector<double> sum(width, 0.0), largest(width), cut(width, 0.0);
    for (std::size_t j = 0; j < width && !start.empty(); ++j) sum[j] = std::abs(start[j]);
    for (std::int64_t first = 0; first < k; first += chunk) {
      if (share > 0) {
        for (std::size_t j = 0; j < width; ++j) largest[j] = std::max(sum[j], least);
      }
      for (std::int64_t kk = first; kk < std::min(k, first + chunk); ++kk) {
        const auto at = static_cast<std::size_t>(i * k + kk);
        const double* sizes = columns.size.data() + static_cast<std::size_t>(kk) * width;
        const double* aligned = columns.aligned.data() + static_cast<std::size_t>(kk) * width;
        for (std::size_t j = 0; j < width; ++j) {
          sum[j] += rows.size[at] * sizes[j];
          largest[j] = std::max(largest[j], rows.aligned[at] * aligned[j]);
        }
      }
      for (std::size_t j = 0; j < width; ++j) cut[j] += share * largest[j];
    }
    for (std::size_t j = 0; j < width; ++j) {
      const std::size_t to = static_cast<std::size_t>(i) * width + j;
      bounds.size[to] = sum[j];
      // What was cut off is rounded again.
      bounds.error[to] = total / (1 - total) * (sum[j] + cut[j]) + cut[j] + tiny;
    }
  });
  return bounds;
}

Tensor accumulation_bounds(const Case& c, const Machine& machine, int threads) {
  const Operator* op = find_operator(c.op);
  if (op != nullptr && op->element_bounds != nullptr) {
    check_parameters(c, *op);
    return op->element_bounds(c, machine, threads);
  }
  std::vector<std::string> known;
  for (const Operator& row : operators()) {
    if (row.element_bounds != nullptr) known.push_back(row.name);
  }
  const std::string last = known.back();
  known.pop_back();
  throw CaseError(
      c.name,
      format("the bound of accumulation is known for {} and {}, not {}{}", joined(known), last,
             c.op.empty() ? "a case without an operator" : c.op,
             op == nullptr || op->no_element_bounds.empty() ? "" : ": " + op->no_element_bounds));
}

void require_matrix_unit(const Case& c, const Machine& machine) {
  if (machine.has_matrix_unit()) return;
  throw CaseError(
      c.name,
      format("machine {} does not round; name another, as in accumulation(hopper)", machine.name));
}

const Machine* machine_of(const Case& c) {
  const auto word = c.text("machine");
  if (!word) return nullptr;
  const Machine& machine = machine_named(*word);
  return machine.has_matrix_unit() ? &machine : nullptr;
}

DerivedTolerance accumulation_tolerance(const Format& output, const Machine& machine,
                                        const std::vector<double>& bounds) {
  const double rtol = unit_roundoff(output);
  const double most = bounds.empty() ? 0 : *std::max_element(bounds.begin(), bounds.end());
  return {rtol, (1 + rtol) * most + min_subnormal(output) / 2,
          format("rtol: half a {} ulp; atol: the largest bound of accumulation on {}", output.name,
                 machine.name)};
}

}  // namespace assay
