#include "assay/judge/bound.h"

#include <charconv>
#include <cmath>
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

std::vector<ChosenBound> choose_bounds(const Case& c, const Format& output,
                                       const BoundRequest& request) {
  const auto case_standard = c.text("standard");
  std::vector<std::string> names = request.standards;
  std::string origin = request.origin;
  const bool asked_tolerance = request.rtol || request.atol;
  if (names.empty()) {
    names.push_back(case_standard.value_or(std::string(kDefaultStandard)));
    origin = case_standard ? "case" : "default";
  }
  std::vector<ChosenBound> chosen;
  for (const std::string& name : names) {
    std::optional<Bound> bound;
    try {
      bound = standard_bound(name, output);
    } catch (const std::invalid_argument& e) {
      throw std::invalid_argument(format("case {}: {}", c.name, e.what()));
    }
    // Tolerances of the request, else the case's own where no standard was asked for.
    std::optional<double> rtol = request.rtol, atol = request.atol;
    const bool case_tolerance =
        !asked_tolerance && request.standards.empty() &&
        (c.attributes.count("rtol") != 0 || c.attributes.count("atol") != 0);
    if (case_tolerance) {
      rtol = c.real("rtol");
      atol = c.real("atol");
    }
    if (rtol || atol) {
      // One of the two given: the other is the standard's where it has a row, else 0.
      Bound own = bound.value_or(Bound{});
      own.rule = Rule::kTolerance;
      own.rtol = rtol.value_or(own.rtol);
      own.atol = atol.value_or(own.atol);
      const std::string where = case_tolerance ? format("case {}", c.name) : "the request";
      check_tolerance(own.rtol, "rtol", where);
      check_tolerance(own.atol, "atol", where);
      own.standard = "custom";
      bound = own;
      origin = case_tolerance ? "case" : request.origin;
    }
    if (!bound) {
      chosen.push_back(
          {std::nullopt, name, format("standard {} has no tolerance for {}", name, output.name)});
      continue;
    }
    if (const auto equal = c.flag("equal_nan"); equal && request.standards.empty()) {
      bound->nan_equal = *equal;
    }
    if (request.equal_nan) bound->nan_equal = *request.equal_nan;
    bound->origin = origin;
    chosen.push_back({bound, bound->standard, ""});
    if (asked_tolerance) break;
  }
  return chosen;
}

}  // namespace assay
