"""Rates of residual_compensated, computed only with numpy from its definition (docs/abft.md): bfloat16
products of 128 x 1024 x 256, summed in float32 by chunks of 16 and rounded once, checks of 16
columns. Prints a line for each of the bits 0 to 9: flips and detections from 0 to 1, then from 1 to 0.
Then prints the alarms on the clean results and the root mean square of D / sigma."""
import sys

import numpy as np

M, K, N, WIDTH, CHUNK = 128, 1024, 256, 16, 16
GROUPS = N // WIDTH
U = 2.0 ** -24
KAPPA = np.sqrt(2 * np.log(2 * 2 * M * GROUPS / 1e-9))  # each group has two checks

DRAWS = {"normal": lambda rng, shape: rng.standard_normal(shape),
         "uniform": lambda rng, shape: rng.uniform(-1, 1, shape)}


def to_bfloat16(x):
    bits = np.float32(x).view(np.uint32)
    return ((bits + (bits >> 16 & 1) + 0x7FFF) >> 16).astype(np.uint16)


def to_float(bits):
    return (bits.astype(np.uint32) << 16).view(np.float32)


def ulp(x):
    return 2.0 ** (np.floor(np.log2(np.maximum(np.abs(x), 2.0 ** -126))) - 7)


def by_groups(x):
    return x.reshape(len(x), GROUPS, WIDTH)


def matrix(draw, rng, counts):
    a, b = (to_float(to_bfloat16(draw(rng, shape))) for shape in ((M, K), (K, N)))
    a8, b8 = a.astype(np.float64), b.astype(np.float64)
    sums = np.zeros((M, N), np.float32)
    for k in range(0, K, CHUNK):
        sums = np.float32(sums.astype(np.float64) + a8[:, k:k + CHUNK] @ b8[k:k + CHUNK])
    bits = to_bfloat16(sums)
    c = to_float(bits).astype(np.float64)
    r = np.zeros((M, GROUPS), np.float32)
    for j in range(WIDTH):
        r += by_groups(sums - to_float(bits))[:, :, j]
    checksum = a8 @ by_groups(b8).sum(2)
    products = (a8 ** 2) @ by_groups(b8 ** 2).sum(2)

    def variance(squares, ulps, divisor):
        q = K / CHUNK * (squares / 3 + products.reshape(products.shape + (1,) * (squares.ndim - 2))
                         / 6)
        return U * U * (q + WIDTH ** 2 * ulps / 4) / divisor

    squares, ulps = by_groups(c ** 2).sum(2), by_groups(ulp(c) ** 2).sum(2)
    off = by_groups(c).sum(2) + r - checksum
    alarms = (np.abs(off) > KAPPA * np.sqrt(variance(squares, ulps, 3))).sum()
    for bit, count in enumerate(counts):
        flipped = bits ^ np.uint16(1 << bit)
        was = c.reshape(M, GROUPS, WIDTH)
        now = by_groups(to_float(flipped).astype(np.float64))
        with np.errstate(all="ignore"):
            after = variance(squares[:, :, None] - was ** 2 + now ** 2,
                             ulps[:, :, None] - ulp(was) ** 2 + ulp(now) ** 2, 3)
            seen = ~(np.abs(off[:, :, None] + now - was) <= KAPPA * np.sqrt(after))
        up = by_groups(bits >> bit & 1) == 0
        count += [up.sum(), (seen & up).sum(), (~up).sum(), (seen & ~up).sum()]
    return alarms, (off ** 2 / variance(squares, ulps, 5)).mean()


def main():
    draw, matrices = DRAWS[sys.argv[1]], int(sys.argv[2])
    rng = np.random.default_rng(2605)
    counts = np.zeros((10, 4), np.int64)
    results = [matrix(draw, rng, counts) for _ in range(matrices)]
    for count in counts:
        print(*count)
    print(sum(alarms for alarms, _ in results), np.sqrt(np.mean([z for _, z in results])))


if __name__ == "__main__":
    main()
