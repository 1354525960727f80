#include "assay/judge/bound.h"

#include <algorithm>

#include "assay/base/call_text.h"
#include "assay/base/float_environment.h"
#include "assay/base/text.h"
#include "assay/judge/draw_distribution.h"
#include "assay/judge/indices.h"
#include "assay/judge/published_standards.h"
#include "assay/judge/rule_table.h"
#include "assay/judge/standards.h"
#include "assay/judge/standards_ascend.h"
#include "assay/judge/standards_file.h"
#include "assay/judge/standards_others.h"

namespace assay::inline v0_2 {
namespace {

// The words for the values of the enum Infinity, in their order.
constexpr std::string_view kInfinityWords[] = {"sign", "saturating", "fewer"};
constexpr std::string_view kBitEqual = "bit_equal";

// "ulp(4)" -> 4.
std::optional<std::uint64_t> parse_ulps(std::string_view name) {
  const auto digits = argument_of(name, "ulp");
  if (!digits) return std::nullopt;
  const auto ulps = read_number<std::uint64_t>(*digits);
  if (!ulps) {
    refuse("standard '{}': ulp(n) needs a whole number n, as in ulp(4)", name);
  }
  return ulps;
}

// The standards that give each element its own bound, computed for a machine.
constexpr std::string_view kAccumulation = "accumulation", kExpectedError = "expected_error";

// Returns the machine in a standard's name: "" for "accumulation", and "hopper" for
// "accumulation(hopper)".
std::optional<std::string> parse_machine(std::string_view name, std::string_view word) {
  if (name == word) return "";
  const auto machine = argument_of(name, word);
  if (!machine || machine->empty()) return std::nullopt;
  return std::string(*machine);
}

Bound accumulation_bound(const Format& output) {
  Bound bound;
  bound.rule = Rule::kAccumulation;
  bound.round_expected = false;
  bound.rtol = unit_roundoff(output);
  bound.atol = min_subnormal(output) / 2;
  return bound;
}

// Returns the bound of the standard expected_error. The operands are known, so a NaN is either
// right or wrong, and NaN equals NaN. Machines differ in how they overflow at the end of the
// output's range, so the largest finite value also counts as infinity.
Bound expected_error_bound() {
  Bound bound;
  bound.rule = Rule::kExpectedError;
  bound.round_expected = false;
  bound.nan_equal = true;
  bound.infinity = Infinity::kSaturating;
  return bound;
}

double growth_factor(const Standard& s, const Format& output, std::int64_t accumulations) {
  switch (s.growth) {
    case Growth::kNone:
      break;
    case Growth::kTwiceFrom2048:
      return accumulations >= 2048 ? 2 : 1;
    case Growth::kAtb:
      return (accumulations >= 2048 ? 2 : 1) *
             (accumulations >= 16384 && output.name == "float32" ? 2 : 1);
    case Growth::kLinear:
      if (accumulations < 1) {
        throw AccumulationsUnknown(
            formatted("standard {} grows with the number of accumulations, which is not known: "
                      "give the case the attribute 'accumulations'",
                      s.name));
      }
      return static_cast<double>(accumulations);
  }
  return 1;
}

// True if outputs of this format must equal the expected values whenever a standard has no row for
// the format.
bool is_exact(const Format& output) { return !output.is_float() && !output.is_complex(); }

// Returns the dtype under which a standard has rows or limits for an output: the output's own, or
// "*" for every float. Returns an empty string if the standard has neither.
std::string_view row_dtype(const Standard& s, const Format& output) {
  for (const std::string_view name : {output.name, std::string_view("*")}) {
    if (name == "*" && !output.is_float()) break;
    if (find_row(s.rows, name, &ToleranceRow::dtype) != nullptr ||
        find_row(s.limits, name, &LimitRow::dtype) != nullptr) {
      return name;
    }
  }
  return "";
}

// Returns the bound that a standard sets for outputs of this dtype, or nothing if it has none.
std::optional<Bound> bound_of(const Standard& s, const Format& output, std::int64_t accumulations) {
  Bound bound;
  bound.standard = s.name;
  bound.round_expected = s.round_expected;
  bound.nan_equal = s.nan_equal;
  bound.nan_accepts = s.nan_accepts;
  bound.infinity = s.infinity;
  bound.max_mismatches = s.max_mismatches;
  bound.max_mismatch_fraction = s.max_mismatch_fraction;
  const std::string_view dtype = row_dtype(s, output);
  const ToleranceRow* row = find_row(s.rows, dtype, &ToleranceRow::dtype);
  for (const LimitRow& l : s.limits) {
    if (l.dtype != dtype) continue;
    bound.limits.push_back(l.limit);
    if (l.grows) bound.limits.back().limit *= growth_factor(s, output, accumulations);
  }
  if (row == nullptr && bound.limits.empty()) {
    return is_exact(output) ? std::optional(bound) : std::nullopt;  // equality
  }
  bound.rule = row != nullptr ? row->rule.value_or(s.rule) : Rule::kStatistics;
  if (row == nullptr) return bound;
  if (row->share > 0) bound.max_mismatch_fraction = row->share;
  bound.ulps = row->ulps;
  bound.or_ulps = row->or_ulps;
  const double unit = row->in_epsilon ? 2 * unit_roundoff(output) : 1;
  const double grown = unit * growth_factor(s, output, accumulations);
  bound.rtol = row->rtol * grown;
  bound.atol = row->atol * grown;
  bound.floor = row->floor;
  bound.small_value = row->small_value;
  bound.small_atol = row->small_atol * grown;
  return bound;
}

}  // namespace

std::string_view infinity_word(Infinity policy) {
  return kInfinityWords[static_cast<std::size_t>(policy)];
}

Infinity infinity_named(std::string_view word, std::string_view where) {
  const std::vector<std::string> names(std::begin(kInfinityWords), std::end(kInfinityWords));
  const auto found = std::find(names.begin(), names.end(), word);
  if (found != names.end()) return static_cast<Infinity>(found - names.begin());
  refuse("{}: infinity is one of {}, not '{}'", where, joined(names), word);
}

bool Bound::is_plain() const {
  return rule == Rule::kTolerance && small_value == 0 && or_ulps == 0 && !as_published;
}

bool Bound::needs_reference() const { return any_needs_reference(limits); }

std::int64_t Bound::forgiven(std::int64_t elements) const {
  if (!max_mismatches && !max_mismatch_fraction) return 0;
  std::int64_t most = max_mismatches.value_or(elements);
  if (max_mismatch_fraction) {
    const double share = *max_mismatch_fraction * static_cast<double>(elements);
    most = std::min(most, static_cast<std::int64_t>(std::min(share, 0x1p62)));
  }
  return most;
}

std::string Bound::text() const {
  std::string text = row_of(rule).text_of(*this);
  if (or_ulps > 0) text += formatted(" or {} ulp", or_ulps);
  if (small_value > 0) {
    text += formatted(" (atol {} where |expected| < {})", short_number(small_atol, 6),
                      short_number(small_value, 6));
  }
  int group = 0;
  for (const Limit& l : limits) {
    text += (text.empty() ? "" : l.group != 0 && l.group == group ? " or " : ", ") + l.text();
    group = l.group;
  }
  return text;
}

std::optional<Bound> standard_bound(std::string_view name, const Format& output,
                                    std::int64_t accumulations,
                                    std::span<const CustomStandard> custom) {
  const FloatEnvironment environment;
  Bound bound;
  bound.standard = name;
  if (const auto ulps = parse_ulps(name)) {
    // Complex numbers have no order, so they have no ulps.
    if (output.is_complex()) return std::nullopt;
    bound.rule = Rule::kUlps;
    bound.ulps = *ulps;
    // Ulps are counted between values of the output's format, so the expected value is rounded to
    // one.
    return bound;
  }
  if (name == kBitEqual) {
    bound.rule = Rule::kBits;
    return bound;
  }
  for (const std::string_view word : {kAccumulation, kExpectedError}) {
    const auto machine = parse_machine(name, word);
    if (!machine) continue;
    if (output.is_complex()) return std::nullopt;
    if (!output.is_float()) {  // an integer accumulator makes no rounding errors
      bound.machine = *machine;
      return bound;
    }
    Bound given = word == kAccumulation ? accumulation_bound(output) : expected_error_bound();
    given.standard = name;
    given.machine = *machine;
    return given;
  }
  if (const auto published = published_name(name)) {
    auto of = standard_bound(*published, output, accumulations, custom);
    if (hole_of(*published).empty()) {
      refuse(
          "standard '{}': assay already judges by {} as it was published, as far as is known; "
          "leave out as_published",
          name, *published);
    }
    if (!of || !is_published_for(*published, output)) return std::nullopt;
    of->standard = name;
    of->as_published = true;
    return of;
  }
  if (const auto law = law_of_standard(name)) {
    (void)parse_law(*law);  // called only because it throws if the law is wrong
    if (output.is_complex()) return std::nullopt;
    bound.rule = Rule::kDistribution;
    bound.round_expected = false;
    bound.distribution = *law;
    return bound;
  }
  if (const auto values = values_of_indices(name)) {
    if (!values->empty()) {
      const auto inner = standard_bound(*values, format_named("float32"), 1, custom);
      if (inner && !judges_single_elements(*inner)) {
        refuse("standard '{}': {} does not judge single elements, which the values at indices need",
               name, *values);
      }
    }
    if (output.is_complex()) return std::nullopt;
    bound.rule = Rule::kIndices;
    bound.nan_equal = true;
    bound.round_expected = false;
    return bound;
  }
  if (const CustomStandard* own = find_custom_standard(name, custom)) {
    return bound_of(own->view(), output, accumulations);
  }
  if (const Standard* s = find_standard(name)) return bound_of(*s, output, accumulations);
  std::vector<std::string> names = names_of(custom);
  for (const Standard& s : standards()) {
    names.emplace_back(s.name);
    for (const std::string_view other : other_names(s)) names.emplace_back(other);
  }
  for (const std::string_view word : {kAccumulation, kExpectedError}) {
    names.emplace_back(word);
    names.push_back(std::string(word) + "(MACHINE)");
  }
  names.emplace_back("distribution(LAW)");
  names.emplace_back("indices");
  names.emplace_back("ulp(n)");
  names.emplace_back(kBitEqual);
  refuse(unknown_word("standard", name, names));
}

std::string standards_with(const Format& output, std::span<const CustomStandard> custom) {
  std::vector<std::string> names;
  for (const CustomStandard& own : custom) {
    if (standard_bound(own.name, output, 1, custom)) names.push_back(own.name);
  }
  // Lists the default standard first, then the standards that most users know.
  if (bound_of(*find_standard(kDefaultStandard), output, 1)) names.emplace_back(kDefaultStandard);
  for (const auto& part : {other_standards(), ascend_standards()}) {
    for (const Standard& s : part) {
      if (bound_of(s, output, 1)) names.emplace_back(s.name);
    }
  }
  if (names.empty()) return "none has one";
  if (names.size() == 1) return names[0] + " has one";
  std::string last = names.back();
  names.pop_back();
  constexpr std::size_t kShown = 5;
  if (names.size() > kShown) {
    last = formatted("{} others (docs/standards.md)", names.size() + 1 - kShown);
    names.resize(kShown);
  }
  return formatted("{} and {} have one", joined(names), last);
}

StandardWord standard_word(std::string_view word) {
  const std::size_t equals = word.find('=');
  if (equals == std::string_view::npos || word.find('(') < equals) return {"", word};
  return {word.substr(0, equals), word.substr(equals + 1)};
}

std::vector<std::string> standard_words(std::string_view text) {
  std::vector<std::string> words;
  int depth = 0;
  std::string word;
  const auto take = [&] {
    const std::size_t first = word.find_first_not_of(' ');
    if (first != std::string::npos) {
      word = word.substr(first, word.find_last_not_of(' ') - first + 1);
      if (word == kAsPublished && !words.empty())
        words.back() += "," + word;
      else
        words.push_back(word);
    }
    word.clear();
  };
  for (const char c : text) {
    depth += c == '(' ? 1 : c == ')' ? -1 : 0;
    if (c == ',' && depth <= 0)
      take();
    else
      word += c;
  }
  take();
  return words;
}

bool needs_operands(std::string_view name, std::span<const CustomStandard> custom) {
  name = standard_word(name).standard;
  name = published_name(name).value_or(name);
  if (parse_machine(name, kAccumulation) || parse_machine(name, kExpectedError)) return true;
  if (values_of_indices(name)) return true;
  if (const auto law = law_of_standard(name)) return !parse_law(*law).law->golden.empty();
  if (const CustomStandard* own = find_custom_standard(name, custom)) {
    return own->rest.growth != Growth::kNone;
  }
  const Standard* const s = find_standard(name);
  return s != nullptr && s->growth != Growth::kNone;
}

}  // namespace assay
