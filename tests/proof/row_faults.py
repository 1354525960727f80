"""Faults of attention, softmax, layernorm, rmsnorm and gelu."""
import math

import numpy as np

import exact
import sums
from number_formats import FORMATS, round_to
from plant import F32, Setting, claims, generator
from product_faults import narrow_sum
from right_data import bound_of
from store import Array

# ---- attention


def attention(q, k, v, scale, mask=None, weights="float32", drop=0, sum_dtype=None, late=False, add=sums.pairwise):
    """Returns softmax(scale q k^T) v in float32. `weights` is the dtype to which weights are rounded before the second
    product. If `late`, exp(s - max) is rounded and multiplied, and the division comes last, as in flash kernels."""
    q, k, v = q.astype(F32), k.astype(F32), v.astype(F32)
    scores = np.matmul(q, k.T) * F32(scale)
    if mask is not None:
        scores = np.where(mask, scores, F32(-np.inf))
    if drop:
        scores, v = scores[:, :-drop], v[:-drop]
    t = np.exp(scores - scores.max(axis=-1, keepdims=True))
    total = (add(t) if sum_dtype is None else narrow_sum(t, sum_dtype, 1).astype(F32))[:, None]
    if late:
        return np.matmul(round_to(t, weights).astype(F32), v) / total
    return np.matmul(round_to(t / total, weights).astype(F32), v)


def attentions(size):
    length, d = {"small": (24, 20), "large": (100, 72)}[size]
    for dtype in ("float32", "float16", "bfloat16"):
        for causal in (0, 1):
            rng = generator("attention", dtype, size, causal)
            q, k, v = (round_to(rng.standard_normal((length, d)), dtype) for _ in range(3))
            scale = 1 / math.sqrt(d)
            mask = np.tri(length, dtype=bool) if causal else None
            golden = exact.exact_attention(q, k, v, scale, causal)
            right = [
                attention(q, k, v, scale, mask),
                attention(q, k, v, scale, mask, late=True),
                attention(q, k, v, scale, mask, add=sums.sequential),
            ]
            u = exact.U32
            # Some right kernels round the weights to the operands' dtype.
            if dtype != "float32":
                right = [
                    attention(q, k, v, scale, mask, dtype),
                    attention(q, k, v, scale, mask, dtype, late=True),
                ] + right
                u = 2.0 ** -FORMATS[dtype][0]
            scores = np.where(np.tri(length, dtype=bool) | (not causal), q @ k.T * scale, -np.inf)
            e = (
                exact.gamma(d + 1) * (np.abs(q) @ np.abs(k).T).max() * scale
                + 4 * exact.U32 * np.abs(q @ k.T).max() * scale
            )
            p = np.asarray(exact.exact_softmax(scores), np.float64)
            small = 2.0**-25 if dtype == "float16" else 0  # subnormal weights
            bound = 1.05 * (4 * e + exact.gamma(2 * length + 2) + 16 * exact.U32 + u) * (
                p @ np.abs(v)
            ) + small * np.abs(v).sum(axis=0)
            s = Setting(
                "attention",
                f"{dtype}_{'causal' if causal else 'full'}_{size}",
                size,
                dtype,
                "attention",
                {"q": Array(q, dtype), "k": Array(k, dtype), "v": Array(v, dtype)},
                {"causal": causal, "scale": scale},
                golden,
                bound,
                dtype,
                right,
            )
            yield from s.controls()
            weights = dtype
            narrower = {
                "float32": ("tfloat32", "float16", "bfloat16"),
                "float16": ("bfloat16", "float8_e4m3fn"),
                "bfloat16": ("float8_e4m3fn",),
            }[dtype]
            for name in narrower:
                yield from s.plant(f"weights in {name}", s.rounded(attention(q, k, v, scale, mask, name)))
            if causal:
                yield from s.plant(
                    "mask off by one: sees the next key",
                    s.rounded(attention(q, k, v, scale, np.tri(length, k=1, dtype=bool), weights)),
                )
                strict = np.tri(length, k=-1, dtype=bool)
                strict[0, 0] = True
                yield from s.plant(
                    "mask off by one: misses its own key", s.rounded(attention(q, k, v, scale, strict, weights))
                )
                yield from s.plant("mask missing", s.rounded(attention(q, k, v, scale, None, weights)))
            else:
                yield from s.plant("last key dropped", s.rounded(attention(q, k, v, scale, None, weights, drop=1)))
            yield from s.plant("scale missing", s.rounded(attention(q, k, v, 1.0, mask, weights)))
            yield from s.plant(
                "scale in bfloat16",
                s.rounded(attention(q, k, v, float(round_to(scale * 1.0, "bfloat16")), mask, weights)),
            )
            if dtype != "float32":
                yield from s.plant("truncated output", s.rounded(right[0], "toward_zero"))
            for name in ("float16", "bfloat16"):
                yield from s.plant(
                    f"sum of weights in {name}", s.rounded(attention(q, k, v, scale, mask, weights, sum_dtype=name))
                )


# ---- softmax


def coarse_exp(x):
    """Returns exp by a polynomial of degree 2 for 2^f, with a relative error of at most about 2e-3."""
    z = np.asarray(x, F32) * F32(math.log2(math.e))
    n = np.floor(z)
    f = z - n
    return np.ldexp(F32(1) + f * (F32(0.6565) + F32(0.3435) * f), n.astype(int)).astype(F32)


def softmax(x, add=sums.pairwise, exp=np.exp, drop=0, sum_dtype=None, reciprocal=False):
    t = exp(x - x.max(axis=-1, keepdims=True)).astype(F32)
    terms = t[..., :-drop] if drop else t
    total = (add(terms) if sum_dtype is None else narrow_sum(terms, sum_dtype, 1).astype(F32))[..., None]
    return t * (F32(1) / total) if reciprocal else t / total


def exp2(x):
    return np.exp2(x * F32(math.log2(math.e)))


def softmaxes(size):
    rows, n = {"small": (4, 50), "large": (8, 2000)}[size]
    for dtype in ("float32", "float16", "bfloat16"):
        rng = generator("softmax", dtype, size)
        x = round_to(rng.standard_normal((rows, n)) * 1.5, dtype)
        single, golden = x.astype(F32), exact.exact_softmax(x)
        right = [
            softmax(single),
            softmax(single, sums.sequential),
            softmax(single, sums.blocks),
            softmax(single, exp=exp2),
            softmax(single, reciprocal=True),
        ]
        s = Setting(
            "softmax",
            f"{dtype}_{size}",
            size,
            dtype,
            "softmax",
            {"x": Array(x, dtype)},
            claims(dtype, axis=-1),
            golden,
            2 * bound_of("softmax", x, golden, 0),
            dtype,
            right,
        )
        yield from s.controls()
        yield from s.plant("exp within 2e-3", s.rounded(softmax(single, exp=coarse_exp)))
        yield from s.plant("sum in float16", s.rounded(softmax(single, sum_dtype="float16")))
        yield from s.plant("sum in bfloat16", s.rounded(softmax(single, sum_dtype="bfloat16")))
        yield from s.plant("last element left out of the sum", s.rounded(softmax(single, drop=1)))
        yield from s.plant("tail of 16 left out of the sum", s.rounded(softmax(single, drop=16)))
        yield from s.plant("row shifted by one element", s.rounded(np.roll(right[0], 1, axis=1)))
        if dtype != "float32":
            yield from s.plant("truncated output", s.rounded(right[0], "toward_zero"))
        else:
            yield from s.plant(
                "exp in float16", s.rounded(softmax(single, exp=lambda d: round_to(np.exp(d), "float16")))
            )
            yield from s.plant(
                "exp in bfloat16", s.rounded(softmax(single, exp=lambda d: round_to(np.exp(d), "bfloat16")))
            )


# ---- layernorm, rmsnorm


def norm(
    x,
    w,
    b,
    eps,
    rms=False,
    add=sums.pairwise,
    divisor=0,
    statistics="float32",
    sums_in=None,
    one_pass=False,
    divide=False,
):
    n = F32(x.shape[-1])

    def total(terms):
        return add(terms) if sums_in is None else narrow_sum(terms, sums_in, 1).astype(F32)

    def kept(value):
        return round_to(value, statistics).astype(F32)[..., None]

    mean = F32(0) if rms else kept(total(x) / n)
    d = x - mean
    square = total(d * d) / (n - divisor)
    if one_pass and not rms:
        square = total(x * x) / n - (mean * mean)[..., 0]
    square = kept(square)
    y = d / np.sqrt(square + F32(eps)) if divide else d * (F32(1) / np.sqrt(square + F32(eps)))
    return y * w.astype(F32) + b.astype(F32)


def norms(size):
    rows, n = {"small": (4, 64), "large": (8, 2000)}[size]
    for op in ("layernorm", "rmsnorm"):
        rms = op == "rmsnorm"
        for dtype in ("float32", "float16", "bfloat16"):
            rng = generator(op, dtype, size)
            x = round_to(rng.standard_normal((rows, n)) * 0.05 + (0.0 if rms else 0.02), dtype)
            w = round_to(1 + 0.3 * rng.standard_normal(n), dtype)
            b = np.zeros(n) if rms else round_to(0.3 * rng.standard_normal(n), dtype)
            single = x.astype(F32)
            golden = exact.exact_rmsnorm(x, w, 1e-5) if rms else exact.exact_layernorm(x, w, b, 1e-5)
            right = [
                norm(single, w, b, 1e-5, rms),
                norm(single, w, b, 1e-5, rms, sums.sequential),
                norm(single, w, b, 1e-5, rms, sums.blocks),
                norm(single, w, b, 1e-5, rms, divide=True),
            ]
            if not rms:
                right.append(norm(single, w, b, 1e-5, rms, one_pass=True))
            inputs = {"x": Array(x, dtype), "weight": Array(w, dtype)}
            if not rms:
                inputs["bias"] = Array(b, dtype)
            # On this data, a variance by E[x^2] - mean^2 is right, too. Its sums cancel by a factor of less than 2, for
            # which the bound has a factor of 3.
            s = Setting(
                op,
                f"{dtype}_{size}",
                size,
                dtype,
                op,
                inputs,
                claims(dtype, axis=-1, eps=1e-5),
                golden,
                3 * bound_of(op, x, golden, 1e-5, w, None if rms else b),
                dtype,
                right,
            )
            yield from s.controls()
            yield from s.plant("eps missing", s.rounded(norm(single, w, b, 0, rms)))
            yield from s.plant("eps 1e-3", s.rounded(norm(single, w, b, 1e-3, rms)))
            yield from s.plant("eps 1e-6", s.rounded(norm(single, w, b, 1e-6, rms)))
            yield from s.plant("n - 1", s.rounded(norm(single, w, b, 1e-5, rms, divisor=1)))
            if not rms:
                yield from s.plant("mean not subtracted", s.rounded(norm(single, w, b, 1e-5, True)))
                yield from s.plant("bias missing", s.rounded(norm(single, w, np.zeros(n), 1e-5)))
            if dtype != "bfloat16":
                yield from s.plant("weight in bfloat16", s.rounded(norm(single, round_to(w, "bfloat16"), b, 1e-5, rms)))
            if dtype != "float32":
                yield from s.plant("truncated output", s.rounded(right[0], "toward_zero"))
            yield from s.plant("statistics in float16", s.rounded(norm(single, w, b, 1e-5, rms, statistics="float16")))
            yield from s.plant(
                "statistics in bfloat16", s.rounded(norm(single, w, b, 1e-5, rms, statistics="bfloat16"))
            )
            yield from s.plant("sums in float16", s.rounded(norm(single, w, b, 1e-5, rms, sums_in="float16")))
            last = norm(single[:, :-1], w[:-1], b[:-1], 1e-5, rms)
            wrong = np.array(right[0])
            wrong[:, -1] = 0
            yield from s.plant("last column zero", s.rounded(wrong))
            wrong[:, :-1] = last
            wrong[:, -1] = right[0][:, -1]
            yield from s.plant("last element left out of the statistics", s.rounded(wrong))


# ---- gelu


def gelus(size):
    rows, n = {"small": (3, 41), "large": (16, 500)}[size]
    for approximate in ("none", "tanh"):
        for dtype in ("float32", "float16", "bfloat16"):
            rng = generator("gelu", approximate, dtype, size)
            x = round_to(rng.standard_normal((rows, n)) * 1.5, dtype)
            single = x.astype(F32)

            def by_erf(step=lambda v: v):
                return step(
                    single * step(F32(0.5) * step(F32(1) + step(exact.erf(single * F32(math.sqrt(0.5))).astype(F32))))
                )

            def by_tanh(step=lambda v: v):
                z = step(F32(math.sqrt(2 / math.pi)) * (single + F32(0.044715) * single * single * single))
                return step(F32(0.5) * single * step(F32(1) + step(np.tanh(z))))

            def by_erfc(step=None):
                return np.asarray(exact.exact_gelu(x), F32)

            def by_exp(step=None):
                z = F32(math.sqrt(2 / math.pi)) * (single + F32(0.044715) * single * single * single)
                return single / (F32(1) + np.exp(F32(-2) * z))

            golden = exact.exact_gelu(x, approximate)
            size_ = np.abs(np.asarray(golden, np.float64))
            bound = 12 * exact.U32 * (size_ + np.abs(x)) + exact.TINY32
            right, wrong = (
                ([by_erf(), by_erfc()], by_tanh) if approximate == "none" else ([by_tanh(), by_exp()], by_erf)
            )
            own = by_erf if approximate == "none" else by_tanh
            s = Setting(
                "gelu",
                f"{approximate}_{dtype}_{size}",
                size,
                dtype,
                "gelu",
                {"x": Array(x, dtype)},
                claims(dtype, approximate=approximate),
                golden,
                bound,
                dtype,
                right,
            )
            yield from s.controls()
            yield from s.plant(
                "tanh form for erf" if approximate == "none" else "erf for the tanh form", s.rounded(wrong())
            )
            yield from s.plant("x sigmoid(1.702 x)", s.rounded(single / (F32(1) + np.exp(F32(-1.702) * single))))
            yield from s.plant("steps in float16", s.rounded(own(lambda v: round_to(v, "float16").astype(F32))))
            if dtype == "float32":
                yield from s.plant("steps in bfloat16", s.rounded(own(lambda v: round_to(v, "bfloat16").astype(F32))))
            else:
                yield from s.plant("truncated output", s.rounded(right[0], "toward_zero"))
            yield from s.plant(
                "constant 0.044 for 0.044715" if approximate == "tanh" else "relu",
                s.rounded(
                    F32(0.5) * single * (1 + np.tanh(F32(math.sqrt(2 / math.pi)) * (single + F32(0.044) * single**3)))
                    if approximate == "tanh"
                    else np.maximum(single, 0)
                ),
            )
