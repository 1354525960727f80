"""Arrays of PyTorch and ml_dtypes. Where a package is missing its tests are skipped; small stand-ins,
which refuse what the real ones refuse, hold the code to the calls that it may make."""
import sys
import types
import unittest
from unittest import mock

import numpy as np

from assay_data import Case, Dataset, FORMATS, Tensor, assert_gate, write
from support import TestCase, codes, tensor

try:
    import ml_dtypes
except ImportError:
    ml_dtypes = None
try:
    import torch
except ImportError:
    torch = None

OWN = [name for name, fmt in FORMATS.items() if not fmt.native and fmt.parts == 1]  # none of numpy's
OF_ML_DTYPES = [name for name in OWN if name not in ("hifloat8", "float_e5m6")]
OF_TORCH = ["bfloat16", "float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz", "float8_e5m2fnuz",
            "float8_e8m0fnu"]


class FakeDtype:
    def __init__(self, name, storage):
        self.name, self.storage = name, storage

    def __str__(self):
        return f"torch.{self.name}"


class FakeTensor:
    """As much of torch.Tensor as is used. numpy() fails where numpy has no such dtype, on what needs
    a gradient and on what is on a device, as the real one does."""

    def __init__(self, data, dtype, grad=False, device="cpu", layout="strided"):
        self.data, self.dtype, self.grad, self.device = data, dtype, grad, device
        self.layout, self.is_quantized = layout, False

    def detach(self):
        return FakeTensor(self.data, self.dtype, False, self.device, self.layout)

    def cpu(self):
        return FakeTensor(self.data, self.dtype, self.grad, "cpu", self.layout)

    def resolve_neg(self):
        return self

    def view(self, dtype):
        if np.dtype(dtype.storage).itemsize != self.data.dtype.itemsize:
            raise RuntimeError("another width")
        return FakeTensor(self.data.view(dtype.storage), dtype, self.grad, self.device)

    def numpy(self):
        if self.grad or self.device != "cpu" or self.dtype.name in OF_TORCH:
            raise TypeError(f"Got unsupported ScalarType {self.dtype.name}")
        return self.data


def fake_torch(without=()):
    module = types.SimpleNamespace(Tensor=FakeTensor, strided="strided", __version__="2.0")
    for name in ("float64", "float32", "float16", "int64", "int32", "int16", "int8", "uint8",
                 "bool"):
        setattr(module, name, FakeDtype(name, name))
    for name in OF_TORCH:
        if name not in without:
            setattr(module, name, FakeDtype(name, f"<u{FORMATS[name].storage_bytes}"))

    def from_numpy(array):
        if array.dtype.name not in vars(module):
            raise TypeError(f"can't convert np.ndarray of type {array.dtype}")
        return FakeTensor(array, getattr(module, array.dtype.name))
    module.from_numpy = from_numpy
    return module


class StandInTorch(TestCase):
    def setUp(self):
        super().setUp()
        self.torch = fake_torch()
        patch = mock.patch.dict(sys.modules, {"torch": self.torch})
        patch.start()
        self.addCleanup(patch.stop)

    def test_there_and_back(self):
        for name in OF_TORCH + ["float64", "float32", "float16", "int64", "int8", "uint8", "bool"]:
            with self.subTest(name):
                given = FakeTensor(codes(name).view(getattr(self.torch, name).storage),
                                   getattr(self.torch, name), grad=True, device="npu:0")
                self.assertEqual(Tensor.of(given), tensor(name))
                back = tensor(name).torch()
                self.assertIs(back.dtype, getattr(self.torch, name))
                self.assertEqual(back.data.tobytes(), codes(name).tobytes())

    def test_patterns_and_others(self):
        bits = FakeTensor(codes("hifloat8"), self.torch.uint8)
        self.assertEqual(Tensor.of(bits, "hifloat8"), tensor("hifloat8"))
        grid = FakeTensor(codes("tfloat32").view("<f4"), self.torch.float32)
        self.assertEqual(Tensor.of(grid, "tfloat32"), tensor("tfloat32"))
        self.assertIs(tensor("tfloat32").torch().dtype, self.torch.float32)
        self.refusal(TypeError, Tensor.of, grid, "bfloat16")
        packed = FakeTensor(np.zeros(1, "u1"), FakeDtype("float4_e2m1fn_x2", "u1"))
        self.assertIn("torch.float4_e2m1fn_x2 is no dtype of a dataset file",
                      self.refusal(TypeError, Tensor.of, packed))
        sparse = FakeTensor(np.zeros(1), self.torch.float64, layout="sparse")
        self.assertIn("sparse or quantized", self.refusal(TypeError, Tensor.of, sparse))
        self.assertEqual(self.refusal(TypeError, tensor("hifloat8").torch),
                         "PyTorch 2.0 has no hifloat8: use .bits")

    def test_an_older_one(self):
        with mock.patch.dict(sys.modules, {"torch": fake_torch(without=OF_TORCH[1:])}):
            self.assertEqual(tensor("bfloat16").torch().dtype.name, "bfloat16")
            self.refusal(TypeError, tensor("float8_e5m2").torch)


class StandInMlDtypes(TestCase):
    def test_to_numpy(self):
        # No dtype of Python's own can be registered: void of the same width stands for one.
        module = types.SimpleNamespace(
            __version__="0.0", **{name: np.dtype(f"V{FORMATS[name].storage_bytes}")
                                  for name in OF_ML_DTYPES if name != "float6_e2m3fn"})
        with mock.patch.dict(sys.modules, {"ml_dtypes": module}):
            for name in OF_ML_DTYPES:
                if hasattr(module, name):
                    self.assertEqual(tensor(name).numpy().tobytes(), codes(name).tobytes())
            for name in ("hifloat8", "float_e5m6", "float6_e2m3fn"):
                self.assertEqual(self.refusal(TypeError, tensor(name).numpy),
                                 f"neither numpy nor ml_dtypes 0.0 has {name}: use .bits")

    def test_without_it(self):
        with mock.patch.dict(sys.modules, {"ml_dtypes": None}):
            for name in OWN:
                self.assertEqual(self.refusal(TypeError, tensor(name).numpy),
                                 f"numpy has no {name}: install ml_dtypes, or use .bits")


@unittest.skipIf(ml_dtypes is None, "ml_dtypes is not installed")
class MlDtypes(TestCase):
    def setUp(self):
        super().setUp()
        self.names = [name for name in OF_ML_DTYPES if hasattr(ml_dtypes, name)]

    def test_every_code_there_and_back(self):
        for name in self.names:
            for shape in ((-1,), (2, -1)):
                given = codes(name).view(getattr(ml_dtypes, name)).reshape(shape)
                self.assertEqual(Tensor.of(given).dtype, name)
                self.assertEqual(Tensor.of(given).bits.tobytes(), codes(name).tobytes())
            self.assertEqual(tensor(name).numpy().dtype, np.dtype(getattr(ml_dtypes, name)))
            self.assertEqual(tensor(name).numpy().tobytes(), codes(name).tobytes())

    def test_through_a_file_and_the_gate(self):
        path = self.directory / "f.h5"
        values = np.float32([1, 0.5, 2, 4])  # of every format
        cases = [Case(name, golden=values.astype("f8"), attributes={"output_dtype": name},
                      outputs={"numpy": values.astype(getattr(ml_dtypes, name))})
                 for name in self.names]
        write(path, cases)
        with Dataset(path) as file:
            for case in file:
                read = case.outputs["numpy"].numpy()
                self.assertEqual(read.dtype.name, case.name)
                np.testing.assert_array_equal(read.astype("f4"), values)
        assert_gate(path, rtol=1e-6, atol=0, options=["--quiet"])

    def test_refusals(self):
        for name in ("float8_e4m3b11fnuz", "int4", "uint4", "float8_e3m4"):
            if hasattr(ml_dtypes, name):
                self.assertIn(f"{name} is no dtype", self.refusal(
                    TypeError, Tensor.of, np.zeros(2, getattr(ml_dtypes, name))))
        self.refusal(TypeError, Tensor.of, np.zeros(2, ml_dtypes.bfloat16), "float16")


@unittest.skipIf(torch is None, "PyTorch is not installed")
class Torch(TestCase):
    def test_every_code_there_and_back(self):
        names = [name for name in FORMATS if hasattr(torch, name)]
        self.assertIn("bfloat16", names)
        for name in names:
            back = tensor(name).torch()
            self.assertEqual(back.dtype, getattr(torch, name))
            self.assertEqual(Tensor.of(back), tensor(name))
            self.assertEqual(Tensor.of(back.reshape(1, -1).t()).bits.tobytes(),
                             codes(name).tobytes())

    def test_values(self):
        values = torch.tensor([[1.0, -0.5], [3.140625, float("inf")]], dtype=torch.bfloat16)
        path = self.directory / "f.h5"
        write(path, Case("c", inputs={"leaf": values.clone().requires_grad_(),
                                      "strided": values.t(), "scalar": values[0, 0]},
                         golden=values.double(), outputs={"torch": values}))
        with Dataset(path) as file:
            case = file.read("c")
        self.assertEqual(case.outputs["torch"].bits.tolist(), [[0x3F80, 0xBF00], [0x4049, 0x7F80]])
        self.assertTrue(torch.equal(case.inputs["strided"].torch(), values.t()))
        self.assertTrue(torch.equal(case.inputs["leaf"].torch(), values))
        self.assertEqual(case.inputs["scalar"].shape, ())
        assert_gate(values.double(), values, standard="ulp(1)")
        self.refusal(TypeError, Tensor.of, values.to_sparse())
        turned = values.float() * (1 + 2j)
        self.assertTrue(torch.equal(Tensor.of(turned.conj()).torch(), turned.conj()))


if __name__ == "__main__":
    unittest.main()
