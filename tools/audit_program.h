// Programs as targets of an audit: black boxes that are given files and say pass or fail.
#pragma once

#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "assay/audit/target.h"
#include "assay/base/process.h"
#include "audit_files.h"

namespace assay::tools {

// How a program is asked, and how it answers.
struct ProgramOptions {
  std::string name;  // as reports have it; empty: the words
  // With {output}, {golden}, {output:NAME}, {golden:NAME}, {input:NAME}, {dtype}, {shape}, {case}
  // and {junit}. What is a file in the current folder is found there, wherever the program runs.
  std::vector<std::string> words;
  bool batch = false;  // started once; a pair of paths a line, answered by "pass" or "fail" a line
  // POSIX extended. With `pass_regex` it passes where it printed a match, whatever its exit status;
  // with `fail_regex` it does not pass where it printed a match.
  std::string pass_regex, fail_regex;
  FileKind kind = {};
  ProcessLimits limits = {};
  std::vector<std::string> dtypes = {};  // that it knows; empty: all
};

class ProgramTarget : public audit::Target {
 public:
  // Throws std::invalid_argument where the words name no output, a regular expression is none, or
  // options exclude each other.
  explicit ProgramTarget(ProgramOptions options);
  ~ProgramTarget() override;

  const std::string& name() const override { return o_.name; }
  bool reads_files() const override { return true; }
  bool golden_file_differs(const audit::Subject& subject) const override;
  std::string why_not(const audit::Subject& subject) override;
  audit::Answer judge(const audit::Trial& trial) override;

  // Writes the files of a trial to a folder that is there, and gives a line for a shell that asks
  // the program about them.
  std::string save(const audit::Trial& trial, const std::string& folder) const;

 private:
  struct Worker;
  class Borrowed;
  struct Regex;
  TrialFiles write(const audit::Trial& trial, const std::string& folder) const;
  std::vector<std::string> filled(const audit::Trial& trial, const TrialFiles& files,
                                  const std::string& junit) const;
  audit::Answer run(const audit::Trial& trial, Worker& worker) const;
  audit::Answer ask(const audit::Trial& trial, Worker& worker) const;

  ProgramOptions o_;
  std::vector<std::string> inputs_;  // that the words name
  bool siblings_ = false, plain_ = false, junit_ = false;
  std::unique_ptr<Regex> passes_, fails_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<Worker>> free_;
};

// Whether a JUnit file tells of at least one test case that was not skipped, and of no failure and
// no error.
bool junit_passes(const std::string& text);

// Checks of Python libraries, which a small program that ships with assay asks.
struct Adapter {
  std::string_view name;  // "numpy.testing.assert_allclose", then perhaps "(rtol=1e-3,atol=0)"
  std::string_view dtypes;
};
std::span<const Adapter> adapters();
// The target of a name that begins with an adapter's; nullptr of another one. `python`: the
// interpreter. The program is written to `folder`.
std::unique_ptr<ProgramTarget> adapter_target(const std::string& name, const std::string& python,
                                              const std::string& folder,
                                              const ProcessLimits& limits);

}  // namespace assay::tools
