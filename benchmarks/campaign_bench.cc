// Measures flips of every bit of every element of a product, judged in constant time, against
// checks that are summed again after each flip. Also measures one matrix of the published
// experiment.
#include <cstdint>
#include <string>
#include <vector>

#include "assay/campaign/detector.h"
#include "assay/campaign/engine.h"
#include "assay/wire/plan_file.h"
#include "ratios.h"

namespace {

assay::campaign::Plan plan_for(const std::string& dtype, const std::string& gate) {
  const std::string text =
      R"({"schema": 1, "name": "bench", "cells": [{"dtype": ")" + dtype +
      R"(", "shape": [128, 1024, 256], "distribution": "normal", "gates": [")" + gate +
      R"("], "clean_rows": 128, "faults": [{"census": 1}]}]})";
  return assay::campaign::check_plan(assay::wire::parse_plan(text, "bench", "."));
}

void census(benchmark::State& state, const std::string& dtype, const std::string& gate,
            bool exact) {
  const assay::campaign::Plan plan = plan_for(dtype, gate);
  const assay::campaign::Cell& cell = plan.cells.front();
  const assay::campaign::Matrix matrix = assay::campaign::make_matrix(plan, cell, 0);
  const assay::campaign::MatrixDetector judge(cell.gates.front(), cell, matrix);
  std::vector<int> bits;
  for (const assay::campaign::Series& s : assay::campaign::series_of(cell)) {
    if (s.direction == assay::fault::Direction::kZeroToOne) bits.push_back(s.bit);
  }
  std::vector<std::uint16_t> bins(static_cast<std::size_t>(matrix.output.size()) * bits.size());
  for (auto _ : state) {
    judge.census(bits, exact, bins.data());
    benchmark::DoNotOptimize(bins.data());
    benchmark::ClobberMemory();
  }
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(bins.size()));
}

void whole_matrix(benchmark::State& state, const std::string& dtype, const std::string& gate) {
  const assay::campaign::Campaign campaign(plan_for(dtype, gate), {.threads = 1});
  for (auto _ : state) {
    benchmark::DoNotOptimize(campaign.run_matrix(campaign.plan().cells.front(), 0));
  }
}

}  // namespace

int main(int argc, char** argv) {
  const auto add = [](const std::string& name, auto body) {
    benchmark::RegisterBenchmark(name.c_str(), body)->Unit(benchmark::kMillisecond)->Repetitions(3);
  };
  std::vector<assay_bench::Ratio> ratios;
  for (const char* dtype : {"bfloat16", "float16", "float32"}) {
    for (const char* gate : {"v_abft", "v_abft,arithmetic=output", "a_abft", "rounding_variance"}) {
      const std::string name = std::string(dtype) + "_" + gate;
      add(name, [=](benchmark::State& s) { census(s, dtype, gate, false); });
      add(name + "_summed_again", [=](benchmark::State& s) { census(s, dtype, gate, true); });
      ratios.push_back(
          {"flips of " + name + ": each check summed again", name, name + "_summed_again"});
    }
    add(std::string(dtype) + "_whole_matrix",
        [=](benchmark::State& s) { whole_matrix(s, dtype, "rounding_variance"); });
  }
  return assay_bench::run_with_ratios(argc, argv, ratios);
}
