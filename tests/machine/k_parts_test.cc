// Tests by hand how the sums of parts are added.
#include "assay/machine/k_parts.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

namespace assay {
namespace {

TEST(KParts, AreSplitFromTwoOn) {
  EXPECT_FALSE(KParts{}.is_split());
  EXPECT_FALSE(KParts{{70}}.is_split());
  const KParts parts{{17, 34, 70}};
  EXPECT_TRUE(parts.is_split());
  EXPECT_EQ(parts.count(), 3u);
  EXPECT_EQ(parts.begin(0), 0);
  EXPECT_EQ(parts.begin(1), 17);
  EXPECT_EQ(parts.begin(2), 34);
}

// 2049 lies between two numbers of float16, 2048 and 2050, and is a number of float32. 1 + 2^-24
// lies between two numbers of float32.
TEST(KParts, RoundAsTheySay) {
  const Format& half = format_named("float16");
  const KParts plain, both{{}, PartOrder::kAscending, &half, &half};
  const KParts stores{{}, PartOrder::kAscending, &half},
      sums{{}, PartOrder::kAscending, nullptr, &half};
  EXPECT_EQ(add_part_sums(plain, 2048, 1), 2049.0f);
  EXPECT_EQ(add_part_sums(both, 2048, 1), 2048.0f);
  EXPECT_EQ(add_part_sums(both, 2050, 1), 2052.0f);
  EXPECT_EQ(add_part_sums(plain, 1, 0x1p-24f), 1.0f);
  EXPECT_EQ(add_part_sums(plain, 1, 0x1.8p-24f), 1 + 0x1p-23f);
  EXPECT_EQ(stored_part(plain, 2049), 2049.0f);
  EXPECT_EQ(stored_part(both, 2049), 2048.0f);
  EXPECT_EQ(stored_part(both, 2051), 2052.0f);
  // The format in which parts are stored and the format in which they are added are separate
  // settings. Here only one of both is float16.
  EXPECT_EQ(add_part_sums(sums, 2048, 1), 2048.0f);
  EXPECT_EQ(stored_part(stores, 2049), 2048.0f);
  EXPECT_EQ(add_part_sums(stores, 2048, 1), 2049.0f);
  EXPECT_EQ(stored_part(sums, 2049), 2049.0f);
}

TEST(KParts, MeetInTheirOrder) {
  const auto met = [](PartOrder order, std::size_t count) {
    KParts parts;
    parts.order = order;
    for (std::size_t i = 0; i < count; ++i) parts.ends.push_back(static_cast<std::int64_t>(i + 1));
    std::string total = "c";
    add_parts(
        parts, total, [](std::size_t part) { return std::to_string(part); },
        [](std::string& to, const std::string& sum) { to = "(" + to + sum + ")"; });
    return total;
  };
  EXPECT_EQ(met(PartOrder::kAscending, 3), "(((c0)1)2)");
  EXPECT_EQ(met(PartOrder::kDescending, 3), "(((c2)1)0)");
  EXPECT_EQ(met(PartOrder::kPairwise, 1), "(c0)");
  EXPECT_EQ(met(PartOrder::kPairwise, 2), "(c(01))");
  EXPECT_EQ(met(PartOrder::kPairwise, 3), "(c((01)2))");
  EXPECT_EQ(met(PartOrder::kPairwise, 5), "(c(((01)(23))4))");
  EXPECT_EQ(met(PartOrder::kPairwise, 6), "(c(((01)(23))(45)))");
  EXPECT_EQ(met(PartOrder::kPairwise, 7), "(c(((01)(23))((45)6)))");
  for (const PartOrder order :
       {PartOrder::kAscending, PartOrder::kDescending, PartOrder::kPairwise}) {
    EXPECT_EQ(met(order, 0), "c");
  }
}

}  // namespace
}  // namespace assay
