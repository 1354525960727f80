"""Checks products of a CUDA device by row sums there and, copied, on the host, and compares what comes out.

    python3 tests/cuda/checksums.py [--short]
"""
import itertools
import math
import sys

import assay
import assay.torch
import torch

THRESHOLDS = ("rounding_variance,groups=0,confirm=0", "v_abft,confirm=0", "a_abft,confirm=0")
DTYPES = ("bfloat16", "float16", "float32")
MACHINE = "hopper"
# batch, M, K, N
SIZES = ((1, 256, 512, 384), (3, 33, 65, 47), (8, 128, 64, 128), (1, 1, 1000, 7), (1, 1024, 1024, 1024))


class Product(torch.nn.Module):
    """A model that computes one product."""

    def __init__(self):
        super().__init__()
        self.one = torch.nn.Parameter(torch.ones(1, device="cuda"))

    def forward(self, a, b, bias):
        return a @ b if bias is None else torch.addmm(bias, a, b)


class Wrong(torch.overrides.TorchFunctionMode):
    """Flips a bit in a row of each product, before the guard sees it."""

    def __init__(self, row, bit):
        super().__init__()
        self.row, self.bit = row, bit

    def __torch_function__(self, function, types, args=(), kwargs=None):
        out = function(*args, **(kwargs or {}))
        if self.bit is not None and function.__name__ in ("matmul", "__matmul__", "addmm"):
            whole = {2: torch.int16, 4: torch.int32}[out.element_size()]
            bits = out.view(whole).reshape(-1, out.shape[-1])
            bits[self.row, 0] ^= 2**self.bit
        return out


def matrices(dtype, size, transposed, mean):
    batch, m, k, n = size
    shape = () if batch == 1 else (batch,)
    made = [torch.randn(*shape, *extents, device="cuda").add(mean).to(getattr(torch, dtype))
            for extents in (((k, m), (n, k)) if transposed else ((m, k), (k, n)))]
    return [one.transpose(-1, -2) for one in made] if transposed else made


def main():
    short = "--short" in sys.argv
    torch.backends.cuda.matmul.allow_tf32 = False
    torch.backends.cuda.matmul.allow_bf16_reduced_precision_reduction = False
    torch.backends.cuda.matmul.allow_fp16_reduced_precision_reduction = False
    torch.manual_seed(1)
    compared = flagged = 0
    wrong = []
    sizes = SIZES[1:4] if short else SIZES
    for dtype, size, transposed, mean, threshold, bit in itertools.product(
            DTYPES, sizes, (False, True), (0, 1), THRESHOLDS, (None, 9, 13)):
        a, b = matrices(dtype, size, transposed, mean)
        bias = torch.randn(size[3], device="cuda").to(a.dtype) if mean and size[0] == 1 else None
        model = Product()
        with assay.torch.guard(model, threshold=threshold, machine=MACHINE) as guard:
            with Wrong(size[1] - 1, bit):
                c = model(a, b, bias)
        report = guard.report()
        host = assay.check_product(c.cpu(), a.cpu(), b.cpu(), None if bias is None else bias.cpu(),
                                   threshold=threshold, machine=MACHINE)
        name = f"{dtype} {size} transposed={transposed} mean={mean} {threshold} bit={bit}"
        if not report.products:
            wrong.append(f"{name}: not checked: {report.left_out}")
            continue
        (product,) = report.products
        compared += 1
        flagged += product.flagged > 0
        near = math.isclose(product.worst_ratio, host.worst_ratio, rel_tol=1e-4, abs_tol=1e-6)
        if (product.flagged, product.not_checkable) != (host.flagged, host.not_checkable) or not near:
            wrong.append(f"{name}: {product.flagged} flagged, largest {product.worst_ratio}; the host: {host.flagged}, "
                         f"{host.worst_ratio}")
    print(f"{torch.cuda.get_device_name()}: {compared} products, {flagged} of them flagged, {len(wrong)} differ from the host")
    for one in wrong[:20]:
        print("  " + one)
    return 1 if wrong or compared == 0 or flagged == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
