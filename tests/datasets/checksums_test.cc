// The table of checksums of a dataset file, whose lines are found by their object.
#include "assay/datasets/checksums.h"

#include <gmock/gmock.h>

namespace assay::h5 {
namespace {

// Names that begin alike, and marks on both sides of '/' and '@' in the order of characters.
Checksums of_two_cases() {
  Checksums sums;
  std::uint64_t sum = 0;
  for (const char* object :
       {"/cases/a", "/cases/a/golden", "/cases/a/inputs/x", "/cases/a.b/golden", "/cases/a0/golden",
        "/cases/aA", "/cases/a-b/golden"}) {
    sums.set(object, ++sum);
    sums.set(object, "op", std::string("external"));
  }
  return sums;
}

TEST(Checksums, AllOfAnObjectAreItsOwnItsAttributesAndWhatLiesInIt) {
  std::vector<std::string> names;
  const Checksums all = of_two_cases(), some = all.all_of("/cases/a");
  for (const auto& [name, sum] : some.lines()) {
    names.push_back(name);
    EXPECT_TRUE(all.agrees(name, sum)) << name;
  }
  EXPECT_THAT(names, testing::UnorderedElementsAre("/cases/a", "/cases/a@op", "/cases/a/golden",
                                                   "/cases/a/golden@op", "/cases/a/inputs/x",
                                                   "/cases/a/inputs/x@op"));
  EXPECT_TRUE(all.all_of("/cases").lines().size() == all.lines().size());
  EXPECT_TRUE(all.all_of("/cases/b").lines().empty());
}

TEST(Checksums, ErasesTheSame) {
  Checksums rest = of_two_cases();
  rest.erase_all("/cases/a");
  for (const auto& [name, sum] : rest.lines()) {
    EXPECT_FALSE(name == "/cases/a" || name.starts_with("/cases/a/") ||
                 name.starts_with("/cases/a@"))
        << name;
  }
  EXPECT_EQ(rest.lines().size() + 6, of_two_cases().lines().size());
  rest.erase_all("/cases/aA");
  rest.erase_all("/cases/none");
  EXPECT_EQ(rest.lines().size() + 8, of_two_cases().lines().size());
}

TEST(Checksums, OneTableForAllWhoReadTheSameText) {
  const std::string text = of_two_cases().text();
  const auto first = shared_table(text), second = shared_table(text);
  ASSERT_NE(first, nullptr);
  EXPECT_EQ(first, second);
  EXPECT_EQ(first->text(), text);
  Checksums more = of_two_cases();
  more.set("/cases/z/golden", 7);
  const auto other = shared_table(more.text());
  ASSERT_NE(other, nullptr);
  EXPECT_NE(other, first);
  EXPECT_EQ(other->text(), more.text());
  EXPECT_EQ(shared_table("no table"), nullptr);
  EXPECT_EQ(first->text(), text);
}

// Lines may stand in any order; of two of one name the last counts.
TEST(Checksums, ReadsLinesInAnyOrder) {
  Checksums read;
  ASSERT_TRUE(read.read("0000000000000001 b\n0000000000000002 a\n0000000000000003 b\n"));
  EXPECT_EQ(read.text(), "0000000000000002 a\n0000000000000003 b\n");
}

}  // namespace
}  // namespace assay::h5
