#!/usr/bin/env python3
"""Compares `assay gate` with standard_oracle.py for the published standards that ttk_rules.py does
not have.

Each standard judges 10 000 adversarial pairs. Then a file of `--standards` with the same standards,
which `assay list standards --json` writes, judges the same pairs. The outcomes must be equal.
Prints the differences and exits with 1, or prints a count.

    standard_rules.py ASSAY FOLDER
"""
import json
import math
import pathlib
import subprocess
import sys

import h5py
import numpy as np

from rule_formats import FORMATS, SHIFT, WIDTH, bits_of, encode, masked, rounded, ulps
from standard_oracle import INTEGERS, ROWS, Undecided, verdict

rng = np.random.default_rng(20 * 19)
np.seterr(all="ignore")
PAIRS = int(sys.argv[3]) if len(sys.argv) > 3 else 10000


# ------------------------------------------------------------------------------------- the pairs
SPECIALS = {"float16": [0x7C00, 0xFC00, 0x7E00, 0xFE01],
            "bfloat16": [0x7F80, 0xFF80, 0x7FC0, 0xFFC1],
            "float32": [0x7F800000, 0xFF800000, 0x7FC00000, 0xFFC00000],
            "float64": [0x7FF << 52, 0xFFF << 52, 0x7FF8 << 48, (0xFFF8 << 48) + 1]}
SPECIALS["hfloat32"] = SPECIALS["float32"]
FP4 = ["float4_e2m1fn", "float4_e1m2fn"]
ROUNDABLE = ["float16", "bfloat16", "float32", "hfloat32", "float8_e4m3fn", "float8_e5m2"] + FP4
IEEE = ["float16", "bfloat16", "float32", "float8_e5m2"]
SUMS = ("hipblaslt_norm", "ggml", "deepgemm", "msprobe", "tensorrt_", "cann_ecosystem@2025")


def goldens(row_name, name, n):
    decode, dtype, _, _, high = FORMATS[name]
    if name == "float8_e8m0fnu":
        return rng.integers(120, 134, n).astype(np.uint8)
    most = 3 if high < 8 or rng.random() < 0.7 else 12
    scale = 2.0 ** rng.integers(-4 if high < 16 else -20, most)
    golden = encode(name, rng.standard_normal(n) * scale)
    if rng.random() < 0.25 and not (name == "float64" and row_name.startswith(SUMS)):
        # Some elements get any codes at all: NaN, infinities, zeros of both signs, subnormals.
        at = rng.random(n) < rng.choice([0.01, 0.3, 1])
        width, shift = WIDTH.get(name, bits_of(dtype)), SHIFT.get(name, 0)
        some = rng.integers(0, 2**width - 1, n, dtype=np.uint64, endpoint=True)
        if rng.random() < 0.5:
            signs = rng.integers(0, 2, n, dtype=np.uint64) << np.uint64(width - 1)
            some = rng.integers(0, 4, n, dtype=np.uint64) | signs
        golden = np.where(at, (some << np.uint64(shift)).astype(dtype), golden)
    if rng.random() < 0.2:
        golden = np.where(rng.random(n) < 0.5, encode(name, np.zeros(1))[0], golden)
    return golden.astype(dtype)


def wide(name, g, past):
    """Returns a golden result in float64. Its elements round to g, or beside g at a tie. If `past` is true, one may be
    beyond the dtype's range."""
    part = rng.choice([-0.5, 0.5], g.size) * rng.choice([rng.random(g.size), np.ones(g.size)])
    x = np.where(np.isfinite(g), g + part * ulps(name, g), g)
    if not past:
        x = np.where(np.isfinite(rounded(name, x)), x, g)
    elif name in IEEE and rng.random() < 0.2:
        _, _, mantissa, _, high = FORMATS[name]
        # With 0.5, the element is the smallest number that rounds to infinity.
        short = 2.0**-mantissa * rng.choice([0.5, 0.51, 1, -1])
        x[rng.integers(g.size)] = rng.choice([-1, 1]) * (2 - short) * 2.0**high
    return x


def mask(n):
    kind = rng.random()
    if kind < 0.45:
        return np.ones(n)
    if kind < 0.6:
        return (rng.random(n) < rng.choice([0.01, 0.1, 0.5])) * 1.0
    few = int(rng.choice([1, n // 100, n // 100 + 1, n // 1000, n // 1000 + 1, n // 2, n // 2 + 1]))
    at = np.zeros(n)
    at[rng.permutation(n)[:max(1, min(n, few))]] = 1
    return at


def pattern(row_name, e, tolerance):
    """Returns errors with one kind of distribution. The caller scales them until the verdict changes."""
    n, size = e.size, np.where(np.isfinite(e), np.abs(e), 0)
    shape = rng.choice([np.full(n, tolerance), np.maximum(1, size) * tolerance, size * tolerance,
                        tolerance * np.where(size == 0, 1e-3, size) * rng.random(n)])
    if row_name == "msprobe_compare" and rng.random() < 0.5:
        shape = size * rng.choice([0.14, 0.45])
    signs = rng.choice([-1, 1], n) if rng.random() < 0.7 else rng.choice([-1, 1]) * np.where(
        rng.random() < 0.5, np.sign(e), 1)
    return shape * signs * mask(n)


def pair(row_name, name):
    row = ROWS[row_name]
    decode, dtype, mantissa, _, _ = FORMATS[name]
    sizes = [1, 2, 7, 50, 99, 100, 101, 200] + [1000] * 2
    if row_name == "msprobe":
        sizes += [999, 1000, 2000, 10000]
    n = int(rng.choice(sizes))
    golden = goldens(row_name, name, n)
    g = decode(golden)
    stored = golden
    bitwise = row_name.startswith("ttk") and name in FP4  # compares codes, so both sides have one dtype
    if name in ROUNDABLE and not bitwise and rng.random() < 0.25:
        g = stored = wide(name, g, row.rounds)
    e = rounded(name, g) if stored is g else g
    k = None
    if row_name in ("hipblaslt", "rocblas_sum"):
        k = int(rng.choice([1, 3, 64, 2048, 100000]))
    elif row_name.startswith("atb") and rng.random() < 0.7:
        k = int(rng.choice([1, 2047, 2048, 16383, 16384]))
    pt = None
    if row_name == "flash_attention":
        noise = rng.choice([0, 2.0**-mantissa, 2.0**-mantissa * 3])
        pt = encode(name, np.where(np.isfinite(e), e * (1 + noise * rng.standard_normal(n)), 0))
        at = ~np.isfinite(decode(pt)) | ~np.isfinite(e)
        if stored is golden:
            pt = np.where(at, golden, pt).astype(dtype)
        else:
            pt = np.where(at, encode(name, np.where(np.isnan(e), 0, e)), pt).astype(dtype)
    reference_implementation = None if pt is None else decode(pt)

    def outcome(codes):
        return verdict(row, name, decode(codes), g, k, reference_implementation)

    error = pattern(row_name, e, rng.choice([2.0**-mantissa, 1e-3, 1e-5, 1e-2]))

    def output(factor):
        a = e + error * factor
        a = np.where(np.isfinite(a), a, np.where(np.isfinite(e), e, 0))
        codes = encode(name, a)
        finite = np.isfinite(e) & np.isfinite(decode(codes))
        own = golden if stored is golden else encode(name, np.where(np.isnan(e), 0, e))
        own = np.where(np.isnan(decode(golden)), golden, own)
        return np.where(finite & (error != 0), codes, own).astype(dtype)

    out = output(rng.choice([0, 0.5, 1, 2, 1000]) if rng.random() < 0.15 else 0)
    if rng.random() < 0.85 and (error != 0).any() and outcome(out):
        low, high, inside, outside = 0.0, 2.0**-12, out, None
        while high < 2.0**40:
            outside = output(high)
            if not outcome(outside):
                break
            low, high, inside, outside = high, high * 16, outside, None
        if outside is not None:
            for _ in range({8: 9, 16: 16}.get(bits_of(dtype), 36)):
                middle = math.sqrt(low * high) if low else high / 16
                between = output(middle)
                if (between == inside).all() or (between == outside).all():
                    if middle / high > 0.999:
                        break
                try:
                    good = outcome(between)
                except Undecided:
                    break
                low, high, inside, outside = ((middle, high, between, outside) if good else
                                              (low, middle, inside, between))
        out = inside if outside is None or rng.random() < 0.5 else outside
    if rng.random() < 0.1:  # a code beside
        step = rng.integers(-1, 2, n) * (rng.random(n) < 0.02)
        out = masked(name, out + (step << SHIFT.get(name, 0)).astype(dtype))
    if rng.random() < 0.12 and name not in FP4:  # one element gets a special value on one side or on both
        at = rng.integers(n)
        choices = SPECIALS.get(name)
        if choices is None:
            choices = np.flatnonzero(~np.isfinite(decode(np.arange(256))))
        special = dtype(rng.choice(choices))
        if rng.random() < 0.7:
            out[at] = special
        if rng.random() < 0.7 and pt is None:
            other = dtype(rng.choice(choices)) if rng.random() < 0.5 else special
            stored[at] = other if stored is golden else decode(np.array([other], dtype))[0]
            g[at] = decode(np.array([other], dtype))[0]
    if pt is not None and (pt == out).all():
        raise Undecided  # a reference implementation whose result equals the output says nothing about it
    return stored, out, pt, k, outcome(out)


def integers(row_name):
    if rng.random() < 0.1:
        golden = rng.integers(0, 2, 20).astype(np.uint8)
        out = golden ^ (rng.random(20) < 0.03)
        return "bool", golden, out, bool((out == golden).all())
    kind = np.dtype(f"{rng.choice(['int', 'uint'])}{rng.choice([8, 16, 32, 64])}")
    low, high = int(np.iinfo(kind).min), int(np.iinfo(kind).max)
    n = int(rng.choice([1, 5, 50]))
    golden, out = [], []
    for _ in range(n):
        e = int(rng.choice([rng.integers(0, 100), rng.integers(0, 20) * 1000,
                            rng.integers(0, 50) * 100000, rng.integers(0, 2**62)]))
        e *= int(rng.choice([1, 1, -1]))
        e = min(max(e, low), high) if rng.random() < 0.9 else (low, high)[rng.integers(2)]
        step = int(abs(e) * {"onnx": 1e-3, "tensorrt": 1e-5}.get(row_name, 0))
        d = int(rng.choice([0, step, step, step + (rng.random() < 0.1), rng.integers(0, step + 1)]))
        a = min(max(e + d * int(rng.choice([-1, 1])), low), high)
        golden.append(e)
        out.append(a)
    right = INTEGERS.get(row_name, lambda d, e: d == 0)
    passes = all(right(abs(a - e), abs(e)) for a, e in zip(out, golden))
    return kind.name, np.array(golden, kind), np.array(out, kind), passes


def off(n, count, d):
    """Returns ones, the first of which are off by d."""
    return np.where(np.arange(n) < count, 1.0 + d, 1.0)


NAN, INF, ONES = np.nan, np.inf, off(1000, 0, 0)
# Cases that meet limits exactly, or have only special values: standard, dtype, output, expected,
# accumulations, and the reference implementation if there is one.
FIXED = [
    ("cann_ecosystem@2026-07", "float16", off(100, 1, 2**-5), off(100, 0, 0), None),
    ("cann_ecosystem@2026-07", "float16", off(100, 2, 2**-5), off(100, 0, 0), None),
    ("cann_ecosystem@2026-09", "float32", off(200, 1, 2**-5), off(200, 0, 0) * 2.0**14, None),
    ("cann_ecosystem@2026-09", "float16", [32 + 32 * 2**-5] + [0] * 99, [32] + [0] * 99, None),
    ("cann_ecosystem@2026-09", "float16", [32 + 33 * 2**-5] + [0] * 99, [32] + [0] * 99, None),
    ("ttk_mixed@2026-07", "float8_e4m3fn", [20] + [0] * 99, [16] + [0] * 99, None),
    ("ttk_mixed@2026-07", "float8_e4m3fn", [32] + [0] * 99, [64] + [0] * 99, None),
    ("atb@2025", "float16", [2**-10] * 8, [0] * 8, None),
    ("atb@2025", "float16", [2**-8, -(2**-8), 2**-8, -(2**-8)], [0] * 4, None),
    ("atb@2025", "bfloat16", [2**-6], [0], 2048),
    ("atb@2025", "bfloat16", [2**-7], [0], 2047),
    ("atb@2026-05", "float32", [2**-11, 2**-11], [0, 1], 2047),
    ("atb@2026-05", "float32", [2**-9, -(2**-9)], [0, 0], 16384),
    ("atb@2026-05", "float32", [2**-9], [0], 16383),
    ("atb_high_precision@2026-05", "float16", [2**-10], [0], 16384),
    ("msprobe", "float16", off(1000, 1, 2**-5), ONES, None),
    ("msprobe", "float16", off(1001, 1, 2**-5), off(1001, 0, 0), None),
    ("msprobe", "float32", off(10000, 1, 2**-5), off(10000, 0, 0), None),
    ("msprobe", "float32", off(10001, 1, 2**-5), off(10001, 0, 0), None),
    ("msprobe", "float64", [0, 1], [0, 1], None),
    ("msprobe_compare", "float32", [2.0, 2.0], [1.0, 1.0], None),
    ("msprobe_compare", "float32", [0.0, 0.0], [0.5, 0.5], None),
    ("msprobe_compare", "float32", [0.0, 0.0], [0.0, 0.0], None),
    ("msprobe_compare", "float32", [1.0, NAN], [1.0, NAN], None),
    ("msprobe_compare", "float32", [NAN, NAN], [NAN, NAN], None),
    ("transformer_engine_cpp", "float8_e5m2", [1.25, -1.0, 0.0], [1.0, -1.25, 2**-16], None),
    ("transformer_engine_cpp", "float8_e5m2", [1.5], [1.0], None),
    ("transformer_engine_cpp", "float16", [65504], [INF], None),
    ("flash_attention", "float16", [1 + 2**-8, 1], [1, 1], None, [1 + 2**-9, 1]),
    ("flash_attention", "float16", [1 + 2**-8 + 2**-10, 1], [1, 1], None, [1 + 2**-9, 1]),
    ("hipblaslt_norm", "float8_e4m3fn", [1.125, 2.25, -4.5], [1, 2, -4], None),
    ("hipblaslt_norm", "float8_e5m2", [1.25, 2.5], [1, 2], None),
    ("hipblaslt", "bfloat16", [0.5, 1.0], [0, 0], 10),
    ("rocblas_sum", "float32", [1 + 2**-20, NAN], [1, NAN], 8),
    ("rocblas_sum", "float32", [1 + 2**-20 + 2**-23], [1], 8),
    ("rocblas_sum", "float8_e4m3fn", [1.125, 1.25], [1.0625, 1.125], 2),
    ("cutlass_profiler", "float32", [0.0, -0.0], [-0.0, 0.0], None),
    ("ggml_nmse", "float32", [0.0], [0.0], None),
    ("ggml_nmse", "float32", [0.0, 0.0], [2.0**-140, 0.0], None),
    ("ggml_nmse", "float32", [INF, 1.0], [INF, 2.0], None),
    ("iree@2026-04", "float8_e4m3fn", [0.0], [-0.0], None),
    ("iree@2026-04", "float32", [NAN, INF], [NAN, -INF], None),
    ("deepgemm", "bfloat16", [0.0, 0.0], [0.0, -0.0], None),
    ("deepgemm_bf16", "bfloat16", [1 + 2**-7], [1 + 2**-8], None),
    ("tensorrt_median", "float32", [1, 1, 1, 2], [1, 1, 1, 1], None),
    ("tensorrt_median", "float32", [1, 1, 2, 2], [1, 1, 1, 1], None),
    ("tensorrt_max", "float64", [1e-16], [0.0], None),
    ("tensorrt_max", "float64", [2**-52 * 1e-6, 1 + 5e-6], [0.0, 1], None),
    ("tensorrt_quantile", "float32", off(1000, 10, 1), ONES, None),
    ("tensorrt_quantile", "float32", off(1000, 11, 1), ONES, None),
    ("jax", "float8_e8m0fnu", [2, 8], [1, 4], None),
    ("jax", "float8_e8m0fnu", [4], [1], None),
]


def fixed(row_name, name, out, golden, k, pt=None):
    """A golden result is stored as float64 if the dtype does not hold it."""
    decode, dtype, *_ = FORMATS[name]

    def codes(x):
        special = np.where(np.isnan(x), encode(name, np.zeros(x.size)), encode(name, x))
        if name in SPECIALS:
            for value, code in ((np.isnan(x), 2), (x == np.inf, 0), (x == -np.inf, 1)):
                special = np.where(value, dtype(SPECIALS[name][code]), special)
        return np.where((x == 0) & np.signbit(x), dtype(1 << bits_of(dtype) - 1), special)

    out, golden = (np.asarray(x, np.float64) for x in (out, golden))
    out, own = codes(out), codes(golden)
    stored = own if np.array_equal(decode(own), golden, equal_nan=True) else golden
    pt = None if pt is None else codes(np.asarray(pt, np.float64))
    return name, stored, out, pt, k, verdict(ROWS[row_name], name, decode(out), golden, k,
                                             None if pt is None else decode(pt))


def draw(row_name):
    while True:
        try:
            if rng.random() < (0.35 if row_name in INTEGERS else 0.03):
                name, golden, out, passes = integers(row_name)
                return name, golden, out, None, None, passes
            name = str(rng.choice(ROWS[row_name].dtypes))
            golden, out, pt, k, passes = pair(row_name, name)
            return name, golden, out, pt, k, passes
        except Undecided:
            pass


# ------------------------------------------------------------------------------------- the gate
def put(case, at, array, name):
    native = {"float32": np.float32, "hfloat32": np.float32, "float64": np.float64}.get(name)
    stored = case.create_dataset(at, data=array.view(native) if native else array)
    stored.attrs["dtype"] = name


def gate(assay, path, *more):
    report = path.with_suffix(".json")
    report.unlink(missing_ok=True)
    ran = subprocess.run([assay, "gate", str(path), "--recorded", "x", "--reference-implementation", "pt", "-q",
                          "--json", str(report), *more], capture_output=True, text=True)
    cases = json.loads(report.read_text())["cases"] if report.exists() else []
    if len(cases) != PAIRS:
        sys.exit(f"{len(cases)} cases came back, exit code {ran.returncode}: {ran.stderr}")
    return {c.get("case", c.get("name")): c["outcome"] for c in cases}


def own_name(name):
    return name.replace("@", "_") + "_own"


def main():
    assay, folder = sys.argv[1], pathlib.Path(sys.argv[2])
    folder.mkdir(exist_ok=True)
    path, standards = folder / "standard_pairs.h5", folder / "standards.json"
    expected, names = {}, list(ROWS)
    with h5py.File(path, "w", libver="latest") as f:
        f.attrs["assay_schema"] = 1
        for i in range(PAIRS):
            row_name = FIXED[i][0] if i < len(FIXED) else names[i % len(names)]
            drawn = fixed(*FIXED[i]) if i < len(FIXED) else draw(row_name)
            name, golden, out, pt, k, passes = drawn
            case = f.create_group(f"cases/p{i}")
            case.attrs.update({"op": "external", "standard": row_name, "max_blind": 1.0,
                               "output_dtype": name, "why": "adversarial pairs"})
            if k is not None:
                case.attrs["accumulations"] = k
            put(case, "golden", golden, "float64" if golden.dtype == np.float64 else name)
            put(case, "outputs/x", out, name)
            if pt is not None:
                put(case, "outputs/pt", pt, name)
            expected[f"p{i}"] = (row_name, name, golden.size, k, passes)

    outcomes = gate(assay, path)
    bad = 0
    wrong = [c for c, outcome in outcomes.items()
             if outcome not in ("pass", "untrusted", "fail") or
             (outcome != "fail") != expected[c][4]]
    for c in wrong[:20]:
        print(f"{c}: assay says {outcomes[c]}, and numpy {expected[c]}")
    for row_name in names:
        passes = [v[4] for v in expected.values() if v[0] == row_name]
        if not len(passes) // 10 < sum(passes) < len(passes) * 9 // 10:
            print(f"{row_name}: {sum(passes)} of {len(passes)} pass, which tests little")
            bad = 1

    # A user's own file can express everything that the published rows do.
    subprocess.run([assay, "list", "standards", "--json", str(standards)], check=True,
                   capture_output=True)
    rows = json.loads(standards.read_text())
    for row in rows["standards"]:
        row["name"] = own_name(row["name"])
    standards.write_text(json.dumps(rows))
    with h5py.File(path, "r+") as f:
        for case in f["cases"].values():
            case.attrs["standard"] = own_name(case.attrs["standard"])
    own = gate(assay, path, "--standards", str(standards))
    other = [c for c in outcomes if own[c] != outcomes[c]]
    for c in other[:20]:
        print(f"{c}: the row says {outcomes[c]}, the same from a file {own[c]}: {expected[c]}")
    print(f"{PAIRS} pairs of {len(names)} standards, {sum(v[4] for v in expected.values())} pass, "
          f"{len(wrong)} differ; {len(other)} from a file")
    return 1 if wrong or other or bad else 0


if __name__ == "__main__":
    sys.exit(main())
