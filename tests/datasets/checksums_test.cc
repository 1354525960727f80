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

}  // namespace
}  // namespace assay::h5
