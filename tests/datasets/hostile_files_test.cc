// Reads the files that make_files.py writes with h5py. Every valid file gives its contents, and
// every bad file is refused.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <charconv>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "assay/base/text.h"
#include "assay/datasets/store/dataset_file.h"
#include "document.h"
#include "files.h"

// HDF5 leaks some of its own memory on damaged files. The leak sanitizer must not report this.
extern "C" const char* __lsan_default_suppressions();
extern "C" const char* __lsan_default_suppressions() { return "leak:libhdf5"; }

namespace assay {
namespace {

using nlohmann::json;
using ::testing::AnyOf;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

// The limit on the size of a dataset. The files of make_files.py are made for this limit.
constexpr std::int64_t kCap = std::int64_t{1} << 30;

class HostileFiles : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    directory_ = new OwnDirectory;
    int status = -1;
    const std::string said =
        output_of(formatted("{} -B {}/tests/datasets/make_files.py {}", ASSAY_PYTHON,
                            ASSAY_SOURCE_DIR, directory_->path()),
                  &status);
    ASSERT_EQ(status, 0) << said;
    manifest_ = new json(parsed(slurp(*directory_ / "manifest.json")));
  }
  static void TearDownTestSuite() {
    delete manifest_;
    delete directory_;
    manifest_ = nullptr;
    directory_ = nullptr;
  }

  static std::string path_of(const json& entry) {
    return *directory_ / entry["file"].get<std::string>();
  }
  static std::vector<json> entries(bool accepted) {
    std::vector<json> chosen;
    for (const json& entry : *manifest_) {
      if (entry["accept"] == accepted) chosen.push_back(entry);
    }
    return chosen;
  }

  static OwnDirectory* directory_;
  static json* manifest_;
};
OwnDirectory* HostileFiles::directory_ = nullptr;
json* HostileFiles::manifest_ = nullptr;

// Returns a case's tensors, or their dtypes and shapes, by the names that they have in the
// manifest.
template <typename Array>
std::map<std::string, Array> tensors_of(const BasicCase<Array>& c) {
  std::map<std::string, Array> all;
  for (const auto& [name, array] : c.inputs) all["inputs/" + name] = array;
  for (const auto& [output, of] : c.outputs) {
    const std::string behind = output.empty() ? "" : "/" + output;
    if (of.golden) all["golden" + behind] = *of.golden;
    for (const auto& [producer, recorded] : of.recorded) {
      all[formatted("outputs/{}{}", producer, behind)] = recorded.tensor;
    }
  }
  return all;
}

// Returns the value that an attribute must have. An integer beyond int64 is a float64.
Attribute expected_value(const std::string& kind, const std::string& text) {
  if (kind == "string") return text;
  if (kind == "bool") return std::int64_t{text == "true"};
  std::int64_t integer = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, integer);
  if (kind == "int" && error == std::errc() && stop == end) return integer;
  return std::stod(text);
}

// Compares the attributes that the manifest lists, and returns their number. assay keeps the
// attributes of groups and of datasets, and does not show them.
int compare_attributes(const DatasetFile& file, const json& listed) {
  int compared = 0;
  for (const json& a : listed) {
    const std::string object = a["object"], name = a["name"];
    SCOPED_TRACE(object + " " + name);
    std::map<std::string, Attribute> attributes;
    const std::string case_name = object.starts_with("/cases/") ? object.substr(7) : "";
    if (object == "/") {
      attributes = file.attributes();
    } else if (file.has_case(case_name)) {
      const StoredCase info = file.info(case_name);
      attributes = info.attributes;
      attributes["op"] = info.op;
    } else {
      continue;
    }
    EXPECT_EQ(attributes.count(name), 1u);
    EXPECT_EQ(attributes[name], expected_value(a["kind"], a["value"]));
    ++compared;
  }
  return compared;
}

TEST_F(HostileFiles, EveryGoodFileReadsAsItWasMeant) {
  int compared = 0;
  for (const json& entry : entries(true)) {
    SCOPED_TRACE(entry["file"].get<std::string>());
    const DatasetFile file(path_of(entry), kCap);
    compared += compare_attributes(file, entry["attrs"]);
    std::map<std::string, std::map<std::string, json>> expected;
    for (const json& e : entry["expect"]) expected[e["case"]][e["tensor"]] = e;
    std::set<std::string> cases;
    for (const auto& [name, tensors] : expected) cases.insert(name);
    const std::vector<std::string> names = file.case_names();
    EXPECT_EQ(std::set<std::string>(names.begin(), names.end()), cases);
    EXPECT_EQ(DatasetFile(path_of(entry), kCap).case_names_by(3), names);
    for (const std::string& name : names) {
      SCOPED_TRACE(name);
      EXPECT_TRUE(file.has_case(name));
      const Case c = file.read(name);
      const StoredCase info = file.info(name);
      EXPECT_EQ(info.op, c.op);
      EXPECT_EQ(info.attributes, c.attributes);
      const auto tensors = tensors_of(c);
      auto infos = tensors_of(info);
      EXPECT_EQ(tensors.size(), expected[name].size());
      EXPECT_EQ(infos.size(), expected[name].size());
      for (const auto& [tensor_name, e] : expected[name]) {
        SCOPED_TRACE(tensor_name);
        ASSERT_EQ(tensors.count(tensor_name), 1u);
        const Tensor& tensor = tensors.at(tensor_name);
        EXPECT_EQ(tensor.format().name, e["dtype"].get<std::string>());
        EXPECT_EQ(tensor.shape(), e["shape"].get<Shape>());
        EXPECT_EQ(infos[tensor_name].dtype, e["dtype"].get<std::string>());
        EXPECT_EQ(infos[tensor_name].shape, tensor.shape());
        const std::string bits = slurp(*directory_ / "bits/" + e["bits"].get<std::string>());
        EXPECT_TRUE(bytes_of(tensor) == bits) << "other bits";
      }
    }
  }
  EXPECT_GE(compared, 99);
}

// Returns the pattern of the error message for each reason in the manifest.
const std::map<std::string, std::string>& reasons() {
  static const std::map<std::string, std::string> table = {
      {"absent", "has the attribute 'absent'"},
      {"attribute", "attribute '[a-z_]+' must be"},
      {"case name", "is no case name"},
      {"case without op", "is a case without the attribute 'op'"},
      {"dangling soft link", "is a soft link to .*which does not exist"},
      {"dtype missing", "has no attribute 'dtype'"},
      {"dtype unknown", "dtype '.*' is no dtype that assay knows"},
      {"empty group", "is an empty group|is a list without tensors"},
      {"external link", "external link"},
      {"external storage", "external file"},
      {"filter", "uses the filter '.*only deflate, shuffle and fletcher32"},
      {"list", "is a list of [0-9]+, whose datasets must be named"},
      {"link cycle", "contains itself|is a soft link that leads through too many"},
      {"nested case", "is a case inside a case"},
      {"never written", "never written"},
      {"no case", "no case|without the attribute 'op'"},
      {"not a dataset", "must be a dataset"},
      {"not a group", "is no group|must be a group"},
      {"not an HDF5 file", "is not an HDF5 file|is empty"},
      {"null dataspace", "has no data"},
      {"output name", "is no name of an output"},
      {"schema", "assay_schema"},
      {"size", "over the reader's cap|chunks, but assay reads at most"},
      {"stored type", "stored as an? .*which cannot hold|stored as .*which cannot hold"},
      {"too deep", "more than 64 groups deep"},
      {"too many ways", "maze"},
      {"truncated or corrupt", "truncated|corrupt|is not an HDF5 file"},
      {"value", "which is no "},
      {"virtual dataset", "virtual dataset"},
  };
  return table;
}

// Calls every function of the reader for a bad file. Each must return, or throw a FileError.
void ask_everything(const std::string& path, const std::string& copy) {
  std::unique_ptr<DatasetFile> file;
  (void)file_error_of([&] { file = std::make_unique<DatasetFile>(path, kCap); });
  if (!file) return;
  DatasetWriter writer(copy);
  for (const std::string name : {"ok", "c", "c/d", "nowhere", "a/b", "g/h", "m", "s"}) {
    for (const std::string& message :
         {file_error_of([&] { (void)file->has_case(name); }),
          file_error_of([&] { (void)file->info(name); }),
          file_error_of([&] { (void)file->read(name); }),
          file_error_of([&] { (void)file->read_output(name, "rec"); }),
          file_error_of([&] { (void)file->read_output(name, "rec", "y"); }),
          file_error_of([&] { (void)file->read_epilogue(name, "rec", "y"); }),
          file_error_of([&] { (void)file->result_place(name, "rec", "y"); }),
          file_error_of([&] { (void)file->result_place(name, "", "y"); })}) {
      EXPECT_THAT(message, AnyOf("", StartsWith(path + ": ")));
    }
    const std::string message = file_error_of([&] { writer.copy(*file, name); });
    EXPECT_THAT(message, Not(StartsWith("not a FileError")));
  }
}

TEST_F(HostileFiles, EveryBadFileIsRefusedWithFileObjectAndReason) {
  for (const json& entry : entries(false)) {
    SCOPED_TRACE(entry["file"].get<std::string>());
    const std::string message = file_error_of([&] {
      const DatasetFile file(path_of(entry), kCap);
      for (const std::string& name : file.case_names()) (void)file.read(name);
    });
    const auto listed = [&](int threads) {
      return file_error_of([&] { (void)DatasetFile(path_of(entry), kCap).case_names_by(threads); });
    };
    EXPECT_EQ(listed(3), listed(1));
    EXPECT_THAT(message, StartsWith(path_of(entry) + ": "));
    EXPECT_THAT(message, HasSubstr(entry["object"].get<std::string>()));
    EXPECT_THAT(message, Not(HasSubstr("\n")));
    const std::string reason = entry["reason"];
    ASSERT_EQ(reasons().count(reason), 1u) << reason;
    EXPECT_THAT(message, ContainsRegex(reasons().at(reason)));
    ask_everything(path_of(entry), *directory_ / "copy.h5");
  }
}

}  // namespace
}  // namespace assay
