// Runs the registered benchmarks and prints ratios of their times. All times are of the same run.
#pragma once

#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstdio>
#include <map>
#include <string>
#include <vector>

namespace assay_bench {

struct Ratio {
  std::string what;
  // Names of two benchmarks. The ratio is the time of `peer` divided by that of `ours`.
  std::string ours, peer;
  double asked = 0;  // the smallest ratio that is required, or 0 if none is
  // A factor of the ratio. It is 1/n if n threads should make the benchmark n times as fast.
  double of = 1;
};

// Keeps the fastest repetition of each benchmark, because other work of the machine only adds time.
class BestTimes : public benchmark::ConsoleReporter {
 public:
  void ReportRuns(const std::vector<Run>& runs) override {
    for (const Run& run : runs) {
      if (run.run_type != Run::RT_Iteration || run.error_occurred) continue;
      const double seconds = run.real_accumulated_time / static_cast<double>(run.iterations);
      const auto [at, first] = best.emplace(run.run_name.function_name, seconds);
      if (!first) at->second = std::min(at->second, seconds);
    }
    ConsoleReporter::ReportRuns(runs);
  }
  std::map<std::string, double> best;
};

inline int run_with_ratios(int argc, char** argv, const std::vector<Ratio>& ratios) {
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  BestTimes times;
  benchmark::RunSpecifiedBenchmarks(&times);
  std::printf("\n%-64s %8s %8s\n", "ratio (peer's time / ours)", "seen", "asked");
  for (const Ratio& r : ratios) {
    const auto ours = times.best.find(r.ours), peer = times.best.find(r.peer);
    if (ours == times.best.end() || peer == times.best.end()) continue;
    std::printf("%-64s %8.3f ", r.what.c_str(), peer->second / ours->second * r.of);
    if (r.asked > 0)
      std::printf("%8.3f\n", r.asked);
    else
      std::printf("%8s\n", "-");
  }
  return 0;
}

}  // namespace assay_bench
