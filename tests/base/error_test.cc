#include "assay/base/error.h"

#include <gtest/gtest.h>

namespace assay {
namespace {

TEST(CaseError, HasItsPartsApart) {
  try {
    throw CaseError("matmul/a: b", "K is 3 in a and 4 in b");
  } catch (const std::invalid_argument& error) {
    EXPECT_STREQ(error.what(), "case matmul/a: b: K is 3 in a and 4 in b");
    const auto* of_case = dynamic_cast<const CaseError*>(&error);
    ASSERT_NE(of_case, nullptr);
    EXPECT_EQ(of_case->name(), "matmul/a: b");
    EXPECT_EQ(of_case->reason(), "K is 3 in a and 4 in b");
  }
}

}  // namespace
}  // namespace assay
