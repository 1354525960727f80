#include "assay/machine/vector_model.h"

#include <vector>

#include "assay/base/text.h"
#include "assay/base/words.h"

namespace assay::inline v0_2 {
namespace {

// A repeat of the Ascend 910B's vector unit is 256 bytes: 128 numbers of float16, or 64 of float32.
// The unit has no arithmetic of its own for bfloat16, which is converted to float32 and back.
constexpr auto kDocumented = Provenance::kDocumented;
constexpr auto kAssumed = Provenance::kAssumed;

constexpr VectorFormat kAscend910bFormats[] = {
    {"float16", {"float16", kDocumented}, {128, kDocumented}},
    {"bfloat16", {"float32", kAssumed}, {64, kAssumed}},
    {"float32", {"float32", kDocumented}, {64, kDocumented}},
};

// C++ on a CPU and GPU libraries compute 16-bit formats in float32.
constexpr VectorFormat kFloatFormats[] = {
    {"float16", {"float32", kAssumed}, {0, kAssumed}},
    {"bfloat16", {"float32", kAssumed}, {0, kAssumed}},
    {"float32", {"float32", kDocumented}, {0, kAssumed}},
    {"float64", {"float64", kDocumented}, {0, kAssumed}},
};

// Returns the model of a unit that computes by IEEE 754.
constexpr VectorModel ieee(std::string_view machine, Provenance how, bool fused,
                           Known<std::string_view> functions, std::string_view source) {
  return {.machine = machine,
          .formats = kFloatFormats,
          .overflow = {Overflow::kIeee, how},
          .subnormals = {Subnormals::kGradual, how},
          .fused = {fused, how},
          .tanh_by_exp = {false, kAssumed},
          .functions = functions,
          .source = source};
}

// The float units of NVIDIA's GPUs, without the tensor cores, as code is compiled for them by
// default: subnormals are kept, divisions and square roots are rounded once, and multiply-adds are
// fused.
constexpr VectorModel simt(std::string_view machine) {
  return ieee(machine, kDocumented, true, {"cuda", kDocumented},
              "IEEE 754, by the vendor's programming guide: compute capability 2.0 and later");
}

// AMD's float units compute as a processor does. This was not compared with recorded results.
constexpr VectorModel amd(std::string_view machine) {
  return ieee(machine, kAssumed, true, {"libm", kAssumed}, "IEEE 754, by analogy");
}

constexpr VectorModel kModels[] = {
    {.machine = "ascend910b",
     .formats = kAscend910bFormats,
     .overflow = {Overflow::kSaturate, kDocumented},
     .subnormals = {Subnormals::kGradual, kAssumed},
     .fused = {true, kAssumed},
     .tanh_by_exp = {true, kDocumented},
     .functions = {"cann", kAssumed},
     .source = "the vendor's documents: saturating with CTRL[48] = 0, IEEE with 1; they disagree "
               "about subnormals, and do not say how often a multiply-add rounds; tanh by the "
               "vendor's library; Ascend C's Cast gives int8 of float16 alone",
     .int8_from = {"float16", kDocumented}},
    simt("hopper"),
    simt("ampere"),
    simt("ada"),
    simt("volta"),
    simt("blackwell"),
    amd("cdna1"),
    amd("cdna2"),
    amd("cdna3"),
    ieee("cpu_fma", kDocumented, true, {"libm", kAssumed},
         "IEEE 754; multiply-add by the fused instruction"),
    ieee("cpu_mul_add", kDocumented, false, {"libm", kAssumed},
         "IEEE 754; multiply-add as a multiplication and an addition"),
};

}  // namespace

std::string_view subnormals_word(Subnormals subnormals) {
  return subnormals == Subnormals::kGradual ? "gradual" : "flush";
}

std::span<const VectorModel> vector_models() { return kModels; }

const VectorModel* find_vector_model(std::string_view machine) {
  return find_row(kModels, machine, &VectorModel::machine);
}

const VectorModel* find_vector_model(const Machine& machine) {
  return find_vector_model(machine.vector_unit.empty() ? machine.family() : machine.vector_unit);
}

const VectorModel& vector_model(const Machine& machine) {
  if (const VectorModel* found = find_vector_model(machine)) return *found;
  refuse("assay has no vector unit of the machine {}; it has those of {}", machine.name,
         joined(names_of(kModels, &VectorModel::machine)));
}

const VectorFormat& vector_format(const VectorModel& model, const Format& input) {
  if (const auto* row = find_row(model.formats, input.name, &VectorFormat::input)) return *row;
  refuse("the vector unit of {} takes {}, not {}", model.machine,
         joined(names_of(model.formats, &VectorFormat::input)), input.name);
}

}  // namespace assay
