// True if a sanitizer of g++ or clang is on.
#pragma once

namespace assay::inline v0_2 {

// __has_feature is used only for clang. A test whether it is defined would not do, because headers
// of libraries define it as 0 for g++.
#if defined(__clang__)
inline constexpr bool kAddressSanitizer = __has_feature(address_sanitizer);
inline constexpr bool kThreadSanitizer = __has_feature(thread_sanitizer);
#else
#if defined(__SANITIZE_ADDRESS__)
inline constexpr bool kAddressSanitizer = true;
#else
inline constexpr bool kAddressSanitizer = false;
#endif
#if defined(__SANITIZE_THREAD__)
inline constexpr bool kThreadSanitizer = true;
#else
inline constexpr bool kThreadSanitizer = false;
#endif
#endif

}  // namespace assay
