#include "assay/campaign/trial.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "assay/base/error.h"
#include "assay/base/text.h"
#include "assay/base/words.h"
#include "assay/cases/product.h"
#include "assay/machine/dot.h"
#include "assay/op/dot_operator.h"
#include "assay/op/operator.h"

namespace assay::inline v0_2::campaign {
namespace {

const Format& float32() {
  static const Format& format = format_named("float32");
  return format;
}

std::string change_text(const Format& f, std::uint64_t before, std::uint64_t after) {
  return formatted("{} to {}", element_text(f, before), element_text(f, after));
}

// Injects one fault of a cell into one matrix, and calls the detectors.
class FaultTrial {
 public:
  FaultTrial(const Plan& plan, const Cell& cell, std::size_t fault, std::int64_t number,
             const Matrix& matrix, const std::vector<MatrixDetector>& gates)
      : cell_(cell),
        spec_(cell.faults[fault].fault),
        matrix_(matrix),
        gates_(gates),
        random_(plan.seed + spec_.seed,
                stream_of(formatted("fault {} {} {}", cell.name, spec_.text(), number))),
        n_(columns_of(matrix.output)) {}

  Trial make() {
    switch (spec_.site) {
      case fault::Site::kInput:
        break_input();
        break;
      case fault::Site::kAccumulator:
        break_accumulator();
        break;
      case fault::Site::kChecksum:
        break_checksum();
        break;
      case fault::Site::kThreshold:
        break_threshold();
        break;
      default:
        break_output();
    }
    return std::move(trial_);
  }

 private:
  const Format& output() const { return matrix_.output.format(); }

  // Returns `at` of the fault, or a drawn position in a tensor of this shape.
  std::int64_t place(const Shape& shape, std::string_view whose) {
    if (!spec_.at) return random_.index_below(element_count(shape));
    return at_place(formatted("fault '{}'", spec_.text()),
                    [&] { return fault::position_in(shape, *spec_.at, whose); });
  }

  // Adds elements of `results` that differ from those of the matrix to the changes. `results` has
  // all elements of the matrix, or one row or column. `accumulator` has the results before their
  // cast, or is empty if no detector needs them.
  void take_changes(const Tensor& results, const Tensor& accumulator, std::int64_t row = 0,
                    std::int64_t column = 0) {
    const std::int64_t columns = columns_of(results);
    for (std::int64_t p = 0; p < results.size(); ++p) {
      const std::int64_t i = row + p / columns, j = column + p % columns;
      add_change(i, j, results.bits_at(p));
      if (!accumulator.empty()) before_cast_.push_back({i, j, accumulator.view().value_at(p)});
    }
  }
  void add_change(std::int64_t row, std::int64_t column, std::uint64_t bits) {
    const std::uint64_t before = matrix_.output.bits_at(row * n_ + column);
    if (bits != before) trial_.changes.push_back({row, column, bits});
  }

  // Sets `masked` and `not_finite`, which depend only on the changed elements and not on the
  // detectors.
  void settle_changes() {
    trial_.masked = std::ranges::all_of(trial_.changes, [&](const ElementChange& c) {
      return is_masked(output(), matrix_.output.bits_at(c.row * n_ + c.column), c.bits);
    });
    trial_.not_finite = std::ranges::any_of(trial_.changes, [&](const ElementChange& c) {
      return !std::isfinite(decode(output(), c.bits));
    });
  }

  // Calls the detectors with the changed result.
  void detect() {
    settle_changes();
    for (const MatrixDetector& gate : gates_) {
      trial_.detections.push_back(trial_.masked ? Detection{}
                                                : gate.detect(trial_.changes, before_cast_));
    }
  }

  void break_output() {
    const std::vector<std::int64_t> positions =
        fault::positions_of(spec_, matrix_.output.shape(), random_);
    const std::vector<fault::Flip> flips =
        fault::changes_at(matrix_.output, spec_, positions, random_);
    for (const fault::Flip& flip : flips) {
      trial_.changes.push_back({flip.linear / n_, flip.linear % n_, flip.after});
    }
    trial_.injectable = !flips.empty();
    if (!flips.empty()) {
      const fault::Flip& first = flips.front();
      trial_.what =
          formatted("element {}: {}", shape_text(matrix_.output.view().multi_index(first.linear)),
                    change_text(output(), first.before, first.after));
    }
    if (flips.size() > 1) trial_.what += formatted(" and {} more", flips.size() - 1);
    detect();
  }

  // Returns the case with only this row of A or column of B. Negative numbers mean all rows or
  // columns.
  Case part(std::int64_t row, std::int64_t column) const {
    const Case& c = matrix_.test_case;
    Case sub = matrix_.test_case.without_tensors();
    sub.attributes.erase("transpose_a");
    sub.attributes.erase("transpose_b");
    sub.attributes["output_dtype"] = std::string(output().name);
    TensorView a = matmul_matrix(c, "a", 0), b = matmul_matrix(c, "b", 0);
    if (row >= 0) {
      a = a.at(row);
      a.shape.insert(a.shape.begin(), 1);
      a.strides.insert(a.strides.begin(), 0);
    }
    if (column >= 0) {
      b = b.transposed().at(column);
      b.shape.push_back(1);
      b.strides.push_back(0);
    }
    sub.inputs.emplace("a", copy_of(a));
    sub.inputs.emplace("b", copy_of(b));
    if (const auto bias = c.inputs.find("bias"); bias != c.inputs.end()) {
      if (column < 0) {
        sub.inputs.emplace("bias", bias->second);
      } else {
        Tensor one(bias->second.format(), {1});
        one.set_bits(0, bias->second.bits_at(column));
        sub.inputs.emplace("bias", std::move(one));
      }
    }
    return sub;
  }

  // Returns the input that the fault names, as the operator reads it.
  TensorView input_view(bool is_operand) const {
    const Case& c = matrix_.test_case;
    if (is_operand) return matmul_matrix(c, spec_.input, 0);
    if (const auto found = c.inputs.find(spec_.input); found != c.inputs.end()) {
      return found->second.view();
    }
    refuse("fault '{}': this {} has no input '{}'; it has {}", spec_.text(), c.op, spec_.input,
           joined(keys_of(c.inputs)));
  }

  void break_input() {
    const bool is_a = spec_.input == "a";
    // For a product of two matrices only the changed row or column is computed again, unless the
    // input changes before the detectors encode their checksums. In all other cases the whole
    // result is computed again.
    const bool is_operand = is_product() && (is_a || spec_.input == "b");
    const TensorView whole = input_view(is_operand);
    const std::int64_t p = place(whole.shape, "an input");
    const std::uint64_t before = whole.bits_at(p);
    const auto after = fault::change_bits(spec_.change, *whole.format, before, random_);
    trial_.injectable = after.has_value();
    if (!after) return;
    trial_.what = formatted("{}{}: {}", spec_.input, shape_text(whole.multi_index(p)),
                            change_text(*whole.format, before, *after));
    if (is_operand && !spec_.before_encoding) {
      const std::int64_t i = p / whole.shape[1], j = p % whole.shape[1];
      Case changed = part(is_a ? i : -1, is_a ? -1 : j);
      changed.inputs.at(spec_.input).set_bits(is_a ? j : i, *after);
      take_changes(emulate(changed, *cell_.machine, 1),
                   emulated_epilogue(cell_, changed).accumulator, is_a ? i : 0, is_a ? 0 : j);
      detect();
      return;
    }
    Matrix changed{.test_case = is_operand ? part(-1, -1) : matrix_.test_case.without_tensors()};
    if (!is_operand) changed.test_case.inputs = matrix_.test_case.inputs;
    changed.test_case.inputs.at(spec_.input).set_bits(p, *after);
    try {
      changed.output = emulate(changed.test_case, *cell_.machine, 1);
      changed.epilogue = emulated_epilogue(cell_, changed.test_case);
    } catch (const Refusal& e) {
      // The operator may refuse the changed input, for example an index out of range or an infinite
      // corner.
      trial_.injectable = false;
      trial_.what += formatted("; refused: {}", e.what());
      return;
    }
    take_changes(changed.output, changed.epilogue.accumulator);
    if (spec_.before_encoding) {
      settle_changes();
      // Each detector checks the changed product as if it were unchanged, so it does not know of
      // the fault.
      for (const GateSpec& spec : cell_.gates) {
        RatioCounts ratios{};
        const CleanCounts counts = MatrixDetector(spec, cell_, changed).clean(ratios);
        Detection detection;
        detection.flagged = counts.alarms > 0;
        detection.dismissed = !detection.flagged && counts.dismissed > 0;
        detection.not_checkable = counts.not_checkable == counts.rows;
        detection.ratio = counts.worst;
        trial_.detections.push_back(detection);
      }
      return;
    }
    detect();
  }

  // True if the case multiplies two matrices. In a batch of products, an element's position also
  // needs the number of its matrix, so batches do not count.
  bool is_product() const { return cell_.is_product() && matrix_.output.shape().size() == 2; }

  void break_accumulator() {
    if (!is_product()) {
      refuse(
          "fault '{}': it can be put only into a product of two matrices, but this result has the "
          "shape {}",
          spec_.text(), shape_text(matrix_.output.shape()));
    }
    const std::int64_t p = place(matrix_.output.shape(), "an output"), i = p / n_, j = p % n_;
    const Case one = part(i, j);
    const MatrixUnit unit = matrix_unit({one, *cell_.machine, output(), 1});
    if (unit.sums_exactly()) {
      refuse("machine exact has no accumulator that could break; choose another machine");
    }
    const std::vector<double> a = unit.operand(one.input("a")), b = unit.operand(one.input("b"));
    const auto k = static_cast<std::int64_t>(a.size());
    // With promotion, the accumulator changes only after a whole promotion interval. So a step of
    // the fault is an interval, and otherwise a chunk.
    const std::int64_t interval = unit.model->promotion_interval.value;
    const std::int64_t chunk = interval > 0 ? interval : unit.model->chunk.value;
    const std::int64_t steps = (k + chunk - 1) / chunk;
    if (unit.split.terms != 0 || unit.in_two_terms) {
      refuse(
          "faults in the accumulator of a product that is split over K or computed in two terms "
          "are not emulated; choose another site");
    }
    if (spec_.step && *spec_.step >= steps) {
      refuse(
          "fault '{}': there is no such step, because K = {} in chunks of {} has only the steps 0 "
          "to {}",
          spec_.text(), k, chunk, steps - 1);
    }
    const std::int64_t step = spec_.step ? *spec_.step : random_.index_below(steps);
    const std::int64_t done = std::min(k, (step + 1) * chunk);
    const std::vector<double> bias = matmul_bias(one);
    const bool first = cell_.machine->bias_first.value && !bias.empty();
    float sum = first ? static_cast<float>(bias[0]) : 0.0f;
    dot_matmul(*unit.model, 1, 1, done, a.data(), b.data(), &sum, 1);
    const std::uint64_t before = std::bit_cast<std::uint32_t>(sum);
    const auto after = fault::change_bits(spec_.change, float32(), before, random_);
    trial_.injectable = after.has_value();
    if (!after) return;
    trial_.what = formatted("accumulator of [{}, {}] after {} of {} products: {}", i, j, done, k,
                            change_text(float32(), before, *after));
    sum = std::bit_cast<float>(static_cast<std::uint32_t>(*after));
    if (done < k) {
      dot_matmul(*unit.model, 1, 1, k - done, a.data() + done, b.data() + done, &sum, 1);
    }
    if (!first && !bias.empty()) sum += static_cast<float>(bias[0]);
    add_change(i, j, encode(output(), static_cast<double>(sum)));
    before_cast_.push_back({i, j, static_cast<double>(sum)});
    detect();
  }

  // Breaks the data that each checksum detector keeps, with the same random draws for all of them.
  // `of` breaks the data of one detector, or returns nothing if they cannot be broken.
  template <typename Break>
  void break_checks(const Break& of) {
    trial_.injectable = false;
    for (const MatrixDetector& gate : gates_) {
      Detection detection{.not_checkable = true};
      if (const ChecksumDetector* checksums = gate.checksums()) {
        Random draws = random_;
        if (const std::optional<ChecksumDetector::ChangedChecksum> changed =
                of(*checksums, draws)) {
          detection = changed->detection;
          trial_.injectable = true;
          trial_.what = changed->what;
        }
      }
      trial_.detections.push_back(detection);
    }
  }

  void break_checksum() {
    const std::int64_t k = matmul_matrix(matrix_.test_case, "b", 0).shape[0];
    // The same draws hold for all detectors: the element k of the checksum vector, and the position
    // of the group as a fraction of all groups.
    const std::int64_t kk = place({k, 1}, "a checksum");
    const double where = random_.uniform();
    break_checks([&](const ChecksumDetector& checksums, Random& draws) {
      auto changed = checksums.detect_checksum(kk, where, spec_.change, draws);
      if (changed) changed->what = formatted("checksum of B, row {}: {}", kk, changed->what);
      return changed;
    });
  }

  void break_threshold() {
    const std::int64_t i = place({matrix_.output.size() / n_, 1}, "thresholds");
    using Changed = ChecksumDetector::ChangedChecksum;
    break_checks([&](const ChecksumDetector& checksums, Random& draws) -> std::optional<Changed> {
      abft::Reading r = checksums.reading(i);
      const std::uint64_t before = encode(float32(), r.threshold);
      const auto after = fault::change_bits(spec_.change, float32(), before, draws);
      if (!after) return std::nullopt;
      r.threshold = decode(float32(), *after);
      return Changed{
          {r.flagged(), false, !r.checkable, r.difference / r.threshold, r.difference, r.threshold},
          formatted("threshold of row {}: {}", i, change_text(float32(), before, *after))};
    });
  }

  const Cell& cell_;
  const FaultSpec& spec_;
  const Matrix& matrix_;
  const std::vector<MatrixDetector>& gates_;
  Random random_;
  std::int64_t n_;
  // The accumulators that a fault before the cast changed.
  std::vector<AccumulatorChange> before_cast_;
  Trial trial_;
};

}  // namespace

Trial run_trial(const Plan& plan, const Cell& cell, std::size_t fault, std::int64_t number,
                const Matrix& matrix, const std::vector<MatrixDetector>& gates) {
  return at_place(formatted("cell {}", cell.name),
                  [&] { return FaultTrial(plan, cell, fault, number, matrix, gates).make(); });
}

void run_trials(const Plan& plan, const Cell& cell, std::size_t fault, std::int64_t index,
                const Matrix& matrix, const std::vector<MatrixDetector>& gates, std::size_t s,
                BlockTally& tally) {
  const FaultPlan& f = cell.faults[fault];
  MatrixTally& counts = tally.matrices.front();
  const std::int64_t end = std::min(f.trials, (index + 1) * f.per_matrix);
  for (std::int64_t t = index * f.per_matrix; t < end; ++t) {
    const Trial trial = run_trial(plan, cell, fault, t, matrix, gates);
    FaultCounts& faults = counts.faults[s];
    if (!trial.injectable || trial.masked) {
      ++(trial.injectable ? faults.masked : faults.not_injectable);
      continue;
    }
    ++faults.injected;
    faults.not_finite += trial.not_finite ? 1 : 0;
    for (std::size_t g = 0; g < gates.size(); ++g) {
      const Detection& detection = trial.detections[g];
      DetectionCounts& d = counts.detections[s * gates.size() + g];
      RatioCounts& ratios = tally.fault_ratios[s * gates.size() + g];
      if (detection.not_checkable) {
        ++d.not_checkable;
        continue;
      }
      d.detected += detection.flagged ? 1 : 0;
      d.dismissed += detection.dismissed ? 1 : 0;
      // A dismissed detection counts as below the threshold, because the ROC curve is about
      // verdicts.
      const double ratio = detection.dismissed ? std::min(detection.ratio, 1.0) : detection.ratio;
      const std::size_t bin =
          std::isfinite(ratio) ? std::size_t{simd::ratio_bin(ratio, detection.flagged && ratio > 1)}
                               : std::size_t{simd::kBinNotFinite};
      ++ratios[bin];
    }
  }
}

}  // namespace assay::campaign
