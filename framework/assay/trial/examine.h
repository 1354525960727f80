// Examines a kernel on one input: calls it, judges its output by the gate, and checks its contract.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "assay/base/float_environment.h"
#include "assay/gate/gate.h"
#include "assay/trial/draw.h"
#include "assay/trial/kernel.h"

namespace assay::inline v0_2 {

// The parts of a kernel's contract. Each is checked for every input, and is a finding of its own.
enum class TrialFinding : std::uint8_t {
  kCrashed,        // a signal ended the call
  kHung,           // the call took longer than its limit
  kThrew,          // the call threw, or a program exited with an error
  kWrongShape,     // the output has another shape or dtype
  kWroteOutside,   // bytes before, after or between the rows of the output changed
  kChangedInput,   // bytes of an input changed
  kUnwritten,      // elements of the output are never written
  kStale,          // the result depends on an earlier call, or on what the output held before
  kNotFinite,      // NaN or infinity, although inputs and result are finite
  kSpecialValues,  // infinities, NaN or zeros are not treated as the operator defines
  kWrongResult,    // elements lie outside their bounds
  kNotRepeatable,  // the same input gives other bits
  kRowAlone,       // a row gives a wrong result without the other rows
  kBatchVariant,   // a row gives other bits without the other rows
};
// Returns the finding in a few words, such as "wrong result".
std::string_view finding_word(TrialFinding finding);
// Returns what a kernel keeps if there is no such finding, such as "no input is changed".
std::string_view kept_promise(TrialFinding finding);
inline constexpr std::size_t kTrialFindings = 14;

// The promises that a kernel is held to.
struct TrialContract {
  bool unordered = false;        // repeated calls may give other bits, because of atomics
  bool batch_invariant = false;  // a row must give the same bits without the others
  bool isolated = false;         // each input is computed in a child process
  double call_seconds = 10;      // the limit of the calls for one input, if isolated
};

namespace trial {

// The input of an examination.
struct Subject {
  Case test_case = {};  // without golden result
  // Other values in the same shapes, which are computed before the test case. May be empty.
  std::optional<Case> decoy = {};
  Layout inputs = Layout::kContiguous, output = Layout::kContiguous;
  std::uint64_t row = 0;  // chooses the row that is computed without the others
};

// The result of an examination.
struct Examined {
  enum class How : std::uint8_t {
    kPassed,
    kFailed,
    kNotSupported,  // the kernel does not take this input
    kNotJudged,     // no verdict, or one that is not trusted
  };
  How how = How::kPassed;
  TrialFinding finding = TrialFinding::kWrongResult;  // if it failed
  std::string text = {};                              // the reason, unless it passed
  bool is_of_decoy = false;                           // the call with the decoy's values failed
  std::optional<CaseReport> report = {};              // the gate's, if the output was judged
  Tensor output = {};
};

// One examination, in three parts, so that several can be prepared and judged by threads while the
// kernel is called by one thread only.
class Examination {
 public:
  // Throws Refusal if the operator's reference refuses the case.
  Examination(const TrialKernel& kernel, const TrialContract& contract, const GateRequest& request,
              Subject subject);
  ~Examination();
  Examination(Examination&&) noexcept;

  // Calls the kernel, in the floating-point environment of the caller of `environment`.
  void call(const FloatEnvironment& environment);
  // The calls to make for a kernel that takes several calls together, and how they ended.
  std::vector<KernelCall> calls();
  void ended(std::span<const CallEnd> ends);
  // Judges the outputs. `patterns` searches for the cause of a failure.
  Examined judge(bool patterns);
  const Subject& subject() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// Makes calls for a kernel that takes several calls together, in groups of that size. Returns how
// they ended.
std::vector<CallEnd> ends_of(const TrialKernel& kernel, std::span<const KernelCall> calls);

// Examines at once: prepares, calls and judges.
Examined examine(const TrialKernel& kernel, const TrialContract& contract,
                 const GateRequest& request, const FloatEnvironment& environment, Subject subject,
                 bool patterns = false);

}  // namespace trial
}  // namespace assay
