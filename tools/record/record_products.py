#!/usr/bin/env python3
"""Records the results of a GPU's tensor cores as a dataset file. It has single matrix instructions
on inputs that determine how they add (dot), and products through PyTorch's libraries (matmul).

    PYTHONPATH=build/release/python python3 tools/record/record_products.py --machine hopper --out products.h5
    assay emulate products.h5 --machine hopper --verify

Needs PyTorch with a GPU, and nvcc for the single instructions. Without nvcc these are left
out, with a message.
"""
import argparse
import ctypes
import os
import shutil
import subprocess
import sys
import tempfile

import numpy as np

# For each name of an instruction: its kind in mma.cu, its k (the products that it adds), and the bytes of an element.
INSTRUCTIONS = {
    "float16": (0, 16, 2), "bfloat16": (1, 16, 2), "tfloat32": (2, 8, 4),
    "float8_e4m3fn": (3, 32, 1), "float8_e5m2": (4, 32, 1), "int8": (5, 32, 1),
    "float16_accumulator": (6, 16, 2),
}
# For each format: the number of exponent bits, the number of mantissa bits, and the exponent's bias.
FIELDS = {"float16": (5, 10, 15), "bfloat16": (8, 7, 127), "tfloat32": (8, 10, 127),
          "float8_e4m3fn": (4, 3, 7), "float8_e5m2": (5, 2, 15)}


class Codes:
    """Makes bit patterns of one format from signs, exponent fields and mantissas."""

    def __init__(self, name, rng):
        self.name, self.rng = name, rng
        self.exponent_bits, self.mantissa_bits, self.bias = FIELDS[name]
        self.low = 13 if name == "tfloat32" else 0  # the number of unused bits below the mantissa
        self.dtype = {1: np.uint8, 2: np.uint16, 4: np.uint32}[INSTRUCTIONS[name][2]]

    def make(self, sign, field, mantissa):
        bits = (np.asarray(sign, np.uint64) << (self.exponent_bits + self.mantissa_bits) |
                np.asarray(field, np.uint64) << self.mantissa_bits | np.asarray(mantissa, np.uint64))
        return (bits << np.uint64(self.low)).astype(self.dtype)

    def signs(self, shape):
        return self.rng.integers(0, 2, shape)

    def mantissas(self, shape):
        return self.rng.integers(0, 1 << self.mantissa_bits, shape)

    def around(self, shape, low, high):
        """Returns random signs and mantissas, with exponents in [low, high] as far as the format
        has them."""
        top = (1 << self.exponent_bits) - 2
        field = self.rng.integers(low, high + 1, shape) + self.bias
        return self.make(self.signs(shape), np.clip(field, 1, top), self.mantissas(shape))

    def subnormal(self, shape):
        return self.make(self.signs(shape), 0, self.mantissas(shape))

    def power(self, shape, exponent, sign=0):
        return self.make(np.full(shape, sign), np.clip(exponent + self.bias, 1, None), 0)

    def zero(self, shape, sign=0):
        return self.make(np.full(shape, sign), 0, 0)

    def infinity(self, sign=0):
        return self.make(sign, (1 << self.exponent_bits) - 1, 0)

    def nan(self):
        return self.make(0, (1 << self.exponent_bits) - 1, (1 << self.mantissa_bits) - 1)


def float_bits(values, name):
    return values.astype(np.float16).view(np.uint16) if name == "float16" else \
        values.astype(np.float32).view(np.uint32)


def families(name, n, k, c_name, rng):
    """Yields families of inputs as tuples: the family's name, the bits of a [n, k], of b [n, k] and of c [n], and
    the purpose of the family."""
    codes = Codes(name, rng)
    ones = codes.power((n, k), 0)
    top = (1 << codes.exponent_bits) - 2 - codes.bias
    bottom = 1 - codes.bias
    c_zero = float_bits(np.zeros(n), c_name)
    c_normal = float_bits(rng.standard_normal(n), c_name)
    yield ("normal", codes.around((n, k), -2, 1), codes.around((n, k), -2, 1), c_normal,
           "random values of like size, a random C")
    spread = min(12, top - 1)
    yield ("wide", codes.around((n, k), -spread, spread), codes.around((n, k), -spread, spread),
           float_bits(np.ldexp(rng.standard_normal(n), rng.integers(-8, 9, n)), c_name),
           "exponents spread widely: what alignment cuts off shows")
    # Two products cancel exactly: the second one is the negative of the first.
    a, b = codes.around((n, k), -spread, -1), codes.around((n, k), -2, 1)
    a[:, 1], b[:, 1] = a[:, 0] ^ (1 << (codes.exponent_bits + codes.mantissa_bits + codes.low)), b[:, 0]
    yield ("cancelling", a, b, c_zero, "two products cancel exactly, smaller ones remain")
    yield ("subnormal", codes.subnormal((n, k)), codes.around((n, k), 0, 1), c_zero,
           "subnormal factors")
    yield ("subnormal_both", codes.subnormal((n, k)), codes.subnormal((n, k)), c_zero,
           "subnormal times subnormal")
    if c_name == "float32":
        tiny = np.ldexp(rng.standard_normal(n), rng.integers(-150, -120, n))
        yield ("subnormal_c", codes.around((n, k), bottom, bottom + 3),
               codes.around((n, k), bottom, bottom + 3), float_bits(tiny, c_name),
               "a C near and below the smallest normal float32")
        yield ("c_alone", codes.zero((n, k)), codes.zero((n, k)), float_bits(tiny, c_name),
               "zero products and a tiny C")
        if codes.exponent_bits == 8:
            exponents = rng.integers(-76, -55, n)
            a = codes.around((n, k), 0, 0)
            field = exponents[:, None] + rng.integers(0, 4, (n, k)) + codes.bias
            a = codes.make(codes.signs((n, k)), field, codes.mantissas((n, k)))
            b = codes.make(codes.signs((n, k)), field, codes.mantissas((n, k)))
            yield ("tiny", a, b, c_zero, "products from 2^-152 to 2^-104: is emax floored?")
            yield ("tiny_and_c", a, b, float_bits(np.ldexp(rng.standard_normal(n), -130), c_name),
                   "the same with a C of 2^-130")
            # The two products of a row are 2047 2^(2e) and 2^(2e). Their sum is 2^(2e + 11), unless the unit aligns
            # products to an emax that has a floor far above them.
            e = rng.integers(-86, -70, n)
            a, b = codes.zero((n, k)), codes.zero((n, k))
            field = lambda exponent: (exponent + codes.bias).astype(np.uint64)
            shift = codes.mantissa_bits
            a[:, 0] = codes.make(0, field(e + 4), (23 - 16) << (shift - 4))   # 23 2^e
            b[:, 0] = codes.make(0, field(e + 6), (89 - 64) << (shift - 6))   # 89 2^e
            a[:, 1] = b[:, 1] = codes.make(0, field(e), 0)
            yield ("emax_floor", a, b, c_zero, "(2047 + 1) 2^(2e) around 2^-150")
            yield ("overflow", codes.around((n, k), 62, 63), codes.around((n, k), 62, 63),
                   float_bits(np.ldexp(rng.standard_normal(n), 126), c_name),
                   "sums beyond float32's largest value")
    else:
        yield ("overflow", codes.around((n, k), 5, 8), codes.around((n, k), 5, 8), c_normal,
               "sums beyond float16's largest value")
    minus = codes.zero((n, k), 1)
    c_minus = float_bits(np.full(n, -0.0), c_name)
    yield ("minus_zero", minus, ones, c_minus, "every term -0")
    mixed = minus.copy()
    mixed[::2, 0] = codes.zero((), 0)
    yield ("mixed_zero", mixed, ones, c_minus, "-0 and +0")
    a = ones.copy()
    a[:, 1::2] = codes.power((), 0, 1)
    yield ("cancels_to_zero", a, ones, c_minus, "1 - 1 + ...: the sign of an exact zero")
    # Special values, one or two in each row.
    a, b = codes.around((n, k), -2, 1), codes.around((n, k), -2, 1)
    specials = [codes.nan()] + ([] if name == "float8_e4m3fn" else [codes.infinity(0), codes.infinity(1)])
    for i in range(n):
        a[i, rng.integers(k)] = specials[i % len(specials)]
        if i % 4 == 1:
            a[i, rng.integers(k)] = specials[(i // 4) % len(specials)]
        if i % 4 == 2:
            b[i, :] = codes.zero(())
    c = c_normal.copy()
    c[::8] = float_bits(np.full(len(c[::8]), np.inf), c_name)
    c[4::8] = float_bits(np.full(len(c[4::8]), -np.inf), c_name)
    c[6::16] = float_bits(np.full(len(c[6::16]), np.nan), c_name)
    yield ("specials", a, b, c, "NaN, infinities, infinity times zero")


def as_float16(bits, name):
    """Returns the float16 bit patterns of float8 values. The conversion is exact."""
    if name == "float8_e5m2":
        return bits.astype(np.uint16) << 8
    sign, field, mantissa = bits >> 7, (bits >> 3) & 15, bits & 7
    value = np.where(field == 0, mantissa * 2.0 ** -9, (8 + mantissa) * 2.0 ** (field.astype(float) - 10))
    value = np.where((field == 15) & (mantissa == 7), np.nan, value)
    return np.where(sign == 1, -value, value).astype(np.float16).view(np.uint16)


def build(directory):
    nvcc = shutil.which("nvcc") or "/usr/local/cuda/bin/nvcc"
    if not os.path.exists(nvcc):
        print("record_products: no nvcc here: single instructions are left out", file=sys.stderr)
        return None
    import torch
    major, minor = torch.cuda.get_device_capability()
    library = os.path.join(directory, "libmma.so")
    subprocess.run([nvcc, f"-arch=sm_{major}{minor}", "-std=c++17", "-shared", "-Xcompiler", "-fPIC",
                    "-o", library, os.path.join(os.path.dirname(os.path.abspath(__file__)), "mma.cu")],
                   check=True)
    return ctypes.CDLL(library)


def instruct(library, kind, a, b, c):
    """Runs n dots of one instruction: a, b [n, k], c [n]. n is a multiple of 8."""
    import torch
    n = len(a)
    tiles = n // 8
    rows = np.zeros((tiles, 16, 32), np.uint8)
    rows[:, :8] = a.view(np.uint8).reshape(tiles, 8, 32)
    columns = b.view(np.uint8).reshape(tiles, 8, 32)
    start = np.zeros((tiles, 16, 8), c.dtype)
    at = np.arange(8)
    start[:, at, at] = c.reshape(tiles, 8)
    device = [torch.from_numpy(np.ascontiguousarray(x).view(np.uint8)).cuda()
              for x in (rows, columns, start)]
    pointers = [ctypes.c_void_p(t.data_ptr()) for t in device]
    code = library.assay_mma(kind, *pointers, tiles)
    if code != 0:
        raise RuntimeError(f"the kernel failed with CUDA error {code}")
    out = device[2].cpu().numpy().view(c.dtype).reshape(tiles, 16, 8)
    return out[:, at, at].reshape(n).copy()


def dots(library, machine, producer, n, seed):
    from assay import Case, Tensor
    for name, (kind, k, _) in INSTRUCTIONS.items():
        rng = np.random.default_rng([seed, kind])
        if name == "int8":
            a, b = (rng.integers(-128, 128, (n, k)).astype(np.int8) for _ in "ab")
            c = rng.integers(-2**31, 2**31, n).astype(np.int32)
            c[::4] = 2**31 - 1 - rng.integers(0, 1 << 18, len(c[::4]))
            c[2::4] = -2**31 + rng.integers(0, 1 << 18, len(c[2::4]))
            yield Case("mma/int8/overflow", op="dot",
                       inputs={"a": Tensor.of(a, name), "b": Tensor.of(b, name),
                               "c": Tensor.of(c, "int32")},
                       recorded={producer: Tensor.of(instruct(library, kind, a, b, c), "int32")},
                       attributes={"output_dtype": "int32", "machine": machine, "seed": seed,
                                   "why": "sums beyond int32, and within it",
                                   "source": "one mma.sync instruction a result"})
            continue
        dtype = name.replace("_accumulator", "")
        c_name = "float16" if name == "float16_accumulator" else "float32"
        for family, a, b, c, why in families(dtype, n, k, c_name, rng):
            result = instruct(library, kind, a, b, c)
            promotion = {}
            if dtype.startswith("float8") and machine == "hopper":
                # Hopper has no mma.sync instruction for float8. Two float16 instructions replace it, one for the values
                # of k whose remainder by 4 is below 2 and one for the others, and their sum is added to C.
                order = [i for i in range(k) if i % 4 < 2] + [i for i in range(k) if i % 4 >= 2]
                a, b = (as_float16(x, dtype)[:, order] for x in (a, b))
                promotion = {"promotion_interval": k}
                why += "; operands as the two float16 instructions take them"
            stored = "float16" if promotion else dtype
            yield Case(f"mma/{name}/{family}", op="dot",
                       inputs={"a": Tensor.of(a, stored), "b": Tensor.of(b, stored),
                               "c": Tensor.of(c, c_name)},
                       recorded={producer: Tensor.of(result, c_name)},
                       attributes={"output_dtype": c_name, "machine": machine, "why": why,
                                   "seed": seed, "nan_payload": "any", **promotion,
                                   "source": "one mma.sync instruction a result"})


def kernels_of(call):
    """Returns the result of a call and the names of the kernels that it ran."""
    import torch
    call()
    torch.cuda.synchronize()
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) as profile:
        result = call()
        torch.cuda.synchronize()
    names = [e.key.split("(")[0].split("<")[0 if "cutlass" not in e.key else 1].strip(" >")
             for e in profile.key_averages()
             if "gemm" in e.key or "nvjet" in e.key or "splitK" in e.key]
    return result, "; ".join(names)


def products(machine, producer, seed, depths):
    import torch
    from assay import Case
    torch.manual_seed(seed)
    torch.backends.cuda.matmul.allow_tf32 = True
    torch.backends.cuda.matmul.allow_bf16_reduced_precision_reduction = False
    torch.backends.cuda.matmul.allow_fp16_reduced_precision_reduction = False

    def case(name, op_inputs, result, kernels, attributes):
        return Case(name, op="matmul", inputs={k: v.cpu() for k, v in op_inputs.items()},
                    recorded={producer: result.cpu()},
                    attributes={"machine": machine, "source": f"kernels: {kernels}", "seed": seed,
                                **attributes})
    m = n = 64
    for k in depths:
        for word, dtype in (("bf16", torch.bfloat16), ("fp16", torch.float16)):
            a, b = (torch.randn(s, device="cuda").to(dtype) for s in ((m, k), (k, n)))
            result, kernels = kernels_of(lambda: torch.mm(a, b, out_dtype=torch.float32))
            yield case(f"{word}/k{k}", {"a": a, "b": b}, result, kernels,
                       {"output_dtype": "float32"})
            bias = torch.randn(n, device="cuda").to(dtype)
            result, kernels = kernels_of(lambda: torch.addmm(bias, a, b))
            yield case(f"{word}_bias/k{k}", {"a": a, "b": b, "bias": bias}, result, kernels,
                       {"output_dtype": "bfloat16" if word == "bf16" else "float16"})
        a, b = (torch.randn(s, device="cuda") for s in ((m, k), (k, n)))
        result, kernels = kernels_of(lambda: torch.mm(a, b))
        yield case(f"tf32/k{k}", {"a": a, "b": b}, result, kernels,
                   {"output_dtype": "float32", "compute_dtype": "tfloat32"})
        one = torch.ones((), device="cuda")
        for word, dtype in (("e4m3", torch.float8_e4m3fn), ("e5m2", torch.float8_e5m2)):
            a = torch.randn((m, k), device="cuda").to(dtype)
            b = torch.randn((n, k), device="cuda").to(torch.float8_e4m3fn).t()
            for fast in (True, False):
                result, kernels = kernels_of(lambda: torch._scaled_mm(
                    a, b, scale_a=one, scale_b=one, out_dtype=torch.float32, use_fast_accum=fast))
                yield case(f"{word}_e4m3/{'fast' if fast else 'slow'}/k{k}",
                           {"a": a, "b": b.contiguous()}, result, kernels,
                           {"output_dtype": "float32", "promotion_interval": 0 if fast else 128})


def probed(path, machine, producer, device):
    """Returns the cases of a file of probes (assay probes), with the result of torch.mm for each."""
    import torch
    import assay
    from assay import Case
    if device == "npu":
        import torch_npu  # noqa: F401: the import makes the device available in PyTorch
    out = {"float32": torch.float32, "float16": torch.float16, "bfloat16": torch.bfloat16}
    with assay.open(path) as file:
        for name in file.case_names():
            case = file.read(name)
            a, b = (case.inputs[x].torch().to(device) for x in "ab")
            wanted = out[case.attributes["output_dtype"]]
            if a.element_size() == 1:
                one = torch.ones((), device=device)
                result = torch._scaled_mm(a, b.t().contiguous().t(), scale_a=one, scale_b=one,
                                          out_dtype=wanted)
            elif wanted == a.dtype or device != "cuda":
                result = torch.mm(a, b)
            else:
                result = torch.mm(a, b, out_dtype=wanted)
            attributes = {**case.attributes, "machine": machine,
                          "output_dtype": str(result.dtype).replace("torch.", "")}
            yield Case(name, op=case.op, inputs=case.inputs, recorded={producer: result.cpu()},
                       attributes=attributes)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--out", required=True, help="dataset file to write")
    parser.add_argument("--machine", default="hopper", help="whose row explains the results")
    parser.add_argument("--producer", default="h200", help="the name that the results go by")
    parser.add_argument("--dots", type=int, default=512, help="results of a family; a multiple of 8")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--depths", type=int, nargs="+", default=[16, 64, 512, 2048],
                        help="K of the library products")
    parser.add_argument("--probes", help="record the products of this file of `assay probes` alone")
    parser.add_argument("--device", choices=("cuda", "npu", "cpu"), default="cuda",
                        help="where probes are computed")
    parser.add_argument("--only", choices=("dot", "matmul"), help="only these")
    options = parser.parse_args()
    try:
        import torch
        from assay import write
    except ImportError as error:
        sys.exit(f"record_products: {error}; PyTorch and the package assay "
                 "(PYTHONPATH=build/release/python) are needed")
    if options.probes:
        write(options.out, probed(options.probes, options.machine, options.producer,
                                  options.device), compress=True,
              attributes={"description": f"Probes computed by torch.mm on {options.device}",
                          "source": f"PyTorch {torch.__version__}", "license": "own measurement"})
        print(f"written to {options.out}")
        return
    if not torch.cuda.is_available():
        sys.exit("record_products: PyTorch sees no GPU here")
    if options.dots < 8 or options.dots % 8 != 0:
        sys.exit("record_products: --dots must be a multiple of 8")

    def everything():
        with tempfile.TemporaryDirectory() as directory:
            library = build(directory) if options.only != "matmul" else None
            if library is not None:
                yield from dots(library, options.machine, options.producer, options.dots, options.seed)
            if options.only != "dot":
                for case in products(options.machine, options.producer, options.seed,
                                     options.depths):
                    print(case.name, case.attributes["source"])
                    yield case

    write(options.out, everything(), compress=True, attributes={
        "description": "What tensor cores compute: single instructions and library products",
        "source": f"measured on {torch.cuda.get_device_name()} with PyTorch {torch.__version__}",
        "license": "own measurement"})
    print(f"written to {options.out}")


if __name__ == "__main__":
    main()
