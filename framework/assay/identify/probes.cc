#include "assay/identify/probes.h"

#include <algorithm>
#include <cmath>

#include "assay/base/index.h"
#include "assay/base/random.h"
#include "assay/base/text.h"
#include "assay/op/scales.h"

namespace assay::inline v0_2::identify {
namespace {

constexpr std::int64_t kSide = 32;

struct Probe {
  std::string kind;
  std::int64_t k;
  int low, high;  // exponents of factors
  int lift = 0;   // most that is added to the exponents of large factors, whose products cancel
  int reach = 0;  // largest distance in K of such factors, or 0 without such factors
};

int largest_exponent(const Format& format) { return std::ilogb(max_finite(format)); }

// Returns a number with random sign and mantissa. Its exponent is in [low, high], limited to
// exponents that the format has.
double drawn(Random& random, const Format& format, int low, int high) {
  const int least = std::ilogb(min_subnormal(format)), most = largest_exponent(format) - 1;
  const int span = std::max(high - low, 0);
  const int exponent =
      std::clamp(low + static_cast<int>(random.index_below(span + 1)), least, most);
  const double value = round_to(format, std::ldexp(1 + random.uniform(), exponent));
  return random.below(2) == 0 ? value : -value;
}

Case made(const Probe& probe, const Format& format, const Format* output, std::uint64_t seed,
          const ProbeShape& shape) {
  Case c;
  c.name = assay::formatted("probe/{}/{}", format.name, probe.kind);
  c.op = "matmul";
  c.attributes["output_dtype"] = std::string(output != nullptr ? output->name : "float32");
  c.attributes["seed"] = static_cast<std::int64_t>(seed);
  Random random(seed, stream_of(c.name));
  const auto [m, k, n] = shape;
  std::vector<double> a(at(m * k)), b(at(k * n));
  const bool is_normal = probe.kind.starts_with("normal");
  for (std::vector<double>* x : {&a, &b}) {
    for (double& v : *x) {
      v = is_normal ? round_to(format, random.normal())
                    : drawn(random, format, probe.low, probe.high);
    }
  }
  // About every fourth position in K gets a large product, and a later position gets the same
  // product with the other sign.
  std::vector<bool> is_taken(at(k), false);
  for (std::int64_t i = 0; probe.reach > 0 && i < k; i += 1 + random.index_below(6)) {
    const std::int64_t other = i + 1 + random.index_below(probe.reach);
    if (other >= k || is_taken[at(i)] || is_taken[at(other)]) continue;
    is_taken[at(i)] = is_taken[at(other)] = true;
    const int lift = static_cast<int>(random.index_below(probe.lift + 1));
    const int high = probe.high + lift;
    for (std::int64_t row = 0; row < std::max(m, n); ++row) {
      if (row < m) a[at(row * k + i)] = a[at(row * k + other)] = drawn(random, format, high, high);
      if (row >= n) continue;
      b[at(i * n + row)] = drawn(random, format, high, high);
      b[at(other * n + row)] = -b[at(i * n + row)];
    }
  }
  c.inputs["a"] = Tensor::from_values(format, {m, k}, a);
  c.inputs["b"] = Tensor::from_values(format, {k, n}, b);
  return c;
}

}  // namespace

bool can_be_probed(const Format& format) {
  return format.is_float() && !format.is_complex() && format.is_signed() &&
         holds_format(format_named("float32"), format);
}

std::vector<Case> probes(const Format& format, const Format* output, std::uint64_t seed,
                         const std::optional<ProbeShape>& shape) {
  if (!can_be_probed(format)) {
    refuse("probes can be made only of floats that float32 holds, not of {}", format.name);
  }
  if (shape && (shape->m < 1 || shape->k < 1 || shape->n < 1)) {
    refuse("the sizes M, K and N of probes must be at least 1");
  }
  const int top = largest_exponent(format) - 1,
            bottom = std::ilogb(min_subnormal(format)) + std::min(format.precision - 1, 4);
  // This keeps sums of 256 products within the range of float32.
  const int high = std::min(top, 40), low = std::max(bottom, -40);
  const auto within = [&](int exponent) { return std::clamp(exponent, low, high); };
  std::vector<Probe> all = {
      {"normal_k128", 128, 0, 0},
      {"normal_k256", 256, 0, 0},
      {"spread_2", 128, within(-2), within(2)},
      {"spread_6", 128, within(-6), within(6)},
      {"spread_12", 256, within(-12), within(12)},
  };
  if (shape) all.erase(all.begin()), all.front().kind = "normal";
  // Small terms have low exponents, so that the large ones can be far above them.
  const int base = std::max(low, -10);
  for (const int lift : {2, 4, 7, 10, 13}) {
    all.push_back({assay::formatted("near_{}", lift), 128, base, within(base + 2), lift, 8});
    all.push_back({assay::formatted("far_{}", lift), 128, base, within(base + 2), lift, 64});
  }
  if (format.exponent_bits >= 5) {
    const int least = format.exponent_bits >= 8 ? -70 : format.min_exponent() - 4;
    all.push_back({"tiny", 128, least, least + 6});
  }
  std::vector<Case> cases;
  for (const Probe& probe : all) {
    cases.push_back(
        made(probe, format, output, seed, shape.value_or(ProbeShape{kSide, probe.k, kSide})));
  }
  return cases;
}

}  // namespace assay::identify
