// The files that a command's options name: what it reads and what it writes.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <string>
#include <vector>

namespace assay::tools {

// Options say which files they name when they are added, once for all commands. Before a command
// runs, what an earlier run left at its outputs is removed, so that whatever comes of it, no file
// that was asked for is an older one; and a command whose output would replace an input or another
// output is refused.
class FileOptions {
 public:
  // The files that a value of an option leads to.
  using Files = std::function<std::vector<std::string>(const std::string& value)>;

  // These give the option back.
  CLI::Option* input(CLI::Option* option);
  CLI::Option* input(CLI::Option* option, Files files);
  // Files in the folder that it names are inputs, too.
  CLI::Option* input_folder(CLI::Option* option);
  CLI::Option* output(CLI::Option* option);
  // '-' is standard output; elsewhere it is refused.
  CLI::Option* output_or_standard_output(CLI::Option* option);
  // May also be the command's input, which is then replaced when the new file is whole.
  CLI::Option* output_in_place(CLI::Option* option);
  // A folder for files of these names. What is in it is left to the command.
  CLI::Option* output_folder(CLI::Option* option, std::vector<std::string> names);

  // Removes what lies at the outputs: files alone, and none that is refused. Gives the reason why
  // the command is refused, "" where it is not. `words`: of a command line that was not understood;
  // what it names twice is left alone as well.
  std::string clear(const std::vector<std::string>& words = {}) const;

 private:
  struct Input {
    const CLI::Option* option;
    Files files;
    bool is_folder = false;
  };
  struct Output {
    const CLI::Option* option;
    Files files;
    bool in_place = false, is_folder = false, takes_standard_output = false;
  };
  std::vector<Input> inputs_;
  std::vector<Output> outputs_;
};

// Removes a regular file, or the one that a link leads to; whatever else is there stays. Its mode
// is that of the file which is written there next.
void remove_file(const std::string& path);

}  // namespace assay::tools
