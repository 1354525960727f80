// assay study: answers questions about arithmetic with the emulated operators.
#include <algorithm>
#include <filesystem>
#include <map>
#include <memory>

#include "assay/base/file.h"
#include "assay/base/text.h"
#include "assay/base/words.h"
#include "assay/report/chart.h"
#include "assay/report/study_report.h"
#include "assay/wire/study_results.h"
#include "tools.h"

namespace assay::inline v0_2::tools {
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
    refuse("{} {}: the folder cannot be made", option, directory);
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
  write_result(o.json, [&] { return wire::study_json(result); });
  if (o.json != "-") {
    const auto holding = std::ranges::count_if(result.findings, &study::StudyFinding::holds);
    print_result(context, report::study_text(result),
                 formatted("{}: {} of {} hold{}", result.name, holding,
                           counted(std::ssize(result.findings), "finding"),
                           result.findings.size() == 1 ? "s" : ""));
  }
  return std::ranges::all_of(result.findings, &study::StudyFinding::holds) ? 0 : 1;
}

}  // namespace

void add_study(Context& context) {
  auto o = std::make_shared<StudyCommand>();
  const std::vector<std::string> names = names_of(study::studies());
  std::string summaries;
  for (const study::Study& s : study::studies()) {
    summaries += formatted("\n  {}: {}", s.name, s.summary);
  }
  CLI::App* command = subcommand(
      context, "study", "Answer a question about low-precision arithmetic with tables and charts.",
      "assay study fp8 --svg pictures --json fp8.json");
  command->add_option("STUDY", o->name, "Study: " + joined(names) + ".")->required();
  command->footer(command->get_footer() + "\n\nStudies:" + summaries);
  command->add_option("--csv", o->csv, "Folder for the tables, as one .csv file each.");
  command->add_option("--svg", o->svg, "Folder for the charts, as one .svg file each.");
  add_json(context, command, o->json);
  command->add_option("--seed", o->options.seed, "Seed of the random numbers.")
      ->capture_default_str();
  command
      ->add_option("--repeats", o->options.repeats,
                   "Number of repeats of random experiments. 0 means the study's own number.")
      ->check(in_range(std::int64_t{0}, std::int64_t{1} << 24));
  add_threads(context, command, o->options.threads);
  on_run(context, command, [o, &context] { return run(*o, context); });
}

}  // namespace assay::tools
