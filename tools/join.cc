// assay join: joins the results of a gate's shards.
#include <algorithm>
#include <memory>
#include <utility>

#include "assay/base/file.h"
#include "assay/base/printable.h"
#include "assay/base/text.h"
#include "assay/gate/case_report.h"
#include "assay/wire/gate_parts_file.h"
#include "tools.h"

namespace assay::inline v0_2::tools {
namespace {

constexpr std::size_t kExplained = 5;

struct JoinOptions {
  std::vector<std::string> parts;
  std::string json;
};

int code_of(const std::string& outcome) {
  for (const Outcome o : {Outcome::kPass, Outcome::kFail, Outcome::kNotComparable}) {
    if (outcome == outcome_word(o)) return exit_code(o);
  }
  return outcome == "error" ? 2 : exit_code(Outcome::kUntrusted);
}

int run_join(const JoinOptions& o, const Context& context) {
  std::vector<std::pair<std::string, std::string>> texts;
  for (const std::string& path : o.parts) texts.emplace_back(path, read_file(path));
  const wire::JoinedGate whole =
      with_advice("`assay gate --shard I/N --json FILE` writes what is joined",
                  [&] { return wire::join_gate(texts); });
  write_result(o.json, [&] { return whole.json; });
  if (o.json != "-") {
    std::int64_t total = 0;
    std::vector<std::string> counts;
    for (const char* outcome : {"pass", "fail", "not_comparable", "untrusted", "error"}) {
      const auto found = whole.counts.find(outcome);
      if (found == whole.counts.end()) continue;
      total += found->second;
      counts.push_back(formatted("{} {}", grouped(found->second), outcome));
    }
    const std::string line = formatted("{}: {}\n", counted(total, "case"), joined(counts));
    std::string text = line;
    for (std::size_t i = 0; i < std::min(kExplained, whole.unpassed.size()); ++i) {
      text += printable_sentence(whole.unpassed[i]) + "\n";
    }
    if (whole.unpassed.size() > kExplained) {
      text += formatted("... and {} more that did not pass\n",
                        grouped(static_cast<std::int64_t>(whole.unpassed.size() - kExplained)));
    }
    print_result(context, text, line);
  }
  return code_of(whole.outcome);
}

}  // namespace

void add_join(Context& context) {
  auto options = std::make_shared<JoinOptions>();
  CLI::App* command =
      subcommand(context, "join", "Join the results of the shards of a gate.",
                 "assay join part-1.json part-2.json part-3.json --json result.json");
  context.files
      .input(command->add_option("PART", options->parts,
                                 "JSON files that `assay gate --shard` wrote, one for each shard."))
      ->required();
  add_json(context, command, options->json);
  on_run(context, command, [options, &context] { return run_join(*options, context); });
}

}  // namespace assay::tools
