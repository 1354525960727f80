#include "assay/identify/space.h"

#include <algorithm>
#include <set>
#include <tuple>

#include "assay/format/rounding.h"

namespace assay::inline v0_2::identify {
namespace {

constexpr Rounding kConversionRoundings[] = {Rounding::kNearestEven, Rounding::kNearestAway,
                                             Rounding::kTowardZero};

}  // namespace

int full_mantissa_bits(std::string_view accumulator) {
  return format_named(accumulator).precision - 1;
}

std::vector<Rounding> all_roundings() {
  std::vector<Rounding> all;
  for (const RoundingRow& row : deterministic_rounding_rows()) all.push_back(row.rounding);
  return all;
}

std::vector<Conversion> conversions_of(const Sums& s) {
  std::vector<Conversion> all = {{}};
  if (s.is_scaled() || s.a_format->name != "float32" || s.b_format->name != "float32") return all;
  for (const char* name : {"tfloat32", "hfloat32"}) {
    for (const Rounding rounding : kConversionRoundings) {
      all.push_back({&format_named(name), rounding});
    }
  }
  if (s.op != "matmul") return all;
  for (const Rounding rounding : kConversionRoundings) {
    all.push_back({.compute = &format_named("bfloat16"), .rounding = rounding, .is_rare = true});
  }
  for (const char* name : {"tfloat32", "bfloat16", "hfloat32"}) {
    for (const Rounding rounding : kConversionRoundings) {
      all.push_back({&format_named(name), rounding, true, true});
    }
  }
  return all;
}

Candidate plain(Candidate c) {
  DotModel& m = c.model;
  const int full = full_mantissa_bits(m.accumulator.value);
  if (m.mantissa_bits.value == 0 || m.mantissa_bits.value > full) m.mantissa_bits.value = full;
  if (m.emax_floor.value <= kFloorless) m.emax_floor.value = DotModel::kNoFloor;
  if (m.kept_bits.value > 0) {
    m.order.value = ChunkOrder::kFused;
    m.round_products.value = false;
  } else {
    m.sum_bits.value = m.reach.value = 0;
    m.alignment.value = Rounding::kTowardZero;
    m.emax_floor.value = DotModel::kNoFloor;
    if (m.order.value == ChunkOrder::kPairwise) m.round_products.value = false;
  }
  if (m.sum_bits.value == 0) m.interleave.value = 1;
  m.promotion_interval.value = 0;
  if (c.split.terms == 0) {
    c.inner_interval = 0;
    c.split = {};
  }
  if (c.split.first == c.split.terms) c.split.first = 0;
  if (c.bias_first) c.round_before_bias = false;
  if (c.compute == nullptr) c.compute_rounding = Rounding::kNearestEven;
  return c;
}

namespace {

// Returns all parameters of a candidate.
auto key_of(const Candidate& c) {
  const DotModel& m = c.model;
  const KSplit& d = c.split;
  return std::tuple(m.chunk.value, m.accumulator.value, m.rounding.value, m.order.value,
                    m.kept_bits.value, m.alignment.value, m.emax_floor.value, m.mantissa_bits.value,
                    m.round_products.value, m.flush_inputs.value, m.flush_sums.value,
                    m.sum_bits.value, m.interleave.value, m.reach.value, d.terms, d.first, d.dealt,
                    d.order, d.part, d.sum, c.inner_interval, c.bias_first, c.round_before_bias,
                    c.fused, c.scale_order, c.compute, c.compute_rounding, c.in_two_terms,
                    c.output_rounding);
}

}  // namespace

bool same(const Candidate& a, const Candidate& b) { return key_of(a) == key_of(b); }

std::int64_t longest_stretch(const Sums& s) {
  std::int64_t longest = s.is_scaled() ? 0 : s.k;
  for (std::size_t i = 0; i + 1 < s.cuts.size(); ++i) {
    longest = std::max(longest, s.cuts[i + 1] - s.cuts[i]);
  }
  return longest;
}

Candidate canonical(const Sums& s, Candidate c) {
  DotModel& m = c.model;
  const std::int64_t stretch = longest_stretch(s);
  if (c.split == KSplit{} && c.inner_interval == 0 && m.chunk.value > stretch) {
    m.chunk.value = static_cast<int>(stretch);
  }
  // The lowest bit of a product of float32 values is 46 below its exponent. Every partial sum is a
  // multiple of that bit.
  constexpr int kLowest = 46;
  const int lowest = s.smallest_exponent - kLowest;
  if (!s.is_scaled() && lowest >= format_named(m.accumulator.value).min_exponent()) {
    m.flush_sums.value = false;
    if (lowest > kHighestFloor) m.emax_floor.value = DotModel::kNoFloor;
  }
  if (!s.has_subnormal_inputs && !c.in_two_terms) m.flush_inputs.value = false;
  return plain(c);
}

namespace {

// Returns the candidates without those whose form an earlier candidate has.
template <typename Form>
std::vector<Candidate> first_of_each(const std::vector<Candidate>& candidates, const Form& form) {
  std::set<decltype(key_of(Candidate{}))> seen;
  std::vector<Candidate> all;
  for (const Candidate& c : candidates) {
    if (seen.insert(key_of(form(c))).second) all.push_back(c);
  }
  return all;
}

}  // namespace

std::vector<Candidate> each_once(const std::vector<Candidate>& candidates) {
  return first_of_each(candidates, [](const Candidate& c) -> const Candidate& { return c; });
}

std::vector<Candidate> each_once(const Sums& s, const std::vector<Candidate>& candidates) {
  return first_of_each(candidates, [&](const Candidate& c) { return canonical(s, c); });
}

Candidate candidate_of(const Sums& s, const Machine& machine, const DotModel& row,
                       const Conversion& conversion) {
  Candidate c{.model = row};
  c.model.other_input =
      conversion.compute != nullptr || s.a_format == s.b_format ? "" : s.b_format->name;
  c.compute = conversion.compute;
  c.compute_rounding = conversion.rounding;
  c.in_two_terms = conversion.in_two_terms;
  c.bias_first = machine.bias_first.value;
  c.split.terms = row.promotion_interval.value;
  if (s.sums_in_float16) {
    c.model.accumulator = measured(std::string_view("float16"));
    c.model.rounding = measured(Rounding::kNearestEven);
    c.model.mantissa_bits = measured(0);
  }
  return plain(c);
}

namespace {

// Returns the formats of a and b that a unit reads: those of the operands, or the format to which
// both are converted.
std::pair<std::string_view, std::string_view> inputs_of(const Sums& s,
                                                        const Conversion& conversion) {
  if (conversion.compute != nullptr) return {conversion.compute->name, conversion.compute->name};
  return {s.a_format->name, s.b_format->name};
}

}  // namespace

const DotModel* row_of(const Machine& machine, std::string_view input, bool integers) {
  for (const DotModel& row : machine.dots) {
    if (row.input == input && (row.accumulator.value == "int32") == integers) return &row;
  }
  return nullptr;
}

const DotModel* row_of(const Sums& s, const Machine& machine, const Conversion& conversion) {
  const auto [a, b] = inputs_of(s, conversion);
  return row_of(machine, b, false) == nullptr ? nullptr : row_of(machine, a, false);
}

std::vector<Candidate> row_candidates(const Sums& s, const Conversion& conversion) {
  std::vector<Candidate> all;
  for (const Machine& machine : machines()) {
    const DotModel* row = row_of(s, machine, conversion);
    if (row == nullptr) continue;
    const Candidate c = candidate_of(s, machine, *row, conversion);
    const bool is_there =
        std::ranges::any_of(all, [&](const Candidate& other) { return same(c, other); });
    if (!is_there) all.push_back(c);
  }
  return all;
}

std::vector<Candidate> grid(const Sums& s, const Conversion& conversion, bool small) {
  std::vector<Candidate> all;
  Candidate start;
  const auto [a, b] = inputs_of(s, conversion);
  start.model = {.input = a,
                 .chunk = measured(1),
                 .accumulator = measured(std::string_view("float32")),
                 .rounding = measured(Rounding::kNearestEven)};
  if (a != b) start.model.other_input = b;
  start.compute = conversion.compute;
  start.compute_rounding = conversion.rounding;
  start = plain(start);
  const std::vector<Rounding> hardware = {Rounding::kNearestEven, Rounding::kTowardZero};
  const std::vector<Rounding> every = small ? hardware : all_roundings();
  const auto is_power = [](int n) { return (n & (n - 1)) == 0; };
  const bool has_bias = !s.is_dot() && !s.start.empty();
  const auto take = [&](Candidate c) {
    for (int first = 0; first < (has_bias ? 2 : 1); ++first) {
      c.bias_first = first != 0;
      for (int fused = s.scales_change() ? 0 : 1; fused < 2; ++fused) {
        c.fused = fused != 0;
        all.push_back(plain(c));
      }
    }
  };
  // The accumulators to try: float32 with every rounding, and narrower ones with the roundings of
  // known hardware.
  struct Width {
    std::string_view accumulator;
    int mantissa_bits;
  };
  std::vector<Width> widths = {s.sums_in_float16 ? Width{"float16", 10} : Width{"float32", 23}};
  if (!s.sums_in_float16) {
    for (int bits = kLeastMantissaBits; bits < 23; ++bits) {
      if (!small || bits == 13) widths.push_back({"float32", bits});
    }
    widths.push_back({"float16", 10});
    if (!small) widths.push_back({"bfloat16", 7});
  }
  const int deepest = static_cast<int>(std::clamp<std::int64_t>(s.k, 1, 64));
  for (int chunk = 1; chunk <= 64; ++chunk) {
    // All chunks longer than K compute the same. The next power of two represents them.
    if (chunk > deepest && !(is_power(chunk) && chunk < 2 * deepest)) continue;
    if (small && !is_power(chunk)) continue;
    for (const Width& width : widths) {
      const bool is_full = width.mantissa_bits == 23 || s.sums_in_float16;
      if (!is_full && !is_power(chunk)) continue;
      const auto& roundings_here = s.sums_in_float16 ? std::vector<Rounding>{Rounding::kNearestEven}
                                                     : (is_full ? every : hardware);
      for (const Rounding rounding : roundings_here) {
        Candidate c = start;
        c.model.chunk = measured(chunk);
        c.model.accumulator = measured(width.accumulator);
        c.model.mantissa_bits = measured(width.mantissa_bits);
        c.model.rounding = measured(rounding);
        for (const ChunkOrder order :
             {ChunkOrder::kFused, ChunkOrder::kSequential, ChunkOrder::kPairwise}) {
          if (chunk == 1 && order != ChunkOrder::kFused) continue;
          for (const bool products : {false, true}) {
            if (order == ChunkOrder::kPairwise && products) continue;
            c.model.order = measured(order);
            c.model.round_products = measured(products);
            take(c);
          }
        }
        c.model.order = measured(ChunkOrder::kFused);
        c.model.round_products = measured(false);
        for (int kept = kLeastKeptBits; kept <= kMostKeptBits; ++kept) {
          for (const Rounding alignment : is_full ? every : hardware) {
            c.model.kept_bits = measured(kept);
            c.model.alignment = measured(alignment);
            take(c);
          }
        }
      }
    }
  }
  return all;
}

}  // namespace assay::identify
