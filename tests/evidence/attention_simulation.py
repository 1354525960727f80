#!/usr/bin/env python3
"""Simulates attention in numpy, with a kernel and a check of its own. Counts the flips of each output bit
that sums over 16 columns detect, and the false alarms. Compares itself with attention_rates.inc, as
attention_evidence_test.cc does. Also prints what assay does not emulate: operands of 8 bits, weights
whose rounding is known, and the range of the outputs as the only check.

    attention_simulation.py [MATRICES]
"""

import os
import pathlib
import re
import sys

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
import numpy as np  # noqa: E402

L, S, D, W = 128, 1024, 64, 16
DELTA = 1e-9
# For each format: the precision, the smallest exponent of a normal number, and the largest finite number.
FORMATS = {"bfloat16": (8, -126, 3.3895313892515355e38), "float16": (11, -14, 65504.0),
           "float8_e4m3fn": (4, -6, 448.0), "float32": (24, -126, 3.4028234663852886e38)}


def ulp(dtype, x):
    precision, least, _ = FORMATS[dtype]
    _, exponent = np.frexp(np.abs(x))
    exponent = np.where(x == 0, least, np.maximum(exponent - 1, least))
    return np.ldexp(1.0, exponent - (precision - 1))


def rounded(dtype, x):
    """Rounds to nearest even. Values beyond the range become the largest number."""
    x = np.asarray(x, np.float64)
    unit = ulp(dtype, x)
    most = FORMATS[dtype][2]
    return np.clip(np.rint(x / unit) * unit, -most, most)


def e4m3_values():
    code = np.arange(256)
    exponent, mantissa = (code >> 3) & 15, code & 7
    size = np.where(exponent == 0, mantissa * 2.0**-9, (8 + mantissa) * 2.0 ** (exponent - 10.0))
    size[(exponent == 15) & (mantissa == 7)] = np.nan
    return np.where(code >= 128, -size, size)


E4M3 = e4m3_values()


def bits_of(dtype, x):
    if dtype == "bfloat16":
        return x.astype(np.float32).view(np.uint32) >> np.uint32(16)
    if dtype == "float16":
        return x.astype(np.float16).view(np.uint16).astype(np.uint32)
    if dtype == "float32":
        return x.astype(np.float32).view(np.uint32)
    sizes = np.searchsorted(E4M3[:127], np.abs(x)).astype(np.uint32)
    return sizes | np.where(np.signbit(x), np.uint32(128), np.uint32(0)).astype(np.uint32)


def from_bits(dtype, bits):
    with np.errstate(invalid="ignore"):
        if dtype == "bfloat16":
            return (bits << np.uint32(16)).astype(np.uint32).view(np.float32).astype(np.float64)
        if dtype == "float16":
            return bits.astype(np.uint16).view(np.float16).astype(np.float64)
        if dtype == "float32":
            return bits.astype(np.uint32).view(np.float32).astype(np.float64)
    return E4M3[bits]


def bits_in(dtype):
    return {"bfloat16": 16, "float16": 16, "float32": 32, "float8_e4m3fn": 8}[dtype]


def kernel(q, k, v, dtype, output, tile):
    """Returns attention with scores, exponentials and sums in float32, and weights in the operands' dtype."""
    s = ((q @ k.T).astype(np.float32) * np.float32(D**-0.5)).astype(np.float32)
    if tile == 0:
        e = np.exp(s - s.max(1, keepdims=True))
        p = rounded(dtype, e / e.sum(1, keepdims=True, dtype=np.float32))
        return rounded(output, (p @ v).astype(np.float32))
    most = np.full((L, 1), -np.inf, np.float32)
    total = np.zeros((L, 1), np.float32)
    out = np.zeros((L, v.shape[1]), np.float32)
    for begin in range(0, S, tile):
        part = s[:, begin:begin + tile]
        new = np.maximum(most, part.max(1, keepdims=True))
        e, factor = np.exp(part - new), np.exp(most - new)
        total = total * factor + e.sum(1, keepdims=True, dtype=np.float32)
        out = out * factor + (rounded(dtype, e) @ v[begin:begin + tile]).astype(np.float32)
        most = new
    return rounded(output, out / total)


class Check:
    """Computes D of each check, and the parts of its threshold (docs/abft.md, attention)."""

    def __init__(self, q, k, v, dtype, output, out, tile, mimic):
        groups = v.shape[1] // W
        s = (q @ k.T) * D**-0.5
        p = np.exp(s - s.max(1, keepdims=True))
        total = p.sum(1, keepdims=True)
        of_v = v.reshape(S, groups, W).sum(2)
        precision, least, _ = FORMATS[dtype]
        factor = 1.0 if tile else 1 / total
        unit = 2.0**-precision
        tiny = 2.0 ** (least - precision + 1) / factor
        error = 2.0**-24 * np.sqrt(2 * D * (s**2).max(1, keepdims=True) / 3 + 64)
        if mimic:
            # The check rounds the weights as the kernel does. An error of a score changes only few of them.
            weight = rounded(dtype, p * factor) / factor
            variance = 2 * error * p * ulp(dtype, p * factor) / factor + (error * p) ** 2
            lost = np.zeros_like(p)
        else:
            weight = p
            normal = p >= 2.0**least / factor
            variance = np.where(normal, unit**2 * p**2 / 3, np.where(p >= tiny, tiny**2 / 12, 0))
            variance = variance + (error * p) ** 2
            lost = np.where(p < tiny, np.minimum(p, tiny / 2), 0)
        self.difference = out.reshape(L, groups, W).sum(2) - weight @ of_v / total
        self.weights = variance @ of_v**2 / total**2
        self.lost = lost @ np.abs(v).reshape(S, groups, W).sum(2) / total
        self.squares = (ulp(output, out) ** 2 / 12).reshape(L, groups, W).sum(2)
        self.halves = (ulp(output, out) / 2).reshape(L, groups, W).sum(2)
        self.kappa = np.sqrt(2 * np.log(2 * L * groups / DELTA))

    def threshold(self, weights, squares, halves, lost):
        by_chance = self.kappa * np.sqrt(squares + weights)
        return np.minimum(by_chance, halves + self.kappa * np.sqrt(weights)) + lost


def trial(dtype, output, scores, values, tile, rng, mimic=False):
    """Returns the number of flags of clean checks, the number of checks, and for each bit its flips from 0 to 1: how
    many were detected, made and out of range."""
    def draw(spec, rows):
        mean = float((re.search(r"mean=([\d.]+)", spec) or [0, 0])[1])
        deviation = float((re.search(r"deviation=([\d.]+)", spec) or [0, 1])[1])
        return rounded(dtype, mean + deviation * rng.normal(size=(rows, D)))

    q, k, v = draw(scores, L), draw("normal", S), draw(values, S)
    out = kernel(q, k, v, dtype, output, tile)
    check = Check(q, k, v, dtype, output, out, tile, mimic)
    clean = check.threshold(check.weights, check.squares, check.halves, check.lost)
    flagged = int((np.abs(check.difference) > clean).sum())

    def spread(a):
        return np.repeat(a, W, axis=1)

    low, high = v.min(0) * (1 + 0.01 * np.sign(-v.min(0))), v.max(0) * (1 + 0.01 * np.sign(v.max(0)))
    bits = bits_of(output, out)
    counts = []
    for bit in range(bits_in(output)):
        zero = (bits >> np.uint32(bit)) & np.uint32(1) == 0
        value = from_bits(output, bits | np.uint32(1 << bit))
        special = ~np.isfinite(value)
        value = np.where(special, 0, value)
        before, after = ulp(output, out), ulp(output, value)
        squares = spread(check.squares) + (after**2 - before**2) / 12
        halves = spread(check.halves) + (after - before) / 2
        limit = check.threshold(spread(check.weights), squares, halves, spread(check.lost))
        seen = special | ~(np.abs(spread(check.difference) + value - out) <= limit)
        outside = special | (value < low) | (value > high)
        counts.append((int((seen & zero).sum()), int(zero.sum()), int((outside & zero).sum())))
    return flagged, clean.size, np.array(counts)


def rates(row, tile, matrices, mimic=False):
    rng = np.random.default_rng(7)
    flagged = checks = 0
    counts = 0
    for _ in range(matrices):
        f, c, n = trial(*row, tile, rng, mimic)
        flagged, checks, counts = flagged + f, checks + c, counts + n
    with np.errstate(invalid="ignore", divide="ignore"):
        percent = 100 * counts[:, 0] / counts[:, 1]
        in_range = 100 * counts[:, 2] / counts[:, 1]
    few = counts[:, 1] < 100
    percent[few], in_range[few] = np.nan, np.nan
    return flagged, checks, percent, in_range


def line(percent):
    return " ".join("   -" if np.isnan(p) else f"{p:4.0f}" for p in percent)


def table():
    text = pathlib.Path(__file__).with_name("attention_rates.inc").read_text(encoding="utf-8")
    row = re.compile(r'\{"(\w+)", "(\w+)", "([^"]+)", "([^"]+)",\s*\{([^}]*)\}\}')
    return [((m[1], m[2], m[3], m[4]), [float(x) for x in m[5].split(",")])
            for m in row.finditer(text)]


def main():
    matrices = int(sys.argv[1]) if len(sys.argv) > 1 else 24
    wrong = 0
    rows = table()
    if len(rows) < 7:
        sys.exit("attention_rates.inc has no rows that can be read")
    print("percent of flips from 0 to 1 that checks of 16 columns see, bit 0 first")
    for row, expected in rows:
        for tile in (0, 128):
            flagged, checks, percent, in_range = rates(row, tile, matrices)
            print(f"{row[0]:>13} {row[1]:>13} {row[2]:18} {row[3]:13} tile {tile:3}  {line(percent)}"
                  f"   {flagged} false alarms of {checks}")
            wrong += flagged
            for bit, (is_, should) in enumerate(zip(percent, expected)):
                if should >= 0 and not np.isnan(is_) and abs(is_ - should) > 4:
                    print(f"  bit {bit}: {is_:.1f}, and {should} in attention_rates.inc")
                    wrong += 1
        print(f"{'':51} out of range  {line(in_range)}")
    print("operands and weights of 8 bits, weights that are rounded before they are divided")
    for output in ("bfloat16", "float8_e4m3fn"):
        for scores, values in (("normal", "normal"), ("normal", "normal,mean=1"),
                               ("normal,deviation=4", "normal")):
            row = ("float8_e4m3fn", output, scores, values)
            flagged, checks, percent, _ = rates(row, 128, matrices)
            print(f"{row[0]:>13} {row[1]:>13} {row[2]:18} {row[3]:13} tile 128  {line(percent)}"
                  f"   {flagged} false alarms of {checks}")
            wrong += flagged
    print("where it is known how the weights are rounded (all of them at once)")
    for dtype in ("bfloat16", "float8_e4m3fn"):
        row = (dtype, "bfloat16", "normal", "normal")
        flagged, checks, percent, _ = rates(row, 0, matrices, mimic=True)
        print(f"{row[0]:>13} {row[1]:>13} {row[2]:18} {row[3]:13} tile   0  {line(percent)}"
              f"   {flagged} false alarms of {checks}")
    print(f"{wrong} differences" if wrong else "as attention_rates.inc says")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
