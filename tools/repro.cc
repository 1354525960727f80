// assay repro: runs the command in a report that repeats a case.
#include <filesystem>
#include <memory>

#include "assay/base/text.h"
#include "assay/command_line.h"
#include "tools.h"

namespace assay::inline v0_2::tools {
namespace {

int run_repro(const std::string& line, const Context& context) {
  std::vector<std::string> words = shell_words(line);
  const std::string own = context.app.get_name();
  const std::string program =
      words.empty() ? "" : std::filesystem::path(words.front()).filename().string();
  if (program != own && program != "assay") {
    refuse("'{}' is not a reproducer line of {}; it must begin with '{} SUBCOMMAND'", line, own,
           own);
  }
  if (words.size() < 2 || words[1].starts_with("-")) {
    refuse("'{}' has no subcommand; give the whole line of the report", line);
  }
  if (words[1] == "repro") refuse("the line must not be a `repro` line");
  words.front() = shell_words(context.program).front();
  if (context.quiet > 0)
    words.push_back("-" + std::string(static_cast<std::size_t>(context.quiet), 'q'));
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  return assay::run_command_line(static_cast<int>(words.size()), arguments.data());
}

}  // namespace

void add_repro(Context& context) {
  auto line = std::make_shared<std::string>();
  CLI::App* command =
      subcommand(context, "repro", "Run the `reproduce:` line of a report again.",
                 "assay repro 'assay gate datasets/samples/transformer_gemms.h5 --recorded h200'");
  command->add_option("LINE", *line, "Text after `reproduce:`, in quotes.")->required();
  on_run(context, command, [line, &context] { return run_repro(*line, context); });
}

}  // namespace assay::tools
