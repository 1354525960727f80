// assay compare: two arrays from files, all metrics.
#include <charconv>

#include "assay/base/file.h"
#include "assay/base/text.h"
#include "assay/datasets/array_file.h"
#include "assay/report/report.h"
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
    std::int64_t extent = -1;
    const auto [end, error] = std::from_chars(part.data(), part.data() + part.size(), extent);
    if (error != std::errc() || end != part.data() + part.size() || extent < 0) {
      throw std::invalid_argument(format("--shape '{}' must be extents joined by commas", text));
    }
    shape.push_back(extent);
  }
  return shape;
}

int run_compare(const CompareOptions& o, const Context& context) {
  ArrayRequest request{o.actual, o.dtype, {}};
  if (!o.shape.empty()) request.shape = parse_shape(o.shape);
  const Tensor actual = read_array(request);
  request.path = o.expected;
  const Tensor expected = read_array(request);
  std::vector<Verdict> verdicts;
  for (const ChosenBound& chosen : choose_bounds(Case{}, actual.format(), o.tolerance.request())) {
    verdicts.push_back(
        chosen.bound ? judge(actual, expected, *chosen.bound)
                     : not_comparable(chosen.why_not + "; give --rtol and --atol, or --standard"));
  }
  const std::string reproduce =
      format("{} compare {} {}{}{}{}", context.program, shell_word(o.actual),
             shell_word(o.expected), o.dtype.empty() ? "" : " --dtype " + o.dtype,
             o.shape.empty() ? "" : " --shape " + o.shape, o.tolerance.text());
  const Outcome outcome = worst_outcome(verdicts);
  for (const Verdict& v : verdicts) {
    if (o.json == "-") break;
    if (!context.quiet) {
      print(format("{}: {}\n", outcome_word(v.outcome),
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
  command->add_option("ACTUAL", options->actual, "file.h5:/path, x.npy, or raw bytes")->required();
  command->add_option("EXPECTED", options->expected, "the same; may have more precision")
      ->required();
  command->add_option("--dtype", options->dtype,
                      "dtype of raw bytes, or what 8- and 16-bit patterns in a file are");
  command->add_option("--shape", options->shape, "shape of raw bytes, as in 64,512");
  options->tolerance.add(command);
  command->add_option("--json", options->json, "write the result as JSON ('-': standard output)");
  command->callback([options, &context] { context.exit_code = run_compare(*options, context); });
}

}  // namespace assay::tools
