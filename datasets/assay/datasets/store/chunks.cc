#include "assay/datasets/store/chunks.h"

#include <zlib.h>

#include <algorithm>
#include <climits>
#include <cstring>
#include <memory>
#include <span>
#include <vector>

#include "assay/base/parallel.h"
#include "assay/base/text.h"
#include "assay/datasets/store/read_driver.h"

namespace assay::inline v0_2::h5 {
namespace {

// The memory for the chunks that are decoded at a time.
constexpr std::size_t kBatchBytes = std::size_t{64} << 20;
// The most chunks that a dataset may have, including chunks that are not stored.
constexpr std::int64_t kMaxChunks = std::int64_t{1} << 24;
constexpr std::size_t kChecksumBytes = 4;

struct Bytes {
  explicit Bytes(std::size_t n) : data(std::make_unique_for_overwrite<std::byte[]>(n)), size(n) {}
  std::unique_ptr<std::byte[]> data;
  std::size_t size;
};

struct Filter {
  H5Z_filter_t id;
  std::size_t element_bytes;  // the element size that shuffle was given
};

struct Chunks {
  Shape shape, chunk, counts;  // `counts` is the number of chunks along each dimension
  std::size_t element_bytes, chunk_bytes;
  std::vector<Filter> filters;  // the filters, in the order in which a writer applies them
  bool raw_edges;  // if true, chunks that reach beyond the edge of the shape are not filtered
};

// One chunk in its stored form.
struct StoredChunk {
  std::vector<hsize_t> offset;
  std::uint32_t skipped = 0;  // bit i is set if filter i was not applied to this chunk
  Bytes bytes;
  std::string problem;  // the error that decoding found, or empty
};

// ------------------------------------------------------------------------------------- filters

// Returns HDF5's variant of Fletcher's checksum, which adds 16-bit big-endian words modulo 65535.
std::uint32_t fletcher32(const std::byte* data, std::size_t size) {
  std::uint32_t sum1 = 0, sum2 = 0;
  const auto byte = [&](std::size_t i) { return std::to_integer<std::uint32_t>(data[i]); };
  const auto fold = [](std::uint32_t sum) { return (sum & 0xFFFF) + (sum >> 16); };
  constexpr std::size_t kBlock = 360;  // the most words that can be added before a sum may overflow
  for (std::size_t i = 0; i < size;) {
    const std::size_t end = std::min(size, i + 2 * kBlock);
    for (; i < end; i += 2) {
      sum1 += byte(i) << 8 | (i + 1 < size ? byte(i + 1) : 0);
      sum2 += sum1;
    }
    sum1 = fold(sum1);
    sum2 = fold(sum2);
  }
  return fold(sum2) << 16 | fold(sum1);
}

bool undo_fletcher32(Bytes& bytes) {
  if (bytes.size < kChecksumBytes) return false;
  bytes.size -= kChecksumBytes;
  const std::uint64_t stored =
      number_in({bytes.data.get() + bytes.size, kChecksumBytes}, 0, kChecksumBytes);
  const std::uint32_t sum = fletcher32(bytes.data.get(), bytes.size);
  // On little-endian machines, HDF5 1.6.2 and older wrote each half with its two bytes swapped.
  const std::uint32_t old = (sum & 0x00FF00FF) << 8 | (sum >> 8 & 0x00FF00FF);
  return stored == sum || stored == old;
}

// Undoes the shuffle filter for elements of the size of Word. The bytes of element i are bytes i,
// count + i, 2 * count + i, ... of shuffled data.
template <typename Word>
void gather(const std::byte* from, std::size_t count, std::byte* to) {
  for (std::size_t i = 0; i < count; ++i) {
    Word word = 0;
    for (std::size_t b = 0; b < sizeof(Word); ++b) {
      word = static_cast<Word>(word | std::to_integer<Word>(from[b * count + i]) << 8 * b);
    }
    std::memcpy(to + i * sizeof(Word), &word, sizeof(Word));
  }
}

void undo_shuffle(Bytes& bytes, std::size_t element) {
  const std::size_t count = bytes.size / element;
  if (element == 1 || count <= 1) return;
  Bytes result(bytes.size);
  const std::byte* from = bytes.data.get();
  std::byte* to = result.data.get();
  if (element == 2) {
    gather<std::uint16_t>(from, count, to);
  } else if (element == 4) {
    gather<std::uint32_t>(from, count, to);
  } else if (element == 8) {
    gather<std::uint64_t>(from, count, to);
  } else {
    for (std::size_t i = 0; i < count * element; ++i)
      to[i] = from[i % element * count + i / element];
  }
  // The shuffle filter leaves the bytes after the last whole element in place.
  const std::size_t whole = count * element;
  std::copy(from + whole, from + bytes.size, to + whole);
  bytes = std::move(result);
}

// Returns why the data cannot be inflated, or an empty string on success. `limit` is the most bytes
// that the result may have.
std::string undo_deflate(Bytes& bytes, std::size_t limit) {
  if (bytes.size > UINT_MAX) return "is too large to inflate";
  Bytes result(std::min<std::size_t>(limit, UINT_MAX));
  z_stream stream{};
  stream.next_in = reinterpret_cast<Bytef*>(bytes.data.get());
  stream.avail_in = static_cast<uInt>(bytes.size);
  stream.next_out = reinterpret_cast<Bytef*>(result.data.get());
  stream.avail_out = static_cast<uInt>(result.size);
  if (inflateInit(&stream) != Z_OK) return "cannot be inflated: out of memory";
  const int status = inflate(&stream, Z_FINISH);
  const std::string detail = stream.msg != nullptr ? stream.msg : "";
  result.size = stream.total_out;
  const bool full = stream.avail_out == 0;
  inflateEnd(&stream);
  if (status == Z_STREAM_END) {
    bytes = std::move(result);
    return "";
  }
  if (status == Z_BUF_ERROR) return full ? "inflates to more than its size" : "ends too early";
  return formatted("cannot be inflated ({})", detail);
}

// ---------------------------------------------------------------------------------- one chunk

bool over_edge(const Chunks& layout, const std::vector<hsize_t>& offset) {
  for (std::size_t d = 0; d < layout.shape.size(); ++d) {
    if (static_cast<std::int64_t>(offset[d]) + layout.chunk[d] > layout.shape[d]) return true;
  }
  return false;
}

std::string undo_filters(const Chunks& layout, StoredChunk& chunk) {
  const bool raw = layout.raw_edges && over_edge(layout, chunk.offset);
  for (std::size_t i = layout.filters.size(); i-- > 0 && !raw;) {
    const Filter& filter = layout.filters[i];
    if (chunk.skipped >> i & 1) continue;
    if (filter.id == H5Z_FILTER_FLETCHER32) {
      if (!undo_fletcher32(chunk.bytes)) return "fails its fletcher32 checksum";
    } else if (filter.id == H5Z_FILTER_SHUFFLE) {
      undo_shuffle(chunk.bytes, filter.element_bytes);
    } else {
      // The result may be a little longer than the chunk, because filters that a writer applied
      // before this one may have added checksums or deflated incompressible data.
      const std::size_t limit = layout.chunk_bytes + (layout.chunk_bytes >> 8) + 64 * (i + 1);
      const std::string why = undo_deflate(chunk.bytes, limit);
      if (!why.empty()) return why;
    }
  }
  if (chunk.bytes.size != layout.chunk_bytes) {
    return formatted("holds {} bytes instead of {}", chunk.bytes.size, layout.chunk_bytes);
  }
  return "";
}

// A range of elements in row-major order, and the memory to which its elements are copied.
struct Range {
  std::int64_t begin, end;
  std::byte* to;
};

// Copies those elements of a chunk that lie within the dataset's shape and the range to their
// places in memory.
void scatter(const Chunks& layout, const StoredChunk& chunk, const Range& range) {
  const std::size_t rank = layout.shape.size();
  Shape extent(rank);  // the extents of the part of the chunk that is within the dataset's shape
  for (std::size_t d = 0; d < rank; ++d) {
    const auto begin = static_cast<std::int64_t>(chunk.offset[d]);
    extent[d] = std::min(layout.chunk[d], layout.shape[d] - begin);
  }
  // Trailing dimensions that the chunk spans completely form one run of elements.
  std::size_t outer = rank - 1;
  while (outer > 0 && layout.chunk[outer] == layout.shape[outer]) --outer;
  std::int64_t run = extent[outer], rows = 1;
  for (std::size_t d = outer + 1; d < rank; ++d) run *= extent[d];
  for (std::size_t d = 0; d < outer; ++d) rows *= extent[d];
  const Strides chunk_strides = contiguous_strides(layout.chunk);
  const Strides strides = contiguous_strides(layout.shape);
  for (std::int64_t row = 0; row < rows; ++row) {
    std::int64_t from = 0, at = static_cast<std::int64_t>(chunk.offset[outer]) * strides[outer];
    for (std::size_t d = outer, rest = static_cast<std::size_t>(row); d-- > 0;) {
      const auto index = static_cast<std::int64_t>(rest) % extent[d];
      rest /= static_cast<std::size_t>(extent[d]);
      from += index * chunk_strides[d];
      at += (static_cast<std::int64_t>(chunk.offset[d]) + index) * strides[d];
    }
    const std::int64_t first = std::max(at, range.begin), last = std::min(at + run, range.end);
    if (first >= last) continue;
    std::memcpy(
        range.to + static_cast<std::size_t>(first - range.begin) * layout.element_bytes,
        chunk.bytes.data.get() + static_cast<std::size_t>(from + first - at) * layout.element_bytes,
        static_cast<std::size_t>(last - first) * layout.element_bytes);
  }
}

// Decodes chunks on several threads. Returns the error of the first damaged chunk, in their order.
std::string decode(const Chunks& layout, std::vector<StoredChunk>& batch, const Range& range) {
  parallel_for(static_cast<std::int64_t>(batch.size()), 0, [&](std::int64_t i) {
    StoredChunk& chunk = batch[static_cast<std::size_t>(i)];
    chunk.problem = undo_filters(layout, chunk);
    if (chunk.problem.empty()) scatter(layout, chunk, range);
    chunk.bytes = Bytes(0);
  });
  for (const StoredChunk& chunk : batch) {
    if (chunk.problem.empty()) continue;
    const Shape offset(chunk.offset.begin(), chunk.offset.end());
    return damaged(formatted("its chunk at {} {}", shape_text(offset), chunk.problem));
  }
  batch.clear();
  return "";
}

// ----------------------------------------------------------------------------------- datasets

// Sets `count` elements to the dataset's fill value. Returns why that is not possible, or an empty
// string.
std::string fill(const StoredArray& array, std::int64_t count, std::byte* to) {
  H5D_fill_value_t kind = H5D_FILL_VALUE_UNDEFINED;
  H5D_fill_time_t time = H5D_FILL_TIME_NEVER;
  if (H5Pfill_value_defined(array.created, &kind) < 0 ||
      H5Pget_fill_time(array.created, &time) < 0) {
    return damaged("its fill value cannot be read");
  }
  if (kind == H5D_FILL_VALUE_UNDEFINED || time == H5D_FILL_TIME_NEVER) {
    return "has elements that were never written, and no fill value for them";
  }
  std::vector<std::byte> value(array.element_bytes);
  if (kind == H5D_FILL_VALUE_USER_DEFINED &&
      H5Pget_fill_value(array.created, array.type, value.data()) < 0) {
    return damaged("its fill value cannot be read");
  }
  for (std::int64_t i = 0; i < count; ++i, to += value.size()) {
    std::memcpy(to, value.data(), value.size());
  }
  return "";
}

std::string describe(const StoredArray& array, Chunks& layout) {
  const std::size_t rank = array.shape.size();
  hsize_t extents[H5S_MAX_RANK];
  if (rank == 0 || H5Pget_chunk(array.created, H5S_MAX_RANK, extents) != static_cast<int>(rank)) {
    return damaged("its chunks have another rank than its shape");
  }
  layout.shape = array.shape;
  layout.element_bytes = layout.chunk_bytes = array.element_bytes;
  double count = 1;
  for (std::size_t d = 0; d < rank; ++d) {
    const auto extent = static_cast<std::int64_t>(extents[d]);
    if (extent <= 0) return damaged("its chunks have no extent");
    layout.chunk.push_back(extent);
    layout.counts.push_back((array.shape[d] + extent - 1) / extent);
    layout.chunk_bytes *= static_cast<std::size_t>(extent);
    count *= static_cast<double>(layout.counts.back());
  }
  if (count > static_cast<double>(kMaxChunks)) {
    return formatted(
        "is cut into {:.0f} chunks, but assay reads at most {}; write it with larger chunks", count,
        kMaxChunks);
  }
  unsigned options = 0;
  if (H5Pget_chunk_opts(array.created, &options) < 0)
    return damaged("its chunk options cannot be read");
  layout.raw_edges = (options & H5D_CHUNK_DONT_FILTER_PARTIAL_CHUNKS) != 0;
  for (int i = 0; i < H5Pget_nfilters(array.created); ++i) {
    unsigned flags, config, values[8] = {};
    std::size_t count_of_values = std::size(values);
    const H5Z_filter_t id = H5Pget_filter2(array.created, static_cast<unsigned>(i), &flags,
                                           &count_of_values, values, 0, nullptr, &config);
    if (id == H5Z_FILTER_SHUFFLE && values[0] == 0)
      return damaged("its shuffle filter has no element size");
    layout.filters.push_back({id, values[0]});
  }
  return "";
}

// Returns the index of the first element of a chunk, which is given by its number.
std::vector<hsize_t> offset_of(const Chunks& layout, hsize_t chunk) {
  std::vector<hsize_t> offset(layout.counts.size());
  for (std::size_t d = offset.size(); d-- > 0;) {
    const auto count = static_cast<hsize_t>(layout.counts[d]);
    offset[d] = chunk % count * static_cast<hsize_t>(layout.chunk[d]);
    chunk /= count;
  }
  return offset;
}

// Reads the elements of a range of a dataset in chunks. Adds the number of stored chunks that begin
// in this range to `found`. Earlier ranges have added theirs.
std::string read_chunks(const StoredArray& array, const Range& range, std::uint64_t& found) {
  Chunks layout;
  if (std::string why = describe(array, layout); !why.empty()) return why;
  const std::size_t rank = layout.shape.size();
  hsize_t stored = 0;
  const Handle space = h5::space(H5Dget_space(array.dataset));
  if (H5Dget_num_chunks(array.dataset, space.get(), &stored) < 0) {
    return damaged("the index of its chunks cannot be read");
  }
  const auto total = static_cast<hsize_t>(element_count(layout.counts));
  if (stored < total) {
    const std::string why = fill(array, range.end - range.begin, range.to);
    if (!why.empty()) return why;
  }
  // For an unfiltered chunk HDF5 returns the nominal length, whatever the chunk's index says. So
  // the total size is compared here.
  if (layout.filters.empty() && H5Dget_storage_size(array.dataset) != stored * layout.chunk_bytes) {
    return damaged(
        formatted("its {} chunks do not hold {} bytes each", stored, layout.chunk_bytes));
  }

  std::vector<StoredChunk> batch;
  std::size_t batch_bytes = 0;
  const std::int64_t size = element_count(layout.shape);
  const bool whole = range.begin == 0 && range.end == size;
  const Strides strides = contiguous_strides(layout.shape);
  // The chunks of a range are in an interval along the first dimension that has more than one
  // element.
  std::size_t outer = 0;
  while (outer + 1 < rank && layout.shape[outer] == 1) ++outer;
  const auto inner =
      static_cast<hsize_t>(element_count(std::span(layout.counts).subspan(outer + 1)));
  const auto place = [&](std::int64_t element) {
    return static_cast<hsize_t>(element / strides[outer] / layout.chunk[outer]) * inner;
  };
  const hsize_t last_chunk = std::min(total, place(range.end - 1) + inner);
  for (hsize_t i = place(range.begin); i < last_chunk && !(whole && found == stored); ++i) {
    std::vector<hsize_t> offset = offset_of(layout, i);
    // The row-major positions of the chunk's first and last element.
    std::int64_t first = 0, last = 0;
    for (std::size_t d = 0; d < rank; ++d) {
      const auto at = static_cast<std::int64_t>(offset[d]);
      first += at * strides[d];
      last += (std::min(at + layout.chunk[d], layout.shape[d]) - 1) * strides[d];
    }
    if (first >= range.end || last < range.begin) continue;
    hsize_t bytes = 0;
    const auto at = [&] { return shape_text(Shape(offset.begin(), offset.end())); };
    if (H5Dget_chunk_storage_size(array.dataset, offset.data(), &bytes) < 0) {
      // HDF5 reports this error also for a chunk that was never written. The next call, which walks
      // the whole index, tells such a chunk from a damaged one.
      unsigned skipped = 0;
      haddr_t address = HADDR_UNDEF;
      H5Eclear2(H5E_DEFAULT);
      if (H5Dget_chunk_info_by_coord(array.dataset, offset.data(), &skipped, &address, &bytes) <
              0 ||
          address != HADDR_UNDEF) {
        return damaged(formatted("its chunk at {} cannot be found", at()));
      }
      continue;
    }
    if (bytes == 0) continue;  // never written
    // Deflate makes incompressible data longer, but by far less than this.
    if (bytes > 2 * layout.chunk_bytes + 1024) {
      return damaged(formatted(
          "its chunk at {} is stored as {} bytes, more than its {} bytes of elements can need",
          at(), bytes, layout.chunk_bytes));
    }
    if (first >= range.begin) ++found;
    StoredChunk chunk{std::move(offset), 0, Bytes(bytes), ""};
    if (H5Dread_chunk(array.dataset, H5P_DEFAULT, chunk.offset.data(), &chunk.skipped,
                      chunk.bytes.data.get()) < 0) {
      return damaged(formatted("its chunk at {} cannot be read",
                               shape_text(Shape(chunk.offset.begin(), chunk.offset.end()))));
    }
    batch_bytes += bytes + layout.chunk_bytes;
    batch.push_back(std::move(chunk));
    if (batch_bytes >= kBatchBytes) {
      if (std::string why = decode(layout, batch, range); !why.empty()) return why;
      batch_bytes = 0;
    }
  }
  if (range.end == size && found < stored) {
    return damaged(
        formatted("only {} of its {} stored chunks hold elements of its shape", found, stored));
  }
  return decode(layout, batch, range);
}

}  // namespace

std::string storage_problem(hid_t dataset, hid_t created, std::int64_t max_bytes) {
  const H5D_layout_t layout = H5Pget_layout(created);
  if (layout == H5D_VIRTUAL) return "is a virtual dataset; its data lie elsewhere";
  if (H5Pget_external_count(created) > 0) {
    return "keeps its data in an external file; a dataset file must hold all its data";
  }
  for (int i = 0; i < H5Pget_nfilters(created); ++i) {
    unsigned flags, config;
    std::size_t values = 0;
    char name[64] = "";
    const H5Z_filter_t filter = H5Pget_filter2(created, static_cast<unsigned>(i), &flags, &values,
                                               nullptr, sizeof name, name, &config);
    if (filter != H5Z_FILTER_DEFLATE && filter != H5Z_FILTER_SHUFFLE &&
        filter != H5Z_FILTER_FLETCHER32) {
      return formatted("uses the filter '{}' ({}); only deflate, shuffle and fletcher32 are read",
                       name, filter);
    }
  }
  if (layout != H5D_CHUNKED) return "";
  hsize_t chunk[H5S_MAX_RANK];
  const int rank = H5Pget_chunk(created, H5S_MAX_RANK, chunk);
  const Handle element = h5::type(H5Dget_type(dataset));
  double bytes = static_cast<double>(H5Tget_size(element.get()));
  for (int d = 0; d < rank; ++d) bytes *= static_cast<double>(chunk[d]);
  if (bytes <= static_cast<double>(max_bytes)) return "";
  return formatted(
      "has chunks of {:.0f} bytes, over the reader's cap of {}; ASSAY_MAX_DATASET_GIB raises it",
      bytes, max_bytes);
}

namespace {

// Calls use(memory space, file space, place) for the boxes that make up the elements [begin, begin
// + count). Along each dimension these are at most a part of the first row, whole rows, and a part
// of the last row. `place` is the position of the box's first element among the elements. Returns
// false if a call does.
template <typename Use>
bool each_box(hid_t dataset, const Shape& shape, std::vector<hsize_t>& index, std::int64_t begin,
              std::int64_t count, std::int64_t place, const Use& use) {
  const std::size_t depth = index.size(), rank = shape.size();
  if (rank == 0) {
    const Handle all = h5::space(H5Dget_space(dataset));
    return use(all.get(), all.get(), place);
  }
  const std::int64_t row =
      depth + 1 < rank ? element_count(std::span(shape).subspan(depth + 1)) : 1;
  while (count > 0) {
    const std::int64_t skipped = begin % row;
    std::int64_t taken = std::min(count, row - skipped);
    if (skipped != 0 || count < row) {
      index.push_back(static_cast<hsize_t>(begin / row));
      if (!each_box(dataset, shape, index, skipped, taken, place, use)) return false;
      index.pop_back();
    } else {
      const std::int64_t rows = count / row;
      taken = rows * row;
      std::vector<hsize_t> start(index), extent(depth, 1);
      start.push_back(static_cast<hsize_t>(begin / row));
      extent.push_back(static_cast<hsize_t>(rows));
      for (std::size_t d = depth + 1; d < rank; ++d) {
        start.push_back(0);
        extent.push_back(static_cast<hsize_t>(shape[d]));
      }
      const Handle file = h5::space(H5Dget_space(dataset));
      const auto length = static_cast<hsize_t>(taken);
      const Handle memory = h5::space(H5Screate_simple(1, &length, nullptr));
      if (H5Sselect_hyperslab(file.get(), H5S_SELECT_SET, start.data(), nullptr, extent.data(),
                              nullptr) < 0 ||
          !use(memory.get(), file.get(), place)) {
        return false;
      }
    }
    begin += taken;
    count -= taken;
    place += taken;
  }
  return true;
}

// Reads the elements [begin, begin + count) of a contiguous dataset.
bool read_contiguous(const StoredArray& array, std::int64_t begin, std::int64_t count,
                     std::byte* to) {
  std::vector<hsize_t> index;
  return each_box(array.dataset, array.shape, index, begin, count, 0,
                  [&](hid_t memory, hid_t file, std::int64_t place) {
                    return H5Dread(array.dataset, array.type, memory, file, H5P_DEFAULT,
                                   to + static_cast<std::size_t>(place) * array.element_bytes) >= 0;
                  });
}

}  // namespace

bool write_range(const StoredArray& array, hid_t to, hid_t type, std::int64_t begin,
                 std::int64_t count, const std::byte* from) {
  const std::size_t width = H5Tget_size(type);
  std::vector<hsize_t> index;
  return each_box(to, array.shape, index, begin, count, 0,
                  [&](hid_t memory, hid_t file, std::int64_t place) {
                    return H5Dwrite(to, type, memory, file, H5P_DEFAULT,
                                    from + static_cast<std::size_t>(place) * width) >= 0;
                  });
}

namespace {

// Calls the callback for every chunk within the shape that HDF5 reports as stored, with its length.
// Returns false if the callback does.
template <typename Callback>
bool each_stored_chunk(const StoredArray& array, const Callback& callback) {
  Chunks layout;
  if (element_count(array.shape) == 0) return true;
  if (!describe(array, layout).empty()) return false;
  hsize_t stored = 0;
  const Handle space = h5::space(H5Dget_space(array.dataset));
  if (H5Dget_num_chunks(array.dataset, space.get(), &stored) < 0) return false;
  const auto total = static_cast<hsize_t>(element_count(layout.counts));
  for (hsize_t i = 0; i < total; ++i) {
    const std::vector<hsize_t> offset = offset_of(layout, i);
    hsize_t bytes = 0;
    const bool known = H5Dget_chunk_storage_size(array.dataset, offset.data(), &bytes) >= 0;
    H5Eclear2(H5E_DEFAULT);
    if (known && bytes > 0 && !callback(offset, bytes, layout.chunk_bytes)) return false;
  }
  return true;
}

}  // namespace

void look_at_chunks(const StoredArray& array) {
  if (H5Pget_layout(array.created) != H5D_CHUNKED) return;
  (void)each_stored_chunk(array, [](const auto&, hsize_t, std::size_t) { return true; });
}

std::string copy_stored(const StoredArray& array, hid_t to, bool& written) {
  const ReadingElements reading;
  const hsize_t stored = H5Dget_storage_size(array.dataset);
  const std::int64_t count = element_count(array.shape);
  if (count == 0 || stored == 0) return "";
  std::vector<std::byte> bytes;
  std::string why;
  if (H5Pget_layout(array.created) == H5D_CHUNKED) {
    const bool whole = each_stored_chunk(array, [&](const std::vector<hsize_t>& offset,
                                                    hsize_t size, std::size_t chunk_bytes) {
      std::uint32_t skipped = 0;
      // A longer chunk is damaged: deflate never makes a chunk longer than this limit, and no chunk
      // is longer than all stored data.
      if (size > 2 * chunk_bytes + 1024 || size > stored) return false;
      bytes.resize(size);
      if (H5Dread_chunk(array.dataset, H5P_DEFAULT, offset.data(), &skipped, bytes.data()) < 0) {
        return false;
      }
      written &= H5Dwrite_chunk(to, H5P_DEFAULT, skipped, offset.data(), size, bytes.data()) >= 0;
      return written;
    });
    return whole || !written ? "" : damaged("its chunks cannot be read");
  }
  if (stored != static_cast<hsize_t>(count) * array.element_bytes) {
    return damaged(formatted("holds {} bytes instead of {}", stored,
                             static_cast<hsize_t>(count) * array.element_bytes));
  }
  const auto piece = static_cast<std::int64_t>(kBatchBytes / array.element_bytes + 1);
  for (std::int64_t begin = 0; begin < count && written; begin += piece) {
    const std::int64_t n = std::min(piece, count - begin);
    bytes.resize(static_cast<std::size_t>(n) * array.element_bytes);
    if (!read_contiguous(array, begin, n, bytes.data())) return damaged("its data cannot be read");
    written &= write_range(array, to, array.type, begin, n, bytes.data());
  }
  return "";
}

std::int64_t chunk_row(const StoredArray& array) {
  const std::size_t rank = array.shape.size();
  hsize_t chunk[H5S_MAX_RANK];
  if (rank == 0 || H5Pget_layout(array.created) != H5D_CHUNKED ||
      H5Pget_chunk(array.created, H5S_MAX_RANK, chunk) != static_cast<int>(rank)) {
    return 1;
  }
  std::size_t d = 0;  // the first dimension along which a chunk has more than one element
  while (d + 1 < rank && chunk[d] == 1) ++d;
  const auto extent = static_cast<std::int64_t>(chunk[d]);
  const Strides strides = contiguous_strides(array.shape);
  const bool fits = d == 0 || array.shape[d] % extent == 0;
  return fits ? std::min(extent, array.shape[d]) * strides[d] : strides[d - 1];
}

std::string read_stored_range(const StoredArray& array, std::int64_t begin, std::int64_t count,
                              std::byte* to, std::uint64_t& found) {
  const std::int64_t size = element_count(array.shape);
  if (count == 0) return "";
  const ReadingElements reading;
  if (H5Pget_layout(array.created) == H5D_CHUNKED) {
    return read_chunks(array, {begin, begin + count, to}, found);
  }
  const hsize_t bytes = static_cast<hsize_t>(size) * array.element_bytes;
  const hsize_t stored = H5Dget_storage_size(array.dataset);
  if (stored == 0) return fill(array, count, to);
  if (stored != bytes) return damaged(formatted("holds {} bytes instead of {}", stored, bytes));
  const bool read = begin == 0 && count == size
                        ? H5Dread(array.dataset, array.type, H5S_ALL, H5S_ALL, H5P_DEFAULT, to) >= 0
                        : read_contiguous(array, begin, count, to);
  return read ? "" : damaged("its data cannot be read");
}

}  // namespace assay::h5
