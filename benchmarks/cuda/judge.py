"""Times assay's verdicts on tensors of a CUDA device beside PyTorch's, and prints their share of a copy's bandwidth.

    python3 benchmarks/cuda/judge.py [ELEMENTS ...]

Needs the Python package assay, PyTorch and a device. Each time is the best of ten calls.
"""
import sys
import time

import assay
import torch


def best_ms(function, calls=10):
    function()
    best = float("inf")
    for _ in range(calls):
        torch.cuda.synchronize()
        begin = time.perf_counter()
        function()
        torch.cuda.synchronize()
        best = min(best, time.perf_counter() - begin)
    return 1e3 * best


def rows(count):
    torch.manual_seed(1)
    out = torch.randn(count, device="cuda", dtype=torch.bfloat16)
    near = (out.float() * (1 + 2**-9)).to(torch.bfloat16)
    same, wide = out.clone(), out.float()
    pair = 2 * out.nbytes
    yield "copy", pair, lambda: same.copy_(out)
    yield "torch.equal", pair, lambda: torch.equal(out, same)
    yield "torch.allclose", pair, lambda: torch.allclose(out, near, rtol=1.6e-2, atol=1e-5)
    yield "torch", pair, lambda: assay.assert_close(out, near, standard="torch")
    yield "ulp(2)", pair, lambda: assay.assert_close(out, near, standard="ulp(2)")
    yield "bit_equal", pair, lambda: assay.assert_close(out, same, standard="bit_equal")
    yield "default", pair, lambda: assay.assert_close(out, near)
    yield "torch, float32 golden", out.nbytes + wide.nbytes, lambda: assay.assert_close(out, wide, standard="torch")


def main():
    counts = [int(word) for word in sys.argv[1:]] or [2**26, 2**30]
    print(f"{torch.cuda.get_device_name()}, PyTorch {torch.__version__}, assay {assay.__version__}")
    for count in counts:
        bandwidth = None
        for name, size, call in rows(count):
            ms = best_ms(call)
            bandwidth = bandwidth or size / ms
            print(f"{count:>12,} bfloat16  {name:<22} {ms:8.3f} ms  {size / ms / bandwidth:5.2f} of the copy's bandwidth")


main()
