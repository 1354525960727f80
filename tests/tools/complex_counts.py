#!/usr/bin/env python3
"""Compares the verdicts of `assay compare` on complex arrays with those of NumPy and PyTorch, pair
by pair.

Every pair must get the same verdict, and so the number of mismatches must be the same.

Run in an empty directory, with `assay` on PATH. NumPy and PyTorch judge in complex128, which holds
every complex64 and complex32 exactly. If the sizes of finite numbers are beyond float64, the sizes
in long double decide: NumPy's tolerance is infinite there, so that it passes every finite number.
"""
import itertools
import json
import subprocess
import sys

import numpy as np

try:
    import torch
except ImportError:
    torch = None

rng = np.random.default_rng(17)
failures = compared = beyond = 0


def check(what, condition, *more):
    global failures
    if not condition:
        failures += 1
        if failures < 20:
            print("differs:", what, *more)


def parts_of(kind):
    info = np.finfo({"complex32": "f2", "complex64": "f4", "complex128": "f8"}[kind])
    tiny, small, most = float(info.smallest_subnormal), float(info.tiny), float(info.max)
    return np.array([0.0, -0.0, 1.0, -1.0, 1 + float(info.eps), 3.0, 4.0, tiny, -tiny, small, most, -most, most / 2,
                     np.inf, -np.inf, np.nan], info.dtype)


def pairs(kind):
    """Returns pairs in which every special part meets every other, and pairs of numbers that nearly agree."""
    special = parts_of(kind)
    numbers = np.array(list(itertools.product(special, special)), special.dtype)
    some = rng.integers(0, len(numbers), (2, 4000))
    # In half of the pairs the real parts are made equal, and in half of them the imaginary parts.
    actual, expected = numbers[some[0]].copy(), numbers[some[1]].copy()
    same = rng.random(expected.shape) < 0.5
    actual[same] = expected[same]
    near = (rng.standard_normal((2000, 2)) * 10.0 ** rng.integers(-4, 4, (2000, 1))).astype(special.dtype)
    off = (near * (1 + rng.standard_normal(near.shape) * 10.0 ** rng.integers(-8, -1, (2000, 1)))).astype(special.dtype)
    return np.concatenate([actual, off]), np.concatenate([expected, near])


def exactly_close(a, e, rtol, atol):
    """Compares finite numbers in long double, which has range and precision to spare."""
    a, e = a.astype("g"), e.astype("g")
    return np.hypot(*(a - e).T) <= np.minimum(np.longdouble(atol) + np.longdouble(rtol) * np.hypot(*e.T), np.finfo("f8").max)


def verdicts(actual, expected, rtol, atol, equal_nan):
    a, e = (np.ascontiguousarray(x.astype("f8")).view("c16")[:, 0] for x in (actual, expected))
    finite = np.isfinite(a) & np.isfinite(e)
    with np.errstate(all="ignore"):
        # Pairs that are not finite are judged by NumPy's ==. isclose of NumPy 1.24 is not used for them, because it
        # first multiplies them by one, which turns the finite part beside an infinite one into NaN.
        by_numpy = (a == e) | (equal_nan & np.isnan(a) & np.isnan(e))
        by_numpy[finite] = np.isclose(a[finite], e[finite], rtol=rtol, atol=atol)
        sizes = np.abs([a, e, a - e])
    by_torch = by_numpy
    if torch is not None:
        by_torch = torch.isclose(torch.from_numpy(a), torch.from_numpy(e), rtol=rtol, atol=atol,
                                 equal_nan=equal_nan).numpy()
    out = finite & ~np.isfinite(sizes).all(0)
    # PyTorch 1.13 squares the parts of complex128, so that it cannot judge sizes whose squares
    # leave float64.
    squared = finite & ~(((sizes == 0) | ((sizes > 1e-150) & (sizes < 1e150))).all(0))
    differ = (by_numpy != by_torch) & ~squared
    check("NumPy and PyTorch", not differ.any(), [(a[i], e[i], by_torch[i], rtol, atol) for i in np.flatnonzero(differ)[:3]])
    wanted = by_numpy.copy()
    wanted[out] = exactly_close(actual[out], expected[out], rtol, atol)
    return wanted, int(out.sum())


def store(name, kind, parts):
    if kind == "complex32":
        np.save(f"{name}_complex32.npy", parts)
        return f"{name}_complex32.npy"
    np.save(f"{name}.npy", parts.view({"complex64": "c8", "complex128": "c16"}[kind])[:, 0])
    return f"{name}.npy"


def assay(kind, actual, expected, *arguments):
    done = subprocess.run(["assay", "compare", store("a", kind, actual), store("e", kind, expected), *arguments, "--json", "-"],
                          capture_output=True, text=True, check=False)
    if done.returncode not in (0, 1, 4):
        raise SystemExit(f"{arguments}: exit code {done.returncode}: {done.stderr}")
    return json.loads(done.stdout)


for kind in ("complex32", "complex64", "complex128"):
    for rtol, atol, equal_nan in ((0.0, 0.0, False), (1.3e-6, 1e-5, False), (1e-3, 0.0, True), (0.0, 1e-3, True), (0.5, 0.0, False)):
        actual, expected = pairs(kind)
        wanted, many = verdicts(actual, expected, rtol, atol, equal_nan)
        beyond += many
        what = (kind, rtol, atol, equal_nan)
        bound = ["--rtol", repr(rtol), "--atol", repr(atol), *(["--equal-nan"] if equal_nan else [])]
        verdict = assay(kind, actual, expected, *bound)
        check(what, verdict["mismatches"] == int((~wanted).sum()), verdict["mismatches"], "by NumPy", int((~wanted).sum()))
        compared += len(wanted)
        # The pairs that NumPy passes, and those that it does not, are compared separately. This checks assay's verdict
        # on every pair.
        for side, of, count in (("passes", wanted, 0), ("mismatches", ~wanted, int((~wanted).sum()))):
            alone = assay(kind, actual[of], expected[of], *bound)
            check(what, alone["mismatches"] == count, side, alone["mismatches"], [
                (w["actual"], w["expected"]) for w in alone["worst"]])
        # The report shows the real and imaginary parts of the worst elements without rounding.
        for entry in verdict["worst"]:
            i = entry["index"][0]
            for side, of in (("actual", actual), ("expected", expected)):
                shown = [float(x) for x in entry[side]]
                check(what, np.array_equal(shown, of[i].astype("f8"), equal_nan=True), side, shown, of[i])
        # Metrics are about the magnitudes of complex numbers, and only about elements that are finite.
        ordinary = np.arange(4000, len(wanted))
        a, e = (x[ordinary].astype("f8").view("c16")[:, 0] for x in (actual, expected))
        check(what, verdict["metrics"]["actual"]["nan"] == int(np.isnan(actual).any(1).sum()), "NaN")
        check(what, verdict["metrics"]["both_nan"] == int((np.isnan(actual).any(1) & np.isnan(expected).any(1)).sum()))
        metrics = assay(kind, actual[ordinary], expected[ordinary], "--rtol", "1", "--atol", "1")["metrics"]
        error, size = np.abs(a - e), np.abs(e)
        for name, value in (("max_abs_error", error.max()), ("mean_abs_error", error.mean()),
                            ("max_rel_error", (error[size > 0] / size[size > 0]).max()), ("rmse", np.sqrt((error ** 2).mean())),
                            ("cosine", np.vdot(e, a).real / np.linalg.norm(a) / np.linalg.norm(e)),
                            ("snr_db", 10 * np.log10((size ** 2).sum() / (error ** 2).sum())),
                            ("relative_l2", np.linalg.norm(a - e) / np.linalg.norm(e)),
                            ("deepgemm_diff", 1 - 2 * np.vdot(e, a).real / ((abs(a) ** 2).sum() + (size ** 2).sum())),
                            ("diff1", error.sum() / size.sum()), ("max_abs_expected", size.max())):
            tolerance = 1e-9 if name == "deepgemm_diff" else 1e-12
            check(what, np.isclose(metrics[name], value, rtol=tolerance, atol=1e-15), name, metrics[name], value)
        check(what, metrics["bias"] == "nan" and metrics["ulp_compared"] == 0, "what has no meaning")

print(compared, "pairs,", beyond, "beyond float64,", "by NumPy" if torch is None else "by NumPy and PyTorch")
sys.exit(1 if failures or compared < 20000 or beyond < 100 else 0)
