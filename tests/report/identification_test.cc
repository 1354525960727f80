// Tests the text and the JSON of identify, for findings made by hand.
#include "assay/report/identification.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "assay/wire/identification.h"
#include "document.h"

namespace assay::report {
namespace {

using identify::Finding;
using testing::HasSubstr;

// Returns a finding of 1 536 elements that a row of the table explains.
Finding found_row() {
  Finding f;
  f.case_name = "mm/a";
  f.producer = "h200";
  f.op = "matmul";
  f.outcome = identify::Outcome::kFound;
  f.sentence = "Hopper's tensor cores.";
  f.model = "hopper";
  f.parameters = {{"split_k", std::int64_t{2}}};
  f.is_row = true;
  f.elements = 1536;
  f.tried = 12345;
  f.fits = 3;
  f.evidence = {
      {.parameter = "chunk", .value = "16", .rival = "8", .differ = 1021, .of = 1536, .same = {}},
      {.parameter = "flush_sums", .value = "0", .rival = "", .same = {"1"}}};
  return f;
}

Finding no_model() {
  Finding f;
  f.case_name = "mm/b";
  f.output_name = "y";
  f.producer = "910b";
  f.op = "matmul";
  f.outcome = identify::Outcome::kNone;
  f.sentence = "No model gives every element.";
  f.model = "ascend910b,chunk=8";
  f.elements = 4096;
  f.tried = 2500;
  f.agree = 1000;
  f.of = 1024;
  f.largest_ulps = 3;
  return f;
}

identify::Decision decided() {
  return {.models = 3,
          .arithmetics = 2,
          .like_first = 2,
          .results = 960,
          .format = &format_named("float16"),
          .output = &format_named("float32"),
          .shape = {8, 64, 4},
          .command = "assay probes float16",
          .probe = "probe/float16/far_2",
          .told_apart = 2,
          .parameters = {"chunk"}};
}

Finding of_function(identify::Outcome outcome) {
  Finding f;
  f.case_name = "exp/a";
  f.producer = "h200";
  f.op = "exp";
  f.outcome = outcome;
  f.sentence = "An exponential.";
  f.elements = 2048;
  f.tried = 1009;
  f.model = "hopper";
  f.function_lines = "the first line\n  errors: up to 1.5 ulps\n  keeps: 2 ulps\n";
  identify::FunctionReport report;
  report.errors = {.elements = 2040, .inexact = 12, .largest = 1.5, .mean = 0.25, .at = 77};
  report.ranges = {{-1, 0.5, {.elements = 1000, .inexact = 5, .largest = 0.75, .mean = 0.125}}};
  report.special = 1;
  report.flushed = 2;
  report.inversions = 3;
  report.unsteady = 4;
  report.fits = {{.name = "hopper", .machine = "hopper", .parameters = {}}};
  report.nearest = {{.name = "rounded once", .machine = "", .parameters = {}, .differ = 9}};
  report.bounds = {{.name = "cuda: expf, 2 ulps", .outside = 0},
                   {.name = "opencl: 3 ulps", .outside = 6}};
  f.function = report;
  return f;
}

TEST(IdentificationText, Found) {
  EXPECT_EQ(identification_text({found_row()}),
            "mm/a (h200): Hopper's tensor cores.\n"
            "    found: hopper split_k=2, all 1 536 elements\n"
            "    chunk 16: 8 would change 1 021 of 1 536 elements\n"
            "    flush_sums 0: nothing else was told apart; the data do not tell it from 1\n"
            "1 found, 0 undecided, 0 explained by nothing\n");
}

TEST(IdentificationText, FoundByTheHelpOfOthersAndOnNoMachine) {
  Finding f = found_row();
  f.by_others = true;
  f.model = "";
  f.parameters.clear();
  f.note = "K is divided in too many ways to try them all";
  f.evidence.clear();
  EXPECT_EQ(identification_text({f}),
            "mm/a (h200): Hopper's tensor cores.\n"
            "    found: a model that no machine of the table has, all 1 536 elements; other "
            "outputs of these dtypes decided it\n"
            "    K is divided in too many ways to try them all\n"
            "1 found, 0 undecided, 0 explained by nothing\n");
}

// Six values that give the same bits are named, and the others are counted.
TEST(IdentificationText, ManyValuesThatGiveTheSameBits) {
  Finding f = found_row();
  f.evidence.resize(1);
  f.evidence[0].same = {"1", "2", "3", "4", "5", "6"};
  EXPECT_THAT(identification_text({f}),
              HasSubstr("elements; the data do not tell it from 1, 2, 3, 4, 5, 6\n"));
  f.evidence[0].same.push_back("7");
  f.evidence[0].same.push_back("9");
  EXPECT_THAT(identification_text({f}),
              HasSubstr("elements; the data do not tell it from 1, 2, 3, 4, 5, 6 and 2 more\n"));
}

TEST(IdentificationText, Undecided) {
  Finding f = found_row();
  f.outcome = identify::Outcome::kUndecided;
  f.evidence.resize(1);
  f.rivals = {"hopper split_k=4", "cdna3"};
  EXPECT_EQ(identification_text({f}),
            "mm/a (h200): Hopper's tensor cores.\n"
            "    undecided: hopper split_k=2, all 1 536 elements, but others fit as well\n"
            "    chunk 16: 8 would change 1 021 of 1 536 elements\n"
            "    also fits: hopper split_k=4\n"
            "    also fits: cdna3\n"
            "0 found, 1 undecided, 0 explained by nothing\n");
}

// The text names the probe that would tell apart the models that fit.
TEST(IdentificationText, WhatWouldDecide) {
  Finding f = found_row();
  f.outcome = identify::Outcome::kUndecided;
  f.evidence.clear();
  f.has_more = true;
  f.decision = decided();
  EXPECT_THAT(
      identification_text({f}),
      HasSubstr("    3 models that fit, the first of more, differ in chunk\n"
                "    on probes, 2 of these models give the same results as the first; all of them "
                "are 2 arithmetics ("
                "960 results compared)\n"
                "    to decide, record assay probes float16; the probe probe/float16/far_2 tells 2 "
                "of the 2 arithmetics apart\n"));
  f.decision->command.clear();
  EXPECT_THAT(identification_text({f}),
              HasSubstr("    to decide, record probes of float16 with float32 results and M, K, N "
                        "= 8, 64, 4; the probe "));
  f.decision->told_apart = 1;
  EXPECT_THAT(identification_text({f}),
              HasSubstr("    probes of this shape and output dtype tell none of them apart\n"));
  f.decision->format = nullptr;
  EXPECT_THAT(identification_text({f}),
              HasSubstr("    to decide, record more cases of this kind with other data\n"));
}

// If no model explains the output, the text gives the nearest model and no evidence for it.
TEST(IdentificationText, ExplainedByNothing) {
  Finding f = no_model();
  f.note = "of 4 096 elements 1 024 were looked at";
  f.evidence = found_row().evidence;
  EXPECT_EQ(identification_text({f}),
            "mm/b:y (910b): No model gives every element.\n"
            "    nothing fits of 2 500 models; nearest ascend910b,chunk=8: 1 000 of "
            "1 024 elements agree, the others are up to 3 ulps off\n"
            "    of 4 096 elements 1 024 were looked at\n"
            "0 found, 0 undecided, 1 explained by nothing\n");
}

TEST(IdentificationText, NotTried) {
  Finding f = no_model();
  f.why = "operator conv2d cannot be identified";
  EXPECT_THAT(
      identification_text({f, found_row(), f}),
      testing::StartsWith("mm/b:y (910b): not identified: operator conv2d cannot be "
                          "identified\nmm/a (h200): Hopper's tensor cores.\n    found: hopper"));
  EXPECT_THAT(identification_text({f, found_row(), f}),
              testing::EndsWith("\n1 found, 0 undecided, 0 explained by nothing; 2 left out\n"));
  EXPECT_EQ(identification_text({}), "0 found, 0 undecided, 0 explained by nothing\n");
}

TEST(IdentificationText, Functions) {
  const std::string lines = "  errors: up to 1.5 ulps\n  keeps: 2 ulps\n";
  EXPECT_EQ(identification_text({of_function(identify::Outcome::kFound)}),
            "exp/a (h200): An exponential.\n    found: hopper, all 2 048 elements\n" + lines +
                "1 found, 0 undecided, 0 explained by nothing\n");
  EXPECT_EQ(identification_text({of_function(identify::Outcome::kUndecided)}),
            "exp/a (h200): An exponential.\n    undecided: no candidate gives every bit, and a "
            "known bound of the error "
            "is kept\n" +
                lines + "0 found, 1 undecided, 0 explained by nothing\n");
  EXPECT_EQ(identification_text({of_function(identify::Outcome::kNone)}),
            "exp/a (h200): An exponential.\n    nothing fits of 1 009 candidates, and the output "
            "keeps no known bound of the error\n" +
                lines + "0 found, 0 undecided, 1 explained by nothing\n");
}

TEST(IdentificationJson, Found) {
  Finding f = found_row();
  f.parameters["scale"] = 0.5;
  f.alike = {"hopper", "blackwell"};
  f.parameters["order"] = std::string("fused");
  const std::string text = wire::identification_json({f}, "r.h5");
  EXPECT_EQ(text.back(), '\n');
  EXPECT_EQ(parsed(text), parsed(R"({"schema": 2, "file": "r.h5", "cases": [{
      "case": "mm/a", "op": "matmul", "producer": "h200", "outcome": "found",
      "sentence": "Hopper's tensor cores.", "alike": ["hopper", "blackwell"], "model": "hopper",
      "parameters": {"order": "fused", "scale": 0.5, "split_k": 2}, "elements": 1536,
      "tried": 12345, "row": true, "by_others": false, "fits": 3,
      "evidence": {"chunk": {"value": "16", "differ": 1021, "of": 1536, "other_value": "8"},
                   "flush_sums": {"value": "0", "differ": 0, "of": 0, "same": ["1"]}}}]})"));
}

TEST(IdentificationJson, UndecidedAndExplainedByNothing) {
  Finding f = found_row();
  f.outcome = identify::Outcome::kUndecided;
  f.evidence.clear();
  f.rivals = {"cdna3"};
  f.by_others = true;
  f.note = "n";
  f.has_more = true;
  f.decision = decided();
  EXPECT_EQ(parsed(wire::identification_json({f, no_model()}, "")),
            parsed(R"({"schema": 2, "file": "",
      "cases": [
       {"case": "mm/a", "op": "matmul", "producer": "h200", "outcome": "undecided",
        "sentence": "Hopper's tensor cores.",
        "decide": {"models": 3, "has_more": true, "parameters": ["chunk"], "arithmetics": 2,
                   "like_the_first": 2, "results": 960, "command": "assay probes float16",
                   "probe": "probe/float16/far_2", "told_apart": 2},
        "model": "hopper", "parameters": {"split_k": 2}, "elements": 1536, "tried": 12345,
        "note": "n", "row": true, "by_others": true, "fits": 3, "evidence": {},
        "rivals": ["cdna3"]},
       {"case": "mm/b", "op": "matmul", "producer": "910b", "output_name": "y", "outcome": "none",
        "sentence": "No model gives every element.",
        "model": "ascend910b,chunk=8", "parameters": {}, "elements": 4096, "tried": 2500,
        "nearest": {"agree": 1000, "of": 1024, "largest_ulps": 3}}]})"));
}

TEST(IdentificationJson, NotTried) {
  Finding f = no_model();
  f.why = "it has no golden result";
  EXPECT_EQ(parsed(wire::identification_json({f}, "r.h5"))["cases"], parsed(R"([{"case": "mm/b",
      "op": "matmul", "producer": "910b", "output_name": "y", "outcome": "not_identified",
      "because": "it has no golden result"}])"));
  EXPECT_EQ(parsed(wire::identification_json({}, "r.h5"))["cases"], parsed("[]"));
  EXPECT_EQ(parsed(wire::identification_json({}, "r\xff.h5"))["file"], "r\xef\xbf\xbd.h5");
}

TEST(IdentificationJson, Functions) {
  const auto json = parsed(
      wire::identification_json({of_function(identify::Outcome::kFound)}, "r.h5"))["cases"][0];
  EXPECT_EQ(json["outcome"], "found");
  EXPECT_FALSE(json.contains("evidence")) << "which is of sums";
  EXPECT_EQ(json["function"], parsed(R"({"elements": 2040, "largest_ulps": 1.5, "mean_ulps": 0.25,
      "not_nearest": 12, "at": 77, "special": 1, "flushed": 2, "inversions": 3, "unsteady": 4,
      "ranges": [{"elements": 1000, "largest_ulps": 0.75, "mean_ulps": 0.125, "not_nearest": 5,
                  "low": -1.0, "high": 0.5}],
      "bounds": [{"name": "cuda: expf, 2 ulps", "outside": 0},
                 {"name": "opencl: 3 ulps", "outside": 6}],
      "fits": [{"name": "hopper", "differ": 0}],
      "nearest": [{"name": "rounded once", "differ": 9}]})"));
}

}  // namespace
}  // namespace assay::report
