#!/usr/bin/env python3
"""TTK's rules on 10 000 adversarial pairs: `assay gate` against the few lines below, which are the
rules of docs/judging.md in numpy, in float64. Says what differs and exits with 1, or prints a count.

    ttk_rules.py ASSAY FOLDER
"""
import json
import pathlib
import subprocess
import sys

import h5py
import numpy as np

rng = np.random.default_rng(20 * 17)
np.seterr(all="ignore")
PAIRS = 10000


# ------------------------------------------------------------------------------- formats, as codes
def bfloat16_bits(x):
    bits = np.asarray(x, np.float32).view(np.uint32).astype(np.uint64)
    nan = np.isnan(x)
    out = ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype(np.uint16)
    return np.where(nan, np.uint16(0x7FC0), out)


def of_bfloat16(bits):
    return (bits.astype(np.uint32) << 16).view(np.float32).astype(np.float64)


def fp8_table(exponent_bits, bias, is_e5m2):
    mantissa = 7 - exponent_bits
    values = np.zeros(256)
    for code in range(256):
        e, m = (code >> mantissa) & (2**exponent_bits - 1), code & (2**mantissa - 1)
        v = m * 2.0 ** (1 - bias - mantissa) if e == 0 else (1 + m / 2**mantissa) * 2.0 ** (e - bias)
        if is_e5m2 and e == 31:
            v = np.inf if m == 0 else np.nan
        if not is_e5m2 and code & 0x7F == 0x7F:
            v = np.nan
        values[code] = -v if code & 0x80 else v
    return values


E4M3, E5M2 = fp8_table(4, 7, False), fp8_table(5, 15, True)

# name: bits -> values, mantissa bits, exponent of the smallest normal, of the largest
FORMATS = {
    "float16": (lambda b: b.view(np.float16).astype(np.float64), np.uint16, 10, -14, 15),
    "bfloat16": (of_bfloat16, np.uint16, 7, -126, 127),
    "float32": (lambda b: b.view(np.float32).astype(np.float64), np.uint32, 23, -126, 127),
    "float8_e4m3fn": (lambda b: E4M3[b], np.uint8, 3, -6, 8),
    "float8_e5m2": (lambda b: E5M2[b], np.uint8, 2, -14, 15),
}


def ulp(name, g):
    _, _, mantissa, low, high = FORMATS[name]
    size = np.abs(g)
    if not np.isfinite(size):
        return 0
    e = low if size == 0 else int(np.floor(np.log2(size)))
    while size != 0 and 2.0 ** (e + 1) <= size:
        e += 1
    while size != 0 and 2.0**e > size:
        e -= 1
    return 2.0 ** (min(max(e, low), high) - mantissa)


# ------------------------------------------------------------------------------------- the rules
MIXED = {"float16": (2**-9, 2**-9, 0.1), "bfloat16": (2**-6, 2**-6, 1),
         "float32": (2**-10, 2**-16, 0.01), "float8_e4m3fn": (2**-2, 2**-4, 1),
         "float8_e5m2": (2**-1, 2**-3, 0.1)}
T = {"float16": 2**-10, "bfloat16": 2**-7, "float32": 2**-13, "float8_e4m3fn": 2**-3,
     "float8_e5m2": 2**-2}


def specials(a, g):
    """Whether NaN and infinity agree; and where both sides are finite."""
    same = (np.isnan(a) & np.isnan(g)) | (np.isinf(a) & (a == g))
    finite = np.isfinite(a) & np.isfinite(g)
    return bool((same | finite).all()), finite


def mixed(name, a, g, *_):
    ok, f = specials(a, g)
    rtol, atol, limit = MIXED[name]
    d = np.abs(a[f] - g[f])
    misses = int((~(d <= atol + rtol * np.abs(g[f]))).sum())
    if not ok or misses * 100 > a.size:
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
    misses = int((~(np.abs(a[f] - g[f]) <= 1e-8 + rtol * np.abs(g[f]))).sum())
    return ok and misses * (1000 if rtol == 1e-3 else 10000) <= a.size


def cosine(name, a, g, *_):
    ok, f = specials(a, g)
    if not f.any():
        return False  # nothing has a direction
    x, y = a[f].astype(np.longdouble), g[f].astype(np.longdouble)
    norms = np.sqrt((x * x).sum()) * np.sqrt((y * y).sum())
    if norms == 0:
        return ok and bool((x == y).all())  # of two zero vectors the direction is the same
    return ok and bool(1 - (x * y).sum() / norms <= 0.01)


def binary(name, a, g, ca, cg):
    return bool(((ca == cg) | (np.isnan(a) & np.isnan(g))).all())


def requant(name, a, g, ca, cg):
    ok, f = specials(a, g)
    # Codes in the order of their values; -0 stands where 0 does.
    order = [np.where(c & 0x80, -(c & 0x7F).astype(int), (c & 0x7F).astype(int)) for c in (ca, cg)]
    misses = int((np.abs(order[0] - order[1])[f] > 1).sum())
    return ok and misses * 1000 <= a.size


def quant(name, a, g, *_):
    return bool((np.abs(a.astype(int) - g.astype(int)) <= 1).all())


RULES = {"ttk_mixed": mixed, "ttk_stat_rel_err": stat_rel_err, "ttk_close": close,
         "ttk_cosine": cosine, "ttk_binary": binary}
FLOAT8 = {"ttk_requant": requant}


# ------------------------------------------------------------------------------------- the pairs
def codes_near(name, golden, rule):
    """Outputs about where the rule ends, and now and then something special."""
    decode, dtype, mantissa, low, high = FORMATS[name]
    n = golden.size
    g = decode(golden)
    with np.errstate(all="ignore"):
        if name in MIXED and rule == "ttk_mixed":
            rtol, atol, limit = MIXED[name]
            edge = atol + rtol * np.abs(g)
            if rng.random() < 0.4:
                k = rng.integers(n)
                edge = np.where(np.arange(n) == k, max(limit, 32 * ulp(name, g[k])), edge / 4)
        elif rule == "ttk_stat_rel_err":
            edge = T[name] * (np.abs(g) + 1e-7) * rng.choice([1, 1, 10])
        elif rule == "ttk_cosine":
            edge = np.abs(g) * 0.14
        elif rule == "ttk_close":
            edge = 1e-8 + (1e-3 if name in ("float16", "bfloat16") else 1e-4) * np.abs(g)
        else:
            edge = np.abs(g) * 2.0**-mantissa
        factor = rng.choice([0, 0.5, 0.99, 1, 1, 1.01, 2])
        a = g + edge * factor * rng.choice([-1, 1], n)
        a = np.where(np.isfinite(a), a, g)
    out = encode(name, a)
    if rng.random() < 0.4:  # exact but for a few
        keep = rng.random(n) < rng.choice([0.9, 0.99, 0.999, 1])
        out = np.where(keep, golden, out).astype(dtype)
    if rng.random() < 0.3:  # a code beside
        out = (out.astype(np.int64) + rng.integers(-1, 2, n) * (rng.random(n) < 0.02)).astype(dtype)
    return out


def encode(name, a):
    decode, dtype, *_ = FORMATS[name]
    with np.errstate(all="ignore"):
        if name == "float32":
            return a.astype(np.float32).view(np.uint32)
        if name == "float16":
            return a.astype(np.float16).view(np.uint16)
        if name == "bfloat16":
            return bfloat16_bits(a)
    table = np.where(np.isfinite(decode(np.arange(256))), decode(np.arange(256)), 1e30)
    return np.abs(table[None, :] - a[:, None]).argmin(axis=1).astype(np.uint8)


def pair(name, rule):
    decode, dtype, mantissa, low, high = FORMATS[name]
    n = int(rng.choice([1, 2, 7, 50, 99, 100, 101, 200, 1000, 2000]))
    scale = 2.0 ** rng.integers(-4 if high < 16 else -20, 3)
    golden = encode(name, rng.standard_normal(n) * scale)
    if rng.random() < 0.3:  # any codes at all: NaN, infinities, zeros of both signs, subnormals
        at = rng.random(n) < rng.choice([0.01, 0.3, 1])
        bits = np.iinfo(dtype).bits
        any_code = rng.integers(0, 2**bits, n, dtype=np.uint64).astype(dtype)
        small = (rng.integers(0, 4, n).astype(dtype) | (rng.integers(0, 2, n).astype(dtype)
                                                        << dtype(bits - 1)).astype(dtype))
        golden = np.where(at, rng.choice([any_code, small]), golden).astype(dtype)
    out = codes_near(name, golden, rule)
    if rng.random() < 0.15:  # something special on one side, or on both
        k = rng.integers(n)
        special = encode(name, np.array([0.0]))[0]
        values = decode(np.arange(256).astype(np.uint8)) if bits_of(dtype) == 8 else None
        choices = (np.flatnonzero(~np.isfinite(values)) if values is not None else
                   {np.uint16: {"float16": [0x7C00, 0xFC00, 0x7E00, 0xFE01],
                                "bfloat16": [0x7F80, 0xFF80, 0x7FC0, 0xFFC1]}.get(name),
                    np.uint32: [0x7F800000, 0xFF800000, 0x7FC00000, 0xFFC00001]}[dtype])
        special = dtype(rng.choice(choices))
        if rng.random() < 0.7:
            out[k] = special
        if rng.random() < 0.7:
            golden[k] = dtype(rng.choice(choices)) if rng.random() < 0.5 else special
    return golden, out


def bits_of(dtype):
    return np.iinfo(dtype).bits


def main():
    assay, folder = sys.argv[1], pathlib.Path(sys.argv[2])
    expected = {}
    path = folder / "pairs.h5"
    with h5py.File(path, "w", libver="latest") as f:
        f.attrs["assay_schema"] = 1
        for i in range(PAIRS):
            if i % 10 == 9:
                rule, name = "ttk_quant", "int8"
                n = int(rng.integers(1, 300))
                golden = rng.integers(-128, 128, n).astype(np.int8)
                step = rng.integers(-1, 2, n) if rng.random() < 0.6 else rng.integers(-2, 3, n)
                out = np.clip(golden.astype(int) + step, -128, 127).astype(np.int8)
                verdict = quant(name, out, golden)
            else:
                name = str(rng.choice(list(FORMATS)))
                rules = dict(RULES, **(FLOAT8 if name.startswith("float8") else {}))
                rule = str(rng.choice(list(rules)))
                golden, out = pair(name, rule)
                decode = FORMATS[name][0]
                with np.errstate(all="ignore"):
                    verdict = rules[rule](name, decode(out), decode(golden), out, golden)
            case = f.create_group(f"cases/p{i}")
            case.attrs.update({"op": "external", "standard": rule, "max_blind": 1.0,
                               "why": "adversarial pairs"})
            for at, array in (("golden", golden), ("outputs/x", out)):
                case.create_dataset(at, data=array.view(np.float32) if name == "float32" else array)
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
