// Tests complex formats, which have two parts of a float format. No function that needs an order
// accepts them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <functional>
#include <stdexcept>
#include <string>

#include "assay/format/convert.h"
#include "assay/format/format.h"

namespace assay {
namespace {

TEST(ComplexFormat, HasTwoParts) {
  const std::pair<const char*, const char*> parts[] = {
      {"complex128", "float64"}, {"complex64", "float32"}, {"complex32", "float16"}};
  EXPECT_EQ(complex_formats().size(), std::size(parts));
  for (const auto& [name, part] : parts) {
    const Format& f = format_named(name);
    EXPECT_EQ(f.name, name);
    EXPECT_TRUE(f.is_complex());
    EXPECT_FALSE(f.is_float() || f.is_float64() || f.is_signed() || f.has_infinity());
    EXPECT_EQ(&part_format(f), &format_named(part));
    EXPECT_EQ(f.storage_bytes, 2 * part_format(f).storage_bytes);
    EXPECT_EQ(max_finite(f), max_finite(part_format(f)));
    EXPECT_EQ(min_normal(f), min_normal(part_format(f)));
    EXPECT_EQ(min_subnormal(f), min_subnormal(part_format(f)));
    EXPECT_EQ(unit_roundoff(f), unit_roundoff(part_format(f)));
    // A complex format has no precision, exponent or bias of its own.
    EXPECT_EQ(f.precision, 0) << name;
    EXPECT_EQ(f.exponent_bits, 0) << name;
    EXPECT_EQ(f.bias, 0) << name;
  }
  for (const Format& f : formats()) EXPECT_EQ(&part_format(f), &f);
  EXPECT_EQ(&format_named("torch.complex64"), &format_named("cfloat"));
  EXPECT_EQ(&format_named("cdouble"), &format_named("complex128"));
  EXPECT_EQ(&format_named("chalf"), &format_named("complex32"));
}

// Every function that takes the bits or the value of an element reports that it is not a real
// number.
TEST(ComplexFormat, NothingReadsItAsARealNumber) {
  for (const Format& row : complex_formats()) {
    const Format& f = format_named(row.name);
    std::array<std::byte, 32> bytes{};
    std::array<double, 2> values{};
    std::array<float, 2> floats{};
    const std::function<void()> uses[] = {
        [&] { (void)decode(f, 0); },
        [&] { (void)encode(f, 1.0); },
        [&] { (void)encode(f, 1.0, Rounding::kToOdd); },
        [&] { (void)round_to(f, 1.0); },
        [&] { (void)is_nan(f, 0); },
        [&] { (void)is_inf(f, 0); },
        [&] { (void)is_subnormal(f, 0); },
        [&] { (void)is_valid_code(f, 0); },
        [&] { (void)ordinal(f, 0); },
        [&] { (void)at_ordinal(f, 0); },
        [&] { (void)ulp_distance(f, 0, 0); },
        [&] { (void)next_up(f, 0); },
        [&] { (void)next_down(f, 0); },
        [&] { (void)ulp_of(f, 1.0); },
        [&] { (void)element_text(f, 0); },
        [&] { (void)load_element(f, bytes.data()); },
        [&] { store_element(f, bytes.data(), 0); },
        [&] { decode_array(f, bytes.data(), 1, values.data()); },
        [&] { decode_array(f, bytes.data(), 1, floats.data()); },
        [&] { encode_array(f, values.data(), 1, bytes.data()); },
        [&] { encode_array(f, floats.data(), 1, bytes.data(), Overflow::kSaturate); },
        [&] { round_array(f, values.data(), 1); },
    };
    for (std::size_t i = 0; i < std::size(uses); ++i) {
      try {
        uses[i]();
        ADD_FAILURE() << f.name << " " << i;
      } catch (const std::invalid_argument& e) {
        EXPECT_EQ(std::string(e.what()),
                  std::string(f.name) +
                      " is complex, but only real numbers are taken here; give its parts as " +
                      std::string(part_format(f).name))
            << i;
      }
    }
  }
}

TEST(ComplexFormat, IsShownAsAComplexNumber) {
  EXPECT_EQ(complex_text(format_named("complex64"), 0x3fc00000, 0xc0000000),
            "1.5-2j (0x3fc00000, 0xc0000000)");
  EXPECT_EQ(complex_text(format_named("complex32"), 0x7c00, 0x7e00), "inf+nanj (0x7c00, 0x7e00)");
  EXPECT_EQ(complex_text(format_named("complex128"), 0x8000000000000000, 1),
            "-0+5e-324j (0x8000000000000000, 0x0000000000000001)");
  EXPECT_EQ(complex_text(format_named("complex64"), 0, 0x3f800000), "0+1j (0x00000000, 0x3f800000)")
      << "all digits of the real part too";
}

}  // namespace
}  // namespace assay
