"""The Triton kernels of record_kernels.py: a product by tl.dot, and a product in which each block
of 128 k is scaled and added in float32."""
import triton
import triton.language as tl


@triton.jit
def product(a, b, c, k, am, ak, bk, bn, cm, cn, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr,
            INTEGERS: tl.constexpr):
    rows = tl.program_id(0) * M + tl.arange(0, M)
    columns = tl.program_id(1) * N + tl.arange(0, N)
    depth = tl.arange(0, K)
    total = tl.zeros((M, N), dtype=tl.int32 if INTEGERS else tl.float32)
    for first in range(0, k, K):
        x = tl.load(a + rows[:, None] * am + (first + depth)[None, :] * ak)
        y = tl.load(b + (first + depth)[:, None] * bk + columns[None, :] * bn)
        total = tl.dot(x, y, total, out_dtype=tl.int32 if INTEGERS else tl.float32)
    tl.store(c + rows[:, None] * cm + columns[None, :] * cn, total)


@triton.jit
def block_scaled(a, b, c, scale_a, scale_b, k, am, ak, bk, bn, cm, cn, sam, sak, sbk, sbn,
                 M: tl.constexpr, N: tl.constexpr, K: tl.constexpr, SCALES_FIRST: tl.constexpr):
    """Computes a b with scales for each block of 128 k. The scales of a are indexed by row and block of k, those of b
    by block of k and block of 128 columns."""
    rows = tl.program_id(0) * M + tl.arange(0, M)
    columns = tl.program_id(1) * N + tl.arange(0, N)
    depth = tl.arange(0, K)
    total = tl.zeros((M, N), dtype=tl.float32)
    for first in range(0, k, K):
        x = tl.load(a + rows[:, None] * am + (first + depth)[None, :] * ak)
        y = tl.load(b + (first + depth)[:, None] * bk + columns[None, :] * bn)
        block = first // 128
        of_a = tl.load(scale_a + rows * sam + block * sak)
        of_b = tl.load(scale_b + block * sbk + columns // 128 * sbn)
        if SCALES_FIRST:
            total += tl.dot(x, y) * (of_a[:, None] * of_b[None, :])
        else:
            total += tl.dot(x, y) * of_a[:, None] * of_b[None, :]
    tl.store(c + rows[:, None] * cm + columns[None, :] * cn, total)
