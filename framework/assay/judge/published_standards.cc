#include "assay/judge/published_standards.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "assay/base/text.h"
#include "assay/base/words.h"
#include "assay/judge/standards.h"

namespace assay::inline v0_2 {
namespace {

struct Sides {
  const TensorView& actual;
  const TensorView& expected;
  const std::optional<TensorView>& reference_implementation;
  const Bound& bound;

  auto size() const { return static_cast<double>(actual.size()); }
};

struct Ruling {
  bool passed = false;
  std::int64_t mismatches = 0;
  std::string because = {};
};

// Returns the dtype in which numpy computes with both sides. For bfloat16 and tfloat32, which numpy
// does not have, this is float32.
const Format& common_format(const Sides& s) {
  const Format& float32 = format_named("float32");
  const auto of = [&](const Format& f) -> const Format& {
    return f.name == "float16" || f.name == "float64" ? f : float32;
  };
  const Format &a = of(*s.actual.format), &e = of(*s.expected.format);
  return a.precision >= e.precision ? a : e;
}

// Counts mismatches by numpy.isclose(actual, golden, rtol, atol, equal_nan=True), with every step
// rounded to the common dtype. NaN and infinity are equal, or a mismatch like any other.
std::int64_t mismatches_of_isclose(const Sides& s) {
  const Format& f = common_format(s);
  const auto rounded = [&](double value) { return round_to(f, value); };
  const double rtol = rounded(s.bound.rtol), atol = rounded(s.bound.atol);
  std::int64_t mismatches = 0;
  for (std::int64_t i = 0; i < s.actual.size(); ++i) {
    const double a = s.actual.value_at(i), e = s.expected.value_at(i);
    bool close = a == e || (std::isnan(a) && std::isnan(e));
    if (std::isfinite(a) && std::isfinite(e)) {
      close = std::abs(rounded(a - e)) <= rounded(atol + rounded(rtol * std::abs(e)));
    }
    mismatches += close ? 0 : 1;
  }
  return mismatches;
}

std::string share_words(const Sides& s, std::int64_t mismatches) {
  return formatted("{} of {} elements are mismatches, and at most a share of {} may be",
                   grouped(mismatches), grouped(s.actual.size()),
                   short_number(*s.bound.max_mismatch_fraction));
}

// TTK subtracts the share of elements that agree from 1, in float64.
Ruling by_remaining_share(const Sides& s, std::int64_t mismatches) {
  const double agree = (s.size() - static_cast<double>(mismatches)) / s.size();
  return {1 - agree <= *s.bound.max_mismatch_fraction, mismatches, share_words(s, mismatches)};
}

Ruling ttk_close(const Sides& s) { return by_remaining_share(s, mismatches_of_isclose(s)); }

Ruling verify_result(const Sides& s) {
  const std::int64_t mismatches = mismatches_of_isclose(s);
  return {static_cast<double>(mismatches) / s.size() <= *s.bound.max_mismatch_fraction, mismatches,
          share_words(s, mismatches)};
}

Ruling ttk_requant(const Sides& s) {
  const Format& f = *s.actual.format;
  std::int64_t mismatches = 0;
  for (std::int64_t i = 0; i < s.actual.size(); ++i) {
    const double a = s.actual.value_at(i), e = s.expected.value_at(i);
    if (std::isnan(a) && std::isnan(e)) continue;
    const std::uint64_t expected = s.expected.format == &f ? s.expected.bits_at(i) : encode(f, e);
    // In int8, the difference and the absolute value wrap.
    const auto difference = static_cast<std::int8_t>(s.actual.bits_at(i) - expected);
    mismatches += difference > 1 || (difference < -1 && difference != -128) ? 1 : 0;
  }
  return by_remaining_share(s, mismatches);
}

// Returns the tensor with 0 in place of NaN and infinity.
Tensor without_specials(const TensorView& view) {
  std::vector<double> values = view.values();
  for (double& v : values) {
    if (!std::isfinite(v)) v = 0;
  }
  return Tensor::from_values(*view.format, view.shape, values);
}

Ruling atb(const Sides& s) {
  const Tensor actual = without_specials(s.actual), expected = without_specials(s.expected);
  const Verdict v =
      judge(actual, expected, s.bound, {.metrics = false, .worst = 0, .patterns = false});
  return {v.mismatches == 0 && all_hold(v.readings), v.mismatches,
          formatted("with 0 for NaN and infinity: {}", v.because)};
}

// TTK's cross_check. Positions with NaN or infinity on any of the three sides are judged separately
// from the others. There the output passes if it equals the third party's output, or a golden NaN
// or infinity.
Ruling cross_check(const Sides& s) {
  const auto same = [](double x, double y) { return x == y || (std::isnan(x) && std::isnan(y)); };
  double small_value = 0, small_atol = 0;
  for (const Limit& limit : s.bound.limits) {
    if (limit.statistic != Statistic::kSmallErrors) continue;
    small_value = limit.parameter;
    small_atol = limit.second;
  }
  struct Errors {
    double largest = 0, relative = 0, squares = 0;
    std::int64_t small = 0;
  } own, other;
  std::int64_t mismatches = 0, large = 0;
  for (std::int64_t i = 0; i < s.actual.size(); ++i) {
    const double t = s.actual.value_at(i), g = s.expected.value_at(i);
    const double b = s.reference_implementation->value_at(i);
    if (!std::isfinite(t) || !std::isfinite(g) || !std::isfinite(b)) {
      mismatches += same(t, b) || (!std::isfinite(g) && same(t, g)) ? 0 : 1;
      continue;
    }
    const bool is_small = std::abs(g) < small_value;
    large += is_small ? 0 : 1;
    for (const auto& [value, errors] : {std::pair(t, &own), std::pair(b, &other)}) {
      const double error = std::abs(value - g), relative = error / (std::abs(g) + 1e-7);
      if (is_small) {
        errors->small += error > small_atol ? 1 : 0;
        continue;
      }
      errors->largest = std::max(errors->largest, relative);
      errors->relative += relative;
      errors->squares += error * error;
    }
  }
  if (mismatches > 0) {
    return {false, mismatches,
            formatted("{} of {} elements differ as NaN and infinity do", grouped(mismatches),
                      grouped(s.actual.size()))};
  }
  const double n = static_cast<double>(std::max<std::int64_t>(large, 1));
  const auto value_of = [&](const Limit& limit) {
    const auto ratio = [&](double a, double b) {
      return a == 0 ? 0 : a / std::max(b, small_value);
    };
    switch (limit.statistic) {
      case Statistic::kLargeMareRatio:
        return ratio(own.largest, other.largest);
      case Statistic::kLargeMereRatio:
        return ratio(own.relative / n, other.relative / n);
      case Statistic::kLargeRmseRatio:
        return ratio(std::sqrt(own.squares / n), std::sqrt(other.squares / n));
      default:
        return static_cast<double>(own.small) /
               static_cast<double>(std::max<std::int64_t>(other.small, 1));
    }
  };
  for (const Limit& limit : s.bound.limits) {
    const double value = value_of(limit);
    if (!limit.met(value)) {
      return {false, 0, formatted("it is {}, and asked is {}", short_number(value), limit.text())};
    }
  }
  return {true, 0, "all ratios to the third party's errors hold"};
}

struct Published {
  std::string_view standard;
  std::string_view dtypes;  // separated by blanks
  std::string_view hole;
  Ruling (*judge)(const Sides& sides);
};

constexpr std::string_view kFloats = " float16 bfloat16 float32 float64 ";
constexpr std::string_view kFloats32 = " float16 bfloat16 float32 ";
constexpr std::string_view kAtbHole =
    "NaN and infinity become 0 on both sides before they are compared";
constexpr std::string_view kCross =
    "a NaN or an infinity passes where the third party has the same, whatever is expected";
constexpr Published kPublished[] = {
    {.standard = "ttk_close",
     .dtypes = kFloats,
     .hole = "a NaN or an infinity on only one side counts as one of the allowed mismatches",
     .judge = ttk_close},
    {.standard = "ttk_requant",
     .dtypes = " hifloat8 float8_e4m3fn float8_e5m2 ",
     .hole = "codes are subtracted as int8, which wraps, so that distant codes of opposite sign "
             "pass; an element with a NaN on only one side counts as one of the allowed mismatches",
     .judge = ttk_requant},
    {.standard = "ttk_cross_check_l0", .dtypes = kFloats32, .hole = kCross, .judge = cross_check},
    {.standard = "ttk_cross_check_l1", .dtypes = kFloats32, .hole = kCross, .judge = cross_check},
    {.standard = "ttk_cross_check_l2", .dtypes = kFloats32, .hole = kCross, .judge = cross_check},
    {.standard = "verify_result",
     .dtypes = kFloats,
     .hole = "a NaN or an infinity on only one side counts as one of the allowed mismatches",
     .judge = verify_result},
    {.standard = "atb", .dtypes = kFloats32, .hole = kAtbHole, .judge = atb},
    {.standard = "atb_high_precision", .dtypes = kFloats32, .hole = kAtbHole, .judge = atb},
};

// Finds the row for any version of a standard.
const Published* find_published(std::string_view standard) {
  if (const Standard* s = find_standard(standard)) standard = s->name.substr(0, s->name.find('@'));
  return find_row(kPublished, standard, &Published::standard);
}

}  // namespace

std::optional<std::string_view> published_name(std::string_view standard) {
  if (!standard.ends_with(kAsPublished)) return std::nullopt;
  standard.remove_suffix(kAsPublished.size());
  if (!standard.ends_with(',')) return std::nullopt;
  return standard.substr(0, standard.size() - 1);
}

std::string_view hole_of(std::string_view standard) {
  const Published* const row = find_published(standard);
  return row == nullptr ? "" : row->hole;
}

bool is_published_for(std::string_view standard, const Format& output) {
  const Published* const row = find_published(standard);
  return row != nullptr &&
         row->dtypes.find(formatted(" {} ", output.name)) != std::string_view::npos;
}

Verdict judge_published(const TensorView& actual, const TensorView& expected, const Bound& bound,
                        const JudgeOptions& options) {
  const std::string name(*published_name(bound.standard));
  const Published& row = *find_published(name);
  Bound own = bound;
  own.standard = name;
  own.as_published = false;
  JudgeOptions without_patterns = options;
  without_patterns.patterns = false;
  Verdict verdict = judge(actual, expected, own, without_patterns);
  verdict.bound = bound;
  const std::optional<TensorView>& reference_implementation = options.reference_implementation;
  const bool lacks_reference =
      bound.needs_reference() &&
      (!reference_implementation || reference_implementation->shape != expected.shape);
  if (!why_not_comparable(actual, expected).empty() || actual.size() == 0 || lacks_reference) {
    return verdict;
  }
  Ruling ruling = row.judge({actual, expected, reference_implementation, own});
  verdict.notes.push_back(formatted("judged by {} as it was published: {}", name, row.hole));
  if (verdict.outcome != Outcome::kPass && ruling.passed) {
    verdict.notes.push_back(
        formatted("{} itself says {}: {}", name, outcome_word(verdict.outcome), verdict.because));
  }
  verdict.decide(ruling.passed ? Outcome::kPass : Outcome::kFail, std::move(ruling.because));
  verdict.where.clear();
  verdict.format = actual.format;
  verdict.shape = actual.shape;
  verdict.sites = actual.size();
  verdict.mismatches = ruling.mismatches;
  verdict.forgiven = ruling.passed ? ruling.mismatches : 0;
  return verdict;
}

}  // namespace assay
