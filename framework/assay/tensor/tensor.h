// Tensors: bytes, a format and a shape. A view owns nothing; a Tensor owns its bytes.
//
//   std::vector<float> y = ...;
//   TensorView v = view(y, {64, 512});                 // vector, span or array, with a shape
//   TensorView t = view(pointer, {64, 512}, {1, 64});  // raw pointer, strides in elements
//   TensorView b = view_bits(patterns, format_named("bfloat16"), {64, 512});  // of uint16_t
//   Tensor x(format_named("bfloat16"), {64, 512});
#pragma once

#include <array>
#include <complex>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "assay/format/format.h"

// The two macros are defined if the compiler has _Float16 and __bf16. The macros of their limits
// show this, except that g++ 12 for ARM defines the limits without the types.
#if defined(__FLT16_MANT_DIG__) && !(defined(__aarch64__) && !defined(__clang__) && __GNUC__ < 13)
#define ASSAY_HAS_FLOAT16
#endif
#if defined(__BFLT16_MANT_DIG__) || defined(__ARM_BF16_FORMAT_ALTERNATIVE) || \
    (defined(__clang__) && __clang_major__ >= 17 && defined(__x86_64__))
#define ASSAY_HAS_BFLOAT16
#endif

namespace assay::inline v0_2 {

// The extents of a tensor, one for each dimension. A scalar has the empty shape.
using Shape = std::vector<std::int64_t>;
// Strides in elements, one for each dimension. A stride may be 0 or negative.
using Strides = std::vector<std::int64_t>;

// Returns the number of elements, which is 1 for a scalar. Throws Refusal if an
// extent is negative or the product exceeds int64.
std::int64_t element_count(std::span<const std::int64_t> shape);
// Returns the strides of a row-major tensor without gaps.
Strides contiguous_strides(std::span<const std::int64_t> shape);

// A view of a tensor's elements, with any strides. It does not own the elements.
struct TensorView {
  const std::byte* data = nullptr;
  const Format* format = nullptr;
  Shape shape;
  Strides strides;

  int rank() const { return static_cast<int>(shape.size()); }
  std::int64_t size() const { return element_count(shape); }
  bool is_contiguous() const;
  // Returns the stored bits of the element at a row-major linear index.
  std::uint64_t bits_at(std::int64_t linear) const;
  double value_at(std::int64_t linear) const;
  // Converts a row-major linear index into one index for each dimension.
  std::vector<std::int64_t> multi_index(std::int64_t linear) const;
  // Copies the values [begin, begin + count) in row-major order as float64.
  void read(std::int64_t begin, std::int64_t count, double* to) const;
  // Returns all values in row-major order. `threads` is the number of threads. 0 means
  // default_threads().
  std::vector<double> values(int threads = 1) const;
  // Returns the sub-tensor at `index` of the first dimension.
  TensorView at(std::int64_t index) const;
  // Returns the `count` sub-tensors from `begin` on.
  TensorView slice(std::int64_t begin, std::int64_t count) const;
  // Returns the view with its last two dimensions exchanged. The rank must be at least 2.
  TensorView transposed() const;
};

// A tensor that owns its elements, which lie in row-major order without gaps.
class Tensor {
 public:
  Tensor() = default;
  // Makes a row-major tensor, whose bytes are not initialised.
  Tensor(const Format& format, Shape shape);
  // A tensor is empty after it was moved from.
  Tensor(Tensor&& other) noexcept
      : format_(std::exchange(other.format_, nullptr)),
        shape_(std::move(other.shape_)),
        data_(std::move(other.data_)) {}
  Tensor& operator=(Tensor&& other) noexcept {
    format_ = std::exchange(other.format_, nullptr);
    shape_ = std::move(other.shape_);
    data_ = std::move(other.data_);
    return *this;
  }
  Tensor(const Tensor& other);
  Tensor& operator=(const Tensor& other);

  // Returns a tensor of the values, rounded to the format by nearest_even. A complex element takes
  // two values. Throws Refusal if the shape needs another number of values.
  static Tensor from_values(const Format& format, Shape shape, std::span<const double> values);

  const Format& format() const { return *format_; }
  const Shape& shape() const { return shape_; }
  std::int64_t size() const { return element_count(shape_); }
  std::size_t byte_count() const;
  bool empty() const { return format_ == nullptr; }
  std::byte* bytes() { return data_.get(); }
  const std::byte* bytes() const { return data_.get(); }

  std::uint64_t bits_at(std::int64_t linear) const;
  void set_bits(std::int64_t linear, std::uint64_t bits);
  TensorView view() const { return {data_.get(), format_, shape_, contiguous_strides(shape_)}; }
  operator TensorView() const { return view(); }  // NOLINT: a Tensor is used wherever a view is

 private:
  struct Free {
    void operator()(std::byte* p) const;
  };
  const Format* format_ = nullptr;
  Shape shape_;
  std::unique_ptr<std::byte, Free> data_;
};

// Returns the parts of a complex view as a view of real numbers, with an additional last dimension
// of 2, the real part first. A view of real numbers is returned unchanged. This is the way to read
// and write elements of complex tensors: functions that take bits or values of single elements
// throw Refusal for them.
TensorView parts_of(const TensorView& view);

// Returns a contiguous, row-major copy.
Tensor copy_of(const TensorView& view);

// The format of a C++ type. std::uint16_t has no format, because it often holds bit patterns: use
// view_bits() with their format, or with format_named("uint16"). Eigen::half and Eigen::bfloat16
// are in tensor/eigen.h.
template <typename T>
struct FormatOf;
#define ASSAY_FORMAT_OF(type, text)                  \
  template <>                                        \
  struct FormatOf<type> {                            \
    static const Format& get() {                     \
      static const Format& row = format_named(text); \
      return row;                                    \
    }                                                \
  };
ASSAY_FORMAT_OF(double, "float64")
ASSAY_FORMAT_OF(float, "float32")
ASSAY_FORMAT_OF(std::int8_t, "int8")
ASSAY_FORMAT_OF(std::uint8_t, "uint8")
ASSAY_FORMAT_OF(std::int16_t, "int16")
ASSAY_FORMAT_OF(std::int32_t, "int32")
ASSAY_FORMAT_OF(std::int64_t, "int64")
ASSAY_FORMAT_OF(std::uint32_t, "uint32")
ASSAY_FORMAT_OF(std::uint64_t, "uint64")
ASSAY_FORMAT_OF(bool, "bool")
ASSAY_FORMAT_OF(std::complex<double>, "complex128")
ASSAY_FORMAT_OF(std::complex<float>, "complex64")
// _Float16 and __bf16 are also C++23's std::float16_t and std::bfloat16_t.
#ifdef ASSAY_HAS_FLOAT16
ASSAY_FORMAT_OF(_Float16, "float16")
#endif
#ifdef ASSAY_HAS_BFLOAT16
ASSAY_FORMAT_OF(__bf16, "bfloat16")
#endif

template <typename T>
concept Element = requires {
  FormatOf<std::remove_cv_t<T>>::get();
};

// Returns a view of a raw pointer. Strides are in elements; without strides, the view is row-major
// without gaps. Throws Refusal if strides and shape differ in length.
TensorView view_bytes(const void* data, const Format& format, Shape shape, Strides strides = {});

// Returns a view of a raw pointer, as view_bytes() does, with the format of the pointer's C++ type.
template <typename Pointer>
requires(std::is_pointer_v<Pointer>&& Element<std::remove_pointer_t<Pointer>>) TensorView
    view(const Pointer& data, Shape shape, Strides strides = {}) {
  return view_bytes(data, FormatOf<std::remove_cv_t<std::remove_pointer_t<Pointer>>>::get(),
                    std::move(shape), std::move(strides));
}

// True for the types of C++ that hold elements one by one in memory: std::span, std::vector,
// std::array and arrays of C. std::vector<bool> does not.
template <typename T>
inline constexpr bool kIsSequence = false;
template <typename T, std::size_t kExtent>
inline constexpr bool kIsSequence<std::span<T, kExtent>> = true;
template <typename T, typename Allocator>
inline constexpr bool kIsSequence<std::vector<T, Allocator>> = !std::same_as<T, bool>;
template <typename T, std::size_t kCount>
inline constexpr bool kIsSequence<std::array<T, kCount>> = true;
template <typename T, std::size_t kCount>
inline constexpr bool kIsSequence<T[kCount]> = true;

// The type of a sequence's elements. That of an array of arrays is the innermost array's.
template <typename T>
using SequenceElement = std::remove_cv_t<std::remove_all_extents_t<
    std::remove_pointer_t<decltype(std::data(std::declval<const T&>()))>>>;
// A sequence of numbers that have a format, and one of unsigned integers, which may be bit
// patterns.
template <typename T>
concept Sequence = kIsSequence<T> && Element<SequenceElement<T>>;
template <typename T>
concept PatternSequence = kIsSequence<T> && std::is_unsigned_v<SequenceElement<T>>;

// Returns the number of elements. For an array of arrays, this counts the elements of the innermost
// arrays.
template <typename T>
std::size_t sequence_count(const T& elements) {
  if constexpr (std::is_array_v<T>) return sizeof(T) / sizeof(SequenceElement<T>);
  return std::size(elements);
}
// Returns the extents of an array of arrays.
template <typename T, std::size_t... kRank>
Shape array_shape(std::index_sequence<kRank...>) {
  return {static_cast<std::int64_t>(std::extent_v<T, kRank>)...};
}
// Returns the shape of a sequence if the caller does not give one. It is the extents of an array of
// arrays, and one dimension for any other sequence.
template <typename T>
Shape sequence_shape(const T& elements) {
  if constexpr (std::is_array_v<T>) {
    return array_shape<T>(std::make_index_sequence<std::rank_v<T>>());
  }
  return {static_cast<std::int64_t>(std::size(elements))};
}

// Returns a view of contiguous elements. Throws Refusal if the shape does not have exactly `count`
// elements.
TensorView view_span(const void* data, std::size_t count, const Format& format, Shape shape);

// Return a view of a sequence: vector, span, std::array or array of C. Without a shape, it is a
// vector of the sequence's length; an array of arrays has the shape of its extents.
template <Sequence T>
TensorView view(const T& elements, Shape shape) {
  return view_span(std::data(elements), sequence_count(elements),
                   FormatOf<SequenceElement<T>>::get(), std::move(shape));
}
template <Sequence T>
TensorView view(const T& elements) {
  return view(elements, sequence_shape(elements));
}

// Returns a view of bit patterns that C++ has no type for, with the format that gives them their
// meaning. The patterns are unsigned integers as wide as the format's elements. Without a shape,
// the view is as that of numbers. Throws Refusal if the widths differ, or if the shape does not
// have exactly `count` elements.
//
//   std::vector<std::uint16_t> y = ...;
//   view_bits(y, format_named("bfloat16"), {64, 512});
TensorView view_patterns(const void* patterns, std::size_t count, std::size_t width,
                         const Format& format, Shape shape);

// Returns view_patterns() of a sequence of bit patterns.
template <PatternSequence T>
TensorView view_bits(const T& patterns, const Format& format, Shape shape) {
  return view_patterns(std::data(patterns), sequence_count(patterns), sizeof(SequenceElement<T>),
                       format, std::move(shape));
}
// Returns view_patterns() of a sequence of bit patterns, with the shape of the sequence.
template <PatternSequence T>
TensorView view_bits(const T& patterns, const Format& format) {
  return view_bits(patterns, format, sequence_shape(patterns));
}

// Makes tensors of another library viewable: a specialisation has `static TensorView of(const T&)`,
// and `static constexpr bool kOwns = true` if the elements end with the object. tensor/eigen.h
// specialises it for Eigen's matrices, and a team may do so for its own classes.
template <typename T>
struct ViewOf;

// Returns a view of another library's tensor, for which ViewOf is specialised.
template <typename T>
requires requires(const T& t) { ViewOf<T>::of(t); }
TensorView view(const T& tensor) { return ViewOf<T>::of(tensor); }

// Return the argument as a view, so that generic code may call view() on any argument.
inline TensorView view(const TensorView& v) { return v; }
inline TensorView view(const Tensor& t) { return t.view(); }

// True for types whose elements end with the object.
template <typename T>
inline constexpr bool kOwnsElements = kIsSequence<T>;
template <typename T, std::size_t kExtent>
inline constexpr bool kOwnsElements<std::span<T, kExtent>> = false;
template <>
inline constexpr bool kOwnsElements<Tensor> = true;
template <typename T>
requires(ViewOf<T>::kOwns) inline constexpr bool kOwnsElements<T> = true;

// A view of a temporary would be left without its elements. Keep the object in a variable, or pass
// it to the matcher itself: CloseTo(kernel()) copies it.
template <typename T>
requires(kOwnsElements<T>) TensorView view(const T&& temporary)
= delete;
template <typename T>
requires(kOwnsElements<T>) TensorView view(const T&& temporary, Shape shape)
= delete;
template <typename T>
requires(kOwnsElements<T>) TensorView view_bits(const T&& temporary, const Format& format)
= delete;
template <typename T>
requires(kOwnsElements<T>) TensorView
    view_bits(const T&& temporary, const Format& format, Shape shape)
= delete;

}  // namespace assay
