// Tests the vector unit's operators from a file to a verdict, and against numpy.
#include "program.h"

namespace assay {
namespace {

using testing::AllOf;
using testing::HasSubstr;

using VectorOps = ProgramTest;

TEST_F(VectorOps, EmulatedAndNumpyAreTheSameBits) {
  python(R"py(
import h5py, numpy as np
g = np.random.RandomState(1)
a, b, c = (g.randn(3, 500).astype(np.float16) for _ in range(3))
x, y = (g.randn(7, 300).astype(np.float32) for _ in range(2))
big = (x * 1e5).astype(np.float32)
with np.errstate(over="ignore"):
    rows = {
        "add": ({"a": a, "b": b}, {}, a + b),
        "sub": ({"a": x, "b": y}, {}, x - y),
        "mul": ({"a": a, "b": np.float16(3)}, {}, a * np.float16(3)),
        "div": ({"a": x, "b": y}, {}, x / y),
        "fma": ({"a": a, "b": b, "c": c}, {"fused": 0}, a * b + c),
        "cast": ({"x": big}, {"output_dtype": "float16", "saturate": 0}, big.astype(np.float16)),
        "reduce_sum": ({"x": x}, {"axis": 1, "order": "sequential"}, np.cumsum(x, axis=1)[:, -1]),
        "reduce_max": ({"x": a}, {"axis": 0}, a.max(axis=0)),
    }
with h5py.File("in.h5", "w") as f:
    f.attrs["assay_schema"] = 1
    for op, (inputs, attributes, result) in rows.items():
        case = f.create_group("cases/" + op)
        case.attrs["op"] = op
        for k, v in attributes.items(): case.attrs[k] = v
        for k, v in {**{"inputs/" + k: v for k, v in inputs.items()}, "outputs/numpy": result}.items():
            case[k] = v
            case[k].attrs["dtype"] = str(np.asarray(v).dtype)
)py");
  EXPECT_THAT(run("assay golden in.h5 --out golden.h5 --tolerance"), Exits(0));
  EXPECT_THAT(run("assay emulate golden.h5 --machine ascend910b --out out.h5"), Exits(0));
  python(R"py(
import h5py
with h5py.File("out.h5") as f:
    for op, case in f["cases"].items():
        machine, numpy = case["outputs/ascend910b"][()], case["outputs/numpy"][()]
        assert machine.dtype == numpy.dtype and machine.tobytes() == numpy.tobytes(), op
        assert case["golden"].dtype == "f8", op
)py");
  const Ran gated = run("assay gate out.h5 --recorded ascend910b");
  EXPECT_THAT(gated, Exits(0));
  EXPECT_THAT(gated.out, HasSubstr("8 cases: 8 pass"));
}

// Derived tolerances bound the error of a result against the exact golden result, not its distance
// from a rounded golden result. In this test, an element and its golden value are rounded to
// different sides of a tie, and the element passes.
TEST_F(VectorOps, DerivedTolerancesHold) {
  EXPECT_THAT(run("assay generate softmax --dtype bfloat16 --shape 16,512 --tolerance --out s.h5"),
              Exits(0));
  EXPECT_THAT(run("assay gate s.h5 --machine ascend910b --standard 'ulp(0)'"), Exits(1));
  EXPECT_THAT(run("assay gate s.h5 --machine ascend910b"), Exits(0));
}

TEST_F(VectorOps, ListsShowThem) {
  EXPECT_THAT(run("assay list operators").out,
              AllOf(HasSubstr("\nreduce_sum: "), HasSubstr("axis"), HasSubstr("order=pairwise"),
                    HasSubstr("\nfma: "), HasSubstr("fused")));
  EXPECT_THAT(run("assay list machines").out,
              AllOf(HasSubstr("vector unit: overflow saturating (documented), subnormals gradual "
                              "(assumed), multiply-add rounds once (assumed)"),
                    HasSubstr("repeat of 128 (documented)")));
}

TEST_F(VectorOps, WhatCannotBeComputedIsNamed) {
  Case c;
  c.name = "x";
  c.op = "add";
  const Format& f16 = format_named("float16");
  c.inputs["a"] = Tensor::from_values(f16, {2}, std::vector<double>{1, 2});
  c.inputs["b"] = Tensor::from_values(f16, {1}, std::vector<double>{1});
  make("in.h5", {c});
  EXPECT_THAT(run("assay golden in.h5 --out o.h5").err,
              HasSubstr("error: in.h5: case x: a is [2] and b is [1]; add takes operands of one "
                        "shape, or scalars of rank 0: nothing else broadcasts"));
  EXPECT_FALSE(exists("o.h5"));
}

}  // namespace
}  // namespace assay
