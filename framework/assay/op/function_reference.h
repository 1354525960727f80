// The golden functions: in long double, by the C library, independent of the vector unit's.
#pragma once

#include <string_view>

namespace assay {

// A function of one float64 that is rounded once from 64 bits or more; nullptr for an unknown name.
// "gelu" and "gelu_tanh" are the two forms of GELU. At -infinity silu and both give their limit,
// -0.
using Reference = double (*)(double x);
Reference reference_function(std::string_view name);

}  // namespace assay
