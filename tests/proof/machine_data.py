"""Hard data for every operator that `assay generate` knows, computed by every emulated machine.

`assay generate` draws the inputs and `assay golden` the golden results. `assay emulate` computes what each machine
gives, which is right by the machine's definition, and stores it under the machine's name. The gate therefore knows the
producer, and each result must pass. The data avoids only what is wrong on a machine by its definition: partial sums
and squares that leave the range of the arithmetic although the result does not.

Five kinds of data: subnormal operands, cancellation, outliers, one NaN among normal numbers, and results on both sides
of the largest value."""
import collections
import pathlib
import re

import h5py
import numpy as np

from right_data import SEED
from store import run_assay

KINDS = ("subnormal", "cancellation", "outliers", "one_nan", "near_overflow")
LARGEST = {"float16": 65504.0, "bfloat16": 3.38e38, "float32": 3.4e38}
SMALL = {"float16": (6e-8, 6e-5), "bfloat16": (1e-40, 1e-38), "float32": (1e-44, 1e-38)}  # subnormal, positive
FUNCTIONS = ("exp", "log", "sqrt", "rsqrt", "tanh", "sigmoid", "silu", "gelu")
FLOATS = ("float16", "bfloat16", "float32")


def product_lines(kind):
    """Yields cases of matmul, dot and scaled_matmul. Sums near overflow have terms of one sign, so that no partial sum
    is larger than the result."""
    drawn = {
        "subnormal": "--a subnormals --b normal,scale=8",
        "cancellation": "--distribution student_t,nu=2",
        "outliers": "--a outlier_channels,factor=30 --b normal",
        "one_nan": "--distribution normal",
    }
    for dtype in FLOATS + ("float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz", "float8_e5m2fnuz"):
        if kind == "near_overflow":
            if dtype.startswith("float8"):
                words = "--distribution uniform,low=0,high=200"
            else:
                # The mean of the sums, 96 / 4 high^2, is the largest value of the format.
                high = (LARGEST[dtype] / 24) ** 0.5
                words = f"--distribution uniform,low=0,high={high:.6g}"
        else:
            words = drawn[kind]
        out = "" if dtype.startswith("float8") else f"--output-dtype {'float32' if kind == 'subnormal' else dtype}"
        yield f"matmul --dtype {dtype} --shape 9,96,11 {words} {out}", f"matmul/{dtype}"
        if not dtype.startswith("float8") and kind != "subnormal":
            more = "--bias normal --transpose-b"
            yield f"matmul --dtype {dtype} --shape 2,5,96,7 {words} {out} {more}", f"matmul/{dtype}_bias"
        if not dtype.startswith("float8"):
            both = words.replace("--a", "--input a").replace("--b ", "--input b ")
            both = both.replace("--input a ", "--input a=").replace("--input b ", "--input b=")
            yield f"dot --dtype {dtype} --shape 9,96 {both} --output-dtype float32", f"dot/{dtype}"
    for compute in ("tfloat32", "hfloat32", "bfloat16"):
        if kind in ("cancellation", "outliers", "one_nan"):
            yield (
                f"matmul --dtype float32 --shape 9,96,11 {drawn[kind]} --parameter compute_dtype={compute}",
                f"matmul/float32_as_{compute}",
            )
    if kind in ("outliers", "near_overflow"):
        yield ("matmul --dtype int8 --shape 9,300,7 --distribution integers,low=-128,high=127", "matmul/int8")
    if kind in ("cancellation", "outliers", "one_nan"):
        for dtype, compute in (("float8_e4m3fn", ""), ("float8_e5m2", ""), ("float8_e4m3fn", "float16"), ("int8", "")):
            for scaling in ("row row", "1x128 128x128"):
                a, b = scaling.split()
                if dtype == "int8" and kind == "one_nan":
                    continue
                more = f"--parameter compute_dtype={compute}" if compute else ""
                yield (
                    f"scaled_matmul --dtype {dtype} --shape 9,300,11 {drawn[kind]} --parameter a_scaling={a} "
                    f"--parameter b_scaling={b} {more}",
                    f"scaled_matmul/{dtype}_{a}_{compute or 'codes'}",
                )


def vector_lines(kind):
    for dtype in FLOATS:
        largest, (low, high) = LARGEST[dtype], SMALL[dtype]
        spread = {
            "subnormal": "subnormals",
            "cancellation": "student_t,nu=2",
            "outliers": "outlier_channels,factor=30",
            "one_nan": "normal",
        }
        for op in ("add", "sub", "mul", "div"):
            # The product of two subnormal numbers would be 0.
            if kind == "subnormal" and op == "mul":
                yield f"mul --dtype {dtype} --shape 5,70 --input a=subnormals --input b=normal,scale=8", f"mul/{dtype}"
                continue
            words = {
                "near_overflow": {
                    "add": f"uniform,low=0,high={largest * 0.9:.4g}",
                    "sub": f"uniform,low=-{largest * 0.6:.4g},high={largest * 0.6:.4g}",
                    "mul": f"uniform,low=0,high={largest ** 0.5 * 1.4:.4g}",
                    "div": f"uniform,low=0.1,high={largest ** 0.5:.4g}",
                }[op],
                "cancellation": "correlated,rho=0.9999",
            }.get(kind) or spread[kind]
            yield f"{op} --dtype {dtype} --shape 5,70 --distribution {words}", f"{op}/{dtype}"
        root = largest**0.5
        words = (
            f"--distribution uniform,low=0,high={root * 0.9:.4g}"
            if kind == "near_overflow"
            else (
                "--distribution integers,low=-90,high=90"
                if kind == "cancellation"
                else f"--distribution {spread[kind]}"
            )
        )
        for fused in (0, 1):
            yield f"fma --dtype {dtype} --shape 5,70 {words} --parameter fused={fused}", f"fma/{dtype}_{fused}"
            # The operand a of axpy is one number, which has no channels.
            xy = f"--input x={spread[kind]} --input y={spread[kind]}" if kind == "outliers" else words
            yield f"axpy --dtype {dtype} --shape 5,70 {xy} --parameter fused={fused}", f"axpy/{dtype}_{fused}"
        for op in FUNCTIONS:
            positive = op in ("log", "sqrt", "rsqrt")
            words = {
                "subnormal": f"uniform,low={low},high={high}" if positive else "subnormals",
                "cancellation": "uniform,low=0.9,high=1.1"
                if op == "log"
                else f"uniform,low=-{3 if dtype == 'float16' else 5},high=-0.5",
                "outliers": "lognormal,sigma=3" if positive else "student_t,nu=2",
                "one_nan": "lognormal,sigma=1" if positive else "normal",
                "near_overflow": {
                    "exp": "uniform,low=10,high=11.1" if dtype == "float16" else "uniform,low=87,high=88.8",
                }.get(op, f"uniform,low={largest / 2:.4g},high={largest:.4g}"),
            }[kind]
            if kind == "cancellation" and op in ("sqrt", "rsqrt"):
                words = "uniform,low=0.9,high=1.1"
            yield f"{op} --dtype {dtype} --shape 5,70 --distribution {words}", f"{op}/{dtype}"
            if op == "gelu" and kind != "near_overflow":
                more = "--parameter approximate=tanh"
                yield f"gelu --dtype {dtype} --shape 5,70 --distribution {words} {more}", f"gelu/{dtype}_tanh"
        for op in ("reduce_sum", "reduce_mean", "reduce_max"):
            n = 150
            # The sum of a mean must stay in the range. Other results may leave it.
            top = 1.5 if op == "reduce_mean" else 2
            words = f"uniform,low=0,high={largest / n * top:.4g}" if kind == "near_overflow" else spread[kind]
            yield f"{op} --dtype {dtype} --shape 9,{n} --distribution {words} --parameter axis=-1", f"{op}/{dtype}"
        # exp of these values would overflow if the maximum were not subtracted.
        x = {"near_overflow": "uniform,low=80,high=88"}.get(kind) or spread[kind]
        yield f"softmax --dtype {dtype} --shape 5,150 --distribution {x}", f"softmax/{dtype}"
        # Squares and their sum must stay in the range of the arithmetic. A unit that computes in float16 has a range of
        # 65504.
        x = {
            "near_overflow": "uniform,low=-19,high=19" if dtype == "float16" else "uniform,low=-1e18,high=1e18",
            "outliers": "outlier_channels,factor=5" if dtype == "float16" else "outlier_channels,factor=30",
            "cancellation": "normal,mean=2",
        }.get(kind) or spread[kind]
        for op in ("layernorm", "rmsnorm"):
            yield f"{op} --dtype {dtype} --shape 5,150 --distribution {x}", f"{op}/{dtype}"
            more = "--input weight=normal,mean=1"
            yield f"{op} --dtype {dtype} --shape 5,150 --distribution {x} {more}", f"{op}/{dtype}_weight"
        words = {
            "subnormal": "--input q=subnormals --input k=normal --input v=normal",
            "cancellation": "--distribution student_t,nu=3",
            "outliers": "--input k=outlier_channels",
            "one_nan": "--distribution normal",
            "near_overflow": "--input q=normal --input k=normal "
            f"--input v=uniform,low={largest * .5:.4g},high={largest * .9:.4g}",
        }[kind]
        for more in ("", "--parameter causal=1", "--parameter tile=32"):
            if "tile" in more and kind == "near_overflow":
                # The sums of a tile are divided only at the end, so that they would leave the range.
                continue
            kind_of = more.split("=")[0].split(" ")[-1] or "plain"
            yield f"attention --dtype {dtype} --shape 2,33,65,32 {words} {more}", f"attention/{dtype}_{kind_of}"
        x = spread.get(kind) or f"uniform,low=0,high={min(largest * 1.01, 3.4e38):.6g}"
        y = f"uniform,low=-{high},high={high}" if kind == "subnormal" else x
        yield f"cast --dtype float32 --shape 5,70 --distribution {y} --output-dtype {dtype}", f"cast/{dtype}"
        if kind == "subnormal":
            # quantize uses an amax of at least 1e-4, so all bfloat16 and float32 subnormals get the code 0. (float16
            # subnormals do not, but are left out, too.)
            continue
        for output in ("int8", "float8_e4m3fn"):
            if output == "int8" and kind in ("one_nan", "near_overflow"):
                continue  # int8 has neither NaN nor infinity
            more = f"--parameter scaling=row --output-dtype {output}"
            yield f"quantize --dtype {dtype} --shape 5,300 --distribution {x} {more}", f"quantize/{dtype}_{output}"
    if kind != "subnormal" and kind != "near_overflow":
        words = f"--distribution {spread[kind]} --parameter scaling=1x128"
        yield f"dequantize --dtype float8_e4m3fn --shape 5,300 {words}", "dequantize/e4m3"
        for dtype in ("float32", "float16"):
            yield (
                f"deform_roi_pool --dtype {dtype} --shape 2,2,20,30,12 --parameter pooled_height=7 --parameter "
                "pooled_width=7 --parameter spatial_scale=0.0625",
                f"deform_roi_pool/{dtype}",
            )


def put_one_nan(path):
    """Puts one NaN into the first input of each case one_nan/..., and says that NaN equals NaN in every case."""
    with h5py.File(path, "r+") as file:
        if "checksums" in file:
            del file["checksums"]
            del file.attrs["assay_checksums"]
        found = []
        file["cases"].visititems(lambda name, node: found.append(name) if "op" in node.attrs else None)
        for name in found:
            case = file["cases"][name]
            case.attrs["equal_nan"] = 1
            if not name.startswith("one_nan"):
                continue
            for key in ("x", "a", "q", "input", "y"):
                if f"inputs/{key}" in case:
                    data = case[f"inputs/{key}"]
                    break
            else:
                continue
            values = data[...]
            flat = values.reshape(-1)
            at = flat.size // 2
            patterns = {"float8_e4m3fn": 0x7F, "float8_e5m2": 0x7F, "float8_e4m3fnuz": 0x80, "float8_e5m2fnuz": 0x80}
            kind = data.attrs["dtype"]
            if kind in patterns:
                flat[at] = patterns[kind]
            elif flat.dtype.kind == "f":
                flat[at] = np.nan
            elif kind == "bfloat16":
                flat[at] = 0x7FC0
            else:
                continue
            data[...] = values


def lines_of(kind, position, quick):
    """Returns (words of `assay generate`, name) of the cases of a kind of data. quick: one case of each operator, whose
    dtype and parameters differ from kind to kind."""
    lines = [*product_lines(kind), *vector_lines(kind)]
    if not quick:
        return lines
    by_operator = collections.defaultdict(list)
    for line in lines:
        by_operator[line[0].split()[0]].append(line)
    return [found[position % len(found)] for found in by_operator.values()]


def make(tool, folder, quick):
    """Writes the golden file. Returns its path, and what `assay generate` and `assay golden` refused."""
    folder = pathlib.Path(folder)
    lines = [
        f"{words} --seed {SEED % 100000 + number} --name {kind}/{number}_{name}"
        for position, kind in enumerate(KINDS)
        for number, (words, name) in enumerate(lines_of(kind, position, quick))
    ]
    batch, drawn, golden = (folder / name for name in ("machines.txt", "machines_inputs.h5", "machines.h5"))
    batch.write_text("\n".join(lines) + "\n")
    generated = run_assay(tool, "generate", "--from", batch, "--no-golden", "--out", drawn, "--quiet", allowed=(0, 2))
    put_one_nan(drawn)
    computed = run_assay(tool, "golden", drawn, "--out", golden, "--quiet", allowed=(0, 2, 3))
    return golden, "\n".join(ran.stderr.strip() for ran in (generated, computed)).strip()


def machines(tool):
    """Returns the names of the emulated machines as `assay list machines` lists them, but for `exact`."""
    listed = run_assay(tool, "list", "machines").stdout
    return [name for name in re.findall(r"^(\w+): .*\n  source: ", listed, re.MULTILINE) if name != "exact"]


def is_right(machine, case):
    """Returns whether the machine's result of the case is right. Three kinds are not, by the machine's definition: the
    910B's vector unit turns NaN into 0, its tanh of a subnormal number is 0, and the matrix unit of cdna2 flushes
    subnormal operands to 0."""
    kind, name = case.split("/")[0], case.split("/")[1].split("_", 1)[1]
    products = name in ("matmul", "dot", "scaled_matmul")
    if machine == "ascend910b" and kind == "subnormal" and name == "tanh":
        return False
    if (
        machine == "ascend910b"
        and kind == "one_nan"
        and not products
        and name not in ("quantize", "dequantize", "deform_roi_pool")
    ):
        return False
    return not (machine == "cdna2" and kind == "subnormal" and (products or name == "attention"))


def emulate(tool, golden, machine, folder):
    """Returns the file of what the machine computes. Cases whose dtype the machine does not take are left out."""
    out = pathlib.Path(folder) / f"machine_{machine}.h5"
    run_assay(tool, "emulate", golden, "--machine", machine, "--out", out, "--quiet", allowed=(0, 2, 3))
    return out
