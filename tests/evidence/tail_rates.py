"""Detection by the best possible check of sums of rounding errors, computed only with numpy, for bfloat16
products of 128 x 1024 x 256. Each check is held to a quantile of the exact distribution of a sum of
independent errors, each uniform within half an ulp of its element. All checks of a matrix together
exceed their quantiles with probability 1e-9. The distribution is convolved by its characteristic
function, tilted by exp(s e) so that the tail is where the mass is (docs/abft.md has the approximation
that assay uses instead).

  tail_rates.py DRAW WIDTH MATRICES BIT...

Prints a line for each BIT, which must not change the exponent: flips and detections from 0 to 1, then
from 1 to 0. Then prints how many clean checks are above their quantile."""
import sys

import numpy as np

M, K, N = 128, 1024, 256
POINTS = 4096

DRAWS = {"normal": lambda rng, shape: rng.standard_normal(shape),
         "normal,mean=1": lambda rng, shape: 1 + rng.standard_normal(shape),
         "student_t,nu=2": lambda rng, shape: rng.standard_t(2, shape)}


def to_bfloat16(x):
    bits = np.float32(x).view(np.uint32)
    return ((bits + (bits >> 16 & 1) + 0x7FFF) >> 16).astype(np.uint16)


def to_float(bits):
    return (bits.astype(np.uint32) << 16).view(np.float32).astype(np.float64)


def exponent(x):
    return np.floor(np.log2(np.maximum(np.abs(x), 2.0 ** -126))).astype(int)


def cumulant(s, halves, counts):
    x = s * halves
    value = (counts * (x + np.log(-np.expm1(-2 * x) / (2 * x)))).sum()
    return value, (counts * halves * (1 / np.tanh(x) - 1 / x)).sum()


def quantile(counts, budget):
    """Returns the value that a sum of counts[i] errors, each uniform between -2^-i and 2^-i, exceeds with the
    probability `budget`."""
    halves = 2.0 ** -np.arange(len(counts))
    halves, counts = halves[counts > 0], counts[counts > 0]
    low, high = 1e-3, 1e4
    for _ in range(60):
        s = np.sqrt(low * high)
        value, mean = cumulant(s, halves, counts)
        low, high = (s, high) if s * mean - value < -np.log(budget) else (low, s)
    most = (halves * counts).sum()
    step = 2 * most / POINTS
    x = (np.arange(POINTS) - POINTS // 2) * step
    z = (s + 2j * np.pi * np.fft.fftfreq(POINTS, step))[:, None] * halves
    # Every exponential is divided by exp(Re z), because the exponentials themselves are too large.
    ratio = (np.exp(1j * z.imag) - np.exp(-z - z.real)) / z * (s * halves) / -np.expm1(
        -2 * s * halves)
    density = np.fft.fftshift(np.fft.fft(np.prod(ratio ** counts, axis=1)).real) / POINTS
    inside = x > 0
    mass = np.maximum(density[inside], 0) * np.exp(value - s * x[inside])
    tail = np.cumsum(mass[::-1])[::-1]  # the probability of all that lies above x - step / 2
    at = np.searchsorted(-tail, -budget)
    if at == 0 or at == len(tail):
        return most
    part = np.log(tail[at - 1] / budget) / np.log(tail[at - 1] / max(tail[at], 1e-300))
    return min(x[inside][at - 1] - step / 2 + part * step, most)


def thresholds(c, width, known):
    groups = exponent(c).reshape(M, -1, width)
    top = groups.max(2)
    octaves = np.minimum(top[:, :, None] - groups, 40)
    budget = 1e-9 / (2 * top.size)
    result = np.empty(top.shape)
    for i in np.ndindex(top.shape):
        counts = np.bincount(octaves[i], minlength=1)
        key = counts.tobytes()
        if key not in known:
            known[key] = quantile(counts, budget)
        result[i] = known[key] * 2.0 ** (top[i] - 8)
    return result


def main():
    draw, width, matrices = DRAWS[sys.argv[1]], int(sys.argv[2]), int(sys.argv[3])
    wanted = [int(bit) for bit in sys.argv[4:]]
    rng, known, above = np.random.default_rng(1960), {}, 0
    counts = np.zeros((len(wanted), 4), np.int64)
    for _ in range(matrices):
        a, b = (to_float(to_bfloat16(draw(rng, shape))) for shape in ((M, K), (K, N)))
        bits = to_bfloat16(a @ b)
        c = to_float(bits)
        threshold = thresholds(c, width, known)
        off = c.reshape(M, -1, width).sum(2) - a @ b.reshape(K, -1, width).sum(2)
        above += (np.abs(off) > threshold).sum()
        for count, bit in zip(counts, wanted):
            moved = (to_float(bits ^ np.uint16(1 << bit)) - c).reshape(M, -1, width)
            seen = np.abs(off[:, :, None] + moved) > threshold[:, :, None]
            up = (bits >> bit & 1).reshape(seen.shape) == 0
            count += [up.sum(), (seen & up).sum(), (~up).sum(), (seen & ~up).sum()]
    for count in counts:
        print(*count)
    print(above)


if __name__ == "__main__":
    main()
