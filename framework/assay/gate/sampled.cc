#include "assay/gate/sampled.h"

#include <utility>

#include "assay/base/error.h"
#include "assay/base/text.h"
#include "assay/op/operator.h"
#include "assay/op/row_sample.h"

namespace assay::inline v0_2 {
namespace {

std::string sample_note(const SampledRowsReport& s) {
  if (s.rows == s.of) return "";
  return formatted(
      "{} of the {} rows ({}) were judged, drawn with seed {}; if {} of all rows were wrong, one "
      "of them would be among these with a probability of 95 %",
      grouped(s.rows), grouped(s.of), percent_text(s.rows, s.of), s.seed,
      formatted("{} %", short_number(100 * s.seen_share, 3)));
}

// Makes a verdict on drawn rows one on the whole output: its positions become positions in the
// whole output, and its texts mention the sample.
void make_whole(const SampledRows& sampled, const SampledRowsReport& s, Verdict& v) {
  if (v.sites == 0) return;  // no element was compared, so nothing is converted
  v.shape = sampled.output;
  const TensorView whole{nullptr, v.format, v.shape, contiguous_strides(v.shape)};
  const auto move = [&](std::int64_t& linear) {
    if (linear >= 0) linear = sampled.whole_position(linear);
  };
  for (Mismatch& mismatch : v.worst) {
    move(mismatch.linear);
    mismatch.index = whole.multi_index(mismatch.linear);
  }
  if (v.metrics) {
    move(v.metrics->max_abs_index);
    move(v.metrics->max_rel_index);
  }
  // The drawn rows are not adjacent, so a pattern of their mismatches means nothing.
  v.where.clear();
  v.because = formatted("of {} of {} rows: {}", grouped(s.rows), grouped(s.of), v.because);
  if (std::string note = sample_note(s); !note.empty()) v.notes.push_back(std::move(note));
}

}  // namespace

bool is_judged_by_sample(const Case& c, const GateRequest& request) {
  return request.sample && request.elements && !c.output().golden && why_no_rows(c).empty();
}

std::vector<Verdict> judge_sampled(const Case& c, const TensorView& output,
                                   const GateRequest& request, const Origin& origin,
                                   CaseReport& report) {
  if (std::string why_not = why_not_output(c, *output.format); !why_not.empty()) {
    return {not_comparable(std::move(why_not))};
  }
  SampledRows sampled;
  try {
    sampled = sample_rows(c, *request.sample);
    if (output.shape != sampled.output) {
      return {
          not_comparable(formatted("the output has the shape {}, but {} of these inputs has {}",
                                   shape_text(output.shape), c.op, shape_text(sampled.output)))};
    }
    sampled.test_case.output().golden = golden_result(sampled.test_case, request.threads);
  } catch (const Refusal& e) {
    return {not_comparable(e.reason())};
  }
  report.sample = SampledRowsReport{.rows = std::ssize(sampled.rows),
                                    .of = sampled.of,
                                    .seed = request.sample->seed,
                                    .seen_share = seen_share(std::ssize(sampled.rows))};
  const auto fits = [&](const Tensor& tensor) {
    return !tensor.empty() && tensor.shape() == sampled.output;
  };
  for (const auto& [producer, recorded] : c.output().recorded) {
    if (!fits(recorded.tensor) || producer == origin.producer) continue;
    sampled.test_case.output().recorded[producer].tensor = sampled.of_output(recorded.tensor);
  }
  Origin of_rows = origin;
  of_rows.epilogue = nullptr;
  of_rows.recorded = [&]() -> std::vector<RecordedOutput> {
    if (!origin.recorded) return {};
    std::vector<RecordedOutput> all = origin.recorded();
    for (RecordedOutput& recorded : all) {
      recorded.read = [read = std::move(recorded.read), fits, &sampled]() -> Tensor {
        Tensor whole = read();
        return fits(whole) ? sampled.of_output(whole) : std::move(whole);
      };
    }
    return all;
  };
  GateRequest of_these = request;
  of_these.sample.reset();
  of_these.checksums.reset();
  of_these.mutate = of_these.mismatch_map = false;
  std::vector<Verdict> verdicts =
      gate_case(sampled.test_case, sampled.of_output(output), of_these, of_rows).verdicts;
  for (Verdict& v : verdicts) make_whole(sampled, *report.sample, v);
  return verdicts;
}

}  // namespace assay
