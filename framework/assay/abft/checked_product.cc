#include "assay/abft/checked_product.h"

#include <algorithm>
#include <cmath>

#include "assay/abft/arithmetic.h"
#include "assay/base/index.h"
#include "assay/base/parallel.h"
#include "assay/base/text.h"
#include "assay/base/words.h"
#include "assay/cases/epilogue.h"

namespace assay::inline v0_2::abft {
bool is_own_accumulation(const Format& output) { return output.precision >= 24; }

std::int64_t CheckedProduct::columns_of(std::int64_t group) const {
  return std::min(n, (group + 1) * width()) - group * width();
}

bool CheckedProduct::integer_product(const Format& output) const {
  if (from_golden || output.is_float() || input_a->is_float() || input_b->is_float()) return false;
  // Biases of more than 32 bits are excluded. No checked output holds them, and the sum of a group
  // of such biases could be 0 modulo 2^64.
  const auto whole = [](double v) { return v == std::trunc(v) && std::abs(v) < 0x1p32; };
  return std::ranges::all_of(operands.bias, whole) && std::ranges::all_of(operands.row_bias, whole);
}

const Prepared& CheckedProduct::prepare(const Format& output) const {
  const std::lock_guard lock(mutex_);
  if (const Slot* slot = find_row(prepared_, &output, &Slot::format)) return *slot->prepared;
  const Prepared* other = nullptr;  // one that has the same checksums
  for (const Slot& slot : prepared_) {
    if (is_own_accumulation(*slot.format) == is_own_accumulation(output))
      other = slot.prepared.get();
  }
  prepared_.push_back({&output, std::make_unique<Prepared>(make(output, other))});
  return *prepared_.back().prepared;
}

Prepared CheckedProduct::make(const Format& output, const Prepared* other) const {
  const ThresholdSpec& spec = options.spec;
  const int threads = options.threads;
  Prepared p;
  if (other != nullptr) {
    p.checksums = other->checksums;
  } else if (from_golden) {
    p.checksums = golden_checksums(golden, width(), threads);
  } else {
    p.checksums = operand_checksums(operands, width(), beside_checksums(output), threads);
  }
  if (integer_product(output)) {
    p.integers = integer_checksums(operands, width(), threads);
    return p;
  }
  if (from_golden && output.is_float() && options.golden_tolerance) {
    p.constants = golden_tolerances();
  }
  if (from_golden || !output.is_float()) return p;
  if (rounds_sums(spec.arithmetic)) {
    p.rounded = checksums_in(spec.arithmetic, options.model, operands, width(), output, threads);
  }
  p.biases = absolute_biases(operands, width());
  p.constants.assign(at(m * groups()), 0.0);
  if (threshold().prepare != nullptr) threshold().prepare(*this, output, p);
  return p;
}

Beside CheckedProduct::beside_checksums(const Format& output) const {
  const Threshold& t = threshold();
  if (t.by_variance) return exact_squares(output) ? Beside::kSquares : Beside::kSquareBounds;
  if (!t.reads_operand_sizes) return Beside::kNothing;
  return variant_of(options.spec).reads_products ? Beside::kSizesAndProducts : Beside::kSizes;
}

// Returns for each check the sum of the tolerances of its elements.
std::vector<double> CheckedProduct::golden_tolerances() const {
  std::vector<double> sums(at(m * groups()), 0.0);
  parallel_for(m, options.threads, [&](std::int64_t i) {
    std::vector<double> row(at(n));
    golden.read(i, 0, n, row.data());
    for (std::int64_t j = 0; j < n; ++j) {
      sums[at(i * groups() + j / width())] += options.golden_tolerance(row[at(j)]);
    }
  });
  return sums;
}

const double* CheckedProduct::b_values() const {
  const std::lock_guard lock(mutex_);
  if (b_values_.empty()) {
    b_values_.resize(static_cast<std::size_t>(k * n));
    for (std::int64_t kk = 0; kk < k; ++kk) {
      operands.b.read(kk, 0, n, b_values_.data() + kk * n);
    }
  }
  return b_values_.data();
}

std::string CheckedProduct::why_not(const Format& output) const {
  const Threshold& t = threshold();
  const Arithmetic arithmetic = options.spec.arithmetic;
  if (from_golden && !t.golden_suffices) {
    return formatted(
        "the threshold {} needs the operands, but only a golden result is given; give the "
        "operands, or choose another threshold",
        t.name);
  }
  if (std::string why = t.takes_residuals ? why_not_cast(output) : ""; !why.empty()) return why;
  if (!output.is_float()) {
    const bool wide =
        output.bits > 32 || (!from_golden && (input_a->bits > 32 || input_b->bits > 32));
    if (!integer_product(output)) {
      return output.bits < 64
                 ? ""
                 : formatted(
                       "sums of {} cannot be checked, because they are beyond what float64 holds",
                       output.name);
    }
    return wide ? formatted(
                      "products of {} and {} into {} cannot be checked, because integers are "
                      "checked only up to 32 bits",
                      input_a->name, input_b->name, output.name)
                : "";
  }
  if (output.specials == assay::Specials::kTapered || output.specials == assay::Specials::kScale) {
    return formatted(
        "outputs of {} cannot be checked, because the distance of its neighboring values is no "
        "power of two that their exponent gives",
        output.name);
  }
  if (output.precision > 24) {
    return formatted(
        "outputs of {} cannot be checked, because their checksums need more precision than float64",
        output.name);
  }
  if (from_golden && rounds_sums(arithmetic)) {
    return formatted(
        "arithmetic={} needs the operands, but only a golden result is given; give the operands, "
        "or another arithmetic",
        arithmetic_name(arithmetic));
  }
  if (arithmetic == Arithmetic::kMachine) {
    if (options.model == nullptr) return "arithmetic=machine needs to know the machine";
    if (input_a->name != options.model->input || input_b->name != options.model->b_input() ||
        options.model->b_input() != output.name) {
      return formatted(
          "arithmetic=machine sums by the matrix unit, which reads {}, but the operands are {} and "
          "{}, and the output is {}",
          options.model->input, input_a->name, input_b->name, output.name);
    }
  }
  return t.why_not != nullptr ? t.why_not(*this, output) : "";
}

}  // namespace assay::abft
