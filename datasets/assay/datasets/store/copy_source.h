// The objects of an HDF5 file, to be copied to another file as they are stored.
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

namespace assay::inline v0_2::h5 {

// The longest string, in bytes, that is stored in its object's header. A header has less than 64
// KiB for an attribute.
inline constexpr std::size_t kMostFixedLength = 1 << 15;

// Writes an attribute of an open object. `data` are of the type `memory`, and null if the attribute
// has no data. Returns false if HDF5 fails.
bool create_attribute(hid_t to, const std::string& name, hid_t type, hid_t space, hid_t memory,
                      const void* data);

// The objects of a file, which are copied from it. The functions throw FileError, which names the
// object and the reason, if something cannot be read.
class CopySource {
 public:
  struct NamedValue {
    std::string name;
    // Empty if the attribute is not a single string, number or bool.
    std::optional<Attribute> value;
  };
  // The result of copying one attribute or object.
  struct Copied {
    enum Kind {
      kYes,
      kFailed,   // HDF5 could not write it, and its error stack has the reason
      kLeftOut,  // the object is not damaged, but of a kind that cannot be copied
      // The attribute is not copied, because it is a string that may be too long for an object's
      // header. The caller must write its value.
      kByValue,
    };
    Kind kind;
    std::string why = {};  // for kLeftOut: the reason, such as "is a virtual dataset"
  };

  virtual ~CopySource() = default;
  // Objects are given by absolute paths. The names are sorted.
  virtual std::vector<std::string> links_in(const std::string& group) = 0;
  virtual bool is_group(const std::string& object) = 0;
  // Returns a number that is the same for all paths to an object.
  virtual std::uint64_t address_of(const std::string& object) = 0;
  virtual std::vector<NamedValue> attributes(const std::string& object) = 0;
  // Copies an attribute to `to`, an open object that has no attribute of that name.
  virtual Copied copy_attribute(const std::string& object, const std::string& name, hid_t to) = 0;
  // Copies an object that is not a group into the group `to`, without its attributes.
  virtual Copied copy_object(const std::string& object, hid_t to, const std::string& link) = 0;
  // Returns the checksum of a tensor, or nothing if the object is not a tensor.
  virtual std::optional<std::uint64_t> sum_of(const std::string& object) = 0;
};

// Returns a source that reads any object with HDF5. The data that HDF5 and global_heap.h read are
// written anew. The file is kept open.
std::unique_ptr<CopySource> copy_source(const std::string& path, hid_t file);

// Returns a source for a group in which all objects are stored plainly and are of the kinds that
// assay writes itself. It uses HDF5 only to write, so that copying takes a third of the time.
// `sums` are the file's checksums. Returns null if something in the group is of another kind or
// large, or if `objects` is null.
std::unique_ptr<CopySource> plain_copy_source(const std::string& path,
                                              std::shared_ptr<PlainObjects> objects,
                                              const std::string& group, const ChecksumTable& sums);

}  // namespace assay::h5
