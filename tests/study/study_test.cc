// Tests the table of studies, and what their data have in common.
#include "assay/study/study.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <set>
#include <stdexcept>
#include <string>

#include "assay/study/fp8.h"

namespace assay::study {
namespace {

TEST(StudyTest, RowsHaveNames) {
  std::set<std::string> names;
  for (const Study& s : studies()) {
    EXPECT_TRUE(names.emplace(s.name).second);
    EXPECT_EQ(&study_named(s.name), &s);
    EXPECT_FALSE(s.summary.empty());
  }
  EXPECT_EQ(names, (std::set<std::string>{"fma", "reduction", "fp8", "accumulation_order"}));
  try {
    study_named("reductions");
    FAIL();
  } catch (const std::invalid_argument& error) {
    EXPECT_STREQ(error.what(),
                 "unknown study 'reductions': did you mean 'reduction'?; known: fma, reduction, "
                 "fp8, accumulation_order");
  }
}

TEST(StudyTest, TablesAreRectangles) {
  StudyTable t{"t", "", {"a", "b"}, {}};
  t.add({std::string("x"), 1.0});
  EXPECT_THROW(t.add({1.0}), std::logic_error);
  EXPECT_EQ(t.rows.size(), 1u);
}

TEST(StudyTest, Histograms) {
  const double values[] = {
      -5, 0, 0.5, 0.99, 1, 3.99, 4, 100, std::numeric_limits<double>::quiet_NaN()};
  const StudySeries s = histogram("h", values, 0, 4, 4);
  EXPECT_EQ(s.x, (std::vector<double>{0.5, 1.5, 2.5, 3.5}));
  EXPECT_EQ(s.y, (std::vector<double>{4, 1, 0, 3}));
}

// The numbers depend on the seed, and not on the number of threads.
TEST(StudyTest, ThreadsDoNotMatter) {
  StudyOptions one{.seed = 5, .repeats = 4, .threads = 1}, three = one;
  three.threads = 3;
  EXPECT_EQ(study_fp8(one).table("rounded_products").rows,
            study_fp8(three).table("rounded_products").rows);
  one.seed = 6;
  EXPECT_NE(study_fp8(one).table("rounded_products").rows,
            study_fp8(three).table("rounded_products").rows);
  EXPECT_THROW((void)study_fp8(one).table("none"), std::invalid_argument);
}

}  // namespace
}  // namespace assay::study
