// Tests the JSON that describes arrays: in the header of safetensors, and in files beside raw
// bytes.
#include "assay/wire/array_header.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "document.h"
#include "error_of.h"

namespace assay::wire {
namespace {

TEST(SafetensorsHeader, GivesItsArraysByTheOrderOfTheirBytes) {
  const auto arrays = read_safetensors_header(R"({"__metadata__": {"format": "pt"},
      "z": {"dtype": "BF16", "shape": [2, 3], "data_offsets": [0, 12]},
      "empty": {"dtype": "F32", "shape": [0], "data_offsets": [12, 12]},
      "b": {"dtype": "I64", "shape": [], "data_offsets": [20, 28]},
      "a": {"dtype": "F64", "shape": [1], "data_offsets": [12, 20], "more": 1}})");
  ASSERT_EQ(arrays.size(), 4u);
  EXPECT_EQ(arrays[0].name, "z");
  EXPECT_EQ(arrays[0].dtype, "BF16");
  EXPECT_EQ(arrays[0].shape, (Shape{2, 3}));
  EXPECT_EQ(arrays[0].begin, 0);
  EXPECT_EQ(arrays[0].end, 12);
  EXPECT_EQ(arrays[1].name, "empty") << "it ends where another begins";
  EXPECT_EQ(arrays[2].name, "a");
  EXPECT_EQ(arrays[3].name, "b");
  EXPECT_EQ(arrays[3].shape, Shape{});
  EXPECT_TRUE(read_safetensors_header("{}").empty());
}

TEST(SafetensorsHeader, GivesWhatWasWritten) {
  std::vector<ArrayHeader> given(2);
  given[0] = {.name = "x/y", .dtype = "F16", .shape = Shape{4, 0, 7}, .begin = 0, .end = 0};
  given[1] = {.name = "\xc3\xa9\"", .dtype = "F64", .shape = Shape{}, .begin = 0, .end = 8};
  const std::string text = safetensors_header(given);
  EXPECT_EQ(parsed(text), parsed(R"({"x/y": {"dtype": "F16", "shape": [4, 0, 7],
      "data_offsets": [0, 0]}, "é\"": {"dtype": "F64", "shape": [], "data_offsets": [0, 8]}})"));
  const auto read = read_safetensors_header(text);
  ASSERT_EQ(read.size(), 2u);
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(read[i].name, given[i].name);
    EXPECT_EQ(read[i].dtype, given[i].dtype);
    EXPECT_EQ(read[i].shape, given[i].shape);
    EXPECT_EQ(read[i].begin, given[i].begin);
    EXPECT_EQ(read[i].end, given[i].end);
  }
  EXPECT_EQ(safetensors_header({}), "{}");
}

std::string header_error(const std::string& text) {
  return error_of([&] { (void)read_safetensors_header(text); });
}

TEST(SafetensorsHeader, WrongHeaders) {
  EXPECT_THAT(header_error("{"), testing::StartsWith("its header is no JSON: "));
  EXPECT_THAT(header_error(""), testing::StartsWith("its header is no JSON: "));
  EXPECT_THAT(header_error("{\"a\": \"\xff\"}"), testing::StartsWith("its header is no JSON: "));
  EXPECT_EQ(header_error("[]"), "its JSON is no object {...}");
  EXPECT_EQ(header_error("3"), "its JSON is no object {...}");
  // U+0000 would end the message that names it.
  EXPECT_EQ(header_error(R"({"\u0000a": {}})"), R"(the text "\u0000a" of its JSON holds U+0000)");
  EXPECT_EQ(header_error(R"({"a": {"dtype": "F32\u0000", "shape": [], "data_offsets": [0, 4]}})"),
            R"(the text "F32\u0000" of its JSON holds U+0000)");
  EXPECT_EQ(header_error(R"({"__metadata__": {"note": "\u0000"}})"), "no error");
  EXPECT_EQ(header_error(R"({"a": {}, "a": {}})"), "a: stands twice in its JSON");
  EXPECT_EQ(header_error(R"({"a": {"dtype": "F32", "dtype": "F16"}})"),
            "dtype: stands twice in its JSON");
  EXPECT_EQ(header_error(R"({"a": 3})"), "a: an object {...} is expected");
}

TEST(SafetensorsHeader, IsNotNestedWithoutEnd) {
  const auto nested = [](std::size_t depth) {
    return R"({"__metadata__": )" + std::string(depth, '[') + "1" + std::string(depth, ']') + "}";
  };
  EXPECT_EQ(header_error(nested(15)), "no error");
  EXPECT_EQ(header_error(nested(17)), "its JSON is nested too deeply");
  EXPECT_EQ(header_error(std::string(1 << 20, '[')), "its JSON is nested too deeply");
}

TEST(SafetensorsHeader, WrongArrays) {
  const auto error = [](const std::string& dtype, const std::string& shape,
                        const std::string& offsets) {
    return header_error(R"({"a": {"dtype": )" + dtype + R"(, "shape": )" + shape +
                        R"(, "data_offsets": )" + offsets + "}}");
  };
  EXPECT_EQ(error("\"F32\"", "[1]", "[0, 4]"), "no error");
  EXPECT_EQ(header_error(R"({"a": {"shape": [], "data_offsets": [0, 4]}})"),
            "a: 'dtype' must be a string");
  EXPECT_EQ(error("32", "[1]", "[0, 4]"), "a: 'dtype' must be a string");
  for (const char* shape : {"1", "{}", "[-1]", "[1.0]", "[\"1\"]", "[9223372036854775808]",
                            "[18446744073709551615]", "[1e300]"}) {
    EXPECT_EQ(error("\"F32\"", shape, "[0, 4]"),
              "a: 'shape' must be a list of whole numbers of at least 0")
        << shape;
  }
  EXPECT_EQ(header_error(R"({"a": {"dtype": "F32", "shape": []}})"),
            "a: 'data_offsets' must be a list of whole numbers of at least 0");
  EXPECT_EQ(error("\"F32\"", "[1]", "[0, -4]"),
            "a: 'data_offsets' must be a list of whole numbers of at least 0");
  for (const char* offsets : {"[]", "[0]", "[0, 4, 8]", "[4, 0]"}) {
    EXPECT_EQ(error("\"F32\"", "[1]", offsets),
              "a: 'data_offsets' must be where its bytes begin and end")
        << offsets;
  }
}

TEST(RawHeader, EitherMayBeMissing) {
  const ArrayHeader both = read_raw_header(R"({"dtype": "bfloat16", "shape": [2, 3]})");
  EXPECT_EQ(both.dtype, "bfloat16");
  EXPECT_EQ(both.shape, (Shape{2, 3}));
  const ArrayHeader neither = read_raw_header("{}");
  EXPECT_EQ(neither.dtype, "");
  EXPECT_EQ(neither.shape, std::nullopt);
  EXPECT_EQ(read_raw_header(R"({"shape": []})").shape, Shape{});
}

TEST(RawHeader, GivesWhatWasWritten) {
  const std::string text = raw_header("float8_e4m3fn", {5, 0});
  EXPECT_EQ(parsed(text), parsed(R"({"dtype": "float8_e4m3fn", "shape": [5, 0]})"));
  EXPECT_EQ(text.back(), '\n');
  EXPECT_EQ(read_raw_header(text).dtype, "float8_e4m3fn");
  EXPECT_EQ(read_raw_header(text).shape, (Shape{5, 0}));
}

TEST(RawHeader, WrongOnes) {
  const auto error = [](const std::string& text) {
    return error_of([&] { (void)read_raw_header(text); });
  };
  EXPECT_EQ(error(R"({"dtype": "float32", "order": "C"})"),
            "unknown key 'order'; known: dtype, shape");
  EXPECT_EQ(error(R"({"dtype": 1})"), "the file: 'dtype' must be a string");
  EXPECT_EQ(error(R"({"shape": [1, -1]})"),
            "the file: 'shape' must be a list of whole numbers of at least 0");
  EXPECT_EQ(error("[]"), "its JSON is no object {...}");
  EXPECT_THAT(error("bytes"), testing::StartsWith("its header is no JSON: "));
}

}  // namespace
}  // namespace assay::wire
