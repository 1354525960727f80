#include "assay/judge/standards.h"

#include <algorithm>

#include "assay/base/text.h"
#include "assay/base/words.h"
#include "assay/format/table.h"
#include "assay/judge/standards_ascend.h"
#include "assay/judge/standards_others.h"

namespace assay::inline v0_2 {
namespace {

// The rule that assay uses if nothing else is known about a case. The numbers for each dtype are
// large enough that a result one rounding away from the golden result passes. bfloat16's ulp can
// exceed 5e-3 of a value, so its row also accepts the neighbouring values.
constexpr ToleranceRow kDefaultRows[] = {
    {.dtype = "float16", .rtol = 1e-3, .atol = 1e-3},
    {.dtype = "bfloat16", .rtol = 5e-3, .atol = 5e-3, .or_ulps = 1},
    {.dtype = "float32", .rtol = 1e-5, .atol = 1e-5},
    {.dtype = "float64", .rtol = 1e-7, .atol = 1e-7},
    {.dtype = "complex32", .rtol = 1e-3, .atol = 1e-3},
    {.dtype = "complex64", .rtol = 1e-5, .atol = 1e-5},
    {.dtype = "complex128", .rtol = 1e-7, .atol = 1e-7},
    {.dtype = "*", .ulps = 1, .rule = Rule::kUlps}};
constexpr Standard kDefault = {
    .name = kDefaultStandard,
    .source = "assay's own: rtol = atol by dtype and never less than one ulp; NaN equals nothing",
    .publication = {"assay", "", "framework/assay/judge/standards.cc", "2026-11-28"},
    .round_expected = true,
    .rows = kDefaultRows};

// Another name for a standard. The newest version that was read completely also has the name
// without a suffix, and TTK's rules have the words of its option --compare.
struct OtherName {
  std::string_view name, standard;
};
constexpr OtherName kOtherNames[] = {
    {"cann_ecosystem", "cann_ecosystem@2026-07"},
    {"cann_ecosystem_hf32", "cann_ecosystem_hf32@2026-07"},
    {"ttk_mixed", "ttk_mixed@2026-09"},
    {"ttk_mixed_hf32", "ttk_mixed_hf32@2026-09"},
    {"atb", "atb@2026-05"},
    {"atb_high_precision", "atb_high_precision@2026-05"},
    {"iree", "iree@2026-05"},
    {"mixed", "ttk_mixed@2026-09"},
    {"stat_rel_err", "ttk_stat_rel_err"},
    {"close", "ttk_close"},
    {"cosine", "ttk_cosine"},
    {"binary", "ttk_binary"},
    {"requant", "ttk_requant"},
    {"quant", "ttk_quant"},
    {"cross_check", "ttk_cross_check_l1"},
};

constexpr Word<Growth> kGrowthWords[] = {{"none", Growth::kNone},
                                         {"twice_from_2048", Growth::kTwiceFrom2048},
                                         {"atb", Growth::kAtb},
                                         {"linear", Growth::kLinear}};

}  // namespace

std::string Publication::text() const {
  return formatted("{}{}{}{}{}, {}", repository, commit.empty() ? "" : "@", commit,
                   path.empty() ? "" : ", ", path, date);
}

std::string_view growth_word(Growth growth) {
  return find_row(kGrowthWords, growth, &Word<Growth>::value)->name;
}

std::optional<Growth> growth_named(std::string_view word) {
  const auto* row = find_row(kGrowthWords, word, &Word<Growth>::name);
  return row != nullptr ? std::optional(row->value) : std::nullopt;
}

std::span<const Standard> standards() {
  static const std::vector<Standard> all = [] {
    std::vector<Standard> rows = {kDefault};
    for (const auto& part : {ascend_standards(), other_standards()}) {
      rows.insert(rows.end(), part.begin(), part.end());
    }
    return rows;
  }();
  return all;
}

const Standard* find_standard(std::string_view name) {
  const OtherName* other = find_row(kOtherNames, name, &OtherName::name);
  return find_row(standards(), other != nullptr ? other->standard : name, &Standard::name);
}

std::vector<std::string_view> other_names(const Standard& standard) {
  std::vector<std::string_view> names;
  for (const OtherName& other : kOtherNames) {
    if (other.standard == standard.name) names.push_back(other.name);
  }
  return names;
}

std::vector<std::pair<std::string, std::string>> standard_rules(const Standard& s) {
  const auto names = [&](std::string_view dtype) {
    const auto is = [&](const auto& row) { return row.dtype == dtype; };
    return std::ranges::any_of(s.rows, is) || std::ranges::any_of(s.limits, is);
  };
  const auto text = [&](const Format& dtype) {
    const Bound bound = *standard_bound(s.name, dtype, 1);
    return bound.text() +
           (bound.max_mismatch_fraction
                ? formatted(", of all but {}", number_text(*bound.max_mismatch_fraction))
                : std::string());
  };
  std::vector<std::pair<std::string, std::string>> rules;
  const std::string integers = names("int64") ? text(format_named("int64")) : "";
  for (const std::span<const Format> table : {formats(), complex_formats()}) {
    for (const Format& f : table) {
      if (!names(f.name)) continue;
      if (f.is_float() || f.is_complex() || text(f) != integers)
        rules.emplace_back(f.name, text(f));
    }
  }
  const auto other = std::ranges::find_if(
      formats(), [&](const Format& f) { return f.is_float() && !names(f.name); });
  for (const ToleranceRow& r : s.rows) {
    if (r.dtype != "*") continue;
    std::string rule = text(*other);
    if (r.in_epsilon) {
      rule = s.rule == Rule::kSymmetric
                 ? formatted("eps * max({}, |actual| + |expected|)", short_number(r.floor))
                 : formatted("eps * |expected| (atol eps where |expected| < {})",
                             short_number(r.small_value));
    }
    rules.emplace_back("other floats", rule);
  }
  if (s.rows.empty() && names("*")) {
    rules.emplace_back("every float", text(*other));
  }
  if (integers.empty()) {
    rules.emplace_back("integers, bool", "equality");
  } else {
    rules.emplace_back("integers", integers);
    rules.emplace_back("bool", "equality");
  }
  return rules;
}

Standard CustomStandard::view() const {
  Standard standard = rest;
  standard.name = name;
  standard.rows = rows;
  standard.limits = limits;
  return standard;
}

}  // namespace assay
