// Replays recorded hardware results bit for bit. The same data must reject other machines, most of
// which differ from the recorded one in a single parameter.
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "assay/datasets/store/dataset_file.h"
#include "assay/op/operator.h"

namespace assay {
namespace {

std::string sample(const std::string& name) {
  const bool is_recording = name == "hopper_kernels" || name == "hopper_units";
  return std::string(ASSAY_SOURCE_DIR "/datasets/") + (is_recording ? "recordings/" : "samples/") +
         name + ".h5";
}

struct Replay {
  std::int64_t cases = 0, differing_cases = 0, elements = 0, differing = 0;
  std::string first;  // the first case that differs
};

// Computes every case of the file that matches the glob and has a recorded H200 result on a
// machine, and compares both.
Replay replay(const std::string& name, const std::string& glob, const std::string& machine,
              const std::map<std::string, Attribute>& other = {}) {
  const DatasetFile file(sample(name));
  Replay result;
  for (const std::string& case_name : file.case_names(glob)) {
    Case c = file.read(case_name);
    for (const auto& [key, value] : other) c.attributes[key] = value;
    const auto recorded = c.output().recorded.find("h200");
    if (recorded == c.output().recorded.end()) continue;
    const Tensor emulated = emulate(c, machine_named(machine));
    const Tensor& output = recorded->second.tensor;
    if (&emulated.format() != &output.format() || emulated.shape() != output.shape()) {
      throw std::runtime_error(case_name + ": emulated and recorded results do not compare");
    }
    std::int64_t differing = 0;
    for (std::int64_t i = 0; i < output.size(); ++i) {
      const std::uint64_t a = emulated.view().bits_at(i), b = output.view().bits_at(i);
      differing += a != b && !(is_nan(output.format(), a) && is_nan(output.format(), b)) ? 1 : 0;
    }
    ++result.cases;
    result.elements += output.size();
    result.differing += differing;
    result.differing_cases += differing > 0 ? 1 : 0;
    if (differing > 0 && result.first.empty()) result.first = case_name;
  }
  return result;
}

void expect_all(const Replay& r, std::int64_t cases) {
  EXPECT_EQ(r.cases, cases);
  EXPECT_GT(r.elements, 0);
  EXPECT_EQ(r.differing, 0) << r.first;
}

TEST(HopperTest, Products) { expect_all(replay("hopper_mma", "", "hopper"), 86); }
TEST(HopperTest, Tfloat32Products) { expect_all(replay("hopper_tf32", "", "hopper"), 14); }
TEST(HopperTest, TransformerProducts) { expect_all(replay("transformer_gemms", "", "hopper"), 18); }

TEST(HopperTest, CornersOfSingleInstructions) {
  expect_all(replay("hopper_corners", "", "hopper"), 73);
}

// int8 sums up to 2^32, which is beyond the range of int32, wrap in cuBLAS and in a single
// instruction.
TEST(HopperTest, IntegersWrap) {
  expect_all(replay("hopper_units", "int8/*", "hopper"), 1);
  expect_all(replay("hopper_units", "mma/int8/*", "hopper"), 1);
}

// The scales are of the whole tensor, of rows or of blocks, and of any value. Sums are promoted or
// not.
TEST(HopperTest, ScaledProducts) { expect_all(replay("hopper_units", "scaled_*", "hopper"), 7); }

TEST(HopperTest, ProductsOnPlainCores) {
  expect_all(replay("hopper_kernels", "triton/float32_ieee/*", "hopper"), 1);
  expect_all(replay("hopper_kernels", "bias/fp32", "hopper"), 1);
  expect_all(
      replay("hopper_kernels", "cublas/fp32/m33k129n65", "hopper", {{"split_k", std::int64_t{36}}}),
      1);
  expect_all(
      replay("hopper_kernels", "cublas/fp32/m8k512n64", "hopper", {{"split_k", std::int64_t{32}}}),
      1);
}

struct Mutant {
  const char *name, *file, *glob, *machine;
  std::map<std::string, Attribute> other;
};
void PrintTo(const Mutant& m, std::ostream* out) { *out << m.name; }

const std::vector<Mutant>& mutants() {
  static const std::vector<Mutant> all = {
      {"bf16_one_bit_less", "hopper_mma", "bf16/*", "hopper,kept_bits=24", {}},
      {"bf16_one_bit_more", "hopper_mma", "bf16/*", "hopper,kept_bits=26", {}},
      {"bf16_half_the_chunk", "hopper_mma", "bf16/*", "hopper,chunk=8", {}},
      {"bf16_nearest_sums", "hopper_mma", "bf16/*", "hopper,rounding=nearest_even", {}},
      {"bf16_nearest_terms", "hopper_mma", "bf16/*", "hopper,alignment=nearest_even", {}},
      {"bf16_exact_terms", "hopper_mma", "bf16/*", "hopper,kept_bits=0", {}},
      {"bf16_cube_unit", "hopper_mma", "bf16/*", "ascend910b", {}},
      {"fp16_one_bit_less", "hopper_mma", "fp16/*", "hopper,kept_bits=24", {}},
      {"fp16_one_bit_more", "hopper_mma", "fp16/*", "hopper,kept_bits=26", {}},
      {"fp16_half_the_chunk", "hopper_mma", "fp16/*", "hopper,chunk=8", {}},
      {"fp16_nearest_sums", "hopper_mma", "fp16/*", "hopper,rounding=nearest_even", {}},
      {"fp16_ampere", "hopper_mma", "fp16/*", "ampere", {}},
      {"e4m3_one_bit_less", "hopper_mma", "e4m3/*", "hopper,kept_bits=12", {}},
      {"e4m3_one_bit_more", "hopper_mma", "e4m3/*", "hopper,kept_bits=14", {}},
      {"e4m3_half_the_chunk", "hopper_mma", "e4m3/*", "hopper,chunk=16", {}},
      {"e4m3_whole_mantissa", "hopper_mma", "e4m3/*", "hopper,mantissa_bits=23", {}},
      {"e4m3_nearest_sums", "hopper_mma", "e4m3/*", "hopper,rounding=nearest_even", {}},
      {"e4m3_no_promotion",
       "hopper_mma",
       "e4m3/*slow*",
       "hopper",
       {{"promotion_interval", std::int64_t{0}}}},
      {"e4m3_promotion_twice_as_often",
       "hopper_mma",
       "e4m3/*slow*",
       "hopper",
       {{"promotion_interval", std::int64_t{64}}}},
      {"tf32_one_bit_less", "hopper_tf32", "", "hopper,kept_bits=24", {}},
      {"tf32_one_bit_more", "hopper_tf32", "", "hopper,kept_bits=26", {}},
      {"tf32_half_the_chunk", "hopper_tf32", "", "hopper,chunk=4", {}},
      {"tf32_nearest_sums", "hopper_tf32", "", "hopper,rounding=nearest_even", {}},
      {"tf32_k_not_split", "hopper_tf32", "", "hopper", {{"split_k", std::int64_t{0}}}},
      {"tf32_inputs_truncated",
       "hopper_tf32",
       "",
       "hopper",
       {{"compute_rounding", std::string("toward_zero")}}},
      {"corners_lower_floor", "hopper_corners", "mma/bfloat16/*", "hopper,emax_floor=-135", {}},
      {"corners_higher_floor", "hopper_corners", "mma/bfloat16/*", "hopper,emax_floor=-131", {}},
      {"corners_flushed_inputs", "hopper_corners", "", "hopper,flush_inputs=1", {}},
      {"corners_flushed_sums", "hopper_corners", "", "hopper,flush_sums=1", {}},
      {"transformer_one_bit_less", "transformer_gemms", "", "hopper,kept_bits=24", {}},
      {"transformer_cube_unit", "transformer_gemms", "", "ascend910b", {}},
      {"int8_saturates", "hopper_units", "int8/int_mm", "hopper,overflow=saturate", {}},
      {"int8_instruction_saturates", "hopper_units", "mma/int8/*", "hopper,overflow=saturate", {}},
      {"plain_cores_in_pairs", "hopper_kernels", "triton/float32_ieee/*", "hopper,chunk=2", {}},
      {"plain_cores_round_products",
       "hopper_kernels",
       "triton/float32_ieee/*",
       "hopper,round_products=1",
       {}},
      {"plain_cores_bias_first", "hopper_kernels", "bias/fp32", "hopper,bias_first=1", {}},
      {"scaled_row_together",
       "hopper_units",
       "scaled_row/*/fast",
       "hopper",
       {{"scale_order", std::string("together")}}},
      {"scaled_row_other_order",
       "hopper_units",
       "scaled_row/*/slow",
       "hopper",
       {{"scale_order", std::string("a_first")}}},
      {"scaled_block_together",
       "hopper_units",
       "scaled_block/e4m3/1x128_1x128/*",
       "hopper",
       {{"scale_order", std::string("together")}}},
      {"scaled_block_one_by_one",
       "hopper_units",
       "scaled_block/e4m3/1x128_128x128/*",
       "hopper",
       {{"scale_order", std::string("a_first")}}},
      {"scaled_block_rounds_twice",
       "hopper_units",
       "scaled_block/e5m2/*",
       "hopper",
       {{"fused", std::int64_t{0}}}},
  };
  return all;
}

class MutantTest : public testing::TestWithParam<Mutant> {};
INSTANTIATE_TEST_SUITE_P(Parameter, MutantTest, testing::ValuesIn(mutants()),
                         [](const auto& row) { return std::string(row.param.name); });

TEST_P(MutantTest, IsRejected) {
  const Mutant& m = GetParam();
  const Replay r = replay(m.file, m.glob, m.machine, m.other);
  ASSERT_GT(r.cases, 0);
  EXPECT_GT(r.differing_cases, 0) << "no recorded result rejects " << m.machine;
}

}  // namespace
}  // namespace assay
