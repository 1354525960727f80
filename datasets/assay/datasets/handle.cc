#include "assay/datasets/handle.h"

#include "assay/base/text.h"

namespace assay::h5 {

void quiet_hdf5() { H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr); }

std::string last_error() {
  std::string innermost;
  H5Ewalk2(
      H5E_DEFAULT, H5E_WALK_UPWARD,
      [](unsigned n, const H5E_error2_t* error, void* out) -> herr_t {
        if (n == 0 && error->desc != nullptr) *static_cast<std::string*>(out) = error->desc;
        return 0;
      },
      &innermost);
  H5Eclear2(H5E_DEFAULT);
  return innermost;
}

namespace {

thread_local bool seen = false;

}  // namespace

bool damage_was_seen() { return seen; }
void note_damage() { seen = true; }
void forget_damage() { seen = false; }

std::string damaged(const std::string& what) {
  note_damage();
  const std::string detail = last_error();
  return format("{}; the file is truncated or corrupt{}", what,
                detail.empty() ? "" : format(" ({})", detail));
}

}  // namespace assay::h5
