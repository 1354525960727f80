#!/usr/bin/env python3
"""Compares `assay gate` with a few lines of numpy on TTK's cross_check, for adversarial triples.

The gate reads a dump of TTK with a third party's results (`xpu_golden`). Both versions of the rule
are checked: the one of assay, and the published one. Prints the differences and exits with 1, or
prints a count.

    cross_check.py ASSAY FOLDER
"""
import json
import pathlib
import shutil
import subprocess
import sys

import numpy as np

rng = np.random.default_rng(1717)
CASES = 600
LEVELS = {"l0": (10, 2, 2), "l1": (5, 1.5, 1.5), "l2": (2, 1.2, 1.2)}
# For each dtype: the value below which elements are small, and the error above which a small element is counted.
SMALL = {"float16": (2**-11, 2**-16), "float32": (2**-14, 2**-30)}


def same(x, y):
    return (x == y) | (np.isnan(x) & np.isnan(y))


def numbers(t, g, b, name, level):
    """Returns True if the ratios and the counts hold for the elements that are finite on all sides.
    """
    small_value, small_atol = SMALL[name]
    small = np.abs(g) < small_value
    counts = [int((np.abs(x - g)[small] > small_atol).sum()) for x in (t, b)]
    if counts[0] / max(counts[1], 1) > 2:
        return False
    t, g, b = t[~small], g[~small], b[~small]
    if g.size == 0:
        return True
    own, other = (np.abs(x - g) / (np.abs(g) + 1e-7) for x in (t, b))
    errors = [(own.max(), other.max()), (own.mean(), other.mean()),
              (np.sqrt(np.mean((t - g) ** 2)), np.sqrt(np.mean((b - g) ** 2)))]
    return all(x / max(y, small_value) <= limit for (x, y), limit in zip(errors, LEVELS[level]))


def verdict(t, g, b, name, level):
    t_finite, g_finite = np.isfinite(t), np.isfinite(g)
    if (~same(t, g) & ~(t_finite & g_finite)).any():
        mismatch = "fail"
    else:
        mismatch = None
    both = t_finite & g_finite
    if not np.isfinite(b[both]).all():
        return "not_comparable"
    if mismatch:
        return mismatch
    return "pass" if numbers(t[both], g[both], b[both], name, level) else "fail"


def published(t, g, b, name, level):
    special = ~(np.isfinite(t) & np.isfinite(g) & np.isfinite(b))
    if (special & ~(same(t, b) | (~np.isfinite(g) & same(t, g)))).any():
        return "fail"
    rest = ~special
    return "pass" if numbers(t[rest], g[rest], b[rest], name, level) else "fail"


def triple(name, level):
    n = int(rng.choice([1, 3, 40, 400]))
    dtype = np.dtype(name)
    small_value, small_atol = SMALL[name]
    g = rng.standard_normal(n) * rng.choice([small_value, 8 * small_value, 1, 100])
    if rng.random() < 0.3:  # then half of the elements are at the limit of small values or beside it
        g = np.where(rng.random(n) < 0.5, small_value * rng.choice([1, 1 + 2**-9, 1 - 2**-9], n), g)
    g = g.astype(dtype).astype(np.float64)
    size = rng.choice([0, 2**-9, 2**-6]) * np.abs(g)
    b = g + size * rng.uniform(-1, 1, n) + rng.choice([0, 3 * small_atol]) * rng.choice([-1, 1], n)
    factor = rng.choice([0.5, 0.99, 1.01, 1.4, 1.6, 2.5]) * rng.choice([1, 1, LEVELS[level][0]])
    t = g + (b - g) * np.where(rng.random(n) < rng.choice([0.02, 1]), factor, 0.5)
    if rng.random() < 0.3:
        t = g + rng.choice([small_value, 2 * small_value]) * np.abs(g) * rng.uniform(-1, 1, n)
    if rng.random() < 0.3:
        k = rng.integers(n)
        special = rng.choice([np.nan, np.inf, -np.inf])
        for x in (t, g, b):
            if rng.random() < 0.6:
                x[k] = special
    with np.errstate(over="ignore"):
        return [x.astype(dtype) for x in (t, g, b)]


def main():
    assay, folder = sys.argv[1], pathlib.Path(sys.argv[2]) / "cross_check"
    shutil.rmtree(folder, ignore_errors=True)
    wrong, passes, total = 0, 0, 0
    for level in LEVELS:
        dump = folder / level
        dump.mkdir(parents=True)
        expected = {}
        for i in range(CASES):
            name = str(rng.choice(list(SMALL)))
            t, g, b = triple(name, level)
            for word, array in (("dyn_output", t), ("golden", g), ("xpu_golden", b)):
                np.save(dump / f"case{i}_{word}_0.npy", array)
            wide = [x.astype(np.float64) for x in (t, g, b)]
            with np.errstate(all="ignore"):
                expected[f"case{i}"] = (verdict(*wide, name, level), published(*wide, name, level))
        for which, suffix in enumerate(("", ",as_published")):
            standard = f"ttk_cross_check_{level}{suffix}"
            report = folder / "report.json"
            ran = subprocess.run(
                [assay, "gate", str(dump), "--recorded", "dyn", "--reference-implementation", "xpu", "--standard",
                 standard, "--json", str(report), "-q"], capture_output=True, text=True)
            cases = json.loads(report.read_text())["cases"] if ran.returncode in (0, 1, 3, 4) else []
            if len(cases) != CASES or {c["verdicts"][0]["bound"]["standard"] for c in cases} - {standard}:
                print(f"{standard}: {len(cases)} cases, exit code {ran.returncode}: {ran.stderr}")
                return 1
            for c in cases:
                outcome = "pass" if c["outcome"] == "untrusted" else c["outcome"]
                right = expected[c["case"]][which]
                passes += right == "pass"
                total += 1
                if outcome != right:
                    wrong += 1
                    print(f"{standard}: {c['case']}: {c['outcome']} ({c['because']}), numpy: {right}")
    print(f"{total} verdicts, {passes} pass, {wrong} differ")
    return 1 if wrong or not total // 5 < passes < total * 4 // 5 else 0


if __name__ == "__main__":
    sys.exit(main())
