"""Flips single bits of a file that assay wrote, and gates the file. One case of it fails, and no
flip may turn this failure into a pass.

    flipped_bits.py ASSAY FOLDER [--bits 400 | --all] [--seed 1] [--compress]

Prints how many bits were flipped and what the outcomes were. Exits with 1 if a flip made a pass or
ended the program."""

import argparse
import collections
import pathlib
import random
import subprocess
import sys

import h5py
import numpy as np

import losses

SECONDS = 120


def make(assay, folder, compress):
    plain, own = folder / "plain.h5", folder / "own.h5"
    draw = np.random.default_rng(3)
    with h5py.File(plain, "w") as f:
        f.attrs["assay_schema"] = 1
        x = draw.standard_normal((4, 6), dtype=np.float32)
        group = f.create_group("cases/relu/off")
        group.attrs.update({"op": "relu", "rtol": 1e-3, "atol": 1e-3})
        wrong = np.maximum(x, 0) * np.float32(1.01)
        for name, values in {"inputs/x": x, "golden": np.maximum(x, 0).astype(np.float64),
                             "outputs/npu": wrong}.items():
            group.create_dataset(name, data=values).attrs["dtype"] = str(values.dtype)
    subprocess.run([assay, "pack", plain, "--out", own] + ["--compress"] * compress, check=True,
                   capture_output=True)
    return own


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("assay")
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--bits", type=int, default=400)
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--compress", action="store_true")
    asked = parser.parse_args()
    asked.folder.mkdir(parents=True, exist_ok=True)
    own = make(asked.assay, asked.folder, asked.compress)
    data = own.read_bytes()
    gate = [asked.assay, "gate", "--recorded", "npu"]
    if subprocess.run(gate + [own], capture_output=True).returncode != 1:
        sys.exit("the file itself does not fail")
    bits = range(8 * len(data))
    if not asked.all:
        # Three quarters of the flips are drawn from nonzero bytes, because much of a file is zeros between its
        # structures. The others are drawn from all bytes.
        full = [8 * i + b for i in range(len(data)) if data[i] for b in range(8)]
        draw = random.Random(asked.seed)
        bits = sorted(draw.sample(full, min(asked.bits * 3 // 4, len(full))) +
                      draw.sample(bits, asked.bits // 4))
    counts, lost = collections.Counter(), []
    flipped = asked.folder / "flipped.h5"
    for bit in bits:
        changed = bytearray(data)
        changed[bit // 8] ^= 1 << bit % 8
        flipped.write_bytes(changed)
        try:
            code = subprocess.run(gate + [flipped], capture_output=True, timeout=SECONDS).returncode
        except subprocess.TimeoutExpired:
            code = "hung"
        counts[code] += 1
        if code not in (1, 2, 3, 4):
            lost.append(f"bit {bit}: {code}")
    words = {1: "still fail", 2: "are refused", 3: "are not comparable", 4: "are untrusted"}
    named = {words.get(code, f"ended with {code}"): n for code, n in counts.items()}
    return losses.report(f"{len(bits)} single bits of {len(data)} bytes flipped, one at a time",
                         named, lost)


if __name__ == "__main__":
    sys.exit(main())
