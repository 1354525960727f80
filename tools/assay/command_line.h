// The command line as a library, for a program that knows a team's own operators as well:
//
//   int main(int argc, char** argv) {
//     register_swiglu();
//     return assay::run_command_line(argc, argv);
//   }
//
// linked with assay::command_line (docs/own_operator.md).
#pragma once

namespace assay {

// All subcommands of `assay` (docs/gate.md). Exit codes: 0 pass, 1 the comparison failed, 2 usage
// or unreadable file, 3 not comparable, 4 untrusted. Throws nothing: errors are one line on
// standard error.
int run_command_line(int argc, char** argv);

}  // namespace assay
