"""Faults of matrix products, with operands of 16 and 32 bits, and of 8 bits with scales."""
import math

import numpy as np

import exact
import sums
from number_formats import FORMATS, round_to
from plant import F32, Setting, generator
from store import Array

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

        # Computes wrong operands in right float32 arithmetic.
        def product(x, y, start=None):
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
    """Inverts the second highest mantissa bit of one element, which changes it by a quarter of its power of two."""
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
    """Sums as a Hopper tensor core does (docs/machines.md). The terms of a chunk and the accumulator are cut to `bits`
    bits below the largest exponent and added, and the sum is cut to `bits` mantissa bits. `scale` holds the exponents
    of the terms. If `promote` is not 0, a partial sum of `promote` terms is added to a float32. The results are, bit
    for bit, those of `assay emulate --machine hopper`.
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
                # A block has 4 chunks, and each cuts 33 terms at 13 bits below the largest term, which may be a partial
                # sum.
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
