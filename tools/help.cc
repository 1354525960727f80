#include "help.h"

#include <algorithm>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "assay/base/text.h"
#include "assay/base/words.h"

namespace assay::inline v0_2::tools {
namespace {

struct Heading {
  std::string_view commands;  // the names of the subcommands, with a blank between them
  std::string_view text;
  std::string_view options;  // likewise
};
constexpr Heading kHeadings[] = {
    {"gate audit pack unpack inspect", "Files and arrays",
     "--exclude --layout --table --dtype --golden-dtype --shape --golden-shape --rows-are-cases "
     "--pairs"},
    {"gate trial audit compare regate", "Bounds",
     "--standards --equal-nan --nan-accepts --infinity --max-mismatches --max-mismatch-fraction "
     "--max-blind --reference-implementation"},
    {"gate", "More checks", "--sample --mutate --mutate-min --strict"},
    {"gate", "Earlier results", "--baseline --update-baseline --baseline-repeat --known-failures"},
    {"gate audit", "Reports", "--histograms --csv --save-failures --save --all"},
    {"audit", "Right outputs", "--rounded"},
    {"audit", "The command", "--batch --pass-regex --fail-regex --python"},
    {"audit", "Limits", "--time-limit --memory-limit --output-limit"},
    {"audit", "Corruptions", "--corruption --draws --seed --yardstick --no-searches"},
    {"trial", "Inputs",
     "--output-dtype --parameter --draws --seed --max-elements --rank --nonempty --only --on "
     "--list"},
    {"trial", "Bounds", "--standard --rtol --atol --allow-empty"},
    {"trial", "The contract", "--unordered --batch-invariant"},
    {"trial", "The program", "--as --timeout --shrink-time --jobs --together --emulate"},
    {"trial", "Results", "--out --resume --merge --shard"},
    {"compare", "One side", "--dtype-actual --shape-actual --dtype-expected --shape-expected"},
    {"generate", "Inputs", "--input --a --b --bias --transpose-a --transpose-b"},
    {"generate", "The file", "--name --why --golden --compress --rows-are-cases"},
    {"gate trial audit compare generate pack campaign", "The run", "--threads --shard --trust"},
};

std::vector<const CLI::Option*> options_under(const CLI::App& command, const std::string& heading) {
  return command.get_options([&](const CLI::Option* option) {
    return option->nonpositional() && option->get_group() == heading;
  });
}

// Returns the headings of a subcommand in the order of the table, with "Options" first.
std::vector<std::string> headings_of(const CLI::App& command) {
  std::vector<std::string> headings = command.get_groups();
  const auto place = [](const std::string& heading) {
    return std::ranges::find(kHeadings, heading, &Heading::text);
  };
  std::ranges::sort(headings.begin() + 1, headings.end(), {}, place);
  return headings;
}

// Returns the type of an option's value for the help text: "INT" of "INT:INT in [1 - 4096]".
std::string type_of(const CLI::Option& option) {
  const std::string type = option.get_type_name();
  const std::size_t colon = type.find(':');
  if (colon == std::string::npos) return type;
  const std::string check = type.substr(colon + 1);
  return check.find_first_of("{ ") == std::string::npos ? check : type.substr(0, colon);
}

// Returns the values that a check allows as a sentence: "From 1 to 4096." or "One of: bash, zsh."
std::string values_of(const CLI::Option& option) {
  const std::string type = option.get_type_name();
  const std::size_t begin = type.find_first_of("[{"), end = type.find_last_of("]}");
  if (begin == std::string::npos || end == std::string::npos) return "";
  std::string values = type.substr(begin + 1, end - begin - 1);
  if (type[begin] == '{') return " One of: " + joined(split(values, ',')) + ".";
  values.replace(values.find(" - "), 3, " to ");
  return " From " + values + ".";
}

// Breaks a text into lines of at most `width` characters.
std::string wrapped(const std::string& text, std::size_t width) {
  std::string out;
  std::size_t column = 0;
  for (const std::string& word : split(text, ' ')) {
    if (column > 0 && column + 1 + word.size() > width) {
      out += '\n';
      column = 0;
    } else if (column > 0) {
      out += ' ';
      ++column;
    }
    out += word;
    column += word.size();
  }
  return out;
}

class HelpLayout : public CLI::Formatter {
 public:
  std::string make_help(const CLI::App* app, std::string name,
                        CLI::AppFormatMode mode) const override {
    if (mode == CLI::AppFormatMode::Sub) return make_expanded(app);
    std::vector<std::string> headings = headings_of(*app);
    const std::size_t all =
        app->get_options([](const CLI::Option* option) { return option->nonpositional(); }).size();
    if (mode == CLI::AppFormatMode::Normal && all > kFewOptions) headings.resize(1);
    std::string out = make_description(app) + make_usage(app, name) + make_positionals(app);
    std::size_t shown = 0;
    for (const std::string& heading : headings) {
      const std::vector<const CLI::Option*> options = options_under(*app, heading);
      if (options.empty()) continue;
      shown += options.size();
      out += make_group(heading, false, options);
    }
    out += make_subcommands(app, mode) + '\n' + make_footer(app);
    while (out.ends_with("\n\n")) out.pop_back();
    if (shown < all) {
      out += formatted("\n`{} --help-all` shows {} more options.\n", name, all - shown);
    }
    return out;
  }

  std::string make_subcommand(const CLI::App* command) const override {
    std::string out = "  " + command->get_name();
    out.resize(kNames, ' ');
    return out + command->get_description() + "\n";
  }
  std::string make_option_opts(const CLI::Option* option) const override {
    if (option->get_type_size() == 0) return "";
    std::string text = " " + type_of(*option);
    if (option->get_expected_min() > 1) text += formatted(" x {}", option->get_expected_min());
    return option->get_positional() && option->get_expected_max() > 1 ? text + " ..." : text;
  }
  std::string make_option_desc(const CLI::Option* option) const override {
    std::string text = option->get_description() + values_of(*option);
    if (!option->get_default_str().empty()) {
      text += formatted(" Default: {}.", option->get_default_str());
    }
    if (option->get_required() && !option->get_positional()) text += " Required.";
    const auto add = [&](const char* words, const std::set<CLI::Option*>& others) {
      std::vector<std::string> names;
      for (const CLI::Option* other : others) names.push_back(other->get_name());
      std::ranges::sort(names);
      if (!names.empty()) text += formatted(" {} {}.", words, joined(names, " or "));
    };
    add("Needs", option->get_needs());
    add("Not with", option->get_excludes());
    return wrapped(text, kWidth - get_column_width());
  }

 private:
  // The width of a line, and of the names at its beginning, in characters.
  static constexpr std::size_t kWidth = 100, kNames = 14;
};

}  // namespace

void begin_help(CLI::App& app) {
  app.formatter(std::make_shared<HelpLayout>());
  app.set_help_flag("-h,--help", "Show the help.");
  app.set_help_all_flag("--help-all", "Show the help with all options.");
}

void add_headings(CLI::App& command) {
  for (const Heading& row : kHeadings) {
    const std::vector<std::string> commands = split(row.commands, ' ');
    if (!contains(commands, command.get_name())) continue;
    for (const std::string& name : split(row.options, ' ')) {
      if (CLI::Option* option = command.get_option_no_throw(name)) {
        option->group(std::string(row.text));
      }
    }
  }
}

bool takes_value(const CLI::Option& option) { return option.get_items_expected_max() != 0; }

bool is_repeated(const CLI::Option& option) {
  return option.get_items_expected_max() > 1 ||
         option.get_multi_option_policy() == CLI::MultiOptionPolicy::TakeAll;
}

}  // namespace assay::tools
