// Tests complex numbers in every subcommand that takes them.
#include <assay/judge/standards.h>

#include "program.h"

namespace assay {
namespace {

using testing::AllOf;
using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

class ComplexNumbers : public ProgramTest {
 protected:
  // Makes a case of complex64 with a golden result of complex128, and an output that is off by
  // `off` in the imaginary part of [1, 2].
  static Case turned(const std::string& name, double off = 0) {
    std::vector<double> right;
    for (int i = 0; i < 12; ++i) right.insert(right.end(), {1.0 + i, -2.0 - i});
    std::vector<double> got = right;
    got[13] += off;
    Case c;
    c.name = name;
    c.op = "external";
    c.attributes["output_dtype"] = std::string("complex64");
    c.attributes["standard"] = std::string("torch");
    c.output().golden = Tensor::from_values(format_named("complex128"), {3, 4}, right);
    c.output().recorded["p"].tensor = Tensor::from_values(format_named("complex64"), {3, 4}, got);
    return c;
  }
};

// Verdicts of single pairs, and metrics, are those of NumPy and PyTorch.
TEST_F(ComplexNumbers, VerdictsAgreeWithNumpyAndPyTorch) {
  const Ran ran = run(ASSAY_PYTHON " '" ASSAY_SOURCE_DIR "/tests/tools/complex_counts.py'");
  EXPECT_EQ(ran.code, 0) << ran.out << ran.err;
}

TEST_F(ComplexNumbers, GateShowsThemAsComplexNumbers) {
  make("g.h5", {turned("good"), turned("off", 0.5)});
  const Ran ran = run("assay gate g.h5 --json r.json --histograms --junit r.xml --html r.html");
  EXPECT_THAT(ran, Exits(1));
  EXPECT_THAT(
      ran.out,
      HasSubstr("off: fail: 1 of 12 elements (8.3 %) differs by more than atol 1e-05 + rtol "
                "1.3e-06 * |expected| (the case's own bound)\nwhich are:\n  [1, 2]: actual "
                "7-7.5j (0x40e00000, 0xc0f00000), expected 7-8j (0x40e00000, 0xc1000000), "
                "error 0.5, bound 2.382e-05\n"));
  const auto worst = json("r.json")["cases"][1]["verdicts"][0]["worst"][0];
  EXPECT_EQ(worst.dump(), R"({"actual":[7.0,-7.5],"actual_bits":["0x40e00000","0xc0f00000"],)"
                          R"("bound":2.3819189556555047e-05,"error":0.5,"expected":[7.0,-8.0],)"
                          R"("expected_bits":["0x40e00000","0xc1000000"],"index":[1,2],)"
                          R"("ulps":"nan"})");
  // `regate` can judge the saved metrics of complex numbers again.
  EXPECT_THAT(run("assay regate r.json --rtol 0.1 --atol 1e-5"), Code(0));
  const Ran shown = run("assay inspect g.h5");
  EXPECT_THAT(shown, Exits(0));
  EXPECT_THAT(shown.out, AllOf(HasSubstr("complex128 [3, 4]"), HasSubstr("complex64 [3, 4]")));
}

// Each kind of file gives back the bits that it was given.
TEST_F(ComplexNumbers, PackedAndUnpackedWithoutLoss) {
  python(R"py(
import numpy as np, os
r = np.random.default_rng(0)
for side in ("out", "gold"):
    os.mkdir(side)
    a = (r.integers(-9, 9, (3, 5)) + 1j * r.integers(-9, 9, (3, 5))) / 4
    a[0, :3] = [complex(np.nan, -0.0), complex(-np.inf, 1), complex(-0.0, 5e-324)]
    np.save(side + "/wide.npy", a)
    np.save(side + "/narrow.npy", a.astype("c8"))
    np.stack([a.real, a.imag], -1).astype("f2").tofile(side + "/half_complex32__shape_3x5.bin")
)py");
  EXPECT_THAT(run("assay pack gold --outputs out --out all.h5"), Code(0));
  for (const char* kind : {"npy", "bin", "pt"}) {
    const std::string folder = std::string("as_") + kind;
    const Ran unpacked = run("assay unpack all.h5 --as " + std::string(kind) + " --out " + folder);
    ASSERT_THAT(unpacked, Code(0)) << kind;
    EXPECT_THAT(run("assay pack " + folder + " --out again_" + kind + ".h5"), Code(0)) << kind;
    python("kind = '" + std::string(kind) + "'" + R"py(
import h5py, numpy as np
def tensors(path):
    found = {}
    with h5py.File(path) as f:
        f["cases"].visititems(lambda name, item: found.update({name: (item.attrs["dtype"], item.shape, item[()].tobytes())})
                     if isinstance(item, h5py.Dataset) else None)
    return found
first, again = tensors("all.h5"), tensors(f"again_{kind}.h5")
assert len(first) == 6 and {v[0] for v in first.values()} == {"complex128", "complex64", "complex32"}, first.keys()
assert sorted(first.values()) == sorted(again.values()), (first.keys(), again.keys())
)py");
  }
  const Ran refused = run("assay unpack all.h5 --as safetensors --out no");
  EXPECT_THAT(refused.err, HasSubstr("safetensors files cannot hold the dtype complex"));
}

// Every standard judges a complex output, or refuses it with one sentence that gives the reason.
TEST_F(ComplexNumbers, EveryStandardJudgesOrRefuses) {
  make("g.h5", {turned("x", 0.5)});
  std::vector<std::string> names = {"ulp(4)",
                                    "bit_equal",
                                    "accumulation",
                                    "expected_error",
                                    "indices",
                                    "indices(torch)",
                                    "distribution(normal,mean=0,deviation=1)"};
  for (const Standard& s : standards()) names.emplace_back(s.name);
  std::vector<std::string> judging;
  for (const std::string& name : names) {
    const Ran ran = run("assay gate g.h5 --standard '" + name + "'");
    if (ran.code == 1) {
      judging.push_back(name);
      EXPECT_THAT(ran.out, HasSubstr("[1, 2]: actual 7-7.5j")) << name;
      continue;
    }
    EXPECT_THAT(ran, Exits(3)) << name;
    EXPECT_THAT(
        ran.out,
        HasSubstr("x: not_comparable: standard " + name +
                  " has no tolerance for complex64, whose elements are complex "
                  "numbers; default, torch, numpy, numpy_allclose, tensorflow and jax have one\n"))
        << name;
  }
  EXPECT_THAT(judging, testing::UnorderedElementsAre("bit_equal", "default", "torch", "numpy",
                                                     "numpy_allclose", "tensorflow", "jax"));
}

TEST_F(ComplexNumbers, WhatHasNoMeaningIsRefused) {
  make("g.h5", {turned("x")});
  EXPECT_THAT(run("assay gate g.h5 --infinity saturating").out,
              HasSubstr("standard torch takes real numbers, and the output is complex: of complex "
                        "numbers no largest one stands for infinity (infinity=saturating)"));
  EXPECT_THAT(run("assay gate g.h5 --infinity fewer"), Exits(0));
  const Ran mutated = run("assay gate g.h5 --mutate");
  EXPECT_THAT(mutated, Code(0)) << mutated.out;
  EXPECT_THAT(mutated.out, HasSubstr("swapped_rows"));
  EXPECT_THAT(run("assay inject g.h5 --fault flip,bit=3 --out no.h5"),
              Exits(3,
                    "error: g.h5: case x: the output is complex64, but faults can be put only into "
                    "real numbers; record its parts as float32\nerror: g.h5: the only case was not "
                    "changed; no.h5 is not "
                    "written"));
  EXPECT_THAT(
      run("assay gate g.h5 --abft").out,
      HasSubstr(
          "abft: the output is complex64, but checksums can be computed only for real numbers\n"));
  EXPECT_THAT(run("assay generate matmul --m 4 --n 4 --k 4 --dtype complex64 --out no.h5").code,
              testing::AnyOf(2, 3));
  EXPECT_FALSE(exists("no.h5"));
  python(
      "import numpy as np\n"
      "np.save('r.npy', np.ones(3)); np.save('c.npy', np.ones(3, 'c8'))\n");
  EXPECT_THAT(run("assay compare r.npy c.npy --rtol 0 --atol 0").out,
              StartsWith("not_comparable: the output is float64, the expected result complex64: "
                         "one is complex and one is real\n"));
}

}  // namespace
}  // namespace assay
