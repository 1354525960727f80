// assay compare: compares arrays from files and prints all metrics.
#include <algorithm>
#include <memory>
#include <new>
#include <set>
#include <span>

#include "assay/base/printable.h"
#include "assay/base/text.h"
#include "assay/datasets/arrays/array_file.h"
#include "assay/datasets/arrays/array_judge.h"
#include "assay/datasets/checks/file_error_text.h"
#include "assay/datasets/runner/file_gate.h"
#include "assay/gate/gate.h"
#include "assay/report.h"
#include "assay/report/gate_text.h"
#include "sources.h"
#include "tools.h"

namespace assay::inline v0_2::tools {
namespace {

// One side: the file, and the options that apply only to it.
struct SideOptions {
  std::string_view word;  // the side's word in the names of its options: --dtype-WORD
  std::string path, dtype, shape;
};

struct CompareOptions {
  SideOptions actual{"actual", {}, {}, {}}, expected{"expected", {}, {}, {}};
  std::string dtype, shape, json;  // of both sides
  bool strict = false;
  ToleranceOptions tolerance;
};

constexpr std::string_view kAdvice = "; give --rtol and --atol, or --standard";

// If both arrays together have more bytes than this, they are compared in pieces.
constexpr std::int64_t kWholeBytes = std::int64_t{128} << 20;

std::int64_t bytes_of(const ArraySource& a) {
  return element_count(a.shape()) * a.format().storage_bytes;
}

// Returns the gate's verdicts. Arrays that are too large for memory are judged by the same checks
// in pieces.
std::vector<Verdict> judge_files(ArraySource& actual, ArraySource& expected,
                                 const GateRequest& request) {
  const bool comparable = actual.shape() == expected.shape() &&
                          (expected.format().is_float() || !actual.format().is_float()) &&
                          expected.format().is_complex() == actual.format().is_complex();
  if (!comparable) {
    // The judge says why the arrays cannot be compared. It needs only their dtypes and shapes, so
    // the data is not read.
    return gate_tensors(view_bytes(nullptr, actual.format(), actual.shape()),
                        view_bytes(nullptr, expected.format(), expected.shape()), request, kAdvice);
  }
  if (bytes_of(actual) + bytes_of(expected) > kWholeBytes) {
    const std::vector<ElementCheck> checks =
        tensor_checks(actual.format(), expected.format(), request, kAdvice);
    if (judges_in_pieces(checks)) {
      return judge_arrays(actual, expected, checks,
                          {.metrics = request.metrics, .worst = request.worst},
                          piece_for(request.threads));
    }
  }
  return gate_tensors(read_array(actual), read_array(expected), request, kAdvice);
}

// Returns the request that the command line makes for a side.
ArrayRequest request_of(const CompareOptions& o, const SideOptions& side) {
  ArrayRequest request{side.path, side.dtype.empty() ? o.dtype : side.dtype, {}};
  if (!side.shape.empty()) {
    request.shape = parse_shape(formatted("--shape-{}", side.word), side.shape);
  } else if (!o.shape.empty()) {
    request.shape = parse_shape("--shape", o.shape);
  }
  return request;
}

// Two arrays, and notes on properties that were inferred and are not in a file.
struct Pair {
  std::unique_ptr<ArraySource> actual, expected;
  std::vector<std::string> notes = {};
};

// If one side does not say its shape, and has as many elements as the other, it gets the other's
// shape.
template <typename Open>
void infer_shape(std::unique_ptr<ArraySource>& side, const ArrayRequest& request,
                 const ArraySource& other, const ArrayRequest& other_request, const Open& open,
                 std::vector<std::string>& notes) {
  if (!side->shape_is_inferred()) return;
  const bool fits =
      !other.shape_is_inferred() && element_count(other.shape()) == element_count(side->shape());
  if (!fits) {
    notes.push_back(formatted("{}: the shape {} was inferred from the size of the file",
                              request.path, shape_text(side->shape())));
    return;
  }
  ArrayRequest shaped = request;
  shaped.shape = other.shape();
  side = open(shaped);
  notes.push_back(formatted("{}: the shape {} was taken from {}", request.path,
                            shape_text(side->shape()), other_request.path));
}

template <typename OpenActual, typename OpenExpected>
Pair open_pair(const ArrayRequest& actual, const OpenActual& open_actual,
               const ArrayRequest& expected, const OpenExpected& open_expected) {
  Pair pair{open_actual(actual), open_expected(expected)};
  infer_shape(pair.actual, actual, *pair.expected, expected, open_actual, pair.notes);
  infer_shape(pair.expected, expected, *pair.actual, actual, open_expected, pair.notes);
  return pair;
}

// The dtypes and shapes of the two arrays that were opened.
struct Seen {
  explicit Seen(const Pair& pair)
      : actual{&pair.actual->format(), pair.actual->shape()},
        expected{&pair.expected->format(), pair.expected->shape()} {}
  struct Array {
    const Format* format;
    Shape shape;
  } actual, expected;
};

// --dtype and --shape describe what a file does not say. If they apply to no array, the user meant
// something else, so they are refused.
void refuse_unused(const CompareOptions& o, const std::vector<Seen>& seen) {
  const auto none = [&](const auto& goes_by_it) { return std::ranges::none_of(seen, goes_by_it); };
  const Seen::Array &actual = seen.front().actual, &expected = seen.front().expected;
  if (!o.dtype.empty()) {
    const Format* asked = &format_named(o.dtype);
    if (none([&](const Seen& s) {
          return s.actual.format == asked || s.expected.format == asked;
        })) {
      refuse("--dtype {}: {} has the dtype {}, and {} has {}; leave it out", o.dtype, o.actual.path,
             actual.format->name, o.expected.path, expected.format->name);
    }
  }
  if (!o.shape.empty()) {
    const Shape asked = parse_shape("--shape", o.shape);
    if (none([&](const Seen& s) { return s.actual.shape == asked || s.expected.shape == asked; })) {
      refuse("--shape {}: {} has the shape {}, and {} has {}; leave it out", o.shape, o.actual.path,
             shape_text(actual.shape), o.expected.path, shape_text(expected.shape));
    }
  }
  for (const auto& [side, array] :
       {std::pair(&o.actual, &Seen::actual), std::pair(&o.expected, &Seen::expected)}) {
    const Seen::Array Seen::*which = array;
    const Seen::Array& first = seen.front().*which;
    if (!side->dtype.empty()) {
      const Format* asked = &format_named(side->dtype);
      if (none([&](const Seen& s) { return (s.*which).format == asked; })) {
        refuse("--dtype-{} {}: {} has the dtype {}; leave it out", side->word, side->dtype,
               side->path, first.format->name);
      }
    }
    if (!side->shape.empty()) {
      const Shape asked = parse_shape(formatted("--shape-{}", side->word), side->shape);
      if (none([&](const Seen& s) { return (s.*which).shape == asked; })) {
        refuse("--shape-{} {}: {} has the shape {}; leave it out", side->word, side->shape,
               side->path, shape_text(first.shape));
      }
    }
  }
}

// Returns one verdict for each standard.
std::vector<Verdict> judge_pair(const Pair& pair, const GateRequest& request,
                                const std::string& actual, const std::string& expected) {
  try {
    std::vector<Verdict> verdicts = judge_files(*pair.actual, *pair.expected, request);
    if (pair.actual->place() == pair.expected->place()) distrust_same_bytes(verdicts, expected);
    for (Verdict& verdict : verdicts) {
      verdict.notes.insert(verdict.notes.end(), pair.notes.begin(), pair.notes.end());
    }
    return verdicts;
  } catch (const std::bad_alloc&) {
    throw file_error(actual, "", "and {}: comparing them needs more memory than there is",
                     expected);
  }
}

std::string reproducer(const CompareOptions& o, const Context& context, const std::string& actual,
                       const std::string& expected) {
  std::string line =
      formatted("{} compare {} {}", context.program, shell_word(actual), shell_word(expected));
  line += option_text("--dtype", o.dtype) + option_text("--shape", o.shape);
  for (const SideOptions* side : {&o.actual, &o.expected}) {
    line += option_text(formatted("--dtype-{}", side->word), side->dtype) +
            option_text(formatted("--shape-{}", side->word), side->shape);
  }
  return line + o.tolerance.text();
}

// Compares the two arrays, prints the result and returns the exit code. `notes` has the properties
// that were inferred before the arrays were opened.
int compare_one(const CompareOptions& o, const GateRequest& request,
                const std::vector<std::string>& notes, const Context& context) {
  Pair pair = open_pair(request_of(o, o.actual), open_array, request_of(o, o.expected), open_array);
  pair.notes.insert(pair.notes.begin(), notes.begin(), notes.end());
  refuse_unused(o, {Seen(pair)});
  const std::vector<Verdict> verdicts = judge_pair(pair, request, o.actual.path, o.expected.path);
  const std::string reproduce = reproducer(o, context, o.actual.path, o.expected.path);
  const Outcome outcome = worst_outcome(verdicts);
  for (const Verdict& v : verdicts) {
    if (o.json == "-") break;
    if (context.quiet == 0) {
      // A tolerance of the command line has no name. The text of a failure shows it anyway.
      const bool judged = v.outcome == Outcome::kPass || v.outcome == Outcome::kFail;
      const bool named = judged && v.bound.standard != "custom";
      const std::string by = named ? " by " + report::standard_text(v.bound) : "";
      print(formatted("{}{}: {}\n", outcome_word(v.outcome), by,
                      v.outcome == Outcome::kPass ? explain(v) : explain(v, reproduce)));
      if (v.metrics && &v == &verdicts.back()) print("\n" + metrics_text(v));
    } else if (v.outcome == outcome) {
      print_summary(context, formatted("{}: {}", outcome_word(v.outcome), v.because));
      break;
    }
  }
  const std::set<std::string> dtypes = {std::string(pair.actual->format().name)};
  for (const std::string& note : o.tolerance.unused_notes(dtypes)) {
    if (context.quiet == 0 && o.json != "-")
      print(formatted("\nnote: {}\n", printable_sentence(note)));
  }
  const auto first = std::ranges::find(verdicts, outcome, &Verdict::outcome);
  write_result(o.json, [&] { return verdict_json(*first); });
  return exit_code(outcome);
}

// Returns the names of all arrays of an archive, if the path does not name an array in it. Returns
// an empty list for every other side, and for an archive of one array without a name.
std::vector<std::string> names_in(const SideOptions& side) {
  const bool is_file = array_file(side.path) == side.path;
  const ArrayFormat& row = array_format_of(side.path);
  if (!is_file || !row.is_archive || row.is_dataset) return {};
  std::vector<std::string> names = arrays_in(side.path);
  if (names == std::vector<std::string>{""}) names.clear();
  return names;
}

// Returns "a, b in x.npz", or an empty string if there are no names.
std::string alone_text(const std::vector<std::string>& names, const std::string& file) {
  constexpr std::size_t kMost = 10;
  if (names.empty()) return "";
  const std::size_t shown = std::min(kMost, names.size()), more = names.size() - shown;
  return formatted("{}{} in {}", joined(std::span(names).first(shown)),
                   more > 0 ? formatted(" and {} more", more) : "", file);
}

// Compares arrays with the same name in both files, one row for each.
int compare_several(const CompareOptions& o, const std::vector<std::string>& actual_names,
                    const std::vector<std::string>& expected_names, const GateRequest& request,
                    const Context& context) {
  const std::unique_ptr<ArrayFile> actual = open_array_file(o.actual.path);
  const std::unique_ptr<ArrayFile> expected = open_array_file(o.expected.path);
  const std::set<std::string> in_actual(actual_names.begin(), actual_names.end());
  const std::set<std::string> in_expected(expected_names.begin(), expected_names.end());
  GateReport report;
  report.golden_file = o.expected.path;
  report.command = context.command_line;
  report.version = version();
  std::vector<Seen> seen;
  std::vector<std::string> actual_alone, expected_alone;
  const auto check_once = [](const std::vector<std::string>& names,
                             const std::set<std::string>& distinct, const std::string& file) {
    if (names.size() == distinct.size()) return;
    for (const std::string& name : distinct) {
      if (std::ranges::count(names, name) == 1) continue;
      throw FileError(file, name, "is twice in the file; rename one of the two");
    }
  };
  check_once(actual_names, in_actual, o.actual.path);
  check_once(expected_names, in_expected, o.expected.path);
  for (const std::string& name : actual_names) {
    if (in_expected.count(name) == 0) {
      actual_alone.push_back(name);
      continue;
    }
    const auto of = [&name](const SideOptions& side) { return side.path + ":/" + name; };
    ArrayRequest a = request_of(o, o.actual), e = request_of(o, o.expected);
    a.path = of(o.actual);
    e.path = of(o.expected);
    const Pair pair = open_pair(
        a, [&](const ArrayRequest& r) { return actual->open(name, r); }, e,
        [&](const ArrayRequest& r) { return expected->open(name, r); });
    seen.emplace_back(pair);
    CaseReport entry;
    entry.name = name;
    entry.dtype = std::string(pair.actual->format().name);
    entry.shape = pair.actual->shape();
    entry.verdicts = judge_pair(pair, request, a.path, e.path);
    entry.reproduce = reproducer(o, context, a.path, e.path);
    report.cases.push_back(std::move(entry));
  }
  for (const std::string& name : expected_names) {
    if (in_actual.count(name) == 0) expected_alone.push_back(name);
  }
  if (seen.empty()) {
    throw file_error<NoCaseError>(
        o.actual.path, "",
        "and {} have no array of the same name: {}; {}. Name two arrays: {}:/{} {}:/{}",
        o.expected.path, alone_text(actual_alone, "the one"),
        alone_text(expected_alone, "the other"), o.actual.path, actual_alone.front(),
        o.expected.path, expected_alone.front());
  }
  refuse_unused(o, seen);
  const auto add_alone = [&](const std::vector<std::string>& names, const std::string& file) {
    for (const std::string& name : names) {
      CaseReport entry;
      entry.name = name;
      entry.verdicts = {not_comparable(formatted("{} has no array of this name", file))};
      report.cases.push_back(std::move(entry));
    }
  };
  if (o.strict) {
    add_alone(actual_alone, o.expected.path);
    add_alone(expected_alone, o.actual.path);
  } else {
    std::vector<std::string> texts;
    for (const std::string& text :
         {alone_text(actual_alone, o.actual.path), alone_text(expected_alone, o.expected.path)}) {
      if (!text.empty()) texts.push_back(text);
    }
    if (!texts.empty()) {
      report.note = formatted(
          "not compared, because the other file has no such array: {}; --strict makes them not "
          "comparable",
          joined(texts, "; "));
    }
  }
  o.tolerance.note_unused(report);
  if (o.json != "-") {
    print_result(
        context,
        context.quiet > 0 ? "" : gate_table(report, use_color(), 5, false, {.strict = "--strict"}),
        gate_line(report));
  }
  write_result(o.json, [&] { return gate_json(report, JsonMetrics::kAll); });
  return exit_code(report_outcome(report));
}

// Returns the name of a side's array: the one in its path, or the only one of its archive.
std::string name_of(const SideOptions& side, const std::vector<std::string>& names) {
  if (!names.empty()) return names.size() == 1 ? names.front() : "";
  std::string name = array_name(side.path);
  // In a path, the name of an .npz file's array may have this ending, which is not part of the
  // name.
  if (name.ends_with(".npy")) name.resize(name.size() - 4);
  return name;
}

// Selects the array of this name from an archive of several arrays, if the archive has it.
void name_as(SideOptions& side, const std::vector<std::string>& names, const std::string& name) {
  if (names.size() > 1 && std::ranges::count(names, name) == 1) {
    side.path += ":/" + name;
  }
}

int run_compare(const CompareOptions& o, const Context& context) {
  const GateRequest request{.bounds = o.tolerance.request()};
  const std::vector<std::string> actual = names_in(o.actual), expected = names_in(o.expected);
  const bool are_archives = !actual.empty() && !expected.empty();
  if (are_archives &&
      (actual.size() > 1 || expected.size() > 1 || (o.strict && actual != expected))) {
    return compare_several(o, actual, expected, request, context);
  }
  // Compares one array with another. If one side is an archive of several arrays, the array with
  // the other side's name is used.
  CompareOptions one = o;
  const std::string actual_name = name_of(o.actual, actual),
                    expected_name = name_of(o.expected, expected);
  name_as(one.actual, actual, expected_name);
  name_as(one.expected, expected, actual_name);
  std::vector<std::string> notes;
  const bool are_known = !actual_name.empty() && !expected_name.empty();
  const bool are_said = actual.empty() && expected.empty();
  if (are_known && !are_said && actual_name != expected_name) {
    notes.push_back(formatted(
        "the names differ: the array {} of {} was compared with the array {} of {}", actual_name,
        array_file(o.actual.path), expected_name, array_file(o.expected.path)));
  }
  return compare_one(one, request, notes, context);
}

}  // namespace

void add_compare(Context& context) {
  std::string examples;
  for (const ArrayFormat& format : array_formats()) {
    examples += formatted("{}, ", format.example);
  }
  auto options = std::make_shared<CompareOptions>();
  CLI::App* command = subcommand(
      context, "compare", "Compare the arrays of two files, with all error metrics.",
      "assay compare out.h5:/cases/x/outputs/npu out.h5:/cases/x/golden --rtol 1e-2 --atol 1e-5");
  context.files
      .input(command->add_option(
                 "ACTUAL", options->actual.path,
                 "File with an array: " + examples +
                     "or raw bytes. Arrays of two archives are paired by their names."),
             source_reads)
      ->required();
  context.files
      .input(command->add_option("EXPECTED", options->expected.path,
                                 "The reference in the same form. It may have more precision."),
             source_reads)
      ->required();
  command->add_option(
      "--dtype", options->dtype,
      "Dtype of raw bytes, or of elements that a file stores as 8- or 16-bit integers.");
  command->add_option("--shape", options->shape, "Shape of raw bytes, such as 64,512, or scalar.");
  for (SideOptions* side : {&options->actual, &options->expected}) {
    command->add_option(formatted("--dtype-{}", side->word), side->dtype,
                        formatted("Like --dtype, only for the {} side.", side->word));
    command->add_option(formatted("--shape-{}", side->word), side->shape,
                        formatted("Like --shape, only for the {} side.", side->word));
  }
  command->add_flag(
      "--strict", options->strict,
      "Treat arrays of an archive without a partner as not comparable (exit code 3).");
  options->tolerance.add(context, command);
  add_json(context, command, options->json);
  on_run(context, command, [options, &context] { return run_compare(*options, context); });
}

}  // namespace assay::tools
