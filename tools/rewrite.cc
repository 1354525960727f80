// assay emulate, golden, inject: commands that write a new dataset file from one.
#include <functional>

#include "assay/base/file.h"
#include "assay/base/text.h"
#include "assay/fault/fault.h"
#include "assay/op/operator.h"
#include "tools.h"

namespace assay::tools {
namespace {

struct RewriteOptions {
  std::string file, out, glob, machine, fault, recorded;
  bool compress = false, tolerance = false;
};

void add_common(CLI::App* command, RewriteOptions& o) {
  command->add_option("FILE", o.file, "dataset file")->required();
  command->add_option("--out", o.out, "file to write")->required();
  command->add_option("--case", o.glob, "only cases whose name matches this glob");
  command->add_flag("--compress", o.compress, "deflate what is written");
}

// What a command did with a case: a line to print, and whether it counts as done.
struct CaseResult {
  bool done;
  std::string line;
};

// Copies every case and lets `change` add to it. Cases that cannot be changed are named on standard
// error; all the others are written. Exit code 3 where one failed or none was done.
int rewrite(const RewriteOptions& o, const Context& context,
            const std::function<CaseResult(const DatasetFile&, DatasetWriter&, const std::string&)>&
                change) {
  if (!o.glob.empty() && same_file(o.file, o.out)) {
    throw std::invalid_argument(
        format("--out {} is the input, and with --case its other cases would be lost", o.out));
  }
  const DatasetFile in(o.file);
  const std::vector<std::string> cases = in.case_names(o.glob);
  DatasetWriter out(o.out, o.compress);
  out.write_attributes(in.attributes());
  std::size_t done = 0, failed = 0;
  for (const std::string& name : cases) {
    out.copy(in, name);
    try {
      const CaseResult result = change(in, out, name);
      done += result.done ? 1 : 0;
      if (!result.done)
        print_error(result.line);
      else if (!context.quiet)
        print(result.line + "\n");
    } catch (const std::invalid_argument& e) {
      ++failed;
      print_error(format("error: {}: {}", o.file, e.what()));
    }
  }
  if (done == 0) {
    print_error(format("error: {}: nothing was done for any of {} cases; {} is not written", o.file,
                       cases.size(), o.out));
    return 3;
  }
  out.commit();
  if (!context.quiet) {
    print(format("{} of {} cases, written to {}\n", done, cases.size(), o.out));
  }
  return failed > 0 ? 3 : 0;
}

int run_emulate(const RewriteOptions& o, const Context& context) {
  const Machine& machine = machine_named(o.machine);
  return rewrite(
      o, context, [&](const DatasetFile& in, DatasetWriter& out, const std::string& name) {
        const Case c = in.read(name, {.inputs = true, .golden = false, .outputs = false});
        if (find_operator(c.op) == nullptr) {
          return CaseResult{false, format("{}: skipped: assay does not emulate the "
                                          "operator '{}'",
                                          name, c.op)};
        }
        const Tensor result = emulate(c, machine);
        out.put_output(name, std::string(machine.name), result);
        return CaseResult{true, format("{}: {} {} on {}", name, result.format().name,
                                       shape_text(result.shape()), machine.name)};
      });
}

int run_golden(const RewriteOptions& o, const Context& context) {
  return rewrite(
      o, context, [&](const DatasetFile& in, DatasetWriter& out, const std::string& name) {
        const Case c = in.read(name, {.inputs = true, .golden = false, .outputs = false});
        if (c.inputs.empty() || find_operator(c.op) == nullptr) {
          return CaseResult{
              false,
              format("{}: skipped: {}", name,
                     c.inputs.empty() ? std::string("it has no inputs")
                                      : format("assay does not compute the operator '{}'", c.op))};
        }
        const Tensor result = golden_result(c);
        out.put_golden(name, result);
        std::string note;
        if (o.tolerance) {
          try {
            const DerivedTolerance t = derived_tolerance(c);
            out.put_attribute(name, "rtol", t.rtol);
            out.put_attribute(name, "atol", t.atol);
            out.put_attribute(name, "why", t.why);
            note = format(", rtol {}, atol {}", short_number(t.rtol), short_number(t.atol));
          } catch (const std::invalid_argument& e) {
            note = format("; {}", e.what());
          }
        }
        return CaseResult{true, format("{}: {} {}{}", name, result.format().name,
                                       shape_text(result.shape()), note)};
      });
}

int run_inject(const RewriteOptions& o, const Context& context) {
  const FaultSpec spec = parse_fault(o.fault);
  std::string producer = o.recorded;
  if (producer.empty()) {
    const DatasetFile in(o.file);
    const std::vector<std::string> producers = producers_of(in, in.case_names(o.glob));
    if (producers.size() != 1) {
      throw std::invalid_argument(
          producers.empty()
              ? format("{} has no recorded outputs to put faults into; `assay emulate` makes some",
                       o.file)
              : format("{} has outputs of several producers; choose one with --recorded: {}",
                       o.file, joined(producers)));
    }
    producer = producers[0];
  }
  return rewrite(
      o, context, [&](const DatasetFile& in, DatasetWriter& out, const std::string& name) {
        if (in.info(name).outputs.count(producer) == 0) {
          return CaseResult{false,
                            format("{}: skipped: no recorded output of '{}'", name, producer)};
        }
        Tensor tensor = in.read_output(name, producer);
        const Injection injection = inject(tensor, spec, stream_of(name));
        if (injection.flips.empty()) {
          return CaseResult{false,
                            format("{}: not injectable: no element can take {}", name, o.fault)};
        }
        std::string line = name + ":";
        for (const Flip& flip : injection.flips) {
          line += format(" {} {} -> {}", shape_text(tensor.view().multi_index(flip.linear)),
                         element_text(tensor.format(), flip.before),
                         element_text(tensor.format(), flip.after));
        }
        if (injection.not_injectable > 0) {
          line += format(" ({} more not injectable)", injection.not_injectable);
        }
        out.put_output(name, producer, tensor, {{"fault", spec.text()}});
        return CaseResult{true, line};
      });
}

}  // namespace

void add_emulate(Context& context) {
  auto options = std::make_shared<RewriteOptions>();
  CLI::App* command = subcommand(
      context, "emulate", "compute every case on an emulated machine",
      "assay emulate datasets/samples/transformer_gemms.h5 --machine ascend910b --out outputs.h5");
  add_common(command, *options);
  command->add_option("--machine", options->machine, "`assay list machines`")->required();
  command->callback([options, &context] { context.exit_code = run_emulate(*options, context); });
}

void add_golden(Context& context) {
  auto options = std::make_shared<RewriteOptions>();
  CLI::App* command =
      subcommand(context, "golden", "compute the golden result of every case that has inputs",
                 "assay golden inputs.h5 --out golden.h5 --tolerance");
  add_common(command, *options);
  command->add_flag("--tolerance", options->tolerance,
                    "also give each case an rtol and atol derived from its own data, and why");
  command->callback([options, &context] { context.exit_code = run_golden(*options, context); });
}

void add_inject(Context& context) {
  auto options = std::make_shared<RewriteOptions>();
  CLI::App* command = subcommand(
      context, "inject", "put faults into recorded outputs",
      "assay inject outputs.h5 --fault flip,bit=14,seed=1 --recorded ascend910b --out broken.h5");
  add_common(command, *options);
  command
      ->add_option("--fault", options->fault,
                   "flip,bit=N[,direction=0to1|1to0][,at=I:J][,seed=N]"
                   "[,count=N] (`assay list faults`)")
      ->required();
  command->add_option("--recorded", options->recorded, "the producer whose outputs are changed");
  command->callback([options, &context] { context.exit_code = run_inject(*options, context); });
}

}  // namespace assay::tools
