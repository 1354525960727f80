// A target decides if an output passes. Standards of assay are targets that run in this process.
// Callers derive other targets from Target, as the command line does for programs.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "assay/audit/corruption.h"
#include "assay/audit/subject.h"
#include "assay/gate/gate.h"

namespace assay::inline v0_2::audit {

// An output for a target to judge.
struct Trial {
  const Subject& subject;
  const Tensor& output;
  FileChange file = FileChange::kNone;
};

struct Answer {
  bool passed = false;
  // The reason in one line, such as "exit status 1" or "3 of 12 elements miss"
  std::string because = {};
  std::string said = {};  // the text that a program printed, or only its end if it is long
};

// A check that is audited. Several threads may call it at the same time.
class Target {
 public:
  virtual ~Target() = default;
  virtual const std::string& name() const = 0;
  // True if the target reads files, so that changes to files count as corruptions.
  virtual bool reads_files() const { return false; }
  // For targets that read files: true if a copy of the golden file differs from the right output's
  // file.
  virtual bool golden_file_differs(const Subject&) const { return false; }
  // Returns why the target cannot judge any output of this subject. Empty if it can.
  virtual std::string why_not(const Subject& subject) = 0;
  virtual Answer judge(const Trial& trial) = 0;
};

// Judges by the standards of a request. With `gate`, an output passes only if the outcome of
// assay's gate is pass. Without it only the standard decides: an output that the gate would call
// untrusted, because zeros would have passed as well, also passes. The subjects must outlive the
// target.
class StandardTarget : public Target {
 public:
  // Throws Refusal if the standard is not known.
  StandardTarget(std::string name, GateRequest request, bool gate);
  const std::string& name() const override { return name_; }
  std::string why_not(const Subject& subject) override;
  Answer judge(const Trial& trial) override;

 private:
  using Checks = std::shared_ptr<const std::vector<ElementCheck>>;
  Checks checks_of(const Subject& subject);

  std::string name_;
  GateRequest request_;
  bool gate_;
  std::mutex mutex_;
  std::map<const Subject*, Checks> checks_;  // the checks that were made for each subject
};

}  // namespace assay::audit
