#include "assay/fault/change.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "assay/base/int128.h"
#include "assay/base/text.h"
#include "assay/format/tapered.h"

namespace assay::inline v0_2::fault {
namespace {

using Changed = std::optional<std::uint64_t>;

constexpr ChangeRow kChanges[] = {
    {.kind = ChangeKind::kFlip,
     .name = "flip",
     .parts = "bit direction",
     .needs = "bit",
     .help = "inverts one bit"},
    {.kind = ChangeKind::kFlips,
     .name = "flips",
     .parts = "k bits",
     .needs = "k bits",
     .help = "inverts k different bits, drawn; or bits=I:J:..., these"},
    {.kind = ChangeKind::kBurst,
     .name = "burst",
     .parts = "bit length",
     .needs = "bit",
     .help = "inverts length adjacent bits from bit up"},
    {.kind = ChangeKind::kStuckAt0,
     .name = "stuck_at_0",
     .parts = "bit",
     .needs = "bit",
     .help = "makes a bit 0"},
    {.kind = ChangeKind::kStuckAt1,
     .name = "stuck_at_1",
     .parts = "bit",
     .needs = "bit",
     .help = "makes a bit 1"},
    {.kind = ChangeKind::kZero, .name = "zero", .help = "makes the element +0"},
    {.kind = ChangeKind::kRandom,
     .name = "random",
     .help = "makes it any other bit pattern, drawn"},
    {.kind = ChangeKind::kInfinity, .name = "infinity", .help = "makes it +infinity"},
    {.kind = ChangeKind::kMinusInfinity, .name = "minus_infinity", .help = "makes it -infinity"},
    {.kind = ChangeKind::kNan, .name = "nan", .help = "makes it NaN"},
    {.kind = ChangeKind::kSign, .name = "sign", .help = "negates it"},
    {.kind = ChangeKind::kExponent,
     .name = "exponent",
     .parts = "k",
     .help = "inverts k different bits of its exponent, drawn"},
    {.kind = ChangeKind::kCarry,
     .name = "carry",
     .parts = "bit carry",
     .needs = "bit",
     .help = "moves its magnitude by one unit of a bit: a wrong carry up, a missing one down"},
    {.kind = ChangeKind::kAdd,
     .name = "add",
     .parts = "value ulps",
     .needs = "value ulps",
     .help = "adds a value, or goes that many representable values up or down"},
    {.kind = ChangeKind::kStuckLane,
     .name = "stuck_lane",
     .help = "gives all elements of its place the first one's value, as in site=periodic,every=16",
     .moves = true},
    {.kind = ChangeKind::kWrongRow,
     .name = "wrong_row",
     .parts = "rows",
     .help = "puts there what belongs some rows below, around the matrix: a store to a wrong row",
     .moves = true},
};

std::uint64_t ones(int count) {
  return count >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << count) - 1;
}

// Returns a mask of the storage bits that carry the value.
std::uint64_t field_of(const Format& f) { return ones(f.bits) << f.padding; }

std::uint64_t sign_bit(const Format& f) { return std::uint64_t{1} << (f.padding + f.bits - 1); }

// Returns k different bits of a mask, drawn at random.
std::uint64_t drawn_of(std::uint64_t mask, int k, Random& random) {
  std::uint64_t drawn = 0;
  for (; k > 0; --k) {
    std::uint64_t rest = mask;
    const auto left = static_cast<std::uint64_t>(std::popcount(mask));
    for (std::uint64_t skip = random.below(left); skip > 0; --skip) rest &= rest - 1;
    const std::uint64_t lowest = rest & (0 - rest);
    drawn |= lowest;
    mask ^= lowest;
  }
  return drawn;
}

// Returns `after`, the pattern that an element is set to. Empty if the element has it already.
Changed other_than(std::uint64_t bits, std::uint64_t after) {
  return after == bits ? std::nullopt : Changed(after);
}

Changed flipped(const Change& c, std::uint64_t bits) {
  const bool set = ((bits >> c.bit) & 1) != 0;
  if (c.direction != Direction::kEither && set != (c.direction == Direction::kOneToZero)) {
    return std::nullopt;
  }
  return bits ^ (std::uint64_t{1} << c.bit);
}

Changed any_other(const Format& f, std::uint64_t bits, Random& random) {
  const std::uint64_t field = field_of(f), now = (bits & field) >> f.padding;
  const std::uint64_t drawn = random.below(ones(f.bits));
  return (bits & ~field) | ((drawn + (drawn >= now ? 1 : 0)) << f.padding);
}

Changed special(const Format& f, std::uint64_t bits, double value) {
  if (std::isnan(value) ? f.specials == Specials::kFinite : !f.has_infinity()) return std::nullopt;
  return other_than(bits, encode(f, value));
}

Changed zeroed(const Format& f, std::uint64_t bits) {
  if (f.is_float() && f.specials == Specials::kScale) return std::nullopt;
  return other_than(bits, encode(f, 0.0));
}

Changed negated(const Format& f, std::uint64_t bits) {
  if (!f.is_signed()) return std::nullopt;
  const std::uint64_t field = field_of(f), sign = sign_bit(f);
  if (!f.is_float()) return other_than(bits, (bits & ~field) | ((0 - bits) & field));
  const bool one_zero = f.specials == Specials::kFnuz || f.specials == Specials::kTapered;
  if (one_zero && (bits & field & ~sign) == 0) return std::nullopt;
  return bits ^ sign;
}

Changed in_exponent(const Change& c, const Format& f, std::uint64_t bits, Random& random) {
  const std::uint64_t field = exponent_bits(f, bits);
  if (std::popcount(field) < c.k) return std::nullopt;
  return bits ^ drawn_of(field, c.k, random);
}

Changed carried(const Change& c, const Format& f, std::uint64_t bits, Random& random) {
  // A carry moves the distance of an element from the smallest integer, or the magnitude of a
  // float, as one number.
  const bool has_sign_apart = f.is_float() && f.is_signed();
  const std::uint64_t field = field_of(f) & ~(has_sign_apart ? sign_bit(f) : 0);
  const std::uint64_t offset = f.kind == Kind::kSigned ? sign_bit(f) : 0;
  const std::uint64_t now = (bits ^ offset) & field, unit = std::uint64_t{1} << c.bit;
  const bool up = c.carry != Carry::kMissing && field - now >= unit;
  const bool down = c.carry != Carry::kWrong && now >= unit;
  if (!up && !down) return std::nullopt;
  const bool goes_up = up && (!down || random.below(2) == 0);
  return (bits & ~field) | ((goes_up ? now + unit : now - unit) ^ offset);
}

// Adds a whole number to an integer. The sum saturates at the ends of the range.
std::uint64_t saturating_sum(const Format& f, std::uint64_t bits, double value) {
  const double whole = std::clamp(std::nearbyint(value), -0x1p65, 0x1p65);
  const Int128 sum = static_cast<Int128>(*ordinal(f, bits)) + static_cast<Int128>(whole);
  const auto high = static_cast<Int128>(ones(f.precision));
  const Int128 low = f.is_signed() ? -high - 1 : 0;
  return static_cast<std::uint64_t>(std::clamp(sum, low, high)) & ones(f.bits);
}

Changed added(const Change& c, const Format& f, std::uint64_t bits) {
  if (c.ulps != 0) {
    const auto at = ordinal(f, bits);
    std::int64_t to = 0;
    if (!at || __builtin_add_overflow(*at, c.ulps, &to)) return std::nullopt;
    return at_ordinal(f, to);
  }
  if (!f.is_float()) return saturating_sum(f, bits, c.value);
  if (is_nan(f, bits) || is_inf(f, bits)) return bits;
  return encode(f, decode(f, bits) + c.value);
}

void require_bit(const Format& f, std::int64_t bit) {
  if (bit >= f.padding && bit < f.padding + f.bits) return;
  refuse("{} has no bit {}; its bits are {} to {}", f.name, bit, f.padding, f.padding + f.bits - 1);
}

// Throws Refusal if the count is not from 1 to `most`. In the message, `of` and `name` describe
// what has `most` of them.
void require_count(std::string_view what, std::int64_t count, std::int64_t most,
                   std::string_view of, std::string_view name) {
  if (count >= 1 && count <= most) return;
  refuse(count < 1 ? formatted("{} must be at least 1, not {}", what, count)
                   : formatted("{} is {}, but {}{} has only {} bits", what, count, of, name, most));
}

}  // namespace

std::span<const ChangeRow> change_rows() { return kChanges; }

const ChangeRow& row_of(ChangeKind kind) {
  return *std::ranges::find_if(kChanges, [kind](const ChangeRow& row) { return row.kind == kind; });
}

bool draws(const Change& c) {
  switch (c.kind) {
    case ChangeKind::kFlips:
      return c.mask == 0;
    case ChangeKind::kCarry:
      return c.carry == Carry::kEither;
    default:
      return c.kind == ChangeKind::kRandom || c.kind == ChangeKind::kExponent;
  }
}

void require_fits(const Change& c, const Format& f) {
  switch (c.kind) {
    case ChangeKind::kFlip:
    case ChangeKind::kStuckAt0:
    case ChangeKind::kStuckAt1:
      return require_bit(f, c.bit);
    case ChangeKind::kFlips:
      if (c.mask == 0) return require_count("k", c.k, f.bits, "", f.name);
      require_bit(f, std::countr_zero(c.mask));
      return require_bit(f, 63 - std::countl_zero(c.mask));
    case ChangeKind::kBurst:
      require_bit(f, c.bit);
      require_count("length", c.length, 64, "an ", "element");
      return require_bit(f, std::int64_t{c.bit} + c.length - 1);
    case ChangeKind::kExponent: {
      // The prefix of a hifloat8 with the longest exponent.
      constexpr std::uint64_t kLongest = 3 << 5;
      const int bits = std::popcount(exponent_bits(f, kLongest));
      // A format without exponent bits is accepted here with k = 1, because the change is then not
      // injectable.
      return require_count("k", c.k, std::max(bits, 1), "the exponent of ", f.name);
    }
    case ChangeKind::kCarry:
      require_bit(f, c.bit);
      if (f.is_float() && f.is_signed() && c.bit == f.padding + f.bits - 1) {
        refuse("bit {} of {} is its sign, which has no carry; give a bit from {} to {}", c.bit,
               f.name, f.padding, c.bit - 1);
      }
      return;
    case ChangeKind::kAdd:
      if (!std::isfinite(c.value)) {
        refuse("value must be finite, not {}", number_text(c.value));
      }
      if ((c.value == 0) == (c.ulps == 0)) {
        refuse("add needs a value or ulps that is not 0, and only one of the two");
      }
      return;
    default:
      return;
  }
}

Changed change_bits(const Change& c, const Format& f, std::uint64_t bits, Random& random) {
  require_fits(c, f);
  switch (c.kind) {
    case ChangeKind::kFlip:
      return flipped(c, bits);
    case ChangeKind::kFlips:
      return bits ^ (c.mask != 0 ? c.mask : drawn_of(field_of(f), c.k, random));
    case ChangeKind::kBurst:
      return bits ^ (ones(c.length) << c.bit);
    case ChangeKind::kStuckAt0:
      return other_than(bits, bits & ~(std::uint64_t{1} << c.bit));
    case ChangeKind::kStuckAt1:
      return other_than(bits, bits | (std::uint64_t{1} << c.bit));
    case ChangeKind::kZero:
      return zeroed(f, bits);
    case ChangeKind::kRandom:
      return any_other(f, bits, random);
    case ChangeKind::kInfinity:
      return special(f, bits, std::numeric_limits<double>::infinity());
    case ChangeKind::kMinusInfinity:
      return special(f, bits, -std::numeric_limits<double>::infinity());
    case ChangeKind::kNan:
      return special(f, bits, std::numeric_limits<double>::quiet_NaN());
    case ChangeKind::kSign:
      return negated(f, bits);
    case ChangeKind::kExponent:
      return in_exponent(c, f, bits, random);
    case ChangeKind::kCarry:
      return carried(c, f, bits, random);
    case ChangeKind::kAdd:
      return added(c, f, bits);
    case ChangeKind::kStuckLane:
    case ChangeKind::kWrongRow:
      return std::nullopt;
  }
  return std::nullopt;
}

bool is_masked(const Format& f, std::uint64_t before, std::uint64_t after) {
  return ordinal(f, before) == ordinal(f, after);
}

}  // namespace assay::fault
