// The common code of the programs and their subcommands.
#include "tools.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <limits>
#include <map>
#include <set>
#include <sstream>
#include <utility>

#include "assay/base/call_text.h"
#include "assay/base/file.h"
#include "assay/base/printable.h"
#include "assay/base/text.h"
#include "assay/base/words.h"
#include "assay/datasets/checks/file_check.h"
#include "assay/datasets/store/file_look.h"
#include "assay/judge/standards.h"
#include "assay/judge/standards_file.h"
#include "assay/report/gate_text.h"

namespace assay::inline v0_2::tools {
namespace {

constexpr const char* kHelpLine = "Run with --help for more information.";
constexpr int kMostThreads = 4096;

// Returns a check that a value is a number from `low` to `high`. CLI11's own check would print
// 1e300 with all its digits.
template <typename T>
CLI::Validator number_check(T low, T high, const std::string& needed, const std::string& type) {
  const auto problem = [=](const std::string& text) {
    const std::optional<T> value = read_number<T>(text);
    return value && *value >= low && *value <= high ? "" : formatted("{}, not '{}'", needed, text);
  };
  return {problem, type};
}

}  // namespace

std::string version() { return ASSAY_VERSION; }

bool use_color() { return std::getenv("NO_COLOR") == nullptr && isatty(STDOUT_FILENO) != 0; }

// True if the program was started without a standard output. This is saved before begin_program()
// opens /dev/null in its place.
static bool output_was_closed = false;

bool standard_output_is_closed() {
  return output_was_closed || fcntl(STDOUT_FILENO, F_GETFD) == -1;
}

// Prints colours if the terminal has them, and shows other control characters as escapes.
void print(const std::string& text) {
  std::string printed;
  for (std::string_view rest = text; !rest.empty();) {
    const auto color = std::find_if(std::begin(report::kColors), std::end(report::kColors),
                                    [&](std::string_view c) { return rest.starts_with(c); });
    const std::size_t next = rest.find('\x1b', 1);
    if (color != std::end(report::kColors) && use_color()) {
      printed += *color;
      rest.remove_prefix(color->size());
    } else {
      printed += printable_lines(rest.substr(0, next));
      rest.remove_prefix(std::min(next, rest.size()));
    }
  }
  if (std::fputs(printed.c_str(), stdout) < 0 || std::fflush(stdout) != 0) {
    throw std::runtime_error("standard output cannot be written");
  }
}

void print_error(const std::string& line) {
  std::fputs((printable_sentence(line) + "\n").c_str(), stderr);
}

void print_note(const Context& context, const std::string& text) {
  if (context.quiet == 0) print_error("note: " + text);
}

void print_result(const Context& context, const std::string& text, const std::string& summary) {
  if (context.quiet == 0) print(text);
  if (context.quiet != 1 || summary.empty()) return;
  const bool ends = summary.back() == '\n';
  print(printable_sentence(ends ? summary.substr(0, summary.size() - 1) : summary) + "\n");
}

void print_summary(const Context& context, const std::string& summary) {
  print_result(context, printable_sentence(summary) + "\n", summary);
}

void ErrorLines::end(const std::string& advice) const {
  constexpr std::int64_t kMostAlike = 5;
  constexpr std::size_t kMostLines = 10;
  const auto reason_of = [](const std::string& error) {
    const std::size_t colon = error.rfind(": ");
    return colon == std::string::npos ? error : error.substr(colon);
  };
  std::map<std::string, std::int64_t> counts;  // by reason
  for (const std::string& error : errors_) ++counts[reason_of(error)];
  std::int64_t hidden = 0;
  std::size_t lines = 0;
  std::set<std::string> merged;
  for (const std::string& error : errors_) {
    const std::string reason = reason_of(error);
    const std::int64_t count = counts[reason];
    const bool is_merged = count > kMostAlike;
    if (is_merged && !merged.insert(reason).second) continue;
    if (lines == kMostLines) {
      hidden += is_merged ? count : 1;
      continue;
    }
    ++lines;
    print_error(
        formatted("error: {}{}", error,
                  is_merged ? formatted(" (and {} more like it)", grouped(count - 1)) : ""));
  }
  if (hidden > 0) {
    print_error(formatted("error: ... and {} more{}", grouped(hidden),
                          advice.empty() ? "" : ". " + advice));
  }
}

CLI::App* subcommand(Context& context, const std::string& name, const std::string& what,
                     const std::string& example) {
  CLI::App* command = context.app.add_subcommand(name, what);
  // In the help text of a team's own program, the example has that program's name instead of
  // "assay".
  const bool ours = example.starts_with("assay ");
  command->footer("Example:\n  " + (ours ? context.app.get_name() + example.substr(5) : example));
  return command;
}

std::vector<std::string> command_names(const CLI::App& app) {
  return names_of(app.get_subcommands({}), &CLI::App::get_name);
}

CLI::Validator one_of(const std::string& kind, const std::vector<std::string>& words) {
  const auto problem = [kind, words](const std::string& word) {
    const bool known = contains(words, word);
    return known ? "" : unknown_word(kind, word, words);
  };
  // The description of the values has the form of CLI::IsMember, as completions and help expect it.
  return {problem, "{" + joined(words, ",") + "}"};
}

CLI::Validator in_range(double low, double high) {
  return number_check(
      low, high,
      formatted("a number from {} to {} is needed", short_number(low), short_number(high)),
      formatted("FLOAT in [{} - {}]", low, high));
}

CLI::Validator in_range(std::int64_t low, std::int64_t high) {
  return number_check(low, high, formatted("a whole number from {} to {} is needed", low, high),
                      formatted("INT in [{} - {}]", low, high));
}

CLI::Validator in_range(int low, int high) {
  return in_range(std::int64_t{low}, std::int64_t{high});
}

void add_threads(Context& context, CLI::App* command, int& threads) {
  context
      .add_option(command, "--threads", threads,
                  "Number of threads. 0 means all cores. The result does not depend on it.")
      ->check(in_range(0, kMostThreads));
}

void add_positive_threads(Context& context, CLI::App* command, int& threads) {
  context
      .add_option(command, "--threads", threads,
                  "Number of threads (default: all cores). The result does not depend on it.")
      ->check(in_range(1, kMostThreads));
}

CLI::Option* add_json(Context& context, CLI::App* command, std::string& json) {
  return context.files.output_or_standard_output(context.add_option(
      command, "--json", json, "Write the result as JSON. '-' is standard output."));
}

void add_html(Context& context, CLI::App* command, std::string& html) {
  context.files.output(context.add_option(command, "--html", html,
                                          "Write the result as an HTML page without other files."));
}

void write_result(const std::string& path, const std::function<std::string()>& text) {
  if (path == "-") {
    print(text());
  } else if (!path.empty()) {
    write_file(path, text());
  }
}

std::vector<std::string> standard_names() {
  std::vector<std::string> names = names_of(standards());
  names.insert(names.end(), {"accumulation", "expected_error", "bit_equal"});
  return names;
}

std::string option_text(std::string_view option, const std::string& value) {
  return value.empty() ? "" : formatted(" {} {}", option, shell_word(value));
}

namespace {

// Returns the error message for a tolerance. CLI11's own check is not used, because its message
// would print the largest float64 with all its digits.
std::string tolerance_problem(const std::string& text) {
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  const bool good = end != text.c_str() && *end == '\0' && std::isfinite(value) && value >= 0;
  return good ? "" : formatted("a tolerance is a number of at least 0, not '{}'", text);
}

// The first word must name a subcommand. Returns the error message if it names none that exists.
std::string unknown_subcommand(const CLI::App& app, const std::vector<std::string>& words) {
  if (words.empty() || words[0].empty() || words[0].starts_with("-")) return "";
  const std::vector<std::string> known = command_names(app);
  if (contains(known, words[0])) return "";
  return unknown_word("subcommand", words[0], known);
}

}  // namespace

std::string unexpected(const CLI::App& app) {
  std::vector<std::string> words;
  std::vector<const CLI::App*> commands = {&app};
  for (const CLI::App* command : app.get_subcommands()) commands.push_back(command);
  for (const CLI::App* command : commands) {
    std::vector<std::string> known;
    for (const CLI::Option* option : command->get_options()) {
      for (const std::string& name : option->get_lnames()) known.push_back("--" + name);
    }
    for (const std::string& word : command->remaining()) {
      const std::string name = word.substr(0, word.find('='));
      // No similar name is suggested for an option of at most three letters, because too many names
      // are similar to it.
      const bool is_slip = name.starts_with("--") && name.size() > std::string("--out").size();
      words.push_back(word + (is_slip ? did_you_mean_aside(name, known) : ""));
    }
  }
  return formatted("unexpected argument{}: {}", words.size() == 1 ? "" : "s", joined(words, " "));
}

void on_run(Context& context, CLI::App* command, std::function<int()> run) {
  const auto whole = [&context, command, run = std::move(run)] {
    if (context.parses_alone) return;
    const std::string refusal = context.files.clear(*command, context.behind_dashes);
    if (!refusal.empty()) refuse(refusal);
    set_trust_files(context.trust);
    context.exit_code = run();
  };
  command->callback(whole);
  context.runs[command] = whole;
}

std::vector<std::string> split_empty_values(const std::vector<std::string>& arguments) {
  std::vector<std::string> words;
  for (const std::string& word : arguments) {
    // "--option=" becomes "--option" and an empty word. CLI11 itself would take the next word of
    // the command line as the value.
    const bool empty = word.starts_with("--") && word.find('=') == word.size() - 1;
    words.push_back(empty ? word.substr(0, word.size() - 1) : word);
    if (empty) words.emplace_back();
  }
  return words;
}

void refuse_empty_values(CLI::App& command) {
  const auto problem = [](const std::string& value) {
    return std::string(value.empty() ? "the value is empty; is a variable not set?" : "");
  };
  for (CLI::Option* option : command.get_options([](const CLI::Option*) { return true; })) {
    if (option->get_items_expected_max() == 0) continue;  // a flag
    // A transform runs before the option's other checks, so that an empty value gets this message.
    option->transform(CLI::Validator([problem](std::string& value) { return problem(value); }, ""));
  }
}

void ToleranceOptions::add(Context& context, CLI::App* command) {
  context
      .add_option(command, "--standard", standards,
                  "Judge by this standard (see `assay list standards`). If it is repeated, an "
                  "output must pass all of them. bfloat16=atb is only for outputs of that dtype.")
      ->allow_extra_args(false);
  context.files.input(context.add_option(command, "--standards", file,
                                         "JSON file with more standards (docs/judging.md)."));
  const auto add_tolerance = [&](const char* name, std::optional<double>& member,
                                 const char* help) {
    // CLI11 would convert the text to long double first, and so round it twice.
    const auto set = [&member](const std::string& text) {
      member = std::strtod(text.c_str(), nullptr);
    };
    CLI::Option* option = command->add_option_function<std::string>(name, set, help);
    option->check(CLI::Validator(tolerance_problem, "NUMBER"));
    context.places[option] = {&member};
  };
  add_tolerance("--rtol", rtol, "Relative tolerance. Overrides the standard's and the case's own.");
  add_tolerance("--atol", atol, "Absolute tolerance. Overrides the standard's and the case's own.");
  context.add_flag(command, "--equal-nan", equal_nan, "Treat NaN as equal to NaN.");
  context.add_flag(command, "--nan-accepts", nan_accepts,
                   "Accept any value where NaN is expected.");
  context.add_flag(command, "--allow-empty", allow_empty,
                   "Let an output without elements pass. By default it is untrusted.");
  context.add_option(command, "--infinity", infinity,
                     "Comparison of infinity. sign: equal only to infinity of the same sign. "
                     "saturating: the largest finite value counts as infinity. fewer: a finite "
                     "value is accepted where infinity is expected.");
  context
      .add_option(command, "--max-mismatches", max_mismatches,
                  "Accept at most this number of mismatches.")
      ->check(number_check(std::int64_t{0}, std::numeric_limits<std::int64_t>::max(),
                           "a number of mismatches is a whole number of at least 0", "NUMBER"));
  const CLI::Validator fraction =
      number_check(0.0, 1.0, "a fraction is a number from 0 to 1", "NUMBER");
  context
      .add_option(command, "--max-mismatch-fraction", max_mismatch_fraction,
                  "Accept mismatches in at most this fraction of the elements. With "
                  "--max-mismatches, the smaller limit counts.")
      ->check(fraction);
  context
      .add_option(command, "--max-blind", max_blind,
                  "Report a pass as untrusted if more than this fraction of the nonzero elements "
                  "would also pass with the value 0 (default 0.5).")
      ->check(fraction);
}

BoundRequest ToleranceOptions::request() const {
  BoundRequest request;
  request.standards = standards;
  request.rtol = rtol;
  request.atol = atol;
  if (equal_nan) request.equal_nan = true;
  request.nan_accepts = nan_accepts;
  request.allow_empty = allow_empty;
  if (!infinity.empty()) request.infinity = infinity_named(infinity, "--infinity");
  request.max_mismatches = max_mismatches;
  request.max_mismatch_fraction = max_mismatch_fraction;
  request.max_blind = max_blind;
  if (!file.empty()) request.custom = read_standards(file);
  check_request(request);
  return request;
}

std::string ToleranceOptions::text() const {
  std::string out;
  for (const std::string& s : standards) out += option_text("--standard", s);
  out += option_text("--standards", file);
  for (const auto& [option, value] : {std::pair("--rtol", rtol), std::pair("--atol", atol)}) {
    if (value) out += formatted(" {} {}", option, *value);
  }
  if (equal_nan) out += " --equal-nan";
  if (nan_accepts) out += " --nan-accepts";
  if (allow_empty) out += " --allow-empty";
  out += option_text("--infinity", infinity);
  if (max_mismatches) out += formatted(" --max-mismatches {}", *max_mismatches);
  if (max_mismatch_fraction) {
    out += formatted(" --max-mismatch-fraction {}", *max_mismatch_fraction);
  }
  if (max_blind) out += formatted(" --max-blind {}", *max_blind);
  return out;
}

std::vector<std::string> ToleranceOptions::unused_notes(const std::set<std::string>& dtypes) const {
  std::vector<std::string> notes;
  for (const std::string& given : standards) {
    for (const std::string& word : standard_words(given)) {
      const std::string_view dtype = standard_word(word).dtype;
      if (dtype.empty() || dtypes.count(std::string(format_named(dtype).name)) != 0) continue;
      notes.push_back(
          formatted("--standard {} was not used: no judged output is {}", shell_word(word), dtype));
    }
  }
  return notes;
}

void ToleranceOptions::note_unused(GateReport& report) const {
  std::set<std::string> dtypes;
  for (const CaseReport& c : report.cases) dtypes.insert(c.dtype);
  for (std::string& note : unused_notes(dtypes)) report.notes.push_back(std::move(note));
}

namespace {

// Splits and reverses the arguments into the form that CLI11 expects. Throws Refusal
// if they name an unknown subcommand.
std::vector<std::string> for_parser(Context& context, const std::vector<std::string>& arguments) {
  const std::vector<std::string> words = split_empty_values(arguments);
  for (CLI::App* command : context.app.get_subcommands({})) refuse_empty_values(*command);
  if (const std::string refusal = unknown_subcommand(context.app, words); !refusal.empty()) {
    refuse(refusal);
  }
  return {words.rbegin(), words.rend()};
}

}  // namespace

void begin_program(int argc, char** argv) {
  // `repro` calls this function a second time, which has no effect.
  static bool begun = false;
  if (std::exchange(begun, true)) return;
  for (int fd = open("/dev/null", O_RDWR); fd >= 0; fd = open("/dev/null", O_RDWR)) {
    output_was_closed |= fd == STDOUT_FILENO;
    if (fd <= STDERR_FILENO) continue;
    close(fd);
    break;
  }
  serve_file_checks(argc, argv);
  set_file_checker("/proc/self/exe");
}

namespace {

// Parses the arguments, and runs the subcommand. If there is no subcommand, CLI11 asks for one
// before it names a word that it does not expect, as in `assay --bogus`. The word is the actual
// error, so it is reported instead.
void parse(Context& context, const std::vector<std::string>& arguments) {
  try {
    context.app.parse(for_parser(context, arguments));
  } catch (const CLI::RequiredError&) {
    if (!context.app.get_subcommands().empty() || context.app.remaining_size() == 0) throw;
    throw CLI::ExtrasError(context.app.remaining());
  }
}

}  // namespace

int parse_and_run(Context& context, const std::vector<std::string>& arguments) {
  try {
    parse(context, arguments);
  } catch (const CLI::ExtrasError&) {
    refuse(unexpected(context.app));
  } catch (const CLI::ParseError& e) {
    refuse(e.what());
  }
  return context.exit_code;
}

int run_command_line(Context& context, const std::vector<std::string>& arguments) {
  const std::vector<std::string> words = split_empty_values(arguments);
  try {
    parse(context, arguments);
  } catch (const CLI::ExtrasError&) {
    context.files.clear_named_once(words);
    // CLI11's own message lists the unexpected arguments from the last to the first, so it is
    // replaced by ours.
    print_error(formatted("error: {}", unexpected(context.app)));
    print_error(kHelpLine);
    return 2;
  } catch (const CLI::ParseError& e) {
    // app.exit() writes the text of --help or --version and returns 0. For a usage error it returns
    // 100 or more.
    std::ostringstream out, error;
    if (context.app.exit(e, out, error) == 0) {
      print(out.str());
      return 0;
    }
    context.files.clear_named_once(words);
    print_error(e.what());
    print_error(kHelpLine);
    return 2;
  } catch (const NoCaseError& e) {
    print_error(formatted("error: {}", e.what()));
    return 3;
  } catch (const std::bad_alloc&) {
    print_error("error: out of memory");
    return 2;
  } catch (const std::exception& e) {
    print_error(formatted("error: {}", e.what()));
    return 2;
  }
  return context.exit_code;
}

}  // namespace assay::tools
