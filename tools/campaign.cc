// assay campaign, merge and replay: run campaigns of faults, join their shards, and repeat one
// trial.
#include "campaign.h"

#include <algorithm>
#include <filesystem>
#include <memory>
#include <mutex>

#include "assay/base/call_text.h"
#include "assay/base/file.h"
#include "assay/base/printable.h"
#include "assay/base/text.h"
#include "assay/campaign/result_store.h"
#include "assay/campaign/results.h"
#include "assay/campaign/trial.h"
#include "assay/report/campaign_report.h"
#include "assay/wire/campaign_results_file.h"
#include "assay/wire/plan_file.h"
#include "status_line.h"
#include "tools.h"

namespace assay::inline v0_2::tools {
namespace {

namespace fs = std::filesystem;

// Shows the progress of a campaign. In a log this is a line every half minute.
class Progress {
 public:
  Progress(std::int64_t total, const Context& context)
      : total_(total), context_(context), line_(context.quiet > 0, 30) {}
  void add(std::int64_t matrices, std::int64_t verdicts) {
    const std::lock_guard lock(mutex_);
    done_ += matrices;
    verdicts_ += verdicts;
    context_.tell(&Listener::step, done_, total_);
    if (!line_.is_due()) return;
    line_.show(formatted("{} of {} matrices, {} million verdicts/s, {}", grouped(done_),
                         grouped(total_), speed(), line_.time_left(done_, total_)));
  }
  void end() const {
    if (context_.quiet > 0) return;
    line_.end();
    print_error(formatted("{} {} and {} in {}, {} million verdicts/s", grouped(done_),
                          done_ == 1 ? "matrix" : "matrices", counted(verdicts_, "verdict"),
                          duration_text(line_.seconds()), speed()));
  }

 private:
  std::string speed() const {
    return short_number(static_cast<double>(verdicts_) / line_.seconds() / 1e6);
  }
  std::int64_t total_, done_ = 0, verdicts_ = 0;
  const Context& context_;
  StatusLine line_;
  std::mutex mutex_;
};

constexpr const char* kResults[] = {"results.json", "results.csv", "results.txt"};

void write_results(const CampaignFlags& o, const Context& context, const campaign::Plan& plan,
                   const std::vector<campaign::CellResult>& results,
                   const std::vector<campaign::PublishedRate>& published, const std::string& text) {
  const std::string json =
      wire::campaign_json(plan, results, campaign::compare_published(plan, results, published));
  context.tell(&Listener::campaign, json, text);
  if (!o.out.empty()) {
    const auto path = [&](std::size_t i) { return (fs::path(o.out) / kResults[i]).string(); };
    write_file(path(0), json);
    write_file(path(1), report::campaign_csv(plan, results));
    write_file(path(2), text);
  }
  if (!o.json.empty()) write_file(o.json, json);
  if (!o.csv.empty()) write_file(o.csv, report::campaign_csv(plan, results));
}

std::string summary_of(const campaign::Plan& plan, const std::vector<campaign::CellResult>& results,
                       const std::string& out) {
  std::int64_t matrices = 0;
  for (const campaign::CellResult& cell : results) matrices += cell.matrices;
  return formatted("{}: {}, {} {}{}", printable_name(plan.name),
                   counted(std::ssize(results), "cell"), grouped(matrices),
                   matrices == 1 ? "matrix" : "matrices",
                   out.empty() ? "" : formatted("; the results are in {}", out));
}

// Removes the results of an earlier run from a folder that this campaign owns.
void remove_results(const std::string& folder) {
  for (const char* name : kResults) remove_file((fs::path(folder) / name).string());
}

}  // namespace

int run_campaign(const CampaignFlags& o, const Context& context, const Shard& shard,
                 const BlockRunner& runner) {
  if (shard.count > 1 && o.out.empty()) {
    refuse("--shard needs --out DIR; `assay merge` reads the shard's results there");
  }
  if (o.resume && o.out.empty()) refuse("--resume needs --out DIR");
  const std::string text = read_file(o.plan);
  const campaign::Plan plan = campaign::check_plan(
      wire::parse_plan(text, o.plan, fs::path(o.plan).parent_path().string(), list_dataset));
  const std::vector<campaign::PublishedRate> published = published_rates(o, plan, o.plan);
  std::unique_ptr<campaign::CampaignStore> store;
  if (!o.out.empty()) {
    const fs::path folder = fs::absolute(o.plan).parent_path();
    store = std::make_unique<campaign::CampaignStore>(o.out, plan, text, folder.string(), o.resume);
    remove_results(o.out);
  }
  if (runner.start) runner.start(text);
  std::unique_ptr<Progress> progress;
  const campaign::Campaign campaign(plan, {.threads = o.threads,
                                           .exact = o.exact,
                                           .load = load_dataset_case,
                                           .progress = [&](std::int64_t verdicts) {
                                             progress->add(1, verdicts);
                                             if (runner.after_matrix) runner.after_matrix();
                                           }});
  std::map<std::int64_t, campaign::BlockTally> kept;  // without a folder
  const auto has = [&](const campaign::BlockAddress& b) {
    return store ? store->has(b) : kept.count(b.index) != 0;
  };
  const auto load = [&](const campaign::BlockAddress& b) {
    return store ? store->load(b) : kept.at(b.index);
  };
  const auto run = [&](const std::vector<campaign::BlockAddress>& blocks) {
    std::int64_t matrices = 0;
    for (const campaign::BlockAddress& b : blocks) matrices += b.last - b.first;
    progress = std::make_unique<Progress>(matrices, context);
    const auto keep = [&](const campaign::BlockAddress& b, const campaign::BlockTally& tally) {
      if (store) {
        store->save(b, tally);
      } else {
        kept.emplace(b.index, tally);
      }
    };
    runner.run(campaign, blocks, keep, [&](std::int64_t matrices_done, std::int64_t verdicts) {
      progress->add(matrices_done, verdicts);
    });
    progress->end();
  };
  if (shard.count > 1) {
    // A shard computes all of its blocks. It cannot stop early, because only the merge of all
    // shards knows if the requested precision is reached.
    std::vector<campaign::BlockAddress> mine;
    const auto count = static_cast<std::int64_t>(campaign.blocks().size());
    for (const std::int64_t b : campaign::blocks_of_shard(count, shard.index, shard.count)) {
      const campaign::BlockAddress& block = campaign.blocks()[static_cast<std::size_t>(b)];
      if (!has(block)) mine.push_back(block);
    }
    if (!mine.empty()) run(mine);
    print_summary(
        context,
        shard.index > count
            ? formatted("shard {}/{} of {} has no block: there are fewer blocks ({}) than shards",
                        shard.index, shard.count, plan.name, count)
            : formatted("shard {}/{} of {} is done: {}; `assay merge` joins the shards",
                        shard.index, shard.count, printable_name(plan.name), o.out));
    return 0;
  }
  for (std::vector<campaign::BlockAddress> next;
       !(next = campaign.next_blocks(has, load)).empty();) {
    run(next);
  }
  const std::vector<campaign::CellResult> results = campaign::results_of(campaign, load);
  const std::string said = results_text(plan, results, published, o.full);
  write_results(o, context, plan, results, published, said);
  print_result(context, said, summary_of(plan, results, o.out));
  return 0;
}

namespace {

int run_merge(const CampaignFlags& o, const Context& context) {
  if (!o.out.empty()) remove_results(o.out);
  const campaign::StoredPlan stored = campaign::stored_plan(o.dirs.front());
  const std::string source = (fs::path(o.dirs.front()) / "plan.json").string();
  const campaign::Plan plan =
      campaign::check_plan(wire::parse_plan(stored.text, source, stored.folder, list_dataset));
  const std::vector<campaign::PublishedRate> published = published_rates(o, plan, source);
  const campaign::Campaign campaign(plan, {.load = load_dataset_case});
  const std::vector<std::string> paths = campaign::merged_blocks(o.dirs, campaign);
  const auto load = [&](const campaign::BlockAddress& b) {
    return campaign::load_block(paths[static_cast<std::size_t>(b.index)], b, plan);
  };
  const std::vector<campaign::CellResult> results = campaign::results_of(campaign, load);
  const std::string text = results_text(plan, results, published, o.full);
  if (!o.out.empty()) fs::create_directories(o.out);
  write_results(o, context, plan, results, published, text);
  print_result(context, text, summary_of(plan, results, o.out));
  return 0;
}

struct ReplayFlags {
  std::string plan, cell;
  std::int64_t trial = 0, fault = 0;
};

const campaign::Cell& cell_named(const campaign::Plan& plan, const std::string& word) {
  const std::size_t number = read_number<std::size_t>(word).value_or(0);
  if (number >= 1 && number <= plan.cells.size()) return plan.cells[number - 1];
  const campaign::Cell* const cell = find_row(plan.cells, word, &campaign::Cell::name);
  if (cell != nullptr) return *cell;
  const std::vector<std::string> names = names_of(plan.cells);
  refuse("the plan has no cell '{}'{}; its cells 1 to {} are {}", word, did_you_mean(word, names),
         names.size(), joined(names));
}

int run_replay(const ReplayFlags& o, const Context& context) {
  const campaign::Plan plan = campaign::check_plan(wire::read_plan(o.plan, list_dataset));
  const campaign::Cell& cell = cell_named(plan, o.cell);
  std::size_t fault = cell.faults.size();
  for (std::size_t f = 0; f < cell.faults.size(); ++f) {
    if (cell.faults[f].census) continue;
    if (o.fault == 0 ? fault == cell.faults.size() : static_cast<std::size_t>(o.fault) == f + 1) {
      fault = f;
    }
  }
  if (fault == cell.faults.size()) {
    refuse("cell {} has no random fault{} to replay; a census tries every element and bit",
           cell.name, o.fault > 0 ? formatted(" {}", o.fault) : "");
  }
  const campaign::FaultPlan& f = cell.faults[fault];
  if (o.trial < 0 || o.trial >= f.trials) {
    refuse("--trial {}: the plan has the trials 0 to {} of '{}'", o.trial, f.trials - 1,
           f.short_text());
  }
  const std::int64_t index = o.trial / f.per_matrix;
  const campaign::Matrix matrix = campaign::make_matrix(plan, cell, index, load_dataset_case);
  std::vector<campaign::MatrixDetector> gates;
  for (const campaign::GateSpec& gate : cell.gates) gates.emplace_back(gate, cell, matrix);
  const campaign::Trial trial = campaign::run_trial(plan, cell, fault, o.trial, matrix, gates);
  std::string text = formatted("cell   {}\nfault  {}: '{}', trial {} of {}, in matrix {}\n",
                               printable_name(cell.name), fault + 1, printable_name(f.short_text()),
                               o.trial, f.trials, index);
  if (cell.dataset.empty()) {
    if (cell.is_product()) {
      text += formatted("inputs a {} and b {}, seed {}\n",
                        printable_name(cell.distribution_of("a").text()),
                        printable_name(cell.distribution_of("b").text()), plan.seed);
    } else {
      // The settings from which `assay generate` makes the inputs.
      text += formatted("inputs {}, sizes {}, seed {}\n", printable_sentence(cell.inputs_text()),
                        cell.sizes_text(), matrix.test_case.integer("seed").value_or(0));
    }
  }
  if (!trial.injectable) {
    const std::string why =
        trial.what.empty() ? std::string("not injectable: the element already has this value\n")
                           : formatted("not injectable: {}\n", printable_sentence(trial.what));
    print_result(context, text + why, why);
    return 0;
  }
  text += formatted("broke  {}\n", printable_sentence(trial.what));
  const Format& output = matrix.output.format();
  const std::int64_t columns = campaign::columns_of(matrix.output);
  constexpr std::size_t kShown = 8;
  for (std::size_t i = 0; i < trial.changes.size() && i < kShown; ++i) {
    const campaign::ElementChange& c = trial.changes[i];
    const std::int64_t p = c.row * columns + c.column;
    text += formatted("  {}{}  {} became {}\n", cell.is_product() ? "c" : "result",
                      shape_text(matrix.output.view().multi_index(p)),
                      element_text(output, matrix.output.bits_at(p)), element_text(output, c.bits));
  }
  if (trial.changes.size() > kShown) {
    text += formatted("  and {} more\n", trial.changes.size() - kShown);
  }
  const std::string masked = "masked: no value of the result changed\n";
  if (trial.masked) text += masked;
  std::int64_t detected = 0;
  for (std::size_t g = 0; g < gates.size() && !trial.masked; ++g) {
    const campaign::Detection& detection = trial.detections[g];
    detected += !detection.not_checkable && detection.flagged ? 1 : 0;
    text += formatted("{}: {}", printable_name(cell.gates[g].text),
                      detection.not_checkable ? "not checkable"
                      : detection.flagged     ? "detected"
                      : detection.dismissed   ? "undetected (above the threshold, but dismissed)"
                                              : "undetected");
    if (cell.gates[g].threshold && !detection.not_checkable) {
      text += formatted(", difference {}, threshold {}", short_number(detection.difference, 6),
                        short_number(detection.threshold, 6));
    }
    text += formatted(", difference / threshold {}\n", short_number(detection.ratio, 6));
  }
  print_result(context, text,
               trial.masked ? masked
                            : formatted("detected by {} of {}", detected,
                                        counted(std::ssize(gates), "detector")));
  return 0;
}

// Returns the names in a folder of results, with its blocks.
std::vector<std::string> names_in_folder() {
  std::vector<std::string> names(std::begin(kResults), std::end(kResults));
  names.insert(names.end(), {"plan.json", "campaign.txt", "lock", "blocks/"});
  return names;
}

}  // namespace

bool results_read(const std::string& result, const std::string& target) {
  namespace fs = std::filesystem;
  std::error_code error;
  if (!fs::is_directory(result, error)) return same_place(result, target);
  const std::vector<std::string> names = names_in_folder();
  return std::ranges::any_of(names, [&](const std::string& name) {
    const std::string place = (fs::path(result) / name).string();
    return name.ends_with('/') ? lies_in(place, target) : same_place(place, target);
  });
}

namespace {

void add_output_options(Context& context, CLI::App* command, CampaignFlags& o) {
  context.files.output(context.add_option(command, "--json", o.json,
                                          "Write the results as JSON (docs/campaigns.md)."));
  context.files.output(context.add_option(command, "--csv", o.csv, "Write the results as CSV."));
  context.files.input(
      context.add_option(command, "--published", o.published,
                         "CSV of published rates to print beside the measured ones, instead of "
                         "those of the plan (docs/campaigns.md)."));
  context
      .add_option(
          command, "--published-dtype", o.published_dtype,
          "Dtype of the published rates (bf16, fp16, fp32) if their table has no column for it.")
      ->needs("--published");
  context.add_flag(command, "--full", o.full,
                   "Print every bit, also those that were always or never detected.");
}

}  // namespace

CLI::App* campaign_command(Context& context, const std::string& example, CampaignFlags& o) {
  CLI::App* command = subcommand(
      context, "campaign",
      "Inject faults by a plan, and measure the rates of detection and of false alarms.", example);
  context.files
      .input(context.add_option(command, "PLAN", o.plan, "Plan file (docs/campaigns.md)."),
             files_of_plan)
      ->required()
      ->type_name("FILE");
  context.files.output_folder(
      context.add_option(command, "--out", o.out, "Folder for results and checkpoints."),
      names_in_folder());
  context.add_flag(command, "--resume", o.resume, "Continue a campaign that was stopped.");
  context.add_flag(command, "--exact", o.exact,
                   "Compute every checksum again for each fault, instead of updating it. This is "
                   "slower, and the result is the same.");
  add_output_options(context, command, o);
  return command;
}

void add_campaign(Context& context) {
  auto o = std::make_shared<CampaignFlags>();
  CLI::App* command =
      campaign_command(context, "assay campaign plans/quick.json --out results", *o);
  context
      .add_option(
          command, "--shard", o->shard,
          "Only compute every n-th block, beginning with block i. `assay merge` joins the shards. "
          "By default, SLURM_ARRAY_TASK_* or GTEST_TOTAL_SHARDS of the environment give the shard.")
      ->type_name("i/n");
  add_threads(context, command, o->threads);
  on_run(context, command, [o, &context] {
    const BlockRunner here = {.run = [](const campaign::Campaign& campaign,
                                        const std::vector<campaign::BlockAddress>& blocks,
                                        const BlockDone& done,
                                        const CountWork&) { campaign.run(blocks, done); }};
    return run_campaign(*o, context, shard_of(o->shard), here);
  });
}

void add_merge(Context& context) {
  auto o = std::make_shared<CampaignFlags>();
  CLI::App* command = subcommand(context, "merge", "Join the shards of a campaign.",
                                 "assay merge shard1 shard2 shard3 --out results");
  context.files
      .input(
          context.files.input_folder(command->add_option("DIR", o->dirs, "Folders of the shards.")),
          files_of_shard)
      ->required();
  context.files.output_folder(command->add_option("--out", o->out, "Folder for the results."),
                              names_in_folder());
  add_output_options(context, command, *o);
  on_run(context, command, [o, &context] { return run_merge(*o, context); });
}

void add_replay(Context& context) {
  auto o = std::make_shared<ReplayFlags>();
  CLI::App* command =
      subcommand(context, "replay", "Repeat one random trial of a campaign, and show all of it.",
                 "assay replay plans/sites.json --cell 1 --fault 2 --trial 17");
  context.files.input(command->add_option("PLAN", o->plan, "Plan file."), files_of_plan)
      ->required()
      ->type_name("FILE");
  command->add_option("--cell", o->cell, "Name of the cell, or its number from 1.")->required();
  command->add_option("--trial", o->trial, "Number of the trial, from 0.")->required();
  command->add_option("--fault", o->fault, "Number of the fault from 1, if the cell has several.")
      ->check(in_range(std::int64_t{1}, std::int64_t{1} << 30));
  on_run(context, command, [o, &context] { return run_replay(*o, context); });
}

}  // namespace assay::tools
