// Which files a gate reads: golden results, the cases that were chosen of them, and where their
// outputs come from.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "assay/base/pool.h"
#include "assay/datasets/layouts/open_cases.h"
#include "assay/datasets/runner/file_gate.h"
#include "sources.h"
#include "tools.h"

namespace assay::tools {

// --case and --exclude: the cases that match one of the first, and none of the second.
struct CaseFilter {
  std::vector<std::string> chosen, excluded;
  bool takes(std::string_view name) const;
  void add(CLI::App* command);  // --case and --exclude
};

struct GateFileOptions {
  std::vector<std::string> golden, outputs;
  std::string recorded, machine;
  CaseFilter filter;
  SourceOptions source;
};

// What one thread opens.
struct SourcePlace {
  std::string path;     // of pairs: the pattern of the outputs
  std::string pattern;  // of pairs: that of the golden results; else empty
  Side side = Side::kGolden;
  // As a command line has it, after a blank: " a.h5"; nothing of pairs, which an option names.
  std::string text() const;
  auto operator<=>(const SourcePlace&) const = default;
};

// Of places of outputs: those that may have their golden results.
using GoldenPlaces = std::map<SourcePlace, std::vector<SourcePlace>>;

// The sources that one thread has open at a time.
class OpenSources {
 public:
  OpenSources(const GateFileOptions& options, std::shared_ptr<const GoldenPlaces> golden)
      : options_(&options), golden_(std::move(golden)) {}
  const OpenedCases& opened(const SourcePlace& place);
  const CaseSource& at(const SourcePlace& place) { return *opened(place).cases; }
  // Null if the place cannot be read.
  const CaseSource* at_if_readable(const SourcePlace& place);
  // Closes all but these.
  void keep(const std::vector<const SourcePlace*>& places);

 private:
  const GateFileOptions* options_;
  std::shared_ptr<const GoldenPlaces> golden_;
  std::map<SourcePlace, OpenedCases> opened_;
  std::set<SourcePlace> unreadable_;
};

// The sources of threads that work side by side. Who takes some has them alone until they go back;
// the next one finds them open.
using SourcePool = Pool<OpenSources>;

struct GateFile {
  SourcePlace golden;
  std::vector<std::string> names;  // chosen, in natural order, or in the source's own
  std::vector<SourcePlace>
      outputs;  // files of outputs; empty: the golden file's own, or a machine's
  std::vector<std::size_t> output_of;  // by name, which of them; empty: the only one
  std::string producer;
  const Machine* machine = nullptr;  // that computes the outputs now; null: they are recorded
  std::string options;               // that choose the producer, for a reproducer line
  std::string missing;               // why no case of it has outputs; empty: they may
  // Why the file could not be read, or has no case; it is one of several, and the others can.
  std::string error;
  bool unreadable = false;

  // Where the outputs of a case lie; null: with a machine.
  const SourcePlace* outputs_of(std::size_t name) const;
};

struct GateFiles {
  std::vector<GateFile> files;
  std::vector<std::string> without_golden = {};  // cases or files that have an output alone
  std::vector<std::string> left_out = {};  // what is in no case for another reason, in sentences
  std::vector<std::string> notes = {};
  std::set<std::string> layouts = {};  // of what was opened
  std::size_t cases = 0;               // that were chosen
  // Of a file alone what was opened to find its cases is open there, so that it is looked at once.
  std::shared_ptr<SourcePool> sources = {};
};

// Finds the golden files and their outputs:
//
// - No --outputs: those that the golden files hold, or a machine's.
// - As many --outputs as GOLDEN: the first belongs to the first, and so on. Where both are folders
//   (or globs) of several files, files belong together that have the same path within them.
// - One --outputs for several GOLDEN: outputs belong to golden results by the names of cases.
//
// Throws std::invalid_argument where it would have to be guessed which belong together, or whose
// outputs are meant; NoCaseError where nothing matches. `is_known`: whether a --case that matches
// nothing is right all the same, for what it names has disappeared. The options must outlive what
// is found.
GateFiles find_files(const GateFileOptions& options, int threads,
                     const std::function<bool(const std::string& glob)>& is_known);

// CaseReport::source_name of a case that could not be judged. Empty if the source cannot say it, or
// is not open (null).
std::string source_name_if_other(const CaseSource* golden, const std::string& name);

// Refuses a --benchmark that no case has, or that is judged itself, by std::invalid_argument; also
// where no standard asks for one.
void check_benchmark(const std::string& benchmark, const GateFiles& found);

}  // namespace assay::tools
