#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

#include "assay/base/call_text.h"
#include "error_of.h"

namespace assay {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

const std::vector<std::string> kKeys = {"mean", "deviation", "scale"};

TEST(WordsTest, RefusalsNameTheNearestAndAllThatAreKnown) {
  EXPECT_EQ(unknown_word("metric", "mena", kKeys),
            "unknown metric 'mena': did you mean 'mean'?; known: mean, deviation, scale");
  EXPECT_EQ(unknown_word("metric", "x", kKeys),
            "unknown metric 'x'; known: mean, deviation, scale");
  EXPECT_EQ(unknown_word("metric", "x", {}), "unknown metric 'x'; known: (none)");
  EXPECT_EQ(did_you_mean_aside("scal", kKeys), " (did you mean 'scale'?)");
  EXPECT_EQ(did_you_mean_aside("quaternion", kKeys), "");
}

TEST(SpecTextTest, NameAndSettings) {
  const SpecText spec("distribution", "normal,mean=1,scale=a=b,flag");
  EXPECT_EQ(spec.name(), "normal");
  ASSERT_EQ(spec.settings().size(), 3u);
  EXPECT_EQ(spec.settings()[1].key, "scale");
  EXPECT_EQ(spec.settings()[1].value, "a=b");
  EXPECT_EQ(spec.settings()[2].value, "");
  EXPECT_EQ(spec.find("mean")->value, "1");
  EXPECT_EQ(spec.find("deviation"), nullptr);
  EXPECT_EQ(SpecText("fault", "").name(), "");
  EXPECT_THAT(SpecText("fault", "flip").settings(), IsEmpty());
}

// Tests errors that concern the text as a whole.
TEST(SpecTextTest, KeysAreCheckedOnce) {
  const auto refusal = [](const std::string& text) {
    return error_of([&] { SpecText("distribution", text).check_keys("normal", kKeys); });
  };
  EXPECT_EQ(refusal("normal,mean=1,scale=2"), "no error");
  EXPECT_EQ(refusal("normal,men=1"),
            "distribution 'normal,men=1': normal takes no 'men' (did you mean 'mean'?); it takes "
            "mean, deviation, scale");
  EXPECT_EQ(refusal("normal,mean=1,mean=1"),
            "distribution 'normal,mean=1,mean=1': 'mean' is given twice");
  for (const char* text : {"normal,", "normal,,mean=1", "normal,mean=1,", "normal,=1"}) {
    EXPECT_EQ(refusal(text),
              std::string("distribution '") + text + "': KEY=VALUE is needed after each comma");
  }
}

// Returns "ok", or the reason why `x=VALUE` is refused, without "thing 'n,x=VALUE': " before it.
std::string reading(const std::string& value,
                    const std::function<void(const SpecText&, const SpecText::Setting&)>& read) {
  const SpecText spec("thing", "n,x=" + value);
  const std::string said = error_of([&] { read(spec, spec.settings()[0]); });
  const std::string begin = "thing 'n,x=" + value + "': ";
  if (said == "no error") return "ok";
  return said.starts_with(begin) ? said.substr(begin.size()) : "other: " + said;
}

TEST(SpecTextTest, WholeNumbers) {
  const auto byte = [](const SpecText& t, const SpecText::Setting& s) { t.whole<int>(s, 1, 255); };
  for (const char* good : {"1", "255", "007"}) EXPECT_EQ(reading(good, byte), "ok") << good;
  for (const std::string bad :
       {"", "0", "256", "-1", "+1", " 1", "1 ", "1.0", "0x1", "x", "99999999999999999999"}) {
    EXPECT_EQ(reading(bad, byte), "x must be a whole number from 1 to 255, not '" + bad + "'");
  }
  const auto seed = [](const SpecText& t, const SpecText::Setting& s) {
    t.whole<std::uint64_t>(s, 0);
  };
  EXPECT_EQ(reading("18446744073709551615", seed), "ok");
  EXPECT_EQ(reading("18446744073709551616", seed),
            "x must be a whole number of at least 0, not '18446744073709551616'");
  EXPECT_EQ(reading("-1", [](const SpecText& t,
                             const SpecText::Setting& s) { t.whole(s, 0, 9, "a digit"); }),
            "x must be a digit, not '-1'");
  const SpecText list("thing", "n,at=3:0:17");
  EXPECT_THAT(list.whole_list<int>(list.settings()[0], ':', 0), ElementsAre(3, 0, 17));
  EXPECT_EQ(reading("3:", [](const SpecText& t,
                             const SpecText::Setting& s) { t.whole_list<int>(s, ':', 0); }),
            "x must be a whole number of at least 0, not ''");
}

TEST(SpecTextTest, RealNumbers) {
  const auto read = [](const NumberRange& range) {
    return [range](const SpecText& t, const SpecText::Setting& s) { t.number(s, range); };
  };
  EXPECT_EQ(reading("-1e300", read({})), "ok");
  EXPECT_EQ(reading("nan", read({})), "x must be a number, not 'nan'");
  EXPECT_EQ(reading("inf", read({})), "x must be a number, not 'inf'");
  EXPECT_EQ(reading("1e999", read({})), "x must be a number, not '1e999'");
  EXPECT_EQ(reading("0", read({.low = 0})), "ok");
  EXPECT_EQ(reading("-0.5", read({.low = 0})), "x must be a number of at least 0, not '-0.5'");
  EXPECT_EQ(reading("0", read({.low = 0, .low_is_open = true})),
            "x must be a number above 0, not '0'");
  EXPECT_EQ(reading("1.5", read({.low = 0, .high = 1})),
            "x must be a number from 0 to 1, not '1.5'");
  EXPECT_EQ(reading("0.5", read({.low = 0, .high = 1, .whole = true})),
            "x must be a whole number from 0 to 1, not '0.5'");
}

TEST(SpecTextTest, WordsAndFlags) {
  const auto flag = [](const SpecText& t, const SpecText::Setting& s) { t.flag(s); };
  for (const char* good : {"0", "1", "false", "true"}) EXPECT_EQ(reading(good, flag), "ok");
  EXPECT_EQ(reading("yes", flag), "x must be 0 or 1, not 'yes'");
  const auto key = [](const SpecText& t, const SpecText::Setting& s) { t.choice(s, kKeys); };
  EXPECT_EQ(reading("scale", key), "ok");
  EXPECT_EQ(reading("scal", key),
            "x must be one of mean, deviation, scale, not 'scal' (did you mean 'scale'?)");
}

TEST(SpecTextTest, Arguments) {
  EXPECT_EQ(argument_of("ulp(4)", "ulp"), "4");
  EXPECT_EQ(argument_of("ulp()", "ulp"), "");
  for (const char* other : {"ulp", "ulp(", "ulp(4", "ulps(4)", "ul(4)", "ulp(4) ", ""}) {
    EXPECT_EQ(argument_of(other, "ulp"), std::nullopt) << other;
  }
}

}  // namespace
}  // namespace assay
