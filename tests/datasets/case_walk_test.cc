// Tests that several threads list the same cases of a file as one thread does, and refuse a file
// with the same message.
#include "assay/datasets/store/case_walk.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "assay/datasets/store/dataset_file.h"
#include "assay/datasets/store/opened_file.h"
#include "files.h"

namespace assay::h5 {
namespace {

class CasesByThreads : public testing::Test {
 protected:
  // Makes a file with a group of 600 cases, forty groups of ten cases, and one group of one case.
  // Then applies `change`.
  std::string make(const std::string& change) const {
    const std::string path = directory_ / "x.h5";
    spill(directory_ / "make.py", R"py(
import h5py, sys
with h5py.File(sys.argv[1], "w") as f:
    f.attrs["assay_schema"] = 1
    def case(name):
        f.create_group("cases/" + name).attrs["op"] = "external"
    for i in range(600): case(f"add/float32/seed{i}")
    for i in range(40):
        for k in range(10): case(f"few.{i}/{k}")
    case("few"); case("one/of/many/groups")
    f.create_group("cases/one/empty")
    g = f["cases"]
    many = g["add/float32"]
)py" + ("    " + change + "\n"));
    int status = 0;
    const std::string said = output_of(
        "/usr/bin/env " ASSAY_PYTHON " '" + directory_ / "make.py" + "' '" + path + "'", &status);
    EXPECT_EQ(status, 0) << said;
    return path;
  }

  OwnDirectory directory_;
};

TEST_F(CasesByThreads, AreThoseOfOne) {
  const std::string path = make("pass");
  const DatasetFile file(path);
  const std::vector<std::string> names = file.case_names();
  EXPECT_EQ(names.size(), 600u + 400 + 3);
  EXPECT_THAT(names, testing::Contains("one/empty"));
  for (const int threads : {2, 3, 16}) {
    EXPECT_EQ(DatasetFile(path).case_names_by(threads), names) << threads;
    EXPECT_EQ(cases_by_threads(path, OpenedFile(path), threads), names) << threads;
  }
  EXPECT_FALSE(cases_by_threads(path, OpenedFile(path), 1));
}

TEST_F(CasesByThreads, WhatIsWrongIsLeftToOne) {
  struct Wrong {
    const char* change;
    const char* message;      // empty: nothing is
    bool by_threads = false;  // find the cases
  };
  const Wrong all[] = {
      {"many['seed590'].create_group('x').attrs['op'] = 'add'",
       "/cases/add/float32/seed590/x: is a case inside a case; cases do not nest"},
      {"many['data'] = [1.0]",
       "/cases/add/float32/data: is no group; only groups that hold cases may lie under /cases"},
      {"g['few.7']['data'] = [1.0]",
       "/cases/few.7/data: is no group; only groups that hold cases may lie under /cases"},
      {"many.create_group('a b')", "/cases/add/float32/a b: is no case name"},
      {"g.create_group('few.3/outputs')",
       "/cases/few.3/0: is a case inside a case; cases do not nest"},
      {"g['few.3/4'].create_group('others/x')", "", true},
      {"g.create_group('deep/' + '/'.join('abcdefg' * 10)).attrs['op'] = 'add'",
       "lies more than 64 groups deep"},
      {"g['one/way'] = g['one']", "/cases/one/way: contains itself"},
      {"g['second'] = many['seed5']", ""},
      {"for i in range(300): g[f'way{i}'] = g['few.3']",
       "lies in a maze of links: more than 1000 links lead to groups that other links lead to, "
       "too"},
      {"g['soft'] = h5py.SoftLink('/cases/add/float32/seed6')", ""},
      {"g['gone'] = h5py.SoftLink('/cases/none')", "is a soft link to /cases/none, which does not"},
      {"g['away'] = h5py.ExternalLink('y.h5', '/')", "an external link"},
  };
  for (const Wrong& wrong : all) {
    SCOPED_TRACE(wrong.change);
    const std::string path = make(wrong.change);
    const auto said = [&](int threads) {
      std::string text;
      try {
        for (const std::string& name : DatasetFile(path).case_names_by(threads))
          text += name + "\n";
      } catch (const FileError& error) {
        text = error.what();
      }
      return text;
    };
    const std::string by_one = said(1);
    EXPECT_THAT(by_one, testing::HasSubstr(wrong.message));
    EXPECT_EQ(by_one.find('\n') != std::string::npos, *wrong.message == '\0') << by_one;
    for (const int threads : {2, 5}) {
      EXPECT_EQ(said(threads), by_one) << threads;
      EXPECT_EQ(cases_by_threads(path, OpenedFile(path), threads).has_value(), wrong.by_threads);
    }
  }
}

}  // namespace
}  // namespace assay::h5
