#include "assay/campaign/results.h"

#include <algorithm>

#include "assay/abft/reading.h"
#include "assay/base/float_environment.h"

namespace assay::inline v0_2::campaign {
namespace {

// Adds up what one detector detected in several series, for each matrix.
SeenFaults seen_of(const BlockTally& tally, const std::vector<std::size_t>& series,
                   std::size_t gate, std::size_t gates, double confidence) {
  SeenFaults seen;
  std::vector<Rate> matrices;
  for (const MatrixTally& m : tally.matrices) {
    FaultCounts faults;
    DetectionCounts detections;
    for (const std::size_t s : series) {
      add(faults, m.faults[s]);
      add(detections, m.detections[s * gates + gate]);
    }
    matrices.push_back({detections.detected, faults.injected - detections.not_checkable});
    add(seen.faults, faults);
    add(seen.detections, detections);
  }
  seen.detected = clustered_rate(matrices, confidence);
  return seen;
}

// Returns the names of the classes in the plan's order, each with its series.
std::vector<std::pair<std::string, std::vector<std::size_t>>> classes_of(
    const Cell& cell, const std::vector<Series>& series) {
  std::vector<std::pair<std::string, std::vector<std::size_t>>> classes;
  for (std::size_t s = 0; s < series.size(); ++s) {
    const std::string& name = cell.faults[series[s].fault].class_name;
    if (name.empty()) continue;
    auto found =
        std::ranges::find_if(classes, [&](const auto& entry) { return entry.first == name; });
    if (found == classes.end()) found = classes.insert(found, {name, {}});
    found->second.push_back(s);
  }
  return classes;
}

}  // namespace

CellResult cell_result(const Plan& plan, std::size_t index, const BlockTally& tally) {
  const FloatEnvironment environment;
  const Cell& cell = plan.cells[index];
  const std::vector<Series> series = series_of(cell);
  const auto classes = classes_of(cell, series);
  const std::size_t gates = cell.gates.size();
  double confidence = kConfidence;
  if (cell.precision) {
    confidence = split_confidence(cell.precision->confidence, cell.precision->looks);
  }
  CellResult result{
      .cell = index, .matrices = std::ssize(tally.matrices), .planned = cell.matrices()};
  for (std::size_t g = 0; g < gates; ++g) {
    GateResult gate{.gate = cell.gates[g].text};
    std::vector<Rate> alarms;
    for (const MatrixTally& m : tally.matrices) {
      const CleanCounts& c = m.clean[g];
      if (c.rows == 0) continue;
      add(gate.clean, c);
      gate.alarmed_matrices += c.alarms > 0 ? 1 : 0;
      ++gate.clean_matrices;
      alarms.push_back({c.alarms, c.rows - c.not_checkable});
    }
    gate.alarms = clustered_rate(alarms, kConfidence);
    gate.rms_z = abft::ZTally{.measured = gate.clean.measured, .square = gate.clean.z_square}.rms();
    if (!tally.clean_ratios.empty()) gate.ratios = tally.clean_ratios[g];
    for (std::size_t s = 0; s < series.size(); ++s) {
      SeriesResult r{seen_of(tally, {s}, g, gates, confidence), series[s]};
      if (!tally.fault_ratios.empty()) r.ratios = tally.fault_ratios[s * gates + g];
      gate.series.push_back(r);
    }
    for (const auto& [name, members] : classes) {
      gate.classes.push_back({seen_of(tally, members, g, gates, confidence), name});
    }
    result.gates.push_back(std::move(gate));
  }
  return result;
}

bool nothing_seen(const MeasuredRate& r) { return r.rate.trials > 0 && r.rate.events == 0; }
bool all_seen(const MeasuredRate& r) { return r.rate.trials > 0 && r.rate.events == r.rate.trials; }
bool is_bounded(const MeasuredRate& r) { return nothing_seen(r) || all_seen(r); }

RateBounds upper_bounds(const MeasuredRate& r) {
  if (r.rate.trials == 0) return {1, 1};
  return {upper_bound(r.rate, kConfidence), upper_bound_by_clusters(r, kConfidence)};
}
RateBounds bounds_of(const MeasuredRate& r) {
  if (nothing_seen(r)) return upper_bounds(r);
  return {lower_bound(r.rate, kConfidence), lower_bound_by_clusters(r, kConfidence)};
}

bool is_precise(const Cell& cell, const CellResult& result) {
  if (!cell.precision) return false;
  for (const GateResult& gate : result.gates) {
    for (const SeriesResult& s : gate.series) {
      if (s.detected.rate.trials == 0) continue;
      const std::optional<Interval>& i = s.detected.interval;
      if (!i || !((i->high - i->low) / 2 <= cell.precision->half_width)) return false;
    }
  }
  return result.matrices >= kPreciseMatrices;
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
      // The same rates occur for several multiples, of which only the largest is kept.
      points.back() = p;
      continue;
    }
    points.push_back(p);
  }
  return points;
}

RatioCounts ratios_of_faults(const GateResult& gate) {
  RatioCounts all{};
  for (const SeriesResult& s : gate.series) {
    // A census counts dismissed faults in no bin, so the sum over the bins leaves them out. They
    // are added to the bin of the threshold below. Drawn faults are in a bin even if they were
    // dismissed.
    std::int64_t let_through = s.detected.rate.trials;
    for (std::size_t b = 0; b < all.size(); ++b) {
      all[b] += s.ratios[b];
      let_through -= s.ratios[b];
    }
    all[simd::kBinAtOne] += let_through;
  }
  return all;
}

bool is_elementwise(std::string_view gate) {
  return gate == "tolerance" || gate.starts_with("standard:");
}

std::vector<RocPoint> roc(const GateResult& gate) {
  if (gate.alarms.rate.trials == 0) return {};
  // The histogram of an elementwise detector includes rows that could not be judged. Without a
  // mismatch they are in bin 0, from which they are removed here.
  RatioCounts clean = gate.ratios;
  std::int64_t rows = 0;
  for (const std::int64_t n : clean) rows += n;
  clean[0] -= std::clamp<std::int64_t>(rows - gate.alarms.rate.trials, 0, clean[0]);
  std::vector<RocPoint> points = roc(clean, ratios_of_faults(gate));
  if (is_elementwise(gate.gate)) {
    std::erase_if(points, [](const RocPoint& p) { return p.multiple < 1; });
  }
  return points;
}

}  // namespace assay::campaign
