#!/usr/bin/env python3
"""Compares h5diff's counts of differences with those of `assay compare`, on the same files.

Run in an empty directory, with `assay` and `h5diff` on PATH. h5diff's rules (1.10):
  -d D  |a - b| > D, in the arrays' own dtype. NaN equals NaN, and infinities are numbers. With atol D,
        rtol 0 and equal NaN, `assay compare` has the same counts.
  -p R  |(b - a) / a| > R in float64, although its help divides by b: relative to the first file. This
        is rtol R and atol 0 with the first file as EXPECTED. If a is 0 and b is not, both programs
        count a difference. Infinities differ: if a or both are infinite, the quotient is NaN and h5diff
        sees no difference.
  (no option)  other bits, but NaN equals NaN. This is rtol 0, atol 0 and equal NaN, except that
        -0 and +0 differ for h5diff and are equal for `assay compare`.
"""
import json
import re
import subprocess
import sys

import h5py
import numpy as np

rng = np.random.default_rng(11)
failures = 0


def h5diff(*options):
    done = subprocess.run(["h5diff", "-c", *options, "a.h5", "b.h5", "/x", "/x"], capture_output=True, text=True)
    if done.returncode not in (0, 1) or "not comparable" in done.stdout:
        raise SystemExit(f"h5diff {options}: {done.stdout}{done.stderr}")
    found = re.search(r"(\d+) differences found", done.stdout)
    return int(found[1]) if found else 0


def assay(actual, expected, rtol, atol):
    done = subprocess.run(["assay", "compare", f"{actual}:/x", f"{expected}:/x", "--rtol", repr(rtol), "--atol",
                           repr(atol), "--equal-nan", "--json", "-"], capture_output=True, text=True)
    if done.returncode not in (0, 1, 4):
        raise SystemExit(f"assay: exit code {done.returncode}: {done.stderr}")
    return json.loads(done.stdout)["mismatches"]


def write(a, b, chunks):
    for name, array in (("a.h5", a), ("b.h5", b)):
        with h5py.File(name, "w") as f:
            f.create_dataset("x", data=array, chunks=chunks, compression="gzip" if chunks else None)


def check(what, theirs, ours):
    global failures
    if theirs != ours:
        failures += 1
        print("differs:", what, "h5diff", theirs, "assay", ours)


for kind in ("f4", "f8", "i4", "i1"):
    for turn in range(4):
        shape = (37, 53)
        # The values are multiples of 1/8, so that differences and bounds are exact in every dtype. Rounding then
        # decides nothing.
        if kind[0] == "f":
            a = rng.integers(-64, 65, shape) / 8.0
            b = a + rng.choice([0, 0, 0, 1, -1, 2, 8], shape) / 8.0
        else:
            a = rng.integers(-50, 50, shape)
            b = a + rng.choice([0, 0, 0, 1, -1, 2], shape)
        a, b = a.astype(kind), b.astype(kind)
        special = kind[0] == "f" and turn % 2 == 1
        if special:
            values = np.array([np.nan, 1.0, -0.0, 0.0] + [np.inf, -np.inf] * (turn == 3))
            for i, (x, y) in enumerate((x, y) for x in values for y in values):
                a.flat[7 * i], b.flat[7 * i] = x, y
        write(a, b, (16, 16) if turn % 2 else None)
        zeros = int(((a == 0) & (b == 0) & (np.signbit(a) != np.signbit(b))).sum())
        check((kind, turn, "exact"), h5diff(), assay("b.h5", "a.h5", 0.0, 0.0) + zeros)
        for delta in (0.125, 0.1, 1.0) if kind[0] == "f" else (1, 2):
            check((kind, turn, "-d", delta), h5diff("-d", str(delta)), assay("b.h5", "a.h5", 0.0, float(delta)))
        # No ratio of the multiples of 1/8 above is 0.3331, so that there is no tie.
        ours = assay("b.h5", "a.h5", 0.3331, 0.0)
        if special and turn == 3:
            # h5diff never sees a difference if a is infinite. `assay compare` sees one unless b is
            # the same infinity.
            infinite = np.isinf(a) & (a != b) & ~np.isnan(b)
            ours -= int(infinite.sum())
        check((kind, turn, "-p"), h5diff("-p", "0.3331"), ours)

# These values show which file is the reference: 1 and 1.25 differ by 25 % of the first and 20 % of
# the second.
write(np.array([1.0, 8.0]), np.array([1.25, 8.0]), None)
check("the reference of -p is the first file", h5diff("-p", "0.22"), 1)
check("with ours EXPECTED", assay("b.h5", "a.h5", 0.22, 0.0), 1)
check("and not ACTUAL", assay("a.h5", "b.h5", 0.22, 0.0), 0)

sys.exit(1 if failures else 0)
