// The gate's results: for one case, and for all cases of a golden file.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "assay/abft/case_check.h"
#include "assay/abft/checker.h"
#include "assay/judge/verdict.h"

namespace assay::inline v0_2 {

// The gate's outcome on a corrupted output.
struct MutationResult {
  std::string name;
  // False if the case does not allow the mutation, or if it would change no bit.
  bool applied = false;
  Outcome elementwise = Outcome::kPass;
  std::optional<Outcome> abft;  // the outcome of the checksums, if requested
  // True if either check did not pass the output, so that the gate would have stopped it.
  bool caught() const { return elementwise != Outcome::kPass || (abft && *abft != Outcome::kPass); }
};

// The sample of rows that was judged, for an output whose golden result was computed only for these
// rows.
struct SampledRowsReport {
  std::int64_t rows = 0, of = 0;
  std::uint64_t seed = 0;
  // The smallest share of wrong rows that the sample detects with 95 percent probability, which
  // means that at least one wrong row is in the sample.
  double seen_share = 0;
};

// A remark on a case, in addition to its verdicts. It comes from a baseline (gate/baseline.h) or a
// list of known failures (gate/known_failures.h).
enum class Remark : std::uint8_t {
  kNone,
  kWorse,           // the case passes, but its errors are larger than in the baseline
  kDisappeared,     // the baseline has the case, but the report does not
  kKnownFailure,    // the case fails, and the list of known failures excuses it
  kUnexpectedPass,  // the case is listed as a known failure, but passes
  kExpired,         // the case is listed as a known failure, but the last day of the excuse is over
};

// The reason why an output cannot be compared with its case, if the user can fix it.
enum class Lack : std::uint8_t {
  kNothing,
  kGoldenResult,  // the case has no golden result, but one can be computed from its inputs
  // The output's dtype is not the one that the case assumes, because the case does not state it.
  kOutputDtype,
};

// The gate's result for one output of one case.
struct CaseReport {
  std::string file = {};  // the golden file, if the gate reads several
  // `producer` made the output.
  std::string name, op, dtype, producer;
  std::string output = {};  // the output's name if the case has several outputs
  // The name that the user gave the case, if the characters of a case name do not allow it. Empty
  // otherwise.
  std::string source_name = {};
  Shape shape;
  std::vector<std::string> tags;
  std::vector<Verdict> verdicts;                 // one verdict for each standard
  std::optional<AbftVerdict> abft;               // the verdict of the checksums, if requested
  std::optional<SampledRowsReport> sample = {};  // set if only a sample of rows was judged
  // The gate's outcomes on corrupted copies of the output. Filled only if requested and if the
  // output passed.
  std::vector<MutationResult> mutations = {};
  // The reason why the case could not be read. If it is set, there are no verdicts.
  std::string error;
  Lack lack = Lack::kNothing;
  double seconds = 0;
  std::string reproduce;  // a command line that judges this case again
  Remark remark = Remark::kNone;
  std::string remark_text = {};  // the reason for the remark

  // Returns "case", or "case:output" for a case with several outputs.
  std::string title() const;
  // Returns the name by which the user knows the case: its source name if it has one, and its name
  // otherwise.
  const std::string& given_name() const { return source_name.empty() ? name : source_name; }
  // Returns the worst outcome of all verdicts, including that of the checksums. A remark other than
  // kKnownFailure makes it a failure.
  Outcome outcome() const;
  // Returns the worst outcome of all verdicts, including that of the checksums, without the remark.
  Outcome judged() const;
  // True if the case passes, or is a known failure that is excused.
  bool passes() const;
  // Returns how bad the result is, as a number that is smaller for worse results. The order is:
  // cases that could not be read, failures, cases that are not comparable, untrusted ones, known
  // failures, passes.
  int rank() const;
  // Returns the outcome in one word: "error" if the case could not be read, the word of the remark
  // if there is one, and otherwise the word of outcome().
  std::string_view outcome_text() const;
  // Returns the word for the outcome of one of its verdicts. That is the word of the remark if
  // there is one and this outcome decides.
  std::string_view outcome_text(Outcome verdict) const;
  // Returns the first verdict that has the outcome judged(). Returns nullptr if only the checksums
  // have it, or if there is no verdict.
  const Verdict* deciding_verdict() const;
  // Returns the reason of the outcome, as text. It is the first of these that exists: the error,
  // the text of the remark, the reason of the deciding verdict, the reason of the checksums.
  const std::string& because() const;
};

// The largest number of cases that a page shows with pictures: the first ones that do not pass. The
// pictures are a histogram of the errors and a map of the mismatches.
inline constexpr std::size_t kPicturedCases = 500;

// The gate's results for all cases of a run, with the facts about the run that a reader needs.
struct GateReport {
  // `golden_file` is the argument of the command line, which may name several files.
  std::string golden_file, command;
  std::vector<std::string> files = {};  // the paths of all golden files if there are several
  // One report for each output. Those of one case are adjacent.
  std::vector<CaseReport> cases;
  std::string version, simd_target;
  std::string commit = {};   // the commit of the build, or empty if not known
  std::string date = {};     // "2026-11-22 15:04:05 UTC"
  std::string host = {};     // the host on which the gate ran
  std::string machine = {};  // the machine that the command line names
  std::string shard = {};    // "3/16" if the run judges only a part of the cases, or empty
  std::string note;          // a note on all verdicts, such as an override
  std::vector<std::string> notes = {};  // further notes on all verdicts
  // Cases that have only a recorded output, which are not judged.
  std::vector<std::string> without_golden = {};
};

// Returns "worse", "disappeared", "known_failure", "unexpected_pass" or "expired". Returns an empty
// string for kNone.
std::string_view remark_word(Remark remark);

// Returns all reports, sorted by rank() with the worst first. Reports of equal rank keep their
// order.
std::vector<const CaseReport*> worst_first(const GateReport& report);

// Returns one report for each case. For a case with several outputs, that is the first one with the
// worst rank().
std::vector<const CaseReport*> worst_outputs(const GateReport& report);

// Returns the number of cases by the word of their outcome (CaseReport::outcome_text()). A case
// with several outputs has the worst of their outcomes.
std::map<std::string_view, std::int64_t> outcome_counts(const GateReport& report);

// Returns the worst outcome of all cases except known failures. Returns not_comparable if there is
// no case.
Outcome report_outcome(const GateReport& report);

// The number of mutations that were applied, and the number of those that were caught.
struct MutationScore {
  std::int64_t applied = 0, caught = 0;
  double fraction() const;
};
// Counts the mutations of all outputs in the report.
MutationScore mutation_score(const GateReport& report);

// Returns the exit code for an outcome: 0 for pass, 1 for fail, 3 for not comparable, 4 for
// untrusted.
int exit_code(Outcome outcome);

}  // namespace assay
