"""Tests that no command overwrites a file that it reads or would read later.

For every kind of input and every command, strace lists the files that the command opened or tried
to open. Then each of them is tried as the target of each option that writes a file. ctest runs it
as tools.overwriting. Exits with 77 if strace cannot be used here."""

import hashlib
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

import h5py
import numpy as np

ASSAY = os.environ["ASSAY"]
SOURCE = pathlib.Path(__file__).resolve().parents[2]
PLAN = {"schema": 1, "name": "small", "seed": 1, "published": "published.csv",
        "defaults": {"machine": "cpu_fma", "faults": [{"census": 2}]},
        "cells": [{"dataset": "product.h5", "case": "*", "gates": ["v_abft"]}]}

# The commands that read files. Each has its options that write a file, and the words that follow
# these options, if there are any.
COMMANDS = {
    "gate a file": ("gate own.h5 --recorded npu", "--json --junit --html --csv --save-failures"),
    "gate two files": ("gate own.h5 --outputs outputs.h5",
                       "--json --junit --html --csv --save-failures"),
    "gate folders": ("gate g --outputs o --baseline baseline.json --known-failures known.json "
                     "--standards standards.json",
                     "--json --junit --html --csv --save-failures"),
    "gate a machine's file": ("gate product.h5 --machine machine.json", "--json --html"),
    "gate pairs": ("gate --pairs 'o/*.bin' 'g/*.bin'", "--json --csv --save-failures"),
    "gate a glob": ("gate 'g/../own*.h5' --recorded npu", "--json --save-failures"),
    "gate both sides": ("gate s", "--json --html --csv"),
    "gate an unpacked folder": ("gate u --recorded npu", "--json --junit"),
    "gate ttk": ("gate ttk/dump --table ttk/cases.csv --recorded dyn", "--json --html --csv"),
    "gate ttk's own table": ("gate t --recorded dyn", "--json --csv"),
    "gate msprobe": ("gate msprobe/bench --outputs msprobe/npu", "--json --html"),
    "gate a sample": ("gate sample --dtype float32 --golden-dtype float32", "--json --html"),
    "compare": ("compare x.bin y.bin --dtype float32", "--json"),
    "compare archives": ("compare g/z.npz o/z.npz", "--json"),
    "compare in a file": ("compare own.h5:/cases/a/outputs/npu own.h5:/cases/a/golden", "--json"),
    "regate": ("regate result.json --standard torch --standards standards.json", "--json"),
    "join": ("join part1.json part2.json", "--json"),
    "pack": ("pack g --outputs o", "--out"),
    "golden": ("golden own.h5", "--out"),
    "emulate": ("emulate own.h5 --machine cpu_fma", "--out"),
    "emulate a machine's file": ("emulate product.h5 --machine machine.json", "--out"),
    "inject": ("inject own.h5 --recorded npu --fault flip,bit=1", "--out"),
    "identify": ("identify product.h5 --recorded npu", "--json --out"),
    "audit": ("audit own.h5 --rounded --draws 1 --no-searches --standards standards.json",
              "--json --html", "-- /usr/bin/python3 check.py {output} {golden}"),
    "trial": ("trial add --draws 1 --max-elements 4", "--json --junit --html --out",
              "-- /usr/bin/python3 check.py {inputs} {output}"),
    "trial that goes on": ("trial add --machine exact --emulate --resume trial.json --draws 2 --max-elements 64",
                           "--json --junit --html"),
    "trial shards": ("trial --merge trial.json", "--json --junit --html"),
    "campaign": ("campaign plan.json --out fresh", "--json --csv"),
    "campaign that goes on": ("campaign plan.json --out camp --resume", "--json --csv"),
    "merge": ("merge shard1 shard2 --out fresh", "--json --csv"),
    "report": ("report camp", "--html"),
    "report a file": ("report camp/results.json", "--html"),
    "list": ("list standards", "--json"),
}
# `golden`, `emulate` and `inject` may replace their own file.
IN_PLACE = {"golden": "own.h5", "emulate": "own.h5", "inject": "own.h5",
            "emulate a machine's file": "product.h5"}
# Paths of files that do not exist yet, and that a later run would read.
LATER = {
    "gate folders": ["g/new.npy", "o/deep/new.safetensors", "g/new.h5", "o/x.bin.json", "g/n.bin"],
    "gate pairs": ["o/new.bin", "g/new.bin"],
    "gate a glob": ["own_new.h5"],
    "gate both sides": ["s/npu/new.npy"],
    "gate an unpacked folder": ["u/new.npy"],
    "gate ttk's own table": ["t/other.csv"],
    "gate msprobe": ["msprobe/npu/step0/rank0/dump_tensor_data/new.npy"],
    "compare": ["y.bin.json"],
    "pack": ["g/p.h5"],
    "campaign that goes on": ["camp/blocks/000099.txt", "camp/results.csv"],
    "merge": ["shard1/new.json", "shard1/blocks/new.json"],
    "report": ["camp/blocks/000099.txt"],
    "list": ["machines/new.json"],
}


def save(folder, arrays):
    folder.mkdir(parents=True, exist_ok=True)
    for name, array in arrays.items():
        np.save(folder / f"{name}.npy", array)


def make_inputs(root):
    """Makes a folder with every kind of input."""
    x = np.arange(1, 7, dtype=np.float32).reshape(2, 3)

    def cases(name, producer):
        with h5py.File(root / name, "w") as f:
            f.attrs["assay_schema"] = 1
            group = f.create_group("cases/a")
            group.attrs.update({"op": "relu", "rtol": 1e-3, "atol": 1e-3})
            for part, values in {"inputs/x": x, "golden": x.astype(np.float64),
                                 f"outputs/{producer}": x}.items():
                group.create_dataset(part, data=values).attrs["dtype"] = str(values.dtype)

    cases("own.h5", "npu")
    cases("outputs.h5", "gpu")
    with h5py.File(root / "product.h5", "w") as f:
        f.attrs["assay_schema"] = 1
        group = f.create_group("cases/p")
        group.attrs["op"] = "matmul"
        a = np.arange(1, 65, dtype=np.float32).reshape(8, 8) / 7
        for part, values in {"inputs/a": a, "inputs/b": a.T.copy(), "golden": a.astype(np.float64) @ a.T,
                             "outputs/npu": a @ a.T}.items():
            group.create_dataset(part, data=values).attrs["dtype"] = str(values.dtype)
    for side in "go":
        save(root / side, {"q": x})
        np.savez(root / side / "z.npz", a=x, b=x)
        x.tofile(root / side / "x.bin")
        (root / side / "x.bin.json").write_text('{"dtype": "float32", "shape": [2, 3]}')
    (root / "o/x.bin.json").unlink()
    save(root / "s/gold", {"q": x})
    save(root / "s/npu", {"q": x})
    for name in "xy":
        x.tofile(root / f"{name}.bin")
    (root / "x.bin.json").write_text('{"dtype": "float32", "shape": [2, 3]}')
    for tree in ("ttk", "msprobe", "sample"):
        shutil.copytree(SOURCE / "datasets/interop" / tree, root / tree)
    shutil.copytree(root / "ttk/dump", root / "t")
    shutil.copy(root / "ttk/cases.csv", root / "t/cases.csv")
    shutil.copy(SOURCE / "datasets/published/seed_tables.csv", root / "published.csv")
    (root / "plan.json").write_text(json.dumps(PLAN))
    (root / "standards.json").write_text(
        '{"standards": [{"name": "own", "why": "a test", '
        '"dtypes": {"float32": {"rtol": 1, "atol": 1}}}]}')
    (root / "check.py").write_text("import sys\n")
    (root / "known.json").write_text('{"schema": 1, "known_failures": []}')
    (root / "machines").mkdir()
    for words in (["unpack", "own.h5", "--as", "npy", "--out", "u"],
                  ["gate", "own.h5", "--json", "result.json", "--histograms"],
                  ["gate", "g", "--outputs", "o", "--shard", "1/2", "--json", "part1.json"],
                  ["gate", "g", "--outputs", "o", "--shard", "2/2", "--json", "part2.json"],
                  ["gate", "g", "--outputs", "o", "--baseline", "baseline.json", "--update-baseline"],
                  ["trial", "add", "--machine", "exact", "--emulate", "--draws", "1", "--max-elements", "64",
                   "--out", "trial.json"],
                  ["campaign", "plan.json", "--out", "camp"],
                  ["campaign", "plan.json", "--out", "shard1", "--shard", "1/2"],
                  ["campaign", "plan.json", "--out", "shard2", "--shard", "2/2"]):
        ran = subprocess.run([ASSAY, *words], cwd=root, capture_output=True, text=True)
        assert ran.returncode == 0, (words, ran)
    (root / "machine.json").write_text(json.dumps(
        {"schema": 1, "name": "team", "summary": "a test", "device": "none", "driver": "none",
         "date": "2026-01-31", "evidence": "none", "vector_unit": "cpu_fma",
         "matrix_unit": [{"input": "float32", "chunk": 16}]}))


def state_of(root):
    return {str(path.relative_to(root)): hashlib.sha256(path.read_bytes()).hexdigest()
            for path in sorted(root.rglob("*")) if path.is_file()}


class Overwriting(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.base = pathlib.Path(tempfile.mkdtemp())
        cls.addClassCleanup(shutil.rmtree, cls.base)
        make_inputs(cls.base)

    def setUp(self):
        self.root = pathlib.Path(tempfile.mkdtemp()) / "w"
        self.addCleanup(shutil.rmtree, self.root.parent)
        shutil.copytree(self.base, self.root)

    def run_line(self, line, options="", behind="", trace=None):
        traced = f"strace -f -qq -e trace=open,openat -o {trace} " if trace else ""
        return subprocess.run(["sh", "-c", f"{traced}{ASSAY} {line} {options} {behind}"], cwd=self.root,
                              capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=300,
                              env={**os.environ, "ASSAY_MACHINES": str(self.root / "machines")})

    def opened(self, line, behind):
        """Returns the files under the folder that were opened for reading, or that the command
        tried to open."""
        log = self.root.parent / "log"
        needed = ""
        if line.startswith(("pack", "golden", "emulate", "inject")):
            needed = "--out made.h5"
        elif line.startswith("report"):
            needed = "--html made.html"
        ran = self.run_line(line, needed, behind, log)
        self.assertIn(ran.returncode, (0, 1, 3, 4), (line, ran))
        paths = set()
        for match in re.finditer(r'open(?:at)?\((?:AT_FDCWD, )?"([^"]+)", ([A-Z_|]+)', log.read_text()):
            path, flags = match.groups()
            if any(flag in flags for flag in ("O_WRONLY", "O_RDWR", "O_DIRECTORY", "O_TMPFILE")):
                continue
            within = os.path.relpath(os.path.join(self.root, path), self.root)
            if not within.startswith("..") and not within.startswith(("made", "fresh")):
                paths.add(within)
        shutil.rmtree(self.root)
        shutil.copytree(self.base, self.root)
        return sorted(path for path in paths if (self.root / path).is_file())

    def expect_refused(self, name, line, option, target, behind):
        before = state_of(self.root)
        ran = self.run_line(line, f"{option} '{target}'", behind)
        where = (name, option, target, ran)
        self.assertEqual(ran.returncode, 2, where)
        self.assertRegex(ran.stderr, r"is an input|which is an input|would both write|folder of machine files",
                         where)
        self.assertIn(os.path.basename(target), ran.stderr, where)
        self.assertEqual(state_of(self.root), before, where)

    def test_what_was_opened(self):
        tried = 0
        for name, (line, options, *behind) in COMMANDS.items():
            behind = behind[0] if behind else ""
            with self.subTest(name):
                opened = self.opened(line, behind)
                if name != "list":
                    self.assertTrue(opened, name)
                for target in opened:
                    for option in options.split():
                        if option == "--out" and IN_PLACE.get(name) == target:
                            continue
                        self.expect_refused(name, line, option, target, behind)
                        tried += 1
        self.assertGreater(tried, 200)

    def test_what_would_be_opened_later(self):
        for name, targets in LATER.items():
            line, options, *behind = COMMANDS[name]
            for target in targets:
                for option in options.split():
                    self.expect_refused(name, line, option, target, behind[0] if behind else "")

    def test_links_to_what_is_read(self):
        os.symlink("own.h5", self.root / "link.json")
        os.link(self.root / "own.h5", self.root / "hard.json")
        os.symlink("g", self.root / "folder")
        for target in ("link.json", "hard.json", "./g/../own.h5", "folder/q.npy"):
            line = "gate g --outputs o" if "q.npy" in target else "gate own.h5"
            self.expect_refused(target, line, "--json", target, "")

    def test_two_reports_in_one_place(self):
        os.symlink("same", self.root / "link")
        os.symlink("link", self.root / "link_to_link")
        os.symlink(".", self.root / "here")
        for other in ("same", "./same", "link", "link_to_link", "here/same"):
            for first in ("same", "link"):
                ran = self.run_line("gate own.h5", f"--json {first} --junit {other}")
                self.assertEqual(ran.returncode, 2, (first, other, ran))
                self.assertIn("would both write", ran.stderr)
                self.assertFalse((self.root / "same").exists())

    def test_reports_beside_what_is_read(self):
        for line, options in (("gate g --outputs o", "--json g/r.json --html o/page.html"),
                              ("gate own.h5", "--json own.json --junit own.xml"),
                              ("compare g/q.npy o/q.npy", "--json g/q.npy.json"),
                              ("report camp", "--html camp/page.html")):
            for _ in range(2):
                ran = self.run_line(line, options)
                self.assertEqual((ran.returncode, ran.stderr), (0, ""), (line, options))


if __name__ == "__main__":
    if subprocess.run(["strace", "-f", "-o", "/dev/null", "true"], capture_output=True).returncode != 0:
        print("strace cannot be used here")
        sys.exit(77)
    unittest.main(verbosity=2)
