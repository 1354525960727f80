// assay gate: judges outputs against golden results.
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>

#include "assay/base/clock.h"
#include "assay/base/file.h"
#include "assay/base/file_stream.h"
#include "assay/base/parallel.h"
#include "assay/base/text.h"
#include "assay/base/words.h"
#include "assay/datasets/store/dataset_file.h"
#include "assay/report.h"
#include "assay/simd/targets.h"
#include "assay/wire/baseline.h"
#include "assay/wire/known_failures_file.h"
#include "commit.h"
#include "earlier_results.h"
#include "gate_files.h"
#include "gate_lacks.h"
#include "gate_options.h"
#include "memory_budget.h"
#include "saved_failures.h"
#include "shard.h"
#include "sources.h"
#include "status_line.h"
#include "tools.h"

namespace assay::inline v0_2::tools {
namespace {

// If the cases of a file are on average larger than this, they are judged one after the other, each
// by all threads, because several at once would need several times the memory. Large cases among
// small ones need a share of a memory budget.
constexpr std::uintmax_t kLargeCase = std::uintmax_t{32} << 20;
// If a file has more than kManyCases cases that are on average smaller than kSmallCase, the sizes
// of these cases are not read. For the time left, each is an equal part of the file.
constexpr std::size_t kManyCases = 4096;
constexpr std::uintmax_t kSmallCase = std::uintmax_t{256} << 10;

JsonMetrics metrics_of(const GateOptions& o) {
  return o.histograms ? JsonMetrics::kAll : JsonMetrics::kMain;
}

void write_reports(const GateOptions& o, const GateReport& report) {
  if (!o.json.empty() && o.json != "-") {
    FileStream out(o.json);
    write_gate_json(
        report, [&](std::string_view text) { out.write(text); }, o.threads, metrics_of(o));
    out.commit();
  }
  if (!o.junit.empty()) write_file(o.junit, gate_junit(report));
  if (!o.html.empty()) write_file(o.html, gate_html(report));
  if (!o.csv.empty()) write_file(o.csv, verdicts_csv(report, o.files.source.table));
}

// Returns the names of those attributes of a case that the command line overrides. `bound` is true
// if the command line names another bound. Limits on mismatches are included, because they loosen
// any bound that the case has.
std::vector<std::string> overridden_by(const ToleranceOptions& tolerance, bool bound) {
  std::vector<std::string> names;
  if (bound || tolerance.equal_nan) names.emplace_back("equal_nan");
  if (bound || !tolerance.infinity.empty()) names.emplace_back("infinity");
  if (bound || tolerance.max_mismatches || tolerance.max_mismatch_fraction || tolerance.max_blind) {
    names.insert(names.end(), {"rtol", "atol", "standard", "max_mismatches",
                               "max_mismatch_fraction", "max_blind"});
  }
  return names;
}

// Returns true if the command line overrides attributes of the case.
bool is_overridden(const CaseSource& golden, const CaseReport& c,
                   const ToleranceOptions& tolerance) {
  std::optional<std::map<std::string, Attribute>> attributes;
  return std::ranges::any_of(c.verdicts, [&](const Verdict& v) {
    const std::vector<std::string> names = overridden_by(tolerance, v.bound.origin == "command");
    if (names.empty()) return false;
    if (!attributes) {
      attributes = golden.attributes_of(c.name);
      if (!c.output.empty()) attributes->merge(golden.info(c.name).outputs.at(c.output).attributes);
    }
    return std::ranges::any_of(
        names, [&](const std::string& name) { return attributes->count(name) != 0; });
  });
}

CaseReport unjudged(const GateFile& file, const std::string& name, std::string because) {
  CaseReport report;
  report.name = name;
  report.producer = file.producer;
  report.verdicts = {not_comparable(std::move(because))};
  return report;
}

// Judges all cases of all files on several threads. The result does not depend on them.
class Gate {
 public:
  Gate(const GateOptions& o, const GateRequest& request, const Shard& shard, const Context& context,
       const GateFiles& found)
      : o_(o), request_(request), context_(context), found_(found), line_(context.quiet > 0, 0) {
    if (!o.save_failures.empty()) failures_.emplace(o.save_failures, found);
    for (const GateFile& file : found.files) bytes_of_files_.push_back(bytes_of(file));
    // Shard i of n has every n-th case, beginning with case i.
    const auto n = static_cast<std::size_t>(shard.count);
    std::size_t number = n - static_cast<std::size_t>(shard.index - 1);
    for (std::size_t i = 0; i < found.files.size(); ++i) {
      for (std::size_t k = 0; k < found.files[i].names.size(); ++k, ++number) {
        if (number % n == 0) jobs_.push_back({i, k});
      }
    }
    slots_.resize(jobs_.size());
  }

  // Returns one report for each output, in the order of files and names.
  std::vector<CaseReport> run() {
    // Small cases are judged in parallel. Large ones are judged one after the other, in parts.
    const int threads = o_.threads > 0 ? o_.threads : default_threads();
    if (line_.is_shown()) weigh();
    for (std::size_t begin = 0; begin < jobs_.size();) {
      std::size_t end = begin;
      const bool large = is_large(jobs_[begin].file);
      while (end < jobs_.size() && is_large(jobs_[end].file) == large) ++end;
      side_by_side_ = large || !hdf5_is_threadsafe() ? 1 : threads;
      inner_threads_ = side_by_side_ > 1 ? 1 : threads;
      parallel_for(static_cast<std::int64_t>(end - begin), side_by_side_,
                   [&](std::int64_t i) { judge(begin + static_cast<std::size_t>(i)); });
      begin = end;
    }
    line_.end();
    std::vector<CaseReport> reports;
    // Each file may be broken, which takes a report that belongs to no case.
    std::size_t count = found_.files.size();
    for (const Slot& slot : slots_) count += slot.reports.size();
    reports.reserve(count);
    std::size_t job = 0;
    for (std::size_t i = 0; i < found_.files.size(); ++i) {
      if (!found_.files[i].error.empty()) reports.push_back(broken(found_.files[i]));
      for (; job < jobs_.size() && jobs_[job].file == i; ++job) {
        overridden_ += slots_[job].overridden ? 1 : 0;
        for (CaseReport& c : slots_[job].reports) {
          if (!c.error.empty()) errors_.add(c.error);
          reports.push_back(std::move(c));
        }
      }
    }
    errors_.end("--json and --html list all of them.");
    return reports;
  }

  // Returns the number of cases whose own bounds the command line overrides.
  std::int64_t overridden() const { return overridden_; }
  bool save_failures() { return failures_ && failures_->commit(context_); }

 private:
  struct Job {
    std::size_t file, name;
  };
  struct Slot {
    std::vector<CaseReport> reports;
    bool overridden = false;
  };

  // Returns the size of the golden file, or 0 for a folder.
  static std::uintmax_t bytes_of(const GateFile& file) {
    std::error_code error;
    const auto bytes = std::filesystem::file_size(file.golden.path, error);
    return error ? 0 : bytes;
  }
  bool is_large(std::size_t file) const {
    const std::size_t cases = found_.files[file].names.size();
    return cases > 0 && bytes_of_files_[file] / cases > kLargeCase;
  }

  // Returns the bytes that a case needs in memory, or 0 if its file cannot be read, which is
  // reported later.
  static std::int64_t bytes_of(const CaseSource& golden, const CaseSource* recorded,
                               const std::string& name, const std::string& producer, bool inputs) {
    try {
      std::int64_t bytes = golden.result_bytes(name, "");
      if (recorded != nullptr && recorded->has_case(name)) {
        bytes += recorded->result_bytes(name, producer);
      }
      if (!inputs) return bytes;
      for (const auto& [operand, info] : golden.info(name).inputs) {
        bytes += element_count(info.shape) * format_named(info.dtype).storage_bytes;
      }
      return bytes;
    } catch (const FileError&) {
      return 0;
    }
  }

  // Computes the weight of each case for the time left: its bytes, or an equal part of its file if
  // it is one of many small cases.
  void weigh() {
    const SourcePool::Taken sources = found_.sources->take();
    for (const Job& job : jobs_) {
      const GateFile& file = found_.files[job.file];
      const std::uintmax_t each = bytes_of_files_[job.file] / file.names.size();
      const bool many = file.names.size() > kManyCases && each < kSmallCase;
      const SourcePlace* outputs = file.missing.empty() ? file.outputs_of(job.name) : nullptr;
      auto weight = static_cast<std::int64_t>(each);
      if (!many) {
        try {
          sources->keep({&file.golden, outputs});
          weight = bytes_of(sources->at(file.golden),
                            outputs != nullptr ? &sources->at(*outputs) : nullptr,
                            file.names[job.name], file.producer, false);
        } catch (const FileError&) {
          weight = 0;
        }
      }
      weights_.push_back(std::max<std::int64_t>(weight, 1));
      all_weights_ += weights_.back();
    }
  }

  // Reserves memory for a case. Nothing is reserved for the cases of a small file, because even all
  // of them together never come near the budget.
  MemoryBudget::Share room_for(const Job& job, const CaseSource& golden,
                               const CaseSource* recorded) {
    const GateFile& file = found_.files[job.file];
    const auto some = static_cast<std::uintmax_t>(budget_.bytes() / side_by_side_);
    const bool counts = side_by_side_ > 1 && bytes_of_files_[job.file] > some;
    return budget_.take(
        counts ? bytes_of(golden, recorded, file.names[job.name], file.producer, true) : 0);
  }

  bool several() const { return found_.files.size() > 1; }

  std::string reproducer(const GateFile& file, const SourcePlace* outputs,
                         const std::string& name) const {
    std::string line = formatted("{} gate{} --case {}", context_.program, file.golden.text(),
                                 shell_word(exact_glob(name)));
    if (outputs != nullptr && !file.outputs.empty()) {
      line += option_text("--outputs", outputs->path);
    }
    line += file.options + o_.files.source.text() + o_.tolerance.text() +
            option_text("--reference-implementation", o_.reference_implementation);
    if (request_.checksums) line += " --abft " + shell_word(request_.checksums->text());
    if (request_.sample) line += " --sample " + shell_word(request_.sample->text());
    return line;
  }

  // Returns the report for a file, one of several, that could not be read or has no case. It stands
  // among the reports of cases, and is an error or not comparable.
  CaseReport broken(const GateFile& file) {
    CaseReport report = unjudged(file, "(file)", file.error);
    report.file = file.golden.path;
    if (file.unreadable) {
      errors_.add(file.error);
      report.error = file.error;
      report.verdicts.clear();
    }
    report.reproduce = formatted("{} gate{}{}{}", context_.program, file.golden.text(),
                                 file.options, o_.files.source.text());
    return report;
  }

  void judge(std::size_t job) {
    const GateFile& file = found_.files[jobs_[job].file];
    const std::string& name = file.names[jobs_[job].name];
    const SourcePlace* outputs = file.missing.empty() ? file.outputs_of(jobs_[job].name) : nullptr;
    const auto start = std::chrono::steady_clock::now();
    std::vector<GatedCase> gated;  // one an output
    Slot& slot = slots_[job];
    GateRequest request = request_;
    request.threads = inner_threads_;
    request.mismatch_map = may_be_pictured(job);
    const SourcePool::Taken sources = found_.sources->take();
    const CaseSource *golden = nullptr, *recorded = nullptr;
    try {
      sources->keep({&file.golden, outputs});
      golden = &sources->at(file.golden);
      if (!file.missing.empty()) {
        gated.emplace_back().report = unjudged(file, name, file.missing);
      } else {
        recorded = outputs != nullptr ? &sources->at(*outputs) : nullptr;
        const OutputSource source{
            .name = file.producer, .machine = file.machine, .recorded = recorded};
        const MemoryBudget::Share room = room_for(jobs_[job], *golden, recorded);
        gated = gate_file_case(*golden, name, source, request);
        slot.overridden = std::ranges::any_of(gated, [&](const GatedCase& one) {
          return is_overridden(*golden, one.report, o_.tolerance);
        });
      }
    } catch (const FileError& e) {
      gated.clear();
      CaseReport& entry = gated.emplace_back().report;
      entry.name = name;
      entry.producer = file.producer;
      entry.error = e.what();
      entry.source_name = source_name_if_other(golden, name);
    }
    bool failed = false, save = false;
    for (GatedCase& one : gated) {
      CaseReport& entry = one.report;
      if (several()) entry.file = file.golden.path;
      entry.reproduce = reproducer(file, outputs, name);
      failed = failed || !entry.passes();
      save = save || (entry.error.empty() && entry.outcome() != Outcome::kPass);
    }
    if (failures_ && save && golden != nullptr) {
      failures_->add(*golden, file.machine == nullptr ? recorded : nullptr, gated);
    }
    const double seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    // Histograms are removed if no report of this run shows them, because they would be most of the
    // memory that many cases need.
    const bool has_histograms = o_.histograms || !o_.html.empty() || context_.listener != nullptr;
    for (GatedCase& one : gated) {
      for (Verdict& v : one.report.verdicts) {
        if (!has_histograms && v.metrics) {
          v.metrics->abs_errors = v.metrics->rel_errors = v.metrics->ulps = Histogram{};
        }
      }
      one.report.seconds = seconds / static_cast<double>(gated.size());
      slot.reports.push_back(std::move(one.report));
    }
    if (failed) picture(job);
    report_progress(job, failed);
  }

  // Returns true if the HTML page may show where the mismatches of this case lie. It does so for
  // the first failed cases, in the order of cases, so that the page does not depend on threads.
  bool may_be_pictured(std::size_t job) {
    if (o_.html.empty()) return false;
    const std::lock_guard lock(mutex_);
    return pictured_.size() < kPicturedCases || job < *pictured_.rbegin();
  }
  void picture(std::size_t job) {
    const std::lock_guard lock(mutex_);
    pictured_.insert(job);
    if (pictured_.size() <= kPicturedCases) return;
    const std::size_t last = *pictured_.rbegin();
    pictured_.erase(last);
    for (CaseReport& c : slots_[last].reports) {
      for (Verdict& v : c.verdicts) v.mismatch_map.reset();
    }
  }

  void report_progress(std::size_t job, bool failed) {
    const std::lock_guard lock(mutex_);
    ++done_;
    failed_ += failed ? 1 : 0;
    context_.tell(&Listener::step, done_, std::ssize(jobs_));
    if (weights_.empty()) return;
    done_weights_ += weights_[job];
    if (!line_.is_due()) return;
    line_.show(formatted("{} of {} cases, {} did not pass, {}", grouped(done_),
                         grouped(std::ssize(jobs_)), grouped(failed_),
                         line_.time_left(done_weights_, all_weights_)));
  }

  const GateOptions& o_;
  const GateRequest& request_;
  const Context& context_;
  const GateFiles& found_;
  std::vector<std::uintmax_t> bytes_of_files_;
  std::vector<Job> jobs_;
  std::vector<Slot> slots_;
  std::optional<SavedFailures> failures_;
  int side_by_side_ = 1, inner_threads_ = 0;
  MemoryBudget budget_{default_memory()};
  std::vector<std::int64_t> weights_;  // one for each job, or empty if the time left is not shown
  std::int64_t all_weights_ = 0;
  std::int64_t overridden_ = 0;
  ErrorLines errors_;
  std::mutex mutex_;  // guards the members below
  StatusLine line_;
  std::int64_t done_ = 0, failed_ = 0, done_weights_ = 0;
  std::set<std::size_t> pictured_;  // the jobs whose mismatches the HTML page shows as a map
};

std::string host_name() {
  std::array<char, 256> name{};
  return gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "";
}

// Adds a note to the report for each option that had no effect on any case.
void note_unused(const GateOptions& o, const GateRequest& request, GateReport& report) {
  o.tolerance.note_unused(report);
  const auto is_other = [](const CaseReport& c) { return c.abft || !c.error.empty(); };
  if (request.checksums && std::ranges::none_of(report.cases, is_other)) {
    report.notes.push_back(
        formatted("--abft {} was not used, because no case is a product or attention with its "
                  "inputs. Only the elements decided",
                  shell_word(request.checksums->text())));
  }
}

int run_gate(const GateOptions& o, const Context& context) {
  check_gate_options(o);
  GateRequest request;
  request.bounds = o.tolerance.request();
  if (!o.abft.empty()) request.checksums = parse_threshold(o.abft);
  if (!o.sample.empty()) request.sample = parse_row_sample(o.sample);
  request.reference_implementation = o.reference_implementation;
  if (!o.files.machine.empty()) request.machine = &machine_named(o.files.machine);
  request.mutate = o.mutate;
  std::optional<Baseline> baseline;
  if (!o.baseline.empty()) {
    const bool fresh = o.update_baseline && !std::filesystem::exists(o.baseline);
    baseline =
        fresh ? Baseline{}
              : with_advice(
                    "mend it, or delete it and run `assay gate --baseline FILE --update-baseline`",
                    [&] { return wire::read_baseline(o.baseline); });
  }
  if (!o.known_failures.empty()) (void)wire::read_known_failures(o.known_failures);
  const Shard shard = o.shard.empty() ? Shard{} : parse_shard(o.shard);
  GateFiles found = find_files(o.files, o.threads, [&](const std::string& glob) {
    return baseline && std::ranges::any_of(baseline->entries,
                                           [&](const auto& e) { return glob_match(glob, e.name); });
  });
  o.files.source.check_used(found.layouts, !o.csv.empty());
  if (!o.reference_implementation.empty())
    check_reference_implementation(o.reference_implementation, found);

  if (shard.index > 1) {
    // Only the first shard reports on files, and on data that are in no case, so that all shards
    // together report them once.
    found.notes.clear(), found.without_golden.clear(), found.left_out.clear();
    for (GateFile& file : found.files) file.error.clear();
  }
  Gate gate(o, request, shard, context, found);
  GateReport report;
  report.golden_file = joined(o.files.given(), " ");
  if (found.files.size() == 1 && o.files.source.pairs.empty()) {
    report.golden_file = found.files.front().golden.path;
  }
  if (found.files.size() > 1) {
    for (const GateFile& file : found.files) report.files.push_back(file.golden.path);
  }
  report.shard = o.shard;
  report.command = context.command_line;
  report.version = version();
  report.commit = commit();
  if (!o.html.empty()) report.date = utc_now() + " UTC";
  report.host = host_name();
  if (request.machine != nullptr) report.machine = request.machine->name;
  report.simd_target = simd::target_name();
  report.notes = found.notes;
  report.cases = gate.run();
  for (const GateFile& file : found.files) {
    const std::string first = first_call_note(report, file.golden.path);
    if (!first.empty()) report.notes.push_back(first);
  }
  for (const std::string& name : found.without_golden) {
    if (o.strict) {
      report.cases.push_back(unjudged(found.files.front(), name,
                                      formatted("{} has no such case", report.golden_file)));
    } else {
      report.without_golden.push_back(name);
    }
  }
  // The most notes on data that were left out. If there is more, a note has only its number.
  constexpr std::size_t kMostLeftOut = 5;
  const std::size_t left_out = found.left_out.size();
  for (const std::string& what : found.left_out) {
    if (!o.strict && left_out > kMostLeftOut) {
      report.notes.push_back(formatted("{} and {} more: left out", what, left_out - 1));
      break;
    }
    if (o.strict) {
      report.cases.push_back(unjudged(found.files.front(), "(left out)", what));
    } else {
      report.notes.push_back(what + ": left out");
    }
  }
  const bool unreadable =
      std::ranges::any_of(report.cases, [](const CaseReport& c) { return !c.error.empty(); });
  if (gate.overridden() > 0) {
    report.note = formatted("the command line's{} replaced the bounds of {}", o.tolerance.text(),
                            gate.overridden() == 1 ? std::string("1 case that has its own")
                                                   : formatted("{} cases that have their own",
                                                               grouped(gate.overridden())));
  }
  if (shard.count == 1) note_unused(o, request, report);
  note_lacks(report);
  const bool stale = apply_known_failures(o, report);
  const int baseline_code = apply_baseline(o, context, found, baseline, unreadable, report);
  context.tell(&Listener::gate, report);
  const bool is_empty_shard = report.cases.empty() && shard.count > 1;
  if (is_empty_shard && found.cases == 0) print_error("error: no case was chosen");
  if (o.json == "-") {
    write_gate_json(
        report, [](std::string_view text) { print(std::string(text)); }, o.threads, metrics_of(o));
  } else if (is_empty_shard && found.cases > 0) {
    print_summary(context, formatted("shard {} has no case: there are fewer cases ({}) than shards",
                                     o.shard, found.cases));
  } else {
    print_result(context,
                 context.quiet > 0 ? ""
                                   : gate_table(report, use_color(), 5, o.all,
                                                {.all = "--all", .strict = "--strict"}) +
                                         (o.mutate ? report::mutation_table(report) : ""),
                 gate_line(report));
  }
  write_reports(o, report);
  if (gate.save_failures() && context.quiet == 0 && o.json != "-") {
    print(formatted("\nthe cases that did not pass are saved in {}\n", o.save_failures));
  }
  if (unreadable) return 2;
  // An empty shard of a selection that has cases is not an error. An empty selection is not
  // comparable, in each of its shards.
  if (is_empty_shard) return found.cases > 0 ? 0 : exit_code(Outcome::kNotComparable);
  const int code = exit_code(report_outcome(report));
  if (code == 1 || stale) return 1;
  if (code != 0 || baseline_code != 0) return code != 0 ? code : baseline_code;
  if (!o.mutate_min) return 0;
  const MutationScore score = mutation_score(report);
  if (score.applied > 0 && score.fraction() >= *o.mutate_min) return 0;
  print_error(formatted("error: {} of {} mutations {} caught, but --mutate-min asks for {}",
                        score.caught, score.applied, score.applied == 1 ? "was" : "were",
                        *o.mutate_min));
  return score.applied == 0 ? exit_code(Outcome::kUntrusted) : 1;
}

}  // namespace

void add_gate(Context& context) {
  auto options = std::make_shared<GateOptions>();
  CLI::App* command = subcommand(
      context, "gate", "Judge outputs against golden results.",
      "assay gate datasets/samples/transformer_gemms.h5 --recorded h200 --json result.json");
  add_gate_options(context, command, *options);
  on_run(context, command, [options, &context] { return run_gate(*options, context); });
}

}  // namespace assay::tools
