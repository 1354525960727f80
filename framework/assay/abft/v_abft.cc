#include "assay/abft/v_abft.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <vector>

#include "assay/base/error.h"
#include "assay/base/text.h"
#include "assay/base/words.h"

namespace assay::inline v0_2::abft {

namespace {

// The way in which e_max grows with the depth K.
enum class Growth : std::uint8_t { kFlat, kRootOfKOver1024, kLinearInRootOfK };

// e_max of the variants, by the format of the outputs. For `aclnn` the format is that of the
// operands, because there C is converted to float32 before it is summed.
struct EMax {
  std::string_view variant, format;
  double e_max;  // value at K = 0 for kLinearInRootOfK
  Growth growth = Growth::kFlat;
  double per_root = 0;  // increase with sqrt(K) for kLinearInRootOfK
};
constexpr EMax kEMaxModels[] = {
    {.variant = "seed", .format = "bfloat16", .e_max = 8e-3},
    {.variant = "seed", .format = "float16", .e_max = 1e-3},
    {.variant = "seed", .format = "float32", .e_max = 2.2e-6},
    {.variant = "recalibrated", .format = "bfloat16", .e_max = 8e-3},
    {.variant = "recalibrated", .format = "float16", .e_max = 1e-3},
    {.variant = "recalibrated",
     .format = "float32",
     .e_max = 1.377e-6,
     .growth = Growth::kRootOfKOver1024},
    {.variant = "recalibrated", .format = "float64", .e_max = 7.5e-16},
    {.variant = "april", .format = "float32", .e_max = 2e-6, .growth = Growth::kRootOfKOver1024},
    {.variant = "sampling", .format = "float32", .e_max = 2e-6, .growth = Growth::kRootOfKOver1024},
    {.variant = "h100", .format = "bfloat16", .e_max = 8e-3},
    {.variant = "h100",
     .format = "float32",
     .e_max = 1.5 * 9.4e-8,
     .growth = Growth::kLinearInRootOfK,
     .per_root = 1.5 * 4.1e-9},
    {.variant = "h100",
     .format = "float64",
     .e_max = 1.5 * 2.1e-16,
     .growth = Growth::kLinearInRootOfK,
     .per_root = 1.5 * 8.3e-18},
    {.variant = "aclnn", .format = "bfloat16", .e_max = 1e-3},
    {.variant = "aclnn", .format = "float32", .e_max = 2e-5},
};

// The factor c of a variant, and what the variant does with a format that has no e_max.
struct VariantRow {
  std::string_view variant;
  double c;
  // If true, a format without e_max has e_max = 3u and c = 4, the document's first guess. If false,
  // such a format is an error.
  bool guesses = false;
  bool of_operands = false;  // true if e_max depends on the format of the operands
};
constexpr VariantRow kVariantRows[] = {
    {.variant = "seed", .c = 2.5, .guesses = true},
    {.variant = "recalibrated", .c = 5.39},  // sqrt(2 ln(2 / 1e-6))
    {.variant = "april", .c = 2.5},
    {.variant = "sampling", .c = 3},
    {.variant = "h100", .c = 2.5},
    {.variant = "aclnn", .c = 4, .of_operands = true},
};

const VariantRow& row_of(std::string_view variant) {
  if (const auto* row = find_row(kVariantRows, variant, &VariantRow::variant)) return *row;
  refuse("v_abft has no variant '{}'", variant);
}

std::optional<double> e_max_of(std::string_view variant, std::string_view by, double depth) {
  for (const EMax& row : kEMaxModels) {
    if (row.variant != variant || row.format != by) continue;
    if (row.growth == Growth::kRootOfKOver1024) return row.e_max * std::sqrt(depth / 1024);
    return row.e_max + row.per_root * std::sqrt(depth);
  }
  return std::nullopt;
}

}  // namespace

VAbftConstants v_abft_constants(const ThresholdSpec& spec, const Format& output, std::int64_t k,
                                const Format* input) {
  const VariantRow& row = row_of(spec.variant);
  const Format& by = row.of_operands && input != nullptr ? *input : output;
  const auto e_max = e_max_of(spec.variant, by.name, static_cast<double>(k));
  if (!e_max && row.guesses) {
    return {spec.e_max.value_or(3 * unit_roundoff(output)), spec.c.value_or(4)};
  }
  if (!e_max && row.of_operands) {
    refuse("{} has no e_max for {} operands; choose another threshold", spec.variant, by.name);
  }
  if (!e_max && !spec.e_max) {
    refuse("the variant {} of v_abft has no e_max for {}; give e_max, or choose another variant",
           spec.variant, output.name);
  }
  return {spec.e_max ? *spec.e_max : *e_max, spec.c.value_or(row.c)};
}

void prepare_v_abft(const CheckedProduct& product, const Format& output, Prepared& to) {
  const ThresholdSpec& spec = product.options.spec;
  const std::int64_t width = product.width();
  const VAbftConstants constants = v_abft_constants(spec, output, product.k, product.input_a);
  const auto thresholds_of = [&](const Sampling& of_a, const Sampling& of_b) {
    std::vector<double> t;
    for (const device::VAbftSums& x :
         v_abft_terms(product.operands, {width, spec.sigma, of_a, of_b}, product.options.threads)) {
      t.push_back(device::v_abft_threshold(constants.e_max, constants.c, x));
    }
    return t;
  };
  to.constants = thresholds_of(spec.sample_a, spec.sample_b);
  for (double& t : to.constants) t *= spec.raise;
  if (spec.recheck && spec.sampled()) {
    // With recheck, a check is flagged only if the thresholds with and without sampling both flag
    // it, so the larger one counts.
    const std::vector<double> full = thresholds_of({}, {});
    for (std::size_t i = 0; i < full.size(); ++i) {
      to.constants[i] = std::max(to.constants[i], full[i]);
    }
  }
  for (std::size_t i = 0; i < to.biases.size(); ++i) {
    to.constants[i] += constants.e_max * to.biases[i];
  }
}

std::string why_not_v_abft(const CheckedProduct& product, const Format& output) {
  try {
    (void)v_abft_constants(product.options.spec, output, product.k, product.input_a);
  } catch (const Refusal& e) {
    return e.what();
  }
  return "";
}

}  // namespace assay::abft
