#include "assay/machine/machine.h"

#include <algorithm>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "assay/base/call_text.h"
#include "assay/base/text.h"
#include "assay/base/words.h"
#include "assay/format/rounding.h"
#include "assay/machine/machine_file.h"

namespace assay::inline v0_2 {
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

// Model of a unit that sums int8 products in int32, which is exact in any order.
constexpr DotModel integers(int chunk, Provenance how, Known<IntegerOverflow> overflow) {
  return {.input = "int8",
          .chunk = {chunk, how},
          .accumulator = {"int32", how},
          .rounding = {Rounding::kNearestEven, how},
          .overflow = overflow};
}

// Model of a plain core: a chain of fused multiply-adds in float32, in ascending k.
constexpr DotModel chain(std::string_view input, Provenance how) {
  return {.input = input,
          .chunk = {1, how},
          .accumulator = {"float32", how},
          .rounding = {Rounding::kNearestEven, how},
          .order = {ChunkOrder::kFused, how},
          .kept_bits = {0, how},
          .round_products = {false, how}};
}

// The matrix unit (cube) of the Ascend 910B. The vendor documents that its buffer L0C accumulates
// in float32, but does not publish the number of products between two roundings. For float32, 4
// products fit the published table of V-ABFT's e_max, the largest relative difference between a row
// sum and its checksum, and 1, 2, 8 and 16 do not. For the other formats the depth of their fractal
// is assumed, by analogy.
constexpr DotModel kAscend910bDots[] = {
    nearest("float16", {16, kAssumed}, kInferred),
    nearest("bfloat16", {16, kAssumed}, kInferred),
    nearest("float32", {4, kInferred}, kInferred),
    nearest("hfloat32", {8, kAssumed}, kAssumed),
    integers(32, kDocumented, assumed(IntegerOverflow::kSaturate)),
};

// Model of a tensor core: it aligns terms and truncates their sum. `how` is the provenance of all
// parameters of the row.
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

// The smallest emax, -133, was measured with products that are all below 2^-133.
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
    chain("float32", kMeasured),  // plain cores, not the tensor cores, compute float32
    integers(32, kMeasured, {IntegerOverflow::kWrap, kMeasured}),
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
    // The recorded dot products have only 4 terms, so they do not show the length of a chunk, which
    // is documented.
    [] {
      DotModel model = tensor_core("tfloat32", 8, 25, kMeasured);
      model.chunk.how = kDocumented;
      return model;
    }(),
    tensor_core("float8_e4m3fn", 32, 25, kDocumented),
    tensor_core("float8_e5m2", 32, 25, kDocumented),
};

// Model of the matrix cores of AMD's CDNA1 and CDNA2. They round four products (two for bfloat16 on
// CDNA1) to float32, add them in pairs, and add their sum to the accumulator. CDNA2 flushes
// subnormals.
constexpr DotModel pairs(std::string_view input, int chunk, bool flushes) {
  DotModel model = chain(input, kDocumented);
  model.chunk = {chunk, kDocumented};
  model.order = {ChunkOrder::kPairwise, kDocumented};
  model.round_products = {true, kDocumented};
  model.flush_inputs = model.flush_sums = {flushes, kDocumented};
  return model;
}
constexpr DotModel kCdna1Dots[] = {pairs("float16", 4, false), pairs("bfloat16", 2, false),
                                   chain("float32", kDocumented)};
constexpr DotModel kCdna2Dots[] = {pairs("float16", 4, true), pairs("bfloat16", 4, true),
                                   chain("float32", kDocumented)};

// CDNA3: products are aligned and truncated, the accumulator is added to their sum, and the result
// is rounded to nearest. For 8-bit floats, the products of even k and of odd k are summed
// separately.
constexpr DotModel cdna3(std::string_view input, int chunk, bool is_float8 = false) {
  DotModel model = tensor_core(input, chunk, 24, kDocumented);
  model.rounding = {Rounding::kNearestEven, kDocumented};
  model.sum_bits = {31, kDocumented};
  model.interleave = {is_float8 ? 2 : 1, kDocumented};
  model.reach = {is_float8 ? 25 : 0, kDocumented};
  return model;
}
constexpr DotModel kCdna3Dots[] = {cdna3("float16", 8),
                                   cdna3("bfloat16", 8),
                                   cdna3("tfloat32", 4),
                                   cdna3("float8_e4m3fnuz", 16, true),
                                   cdna3("float8_e5m2fnuz", 16, true),
                                   chain("float32", kDocumented)};

constexpr std::string_view kMmaSim =
    "as published (MMA-Sim, arXiv 2511.10909); no recordings compared (docs/machines.md)";

// Model of a plain loop in a processor's float32 arithmetic, in ascending k.
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

constexpr std::string_view kRecorded =
    "dot products recorded by others agree (docs/evidence/tensor_cores.md)";

// Returns a machine whose matrix unit we did not measure: recordings and descriptions of others say
// how it sums.
constexpr Machine unmeasured(std::string_view name, std::string_view summary,
                             std::span<const DotModel> dots, std::string_view source) {
  return {.name = name,
          .summary = summary,
          .dots = dots,
          .source = source,
          .bias_first = {false, kAssumed}};
}

constexpr Machine kMachines[] = {
    {.name = kReferenceMachine,
     .summary = "the operator's own reference, rounded once to the output's dtype",
     .dots = {},
     .source = "computed by a path that shares nothing with emulation"},
    {.name = "ascend910b",
     .summary = "Ascend 910B cube unit: float32 accumulation, output by nearest_even",
     .dots = kAscend910bDots,
     .source = "fractals and L0C from the vendor's documents; see each parameter's word"},
    {.name = "hopper",
     .summary = "NVIDIA H100, H200 tensor cores: aligned, truncated sums; float32 on plain cores",
     .dots = kHopperDots,
     .source = "own recordings on an H200, replayed bit for bit (docs/evidence/hopper.md)",
     .bias_first = {false, kMeasured}},
    unmeasured("ampere", "NVIDIA A100, A2 tensor cores: aligned, truncated sums", kAmpereDots,
               kRecorded),
    unmeasured("ada", "NVIDIA Ada, L40S tensor cores: aligned, truncated sums", kAdaDots,
               kRecorded),
    unmeasured("volta", "NVIDIA V100 tensor cores: aligned, truncated sums", kVoltaDots, kRecorded),
    unmeasured("blackwell", "NVIDIA B200 tensor cores: aligned, truncated sums", kBlackwellDots,
               "dot products recorded by others agree (docs/evidence/tensor_cores.md); 8 bits as "
               "published (MMA-Sim, arXiv 2511.10909)"),
    unmeasured("cdna1", "AMD MI100 matrix cores: trees of float32 sums", kCdna1Dots, kMmaSim),
    unmeasured("cdna2", "AMD MI200 series matrix cores: trees of float32 sums without subnormals",
               kCdna2Dots, kMmaSim),
    unmeasured("cdna3", "AMD MI300 series matrix cores: aligned products, then the accumulator",
               kCdna3Dots, kMmaSim),
    {.name = "cpu_fma",
     .summary = "a processor's fused multiply-adds in float32, in ascending k",
     .dots = kFmaDots,
     .source = "IEEE 754"},
    {.name = "cpu_mul_add",
     .summary = "a processor's separate products and sums in float32, in ascending k",
     .dots = kMulAddDots,
     .source = "IEEE 754"},
};

constexpr UnitParameter kUnitParameters[] = {
    {"chunk", &DotModel::chunk, 1, 1 << 20},
    {"order", &DotModel::order},
    {"rounding", &DotModel::rounding},
    {"kept_bits", &DotModel::kept_bits, 0, 40},
    {"alignment", &DotModel::alignment},
    {"emax_floor", &DotModel::emax_floor, -300, 300},
    {"accumulator", &DotModel::accumulator},
    {"mantissa_bits", &DotModel::mantissa_bits, 1, 23},
    {"round_products", &DotModel::round_products},
    {"flush_inputs", &DotModel::flush_inputs},
    {"flush_sums", &DotModel::flush_sums},
    {"promotion_interval", &DotModel::promotion_interval, 0, 1 << 30},
    {"sum_bits", &DotModel::sum_bits, 0, 60},
    {"interleave", &DotModel::interleave, 1, 64},
    {"reach", &DotModel::reach, 0, 300},
    {"overflow", &DotModel::overflow},
};

// The formats that the parameter `accumulator` may name. Float32 holds all their values.
constexpr std::string_view kAccumulators[] = {"float32", "float16", "bfloat16"};
// The words of enums, in the order of their values.
constexpr std::string_view kProvenances[] = {"documented", "measured", "inferred", "assumed"},
                           kOrders[] = {"fused", "sequential", "pairwise"},
                           kOverflows[] = {"saturate", "wrap"};

std::size_t choice_of(const SpecText& text, const SpecText::Setting& setting,
                      std::span<const std::string_view> words) {
  return text.choice(setting, std::vector<std::string>(words.begin(), words.end()));
}

// Reads the value of a parameter whose type is T.
template <typename T>
T value_of(const UnitParameter& parameter, const SpecText& text, const SpecText::Setting& setting) {
  if constexpr (std::is_same_v<T, int>) {
    return text.whole(setting, parameter.low, parameter.high);
  } else if constexpr (std::is_same_v<T, bool>) {
    return text.flag(setting);
  } else if constexpr (std::is_same_v<T, Rounding>) {
    return text.row(setting, deterministic_rounding_rows()).rounding;
  } else if constexpr (std::is_same_v<T, std::string_view>) {
    return kAccumulators[choice_of(text, setting, kAccumulators)];
  } else {
    const bool is_order = std::is_same_v<T, ChunkOrder>;
    const std::span<const std::string_view> orders = kOrders, overflows = kOverflows;
    return static_cast<T>(choice_of(text, setting, is_order ? orders : overflows));
  }
}

// Sets the parameter in a model. A value from a text is a choice, so its provenance becomes
// "assumed", whatever the provenance in the row was.
void apply(const UnitParameter& parameter, const SpecText& text, const SpecText::Setting& setting,
           DotModel& model) {
  std::visit(
      [&](auto field) {
        using T = std::remove_reference_t<decltype((model.*field).value)>;
        model.*field = assumed(value_of<T>(parameter, text, setting));
      },
      parameter.field);
}

// The name of the only parameter that belongs to the machine and not to one of its dot models.
constexpr std::string_view kBiasFirst = "bias_first";

// A machine with changed parameters. Like the rows of the table, it lives as long as the program.
struct Variant {
  std::string name, summary;
  std::vector<DotModel> dots;
  Machine machine;
};

}  // namespace

std::string_view provenance_word(Provenance provenance) {
  return kProvenances[static_cast<std::size_t>(provenance)];
}
std::string_view order_word(ChunkOrder order) { return kOrders[static_cast<std::size_t>(order)]; }
std::string_view overflow_word(IntegerOverflow overflow) {
  return kOverflows[static_cast<std::size_t>(overflow)];
}

std::string why_no_model(const DotModel& m) {
  if (m.sum_bits.value == 0 && (m.interleave.value != 1 || m.reach.value != 0)) {
    return "interleave and reach are of an accumulator that meets a finished sum: give sum_bits";
  }
  if (m.sum_bits.value > 0 && m.kept_bits.value == 0) {
    return "sum_bits is of terms that are aligned: give kept_bits";
  }
  return "";
}

std::span<const Machine> machines() { return kMachines; }
std::span<const UnitParameter> unit_parameters() { return kUnitParameters; }

const Machine& machine_named(std::string_view name) {
  if (name.find(',') != std::string_view::npos) return machine_variant(name);
  if (const Machine* row = find_row(kMachines, name, &Machine::name)) return *row;
  if (const Machine* found = find_file_machine(name)) return *found;
  return row_named("machine", kMachines, name);
}

const Machine& machine_variant(std::string_view text) {
  static std::mutex mutex;
  static std::map<std::string, std::unique_ptr<Variant>, std::less<>> known;
  const std::lock_guard lock(mutex);
  if (const auto found = known.find(text); found != known.end()) return found->second->machine;
  const SpecText given("machine", text);
  const Machine& base = machine_named(given.name());
  auto variant = std::make_unique<Variant>();
  variant->name = std::string(base.name) + std::string(text.substr(given.name().size()));
  variant->dots.assign(base.dots.begin(), base.dots.end());
  std::vector<std::string> keys = names_of(kUnitParameters);
  keys.emplace_back(kBiasFirst);
  given.check_keys("a matrix unit", keys);
  if (!base.has_matrix_unit())
    given.refuse(formatted("{} has no matrix unit to change", base.name));
  Known<bool> bias_first = base.bias_first;
  for (const SpecText::Setting& setting : given.settings()) {
    if (setting.key == kBiasFirst) {
      bias_first = assumed(given.flag(setting));
      continue;
    }
    const UnitParameter& parameter = row_named("parameter", kUnitParameters, setting.key);
    bool has_row = false;
    for (DotModel& model : variant->dots) {
      if ((model.accumulator.value == "int32") != parameter.is_of_integers()) continue;
      apply(parameter, given, setting, model);
      has_row = true;
    }
    if (!has_row) {
      given.refuse(
          formatted("{} is only for sums of integers, which {} does not take; leave it out",
                    parameter.name, base.name));
    }
  }
  // The parameters may contradict some of the dot models, as long as one model can use them.
  std::string why;
  for (const DotModel& model : variant->dots) {
    if (model.accumulator.value == "int32") continue;
    why = why_no_model(model);
    if (why.empty()) break;
  }
  if (!why.empty()) given.refuse(why);
  variant->summary = formatted("{}, with other parameters", base.name);
  variant->machine = {.name = variant->name,
                      .summary = variant->summary,
                      .dots = variant->dots,
                      .source = base.source,
                      .bias_first = bias_first,
                      .vector_unit = base.vector_unit};
  return known.emplace(std::string(text), std::move(variant)).first->second->machine;
}

Format accumulator_format(const DotModel& model) {
  Format format = format_named(model.accumulator.value);
  const int bits = model.mantissa_bits.value;
  if (bits > 0) format.precision = std::min(format.precision, bits + 1);
  return format;
}

const DotModel& dot_model(const Machine& machine, const Format& input) {
  if (const auto* model = find_row(machine.dots, input.name, &DotModel::input)) return *model;
  refuse("the matrix unit of {} takes {}, not {}", machine.name,
         joined(names_of(machine.dots, &DotModel::input)), input.name);
}

}  // namespace assay
