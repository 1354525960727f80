// The data of a dataset as they lie in the file.
//
// HDF5 1.10 reads a chunk whose stored data are not as long as the chunk without a word, and leaves
// in the rest of the result whatever lay in memory. So chunks are fetched as they are stored; the
// filters are undone here, on several threads, and every length and checksum is verified. HDF5's
// own library has one lock and would undo them one after another.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "assay/datasets/store/handle.h"
#include "assay/tensor/tensor.h"

namespace assay::h5 {

// A dataset with no filters but deflate, shuffle and fletcher32.
struct StoredArray {
  hid_t dataset;
  hid_t created;  // its creation properties
  hid_t type;     // of its elements, as the file stores them
  const Shape& shape;
  std::size_t element_bytes;
};

// Why a dataset is none of these, or its data lie outside the file, or a chunk of it takes more
// than `max_bytes` of memory, e.g. "is a virtual dataset; its data lie elsewhere"; "" where it can
// be read.
std::string storage_problem(hid_t dataset, hid_t created, std::int64_t max_bytes);

// Copies all elements to `to`, row-major, in the file's own type. What was never written is the
// dataset's fill value. Returns why that cannot be, e.g. "its chunk at [0, 64] fails its fletcher32
// checksum; the file is truncated or corrupt"; "" where it can.
std::string read_stored(const StoredArray& array, std::byte* to);

// How many elements in row-major order a row of chunks takes: ranges that begin and end at
// multiples of it, or at the end of the dataset, touch no chunk that another one touches. 1 of a
// dataset that is not in chunks.
std::int64_t chunk_row(const StoredArray& array);

// The same for the elements [begin, begin + count) in row-major order. Where ranges follow one
// another from 0 to the end, and share one `found` that begins at 0, they are checked as the whole
// is. A chunk that several ranges touch is decoded for each of them; beside `to` it takes the
// memory of some chunks.
std::string read_stored_range(const StoredArray& array, std::int64_t begin, std::int64_t count,
                              std::byte* to, std::uint64_t& found);

// Asks HDF5 for every chunk's place and length, and reads no element: what read_stored() asks it.
void look_at_chunks(const StoredArray& array);

// Writes the elements [begin, begin + count) in row-major order to a dataset of the shape of
// `array`. `type`: of the elements in memory. False where HDF5 fails.
bool write_range(const StoredArray& array, hid_t to, hid_t type, std::int64_t begin,
                 std::int64_t count, const std::byte* from);

// Copies what is stored, as it is stored, to a new dataset of the same type, shape and creation
// properties. Elements must have a fixed size. Returns why they cannot be read, and an empty string
// if they can. `written` becomes false where HDF5 cannot write them.
std::string copy_stored(const StoredArray& array, hid_t to, bool& written);

}  // namespace assay::h5
