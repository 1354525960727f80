// Tests the date that results carry, by the clock and by SOURCE_DATE_EPOCH.
#include "assay/base/clock.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <ctime>
#include <optional>
#include <regex>
#include <string>

#include "error_of.h"

namespace assay {
namespace {

class ClockTest : public testing::Test {
 protected:
  ClockTest() {
    if (const char* text = std::getenv("SOURCE_DATE_EPOCH")) before_ = text;
  }
  ~ClockTest() override {
    unsetenv("SOURCE_DATE_EPOCH");
    if (before_) setenv("SOURCE_DATE_EPOCH", before_->c_str(), 1);
  }
  static std::string at(const char* seconds) {
    setenv("SOURCE_DATE_EPOCH", seconds, 1);
    return utc_now();
  }
  std::optional<std::string> before_;
};

TEST_F(ClockTest, SecondsOfTheEnvironment) {
  EXPECT_EQ(at("0"), "1970-01-01 00:00:00");
  EXPECT_EQ(at("86399"), "1970-01-01 23:59:59");
  EXPECT_EQ(at("951782400"), "2000-02-29 00:00:00");
  EXPECT_EQ(at("1795359845"), "2026-11-22 15:04:05");
  EXPECT_EQ(at("4102444799"), "2099-12-31 23:59:59") << "beyond 32 bits";
}

TEST_F(ClockTest, WhatIsNoNumberOfSeconds) {
  for (const char* text : {"", "-1", "now", "1.5", "1 ", "0x10", "99999999999999999999"}) {
    EXPECT_EQ(error_of([&] { (void)at(text); }),
              std::string("SOURCE_DATE_EPOCH is '") + text + "', not a number of seconds");
  }
}

TEST_F(ClockTest, TheClock) {
  unsetenv("SOURCE_DATE_EPOCH");
  const std::time_t before = std::time(nullptr);
  const std::string now = utc_now();
  const std::time_t after = std::time(nullptr);
  EXPECT_TRUE(std::regex_match(now, std::regex(R"(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d)"))) << now;
  const std::string first = at(std::to_string(before).c_str()),
                    last = at(std::to_string(after).c_str());
  EXPECT_LE(first, now);
  EXPECT_LE(now, last);
}

}  // namespace
}  // namespace assay
