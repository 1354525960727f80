#!/usr/bin/env python3
"""The published standards that ttk_rules.py does not have, on 10 000 adversarial pairs: `assay gate`
against a few lines of numpy each, written from what the projects publish. Then the same pairs by the
same standards out of a file of `--standards`, made by `assay list standards --json`: the outcomes must
be the same. Says what differs and exits with 1, or prints a count.

    standard_rules.py ASSAY FOLDER
"""
import collections
import json
import math
import pathlib
import subprocess
import sys

import h5py
import numpy as np

from rule_formats import FORMATS, SHIFT, WIDTH, bits_of, encode, masked, rounded, ulps

rng = np.random.default_rng(20 * 19)
np.seterr(all="ignore")
PAIRS = 10000
EPS = 2.0**-52


class Undecided(Exception):
    """The last bits of float64 would decide: another order of the same sums may say otherwise."""


def within(d, bound):
    """d <= bound, of elements; the two are the same number or apart."""
    if ((d != bound) & (np.abs(d - bound) <= 8 * EPS * bound)).any():
        raise Undecided
    return d <= bound


def side(x, limit, band):
    """-1, 0, 1: where a statistic lies. Of a sum only what is far from the limit, or exact, is known."""
    if x != limit and abs(x - limit) <= band * limit:
        raise Undecided
    return -1 if x < limit else 0 if x == limit else 1


def total(terms):
    """A sum, and whether the order matters to its last bits."""
    exact = np.float64(math.fsum(terms))
    return exact, terms.size == 0 or bool(terms.sum() == exact and terms[::-1].cumsum()[-1] == exact)


def mean_side(terms, limit, band=1e-11):
    s, exact = total(terms)
    if not exact and abs(s / terms.size - limit) <= band * limit:
        raise Undecided
    return side(s / terms.size, limit, band)


# ------------------------------------------------------------------------------------- the rules
# rule(name, a, e, c) -> whether a passes; e is rounded to the output's dtype where the standard does so.
# c.k: accumulations, c.pt: the benchmark's output, c.same: whether NaN and infinity agree. a and e are
# here the elements that are finite on both sides, and c.n is the number of all elements. A NaN or an
# infinity on one side always fails, whatever the project's own code makes of it.
def by_sum(tolerances, other=None):
    """|a - e| <= atol + rtol |e|"""
    def rule(name, a, e, c):
        rtol, atol = tolerances.get(name, other)
        return within(np.abs(a - e), atol + rtol * np.abs(e)).all()
    return rule


def by_either(tolerances, other=None):
    """|a - e| <= atol or |a - e| / |e| <= rtol"""
    def rule(name, a, e, c):
        rtol, atol = tolerances.get(name, other)
        d = np.abs(a - e)
        return (within(d, np.full(d.shape, atol)) | within(d, rtol * np.abs(e))).all()
    return rule


def equal(name, a, e, c):
    return (a == e).all()


def bits(name, a, e, c):
    return ((a == e) & (np.signbit(a) == np.signbit(e))).all()


def or_bits(names, rule):
    return lambda name, a, e, c: (rule if name in names else bits)(name, a, e, c)


T = {"float16": 2**-10, "bfloat16": 2**-7, "float32": 2**-13, "hfloat32": 2**-11,
     "float8_e4m3fn": 2**-3, "float8_e5m2": 2**-2}


def cann_2025(name, a, e, c):
    if a.size == 0:
        return True
    r = np.abs(a - e) / (np.abs(e) + 1e-7)
    return mean_side(r, T[name]) < 0 and side(r.max(), 10 * T[name], 8 * EPS) < 0


#           rtol, atol, limit of the largest error
CANN_07 = {"float16": (2**-9, 2**-9, 0.1), "bfloat16": (2**-6, 2**-6, 1), "float32": (2**-10, 2**-16, 0.01),
           "hfloat32": (2**-9, 2**-10, 0.1), "float8_e4m3fn": (2**-2, 2**-4, 1),
           "float8_e5m2": (2**-1, 2**-3, 0.1)}
CANN_09 = {"float16": (2**-10, 2**-10, 0.1), "bfloat16": (2**-7, 2**-7, 0.1), "float32": (2**-13, 2**-13, 0.01),
           "hfloat32": (2**-10, 2**-10, 0.1), "float8_e4m3fn": (2**-3, 2**-3, 1),
           "float8_e5m2": (2**-2, 2**-2, 1)}
# A constant there: the larger of the table's and 32 ulp at 1.
TTK_07 = {**CANN_07, "float8_e4m3fn": (2**-2, 2**-4, 4), "float8_e5m2": (2**-1, 2**-3, 8),
          "float64": CANN_07["float32"]}


def mixed(table, anchored):
    """99 % within, and the largest error within its limit, which is 32 ulp of the expected value there
    (in the output's dtype) where that is more."""
    def rule(name, a, e, c):
        if name == "hifloat8":  # TTK's requant: one code apart, but for 0.1 %
            return (np.abs(rank(a) - rank(e)) > 1).sum() * 1000 <= c.n
        if name not in table:
            return bits(name, a, e, c)
        rtol, atol, limit = table[name]
        d = np.abs(a - e)
        if (~within(d, atol + rtol * np.abs(e))).sum() * 100 > c.n:
            return False
        if d.size == 0:
            return True
        worst = np.argmax(d)
        if anchored:
            limit = max(limit, 32 * ulps(name, rounded(name, e[worst])))
        return side(d[worst], limit, 8 * EPS) <= 0
    return rule


def rank(x):
    values = FORMATS["hifloat8"][0](np.arange(256))
    return np.searchsorted(np.unique(values[np.isfinite(values)]), x)


ATB = {"float16": 2**-8, "bfloat16": 2**-7, "float32": 2**-11}
ATB_HIGH = {"float16": 2**-11, "bfloat16": 2**-8, "float32": 2**-14}


def atb(name, a, e, c):
    k = c.k or 0
    bound = ATB[name] * (2 if k >= 2048 else 1) * (2 if k >= 16384 and name == "float32" else 1)
    return within(np.abs(a - e), bound * np.maximum(1, np.abs(e))).all()


def atb_high_precision(name, a, e, c):
    return within(np.abs(a - e), ATB_HIGH[name] * np.maximum(1, np.abs(e))).all()


def atb_2025(name, a, e, c):
    """With the balance of errors, which as the project has it may be at its limit."""
    limit = {"float16": 2**-10, "bfloat16": 2**-6 if (c.k or 0) >= 2048 else 2**-7, "float32": 2**-14}[name]
    if not atb(name, a, e, c):
        return False
    if a.size == 0:
        return True
    terms = (a - e) / np.maximum(1, np.abs(e))
    return mean_side(terms if terms.sum() >= 0 else -terms, limit) <= 0


def cosine_side(a, e, limit):
    """One vector of zeros has no direction (there it may pass), two of them have the same."""
    x, y = a.astype(np.longdouble), e.astype(np.longdouble)
    norms = np.sqrt((x * x).sum()) * np.sqrt((y * y).sum())
    if norms == 0:
        return 1 if not x.any() and not y.any() else -1
    return side((x * y).sum() / norms, limit, 1e-12)


def msprobe(name, a, e, c):
    """cosine > 0.99, and the largest error below 1e-3 or few enough elements off by t of |e| (there of
    |e| + eps)"""
    if a.size == 0:
        raise Undecided  # infinities alone, of which the project's cosine is NaN
    if cosine_side(a, e, 0.99) <= 0:
        return False
    d = np.abs(a - e)
    if d.max() < 1e-3:
        return True
    shares = ((1e-2, 1e-2), (1e-3, 1e-3)) if "16" in name else ((1e-3, 1e-3), (1e-4, 1e-4))
    off = lambda bound: (d > 0) & (~within(d, bound) | (d == bound))
    return all(off(t * np.abs(e)).sum() / c.n < s for t, s in shares)


def msprobe_compare(name, a, e, c):
    largest = np.abs(a - e).max(initial=0)
    return ((cosine_side(a, e, 0.99) >= 0 or largest <= 1e-3) and cosine_side(a, e, 0.9) >= 0 and
            largest <= 1)


TE_CPP = {"float32": (5e-6, 1e-6), "float16": (1e-3, 1e-5), "bfloat16": (1e-2, 1e-5),
          "float8_e4m3fn": (1e-2, 1e-2), "float8_e5m2": (1e-2, 1e-2)}


def transformer_engine_cpp(name, a, e, c):
    """As by_either; but for float32 neighbours pass, between which the mean rounds to both sides."""
    rtol, atol = TE_CPP[name]
    d = np.abs(a - e)
    ok = within(d, np.full(d.shape, atol)) | within(d, rtol * np.abs(e))
    if name != "float32":
        mean = (a + e) / 2
        ends = np.sort([rounded(name, mean * (1 - 1e-6)), rounded(name, mean * (1 + 1e-6))], axis=0)
        ok |= (ends == np.sort([a, e], axis=0)).all(axis=0)
    return ok.all()


def flash_attention(name, a, e, c):
    """Roundings of e + 0.3 - 0.3 - e in the dtype; the differences here in float64 (there in the dtype)."""
    if a.size == 0:
        return True
    step = lambda x, y: rounded(name, (x.astype(np.float32) + np.asarray(y, np.float32)).astype(np.float64))
    noise = np.abs(step(step(step(e, 0.3), -0.3), -e)).max()
    return side(np.abs(a - e).max(), 2 * np.abs(c.pt - e).max() + 2 * noise, 8 * EPS) <= 0


def near(tolerances):
    """|a - e| <= k tol"""
    return lambda name, a, e, c: within(np.abs(a - e), np.full(a.shape, c.k * tolerances[name])).all()


NORM = {"float32": 1e-5, "float64": 1e-12, "float16": 0.01, "bfloat16": 0.1, "float8_e4m3fn": 0.125,
        "float8_e5m2": 0.25}


def squares(x):
    return total(x.astype(np.float64) ** 2)


def hipblaslt_norm(name, a, e, c):
    """||a - e|| < limit ||e||, Frobenius"""
    (d, d_exact), (s, s_exact) = squares(a - e), squares(e)
    if d == 0 and s == 0:
        return True
    return side(np.sqrt(d / s), NORM[name], 0 if d_exact and s_exact else 1e-11) < 0


def cutlass(name, a, e, c):
    """|a - e| < 0.05 (|a| + |e|), 1/256 where that or one of them is less"""
    d, size = np.abs(a - e), np.abs(a) + np.abs(e)
    low = (a == 0) | (e == 0) | (size < 1 / 256)
    bound = 0.05 * np.where(low, 1 / 256, size)
    return ((a == e) | (within(d, bound) & (d != bound))).all()


def nmse(limit):
    """Squared errors over the squares of the output, not of what is expected."""
    def rule(name, a, e, c):
        (d, d_exact), (s, s_exact) = squares(a - e), squares(a)
        if d == 0 and s == 0:
            return True
        return side(d / s, limit, 0 if d_exact and s_exact else 1e-11) <= 0
    return rule


def calc_diff(limit):
    def rule(name, a, e, c):
        (d, d_exact), (x, x_exact), (y, y_exact) = squares(a - e), squares(a), squares(e)
        if x + y == 0:
            return True
        return side(d / (x + y), limit, 1e-10) < 0  # 1 - 2 sum ae / (x + y) without its cancellation
    return rule


def statistic(which):
    """Of the absolute errors at most 1e-5, or of the relative ones; e = 0 counts as 2^-52."""
    def rule(name, a, e, c):
        if a.size == 0:
            return True
        d = np.abs(a - e)
        return any(which(x) <= 0 for x in (d, d / np.where(e == 0, EPS, np.abs(e))))
    return rule


tensorrt_max = statistic(lambda x: side(x.max(), 1e-5, 8 * EPS))
tensorrt_mean = statistic(lambda x: mean_side(x, 1e-5))
tensorrt_median = statistic(lambda x: side(np.median(x), 1e-5, 1e-12))
tensorrt_quantile = statistic(lambda x: side(np.quantile(x, 0.99), 1e-5, 1e-12))

Row = collections.namedtuple("Row", "rule dtypes rounds nan")
WIDE = ["float64", "float32", "float16", "bfloat16"]
FP8 = ["float8_e4m3fn", "float8_e5m2"]
FP4 = ["float4_e2m1fn", "float4_e1m2fn"]
ALL = WIDE + FP8 + ["float4_e2m1fn", "hfloat32", "hifloat8"]
F32 = np.float32
IREE = {"float16": float(F32(0.001)), "bfloat16": float(F32(0.01)), "float32": float(F32(0.0001)),
        "float64": 0.0001}
JAX = {"float64": 1e-15, "float32": 1e-6, "float16": 1e-3, "bfloat16": 1e-2, "float4_e2m1fn": 1,
       "float8_e8m0fnu": 1, **{n: 0.1 for n in FP8 + ["float8_e4m3fnuz", "float8_e5m2fnuz"]}}
TE = {"float16": (1e-3, 1e-5), "bfloat16": (1.6e-2, 1e-5), "float32": (1.3e-6, 1e-5), "float64": (1e-7, 1e-7),
      "float8_e4m3fn": (0.125, 0.0675), "float8_e5m2": (0.25, 0.125), "float4_e2m1fn": (0.25, 0.125)}
TRITON = {"float16": (1e-3, 1e-3), "bfloat16": (1e-3, 1e-3), "float32": (1e-4, 1e-4)}
TENSORFLOW = {"float16": (1e-3, 1e-3), "bfloat16": (1e-2, 1e-2)}
ROCBLAS = {"float64": 2**-52, "float32": 2**-23, "float16": 1 / 900, "bfloat16": 1 / 100,
           "float8_e4m3fn": 1 / 16, "float8_e5m2": 1 / 8}
DEEPGEMM = ["float32", "bfloat16"] + FP8
XLA = float(F32(0.001))

#                                     rule, dtypes, rounds the expected value, NaN equals NaN
ROWS = {
    # Relative to the expected value (there to the output).
    "triton_ascend_tests": Row(by_sum(TRITON), list(TRITON), True, True),
    "cann_ecosystem@2025": Row(cann_2025, list(T), False, False),
    "cann_ecosystem@2026-07": Row(mixed(CANN_07, True), list(CANN_07), False, True),
    "cann_ecosystem@2026-09": Row(mixed(CANN_09, True), list(CANN_09), False, True),
    "atb@2025": Row(atb_2025, list(ATB), False, False),
    "atb@2026-05": Row(atb, list(ATB), False, False),
    "atb_high_precision@2026-05": Row(atb_high_precision, list(ATB), False, False),
    "msprobe": Row(msprobe, WIDE, False, False),
    "msprobe_compare": Row(msprobe_compare, WIDE + FP8, False, True),
    "ttk_mixed@2026-07": Row(mixed(TTK_07, False), list(TTK_07) + ["hifloat8", "float8_e8m0fnu"] + FP4, False,
                             True),
    "transformer_engine_cpp": Row(transformer_engine_cpp, list(TE_CPP), True, False),
    "flash_attention": Row(flash_attention, ["float16", "bfloat16"], True, False),
    "hipblaslt": Row(near({"float16": 1 / 100, "bfloat16": 1 / 10}), ["float16", "bfloat16"], True, False),
    "hipblaslt_norm": Row(hipblaslt_norm, list(NORM), True, False),
    "rocblas_sum": Row(near(ROCBLAS), list(ROCBLAS), True, True),
    "cutlass_profiler": Row(cutlass, ALL, True, False),
    "ggml_nmse": Row(nmse(1e-7), WIDE, True, False),
    "ggml_nmse_matmul": Row(nmse(5e-4), WIDE + FP8, True, False),
    "iree@2026-04": Row(or_bits(IREE, by_sum({n: (0, x) for n, x in IREE.items()})), ALL, True, True),
    "iree@2026-05": Row(or_bits(IREE, by_sum({n: (1e-5, x) for n, x in IREE.items()})), ALL, True, True),
    "onnx": Row(by_sum({}, (1e-3, 1e-7)), ALL, True, True),
    "xla": Row(by_either({}, (XLA, XLA)), ALL, True, True),
    "jax": Row(by_sum({n: (x, x) for n, x in JAX.items()}), list(JAX), True, True),
    # Equal infinities pass (there they fail).
    "tensorrt": Row(by_either({}, (1e-5, 1e-5)), ALL, True, False),
    "tensorrt_max": Row(tensorrt_max, ALL, True, False),
    "tensorrt_mean": Row(tensorrt_mean, ALL, True, False),
    "tensorrt_median": Row(tensorrt_median, ALL, True, False),
    "tensorrt_quantile": Row(tensorrt_quantile, ALL, True, False),
    # The reference is made in the output's dtype.
    "deepgemm": Row(calc_diff(1e-3), DEEPGEMM, True, False),
    "deepgemm_bf16": Row(calc_diff(1e-5), DEEPGEMM, True, False),
    "deepgemm_fp8_fp4": Row(calc_diff(1e-2), DEEPGEMM, True, False),
    "deepgemm_fp4": Row(calc_diff(2e-2), DEEPGEMM, True, False),
    # Relative to the expected value (there to the second argument, whichever that is).
    "tensorflow": Row(by_sum(TENSORFLOW, (1e-6, 1e-6)), ALL, True, True),
    # Rounded (there against a float64 reference).
    "transformer_engine": Row(by_sum(TE), list(TE), True, False),
}
INTEGERS = {"onnx": (lambda d, e: d <= 1e-7 + 1e-3 * e), "tensorrt": (lambda d, e: d <= 1e-5 * e or d == 0)}


def verdict(row, name, a, g, k, pt):
    """Special values first, the rule then of what is finite on both sides."""
    e = rounded(name, g) if row.rounds and name != "hifloat8" else g
    same = (np.isnan(a) & np.isnan(e) & row.nan) | (np.isinf(a) & (a == e))
    f = np.isfinite(a) & np.isfinite(e)
    if not (same | f).all():
        return False
    Case = collections.namedtuple("Case", "k pt n")
    return bool(row.rule(name, a[f], e[f], Case(k, None if pt is None else pt[f], a.size)))


# ------------------------------------------------------------------------------------- the pairs
SPECIALS = {"float16": [0x7C00, 0xFC00, 0x7E00, 0xFE01], "bfloat16": [0x7F80, 0xFF80, 0x7FC0, 0xFFC1],
            "float32": [0x7F800000, 0xFF800000, 0x7FC00000, 0xFFC00000],
            "float64": [0x7FF << 52, 0xFFF << 52, 0x7FF8 << 48, (0xFFF8 << 48) + 1]}
SPECIALS["hfloat32"] = SPECIALS["float32"]
ROUNDABLE = ["float16", "bfloat16", "float32", "hfloat32"] + FP8 + FP4
IEEE = ["float16", "bfloat16", "float32", "float8_e5m2"]
SUMS = ("hipblaslt_norm", "ggml", "deepgemm", "msprobe", "tensorrt_", "cann_ecosystem@2025")


def goldens(row_name, name, n):
    decode, dtype, _, _, high = FORMATS[name]
    if name == "float8_e8m0fnu":
        return rng.integers(120, 134, n).astype(np.uint8)
    scale = 2.0 ** rng.integers(-4 if high < 16 else -20, 3 if high < 8 or rng.random() < 0.7 else 12)
    golden = encode(name, rng.standard_normal(n) * scale)
    if rng.random() < 0.25 and not (name == "float64" and row_name.startswith(SUMS)):
        # Any codes at all: NaN, infinities, zeros of both signs, subnormals.
        at = rng.random(n) < rng.choice([0.01, 0.3, 1])
        width, shift = WIDTH.get(name, bits_of(dtype)), SHIFT.get(name, 0)
        some = rng.integers(0, 2**width - 1, n, dtype=np.uint64, endpoint=True)
        if rng.random() < 0.5:
            some = rng.integers(0, 4, n, dtype=np.uint64) | rng.integers(0, 2, n, dtype=np.uint64) << (width - 1)
        golden = np.where(at, (some << np.uint64(shift)).astype(dtype), golden)
    if rng.random() < 0.2:
        golden = np.where(rng.random(n) < 0.5, encode(name, np.zeros(1))[0], golden)
    return golden.astype(dtype)


def wide(name, g, past):
    """A golden result of float64 that rounds to g, or beside it at a tie, or past the range."""
    part = rng.choice([rng.uniform(-0.5, 0.5, g.size), rng.choice([-0.5, 0.5], g.size), rng.uniform(-0.1, 0.1, g.size)])
    x = np.where(np.isfinite(g), g + part * ulps(name, g), g)
    if past and name in IEEE and rng.random() < 0.2:
        _, _, mantissa, _, high = FORMATS[name]
        x[rng.integers(g.size)] = rng.choice([-1, 1]) * (2 - 2.0**-mantissa * rng.choice([0.5, 0.51, 1, -1])) * 2.0**high
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
    """Errors of one shape, to be scaled until the verdict turns."""
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
    bitwise = row_name.startswith("ttk") and name in FP4  # both of one dtype
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
    benchmark = None if pt is None else decode(pt)

    def outcome(codes):
        return verdict(row, name, decode(codes), g, k, benchmark)

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
    if rng.random() < 0.12 and not name.startswith("float4"):  # something special on one side, or on both
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
        raise Undecided  # a benchmark that is the output says nothing
    return stored, out, pt, k, outcome(out)


def integers(row_name):
    kind = np.dtype(rng.choice(["int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"]))
    low, high = int(np.iinfo(kind).min), int(np.iinfo(kind).max)
    n = int(rng.choice([1, 5, 50]))
    golden, out = [], []
    for _ in range(n):
        e = int(rng.choice([rng.integers(0, 100), rng.integers(0, 20) * 1000, rng.integers(0, 50) * 100000,
                            rng.integers(0, 2**62)])) * int(rng.choice([1, 1, -1]))
        e = min(max(e, low), high) if rng.random() < 0.9 else (low, high)[rng.integers(2)]
        step = int(abs(e) * {"onnx": 1e-3, "tensorrt": 1e-5}.get(row_name, 0))
        d = int(rng.choice([0, 0, step, step, step + (rng.random() < 0.05), rng.integers(0, step + 1)]))
        a = min(max(e + d * int(rng.choice([-1, 1])), low), high)
        golden.append(e)
        out.append(a)
    right = INTEGERS.get(row_name, lambda d, e: d == 0)
    passes = all(right(abs(a - e), abs(e)) for a, e in zip(out, golden))
    return kind.name, np.array(golden, kind), np.array(out, kind), passes


def off(n, count, d):
    """Ones, of which the first ones are off by d."""
    return np.where(np.arange(n) < count, 1.0 + d, 1.0)


NAN, INF, ONES = np.nan, np.inf, off(1000, 0, 0)
# Limits met exactly, and special values alone: standard, dtype, output, expected, accumulations.
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
    ("deepgemm_bf16", "bfloat16", [1.0], np.array([1 + 2**-9]), None),
    ("tensorrt_median", "float32", [1, 1, 1, 2], [1, 1, 1, 1], None),
    ("tensorrt_median", "float32", [1, 1, 2, 2], [1, 1, 1, 1], None),
    ("tensorrt_max", "float64", [1e-16], [0.0], None),
    ("tensorrt_max", "float64", [2**-52 * 1e-6, 1 + 5e-6], [0.0, 1], None),
    ("tensorrt_quantile", "float32", off(1000, 10, 1), ONES, None),
    ("tensorrt_quantile", "float32", off(1000, 11, 1), ONES, None),
    ("jax", "float8_e8m0fnu", [2, 8], [1, 4], None),
    ("jax", "float8_e8m0fnu", [4], [1], None),
]


def fixed(row_name, name, out, golden, k):
    """A golden result that the dtype does not hold is stored as float64."""
    decode = FORMATS[name][0]

    def codes(x):
        special = np.where(np.isnan(x), encode(name, np.zeros(x.size)), encode(name, x))
        if name in SPECIALS:
            for value, code in ((np.isnan(x), 2), (x == np.inf, 0), (x == -np.inf, 1)):
                special = np.where(value, FORMATS[name][1](SPECIALS[name][code]), special)
        return np.where((x == 0) & np.signbit(x), FORMATS[name][1](1 << bits_of(FORMATS[name][1]) - 1), special)

    out, golden = (np.asarray(x, np.float64) for x in (out, golden))
    out, own = codes(out), codes(golden)
    stored = own if np.array_equal(decode(own), golden, equal_nan=True) else golden
    return name, stored, out, None, k, verdict(ROWS[row_name], name, decode(out), golden, k, None)


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
    ran = subprocess.run([assay, "gate", str(path), "--recorded", "x", "--benchmark", "pt", "--json",
                          str(report), "-q", *more], capture_output=True, text=True)
    cases = json.loads(report.read_text())["cases"] if report.exists() else []
    if len(cases) != PAIRS:
        sys.exit(f"{len(cases)} cases came back, exit code {ran.returncode}: {ran.stderr}")
    return {c.get("case", c.get("name")): c["outcome"] for c in cases}


def own_name(name):
    return name.replace("@", "_") + "_own"


def main():
    assay, folder = sys.argv[1], pathlib.Path(sys.argv[2])
    path, standards = folder / "standard_pairs.h5", folder / "standards.json"
    expected, names = {}, list(ROWS)
    with h5py.File(path, "w", libver="latest") as f:
        f.attrs["assay_schema"] = 1
        for i in range(PAIRS):
            row_name = FIXED[i][0] if i < len(FIXED) else names[i % len(names)]
            name, golden, out, pt, k, passes = fixed(*FIXED[i]) if i < len(FIXED) else draw(row_name)
            case = f.create_group(f"cases/p{i}")
            case.attrs.update({"op": "external", "standard": row_name, "max_blind": 1.0, "output_dtype": name,
                               "why": "adversarial pairs"})
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
             if outcome not in ("pass", "untrusted", "fail") or (outcome != "fail") != expected[c][4]]
    for c in wrong[:20]:
        print(f"{c}: assay says {outcomes[c]}, and numpy {expected[c]}")
    for row_name in names:
        passes = [v[4] for v in expected.values() if v[0] == row_name]
        if not len(passes) // 10 < sum(passes) < len(passes) * 9 // 10:
            print(f"{row_name}: {sum(passes)} of {len(passes)} pass, which tests little")
            bad = 1

    # A user's own file says all that the published rows do.
    subprocess.run([assay, "list", "standards", "--json", str(standards)], check=True, capture_output=True)
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
