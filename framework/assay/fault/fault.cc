#include "assay/fault/fault.h"

#include <algorithm>
#include <set>

#include "assay/base/error.h"
#include "assay/base/float_environment.h"
#include "assay/base/text.h"

namespace assay::inline v0_2::fault {

std::int64_t position_in(const Shape& shape, const std::vector<std::int64_t>& at,
                         std::string_view whose) {
  const auto outside = [&] {
    return Refusal(formatted("there is no element {} in {} of shape {}", shape_text(at), whose,
                             shape_text(shape)));
  };
  for (const std::int64_t index : at) {
    if (index < 0) throw outside();
  }
  if (at.size() == 1 && shape.size() != 1) {
    if (at[0] >= element_count(shape)) throw outside();
    return at[0];
  }
  if (at.size() != shape.size()) throw outside();
  std::int64_t position = 0;
  for (std::size_t d = 0; d < at.size(); ++d) {
    if (at[d] >= shape[d]) throw outside();
    position = position * shape[d] + at[d];
  }
  return position;
}

namespace {

constexpr std::string_view kOutput = "an output";

// The places of a site in a tensor: those of one matrix after the other. For the sites element and
// periodic, the whole tensor counts as one matrix, because their places do not end with a matrix.
class SitePlaces {
 public:
  SitePlaces(const FaultSpec& spec, const Shape& shape) : spec_(spec), rows_(1), columns_(1) {
    const std::int64_t size = element_count(shape);
    if (!shape.empty()) columns_ = shape.back();
    if (shape.size() >= 2) rows_ = shape[shape.size() - 2];
    if (spec.site == Site::kElement || spec.site == Site::kPeriodic) {
      rows_ = 1;
      columns_ = size;
    }
    matrix_ = rows_ * columns_;
    if (size == 0) return;
    of_matrix_ = place_count(spec.site, spec.every, rows_, columns_);
    count_ = size / matrix_ * of_matrix_;
  }

  std::int64_t count() const { return count_; }
  std::vector<std::int64_t> positions(std::int64_t place) const {
    auto positions = place_positions(spec_.site, spec_.every, rows_, columns_, place % of_matrix_);
    for (std::int64_t& position : positions) position += place / of_matrix_ * matrix_;
    return positions;
  }
  std::int64_t holding(std::int64_t position) const {
    return position / matrix_ * of_matrix_ +
           place_of(spec_.site, spec_.every, columns_, position % matrix_);
  }

 private:
  const FaultSpec& spec_;
  std::int64_t rows_, columns_, matrix_ = 0, of_matrix_ = 1, count_ = 0;
};

}  // namespace

void require_in_output(const FaultSpec& spec) {
  if (spec.site_row().in_output) return;
  refuse(
      "fault '{}': site {} does not lie in the output: only a campaign, which computes the case "
      "again, can break it",
      spec.text(), spec.site_row().name);
}

std::vector<std::int64_t> positions_of(const FaultSpec& spec, const Shape& shape, Random& random) {
  require_in_output(spec);
  const SitePlaces places(spec, shape);
  if (spec.at) return places.positions(places.holding(position_in(shape, *spec.at, kOutput)));
  if (places.count() == 0) return {};
  return places.positions(random.index_below(places.count()));
}

std::vector<Flip> changes_at(const Tensor& output, const FaultSpec& spec,
                             const std::vector<std::int64_t>& positions, Random& random) {
  const Shape& shape = output.shape();
  const std::int64_t columns = shape.empty() ? 1 : shape.back();
  const std::int64_t matrix = columns * (shape.size() < 2 ? 1 : shape[shape.size() - 2]);
  const auto after_change = [&](std::int64_t p) -> std::optional<std::uint64_t> {
    const std::uint64_t before = output.bits_at(p);
    if (!row_of(spec.change.kind).moves) {
      return change_bits(spec.change, output.format(), before, random);
    }
    std::int64_t from = positions.front();
    if (spec.change.kind == ChangeKind::kWrongRow) {
      const std::int64_t inside = p % matrix, rows = spec.change.rows % (matrix / columns);
      from = p - inside + (inside + rows * columns) % matrix;
    }
    const std::uint64_t after = output.bits_at(from);
    return after == before ? std::nullopt : std::optional(after);
  };
  std::vector<Flip> flips;
  for (const std::int64_t p : positions) {
    if (const auto after = after_change(p)) flips.push_back({p, output.bits_at(p), *after});
  }
  return flips;
}

Injection inject(Tensor& output, const FaultSpec& spec, std::uint64_t stream) {
  const FloatEnvironment environment;
  const Format& f = output.format();
  if (f.is_complex()) {
    refuse("the output is {}, but faults can be put only into real numbers; record its parts as {}",
           f.name, part_format(f).name);
  }
  require_fits(spec.change, f);
  require_in_output(spec);
  const SitePlaces places(spec, output.shape());
  // Places and their changes are drawn from separate streams of random numbers. So the same seed
  // breaks the same places with any change that all of them can take.
  Random random(spec.seed, stream), of_change(spec.seed, ~stream);
  Injection done;
  std::set<std::int64_t> taken;
  // True if some element of the place can take the change. This does not depend on any draw.
  const auto able = [&](std::int64_t place) {
    if (taken.count(place) > 0) return false;
    Random unused(0, 0);
    return !changes_at(output, spec, places.positions(place), unused).empty();
  };
  const auto take = [&](std::int64_t place) {
    taken.insert(place);
    for (const Flip& flip : changes_at(output, spec, places.positions(place), of_change)) {
      output.set_bits(flip.linear, flip.after);
      done.flips.push_back(flip);
    }
  };
  if (spec.at) {
    const std::int64_t place = places.holding(position_in(output.shape(), *spec.at, kOutput));
    if (able(place))
      take(place);
    else
      done.not_injectable = 1;
    return done;
  }
  // Draws uniformly from the places that can take the change, each at most once. Draws are rejected
  // until one fits. If few places fit, the rest is drawn from a list of them.
  constexpr int kDraws = 1000;
  const std::int64_t asked = places.count() > 0 ? std::max<std::int64_t>(spec.count, 0) : 0;
  for (std::int64_t n = 0; n < asked; ++n) {
    std::int64_t found = -1;
    for (int draw = 0; draw < kDraws && found < 0; ++draw) {
      const std::int64_t place = random.index_below(places.count());
      if (able(place)) found = place;
    }
    if (found >= 0) {
      take(found);
      continue;
    }
    std::vector<std::int64_t> rest;
    for (std::int64_t place = 0; place < places.count(); ++place) {
      if (able(place)) rest.push_back(place);
    }
    for (; n < asked && !rest.empty(); ++n) {
      std::swap(rest[random.below(rest.size())], rest.back());
      take(rest.back());
      rest.pop_back();
    }
    break;
  }
  done.not_injectable = std::max<std::int64_t>(spec.count, 0) - std::ssize(taken);
  return done;
}

}  // namespace assay::fault
