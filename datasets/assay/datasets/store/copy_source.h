// The objects of an HDF5 file, to be put to another one as they are stored.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "assay/cases/case.h"
#include "assay/datasets/store/checksums.h"
#include "assay/datasets/store/handle.h"
#include "assay/datasets/store/plain_objects.h"

namespace assay::h5 {

// Bytes of a string that lies in its object's header, which takes less than 64 KiB of an attribute.
inline constexpr std::size_t kMostFixedLength = 1 << 15;

// Writes an attribute of an open object, whose `data` (null: none) are of the type `memory`; false
// where HDF5 fails.
bool create_attribute(hid_t to, const std::string& name, hid_t type, hid_t space, hid_t memory,
                      const void* data);

// Throws FileError, which names the object and the reason, where something cannot be read.
class CopySource {
 public:
  struct NamedValue {
    std::string name;
    std::optional<Attribute> value;  // none where it is no single string, number or bool
  };
  // The result of copying one attribute or object.
  struct Copied {
    enum Kind {
      kYes,
      kFailed,   // HDF5 could not write it, and says why
      kLeftOut,  // it is sound, but of a kind that cannot be copied
      kByValue,  // a string that is too long for an object's header: to be written by its value
    };
    Kind kind;
    std::string why = {};  // it is left out, as in "is a virtual dataset"
  };

  virtual ~CopySource() = default;
  // By absolute paths. Names are sorted.
  virtual std::vector<std::string> links_in(const std::string& group) = 0;
  virtual bool is_group(const std::string& object) = 0;
  // The same of all paths to an object.
  virtual std::uint64_t address_of(const std::string& object) = 0;
  virtual std::vector<NamedValue> attributes(const std::string& object) = 0;
  // Puts an attribute to `to`, an open object that has none of that name.
  virtual Copied copy_attribute(const std::string& object, const std::string& name, hid_t to) = 0;
  // Puts what is no group into the group `to`, without its attributes.
  virtual Copied copy_object(const std::string& object, hid_t to, const std::string& link) = 0;
  // The checksum of a tensor; none of what is no tensor.
  virtual std::optional<std::uint64_t> sum_of(const std::string& object) = 0;
};

// By HDF5, whatever it is: what HDF5 and global_heap.h read of it is written anew. The file is kept
// open.
std::unique_ptr<CopySource> copy_source(const std::string& path, hid_t file);

// Of a group in which all lies plainly, and is of a kind that assay writes itself: by HDF5 for what
// is written alone, in a third of the time. `sums`: the file's. Null where something in the group
// is another thing or large, or `objects` is null.
std::unique_ptr<CopySource> plain_copy_source(const std::string& path,
                                              std::shared_ptr<PlainObjects> objects,
                                              const std::string& group, const ChecksumTable& sums);

}  // namespace assay::h5
