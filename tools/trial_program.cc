#include "trial_program.h"

#include <algorithm>
#include <atomic>
#include <cctype>
#include <cerrno>
#include <cmath>
#include <filesystem>
#include <memory>
#include <set>

#include "assay/base/file.h"
#include "assay/base/json.h"
#include "assay/base/parallel.h"
#include "assay/base/pool.h"
#include "assay/base/process.h"
#include "assay/base/text.h"
#include "assay/base/unsynced.h"
#include "assay/base/words.h"
#include "assay/datasets/arrays/array_writer.h"
#include "assay/datasets/checks/file_error.h"
#include "program_words.h"
#include "scratch_folder.h"

namespace assay::inline v0_2::tools {
namespace {

namespace fs = std::filesystem;
using How = CallEnd::How;

constexpr std::string_view kCallPlain[] = {"inputs", "output", "outputs", "case",
                                           "folder", "dtype",  "shape"};
constexpr std::string_view kCallNamed[] = {"input", "parameter", "dtype", "shape"};
constexpr Places kCallPlaces = {kCallPlain, kCallNamed};
constexpr std::string_view kInputsWord = "{inputs}";
// The exit status by which test programs say that they were skipped.
constexpr int kNotSupportedCode = 77;
// The exit statuses by which a shell says that a program cannot be executed, or was not found.
constexpr int kCannotExecuteCode = 126, kNotFoundCode = 127;
constexpr std::string_view kNotSupportedLine = "not supported:";

// The value of a parameter in a call: that of the case, or the operator's default.
std::optional<Attribute> parameter_value(const Case& c, const Parameter& parameter) {
  const auto found = c.attributes.find(parameter.name);
  return found != c.attributes.end() ? found->second : default_value(parameter);
}

// The places that a message offers.
constexpr std::string_view kKnownPlaces =
    "{inputs}, {input:NAME}, {output}, {dtype}, {dtype:NAME}, {shape}, {shape:NAME}, "
    "{parameter:NAME}, {case} and {folder}";

bool is_name(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '_' || c == '-' || c == '.';
  }) && std::isalpha(static_cast<unsigned char>(text.front())) != 0;
}

// Returns the place that is nearest to an unknown one, such as "input:x" for "input_x", or an empty
// string.
std::string nearest_place(const Operator& op, std::string_view unknown) {
  const std::size_t colon = unknown.find(':');
  if (colon != std::string_view::npos) {
    const std::string kind =
        nearest_word(unknown.substr(0, colon),
                     std::vector<std::string>(std::begin(kCallNamed), std::end(kCallNamed)));
    return kind.empty() ? "" : kind + std::string(unknown.substr(colon));
  }
  if (find_row(op.inputs, unknown, &OperatorInput::name) != nullptr) {
    return formatted("input:{}", unknown);
  }
  if (find_parameter(op, unknown) != nullptr) return formatted("parameter:{}", unknown);
  for (const std::string_view kind : kCallNamed) {
    if (unknown.size() > kind.size() + 1 && unknown.starts_with(kind) &&
        !is_name(unknown.substr(kind.size(), 1))) {
      return formatted("{}:{}", kind, unknown.substr(kind.size() + 1));
    }
  }
  return nearest_word(unknown,
                      std::vector<std::string>(std::begin(kCallPlain), std::end(kCallPlain)));
}

// Refuses a place in braces that is not known. Other braces are kept: those of a shell's variable
// such as ${HOME}, and those of a script (a word with blanks), unless they begin as a place of a
// file does.
void check_places(const Operator& op, const std::string& word) {
  const bool is_script = word.find_first_of(" \t\n") != std::string::npos;
  for (std::size_t open = word.find('{'); open != std::string::npos;
       open = word.find('{', open + 1)) {
    const std::size_t end = word.find('}', open);
    if (end == std::string::npos) return;
    const std::string_view braced = std::string_view(word).substr(open + 1, end - open - 1);
    const std::size_t colon = braced.find(':');
    const std::string_view kind = braced.substr(0, colon);
    const bool is_named = colon != std::string_view::npos;
    if (!is_name(kind) || (is_named && !is_name(braced.substr(colon + 1)))) continue;
    if (contains(is_named ? kCallPlaces.named : kCallPlaces.plain, kind)) continue;
    if (open > 0 && word[open - 1] == '$') continue;
    if (is_script && !kind.starts_with("input") && !kind.starts_with("output")) continue;
    const std::string nearest = nearest_place(op, braced);
    refuse("the program's word '{}' has an unknown place {{{}}}{}; known: {}", word, braced,
           nearest.empty() ? "" : formatted(": did you mean '{{{}}}'?", nearest), kKnownPlaces);
  }
}

// The files of one call.
struct CallFiles {
  std::string folder, case_file, output;
  std::map<std::string, std::string> inputs = {};
  std::map<std::string, std::string> bytes = {};  // the content of each input's file
};

// Returns the reason why an input is not supported, if the program printed one.
std::optional<std::string> not_supported_line(const std::string& said) {
  for (const std::string& line : split(said, '\n')) {
    if (!line.starts_with(kNotSupportedLine)) continue;
    const std::size_t begin = line.find_first_not_of(" \t", kNotSupportedLine.size());
    return begin == std::string::npos ? std::string("without a reason")
                                      : line.substr(begin, line.find_last_not_of("\r") + 1 - begin);
  }
  return std::nullopt;
}

class ProgramKernel {
 public:
  ProgramKernel(const Operator& op, TrialProgramOptions options)
      : op_(op),
        o_(std::move(options)),
        kind_(array_format_named(o_.kind)),
        workers_([] { return std::make_unique<ScratchFolder>(); }) {
    if (o_.words.empty()) refuse("no program was given after --");
    bool has_inputs = false, has_output = false;
    for (const std::string& word : o_.words) {
      check_places(op_, word);
      (void)replaced(word, kCallPlaces, [&](const Place& place) {
        has_inputs = has_inputs || place.kind == "input" || place.kind == "inputs";
        has_output = has_output || place.kind.starts_with("output");
        batch_ = batch_ || place.kind == "folder";
        has_case_ = has_case_ || place.kind == "case";
        if (place.kind == "input") (void)check_input(place.name);
        if (place.kind == "parameter") check_parameter(place.name);
        if ((place.kind == "dtype" || place.kind == "shape") && !place.name.empty() &&
            place.name != "output") {
          (void)check_input(place.name);
        }
        single_ = single_ || place.kind != "folder";
        return std::string();
      });
    }
    if (batch_ && single_) {
      refuse(
          "the program gets all files of a case in {folder}; leave out the other places in "
          "braces");
    }
    if (!batch_ && !has_case_ && !(has_inputs && has_output)) {
      refuse(
          "the program has no place for its {}; write {} in its words, as in `-- {} {{inputs}} "
          "{{output}}`; known: {}",
          has_output   ? "inputs"
          : has_inputs ? "output"
                       : "inputs and its output",
          has_output   ? "{inputs}, {input:NAME}, {case} or {folder}"
          : has_inputs ? "{output}, {case} or {folder}"
                       : "{inputs} and {output}, or {case}, or {folder}",
          o_.words.front(), kKnownPlaces);
    }
    make_files_absolute(o_.words);
  }

  TrialKernel kernel(const std::shared_ptr<ProgramKernel>& self) const {
    TrialKernel kernel;
    kernel.name = joined(o_.words, " ");
    kernel.parameters = parameters_;
    kernel.always = always_;
    if (batch_ || has_case_) {
      for (const Parameter& parameter : op_.parameters) kernel.parameters.insert(parameter.name);
      for (const OperatorInput& input : op_.inputs) {
        if (input.optional && always_.count(input.name) == 0) kernel.sometimes.insert(input.name);
      }
    }
    kernel.takes_offsets = false;
    kernel.returns_output = true;
    kernel.keeps_state = batch_;
    // A group of calls keeps all programs busy, and ends soon enough after Ctrl-C.
    constexpr int kCallsOfJob = 4;
    kernel.together = static_cast<std::size_t>(batch_ ? o_.together : o_.jobs * kCallsOfJob);
    kernel.call_all = [self](std::span<const KernelCall> calls) { return self->call_all(calls); };
    return kernel;
  }

 private:
  const OperatorInput& check_input(const std::string& name) {
    const OperatorInput* input = find_row(op_.inputs, name, &OperatorInput::name);
    if (input == nullptr) {
      refuse("{} has no input '{}'{}; inputs: {}", op_.name, name,
             did_you_mean(name, names_of(op_.inputs)), inputs_text(op_));
    }
    if (input->optional) always_.insert(name);
    return *input;
  }
  void check_parameter(const std::string& name) {
    if (find_parameter(op_, name) == nullptr) {
      refuse("{} has no parameter '{}'{}; parameters: {}", op_.name, name,
             did_you_mean(name, names_of(op_.parameters)), joined(names_of(op_.parameters)));
    }
    parameters_.insert(name);
  }

  std::vector<CallEnd> call_all(std::span<const KernelCall> calls) {
    std::vector<CallEnd> ends(calls.size());
    if (!batch_) {
      parallel_for(std::ssize(calls), o_.jobs, [&](std::int64_t i) {
        const auto at = static_cast<std::size_t>(i);
        ends[at] = one(calls[at]);
      });
      return ends;
    }
    const std::size_t jobs = std::min(static_cast<std::size_t>(o_.jobs), calls.size());
    const std::size_t size = jobs == 0 ? 0 : (calls.size() + jobs - 1) / jobs;
    parallel_for(static_cast<std::int64_t>(jobs), o_.jobs, [&](std::int64_t i) {
      const std::size_t first = std::min(static_cast<std::size_t>(i) * size, calls.size());
      const auto some = calls.subspan(first, std::min(size, calls.size() - first));
      if (some.empty()) return;
      const std::vector<CallEnd> of_some = batch(some);
      std::ranges::copy(of_some, ends.begin() + static_cast<std::ptrdiff_t>(first));
    });
    return ends;
  }

  // Starts the program for one call.
  CallEnd one(const KernelCall& call) {
    const auto scratch = workers_.take();
    const CallFiles files = write(call, scratch->fresh("files"), "output");
    const ProcessLimits limits = limits_for(1);
    const Ended ended = run_process({filled(call, files), scratch->fresh("run"), limits});
    if (auto end = not_done(ended, limits)) return *end;
    return read(call, files);
  }

  // Starts the program for a folder of calls. If it does not end well, each call that has no output
  // gets a start of its own, which shows the call at which the program fails.
  std::vector<CallEnd> batch(std::span<const KernelCall> calls) {
    std::vector<CallEnd> ends(calls.size());
    std::vector<std::size_t> again;
    {
      const auto scratch = workers_.take();
      const std::string folder = scratch->fresh("cases");
      std::vector<CallFiles> files;
      for (std::size_t i = 0; i < calls.size(); ++i) {
        const std::string own = formatted("{}/{:04}", folder, i);
        fs::create_directory(own);
        files.push_back(write(calls[i], own, "output"));
      }
      const ProcessLimits limits = limits_for(calls.size());
      const Ended ended = run_process({in_folder(folder), scratch->fresh("run"), limits});
      const std::optional<CallEnd> failed = not_done(ended, limits);
      for (std::size_t i = 0; i < calls.size(); ++i) {
        if (const auto reason = not_supported_line(lines_of(ended.said, i))) {
          ends[i] = {How::kNotSupported, *reason};
        } else if (failed && calls.size() == 1) {
          ends[i] = *failed;
        } else {
          ends[i] = read(calls[i], files[i]);
          if (failed && ends[i].how != How::kDone) again.push_back(i);
        }
      }
    }
    for (const std::size_t i : again) ends[i] = batch(calls.subspan(i, 1)).front();
    return ends;
  }

  // Returns the printed lines that begin with the number of a case, without the number: those of
  // "0003: not supported: float64" for case 3.
  static std::string lines_of(const std::string& said, std::size_t number) {
    const std::string begin = formatted("{:04}: ", number);
    std::string lines;
    for (const std::string& line : split(said, '\n')) {
      if (line.starts_with(begin)) lines += line.substr(begin.size()) + "\n";
    }
    return lines;
  }

  ProcessLimits limits_for(std::size_t calls) const {
    // A program that needs most of its time to start needs little for each further case.
    constexpr double kShareOfCase = 0.1;
    return {.seconds = o_.seconds * (1 + kShareOfCase * static_cast<double>(calls - 1)),
            .memory = -1,  // libraries of accelerators reserve many times of what they use
            .output = std::int64_t{1} << 30};
  }

  // Returns how a program ended that did not compute its output, or nothing.
  std::optional<CallEnd> not_done(const Ended& ended, const ProcessLimits& limits) {
    const std::string text = ended.text(limits);
    // A shell reports by these codes that it cannot start a program. An input is to blame only if
    // the program was started before.
    const bool is_shells_code = ended.how == Ended::How::kExit &&
                                (ended.code == kCannotExecuteCode || ended.code == kNotFoundCode);
    if (is_shells_code && !has_started_) {
      throw std::runtime_error(formatted("{}: cannot be started: {}", o_.words.front(),
                                         with_last_line(text, ended.said)));
    }
    has_started_ = has_started_ || ended.how != Ended::How::kNotStarted;
    switch (ended.how) {
      case Ended::How::kNotStarted:
        throw std::runtime_error(
            formatted("{}: {}{}", o_.words.front(), text,
                      ended.code == EACCES
                          ? "; make the file executable (chmod +x), or name its interpreter first"
                          : ""));
      case Ended::How::kSignal:
        return CallEnd{How::kCrashed, with_last_line("the program was " + text, ended.said)};
      case Ended::How::kTime:
        return CallEnd{How::kHung, with_last_line("the program was " + text, ended.said)};
      case Ended::How::kOutput:
        return CallEnd{How::kThrew, "the program was " + text};
      case Ended::How::kExit:
        break;
    }
    if (!batch_) {
      if (auto reason = not_supported_line(ended.said)) {
        return CallEnd{How::kNotSupported, *reason};
      }
    }
    if (ended.code == kNotSupportedCode) {
      const std::string line = last_line(ended.said);
      return CallEnd{How::kNotSupported, line.empty() ? text : line};
    }
    if (ended.code == 0) return std::nullopt;
    return CallEnd{How::kThrew, with_last_line("the program ended with " + text, ended.said)};
  }

  std::string path_for(const std::string& folder, const std::string& stem, const Format& format,
                       const Shape& shape) const {
    return array_path(kind_, folder, stem, format, shape);
  }

  CallFiles write(const KernelCall& call, const std::string& folder,
                  const std::string& output) const {
    // The files are read at once and need not survive a crash, so they are not synced to the disk.
    const UnsyncedWrites unsynced;
    CallFiles files{.folder = folder,
                    .case_file = folder + "/case.json",
                    .output = path_for(folder, output, *call.output.format, call.output.shape)};
    for (const auto& [name, view] : call.inputs) {
      std::string stem = "input_" + name;
      std::ranges::replace(stem, '/', '.');
      const std::string path = path_for(folder, stem, *view.format, view.shape);
      write_array_file(kind_, path, {{"", view}});
      files.inputs[name] = path;
      files.bytes[name] = read_file(path);
    }
    if (batch_ || has_case_) write_file(files.case_file, case_json(call, files));
    return files;
  }

  std::string case_json(const KernelCall& call, const CallFiles& files) const {
    using json::Json;
    const auto array = [](const std::string& path, const Format& format, const Shape& shape) {
      return Json{
          {"file", fs::path(path).filename().string()}, {"dtype", format.name}, {"shape", shape}};
    };
    Json all = {{"operator", op_.name}};
    Json attributes = Json::object();
    for (const Parameter& parameter : op_.parameters) {
      const auto value = parameter_value(call.test_case, parameter);
      if (value) std::visit([&](const auto& v) { attributes[parameter.name] = v; }, *value);
    }
    all["attributes"] = std::move(attributes);
    Json inputs = Json::object();
    for (const std::string& name : ordered(call)) {
      const TensorView& view = call.input(name);
      inputs[name] = array(files.inputs.at(name), *view.format, view.shape);
    }
    all["inputs"] = std::move(inputs);
    all["output"] = array(files.output, *call.output.format, call.output.shape);
    return json::dumped(all, 1);
  }

  // Returns the names of the call's inputs in the operator's order.
  std::vector<std::string> ordered(const KernelCall& call) const {
    std::vector<std::string> names;
    for (const OperatorInput& input : op_.inputs) {
      if (call.has(input.name)) names.push_back(input.name);
      // The inputs of a list x are x/0, x/1 and so on.
      std::vector<std::string> of_list;
      for (const auto& [name, view] : call.inputs) {
        if (name.starts_with(input.name + "/")) of_list.push_back(name);
      }
      std::ranges::stable_sort(of_list, natural_less);
      names.insert(names.end(), of_list.begin(), of_list.end());
    }
    return names;
  }

  std::string value_of(const Place& place, const KernelCall& call, const CallFiles& files) const {
    if (place.kind == "input") {
      const auto found = files.inputs.find(place.name);
      return found == files.inputs.end() ? "" : found->second;
    }
    if (place.kind == "parameter") {
      const auto value = parameter_value(call.test_case, *find_parameter(op_, place.name));
      return value ? attribute_text(*value) : "";
    }
    if (place.kind == "case") return files.case_file;
    if (place.kind == "inputs") {
      std::vector<std::string> paths;
      for (const std::string& name : ordered(call)) paths.push_back(files.inputs.at(name));
      return joined(paths, " ");
    }
    if (place.kind.starts_with("output")) return files.output;
    const bool is_output = place.name == "output";
    const std::string input = place.name.empty() ? ordered(call).front() : place.name;
    const TensorView view = is_output ? call.output.view() : call.input(input);
    if (place.kind == "dtype") return std::string(view.format->name);
    return formatted("{}", fmt::join(view.shape, ","));
  }

  std::vector<std::string> filled(const KernelCall& call, const CallFiles& files) const {
    std::vector<std::string> words;
    for (const std::string& word : o_.words) {
      if (word == kInputsWord) {
        for (const std::string& name : ordered(call)) words.push_back(files.inputs.at(name));
        continue;
      }
      words.push_back(replaced(word, kCallPlaces,
                               [&](const Place& place) { return value_of(place, call, files); }));
    }
    return words;
  }
  std::vector<std::string> in_folder(const std::string& folder) const {
    std::vector<std::string> words;
    for (const std::string& word : o_.words) {
      words.push_back(replaced(word, kCallPlaces, [&](const Place&) { return folder; }));
    }
    return words;
  }

  // Returns the first input whose file no longer has the bytes that were written to it, or an empty
  // string.
  static std::string changed_input(const CallFiles& files) {
    for (const auto& [name, bytes] : files.bytes) {
      std::error_code error;
      const std::string& path = files.inputs.at(name);
      if (!fs::is_regular_file(path, error) || read_file(path) != bytes) return name;
    }
    return "";
  }

  // Reads the output that the program wrote, and compares the files of the inputs.
  CallEnd read(const KernelCall& call, const CallFiles& files) const {
    std::error_code error;
    if (!fs::exists(files.output, error)) {
      return {How::kWrongOutput, "the program ended well, but wrote no output file"};
    }
    const MutableTensorView& to = call.output;
    ArrayRequest request{.path = files.output, .dtype = std::string(to.format->name)};
    if (kind_.name == "bin") request.shape = to.shape;
    try {
      copy_elements(read_array(request).view(), to);
    } catch (const WrongOutput& e) {
      return {How::kWrongOutput, e.what()};
    } catch (const FileError& e) {
      // The path in a folder that is gone would not help.
      std::string text = e.what();
      const std::string begin = files.output + ": ";
      if (text.starts_with(begin)) text = text.substr(begin.size());
      return {How::kWrongOutput, formatted("the output must be {} {}, but the file {}",
                                           to.format->name, shape_text(to.shape), text)};
    }
    return {.changed_input = changed_input(files)};
  }

  const Operator& op_;
  TrialProgramOptions o_;
  const ArrayFormat& kind_;
  bool batch_ = false, has_case_ = false, single_ = false;
  std::atomic<bool> has_started_ = false;  // a call of the program ran it
  std::set<std::string> parameters_, always_;
  Pool<ScratchFolder> workers_;
};

}  // namespace

TrialKernel program_kernel(const Operator& op, TrialProgramOptions options) {
  const auto program = std::make_shared<ProgramKernel>(op, std::move(options));
  return program->kernel(program);
}

}  // namespace assay::tools
