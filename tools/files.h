// The files that a command's options name: what it reads and what it writes.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <string>
#include <vector>

namespace assay::tools {

// Options say which files they name when they are added, once for all commands. Before a command
// runs, what an earlier run left at its outputs is removed, so that whatever comes of it, no file
// that was asked for is an older one. A command is refused if an output would replace another
// output, or a file that the command reads or would read in a later run.
class FileOptions {
 public:
  // The files that a value of an option leads to.
  using Files = std::function<std::vector<std::string>(const std::string& value)>;
  // Whether a value of an option makes the command read a file at `target`, now or in a later run.
  using Reads = std::function<bool(const std::string& value, const std::string& target)>;

  // These give the option back.
  CLI::Option* input(CLI::Option* option);
  CLI::Option* input(CLI::Option* option, Files files);
  CLI::Option* input(CLI::Option* option, Reads reads);
  // All files in the folder that it names are inputs, at any depth.
  CLI::Option* input_folder(CLI::Option* option);
  CLI::Option* output(CLI::Option* option);
  // '-' is standard output; elsewhere it is refused.
  CLI::Option* output_or_standard_output(CLI::Option* option);
  // May also be the command's input, which is then replaced when the new file is whole.
  CLI::Option* output_in_place(CLI::Option* option);
  // A folder for files of these names, and folders if a name ends in '/'. What is in it is left to
  // the command.
  CLI::Option* output_folder(CLI::Option* option, std::vector<std::string> names);

  // Removes the regular files at the outputs, except those that are refused. Returns the reason why
  // the command is refused, or an empty string. Besides the inputs that options declare, a file
  // that a value of another option of `command`, or one of `others`, names is an input: a machine's
  // file, a program that is run.
  std::string clear(const CLI::App& command, const std::vector<std::string>& others) const;
  // The same for the words of a command line that was not understood. Files that it names twice
  // stay.
  void clear_named_once(const std::vector<std::string>& words) const;

 private:
  struct Input {
    const CLI::Option* option;
    Reads reads;
  };
  struct Output {
    const CLI::Option* option;
    Files files;
    bool in_place = false, is_folder = false, takes_standard_output = false;
  };
  struct Target {
    const Output* output;
    std::string path;
  };
  std::vector<Target> targets() const;
  bool is_declared(const CLI::Option* option) const;

  std::vector<Input> inputs_;
  std::vector<Output> outputs_;
};

// Whether the program was started without a standard output.
bool standard_output_is_closed();

// Whether two paths lead to one place, by links as well, also if nothing is there yet.
bool same_place(const std::string& a, const std::string& b);
// Whether a path leads into a folder, at any depth and by links as well.
bool lies_in(const std::string& folder, const std::string& path);

// Removes a regular file, or the one that a link leads to; whatever else is there stays. Its mode
// is that of the file which is written there next.
void remove_file(const std::string& path);

}  // namespace assay::tools
