#include "assay/campaign/results.h"

#include <algorithm>
#include <cmath>

#include "assay/abft/reading.h"
#include "assay/base/float_environment.h"
#include "assay/base/text.h"
#include "assay/fault/fault.h"

namespace assay::campaign {
namespace {

// So many that some lie outside the interval on each side.
std::int64_t replicates_for(double confidence) {
  return std::max<std::int64_t>(400, std::llround(20 / (1 - confidence)));
}

MeasuredRate measured(const std::vector<Rate>& matrices, std::uint64_t seed, double confidence) {
  MeasuredRate m;
  for (const Rate& r : matrices) {
    m.rate.events += r.events;
    m.rate.trials += r.trials;
  }
  if (m.rate.trials == 0) return m;
  m.interval = wilson(m.rate, confidence);
  // Of nothing, or of everything, a bootstrap only repeats itself.
  const bool mixed = m.rate.events > 0 && m.rate.events < m.rate.trials;
  if (mixed && matrices.size() >= kBootstrapMatrices) {
    m.interval = bootstrap(matrices, confidence, seed, replicates_for(confidence));
    m.over_matrices = true;
  }
  return m;
}

}  // namespace

CellResult cell_result(const Plan& plan, std::size_t index, const BlockTally& tally) {
  const FloatEnvironment environment;
  const Cell& cell = plan.cells[index];
  const std::vector<Series> series = series_of(cell);
  const std::size_t gates = cell.gates.size();
  double confidence = kConfidence;
  if (cell.precision) {
    confidence = split_confidence(cell.precision->confidence, cell.precision->looks);
  }
  CellResult result;
  result.cell = index;
  result.matrices = static_cast<std::int64_t>(tally.matrices.size());
  result.planned = cell.matrices();
  for (std::size_t g = 0; g < gates; ++g) {
    GateResult gate;
    gate.gate = cell.gates[g].text;
    std::vector<Rate> alarms;
    for (const MatrixTally& m : tally.matrices) {
      const CleanCounts& c = m.clean[g];
      if (c.rows == 0) continue;
      add(gate.clean, c);
      gate.alarmed_matrices += c.alarms > 0 ? 1 : 0;
      ++gate.clean_matrices;
      alarms.push_back({c.alarms, c.rows - c.not_checkable});
    }
    const std::uint64_t seed = stream_of(cell.name + gate.gate);
    gate.alarms = measured(alarms, seed, kConfidence);
    if (gate.alarms.rate.trials > 0) gate.upper_bound = upper_bound(gate.alarms.rate, kConfidence);
    gate.rms_z = abft::ZTally{.measured = gate.clean.measured, .square = gate.clean.z_square}.rms();
    if (!tally.clean_ratios.empty()) gate.ratios = tally.clean_ratios[g];
    for (std::size_t s = 0; s < series.size(); ++s) {
      SeriesResult r;
      r.series = series[s];
      std::vector<Rate> detected;
      for (const MatrixTally& m : tally.matrices) {
        const FaultCounts& f = m.faults[s];
        const DetectionCounts& d = m.detections[s * gates + g];
        add(r.faults, f);
        add(r.detections, d);
        if (f.injected > d.not_checkable) {
          detected.push_back({d.detected, f.injected - d.not_checkable});
        }
      }
      r.detected = measured(detected, seed + s + 1, confidence);
      if (!tally.fault_ratios.empty()) r.ratios = tally.fault_ratios[s * gates + g];
      gate.series.push_back(std::move(r));
    }
    result.gates.push_back(std::move(gate));
  }
  return result;
}

bool is_precise(const Cell& cell, const CellResult& result) {
  if (!cell.precision) return false;
  for (const GateResult& gate : result.gates) {
    for (const SeriesResult& s : gate.series) {
      if (s.detected.rate.trials == 0) continue;
      const Interval& i = s.detected.interval;
      if (!((i.high - i.low) / 2 <= cell.precision->half_width)) return false;
    }
  }
  return static_cast<std::size_t>(result.matrices) >= kBootstrapMatrices;
}

std::vector<BlockAddress> Campaign::next_blocks(
    const std::function<bool(const BlockAddress&)>& has,
    const std::function<BlockTally(const BlockAddress&)>& load) const {
  const FloatEnvironment environment;
  std::vector<BlockAddress> next;
  for (std::size_t c = 0; c < plan_.cells.size(); ++c) {
    const bool looks = plan_.cells[c].precision.has_value();
    BlockTally tally;
    bool complete = true;
    for (const BlockAddress& block : blocks_) {
      if (block.cell != c) continue;
      if (!has(block)) {
        next.push_back(block);
        complete = false;
      } else if (looks && complete) {
        append(tally, load(block));
      }
      if (!looks || !is_look(block)) continue;
      if (!complete || is_precise(plan_.cells[c], cell_result(plan_, c, tally))) break;
    }
  }
  return next;
}

std::vector<CellResult> results_of(const Campaign& campaign,
                                   const std::function<BlockTally(const BlockAddress&)>& load) {
  const FloatEnvironment environment;
  std::vector<CellResult> results;
  const Plan& plan = campaign.plan();
  for (std::size_t c = 0; c < plan.cells.size(); ++c) {
    BlockTally tally;
    CellResult result;
    for (const BlockAddress& block : campaign.blocks()) {
      if (block.cell != c) continue;
      append(tally, load(block));
      if (!campaign.is_look(block)) continue;
      result = cell_result(plan, c, tally);
      result.precise = is_precise(plan.cells[c], result);
      if (result.precise) break;
    }
    results.push_back(std::move(result));
  }
  return results;
}

std::vector<RocPoint> roc(const RatioCounts& clean, const RatioCounts& faults) {
  std::int64_t rows = 0, injected = 0;
  for (const std::int64_t n : clean) rows += n;
  for (const std::int64_t n : faults) injected += n;
  std::vector<RocPoint> points;
  if (rows == 0 || injected == 0) return points;
  for (int bin = 0; bin < simd::kRatioBins - 1; ++bin) {
    const RocPoint p{ratio_edge(bin),
                     static_cast<double>(above(clean, bin)) / static_cast<double>(rows),
                     static_cast<double>(above(faults, bin)) / static_cast<double>(injected)};
    if (!points.empty() && points.back().false_alarms == p.false_alarms &&
        points.back().detections == p.detections) {
      points.back() = p;  // the largest multiple that does the same
      continue;
    }
    points.push_back(p);
  }
  return points;
}

}  // namespace assay::campaign
