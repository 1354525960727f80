#pragma once

#include <limits>

namespace assay::inline v0_2 {

inline constexpr double kInfinity = std::numeric_limits<double>::infinity();
inline constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

}  // namespace assay
