"""Right kernels of assay's operators in other styles: the table that honest.py tries.

Each kernel is honest: it adds in float32 or wider formats, or computes as the operator's page documents. Orders of
summation, algorithms and libraries differ on purpose, and none of them is assay's own code. A trial must not call any
of them wrong.
"""
import math

import numpy as np

try:
    import torch
    import torch.nn.functional as F
except ImportError:
    torch = F = None

KERNELS = {}  # by name, in the order of this file


class Kernel:
    """One row of the table.

    name      the function's name
    op        the operator
    style     the algorithm, in a few words
    dtypes    dtypes of the inputs
    function  the kernel
    options   other options of assay.trial
    uses_torch   the function takes tensors of PyTorch
    """

    def __init__(self, function, op, style, dtypes, uses_torch, options):
        self.name, self.op, self.style, self.function = function.__name__, op, style, function
        self.dtypes, self.uses_torch = list(dtypes), uses_torch
        self.options = {"framework": "torch" if uses_torch else "numpy", **options}

    def why_not(self):
        """Returns why the kernel cannot run here, or an empty string."""
        if not self.uses_torch:
            return ""
        if torch is None:
            return "PyTorch is not installed"
        names = [*self.dtypes, self.options.get("output_dtype", "float32")]
        missing = [name for name in names if not hasattr(torch, name)]
        return f"PyTorch {torch.__version__} has no {missing[0]}" if missing else ""


def honest(op, style, dtypes="float32 float64 float16", uses_torch=False, **options):
    """Adds a function of numpy to the table."""
    def add(function):
        if function.__name__ in KERNELS:
            raise ValueError(f"two kernels are called {function.__name__}")
        KERNELS[function.__name__] = Kernel(function, op, style, dtypes.split(), uses_torch, options)
        return function
    return add


def honest_torch(op, style, dtypes="float32 float64 bfloat16 float16", **options):
    """Adds a function of PyTorch to the table."""
    return honest(op, style, dtypes, True, **options)


# Parts that several kernels share.

def wide(x):
    """Returns an array in the format of its sums: float16 is widened to float32."""
    return x.astype(np.float32) if x.dtype == np.float16 else x


def double(x):
    return x.astype(np.float64)


def wide_tensor(x):
    return x if x.dtype == torch.float64 else x.float()


def lines(x, axis):
    """Returns x with the reduced dimension last. Without an axis, x is one line."""
    return x.reshape(-1) if axis is None else np.moveaxis(x, axis, -1)


def column(vector, x, axis):
    """Returns a vector in a shape that goes along one dimension of x."""
    shape = [1] * x.ndim
    shape[axis] = -1
    return vector.reshape(shape)


def shifted(x, count):
    """Returns x in blocks of `count` elements, (..., blocks, count), with zeros at the end."""
    missing = -x.shape[-1] % count
    if missing:
        x = np.concatenate([x, np.zeros((*x.shape[:-1], missing), x.dtype)], -1)
    return x.reshape(*x.shape[:-1], x.shape[-1] // count, count)


def sum_by_halves(x):
    """Adds the upper half of the last dimension to the lower one until one element is left."""
    if x.shape[-1] == 0:
        return np.zeros(x.shape[:-1], x.dtype)
    while x.shape[-1] > 1:
        n, half = x.shape[-1], x.shape[-1] // 2
        x = np.concatenate([x[..., :half] + x[..., n - half:], x[..., half:n - half]], -1)
    return x[..., 0]


def sum_of_neighbours(x):
    """Adds neighbours of the last dimension until one element is left."""
    if x.shape[-1] == 0:
        return np.zeros(x.shape[:-1], x.dtype)
    while x.shape[-1] > 1:
        n = x.shape[-1] // 2 * 2
        x = np.concatenate([x[..., 0:n:2] + x[..., 1:n:2], x[..., n:]], -1)
    return x[..., 0]


def sum_in_order(x):
    if x.shape[-1] == 0:
        return np.zeros(x.shape[:-1], x.dtype)
    return np.add.accumulate(x, -1)[..., -1]


def sum_of_blocks(x, count=64):
    return sum_in_order(sum_in_order(shifted(x, count)))


def sum_of_lanes(x, count=8):
    """Adds elements whose numbers are equal modulo `count`, and the lanes by halves."""
    count = max(min(count, x.shape[-1]), 1)
    return sum_by_halves(sum_in_order(np.swapaxes(shifted(x, count), -1, -2)))


def kahan(terms):
    """Adds the arrays of an iterator with Kahan's compensation."""
    total = left = None
    for term in terms:
        if total is None:
            total, left = term, np.zeros_like(term)
            continue
        y = term - left
        t = total + y
        left = (t - total) - y
        left[~np.isfinite(left)] = 0  # an infinite sum needs no compensation
        total = t
    return total


def sum_by_kahan(x, count=64):
    """Adds lanes with Kahan's compensation, and the lanes in the same way."""
    if x.shape[-1] == 0:
        return np.zeros(x.shape[:-1], x.dtype)
    blocks = shifted(x, min(count, x.shape[-1]))
    lanes = kahan(blocks[..., i, :] for i in range(blocks.shape[-2]))
    return kahan(np.asarray(lanes[..., i]).reshape(lanes.shape[:-1] or (1,)) for i in range(lanes.shape[-1])).reshape(
        lanes.shape[:-1])


def sum_by_neumaier(x, count=64):
    """Adds lanes with Neumaier's compensation, whose rest is added last."""
    count = max(min(count, x.shape[-1]), 1)
    blocks = shifted(x, count)
    total = np.zeros((*x.shape[:-1], count), x.dtype)
    rest = np.zeros_like(total)
    for i in range(blocks.shape[-2]):
        term = blocks[..., i, :]
        t = total + term
        lost = np.where(np.abs(total) >= np.abs(term), (total - t) + term, (term - t) + total)
        rest = rest + np.where(np.isfinite(lost), lost, 0)
        total = t
    return sum_by_halves(total) + sum_by_halves(rest)


def largest_of(x, axis=-1):
    return np.max(x, axis, keepdims=True, initial=-np.inf)


def operands(a, b, transpose_a=False, transpose_b=False):
    return (np.swapaxes(a, -1, -2) if transpose_a else a), (np.swapaxes(b, -1, -2) if transpose_b else b)


def operand_tensors(a, b, transpose_a=False, transpose_b=False):
    return (a.transpose(-1, -2) if transpose_a else a), (b.transpose(-1, -2) if transpose_b else b)


def outer(a, b, first, last):
    """Returns the products of terms first to last of K: (..., M, N, K)."""
    return a[..., :, None, first:last] * np.swapaxes(b, -1, -2)[..., None, :, first:last]


def no_sums(a, b, dtype=None):
    shape = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    return np.zeros((*shape, a.shape[-2], b.shape[-1]), dtype or a.dtype)


# matmul

@honest("matmul", "BLAS", "float32 float64")
def matmul_blas(a, b, bias=None, transpose_a=False, transpose_b=False):
    a, b = operands(a, b, transpose_a, transpose_b)
    c = a @ b
    return c if bias is None else c + bias


@honest("matmul", "numpy's einsum in float32")
def matmul_einsum(a, b, transpose_a=False, transpose_b=False):
    x, y = operands(wide(a), wide(b), transpose_a, transpose_b)
    return np.einsum("...mk,...kn->...mn", x, y).astype(a.dtype)


@honest("matmul", "float64, then rounded", "float32 float16")
def matmul_double(a, b, bias=None, transpose_a=False, transpose_b=False):
    x, y = operands(double(a), double(b), transpose_a, transpose_b)
    c = x @ y
    return (c if bias is None else c + bias).astype(a.dtype)


@honest("matmul", "split K: parts of 64 terms, added in order")
def matmul_split_k(a, b, bias=None):
    x, y = wide(a), wide(b)
    c = no_sums(x, y)
    for k in range(0, x.shape[-1], 64):
        c = c + x[..., k:k + 64] @ y[..., k:k + 64, :]
    return (c if bias is None else c + wide(bias)).astype(a.dtype)


@honest("matmul", "split K in 4 parts, added pairwise")
def matmul_split_in_four(a, b):
    x, y = wide(a), wide(b)
    part = max(-(-x.shape[-1] // 4), 1)
    p = [x[..., i * part:(i + 1) * part] @ y[..., i * part:(i + 1) * part, :] for i in range(4)]
    return ((p[0] + p[1]) + (p[2] + p[3])).astype(a.dtype)


@honest("matmul", "outer products, from the last term to the first, 8 at a time")
def matmul_reversed(a, b):
    x, y = wide(a), wide(b)
    c = no_sums(x, y)
    for k in range((x.shape[-1] - 1) // 8 * 8, -1, -8):
        c = c + sum_in_order(outer(x, y, k, k + 8)[..., ::-1])
    return c.astype(a.dtype)


@honest("matmul", "products, added by halves")
def matmul_by_halves(a, b):
    x, y = wide(a), wide(b)
    return sum_by_halves(outer(x, y, 0, x.shape[-1])).astype(a.dtype)


@honest("matmul", "products, added by neighbours")
def matmul_of_neighbours(a, b, transpose_a=False, transpose_b=False):
    x, y = operands(wide(a), wide(b), transpose_a, transpose_b)
    return sum_of_neighbours(outer(x, y, 0, x.shape[-1])).astype(a.dtype)


@honest("matmul", "Kahan's sums in 64 lanes")
def matmul_kahan(a, b):
    x, y = wide(a), wide(b)
    return sum_by_kahan(outer(x, y, 0, x.shape[-1])).astype(a.dtype)


@honest("matmul", "tiles of 64 x 64 x 64")
def matmul_tiled(a, b, bias=None):
    x, y = wide(a), wide(b)
    c = no_sums(x, y)
    if bias is not None:
        c = c + wide(bias)
    for m in range(0, x.shape[-2], 64):
        for n in range(0, y.shape[-1], 64):
            for k in range(0, x.shape[-1], 64):
                c[..., m:m + 64, n:n + 64] += x[..., m:m + 64, k:k + 64] @ y[..., k:k + 64, n:n + 64]
    return c.astype(a.dtype)


@honest("matmul", "one row at a time")
def matmul_of_rows(a, b):
    x, y = wide(a), wide(b)
    c = no_sums(x, y)
    for m in range(x.shape[-2]):
        c[..., m, :] = (x[..., m:m + 1, :] @ y)[..., 0, :]
    return c.astype(a.dtype)


@honest("matmul", "int8 in int32", "int8")
def matmul_int8(a, b, transpose_a=False, transpose_b=False):
    a, b = operands(a.astype(np.int32), b.astype(np.int32), transpose_a, transpose_b)
    return a @ b


@honest("matmul", "int8 in float64, which is exact", "int8")
def matmul_int8_in_float64(a, b):
    return (double(a) @ double(b)).astype(np.int32)


@honest_torch("matmul", "torch.matmul", "float32 float64")
def matmul_torch(a, b, transpose_a=False, transpose_b=False):
    a, b = operand_tensors(a, b, transpose_a, transpose_b)
    return torch.matmul(a, b)


@honest_torch("matmul", "torch.matmul in float32, then rounded", "bfloat16 float16")
def matmul_torch_widened(a, b, bias=None):
    c = torch.matmul(a.float(), b.float())
    return (c if bias is None else c + bias.float()).to(a.dtype)


@honest_torch("matmul", "torch.einsum")
def matmul_torch_einsum(a, b):
    return torch.einsum("...mk,...kn->...mn", wide_tensor(a), wide_tensor(b)).to(a.dtype)


@honest_torch("matmul", "F.linear with the bias")
def matmul_torch_linear(a, b, bias=None):
    x, y = wide_tensor(a), wide_tensor(b)
    if y.dim() > 2:
        c = torch.matmul(x, y)
        return (c if bias is None else c + wide_tensor(bias)).to(a.dtype)
    return F.linear(x, y.t(), None if bias is None else wide_tensor(bias)).to(a.dtype)


@honest_torch("matmul", "a convolution with kernels of one pixel", "float32 bfloat16", ranks=(2, 2))
def matmul_torch_conv(a, b):
    x, y = wide_tensor(a), wide_tensor(b)
    if 0 in (*x.shape, *y.shape):
        return torch.matmul(x, y).to(a.dtype)
    return F.conv1d(y.unsqueeze(0), x.unsqueeze(-1))[0].to(a.dtype)


@honest_torch("matmul", "int8 in int32", "int8")
def matmul_torch_int8(a, b):
    return torch.matmul(a.int(), b.int())


# dot

@honest("dot", "numpy's einsum in float32")
def dot_einsum(a, b, c):
    return (wide(c) + np.einsum("nk,nk->n", wide(a), wide(b))).astype(c.dtype)


@honest("dot", "from c on, term by term")
def dot_in_order(a, b, c):
    return sum_in_order(np.concatenate([wide(c)[:, None], wide(a) * wide(b)], -1)).astype(c.dtype)


@honest("dot", "by halves")
def dot_by_halves(a, b, c):
    return (sum_by_halves(wide(a) * wide(b)) + wide(c)).astype(c.dtype)


@honest("dot", "Kahan's sums")
def dot_kahan(a, b, c):
    return sum_by_kahan(np.concatenate([wide(a) * wide(b), wide(c)[:, None]], -1)).astype(c.dtype)


@honest("dot", "float64, then rounded", "float32 float16")
def dot_double(a, b, c):
    return (double(c) + (double(a)[:, None, :] @ double(b)[:, :, None])[:, 0, 0]).astype(c.dtype)


@honest("dot", "int8 in int32", "int8")
def dot_int8(a, b, c):
    return c + (a.astype(np.int32) * b.astype(np.int32)).sum(-1, dtype=np.int32)


@honest_torch("dot", "torch.baddbmm in float32")
def dot_torch(a, b, c):
    x, y, z = (wide_tensor(one) for one in (a, b, c))
    return torch.baddbmm(z[:, None, None], x[:, None, :], y[:, :, None])[:, 0, 0].to(c.dtype)


# scaled_matmul, quantize and dequantize

def sides_of(scaling, across):
    rows, columns = (int(side) for side in scaling.split("x"))
    return (columns, rows) if across else (rows, columns)


def scales_by_element(scale, scaling, shape, across=False):
    """Returns the scales in a shape that goes with x. `across`: x is (K, N), and blocks are columns by K."""
    shape = tuple(shape)
    if scaling == "tensor":
        return scale.reshape((1,) * len(shape))
    if scaling == "row":
        axis = len(shape) - (2 if across else 1)
        return scale.reshape(*shape[:axis], 1, *shape[axis + 1:])
    rows, columns = sides_of(scaling, across)
    grid = scale.reshape(*shape[:-2], -(-shape[-2] // rows), -(-shape[-1] // columns))
    row, col = np.arange(shape[-2]) // rows, np.arange(shape[-1]) // columns
    return grid[..., row, :][..., col]


@honest("scaled_matmul", "float64, then rounded", "int8 float16")
def scaled_matmul_double(a, b, scale_a, scale_b, a_scaling="tensor", b_scaling="tensor", transpose_a=False,
                         transpose_b=False):
    x = double(a) * scales_by_element(double(scale_a), a_scaling, a.shape, transpose_a)
    y = double(b) * scales_by_element(double(scale_b), b_scaling, b.shape, not transpose_b)
    x, y = operands(x, y, transpose_a, transpose_b)
    return (x @ y).astype(np.float32)


@honest("scaled_matmul", "products of 128 terms, scaled and added", "int8 float16")
def scaled_matmul_by_blocks(a, b, scale_a, scale_b, a_scaling="tensor", b_scaling="tensor"):
    sa = np.broadcast_to(scales_by_element(scale_a.astype(np.float32), a_scaling, a.shape), a.shape)
    sb = np.broadcast_to(scales_by_element(scale_b.astype(np.float32), b_scaling, b.shape, True), b.shape)
    c = no_sums(a, b, np.float32)
    for k in range(0, a.shape[-1], 128):
        part = a[..., k:k + 128].astype(np.float32) @ b[..., k:k + 128, :].astype(np.float32)
        c = c + part * (sa[..., k:k + 1] * sb[..., k:k + 1, :])
    return c


@honest("scaled_matmul", "int32 sums, scaled once", "int8", parameters={"b_scaling": "row"})
def scaled_matmul_int32(a, b, scale_a, scale_b, transpose_b=False):
    x, y = operands(a.astype(np.int32), b.astype(np.int32), False, transpose_b)
    sb = scale_b.astype(np.float32).reshape(*b.shape[:-2], 1, y.shape[-1])
    return (x @ y).astype(np.float32) * (scale_a.astype(np.float32).reshape(()) * sb)


@honest("scaled_matmul", "operands scaled first, in float32", "int8 float16")
def scaled_matmul_of_scaled(a, b, scale_a, scale_b, a_scaling="tensor", b_scaling="tensor"):
    x = a.astype(np.float32) * scales_by_element(scale_a.astype(np.float32), a_scaling, a.shape)
    y = b.astype(np.float32) * scales_by_element(scale_b.astype(np.float32), b_scaling, b.shape, True)
    return x @ y


def torch_scales(scale, scaling, x, across=False):
    if scaling == "tensor":
        return scale.reshape((1,) * x.dim())
    if scaling == "row":
        axis = x.dim() - (2 if across else 1)
        return scale.reshape(*x.shape[:axis], 1, *x.shape[axis + 1:])
    rows, columns = sides_of(scaling, across)
    grid = scale.reshape(*x.shape[:-2], -(-x.shape[-2] // rows), -(-x.shape[-1] // columns))
    return grid.repeat_interleave(rows, -2)[..., :x.shape[-2], :].repeat_interleave(columns, -1)[..., :x.shape[-1]]


def scaled_in_torch(a, b, scale_a, scale_b, a_scaling="tensor", b_scaling="tensor"):
    x = a.double() * torch_scales(scale_a.double(), a_scaling, a)
    y = b.double() * torch_scales(scale_b.double(), b_scaling, b, True)
    return torch.matmul(x, y).float()


@honest_torch("scaled_matmul", "PyTorch in float64, then rounded", "int8 bfloat16")
def scaled_matmul_torch(a, b, scale_a, scale_b, a_scaling="tensor", b_scaling="tensor"):
    return scaled_in_torch(a, b, scale_a, scale_b, a_scaling, b_scaling)


@honest_torch("scaled_matmul", "PyTorch's float8 in float64, then rounded", "float8_e4m3fn float8_e5m2")
def scaled_matmul_torch_float8(a, b, scale_a, scale_b, a_scaling="tensor", b_scaling="tensor"):
    return scaled_in_torch(a, b, scale_a, scale_b, a_scaling, b_scaling)


def blocks_of(x, scaling):
    """Yields the indices of the blocks that share a scale."""
    if scaling == "tensor":
        yield ...
    elif scaling == "row":
        for row in np.ndindex(x.shape[:-1]):
            yield row
    else:
        rows, columns = sides_of(scaling, False)
        for batch in np.ndindex(x.shape[:-2]):
            for i in range(0, x.shape[-2], rows):
                for j in range(0, x.shape[-1], columns):
                    yield (*batch, slice(i, i + rows), slice(j, j + columns))


def next_power(scale):
    mantissa, exponent = np.frexp(scale)
    return np.ldexp(np.ones_like(scale), np.where(mantissa == 0.5, exponent - 1, exponent))


@honest("quantize", "block by block in float32", "float32 float16", output_dtype="int8", max_elements=4096)
def quantize_by_blocks(x, scaling="tensor", scales="free"):
    y = np.zeros(x.shape, np.int8)
    for block in blocks_of(x, scaling):
        part = x[block].astype(np.float32)
        scale = np.maximum(np.max(np.abs(part), initial=0), np.float32(1e-4)) / np.float32(127)
        y[block] = np.rint(part / (next_power(scale) if scales == "power_of_two" else scale))
    return y


@honest("quantize", "float64, all blocks at once", "float32 float16", output_dtype="int8")
def quantize_double(x, scaling="tensor", scales="free"):
    size = np.abs(double(x))
    if scaling == "tensor":
        amax = np.max(size, initial=0)
    elif scaling == "row":
        amax = np.max(size, -1, keepdims=True, initial=0)
    else:
        rows, columns = sides_of(scaling, False)
        amax = np.maximum.reduceat(size, np.arange(0, x.shape[-2], rows), -2) if x.shape[-2] else size
        amax = np.maximum.reduceat(amax, np.arange(0, x.shape[-1], columns), -1) if x.shape[-1] else amax
        amax = amax.repeat(rows, -2)[..., :x.shape[-2], :].repeat(columns, -1)[..., :x.shape[-1]]
    scale = np.maximum(amax, 1e-4) / 127
    return np.rint(double(x) / (next_power(scale) if scales == "power_of_two" else scale)).astype(np.int8)


@honest("quantize", "multiplied by the inverse of the scale", "float32 float16", output_dtype="int8", max_elements=4096)
def quantize_by_inverse(x, scaling="tensor"):
    y = np.zeros(x.shape, np.int8)
    for block in blocks_of(x, scaling):
        part = x[block].astype(np.float32)
        scale = np.maximum(np.max(np.abs(part), initial=0), np.float32(1e-4)) / np.float32(127)
        y[block] = np.rint(part * (np.float32(1) / scale))
    return y


@honest_torch("quantize", "torch.amax and torch.round", "float32 bfloat16 float16", output_dtype="int8",
              parameters={"scaling": "row"}, nonempty=True)
def quantize_torch(x):
    wider = x.float()
    return (wider / (wider.abs().amax(-1, keepdim=True).clamp(min=1e-4) / 127)).round().to(torch.int8)


@honest_torch("quantize", "PyTorch's conversion to float8", "float32 bfloat16", output_dtype="float8_e4m3fn",
              parameters={"scaling": "tensor"}, nonempty=True)
def quantize_torch_float8(x):
    wider = x.float()
    scale = wider.abs().amax().clamp(min=1e-4) / 448
    return (wider / scale).clamp(-448, 448).to(torch.float8_e4m3fn)


@honest("dequantize", "float32", "int8")
def dequantize_float32(x, scale, scaling="tensor"):
    return x.astype(np.float32) * scales_by_element(scale.astype(np.float32), scaling, x.shape)


@honest("dequantize", "float64, block by block", "int8 float16", max_elements=4096)
def dequantize_by_blocks(x, scale, scaling="tensor"):
    y = np.zeros(x.shape, np.float64)
    flat = double(scale).reshape(-1)
    for number, block in enumerate(blocks_of(x, scaling)):
        y[block] = double(x[block]) * flat[number]
    return y.astype(np.float32)


@honest_torch("dequantize", "PyTorch in float32", "int8 bfloat16 float16")
def dequantize_torch(x, scale, scaling="tensor"):
    return x.float() * torch_scales(scale.float(), scaling, x)


# deform_roi_pool

class Region:
    """The samples of one region: rows (PH, PW, gh) and columns (PH, PW, gw) of an image."""

    def __init__(self, roi, offset, height, width, scale, ratio, gamma):
        x1, y1, x2, y2 = (corner * scale - 0.5 for corner in roi[1:])
        self.image = int(roi[0])
        bin_w, bin_h = (x2 - x1) / width, (y2 - y1) / height
        gh = ratio if ratio > 0 else max(math.ceil(bin_h), 0)
        gw = ratio if ratio > 0 else max(math.ceil(bin_w), 0)
        dx, dy = (0, 0) if offset is None else (gamma * (x2 - x1) * offset[0], gamma * (y2 - y1) * offset[1])
        first_row = y1 + dy + np.arange(height)[:, None] * bin_h + np.zeros((height, width))
        first_column = x1 + dx + np.arange(width)[None, :] * bin_w + np.zeros((height, width))
        self.rows = first_row[..., None] + (np.arange(gh) + 0.5) * bin_h / max(gh, 1)
        self.columns = first_column[..., None] + (np.arange(gw) + 0.5) * bin_w / max(gw, 1)
        self.count = max(gh * gw, 1)


def regions_of(rois, offset, *parameters):
    rois, offset = rois.astype(np.float64), [None] * len(rois) if offset is None else offset.astype(np.float64)
    return [Region(roi, of, *parameters) for roi, of in zip(rois, offset)]


def hats(at, size):
    """Returns the weights of the pixels of one side for each sample: hat functions of their distance."""
    is_inside = (at >= -1) & (at <= size)
    near = np.clip(at, 0, size - 1)
    return np.maximum(1 - np.abs(near[..., None] - np.arange(size)), 0) * is_inside[..., None]


@honest("deform_roi_pool", "weights of rows times image times weights of columns", "float32 float16", max_elements=2048)
def roi_by_weights(input, rois, pooled_height, pooled_width, offset=None, spatial_scale=1.0, sampling_ratio=0, gamma=0.1):
    y = np.zeros((rois.shape[0], input.shape[1], pooled_height, pooled_width))
    for n, one in enumerate(regions_of(rois, offset, pooled_height, pooled_width, spatial_scale, sampling_ratio, gamma)):
        by_row, by_column = hats(one.rows, input.shape[2]).sum(-2), hats(one.columns, input.shape[3]).sum(-2)
        rows_of_bins = np.tensordot(by_row, double(input[one.image]), (-1, 1))  # PH, PW, C, W
        y[n] = np.einsum("ijcw,ijw->cij", rows_of_bins, by_column) / one.count
    return y.astype(input.dtype)


@honest("deform_roi_pool", "four pixels of each sample", "float32 float16", max_elements=2048)
def roi_by_pixels(input, rois, pooled_height, pooled_width, offset=None, spatial_scale=1.0, sampling_ratio=0, gamma=0.1):
    high, broad = input.shape[2:]
    y = np.zeros((rois.shape[0], input.shape[1], pooled_height, pooled_width))
    for n, one in enumerate(regions_of(rois, offset, pooled_height, pooled_width, spatial_scale, sampling_ratio, gamma)):
        row, col = np.broadcast_arrays(one.rows[..., :, None], one.columns[..., None, :])
        is_inside = (row >= -1) & (row <= high) & (col >= -1) & (col <= broad)
        row, col = np.clip(row, 0, high - 1), np.clip(col, 0, broad - 1)
        top, left = np.floor(row).astype(int), np.floor(col).astype(int)
        bottom, right = np.minimum(top + 1, high - 1), np.minimum(left + 1, broad - 1)
        down, across = row - top, col - left
        pixels = double(input[one.image])
        samples = pixels[:, top, left] * (1 - down) * (1 - across) + pixels[:, top, right] * (1 - down) * across + \
            pixels[:, bottom, left] * down * (1 - across) + pixels[:, bottom, right] * down * across
        y[n] = (samples * is_inside).sum((-1, -2)) / one.count
    return y.astype(input.dtype)


@honest_torch("deform_roi_pool", "F.grid_sample in float64", "float32 float16", max_elements=2048)
def roi_torch_grid_sample(input, rois, pooled_height, pooled_width, offset=None, spatial_scale=1.0, sampling_ratio=0,
                          gamma=0.1):
    high, broad = input.shape[2:]
    y = torch.zeros(rois.shape[0], input.shape[1], pooled_height, pooled_width, dtype=torch.float64)
    for n, one in enumerate(regions_of(rois.numpy(), None if offset is None else offset.numpy(), pooled_height,
                                       pooled_width, spatial_scale, sampling_ratio, gamma)):
        rows, columns = torch.from_numpy(one.rows), torch.from_numpy(one.columns)
        gh, gw = rows.shape[-1], columns.shape[-1]
        if gh * gw == 0:
            continue
        inside = ((rows >= -1) & (rows <= high))[..., :, None] & ((columns >= -1) & (columns <= broad))[..., None, :]
        # With align_corners, -1 and 1 are the centres of the first and the last pixel.
        grid = torch.stack([(columns * 2 / max(broad - 1, 1) - 1)[..., None, :].expand(-1, -1, gh, -1),
                            (rows * 2 / max(high - 1, 1) - 1)[..., :, None].expand(-1, -1, -1, gw)], -1)
        samples = F.grid_sample(input[one.image:one.image + 1].double(), grid.reshape(1, -1, gw, 2),
                                padding_mode="border", align_corners=True)
        samples = samples.reshape(-1, *inside.shape) * inside
        y[n] = samples.sum((-1, -2)) / one.count
    return y.to(input.dtype)


# cast

@honest("cast", "numpy's conversion", "float32 float64", output_dtype="float16")
def cast_numpy(x):
    return x.astype(np.float16)


@honest("cast", "numpy's conversion to a wider dtype", "float16", output_dtype="float32")
def cast_numpy_wider(x):
    return x.astype(np.float32)


@honest("cast", "float16 by its spacing: rint(x / spacing) spacing", "float32", output_dtype="float16")
def cast_by_spacing(x):
    wider = double(x)
    _, exponent = np.frexp(wider)
    exponent = np.maximum(exponent, -13) - 11  # of the spacing of float16 in this binade
    rounded = np.ldexp(np.rint(np.ldexp(wider, -exponent)), exponent)
    return np.where(np.abs(rounded) > 65504, np.copysign(np.inf, wider), rounded).astype(np.float16)


@honest("cast", "rint, then limited to int32", "float32 float16", output_dtype="int32")
def cast_to_int32(x):
    return np.clip(np.rint(np.nan_to_num(double(x))), -2 ** 31, 2 ** 31 - 1).astype(np.int64).astype(np.int32)


@honest_torch("cast", "PyTorch's conversion", "float32 float16", output_dtype="bfloat16")
def cast_torch(x):
    return x.to(torch.bfloat16)


@honest_torch("cast", "PyTorch's conversion to float16", "float32 bfloat16", output_dtype="float16")
def cast_torch_float16(x):
    return x.to(torch.float16)


@honest_torch("cast", "bfloat16 by integer arithmetic", "float32", output_dtype="bfloat16")
def cast_torch_by_bits(x):
    bits = x.contiguous().view(torch.int32).long() & 0xFFFFFFFF
    rounded = (bits + 0x7FFF + ((bits >> 16) & 1)) >> 16
    rounded = torch.where(torch.isnan(x), torch.full_like(rounded, 0x7FC0), rounded)
    return torch.where(rounded >= 1 << 15, rounded - (1 << 16), rounded).to(torch.int16).view(torch.bfloat16)


# add, sub, mul, div, fma, axpy

def in_chunks(function, *arrays, count=1000):
    """Computes a function of elements chunk by chunk, from the last chunk to the first."""
    arrays = np.broadcast_arrays(*arrays)
    shape, flat = arrays[0].shape, [one.reshape(-1) for one in arrays]
    y = np.empty(flat[0].shape, arrays[0].dtype)
    for i in range((y.size - 1) // count * count, -1, -count):
        y[i:i + count] = function(*(one[i:i + count] for one in flat))
    return y.reshape(shape)


@honest("add", "float64, then rounded", "float32 float16")
def add_double(a, b):
    return (double(a) + double(b)).astype(a.dtype)


@honest("add", "chunks of 1,000 elements, the last one first")
def add_in_chunks(a, b):
    return in_chunks(np.add, a, b)


@honest_torch("add", "torch.add")
def add_torch(a, b):
    return torch.add(a, b)


@honest("sub", "-b + a")
def sub_negated(a, b):
    return np.negative(b) + a


@honest_torch("sub", "torch.sub")
def sub_torch(a, b):
    return torch.sub(a, b)


@honest("mul", "chunks of 1,000 elements, the last one first")
def mul_in_chunks(a, b):
    return in_chunks(np.multiply, a, b)


@honest("mul", "numpy's einsum")
def mul_einsum(a, b):
    return np.einsum("...,...->...", a, b)


@honest_torch("mul", "torch.mul in float32, then rounded")
def mul_torch(a, b):
    return torch.mul(wide_tensor(a), wide_tensor(b)).to(a.dtype)


@honest("div", "numpy's division")
def div_numpy(a, b):
    return a / b


@honest("div", "multiplied by the inverse in float64", "float32 float16")
def div_by_inverse(a, b):
    x, y = double(a), double(b)
    # The inverse of an infinity is 0, and infinity times 0 is NaN, as the quotient of two infinities.
    return (x * (1 / y)).astype(a.dtype)


@honest_torch("div", "torch.div in float32, then rounded")
def div_torch(a, b):
    return torch.div(wide_tensor(a), wide_tensor(b)).to(a.dtype)


@honest("fma", "product, then sum", "float32 float64")
def fma_in_two_steps(a, b, c):
    return a * b + c


@honest("fma", "float64, then rounded", "float32 float16")
def fma_double(a, b, c):
    return (double(a) * double(b) + double(c)).astype(a.dtype)


@honest_torch("fma", "torch.addcmul in float32 or wider")
def fma_torch(a, b, c):
    return torch.addcmul(wide_tensor(c), wide_tensor(a), wide_tensor(b)).to(a.dtype)


@honest("axpy", "chunks of 1,000 elements", "float32 float64")
def axpy_in_chunks(a, x, y):
    return in_chunks(lambda p, q, r: p * q + r, a, x, y)


@honest("axpy", "float64, then rounded", "float32 float16")
def axpy_double(a, x, y):
    return (double(a) * double(x) + double(y)).astype(x.dtype)


@honest_torch("axpy", "torch.add of a product, in float32 or wider")
def axpy_torch(a, x, y):
    return torch.add(wide_tensor(y), wide_tensor(a) * wide_tensor(x)).to(x.dtype)


# Functions of one element

@honest("exp", "float64, then rounded", "float32 float16")
def exp_double(x):
    return np.exp(double(x)).astype(x.dtype)


@honest("exp", "2 to the power of x log2(e) in float64", "float32 float16")
def exp_by_exp2(x):
    return np.exp2(double(x) * math.log2(math.e)).astype(x.dtype)


@honest("exp", "reduced by Cody and Waite, polynomial in float32", "float32 float16")
def exp_by_polynomial(x):
    wider = wide(x)
    f = np.float32
    limited = np.nan_to_num(np.clip(wider, f(-104), f(89)))
    n = np.rint(limited * f(1.44269504088896341))
    r = (limited - n * f(0.693359375)) - n * f(-2.12194440e-4)
    p = f(1.9875691500e-4)
    for c in (1.3981999507e-3, 8.3334519073e-3, 4.1665795894e-2, 1.6666665459e-1, 5.0000001201e-1):
        p = p * r + f(c)
    y = np.ldexp((p * (r * r) + r) + f(1), n.astype(np.int32))
    return np.where(np.isnan(wider), wider, y).astype(x.dtype)


@honest("exp", "a table of 2^(i / 32) and a polynomial in float64", "float32 float16")
def exp_by_table(x):
    limited = np.nan_to_num(np.clip(double(x), -200, 200))
    n = np.rint(limited * (32 / math.log(2)))
    r = limited - n * (math.log(2) / 32)
    k = n.astype(np.int64)
    y = np.ldexp(np.exp2(np.arange(32) / 32)[k % 32] * (1 + r * (1 + r / 2 * (1 + r / 3 * (1 + r / 4)))),
                 (k // 32).astype(np.int32))
    return np.where(np.isnan(x), double(x), y).astype(x.dtype)


@honest_torch("exp", "torch.exp in float32 or wider")
def exp_torch(x):
    return torch.exp(wide_tensor(x)).to(x.dtype)


@honest("log", "float64, then rounded", "float32 float16")
def log_double(x):
    return np.log(double(x)).astype(x.dtype)


@honest("log", "exponent and the series of the inverse tanh, in float64", "float32 float16")
def log_by_series(x):
    mantissa, exponent = np.frexp(double(x))
    is_low = mantissa < math.sqrt(0.5)
    mantissa, exponent = np.where(is_low, mantissa * 2, mantissa), exponent - is_low
    s = (mantissa - 1) / (mantissa + 1)
    series = np.zeros_like(s)
    for k in range(21, 0, -2):
        series = series * (s * s) + 1 / k
    y = exponent * math.log(2) + 2 * s * series
    y = np.where(x == 0, -np.inf, np.where(x == np.inf, np.inf, np.where((x < 0) | np.isnan(x), np.nan, y)))
    return y.astype(x.dtype)


@honest("log", "the logarithm to base 2, in float64", "float32 float16")
def log_by_log2(x):
    return (np.log2(double(x)) * math.log(2)).astype(x.dtype)


@honest_torch("log", "torch.log in float32 or wider")
def log_torch(x):
    return torch.log(wide_tensor(x)).to(x.dtype)


@honest("sqrt", "Newton's steps in float64", "float32 float16")
def sqrt_by_newton(x):
    wider = double(x)
    is_plain = (wider > 0) & (wider < np.inf)
    at = np.where(is_plain, wider, 1)
    _, exponent = np.frexp(at)
    y = np.ldexp(np.ones_like(at), exponent // 2)
    for _ in range(6):
        y = 0.5 * (y + at / y)
    return np.where(is_plain, y, np.where(wider < 0, np.nan, wider)).astype(x.dtype)


@honest("sqrt", "numpy's root in float64, then rounded", "float32 float16")
def sqrt_double(x):
    return np.sqrt(double(x)).astype(x.dtype)


@honest_torch("sqrt", "torch.sqrt in float32 or wider")
def sqrt_torch(x):
    return torch.sqrt(wide_tensor(x)).to(x.dtype)


@honest("rsqrt", "1 over the root, both in float32 or wider")
def rsqrt_of_two_steps(x):
    wider = wide(x)
    return (wider.dtype.type(1) / np.sqrt(wider)).astype(x.dtype)


@honest("rsqrt", "the power -1/2 in float64", "float32 float16")
def rsqrt_by_power(x):
    y = np.power(double(x), -0.5)
    # The power of -infinity is 0, and that of -0 is infinity, but the inverse roots are NaN and -infinity.
    return np.where(x == 0, np.copysign(np.inf, x), np.where(x < 0, np.nan, y)).astype(x.dtype)


@honest_torch("rsqrt", "torch.rsqrt in float32 or wider")
def rsqrt_torch(x):
    return torch.rsqrt(wide_tensor(x)).to(x.dtype)


@honest("tanh", "float64, then rounded", "float32 float16")
def tanh_double(x):
    return np.tanh(double(x)).astype(x.dtype)


@honest("tanh", "expm1 in float64", "float32 float16")
def tanh_by_expm1(x):
    wider = double(x)
    e = np.expm1(-2 * np.abs(wider))
    return np.copysign(-e / (e + 2), wider).astype(x.dtype)


@honest_torch("tanh", "torch.tanh in float32 or wider")
def tanh_torch(x):
    return torch.tanh(wide_tensor(x)).to(x.dtype)


@honest("sigmoid", "1 / (1 + exp(-x)) in float64", "float32 float16")
def sigmoid_double(x):
    return (1 / (1 + np.exp(-double(x)))).astype(x.dtype)


@honest("sigmoid", "one formula for each sign, in float64", "float32 float16")
def sigmoid_by_sign(x):
    e = np.exp(-np.abs(double(x)))
    return np.where(x < 0, e / (1 + e), 1 / (1 + e)).astype(x.dtype)


@honest("sigmoid", "exp(-log(1 + exp(-x))) in float64", "float32 float16")
def sigmoid_by_logarithms(x):
    return np.exp(-np.logaddexp(0, -double(x))).astype(x.dtype)


@honest("sigmoid", "1 / (1 + exp(-x)) in float32 or wider")
def sigmoid_plain(x):
    wider = wide(x)
    return (wider.dtype.type(1) / (wider.dtype.type(1) + np.exp(-wider))).astype(x.dtype)


@honest_torch("sigmoid", "torch.sigmoid in float32 or wider")
def sigmoid_torch(x):
    return torch.sigmoid(wide_tensor(x)).to(x.dtype)


@honest("silu", "x / (1 + exp(-x)) in float64", "float32 float16")
def silu_double(x):
    wider = double(x)
    return (wider / (1 + np.exp(-wider))).astype(x.dtype)


@honest("silu", "x sigmoid(x) in float64", "float32 float16")
def silu_by_sigmoid(x):
    e = np.exp(-np.abs(double(x)))
    return (double(x) * np.where(x < 0, e / (1 + e), 1 / (1 + e))).astype(x.dtype)


@honest("silu", "x / (1 + exp(-x)) in float32 or wider")
def silu_plain(x):
    wider = wide(x)
    return (wider / (wider.dtype.type(1) + np.exp(-wider))).astype(x.dtype)


@honest_torch("silu", "F.silu in float32 or wider")
def silu_torch(x):
    return F.silu(wide_tensor(x)).to(x.dtype)


_erf, _erfc = np.vectorize(math.erf, otypes=[float]), np.vectorize(math.erfc, otypes=[float])


@honest("gelu", "erf of the C library, in float64", "float32 float16")
def gelu_by_erf(x):
    wider = double(x)
    return (wider * 0.5 * (1 + _erf(wider * math.sqrt(0.5)))).astype(x.dtype)


@honest("gelu", "erfc of the C library, in float64", "float32 float16")
def gelu_by_erfc(x):
    wider = double(x)
    return (wider * 0.5 * _erfc(-wider * math.sqrt(0.5))).astype(x.dtype)


@honest("gelu", "the form by tanh, written with exp, in float64", "float32 float16", parameters={"approximate": "tanh"})
def gelu_tanh_by_exp(x):
    wider = double(x)
    return (wider / (1 + np.exp(-math.sqrt(8 / math.pi) * (wider + 0.044715 * wider * wider * wider)))).astype(x.dtype)


@honest_torch("gelu", "F.gelu in float64", "float32 bfloat16 float16")
def gelu_torch(x, approximate="none"):
    return F.gelu(x.double(), approximate=approximate).to(x.dtype)


@honest_torch("gelu", "torch.erf in float32", "float32 bfloat16 float16")
def gelu_torch_by_erf(x):
    wider = x.float()
    return (wider * 0.5 * (1 + torch.erf(wider * math.sqrt(0.5)))).to(x.dtype)


# reduce_sum, reduce_mean, reduce_max

@honest("reduce_sum", "np.sum in float32 or wider")
def sum_numpy(x, axis=None):
    return wide(x).sum(axis).astype(x.dtype)


@honest("reduce_sum", "float64, then rounded", "float32 float16")
def sum_double(x, axis=None):
    return x.sum(axis, dtype=np.float64).astype(x.dtype)


@honest("reduce_sum", "one by one")
def sum_sequential(x, axis=None):
    return sum_in_order(lines(wide(x), axis)).astype(x.dtype)


@honest("reduce_sum", "one by one, from the last to the first")
def sum_reversed(x, axis=None):
    return sum_in_order(lines(wide(x), axis)[..., ::-1]).astype(x.dtype)


@honest("reduce_sum", "by halves")
def sum_halves(x, axis=None):
    return sum_by_halves(lines(wide(x), axis)).astype(x.dtype)


@honest("reduce_sum", "by neighbours")
def sum_neighbours(x, axis=None):
    return sum_of_neighbours(lines(wide(x), axis)).astype(x.dtype)


@honest("reduce_sum", "blocks of 64, one by one, and their sums one by one")
def sum_blocked(x, axis=None):
    return sum_of_blocks(lines(wide(x), axis)).astype(x.dtype)


@honest("reduce_sum", "8 lanes, added by halves")
def sum_lanes(x, axis=None):
    return sum_of_lanes(lines(wide(x), axis)).astype(x.dtype)


@honest("reduce_sum", "Kahan's sums in 64 lanes")
def sum_kahan(x, axis=None):
    return sum_by_kahan(lines(wide(x), axis)).astype(x.dtype)


@honest("reduce_sum", "Neumaier's sums in 64 lanes")
def sum_neumaier(x, axis=None):
    return sum_by_neumaier(lines(wide(x), axis)).astype(x.dtype)


# Sums of sorted terms are not here: docs/expected_error.md says that the theory of sums in any order does not cover them.
@honest("reduce_sum", "the elements of even numbers, then those of odd ones")
def sum_even_and_odd(x, axis=None):
    line = lines(wide(x), axis)
    return sum_in_order(np.concatenate([line[..., ::2], line[..., 1::2]], -1)).astype(x.dtype)


@honest("reduce_sum", "a product with ones, by BLAS", "float32 float64")
def sum_by_blas(x, axis=None):
    line = lines(x, axis)
    return line @ np.ones(line.shape[-1], x.dtype)


@honest_torch("reduce_sum", "torch.sum in float32 or wider")
def sum_torch(x, axis=None):
    wider = wide_tensor(x)
    return (wider.sum() if axis is None else wider.sum(axis)).to(x.dtype)


@honest_torch("reduce_sum", "torch.cumsum in float32 or wider")
def sum_torch_cumsum(x, axis=None):
    wider = wide_tensor(x).reshape(-1) if axis is None else wide_tensor(x).movedim(axis, -1)
    if wider.shape[-1] == 0:
        return wider.sum(-1).to(x.dtype)
    return torch.cumsum(wider, -1)[..., -1].to(x.dtype)


@honest("reduce_mean", "np.mean in float32 or wider", nonempty=True)
def mean_numpy(x, axis=None):
    return wide(x).mean(axis).astype(x.dtype)


@honest("reduce_mean", "by halves, then divided", nonempty=True)
def mean_by_halves(x, axis=None):
    line = lines(wide(x), axis)
    return (sum_by_halves(line) / line.dtype.type(line.shape[-1])).astype(x.dtype)


@honest("reduce_mean", "each element times the inverse, then added", nonempty=True)
def mean_of_scaled(x, axis=None):
    line = lines(wide(x), axis)
    return sum_by_halves(line * (line.dtype.type(1) / line.dtype.type(line.shape[-1]))).astype(x.dtype)


@honest("reduce_mean", "a running mean in 64 lanes, in float32 or wider", nonempty=True)
def mean_running(x, axis=None):
    line = lines(wide(x), axis)
    # A running mean cannot leave an infinity again, so infinities and NaN are added as they are.
    plain = line.sum(-1)
    return np.where(np.isfinite(plain), welford(line)[0], plain).astype(x.dtype)


@honest("reduce_mean", "Kahan's sums, times the inverse, in float64", "float32 float16", nonempty=True)
def mean_kahan(x, axis=None):
    line = double(lines(x, axis))
    return (sum_by_kahan(line) * (1 / line.shape[-1])).astype(x.dtype)


@honest_torch("reduce_mean", "torch.mean in float32 or wider", nonempty=True)
def mean_torch(x, axis=None):
    wider = wide_tensor(x)
    return (wider.mean() if axis is None else wider.mean(axis)).to(x.dtype)


@honest("reduce_max", "np.max", nonempty=True)
def max_numpy(x, axis=None):
    return x.max(axis)


@honest("reduce_max", "sorted", nonempty=True)
def max_sorted(x, axis=None):
    return np.sort(lines(x, axis) + x.dtype.type(0), -1)[..., -1]


@honest("reduce_max", "a tournament of halves", nonempty=True)
def max_by_halves(x, axis=None):
    line = lines(x, axis)
    while line.shape[-1] > 1:
        half = line.shape[-1] // 2
        line = np.concatenate([np.maximum(line[..., :half], line[..., -half:]), line[..., half:line.shape[-1] - half]], -1)
    return line[..., 0]


@honest("reduce_max", "the negative of the minimum", nonempty=True)
def max_by_minimum(x, axis=None):
    return -np.min(-x, axis)


@honest_torch("reduce_max", "torch.amax", nonempty=True)
def max_torch(x, axis=None):
    return x.amax() if axis is None else x.amax(axis)


# softmax

@honest("softmax", "three passes in float32 or wider")
def softmax_three_passes(x, axis=-1):
    wider = wide(x)
    e = np.exp(wider - largest_of(wider, axis))
    return (e / e.sum(axis, keepdims=True)).astype(x.dtype)


@honest("softmax", "float64, then rounded", "float32 float16")
def softmax_double(x, axis=-1):
    wider = double(x)
    e = np.exp(wider - largest_of(wider, axis))
    return (e / e.sum(axis, keepdims=True)).astype(x.dtype)


def running_softmax(line, count, exp):
    """Returns the softmax of the last dimension, with a running maximum and a running sum of blocks."""
    top = np.full((*line.shape[:-1], 1), -np.inf, line.dtype)
    total = np.zeros_like(top)
    for i in range(0, line.shape[-1], count):
        block = line[..., i:i + count]
        now = np.maximum(top, largest_of(block))
        # A row that is masked so far has the maximum -infinity and no terms.
        before = np.where(total == 0, 0, total * exp(top - now))
        empty = now == -np.inf
        terms = exp(block - np.where(empty, 0, now))
        total = before + terms.sum(-1, keepdims=True)
        top = now
    return exp(line - top) / total


@honest("softmax", "online: blocks of 32 with a running maximum and sum")
def softmax_online(x, axis=-1):
    line = np.moveaxis(wide(x), axis, -1)
    return np.moveaxis(running_softmax(line, 32, np.exp), -1, axis).astype(x.dtype)


@honest("softmax", "online in float64, one block of 1,000 after the other", "float32 float16")
def softmax_online_double(x, axis=-1):
    line = np.moveaxis(double(x), axis, -1)
    return np.moveaxis(running_softmax(line, 1000, np.exp), -1, axis).astype(x.dtype)


@honest("softmax", "2 to the power of (x - max) log2(e), in float32 or wider")
def softmax_by_wide_exp2(x, axis=-1):
    wider = wide(x)
    e = np.exp2((wider - largest_of(wider, axis)) * wider.dtype.type(math.log2(math.e)))
    return (e / e.sum(axis, keepdims=True)).astype(x.dtype)


@honest("softmax", "2 to the power of (x - max) log2(e), in float64", "float32 float16")
def softmax_by_exp2(x, axis=-1):
    wider = double(x)
    e = np.exp2((wider - largest_of(wider, axis)) * math.log2(math.e))
    return (e / e.sum(axis, keepdims=True)).astype(x.dtype)


@honest("softmax", "exp(x - log of the sum), in float64", "float32 float16")
def softmax_by_logarithm(x, axis=-1):
    wider = double(x)
    top = largest_of(wider, axis)
    return np.exp(wider - top - np.log(np.exp(wider - top).sum(axis, keepdims=True))).astype(x.dtype)


@honest("softmax", "sums one by one, times the inverse")
def softmax_by_inverse(x, axis=-1):
    line = np.moveaxis(wide(x), axis, -1)
    e = np.exp(line - largest_of(line))
    return np.moveaxis(e * (line.dtype.type(1) / sum_in_order(e)[..., None]), -1, axis).astype(x.dtype)


@honest("softmax", "sums of lanes, from the last row to the first", max_elements=4096)
def softmax_of_rows(x):
    rows = wide(x).reshape(-1, x.shape[-1]) if x.size else wide(x).reshape(0, x.shape[-1])
    y = np.empty_like(rows)
    for i in range(len(rows) - 1, -1, -1):
        e = np.exp(rows[i] - rows[i].max())
        y[i] = e / sum_of_lanes(e)
    return y.reshape(x.shape).astype(x.dtype)


@honest_torch("softmax", "torch.softmax in float64", "float32 bfloat16 float16")
def softmax_torch(x, axis=-1):
    return torch.softmax(x.double(), axis).to(x.dtype)


@honest_torch("softmax", "torch.logsumexp in float64", "float32 bfloat16 float16")
def softmax_torch_by_logsumexp(x):
    wider = x.double() - x.double().amax(-1, keepdim=True)
    return torch.exp(wider - torch.logsumexp(wider, -1, keepdim=True)).to(x.dtype)


@honest_torch("softmax", "torch.exp and torch.sum in float32 or wider")
def softmax_torch_by_steps(x, axis=-1):
    wider = wide_tensor(x)
    e = torch.exp(wider - wider.amax(axis, keepdim=True))
    return (e / e.sum(axis, keepdim=True)).to(x.dtype)


# layernorm and rmsnorm

def welford(line, count=64):
    """Returns mean, sum of squared differences and number of elements of lines, by Welford in lanes and Chan's merging."""
    n = line.shape[-1]
    count = min(count, 1 << max(n - 1, 0).bit_length())  # lanes are merged by halves
    blocks = shifted(line, count)
    mean, squares = np.zeros((*line.shape[:-1], count), line.dtype), np.zeros((*line.shape[:-1], count), line.dtype)
    counts = np.zeros(count, line.dtype)
    for i in range(blocks.shape[-2]):
        is_there = (np.arange(i * count, (i + 1) * count) < n).astype(line.dtype)
        counts = counts + is_there
        apart = (blocks[..., i, :] - mean) * is_there
        mean = mean + apart / np.maximum(counts, 1)
        squares = squares + apart * (blocks[..., i, :] - mean) * is_there
    while mean.shape[-1] > 1:
        half = mean.shape[-1] // 2
        all_of = counts[:half] + counts[half:]
        apart = mean[..., half:] - mean[..., :half]
        share = counts[half:] / np.maximum(all_of, 1)
        squares = squares[..., :half] + squares[..., half:] + apart * apart * (counts[:half] * share)
        mean, counts = mean[..., :half] + apart * share, all_of
    return mean[..., 0], squares[..., 0], counts[0]


def scaled_and_shifted(y, weight, bias, axis):
    if weight is not None:
        y = y * column(weight.astype(y.dtype), y, axis)
    return y if bias is None else y + column(bias.astype(y.dtype), y, axis)


@honest("layernorm", "two passes in float32 or wider")
def layernorm_two_passes(x, weight=None, bias=None, axis=-1, eps=1e-5):
    wider = wide(x)
    centred = wider - wider.mean(axis, keepdims=True)
    y = centred / np.sqrt(np.square(centred).mean(axis, keepdims=True) + wider.dtype.type(eps))
    return scaled_and_shifted(y, weight, bias, axis).astype(x.dtype)


@honest("layernorm", "two passes, sums by halves, times the inverse root")
def layernorm_by_halves(x, weight=None, bias=None, axis=-1, eps=1e-5):
    line = np.moveaxis(wide(x), axis, -1)
    one, n = line.dtype.type(1), line.dtype.type(line.shape[-1])
    centred = line - (sum_by_halves(line) / n)[..., None]
    y = centred * (one / np.sqrt(sum_by_halves(centred * centred) / n + line.dtype.type(eps)))[..., None]
    return np.moveaxis(scaled_and_shifted(y, weight, bias, -1), -1, axis).astype(x.dtype)


@honest("layernorm", "two passes, sums one by one, from the last to the first")
def layernorm_reversed(x, weight=None, bias=None, eps=1e-5):
    wider = wide(x)
    n = wider.dtype.type(x.shape[-1])
    centred = wider - (sum_in_order(wider[..., ::-1]) / n)[..., None]
    y = centred / np.sqrt(sum_in_order(np.square(centred)[..., ::-1]) / n + wider.dtype.type(eps))[..., None]
    return scaled_and_shifted(y, weight, bias, -1).astype(x.dtype)


@honest("layernorm", "Welford in 64 lanes, in float64", "float32 float16")
def layernorm_welford(x, weight=None, bias=None, axis=-1, eps=1e-5):
    line = np.moveaxis(double(x), axis, -1)
    mean, squares, count = welford(line)
    y = (line - mean[..., None]) / np.sqrt(squares / max(count, 1) + eps)[..., None]
    return np.moveaxis(scaled_and_shifted(y, weight, bias, -1), -1, axis).astype(x.dtype)


@honest("layernorm", "Welford in 64 lanes, in float32")
def layernorm_welford_float32(x, weight=None, bias=None, axis=-1, eps=1e-5):
    line = np.moveaxis(wide(x), axis, -1)
    mean, squares, _ = welford(line)
    one, n = line.dtype.type(1), line.dtype.type(max(line.shape[-1], 1))
    y = (line - mean[..., None]) * (one / np.sqrt(squares / n + line.dtype.type(eps)))[..., None]
    return np.moveaxis(scaled_and_shifted(y, weight, bias, -1), -1, axis).astype(x.dtype)


@honest("layernorm", "one pass over sums and squares, in float64", "float32 float16")
def layernorm_one_pass_double(x, weight=None, bias=None, eps=1e-5):
    wider = double(x)
    mean = wider.mean(-1, keepdims=True)
    variance = np.maximum(np.square(wider).mean(-1, keepdims=True) - mean * mean, 0)
    return scaled_and_shifted((wider - mean) / np.sqrt(variance + eps), weight, bias, -1).astype(x.dtype)


@honest("layernorm", "Kahan's sums in 64 lanes")
def layernorm_kahan(x, weight=None, bias=None, eps=1e-5):
    wider = wide(x)
    n = wider.dtype.type(x.shape[-1])
    centred = wider - (sum_by_kahan(wider) / n)[..., None]
    y = centred / np.sqrt(sum_by_kahan(centred * centred) / n + wider.dtype.type(eps))[..., None]
    return scaled_and_shifted(y, weight, bias, -1).astype(x.dtype)


@honest_torch("layernorm", "F.layer_norm in float32 or wider")
def layernorm_torch(x, weight=None, bias=None, eps=1e-5):
    wider = wide_tensor(x)
    return F.layer_norm(wider, x.shape[-1:], None if weight is None else wide_tensor(weight),
                        None if bias is None else wide_tensor(bias), eps).to(x.dtype)


@honest_torch("layernorm", "torch.var and torch.rsqrt in float32 or wider")
def layernorm_torch_by_steps(x, weight=None, bias=None, eps=1e-5):
    wider = wide_tensor(x)
    y = (wider - wider.mean(-1, keepdim=True)) * torch.rsqrt(wider.var(-1, unbiased=False, keepdim=True) + eps)
    y = y if weight is None else y * wide_tensor(weight)
    return (y if bias is None else y + wide_tensor(bias)).to(x.dtype)


@honest("rmsnorm", "float32 or wider")
def rmsnorm_numpy(x, weight=None, axis=-1, eps=1e-6):
    wider = wide(x)
    y = wider / np.sqrt(np.square(wider).mean(axis, keepdims=True) + wider.dtype.type(eps))
    return scaled_and_shifted(y, weight, None, axis).astype(x.dtype)


@honest("rmsnorm", "float64, then rounded", "float32 float16")
def rmsnorm_double(x, weight=None, axis=-1, eps=1e-6):
    wider = double(x)
    y = wider / np.sqrt(np.square(wider).mean(axis, keepdims=True) + eps)
    return scaled_and_shifted(y, weight, None, axis).astype(x.dtype)


@honest("rmsnorm", "a dot product of each row with itself")
def rmsnorm_einsum(x, weight=None, eps=1e-6):
    wider = wide(x)
    one, n = wider.dtype.type(1), wider.dtype.type(x.shape[-1])
    inverse = one / np.sqrt(np.einsum("...i,...i->...", wider, wider) / n + wider.dtype.type(eps))
    return scaled_and_shifted(wider * inverse[..., None], weight, None, -1).astype(x.dtype)


@honest("rmsnorm", "blocks of 64, one by one")
def rmsnorm_blocked(x, weight=None, axis=-1, eps=1e-6):
    line = np.moveaxis(wide(x), axis, -1)
    mean = sum_of_blocks(line * line) / line.dtype.type(line.shape[-1])
    y = line / np.sqrt(mean + line.dtype.type(eps))[..., None]
    return np.moveaxis(scaled_and_shifted(y, weight, None, -1), -1, axis).astype(x.dtype)


@honest("rmsnorm", "the norm of the scaled row, in float64", "float32 float16")
def rmsnorm_scaled(x, weight=None, eps=1e-6):
    wider = double(x)
    top = np.max(np.abs(wider), -1, keepdims=True, initial=0)
    top = np.where((top > 0) & (top < np.inf), top, 1)
    norm = np.linalg.norm(wider / top, axis=-1, keepdims=True) * top / math.sqrt(x.shape[-1])
    return scaled_and_shifted(wider / np.hypot(norm, math.sqrt(eps)), weight, None, -1).astype(x.dtype)


@honest_torch("rmsnorm", "torch.rsqrt in float32 or wider")
def rmsnorm_torch(x, weight=None, eps=1e-6):
    wider = wide_tensor(x)
    y = wider * torch.rsqrt(wider.pow(2).mean(-1, keepdim=True) + eps)
    return (y if weight is None else y * wide_tensor(weight)).to(x.dtype)


# attention

def scale_of(q, scale):
    return 1 / math.sqrt(q.shape[-1]) if scale is None else scale


def is_seen(rows, columns):
    return np.arange(columns)[None, :] <= np.arange(rows)[:, None]


def softmax_last(scores):
    e = np.exp(scores - largest_of(scores))
    return e / e.sum(-1, keepdims=True)


@honest("attention", "all scores at once, in float32 or wider")
def attention_plain(q, k, v, causal=False, scale=None):
    x, y, z = wide(q), wide(k), wide(v)
    scores = (x @ np.swapaxes(y, -1, -2)) * x.dtype.type(scale_of(q, scale))
    if causal:
        scores = np.where(is_seen(*scores.shape[-2:]), scores, scores.dtype.type(-np.inf))
    return (softmax_last(scores) @ z).astype(q.dtype)


@honest("attention", "float64, then rounded", "float32 float16")
def attention_double(q, k, v, causal=False, scale=None):
    scores = np.einsum("...ld,...sd->...ls", double(q), double(k)) * scale_of(q, scale)
    if causal:
        scores = np.where(is_seen(*scores.shape[-2:]), scores, -np.inf)
    return np.einsum("...ls,...se->...le", softmax_last(scores), double(v)).astype(q.dtype)


@honest("attention", "positions of queries, in float64", "float32 float16")
def attention_with_positions(q, k, v, positions=None, causal=False, scale=None):
    scores = np.einsum("...ld,...sd->...ls", double(q), double(k)) * scale_of(q, scale)
    if causal:
        last = np.arange(q.shape[-2]) if positions is None else positions
        scores = np.where(np.arange(k.shape[-2]) <= last[..., None], scores, -np.inf)
    return np.einsum("...ls,...se->...le", softmax_last(scores), double(v)).astype(q.dtype)


def attention_by_tiles(q, k, v, causal, factor, count, exp):
    """Computes attention with a running maximum and sum over tiles of keys."""
    top = np.full((*q.shape[:-1], 1), -np.inf, q.dtype)
    total, y = np.zeros_like(top), np.zeros((*q.shape[:-1], v.shape[-1]), q.dtype)
    for s in range(0, k.shape[-2], count):
        scores = (q * factor) @ np.swapaxes(k[..., s:s + count, :], -1, -2)
        if causal:
            scores = np.where(is_seen(q.shape[-2], k.shape[-2])[:, s:s + count], scores, q.dtype.type(-np.inf))
        now = np.maximum(top, largest_of(scores))
        base = np.where(now == -np.inf, q.dtype.type(0), now)
        rescale, weights = exp(top - base), exp(scores - base)
        total = total * rescale + weights.sum(-1, keepdims=True)
        y = y * rescale + weights @ v[..., s:s + count, :]
        top = now
    return y / total


@honest("attention", "tiles of 16 keys with a running maximum, as FlashAttention")
def attention_flash(q, k, v, causal=False, scale=None):
    x = wide(q)
    return attention_by_tiles(x, wide(k), wide(v), causal, x.dtype.type(scale_of(q, scale)), 16,
                              np.exp).astype(q.dtype)


@honest("attention", "tiles of 64 keys with powers of two, in float64", "float32 float16")
def attention_by_exp2(q, k, v, causal=False, scale=None):
    return attention_by_tiles(double(q), double(k), double(v), causal, scale_of(q, scale) * math.log2(math.e), 64,
                              np.exp2).astype(q.dtype)


@honest("attention", "tiles of 32 keys with powers of two in float32, as FlashAttention", "float32 float16")
def attention_flash_by_exp2(q, k, v, causal=False, scale=None):
    factor = np.float32(scale_of(q, scale) * math.log2(math.e))
    return attention_by_tiles(wide(q), wide(k), wide(v), causal, factor, 32, np.exp2).astype(q.dtype)


@honest("attention", "two halves of the keys, merged last, as flash decoding")
def attention_split(q, k, v, scale=None):
    x, y, z = wide(q), wide(k), wide(v)
    half = (k.shape[-2] + 1) // 2
    parts = []
    for keys, values in ((y[..., :half, :], z[..., :half, :]), (y[..., half:, :], z[..., half:, :])):
        scores = (x @ np.swapaxes(keys, -1, -2)) * x.dtype.type(scale_of(q, scale))
        top = largest_of(scores)
        e = np.exp(scores - np.where(top == -np.inf, x.dtype.type(0), top))
        parts.append((top, e.sum(-1, keepdims=True), e @ values))
    top = np.maximum(parts[0][0], parts[1][0])
    total = sum(s * np.exp(t - top) for t, s, _ in parts)
    return (sum(o * np.exp(t - top) for t, _, o in parts) / total).astype(q.dtype)


@honest("attention", "one query at a time, q scaled first")
def attention_of_queries(q, k, v, causal=False):
    x, y, z = wide(q) * wide(q).dtype.type(1 / math.sqrt(q.shape[-1])), wide(k), wide(v)
    o = np.empty((*x.shape[:-1], z.shape[-1]), x.dtype)
    for i in range(x.shape[-2]):
        last = min(i + 1, y.shape[-2]) if causal else y.shape[-2]
        scores = np.einsum("...sd,...d->...s", y[..., :last, :], x[..., i, :])
        o[..., i, :] = np.einsum("...s,...se->...e", softmax_last(scores), z[..., :last, :])
    return o.astype(q.dtype)


@honest_torch("attention", "torch.matmul and torch.softmax in float64", "float32 bfloat16 float16")
def attention_torch(q, k, v, causal=False, scale=None):
    scores = (q.double() @ k.double().transpose(-1, -2)) * scale_of(q, scale)
    if causal:
        scores = scores.masked_fill(~torch.ones_like(scores, dtype=torch.bool).tril(), -math.inf)
    return (torch.softmax(scores, -1) @ v.double()).to(q.dtype)


@honest_torch("attention", "torch.baddbmm and torch.exp in float32 or wider")
def attention_torch_by_steps(q, k, v):
    scores = torch.einsum("...ld,...sd->...ls", wide_tensor(q) * scale_of(q, None), wide_tensor(k))
    e = torch.exp(scores - scores.amax(-1, keepdim=True))
    return (torch.matmul(e, wide_tensor(v)) / e.sum(-1, keepdim=True)).to(q.dtype)
