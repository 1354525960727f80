#include <stdexcept>
#include <string>
#include <vector>

#include "assay/base/text.h"
#include "assay/machine/vector.h"

namespace assay {
namespace {

constexpr auto kDocumented = Provenance::kDocumented;
constexpr auto kAssumed = Provenance::kAssumed;

// A repeat is 256 bytes: 128 half, 64 float. bfloat16 has no arithmetic of its own on the unit: it
// is converted to float and back.
constexpr VectorFormat kAscend910bFormats[] = {
    {"float16", {"float16", kDocumented}, {128, kDocumented}},
    {"bfloat16", {"float32", kAssumed}, {64, kAssumed}},
    {"float32", {"float32", kDocumented}, {64, kDocumented}},
};

// What C++ on a CPU does, and what GPU libraries do: 16-bit formats are computed in float.
constexpr VectorFormat kFloatFormats[] = {
    {"float16", {"float32", kAssumed}, {0, kAssumed}},
    {"bfloat16", {"float32", kAssumed}, {0, kAssumed}},
    {"float32", {"float32", kDocumented}, {0, kAssumed}},
    {"float64", {"float64", kDocumented}, {0, kAssumed}},
};

// The float units beside NVIDIA's tensor cores, as compiled by default: no flush to zero, divisions
// and square roots rounded once, multiply-adds contracted.
constexpr VectorModel simt(std::string_view machine) {
  return {machine,
          kFloatFormats,
          {Overflow::kIeee, kDocumented},
          {Subnormals::kGradual, kDocumented},
          {true, kDocumented},
          {false, kAssumed},
          kAssumed,
          "IEEE 754, by the vendor's programming guide: compute capability 2.0 and later"};
}

constexpr VectorModel kModels[] = {
    {"ascend910b",
     kAscend910bFormats,
     {Overflow::kSaturate, kDocumented},
     {Subnormals::kGradual, kAssumed},
     {true, kAssumed},
     {true, kDocumented},
     kAssumed,
     "the vendor's documents: saturating with CTRL[48] = 0, IEEE with 1; they disagree about "
     "subnormals, and do not say how often a multiply-add rounds; tanh by the vendor's library"},
    simt("hopper"),
    simt("ampere"),
    simt("ada"),
    simt("volta"),
    simt("blackwell"),
    {"cpu_fma",
     kFloatFormats,
     {Overflow::kIeee, kDocumented},
     {Subnormals::kGradual, kDocumented},
     {true, kDocumented},
     {false, kAssumed},
     kAssumed,
     "IEEE 754; multiply-add by the fused instruction"},
    {"cpu_mul_add",
     kFloatFormats,
     {Overflow::kIeee, kDocumented},
     {Subnormals::kGradual, kDocumented},
     {false, kDocumented},
     {false, kAssumed},
     kAssumed,
     "IEEE 754; multiply-add as a multiplication and an addition"},
};

}  // namespace

std::string_view subnormals_word(Subnormals subnormals) {
  return subnormals == Subnormals::kGradual ? "gradual" : "flush";
}

std::span<const VectorModel> vector_models() { return kModels; }

const VectorModel* find_vector_model(std::string_view machine) {
  for (const VectorModel& model : kModels) {
    if (model.machine == machine) return &model;
  }
  return nullptr;
}

const VectorModel& vector_model(const Machine& machine) {
  if (const VectorModel* found = find_vector_model(machine.family())) return *found;
  std::vector<std::string> names;
  for (const VectorModel& model : kModels) names.emplace_back(model.machine);
  throw std::invalid_argument(
      format("assay has no vector unit of the machine {}; it has those of {}", machine.name,
             joined(names)));
}

const VectorFormat& vector_format(const VectorModel& model, const Format& input) {
  std::vector<std::string> names;
  for (const VectorFormat& row : model.formats) {
    if (row.input == input.name) return row;
    names.emplace_back(row.input);
  }
  throw std::invalid_argument(
      format("the vector unit of {} takes {}, not {}", model.machine, joined(names), input.name));
}

}  // namespace assay
