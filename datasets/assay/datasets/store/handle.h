// HDF5 handles that close themselves, and HDF5's own error messages.
#pragma once

#include <hdf5.h>

#include <string>
#include <utility>

namespace assay::inline v0_2::h5 {

class Handle {
 public:
  Handle() = default;
  Handle(hid_t id, herr_t (*close)(hid_t)) : id_(id), close_(close) {}
  ~Handle() { reset(); }
  Handle(Handle&& other) noexcept
      : id_(std::exchange(other.id_, H5I_INVALID_HID)), close_(other.close_) {}
  Handle& operator=(Handle&& other) noexcept {
    if (this != &other) {
      reset();
      id_ = std::exchange(other.id_, H5I_INVALID_HID);
      close_ = other.close_;
    }
    return *this;
  }

  hid_t get() const { return id_; }
  bool valid() const { return id_ >= 0; }
  // Closes the handle now. Returns false if HDF5 could not close it, for example because the disk
  // is full.
  bool reset() {
    const hid_t id = std::exchange(id_, H5I_INVALID_HID);
    return id < 0 || close_(id) >= 0;
  }

 private:
  hid_t id_ = H5I_INVALID_HID;
  herr_t (*close_)(hid_t) = nullptr;
};

inline Handle file(hid_t id) { return {id, H5Fclose}; }
inline Handle group(hid_t id) { return {id, H5Gclose}; }
inline Handle object(hid_t id) { return {id, H5Oclose}; }
inline Handle dataset(hid_t id) { return {id, H5Dclose}; }
inline Handle space(hid_t id) { return {id, H5Sclose}; }
inline Handle type(hid_t id) { return {id, H5Tclose}; }
inline Handle attribute(hid_t id) { return {id, H5Aclose}; }
inline Handle properties(hid_t id) { return {id, H5Pclose}; }

// Stops HDF5 from printing its error stack on standard error. Each thread must call this for
// itself.
void quiet_hdf5();

// Returns the innermost message on HDF5's error stack and clears the stack. Returns an empty string
// if there is no message.
std::string last_error();

// Throws std::runtime_error with HDF5's own message if `result`, which a function of HDF5 returned,
// is negative. For functions that fail only if there is no memory, or after such a failure.
void require(int result);

// Adds assay's own reason to HDF5's error stack, where last_error() finds it.
void push_error(const std::string& why);

// Returns "its links cannot be read; the file is truncated or corrupt (...)", with HDF5's own
// message in the parentheses.
std::string damaged(const std::string& what);

// Returns true if damaged() or note_damage() was called on this thread since its last call of
// forget_damage().
bool damage_was_seen();
void note_damage();
void forget_damage();

}  // namespace assay::h5
