#include "assay/audit/corruption_search.h"

#include <algorithm>
#include <cmath>

#include "assay/format/format.h"

namespace assay::inline v0_2::audit {
namespace {

// A kind of error that grows with a whole number k. `apply` returns the output with the error k, or
// nothing if no element can have it. `most` returns the largest k to try.
struct SightRow {
  SightKind kind;
  std::optional<Tensor> (*apply)(const Tensor& clean, std::int64_t k);
  std::int64_t (*most)(const Format& format);
};

bool is_finite(const Format& f, std::uint64_t bits) {
  return !f.is_float() || std::isfinite(decode(f, bits));
}

// Returns the bits of the value that is k representable values farther from zero, or of the largest
// finite one.
std::uint64_t moved(const Format& f, std::uint64_t bits, std::int64_t k) {
  const auto from = ordinal(f, bits);
  if (!from || !is_finite(f, bits)) return bits;
  const bool negative = *from < 0;
  const auto last = ordinal(f, encode(f, negative ? -max_finite(f) : max_finite(f),
                                      Rounding::kTowardZero, Overflow::kSaturate));
  if (!last) return bits;
  const std::int64_t room = negative ? *from - *last : *last - *from;
  const std::int64_t step = std::min(k, std::max<std::int64_t>(room, 0));
  return at_ordinal(f, negative ? *from - step : *from + step).value_or(bits);
}

std::optional<Tensor> all_moved(const Tensor& clean, std::int64_t k) {
  if (clean.format().kind == Kind::kBool) return std::nullopt;
  Tensor t = clean;
  for (std::int64_t i = 0, n = t.size(); i < n; ++i) {
    t.set_bits(i, moved(t.format(), clean.bits_at(i), k));
  }
  return t;
}

std::optional<Tensor> one_moved(const Tensor& clean, std::int64_t k) {
  const Format& f = clean.format();
  if (f.kind == Kind::kBool) return std::nullopt;
  std::int64_t at = -1;
  double largest = -1;
  for (std::int64_t i = 0, n = clean.size(); i < n; ++i) {
    const double size = std::fabs(decode(f, clean.bits_at(i)));
    if (std::isfinite(size) && size > largest) {
      largest = size;
      at = i;
    }
  }
  if (at < 0) return std::nullopt;
  Tensor t = clean;
  // Moves the element towards zero, because every value has room on that side.
  const auto from = ordinal(f, clean.bits_at(at));
  const auto to = from ? at_ordinal(f, *from < 0 ? std::min<std::int64_t>(*from + k, 0)
                                                 : std::max<std::int64_t>(*from - k, 0))
                       : std::nullopt;
  if (!to) return std::nullopt;
  t.set_bits(at, *to);
  return t;
}

std::optional<Tensor> all_rounded(const Tensor& clean, std::int64_t k) {
  const Format& f = clean.format();
  if (!f.is_float() || unit_roundoff(f) == 0) return std::nullopt;
  const double factor = 1 + static_cast<double>(k) * unit_roundoff(f);
  Tensor t = clean;
  for (std::int64_t i = 0, n = t.size(); i < n; ++i) {
    const std::uint64_t bits = clean.bits_at(i);
    if (!is_finite(f, bits)) continue;
    t.set_bits(i, encode(f, factor * decode(f, bits), Rounding::kNearestEven, Overflow::kSaturate));
  }
  return t;
}

std::int64_t ordinals_of(const Format& f) {
  return std::int64_t{1} << std::clamp(f.bits - 1, 1, 40);
}
// Returns the number of unit roundoffs in a relative error of 2. Larger errors need not be
// searched.
std::int64_t roundoffs_of(const Format& f) {
  return static_cast<std::int64_t>(std::min(2 / unit_roundoff(f), 0x1p53));
}

constexpr SightRow kSights[] = {
    {{"all_ulp", "all, ulp", "every element is too large by a number of representable values"},
     all_moved,
     ordinals_of},
    {{"one_ulp", "one, ulp",
      "only the largest element is too small, by a number of representable values"},
     one_moved,
     ordinals_of},
    {{"all_rounding", "all, roundings",
      "every element is wrong by a multiple of the output's rounding, 2^-precision of the value"},
     all_rounded,
     roundoffs_of},
};

constexpr SightKind kKinds[] = {kSights[0].kind, kSights[1].kind, kSights[2].kind};

// The corruptions that are tried at several sizes. A check of single elements detects each of them
// at every size.
constexpr std::string_view kSized[] = {"last_element", "one_nan", "tail"};
constexpr std::int64_t kSizes[] = {16, 128, 1024, 8192, 65536};

}  // namespace

std::span<const SightKind> sight_kinds() { return kKinds; }

std::optional<std::int64_t> smallest_refused(std::int64_t most,
                                             const std::function<bool(std::int64_t k)>& passes) {
  std::int64_t passed = 0, refused = 1;
  while (passes(refused)) {
    if (refused >= most) return std::nullopt;
    passed = refused;
    refused = refused > most / 2 ? most : 2 * refused;
  }
  while (refused - passed > 1) {
    const std::int64_t middle = passed + (refused - passed) / 2;
    (passes(middle) ? passed : refused) = middle;
  }
  return refused;
}

std::vector<Sight> sights_of(const Subject& subject, Target& target) {
  std::vector<Sight> sights;
  for (const SightRow& row : kSights) {
    if (!row.apply(subject.clean, 1)) continue;
    Sight sight{std::string(row.kind.name), subject.title(),
                std::string(subject.clean.format().name), std::nullopt,
                row.most(subject.clean.format())};
    sight.least = smallest_refused(sight.most, [&](std::int64_t k) {
      const auto wrong = row.apply(subject.clean, k);
      return !wrong || changed_elements(subject.clean, *wrong) == 0 ||
             target.judge({subject, *wrong}).passed;
    });
    sights.push_back(std::move(sight));
  }
  return sights;
}

Blindness blindness_of(const Subject& subject, Target& target) {
  const Format& f = subject.clean.format();
  // Size and position of each element that is finite and not 0.
  std::vector<std::pair<double, std::int64_t>> sizes;
  for (std::int64_t i = 0, n = subject.clean.size(); i < n; ++i) {
    const double size = std::fabs(decode(f, subject.clean.bits_at(i)));
    if (std::isfinite(size) && size > 0) sizes.emplace_back(size, i);
  }
  std::ranges::sort(sizes);
  const auto nonzero = static_cast<std::int64_t>(sizes.size());
  Blindness found{subject.title(), std::string(f.name), 0, nonzero};
  if (nonzero == 0 || f.specials == Specials::kScale) return found;
  const auto refused = smallest_refused(nonzero, [&](std::int64_t k) {
    Tensor t = subject.clean;
    for (std::int64_t i = 0; i < k; ++i) {
      t.set_bits(sizes[static_cast<std::size_t>(i)].second, encode(f, 0));
    }
    return target.judge({subject, t}).passed;
  });
  found.blind = refused ? *refused - 1 : nonzero;
  return found;
}

std::vector<Subject> sizes_of(const Subject& subject) {
  std::vector<Subject> sizes;
  for (const std::int64_t size : kSizes) {
    if (auto one = resized(subject, size)) sizes.push_back(std::move(*one));
  }
  return sizes;
}

std::vector<SizeSeries> series_of(const std::vector<Subject>& sizes, Target& target) {
  std::vector<SizeSeries> all;
  if (sizes.empty()) return all;
  std::vector<const Subject*> judged;
  for (const Subject& subject : sizes) {
    if (target.why_not(subject).empty() && target.judge({subject, subject.clean}).passed) {
      judged.push_back(&subject);
    }
  }
  for (const std::string_view name : kSized) {
    const auto row = std::ranges::find(corruptions(), name, &Corruption::name);
    SizeSeries series{std::string(name),
                      sizes.front().title(),
                      std::string(sizes.front().clean.format().name),
                      {}};
    for (const Subject* subject : judged) {
      const auto wrong = row->apply(*subject, 0);
      if (!wrong || changed_elements(subject->clean, *wrong) == 0) continue;
      series.points.push_back({subject->clean.size(), target.judge({*subject, *wrong}).passed});
    }
    if (!series.points.empty()) all.push_back(std::move(series));
  }
  return all;
}

}  // namespace assay::audit
