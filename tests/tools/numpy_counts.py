#!/usr/bin/env python3
"""Compares arrays by `assay compare` and by NumPy. The number of mismatches and the largest error
must agree.

Run in an empty directory, with `assay` on PATH. NumPy computes |a - e| <= atol + rtol |e| in
float64, from arrays that it converted itself. NaN equals nothing unless --equal-nan is given.
"""
import json
import subprocess
import sys

import numpy as np

rng = np.random.default_rng(7)
failures = 0


def assay(*arguments):
    done = subprocess.run(["assay", "compare", *arguments, "--json", "-"], capture_output=True, text=True)
    if done.returncode not in (0, 1, 4):
        raise SystemExit(f"{arguments}: exit code {done.returncode}: {done.stderr}")
    return done.returncode, json.loads(done.stdout)


def check(what, condition, *more):
    global failures
    if not condition:
        failures += 1
        print("differs:", what, *more)


def mismatches(actual, expected, rtol, atol, equal_nan):
    a, e = actual.astype("f8"), expected.astype("f8")
    with np.errstate(invalid="ignore", over="ignore"):
        close = np.isclose(a, e, rtol=rtol, atol=atol, equal_nan=equal_nan)
    return int((~close).sum())


def layouts(array):
    yield array
    yield np.asfortranarray(array)
    yield array.astype(array.dtype.newbyteorder(">"))


for round_number in range(12):
    for kind in ("f4", "f2", "i4", "i1"):
        shape = tuple(rng.integers(1, 40, rng.integers(1, 4)))
        if kind[0] == "f":
            expected = (rng.standard_normal(shape) * 10.0 ** rng.integers(-3, 3)).astype(kind)
            actual = (expected * (1 + rng.standard_normal(shape) * 10.0 ** rng.integers(-6, -1))).astype(kind)
            for special in (np.nan, np.inf, -np.inf):
                for side in (actual, expected):
                    side[rng.random(shape) < 0.01] = special
            both = rng.random(shape) < 0.01
            actual[both] = expected[both] = np.nan
        else:
            expected = rng.integers(-100, 100, shape).astype(kind)
            actual = np.where(rng.random(shape) < 0.1, expected + 1, expected).astype(kind)
        rtol, atol = (0.0, 0.0) if kind[0] == "i" else (10.0 ** rng.integers(-7, -1), 10.0 ** rng.integers(-8, -2))
        equal_nan = bool(round_number % 2)
        stored = list(layouts(actual))[round_number % 3]
        np.save("a.npy", stored)
        np.save("e.npy", expected)
        # The standard torch is named because NaN is a mismatch under it. --rtol and --atol override its tolerances.
        code, verdict = assay("a.npy", "e.npy", "--standard", "torch", "--rtol", repr(float(rtol)), "--atol", repr(float(atol)),
                              *(["--equal-nan"] if equal_nan else []))
        count = mismatches(actual, expected, rtol, atol, equal_nan)
        what = (kind, shape, rtol, atol, equal_nan)
        check(what, verdict["mismatches"] == count, verdict["mismatches"], "by numpy", count)
        check(what, verdict["sites"] == actual.size)
        check(what, (code == 1) == (count > 0), "exit code", code)
        both = np.isfinite(actual) & np.isfinite(expected)
        errors = np.abs(actual[both].astype("f8") - expected[both].astype("f8"))
        if errors.size:
            check(what, np.isclose(verdict["metrics"]["max_abs_error"], errors.max(), rtol=1e-14), "largest error")
            check(what, np.isclose(verdict["metrics"]["rmse"], np.sqrt((errors ** 2).mean()), rtol=1e-12), "RMSE")
        if count and kind[0] == "f":
            worst = verdict["worst"][0]
            at = tuple(worst["index"])
            check(what, worst["actual"] == float(actual[at]) or not np.isfinite(actual[at]), "worst element", at)

sys.exit(1 if failures else 0)
