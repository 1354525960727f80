#include "gate_options.h"

#include "assay/base/text.h"
#include "sources.h"

namespace assay::inline v0_2::tools {

void add_gate_options(Context& context, CLI::App* command, GateOptions& o) {
  FileOptions& files = context.files;
  o.files.add(context, command, "Golden files, folders of them, or globs in quotes.",
              "File with the outputs: one for each GOLDEN, or one for all. Can be repeated.");
  command->add_option("--recorded", o.files.recorded,
                      "Judge the recorded outputs of this producer.");
  command->add_option("--machine", o.files.machine,
                      "Emulate this machine and judge its outputs. With --recorded, the machine "
                      "that computed the recorded outputs (see `assay list machines`).");
  o.files.filter.add(command);
  o.files.source.add(context, command);
  files.input(command->get_option("--pairs"), source_reads)->type_name("PATTERN");
  o.tolerance.add(context, command);
  command
      ->add_option(
          "--abft", o.abft,
          "Also check products and attention by checksums, with this threshold (see `assay list "
          "thresholds`, default rounding_variance). residual_compensated uses the accumulators or "
          "residuals that are stored with the outputs, or the emulator's accumulator.")
      ->expected(1);
  auto* sample = command->add_option(
      "--sample", o.sample,
      "For products and attention without a golden result: compute it for N random rows and judge "
      "only these rows. Checksums still cover the whole output.");
  sample->type_name("rows=N,seed=N");
  command->add_option("--reference-implementation", o.reference_implementation,
                      "Producer that standards with a reference implementation compare with "
                      "(default: the only other producer of the case).");
  add_positive_threads(command, o.threads);
  auto* baseline = files.input(command->add_option(
      "--baseline", o.baseline, "Fail if a case is worse than in this file, or has disappeared."));
  auto* update = command->add_flag("--update-baseline", o.update_baseline,
                                   "Write the current results to --baseline if all cases pass.");
  update->needs(baseline);
  command->add_flag("--baseline-repeat", o.repeat,
                    "Treat differences from the earlier runs as noise, because this run repeats "
                    "them. Use it with --update-baseline.");
  auto* known = files.input(
      command->add_option("--known-failures", o.known_failures,
                          "File that lists cases which may fail until a date (docs/gate.md)."));
  command->add_flag(
      "--strict", o.strict,
      "Treat outputs without a golden result, and other data that belong to no case, as not "
      "comparable (exit code 3). Fail if an entry of --known-failures matches no case.");
  command
      ->add_option("--shard", o.shard,
                   "Only judge every n-th case, beginning with case i. `assay join` joins the "
                   "--json files of all shards.")
      ->type_name("i/n")
      ->excludes(baseline)
      ->excludes(known);
  auto* mutate = command->add_flag("--mutate", o.mutate,
                                   "Corrupt each output that passed, in fixed ways, and report the "
                                   "corruptions that the gate would let through.");
  mutate->excludes(sample);
  command
      ->add_option("--mutate-min", o.mutate_min,
                   "Exit with 1 if a smaller fraction of the mutations is caught.")
      ->check(in_range(0.0, 1.0))
      ->needs(mutate);
  auto* json = add_json(context, command, o.json);
  command
      ->add_flag("--histograms", o.histograms,
                 "Write all metrics and their histograms to the JSON.")
      ->needs(json);
  files.output(command->add_option("--junit", o.junit, "Write the result as JUnit XML."));
  add_html(context, command, o.html);
  files.output(command->add_option("--csv", o.csv,
                                   "Write the verdicts as CSV with one row for each case. With "
                                   "--table, add columns to that table."));
  files.output(command->add_option(
      "--save-failures", o.save_failures,
      "Write the cases that did not pass, with their outputs, to this dataset file."));
  command->add_flag("--all", o.all, "Show a row for every case, also if there are many.");
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
