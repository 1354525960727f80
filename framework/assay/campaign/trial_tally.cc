#include "assay/campaign/trial_tally.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <stdexcept>

#include "assay/base/hash.h"
#include "assay/base/text.h"

namespace assay::inline v0_2::campaign {
namespace {

constexpr std::string_view kMagic = "assay-block 1";

// Writes the numbers of a tally as text. Reader reads them in the same order.
class Writer {
 public:
  void operator()(const std::int64_t& value) {
    fmt::format_to(std::back_inserter(text), "{} ", value);
  }
  void operator()(const double& value) {
    fmt::format_to(std::back_inserter(text), "{:x} ", std::bit_cast<std::uint64_t>(value));
  }
  void operator()(const RatioCounts& counts) {
    std::int64_t used = 0;
    for (const std::int64_t c : counts) used += c != 0 ? 1 : 0;
    (*this)(used);
    for (std::size_t i = 0; i < counts.size(); ++i) {
      if (counts[i] == 0) continue;
      (*this)(static_cast<std::int64_t>(i));
      (*this)(counts[i]);
    }
    text += '\n';
  }
  template <typename T>
  void list(const std::vector<T>& values) {
    (*this)(static_cast<std::int64_t>(values.size()));
  }
  void line() { text += '\n'; }
  std::string text;
};

class Reader {
 public:
  explicit Reader(std::string_view text) : rest_(text) {}
  void operator()(std::int64_t& value) { value = number<std::int64_t>(10); }
  void operator()(double& value) { value = std::bit_cast<double>(number<std::uint64_t>(16)); }
  void operator()(RatioCounts& counts) {
    counts.fill(0);
    const auto used = number<std::int64_t>(10);
    for (std::int64_t i = 0; i < used; ++i) {
      const auto bin = number<std::size_t>(10);
      if (bin >= counts.size()) wrong();
      counts[bin] = number<std::int64_t>(10);
    }
  }
  template <typename T>
  void list(std::vector<T>& values) {
    const auto count = number<std::size_t>(10);
    if (count > rest_.size()) wrong();
    values.assign(count, T{});
  }
  void line() {}
  void end() {
    skip();
    if (!rest_.empty()) wrong();
  }

 private:
  [[noreturn]] static void wrong() { throw std::runtime_error("its numbers do not fit the plan"); }
  void skip() { rest_.remove_prefix(std::min(rest_.find_first_not_of(" \n"), rest_.size())); }
  template <typename T>
  T number(int base) {
    skip();
    T value{};
    const auto [end, error] =
        std::from_chars(rest_.data(), rest_.data() + rest_.size(), value, base);
    if (error != std::errc()) wrong();
    rest_.remove_prefix(static_cast<std::size_t>(end - rest_.data()));
    return value;
  }
  std::string_view rest_;
};

template <typename Archive, typename Tally>
void all_numbers(Archive& io, Tally& t) {
  io.list(t.matrices);
  for (auto& m : t.matrices) {
    io.list(m.clean);
    for (auto& c : m.clean) {
      io(c.rows), io(c.alarms), io(c.not_checkable), io(c.dismissed), io(c.checks), io(c.measured);
      io(c.z_square), io(c.worst);
    }
    io.list(m.faults);
    for (auto& f : m.faults) io(f.injected), io(f.masked), io(f.not_injectable), io(f.not_finite);
    io.list(m.detections);
    for (auto& d : m.detections) io(d.detected), io(d.dismissed), io(d.not_checkable);
    io.line();
  }
  io.list(t.clean_ratios);
  for (auto& counts : t.clean_ratios) io(counts);
  io.list(t.fault_ratios);
  for (auto& counts : t.fault_ratios) io(counts);
}

std::string head(const BlockAddress& a, std::string_view fingerprint) {
  return formatted("{} {} block {} cell {} matrices {} {}\n", kMagic, fingerprint, a.index, a.cell,
                   a.first, a.last);
}

}  // namespace

std::int64_t above(const RatioCounts& counts, int bin) {
  std::int64_t sum = 0;
  for (std::size_t i = static_cast<std::size_t>(bin) + 1; i < counts.size(); ++i) sum += counts[i];
  return sum;
}

double ratio_edge(int bin) {
  constexpr int kBins = 1 << simd::kBinBits;
  const int octave = (bin - simd::kBinAtOne) >> simd::kBinBits;
  const int part = bin - simd::kBinAtOne - octave * kBins;
  return std::ldexp(1 + static_cast<double>(part) / kBins, octave);
}

std::string Series::text() const {
  if (bit < 0) return formatted("fault {}", fault + 1);
  return formatted("bit {}, {}", bit, direction_text(direction));
}

std::string_view direction_text(fault::Direction direction) {
  return direction == fault::Direction::kZeroToOne ? "0 to 1" : "1 to 0";
}

std::vector<Series> series_of(const Cell& cell) {
  std::vector<Series> all;
  for (std::size_t f = 0; f < cell.faults.size(); ++f) {
    const FaultPlan& plan = cell.faults[f];
    if (!plan.census) {
      all.push_back({f, -1, fault::Direction::kEither});
      continue;
    }
    std::vector<int> bits = plan.bits;
    const Format& output = *cell.output;
    for (int b = output.padding; plan.bits.empty() && b < output.padding + output.bits; ++b) {
      bits.push_back(b);
    }
    for (const fault::Direction d : {fault::Direction::kZeroToOne, fault::Direction::kOneToZero}) {
      if (plan.direction && *plan.direction != d) continue;
      for (const int b : bits) all.push_back({f, b, d});
    }
  }
  return all;
}

std::string block_text(const BlockAddress& address, std::string_view fingerprint,
                       const BlockTally& tally) {
  Writer writer{.text = head(address, fingerprint)};
  all_numbers(writer, tally);
  return formatted("{}check {:016x}\n", writer.text, fnv1a(writer.text));
}

BlockTally parse_block(std::string_view text, const BlockAddress& address,
                       std::string_view fingerprint) {
  const std::size_t check = text.rfind("check ");
  if (text.substr(0, kMagic.size()) != kMagic) {
    throw std::runtime_error("it is no block of a campaign");
  }
  if (check == std::string_view::npos ||
      text.substr(check) != formatted("check {:016x}\n", fnv1a(text.substr(0, check)))) {
    throw std::runtime_error("it is damaged: its check does not fit");
  }
  const std::string expected = head(address, fingerprint);
  if (text.substr(0, expected.size()) != expected) {
    throw std::runtime_error(
        formatted("it belongs to another plan or place: '{}'", text.substr(0, text.find('\n'))));
  }
  Reader reader(text.substr(expected.size(), check - expected.size()));
  BlockTally tally;
  all_numbers(reader, tally);
  reader.end();
  return tally;
}

void add(CleanCounts& to, const CleanCounts& c) {
  to.rows += c.rows;
  to.alarms += c.alarms;
  to.not_checkable += c.not_checkable;
  to.dismissed += c.dismissed;
  to.checks += c.checks;
  to.measured += c.measured;
  to.z_square += c.z_square;
  to.worst = std::max(to.worst, c.worst);
}

void add(FaultCounts& to, const FaultCounts& c) {
  to.injected += c.injected;
  to.masked += c.masked;
  to.not_injectable += c.not_injectable;
  to.not_finite += c.not_finite;
}

void add(DetectionCounts& to, const DetectionCounts& c) {
  to.detected += c.detected;
  to.dismissed += c.dismissed;
  to.not_checkable += c.not_checkable;
}

void append(BlockTally& a, BlockTally&& b) {
  if (a.clean_ratios.empty()) {
    a = std::move(b);
    return;
  }
  a.matrices.insert(a.matrices.end(), b.matrices.begin(), b.matrices.end());
  const auto add = [](std::vector<RatioCounts>& to, const std::vector<RatioCounts>& from) {
    for (std::size_t i = 0; i < to.size(); ++i) {
      for (std::size_t bin = 0; bin < to[i].size(); ++bin) to[i][bin] += from[i][bin];
    }
  };
  add(a.clean_ratios, b.clean_ratios);
  add(a.fault_ratios, b.fault_ratios);
}

}  // namespace assay::campaign
