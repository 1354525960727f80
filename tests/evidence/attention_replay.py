#!/usr/bin/env python3
"""Replays attention that an H200 computed through PyTorch's math and flash back ends, bit for bit,
from q, k, v and one table: the hardware's ex2.approx for every multiple of 2^-23 in [0, 1).
docs/evidence/attention.md describes the steps. If one of them is done in another way, the bits must differ.

    attention_replay.py RECORDING.h5 TABLE.h5      exit code 1 if a replay differs, or a wrong one does not
"""
import sys

import h5py
import numpy as np

F = np.float32
WIDE = np.longdouble  # 64 bits, to which fma() first rounds a multiply-add of float32 values


def fma(a, b, c):
    return (a.astype(WIDE) * WIDE(b) + WIDE(c)).astype(F)


class Exp2:
    """ex2.approx.ftz.f32 by its table. The argument is cut to a multiple of 2^-23."""

    def __init__(self, steps):
        self.table = 1 + np.cumsum(steps.astype(np.int64)) * 2.0**-23

    def scaled(self, x, power):
        cut = np.trunc(np.maximum(x.astype(np.float64), -1000) * 2**23) / 2**23
        whole = np.floor(cut)
        at = ((cut - whole) * 2**23).astype(np.int64)
        return np.ldexp(self.table[at], (whole + power).astype(np.int64)).astype(F)

    def __call__(self, x):
        return np.where(x < -126, F(0), self.scaled(x, 0))

    def exp(self, x):
        """Returns CUDA's expf: 2^n ex2(x log2(e) - n), with log2(e) in two parts. Here x is in [-87, 0]."""
        log2e = 1.4426950408889634
        high = F(log2e)
        n = np.floor(fma(x, F(log2e / 252), F(0.5)).astype(np.float64) * 252) - 126
        r = fma(x, high, -n)
        return self.scaled(fma(x, F(log2e - float(high)), r), n)


def chain(a, b):
    """Returns a float32 product as the plain cores compute it, by fused multiply-adds in ascending k."""
    total = np.zeros((a.shape[0], b.shape[1]), F)
    for k in range(a.shape[1]):
        total = (total.astype(WIDE) + np.outer(a[:, k].astype(WIDE), b[k].astype(WIDE))).astype(F)
    return total


def warp_sum(e, order=(16, 8, 4, 2, 1)):
    """Returns the sum of each row as softmax_warp_forward computes it: lane l takes elements l, l + 32, ..., then
    butterflies add the lanes."""
    lanes = np.zeros((e.shape[0], 32), F)
    for first in range(0, e.shape[1], 32):
        part = e[:, first:first + 32]
        lanes[:, :part.shape[1]] += part
    for offset in order:
        lanes = lanes + lanes[:, np.arange(32) ^ offset]
    return lanes[:, :1]


def math_attention(q, k, v, exp2, wrong=""):
    root = F(np.sqrt(1 / np.sqrt(q.shape[1])))
    if wrong == "scaled after":
        scores = chain(q, k.T) * (root * root)
    else:
        scores = chain(q * root, (k * root).T)
    x = scores - scores.max(1, keepdims=True)
    e = np.exp(x.astype(np.float64)).astype(F) if wrong == "correctly rounded exp" else exp2.exp(x)
    order = (1, 2, 4, 8, 16) if wrong == "other butterflies" else (16, 8, 4, 2, 1)
    return chain(e / warp_sum(e, order), v)


def exponent(x):
    return np.where(x == 0, -10000, np.frexp(x)[1] - 1)


def tensor_core(a, b, kept_bits=25):
    """Returns a product by the row `hopper` of the dot model: chunks of 16, aligned and truncated."""
    a, b = a.astype(np.float64), b.astype(np.float64)
    total = np.zeros((a.shape[0], b.shape[1]))
    for first in range(0, a.shape[1], 16):
        terms = a[:, first:first + 16, None] * b[None, first:first + 16]
        exponents = exponent(a[:, first:first + 16])[:, :, None] + exponent(b[first:first + 16])
        exponents = np.where(terms == 0, -10000, exponents)
        largest = np.maximum(np.maximum(exponents.max(1), exponent(total)), -133)
        unit = np.exp2(largest - float(kept_bits))
        exact = (np.trunc(terms / unit[:, None]).sum(1) + np.trunc(total / unit)) * unit
        last = np.exp2(exponent(exact) - 23.0)
        total = np.where(exact == 0, 0, np.trunc(exact / last) * last)
    return total.astype(F)


def flash_attention(q, k, v, exp2, to_operand, wrong=""):
    """Computes one tile of 64 to 128 keys, as FlashAttention 2's forward kernel does."""
    scale = F(np.float64(F(1 / np.sqrt(q.shape[1]))) * np.log2(np.e))
    scores = tensor_core(q, k.T)
    most = (scores.max(1, keepdims=True) * scale).astype(F)
    if wrong == "scaled and subtracted at once":
        p = exp2(fma(scores, scale, -most.astype(WIDE)))
    else:
        p = exp2((scores * scale).astype(F) - most)
    # Lane l of four adds columns 8 n + 2 l and 8 n + 2 l + 1.
    lanes = np.zeros((len(p), 4), F)
    for column in range(p.shape[1]):
        lane = column % 8 // 2
        lanes[:, lane] += p[:, column]
    pairs = lanes + lanes[:, [2, 3, 0, 1]]
    total = pairs + pairs[:, [1, 0, 3, 2]]
    weights = p / total[:, :1] if wrong == "divided before" else p
    out = tensor_core(to_operand(weights), v)
    return out if wrong == "divided before" else out * (F(1) / total[:, :1])


def to_bfloat16(x):
    bits = np.ascontiguousarray(x, F).view(np.uint32).astype(np.uint64)
    return ((bits + 0x7fff + ((bits >> 16) & 1)) >> 16 << 16).astype(np.uint32).view(F)


ROUND = {"float32": lambda x: x, "bfloat16": to_bfloat16,
         "float16": lambda x: x.astype(np.float16).astype(F)}


def main(path, table):
    failed = 0
    with h5py.File(path) as file:
        cases = file["cases"]
        with h5py.File(table) as steps:
            exp2 = Exp2(steps["steps"][...])

        def report(name, differ, of, right):
            nonlocal failed
            good = differ == 0 if right else differ > 0
            failed += not good
            print(f"{'ok  ' if good else 'FAIL'} {name}: {differ} of {of} differ")

        def compare(case, dtype, producer, attention, wrongs):
            q, k, v = (case[f"inputs/{n}"][...].astype(F) for n in "qkv")
            recorded = case[f"outputs/{producer}"][...].astype(F)
            for wrong in ("",) + wrongs:
                differ = 0
                for at in np.ndindex(q.shape[:2]):
                    out = ROUND[dtype](attention(q[at], k[at], v[at], wrong))
                    differ += int((out != recorded[at]).sum())
                name = case.name.split("/cases/")[1]
                report(f"{name} {producer}" + (f", {wrong}" if wrong else ""), differ,
                       recorded.size, not wrong)

        for dtype in ("float32", "bfloat16", "float16"):
            for shape, case in cases[f"attention/{dtype}"].items():
                wide = dtype == "float32"
                compare(case, dtype, "math", lambda q, k, v, wrong:
                        math_attention(q, k, v, exp2, wrong),
                        ("scaled after", "correctly rounded exp", "other butterflies")
                        if wide else ())
                if not wide:
                    compare(case, dtype, "flash", lambda q, k, v, wrong:
                            flash_attention(q, k, v, exp2, ROUND[dtype], wrong),
                            ("divided before",) if dtype == "bfloat16" else
                            ("divided before", "scaled and subtracted at once"))
                x = cases[f"exp/{dtype}/{shape}/inputs/x"][...]
                e = cases[f"exp/{dtype}/{shape}/outputs/math"][...]
                report(f"exp/{dtype}/{shape}", int((exp2.exp(x) != e).sum()), x.size, True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2]))
