#!/usr/bin/env python3
"""same_bits.py FOLDER ASSAY OTHER...: runs two builds of assay on the same jobs and compares what they write
byte for byte, except times and the names of programs and folders. The jobs write draws, golden results, emulated
outputs, verdicts with all their numbers, and campaigns. ASSAY is a program. OTHER is a program, too, with its emulator
before it if it needs one. Exit code 1 if a byte differs.

As in: same_bits.py /tmp/bits build/release/bin/assay qemu-aarch64-static -L build/arm64-sysroot build/arm64/bin/assay
"""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import time

import h5py

ROOT = pathlib.Path(__file__).resolve().parents[2]
SAMPLES = ROOT / "datasets" / "samples"

PLAN = {
    "schema": 1, "name": "bits", "seed": 1,
    "defaults": {"machine": "ascend910b", "shape": [32, 256, 64], "clean_rows": 256, "faults": [{"census": 4}]},
    "cells": [{"dtype": ["bfloat16", "float16"], "distribution": [{"draw": "normal,mean=1"}, {"draw": "uniform"}],
               "gates": ["v_abft,arithmetic=output", "a_abft", "rounding_variance"]}]}


def jobs():
    """Yields (name, arguments) of each job. The files that it names are in the folder in which the program runs."""
    for name in ("operators", "operators_fp8"):
        yield f"generate {name}", ["generate", "--from", SAMPLES / f"{name}.txt", "--out", f"{name}.h5", "--golden",
                                   "--tolerance", "-q"]
    kinds = [w for dtype in ("float16", "bfloat16", "float32") for w in ("--dtype", dtype)]
    kinds += [w for draw in ("normal,mean=1", "uniform", "clamped_normal", "truncated_normal", "folded_normal")
              for w in ("--distribution", draw)]
    yield "draws", ["generate", "matmul", *kinds, "--shape", "16,64,32", "--count", "2", "--golden", "--tolerance",
                    "--out", "draws.h5", "-q"]
    for path in sorted(SAMPLES.glob("*.h5")):
        yield f"golden {path.stem}", ["golden", path, "--out", f"golden_{path.stem}.h5", "-q"]
    for machine in ("ascend910b", "hopper"):
        yield f"emulate operators {machine}", ["emulate", "operators.h5", "--machine", machine, "--out",
                                               f"emulated_{machine}.h5", "-q"]
    for name in ("hopper_mma", "hopper_functions", "hopper_attention", "hopper_corners", "hopper_tf32"):
        yield f"emulate {name}", ["emulate", SAMPLES / f"{name}.h5", "--machine", "hopper", "--out",
                                  f"emulated_{name}.h5", "-q"]
    for path in sorted(SAMPLES.glob("*.h5")):
        machine = "ascend910b" if path.stem.startswith(("transformer", "operators")) else "hopper"
        recorded = ["--machine", machine]
        yield f"gate {path.stem}", ["gate", path, *recorded, "--json", f"gate_{path.stem}.json", "--histograms", "-q"]
        yield f"gate {path.stem} with checksums", ["gate", path, *recorded, "--abft", "rounding_variance", "--json",
                                                   f"abft_{path.stem}.json", "--histograms", "-q"]
    yield "campaign", ["campaign", "plan.json", "--out", "campaign", "--json", "campaign.json", "--csv",
                       "campaign.csv", "-q"]


def run(program, arguments, folder):
    begin = time.monotonic()
    # No process may open the files first: under an emulator, it would start the emulator and not assay.
    done = subprocess.run([*program, *map(str, arguments), "--trust"], cwd=folder, capture_output=True, text=True, check=False)
    return (done.returncode, done.stdout, done.stderr), time.monotonic() - begin


def files_of(folder):
    return {str(p.relative_to(folder)): p for p in sorted(folder.rglob("*")) if p.is_file()}


def without_circumstances(path, place):
    """Returns the bytes of a file without what depends on the run: seconds, and the names of program and folder."""
    data = path.read_bytes()
    if path.suffix == ".json":
        def kept(value):
            if isinstance(value, dict):
                return {k: kept(v) for k, v in value.items() if k not in ("seconds", "command", "reproduce")}
            return [kept(v) for v in value] if isinstance(value, list) else value
        return json.dumps(kept(json.loads(data))).encode()
    return data.replace(str(place).encode(), b"") if path.suffix == ".txt" else data


def elements_that_differ(one, other):
    """Describes what differs between two HDF5 files, for people to read."""
    found = []
    with h5py.File(one) as a, h5py.File(other) as b:
        def look(name, item):
            if name not in b:
                found.append(f"{name} is missing")
            elif isinstance(item, h5py.Dataset) and item[()].tobytes() != b[name][()].tobytes():
                found.append(name)
            elif name in b:
                found.extend(f"{name}@{key}: {value} and {b[name].attrs.get(key)}" for key, value in item.attrs.items()
                             if repr(value) != repr(b[name].attrs.get(key)))
        a.visititems(look)
    return found


def main():
    folder = pathlib.Path(sys.argv[1]).resolve()
    programs = [[os.path.abspath(sys.argv[2])], [os.path.abspath(w) if os.path.exists(w) else w for w in sys.argv[3:]]]
    places = [folder / "one", folder / "other"]
    for place in places:
        shutil.rmtree(place, ignore_errors=True)
        place.mkdir(parents=True)
        (place / "plan.json").write_text(json.dumps(PLAN), encoding="utf-8")
    differ = compared = size = 0
    for name, arguments in jobs():
        before = set(files_of(places[0]))
        (one, first), (other, second) = (run(p, arguments, place) for p, place in zip(programs, places))
        left, right = files_of(places[0]), files_of(places[1])
        bad = [] if one == other else [f"exit code and words: {one[0]} {one[2][:300]!r}, {other[0]} {other[2][:300]!r}"]
        if one[0] == 2:
            bad.append(f"the job itself is wrong: {one[2][:300]!r}")
        if set(left) - before != set(right) - before:
            bad.append(f"other files: {(set(left) ^ set(right)) - before}")
        for path in sorted((set(left) & set(right)) - before):
            a, b = (without_circumstances(f[path], p) for f, p in zip((left, right), places))
            compared, size = compared + 1, size + len(a)
            if a != b:
                bad.append(path)
                bad += elements_that_differ(left[path], right[path])[:8] if path.endswith(".h5") else []
        differ += bool(bad)
        print(f"{'differs' if bad else 'same'}: {name} (exit code {one[0]}; {first:.1f} s, {second:.1f} s)", flush=True)
        for line in bad:
            print(f"  {line}", flush=True)
    print(f"{compared} files of {size} bytes compared; {differ} jobs differ")
    return 1 if differ or not compared else 0


if __name__ == "__main__":
    sys.exit(main())
