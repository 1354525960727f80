#include "assay/tensor/tensor.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>

#include "assay/base/float_environment.h"
#include "assay/base/large_memory.h"
#include "assay/base/parallel.h"
#include "assay/base/text.h"
#include "assay/format/convert.h"

namespace assay::inline v0_2 {

std::int64_t element_count(std::span<const std::int64_t> shape) {
  std::int64_t count = 1;
  for (const std::int64_t extent : shape) {
    if (extent < 0 || __builtin_mul_overflow(count, extent, &count)) {
      refuse("shape {} is not valid; extents must be at least 0 and their product below 2^63",
             shape_text(shape));
    }
  }
  return count;
}

Strides contiguous_strides(std::span<const std::int64_t> shape) {
  Strides strides(shape.size());
  std::int64_t stride = 1;
  for (std::size_t d = shape.size(); d-- > 0;) {
    strides[d] = stride;
    stride *= std::max<std::int64_t>(shape[d], 1);
  }
  return strides;
}

bool TensorView::is_contiguous() const {
  std::int64_t expected = 1;
  for (std::size_t d = shape.size(); d-- > 0;) {
    if (shape[d] == 0) return true;
    if (shape[d] > 1 && strides[d] != expected) return false;
    expected *= shape[d];
  }
  return true;
}

std::vector<std::int64_t> TensorView::multi_index(std::int64_t linear) const {
  std::vector<std::int64_t> index(shape.size());
  for (std::size_t d = shape.size(); d-- > 0;) {
    index[d] = linear % shape[d];
    linear /= shape[d];
  }
  return index;
}

std::uint64_t TensorView::bits_at(std::int64_t linear) const {
  std::int64_t offset = 0;
  for (std::size_t d = shape.size(); d-- > 0;) {
    offset += linear % shape[d] * strides[d];
    linear /= shape[d];
  }
  return load_element(*format, data + offset * format->storage_bytes);
}

double TensorView::value_at(std::int64_t linear) const { return decode(*format, bits_at(linear)); }

void TensorView::read(std::int64_t begin, std::int64_t count, double* to) const {
  const FloatEnvironment environment;
  if (count <= 0) return;
  require_real(*format);
  const std::int64_t width = format->storage_bytes;
  if (is_contiguous()) {
    decode_array(*format, data + begin * width, static_cast<std::size_t>(count), to);
    return;
  }
  // Gathers runs of elements along the last dimension into a small buffer, and decodes each run as
  // an array.
  constexpr std::int64_t kRun = 256;
  alignas(8) std::byte buffer[kRun * 8];
  const std::int64_t last = shape.back(), stride = strides.back();
  while (count > 0) {
    const std::int64_t column = begin % last;
    const std::int64_t run = std::min({last - column, count, kRun});
    std::int64_t offset = 0, rest = begin;
    for (std::size_t d = shape.size(); d-- > 0;) {
      offset += rest % shape[d] * strides[d];
      rest /= shape[d];
    }
    const std::byte* from = data + offset * width;
    if (stride == 1) {
      decode_array(*format, from, static_cast<std::size_t>(run), to);
    } else {
      for (std::int64_t i = 0; i < run; ++i) {
        std::memcpy(buffer + i * width, from + i * stride * width, static_cast<std::size_t>(width));
      }
      decode_array(*format, buffer, static_cast<std::size_t>(run), to);
    }
    begin += run;
    count -= run;
    to += run;
  }
}

std::vector<double> TensorView::values(int threads) const {
  std::vector<double> all = large_vector<double>(static_cast<std::size_t>(size()));
  parallel_ranges(size(), threads, [&](std::int64_t begin, std::int64_t count) {
    read(begin, count, all.data() + begin);
  });
  return all;
}

TensorView TensorView::at(std::int64_t index) const {
  if (shape.empty() || index < 0 || index >= shape[0]) {
    refuse("index {} is outside the first dimension of shape {}", index, shape_text(shape));
  }
  return {data + index * strides[0] * format->storage_bytes, format,
          Shape(shape.begin() + 1, shape.end()), Strides(strides.begin() + 1, strides.end())};
}

TensorView TensorView::slice(std::int64_t begin, std::int64_t count) const {
  if (shape.empty() || begin < 0 || count < 0 || begin > shape[0] - count) {
    refuse("the range [{}, {}) is outside the first dimension of shape {}", begin, begin + count,
           shape_text(shape));
  }
  TensorView part = *this;
  part.data += begin * strides[0] * format->storage_bytes;
  part.shape[0] = count;
  return part;
}

TensorView TensorView::transposed() const {
  if (rank() < 2) {
    refuse("a tensor of shape {} has no two dimensions to exchange", shape_text(shape));
  }
  TensorView result = *this;
  std::swap(result.shape[shape.size() - 1], result.shape[shape.size() - 2]);
  std::swap(result.strides[shape.size() - 1], result.strides[shape.size() - 2]);
  return result;
}

void Tensor::Free::operator()(std::byte* p) const { std::free(p); }

Tensor::Tensor(const Format& format, Shape shape) : format_(&format), shape_(std::move(shape)) {
  std::int64_t needed = 0;
  if (__builtin_mul_overflow(size(), std::int64_t{format.storage_bytes}, &needed) ||
      needed > (std::int64_t{1} << 62)) {
    throw std::bad_alloc();
  }
  // The memory is aligned to 64 bytes and has a multiple of 64 bytes, so that vector code may load
  // whole cache lines.
  const std::size_t bytes = std::max<std::size_t>((byte_count() + 63) / 64 * 64, 64);
  data_.reset(static_cast<std::byte*>(std::aligned_alloc(64, bytes)));
  if (!data_) throw std::bad_alloc();
  prefer_huge_pages(data_.get(), bytes);
}

Tensor::Tensor(const Tensor& other) {
  if (other.empty()) return;
  *this = Tensor(*other.format_, other.shape_);
  std::memcpy(data_.get(), other.data_.get(), byte_count());
}

Tensor& Tensor::operator=(const Tensor& other) {
  if (this != &other) *this = Tensor(other);
  return *this;
}

std::size_t Tensor::byte_count() const {
  return static_cast<std::size_t>(size()) * static_cast<std::size_t>(format_->storage_bytes);
}

Tensor Tensor::from_values(const Format& format, Shape shape, std::span<const double> values) {
  const FloatEnvironment environment;
  Tensor result(format, std::move(shape));
  const std::int64_t parts = format.is_complex() ? 2 : 1;
  if (result.size() * parts != static_cast<std::int64_t>(values.size())) {
    refuse("{} values cannot fill a tensor of shape {}", values.size(), shape_text(result.shape()));
  }
  encode_array(part_format(format), values.data(), values.size(), result.bytes());
  return result;
}

std::uint64_t Tensor::bits_at(std::int64_t linear) const {
  return load_element(*format_, data_.get() + linear * format_->storage_bytes);
}

void Tensor::set_bits(std::int64_t linear, std::uint64_t bits) {
  store_element(*format_, data_.get() + linear * format_->storage_bytes, bits);
}

TensorView parts_of(const TensorView& view) {
  if (!view.format->is_complex()) return view;
  TensorView parts = view;
  parts.format = &part_format(*view.format);
  for (std::int64_t& stride : parts.strides) stride *= 2;
  parts.shape.push_back(2);
  parts.strides.push_back(1);
  return parts;
}

Tensor copy_of(const TensorView& view) {
  Tensor result(*view.format, view.shape);
  if (view.is_contiguous()) {
    if (result.byte_count() > 0) std::memcpy(result.bytes(), view.data, result.byte_count());
    return result;
  }
  if (view.format->is_complex()) {
    const Tensor parts = copy_of(parts_of(view));
    if (result.byte_count() > 0) std::memcpy(result.bytes(), parts.bytes(), result.byte_count());
    return result;
  }
  for (std::int64_t i = 0; i < view.size(); ++i) result.set_bits(i, view.bits_at(i));
  return result;
}

TensorView view_bytes(const void* data, const Format& format, Shape shape, Strides strides) {
  element_count(shape);
  if (strides.empty()) strides = contiguous_strides(shape);
  if (strides.size() != shape.size()) {
    refuse("{} strides were given for shape {}; give one for each dimension", strides.size(),
           shape_text(shape));
  }
  return {static_cast<const std::byte*>(data), &format, std::move(shape), std::move(strides)};
}

TensorView view_span(const void* data, std::size_t count, const Format& format, Shape shape) {
  if (element_count(shape) != static_cast<std::int64_t>(count)) {
    refuse("shape {} needs {} elements, but the data has {}", shape_text(shape),
           element_count(shape), count);
  }
  return view_bytes(data, format, std::move(shape));
}

TensorView view_patterns(const void* patterns, std::size_t count, std::size_t width,
                         const Format& format, Shape shape) {
  if (width != static_cast<std::size_t>(format.storage_bytes)) {
    refuse("patterns of {} bits were given for {}, but its elements have {} bits", 8 * width,
           format.name, 8 * format.storage_bytes);
  }
  return view_span(patterns, count, format, std::move(shape));
}

}  // namespace assay
