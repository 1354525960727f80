#include "assay/trial/memory.h"

#include <algorithm>
#include <cstring>

#include "assay/base/text.h"

namespace assay::inline v0_2::trial {
namespace {

constexpr std::size_t kBand = 1024;  // bytes of a guard band
constexpr std::int64_t kGap = 3;     // elements between padded rows

}  // namespace

struct Memory::Plan {
  const Format* format;
  Shape shape;
  Strides strides = {};
  std::size_t first = kBand;
  std::vector<Run> runs = {};
  std::size_t count = 0;
};

Memory::Plan Memory::plan(const Format& format, const Shape& shape, Layout layout) {
  Plan plan{&format, shape};
  const auto width = static_cast<std::size_t>(format.storage_bytes);
  const std::size_t rank = shape.size();
  const auto size = static_cast<std::size_t>(element_count(shape));
  plan.strides = contiguous_strides(shape);
  if (layout == Layout::kOffset) plan.first += width;
  std::size_t end = plan.first + size * width;
  if (layout == Layout::kPadded && rank > 0 && size > 0) {
    // A vector gets a gap after each element, and other tensors after each row.
    const std::int64_t row = rank == 1 ? 1 : shape[rank - 1];
    const std::size_t rows = size / static_cast<std::size_t>(row);
    const std::int64_t step = row + (rank == 1 ? 1 : kGap);
    if (rank == 1) {
      plan.strides[0] = step;
    } else {
      std::int64_t stride = step;
      for (std::size_t d = rank - 1; d-- > 0;) {
        plan.strides[d] = stride;
        stride *= shape[d];
      }
    }
    for (std::size_t i = 0; i < rows; ++i) {
      plan.runs.push_back({plan.first + i * static_cast<std::size_t>(step) * width,
                           static_cast<std::size_t>(row) * width});
    }
    end = plan.runs.back().begin + plan.runs.back().length;
  } else {
    plan.runs = {{plan.first, size * width}};
    if (layout == Layout::kTransposed && rank >= 2) {
      plan.strides[rank - 1] = shape[rank - 2];
      plan.strides[rank - 2] = 1;
    }
  }
  plan.count = end + kBand;
  return plan;
}

Memory::Memory(const Plan& plan)
    : format_(plan.format),
      shape_(plan.shape),
      strides_(plan.strides),
      first_(plan.first),
      runs_(plan.runs),
      count_(plan.count),
      memory_(plan.count) {}

Memory::Memory(const Format& format, const Shape& shape, Layout layout)
    : Memory(plan(format, shape, layout)) {}

void Memory::fill(std::byte pattern) {
  std::memset(memory_.bytes(), static_cast<int>(pattern), count_);
}

MutableTensorView Memory::view() const {
  return {memory_.bytes() + first_, format_, shape_, strides_};
}

void Memory::write(const TensorView& elements) { copy_elements(elements, view()); }

std::string Memory::first_change_outside(std::byte pattern) const {
  const std::byte* const bytes = memory_.bytes();
  const auto changed = [&](std::size_t begin, std::size_t end) {
    return std::find_if(bytes + begin, bytes + end, [&](std::byte b) { return b != pattern; }) !=
           bytes + end;
  };
  if (changed(runs_.back().begin + runs_.back().length, count_)) return "after the last element";
  if (changed(0, runs_.front().begin)) return "before the first element";
  for (std::size_t i = 1; i < runs_.size(); ++i) {
    if (changed(runs_[i - 1].begin + runs_[i - 1].length, runs_[i].begin)) {
      return shape_.size() < 2 ? formatted("between the elements {} and {}", i - 1, i)
                               : formatted("in the gap between the rows {} and {}", i - 1, i);
    }
  }
  return "";
}

}  // namespace assay::trial
