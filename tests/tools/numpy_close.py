#!/usr/bin/env python3
"""Writes pairs and NumPy's decisions about them to close.npz, in the folder that it is run in.

For each rule k, the file has:
- `rule_k`: rtol, atol, equal_nan
- `a64_k`, `e64_k` and `a32_k`, `e32_k`: float64 and float32 pairs
- `close64_k`, `close32_k`: numpy.isclose's decision for each pair
- `near32_k`: marks the pairs so near the bound that float32's rounding decides
- `blocks_a_k`, `blocks_e_k`: blocks of 64 float64 pairs
- `passes_k`: numpy.testing.assert_allclose's decision for each block

NumPy evaluates |a - e| <= atol + rtol |e| in the arrays' own dtype.
"""
import numpy as np

PAIRS = 30000
RULES = [(1e-5, 1e-8, False), (1e-7, 0.0, True), (1e-3, 1e-3, False), (0.0, 1e-6, True), (0.5, 0.0, False)]
rng = np.random.default_rng(20)


def pairs(rtol, atol, dtype):
    """Returns random pairs, pairs at the bound and around it, and all pairs of special values."""
    info = np.finfo(dtype)
    e = rng.standard_normal(PAIRS) * 10.0 ** rng.integers(-12, 12, PAIRS)
    e[: PAIRS // 20] = 0.0
    bound = atol + rtol * np.abs(e)
    # The errors are far below or above the bound, or differ from it by a few units in the last place.
    off = rng.choice([0, 0.5, 0.999, 1, 1.001, 2, 1e3], PAIRS) + rng.integers(-4, 5, PAIRS) * 1.1e-16
    a = e + bound * off * rng.choice([-1, 1], PAIRS)
    special = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, info.max, -info.max, info.tiny,
                        info.smallest_subnormal, 1.0, 1.0 + info.eps, 1 / 3])
    e = np.concatenate([e, np.repeat(special, special.size)])
    a = np.concatenate([a, np.tile(special, special.size)])
    some = rng.random(a.size)
    a[some < 0.01] = np.nan
    a[(some > 0.01) & (some < 0.02)] = np.inf
    e[(some > 0.015) & (some < 0.03)] = np.inf
    e[(some > 0.005) & (some < 0.008)] = np.nan
    with np.errstate(all="ignore"):
        return a.astype(dtype), e.astype(dtype)


def main():
    made = {"rules": np.array(len(RULES), "i4")}
    for k, (rtol, atol, equal_nan) in enumerate(RULES):
        made[f"rule_{k}"] = np.array([rtol, atol, float(equal_nan)])
        for bits in (64, 32):
            a, e = pairs(rtol, atol, f"f{bits // 8}")
            with np.errstate(all="ignore"):
                close = np.isclose(a, e, rtol=rtol, atol=atol, equal_nan=equal_nan)
                wide_a, wide_e = a.astype("f8"), e.astype("f8")
                bound = atol + rtol * np.abs(wide_e)
                near = np.abs(np.abs(wide_a - wide_e) - bound) <= 2.0 ** -22 * (np.abs(wide_a) + np.abs(wide_e) + bound)
            assert np.allclose(a, e, rtol, atol, equal_nan) == bool(close.all())
            made |= {f"a{bits}_{k}": a, f"e{bits}_{k}": e, f"close{bits}_{k}": close}
            if bits == 32:
                made[f"near32_{k}"] = near & np.isfinite(wide_a) & np.isfinite(wide_e)
                continue
            # In half of the blocks, one of the 64 pairs is not close.
            good, bad = rng.permutation(np.flatnonzero(close)), rng.permutation(np.flatnonzero(~close))
            count = min(good.size // 64, 400)
            blocks = good[: 64 * count].reshape(count, 64).copy()
            for b in range(0, count, 2):
                blocks[b, rng.integers(64)] = bad[b % bad.size]
            passes = np.empty(count, bool)
            for b in range(count):
                try:
                    with np.errstate(all="ignore"):
                        np.testing.assert_allclose(a[blocks[b]], e[blocks[b]], rtol, atol, equal_nan)
                    passes[b] = True
                except AssertionError:
                    passes[b] = False
            made |= {f"blocks_a_{k}": a[blocks], f"blocks_e_{k}": e[blocks], f"passes_{k}": passes}
    np.savez_compressed("close.npz", **made)


main()
