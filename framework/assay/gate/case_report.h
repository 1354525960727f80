// The gate's results: for one case, and for all cases of a golden file.
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

// The gate's outcome on a corrupted output.
struct MutationResult {
  std::string name;
  bool applied = false;  // false: the case does not allow it, or it would change no bit
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
  kWorse,           // it passes, but is worse than it was
  kDisappeared,     // the baseline has the case, but the report does not
  kKnownFailure,    // it fails, and the list excuses it
  kUnexpectedPass,  // it is listed as a failure, but passes
  kExpired,         // it is listed as a failure, but no longer excused
};

// The reason why an output cannot be compared with its case, if the user can fix it.
enum class Lack : std::uint8_t {
  kNothing,
  kGoldenResult,  // there is no golden result, and one can be computed from the inputs
  kOutputDtype,   // the output has another dtype than the case, which does not state its own
};

// The gate's result for one output of one case.
struct CaseReport {
  std::string file = {};                  // the golden file, if the gate reads several
  std::string name, op, dtype, producer;  // producer: the source of the output
  std::string output = {};                // the output's name if the case has several outputs
  // The name that the user gave the case, if the characters of a case name do not allow it. Empty
  // otherwise.
  std::string source_name = {};
  Shape shape;
  std::vector<std::string> tags;
  std::vector<Verdict> verdicts;                 // one for each standard
  std::optional<AbftVerdict> abft;               // the verdict of the checksums, if requested
  std::optional<SampledRowsReport> sample = {};  // the rows that were judged, unless all were
  std::vector<MutationResult> mutations = {};    // for an output that passed, if requested
  std::string error;  // why the case could not be read; if set, there are no verdicts
  Lack lack = Lack::kNothing;
  double seconds = 0;
  std::string reproduce;  // a command line that judges this case again
  Remark remark = Remark::kNone;
  std::string remark_text = {};  // the reason of the remark, as text

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
  // True if the gate passes with this case.
  bool passes() const;
  // Returns how bad the result is; smaller is worse. The order is: cases that could not be read,
  // failures, cases that are not comparable, untrusted ones, known failures, passes.
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

struct GateReport {
  std::string golden_file, command;  // golden_file: as the command line gives it, possibly several
  std::vector<std::string> files = {};  // all golden files, if there are several
  std::vector<CaseReport> cases;        // one for each output; those of one case are adjacent
  std::string version, simd_target;
  std::string commit = {};   // the commit of the build, or empty if not known
  std::string date = {};     // "2026-11-22 15:04:05 UTC"
  std::string host = {};     // the host on which the gate ran
  std::string machine = {};  // the machine that the command line names
  std::string shard = {};    // "3/16" if the run judges only a part of the cases, or empty
  std::string note;          // a note on all verdicts, such as an override
  std::vector<std::string> notes = {};  // more such notes
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
MutationScore mutation_score(const GateReport& report);

// Returns the exit code for an outcome: 0 for pass, 1 for fail, 3 for not comparable, 4 for
// untrusted.
int exit_code(Outcome outcome);

}  // namespace assay
