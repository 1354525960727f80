#include "assay/identify/space_parameters.h"

#include <array>

#include "assay/base/text.h"
#include "assay/format/rounding.h"
#include "assay/op/parameter.h"

namespace assay::identify {
namespace {

std::string flag_text(bool flag) { return flag ? "1" : "0"; }

bool is_aligned(const Candidate& c) { return c.model.kept_bits.value > 0; }

// Returns candidates that differ from one in the value that `set` changes. Leaves out the candidate
// itself.
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

bool always(const Sums&, const Candidate&) { return true; }
bool where_aligned(const Sums&, const Candidate& c) { return is_aligned(c); }
bool where_exact(const Sums&, const Candidate& c) { return !is_aligned(c); }

// True if terms are small enough for a floor of emax to have an effect.
bool reaches_floor(const Sums& s) { return s.smallest_exponent < -100; }
bool reaches_subnormal_sums(const Sums& s) {
  return s.smallest_result < 2 * min_normal(format_named("float32")) ||
         (s.output->bits <= 16 && s.smallest_result < 2 * min_normal(*s.output));
}

// True if a product's K is cut into parts, for example over blocks of threads.
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
                            [](Candidate& to, int v) { to.model.chunk = measured(v); });
           }},
      {.name = "order",
       .matters = where_exact,
       .value = [](const Sums&,
                   const Candidate& c) { return std::string(order_word(c.model.order.value)); },
       .others =
           [](const Sums&, const Candidate& c) {
             return changed(
                 c, std::array{ChunkOrder::kFused, ChunkOrder::kSequential, ChunkOrder::kPairwise},
                 [](Candidate& to, ChunkOrder v) { to.model.order = measured(v); });
           }},
      {.name = "rounding",
       .matters = [](const Sums& s, const Candidate&) { return !s.sums_in_float16; },
       .value =
           [](const Sums&, const Candidate& c) {
             return std::string(rounding_name(c.model.rounding.value));
           },
       .others =
           [](const Sums&, const Candidate& c) {
             return changed(c, all_roundings(),
                            [](Candidate& to, Rounding v) { to.model.rounding = measured(v); });
           }},
      {.name = "kept_bits",
       .matters = always,
       .value = [](const Sums&,
                   const Candidate& c) { return formatted("{}", c.model.kept_bits.value); },
       .others =
           [](const Sums&, const Candidate& c) {
             std::vector<int> values = range(kLeastKeptBits, kMostKeptBits);
             values.push_back(0);
             return changed(c, values,
                            [](Candidate& to, int v) { to.model.kept_bits = measured(v); });
           }},
      {.name = "alignment",
       .matters = where_aligned,
       .value =
           [](const Sums&, const Candidate& c) {
             return std::string(rounding_name(c.model.alignment.value));
           },
       .others =
           [](const Sums&, const Candidate& c) {
             return changed(c, all_roundings(),
                            [](Candidate& to, Rounding v) { to.model.alignment = measured(v); });
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
             std::vector<int> values = range(kLowestFloor, kHighestFloor);
             values.push_back(DotModel::kNoFloor);
             return changed(c, values,
                            [](Candidate& to, int v) { to.model.emax_floor = measured(v); });
           }},
      {.name = "mantissa_bits",
       .matters = [](const Sums& s, const Candidate&) { return !s.sums_in_float16; },
       .value = [](const Sums&,
                   const Candidate& c) { return formatted("{}", c.model.mantissa_bits.value); },
       .others =
           [](const Sums&, const Candidate& c) {
             return changed(
                 c, range(kLeastMantissaBits, full_mantissa_bits(c.model.accumulator.value)),
                 [](Candidate& to, int v) { to.model.mantissa_bits = measured(v); });
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
                                             full_mantissa_bits(to.model.accumulator.value);
                           to.model.accumulator = measured(v);
                           if (full) to.model.mantissa_bits = measured(0);
                         });
             // The same number of bits, with float32's range.
             Candidate wide = c;
             wide.model.accumulator = measured(std::string_view("float32"));
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
                            [](Candidate& to, bool v) { to.model.round_products = measured(v); });
           }},
      {.name = "flush_inputs",
       .matters = [](const Sums& s, const Candidate&) { return s.has_subnormal_inputs; },
       .value = [](const Sums&,
                   const Candidate& c) { return flag_text(c.model.flush_inputs.value); },
       .others =
           [](const Sums&, const Candidate& c) {
             return changed(c, std::array{false, true},
                            [](Candidate& to, bool v) { to.model.flush_inputs = measured(v); });
           }},
      {.name = "flush_sums",
       .matters = [](const Sums& s, const Candidate&) { return reaches_subnormal_sums(s); },
       .value = [](const Sums&, const Candidate& c) { return flag_text(c.model.flush_sums.value); },
       .others =
           [](const Sums&, const Candidate& c) {
             return changed(c, std::array{false, true},
                            [](Candidate& to, bool v) { to.model.flush_sums = measured(v); });
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
             std::vector<std::int64_t> values;  // fewer parts than pieces
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
             return changed(c, all_roundings(),
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

std::vector<Candidate> neighbours(const Sums& s, const Candidate& c, bool with_intervals) {
  std::vector<Candidate> all;
  for (const SpaceParameter& row : space_parameters()) {
    if (row.name == "interval" && !with_intervals) continue;
    if (!row.matters(s, c)) continue;
    for (const Candidate& other : row.others(s, c)) all.push_back(other);
  }
  return all;
}

std::vector<Candidate> with_rare_parameters(const Sums& s, const Candidate& c) {
  std::vector<Candidate> all = {c};
  for (const SpaceParameter& row : space_parameters()) {
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

}  // namespace assay::identify
