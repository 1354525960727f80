"""Makes the inputs that fuzzing begins with, by the project's own tools: make_corpus.py ASSAY [FOLDER].

Writes a few small files of every kind to FOLDER, or to tests/fuzz/corpus if it is not given. The folder
found/ holds the inputs that fuzzing found. No script makes those."""

import json
import pathlib
import random
import re
import struct
import subprocess
import sys
import tempfile

import h5py
import numpy as np

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
MOST = 2048  # the largest number of bytes of a file of arrays


def hdf5(assay, out, work):
    def case(path, cases=1, attributes=2, **how):
        libver = how.pop("libver", "earliest")
        with h5py.File(path, "w", libver=libver) as f:
            f.attrs["assay_schema"] = 1
            f.create_dataset("data", data=np.arange(6, dtype=np.float32).reshape(2, 3), **how)
            for i in range(cases):
                group = f.create_group(f"cases/a{i}")
                group.attrs["op"] = "relu"
                for j in range(attributes):
                    group.attrs[f"x_{j}"] = "note" if j % 2 else np.float64(j)
                x = np.arange(1, 7, dtype=np.float32).reshape(2, 3)
                for name, values in {"inputs/x": x, "golden": x.astype(np.float64), "outputs/npu": x}.items():
                    group.create_dataset(name, data=values, **how).attrs["dtype"] = str(values.dtype)

    case(out / "latest", libver="latest")
    case(out / "latest_attributes", libver="latest", attributes=10)
    case(out / "latest_chunks", libver="latest", chunks=(1, 2))
    case(out / "earliest")
    case(out / "deflate", chunks=(2, 3), compression="gzip", shuffle=True)
    case(out / "fletcher32", chunks=(2, 2), fletcher32=True)
    case(work / "plain.h5")
    subprocess.run([assay, "pack", work / "plain.h5", "--out", work / "own.h5"], check=True, capture_output=True)
    (out / "own").write_bytes((work / "own.h5").read_bytes())


def array_formats(assay):
    """Returns {name: (endings, whether assay writes them)} from `assay list array_formats`."""
    table = subprocess.run([assay, "list", "array_formats"], check=True, capture_output=True, text=True).stdout
    rows = [re.split(r" {2,}", line) for line in table.splitlines()[1:]]
    return {row[0]: (row[1].split(", "), row[4] != "none") for row in rows}


def arrays(assay, out, work):
    subprocess.run([sys.executable, "-B", ROOT / "tests/datasets/array_files.py", "make", work], check=True)
    said = {entry["path"].split(":")[0] for entry in json.loads((work / "manifest.json").read_text())
            if "error" not in entry}
    for kind, (endings, is_written) in array_formats(assay).items():
        if kind == "hdf5":
            continue
        small = sorted((path.stat().st_size, path.name) for path in work.iterdir()
                       if path.suffix in endings and path.stat().st_size <= MOST and path.name in said)
        if not small and is_written:
            subprocess.run([assay, "unpack", work / "plain.h5", "--as", kind, "--out", work / kind], check=True,
                           capture_output=True)
            for path in (work / kind).rglob("*" + endings[0]):
                (out(kind) / path.name).write_bytes(path.read_bytes())
        most = {"npy": 12, "pt": 14, "safetensors": 8}.get(kind, 10)
        step = max(1, len(small) // most)
        for _, name in small[::step][:most]:
            (out(kind) / name).write_bytes((work / name).read_bytes())


def cells(out):
    text = {"plain": "a,b\n1,2\n\"x,\"\"y\"\"\",\n", "bom": "\ufeffa\r\n1\r\n"}
    for name, table in text.items():
        (out / name).write_text("\0" + table, newline="")
    (out / "ttk").write_text("\1" + (ROOT / "datasets/interop/ttk/cases.csv").read_text(), newline="")
    published = (ROOT / "datasets/published/seed_tables.csv").read_text().splitlines(True)
    (out / "published").write_text("\2" + "".join(published[:12]), newline="")
    for name, literal in {"literal": "{'a': (1, -2.5e3, None), \"b\": [True, 'x\\n']}",
                          "bare": "1, (2,), 'it\\'s'"}.items():
        (out / name).write_text("\3" + literal, newline="")


def dump(out, name, value, before=""):
    (out / name).write_text(before + (value if isinstance(value, str) else json.dumps(value)))


PLAN = {"schema": 1, "name": "p", "about": "t", "seed": 1, "published": "x.csv",
        "remarks": [{"algorithm": "A-ABFT", "dtype": "bfloat16", "distribution": "n", "direction": "0to1",
                     "shape": [1, 2, 3], "bits": [15], "remark": "r"}],
        "variants": [{"gate": "v_abft", "names": ["V"]}],
        "defaults": {"machine": "ascend910b", "shape": [4, 8, 4], "clean_rows": 4, "faults": [{"census": 2}]},
        "cells": [{"name": "c", "dtype": ["bfloat16", "float16"], "rows": 2, "output_dtype": "float32",
                   "distribution": [{"draw": "normal,mean=1", "name": "n", "published": ["m"]},
                                    {"a": "normal", "b": "uniform,low=-2,high=3"}],
                   "gates": ["v_abft", "standard:torch", "tolerance"],
                   "precision": {"half_width": 0.1, "confidence": 0.9, "looks": 3}}]}


def configurations(out):
    dump(out("plan"), "all", PLAN)
    other = {"schema": 1, "name": "q", "cells": [
        {"operator": ["relu", "softmax"], "machine": ["ascend910b", "hopper"], "dtype": "float16",
         "shape": [[4], [2, 3]], "distribution": {"draw": "normal", "x": "uniform"}, "gates": "tolerance",
         "attributes": {"axis": 1, "scale": 0.5, "mode": "m"}, "clean_rows": 1,
         "faults": [{"fault": "flip,bit=3", "trials": 4, "per_matrix": 2, "class": "f"},
                    {"census": 1, "bits": [0, 3], "direction": "1to0"}]},
        {"dataset": "x.h5", "case": "a*", "recorded": "npu", "operator": "matmul", "gates": ["a_abft"],
         "clean_rows": 1}]}
    dump(out("plan"), "others", other)
    for name in "sites", "attention", "field":
        plan = json.loads((ROOT / f"plans/{name}.json").read_text())
        plan["cells"] = plan["cells"][:2]
        dump(out("plan"), name, plan)
    standard = {"name": "my_ops", "why": "w", "repository": "r", "round_expected": True, "nan": "equal",
                "infinity": "sign", "max_mismatches": 3, "max_mismatch_fraction": 1e-4, "growth": "atb",
                "dtypes": {"float16": {"rtol": 1e-3, "atol": 1e-4, "small_value": 1e-5, "small_atol": 1e-6},
                           "float32": {"rtol": 1, "rule": "largest", "floor": 1, "in_epsilon": True, "or_ulp": 2},
                           "bfloat16": {"ulp": 2, "share": 0.1, "limits": {"cosine": 0.999}},
                           "int8": {"bits": True},
                           "*": {"limits": {"mere": {"at_most": 1e-4, "grows": True}, "share_ulp": 0.01},
                                 "parameters": {"share_ulp": 4},
                                 "any_of": [{"cosine": {"at_least": 0.99}, "max_abs_error": 1},
                                            {"quantile_abs_error": {"at_most": 1e-5, "parameter": 0.99},
                                             "mare": 1}]}}}
    dump(out("standards"), "all", {"standards": [standard]})
    dump(out("standards"), "two", {"standards": [
        {"name": n, "why": "w", "dtypes": {"*": {"ulp": 1}}} for n in ("a", "b")]})
    known = lambda v: {"value": v, "how": "measured"}  # noqa: E731
    machine = {"schema": 1, "name": "team", "summary": "s", "device": "d", "driver": "v", "date": "2026-01-31",
               "evidence": "e.h5", "vector_unit": "ascend910b", "bias_first": known(True),
               "matrix_unit": [
                   {"input": "float16", "chunk": known(16), "rounding": "nearest_even", "order": "pairwise"},
                   {"input": "bfloat16", "chunk": 4, "order": "fused", "kept_bits": known(24), "alignment":
                    "toward_zero", "emax_floor": -133, "accumulator": "float32", "mantissa_bits": 13,
                    "flush_inputs": True, "flush_sums": False, "sum_bits": 25, "interleave": 2, "reach": 25},
                   {"input": "float32", "chunk": 1, "order": "sequential", "round_products": True,
                    "promotion_interval": 128},
                   {"input": "int8", "overflow": "wrap"}]}
    dump(out("machine"), "all", machine)
    dump(out("machine"), "least", {"schema": 1, "name": "m", "matrix_unit": [{"input": "float16", "chunk": 1}]})


def results(assay, out, work):
    # The outcome does not matter. The file has the words of the command, but no folder of this machine.
    subprocess.run(["assay", "gate", "plain.h5", "--recorded", "npu", "--json", "gate.json", "--histograms"],
                   executable=pathlib.Path(assay).resolve(), cwd=work, capture_output=True)
    dump(out, "gate", json.loads((work / "gate.json").read_text()), chr(1))
    dump(out, "baseline", {"schema": 2, "baseline": [
        {"file": "g.h5", "case": "a", "output_name": "", "producer": "npu", "standard": "torch", "repeats": 2,
         "metrics": {"cosine": [0.99, 1], "max_abs_error": "inf"}}]}, chr(2))
    plan = {"schema": 1, "name": "p", "cells": [{"dtype": "bfloat16", "shape": [4, 8, 4], "distribution": "normal",
            "gates": ["v_abft"], "clean_rows": 4, "faults": [{"census": 1, "bits": [3]}]}]}
    dump(work, "plan.json", plan)
    subprocess.run([assay, "campaign", work / "plan.json", "--out", work / "campaign"], check=True,
                   capture_output=True)
    dump(out, "campaign", json.loads((work / "campaign/results.json").read_text()), chr(0))
    dump(out, "known", {"schema": 1, "known_failures": [
        {"cases": "a/*", "reason": "r", "expires": "2027-01-31", "output": "o", "standard": "torch"}]}, chr(3))
    subprocess.run([assay, "unpack", work / "plain.h5", "--as", "npy", "--out",
                    work / "unpacked"], check=True, capture_output=True)
    dump(out, "manifest", json.loads((work / "unpacked/assay_cases.json").read_text()), chr(4))
    step = next((ROOT / "datasets/interop/msprobe/npu").rglob("dump.json"))
    dump(out, "msprobe", json.loads(step.read_text()), chr(5))
    dump(out, "raw", {"dtype": "bfloat16", "shape": [2, 3]}, chr(6))
    dump(out, "safetensors", {"a": {"dtype": "BF16", "shape": [2], "data_offsets": [0, 4]},
                              "__metadata__": {"x": "y"}}, chr(7))


FAULTS = ["flip,bit=14,direction=0to1,site=tile,seed=7", "flip,bit=3,site=periodic,every=64", "add,ulps=-2,at=3:17",
          "burst,bit=3,length=4,site=row,count=3", "flips,bits=1:5:63", "stuck_at_1,bit=3,site=column", "wrong_row,rows=2", "add,value=1e-3",
          "flip,bit=2,site=accumulator,step=3", "flip,bit=1,site=input,input=x,when=before"]
THRESHOLDS = ["v_abft,variant=recalibrated,e_max=1e-3", "rounding_variance,groups=16,columns,confirm",
              "a_abft_original,top=2", "v_abft,arithmetic=output", "analytic,lambda=3", "rounding_variance,kappa=5"]
DISTRIBUTIONS = ["normal,mean=1,deviation=0.5", "uniform,low=-6,high=6", "clamped_normal", "student_t,nu=4"]


def words(out):
    for number, texts in enumerate((FAULTS, THRESHOLDS, DISTRIBUTIONS, ["bf16", "torch.float16", "fp8", "float17"])):
        for i, text in enumerate(texts):
            (out("fault") / f"{number}_{i}").write_text(chr(number) + text)
    lines = ["gate g.h5 --recorded npu --standard torch --rtol 1e-3 --json r.json",
             "gate g.h5 --abft v_abft,variant=recalibrated --machine ascend910b --threads 4",
             "compare a.bin b.bin --dtype float32 --shape 2,3 --equal-nan --max-mismatches 3",
             "generate relu --dtype float32 --shape 8,8 --seed 3 --out o.h5", "list machines",
             "inject g.h5 --fault flip,bit=14,seed=1 --recorded npu --out b.h5",
             "calibrate --machine ascend910b --dtype float16 --threads 2", "inspect --verify g.h5",
             "campaign p.json --out r --shard 1/4 --resume", "emulate g.h5 --machine hopper --verify",
             "pack d --out o.h5 --compress", "study --help", "audit --standard=torch", "--version"]
    for i, line in enumerate(lines):
        (out("command_line") / str(i)).write_bytes(line.replace(" ", "\0").encode())
    draw = random.Random(1)
    reals = [0.0, -0.0, 1.5, 65504.0, 65520.0, 448.0, 464.0, 2.0**-24, 2.0**-25, 1e-45, 3.4028235e38, float("inf"),
             float("nan"), 2.0**-133, 1 / 3]
    for start in range(0, 32, 4):
        data = b"".join(struct.pack("<BBdQQ", f, draw.randrange(256), draw.choice(reals) * draw.choice([1, -1]),
                                    draw.choice([0, 1, 0x7F, 0x80, 0x7C00, 0xFF800000, draw.getrandbits(64)]),
                                    draw.getrandbits(64))
                        for f in range(start, start + 4) for _ in range(3))
        (out("formats") / str(start)).write_bytes(data)


def main():
    assay = pathlib.Path(sys.argv[1]).resolve()
    folder = pathlib.Path(sys.argv[2]) if len(sys.argv) > 2 else HERE / "corpus"

    def out(target):
        (folder / target).mkdir(parents=True, exist_ok=True)
        return folder / target

    with tempfile.TemporaryDirectory() as work:
        work = pathlib.Path(work)
        hdf5(assay, out("hdf5"), work)
        arrays(assay, out, work)
        cells(out("csv"))
        configurations(out)
        results(assay, out("json"), work)
        words(out)


if __name__ == "__main__":
    main()
