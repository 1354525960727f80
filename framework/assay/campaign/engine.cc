#include "assay/campaign/engine.h"

#include <algorithm>
#include <array>
#include <mutex>

#include "assay/base/float_environment.h"
#include "assay/base/index.h"
#include "assay/base/parallel.h"
#include "assay/base/text.h"
#include "assay/base/words.h"
#include "assay/campaign/detector.h"
#include "assay/campaign/trial.h"

namespace assay::inline v0_2::campaign {
namespace {

// Counts each bin of a census. Uses four tables, because an increment waits for an earlier
// increment of the same entry.
using BinCounts = std::array<std::int64_t, std::size_t{2} * simd::kFlipBins>;
BinCounts count_bins(const std::uint16_t* bins, std::size_t n) {
  std::uint32_t tables[4][2 * simd::kFlipBins] = {};
  std::size_t i = 0;
  for (; i + 4 <= n; i += 4) {
    ++tables[0][bins[i]];
    ++tables[1][bins[i + 1]];
    ++tables[2][bins[i + 2]];
    ++tables[3][bins[i + 3]];
  }
  for (; i < n; ++i) ++tables[0][bins[i]];
  BinCounts counts;
  for (std::size_t b = 0; b < counts.size(); ++b) {
    counts[b] = std::int64_t{tables[0][b]} + tables[1][b] + tables[2][b] + tables[3][b];
  }
  return counts;
}

// Adds the counts of one detector for one bit and one direction of a census.
void add_census(const BinCounts& bins, int down, std::int64_t elements, FaultCounts& faults,
                DetectionCounts& detections, RatioCounts& ratios) {
  const std::int64_t* counts = bins.data() + down;
  std::int64_t all = 0;
  for (int bin = 0; bin < simd::kFlipBins; ++bin) all += counts[bin];
  faults.masked = counts[simd::kBinMasked];
  faults.injected = all - faults.masked;
  faults.not_injectable = elements - all;
  faults.not_finite = counts[simd::kBinNotFinite];
  for (int bin = 0; bin < simd::kBinMasked; ++bin) ratios[at(bin)] += counts[bin];
  detections.detected = above(ratios, simd::kBinAtOne);
  detections.dismissed = counts[simd::kBinDismissed];
  detections.not_checkable = counts[simd::kBinUnsure];
}

}  // namespace

Campaign::Campaign(Plan plan, CampaignOptions options)
    : plan_(std::move(plan)), options_(std::move(options)) {
  const FloatEnvironment environment;
  for (std::size_t c = 0; c < plan_.cells.size(); ++c) {
    const Cell& cell = plan_.cells[c];
    add_blocks(c);
    const Matrix matrix = make_matrix(plan_, cell, 0, options_.load);
    std::vector<MatrixDetector> gates;
    for (const GateSpec& gate : cell.gates) {
      gates.emplace_back(gate, cell, matrix);
      gates.back().check_plan();
    }
    for (std::size_t f = 0; f < cell.faults.size(); ++f) {
      if (!cell.faults[f].census) (void)run_trial(plan_, cell, f, 0, matrix, gates);
    }
  }
}

// Returns the numbers of matrices after which the precision of a cell is checked. The last is the
// number of all its matrices. Each earlier one is half of the next, rounded up.
static std::vector<std::int64_t> looks_of(const Cell& cell) {
  std::vector<std::int64_t> looks = {cell.matrices()};
  for (std::int64_t l = 1; cell.precision && l < cell.precision->looks; ++l) {
    if (looks.front() < 2) break;
    looks.insert(looks.begin(), (looks.front() + 1) / 2);
  }
  return looks;
}

void Campaign::add_blocks(std::size_t c) {
  const std::vector<std::int64_t> looks = looks_of(plan_.cells[c]);
  const std::int64_t size = (looks.back() + kBlocksPerCell - 1) / kBlocksPerCell;
  std::int64_t first = 0;
  for (const std::int64_t look : looks) {
    for (; first < look; first = std::min(first + size, look)) {
      blocks_.push_back({std::ssize(blocks_), c, first, std::min(first + size, look)});
    }
  }
}

bool Campaign::is_look(const BlockAddress& block) const {
  const std::vector<std::int64_t> looks = looks_of(plan_.cells[block.cell]);
  return contains(looks, block.last);
}

std::int64_t Campaign::matrices() const {
  std::int64_t sum = 0;
  for (const Cell& cell : plan_.cells) sum += cell.matrices();
  return sum;
}

BlockTally Campaign::run_matrix(const Cell& cell, std::int64_t index) const {
  const std::vector<Series> series = series_of(cell);
  const std::size_t gates = cell.gates.size();
  BlockTally tally;
  tally.matrices.resize(1);
  tally.clean_ratios.resize(gates);
  tally.fault_ratios.resize(series.size() * gates);
  MatrixTally& counts = tally.matrices.front();
  counts.clean.resize(gates);
  counts.faults.resize(series.size());
  counts.detections.resize(series.size() * gates);

  const Matrix matrix = make_matrix(plan_, cell, index, options_.load);
  const std::int64_t elements = matrix.output.size();
  std::vector<MatrixDetector> judges;
  for (const GateSpec& gate : cell.gates) judges.emplace_back(gate, cell, matrix);
  std::int64_t verdicts = 0;
  for (std::size_t g = 0; g < gates && index < cell.clean_matrices(); ++g) {
    counts.clean[g] = judges[g].clean(tally.clean_ratios[g]);
    verdicts += counts.clean[g].checks;
  }
  std::vector<std::uint16_t> bins;
  for (std::size_t s = 0; s < series.size();) {
    const FaultPlan& plan = cell.faults[series[s].fault];
    std::size_t end = s;
    while (end < series.size() && series[end].fault == series[s].fault) ++end;
    if (!plan.census) {
      run_trials(plan_, cell, series[s].fault, index, matrix, judges, s, tally);
      verdicts += counts.faults[s].injected * static_cast<std::int64_t>(gates);
    } else if (index < plan.trials) {
      std::vector<int> bits;
      for (std::size_t i = s; i < end && series[i].direction == series[s].direction; ++i) {
        bits.push_back(series[i].bit);
      }
      bins.resize(at(elements) * bits.size());
      for (std::size_t g = 0; g < gates; ++g) {
        judges[g].census(bits, options_.exact, bins.data());
        for (std::size_t b = 0; b < bits.size(); ++b) {
          const BinCounts found = count_bins(bins.data() + b * at(elements), at(elements));
          for (std::size_t i = s; i < end; ++i) {
            if (series[i].bit != bits[b]) continue;
            const int down =
                series[i].direction == fault::Direction::kOneToZero ? int{simd::kFlipBins} : 0;
            add_census(found, down, elements, counts.faults[i], counts.detections[i * gates + g],
                       tally.fault_ratios[i * gates + g]);
            verdicts += counts.faults[i].injected;
          }
        }
      }
    }
    s = end;
  }
  if (options_.progress) options_.progress(verdicts);
  return tally;
}

BlockTally Campaign::run(const BlockAddress& block) const {
  const FloatEnvironment environment;
  BlockTally all;
  for (std::int64_t i = block.first; i < block.last; ++i) {
    append(all, run_matrix(plan_.cells[block.cell], i));
  }
  return all;
}

void Campaign::run(const std::vector<BlockAddress>& blocks,
                   const std::function<void(const BlockAddress&, const BlockTally&)>& done) const {
  const FloatEnvironment environment;
  std::mutex one_at_a_time;
  parallel_for(std::ssize(blocks), options_.threads, [&](std::int64_t i) {
    const BlockTally tally = run(blocks[at(i)]);
    const std::lock_guard lock(one_at_a_time);
    done(blocks[at(i)], tally);
  });
}

std::vector<std::int64_t> blocks_of_shard(std::int64_t count, int shard, int shards) {
  if (shards < 1 || shard < 1 || shard > shards) {
    refuse("shard {}/{} does not exist; the first number must be from 1 to the second", shard,
           shards);
  }
  std::vector<std::int64_t> mine;
  for (std::int64_t b = shard - 1; b < count; b += shards) mine.push_back(b);
  return mine;
}

}  // namespace assay::campaign
