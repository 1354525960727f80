#include "assay/datasets/store/handle.h"

#include <stdexcept>

#include "assay/base/text.h"

namespace assay::inline v0_2::h5 {

void quiet_hdf5() { H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr); }

namespace {

thread_local bool damage_seen = false;

struct Innermost {
  std::string text;
  bool is_memory = false;  // there was none
};

// Returns the innermost of HDF5's errors and clears all of them.
Innermost take_error() {
  Innermost innermost;
  H5Ewalk2(
      H5E_DEFAULT, H5E_WALK_UPWARD,
      [](unsigned n, const H5E_error2_t* error, void* out) -> herr_t {
        auto& to = *static_cast<Innermost*>(out);
        if (n == 0 && error->desc != nullptr) to.text = error->desc;
        to.is_memory |=
            n == 0 && (error->min_num == H5E_NOSPACE || error->min_num == H5E_CANTALLOC);
        return 0;
      },
      &innermost);
  H5Eclear2(H5E_DEFAULT);
  return innermost;
}

}  // namespace

void push_error(const std::string& why) {
  H5Epush2(H5E_DEFAULT, __FILE__, "read", __LINE__, H5E_ERR_CLS, H5E_VFL, H5E_READERROR, "%s",
           why.c_str());
}

std::string last_error() { return take_error().text; }

void require(int result) {
  if (result >= 0) return;
  const Innermost error = take_error();
  throw std::runtime_error(formatted("the HDF5 library failed{}{}",
                                     error.is_memory ? " for lack of memory" : "",
                                     error.text.empty() ? "" : formatted(" ({})", error.text)));
}

bool damage_was_seen() { return damage_seen; }
void note_damage() { damage_seen = true; }
void forget_damage() { damage_seen = false; }

std::string damaged(const std::string& what) {
  note_damage();
  const Innermost error = take_error();
  return formatted("{}; {}{}", what,
                   error.is_memory ? "there is too little memory, or the file is corrupt"
                                   : "the file is truncated or corrupt",
                   error.text.empty() ? "" : formatted(" ({})", error.text));
}

}  // namespace assay::h5
