// Tests casts between formats: every value of every 8-bit and 16-bit format (and those between) to
// every format that is not wider, integers included.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "assay/format/convert.h"
#include "assay/format/format.h"
#include "oracle.h"

namespace assay {
namespace {

using oracle::same;

// Returns the value of a stored integer code, without the table under test.
double integer_value(const std::string& name, std::uint64_t code) {
  if (name == "int8") return static_cast<double>(static_cast<std::int8_t>(code));
  if (name == "int16") return static_cast<double>(static_cast<std::int16_t>(code));
  return static_cast<double>(code);  // uint8, bool
}
bool is_integer(const std::string& name) {
  return name == "bool" || name == "int8" || name == "uint8" || name == "int16";
}

double source_value(const std::string& name, std::uint64_t code) {
  return is_integer(name) ? integer_value(name, code) : oracle::value(name, code);
}
int bits_of(const std::string& name) {
  if (is_integer(name)) return name == "bool" ? 1 : name == "int16" ? 16 : 8;
  return oracle::spec(name).bits;
}

std::vector<std::string> all_names() {
  std::vector<std::string> names = oracle::names(16);
  for (const char* name : {"bool", "int8", "uint8", "int16"}) names.emplace_back(name);
  return names;
}

// Tests casts to one format, and knows what a number must become in it.
class CastTest : public testing::TestWithParam<std::string> {
 protected:
  const std::string to = GetParam();
  const Format& format = format_named(to);
  const std::unique_ptr<oracle::Reference> reference =
      is_integer(to) ? nullptr : std::make_unique<oracle::Reference>(to);
  const bool takes_nan = reference ? reference->row.nan : to == "bool";

  double expected(double v, Rounding mode, Overflow overflow) const {
    if (reference) return reference->rounded(v, mode, overflow);
    if (to == "bool") return v != 0 ? 1 : 0;
    const double high = to == "int16" ? 32767 : to == "int8" ? 127 : 255;
    const double low = to == "uint8" ? 0 : -high - 1;
    const double whole = std::isinf(v) ? v : oracle::mpfr_integer(v, mode);
    return std::clamp(whole, low, high) + 0.0;
  }

  void check(const std::string& from, std::uint64_t code, Rounding mode, Overflow overflow) const {
    const double v = source_value(from, code);
    ASSERT_TRUE(same(decode(format_named(from), code), v)) << from << std::hex << " 0x" << code;
    // A NaN keeps its sign. source_value() does not have that sign if the format has only one NaN.
    const double decoded = decode(format_named(from), code);
    if (std::isnan(v) && !takes_nan && overflow == Overflow::kIeee) {
      ASSERT_THROW(encode(format, decoded, mode, overflow), std::invalid_argument) << from;
      return;
    }
    const std::uint64_t got = encode(format, decoded, mode, overflow);
    if (std::isnan(v) && reference && overflow == Overflow::kIeee) {
      const oracle::Spec& row = reference->row;
      ASSERT_EQ(got, std::signbit(decoded) ? row.negative_nan_code : row.nan_code) << from;
      return;
    }
    // Integers refuse NaN under either policy. bool is x != 0, which is true for NaN.
    if (std::isnan(v) && !reference) {
      ASSERT_EQ(got, 1u) << from;
      return;
    }
    const double want = expected(v, mode, overflow);
    ASSERT_TRUE(same(source_value(to, got), want))
        << from << std::hex << " 0x" << code << std::defaultfloat << " (" << v << ") became "
        << source_value(to, got) << ", not " << want << ": " << rounding_name(mode);
  }
};

INSTANTIATE_TEST_SUITE_P(To, CastTest, testing::ValuesIn(all_names()), oracle::name_of);

TEST_P(CastTest, EveryValueOfEveryFormatThatIsNotNarrower) {
  int sources = 0;
  for (const std::string& from : all_names()) {
    const int bits = bits_of(from);
    if (bits < bits_of(to)) continue;
    ++sources;
    for (std::uint64_t code = 0; code < std::uint64_t{1} << bits; ++code) {
      const bool no_integer = std::isnan(source_value(from, code)) && is_integer(to);
      for (const Overflow overflow : oracle::kOverflows) {
        if (no_integer && to != "bool" && overflow == Overflow::kSaturate) continue;
        ASSERT_NO_FATAL_FAILURE(check(from, code, Rounding::kNearestEven, overflow));
      }
      if (bits > 8) continue;  // Float32Test tests the other rounding modes for 16-bit formats
      for (const Rounding mode : oracle::kRoundings) {
        ASSERT_NO_FATAL_FAILURE(check(from, code, mode, Overflow::kIeee));
      }
    }
  }
  EXPECT_GE(sources, 3);  // float16, bfloat16, int16
}

// Tests casts from every format that is not narrower, for whole arrays: they are decoded to float32
// and encoded from it.
TEST_P(CastTest, ArraysThroughFloat32) {
  const auto width = static_cast<std::size_t>(format.storage_bytes);
  for (const std::string& from : all_names()) {
    const int bits = bits_of(from);
    if (bits < bits_of(to)) continue;
    const Format& source = format_named(from);
    const std::size_t n = std::size_t{1} << bits;
    std::vector<std::byte> codes(n * static_cast<std::size_t>(source.storage_bytes));
    for (std::size_t i = 0; i < n; ++i) {
      store_element(source, codes.data() + i * static_cast<std::size_t>(source.storage_bytes), i);
    }
    std::vector<float> values(n);
    decode_array(source, codes.data(), n, values.data());
    if (!takes_nan) {
      for (float& v : values) v = std::isnan(v) ? 1.0f : v;
    }
    std::vector<std::byte> got(n * width);
    encode_array(format, values.data(), n, got.data());
    for (std::size_t i = 0; i < n; ++i) {
      double v = decode(source, i);
      if (std::isnan(v) && !takes_nan) v = 1;
      ASSERT_EQ(load_element(format, got.data() + i * width), encode(format, v))
          << from << std::hex << " 0x" << i;
    }
  }
}

}  // namespace
}  // namespace assay
