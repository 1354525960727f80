// Compares every format's decoding and encoding, in every rounding, with the oracle of the tests of
// formats (MPFR, and the formats' own texts).
#include <bit>
#include <cmath>
#include <cstring>
#include <map>

#include "../format/oracle.h"
#include "assay/base/text.h"
#include "assay/format/convert.h"
#include "assay/format/format.h"
#include "assay/format/rounding.h"
#include "target.h"

namespace assay::fuzz {
namespace {

const oracle::Reference& reference_of(std::string_view name) {
  static std::map<std::string, oracle::Reference, std::less<>> all;
  return all.try_emplace(std::string(name), name).first->second;
}

void hold(bool good, const Format& f, double value, const std::string& what) {
  if (!good) finding(formatted("{}: {:a}: {}", f.name, value, what));
}

bool is_oracles(const Format& f) {
  return f.is_float() && std::any_of(oracle::specs().begin(), oracle::specs().end(),
                                     [&](const auto& row) { return row.name == f.name; });
}

void check_value(const Format& f, double value) {
  const oracle::Reference& reference = reference_of(f.name);
  for (const Rounding mode : oracle::kRoundings) {
    for (const Overflow overflow : oracle::kOverflows) {
      std::uint64_t code = 0;
      const auto encoded = [&] { code = encode(f, value, mode, overflow); };
      if (refuses("encode", encoded)) {
        hold(std::isnan(value) && !reference.row.nan, f, value, "is refused");
        continue;
      }
      const double expected = reference.rounded(value, mode, overflow);
      const std::string how = formatted("{}, {}", rounding_name(mode),
                                        overflow == Overflow::kSaturate ? "saturating" : "IEEE");
      hold(is_valid_code(f, code), f, value, "no code: " + how);
      if (std::isnan(value) && overflow == Overflow::kIeee) {
        hold(std::isnan(decode(f, code)), f, value, "NaN is lost: " + how);
        continue;
      }
      hold(oracle::same(oracle::value(f.name, code), expected), f, value,
           formatted("becomes {:a}, not {:a}: {}", oracle::value(f.name, code), expected, how));
      hold(oracle::same(round_to(f, value, mode, overflow), expected), f, value,
           "round_to: " + how);
    }
  }
}

void check_code(const Format& f, std::uint64_t code) {
  const double value = decode(f, code);
  if (is_oracles(f)) {
    hold(oracle::same(value, oracle::value(f.name, code)), f, value,
         formatted("decode {:#x}", code));
  }
  // Also converts a whole array of eleven equal elements, which takes the vector path.
  constexpr std::size_t kCount = 11;
  std::byte codes[kCount * 8], back[kCount * 8];
  const auto width = static_cast<std::size_t>(f.storage_bytes);
  for (std::size_t i = 0; i < kCount; ++i) store_element(f, codes + i * width, code);
  double values[kCount];
  decode_array(f, codes, kCount, values);
  for (const double v : values) {
    hold(oracle::same(v, value), f, value, formatted("decode_array {:#x}", code));
  }
  const std::optional<std::int64_t> place = ordinal(f, code);
  hold(place.has_value() != std::isnan(value), f, value, "ordinal");
  if (std::isnan(value)) return;
  if (f.is_float()) {
    encode_array(f, values, kCount, back);
    for (std::size_t i = 0; i < kCount; ++i) {
      hold(load_element(f, back + i * width) == encode(f, value), f, value, "encode_array");
    }
    hold(oracle::same(decode(f, encode(f, value)), value), f, value, "there and back");
  }
  const std::optional<std::uint64_t> there = at_ordinal(f, *place);
  hold(there && oracle::same(std::abs(decode(f, *there)), std::abs(value)), f, value, "at_ordinal");
  const std::uint64_t up = next_up(f, code), down = next_down(f, code);
  hold(is_valid_code(f, up) && is_valid_code(f, down), f, value, "a neighbour is no code");
  hold(decode(f, up) >= value && decode(f, down) <= value, f, value, "neighbours");
  hold(ulp_distance(f, code, up) <= 1 && ulp_distance(f, down, code) <= 1, f, value, "ulps");
  (void)element_text(f, code);
  (void)ulp_of(f, value);
}

// With random bits, the result is a neighbour of the value. If the bits are 0, it is the one nearer
// to 0.
void check_stochastic(const Format& f, double value, std::uint64_t random, int bits) {
  if (!std::isfinite(value)) return;
  const Encoding none{.rounding = Rounding::kStochastic, .random = 0, .random_bits = bits};
  const Encoding some{.rounding = Rounding::kStochastic, .random = random, .random_bits = bits};
  double zero = 0, drawn = 0, low = 0, up = 0, down = 0;
  if (refuses("encode", [&] {
        zero = round_to(f, value, none);
        drawn = round_to(f, value, some);
        low = round_to(f, value, Rounding::kTowardZero);
        up = round_to(f, value, Rounding::kUp);
        down = round_to(f, value, Rounding::kDown);
      })) {
    return;
  }
  // Overflows and scales follow other rules, and are not checked here.
  if (std::abs(value) > max_finite(f) || !(value == value) || f.specials == Specials::kScale)
    return;
  hold(oracle::same(zero, low), f, value, formatted("{:a} by no random bits", zero));
  hold(oracle::same(drawn, up) || oracle::same(drawn, down) || drawn == 0, f, value,
       formatted("{:a} by random bits", drawn));
}

}  // namespace

// Each part of the input gives a format, a float64, a code, random bits and their number.
void run_formats(std::span<const std::uint8_t> input) {
  constexpr std::size_t kPart = 26;
  for (std::size_t at = 0; at + kPart <= input.size(); at += kPart) {
    const Format& f = formats()[input[at] % formats().size()];
    std::uint64_t words[3];
    std::memcpy(words, input.data() + at + 2, sizeof words);
    const double value = std::bit_cast<double>(words[0]);
    if (is_oracles(f)) {
      check_value(f, value);
      check_stochastic(f, value, words[2], 1 + input[at + 1] % 64);
    } else {
      (void)refuses("encode", [&] {
        const std::uint64_t code = encode(f, value);
        hold(is_valid_code(f, code), f, value, "no code");
      });
    }
    if (is_valid_code(f, words[1])) check_code(f, words[1]);
    const std::uint64_t narrow =
        f.bits >= 64 ? words[1] : (words[1] & ((std::uint64_t{1} << f.bits) - 1)) << f.padding;
    if (is_valid_code(f, narrow)) check_code(f, narrow);
  }
}

}  // namespace assay::fuzz
