// The main function of a team's dataset tests. Each case of a golden file is a CTest test.
//
//   assay::Tensor my_matmul(const assay::Case& c);
//   int main(int argc, char** argv) {
//     return assay::run_dataset_tests(argc, argv, {{"matmul", my_matmul}});
//   }
//
// and in CMake: assay_add_dataset_tests(my_ops DATASETS gemms.h5 STANDARD torch LABELS nightly)
//
// With --machine (in CMake: MACHINE ascend910b) the operator's emulation is under test instead.
// This works for assay's operators and for those that main registered (docs/own_operator.md).
#pragma once

#include <functional>
#include <map>
#include <string>

#include "assay/cases/case.h"
#include "assay/datasets/runner/computed.h"
#include "assay/op/operator.h"  // for users: output_format() returns the dtype of a case's output

namespace assay::inline v0_2 {

// Computes a case's result from its inputs and attributes. The function returns a Tensor, or a
// Tensor with the arrays of its kernel's epilogue, as in
// `return {c, {.accumulator = c_before_its_cast}};`. An exception fails the case.
using CaseFunction = std::function<Computed(const Case&)>;

// Judges the result of every case that matches, and prints one line for each case, or the whole
// explanation of a failure. The result comes from the operator's function in `operators`, or with
// --machine from its emulation.
//
// Command line: FILE [--case GLOB] [--machine M] [--standards FILE] [--standard S]...
// [--reference-implementation PRODUCER] [--abft THRESHOLD] [--sample rows=N,seed=N] [--ctest PREFIX
// [--label L]...].
//
// Exit codes: 0 pass, 1 fail, 2 wrong usage or an unreadable file, 3 not comparable (no case
// matched, or a case's op has no function or no emulation), 4 untrusted. With --ctest it prints
// CTest's add_test lines instead, one for each case, labelled by op, dtype and tags, and by the
// machine.
int run_dataset_tests(int argc, char** argv,
                      const std::map<std::string, CaseFunction>& operators = {});

}  // namespace assay
