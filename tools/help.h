// The help texts: headings for subcommands and options, and what `--help` leaves out.
#pragma once

#include <CLI/CLI.hpp>

namespace assay::inline v0_2::tools {

// `--help` leaves out the options under headings if the subcommand has more options than this.
// `--help-all` shows them.
inline constexpr std::size_t kFewOptions = 15;

// Adds --help-all to a program, and sets the layout of its help texts. Subcommands that are added
// later get both.
void begin_help(CLI::App& app);

// Puts the options of a subcommand under their headings. Options without one are those that most
// people need first.
void add_headings(CLI::App& command);

// True if an option has a value, and if it may be given several times.
bool takes_value(const CLI::Option& option);
bool is_repeated(const CLI::Option& option);

}  // namespace assay::tools
