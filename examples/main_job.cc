// The main job: recorded H200 results and emulated Ascend 910B results against golden, then single
// bit flips put into the 910B's output, and what the gate saw of each.
//
//   main_job datasets/samples/transformer_gemms.h5
#include <algorithm>
#include <cstdio>
#include <exception>
#include <string>
#include <vector>

#include "assay/datasets/store.h"
#include "assay/fault/fault.h"
#include "assay/judge/verdict.h"
#include "assay/op/operator.h"

namespace {

struct Row {
  int cases = 0, passed = 0;
  double worst_ratio = 0, lowest_snr = 1e9;
  std::uint64_t max_ulps = 0;

  void add(const assay::Verdict& v) {
    ++cases;
    passed += v.outcome == assay::Outcome::kPass ? 1 : 0;
    worst_ratio = std::max(worst_ratio, v.worst_ratio);
    if (v.metrics) {
      lowest_snr = std::min(lowest_snr, v.metrics->snr_db);
      max_ulps = std::max(max_ulps, v.metrics->max_ulps);
    }
  }
  void print(const char* what) const {
    std::printf("  %-26s %2d of %2d pass %10.3f %8llu %9.1f\n", what, passed, cases, worst_ratio,
                static_cast<unsigned long long>(max_ulps), lowest_snr);
  }
};

struct FaultRow {
  int bit;
  const char* what;
  int injected = 0, seen = 0;
};

constexpr int kFlipsPerCase = 100;

// Flips one bit of one element, asks the gate, and puts the element back.
void inject_and_judge(const assay::Case& c, assay::Tensor& output, FaultRow& row) {
  const assay::BoundRequest case_bound;
  for (int trial = 0; trial < kFlipsPerCase; ++trial) {
    assay::FaultSpec spec;
    spec.bit = row.bit;
    spec.seed = static_cast<std::uint64_t>(trial);
    const assay::Injection done = assay::inject(output, spec, assay::stream_of(c.name));
    const auto verdicts = assay::judge_case(c, output, case_bound, {.metrics = false, .worst = 1});
    ++row.injected;
    row.seen += assay::worst_outcome(verdicts) == assay::Outcome::kFail ? 1 : 0;
    output.set_bits(done.flips[0].linear, done.flips[0].before);
  }
}

int run(const std::string& path) {
  const assay::DatasetFile file(path);
  const auto names = file.case_names();
  const assay::Machine& ascend = assay::machine_named("ascend910b");
  Row h200, npu;
  std::vector<FaultRow> faults = {{15, "sign"},
                                  {14, "exponent, highest"},
                                  {10, "exponent"},
                                  {8, "exponent"},
                                  {7, "exponent, lowest"},
                                  {3, "mantissa"},
                                  {0, "mantissa, lowest: 1 ulp"}};
  for (const std::string& name : names) {
    assay::Case c = file.read(name);
    h200.add(assay::judge_case(c, c.outputs.at("h200"), {}).front());
    assay::Tensor output = assay::emulate(c, ascend);
    npu.add(assay::judge_case(c, output, {}).front());
    for (FaultRow& row : faults) inject_and_judge(c, output, row);
  }
  std::printf(
      "\n%zu bf16 matrix products of a transformer in training, against float64 golden "
      "results\n\n",
      names.size());
  std::printf("  %-26s %13s %10s %8s %9s\n", "output", "", "max/bound", "max ulp", "SNR dB");
  h200.print("recorded on an H200");
  npu.print("emulated Ascend 910B");
  std::printf("\n  single bit flips in the 910B's output, one a run, %d runs a case\n\n",
              kFlipsPerCase);
  std::printf("  %-32s %9s %9s\n", "flipped bit", "injected", "seen");
  for (const FaultRow& row : faults) {
    std::printf("  %2d %-29s %9d %7.1f %%\n", row.bit, row.what, row.injected,
                100.0 * row.seen / row.injected);
  }
  std::printf(
      "\n  max/bound: largest error over the case's own bound (rtol one bf16 ulp, atol from "
      "K and its\n  magnitude). A flip is missed where it changes the element by less than "
      "that bound.\n");
  return h200.passed == h200.cases && npu.passed == npu.cases ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: main_job FILE\n");
    return 2;
  }
  try {
    return run(argv[1]);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "error: %s\n", e.what());
    return 2;
  }
}
