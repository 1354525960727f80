// Targets: what an audit asks whether an output passes. Standards of assay are asked in this
// process; whatever else judges outputs is a Target of the caller's (the command line's are
// programs).
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "assay/audit/corruption.h"
#include "assay/audit/subject.h"
#include "assay/gate/gate.h"

namespace assay::audit {

// An output that a target is asked about.
struct Trial {
  const Subject& subject;
  const Tensor& output;
  FileChange file = FileChange::kNone;
};

struct Answer {
  bool passed = false;
  std::string because = {};  // one line: "exit status 1", "3 of 12 elements miss"
  std::string said = {};     // what a program printed, of much the end
};

// Several threads may ask at once.
class Target {
 public:
  virtual ~Target() = default;
  virtual const std::string& name() const = 0;
  // Whether it looks at files, so that changes of those are corruptions.
  virtual bool reads_files() const { return false; }
  // Of one that does: whether a copy of the golden file is another file than the right output's.
  virtual bool golden_file_differs(const Subject&) const { return false; }
  // Why it has nothing to say of any output of this subject; empty where it has.
  virtual std::string why_not(const Subject& subject) = 0;
  virtual Answer judge(const Trial& trial) = 0;
};

// What the standards of a request say. `gate`: what assay's gate makes of it, where passed is the
// outcome pass alone; else the standard by itself, which passes an output also where the gate calls
// it untrusted, for zeros would have passed too. The subjects must outlive it.
class StandardTarget : public Target {
 public:
  // Throws std::invalid_argument on an unknown standard.
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
  std::map<const Subject*, Checks> checks_;  // what they are held against, once a subject
};

}  // namespace assay::audit
