// Finds orders of summation from recorded sums: of an H200's Triton and PyTorch, of numpy and
// OpenBLAS, and of random members of the families. An order that is in no family is not taken for a
// member.
#include <cblas.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "assay/base/file.h"
#include "assay/base/process.h"
#include "assay/base/random.h"
#include "assay/base/text.h"
#include "assay/datasets/store/dataset_file.h"
#include "assay/identify/sum_order_search.h"
#include "assay/op/operator.h"
#include "emulated.h"
#include "error_of.h"
#include "identify/sum_order_models.h"

namespace assay::identify {
namespace {

using testing::HasSubstr;

DatasetFile triton_sums() {
  return DatasetFile(ASSAY_SOURCE_DIR "/datasets/samples/triton_sums.h5");
}
DatasetFile more_sums() { return DatasetFile(ASSAY_SOURCE_DIR "/datasets/samples/gpu_sums.h5"); }

std::string model_of(const SumOrderFinding& f) {
  return f.outcome == SumOrderOutcome::kFound ? sum_order_text(f.nearest) : sum_order_report(f);
}

// -- What others computed --

// Triton sums a block in the dtype of x. Each of 128 threads adds its elements one by one, then
// each warp adds its threads by shuffles of descending offsets, and then the warps are added.
TEST(SumOrderTest, TritonsBlocksOnAnH200) {
  const DatasetFile file = triton_sums();
  for (const std::string dtype : {"float16", "float32"}) {
    for (const std::int64_t block : {64, 128, 256, 512, 1024}) {
      if (walks_a_share() && block != 256) continue;
      const std::int64_t load = dtype == "float16" ? 8 : 4;  // elements of 16 bytes
      SumStage stage{.family = SumFamily::kLanes, .lanes = std::min<std::int64_t>(block, 128)};
      stage.vector = std::clamp<std::int64_t>(block / 128, 1, load);
      stage.warp = 32;
      const Format& sums = format_named(dtype);
      const SumOrderModel expected{{stage}, &sums, &sums};
      const SumOrderFinding f = find_sum_order(
          {recorded_sums(file.read(formatted("block/{}/{}", dtype, block)), "h200")});
      EXPECT_EQ(model_of(f), sum_order_text(expected));
      EXPECT_EQ(f.sums, 64);
      EXPECT_LT(f.by_chance, 1e-20);
    }
  }
}

// torch.sum gives a row to 32 threads, which load 4 elements at a time into 4 accumulators.
TEST(SumOrderTest, TorchsRowsOnAnH200) {
  const DatasetFile file = triton_sums();
  for (const char* name : {"rows/float32/1000", "rows/float32/4096"}) {
    if (walks_a_share() && name == std::string("rows/float32/4096")) continue;
    EXPECT_EQ(model_of(find_sum_order({recorded_sums(file.read(name), "h200")})),
              "accumulators=4 lanes=32 order=lanes sum_dtype=float32 vector=4")
        << name;
  }
  EXPECT_EQ(model_of(find_sum_order({recorded_sums(file.read("rows/float32/64"), "h200")})),
            "lanes=32 order=lanes sum_dtype=float32");
  // The sums of float16 rows are float32, and their order does not show in a float16 result.
  const SumOrderFinding f = find_sum_order({recorded_sums(file.read("rows/float16/1000"), "h200")});
  EXPECT_EQ(f.outcome, SumOrderOutcome::kUndecided);
  EXPECT_EQ(f.formats, (std::vector<std::string>{"float32", "float64"}));
  EXPECT_TRUE(f.has_more);
  EXPECT_THAT(sum_order_report(f), testing::StartsWith("undecided: at least "));
}

// One sum of the second stage does not decide. Ten sums of five lengths leave few models, and one
// more file of the same kernel decides.
TEST(SumOrderTest, TheSecondStageOnAnH200) {
  const DatasetFile file = triton_sums();
  std::vector<RecordedSums> all;
  for (const std::string& name : file.case_names("second/*")) {
    all.push_back(recorded_sums(file.read(name), "h200"));
  }
  ASSERT_EQ(all.size(), 10u);
  EXPECT_EQ(find_sum_order({all.front()}).outcome, SumOrderOutcome::kUndecided);
  SumOrderFinding f = find_sum_order(all);
  EXPECT_EQ(f.outcome, SumOrderOutcome::kUndecided);
  EXPECT_LT(f.fits.size(), 20u);
  EXPECT_GT(f.by_chance, kMostByChance);
  SumStage torch{.family = SumFamily::kLanes, .lanes = 512, .vector = 4, .accumulators = 4};
  const SumOrderModel expected{{torch}, &kFloat32, &kFloat32};
  const auto is_it = [&](const SumOrderModel& m) {
    return sum_order_tree(m, 4096) == sum_order_tree(expected, 4096);
  };
  EXPECT_TRUE(std::any_of(f.fits.begin(), f.fits.end(), is_it));
  all.push_back(recorded_sums(more_sums().read("torch/vector/4096"), "h200"));
  f = find_sum_order(all);
  EXPECT_EQ(model_of(f), sum_order_text(expected));
}

TEST(SumOrderTest, OtherKernelsOfAnH200) {
  const DatasetFile file = more_sums();
  for (const std::int64_t warps : {1, 2, 8, 16}) {
    if (walks_a_share() && warps != 8) continue;
    SumStage stage{.family = SumFamily::kLanes, .lanes = 32 * warps};
    stage.vector = std::clamp<std::int64_t>(1024 / stage.lanes, 1, 4);
    stage.warp = warps > 1 ? 32 : 0;
    const SumOrderFinding f =
        find_sum_order({recorded_sums(file.read(formatted("triton/warps_{}", warps)), "h200")});
    EXPECT_EQ(model_of(f), sum_order_text({{stage}, &kFloat32, &kFloat32}));
  }
}

// Tests numpy.sum of rows, in this computer's numpy.
TEST(SumOrderTest, Numpy) {
  const std::string folder = testing::TempDir() + "assay_numpy_sums";
  std::filesystem::create_directories(folder);
  for (const std::int64_t n : {100, 1000, 1003}) {
    if (walks_a_share() && n != 100) continue;
    const Ended done = run_process(
        {.words = {ASSAY_PYTHON, "-B", "-c",
                   formatted(
                       "import numpy\n"
                       "x = numpy.random.default_rng({0}).normal(size=(48, {0})).astype('f4')\n"
                       "x.astype('f8').tofile('x'); x.sum(axis=1).astype('f8').tofile('sums')\n",
                       n)},
         .folder = folder});
    ASSERT_EQ(done.code, 0) << done.said;
    const auto read = [&](const char* name) {
      const std::string bytes = read_file(folder + "/" + name);
      std::vector<double> values(bytes.size() / sizeof(double));
      std::memcpy(values.data(), bytes.data(), bytes.size());
      return values;
    };
    const SumOrderFinding f = find_sum_order({{&kFloat32, &kFloat32, n, read("x"), read("sums")}});
    SumStage numpy{.family = SumFamily::kHalves, .lanes = 8, .lane_order = MeetOrder::kAscending};
    numpy.round = 8;
    numpy.leaf = 128;
    ASSERT_EQ(f.outcome, SumOrderOutcome::kFound) << sum_order_report(f);
    EXPECT_EQ(sum_order_tree(f.nearest, n), sum_order_tree({{numpy}, &kFloat32, &kFloat32}, n))
        << sum_order_report(f);
  }
}

// Tests OpenBLAS's sum of absolute values, for aligned numbers.
TEST(SumOrderTest, OpenBlas) {
  const std::string core = openblas_get_corename();
  if (core != "Haswell" && core != "Zen") {
    GTEST_SKIP() << "OpenBLAS's sasum was written down for Haswell and Zen; this is " << core;
  }
  openblas_set_num_threads(1);
  std::vector<float> memory(2048 + 16);
  const auto sasum = [&](std::size_t offset) {
    return [&, offset](const std::vector<double>& x) {
      void* start = memory.data();
      std::size_t space = memory.size() * sizeof(float);
      float* to = static_cast<float*>(std::align(64, 2048 * sizeof(float), start, space)) + offset;
      for (std::size_t i = 0; i < x.size(); ++i) to[i] = static_cast<float>(std::abs(x[i]));
      return static_cast<double>(cblas_sasum(static_cast<int>(x.size()), to, 1));
    };
  };
  for (const std::int64_t n : {256, 512, 1000}) {
    if (walks_a_share() && n != 256) continue;
    RecordedSums r = sums_by(kFloat32, kFloat32, n, 64, 20, sasum(0));
    for (double& v : r.x) v = std::abs(v);
    const SumOrderFinding f = find_sum_order({r});
    SumStage kernel{.family = SumFamily::kLanes, .lanes = 8, .accumulators = 4};
    kernel.lane_order = MeetOrder::kAscending;
    // Zen has no kernel of its own. It uses the portable one, which the compiler vectorizes for
    // SSE.
    if (core == "Zen") {
      kernel.lanes = 4;
      kernel.accumulator_order = MeetOrder::kAscending;
    } else {
      kernel.warp = 4;
      kernel.warps_first = true;
      kernel.round = 256;
      kernel.tail_lanes = 4;
      kernel.tail_accumulators = 2;
    }
    ASSERT_EQ(f.outcome, SumOrderOutcome::kFound) << sum_order_report(f);
    EXPECT_EQ(sum_order_tree(f.nearest, n), sum_order_tree({{kernel}, &kFloat32, &kFloat32}, n))
        << sum_order_report(f);
  }
  if (walks_a_share()) return;
  // If the numbers are not aligned, sasum adds those in front separately. No member of the families
  // does that, so no order is found.
  RecordedSums r = sums_by(kFloat32, kFloat32, 1000, 64, 21, sasum(3));
  for (double& v : r.x) v = std::abs(v);
  EXPECT_EQ(find_sum_order({r}).outcome, SumOrderOutcome::kNone);
}

// -- Blind tests --

TEST(SumOrderTest, RandomMembersOfTheFamiliesAreFound) {
  const std::uint64_t trials = walks_a_share() ? 5 : 50;
  const BlindTrials t = try_random_models(0, trials);
  EXPECT_EQ(t.wrong, 0) << t.first;
  EXPECT_EQ(t.excluded, 0) << t.first;
  EXPECT_GE(t.found, static_cast<std::int64_t>(trials) * 9 / 10) << t.first;
}

// -- What nothing explains --

TEST(SumOrderTest, WhatIsNoMemberIsNotTakenForOne) {
  const SumOrderModel model{{{.family = SumFamily::kLanes, .lanes = 32}}, &kFloat32, &kFloat32};
  const auto none = [](const RecordedSums& r, std::int64_t at_least) {
    const SumOrderFinding f = find_sum_order({r});
    EXPECT_EQ(f.outcome, SumOrderOutcome::kNone) << sum_order_report(f);
    EXPECT_TRUE(f.fits.empty());
    EXPECT_GE(f.agree, at_least) << sum_order_report(f);
    EXPECT_LT(f.agree, f.sums);
    return f;
  };
  // Two of 64 sums are one ulp off. The nearest model gives the others.
  RecordedSums r =
      sums_by(kFloat32, kFloat32, 512, 64, 1, [&](const auto& x) { return by_model(model, x); });
  for (const std::size_t i : {5u, 40u}) {
    r.sums[i] = static_cast<double>(std::nextafter(static_cast<float>(r.sums[i]), HUGE_VALF));
  }
  const SumOrderFinding f = none(r, 62);
  EXPECT_EQ(sum_order_text(f.nearest), "lanes=32 order=lanes sum_dtype=float32");
  EXPECT_THAT(sum_order_report(f),
              testing::StartsWith("nothing fits; the nearest gives 62 of 64 sums: lanes=32 "
                                  "order=lanes sum_dtype=float32\n  64 sums, "));
  // Atomic additions add the blocks in another order in each run.
  Random random(62, 1);
  none(sums_by(
           kFloat32, kFloat32, 512, 64, 2,
           [&](std::vector<double> x) {
             std::vector<double> blocks;
             for (std::size_t i = 0; i < x.size(); i += 32) {
               blocks.push_back(by_model(model, {x.begin() + static_cast<std::ptrdiff_t>(i),
                                                 x.begin() + static_cast<std::ptrdiff_t>(i) + 32}));
             }
             for (std::size_t i = blocks.size() - 1; i > 0; --i) {
               std::swap(blocks[i], blocks[random.below(i + 1)]);
             }
             return by_model({{{.family = SumFamily::kSequential}}, &kFloat32, &kFloat32}, blocks);
           }),
       0);
  // No order of a sum is found for sums of squares, because that is another operator.
  none(sums_by(kFloat32, kFloat32, 256, 64, 3,
               [&](std::vector<double> x) {
                 for (double& v : x) v = round_to(kFloat32, v * v);
                 return by_model(model, x);
               }),
       0);
  // No order is found if each row is sorted first, because the order then depends on the values.
  none(sums_by(kFloat32, kFloat32, 256, 64, 4,
               [&](std::vector<double> x) {
                 std::sort(x.begin(), x.end());
                 return by_model(model, x);
               }),
       0);
}

// Sums that are exact do not show their order, and the finding says so.
TEST(SumOrderTest, WhatDoesNotRoundDoesNotTell) {
  RecordedSums r{&kFloat32, &kFloat32, 64, {}, {}};
  for (int row = 0; row < 20; ++row) {
    double sum = 0;
    for (int i = 0; i < 64; ++i) {
      r.x.push_back((i * 7 + row) % 13);
      sum += r.x.back();
    }
    r.sums.push_back(sum);
  }
  const SumOrderFinding f = find_sum_order({r});
  EXPECT_EQ(f.outcome, SumOrderOutcome::kUndecided);
  EXPECT_GT(f.fits.size(), 100u);
  EXPECT_GT(f.by_chance, 1);
}

TEST(SumOrderTest, EvidenceNamesTheValueThatIsNearest) {
  SumStage stage{.family = SumFamily::kLanes, .lanes = 16, .vector = 2, .accumulators = 2};
  const SumOrderModel model{{stage}, &kFloat32, &kFloat32};
  const SumOrderFinding f = find_sum_order(
      {sums_by(kFloat32, kFloat32, 200, 40, 7, [&](const auto& x) { return by_model(model, x); })});
  EXPECT_EQ(model_of(f), "accumulators=2 lanes=16 order=lanes sum_dtype=float32 vector=2");
  std::map<std::string, SumOrderEvidence> evidence;
  for (const SumOrderEvidence& e : f.evidence) evidence[e.parameter] = e;
  EXPECT_EQ(evidence.at("sum_dtype").rival, "float64");
  EXPECT_EQ(evidence.at("accumulator_order").rival, "");
  for (const char* name : {"lanes", "vector", "accumulators", "lane_order", "warp"}) {
    EXPECT_FALSE(evidence.at(name).rival.empty()) << name;
    EXPECT_GT(evidence.at(name).differ, 10) << name;
  }
  EXPECT_EQ(evidence.at("lanes").value, "16");
  EXPECT_THAT(sum_order_report(f),
              HasSubstr("  accumulator_order sequential: no other value makes another tree\n"));
}

// The finding does not depend on the threads.
TEST(SumOrderTest, ThreadsDoNotMatter) {
  const RecordedSums r = recorded_sums(triton_sums().read("second/float32/256"), "h200");
  EXPECT_EQ(sum_order_report(find_sum_order({r}, 1)), sum_order_report(find_sum_order({r}, 3)));
}

// The found order gives parameters of the operator, which then computes the recorded bits.
TEST(SumOrderTest, TheOperatorGivesTheRecordedBits) {
  const DatasetFile file = triton_sums();
  for (const char* name : {"block/float16/1024", "rows/float32/1000"}) {
    if (walks_a_share() && name == std::string("rows/float32/1000")) continue;
    Case c = file.read(name);
    const SumOrderFinding f = find_sum_order({recorded_sums(c, "h200")});
    ASSERT_EQ(f.outcome, SumOrderOutcome::kFound);
    for (const auto& [key, value] : sum_order_parameters(f.nearest)) c.attributes[key] = value;
    const Tensor sums = emulate(c, machine_named("hopper"));
    EXPECT_EQ(sums.view().values(), c.output().recorded.at("h200").tensor.view().values()) << name;
  }
}

TEST(SumOrderTest, Refuses) {
  const auto error = [](const std::vector<RecordedSums>& all) {
    return error_of([&] { (void)find_sum_order(all); });
  };
  const RecordedSums good{&kFloat32, &kFloat32, 2, {1, 2}, {3}};
  EXPECT_EQ(error({}), "there are no recorded sums");
  EXPECT_EQ(error({{&kFloat32, &kFloat32, 1, {1}, {1}}}),
            "orders of summation can be searched only for sums of 2 to 65536 numbers, not of 1");
  EXPECT_EQ(error({{&kFloat32, &kFloat32, 3, {1, 2}, {3}}}),
            "2 numbers do not make 1 rows of 3 numbers");
  EXPECT_EQ(
      error({{&format_named("float8_e4m3fn"), &kFloat32, 2, {1, 2}, {3}}}),
      "orders of summation can be searched only in float16, bfloat16, float32 and float64, not in "
      "float8_e4m3fn");
  EXPECT_EQ(error({good, {&kFloat16, &kFloat32, 2, {1, 2}, {3}}}),
            "the recordings differ in the dtype of x or of the sums; give recordings of one kernel "
            "with the same dtypes");
  EXPECT_EQ(error({{&kFloat32, &kFloat32, 2, {1, HUGE_VAL}, {HUGE_VAL}}}),
            "every recorded sum has NaN or infinity; record finite sums");
  Case c = triton_sums().read("rows/float32/64");
  EXPECT_EQ(error_of([&] { (void)recorded_sums(c, "a100"); }),
            "case rows/float32/64: it has no output that was recorded by a100");
  c.attributes["axis"] = std::int64_t{0};
  c.inputs["x"] = Tensor::from_values(kFloat32, {2, 3}, std::vector<double>(6, 1.0));
  EXPECT_EQ(error_of([&] { (void)recorded_sums(c, "h200"); }),
            "case rows/float32/64: h200 recorded 64 sums, but x of the shape [2, 3] has 3 sums "
            "along its axis");
  c.op = "softmax";
  EXPECT_EQ(error_of([&] { (void)recorded_sums(c, "h200"); }),
            "case rows/float32/64: orders of summation can be searched only for reduce_sum and "
            "reduce_mean, not for softmax");
}

}  // namespace
}  // namespace assay::identify
