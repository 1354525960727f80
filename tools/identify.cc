// assay identify and probes: find out which arithmetic computed recorded outputs, and make inputs
// that distinguish arithmetics.
#include "assay/identify/identify.h"

#include <algorithm>
#include <memory>
#include <optional>

#include "assay/base/file.h"
#include "assay/base/text.h"
#include "assay/base/words.h"
#include "assay/datasets/layouts/open_cases.h"
#include "assay/gate/known_failures.h"
#include "assay/identify/probes.h"
#include "assay/machine/machine_file.h"
#include "assay/report/identification.h"
#include "assay/wire/identification.h"
#include "tools.h"

namespace assay::inline v0_2::tools {
namespace {

struct IdentifyOptions {
  std::string file, glob, family, producer, json, out;
  MachineRecord record;
  int threads = 0;
};

// Returns true if the data of some output distinguish a parameter's value from every other value
// that was tried.
bool is_settled(const std::vector<const identify::Finding*>& findings, std::string_view name) {
  return std::ranges::any_of(findings, [&](const identify::Finding* f) {
    return std::ranges::any_of(f->evidence, [&](const identify::Evidence& e) {
      return e.parameter == name && e.differ > 0 && e.same.empty();
    });
  });
}

// Writes the rows of the models that were found for certain, by the format that the unit reads.
// Throws Refusal if outputs of one format have different models, or if no model was
// found.
void write_machine(const std::vector<identify::Finding>& findings, const IdentifyOptions& o) {
  std::vector<DotModel> rows;
  Known<bool> bias_first = assumed(true);
  bool is_first = true;
  std::vector<const identify::Finding*> found;
  for (const identify::Finding& f : findings) {
    if (f.outcome == identify::Outcome::kFound && f.candidate && f.why.empty()) found.push_back(&f);
  }
  for (const identify::Finding* f : found) {
    const DotModel& model = f->candidate->model;
    const auto row = std::ranges::find(rows, model.input, &DotModel::input);
    if (row != rows.end()) {
      identify::Candidate known = *f->candidate;
      known.model = *row;
      if (!identify::same(known, *f->candidate)) {
        refuse(
            "--out {}: different models explain the outputs of {}; choose the cases of one kernel "
            "with --case",
            o.out, model.input);
      }
      continue;
    }
    std::vector<const identify::Finding*> alike;
    for (const identify::Finding* other : found) {
      if (other->candidate->model.input == model.input) alike.push_back(other);
    }
    DotModel measured = model;
    const auto how = [&](std::string_view name) {
      return is_settled(alike, name) ? Provenance::kMeasured : Provenance::kAssumed;
    };
    measured.chunk.how = how("chunk");
    measured.order.how = how(model.kept_bits.value > 0 ? "kept_bits" : "order");
    measured.rounding.how = how("rounding");
    measured.kept_bits.how = how("kept_bits");
    measured.alignment.how = how("alignment");
    measured.emax_floor.how = how("emax_floor");
    measured.accumulator.how = how("accumulator");
    measured.mantissa_bits.how = how("mantissa_bits");
    measured.round_products.how = how("round_products");
    measured.flush_inputs.how = how("flush_inputs");
    measured.flush_sums.how = how("flush_sums");
    measured.promotion_interval = assumed(0);  // of the case
    rows.push_back(measured);
    const bool settles_bias = is_settled(alike, "bias_first");
    if (is_first || settles_bias) {
      bias_first = {f->candidate->bias_first,
                    settles_bias ? Provenance::kMeasured : Provenance::kAssumed};
    }
    is_first = false;
  }
  if (rows.empty()) {
    refuse("--out {}: no model was found, so nothing was written", o.out);
  }
  MachineRecord record = o.record;
  record.date = today();
  record.evidence = o.file;
  write_file(o.out, machine_json(record, rows, bias_first));
}

// Reads the cases that match the options, as cases with one output each. If a producer was given,
// they have only its recorded outputs.
std::vector<Case> cases_of(const IdentifyOptions& o) {
  const OpenedCases opened = open_cases(o.file, {.layout = "dataset"});
  const CaseSource& in = *opened.cases;
  std::vector<Case> cases;
  for (const std::string& name : in.case_names(o.glob)) {
    Case c = in.read(name, {.inputs = true, .golden = false, .recorded = true});
    if (!o.family.empty() && c.op != o.family) continue;
    if (c.names_outputs()) {
      for (const std::string& output : keys_of(c.outputs)) cases.push_back(c.only(output));
    } else {
      cases.push_back(std::move(c));
    }
  }
  return cases;
}

std::string summary_of(const std::vector<identify::Finding>& findings) {
  std::int64_t found = 0, none = 0, undecided = 0, left = 0;
  for (const identify::Finding& f : findings) {
    std::int64_t& count = !f.why.empty()                               ? left
                          : f.outcome == identify::Outcome::kFound     ? found
                          : f.outcome == identify::Outcome::kUndecided ? undecided
                                                                       : none;
    ++count;
  }
  std::string text = counted(std::ssize(findings), "output") + ":";
  for (const auto& [count, word] :
       {std::pair(found, "identified"), std::pair(undecided, "undecided"),
        std::pair(none, "not identified"), std::pair(left, "not tried")}) {
    if (count > 0)
      text += formatted("{} {} {}", text.back() == ':' ? "" : ",", grouped(count), word);
  }
  return text;
}

void add_command(identify::Decision& d) {
  d.command = formatted("assay probes {} --shape {},{},{} --output-dtype {} --out probes.h5",
                        d.format->name, d.shape.m, d.shape.k, d.shape.n, d.output->name);
}

int run(const IdentifyOptions& o, const Context& context) {
  const std::vector<Case> cases = cases_of(o);
  std::vector<identify::Recorded> outputs;
  for (const Case& c : cases) {
    for (const auto& [producer, recorded] : c.output().recorded) {
      if (o.producer.empty() || producer == o.producer) outputs.push_back({&c, producer});
    }
  }
  if (outputs.empty()) throw NoCaseError(o.file, "", "has no recorded outputs to identify");
  std::vector<identify::Finding> findings = identify::identify(outputs, {.threads = o.threads});
  for (identify::Finding& f : findings) {
    if (f.decision && f.decision->format != nullptr) add_command(*f.decision);
  }
  context.tell(&Listener::identify, findings);
  write_result(o.json, [&] { return wire::identification_json(findings, o.file); });
  if (o.json != "-") {
    print_result(context, report::identification_text(findings), summary_of(findings));
  }
  if (!o.out.empty()) write_machine(findings, o);
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
      context, "identify", "Find the arithmetic that computed recorded outputs, bit for bit.",
      "assay identify datasets/samples/hopper_tf32.h5 --case 'tf32/normal/*'");
  context.files
      .input(context.add_option(command, "FILE", o.file, "Dataset file with recorded outputs."))
      ->required();
  context.add_option(command, "--case", o.glob, "Only use cases whose name matches this glob.");
  context.add_option(command, "--family", o.family, "Only use cases of this operator.")
      ->check(one_of("operator", identify::identifiable_operators()));
  context.add_option(command, "--recorded", o.producer, "Only use outputs of this producer.");
  add_json(context, command, o.json);
  context.files.output(context.add_option(
      command, "--out", o.out,
      "Write the arithmetic that was found to a machine file, for --machine (docs/machines.md)."));
  o.record.name = "measured";
  context.add_option(command, "--name", o.record.name, "Name of the machine in this file.")
      ->capture_default_str();
  context.add_option(command, "--device", o.record.device,
                     "Device that recorded the outputs, for this file.");
  context.add_option(command, "--driver", o.record.driver,
                     "Driver and libraries of the device, for this file.");
  add_threads(context, command, o.threads);
  on_run(context, command, [options, &context] { return run(*options, context); });
}

void add_probes(Context& context) {
  struct Options {
    std::vector<std::string> dtypes;
    std::string out, output_dtype;
    std::vector<std::int64_t> shape;
    std::uint64_t seed = 0;
    bool compress = false;
  };
  auto options = std::make_shared<Options>();
  Options& o = *options;
  CLI::App* command =
      subcommand(context, "probes", "Make products whose results show how a matrix unit adds.",
                 "assay probes float16 bfloat16 --out probes.h5");
  command->add_option("DTYPE", o.dtypes, "Dtype of the operands. Can be repeated.")->required();
  context.files.output(command->add_option("--out", o.out, "Dataset file to write."))->required();
  command->add_option("--output-dtype", o.output_dtype,
                      "Dtype of the results. float32 shows the most.");
  command
      ->add_option("--shape", o.shape,
                   "Sizes M,K,N of all products, for a kernel that divides K by its sizes "
                   "(default: 32,128,32 and 32,256,32).")
      ->delimiter(',')
      ->expected(3);
  command->add_option("--seed", o.seed, "Seed of the random numbers.")->capture_default_str();
  command->add_flag("--compress", o.compress, "Compress the arrays in the file.");
  on_run(context, command, [options, &context] {
    std::optional<identify::ProbeShape> shape;
    if (!options->shape.empty()) {
      shape = {options->shape[0], options->shape[1], options->shape[2]};
    }
    const Format* output =
        options->output_dtype.empty() ? nullptr : &format_named(options->output_dtype);
    DatasetWriter out(options->out, options->compress);
    std::size_t count = 0;
    for (const std::string& dtype : options->dtypes) {
      for (Case& c : identify::probes(format_named(dtype), output, options->seed, shape)) {
        c.attributes["source"] = formatted("assay probes {} --seed {}", dtype, options->seed);
        out.write(c);
        ++count;
      }
    }
    out.commit();
    print_summary(context,
                  formatted("{}, written to {}", counted(static_cast<std::int64_t>(count), "case"),
                            options->out));
    return 0;
  });
}

}  // namespace assay::tools
