#include "assay/gate/digit_sums.h"

#include "assay/base/parallel.h"

namespace assay::inline v0_2 {

DigitSums::DigitSums(const TensorView& elements, int terms, int threads)
    : size_(elements.size()), width_(static_cast<std::size_t>(terms) + 1), threads_(threads) {
  constexpr std::int64_t kMostStretches = 256, kShortest = 8192, kBlock = 512;
  // If the tensor is not very large, a part has fewer than this many entries on average, so that a
  // part's table fits into a core's own cache.
  constexpr std::uint64_t kOfPart = 8192;
  constexpr int kMostBits = 8;
  const auto n = static_cast<std::size_t>(size_);
  bits_ = std::min(static_cast<int>(std::bit_width(n / kOfPart)), kMostBits);
  stretch_length_ = std::max((size_ + kMostStretches - 1) / kMostStretches, kShortest);
  stretches_ = (size_ + stretch_length_ - 1) / stretch_length_;
  const std::size_t parts = std::size_t{1} << bits_;
  places_.assign(static_cast<std::size_t>(stretches_) * parts, 0);
  parallel_for(stretches_, threads, [&](std::int64_t s) {
    std::size_t* const counts = places_.data() + static_cast<std::size_t>(s) * parts;
    double values[kBlock];
    for (std::int64_t first = begin(s); first < begin(s + 1); first += kBlock) {
      const std::int64_t count = std::min(kBlock, begin(s + 1) - first);
      elements.read(first, count, values);
      for (std::int64_t i = 0; i < count; ++i)
        ++counts[hash(key_of(values[i])) >> 1 >> (63 - bits_)];
    }
  });
  std::size_t place = 0;
  for (std::size_t part = 0; part < parts; ++part) {
    begins_.push_back(place);
    for (std::size_t s = part; s < places_.size(); s += parts) {
      const std::size_t count = places_[s];
      places_[s] = place;
      place += count;
    }
  }
  begins_.push_back(place);
  entries_ = std::make_unique_for_overwrite<double[]>(n * width_);
}

DigitSums::Stretch DigitSums::stretch(std::int64_t index) {
  Stretch stretch;
  stretch.entries_ = entries_.get();
  stretch.places_ = places_.data() + (static_cast<std::size_t>(index) << bits_);
  stretch.width_ = width_;
  stretch.shift_ = 63 - bits_;
  return stretch;
}

void DigitSums::Total::add(double sum) {
  squares += sum * sum;
  largest = std::max(largest, sum);
}

void DigitSums::Total::add(const Total& more) {
  squares += more.squares;
  largest = std::max(largest, more.largest);
}

void DigitSums::add_part(std::size_t part, std::vector<double>& table, Totals& to) const {
  const std::size_t first = begins_[part], end = begins_[part + 1];
  const std::size_t places = std::bit_ceil((end - first) / 3 * 4 + 4), mask = places - 1;
  const int shift = 64 - static_cast<int>(std::bit_width(mask));
  table.assign(places * width_, 0.0);
  for (std::size_t i = first; i < end; ++i) {
    const double* const entry = entries_.get() + i * width_;
    const auto key = std::bit_cast<std::uint64_t>(entry[0]);
    std::size_t at = (hash(key) << bits_) >> shift;
    double* place = table.data() + at * width_;
    for (std::uint64_t there; (there = std::bit_cast<std::uint64_t>(place[0])) != key;) {
      if (there == 0) place[0] = entry[0];
      if (there == 0) break;
      at = (at + 1) & mask;
      place = table.data() + at * width_;
    }
    place[1] += entry[1];
    if (width_ > 2) place[2] += entry[2];
  }
  for (std::size_t at = 0; at < places; ++at) {
    const double* const place = table.data() + at * width_;
    to.terms.add(place[1]);
    if (width_ > 2) to.other_terms.add(place[2]);
  }
}

DigitSums::Totals DigitSums::totals() const {
  constexpr std::size_t kAtOnce = 16;  // this many parts use one table, one after the other
  const std::size_t parts = begins_.size() - 1, groups = (parts + kAtOnce - 1) / kAtOnce;
  std::vector<Totals> of_groups(groups);
  parallel_for(static_cast<std::int64_t>(groups), threads_, [&](std::int64_t group) {
    std::vector<double> table;
    const std::size_t first = static_cast<std::size_t>(group) * kAtOnce;
    for (std::size_t part = first; part < std::min(parts, first + kAtOnce); ++part) {
      add_part(part, table, of_groups[static_cast<std::size_t>(group)]);
    }
  });
  Totals all;
  for (const Totals& of_group : of_groups) {
    all.terms.add(of_group.terms);
    all.other_terms.add(of_group.other_terms);
  }
  return all;
}

}  // namespace assay
