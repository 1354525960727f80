// The golden files of datasets/samples that `assay generate` made from the text files beside them.
#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "assay/base/file.h"
#include "assay/base/text.h"
#include "assay/op/deform_roi_pool.h"
#include "assay/op/operator.h"
#include "program.h"

namespace assay {
namespace {

using testing::HasSubstr;

constexpr const char* kFiles[] = {"operators", "operators_fp8"};

class Samples : public ProgramTest {
 protected:
  static std::string sample_file(const std::string& name, const char* extension) {
    return std::string(ASSAY_SOURCE_DIR "/datasets/samples/") + name + extension;
  }
  static std::vector<Case> read_all(const std::string& file) {
    const DatasetFile dataset(file);
    std::vector<Case> cases;
    for (const std::string& name : dataset.case_names()) cases.push_back(dataset.read(name));
    return cases;
  }
};

void expect_same_bits(const Tensor& a, const Tensor& b, const std::string& what) {
  ASSERT_EQ(&a.format(), &b.format()) << what;
  ASSERT_EQ(a.shape(), b.shape()) << what;
  for (std::int64_t i = 0; i < a.size(); ++i) ASSERT_EQ(a.bits_at(i), b.bits_at(i)) << what;
}

void expect_same_inputs(const Case& a, const Case& b) {
  ASSERT_EQ(a.inputs.size(), b.inputs.size()) << a.name;
  for (const auto& [input, tensor] : a.inputs) {
    expect_same_bits(tensor, b.input(input), a.name + " " + input);
  }
}

// Expects equal numbers. A relative difference of 1e-15 is allowed, because another libm may give
// golden results and tolerances another last bit.
void expect_near(double a, double b, const std::string& what) {
  EXPECT_TRUE(a == b || std::abs(a - b) <= 1e-15 * std::abs(b)) << what << " " << a << " " << b;
}

// -- The files are what the batches make --

TEST_F(Samples, AreWhatTheirBatchesMake) {
  for (const char* name : kFiles) {
    ASSERT_THAT(run("assay generate --from " + shell_word(sample_file(name, ".txt")) +
                    " --tolerance --compress --quiet --out made.h5"),
                Exits(0));
    const std::vector<Case> made = read_all(path("made.h5")),
                            kept = read_all(sample_file(name, ".h5"));
    ASSERT_EQ(made.size(), kept.size());
    for (std::size_t i = 0; i < made.size(); ++i) {
      const Case &m = made[i], &k = kept[i];
      ASSERT_EQ(m.name, k.name);
      EXPECT_EQ(m.op, k.op);
      expect_same_inputs(m, k);
      ASSERT_EQ(m.output().golden->shape(), k.output().golden->shape()) << k.name;
      if (!k.output().golden->format().is_float()) {
        expect_same_bits(*m.output().golden, *k.output().golden, k.name);
      } else {
        const auto mine = m.output().golden->view().values(),
                   theirs = k.output().golden->view().values();
        for (std::size_t j = 0; j < mine.size(); ++j) expect_near(mine[j], theirs[j], k.name);
      }
      ASSERT_EQ(m.attributes.size(), k.attributes.size()) << k.name;
      for (const auto& [attribute, value] : k.attributes) {
        if (attribute == "rtol" || attribute == "atol") {
          expect_near(*m.real(attribute), *k.real(attribute), k.name + " " + attribute);
        } else {
          EXPECT_EQ(m.attributes.at(attribute), value) << k.name << " " << attribute;
        }
      }
    }
  }
}

// The attribute `source` of each case makes its inputs again. One is run in a shell, and all are
// run as a batch.
TEST_F(Samples, SourcesMakeTheCasesAgain) {
  for (const char* name : kFiles) {
    const std::vector<Case> kept = read_all(sample_file(name, ".h5"));
    std::string batch;
    for (const Case& c : kept) {
      const std::string start = "assay generate ", source = *c.text("source");
      ASSERT_EQ(source.substr(0, start.size()), start) << c.name;
      batch += source.substr(start.size()) + "\n";
    }
    write("sources.txt", batch);
    ASSERT_THAT(run("assay generate --from sources.txt --no-golden --quiet --out again.h5"),
                Exits(0));
    const std::vector<Case> again = read_all(path("again.h5"));
    ASSERT_EQ(again.size(), kept.size());
    for (std::size_t i = 0; i < kept.size(); ++i) {
      ASSERT_EQ(again[i].name, kept[i].name);
      expect_same_inputs(again[i], kept[i]);
    }
    ASSERT_THAT(run(*kept[0].text("source") + " --quiet --out one.h5"), Exits(0));
    expect_same_inputs(DatasetFile(path("one.h5")).read(kept[0].name), kept[0]);
  }
}

// -- The content of the sample files --

TEST_F(Samples, HaveEveryOperatorAndEveryParameter) {
  std::map<std::string, int> cases;
  std::map<std::string, std::set<std::string>> formats;
  std::set<std::string> given;
  for (const char* name : kFiles) {
    for (const Case& c : read_all(sample_file(name, ".h5"))) {
      ++cases[c.op];
      for (const auto& [input, tensor] : c.inputs) {
        formats[c.op].insert(std::string(tensor.format().name));
        EXPECT_GE(tensor.size(), 1) << c.name;
        EXPECT_LE(tensor.size(), 40000) << c.name;
      }
      for (const auto& [attribute, value] : c.attributes) given.insert(attribute);
      EXPECT_TRUE(c.output().golden) << c.name;
      EXPECT_GT(c.text("why")->size(), 20u) << c.name;
    }
  }
  for (const Operator& op : operators()) {
    EXPECT_GE(cases[std::string(op.name)], 2) << op.name;
    EXPECT_GE(formats[std::string(op.name)].size(), 2u) << op.name << " in one dtype alone";
    for (const Parameter& parameter : op.parameters) {
      EXPECT_EQ(given.count(parameter.name), 1u) << op.name << " " << parameter.name;
    }
  }
}

// Golden results can be made again in every sample. HDF5 1.10.8 itself could not copy cases of
// operators.h5 after it had deleted objects of other cases.
TEST_F(Samples, GoldenResultsCanBeMadeAgain) {
  for (const auto& entry :
       std::filesystem::directory_iterator(ASSAY_SOURCE_DIR "/datasets/samples")) {
    if (entry.path().extension() != ".h5") continue;
    const std::string sample = entry.path();
    ASSERT_THAT(run("assay golden " + sample + " --out again.h5 -q"), Exits(0)) << sample;
    const DatasetFile before(sample), after(path("again.h5"));
    ASSERT_EQ(after.case_names(), before.case_names());
    for (const std::string& name : before.case_names()) {
      const Case old_case = before.read(name), new_case = after.read(name);
      EXPECT_EQ(new_case.output().recorded.size(), old_case.output().recorded.size()) << name;
      if (!old_case.output().golden) continue;
      EXPECT_EQ(new_case.output().golden->view().values(),
                old_case.output().golden->view().values())
          << name;
    }
  }
}

TEST_F(Samples, AreSmall) {
  EXPECT_LT(std::filesystem::file_size(sample_file("operators", ".h5")), 1600000u);
  EXPECT_LT(std::filesystem::file_size(sample_file("operators_fp8", ".h5")), 500000u);
}

// In the case deform_roi_pool/grid, a second rounding of the regions' coordinates moves samples
// across whole pixels, as the case's attribute `why` says.
TEST_F(Samples, RegionsMoveAcrossPixels) {
  const Case c = DatasetFile(sample_file("operators", ".h5")).read("deform_roi_pool/grid");
  const std::vector<float> once = deform_roi_coordinates(c, true),
                           twice = deform_roi_coordinates(c, false);
  int moved = 0;
  for (std::size_t i = 0; i < once.size(); ++i) {
    moved += std::floor(once[i]) != std::floor(twice[i]) ? 1 : 0;
  }
  EXPECT_GT(moved, 0);
}

// -- The use of the samples: right results pass, and faults are detected --

TEST_F(Samples, MachinesMeetTheTolerances) {
  const auto gate = [&](const char* name, const char* machine) {
    return run("assay gate " + shell_word(sample_file(name, ".h5")) + " --machine " + machine +
               " --quiet");
  };
  EXPECT_THAT(gate("operators", "ascend910b"), Exits(0));
  EXPECT_THAT(gate("operators_fp8", "hopper"), Exits(0));
}

// At least half of all mutations of the right results are detected.
TEST_F(Samples, NoticeCorruptions) {
  for (const auto& [name, machine] :
       {std::pair("operators", "ascend910b"), std::pair("operators_fp8", "hopper")}) {
    EXPECT_THAT(run("assay gate " + shell_word(sample_file(name, ".h5")) + " --machine " + machine +
                    " --mutate --mutate-min 0.5 --quiet"),
                Exits(0));
  }
}

TEST_F(Samples, WhatAMachineCannotComputeIsSaid) {
  const Ran ran = run("assay gate " + shell_word(sample_file("operators_fp8", ".h5")) +
                      " --machine ascend910b --case scaled_matmul/per_row");
  EXPECT_THAT(ran, Code(3));
  EXPECT_THAT(ran.out, HasSubstr("the matrix unit of ascend910b takes float16, bfloat16, float32, "
                                 "hfloat32, int8, not float8_e4m3fn; compute_dtype converts "
                                 "operands first"));
}

}  // namespace
}  // namespace assay
