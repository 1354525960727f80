// Measures the benefit of more threads: the time of one thread over that of n, divided by n, for 2,
// 4, 8 ... threads up to the number of cores. Benchmarks that only read memory are compared with a
// plain sum on the same number of threads.
#include <benchmark/benchmark.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "assay/base/parallel.h"
#include "assay/base/text.h"
#include "assay/datasets/store/dataset_file.h"
#include "assay/judge/verdict.h"
#include "assay/machine/machine.h"
#include "assay/op/generate.h"
#include "assay/op/operator.h"
#include "peers.h"
#include "ratios.h"

namespace {

namespace fs = std::filesystem;

assay::Case made(const char* op, const char* dtype, std::vector<std::int64_t> sizes) {
  return assay::generate_case(op, {&assay::format_named(dtype), std::move(sizes)});
}

struct Arrays {
  static constexpr std::int64_t kElements = std::int64_t{64} << 20;
  std::vector<float> actual, expected;
  Arrays() : actual(kElements), expected(kElements) {
    for (std::int64_t i = 0; i < kElements; ++i) {
      expected[static_cast<std::size_t>(i)] = 1.0F + static_cast<float>(i % 8191) / 997.0F;
      actual[static_cast<std::size_t>(i)] = expected[static_cast<std::size_t>(i)] * 1.000001F;
    }
  }
};

const Arrays& arrays() {
  static const Arrays all;
  return all;
}

void verdict(int threads, bool metrics) {
  assay::Bound bound;
  bound.rtol = bound.atol = 1e-5;
  const assay::Shape shape{Arrays::kElements};
  const auto v = assay::judge(assay::view(arrays().actual.data(), shape),
                              assay::view(arrays().expected.data(), shape), bound,
                              {.metrics = metrics, .threads = threads});
  if (v.outcome != assay::Outcome::kPass) std::abort();
}

void sum(int threads) {
  constexpr std::int64_t kParts = 256, kPart = Arrays::kElements / kParts;
  assay::parallel_for(kParts, threads, [](std::int64_t part) {
    const auto at = static_cast<std::size_t>(part * kPart);
    benchmark::DoNotOptimize(assay_bench::plain_sum(arrays().actual.data() + at, kPart) +
                             assay_bench::plain_sum(arrays().expected.data() + at, kPart));
  });
}

// Measures how the cores themselves scale: arithmetic in registers, which takes one core 50 ms, in
// 640 parts.
void registers(int threads) {
  assay::parallel_for(640, threads, [](std::int64_t) {
    double all[8] = {1, 2, 3, 4, 5, 6, 7, 8};
    for (int i = 0; i < 16'000; ++i) {
      for (double& v : all) v = v * 0.999999 + 1e-9;
    }
    benchmark::DoNotOptimize(all);
  });
}

// Returns the folder for the benchmarks. It holds a file of small cases, and a plan that runs for
// some seconds.
const fs::path& folder() {
  static const fs::path at = [] {
    fs::path made = fs::temp_directory_path() / "assay_scaling_bench";
    fs::create_directories(made);
    assay::DatasetWriter writer((made / "cases.h5").string());
    const std::vector<double> values(1000, 1.0);
    for (int i = 0; i < 4000; ++i) {
      assay::Case c;
      c.name = assay::formatted("layer{}/op{}", i / 100, i % 100);
      c.op = "external";
      c.output().golden =
          assay::Tensor::from_values(assay::format_named("float64"), {1000}, values);
      c.output().recorded["npu"].tensor =
          assay::Tensor::from_values(assay::format_named("float32"), {1000}, values);
      c.attributes["output_dtype"] = std::string("float32");
      writer.write(c);
    }
    writer.commit();
    std::ofstream(made / "plan.json") << R"({"schema": 1, "name": "scaling", "seed": 1,
      "cells": [{"machine": "ascend910b", "shape": [128, 1024, 256], "clean_rows": 25600, "dtype": "bfloat16",
                 "distribution": "normal", "faults": [{"census": 25}],
                 "gates": ["v_abft,arithmetic=output", "a_abft", "rounding_variance"]}]})";
    return made;
  }();
  return at;
}

void call(const std::string& arguments) {
  const std::string line = assay::formatted(ASSAY_TOOL " {} > /dev/null", arguments);
  if (std::system(line.c_str()) != 0) {
    std::fprintf(stderr, "failed: %s\n", line.c_str());
    std::exit(2);
  }
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<int> counts{1};
  const int cores = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  while (counts.back() * 2 <= cores) counts.push_back(counts.back() * 2);

  (void)folder();  // not timed
  std::vector<assay_bench::Ratio> ratios;
  const auto add = [&](const std::string& name, const std::string& what, double asked,
                       const std::function<void(int)>& body) {
    for (const int threads : counts) {
      const std::string its = assay::formatted("{}_{}", name, threads);
      benchmark::RegisterBenchmark(its.c_str(),
                                   [=](benchmark::State& state) {
                                     for (auto _ : state) body(threads);
                                   })
          ->Unit(benchmark::kMillisecond)
          ->MinTime(0.05)
          ->Repetitions(2)
          ->UseRealTime();
      if (threads > 1 && !what.empty()) {
        ratios.push_back(
            {assay::formatted("{}, {} threads: one thread / {}", what, threads, threads), its,
             name + "_1", asked, 1.0 / threads});
      }
    }
  };
  const auto of_case = [&](const std::string& name, const std::string& what, const assay::Case& c,
                           bool golden) {
    add(name, what, 0.9, [&c, golden](int threads) {
      const assay::Tensor result =
          golden ? assay::golden_result(c, threads)
                 : assay::emulate(c, assay::machine_named("ascend910b"), threads);
      benchmark::DoNotOptimize(result.bytes());
    });
  };
  const assay::Case product = made("matmul", "bfloat16", {2048, 2048, 2048}),
                    product32 = made("matmul", "float32", {1024, 1024, 1024}),
                    gelu = made("gelu", "float32", {4194304}),
                    softmax = made("softmax", "bfloat16", {4096, 4096}),
                    attention = made("attention", "bfloat16", {1, 8, 1024, 1024, 64});
  of_case("golden_product", "golden matmul, 2048^3, bf16", product, true);
  of_case("golden_product32", "golden matmul, 1024^3, fp32", product32, true);
  of_case("golden_gelu", "golden gelu, 4 Mi", gelu, true);
  of_case("golden_attention", "golden attention, 1 x 8 x 1024 x 64", attention, true);
  of_case("product", "ascend910b matmul, 2048^3, bf16", product, false);
  of_case("softmax", "ascend910b softmax, 4096^2, bf16", softmax, false);
  of_case("attention", "ascend910b attention, 1 x 8 x 1024 x 64, bf16", attention, false);
  add("campaign", "campaign, a cell of 200 matrices", 0.9, [](int threads) {
    call(assay::formatted("campaign {0}/plan.json --quiet --threads {1}", folder().string(),
                          threads));
  });
  add("gate", "gate, 4000 cases of 1000 elements", 0.9, [](int threads) {
    call(assay::formatted("gate {}/cases.h5 --quiet --threads {}", folder().string(), threads));
  });
  add("registers", "arithmetic in registers alone, 50 ms", 0, registers);
  add("sum", "sum of two float32 arrays, 64 Mi", 0, sum);
  add("verdict", "", 0, [](int threads) { verdict(threads, false); });
  add("metrics", "", 0, [](int threads) { verdict(threads, true); });
  for (const int threads : counts) {
    const std::string sums = assay::formatted("sum_{}", threads);
    ratios.push_back({assay::formatted("plain verdict, {} threads: the sum by as many", threads),
                      assay::formatted("verdict_{}", threads), sums, 0.8});
    ratios.push_back({assay::formatted("all metrics, {} threads: the sum by as many", threads),
                      assay::formatted("metrics_{}", threads), sums, 0.8});
  }
  return assay_bench::run_with_ratios(argc, argv, ratios);
}
