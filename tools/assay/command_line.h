// The command line as a library, for a program that knows a team's own operators as well:
//
//   int main(int argc, char** argv) {
//     register_swiglu();
//     return assay::run_command_line(argc, argv);
//   }
//
// Link the program with assay::command_line (docs/own_operator.md).
#pragma once

namespace assay::inline v0_2 {

// Runs the subcommands of `assay` (docs/gate.md). Returns the exit code, which is 0 if all
// passed, 1 if the comparison failed, 2 if the usage is wrong or a file cannot be read, 3 if
// something is not comparable, and 4 if it is untrusted. Throws nothing. An error is printed as one
// line on standard error.
int run_command_line(int argc, char** argv);

}  // namespace assay
