"""The rules that projects publish, in a few lines of numpy each.

standard_rules.py computes from them what `assay gate` must report. `assay list standards` names the
publication of each rule. If assay differs from the project's own code, a comment says so."""
import collections
import math

import numpy as np

from rule_formats import FORMATS, rounded, ulps

EPS = 2.0**-52


class Undecided(Exception):
    """Raised if the last bits of float64 would decide: another order of the same sums may give
    another verdict."""


def within(d, bound):
    """Returns d <= bound for each element. Raises Undecided if the two are almost equal."""
    if ((d != bound) & (np.abs(d - bound) <= 8 * EPS * bound)).any():
        raise Undecided
    return d <= bound


def side(x, limit, band):
    """Returns -1, 0 or 1 for a value below, at or above the limit. Raises Undecided if the value is
    nearer than band and not at the limit."""
    if x != limit and abs(x - limit) <= band * limit:
        raise Undecided
    return -1 if x < limit else 0 if x == limit else 1


def total(terms):
    """Returns a sum, and True if it is exact in any order."""
    exact = np.float64(math.fsum(terms))
    return exact, terms.size == 0 or bool(terms.sum() == exact == terms[::-1].cumsum()[-1])


def mean_side(terms, limit, band=1e-11):
    s, exact = total(terms)
    if not exact and abs(s / terms.size - limit) <= band * limit:
        raise Undecided
    return side(s / terms.size, limit, band)


# ------------------------------------------------------------------------------------- the rules
# rule(name, a, e, c) returns True if the output passes. a is the output, and e is the expected
# value, rounded to the output's dtype if the standard does so. A rule gets only the elements that
# are finite on both sides. verdict() judges the others: equal infinities pass, and NaN on both sides
# passes if the standard says so. Any other fails, even if it passes in the project's own code. c.k is
# the number of accumulations, c.pt the output of the reference implementation, and c.n the number of
# all elements.
def by_sum(tolerances, other=None):
    """Returns the rule |a - e| <= atol + rtol |e| for each element."""
    def rule(name, a, e, c):
        rtol, atol = tolerances.get(name, other)
        return within(np.abs(a - e), atol + rtol * np.abs(e)).all()
    return rule


def by_either(tolerances, other=None):
    """Returns the rule |a - e| <= atol or |a - e| / |e| <= rtol for each element."""
    def rule(name, a, e, c):
        rtol, atol = tolerances.get(name, other)
        d = np.abs(a - e)
        return (within(d, np.full(d.shape, atol)) | within(d, rtol * np.abs(e))).all()
    return rule


def bits(name, a, e, c):
    return ((a == e) & (np.signbit(a) == np.signbit(e))).all()


def or_bits(rule):
    return lambda name, a, e, c: (rule if name in WIDE else bits)(name, a, e, c)


T = {"float16": 2**-10, "bfloat16": 2**-7, "float32": 2**-13, "hfloat32": 2**-11,
     "float8_e4m3fn": 2**-3, "float8_e5m2": 2**-2}


def cann_2025(name, a, e, c):
    if a.size == 0:
        return True
    r = np.abs(a - e) / (np.abs(e) + 1e-7)
    return mean_side(r, T[name]) < 0 and side(r.max(), 10 * T[name], 8 * EPS) < 0


# For each dtype: rtol, atol, and the limit of the largest error.
CANN_07 = {"float16": (2**-9, 2**-9, 0.1), "bfloat16": (2**-6, 2**-6, 1),
           "float32": (2**-10, 2**-16, 0.01), "hfloat32": (2**-9, 2**-10, 0.1),
           "float8_e4m3fn": (2**-2, 2**-4, 1), "float8_e5m2": (2**-1, 2**-3, 0.1)}
CANN_09 = {"float16": (2**-10, 2**-10, 0.1), "bfloat16": (2**-7, 2**-7, 0.1),
           "float32": (2**-13, 2**-13, 0.01), "hfloat32": (2**-10, 2**-10, 0.1),
           "float8_e4m3fn": (2**-3, 2**-3, 1), "float8_e5m2": (2**-2, 2**-2, 1)}
# TTK's limit of the largest error is a constant: the larger one of the limit in CANN_07 and 32 ulp at 1.
TTK_07 = {**CANN_07, "float8_e4m3fn": (2**-2, 2**-4, 4), "float8_e5m2": (2**-1, 2**-3, 8),
          "float64": CANN_07["float32"]}


def mixed(table, anchored):
    """99 % of elements are within the tolerance. The largest error is within its limit, or, if
    anchored, within 32 ulp of its expected value."""
    def rule(name, a, e, c):
        if name == "hifloat8":  # TTK's rule requant: at most 0.1 % of the elements are more than one code apart
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
    """Passes if the rule atb passes and if the balance of errors is at most its limit, as in the project."""
    limit = {"float16": 2**-10, "bfloat16": 2**-7, "float32": 2**-14}[name]
    if name == "bfloat16" and (c.k or 0) >= 2048:
        limit *= 2
    if not atb(name, a, e, c):
        return False
    if a.size == 0:
        return True
    terms = (a - e) / np.maximum(1, np.abs(e))
    return mean_side(terms if terms.sum() >= 0 else -terms, limit) <= 0


def cosine_side(a, e, limit):
    """Compares the cosine of a and e with a limit. Two vectors of zeros have the same direction. A vector of zeros and
    another one do not, and fail (in the project's code they may pass)."""
    x, y = a.astype(np.longdouble), e.astype(np.longdouble)
    norms = np.sqrt((x * x).sum()) * np.sqrt((y * y).sum())
    if norms == 0:
        return 1 if not x.any() and not y.any() else -1
    return side((x * y).sum() / norms, limit, 1e-12)


def msprobe(name, a, e, c):
    """Passes if the cosine is above 0.99, and if the largest error is below 1e-3 or the shares of elements that are off
    by at least t |e| are below their limits (the project uses |e| + eps)."""
    if a.size == 0:
        raise Undecided  # no element is finite on both sides, and the project's cosine of infinities is NaN
    if cosine_side(a, e, 0.99) <= 0:
        return False
    d = np.abs(a - e)
    if d.max() < 1e-3:
        return True
    shares = ((1e-2, 1e-2), (1e-3, 1e-3)) if "16" in name else ((1e-3, 1e-3), (1e-4, 1e-4))
    off = lambda bound: (d > 0) & (~within(d, bound) | (d == bound))
    return all(off(t * np.abs(e)).sum() / c.n < s for t, s in shares)


def msprobe_compare(name, a, e, c):
    if a.size == 0:
        return False  # The project's code passes if no element is finite on both sides.
    largest = np.abs(a - e).max(initial=0)
    return ((cosine_side(a, e, 0.99) >= 0 or largest <= 1e-3) and cosine_side(a, e, 0.9) >= 0 and
            largest <= 1)


TE_CPP = {"float32": (5e-6, 1e-6), "float16": (1e-3, 1e-5), "bfloat16": (1e-2, 1e-5),
          "float8_e4m3fn": (1e-2, 1e-2), "float8_e5m2": (1e-2, 1e-2)}


def transformer_engine_cpp(name, a, e, c):
    """Passes if |a - e| <= atol or |a - e| <= rtol |e| for each element. For dtypes other than float32, two values also
    pass if their mean, made smaller and larger by a factor of 1e-6, rounds to the one and to the other."""
    rtol, atol = TE_CPP[name]
    d = np.abs(a - e)
    ok = within(d, np.full(d.shape, atol)) | within(d, rtol * np.abs(e))
    if name != "float32":
        mean = (a + e) / 2
        ends = np.sort([rounded(name, mean * (1 - 1e-6)), rounded(name, mean * (1 + 1e-6))], axis=0)
        ok |= (ends == np.sort([a, e], axis=0)).all(axis=0)
    return ok.all()


def flash_attention(name, a, e, c):
    """Passes if the largest error is at most twice the reference implementation's plus twice the largest
    |e + 0.3 - 0.3 - e|, which is computed in the dtype. The errors are computed in float64 (in the project, in the
    dtype)."""
    if a.size == 0:
        return True
    def step(x, y):
        return rounded(name, np.float64(x.astype(np.float32) + np.asarray(y, np.float32)))
    noise = np.abs(step(step(step(e, 0.3), -0.3), -e)).max()
    return side(np.abs(a - e).max(), 2 * np.abs(c.pt - e).max() + 2 * noise, 8 * EPS) <= 0


def near(tolerances):
    """Returns the rule |a - e| <= k tol, where k is the number of accumulations."""
    return lambda name, a, e, c: within(np.abs(a - e), c.k * tolerances[name] + 0 * e).all()


NORM = {"float32": 1e-5, "float64": 1e-12, "float16": 0.01, "bfloat16": 0.1, "float8_e4m3fn": 0.125,
        "float8_e5m2": 0.25}


def squares(x):
    return total(x.astype(np.float64) ** 2)


def hipblaslt_norm(name, a, e, c):
    """Passes if ||a - e|| < limit ||e|| in the Frobenius norm."""
    (d, d_exact), (s, s_exact) = squares(a - e), squares(e)
    if d == 0 and s == 0:
        return True
    return side(np.sqrt(d / s), NORM[name], 0 if d_exact and s_exact else 1e-11) < 0


def cutlass(name, a, e, c):
    """Passes if |a - e| < 0.05 s for each element. s is |a| + |e|, or 1/256 if that sum is less or if a or e is 0."""
    d, size = np.abs(a - e), np.abs(a) + np.abs(e)
    low = (a == 0) | (e == 0) | (size < 1 / 256)
    bound = 0.05 * np.where(low, 1 / 256, size)
    return ((a == e) | (within(d, bound) & (d != bound))).all()


def nmse(limit):
    """Returns the rule that the sum of squared errors, divided by the sum of the squares of the output (and not of the
    expected value), is at most the limit."""
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
        return side(d / (x + y), limit, 1e-10) < 0  # equals 1 - 2 sum(a e) / (x + y), but without cancellation
    return rule


def statistic(which):
    """Returns the rule that a statistic is within its limit for the absolute or the relative
    errors. e = 0 counts as 2^-52."""
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
Case = collections.namedtuple("Case", "k pt n")
WIDE = ["float64", "float32", "float16", "bfloat16"]
FP8 = ["float8_e4m3fn", "float8_e5m2"]
FP4 = ["float4_e2m1fn", "float4_e1m2fn"]
ALL = WIDE + FP8 + ["float4_e2m1fn", "hfloat32", "hifloat8"]
F32 = np.float32
IREE = {"float16": float(F32(0.001)), "bfloat16": float(F32(0.01)), "float32": float(F32(0.0001)),
        "float64": 0.0001}
JAX = {"float64": 1e-15, "float32": 1e-6, "float16": 1e-3, "bfloat16": 1e-2, "float4_e2m1fn": 1,
       "float8_e8m0fnu": 1, **{n: 0.1 for n in FP8 + ["float8_e4m3fnuz", "float8_e5m2fnuz"]}}
TE = {"float16": (1e-3, 1e-5), "bfloat16": (1.6e-2, 1e-5), "float32": (1.3e-6, 1e-5),
      "float64": (1e-7, 1e-7), "float8_e4m3fn": (0.125, 0.0675), "float8_e5m2": (0.25, 0.125),
      "float4_e2m1fn": (0.25, 0.125)}
TRITON = {"float16": (1e-3, 1e-3), "bfloat16": (1e-3, 1e-3), "float32": (1e-4, 1e-4)}
TENSORFLOW = {"float16": (1e-3, 1e-3), "bfloat16": (1e-2, 1e-2)}
ROCBLAS = {"float64": 2**-52, "float32": 2**-23, "float16": 1 / 900, "bfloat16": 1 / 100,
           "float8_e4m3fn": 1 / 16, "float8_e5m2": 1 / 8}
HIPBLASLT = {"float16": 1 / 100, "bfloat16": 1 / 10}
DEEPGEMM = ["float32", "bfloat16"] + FP8
XLA = float(F32(0.001))

# The fields of a Row: the rule, the dtypes, True if the expected value is rounded, and True if NaN equals NaN.
ROWS = {
    # Errors are relative to the expected value (in the project, to the output).
    "triton_ascend_tests": Row(by_sum(TRITON), list(TRITON), True, True),
    "cann_ecosystem@2025": Row(cann_2025, list(T), False, False),
    "cann_ecosystem@2026-07": Row(mixed(CANN_07, True), list(CANN_07), False, True),
    "cann_ecosystem@2026-09": Row(mixed(CANN_09, True), list(CANN_09), False, True),
    "atb@2025": Row(atb_2025, list(ATB), False, False),
    "atb@2026-05": Row(atb, list(ATB), False, False),
    "atb_high_precision@2026-05": Row(atb_high_precision, list(ATB), False, False),
    "msprobe": Row(msprobe, WIDE, False, False),
    "msprobe_compare": Row(msprobe_compare, WIDE + FP8, False, True),
    "ttk_mixed@2026-07": Row(mixed(TTK_07, False),
                             list(TTK_07) + ["hifloat8", "float8_e8m0fnu"] + FP4, False, True),
    "transformer_engine_cpp": Row(transformer_engine_cpp, list(TE_CPP), True, False),
    "flash_attention": Row(flash_attention, ["float16", "bfloat16"], True, False),
    "hipblaslt": Row(near(HIPBLASLT), list(HIPBLASLT), True, False),
    "hipblaslt_norm": Row(hipblaslt_norm, list(NORM), True, False),
    "rocblas_sum": Row(near(ROCBLAS), list(ROCBLAS), True, True),
    "cutlass_profiler": Row(cutlass, ALL, True, False),
    "ggml_nmse": Row(nmse(1e-7), WIDE, True, False),
    "ggml_nmse_matmul": Row(nmse(5e-4), WIDE + FP8, True, False),
    "iree@2026-04": Row(or_bits(by_sum({n: (0, x) for n, x in IREE.items()})), ALL, True, True),
    "iree@2026-05": Row(or_bits(by_sum({n: (1e-5, x) for n, x in IREE.items()})), ALL, True, True),
    "onnx": Row(by_sum({}, (1e-3, 1e-7)), ALL, True, True),
    "xla": Row(by_either({}, (XLA, XLA)), ALL, True, True),
    "jax": Row(by_sum({n: (x, x) for n, x in JAX.items()}), list(JAX), True, True),
    # Equal infinities pass here (in the project's code, they fail).
    "tensorrt": Row(by_either({}, (1e-5, 1e-5)), ALL, True, False),
    "tensorrt_max": Row(tensorrt_max, ALL, True, False),
    "tensorrt_mean": Row(tensorrt_mean, ALL, True, False),
    "tensorrt_median": Row(tensorrt_median, ALL, True, False),
    "tensorrt_quantile": Row(tensorrt_quantile, ALL, True, False),
    # The project's reference result has the output's dtype, so the expected value is rounded to it.
    "deepgemm": Row(calc_diff(1e-3), DEEPGEMM, True, False),
    "deepgemm_bf16": Row(calc_diff(1e-5), DEEPGEMM, True, False),
    "deepgemm_fp8_fp4": Row(calc_diff(1e-2), DEEPGEMM, True, False),
    "deepgemm_fp4": Row(calc_diff(2e-2), DEEPGEMM, True, False),
    # Errors are relative to the expected value (in the project, to the second argument, whichever side that is).
    "tensorflow": Row(by_sum(TENSORFLOW, (1e-6, 1e-6)), ALL, True, True),
    # The expected value is rounded to the output's dtype (the project compares with a float64 reference).
    "transformer_engine": Row(by_sum(TE), list(TE), True, False),
}
# The rules for whole numbers, by |a - e| and |e|. All other standards require equality.
INTEGERS = {"onnx": lambda d, e: d <= 1e-7 + 1e-3 * e,
            "tensorrt": lambda d, e: d <= max(1e-5, 1e-5 * e)}


def verdict(row, name, a, g, k, pt):
    """Judges special values first, and then the elements that are finite on both sides."""
    e = rounded(name, g) if row.rounds and name != "hifloat8" else g
    same = (np.isnan(a) & np.isnan(e) & row.nan) | (np.isinf(a) & (a == e))
    f = np.isfinite(a) & np.isfinite(e)
    if not (same | f).all():
        return False
    return bool(row.rule(name, a[f], e[f], Case(k, None if pt is None else pt[f], a.size)))
