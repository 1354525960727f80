// swiglu(x, gate) = silu(x) * gate, element by element: a team's operator, registered with assay.
#pragma once

namespace team {

// Registers the operator. Call it once, at the beginning of main. From then on assay generates
// cases of swiglu, computes their golden results and tolerances, and emulates it.
void register_swiglu();

}  // namespace team
