#include "assay/audit/corruption.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "assay/base/error.h"
#include "assay/base/text.h"
#include "assay/base/words.h"
#include "assay/fault/fault.h"
#include "assay/fault/mutation.h"
#include "assay/format/format.h"

namespace assay::inline v0_2::audit {
namespace {

constexpr std::string_view kSpecial = "special", kValue = "value", kOrder = "order",
                           kCoverage = "coverage", kArithmetic = "arithmetic", kBits = "bits",
                           kRegion = "region", kFile = "file";
constexpr CorruptionClass kClasses[] = {
    {kSpecial, "NaN and infinity"},
    {kValue, "wrong numbers, everywhere or by their sign"},
    {kOrder, "right numbers in wrong places"},
    {kCoverage, "a part that was not computed, or is of another run"},
    {kArithmetic, "arithmetic of less precision, missing terms"},
    {kBits, "one element with wrong bits"},
    {kRegion, "rows, columns, tiles and lanes with wrong bits"},
    {kFile, "no output at all, or half of one"}};

using fault::with_elements;
using Made = std::optional<Tensor>;

// Returns the bits of a NaN or infinity. Empty if the format has no such code.
std::optional<std::uint64_t> special_bits(const Format& f, double special) {
  if (!f.is_float()) return std::nullopt;
  try {
    const std::uint64_t bits = encode(f, special);
    const bool is_it = std::isnan(special) ? is_nan(f, bits) : is_inf(f, bits);
    return is_it ? std::optional(bits) : std::nullopt;
  } catch (const Refusal&) {
    return std::nullopt;  // the format has no code for this value
  }
}

Made all_of(const Subject& s, double special) {
  const auto bits = special_bits(s.clean.format(), special);
  if (!bits) return std::nullopt;
  return with_elements(s.clean, [&](std::int64_t) { return *bits; });
}

// Sets one element to `special`. This is the finite element with the smallest `key`, and the first
// one if several have this key.
Made at_least(const Subject& s, double special, double (*key)(double value)) {
  const auto bits = special_bits(s.clean.format(), special);
  std::int64_t at = -1;
  double least = HUGE_VAL;
  for (std::int64_t i = 0, n = s.clean.size(); i < n; ++i) {
    const double value = decode(s.clean.format(), s.clean.bits_at(i));
    if (!std::isfinite(value) || !(key(value) < least)) continue;
    least = key(value);
    at = i;
  }
  if (!bits || at < 0) return std::nullopt;
  Tensor t = s.clean;
  t.set_bits(at, *bits);
  return t;
}

double magnitude(double v) { return std::fabs(v); }
double minus_magnitude(double v) { return -std::fabs(v); }

Made all_nan(const Subject& s, std::uint64_t) { return all_of(s, NAN); }
Made all_infinity(const Subject& s, std::uint64_t) { return all_of(s, HUGE_VAL); }
Made one_nan(const Subject& s, std::uint64_t) { return at_least(s, NAN, minus_magnitude); }
Made one_infinity(const Subject& s, std::uint64_t) {
  return at_least(s, HUGE_VAL, minus_magnitude);
}
Made nan_at_smallest(const Subject& s, std::uint64_t) { return at_least(s, NAN, magnitude); }

Made scaled(const Subject& s, std::uint64_t) {
  const Format& f = s.clean.format();
  if (!f.is_float()) return std::nullopt;
  return with_elements(s.clean, [&](std::int64_t i) {
    const std::uint64_t bits = s.clean.bits_at(i);
    const double value = decode(f, bits);
    return std::isfinite(value) ? encode(f, 1.01 * value) : bits;
  });
}

// Doubles the values that have this sign. The others stay right.
Made doubled_where(const Subject& s, bool negative) {
  const Format& f = s.clean.format();
  if (!f.is_signed()) return std::nullopt;
  return with_elements(s.clean, [&](std::int64_t i) {
    const std::uint64_t bits = s.clean.bits_at(i);
    const double value = decode(f, bits);
    return std::isfinite(value) && (negative ? value < 0 : value > 0)
               ? encode(f, 2 * value, Rounding::kNearestEven, Overflow::kSaturate)
               : bits;
  });
}
Made wrong_negatives(const Subject& s, std::uint64_t) { return doubled_where(s, true); }
Made wrong_positives(const Subject& s, std::uint64_t) { return doubled_where(s, false); }
// Adds an error to one element of each pair of neighbours, and subtracts it from the other. So the
// errors cancel in a sum.
Made cancelling(const Subject& s, std::uint64_t) {
  const Format& f = s.clean.format();
  if (!f.is_float() || s.clean.size() < 2) return std::nullopt;
  double most = 0;
  for (std::int64_t i = 0, n = s.clean.size(); i < n; ++i) {
    const double value = decode(f, s.clean.bits_at(i));
    if (std::isfinite(value)) most = std::max(most, std::fabs(value));
  }
  return with_elements(s.clean, [&](std::int64_t i) {
    const double value = decode(f, s.clean.bits_at(i));
    if (!std::isfinite(value) || i >= s.clean.size() / 2 * 2) return s.clean.bits_at(i);
    return encode(f, value + (i % 2 == 0 ? most : -most) / 4, Rounding::kNearestEven,
                  Overflow::kSaturate);
  });
}

// Encodes the right values in another dtype of the same width, and returns these bits as values of
// the right dtype.
Made wrong_dtype(const Subject& s, std::uint64_t) {
  struct Twin {
    std::string_view format, other;
  };
  static constexpr Twin kTwins[] = {{"float16", "bfloat16"},
                                    {"bfloat16", "float16"},
                                    {"float32", "int32"},
                                    {"int32", "float32"},
                                    {"float64", "int64"},
                                    {"int64", "float64"},
                                    {"int16", "float16"},
                                    {"float8_e4m3fn", "float8_e5m2"},
                                    {"float8_e5m2", "float8_e4m3fn"},
                                    {"int8", "float8_e4m3fn"}};
  const Format& f = s.clean.format();
  for (const Twin& twin : kTwins) {
    if (twin.format != f.name) continue;
    const Format& other = format_named(twin.other);
    return with_elements(s.clean, [&](std::int64_t i) {
      const double value = decode(f, s.clean.bits_at(i));
      return encode(other, std::isnan(value) ? 0 : value);
    });
  }
  return std::nullopt;
}

Made permuted(const Subject& s, std::uint64_t draw) {
  Tensor t = s.clean;
  Random random(draw, stream_of(s.title()));
  for (std::int64_t i = t.size() - 1; i > 0; --i) {
    const std::int64_t j = random.index_below(i + 1);
    const std::uint64_t bits = t.bits_at(i);
    t.set_bits(i, t.bits_at(j));
    t.set_bits(j, bits);
  }
  return t;
}

// Stores the matrices of the last two dimensions column by column.
Made transposed(const Subject& s, std::uint64_t) {
  const fault::Matrices matrix = fault::matrices_of(s.clean);
  const std::int64_t rows = matrix.rows, columns = matrix.columns;
  if (rows < 2 || columns < 2) return std::nullopt;
  return with_elements(s.clean, [&](std::int64_t i) {
    const std::int64_t inside = i % (rows * columns);
    return s.clean.bits_at(i - inside + inside % rows * columns + inside / rows);
  });
}

Made shifted(const Subject& s, std::uint64_t) {
  const std::int64_t n = s.clean.size();
  if (n < 2) return std::nullopt;
  return with_elements(s.clean, [&](std::int64_t i) { return s.clean.bits_at((i + n - 1) % n); });
}

// Leaves the elements from `begin` on unwritten: they are zeros, as in fresh memory.
Made unwritten_from(const Subject& s, std::int64_t begin) {
  const Format& f = s.clean.format();
  if (begin <= 0 || begin >= s.clean.size() || f.specials == Specials::kScale) return std::nullopt;
  const std::uint64_t nothing = encode(f, 0);
  return with_elements(s.clean,
                       [&](std::int64_t i) { return i < begin ? s.clean.bits_at(i) : nothing; });
}

Made stale(const Subject& s, std::uint64_t) {
  if (s.other.empty() || s.other.size() != s.clean.size()) return std::nullopt;
  return s.other;
}

Made first_batch(const Subject& s, std::uint64_t) {
  const Shape& shape = s.clean.shape();
  if (shape.empty() || shape.front() < 2) return std::nullopt;
  return unwritten_from(s, s.clean.size() / shape.front());
}

Made last_tile(const Subject& s, std::uint64_t) {
  constexpr std::int64_t kTile = fault::kTileSide;
  const fault::Matrices matrix = fault::matrices_of(s.clean);
  const std::int64_t rows = matrix.rows, columns = matrix.columns;
  if (rows <= kTile && columns <= kTile) return std::nullopt;
  const std::int64_t last = s.clean.size() - rows * columns;  // start of the last matrix
  const std::uint64_t nothing = encode(s.clean.format(), 0);
  return with_elements(s.clean, [&](std::int64_t i) {
    const std::int64_t row = (i - last) / columns, column = (i - last) % columns;
    return i >= last && row >= (rows - 1) / kTile * kTile && column >= (columns - 1) / kTile * kTile
               ? nothing
               : s.clean.bits_at(i);
  });
}

// Leaves unwritten the elements that remain after full vectors of 16, but at least the last
// element.
Made tail(const Subject& s, std::uint64_t) {
  const std::int64_t n = s.clean.size();
  return unwritten_from(s, std::min(n - n % 16, n - 1));
}

Made after_100(const Subject& s, std::uint64_t) {
  if (s.clean.size() <= 100) return std::nullopt;
  const Tensor wrong = obviously_wrong(s.clean);
  return with_elements(
      s.clean, [&](std::int64_t i) { return i < 100 ? s.clean.bits_at(i) : wrong.bits_at(i); });
}

Made last_element(const Subject& s, std::uint64_t) {
  if (s.clean.size() == 0) return std::nullopt;
  Tensor t = s.clean;
  t.set_bits(t.size() - 1, obviously_wrong(s.clean).bits_at(t.size() - 1));
  return t;
}

// A row for each corruption that is neither a mutation nor a fault.
struct OwnRow {
  std::string_view name, of, meaning;
  bool is_drawn;
  Made (*apply)(const Subject& subject, std::uint64_t draw);
};
constexpr OwnRow kOwn[] = {
    {"all_nan", kSpecial, "every element NaN", false, all_nan},
    {"one_nan", kSpecial, "NaN for the largest element", false, one_nan},
    {"nan_at_smallest", kSpecial, "NaN for the smallest element, as of one set to zero first",
     false, nan_at_smallest},
    {"all_infinity", kSpecial, "every element infinite", false, all_infinity},
    {"one_infinity", kSpecial, "infinity for the largest element", false, one_infinity},
    {"scaled", kValue, "every element times 1.01", false, scaled},
    {"wrong_negatives", kValue, "every negative element doubled, all else right", false,
     wrong_negatives},
    {"wrong_positives", kValue, "every positive element doubled, all else right", false,
     wrong_positives},
    {"cancelling", kValue, "errors of both signs whose sum is 0", false, cancelling},
    {"wrong_dtype", kValue, "the bits of another dtype of the same width", false, wrong_dtype},
    {"permuted", kOrder, "all elements in a drawn order", true, permuted},
    {"transposed", kOrder, "matrices stored column by column", false, transposed},
    {"shifted", kOrder, "every element is its predecessor, the first one the last", false, shifted},
    {"stale", kCoverage, "the output of another case", false, stale},
    {"first_batch", kCoverage, "only the first entry of the first dimension was written", false,
     first_batch},
    {"last_tile", kCoverage, "the last tile of 16 x 16 was not written", false, last_tile},
    {"tail", kCoverage, "the elements behind the last full vector of 16 were not written", false,
     tail},
    {"after_100", kCoverage, "the elements after the first 100 are wrong", false, after_100},
    {"last_element", kCoverage, "the last element is wrong", false, last_element},
};

// The class of a mutation of fault/mutation.h. Mutations that are not listed have the class
// arithmetic.
struct MutationClass {
  std::string_view name, of;
};
constexpr MutationClass kMutationClasses[] = {{"sign", kValue},         {"zero", kValue},
                                              {"swapped_rows", kOrder}, {"transposed_tile", kOrder},
                                              {"off_by_one", kOrder},   {"stale_tile", kCoverage}};

std::string_view class_of(const fault::Mutation& mutation) {
  const auto* row = find_row(kMutationClasses, mutation.name, &MutationClass::name);
  return row != nullptr ? row->of : kArithmetic;
}

// The faults that an audit tries in addition to flips and bursts at each bit.
struct FaultRow {
  std::string_view text, of, meaning;
};
constexpr FaultRow kFaults[] = {
    {"flips,k=2", kBits, "two drawn bits of an element flipped"},
    {"exponent", kBits, "a drawn bit of an element's exponent flipped"},
    {"random", kBits, "an element with drawn bits"},
    {"zero,site=element", kBits, "an element that is 0"},
    {"sign,site=element", kBits, "an element with the other sign"},
    {"nan", kBits, "an element that is NaN"},
    {"infinity", kBits, "an element that is infinite"},
    {"minus_infinity", kBits, "an element that is minus infinity"},
    {"stuck_at_0,bit=6", kBits, "bit 6 of an element stuck at 0"},
    {"stuck_at_1,bit=6", kBits, "bit 6 of an element stuck at 1"},
    {"carry,bit=6", kBits, "a carry of bit 6 of an element too many, or missing"},
    {"add,value=1", kBits, "an element that is 1 too large"},
    {"add,ulps=64", kBits, "an element that is 64 representable values too large"},
    {"random,site=row", kRegion, "a row of drawn bits"},
    {"random,site=column", kRegion, "a column of drawn bits"},
    {"random,site=tile", kRegion, "a tile of drawn bits"},
    {"zero,site=row", kRegion, "a row of zeros"},
    {"zero,site=column", kRegion, "a column of zeros"},
    {"zero,site=tile", kRegion, "a tile of zeros"},
    {"wrong_row,site=row", kRegion, "a row that belongs below it"},
    {"stuck_lane,site=periodic,every=16", kRegion, "every 16th element holds the first of them"},
    {"zero,site=periodic,every=16", kRegion, "every 16th element is 0"},
    {"sign,site=periodic,every=16", kRegion, "every 16th element has the other sign"},
};

struct FileRow {
  std::string_view name, meaning;
  FileChange change;
};
constexpr FileRow kFiles[] = {
    {"missing_file", "there is no file", FileChange::kMissing},
    {"empty_file", "the file has no byte", FileChange::kEmpty},
    {"truncated_file", "the second half of the file is missing", FileChange::kTruncated},
    {"golden_file", "a copy of the golden file, where its dtype is another one",
     FileChange::kGolden},
};

// Returns the corruption of a fault. The same draw always breaks the same positions, whatever else
// the audit tries.
Corruption fault_row(const std::string& text, std::string_view of, std::string meaning) {
  const fault::FaultSpec spec = fault::parse_fault(text);
  return {text,
          of,
          std::move(meaning),
          true,
          FileChange::kNone,
          [spec](const Subject& subject, std::uint64_t draw) -> Made {
            fault::FaultSpec drawn = spec;
            drawn.seed = draw;
            Tensor t = subject.clean;
            try {
              if (fault::inject(t, drawn, stream_of(subject.title())).flips.empty()) {
                return std::nullopt;
              }
            } catch (const Refusal&) {
              // The format does not have the bit or value that the fault names.
              return std::nullopt;
            }
            return t;
          }};
}

std::vector<Corruption> make_corruptions() {
  std::vector<Corruption> rows;
  for (const OwnRow& row : kOwn) {
    rows.push_back({std::string(row.name), row.of, std::string(row.meaning), row.is_drawn,
                    FileChange::kNone, row.apply});
  }
  for (const fault::Mutation& mutation : fault::mutations()) {
    rows.push_back({std::string(mutation.name), class_of(mutation), std::string(mutation.summary),
                    false, FileChange::kNone, [&mutation](const Subject& subject, std::uint64_t) {
                      return fault::mutate(mutation, subject.test_case, subject.clean);
                    }});
  }
  for (int bit = 0; bit < 64; ++bit) {
    rows.push_back(fault_row(formatted("flip,bit={}", bit), kBits,
                             formatted("bit {} of an element flipped", bit)));
  }
  for (int bit = 0; bit + 4 <= 64; bit += 4) {
    rows.push_back(fault_row(formatted("burst,bit={},length=4", bit), kBits,
                             formatted("bits {} to {} of an element flipped", bit, bit + 3)));
  }
  for (const FaultRow& row : kFaults) {
    rows.push_back(fault_row(std::string(row.text), row.of, std::string(row.meaning)));
  }
  for (const FileRow& row : kFiles) {
    rows.push_back({std::string(row.name), kFile, std::string(row.meaning), false, row.change, {}});
  }
  // The corruptions are sorted by class, so that reports list those of a class together.
  std::ranges::stable_sort(rows, {}, [](const Corruption& row) {
    return std::ranges::find(kClasses, row.of, &CorruptionClass::name);
  });
  return rows;
}

}  // namespace

std::span<const CorruptionClass> corruption_classes() { return kClasses; }

const std::vector<Corruption>& corruptions() {
  static const std::vector<Corruption> rows = make_corruptions();
  return rows;
}

Tensor obviously_wrong(const Tensor& clean) {
  const Format& f = clean.format();
  double most = 1;
  for (std::int64_t i = 0, n = clean.size(); i < n; ++i) {
    const double value = decode(f, clean.bits_at(i));
    if (std::isfinite(value)) most = std::max(most, std::fabs(value));
  }
  return with_elements(clean, [&](std::int64_t i) {
    const std::uint64_t bits = clean.bits_at(i);
    const double value = decode(f, bits);
    if (f.kind == Kind::kBool) return encode(f, value == 0 ? 1 : 0);
    // The wrong value differs from the right one by more than the largest of all values. It lies on
    // the other side of zero, because there is room.
    const double off = std::isfinite(value) ? value - std::copysign(2 * most + 1, value) : -most;
    const std::uint64_t wrong = encode(f, off, Rounding::kNearestEven, Overflow::kSaturate);
    return wrong != bits ? wrong : encode(f, most, Rounding::kNearestEven, Overflow::kSaturate);
  });
}

std::int64_t changed_elements(const Tensor& clean, const Tensor& output) {
  if (clean.byte_count() == output.byte_count() &&
      std::memcmp(clean.bytes(), output.bytes(), clean.byte_count()) == 0) {
    return 0;
  }
  std::int64_t changed = 0;
  for (std::int64_t i = 0, n = clean.size(); i < n; ++i) {
    const std::uint64_t before = clean.bits_at(i), after = output.bits_at(i);
    changed += before != after && !fault::is_masked(clean.format(), before, after) ? 1 : 0;
  }
  return changed;
}

}  // namespace assay::audit
