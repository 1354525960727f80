"""Times checks of products by row sums on a CUDA device, beside a copy and the product itself.

    python3 benchmarks/cuda/checksums.py [SIZE ...]

Prints for bfloat16 products SIZE^3 the time of the product, of a copy that moves as many bytes as A, B and C have, and of
the checks with and without kept sums of B, in shares of both. Each time is the best of several runs of 20 calls
that are started one after the other without waiting. Calls check different products, as training does.
"""
import itertools
import sys
import time

import assay
import torch
from assay import _core
from assay._device import load_compiler
from assay._guard import described

# Thresholds, and the machine whose sums they expect; None is float32 in any order.
CHECKS = (("rounding_variance,groups=0", None), ("rounding_variance,groups=0", "hopper"), ("v_abft", None), ("a_abft", None))


PRODUCTS = 4  # which are checked in turn


def best_us(function, calls=20, runs=5):
    function()
    best = float("inf")
    for _ in range(runs):
        torch.cuda.synchronize()
        begin = time.perf_counter()
        for _ in range(calls):
            function()
        torch.cuda.synchronize()
        best = min(best, (time.perf_counter() - begin) / calls)
    return 1e6 * best


def main():
    load_compiler()
    sizes = [int(word) for word in sys.argv[1:]] or [4096, 8192]
    print(f"{torch.cuda.get_device_name()}, PyTorch {torch.__version__}, assay {assay.__version__}")
    for size in sizes:
        torch.manual_seed(1)
        many = [torch.randn(size, size, device="cuda", dtype=torch.bfloat16) for _ in range(PRODUCTS)]
        weight = torch.randn(size, size, device="cuda", dtype=torch.bfloat16)
        for what, b in (("B", weight), ("B transposed", weight.t())):
            products = itertools.cycle([(a, a @ b) for a in many])
            a, c = next(products)
            product = best_us(lambda: torch.mm(a, b, out=c))
            large = torch.empty(2**30, device="cuda", dtype=torch.int16)
            other = torch.empty_like(large)
            per_byte = best_us(lambda: other.copy_(large)) / (2 * large.nbytes)
            del large, other
            moved, kept_moved = 3 * a.nbytes * per_byte, 2 * a.nbytes * per_byte
            print(f"{size}^3, {what}: product {product:.1f} us; moving A, B, C {moved:.1f} us, A and C {kept_moved:.1f} us")
            for threshold, machine in CHECKS:
                stream = torch.cuda.current_stream().cuda_stream
                checksum = _core.device_checksum(0, stream, described(a), described(b), described(c), threshold=threshold,
                                                 machine=machine)
                findings = _core.DeviceFindings(0, stream, 1)
                kept = checksum.weights(b.data_ptr())

                def check(weights=None):
                    a, c = next(products)
                    checksum.start(a.data_ptr(), weights or checksum.weights(b.data_ptr()), c.data_ptr(), 1, findings, 0)
                whole, cached = best_us(check), best_us(lambda: check(kept))
                for name, us, bound in (("whole", whole, moved), ("kept sums of B", cached, kept_moved)):
                    print(f"  {threshold.split(',')[0]:<17} {machine or '':<6} {name:<15} {us:8.1f} us  {us / product:6.1%} of the product  "
                          f"{us / (1.3 * bound + 20):5.2f} of the goal (1.3 x {bound:.1f} + 20 us)")
                assert findings.fetch()[0]["flagged"] == 0


main()
