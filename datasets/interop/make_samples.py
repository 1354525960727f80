#!/usr/bin/env python3
"""Writes small sample trees beside this script, one for each layout that teams have. Needs only
numpy.

    python3 datasets/interop/make_samples.py [FOLDER]

The layouts are those of docs/interop.md. Data and names are made here. In sides/ and ttk/ one output
is wrong on purpose, and its name says so (bad). In msprobe/ the second call is wrong on one side.
"""
import csv
import hashlib
import json
import math
import pathlib
import shutil
import sys

import numpy as np

rng = np.random.default_rng(17)


def bfloat16(x):
    """Returns the bits of float32 values rounded to bfloat16, ties to even."""
    bits = np.asarray(x, np.float32).view(np.uint32).astype(np.uint64)
    return ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype(np.uint16)


def of_bfloat16(bits):
    return (bits.astype(np.uint32) << 16).view(np.float32)


def product(a, b):
    """Returns the product in float64, with each element the exact sum rounded once. A BLAS adds in
    a different order on each processor."""
    a, b = a.astype(np.float64), b.astype(np.float64)
    return np.array([[math.fsum(row * column) for column in b.T] for row in a])


def put(path, array):
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.suffix == ".npy":
        np.save(path, array)
    else:
        path.write_bytes(np.ascontiguousarray(array).tobytes())


def sides(root):
    """Writes .npy files with the same names to a folder of golden results and a folder of outputs."""
    for name in ("attention/q", "attention/k", "mlp/up"):
        golden = rng.standard_normal((4, 32)).astype(np.float32)
        put(root / "gold" / f"{name}.npy", golden)
        put(root / "out" / f"{name}.npy", golden * np.float32(1 + 2e-7))
    bad = rng.standard_normal((4, 32)).astype(np.float32)
    put(root / "gold" / "mlp/down_bad.npy", bad)
    bad = bad.copy()
    bad[2, 5] += 1
    put(root / "out" / "mlp/down_bad.npy", bad)


def pairs(root):
    """Writes raw bytes with a team's own names. Nothing in the names says which dtype and shape the files hold."""
    for i in range(3):
        golden = rng.standard_normal((8, 16)).astype(np.float32)
        put(root / "gold" / f"add_golden_{i}.bin", golden)
        put(root / "out" / f"add_output_{i}.bin", bfloat16(golden))
    put(root / "gold" / "add_golden_3.bin", golden)


COLUMNS = ["testcase_name", "op_name", "input_shapes", "input_dtypes", "output_shapes",
           "output_dtypes", "attributes", "precision_tolerances", "absolute_precision"]


def ttk(root):
    """Writes TTK's data for replay, dumps of a run, and their case table."""
    rows = []
    manual, dump = root / "manual", root / "dump"

    a = rng.standard_normal((64, 16)).astype(np.float16)  # K, M: transposed
    b = rng.standard_normal((64, 24)).astype(np.float16)
    golden = product(a.T, b)
    put(manual / "mm_01" / "input_0_float16.bin", a)
    put(manual / "mm_01" / "input_1_float16.bin", b)
    put(manual / "mm_01" / "input_2_none.bin", np.zeros(0, np.int8))
    put(manual / "mm_01" / "golden_0_float32__shape_16x24.bin", golden.astype(np.float32))
    put(dump / "mm_01_dyn_output_0.bin", golden.astype(np.float16))
    put(dump / "mm_01_const_output_0.bin", golden.astype(np.float16))
    put(dump / "mm_01_golden_0.bin", golden.astype(np.float16))
    put(dump / "mm_01_dyn_tiling_data.bin", np.arange(32, dtype=np.uint8))
    rows.append(["mm_01", "mat_mul_v3", "((64, 16), (64, 24), None, None)",
                 "('float16', 'float16', 'float16', 'int8')", "((16, 24),)", "('float16',)",
                 "{'transpose_x1': True, 'transpose_x2': False, 'offset_x': 0, '#enable_pad': 1}",
                 "((0.001, 0.001),)", "1e-08"])

    x, y = rng.standard_normal((2, 4, 8)).astype(np.float32)
    put(manual / "add_01" / "input_0_float32.bin", x)
    put(manual / "add_01" / "input_1_float32.bin", y)
    put(manual / "add_01" / "golden_0_float32__shape_4x8.bin", x + y)
    put(dump / "add_01_dyn_output_0.npy", x + y)
    put(dump / "add_01_const_output_0.npy", x + y)
    put(dump / "add_01_golden_0.npy", x + y)
    put(dump / "add_01_fail_output_0.npy", x + y)
    put(dump / "add_01_fail_golden_0.npy", x + y)
    put(dump / "add_01_xpu_golden_0.npy", x + y)
    rows.append(["add_01", "add", "((4, 8), (4, 8))", "('float32',)", "((4, 8),)", "('float32',)",
                 "{}", "", ""])

    # A case with several outputs; the last one is not compared. The case's name cannot be the name
    # of a folder.
    values = rng.standard_normal((3, 5)).astype(np.float32)
    name = "sort: rows"
    folder = "sort__rows_" + hashlib.sha256(name.encode()).hexdigest()[:12]
    order = np.argsort(values, axis=1)
    put(manual / folder / "input_0_float32.npy", values)
    np.save(manual / folder / "golden_0_float32.npy", np.sort(values, axis=1))
    np.save(manual / folder / "golden_1_int64.npy", order)
    (manual / folder / "golden_2_none.npy").write_bytes(b"")
    for variant in ("dyn", "const"):
        put(dump / f"{name}_{variant}_output_0.npy", np.sort(values, axis=1))
        put(dump / f"{name}_{variant}_output_1.npy", order)
        put(dump / f"{name}_{variant}_output_2.npy", values)
    rows.append([name, "sort", "((3, 5),)", "('float32',)", "((3, 5), (3, 5), (3, 5))",
                 "('float32', 'int64', 'float32')", "{'axis': -1, 'descending': False}", "", ""])

    # numpy has no bfloat16, so it is written as bytes of its width. This output is the wrong one.
    z = rng.standard_normal((2, 8, 4)).astype(np.float32)
    scaled = bfloat16(z).copy()
    put(manual / "scale_bad" / "input_0_bfloat16.bin", scaled)
    put(manual / "scale_bad" / "golden_0_bfloat16__shape_2x8x4.bin", scaled)
    for variant in ("dyn", "const"):
        wrong = scaled.copy()
        wrong[1, 3, 2] ^= 0x0200
        put(dump / f"scale_bad_{variant}_output_0.npy", wrong.view("V2"))
    put(dump / "scale_bad_golden_0.npy", scaled.view("V2"))
    rows.append(["scale_bad", "my_scale", "((2, 8, 4),)", "('bfloat16',)", "((2, 8, 4),)",
                 "('bfloat16',)", "{'mode': 'fast', 'axes': (0, 1)}", "", ""])

    with open(root / "cases.csv", "w", newline="") as f:
        writer = csv.writer(f)
        writer.writerow(COLUMNS)
        writer.writerows(rows)


def sample(root):
    """Writes the files of an Ascend sample project. They are raw bytes whose dtype only the project's gen_data.py
    knows."""
    a = rng.standard_normal((16, 32)).astype(np.float16)
    b = rng.standard_normal((32, 8)).astype(np.float16)
    golden = product(a, b).astype(np.float32)
    put(root / "input" / "x1_gm.bin", a)
    put(root / "input" / "x2_gm.bin", b)
    put(root / "output" / "golden.bin", golden)
    put(root / "output" / "output.bin", golden)


def msprobe(root):
    """Writes two dumps of msprobe of one step. The results of the second call differ, and so do those of the calls
    after it."""
    x = rng.standard_normal((4, 16)).astype(np.float32)
    w = rng.standard_normal((16, 16)).astype(np.float32)
    for side in ("npu", "bench"):
        data = {}
        arrays = root / side / "step0" / "rank0" / "dump_tensor_data"

        def tensor(name, array):
            put(arrays / f"{name}.npy", array)
            values = array.astype(np.float64).ravel()
            return {"type": "torch.Tensor", "dtype": "torch.float32", "shape": list(array.shape),
                    "Max": float(array.max()), "Min": float(array.min()),
                    "Mean": math.fsum(values) / array.size,
                    "Norm": math.sqrt(math.fsum(values * values)),
                    "data_name": f"{name}.npy"}

        def call(api, inputs, outputs):
            data[f"{api}.forward"] = {
                "input_args": [tensor(f"{api}.forward.input.{i}", v) for i, v in enumerate(inputs)],
                "input_kwargs": {},
                "output": [tensor(f"{api}.forward.output.{i}", v) for i, v in enumerate(outputs)]}

        linear = product(x, w).astype(np.float32)
        call("Functional.linear.0", [x, w], [linear])
        act = np.maximum(linear, 0)
        if side == "npu":
            act = act.copy()
            act[1] += np.float32(0.5)
        call("Functional.relu.0", [linear], [act])
        call("Functional.linear.1", [act, w], [product(act, w).astype(np.float32)])
        out = {"task": "tensor", "level": "L1", "framework": "pytorch",
               "dump_data_dir": str(arrays.relative_to(root)), "data": data}
        (arrays.parent / "dump.json").write_text(json.dumps(out, indent=1))
        (arrays.parent / "stack.json").write_text("{}\n")
        (arrays.parent / "construct.json").write_text("{}\n")


def main():
    here = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parent)
    for make in (sides, pairs, ttk, sample, msprobe):
        shutil.rmtree(here / make.__name__, ignore_errors=True)
        make(here / make.__name__)


if __name__ == "__main__":
    main()
