#include "assay/judge/bound.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <stdexcept>

#include "assay/base/text.h"

namespace assay {
namespace {

constexpr ToleranceRow kTritonAscend[] = {
    {"float16", 1e-3, 1e-3}, {"bfloat16", 5e-3, 5e-3}, {"float32", 1e-5, 1e-5}};
constexpr ToleranceRow kTorch[] = {{"float16", 1e-3, 1e-5},   {"bfloat16", 1.6e-2, 1e-5},
                                   {"float32", 1.3e-6, 1e-5}, {"float64", 1e-7, 1e-7},
                                   {"float8_e4m3fn", 0, 0},   {"float8_e5m2", 0, 0},
                                   {"float8_e4m3fnuz", 0, 0}, {"float8_e5m2fnuz", 0, 0},
                                   {"float8_e8m0fnu", 0, 0},  {"float4_e2m1fn", 0, 0}};

constexpr Standard kStandards[] = {
    {"triton_ascend", "Triton-Ascend test suite, validate_cmp: rtol = atol by dtype, NaN equal",
     true, true, kTritonAscend},
    {"torch", "torch.testing.assert_close, default tolerances by dtype", true, false, kTorch},
};

constexpr std::string_view kBitEqual = "bit_equal";

// "ulp(4)" -> 4.
std::optional<std::uint64_t> parse_ulps(std::string_view name) {
  if (!name.starts_with("ulp(") || !name.ends_with(")")) return std::nullopt;
  const std::string_view digits = name.substr(4, name.size() - 5);
  std::uint64_t ulps = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), ulps);
  if (error != std::errc() || end != digits.data() + digits.size() || digits.empty()) {
    throw std::invalid_argument(
        format("standard '{}': ulp(n) needs a whole number n, as in ulp(4)", name));
  }
  return ulps;
}

void check_tolerance(double value, std::string_view name, std::string_view where) {
  if (std::isnan(value) || value < 0) {
    throw std::invalid_argument(
        format("{}: {} must be a number of at least 0, but it is {}", where, name, value));
  }
}

}  // namespace

std::string Bound::text() const {
  switch (rule) {
    case Rule::kUlps:
      return format("{} ulp", ulps);
    case Rule::kBits:
      return "bit equality";
    case Rule::kTolerance:
      break;
  }
  if (rtol == 0 && atol == 0) return "equality";
  return format("atol {} + rtol {} * |expected|", short_number(atol, 6), short_number(rtol, 6));
}

double tolerance_at(const Bound& bound, double expected) {
  const double relative = expected == 0 ? 0.0 : bound.rtol * std::abs(expected);
  return std::min(bound.atol + relative, std::numeric_limits<double>::max());
}

std::span<const Standard> standards() { return kStandards; }

std::optional<Bound> standard_bound(std::string_view name, const Format& output) {
  Bound bound;
  bound.standard = name;
  if (const auto ulps = parse_ulps(name)) {
    bound.rule = Rule::kUlps;
    bound.ulps = *ulps;
    // Representable values are compared, so the expected one must be made one.
    return bound;
  }
  if (name == kBitEqual) {
    bound.rule = Rule::kBits;
    return bound;
  }
  std::vector<std::string> names;
  for (const Standard& s : kStandards) {
    if (s.name == name) {
      bound.round_expected = s.round_expected;
      bound.nan_equal = s.nan_equal;
      for (const ToleranceRow& row : s.rows) {
        if (row.dtype == output.name) {
          bound.rtol = row.rtol;
          bound.atol = row.atol;
          return bound;
        }
      }
      if (!output.is_float()) return bound;  // equality
      return std::nullopt;
    }
    names.emplace_back(s.name);
  }
  names.emplace_back("ulp(n)");
  names.emplace_back(kBitEqual);
  const std::string near = nearest_word(name, names);
  throw std::invalid_argument(format("unknown standard '{}'{}; known: {}", name,
                                     near.empty() ? "" : format(": did you mean '{}'?", near),
                                     joined(names)));
}

namespace {

// A standard's bound with other tolerances; where one of the two is not given, the standard's
// stays.
Bound with_tolerance(const std::optional<Bound>& standard, std::optional<double> rtol,
                     std::optional<double> atol, std::string_view where) {
  Bound own = standard.value_or(Bound{});
  own.rule = Rule::kTolerance;
  own.rtol = rtol.value_or(own.rtol);
  own.atol = atol.value_or(own.atol);
  check_tolerance(own.rtol, "rtol", where);
  check_tolerance(own.atol, "atol", where);
  own.standard = "custom";
  return own;
}

}  // namespace

std::vector<ChosenBound> choose_bounds(const Case& c, const Format& output,
                                       const BoundRequest& request) {
  const bool asked_tolerance = request.rtol || request.atol;
  const bool asked_standard = !request.standards.empty();
  const auto case_standard = c.text("standard");
  std::vector<std::string> names = request.standards;
  if (!asked_standard) names.push_back(case_standard.value_or(std::string(kDefaultStandard)));
  const bool case_tolerance = !asked_tolerance && !asked_standard &&
                              (c.attributes.count("rtol") != 0 || c.attributes.count("atol") != 0);
  std::vector<ChosenBound> chosen;
  bool tolerance_used = false;
  for (const std::string& name : names) {
    std::optional<Bound> bound;
    std::string origin = asked_standard ? request.origin : case_standard ? "case" : "default";
    try {
      bound = standard_bound(name, output);
    } catch (const std::invalid_argument& e) {
      if (asked_standard || !case_standard) throw;
      throw std::invalid_argument(format("case {}: {}", c.name, e.what()));
    }
    // A tolerance that is asked for replaces those of standards with a tolerance; ulp(n) and
    // bit_equal stay beside it.
    const bool by_tolerance = !bound || bound->rule == Rule::kTolerance;
    if (asked_tolerance && (by_tolerance || !asked_standard)) {
      if (tolerance_used) continue;
      bound = with_tolerance(bound, request.rtol, request.atol, "the request");
      origin = request.origin;
      tolerance_used = true;
    } else if (case_tolerance) {
      bound = with_tolerance(bound, c.real("rtol"), c.real("atol"), format("case {}", c.name));
      origin = "case";
    }
    if (!bound) {
      chosen.push_back(
          {std::nullopt, name, format("standard {} has no tolerance for {}", name, output.name)});
      continue;
    }
    if (const auto equal = c.flag("equal_nan"); equal && !asked_standard) bound->nan_equal = *equal;
    if (request.equal_nan) bound->nan_equal = *request.equal_nan;
    bound->origin = origin;
    chosen.push_back({bound, bound->standard, ""});
  }
  if (asked_tolerance && !tolerance_used) {
    Bound own = with_tolerance(std::nullopt, request.rtol, request.atol, "the request");
    own.nan_equal = request.equal_nan.value_or(false);
    own.origin = request.origin;
    chosen.push_back({own, own.standard, ""});
  }
  return chosen;
}

}  // namespace assay
