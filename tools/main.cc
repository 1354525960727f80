// assay: the command line. Exit codes: 0 pass, 1 the comparison failed, 2 usage or unreadable file,
// 3 not comparable, 4 untrusted.
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <exception>

#include "assay/base/text.h"
#include "assay/simd/targets.h"
#include "tools.h"

namespace assay::tools {

std::string version() { return ASSAY_VERSION; }

bool use_color() { return std::getenv("NO_COLOR") == nullptr && isatty(STDOUT_FILENO) != 0; }

void print(const std::string& text) {
  if (std::fputs(text.c_str(), stdout) < 0 || std::fflush(stdout) != 0) {
    throw std::runtime_error("standard output cannot be written");
  }
}

void print_error(const std::string& text) { std::fputs((text + "\n").c_str(), stderr); }

CLI::App* subcommand(Context& context, const std::string& name, const std::string& what,
                     const std::string& example) {
  CLI::App* command = context.app.add_subcommand(name, what);
  command->footer("Example:\n  " + example);
  return command;
}

void ToleranceOptions::add(CLI::App* command) {
  command->add_option("--standard", standards,
                      "judge by this standard (`assay list standards`); several: all must pass");
  command->add_option("--rtol", rtol, "relative tolerance, over the standard's and the case's own")
      ->check(CLI::NonNegativeNumber);
  command->add_option("--atol", atol, "absolute tolerance, likewise")
      ->check(CLI::NonNegativeNumber);
  command->add_flag("--equal-nan", equal_nan, "NaN equals NaN");
}

BoundRequest ToleranceOptions::request() const {
  BoundRequest request;
  request.standards = standards;
  if (rtol >= 0) request.rtol = rtol;
  if (atol >= 0) request.atol = atol;
  if (equal_nan) request.equal_nan = true;
  return request;
}

std::string ToleranceOptions::text() const {
  std::string out;
  for (const std::string& s : standards) out += " --standard " + shell_word(s);
  if (rtol >= 0) out += format(" --rtol {}", rtol);
  if (atol >= 0) out += format(" --atol {}", atol);
  if (equal_nan) out += " --equal-nan";
  return out;
}

std::vector<std::string> producers_of(const DatasetFile& file,
                                      const std::vector<std::string>& cases) {
  std::map<std::string, bool> seen;
  for (const std::string& name : cases) {
    for (const auto& [producer, tensor] : file.info(name).outputs) seen[producer] = true;
  }
  std::vector<std::string> producers;
  for (const auto& [producer, yes] : seen) producers.push_back(producer);
  return producers;
}

}  // namespace assay::tools

int main(int argc, char** argv) {
  using namespace assay;
  CLI::App app{"assay: how good is an operator's output against its golden reference?"};
  app.footer(
      "`assay SUBCOMMAND --help` shows options and an example.\n"
      "Exit codes: 0 pass, 1 failed, 2 usage or unreadable file, 3 not comparable,\n"
      "            4 untrusted (the check could not have failed).");
  app.set_version_flag("--version", [] {
    return format("assay {} (HDF5 {}, SIMD target {})", tools::version(), hdf5_version(),
                  simd::target_name());
  });
  app.require_subcommand(1);
  tools::Context context{app};
  for (int i = 0; i < argc; ++i) {
    context.command_line += (i > 0 ? " " : "") + shell_word(argv[i]);
  }
  tools::add_gate(context);
  tools::add_emulate(context);
  tools::add_golden(context);
  tools::add_inject(context);
  tools::add_compare(context);
  tools::add_inspect(context);
  tools::add_list(context);
  for (CLI::App* command : app.get_subcommands({})) {
    command->add_flag("--quiet,-q", context.quiet, "print nothing but errors");
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    // CLI11 exits with 100 and more on usage errors; 0 for --help and --version.
    return app.exit(e) == 0 ? 0 : 2;
  } catch (const std::bad_alloc&) {
    tools::print_error("error: out of memory");
    return 2;
  } catch (const std::exception& e) {
    tools::print_error(format("error: {}", e.what()));
    return 2;
  }
  return context.exit_code;
}
