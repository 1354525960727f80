"""assay.compare against numpy.testing.assert_allclose and torch.testing.assert_close: the same verdict
and the same number of mismatches, on random and adversarial pairs.

numpy and torch evaluate |a - e| <= atol + rtol |e| in the arrays' own dtype. assay evaluates it in float64, and
exactly for integers. So only the elements that near() counts may differ. Their difference is so near the bound that
rounding decides, or is too large for the dtype. Or they are complex numbers with infinite or NaN parts, or with
squares that are too large."""
import collections
import os
import re
import sys
import unittest

import numpy as np

import assay

try:
    import torch
except ImportError:
    torch = None

PAIRS = int(os.environ.get("ASSAY_PAIRS", "1500"))  # pairs of arrays for each library; nightly tests set more
RULES = [(1e-5, 1e-8), (1e-7, 0.0), (1e-3, 1e-3), (0.0, 1e-6), (0.5, 0.0), (0.0, 0.0), (0.016, 1e-5),
         (1e-3, 1e-5), (0.0, 3.0), (2.0, 0.0)]
NUMPY = ["f2", "f4", "f8", "i1", "u1", "i2", "i4", "i8", "?", "c8", "c16"]
TORCH = ["float16", "bfloat16", "float32", "float64", "int8", "uint8", "int16", "int32", "int64", "bool",
         "complex64", "complex128"]
SPECIAL = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 1.0, 1 / 3, 1e-45, 6e-8, 6e4, -6e4, 3e38, 1e300])


def shape_of(rng):
    rank = rng.integers(0, 6)
    shape = tuple(int(n) for n in rng.integers(1, 5, rank))
    if rank > 0 and rng.random() < 0.03:
        at = rng.integers(0, rank)
        shape = shape[:at] + (0,) + shape[at + 1:]
    return shape


def values(rng, rtol, atol, shape):
    """Returns a pair of float64 arrays, which are equal, differ by about the bound, or differ by anything."""
    e = np.asarray(rng.standard_normal(shape) * 10.0 ** rng.integers(-4, 4, shape))
    kind = rng.integers(0, 5)
    if kind == 0:
        a = e.copy()
    elif kind == 1:  # errors that are multiples of the bound
        off = rng.choice([0.0, 0.5, 0.999, 1.0, 1.001, 2.0], shape)
        a = e + (atol + rtol * np.abs(e)) * off * rng.choice([-1.0, 1.0], shape)
    elif kind == 2:  # a tenth of the elements are wrong
        a = np.where(rng.random(shape) < 0.1, e + rng.standard_normal(shape), e)
    elif kind == 3:
        a, e = rng.choice(SPECIAL, shape), rng.choice(SPECIAL, shape)
        a = np.where(rng.random(shape) < 0.5, a, e)
    else:
        a = np.asarray(rng.standard_normal(shape))
    return np.asarray(a), np.asarray(e)


def cast(rng, pair, dtype):
    """Returns the pair of arrays in a numpy dtype."""
    kind = np.dtype(dtype).kind
    with np.errstate(all="ignore"):
        if kind == "f":
            return [np.asarray(x.astype(dtype)) for x in pair]
        if kind == "c":
            turn = rng.choice([1, 1j, 0.6 + 0.8j])
            return [np.asarray((x * turn).astype(dtype)) for x in pair]
        if kind == "b":
            return [np.asarray(x > 0.5) for x in pair]
        info = np.iinfo(dtype)
        wide = 2.0 ** rng.integers(0, info.bits)
        return [np.asarray(np.clip(np.nan_to_num(x * wide), info.min, float(info.max) * (1 - 2 ** -50)))
                .astype(dtype) for x in pair]


def layout(rng, array):
    """Returns the same array, perhaps with another layout in memory."""
    kind = rng.integers(0, 4)
    if kind == 1 and array.ndim > 0:
        return np.asfortranarray(array)
    if kind == 2 and array.ndim > 0:  # a view of every other element of a larger array, backwards
        wide = np.zeros(tuple(2 * n for n in array.shape), array.dtype)
        view = wide[tuple(slice(2 * n - 1, None, -2) if n else slice(0, 0) for n in array.shape)]
        view[...] = array
        return view
    if kind == 3 and array.ndim > 1:
        return np.ascontiguousarray(array.T).T
    return array


def near(a, e, rtol, atol, epsilon, largest):
    """Returns how many elements the arithmetic of the arrays' own dtype may decide otherwise than float64."""
    wide = "c16" if a.dtype.kind == "c" else "f8"
    x, y = a.astype(wide), e.astype(wide)
    with np.errstate(all="ignore"):
        error, size = np.abs(x - y), np.abs(x) + np.abs(y)
        bound = atol + rtol * np.abs(y)
        slack = 4 * epsilon * (size + bound) + 1e-300
        found = (np.abs(error - bound) <= slack) & np.isfinite(size)
        # In the arrays' own dtype, subnormal numbers are coarser, and numbers that are too large are infinite.
        found |= np.maximum(error, bound) < 64 * tiny_of(epsilon)
        found |= np.isfinite(size) & ((error >= largest / 2) | (bound >= largest / 2))
        if a.dtype.kind == "c":  # complex numbers with infinite or NaN parts, or with squares that are too large
            found |= ~np.isfinite(size) | (size >= np.sqrt(largest) / 4)
    return int(np.count_nonzero(found & ((a != e) | ~np.isfinite(size))))


def tiny_of(epsilon):
    return {2.0 ** -10: 6e-8, 2.0 ** -7: 1e-40, 2.0 ** -23: 1.5e-45}.get(epsilon, 5e-324)


def numpy_says(a, e, rtol, atol, equal_nan):
    """Returns True if numpy.testing.assert_allclose passes, and the number of mismatches."""
    with np.errstate(all="ignore"):
        try:
            np.testing.assert_allclose(a, e, rtol=rtol, atol=atol, equal_nan=equal_nan)
            return True, 0
        except AssertionError as error:
            found = re.search(r"Mismatched elements: (\d+) / ", str(error))
            if found and not np.isnan(a).any() and not np.isnan(e).any():
                return False, int(found[1])
            # If there are NaN, numpy's message counts only the other elements, so isclose counts them.
            return False, int(np.count_nonzero(~np.isclose(a, e, rtol, atol, equal_nan)))


def torch_says(a, e, rtol, atol, equal_nan):
    try:
        torch.testing.assert_close(a, e, rtol=rtol, atol=atol, equal_nan=equal_nan)
        return True, 0
    except AssertionError as error:
        found = re.search(r"Mismatched elements: (\d+) / ", str(error))
        return False, int(found[1]) if found else 1


class Closeness(unittest.TestCase):
    def run_pairs(self, name, dtypes, make, says, limits):
        rng = np.random.default_rng(list(name.encode()))
        counts = collections.Counter()
        for number in range(PAIRS):
            rtol, atol = RULES[rng.integers(0, len(RULES))]
            equal_nan = bool(rng.integers(0, 2))
            dtype = dtypes[number % len(dtypes)]
            a, e, plain = make(rng, dtype, rtol, atol)
            passes, mismatches = says(a, e, rtol, atol, equal_nan)
            v = assay.compare(a, e, rtol=rtol, atol=atol, equal_nan=equal_nan)
            allowed = near(*plain, rtol, atol, *limits(dtype))
            said = (f"{name} {dtype} pair {number}: {mismatches} mismatches, ours {v.mismatches} "
                    f"({v.outcome}), {allowed} near; rtol {rtol}, atol {atol}, equal_nan {equal_nan}:"
                    f"\n{plain[0]!r}\n{plain[1]!r}")
            self.assertIn(v.outcome, ("pass", "fail", "untrusted"), said)
            self.assertLessEqual(abs(v.mismatches - mismatches), allowed, said)
            if allowed == 0:
                self.assertEqual(v.mismatches == 0, passes, said)
            counts["pairs"] += 1
            counts["fail"] += not passes
            counts["near"] += allowed > 0
            counts["other count"] += v.mismatches != mismatches
            counts["other verdict"] += (v.mismatches == 0) != passes
            counts["untrusted"] += v.outcome == "untrusted"
        print(name, dict(counts))
        self.assertGreater(counts["fail"], PAIRS // 5)
        self.assertGreater(counts["pairs"] - counts["fail"], PAIRS // 5)
        self.assertLess(counts["other verdict"], PAIRS // 50)

    def test_numpy(self):
        def make(rng, dtype, rtol, atol):
            a, e = cast(rng, values(rng, rtol, atol, shape_of(rng)), dtype)
            return layout(rng, a), layout(rng, e), (a, e)

        def limits(dtype):
            if np.dtype(dtype).kind in "fc":
                info = np.finfo(dtype)
                return float(info.eps), float(info.max)
            return 2.0 ** -52, float("inf")
        self.run_pairs("numpy", NUMPY, make, numpy_says, limits)

    @unittest.skipIf(torch is None, "PyTorch is not installed")
    def test_torch(self):
        def make(rng, dtype, rtol, atol):
            of_numpy = "float32" if dtype == "bfloat16" else dtype
            a, e = cast(rng, values(rng, rtol, atol, shape_of(rng)), of_numpy)
            kind = getattr(torch, dtype)
            tensors = [torch.from_numpy(np.array(layout(rng, x), order="C")).to(kind) for x in (a, e)]
            if a.ndim > 1 and rng.random() < 0.4:
                tensors = [t.transpose(0, 1).contiguous().transpose(0, 1) for t in tensors]
            plain = [t.double().numpy() if dtype == "bfloat16" else t.numpy() for t in tensors]
            return (*tensors, plain)

        def limits(dtype):
            kind = getattr(torch, dtype)
            if kind.is_floating_point or kind.is_complex:
                info = torch.finfo(kind)
                return info.eps, info.max
            return 2.0 ** -23, float("inf")  # torch compares integers with a tolerance in float32
        self.run_pairs("torch", TORCH, make, torch_says, limits)

    # The tolerances are those of the looser dtype, whichever side it is on.
    @unittest.skipIf(torch is None, "PyTorch is not installed")
    def test_torch_of_two_dtypes(self):
        dtypes = ("float16", "bfloat16", "float32", "float64", "complex64", "complex128")
        rtol = {"float16": 1e-3, "bfloat16": 1.6e-2, "float64": 1e-7, "complex128": 1e-7}
        rng, outcomes, between = np.random.default_rng(3), collections.Counter(), 0
        for left in dtypes:
            for right in dtypes:
                if left.startswith("complex") != right.startswith("complex"):
                    continue
                for off in [rtol.get(name, 1.3e-6) * factor for name in (left, right) for factor in (0.3, 3)]:
                    e = torch.from_numpy(1 + rng.random(50)).to(getattr(torch, right))
                    a = (e.to(torch.complex128) * (1 + off)).to(getattr(torch, left)) if e.is_complex() else (
                        (e.double() * (1 + off)).to(getattr(torch, left)))
                    try:
                        torch.testing.assert_close(a, e, check_dtype=False)
                        theirs = "pass"
                    except AssertionError:
                        theirs = "fail"
                    ours = assay.compare(a, e, standard="torch").outcome
                    self.assertEqual(ours, theirs, f"{left} against {right}, off by {off}")
                    outcomes[ours] += 1
                    alike = assay.compare(a, e.to(a.dtype), standard="torch").outcome
                    between += left != right and (ours, alike) == ("pass", "fail")
        self.assertGreater(min(outcomes["pass"], outcomes["fail"]), 15)
        self.assertGreater(between, 5, "values between the tolerances of both dtypes")


if __name__ == "__main__":
    if "--all" in sys.argv:
        sys.argv.remove("--all")
        PAIRS = 100000
    unittest.main(verbosity=2)
