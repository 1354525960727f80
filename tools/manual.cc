// assay completion and man: shell completions and a manual page. Both are generated from the
// command line itself, so that they agree with --help.
#include <filesystem>

#include "assay/abft/threshold.h"
#include "assay/audit/corruption.h"
#include "assay/base/file.h"
#include "assay/base/text.h"
#include "assay/base/words.h"
#include "assay/datasets/layouts/open_cases.h"
#include "assay/fault/change.h"
#include "assay/judge/standards.h"
#include "assay/machine/machine.h"
#include "assay/op/operator.h"
#include "assay/study/study.h"
#include "assay/tensor/distribution.h"
#include "audit_program.h"
#include "help.h"
#include "tools.h"

namespace assay::inline v0_2::tools {
namespace {

using Words = std::vector<std::string>;

Words infinity_names() {
  Words names;
  for (const Infinity policy : {Infinity::kSign, Infinity::kSaturating, Infinity::kFewer}) {
    names.emplace_back(infinity_word(policy));
  }
  return names;
}

// Returns the targets of `audit`.
Words target_names() {
  Words names = {"gate", "standards"};
  for (const Words& more : {standard_names(), names_of(adapters())}) {
    names.insert(names.end(), more.begin(), more.end());
  }
  return names;
}

// Options, of any subcommand, whose value begins with a word of a table. An option that one_of() or
// CLI::IsMember checks needs no row.
struct TableWords {
  std::string_view option;
  Words (*words)();
};
Words dtype_names() {
  Words names = names_of(formats());
  for (const Format& f : complex_formats()) names.emplace_back(f.name);
  return names;
}
constexpr TableWords kTableWords[] = {
    {"--abft", [] { return names_of(thresholds()); }},
    {"--corruption", [] { return names_of(audit::corruptions()); }},
    {"--distribution", [] { return names_of(distributions()); }},
    {"--dtype", dtype_names},
    {"--fault", [] { return names_of(fault::change_rows()); }},
    {"--golden-dtype", dtype_names},
    {"--infinity", infinity_names},
    {"--layout", [] { return names_of(layouts()); }},
    {"--machine", [] { return names_of(machines()); }},
    {"--output-dtype", dtype_names},
    {"--standard", standard_names},
    {"--target", target_names},
    {"--yardstick", standard_names},
    {"OP", [] { return names_with(operators(), &Operator::generate); }},
    {"STUDY", [] { return names_of(study::studies()); }},
};

// Returns the words that an option's value may be, or an empty list if they are in no table.
Words words_of(const CLI::Option& option) {
  const TableWords* const row = find_row(kTableWords, option.get_name(), &TableWords::option);
  if (row != nullptr) return row->words();
  // An option with CLI::IsMember has a type name such as "TEXT:{bash,zsh}", which lists its words.
  const std::string type = option.get_type_name();
  const std::size_t begin = type.find(":{"), end = type.find('}');
  if (begin == std::string::npos || end == std::string::npos) return {};
  return split(std::string_view(type).substr(begin + 2, end - begin - 2), ',');
}

// options_of() returns the options with dashes of a program or a subcommand, and positionals_of()
// the arguments without dashes.
std::vector<const CLI::Option*> options_of(const CLI::App& command) {
  return command.get_options([](const CLI::Option* o) { return !o->get_positional(); });
}
std::vector<const CLI::Option*> positionals_of(const CLI::App& command) {
  return command.get_options([](const CLI::Option* o) { return o->get_positional(); });
}

// Returns an option's names, such as "-q" and "--quiet", long ones first.
Words names_of_option(const CLI::Option& option) {
  Words names;
  for (const std::string& name : option.get_lnames()) names.push_back("--" + name);
  for (const std::string& name : option.get_snames()) names.push_back("-" + name);
  return names;
}

// Returns the name of the shell function for a program.
std::string function_name(const std::string& program) {
  std::string name = "_" + program;
  for (char& c : name) {
    if (std::isalnum(static_cast<unsigned char>(c)) == 0) c = '_';
  }
  return name;
}

// -- bash

// Returns a branch of Bash's `case`. Its command `then` runs if one of these options is the word
// before the cursor.
std::string bash_case(const Words& names, const std::string& then) {
  return names.empty() ? "" : formatted("        {}) {} ;;\n", joined(names, "|"), then);
}

std::string bash_command(const CLI::App& command) {
  Words options, files, words;
  std::string cases;
  for (const CLI::Option* option : options_of(command)) {
    const Words names = names_of_option(*option);
    options.insert(options.end(), names.begin(), names.end());
    const Words values = words_of(*option);
    if (!takes_value(*option)) continue;
    if (values.empty()) {
      files.insert(files.end(), names.begin(), names.end());
    } else {
      cases += bash_case(names, formatted("words={}", shell_word(joined(values, " "))));
    }
  }
  for (const CLI::Option* positional : positionals_of(command)) {
    const Words more = words_of(*positional);
    words.insert(words.end(), more.begin(), more.end());
  }
  // This branch is used if the word before the cursor is not an option that takes a value.
  cases += formatted("        *) words={}; if [[ $cur == -* ]]; then words={}; fi ;;\n",
                     shell_word(words.empty() ? "" : joined(words, " ")),
                     shell_word(joined(options, " ")));
  return formatted("    {})\n      case $prev in\n{}{}      esac ;;\n", command.get_name(),
                   bash_case(files, ""), cases);
}

std::string bash_completion(const CLI::App& app) {
  const std::string name = app.get_name(), function = function_name(name);
  Words commands = command_names(app);
  for (const CLI::Option* option : options_of(app)) {
    for (const std::string& word : names_of_option(*option)) commands.push_back(word);
  }
  std::string out = formatted(
      "# Completion of {0} for bash, made by `{0} completion bash`.\n"
      "{1}() {{\n"
      "  local cur=${{COMP_WORDS[COMP_CWORD]}} prev=${{COMP_WORDS[COMP_CWORD-1]}}\n"
      "  local words=\n"
      "  # --option=value comes as three words.\n"
      "  if [[ $cur == = ]]; then cur=\n"
      "  elif [[ $prev == = ]]; then prev=${{COMP_WORDS[COMP_CWORD-2]}}\n"
      "  fi\n"
      "  COMPREPLY=()\n"
      "  if ((COMP_CWORD == 1)); then\n"
      "    mapfile -t COMPREPLY < <(compgen -W {2} -- \"$cur\")\n"
      "    return\n"
      "  fi\n"
      "  case ${{COMP_WORDS[1]}} in\n",
      name, function, shell_word(joined(commands, " ")));
  for (const CLI::App* command : app.get_subcommands({})) out += bash_command(*command);
  return out + formatted(
                   "  esac\n"
                   "  # Where nothing fits, -o default below gives names of files.\n"
                   "  mapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$cur\")\n"
                   "}}\n"
                   "complete -o default -o bashdefault -F {} {}\n",
                   function, shell_word(name));
}

// -- zsh

// Escapes a text for use in single quotes. Brackets and colons are escaped, too, because they would
// end the description of an option.
std::string zsh_text(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '\'') {
      out += "'\\''";
    } else {
      if (c == '[' || c == ']' || c == ':' || c == '\\') out += '\\';
      out += c;
    }
  }
  return out;
}

// Returns the completion of a value: words of a table, or file names.
std::string zsh_action(const CLI::Option& option) {
  const Words words = words_of(option);
  return words.empty() ? "_files" : formatted("({})", zsh_text(joined(words, " ")));
}

std::string zsh_command(const CLI::App& command) {
  std::string out = formatted("    {})\n      _arguments", command.get_name());
  for (const CLI::Option* option : options_of(command)) {
    for (const std::string& name : names_of_option(*option)) {
      const bool value = takes_value(*option), is_long = name.starts_with("--");
      out += formatted(" \\\n        '{}{}{}[{}]{}'", is_repeated(*option) ? "*" : "", name,
                       !value     ? ""
                       : !is_long ? "+"
                                  : "=",
                       zsh_text(option->get_description()),
                       value ? formatted(":{}:{}", zsh_text(name), zsh_action(*option)) : "");
    }
  }
  for (const CLI::Option* positional : positionals_of(command)) {
    out += formatted(" \\\n        '{}:{}:{}'", is_repeated(*positional) ? "*" : "",
                     zsh_text(positional->get_name()), zsh_action(*positional));
  }
  return out + " ;;\n";
}

std::string zsh_completion(const CLI::App& app) {
  const std::string name = app.get_name(), function = function_name(name);
  std::string out = formatted(
      "#compdef {0}\n"
      "# Completion of {0} for zsh, made by `{0} completion zsh`.\n"
      "{1}() {{\n"
      "  local -a commands=(\n",
      name, function);
  for (const CLI::App* command : app.get_subcommands({})) {
    out += formatted("    '{}:{}'\n", command->get_name(), zsh_text(command->get_description()));
  }
  out +=
      "  )\n"
      "  if ((CURRENT == 2)); then\n"
      "    _describe subcommand commands\n"
      "    _arguments '--help[Show the help.]' '--help-all[Show the help with all options.]' "
      "'--version[Show the version.]'\n"
      "    return\n"
      "  fi\n"
      "  local command=$words[2]\n"
      "  shift words\n"
      "  ((CURRENT--))\n"
      "  case $command in\n";
  for (const CLI::App* command : app.get_subcommands({})) out += zsh_command(*command);
  // If zsh finds the text in $fpath, the text is the function's body. If the user reads it with
  // `source`, it registers the function.
  return out + formatted(
                   "  esac\n"
                   "}}\n"
                   "if [[ $funcstack[1] == {0} ]]; then {0} \"$@\"; else compdef {0} {1}; fi\n",
                   function, shell_word(name));
}

struct Shell {
  std::string_view name;
  std::string (*completion)(const CLI::App& app);
};
constexpr Shell kShells[] = {{"bash", bash_completion}, {"zsh", zsh_completion}};

// -- man

std::string roff(std::string_view text) {
  std::string out;
  // True at the beginning of a line. There a dot or a quote is escaped, because it would begin a
  // request to roff.
  bool begins = true;
  for (const char c : text) {
    if (begins && (c == '.' || c == '\'')) out += "\\&";
    if (c == '\\') {
      out += "\\e";
    } else {
      if (c == '-') out += '\\';
      out += c;
    }
    begins = c == '\n';
  }
  return out;
}

std::string verbatim(std::string_view text) { return ".nf\n" + roff(text) + "\n.fi\n"; }

std::string title(const CLI::App& app, std::string name) {
  for (char& c : name) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  // Hyphenation is switched off, because it would split names of options and standards.
  return formatted(".TH {} 1 \"\" \"{} {}\" \"User Commands\"\n.nh\n", roff(name),
                   roff(app.get_name()), version());
}

std::string option_entries(const std::vector<const CLI::Option*>& options) {
  std::string out;
  for (const CLI::Option* option : options) {
    const std::string names =
        option->get_positional() ? option->get_name() : joined(names_of_option(*option));
    out += formatted(".TP\n\\fB{}\\fR", roff(names));
    if (takes_value(*option) && !option->get_positional()) out += " \\fIVALUE\\fR";
    if (is_repeated(*option)) out += " ...";
    out += "\n" + roff(option->get_description());
    if (option->get_required()) out += " (required)";
    if (!option->get_default_str().empty()) {
      out += formatted(" (default {})", roff(option->get_default_str()));
    }
    out += "\n";
    const Words words = words_of(*option);
    if (!words.empty()) out += formatted(".br\n{}\n", roff("One of: " + joined(words) + "."));
  }
  return out;
}

std::string page_of(const CLI::App& app, const CLI::App& command) {
  const std::string whole = app.get_name() + "-" + command.get_name();
  std::string out =
      title(app, whole) + formatted(".SH NAME\n{} \\- {}\n.SH SYNOPSIS\n\\fB{} {}\\fR", roff(whole),
                                    roff(command.get_description()), roff(app.get_name()),
                                    roff(command.get_name()));
  const std::vector<const CLI::Option*> positionals = positionals_of(command);
  for (const CLI::Option* p : positionals) {
    const std::string name = roff(p->get_name()) + (is_repeated(*p) ? " ..." : "");
    out += p->get_required() ? " " + name : formatted(" [{}]", name);
  }
  out += " [\\fIOPTIONS\\fR]\n";
  if (!positionals.empty()) out += ".SH ARGUMENTS\n" + option_entries(positionals);
  out += ".SH OPTIONS\n" + option_entries(options_of(command));
  const std::string footer = command.get_footer();
  if (const std::size_t end = footer.find('\n'); end != std::string::npos) {
    out += ".SH EXAMPLE\n" + verbatim(footer.substr(end + 1));
  }
  return out + formatted(".SH SEE ALSO\n\\fB{}\\fR(1)\n", roff(app.get_name()));
}

std::string page_of(const CLI::App& app) {
  const std::string name = roff(app.get_name()), what = app.get_description();
  std::string out =
      title(app, app.get_name()) +
      formatted(".SH NAME\n{} \\- {}\n.SH SYNOPSIS\n\\fB{}\\fR \\fISUBCOMMAND\\fR ...\n", name,
                roff(without_prefix(what, app.get_name() + ": ")), name) +
      ".SH SUBCOMMANDS\n";
  Words pages;
  for (const CLI::App* command : app.get_subcommands({})) {
    out += formatted(".TP\n\\fB{}\\fR\n{}\n", roff(command->get_name()),
                     roff(command->get_description()));
    pages.push_back(formatted("\\fB{}\\-{}\\fR(1)", name, roff(command->get_name())));
  }
  return out + ".SH OPTIONS\n" + option_entries(options_of(app)) + ".SH NOTES\n" +
         verbatim(app.get_footer()) + ".SH SEE ALSO\n" + joined(pages, ",\n") + "\n";
}

std::string page_file(const CLI::App& app, const std::string& command) {
  return app.get_name() + (command.empty() ? "" : "-" + command) + ".1";
}

struct ManOptions {
  std::string command, out;
};

int run_man(const ManOptions& o, const Context& context) {
  const CLI::App& app = context.app;
  if (!o.command.empty() && !o.out.empty()) {
    refuse("give SUBCOMMAND, whose page is printed, or --out, which writes all pages; not both");
  }
  if (o.out.empty()) {
    print_result(context,
                 o.command.empty() ? page_of(app) : page_of(app, *app.get_subcommand(o.command)),
                 "1 manual page");
    return 0;
  }
  const std::filesystem::path folder = o.out;
  std::filesystem::create_directories(folder);
  write_file(folder / page_file(app, ""), page_of(app));
  for (const CLI::App* command : app.get_subcommands({})) {
    write_file(folder / page_file(app, command->get_name()), page_of(app, *command));
  }
  print_summary(context, formatted("{} manual pages, written to {}",
                                   app.get_subcommands({}).size() + 1, o.out));
  return 0;
}

}  // namespace

void add_completion(Context& context) {
  auto shell = std::make_shared<std::string>();
  CLI::App* command =
      subcommand(context, "completion", "Print the completion of this command line for a shell.",
                 "assay completion bash > ~/.local/share/bash-completion/completions/assay");
  command->add_option("SHELL", *shell, "Shell: bash or zsh.")
      ->required()
      ->check(one_of("shell", names_of(kShells)));
  on_run(context, command, [shell, &context] {
    print_result(context, row_named("shell", kShells, *shell).completion(context.app),
                 formatted("the completion for {}", *shell));
    return 0;
  });
}

void add_man(Context& context) {
  auto o = std::make_shared<ManOptions>();
  CLI::App* command =
      subcommand(context, "man", "Print the manual page of this program or of a subcommand.",
                 "assay man gate | man -l -");
  const Words commands = command_names(context.app);
  Words pages = {page_file(context.app, "")};
  for (const std::string& name : commands) pages.push_back(page_file(context.app, name));
  command->add_option("SUBCOMMAND", o->command, "Subcommand whose page is printed.")
      ->check(one_of("subcommand", commands));
  context.files.output_folder(
      command->add_option("--out", o->out, "Write all pages to this folder instead."), pages);
  on_run(context, command, [o, &context] { return run_man(*o, context); });
}

}  // namespace assay::tools
