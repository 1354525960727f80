#include "assay/base/text.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <stdexcept>
#include <string>
#include <vector>

#include "assay/base/constants.h"

namespace assay {
namespace {

TEST(GroupedTest, GroupsOfThree) {
  EXPECT_EQ(grouped(0), "0");
  EXPECT_EQ(grouped(12), "12");
  EXPECT_EQ(grouped(999), "999");
  EXPECT_EQ(grouped(1032), "1 032");
  EXPECT_EQ(grouped(123456), "123 456");
  EXPECT_EQ(grouped(1234567), "1 234 567");
  EXPECT_EQ(grouped(-999), "-999");
  EXPECT_EQ(grouped(-1000), "-1 000");
  EXPECT_EQ(grouped(-123456), "-123 456");
  EXPECT_EQ(grouped(std::numeric_limits<std::int64_t>::min()), "-9 223 372 036 854 775 808");
}

TEST(GroupedTest, ThingsAreCounted) {
  EXPECT_EQ(counted(0, "case"), "0 cases");
  EXPECT_EQ(counted(1, "case"), "1 case");
  EXPECT_EQ(counted(1032, "case"), "1 032 cases");
}

TEST(ShapeTextTest, Brackets) {
  EXPECT_EQ(shape_text({}), "[]");
  EXPECT_EQ(shape_text(std::vector<std::int64_t>{3}), "[3]");
  EXPECT_EQ(shape_text(std::vector<std::int64_t>{64, 512}), "[64, 512]");
}

TEST(NumberTextTest, ShortestThatReadsBack) {
  EXPECT_EQ(number_text(0.1), "0.1");
  EXPECT_EQ(number_text(1), "1");
  EXPECT_EQ(number_text(-0.0), "-0");
  EXPECT_EQ(number_text(1.0 / 3), "0.3333333333333333");
  EXPECT_EQ(number_text(5e-324), "5e-324");
  for (const double v : {1e22, 123456789.125, 0x1.fffffffffffffp1023, -0x1p-1022, 2.0 / 3}) {
    EXPECT_EQ(std::stod(number_text(v)), v);
  }
}

TEST(NumberTextTest, Specials) {
  EXPECT_EQ(number_text(kInfinity), "inf");
  EXPECT_EQ(number_text(-kInfinity), "-inf");
  EXPECT_EQ(number_text(kNan), "nan");
  EXPECT_EQ(number_text(-kNan), "nan");
}

TEST(ShortNumberTest, SignificantDigits) {
  EXPECT_EQ(short_number(1234.5), "1.23e+03");
  EXPECT_EQ(short_number(0.0012345), "0.00123");
  EXPECT_EQ(short_number(1234.5, 6), "1234.5");
  EXPECT_EQ(short_number(2), "2");
  EXPECT_EQ(short_number(kInfinity), "inf");
  EXPECT_EQ(short_number(kNan), "nan");
  EXPECT_EQ(short_number(-kNan), "nan");
}

TEST(JoinedTest, SeparatorsAndNothing) {
  const std::vector<std::string> three = {"a", "b", "c"};
  EXPECT_EQ(joined(three), "a, b, c");
  EXPECT_EQ(joined(three, "/"), "a/b/c");
  EXPECT_EQ(joined(std::vector<std::string>{"a"}), "a");
  EXPECT_EQ(joined({}), "(none)");
}

TEST(NearestWordTest, FindsTypingSlips) {
  const std::vector<std::string> words = {"float16", "float32", "bfloat16", "int8"};
  EXPECT_EQ(nearest_word("float61", words), "float16");
  EXPECT_EQ(nearest_word("flot32", words), "float32");
  EXPECT_EQ(nearest_word("bfloat61", std::vector<std::string>{"float64", "bfloat16"}), "bfloat16");
  EXPECT_EQ(nearest_word("bfloat16", words), "bfloat16");
  EXPECT_EQ(nearest_word("int", words), "int8");
  EXPECT_EQ(nearest_word("quaternion", words), "");
  EXPECT_EQ(nearest_word("float16", {}), "");
}

TEST(SplitTest, DropsEmptyParts) {
  using Parts = std::vector<std::string>;
  EXPECT_EQ(split("a,b,c", ','), (Parts{"a", "b", "c"}));
  EXPECT_EQ(split(",a,,b,", ','), (Parts{"a", "b"}));
  EXPECT_EQ(split("", ','), Parts{});
  EXPECT_EQ(split(",,", ','), Parts{});
  EXPECT_EQ(split("one", ','), Parts{"one"});
}

TEST(GlobMatchTest, StarsAndQuestionMarks) {
  EXPECT_TRUE(glob_match("*", ""));
  EXPECT_TRUE(glob_match("*", "a/b/c"));
  EXPECT_TRUE(glob_match("a*c", "abbbc"));
  EXPECT_TRUE(glob_match("a*c", "ac"));
  EXPECT_TRUE(glob_match("a/*/c", "a/x/y/c"));
  EXPECT_TRUE(glob_match("??", "ab"));
  EXPECT_TRUE(glob_match("*a*b*", "xxaxxbxx"));
  // The match must go back, because it first takes the wrong "a" of the text.
  EXPECT_TRUE(glob_match("*aab", "aaab"));
  EXPECT_TRUE(glob_match("", ""));
  EXPECT_TRUE(glob_match("a**", "a"));
  EXPECT_FALSE(glob_match("", "a"));
  EXPECT_FALSE(glob_match("a", "A"));
  EXPECT_FALSE(glob_match("?", ""));
  EXPECT_FALSE(glob_match("a*c", "abcd"));
  EXPECT_FALSE(glob_match("abc", "ab"));
  EXPECT_TRUE(glob_match("layer[12]", "layer2"));
  EXPECT_FALSE(glob_match("layer[12]", "layer3"));
  EXPECT_FALSE(glob_match("layer[12]", "layer12"));
  EXPECT_TRUE(glob_match("[a-c]*", "bx"));
  EXPECT_FALSE(glob_match("[!a]", "a"));
  EXPECT_TRUE(glob_match("[!a]", "b"));
  EXPECT_TRUE(glob_match("a[", "a["));
  // In a glob, a backslash stands for itself.
  EXPECT_TRUE(glob_match("a\\*", "a\\bc"));
  EXPECT_FALSE(glob_match("a\\*", "a*"));
  EXPECT_TRUE(glob_match("*", ".hidden/.name"));
}

TEST(GlobMatchTest, ExactGlobsMatchTheirTextAlone) {
  for (const char* text : {"a", "a*b", "what?", "[1]", "a[", "]", "a\\*", "[!x]", ""}) {
    EXPECT_TRUE(glob_match(exact_glob(text), text)) << text;
    for (const char* other : {"a", "ab", "axb", "whatx", "1", "x", "a\\b", "y"}) {
      EXPECT_EQ(glob_match(exact_glob(text), other), std::string(text) == other) << text;
    }
  }
}

TEST(NaturalOrder, NumbersCompareAsNumbers) {
  const std::vector<std::string> sorted = {
      "",    "a",  "a1",     "a01",    "a2",      "a10",   "a10b",   "a10c",
      "a11", "ab", "b/2/x1", "b/2/x9", "b/10/x1", "layer", "layer7", "layer107"};
  std::vector<std::string> shuffled(sorted.rbegin(), sorted.rend());
  std::sort(shuffled.begin(), shuffled.end(), natural_less);
  // "01" and "1" are the same number, so the text decides.
  std::vector<std::string> expected = sorted;
  std::swap(expected[2], expected[3]);
  EXPECT_EQ(shuffled, expected);
  for (const std::string& a : sorted) {
    EXPECT_FALSE(natural_less(a, a));
    for (const std::string& b : sorted) {
      EXPECT_EQ(natural_less(a, b) || natural_less(b, a), a != b) << a << " " << b;
    }
  }
  const std::string digits(400, '9');
  EXPECT_TRUE(natural_less("x" + digits, "x1" + digits));
}

TEST(GlobMatchTest, ManyStarsEndSoon) {
  std::string pattern, text(3000, 'a');
  for (int i = 0; i < 200; ++i) pattern += "*a";
  EXPECT_FALSE(glob_match(pattern + "b", text));
  EXPECT_TRUE(glob_match(pattern, text));
}

// Returns the word as a POSIX shell reads it.
std::string through_shell(const std::string& word) {
  std::FILE* shell = popen(("printf %s " + shell_word(word)).c_str(), "r");
  std::string out;
  std::array<char, 256> buffer{};
  for (std::size_t n; (n = std::fread(buffer.data(), 1, buffer.size(), shell)) > 0;) {
    out.append(buffer.data(), n);
  }
  pclose(shell);
  return out;
}

TEST(ShellWordTest, PlainWordsStayPlain) {
  EXPECT_EQ(shell_word("matmul/fp16_K=64.h5"), "matmul/fp16_K=64.h5");
  EXPECT_EQ(shell_word("--filter=a,b"), "--filter=a,b");
  EXPECT_EQ(shell_word("a b"), "'a b'");
  EXPECT_EQ(shell_word("it's"), "'it'\\''s'");
  EXPECT_EQ(shell_word(""), "''");
}

TEST(ShellWordsTest, SplitAsAShellDoes) {
  using Strings = std::vector<std::string>;
  EXPECT_EQ(shell_words(""), Strings{});
  EXPECT_EQ(shell_words("  a\tb  c\r"), (Strings{"a", "b", "c"}));
  EXPECT_EQ(shell_words("'a b' \"c 'd'\" e\\ f ''"), (Strings{"a b", "c 'd'", "e f", ""}));
  EXPECT_EQ(shell_words("x='a'\"b\"c y"), (Strings{"x=abc", "y"}));
  EXPECT_EQ(shell_words("\"a\\\"b\\n\""), (Strings{"a\"b\\n"}));
  EXPECT_EQ(shell_words("a #b c"), Strings{"a"});
  EXPECT_EQ(shell_words("a#b '#c'"), (Strings{"a#b", "#c"}));
  EXPECT_EQ(shell_words("# all"), Strings{});
  for (const std::string line : {"a 'b", "a \"b"}) {
    EXPECT_THROW(shell_words(line), std::invalid_argument) << line;
  }
  try {
    shell_words("it's");
  } catch (const std::invalid_argument& e) {
    EXPECT_STREQ(e.what(), "a quote ' is not closed");
  }
  EXPECT_THROW(shell_words("a\\"), std::invalid_argument);
}

TEST(ShellWordsTest, ReadBackWhatShellWordQuotes) {
  for (const std::string word : {"plain", "a b", "it's", "''", "$HOME", "a\\b", "#x", "\"q\"", "",
                                 "a\nb\x1b[31m'\\", "\xe2\x80\xae", "\xff\x30", "\t"}) {
    EXPECT_EQ(shell_words("x " + shell_word(word) + " y"),
              (std::vector<std::string>{"x", word, "y"}));
  }
}

TEST(ShellWordTest, TheShellReadsTheWordBack) {
  for (const std::string word : {"plain", "a b", "it's", "''", "$HOME", "`id`", "a\\b", "*", "~",
                                 "#x", "a;b|c&d", "\"q\"", "!x", "(y)", "<z>", "[k]", "\xc3\xa9"}) {
    EXPECT_EQ(through_shell(word), word);
  }
}

// A word with control characters is written with escapes, so that it can be printed and pasted.
// bash, zsh and POSIX since 2024 read these escapes.
TEST(ShellWordTest, WhatCannotBePrintedIsEscaped) {
  EXPECT_EQ(shell_word("a\nb"), "$'a\\012b'");
  EXPECT_EQ(shell_word("\x1b[31m it's \\"), "$'\\033[31m it\\'s \\\\'");
  EXPECT_EQ(shell_word("\xe2\x80\xae\xc3\xa9"), "$'\\342\\200\\256\xc3\xa9'");
  EXPECT_THROW(shell_words("$'a\\q'"), std::invalid_argument);
  EXPECT_THROW(shell_words("$'a"), std::invalid_argument);
}

TEST(CsvCellTest, QuotesWhatItMust) {
  EXPECT_EQ(csv_cell("=1+1"), "=1+1");
  EXPECT_EQ(csv_cell("a,\"b\"\n"), "\"a,\"\"b\"\"\n\"");
}

TEST(TextTest, ColumnsAreAsWideAsTheirWidestCell) {
  EXPECT_EQ(columns_text(std::vector<std::vector<std::string>>{
                {"a", "bb", "c"}, {"long", "", ""}, {"x"}, {}}),
            "a     bb  c\nlong\nx\n\n");
}

}  // namespace
}  // namespace assay
