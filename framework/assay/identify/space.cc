#include "assay/identify/space.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <set>
#include <tuple>

#include "assay/base/text.h"
#include "assay/format/rounding.h"
#include "assay/op/parameter.h"

namespace assay::identify {
namespace {

constexpr auto kHow = Provenance::kMeasured;

template <typename T>
Known<T> known(T value) {
  return {value, kHow};
}

constexpr Rounding kConversionRoundings[] = {Rounding::kNearestEven, Rounding::kNearestAway,
                                             Rounding::kTowardZero};
constexpr int kMostKeptBits = 40, kLeastKeptBits = 6;
constexpr int kLeastMantissa = 7;
// Below every exponent of a product of float32 values: no floor.
constexpr int kFloorless = -300;

int full_mantissa(std::string_view accumulator) { return format_named(accumulator).precision - 1; }
bool is_aligned(const Candidate& c) { return c.model.kept_bits.value > 0; }

// A list of candidates that differ from one by what `set` does with each value.
template <typename Values, typename Set>
std::vector<Candidate> changed(const Candidate& from, const Values& values, const Set& set) {
  std::vector<Candidate> all;
  for (const auto& value : values) {
    Candidate to = from;
    set(to, value);
    to = plain(to);
    if (!same(to, from)) all.push_back(to);
  }
  return all;
}

std::vector<int> range(int first, int last) {
  std::vector<int> values;
  for (int i = first; i <= last; ++i) values.push_back(i);
  return values;
}
std::vector<Rounding> roundings() {
  std::vector<Rounding> all;
  for (const RoundingRow& row : deterministic_rounding_rows()) all.push_back(row.rounding);
  return all;
}

bool always(const Sums&, const Candidate&) { return true; }
bool where_aligned(const Sums&, const Candidate& c) { return is_aligned(c); }
bool where_exact(const Sums&, const Candidate& c) { return !is_aligned(c); }

// Whether terms are so small that a floor of emax could act.
bool reaches_floor(const Sums& s) { return s.smallest_exponent < -100; }
bool reaches_subnormal_sums(const Sums& s) {
  return s.smallest_result < 2 * min_normal(format_named("float32")) ||
         (s.output->bits <= 16 && s.smallest_result < 2 * min_normal(*s.output));
}

std::string flag_text(bool flag) { return flag ? "1" : "0"; }

// Parts of K that a product is cut into, as over blocks of threads.
bool is_cut(const Sums& s, const Candidate& c) {
  return s.op == "matmul" && c.split.terms > 0 && c.split.terms < s.k;
}
bool is_cut_of_16_bits(const Sums& s, const Candidate& c) {
  return is_cut(s, c) && s.output->bits == 16;
}
std::array<const Format*, 2> sum_formats(const Sums& s) { return {nullptr, s.output}; }
std::string format_text(const Format* format) {
  return format == nullptr ? "float32" : std::string(format->name);
}

const std::vector<SpaceParameter>& rows() {
  static const std::vector<SpaceParameter> all = {
      {.name = "compute_dtype",
       .matters = [](const Sums& s, const Candidate&) { return conversions_of(s).size() > 1; },
       .value =
           [](const Sums&, const Candidate& c) {
             return c.compute == nullptr
                        ? std::string("none")
                        : formatted("{} {}{}", c.compute->name, rounding_name(c.compute_rounding),
                                    c.in_two_terms ? " in two terms" : "");
           },
       .others =
           [](const Sums& s, const Candidate& c) {
             return changed(c, conversions_of(s), [&](Candidate& to, const Conversion& v) {
               to.compute = v.compute;
               to.compute_rounding = v.rounding;
               to.in_two_terms = v.in_two_terms;
               to.model.input = v.compute != nullptr ? v.compute->name : s.a_format->name;
             });
           }},
      {.name = "chunk",
       .matters = always,
       .value = [](const Sums&,
                   const Candidate& c) { return formatted("{}", c.model.chunk.value); },
       .others =
           [](const Sums&, const Candidate& c) {
             return changed(c, range(1, 64),
                            [](Candidate& to, int v) { to.model.chunk = known(v); });
           }},
      {.name = "order",
       .matters = where_exact,
       .value = [](const Sums&,
                   const Candidate& c) { return std::string(order_word(c.model.order.value)); },
       .others =
           [](const Sums&, const Candidate& c) {
             return changed(
                 c, std::array{ChunkOrder::kFused, ChunkOrder::kSequential, ChunkOrder::kPairwise},
                 [](Candidate& to, ChunkOrder v) { to.model.order = known(v); });
           }},
      {.name = "rounding",
       .matters = [](const Sums& s, const Candidate&) { return !s.sums_in_float16; },
       .value =
           [](const Sums&, const Candidate& c) {
             return std::string(rounding_name(c.model.rounding.value));
           },
       .others =
           [](const Sums&, const Candidate& c) {
             return changed(c, roundings(),
                            [](Candidate& to, Rounding v) { to.model.rounding = known(v); });
           }},
      {.name = "kept_bits",
       .matters = always,
       .value = [](const Sums&,
                   const Candidate& c) { return formatted("{}", c.model.kept_bits.value); },
       .others =
           [](const Sums&, const Candidate& c) {
             std::vector<int> values = range(kLeastKeptBits, kMostKeptBits);
             values.push_back(0);
             return changed(c, values, [](Candidate& to, int v) { to.model.kept_bits = known(v); });
           }},
      {.name = "alignment",
       .matters = where_aligned,
       .value =
           [](const Sums&, const Candidate& c) {
             return std::string(rounding_name(c.model.alignment.value));
           },
       .others =
           [](const Sums&, const Candidate& c) {
             return changed(c, roundings(),
                            [](Candidate& to, Rounding v) { to.model.alignment = known(v); });
           }},
      {.name = "emax_floor",
       .matters = [](const Sums& s,
                     const Candidate& c) { return is_aligned(c) && reaches_floor(s); },
       .value =
           [](const Sums&, const Candidate& c) {
             const int floor = c.model.emax_floor.value;
             return floor == DotModel::kNoFloor ? std::string("none") : formatted("{}", floor);
           },
       .others =
           [](const Sums&, const Candidate& c) {
             std::vector<int> values = range(-150, -120);
             values.push_back(DotModel::kNoFloor);
             return changed(c, values,
                            [](Candidate& to, int v) { to.model.emax_floor = known(v); });
           }},
      {.name = "mantissa_bits",
       .matters = [](const Sums& s, const Candidate&) { return !s.sums_in_float16; },
       .value = [](const Sums&,
                   const Candidate& c) { return formatted("{}", c.model.mantissa_bits.value); },
       .others =
           [](const Sums&, const Candidate& c) {
             return changed(c, range(kLeastMantissa, full_mantissa(c.model.accumulator.value)),
                            [](Candidate& to, int v) { to.model.mantissa_bits = known(v); });
           }},
      {.name = "accumulator",
       .matters = [](const Sums& s, const Candidate&) { return !s.sums_in_float16; },
       .value = [](const Sums&,
                   const Candidate& c) { return std::string(c.model.accumulator.value); },
       .others =
           [](const Sums&, const Candidate& c) {
             std::vector<Candidate> others =
                 changed(c, std::array<std::string_view, 3>{"float32", "float16", "bfloat16"},
                         [&](Candidate& to, std::string_view v) {
                           const bool full = to.model.mantissa_bits.value ==
                                             full_mantissa(to.model.accumulator.value);
                           to.model.accumulator = known(v);
                           if (full) to.model.mantissa_bits = known(0);
                         });
             // As many bits in float32's range.
             Candidate wide = c;
             wide.model.accumulator = known(std::string_view("float32"));
             if (!same(wide, c)) others.push_back(wide);
             return others;
           }},
      {.name = "round_products",
       .matters =
           [](const Sums&, const Candidate& c) {
             return !is_aligned(c) && c.model.order.value != ChunkOrder::kPairwise;
           },
       .value = [](const Sums&,
                   const Candidate& c) { return flag_text(c.model.round_products.value); },
       .others =
           [](const Sums&, const Candidate& c) {
             return changed(c, std::array{false, true},
                            [](Candidate& to, bool v) { to.model.round_products = known(v); });
           }},
      {.name = "flush_inputs",
       .matters = [](const Sums& s, const Candidate&) { return s.has_subnormal_inputs; },
       .value = [](const Sums&,
                   const Candidate& c) { return flag_text(c.model.flush_inputs.value); },
       .others =
           [](const Sums&, const Candidate& c) {
             return changed(c, std::array{false, true},
                            [](Candidate& to, bool v) { to.model.flush_inputs = known(v); });
           }},
      {.name = "flush_sums",
       .matters = [](const Sums& s, const Candidate&) { return reaches_subnormal_sums(s); },
       .value = [](const Sums&, const Candidate& c) { return flag_text(c.model.flush_sums.value); },
       .others =
           [](const Sums&, const Candidate& c) {
             return changed(c, std::array{false, true},
                            [](Candidate& to, bool v) { to.model.flush_sums = known(v); });
           }},
      {.name = "bias_first",
       .matters = [](const Sums& s, const Candidate&) { return !s.is_dot() && !s.start.empty(); },
       .value = [](const Sums&, const Candidate& c) { return flag_text(c.bias_first); },
       .others =
           [](const Sums&, const Candidate& c) {
             return changed(c, std::array{false, true},
                            [](Candidate& to, bool v) { to.bias_first = v; });
           }},
      {.name = "round_before_bias",
       .matters =
           [](const Sums& s, const Candidate& c) {
             return !s.is_dot() && !s.is_scaled() && !s.start.empty() && s.output->bits <= 16 &&
                    !c.bias_first;
           },
       .value = [](const Sums&, const Candidate& c) { return flag_text(c.round_before_bias); },
       .others =
           [](const Sums&, const Candidate& c) {
             return changed(c, std::array{false, true},
                            [](Candidate& to, bool v) { to.round_before_bias = v; });
           }},
      {.name = "fused",
       .matters = [](const Sums& s, const Candidate&) { return s.scales_change(); },
       .value = [](const Sums&, const Candidate& c) { return flag_text(c.fused); },
       .others =
           [](const Sums&, const Candidate& c) {
             return changed(c, std::array{false, true},
                            [](Candidate& to, bool v) { to.fused = v; });
           }},
      {.name = "scale_order",
       .matters = [](const Sums& s, const Candidate&) { return s.is_scaled(); },
       .value =
           [](const Sums&, const Candidate& c) {
             return std::string(kScaleOrderWords[static_cast<std::size_t>(c.scale_order)]);
           },
       .others =
           [](const Sums&, const Candidate& c) {
             return changed(
                 c, std::array{ScaleOrder::kTogether, ScaleOrder::kAFirst, ScaleOrder::kBFirst},
                 [](Candidate& to, ScaleOrder v) { to.scale_order = v; });
           }},
      {.name = "interval",
       .matters = always,
       .value = [](const Sums&, const Candidate& c) { return formatted("{}", c.split.terms); },
       .others =
           [](const Sums& s, const Candidate& c) {
             return changed(
                 c, c.inner_interval > 0 || s.k > 1024 ? likely_intervals(s) : all_intervals(s),
                 [](Candidate& to, std::int64_t v) { to.split.terms = v; });
           }},
      {.name = "split_first",
       .matters = [](const Sums& s,
                     const Candidate& c) { return is_cut(s, c) && c.split.dealt == 0; },
       .value = [](const Sums&, const Candidate& c) { return formatted("{}", c.split.first); },
       .others =
           [](const Sums&, const Candidate& c) {
             std::vector<std::int64_t> values = {0};
             for (std::int64_t v = 1; v < c.split.terms; ++v) values.push_back(v);
             return changed(c, values, [](Candidate& to, std::int64_t v) { to.split.first = v; });
           }},
      {.name = "split_parts",
       .matters = [](const Sums& s,
                     const Candidate& c) { return is_cut(s, c) && c.split.first == 0; },
       .value = [](const Sums&, const Candidate& c) { return formatted("{}", c.split.dealt); },
       .others =
           [](const Sums& s, const Candidate& c) {
             std::vector<std::int64_t> values;  // fewer than there are pieces
             for (const std::int64_t v : kDealtParts) {
               if (v * c.split.terms < s.k) values.push_back(v);
             }
             return changed(c, values, [](Candidate& to, std::int64_t v) { to.split.dealt = v; });
           }},
      {.name = "split_order",
       .matters = is_cut,
       .value =
           [](const Sums&, const Candidate& c) {
             return std::string(kPartOrderWords[static_cast<std::size_t>(c.split.order)]);
           },
       .others =
           [](const Sums&, const Candidate& c) {
             return changed(
                 c, std::array{PartOrder::kAscending, PartOrder::kDescending, PartOrder::kPairwise},
                 [](Candidate& to, PartOrder v) { to.split.order = v; });
           }},
      {.name = "split_dtype",
       .matters = is_cut_of_16_bits,
       .value = [](const Sums&, const Candidate& c) { return format_text(c.split.part); },
       .others =
           [](const Sums& s, const Candidate& c) {
             return changed(c, sum_formats(s),
                            [](Candidate& to, const Format* v) { to.split.part = v; });
           }},
      {.name = "split_sum_dtype",
       .matters = is_cut_of_16_bits,
       .value = [](const Sums&, const Candidate& c) { return format_text(c.split.sum); },
       .others =
           [](const Sums& s, const Candidate& c) {
             return changed(c, sum_formats(s),
                            [](Candidate& to, const Format* v) { to.split.sum = v; });
           }},
      {.name = "output_rounding",
       .matters =
           [](const Sums& s, const Candidate& c) {
             return s.op == "matmul" &&
                    s.output->precision < format_named(c.model.accumulator.value).precision;
           },
       .value = [](const Sums&,
                   const Candidate& c) { return std::string(rounding_name(c.output_rounding)); },
       .others =
           [](const Sums&, const Candidate& c) {
             return changed(c, roundings(),
                            [](Candidate& to, Rounding v) { to.output_rounding = v; });
           }},
      {.name = "inner_interval",
       .matters = [](const Sums&, const Candidate& c) { return c.inner_interval > 0; },
       .value = [](const Sums&, const Candidate& c) { return formatted("{}", c.inner_interval); },
       .others =
           [](const Sums&, const Candidate& c) {
             return changed(c, std::array{0, 32, 64, 128, 256, 512}, [](Candidate& to, int v) {
               if (v < to.split.terms) to.inner_interval = v;
             });
           }},
  };
  return all;
}

}  // namespace

std::vector<SpaceParameter> const& space_parameters() { return rows(); }

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
  const int full = full_mantissa(m.accumulator.value);
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

// All that a candidate says.
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

std::vector<Candidate> each_once(const std::vector<Candidate>& candidates) {
  std::set<decltype(key_of(Candidate{}))> seen;
  std::vector<Candidate> all;
  for (const Candidate& c : candidates) {
    if (seen.insert(key_of(c)).second) all.push_back(c);
  }
  return all;
}

Candidate candidate_of(const Sums& s, const Machine& machine, const DotModel& row,
                       const Conversion& conversion) {
  Candidate c;
  c.model = row;
  c.model.other_input =
      conversion.compute != nullptr || s.a_format == s.b_format ? "" : s.b_format->name;
  c.compute = conversion.compute;
  c.compute_rounding = conversion.rounding;
  c.in_two_terms = conversion.in_two_terms;
  c.bias_first = machine.bias_first.value;
  c.split.terms = row.promotion_interval.value;
  if (s.sums_in_float16) {
    c.model.accumulator = known(std::string_view("float16"));
    c.model.rounding = known(Rounding::kNearestEven);
    c.model.mantissa_bits = known(0);
  }
  return plain(c);
}

namespace {

// What a unit reads: the operands' formats, or what both are converted to.
std::pair<std::string_view, std::string_view> inputs_of(const Sums& s,
                                                        const Conversion& conversion) {
  if (conversion.compute != nullptr) return {conversion.compute->name, conversion.compute->name};
  return {s.a_format->name, s.b_format->name};
}

const DotModel* row_for(const Machine& machine, std::string_view input) {
  for (const DotModel& row : machine.dots) {
    if (row.input == input && row.accumulator.value != "int32") return &row;
  }
  return nullptr;
}

}  // namespace

std::vector<Candidate> row_candidates(const Sums& s, const Conversion& conversion) {
  std::vector<Candidate> all;
  const auto [a, b] = inputs_of(s, conversion);
  for (const Machine& machine : machines()) {
    const DotModel* row = row_for(machine, a);
    if (row == nullptr || row_for(machine, b) == nullptr) continue;
    const Candidate c = candidate_of(s, machine, *row, conversion);
    const bool is_there =
        std::any_of(all.begin(), all.end(), [&](const Candidate& other) { return same(c, other); });
    if (!is_there) all.push_back(c);
  }
  return all;
}

std::vector<Candidate> neighbours(const Sums& s, const Candidate& c, bool with_intervals) {
  std::vector<Candidate> all;
  for (const SpaceParameter& row : rows()) {
    if (row.name == "interval" && !with_intervals) continue;
    if (!row.matters(s, c)) continue;
    for (const Candidate& other : row.others(s, c)) all.push_back(other);
  }
  return all;
}

std::vector<Candidate> grid(const Sums& s, const Conversion& conversion, bool small) {
  std::vector<Candidate> all;
  Candidate start;
  const auto [a, b] = inputs_of(s, conversion);
  start.model = {.input = a,
                 .chunk = known(1),
                 .accumulator = known(std::string_view("float32")),
                 .rounding = known(Rounding::kNearestEven)};
  if (a != b) start.model.other_input = b;
  start.compute = conversion.compute;
  start.compute_rounding = conversion.rounding;
  start = plain(start);
  const std::vector<Rounding> hardware = {Rounding::kNearestEven, Rounding::kTowardZero};
  const std::vector<Rounding> every = small ? hardware : roundings();
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
  // Accumulators: float32 by every rounding; narrower ones by those that hardware has.
  struct Width {
    std::string_view accumulator;
    int mantissa_bits;
  };
  std::vector<Width> widths = {s.sums_in_float16 ? Width{"float16", 10} : Width{"float32", 23}};
  if (!s.sums_in_float16) {
    for (int bits = kLeastMantissa; bits < 23; ++bits) {
      if (!small || bits == 13) widths.push_back({"float32", bits});
    }
    widths.push_back({"float16", 10});
    if (!small) widths.push_back({"bfloat16", 7});
  }
  const int deepest = static_cast<int>(std::clamp<std::int64_t>(s.k, 1, 64));
  for (int chunk = 1; chunk <= 64; ++chunk) {
    // Beyond K all chunks are one; the next power of two stands for them.
    if (chunk > deepest && !(is_power(chunk) && chunk < 2 * deepest)) continue;
    if (small && !is_power(chunk)) continue;
    for (const Width& width : widths) {
      const bool is_full = width.mantissa_bits == 23 || s.sums_in_float16;
      if (!is_full && !is_power(chunk)) continue;
      const auto& roundings_here = s.sums_in_float16 ? std::vector<Rounding>{Rounding::kNearestEven}
                                                     : (is_full ? every : hardware);
      for (const Rounding rounding : roundings_here) {
        Candidate c = start;
        c.model.chunk = known(chunk);
        c.model.accumulator = known(width.accumulator);
        c.model.mantissa_bits = known(width.mantissa_bits);
        c.model.rounding = known(rounding);
        for (const ChunkOrder order :
             {ChunkOrder::kFused, ChunkOrder::kSequential, ChunkOrder::kPairwise}) {
          if (chunk == 1 && order != ChunkOrder::kFused) continue;
          for (const bool products : {false, true}) {
            if (order == ChunkOrder::kPairwise && products) continue;
            c.model.order = known(order);
            c.model.round_products = known(products);
            take(c);
          }
        }
        c.model.order = known(ChunkOrder::kFused);
        c.model.round_products = known(false);
        for (int kept = kLeastKeptBits; kept <= kMostKeptBits; ++kept) {
          for (const Rounding alignment : is_full ? every : hardware) {
            c.model.kept_bits = known(kept);
            c.model.alignment = known(alignment);
            take(c);
          }
        }
      }
    }
  }
  return all;
}

std::vector<Candidate> with_rare_parameters(const Sums& s, const Candidate& c) {
  std::vector<Candidate> all = {c};
  for (const SpaceParameter& row : rows()) {
    if (row.name != "emax_floor" && row.name != "flush_inputs" && row.name != "flush_sums") {
      continue;
    }
    const std::size_t before = all.size();
    for (std::size_t i = 0; i < before; ++i) {
      if (!row.matters(s, all[i])) continue;
      for (const Candidate& other : row.others(s, all[i])) all.push_back(other);
    }
  }
  return all;
}

namespace {

// What of a row `--machine` can set: its name there, and whether and how a candidate differs.
struct TextKey {
  std::string_view name;
  std::string (*value)(const DotModel& model);
  bool may_be_hidden = false;  // by others, so that it means nothing: plain()
};
constexpr TextKey kTextKeys[] = {
    {"chunk", [](const DotModel& m) { return formatted("{}", m.chunk.value); }},
    {"accumulator", [](const DotModel& m) { return std::string(m.accumulator.value); }},
    {"order", [](const DotModel& m) { return std::string(order_word(m.order.value)); }},
    {"rounding", [](const DotModel& m) { return std::string(rounding_name(m.rounding.value)); }},
    {"kept_bits", [](const DotModel& m) { return formatted("{}", m.kept_bits.value); }},
    {"alignment", [](const DotModel& m) { return std::string(rounding_name(m.alignment.value)); },
     true},
    {"emax_floor",
     [](const DotModel& m) {
       const int floor = m.emax_floor.value;
       return formatted("{}", floor == DotModel::kNoFloor ? kFloorless : floor);
     },
     true},
    {"mantissa_bits", [](const DotModel& m) { return formatted("{}", m.mantissa_bits.value); }},
    {"round_products", [](const DotModel& m) { return flag_text(m.round_products.value); }, true},
    {"flush_inputs", [](const DotModel& m) { return flag_text(m.flush_inputs.value); }},
    {"flush_sums", [](const DotModel& m) { return flag_text(m.flush_sums.value); }},
    {"sum_bits", [](const DotModel& m) { return formatted("{}", m.sum_bits.value); }},
    {"interleave", [](const DotModel& m) { return formatted("{}", m.interleave.value); }, true},
    {"reach", [](const DotModel& m) { return formatted("{}", m.reach.value); }, true},
};

}  // namespace

bool divides_by_promotion(const Sums& s, const Candidate& c) {
  if (c.split != KSplit{.terms = c.split.terms}) return false;
  return s.is_dot() || s.is_scaled() || c.split.terms >= s.k ||
         (s.a_format->bits == 8 && c.split.terms <= 512 && c.inner_interval == 0);
}

CandidateText text_of(const Sums& s, const Candidate& c) {
  const Conversion conversion{c.compute, c.compute_rounding};
  const auto [a, b] = inputs_of(s, conversion);
  CandidateText best;
  best.changes = 1000;
  int place = 0;
  for (const Machine& machine : machines()) {
    ++place;
    const DotModel* row = row_for(machine, a);
    if (row == nullptr || row_for(machine, b) == nullptr) continue;
    const Candidate base = candidate_of(s, machine, *row, conversion);
    CandidateText text{std::string(machine.name), {}, 0, true};
    // What means nothing in the row may mean something beside other parameters.
    Candidate hidden = base;
    hidden.model = *row;
    hidden.model.order = c.model.order;
    hidden.model.kept_bits = c.model.kept_bits;
    hidden.model.sum_bits = c.model.sum_bits;
    hidden = plain(hidden);
    for (const TextKey& key : kTextKeys) {
      const std::string value = key.value(c.model);
      if (value == key.value((key.may_be_hidden ? hidden : base).model)) continue;
      // What dot fixes by itself, and what means nothing without alignment, is not said.
      if (s.sums_in_float16 &&
          (key.name == "accumulator" || key.name == "rounding" || key.name == "mantissa_bits")) {
        continue;
      }
      const bool of_alignment = key.name == "alignment" || key.name == "emax_floor";
      if (of_alignment && c.model.kept_bits.value == 0) continue;
      text.machine += formatted(",{}={}", key.name, value);
      ++text.changes;
    }
    text.has_rows_unit = text.changes == 0;
    if (!s.is_dot() && !s.start.empty() && c.bias_first != base.bias_first) {
      text.machine += formatted(",bias_first={}", flag_text(c.bias_first));
      ++text.changes;
    }
    if (row->promotion_interval.value > 0 && c.split.terms == 0) {
      text.machine += ",promotion_interval=0";
      ++text.changes;
    }
    if (text.changes >= best.changes) continue;
    text.is_row = text.changes == 0;
    text.place = place;
    best = text;
  }
  if (c.compute != nullptr) {
    best.parameters["compute_dtype"] = std::string(c.compute->name);
    if (c.compute_rounding != Rounding::kNearestEven) {
      best.parameters["compute_rounding"] = std::string(rounding_name(c.compute_rounding));
    }
    if (c.in_two_terms) best.parameters["compute_terms"] = std::int64_t{2};
  }
  if (c.split.first > 0) best.parameters["split_first"] = c.split.first;
  if (c.split.dealt > 0) best.parameters["split_parts"] = c.split.dealt;
  if (c.split.order != PartOrder::kAscending) {
    best.parameters["split_order"] =
        std::string(kPartOrderWords[static_cast<std::size_t>(c.split.order)]);
  }
  if (c.split.part != nullptr) best.parameters["split_dtype"] = std::string(c.split.part->name);
  if (c.split.sum != nullptr) best.parameters["split_sum_dtype"] = std::string(c.split.sum->name);
  if (c.round_before_bias) best.parameters["round_before_bias"] = std::int64_t{1};
  if (c.output_rounding != Rounding::kNearestEven) {
    best.parameters["output_rounding"] = std::string(rounding_name(c.output_rounding));
  }
  if (c.split.terms > 0) {
    best.parameters[divides_by_promotion(s, c) ? "promotion_interval" : "split_k"] = c.split.terms;
  }
  if (c.inner_interval > 0) best.parameters["promotion_interval"] = c.inner_interval;
  if (c.scale_order != ScaleOrder::kTogether) {
    best.parameters["scale_order"] =
        std::string(kScaleOrderWords[static_cast<std::size_t>(c.scale_order)]);
  }
  if (s.scales_change()) best.parameters["fused"] = std::int64_t{c.fused ? 1 : 0};
  return best;
}

}  // namespace assay::identify
