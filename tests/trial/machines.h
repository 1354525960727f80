// Trials of every operator on every emulated machine. Emulated results are right, so no trial may
// fail.
#pragma once

#include <gtest/gtest.h>

#include <cstdio>
#include <string>
#include <vector>

#include "assay/machine/machine.h"
#include "assay/trial.h"

namespace assay {

// The results of right kernels: how many draws passed, and how many had no verdict.
struct RightKernels {
  std::int64_t passed = 0, not_supported = 0, not_judged = 0;
};

// Returns the dtypes of inputs for trials of an operator.
inline std::vector<std::string> trial_dtypes(const Operator& op) {
  if (op.name == "dequantize" || op.name == "scaled_matmul") return {"float8_e4m3fn", "int8"};
  return {"float32", "bfloat16", "float16"};
}

// Tries an operator on a machine with inputs of each dtype: the fixed list, and random draws.
inline void try_on_machine(const Operator& op, const Machine& machine, std::int64_t draws,
                           RightKernels& all) {
  const TrialKernel kernel = emulated_kernel(op, machine);
  for (const std::string& dtype : trial_dtypes(op)) {
    TrialOptions options;
    options.dtypes = {dtype};
    options.draws = draws;
    options.request.machine = &machine;
    options.limits.elements = 1 << 14;
    options.limits.products = 1 << 17;
    try {
      const TrialReport report = run_trial(op.name, kernel, options);
      EXPECT_NE(report.outcome(), Outcome::kFail)
          << op.name << " on " << machine.name << ": " << report.because() << "\n"
          << (report.failures.empty() ? "" : report.failures.front().reduced);
      all.passed += report.listed.passed + report.random.passed;
      all.not_supported += report.listed.not_supported + report.random.not_supported;
      all.not_judged += report.listed.not_judged + report.random.not_judged;
    } catch (const Refusal&) {  // the operator does not take the dtype
    }
  }
}

// Prints the upper bound of the rate of false findings.
inline void print_false_rate(const RightKernels& all) {
  std::printf(
      "%lld draws of right kernels passed, %lld had no verdict, %lld were not supported: "
      "fewer than 1 in %lld is a false finding, with 95 %% confidence\n",
      static_cast<long long>(all.passed), static_cast<long long>(all.not_judged),
      static_cast<long long>(all.not_supported),
      static_cast<long long>(fails_fewer_than_one_in(all.passed)));
}

}  // namespace assay
