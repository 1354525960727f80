// Members of zip archives, as numpy.savez writes them.
#pragma once

#include <memory>
#include <string>

#include "assay/datasets/byte_source.h"

namespace assay {

// A member of a zip archive, stored or deflated; archives beyond 4 GiB (zip64) too. Read in order,
// its checksum is verified at its end. `name` may be without the ending `.npy`; it may be empty
// where the archive has one member. Throws FileError: where there is no such member, with the names
// of those there are; where the name stands twice; where the member is encrypted, compressed in
// another way, or says that it has more bytes than its deflated ones can hold.
std::unique_ptr<ByteSource> open_zip_member(const std::string& path, const std::string& name);

}  // namespace assay
