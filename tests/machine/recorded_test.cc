// Compares numbers of the accumulation, and results of functions, with recorded values, bit for
// bit. They are the same on every host. Other tests, such as accumulation_test.cc and
// functions_test.cc, test whether they are right. These tests notice if the last bit of one
// changes. They print the new line for each line that differs. If the change is intended, the new
// line replaces the old one.
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "assay/base/index.h"
#include "assay/base/random.h"
#include "assay/base/text.h"
#include "assay/machine/functions.h"
#include "assay/machine/uncertain.h"
#include "assay/machine/unit_bound.h"

namespace assay::machine_recorded {
namespace {

struct Unit {
  const char *machine, *input;
};
const Unit kUnits[] = {
    {"ascend910b", "bfloat16"},
    {"ascend910b,order=sequential,chunk=6,flush_inputs=1,flush_sums=1", "float16"},
    {"ascend910b,order=pairwise,chunk=12,rounding=down,promotion_interval=24", "float16"},
    {"ascend910b,accumulator=float16,rounding=nearest_away", "float16"},
    {"hopper", "float16"},
    {"hopper,promotion_interval=64", "float8_e4m3fn"},
    {"hopper,alignment=nearest_even,rounding=nearest_even", "bfloat16"},
    {"hopper", "float32"},
    {"volta,flush_inputs=1", "float16"},
    {"cdna1", "bfloat16"},
    {"cdna2,promotion_interval=16", "float16"},
    {"cdna3", "float16"},
    {"cdna3", "float8_e5m2fnuz"},
    {"cpu_mul_add", "float32"},
};

struct Row {
  const char *machine, *input;
  std::string noise, elements, sums;
};

// Returns factors of many sizes, among them subnormal ones and zeros.
std::vector<double> factors(const Format& f, std::size_t count, Random& random) {
  std::vector<double> values;
  for (std::size_t i = 0; i < count; ++i) {
    const double size = i % 11 == 5 ? min_subnormal(f) * static_cast<double>(1 + i % 3)
                        : i % 17 == 3
                            ? 0
                            : std::ldexp(1 + random.uniform(), static_cast<int>(i % 7) - 3);
    values.push_back(round_to(f, i % 3 == 0 ? -size : size));
  }
  return values;
}

std::string numbers(const std::vector<double>& values) {
  std::string text;
  for (const double v : values) text += formatted("{}{:a}", text.empty() ? "" : " ", v);
  return text;
}

TEST(MachineRecorded, NoiseAndBounds) {
  const std::vector<Row> rows = {
      {"ascend910b", "bfloat16",
       "0x1.4p+2 0x1.a72p+12 0x0p+0 0x1.0c86df5604ab6p+3 0x1.ap-44 0x1.5555555555556p-50 0x0p+0",
       "0x1.cd8125e9p-12 0x1.cd8125e9p-12 0x1.ce4925e9p-12 0x1.ce4925e9p-12 0x1.5ep-16",
       "0x1.19771ep+5 0x1.19771f19771f2p-19 0x1.c36ccdc36ccdcp-19 0x0p+0 0x1.5555555555555p-42 "
       "0x0p+0 0x1.5555555555555p-40 0x0p+0 0x1.2f10b7999999ap+5 0x1.2f10b9f7bb0d9p-18 "
       "0x1.d906694ba66c3p-18 0x0p+0 0x1.5aaaaaaaaaaabp-42 0x0p+0 0x1.56aaaaaaaaaabp-40 0x0p+0"},
      {"ascend910b,order=sequential,chunk=6,flush_inputs=1,flush_sums=1", "float16",
       "0x1.ap+3 0x1.cep+13 0x0p+0 0x1.0c86df5604ab6p+3 0x1.e666666666667p-42 "
       "0x1.cc1e098ead65cp-49 0x1.6p-116",
       "0x1.9fdae070b2p-10 0x1.9fdae070b2p-10 0x1.a08ee070b2p-10 0x1.a08ee070b2p-10 "
       "0x1.180013b000052p+6",
       "0x1.19c0b3eda68p+5 0x1.25758c5e05e3p-16 0x1.e99bc75fc23b2p-16 0x0p+0 0x1.a4p-40 0x0p+0 "
       "0x1.ep-40 0x1p+0 0x1.2f5a4d874019ap+5 0x1.60fa72ce3f862p-16 0x1.1d33cff7d8f63p-15 0x0p+0 "
       "0x1.fd55555555555p-40 0x0p+0 0x1.f955555555555p-40 0x1p+0"},
      {"ascend910b,order=pairwise,chunk=12,rounding=down,promotion_interval=24", "float16",
       "0x1.cp+2 0x1.ed8p+11 0x1.5ep-14 0x1.eec1519be2acp+3 0x1.3a2a29e2c6f46p-36 "
       "0x1.b35bceefae6aep-50 0x0p+0",
       "0x1.7e3170b4acp-10 0x1.7e3170b4acp-10 0x1.7e6d70b4acp-10 0x1.7e6d70b4acp-10 0x1.298p-13",
       "0x1.19c0b3eda68p+5 0x1.0824b828f2e26p-15 0x1.a7b8cf9a1e6ap-15 -0x1p-18 0x1.fd552aaap-41 "
       "-0x1.48p-18 0x1.25fd2aap-39 0x0p+0 0x1.2f5a4d874019ap+5 0x1.2f5a607ce6217p-15 "
       "0x1.d991f19fd4b3ap-15 -0x1p-18 0x1.57ffeaaa55555p-40 -0x1.48p-18 0x1.d2a7d54aaaaabp-39 "
       "0x0p+0"},
      {"ascend910b,accumulator=float16,rounding=nearest_away", "float16",
       "0x1.4p+2 0x1.a72p+12 0x0p+0 0x1.0c86df5604ab6p+3 0x1.ap-18 0x1.5555555555556p-24 0x0p+0",
       "0x1.ce0fa40accp+1 0x1.ce0fa40accp+1 0x1.ced7a40accp+1 0x1.ced7a40accp+1 0x1.5ep-3",
       "0x1.19c0b3eda68p+5 0x1.19e43073b4f6ap-6 0x1.c431008d2da5bp-6 0x0p+0 0x1.5555555555555p-16 "
       "0x0p+0 0x1.5555555555555p-14 0x0p+0 0x1.2f5a4d874019ap+5 0x1.2f89fac88f605p-6 "
       "0x1.d9dc1df2f04b4p-6 0x0p+0 0x1.55555556aaaabp-16 0x0p+0 0x1.55555555aaaabp-14 0x0p+0"},
      {"hopper", "float16",
       "0x1.4p+2 0x1.a72p+12 0x1.095db8119a479p-13 0x1.b150425d317a4p+3 0x1.646351cf08ac7p-35 "
       "0x1.0a5fbc5e67613p-48 0x0p+0",
       "0x1.7891abcdd44p-9 0x1.7891abcdd44p-9 0x1.7891abcdd44p-9 0x1.7891abcdd44p-9 0x1.ee6p-13",
       "0x1.19c0b3eda68p+5 0x1.89330d09395a1p-17 0x1.e4c059000eb2p-17 0x1.f066p-21 0x1.5555p-42 "
       "0x1.009cp-19 0x1.5555p-40 0x0p+0 0x1.2f5a4d874019ap+5 0x1.dfd66fc4f3628p-17 "
       "0x1.32f8cf1b6e86fp-16 0x1.f066p-21 0x1.5aaa555555555p-42 0x1.009cp-19 "
       "0x1.56aa555555555p-40 0x0p+0"},
      {"hopper,promotion_interval=64", "float8_e4m3fn",
       "0x1.8p+1 0x1.a64p+11 0x1.4a65e0c247e6bp-4 0x1.66d8518e6b7f7p+3 0x1.303b9490f25edp-16 "
       "0x1.50c59dc9f16f4p-29 0x0p+0",
       "0x1.02a08fdaedcp+3 0x1.02a08fdaedcp+3 0x1.02a08fdaedcp+3 0x1.02a08fdaedcp+3 0x1.c2a348p-1",
       "0x1.1d38p+5 0x1.095e06699152fp-4 0x1.13867c936b17fp-4 0x0p+0 0x0p+0 0x1p-11 0x1p-22 "
       "0x0p+0 0x1.32d199999999ap+5 0x1.0aba3cc75ab46p-4 0x1.14e3f7e186fcp-4 0x0p+0 "
       "0x1.6555555555555p-42 0x1p-11 0x1.0000565555555p-22 0x0p+0"},
      {"hopper,alignment=nearest_even,rounding=nearest_even", "bfloat16",
       "0x1.4p+2 0x1.a72p+12 0x0p+0 0x1.0c86df5604ab6p+3 0x1.56af10adc68b5p-43 "
       "0x1.4c4cab532d224p-50 0x0p+0",
       "0x1.7827c4563p-9 0x1.7827c4563p-9 0x1.7827c4563p-9 0x1.7827c4563p-9 0x1.ee6p-13",
       "0x1.19771ep+5 0x1.426d88c26d88cp-17 0x1.7348d47348d47p-17 0x1.566p-130 0x1.58p-42 "
       "0x1.e34p-129 0x1.58p-40 0x0p+0 0x1.2f10b7999999ap+5 0x1.93981ef3fd0acp-17 "
       "0x1.eef0d6aaae7a2p-17 0x1.566p-130 0x1.5d55555555555p-42 0x1.e34p-129 "
       "0x1.5955555555555p-40 0x0p+0"},
      {"hopper", "float32",
       "0x1.2cp+6 0x1.1dbep+16 0x0p+0 0x1.0c86df5604ab6p+3 0x1.86p-40 0x1.4p-46 0x0p+0",
       "0x1.fda9cfed0db7dp-9 0x1.b1302fd8ab49dp-8 0x1.fc593dad046b4p-9 0x1.b1ebafd8ab49dp-8 "
       "0x1.482p-12",
       "0x1.19c1fd792db8cp+5 0x1.0825ed1bd3c1dp-15 0x1.a7b01e8df5dc8p-15 0x0p+0 "
       "0x1.b556aaaaaaa6fp-39 0x0p+0 0x1.2b80555553a4cp-38 0x0p+0 0x1.2f5b9712c7524p+5 "
       "0x1.2f5baa0881f2dp-15 0x1.d988ac3d7e0a7p-15 0x0p+0 0x1.d755555555519p-39 0x0p+0 "
       "0x1.30fffffffe4f5p-38 0x0p+0"},
      {"volta,flush_inputs=1", "float16",
       "0x1.3p+4 0x1.398p+14 0x1.7e0edc08cd23cp-14 0x1.815122a97baafp+3 0x1.c64164a04118ap-36 "
       "0x1.f007fd10ba73p-45 0x0p+0",
       "0x1.483e0a9c7ccp-7 0x1.483e0a9c7ccp-7 0x1.4849cd73798p-7 0x1.4849cd73798p-7 "
       "0x1.1800fdc000052p+6",
       "0x1.19c0b3eda68p+5 0x1.2b17b9b6542e6p-14 0x1.50a8b455fea36p-14 0x1p-18 0x1.28p-41 0x1p-19 "
       "0x1.ap-40 0x1p+0 0x1.2f5a4d874019ap+5 0x1.4e38f4ea5cfc4p-14 0x1.727a262aceab7p-14 "
       "0x1.fp-19 0x1.d2aaaaaaaaaabp-41 0x1.3p-19 0x1.b555555555555p-40 0x1p+0"},
      {"cdna1", "bfloat16",
       "0x1.3p+5 0x1.2e5ep+15 0x0p+0 0x1.0c86df5604ab6p+3 0x1.d333333333334p-41 "
       "0x1.44b8c66dae89p-47 0x0p+0",
       "0x1.7631efedd015bp-9 0x1.cd8125e9p-9 0x1.754346914ce3cp-9 0x1.ce4925e9p-9 0x1.5ep-13",
       "0x1.19771ep+5 0x1.5fd4f33e51807p-16 0x1.1a240a8568693p-15 0x0p+0 0x1.55dd555555555p-41 "
       "0x0p+0 0x1.84p-39 0x0p+0 0x1.2f10b7999999ap+5 0x1.a0b70e5b10d12p-16 0x1.453473d2da93bp-15 "
       "0x0p+0 0x1.6088p-41 0x0p+0 0x1.8caaaaaaaaaabp-39 0x0p+0"},
      {"cdna2,promotion_interval=16", "float16",
       "0x1.3p+4 0x1.94p+12 0x0p+0 0x1.0c86df5604ab6p+3 0x1.22p-41 0x1.97c790f3f086cp-50 "
       "0x1.2cp-115",
       "0x1.fc4467a60ep-10 0x1.fc4467a60ep-10 0x1.fd2067a60ep-10 0x1.fd2067a60ep-10 "
       "0x1.1800181000052p+6",
       "0x1.19c0b3eda68p+5 0x1.25758c5e05e3p-16 0x1.e99bc75fc23b2p-16 0x0p+0 0x1.52p-39 0x0p+0 "
       "0x1.ep-40 0x1p+0 0x1.2f5a4d874019ap+5 0x1.60fa72ce3f862p-16 0x1.1d33cff7d8f63p-15 0x0p+0 "
       "0x1.7eaaaaaaaaaabp-39 0x0p+0 0x1.9caaaaaaaaaabp-39 0x1p+0"},
      {"cdna3", "float16",
       "0x1.4p+3 0x1.7bbp+13 0x1.581db8119a478p-14 0x1.773d3565f8305p+3 0x1.436bce76f59fdp-36 "
       "0x1.0b08b0e46bbebp-46 0x0p+0",
       "0x1.a47770108ap-8 0x1.a47770108ap-8 0x1.a47770108ap-8 0x1.a47770108ap-8 0x1.252p-11",
       "0x1.19c0b3eda68p+5 0x1.d89b1511fcbbp-16 0x1.3de4593877731p-15 0x1.c198p-23 0x1.62aa8p-41 "
       "0x1.04ep-22 0x1.c555p-40 0x0p+0 0x1.2f5a4d874019ap+5 0x1.10cffd88140f8p-15 "
       "0x1.6d0a451105b65p-15 0x1.c198p-23 0x1.65552aaaaaaabp-41 0x1.09cp-23 "
       "0x1.caaa555555555p-40 0x0p+0"},
      {"cdna3", "float8_e5m2fnuz",
       "0x1.4p+2 0x1.a72p+12 0x1.d0ebb27b43a86p-29 0x1.0c8c3d66348aap+3 0x1.0819625bb72d5p-43 "
       "0x1.0018995833f41p-50 0x0p+0",
       "0x1.7e11f3000275p-8 0x1.7e11f3000275p-8 0x1.7e11f3000275p-8 0x1.7e11f3000275p-8 "
       "0x1.f2cp-12",
       "0x1.265832p+5 0x1.64cb07a4cb07ap-16 0x1.63d01543d0154p-16 0x0p+0 0x0p+0 0x0p+0 0x1p-38 "
       "0x0p+0 0x1.3bf1cb999999ap+5 0x1.8efc76045f527p-16 0x1.a106916873894p-16 -0x1.8p-22 "
       "0x1.2aaaaaaaaaaabp-41 -0x1p-23 0x1.6555555555555p-40 0x0p+0"},
      {"cpu_mul_add", "float32",
       "0x1.2cp+6 0x1.1dbep+16 0x0p+0 0x1.0c86df5604ab6p+3 0x1.98p-40 0x1.4p-46 0x0p+0",
       "0x1.fe7c7aceba163p-9 0x1.b6f6cd7f65e46p-8 0x1.fd2c75e82ac8p-9 0x1.b7b4cd7f65e46p-8 "
       "0x1.4c8p-12",
       "0x1.19c1fd792db8cp+5 0x1.19c20f154eaa1p-15 0x1.c3ef114a4ac1ap-15 -0x1.f34a04p-151 "
       "0x1.daaeaaaaaaa6fp-39 0x0p+0 0x1.56bfaaaaa8fap-38 0x0p+0 0x1.2f5b9712c7524p+5 "
       "0x1.425165eb5b8cp-15 0x1.f72138f877439p-15 -0x1.f34a04p-151 0x1.fe03555555519p-39 0x0p+0 "
       "0x1.5f54fffffe4f5p-38 0x0p+0"},
  };
  ASSERT_EQ(rows.size(), std::size(kUnits));
  constexpr std::int64_t kDepth = 75;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const Unit& unit = kUnits[i];
    SCOPED_TRACE(formatted("{} {}", unit.machine, unit.input));
    const DotModel& model = dot_model(machine_named(unit.machine), format_named(unit.input));
    const Accumulation sums(&model, kDepth);
    const ProductStats p{
        .expected = 37, .square = 90, .start = 11, .prefixes = -2000, .sign = -0.3, .columns = 16};
    const AccumulationNoise noise = sums.noise(p, 6.5);
    double after = 0;
    for (std::int64_t k = 0; k < kDepth; ++k) {
      after += sums.roundings_after(k) * static_cast<double>(k + 1);
    }
    EXPECT_EQ(numbers({sums.roundings(), after, sums.bias(p), noise.deviations, noise.variance,
                       noise.per_square, noise.flushed}),
              rows[i].noise);
    Random random(20261125, 4);
    const std::vector<double> a = factors(format_named(model.input), kDepth, random),
                              b = factors(format_named(model.b_input()), kDepth, random);
    std::vector<double> elements;
    for (const double bias : {0.0, -2.5}) {
      const ElementError error = sums.element_bound(bias, 3.25, a.data(), b.data());
      elements.insert(elements.end(), {error.chance, error.worst});
    }
    elements.push_back(sums.largest_element_bound(70));
    EXPECT_EQ(numbers(elements), rows[i].elements);
    std::vector<double> of_sums;
    for (const bool starts : {false, true}) {
      const std::vector<double> start(starts ? 5 : 0, -2.7);
      if (why_no_sum_bounds(model, 15, starts).empty()) {
        const SumBounds bounds = sum_bounds(model, 5, 5, 15, a, b, start, 1);
        of_sums.insert(of_sums.end(), {bounds.size[7], bounds.error[7], bounds.error[24]});
      }
      const SumErrors errors =
          sum_errors(model, 5, 5, 15, a, b, start, StartOfSum::kFirst, false, 1);
      of_sums.insert(of_sums.end(), {errors.mean[7], errors.variance[7], errors.mean[24],
                                     errors.variance[24], errors.flushes ? 1.0 : 0.0});
    }
    EXPECT_EQ(numbers(of_sums), rows[i].sums);
  }
}

// Records functions on both sides of the borders between their pieces.
TEST(MachineRecorded, Functions) {
  std::vector<std::string> lines;
  const auto add = [&](const char* name, double (*function)(double),
                       const std::vector<double>& at_these) {
    for (const double x : at_these)
      lines.push_back(formatted("{} {:a} {:a}", name, x, function(x)));
  };
  add("exp", exp_float64,
      {0x1p-60, -0x1p-54, 0.34, 0.3466, -0.3466, 0.35, 1, -17.3, 300.1, 709.78, 709.79, 720, -708.5,
       -740, -745.13, -745.14, -760});
  add("log", log_float64,
      {0x1p-1074, 0x1.8p-1030, 0x1p-1022, 0.5, 0.7071, 0.70711, 0.9999, 1.0001, 1.4142, 1.41422, 10,
       0x1.fp1023});
  add("rsqrt", rsqrt_float64, {0x1p-1074, 0.3, 2, 7, 0x1.fp1023});
  add("tanh", tanh_float64, {0x1p-60, 0.1, -0.3, 0.55, 1, -5.5, 18.9, 19.1, 21.9, 22.1, 400});
  add("erf", erf_float64,
      {0x1p-60, 0.1, -0.5, 0.99999, 1, 1.00001, -2.9, 3, 3.1, 5.5, 5.9, 5.95, 6.1, 30});
  const std::vector<std::string> recorded = {
      "exp 0x1p-60 0x1p+0",
      "exp -0x1p-54 0x1p+0",
      "exp 0x1.5c28f5c28f5c3p-2 0x1.67aaa532108bep+0",
      "exp 0x1.62eb1c432ca58p-2 0x1.6a0c5906bc779p+0",
      "exp -0x1.62eb1c432ca58p-2 0x1.6a0773cd678a4p-1",
      "exp 0x1.6666666666666p-2 0x1.6b4802c805decp+0",
      "exp 0x1p+0 0x1.5bf0a8b14576ap+1",
      "exp -0x1.14ccccccccccdp+4 0x1.0772c096d61b7p-25",
      "exp 0x1.2c1999999999ap+8 0x1.ef839024b01d6p+432",
      "exp 0x1.62e3d70a3d70ap+9 0x1.fe9ce5c4c52b4p+1023",
      "exp 0x1.62e51eb851eb8p+9 inf",
      "exp 0x1.68p+9 inf",
      "exp -0x1.624p+9 0x0.e6cf6d08897acp-1022",
      "exp -0x1.72p+9 0x0.0000000000055p-1022",
      "exp -0x1.7490a3d70a3d7p+9 0x0.0000000000001p-1022",
      "exp -0x1.7491eb851eb85p+9 0x0p+0",
      "exp -0x1.7cp+9 0x0p+0",
      "log 0x0.0000000000001p-1022 -0x1.74385446d71c3p+9",
      "log 0x0.018p-1022 -0x1.64c49fefb1953p+9",
      "log 0x1p-1022 -0x1.6232bdd7abcd2p+9",
      "log 0x1p-1 -0x1.62e42fefa39efp-1",
      "log 0x1.6a0902de00d1bp-1 -0x1.62e6b3842a25ep-2",
      "log 0x1.6a0a5269595ffp-1 -0x1.62e2fe73833b5p-2",
      "log 0x1.fff2e48e8a71ep-1 -0x1.a3738d2cf1cc2p-14",
      "log 0x1.00068db8bac71p+0 0x1.a368d0657fcd4p-14",
      "log 0x1.6a0902de00d1bp+0 0x1.62e1ac5b1d181p-2",
      "log 0x1.6a0a5269595ffp+0 0x1.62e5616bc402ap-2",
      "log 0x1.4p+3 0x1.26bb1bbb55516p+1",
      "log 0x1.fp+1023 0x1.62e01f9841252p+9",
      "rsqrt 0x0.0000000000001p-1022 0x1p+537",
      "rsqrt 0x1.3333333333333p-2 0x1.d363d1848dcbfp+0",
      "rsqrt 0x1p+1 0x1.6a09e667f3bccp-1",
      "rsqrt 0x1.cp+2 0x1.83091e6a7f7e6p-2",
      "rsqrt 0x1.fp+1023 0x1.0418a4806de7dp-512",
      "tanh 0x1p-60 0x1p-60",
      "tanh 0x1.999999999999ap-4 0x1.983d7795f413ap-4",
      "tanh -0x1.3333333333333p-2 -0x1.2a4dda7d914fap-2",
      "tanh 0x1.199999999999ap-1 0x1.00442f6419203p-1",
      "tanh 0x1p+0 0x1.85efab514f394p-1",
      "tanh -0x1.6p+2 -0x1.fffb9f2fc1e9p-1",
      "tanh 0x1.2e66666666666p+4 0x1p+0",
      "tanh 0x1.319999999999ap+4 0x1p+0",
      "tanh 0x1.5e66666666666p+4 0x1p+0",
      "tanh 0x1.619999999999ap+4 0x1p+0",
      "tanh 0x1.9p+8 0x1p+0",
      "erf 0x1p-60 0x1.20dd750429b6dp-60",
      "erf 0x1.999999999999ap-4 0x1.cca5ea24fb334p-4",
      "erf -0x1p-1 -0x1.0a7ef5c18edd2p-1",
      "erf 0x1.fffeb074a771dp-1 0x1.af75ef2a3ed8cp-1",
      "erf 0x1p+0 0x1.af767a741088bp-1",
      "erf 0x1.0000a7c5ac472p+0 0x1.af7705bd2ba7ap-1",
      "erf -0x1.7333333333333p+1 -0x1.fffa9cfbea4e3p-1",
      "erf 0x1.8p+1 0x1.fffd1ac4135f9p-1",
      "erf 0x1.8cccccccccccdp+1 0x1.fffe7922cb8dbp-1",
      "erf 0x1.6p+2 0x1.fffffffffffbep-1",
      "erf 0x1.799999999999ap+2 0x1.fffffffffffffp-1",
      "erf 0x1.7cccccccccccdp+2 0x1p+0",
      "erf 0x1.8666666666666p+2 0x1p+0",
      "erf 0x1.ep+4 0x1p+0",
  };
  EXPECT_EQ(lines.size(), recorded.size());
  for (std::size_t i = 0; i < lines.size(); ++i) {
    EXPECT_EQ(lines[i], i < recorded.size() ? recorded[i] : "") << "line " << i;
  }
}

}  // namespace
}  // namespace assay::machine_recorded
