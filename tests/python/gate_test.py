"""Tests gate() and campaign(), which run the subcommands in this process, and Dataset.append() and put_output()."""
import json
import os
import subprocess
import sys
import unittest

import h5py
import numpy as np

import assay
from assay import Case, write
from support import ROOT, SAMPLE, TestCase, assay as program

GOLDEN = np.float64([[1.25, -2.5], [3.0, 4.75]])
GOOD = GOLDEN.astype("f4")
WRONG = GOOD + np.float32([[0, 0], [0.5, 0]])


class Gate(TestCase):
    def setUp(self):
        super().setUp()
        self.golden = self.directory / "golden.h5"
        write(self.golden, [Case(f"add/{name}", golden=GOLDEN,
                                 recorded={"good": GOOD, "other": other},
                                 attributes={"output_dtype": "float32"})
                            for name, other in (("a", GOOD), ("b", WRONG))])

    def test_the_report(self):
        report = assay.gate(self.golden, recorded="good")
        self.assertTrue(report)
        self.assertEqual((report.outcome, report.counts, len(report)), ("pass", {"pass": 2}, 2))
        self.assertEqual(repr(report), "<GateReport 2 cases: 2 pass>")
        self.assertIsNone(report.check())
        report = assay.gate(str(self.golden), recorded="other")
        self.assertEqual((report.outcome, report.counts), ("fail", {"fail": 1, "pass": 1}))
        self.assertEqual([c.name for c in report if not c], ["add/b"])
        (failed,) = [c for c in report if not c]
        self.assertEqual(failed.verdicts[0].worst[0].index, (1, 0))
        said = self.refusal(AssertionError, report.check)
        self.assertEqual(said, str(report))
        self.assertIn("[1, 0]: actual 3.5", said)

    def test_it_is_the_programs(self):
        path = self.directory / "report.json"
        program("gate", self.golden, "--recorded", "other", "--json", path, "--histograms",
                check=False)
        theirs, ours = json.loads(path.read_text()), assay.gate(self.golden, recorded="other").to_dict()
        for report in (theirs, ours):
            report.pop("command"), report.pop("host", None)
            for case in report["cases"]:
                case.pop("seconds"), case.pop("reproduce", None)
        self.assertEqual(theirs, ours)
        self.assertIn("<html", assay.gate(self.golden, recorded="good").html())
        self.assertIn("<testsuite", assay.gate(self.golden, recorded="good").junit())
        # The reproducer line of a case repeats its failure.
        (failed,) = [c for c in assay.gate(self.golden, recorded="other") if not c]
        words = failed.reproduce.split()
        self.assertEqual(words[0], "assay")
        status, said = program(*words[1:], check=False)
        self.assertEqual(status, 1, said)

    def test_options_are_those_of_the_program(self):
        steps = []
        report = assay.gate([self.golden], case="*/a", recorded="other", standard=["torch", "ulp(1)"],
                            mutate=True, html=self.directory / "page.html", strict=False,
                            max_blind=0.9, progress=lambda done, all: steps.append((done, all)))
        self.assertTrue(report)
        self.assertEqual(len(report.cases[0].verdicts), 2)
        self.assertGreater((self.directory / "page.html").stat().st_size, 1000)
        self.assertEqual(steps, [(1, 1)])
        a, b = np.random.default_rng(1).standard_normal((2, 16, 16)).astype("f2")
        path = self.directory / "mm.h5"
        write(path, Case("gemm", op="matmul", inputs={"a": a, "b": b},
                         golden=a.astype("f8") @ b.astype("f8")))
        report = assay.gate(path, machine="ascend910b", abft=True)
        self.assertEqual(report.cases[0].abft.outcome, "pass")
        self.assertEqual(assay.gate(path, machine="ascend910b", abft="v_abft").cases[0]
                         .abft.threshold[:6], "v_abft")
        out = self.directory / "out.h5"
        write(out, [Case("add/a", recorded={"mine": GOOD}), Case("add/b", recorded={"mine": WRONG})])
        self.assertEqual(assay.gate(self.golden, out).outcome, "fail")

    def test_the_exit_code_is_the_programs(self):
        report = assay.gate(self.golden, recorded="good", mutate=True, mutate_min=1.0, rtol=0.9, atol=0)
        self.assertEqual((report.outcome, report.exit_code, bool(report)), ("pass", 1, False))
        said = self.refusal(AssertionError, report.check)
        self.assertTrue(said.endswith("\n`assay gate` exits with 1\n"), said)
        with h5py.File(self.golden, "r+") as file:
            # Without checksums, the changes below are not taken for damage.
            del file["checksums"], file.attrs["assay_checksums"]
            file["cases/add/a/golden"].attrs["dtype"] = "float7"
        report = assay.gate(self.golden, recorded="good")
        self.assertEqual(report.exit_code, 2)
        self.assertIn("float7", report.cases[0].error)
        self.assertIn("float7", self.refusal(assay.GateError, report.check))

    def test_refusals(self):
        nowhere = self.directory / "nowhere.h5"
        for call, error, text in (
                (lambda: assay.gate(nowhere), assay.FileError,
                 f"{nowhere}: cannot be opened: No such file or directory"),
                (lambda: assay.gate(self.golden, recordd="good"), ValueError,
                 "unexpected argument: --recordd=good (did you mean '--recorded'?)"),
                (lambda: assay.gate(self.golden), ValueError, "good, other"),
                (lambda: assay.gate(self.golden, recorded="good", case="sub*"), assay.NoCaseError,
                 "no case matches 'sub*'"),
                (lambda: assay.gate(self.golden, recorded="good", standard=""), ValueError,
                 "the value is empty"),
                (lambda: assay.gate(self.golden, recorded="good", rtol=-1), ValueError,
                 "a tolerance is a number of at least 0")):
            with self.assertRaises(error) as caught:
                call()
            self.assertIn(text, str(caught.exception))

    def test_nothing_is_printed(self):
        script = ("import sys, assay\nassay.gate(sys.argv[1], recorded='other')\n"
                  "try:\n    assay.gate(sys.argv[1], nonsense=1)\nexcept ValueError:\n    pass\n")
        done = subprocess.run([sys.executable, "-c", script, self.golden], check=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        self.assertEqual(done.stdout, b"")


class Append(TestCase):
    def test_cases_and_outputs(self):
        path = self.directory / "g.h5"
        write(path, Case("a", golden=GOLDEN, recorded={"p": GOOD}), attributes={"license": "CC0-1.0"})
        with assay.open(path) as file:
            file.append(Case("b/c", golden=GOLDEN))
            self.assertEqual(file.case_names(), ["a", "b/c"])
            file.append([Case("d", golden=GOLDEN), Case("e", golden=GOLDEN)])
            file.put_output("b/c", "npu", GOOD, machine="hopper")
            self.assertEqual(file["b/c"].recorded["npu"].numpy().tolist(), GOOD.tolist())
            self.assertEqual(file["b/c"].machines, {"npu": "hopper"})
            self.assertEqual((len(file), "d" in file, "x" in file), (4, True, False))
            self.assertEqual(file.attributes["license"], "CC0-1.0")
            before = path.read_bytes()
            self.assertIn("is there already",
                          self.refusal(assay.FileError, file.append, Case("a", golden=GOLDEN)))
            self.refusal(TypeError, file.append, 3)
            self.refusal(assay.NoCaseError, file.put_output, "x", "npu", GOOD)
            self.assertEqual(path.read_bytes(), before)
            self.assertEqual(len(list(file)), 4)
            self.refusal(KeyError, lambda: file["x"])
        self.assertEqual(self.refusal(ValueError, file.case_names), f"{path} is closed")
        self.assertEqual(os.listdir(self.directory), ["g.h5"])

    def test_other_layouts_are_read(self):
        with assay.open(ROOT / "datasets/interop/sides/gold", layout="arrays") as folder:
            self.assertEqual(folder.layout, "arrays")
            self.assertGreater(len(folder), 1)
            self.assertIn("is no dataset file of assay",
                          self.refusal(ValueError, folder.append, Case("a", golden=GOLDEN)))




class Campaign(TestCase):
    def setUp(self):
        super().setUp()
        self.plan = self.directory / "plan.json"
        self.plan.write_text(json.dumps({
            "schema": 1, "name": "small", "seed": 1, "cells": [
                {"machine": "ascend910b", "dtype": "bfloat16", "shape": [32, 256, 64],
                 "distribution": "normal,mean=1", "gates": ["a_abft", "rounding_variance"],
                 "clean_rows": 512, "faults": [{"census": 16}]}]}))

    def test_results(self):
        steps = []
        report = assay.campaign(self.plan, threads=2,
                                progress=lambda done, all: steps.append((done, all)))
        self.assertEqual(steps[-1][0], steps[-1][1])
        out = self.directory / "results"
        program("campaign", self.plan, "--out", out, "-q")
        self.assertEqual(report.to_dict(), json.loads((out / "results.json").read_text()))
        self.assertEqual(str(report), (out / "results.txt").read_text())
        self.refusal(ValueError, assay.campaign, self.plan, threds=2)
        self.refusal(assay.FileError, assay.campaign, self.directory / "nowhere.json")
        done = subprocess.run([sys.executable, "-c", "import sys, assay\n"
                               "assay.campaign(sys.argv[1], progress=True)", self.plan],
                              stderr=subprocess.PIPE, encoding="utf-8", check=True)
        self.assertRegex(done.stderr, r"(?s)^\s1 of (\d+)\s.*\s\1 of \1\n$")

    def test_what_a_callback_raises_stops_it(self):
        def stop(done, all):
            raise ZeroDivisionError("enough")
        self.assertEqual(self.refusal(ZeroDivisionError, assay.campaign, self.plan,
                                      progress=stop), "enough")

    def test_ctrl_c_stops_it_and_it_goes_on(self):
        out = self.directory / "results"
        script = ("import sys, os, signal, assay\nseen = []\n"
                  "def progress(done, all):\n"
                  "    seen.append(done)\n"
                  "    if len(seen) == 3: os.kill(os.getpid(), signal.SIGINT)\n"
                  "try:\n    assay.campaign(sys.argv[1], out=sys.argv[2], progress=progress)\n"
                  "except KeyboardInterrupt:\n    print('stopped', len(seen) >= 3)\n"
                  "report = assay.campaign(sys.argv[1], out=sys.argv[2], resume=True)\n"
                  "print(report.text == assay.campaign(sys.argv[1]).text)\n")
        done = subprocess.run([sys.executable, "-c", script, self.plan, out],
                              stdout=subprocess.PIPE, encoding="utf-8", check=True)
        self.assertEqual(done.stdout, "stopped True\nTrue\n")


if __name__ == "__main__":
    unittest.main(verbosity=2)
