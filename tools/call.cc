#include "call.h"

#include <CLI/CLI.hpp>
#include <type_traits>
#include <utility>

#include "assay/base/float_environment.h"
#include "assay/base/text.h"
#include "assay/base/words.h"
#include "help.h"
#include "tools.h"

namespace assay::inline v0_2::tools {
namespace {

// Returns the values of an option as a command line has them. The rules of the options read these
// texts. A flag is "true".
std::vector<std::string> texts_of(const OptionMember& member) {
  return std::visit(
      [](const auto* value) -> std::vector<std::string> {
        using Member = std::remove_cv_t<std::remove_pointer_t<decltype(value)>>;
        if constexpr (std::is_same_v<Member, std::vector<std::string>>) {
          return *value;
        } else if constexpr (std::is_same_v<Member, std::string>) {
          return {*value};
        } else if constexpr (std::is_same_v<Member, bool> || std::is_same_v<Member, int>) {
          return {formatted("{}", *value)};
        } else {
          return {formatted("{}", value->value())};
        }
      },
      member);
}

// Throws Refusal if options need or exclude each other, as CLI11 does after it parsed a command
// line.
void check_together(const CLI::App& command) {
  for (const CLI::Option* option : command.get_options()) {
    if (option->get_required() && option->count() == 0) {
      refuse("{}", CLI::RequiredError(option->get_name()).what());
    }
    if (option->count() == 0) continue;
    for (const CLI::Option* other : option->get_needs()) {
      if (other->count() > 0) continue;
      refuse("{}", CLI::RequiresError(option->get_name(), other->get_name()).what());
    }
    for (const CLI::Option* other : option->get_excludes()) {
      if (other->count() == 0) continue;
      refuse("{}", CLI::ExcludesError(option->get_name(), other->get_name()).what());
    }
  }
}

// Throws Refusal if the texts of an option are refused.
void check_texts(const CLI::Option& option) {
  try {
    (void)option.reduced_results();
  } catch (const CLI::ParseError& e) {
    refuse("{}", e.what());
  }
}

}  // namespace

// The options with their rules. It parses nothing.
struct CommandCall::Parser {
  CLI::App app{"assay", "assay"};
  Context context{app};
  CLI::App* command = nullptr;
};

CommandCall::CommandCall(const std::string& command) : parser_(std::make_unique<Parser>()) {
  CLI::App& app = parser_->app;
  begin_help(app);
  Context& context = parser_->context;
  context.program = "assay";
  add_commands(context, command);
  context.quiet = 2;
  parser_->command = app.get_subcommand(command);
  refuse_empty_values(*parser_->command);
  for (const CLI::Option* option : std::as_const(*parser_->command).get_options()) {
    const auto place = context.places.find(option);
    if (place == context.places.end()) continue;
    const std::string type = option->get_type_name();
    options_.push_back({.name = option->get_name(),
                        .member = place->second.member,
                        .without_value = place->second.without_value,
                        .names_file = type == "FILE" || type == "FOLDER"});
  }
}

CommandCall::~CommandCall() = default;

CommandOption* CommandCall::find(std::string_view name) {
  return find_row(options_, name, &CommandOption::name);
}

void CommandCall::check_text(const CommandOption& option, const std::string& text) {
  CLI::Option* rules = parser_->command->get_option(option.name);
  rules->clear();
  rules->add_result(text);
  check_texts(*rules);
  rules->clear();
}

int CommandCall::run(const Listener& listener) {
  const FloatEnvironment environment;
  Context& context = parser_->context;
  context.listener = &listener;
  context.command_line = "assay " + parser_->command->get_name();
  for (const CommandOption& option : options_) {
    if (!option.is_given) continue;
    CLI::Option* rules = parser_->command->get_option(option.name);
    const bool is_argument = !option.name.starts_with("-");
    const bool is_flag = std::holds_alternative<bool*>(option.member);
    for (const std::string& text : texts_of(option.member)) {
      rules->add_result(text);
      context.command_line += " " + shell_word(is_argument ? text
                                               : is_flag   ? option.name
                                                           : option.name + "=" + text);
    }
    check_texts(*rules);
  }
  check_together(*parser_->command);
  context.runs.at(parser_->command)();
  return context.exit_code;
}

}  // namespace assay::tools
