// assay gate --sample: products and attention without a golden result, judged by drawn rows.
#include <algorithm>

#include "assay/base/text.h"
#include "assay/op/operator.h"
#include "assay/op/row_sample.h"
#include "program.h"

namespace assay {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class GateSample : public ProgramTest {
 protected:
  void SetUp() override {
    ASSERT_THAT(run("assay generate matmul --dtype bfloat16 --shape 400,64,48 --name x --no-golden "
                    "--out g.h5 -q"),
                Exits(0));
    ASSERT_THAT(run("assay emulate g.h5 --machine ascend910b --out o.h5 -q"), Exits(0));
  }
  // Returns the rows of the case x that this sample reads, ascending.
  std::vector<std::int64_t> drawn(const RowSample& sample) const {
    Case c;
    c.name = "x", c.op = "matmul";
    c.inputs["a"] = Tensor(format_named("bfloat16"), {400, 64});
    c.inputs["b"] = Tensor(format_named("bfloat16"), {64, 48});
    return sample_rows(c, sample).rows;
  }
  // Changes an element of the output by a factor of 1.25.
  void change(std::int64_t row, std::int64_t column) {
    python(formatted(R"py(
import h5py, numpy as np
with h5py.File("o.h5", "r+") as f:
    found = []
    f.visititems(lambda name, at: found.append(name) if "outputs" in name and isinstance(at, h5py.Dataset) else None)
    data, attributes = f[found[0]][...], dict(f[found[0]].attrs)
    data[{0}, {1}] *= np.float32(1.25)  # h5py reads bfloat16 as float32
    del f[found[0]], f["checksums"], f.attrs["assay_checksums"]
    f[found[0]] = (data.view("u4") >> 16).astype("u2")
    for name in ("dtype", "machine"):
        if name in attributes: f[found[0]].attrs[name] = attributes[name]
)py",
                     row, column));
  }
};

TEST_F(GateSample, RowsAreJudgedAndTheReportSaysHowMany) {
  EXPECT_THAT(run("assay gate g.h5 --outputs o.h5"), Exits(3));
  const Ran ran =
      run("assay gate g.h5 --outputs o.h5 --sample rows=64,seed=1 --json r.json "
          "--junit r.xml --html r.html");
  EXPECT_THAT(ran, Exits(0));
  const std::string note =
      "64 of the 400 rows (16.0 %) were judged, drawn with seed 1; if 4.57 % of all rows were "
      "wrong, one of them would be among these with a probability of 95 %";
  EXPECT_THAT(ran.out, AllOf(HasSubstr("accumulation (operator)"),
                             HasSubstr("abft rounding_variance"), HasSubstr(note)));
  EXPECT_THAT(read("r.html"), HasSubstr("64 of the 400 rows"));
  const auto c = json("r.json")["cases"][0];
  EXPECT_EQ(c["outcome"], "pass");
  EXPECT_THAT(std::string(c["because"]), HasSubstr("of 64 of 400 rows: all 3 072 elements within"));
  EXPECT_EQ(c["shape"], (std::vector<int>{400, 48}));
  EXPECT_EQ(c["sample"]["rows"], 64);
  EXPECT_EQ(c["sample"]["of"], 400);
  EXPECT_EQ(c["sample"]["seed"], 1);
  EXPECT_NEAR(c["sample"]["seen_share"], 0.0457, 5e-5);
  EXPECT_EQ(c["abft"]["outcome"], "pass");
  EXPECT_THAT(std::string(c["reproduce"]), HasSubstr(" --sample rows=64,seed=1"));
}

// A wrong element of a drawn row is reported with its place. Only checksums can detect one in
// another row.
TEST_F(GateSample, WrongElementsAreToldByTheirPlace) {
  const std::vector<std::int64_t> rows = drawn({.rows = 20, .seed = 7});
  change(rows[3], 5);
  Ran ran =
      run("assay gate g.h5 --outputs o.h5 --sample rows=20,seed=7 --standard torch --json r.json "
          "--histograms");
  EXPECT_THAT(ran, Exits(1));
  EXPECT_THAT(ran.out, HasSubstr("of 20 of 400 rows: 1 of 960 elements"));
  const auto c = json("r.json")["cases"][0];
  ASSERT_EQ(c["verdicts"][0]["mismatches"], 1);
  EXPECT_EQ(c["verdicts"][0]["worst"][0]["index"], (std::vector<std::int64_t>{rows[3], 5}));
  EXPECT_EQ(c["verdicts"][0]["metrics"]["max_abs_index"], rows[3] * 48 + 5);
  EXPECT_EQ(c.count("where"), 0u);
  const std::string reproduce = c["reproduce"];
  EXPECT_THAT(run(reproduce.substr(reproduce.find("assay gate"))), Exits(1));

  SetUp();
  std::int64_t other = 0;
  while (std::binary_search(rows.begin(), rows.end(), other)) ++other;
  change(other, 5);
  ran = run("assay gate g.h5 --outputs o.h5 --sample rows=20,seed=7 --json r.json");
  EXPECT_THAT(ran, Exits(1));
  EXPECT_EQ(json("r.json")["cases"][0]["abft"]["outcome"], "fail");
  EXPECT_THAT(ran.out, HasSubstr(formatted("[{}, 5]", other)));
}

TEST_F(GateSample, WhatIsNotSampledIsSaid) {
  // A case with a golden result is judged by all of its elements.
  ASSERT_THAT(run("assay golden g.h5 --out whole.h5 -q"), Exits(0));
  EXPECT_THAT(run("assay gate whole.h5 --outputs o.h5 --sample rows=20 --json r.json"), Exits(0));
  const auto c = json("r.json")["cases"][0];
  EXPECT_EQ(c.count("sample"), 0u);
  EXPECT_EQ(c["verdicts"][0]["sites"], 400 * 48);
  EXPECT_EQ(
      c["verdicts"][0]["notes"][0],
      "judged as a whole by its golden result, because rows are drawn only from cases without one");
  // Rows of other operators are not drawn.
  ASSERT_THAT(
      run("assay generate add --dtype float32 --shape 4,4 --name y --no-golden --out y.h5 -q "),
      Exits(0));
  ASSERT_THAT(run("assay emulate y.h5 --machine ascend910b --out yo.h5 -q"), Exits(0));
  const Ran other = run("assay gate y.h5 --outputs yo.h5 --sample rows=20");
  EXPECT_THAT(other, Exits(3));
  EXPECT_THAT(other.out, HasSubstr("case y has no golden result; compute one from its inputs,"
                                   " and rows can be drawn only for products and attention"));
  // Options that exclude each other, and a text that is not a sample, are refused.
  EXPECT_EQ(run("assay gate g.h5 --outputs o.h5 --sample rows=20 --mutate").code, 2);
  const Ran wrong = run("assay gate g.h5 --outputs o.h5 --sample rows=x");
  EXPECT_EQ(wrong.code, 2);
  EXPECT_THAT(wrong.err,
              HasSubstr("sample 'rows=x': rows must be a whole number of at least 1, not "
                        "'x'"));
}

// Rows of attention are drawn from all heads of the batch, which have 2 * 4 * 40 = 320 rows.
TEST_F(GateSample, AttentionByHeads) {
  ASSERT_THAT(
      run("assay generate attention --dtype float16 --shape 2,4,40,32,16 --parameter causal=1 "
          "--name att --no-golden --out att.h5 -q"),
      Exits(0));
  ASSERT_THAT(run("assay emulate att.h5 --machine ascend910b --out atto.h5 -q"), Exits(0));
  EXPECT_THAT(run("assay gate att.h5 --outputs atto.h5 --sample rows=32,seed=3 --json r.json"),
              Exits(0));
  const auto c = json("r.json")["cases"][0];
  EXPECT_EQ(c["sample"]["rows"], 32);
  EXPECT_EQ(c["sample"]["of"], 320);
  EXPECT_EQ(c["verdicts"][0]["sites"], 32 * 16);
  EXPECT_EQ(c["abft"]["outcome"], "pass");
}

}  // namespace
}  // namespace assay
