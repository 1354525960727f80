#include "assay/tensor/tensor.h"

#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <numeric>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "assay/base/random.h"
#include "error_of.h"

namespace assay {
namespace {

std::vector<float> counted(std::size_t n) {
  std::vector<float> values(n);
  std::iota(values.begin(), values.end(), 0.0f);
  return values;
}

TEST(ShapeTest, ElementCount) {
  EXPECT_EQ(element_count(Shape{}), 1);
  EXPECT_EQ(element_count(Shape{7}), 7);
  EXPECT_EQ(element_count(Shape{2, 3, 4}), 24);
  EXPECT_EQ(element_count(Shape{2, 0, 4}), 0);
  EXPECT_EQ(element_count(Shape{std::int64_t{1} << 62}), std::int64_t{1} << 62);
}

TEST(ShapeTest, ImpossibleShapesAreRefused) {
  EXPECT_EQ(error_of([] {
              element_count(Shape{2, -3});
            }),
            "shape [2, -3] is not valid; extents must be at least 0 and their product "
            "below 2^63");
  EXPECT_EQ(error_of([] {
              element_count(Shape{std::int64_t{1} << 32, std::int64_t{1} << 31});
            }),
            "shape [4294967296, 2147483648] is not valid; extents must be at least 0 and "
            "their product below 2^63");
}

TEST(ShapeTest, ContiguousStrides) {
  EXPECT_EQ(contiguous_strides(Shape{}), Strides{});
  EXPECT_EQ(contiguous_strides(Shape{5}), (Strides{1}));
  EXPECT_EQ(contiguous_strides(Shape{2, 3, 4}), (Strides{12, 4, 1}));
}

TEST(ViewTest, OfAVector) {
  const auto values = counted(24);
  const TensorView flat = view(values);
  EXPECT_EQ(flat.shape, Shape{24});
  EXPECT_EQ(flat.format->name, "float32");
  EXPECT_TRUE(flat.is_contiguous());
  const TensorView v = view(values, {2, 3, 4});
  EXPECT_EQ(v.rank(), 3);
  EXPECT_EQ(v.size(), 24);
  EXPECT_EQ(v.strides, (Strides{12, 4, 1}));
  for (std::int64_t i = 0; i < 24; ++i) {
    EXPECT_EQ(v.value_at(i), static_cast<double>(i));
    EXPECT_EQ(v.bits_at(i), std::bit_cast<std::uint32_t>(static_cast<float>(i)));
  }
}

TEST(ViewTest, SharesTheBytes) {
  std::vector<float> values = counted(4);
  const TensorView v = view(values);
  EXPECT_EQ(v.data, reinterpret_cast<const std::byte*>(values.data()));
  values[2] = 99;
  EXPECT_EQ(v.value_at(2), 99);
}

TEST(ViewTest, EveryCppTypeHasItsFormat) {
  EXPECT_EQ(FormatOf<double>::get().name, "float64");
  EXPECT_EQ(FormatOf<float>::get().name, "float32");
  EXPECT_EQ(FormatOf<std::int8_t>::get().name, "int8");
  EXPECT_EQ(FormatOf<std::uint8_t>::get().name, "uint8");
  EXPECT_EQ(FormatOf<std::int16_t>::get().name, "int16");
  EXPECT_EQ(FormatOf<std::int32_t>::get().name, "int32");
  EXPECT_EQ(FormatOf<std::int64_t>::get().name, "int64");
  EXPECT_EQ(FormatOf<bool>::get().name, "bool");
  const std::int16_t words[] = {-3, 5};
  EXPECT_EQ(view(std::span<const std::int16_t>(words)).values(), (std::vector<double>{-3, 5}));
  const bool flags[] = {true, false};
  EXPECT_EQ(view(flags, {2}).values(), (std::vector<double>{1, 0}));
}

TEST(ViewTest, SpansOfEveryKind) {
  std::vector<float> values = counted(4);
  const std::vector<double> expected = {0, 1, 2, 3};
  EXPECT_EQ(view(std::span<float>(values)).values(), expected);
  EXPECT_EQ(view(std::span<const float>(values)).values(), expected);
  EXPECT_EQ((view(std::span<float, 4>(values)).values()), expected);
  EXPECT_EQ(view(std::span<float>(values), {2, 2}).shape, (Shape{2, 2}));
  EXPECT_TRUE(view(std::span<const float>()).values().empty());
}

TEST(ViewTest, ArraysOfEveryKind) {
  const std::array<float, 4> array = {0, 1, 2, 3};
  float plain[] = {0, 1, 2, 3};
  const float rows[2][3] = {{0, 1, 2}, {3, 4, 5}};
  const std::vector<double> expected = {0, 1, 2, 3};
  EXPECT_EQ(view(array).values(), expected);
  EXPECT_EQ(view(array, {2, 2}).shape, (Shape{2, 2}));
  EXPECT_EQ(view(plain).values(), expected);
  EXPECT_EQ(view(plain, {2, 2}).shape, (Shape{2, 2}));
  EXPECT_EQ(view(rows).shape, (Shape{2, 3}));
  EXPECT_EQ(view(rows).values(), (std::vector<double>{0, 1, 2, 3, 4, 5}));
  EXPECT_EQ(view(rows, {6}).shape, (Shape{6}));
  const float* pointer = plain;
  EXPECT_EQ(view(pointer, {2, 2}, {1, 2}).values(), (std::vector<double>{0, 2, 1, 3}));
  EXPECT_EQ(error_of([&] {
              view(plain, {2, 3});
            }),
            "shape [2, 3] needs 6 elements, but the data has 4")
      << "an array, unlike a pointer, has a length";
}

template <typename T>
concept IsViewed = requires(T&& t) {
  view(std::forward<T>(t));
};
template <typename T>
concept IsViewedWithShape = requires(T&& t) {
  view(std::forward<T>(t), Shape{});
};
template <typename T>
concept IsViewedAsBits = requires(T&& t) {
  view_bits(std::forward<T>(t), format_named("uint32"));
  view_bits(std::forward<T>(t), format_named("uint32"), Shape{});
};

// The elements of a temporary are gone when its view is used.
TEST(ViewTest, OfATemporaryDoesNotCompile) {
  using Owners = std::tuple<std::vector<std::uint32_t>, std::array<std::uint32_t, 3>>;
  const auto test_owner = [](auto owner) {
    using T = decltype(owner);
    EXPECT_TRUE(IsViewed<T&> && IsViewed<const T&> && IsViewedWithShape<T&> &&
                IsViewedAsBits<const T&>);
    EXPECT_FALSE(IsViewed<T> || IsViewed<const T> || IsViewedWithShape<T> || IsViewedAsBits<T>);
  };
  std::apply([&](auto... owners) { (test_owner(owners), ...); }, Owners());
  EXPECT_TRUE(IsViewed<Tensor&>);
  EXPECT_FALSE(IsViewed<Tensor>);
  // A span or a view owns nothing.
  EXPECT_TRUE(IsViewed<std::span<std::uint32_t>> && IsViewedAsBits<std::span<std::uint32_t>>);
  EXPECT_TRUE(IsViewed<TensorView>);
}

TEST(ViewTest, BitPatternsWithAFormat) {
  const std::vector<std::uint16_t> patterns = {0x3f80, 0xbfc0};
  const std::span<const std::uint16_t> span(patterns);
  EXPECT_EQ(view_bits(span, format_named("bfloat16"), {2}).values(),
            (std::vector<double>{1, -1.5}));
  EXPECT_EQ(error_of([&] { view_bits(span, format_named("float32"), {2}); }),
            "patterns of 16 bits were given for float32, but its elements have 32 bits");
}

TEST(ViewTest, BitPatternsOfVectorsAndSpansOfEveryKind) {
  std::vector<std::uint16_t> patterns = {0x3f80, 0xbfc0};
  const Format& bf16 = format_named("bf16");
  const std::vector<double> expected = {1, -1.5};
  EXPECT_EQ(view_bits(patterns, bf16, {2}).values(), expected);
  EXPECT_EQ(view_bits(patterns, bf16, {1, 2}).shape, (Shape{1, 2}));
  EXPECT_EQ(view_bits(patterns, bf16).values(), expected);
  EXPECT_EQ(view_bits(std::as_const(patterns), bf16).values(), expected);
  EXPECT_EQ(view_bits(std::span<std::uint16_t>(patterns), bf16).values(), expected);
  EXPECT_EQ(view_bits(std::span<const std::uint16_t>(patterns), bf16).values(), expected);
  EXPECT_EQ(view_bits(std::span<std::uint16_t, 2>(patterns), bf16).values(), expected);
  const std::array<std::uint8_t, 2> codes = {0x38, 0xb8};
  EXPECT_EQ(view_bits(codes, format_named("float8_e4m3fn")).values(), (std::vector<double>{1, -1}));
  // Unsigned integers can also hold the bits of integer formats.
  const std::uint16_t words[] = {7, 32767};
  EXPECT_EQ(view_bits(words, format_named("int16")).values(), (std::vector<double>{7, 32767}));
  const std::uint32_t long_word[1][1] = {{7}};
  EXPECT_EQ(view_bits(long_word, format_named("int32")).shape, (Shape{1, 1}));
  EXPECT_EQ(error_of([&] { view_bits(patterns, bf16, {3}); }),
            "shape [3] needs 3 elements, but the data has 2");
}

// 16-bit types for storage, if the compiler has them.
TEST(ViewTest, TypesOf16Bits) {
#ifdef ASSAY_HAS_FLOAT16
  const std::vector<_Float16> halves = {static_cast<_Float16>(1.5F), static_cast<_Float16>(-2)};
  EXPECT_EQ(view(halves).format->name, "float16");
  EXPECT_EQ(view(halves, {1, 2}).values(), (std::vector<double>{1.5, -2}));
#endif
#ifdef ASSAY_HAS_BFLOAT16
  const std::uint16_t patterns[] = {0x3f80, 0xbfc0};
  __bf16 stored[2];
  std::memcpy(stored, patterns, sizeof patterns);
  EXPECT_EQ(view(std::span<const __bf16>(stored)).values(), (std::vector<double>{1, -1.5}));
#endif
}

TEST(ViewTest, ShapeAndDataMustAgree) {
  const auto values = counted(6);
  EXPECT_EQ(error_of([&] {
              view(values, {2, 4});
            }),
            "shape [2, 4] needs 8 elements, but the data has 6");
  EXPECT_EQ(error_of([&] {
              view(values.data(), {2, 3}, {1});
            }),
            "1 strides were given for shape [2, 3]; give one for each dimension");
  EXPECT_EQ(error_of([&] { view(values.data(), {-2}); }),
            "shape [-2] is not valid; extents must be at least 0 and their product below "
            "2^63");
}

// Reads elements by strides, in plain loops.
std::vector<double> read_plainly(const float* data, const Shape& shape, const Strides& strides) {
  std::vector<double> result;
  std::vector<std::int64_t> index(shape.size(), 0);
  for (std::int64_t n = element_count(shape); n > 0; --n) {
    std::int64_t offset = 0;
    for (std::size_t d = 0; d < shape.size(); ++d) offset += index[d] * strides[d];
    result.push_back(static_cast<double>(data[offset]));
    for (std::size_t d = shape.size(); d-- > 0;) {
      if (++index[d] < shape[d]) break;
      index[d] = 0;
    }
  }
  return result;
}

TEST(StridesTest, EveryKindIsReadInRowMajorOrder) {
  const auto values = counted(8192);
  const float* middle = values.data() + 2048;
  const struct {
    Shape shape;
    Strides strides;
    bool contiguous;
  } cases[] = {{{4, 5}, {5, 1}, true},           {{4, 5}, {1, 4}, false},  // column-major
               {{4, 5}, {7, 1}, false},                                    // rows with a gap
               {{4, 5}, {10, 2}, false},                                   // every second element
               {{4, 5}, {-5, -1}, false},                                  // backwards
               {{4, 5}, {0, 1}, false},                                    // one row, broadcast
               {{4, 5}, {0, 0}, false},                                    // one element, broadcast
               {{1, 5}, {99, 1}, true},  // the stride of a single row does not matter
               {{4, 1}, {1, 99}, true},          {{2, 3, 4}, {12, 4, 1}, true},
               {{2, 3, 4}, {4, 8, 1}, false},     // dimensions exchanged
               {{2, 3, 700}, {1, -2, 3}, false},  // rows longer than a buffer
               {{3, 600}, {601, 1}, false},      {{}, {}, true},
               {{0, 3}, {3, 1}, true},           {{3, 0}, {5, 7}, true}};
  for (const auto& [shape, strides, contiguous] : cases) {
    SCOPED_TRACE(testing::PrintToString(shape) + " by " + testing::PrintToString(strides));
    const TensorView v = view_bytes(middle, format_named("float32"), shape, strides);
    EXPECT_EQ(v.is_contiguous(), contiguous);
    const auto expected = read_plainly(middle, shape, strides);
    EXPECT_EQ(v.values(), expected);
    const Tensor copy = copy_of(v);
    EXPECT_EQ(copy.view().values(), expected);
    EXPECT_TRUE(copy.view().is_contiguous());
    EXPECT_EQ(copy.shape(), shape);
    for (std::int64_t i = 0; i < v.size(); i += v.size() / 50 + 1) {
      EXPECT_EQ(v.value_at(i), expected[static_cast<std::size_t>(i)]);
    }
  }
}

TEST(StridesTest, ReadsFromAnywhere) {
  const auto values = counted(1000);
  const TensorView plain = view(values, {20, 50}), crossed = plain.transposed();
  const auto all = crossed.values();
  Random random(20, 1);
  for (int i = 0; i < 300; ++i) {
    const auto begin = static_cast<std::int64_t>(random.below(1000));
    const auto count = static_cast<std::int64_t>(random.below(1000 - static_cast<unsigned>(begin)));
    std::vector<double> part(static_cast<std::size_t>(count) + 1, -7);
    crossed.read(begin, count, part.data());
    for (std::int64_t j = 0; j < count; ++j) {
      ASSERT_EQ(part[static_cast<std::size_t>(j)], all[static_cast<std::size_t>(begin + j)]);
    }
    ASSERT_EQ(part.back(), -7);
    plain.read(begin, count, part.data());
    for (std::int64_t j = 0; j < count; ++j) {
      ASSERT_EQ(part[static_cast<std::size_t>(j)], static_cast<double>(begin + j));
    }
  }
}

TEST(ViewTest, MultiIndexIsTheInverse) {
  const auto values = counted(24);
  const TensorView v = view(values, {2, 3, 4});
  EXPECT_EQ(v.multi_index(0), (std::vector<std::int64_t>{0, 0, 0}));
  EXPECT_EQ(v.multi_index(17), (std::vector<std::int64_t>{1, 1, 1}));
  EXPECT_EQ(v.multi_index(23), (std::vector<std::int64_t>{1, 2, 3}));
  // Indices are in row-major order, whatever the strides are.
  EXPECT_EQ(v.transposed().multi_index(23), (std::vector<std::int64_t>{1, 3, 2}));
}

TEST(ViewTest, SubTensors) {
  const auto values = counted(24);
  const TensorView v = view(values, {2, 3, 4});
  EXPECT_EQ(v.at(1).shape, (Shape{3, 4}));
  EXPECT_EQ(v.at(1).at(2).at(3).value_at(0), 23);
  EXPECT_EQ(v.at(1).at(2).at(3).rank(), 0);
  EXPECT_EQ(v.transposed().at(1).at(3).values(), (std::vector<double>{15, 19, 23}));
  EXPECT_EQ(v.slice(1, 1).shape, (Shape{1, 3, 4}));
  EXPECT_EQ(v.transposed().at(1).slice(1, 2).values(),
            (std::vector<double>{13, 17, 21, 14, 18, 22}));
  EXPECT_EQ(v.slice(2, 0).size(), 0);
  EXPECT_EQ(error_of([&] { v.slice(1, 2); }),
            "the range [1, 3) is outside the first dimension of shape [2, 3, 4]");
  for (const std::int64_t index : {-1, 2}) {
    EXPECT_EQ(
        error_of([&] { v.at(index); }),
        "index " + std::to_string(index) + " is outside the first dimension of shape [2, 3, 4]");
  }
  EXPECT_EQ(error_of([&] { v.at(0).at(0).at(0).at(0); }),
            "index 0 is outside the first dimension of shape []");
}

TEST(ViewTest, Transposed) {
  const auto values = counted(6);
  const TensorView t = view(values, {2, 3}).transposed();
  EXPECT_EQ(t.shape, (Shape{3, 2}));
  EXPECT_EQ(t.values(), (std::vector<double>{0, 3, 1, 4, 2, 5}));
  EXPECT_EQ(t.transposed().values(), view(values).values());
  EXPECT_EQ(error_of([&] { view(values).transposed(); }),
            "a tensor of shape [6] has no two dimensions to exchange");
}

TEST(TensorTest, FromValuesRounds) {
  const std::vector<double> values = {1, 1.0 / 3, -0.0, 1e9, 70000, 0x1p-25};
  const Tensor t = Tensor::from_values(format_named("float16"), {2, 3}, values);
  EXPECT_EQ(t.shape(), (Shape{2, 3}));
  EXPECT_EQ(t.size(), 6);
  EXPECT_EQ(t.byte_count(), 12u);
  EXPECT_FALSE(t.empty());
  const std::uint64_t codes[] = {0x3c00, 0x3555, 0x8000, 0x7c00, 0x7c00, 0x0000};
  for (std::int64_t i = 0; i < 6; ++i) EXPECT_EQ(t.bits_at(i), codes[i]);
  EXPECT_EQ(error_of([&] {
              Tensor::from_values(format_named("float16"), {2, 2}, values);
            }),
            "6 values cannot fill a tensor of shape [2, 2]");
}

TEST(TensorTest, CopiesAreDeep) {
  Tensor a = Tensor::from_values(format_named("int8"), {3}, std::vector<double>{1, 2, 3});
  Tensor b = a;
  Tensor c;
  EXPECT_TRUE(c.empty());
  c = a;
  a.set_bits(0, 0x7f);
  EXPECT_EQ(a.view().values(), (std::vector<double>{127, 2, 3}));
  EXPECT_EQ(b.view().values(), (std::vector<double>{1, 2, 3}));
  EXPECT_EQ(c.view().values(), (std::vector<double>{1, 2, 3}));
  const Tensor& alias = c;
  c = alias;
  EXPECT_EQ(c.view().values(), (std::vector<double>{1, 2, 3}));
  const Tensor nothing;
  b = nothing;
  EXPECT_TRUE(b.empty());
}

TEST(TensorTest, MovesKeepTheBytes) {
  Tensor a = Tensor::from_values(format_named("int8"), {3}, std::vector<double>{1, 2, 3});
  const std::byte* bytes = a.bytes();
  const Tensor b = std::move(a);
  EXPECT_EQ(b.bytes(), bytes);
  EXPECT_EQ(b.view().values(), (std::vector<double>{1, 2, 3}));
}

TEST(TensorTest, WhatWasMovedFromIsEmpty) {
  Tensor a = Tensor::from_values(format_named("int8"), {3}, std::vector<double>{1, 2, 3});
  const Tensor b = std::move(a);
  EXPECT_TRUE(a.empty());  // NOLINT: the test reads a tensor after its move
}

TEST(TensorTest, LiesOnWholeLines) {
  for (const Shape& shape : {Shape{}, Shape{0}, Shape{1}, Shape{63}, Shape{3, 7}}) {
    const Tensor t(format_named("float32"), shape);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(t.bytes()) % 64, 0u);
    const Tensor copy = t;
    EXPECT_EQ(copy.shape(), shape);
  }
}

TEST(TensorTest, SetBitsWritesOneElement) {
  for (const Format& f : formats()) {
    Tensor t(f, {5});
    std::memset(t.bytes(), 0, t.byte_count());
    t.set_bits(2, encode(f, 1.0));
    for (std::int64_t i = 0; i < 5; ++i) {
      EXPECT_EQ(t.bits_at(i), i == 2 ? encode(f, 1.0) : 0u) << f.name;
    }
    EXPECT_EQ(t.view().value_at(2), 1.0) << f.name;
  }
}

TEST(TensorTest, ComplexElementsAreReadByTheirParts) {
  const std::vector<std::complex<float>> values = {{1, -2}, {3, 4}, {5, 6},
                                                   {7, 8},  {9, 0}, {-1, 1}};
  const TensorView grid = view(values, {2, 3});
  EXPECT_EQ(grid.format->name, "complex64");
  const TensorView parts = parts_of(grid.transposed());
  EXPECT_EQ(parts.format->name, "float32");
  EXPECT_EQ(parts.shape, (Shape{3, 2, 2}));
  EXPECT_EQ(parts.values(), (std::vector<double>{1, -2, 7, 8, 3, 4, 9, 0, 5, 6, -1, 1}));
  EXPECT_EQ(parts_of(copy_of(grid.transposed())).values(), parts.values());
  EXPECT_EQ(parts_of(grid.at(1).slice(1, 2)).values(), (std::vector<double>{9, 0, -1, 1}));
  const Tensor half = Tensor::from_values(format_named("complex32"), {}, std::vector<double>{1, 2});
  EXPECT_EQ(half.byte_count(), 4u);
  EXPECT_EQ(parts_of(half).bits_at(1), 0x4000u);
  EXPECT_THROW((void)Tensor::from_values(format_named("complex64"), {2}, std::vector<double>{1, 2}),
               std::invalid_argument);
  Tensor wide(format_named("complex128"), {2});
  EXPECT_THROW((void)wide.bits_at(0), std::invalid_argument);
  EXPECT_THROW(wide.set_bits(0, 0), std::invalid_argument);
  EXPECT_THROW((void)wide.view().value_at(0), std::invalid_argument);
  EXPECT_THROW((void)wide.view().values(), std::invalid_argument);
  // For real numbers, parts_of() returns the view itself.
  const std::vector<float> real = {1, 2};
  EXPECT_EQ(parts_of(view(real)).shape, Shape{2});
}

// A shape whose bytes do not fit memory's address space must not become a small buffer.
TEST(TensorTest, MoreBytesThanThereAreIsAnError) {
  for (const std::int64_t extent :
       {std::int64_t{1} << 61, (std::int64_t{1} << 61) + 1, std::int64_t{1} << 62}) {
    EXPECT_ANY_THROW(Tensor(format_named("float64"), {extent})) << extent;
  }
}

}  // namespace
}  // namespace assay
