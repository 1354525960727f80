// Memory for one tensor of a call: its elements in some layout, with guard bands around them that
// show writes outside the elements.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "assay/base/child.h"
#include "assay/trial/draw.h"
#include "assay/trial/kernel.h"

namespace assay::inline v0_2::trial {

class Memory {
 public:
  Memory(const Format& format, const Shape& shape, Layout layout);

  // Fills all of it, elements and guard bands, with a byte.
  void fill(std::byte pattern);
  // Writes the elements. The tensor must have the format and the shape of this one.
  void write(const TensorView& elements);
  MutableTensorView view() const;
  // Returns the elements in row-major order.
  Tensor elements() const { return copy_of(view()); }
  // Returns where the first byte outside the elements lies that is no longer `pattern`, in words
  // such as "after the last element". Empty if all are.
  std::string first_change_outside(std::byte pattern) const;
  const std::byte* bytes() const { return memory_.bytes(); }
  std::size_t byte_count() const { return count_; }

 private:
  // A run of elements without a gap.
  struct Run {
    std::size_t begin, length;  // in bytes
  };
  const Format* format_;
  Shape shape_;
  Strides strides_;
  std::size_t first_ = 0;  // byte of the first element
  std::vector<Run> runs_ = {};
  std::size_t count_ = 0;
  SharedMemory memory_;

  struct Plan;
  explicit Memory(const Plan& plan);
  static Plan plan(const Format& format, const Shape& shape, Layout layout);
};

}  // namespace assay::trial
