// Files that nobody needs after a crash.
#pragma once

namespace assay {

// While one lives, write_file() on its thread does not wait until what it wrote is on the disk.
class UnsyncedWrites {
 public:
  UnsyncedWrites();
  ~UnsyncedWrites();
  UnsyncedWrites(const UnsyncedWrites&) = delete;
  UnsyncedWrites& operator=(const UnsyncedWrites&) = delete;
  static bool active();  // on this thread
};

}  // namespace assay
