// Tests how text that comes from a file is made fit for a terminal, a table or a report.
#include "assay/base/printable.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "assay/base/text.h"

namespace assay {
namespace {

using namespace std::string_view_literals;

TEST(PrintableTest, WhatCanBePrintedStays) {
  for (const std::string text : {"", "plain", "a\\nb", "\xc3\xa9", "\xe2\x89\xa4 \xe4\xb8\xad",
                                 "\xf0\x9f\x99\x82", "\xe2\x80\x8d", "\xc2\xa0"}) {
    EXPECT_EQ(printable(text), text);
    EXPECT_EQ(printable_lines(text), text);
    EXPECT_EQ(printable_json(text), text);
  }
}

TEST(PrintableTest, WhatSteersBecomesVisible) {
  EXPECT_EQ(printable("a\x1b[31mb\x07\x7f\0"sv), "a\\x1b[31mb\\x07\\x7f\\x00");
  EXPECT_EQ(printable("a\nb\rc\td"), "a\\nb\\rc\\td");
  EXPECT_EQ(printable("\xc2\x9b"
                      "1m"),
            "\\u009b1m");  // the C1 control CSI
  EXPECT_EQ(printable("\xe2\x80\xae \xe2\x81\xa6 \xe2\x80\x8f \xd8\x9c"),
            "\\u202e \\u2066 \\u200f \\u061c");
  EXPECT_EQ(printable("\xe2\x80\xa8\xe2\x80\xa9"), "\\u2028\\u2029");
  EXPECT_EQ(printable("\xef\xbf\xbe \xf0\x9f\xbf\xbf"), "\\ufffe \\U0001ffff");
}

TEST(PrintableTest, BytesThatAreNotUtf8BecomeVisible) {
  EXPECT_EQ(printable("caf\xe9"), "caf\\xe9");
  EXPECT_EQ(printable("\xff\xfe"), "\\xff\\xfe");
  EXPECT_EQ(printable("\xc3("), "\\xc3(");
  EXPECT_EQ(printable("\xed\xa0\x80"), "\\xed\\xa0\\x80");           // a surrogate
  EXPECT_EQ(printable("\xc0\xaf"), "\\xc0\\xaf");                    // a longer form than necessary
  EXPECT_EQ(printable("\xf4\x90\x80\x80"), "\\xf4\\x90\\x80\\x80");  // beyond Unicode
  EXPECT_EQ(printable("\xe2\x80"), "\\xe2\\x80");                    // ends too early
  EXPECT_EQ(printable("caf\xc3\xa9 \xff"), "caf\xc3\xa9 \\xff");     // UTF-8 stays unchanged
}

TEST(PrintableTest, EveryByteAndEveryShortTextIsPrintableAfterwards) {
  for (int a = 0; a < 256; ++a) {
    for (int b = 0; b < 256; ++b) {
      const std::string text = {static_cast<char>(a), static_cast<char>(b)};
      const std::string shown = printable(text);
      ASSERT_TRUE(is_utf8(shown));
      ASSERT_EQ(printable(shown), shown);
      ASSERT_EQ(shown.find_first_of("\n\r\t\x1b\x07\x7f"), std::string::npos);
    }
  }
}

TEST(PrintableTest, LinesKeepTheirEnds) {
  EXPECT_EQ(printable_lines("a\nb\tc\r\x1b"), "a\nb\tc\\r\\x1b");
}

TEST(PrintableTest, LongTextLosesItsMiddle) {
  EXPECT_EQ(shortened("short", 64), "short");
  const std::string text(10000, 'n');
  const std::string name = printable_name("<" + text + ">");
  EXPECT_EQ(name, "<" + std::string(119, 'n') + "... (9 842 characters more) ..." +
                      std::string(39, 'n') + ">");
  EXPECT_LE(printable_sentence(text).size(), 2000U);
  EXPECT_EQ(printable_name(std::string(200, 'n')), std::string(200, 'n'));
  // A long text is not cut inside of a character.
  std::string wide;
  for (int i = 0; i < 1000; ++i) wide += "\xe4\xb8\xad";
  EXPECT_TRUE(is_utf8(printable_name(wide)));
  // Escapes are made before the text is cut, so that they count like other text.
  EXPECT_LE(printable_name(std::string(1000, '\x1b')).size(), 200U);
}

TEST(PrintableTest, JsonKeepsItsValues) {
  EXPECT_EQ(printable_json("{\"a\": \"\xe2\x80\xae\xc2\x9b\x7f\xc3\xa9\"}"),
            "{\"a\": \"\\u202e\\u009b\\u007f\xc3\xa9\"}");
}

TEST(PrintableTest, CellsOfColumns) {
  EXPECT_EQ(columns_text(std::vector<std::vector<std::string>>{{"a\nb", "c"}, {"d", "\x1b[31m"}}),
            "a\\nb  c\nd     \\x1b[31m\n");
}

TEST(IsUtf8Test, Texts) {
  EXPECT_TRUE(is_utf8("caf\xc3\xa9 \x1b\xe2\x80\xae"));
  EXPECT_FALSE(is_utf8("caf\xe9"));
}

}  // namespace
}  // namespace assay
