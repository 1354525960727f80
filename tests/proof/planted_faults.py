#!/usr/bin/env python3
"""Plants wrong arithmetic in results: what a gate should catch.

Each setting (operator, dtypes, size) has operands, the exact result, right results in several ways, and faulty ones. A
fault counts only if an oracle, which shares nothing with assay, says that the output is wrong:

  - *beyond the bound*: at least one element is farther from the exact result than any right evaluation can be. The
    limit is the textbook bound of the arithmetic in any order (exact.py, right_data.py), plus half a quantum of the
    output's dtype at the far end of that bound.
  - *beyond the variety*: all elements are within that bound, but the errors are larger than those of right evaluations.
    The errors are divided by w = half a quantum + the typical error of right evaluations. The output is wrong if their
    root mean square is more than 1.5 times, or their maximum more than 2 times, that of every right evaluation. It is
    also wrong if the errors lean toward zero or away from it: their mean, with the sign of the exact result, is more
    than 2 times that of every right evaluation plus 6 standard deviations of a mean of independent errors.

A fault that meets neither is *right in truth*: it is dropped, and `dropped` says so. Each plant records the number of
elements that it changes (against the first right evaluation, which is the setting's control) and the largest relative
change.

    /usr/bin/python3 tests/proof/planted_faults.py [--csv FILE]      lists the plants"""
import argparse
import collections
import csv
import dataclasses
import math
import sys

import numpy as np

import exact
import sums
from number_formats import FORMATS, quantum, round_to
from right_data import SEED, bound_of
from store import Array, golden64

RMS_FACTOR, MAX_FACTOR = 1.5, 2.0
F32 = np.float32
dropped = []


@dataclasses.dataclass
class Plant:
    operator: str  # as the table calls it
    fault: str  # "" of a control, which is right
    setting: str
    dtypes: str
    size: str
    op: str
    inputs: dict
    golden: Array
    output: Array
    attributes: dict
    changed: int
    of: int
    relative: float
    decided: str

    which: int = 0  # of a control: which right evaluation

    @property
    def name(self):
        return f"{self.operator.replace(' ', '_')}/{self.setting}/{self.fault or f'right_{self.which}'}"


class Setting:
    """Operands with their exact result, right evaluations and a textbook bound of each element."""

    def __init__(self, operator, name, size, dtypes, op, inputs, attributes, golden, bound, dtype, right, stored=None):
        """`right`: evaluations before the last rounding (float32 or float64). `stored`: the golden result in the file,
        if
        it is not `golden` in float64. `dtype`: the output's, which is int8 of codes."""
        self.operator, self.name, self.size, self.dtypes, self.op = operator, name, size, dtypes, op
        self.inputs, self.attributes, self.dtype = inputs, attributes, dtype
        self.golden = np.asarray(golden, np.longdouble)
        self.bound = np.broadcast_to(np.asarray(bound, np.float64), self.golden.shape)
        self.stored = stored or golden64(self.golden)
        self.right = [self.rounded(one) for one in right]
        half = self.half_quantum(np.abs(self.golden).astype(np.float64))
        with np.errstate(all="ignore"):
            share = [
                np.abs(np.asarray(one, np.longdouble) - self.golden) / np.maximum(self.bound, 1e-300) for one in right
            ]
        typical = max(float(np.sqrt(np.mean(one**2))) for one in share)
        self.scale = np.maximum(half + typical * self.bound, 1e-300)
        self.rms, self.largest, self.lean = (max(values) for values in zip(*(self.errors(one) for one in self.right)))
        for one in self.right:
            assert not self.beyond(one), f"{operator} {name}: a right evaluation is beyond the textbook bound"

    def half_quantum(self, values):
        return np.full(np.shape(values), 0.5) if self.dtype == "int8" else 0.5 * quantum(values, self.dtype)

    def rounded(self, values, mode="nearest_even"):
        values = np.asarray(values, np.float64)
        if self.dtype == "int8":
            return np.clip(
                {"nearest_even": np.rint, "toward_zero": np.trunc, "down": np.floor}[mode](values), -128, 127
            )
        return round_to(values, self.dtype, mode)

    def errors(self, output):
        """Returns the root mean square, the maximum and the size of the mean lean of the errors over their scale."""
        e = (np.asarray(output, np.longdouble) - self.golden) / self.scale
        return (
            float(np.sqrt(np.mean(e**2))),
            float(np.max(np.abs(e))),
            float(np.abs(np.mean(e * np.sign(self.golden)))),
        )

    def beyond(self, output):
        """Returns how many elements no right evaluation can give."""
        far = np.abs(self.golden).astype(np.float64) + self.bound
        return int(
            np.sum(np.abs(np.asarray(output, np.longdouble) - self.golden) > self.bound + self.half_quantum(far))
        )

    def controls(self, most=3):
        """Returns the first few right evaluations that differ, as plants without a fault."""
        distinct = []
        for one in self.right:
            if not any(np.array_equal(one, other) for other in distinct):
                distinct.append(one)
        made = [self._plant("", one, "right") for one in distinct[:most]]
        for which, one in enumerate(made):
            one.which = which
        return made

    def _plant(self, fault, output, decided):
        base = self.right[0]
        with np.errstate(all="ignore"):
            relative = np.where(base == output, 0, np.abs(output - base) / np.abs(base))
        finite = relative[np.isfinite(relative)]
        return Plant(
            self.operator,
            fault,
            self.name,
            self.dtypes,
            self.size,
            self.op,
            self.inputs,
            self.stored,
            Array(output, self.dtype),
            self.attributes,
            int(np.sum(base != output)),
            base.size,
            float(finite.max()) if finite.size else 0.0,
            decided,
        )

    def plant(self, fault, output):
        """Returns a list with the plant, or an empty list if the oracle does not find it wrong."""
        beyond, (rms, largest, lean) = self.beyond(output), self.errors(output)
        if beyond:
            return [self._plant(fault, output, f"beyond the bound: {beyond}")]
        if rms > RMS_FACTOR * self.rms or largest > MAX_FACTOR * self.largest:
            return [
                self._plant(
                    fault, output, f"beyond the variety: rms {rms / self.rms:.2f}, max {largest / self.largest:.2f}"
                )
            ]
        if lean > 2 * self.lean + 6 * self.rms / math.sqrt(self.golden.size):
            return [
                self._plant(fault, output, f"beyond the variety: mean {lean:.2f}, of right evaluations {self.lean:.2f}")
            ]
        dropped.append((self.operator, fault, self.name, f"rms {rms / self.rms:.2f}, max {largest / self.largest:.2f}"))
        return []


def generator(*words):
    """A generator of its own for each setting, whatever settings come before it."""
    return np.random.default_rng([SEED, *[int.from_bytes(str(word).encode(), "big") % 2**63 for word in words]])


def claims(dtype, **attributes):
    """Parameters of a case. Of float16 operands it says that they are widened: a unit that computes in float16 is right
    otherwise, and a fault such as statistics in float16 would be none."""
    return {**attributes, "compute_dtype": "float32"} if dtype == "float16" else attributes


# ---- products


def narrow_sum(terms, dtype, chunk=16):
    """Adds chunks of products exactly and rounds the accumulator to the dtype after each chunk."""
    total = np.zeros(terms.shape[:-1])
    for start in range(0, terms.shape[-1], chunk):
        total = round_to(total + terms[..., start : start + chunk].sum(axis=-1, dtype=np.float64), dtype)
    return total


def products(size):
    m, k, n = {"small": (20, 96, 24), "large": (32, 1000, 32)}[size]
    for dtype, out in (
        ("float16", "float16"),
        ("bfloat16", "bfloat16"),
        ("float32", "float32"),
        ("float16", "float32"),
        ("bfloat16", "float32"),
    ):
        rng = generator("product", dtype, out, size)
        a, b = round_to(rng.standard_normal((m, k)), dtype), round_to(rng.standard_normal((k, n)), dtype)
        bias = round_to(3 * rng.standard_normal(n), out)
        golden, total = exact.exact_matmul(a, b, bias)
        terms = a.astype(F32)[:, None, :] * b.astype(F32).T[None, :, :]
        wide = exact.products(a, b)
        orders = list(sums.matmul_orders(a, b, rng).values()) + [sums.sequential(terms[..., rng.permutation(k)])]
        orders = [one + bias.astype(F32) for one in orders]
        s = Setting(
            f"matmul {'float32' if dtype == 'float32' else '16 bits'}",
            f"{dtype}_to_{out}_{size}",
            size,
            f"{dtype} to {out}",
            "matmul",
            {"a": Array(a, dtype), "b": Array(b, dtype), "bias": Array(bias, out)},
            {},
            golden,
            exact.matmul_bound(total, k + 1),
            out,
            orders,
        )
        yield from s.controls()

        def product(x, y, start=None):  # right float32 arithmetic on wrong operands
            return np.matmul(x.astype(F32), y.astype(F32)) + (bias.astype(F32) if start is None else start)

        base = orders[0].astype(np.float64)
        if dtype == "float32":
            yield from s.plant(
                "tfloat32 operands", s.rounded(product(round_to(a, "tfloat32"), round_to(b, "tfloat32")))
            )
            yield from s.plant("float16 operands", s.rounded(product(round_to(a, "float16"), round_to(b, "float16"))))
        if dtype != "bfloat16":
            yield from s.plant(
                "bfloat16 operands", s.rounded(product(round_to(a, "bfloat16"), round_to(b, "bfloat16")))
            )
        yield from s.plant("float16 accumulator", s.rounded(narrow_sum(wide, "float16") + bias))
        yield from s.plant("bfloat16 accumulator", s.rounded(narrow_sum(wide, "bfloat16") + bias))
        yield from s.plant("last 32 of K dropped", s.rounded(product(a[:, :-32], b[:-32])))
        yield from s.plant("last 1 of K dropped", s.rounded(product(a[:, :-1], b[:-1])))
        yield from s.plant("block of K added twice", s.rounded(base + wide[..., 32:64].sum(axis=-1)))
        wrong = np.array(base)
        wrong[m // 3] = product(a[m // 3 + 1 : m // 3 + 2], b)[0]
        yield from s.plant("one wrong row", s.rounded(wrong))
        other = product(round_to(rng.standard_normal((m, k)), dtype), b)
        for name, tile in (("stale tile", other[:16, :16]), ("zero tile", 0.0)):
            wrong = np.array(base)
            wrong[:16, :16] = tile
            yield from s.plant(name, s.rounded(wrong))
        wrong = np.array(b)
        wrong[:16, :16] = b[:16, :16].T
        yield from s.plant("transposed tile of an operand", s.rounded(product(a, wrong)))
        yield from s.plant("bias missing", s.rounded(product(a, b, 0)))
        if out != "float32":
            yield from s.plant("truncated output", s.rounded(base, "toward_zero"))
        wrong = np.array(base)
        wrong[[2, 3]] = base[[3, 2]]
        yield from s.plant("swapped rows", s.rounded(wrong))
        yield from s.plant("off by one column", s.rounded(np.roll(base, 1, axis=1)))
        yield from s.plant(
            "one bit flipped (bit 2 below the top of the mantissa)", flipped(s.right[0], out, m // 2, n // 2)
        )


def flipped(values, dtype, row, column):
    """Changes one element by a quarter of its power of two: its second highest mantissa bit is inverted."""
    out = np.array(values)
    _, exponent = np.frexp(out[row, column])
    step = np.ldexp(0.25, exponent - 1)
    set_already = math.fmod(abs(out[row, column]) / step, 2) >= 1
    out[row, column] += (-1 if set_already else 1) * step * np.sign(out[row, column])
    return round_to(out, dtype)


# ---- scaled products of 8-bit floats


def exponents(a, b):
    """Returns the exponent of a[i, k] plus that of b[k, j] at [i, j, k]; a subnormal number counts as the smallest
    normal one. A tensor core aligns by these, not by the exponent of the normalized product."""
    emin = FORMATS["float8_e4m3fn"][1]
    ea, eb = (np.maximum(np.frexp(one)[1] - 1, emin) for one in (a, b))
    return ea[:, None, :] + eb.T[None, :, :]


def fp8_unit(terms, scale, chunk=32, bits=13, promote=0):
    """Sums as a Hopper tensor core does (docs/machines.md): the terms of a chunk and the accumulator are cut to `bits`
    bits below the largest exponent, added, and the sum is cut to `bits` mantissa bits. `scale` holds the exponents of
    the terms. With `promote`, a partial sum of so many terms is added to a float32. The results are, bit for bit, those
    of `assay emulate --machine hopper`.
    """
    total, part = np.zeros(terms.shape[:-1], F32), np.zeros(terms.shape[:-1])
    for start in range(0, terms.shape[-1], chunk):
        if promote and start and start % promote == 0:
            total, part = total + part.astype(F32), np.zeros_like(part)
        group = np.concatenate([terms[..., start : start + chunk], part[..., None]], axis=-1)
        largest = scale[..., start : start + chunk].max(axis=-1)
        own = np.where(part == 0, -1000, np.frexp(part)[1] - 1)
        unit = np.ldexp(1.0, np.maximum(largest, own) - bits)[..., None]
        part = np.trunc(group / unit).sum(axis=-1) * unit[..., 0]
        unit = np.ldexp(1.0, np.frexp(part)[1] - 1 - bits)
        part = np.trunc(part / unit) * unit
    return (total + part.astype(F32)).astype(np.float64)


def scaled_products(size):
    m, k, n = {"small": (8, 512, 16), "large": (16, 2048, 32)}[size]
    dtype = "float8_e4m3fn"
    for out in ("float32", "bfloat16"):
        for machine in ("", "hopper"):
            for scaling in ("row", "block"):
                rng = generator("scaled", out, size, scaling)
                blocks = k // 128
                a = round_to(rng.standard_normal((m, k)) * 100, dtype)
                b = round_to(rng.standard_normal((k, n)) * 100, dtype)
                if scaling == "row":
                    sa, sb = rng.uniform(1e-3, 4e-3, m).astype(F32), rng.uniform(1e-3, 4e-3, n).astype(F32)
                    of_a, of_b = np.broadcast_to(sa[:, None], (m, blocks)), np.broadcast_to(sb[None, :], (blocks, n))
                    attributes = {"a_scaling": "row", "b_scaling": "row", "promotion_interval": 128}
                else:
                    sa = rng.uniform(1e-3, 4e-3, (m, blocks)).astype(F32)
                    sb = rng.uniform(1e-3, 4e-3, (blocks, (n + 127) // 128)).astype(F32)
                    of_a, of_b = sa, np.repeat(sb, 128, axis=1)[:, :n]
                    attributes = {"a_scaling": "1x128", "b_scaling": "128x128"}
                if machine:
                    attributes["machine"] = machine
                wide_a = np.repeat(of_a.astype(np.float64), 128, axis=1) * a
                wide_b = np.repeat(of_b.astype(np.float64), 128, axis=0) * b
                golden = np.matmul(wide_a.astype(np.longdouble), wide_b.astype(np.longdouble))
                total = np.abs(wide_a) @ np.abs(wide_b)
                terms, of_terms = exact.products(a, b), exponents(a, b)

                def scaled(partial, p=of_a, q=of_b, order=0):
                    """Adds the scaled sums of blocks in float32; `partial` gives the sum of a block of products."""
                    sum_ = np.zeros((m, n), F32)
                    for block in range(blocks):
                        here = slice(128 * block, 128 * (block + 1))
                        s = partial(terms[..., here], of_terms[..., here]).astype(F32)
                        left, right = p[:, block : block + 1].astype(F32), q[block : block + 1].astype(F32)
                        sum_ = sum_ + (s * (left * right) if order == 0 else (s * left) * right)
                    return sum_

                def single(t, _):
                    return t.sum(axis=-1)

                on_unit = scaled(fp8_unit)
                plain = [
                    scaled(lambda t, _: sums.sequential(t.astype(F32))),
                    scaled(single),
                    scaled(single, order=1),
                    scaled(lambda t, _: sums.pairwise(t.astype(F32))),
                    on_unit,
                ]
                if scaling == "row":
                    once = (of_a[:, :1] * of_b[:1]).astype(F32)
                    plain += [
                        fp8_unit(terms, of_terms, promote=128).astype(F32) * once,
                        sums.sequential(terms.astype(F32)) * once,
                    ]
                right = [on_unit] + plain if machine else plain
                # 4 chunks of a block cut 33 terms each at 13 bits below the largest, which a partial sum may be.
                largest = np.max(np.abs(terms), axis=-1) * (of_a.max(axis=1)[:, None] * of_b.max(axis=0)[None, :]) * 4
                unit_bound = blocks * 4 * 34 * 2.0**-13 * largest
                bound = exact.matmul_bound(total, k + 3 * blocks) + unit_bound
                s = Setting(
                    f"scaled_matmul fp8{' on hopper' if machine else ''}",
                    f"{scaling}_to_{out}_{size}{'_' + machine if machine else ''}",
                    size,
                    f"{dtype} to {out}",
                    "scaled_matmul",
                    {
                        "a": Array(a, dtype),
                        "b": Array(b, dtype),
                        "scale_a": Array(sa, "float32"),
                        "scale_b": Array(sb, "float32"),
                    },
                    attributes,
                    golden,
                    bound,
                    out,
                    right,
                )
                yield from s.controls()
                base = right[0].astype(np.float64)
                last = (terms[..., -128:].sum(axis=-1)) * (of_a[:, -1:].astype(np.float64) * of_b[-1:])
                if scaling == "row":
                    yield from s.plant("promotion missing", s.rounded(fp8_unit(terms, of_terms).astype(F32) * once))
                for tail in (32, 1):
                    rest = terms[..., -tail:].sum(axis=-1) * (of_a[:, -1:].astype(np.float64) * of_b[-1:])
                    yield from s.plant(f"last {tail} of K dropped", s.rounded(base - rest))
                yield from s.plant(
                    "scales rounded to bfloat16",
                    s.rounded(scaled(single, round_to(of_a, "bfloat16"), round_to(of_b, "bfloat16"))),
                )
                yield from s.plant("last block of K dropped", s.rounded(base - last))
                yield from s.plant("last block of K added twice", s.rounded(base + last))
                if scaling == "block":
                    p = np.array(of_a)
                    p[:, -1] = 1e-3
                    yield from s.plant("last block with a stale scale", s.rounded(scaled(single, p)))
                    p[:, -1] = 1
                    yield from s.plant("last block not scaled in a", s.rounded(scaled(single, p)))
                    yield from s.plant(
                        "scale of the neighbouring block", s.rounded(scaled(single, np.roll(of_a, 1, axis=1)))
                    )
                else:
                    yield from s.plant(
                        "scale of the neighbouring row", s.rounded(scaled(single, np.roll(of_a, 1, axis=0)))
                    )
                if out == "bfloat16":
                    yield from s.plant("truncated output", s.rounded(base, "toward_zero"))


# ---- attention


def attention(q, k, v, scale, mask=None, weights="float32", drop=0, sum_dtype=None, late=False, add=sums.pairwise):
    """softmax(scale q k^T) v in float32. `weights`: the dtype that weights are rounded to before the second product.
    `late`: exp(s - max) is rounded and multiplied, and the quotient comes last, as in flash kernels."""
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
            if dtype != "float32":  # kernels round the weights to the operands' dtype
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
    """exp by 2^f of degree 2: the relative error is at most about 2e-3."""
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
            # E[x^2] - mean^2 is right too on this data: its sums cancel by a factor of less than 2, allowed for by 3.
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


# ---- quantizers


def quantizers(size):
    rows, n = {"small": (4, 256), "large": (32, 1024)}[size]
    for dtype in ("float32", "bfloat16"):
        for out, largest in (("int8", 127.0), ("float8_e4m3fn", 448.0)):
            for scaling, width in (("row", n), ("1x128", 128)):
                rng = generator("quantize", dtype, out, scaling, size)
                x = round_to(rng.standard_normal((rows, n)) * np.exp(rng.standard_normal((rows, 1))), dtype)
                amax = np.abs(x.reshape(rows, -1, width)).max(axis=-1)
                exact_amax = np.repeat(amax, width, axis=1).astype(np.longdouble)
                golden = x * largest / exact_amax  # the product is exact, so ties are ties
                single, scale = x.astype(F32), np.repeat((amax / largest).astype(F32), width, axis=1)
                # A quotient by a float32 scale is off by 2 u, and by 3 u if it is a product with the reciprocal.
                bound = 4 * exact.U32 * np.abs(np.asarray(golden, np.float64))
                stored = Array(np.rint(golden), "int8") if out == "int8" else None
                right = [single / scale, single * (F32(1) / scale)]
                s = Setting(
                    "quantize",
                    f"{dtype}_to_{out}_{scaling}_{size}",
                    size,
                    f"{dtype} to {out}",
                    "quantize",
                    {"x": Array(x, dtype)},
                    {"scaling": scaling},
                    golden,
                    bound,
                    out,
                    right,
                    stored,
                )
                yield from s.controls()
                yield from s.plant("truncated codes", s.rounded(right[0], "toward_zero"))
                if out == "int8":
                    yield from s.plant("floor of the quotient", s.rounded(right[0], "down"))
                    wrong = np.array(s.right[0])
                    wrong[1] = np.clip(wrong[1] + 1, -128, 127)
                    yield from s.plant("codes of one row one too large", wrong)
                    yield from s.plant("range of 128 for 127", s.rounded(single * (F32(128) / (scale * F32(127)))))
                    away = np.trunc(right[0] + np.copysign(F32(0.5), right[0]))
                    yield from s.plant("ties away from zero", s.rounded(away))
                else:
                    yield from s.plant("range of 240 for 448", s.rounded(right[0] * F32(240 / 448)))
                yield from s.plant("scale in bfloat16", s.rounded(single / round_to(scale, "bfloat16").astype(F32)))
                yield from s.plant("scale in float16", s.rounded(single / round_to(scale, "float16").astype(F32)))
                shift, axis = (width, 1) if scaling == "1x128" else (1, 0)
                yield from s.plant(
                    "scale of the neighbouring block", s.rounded(single / np.roll(scale, shift, axis=axis))
                )


def affine_quantizers(size):
    """Codes with a zero point: an operator that assay does not know, so the golden result alone decides."""
    rows, n = {"small": (4, 256), "large": (32, 1024)}[size]
    rng = generator("affine", size)
    x = rng.uniform(-1, 3, (rows, n)).astype(F32)
    low, high = x.min(axis=1, keepdims=True), x.max(axis=1, keepdims=True)
    scale = ((high - low) / F32(255)).astype(F32)
    zero = np.rint(-128 - low / scale)
    golden = x.astype(np.longdouble) / scale + zero
    bound = 4 * exact.U32 * (np.abs(x / scale) + np.abs(zero))
    right = [x / scale + zero.astype(F32), x * (F32(1) / scale) + zero.astype(F32)]
    right = [np.clip(one, -128, 127) for one in right]
    golden = np.clip(golden, -128, 127)
    s = Setting(
        "quantize_affine (unknown to assay)",
        f"float32_to_int8_{size}",
        size,
        "float32 to int8",
        "quantize_affine",
        {"x": Array(x, "float32"), "scale": Array(scale, "float32"), "zero_point": Array(zero, "float32")},
        {},
        golden,
        bound,
        "int8",
        right,
        Array(s_round(golden), "int8"),
    )
    yield from s.controls()
    yield from s.plant("zero point missing", s.rounded(x / scale))
    yield from s.plant("zero point one too large", s.rounded(x / scale + zero + 1))
    yield from s.plant("truncated codes", s.rounded(right[0], "toward_zero"))
    yield from s.plant("scale in bfloat16", s.rounded(x / round_to(scale, "bfloat16") + zero))
    yield from s.plant("zero point of the neighbouring row", s.rounded(x / scale + np.roll(zero, 1, axis=0)))


def s_round(golden):
    return np.clip(np.rint(np.asarray(golden, np.float64)), -128, 127)


def dequantizers(size):
    rows, n = {"small": (4, 256), "large": (32, 1024)}[size]
    for dtype in ("int8", "float8_e4m3fn"):
        for out in ("float32", "bfloat16"):
            rng = generator("dequantize", dtype, out, size)
            codes = rng.integers(-127, 128, (rows, n)).astype(float)
            codes = codes if dtype == "int8" else round_to(codes * 3, dtype)
            scale = np.exp(rng.standard_normal(rows)).astype(F32)
            golden = codes.astype(np.longdouble) * scale[:, None]
            s = Setting(
                "dequantize",
                f"{dtype}_to_{out}_{size}",
                size,
                f"{dtype} to {out}",
                "dequantize",
                {"x": Array(codes, dtype), "scale": Array(scale, "float32")},
                {"scaling": "row"},
                golden,
                2 * exact.U32 * np.abs(np.asarray(golden, np.float64)),
                out,
                [codes.astype(F32) * scale[:, None], np.asarray(golden, np.float64)],
            )
            yield from s.controls()
            yield from s.plant("scale in bfloat16", s.rounded(codes * round_to(scale, "bfloat16")[:, None]))
            yield from s.plant("scale of the neighbouring row", s.rounded(codes * np.roll(scale, 1)[:, None]))
            yield from s.plant("codes one too large", s.rounded((codes + 1) * scale[:, None]))
            if out == "bfloat16":
                yield from s.plant(
                    "truncated output", s.rounded(codes * scale[:, None].astype(np.float64), "toward_zero")
                )


FAMILIES = (products, scaled_products, attentions, softmaxes, norms, gelus, quantizers, affine_quantizers, dequantizers)


def plants(quick=False):
    """Yields the controls (right results; fault "") and the plants. quick: the small size only."""
    for family in FAMILIES:
        for size in ("small",) if quick else ("small", "large"):
            with np.errstate(all="ignore"):
                yield from family(size)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--csv", help="writes a line for each plant")
    options = parser.parse_args()
    made = [one for one in plants() if one.fault]
    if options.csv:
        with open(options.csv, "w", newline="") as out:
            writer = csv.writer(out, lineterminator="\n")
            writer.writerow(["operator", "fault", "setting", "changed", "of", "largest_relative", "decided"])
            writer.writerows(
                [one.operator, one.fault, one.setting, one.changed, one.of, f"{one.relative:.3g}", one.decided]
                for one in made
            )
    for operator, count in collections.Counter(one.operator for one in made).items():
        print(f"{operator}: {count}")
    print(f"{len(made)} plants; {sum('variety' in one.decided for one in made)} of them within the textbook bound")
    for operator, fault, setting, why in dropped:
        print(f"dropped as right in truth: {operator}, {fault}, {setting}: {why} of right evaluations")
    return 0


if __name__ == "__main__":
    sys.exit(main())
