#include "assay/campaign/published.h"

#include <algorithm>
#include <cmath>

namespace assay::campaign {
namespace {

constexpr double kRare = 1e-3;

// The publication's word for a dtype.
std::string_view short_name(const Format& f) {
  if (f.name == "bfloat16") return "bf16";
  if (f.name == "float16") return "fp16";
  if (f.name == "float32") return "fp32";
  return f.name;
}

std::string_view algorithm_of(std::string_view gate) {
  const std::string_view name = gate.substr(0, gate.find(','));
  if (name == "v_abft") return "V-ABFT";
  if (name == "a_abft") return "A-ABFT";
  return "";
}

bool agrees(const PublishedRate& p, const MeasuredRate& ours) {
  if (!p.rate) return p.word == "not_injectable" && ours.rate.trials == 0;
  if (ours.rate.trials == 0) return false;
  const double rate = static_cast<double>(ours.rate.events) / static_cast<double>(ours.rate.trials);
  const double our_deviation = (ours.interval.high - ours.interval.low) / (2 * 1.96);
  // Where the publication saw none or all, its sample says only so much: our rate's deviation.
  const double spread = std::max(*p.rate * (1 - *p.rate), rate * (1 - rate));
  const double their_variance = spread / static_cast<double>(std::max<std::int64_t>(p.trials, 1));
  const double deviation = std::sqrt(our_deviation * our_deviation + their_variance);
  return std::abs(rate - *p.rate) <= 3 * deviation + 0.0005;
}

}  // namespace

std::vector<Comparison> compare_published(const Plan& plan, const std::vector<CellResult>& results,
                                          const std::vector<PublishedRate>& published) {
  std::vector<Comparison> all;
  for (const CellResult& result : results) {
    const Cell& cell = plan.cells[result.cell];
    if (cell.published_distribution.empty()) continue;
    for (const GateResult& gate : result.gates) {
      for (const PublishedRate& p : published) {
        if (p.algorithm != algorithm_of(gate.gate) || p.dtype != short_name(*cell.output) ||
            p.distribution != cell.published_distribution) {
          continue;
        }
        Comparison c{&p, cell.name, gate.gate, {}, false, false};
        if (p.bit < 0) {
          // The publication counts runs, each a matrix.
          c.ours.rate = {gate.alarmed_matrices, gate.clean_matrices};
          if (gate.clean_matrices > 0) c.ours.interval = wilson(c.ours.rate, kConfidence);
        } else {
          const auto found =
              std::find_if(gate.series.begin(), gate.series.end(), [&](const SeriesResult& s) {
                return s.series.bit == p.bit &&
                       (s.series.direction == fault::Direction::kZeroToOne) ==
                           (p.direction == "0to1");
              });
          if (found == gate.series.end()) continue;
          c.ours = found->detected;
          const FaultCounts& f = found->faults;
          const auto all_elements = static_cast<double>(f.injected + f.masked + f.not_injectable);
          c.rare = static_cast<double>(f.injected) < kRare * all_elements;
        }
        c.agrees = agrees(p, c.ours) || (p.word == "not_injectable" && c.rare);
        all.push_back(std::move(c));
      }
    }
  }
  return all;
}

}  // namespace assay::campaign
