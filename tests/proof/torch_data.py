"""Results of PyTorch's CPU kernels, kept only if an oracle says that they are right.

PyTorch is optional: `available()` says whether it is there. A kernel's result is right if each element is within the
textbook bound of a float32 evaluation, plus one rounding to the output's dtype. Results that are not right are left
out and counted: PyTorch 1.13 sums some bfloat16 products in bfloat16. A 16-bit result is also left out and counted if
the bound of most elements is as wide as a rounding to its dtype, as in bfloat16 rows of 65,536 elements. Such a bound
cannot tell whether the kernel keeps float32, and layer_norm of PyTorch 1.13 rounds the mean of such rows to bfloat16.
A result is also left out if the bound of most elements is as large as the element."""
import math

import numpy as np

import exact
from number_formats import quantum, round_to
from right_data import SEED, Right, bound_of, confirm, hidden
from store import Array, golden64

try:
    import torch
except ImportError:
    torch = None

ROWS = (1, 2, 33, 257, 1000, 32000, 65536)
left_out = []


def available():
    return torch is not None


def tensor(values, dtype):
    return torch.tensor(np.asarray(values, np.float32)).to(getattr(torch, dtype))


def numbers(result):
    return result.detach().to(torch.float64).numpy()


def make(kernel, name, op, inputs, golden, bound, out, dtype, attributes):
    """Returns a list with the case, or an empty one if the kernel's result is not right."""
    try:
        used = confirm(out, golden, bound, dtype)
    except AssertionError as wrong:
        left_out.append((name, str(wrong)))
        return []
    if dtype != "float32" and np.mean(bound > 0.5 * quantum(np.asarray(golden, np.float64), dtype)) > 0.5:
        left_out.append((name, "the textbook bound is as wide as a rounding to the output's dtype"))
        return []
    if hidden(golden, bound) > 0.5:
        left_out.append((name, "the textbook bound is as large as the result"))
        return []
    return [
        Right(
            f"torch {kernel}",
            f"torch/{name}",
            op,
            inputs,
            golden64(golden),
            Array(out, dtype),
            {"output_dtype": dtype, **attributes},
            used,
        )
    ]


def rows(dtype, draws):
    f = torch.nn.functional
    for n in ROWS:
        for draw in range(draws):
            rng = np.random.default_rng([SEED, 3, n, draw, dtype == "float32"])
            x = round_to(rng.standard_normal((3, n)) * (1, 3)[draw % 2] + (0.5, 1)[draw % 2], dtype)
            w, b = round_to(1 + 0.2 * rng.standard_normal(n), dtype), round_to(
                0.3 + 0.1 * rng.standard_normal(n), dtype
            )
            t, tw, tb, inputs = tensor(x, dtype), tensor(w, dtype), tensor(b, dtype), {"x": Array(x, dtype)}
            name = f"{dtype}_n{n}_{draw}"
            g = exact.exact_softmax(x)
            yield from make(
                "softmax",
                f"softmax/{name}",
                "softmax",
                inputs,
                g,
                bound_of("softmax", x, g, 0),
                numbers(torch.softmax(t, -1)),
                dtype,
                {"axis": -1},
            )
            g = exact.exact_layernorm(x, w, b)
            yield from make(
                "layer_norm",
                f"layer_norm/{name}",
                "layernorm",
                {**inputs, "weight": Array(w, dtype), "bias": Array(b, dtype)},
                g,
                bound_of("layernorm", x, g, 1e-5, w, b),
                numbers(f.layer_norm(t, (n,), tw, tb, 1e-5)),
                dtype,
                {"axis": -1, "eps": 1e-5},
            )
            if draw == 0:
                g = exact.exact_sum(x)
                yield from make(
                    "sum",
                    f"sum/{name}",
                    "reduce_sum",
                    inputs,
                    g,
                    bound_of("reduce_sum", x, g, 0),
                    numbers(t.sum(-1)),
                    dtype,
                    {"axis": -1},
                )
                if dtype == "bfloat16":
                    # PyTorch 1.13 rounds the sum to bfloat16 before it divides, which is not right.
                    continue
                yield from make(
                    "mean",
                    f"mean/{name}",
                    "reduce_mean",
                    inputs,
                    g / n,
                    bound_of("reduce_mean", x, g / n, 0),
                    numbers(t.mean(-1)),
                    dtype,
                    {"axis": -1},
                )


def matrices(dtype, count):
    for index in range(count):
        rng = np.random.default_rng([SEED, 4, index, dtype == "float32"])
        k = (1, 7, 64, 100, 333, 512, 1000, 2000)[index % 8]
        m, n = int(rng.integers(2, 17)), int(rng.integers(2, 17))
        a, b = round_to(rng.standard_normal((m, k)), dtype), round_to(rng.standard_normal((k, n)) + 0.1, dtype)
        bias = round_to(rng.standard_normal(n), dtype) if index % 3 == 2 else None
        inputs = {"a": Array(a, dtype), "b": Array(b, dtype)}
        c, size = exact.exact_matmul(a, b, bias)
        if bias is None:
            out = torch.matmul(tensor(a, dtype), tensor(b, dtype))
        else:
            inputs["bias"] = Array(bias, dtype)
            out = torch.addmm(tensor(bias, dtype), tensor(a, dtype), tensor(b, dtype))
        yield from make(
            "matmul",
            f"matmul/{dtype}_{index}_k{k}",
            "matmul",
            inputs,
            c,
            exact.matmul_bound(size, k),
            numbers(out),
            dtype,
            {},
        )
        if index % 2 == 0:
            a = round_to(rng.standard_normal((3, m, k)), dtype)
            b = round_to(rng.standard_normal((3, k, n)), dtype)
            both = [exact.exact_matmul(one, other) for one, other in zip(a, b)]
            yield from make(
                "bmm",
                f"bmm/{dtype}_{index}_k{k}",
                "matmul",
                {"a": Array(a, dtype), "b": Array(b, dtype)},
                np.stack([c for c, _ in both]),
                exact.matmul_bound(np.stack([s for _, s in both]), k),
                numbers(torch.bmm(tensor(a, dtype), tensor(b, dtype))),
                dtype,
                {},
            )


def attentions(count):
    """Yields cases of softmax(q k^T scale) v in float32. Their bound: a score s has an error of e = gamma(D + 1)
    |scale| sum |q k| + 2 u |s|, which changes a weight by a factor of exp(2 e). The error of the softmax itself and
    gamma(S + 1) of the second product are added."""
    for index in range(count):
        rng = np.random.default_rng([SEED, 5, index])
        length, keys, d = (4, 9, 33, 64)[index % 4], (5, 64, 129, 300)[index % 4], (8, 32, 64, 128)[index // 4 % 4]
        q, k, v = (round_to(rng.standard_normal(shape), "float32") for shape in ((length, d), (keys, d), (keys, d)))
        v = round_to(v + 0.5, "float32")
        scale = 1 / math.sqrt(d)
        tq, tk, tv = (tensor(one, "float32") for one in (q, k, v))
        out = numbers(torch.matmul(torch.softmax(torch.matmul(tq, tk.T) * scale, -1), tv))
        golden = exact.exact_attention(q, k, v, scale)
        scores, sizes = q @ k.T * scale, np.abs(q) @ np.abs(k).T * scale
        e = exact.gamma(d + 1) * sizes.max() + 2 * exact.U32 * np.abs(scores).max()
        reach = np.ptp(scores, axis=1).max()
        p = np.asarray(exact.exact_softmax(scores), np.float64)
        relative = 1.05 * (4 * e + 2 * exact.U32 * reach + exact.gamma(2 * keys + 2) + 16 * exact.U32)
        yield from make(
            "attention",
            f"attention/{index}_l{length}_s{keys}_d{d}",
            "attention",
            {"q": Array(q, "float32"), "k": Array(k, "float32"), "v": Array(v, "float32")},
            golden,
            relative * (p @ np.abs(v)),
            out,
            "float32",
            {"scale": scale},
        )


def functions(dtype, draws):
    """Yields cases of functions of one element. Their bound is 4 units in the last place of float32 (8 u). For gelu,
    the terms that its usual formula x / 2 (1 + erf) adds before they cancel get the same bound."""
    import warnings

    f = torch.nn.functional
    table = {
        "exp": (torch.exp, lambda x: np.exp(x)),
        "log": (torch.log, lambda x: np.log(np.abs(x) + 0)),
        "sqrt": (torch.sqrt, lambda x: np.sqrt(x)),
        "rsqrt": (torch.rsqrt, lambda x: 1 / np.sqrt(x)),
        "tanh": (torch.tanh, np.tanh),
        "sigmoid": (torch.sigmoid, lambda x: 1 / (1 + np.exp(-x))),
        "silu": (f.silu, lambda x: x / (1 + np.exp(-x))),
        "gelu": (f.gelu, exact.exact_gelu),
        "gelu_tanh": (lambda t: f.gelu(t, approximate="tanh"), lambda x: exact.exact_gelu(x, "tanh")),
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for number, (op, (kernel, reference)) in enumerate(table.items()):
            for draw in range(draws):
                rng = np.random.default_rng([SEED, 6, number, draw, dtype == "float32"])
                x = rng.standard_normal((5, 101)) * (1, 3, 0.05)[draw % 3]
                x = round_to(np.abs(x) + 0.01 if op in ("log", "sqrt", "rsqrt") else x, dtype)
                golden = reference(x.astype(np.longdouble))
                size = np.abs(np.asarray(golden, np.float64))
                bound = 8 * exact.U32 * (size + (np.abs(x) if op.startswith("gelu") else 0)) + exact.TINY32 * 4
                attributes = {"approximate": "tanh"} if op == "gelu_tanh" else {}
                yield from make(
                    op,
                    f"{op}/{dtype}_{draw}",
                    op.split("_")[0],
                    {"x": Array(x, dtype)},
                    golden,
                    bound,
                    numbers(kernel(tensor(x, dtype))),
                    dtype,
                    attributes,
                )


def cases(quick):
    for dtype in ("float32", "bfloat16"):
        yield from rows(dtype, 1 if quick else 3)
        yield from matrices(dtype, 4 if quick else 20)
        yield from functions(dtype, 1 if quick else 4)
    yield from attentions(4 if quick else 16)
