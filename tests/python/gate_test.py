"""Tests gate() and campaign(), which run the subcommands in this process, and Dataset.append() and put_output()."""
import inspect
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
                (lambda: assay.gate(self.golden, recordd="good"), TypeError,
                 "gate() got an unexpected keyword argument 'recordd': did you mean 'recorded'?"),
                (lambda: assay.gate(self.golden, **{"": 1}), TypeError, "an unexpected keyword argument ''"),
                (lambda: assay.gate(self.golden, recorded=3), TypeError, "recorded: str | None is needed, not 3"),
                (lambda: assay.gate(self.golden, recorded=True), TypeError, "recorded: str | None is needed, not True"),
                (lambda: assay.gate(self.golden, recorded=["good"]), TypeError,
                 "recorded: str | None is needed, not ['good']"),
                (lambda: assay.gate(self.golden, recorded="good", case=["*", 3]), TypeError,
                 "case: str | Sequence[str] | None is needed, not ['*', 3]"),
                (lambda: assay.gate(self.golden, recorded="good", html=3), TypeError,
                 "html: str | PathLike[str] | None is needed, not 3"),
                (lambda: assay.gate(self.golden, recorded="good", mutate="maybe"), TypeError,
                 "mutate: bool is needed, not 'maybe'"),
                (lambda: assay.gate(self.golden, recorded="good", threads="4"), TypeError,
                 "threads: int | None is needed, not '4'"),
                (lambda: assay.gate(self.golden, recorded="good", threads=True), TypeError,
                 "threads: int | None is needed, not True"),
                (lambda: assay.gate(self.golden, recorded="good", threads=2.5), ValueError,
                 "--threads: a whole number from 1 to 4096 is needed, not '2.5'"),
                (lambda: assay.gate(self.golden, recorded="good", threads=0), ValueError,
                 "--threads: a whole number from 1 to 4096 is needed, not '0'"),
                (lambda: assay.gate(self.golden, recorded="good", threads=2**40), ValueError,
                 "--threads: a whole number from 1 to 4096 is needed, not '1099511627776'"),
                (lambda: assay.gate(self.golden, recorded="good", max_mismatches=-1), ValueError,
                 "--max-mismatches: a number of mismatches is a whole number of at least 0, not '-1'"),
                (lambda: assay.gate(self.golden, recorded="good", max_blind="x"), ValueError,
                 "--max-blind: a fraction is a number from 0 to 1, not 'x'"),
                (lambda: assay.gate(self.golden, recorded="good", mutate=True, mutate_min=1.5), ValueError,
                 "--mutate-min: a number from 0 to 1 is needed, not '1.5'"),
                (lambda: assay.gate(self.golden, recorded="good", mutate_min=0.5), ValueError,
                 "--mutate-min requires --mutate"),
                (lambda: assay.gate(self.golden, recorded="good", mutate=True, sample="rows=2"), ValueError,
                 "--sample excludes --mutate"),
                (lambda: assay.gate([], pairs=["a"]), ValueError, "--pairs: At least 2 required but received 1"),
                (lambda: assay.gate(self.golden, recorded="good", html=self.golden), ValueError,
                 f"{self.golden} is an input; --html would replace it"),
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
            self.assertTrue(self.golden.exists())

    def test_options_are_typed_keywords(self):
        options = inspect.signature(assay.gate).parameters
        self.assertEqual([name for name, p in options.items() if p.kind is not p.KEYWORD_ONLY],
                         ["golden", "outputs", "progress"])
        self.assertEqual((options["recorded"].annotation, options["recorded"].default), ("str | None", None))
        self.assertEqual((options["mutate"].annotation, options["mutate"].default), ("bool", False))
        self.assertEqual(options["rtol"].annotation, "float | None")
        self.assertEqual(options["threads"].annotation, "int | None")
        self.assertEqual(options["abft"].annotation, "bool | str | None")
        self.assertEqual(options["case"].annotation, "str | Sequence[str] | None")
        self.assertEqual(options["html"].annotation, "str | PathLike[str] | None")
        # Each keyword takes its default, which is as if it were not given.
        defaults = {name: p.default for name, p in options.items() if p.kind is p.KEYWORD_ONLY}
        self.assertGreater(len(defaults), 30)
        self.assertEqual(assay.gate(self.golden, **{**defaults, "recorded": "good"}).counts, {"pass": 2})
        self.assertEqual(assay.gate(self.golden, **{name: False for name in defaults} | {"recorded": "good"}).counts,
                         {"pass": 2})
        with self.assertRaises(TypeError):
            assay.gate(self.golden, None, None, "good")

    def test_numbers_keep_all_of_their_bits(self):
        least = np.nextafter(0.5 / 3, 1)  # the error of the wrong element is 0.5 at an expected value of 3
        for rtol, outcome in ((least, "pass"), (np.float64(np.nextafter(0.5 / 3, 0)), "fail"), (np.float32(0.25), "pass")):
            self.assertEqual(assay.gate(self.golden, recorded="other", rtol=rtol, atol=0).outcome, outcome, rtol)
        self.assertEqual(assay.gate(self.golden, recorded="other", max_mismatches=np.int32(1), max_blind=1,
                                    rtol=0, atol=0.1).outcome, "pass")

    def test_the_command_of_the_report(self):
        report = assay.gate(self.golden, recorded="good", case=["add/a", "add/b"], rtol=1e-3, mutate=True)
        self.assertEqual(report.to_dict()["command"],
                         f"assay gate {self.golden} --recorded=good --case=add/a --case=add/b --rtol=0.001 --mutate")

    def test_nothing_is_printed(self):
        script = ("import sys, assay\nassay.gate(sys.argv[1], recorded='other')\n"
                  "try:\n    assay.gate(sys.argv[1], nonsense=1)\nexcept TypeError:\n    pass\n")
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
        self.assertEqual(self.refusal(TypeError, assay.campaign, self.plan, threds=2),
                         "campaign() got an unexpected keyword argument 'threds': did you mean 'threads'?")
        for options, error, text in (
                ({"threads": -1}, ValueError, "--threads: a whole number from 0 to 4096 is needed, not '-1'"),
                ({"threads": "2"}, TypeError, "threads: int | None is needed, not '2'"),
                ({"resume": True}, ValueError, "--resume needs --out DIR"),
                ({"published_dtype": "bf16"}, ValueError, "--published-dtype requires --published"),
                ({"csv": ""}, ValueError, "--csv: the value is empty; is a variable not set?"),
                ({"json": self.plan}, ValueError, f"{self.plan} is an input; --json would replace it")):
            self.assertEqual(self.refusal(error, assay.campaign, self.plan, **options), text)
        self.assertTrue(self.plan.exists())
        options = inspect.signature(assay.campaign).parameters
        self.assertEqual([name for name, p in options.items() if p.kind is not p.KEYWORD_ONLY], ["plan", "progress"])
        self.assertEqual((options["threads"].annotation, options["resume"].annotation), ("int | None", "bool"))
        self.assertEqual(assay.campaign(self.plan, **{name: p.default for name, p in options.items()
                                                      if p.kind is p.KEYWORD_ONLY}).text, report.text)
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
