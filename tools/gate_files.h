// Finds the files that a gate reads: golden results, the chosen cases, and the sources of their
// outputs.
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

namespace assay::inline v0_2::tools {

// --case and --exclude: the cases that match a glob of --case, or all cases without --case. Those
// that match a glob of --exclude are left out.
struct CaseFilter {
  std::vector<std::string> chosen, excluded;
  bool takes(std::string_view name) const;
  void add(Context& context, CLI::App* command);  // --case and --exclude
};

struct GateFileOptions {
  std::vector<std::string> golden, outputs;
  std::string recorded, machine;
  CaseFilter filter;
  SourceOptions source;

  // Adds GOLDEN and --outputs, with these descriptions.
  void add(Context& context, CLI::App* command, const std::string& of_golden,
           const std::string& of_outputs);
  // Throws Refusal unless either GOLDEN or --pairs is given.
  void check() const;
  // Returns GOLDEN, or the patterns of --pairs.
  const std::vector<std::string>& given() const { return golden.empty() ? source.pairs : golden; }
};

// The place of a source of cases: a path, or the two patterns of --pairs.
struct SourcePlace {
  std::string path;     // the path, or the pattern of the outputs for --pairs
  std::string pattern;  // the pattern of the golden results for --pairs, and otherwise empty
  Side side = Side::kGolden;
  // Returns the place as a word of a command line, after a blank: " a.h5". Returns an empty string
  // for pairs, because these are named by an option.
  std::string text() const;
  auto operator<=>(const SourcePlace&) const = default;
};

// For each place of outputs: the places that may have their golden results.
using GoldenPlaces = std::map<SourcePlace, std::vector<SourcePlace>>;

// The sources that one thread has open at a time.
class OpenSources {
 public:
  OpenSources(const GateFileOptions& options, std::shared_ptr<const GoldenPlaces> golden)
      : options_(&options), golden_(std::move(golden)) {}
  const OpenedCases& opened(const SourcePlace& place);
  const CaseSource& at(const SourcePlace& place) { return *opened(place).cases; }
  // Returns null if the place cannot be read.
  const CaseSource* at_if_readable(const SourcePlace& place);
  // Closes all sources except those at `places`.
  void keep(const std::vector<const SourcePlace*>& places);

 private:
  const GateFileOptions* options_;
  std::shared_ptr<const GoldenPlaces> golden_;
  std::map<SourcePlace, OpenedCases> opened_;
  std::set<SourcePlace> unreadable_;
};

// The sources of threads that work in parallel. Only one thread uses sources that it has taken,
// until it returns them. The next thread finds them open.
using SourcePool = Pool<OpenSources>;

struct GateFile {
  SourcePlace golden;
  // The names of the chosen cases, in natural order or in the source's own order.
  std::vector<std::string> names;
  // The files of outputs. If this is empty, the outputs are in the golden file or come from a
  // machine.
  std::vector<SourcePlace> outputs;
  // For each name, the index in `outputs` of the file that has the case's outputs. Empty if all of
  // them are in one file.
  std::vector<std::size_t> output_of;
  std::string producer;
  // The machine that computes the outputs. Null if they are recorded.
  const Machine* machine = nullptr;
  std::string options;  // the options that choose the producer, for a reproducer line
  // The reason why the file's cases have no outputs. Empty if they may have some.
  std::string missing;
  // The reason why the file could not be read, or has no case. The other files are judged.
  std::string error;
  bool unreadable = false;

  // Returns the place of a case's outputs, or null if a machine computes them.
  const SourcePlace* outputs_of(std::size_t name) const;
};

struct GateFiles {
  std::vector<GateFile> files;
  // Cases and files that have an output and no golden result.
  std::vector<std::string> without_golden = {};
  // Data that are in no case for another reason, with a sentence for each.
  std::vector<std::string> left_out = {};
  std::vector<std::string> notes = {};
  std::set<std::string> layouts = {};  // the layouts of the opened sources
  std::size_t cases = 0;               // the number of chosen cases
  // The open sources. If there is only one file, the source that was opened to find its cases stays
  // open in it, so that it is checked once.
  std::shared_ptr<SourcePool> sources = {};
};

// Finds the golden files and their outputs:
//
// - No --outputs: the outputs are in the golden files, or come from a machine.
// - As many --outputs as GOLDEN: the first belongs to the first, and so on. If both are folders (or
//   globs) of several files, files with the same path within them belong together.
// - One --outputs for several GOLDEN: outputs belong to golden results by the names of cases.
//
// Throws Refusal if it is ambiguous which files belong together, or whose outputs to
// use. Throws NoCaseError if nothing matches. `is_known` returns true if a --case that matches
// nothing is valid nevertheless, because its case has disappeared. The options must outlive the
// result.
GateFiles find_files(const GateFileOptions& options, int threads,
                     const std::function<bool(const std::string& glob)>& is_known);

// Returns CaseReport::source_name of a case that could not be judged. Returns an empty string if
// the source cannot say it, or is not open (null).
std::string source_name_if_other(const CaseSource* golden, const std::string& name);

// Throws Refusal for a --reference-implementation that no case has, or that is itself
// judged, even if no standard asks for one.
void check_reference_implementation(const std::string& reference_implementation,
                                    const GateFiles& found);

}  // namespace assay::tools
