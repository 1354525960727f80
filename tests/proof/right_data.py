"""Right results: products, reductions, softmax and norms in several orders, each with a textbook bound.

Each generator yields `Right` cases. A case is kept only if an oracle of its own says that it is right: every element
is within the textbook bound of the exact result (exact.py), plus one rounding to the output's dtype. Operands whose
textbook bound is as large as the result for more than a quarter of the elements are drawn again, because for those
`untrusted` would be an honest answer."""
import dataclasses
import os

import numpy as np

import exact
import sums
from number_formats import FORMATS, quantum, round_to
from store import Array, golden64

DEFAULT_SEED = 20261128  # the seed of docs/evidence/faults.csv
# Another seed shows if a gate is right only for the data of the default seed.
SEED = int(os.environ.get("ASSAY_PROOF_SEED", DEFAULT_SEED))
# The largest share of elements for which zero may be within the textbook bound.
BLIND = 0.25


@dataclasses.dataclass
class Right:
    family: str  # the row of the table to which the case belongs
    name: str
    op: str
    inputs: dict
    golden: Array
    output: Array
    attributes: dict
    used: float  # the largest error divided by its limit (see confirm), which is at most 1


def confirm(output, golden, bound, dtype):
    """Returns the largest error divided by its limit: the textbook bound plus one rounding to the output's dtype, which
    is at most half a quantum of the rounded value. Raises AssertionError if the result is not right."""
    golden = np.asarray(golden, np.longdouble)
    limit = bound + 0.5 * quantum(np.abs(golden).astype(np.float64) + bound, dtype)
    finite = np.isfinite(np.asarray(golden, np.float64))
    error = np.abs(np.asarray(output, np.longdouble) - golden)
    used = np.max(np.where(finite, error / limit, 0)) if error.size else 0.0
    assert used <= 1, f"not a right result: {float(used):.3g} of the textbook bound"
    return float(used)


def hidden(golden, bound):
    """Returns the share of elements for which zero would be within the textbook bound."""
    golden = np.abs(np.asarray(golden, np.float64))
    return np.mean(golden <= bound)


# ---- products

KINDS = (
    "normal",
    "uniform_positive",
    "cancellation",
    "outliers",
    "powers_of_two",
    "small_integers",
    "near_subnormal",
    "sorted",
    "uniform_signed",
    "one_large_row",
)


def operands(rng, kind, dtype, m, k, n):
    """Draws a (m, k) and b (k, n), rounded once to the dtype."""
    a, b = rng.standard_normal((m, k)), rng.standard_normal((k, n))
    if kind == "uniform_positive":
        a, b = rng.uniform(0, 1, (m, k)), rng.uniform(0, 1, (k, n))
    elif kind == "uniform_signed":
        a, b = rng.uniform(-2, 2, (m, k)), rng.uniform(-2, 2, (k, n))
    elif kind == "cancellation":
        # Pairs +x, -x of a meet equal rows of b and cancel, so that only small terms are left. x is as large as the
        # textbook bound allows for a result of about sqrt(k).
        half = k // 2
        x = min(1000.0, 0.02 / (k * k * exact.U32 + 1e-9) ** 0.5 * k**0.25)
        a, b = a * 0.5, b * 0.5
        if half:
            a[:, :half] = round_to(x * (1 + rng.uniform(0, 1, (m, half))), dtype)
            a[:, half : 2 * half] = -a[:, :half]
            b[half : 2 * half] = b[:half]
            # Half of the pairs become small and do not cancel.
            keep = rng.permutation(half)[: max(1, half // 2)]
            a[:, keep], a[:, keep + half] = rng.standard_normal((2, m, len(keep)))
    elif kind == "outliers":
        a[:, rng.integers(0, k, 1 + k // 100)] *= 30
    elif kind == "one_large_row":
        a[rng.integers(0, m)] *= 50
    elif kind == "powers_of_two":
        a = rng.choice([-1.0, 1.0], (m, k)) * 2.0 ** rng.integers(-4, 5, (m, k))
        b = rng.choice([-1.0, 1.0], (k, n)) * 2.0 ** rng.integers(-4, 5, (k, n))
    elif kind == "small_integers":
        a, b = rng.integers(-8, 9, (m, k)).astype(float), rng.integers(-8, 9, (k, n)).astype(float)
    elif kind == "near_subnormal":
        # For float16 and float8, operands are around the smallest normal number. For bfloat16 and float32, products
        # are around 2^-124, so that some of them are subnormal float32 numbers.
        low = {"float16": 2.0**-14, "float8_e4m3fn": 2.0**-6, "bfloat16": 2.0**-62, "float32": 2.0**-62}[dtype]
        a, b = a * low, b * low
    elif kind == "sorted":
        a, b = np.sort(np.abs(a), axis=1), np.sort(np.abs(b), axis=0)[::-1]
    # Codes are quantized, so they must stay inside the range.
    if dtype == "float8_e4m3fn":
        a, b = np.clip(a, -448, 448), np.clip(b, -448, 448)
    return round_to(a, dtype), round_to(b, dtype)


def products(dtype, draws):
    """Yields six results for each draw: float32 products of operands of the dtype."""
    for draw in range(draws):
        kind = KINDS[draw % len(KINDS)]
        for attempt in range(100):
            rng = np.random.default_rng([SEED, 1, sorted(FORMATS).index(dtype), draw, attempt])
            k = {0: 1, 11: 2, 22: 2000, 33: 1999}.get(draw) or int(round(2000 ** rng.uniform(0, 1)))
            m, n = int(rng.integers(1, 9)), int(rng.integers(1, 9))
            a, b = operands(rng, kind, dtype, m, k, n)
            c, size = exact.exact_matmul(a, b)
            bound = exact.matmul_bound(size, k)
            if hidden(c, bound) <= BLIND:
                break
        else:
            raise RuntimeError(f"no operands for {kind} {dtype}, K = {k}")
        inputs, golden = {"a": Array(a, dtype), "b": Array(b, dtype)}, golden64(c)
        for order, out in sums.matmul_orders(a, b, rng).items():
            used = confirm(out, c, bound, "float32")
            yield Right(
                f"products of {dtype}",
                f"product/{dtype}/{draw}_{kind}_k{k}/{order}",
                "matmul",
                inputs,
                golden,
                Array(out, "float32"),
                {"output_dtype": "float32"},
                used,
            )


# ---- reductions, softmax, norms

ORDERS = {"sequential": sums.sequential, "pairwise": sums.pairwise, "blocks_of_128": sums.blocks}
U = np.float64(exact.U32)


def rows_of(rng, kind, rows, n):
    if kind == "positive":
        return rng.uniform(0, 1, (rows, n))
    if kind == "mean_1":
        return rng.standard_normal((rows, n)) + 1
    if kind == "lognormal":
        return np.exp(rng.standard_normal((rows, n)))
    if kind == "outliers":
        x = rng.standard_normal((rows, n))
        x[:, rng.integers(0, n, 1 + n // 500)] *= 15
        return x + 0.25
    return rng.standard_normal((rows, n)) * 2 + 0.5


def reduce_sum(x, add):
    return add(x)


def reduce_mean(x, add):
    return add(x) / np.float32(x.shape[-1])


def softmax(x, add):
    t = np.exp(x - x.max(axis=-1, keepdims=True))
    return t / add(t)[..., None]


def layernorm(x, add, weight=None, bias=None, eps=1e-5):
    n = np.float32(x.shape[-1])
    d = x - (add(x) / n)[..., None]
    y = d * (np.float32(1) / np.sqrt(add(d * d) / n + np.float32(eps)))[..., None]
    y = y if weight is None else y * weight
    return y if bias is None else y + bias


def rmsnorm(x, add, weight=None, eps=1e-6):
    n = np.float32(x.shape[-1])
    y = x * (np.float32(1) / np.sqrt(add(x * x) / n + np.float32(eps)))[..., None]
    return y if weight is None else y * weight


def bound_of(op, x, golden, eps, weight=None, bias=None):
    """Returns the textbook bound of each element of a float32 evaluation with sums in any order.

    A function or root may be off by 4 u (two units in the last place). First-order terms are multiplied by 1.05."""
    n = x.shape[-1]
    g, size = exact.gamma(n + 1), np.abs(x).sum(axis=-1)
    golden = np.abs(np.asarray(golden, np.float64))
    if op == "reduce_sum":
        return g * size
    if op == "reduce_mean":
        return 1.05 * (g * size / n + 2 * U * golden)
    if op == "softmax":
        reach = np.max(x, axis=-1, keepdims=True) - x
        worst = U * reach.max() + 4 * U
        return 1.05 * golden * (U * reach + worst + g + 6 * U) + exact.TINY32 * 4
    weight = np.ones(n) if weight is None else np.abs(weight)
    if op == "layernorm":
        mean = x.mean(axis=-1, keepdims=True)
        d = np.abs(x - mean)
        off = g * (size / n)[..., None] + 2 * U * np.abs(mean)
        delta = off + U * (d + off)
    else:
        d, delta = np.abs(x), np.zeros_like(x)
    square = (d * d).mean(axis=-1, keepdims=True)
    root = 1 / np.sqrt(square + eps)
    square_off = (2 * d * delta + delta * delta).mean(axis=-1, keepdims=True) + (g + 4 * U) * square
    root_off = root * (0.5 * square_off / (square + eps) + 6 * U)
    plain = delta * root + d * root_off + 2 * U * d * root
    last = 0 if bias is None else U * (golden + np.abs(bias))
    return 1.05 * (weight * (plain + 2 * U * d * root) + last) + exact.TINY32 * 4


def rows_family(draws_of_each):
    """Yields three results for each draw: reduce_sum, reduce_mean, softmax, layernorm and rmsnorm of rows of 257 to
    65,536 elements, computed in float32 and rounded once to the output's dtype."""
    kinds = ("normal", "positive", "mean_1", "lognormal", "outliers")
    for index, op in enumerate(("reduce_sum", "reduce_mean", "softmax", "layernorm", "rmsnorm")):
        for draw in range(draws_of_each):
            dtype = ("float32", "float16", "bfloat16")[draw % 3]
            kind = kinds[draw % len(kinds)]
            for attempt in range(100):
                rng = np.random.default_rng([SEED, 2, index, draw, attempt])
                n = {0: 257, 1: 65536}.get(draw) or int(round(257 * 256 ** rng.uniform(0, 1)))
                rows = int(rng.integers(1, 5))
                x = round_to(
                    rows_of(rng, kind, rows, n) * (0.25 if dtype == "float16" and op == "reduce_sum" else 1), dtype
                )
                weight = bias = None
                if op in ("layernorm", "rmsnorm") and draw % 2:
                    weight = round_to(1 + 0.2 * rng.standard_normal(n), dtype)
                    bias = round_to(0.3 * rng.standard_normal(n), dtype) if op == "layernorm" else None
                eps = 1e-5 if op == "layernorm" else 1e-6
                if op in ("reduce_sum", "reduce_mean"):
                    golden = exact.exact_sum(x) / (n if op == "reduce_mean" else 1)
                elif op == "softmax":
                    golden = exact.exact_softmax(x)
                elif op == "layernorm":
                    golden = exact.exact_layernorm(x, weight, bias, eps)
                else:
                    golden = exact.exact_rmsnorm(x, weight, eps)
                bound = bound_of(op, x, golden, eps, weight, bias)
                tiny = quantum(0.0, dtype)
                if hidden(golden, bound + tiny) <= BLIND and np.max(np.abs(golden)) < FORMATS[dtype][2] / 2:
                    break
            else:
                raise RuntimeError(f"no rows for {op} {kind} {dtype}")
            inputs = {"x": Array(x, dtype)}
            more = [] if op.startswith("reduce") or op == "softmax" else [weight]
            if op == "layernorm":
                more.append(bias)
            if weight is not None:
                inputs["weight"] = Array(weight, dtype)
            if bias is not None:
                inputs["bias"] = Array(bias, dtype)
            attributes = {"axis": -1}
            if op in ("layernorm", "rmsnorm"):
                attributes["eps"] = eps
            function = {
                "reduce_sum": reduce_sum,
                "reduce_mean": reduce_mean,
                "softmax": softmax,
                "layernorm": layernorm,
                "rmsnorm": rmsnorm,
            }[op]
            stored = golden64(golden)
            for order, add in ORDERS.items():
                single = [None if one is None else one.astype(np.float32) for one in more]
                out = round_to(function(x.astype(np.float32), add, *single).astype(np.float64), dtype)
                used = confirm(out, golden, bound, dtype)
                family = f"{op} of {'float32' if dtype == 'float32' else '16 bits'}, {order}"
                yield Right(
                    family,
                    f"rows/{op}/{dtype}/{draw}_{kind}_n{n}/{order}",
                    op,
                    inputs,
                    stored,
                    Array(out, dtype),
                    {"output_dtype": dtype, **attributes},
                    used,
                )
