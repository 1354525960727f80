// Writes of files that nobody needs after a crash.
#pragma once

namespace assay::inline v0_2 {

// While an object of this class lives, write_file() and FileStream::commit() on its thread do not
// wait until the data are on the disk.
class UnsyncedWrites {
 public:
  UnsyncedWrites();
  ~UnsyncedWrites();
  UnsyncedWrites(const UnsyncedWrites&) = delete;
  UnsyncedWrites& operator=(const UnsyncedWrites&) = delete;
  static bool active();  // true if an object of this class lives on this thread
};

}  // namespace assay
