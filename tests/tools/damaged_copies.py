"""Damages a few bytes of dataset files that hold more than tensors, and copies their cases with
every command that can.

The result must be a copy, or an error in a sentence. A signal, a hang or the use of 1 GiB of memory
is a loss.

    damaged_copies.py ASSAY FOLDER [--files 200] [--seed 1]

The files hold strings and sequences of variable length, references, named types, virtual datasets
and compounds, as h5py writes them for HDF5 1.6 and for the newest version. First the script checks
that each whole file is copied as it is. If the package `assay` can be imported, Python's writer
copies as well. Prints the number of files, their outcomes, and the name of each lost file, which
stays in FOLDER. Exits with 1 if any file was lost."""

import argparse
import collections
import os
import pathlib
import random
import shutil
import signal
import subprocess
import sys
import time

import h5py
import numpy as np

import damaged_files
import losses

try:
    import assay
except ImportError:
    assay = None

SECONDS = 60
MOST_KIB = 1 << 20
TEXT = h5py.string_dtype()
INTEGERS = h5py.vlen_dtype("<i4")
MIXED = np.dtype([("count", "<i4"), ("word", TEXT), ("scale", "<f8", (2, 3))])
WORDS = ["", "a", "of a team", "x" * 5000, "\u00fc" * 3]


def ragged(*lengths):
    values = np.empty(len(lengths), dtype=object)
    values[:] = [np.arange(n, dtype="<i4") for n in lengths]
    return values


def add_other_things(f, group, chunks):
    """Adds objects that are not tensors. They are copied, or left out with a note."""
    how = {"chunks": (4,), "maxshape": (None,), "compression": "gzip"} if chunks else {}
    group["x_words"] = group.create_dataset("words", data=np.array(WORDS, dtype=object), dtype=TEXT, **how)
    group.create_dataset("square", data=np.array(WORDS[:4], dtype=object).reshape(2, 2), dtype=TEXT)
    group.create_dataset("word", data="only one", dtype=TEXT)
    group.create_dataset("fixed", data=np.array([b"ab", b"c"], dtype="S4"))
    group.create_dataset("unwritten", shape=(7,), dtype=TEXT, **how)
    group.create_dataset("nothing", data=h5py.Empty("f4"))
    ragged_data = group.create_dataset("ragged", shape=(4,), dtype=INTEGERS, **how)
    ragged_data[:] = ragged(3, 2, 900, 1)
    mixed = np.zeros(3, dtype=MIXED)
    for i in range(3):
        mixed[i] = (i, WORDS[i], np.full((2, 3), i / 3))
    group.create_dataset("mixed", data=mixed, dtype=MIXED, **how)
    pair = np.dtype([("at", "<i8"), ("of", ">f4")])
    pairs = group.create_dataset("pairs", shape=(2,), dtype=h5py.vlen_dtype(pair))
    pairs[0] = np.array([(1, 0.5), (2, 0.25)], dtype=pair)
    pairs[1] = np.array([(3, 0.125)], dtype=pair)
    group["named"] = np.dtype([("re", "<f4"), ("word", TEXT)])
    group["named_text"] = TEXT
    group.create_dataset("of_named", data=np.array([(1, "a"), (2, "b")], dtype=group["named"].dtype),
                         dtype=group["named"])
    group["named"].attrs["x_note"] = "of a type"
    attributes = group.attrs
    attributes["x_word"] = "variable"
    attributes["x_bytes"] = np.bytes_("fixed")
    attributes["x_words"] = WORDS[:3]
    attributes["x_none"] = h5py.Empty("f8")
    attributes.create("x_ragged", ragged(2, 5), dtype=INTEGERS)
    attributes.create("x_mixed", mixed, dtype=MIXED)
    attributes.create("x_array", np.arange(6, dtype=">i2").reshape(2, 3))
    attributes.create("x_named", "of a named type", dtype=group["named_text"])
    for i in range(8):
        attributes[f"x_note{i}"] = "of a team " * i
    # Objects that refer to something else.
    group.create_dataset("references", data=np.array([group.ref], dtype=object), dtype=h5py.ref_dtype)
    attributes["x_reference"] = group.ref
    layout = h5py.VirtualLayout(shape=(2, 24), dtype="<f4")
    layout[0] = h5py.VirtualSource(".", group["inputs/a"].name, shape=(24, 24))[0]
    group.create_virtual_dataset("virtual", layout)
    group.create_dataset("outside", shape=(4,), dtype="<f4", external=[("outside.bin", 0, 16)])


LEFT_OUT = {"references", "virtual", "outside", "@x_reference"}


def make(path, libver="earliest", chunks=False):
    draw = np.random.default_rng(7)
    with h5py.File(path, "w", libver=libver) as f:
        f.attrs["assay_schema"] = 1
        for case in range(2):
            group = f.create_group(f"cases/mm{case}")
            group.attrs["op"] = "matmul"
            group.attrs["rtol"] = group.attrs["atol"] = 1e-9
            a, b = (draw.standard_normal((24, 24), dtype=np.float32) for _ in range(2))
            golden = a.astype(np.float64) @ b.astype(np.float64)
            for name, values in {"inputs/a": a, "inputs/b": b, "outputs/npu": (a @ b) * np.float32(1.5),
                                 "golden": golden}.items():
                group.create_dataset(name, data=values).attrs["dtype"] = str(values.dtype)
        add_other_things(f, f["cases/mm0"], chunks)


BASES = {"plain": {}, "chunks": {"chunks": True}, "latest": {"libver": "latest"},
         "latest_chunks": {"libver": "latest", "chunks": True}}

COPY = "copy.h5"


def commands(file):
    return {
        "pack": ["pack", file, "--out", COPY],
        "golden": ["golden", file, "--out", COPY],
        "emulate": ["emulate", file, "--machine", "exact", "--out", COPY],
        "inject": ["inject", file, "--fault", "flip,bit=30", "--recorded", "npu", "--out", COPY],
        "save_failures": ["gate", file, "--recorded", "npu", "--save-failures", COPY],
        "unpack": ["unpack", file, "--as", "npy", "--out", "unpacked"],
    }


def values_of(path):
    """Returns all objects of the case that has more than tensors, by name. Attributes stand behind
    '@'."""
    found = {}

    def plain(value):
        if isinstance(value, h5py.Empty):
            return ("empty", str(value.dtype))
        if isinstance(value, (np.ndarray, list, tuple, np.void)):
            return [plain(each) for each in value]
        return value.decode() if isinstance(value, bytes) else value

    with h5py.File(path) as f:
        def look(name, item):
            if isinstance(item, h5py.Datatype):
                found[name] = item.dtype.descr
            elif isinstance(item, h5py.Dataset):
                found[name] = (str(item.dtype), item.shape, item.maxshape, plain(item[()]))
            for key in item.attrs:
                if item.attrs.get_id(key).dtype.kind != "O" or key != "x_reference":
                    found[f"{name}@{key}"] = plain(item.attrs[key])
            if "x_bytes" in item.attrs:
                found["x_bytes is bytes"] = isinstance(item.attrs["x_bytes"], bytes)
            for key in item.attrs:
                if not key.startswith("x_") and isinstance(item.attrs[key], bytes):
                    found[f"{name}@{key} is bytes"] = True
        group = f["cases/mm0"]
        look("", group)
        for name in ["references", "virtual", "outside"]:
            if name in group:
                found[name] = "is there"
        group.visititems(lambda name, item: None if name in LEFT_OUT else look(name, item))
    return found


def check_whole(program, folder, base):
    """Returns what is wrong with the copies of a whole file."""
    wrong = []
    before = values_of(folder / base)
    for name, words in commands(base).items():
        for old in folder.glob(COPY):
            old.unlink()
        shutil.rmtree(folder / "unpacked", ignore_errors=True)
        done = subprocess.run([program] + words, cwd=folder, capture_output=True, text=True)
        if done.returncode != (1 if name == "save_failures" else 0):
            wrong.append(f"{base}: {name} exits with {done.returncode}: {done.stderr}")
            continue
        if name == "unpack":
            continue
        after = values_of(folder / COPY)
        for what, value in before.items():
            if what in LEFT_OUT:
                continue
            replaced = what.startswith("golden") or what.startswith("outputs")
            if not replaced and after.get(what) != value:
                wrong.append(f"{base}: {name}: {what} was {value} and is {after.get(what)}")
        if len(after) < len(before) - len(LEFT_OUT):
            wrong.append(f"{base}: {name}: {len(before)} things were there, and {len(after)} are")
        for said in [
                "the attribute 'x_reference' of /cases/mm0 (and 1 more) is left out of copy.h5: it refers "
                "to objects of the file",
                "/cases/mm0/virtual is left out of copy.h5: it is a virtual dataset; its data lie elsewhere",
                "/cases/mm0/outside is left out of copy.h5: it keeps its data in an external file; a dataset "
                "file must hold all its data"]:
            if f"note: {said}\n" not in done.stderr:
                wrong.append(f"{base}: {name} does not say: {said}\n{done.stderr}")
    return wrong


def places_of_references(data):
    """Returns the positions of the addresses of global heap collections. Each address is part of a
    reference."""
    heaps = [i for i in range(len(data)) if data.startswith(b"GCOL", i)]
    return [i for heap in heaps for i in range(len(data) - 8)
            if data.startswith(heap.to_bytes(8, "little"), i)]


def damaged(data, references, draw):
    """Damages a file. In half of the files it overwrites bytes at or beside a reference, in the others any bytes."""
    if draw.random() < 0.5:
        return damaged_files.damaged(data, draw)
    data = bytearray(data)
    for _ in range(draw.choice([1, 1, 2, 4])):
        at = draw.choice(references) + draw.randrange(-4, 12)
        size = draw.choice([1, 1, 2, 4, 8])
        value = draw.choice([0, 1, 0xFF, 2**31, 2**32 - 1, 2**64 - 1, len(data), draw.randrange(2**16)])
        data[at:at + size] = (value % 2**(8 * size)).to_bytes(size, "little")
    return bytes(data)


def wait(pid):
    """Returns how the process ended, and its memory in KiB. The memory includes that of the
    processes that it waited for."""
    end = time.monotonic() + SECONDS
    while True:
        done, status, used = os.wait4(pid, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status), used.ru_maxrss
        if time.monotonic() > end:
            os.kill(pid, signal.SIGKILL)
            os.wait4(pid, 0)
            return "hung", 0
        time.sleep(0.002)


def came_of(code, memory, said):
    if code == "hung":
        return code
    if code < 0 or code > 4:
        return f"ended with {code}"
    if memory >= MOST_KIB and not os.environ.get("ASSAY_SANITIZED"):
        return f"took {memory} KiB"
    if code == 2 and "error: " not in said:
        return "said nothing"
    return "answered" if code in (0, 1) else "refused"


def run(program, words, folder):
    with open(folder / "said.txt", "w+", errors="replace") as said:
        process = subprocess.Popen([program] + words, cwd=folder, stdin=subprocess.DEVNULL,
                                   stdout=subprocess.DEVNULL, stderr=said)
        code, memory = wait(process.pid)
        process.returncode = 0  # wait() has waited for the process, so Popen must not
        said.seek(0)
        return came_of(code, memory, said.read())


def run_python(program, file, folder):
    """Copies a file by Python's writer, for which the program `assay` checks the file first (docs/reliability.md)."""
    pid = os.fork()
    if pid == 0:
        code = 3
        try:
            os.chdir(folder)
            os.environ["ASSAY_FILE_CHECKER"] = program
            shutil.copy(file, "python.h5")
            with assay.open("python.h5", layout="dataset") as cases:
                name = cases.case_names()[0]
                cases.put_output(name, "python", np.zeros((24, 24), np.float32))
            code = 0
        except (assay.FileError, assay.CaseError, ValueError):
            pass
        finally:
            os._exit(code)
    code, memory = wait(pid)
    return came_of(code, memory, "")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("assay")
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--files", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args()
    folder = asked.folder.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "outside.bin").write_bytes(bytes(16))
    sources, lost = [], []
    for name, how in BASES.items():
        path = folder / f"base_{name}.h5"
        make(path, **how)
        lost += check_whole(asked.assay, folder, path.name)
        sources.append((name, path.read_bytes()))
    # A copy is stored as assay itself stores files. It is one more file to damage and to copy.
    own = folder / "base_own.h5"
    subprocess.run([asked.assay, "pack", "base_plain.h5", "--out", own.name], cwd=folder, check=True,
                   capture_output=True)
    sources.append(("own", own.read_bytes()))
    sources = [(name, data, places_of_references(data)) for name, data in sources]

    counts = collections.Counter()
    for i in range(asked.files):
        draw = random.Random(f"{asked.seed}/{i}")
        name, data, references = sources[i % len(sources)]
        file = f"{name}_{asked.seed}_{i}.h5"
        (folder / file).write_bytes(damaged(data, references, draw))
        kept = False
        runs = {command: lambda words=words: run(asked.assay, words, folder)
                for command, words in commands(file).items()}
        if assay is not None:
            runs["python"] = lambda: run_python(asked.assay, file, folder)
        for command, once in runs.items():
            shutil.rmtree(folder / "unpacked", ignore_errors=True)
            came = once()
            if came not in ("answered", "refused"):
                lost.append(f"{file}: {command}: {came}")
                kept = True
                came = "lost"
            counts[command + " " + came] += 1
        if not kept:
            (folder / file).unlink()
    return losses.report(f"{asked.files} damaged files, {sum(counts.values())} runs", counts, lost)


if __name__ == "__main__":
    sys.exit(main())
