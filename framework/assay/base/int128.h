// Integers of 128 bits, which g++ and clang have on every 64-bit machine.
#pragma once

namespace assay::inline v0_2 {

// __extension__ keeps -Wpedantic silent: the types are no part of standard C++.
__extension__ typedef __int128 Int128;
__extension__ typedef unsigned __int128 UInt128;

}  // namespace assay
