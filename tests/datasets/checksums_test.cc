// Tests the table of checksums of a dataset file, in which lines are found by their object.
#include "assay/datasets/store/checksums.h"

#include <gmock/gmock.h>

#include "assay/base/text.h"

namespace assay::h5 {
namespace {

// Returns lines whose names begin alike and go on with characters that sort before and after '/'
// and '@'.
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

std::vector<std::string> names_of(const std::span<const ChecksumTable::Line>& lines) {
  std::vector<std::string> names;
  for (const ChecksumTable::Line& line : lines) names.emplace_back(line.name);
  return names;
}

std::optional<ChecksumTable> parsed(const std::string& text) {
  const auto owner = std::make_shared<const std::string>(text);
  return ChecksumTable::of(owner, *owner);
}

ChecksumTable table_of(const Checksums& sums) { return parsed(sums.text()).value(); }

TEST(Checksums, ErasesAllOfAnObject) {
  Checksums rest = of_two_cases();
  rest.erase_all("/cases/a");
  EXPECT_THAT(names_of(table_of(rest).lines()),
              testing::ElementsAre("/cases/a-b/golden", "/cases/a-b/golden@op", "/cases/a.b/golden",
                                   "/cases/a.b/golden@op", "/cases/a0/golden",
                                   "/cases/a0/golden@op", "/cases/aA", "/cases/aA@op"));
  rest.erase_all("/cases/aA");
  rest.erase_all("/cases/none");
  EXPECT_EQ(table_of(rest).lines().size(), 6U);
  rest.erase_all("/cases");
  EXPECT_EQ(rest.text(), "");
}

TEST(ChecksumTable, FindsWhatIsThere) {
  const ChecksumTable table = table_of(of_two_cases());
  EXPECT_EQ(table.find("/cases/a"), 1U);
  EXPECT_EQ(table.find("/cases/a-b/golden"), 7U);
  EXPECT_EQ(table.find("/cases/a-"), std::nullopt);
  EXPECT_EQ(table.find(""), std::nullopt);
  EXPECT_EQ(table.find("~"), std::nullopt);
  EXPECT_TRUE(table.agrees("/cases/a", 1));
  EXPECT_FALSE(table.agrees("/cases/a", 2));
  EXPECT_TRUE(table.agrees("/cases/b", 2)) << "nothing is said of it";
  EXPECT_THAT(names_of(table.beginning_with("/cases/a/")),
              testing::ElementsAre("/cases/a/golden", "/cases/a/golden@op", "/cases/a/inputs/x",
                                   "/cases/a/inputs/x@op"));
  EXPECT_TRUE(table.beginning_with("/cases/b").empty());
  EXPECT_THAT(table.needed_in("/cases/a"),
              testing::ElementsAre("/cases/a/golden", "/cases/a/inputs/x"));
}

TEST(ChecksumTable, OfNoFile) {
  const ChecksumTable none;
  EXPECT_TRUE(none.lines().empty());
  EXPECT_FALSE(none.has("/cases/a"));
  EXPECT_TRUE(none.beginning_with("").empty());
  EXPECT_TRUE(none.cases().empty());
}

// A search succeeds wherever the last one ended. The table is much longer than the lines near that
// place.
TEST(ChecksumTable, AnswersDependOnNoEarlierQuestion) {
  Checksums sums;
  const std::uint64_t n = 500;
  const auto name_of = [](std::uint64_t i) { return formatted("/cases/{:04}/golden", i); };
  for (std::uint64_t i = 0; i < n; ++i) sums.set(name_of(i), i);
  const ChecksumTable table = table_of(sums);
  for (std::uint64_t i = 0; i < n; ++i) {
    // Searches for names in order, in reverse order, and in steps over the whole table.
    for (const std::uint64_t k : {i, n - 1 - i, i * 263 % n}) {
      EXPECT_EQ(table.find(name_of(k)), k);
      EXPECT_EQ(table.find(name_of(k) + "s"), std::nullopt);
      EXPECT_THAT(names_of(table.beginning_with(formatted("/cases/{:04}", k))),
                  testing::ElementsAre(name_of(k)));
    }
  }
}

TEST(ChecksumTable, IsSharedAsLongAsSomebodyHasIt) {
  Checksums more = of_two_cases();
  more.set("/cases/z/golden", 7);
  std::optional<ChecksumTable> one = table_of(of_two_cases());
  const ChecksumTable other = table_of(more);
  one->share("one");
  other.share("other");
  auto again = ChecksumTable::shared("one");  // is found although another table was shared after it
  ASSERT_TRUE(again);
  EXPECT_EQ(again->lines().data(), one->lines().data());
  EXPECT_EQ(ChecksumTable::shared("other")->find("/cases/z/golden"), 7U);
  EXPECT_FALSE(ChecksumTable::shared("none"));
  one.reset();
  EXPECT_TRUE(ChecksumTable::shared("one"));
  again.reset();
  EXPECT_FALSE(ChecksumTable::shared("one"));
}

// Lines may stand in any order. If two lines have the same name, the last one counts.
TEST(ChecksumTable, ReadsLinesInAnyOrder) {
  const auto read =
      parsed("0000000000000001 b\n0000000000000002 a\n0000000000000003 b\n0000000000000004 b\n");
  ASSERT_TRUE(read);
  EXPECT_THAT(names_of(read->lines()), testing::ElementsAre("a", "b"));
  EXPECT_EQ(read->find("a"), 2U);
  EXPECT_EQ(read->find("b"), 4U);
}

// Objects outside of /cases are not cases, and may have any name.
TEST(ChecksumTable, CasesLieUnderCases) {
  const auto read = parsed(
      "0000000000000001 /@op\n0000000000000002 /cases/a/b@op\n0000000000000003 @op\n"
      "0000000000000004 /cases/a/b@opened\n0000000000000005 /other/c@op\n");
  ASSERT_TRUE(read);
  EXPECT_THAT(read->cases(), testing::ElementsAre("/cases/a/b"));
}

TEST(ChecksumTable, RefusesWhatIsNoTable) {
  for (const char* text : {"no table", "0000000000000001 a", "0000000000000001\n",
                           "0000000000000001 \n", "000000000000000g a\n", "0000000000000001_a\n"}) {
    EXPECT_FALSE(parsed(text)) << text;
  }
}

}  // namespace
}  // namespace assay::h5
