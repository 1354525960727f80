"""Tests texts in files that could steer a terminal, forge a line or break a report.

They pass through every command and every report of the program `assay`. Its prints may contain only
a list of allowed characters, and Python's own parsers read its reports. ctest runs this as
tools.hostile_texts."""

import csv
import html.parser
import io
import json
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import tempfile
import unittest
import xml.etree.ElementTree

import h5py
import numpy as np

ASSAY = os.environ["ASSAY"]
SOURCE = pathlib.Path(__file__).resolve().parents[2]
# Hostile parts of a text: a colour sequence, a bell, a forged line, a line that overwrites, a
# reversed writing direction, DEL, a C1 control, a line separator, markup, and formulas of CSV and
# spreadsheets.
EVIL = ("\x1b[31mred\x1b[2J\x07\nFORGED 9 pass\rFORGED\tx\u202eturned\u2066\x7f\x9b1m\u2028FORGED"
        "<script>alert(1)</script>]]>&\"',=1+1")
SHOWN = ("\\x1b[31mred\\x1b[2J\\x07\\nFORGED 9 pass\\rFORGED\\tx\\u202eturned\\u2066\\x7f\\u009b1m"
         "\\u2028FORGED")
# The same text without the characters that files written by people may not hold.
PLAIN = EVIL.replace("\x1b", "").replace("\x07", "").replace("\x7f", "")
LONG = "n" * 10000
BYTES = b"bad\xff\xfe\xc3(name"  # not UTF-8
NOT_PRINTED = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")
LONGEST = 2500  # the most characters of a printed line, except for a line that repeats a command


class Page(html.parser.HTMLParser):
    """Parses a page: its tags and data, and whether its scripts are those that the page declares."""

    def __init__(self, text):
        super().__init__()
        self.scripts, self.policy, self.data, self.inside = [], None, {}, None
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        for name in attributes:
            assert not name.startswith("on"), (tag, attributes)
        if tag == "script":
            self.scripts.append(attributes)
        if attributes.get("http-equiv") == "Content-Security-Policy":
            self.policy = attributes["content"]
        self.inside = attributes.get("id") if tag == "script" else None

    def handle_data(self, data):
        if self.inside is not None:
            self.data[self.inside] = self.data.get(self.inside, "") + data

    def handle_endtag(self, tag):
        self.inside = None


class HostileTexts(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.folder)

    def check_text(self, text, where):
        text = text.decode() if isinstance(text, bytes) else text  # strictly
        found = NOT_PRINTED.search(text)
        self.assertIsNone(found, (where, found and text[max(0, found.start() - 80):found.end() + 20]))
        for line in text.split("\n"):
            self.assertFalse(line.lstrip().startswith("FORGED"), (where, line[:200]))
            if "reproduce" not in line and "-- --" not in line:
                self.assertLess(len(line), LONGEST, (where, line[:300]))

    # Runs a command. Its output must have no raw characters, and its reports must be readable.
    def run_assay(self, *words, code=None, **how):
        ran = subprocess.run([ASSAY, *map(os.fsencode, map(str, words))], capture_output=True,
                             timeout=300, cwd=self.folder, stdin=subprocess.DEVNULL, **how)
        where = [str(word)[:100] for word in words]
        if "-" not in words:
            self.check_text(ran.stdout, where)
        self.check_text(ran.stderr, where)
        self.assertGreaterEqual(ran.returncode, 0, (where, ran))
        if code is not None:
            self.assertEqual(ran.returncode, code, (where, ran.stdout[-2000:], ran.stderr[-2000:]))
        self.check_reports()
        ran.stdout, ran.stderr = ran.stdout.decode(), ran.stderr.decode()
        return ran

    def unpacked_kinds(self):
        table = self.run_assay("list", "array_formats", code=0).stdout.splitlines()[1:]
        return [row.split()[0] for row in table if not row.endswith(" none")] + ["ttk"]

    def check_reports(self):
        for file in filter(pathlib.Path.is_file, self.folder.rglob("report*")):
            text = file.read_bytes().decode()
            if file.suffix == ".json":
                json.loads(text)
            elif file.suffix == ".xml":
                xml.etree.ElementTree.fromstring(text)
            elif file.suffix == ".csv":
                rows = list(csv.reader(io.StringIO(text, newline="")))
                self.assertEqual({len(row) for row in rows}, {len(rows[0])}, file)
            elif file.suffix == ".html":
                page = Page(text)
                self.assertIn("default-src 'none'", page.policy, file)
                self.assertLessEqual(len(page.scripts), 2, file)
                if "data" in page.data:
                    json.loads(page.data["data"])
            self.assertIsNone(NOT_PRINTED.search(text), file)

    # Writes cases whose names and texts `change` may replace with hostile ones.
    def write_cases(self, name, change=None, cases=("a",), op="exp"):
        with h5py.File(self.folder / name, "w") as f:
            f.attrs["assay_schema"] = 1
            for case in cases:
                group = f.create_group(f"cases/{case}")
                group.attrs.update({"op": op, "rtol": 1e-3, "atol": 1e-3})
                x = np.arange(-3, 3, dtype=np.float32).reshape(2, 3)
                for part, values in {"inputs/x": x, "golden": np.maximum(x, 0).astype(np.float64),
                                     "outputs/npu": x}.items():
                    group.create_dataset(part, data=values).attrs["dtype"] = str(values.dtype)
                if change:
                    change(f, group)
        return name

    reports = ("--json", "report.json", "--junit", "report.xml", "--html", "report.html", "--csv",
               "report.csv")

    # Runs every command that reads a dataset file. Any of them may refuse it.
    def all_commands(self, file, producer="npu"):
        for words in (
                ["gate", file, *self.reports],
                ["gate", file, "--recorded", producer, "--histograms", *self.reports],
                ["regate", "report.json", "--standard", "torch", "--json", "report-again.json"],
                ["gate", file, "--recorded", producer, "--abft", "--mutate", "--all", *self.reports],
                ["gate", file, "--recorded", producer, "--json", "-"],
                ["gate", file, "--machine", "ascend910b", "--strict", *self.reports],
                ["gate", file, "--recorded", producer, "--reference-implementation", producer, *self.reports],
                ["gate", file, "--machine", "ascend910b", "--reference-implementation", producer, "--standard",
                 "cann_l0", *self.reports],
                ["gate", file, "--recorded", producer, "--save-failures", "failures.h5"],
                ["gate", file, "--recorded", producer, "--baseline", "base.json", "--update-baseline"],
                ["gate", file, "--recorded", producer, "--baseline", "base.json", *self.reports],
                ["gate", file, "--recorded", producer, "--shard", "1/1", "--json", "report-part.json"],
                ["join", "report-part.json", "--json", "report-joined.json"],
                ["compare", f"{file}:/cases/a/outputs/{producer}", f"{file}:/cases/a/golden",
                 "--json", "report-compare.json"],
                ["compare", file, file, "--json", "report-compare.json"],
                ["inspect", file], ["inspect", file, "--case", "a"], ["inspect", file, "--verify"],
                ["pack", file, "--out", "packed.h5"],
                ["pack", file, "--outputs", file, "--out", "packed.h5"],
                ["emulate", file, "--machine", "ascend910b", "--out", "emulated.h5"],
                ["emulate", file, "--machine", "ascend910b", "--verify"],
                ["golden", file, "--out", "golden.h5"],
                ["inject", file, "--fault", "flip,bit=30", "--out", "faulty.h5"],
                ["identify", file, "--json", "report-identify.json"],
                ["identify", file, "--recorded", producer, "--json", "-"],
                ["audit", file, "--target", "torch", "--target", "gate", "--no-searches",
                 "--recorded", producer, "--json", "report-audit.json", "--html",
                 "report-audit.html", "--draws", "1"],
                ["audit", file, "--rounded", "--draws", "1", "--no-searches", "--json",
                 "report-audit.json", "--html", "report-audit.html", "--", "sh", "-c",
                 f"printf '{BYTES!r}\\n\\033[31mx\\nFORGED\\n' >&2; exit 1", "{output}", "{golden}"]):
            self.run_assay(*words)
        for kind in self.unpacked_kinds():
            shutil.rmtree(self.folder / "unpacked", ignore_errors=True)
            ran = self.run_assay("unpack", file, "--as", kind, "--out", "unpacked")
            self.assertEqual((self.folder / "unpacked").exists(), ran.returncode == 0, (kind, ran))
            if ran.returncode == 0 and kind != "ttk":
                self.run_assay("inspect", "unpacked")
                self.run_assay("gate", "unpacked", *self.reports)
                self.run_assay("pack", "unpacked", "--out", "again.h5")

    # Of HDF5 files.

    def test_producers(self):
        for producer in EVIL.replace("/", "|"), LONG, BYTES:
            def change(f, group):
                group["outputs"].move("npu", producer)
            file = self.write_cases("producers.h5", change, ("a", "b/c"))
            self.all_commands(file, os.fsdecode(producer))
        # A recorded output is judged whatever its producer's name is, and JSON keeps the whole
        # name.
        for producer in EVIL.replace("/", "|"), LONG:
            file = self.write_cases("producers.h5", lambda f, g: g["outputs"].move("npu", producer))
            ran = self.run_assay("gate", file, "--recorded", producer, *self.reports, code=1)
            saved = json.loads((self.folder / "report.json").read_text())
            self.assertEqual(saved["cases"][0]["producer"], producer)
            self.assertIn("1 case: 1 fail\n", ran.stdout)
            # The reproducer line repeats the failure in a shell.
            line = re.search("^reproduce: (.*)$", ran.stdout, re.M)[1].replace("assay", ASSAY, 1) \
                if not ran.stdout.count(ASSAY) else re.search("^reproduce: (.*)$", ran.stdout, re.M)[1]
            again = subprocess.run(["bash", "-c", line], cwd=self.folder, capture_output=True)
            self.assertEqual(again.returncode, 1, again)

    def test_a_name_forges_no_line(self):
        file = self.write_cases("forged.h5", lambda f, g: g["outputs"].move("npu", "x\n\n1 case: 1 pass"))
        ran = self.run_assay("gate", file, "--recorded", "x\n\n1 case: 1 pass", code=1)
        self.assertEqual(re.findall("^1 case.*$", ran.stdout, re.M), ["1 case: 1 fail"])
        self.assertIn("  x\\n\\n1 case: 1 pass  ", ran.stdout)

    def test_inputs_and_operators(self):
        for name in EVIL.replace("/", "|"), LONG, BYTES:
            file = self.write_cases("inputs.h5", lambda f, g: g["inputs"].move("x", name))
            self.all_commands(file)
        for op in EVIL, LONG, BYTES:
            def change(f, group):
                group.attrs["op"] = np.bytes_(op) if isinstance(op, bytes) else op
            self.all_commands(self.write_cases("ops.h5", change))
        self.assertIn(SHOWN, self.run_assay("inspect", self.write_cases(
            "ops.h5", lambda f, g: g.attrs.modify("op", EVIL))).stdout)

    def test_attributes(self):
        texts = [EVIL, LONG, np.bytes_(BYTES)]
        for text in texts:
            def change(f, group):
                for name in "description", "source", "license":
                    f.attrs[name] = text
                group.attrs["tags"] = text
                group.attrs["x_note"] = group.attrs["x_why"] = group.attrs["why"] = text
                group.attrs["max_blind_why"] = text
                group["outputs/npu"].attrs["machine"] = text
                if isinstance(text, str):
                    group.attrs["x_" + text.replace("\0", "")[:200]] = 1
            self.all_commands(self.write_cases("attributes.h5", change))
            def wrong(f, group):
                for name in "rtol", "output_dtype", "standard", "machine":
                    group.attrs[name] = text
            self.all_commands(self.write_cases("wrong.h5", wrong))
        for name in EVIL, LONG[:60000], BYTES:
            self.all_commands(self.write_cases(
                "names.h5", lambda f, g: g.attrs.create(name, 1.5)))

    def test_objects_and_dtypes(self):
        for name in EVIL.replace("/", "|"), LONG, BYTES:
            for group in "", "cases", "cases/a", "cases/a/outputs":
                self.all_commands(self.write_cases("objects.h5", lambda f, g: f.create_group(
                    (group.encode() + b"/" + name) if isinstance(name, bytes) else f"{group}/{name}")))
        for text in EVIL, LONG, np.bytes_(BYTES):
            self.all_commands(self.write_cases(
                "dtypes.h5", lambda f, g: g["golden"].attrs.modify("dtype", text)))

    # The tests from here on are about folders that `assay` writes.

    def files(self):
        return sorted(str(file.relative_to(self.folder)) for file in self.folder.rglob("*"))

    def test_folders_of_ttk(self):
        def change(f, group):
            group.attrs["output_dtype"] = "float32"
        for cases in ("a", "b/c", "b/d"), ("n" * 5000,):
            self.write_cases("slash.h5", change, cases)
            self.run_assay("unpack", "slash.h5", "--as", "ttk", "--out", "t", code=0)
            self.assertEqual(sorted(os.listdir(self.folder / "t")), ["cases.csv", "dump_npu", "manual"])
            self.run_assay("gate", "t/manual", "--outputs", "t/dump_npu", "--table", "t/cases.csv",
                           *self.reports, code=1)
            saved = json.loads((self.folder / "report.json").read_text())["cases"]
            self.assertEqual([(c["case"], c["outcome"]) for c in saved], [(c, "fail") for c in cases])
            shutil.rmtree(self.folder / "t")
        # TTK's own name of a case may be any text of the file.
        for name in "../../out", "/out", ".hidden", EVIL, LONG, "..":
            def named(f, group):
                change(f, group)
                group.attrs["x_name"] = name
            self.write_cases("named.h5", named)
            before = set(self.files())
            self.run_assay("unpack", "named.h5", "--as", "ttk", "--out", "in/t", code=0)
            new = set(self.files()) - before - {"in"}
            self.assertTrue(all(file.startswith("in/t") for file in new), new)
            self.assertEqual(len([file for file in new if file.startswith("in/t/dump_npu/")]), 1)
            self.run_assay("gate", "in/t/manual", "--outputs", "in/t/dump_npu", "--table",
                           "in/t/cases.csv", *self.reports, code=1)
            shutil.rmtree(self.folder / "in")
        self.write_cases("named.h5", named, ("a", "b"))
        self.assertIn("/cases/b: is the second case whose name would be '..' in TTK", self.run_assay(
            "unpack", "named.h5", "--as", "ttk", "--out", "t", code=2).stderr)
        self.assertFalse((self.folder / "t").exists())

    def test_a_folder_is_written_whole_or_not_at_all(self):
        def broken(f, group):
            if group.name == "/cases/b":
                group["golden"].attrs["dtype"] = "float7"
        self.write_cases("broken.h5", broken, ("a", "b"))
        (self.folder / "empty").mkdir()
        (self.folder / "full").mkdir()
        (self.folder / "full/x").write_text("x")
        before = self.files()
        for kind in self.unpacked_kinds():
            for out in "new", "new/deep", "empty", "empty/new", "full", "full/new":
                ran = self.run_assay("unpack", "broken.h5", "--as", kind, "--out", out, code=2)
                self.assertIn("already exists and is not empty; name a new folder" if out == "full" else "'float7'",
                              ran.stderr)
                self.assertEqual(self.files(), before, (kind, out))
        for out in "empty", "empty/../new", "./deep/er/":
            self.run_assay("unpack", "broken.h5", "--case", "a", "--as", "npy", "--out", out, code=0)
            self.assertEqual(sorted(os.listdir(self.folder / out)), ["a", "assay_cases.json"])

    # The tests from here on are about arrays, and about folders in the layouts of other projects.

    def test_arrays(self):
        x = np.arange(6, dtype=np.float32)
        turned = EVIL.translate({c: None for c in range(32)}).replace("\x7f", "").replace("/", "|")
        for key in EVIL, LONG, turned:
            np.savez(self.folder / "a.npz", **{key: x, "b": x})
            np.savez(self.folder / "g.npz", **{key: x + 1, "b": x})
            header = json.dumps({key: {"dtype": "F32", "shape": [6], "data_offsets": [0, 24]}}).encode()
            (self.folder / "a.safetensors").write_bytes(
                len(header).to_bytes(8, "little") + header + x.tobytes())
            for file in "a.npz", "a.safetensors":
                self.run_assay("compare", file, "g.npz", "--json", "report-compare.json")
                self.run_assay("compare", f"{file}:/{key}", f"{file}:/{key}", code=None)
                self.run_assay("compare", file + ":/other", file)
                self.run_assay("inspect", file)
                self.run_assay("gate", "g.npz", "--outputs", file, *self.reports)
                self.run_assay("gate", file, "--outputs", "g.npz", "--rows-are-cases", *self.reports)
                self.run_assay("pack", file, "--out", "arrays.h5")

    def test_names_of_files_and_folders(self):
        x = np.arange(6, dtype=np.float32)
        for name in EVIL.replace("/", "|"), "n" * 200, os.fsdecode(BYTES):
            for side, values in ("gold", x), ("out", x + 1):
                folder = self.folder / side / name
                folder.mkdir(parents=True)
                np.save(folder / f"{name[:200]}.npy", values)
                (folder / f"{name[:190]}.txt").write_text("x")
            file = f"gold/{name}/{name[:200]}.npy"
            self.run_assay("gate", "gold", "--outputs", "out", *self.reports, code=1)
            self.run_assay("gate", "--pairs", "out/*/*.npy", "gold/*/*.npy", *self.reports)
            self.run_assay("gate", file, "--outputs", "out", *self.reports)
            self.run_assay("gate", file, file, *self.reports)
            self.run_assay("compare", file, file.replace("gold", "out"))
            self.run_assay("compare", file, file + ":/x")
            self.run_assay("compare", file, "gold")
            self.run_assay("inspect", "gold")
            self.run_assay("inspect", file)
            self.run_assay("pack", "gold", "--out", "folder.h5")
            self.run_assay("gate", file + "x", *self.reports, code=2)
            (self.folder / f"gold/{name}/{name[:190]}_2.bin").write_bytes(x.tobytes())
            self.run_assay("inspect", "gold", code=2)
            self.run_assay("gate", "gold", "--outputs", "out", *self.reports)
            for side in "gold", "out":
                shutil.rmtree(self.folder / side)

    def test_layouts(self):
        interop = SOURCE / "datasets/interop"
        for text in EVIL, LONG:
            shutil.copytree(interop / "ttk", self.folder / "ttk")
            with open(interop / "ttk/cases.csv", newline="") as f:
                rows = list(csv.reader(f))
            literal = text.replace("'", "").replace("\n", "\\n")
            for old, new in (("mm_01", text), ("mat_mul_v3", text), ("float16", literal),
                             ("#enable_pad", literal), ("(0.001, 0.001)", text)):
                with open(self.folder / "ttk/cases.csv", "w", newline="") as f:
                    csv.writer(f).writerows(
                        [[cell.replace(old, new) for cell in row] for row in rows])
                for layout in "manual", "dump":
                    self.run_assay("inspect", f"ttk/{layout}", "--table", "ttk/cases.csv")
                    self.run_assay("pack", f"ttk/{layout}", "--table", "ttk/cases.csv", "--out",
                                   "ttk.h5")
                self.run_assay("gate", "ttk/manual", "--outputs", "ttk/dump", "--table",
                               "ttk/cases.csv", "--recorded", "dyn", *self.reports)
            shutil.rmtree(self.folder / "ttk")
            shutil.copytree(interop / "msprobe", self.folder / "msprobe")
            for dump in (self.folder / "msprobe").rglob("dump.json"):
                dump.write_text(dump.read_text().replace("Functional.linear.0", json.dumps(text)[1:-1])
                                .replace("torch.float32", json.dumps(text)[1:-1]))
            self.run_assay("inspect", "msprobe/bench")
            self.run_assay("gate", "msprobe/bench", "--outputs", "msprobe/npu", *self.reports)
            shutil.rmtree(self.folder / "msprobe")

    def test_a_cell_of_csv_is_kept(self):
        # Scripts find rows by their contents, so that cells are not changed. docs/interop.md warns
        # that spreadsheets compute formulas.
        shutil.copytree(SOURCE / "datasets/interop/ttk", self.folder / "ttk")
        table = self.folder / "ttk/cases.csv"
        rows = list(csv.reader(io.StringIO(table.read_text())))
        names = ["=1+1", "+x", "-x", "@x"]
        for row, name in zip(rows[1:], names):
            row[1] = name
        with open(table, "w", newline="") as f:
            csv.writer(f).writerows(rows)
        self.run_assay("gate", "ttk/manual", "--outputs", "ttk/dump", "--table", "ttk/cases.csv", "--recorded", "dyn",
                       *self.reports)
        kept = list(csv.reader(io.StringIO((self.folder / "report.csv").read_text())))
        self.assertEqual([row[1] for row in kept[1:]], names)

    # Of JSON.

    def test_unpacked_lists(self):
        self.run_assay("unpack", self.write_cases("a.h5"), "--as", "npy", "--out", "u", code=0)
        list_of_cases = self.folder / "u/assay_cases.json"
        text = list_of_cases.read_text()
        for word in EVIL, LONG, "\0":
            for old in '"a"', '"exp"', "outputs/npu", "inputs/x", "float32", "outputs.npu.npy", '"rtol"':
                self.assertIn(old, text)
                bare = json.dumps(word)[1:-1]
                list_of_cases.write_text(
                    text.replace(old, f'"{bare}"' if old.startswith('"') else bare))
                self.run_assay("inspect", "u")
                self.run_assay("gate", "u", *self.reports)
                self.run_assay("pack", "u", "--out", "u.h5")

    def test_saved_results(self):
        self.run_assay("gate", self.write_cases("a.h5"), "--recorded", "npu", "--shard", "1/1",
                       "--json", "r.json", "--histograms", code=1)
        saved = json.loads((self.folder / "r.json").read_text())
        for word in EVIL, LONG:
            def replaced(value, key):
                if isinstance(value, dict):
                    return {k: word if k == key else replaced(v, key) for k, v in value.items()}
                return [replaced(v, key) for v in value] if isinstance(value, list) else value
            for key in ("case", "op", "producer", "output_name", "because", "standard", "reproduce",
                        "notes", "outcome", "dtype", "golden", "assay", "file"):
                (self.folder / "evil.json").write_text(json.dumps(replaced(saved, key)))
                self.run_assay("regate", "evil.json", "--standard", "torch", "--json",
                               "report-again.json")
                self.run_assay("join", "evil.json", "--json", "report-joined.json")
                self.run_assay("gate", "a.h5", "--baseline", "evil.json", *self.reports)
                self.run_assay("report", "evil.json", "--html", "report-campaign.html")

    def test_baselines_failures_and_standards(self):
        def passes(f, group):
            group["outputs/npu"][...] = group["golden"][...]
        self.write_cases("good.h5", passes)
        self.write_cases("a.h5")
        self.run_assay("gate", "good.h5", "--recorded", "npu", "--baseline", "base.json",
                       "--update-baseline", code=0)
        base = json.loads((self.folder / "base.json").read_text())
        for word in EVIL, LONG:
            for key in "file", "case", "producer", "standard", "output_name", "metrics":
                entry = {**base["baseline"][0], key: word}
                (self.folder / "evil.json").write_text(json.dumps(
                    {**base, "baseline": base["baseline"] + [entry]}))
                self.run_assay("gate", "good.h5", "--recorded", "npu", "--baseline", "evil.json",
                               *self.reports)
        for word in EVIL, PLAIN, LONG:
            for output in {"output": word}, {}:
                (self.folder / "known.json").write_text(json.dumps({"schema": 1, "known_failures": [
                    {"cases": "*", "reason": word, "expires": "2999-01-01", **output}]}))
                for file in "a.h5", "good.h5":
                    self.run_assay("gate", file, "--recorded", "npu", "--known-failures",
                                   "known.json", *self.reports)
            rule = {"float32": {"rtol": 1e-3, "atol": 1e-3}}
            for standard in ({"name": word, "why": word, "dtypes": rule},
                             {"name": "own", "why": word, "dtypes": rule},
                             {"name": "own", "why": word, "dtypes": {word: rule["float32"]}},
                             {"name": "own", "why": word, word: 1, "dtypes": rule}):
                (self.folder / "standards.json").write_text(json.dumps({"standards": [standard]}))
                for name in "own", word:
                    self.run_assay("gate", "a.h5", "--standards", "standards.json", "--standard",
                                   name, *self.reports)
        # A known failure keeps its reason on one line, which is no error.
        self.run_assay("gate", "a.h5", "--recorded", "npu", "--known-failures", "known.json", code=0)

    def test_campaigns(self):
        for name in PLAIN, LONG:
            plan = {"schema": 1, "name": name, "about": name, "seed": 1, "cells": [
                {"name": name, "machine": "ascend910b", "dtype": "bfloat16", "shape": [4, 32, 16],
                 "distribution": {"draw": "uniform", "name": name}, "clean_rows": 16,
                 "gates": ["v_abft"],
                 "faults": [{"census": 1}, {"fault": "flip,bit=14", "trials": 4, "class": name}]}]}
            (self.folder / "plan.json").write_text(json.dumps(plan))
            for words in (["campaign", "plan.json", "--out", "report-campaign", "--json",
                           "report-c.json", "--csv", "report-c.csv"],
                          ["campaign", "plan.json", "--out", "report-shard", "--shard", "1/1"],
                          ["merge", "report-shard", "--out", "report-merged"],
                          ["report", "report-campaign", "--html", "report-c.html"],
                          ["replay", "plan.json", "--cell", "1", "--trial", "0"],
                          ["replay", "plan.json", "--cell", name, "--trial", "0"],
                          ["replay", "plan.json", "--cell", "x", "--trial", "0"]):
                self.run_assay(*words, code=0 if name not in words and "x" not in words else 2)
            for path in self.folder.glob("report-*"):
                shutil.rmtree(path) if path.is_dir() else path.unlink()
        for wrong in (EVIL, {EVIL: 1}, {"schema": 1, EVIL: 2}, {"schema": 1, "name": "x", "cells": [EVIL]}):
            (self.folder / "plan.json").write_text(json.dumps(wrong))
            self.run_assay("campaign", "plan.json", "--out", "report-none", code=2)

    def test_calls_in_files(self):
        evil = EVIL.replace("\n", "").replace("\r", "")
        for line in (f"gelu --dtype float32 --shape 4 --name {shlex.quote(evil)}",
                     f"gelu --dtype float32 --shape {LONG}", evil, LONG,
                     f"gelu --dtype float32 --shape 4 --{LONG}"):
            (self.folder / "calls.txt").write_text(line)
            self.run_assay("generate", "--from", "calls.txt", "--out", "g.h5", code=2)
            self.run_assay("repro", f"assay generate {line} --out g.h5", code=2)
        (self.folder / "calls.txt").write_text(
            f"gelu --dtype float32 --shape 4 --why {shlex.quote(evil)}")
        self.run_assay("generate", "--from", "calls.txt", "--out", "g.h5", code=0)
        self.assertIn("\\x1b[31mred", self.run_assay("inspect", "g.h5").stdout)


if __name__ == "__main__":
    unittest.main(verbosity=2)
