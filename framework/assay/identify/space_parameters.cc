#include "assay/identify/space_parameters.h"

#include <array>

#include "assay/base/text.h"
#include "assay/format/rounding.h"
#include "assay/identify/divisions.h"

namespace assay::inline v0_2::identify {
namespace {

std::string value_text(bool flag) { return flag ? "1" : "0"; }
std::string value_text(int number) { return formatted("{}", number); }
std::string value_text(std::int64_t number) { return formatted("{}", number); }
std::string value_text(std::string_view word) { return std::string(word); }
std::string value_text(Rounding rounding) { return std::string(rounding_name(rounding)); }
std::string value_text(ChunkOrder order) { return std::string(order_word(order)); }
std::string value_text(ScaleOrder order) {
  return std::string(kScaleOrderWords[static_cast<std::size_t>(order)]);
}
std::string value_text(PartOrder order) {
  return std::string(kPartOrderWords[static_cast<std::size_t>(order)]);
}
std::string value_text(const Format* format) {
  return format == nullptr ? "float32" : std::string(format->name);
}
template <typename T>
std::string value_text(const Known<T>& known) {
  return value_text(known.value);
}

template <typename T>
void set_value(Known<T>& to, const auto& value) {
  to = measured(T{value});
}
template <typename T>
void set_value(T& to, const auto& value) {
  to = value;
}

bool is_aligned(const Candidate& c) { return c.model.kept_bits.value > 0; }

// Returns copies of a candidate, each with one of the values, which `set` sets. Leaves out the
// candidate itself.
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
bool sums_in_float32(const Sums& s, const Candidate&) { return !s.sums_in_float16; }
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
std::array<const Format*, 2> sum_formats(const Sums& s, const Candidate&) {
  return {nullptr, s.output};
}

// Returns a parameter that is a member of a candidate, which at(candidate) returns. `values`
// returns the values that a search tries.
template <typename Matters, typename At, typename Values>
SpaceParameter member(std::string_view name, const Matters& matters, const At& at,
                      const Values& values) {
  return {.name = name,
          .matters = matters,
          .value = [at](const Sums&, const Candidate& c) { return value_text(at(c)); },
          .others =
              [at, values](const Sums& s, const Candidate& c) {
                return changed(c, values(s, c),
                               [&](Candidate& to, const auto& value) { set_value(at(to), value); });
              }};
}

// These functions return the values of flags, roundings and orders to try. The values do not depend
// on the sums.
auto flags(const Sums&, const Candidate&) { return std::array{false, true}; }
auto roundings(const Sums&, const Candidate&) { return all_roundings(); }
template <auto... kValues>
auto one_of(const Sums&, const Candidate&) {
  return std::array{kValues...};
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
      member(
          "chunk", always, [](auto& c) -> auto& { return c.model.chunk; },
          [](const Sums&, const Candidate&) { return range(1, 64); }),
      member(
          "order", where_exact, [](auto& c) -> auto& { return c.model.order; },
          one_of<ChunkOrder::kFused, ChunkOrder::kSequential, ChunkOrder::kPairwise>),
      member(
          "rounding", sums_in_float32, [](auto& c) -> auto& { return c.model.rounding; },
          roundings),
      member(
          "kept_bits", always, [](auto& c) -> auto& { return c.model.kept_bits; },
          [](const Sums&, const Candidate&) {
            std::vector<int> values = range(kLeastKeptBits, kMostKeptBits);
            values.push_back(0);
            return values;
          }),
      member(
          "alignment", where_aligned, [](auto& c) -> auto& { return c.model.alignment; },
          roundings),
      [] {
        SpaceParameter floor = member(
            "emax_floor",
            [](const Sums& s, const Candidate& c) { return is_aligned(c) && reaches_floor(s); },
            [](auto& c) -> auto& { return c.model.emax_floor; },
            [](const Sums&, const Candidate&) {
              std::vector<int> values = range(kLowestFloor, kHighestFloor);
              values.push_back(DotModel::kNoFloor);
              return values;
            });
        floor.value = [](const Sums&, const Candidate& c) {
          const int value = c.model.emax_floor.value;
          return value == DotModel::kNoFloor ? std::string("none") : value_text(value);
        };
        return floor;
      }(),
      member(
          "mantissa_bits", sums_in_float32, [](auto& c) -> auto& { return c.model.mantissa_bits; },
          [](const Sums&, const Candidate& c) {
            return range(kLeastMantissaBits, full_mantissa_bits(c.model.accumulator.value));
          }),
      {.name = "accumulator",
       .matters = sums_in_float32,
       .value = [](const Sums&, const Candidate& c) { return value_text(c.model.accumulator); },
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
             // Also tries a float32 accumulator with the same number of mantissa bits.
             Candidate wide = c;
             wide.model.accumulator = measured(std::string_view("float32"));
             if (!same(wide, c)) others.push_back(wide);
             return others;
           }},
      member(
          "round_products",
          [](const Sums&, const Candidate& c) {
            return !is_aligned(c) && c.model.order.value != ChunkOrder::kPairwise;
          },
          [](auto& c) -> auto& { return c.model.round_products; }, flags),
      member(
          "flush_inputs", [](const Sums& s, const Candidate&) { return s.has_subnormal_inputs; },
          [](auto& c) -> auto& { return c.model.flush_inputs; }, flags),
      member(
          "flush_sums", [](const Sums& s, const Candidate&) { return reaches_subnormal_sums(s); },
          [](auto& c) -> auto& { return c.model.flush_sums; }, flags),
      member(
          "bias_first",
          [](const Sums& s, const Candidate&) { return !s.is_dot() && !s.start.empty(); },
          [](auto& c) -> auto& { return c.bias_first; }, flags),
      member(
          "round_before_bias",
          [](const Sums& s, const Candidate& c) {
            return !s.is_dot() && !s.is_scaled() && !s.start.empty() && s.output->bits <= 16 &&
                   !c.bias_first;
          },
          [](auto& c) -> auto& { return c.round_before_bias; }, flags),
      member(
          "fused", [](const Sums& s, const Candidate&) { return s.scales_change(); },
          [](auto& c) -> auto& { return c.fused; }, flags),
      member(
          "scale_order", [](const Sums& s, const Candidate&) { return s.is_scaled(); },
          [](auto& c) -> auto& { return c.scale_order; },
          one_of<ScaleOrder::kTogether, ScaleOrder::kAFirst, ScaleOrder::kBFirst>),
      member(
          "interval", always, [](auto& c) -> auto& { return c.split.terms; },
          [](const Sums& s, const Candidate& c) {
            return c.inner_interval > 0 || s.k > 1024 ? likely_intervals(s) : all_intervals(s);
          }),
      member(
          "split_first",
          [](const Sums& s, const Candidate& c) { return is_cut(s, c) && c.split.dealt == 0; },
          [](auto& c) -> auto& { return c.split.first; },
          [](const Sums&, const Candidate& c) {
            std::vector<std::int64_t> values = {0};
            for (std::int64_t v = 1; v < c.split.terms; ++v) values.push_back(v);
            return values;
          }),
      member(
          "split_parts",
          [](const Sums& s, const Candidate& c) { return is_cut(s, c) && c.split.first == 0; },
          [](auto& c) -> auto& { return c.split.dealt; },
          [](const Sums& s, const Candidate& c) {
            // Numbers of parts that are smaller than the number of pieces.
            std::vector<std::int64_t> values;
            for (const std::int64_t v : kDealtParts) {
              if (v * c.split.terms < s.k) values.push_back(v);
            }
            return values;
          }),
      member(
          "split_order", is_cut, [](auto& c) -> auto& { return c.split.order; },
          one_of<PartOrder::kAscending, PartOrder::kDescending, PartOrder::kPairwise>),
      member(
          "split_dtype", is_cut_of_16_bits, [](auto& c) -> auto& { return c.split.part; },
          sum_formats),
      member(
          "split_sum_dtype", is_cut_of_16_bits, [](auto& c) -> auto& { return c.split.sum; },
          sum_formats),
      member(
          "output_rounding",
          [](const Sums& s, const Candidate& c) {
            return s.op == "matmul" &&
                   s.output->precision < format_named(c.model.accumulator.value).precision;
          },
          [](auto& c) -> auto& { return c.output_rounding; }, roundings),
      member(
          "inner_interval", [](const Sums&, const Candidate& c) { return c.inner_interval > 0; },
          [](auto& c) -> auto& { return c.inner_interval; },
          [](const Sums&, const Candidate& c) {
            std::vector<int> values;
            for (const int v : {0, 32, 64, 128, 256, 512}) {
              if (v < c.split.terms) values.push_back(v);
            }
            return values;
          }),
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
