// Tests standards, and the precedence of the sources that can name a bound.
#include "assay/judge/bound.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "assay/base/constants.h"
#include "assay/gate/gate.h"
#include "assay/judge/rule_table.h"
#include "assay/judge/standards.h"
#include "error_of.h"
#include "oracle.h"

namespace assay {
namespace {

using oracle::bound_of;
using oracle::tolerance;
using oracle::vector_of;

TEST(Standards, TritonAscend) {
  for (const auto& [dtype, limit] : std::vector<std::pair<const char*, double>>{
           {"float16", 1e-3}, {"bfloat16", 5e-3}, {"float32", 1e-5}}) {
    const Bound b = bound_of("triton_ascend", dtype);
    EXPECT_EQ(b.rule, Rule::kTolerance);
    EXPECT_EQ(b.rtol, limit) << dtype;
    EXPECT_EQ(b.atol, limit) << dtype;
    EXPECT_TRUE(b.nan_equal);
    EXPECT_TRUE(b.round_expected);
    EXPECT_EQ(b.standard, "triton_ascend");
  }
  for (const char* dtype : {"float64", "float8_e4m3fn", "float8_e5m2", "tfloat32"}) {
    EXPECT_FALSE(standard_bound("triton_ascend", format_named(dtype)).has_value()) << dtype;
  }
}

// The default standard has the tolerances of the table in docs/standards.md. None of them is below
// one ulp of the output's dtype.
TEST(Standards, Default) {
  EXPECT_EQ(kDefaultStandard, "default");
  for (const auto& [dtype, limit] :
       std::vector<std::pair<const char*, double>>{{"float16", 1e-3},
                                                   {"bfloat16", 5e-3},
                                                   {"float32", 1e-5},
                                                   {"float64", 1e-7},
                                                   {"complex32", 1e-3},
                                                   {"complex64", 1e-5},
                                                   {"complex128", 1e-7}}) {
    const Bound b = bound_of("default", dtype);
    EXPECT_EQ(b.rule, Rule::kTolerance) << dtype;
    EXPECT_EQ(b.rtol, limit) << dtype;
    EXPECT_EQ(b.atol, limit) << dtype;
    EXPECT_FALSE(b.nan_equal);
    EXPECT_TRUE(b.round_expected);
  }
  for (const Format& f : formats()) {
    const Bound b = bound_of("default", f.name);
    const std::string name(f.name);
    if (name == "float16" || name == "bfloat16" || name == "float32" || name == "float64") continue;
    EXPECT_EQ(b.rule, f.is_float() ? Rule::kUlps : Rule::kTolerance) << name;
    EXPECT_EQ(b.ulps, f.is_float() ? 1u : 0u) << name;
    EXPECT_EQ(b.rtol + b.atol, 0) << name;
  }
}

// Every value of every float format of at most 16 bits, and a sample of float32 and float64: both
// neighbours pass.
TEST(Standards, DefaultAcceptsTheNeighboursOfEveryValue) {
  for (const Format& f : formats()) {
    if (!f.is_float() || f.specials == Specials::kScale) continue;
    const Bound bound = bound_of("default", f.name);
    std::vector<double> values, above;
    const auto add = [&](std::int64_t place) {
      const auto one = at_ordinal(f, place), next = at_ordinal(f, place + 1);
      if (!one || !next) return;
      const double a = decode(f, *one), b = decode(f, *next);
      if (std::isfinite(a) && std::isfinite(b)) values.push_back(a), above.push_back(b);
    };
    const std::int64_t last = *ordinal(f, encode(f, max_finite(f)));
    const std::int64_t step = std::max<std::int64_t>(1, last / 40000);
    for (std::int64_t place = -last; place < last; place += step) add(place);
    ASSERT_GT(values.size(), 5u) << f.name;
    for (const bool up : {true, false}) {
      const Tensor golden = vector_of(std::string(f.name).c_str(), up ? values : above);
      const Tensor output = vector_of(std::string(f.name).c_str(), up ? above : values);
      const Verdict v = judge(output, golden, bound);
      EXPECT_EQ(v.mismatches, 0) << f.name << ": " << v.because;
    }
  }
}

TEST(Standards, Torch) {
  const auto expect = [](const char* dtype, double rtol, double atol) {
    const Bound b = bound_of("torch", dtype);
    EXPECT_EQ(b.rtol, rtol) << dtype;
    EXPECT_EQ(b.atol, atol) << dtype;
    EXPECT_FALSE(b.nan_equal);
    EXPECT_TRUE(b.round_expected);
  };
  expect("float16", 1e-3, 1e-5);
  expect("bfloat16", 1.6e-2, 1e-5);
  expect("float32", 1.3e-6, 1e-5);
  expect("float64", 1e-7, 1e-7);
  expect("float8_e4m3fn", 0, 0);
  expect("float8_e5m2", 0, 0);
  expect("complex32", 1e-3, 1e-5);
  expect("complex64", 1.3e-6, 1e-5);
  expect("complex128", 1e-7, 1e-7);
}

// Both standards have a bound for each element. No right result exceeds that of `accumulation`, and
// only with a very small probability does one exceed that of `expected_error`.
TEST(Standards, OfEachElementsOwnBound) {
  const Bound always = bound_of("accumulation(hopper)", "float32"),
              expected = bound_of("expected_error(hopper)", "float32");
  EXPECT_EQ(always.rule, Rule::kAccumulation);
  EXPECT_FALSE(always.nan_equal);
  EXPECT_EQ(always.machine, "hopper");
  EXPECT_EQ(expected.rule, Rule::kExpectedError);
  EXPECT_TRUE(expected.nan_equal);
  EXPECT_EQ(expected.machine, "hopper");
}

TEST(Standards, IntegersAndBoolAreExactInAll) {
  for (const Standard& s : standards()) {
    for (const char* dtype : {"int8", "uint8", "int16", "int32", "int64", "bool"}) {
      const Bound b = bound_of(s.name, dtype);
      // Codes of a quantised result may differ by one.
      const bool codes = s.name == "ttk_quant" && std::string_view(dtype) == "int8";
      // onnx and tensorrt apply the tolerance of floats to integers.
      if ((s.name == "onnx" || s.name == "tensorrt") && std::string_view(dtype) != "bool") continue;
      EXPECT_EQ(b.rule, Rule::kTolerance) << s.name;
      EXPECT_EQ(b.rtol, 0) << s.name << dtype;
      EXPECT_EQ(b.atol, codes ? 1 : 0) << s.name << dtype;
    }
  }
}

// Each row names a dtype that exists, only once. A correctly rounded result meets its tolerances,
// and they are not a slip of the pen (1e-16 instead of 2^-16).
TEST(Standards, RowsAreSane) {
  std::set<std::string_view> names;
  for (const Standard& s : standards()) {
    EXPECT_TRUE(names.insert(s.name).second) << s.name;
    EXPECT_FALSE(s.source.empty()) << s.name;
    std::set<std::string_view> dtypes;
    for (const ToleranceRow& row : s.rows) {
      ASSERT_TRUE(row.dtype == "*" || find_format(row.dtype) != nullptr)
          << s.name << " " << row.dtype;
      EXPECT_TRUE(dtypes.insert(row.dtype).second) << s.name << " " << row.dtype;
      if (row.in_epsilon) {
        EXPECT_EQ(row.rtol, 1) << "one eps";
        continue;
      }
      // JAX's tolerances for formats of few bits are as wide as the values, and for float8_e5m2
      // below half an ulp. The expectations below do not hold for them.
      if (s.name == "jax" && row.rtol >= 0.1) continue;
      EXPECT_TRUE(row.rtol >= 0 && row.rtol < 1) << s.name << " " << row.dtype;
      const bool codes = row.dtype != "*" && !format_named(row.dtype).is_float();
      EXPECT_TRUE(row.atol >= 0 && row.atol < (codes ? 2 : 1)) << s.name << " " << row.dtype;
      // These standards have rules for formats of few bits only if the golden result has the same
      // dtype. They may therefore be below half an ulp.
      constexpr std::string_view kOfOneDtype[] = {"ttk_close", "triton_ascend_tests",
                                                  "transformer_engine_cpp", "iree@2026-05"};
      if (std::count(std::begin(kOfOneDtype), std::end(kOfOneDtype), s.name) > 0) continue;
      // The rule is equality, or has only an absolute tolerance.
      if (row.rtol == 0) continue;
      if (row.dtype == "*") continue;
      // At 1, half an ulp is largest relative to the value. The tolerance must not be smaller.
      EXPECT_GE(row.rtol, unit_roundoff(format_named(row.dtype)) * 0.999) << s.name << row.dtype;
    }
  }
}

TEST(Standards, Ulps) {
  const Bound b = bound_of("ulp(4)", "bfloat16");
  EXPECT_EQ(b.rule, Rule::kUlps);
  EXPECT_EQ(b.ulps, 4u);
  EXPECT_EQ(b.standard, "ulp(4)");
  EXPECT_TRUE(b.round_expected);
  EXPECT_FALSE(b.nan_equal);
  EXPECT_EQ(bound_of("ulp(0)", "int64").ulps, 0u);
  EXPECT_EQ(bound_of("ulp(18446744073709551615)", "float64").ulps, ~std::uint64_t{0});
  for (const char* wrong : {"ulp()", "ulp(x)", "ulp(-1)", "ulp(1.5)", "ulp( 1)", "ulp(1)x)",
                            "ulp(18446744073709551616)"}) {
    EXPECT_EQ(error_of([&] { bound_of(wrong, "float32"); }),
              "standard '" + std::string(wrong) + "': ulp(n) needs a whole number n, as in ulp(4)");
  }
}

// Rules that compare values of the output's dtype round the expected value to that dtype, even if
// the bound does not round it.
TEST(Standards, UlpsAndBitsAreOfTheRoundedValue) {
  Bound bound;
  bound.round_expected = false;
  for (const Rule rule : {Rule::kUlps, Rule::kBits}) {
    bound.rule = rule;
    const Verdict v =
        judge(vector_of("bfloat16", {1 + 0x1p-6, 2}), vector_of("float64", {1 + 0x1p-9, 2}), bound);
    ASSERT_EQ(v.worst.size(), 1u);
    EXPECT_EQ(v.worst[0].expected, 1);
    EXPECT_EQ(v.worst[0].error, 0x1p-6);
  }
}

// For each rule that has a tolerance, compares the tolerance of an element with one computed by
// hand.
TEST(Standards, ToleranceOfAnElement) {
  Bound bound;
  bound.rtol = 0.5;
  bound.atol = 3;
  bound.floor = 16;
  const auto of = [&](Rule rule, double expected, double actual) {
    bound.rule = rule;
    return tolerance_at(bound, expected, actual);
  };
  EXPECT_EQ(of(Rule::kTolerance, -10, 100), 8);
  EXPECT_EQ(of(Rule::kAccumulation, -10, 100), 8);
  EXPECT_EQ(of(Rule::kEither, -10, 100), 5);
  EXPECT_EQ(of(Rule::kEither, 4, 100), 3);
  EXPECT_EQ(of(Rule::kLargest, -10, 100), 8);
  EXPECT_EQ(of(Rule::kLargest, -40, 100), 20);
  EXPECT_EQ(of(Rule::kSymmetric, -10, 4), 8);
  EXPECT_EQ(of(Rule::kSymmetric, -10, -30), 20);
  EXPECT_EQ(of(Rule::kSymmetric, 10, 30), 20);
  bound.small_value = 11;
  bound.small_atol = 0.25;
  for (const Rule rule : {Rule::kTolerance, Rule::kEither, Rule::kLargest, Rule::kSymmetric}) {
    EXPECT_EQ(of(rule, -10, 100), 0.25);
    EXPECT_GT(of(rule, -11, 100), 1);
  }
}

// The symmetric rule uses the sizes of both values: 9 and 1 are 8 apart, which is below 7/8 of
// their sum but not below 3/4 of it.
TEST(Standards, SymmetricTakesBothSizes) {
  Bound bound;
  bound.rule = Rule::kSymmetric;
  const auto mismatches = [&](double rtol) {
    bound.rtol = rtol;
    return judge(vector_of("float64", {9, 2}), vector_of("float64", {1, 2}), bound).mismatches;
  };
  EXPECT_EQ(mismatches(0.75), 1) << "8 is not below 7.5";
  EXPECT_EQ(mismatches(0.875), 0) << "8 is below 8.75";
}

TEST(Standards, WhichNeedTheOperands) {
  for (const char* name :
       {"accumulation", "accumulation(hopper)", "bfloat16=accumulation", "expected_error",
        "expected_error(ascend910b)", "rocblas_sum", "atb", "distribution(dropout,p=0.5)"}) {
    EXPECT_TRUE(needs_operands(name)) << name;
  }
  for (const char* name :
       {"torch", "numpy", "ulp(4)", "bit_equal", "float16=torch", "distribution(uniform)"}) {
    EXPECT_FALSE(needs_operands(name)) << name;
  }
}

TEST(Standards, BitEqual) {
  const Bound b = bound_of("bit_equal", "float8_e5m2");
  EXPECT_EQ(b.rule, Rule::kBits);
  EXPECT_EQ(b.standard, "bit_equal");
}

// The name without a version means the newest version, and every report names the version.
TEST(Standards, Versions) {
  std::map<std::string, std::vector<std::string_view>> versions;
  for (const Standard& s : standards()) {
    EXPECT_EQ(find_standard(s.name), &s);
    const std::size_t at = s.name.find('@');
    if (at != std::string_view::npos) {
      versions[std::string(s.name.substr(0, at))].push_back(s.name.substr(at + 1));
    }
    for (const std::string_view other : other_names(s)) {
      EXPECT_EQ(find_standard(other), &s) << other;
      const auto bound = standard_bound(other, format_named("float32"), 1);
      EXPECT_TRUE(!bound || bound->standard == s.name) << other;
    }
  }
  EXPECT_GE(versions.size(), 6u);
  for (const auto& [name, of] : versions) {
    const Standard* const newest = find_standard(name);
    ASSERT_NE(newest, nullptr) << name;
    // The name does not lead to a version that could only be read in part. The row of that version
    // says so.
    if (name == "cann_ecosystem") {
      EXPECT_EQ(newest->name, "cann_ecosystem@2026-07");
      EXPECT_THAT(std::string(find_standard("cann_ecosystem@2026-09")->source),
                  testing::HasSubstr("only a part of this version was read"));
      continue;
    }
    EXPECT_EQ(newest->name.substr(name.size() + 1), *std::max_element(of.begin(), of.end()));
  }
}

// Each standard names its publication: a repository, the commit that was read, the file and a date.
TEST(Standards, ArePublishedSomewhere) {
  for (const Standard& s : standards()) {
    SCOPED_TRACE(s.name);
    const Publication& p = s.publication;
    if (s.name == kDefaultStandard) {
      EXPECT_EQ(p.repository, "assay");
      continue;
    }
    EXPECT_NE(p.repository.find('/'), std::string_view::npos);
    EXPECT_TRUE(p.commit.size() >= 8 &&
                p.commit.find_first_not_of("0123456789abcdef") == std::string_view::npos);
    EXPECT_FALSE(p.path.empty());
    const std::string_view date = p.date.starts_with("read ") ? p.date.substr(5) : p.date;
    EXPECT_TRUE(date.size() == 10 && date[4] == '-' && date[7] == '-') << date;
  }
}

TEST(Standards, UnknownNames) {
  std::string known = "known: ";
  for (const Standard& s : standards()) {
    known += std::string(s.name) + ", ";
    for (const std::string_view other : other_names(s)) known += std::string(other) + ", ";
  }
  known +=
      "accumulation, accumulation(MACHINE), expected_error, expected_error(MACHINE), "
      "distribution(LAW), indices, ulp(n), bit_equal";
  const auto message = [](const char* name) {
    return error_of([&] { bound_of(name, "float32"); });
  };
  const auto begins = [](const std::string& text) { return testing::StartsWith(text); };
  EXPECT_THAT(message("torhc"), begins("unknown standard 'torhc': did you mean 'torch'?"));
  EXPECT_THAT(message("triton-ascend"),
              begins("unknown standard 'triton-ascend': did you mean 'triton_ascend'?"));
  EXPECT_THAT(message("Torch"), begins("unknown standard 'Torch': did you mean 'torch'?"));
  EXPECT_THAT(message("bitequal"),
              begins("unknown standard 'bitequal': did you mean 'bit_equal'?"));
  EXPECT_THAT(message("ulp(4"), begins("unknown standard 'ulp(4': did you mean 'ulp(n)'?"));
  EXPECT_EQ(message("something_else"), "unknown standard 'something_else'; " + known);
  EXPECT_THAT(message(""), begins("unknown standard ''"));
  for (const char* name : {"torhc", "something_else"}) {
    EXPECT_THAT(message(name), testing::EndsWith(known));
  }
}

TEST(BoundText, SaysTheRule) {
  EXPECT_EQ(tolerance(1e-3, 1.6e-2).text(), "atol 0.001 + rtol 0.016 * |expected|");
  EXPECT_EQ(tolerance(1e-5, 1.3e-6).text(), "atol 1e-05 + rtol 1.3e-06 * |expected|");
  EXPECT_EQ(tolerance(0, 0).text(), "equality");
  EXPECT_EQ(tolerance(0.5, 0).text(), "atol 0.5 + rtol 0 * |expected|");
  EXPECT_EQ(tolerance(kInfinity, 0).text(), "atol inf + rtol 0 * |expected|");
  EXPECT_EQ(oracle::within_ulps(1).text(), "1 ulp");
  EXPECT_EQ(oracle::same_bits().text(), "bit equality");
}

Case named(const std::string& name) {
  Case c;
  c.name = name;
  return c;
}
Bound chosen(const Case& c, const BoundRequest& request, const char* dtype = "float32") {
  const std::vector<ChosenBound> all = choose_bounds(c, format_named(dtype), request);
  EXPECT_EQ(all.size(), 1u);
  EXPECT_TRUE(all[0].bound.has_value()) << all[0].why_not;
  EXPECT_EQ(all[0].standard, all[0].bound->standard);
  return all[0].bound.value();
}

TEST(Precedence, DefaultThenCaseStandardThenCaseToleranceThenRequest) {
  Case c = named("m");
  Bound b = chosen(c, {});
  EXPECT_EQ(b.standard, "default");
  EXPECT_EQ(b.origin, "default");
  EXPECT_EQ(b.rtol, 1e-5);

  c.attributes["standard"] = std::string("torch");
  b = chosen(c, {});
  EXPECT_EQ(b.standard, "torch");
  EXPECT_EQ(b.origin, "case");
  EXPECT_EQ(b.rtol, 1.3e-6);

  c.attributes["rtol"] = 0.25;
  c.attributes["atol"] = std::int64_t{1};
  b = chosen(c, {});
  EXPECT_EQ(b.standard, "custom");
  EXPECT_EQ(b.origin, "case");
  EXPECT_EQ(b.rtol, 0.25);
  EXPECT_EQ(b.atol, 1);

  BoundRequest request;
  request.standards = {"triton_ascend"};
  b = chosen(c, request);
  EXPECT_EQ(b.standard, "triton_ascend");
  EXPECT_EQ(b.origin, "command");
  EXPECT_EQ(b.rtol, 1e-5);
  EXPECT_EQ(b.atol, 1e-5);

  request.origin = "matcher";
  request.rtol = 0.5;
  b = chosen(c, request);
  EXPECT_EQ(b.standard, "custom");
  EXPECT_EQ(b.origin, "matcher");
  EXPECT_EQ(b.rtol, 0.5);
  EXPECT_EQ(b.atol, 0) << "a level that gives one of the two sets the other to 0";
}

TEST(Precedence, OneOfTheTwoTolerances) {
  Case c = named("m");
  BoundRequest request;
  request.atol = 0.125;
  EXPECT_EQ(chosen(c, request).atol, 0.125);
  EXPECT_EQ(chosen(c, request).rtol, 0);
  EXPECT_EQ(chosen(c, request).text(), "atol 0.125 + rtol 0 * |expected|");
  c.attributes["standard"] = std::string("torch");
  EXPECT_EQ(chosen(c, request).rtol, 0);
  c.attributes["rtol"] = 0.5;
  EXPECT_EQ(chosen(c, request).rtol, 0) << "the request's level has an rtol of 0";
  EXPECT_EQ(chosen(named("m"), request, "float64").rtol, 0);
  Case own = named("m");
  own.attributes["rtol"] = 0.5;
  EXPECT_EQ(chosen(own, {}).atol, 0);
  EXPECT_EQ(chosen(own, {}).text(), "atol 0 + rtol 0.5 * |expected|");
  EXPECT_EQ(chosen(own, {}, "float64").atol, 0);
  EXPECT_EQ(chosen(own, {}, "float64").origin, "case");
}

TEST(Precedence, SeveralStandards) {
  BoundRequest request;
  request.standards = {"triton_ascend", "torch", "ulp(2)", "bit_equal"};
  const std::vector<ChosenBound> all = choose_bounds(named("m"), format_named("float64"), request);
  ASSERT_EQ(all.size(), 4u);
  EXPECT_FALSE(all[0].bound.has_value());
  EXPECT_EQ(all[0].standard, "triton_ascend");
  EXPECT_THAT(
      all[0].why_not,
      testing::AllOf(testing::StartsWith(
                         "standard triton_ascend has no tolerance for float64; default, torch, "),
                     testing::EndsWith(" have one")));
  EXPECT_EQ(all[1].bound->standard, "torch");
  EXPECT_EQ(all[2].bound->ulps, 2u);
  EXPECT_EQ(all[3].bound->rule, Rule::kBits);
  for (std::size_t i = 1; i < 4; ++i) EXPECT_EQ(all[i].bound->origin, "command");
}

TEST(Precedence, EqualNan) {
  Case c = named("m");
  EXPECT_FALSE(chosen(c, {}).nan_equal);
  c.attributes["standard"] = std::string("triton_ascend");
  EXPECT_TRUE(chosen(c, {}).nan_equal);
  c.attributes["standard"] = std::string("torch");
  EXPECT_FALSE(chosen(c, {}).nan_equal);
  c.attributes["equal_nan"] = std::int64_t{1};
  EXPECT_TRUE(chosen(c, {}).nan_equal);
  c.attributes["equal_nan"] = std::string("false");
  c.attributes["standard"] = std::string("triton_ascend");
  EXPECT_FALSE(chosen(c, {}).nan_equal);
  BoundRequest request;
  request.standards = {"triton_ascend"};
  EXPECT_FALSE(chosen(c, request).nan_equal) << "the case speaks of its data, whoever judges";
  request.equal_nan = true;
  EXPECT_TRUE(chosen(c, request).nan_equal);
  request.equal_nan = false;
  EXPECT_FALSE(chosen(c, request).nan_equal);
  request.standards = {};
  request.equal_nan = true;
  EXPECT_TRUE(chosen(c, request).nan_equal) << "the request goes over the case";
  request = {};
  request.rtol = 0.5;
  EXPECT_FALSE(chosen(c, request).nan_equal) << "a tolerance says nothing about NaN";
}

// A case's budgets forgive mismatches under its own bound, and under no other bound.
TEST(Precedence, BudgetsOfTheCase) {
  Case c = named("m");
  c.attributes["max_mismatches"] = std::int64_t{3};
  c.attributes["max_mismatch_fraction"] = 0.25;
  c.attributes["max_blind"] = 1.0;
  c.attributes["why"] = std::string("most of it is noise");
  const auto has_budgets = [&](const BoundRequest& request) {
    const Bound bound = chosen(c, request);
    EXPECT_EQ(bound.max_mismatches.has_value(), bound.max_mismatch_fraction.has_value());
    EXPECT_EQ(bound.max_mismatches.has_value(), bound.max_blind == 1);
    return bound.max_mismatches.has_value();
  };
  EXPECT_TRUE(has_budgets({}));
  BoundRequest standard, tolerance;
  standard.standards = {"torch"};
  EXPECT_FALSE(has_budgets(standard));
  tolerance.rtol = 0.5;
  EXPECT_FALSE(has_budgets(tolerance));
  c.attributes["standard"] = std::string("torch");
  EXPECT_TRUE(has_budgets({}));
  EXPECT_FALSE(has_budgets(tolerance));
}

// A case's own tolerance is applied to the golden result rounded to the output's dtype, or to the
// stored one. Half an ulp in the wrong direction is one ulp from the rounded value, but at most
// half an ulp from the stored one.
TEST(Precedence, RoundExpected) {
  Case c = named("m");
  c.attributes["output_dtype"] = std::string("bfloat16");
  const Tensor below = vector_of("bfloat16", {1}), beyond = vector_of("bfloat16", {1 + 0x1p-6});
  c.output().golden = vector_of("float64", {1 + 0x1p-8 + 0x1p-30});
  c.attributes["rtol"] = 0x1p-8;
  c.attributes["atol"] = 0.0;
  EXPECT_TRUE(chosen(c, {}).round_expected);
  EXPECT_EQ(gate_case(c, below).verdicts[0].outcome, Outcome::kFail);
  c.attributes["round_expected"] = std::int64_t{0};
  EXPECT_FALSE(chosen(c, {}).round_expected);
  EXPECT_EQ(gate_case(c, below).verdicts[0].outcome, Outcome::kPass);
  EXPECT_EQ(gate_case(c, beyond).verdicts[0].outcome, Outcome::kFail);
  BoundRequest request;
  request.standards = {"torch"};
  EXPECT_TRUE(chosen(c, request).round_expected) << "an asked standard rounds as it does";
}

TEST(Precedence, EqualNanInTheVerdict) {
  Case c = named("m");
  c.output().golden = vector_of("float32", {kNan, 1});
  const Tensor same = vector_of("float32", {kNan, 1}), other = vector_of("float32", {1, kNan});
  BoundRequest request;
  for (const bool equal : {true, false}) {
    request.equal_nan = equal;
    EXPECT_EQ(gate_case(c, same, {.bounds = request}).verdicts[0].outcome,
              equal ? Outcome::kPass : Outcome::kFail);
    EXPECT_EQ(gate_case(c, other, {.bounds = request}).verdicts[0].mismatches, 2);
    request.standards = {"ulp(1)"};
    EXPECT_EQ(gate_case(c, same, {.bounds = request}).verdicts[0].mismatches, equal ? 0 : 1);
    request.standards = {};
  }
}

TEST(Precedence, WrongTolerances) {
  BoundRequest request;
  request.rtol = -1;
  const Format& f = format_named("float32");
  EXPECT_EQ(error_of([&] { choose_bounds(named("m"), f, request); }),
            "the request: rtol must be a number of at least 0, but it is -1");
  request.rtol = kNan;
  EXPECT_EQ(error_of([&] { choose_bounds(named("m"), f, request); }),
            "the request: rtol must be a number of at least 0, but it is nan");
  Case c = named("a/b");
  c.attributes["atol"] = -0.5;
  EXPECT_EQ(error_of([&] { choose_bounds(c, f, {}); }),
            "case a/b: atol must be a number of at least 0, but it is -0.5");
  c.attributes["atol"] = std::string("small");
  EXPECT_EQ(error_of([&] { choose_bounds(c, f, {}); }),
            "case a/b: attribute 'atol' must be a number, but it is 'small'");
  c.attributes.clear();
  c.attributes["equal_nan"] = std::string("maybe");
  EXPECT_EQ(error_of([&] { choose_bounds(c, f, {}); }),
            "case a/b: attribute 'equal_nan' must be 0 or 1, but it is 'maybe'");
}

// The message names the source of the wrong name: the case or the request.
TEST(Precedence, UnknownStandards) {
  const Format& f = format_named("float32");
  Case c = named("a/b");
  c.attributes["standard"] = std::string("toch");
  EXPECT_THAT(error_of([&] { choose_bounds(c, f, {}); }),
              testing::StartsWith("case a/b: unknown standard 'toch': did you mean 'torch'?"));
  BoundRequest request;
  request.standards = {"toch"};
  EXPECT_THAT(error_of([&] { choose_bounds(named("a/b"), f, request); }),
              testing::Not(testing::HasSubstr("case a/b")));
  EXPECT_THAT(error_of([&] { choose_bounds(Case{}, f, request); }),
              testing::StartsWith("unknown standard 'toch': did you mean 'torch'?"));
}

// The message names five standards and counts the others.
TEST(Standards, ThoseThatHaveABoundAreNamedOrCounted) {
  for (const char* dtype : {"float32", "float16"}) {
    const Format& f = format_named(dtype);
    std::size_t have_one = 0;
    for (const Standard& s : standards()) have_one += standard_bound(s.name, f, 1) ? 1 : 0;
    ASSERT_GT(have_one, 6u);
    const std::string text = standards_with(f);
    EXPECT_EQ(std::count(text.begin(), text.end(), ','), 4) << text;
    EXPECT_THAT(text, testing::EndsWith(" and " + std::to_string(have_one - 5) +
                                        " others (docs/standards.md) have one"));
  }
}

TEST(Standards, WordsAreSplitAtCommasOutsideOfBrackets) {
  using Words = std::vector<std::string>;
  EXPECT_EQ(standard_words(""), Words());
  EXPECT_EQ(standard_words(" "), Words());
  EXPECT_EQ(standard_words(" torch , numpy "), (Words{"torch", "numpy"}));
  EXPECT_EQ(standard_words("a,,b"), (Words{"a", "b"}));
  EXPECT_EQ(standard_words("a),b"), (Words{"a)", "b"}));
  EXPECT_EQ(standard_words("as_published"), (Words{"as_published"}));
  EXPECT_EQ(standard_words("ttk_close,as_published"), (Words{"ttk_close,as_published"}));
  EXPECT_EQ(standard_words("a(b,(c,d),e),f,as_published"),
            (Words{"a(b,(c,d),e)", "f,as_published"}));
  const auto parts = [](std::string_view word) {
    const StandardWord split = standard_word(word);
    return std::string(split.dtype) + "|" + std::string(split.standard);
  };
  EXPECT_EQ(parts("torch"), "|torch");
  EXPECT_EQ(parts("float16=torch"), "float16|torch");
  EXPECT_EQ(parts("=torch"), "|torch");
  EXPECT_EQ(parts("="), "|");
  EXPECT_EQ(parts("distribution(a=1)"), "|distribution(a=1)");
  EXPECT_EQ(parts("x=y(z=1)"), "x|y(z=1)");
}

// A standard needs the operands if its tolerances grow with the number of accumulations.
TEST(Standards, ThoseThatGrowNeedTheOperands) {
  for (const Standard& s : standards()) {
    EXPECT_EQ(needs_operands(s.name), s.growth != Growth::kNone) << s.name;
  }
}

// Every format: the standards that are named, and the number of the others.
TEST(Standards, TheTextNamesOrCountsThoseOfEveryFormat) {
  for (const std::span<const Format> table : {formats(), complex_formats()}) {
    for (const Format& f : table) {
      std::vector<std::string> have_one;
      for (const Standard& s : standards()) {
        if (standard_bound(s.name, f, 1)) have_one.emplace_back(s.name);
      }
      const std::string text = standards_with(f);
      if (have_one.empty()) {
        EXPECT_EQ(text, "none has one") << f.name;
        continue;
      }
      std::ptrdiff_t named = 0;
      for (const std::string& word : standard_words(text.substr(0, text.find(" and ")))) {
        named += std::count(have_one.begin(), have_one.end(), word.substr(0, word.find(" has")));
      }
      const bool counts = text.find(" others (docs/standards.md) have one") != std::string::npos;
      if (have_one.size() > 6) {
        EXPECT_TRUE(counts) << text;
        EXPECT_EQ(named, 5) << text;
      } else if (!counts) {
        for (const std::string& name : have_one) EXPECT_THAT(text, testing::HasSubstr(name));
      }
    }
  }
}

TEST(Standards, TheTextOfIndicesNamesTheRuleOfTheirValues) {
  const auto text = [](const char* standard) { return bound_of(standard, "int64").text(); };
  EXPECT_EQ(text("indices"), "values at the indices: equality");
  EXPECT_EQ(text("indices(unsorted)"), "values at the indices, in any order: equality");
  EXPECT_EQ(text("indices(torch,flattened)"), "values at the flattened indices: torch");
  Bound near = bound_of("indices", "int64");
  near.rtol = 0.5;
  near.atol = 2;
  EXPECT_EQ(near.text(), "values at the indices: atol 2 + rtol 0.5 * |expected|");
}

}  // namespace
}  // namespace assay
