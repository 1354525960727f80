#!/usr/bin/env python3
"""Small results that the gate judges wrongly, one for each kind that right_results.py and faults_by_gate.py found.

    PYTHONPATH=build/release/python /usr/bin/python3 tests/proof/minimal_examples.py

Prints what the gate says of each and why. The examples stay when a gap is closed: then the gate says what is right.
The exit code is 1 with --strict if the gate is wrong anywhere. (Found with assay 0.3.0 of November 2026.)"""
import os
import sys

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import assay
import numpy as np

import exact
import planted_faults
import sums
from number_formats import encode, round_to

F32 = np.float32
wrong = []


def tensor(values, dtype):
    return assay.Tensor.of(encode(values, dtype), dtype)


def show(title, right, op, inputs, golden, output, dtype, standard=None, **attributes):
    """Judges the output and prints one line. `right` says whether the result is right."""
    case = assay.Case(
        "example",
        op=op,
        inputs={name: tensor(*one) for name, one in inputs.items()},
        golden=np.asarray(golden),
        attributes={"output_dtype": dtype, **attributes},
    )
    options = {"standard": standard} if standard else {}
    report = case.judge(tensor(output, dtype), **options)
    ok = (report.outcome == "pass") if right else (report.outcome == "fail")
    if not ok:
        wrong.append(title)
    print(f"{'ok   ' if ok else 'WRONG'} {'right' if right else 'faulty'} result: {report.outcome}. {title}")
    print(f"        {report.why}")


def alarms():
    b = np.array([[2.0], [-2.0], [2.0**-14 + 2.0**-24]])
    a = np.ones((1, 3))
    terms = (a.T * b).astype(F32)[:, 0]
    out = ((terms[2] + terms[1]) + terms[0]).reshape(1, 1)
    show(
        "expected_error: a float16 product of K = 3 summed from the end; it takes the sums for exact in any order",
        True,
        "matmul",
        {"a": (a, "float16"), "b": (b, "float16")},
        exact.exact_matmul(a, b)[0],
        out,
        "float32",
        "expected_error",
    )

    rng = np.random.default_rng(3)
    x = rng.uniform(0, 1, (1, 20000)).astype(F32)
    show(
        "default: a float32 sum of 20,000 terms one by one; the bound is that of a pairwise tree",
        True,
        "reduce_sum",
        {"x": (x, "float32")},
        exact.exact_sum(x),
        sums.sequential(x),
        "float32",
        axis=-1,
    )
    x = rng.uniform(0, 1, (1, 20000)).astype(F32)
    t = np.exp(x - x.max())
    show(
        "default: softmax of 20,000 elements whose sum is added one by one",
        True,
        "softmax",
        {"x": (x, "float32")},
        exact.exact_softmax(x).astype(float),
        t / sums.sequential(t)[:, None],
        "float32",
        axis=-1,
    )

    a, b = (round_to(rng.standard_normal(shape), "float8_e4m3fn") for shape in ((4, 2000), (2000, 4)))
    show(
        "default: float8 operands, K = 2,000, summed in float32; the bound is that of 13 bits without promotion",
        True,
        "matmul",
        {"a": (a, "float8_e4m3fn"), "b": (b, "float8_e4m3fn")},
        exact.exact_matmul(a, b)[0],
        a.astype(F32) @ b.astype(F32),
        "float32",
    )

    a, b = (round_to(rng.standard_normal(shape), "float8_e4m3fn") for shape in ((2, 64), (64, 2)))
    unit = planted_faults.fp8_unit(exact.products(a, b), planted_faults.exponents(a, b))
    golden = exact.exact_matmul(a, b)[0]
    golden[1], unit[1] = np.nan, np.nan
    codes = encode(a, "float8_e4m3fn")
    codes[1, 5] = 0x7F
    case = assay.Case(
        "example",
        op="matmul",
        inputs={"a": assay.Tensor.of(codes, "float8_e4m3fn"), "b": tensor(b, "float8_e4m3fn")},
        golden=golden,
        attributes={"output_dtype": "float32", "machine": "hopper", "equal_nan": 1},
    )
    report = case.judge(unit.astype(F32))
    title = "default: what a Hopper gives of float8 operands with one NaN; the own bound is given up for all elements"
    print(f"{'ok   ' if report.outcome == 'pass' else 'WRONG'} right result: {report.outcome}. {title}")
    print(f"        {report.why}")
    if report.outcome != "pass":
        wrong.append(title)

    x = np.array([[0.8851303], [-2.3253758]]).astype(F32)
    scale = F32(1) / np.sqrt(F32(1e-5))
    shift = -(x * scale)
    y = (x.astype(np.float64) * float(scale) + shift).astype(F32) + F32(
        0.4017368
    )  # a fused multiply-add, as in PyTorch
    show(
        "expected_error: layernorm of rows of one element as x rstd - mean rstd + bias",
        True,
        "layernorm",
        {"x": (x, "float32"), "weight": (np.ones(1), "float32"), "bias": (np.full(1, F32(0.4017368)), "float32")},
        np.full((2, 1), float(F32(0.4017368))),
        y,
        "float32",
        "expected_error",
        axis=-1,
        eps=1e-5,
    )

    x = np.array([[3e4, 4e4]])
    show(
        "default, machine ascend910b: a float16 sum beyond the range, which its unit holds at 65504",
        True,
        "reduce_sum",
        {"x": (round_to(x, "float16"), "float16")},
        exact.exact_sum(round_to(x, "float16")),
        np.array([65504.0]),
        "float16",
        axis=-1,
        machine="ascend910b",
    )

    x = np.array([[1e-40, -3e-41, 2e-42]]).astype(F32)
    show(
        "default: gelu (tanh form) of subnormal numbers, each half the operand",
        True,
        "gelu",
        {"x": (x, "float32")},
        exact.exact_gelu(x, "tanh").astype(float),
        (x * F32(0.5)).astype(F32),
        "float32",
        approximate="tanh",
    )

    x = np.array([[1.1171875, 0.55859375, 0.25, 0.125]])  # the exact quotient of the second is 63.5; float32 gives less
    codes = np.rint(x.astype(F32) / F32(F32(1.1171875) / F32(127)))
    show(
        "expected_error: int8 codes of a quantizer, one of whose quotients lies on a tie",
        True,
        "quantize",
        {"x": (x, "bfloat16")},
        np.rint(x * 127 / 1.1171875).astype(np.int8),
        codes,
        "int8",
        "expected_error",
        scaling="row",
    )

    q, k, v = (round_to(rng.standard_t(3, (8, 65, 32)), "bfloat16") for _ in range(3))
    inputs = {"q": (q, "bfloat16"), "k": (k, "bfloat16"), "v": (v, "bfloat16")}
    golden = np.stack([exact.exact_attention(*one, 32**-0.5).astype(float) for one in zip(q, k, v)])
    out = assay.emulate("attention", "cdna2", **{name: tensor(*one) for name, one in inputs.items()})
    values = (out.bits.astype(np.uint32) << 16).view(np.float32).astype(np.float64)
    show(
        "default, machine cdna2: bfloat16 attention; that its matrix unit flushes subnormals leaves triton_ascend",
        True,
        "attention",
        inputs,
        golden,
        values,
        "bfloat16",
        machine="cdna2",
    )


def misses():
    rng = np.random.default_rng(4)
    x = rng.standard_normal((2, 64)).astype(F32)
    scale = np.abs(x).max(axis=1, keepdims=True) / F32(127)
    golden = np.rint(x.astype(np.longdouble) * 127 / np.abs(x).max(axis=1, keepdims=True)).astype(np.int8)
    codes = np.rint(x / scale)
    inputs = {"x": (x, "float32")}
    show(
        "default: int8 codes one too large in the whole output",
        False,
        "quantize",
        inputs,
        golden,
        np.minimum(codes + 1, 127),
        "int8",
        scaling="row",
    )
    show(
        "default: int8 codes rounded down",
        False,
        "quantize",
        inputs,
        golden,
        np.floor(x / scale),
        "int8",
        scaling="row",
    )

    a, b = rng.standard_normal((4, 1000)).astype(F32), rng.standard_normal((1000, 4)).astype(F32)
    out = round_to(a, "tfloat32").astype(F32) @ round_to(b, "tfloat32").astype(F32)
    show(
        "default: float32 operands rounded to tfloat32, K = 1,000 (500 times the errors of right results)",
        False,
        "matmul",
        {"a": (a, "float32"), "b": (b, "float32")},
        exact.exact_matmul(a, b)[0],
        out,
        "float32",
    )

    a, b = (round_to(100 * rng.standard_normal(shape), "float8_e4m3fn") for shape in ((4, 512), (512, 4)))
    one = np.float32(1 / 64)
    terms, of = exact.products(a, b), planted_faults.exponents(a, b)
    golden = exact.exact_matmul(a, b)[0] * float(one) ** 2
    inputs = {
        "a": (a, "float8_e4m3fn"),
        "b": (b, "float8_e4m3fn"),
        "scale_a": (one, "float32"),
        "scale_b": (one, "float32"),
    }
    out = planted_faults.fp8_unit(terms, of).astype(F32) * one * one
    for machine in ({}, {"machine": "hopper"}):
        show(
            f"default: the promotion every 128 terms is missing, K = 512{', machine hopper' if machine else ''}",
            False,
            "scaled_matmul",
            inputs,
            golden,
            out,
            "float32",
            promotion_interval=128,
            **machine,
        )
    out = (exact.exact_sum(terms[..., :-1]) * float(one) ** 2).astype(F32)
    show(
        "default: the last of 512 terms is dropped",
        False,
        "scaled_matmul",
        inputs,
        golden,
        out,
        "float32",
        promotion_interval=128,
    )

    q, k, v = (round_to(rng.standard_normal((20, 20)), "float16") for _ in range(3))
    scale = 20**-0.5
    right = planted_faults.attention(q, k, v, scale, None, "float16")
    inputs = {"q": (q, "float16"), "k": (k, "float16"), "v": (v, "float16")}
    golden = exact.exact_attention(q, k, v, scale).astype(float)
    for standard in (None, "expected_error"):
        show(
            f"{standard or 'default'}: attention truncates its float16 output",
            False,
            "attention",
            inputs,
            golden,
            round_to(right, "float16", "toward_zero"),
            "float16",
            standard,
            scale=scale,
        )
    q, k, v = (rng.standard_normal((130, 72)).astype(F32) for _ in range(3))
    scale = 72**-0.5
    out = planted_faults.attention(q, k, v, scale, None, "float16")
    show(
        "default: float32 attention rounds its weights to float16 (600 times the errors of right results)",
        False,
        "attention",
        {"q": (q, "float32"), "k": (k, "float32"), "v": (v, "float32")},
        exact.exact_attention(q, k, v, scale).astype(float),
        out,
        "float32",
        scale=scale,
    )


def main():
    alarms()
    misses()
    print(f"{len(wrong)} judged wrongly")
    return 1 if wrong and "--strict" in sys.argv else 0


if __name__ == "__main__":
    sys.exit(main())
