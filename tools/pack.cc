// assay pack and unpack: convert cases of any layout to a dataset file, and back to arrays.
#include <map>

#include "assay/base/text.h"
#include "assay/base/words.h"
#include "assay/datasets/checks/file_error_text.h"
#include "assay/datasets/layouts/unpacked_folder.h"
#include "sources.h"

namespace assay::inline v0_2::tools {
namespace {

struct PackOptions {
  std::vector<std::string> sources;
  std::string outputs, out, glob;
  SourceOptions source;
  bool compress = false;
};

void say(const OpenedCases& opened, const Context& context) {
  if (context.quiet > 0) return;
  for (const std::string& line : split(notes_text(opened), '\n')) print_error(line);
}

// Sets the output dtypes of a case whose outputs lie in another place (Case::take_output_dtype),
// before it is written with them, because a dataset file records what the operator returns.
void take_output_dtypes(const CaseSource& outputs, Case& c) {
  if (!outputs.has_case(c.name)) return;
  const StoredCase info = outputs.info(c.name);
  for (const auto& [output, of] : info.outputs) {
    const Format* common = common_format(of);
    if (common != nullptr && c.has_output(output)) c.take_output_dtype(output, *common);
  }
}

// Adds the outputs that another source has for this case.
void add_outputs(DatasetWriter& writer, const CaseSource& golden, const CaseSource& from,
                 const std::string& name) {
  if (!from.has_case(name)) return;
  check_same_source(golden.path(), golden.attributes_of(name), from.path(),
                    from.attributes_of(name), name);
  const Case c = from.read(name, {.inputs = false, .golden = false, .recorded = true});
  for (const auto& [output, of] : c.outputs) {
    for (const auto& [producer, recorded] : of.recorded) {
      writer.put_recorded(name, producer, recorded, output);
    }
  }
}

std::vector<OpenedCases> open_all(const PackOptions& o) {
  std::vector<OpenedCases> opened;
  if (!o.source.pairs.empty()) {
    if (!o.sources.empty()) refuse("give SOURCE or --pairs, not both");
    opened.push_back(
        open_pairs(o.source.pairs[0], o.source.pairs[1], o.source.request(Side::kGolden)));
    return opened;
  }
  if (o.sources.empty()) refuse("give SOURCE, or --pairs");
  for (const std::string& path : find_sources(o.sources, o.source.layout)) {
    opened.push_back(open_cases(path, o.source.request(Side::kGolden)));
  }
  return opened;
}

int run_pack(const PackOptions& o, const Context& context) {
  const std::vector<OpenedCases> sources = open_all(o);
  std::optional<OpenedCases> outputs;
  if (!o.outputs.empty()) {
    OpenOptions request = o.source.request(Side::kOutputs);
    request.layout.clear();
    request.golden_sources = golden_sources(sources);
    outputs = open_cases(o.outputs, request);
    say(*outputs, context);
  }
  o.source.check_used(sources, outputs);
  DatasetWriter writer(o.out, o.compress);
  std::map<std::string, std::string> whence;  // of cases
  ErrorLines errors;
  for (const OpenedCases& source : sources) {
    say(source, context);
    const CaseSource& from = *source.cases;
    if (sources.size() == 1) writer.write_attributes(source.attributes);
    const auto* file = dynamic_cast<const DatasetFile*>(&from);
    for (const std::string& name : from.case_names(o.glob)) {
      const auto [before, is_new] = whence.emplace(name, from.path());
      if (!is_new) {
        throw file_error(from.path(), name, "is also a case of {}", before->second);
      }
      try {
        if (file != nullptr) {
          writer.copy(*file, name);
        } else {
          Case c = from.read(name);
          if (outputs) take_output_dtypes(*outputs->cases, c);
          writer.write(c);
        }
        if (outputs) add_outputs(writer, from, *outputs->cases, name);
      } catch (const FileError& e) {
        errors.add(e.what());
      }
    }
  }
  errors.end();
  if (errors.count() > 0) {
    print_error(formatted("error: {} of {} cannot be packed; nothing was written", errors.count(),
                          counted(std::ssize(whence), "case")));
    return 2;
  }
  writer.commit();
  for (const std::string& note : writer.notes()) print_note(context, note);
  print_summary(context, formatted("{}: {}", o.out, counted(std::ssize(whence), "case")));
  return 0;
}

struct UnpackOptions {
  std::string file, as, out, glob;
  SourceOptions source;
};

// Returns the kinds of files to which a case's arrays can be written, and TTK's layout.
std::vector<std::string> unpacked_kinds() {
  std::vector<std::string> names = names_with(array_formats(), &ArrayFormat::write);
  names.emplace_back("ttk");
  return names;
}

int run_unpack(const UnpackOptions& o, const Context& context) {
  const OpenedCases opened = open_cases(o.file, o.source.request(Side::kGolden));
  o.source.check_used({opened.layout});
  say(opened, context);
  const std::vector<std::string> cases = opened.cases->case_names(o.glob);
  if (o.as == "ttk") {
    for (const std::string& lost : write_ttk(*opened.cases, cases, o.out)) {
      print_note(context,
                 formatted("{} is left out, because TTK's layout has no place for it", lost));
    }
  } else {
    write_unpacked(opened, cases, array_format_named(o.as), o.out);
  }
  print_summary(context, formatted("{}: {}", o.out, counted(std::ssize(cases), "case")));
  return 0;
}

}  // namespace

void add_pack(Context& context) {
  auto options = std::make_shared<PackOptions>();
  CLI::App* command =
      subcommand(context, "pack",
                 "Write test cases of any layout (see `assay list layouts`) to a dataset file.",
                 "assay pack dump/ --table cases.csv --out dump.h5");
  context.files.input(command->add_option("SOURCE", options->sources, "Files, folders and globs."),
                      source_reads);
  context.files.input(command->add_option("--outputs", options->outputs,
                                          "File or folder with outputs of these cases."),
                      source_reads);
  context.files.output(command->add_option("--out", options->out, "Dataset file to write."))
      ->required();
  command->add_option("--case", options->glob, "Only use cases whose name matches this glob.");
  command->add_flag("--compress", options->compress, "Compress the arrays in the file.");
  options->source.add(context, command);
  on_run(context, command, [options, &context] { return run_pack(*options, context); });
}

void add_unpack(Context& context) {
  auto options = std::make_shared<UnpackOptions>();
  CLI::App* command =
      subcommand(context, "unpack", "Write test cases as arrays in a folder.",
                 "assay unpack datasets/samples/operators.h5 --as npy --out operators/");
  context.files
      .input(
          command->add_option("SOURCE", options->file, "Dataset file, or files of another layout."),
          source_reads)
      ->required();
  const std::vector<std::string> kinds = unpacked_kinds();
  command->add_option("--as", options->as, "Kind of the files.")
      ->required()
      ->check(CLI::IsMember(kinds));
  command->add_option("--out", options->out, "Folder to write, which must be new or empty.")
      ->required();
  command->add_option("--case", options->glob, "Only use cases whose name matches this glob.");
  options->source.add_layout(context, command);
  on_run(context, command, [options, &context] { return run_unpack(*options, context); });
}

}  // namespace assay::tools
