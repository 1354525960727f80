// Tests of missing permissions that also work as root.
#pragma once

#include <linux/capability.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <stdexcept>

namespace assay {

// While an object lives, its thread may not read and write files whose permissions forbid it, even
// if the user is root. Throws std::runtime_error if the kernel refuses.
class PermissionsApply {
 public:
  PermissionsApply() {
    call(SYS_capget, before_);
    __user_cap_data_struct now[2] = {before_[0], before_[1]};
    now[0].effective &= ~(1U << CAP_DAC_OVERRIDE | 1U << CAP_DAC_READ_SEARCH);
    call(SYS_capset, now);
  }
  ~PermissionsApply() { syscall(SYS_capset, &header_, before_); }
  PermissionsApply(const PermissionsApply&) = delete;
  PermissionsApply& operator=(const PermissionsApply&) = delete;

 private:
  void call(long number, __user_cap_data_struct* data) {
    if (syscall(number, &header_, data) != 0)
      throw std::runtime_error("capabilities cannot be set");
  }

  __user_cap_header_struct header_{_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct before_[2] = {};
};

}  // namespace assay
