"""Damages a few bytes of each dataset file and gives the files to the program `assay`.

The program must answer, or report an error in a sentence. A signal, a hang or unlimited memory is a
loss.

    damaged_files.py ASSAY FOLDER [--files 200] [--seed 1] [--also FILE ...]

Prints the number of files, their outcomes, and the name of each lost file, which stays in FOLDER.
Exits with 1 if any file was lost."""

import argparse
import collections
import os
import pathlib
import random
import subprocess
import sys

import h5py
import numpy as np

import losses

SECONDS = 60  # the program's own limit for a small file is 5 s of its processor, and 100 s of the clock
MEMORY_KIB = 6 << 20
WORDS = [b"GCOL", b"OHDR", b"OCHK", b"TREE", b"SNOD", b"HEAP", b"FRHP", b"FHDB", b"BTHD", b"BTLF"]


def make(path, **how):
    """Cases with what h5py writes: strings of variable length, some with more than eight attributes."""
    libver = how.pop("libver", "earliest")
    draw = np.random.default_rng(7)
    with h5py.File(path, "w", libver=libver) as f:
        f.attrs["assay_schema"] = 1
        f.attrs["description"] = "made to be damaged"
        for case in range(4):
            group = f.create_group(f"cases/mm{case}")
            group.attrs["op"] = "matmul"
            for i in range(2 if case % 2 else 12):
                group.attrs[f"x_note{i}"] = "of a team " * (i + 1)
            a, b = (draw.standard_normal((24, 24), dtype=np.float32) for _ in range(2))
            tensors = {"inputs/a": a, "inputs/b": b, "outputs/npu": a @ b,
                       "golden": a.astype(np.float64) @ b.astype(np.float64)}
            for name, values in tensors.items():
                data = group.create_dataset(name, data=values, **how)
                data.attrs["dtype"] = str(values.dtype)


BASES = {
    "plain": {},
    "deflate": {"chunks": (8, 8), "compression": "gzip", "shuffle": True},
    "fletcher32": {"chunks": (24, 8), "fletcher32": True},
    "latest": {"libver": "latest", "chunks": (8, 8)},
    "latest_plain": {"libver": "latest"},
}


def damaged(data, draw):
    """Returns the data with a few bytes flipped, overwritten or moved, mostly where HDF5's own structures lie."""
    data = bytearray(data)
    places = [i for word in WORDS for i in range(len(data)) if data.startswith(word, i)]
    for _ in range(draw.choice([1, 1, 2, 3, 6])):
        if places and draw.random() < 0.7:
            at = min(draw.choice(places) + int(draw.expovariate(1 / 150)), len(data) - 1)
        else:
            at = draw.randrange(len(data))
        kind = draw.randrange(5)
        if kind == 0:
            data[at] ^= 1 << draw.randrange(8)
        elif kind == 1:
            data[at] = draw.choice([0, 1, 0x7F, 0x80, 0xFF, draw.randrange(256)])
        elif kind == 2:
            size = draw.choice([2, 4, 8])
            value = draw.choice([0, 1, 2**31, 2**32 - 1, 2**63 - 1, 2**64 - 1, len(data), at])
            data[at:at + size] = (value % 2**(8 * size)).to_bytes(size, "little")
        else:
            size, other = draw.choice([4, 8, 16]), draw.randrange(len(data))
            data[at:at + size] = data[other:other + size]
    return bytes(data)


def run(command):
    """Returns the outcome of a command: "answered", "refused", or how it was lost."""
    limited = ["/bin/sh", "-c", f'ulimit -v {MEMORY_KIB}; ulimit -c 0; exec "$@"', "sh"] + command
    if os.environ.get("ASSAY_SANITIZED"):  # sanitizers take very much address space, so it is not limited
        limited = command
    try:
        done = subprocess.run(limited, capture_output=True, timeout=SECONDS, stdin=subprocess.DEVNULL)
    except subprocess.TimeoutExpired:
        return "hung"
    if done.returncode < 0 or done.returncode > 4:
        return f"ended with {done.returncode}"
    said = done.stderr.decode("utf-8", "replace")
    if done.returncode == 2 and not done.stdout and not said.startswith("error: "):
        return "said nothing"
    return "answered" if done.returncode in (0, 1) else "refused"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("assay")
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--files", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--also", nargs="*", default=[])
    asked = parser.parse_args()
    asked.folder.mkdir(parents=True, exist_ok=True)
    sources = []
    for name, how in BASES.items():
        path = asked.folder / f"base_{name}.h5"
        make(path, **how)
        sources.append((name, path.read_bytes()))
    # Files that assay itself writes are damaged, too.
    for options in [], ["--compress"]:
        path = asked.folder / "base_own.h5"
        subprocess.run([asked.assay, "pack", str(asked.folder / "base_plain.h5"), "--out", str(path)]
                       + options, check=True, capture_output=True)
        sources.append(("own" + "".join(options).replace("--", "_"), path.read_bytes()))
    for path in asked.also:
        sources.append((pathlib.Path(path).stem, pathlib.Path(path).read_bytes()))

    counts, lost = collections.Counter(), []
    for i in range(asked.files):
        draw = random.Random(f"{asked.seed}/{i}")
        name, data = sources[i % len(sources)]
        path = asked.folder / f"{name}_{asked.seed}_{i}.h5"
        path.write_bytes(damaged(data, draw))
        kept = False
        for command in (["inspect", str(path)], ["gate", str(path), "--recorded", "npu"],
                        ["golden", str(path), "--out", str(asked.folder / "out.h5")]):
            came = run([asked.assay] + command)
            if came not in ("answered", "refused"):
                lost.append(f"{path}: {command[0]}: {came}")
                kept = True
                came = "lost"
            counts[command[0] + " " + came] += 1
        if not kept:
            path.unlink()
    return losses.report(f"{asked.files} damaged files, {sum(counts.values())} runs", counts, lost)


if __name__ == "__main__":
    sys.exit(main())
