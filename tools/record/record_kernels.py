#!/usr/bin/env python3
"""Records products that PyTorch's libraries, Triton and torch.compile compute on an NVIDIA GPU, as
a dataset file for `assay identify`. For large products only a corner is kept, with the rows and
columns that it needs.

    PYTHONPATH=build/release/python python3 tools/record/record_kernels.py --out kernels.h5
    assay identify kernels.h5

    --only int8      sums of int8 beyond int32: torch._int_mm, and Triton's tl.dot
    --only scaled    torch._scaled_mm with one scale, a scale a row and a scale a block; Triton
    --only split     cuBLAS over many shapes: into which parts it divides K
    --only compiled  what torch.compile generates: casts, biases, relu

Needs PyTorch and Triton with a GPU. Functions that a version does not have are left out, with a
message.
"""
import argparse
import json
import os
import re
import sys
import tempfile
import traceback

import numpy as np


def traced(call):
    """Returns the result of a call, and each kernel that it ran with its grid."""
    import torch
    call()
    torch.cuda.synchronize()
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) as profile:
        result = call()
        torch.cuda.synchronize()
    with tempfile.TemporaryDirectory() as directory:
        path = os.path.join(directory, "trace.json")
        profile.export_chrome_trace(path)
        with open(path) as file:
            events = json.load(file)["traceEvents"]
    kernels = []
    for event in events:
        if event.get("cat") != "kernel":
            continue
        name = re.sub(r"\(.*", "", event["name"]).replace("void ", "")
        kernels.append(f"{name[:120]} grid {event['args'].get('grid')}")
    return result, "; ".join(kernels)


class Recorder:
    """Makes cases of one machine and one producer. Leaves out cases that fail, and prints a line
    for each."""

    def __init__(self, options):
        self.options = options

    def case(self, name, op, inputs, result, kernels, attributes):
        from assay import Case
        return Case(name, op=op, inputs={k: v.contiguous().cpu() for k, v in inputs.items()},
                    recorded={self.options.producer: result.contiguous().cpu()},
                    attributes={"machine": self.options.machine, "source": f"kernels: {kernels}",
                                "seed": self.options.seed, **attributes})

    def attempt(self, name, make):
        try:
            case = make()
            print(name, case.attributes["source"][:160], flush=True)
            return [case]
        # PyTorch and Triton raise many kinds of errors, for example if a version lacks this kernel.
        except Exception as error:
            lines = str(error).strip().splitlines() or [type(error).__name__]
            print(f"left out: {name}: {lines[0][:300]}", file=sys.stderr, flush=True)
            if self.options.trace:
                traceback.print_exc()
            return []


# int8

def int8_products(to):
    import torch
    rng = np.random.default_rng(to.options.seed)
    m, n, k = 24, 8, 1 << 18
    # Each row of a and each column of b repeats one number, except for 64 random numbers at its end.
    # With -128 in both, a sum is about 2^32, beyond int32. Repeated numbers take little room in a file.
    a, b = np.empty((m, k), np.int8), np.empty((n, k), np.int8)
    for x in (a, b):
        x[:] = rng.integers(-128, 128, len(x))[:, None]
        x[0] = -128
        x[:, -64:] = rng.integers(-128, 128, (len(x), 64))
    ta, tb = torch.from_numpy(a).cuda(), torch.from_numpy(b).cuda()

    def library():
        result, kernels = traced(lambda: torch._int_mm(ta, tb.t()))
        return to.case("int8/int_mm", "matmul", {"a": ta, "b": tb}, result, kernels,
                       {"transpose_b": 1, "output_dtype": "int32"})

    def triton_dot():
        rows, columns = (torch.zeros((32, k), dtype=torch.int8, device="cuda") for _ in "ab")
        rows[:m], columns[:n] = ta, tb
        result = triton_product(rows, columns.t(), torch.int32, (32, 32, 64))
        return to.case("int8/triton", "matmul", {"a": ta, "b": tb}, result[:m, :n],
                       "tl.dot of 32x32x64", {"transpose_b": 1, "output_dtype": "int32"})
    yield from to.attempt("int8/int_mm", library)
    yield from to.attempt("int8/triton", triton_dot)


def triton_product(a, b, out_dtype, tile, scale_a=None, scale_b=None, scale_first=False):
    """Computes a b by tl.dot. With scales of 1x128 blocks of a and 128x128 blocks of b, each
    block's sum is scaled and added in float32."""
    import torch
    from record_triton import block_scaled, product
    (m, k), n = a.shape, b.shape[1]
    c = torch.empty((m, n), dtype=out_dtype, device="cuda")
    bm, bn, bk = tile
    grid = (m // bm, n // bn)
    strides = (a.stride(0), a.stride(1), b.stride(0), b.stride(1), c.stride(0), c.stride(1))
    if scale_a is None:
        product[grid](a, b, c, k, *strides, bm, bn, bk, out_dtype == torch.int32)
    else:
        block_scaled[grid](a, b, c, scale_a, scale_b, k, *strides, scale_a.stride(0),
                           scale_a.stride(1), scale_b.stride(0), scale_b.stride(1), bm, bn, bk,
                           scale_first)
    torch.cuda.synchronize()
    return c


# Scaled products

def quantized(x, rows, columns, dtype, power_of_two):
    """Returns codes for x in blocks of rows by columns, and the scales that restore x. Each block
    is scaled so that its largest element is the largest number of the format."""
    import torch
    m, k = x.shape
    blocks = x.reshape(m // rows, rows, k // columns, columns)
    scale = blocks.abs().amax(dim=(1, 3), keepdim=True).float() / torch.finfo(dtype).max
    if power_of_two:
        scale = torch.exp2(torch.ceil(torch.log2(scale)))
    codes = (blocks / scale).to(dtype).reshape(m, k)
    return codes, scale.reshape(m // rows, k // columns).contiguous()


def scaled_products(to):
    import torch
    torch.manual_seed(to.options.seed)
    one_m, one_n, one_k = 128, 128, 512
    corner_m, corner_n = 16, 32
    words = {torch.float8_e4m3fn: "e4m3", torch.float8_e5m2: "e5m2",
             torch.float32: "float32", torch.bfloat16: "bfloat16"}

    def kept(name, a, b, scale_a, scale_b, result, kernels, attributes):
        """Makes a case of the corner of a product that is kept. a is [M, K] and b is [N, K]. The scales have the
        orientation of their operands."""
        return to.case(name, "scaled_matmul",
                       {"a": a[:corner_m], "b": b[:corner_n], "scale_a": scale_a, "scale_b": scale_b},
                       result[:corner_m, :corner_n], kernels,
                       {"transpose_b": 1, "output_dtype": words[result.dtype], **attributes})

    # Returns a scale in the layout that torch._scaled_mm needs. A scale for blocks of one row must be column-major.
    # In other scales, each row begins at a multiple of four elements.
    def laid(scale, rows):
        if rows == 1:
            return scale.t().contiguous().t()
        padded = torch.zeros((scale.shape[0], (scale.shape[1] + 3) // 4 * 4), device="cuda")
        padded[:, :scale.shape[1]] = scale
        return padded[:, :scale.shape[1]]

    def by_block(a_rows, b_rows, dtype, out, power):
        x, y = (torch.randn((s, one_k), device="cuda") * torch.exp2(
            torch.randint(-3, 4, (s, 1), device="cuda")) for s in (one_m, one_n))
        a, scale_a = quantized(x, a_rows, 128, dtype, power)
        b, scale_b = quantized(y, b_rows, 128, torch.float8_e4m3fn, power)
        of_a, of_b = laid(scale_a, a_rows), laid(scale_b, b_rows).t()
        result, kernels = traced(lambda: torch._scaled_mm(a, b.t(), scale_a=of_a, scale_b=of_b,
                                                          out_dtype=out, use_fast_accum=False))
        name = (f"scaled_block/{words[dtype]}/{a_rows}x128_{b_rows}x128/"
                f"{'power' if power else 'free'}/{words[out]}")
        return kept(name, a, b, scale_a[:1 if a_rows > 1 else corner_m],
                    scale_b[:1 if b_rows > 1 else corner_n], result, kernels,
                    {"a_scaling": f"{a_rows}x128", "b_scaling": f"{b_rows}x128"})
    for a_rows, b_rows in ((1, 128), (1, 1), (128, 1)):
        for dtype in (torch.float8_e4m3fn, torch.float8_e5m2):
            for out in (torch.float32, torch.bfloat16):
                for power in (False, True):
                    if out == torch.bfloat16 and (power or dtype == torch.float8_e5m2):
                        continue
                    yield from to.attempt(f"scaled_block/{words[dtype]}/{a_rows}x128_{b_rows}x128",
                                          lambda: by_block(a_rows, b_rows, dtype, out, power))

    def by_row(dtype, out, fast):
        x, y = (torch.randn((s, one_k), device="cuda") * torch.exp2(
            torch.randint(-3, 4, (s, 1), device="cuda")) for s in (one_m, one_n))
        a, scale_a = quantized(x, 1, one_k, dtype, False)
        b, scale_b = quantized(y, 1, one_k, torch.float8_e4m3fn, False)
        result, kernels = traced(lambda: torch._scaled_mm(
            a, b.t(), scale_a=scale_a, scale_b=scale_b.t(), out_dtype=out, use_fast_accum=fast))
        return kept(f"scaled_row/{words[dtype]}/{words[out]}/{'fast' if fast else 'slow'}", a, b,
                    scale_a[:corner_m, 0], scale_b[:corner_n, 0], result, kernels,
                    {"a_scaling": "row", "b_scaling": "row"})

    def by_tensor(dtype, out, fast):
        x, y = (torch.randn((s, one_k), device="cuda") for s in (one_m, one_n))
        a, scale_a = quantized(x, one_m, one_k, dtype, False)
        b, scale_b = quantized(y, one_n, one_k, torch.float8_e4m3fn, False)
        scale_a, scale_b = scale_a.reshape(()), scale_b.reshape(())
        result, kernels = traced(lambda: torch._scaled_mm(
            a, b.t(), scale_a=scale_a, scale_b=scale_b, out_dtype=out, use_fast_accum=fast))
        return kept(f"scaled_tensor/{words[dtype]}/{words[out]}/{'fast' if fast else 'slow'}", a, b,
                    scale_a, scale_b, result, kernels, {})
    for make, word in ((by_row, "row"), (by_tensor, "tensor")):
        for dtype in (torch.float8_e4m3fn, torch.float8_e5m2):
            for out in (torch.float32, torch.bfloat16):
                for fast in (True, False):
                    yield from to.attempt(f"scaled_{word}/{words[dtype]}/{out}",
                                          lambda: make(dtype, out, fast))

    def by_triton(scale_first, power):
        x, y = (torch.randn((s, one_k), device="cuda") * torch.exp2(
            torch.randint(-3, 4, (s, 1), device="cuda")) for s in (one_m, one_n))
        a, scale_a = quantized(x, 1, 128, torch.float8_e4m3fn, power)
        b, scale_b = quantized(y, 128, 128, torch.float8_e4m3fn, power)
        result = triton_product(a, b.t(), torch.float32, (64, 64, 128), scale_a, scale_b.t(),
                                scale_first)
        name = f"scaled_block/triton/{'of_scales' if scale_first else 'by_each'}"
        return kept(f"{name}/{'power' if power else 'free'}", a, b, scale_a[:corner_m], scale_b[:1],
                    result, "tl.dot of 64x64x128, scaled",
                    {"a_scaling": "1x128", "b_scaling": "128x128"})
    for scale_first in (True, False):
        for power in (False, True):
            yield from to.attempt(f"scaled_block/triton/{scale_first}/{power}",
                                  lambda: by_triton(scale_first, power))


# The parts into which cuBLAS divides K

def split_products(to):
    import torch
    torch.manual_seed(to.options.seed)
    torch.backends.cuda.matmul.allow_bf16_reduced_precision_reduction = False
    torch.backends.cuda.matmul.allow_fp16_reduced_precision_reduction = False
    corner_m, corner_n = 2, 4
    sizes = ((64, 64), (8, 512), (128, 128), (256, 256), (64, 2048), (512, 512), (1024, 1024),
             (2048, 2048))
    for word in to.options.dtypes:
        for m, n in sizes:
            for k in to.options.depths:
                # All operands have the 11 significant bits of float16, which keeps the files small.
                x, y = (torch.randn(s, device="cuda").half() for s in ((m, k), (k, n)))
                if word != "float16":
                    x, y = x.float(), y.float()
                torch.backends.cuda.matmul.allow_tf32 = word == "tf32"
                name = f"split/{word}/m{m}n{n}/k{k}"

                def make():
                    result, kernels = traced(
                        (lambda: torch.mm(x, y, out_dtype=torch.float32)) if word == "float16"
                        else (lambda: torch.mm(x, y)))
                    more = {"compute_dtype": "tfloat32"} if word == "tf32" else {}
                    return to.case(name, "matmul", {"a": x[:corner_m], "b": y[:, :corner_n]},
                                   result[:corner_m, :corner_n], kernels,
                                   {"output_dtype": "float32", **more})
                yield from to.attempt(name, make)


# torch.compile

def compiled_products(to):
    import torch
    import torch._inductor.config as inductor
    from torch._inductor.utils import run_and_get_code
    torch.manual_seed(to.options.seed)
    torch.backends.cuda.matmul.allow_bf16_reduced_precision_reduction = False
    torch.backends.cuda.matmul.allow_fp16_reduced_precision_reduction = False
    words = {torch.float16: "float16", torch.bfloat16: "bfloat16", torch.float32: "float32"}
    functions = {
        "mm": lambda a, b, bias: a @ b,
        "cast": lambda a, b, bias: (a @ b).float(),
        "bias": lambda a, b, bias: torch.addmm(bias, a, b),
        "bias_cast": lambda a, b, bias: torch.addmm(bias, a, b).float(),
        "relu_cast": lambda a, b, bias: torch.relu(a @ b).float(),
        "bias_relu": lambda a, b, bias: torch.relu(torch.addmm(bias, a, b)),
    }

    def make(name, function, dtype, m, k, n, tf32):
        torch.backends.cuda.matmul.allow_tf32 = tf32
        a, b = (torch.randn(s, device="cuda").to(dtype) for s in ((m, k), (k, n)))
        bias = torch.randn(n, device="cuda").to(dtype)
        if "relu" in function:  # The sums of these operands are not negative, so that relu does not change them.
            a, b, bias = a.abs(), b.abs(), bias.abs()
        torch._dynamo.reset()
        compiled = torch.compile(functions[function], dynamic=False,
                                 mode="max-autotune-no-cudagraphs" if inductor.max_autotune_gemm_backends == "TRITON" else None)
        result, codes = run_and_get_code(compiled, a, b, bias)
        code = "\n".join(codes)
        tile = [re.search(rf"{x}\s*:\s*tl\.constexpr = (\d+)", code)
                for x in ("BLOCK_M", "BLOCK_N", "BLOCK_K", "SPLIT_K")]
        _, kernels = traced(lambda: compiled(a, b, bias))
        kernels += "; tile " + "x".join(x.group(1) for x in tile if x is not None)
        inputs = {"a": a, "b": b, **({"bias": bias} if "bias" in function else {})}
        more = {"compute_dtype": "tfloat32"} if tf32 else {}
        return to.case(name, "matmul", inputs, result, kernels,
                       {"output_dtype": words[result.dtype], **more})
    for backends in ("TRITON", "ATEN"):
        inductor.max_autotune_gemm_backends = backends
        for function in functions:
            for dtype in (torch.float16, torch.bfloat16):
                name = f"compiled/{backends.lower()}/{function}/{words[dtype]}"
                yield from to.attempt(name, lambda: make(name, function, dtype, 32, 512, 32, False))
        for tf32 in (False, True):
            for function in ("mm", "bias"):
                name = f"compiled/{backends.lower()}/{function}/{'tf32' if tf32 else 'float32'}"
                yield from to.attempt(
                    name, lambda: make(name, function, torch.float32, 32, 512, 32, tf32))
        name = f"compiled/{backends.lower()}/deep/bfloat16"
        yield from to.attempt(name, lambda: make(name, "cast", torch.bfloat16, 16, 4096, 16, False))


FAMILIES = {"int8": int8_products, "scaled": scaled_products, "split": split_products,
            "compiled": compiled_products}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--out", required=True, help="dataset file to write")
    parser.add_argument("--machine", default="hopper", help="whose row should explain the results")
    parser.add_argument("--producer", default="h200", help="the name that the results go by")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--depths", type=int, nargs="+",
                        default=[256, 512, 1024, 1536, 2048, 3072, 4096, 5120, 8192, 12288, 16384],
                        help="K of --only split")
    parser.add_argument("--dtypes", nargs="+", choices=("float16", "tf32", "float32"),
                        default=["float16", "tf32", "float32"], help="of --only split")
    parser.add_argument("--only", choices=FAMILIES, action="append", help="only this; may be repeated")
    parser.add_argument("--trace", action="store_true", help="say where what is left out failed")
    options = parser.parse_args()
    try:
        import torch
        from assay import write
    except ImportError as error:
        sys.exit(f"record_kernels: {error}; PyTorch and the package assay "
                 "(PYTHONPATH=build/release/python) are needed")
    if not torch.cuda.is_available():
        sys.exit("record_kernels: PyTorch sees no GPU here")
    to = Recorder(options)

    def everything():
        for name in options.only or FAMILIES:
            yield from FAMILIES[name](to)
    write(options.out, everything(), compress=True, attributes={
        "description": "Products of PyTorch's libraries, Triton and torch.compile",
        "source": f"measured on {torch.cuda.get_device_name()} with PyTorch {torch.__version__}",
        "license": "own measurement"})
    print(f"written to {options.out}")


if __name__ == "__main__":
    main()
