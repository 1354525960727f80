#include "assay/abft/calibrate.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "assay/base/float_environment.h"
#include "assay/base/index.h"
#include "assay/base/parallel.h"
#include "assay/base/random.h"
#include "assay/base/text.h"
#include "assay/format/convert.h"
#include "assay/machine/dot.h"
#include "assay/tensor/distribution.h"

namespace assay::inline v0_2::abft {
namespace {

// Results of one trial. They are merged in order, so the result does not depend on threads.
struct TrialErrors {
  std::int64_t rows = 0, skipped = 0;
  double largest = 0, sum = 0, squares = 0;
};

DistributionSpec distribution_of(const CalibrationPlan& plan) {
  const bool half = plan.dtype->name == "float16";
  double scale = 1;
  if (half && plan.inputs == CalibrationInputs::kNormal) scale = 0.01;
  if (half && plan.inputs == CalibrationInputs::kShifted) {
    scale = std::min(1.0, std::sqrt(65504 / (4.0 * static_cast<double>(plan.k * plan.n))));
  }
  std::string_view drawn = "normal,mean=1";
  if (plan.inputs == CalibrationInputs::kFolded) drawn = "folded_normal,mean=1";
  if (plan.inputs == CalibrationInputs::kShifted) drawn = "folded_normal,shift=0.5";
  return parse_distribution(formatted("{},scale={}", drawn, number_text(scale)));
}

// Returns an operand of one trial, rounded to the working format.
std::vector<double> operand(const CalibrationPlan& plan, const DistributionSpec& inputs,
                            const Shape& shape, std::uint64_t stream) {
  return draw(inputs, *plan.dtype, shape, plan.seed, stream, 1).view().values();
}

TrialErrors trial(const CalibrationPlan& plan, const DotModel& model,
                  const DistributionSpec& inputs, std::int64_t index) {
  const std::int64_t m = plan.m, k = plan.k, n = plan.n;
  const auto stream = static_cast<std::uint64_t>(index);
  const std::vector<double> a = operand(plan, inputs, {m, k}, substream(stream, 1));
  const std::vector<double> b = operand(plan, inputs, {k, n}, substream(stream, 2));
  const auto multiply = [&](std::int64_t rows, std::int64_t columns, std::int64_t depth,
                            const std::vector<double>& x, const std::vector<double>& y) {
    std::vector<float> sums(at(rows * columns), 0.0f);
    dot_matmul(model, rows, columns, depth, x.data(), y.data(), sums.data(), 1);
    std::vector<double> values(sums.begin(), sums.end());
    round_array(*plan.dtype, values.data(), values.size());
    return values;
  };
  const std::vector<double> ones(at(n), 1.0);
  const auto row_sums = multiply(m, 1, n, multiply(m, n, k, a, b), ones);
  const auto checksums = multiply(m, 1, k, a, multiply(k, 1, n, b, ones));
  TrialErrors part;
  for (std::int64_t i = 0; i < m; ++i) {
    const double difference = row_sums[at(i)] - checksums[at(i)];
    const double error = difference / std::abs(checksums[at(i)]);
    if (!std::isfinite(error)) {
      ++part.skipped;
      continue;
    }
    ++part.rows;
    part.largest = std::max(part.largest, std::abs(error));
    part.sum += error;
    part.squares += error * error;
  }
  return part;
}

}  // namespace

std::string_view inputs_word(CalibrationInputs inputs) {
  constexpr std::string_view kWords[] = {"normal", "folded", "shifted"};
  return kWords[static_cast<std::size_t>(inputs)];
}

Calibration calibrate(const CalibrationPlan& plan) {
  const FloatEnvironment environment;
  if (plan.m < 1 || plan.k < 1 || plan.n < 1 || plan.trials < 1) {
    refuse("a calibration needs M, K, N and trials of at least 1; given {}, {}, {} and {}", plan.m,
           plan.k, plan.n, plan.trials);
  }
  if (!plan.machine->has_matrix_unit()) {
    refuse(
        "machine exact is the reference, which makes no such rounding errors; choose another "
        "machine (docs/machines.md)");
  }
  const DotModel& model = dot_model(*plan.machine, *plan.dtype);
  if (!plan.dtype->is_float()) {
    refuse("{} products are exact, so that there is no e_max to measure; choose a float dtype",
           plan.dtype->name);
  }
  const DistributionSpec inputs = distribution_of(plan);
  std::vector<TrialErrors> parts(at(plan.trials));
  parallel_for(plan.trials, plan.threads,
               [&](std::int64_t i) { parts[at(i)] = trial(plan, model, inputs, i); });
  Calibration result;
  double sum = 0, squares = 0;
  for (const TrialErrors& part : parts) {
    result.rows += part.rows;
    result.skipped += part.skipped;
    result.e_max = std::max(result.e_max, part.largest);
    sum += part.sum;
    squares += part.squares;
  }
  if (result.rows == 0) return result;
  const auto rows = static_cast<double>(result.rows);
  result.mean = sum / rows;
  result.deviation = std::sqrt(std::max(0.0, squares / rows - result.mean * result.mean));
  result.predicted = std::abs(result.mean) + 5.45 * result.deviation;
  return result;
}

}  // namespace assay::abft
