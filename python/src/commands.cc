// gate and campaign: subcommands of `assay` as functions. Keywords set the structures of options
// that the command line fills, too.
#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <type_traits>
#include <variant>

#include "assay/base/text.h"
#include "assay/base/words.h"
#include "call.h"
#include "module.h"

namespace assay::inline v0_2::python {
namespace {

// Returns the keyword of an option, such as max_blind for --max-blind, or an empty string for an
// argument that is not an option.
std::string keyword_of(const tools::CommandOption& option) {
  if (!option.name.starts_with("--")) return "";
  std::string keyword = option.name.substr(2);
  std::ranges::replace(keyword, '-', '_');
  return keyword;
}

// Returns the type of an option's keyword as a stub has it: "float | None".
std::string type_of(const tools::CommandOption& option) {
  const std::string text = option.names_file ? "str | PathLike[str]" : "str";
  struct Type {
    const std::string& text;
    std::string without_value;
    std::string operator()(const bool*) const { return "bool"; }
    std::string operator()(const int*) const { return "int | None"; }
    std::string operator()(const std::optional<std::int64_t>*) const { return "int | None"; }
    std::string operator()(const std::optional<double>*) const { return "float | None"; }
    std::string operator()(const std::string*) const { return without_value + text + " | None"; }
    std::string operator()(const std::vector<std::string>*) const {
      return formatted("{0} | Sequence[{0}] | None", text);
    }
  };
  return std::visit(Type{text, option.without_value.empty() ? "" : "bool | "}, option.member);
}

// Sets one option from a Python value, which is neither None nor False.
class Setter {
 public:
  Setter(tools::CommandCall& call, tools::CommandOption& option, const py::handle& value)
      : call_(call), option_(option), value_(value) {}

  void operator()(bool* to) const { *to = number<bool>(); }
  void operator()(int* to) const { *to = number<int>(); }
  void operator()(std::optional<std::int64_t>* to) const { *to = number<std::int64_t>(); }
  void operator()(std::optional<double>* to) const { *to = number<double>(); }
  void operator()(std::string* to) const {
    const bool is_true = value_.ptr() == Py_True && !option_.without_value.empty();
    *to = is_true ? option_.without_value : text(value_);
  }
  void operator()(std::vector<std::string>* to) const {
    to->clear();
    if (!py::isinstance<py::list>(value_) && !py::isinstance<py::tuple>(value_)) {
      to->push_back(text(value_));
      return;
    }
    for (const py::handle& one : py::reinterpret_borrow<py::sequence>(value_)) {
      to->push_back(text(one));
    }
  }

 private:
  [[noreturn]] void refuse_type() const {
    throw py::type_error(formatted("{}: {} is needed, not {}", keyword_of(option_),
                                   type_of(option_), repr_of(value_)));
  }
  // Returns the value as a number or a truth value. The command line's message is the better one if
  // its option does not take the text of the value.
  template <typename T>
  T number() const {
    py::detail::make_caster<T> caster;
    const bool is_kind = std::is_same_v<T, bool> || !PyBool_Check(value_.ptr());
    if (is_kind && caster.load(value_, true)) return py::detail::cast_op<T>(caster);
    if (!std::is_same_v<T, bool> && is_kind) call_.check_text(option_, str_of(value_));
    refuse_type();
  }
  std::string text(const py::handle& value) const {
    if (!is_path(value)) refuse_type();
    return path_of(value);
  }

  tools::CommandCall& call_;
  tools::CommandOption& option_;
  const py::handle& value_;
};

void set_paths(tools::CommandOption& option, const py::object& paths) {
  auto& to = *std::get<std::vector<std::string>*>(option.member);
  if (is_path(paths) || !py::isinstance<py::iterable>(paths)) {
    to.push_back(path_of(paths));
  } else {
    for (const py::handle& path : py::iter(paths)) to.push_back(path_of(path));
  }
  option.is_given = !to.empty();
}

// Returns the function that shows progress. True means one that writes a line to standard error,
// and False means no function.
py::object shown(const py::object& progress) {
  if (progress.ptr() == Py_False) return py::none();
  if (progress.ptr() != Py_True) return progress;
  return py::cpp_function([](std::int64_t done, std::int64_t all) {
    const py::object out = py::module_::import("sys").attr("stderr");
    out.attr("write")(formatted("\r{} of {}{}", done, all, done == all ? "\n" : ""));
    out.attr("flush")();
  });
}

// Calls the user's Python function, and checks for Ctrl-C, after each case or matrix.
tools::Listener listener(const py::object& progress) {
  return {.step = [&progress](std::int64_t done, std::int64_t all) {
    check_signals();
    const py::gil_scoped_acquire lock;
    if (!progress.is_none()) progress(done, all);
  }};
}

int run(tools::CommandCall& call, const tools::Listener& to) {
  const py::gil_scoped_release release;
  return call.run(to);
}

GateResult gate(const py::object& golden, const py::object& outputs, const py::object& progress,
                const py::kwargs& options) {
  tools::CommandCall call("gate");
  set_paths(*call.find("GOLDEN"), golden);
  if (!outputs.is_none()) set_paths(*call.find("--outputs"), outputs);
  set_options(call, options, "gate()");
  std::optional<GateReport> report;
  const py::object told = shown(progress);
  tools::Listener to = listener(told);
  to.gate = [&](const GateReport& r) { report = r; };  // called once
  const int exit_code = run(call, to);
  if (!report) throw std::runtime_error("the gate gave no report");
  return {std::move(*report), exit_code};
}

struct CampaignReport {
  std::string json, text;
};

CampaignReport campaign(const py::object& plan, const py::object& progress,
                        const py::kwargs& options) {
  tools::CommandCall call("campaign");
  set_text(call, "PLAN", path_of(plan));
  set_options(call, options, "campaign()");
  CampaignReport report;
  const py::object told = shown(progress);
  tools::Listener to = listener(told);
  to.campaign = [&](const std::string& json, const std::string& text) { report = {json, text}; };
  run(call, to);
  return report;
}

}  // namespace

void set_text(tools::CommandCall& call, const char* name, const std::string& text) {
  tools::CommandOption& option = *call.find(name);
  *std::get<std::string*>(option.member) = text;
  option.is_given = true;
}

void set_options(tools::CommandCall& call, const py::dict& keywords, const char* function) {
  std::map<std::string, tools::CommandOption*> known;
  for (tools::CommandOption& option : call.options()) {
    if (const std::string keyword = keyword_of(option); !keyword.empty()) known[keyword] = &option;
  }
  for (const auto& [key, value] : keywords) {
    const auto keyword = key.cast<std::string>();
    const auto found = known.find(keyword);
    if (found == known.end()) {
      throw py::type_error(formatted("{} got an unexpected keyword argument '{}'{}", function,
                                     keyword, did_you_mean(keyword, keys_of(known))));
    }
    if (value.is_none() || value.ptr() == Py_False) continue;
    tools::CommandOption& option = *found->second;
    std::visit(Setter(call, option, value), option.member);
    const auto* list = std::get_if<std::vector<std::string>*>(&option.member);
    const auto* flag = std::get_if<bool*>(&option.member);
    option.is_given = (list == nullptr || !(*list)->empty()) && (flag == nullptr || **flag);
  }
}

void define_commands(py::module_& m) {
  m.def("_command_options", [](const std::string& command) {
    py::list options;
    tools::CommandCall call(command);
    for (const tools::CommandOption& option : call.options()) {
      const std::string keyword = keyword_of(option);
      const char* value = std::holds_alternative<bool*>(option.member) ? "False" : "None";
      if (!keyword.empty()) options.append(py::make_tuple(keyword, type_of(option), value));
    }
    return options;
  });
  m.def("gate", &gate, py::arg("golden"), py::arg("outputs") = py::none(),
        py::arg("progress") = py::none(),
        "The GateReport of `assay gate GOLDEN`: golden files, folders or globs, one or several.\n\n"
        "outputs: files of outputs. progress: called with (cases done, all cases); True: a line on "
        "standard error. All other options of `assay gate` by keyword: recorded='npu', "
        "machine='hopper', case='gemm/*', standard='torch', abft=True, mutate=True, "
        "baseline='b.json', html='report.html', ... Raises ValueError on wrong usage, FileError, "
        "NoCaseError.");
  py::class_<CampaignReport> report(m, "CampaignReport", "The results of a campaign.");
  report
      .def(
          "to_dict", [](const CampaignReport& r) { return from_json(r.json); },
          "As docs/campaigns.md has it.")
      .def_readonly("text", &CampaignReport::text, "The tables that `assay campaign` prints.");
  define_texts(
      report, [](const CampaignReport& r) { return r.text; },
      [](const CampaignReport& r) {
        return formatted("<CampaignReport: {}>", first_line(r.text));
      });
  m.def("campaign", &campaign, py::arg("plan"), py::arg("progress") = py::none(),
        "The CampaignReport of a plan (docs/campaigns.md).\n\n"
        "progress: called with (matrices done, all matrices); True: a line on standard error. All "
        "other options of `assay campaign` by keyword: out='results', resume=True, threads=4, ... "
        "Ctrl-C stops after the matrices in work; with out= the finished blocks stay, and "
        "resume=True goes on.");
}

}  // namespace assay::python
