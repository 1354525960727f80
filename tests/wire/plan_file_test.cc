// Tests campaign plans from JSON: what they expand to, and the messages for mistakes in them.
#include "assay/wire/plan_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "assay/base/text.h"
#include "error_of.h"

namespace assay::wire {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

campaign::Plan parse(const std::string& text) {
  return campaign::check_plan(parse_plan(text, "p.json", "/plans"));
}
std::string message_of(const std::string& text) {
  return error_of([&] { (void)parse(text); });
}
std::string plan_of(const std::string& cell, const std::string& more = "") {
  return formatted(R"({{"schema": 1, "name": "x", {}"cells": [{{{}}}]}})", more, cell);
}
// Returns a right cell in which the value of one key is replaced.
std::string cell_with(const std::string& key, const std::string& value) {
  const std::vector<std::pair<std::string, std::string>> parts = {{"dtype", R"("bfloat16")"},
                                                                  {"shape", "[4, 8, 6]"},
                                                                  {"distribution", R"("normal")"},
                                                                  {"gates", R"(["v_abft"])"},
                                                                  {"faults", R"([{"census": 2}])"}};
  std::string cell;
  bool there = false;
  for (const auto& [name, word] : parts) {
    const bool replaced = name == key;
    there = there || replaced;
    if (replaced && value.empty()) continue;  // left out
    cell += formatted("{}\"{}\": {}", cell.empty() ? "" : ", ", name, replaced ? value : word);
  }
  if (!there && !key.empty()) cell += formatted(", \"{}\": {}", key, value);
  return cell;
}
std::string message_with(const std::string& key, const std::string& value) {
  return message_of(plan_of(cell_with(key, value)));
}

std::vector<std::string> names_of(const campaign::Plan& plan) {
  std::vector<std::string> names;
  for (const campaign::Cell& c : plan.cells) names.push_back(c.name);
  return names;
}

TEST(PlanFile, EveryKey) {
  const campaign::Plan plan = parse(R"({"schema": 1, "name": "n", "about": "why", "seed": 7,
      "published": "table.csv", "defaults": {"clean_rows": 100, "gates": "a_abft"},
      "cells": {"name": "one", "operator": "matmul", "machine": "exact", "dtype": "float16",
        "output_dtype": "float32", "shape": [8, 16, 4], "rows": 2,
        "distribution": {"a": "normal,mean=1", "b": "uniform", "name": "mixed", "published": "t"},
        "gates": ["v_abft,arithmetic=output", "standard:torch"],
        "faults": [{"census": 3, "bits": [30, 4, 4], "direction": "1to0"},
                   {"fault": "flip,bit=3", "trials": 10, "per_matrix": 4}],
        "precision": {"half_width": 0.01, "confidence": 0.9, "looks": 3}}})");
  EXPECT_EQ(plan.name, "n");
  EXPECT_EQ(plan.about, "why");
  EXPECT_EQ(plan.seed, 7u);
  EXPECT_EQ(plan.published, "/plans/table.csv");
  ASSERT_EQ(plan.cells.size(), 1u);
  const campaign::Cell& c = plan.cells[0];
  EXPECT_EQ(c.name, "one float16 8x16x4 mixed");
  EXPECT_EQ(c.op, "matmul");
  EXPECT_EQ(c.machine->name, "exact");
  EXPECT_EQ(c.dtype->name, "float16");
  EXPECT_EQ(c.output->name, "float32");
  EXPECT_THAT(c.shape, ElementsAre(8, 16, 4));
  EXPECT_EQ(c.rows_a_matrix(), 2);
  EXPECT_EQ(c.distribution_of("a").text(), parse_distribution("normal,mean=1").text());
  EXPECT_EQ(c.distribution_of("b").text(), parse_distribution("uniform").text());
  EXPECT_THAT(c.published_distributions, testing::ElementsAre("t"));
  EXPECT_EQ(c.clean_rows, 100);
  EXPECT_EQ(c.clean_matrices(), 50);
  EXPECT_EQ(c.matrices(), 50);
  ASSERT_EQ(c.gates.size(), 2u) << "the cell's own word wins over the defaults";
  EXPECT_EQ(c.gates[0].text, parse_threshold("v_abft,arithmetic=output").text());
  EXPECT_TRUE(c.gates[0].threshold && c.gates[0].standard.empty());
  EXPECT_TRUE(!c.gates[1].standard.empty() && !c.gates[1].threshold);
  ASSERT_EQ(c.faults.size(), 2u);
  EXPECT_TRUE(c.faults[0].census);
  EXPECT_EQ(c.faults[0].trials, 3);
  EXPECT_THAT(c.faults[0].bits, ElementsAre(4, 30));
  EXPECT_EQ(c.faults[0].direction, fault::Direction::kOneToZero);
  EXPECT_EQ(c.faults[0].text(), "census of 3 matrices, bits 4 30, 1to0");
  EXPECT_EQ(c.faults[1].trials, 10);
  EXPECT_EQ(c.faults[1].per_matrix, 4);
  ASSERT_TRUE(c.precision.has_value());
  EXPECT_EQ(c.precision->half_width, 0.01);
  EXPECT_EQ(c.precision->confidence, 0.9);
  EXPECT_EQ(c.precision->looks, 3);
}

TEST(PlanFile, ListsExpand) {
  const campaign::Plan plan = parse(plan_of(R"("machine": ["ascend910b", "exact"],
      "dtype": ["bfloat16", "float16"], "shape": [[4, 8, 6], [8, 8, 8]],
      "distribution": ["normal", {"draw": "uniform", "name": "u"}], "gates": "v_abft",
      "clean_rows": 4)"));
  EXPECT_EQ(plan.cells.size(), 16u);
  EXPECT_EQ(names_of(plan)[0], "bfloat16 4x8x6 normal ascend910b");
  EXPECT_EQ(names_of(plan)[1], "bfloat16 4x8x6 u ascend910b");
  EXPECT_EQ(names_of(plan)[2], "bfloat16 8x8x8 normal ascend910b");
  EXPECT_EQ(names_of(plan)[15], "float16 8x8x8 u exact");
  // If a cell has only one machine, the name of the cell leaves it out.
  EXPECT_EQ(names_of(parse(plan_of(cell_with("", ""))))[0], "bfloat16 4x8x6 normal");
  EXPECT_EQ(parse(plan_of(cell_with("", ""))).cells[0].machine->name, "ascend910b");
  // Without output_dtype, the output has the operator's own format.
  EXPECT_EQ(parse(plan_of(cell_with("dtype", R"("float8_e4m3fn")"))).cells[0].output->name,
            "float32");
}

TEST(PlanFile, NoJson) {
  EXPECT_THAT(message_of("{"), StartsWith("p.json: is no JSON: "));
  EXPECT_THAT(message_of(""), StartsWith("p.json: is no JSON: "));
  EXPECT_THAT(message_of(R"({"seed": 1e999})"),
              StartsWith("p.json: holds a number beyond those of float64: "));
  EXPECT_EQ(message_of("[1]"), "p.json: an object {...} is expected");
  EXPECT_EQ(message_of("3"), "p.json: an object {...} is expected");
  EXPECT_EQ(failure_of([] { (void)campaign::check_plan(read_plan("/no/such/plan.json")); }),
            "/no/such/plan.json: cannot be read: No such file or directory");
}

TEST(PlanFile, UnknownKeys) {
  EXPECT_THAT(message_of(R"({"schema": 1, "name": "x", "cels": []})"),
              StartsWith("p.json: unknown key 'cels': did you mean 'cells'?; known: schema, "));
  EXPECT_THAT(message_with("dtipe", "1"),
              StartsWith("p.json: cell 1: unknown key 'dtipe': did you mean 'dtype'?; known: "));
  EXPECT_THAT(message_of(plan_of(cell_with("", ""), R"("defaults": {"gate": "v_abft"}, )")),
              StartsWith("p.json: defaults: unknown key 'gate': did you mean 'gates'?"));
  EXPECT_THAT(message_with("faults", R"([{"census": 1}, {"cencus": 1}])"),
              StartsWith("p.json: cell 1: fault 2: unknown key 'cencus': did you mean 'census'?"));
  EXPECT_THAT(message_with("distribution", R"({"drow": "normal"})"),
              StartsWith("p.json: cell 1: distribution: unknown key 'drow'"));
  EXPECT_THAT(message_with("precision", R"({"half": 0.1})"),
              StartsWith("p.json: cell 1: precision: unknown key 'half'"));
}

TEST(PlanFile, MissingKeys) {
  EXPECT_EQ(message_of(R"({"name": "x"})"),
            "p.json: 'schema' must be 1, the one that this version reads");
  EXPECT_EQ(message_of(R"({"schema": 2, "name": "x"})"),
            "p.json: 'schema' must be 1, the one that this version reads");
  EXPECT_EQ(message_of(R"({"schema": 1})"), "p.json: 'name' is missing");
  EXPECT_EQ(message_of(R"({"schema": 1, "name": "x"})"),
            "p.json: 'cells' is missing: there is nothing to do");
  EXPECT_EQ(message_of(R"({"schema": 1, "name": "x", "cells": []})"),
            "p.json: 'cells' is missing: there is nothing to do");
  EXPECT_EQ(message_with("dtype", ""), "p.json: cell 1: 'dtype' is missing");
  EXPECT_EQ(message_with("dtype", "[]"), "p.json: cell 1: 'dtype' is missing");
  EXPECT_EQ(message_with("shape", ""), "p.json: cell 1: 'shape' is missing: [M, K, N]");
  EXPECT_EQ(
      message_with("distribution", ""),
      "p.json: cell 1: 'distribution' is missing: the values of the inputs, as in \"normal\"");
  EXPECT_EQ(message_with("distribution", R"({"a": "normal"})"),
            "p.json: cell 1: 'distribution' needs 'draw', or 'a' and 'b'");
  EXPECT_EQ(message_with("gates", ""),
            "p.json: cell 1: 'gates' is missing: a threshold, tolerance, or standard:NAME");
  EXPECT_EQ(message_with("faults", ""),
            "p.json: cell 1: there is nothing to do: give 'faults' or 'clean_rows'");
  EXPECT_EQ(message_with("faults", "[{}]"),
            "p.json: cell 1: fault 1: give either 'census' (a number of matrices) or 'fault'");
  EXPECT_EQ(message_with("faults", R"({"census": 1, "fault": "zero"})"),
            "p.json: cell 1: fault 1: give either 'census' (a number of matrices) or 'fault'");
  EXPECT_EQ(message_with("faults", R"([{"fault": "zero"}])"),
            "p.json: cell 1: fault 1: 'trials' is missing");
}

TEST(PlanFile, WrongTypes) {
  EXPECT_EQ(message_of(R"({"schema": "1", "name": "x"})"),
            "p.json: 'schema' must be a number of at least 0, not \"1\"");
  EXPECT_EQ(message_of(R"({"schema": 1, "name": 3})"), "p.json: 'name' must be a string");
  EXPECT_EQ(message_of(R"({"schema": 1, "name": "x", "seed": -1})"),
            "p.json: 'seed' must be a number of at least 0, not -1");
  EXPECT_EQ(message_of(R"({"schema": 1, "name": "x", "seed": 1.5})"),
            "p.json: 'seed' must be a whole number");
  EXPECT_EQ(message_of(R"({"schema": 1, "name": "x", "cells": [3]})"),
            "p.json: cell 1: an object {...} is expected");
  EXPECT_EQ(message_of(R"({"schema": 1, "name": "x", "cells": "all"})"),
            "p.json: cell 1: an object {...} is expected");
  EXPECT_EQ(message_of(plan_of(cell_with("", ""), R"("defaults": [], )")),
            "p.json: defaults: an object {...} is expected");
  EXPECT_EQ(message_with("name", "3"), "p.json: cell 1: 'name' must be a string");
  EXPECT_EQ(message_with("dtype", "16"), "p.json: cell 1: 'dtype' must be a string, not 16");
  EXPECT_EQ(message_with("machine", "[1]"), "p.json: cell 1: 'machine' must be a string, not 1");
  EXPECT_EQ(message_with("gates", "[{}]"), "p.json: cell 1: 'gates' must be a string, not {}");
  EXPECT_EQ(message_with("attributes", "3"),
            "p.json: cell 1: 'attributes' must be an object {...}");
  EXPECT_EQ(message_with("attributes", R"({"axis": 18446744073709551615})"),
            "p.json: cell 1: attribute 'axis' is 18446744073709551615, beyond int64");
  EXPECT_EQ(message_with("faults", "[3]"), "p.json: cell 1: fault 1: an object {...} is expected");
  EXPECT_EQ(message_with("distribution", "3"),
            "p.json: cell 1: distribution: an object {...} is expected");
  EXPECT_EQ(message_with("distribution", R"({"draw": 3})"),
            "p.json: cell 1: 'draw' must be a string");
  for (const char* shape : {"[4, 8]", "[4, 8, 0]", "[4, 8, 6, 2]", "[4, 8, -1]", "\"4x8x6\"",
                            "[4, 8, 2.5]", "[4, 8, 2000000]", "8"}) {
    EXPECT_THAT(message_with("shape", shape),
                StartsWith("p.json: cell 1: 'shape' is [M, K, N], each from 1 to 1048576, or a "
                           "list of those, not "))
        << shape;
  }
  EXPECT_THAT(message_with("shape", "[[4, 8, 6], [4, 8]]"), HasSubstr("not [4,8]"));
}

TEST(PlanFile, OutOfRange) {
  EXPECT_EQ(message_with("rows", "5"), "p.json: cell 1: 'rows' is 5, more than M = 4");
  EXPECT_EQ(message_with("clean_rows", "-1"),
            "p.json: cell 1: 'clean_rows' must be a number of at least 0, not -1");
  EXPECT_EQ(message_with("faults", R"({"census": 0})"),
            "p.json: cell 1: fault 1: 'census' must be at least 1");
  EXPECT_EQ(message_with("faults", R"({"fault": "zero", "trials": 0})"),
            "p.json: cell 1: fault 1: 'trials' must be at least 1");
  EXPECT_EQ(message_with("faults", R"({"fault": "zero", "trials": 1, "per_matrix": 0})"),
            "p.json: cell 1: fault 1: 'per_matrix' must be at least 1");
  for (const char* bit : {"16", "-1", "1.5", "\"3\"", "4294967299"}) {
    EXPECT_EQ(
        message_with("faults", formatted(R"({{"census": 1, "bits": [3, {}]}})", bit)),
        formatted("p.json: cell 1: fault 1: 'bits' are whole numbers from 0 to 15 for bfloat16, "
                  "not {}",
                  bit));
  }
  EXPECT_EQ(message_with("faults", R"({"census": 1, "direction": "up"})"),
            "p.json: cell 1: fault 1: 'direction' is 0to1, 1to0 or both, not 'up'");
  EXPECT_EQ(message_with("faults", R"({"census": 1, "trials": 3})"),
            "p.json: cell 1: fault 1: a census takes every element of its matrices: it has no "
            "'trials'");
  EXPECT_EQ(message_with("faults", R"({"fault": "zero", "trials": 3, "bits": [1]})"),
            "p.json: cell 1: fault 1: 'bits' and 'direction' belong to a census; a fault says its "
            "own");
  EXPECT_EQ(message_with("precision", R"({"looks": 3})"),
            "p.json: cell 1: precision: 'half_width' must be above 0");
  EXPECT_EQ(message_with("precision", R"({"half_width": 2})"),
            "p.json: cell 1: precision: 'half_width' must be a number from 0 to 1, not 2");
  EXPECT_EQ(message_with("precision", R"({"half_width": 0.1, "confidence": 1})"),
            "p.json: cell 1: precision: 'confidence' lies between 0 and 1");
  EXPECT_EQ(message_with("precision", R"({"half_width": 0.1, "looks": 0})"),
            "p.json: cell 1: precision: 'looks' must be at least 1");
}

// A message gives the place, and then the text of the table that does not have the word.
TEST(PlanFile, UnknownWords) {
  EXPECT_THAT(message_with("machine", R"("ascend910")"),
              AllOf(StartsWith("p.json: cell 1: "), HasSubstr("did you mean 'ascend910b'?")));
  EXPECT_THAT(
      message_with("dtype", R"("bfloat61")"),
      AllOf(StartsWith("p.json: cell 1: "), HasSubstr("unknown dtype 'bfloat61': did you mean '")));
  EXPECT_THAT(
      message_with("output_dtype", R"("float23")"),
      AllOf(StartsWith("p.json: cell 1: "), HasSubstr("unknown dtype 'float23': did you mean '")));
  EXPECT_THAT(message_with("gates", R"("v_abf")"),
              AllOf(StartsWith("p.json: cell 1: "), HasSubstr("did you mean 'v_abft'?")));
  EXPECT_THAT(message_with("gates", R"("standard:torc")"),
              AllOf(StartsWith("p.json: cell 1: "), HasSubstr("did you mean 'torch'?")));
  EXPECT_THAT(message_with("faults", R"({"fault": "flap,bit=3", "trials": 1})"),
              AllOf(StartsWith("p.json: cell 1: fault 1: "), HasSubstr("did you mean 'flip'?")));
  EXPECT_THAT(message_with("distribution", R"("norma")"),
              AllOf(StartsWith("p.json: cell 1: "), HasSubstr("did you mean 'normal'?")));
  EXPECT_THAT(message_of(plan_of(R"("name": "big", )" + cell_with("gates", R"("v_abf")"))),
              StartsWith("p.json: cell 'big': "))
      << "a cell that has a name is called by it";
}

TEST(PlanFile, Twice) {
  EXPECT_EQ(
      message_with("gates", R"(["v_abft", "v_abft,variant=seed"])"),
      formatted("p.json: cell 1: the gate {} is there twice", parse_threshold("v_abft").text()));
  const std::string cell = "{" + cell_with("", "") + "}";
  EXPECT_EQ(message_of(formatted(R"({{"schema": 1, "name": "x", "cells": [{}, {}]}})", cell, cell)),
            "p.json: cell 2: two cells are called 'bfloat16 4x8x6 normal': give them names");
}

// Errors that depend on operators and formats of results are reported when the plan is checked.
TEST(PlanFile, ParsingComputesNothing) {
  const auto cell = [](const char* op, const char* more) {
    return plan_of(formatted(R"("operator": "{}", "dtype": "bfloat16", "shape": [4, 8], {},
                             "distribution": "normal", "gates": "tolerance", "clean_rows": 1)",
                             op, more));
  };
  for (const auto& [text, message] : std::vector<std::pair<std::string, std::string>>{
           {cell("conv2d", R"("attributes": {})"), "'conv2d'"},
           {cell("softmax", R"("attributes": {"axis": 7})"), "axis 7 is no dimension of x"},
           {plan_of(cell_with("gates", R"("standard:torchy")")), "unknown standard 'torchy'"},
           {plan_of(cell_with("gates", R"("standard:")")), "unknown standard ''"},
           {plan_of(cell_with("faults", R"({"census": 1, "bits": [99]})")), "'bits' are whole"}}) {
    std::optional<campaign::UncheckedPlan> parsed;
    EXPECT_NO_THROW(parsed = parse_plan(text, "p.json", "/plans")) << text;
    EXPECT_THAT(error_of([&] { (void)campaign::check_plan(*parsed); }),
                AllOf(StartsWith("p.json: cell 1"), HasSubstr(message)))
        << text;
  }
}

TEST(PlanFile, Datasets) {
  EXPECT_EQ(message_of(plan_of(R"("dataset": "d.h5", "gates": "v_abft", "clean_rows": 1)")),
            "p.json: cell 1: datasets cannot be read here");
  EXPECT_EQ(message_of(plan_of(R"("dataset": "d.h5", "gates": "v_abft", "shape": [1, 1, 1])")),
            "p.json: cell 1: a dataset's cases bring their own 'shape'");
  EXPECT_EQ(message_with("case", R"("x")"),
            "p.json: cell 1: 'case' is only for 'dataset'; leave it out");
  const auto lister = [](const std::string& file, const std::string& glob) {
    EXPECT_EQ(file, "/plans/d.h5");
    DatasetCases found;
    found.digest = "1234";
    if (glob == "none") return found;
    const Format& f = format_named("bfloat16");
    found.cases = {{"a/one", "matmul", &f, &f, {2, 3, 4}}, {"a/two", "matmul", &f, &f, {5, 3, 4}}};
    return found;
  };
  const auto parse_with = [&](const std::string& cell) {
    return campaign::check_plan(parse_plan(plan_of(cell), "p.json", "/plans", lister));
  };
  const campaign::Plan plan = parse_with(
      R"("name": "d", "dataset": "d.h5", "case": "a/*", "recorded": "p", "gates": "v_abft",
         "clean_rows": 1)");
  EXPECT_THAT(names_of(plan), ElementsAre("d a/one", "d a/two"));
  EXPECT_EQ(plan.cells[1].dataset, "/plans/d.h5");
  EXPECT_EQ(plan.cells[1].case_name, "a/two");
  EXPECT_EQ(plan.cells[1].recorded, "p");
  EXPECT_EQ(plan.cells[1].matrices(), 1);
  EXPECT_THAT(plan.canonical, HasSubstr("dataset d.h5 1234"));
  EXPECT_EQ(error_of([&] {
              (void)parse_with(R"("dataset": "d.h5", "case": "none", "gates": "v_abft")");
            }),
            "p.json: cell 1: no case of /plans/d.h5 matches 'none'");
}

TEST(PlanFile, CasesTogether) {
  const Format& f = format_named("bfloat16");
  DatasetCases found;
  found.digest = "1234";
  found.cases = {{"a/one", "matmul", &f, &f, {2, 3, 4}}, {"a/two", "matmul", &f, &f, {2, 3, 4}}};
  const auto parse_with = [&](const std::string& cell) {
    const auto lister = [&](const std::string&, const std::string&) { return found; };
    return campaign::check_plan(parse_plan(plan_of(cell), "p.json", "/plans", lister));
  };
  const std::string cell = R"("dataset": "d.h5", "case": "a/*", "together": true,
      "recorded": "p", "gates": "v_abft", "clean_rows": 1,
      "faults": [{"census": 1}, {"fault": "flip,bit=3", "trials": 300}])";
  const campaign::Plan plan = parse_with(cell);
  EXPECT_THAT(names_of(plan), ElementsAre("a/*"));
  EXPECT_THAT(plan.cells[0].cases, ElementsAre("a/one", "a/two"));
  EXPECT_EQ(plan.cells[0].matrices(), 2);
  EXPECT_EQ(plan.cells[0].clean_matrices(), 2);
  EXPECT_EQ(plan.cells[0].faults[1].per_matrix, 150);
  EXPECT_THAT(plan.canonical, HasSubstr("case a/one, a/two on"));
  found.cases[1].shape = {5, 3, 4};
  EXPECT_EQ(error_of([&] { (void)parse_with(cell); }),
            "p.json: cell 1: 'together' is for cases of one operator, dtype and shape, which a/one "
            "and a/two are not; choose them with 'case'");
  EXPECT_EQ(error_of([&] { (void)parse_with(R"("dataset": "d.h5", "together": 1)"); }),
            "p.json: cell 1: 'together' is true or false, not 1");
  EXPECT_EQ(message_with("together", "true"),
            "p.json: cell 1: 'together' is only for 'dataset'; leave it out");
}

// A plan may give the names that a gate's threshold has in published tables.
TEST(PlanFile, Variants) {
  const std::string cell = cell_with("gates", R"(["v_abft", "a_abft"])");
  const campaign::Plan plan = parse(plan_of(cell, R"("variants": [
      {"gate": "v_abft,variant=seed", "names": ["V", "V e_max=8e-3"]},
      {"gate": "a_abft", "names": ""}], )"));
  ASSERT_EQ(plan.variants.size(), 2u);
  EXPECT_EQ(plan.variants[0].gate, parse_threshold("v_abft").text());
  EXPECT_THAT(plan.variants[0].names, ElementsAre("V", "V e_max=8e-3"));
  EXPECT_EQ(plan.variants[1].gate, parse_threshold("a_abft").text());
  EXPECT_THAT(plan.variants[1].names, ElementsAre(""));
  const auto error = [&](const std::string& variant) {
    return message_of(plan_of(cell, formatted(R"("variants": {}, )", variant)));
  };
  EXPECT_EQ(error("[3]"), "p.json: variant 1: an object {...} is expected");
  EXPECT_EQ(error(R"([{"gate": "v_abft", "names": "x"}, {"gat": "v_abft"}])"),
            "p.json: variant 2: unknown key 'gat': did you mean 'gate'?; known: gate, names");
  EXPECT_EQ(error(R"({"gate": "v_abft", "names": [3]})"),
            "p.json: variant 1: 'names' holds texts, not 3");
  EXPECT_EQ(error(R"({"gate": "v_abft"})"),
            "p.json: variant 1: 'names' is missing: what the table calls this threshold");
  EXPECT_THAT(error(R"({"gate": "v_abf", "names": "x"})"),
              AllOf(StartsWith("p.json: variant 1: "), HasSubstr("did you mean 'v_abft'?")));
  EXPECT_EQ(error(R"({"gate": "tolerance", "names": "x"})"),
            "p.json: variant 1: no cell has the gate tolerance");
}

TEST(PlanFile, Remarks) {
  const campaign::Plan plan = parse(plan_of(cell_with("", ""), R"("remarks": [
      {"algorithm": "V-ABFT", "dtype": "bf16", "distribution": "n", "direction": "0to1",
       "shape": [8, 16, 8], "bits": 9, "remark": "known"}, {"remark": "of all"}], )"));
  ASSERT_EQ(plan.remarks.size(), 2u);
  EXPECT_EQ(plan.remarks[0].algorithm, "V-ABFT");
  EXPECT_EQ(plan.remarks[0].dtype, "bf16");
  EXPECT_EQ(plan.remarks[0].distribution, "n");
  EXPECT_EQ(plan.remarks[0].direction, "0to1");
  EXPECT_THAT(plan.remarks[0].shape, ElementsAre(8, 16, 8));
  EXPECT_THAT(plan.remarks[0].bits, ElementsAre(9)) << "one is as a list of one";
  EXPECT_TRUE(plan.remarks[1].shape.empty() && plan.remarks[1].bits.empty());
  const auto error = [&](const std::string& remark) {
    return message_of(plan_of(cell_with("", ""), formatted(R"("remarks": [{}], )", remark)));
  };
  EXPECT_EQ(error("{}"), "p.json: remark 1: 'remark' is missing");
  for (const char* bit : {"-1", "1.5", "\"9\"", "9223372036854775808"}) {
    EXPECT_EQ(error(formatted(R"({{"bits": [7, {}], "remark": "r"}})", bit)),
              formatted("p.json: remark 1: 'bits' holds whole numbers, not {}", bit));
  }
  EXPECT_EQ(error(R"({"bit": 9, "remark": "r"})"),
            "p.json: remark 1: unknown key 'bit': did you mean 'bits'?; known: algorithm, dtype, "
            "distribution, direction, shape, bits, remark");
}

TEST(PlanFile, OneFaultATrial) {
  EXPECT_EQ(message_with("faults", R"({"fault": "flip,bit=3,count=2", "trials": 4})"),
            "p.json: cell 1: fault 1: a trial is one fault: 'trials' says how many, "
            "not 'count'");
}

// Other operators than products have inputs with names of their own, which may be drawn separately.
TEST(PlanFile, DistributionsOfOtherOperators) {
  const auto cell = [](const std::string& distribution) {
    return plan_of(R"("operator": "add", "dtype": "float32", "shape": [4, 8], "gates": "tolerance",
                      "clean_rows": 1, "distribution": )" +
                   distribution);
  };
  const campaign::Plan plan = parse(cell(R"({"a": "uniform", "name": "mixed"})"));
  EXPECT_EQ(plan.cells[0].distribution_of("a").text(), parse_distribution("uniform").text());
  EXPECT_EQ(plan.cells[0].distribution_of("b").text(), parse_distribution("normal").text());
  EXPECT_EQ(plan.cells[0].name, "add float32 4x8 mixed");
  EXPECT_EQ(parse(cell(R"({"a": "uniform"})")).cells[0].name, "add float32 4x8 normal a=uniform");
  EXPECT_EQ(message_of(cell("3")), "p.json: cell 1: distribution: an object {...} is expected");
}

TEST(PlanFile, FilesThatItNames) {
  EXPECT_THAT(files_named(R"({"published": "t.csv", "defaults": {"dataset": "a.h5"},
                  "cells": [{"dataset": "sub/b.h5"}, {"dtype": "float16"}, {"dataset": "/c.h5"}]})",
                          "/plans"),
              ElementsAre("/plans/t.csv", "/plans/a.h5", "/plans/sub/b.h5", "/c.h5"));
  EXPECT_THAT(files_named(R"({"published": "t.csv"})", ""), ElementsAre("t.csv"));
  EXPECT_THAT(files_named(R"({"cells": {"dataset": "a.h5"}})", "/plans"),
              ElementsAre("/plans/a.h5"))
      << "one cell may stand alone";
  for (const char* none : {"", "{", "[]", "3", "{}", R"({"published": 3, "cells": 3})",
                           R"({"defaults": [], "cells": [3, {"dataset": 3}]})"}) {
    EXPECT_TRUE(files_named(none, "/plans").empty()) << none;
  }
}

}  // namespace
}  // namespace assay::wire
