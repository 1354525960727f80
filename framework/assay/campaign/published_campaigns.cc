#include "assay/campaign/published_campaigns.h"

#include <algorithm>
#include <boost/math/distributions/students_t.hpp>
#include <cmath>

#include "assay/base/elementary.h"
#include "assay/base/text.h"
#include "assay/base/words.h"

namespace assay::inline v0_2::campaign {
namespace {

constexpr double kRare = 1e-3;

// Returns the publication's word for a dtype.
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

// Returns the t quantile that has the probability of three deviations of a normal distribution, for
// a deviation that is estimated from m matrices.
double three_sigma(std::int64_t matrices) {
  const boost::math::students_t_distribution<double> t(static_cast<double>(matrices) - 1);
  return portable::shortened(
      boost::math::quantile(boost::math::complement(t, portable::normal_cdf(-3))), 40);
}

bool agrees(const PublishedRate& p, const MeasuredRate& ours) {
  if (!p.rate) return p.word == "not_injectable" && ours.rate.trials == 0;
  if (ours.rate.trials == 0) return false;
  const double rate = share_of(ours.rate);
  double deviation = *ours.deviation / 3 * three_sigma(ours.clusters);
  // The deviation is 0 if all matrices have the same rate, and it is not computed for a rate of
  // false alarms. It then follows from the number of trials.
  if (deviation == 0) {
    const Interval by_trials = wilson(ours.rate, kConfidence);
    deviation = (by_trials.high - by_trials.low) / (2 * 1.96);
  }
  // A published rate of 0 or 1 has no variance of its own. So the larger variance of both rates is
  // used for it.
  const double spread = std::max(*p.rate * (1 - *p.rate), rate * (1 - rate));
  const double their_variance = spread / static_cast<double>(std::max<std::int64_t>(p.trials, 1));
  return std::abs(rate - *p.rate) <= 3 * std::sqrt(deviation * deviation + their_variance) + 0.0005;
}

bool names(const PublishedRate& p, const Cell& cell) {
  const std::vector<std::string>& called = cell.published_distributions;
  return contains(called, p.distribution) &&
         (p.dtype.empty() || p.dtype == short_name(*cell.output)) &&
         (p.shape.empty() || p.shape == cell.shape);
}

bool is_threshold(const Plan& plan, const PublishedRate& p, std::string_view gate) {
  if (p.algorithm != algorithm_of(gate)) return false;
  const auto found = std::ranges::find(plan.variants, gate, &PublishedVariant::gate);
  if (found == plan.variants.end()) return p.variant.empty();
  return contains(found->names, p.variant);
}

// Returns the known reason why a rate differs.
std::string why_differs(const Plan& plan, const Cell& cell, const Comparison& c) {
  const PublishedRate& p = *c.published;
  if (p.rate && p.bit >= 0 && c.ours.rate.trials == 0) {
    return "no element can take this flip: all have the bit's new value";
  }
  const auto fits = [](const std::string& named, std::string_view is) {
    return named.empty() || named == is;
  };
  for (const PublishedRemark& r : plan.remarks) {
    const bool has_bit = r.bits.empty() || contains(r.bits, std::int64_t{p.bit});
    if (fits(r.algorithm, p.algorithm) && fits(r.dtype, short_name(*cell.output)) &&
        fits(r.distribution, p.distribution) && fits(r.direction, p.direction) &&
        (r.shape.empty() || r.shape == cell.shape) && has_bit) {
      return r.remark;
    }
  }
  return "";
}

}  // namespace

std::vector<Comparison> compare_published(const Plan& plan, const std::vector<CellResult>& results,
                                          const std::vector<PublishedRate>& published) {
  std::vector<Comparison> all;
  for (const CellResult& result : results) {
    const Cell& cell = plan.cells[result.cell];
    for (const GateResult& gate : result.gates) {
      for (const PublishedRate& p : published) {
        if (!names(p, cell) || !is_threshold(plan, p, gate.gate)) continue;
        Comparison c;
        c.published = &p;
        c.cell = cell.name;
        c.gate = gate.gate;
        c.is_void = gate.is_void();
        if (p.bit < 0) {
          if (p.direction != "none") continue;
          // The publication counts runs. Each run is a matrix with or without an alarm.
          c.ours.rate = {gate.alarmed_matrices, gate.clean_matrices};
          c.ours.clusters = gate.clean_matrices;
          if (c.ours.clusters >= kLeastClusters) {
            c.ours.interval = wilson(c.ours.rate, kConfidence);
            c.ours.deviation = 0;
          }
        } else {
          const auto found = std::ranges::find_if(gate.series, [&](const SeriesResult& s) {
            return s.series.bit == p.bit && fault::word_of(s.series.direction) == p.direction;
          });
          if (found == gate.series.end()) continue;
          c.ours = found->detected;
          const FaultCounts& f = found->faults;
          const auto all_elements = static_cast<double>(f.injected + f.masked + f.not_injectable);
          c.rare = static_cast<double>(f.injected) < kRare * all_elements;
        }
        c.judged = c.ours.rate.trials == 0 || c.ours.deviation.has_value();
        c.agrees = c.judged && (agrees(p, c.ours) || (p.word == "not_injectable" && c.rare));
        if (c.judged && !c.agrees) c.why = why_differs(plan, cell, c);
        all.push_back(std::move(c));
      }
    }
  }
  return all;
}

std::vector<std::string> variants_left_out(const Plan& plan,
                                           const std::vector<PublishedRate>& published) {
  std::vector<std::string> left_out;
  for (const PublishedRate& p : published) {
    const auto has_gate = [&](const Cell& cell) {
      return std::ranges::any_of(
          cell.gates, [&](const GateSpec& gate) { return is_threshold(plan, p, gate.text); });
    };
    bool is_ours = false, compared = false;
    for (const Cell& cell : plan.cells) {
      is_ours = is_ours || names(p, cell);
      compared = compared || (names(p, cell) && has_gate(cell));
    }
    const std::string variant = p.variant.empty() ? "" : formatted("{} {}", p.algorithm, p.variant);
    if (!is_ours || compared || variant.empty()) continue;
    if (!contains(left_out, variant)) {
      left_out.push_back(variant);
    }
  }
  return left_out;
}

}  // namespace assay::campaign
