#include "gate_files.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <mutex>
#include <set>
#include <span>
#include <utility>

#include "assay/base/parallel.h"
#include "assay/base/text.h"
#include "assay/base/words.h"
#include "assay/cases/source_names.h"
#include "assay/datasets/arrays/folder.h"
#include "assay/datasets/checks/file_error_text.h"
#include "assay/datasets/store/dataset_file.h"

namespace assay::inline v0_2::tools {
namespace {

namespace fs = std::filesystem;

bool matches_any(const std::vector<std::string>& globs, std::string_view name) {
  return std::ranges::any_of(globs,
                             [&](const std::string& glob) { return glob_match(glob, name); });
}

// The sources that GOLDEN or an --outputs stands for. within() returns the path of one of them
// below the folder that the argument names.
struct Argument {
  std::string text;
  std::vector<std::string> sources;
  std::string within(const std::string& source) const {
    std::string root = text;
    if (!is_folder(root)) {
      const std::size_t wild = root.find_first_of("*?");
      root = fs::path(root.substr(0, wild)).parent_path().string();
      if (root.empty()) root = ".";
    }
    return fs::path(source).lexically_relative(root).string();
  }
};

std::vector<Argument> arguments_of(const std::vector<std::string>& texts,
                                   const std::string& layout) {
  std::vector<Argument> arguments;
  for (const std::string& text : texts) arguments.push_back({text, find_sources({text}, layout)});
  return arguments;
}

// Returns the golden files, each with the files that may hold its outputs.
GateFiles paired_files(const GateFileOptions& o) {
  GateFiles found;
  if (!o.source.pairs.empty()) {
    found.files.emplace_back().golden = {o.source.pairs[0], o.source.pairs[1], Side::kGolden};
    return found;
  }
  const std::vector<Argument> golden = arguments_of(o.golden, o.source.layout);
  const std::vector<Argument> outputs = arguments_of(o.outputs, o.source.layout);
  if (outputs.size() > 1 && outputs.size() != golden.size()) {
    refuse(
        "there are {} GOLDEN and {} --outputs; give one --outputs for each GOLDEN, in the same "
        "order, or one for all",
        golden.size(), outputs.size());
  }
  std::set<std::string> seen;
  for (std::size_t i = 0; i < golden.size(); ++i) {
    const Argument* theirs = outputs.empty()       ? nullptr
                             : outputs.size() == 1 ? &outputs.front()
                                                   : &outputs[i];
    const bool by_path = theirs != nullptr && outputs.size() == golden.size() &&
                         golden[i].sources.size() > 1 && theirs->sources.size() > 1;
    std::set<std::string> partners;
    for (const std::string& path : golden[i].sources) {
      if (!seen.insert(fs::path(path).lexically_normal().string()).second) {
        refuse("{} is given twice", path);
      }
      GateFile& file = found.files.emplace_back();
      file.golden.path = path;
      if (theirs == nullptr) continue;
      if (!by_path) {
        for (const std::string& other : theirs->sources) {
          file.outputs.push_back({other, "", Side::kOutputs});
        }
        continue;
      }
      const std::string within = golden[i].within(path);
      for (const std::string& other : theirs->sources) {
        if (theirs->within(other) == within) file.outputs = {{other, "", Side::kOutputs}};
      }
      if (file.outputs.empty()) {
        file.missing = formatted("{} has no {}", theirs->text, within);
      } else {
        partners.insert(file.outputs.front().path);
      }
    }
    if (!by_path) continue;
    std::vector<std::string> others;
    for (const std::string& other : theirs->sources) {
      if (partners.count(other) == 0) others.push_back(other);
    }
    if (others.empty()) continue;
    const std::string reason =
        formatted("{} has no {}", golden[i].text, theirs->within(others.front()));
    found.notes.push_back(others.size() == 1
                              ? formatted("{} was not judged: {}", others.front(), reason)
                              : formatted("{} files of {} were not judged (first: {}): {}",
                                          others.size(), theirs->text, others.front(), reason));
  }
  return found;
}

// Returns a note that lists the golden results without an output. The reports of their cases say
// this, too.
std::string without_output_note(const std::vector<std::string>& golden) {
  constexpr std::size_t kMostNamed = 10;
  const std::size_t named = std::min(kMostNamed, golden.size());
  const bool one = golden.size() == 1;
  return formatted("{} no output, so {} not comparable: {}{}",
                   one ? "1 golden result has" : formatted("{} golden results have", golden.size()),
                   one ? "its case is" : "their cases are", joined(std::span(golden).first(named)),
                   named < golden.size() ? formatted(" and {} more", golden.size() - named) : "");
}

// Reads the names of the cases of all files, and chooses cases.
void choose_cases(const GateFileOptions& o, int threads,
                  const std::function<bool(const std::string& glob)>& is_known,
                  OpenSources& sources, GateFiles& found) {
  const bool alone = found.files.size() == 1;
  std::set<std::string> matched;  // of the globs
  std::set<std::string> noted;
  std::size_t all = 0;
  for (GateFile& file : found.files) {
    std::vector<std::string> names;
    std::map<std::string, std::size_t> place;  // each case's position in the source's own order
    try {
      const OpenedCases& opened = sources.opened(file.golden);
      found.layouts.insert(opened.layout);
      for (const std::string& note : opened.notes) {
        if (noted.insert(note).second) found.notes.push_back(note);
      }
      for (const std::string& path : opened.without_golden) found.without_golden.push_back(path);
      for (const std::string& what : opened.left_out) found.left_out.push_back(what);
      if (o.filter.chosen.empty() && o.filter.excluded.empty() && !opened.without_output.empty()) {
        found.notes.push_back(without_output_note(opened.without_output));
      }
      names = opened.cases->case_names_by(threads);
      for (const std::string& name : opened.order) place.emplace(name, place.size());
    } catch (const NoCaseError& e) {
      if (alone) throw;
      file.error = e.what();
    } catch (const FileError& e) {
      if (alone) throw;
      file.error = e.what();
      file.unreadable = true;
    }
    all += names.size();
    for (std::string& name : names) {
      for (const auto* globs : {&o.filter.chosen, &o.filter.excluded}) {
        for (const std::string& glob : *globs) {
          if (matched.count(glob) == 0 && glob_match(glob, name)) matched.insert(glob);
        }
      }
      if (o.filter.takes(name)) file.names.push_back(std::move(name));
    }
    if (place.empty()) {
      parallel_sort(file.names, threads, natural_less);
    } else {
      std::ranges::sort(file.names,
                        [&](const auto& a, const auto& b) { return place.at(a) < place.at(b); });
    }
    found.cases += file.names.size();
    if (!alone) sources.keep({});
  }
  for (const std::string& glob : o.filter.chosen) {
    if (matched.count(glob) != 0 || is_known(glob)) continue;
    // This call throws, because no case matches. Its error suggests similar names.
    if (alone) (void)sources.opened(found.files.front().golden).cases->case_names(glob);
    throw file_error<NoCaseError>(joined(o.golden), "",
                                  "no case matches '{}'; the {} files have {} cases", glob,
                                  found.files.size(), all);
  }
  std::vector<std::string> unmatched;
  for (const std::string& glob : o.filter.excluded) {
    if (matched.count(glob) == 0) unmatched.push_back(glob);
  }
  if (!unmatched.empty()) {
    const std::string first = shell_word(unmatched.front());
    found.notes.push_back(
        unmatched.size() == 1
            ? formatted("--exclude {}: no case matches it", first)
            : formatted("{} --exclude match no case (first: {})", unmatched.size(), first));
  }
  const bool none_known = std::ranges::none_of(o.filter.chosen, is_known);
  if (found.cases == 0 && all > 0 && none_known) {
    throw file_error<NoCaseError>(joined(o.golden), "", "--exclude leaves out all of its {} cases",
                                  all);
  }
}

// Finds the file of outputs of each case, if there are several, or if several golden files share
// them.
void find_outputs(OpenSources& sources, GateFiles& found) {
  // For golden files that share files of outputs: the golden file in which each case name was
  // found.
  std::map<std::string, std::string> owners;
  std::map<SourcePlace, int> users;
  for (const GateFile& file : found.files) {
    for (const SourcePlace& place : file.outputs) ++users[place];
  }
  for (GateFile& file : found.files) {
    if (file.outputs.empty()) continue;
    if (users[file.outputs.front()] > 1) {
      for (const std::string& name : file.names) {
        const auto [owner, fresh] = owners.emplace(name, file.golden.path);
        if (fresh) continue;
        refuse(
            "case '{}' is in {} and in {}, but both share one --outputs; give one --outputs for "
            "each GOLDEN, in the same order",
            name, owner->second, file.golden.path);
      }
    }
    if (file.outputs.size() == 1) continue;
    for (const std::string& name : file.names) {
      std::size_t place = file.outputs.size(), unreadable = 0;
      for (std::size_t i = 0; i < file.outputs.size(); ++i) {
        if (const CaseSource* at = sources.at_if_readable(file.outputs[i]); at == nullptr) {
          unreadable = i;
          continue;
        } else if (!at->has_case(name)) {
          continue;
        }
        if (place < file.outputs.size()) {
          refuse("case '{}' has outputs in {} and in {}; give only one of the files", name,
                 file.outputs[place].path, file.outputs[i].path);
        }
        place = i;
      }
      // If no file of outputs has the case, the case is judged nevertheless. Its report then says
      // so, or has the error of a file that cannot be read.
      file.output_of.push_back(place == file.outputs.size() ? unreadable : place);
    }
  }
}

struct ProducersSeen {
  bool any_case = false;    // true if a source has one of the cases
  bool unreadable = false;  // true if a source could not be read
  std::set<std::string> producers = {};
};

using SourcePlaces = std::array<const SourcePlace*, 2>;  // null: none

// Finds the producers of the outputs of these cases, in the places that `places_of` returns for the
// index of a case. If `wanted` is not empty, the search stops at the first case that has this
// producer. Errors in later cases are reported when these are judged.
ProducersSeen look_for_producers(SourcePool& pool, int threads,
                                 const std::vector<std::string>& names,
                                 const std::function<SourcePlaces(std::size_t)>& places_of,
                                 const std::string& wanted) {
  // The number of names in a thread's part. Fewer names are read faster than a thread starts.
  constexpr std::size_t kPart = 256;
  const bool in_order = !wanted.empty() || !hdf5_is_threadsafe();
  ProducersSeen all;
  std::mutex mutex;
  const auto is_enough = [&] {
    const std::lock_guard lock(mutex);
    return all.producers.count(wanted) != 0;
  };
  const auto parts = static_cast<std::int64_t>((names.size() + kPart - 1) / kPart);
  parallel_for(parts, in_order ? 1 : threads, [&](std::int64_t part) {
    const SourcePool::Taken sources = pool.take();
    const std::size_t begin = static_cast<std::size_t>(part) * kPart;
    const std::size_t end = std::min(begin + kPart, names.size());
    for (std::size_t i = begin; i < end && !is_enough(); ++i) {
      for (const SourcePlace* place : places_of(i)) {
        if (place == nullptr) continue;
        const CaseSource* const source = sources->at_if_readable(*place);
        if (source != nullptr && !source->has_case(names[i])) continue;
        std::vector<std::string> producers;
        if (source != nullptr) producers = source->producers_of(names[i]);
        const std::lock_guard lock(mutex);
        (source != nullptr ? all.any_case : all.unreadable) = true;
        all.producers.insert(producers.begin(), producers.end());
      }
    }
  });
  return all;
}

// Chooses the producer of a file's cases, and sets producer, machine and options. Returns the
// producers that were seen.
std::vector<std::string> choose_producer(const GateFileOptions& o, SourcePool& pool, int threads,
                                         bool alone, GateFile& file) {
  if (o.outputs.empty() && o.recorded.empty() && !o.machine.empty()) {
    file.machine = &machine_named(o.machine);
    file.producer = file.machine->name;
    file.options = option_text("--machine", o.machine);
    return {};
  }
  const std::string& asked = o.recorded.empty() ? o.machine : o.recorded;
  std::string path = file.golden.path;
  if (!file.outputs.empty()) path = joined(names_of(file.outputs, &SourcePlace::path));
  ProducersSeen seen;
  if (file.missing.empty()) {
    seen = look_for_producers(
        pool, threads, file.names,
        [&](std::size_t name) { return SourcePlaces{file.outputs_of(name)}; }, asked);
  }
  std::vector<std::string> producers(seen.producers.begin(), seen.producers.end());
  if (!seen.any_case && seen.unreadable) {
    // The report of each case says why its outputs cannot be read.
    if (alone) (void)pool.take()->at(*file.outputs_of(0));
    file.producer = asked;
    return {};
  }
  if (!seen.any_case && file.missing.empty() && !file.names.empty()) {
    const std::string why =
        formatted("has {} of {}; both need the same names, or --pairs",
                  file.names.size() == 1 ? std::string("not the case")
                                         : formatted("none of the {} cases", file.names.size()),
                  file.golden.path);
    if (alone) throw NoCaseError(path, "", why);
    file.missing = formatted("{}: {}", path, why);
  }
  if (!file.missing.empty() || file.names.empty()) {
    file.producer = asked;
  } else if (!asked.empty()) {
    if (!contains(producers, asked) && alone) {
      const std::string hint = o.recorded.empty() ? "" : did_you_mean_aside(asked, producers);
      std::string text =
          formatted("{} has no outputs of '{}'{}; it has {}", path, asked, hint, joined(producers));
      if (o.recorded.empty() && !producers.empty()) {
        text +=
            formatted("; to judge these as results of machine {}, give --recorded {} --machine {}",
                      asked, shell_word(producers.front()), shell_word(asked));
      }
      refuse(text);
    }
    file.producer = asked;
  } else {
    if (!file.outputs.empty() && producers.size() > 1) {
      // A file that `emulate` wrote has the earlier recorded outputs, too. The new outputs are
      // chosen.
      const auto old = look_for_producers(
          pool, threads, file.names, [&](std::size_t) { return SourcePlaces{&file.golden}; }, "");
      std::vector<std::string> added;
      for (const std::string& p : producers) {
        if (old.producers.count(p) == 0) added.push_back(p);
      }
      if (added.size() == 1) producers = added;
    }
    if (producers.empty() && !alone) {
      file.missing = formatted("{} has no recorded outputs", path);
    } else if (producers.empty()) {
      refuse("{} has no recorded outputs for these cases; give --outputs FILE or --machine M",
             path);
    }
    if (producers.size() > 1) {
      refuse("{} has outputs of several producers; choose one with --recorded: {}", path,
             joined(producers));
    }
    if (!producers.empty()) file.producer = producers[0];
  }
  file.options = option_text("--recorded", file.producer) + option_text("--machine", o.machine);
  return producers;
}

// Collects the notes from opening the files of outputs, and their cases that match the filter and
// have an output of the producer but no golden result.
void look_at_outputs(const GateFileOptions& o, OpenSources& sources, GateFiles& found) {
  std::map<SourcePlace, std::vector<const GateFile*>> users;
  for (const GateFile& file : found.files) {
    if (!file.error.empty()) continue;
    for (const SourcePlace& place : file.outputs) users[place].push_back(&file);
  }
  for (const auto& [place, files] : users) {
    // The reports of the cases say why a file of outputs cannot be read.
    if (sources.at_if_readable(place) == nullptr) continue;
    const OpenedCases& opened = sources.opened(place);
    const CaseSource& source = *opened.cases;
    found.layouts.insert(opened.layout);
    for (const std::string& note : opened.notes) {
      if (!contains(found.notes, note)) found.notes.push_back(note);
    }
    std::set<std::string_view> golden;
    for (const GateFile* file : files) golden.insert(file->names.begin(), file->names.end());
    for (const std::string& name : source.case_names()) {
      if (!o.filter.takes(name)) continue;
      if (golden.count(name) != 0) continue;
      bool has_output = false;
      const std::vector<std::string> producers = source.producers_of(name);
      for (const GateFile* file : files) {
        has_output = has_output || contains(producers, file->producer);
      }
      if (has_output) found.without_golden.push_back(name);
    }
  }
}

}  // namespace

void CaseFilter::add(Context& context, CLI::App* command) {
  context
      .add_option(command, "--case", chosen,
                  "Only judge cases whose name matches this glob. Can be repeated.")
      ->allow_extra_args(false);
  context
      .add_option(command, "--exclude", excluded,
                  "Leave out cases whose name matches this glob. Can be repeated.")
      ->allow_extra_args(false);
}

bool CaseFilter::takes(std::string_view name) const {
  return (chosen.empty() || matches_any(chosen, name)) && !matches_any(excluded, name);
}

void GateFileOptions::add(Context& context, CLI::App* command, const std::string& of_golden,
                          const std::string& of_outputs) {
  for (CLI::Option* option :
       {context.add_option(command, "GOLDEN", golden, of_golden),
        context.add_option(command, "--outputs", outputs, of_outputs)->allow_extra_args(false)}) {
    context.files.input(option, source_reads)->type_name("FILE");
  }
}

void GateFileOptions::check() const {
  if (golden.empty() && source.pairs.empty()) {
    refuse("GOLDEN is required, or --pairs OUTPUTS GOLDEN");
  }
  if (!golden.empty() && !source.pairs.empty()) refuse("give GOLDEN or --pairs, not both");
}

std::string SourcePlace::text() const { return pattern.empty() ? " " + shell_word(path) : ""; }

const OpenedCases& OpenSources::opened(const SourcePlace& place) {
  const auto found = opened_.find(place);
  if (found != opened_.end()) return found->second;
  OpenOptions options = options_->source.request(place.side);
  options.producer = options_->recorded;
  if (const auto golden = golden_->find(place); golden != golden_->end()) {
    options.golden_sources = [this, &golden = golden->second] {
      std::vector<const CaseSource*> sources;
      for (const SourcePlace& there : golden) {
        if (const CaseSource* source = at_if_readable(there)) sources.push_back(source);
      }
      return sources;
    };
  }
  return opened_
      .emplace(place, place.pattern.empty() ? open_cases(place.path, options)
                                            : open_pairs(place.path, place.pattern, options))
      .first->second;
}

const CaseSource* OpenSources::at_if_readable(const SourcePlace& place) {
  if (unreadable_.count(place) > 0) return nullptr;
  try {
    return &at(place);
  } catch (const FileError&) {
    unreadable_.insert(place);
    return nullptr;
  }
}

void OpenSources::keep(const std::vector<const SourcePlace*>& places) {
  for (auto at = opened_.begin(); at != opened_.end();) {
    const bool kept = std::ranges::any_of(
        places, [&](const SourcePlace* place) { return place != nullptr && *place == at->first; });
    at = kept ? std::next(at) : opened_.erase(at);
  }
}

const SourcePlace* GateFile::outputs_of(std::size_t name) const {
  if (machine != nullptr) return nullptr;
  if (outputs.empty()) return &golden;
  return &outputs[output_of.empty() ? 0 : output_of[name]];
}

GateFiles find_files(const GateFileOptions& options, int threads,
                     const std::function<bool(const std::string& glob)>& is_known) {
  GateFiles found = paired_files(options);
  const bool alone = found.files.size() == 1;
  const auto golden = std::make_shared<GoldenPlaces>();
  for (const GateFile& file : found.files) {
    for (const SourcePlace& place : file.outputs) (*golden)[place].push_back(file.golden);
  }
  found.sources = std::make_shared<SourcePool>(
      [&options, golden] { return std::make_unique<OpenSources>(options, golden); });
  choose_cases(options, threads, is_known, *found.sources->take(), found);
  find_outputs(*found.sources->take(), found);
  bool any_outputs = false, has_asked = false;
  const std::string& asked = options.recorded.empty() ? options.machine : options.recorded;
  std::set<std::string> producers;
  for (GateFile& file : found.files) {
    if (!file.error.empty()) continue;
    const std::vector<std::string> theirs =
        choose_producer(options, *found.sources, threads, alone, file);
    producers.insert(theirs.begin(), theirs.end());
    any_outputs = any_outputs || file.machine != nullptr || file.missing.empty();
    has_asked = has_asked || asked.empty() || file.machine != nullptr || contains(theirs, asked);
    if (!alone) found.sources->close();
  }
  if (!alone && found.cases > 0 && !any_outputs) {
    refuse("none of the {} files has outputs for its cases; give --outputs FILE or --machine M",
           found.files.size());
  }
  if (!alone && found.cases > 0 && !has_asked) {
    const std::vector<std::string> known(producers.begin(), producers.end());
    refuse("none of the {} files has outputs of '{}'{}; they have {}", found.files.size(), asked,
           did_you_mean_aside(asked, known), joined(known));
  }
  if (!options.outputs.empty()) look_at_outputs(options, *found.sources->take(), found);
  return found;
}

std::string source_name_if_other(const CaseSource* golden, const std::string& name) {
  try {
    if (golden == nullptr) return "";
    std::string source_name = source_name_of(name, golden->attributes_of(name));
    return source_name == name ? "" : source_name;
  } catch (const FileError&) {
    return "";
  }
}

void check_reference_implementation(const std::string& reference_implementation,
                                    const GateFiles& found) {
  std::set<std::string> known;
  for (const GateFile& file : found.files) {
    if (reference_implementation == file.producer) {
      refuse(
          "--reference-implementation {}: this producer is judged, so it cannot be its own "
          "reference",
          reference_implementation);
    }
    const auto places_of = [&](std::size_t name) {
      return SourcePlaces{&file.golden, file.missing.empty() ? file.outputs_of(name) : nullptr};
    };
    known.merge(
        look_for_producers(*found.sources, 1, file.names, places_of, reference_implementation)
            .producers);
    if (known.count(reference_implementation) != 0) return;
    if (found.files.size() > 1) found.sources->close();
  }
  refuse("--reference-implementation: {}",
         unknown_word("producer", reference_implementation,
                      std::vector<std::string>(known.begin(), known.end())));
}

}  // namespace assay::tools
