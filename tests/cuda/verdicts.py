"""Judges tensors of a CUDA device there and, copied, on the host, and compares what comes out.

    python3 tests/cuda/verdicts.py [--short]
"""
import itertools
import sys

import assay
import torch

DTYPES = ("float64", "float32", "bfloat16", "float16", "float8_e4m3fn", "float8_e5m2")
QUESTIONS = ({}, {"rtol": 1e-2, "atol": 1e-5}, {"rtol": 1e-2, "atol": 1e-3, "equal_nan": True},
             {"standard": "ulp(2)"}, {"standard": "bit_equal"}, {"standard": "torch", "equal_nan": True})


def outcome(*tensors, **question):
    """Returns "pass", or the kind of the error and the first two lines of its text."""
    try:
        assay.assert_close(*tensors, **question)
    except (AssertionError, assay.Untrusted, assay.NotComparable) as e:
        return type(e).__name__ + ": " + "\n".join(str(e).split("\n")[:2])
    return "pass"


def pairs(short):
    """Yields names and pairs of tensors: an output, and a golden result with errors of several sizes and NaN."""
    sizes = (7, 70001) if short else (1, 7, 1000, 65536, 300007)
    for dtype, golden, size, noise in itertools.product(DTYPES, (None, "float32", "float64"), sizes, (0, 1e-3, 0.3)):
        wide = torch.randn(size, device="cuda", dtype=torch.float64)
        expected = wide.to(getattr(torch, golden or dtype))
        errors = 1 + noise * (torch.rand(size, device="cuda", dtype=torch.float64) - 0.5)
        out = (expected.to(torch.float64) * errors).to(getattr(torch, dtype))
        if size == 1000:
            out[3] = expected[3] = float("nan")
        yield f"{dtype} {golden} {size} {noise}", out, expected


def messages():
    """Returns what is wrong with the messages of bad input."""
    x = torch.randn(1000, device="cuda", dtype=torch.bfloat16)
    wrong = []
    for tensors, text in (
        ((x, x), "the output is the expected result itself, in the same memory"),
        ((x, torch.zeros(3, device="cuda")), "the output's shape is [1000], the expected one is [3]"),
    ):
        said = outcome(*tensors)
        if text not in said:
            wrong.append(f"no '{text}' in: {said}")
    note = assay.compare(x, x.cpu().clone()).notes
    if not any("was copied from cuda:0" in line for line in note):
        wrong.append(f"no note about a copy in: {note}")
    return wrong


def main():
    torch.manual_seed(1)
    short = "--short" in sys.argv
    count, passes, wrong = 0, 0, messages()
    for name, out, expected in pairs(short):
        for question in QUESTIONS:
            there, here = outcome(out, expected, **question), outcome(out.cpu(), expected.cpu(), **question)
            count += 1
            passes += there == "pass"
            if there != here:
                wrong.append(f"{name} {question}: on the device: {there}\n  on the host: {here}")
    for line in wrong:
        print(line)
    print(f"{torch.cuda.get_device_name()}, PyTorch {torch.__version__}, assay {assay.__version__}: {count} verdicts, "
          f"{passes} of them passes; {len(wrong)} differ")
    sys.exit(1 if wrong or not passes else 0)


main()
