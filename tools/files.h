// The files that a command's options name, for reading and for writing.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <string>
#include <vector>

namespace assay::inline v0_2::tools {

// Options say which files they name when they are added, once for all commands. Before a command
// runs, the files of an earlier run at its outputs are removed, so that no output is ever an older
// one, even if the command fails. A command is refused if an output would replace another output,
// or a file that the command reads or would read in a later run.
class FileOptions {
 public:
  // Returns the files that a value of an option leads to.
  using Files = std::function<std::vector<std::string>(const std::string& value)>;
  // Returns true if a value of an option makes the command read a file at `target`, now or in a
  // later run.
  using Reads = std::function<bool(const std::string& value, const std::string& target)>;

  // These functions declare what an option's values are, and return the option.
  CLI::Option* input(CLI::Option* option);
  CLI::Option* input(CLI::Option* option, Files files);
  CLI::Option* input(CLI::Option* option, Reads reads);
  // All files in the named folder, at any depth, are inputs.
  CLI::Option* input_folder(CLI::Option* option);
  CLI::Option* output(CLI::Option* option);
  // The value '-' means standard output. It is refused for options that are declared otherwise.
  CLI::Option* output_or_standard_output(CLI::Option* option);
  // The output may also be the command's input, which is replaced when the new file is complete. If
  // `replaced` names an option, the output may only be its file.
  CLI::Option* output_in_place(CLI::Option* option, std::string replaced = {});
  // A folder for files of these names, and for folders if a name ends in '/'. The command is
  // responsible for the content of the folder.
  CLI::Option* output_folder(CLI::Option* option, std::vector<std::string> names);

  // Removes the regular files at the outputs, except those that are refused. Returns the reason why
  // the command is refused, or an empty string. The inputs are those that options declare, and
  // files that values of other options of `command`, or of `others`, name: a machine's file, or a
  // program that is run.
  std::string clear(const CLI::App& command, const std::vector<std::string>& others) const;
  // Removes the outputs if the command line was not understood. An output that two of its words
  // name is kept, because one of the words may be an input.
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
    std::string replaced = {};  // the option whose file the output may be. Empty means any
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

// Returns true if the program was started without a standard output.
bool standard_output_is_closed();

// Returns true if two paths lead to one place, also by links, and even if nothing is there yet.
bool same_place(const std::string& a, const std::string& b);
// Returns true if a path leads into a folder, at any depth, also by links.
bool lies_in(const std::string& folder, const std::string& path);

// Removes a regular file, or the one that a link leads to. Does not remove anything else. The next
// file that is written there gets the removed file's mode.
void remove_file(const std::string& path);

}  // namespace assay::tools
