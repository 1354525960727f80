// The main of a team's dataset tests: each case of a golden file is a CTest test.
//
//   assay::Tensor my_matmul(const assay::Case& c);
//   int main(int argc, char** argv) {
//     return assay::run_dataset_tests(argc, argv, {{"matmul", my_matmul}});
//   }
//
// and in CMake: assay_add_dataset_tests(my_ops DATASETS gemms.h5 STANDARD torch LABELS nightly)
//
// With --machine (in CMake: MACHINE ascend910b) the operator's emulation is under test instead, of
// assay's operators and those that main registered (docs/own_operator.md).
#pragma once

#include <functional>
#include <map>
#include <string>

#include "assay/cases/case.h"
#include "assay/datasets/runner/computed.h"
#include "assay/op/operator.h"  // output_format() of a case

namespace assay {

// Computes a case's result from its inputs and attributes: a function that returns a Tensor, or
// with what its kernel gave beside it, as in `return {c, {.accumulator = c_before_its_cast}};`. A
// thrown exception fails the case.
using CaseFunction = std::function<Computed(const Case&)>;

// Command line: FILE [--case GLOB] [--machine M] [--standard S]... [--benchmark PRODUCER] [--abft
// THRESHOLD] [--sample rows=N,seed=N] [--ctest PREFIX [--label L]...]. Judges the result of every
// case that matches -- of its operator's function in `operators`, or with --machine of its
// emulation -- and prints one line a case, or the whole explanation of a failure. Exit codes: 0
// pass, 1 fail, 2 usage or unreadable file, 3 not comparable (nothing matched, no function for a
// case's op, no emulation of it), 4 untrusted. With --ctest: prints CTest's add_test lines instead,
// one a case, labelled by op, dtype and tags, and by the machine.
int run_dataset_tests(int argc, char** argv,
                      const std::map<std::string, CaseFunction>& operators = {});

}  // namespace assay
