"""assay.trial: right functions of numpy and PyTorch pass, wrong ones are found, and so are the published classes of reward
hacking of generated kernels, as far as they exist on a CPU."""
import ctypes
import functools
import gc
import inspect
import itertools
import math
import os
import signal
import sys
import threading
import unittest
from unittest import mock

import numpy as np

import assay
from support import TestCase

try:
    import torch
    import torch.nn.functional as F
except ImportError:
    torch = None

DRAWS = 20  # random draws of the functions that are right


def _shaped(vector, x, axis):
    shape = [1] * x.ndim
    shape[axis] = -1
    return vector.reshape(shape)


# Right functions of numpy.

def softmax(x, axis=-1):
    e = np.exp(x - np.max(x, axis, keepdims=True, initial=-np.inf))
    return e / e.sum(axis, keepdims=True)


def layernorm(x, weight=None, bias=None, axis=-1, eps=1e-5):
    centred = x - x.mean(axis, keepdims=True)
    y = centred / np.sqrt(np.square(centred).mean(axis, keepdims=True) + x.dtype.type(eps))
    if weight is not None:
        y = y * _shaped(weight, x, axis)
    return y if bias is None else y + _shaped(bias, x, axis)


def rmsnorm(x, weight=None, axis=-1, eps=1e-6):
    wide = x.astype(np.float64)
    y = (wide / np.sqrt(np.square(wide).mean(axis, keepdims=True) + eps)).astype(x.dtype)
    return y if weight is None else y * _shaped(weight, x, axis)


def matmul(a, b):
    return a @ b


_erf = np.vectorize(math.erf, otypes=[float])


def gelu(x):
    wide = x.astype(np.float64)
    return (wide * 0.5 * (1 + _erf(wide / math.sqrt(2)))).astype(x.dtype)


def reduce_sum(x, axis=None):
    return x.sum(axis)


def attention(q, k, v, causal=False, scale=None):
    scores = (q @ np.swapaxes(k, -1, -2)) * q.dtype.type(1 / math.sqrt(q.shape[-1]) if scale is None else scale)
    if causal:
        rows, columns = scores.shape[-2:]
        scores = np.where(np.arange(columns)[None, :] <= np.arange(rows)[:, None], scores, scores.dtype.type(-np.inf))
    return softmax(scores) @ v


def softmax_out(x, out):
    out[...] = softmax(x)


RIGHT = [(softmax, "softmax", {}), (layernorm, "layernorm", {}), (rmsnorm, "rmsnorm", {}), (matmul, "matmul", {}),
         (gelu, "gelu", {}), (reduce_sum, "reduce_sum", {}), (attention, "attention", {}),
         (softmax, "softmax", {"dtypes": ["float32", "float64"]}), (softmax_out, "softmax", {"out": True}),
         (np.exp, "exp", {}), (np.exp, "exp", {"out": True}), (np.add, "add", {}), (np.sqrt, "sqrt", {})]


def right_of_torch():
    def norm(x, weight=None, bias=None, eps=1e-5):
        return F.layer_norm(x, x.shape[-1:], weight, bias, eps)

    def rms(x, weight=None, eps=1e-6):
        y = x.double() * torch.rsqrt(x.double().pow(2).mean(-1, keepdim=True) + eps)
        return (y if weight is None else y * weight.double()).to(x.dtype)

    def attend(query, key, value, is_causal=False, scale=None):
        scores = (query @ key.transpose(-1, -2)) * (query.shape[-1] ** -0.5 if scale is None else scale)
        if is_causal:
            scores = scores.masked_fill(~torch.ones_like(scores, dtype=torch.bool).tril(), -math.inf)
        return torch.softmax(scores, -1) @ value

    def wide_matmul(a, b):
        return (a.float() @ b.float()).to(a.dtype)

    def strided_sum(x):
        return torch.cumsum(x, -1)[..., -1]  # one row gives a tensor of one element whose stride is the row's length

    # On the CPU, PyTorch 1.13 rounds what softmax computes on the way to bfloat16 unless the axis is the last one, and the
    # sums of a bfloat16 matrix with one row. oneDNN's gelu is off by up to 5 ulp. Trials find all three.
    two = {"dtypes": [torch.float32, "bfloat16"], "parameters": {"axis": -1}}
    return [(F.softmax, "softmax", two), (F.softmax, "softmax", {}),
            (torch.softmax, "softmax", {"names": {"dim": "axis"}}),
            (torch.nn.Softmax(dim=-1), "softmax", {}),
            (norm, "layernorm", {"framework": "torch"}), (rms, "rmsnorm", {"framework": "torch"}),
            (torch.matmul, "matmul", {}), (wide_matmul, "matmul", {"dtypes": ["bfloat16"], "framework": "torch"}),
            (F.gelu, "gelu", {"rtol": 1e-6, "atol": 1e-6}), (torch.sum, "reduce_sum", {}),
            (attend, "attention", {"framework": "torch"}),
            (torch.exp, "exp", {"dtypes": ["float32", "float64", "bfloat16"]}), (torch.exp, "exp", {"out": True}),
            (F.silu, "silu", {}), (torch.sigmoid, "sigmoid", {}),
            (strided_sum, "reduce_sum", {"framework": "torch", "parameters": {"axis": -1}, "nonempty": True})]


class Right(TestCase):
    """Functions that are right pass."""

    def passes(self, functions):
        for fn, op, options in functions:
            with self.subTest(getattr(fn, "__name__", str(fn)), op=op, **options):
                report = assay.trial(fn, op, draws=DRAWS, **options)
                self.assertEqual(report.outcome, "pass", report.text)
                self.assertTrue(report)
                self.assertGreater(report.counts["listed"]["passed"], 5)

    def test_numpy(self):
        self.passes(RIGHT)

    def test_torch(self):
        if torch is None:
            self.skipTest("PyTorch is not installed")
        self.passes(right_of_torch())


# Wrong functions, each with the findings of which one must be found.

WRONG = ("wrong result", "NaN or infinity", "special values")
STALE = ("stale result", "not repeatable", "wrong result", "wrong row alone")
ZOO = {}


def wrong(op, *findings, **options):
    def add(fn):
        ZOO[fn.__name__] = (fn, op, findings or WRONG, options)
        return fn
    return add


@wrong("softmax")
def drops_the_tail(x):
    y = softmax(x)
    if x.shape[-1] > 1024:
        y = np.concatenate([softmax(x[..., :1024]), np.zeros_like(x[..., 1024:])], -1)
    return y


@wrong("softmax")
def tile_off_by_one(x):
    n = x.shape[-1]
    if n % 16 == 1 and n > 1:
        return np.concatenate([softmax(x[..., :-1]), np.zeros_like(x[..., -1:])], -1)
    return softmax(x)


@wrong("softmax")
def wrong_axis(x):
    return softmax(x, 0)


@wrong("softmax")
def ignores_axis(x, axis=-1):
    return softmax(x)


@wrong("softmax")
def no_max_subtraction(x):
    e = np.exp(x)
    return e / e.sum(-1, keepdims=True)


@wrong("softmax")
def max_of_all_rows(x):
    e = np.exp(x - np.max(x, initial=-np.inf))
    return e / e.sum(-1, keepdims=True)


@wrong("layernorm")
def biased_the_other_way(x, eps=1e-5):
    centred = x - x.mean(-1, keepdims=True)
    variance = np.square(centred).sum(-1, keepdims=True) / np.float32(max(x.shape[-1] - 1, 1))
    return centred / np.sqrt(variance + x.dtype.type(eps))


@wrong("layernorm")
def ignores_eps(x, eps=1e-5):
    return (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + x.dtype.type(1e-5))


@wrong("layernorm")
def eps_outside_the_root(x, eps=1e-5):
    return (x - x.mean(-1, keepdims=True)) / (np.sqrt(x.var(-1, keepdims=True)) + x.dtype.type(eps))


@wrong("layernorm")
def variance_by_squares(x):
    mean = x.mean(-1, keepdims=True)
    variance = np.maximum(np.square(x).mean(-1, keepdims=True) - np.square(mean), 0)
    return (x - mean) / np.sqrt(variance + np.float32(1e-5))


@wrong("layernorm")
def ignores_the_bias(x, weight=None, bias=None):
    return layernorm(x, weight)


@wrong("rmsnorm")
def subtracts_the_mean(x):
    return rmsnorm(x - x.mean(-1, keepdims=True))


@wrong("rmsnorm")
def weight_before_the_norm(x, weight):
    return rmsnorm(x * weight)


@wrong("matmul")
def float16_accumulator(a, b):
    return (a.astype("f2") @ b.astype("f2")).astype(a.dtype)


@wrong("matmul", dtypes=["float16"])
def missing_promotion(a, b):
    c = np.zeros(np.broadcast_shapes(a.shape[:-2], b.shape[:-2]) + (a.shape[-2], b.shape[-1]), a.dtype)
    for k in range(a.shape[-1]):
        c = c + a[..., :, k, None] * b[..., None, k, :]
    return c


@wrong("matmul")
def k_tail_dropped(a, b):
    k = a.shape[-1] // 8 * 8
    return a[..., :k] @ b[..., :k, :]


@wrong("matmul", "wrong shape or dtype", *WRONG)
def transposes(a, b):
    return np.swapaxes(b, -1, -2) @ np.swapaxes(a, -1, -2)


@wrong("matmul")
def first_batch_for_all(a, b):
    c = a @ b
    if c.ndim > 2 and c.size:
        c = np.broadcast_to(c.reshape(-1, *c.shape[-2:])[0], c.shape)
    return c


@wrong("gelu")
def tanh_gelu(x):
    return (0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x ** 3)))).astype(x.dtype)


@wrong("reduce_sum")
def float16_sum(x, axis=None):
    return x.astype("f2").sum(axis).astype(x.dtype)


@wrong("reduce_sum", "wrong shape or dtype")
def keeps_dimensions(x, axis=None):
    return x.sum(axis, keepdims=True)


@wrong("reduce_sum")
def nan_swallowed(x, axis=None):
    return np.nansum(x, axis)


@wrong("reduce_max")
def nan_swallowed_by_max(x, axis=None):
    return np.fmax.reduce(x, axis, initial=-np.inf)


@wrong("attention")
def ignores_causal(q, k, v, causal=False):
    return attention(q, k, v)


@wrong("attention")
def mask_off_by_one(q, k, v, causal=False):
    scores = (q @ np.swapaxes(k, -1, -2)) / np.float32(math.sqrt(q.shape[-1]))
    if causal:
        rows, columns = scores.shape[-2:]
        scores = np.where(np.arange(columns)[None, :] <= np.arange(rows)[:, None] + 1, scores, np.float32(-np.inf))
    return softmax(scores) @ v


@wrong("attention")
def scale_of_the_keys(q, k, v):
    return attention(q, k, v, scale=1 / math.sqrt(max(k.shape[-2], 1)))


@wrong("attention")
def ignores_scale(q, k, v, scale=None):
    return attention(q, k, v)


@wrong("softmax", "wrong shape or dtype")
def wrong_dtype(x):
    return softmax(x.astype("f8"))


@wrong("softmax", "wrong shape or dtype")
def wrong_shape(x):
    return softmax(x).reshape(-1)


@wrong("softmax", "wrong shape or dtype")
def returns_nothing(x):
    softmax(x)


@wrong("softmax", "wrong shape or dtype")
def returns_a_pair(x):
    return softmax(x), x


@wrong("softmax", "error")
def raises(x):
    if x.shape[-1] == 129:
        raise ValueError("no 129")
    return softmax(x)


@wrong("softmax", "changed input")
def mutates_the_input(x):
    x -= np.max(x, -1, keepdims=True, initial=-np.inf)
    e = np.exp(x)
    return e / e.sum(-1, keepdims=True)


@wrong("softmax", "not repeatable", "wrong result")
def nondeterministic(x, _state=itertools.count()):
    return softmax(x) * np.float32(1 + 2.0 ** -23 * (next(_state) % 3))


@wrong("softmax", *STALE)
def accumulates(x, _state={}):
    previous = _state.get(x.shape, 0)
    _state[x.shape] = softmax(x)
    return _state[x.shape] + np.float32(1e-3) * previous


@wrong("softmax", *STALE)
def cached_by_id(x, _cache={}):
    return _cache.setdefault(id(x), (softmax(x), x))[0] if x.shape != () else softmax(x)


@wrong("softmax", *STALE, "wrong shape or dtype")
def cached_by_address(x, _cache={}):
    key = (x.ctypes.data, x.shape)
    if key not in _cache:
        _cache[key] = softmax(x)
    return _cache[key]


@wrong("softmax", *STALE)
def cached_by_shape(x, _cache={}):
    return _cache.setdefault(x.shape, softmax(x))


@wrong("softmax", "wrong row alone", *WRONG)
def depends_on_the_batch(x):
    return np.round(softmax(x), 3) if x.ndim > 1 and x.shape[0] == 1 else softmax(x)


@wrong("softmax", "write outside the output", out=True)
def writes_outside(x, out):
    out[...] = softmax(x)
    if out.flags.c_contiguous and out.size > 8:
        np.lib.stride_tricks.as_strided(out.reshape(-1), (out.size + 1,), out.reshape(-1).strides)[-1] = 0


@wrong("softmax", "unwritten elements", out=True)
def border_not_written(x, out):
    out[..., :-1] = softmax(x)[..., :-1]


@wrong("softmax", "unwritten elements", "wrong result")
def row_not_written(x):
    y = np.empty(x.shape, x.dtype)
    if x.ndim > 1:
        y[:-1] = softmax(x)[:-1]
    else:
        y[...] = softmax(x)
    return y


@wrong("exp")
def subnormals_flushed(x):
    y = np.exp(x)
    return np.where(np.abs(y) < np.finfo(x.dtype).tiny, x.dtype.type(0), y)


@wrong("exp")
def infinity_clamped(x):
    return np.exp(np.minimum(x, x.dtype.type(80)))


@wrong("add", dtypes=["float16"])
def one_wrong_in_a_million(a, b):
    c = a + b
    return np.where(a == b, c + c.dtype.type(1), c)


@wrong("layernorm", *STALE, "wrong result")
def keeps_the_first_mean(x, _mean={}):
    mean = _mean.setdefault(x.shape, x.mean(-1, keepdims=True))
    return (x - mean) / np.sqrt(x.var(-1, keepdims=True) + np.float32(1e-5))


@wrong("softmax")
def float16_denominator(x):
    e = np.exp(x - np.max(x, -1, keepdims=True, initial=-np.inf))
    return (e / e.astype("f2").sum(-1, keepdims=True)).astype(x.dtype)


@wrong("layernorm")
def eps_of_another_library(x):
    return layernorm(x, eps=1e-6)


@wrong("matmul", "wrong row alone", *WRONG)
def last_row_after_a_tile(a, b):
    c = np.array(a @ b)
    if c.shape[-2] % 64 == 1:
        c[..., -1, :] = 0
    return c


@wrong("matmul")
def adds_the_bias_twice(a, b, bias):
    return a @ b + bias + bias


@wrong("reduce_max")
def max_from_zero(x, axis=None):
    return np.max(x, axis, initial=0)


@wrong("reduce_mean")
def divides_by_the_first_size(x, axis=None):
    return (x.sum(axis) / np.float32(max(x.shape[0], 1))).astype(x.dtype)


@wrong("attention")
def mask_from_the_bottom(q, k, v, causal=False):
    scores = (q @ np.swapaxes(k, -1, -2)) / np.float32(math.sqrt(q.shape[-1]))
    if causal:
        rows, columns = scores.shape[-2:]
        allowed = np.arange(columns)[None, :] <= np.arange(rows)[:, None] + (columns - rows)
        scores = np.where(allowed, scores, np.float32(-np.inf))
    return softmax(scores) @ v


@wrong("log")
def log_of_a_shifted_value(x):
    return np.log(x + np.float32(1e-12))


@wrong("sqrt")
def sqrt_by_the_reciprocal(x):
    return x * (1 / np.sqrt(x))


@wrong("div")
def reciprocal_in_float16(a, b):
    return a * (1 / b).astype("f2").astype(a.dtype)


@wrong("tanh")
def tanh_by_exp(x):
    e = np.exp(2 * x)
    return (e - 1) / (e + 1)


@wrong("cast", output_dtype="float16")
def truncates(x):
    return (x.view("u4") & 0xffffe000).view("f4").astype("f2")


class Zoo(TestCase):
    """Wrong functions are found, each with the finding that it is."""

    def test_all_are_found(self):
        self.assertGreaterEqual(len(ZOO), 55)
        nonzero = []
        for name, (fn, op, findings, options) in ZOO.items():
            with self.subTest(name):
                report = assay.trial(fn, op, **options)
                self.assertEqual(report.outcome, "fail", f"{name}: {report.text}")
                failure = report.failures[0]
                self.assertIn(failure.finding, findings, f"{name}: {report.text}")
                nonzero.append(failure.nonzero)
                self.assertIn(f"repeat: assay.trial(KERNEL, \"{op}\", on=", report.text)
        self.assertLessEqual(sorted(nonzero)[len(nonzero) // 2], 16)


class Hacks(TestCase):
    """The published classes of reward hacking of generated kernels."""

    def found(self, fn, op="softmax", **options):
        report = assay.trial(fn, op, **options)
        self.assertEqual(report.outcome, "fail", report.text)
        return report.failures[0]

    def test_constant_output(self):
        self.assertEqual(self.found(lambda x: np.full_like(x, 1 / x.shape[-1] if x.shape[-1:] > (0,) else 0)).finding,
                         "wrong result")

    def test_all_zeros(self):
        for op in ("softmax", "gelu", "layernorm", "reduce_sum", "rmsnorm"):
            fn = (lambda x, axis=None: np.zeros_like(x.sum(axis))) if op == "reduce_sum" else np.zeros_like
            self.found(fn if op == "reduce_sum" else lambda x: np.zeros_like(x), op)
        self.found(lambda a, b: np.zeros_like(a @ b), "matmul")
        self.found(lambda q, k, v: np.zeros_like(attention(q, k, v)), "attention")

    def test_uninitialised_memory(self):
        """np.empty() holds what assay put there, so that it is never a result."""
        for dtype in ("float32", "float64"):  # the exact result has float64
            found = self.found(lambda x: np.empty(x.shape, x.dtype), dtypes=[dtype])
            self.assertIn(found.finding, ("unwritten elements", *STALE, *WRONG))

    def test_uninitialised_memory_of_a_freed_result(self):
        def fn(x):
            softmax(x)  # a reference of the same size is computed and freed
            return np.empty(x.shape, x.dtype)
        self.found(fn)

    @unittest.skipIf(torch is None, "PyTorch is not installed")
    def test_uninitialised_tensors(self):
        self.found(lambda x: torch.empty_like(x), framework="torch")

    def test_the_exact_result_is_not_reachable(self):
        """No Python object, frame or attribute that a function can reach holds the exact result."""
        seen = []

        def fn(x):
            wanted = softmax(x.astype("f8"))
            if 1 < x.size < 4096:
                for one in gc.get_objects():
                    if isinstance(one, np.ndarray) and one is not wanted and one.size == wanted.size:
                        seen.append(one.dtype.kind == "f" and np.allclose(one.reshape(-1), wanted.reshape(-1)))
                frame = inspect.currentframe().f_back
                while frame is not None:
                    for value in list(frame.f_locals.values()):
                        values = value.values() if isinstance(value, dict) else value if isinstance(
                            value, (list, tuple)) else [value]
                        for one in values:
                            if isinstance(one, (np.ndarray, assay.Tensor)) and one is not x and one is not wanted:
                                array = np.asarray(one)
                                seen.append(array.shape == wanted.shape and array.dtype.kind == "f" and
                                            np.allclose(array, wanted))
                    frame = frame.f_back
                # The memory around the input that the function gets holds no result either.
                base = x.base if isinstance(x.base, np.ndarray) else x
                near = np.frombuffer((ctypes.c_char * base.nbytes).from_address(base.ctypes.data), np.uint8)
                seen.append(wanted.tobytes() in near.tobytes())
            return softmax(x)
        # numpy's own softmax passes, so that each draw is made.
        self.assertEqual(assay.trial(fn, "softmax", draws=5).outcome, "pass")
        self.assertGreater(len(seen), 50)
        self.assertFalse(any(seen))

    def test_returns_the_input(self):
        self.found(lambda x: x)
        self.found(lambda x: x.copy(), "layernorm")
        self.found(lambda a, b: a, "matmul")

    def test_cached_results(self):
        for key in (lambda x: 0, lambda x: x.shape, lambda x: (x.shape, x.ctypes.data), id):
            cache = {}

            def fn(x):
                return cache.setdefault(key(x), (softmax(x), x))[0]
            self.assertIn(self.found(fn).finding, (*STALE, "wrong shape or dtype"))

    def test_a_cache_by_values_passes(self):
        cache = {}
        self.assertTrue(assay.trial(lambda x: cache.setdefault((x.shape, x.dtype, x.tobytes()), softmax(x)), "softmax",
                                    draws=DRAWS))

    def test_precision_downgrade(self):
        self.found(lambda a, b: (a.astype("f2") @ b.astype("f2")).astype(a.dtype), "matmul")
        self.found(lambda x: softmax(x.astype("f2")).astype(x.dtype))
        self.found(lambda x: layernorm(x.astype("f2")).astype(x.dtype), "layernorm")
        self.found(lambda a, b: (a.view("u4") & 0xffff0000).view("f4") @ (b.view("u4") & 0xffff0000).view("f4"), "matmul",
                   contiguous=True)

    def test_skipped_computation(self):
        """A fast path for values or sizes that tests often have."""
        def zeros_are_zeros(a, b):
            return np.zeros_like(a @ b) if not a.reshape(-1)[:8].any() else a @ b

        def large_are_skipped(x):
            return softmax(x) if x.size < 4000 else np.full_like(x, 1 / x.shape[-1])

        def first_rows(x):
            y = np.zeros_like(x)
            y[:64] = softmax(x[:64]) if x.ndim > 1 else softmax(x)[:64]
            return y
        self.found(zeros_are_zeros, "matmul")
        self.found(large_are_skipped)
        self.found(first_rows)

    def test_timing_only_paths(self):
        """The function computes in the first calls, in which its results are compared, and not in those that are timed."""
        calls = itertools.count()
        self.found(lambda x: softmax(x) if next(calls) < 40 else np.zeros_like(x))
        seen = {}

        def once_for_each_input(x):
            key = x.tobytes()
            seen[key] = seen.get(key, 0) + 1
            return softmax(x) if seen[key] < 2 else np.zeros_like(x)
        self.assertIn(self.found(once_for_each_input).finding, ("not repeatable", "stale result"))

    def test_replaced_functions(self):
        """A function that replaces what checks and references call does not change the verdict."""
        names = ["allclose", "isclose", "array_equal", "asarray", "empty", "max", "abs", "exp"]
        kept = {name: getattr(np, name) for name in names}
        testing = np.testing.assert_allclose

        def fn(x):
            for name in names:
                setattr(np, name, lambda *a, **k: True)
            np.testing.assert_allclose = lambda *a, **k: None
            return x
        try:
            found = self.found(fn)
        finally:
            for name, value in kept.items():
                setattr(np, name, value)
            np.testing.assert_allclose = testing
        self.assertIn(found.finding, WRONG)

    @unittest.skipIf(torch is None, "PyTorch is not installed")
    def test_replaced_functions_of_torch(self):
        names = ["allclose", "equal", "softmax", "from_numpy", "empty"]
        kept = {name: getattr(torch, name) for name in names}
        cpu, detach = torch.Tensor.cpu, torch.Tensor.detach

        def fn(x):
            for name in names:
                setattr(torch, name, lambda *a, **k: x)
            torch.Tensor.cpu = torch.Tensor.detach = lambda self: kept["softmax"](x, -1)
            return x

        class Other(torch.Tensor):
            @classmethod
            def __torch_function__(cls, func, types, args=(), kwargs=None):
                return torch.softmax(args[0].as_subclass(torch.Tensor), -1)
        self.assertIn(self.found(lambda x: x.as_subclass(Other), framework="torch").finding, WRONG)
        try:
            found = self.found(fn, framework="torch")
        finally:
            for name, value in kept.items():
                setattr(torch, name, value)
            del torch.Tensor.cpu, torch.Tensor.detach
        self.assertEqual((torch.Tensor.cpu, torch.Tensor.detach), (cpu, detach))
        self.assertIn(found.finding, WRONG)


class Arguments(TestCase):
    """Inputs and parameters reach the function by name or by position."""

    def calls(self, fn, op, **options):
        report = assay.trial(fn, op, draws=10, **options)
        self.assertTrue(report, report.text)
        return report

    def test_by_keyword_in_another_order(self):
        self.calls(lambda b, a: a @ b, "matmul")
        self.calls(lambda *, b, a: a @ b, "matmul")

    def test_by_position(self):
        self.calls(lambda left, right: left @ right, "matmul")
        self.calls(lambda *arrays: arrays[0] @ arrays[1], "matmul")
        self.calls(lambda x, w: rmsnorm(x, w), "rmsnorm")

    def test_other_names(self):
        self.calls(lambda x, dim: softmax(x, dim), "softmax")
        self.calls(lambda q, k, v, is_causal: attention(q, k, v, is_causal), "attention")
        self.calls(lambda x, gamma=None, epsilon=0.5: rmsnorm(x, gamma, eps=epsilon), "rmsnorm")
        self.calls(lambda logits, dimension: softmax(logits, dimension), "softmax", names={"dimension": "axis"})
        report = self.calls(lambda x, keepdims=False, axis=None: x.sum(axis, keepdims=keepdims), "reduce_sum")
        self.assertTrue(any("axis" in name for name in report.coverage["attributes"]))

    def test_defaults_are_the_operators(self):
        self.calls(lambda x, axis=0, order="C": softmax(x, axis), "softmax", parameters={"order": "sequential"})

    def test_partial(self):
        self.calls(functools.partial(softmax, axis=0), "softmax")

    def test_numbers_that_are_refused(self):
        for options, why in ((dict(budget=-1), "budget=-1: a number of seconds above 0"), (dict(budget=0), "budget=0"),
                             (dict(budget=float("nan")), "budget=nan"), (dict(on=""), r"on is empty; it is the text of a case, such as x=float32\[2\]\{0:1\}$"),
                             (dict(only=-1), "there is no draw -1"),
                             (dict(isolated=True, call_seconds=0), "a call cannot take 0 seconds")):
            with self.assertRaisesRegex((ValueError, assay.GateError), why):
                assay.trial(softmax, "softmax", **options)
        self.assertTrue(assay.trial(softmax, "softmax", ranks=5, draws=5))

    def test_parameters(self):
        report = self.calls(lambda x: softmax(x, 0), "softmax", parameters={"dim": 0})
        self.assertEqual(set(report.coverage["attributes"]), {"axis=0"})

    def test_optional_inputs(self):
        seen = set()

        def fn(x, weight=None, bias=None):
            seen.add((weight is None, bias is None))
            return layernorm(x, weight, bias)
        self.calls(fn, "layernorm")
        self.assertGreater(len(seen), 2)

    def test_dtypes(self):
        report = self.calls(lambda x, output_dtype: x.astype(output_dtype), "cast", dtypes=[np.float32],
                            output_dtype="float16")
        self.assertEqual(report.dtypes, ["float32"])
        report = assay.trial(lambda x: x, "softmax", dtypes="bfloat16")
        try:
            import ml_dtypes  # noqa: F401
        except ImportError:
            self.assertEqual(report.outcome, "untrusted")
            self.assertIn("numpy has no bfloat16: install ml_dtypes", report.because)

    def test_not_supported(self):
        def fn(x):
            if x.ndim > 2:
                raise NotImplementedError("only matrices")
            if x.shape[-1:] == (1,):
                raise assay.NotSupported("one column")
            return softmax(x)
        report = self.calls(fn, "softmax")
        self.assertEqual(set(report.not_supported), {"only matrices", "one column"})
        self.assertEqual({shape for shape in report.coverage["dimensions"]}, {"1", "2", "3", "4"})
        self.calls(lambda x: softmax(x) if x.ndim == 2 else 1 / 0, "softmax", ranks=(2, 2))

    def test_mistakes(self):
        def refused(error, *arguments, **options):
            return self.refusal(error, assay.trial, *arguments, **options)
        self.assertIn("unknown operator 'sofmax'; did you mean 'softmax'?", refused(ValueError, softmax, "sofmax"))
        self.assertIn("needs a function, not a int", refused(TypeError, 3, "softmax"))
        self.assertIn("needs 'shape', which is no input or parameter of softmax",
                      refused(TypeError, lambda x, shape: x, "softmax"))
        self.assertIn("has the inputs a, b", refused(TypeError, lambda a: a, "matmul"))
        self.assertIn("no input or parameter 'axes'", refused(ValueError, softmax, "softmax", names={"axis": "axes"}))
        self.assertIn("has no parameter 'dim'", refused(ValueError, softmax, "softmax", names={"dim": "axis"}))
        self.assertIn("has no parameter 'out'", refused(TypeError, softmax, "softmax", out=True))
        self.assertIn("no parameter 'epss'", refused(ValueError, layernorm, "layernorm", parameters={"epss": 1}))
        self.assertIn("hoper", refused(ValueError, softmax, "softmax", machine="hoper"))
        self.assertIn("trial() got an unexpected keyword argument 'drawss': did you mean 'draws'?",
                      refused(TypeError, softmax, "softmax", drawss=1))

    def test_words_that_are_nearly_right(self):
        def refused(error, *arguments, **options):
            return self.refusal(error, assay.trial, *arguments, **options)
        self.assertEqual(refused(TypeError, "softmax", softmax),
                         "trial() takes the function first and the operator second: trial(softmax, 'softmax')")
        for word, value, text in [
                ("axis", 0, ": it is a parameter of softmax; give parameters={'axis': 0}"),
                ("dim", 1, ": it is a parameter of softmax; give parameters={'axis': 1}"),
                ("axsi", 0, ": did you mean parameters={'axis': 0}?"),
                ("dtype", "float32", ": did you mean 'dtypes'?"),
                ("rank", 2, ": did you mean 'ranks'?"),
                ("parameter", {}, ": did you mean 'parameters'?"),
                ("thread", 1, ": did you mean 'threads'?")]:
            self.assertEqual(refused(TypeError, softmax, "softmax", **{word: value}),
                             f"trial() got an unexpected keyword argument {word!r}{text}")
        self.assertIn("'xyzzy'; known: aligned, atol, batch_invariant, ", refused(TypeError, softmax, "softmax", xyzzy=1))
        self.assertNotIn("unknown", refused(TypeError, softmax, "softmax", xyzzy=1))
        self.assertIn("softmax has no parameter 'axsi': did you mean 'axis'?",
                      refused(ValueError, softmax, "softmax", parameters={"axsi": 0}))
        for function in (assay.trial, assay.assert_trial):
            self.assertNotIn("unknown", inspect.signature(function).parameters)
        with self.assertRaisesRegex(TypeError, "did you mean 'draws'"):
            assay.assert_trial(softmax, "softmax", drawss=1)

    def test_words_of_dtypes(self):
        for dtypes in ("fp32", {"fp32"}, ["fp32"], ("float",), np.float32, [np.dtype("float32")]):
            report = assay.trial(softmax, "softmax", dtypes=dtypes, draws=0, ranks=2)
            self.assertEqual(report.dtypes, ["float32"])
            self.assertEqual(report.outcome, "pass")
        for dtypes in ("flaot32", {"flaot32"}):
            self.assertIn("unknown dtype 'flaot32': did you mean 'float32'?",
                          self.refusal(ValueError, assay.trial, softmax, "softmax", dtypes=dtypes))
        self.assertRegex(self.refusal(ValueError, assay.trial, softmax, "softmax", dtypes="int32"),
                         "^softmax takes no inputs of int32: .*; it takes .*float32")

    def test_words_of_ranks(self):
        for ranks, seen in [(2, {"2"}), ((2, 2), {"2"}), ([1, 2], {"1", "2"}), (range(1, 3), {"1", "2"})]:
            report = assay.trial(softmax, "softmax", ranks=ranks, draws=20)
            self.assertEqual(set(report.coverage["dimensions"]), seen)
        for ranks in ("2", (2,), (3, 2), (1, 2, 3), (1.0, 2), None, True, -1, range(0)):
            self.assertEqual(self.refusal(ValueError, assay.trial, softmax, "softmax", ranks=ranks),
                             f"ranks={ranks!r}: give the least and the largest number of dimensions, such as ranks=(2, 3), "
                             "or one number for both")

    def test_words_of_cases(self):
        self.assertIn("the case's word 'x=float32[1,300]' does not say its elements; write x=float32[1,300]{} for zeros",
                      self.refusal(ValueError, assay.trial, softmax, "softmax", on="x=float32[1,300]"))
        self.assertTrue(assay.trial(softmax, "softmax", on="x=float32[1,300]{}"))

    @unittest.skipIf(torch is None, "PyTorch is not installed")
    def test_without_a_signature(self):
        report = assay.trial(torch.softmax, "softmax")
        self.assertIn("the function has no signature, so it gets only the inputs: give names=", report.failures[0].text)
        self.calls(torch.softmax, "softmax", names={"dim": "axis"})

    @unittest.skipIf(torch is None, "PyTorch is not installed")
    def test_frameworks(self):
        kinds = set()

        def annotated(x: "torch.Tensor") -> "torch.Tensor":
            kinds.add(type(x))
            return torch.softmax(x, -1)
        self.calls(annotated, "softmax")
        self.assertEqual(kinds, {torch.Tensor})
        self.calls(lambda x: torch.softmax(x, -1), "softmax", device="cpu")
        report = assay.trial(lambda x: torch.softmax(x, -1), "softmax")
        self.assertEqual(report.failures[0].finding, "error")
        self.assertIn("if the function takes tensors, give framework=\"torch\"", report.failures[0].text)


@unittest.skipIf(torch is None, "PyTorch is not installed")
class Devices(TestCase):
    """The way to a device and back, with copies on the CPU in place of a device."""

    def setUp(self):
        super().setUp()
        from assay import _trial
        real = _trial._Torch.__init__

        def init(made, device):
            real(made, device)
            made.on_host, made.to = False, lambda tensor, _: tensor.clone()
        patch = mock.patch.object(_trial._Torch, "__init__", init)
        patch.start()
        self.addCleanup(patch.stop)

    def test_right(self):
        for fn, op, options in [(F.softmax, "softmax", {}), (torch.matmul, "matmul", {}), (torch.exp, "exp", {"out": True}),
                                (F.softmax, "softmax", {"dtypes": "bfloat16", "parameters": {"axis": -1}})]:
            report = assay.trial(fn, op, draws=DRAWS, **options)
            self.assertTrue(report, report.text)
            self.assertIn("crashes and hangs: a process that has used a device cannot fork", report.not_tried)

    def test_wrong(self):
        def mutates(x):
            x.mul_(2)
            return torch.softmax(x / 2, -1)

        def border(x, out):
            out[..., 1:] = torch.softmax(x, -1)[..., 1:]
        cache = {}

        def cached(x):
            return cache.setdefault((x.data_ptr(), x.shape), torch.softmax(x, -1))
        for fn, finding, options in [(mutates, "changed input", {}), (border, "unwritten elements", {"out": True}),
                                     (cached, "stale result", {}),
                                     (lambda x: torch.softmax(x, 0), "wrong result", {}),
                                     (lambda x: x.new_empty(x.shape, device="meta"), "wrong shape or dtype", {})]:
            report = assay.trial(fn, "softmax", framework="torch", **options)
            self.assertEqual([one.finding for one in report.failures], [finding], report.text)

    def test_no_child_processes(self):
        self.assertIn("a process that has used CUDA cannot fork",
                      self.refusal(ValueError, assay.trial, F.softmax, "softmax", isolated=True))


class Reports(TestCase):
    def test_what_a_report_has(self):
        report = assay.trial(drops_the_tail, "softmax")
        self.assertFalse(report)
        self.assertEqual((report.outcome, report.passes, report.op, report.kernel), ("fail", False, "softmax",
                                                                                    "drops_the_tail"))
        self.assertRegex(report.because, r"^\d+ of \d+ inputs failed; wrong result: ")
        self.assertTrue(repr(report).startswith("<TrialReport softmax fail: "))
        self.assertIn("<pre>", report._repr_html_())
        self.assertEqual(str(report), report.text)
        self.assertGreater(report.counts["listed"]["failed"], 0)
        self.assertIn("sizes", report.coverage)
        self.assertIn("sizes: ", report.coverage_text)
        self.assertFalse(any("output" in name for name in report.coverage["layouts"]))
        self.assertIn("writes outside the output: the function returns memory of its own", report.not_tried)

    def test_what_a_failure_has(self):
        failure = assay.trial(ignores_the_bias, "layernorm").failures[0]
        self.assertEqual(failure.finding, "wrong result")
        self.assertIn("x", failure.inputs)
        self.assertIn("bias", failure.inputs)
        x, golden, output = failure.inputs["x"], failure.golden, failure.output
        self.assertEqual((x.shape, x.dtype, golden.dtype), (golden.shape, np.float32, np.float64))
        self.assertEqual(output.shape, golden.shape)
        self.assertTrue(np.any(output != golden.astype("f4")))
        self.assertFalse(failure.report)
        self.assertIn("wrong result: ", str(failure))
        path = self.directory / "failure.h5"
        failure.save(path)
        with assay.open(path) as d:
            case = next(iter(d))
        self.assertEqual(case.op, "layernorm")
        self.assertEqual(case.judge().outcome, "fail")
        np.testing.assert_array_equal(np.asarray(case.golden), golden)

    def test_a_failure_repeats(self):
        failure = assay.trial(drops_the_tail, "softmax").failures[0]
        again = assay.trial(drops_the_tail, "softmax", on=failure.reduced)
        self.assertEqual((again.outcome, again.failures[0].finding), ("fail", failure.finding))
        again = assay.trial(drops_the_tail, "softmax", only=failure.draw)
        self.assertEqual(again.failures[0].reduced, failure.reduced)
        self.assertTrue(assay.trial(softmax, "softmax", on=failure.reduced))

    def test_the_same_on_any_number_of_threads(self):
        texts = {assay.trial(k_tail_dropped, "matmul", threads=threads, keep_going=True, draws=5).text
                 for threads in (1, 2, 5)}
        self.assertEqual(len(texts), 1)

    def test_assert_trial(self):
        self.assertIsNone(assay.assert_trial(softmax, "softmax", draws=3))
        with self.assertRaises(AssertionError) as caught:
            assay.assert_trial(drops_the_tail, "softmax")
        self.assertTrue(str(caught.exception).startswith("drops_the_tail fails "), caught.exception)
        self.assertEqual(caught.exception.report.failures[0].finding, "wrong result")
        with self.assertRaises(assay.Untrusted) as caught:
            assay.assert_trial(unsupported, "softmax")
        self.assertEqual(caught.exception.report.outcome, "untrusted")

    def test_standards_and_tolerances(self):
        self.assertTrue(assay.trial(lambda x: softmax(x) * np.float32(1.001), "softmax", rtol=0.01, atol=1e-6, draws=5))
        self.assertFalse(assay.trial(softmax, "softmax", standard="bit_equal", draws=5))

    def test_contract_options(self):
        calls = itertools.count()

        def jitters(x):
            return softmax(x) * np.float32(1 + 2.0 ** -23 * (next(calls) % 2))
        self.assertFalse(assay.trial(jitters, "softmax", draws=5))
        self.assertTrue(assay.trial(jitters, "softmax", draws=5, unordered=True))

        def batched(x):
            return softmax(x) * np.float32(1 + 2.0 ** -23 * (x.ndim > 1 and x.shape[0] > 1))
        self.assertTrue(assay.trial(batched, "softmax", draws=5))
        self.assertEqual(assay.trial(batched, "softmax", draws=5, batch_invariant=True).failures[0].finding,
                         "batch-dependent bits")

    def test_arrays_that_a_function_keeps(self):
        kept = []

        def fn(x):
            kept.append((x, softmax(x)))
            return kept[-1][1]
        self.assertTrue(assay.trial(fn, "softmax", draws=5))
        gc.collect()
        self.assertGreater(sum(float(np.nansum(np.abs(x[np.isfinite(x)]))) for x, _ in kept), 0)


def unsupported(x):
    raise NotImplementedError


class Processes(TestCase):
    def test_a_crash(self):
        def fn(x):
            if x.shape[-1] == 1025:
                os.kill(os.getpid(), signal.SIGSEGV)
            return softmax(x)
        report = assay.trial(fn, "softmax", isolated=True)
        self.assertEqual(report.failures[0].finding, "crash")

    def test_a_hang(self):
        def fn(x):
            while x.shape[-1:] == (33,):
                pass
            return softmax(x)
        report = assay.trial(fn, "softmax", isolated=True, call_seconds=0.2, only=0)
        self.assertEqual(report.failures[0].finding, "hang")

    def test_right_functions(self):
        self.assertTrue(assay.trial(softmax, "softmax", isolated=True, draws=3))
        self.assertTrue(assay.trial(matmul, "matmul", isolated=True, draws=3))

    @unittest.skipIf(torch is None, "PyTorch is not installed")
    def test_torch(self):
        torch.matmul(torch.ones(512, 512), torch.ones(512, 512))  # starts the threads of its pool
        self.assertTrue(assay.trial(torch.matmul, "matmul", isolated=True, draws=3))

    def test_interrupt(self):
        calls = itertools.count()

        def fn(x):
            if next(calls) == 100:
                os.kill(os.getpid(), signal.SIGINT)
            return softmax(x)
        report = assay.trial(fn, "softmax", budget=60)
        self.assertTrue(report.was_interrupted)
        self.assertLess(report.seconds, 30)
        self.assertGreater(report.counts["listed"]["passed"], 5)
        self.assertEqual(report.not_supported, {})
        self.assertIn("the trial was interrupted", report.text)

    def test_interrupt_while_an_input_is_reduced(self):
        calls = itertools.count()

        def fn(x):
            if 300 <= x.shape[-1] < 1000:  # sizes that are only tried to reduce the input
                next(calls)
                raise KeyboardInterrupt
            return softmax(x) if x.shape[-1] < 300 else np.zeros_like(x)
        report = assay.trial(fn, "softmax")
        self.assertEqual((next(calls), report.was_interrupted, report.outcome), (1, True, "fail"))
        self.assertIn("interrupted while the input was reduced", report.text)

    def test_other_threads_run(self):
        """The interpreter's lock is free while inputs are drawn and outputs judged, and trials may run at once."""
        stop, turns, reports = threading.Event(), itertools.count(), []

        def spin():
            while not stop.is_set():
                next(turns)
        threads = [threading.Thread(target=spin)] + [
            threading.Thread(target=lambda: reports.append(assay.trial(softmax, "softmax", draws=10))) for _ in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads[1:]:
            thread.join()
        stop.set()
        threads[0].join()
        self.assertTrue(all(reports) and len(reports) == 2)
        self.assertGreater(next(turns), 1000)

    def test_budget(self):
        report = assay.trial(softmax, "softmax", budget=0.5)
        self.assertLess(report.seconds, 10)
        self.assertTrue(report)


if __name__ == "__main__":
    sys.exit(unittest.main(verbosity=2))
