// assay compare: two arrays from files, all metrics.
#include <algorithm>
#include <memory>
#include <new>

#include "assay/base/file.h"
#include "assay/base/spec.h"
#include "assay/datasets/array_file.h"
#include "assay/datasets/file_gate.h"
#include "assay/gate/bounds.h"
#include "assay/judge/pieces.h"
#include "assay/report/report.h"
#include "assay/report/text.h"
#include "tools.h"

namespace assay::tools {
namespace {

struct CompareOptions {
  std::string actual, expected, dtype, shape, json;
  ToleranceOptions tolerance;
};

Shape parse_shape(const std::string& text) {
  Shape shape;
  for (const std::string& part : split(text, ',')) {
    const auto extent = read_number<std::int64_t>(part);
    if (!extent || *extent < 0) {
      throw std::invalid_argument(format("--shape '{}' must be extents joined by commas", text));
    }
    shape.push_back(*extent);
  }
  return shape;
}

// Arrays of more bytes than this, both together, are compared in pieces of so many elements.
constexpr std::int64_t kWholeBytes = std::int64_t{128} << 20;
constexpr std::int64_t kPiece = 16 * PiecewiseJudge::kUnit;

std::int64_t bytes_of(const ArraySource& a) {
  return element_count(a.shape()) * a.format().storage_bytes;
}

// Every bound over the whole of both arrays.
std::vector<Verdict> judge_whole(ArraySource& actual, ArraySource& expected,
                                 const std::vector<Bound>& bounds) {
  const Tensor a = read_array(actual), e = read_array(expected);
  std::vector<Verdict> verdicts;
  for (const Bound& bound : bounds) verdicts.push_back(judge(a, e, bound));
  return verdicts;
}

// The same in one pass over both files, with memory for one piece of each.
std::vector<Verdict> judge_in_pieces(ArraySource& actual, ArraySource& expected,
                                     const std::vector<Bound>& bounds) {
  std::vector<std::unique_ptr<PiecewiseJudge>> judges;
  for (const Bound& bound : bounds) {
    judges.push_back(std::make_unique<PiecewiseJudge>(actual.format(), actual.shape(), bound));
  }
  Tensor a(actual.format(), {kPiece}), e(expected.format(), {kPiece});
  const std::int64_t size = element_count(actual.shape());
  for (std::int64_t begin = 0; begin < size; begin += kPiece) {
    const std::int64_t count = std::min(kPiece, size - begin);
    actual.read(begin, count, a.bytes());
    expected.read(begin, count, e.bytes());
    for (const auto& judging : judges) {
      judging->add(view_bytes(a.bytes(), a.format(), {count}),
                   view_bytes(e.bytes(), e.format(), {count}));
    }
  }
  std::vector<Verdict> verdicts;
  for (const auto& judging : judges) verdicts.push_back(judging->result());
  return verdicts;
}

std::vector<Verdict> judge_files(ArraySource& actual, ArraySource& expected,
                                 const std::vector<Bound>& bounds) {
  if (bounds.empty()) return {};
  const bool comparable = actual.shape() == expected.shape() &&
                          (expected.format().is_float() || !actual.format().is_float());
  const bool whole = bytes_of(actual) + bytes_of(expected) <= kWholeBytes ||
                     !std::all_of(bounds.begin(), bounds.end(), PiecewiseJudge::can_judge);
  if (comparable) {
    return whole ? judge_whole(actual, expected, bounds)
                 : judge_in_pieces(actual, expected, bounds);
  }
  // The judge says why, without a look at the data.
  const TensorView a = view_bytes(nullptr, actual.format(), actual.shape());
  const TensorView e = view_bytes(nullptr, expected.format(), expected.shape());
  std::vector<Verdict> verdicts;
  for (const Bound& bound : bounds) verdicts.push_back(judge(a, e, bound));
  return verdicts;
}

// --dtype and --shape are for what a file does not say; where neither file goes by them, they were
// meant for something else.
void refuse_unused(const CompareOptions& o, const ArraySource& actual, const ArraySource& expected,
                   const std::optional<Shape>& shape) {
  if (!o.dtype.empty()) {
    const Format& asked = format_named(o.dtype);
    if (&actual.format() != &asked && &expected.format() != &asked) {
      throw std::invalid_argument(format("--dtype {}: {} holds {}, {} {}; leave it out", o.dtype,
                                         o.actual, actual.format().name, o.expected,
                                         expected.format().name));
    }
  }
  if (shape && actual.shape() != *shape && expected.shape() != *shape) {
    throw std::invalid_argument(format("--shape {}: {} has the shape {}, {} {}; leave it out",
                                       o.shape, o.actual, shape_text(actual.shape()), o.expected,
                                       shape_text(expected.shape())));
  }
}

std::vector<Verdict> compare_files(const CompareOptions& o) {
  ArrayRequest request{o.actual, o.dtype, {}};
  if (!o.shape.empty()) request.shape = parse_shape(o.shape);
  const std::unique_ptr<ArraySource> actual = open_array(request);
  request.path = o.expected;
  const std::unique_ptr<ArraySource> expected = open_array(request);
  refuse_unused(o, *actual, *expected, request.shape);
  std::vector<Bound> bounds;
  std::vector<std::size_t> places;  // of their verdicts
  std::vector<Verdict> verdicts;
  for (const ChosenBound& chosen : choose_bounds(Case{}, actual->format(), o.tolerance.request())) {
    if (chosen.bound) {
      bounds.push_back(*chosen.bound);
      places.push_back(verdicts.size());
      verdicts.emplace_back();
    } else {
      verdicts.push_back(
          not_comparable(chosen.why_not + "; give --rtol and --atol, or --standard"));
    }
  }
  try {
    std::vector<Verdict> judged = judge_files(*actual, *expected, bounds);
    for (std::size_t i = 0; i < judged.size(); ++i) verdicts[places[i]] = std::move(judged[i]);
    if (actual->place() == expected->place()) distrust_same_bytes(verdicts, o.expected);
  } catch (const std::bad_alloc&) {
    throw FileError(o.actual, "",
                    format("and {}: comparing them needs more memory than there is", o.expected));
  }
  return verdicts;
}

int run_compare(const CompareOptions& o, const Context& context) {
  const std::vector<Verdict> verdicts = compare_files(o);
  const std::string reproduce =
      format("{} compare {} {}{}{}{}", context.program, shell_word(o.actual),
             shell_word(o.expected), o.dtype.empty() ? "" : " --dtype " + o.dtype,
             o.shape.empty() ? "" : " --shape " + o.shape, o.tolerance.text());
  const Outcome outcome = worst_outcome(verdicts);
  for (const Verdict& v : verdicts) {
    if (o.json == "-") break;
    if (!context.quiet) {
      // A tolerance of the command line is in the text of a failure.
      const bool judged = v.outcome == Outcome::kPass || v.outcome == Outcome::kFail;
      const bool named = judged && v.bound.standard != "custom";
      const std::string by = named ? " by " + report::standard_text(v.bound) : "";
      print(format("{}{}: {}\n", outcome_word(v.outcome), by,
                   v.outcome == Outcome::kPass ? explain(v) : explain(v, reproduce)));
      if (v.metrics && &v == &verdicts.back()) print("\n" + metrics_text(v));
    }
  }
  for (const Verdict& v : verdicts) {
    if (o.json.empty() || v.outcome != outcome) continue;
    if (o.json == "-")
      print(verdict_json(v));
    else
      write_file(o.json, verdict_json(v));
    break;
  }
  return exit_code(outcome);
}

}  // namespace

void add_compare(Context& context) {
  auto options = std::make_shared<CompareOptions>();
  CLI::App* command = subcommand(context, "compare", "compare two arrays, with all error metrics",
                                 "assay compare out.h5:/cases/x/outputs/npu out.h5:/cases/x/golden "
                                 "--rtol 1e-2 --atol 1e-5");
  const auto file_of = [](const std::string& array) {
    return std::vector<std::string>{array_file(array)};
  };
  context.files
      .input(command->add_option("ACTUAL", options->actual,
                                 "file.h5:/path, x.npy, x.npz:/name, or raw bytes"),
             file_of)
      ->required();
  context.files
      .input(
          command->add_option("EXPECTED", options->expected, "the same; may have more precision"),
          file_of)
      ->required();
  command->add_option("--dtype", options->dtype,
                      "dtype of raw bytes, or what 8- and 16-bit patterns in a file are");
  command->add_option("--shape", options->shape, "shape of raw bytes, as in 64,512");
  options->tolerance.add(context, command);
  context.files.output_or_standard_output(command->add_option(
      "--json", options->json, "write the result as JSON ('-': standard output)"));
  on_run(context, command, [options, &context] { return run_compare(*options, context); });
}

}  // namespace assay::tools
