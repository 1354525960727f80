// assay identify: which arithmetic computed recorded outputs?
#include "assay/identify/identify.h"

#include <memory>

#include "assay/base/error.h"
#include "assay/base/file.h"
#include "assay/base/text.h"
#include "assay/report/identification.h"
#include "tools.h"

namespace assay::tools {
namespace {

struct IdentifyOptions {
  std::string file, glob, family, producer, json;
  int threads = 0;
};

// Cases with one output each, with the outputs that are asked for alone.
std::vector<Case> cases_of(const IdentifyOptions& o) {
  const DatasetFile in(o.file);
  std::vector<Case> cases;
  for (const std::string& name : in.case_names(o.glob)) {
    Case c = in.read(name, {.inputs = true, .golden = false, .outputs = true});
    if (!o.family.empty() && c.op != o.family) continue;
    std::vector<std::string> outputs;
    for (const auto& [output, result] : c.results) outputs.push_back(output);
    if (outputs.empty()) {
      cases.push_back(std::move(c));
    } else {
      for (const std::string& output : outputs) cases.push_back(one_output(c, output));
    }
  }
  if (!o.producer.empty()) {
    for (Case& c : cases) {
      std::erase_if(c.outputs, [&](const auto& output) { return output.first != o.producer; });
    }
  }
  return cases;
}

int run(const IdentifyOptions& o, const Context& context) {
  const std::vector<Case> cases = cases_of(o);
  std::vector<identify::Recorded> outputs;
  for (const Case& c : cases) {
    for (const auto& [producer, tensor] : c.outputs) outputs.push_back({&c, producer});
  }
  if (outputs.empty()) {
    print_error(format("error: {}: no recorded outputs to identify", o.file));
    return 3;
  }
  const std::vector<identify::Finding> findings = identify::identify(outputs, o.threads);
  if (o.json == "-") {
    print(report::identification_json(findings, o.file));
  } else {
    if (!o.json.empty()) write_file(o.json, report::identification_json(findings, o.file));
    if (!context.quiet) print(report::identification_text(findings));
  }
  bool none = false, undecided = false, left = false;
  for (const identify::Finding& f : findings) {
    left = left || !f.why.empty();
    if (!f.why.empty()) continue;
    none = none || f.outcome == identify::Outcome::kNone;
    undecided = undecided || f.outcome == identify::Outcome::kUndecided;
  }
  return none ? 1 : left ? 3 : undecided ? 4 : 0;
}

}  // namespace

void add_identify(Context& context) {
  auto options = std::make_shared<IdentifyOptions>();
  IdentifyOptions& o = *options;
  CLI::App* command = subcommand(
      context, "identify", "find the arithmetic that computed recorded outputs, bit for bit",
      "assay identify datasets/samples/hopper_tf32.h5 --case 'tf32/normal/*'");
  context.files.input(command->add_option("FILE", o.file, "dataset file with recorded outputs"))
      ->required();
  command->add_option("--case", o.glob, "only cases whose name matches this glob");
  command->add_option("--family", o.family, "only cases of this operator")
      ->check(one_of("operator", {"matmul", "dot", "scaled_matmul", "reduce_sum"}));
  command->add_option("--recorded", o.producer, "only outputs of this producer");
  context.files.output_or_standard_output(
      command->add_option("--json", o.json, "file of all of it; - for standard output"));
  command->add_option("--threads", o.threads, "0: all; the result is the same");
  on_run(context, command, [options, &context] { return run(*options, context); });
}

}  // namespace assay::tools
