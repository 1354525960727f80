// Tests a baseline as its file: it has a line for each case, in natural order, and is read back as
// it was.
#include "assay/wire/baseline.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <vector>

#include "assay/base/constants.h"
#include "assay/base/file.h"
#include "assay/base/text.h"
#include "document.h"

namespace assay::wire {
namespace {

BaselineEntry baseline_entry(const std::string& file, const std::string& name,
                             const std::string& output, const std::string& producer) {
  BaselineEntry e;
  e.file = file;
  e.name = name;
  e.output = output;
  e.producer = producer;
  e.standard = "torch";
  e.metrics = {{"rmse", {0.25, 0.25}}, {"max_abs_error", {1, 1}}};
  return e;
}

TEST(BaselineJson, ALineACaseInNaturalOrder) {
  Baseline b;
  b.entries = {baseline_entry("", "layer107", "", "h200"), baseline_entry("", "layer7", "z", "b"),
               baseline_entry("", "layer7", "y", "b10"),   baseline_entry("", "layer7", "y", "b9"),
               baseline_entry("g10.h5", "a", "", "p"),     baseline_entry("g9.h5", "b", "", "p")};
  const std::string metrics = R"("standard":"torch","metrics":{"max_abs_error":1.0,"rmse":0.25}})";
  EXPECT_EQ(baseline_json(b),
            "{\"schema\": 2, \"baseline\": [\n"
            R"(  {"case":"layer7","output_name":"y","producer":"b9",)" +
                metrics + ",\n" + R"(  {"case":"layer7","output_name":"y","producer":"b10",)" +
                metrics + ",\n" + R"(  {"case":"layer7","output_name":"z","producer":"b",)" +
                metrics + ",\n" + R"(  {"case":"layer107","producer":"h200",)" + metrics + ",\n" +
                R"(  {"file":"g9.h5","case":"b","producer":"p",)" + metrics + ",\n" +
                R"(  {"file":"g10.h5","case":"a","producer":"p",)" + metrics + "\n]}\n");
  EXPECT_EQ(baseline_json({}), "{\"schema\": 2, \"baseline\": [\n]}\n");
}

// Repeats are written as the least and the most. Metrics that are not watched are not written.
TEST(BaselineJson, RepeatsAndMetrics) {
  Baseline b;
  b.entries = {baseline_entry("", "a", "", "p")};
  b.entries[0].repeats = 3;
  b.entries[0].metrics = {
      {"rmse", {0, 0.5}}, {"worst_ratio", {0.5, kInfinity}}, {"snr_db", {1, 2}}};
  EXPECT_EQ(parsed(baseline_json(b))["baseline"][0],
            parsed(R"({"case": "a", "producer": "p", "standard": "torch", "repeats": 3,
                       "metrics": {"rmse": [0.0, 0.5], "worst_ratio": [0.5, "inf"]}})"));
}

TEST(BaselineJson, BytesThatAreNoUtf8) {
  Baseline b;
  b.entries = {baseline_entry("caf\xe9.h5", "a", "", "p")};
  EXPECT_EQ(parsed(baseline_json(b))["baseline"][0]["file"], "caf\xef\xbf\xbd.h5");
}

TEST(BaselineJson, IsReadAsItWas) {
  Baseline b;
  b.entries = {baseline_entry("g.h5", "a", "y", "p"), baseline_entry("g.h5", "b", "", "q")};
  b.entries[0].metrics = {{"max_abs_error", {0.1, 0.1}},
                          {"rmse", {1e-300, 1e-300}},
                          {"p99_ulp", {3, 3}},
                          {"worst_ratio", {kInfinity, kInfinity}}};
  b.entries[1].repeats = 2;
  b.entries[1].metrics = {{"rmse", {0.1, 0.3}}};
  const std::string path = formatted("{}/baseline_{}.json", testing::TempDir(), ::getpid());
  write_file(path, baseline_json(b));
  const Baseline read = wire::read_baseline(path);
  std::filesystem::remove(path);
  ASSERT_EQ(read.entries.size(), 2u);
  for (std::size_t i = 0; i < 2; ++i) {
    const BaselineEntry &one = read.entries[i], &given = b.entries[i];
    EXPECT_EQ(one.file, given.file);
    EXPECT_EQ(one.name, given.name);
    EXPECT_EQ(one.output, given.output);
    EXPECT_EQ(one.producer, given.producer);
    EXPECT_EQ(one.standard, given.standard);
    EXPECT_EQ(one.repeats, given.repeats);
    ASSERT_EQ(one.metrics.size(), given.metrics.size());
    for (const auto& [name, value] : given.metrics) {
      EXPECT_EQ(one.metrics.at(name).low, value.low) << name;
      EXPECT_EQ(one.metrics.at(name).high, value.high) << name;
    }
  }
}

}  // namespace
}  // namespace assay::wire
