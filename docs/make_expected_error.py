#!/usr/bin/env python3
"""Makes the figures of docs/expected_error.md: which wrong arithmetic the standard tells, and how often it
fails right results.

    docs/make_expected_error.py build/release/bin/assay                 the table, written into the page
    docs/make_expected_error.py build/release/bin/assay --print         the same, on standard output alone
    docs/make_expected_error.py build/release/bin/assay --right 2000    so many right cases, every operator and machine

Wrong results are computed here, by numpy, from the inputs that `assay generate` drew, and recorded as outputs;
only a missing promotion is emulated. What is said of them is what `assay gate --standard expected_error` says."""
import argparse
import collections
import json
import pathlib
import subprocess
import sys
import tempfile

import numpy as np

from assay import Tensor, open as open_dataset, write  # PYTHONPATH=build/release/python

ROOT = pathlib.Path(__file__).resolve().parent.parent

PAGE = ROOT / "docs/expected_error.md"
BITS = {"float32": 24, "float16": 11, "bfloat16": 8}
CHUNK = 4  # products between two roundings: the 910B's of float32
BEGIN, END = "<!-- made by make_expected_error.py -->\n", "<!-- end -->\n"


def rounded(x, bits):
    """To nearest even, so many bits of significand; no subnormal numbers."""
    mantissa, exponent = np.frexp(x)
    return np.ldexp(np.rint(np.ldexp(mantissa, bits)), exponent - bits)


def summed(a, b, bits=24):
    sums = np.zeros((a.shape[0], b.shape[1]))
    for k in range(0, a.shape[1], CHUNK):
        sums = rounded(sums + a[:, k:k + CHUNK] @ b[k:k + CHUNK], bits)
    return sums


def split(a, b, parts, bits):
    sums, length = 0, a.shape[1] // parts
    for first in range(0, a.shape[1], length):
        part = summed(a[:, first:first + length], b[first:first + length])
        sums = rounded(sums + rounded(part, bits), 24)
    return sums


FAULTS = {
    "right": lambda a, b: summed(a, b),
    "tfloat32 inputs": lambda a, b: summed(rounded(a, 11), rounded(b, 11)),
    "bfloat16 inputs": lambda a, b: summed(rounded(a, 8), rounded(b, 8)),
    "float16 accumulation": lambda a, b: summed(a, b, 11),
    "sums of 14 bits": lambda a, b: summed(a, b, 14),
    "sums of 20 bits": lambda a, b: summed(a, b, 20),
    "sums of 22 bits": lambda a, b: summed(a, b, 22),
    "split K, 4 parts in bfloat16": lambda a, b: split(a, b, 4, 8),
    "split K, 4 parts in float16": lambda a, b: split(a, b, 4, 11),
}


def recorded(values, dtype):
    if dtype != "bfloat16":
        return values.astype(dtype)
    return Tensor.of((values.astype(np.float32).view(np.uint32) >> 16).astype(np.uint16), "bfloat16")


def values_of(tensor):
    if tensor.dtype == "bfloat16":
        return (tensor.bits.astype(np.uint32) << 16).view(np.float32).astype(np.float64)
    return tensor.numpy().astype(np.float64)


class Tool:
    def __init__(self, program, folder):
        self.program, self.folder = program, pathlib.Path(folder)

    def run(self, *arguments, may_fail=False):
        done = subprocess.run([self.program, *map(str, arguments)], capture_output=True, text=True)
        if done.returncode not in ((0, 1, 3, 4) if may_fail else (0,)):
            sys.exit(f"{' '.join(map(str, arguments))}: {done.stderr or done.stdout}")

    def generate(self, op, dtype, shape, *options, to="cases.h5"):
        self.run("generate", op, "--dtype", dtype, "--shape", shape, *options, "--out",
                 self.folder / to, "-q")
        return self.folder / to

    def gate(self, file, *options):
        report = self.folder / "report.json"
        self.run("gate", file, *options, "--standard", "expected_error", "--json", report, "-q",
                 may_fail=True)
        return json.loads(report.read_text())["cases"]


def rms_ratio(case, producer, right):
    golden = values_of(case.golden)
    return np.sqrt(((values_of(case.recorded[producer]) - golden) ** 2).mean() /
                   ((values_of(case.recorded[right]) - golden) ** 2).mean())


def told(tool, file, machine, right, count):
    """For each producer of a file: the factor on the root mean square, and how many cases fail."""
    factors = collections.defaultdict(list)
    with open_dataset(file) as data:
        for case in data:
            for producer in case.recorded:
                factors[producer].append(rms_ratio(case, producer, right))
    result = {}
    for producer, ratios in factors.items():
        cases = tool.gate(file, "--recorded", producer, "--machine", machine)
        failed = sum(case["outcome"] == "fail" for case in cases)
        assert len(cases) == count
        result[producer] = (float(np.mean(ratios)), failed, len(cases))
    return result


def products(tool, depth, output, count):
    """float32 operands on the 910B."""
    file = tool.generate("matmul", "float32", f"64,{depth},64", "--output-dtype", output,
                         "--count", count)
    names = {fault: fault.replace(" ", "_").replace(",", "") for fault in FAULTS}

    def with_outputs():
        with open_dataset(file) as data:
            for case in data:
                a, b = values_of(case.inputs["a"]), values_of(case.inputs["b"])
                for fault, compute in FAULTS.items():
                    case.recorded[names[fault]] = recorded(rounded(compute(a, b), BITS[output]),
                                                          output)
                yield case
    write(tool.folder / "recorded.h5", with_outputs())
    found = told(tool, tool.folder / "recorded.h5", "ascend910b", names["right"], count)
    return {fault: found[name] for fault, name in names.items()}


def promotions(tool, depth, output, count):
    """8-bit floats on an H100, whose sums should be promoted every 128 terms and are not."""
    file = tool.generate("matmul", "float8_e4m3fn", f"64,{depth},64", "--output-dtype", output,
                         "--count", count, "--parameter", "promotion_interval=128")
    plain = tool.generate("matmul", "float8_e4m3fn", f"64,{depth},64", "--output-dtype", output,
                          "--count", count, to="plain.h5")
    for source, to in ((file, "right.h5"), (plain, "never.h5")):
        tool.run("emulate", source, "--machine", "hopper", "--out", tool.folder / to, "-q")

    def with_outputs():
        with open_dataset(tool.folder / "right.h5") as right, open_dataset(tool.folder / "never.h5") as never:
            for case, other in zip(right, never):
                case.recorded = {"right": case.recorded["hopper"], "never": other.recorded["hopper"]}
                case.machines = {"right": "hopper", "never": "hopper"}
                yield case
    write(tool.folder / "recorded.h5", with_outputs())
    found = told(tool, tool.folder / "recorded.h5", "hopper", "right", count)
    return {"right, promoted float8": found["right"], "missing promotion": found["never"]}


def table(tool, depths, count):
    lines = ["| | " + " | ".join(f"{output}, K = {k}" for output in BITS for k in depths) + " |",
             "|" + " --- |" * (1 + len(BITS) * len(depths))]
    cells = collections.defaultdict(list)
    for output in BITS:
        for depth in depths:
            for of in (products, promotions):
                for fault, (factor, failed, cases) in of(tool, depth, output, count).items():
                    cells[fault].append(f"{factor:#.4g}: {failed} of {cases}")
    lines += [f"| {fault} | " + " | ".join(row) + " |" for fault, row in cells.items()]
    return "".join(line + "\n" for line in lines)


DRAWN = ["normal", "normal,mean=1", "uniform,low=0.9,high=1.1", "student_t,nu=2",
         "lognormal,sigma=2", "outlier_channels", "subnormals", "identical_columns",
         "constant_columns", "integers", "correlated"]
MACHINES = ["ascend910b", "hopper", "ampere", "ada", "volta", "blackwell", "cpu_fma", "cpu_mul_add"]
FLOATS = ["float16", "bfloat16", "float32"]
OPERATORS = [("matmul", FLOATS + ["float8_e4m3fn", "float8_e5m2"], ["9,130,17", "1,1,1", "32,512,32"],
              [[], ["--output-dtype", "float32"], ["--parameter", "split_k=32"]]),
             ("dot", ["float16", "bfloat16"], ["40,48"], [[]]),
             ("scaled_matmul", ["float8_e4m3fn", "float8_e5m2", "int8"], ["9,300,17"],
              [["--parameter", "a_scaling=row", "--parameter", "b_scaling=row"],
               ["--parameter", "a_scaling=1x128", "--parameter", "b_scaling=128x128",
                "--output-dtype", "bfloat16"]]),
             *((op, FLOATS, ["300"], [[]]) for op in ("add", "sub", "mul", "fma")),
             # What units make of 0 / 0 the parameter says.
             ("div", FLOATS, ["300"], [["--parameter", "saturate=1"]]),
             *((op, FLOATS, ["30,70"], [["--parameter", "axis=1"], ["--parameter", "axis=0",
                                                                  "--parameter", "order=sequential"]])
               for op in ("reduce_sum", "reduce_mean", "reduce_max")),
             *((op, FLOATS, ["20,60"], [[]]) for op in ("softmax", "layernorm", "rmsnorm")),
             ("attention", FLOATS, ["24,40,16"], [[], ["--parameter", "tile=16"]])]


def right_results(tool, wanted):
    counts, seed = collections.Counter(), 0
    while sum(counts.values()) < wanted:
        for op, dtypes, shapes, variants in OPERATORS:
            for options in variants:
                arguments = [x for d in dtypes[1:] for x in ("--dtype", d)]
                arguments += [x for s in shapes[1:] for x in ("--shape", s)]
                arguments += [x for d in DRAWN for x in ("--distribution", d)]
                file = tool.generate(op, dtypes[0], shapes[0], *arguments, *options, "--seed", seed)
                for machine in MACHINES:
                    for case in tool.gate(file, "--machine", machine):
                        if case["outcome"] == "not_comparable":
                            continue
                        notes = " ".join(note for v in case["verdicts"] for note in v.get("notes", []))
                        by = "own bound" if "own bound" in notes else "theory"
                        counts[case["outcome"], by] += 1
                        if case["outcome"] == "fail" or "more precision" in notes:
                            print(machine, case["case"], case["because"], notes, flush=True)
            print(op, dict(counts), flush=True)
        seed += 1


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("assay")
    parser.add_argument("--print", action="store_true", help="write nothing into the page")
    parser.add_argument("--cases", type=int, default=100, help="of each cell")
    parser.add_argument("--depths", type=int, nargs="+", default=[128, 512])
    parser.add_argument("--right", type=int, default=0, help="so many right cases instead")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        tool = Tool(asked.assay, folder)
        if asked.right:
            right_results(tool, asked.right)
            return
        made = table(tool, asked.depths, asked.cases)
    if asked.print:
        print(made, end="")
        return
    page = PAGE.read_text()
    head, rest = page.split(BEGIN)
    PAGE.write_text(head + BEGIN + made + END + rest.split(END)[1])


if __name__ == "__main__":
    main()
