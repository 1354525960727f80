// Tests the list of an unpacked folder: what is written is read back, and what is wrong is named.
#include "assay/wire/manifest_file.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <variant>
#include <vector>

#include "assay/base/constants.h"
#include "document.h"
#include "error_of.h"

namespace assay::wire {
namespace {

Manifest whole_manifest() {
  Manifest manifest;
  manifest.attributes = {{"created_by", std::string("assay 0.2")}, {"seed", std::int64_t{-3}}};
  ManifestCase c;
  c.name = "mm/a";
  c.op = "matmul";
  c.attributes = {{"least", std::numeric_limits<std::int64_t>::min()},
                  {"most", std::numeric_limits<std::int64_t>::max()},
                  {"tenth", 0.1},
                  {"whole", 2.0},
                  {"minus_zero", -0.0},
                  {"smallest", std::numeric_limits<double>::denorm_min()},
                  {"above", kInfinity},
                  {"below", -kInfinity},
                  {"nothing", kNan},
                  {"why", std::string("caf\xc3\xa9 \"quoted\"\n")}};
  c.absent_inputs = {"bias", "scale"};
  c.arrays = {{"inputs/a", {"mm/a/inputs/a.npy", "bfloat16", {2, 0}}},
              {"golden", {"all.npz:golden", "float64", {}}}};
  c.machines = {{"outputs/h200", "hopper"}};
  c.outputs = {{"y", {{"rtol", 0.5}}}, {"z", {}}};
  manifest.cases = {c,
                    {.name = "b",
                     .op = "exp",
                     .attributes = {},
                     .absent_inputs = {},
                     .arrays = {},
                     .machines = {},
                     .outputs = {}}};
  return manifest;
}

// Expects the same attributes. NaN equals NaN here, and -0 is not 0.
void expect_same(const std::map<std::string, Attribute>& read,
                 const std::map<std::string, Attribute>& given) {
  ASSERT_EQ(read.size(), given.size());
  for (const auto& [name, value] : given) {
    ASSERT_EQ(read.count(name), 1u) << name;
    const Attribute& other = read.at(name);
    ASSERT_EQ(other.index(), value.index()) << name << ": another type";
    if (const auto* real = std::get_if<double>(&value)) {
      const double got = std::get<double>(other);
      EXPECT_TRUE(std::isnan(*real) ? std::isnan(got) : got == *real) << name;
      EXPECT_EQ(std::signbit(got), std::signbit(*real)) << name;
    } else {
      EXPECT_EQ(other, value) << name;
    }
  }
}

TEST(ManifestFile, GivesWhatWasWritten) {
  const Manifest given = whole_manifest();
  const std::string text = manifest_text(given);
  EXPECT_EQ(text.back(), '\n');
  const Manifest read = parse_manifest(text, "m.json");
  expect_same(read.attributes, given.attributes);
  ASSERT_EQ(read.cases.size(), given.cases.size());
  for (std::size_t i = 0; i < given.cases.size(); ++i) {
    const ManifestCase &one = read.cases[i], &other = given.cases[i];
    EXPECT_EQ(one.name, other.name);
    EXPECT_EQ(one.op, other.op);
    expect_same(one.attributes, other.attributes);
    EXPECT_EQ(one.absent_inputs, other.absent_inputs);
    EXPECT_EQ(one.arrays, other.arrays);
    EXPECT_EQ(one.machines, other.machines);
    ASSERT_EQ(one.outputs.size(), other.outputs.size());
    for (const auto& [output, attributes] : other.outputs) {
      expect_same(one.outputs.at(output), attributes);
    }
  }
  EXPECT_EQ(manifest_text(read), text);
}

// Fields that are empty are left out, except attributes, arrays and cases.
TEST(ManifestFile, ItsText) {
  Manifest manifest = whole_manifest();
  manifest.cases[0].attributes = {{"axis", std::int64_t{1}}, {"top", kInfinity}};
  EXPECT_EQ(parsed(manifest_text(manifest)), parsed(R"({"assay_cases": 1,
      "attributes": {"created_by": "assay 0.2", "seed": -3},
      "cases": [{"name": "mm/a", "op": "matmul",
                 "attributes": {"axis": 1, "top": {"float64": "inf"}},
                 "absent_inputs": ["bias", "scale"],
                 "arrays": {"golden": {"file": "all.npz:golden", "dtype": "float64", "shape": []},
                            "inputs/a": {"file": "mm/a/inputs/a.npy", "dtype": "bfloat16",
                                         "shape": [2, 0]}},
                 "machines": {"outputs/h200": "hopper"},
                 "results": {"y": {"rtol": 0.5}, "z": {}}},
                {"name": "b", "op": "exp", "attributes": {}, "arrays": {}}]})"));
  EXPECT_EQ(parsed(manifest_text({})),
            parsed(R"({"assay_cases": 1, "attributes": {}, "cases": []})"));
}

// Reads a manifest written by hand. Numbers keep their kind.
TEST(ManifestFile, KindsOfAttributes) {
  const Manifest m = parse_manifest(
      R"({"assay_cases": 1, "cases": [{"name": "a", "op": "exp", "attributes":
          {"i": 7, "f": 7.0, "e": 1e2, "s": "7", "n": {"float64": "nan"},
           "m": {"float64": "-inf"}}}]})",
      "m.json");
  EXPECT_TRUE(m.attributes.empty());
  const auto& a = m.cases.at(0).attributes;
  EXPECT_EQ(a.at("i"), Attribute(std::int64_t{7}));
  EXPECT_EQ(a.at("f"), Attribute(7.0));
  EXPECT_EQ(a.at("e"), Attribute(100.0));
  EXPECT_EQ(a.at("s"), Attribute(std::string("7")));
  EXPECT_TRUE(std::isnan(std::get<double>(a.at("n"))));
  EXPECT_EQ(a.at("m"), Attribute(-kInfinity));
}

std::string manifest_error(const std::string& text) {
  return error_of([&] { (void)parse_manifest(text, "m"); });
}
// Returns the error for a manifest with one case, which is right except for what `more` adds.
std::string case_error(const std::string& more) {
  return manifest_error(R"({"assay_cases": 1, "cases": [{"name": "a", "op": "exp", )" + more +
                        "}]}");
}

TEST(ManifestFile, WrongLists) {
  EXPECT_EQ(manifest_error("[]"), "m: an object {...} is expected");
  EXPECT_EQ(manifest_error(R"({"cases": []})"), "m: 'assay_cases' must be 1");
  EXPECT_EQ(manifest_error(R"({"assay_cases": 2, "cases": []})"), "m: 'assay_cases' must be 1");
  EXPECT_EQ(manifest_error(R"({"assay_cases": "1", "cases": []})"),
            "m: 'assay_cases' must be a number of at least 0, not \"1\"");
  EXPECT_EQ(manifest_error(R"({"assay_cases": 1})"), "m: 'cases' must be a list");
  EXPECT_EQ(manifest_error(R"({"assay_cases": 1, "cases": {}})"), "m: 'cases' must be a list");
  EXPECT_EQ(manifest_error(R"({"assay_cases": 1, "case": []})"),
            "m: unknown key 'case': did you mean 'cases'?; known: assay_cases, attributes, cases");
  EXPECT_EQ(manifest_error(R"({"assay_cases": 1, "attributes": [], "cases": []})"),
            "m: 'attributes' must be an object");
  EXPECT_EQ(manifest_error(R"({"assay_cases": 1, "attributes": {"x": null}, "cases": []})"),
            "m: x: an attribute is a number or a string");
}

TEST(ManifestFile, WrongCases) {
  EXPECT_EQ(manifest_error(R"({"assay_cases": 1, "cases": [3]})"),
            "m: case without a name: an object {...} is expected");
  EXPECT_EQ(manifest_error(R"({"assay_cases": 1, "cases": [{"op": "exp"}]})"),
            "m: case without a name: 'name' and 'op' are needed");
  EXPECT_EQ(manifest_error(R"({"assay_cases": 1, "cases": [{"name": "a"}]})"),
            "m: case a: 'name' and 'op' are needed");
  EXPECT_EQ(manifest_error(R"({"assay_cases": 1, "cases": [{"name": 1, "op": "exp"}]})"),
            "m: 'name' must be a string");
  EXPECT_EQ(case_error(R"("array": {})"),
            "m: case a: unknown key 'array': did you mean 'arrays'?; known: name, op, attributes, "
            "absent_inputs, arrays, machines, results");
  EXPECT_EQ(case_error(R"("absent_inputs": "x")"), "m: case a: 'absent_inputs' must be a list");
  EXPECT_EQ(case_error(R"("absent_inputs": ["x", 1])"),
            "m: case a: 'absent_inputs' must be a list of strings");
  for (const char* key : {"arrays", "machines", "results"}) {
    EXPECT_EQ(case_error(std::string("\"") + key + "\": []"),
              std::string("m: case a: '") + key + "' must be an object");
  }
  EXPECT_EQ(case_error(R"("machines": {"outputs/p": 1})"),
            "m: case a: outputs/p: a machine is a string");
}

TEST(ManifestFile, WrongAttributes) {
  for (const char* value : {"true", "null", "[]", "{}", "18446744073709551615",
                            R"({"float64": "many"})", R"({"float32": "nan"})"}) {
    EXPECT_EQ(case_error(std::string(R"("attributes": {"x": )") + value + "}"),
              "m: case a: x: an attribute is a number or a string")
        << value;
  }
  EXPECT_EQ(case_error(R"("attributes": {"x": {"float64": 1}})"),
            "m: case a: x: 'float64' must be a string");
  EXPECT_EQ(case_error(R"("results": {"y": {"x": true}})"),
            "m: case a: y: x: an attribute is a number or a string");
  EXPECT_EQ(case_error(R"("results": {"y": 3})"), "m: case a: y: 'y' must be an object");
}

TEST(ManifestFile, WrongArrays) {
  const auto error = [](const std::string& array) {
    return case_error(R"("arrays": {"golden": )" + array + "}");
  };
  const std::string place = "m: case a: golden: ";
  EXPECT_EQ(error("3"), place + "an object {...} is expected");
  EXPECT_EQ(error(R"({"file": "f", "dtype": "float32", "shap": []})"),
            place + "unknown key 'shap': did you mean 'shape'?; known: file, dtype, shape");
  EXPECT_EQ(error(R"({"dtype": "float32", "shape": []})"), place + "'file' and 'dtype' are needed");
  EXPECT_EQ(error(R"({"file": "f", "shape": []})"), place + "'file' and 'dtype' are needed");
  EXPECT_EQ(error(R"({"file": 1, "dtype": "float32", "shape": []})"),
            place + "'file' must be a string");
  EXPECT_EQ(error(R"({"file": "f", "dtype": "float32"})"),
            place + "'shape' must be a list of whole numbers");
  EXPECT_EQ(error(R"({"file": "f", "dtype": "float32", "shape": "2"})"),
            place + "'shape' must be a list of whole numbers");
  for (const char* extent : {"-1", "1.5", "\"2\"", "18446744073709551615"}) {
    EXPECT_EQ(
        error(std::string(R"({"file": "f", "dtype": "float32", "shape": [2, )") + extent + "]}"),
        place + "'shape' must be a list of whole numbers of at least 0")
        << extent;
  }
}

}  // namespace
}  // namespace assay::wire
