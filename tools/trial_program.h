// Kernels of `assay trial`: a program that reads its inputs from files and writes its output to
// one.
#pragma once

#include <string>
#include <vector>

#include "assay/machine/machine.h"
#include "assay/op/operator.h"
#include "assay/trial/kernel.h"

namespace assay::inline v0_2::tools {

// Options for running the program.
struct TrialProgramOptions {
  // The command. Its words may have these places:
  // - {inputs}: the files of all inputs in the operator's order. As a word of its own it becomes
  //   one word for each file.
  // - {input:NAME}: the file of one input.
  // - {output} or {outputs}: the file that the program writes.
  // - {case}: a JSON file with the operator, its attributes, and the file, dtype and shape of each
  //   input and of the output. File names in it are relative to its folder.
  // - {folder}: a folder of cases, with the folders 0000, 0001 and so on. Each has a file case.json
  //   as for {case}, and the program writes the output of each.
  // - {dtype}, {shape}: of the first input. {dtype:NAME}, {shape:NAME}: of the input NAME, or of
  //   the output with the name "output".
  // - {parameter:NAME}: the value of a parameter.
  std::vector<std::string> words;
  std::string kind = "npy";  // of files: npy or bin
  double seconds = 10;       // the time limit of a start. A start for several cases gets more.
  int jobs = 1;              // the number of programs that run at a time
  int together = 64;         // the number of cases in {folder}
};

// Returns the kernel that runs a program. A program reports an input that it does not support by
// the exit status 77 or by a line that begins with "not supported:". Throws Refusal if a place in
// braces is unknown or names something that the operator does not have, or if there is no place for
// the inputs or the output. The kernel throws std::runtime_error if the program cannot be started.
TrialKernel program_kernel(const Operator& op, TrialProgramOptions options);

}  // namespace assay::tools
