// Runs command lines of `assay` in processes that are forked from the test program, which has the
// command line as a library. This saves the start of the program, which under the address sanitizer
// takes longer than many checks take. Lines that need a shell start the program.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace assay {

// Splits a line that starts with `assay` into words. Returns nothing if the line has an operator, a
// variable, a pattern, an escape or an assignment, which only a shell understands.
std::optional<std::vector<std::string>> plain_words(const std::string& line);

// Runs the words in the directory, with this process's environment and `path` as PATH. The input is
// /dev/null, and the files stdout.txt and stderr.txt of the directory get the output. Returns the
// status as waitpid() does, or nothing if the words cannot be sent. A process is ended after
// `seconds`.
//
// The process is a copy of this program as it was before its first test. It therefore has nothing
// of what tests leave in memory. For example, it does not know which files a test has written, and
// so checks them as the program does.
std::optional<int> run_forked(const std::filesystem::path& directory, const std::string& path,
                              int seconds, const std::vector<std::string>& words);

}  // namespace assay
