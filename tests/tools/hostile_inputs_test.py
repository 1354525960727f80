"""Tests inputs that the program `assay` must refuse, and files that it must not harm.

Uses only its command line. ctest runs it as tools.hostile_inputs."""

import json
import os
import pathlib
import shutil
import signal
import stat
import subprocess
import tempfile
import time
import unittest

import h5py
import numpy as np

ASSAY = os.environ["ASSAY"]
SOURCE = pathlib.Path(__file__).resolve().parents[2]
SAMPLE = SOURCE / "datasets/samples/operators_fp8.h5"
HOSTILE_COPIES = pathlib.Path(__file__).parent / "hostile/copies"
HOSTILE = sorted((pathlib.Path(__file__).parent / "hostile").glob("*.h5"))


class Hostile(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.folder)

    def path(self, name):
        return str(self.folder / name)

    def run_assay(self, *words, timeout=120, **how):
        return subprocess.run([ASSAY, *map(str, words)], capture_output=True, text=True,
                              timeout=timeout, cwd=self.folder, stdin=subprocess.DEVNULL, **how)

    def run_in_1_gib(self, *words):
        limited = ["/bin/sh", "-c", 'ulimit -v 1048576; exec "$@"', "sh", ASSAY, *map(str, words)]
        if os.environ.get("ASSAY_SANITIZED"):  # sanitizers take very much address space, so it is not limited
            limited = limited[4:]
        return subprocess.run(limited, capture_output=True, text=True, timeout=120, cwd=self.folder,
                              stdin=subprocess.DEVNULL)

    def refused(self, said, *words, **how):
        ran = self.run_assay(*words, **how)
        self.assertEqual((ran.stderr, ran.returncode), (said, 2))

    def write_cases(self, name, change=None):
        with h5py.File(self.path(name), "w") as f:
            f.attrs["assay_schema"] = 1
            group = f.create_group("cases/a")
            group.attrs.update({"op": "relu", "rtol": 1e-3, "atol": 1e-3})
            x = np.arange(1, 7, dtype=np.float32).reshape(2, 3)
            for part, values in {"inputs/x": x, "golden": x.astype(np.float64),
                                 "outputs/npu": x}.items():
                group.create_dataset(part, data=values).attrs["dtype"] = str(values.dtype)
            if change:
                change(f, group)
        return name

    def own(self, name="own.h5", change=None):
        self.write_cases("plain.h5", change)
        self.assertEqual(self.run_assay("pack", "plain.h5", "--out", name).returncode, 0)
        return name

    # Damaged files.

    def test_files_that_crashed_or_hung_hdf5(self):
        self.assertGreaterEqual(len(HOSTILE), 8)
        for file in HOSTILE:
            for words in (["inspect", file], ["gate", file], ["gate", "--trust", file]):
                ran = self.run_assay(*words)
                self.assertEqual(ran.returncode, 2, (file, words, ran))
                self.assertIn("error: ", ran.stderr)

    def test_strings_that_lead_nowhere(self):
        # When H5Ocopy of HDF5 1.10 copies the first file, it ends the process. For the second one it takes 4 GiB.
        inject = ["inject", "--fault", "flip,bit=30", "--recorded", "npu", "--out"]
        gate = ["gate", "--recorded", "npu", "--rtol", "0", "--atol", "0", "--save-failures"]
        emulate = ["emulate", "--machine", "exact", "--out"]
        pack, golden = ["pack", "--out"], ["golden", "--out"]
        for name, dataset, heap, copying in (
                ("vlen_copy_x.h5", "/cases/mm/c0/extra_strings", 1, (pack, golden, emulate, inject)),
                ("vlen_copy_memory.h5", "/cases/a/notes", 3071, (pack, inject, gate))):
            file = HOSTILE_COPIES / name
            self.assertEqual(self.run_assay("inspect", file).returncode, 0)
            for words in copying:
                with self.subTest(name=name, command=words[0]):
                    ran = self.run_in_1_gib(*words, "copy.h5", file)
                    self.assertEqual(ran.returncode, 2, ran)
                    self.assertEqual(ran.stderr.splitlines()[-1],
                                     f"error: {file}: {dataset}: its elements cannot be read: the global heap "
                                     f"at {heap} is none; the file is truncated or corrupt")
                    self.assertFalse(os.path.exists(self.path("copy.h5")))

    def test_a_type_of_variable_length_that_is_no_string_and_no_sequence(self):
        # HDF5 1.10 accepts this file, and calls a missing function when it writes a copy.
        file = HOSTILE_COPIES / "vlen_copy_kind.h5"
        ran = self.run_in_1_gib("golden", "--out", "copy.h5", file)
        self.assertEqual((ran.stderr, ran.returncode),
                         (f"error: {file}: /cases/mm0: its attribute 'x_named' cannot be read; the file is "
                          "truncated or corrupt\n", 2))

    def test_a_process_that_does_not_survive_looking_is_an_error(self):
        # Replaces the program that reads files for the gate. It answers a given number of times,
        # and then ends as HDF5 would end it.
        checker = self.folder / "checker"
        def refused(answers, end, said):
            checker.write_text("#!/usr/bin/env python3\nimport os\n"
                               f"for i in range({answers}):\n    os.read(3, 4096)\n"
                               "    os.write(3, b'\\0')\n"
                               f"os.read(3, 4096)\n{end}\n")
            checker.chmod(0o755)
            ran = self.run_assay("inspect", SAMPLE, timeout=60,
                                 env={**os.environ, "ASSAY_FILE_CHECKER": str(checker)})
            self.assertEqual((ran.stderr[:len(said)], ran.returncode), (said, 2))
        crash, leave = "os.kill(os.getpid(), 11)", "os._exit(7)"
        tail = "; the file is damaged or hostile"
        refused(1, crash, f"error: {SAMPLE}: the process that checked it was ended by signal 11 "
                          f"(Segmentation fault){tail}")
        # SAMPLE's datasets are compressed; its groups and attributes are read without HDF5.
        refused(2, leave, f"error: {SAMPLE}: /cases/dot/e5m2: the process that checked it ended "
                          f"with exit status 7{tail}")
        refused(1, "os.write(3, b'its root is broken\\0')\nos.read(3, 9)",
                f"error: {SAMPLE}: its root is broken")
        refused(0, leave, f"error: {SAMPLE}: cannot be checked, because the program for this, {checker}, does "
                          "not answer (ended with exit status 7); give --trust to read the file without this "
                          "check")
        ran = self.run_assay("inspect", "--trust", SAMPLE,
                             env={**os.environ, "ASSAY_FILE_CHECKER": str(checker)})
        self.assertEqual(ran.returncode, 0)

    def test_one_process_looks_at_a_file_whoever_opens_it(self):
        # The gate opens the file to find its cases, and once more for each thread.
        checker, log = self.folder / "checker", self.folder / "asked"
        checker.write_text("#!/usr/bin/env python3\nimport os\n"
                           f"log = open({str(log)!r}, 'ab', buffering=0)\nlog.write(b'start\\n')\n"
                           "said = b''\nwhile part := os.read(3, 4096):\n    said += part\n"
                           "    while b'\\0' in said:\n"
                           "        question, _, said = said.partition(b'\\0')\n"
                           "        log.write(question + b'\\n')\n        os.write(3, b'\\0')\n")
        checker.chmod(0o755)
        ran = self.run_assay("gate", SAMPLE, "--machine", "ascend910b", "--threads", "4",
                             env={**os.environ, "ASSAY_FILE_CHECKER": str(checker)})
        self.assertEqual(ran.stderr, "")
        asked = log.read_text().splitlines()
        self.assertEqual(asked[:3], ["start", "", "o"])
        with h5py.File(SAMPLE) as f:
            found = []
            f["cases"].visititems(lambda name, item: found.append(name) if "op" in item.attrs else None)
        self.assertEqual(sorted(asked[3:]), sorted("c" + name for name in found))

    def test_no_process_is_started_for_what_needs_no_hdf5(self):
        self.write_cases("plain.h5")
        never = {**os.environ, "ASSAY_FILE_CHECKER": "/nonexistent"}
        for words in (["gate", "plain.h5", "--recorded", "npu"], ["inspect", "plain.h5"],
                      ["list", "layouts"]):
            ran = self.run_assay(*words, env=never)
            self.assertEqual((ran.stderr, ran.returncode), ("", 0), words)
        def change(f, group):
            data = group["outputs/npu"][()]
            del group["outputs/npu"]
            group.create_dataset("outputs/npu", data=data, chunks=data.shape).attrs["dtype"] = "float32"
        self.write_cases("chunks.h5", change)
        ran = self.run_assay("gate", "chunks.h5", "--recorded", "npu", env=never)
        self.assertEqual(ran.returncode, 2)
        self.assertIn("cannot be checked in a separate process (/nonexistent: No such file or directory); give "
                      "--trust to read the file without this check", ran.stderr)

    def test_a_small_file_that_declares_much(self):
        def change(f, group):
            del group["outputs/npu"]
            data = group.create_dataset("outputs/npu", shape=(1 << 30,), chunks=(1 << 20,),
                                        dtype="f4", fillvalue=0)
            data.attrs["dtype"] = "float32"
        self.write_cases("bomb.h5", change)
        size = os.path.getsize(self.path("bomb.h5"))
        limited = ["/bin/sh", "-c", 'ulimit -v 3000000; exec "$@"', "sh", ASSAY]
        if os.environ.get("ASSAY_SANITIZED"):
            limited = [ASSAY]
        ran = subprocess.run(limited + ["gate", "bomb.h5", "--recorded", "npu"], cwd=self.folder,
                             capture_output=True, text=True, timeout=60)
        self.assertEqual(ran.returncode, 2)
        self.assertIn(f"declares 4294967296 bytes, more than a file of {size} bytes can hold",
                      ran.stderr)

    # Checksums.

    def test_a_changed_element_or_attribute_is_refused(self):
        self.own()
        said = self.run_assay("inspect", "--verify", "own.h5").stdout
        self.assertIn("3 arrays match their checksums; 0 have no checksum", said)

        def golden(group):
            group["golden"][0, 0] = 99
        def rtol(group):
            group.attrs["rtol"] = 1e3
        def no_input(group):
            del group["inputs/x"]
        tail = (", because the checksum that assay wrote differs; the file was damaged or changed; "
                "give --trust to read it as it is\n")
        for change, words in (
                (golden, "/cases/a/golden: its elements are not those that were written"),
                (rtol, "/cases/a: its attribute 'rtol' is not what was written"),
                (no_input, "/cases/a/inputs/x: is not there")):
            shutil.copy(self.path("own.h5"), self.path("new.h5"))
            with h5py.File(self.path("new.h5"), "r+") as f:
                change(f["cases/a"])
            ran = self.run_assay("gate", "new.h5", "--recorded", "npu")
            self.assertEqual(ran.returncode, 2, ran)
            self.assertIn(f"new.h5: {words}{tail}", ran.stderr)

    def test_an_absent_input_that_is_gone_is_refused(self):
        with h5py.File(self.path("plain.h5"), "w") as f:
            f.attrs["assay_schema"] = 2
            group = f.create_group("cases/a")
            group.attrs["op"] = "external"
            for part, dtype in ("inputs/x", "float32"), ("golden", "float64"), ("outputs/npu", "float32"):
                group[part] = np.arange(3, dtype=dtype)
                group[part].attrs["dtype"] = dtype
            group["inputs/bias"] = h5py.Empty("f4")
            group["inputs/bias"].attrs.update({"dtype": "float32", "absent": 1})
        self.assertEqual(self.run_assay("pack", "plain.h5", "--out", "absent.h5").returncode, 0)
        self.assertEqual(self.run_assay("inspect", "absent.h5").returncode, 0)
        def no_input(group):
            del group["inputs/bias"]
        def no_word(group):
            del group["inputs/bias"].attrs["absent"]
        for change, words in (no_input, "/cases/a/inputs/bias: is not there"), (no_word, "/cases/a/inputs/bias: "):
            shutil.copy(self.path("absent.h5"), self.path("new.h5"))
            with h5py.File(self.path("new.h5"), "r+") as f:
                change(f["cases/a"])
            ran = self.run_assay("gate", "new.h5", "--recorded", "npu")
            self.assertEqual(ran.returncode, 2, ran)
            self.assertIn("new.h5: " + words, ran.stderr)

    def test_outputs_that_others_add_are_no_damage(self):
        self.own()
        with h5py.File(self.path("own.h5"), "r+") as f:
            data = f["cases/a"].create_dataset("outputs/other", data=np.float32(
                [[1, 2, 3], [4, 5, 6]]))
            data.attrs["dtype"] = "float32"
            f["cases/a"].attrs["x_note"] = "added"
        self.assertEqual(self.run_assay("gate", "own.h5", "--recorded", "other").returncode, 0)
        self.assertIn("3 arrays match their checksums; 1 have no checksum",
                      self.run_assay("inspect", "--verify", "own.h5").stdout)

    def test_without_the_table_the_file_is_damaged(self):
        self.own()
        with h5py.File(self.path("own.h5"), "r+") as f:
            del f["checksums"]
        self.refused("error: own.h5: /checksums: must exist together with the attribute assay_checksums, but one "
                     "of the two is missing; the file is damaged\n", "gate", "own.h5")

    def test_inputs_that_cannot_be_read_are_an_error(self):
        def change(f, group):
            del group["inputs/x"]
            data = group.create_dataset("inputs/x", data=np.ones((64, 64), np.float32),
                                        chunks=(64, 64), fletcher32=True)
            data.attrs["dtype"] = "float32"
            self.place = data.id.get_chunk_info(0).byte_offset
        self.write_cases("inputs.h5", change)
        with open(self.path("inputs.h5"), "r+b") as f:
            f.seek(self.place + 100)
            f.write(b"\x55")
        ran = self.run_assay("gate", "inputs.h5", "--recorded", "npu")
        self.assertEqual(ran.returncode, 2, ran)
        self.assertIn("fails its fletcher32 checksum", ran.stderr)

    # Other inputs.

    def test_files_of_the_other_byte_order(self):
        for dtype in "float16", "float32", "float64":
            results = []
            for order in "<", ">":
                x = np.arange(1, 25).reshape(4, 6).astype(dtype)
                golden = np.sqrt(x.astype(np.float64))
                off = golden.astype(dtype)
                off[1, 2] *= x.dtype.type(1.25)
                with h5py.File(self.path("own.h5"), "w") as f:
                    f.attrs["assay_schema"] = 1
                    group = f.create_group("cases/sqrt/a")
                    group.attrs.update({"op": "sqrt", "rtol": 1e-3, "atol": 1e-3})
                    for name, values in {"inputs/x": x, "golden": golden,
                                         "outputs/npu": off}.items():
                        stored = values.astype(values.dtype.newbyteorder(order))
                        group.create_dataset(name, data=stored).attrs["dtype"] = str(values.dtype)
                self.assertEqual(self.run_assay("gate", "own.h5", "--recorded", "npu", "--json",
                                                "own.json", "--histograms").returncode, 1)
                case = json.loads(pathlib.Path(self.path("own.json")).read_text())["cases"][0]
                verdict, = case["verdicts"]
                self.assertEqual(verdict["mismatches"], 1)
                results.append(verdict["metrics"])
            self.assertEqual(*results)

    def test_json_whose_text_would_steer_the_terminal(self):
        plan = (SOURCE / "plans/quick.json").read_text()
        text = plan.replace('"name": "quick"', '"name": "q\\u001b[31m"')
        pathlib.Path(self.path("red.json")).write_text(text)
        self.refused('error: red.json: the text "q\\u001b[31m" holds a control character\n',
                     "campaign", "red.json", "--out", "results")

    def test_json(self):
        with open(self.path("deep.json"), "w") as f:
            f.write('{"schema":1,"gates":' + "[" * 60000 + "]" * 60000 + "}")
        deep = "error: deep.json: holds values within values more than 256 deep\n"
        self.refused(deep, "campaign", "deep.json", "--out", "results")
        self.refused(deep, "gate", SAMPLE, "--standards", "deep.json")
        with open(self.path("twice.json"), "w") as f:
            f.write('{"a": {"rtol": 1}, "b": [{"rtol": 1, "rtol": 2}]}')
        self.refused("error: twice.json: has the key 'rtol' twice in one object\n",
                     "gate", SAMPLE, "--standards", "twice.json")

    def test_devices_and_pipes(self):
        os.mkfifo(self.path("pipe"))
        for file in "/dev/zero", "pipe":
            self.refused(f"error: {file}: cannot be read: it is not a regular file\n",
                         "gate", SAMPLE, "--standards", file, timeout=20)
        self.refused("error: pipe: is not a regular file\n", "inspect", "pipe", timeout=20)

    def test_npy_headers(self):
        def npy(name, header, version=b"\x01\x00"):
            text = header.encode() + b"\n"
            (self.folder / name).write_bytes(b"\x93NUMPY" + version + len(text).to_bytes(2, "little")
                                             + text + bytes(8))
        good = "{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }"
        npy("good.npy", good)
        for header, said in (
                (good.replace("(2,)", "(2.0,)"), "its .npy header has the extent 2.0"),
                (good.replace("(2,)", "(-2,)"), "its .npy header has the extent -2"),
                (good.replace("(2,)", "2"), "its .npy header has a 'shape' that is no tuple"),
                (good.replace("False", "0"), "its .npy header has a 'fortran_order' that is neither "
                                             "True nor False"),
                (good.replace("{", "{'x': 1, "), "its .npy header has the key 'x'"),
                (good.replace("{", "{'descr': '<f8', "), "its .npy header has 'descr' twice"),
                (good.replace("'shape': (2,), ", ""), "its .npy header has no 'shape'")):
            npy("bad.npy", header)
            self.refused(f"error: bad.npy: {said}\n", "compare", "bad.npy", "good.npy")
        for header in good.replace("False", "Truexyz"), good.replace("(2,)", "(0x2,)"), good + "x":
            npy("bad.npy", header)
            ran = self.run_assay("compare", "bad.npy", "good.npy")
            self.assertEqual(ran.returncode, 2)
            self.assertIn("error: bad.npy: its .npy header is damaged: ", ran.stderr)
        npy("bad.npy", good, b"\x63\x00")
        self.refused("error: bad.npy: is of version 99.0 of .npy; 1.0, 2.0 and 3.0 are read\n",
                     "compare", "bad.npy", "good.npy")

    def test_words(self):
        help_line = "Run with --help for more information.\n"
        self.refused("--threads: a whole number from 0 to 4096 is needed, not '-3'\n" + help_line, "calibrate",
                     "--machine", "ascend910b", "--dtype", "float16", "--threads", "-3")
        self.refused("--mutate-min: a number from 0 to 1 is needed, not '1e300'\n" + help_line, "gate", SAMPLE,
                     "--mutate-min", "1e300")
        self.refused("error: --shape '1,,1': sizes joined by commas are needed, such as 64,512, or scalar\n",
                     "compare", "a.bin", "b.bin", "--dtype", "float32", "--shape", "1,,1")
        for word in "abc", "-1", "0", "1.5":
            self.refused("error: ASSAY_MAX_DATASET_GIB must be a whole number of GiB of at least 1, "
                         f"not '{word}'\n", "inspect", SAMPLE,
                         env={**os.environ, "ASSAY_MAX_DATASET_GIB": word})
        self.refused("error: no\\x1b[31mfile.h5: cannot be opened: No such file or directory\n",
                     "gate", "no\x1b[31mfile.h5")

    def test_escapes_in_attributes_are_printed_as_such(self):
        def change(f, group):
            f.attrs["description"] = "red \x1b[31m"
            group.attrs["x_note"] = "bell \x07"
        self.write_cases("escapes.h5", change)
        out = self.run_assay("inspect", "escapes.h5").stdout
        self.assertIn("description: red \\x1b[31m\n", out)
        self.assertIn("x_note: bell \\x07\n", out)

    # The tests from here on are about files that `assay` writes.

    def test_closed_standard_descriptors(self):
        words = f"pack '{SAMPLE}' --out"
        subprocess.run(["sh", "-c", f"'{ASSAY}' {words} a.h5 && '{ASSAY}' {words} b.h5 0<&- 1>&-"],
                       cwd=self.folder, timeout=120, check=True, capture_output=True)
        a, b = ((self.folder / name).read_bytes() for name in ("a.h5", "b.h5"))
        self.assertEqual(a, b)

    def test_links_are_followed_and_modes_kept(self):
        os.mkdir(self.path("kept"))
        target, link = self.folder / "kept/real.h5", self.folder / "link.h5"
        target.write_bytes(b"old")
        target.chmod(0o600)
        link.symlink_to("kept/real.h5")
        for _ in range(2):
            self.assertEqual(self.run_assay("pack", SAMPLE, "--out", "link.h5").returncode, 0)
            self.assertTrue(link.is_symlink())
            self.assertEqual(stat.S_IMODE(target.stat().st_mode), 0o600)
            self.assertGreater(target.stat().st_size, 1000)

    def test_a_file_in_the_way_of_a_temporary_one_is_safe(self):
        victim = self.folder / "victim"
        victim.write_text("precious")
        # Temporary names that could once be predicted: PATH.tmp.PID and PATH.tmp.PID.0 of the next
        # processes.
        pid = int(subprocess.run(["sh", "-c", "echo $$"], capture_output=True).stdout)
        for near in range(pid, pid + 60):
            for name in f"out.json.tmp.{near}", f"out.h5.tmp.{near}.0":
                (self.folder / name).symlink_to(victim)
        self.own("out.h5")
        self.run_assay("gate", "out.h5", "--recorded", "npu", "--json", "out.json")
        self.assertEqual(victim.read_text(), "precious")

    def test_killed_writers_leave_nothing(self):
        shape = "8192,8192"
        for how in signal.SIGTERM, signal.SIGINT, signal.SIGKILL:
            for wait in 0.05, 0.2, 0.5:
                child = subprocess.Popen([ASSAY, "generate", "relu", "--dtype", "float32", "--shape",
                                          shape, "--out", "big.h5"], cwd=self.folder,
                                         stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
                time.sleep(wait)
                child.send_signal(how)
                child.wait(timeout=120)
                left = [f for f in os.listdir(self.folder) if f != "big.h5"]
                self.assertEqual(left, [], (how, wait))
                if os.path.exists(self.path("big.h5")):
                    os.remove(self.path("big.h5"))


if __name__ == "__main__":
    unittest.main(verbosity=2)
