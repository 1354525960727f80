// assay regate: judges saved metrics by another standard.
#include "assay/judge/regate.h"

#include <algorithm>
#include <map>

#include "assay/base/error.h"
#include "assay/base/file.h"
#include "assay/base/printable.h"
#include "assay/base/text.h"
#include "assay/gate/bounds.h"
#include "assay/report.h"
#include "assay/wire/gate_results.h"
#include "assay/wire/saved_results.h"
#include "tools.h"

namespace assay::inline v0_2::tools {
namespace {

struct RegateOptions {
  std::string results, json;
  ToleranceOptions tolerance;
};

std::vector<SavedResult> saved_results(const std::string& path) {
  const std::string text = read_file(path);
  return with_advice("`assay gate --histograms --json FILE` writes what is judged again",
                     [&] { return at_place(path, [&] { return wire::read_results(text); }); });
}

// Returns one verdict for each requested bound.
std::vector<Verdict> judge_again(const SavedResult& saved, const BoundRequest& request) {
  if (saved.format == nullptr || saved.metrics.empty()) return {regate(saved, Bound{})};
  std::vector<Verdict> verdicts;
  for (const ChosenBound& chosen : choose_bounds(Case{}, *saved.format, request)) {
    verdicts.push_back(chosen.bound ? regate(saved, *chosen.bound, request.max_blind.has_value())
                                    : not_comparable(chosen.why_not));
    verdicts.back().bound.standard = chosen.standard;
  }
  return verdicts;
}

int run_regate(const RegateOptions& o, const Context& context) {
  const BoundRequest request = o.tolerance.request();
  if (request.standards.empty() && !request.rtol && !request.atol) {
    refuse("there is no bound to judge by; give --standard, or --rtol and --atol");
  }
  GateReport report;
  report.golden_file = o.results;
  report.command = context.command_line;
  report.version = version();
  for (const SavedResult& saved : saved_results(o.results)) {
    CaseReport entry;
    entry.name = saved.name.empty() ? "comparison" : saved.name;
    entry.output = saved.output;
    entry.dtype = saved.format != nullptr ? std::string(saved.format->name) : "";
    entry.verdicts = judge_again(saved, request);
    entry.reproduce =
        formatted("{} regate {}{}", context.program, shell_word(o.results), o.tolerance.text());
    report.cases.push_back(std::move(entry));
  }
  o.tolerance.note_unused(report);
  write_result(o.json, [&] { return gate_json(report); });
  if (o.json != "-") {
    std::string text;
    std::size_t width = 4;
    std::map<std::string, std::int64_t> notes;
    for (const CaseReport& c : report.cases)
      width = std::max(width, printable_name(c.title()).size());
    for (const CaseReport& c : report.cases) {
      for (const Verdict& v : c.verdicts) {
        text += formatted("{:<{}}  {:<14}  {}: {}\n", printable_name(c.title()), width,
                          outcome_word(v.outcome),
                          v.bound.standard.empty() ? "-" : printable_name(v.bound.standard),
                          printable_sentence(v.because));
        for (const std::string& note : v.notes) ++notes[note];
      }
    }
    for (const auto& [note, verdicts] : notes) {
      text += formatted("note ({}): {}\n", counted(verdicts, "verdict"), printable_sentence(note));
    }
    for (const std::string& note : report.notes) {
      text += formatted("note: {}\n", printable_sentence(note));
    }
    print_result(context, text, gate_line(report));
  }
  return exit_code(report_outcome(report));
}

}  // namespace

void add_regate(Context& context) {
  auto options = std::make_shared<RegateOptions>();
  CLI::App* command = subcommand(context, "regate", "Judge saved metrics by another standard.",
                                 "assay regate result.json --standard torch");
  context.files
      .input(command->add_option("RESULT", options->results,
                                 "JSON of `assay gate --histograms` or of `assay compare`."))
      ->required();
  options->tolerance.add(context, command);
  add_json(context, command, options->json);
  on_run(context, command, [options, &context] { return run_regate(*options, context); });
}

}  // namespace assay::tools
