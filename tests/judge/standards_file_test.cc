// Tests standards of the user's own: what a file gives, and the messages for mistakes in it.
#include "assay/judge/standards_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <stdexcept>
#include <string>

#include "assay/base/file.h"
#include "assay/judge/standards.h"
#include "error_of.h"

namespace assay {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

std::string file_of(const std::string& body) {
  return R"({"standards": [{"name": "own", "why": "measured", )" + body + "}]}";
}
std::string of_float32(const std::string& row) {
  return file_of(R"("dtypes": {"float32": )" + row + "}");
}
std::string refusal_of(const std::string& text) {
  try {
    parse_standards(text, "own.json");
  } catch (const std::invalid_argument& e) {
    return e.what();
  }
  return "(nothing was thrown)";
}

TEST(StandardsFile, EveryKey) {
  const auto custom =
      parse_standards(file_of(R"("round_expected": false, "nan": "equal", "infinity": "fewer",
        "max_mismatches": 3, "max_mismatch_fraction": 0.25,
        "dtypes": {"float16": {"rtol": 0.5, "atol": 0.125, "small_value": 1e-3, "small_atol": 1e-4},
                   "bfloat16": {"ulp": 2}, "int64": {"ulp": 18446744073709551615},
                   "uint64": {"ulp": 9007199254740993},
                   "*": {"limits": {"mere": 0.01, "share_ulp": 0.1, "small_errors": 2},
                         "parameters": {"share_ulp": 4, "small_errors": [1e-3, 1e-5]}}})"),
                      "own.json");
  const auto bound = [&](const char* dtype) {
    return standard_bound("own", format_named(dtype), 0, custom).value();
  };
  const Bound b = bound("float16");
  EXPECT_EQ(b.rule, Rule::kTolerance);
  EXPECT_EQ(b.rtol, 0.5);
  EXPECT_EQ(b.atol, 0.125);
  EXPECT_EQ(b.small_value, 1e-3);
  EXPECT_EQ(b.small_atol, 1e-4);
  EXPECT_FALSE(b.round_expected);
  EXPECT_TRUE(b.nan_equal);
  EXPECT_EQ(b.infinity, Infinity::kFewer);
  EXPECT_EQ(b.max_mismatches, 3);
  EXPECT_EQ(b.max_mismatch_fraction, 0.25);
  EXPECT_EQ(b.standard, "own");
  EXPECT_EQ(bound("bfloat16").ulps, 2u);
  EXPECT_EQ(bound("int64").ulps, 18446744073709551615u);
  EXPECT_EQ(bound("uint64").ulps, 9007199254740993u);
  const Bound other = bound("float32");
  EXPECT_EQ(other.rule, Rule::kStatistics);
  ASSERT_EQ(other.limits.size(), 3u);
  EXPECT_EQ(other.limits[1].parameter, 4);
  EXPECT_EQ(other.limits[2].second, 1e-5);
  EXPECT_EQ(bound("int32").rtol, 0) << "integers: equality";
}

// A file may give rules, groups of limits, and how a limit is met.
TEST(StandardsFile, AllThatAPublishedRowSays) {
  const auto custom = parse_standards(file_of(R"("growth": "linear",
        "dtypes": {"float16": {"rtol": 0.5, "atol": 0.125, "rule": "either", "or_ulp": 1, "share": 0.01},
                   "bfloat16": {"rtol": 0.5, "rule": "largest", "floor": 2},
                   "float32": {"rtol": 1, "rule": "symmetric", "floor": 1e-4, "in_epsilon": true},
                   "int8": {"ulp": 1, "share": 0.5},
                   "float8_e5m2": {"bits": true},
                   "*": {"limits": {"cosine": {"at_least": 0.9}},
                         "any_of": [{"max_abs_error": {"at_most": 1},
                                     "quantile_abs_error": {"below": 2, "parameter": 0.99}},
                                    {"mere": 1, "nmse": 2}]}})"),
                                      "own.json");
  const auto bound = [&](const char* dtype, std::int64_t accumulations = 1) {
    return standard_bound("own", format_named(dtype), accumulations, custom).value();
  };
  EXPECT_EQ(bound("float16", 2).text(), "atol 0.25 or rtol 1 * |expected| or 1 ulp");
  EXPECT_EQ(bound("float16").max_mismatch_fraction, 0.01);
  EXPECT_EQ(bound("bfloat16").text(), "rtol 0.5 * max(2, |expected|)");
  EXPECT_EQ(bound("float32").rule, Rule::kSymmetric);
  EXPECT_EQ(bound("float32").rtol, 0x1p-23);
  EXPECT_EQ(bound("int8").ulps, 1u);
  EXPECT_EQ(bound("float8_e5m2").rule, Rule::kBits);
  EXPECT_EQ(bound("float64").text(),
            "cosine >= 0.9, max abs error <= 1 or quantile 0.99 of the abs error < 2, MERE < 1 or "
            "sum of squared errors over that of the squared output <= 2");
}

TEST(StandardsFile, OnlyItsDtypes) {
  const auto custom = parse_standards(of_float32(R"({"rtol": 1})"), "own.json");
  EXPECT_FALSE(standard_bound("own", format_named("float16"), 0, custom).has_value());
  try {
    standard_bound("onw", format_named("float16"), 0, custom);
    FAIL();
  } catch (const std::invalid_argument& e) {
    EXPECT_THAT(e.what(), StartsWith("unknown standard 'onw': did you mean 'own'?"));
  }
}

TEST(StandardsFile, MistakesAreNamed) {
  EXPECT_THAT(refusal_of("{"), StartsWith("own.json: is no JSON: "));
  EXPECT_THAT(refusal_of(R"({"standard": []})"),
              StartsWith("own.json: unknown key 'standard': did you mean 'standards'?"));
  EXPECT_EQ(refusal_of(R"({"standards": {}})"), "own.json: 'standards' must be an array [...]");
  EXPECT_THAT(refusal_of(of_float32(R"({"rtl": 1})")),
              StartsWith("own.json: standard 'own': float32: unknown key 'rtl': did you mean "
                         "'rtol'?"));
  EXPECT_THAT(refusal_of(of_float32(R"({"rtol": -1})")),
              HasSubstr("'rtol' must be a number of at least 0, not -1"));
  EXPECT_THAT(refusal_of(of_float32(R"({"rtol": "1"})")), HasSubstr("not \"1\""));
  EXPECT_THAT(refusal_of(of_float32(R"({"ulp": 1.5})")), HasSubstr("whole number"));
  EXPECT_THAT(refusal_of(of_float32(R"({"ulp": 18446744073709551616})")),
              HasSubstr("'ulp' must be a whole number from 0 to 18446744073709551615, not "
                        "1.8446744073709552e+19"));
  ;
  EXPECT_THAT(refusal_of(of_float32(R"({"ulp": 1, "atol": 1})")), HasSubstr("not both"));
  EXPECT_THAT(refusal_of(of_float32("{}")), HasSubstr("nothing is limited"));
  EXPECT_THAT(refusal_of(of_float32(R"({"limits": {"meer": 1}})")),
              HasSubstr("unknown key 'meer': did you mean 'mere'?"));
  EXPECT_THAT(refusal_of(of_float32(R"({"limits": {"share_ulp": 1}})")),
              HasSubstr("'share_ulp' needs its entry in 'parameters'"));
  EXPECT_THAT(refusal_of(of_float32(R"({"rtol": 1, "parameters": {"mere": 1}})")),
              HasSubstr("'parameters' has 'mere', but 'limits' does not; add it there"));
  EXPECT_THAT(refusal_of(of_float32(R"({"small_value": 1, "rtol": 1})")),
              HasSubstr("only for use together"));
  EXPECT_THAT(refusal_of(file_of(R"("dtypes": {"float23": {"rtol": 1}})")), HasSubstr("float23"));
  const std::pair<const char*, const char*> rows[] = {
      {R"({"rtol": 1, "rule": "sums"})",
       "float32: 'rule' is one of sum, either, largest, symmetric, not 'sums'"},
      {R"({"rtol": 1, "floor": 1})", "'floor' is only for the rules largest and symmetric"},
      {R"({"rtol": 1, "atol": 1, "rule": "largest"})",
       "'atol' is only for the rules sum and either"},
      {R"({"ulp": 1, "rule": "sum"})", "'rule' is only for rtol or atol"},
      {R"({"ulp": 1, "bits": true})", "give bits, or ulp, or rtol and atol, not both"},
      {R"({"bits": false})", "'bits' must be true; leave it out otherwise"},
      {R"({"ulp": 1, "or_ulp": 1})", "'or_ulp' is only for rtol or atol"},
      {R"({"limits": {"mere": 1}, "share": 0.1})", "'share' is only for rtol or atol, ulp or bits"},
      {R"({"any_of": []})", "any_of: an array of objects: of the limits of each, one is enough"},
      {R"({"any_of": [{"mere": 1}]})",
       "any_of: any_of has an object with only one limit; write it in limits"},
      {R"({"limits": {"mere": {"at_least": 1}}})", "mere: unknown key 'at_least'"},
      {R"({"limits": {"mere": {"below": 1, "at_most": 1}}})", "one of below, at_most, not several"},
      {R"({"limits": {"mere": {}}})", "mere: one of below, at_most is needed"},
      {R"({"limits": {"quantile_abs_error": {"at_most": 1, "parameter": 99}}})",
       "the parameter of 'quantile_abs_error' must be from 0 to 1, as in 0.99"},
      {R"({"limits": {"nmse": {"at_most": 1, "parameter": 1}}})", "unused entry in 'parameters'"},
  };
  for (const auto& [row, message] : rows) {
    EXPECT_THAT(refusal_of(of_float32(row)), HasSubstr(message)) << row;
  }
  EXPECT_THAT(refusal_of(file_of(R"("dtypes": {"int8": {"atol": 1, "or_ulp": 1}})")),
              HasSubstr("'or_ulp' is only for floats; for other dtypes use atol"));
  EXPECT_THAT(refusal_of(file_of(R"("growth": "fast", "dtypes": {"*": {"rtol": 1}})")),
              HasSubstr("'growth' is one of none, twice_from_2048, atb, linear, not 'fast'"));
  EXPECT_THAT(refusal_of(file_of(R"("nan": "same", "dtypes": {"*": {"rtol": 1}})")),
              HasSubstr("'nan' is one of never, equal, accept, not 'same'"));
  EXPECT_THAT(refusal_of(file_of(R"("max_mismatch_fraction": 2, "dtypes": {"*": {"rtol": 1}})")),
              HasSubstr("from 0 to 1"));
  EXPECT_THAT(refusal_of(R"({"standards": [{"name": "own", "dtypes": {"*": {"rtol": 1}}}]})"),
              HasSubstr("'why' is missing"));
  EXPECT_THAT(
      refusal_of(R"({"standards": [{"name": "torch", "why": "x", "dtypes": {"*": {"rtol": 1}}}]})"),
      HasSubstr("taken by a published standard"));
}

TEST(StandardsFile, ParametersAreNumbers) {
  const auto error = [](const char* name, const char* parameter) {
    return refusal_of(of_float32(std::string(R"({"limits": {")") + name +
                                 R"(": {"at_most": 1, "parameter": )" + parameter + "}}}"));
  };
  const std::string place = "own.json: standard 'own': float32: limits: ";
  for (const char* parameter : {"\"4\"", "[1, 2]", "[]"}) {
    EXPECT_EQ(error("share_ulp", parameter),
              place + "the parameter of 'share_ulp' must be a number")
        << parameter;
  }
  for (const char* parameter : {"1", "[1]", "[1, null]", "[1, 2, 3]"}) {
    EXPECT_EQ(error("small_errors", parameter),
              place +
                  "the parameter of 'small_errors' must be [limit of |expected|, error that "
                  "counts]")
        << parameter;
  }
}

TEST(StandardsFile, Names) {
  for (const char* name : {"", "a b", "a,b", "a=b", "a(b"}) {
    EXPECT_EQ(refusal_of(std::string(R"({"standards": [{"name": ")") + name +
                         R"(", "why": "w", "dtypes": {"*": {"rtol": 1}}}]})"),
              std::string("own.json: standard '") + name +
                  "': 'name' must be a word without blanks, commas, '=' and brackets");
  }
  const std::string one = R"({"name": "own", "why": "w", "dtypes": {"*": {"rtol": 1}}})";
  EXPECT_EQ(refusal_of(R"({"standards": [)" + one + ", " + one + "]}"),
            "own.json: standard 'own' is there twice");
  EXPECT_EQ(refusal_of(file_of(R"("dtypes": {"float16": {"rtol": 1}, "fp16": {"rtol": 2}})")),
            "own.json: standard 'own': 'float16' is there twice: 'fp16' is its name, too");
}

TEST(StandardsFile, SmallValuesGoWithATolerance) {
  EXPECT_EQ(refusal_of(of_float32(R"({"ulp": 1, "small_value": 1, "small_atol": 1})")),
            "own.json: standard 'own': float32: small_value is only for rtol or atol, which judge "
            "all other elements; add one of them");
}

// A standard of a file is found wherever a standard is named.
TEST(StandardsFile, NamedWithItsFile) {
  const std::string path = testing::TempDir() + "/named_standards.json";
  write_file(path, of_float32(R"({"rtol": 0.25})"));
  const Format& float32 = format_named("float32");
  const auto bound = standard_bound(path + ":own", float32);
  ASSERT_TRUE(bound);
  EXPECT_EQ(bound->rtol, 0.25);
  EXPECT_EQ(bound->standard, "own");
  EXPECT_FALSE(standard_bound(path + ":own", format_named("float16")));
  EXPECT_FALSE(needs_operands(path + ":own"));
  const auto error = [&](const std::string& name) {
    return error_of([&] { (void)standard_bound(name, float32); });
  };
  EXPECT_EQ(error(path + ":owm"),
            path + ": unknown standard 'owm': did you mean 'own'?; known: own");
  EXPECT_EQ(error(path),
            path + " is a file of standards; name one of them, as in " + path + ":own");
  EXPECT_THAT(failure_of([&] { (void)standard_bound("/nowhere/x.json:own", float32); }),
              testing::HasSubstr("/nowhere/x.json: cannot be read"));
}

TEST(StandardsFile, OfAFile) {
  const std::string path = testing::TempDir() + "/own_standards.json";
  write_file(path, of_float32(R"({"rtol": 0.25})"));
  const auto custom = read_standards(path);
  ASSERT_EQ(custom.size(), 1u);
  EXPECT_EQ(custom[0].name, "own");
  EXPECT_EQ(standard_bound("own", format_named("float32"), 0, custom)->rtol, 0.25);
  write_file(path, "[]");
  EXPECT_EQ(error_of([&] { (void)read_standards(path); }), path + ": an object {...} is expected");
  std::filesystem::remove(path);
  EXPECT_EQ(failure_of([&] { (void)read_standards(path); }),
            path + ": cannot be read: No such file or directory");
}

}  // namespace
}  // namespace assay
