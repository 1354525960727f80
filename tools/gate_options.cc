#include "gate_options.h"

#include "assay/abft/threshold.h"
#include "assay/base/text.h"
#include "sources.h"

namespace assay::inline v0_2::tools {

void add_gate_options(Context& context, CLI::App* command, GateOptions& o) {
  FileOptions& files = context.files;
  o.files.add(context, command, "Golden files, folders of them, or globs in quotes.",
              "File with the outputs: one for each GOLDEN, or one for all. Can be repeated.");
  context.add_option(command, "--recorded", o.files.recorded,
                     "Judge the recorded outputs of this producer.");
  context.add_option(command, "--machine", o.files.machine,
                     "Emulate this machine and judge its outputs. With --recorded, the machine "
                     "that computed the recorded outputs (see `assay list machines`).");
  o.files.filter.add(context, command);
  o.files.source.add(context, command);
  files.input(command->get_option("--pairs"), source_reads)->type_name("PATTERN");
  o.tolerance.add(context, command);
  auto* abft = context.add_option(
      command, "--abft", o.abft,
      "Also check products and attention by checksums, with this threshold (see `assay list "
      "thresholds`, default rounding_variance). residual_compensated uses the accumulators or "
      "residuals that are stored with the outputs, or the emulator's accumulator.");
  abft->expected(1);
  context.places.at(abft).without_value = kDefaultThreshold;
  auto* sample = context.add_option(
      command, "--sample", o.sample,
      "For products and attention without a golden result: compute it for N random rows and judge "
      "only these rows. Checksums still cover the whole output.");
  sample->type_name("rows=N,seed=N");
  context.add_option(command, "--reference-implementation", o.reference_implementation,
                     "Producer that standards with a reference implementation compare with "
                     "(default: the only other producer of the case).");
  add_positive_threads(context, command, o.threads);
  auto* baseline = files.input(
      context.add_option(command, "--baseline", o.baseline,
                         "Fail if a case is worse than in this file, or has disappeared."));
  auto* update = context.add_flag(command, "--update-baseline", o.update_baseline,
                                  "Write the current results to --baseline if all cases pass.");
  update->needs(baseline);
  context.add_flag(command, "--baseline-repeat", o.repeat,
                   "Treat differences from the earlier runs as noise, because this run repeats "
                   "them. Use it with --update-baseline.");
  auto* known = files.input(
      context.add_option(command, "--known-failures", o.known_failures,
                         "File that lists cases which may fail until a date (docs/gate.md)."));
  context.add_flag(
      command, "--strict", o.strict,
      "Treat outputs without a golden result, and other data that belong to no case, as not "
      "comparable (exit code 3). Fail if an entry of --known-failures matches no case.");
  context
      .add_option(command, "--shard", o.shard,
                  "Only judge every n-th case, beginning with case i. `assay join` joins the "
                  "--json files of all shards.")
      ->type_name("i/n")
      ->excludes(baseline)
      ->excludes(known);
  auto* mutate = context.add_flag(command, "--mutate", o.mutate,
                                  "Corrupt each output that passed, in fixed ways, and report the "
                                  "corruptions that the gate would let through.");
  mutate->excludes(sample);
  context
      .add_option(command, "--mutate-min", o.mutate_min,
                  "Exit with 1 if a smaller fraction of the mutations is caught.")
      ->check(in_range(0.0, 1.0))
      ->needs(mutate);
  auto* json = add_json(context, command, o.json);
  context
      .add_flag(command, "--histograms", o.histograms,
                "Write all metrics and their histograms to the JSON.")
      ->needs(json);
  files.output(context.add_option(command, "--junit", o.junit, "Write the result as JUnit XML."));
  add_html(context, command, o.html);
  files.output(context.add_option(command, "--csv", o.csv,
                                  "Write the verdicts as CSV with one row for each case. With "
                                  "--table, add columns to that table."));
  files.output(context.add_option(
      command, "--save-failures", o.save_failures,
      "Write the cases that did not pass, with their outputs, to this dataset file."));
  context.add_flag(command, "--all", o.all, "Show a row for every case, also if there are many.");
}

void check_gate_options(const GateOptions& o) {
  o.files.check();
  if (!o.files.source.pairs.empty() && !o.files.outputs.empty()) {
    refuse("--pairs names the outputs; leave --outputs out");
  }
  if (o.repeat && !o.update_baseline) {
    refuse(
        "--baseline-repeat is only for --update-baseline; add that option, or leave "
        "--baseline-repeat out");
  }
}

}  // namespace assay::tools
