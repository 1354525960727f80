#!/usr/bin/env python3
"""Small results that some version of the gate judged wrongly: one for each kind that right_results.py and
faults_by_gate.py found.

    PYTHONPATH=build/release/python /usr/bin/python3 tests/proof/minimal_examples.py

Prints what the gate says of each example and why. The exit code is 1 if the gate passes a faulty result, or does not
pass a right one."""
import dataclasses
import os
import sys
import typing

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import assay
import numpy as np

import exact
import product_faults
import row_faults
import sums
from number_formats import encode, round_to
from reports import end_check

F32 = np.float32


@dataclasses.dataclass
class Result:
    """A case with its output. `inputs` is {name: (values or an assay.Tensor, dtype)}."""

    op: str
    inputs: dict
    golden: np.ndarray
    output: np.ndarray
    dtype: str  # of the output
    attributes: dict = dataclasses.field(default_factory=dict)


def tensor(values, dtype):
    return values if isinstance(values, assay.Tensor) else assay.Tensor.of(encode(values, dtype), dtype)


def generator(name):
    """Returns a random generator for each example, so that no example depends on those before it."""
    return np.random.default_rng(int.from_bytes(name.encode(), "big") % 2**63)


# ---- right results


def product_from_the_end():
    a, b = np.ones((1, 3)), np.array([[2.0], [-2.0], [2.0**-14 + 2.0**-24]])
    terms = (a.T * b).astype(F32)[:, 0]
    output = ((terms[2] + terms[1]) + terms[0]).reshape(1, 1)
    inputs = {"a": (a, "float16"), "b": (b, "float16")}
    return Result("matmul", inputs, exact.exact_matmul(a, b)[0], output, "float32")


def long_sum_one_by_one():
    x = generator("sum").uniform(0, 1, (1, 20000)).astype(F32)
    return Result("reduce_sum", {"x": (x, "float32")}, exact.exact_sum(x), sums.sequential(x), "float32", {"axis": -1})


def long_softmax_one_by_one():
    x = generator("softmax").uniform(0, 1, (1, 20000)).astype(F32)
    t = np.exp(x - x.max())
    golden = exact.exact_softmax(x).astype(float)
    output = t / sums.sequential(t)[:, None]
    return Result("softmax", {"x": (x, "float32")}, golden, output, "float32", {"axis": -1})


def float8_product_in_float32():
    rng = generator("float8")
    a, b = (round_to(rng.standard_normal(shape), "float8_e4m3fn") for shape in ((4, 2000), (2000, 4)))
    inputs = {"a": (a, "float8_e4m3fn"), "b": (b, "float8_e4m3fn")}
    return Result("matmul", inputs, exact.exact_matmul(a, b)[0], a.astype(F32) @ b.astype(F32), "float32")


def float8_product_with_nan_on_hopper():
    rng = generator("nan")
    a, b = (round_to(rng.standard_normal(shape), "float8_e4m3fn") for shape in ((2, 64), (64, 2)))
    output = product_faults.fp8_unit(exact.products(a, b), product_faults.exponents(a, b)).astype(F32)
    golden = exact.exact_matmul(a, b)[0]
    golden[1], output[1] = np.nan, np.nan
    codes = encode(a, "float8_e4m3fn")
    codes[1, 5] = 0x7F
    inputs = {"a": (assay.Tensor.of(codes, "float8_e4m3fn"), ""), "b": (b, "float8_e4m3fn")}
    return Result("matmul", inputs, golden, output, "float32", {"machine": "hopper", "equal_nan": 1})


def layernorm_of_one_element():
    x, bias = np.array([[0.8851303], [-2.3253758]]).astype(F32), F32(0.4017368)
    scale = F32(1) / np.sqrt(F32(1e-5))
    shift = -(x * scale)
    output = (x.astype(np.float64) * float(scale) + shift).astype(F32) + bias  # as PyTorch, with a fused multiply-add
    inputs = {"x": (x, "float32"), "weight": (np.ones(1), "float32"), "bias": (np.full(1, bias), "float32")}
    golden = np.full((2, 1), float(bias))
    return Result("layernorm", inputs, golden, output, "float32", {"axis": -1, "eps": 1e-5})


def float16_sum_beyond_the_range():
    x = round_to(np.array([[3e4, 4e4]]), "float16")
    attributes = {"axis": -1, "machine": "ascend910b"}
    return Result("reduce_sum", {"x": (x, "float16")}, exact.exact_sum(x), np.array([65504.0]), "float16", attributes)


def gelu_of_subnormals():
    x = np.array([[1e-40, -3e-41, 2e-42]]).astype(F32)
    golden = exact.exact_gelu(x, "tanh").astype(float)
    output = (x * F32(0.5)).astype(F32)
    return Result("gelu", {"x": (x, "float32")}, golden, output, "float32", {"approximate": "tanh"})


def codes_on_a_tie():
    # The exact quotient of the second element is 63.5, a tie. float32 gives less.
    x = np.array([[1.1171875, 0.55859375, 0.25, 0.125]])
    golden = np.rint(x * 127 / 1.1171875).astype(np.int8)
    output = np.rint(x.astype(F32) / F32(F32(1.1171875) / F32(127)))
    return Result("quantize", {"x": (x, "bfloat16")}, golden, output, "int8", {"scaling": "row"})


def attention_on_cdna2():
    rng = generator("cdna2")
    q, k, v = (round_to(rng.standard_t(3, (8, 65, 32)), "bfloat16") for _ in range(3))
    inputs = {"q": (q, "bfloat16"), "k": (k, "bfloat16"), "v": (v, "bfloat16")}
    golden = np.stack([exact.exact_attention(*one, 32**-0.5).astype(float) for one in zip(q, k, v)])
    emulated = assay.emulate("attention", "cdna2", **{name: tensor(*one) for name, one in inputs.items()})
    output = (emulated.bits.astype(np.uint32) << 16).view(F32)
    return Result("attention", inputs, golden, output, "bfloat16", {"machine": "cdna2"})


# ---- faulty results


def codes(fault):
    """Returns a quantizer's result. `fault` makes codes of the quotients in place of rounding to nearest."""
    x = generator("codes").standard_normal((2, 64)).astype(F32)
    largest = np.abs(x).max(axis=1, keepdims=True)
    golden = np.rint(x.astype(np.longdouble) * 127 / largest).astype(np.int8)
    return Result(
        "quantize", {"x": (x, "float32")}, golden, fault(x / (largest / F32(127))), "int8", {"scaling": "row"}
    )


def codes_one_too_large():
    return codes(lambda quotients: np.minimum(np.rint(quotients) + 1, 127))


def codes_rounded_down():
    return codes(np.floor)


def operands_in_tfloat32():
    rng = generator("tfloat32")
    a, b = rng.standard_normal((4, 1000)).astype(F32), rng.standard_normal((1000, 4)).astype(F32)
    output = round_to(a, "tfloat32").astype(F32) @ round_to(b, "tfloat32").astype(F32)
    inputs = {"a": (a, "float32"), "b": (b, "float32")}
    return Result("matmul", inputs, exact.exact_matmul(a, b)[0], output, "float32")


def scaled_product(fault, **attributes):
    """Returns the product of float8 operands with K = 512 and one scale of 1/64 each. `fault` gets the products [i, j,
    k] and their exponents, and returns their sums."""
    rng = generator("scaled")
    a, b = (round_to(100 * rng.standard_normal(shape), "float8_e4m3fn") for shape in ((4, 512), (512, 4)))
    scale = F32(1 / 64)
    inputs = {"a": (a, "float8_e4m3fn"), "b": (b, "float8_e4m3fn")}
    inputs.update(scale_a=(scale, "float32"), scale_b=(scale, "float32"))
    output = fault(exact.products(a, b), product_faults.exponents(a, b)).astype(F32) * scale * scale
    golden = exact.exact_matmul(a, b)[0] * float(scale) ** 2
    return Result("scaled_matmul", inputs, golden, output, "float32", {"promotion_interval": 128, **attributes})


def promotion_missing():
    return scaled_product(product_faults.fp8_unit)


def promotion_missing_on_hopper():
    return scaled_product(product_faults.fp8_unit, machine="hopper")


def last_term_dropped():
    return scaled_product(lambda terms, _: exact.exact_sum(terms[..., :-1]))


def attention_truncates():
    rng = generator("truncates")
    q, k, v = (round_to(rng.standard_normal((20, 20)), "float16") for _ in range(3))
    scale = 20**-0.5
    output = round_to(row_faults.attention(q, k, v, scale, None, "float16"), "float16", "toward_zero")
    inputs = {"q": (q, "float16"), "k": (k, "float16"), "v": (v, "float16")}
    golden = exact.exact_attention(q, k, v, scale).astype(float)
    return Result("attention", inputs, golden, output, "float16", {"scale": scale})


def attention_with_float16_weights():
    rng = generator("weights")
    q, k, v = (rng.standard_normal((130, 72)).astype(F32) for _ in range(3))
    scale = 72**-0.5
    output = row_faults.attention(q, k, v, scale, None, "float16")
    inputs = {"q": (q, "float32"), "k": (k, "float32"), "v": (v, "float32")}
    golden = exact.exact_attention(q, k, v, scale).astype(float)
    return Result("attention", inputs, golden, output, "float32", {"scale": scale})


# ---- the table


@dataclasses.dataclass
class Example:
    make: typing.Callable[[], Result]
    what: str
    right: bool
    standard: str = ""  # "": the default gate


TRUNCATES = "attention truncates its float16 output"
RIGHT = (
    Example(product_from_the_end, "a float16 product of K = 3 summed from the end", True, "expected_error"),
    Example(long_sum_one_by_one, "a float32 sum of 20,000 terms one by one", True),
    Example(long_softmax_one_by_one, "softmax of 20,000 elements whose sum is added one by one", True),
    Example(float8_product_in_float32, "a product of float8 operands, K = 2,000, summed in float32", True),
    Example(float8_product_with_nan_on_hopper, "what a Hopper gives of float8 operands with one NaN", True),
    Example(
        layernorm_of_one_element, "layernorm of rows of one element, as x r - mean r + bias", True, "expected_error"
    ),
    Example(float16_sum_beyond_the_range, "a float16 sum beyond the range, which the 910B holds at 65504", True),
    Example(gelu_of_subnormals, "gelu (form with tanh) of subnormal numbers: half of each", True),
    Example(codes_on_a_tie, "int8 codes, one of whose quotients lies on a tie", True, "expected_error"),
    Example(codes_on_a_tie, "int8 codes, one of whose quotients lies on a tie", True),
    Example(attention_on_cdna2, "bfloat16 attention of a machine that flushes subnormals", True),
)
FAULTY = (
    Example(codes_one_too_large, "int8 codes one too large in the whole output", False),
    Example(codes_rounded_down, "int8 codes rounded down", False),
    Example(operands_in_tfloat32, "float32 operands rounded to tfloat32: 500 times the errors of right results", False),
    Example(promotion_missing, "the promotion every 128 terms is missing, K = 512", False),
    Example(promotion_missing_on_hopper, "the same of a Hopper", False),
    Example(last_term_dropped, "the last of 512 terms is dropped", False),
    Example(attention_truncates, TRUNCATES, False),
    Example(attention_truncates, TRUNCATES, False, "expected_error"),
    Example(attention_with_float16_weights, "float32 attention rounds its weights to float16", False),
)
EXAMPLES = RIGHT + FAULTY


def judge(example):
    """Returns the gate's report of an example."""
    made = example.make()
    case = assay.Case(
        "example",
        op=made.op,
        inputs={name: tensor(*one) for name, one in made.inputs.items()},
        golden=np.asarray(made.golden),
        attributes={"output_dtype": made.dtype, **made.attributes},
    )
    options = {"standard": example.standard} if example.standard else {}
    return case.judge(tensor(made.output, made.dtype), **options)


def main():
    complaints = []
    for example in EXAMPLES:
        report = judge(example)
        is_judged_rightly = report.outcome in (["pass"] if example.right else ["fail", "untrusted"])
        said = (
            f"{'right' if example.right else 'faulty'} result: {report.outcome} by {example.standard or 'default'}. "
            f"{example.what}"
        )
        print(f"{'ok   ' if is_judged_rightly else 'WRONG'} {said}\n        {report.why}")
        if not is_judged_rightly:
            complaints.append(f"An example is judged wrongly: {said}")
    return end_check(complaints, f"{len(EXAMPLES)} examples are judged as the table says")


if __name__ == "__main__":
    sys.exit(main())
