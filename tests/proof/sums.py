"""Float32 sums in the orders that right kernels use. Each addition is one float32 operation of numpy."""
import numpy as np


def sequential(terms):
    """Adds along the last axis one by one (numpy's accumulate keeps every partial sum, so it cannot regroup)."""
    return np.add.accumulate(terms, axis=-1, dtype=np.float32)[..., -1]


def pairwise(terms):
    """Adds neighbours, then neighbours of the sums, until one is left."""
    while terms.shape[-1] > 1:
        even = terms.shape[-1] // 2 * 2
        paired = terms[..., 0:even:2] + terms[..., 1:even:2]
        terms = paired if even == terms.shape[-1] else np.concatenate([paired, terms[..., even:]], axis=-1)
    return terms[..., 0]


def parts(terms, count=4):
    """Adds each of `count` consecutive parts one by one, then their sums one by one."""
    sums = [sequential(part) for part in np.array_split(terms, count, axis=-1) if part.shape[-1]]
    return sequential(np.stack(sums, axis=-1))


def blocks(terms, size=128):
    """Adds blocks of `size` elements pairwise, then the sums of the blocks one by one."""
    cuts = range(size, terms.shape[-1], size)
    return sequential(np.stack([pairwise(part) for part in np.split(terms, cuts, axis=-1)], axis=-1))


def matmul_orders(a, b, rng):
    """Returns {order: float32 product} in six orders. Products of float16, bfloat16 and float8 operands are exact
    in float32, those of float32 operands are rounded once (BLAS may fuse them)."""
    a, b = np.asarray(a, np.float32), np.asarray(b, np.float32)
    terms = a[:, None, :] * np.swapaxes(b, 0, 1)[None, :, :]
    order = rng.permutation(a.shape[1])
    return {
        "ascending": sequential(terms),
        "reversed": sequential(terms[..., ::-1]),
        "permuted": sequential(terms[..., order]),
        "pairwise": pairwise(terms),
        "four_parts": parts(terms),
        "blas": np.matmul(a, b),
    }
