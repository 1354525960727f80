#include "assay/machine/machine.h"

#include <stdexcept>
#include <vector>

#include "assay/base/text.h"

namespace assay {
namespace {

constexpr auto kDocumented = Provenance::kDocumented;
constexpr auto kInferred = Provenance::kInferred;
constexpr auto kAssumed = Provenance::kAssumed;

// The cube unit: L0C accumulates in float32 (documented); the order inside a chunk is not
// published. 4 products a rounding for float32 fit the published e_max grid (1, 2, 8 and 16 do
// not); 16 for the 16-bit formats, by analogy with their 16 x 16 x 16 fractal.
constexpr DotModel kAscend910bDots[] = {
    {"float16", {16, kAssumed}, {"float32", kDocumented}, {Rounding::kNearestEven, kInferred}},
    {"bfloat16", {16, kAssumed}, {"float32", kDocumented}, {Rounding::kNearestEven, kInferred}},
    {"float32", {4, kInferred}, {"float32", kDocumented}, {Rounding::kNearestEven, kInferred}},
};

constexpr Machine kMachines[] = {
    {"exact",
     "the reference: compensated float64 products and sums, rounded once to the output",
     {},
     "independent of the dot engine"},
    {"ascend910b", "Ascend 910B cube unit: float32 accumulation, output by nearest_even",
     kAscend910bDots, "fractals and L0C from the vendor's documents; see each parameter's word"},
};

}  // namespace

std::string_view provenance_word(Provenance provenance) {
  switch (provenance) {
    case Provenance::kDocumented:
      return "documented";
    case Provenance::kMeasured:
      return "measured";
    case Provenance::kInferred:
      return "inferred";
    case Provenance::kAssumed:
      return "assumed";
  }
  return "";
}

std::span<const Machine> machines() { return kMachines; }

const Machine& machine_named(std::string_view name) {
  std::vector<std::string> names;
  for (const Machine& m : kMachines) {
    if (m.name == name) return m;
    names.emplace_back(m.name);
  }
  const std::string near = nearest_word(name, names);
  throw std::invalid_argument(format("unknown machine '{}'{}; known: {}", name,
                                     near.empty() ? "" : format(": did you mean '{}'?", near),
                                     joined(names)));
}

const DotModel& dot_model(const Machine& machine, const Format& input) {
  std::vector<std::string> names;
  for (const DotModel& model : machine.dots) {
    if (model.input == input.name) return model;
    names.emplace_back(model.input);
  }
  throw std::invalid_argument(
      format("the matrix unit of {} takes {}, not {}", machine.name, joined(names), input.name));
}

}  // namespace assay
