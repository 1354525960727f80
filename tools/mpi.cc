// assay-mpi: runs a campaign or a trial on all ranks of an MPI job.
#include <filesystem>
#include <sstream>

#include "assay/base/float_environment.h"
#include "assay/base/text.h"
#include "help.h"
#include "mpi_campaign.h"
#include "mpi_trial.h"
#include "tools.h"

namespace assay::inline v0_2::tools {
namespace {

// Runs a rank other than rank 0. It prints nothing, so that the user sees one error and not one for
// each rank.
void run_other_rank(OtherRank& rank, CLI::App& app, const std::vector<std::string>& arguments) {
  try {
    const std::vector<std::string> words = split_empty_values(arguments);
    app.parse(std::vector<std::string>(words.rbegin(), words.rend()));
  } catch (const CLI::ParseError& e) {
    std::ostringstream nowhere;
    if (app.exit(e, nowhere, nowhere) != 0) rank.fail(e.what());
  } catch (const std::exception& e) {
    rank.fail(e.what());
  }
  rank.leave();
}

void add_rank_options(CLI::App* command, Context& context, int& threads) {
  threads = 1;  // The default is one thread, because mpirun starts a rank on each core.
  command->add_option("--threads", threads,
                      "Number of threads of each rank (default: 1). 0 means all cores. The result "
                      "does not depend on it.");
  command->add_flag("-q,--quiet", context.quiet,
                    "Print only a summary line. -qq prints only errors.");
}

int run(int argc, char** argv) {
  Mpi mpi(&argc, &argv);
  const FloatEnvironment environment;
  CLI::App app{
      "assay-mpi: run a campaign or a trial on all ranks of an MPI job. The results equal those of "
      "assay."};
  app.footer(
      "Exit codes: 0 done or pass, 1 the trial found a failure, 2 wrong usage, unreadable file or\n"
      "            an error on any rank, 4 the trial could judge no output.");
  app.set_version_flag(
      "--version", [] { return formatted("assay {}", version()); }, "Show the version.");
  app.name("assay-mpi");
  app.require_subcommand(1);
  Context context{app};
  const std::vector<std::string> arguments = take_command_line(context, argc, argv);
  // Failures are repeated by one process.
  const std::filesystem::path folder = std::filesystem::path(argv[0]).parent_path();
  context.program = shell_word((folder / "assay").string());
  begin_help(app);
  CampaignFlags flags;
  CLI::App* campaign = campaign_command(
      context, "mpirun -n 8 assay-mpi campaign plans/quick.json --out results", flags);
  add_rank_options(campaign, context, flags.threads);
  TrialCommandOptions o;
  CLI::App* trial = trial_command(
      context,
      "mpirun -n 8 assay-mpi trial softmax --budget 60s -- ./run_softmax {inputs} {output}", o);
  add_rank_options(trial, context, o.threads);
  add_headings(*trial);
  if (mpi.rank() == 0) {
    on_run(context, campaign, [&] { return run_campaign_on_ranks(mpi, flags, context); });
    on_run(context, trial, [&] { return run_trial_on_ranks(mpi, o, context); });
    const int code = run_command_line(context, arguments);
    stop_other_ranks(mpi);
    return code;
  }
  OtherRank rank(mpi);
  campaign->callback([&] { work_on_campaign(rank, flags); });
  trial->callback([&] { work_on_trial(rank, o, context); });
  run_other_rank(rank, app, arguments);
  return 0;
}

}  // namespace
}  // namespace assay::tools

int main(int argc, char** argv) {
  assay::tools::begin_program(argc, argv);
  const assay::Hdf5Program program;
  return assay::tools::run(argc, argv);
}
