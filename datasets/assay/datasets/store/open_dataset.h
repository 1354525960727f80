// A dataset that a reader has opened.
#pragma once

#include <cstddef>
#include <memory>

#include "assay/datasets/store/chunks.h"
#include "assay/datasets/store/handle.h"
#include "assay/datasets/store/plain_objects.h"
#include "assay/datasets/store/reader.h"

namespace assay::inline v0_2::h5 {

struct Reader::OpenDataset {
  // Set if the dataset is read without HDF5. Then the handles are not valid.
  std::shared_ptr<const PlainObject> plain;
  Handle dataset, created, type;
  const Format* format = nullptr;
  bool swap_bytes = false;
  Shape shape;

  StoredArray stored() const {
    return {dataset.get(), created.get(), type.get(), shape,
            static_cast<std::size_t>(format->storage_bytes)};
  }
};

// The error if the elements of a plain dataset cannot be read.
inline constexpr const char* kCannotRead =
    "its elements cannot be read; the file has changed while it was open";

}  // namespace assay::h5
