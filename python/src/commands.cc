// gate and campaign: subcommands of `assay` as functions, with its options as keywords.
#include <algorithm>

#include "assay/base/text.h"
#include "call.h"
#include "module.h"

namespace assay::inline v0_2::python {
namespace {

void add_paths(std::vector<std::string>& words, const py::object& paths) {
  if (is_path(paths) || !py::isinstance<py::iterable>(paths)) {
    words.push_back(path_of(paths));
  } else {
    for (const py::handle& path : py::iter(paths)) words.push_back(path_of(path));
  }
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

int run(const std::vector<std::string>& words, const tools::Listener& to) {
  const py::gil_scoped_release release;
  return tools::call(words, to);
}

GateResult gate(const py::object& golden, const py::object& outputs, const py::object& progress,
                const py::kwargs& options) {
  std::vector<std::string> words = {"gate"};
  add_paths(words, golden);
  if (!outputs.is_none()) {
    std::vector<std::string> files;
    add_paths(files, outputs);
    for (const std::string& file : files) words.push_back("--outputs=" + file);
  }
  add_options(words, options);
  std::optional<GateReport> report;
  const py::object told = shown(progress);
  tools::Listener to = listener(told);
  to.gate = [&](const GateReport& r) { report = r; };  // called once
  const int exit_code = run(words, to);
  if (!report) throw std::runtime_error("the gate gave no report");
  return {std::move(*report), exit_code};
}

struct CampaignReport {
  std::string json, text;
};

CampaignReport campaign(const py::object& plan, const py::object& progress,
                        const py::kwargs& options) {
  std::vector<std::string> words = {"campaign", path_of(plan)};
  add_options(words, options);
  CampaignReport report;
  const py::object told = shown(progress);
  tools::Listener to = listener(told);
  to.campaign = [&](const std::string& json, const std::string& text) { report = {json, text}; };
  run(words, to);
  return report;
}

}  // namespace

void add_options(std::vector<std::string>& words, const py::dict& options) {
  for (const auto& [key, value] : options) {
    std::string name = key.cast<std::string>();
    std::ranges::replace(name, '_', '-');
    const auto add = [&](const py::handle& one) {
      if (one.is_none() || one.ptr() == Py_False) return;
      words.push_back("--" + name);
      if (one.ptr() == Py_True) return;
      words.back() += "=" + (is_path(one) ? path_of(one) : str_of(one));
    };
    if (py::isinstance<py::list>(value) || py::isinstance<py::tuple>(value)) {
      for (const py::handle& one : py::reinterpret_borrow<py::sequence>(value)) add(one);
    } else {
      add(value);
    }
  }
}

void define_commands(py::module_& m) {
  m.def("_command_options", [](const std::string& command) {
    py::list options;
    for (const tools::CommandOption& o : tools::command_options(command)) {
      std::string name = o.name;
      std::ranges::replace(name, '-', '_');
      options.append(py::make_tuple(name, o.takes_value, o.is_repeated));
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
