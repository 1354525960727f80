// assay report: shows results of campaigns as a page.
#include <memory>

#include "assay/base/text.h"
#include "assay/report/campaign_html.h"
#include "assay/wire/campaign_results_file.h"
#include "campaign.h"
#include "tools.h"

namespace assay::inline v0_2::tools {
namespace {

struct ReportOptions {
  std::vector<std::string> results;
  std::string html;
};

int run_report(const ReportOptions& o, const Context& context) {
  std::vector<campaign::SavedCampaign> results;
  for (const std::string& path : o.results) {
    results.push_back(with_advice(
        "`assay campaign PLAN --out FOLDER` writes results, with --resume the rest of them; `assay "
        "merge` joins shards",
        [&] { return wire::read_campaign_results(path); }));
  }
  write_result(o.html,
               [&] { return report::campaign_html(results, context.command_line, version()); });
  if (o.html != "-") {
    print_summary(context,
                  formatted("{}, written to {}", counted(std::ssize(results), "campaign"), o.html));
  }
  return 0;
}

}  // namespace

void add_report(Context& context) {
  auto o = std::make_shared<ReportOptions>();
  CLI::App* command = subcommand(
      context, "report", "Show the results of one or more campaigns as an HTML page with plots.",
      "assay report results --html page.html");
  context.files
      .input(command->add_option("RESULT", o->results,
                                 "JSON of a campaign, or the folder of its results."),
             results_read)
      ->required()
      ->type_name("FILE");
  context.files
      .output_or_standard_output(
          command->add_option("--html", o->html, "Page to write. '-' is standard output."))
      ->required();
  on_run(context, command, [o, &context] { return run_report(*o, context); });
}

}  // namespace assay::tools
