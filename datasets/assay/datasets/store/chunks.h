// Reads and writes the data of a dataset as the file stores them.
//
// HDF5 1.10 does not report a chunk whose stored data are shorter or longer than the chunk, and
// leaves arbitrary memory in the rest of the result. Therefore chunks are fetched as they are
// stored. The filters are undone here, on several threads, and every length and checksum is
// verified. HDF5's own library has one lock and would undo them one after another.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "assay/datasets/store/handle.h"
#include "assay/tensor/tensor.h"

namespace assay::inline v0_2::h5 {

// A dataset. It can be copied with any filters, but read only with deflate, shuffle and fletcher32.
struct StoredArray {
  hid_t dataset;
  hid_t created;  // its creation properties
  hid_t type;     // the type of its elements, as the file stores them
  const Shape& shape;
  std::size_t element_bytes;
};

// Returns why a dataset cannot be read, e.g. "is a virtual dataset; its data lie elsewhere". It
// cannot be read if it has other filters, if its data lie outside the file, or if a chunk takes
// more than `max_bytes` of memory. Returns an empty string if it can be read.
std::string storage_problem(hid_t dataset, hid_t created, std::int64_t max_bytes);

// Returns the number of elements in a row of chunks, in row-major order. Ranges that begin and end
// at multiples of it, or at the end of the dataset, have no chunk in common. Returns 1 if the
// dataset is not in chunks.
std::int64_t chunk_row(const StoredArray& array);

// Copies the elements [begin, begin + count) to `to`, row-major, in the file's own type. Elements
// that were never written have the dataset's fill value. Returns why the elements cannot be read,
// e.g. "its chunk at [0, 64] fails its fletcher32 checksum; the file is truncated or corrupt", or
// an empty string on success. If consecutive ranges cover the dataset from 0 to its end, and share
// one `found` that begins at 0, they are checked like the whole dataset. A chunk that several
// ranges touch is decoded for each of them. Needs the memory of some chunks besides `to`.
std::string read_stored_range(const StoredArray& array, std::int64_t begin, std::int64_t count,
                              std::byte* to, std::uint64_t& found);

// Asks HDF5 for every chunk's place and length, as reading does, and reads no element.
void look_at_chunks(const StoredArray& array);

// Writes the elements [begin, begin + count) in row-major order to a dataset with the shape of
// `array`. `type` is the type of the elements in memory. Returns false if HDF5 fails.
bool write_range(const StoredArray& array, hid_t to, hid_t type, std::int64_t begin,
                 std::int64_t count, const std::byte* from);

// Copies the data as they are stored to a new dataset of the same type, shape and creation
// properties. Elements must have a fixed size. Returns why they cannot be read, and an empty string
// if they can. Sets `written` to false if HDF5 cannot write them.
std::string copy_stored(const StoredArray& array, hid_t to, bool& written);

}  // namespace assay::h5
