// assay study: answers questions about arithmetic with the emulated operators.
#include <filesystem>
#include <map>
#include <memory>

#include "assay/base/file.h"
#include "assay/base/text.h"
#include "assay/report/chart.h"
#include "assay/report/study_report.h"
#include "assay/wire/study_results.h"
#include "tools.h"

namespace assay::tools {
namespace {

struct StudyCommand {
  std::string name, csv, json, svg;
  study::StudyOptions options;
};

// Makes a directory. Throws if `directory` exists and is not a directory.
void make_directory(const std::string& option, const std::string& directory) {
  std::error_code error;
  std::filesystem::create_directories(directory, error);
  if (!std::filesystem::is_directory(directory)) {
    refuse("{}: '{}' is no directory, and none can be made there", option, directory);
  }
}

int run(const StudyCommand& o, const Context& context) {
  const study::Study& study = study::study_named(o.name);
  // Folders are made first, so that an error comes before the computation.
  if (!o.csv.empty()) make_directory("--csv", o.csv);
  if (!o.svg.empty()) make_directory("--svg", o.svg);
  const study::StudyResult result = study.run(o.options);
  const auto path = [&](const std::string& directory, const std::string& part, const char* suffix) {
    return (std::filesystem::path(directory) / (result.name + "_" + part + suffix)).string();
  };
  std::map<std::string, std::string> files;
  if (!o.csv.empty()) {
    for (const study::StudyTable& t : result.tables)
      files[path(o.csv, t.name, ".csv")] = report::study_csv(t);
  }
  if (!o.svg.empty()) {
    for (const study::StudyChart& c : result.charts)
      files[path(o.svg, c.name, ".svg")] = report::chart_svg(c);
  }
  // Old files are removed first, so that none of them is left if a new one cannot be written.
  for (const auto& [file, text] : files) remove_file(file);
  for (const auto& [file, text] : files) write_file(file, text);
  if (o.json == "-") {
    print(wire::study_json(result));
  } else {
    if (!o.json.empty()) write_file(o.json, wire::study_json(result));
    if (!context.quiet) print(report::study_text(result));
  }
  for (const study::StudyFinding& f : result.findings) {
    if (!f.holds) return 1;
  }
  return 0;
}

}  // namespace

void add_study(Context& context) {
  auto o = std::make_shared<StudyCommand>();
  std::vector<std::string> names;
  for (const study::Study& s : study::studies())
    names.push_back(formatted("{} ({})", s.name, s.summary));
  CLI::App* command =
      subcommand(context, "study", "answer a question about arithmetic: tables, pictures, findings",
                 "assay study fp8 --svg pictures --json fp8.json");
  command->add_option("name", o->name, joined(names, "; "))->required();
  command->add_option("--csv", o->csv, "directory for the tables, a .csv each");
  command->add_option("--svg", o->svg, "directory for the charts, an .svg each");
  context.files.output_or_standard_output(
      command->add_option("--json", o->json, "file of all of it; - for standard output"));
  command->add_option("--seed", o->options.seed, "of the random numbers")->capture_default_str();
  command->add_option("--repeats", o->options.repeats, "of random experiments; 0: the study's own")
      ->check(in_range(std::int64_t{0}, std::int64_t{1} << 24));
  command->add_option("--threads", o->options.threads, "0: all; the result is the same")
      ->check(in_range(0, kMostThreads));
  on_run(context, command, [o, &context] { return run(*o, context); });
}

}  // namespace assay::tools
