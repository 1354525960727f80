// assay compare: two arrays from files.
#include "program.h"

namespace assay {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

class Compare : public ProgramTest {
 protected:
  // Makes NumPy's arrays in every dtype and layout. Each file is named after what it holds.
  void make_arrays() const {
    python(R"py(
import numpy as np
r = np.random.default_rng(0)
a = r.standard_normal((4, 6)).astype("f4")
b = a.copy(); b[1, 2] += 0.01; b[3, 5] *= 1.0001
np.save("a.npy", a); np.save("b.npy", b); np.save("be.npy", a.astype(">f4"))
np.save("fortran.npy", np.asfortranarray(a)); np.save("f64.npy", a.astype("f8"))
np.save("f16.npy", a.astype("f2")); np.save("f16be.npy", a.astype(">f2"))
np.save("cube.npy", np.arange(24, dtype="f4").reshape(2, 3, 4))
np.save("cubef.npy", np.asfortranarray(np.arange(24, dtype="f4").reshape(2, 3, 4)))
for kind in ("i1", "i2", "i4", "i8", "u1"):
    np.save(kind + ".npy", np.arange(5, dtype=kind))
np.save("i4be.npy", np.arange(5, dtype=">i4"))
np.save("bool.npy", np.array([True, False])); np.save("scalar.npy", np.float32(1.5))
np.save("none.npy", np.zeros((0, 3), "f4")); np.save("flat.npy", a.ravel())
bits = (a.view("u4") >> 16).astype("u2")
np.save("bfV.npy", bits.view("V2")); np.save("bfu.npy", bits)
np.save("bf_f4.npy", (bits.astype("u4") << 16).view("f4"))
bits.tofile("bf.raw"); a.tofile("a.raw")
np.save("complex.npy", a * (1 - 2j)); np.save("text.npy", np.array(["ab"]))
np.save("object.npy", np.array([1, "a"], dtype=object))
np.save("record.npy", np.zeros(3, dtype=[("a", "f4"), ("b", "i4")]))
whole = open("a.npy", "rb").read()
open("cut.npy", "wb").write(whole[:-7]); open("head.npy", "wb").write(whole[:50])
open("no.npy", "w").write("hello"); open("zero.npy", "w")
)py");
  }
};

TEST_F(Compare, FailShowsTheWorstElementsAndAllMetrics) {
  make_arrays();
  const Ran ran = run("assay compare a.npy b.npy --rtol 1e-3 --atol 1e-3");
  EXPECT_THAT(ran, Exits(1));
  EXPECT_THAT(ran.out, StartsWith("fail: 1 of 24 elements (4.2 %) differs by more than atol 0.001 "
                                  "+ rtol 0.001 * |expected|\nwhich are:\n  [1, 2]: actual "));
  EXPECT_THAT(ran.out,
              HasSubstr("\nreproduce: assay compare a.npy b.npy --rtol 0.001 --atol 0.001\n"));
  for (const char* metric :
       {"elements", "bit-identical", "max abs error", "mean abs error", "max rel error", "MERE",
        "RMSE", "bias", "max ulp", "SNR", "cosine", "relative L2", "special values", "zeros"}) {
    EXPECT_THAT(ran.out, HasSubstr(std::string("\n  ") + metric)) << metric;
  }
}

TEST_F(Compare, EqualArraysOfEveryLayoutPass) {
  make_arrays();
  run("for f in *.npy; do cp $f copy_$f; done");
  for (const char* pair :
       {"a.npy copy_a.npy", "be.npy a.npy", "a.npy be.npy", "fortran.npy a.npy",
        "cubef.npy cube.npy", "f16be.npy f16.npy", "i4be.npy i4.npy", "i1.npy copy_i1.npy",
        "i2.npy copy_i2.npy", "i8.npy copy_i8.npy", "u1.npy copy_u1.npy", "bool.npy copy_bool.npy",
        "scalar.npy copy_scalar.npy", "a.npy f64.npy", "f64.npy copy_f64.npy",
        "bfV.npy bf_f4.npy --dtype bfloat16", "bfu.npy bfV.npy --dtype bfloat16",
        "bf.raw bf_f4.npy --dtype bfloat16 --shape 4,6",
        "a.raw a.npy --dtype float32 --shape 4,6"}) {
    EXPECT_THAT(run(std::string("assay compare ") + pair + " --standard bit_equal"), Exits(0))
        << pair;
  }
}

TEST_F(Compare, WhatIsNotComparableOrNothing) {
  make_arrays();
  Ran ran = run("assay compare a.npy flat.npy");
  EXPECT_THAT(ran, Exits(3));
  EXPECT_THAT(ran.out, StartsWith("not_comparable: the output's shape is [4, 6], the expected one "
                                  "is [24]; nothing is broadcast\n"));
  EXPECT_THAT(run("assay compare a.npy i4.npy"), Exits(3));
  ran = run("assay compare none.npy none.npy");
  EXPECT_THAT(ran, Exits(4));
  EXPECT_THAT(ran.out, StartsWith("untrusted: there are no elements to compare\n"));
  ran = run("assay compare f64.npy f64.npy --standard triton_ascend");
  EXPECT_THAT(ran, Exits(3));
  EXPECT_THAT(ran.out, StartsWith("not_comparable: standard triton_ascend has no tolerance for "
                                  "float64; default, torch, "));
  EXPECT_THAT(ran.out, HasSubstr(" have one; give --rtol and --atol, or --standard\n"));
}

TEST_F(Compare, FilesThatAreNoArrays) {
  make_arrays();
  const std::pair<const char*, const char*> refused[] = {
      {"nope.npy", "cannot be opened: No such file or directory"},
      {"cut.npy", "is truncated: it ends before the array does"},
      {"no.npy", "is not an .npy file"},
      {"zero.npy", "is not an .npy file"},
      {"text.npy", "holds elements of type '<U2': text, which is not compared"},
  };
  for (const auto& [file, message] : refused) {
    const std::string line = std::string("error: ") + file + ": " + message;
    EXPECT_THAT(run(std::string("assay compare ") + file + " a.npy"), Exits(2, line));
    EXPECT_THAT(run(std::string("assay compare a.npy ") + file), Exits(2, line));
  }
  for (const char* file : {"head.npy", "object.npy", "record.npy", "bin", "bfu.npy", "bfV.npy"}) {
    const Ran ran = run(std::string("assay compare ") + file + " a.npy");
    EXPECT_THAT(ran, Code(2)) << file;
    EXPECT_THAT(ran.err, StartsWith(std::string("error: ") + file + ": ")) << file;
    EXPECT_EQ(std::count(ran.err.begin(), ran.err.end(), '\n'), 1) << ran.err;
    EXPECT_THAT(ran.out, IsEmpty()) << file;
  }
}

TEST_F(Compare, RawBytesNeedDtypeAndShape) {
  make_arrays();
  EXPECT_THAT(run("assay compare a.raw a.npy"),
              Exits(2,
                    "error: a.raw: is read as raw bytes, and nothing says what they are: give "
                    "--dtype, name it as in x_bfloat16.bin, or write a.raw.json with {\"dtype\": "
                    "\"bfloat16\", \"shape\": [2, 3]}"));
  EXPECT_THAT(run("assay compare a.raw a.npy --dtype float32 --shape 4,5"),
              Exits(2, "error: a.raw: has 96 bytes; float32 of shape [4, 5] needs 80"));
  EXPECT_THAT(
      run("assay compare a.raw a.npy --dtype float32 --shape 4x6"),
      Exits(2,
            "error: --shape '4x6': sizes joined by commas are needed, such as 64,512, or scalar"));
  EXPECT_THAT(run("assay compare a.raw a.npy --dtype float33 --shape 4,6"),
              Exits(2,
                    "error: unknown dtype 'float33': did you mean 'float32'?; "
                    "docs/formats.md lists all"));
  EXPECT_THAT(run("assay compare a.raw a.npy --dtype float32 --shape 4611686018427387904,6"),
              Code(2));
}

TEST_F(Compare, DatasetsOfHdf5Files) {
  make("g.h5", {product("x", 0.5)});
  EXPECT_THAT(run("assay compare g.h5:/cases/x/outputs/p g.h5:/cases/x/golden"), Exits(1));
  make("h.h5", {product("x", 0.5)});
  EXPECT_THAT(run("assay compare g.h5:/cases/x/golden h.h5:/cases/x/golden --standard torch"),
              Exits(0));
  EXPECT_THAT(run("assay compare g.h5 g.h5:/cases/x/golden"),
              Exits(2, "error: g.h5: name the dataset in it, as in file.h5:/cases/x/golden"));
  EXPECT_THAT(run("assay compare g.h5:/cases/x/outputs/q g.h5:/cases/x/golden"),
              Exits(2, "error: g.h5: /cases/x/outputs/q: does not exist"));
  EXPECT_THAT(run("assay compare g.h5:/cases/x g.h5:/cases/x/golden"),
              Exits(2, "error: g.h5: /cases/x: must be a dataset"));
  EXPECT_THAT(run("assay compare none.h5:/x g.h5:/cases/x/golden"),
              Exits(2, "error: none.h5: cannot be opened: No such file or directory"));
  write("text.h5", "text");
  EXPECT_THAT(run("assay compare text.h5:/x g.h5:/cases/x/golden"), Code(2));
}

// Any HDF5 file's dataset can be compared, even if it has no attribute of assay. Its stored type
// gives the dtype.
TEST_F(Compare, PlainHdf5Files) {
  python(R"py(
import h5py, numpy as np
with h5py.File("plain.h5", "w") as f:
    f["x"] = np.arange(6, dtype="f4").reshape(2, 3)
    f["y"] = np.arange(6, dtype="f8").reshape(2, 3)
    f["bits"] = np.array([0x3f80, 0x4000], dtype="u2")
    f["one"] = np.array([1, 2], dtype="f4")
)py");
  EXPECT_THAT(run("assay compare plain.h5:/x plain.h5:/y --standard bit_equal"), Exits(0));
  EXPECT_THAT(run("assay compare plain.h5:/bits plain.h5:/one --dtype bfloat16 "
                  "--standard bit_equal"),
              Exits(0));
}

TEST_F(Compare, JsonOfOneVerdict) {
  make_arrays();
  const Ran ran = run("assay compare a.npy b.npy --json -");
  EXPECT_THAT(ran, Exits(1));
  const auto verdict = parsed(ran.out);
  EXPECT_EQ(verdict["schema"], 2);
  EXPECT_EQ(verdict["outcome"], "fail");
  EXPECT_EQ(verdict["mismatches"], 2);
  EXPECT_EQ(verdict["sites"], 24);
  EXPECT_THAT(run("assay compare a.npy b.npy --json r.json --quiet"), Exits(1));
  EXPECT_EQ(json("r.json"), verdict);
  EXPECT_THAT(run("assay compare a.npy b.npy --quiet --json /dev/full"),
              Exits(2, "error: /dev/full: cannot be written: No space left on device"));
}

TEST_F(Compare, UnknownStandardNamesNoCase) {
  make_arrays();
  const Ran ran = run("assay compare a.npy b.npy --standard tourch");
  EXPECT_THAT(ran, Code(2));
  EXPECT_THAT(ran.err, StartsWith("error: unknown standard 'tourch': did you mean 'torch'?"));
}

TEST_F(Compare, ReproducerGivesTheSameVerdict) {
  make_arrays();
  std::filesystem::rename(path("a.npy"), path("it's a.npy"));
  const Ran first =
      run("assay compare \"it's a.npy\" b.npy --standard 'ulp(4)' --rtol 1e-7 --equal-nan");
  EXPECT_THAT(first, Exits(1));
  const std::size_t at = first.out.find("reproduce: ") + 11;
  const Ran again = run(first.out.substr(at, first.out.find('\n', at) - at));
  EXPECT_EQ(again.code, 1);
  EXPECT_EQ(again.out, first.out);
}

// The numbers of mismatches agree with NumPy's, on thousands of arrays of every kind.
TEST_F(Compare, CountsAgreeWithNumpy) {
  const Ran ran = run(ASSAY_PYTHON " '" ASSAY_SOURCE_DIR "/tests/tools/numpy_counts.py'");
  EXPECT_EQ(ran.code, 0) << ran.out << ran.err;
}

TEST_F(Compare, WhatIsAskedForInVainIsRefused) {
  python(
      "import numpy\n"
      "numpy.save('a.npy', numpy.ones((3, 4), 'f4'))\n"
      "numpy.save('b.npy', numpy.ones((3, 4), 'f4'))\n"
      "open('c.npy', 'wb').write(open('a.npy', 'rb').read() + b'1234')\n");
  EXPECT_THAT(
      run("assay compare a.npy b.npy --dtype bf16"),
      Exits(
          2,
          "error: --dtype bf16: a.npy has the dtype float32, and b.npy has float32; leave it out"));
  EXPECT_THAT(
      run("assay compare a.npy b.npy --shape 4,3"),
      Exits(2,
            "error: --shape 4,3: a.npy has the shape [3, 4], and b.npy has [3, 4]; leave it out"));
  EXPECT_THAT(run("assay compare c.npy b.npy"),
              Exits(2,
                    "error: c.npy: has 4 bytes after its array, as if it were two files in one, or "
                    "written over a longer one; save the array again"));
}

}  // namespace
}  // namespace assay
