// Tests cases that are stored as the rows of arrays. Every reader reports the same about each row
// as about the same case in a file of separate cases.
#include "assay/base/text.h"
#include "program.h"

namespace assay {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class Rows : public ProgramTest {
 protected:
  // Makes 23 rows, two of which are wrong. packed.h5 has them as rows, and plain.h5 as cases of the
  // same names.
  void SetUp() override {
    python(R"py(
import h5py, numpy as np
rng = np.random.default_rng(7)
a, b = rng.standard_normal((2, 23, 4, 5)).astype("f4")
golden = a.astype("f8") + b
output = golden.astype("f4")
output[4, 2, 1] *= np.float32(1.5)
output[17, 0, 0] = np.nan
arrays = {"inputs/a": a, "inputs/b": b, "golden": golden, "outputs/npu": output}
def put(group, arrays):
    group.attrs["op"], group.attrs["rtol"], group.attrs["atol"] = "add", 1e-5, 1e-6
    for name, data in arrays.items():
        group.create_dataset(name, data=data).attrs["dtype"] = str(data.dtype)
for file, says_so in (("packed.h5", 1), ("silent.h5", None), ("zero.h5", 0)):
    with h5py.File(file, "w") as f:
        f.attrs["assay_schema"] = 1
        if says_so is not None: f.attrs["rows_are_cases"] = says_so
        put(f.create_group("cases/add/f32"), arrays)
with h5py.File("plain.h5", "w") as f:
    f.attrs["assay_schema"] = 1
    for i in range(23):
        put(f.create_group(f"cases/add/f32/{i:02}"), {n: d[i] for n, d in arrays.items()})
import os
for side, data in (("out", output), ("gold", golden)):
    os.mkdir(side)
    np.save(side + "/sum.npy", data.astype("f4"))
)py");
  }

  // Returns the cases of a result without the fields that differ from run to run.
  nlohmann::ordered_json cases_of(const std::string& path) const {
    auto cases = json(path)["cases"];
    for (auto& c : cases) {
      c.erase("seconds");
      c.erase("reproduce");
    }
    return cases;
  }

  // Changes a file by lines of Python, in which the file is `f`.
  void change(const std::string& file, const std::string& lines) const {
    python(formatted("import h5py, numpy as np\nwith h5py.File('{}', 'r+') as f:\n    {}\n", file,
                     lines));
  }
};

TEST_F(Rows, AreJudgedAsTheCasesThatTheyAre) {
  for (const char* options :
       {"", " --standard torch", " --threads 3", " --machine ascend910b", " --mutate"}) {
    const Ran rows = run(formatted("assay gate packed.h5 --json rows.json{}", options));
    const Ran cases = run(formatted("assay gate plain.h5 --json cases.json{}", options));
    ASSERT_EQ(rows.code, cases.code) << options << rows.err;
    if (rows.code > 1) {
      EXPECT_EQ(rows.err.substr(rows.err.find(':')), cases.err.substr(cases.err.find(':')));
      continue;
    }
    EXPECT_EQ(cases_of("rows.json"), cases_of("cases.json")) << options;
    EXPECT_EQ(cases_of("rows.json").size(), 23u) << options;
  }
  const Ran ran = run("assay gate packed.h5");
  EXPECT_THAT(ran, Exits(1));
  EXPECT_THAT(ran.out, AllOf(HasSubstr("23 cases: 21 pass, 2 fail\n"),
                             HasSubstr("\nadd/f32/04: fail: 1 of 20 elements"),
                             HasSubstr("\n  [2, 1]: actual"),
                             HasSubstr("\nadd/f32/17: fail: 1 of 20 elements")));
  // Failed rows that are saved to a file become ordinary cases.
  EXPECT_THAT(run("assay gate packed.h5 --save-failures failed.h5 -q"), Exits(1));
  EXPECT_THAT(run("assay gate failed.h5").out, HasSubstr("\n2 cases: 2 fail\n"));
  // A row can be chosen by its name, as in the reproducer line.
  EXPECT_THAT(run("assay gate packed.h5 --case add/f32/04 --recorded npu"), Exits(1));
  EXPECT_THAT(run("assay gate packed.h5 --case add/f32/05 --recorded npu"), Exits(0));
  EXPECT_THAT(run("assay gate packed.h5 --case add/f32/23"), Code(3));
  EXPECT_THAT(run("assay gate packed.h5 --case add/f32/4"), Code(3));
}

TEST_F(Rows, OfAFileThatDoesNotSaySo) {
  for (const char* file : {"silent.h5", "zero.h5"}) {
    EXPECT_THAT(run(formatted("assay gate {}", file)).out, HasSubstr("\n1 case: 1 fail\n")) << file;
    const Ran ran = run(formatted("assay gate {} --rows-are-cases", file));
    EXPECT_THAT(ran, Exits(1)) << file;
    EXPECT_THAT(ran.out, AllOf(HasSubstr("23 cases: 21 pass, 2 fail\n"),
                               HasSubstr(" --recorded npu --rows-are-cases\n")))
        << file;
  }
  change("zero.h5", "f.attrs['rows_are_cases'] = 'yes'");
  const Ran ran = run("assay gate zero.h5");
  EXPECT_THAT(ran, Code(2));
  EXPECT_THAT(ran.err,
              HasSubstr("zero.h5: /: its attribute 'rows_are_cases' is yes; it must be 0 or 1"));
}

TEST_F(Rows, OfArrays) {
  const Ran ran = run("assay gate gold --outputs out --rows-are-cases --rtol 1e-5 --atol 1e-6");
  EXPECT_THAT(ran, Exits(1)) << ran.err;
  EXPECT_THAT(ran.out, AllOf(HasSubstr("23 cases: 21 pass, 2 fail\n"), HasSubstr("/04: fail"),
                             HasSubstr("/17: fail")));
  const Ran pairs =
      run("assay gate --pairs 'out/*.npy' 'gold/*.npy' --rows-are-cases --rtol 1e-5 --atol 1e-6");
  EXPECT_THAT(pairs, Exits(1)) << pairs.err;
  EXPECT_THAT(pairs.out, HasSubstr("23 cases: 21 pass, 2 fail\n"));
}

TEST_F(Rows, ThatAreNotAsManyAreRefused) {
  change("packed.h5",
         "del f['cases/add/f32/golden']; f['cases/add/f32/golden'] = np.ones((22, 4, 5));"
         "f['cases/add/f32/golden'].attrs['dtype'] = 'float64'");
  const Ran ran = run("assay gate packed.h5");
  EXPECT_THAT(ran, Code(2));
  EXPECT_THAT(ran.err,
              HasSubstr("packed.h5: /cases/add/f32/golden: has 22 rows, but inputs/a has 23 rows; "
                        "if rows are cases, all tensors of a case need the same number of rows"));
  change("packed.h5",
         "del f['cases/add/f32/golden']; f['cases/add/f32/golden'] = np.float64(1);"
         "f['cases/add/f32/golden'].attrs['dtype'] = 'float64'");
  EXPECT_THAT(run("assay gate packed.h5").err,
              HasSubstr("/cases/add/f32/golden: is a scalar: it has no rows that could be cases"));
  python("import numpy as np\nnp.save('none.npy', np.ones((0, 3), 'f4'))");
  const Ran none = run("assay gate none.npy --outputs none.npy --rows-are-cases");
  EXPECT_THAT(none, Code(3));
  EXPECT_THAT(
      none.err,
      HasSubstr("its arrays have 0 rows, and each row is a case; give arrays with at least 1 row"));
}

// If one element of an array that assay wrote is changed, none of the array's rows is judged.
TEST_F(Rows, ThatWereChangedAreNoticedWhicheverIsAskedFor) {
  EXPECT_THAT(run("assay generate add --dtype float32 --shape 7 --count 5000 --rows-are-cases "
                  "--out g.h5 -q; assay emulate g.h5 --machine ascend910b --out o.h5 -q"),
              Exits(0));
  EXPECT_THAT(run("assay gate o.h5"), Exits(0));
  for (const char* part : {"inputs/a", "golden", "outputs/ascend910b"}) {
    EXPECT_THAT(run("cp o.h5 changed.h5"), Exits(0));
    change("changed.h5", formatted("d = f['cases/add/float32/7/normal/seed0/{}']; x = d[4999, 6]; "
                                   "d[4999, 6] = np.nextafter(x, x.dtype.type(9))",
                                   part));
    const Ran ran = run("assay gate changed.h5 --case '*/0003'");
    EXPECT_THAT(ran, Code(2)) << part;
    EXPECT_THAT(ran.err, HasSubstr("its elements are not those that were written")) << part;
  }
}

// Cases that are generated as rows equal cases that are generated separately. The results computed
// from them are equal, too.
TEST_F(Rows, AreMadeAndComputedAsCasesAre) {
  const std::string what = "softmax --dtype float16 --shape 3,9 --count 12 --seed 5";
  EXPECT_THAT(run("assay generate " + what + " --rows-are-cases --out rows.h5 -q"), Exits(0));
  EXPECT_THAT(run("assay generate " + what + " --out cases.h5 -q"), Exits(0));
  for (const char* file : {"rows", "cases"}) {
    EXPECT_THAT(
        run(formatted("assay emulate {0}.h5 --machine ascend910b --out o.h5 -q && assay golden "
                      "o.h5 --out {0}_o.h5 -q",
                      file)),
        Exits(0));
  }
  python(R"py(
import h5py, numpy as np
with h5py.File("rows_o.h5") as rows, h5py.File("cases_o.h5") as cases:
    assert rows.attrs["rows_are_cases"] == 1 and "rows_are_cases" not in cases.attrs
    packed = rows["cases/softmax/float16/3x9/normal/seed5"]
    assert packed.attrs["source"].endswith(" --seed 5 --count 12 --rows-are-cases"), packed.attrs["source"]
    for i in range(12):
        one = cases[f"cases/softmax/float16/3x9/normal/seed{5 + i}"]
        for name in ("inputs/x", "golden", "outputs/ascend910b"):
            assert packed[name].shape == (12,) + one[name].shape
            assert (packed[name][i] == one[name][()]).all(), (i, name)
)py");
  EXPECT_THAT(run("assay gate rows_o.h5").out, HasSubstr("12 cases: 12 pass\n"));
  EXPECT_THAT(run("assay emulate rows_o.h5 --machine ascend910b --verify").out,
              HasSubstr("ascend910b: all 324 elements agree bit for bit"));
  // `pack` makes each row a separate case again.
  EXPECT_THAT(run("assay pack rows_o.h5 --out unpacked.h5 -q"), Exits(0));
  EXPECT_THAT(run("assay gate unpacked.h5").out, HasSubstr("12 cases: 12 pass\n"));

  const Ran derived = run("assay generate " + what + " --rows-are-cases --tolerance --out x.h5");
  EXPECT_THAT(derived, Code(2));
  EXPECT_THAT(
      derived.err,
      HasSubstr(
          "--tolerance gives each case its own bound, but with --rows-are-cases they share one"));
  const Ran golden = run("assay golden rows_o.h5 --tolerance --out x.h5");
  EXPECT_THAT(golden, Code(3));
  EXPECT_THAT(golden.err, HasSubstr("--tolerance gives each case its own bound, but its rows"));
}

// `inspect` shows the arrays of rows as they are stored, or each row as a case (--rows-are-cases).
TEST_F(Rows, AreShownByInspect) {
  const Ran arrays = run("assay inspect packed.h5");
  EXPECT_THAT(arrays, Exits(0));
  EXPECT_THAT(arrays.out, AllOf(HasSubstr("rows_are_cases: 1\n"), HasSubstr("\nadd/f32  add  "),
                                HasSubstr("npu float32 [23, 4, 5]")));
  EXPECT_THAT(run("assay inspect packed.h5 --verify").out, HasSubstr("; 4 have no checksum\n"));
  const Ran both = run("assay inspect packed.h5 --verify --rows-are-cases");
  EXPECT_THAT(
      both,
      Exits(2, "error: --verify reads arrays as they are stored; leave out --rows-are-cases"));
  const Ran ran = run("assay inspect packed.h5 --rows-are-cases");
  EXPECT_THAT(ran, Exits(0));
  EXPECT_THAT(ran.out, AllOf(HasSubstr("\nadd/f32/00  add  "), HasSubstr("\nadd/f32/22  add  ")));
}

}  // namespace
}  // namespace assay
