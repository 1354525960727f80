"""Tests arrays of numpy, ml_dtypes, PyTorch and others, used in place. The tests of a missing package are
skipped. Stand-ins for ml_dtypes and for a tensor on a device test the code without these."""
import ctypes
import pickle
import sys
import types
import unittest
from unittest import mock

import numpy as np

import assay
from assay import Tensor
from support import FORMATS, NATIVE, PARTS, TestCase, codes, run, tensor

try:
    import ml_dtypes
except ImportError:
    ml_dtypes = None
try:
    import torch
except ImportError:
    torch = None


def address(array):
    return array.__array_interface__["data"][0]


class InPlace(TestCase):
    def test_every_format_shares_its_bits(self):
        for name in FORMATS:
            bits = codes(name)
            if name in NATIVE - {*PARTS}:
                bits = bits.view(name)
            held = Tensor.of(bits, name)
            with self.subTest(name):
                self.assertEqual((held.dtype, held.bits.tobytes()), (name, bits.tobytes()))
                self.assertEqual(held.bits.dtype.kind, "u")
                if name not in ("int4", "bool"):
                    self.assertEqual(address(held.bits), address(bits))
                self.assertEqual(pickle.loads(pickle.dumps(held)), held)

    def test_layouts_share_theirs(self):
        rows = np.arange(120, dtype="f4").reshape(2, 3, 4, 5)
        for array in (rows, rows.T, rows[:, ::2, ::-1], np.broadcast_to(np.float32(3), (2, 3)),
                      np.asfortranarray(rows), rows[1, 1, 1, 1:2], np.zeros((0, 3), "f4"),
                      np.array(2.5, "f4"), rows[::-1]):
            held = Tensor.of(array)
            self.assertEqual((held.shape, held.numpy().strides), (array.shape, array.strides))
            self.assertEqual(address(held.numpy()), address(array))
            np.testing.assert_array_equal(held.numpy(), array)

    def test_what_has_to_be_copied_is(self):
        # The elements of the field b are not aligned, and their distance is not a multiple of their size.
        packed = np.zeros(3, [("a", "u1"), ("b", "<f4")])
        packed["b"] = [1, 2, 3]
        self.assertEqual(Tensor.of(packed["b"]).numpy().tolist(), [1, 2, 3])
        swapped = np.float32([1, -2, 3]).astype(">f4")
        self.assertEqual(Tensor.of(swapped).numpy().tolist(), [1, -2, 3])
        self.assertEqual(Tensor.of(swapped[::-2]).numpy().tolist(), [3, 1])
        half = np.arange(24, dtype="f2").reshape(2, 4, 3)
        self.assertEqual(Tensor.of(half.transpose(2, 1, 0), "complex32").shape, (3, 4))
        np.testing.assert_array_equal(Tensor.of(half.transpose(2, 1, 0), "complex32").numpy(),
                                      half.transpose(2, 1, 0))

    def test_who_may_write(self):
        array = np.zeros(3, "f4")
        Tensor.of(array).numpy()[1] = 5
        self.assertEqual(array[1], 5)
        array.flags.writeable = False
        self.assertFalse(Tensor.of(array).numpy().flags.writeable)

    def test_the_bytes_outlive_the_array(self):
        held = Tensor.of(np.arange(1000, dtype="f8"))
        view = held.numpy()
        del held
        self.assertEqual(view.sum(), 499500)

    def test_refusals(self):
        for array in (np.zeros(2, "G"), np.zeros(2, "M8[s]"), np.array([None]),
                      np.zeros(2, [("a", "f4")])):
            self.assertIn("is no dtype that assay knows", self.refusal(TypeError, Tensor.of, array))
        for other in (["text"], [object()], None, {}, "text"):
            self.assertEqual(self.refusal(TypeError, Tensor.of, other),
                             f"a {type(other).__name__} is no array of numbers")
        self.assertEqual(self.refusal(TypeError, assay.compare, np.uint16([1]), [1.0]),
                         "actual: uint16 may be bit patterns of bfloat16, float16 or integers: say "
                         "which format, assay.Tensor.of(array, dtype=...)")
        self.assertEqual(assay.compare(np.uint16([0x3f80]), [1.0], dtype="bfloat16").outcome, "pass")
        self.assertEqual(assay.compare(np.uint8([0x38]), np.uint8([0x38]), dtype="float8_e4m3fn",
                                       golden_dtype="float8_e4m3fn",
                                       standard="ulp(1)").outcome, "pass")


class FakeDevice:
    """Stands for a tensor on a device, of which only a copy can be read."""
    device = (2, 3)

    def __init__(self, array):
        self.array = array

    def __dlpack__(self):
        raise AssertionError("was asked for its memory")

    def __dlpack_device__(self):
        return self.device

    def cpu(self):
        return self.array


class Dlpack(TestCase):
    def test_in_place(self):
        class Other:  # any object that has the DLPack protocol, here with numpy's own memory
            def __init__(self, array):
                self.__dlpack__, self.__dlpack_device__ = array.__dlpack__, array.__dlpack_device__
        array = np.arange(12, dtype="f4").reshape(3, 4)
        for one in (array, array.T, array[::2, ::-1]):
            held = Tensor.of(Other(one))
            self.assertEqual(address(held.numpy()), address(one))
            np.testing.assert_array_equal(held.numpy(), one)
        import gc
        import weakref
        gone = weakref.ref(array)
        del array, one
        held = np.array(held)
        gc.collect()
        self.assertIsNone(gone(), "the array outlives its tensor")

    def test_devices(self):
        on_device = FakeDevice(np.float32([1, 2]))
        refused = ("this FakeDevice is on device type 2 (id 3), and only the CPU's memory is read: pass its .cpu(), or "
                   "assay.Tensor.of(tensor, copy=True)")
        self.assertEqual(self.refusal(ValueError, Tensor.of, on_device), refused)
        # If one side is on the host, the other one is copied, and the verdict says so.
        note = "judged on the host, to which {} was copied from (2, 3)"
        for sides, name in ((on_device, np.float32([1, 2])), "actual"), ((np.float32([1, 2]), on_device), "expected"):
            verdict = assay.compare(*sides)
            self.assertEqual((verdict.outcome, verdict.notes[-1]), ("pass", note.format(name)))
            assay.assert_close(*sides)
        copied = Tensor.of(on_device, copy=True)
        self.assertEqual(copied.numpy().tolist(), [1, 2])


class StandInMlDtypes(TestCase):
    def test_to_numpy(self):
        # Python code cannot register a dtype of its own, so a void dtype of the same width stands for each one.
        own = [name for name in FORMATS if name not in NATIVE | {*PARTS} and
               name not in ("hifloat8", "float_e5m6", "tfloat32", "hfloat32")]
        module = types.SimpleNamespace(
            __version__="0.0", **{name: np.dtype(f"V{FORMATS[name].storage_bytes}")
                                  for name in own if name != "float6_e2m3fn"})
        with mock.patch.dict(sys.modules, {"ml_dtypes": module}):
            for name in own:
                if hasattr(module, name):
                    self.assertEqual(tensor(name).numpy().tobytes(), codes(name).tobytes())
            for name in ("hifloat8", "float_e5m6", "float6_e2m3fn"):
                self.assertEqual(self.refusal(TypeError, tensor(name).numpy),
                                 f"neither numpy nor ml_dtypes 0.0 has {name}: use .bits")

    def test_without_it(self):
        with mock.patch.dict(sys.modules, {"ml_dtypes": None}):
            self.assertEqual(self.refusal(TypeError, tensor("bfloat16").numpy),
                             "numpy has no bfloat16: install ml_dtypes, or use .bits")

    def test_arrays_are_known_by_the_name_of_their_dtype(self):
        # This class has the name of a scalar type of ml_dtypes. ml_dtypes itself defines its dtypes in C.
        class bfloat16(np.void):
            pass
        array = np.uint16([0x3f80, 0xc000]).view(np.dtype((bfloat16, "V2")))
        self.assertEqual(array.dtype.type.__name__, "bfloat16")
        held = Tensor.of(array)
        self.assertEqual((held.dtype, held.bits.tolist()), ("bfloat16", [0x3f80, 0xc000]))
        self.assertEqual(address(held.bits), address(array))


@unittest.skipIf(ml_dtypes is None, "ml_dtypes is not installed")
class MlDtypes(TestCase):
    def test_every_code_there_and_back(self):
        for name in FORMATS:
            if name in NATIVE or not hasattr(ml_dtypes, name):
                continue
            given = codes(name).view(getattr(ml_dtypes, name))
            self.assertEqual(Tensor.of(given), tensor(name))
            self.assertEqual(tensor(name).numpy().dtype, np.dtype(getattr(ml_dtypes, name)))


@unittest.skipIf(torch is None, "PyTorch is not installed")
class Torch(TestCase):
    def test_every_code_there_and_back(self):
        names = [name for name in FORMATS if hasattr(torch, name)]
        self.assertIn("bfloat16", names)
        for name in names:
            with self.subTest(name):
                back = tensor(name).torch()
                self.assertEqual(back.dtype, getattr(torch, name))
                self.assertEqual(Tensor.of(back), tensor(name))
                turned = back.reshape(2, -1).t() if back.numel() % 2 == 0 else back.reshape(1, -1).t()
                self.assertEqual(Tensor.of(turned).shape, tuple(turned.shape))

    def test_in_place(self):
        for dtype in (torch.float32, torch.bfloat16, torch.float16, torch.int64, torch.bool):
            one = torch.zeros(4, 6).to(dtype)[:, ::2].t()
            held = Tensor.of(one)
            self.assertEqual(address(held.bits), one.data_ptr())
            self.assertEqual(held.shape, (3, 4))

    def test_what_a_tensor_may_be(self):
        leaf = torch.ones(3, requires_grad=True)
        self.assertTrue(assay.compare(leaf, np.ones(3)))
        turned = torch.ones(3, dtype=torch.complex64) * 2j
        self.assertEqual(Tensor.of(turned.conj()).numpy().tolist(), [-2j] * 3)
        self.assertTrue(torch.equal(Tensor.of(turned.conj()).torch(), turned.conj()))
        self.assertIn("a Tensor cannot be read as it is: ",
                      self.refusal(TypeError, Tensor.of, leaf.to_sparse()))
        self.assertEqual(Tensor.of(torch.tensor(2.5)).shape, ())
        self.refusal(TypeError, tensor("hifloat8").torch)

    def test_the_tensor_outlives_its_name(self):
        held = Tensor.of(torch.arange(1000.0))
        self.assertEqual(float(held.numpy().sum()), 499500)


def run_within(mebibytes, script):
    """Runs a script that may take at most this much more address space than it has at its line `start()`, plus
    the stacks of two threads. Used memory would be a worse measure: on some hosts pages cost nothing before
    they are written, on others reading them first already does."""
    start = f"""\
import os, resource
import numpy as np
import assay
def start():
    with open("/proc/self/statm", encoding="ascii") as file:
        held = int(file.read().split()[0]) * resource.getpagesize()
    hard = resource.getrlimit(resource.RLIMIT_AS)[1]
    resource.setrlimit(resource.RLIMIT_AS, (held + ({mebibytes + 16} << 20), hard))
"""
    # With one arena for all threads, a thread reserves no more address space than its stack.
    run("env", "ASSAY_THREADS=2", "MALLOC_ARENA_MAX=1", sys.executable, "-B", "-c", start + script)


class Large(TestCase):
    """Functions that read large arrays in place take hardly any memory. A copy of the arrays would
    exceed the limit."""

    def test_what_the_limit_refuses(self):
        with self.assertRaisesRegex(AssertionError, "MemoryError"):
            run_within(64, "a = np.ones(1 << 24)\nstart()\na.copy()")

    def test_a_pair_of_4_gib(self):
        for metrics in (False, True):
            run_within(512, f"""\
both = np.zeros((1 << 30) + 1, "f4")  # read once, where reading makes pages
both[-1] = 2
out, golden = both[:-1].reshape(1 << 15, -1), both[1:].reshape(1 << 15, -1)
start()
verdict = assay.compare(out, golden, standard="torch", metrics={metrics})
assert out.nbytes == 4 << 30, out.nbytes
assert (verdict.sites, verdict.mismatches) == (1 << 30, 1), verdict
assert verdict.worst[0].index == (32767, 32767), verdict
assert (verdict.metrics is not None) == {metrics}
""")

    def test_a_product_of_512_mib(self):
        run_within(128, """\
rng = np.random.default_rng(1)
a, b = np.zeros((1 << 16, 1 << 11), "f4"), rng.standard_normal((1 << 11, 64), dtype="f4")
a[:64] = rng.standard_normal((64, 1 << 11))
c = np.zeros((1 << 16, 64), "f4")
c[:64] = a[:64] @ b
start()
assay.assert_product(c, a, b)
c[3, 4] += 1
assert not assay.check_product(c, a, b)
""")

    def test_a_case_of_512_mib(self):
        run_within(64, """\
a, b = np.zeros((64, 1 << 20), "f4"), np.zeros((1 << 20, 64), "f4")
c = np.full((64, 64), 1.5, "f4")
case = assay.Case("c", op="matmul", inputs={"a": a, "b": b}, golden=c.astype("f8"),
                  recorded={"npu": c})
start()
assert case.judge(c, standard="torch") and case.judge(producer="npu", standard="torch")
""")

    def test_views_of_4_gib(self):
        # The array seems to have 4 GiB, but all of its elements are the same 4 bytes. A copy would need 4 GiB.
        one = np.broadcast_to(np.float32(1.5), (1 << 15, 1 << 15))
        self.assertEqual(one.nbytes, 4 << 30)
        self.assertEqual(address(Tensor.of(one).bits), address(one))


if __name__ == "__main__":
    unittest.main(verbosity=2)
