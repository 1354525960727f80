// Tests that the reader returns what the writer wrote, and that every refusal gives its reason.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "assay/base/text.h"
#include "assay/datasets/store/dataset_file.h"
#include "files.h"

namespace assay {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::StartsWith;

// Returns every code of a format of up to 16 bits. For a wider format, returns the corners and a
// spread.
Tensor codes_of(const Format& f) {
  std::vector<std::uint64_t> codes;
  const int bits = 8 * f.storage_bytes;
  if (bits <= 16) {
    for (std::uint64_t code = 0; code < std::uint64_t{1} << bits; ++code) {
      if (is_valid_code(f, code)) codes.push_back(code);
    }
  } else {
    const std::uint64_t all = bits == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << bits) - 1;
    const std::uint64_t grid = all & ~((std::uint64_t{1} << f.padding) - 1);
    for (std::uint64_t i = 0; i < 5000; ++i) codes.push_back(i * 0x9E3779B97F4A7C15 & grid);
    for (const std::uint64_t code : {std::uint64_t{0}, all, all >> 1, (all >> 1) + 1}) {
      codes.push_back(code & grid);
    }
  }
  Tensor tensor(f, {static_cast<std::int64_t>(codes.size())});
  for (std::size_t i = 0; i < codes.size(); ++i) {
    tensor.set_bits(static_cast<std::int64_t>(i), codes[i]);
  }
  return tensor;
}

Tensor float_tensor(Shape shape, const std::vector<double>& values) {
  return Tensor::from_values(format_named("float32"), std::move(shape), values);
}

// Returns a case with one input, its golden result and one recorded output.
Case small_case(const std::string& name) {
  Case c;
  c.name = name;
  c.op = "relu";
  c.inputs.emplace("x", float_tensor({3}, {-1, 0, 2.5}));
  c.output().golden =
      Tensor::from_values(format_named("float64"), {3}, std::vector<double>{0, 0, 2.5});
  c.output().recorded["npu"].tensor = float_tensor({3}, {0, 0, 2.5});
  return c;
}

void expect_same(const Tensor& actual, const Tensor& expected) {
  EXPECT_EQ(actual.format().name, expected.format().name);
  EXPECT_EQ(actual.shape(), expected.shape());
  EXPECT_TRUE(bytes_of(actual) == bytes_of(expected)) << "other bits";
}

class Store : public ::testing::Test {
 protected:
  // Writes cases to a file and returns its path.
  std::string write(const std::vector<Case>& cases, bool compress = false) {
    const std::string path = directory_ / formatted("{}.h5", files_++);
    DatasetWriter writer(path, compress);
    for (const Case& c : cases) writer.write(c);
    writer.commit();
    return path;
  }
  // Writes files with h5py, one for each of `lines`, and returns their paths. A line is Python that
  // changes the file `f`, in which the case c has the input x.
  std::vector<std::string> python(const std::vector<std::string>& lines) {
    std::string script = "import h5py, numpy as np\n";
    std::vector<std::string> paths;
    for (const std::string& line : lines) {
      paths.push_back(directory_ / formatted("{}.h5", files_++));
      script += formatted(
          "f = h5py.File('{}', 'w')\n"
          "f.attrs['assay_schema'] = 1\n"
          "c = f.create_group('cases/c')\n"
          "c.attrs['op'] = 'relu'\n"
          "x = c.create_dataset('inputs/x', data=np.arange(3, dtype='f4'))\n"
          "x.attrs['dtype'] = 'float32'\n"
          "{}\n"
          "f.close()\n",
          paths.back(), line);
    }
    spill(directory_ / "script.py", script);
    int status = -1;
    const std::string said =
        output_of(formatted("{} {}", ASSAY_PYTHON, directory_ / "script.py"), &status);
    EXPECT_EQ(status, 0) << said;
    return paths;
  }
  // Expects the error of `read` for the file that each line makes. Messages begin with the file's
  // path.
  void expect_errors(const std::function<void(const std::string&)>& read,
                     const std::vector<std::pair<std::string, std::string>>& lines_and_errors) {
    std::vector<std::string> lines;
    for (const auto& [line, error] : lines_and_errors) lines.push_back(line);
    const std::vector<std::string> paths = python(lines);
    for (std::size_t i = 0; i < paths.size(); ++i) {
      EXPECT_EQ(file_error_of([&] { read(paths[i]); }), paths[i] + lines_and_errors[i].second);
    }
  }

  OwnDirectory directory_;
  int files_ = 0;
};

// ------------------------------------------------------------------------------- round trips

TEST_F(Store, EveryCodeOfEveryFormatComesBack) {
  for (const bool compress : {false, true}) {
    std::vector<Case> cases;
    for (const Format& f : formats()) {
      Case c;
      c.name = formatted("codes/{}", f.name);
      c.op = "external";
      c.inputs.emplace("x", codes_of(f));
      c.output().golden = codes_of(f);
      c.output().recorded["npu"].tensor = codes_of(f);
      cases.push_back(std::move(c));
    }
    const DatasetFile file(write(cases, compress));
    EXPECT_EQ(file.case_names().size(), cases.size());
    for (const Case& c : cases) {
      SCOPED_TRACE(c.name);
      const Case read = file.read(c.name);
      expect_same(read.inputs.at("x"), c.inputs.at("x"));
      expect_same(*read.output().golden, *c.output().golden);
      expect_same(read.output().recorded.at("npu").tensor, c.output().recorded.at("npu").tensor);
      expect_same(file.read_output(c.name, "npu"), c.output().recorded.at("npu").tensor);
    }
  }
}

// Returns a case with accumulators and residuals beside its outputs. They lie in groups of their
// own and do not become producers.
Case cast_case(const std::string& name) {
  Case c;
  c.name = name;
  c.op = "matmul";
  c.output().recorded["npu"].tensor =
      Tensor::from_values(format_named("bfloat16"), {2, 3}, std::vector<double>{1, 2, 3, 4, 5, 6});
  c.output().recorded["gpu"].tensor = c.output().recorded.at("npu").tensor;
  c.output().recorded["npu"].epilogue.accumulator = float_tensor({2, 3}, {1.001, 2, 3, 4, 5, 6.01});
  c.output().recorded["npu"].epilogue.residual = float_tensor({2, 1}, {0.001, 0.01});
  c.output().recorded["gpu"].epilogue.residual = float_tensor({2, 2}, {1, 2, 3, 4});
  return c;
}

TEST_F(Store, WhatLiesBesideAnOutputComesBack) {
  const DatasetFile file(write({cast_case("c"), small_case("d")}));
  EXPECT_THAT(file.producers_of("c"), ElementsAre("gpu", "npu"));
  const StoredCase info = file.info("c");
  const auto& npu = info.outputs.at("").recorded.at("npu").epilogue;
  const auto& gpu = info.outputs.at("").recorded.at("gpu").epilogue;
  EXPECT_EQ(npu.accumulator.shape, (Shape{2, 3}));
  EXPECT_TRUE(gpu.accumulator.empty());
  EXPECT_FALSE(npu.residual.empty());
  EXPECT_FALSE(gpu.residual.empty());
  const Case c = cast_case("c"), read = file.read("c");
  ASSERT_EQ(read.output().recorded.size(), 2u);
  expect_same(read.output().recorded.at("npu").epilogue.accumulator,
              c.output().recorded.at("npu").epilogue.accumulator);
  expect_same(read.output().recorded.at("npu").epilogue.residual,
              c.output().recorded.at("npu").epilogue.residual);
  EXPECT_TRUE(read.output().recorded.at("gpu").epilogue.accumulator.empty());
  expect_same(file.read_epilogue("c", "gpu").residual,
              c.output().recorded.at("gpu").epilogue.residual);
  EXPECT_TRUE(file.read_epilogue("d", "npu").empty());
  EXPECT_TRUE(file.read("d").output().recorded.at("npu").epilogue.empty());
  EXPECT_TRUE(file.read("c", {.recorded = false}).output().recorded.empty());
  // Copies keep the accumulators and residuals, except those that are replaced or removed.
  const std::string path = directory_ / "copy.h5";
  DatasetWriter writer(path);
  writer.copy(file, "c");
  writer.put_epilogue("c", "npu", {float_tensor({2, 3}, {0, 0, 0, 0, 0, 0}), {}});
  writer.commit();
  const Case copied = DatasetFile(path).read("c");
  EXPECT_EQ(copied.output().recorded.at("npu").epilogue.accumulator.view().value_at(5), 0);
  EXPECT_TRUE(copied.output().recorded.at("npu").epilogue.residual.empty());
  expect_same(copied.output().recorded.at("gpu").epilogue.residual,
              c.output().recorded.at("gpu").epilogue.residual);
}

TEST_F(Store, WhatCannotLieBesideAnOutputIsRefused) {
  const std::string output =
      "t = c.create_dataset('outputs/npu', data=np.zeros((2, 3), 'f2')); "
      "t.attrs['dtype'] = 'float16'; ";
  const auto beside = [&](const std::string& name, const std::string& data) {
    return output + formatted(
                        "b = c.create_dataset('{}', data=np.zeros({})); b.attrs['dtype'] = "
                        "str(b.dtype)",
                        name, data);
  };
  const std::vector<std::pair<std::string, std::string>> wrong = {
      {beside("accumulators/npu", "(3, 2), 'f4'"),
       ": /cases/c/accumulators/npu: the accumulator is float32 [3, 2], but for an output float16 "
       "[2, 3] it must be float32 or float64 of the same shape"},
      {beside("accumulators/npu", "(2, 3), 'f2'"),
       ": /cases/c/accumulators/npu: the accumulator is float16 [2, 3], but for an output float16 "
       "[2, 3] it must be float32 or float64 of the same shape"},
      {beside("residuals/npu", "(2, 4), 'f4'"),
       ": /cases/c/residuals/npu: the residual is float32 [2, 4], but for an output float16 [2, 3] "
       "it must be float32 or float64 of the shape [..., M, checks in a row]"},
      {beside("residuals/npu", "(2,), 'f4'"),
       ": /cases/c/residuals/npu: the residual is float32 [2], but for an output float16 [2, 3] it "
       "must be float32 or float64 of the shape [..., M, checks in a row]"},
      {beside("residuals/gpu", "(2, 1), 'f4'"),
       ": /cases/c/residuals/gpu: belongs to no recorded output; the case has recorded outputs of "
       "npu"},
      {output + "c['accumulators'] = np.zeros(3)",
       ": /cases/c/accumulators: must be a group of datasets"},
      {output + "c['accumulators/npu'] = np.zeros((2, 3), 'f4')",
       ": /cases/c/accumulators/npu: has no attribute 'dtype'"},
      {output + "f['o'] = np.zeros((2, 3), 'f4'); f['o'].attrs['dtype'] = 'float32'; "
                "c['accumulators/npu'] = h5py.ExternalLink('other.h5', '/o')",
       ": /cases/c/accumulators/npu: is an external link; a dataset file must hold all its data"}};
  expect_errors([](const std::string& path) { (void)DatasetFile(path).read("c"); }, wrong);
  expect_errors([](const std::string& path) { (void)DatasetFile(path).info("c"); }, wrong);
  expect_errors([](const std::string& path) { (void)DatasetFile(path).read_epilogue("c", "npu"); },
                wrong);
  Case c = cast_case("c");
  c.output().recorded["gpu"].epilogue.residual = float_tensor({2, 4}, {1, 2, 3, 4, 5, 6, 7, 8});
  EXPECT_THAT(
      file_error_of([&] { write({c}); }),
      EndsWith(
          "/cases/c: beside outputs/gpu: the residual is float32 [2, 4], but for an output "
          "bfloat16 [2, 3] it must be float32 or float64 of the shape [..., M, checks in a row]"));
  c.output().recorded["gpu"].epilogue.residual = float_tensor({2, 1}, {1, 2});
  c.output().recorded["gpu"].tensor = {};
  EXPECT_THAT(file_error_of([&] { write({c}); }),
              EndsWith("/cases/c: beside outputs/gpu: the case has no such output"));
  c.output().recorded["gpu"] = {.machine = "hopper"};
  EXPECT_THAT(file_error_of([&] { write({c}); }),
              EndsWith("/cases/c: the machine of outputs/gpu: the case has no such output"));
}

TEST_F(Store, ScalarsEmptyAndDeepShapesComeBack) {
  for (const bool compress : {false, true}) {
    for (const Shape& shape : {Shape{}, Shape{1}, Shape{0}, Shape{0, 3}, Shape{2, 0, 4},
                               Shape{2, 3, 4, 5, 6}, Shape{1500, 1}, Shape{1, 1500}}) {
      SCOPED_TRACE(shape_text(shape));
      std::vector<double> values;
      for (std::int64_t i = 0; i < element_count(shape); ++i) {
        values.push_back(static_cast<double>(i));
      }
      Case c = small_case("c");
      c.inputs.insert_or_assign("x", float_tensor(shape, values));
      const DatasetFile file(write({c}, compress));
      expect_same(file.read("c").inputs.at("x"), c.inputs.at("x"));
      EXPECT_EQ(file.info("c").inputs.at("x").shape, shape);
    }
  }
}

TEST_F(Store, AViewWithStridesIsWrittenInRowMajorOrder) {
  const std::string path = directory_ / "strided.h5";
  const Tensor x = float_tensor({2, 3}, {1, 2, 3, 4, 5, 6});
  DatasetWriter writer(path);
  writer.write(small_case("c"));
  writer.put_golden("c", x.view().transposed());
  writer.commit();
  expect_same(*DatasetFile(path).read("c").output().golden,
              float_tensor({3, 2}, {1, 4, 2, 5, 3, 6}));
}

TEST_F(Store, ChunksOfSeveralBatchesComeBackWhateverTheThreads) {
  const Shape shape = {2500, 7001};  // 70 MB
  Tensor x(format_named("int32"), shape);
  auto* at = reinterpret_cast<std::int32_t*>(x.bytes());
  for (std::int64_t i = 0; i < x.size(); ++i) at[i] = static_cast<std::int32_t>(i >> 12);
  Case c = small_case("c");
  c.inputs.insert_or_assign("x", std::move(x));
  const DatasetFile file(write({c}, true));
  for (const char* threads : {"1", "5"}) {
    setenv("ASSAY_THREADS", threads, 1);
    expect_same(file.read("c").inputs.at("x"), c.inputs.at("x"));
  }
  unsetenv("ASSAY_THREADS");
}

TEST_F(Store, AttributesComeBack) {
  const double inf = std::numeric_limits<double>::infinity();
  Case c = small_case("c");
  c.attributes = {{"seed", std::int64_t{INT64_MAX}},
                  {"least", std::int64_t{INT64_MIN}},
                  {"rtol", 0x1.999999999999ap-4},
                  {"atol", 0.0},
                  {"scale", inf},
                  {"minus_zero", -0.0},
                  {"why", "größer als ½ ulp"},
                  {"empty", ""},
                  {"long", std::string(60000, 'x')},
                  {"equal_nan", std::int64_t{1}},
                  {"output_dtype", "bfloat16"},
                  {"with blank", "a\nb\t"}};
  const std::string path = directory_ / "attributes.h5";
  DatasetWriter writer(path);
  writer.write_attributes({{"description", "d"}, {"license", "MIT"}, {"assay_schema", "ignored"}});
  writer.write(c);
  writer.put_attribute("c", "nan", std::nan(""));
  writer.commit();
  const DatasetFile file(path);
  Case read = file.read("c");
  EXPECT_TRUE(std::isnan(read.real("nan").value()));
  EXPECT_TRUE(std::signbit(read.real("minus_zero").value()));
  read.attributes.erase("nan");
  EXPECT_EQ(read.attributes, c.attributes);
  EXPECT_EQ(read.op, "relu");
  EXPECT_EQ(file.attributes(),
            (std::map<std::string, Attribute>{
                {"assay_schema", std::int64_t{1}}, {"description", "d"}, {"license", "MIT"}}));
}

TEST_F(Store, ReadsOnlyWhatIsAskedFor) {
  const DatasetFile file(write({small_case("c")}));
  const Case golden = file.read("c", {.inputs = false, .golden = true, .recorded = false});
  EXPECT_TRUE(golden.inputs.empty() && golden.output().recorded.empty() && golden.output().golden);
  const Case inputs = file.read("c", {.inputs = true, .golden = false, .recorded = false});
  EXPECT_TRUE(!inputs.inputs.empty() && inputs.output().recorded.empty() &&
              !inputs.output().golden);
}

TEST_F(Store, CaseNamesAreSortedAndChosenByGlob) {
  const DatasetFile file(write({small_case("b/2"), small_case("a"), small_case("b/10")}));
  EXPECT_THAT(file.case_names(), ElementsAre("a", "b/10", "b/2"));
  EXPECT_THAT(file.case_names(""), ElementsAre("a", "b/10", "b/2"));
  EXPECT_THAT(file.case_names("b/*"), ElementsAre("b/10", "b/2"));
  EXPECT_THAT(file.case_names("?"), ElementsAre("a"));
  EXPECT_TRUE(file.has_case("b/2"));
  for (const char* name : {"b", "b/3", "a/1", "", "a b", "../a", "a/inputs", "a/golden"}) {
    EXPECT_FALSE(file.has_case(name)) << name;
  }
}

// ----------------------------------------------------------------------------------- refusals

TEST_F(Store, AFileThatCannotBeOpenedSaysWhy) {
  const auto opening = [](const std::string& path) {
    return file_error_of([&] { (void)DatasetFile(path); });
  };
  const std::string& d = directory_.path();
  EXPECT_EQ(opening(d + "/no.h5"), d + "/no.h5: cannot be opened: No such file or directory");
  EXPECT_EQ(opening(""), ": cannot be opened: No such file or directory");
  EXPECT_EQ(opening(d), d + ": is a directory, not a dataset file");
  EXPECT_EQ(opening("/dev/null"), "/dev/null: is not a regular file");
  spill(d + "/text.h5", "op,x,golden\n");
  EXPECT_EQ(opening(d + "/text.h5"), d + "/text.h5: is not an HDF5 file");
  spill(d + "/zero.h5", "");
  EXPECT_EQ(opening(d + "/zero.h5"), d + "/zero.h5: is empty (0 bytes)");
  const std::string whole = slurp(write({small_case("c")}));
  spill(d + "/cut.h5", whole.substr(0, whole.size() - 1));
  EXPECT_THAT(opening(d + "/cut.h5"),
              AllOf(StartsWith(d + "/cut.h5: is truncated, corrupt or locked (truncated file: "),
                    EndsWith(")")));
}

TEST_F(Store, AFileOfAnotherSchemaOrWithoutCasesIsRefused) {
  expect_errors(
      [](const std::string& path) { (void)DatasetFile(path).case_names(); },
      {{"f.attrs['assay_schema'] = 3",
        ": /: has assay_schema 3; this version reads schemas 1 and 2"},
       {"f.attrs['assay_schema'] = '1'", ": /: its attribute 'assay_schema' must be an integer"},
       {"del f.attrs['assay_schema']",
        ": /: has no attribute 'assay_schema'; it is no dataset file of assay"},
       {"del f['cases/c']", ": /cases: holds no case"},
       {"del f['cases']", ": /cases: does not exist; the file holds no cases"},
       {"f.create_group('cases/a b')",
        ": /cases/a b: is no case name; use parts of letters, digits, '_', '.' and '=', but no "
        "part that is inputs, outputs, golden, '.' or '..'"}});
}

TEST_F(Store, ACaseThatCannotBeReadSaysWhy) {
  expect_errors(
      [](const std::string& path) { (void)DatasetFile(path).read("c"); },
      {{"x.attrs['dtype'] = 'float7'",
        ": /cases/c/inputs/x: its dtype 'float7' is no dtype that assay knows; "
        "docs/formats.md lists all"},
       {"x.attrs['dtype'] = 'float16'",
        ": /cases/c/inputs/x: stored as a 32-bit float (exponent 8 bits, mantissa 23, bias 127), "
        "which cannot hold float16"},
       {"del c.attrs['op']", ": /cases/c: is a case without the attribute 'op'"},
       {"del x.attrs['dtype']", ": /cases/c/inputs/x: has no attribute 'dtype'"},
       {"c.attrs['rtol'] = 'much'",
        ": /cases/c: its attribute 'rtol' must be a number, but it is 'much'"},
       {"c['golden'] = h5py.ExternalLink('other.h5', '/x')",
        ": /cases/c/golden: is an external link; a dataset file must hold all its data"},
       {"c['golden'] = h5py.SoftLink('/no/such')",
        ": /cases/c/golden: is a soft link to /no/such, which does not exist"},
       {"del f['cases/c']", ": /cases/c: does not exist"}});
}

TEST_F(Store, AReadThatAsksForMoreThanThereIsSaysWhy) {
  const std::string path = write({small_case("c")});
  EXPECT_EQ(file_error_of([&] { (void)DatasetFile(path, 11).read("c"); }),
            path +
                ": /cases/c/inputs/x: declares 12 bytes, over the reader's cap of 11; "
                "ASSAY_MAX_DATASET_GIB raises it");
  EXPECT_EQ(file_error_of([&] { (void)DatasetFile(path, 24).read("c"); }), "");
  const DatasetFile file(path);
  EXPECT_EQ(file_error_of([&] { (void)file.read("d"); }), path + ": /cases/d: does not exist");
  EXPECT_EQ(file_error_of([&] { (void)file.read_output("c", "gpu"); }),
            path + ": /cases/c: has no recorded output of 'gpu'; it has npu");
}

TEST_F(Store, AGlobThatMatchesNothingNamesTheNearestCase) {
  const DatasetFile file(write({small_case("matmul/large"), small_case("relu")}));
  EXPECT_EQ(file_error_of([&] { (void)file.case_names("matmul/larg"); }),
            file.path() +
                ": no case matches 'matmul/larg' (did you mean 'matmul/large'?); it has "
                "2 cases, the first is 'matmul/large'");
  EXPECT_EQ(file_error_of([&] { (void)file.case_names("softmax*"); }),
            file.path() +
                ": no case matches 'softmax*'; it has 2 cases, the first is "
                "'matmul/large'");
}

TEST_F(Store, AFileCanBeReadWhileItIsReplaced) {
  const std::string path = write({small_case("c")});
  const DatasetFile old(path);
  Case c = small_case("c");
  c.inputs.insert_or_assign("x", float_tensor({1}, {7}));
  {
    DatasetWriter writer(path);
    writer.write(c);
    writer.commit();
  }
  expect_same(old.read("c").inputs.at("x"), small_case("c").inputs.at("x"));
  expect_same(DatasetFile(path).read("c").inputs.at("x"), c.inputs.at("x"));
}

}  // namespace
}  // namespace assay
