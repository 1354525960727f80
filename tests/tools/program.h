// Runs the command line in a directory of its own and keeps its output.
#pragma once

#include <assay/datasets/store/dataset_file.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <ostream>
#include <string>
#include <vector>

#include "document.h"

namespace assay {

struct Ran {
  int code;  // exit code, or 128 plus the number of the signal that ended it
  std::string out, err;
};
void PrintTo(const Ran& ran, std::ostream* to);

// Exits(0) matches a run with this exit code and nothing on standard error. Exits(2, "error: ...")
// matches a run with this one line on standard error.
MATCHER_P(Exits, code, "") { return arg.code == code && arg.err.empty(); }
MATCHER_P2(Exits, code, line, "") {
  return arg.code == code && arg.err == std::string(line) + "\n";
}
MATCHER_P(Code, code, "") { return arg.code == code; }

class ProgramTest : public testing::Test {
 protected:
  ProgramTest();
  ~ProgramTest() override;

  std::string path(const std::string& name) const;
  std::string sample() const;
  bool exists(const std::string& name) const;
  std::string read(const std::string& name) const;
  void write(const std::string& name, const std::string& text) const;
  nlohmann::json json(const std::string& name) const;
  // Returns the names of temporary files that were left behind.
  std::vector<std::string> leftovers() const;

  // Runs a line of sh in the test's directory, with `assay` on PATH. The limit is 5 minutes,
  // because sanitizers take more than one, and 50 minutes under an emulator. A line that needs no
  // shell runs in a process that is forked from this one (forked_program.h).
  Ran run(const std::string& line) const;

  // Returns the names of all subcommands, which `assay --help` lists under headings.
  std::vector<std::string> subcommands() const;

  // Runs a Python program. The test fails if the program fails.
  void python(const std::string& program) const;

  // Returns a case of a matrix product of a [2, 2] and b [2, 3] in float32, with a golden result in
  // float64. The output of `producer` is off by `off` at [1, 2].
  static Case product(const std::string& name, double off = 0, const std::string& producer = "p");

  // Returns a case without operands. It has only a golden result and an output.
  static Case recorded(const std::string& name, const std::string& dtype, const Shape& shape,
                       const std::vector<double>& golden, const std::vector<double>& output);

  // Returns one case for every outcome, with the outcome as its name.
  static std::vector<Case> one_of_each();

  void make(const std::string& name, const std::vector<Case>& cases) const;

  std::filesystem::path directory_;

 private:
  // Returns false if a test has put another program in the place of `assay`.
  bool starts_the_program() const;
};

}  // namespace assay
