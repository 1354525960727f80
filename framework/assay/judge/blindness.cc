#include "assay/judge/blindness.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "assay/base/index.h"
#include "assay/base/random.h"
#include "assay/base/text.h"
#include "assay/format/convert.h"
#include "assay/judge/complex.h"

namespace assay::inline v0_2 {

namespace {

std::int64_t parts_of_one(const Format& format) { return format.is_complex() ? 2 : 1; }

}  // namespace

std::vector<std::int64_t> sampled_positions(std::int64_t size) {
  const std::int64_t count = std::min(size, kSampledElements);
  std::vector<std::int64_t> positions;
  positions.reserve(at(count));
  Random random(0, stream_of("sampled positions"));
  // Stretch i begins at floor(i size / count), which is computed without leaving 64 bits.
  const std::int64_t length = count == 0 ? 0 : size / count, rest = count == 0 ? 0 : size % count;
  const auto begin = [&](std::int64_t i) { return i * length + i * rest / count; };
  for (std::int64_t i = 0; i < count; ++i) {
    positions.push_back(begin(i) + random.index_below(begin(i + 1) - begin(i)));
  }
  return positions;
}

Tensor elements_at(const TensorView& from, std::span<const std::int64_t> positions) {
  Tensor elements(*from.format, {static_cast<std::int64_t>(positions.size())});
  const TensorView parts = parts_of(from);
  const std::int64_t of_one = parts_of_one(*from.format), width = parts.format->storage_bytes;
  std::byte* to = elements.bytes();
  for (const std::int64_t position : positions) {
    for (std::int64_t part = 0; part < of_one; ++part, to += width) {
      store_element(*parts.format, to, parts.bits_at(position * of_one + part));
    }
  }
  return elements;
}

double blind_share_by_trial(const TensorView& expected, const Format& output,
                            const std::function<bool(const TensorView& output)>& passes) {
  const Tensor right = Tensor::from_values(output, expected.shape, parts_of(expected).values());
  std::vector<double> sizes;
  // Positions of the elements that are not 0, from the smallest to the largest.
  std::vector<std::int64_t> order;
  for (std::int64_t i = 0; i < expected.size(); ++i) {
    sizes.push_back(magnitude_at(expected, i));
    if (sizes.back() != 0) order.push_back(i);
  }
  std::ranges::stable_sort(order, {}, [&](std::int64_t i) { return sizes[at(i)]; });
  const Tensor zero =
      Tensor::from_values(output, {}, std::vector<double>(at(parts_of_one(output))));
  const auto holds = [&](std::size_t zeros) {
    Tensor changed = right;
    for (std::size_t i = 0; i < zeros; ++i) {
      std::memcpy(changed.bytes() + order[i] * output.storage_bytes, zero.bytes(),
                  zero.byte_count());
    }
    return passes(changed);
  };
  if (order.empty() || !holds(0)) return 0;
  std::size_t good = 0, bad = 1;
  while (bad < order.size() && holds(bad)) {
    good = bad;
    bad = std::min(2 * bad, order.size());
  }
  if (bad == order.size() && holds(bad)) return 1;
  while (bad - good > 1) {
    const std::size_t middle = good + (bad - good) / 2;
    (holds(middle) ? good : bad) = middle;
  }
  return static_cast<double>(good) / static_cast<double>(order.size());
}

std::string blind_words(std::int64_t blind, std::int64_t nonzero, bool sampled,
                        std::string_view rule) {
  return formatted(
      "the check is blind to {}{} of the {} elements that are not zero ({}): as zeros they would "
      "pass {}",
      sampled ? "about " : "", grouped(blind), grouped(nonzero), percent_text(blind, nonzero),
      rule);
}

std::string blind_words(const Verdict& v) {
  if (v.blind.value_or(0) == 0) return "";
  const bool sampled = !v.bound.limits.empty() && v.sites > kSampledElements;
  return blind_words(*v.blind, v.nonzero, sampled, v.bound.text());
}

std::string tolerance_that_sees(const Verdict& v,
                                const std::function<std::vector<double>()>& sizes) {
  std::vector<double> seen = sizes();
  std::erase_if(seen, [](double size) { return !std::isfinite(size) || size == 0; });
  if (seen.empty() || v.bound.max_blind >= 1) return "";
  const auto place =
      static_cast<std::ptrdiff_t>(std::floor(v.bound.max_blind * static_cast<double>(seen.size())));
  std::nth_element(seen.begin(), seen.begin() + place, seen.end());
  const double share = 1 - v.bound.max_blind;
  return formatted("; an absolute tolerance below {} would see {}", short_number(seen[at(place)]),
                   share == 0.5 ? std::string("half of what is not zero")
                                : formatted("{} % of what is not zero", short_number(100 * share)));
}

}  // namespace assay
