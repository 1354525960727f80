// Programs as targets of an audit: black boxes that get files and answer pass or fail.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "assay/audit/target.h"
#include "assay/base/pool.h"
#include "assay/base/process.h"
#include "audit_files.h"

namespace assay::inline v0_2::tools {

// Options for running a program and reading its answer.
struct ProgramOptions {
  std::string name;  // The name in reports. If it is empty, reports show the words of the command.
  // The command, with {output}, {golden}, {output:NAME}, {golden:NAME}, {input:NAME}, {dtype},
  // {shape}, {case} and {junit}. Words that are files in the current folder become absolute paths,
  // because the program runs in another folder.
  std::vector<std::string> words;
  // If true, the program is started once. It reads lines with a pair of paths, and answers each
  // with a line "pass" or "fail".
  bool batch = false;
  // POSIX extended regular expressions. With `pass_regex` a trial passes if the output matches,
  // whatever the exit status is. With `fail_regex` it does not pass if the output matches.
  std::string pass_regex, fail_regex;
  FileKind kind = {};
  ProcessLimits limits = {};
  std::vector<std::string> dtypes = {};  // The dtypes that the program knows. Empty means all.
};

class ProgramTarget : public audit::Target {
 public:
  // Throws Refusal if the words do not name an output, if a regular expression is not
  // valid, or if options exclude each other.
  explicit ProgramTarget(ProgramOptions options);
  ~ProgramTarget() override;

  const std::string& name() const override { return o_.name; }
  bool reads_files() const override { return true; }
  bool golden_file_differs(const audit::Subject& subject) const override;
  std::string why_not(const audit::Subject& subject) override;
  audit::Answer judge(const audit::Trial& trial) override;

  // Writes the files of a trial to an existing folder. Returns a shell command that runs the
  // program on them.
  std::string save(const audit::Trial& trial, const std::string& folder) const;

 private:
  struct Worker;
  struct Regex;
  TrialFiles write(const audit::Trial& trial, const std::string& folder) const;
  std::vector<std::string> filled(const audit::Trial& trial, const TrialFiles& files,
                                  const std::string& junit) const;
  audit::Answer run(const audit::Trial& trial, Worker& worker) const;
  audit::Answer ask(const audit::Trial& trial, Worker& worker) const;

  ProgramOptions o_;
  std::vector<std::string> inputs_;  // the inputs that the command's words name
  bool siblings_ = false, plain_ = false, junit_ = false;
  std::unique_ptr<Regex> passes_, fails_;
  Pool<Worker> workers_;
};

// Returns true if a JUnit file reports at least one test case that was not skipped, no failure and
// no error.
bool junit_passes(const std::string& text);

// Checks of Python libraries, which a small program that ships with assay runs.
struct Adapter {
  // The check's name, such as "numpy.testing.assert_allclose". Behind it, a user may give
  // arguments, such as "(rtol=1e-3,atol=0)".
  std::string_view name;
  std::string_view dtypes;
};
std::span<const Adapter> adapters();
// Returns the target for a name that begins with an adapter's name, or nullptr for other names.
// `python` is the interpreter. The program is written to `folder`.
std::unique_ptr<ProgramTarget> adapter_target(const std::string& name, const std::string& python,
                                              const std::string& folder,
                                              const ProcessLimits& limits);

}  // namespace assay::tools
