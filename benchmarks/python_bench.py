#!/usr/bin/env python3
"""Measures the overhead of the Python package (docs/performance.md):

    PYTHONPATH=build/release/python benchmarks/python_bench.py build/release/bin/judge_bench"""
import re
import subprocess
import sys
import time

import numpy as np

import assay


def best(function, count, repeats=9):
    """Returns the shortest time of a call, in seconds."""
    function()
    shortest = float("inf")
    for _ in range(repeats):
        begin = time.perf_counter()
        for _ in range(count):
            function()
        shortest = min(shortest, (time.perf_counter() - begin) / count)
    return shortest


def import_time():
    """Returns the time to import assay, without the time to import numpy."""
    script = ("import time, numpy, numpy.ma\nbegin = time.perf_counter()\nimport assay\n"
              "print(time.perf_counter() - begin)")
    return min(float(subprocess.run([sys.executable, "-c", script], check=True,
                                    stdout=subprocess.PIPE).stdout) for _ in range(9))


def main():
    print(f"import assay, beyond numpy: {1e3 * import_time():.1f} ms")
    rng = np.random.default_rng(1)
    golden = rng.standard_normal(1000)
    out = golden.astype("f4")
    for name, call in (
            ("compare", lambda: assay.compare(out, golden)),
            ("compare, metrics read", lambda: assay.compare(out, golden).metrics),
            ("assert_close, standard torch", lambda: assay.assert_close(out, golden, standard="torch")),
            ("numpy.testing.assert_allclose", lambda: np.testing.assert_allclose(out, golden, 1e-5)),
            ("numpy.allclose", lambda: np.allclose(out, golden))):
        print(f"1000 elements, {name}: {1e6 * best(call, 1000):.1f} us")
    size = 64 << 20
    golden = rng.standard_normal(size, dtype="f4")
    out = golden * np.float32(1 + 2 ** -22)
    keywords = {"rtol": 1e-5, "atol": 1e-5, "threads": 1}
    plain = best(lambda: assay.compare(out, golden, metrics=False, **keywords), 1, 5)
    print(f"64 Mi elements, one thread, compare(metrics=False): {1e3 * plain:.1f} ms")
    whole = best(lambda: assay.compare(out, golden, **keywords), 1, 3)
    print(f"the same, all metrics: {1e3 * whole:.1f} ms")
    if len(sys.argv) > 1:
        said = subprocess.run([sys.argv[1], "--benchmark_filter=^plain_verdict/"], check=True,
                              stdout=subprocess.PIPE, encoding="utf-8").stdout
        said = re.sub(r"\x1b\[[\d;]*m", "", said)
        times = re.findall(r"^plain_verdict/repeats:5/real_time +([\d.]+) ms", said, re.M)
        theirs = min(map(float, times)) / 1e3
        print(f"the same verdict in C++ (judge_bench): {1e3 * theirs:.1f} ms, "
              f"{theirs / plain:.2f} of ours")


if __name__ == "__main__":
    main()
