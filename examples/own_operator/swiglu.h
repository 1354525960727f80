// swiglu(x, gate) = silu(x) * gate, element by element: a team's operator as assay knows it.
#pragma once

namespace team {

// From then on assay makes cases of swiglu, computes their golden results and tolerances, and
// emulates it. Once, at the beginning of main.
void register_swiglu();

}  // namespace team
