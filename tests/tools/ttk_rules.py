#!/usr/bin/env python3
"""Compares `assay gate` with the rules of TTK and of Ascend's samples, on 10 000 adversarial pairs.

The rules are those of docs/judging.md, in the few lines of numpy below. Both are also checked as
they were published. Prints the differences and exits with 1, or prints a count.

    ttk_rules.py ASSAY FOLDER
"""
import json
import pathlib
import subprocess
import sys

import h5py
import numpy as np

from rule_formats import FORMATS, SHIFT, WIDTH, bits_of, encode, masked, ulp

rng = np.random.default_rng(20 * 17)
np.seterr(all="ignore")
PAIRS = int(sys.argv[3]) if len(sys.argv) > 3 else 10000
NAMES = ["float16", "bfloat16", "float32", "float64", "hfloat32", "hifloat8", "float4_e2m1fn",
         "float4_e1m2fn", "float8_e4m3fn", "float8_e5m2"]


# ------------------------------------------------------------------------------------- the rules
MIXED = {"float16": (2**-9, 2**-9, 0.1), "bfloat16": (2**-6, 2**-6, 1),
         "float32": (2**-10, 2**-16, 0.01), "float8_e4m3fn": (2**-2, 2**-4, 1),
         "float8_e5m2": (2**-1, 2**-3, 0.1), "float64": (2**-10, 2**-16, 0.01),
         "hfloat32": (2**-9, 2**-10, 0.1)}
T = {"float64": 2**-13, "float16": 2**-10, "bfloat16": 2**-7, "float32": 2**-13, "float8_e4m3fn": 2**-3,
     "float8_e5m2": 2**-2}


def specials(a, g):
    """Returns whether NaN and infinity agree, and a mask of the elements that are finite on both
    sides."""
    same = (np.isnan(a) & np.isnan(g)) | (np.isinf(a) & (a == g))
    finite = np.isfinite(a) & np.isfinite(g)
    return bool((same | finite).all()), finite


def mixed(name, a, g, *codes):
    if name not in MIXED:
        return (requant if name == "hifloat8" else binary)(name, a, g, *codes)
    ok, f = specials(a, g)
    rtol, atol, limit = MIXED[name]
    d = np.abs(a[f] - g[f])
    mismatches = int((~(d <= atol + rtol * np.abs(g[f]))).sum())
    if not ok or mismatches * 100 > a.size:
        return False
    if d.size == 0:
        return True
    worst = int(np.argmax(d))
    return bool(d[worst] <= limit or d[worst] <= 32 * ulp(name, g[f][worst]))


def stat_rel_err(name, a, g, *_):
    ok, f = specials(a, g)
    if not ok or not f.any():
        return ok
    r = np.abs(a[f] - g[f]) / (np.abs(g[f]) + 1e-7)
    return bool(r.mean() < T[name] and r.max() < 10 * T[name])


def close(name, a, g, *_):
    ok, f = specials(a, g)
    rtol = 1e-3 if name in ("float16", "bfloat16") else 1e-4
    mismatches = int((~(np.abs(a[f] - g[f]) <= 1e-8 + rtol * np.abs(g[f]))).sum())
    return ok and mismatches * (1000 if rtol == 1e-3 else 10000) <= a.size


def cosine(name, a, g, *_):
    ok, f = specials(a, g)
    if not f.any():
        return False  # no element is finite on both sides, so there is no direction
    x, y = a[f].astype(np.longdouble), g[f].astype(np.longdouble)
    norms = np.sqrt((x * x).sum()) * np.sqrt((y * y).sum())
    if norms == 0:
        return ok and bool((x == y).all())  # two zero vectors have the same direction
    return ok and bool(1 - (x * y).sum() / norms <= 0.01)


def binary(name, a, g, ca, cg):
    return bool(((ca == cg) | (np.isnan(a) & np.isnan(g))).all())


def requant(name, a, g, ca, cg):
    ok, f = specials(a, g)
    # Compares ranks among the existing values. -0 has the rank of 0.
    table = FORMATS[name][0](np.arange(256))
    values = np.unique(table[np.isfinite(table)])
    order = [np.searchsorted(values, np.where(f, x, 0)) for x in (a, g)]
    mismatches = int((np.abs(order[0] - order[1])[f] > 1).sum())
    return ok and mismatches * 1000 <= a.size


def verify_result(name, a, g, *_):
    ok, f = specials(a, g)
    mismatches = int((~(np.abs(a[f] - g[f]) <= 1e-9 + 1e-6 * np.abs(g[f]))).sum())
    return ok and mismatches * 10000 <= a.size


# The rules from here on are as they were published. np.isclose computes float16 in float16, float64 in float64, and all
# other dtypes in float32.
def mismatches_of_isclose(name, a, g, rtol, atol):
    native = {"float16": np.float16, "float64": np.float64}.get(name, np.float32)
    return int((~np.isclose(a.astype(native), g.astype(native), rtol=rtol, atol=atol,
                            equal_nan=True)).sum())


def published_close(name, a, g, *_):
    tol = 1e-3 if name in ("float16", "bfloat16") else 1e-4
    return 1 - (a.size - mismatches_of_isclose(name, a, g, tol, 1e-8)) / a.size <= tol


def published_verify_result(name, a, g, *_):
    return mismatches_of_isclose(name, a, g, 1e-6, 1e-9) / a.size <= 1e-4


def published_requant(name, a, g, ca, cg):
    far = np.abs(np.subtract(ca.view(np.int8), cg.view(np.int8))) > 1
    mismatches = int((far & ~(np.isnan(a) & np.isnan(g))).sum())
    return 1 - (a.size - mismatches) / a.size <= 0.001


ATB = {"float16": (2**-8, 2**-10), "bfloat16": (2**-7, 2**-7), "float32": (2**-11, 2**-14)}


def published_atb(name, a, g, *_):
    a, g = (np.where(np.isfinite(x), x, 0) for x in (a, g))
    return bool((np.abs(a - g) <= ATB[name][0] * np.maximum(1, np.abs(g))).all())


def published_atb_2025(name, a, g, *_):
    b, h = (np.where(np.isfinite(x), x, 0) for x in (a, g))
    balance = abs(((b - h) / np.maximum(1, np.abs(h))).mean())
    return published_atb(name, a, g) and bool(balance <= ATB[name][1])


RULES = {"ttk_mixed": mixed, "ttk_close": close, "ttk_cosine": cosine, "ttk_binary": binary}
FLOAT8 = {"ttk_requant": requant, "ttk_requant,as_published": published_requant}
WIDE = {"verify_result": verify_result, "verify_result,as_published": published_verify_result,
        "ttk_close,as_published": published_close}


def rules_of(name):
    rules = dict(RULES)
    if name in T:
        rules["ttk_stat_rel_err"] = stat_rel_err
    if name in ("hifloat8", "float8_e4m3fn", "float8_e5m2"):
        rules.update(FLOAT8)
    if name in ("float16", "bfloat16", "float32", "float64"):
        rules.update(WIDE)
    if name in ATB:
        rules["atb,as_published"] = published_atb
        rules["atb@2025,as_published"] = published_atb_2025
    return rules


# ------------------------------------------------------------------------------------- the pairs
def codes_near(name, golden, rule):
    """Returns outputs near the limit of the rule, and sometimes special values."""
    decode, dtype, mantissa, low, high = FORMATS[name]
    n = golden.size
    g = decode(golden)
    rule = rule.split(",")[0].split("@")[0]
    with np.errstate(all="ignore"):
        if name in MIXED and rule == "ttk_mixed":
            rtol, atol, limit = MIXED[name]
            edge = atol + rtol * np.abs(g)
            if rng.random() < 0.4:
                k = rng.integers(n)
                edge = np.where(np.arange(n) == k, max(limit, 32 * ulp(name, g[k])), edge / 4)
        elif rule == "ttk_stat_rel_err":
            edge = T[name] * (np.abs(g) + 1e-7) * rng.choice([1, 1, 10])
        elif rule == "verify_result":
            edge = 1e-9 + 1e-6 * np.abs(g)
        elif rule == "atb":
            edge = ATB[name][0] * np.maximum(1, np.abs(g))
        elif rule == "ttk_cosine":
            edge = np.abs(g) * 0.14
        elif rule == "ttk_close":
            edge = 1e-8 + (1e-3 if name in ("float16", "bfloat16") else 1e-4) * np.abs(g)
        else:
            edge = np.abs(g) * 2.0**-mantissa
        factor = rng.choice([0, 0.5, 0.99, 1, 1, 1.01, 2])
        if name == "float64" and rule == "ttk_stat_rel_err" and factor == 1:
            factor = 0.999  # with 1, rounding would decide if the mean is within its limit
        a = g + edge * factor * rng.choice([-1, 1], n)
        a = np.where(np.isfinite(a), a, g)
    out = encode(name, a)
    if rng.random() < 0.4:  # most elements are made exact
        keep = rng.random(n) < rng.choice([0.9, 0.99, 0.999, 1])
        out = np.where(keep, golden, out).astype(dtype)
    if rng.random() < 0.3:  # a code beside
        step = rng.integers(-1, 2, n) * (rng.random(n) < 0.02)
        out = masked(name, out + (step << SHIFT.get(name, 0)).astype(dtype))
    return out


def pair(name, rule):
    decode, dtype, mantissa, low, high = FORMATS[name]
    n = int(rng.choice([1, 2, 7, 50, 99, 100, 101, 200, 1000, 2000]))
    if rule.startswith("verify_result"):
        n = int(rng.choice([1, 100, 9999, 10000, 20000]))
    scale = 2.0 ** rng.integers(-4 if high < 16 else -20, 3)
    golden = encode(name, rng.standard_normal(n) * scale)
    if rng.random() < 0.3:  # some elements get any codes at all: NaN, infinities, zeros of both signs, subnormals
        at = rng.random(n) < rng.choice([0.01, 0.3, 1])
        bits, shift = WIDTH.get(name, np.iinfo(dtype).bits), SHIFT.get(name, 0)
        any_code = rng.integers(0, 2**bits - 1, n, dtype=np.uint64, endpoint=True).astype(dtype)
        small = (rng.integers(0, 4, n).astype(dtype) | (rng.integers(0, 2, n).astype(dtype)
                                                        << dtype(bits - 1)).astype(dtype))
        any_code, small = any_code << dtype(shift), small << dtype(shift)
        golden = np.where(at, rng.choice([any_code, small]), golden).astype(dtype)
    out = codes_near(name, golden, rule)
    if rng.random() < 0.15 and "float4" not in name:  # one element gets a special value on one side or on both
        k = rng.integers(n)
        special = encode(name, np.array([0.0]))[0]
        values = decode(np.arange(256).astype(np.uint8)) if bits_of(dtype) == 8 else None
        choices = (np.flatnonzero(~np.isfinite(values)) if values is not None else
                   {np.uint16: {"float16": [0x7C00, 0xFC00, 0x7E00, 0xFE01],
                                "bfloat16": [0x7F80, 0xFF80, 0x7FC0, 0xFFC1]}.get(name),
                    np.uint32: [0x7F800000, 0xFF800000, 0x7FC00000, 0xFFC00000],
                    np.uint64: [0x7FF << 52, 0xFFF << 52, 0x7FF8 << 48, (0xFFF8 << 48) + 1]}[dtype])
        special = dtype(rng.choice(choices))
        if rng.random() < 0.7:
            out[k] = special
        if rng.random() < 0.7:
            golden[k] = dtype(rng.choice(choices)) if rng.random() < 0.5 else special
    return golden, out


def main():
    assay, folder = sys.argv[1], pathlib.Path(sys.argv[2])
    folder.mkdir(exist_ok=True)
    expected = {}
    path = folder / "pairs.h5"
    with h5py.File(path, "w", libver="latest") as f:
        f.attrs["assay_schema"] = 1
        for i in range(PAIRS):
            if i % 10 == 9:
                name = str(rng.choice(["int8", "int4", "uint4"]))
                rule = "ttk_binary" if name == "uint4" else "ttk_quant"
                low, high = {"int8": (-128, 127), "int4": (-8, 7), "uint4": (0, 15)}[name]
                n = int(rng.integers(1, 300))
                golden = rng.integers(low, high + 1, n)
                step = rng.integers(-1, 2, n) if rng.random() < 0.6 else rng.integers(-2, 3, n)
                out = np.clip(golden + step * (rng.random() < 0.8), low, high)
                verdict = bool((np.abs(out - golden) <= (0 if name == "uint4" else 1)).all())
                golden, out = (x.astype(np.int8) if name == "int8" else (x & 15).astype(np.uint8)
                               for x in (golden, out))
            else:
                name = str(rng.choice(NAMES))
                rules = rules_of(name)
                rule = str(rng.choice(list(rules)))
                golden, out = pair(name, rule)
                decode = FORMATS[name][0]
                with np.errstate(all="ignore"):
                    verdict = rules[rule](name, decode(out), decode(golden), out, golden)
            case = f.create_group(f"cases/p{i}")
            case.attrs.update({"op": "external", "standard": rule, "max_blind": 1.0,
                               "why": "adversarial pairs"})
            for at, array in (("golden", golden), ("outputs/x", out)):
                native = {"float32": np.float32, "hfloat32": np.float32, "float64": np.float64}.get(name)
                case.create_dataset(at, data=array.view(native) if native else array)
                case[at].attrs["dtype"] = name
            expected[f"p{i}"] = (rule, name, golden.size, verdict)
    report = folder / "pairs.json"
    ran = subprocess.run([assay, "gate", str(path), "--recorded", "x", "--json", str(report), "-q"],
                         capture_output=True, text=True)
    cases = json.loads(report.read_text())["cases"] if ran.returncode < 2 else []
    if len(cases) != PAIRS:
        print(f"{len(cases)} cases came back, exit code {ran.returncode}: {ran.stderr}")
        return 1
    wrong = [(c["case"] if "case" in c else c["name"], c["outcome"]) for c in cases
             if (c["outcome"] != "fail") != expected[c.get("case", c.get("name"))][3]]
    for name, outcome in wrong[:20]:
        print(f"{name}: assay says {outcome}, and numpy {expected[name]}")
    passes = sum(v[3] for v in expected.values())
    print(f"{PAIRS} pairs, {passes} pass, {len(wrong)} differ")
    return 1 if wrong or not PAIRS // 5 < passes < PAIRS * 4 // 5 else 0


if __name__ == "__main__":
    sys.exit(main())
