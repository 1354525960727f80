// Detection rates and false alarms of the thresholds, on enough rows to be certain. They are held
// to the published figures (V-ABFT design specification 1.2, section 5, as reproduced
// independently).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <map>
#include <mutex>

#include "abft/products.h"
#include "assay/abft.h"
#include "assay/base/parallel.h"

namespace assay {
namespace {

using testing_products::make_product;
using testing_products::normal;
using testing_products::Product;
using testing_products::uniform;

constexpr std::int64_t kM = 128, kN = 256, kK = 1024;

struct MeasuredRates {
  std::int64_t rows = 0, row_alarms = 0, products = 0, product_alarms = 0;
  struct Flips {
    std::int64_t injected = 0, detected = 0;
    double percent() const {
      return 100.0 * static_cast<double>(detected) / static_cast<double>(injected);
    }
  };
  std::map<int, Flips> flips;  // by bit, 0 to 1

  double row_alarm_percent() const {
    return 100.0 * static_cast<double>(row_alarms) / static_cast<double>(rows);
  }
  double product_alarm_percent() const {
    return 100.0 * static_cast<double>(product_alarms) / static_cast<double>(products);
  }
};

bool any_flagged(const std::vector<abft::Reading>& readings) {
  for (const abft::Reading& r : readings) {
    if (r.flagged()) return true;
  }
  return false;
}

// Reads every clean row. Then flips each bit of `bits` in one random element of each row in which
// this bit is 0.
MeasuredRates measure(const testing_products::Distribution& d, const std::string& spec,
                      int products, const std::vector<int>& bits) {
  MeasuredRates total;
  std::mutex mutex;
  parallel_for(products, 2, [&](std::int64_t index) {
    const Product p = make_product(d, kM, kN, kK, static_cast<std::uint64_t>(index));
    AbftOptions options;
    options.spec = parse_threshold(spec);
    options.threads = 1;
    const AbftChecker checker = AbftChecker::of_product(p.a, p.b, options);
    std::vector<abft::Reading> readings(static_cast<std::size_t>(checker.groups_per_row()));
    Random random(7, static_cast<std::uint64_t>(index));
    MeasuredRates mine;
    mine.products = 1;
    std::vector<std::uint16_t> row(kN);
    for (std::int64_t i = 0; i < kM; ++i) {
      std::memcpy(row.data(), p.c.bytes() + i * kN * 2, kN * 2);
      checker.read_row(i, row.data(), p.c.format(), readings.data());
      ++mine.rows;
      mine.row_alarms += any_flagged(readings) ? 1 : 0;
      for (const int bit : bits) {
        std::vector<std::size_t> able;
        for (std::size_t j = 0; j < row.size(); ++j) {
          if ((row[j] >> bit & 1) == 0) able.push_back(j);
        }
        if (able.empty()) continue;  // not injectable
        const std::size_t j = able[random.below(able.size())];
        const auto mask = static_cast<std::uint16_t>(1u << bit);
        row[j] = static_cast<std::uint16_t>(row[j] ^ mask);
        checker.read_row(i, row.data(), p.c.format(), readings.data());
        row[j] = static_cast<std::uint16_t>(row[j] ^ mask);
        ++mine.flips[bit].injected;
        mine.flips[bit].detected += any_flagged(readings) ? 1 : 0;
      }
    }
    mine.product_alarms = mine.row_alarms > 0 ? 1 : 0;
    const std::lock_guard lock(mutex);
    total.rows += mine.rows;
    total.row_alarms += mine.row_alarms;
    total.products += mine.products;
    total.product_alarms += mine.product_alarms;
    for (const auto& [bit, flips] : mine.flips) {
      total.flips[bit].injected += flips.injected;
      total.flips[bit].detected += flips.detected;
    }
  });
  return total;
}

// Compares the detection rate of each bit with a published or independently reproduced one, in
// percent. 160 products are 20 480 flips of a bit. The standard error is at most 0.35 points, so
// that 1.5 points are more than four of them.
void expect_detection(const MeasuredRates& rates, const std::map<int, double>& published) {
  for (const auto& [bit, percent] : published) {
    SCOPED_TRACE("bit " + std::to_string(bit));
    ASSERT_GE(rates.flips.at(bit).injected, 20000);
    EXPECT_NEAR(rates.flips.at(bit).percent(), percent, 1.5);
  }
}

constexpr int kProducts = 160;

TEST(AbftEvidence, VAbftOnNormalAroundZero) {
  const MeasuredRates rates = measure(normal("normal_1e-6_1", 1e-6, 1), "v_abft,arithmetic=output",
                                      kProducts, {7, 8, 9, 15});
  expect_detection(rates, {{7, 0.01}, {8, 37.9}, {9, 74.0}, {15, 4.45}});
  EXPECT_EQ(rates.row_alarms, 0);
}

TEST(AbftEvidence, VAbftOnNormalAroundOne) {
  const MeasuredRates rates =
      measure(normal("normal_1_1", 1, 1), "v_abft,arithmetic=output", kProducts, {7, 8, 9, 15});
  expect_detection(rates, {{7, 0}, {8, 69.7}, {9, 100}, {15, 5.51}});
  EXPECT_EQ(rates.row_alarms, 0);
}

TEST(AbftEvidence, AAbftOnNormalAroundZero) {
  const MeasuredRates rates =
      measure(normal("normal_1e-6_1", 1e-6, 1), "a_abft", kProducts, {7, 8, 9, 15});
  expect_detection(rates, {{7, 87}, {8, 97}, {9, 99.5}});
  EXPECT_EQ(rates.row_alarms, 0);
}

// Some 1.5 percent of the rows are above the threshold. So in some 84.8 percent of products of 128
// rows at least one row is, which is the published false-alarm rate.
TEST(AbftEvidence, AAbftCriesWolfOnNormalAroundOne) {
  const MeasuredRates rates = measure(normal("normal_1_1", 1, 1), "a_abft", 1200, {});
  ASSERT_GE(rates.rows, 150000);
  EXPECT_GT(rates.row_alarm_percent(), 1.3);
  EXPECT_LT(rates.row_alarm_percent(), 1.6);
  EXPECT_NEAR(rates.product_alarm_percent(), 84.8, 3.0);
}

// Tests that the default (groups of 16, confirmed) raises no false alarm in 100 096 rows of each
// distribution.
class RoundingVariance : public testing::TestWithParam<testing_products::Distribution> {};

TEST_P(RoundingVariance, HasNoFalseAlarmInAHundredThousandRows) {
  constexpr int kRuns = 782;
  std::mutex mutex;
  std::int64_t rows = 0, checks = 0, flagged = 0, confirmed = 0;
  double z_square = 0;
  parallel_for(kRuns, 2, [&](std::int64_t index) {
    const Product p = make_product(GetParam(), kM, kN, kK, static_cast<std::uint64_t>(index));
    AbftOptions options;
    options.threads = 1;
    const AbftVerdict v = AbftChecker::of_product(p.a, p.b, options).check(p.c);
    const std::lock_guard lock(mutex);
    rows += kM;
    checks += v.checks;
    flagged += v.flagged;
    confirmed += v.confirmed_clean;
    z_square += v.rms_z * v.rms_z * static_cast<double>(v.checks);
  });
  EXPECT_GE(rows, 100000);
  EXPECT_EQ(checks, rows * kN / 16);
  EXPECT_EQ(flagged, 0);
  RecordProperty("confirmed_clean", std::to_string(confirmed));
  RecordProperty("rms_z", std::to_string(std::sqrt(z_square / static_cast<double>(checks))));
  std::printf("%s: %lld rows, %lld checks confirmed clean, rms z %.4f\n", GetParam().name.c_str(),
              static_cast<long long>(rows), static_cast<long long>(confirmed),
              std::sqrt(z_square / static_cast<double>(checks)));
}

testing_products::Distribution identical_columns() {
  testing_products::Distribution d = normal("identical_columns", 0, 1);
  d.identical_columns = true;
  return d;
}

INSTANTIATE_TEST_SUITE_P(Rows, RoundingVariance,
                         testing::Values(normal("normal_around_zero", 1e-6, 1),
                                         normal("normal_around_one", 1, 1),
                                         uniform("uniform_around_one", 0.9, 1.1),
                                         identical_columns()),
                         [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace assay
