// Reads results that are not quite as they were written.
#include "assay/wire/gate_results.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "assay/base/constants.h"
#include "assay/base/error.h"
#include "assay/judge/regate.h"
#include "assay/judge/verdict.h"
#include "assay/wire/saved_results.h"
#include "document.h"
#include "error_of.h"

namespace assay::wire {
namespace {

// Returns the result of one comparison as a document that tests can change.
nlohmann::json result_document() {
  const Tensor t = Tensor::from_values(format_named("float32"), {3}, std::vector<double>{1, 2, 4});
  const Tensor other =
      Tensor::from_values(format_named("float32"), {3}, std::vector<double>{1, 2, 4.5});
  Bound bound;
  bound.standard = "custom";
  bound.atol = 1;
  return parsed(verdict_json(judge(other, t, bound)));
}
std::string results_error(const nlohmann::json& document) {
  return error_of([&] { (void)read_results(document.dump()); });
}

TEST(ResultsFile, NumbersThatJsonDoesNotHave) {
  nlohmann::json document = result_document();
  document["metrics"]["snr_db"] = "inf";
  document["metrics"]["psnr_db"] = "-inf";
  document["metrics"]["cosine"] = "nan";
  const Metrics m = read_results(document.dump()).at(0).metrics.at(0);
  EXPECT_EQ(m.snr_db, kInfinity);
  EXPECT_EQ(m.psnr_db, -kInfinity);
  EXPECT_TRUE(std::isnan(m.cosine));
  for (const nlohmann::json& wrong : {nlohmann::json("many"), nlohmann::json(nullptr)}) {
    document["metrics"]["cosine"] = wrong;
    EXPECT_EQ(results_error(document), "'cosine' must be a number");
  }
}

TEST(ResultsFile, Histograms) {
  const auto error = [](const char* key, const nlohmann::json& value) {
    nlohmann::json document = result_document();
    for (auto& [name, metric] : document["metrics"].items()) {
      if (metric.is_object() && metric.contains("bins")) metric[key] = value;
    }
    const std::string message = results_error(document);
    const std::size_t at = message.find("' must be ");
    return at == std::string::npos ? message : message.substr(at + 10);
  };
  EXPECT_EQ(error("per_octave", 1), "no error");
  EXPECT_EQ(error("per_octave", 65536), "no error");
  for (const int bins : {0, -1, 65537}) {
    EXPECT_EQ(error("per_octave", bins), "a histogram of 1 to 65536 bins an octave");
  }
  EXPECT_EQ(error("bins", ""), "no error");
  EXPECT_EQ(error("bins", "-12:3 5:1"), "no error");
  for (const char* bins : {"5", "x:1", "5;1", "5:", "5:-1", "5:1,6:1", "5:1 ,"}) {
    EXPECT_EQ(error("bins", bins), "bins as in \"-12:3 5:1\"") << bins;
  }
  EXPECT_EQ(error("bins", 3), "a string");
  nlohmann::json document = result_document();
  std::string changed;
  for (auto& [name, metric] : document["metrics"].items()) {
    if (!metric.is_object() || !metric.contains("bins")) continue;
    metric["bins"] = "-12:3 5:1";
    changed = name;
  }
  ASSERT_NE(changed, "");
  const Metrics m = read_results(document.dump()).at(0).metrics.at(0);
  EXPECT_EQ(m.abs_errors.bins, (std::vector<std::pair<int, std::int64_t>>{{-12, 3}, {5, 1}}));
}

// A gate's case has one verdict for each standard. A standard that compared nothing has no metrics.
TEST(ResultsFile, SeveralVerdicts) {
  const nlohmann::json one = result_document();
  nlohmann::json without = one;
  without["metrics"] = nlohmann::json::object();
  nlohmann::json entry = {{"case", "a"},
                          {"output_name", "y"},
                          {"because", "so"},
                          {"dtype", "complex64"},
                          {"verdicts", {one, without, one}}};
  nlohmann::json document = {{"schema", 2}, {"cases", {entry}}};
  const SavedResult saved = read_results(document.dump()).at(0);
  EXPECT_EQ(saved.name, "a");
  EXPECT_EQ(saved.output, "y");
  EXPECT_EQ(saved.because, "so");
  EXPECT_EQ(saved.sites, 3);
  EXPECT_EQ(saved.format, &format_named("complex64"));
  ASSERT_EQ(saved.metrics.size(), 2u);
  EXPECT_TRUE(saved.metrics[1].is_complex);
  EXPECT_EQ(saved.metrics[0].max_abs_error, 0.5);
  document["cases"][0]["verdicts"] = 3;
  EXPECT_EQ(results_error(document), "case a: 'verdicts' must be an array");
  document["cases"][0].erase("case");
  EXPECT_EQ(results_error(document), "'verdicts' must be an array");
  document["cases"] = 3;
  EXPECT_EQ(results_error(document), "'cases' must be an array");
}

// A gate writes only the main metrics unless --histograms is given.
TEST(ResultsFile, MainMetricsAreNotEnough) {
  const Tensor t = Tensor::from_values(format_named("float32"), {3}, std::vector<double>{1, 2, 4});
  GateReport report;
  report.cases.emplace_back();
  report.cases[0].name = "a";
  report.cases[0].verdicts = {judge(Tensor(t), t, Bound{})};
  EXPECT_EQ(error_of([&] { (void)read_results(gate_json(report)); }),
            "case a: has only the main metrics, not their histograms");
  EXPECT_EQ(read_results(gate_json(report, JsonMetrics::kAll)).at(0).metrics.size(), 1u);
}

TEST(ResultsFile, TheCaseIsAPartOfTheError) {
  try {
    (void)read_results(R"({"schema": 2, "cases": [{"case": "x"}]})");
    FAIL() << "nothing was thrown";
  } catch (const CaseError& e) {
    EXPECT_EQ(e.name(), "x");
    EXPECT_EQ(e.reason(),
              "has no 'because'; it may come from an older assay: judge the tensors again");
  }
}

TEST(ResultsFile, WrongTypes) {
  const auto error = [](const char* key, const nlohmann::json& value) {
    nlohmann::json document = result_document();
    document[key] = value;
    return results_error(document);
  };
  EXPECT_EQ(error("because", 3), "'because' must be a string");
  EXPECT_EQ(error("sites", 1.5), "'sites' must be a whole number");
  EXPECT_EQ(error("sites", 18446744073709551615u), "'sites' must be a whole number");
  nlohmann::json document = result_document();
  document["metrics"]["bit_identical"] = 1;
  EXPECT_EQ(results_error(document), "'bit_identical' must be true or false");
  document = result_document();
  document["metrics"]["max_ulp"] = -1;
  EXPECT_EQ(results_error(document), "'max_ulp' must be a whole number");
}

}  // namespace
}  // namespace assay::wire
