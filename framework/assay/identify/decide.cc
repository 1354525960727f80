#include "assay/identify/decide.h"

#include <algorithm>
#include <set>

#include "assay/base/index.h"
#include "assay/base/text.h"
#include "assay/identify/lanes.h"
#include "assay/identify/space_parameters.h"

namespace assay::inline v0_2::identify {
namespace {

constexpr std::int64_t kMostRows = 8;  // most rows and most columns of a probe that are computed

std::uint64_t combined(std::uint64_t hash, std::uint64_t value) {
  hash = (hash ^ value) * 0x9e3779b97f4a7c15u;
  return hash ^ hash >> 29;
}

std::vector<std::string> differing_parameters(const Sums& s, const std::vector<Candidate>& fits) {
  std::vector<std::string> names;
  for (const SpaceParameter& row : space_parameters()) {
    std::set<std::string> values;
    for (const Candidate& c : fits) {
      if (row.matters(s, c)) values.insert(row.value(s, c));
    }
    // Users know the parameter `interval` of the search space as split_k.
    if (values.size() > 1) names.emplace_back(row.name == "interval" ? "split_k" : row.name);
  }
  return names;
}

}  // namespace

std::optional<Decision> what_decides(const Sums& s, const std::vector<Candidate>& all_fits,
                                     int threads) {
  if (all_fits.size() < 2 || s.k == 0) return std::nullopt;
  // Limit on the products that all models together may compute.
  constexpr double kMostProducts = 5e7, kProbes = 16;
  const double of_one_model = kProbes * static_cast<double>(kMostRows) * static_cast<double>(s.k);
  const auto most = static_cast<std::size_t>(std::max(kMostProducts / of_one_model, 16.0));
  const std::vector<Candidate> fits(
      all_fits.begin(),
      all_fits.begin() + static_cast<std::ptrdiff_t>(std::min(most, all_fits.size())));
  Decision decision;
  decision.models = fits.size();
  decision.parameters = differing_parameters(s, fits);
  const bool has_probes =
      s.op == "matmul" && s.start.empty() && s.a_format == s.b_format && can_be_probed(*s.a_format);
  if (!has_probes) return decision;
  const std::int64_t rows = std::ssize(s.a) / s.k, columns = std::ssize(s.b) / s.k;
  const ProbeShape shape{std::min(rows, kMostRows), s.k, std::min(columns, kMostRows)};
  std::vector<Sums> all;
  std::vector<std::string> names;
  for (Case& c : probes(*s.a_format, s.output, 0, shape)) {
    c.output().recorded["none"].tensor = Tensor(*s.output, {shape.m, shape.n});
    names.push_back(c.name);
    all.push_back(sums_of(c, "none"));
  }
  const double of_one_result =
      static_cast<double>(fits.size()) * static_cast<double>(all.size()) * static_cast<double>(s.k);
  const auto affordable = static_cast<std::int64_t>(kMostProducts / of_one_result);
  const std::int64_t count =
      std::min(shape.m * shape.n, std::max<std::int64_t>(affordable, kMostRows));
  // results[i][p] is a hash of the results of model i on probe p.
  std::vector<std::vector<std::uint64_t>> results(fits.size(),
                                                  std::vector<std::uint64_t>(all.size(), 0));
  for (std::size_t p = 0; p < all.size(); ++p) {
    const Sums& probe = all[p];
    std::vector<Pairing> pairings;
    for (std::int64_t i = 0; i < count; ++i) {
      pairings.push_back({probe.a_row[at(i)], probe.b_row[at(i)], 0, i});
    }
    AllOperands operands(probe);
    each_block_of_sums(
        probe, operands, fits, pairings, threads,
        [&](std::size_t i, std::size_t, std::span<const double> sums) {
          for (const double sum : sums) {
            const std::uint64_t bits = encode(*probe.output, sum, fits[i].output_rounding);
            // All NaN count as the same result, whatever their bits.
            const bool is_one = is_nan(*probe.output, bits);
            results[i][p] = combined(results[i][p], is_one ? ~std::uint64_t{0} : bits);
          }
          return true;
        });
  }
  decision.results = count * std::ssize(all);
  decision.arithmetics = std::set(results.begin(), results.end()).size();
  decision.like_first = static_cast<std::size_t>(std::ranges::count(results, results.front()));
  for (std::size_t p = 0; p < all.size(); ++p) {
    std::set<std::uint64_t> here;
    for (const std::vector<std::uint64_t>& of_model : results) here.insert(of_model[p]);
    if (here.size() <= decision.told_apart) continue;
    decision.told_apart = here.size();
    decision.probe = names[p];
  }
  const bool is_batched = s.count != rows * columns;
  decision.format = s.a_format;
  decision.output = s.output;
  decision.shape = {is_batched ? kMostRows : rows, s.k, is_batched ? kMostRows : columns};
  return decision;
}

}  // namespace assay::identify
