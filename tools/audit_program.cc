#include "audit_program.h"

#include <regex.h>

#include <algorithm>
#include <filesystem>
#include <functional>

#include "assay/base/file.h"
#include "assay/base/text.h"
#include "assay/base/unsynced.h"
#include "assay/base/words.h"
#include "assay/datasets/checks/file_error.h"
#include "program_words.h"
#include "scratch_folder.h"

namespace assay::inline v0_2::tools {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kPlain[] = {"output", "golden", "dtype", "shape", "case", "junit"};
constexpr std::string_view kNamed[] = {"output", "golden", "input"};
constexpr Places kPlaces = {kPlain, kNamed};

std::string printed(const std::string& said) {
  constexpr std::size_t kMost = 4096;
  return said.size() > kMost ? said.substr(said.size() - kMost) : said;
}

}  // namespace

struct ProgramTarget::Regex {
  explicit Regex(const std::string& text, const char* option) {
    const int error = regcomp(&compiled, text.c_str(), REG_EXTENDED | REG_NEWLINE | REG_NOSUB);
    if (error == 0) return;
    char words[256];
    regerror(error, &compiled, words, sizeof words);
    refuse("{} '{}': {}", option, text, words);
  }
  ~Regex() { regfree(&compiled); }
  Regex(const Regex&) = delete;
  Regex& operator=(const Regex&) = delete;
  bool matches(std::string said) const {
    std::ranges::replace(said, '\0', ' ');
    return regexec(&compiled, said.c_str(), 0, nullptr, 0) == 0;
  }
  regex_t compiled;
};

// The folder and the process that one thread uses at a time.
struct ProgramTarget::Worker {
  ScratchFolder scratch;
  std::unique_ptr<LineProcess> process;  // with --batch
};

ProgramTarget::ProgramTarget(ProgramOptions options)
    : o_(std::move(options)), workers_([] { return std::make_unique<Worker>(); }) {
  if (o_.words.empty()) refuse("no command was given after --");
  if (o_.name.empty()) o_.name = joined(o_.words, " ");
  o_.kind.check();
  bool output = false;
  for (const std::string& word : o_.words) {
    (void)replaced(word, kPlaces, [&](const Place& place) {
      output = output || place.kind == "output";
      junit_ = junit_ || place.kind == "junit";
      if (place.kind == "input") inputs_.push_back(place.name);
      if (place.kind == "output" || place.kind == "golden") {
        siblings_ = siblings_ || !place.name.empty();
        plain_ = plain_ || place.name.empty();
      }
      return std::string();
    });
  }
  make_files_absolute(o_.words);
  if (siblings_ && plain_) {
    refuse("the command has {output} or {golden} with a name and also without one; use one form");
  }
  if (o_.batch) {
    if (output || siblings_ || junit_ || !inputs_.empty()) {
      refuse(
          "with --batch the command reads the paths from its standard input; leave out {output}, "
          "{golden}, {input} and {junit}");
    }
    if (!o_.pass_regex.empty() || !o_.fail_regex.empty()) {
      refuse(
          "with --batch the command answers pass or fail; leave out --pass-regex and --fail-regex");
    }
  } else if (!output) {
    refuse("the command has no place for the output; write {output} in it, or give --batch");
  }
  if (junit_ && !(o_.pass_regex.empty() && o_.fail_regex.empty())) {
    refuse("the verdict comes from {junit}; leave out --pass-regex and --fail-regex");
  }
  if (!o_.pass_regex.empty()) passes_ = std::make_unique<Regex>(o_.pass_regex, "--pass-regex");
  if (!o_.fail_regex.empty()) fails_ = std::make_unique<Regex>(o_.fail_regex, "--fail-regex");
}

ProgramTarget::~ProgramTarget() = default;

bool ProgramTarget::golden_file_differs(const audit::Subject& subject) const {
  const Tensor& golden = *subject.test_case.output().golden;
  const Format& output = subject.clean.format();
  const Format& written = o_.kind.golden_format(golden.format(), output);
  return &written != &output || golden.shape() != subject.clean.shape();
}

std::string ProgramTarget::why_not(const audit::Subject& subject) {
  const std::string dtype(subject.clean.format().name);
  if (!o_.dtypes.empty() && !contains(o_.dtypes, dtype)) {
    return formatted("it does not read {}", dtype);
  }
  for (const std::string& input : inputs_) {
    if (subject.test_case.inputs.count(input) == 0) {
      return formatted("the command takes the input '{}', which the case does not have", input);
    }
  }
  if (siblings_) {
    bool own = false;
    std::string missing;
    for (const std::string& word : o_.words) {
      (void)replaced(word, kPlaces, [&](const Place& place) {
        if (place.kind != "output" && place.kind != "golden") return std::string();
        const auto other = subject.siblings.find(place.name);
        if (place.name == subject.test_case.output_name()) {
          own = own || place.kind == "output";
        } else if (other == subject.siblings.end() ||
                   (place.kind == "golden" && !other->second.golden)) {
          missing = place.name;
        }
        return std::string();
      });
    }
    if (!missing.empty()) return formatted("the case has no output '{}' to compare", missing);
    if (!own) {
      return formatted("the command does not take the output '{}'",
                       subject.test_case.output_name());
    }
  }
  try {
    (void)write({subject, subject.clean}, workers_.take()->scratch.fresh("files"));
  } catch (const FileError& e) {
    return e.what();
  }
  return "";
}

TrialFiles ProgramTarget::write(const audit::Trial& trial, const std::string& folder) const {
  // The files are read at once and need not survive a crash, so they are not synced to the disk.
  const UnsyncedWrites unsynced;
  return write_trial(trial, o_.kind, folder, siblings_, inputs_);
}

std::vector<std::string> ProgramTarget::filled(const audit::Trial& trial, const TrialFiles& files,
                                               const std::string& junit) const {
  const Case& c = trial.subject.test_case;
  std::vector<std::string> words;
  for (const std::string& word : o_.words) {
    words.push_back(replaced(word, kPlaces, [&](const Place& place) -> std::string {
      const std::string output = place.name.empty() ? c.output_name() : place.name;
      if (place.kind == "output") return files.outputs.at(output);
      if (place.kind == "golden") return files.goldens.at(output);
      if (place.kind == "input") return files.inputs.at(place.name);
      if (place.kind == "dtype") return std::string(trial.output.format().name);
      if (place.kind == "case") return c.name;
      if (place.kind == "junit") return junit;
      return formatted("{}", fmt::join(trial.output.shape(), ","));
    }));
  }
  return words;
}

audit::Answer ProgramTarget::judge(const audit::Trial& trial) {
  const auto worker = workers_.take();
  return o_.batch ? ask(trial, *worker) : run(trial, *worker);
}

audit::Answer ProgramTarget::run(const audit::Trial& trial, Worker& worker) const {
  const TrialFiles files = write(trial, worker.scratch.fresh("files"));
  const std::string folder = worker.scratch.fresh("run"), junit = folder + "/junit.xml";
  const Ended ended = run_process({filled(trial, files, junit), folder, o_.limits});
  if (ended.how == Ended::How::kNotStarted) {
    throw std::runtime_error(formatted("{}: {}", o_.words.front(), ended.text(o_.limits)));
  }
  audit::Answer answer{false, "", printed(ended.said)};
  const std::string how = with_last_line(ended.text(o_.limits), ended.said);
  if (ended.how != Ended::How::kExit) {
    answer.because = how;
  } else if (junit_) {
    std::error_code error;
    const bool there = fs::is_regular_file(junit, error);
    answer.passed = there && junit_passes(read_file(junit));
    answer.because =
        there ? "the verdict of its JUnit file" : formatted("it wrote no JUnit file; {}", how);
  } else if (fails_ && fails_->matches(ended.said)) {
    answer.because = formatted("its output matches --fail-regex; {}", how);
  } else if (passes_) {
    answer.passed = passes_->matches(ended.said);
    answer.because = formatted("its output {} --pass-regex; {}",
                               answer.passed ? "matches" : "does not match", how);
  } else {
    answer.passed = ended.code == 0;
    answer.because = how;
  }
  return answer;
}

audit::Answer ProgramTarget::ask(const audit::Trial& trial, Worker& worker) const {
  const TrialFiles files = write(trial, worker.scratch.fresh("files"));
  if (!worker.process) {
    worker.process = std::make_unique<LineProcess>(
        ProcessRequest{o_.words, worker.scratch.fresh("run"), o_.limits});
  }
  const std::string name = trial.subject.test_case.output_name();
  auto said =
      worker.process->ask(formatted("{}\t{}", files.outputs.at(name), files.goldens.at(name)));
  audit::Answer answer{false, "", printed(worker.process->error_output())};
  if (!said) {
    const Ended ended = worker.process->ended();
    worker.process.reset();  // the next trial starts another process
    if (ended.how == Ended::How::kNotStarted) {
      throw std::runtime_error(formatted("{}: {}", o_.words.front(), ended.text(o_.limits)));
    }
    answer.because = with_last_line(formatted("no answer; {}", ended.text(o_.limits)), answer.said);
    return answer;
  }
  if (!said->empty() && said->back() == '\r') said->pop_back();
  answer.passed = *said == "pass";
  answer.because =
      answer.passed || *said == "fail"
          ? with_last_line(formatted("it answered {}", *said), answer.said)
          : formatted("it answered '{}', which is neither pass nor fail", said->substr(0, 100));
  return answer;
}

std::string ProgramTarget::save(const audit::Trial& trial, const std::string& folder) const {
  const TrialFiles files = write(trial, folder);
  std::string line;
  for (const std::string& word : filled(trial, files, folder + "/junit.xml")) {
    line += (line.empty() ? "" : " ") + shell_word(word);
  }
  if (!o_.batch) return line;
  const std::string name = trial.subject.test_case.output_name();
  return formatted("printf '%s\\t%s\\n' {} {} | {}", shell_word(files.outputs.at(name)),
                   shell_word(files.goldens.at(name)), line);
}

bool junit_passes(const std::string& text) {
  std::int64_t cases = 0, skipped = 0;
  for (std::size_t i = text.find('<'); i != std::string::npos; i = text.find('<', i + 1)) {
    const std::string_view rest = std::string_view(text).substr(i + 1);
    for (const auto& [begin, end] : {std::pair("!--", "-->"), std::pair("![CDATA[", "]]>")}) {
      if (!rest.starts_with(begin)) continue;
      const std::size_t after = text.find(end, i);
      if (after == std::string::npos) return false;
      i = after;
    }
    if (text[i] != '<') continue;
    const std::string_view name = rest.substr(0, rest.find_first_of(" \t\r\n/>"));
    if (name == "failure" || name == "error") return false;
    cases += name == "testcase" ? 1 : 0;
    skipped += name == "skipped" ? 1 : 0;
  }
  return cases > skipped;
}

}  // namespace assay::tools
