// The vector units that assay emulates, as data. A row of the table is the unit of one machine, and
// a row of a unit describes one input format.
#pragma once

#include <span>
#include <string_view>

#include "assay/machine/machine.h"

namespace assay::inline v0_2 {

// Returns "gradual" or "flush", the words of the operators' parameter `subnormals`.
std::string_view subnormals_word(Subnormals subnormals);

// The treatment of one input format by a unit.
struct VectorFormat {
  std::string_view input;
  Known<std::string_view> unit;  // the format that the unit computes in
  // Elements of one repeat, a power of two. 0 if the unit has no repeats.
  Known<int> repeat;
};

struct VectorModel {
  std::string_view machine;  // name of the machine's row in machines()
  std::span<const VectorFormat> formats;
  Known<Overflow> overflow;
  Known<Subnormals> subnormals;
  // True if a multiply-add rounds once. If not, its product is rounded first.
  Known<bool> fused;
  // If true, tanh is computed in float32 as (e - 1) / (e + 1) with e = exp(2 x) and x limited to
  // +-8.8, and the tanh form of GELU as x / (1 + exp(-2 u)). If false, tanh is rounded once, as the
  // other functions are.
  Known<bool> tanh_by_exp;
  // The library whose errors bound correct results of exp, log, sqrt, rsqrt, erf and tanh
  // (machine/function_error.h). Emulated functions return the exact value rounded once.
  Known<std::string_view> functions;
  std::string_view source;  // the source of all these values
  // The format that numbers are rounded to before they are converted to int8.
  Known<std::string_view> int8_from = {"float32", Provenance::kAssumed};
};

std::span<const VectorModel> vector_models();
// Returns the vector unit of a machine, or nullptr if it has none. The reference `exact` has none,
// because it is not emulated.
const VectorModel* find_vector_model(std::string_view machine);
const VectorModel* find_vector_model(const Machine& machine);
// Returns the vector unit of a machine. Throws Refusal, which names the machine and those that have
// a vector unit, if it has none.
const VectorModel& vector_model(const Machine& machine);
// Returns the treatment of an input format. Throws Refusal that names the formats
// that the unit takes.
const VectorFormat& vector_format(const VectorModel& model, const Format& input);

}  // namespace assay
