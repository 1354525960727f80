// Tests the parts that read layouts: patterns of names, Python's literals, tables, TTK's names, and
// the names of cases.
#include <assay/datasets/arrays/python_literal.h>
#include <assay/datasets/layouts/array_cases.h>
#include <assay/datasets/layouts/csv.h>
#include <assay/datasets/layouts/pairs.h>
#include <assay/datasets/layouts/ttk_folder.h>
#include <assay/datasets/layouts/ttk_operators.h>
#include <assay/datasets/layouts/unpacked_folder.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "error_of.h"
#include "files.h"

namespace assay {
namespace {

using testing::HasSubstr;
using Stands = NamePattern::Stands;

TEST(NamePattern, SaysWhatWildcardsStandFor) {
  EXPECT_EQ(NamePattern("out/*_output_{i}.bin").match("out/add_01_output_3.bin"),
            (Stands{{"*1", "add_01"}, {"i", "3"}}));
  EXPECT_EQ(NamePattern("out/*.bin").match("out/a/b.bin"), std::nullopt);
  EXPECT_EQ(NamePattern("out/**.bin").match("out/a/b.bin"), (Stands{{"*1", "a/b"}}));
  EXPECT_EQ(NamePattern("{i}_{i}").match("7_7"), (Stands{{"i", "7"}}));
  EXPECT_EQ(NamePattern("{i}_{i}").match("7_8"), std::nullopt);
  EXPECT_EQ(NamePattern("?.npy").match("ab.npy"), std::nullopt);
  EXPECT_EQ(NamePattern("a_{i}.npy").match("a_.npy"), std::nullopt);
  EXPECT_EQ(NamePattern("/x/y_{i}.npy").root(), "/x");
  EXPECT_EQ(NamePattern("y_{i}.npy").root(), ".");
}

TEST(NamePattern, RefusesBracesThatHoldNoName) {
  EXPECT_THAT(error_of([] { NamePattern("a_{.npy"); }), HasSubstr("at character 2"));
  EXPECT_THAT(error_of([] { NamePattern("a_{b c}"); }), HasSubstr("is a word in braces"));
}

// A pattern that could match a name in too many ways to try all is refused in a short time.
TEST(NamePattern, EndsOnHostileNames) {
  const NamePattern pattern("*a*a*a*a*a*a*a*a*a*a*a*ab");
  EXPECT_THAT(error_of([&] { (void)pattern.match(std::string(200, 'a')); }),
              HasSubstr("has too many '*' to be matched"));
}

TEST(PythonLiteral, ComesBackAsItWas) {
  for (const char* text :
       {"None", "True", "False", "-3", "1e-08", "0.5", "'a b'", "()", "(1,)", "((1, 2), None)",
        "{'transpose_x1': True, 'axes': (0, -1)}", "9223372036854775807"}) {
    EXPECT_EQ(literal_text(parse_literal(text)), text);
  }
  EXPECT_EQ(literal_text(parse_literal("[1, 2,]")), "(1, 2)");
  EXPECT_EQ(literal_text(parse_literal("((128, 1024))")), "(128, 1024)");
  EXPECT_EQ(literal_text(parse_literal("\"it's\"")), "'it\\'s'");
  EXPECT_EQ(literal_text(parse_literal("1, 2")), "(1, 2)");
}

TEST(PythonLiteral, TakesNothingElse) {
  for (const char* text : {"",
                           "nan",
                           "f(1)",
                           "1 + 2",
                           "(1 2)",
                           "{1}",
                           "{1: }",
                           "'a",
                           "'a' 'b'",
                           "b'a'",
                           "1_000",
                           "0x10",
                           "'\\x41'",
                           "__import__('os')",
                           "9223372036854775808",
                           "1e999",
                           "--1",
                           "(",
                           "1)",
                           "lambda: 0",
                           "[x for x in y]"}) {
    EXPECT_THAT(error_of([&] { (void)parse_literal(text); }), HasSubstr("is no Python literal"))
        << text;
  }
  EXPECT_THAT(error_of([] { (void)parse_literal(std::string(100000, '(')); }),
              HasSubstr("nested too deeply"));
}

class Csv : public testing::Test {
 protected:
  CsvTable read(const std::string& text) const {
    const std::string path = testing::TempDir() + "table.csv";
    std::ofstream(path, std::ios::binary) << text;
    return read_csv(path);
  }
};

TEST_F(Csv, ReadsQuotesAndEndsOfLines) {
  const CsvTable table = read(
      "\xEF\xBB\xBF"
      "a,b\r\n\"1,\"\"2\"\"\",\"x\ny\"\n\n,\"\"\n");
  EXPECT_THAT(table.header, testing::ElementsAre("a", "b"));
  ASSERT_EQ(table.rows.size(), 2U);
  EXPECT_THAT(table.rows[0].cells, testing::ElementsAre("1,\"2\"", "x\ny"));
  EXPECT_EQ(table.rows[0].line, 2U);
  EXPECT_THAT(table.rows[1].cells, testing::ElementsAre("", ""));
  EXPECT_EQ(table.rows[1].line, 5U);
  EXPECT_EQ(csv_line(table.rows[0].cells), "\"1,\"\"2\"\"\",\"x\ny\"\n");
}

// The first cell of a file is quoted if a reader would take its text for the mark of another kind
// of file.
TEST_F(Csv, IsReadAsItIsWritten) {
  for (const char* first : {"\xEF\xBB\xBFx", "PK1", " x", "a\"b"}) {
    const std::vector<std::string> header = {first, "b"};
    EXPECT_EQ(read(csv_line(header)).header, header);
  }
}

TEST_F(Csv, NamesTheLineThatIsWrong) {
  EXPECT_THAT(failure_of([&] { (void)read("a,b\n1\n"); }),
              HasSubstr("line 2: has 1 cell, and the header 2"));
  EXPECT_THAT(failure_of([&] { (void)read("a\n\"1\n"); }),
              HasSubstr("line 2: has a quoted cell that does not end"));
  EXPECT_THAT(failure_of([&] { (void)read("a\n1\"\n"); }), HasSubstr("line 2: has a quote within"));
  EXPECT_THAT(failure_of([&] { (void)read("a\n\"1\"2\n"); }),
              HasSubstr("line 2: has text behind a quoted cell"));
  EXPECT_THAT(failure_of([&] { (void)read(""); }), HasSubstr("is empty"));
  EXPECT_THAT(failure_of([&] { (void)read("PK\x03\x04"); }), HasSubstr("save the sheet as CSV"));
}

TEST(Ttk, ShapesAndFoldersAreWrittenAsItWritesThem) {
  EXPECT_EQ(ttk_shape("2x8x128"), (Shape{2, 8, 128}));
  EXPECT_EQ(ttk_shape("2x0x3"), (Shape{2, 0, 3}));
  EXPECT_EQ(ttk_shape("scalar"), Shape{});
  for (const char* text : {"", "2x", "x2", "2x-1", "2X3", "9999999999x9999999999"}) {
    EXPECT_EQ(ttk_shape(text), std::nullopt) << text;
  }
  EXPECT_EQ(ttk_folder_name("add_01.a-b"), "add_01.a-b");
  // The digits are those of Python's hashlib.sha256(b"sort: rows").hexdigest()[:12].
  EXPECT_EQ(ttk_folder_name("sort: rows"), "sort__rows_18121a579dae");
  EXPECT_LE(ttk_folder_name(std::string(500, 'a')).size(), 120U);
}

CaseRecord named(const TtkCase& row) {
  CaseRecord record;
  for (std::size_t i = 0; i < row.inputs.size(); ++i) {
    if (!row.inputs[i].absent) {
      record.inputs.emplace("input_" + std::to_string(i), ArrayRequest{"x", "", {}});
    }
  }
  name_operator(record, row);
  return record;
}

TtkCase matmul() {
  TtkCase row;
  row.op = "mat_mul_v3";
  row.inputs = {{.place = 0, .dtype = "float16", .shape = Shape{2, 3}},
                {.place = 1, .dtype = "float16", .shape = Shape{3, 4}},
                {.place = 2, .absent = true, .dtype = "", .shape = {}},
                {.place = 3, .absent = true, .dtype = "", .shape = {}}};
  row.attributes = *parse_literal("{'transpose_x1': True, 'offset_x': 0, '#pad': 1}").dict();
  return row;
}

TEST(Ttk, AnOperatorWithATwinHasItsNames) {
  const CaseRecord record = named(matmul());
  EXPECT_EQ(record.op, "matmul");
  EXPECT_EQ(record.inputs.count("a") + record.inputs.count("b"), 2U);
  EXPECT_THAT(record.absent_inputs, testing::ElementsAre("bias"));
  EXPECT_EQ(record.attributes.at("transpose_a"), Attribute(std::int64_t{1}));
  EXPECT_EQ(record.attributes.at("x_op_name"), Attribute(std::string("mat_mul_v3")));
  EXPECT_EQ(record.attributes.count("x_no_twin"), 0U);
}

TEST(Ttk, WhatATwinCannotSayMakesItExternal) {
  TtkCase row = matmul();
  row.attributes = *parse_literal("{'offset_x': 3}").dict();
  const CaseRecord offset = named(row);
  EXPECT_EQ(offset.op, "external");
  EXPECT_EQ(offset.attributes.at("x_no_twin"),
            Attribute(std::string("matmul has no attribute that is offset_x = 3")));
  EXPECT_EQ(offset.attributes.at("x_offset_x"), Attribute(std::int64_t{3}));
  EXPECT_EQ(offset.inputs.count("input_0"), 1U);
  row = matmul();
  row.op = "add";
  row.attributes.clear();
  row.inputs.resize(2);
  EXPECT_EQ(named(row).attributes.at("x_no_twin"),
            Attribute(std::string("add takes operands of one shape")));
  row.op = "my_op";
  row.inputs[1].item = 0;
  const CaseRecord unknown = named(row);
  EXPECT_EQ(unknown.op, "external");
  EXPECT_EQ(unknown.inputs.count("input_1/0"), 1U);
  EXPECT_EQ(unknown.attributes.count("x_no_twin"), 0U);
}

TEST(ArrayCases, CasesDoNotNestAndNamesAreSafe) {
  std::vector<CaseRecord> records(5);
  records[0].name = "a";
  records[1].name = "a/b";
  records[2].name = "c d";
  records[3].name = "c_d";
  records[4].name = "golden";
  const ArrayCases cases("x", std::move(records));
  EXPECT_THAT(cases.case_names(),
              testing::ElementsAre("a/b", "a=8601ec8c", "c_d", "c_d=0d9a6176", "golden_"));
  EXPECT_EQ(cases.attributes_of("c_d=0d9a6176").at("x_name"), Attribute(std::string("c d")));
  EXPECT_EQ(cases.attributes_of("c_d").count("x_name"), 0U);
}

TEST(UnpackedFolder, MachineOfAnOutputThatIsNotThere) {
  const std::string folder = testing::TempDir() + "machine_alone";
  std::filesystem::create_directories(folder);
  std::ofstream(folder + "/assay_cases.json")
      << R"({"assay_cases": 1, "cases": [{"name": "a", "op": "exp",
             "machines": {"outputs/npu": "hopper"}}]})";
  EXPECT_THAT(file_error_of([&] { (void)open_unpacked(folder, {}).cases->read("a"); }),
              HasSubstr("the machine of outputs/npu: the case has no such output"));
}

}  // namespace
}  // namespace assay
