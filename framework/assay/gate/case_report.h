// What the gate found out: about one case, and about all cases of a golden file.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "assay/abft/abft.h"
#include "assay/judge/verdict.h"

namespace assay {

// What the gate said of a corrupted output.
struct MutationResult {
  std::string name;
  bool applied = false;  // false: the case does not allow it, or it would change no bit
  Outcome elementwise = Outcome::kPass;
  std::optional<Outcome> abft;  // the checksums', where they were asked for
  // Neither passed it: the gate would not have let it through.
  bool caught() const { return elementwise != Outcome::kPass || (abft && *abft != Outcome::kPass); }
};

// What the gate found out about one output of one case.
struct CaseReport {
  std::string name, op, dtype, producer;  // producer: where the output came from
  std::string output = {};                // which one, of a case that has several; else empty
  Shape shape;
  std::vector<std::string> tags;
  std::vector<Verdict> verdicts;               // one a standard
  std::optional<AbftVerdict> abft;             // the checksums', where they were asked for
  std::vector<MutationResult> mutations = {};  // of an output that passed, where asked for
  std::string error;  // why it could not be read; then there are no verdicts
  double seconds = 0;
  std::string reproduce;  // a command line that judges this case again

  // "case", of a case with several outputs "case:output".
  std::string title() const;
  // The worst of all verdicts, the checksums' included.
  Outcome outcome() const;
  std::string_view outcome_text() const;  // "error" where it could not be read
  // The first verdict that has this outcome; nullptr where the checksums alone have it, and where
  // there is no verdict.
  const Verdict* deciding_verdict() const;
  // Why the outcome is what it is, in words: of the deciding verdict, else of the checksums, else
  // the error.
  const std::string& because() const;
};

struct GateReport {
  std::string golden_file, command;
  std::vector<CaseReport> cases;  // an entry an output; those of a case stand together
  std::string version, simd_target;
  std::string note;  // what a reader should know of all verdicts, such as an override
  std::vector<std::string> without_golden = {};  // cases that have an output alone; not judged
};

// How many cases have each outcome, by its word ("error" where one could not be read). A case of
// several outputs has the worst of theirs.
std::map<std::string_view, std::int64_t> outcome_counts(const GateReport& report);

// The worst outcome of all cases; not_comparable where there is none.
Outcome report_outcome(const GateReport& report);

// 0 pass, 1 fail, 3 not comparable, 4 untrusted.
int exit_code(Outcome outcome);

}  // namespace assay
