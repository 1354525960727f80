// assay emulate, golden, inject: commands that write a new dataset file from one.
#include <algorithm>
#include <functional>
#include <map>
#include <span>

#include "assay/base/error.h"
#include "assay/base/file.h"
#include "assay/base/printable.h"
#include "assay/base/text.h"
#include "assay/base/words.h"
#include "assay/datasets/layouts/row_cases.h"
#include "assay/fault/fault.h"
#include "assay/gate/bound_width.h"
#include "assay/gate/case_outputs.h"
#include "assay/op/operator.h"
#include "tools.h"

namespace assay::inline v0_2::tools {
namespace {

struct RewriteOptions {
  std::string file, out, glob, machine, fault, recorded;
  bool compress = false, tolerance = false, verify = false, with_accumulator = false;
  CLI::Option* out_option = nullptr;
};

void add_common(Context& context, CLI::App* command, RewriteOptions& o) {
  context.files.input(command->add_option("FILE", o.file, "Dataset file to read."))->required();
  o.out_option =
      context.files.output_in_place(command->add_option("--out", o.out, "Dataset file to write."))
          ->required();
  command->add_option("--case", o.glob, "Only use cases whose name matches this glob.");
  command->add_flag("--compress", o.compress, "Compress the arrays in the file.");
}

struct Source {
  explicit Source(const std::string& path)
      : file(path), rows(rows_are_cases(path, file.attributes())) {}
  DatasetFile file;
  bool rows;  // true if the rows of its arrays are the cases
};

// The result of a command for a case. If the case is skipped, `text` is the reason, and otherwise a
// line to print.
struct CaseResult {
  bool done;
  std::string text;
};

// Counts the cases that were skipped, for each reason.
class SkippedCases {
 public:
  void add(const std::string& name, const std::string& reason) {
    Cases& cases = reasons_[reason];
    if (cases.count++ == 0) cases.first = name;
  }
  void print_notes(const Context& context) const {
    for (const auto& [reason, cases] : reasons_) {
      print_note(context, cases.count == 1
                              ? formatted("{} is skipped: {}", cases.first, reason)
                              : formatted("{} are skipped: {} (first: {})",
                                          counted(cases.count, "case"), reason, cases.first));
    }
  }

 private:
  struct Cases {
    std::int64_t count = 0;
    std::string first = {};
  };
  std::map<std::string, Cases> reasons_;
};

// Copies every case and lets `change` add to it. Skipped cases, and cases that `change` refuses,
// are written unchanged and reported on standard error. The exit code is 3 if `change` refused a
// case, or if no case was changed. It is 2 if the description of a case could not be read. The new
// file lacks such a case, so it must not replace the input. If no case was changed, no file is
// written.
int rewrite(
    const RewriteOptions& o, const Context& context,
    const std::function<CaseResult(const Source&, DatasetWriter&, const std::string&)>& change) {
  if (!o.glob.empty() && same_file(o.file, o.out)) {
    refuse(
        "--out {} is the input, and with --case its other cases would be lost; write another file",
        o.out);
  }
  const Source source(o.file);
  const DatasetFile& in = source.file;
  const std::vector<std::string> cases = in.case_names(o.glob);
  DatasetWriter out(o.out, o.compress);
  out.write_attributes(in.attributes());
  std::size_t done = 0, failed = 0, refused = 0;
  SkippedCases skipped;
  ErrorLines errors;
  for (const std::string& name : cases) {
    try {
      (void)in.info(name);
    } catch (const FileError& e) {
      ++refused;
      errors.add(e.what());
      continue;
    }
    out.copy(in, name);
    try {
      const CaseResult result = change(source, out, name);
      done += result.done ? 1 : 0;
      if (!result.done)
        skipped.add(name, result.text);
      else if (context.quiet == 0)
        print(printable_sentence(result.text) + "\n");
    } catch (const Refusal& e) {
      ++failed;
      errors.add(formatted("{}: {}", o.file, e.what()));
    }
  }
  skipped.print_notes(context);
  errors.end();
  if (done == 0) {
    print_error(formatted("error: {}: {} changed; {} is not written", o.file,
                          cases.size() == 1 ? std::string("the only case was not")
                                            : formatted("none of {} cases was", cases.size()),
                          o.out));
    return refused > 0 ? 2 : 3;
  }
  if (refused > 0 && same_file(o.file, o.out)) {
    refuse("--out {} is the input, and its refused cases would be lost; write another file", o.out);
  }
  out.commit();
  for (const std::string& note : out.notes()) print_note(context, note);
  // With --verify and -q, this line is left out, because the summary is then how well the results
  // agree.
  if (context.quiet == 0 || !o.verify) {
    print_summary(context, formatted("{} of {}, written to {}", done,
                                     counted(std::ssize(cases), "case"), o.out));
  }
  return refused > 0 ? 2 : failed > 0 ? 3 : 0;
}

// Returns the case's name, with that of the output if it has one: "gemm/m64", or "layernorm:y".
std::string title_of(const Case& c) {
  return c.output_name().empty() ? c.name : c.name + ":" + c.output_name();
}

// The result of comparing an emulated result with a recorded one, bit for bit. All NaNs are equal.
struct Agreement {
  std::int64_t differ = 0;
  std::string text;
};
Agreement agreement(const Tensor& emulated, const Tensor& recorded, const std::string& producer) {
  if (&emulated.format() != &recorded.format() || emulated.shape() != recorded.shape()) {
    return {recorded.size(), formatted("{}: not comparable, because it is {} {}", producer,
                                       recorded.format().name, shape_text(recorded.shape()))};
  }
  const Format& f = emulated.format();
  Agreement result;
  for (std::int64_t i = 0; i < emulated.size(); ++i) {
    const std::uint64_t ours = emulated.view().bits_at(i), theirs = recorded.view().bits_at(i);
    if (ours == theirs || (is_nan(f, ours) && is_nan(f, theirs))) continue;
    if (result.differ++ == 0) {
      result.text =
          formatted("first at {}: {}, recorded {}", shape_text(emulated.view().multi_index(i)),
                    element_text(f, ours), element_text(f, theirs));
    }
  }
  result.text = result.differ == 0
                    ? formatted("{}: {} bit for bit", producer,
                                emulated.size() == 1
                                    ? std::string("the only element agrees")
                                    : formatted("all {} elements agree", grouped(emulated.size())))
                    : formatted("{}: {} of {} elements differ, {}", producer,
                                grouped(result.differ), grouped(emulated.size()), result.text);
  return result;
}

// Computes the result of a case, or of each of its rows if the rows are the cases.
Tensor computed(const Source& in, const Case& c,
                const std::function<Tensor(const Case&, int threads)>& compute) {
  if (!in.rows) return compute(c, 0);
  return computed_by_rows(c, rows_of(in.file.path(), in.file.info(c.name)), 0,
                          [&](const Case& row) { return compute(row, 1); });
}

int run_emulate(const RewriteOptions& o, const Context& context) {
  const Machine& machine = machine_named(o.machine);
  if (o.with_accumulator && o.out.empty()) {
    refuse("--with-accumulator needs --out FILE");
  }
  std::int64_t agree = 0, differ = 0, accumulators = 0;
  const auto one = [&](const Source& in, DatasetWriter* out, const std::string& name) {
    Case whole = in.file.read(name, {.inputs = true, .golden = false, .recorded = o.verify});
    if (find_operator(whole.op) == nullptr) {
      return CaseResult{false, formatted("assay does not emulate the operator '{}'", whole.op)};
    }
    const Case c = judged_case(std::move(whole));
    const Tensor result = computed(
        in, c, [&](const Case& each, int threads) { return emulate(each, machine, threads); });
    std::string line = formatted("{}: {} {} on {}", title_of(c), result.format().name,
                                 shape_text(result.shape()), machine.name);
    if (out != nullptr) {
      // A variant of a machine has commas in its name, which a producer's name must not contain. So
      // its producer is the name of the machine's row, without the variant.
      const std::string row(machine.name), producer(machine.family());
      out->put_output(name, producer, result, {{"machine", row}}, c.output_name());
      Epilogue epilogue;
      if (o.with_accumulator) {
        try {
          epilogue.accumulator = computed(in, c, [&](const Case& each, int threads) {
            return emulate_accumulator(each, machine, threads);
          });
          ++accumulators;
          line += ", with its accumulator";
        } catch (const Refusal& e) {
          line += formatted("; no accumulator: {}", e.reason());
        }
      }
      // An empty epilogue removes the one that the input file has for this output.
      out->put_epilogue(name, producer, epilogue, c.output_name());
    }
    for (const auto& [producer, recorded] : c.output().recorded) {
      if (!o.recorded.empty() && producer != o.recorded) continue;
      const Agreement a = agreement(result, recorded.tensor, producer);
      (a.differ == 0 ? agree : differ) += 1;
      line += "; " + a.text;
    }
    return CaseResult{true, line};
  };
  int code;
  if (o.out.empty()) {
    if (!o.verify) refuse("there is nothing to do; give --out FILE or --verify");
    const Source in(o.file);
    code = 0;
    SkippedCases skipped;
    ErrorLines errors;
    for (const std::string& name : in.file.case_names(o.glob)) {
      try {
        const CaseResult result = one(in, nullptr, name);
        if (!result.done) {
          skipped.add(name, result.text);
        } else if (context.quiet == 0) {
          print(printable_sentence(result.text) + "\n");
        }
      } catch (const FileError& e) {
        code = 2;
        errors.add(e.what());
      } catch (const Refusal& e) {
        if (code == 0) code = 3;
        errors.add(formatted("{}: {}", o.file, e.what()));
      }
    }
    skipped.print_notes(context);
    errors.end();
  } else {
    code = rewrite(o, context, [&](const Source& in, DatasetWriter& out, const std::string& name) {
      return one(in, &out, name);
    });
    if (o.with_accumulator && accumulators == 0 && code == 0) {
      print_error(formatted(
          "error: {}: no case has an accumulator to write; leave out --with-accumulator", o.file));
      code = 3;
    }
  }
  if (!o.verify || code == 2) return code;
  if (agree + differ == 0) {
    print_error(formatted(
        "error: {}: there are no recorded outputs to compare with; leave out --verify", o.file));
    return 3;
  }
  print_summary(context, formatted("{} of {} agree bit for bit with {}", grouped(agree),
                                   counted(agree + differ, "recorded output"), machine.name));
  return differ > 0 ? 1 : code;
}

int run_golden(const RewriteOptions& o, const Context& context) {
  return rewrite(o, context, [&](const Source& in, DatasetWriter& out, const std::string& name) {
    if (o.tolerance && in.rows) {
      refuse_case(
          name, "--tolerance gives each case its own bound, but its rows are cases and share one");
    }
    Case whole = in.file.read(name, {.inputs = true, .golden = false, .recorded = false});
    if (whole.inputs.empty() || find_operator(whole.op) == nullptr) {
      return CaseResult{false,
                        whole.inputs.empty()
                            ? std::string("there are no inputs")
                            : formatted("assay does not compute the operator '{}'", whole.op)};
    }
    const Case c = judged_case(std::move(whole));
    const Tensor result =
        computed(in, c, [](const Case& each, int threads) { return golden_result(each, threads); });
    out.put_golden(name, result, c.output_name());
    std::string note;
    if (o.tolerance) {
      try {
        const DerivedTolerance t = explained_tolerance(c);
        for (const auto& [attribute, value] : t.attributes()) {
          out.put_attribute(name, attribute, value, c.output_name());
        }
        note = formatted(", rtol {}, atol {}", short_number(t.rtol), short_number(t.atol));
      } catch (const Refusal& e) {
        note = formatted("; {}", e.what());
      }
    }
    return CaseResult{true, formatted("{}: {} {}{}", title_of(c), result.format().name,
                                      shape_text(result.shape()), note)};
  });
}

// A fault may not fit the case's dtype and shape, so the error names the case.
Injection injected(Tensor& tensor, const FaultSpec& spec, const std::string& name) {
  try {
    return inject(tensor, spec, stream_of(name));
  } catch (const Refusal& e) {
    refuse_case(name, e.what());
  }
}

// The fault must name an output of the case if the case has several.
void require_output(const StoredCase& info, const FaultSpec& spec) {
  std::vector<std::string> names;
  if (info.names_outputs()) names = keys_of(info.outputs);
  if (spec.output.empty() && !names.empty()) {
    refuse_case(info.name, "has the outputs {}; choose one in the fault, such as output={}",
                joined(names), names[0]);
  }
  if (spec.output.empty() || info.has_output(spec.output)) return;
  refuse_case(info.name, names.empty()
                             ? formatted("has only one output, without a name; leave out output={}",
                                         spec.output)
                             : formatted("has no output '{}'{}; its outputs are {}", spec.output,
                                         did_you_mean_aside(spec.output, names), joined(names)));
}

int run_inject(const RewriteOptions& o, const Context& context) {
  const FaultSpec spec = parse_fault(o.fault);
  fault::require_in_output(spec);
  std::string producer = o.recorded;
  if (producer.empty()) {
    const DatasetFile in(o.file);
    const std::vector<std::string> producers = producers_of(in, in.case_names(o.glob));
    if (producers.size() != 1) {
      refuse(
          producers.empty()
              ? formatted(
                    "{} has no recorded outputs to put faults into; make some with `assay emulate`",
                    o.file)
              : formatted("{} has outputs of several producers; choose one with --recorded: {}",
                          o.file, joined(producers)));
    }
    producer = producers[0];
  }
  return rewrite(
      o, context, [&](const Source& source, DatasetWriter& out, const std::string& name) {
        const DatasetFile& in = source.file;
        const StoredCase info = in.info(name);
        require_output(info, spec);
        const StoredOutput* of = info.find_output(spec.output);
        if (of == nullptr || of->recorded_by(producer) == nullptr) {
          return CaseResult{false, formatted("there is no recorded output of '{}'", producer)};
        }
        Tensor tensor = in.read_output(name, producer, spec.output);
        const Injection injection = injected(tensor, spec, name);
        if (injection.flips.empty()) {
          return CaseResult{false, formatted("not injectable: no element can take {}", o.fault)};
        }
        std::string line = (spec.output.empty() ? name : name + ":" + spec.output) + ":";
        // A fault may flip bits in all 256 elements of a tile, so only the first few flips are
        // shown.
        constexpr std::size_t kShown = 8;
        const std::size_t shown = std::min(kShown, injection.flips.size());
        for (const Flip& flip : std::span(injection.flips).first(shown)) {
          line += formatted(" {} {} -> {}", shape_text(tensor.view().multi_index(flip.linear)),
                            element_text(tensor.format(), flip.before),
                            element_text(tensor.format(), flip.after));
        }
        if (shown < injection.flips.size()) {
          line += formatted(" and {} more", injection.flips.size() - shown);
        }
        if (injection.not_injectable > 0) {
          line += formatted(" ({} more not injectable)", injection.not_injectable);
        }
        out.put_output(name, producer, tensor, {{"fault", spec.text()}}, spec.output);
        return CaseResult{true, line};
      });
}

}  // namespace

void add_emulate(Context& context) {
  auto options = std::make_shared<RewriteOptions>();
  CLI::App* command = subcommand(
      context, "emulate", "Compute every case on an emulated machine.",
      "assay emulate datasets/samples/transformer_gemms.h5 --machine ascend910b --out outputs.h5");
  add_common(context, command, *options);
  options->out_option->required(false);
  command
      ->add_option("--machine", options->machine,
                   "Machine (see `assay list machines`), also with parameters of its matrix unit: "
                   "hopper,kept_bits=24.")
      ->required();
  command->add_flag("--verify", options->verify,
                    "Compare with the recorded outputs, bit for bit. Exit with 1 if they differ.");
  command->add_option("--recorded", options->recorded,
                      "Only compare with the outputs of this producer.");
  command->add_flag("--with-accumulator", options->with_accumulator,
                    "Also write the accumulator of each product, before its cast, for `assay gate "
                    "--abft residual_compensated`.");
  on_run(context, command, [options, &context] { return run_emulate(*options, context); });
}

void add_golden(Context& context) {
  auto options = std::make_shared<RewriteOptions>();
  CLI::App* command =
      subcommand(context, "golden", "Compute the golden result of every case that has inputs.",
                 "assay golden inputs.h5 --out golden.h5 --tolerance");
  add_common(context, command, *options);
  command->add_flag(
      "--tolerance", options->tolerance,
      "Also give each case an rtol and atol that are derived from its data, and the reason.");
  on_run(context, command, [options, &context] { return run_golden(*options, context); });
}

void add_inject(Context& context) {
  auto options = std::make_shared<RewriteOptions>();
  CLI::App* command = subcommand(
      context, "inject", "Put faults into recorded outputs.",
      "assay inject outputs.h5 --fault flip,bit=14,seed=1 --recorded ascend910b --out broken.h5");
  add_common(context, command, *options);
  command
      ->add_option("--fault", options->fault,
                   "Fault: "
                   "flip,bit=N[,direction=0to1|1to0][,site=tile][,output=NAME][,at=I:J][,seed=N][,"
                   "count=N], or another change or site (see `assay list faults`).")
      ->required();
  command->add_option("--recorded", options->recorded, "Producer whose outputs are changed.");
  on_run(context, command, [options, &context] { return run_inject(*options, context); });
}

}  // namespace assay::tools
