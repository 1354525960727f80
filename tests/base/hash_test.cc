#include "assay/base/hash.h"

#include <gtest/gtest.h>

#include <string>

#include "assay/base/random.h"

namespace assay {
namespace {

// RFC 9923 has these vectors.
TEST(Hash, PublishedVectors) {
  EXPECT_EQ(fnv1a(""), 0xcbf29ce484222325u);
  EXPECT_EQ(fnv1a("a"), 0xaf63dc4c8601ec8cu);
  EXPECT_EQ(fnv1a("foobar"), 0x85944171f73967e8u);
  EXPECT_EQ(fnv1a("\xff"), 0xaf64724c8602eb6eu) << "a byte is not negative";
}

TEST(Hash, InParts) {
  const std::string text = "campaign, fault 3";
  for (std::size_t cut = 0; cut <= text.size(); ++cut) {
    EXPECT_EQ(fnv1a(text.substr(cut), fnv1a(text.substr(0, cut))), fnv1a(text));
  }
  EXPECT_EQ(stream_of(text), fnv1a(text));
}

}  // namespace
}  // namespace assay
