// Compares numbers of the checks, bit for bit, with recorded ones: they are the same on every host.
// Other tests check that the numbers are right. These tests find changes of a last bit. A failure
// prints the new line. If the change is intended, the new line replaces the old one.
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "abft/checked.h"
#include "abft/oracle.h"
#include "assay/abft.h"
#include "assay/abft/calibrate.h"
#include "assay/abft/rounding_tail.h"
#include "assay/base/index.h"
#include "assay/base/text.h"
#include "assay/machine/machine.h"
#include "assay/simd/targets.h"
#include "simd/target_fixture.h"

namespace assay::abft {
namespace {

using testing_checks::options_of;
using testing_oracle::Made;
using testing_oracle::random_product;

void expect_lines(const std::vector<std::string>& lines, const std::vector<std::string>& recorded) {
  EXPECT_EQ(lines.size(), recorded.size());
  for (std::size_t i = 0; i < lines.size(); ++i) {
    EXPECT_EQ(lines[i], i < recorded.size() ? recorded[i] : "") << "line " << i;
  }
}

// `count` values of bfloat16 whose ulp is 2^-octave.
struct Octave {
  int octave, count;
};
std::vector<double> values_of_octaves(const std::vector<Octave>& octaves) {
  std::vector<double> values;
  for (const Octave& o : octaves) {
    values.insert(values.end(), static_cast<std::size_t>(o.count), std::ldexp(1.5, 7 - o.octave));
  }
  return values;
}

TEST(Recorded, TailsOfRoundingErrors) {
  const std::vector<std::vector<Octave>> sets = {
      {{0, 1}},
      {{0, 16}},
      {{0, 4}, {1, 4}, {3, 9}},
      {{0, 40}, {2, 300}},
      {{0, 3}, {1, 1}},
      {{0, 17}, {5, 2}},
      {{0, 1}, {10, 1000}, {47, 3}, {48, 4000}, {60, 5}}};
  std::vector<std::string> lines;
  for (const auto& set : sets) {
    for (const bool coarse : {false, true}) {
      for (const double kappa : {1.5, 4.0, 7.62}) {
        const auto tail = [&](double enough) {
          return rounding_tail(format_named("bfloat16"), values_of_octaves(set), kappa, coarse,
                               enough);
        };
        const RoundingTail whole = tail(HUGE_VAL), part = tail(whole.value / 2);
        lines.push_back(formatted("{:a} {:a} {:a}", whole.value, whole.slope, part.value));
        EXPECT_EQ(part.slope, 0);
      }
    }
  }
  expect_lines(lines, {
                          "0x1.2731f5e6abb3p-2 0x1.1ec418a7a2cd1p+2 0x1.03f4d2eb60dbdp-2",
                          "0x1.ffaee8603e451p-2 0x1.9415357f23902p+11 0x1.a86b0f60be72p-2",
                          "0x1.ffffffffff004p-2 0x1.0046cf388bcd9p+42 0x1.d71272bca5704p-2",
                          "0x1.e27ab23da7b56p-2 0x1.c23137492f066p+2 0x1.9263a24d9bd1fp-2",
                          "0x1p-1 0x1.a3c69b25f6339p+10 0x1.fc6f641473216p-2",
                          "0x1p-1 0x1.8fd621dbd6aabp+11 0x1.fffa863834208p-2",
                          "0x1.386e031090e1bp+0 0x1.db55efcd1c52ep-1 0x1.35365ca9cddb9p+0",
                          "0x1.eae93aa527f4ep+1 0x1.b16d0084a886bp+1 0x1.b7b2af458cc23p+1",
                          "0x1.b91de6bdeea3fp+2 0x1.ce472fb7cafdfp+3 0x1.5e4258e447c86p+2",
                          "0x1.0decf82c2013dp+1 0x1.1473ae23ada8ap+0 0x1.0956cdb873299p+1",
                          "0x1.5a00a49ba52fcp+2 0x1.a483afaee768ap+1 0x1.37bc6a2932386p+2",
                          "0x1p+3 0x1.0fb7900f0feb2p+11 0x1.bf280d6e92cacp+2",
                          "0x1.6037dd7d9827ep-1 0x1.aa73462ff52bep+0 0x1.574a8cf091948p-1",
                          "0x1.08456a3a5b88bp+1 0x1.dd1dbc778d722p+2 0x1.b22c8818cdb0dp+0",
                          "0x1.98f7c23b59e5cp+1 0x1.6e759ba51df9bp+5 0x1.344b89b00f51fp+1",
                          "0x1.2f1df7fe232b6p+0 0x1.f63d250ee1b7ep+0 0x1.22ac29992da58p+0",
                          "0x1.6a0831dcb7b42p+1 0x1.004b61a875a1dp+3 0x1.2afea946f97bep+1",
                          "0x1.c8p+1 0x1.bac26e4f0bb08p+14 0x1.7aa540688facap+1",
                          "0x1.2c32c2783e248p+1 0x1.ebdaea45174bep-2 0x1.2b9906a3a25ebp+1",
                          "0x1.e1d5ccd87459ep+2 0x1.94d9c1b905549p+0 0x1.d1960b0a1ff84p+2",
                          "0x1.f125fb3947cb2p+3 0x1.cbc9bfd87547fp+1 0x1.cc2b6537efbe5p+3",
                          "0x1.03dce41321591p+2 0x1.1c5b0c5d82ecep-1 0x1.02ffaa828a11p+2",
                          "0x1.581cd610d816p+3 0x1.831b391a18fd8p+0 0x1.50647762d9b4dp+3",
                          "0x1.40df7e6e42ad8p+4 0x1.89dee547fe347p+1 0x1.2a5f633875a88p+4",
                          "0x1.15f7f08e807c3p-1 0x1.127e49c3305eap+1 0x1.09ce8a48e680cp-1",
                          "0x1.7fe3bf5b38afcp+0 0x1.fec4e0a02df2p+3 0x1.2878e9fdd486dp+0",
                          "0x1.bfaa83fe78ee3p+0 0x1.7f5247dabd3f7p+11 0x1.76574b5f92d21p+0",
                          "0x1.dbbf2913c329bp-1 0x1.49b3454ff6994p+1 0x1.baa6b5752e871p-1",
                          "0x1.cp+0 0x1.ae2289af1903fp+12 0x1.8a0258ec4b8ccp+0",
                          "0x1.cp+0 0x1.2d7167fc24c4bp+12 0x1.b7ec2ff997aeap+0",
                          "0x1.42218fd9616a5p+0 0x1.ccd315cf6399dp-1 0x1.3f015b6b617b4p+0",
                          "0x1.fafad172771c1p+1 0x1.a0c0c6ef66f46p+1 0x1.c849602296589p+1",
                          "0x1.ccd39d5be36b1p+2 0x1.a1e6f7008ab28p+3 0x1.6f482019faeeap+2",
                          "0x1.1658e7f5f2e74p+1 0x1.0be458baf69c1p+0 0x1.11e3541c59a81p+1",
                          "0x1.65b617a70c0acp+2 0x1.93a127094d9fp+1 0x1.43ed91bc87f04p+2",
                          "0x1.11p+3 0x1.a8b20b14ce723p+16 0x1.d5cc4bab7c575p+2",
                          "0x1.27609c47d94f7p-2 0x1.1e77f172c1ec3p+2 0x1.042b96f891a8dp-2",
                          "0x1.0692f100cf41cp-1 0x1.b64b53e9d1d86p+7 0x1.a953d2f7ab3ebp-2",
                          "0x1.1c92ccb68f959p-1 0x1.6ac8020d35317p+9 0x1.d91670ec43cd4p-2",
                          "0x1.e2e85fdef7387p-2 0x1.c04cfb0cb9044p+2 0x1.92ced0db9e695p-2",
                          "0x1.1451e8e201fdp-1 0x1.4da8851b05545p+8 0x1.fdce520149a31p-2",
                          "0x1.2978ba35fdd1bp-1 0x1.56e771673f9c2p+9 0x1.014dd8163f649p-1",
                      });
}

TEST(Recorded, LowerBoundsOfTails) {
  std::vector<std::string> lines;
  for (const bool coarse : {false, true}) {
    for (const double kappa : {1.5, 4.0, 7.62}) {
      std::string line;
      for (const double largest : {0.01, 0.06, 0.2, 0.7}) {
        line += formatted(" {:a}", least_rounding_tail(0.75, largest, kappa, coarse));
      }
      lines.push_back(line);
    }
  }
  expect_lines(lines, {
                          " 0x1.9749bf4eee5d6p-1 0x1.971916dc67f8ap-1 "
                          "0x1.95233fd8054bbp-1 0x1.7ef21e6275c9bp-1",
                          " 0x1.43f0d52770594p+1 0x1.426bc19edc349p+1 "
                          "0x1.33bd458ec2aefp+1 0x1.a77c8a8d49c06p+0",
                          " 0x1.5a779ac3d89a9p+2 0x1.5333edd9f32fp+2 "
                          "0x1.1b0f95510cf6dp+2 0x1.06cc13993d2d5p+1",
                          " 0x1.1ffd8adab9f56p+0 0x1.1fa786c22680ap+0 "
                          "0x1.1c387023e5069p+0 0x1.f14eef8598ad9p-1",
                          " 0x1.7fe8b2c48458ap+1 0x1.7cc1a41b38f9ep+1 "
                          "0x1.5f4e553282592p+1 0x1.88360d519788ep+0",
                          " 0x1.6d7203a95cfa1p+2 0x1.62d6c3a95bd7p+2 "
                          "0x1.149049b0035bdp+2 0x1.9ac21e2ec36e1p+0",
                      });
}

// Returns the fields of a form that are finite and not 0.
std::string text_of(const BoundForm& f) {
  std::string text;
  const auto add = [&](const char* name, double value) {
    if (value != 0 && std::isfinite(value)) text += formatted("{}={:a} ", name, value);
  };
  add("constant", f.constant);
  add("largest", f.per_largest);
  add("absolute", f.per_absolute);
  add("branch", f.branch);
  add("columns", f.columns);
  add("kappa", f.kappa);
  add("ulp_weight", f.ulp_weight);
  add("half_ulps", f.half_ulps);
  add("tail_from", f.tail_from);
  add("deviations", f.deviations);
  add("accumulation", f.accumulation);
  add("square", f.per_square);
  add("ulp_square", f.per_ulp_square);
  return text;
}

struct RecordedForm {
  const char *spec, *in, *out, *machine;
  bool biased;
  std::string form, reading;
};

// Runs on every SIMD target, because the numbers must not depend on the target. The recorded check
// is the last one of the second row, with and without biases.
class RecordedOnTarget : public simd::OnEveryTarget {};

INSTANTIATE_TEST_SUITE_P(OnTarget, RecordedOnTarget, testing::ValuesIn(simd::available_targets()),
                         simd::target_of);

TEST_P(RecordedOnTarget, FormsAndReadings) {
  const std::vector<RecordedForm> rows = {
      {"rounding_variance", "bfloat16", "bfloat16", "", false,
       "kappa=0x1.bc8da292cba38p+2 ulp_weight=0x1.5555555555555p-4 "
       "half_ulps=0x1p-1 "
       "tail_from=0x1.5555555555555p-2 deviations=0x1.1ef538b717963p+3 "
       "accumulation=0x1.0c57fc57676e2p-35 ulp_square=0x1.c444444444445p-31 ",
       "0x1.c0a1f88b4398p-4 0x1.8c183031b9544p-2 0x1.eb897518p+3 "
       "0x1.f45555c9be77p-8 "
       "0x1.66fc00ffb5975p-2"},
      {"rounding_variance", "bfloat16", "bfloat16", "", true,
       "kappa=0x1.bc8da292cba38p+2 ulp_weight=0x1.5555555555555p-4 "
       "half_ulps=0x1p-1 "
       "tail_from=0x1.5555555555555p-2 deviations=0x1.1ef538b717963p+3 "
       "accumulation=0x1.0db5c924343afp-35 ulp_square=0x1.c444444444445p-31 ",
       "0x1.4143f116872p-5 0x1.b419592844dc8p-2 0x1.35c4ba8cp+4 "
       "0x1.1c2aaaea96b1ep-7 "
       "0x1.8abdde5ecb1f3p-2"},
      {"rounding_variance,groups=64,kappa=3", "float16", "float16", "", false,
       "kappa=0x1.8p+1 ulp_weight=0x1.5555555555555p-4 half_ulps=0x1p-1 "
       "tail_from=0x1.5555555555555p-2 deviations=0x1.efbdeb14f4edap+1 "
       "accumulation=0x1.36bf0da34818fp-34 ulp_square=0x1.c444444444445p-25 ",
       "0x1.f2d697a5e34p-7 0x1.0ccd0d0adc5b6p-5 0x1.e8937b81p+3 "
       "0x1.f4557d78ceb81p-14 "
       "0x1.0ccd0d0adc5b6p-5"},
      {"rounding_variance,groups=33,kappa=5.05", "float16", "float16", "", false,
       "kappa=0x1.4333333333333p+2 ulp_weight=0x1.5555555555555p-4 "
       "half_ulps=0x1p-1 "
       "tail_from=0x1.5555555555555p-2 deviations=0x1.a13fd90f8159p+2 "
       "accumulation=0x1.772386235e904p-35 ulp_square=0x1.c444444444445p-25 ",
       "0x1.1d9086d2f1cp-6 0x1.0f1891075aa6dp-5 0x1.23c0b471cp+4 "
       "0x1.c9aac9570b2p-14 "
       "0x1.0f1891075aa6dp-5"},
      {"rounding_variance,groups=0,coarse=1", "bfloat16", "bfloat16", "", true,
       "kappa=0x1.ad77e7972f3p+2 ulp_weight=0x1p-3 half_ulps=0x1p-1 "
       "tail_from=0x1.036aa24868a9ap-2 deviations=0x1.15387c3bd83cdp+3 "
       "accumulation=0x1.77c6a39fb19a4p-34 ulp_square=0x1.c444444444445p-31 ",
       "0x1.444a3585a1cp-3 0x1.a6bc32b0b6454p+0 0x1.c4f2959fdp+7 "
       "0x1.eff5004281427p-5 "
       "0x1.84f6bd2357047p+0"},
      {"rounding_variance,groups=8", "float32", "float32", "", true,
       "kappa=0x1.c2e4fefd0164ap+2 deviations=0x1.230d18b831f23p+3 "
       "accumulation=0x1.cfc1b75ad44dap-38 square=0x1.c444444444445p-47 ",
       "0x1.0849fcfacp-10 0x1.a3ecdfdd4ddebp-15 0x1.a741366b80d17p+4 "
       "0x1.0a7324e465ce4p-35 "
       "0x1.a3ecdfdd4ddebp-15"},
      {"rounding_variance", "bfloat16", "bfloat16", "ascend910b", false,
       "kappa=0x1.bc8da292cba38p+2 ulp_weight=0x1.5555555555555p-4 "
       "half_ulps=0x1p-1 "
       "tail_from=0x1.5555555555555p-2 deviations=0x1.1ef538b717963p+3 "
       "accumulation=0x1.4409a4a381ba1p-39 ulp_square=0x1.1111111111111p-34 ",
       "0x1.c0a1f88b4398p-4 0x1.8c06a52067d1ep-2 0x1.eb897518p+3 "
       "0x1.f455555e1e79bp-8 "
       "0x1.66ea75ee6414fp-2"},
      {"rounding_variance", "float8_e4m3fn", "bfloat16", "hopper,promotion_interval=32", true,
       "kappa=0x1.bc8da292cba38p+2 ulp_weight=0x1.5555555555555p-4 "
       "half_ulps=0x1p-1 "
       "tail_from=0x1.5555555555555p-2 deviations=0x1.201405e596501p+3 "
       "accumulation=0x1.beccfc58aa6adp-15 ulp_square=0x1.52502b0acde75p-14 ",
       "0x1.3721ee45481p-4 0x1.ec3f18d6f5d9p-2 0x1.31ecf6a52f746p+4 "
       "0x1.162de5ee381c8p-7 "
       "0x1.c5124b1ad5c9cp-2"},
      {"rounding_variance", "float8_e5m2", "float32", "hopper,promotion_interval=64", false,
       "kappa=0x1.bc8da292cba38p+2 deviations=0x1.1f93faa62e2dep+3 "
       "accumulation=0x1.c531ebb172ddap-18 square=0x1.9ea716ded8de2p-30 ",
       "0x1.069c351cf6p-10 0x1.ea773985856d8p-6 0x1.4704844540912p+3 "
       "0x1.7451ce02c7ff6p-17 "
       "0x1.ea773985856d8p-6"},
      {"rounding_variance", "float16", "float16", "hopper", true,
       "kappa=0x1.bc8da292cba38p+2 ulp_weight=0x1.5555555555555p-4 "
       "half_ulps=0x1p-1 "
       "tail_from=0x1.5555555555555p-2 deviations=0x1.69e9c831adb6p+3 "
       "accumulation=0x1.f41113725148dp-37 ulp_square=0x1.50d9fe7be3fd4p-27 ",
       "0x1.92dbd9c03cp-7 0x1.b4823e356ea66p-5 0x1.3449bd183cb4fp+4 "
       "0x1.1c2aaecf9ab61p-13 "
       "0x1.8b26c36bf4e91p-5"},
      {"rounding_variance", "float16", "float32", "volta", false,
       "kappa=0x1.bc8da292cba38p+2 deviations=0x1.20ab37dfbc61p+3 "
       "accumulation=0x1.080a5de3385a4p-34 square=0x1.57abbafbc9ea3p-45 ",
       "0x1.07031ef0bcp-10 0x1.e1e7fa6409854p-14 0x1.e8937b8df1f2fp+3 "
       "0x1.64b9f1449ec18p-33 "
       "0x1.e1e7fa6409854p-14"},
      {"rounding_variance", "float16", "float16", "cdna2", true,
       "constant=0x1.588p-116 kappa=0x1.bc8da292cba38p+2 "
       "ulp_weight=0x1.5555555555555p-4 "
       "half_ulps=0x1p-1 tail_from=0x1.5555555555555p-2 "
       "deviations=0x1.1ef538b717963p+3 "
       "accumulation=0x1.44571e3346f2bp-36 ulp_square=0x1.e82bcb309fb7fp-27 ",
       "0x1.92d697a5e38p-7 0x1.b47934ad38b75p-5 0x1.3449bdc08p+4 "
       "0x1.1c2ab0602bd21p-13 "
       "0x1.8b1db9e3befap-5"},
      {"rounding_variance", "float16", "bfloat16", "cdna3", false,
       "kappa=0x1.bc8da292cba38p+2 ulp_weight=0x1.5555555555555p-4 "
       "half_ulps=0x1p-1 "
       "tail_from=0x1.5555555555555p-2 deviations=0x1.206aeac3e895cp+3 "
       "accumulation=0x1.6f4a8b617b804p-35 ulp_square=0x1.4dc1d77aa16dap-31 ",
       "0x1.a5a52b72dd28p-4 0x1.8c1750a3e09f1p-2 0x1.e8937b7dcf332p+3 "
       "0x1.f45555c065f32p-8 "
       "0x1.66fb2171dce22p-2"},
      {"rounding_variance", "bfloat16", "bfloat16", "cdna1", false,
       "kappa=0x1.bc8da292cba38p+2 ulp_weight=0x1.5555555555555p-4 "
       "half_ulps=0x1p-1 "
       "tail_from=0x1.5555555555555p-2 deviations=0x1.1ef538b717963p+3 "
       "accumulation=0x1.8aebc0a7461acp-36 ulp_square=0x1.ce168a7725082p-32 ",
       "0x1.c0a1f88b4398p-4 0x1.8c125a4545e86p-2 0x1.eb897518p+3 "
       "0x1.f4555598597ap-8 "
       "0x1.66f62b13422b7p-2"},
      {"rounding_variance", "float32", "float32", "cpu_mul_add", true,
       "kappa=0x1.bc8da292cba38p+2 deviations=0x1.1ef538b717963p+3 "
       "accumulation=0x1.116ed7e30942p-36 square=0x1.c444444444445p-47 ",
       "0x1.08942eeeecp-10 0x1.08a7d85ad11f3p-14 0x1.344d6a22b900cp+4 "
       "0x1.b381fe46a6352p-35 "
       "0x1.08a7d85ad11f3p-14"},
      {"rounding_variance", "bfloat16", "bfloat16",
       "ascend910b,order=sequential,chunk=8,flush_inputs=1,flush_sums=1", false,
       "constant=0x1.86p-117 kappa=0x1.bc8da292cba38p+2 "
       "ulp_weight=0x1.5555555555555p-4 "
       "half_ulps=0x1p-1 tail_from=0x1.5555555555555p-2 "
       "deviations=0x1.1ef538b717963p+3 "
       "accumulation=0x1.39e9577e65ac4p-36 ulp_square=0x1.1826a439f656fp-33 ",
       "0x1.c0a1f88b4398p-4 0x1.8c0cc56c0a74ap-2 0x1.eb897518p+3 "
       "0x1.f4555575c91fep-8 "
       "0x1.66f0963a06b7bp-2"},
      {"rounding_variance,arithmetic=float32", "bfloat16", "bfloat16", "", true,
       "kappa=0x1.bc8da292cba38p+2 ulp_weight=0x1.5555555555555p-4 "
       "half_ulps=0x1p-1 "
       "tail_from=0x1.5555555555555p-2 deviations=0x1.1ef538b717963p+3 "
       "accumulation=0x1.d13a5a80da42bp-31 ulp_square=0x1.8666666666666p-29 ",
       "0x1.4142d916872p-5 0x1.b44f6f5911a2ap-2 0x1.35c4bap+4 "
       "0x1.1c2aad1e67052p-7 "
       "0x1.8af3f48f97e55p-2"},
      {"rounding_variance,arithmetic=hi_lo,groups=0", "bfloat16", "bfloat16", "", true,
       "kappa=0x1.ad77e7972f3p+2 ulp_weight=0x1.5555555555555p-4 "
       "half_ulps=0x1p-1 "
       "tail_from=0x1.036aa24868a9ap-2 deviations=0x1.15387c3bd83cdp+3 "
       "accumulation=0x1.520798cc3bd78p-16 ulp_square=0x1.b6eeeeeeeeeeep-27 ",
       "0x1.45bbb645a1cp-3 0x1.63140c1edb1f5p+0 0x1.c4f2f2p+7 "
       "0x1.4acd999acaef8p-5 "
       "0x1.353a07cd17d18p+0"},
      {"rounding_variance,arithmetic=output", "float16", "float16", "", false,
       "kappa=0x1.bc8da292cba38p+2 ulp_weight=0x1.5555555555555p-4 "
       "half_ulps=0x1p-1 "
       "tail_from=0x1.5555555555555p-2 deviations=0x1.1ef538b717963p+3 "
       "accumulation=0x1.0bff1b68dd275p-35 ulp_square=0x1.c444444444445p-25 ",
       "0x1p-6 0x1.8cc17851b9a3ap-5 0x1.e8937b81p+3 0x1.f455726cd6b92p-14 "
       "0x1.67a5491fb5e6bp-5"},
      {"residual_compensated", "bfloat16", "bfloat16", "", true,
       "deviations=0x1.230d18b831f23p+3 accumulation=0x1.ebdf796f79d22p-37 "
       "square=0x1.c444444444445p-47 ulp_square=0x1.0e66666666667p-45 ",
       "0x1.4143f116872p-5 0x1.07d889ca7975bp-14 0x1.35c4ba8cp+4 "
       "0x1.a4c1e9df9a304p-35 "
       "0x1.07d889ca7975bp-14"},
      {"residual_compensated,groups=5", "float16", "float16", "hopper", false,
       "deviations=0x1.46cbed36d426p+3 accumulation=0x1.5035a8b148d59p-40 "
       "square=0x1.50922c2aaa69p-49 ulp_square=0x1.999999999999ap-51 ",
       "0x1.15a42e73b868p-9 0x1.7f922debdde26p-17 0x1.c0dadc8047a9dp-2 "
       "0x1.60ad2dc0e396dp-40 "
       "0x1.7f922debdde26p-17"},
      {"v_abft", "bfloat16", "bfloat16", "", true, "constant=0x1.f915d954aae1dp+4 ",
       "0x1.444a3585a1cp-3 0x1.f915d954aae1dp+4 0x1.c4f2959fdp+7"},
      {"v_abft,variant=recalibrated,sigma=extreme", "float32", "float32", "", false,
       "constant=0x1.55472842208f3p-11 ",
       "0x1.086b91c86p-10 0x1.55472842208f3p-11 0x1.9d2cddb6a5b36p+7"},
      {"v_abft,variant=april,sigma=deviation", "float32", "float32", "", false,
       "constant=0x1.1d15b2ab7e15ep-11 ",
       "0x1.086b91c86p-10 0x1.1d15b2ab7e15ep-11 0x1.9d2cddb6a5b36p+7"},
      {"v_abft,variant=sampling,raise=1.5", "float32", "float32", "", true,
       "constant=0x1.15f3116d4f146p-9 ",
       "0x1.076f91c86p-10 0x1.15f3116d4f146p-9 0x1.c3acddb6a5b36p+7"},
      {"v_abft,variant=h100,blocks=32", "float32", "float32", "", true,
       "constant=0x1.6ff57f89e9081p-13 ",
       "0x1.08942eeeecp-10 0x1.6ff57f89e9081p-13 0x1.344d6a22b900cp+4"},
      {"v_abft,sample_a=3/5,sample_b=2/4", "float16", "float16", "", false,
       "constant=0x1.e3617cdc7e9c3p+1 ",
       "0x1.926df69438p-8 0x1.e3617cdc7e9c3p+1 0x1.9d30a7ee5bcp+7"},
      {"aclnn", "bfloat16", "float32", "", true, "constant=0x1.85b5829a4a398p+2 ",
       "0x1.0224dd2f2p-10 0x1.85b5829a4a398p+2 0x1.c4f296p+7"},
      {"a_abft", "bfloat16", "bfloat16", "", true,
       "constant=0x1.283d66db97f46p-8 largest=0x1.18ef52fdb3f53p-5 ",
       "0x1.444a3585a1cp-3 0x1.6b4cbe61e592p+0 0x1.c4f2959fdp+7"},
      {"a_abft,variant=components", "float16", "float16", "", false,
       "constant=0x1.63da847e47bcap+5 largest=0x1.169fa090a0b39p-3 ",
       "0x1.926df69438p-8 0x1.9045d747565b4p+5 0x1.9d30a7ee5bcp+7"},
      {"a_abft_original", "float32", "float32", "", false, "constant=0x1.dd4af67080b08p-9 ",
       "0x1.086b91c86p-10 0x1.dd4af67080b08p-9 0x1.9d2cddb6a5b36p+7"},
      {"a_abft_original,variant=matrix", "float16", "float16", "", false,
       "constant=0x1.8ce12fd6876fbp+5 ",
       "0x1.926df69438p-8 0x1.8ce12fd6876fbp+5 0x1.9d30a7ee5bcp+7"},
      {"a_abft_original,top=3", "float32", "float32", "", false, "constant=0x1.1d3865d560839p-8 ",
       "0x1.086b91c86p-10 0x1.1d3865d560839p-8 0x1.9d2cddb6a5b36p+7"},
      {"sea_abft", "float16", "float16", "", true, "constant=0x1.8635f309d473bp+10 ",
       "0x1.3936fb4a1cp-7 0x1.8635f309d473bp+10 0x1.c3b0a7ee5bcp+7"},
      {"analytic", "float16", "float16", "", true, "constant=0x1.8873f86b9a3d1p+6 ",
       "0x1.3936fb4a1cp-7 0x1.8873f86b9a3d1p+6 0x1.c3b0a7ee5bcp+7"},
      {"analytic,lambda=2", "float16", "float16", "", false, "constant=0x1.a242c716570acp+4 ",
       "0x1.926df69438p-8 0x1.a242c716570acp+4 0x1.9d30a7ee5bcp+7"},
      {"torch_npu", "bfloat16", "bfloat16", "", true,
       "constant=0x1.d83c94fb6d2acp-65 largest=0x1.5effa2a4c88dcp-3 "
       "absolute=0x1.4p-6 "
       "branch=0x1.4p+2 columns=0x1.34p+6 ",
       "0x1.444bb645a1cp-3 0x1.103758p+4 0x1.c4f296p+7"},
      {"mindspore", "bfloat16", "bfloat16", "", false,
       "constant=0x1.79ca10c924223p-67 largest=0x1.18cc821d6d3e3p-5 "
       "absolute=0x1p-8 "
       "branch=0x1.4p+2 columns=0x1.34p+6 ",
       "0x1.904bb645a1cp-3 0x1.b0f88p+1 0x1.9e7296p+7"},
      {"v_abft,arithmetic=machine", "bfloat16", "bfloat16", "ascend910b", true,
       "constant=0x1.f915d954aae1dp+4 ", "0x1.fdf3b645a1cp-3 0x1.f915d954aae1dp+4 0x1.c48p+7"},
  };
  for (const RecordedForm& row : rows) {
    SCOPED_TRACE(formatted("{} {} {} {} {}", row.spec, row.in, row.out, row.machine, row.biased));
    std::vector<double> bias;
    for (int j = 0; row.biased && j < 77; ++j) bias.push_back(0.25 * (j % 7) - 0.5);
    const Made made = random_product(3, 77, 53, row.in, row.out, 3, 812, bias);
    AbftOptions options = options_of(row.spec);
    if (*row.machine != '\0') {
      options.model = &dot_model(machine_named(row.machine), format_named(row.in));
    }
    const AbftChecker checker = AbftChecker::of_product(made.a, made.b, options, bias);
    const Format& f = made.c.format();
    std::vector<BoundForm> forms(at(checker.groups_per_row()));
    checker.forms(1, f, forms.data());
    EXPECT_EQ(text_of(forms.back()), row.form);
    std::vector<double> residuals(forms.size(), 0.001);
    std::vector<Reading> readings(forms.size());
    const std::byte* elements = made.c.bytes() + 77 * f.storage_bytes;
    checker.read_row(1, elements, f, readings.data(), 6, residuals.data());
    std::vector<OutputStats> stats(forms.size());
    checker.stats(f, elements, stats.data(), forms.data());
    std::string reading =
        formatted("{:a} {:a} {:a}", readings.back().difference, readings.back().threshold,
                  checker.expected(1, checker.groups_per_row() - 1, f));
    if (!std::isnan(readings.back().variance)) {
      reading +=
          formatted(" {:a} {:a}", readings.back().variance, forms.back().threshold(stats.back()));
    }
    EXPECT_EQ(reading, row.reading);
  }
}

// The text of a verdict on more rows than one block: counts, the largest D/T, the means of z, and
// the flags with their elements.
std::string text_of(const AbftVerdict& v) {
  std::string text =
      formatted("{} {} {} {} {} {} {} {:a} {:a} {:a}", v.checks, v.flagged, v.not_checkable,
                v.confirmed_clean, v.measured, v.narrow, v.blind, v.worst_ratio, v.rms_z, v.mean_z);
  for (const AbftFlag& flag : v.flags) {
    text += formatted(" [{}{} {}-{} {:a} {:a}", flag.is_column ? "column " : "", flag.index,
                      flag.first, flag.last, flag.reading.difference, flag.reading.threshold);
    if (flag.element) {
      text += formatted(" ({} {}) {:a} {}", flag.element->row, flag.element->column,
                        flag.element->reference, flag.element->flipped_bit.value_or(-1));
    }
    text += "]";
  }
  return text;
}

TEST_P(RecordedOnTarget, Verdicts) {
  const struct {
    const char *spec, *in, *out, *machine;
  } rows[] = {
      {"rounding_variance", "bfloat16", "bfloat16", ""},
      {"rounding_variance,columns=1,groups=7", "float16", "float16", "hopper"},
      {"rounding_variance,confirm=0,kappa=2.5", "bfloat16", "bfloat16", "ascend910b"},
      {"rounding_variance,kappa=1", "float16", "float16", ""},
      {"rounding_variance,arithmetic=hi_lo", "float32", "float32", ""},
      {"residual_compensated", "bfloat16", "bfloat16", ""},
      {"residual_compensated,columns=1,groups=0", "float16", "float16", "volta"},
      {"v_abft,columns=1", "bfloat16", "bfloat16", ""},
      {"torch_npu", "bfloat16", "bfloat16", ""},
      {"golden", "bfloat16", "bfloat16", ""},
      {"golden of tolerance", "float16", "float16", ""},
  };
  std::vector<std::string> lines;
  for (const auto& row : rows) {
    const std::string spec = row.spec;
    const bool golden = spec.starts_with("golden");
    AbftOptions options = options_of(golden ? "rounding_variance" : spec);
    if (*row.machine != '\0') {
      options.model = &dot_model(machine_named(row.machine), format_named(row.in));
    }
    if (spec == "golden of tolerance") {
      options.golden_tolerance = [](double v) { return 0x1p-11 * std::abs(v) + 0x1p-3; };
    }
    Made made = random_product(150, 40, 30, row.in, row.out, 3, 813);
    const Tensor clean = made.c, before = random_product(150, 40, 30, row.in, "float32", 3, 813).c;
    // One flip in the first block of rows, two in the last, and one element that is completely
    // wrong.
    for (const auto& [place, bit] :
         {std::pair(7 * 40 + 3, 13), {149 * 40 + 39, 14}, {130 * 40, 15}}) {
      made.c.set_bits(place, made.c.bits_at(place) ^ (std::uint64_t{1} << bit));
    }
    made.c.set_bits(66 * 40 + 20, encode(made.c.format(), 1000.0));
    const bool compensated = spec.starts_with("residual");
    for (const Tensor* c : {&clean, static_cast<const Tensor*>(&made.c)}) {
      const AbftChecker checker = golden ? AbftChecker::of_golden(clean, options)
                                         : AbftChecker::of_product(made.a, made.b, options);
      lines.push_back(text_of(checker.check(
          c->view(), compensated ? Residual::accumulator(before.view()) : Residual{})));
      if (spec == "residual_compensated") {
        std::vector<double> sums(150 * 3, 0.0);
        for (std::int64_t e = 0; e < 150 * 40; ++e) {
          sums[at(e / 40 * 3 + e % 40 / 16)] +=
              before.view().value_at(e) - clean.view().value_at(e);
        }
        const Tensor r = Tensor::from_values(format_named("float32"), {150, 3}, sums);
        lines.push_back(text_of(checker.check(c->view(), Residual::sums(r.view()))));
      }
    }
  }
  expect_lines(
      lines,
      {
          "450 0 0 0 450 0 0 0x1.65028e948eca2p-1 0x1.cd3a03bb615ddp-1 0x1.55e0d4a2b8a6bp-7",
          "450 4 0 0 450 0 0 0x1.e1cd02afaf8f8p+8 0x1.c50a19663090cp+5 0x1.eb3e7997624fp+1 [149 "
          "32-39 "
          "0x1.e2p+127 0x1.001b17bf1381ap+119 (149 39) 0x1.e1f428p-1 14] [66 16-31 "
          "0x1.f32ad682bp+9 "
          "0x1.29b1ee8368bf2p+1 (66 20) 0x1.c75b2dep+0 -1] [130 0-15 0x1.c65bbe8p+0 "
          "0x1.d1d2a611ca00cp-3 (130 0) -0x1.c52dcp-1 15] [7 0-15 0x1.b3cafp-2 "
          "0x1.bfb52ee94a3aap-3 "
          "(7 3) 0x1.58398p-2 13]",
          "1780 0 0 0 1780 0 0 0x1.b18c9f26a51abp-1 0x1.ef64400c9ec79p-1 0x1.c1f28d8703ac2p-7",
          "1780 8 0 0 1780 0 0 0x1.d0e32d10d9e55p+11 0x1.3d22642edf6ccp+8 0x1.ec51a5f04d8c4p+3 [66 "
          "14-20 0x1.f31daf2b7baa9p+9 0x1.12d9424882de8p-2 (66 20) 0x1.c77ecd278p+0 -1] [column 39 "
          "147-149 0x1.d17e2f97d0164p+15 0x1.008534847f194p+4 (149 39) 0x1.d162d4p-1 14] [149 "
          "35-39 "
          "0x1.d17e2e67b5f89p+15 0x1.00a51ca57da0dp+4 (149 39) 0x1.d162d4p-1 14] [column 20 63-69 "
          "0x1.f319d92348a8bp+9 0x1.1de329c372ca5p-2 (66 20) 0x1.c77ecd278p+0 -1] [130 0-6 "
          "0x1.cf41c2ead0398p+0 0x1.5f75e4d7d96d7p-7 (130 0) -0x1.ce0585cp-1 15]",
          "450 1 0 0 450 0 0 0x1.10c8adb941628p+0 0x1.cd3a03d99363bp-1 0x1.55e0d4f0eef1ep-7 [27 "
          "32-39 "
          "0x1.838a4p-4 0x1.6bb205c0f39a6p-4]",
          "450 5 0 0 450 0 0 0x1.e1fb8ff4b9feep+8 0x1.c50a197a069b7p+5 0x1.eb3e79ad2bbcdp+1 [149 "
          "32-39 0x1.e2p+127 0x1.00025b65d557fp+119 (149 39) 0x1.e1f428p-1 14] [66 16-31 "
          "0x1.f32ad682bp+9 0x1.31825cd2458b6p+1 (66 20) 0x1.c75b2dep+0 -1] [130 0-15 "
          "0x1.c65bbe8p+0 "
          "0x1.07f7fd06b7cdap-3 (130 0) -0x1.c52dcp-1 15] [7 0-15 0x1.b3cafp-2 "
          "0x1.b78f6168f3101p-4 "
          "(7 3) 0x1.58398p-2 13] [27 32-39 0x1.838a4p-4 0x1.6bb205c0f39a6p-4]",
          "450 0 0 145 450 0 0 0x1.44c7b45cdae7cp+1 0x1.e9e42229bbab2p-1 0x1.f4a0146ddecfbp-6",
          "450 4 0 145 450 0 0 0x1.af0b56a7fc418p+12 0x1.bd88a3ae00a98p+8 0x1.e2af37adea637p+4 [66 "
          "16-31 0x1.f31c63e6754p+9 0x1.286cd9eaa04a5p-3 (66 20) 0x1.c77ecd278p+0 -1] [149 32-39 "
          "0x1.d17e301db74p+15 0x1.27d4e753cb266p+3 (149 39) 0x1.d162d4p-1 14] [130 0-15 "
          "0x1.ceb75ff6p+0 0x1.a6b5a5e56938p-8 (130 0) -0x1.ce0585cp-1 15] [7 0-15 0x1.7bb0361p-2 "
          "0x1.60011de292dbdp-8 (7 3) 0x1.814787p-2 13]",
          "450 0 0 0 450 0 0 0x1.5c2155c6278adp-4 0x1.9a3be5c90660fp-3 -0x1.9dc53da1a1402p-7",
          "450 1 0 0 450 0 0 0x1.3fec31a9945a2p+17 0x1.20eb68979cc9ep+16 0x1.b3d48c7d7708dp+11 [66 "
          "16-31 0x1.f31c1cp+9 0x1.8f62682afe692p-8 (66 20) 0x1.c7d613fdedb8p+0 -1]",
          "900 0 0 0 450 0 0 0x1p+0 0x1.5a0d76fe9773bp-2 0x1.f22cbed3cd624p-7",
          "900 0 0 0 900 0 0 0x1.647d9e5b574dep-1 0x1.5c5490de60e3p-1 0x1.38a748314eb2fp-9",
          "900 4 0 0 450 0 0 0x1.e2p+136 0x1.59d349c04f735p-2 0x1.0401802891d8ap-6 [149 32-39 "
          "0x1.e2p+127 0x1p-9 (149 39) 0x1.e1f428p-1 14] [66 16-31 0x1.f31c5268p+9 0x1p-8 (66 20) "
          "0x1.c75b2dep+0 -1] [130 0-15 0x1.c596ep+0 0x1p-9 (130 0) -0x1.c52dcp-1 15] [7 0-15 "
          "0x1.58398p-2 0x1p-10 (7 3) 0x1.58398p-2 13]",
          "900 4 0 0 900 0 0 0x1.2aa0b8dccdfdcp+20 0x1.10c8f4118cbd2p+19 0x1.a301439d99db9p+14 "
          "[149 "
          "32-39 0x1.e2p+127 0x1.9d325454d072ap+107 (149 39) 0x1.e1f428p-1 14] [66 16-31 "
          "0x1.f31bfff6bp+9 0x1.ad38efb01f6cap-11 (66 20) 0x1.c75b2dep+0 -1] [130 0-15 "
          "0x1.c5ffea8p+0 "
          "0x1.0508f8840f69bp-15 (130 0) -0x1.c52dcp-1 15] [7 0-15 0x1.58001p-2 "
          "0x1.000dcee09d8dfp-15 "
          "(7 3) 0x1.58398p-2 13]",
          "380 0 0 0 190 0 0 0x1p+0 0x1.812ed4fb9f264p-1 0x1.8ea5c5905f70fp-2",
          "380 8 0 0 190 0 0 0x1.d17e2e9d2cp+27 0x1.7a08ba844ddccp-1 0x1.7fe57f724c9d6p-2 [column "
          "39 "
          "0-149 0x1.d17e2e9d2cp+15 0x1p-12 (149 39) 0x1.d162d4p-1 14] [149 0-39 "
          "0x1.d17e2e9d2cp+15 "
          "0x1p-12 (149 39) 0x1.d162d4p-1 14] [column 20 0-149 0x1.f31c409cp+9 0x1p-11 (66 20) "
          "0x1.c77ecd278p+0 -1] [66 0-39 0x1.f31c409cp+9 0x1p-11 (66 20) 0x1.c77ecd278p+0 -1] "
          "[column "
          "0 0-149 0x1.ce02cp+0 0x1p-12 (130 0) -0x1.ce0585cp-1 15]",
          "190 0 0 0 0 0 0 0x1.85335d2c329fbp-6 nan nan",
          "190 4 0 0 0 0 0 0x1.3d37ac890829ep+124 nan nan [149 0-39 0x1.e2p+127 "
          "0x1.84fb7b679e277p+3 "
          "(149 39) 0x1.e1f428p-1 14] [column 39 0-149 0x1.e2p+127 0x1.5542107bf0adp+5 (149 39) "
          "0x1.e1f428p-1 14] [66 0-39 0x1.f32d89417p+9 0x1.7c819b37d50ffp+3 (66 20) 0x1.c75b2dep+0 "
          "-1] [column 20 0-149 0x1.f31005ba2f8p+9 0x1.efcee9bc241fbp+4 (66 20) 0x1.c75b2dep+0 -1]",
          "150 0 0 0 0 0 0 0x1.add681d68eb04p-5 nan nan",
          "150 2 0 0 0 0 0 0x1.999999999999ap+5 nan nan [149 0-39 0x1.e2p+127 0x1.2d4p+122 (149 "
          "39) "
          "0x1.e1f428p-1 14] [66 0-39 0x1.f32d898p+9 0x1.96afep+4 (66 20) 0x1.c75b2dep+0 -1]",
          "450 0 0 0 450 0 0 0x0p+0 0x0p+0 0x0p+0",
          "450 4 0 0 450 0 0 0x1.de7b1c34e8983p+8 0x1.c4f304233136p+5 0x1.ea6e40d13b162p+1 [149 "
          "32-39 "
          "0x1.e2p+127 0x1.01e1fffffdbf3p+119 (149 39) 0x1.e2p-1 14] [66 16-31 0x1.f31cp+9 "
          "0x1.2b8b4e6719659p+1 (66 20) 0x1.c8p+0 -1] [130 0-15 0x1.c6p+0 0x1.d2ab390e857a7p-3 "
          "(130 "
          "0) -0x1.c6p-1 15] [7 0-15 0x1.58p-2 0x1.c07a6c07ca9e1p-3 (7 3) 0x1.58p-2 13]",
          "450 0 0 0 450 0 0 0x0p+0 0x0p+0 0x0p+0",
          "450 2 0 0 450 0 0 0x1.b452e28291cd6p+11 0x1.bd883ce6ffbd3p+8 0x1.e236e5cd42689p+4 [149 "
          "32-39 0x1.d17e2e8p+15 0x1.111d36e4989fp+4 (149 39) 0x1.d18p-1 14] [66 16-31 "
          "0x1.f31c4p+9 "
          "0x1.2e2e94cce9687p+1 (66 20) 0x1.c78p+0 -1]",
      });
}

TEST(Recorded, EMaxOfMachines) {
  std::vector<std::string> lines;
  for (const char* machine : {"ascend910b", "hopper", "cdna1", "cpu_fma", "volta"}) {
    for (const char* dtype : {"float16", "bfloat16", "float32", "float8_e4m3fn"}) {
      for (const CalibrationInputs inputs :
           {CalibrationInputs::kNormal, CalibrationInputs::kFolded, CalibrationInputs::kShifted}) {
        CalibrationPlan plan;
        plan.machine = &machine_named(machine);
        plan.dtype = &format_named(dtype);
        plan.m = 5;
        plan.k = 70;
        plan.n = 64;
        plan.inputs = inputs;
        plan.trials = 2;
        plan.seed = 7;
        plan.threads = 1;
        try {
          const Calibration found = calibrate(plan);
          lines.push_back(formatted("{} {} {} {} {} {:a} {:a} {:a} {:a}", machine, dtype,
                                    inputs_word(inputs), found.rows, found.skipped, found.e_max,
                                    found.mean, found.deviation, found.predicted));
        } catch (const std::invalid_argument&) {
          // The machine does not take the dtype.
          continue;
        }
      }
    }
  }
  expect_lines(lines,
               {
                   "ascend910b float16 normal 10 0 0x0p+0 0x0p+0 0x0p+0 0x0p+0",
                   "ascend910b float16 folded 10 0 0x1.9c2d14ee4a102p-11 0x1.3751d17432383p-13 "
                   "0x1.380007c8c77c2p-12 0x1.d003de6349469p-10",
                   "ascend910b float16 shifted 10 0 0x0p+0 0x0p+0 0x0p+0 0x0p+0",
                   "ascend910b bfloat16 normal 10 0 0x0p+0 0x0p+0 0x0p+0 0x0p+0",
                   "ascend910b bfloat16 folded 10 0 0x0p+0 0x0p+0 0x0p+0 0x0p+0",
                   "ascend910b bfloat16 shifted 10 0 0x0p+0 0x0p+0 0x0p+0 0x0p+0",
                   "ascend910b float32 normal 10 0 0x1.d3ac1232bd103p-23 0x1.e3721f1ac4c7ap-28 "
                   "0x1.90240bf87bf41p-24 0x1.145f72cc49fb1p-21",
                   "ascend910b float32 folded 10 0 0x1.4f958a7cc4943p-24 0x1.92433918a6c5ap-31 "
                   "0x1.8a253e7cc1a42p-25 0x1.0d4c1a94bd0b3p-22",
                   "ascend910b float32 shifted 10 0 0x1.214aff020689fp-23 -0x1.d35403408137p-27 "
                   "0x1.0ec835ffa0f2ep-24 0x1.7f8b69acb5bbp-22",
                   "hopper float16 normal 10 0 0x0p+0 0x0p+0 0x0p+0 0x0p+0",
                   "hopper float16 folded 10 0 0x1.9c2d14ee4a102p-11 0x1.3751d17432383p-13 "
                   "0x1.380007c8c77c2p-12 0x1.d003de6349469p-10",
                   "hopper float16 shifted 10 0 0x0p+0 0x0p+0 0x0p+0 0x0p+0",
                   "hopper bfloat16 normal 10 0 0x0p+0 0x0p+0 0x0p+0 0x0p+0",
                   "hopper bfloat16 folded 10 0 0x0p+0 0x0p+0 0x0p+0 0x0p+0",
                   "hopper bfloat16 shifted 10 0 0x0p+0 0x0p+0 0x0p+0 0x0p+0",
                   "hopper float32 normal 10 0 0x1.302d9a523b148p-22 -0x1.e84bdd509919dp-27 "
                   "0x1.44bd05758d34ap-23 0x1.c215ed4bd2c8ep-21",
                   "hopper float32 folded 10 0 0x1.c9820f2a266d3p-22 0x1.85056a7b1f9dp-25 "
                   "0x1.a04b748f746dp-23 "
                   "0x1.27c1f922604dap-20",
                   "hopper float32 shifted 10 0 0x1.6b2866d6a2fe2p-22 0x1.ff25a7e21cf98p-25 "
                   "0x1.2bc401d1970f3p-23 0x1.b8609cf87fa12p-21",
                   "hopper float8_e4m3fn normal 0 10 0x0p+0 0x0p+0 0x0p+0 0x0p+0",
                   "hopper float8_e4m3fn folded 0 10 0x0p+0 0x0p+0 0x0p+0 0x0p+0",
                   "hopper float8_e4m3fn shifted 0 10 0x0p+0 0x0p+0 0x0p+0 0x0p+0",
                   "cdna1 float16 normal 10 0 0x0p+0 0x0p+0 0x0p+0 0x0p+0",
                   "cdna1 float16 folded 10 0 0x1.9c2d14ee4a102p-11 0x1.3751d17432383p-13 "
                   "0x1.380007c8c77c2p-12 0x1.d003de6349469p-10",
                   "cdna1 float16 shifted 10 0 0x0p+0 0x0p+0 0x0p+0 0x0p+0",
                   "cdna1 bfloat16 normal 10 0 0x0p+0 0x0p+0 0x0p+0 0x0p+0",
                   "cdna1 bfloat16 folded 10 0 0x0p+0 0x0p+0 0x0p+0 0x0p+0",
                   "cdna1 bfloat16 shifted 10 0 0x0p+0 0x0p+0 0x0p+0 0x0p+0",
                   "cdna1 float32 normal 10 0 0x1.302d9a523b148p-22 -0x1.e84bdd509919dp-27 "
                   "0x1.44bd05758d34ap-23 0x1.c215ed4bd2c8ep-21",
                   "cdna1 float32 folded 10 0 0x1.c9820f2a266d3p-22 0x1.85056a7b1f9dp-25 "
                   "0x1.a04b748f746dp-23 "
                   "0x1.27c1f922604dap-20",
                   "cdna1 float32 shifted 10 0 0x1.6b2866d6a2fe2p-22 0x1.ff25a7e21cf98p-25 "
                   "0x1.2bc401d1970f3p-23 0x1.b8609cf87fa12p-21",
                   "cpu_fma float16 normal 10 0 0x0p+0 0x0p+0 0x0p+0 0x0p+0",
                   "cpu_fma float16 folded 10 0 0x1.9c2d14ee4a102p-11 0x1.3751d17432383p-13 "
                   "0x1.380007c8c77c2p-12 0x1.d003de6349469p-10",
                   "cpu_fma float16 shifted 10 0 0x0p+0 0x0p+0 0x0p+0 0x0p+0",
                   "cpu_fma bfloat16 normal 10 0 0x0p+0 0x0p+0 0x0p+0 0x0p+0",
                   "cpu_fma bfloat16 folded 10 0 0x0p+0 0x0p+0 0x0p+0 0x0p+0",
                   "cpu_fma bfloat16 shifted 10 0 0x0p+0 0x0p+0 0x0p+0 0x0p+0",
                   "cpu_fma float32 normal 10 0 0x1.302d9a523b148p-22 -0x1.e84bdd509919dp-27 "
                   "0x1.44bd05758d34ap-23 0x1.c215ed4bd2c8ep-21",
                   "cpu_fma float32 folded 10 0 0x1.c9820f2a266d3p-22 0x1.85056a7b1f9dp-25 "
                   "0x1.a04b748f746dp-23 0x1.27c1f922604dap-20",
                   "cpu_fma float32 shifted 10 0 0x1.6b2866d6a2fe2p-22 0x1.ff25a7e21cf98p-25 "
                   "0x1.2bc401d1970f3p-23 0x1.b8609cf87fa12p-21",
                   "volta float16 normal 10 0 0x0p+0 0x0p+0 0x0p+0 0x0p+0",
                   "volta float16 folded 10 0 0x1.9c2d14ee4a102p-11 0x1.3751d17432383p-13 "
                   "0x1.380007c8c77c2p-12 0x1.d003de6349469p-10",
                   "volta float16 shifted 10 0 0x0p+0 0x0p+0 0x0p+0 0x0p+0",
               });
}

}  // namespace
}  // namespace assay::abft
