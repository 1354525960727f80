// Command lines: all of their options are parsed and checked, and no subcommand runs.
#include <string>
#include <vector>

#include "target.h"
#include "tools.h"

namespace assay::fuzz {

void run_command_line(std::span<const std::uint8_t> input) {
  std::vector<std::string> words(1);
  for (const std::uint8_t byte : input) {
    if (byte == 0) {
      words.emplace_back();
    } else {
      words.back() += static_cast<char>(byte);
    }
  }
  if (words.size() > 64) words.resize(64);
  (void)refuses("command line", [&] {
    CLI::App app{"assay"};
    app.name("assay");
    app.require_subcommand(1);
    const tools::Listener nobody;
    tools::Context context{app};
    context.listener = &nobody;
    context.parses_alone = true;
    tools::add_commands(context, words.empty() ? std::string_view() : words.front());
    (void)tools::parse_and_run(context, tools::own_words(words));
    (void)tools::unexpected(app);
  });
}

}  // namespace assay::fuzz
