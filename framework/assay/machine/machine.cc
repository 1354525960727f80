#include "assay/machine/machine.h"

#include <algorithm>
#include <stdexcept>
#include <vector>

#include "assay/base/text.h"
#include "assay/base/words.h"

namespace assay {
namespace {

constexpr auto kDocumented = Provenance::kDocumented;
constexpr auto kMeasured = Provenance::kMeasured;
constexpr auto kInferred = Provenance::kInferred;
constexpr auto kAssumed = Provenance::kAssumed;

constexpr DotModel nearest(std::string_view input, Known<int> chunk, Provenance rounding) {
  return {.input = input,
          .chunk = chunk,
          .accumulator = {"float32", kDocumented},
          .rounding = {Rounding::kNearestEven, rounding}};
}

// The cube unit: L0C accumulates in float32 (documented); the order inside a chunk is not
// published. 4 products a rounding for float32 fit the published e_max grid (1, 2, 8 and 16 do
// not); for the others the depth of their fractal, by analogy.
constexpr DotModel kAscend910bDots[] = {
    nearest("float16", {16, kAssumed}, kInferred),
    nearest("bfloat16", {16, kAssumed}, kInferred),
    nearest("float32", {4, kInferred}, kInferred),
    nearest("hfloat32", {8, kAssumed}, kAssumed),
    {.input = "int8",
     .chunk = {32, kDocumented},
     .accumulator = {"int32", kDocumented},
     .rounding = {Rounding::kNearestEven, kDocumented}},
};

// Tensor cores: an aligned sum, truncated. `how` is how all of a row's parameters are known.
constexpr DotModel tensor_core(std::string_view input, int chunk, int kept_bits, Provenance how,
                               int mantissa_bits = 23) {
  return {.input = input,
          .chunk = {chunk, how},
          .accumulator = {"float32", how},
          .rounding = {Rounding::kTowardZero, how},
          .order = {ChunkOrder::kFused, how},
          .kept_bits = {kept_bits, how},
          .alignment = {Rounding::kTowardZero, how},
          .mantissa_bits = {mantissa_bits, how}};
}

// The floor shows where all products are below 2^-133.
constexpr DotModel hopper(std::string_view input, int chunk) {
  DotModel model = tensor_core(input, chunk, 25, kMeasured);
  model.emax_floor = {-133, kMeasured};
  return model;
}
constexpr DotModel kHopperDots[] = {
    hopper("float16", 16),
    hopper("bfloat16", 16),
    hopper("tfloat32", 8),
    tensor_core("float8_e4m3fn", 32, 13, kMeasured, 13),
    tensor_core("float8_e5m2", 32, 13, kMeasured, 13),
};
constexpr DotModel kAmpereDots[] = {
    tensor_core("float16", 8, 24, kMeasured),
    tensor_core("bfloat16", 8, 24, kMeasured),
    tensor_core("tfloat32", 4, 24, kMeasured),
};
constexpr DotModel kAdaDots[] = {
    tensor_core("float16", 8, 24, kMeasured),
    tensor_core("bfloat16", 8, 24, kMeasured),
    tensor_core("tfloat32", 4, 24, kMeasured),
    tensor_core("float8_e4m3fn", 16, 13, kMeasured, 13),
    tensor_core("float8_e5m2", 16, 13, kMeasured, 13),
};
constexpr DotModel kVoltaDots[] = {tensor_core("float16", 4, 23, kMeasured)};
constexpr DotModel kBlackwellDots[] = {
    tensor_core("float16", 16, 25, kMeasured),
    tensor_core("bfloat16", 16, 25, kMeasured),
    // Recorded with 4 products only: the chunk is hopper's.
    [] {
      DotModel model = tensor_core("tfloat32", 8, 25, kMeasured);
      model.chunk.how = kAssumed;
      return model;
    }(),
};

// A plain loop of a processor's float32 arithmetic, in ascending k.
constexpr DotModel cpu(std::string_view input, bool round_products) {
  return {.input = input,
          .chunk = {1, kDocumented},
          .accumulator = {"float32", kDocumented},
          .rounding = {Rounding::kNearestEven, kDocumented},
          .round_products = {round_products, kDocumented}};
}
constexpr DotModel kFmaDots[] = {cpu("float32", false), cpu("float16", false),
                                 cpu("bfloat16", false)};
constexpr DotModel kMulAddDots[] = {cpu("float32", true), cpu("float16", true),
                                    cpu("bfloat16", true)};

constexpr Machine kMachines[] = {
    {kReferenceMachine,
     "the operator's own reference, rounded once to the output's dtype",
     {},
     "computed by a path that shares nothing with emulation"},
    {"ascend910b", "Ascend 910B cube unit: float32 accumulation, output by nearest_even",
     kAscend910bDots, "fractals and L0C from the vendor's documents; see each parameter's word"},
    {"hopper",
     "NVIDIA H100, H200 tensor cores: aligned, truncated sums",
     kHopperDots,
     "own recordings on an H200, replayed bit for bit (docs/evidence/hopper.md)",
     {false, kMeasured}},
    {"ampere",
     "NVIDIA A100, A2 tensor cores: aligned, truncated sums",
     kAmpereDots,
     "dot products recorded by others agree (docs/evidence/tensor_cores.md)",
     {false, kAssumed}},
    {"ada",
     "NVIDIA Ada, L40S tensor cores: aligned, truncated sums",
     kAdaDots,
     "dot products recorded by others agree (docs/evidence/tensor_cores.md)",
     {false, kAssumed}},
    {"volta",
     "NVIDIA V100 tensor cores: aligned, truncated sums",
     kVoltaDots,
     "dot products recorded by others agree (docs/evidence/tensor_cores.md)",
     {false, kAssumed}},
    {"blackwell",
     "NVIDIA B200 tensor cores: aligned, truncated sums",
     kBlackwellDots,
     "dot products recorded by others agree (docs/evidence/tensor_cores.md)",
     {false, kAssumed}},
    {"cpu_fma", "a processor's fused multiply-adds in float32, in ascending k", kFmaDots,
     "IEEE 754"},
    {"cpu_mul_add", "a processor's separate products and sums in float32, in ascending k",
     kMulAddDots, "IEEE 754"},
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

std::string_view order_word(ChunkOrder order) {
  switch (order) {
    case ChunkOrder::kFused:
      return "fused";
    case ChunkOrder::kSequential:
      return "sequential";
    case ChunkOrder::kPairwise:
      return "pairwise";
  }
  return "";
}

std::span<const Machine> machines() { return kMachines; }

const Machine& machine_named(std::string_view name) {
  if (name.find(',') != std::string_view::npos) return machine_variant(name);
  return row_named("machine", kMachines, name);
}

Format accumulator_format(const DotModel& model) {
  Format format = format_named(model.accumulator.value);
  const int bits = model.mantissa_bits.value;
  if (bits > 0) format.precision = std::min(format.precision, bits + 1);
  return format;
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
