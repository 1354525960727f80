"""Exact references and textbook bounds, written without a look at assay's own.

Sums: `exact_sum` adds float64 terms with an error-free transformation (Knuth's TwoSum; Ogita, Rump and
Oishi's Sum2, SIAM J. Sci. Comput. 26, 2005). Its result is within u |s| + (n u)^2 sum |terms| of the exact
sum s, u = 2^-53, which for n <= 65,536 is less than 1e-22 sum |terms|: nothing beside errors of float32.
`check_exact_sum` compares it with math.fsum, which is correctly rounded.

Everything else is computed in longdouble (64 bits of significand) from the exact operands.

Bounds: Higham, Accuracy and Stability of Numerical Algorithms, 2nd ed., equations 3.5 and 4.6. Any order of
a float32 sum of n terms is off by at most gamma(n) sum |terms|, gamma(n) = n u / (1 - n u), u = 2^-24, and
each product or sum that is subnormal adds at most half the smallest subnormal number."""
import math

import numpy as np

U32 = 2.0**-24
TINY32 = 2.0**-150  # half the smallest subnormal number of float32


def gamma(n):
    return n * U32 / (1 - n * U32)


def exact_sum(terms, axis=-1):
    """Returns the sum of float64 terms along an axis, as if summed in twice the precision of float64."""
    terms = np.moveaxis(np.asarray(terms, np.float64), axis, 0)
    total, rest = np.zeros(terms.shape[1:]), np.zeros(terms.shape[1:])
    # Each step adds the first half of the terms to the second half, and keeps the exact rounding error of each
    # addition.
    while terms.shape[0] > 1:
        half = terms.shape[0] // 2
        a, b = terms[:half], terms[half : 2 * half]
        s = a + b
        z = s - a
        rest = rest + ((a - (s - z)) + (b - z)).sum(axis=0)
        terms = np.concatenate([s, terms[2 * half :]])
    total = terms[0] if terms.shape[0] else total
    return total + rest


def products(a, b):
    """Returns the products a[i, k] b[k, j] at [i, j, k]. They are exact in float64 for operands of at most 26 bits, and
    so for float32."""
    return np.asarray(a, np.float64)[:, None, :] * np.swapaxes(np.asarray(b, np.float64), 0, 1)[None, :, :]


def exact_matmul(a, b, bias=None):
    """Returns (c, S): the exact product rounded to float64, and S = sum |a b| + |bias|. It computes one row at a time,
    so that it needs memory for only N K numbers."""
    a, b = np.asarray(a, np.float64), np.asarray(b, np.float64)
    c = np.empty((a.shape[0], b.shape[1]))
    for i in range(a.shape[0]):
        terms = a[i][:, None] * b
        if bias is not None:
            terms = np.concatenate([terms, np.asarray(bias, np.float64)[None, :]])
        c[i] = exact_sum(terms, axis=0)
    size = np.abs(a) @ np.abs(b)
    return c, size if bias is None else size + np.abs(bias)


def matmul_bound(size, k):
    """Returns Higham's bound of a float32 inner product of k terms in any order, with a bias as one more term."""
    return gamma(k + 1) * size + (k + 1) * TINY32 * 2


def exact_softmax(x):
    """Returns softmax along the last axis, in longdouble."""
    x = np.asarray(x, np.longdouble)
    t = np.exp(x - x.max(axis=-1, keepdims=True))
    return t / t.sum(axis=-1, keepdims=True)


def exact_layernorm(x, weight=None, bias=None, eps=1e-5):
    """Returns (x - mean) / sqrt(mean (x - mean)^2 + eps) weight + bias along the last axis, in longdouble."""
    x = np.asarray(x, np.longdouble)
    d = x - x.mean(axis=-1, keepdims=True)
    # The second pass removes the rounding error of the first mean.
    d = d - d.mean(axis=-1, keepdims=True)
    y = d / np.sqrt((d * d).mean(axis=-1, keepdims=True) + np.longdouble(eps))
    y = y if weight is None else y * np.asarray(weight, np.longdouble)
    return y if bias is None else y + np.asarray(bias, np.longdouble)


def exact_rmsnorm(x, weight=None, eps=1e-6):
    """Returns x / sqrt(mean x^2 + eps) weight along the last axis, in longdouble."""
    x = np.asarray(x, np.longdouble)
    y = x / np.sqrt((x * x).mean(axis=-1, keepdims=True) + np.longdouble(eps))
    return y if weight is None else y * np.asarray(weight, np.longdouble)


def exact_attention(q, k, v, scale, causal=False):
    """Returns softmax(scale q k^T) v of one head in longdouble. If causal, query i sees only keys 0 to i."""
    scores = np.matmul(np.asarray(q, np.longdouble), np.asarray(k, np.longdouble).T) * np.longdouble(scale)
    if causal:
        scores = np.where(np.tri(*scores.shape, dtype=bool), scores, -np.longdouble(np.inf))
    return np.matmul(exact_softmax(scores), np.asarray(v, np.longdouble))


_ERFC = np.frompyfunc(math.erfc, 1, 1)
_ERF = np.frompyfunc(math.erf, 1, 1)


def erf(x):
    return np.asarray(_ERF(np.asarray(x, np.float64)), np.float64)


def exact_gelu(x, approximate="none"):
    """Returns gelu: x Phi(x) by erfc, which does not cancel, or the approximation by tanh, written as x / (1 + exp(-2
    z))."""
    x = np.asarray(x, np.float64)
    if approximate == "none":
        return 0.5 * x * np.asarray(_ERFC(-x * math.sqrt(0.5)), np.float64)
    x = x.astype(np.longdouble)
    z = np.sqrt(2 / np.longdouble(np.pi)) * (x + np.longdouble("0.044715") * x**3)
    return x / (1 + np.exp(-2 * z))


def check_exact_sum(seed=1):
    """Raises AssertionError if exact_sum and math.fsum, which is correctly rounded, differ by more than one
    float64 rounding on random terms that cancel."""
    rng = np.random.default_rng(seed)
    for n in (1, 2, 3, 7, 100, 2001):
        terms = rng.standard_normal((20, n)) * 2.0 ** rng.integers(-30, 30, (20, n))
        terms = np.concatenate([terms, -terms * (1 + 2.0**-20)], axis=1)
        for row, got in zip(terms, exact_sum(terms)):
            want = math.fsum(row)
            assert abs(got - want) <= 2.0**-52 * abs(want) + 1e-26 * np.abs(row).sum(), (n, got, want)


if __name__ == "__main__":
    check_exact_sum()
    print("exact_sum agrees with math.fsum")
