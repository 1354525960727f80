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

// Which rows of an output were looked at, where its golden results were computed of these alone.
struct SampledRowsReport {
  std::int64_t rows = 0, of = 0;
  std::uint64_t seed = 0;
  // Of so large a share of wrong rows, or a larger one, the sample has one with 95 percent.
  double seen_share = 0;
};

// What is known of a case beside its verdicts: from a baseline (gate/baseline.h) or a list of known
// failures (gate/known_failures.h).
enum class Remark : std::uint8_t {
  kNone,
  kWorse,           // it passes, but is worse than it was
  kDisappeared,     // it was there, and is no more
  kKnownFailure,    // it fails, and need not be mended yet
  kUnexpectedPass,  // it is listed as a failure, and passes
  kExpired,         // it is listed as a failure, but no longer excused
};

// What the gate found out about one output of one case.
struct CaseReport {
  std::string file = {};                  // the golden file, where the gate has several
  std::string name, op, dtype, producer;  // producer: where the output came from
  std::string output = {};                // which one, of a case that has several; else empty
  // The name that the user gave the case, if a case name cannot have its characters; else empty.
  std::string source_name = {};
  Shape shape;
  std::vector<std::string> tags;
  std::vector<Verdict> verdicts;                 // one a standard
  std::optional<AbftVerdict> abft;               // the checksums', where they were asked for
  std::optional<SampledRowsReport> sample = {};  // what the verdicts are about; empty: all of it
  std::vector<MutationResult> mutations = {};    // of an output that passed, where asked for
  std::string error;  // why it could not be read; then there are no verdicts
  double seconds = 0;
  std::string reproduce;  // a command line that judges this case again
  Remark remark = Remark::kNone;
  std::string remark_text = {};  // the reason of the remark, in words

  // "case", of a case with several outputs "case:output".
  std::string title() const;
  // The name by which the user knows the case: its source name, or its name if it has no other.
  const std::string& given_name() const { return source_name.empty() ? name : source_name; }
  // The worst of all verdicts, the checksums' included; a remark other than kKnownFailure is a
  // failure.
  Outcome outcome() const;
  // The same of the verdicts alone.
  Outcome judged() const;
  // Whether the gate passes with this case.
  bool passes() const;
  // How bad it is, smaller is worse: could not be read, then as worse() has it, then known
  // failures, then what passes.
  int rank() const;
  // In one word: "error" where it could not be read, the remark's where it has one.
  std::string_view outcome_text() const;
  // The word of one of its verdicts: the remark's where that is what decides.
  std::string_view outcome_text(Outcome verdict) const;
  // The first verdict that has this outcome; nullptr where the checksums alone have it, and where
  // there is no verdict.
  const Verdict* deciding_verdict() const;
  // Why the outcome is what it is, in words: of the remark, else of the deciding verdict, else of
  // the checksums, else the error.
  const std::string& because() const;
};

// So many cases that do not pass are pictured in a page, the first ones: errors as a histogram,
// misses as a map.
inline constexpr std::size_t kPicturedCases = 500;

struct GateReport {
  std::string golden_file, command;     // golden_file: as the command line has it, also several
  std::vector<std::string> files = {};  // all of them, where there are several
  std::vector<CaseReport> cases;        // an entry an output; those of a case stand together
  std::string version, simd_target;
  std::string commit = {};   // that it was built from; empty where that is not known
  std::string date = {};     // "2026-11-22 15:04:05 UTC"
  std::string host = {};     // where it ran
  std::string machine = {};  // that the command line names
  std::string shard = {};    // "3/16", of a run that judges a part of the cases; else empty
  std::string note;          // what a reader should know of all verdicts, such as an override
  std::vector<std::string> notes = {};           // further ones
  std::vector<std::string> without_golden = {};  // cases that have an output alone; not judged
};

// "worse", "disappeared", "known_failure", "unexpected_pass", "expired"; "" of none.
std::string_view remark_word(Remark remark);

// All reports, the worst by rank() first, else in their order.
std::vector<const CaseReport*> worst_first(const GateReport& report);

// The report of each case: of one with several outputs that of the worst, the first of these.
std::vector<const CaseReport*> worst_outputs(const GateReport& report);

// How many cases have each outcome, by its word (CaseReport::outcome_text()). A case of several
// outputs has the worst of theirs.
std::map<std::string_view, std::int64_t> outcome_counts(const GateReport& report);

// The worst outcome of all cases but known failures; not_comparable where there is no case.
Outcome report_outcome(const GateReport& report);

// Counts of the mutations that were applied and of those that were caught.
struct MutationScore {
  std::int64_t applied = 0, caught = 0;
  double fraction() const;
};
MutationScore mutation_score(const GateReport& report);

// 0 pass, 1 fail, 3 not comparable, 4 untrusted.
int exit_code(Outcome outcome);

}  // namespace assay
