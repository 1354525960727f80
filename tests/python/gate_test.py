"""assert_gate: what each exit code of the program becomes."""
import os
import pathlib
import re
import stat
import unittest
from unittest import mock

import numpy as np

from assay_data import (Case, Dataset, DatasetError, GateError, NotComparable, Tensor, Untrusted,
                        assert_gate, write)
from support import SAMPLE, TestCase, tensor

GOLDEN = np.float64([[1.25, -2.5], [3.0, 4.75]])
GOOD = GOLDEN.astype("f4")
WRONG = GOOD + np.float32([[0, 0], [0.5, 0]])


class Stale:
    """An array whose data are gone when they are asked for."""

    def __array__(self, dtype=None, copy=None):
        raise ValueError("the buffer was freed")


class Arrays(TestCase):
    def test_pass(self):
        self.assertIn("pass", assert_gate(GOLDEN, GOOD))
        assert_gate(GOLDEN, GOOD, standard=["torch", "ulp(1)"])
        assert_gate(golden=GOLDEN.tolist(), outputs=Tensor.of(GOOD))

    def test_fail_with_the_programs_own_text(self):
        said = self.refusal(AssertionError, assert_gate, GOLDEN, WRONG, directory=self.directory)
        self.assertTrue(said.startswith("assay gate: the comparison failed\n"), said)
        self.assertIn("1 of 4", said)
        self.assertIn("[1, 0]: actual 3.5", said)
        # The line that reproduces it does so.
        line = re.search(r"reproduce: (.*)", said)[1]
        self.assertIn(str(self.directory / "case.h5"), line)
        self.assertEqual(os.waitstatus_to_exitcode(os.system(f"{line} > /dev/null")), 1)

    def test_what_the_kernel_gave_beside_its_output(self):
        rng = np.random.default_rng(3)
        a, b = (rng.standard_normal(shape).astype("f2") for shape in ((8, 64), (64, 32)))
        before = a.astype("f4") @ b.astype("f4")
        output = before.astype("f2")
        wrong = output.copy()
        wrong.view("u2")[3, 5] ^= 1  # the lowest bit
        sums = (before - output).reshape(8, 2, 16).sum(2, dtype="f4")
        golden = a.astype("f8") @ b.astype("f8")

        def case(c, **beside):
            return Case("x", op="matmul", inputs={"a": a, "b": b}, golden=golden,
                        outputs={"npu": c}, **beside)

        for beside in ({"accumulators": {"npu": before}}, {"residuals": {"npu": sums}}):
            assert_gate(case(output, **beside), abft="residual_compensated")
            assert_gate(case(wrong, **beside), abft=True)  # the others' roundings hide it
            said = self.refusal(AssertionError, assert_gate, case(wrong, **beside),
                                abft="residual_compensated")
            self.assertIn("1 of 32 checks of 16 columns is above residual_compensated", said)
            write(self.directory / "beside.h5", case(output, **beside))
            with Dataset(self.directory / "beside.h5") as file:
                (part, arrays), = beside.items()
                np.testing.assert_array_equal(getattr(file.read("x"), part)["npu"].numpy(),
                                              arrays["npu"])
                self.assertEqual(getattr(file.info("x"), part)["npu"].dtype, "float32")
        self.assertIn("residual_compensated needs what the cast took away",
                      self.refusal(NotComparable, assert_gate, case(output),
                                   abft="residual_compensated"))
        self.assertIn("has no output of 'gpu' that an accumulator or residual could lie beside",
                      self.refusal(DatasetError, write, self.directory / "no.h5",
                                   case(output, residuals={"gpu": sums})))

    def test_tolerances(self):
        assert_gate(GOLDEN, WRONG, rtol=0, atol=0.5)
        self.refusal(AssertionError, assert_gate, GOLDEN, WRONG, rtol=0, atol=0.49)
        nan = np.where(GOOD == 3, np.float32(np.nan), GOOD)
        golden = np.where(GOLDEN == 3, np.nan, GOLDEN)
        self.refusal(AssertionError, assert_gate, golden, nan, standard="torch")
        assert_gate(golden, nan, standard="torch", equal_nan=True)

    def test_bits_of_a_format_that_numpy_has_not(self):
        codes = Tensor.of(np.uint8([0x08, 0x10, 0x31]), "hifloat8")
        other = Tensor.of(np.uint8([0x08, 0x10, 0x32]), "hifloat8")
        same = Tensor.of(np.uint8([0x08, 0x10, 0x31]), "hifloat8")
        assert_gate(codes, same, standard="bit_equal")
        self.assertIn("hifloat8",
                      self.refusal(AssertionError, assert_gate, codes, other, standard="bit_equal"))

    def test_not_comparable(self):
        said = self.refusal(NotComparable, assert_gate, GOLDEN, GOOD.T[:1])
        self.assertIn("assay gate: not comparable\n", said)
        self.assertIn("shape", said)

    def test_untrusted(self):
        said = self.refusal(Untrusted, assert_gate, np.zeros(3), np.zeros(3, "f4"))
        self.assertIn("assay gate: untrusted: the check could not have failed\n", said)
        self.refusal(Untrusted, assert_gate, np.zeros((0, 2)), np.zeros((0, 2), "f4"))

    def test_a_comparison_with_itself_is_untrusted(self):
        for outputs in (GOOD, GOOD[:], Tensor.of(GOOD)):
            said = self.refusal(Untrusted, assert_gate, GOOD, outputs)
            self.assertIn("the output is the golden result itself: the same bytes of ", said)
        assert_gate(GOOD, GOOD.copy())
        self.refusal(Untrusted, assert_gate,
                     Case("c", golden=GOOD, outputs={"p": GOOD}, attributes={"output_dtype": "float32"}))

    def test_empty_values_are_refused(self):
        case = Case("c", golden=GOLDEN, outputs={"p": GOOD}, attributes={"output_dtype": "float32"})
        for option in ("recorded", "machine", "case", "standard", "rtol", "atol", "abft"):
            said = self.refusal(GateError, assert_gate, case, **{option: ""})
            self.assertIn(f"--{option}: the value is empty; is a variable not set?", said)
        self.refusal(GateError, assert_gate, case, assay="")
        self.assertIn("--outputs: the value is empty", self.refusal(GateError, assert_gate, "g.h5", ""))

    def test_what_is_no_failed_comparison_is_no_assertion_error(self):
        for error in (GateError, NotComparable, Untrusted):
            self.assertFalse(issubclass(error, AssertionError))

    def test_own_directory(self):
        assert_gate(GOLDEN, GOOD)
        self.assertEqual(os.listdir(self.directory), [])
        self.refusal(TypeError, assert_gate, GOLDEN, np.uint16([1]))
        self.refusal(ValueError, assert_gate, Case("c", golden=Stale()))
        self.assertEqual(os.listdir(self.directory), [])
        said = self.refusal(AssertionError, assert_gate, GOLDEN, WRONG)
        kept = pathlib.Path(re.search(r"kept: (.*)", said)[1])
        self.assertEqual(kept.parent.parent, self.directory)
        with Dataset(kept) as file:
            np.testing.assert_array_equal(file.read("arrays").outputs["output"].numpy(), WRONG)

    def test_wrong_combinations(self):
        for golden, outputs in ((GOLDEN, None), (GOLDEN, "out.h5"), (SAMPLE, GOOD),
                                (Case("c", golden=GOLDEN), GOOD)):
            self.refusal(TypeError, assert_gate, golden, outputs)


class Files(TestCase):
    def setUp(self):
        super().setUp()
        self.golden = self.directory / "golden.h5"
        write(self.golden, [Case(f"add/{name}", golden=GOLDEN,
                                 outputs={"good": GOOD, "other": other},
                                 attributes={"output_dtype": "float32"})
                            for name, other in (("a", GOOD), ("b", WRONG))])

    def test_recorded(self):
        self.assertIn("add/b", assert_gate(self.golden, recorded="good"))
        assert_gate(str(self.golden), recorded="other", case="*/a")
        said = self.refusal(AssertionError, assert_gate, self.golden, recorded="other")
        self.assertIn("add/b", said)

    def test_outputs_in_a_file(self):
        out = self.directory / "out.h5"
        with Dataset(self.golden) as file:
            write(out, (Case(c.name, outputs={"mine": c.golden.numpy().astype("f4")}) for c in file))
        assert_gate(self.golden, out)
        write(out, Case("add/a", outputs={"mine": GOOD}))
        self.assertIn("add/b", self.refusal(NotComparable, assert_gate, self.golden, out))

    def test_machine_checksums_and_other_options(self):
        a, b = np.random.default_rng(1).standard_normal((2, 16, 16)).astype("f2")
        golden = a.astype("f8") @ b.astype("f8")
        case = Case("gemm", op="matmul", inputs={"a": a, "b": b}, golden=golden)
        page = self.directory / "page.html"
        said = assert_gate(case, machine="ascend910b", abft=True, options=["--html", page])
        self.assertIn("gemm", said)
        self.assertGreater(page.stat().st_size, 1000)
        broken = golden.astype("f2")
        broken[3, 4] = -100
        case.outputs["npu"] = broken
        for abft in (True, "v_abft"):
            said = self.refusal(AssertionError, assert_gate, case, abft=abft, rtol=0, atol=1e4)
            self.assertIn("abft", said)

    def test_few_failures_of_many(self):
        write(self.golden, [Case(f"number{i:03}", golden=GOLDEN, attributes={"output_dtype": "fp32"},
                                 outputs={"p": WRONG if i % 50 == 7 else GOOD})
                            for i in range(300)])
        said = self.refusal(AssertionError, assert_gate, self.golden)
        self.assertLess(len(said), 5000)
        rows = said.split("\n\n")[0].splitlines()
        self.assertEqual([row.split()[:2] for row in rows[2:8]],
                         [[f"number{i:03}", "fail"] for i in range(7, 300, 50)])
        self.assertEqual(rows[8:], ["... and 294 that pass, not shown; --all lists every case"])
        self.assertIn("\n300 cases: 294 pass, 6 fail\n", said)

    def test_the_pattern_of_a_failure(self):
        golden = np.random.default_rng(2).standard_normal((8, 8))
        said = self.refusal(AssertionError, assert_gate, golden, golden.T.astype("f4"))
        self.assertIn("\nwhere: the transpose of the output would pass (explains 56 of 56 misses)\n",
                      said)

    def test_output_dtype_that_the_case_does_not_say(self):
        write(self.golden, Case("c", golden=GOLDEN, outputs={"p": GOOD}))
        said = self.refusal(NotComparable, assert_gate, self.golden)
        self.assertIn("the output is float32, the case's output dtype is float64, which is that of "
                      "its golden result, as the case does not say it. Where float32 is meant, give "
                      "the case the attribute output_dtype = float32: python3 -c ", said)

    def test_usage_and_unreadable_files(self):
        said = self.refusal(GateError, assert_gate, self.golden)
        self.assertTrue(said.startswith("assay gate: wrong usage or an unreadable file\n"), said)
        self.assertIn("good, other", said)
        self.assertIn("is in no layout that assay knows", self.refusal(GateError, assert_gate, __file__))
        self.assertIn("cannot be opened",
                      self.refusal(GateError, assert_gate, self.directory / "nowhere.h5"))
        self.assertIn("no_such", self.refusal(GateError, assert_gate, self.golden, recorded="good",
                                              standard="no_such"))
        self.refusal(NotComparable, assert_gate, self.golden, recorded="good", case="sub*")


class Program(TestCase):
    def script(self, text):
        path = self.directory / "assay"
        path.write_text(f"#!/bin/sh\n{text}\n")
        path.chmod(path.stat().st_mode | stat.S_IXUSR)
        return path

    def test_where_it_is_found(self):
        said = self.script("echo mine \"$@\"")
        there = os.environ["ASSAY"]
        self.assertEqual(assert_gate(SAMPLE, assay=said, rtol=0.5),
                         f"mine gate {SAMPLE} --rtol 0.5")
        with mock.patch.dict(os.environ, {"ASSAY": str(said), "PATH": os.path.dirname(there)}):
            self.assertEqual(assert_gate("x.h5"), "mine gate x.h5")
            self.assertIn("pass", assert_gate(GOLDEN, GOOD, assay=there))
        with mock.patch.dict(os.environ, {"PATH": f"{self.directory}:/usr/bin:/bin"}):
            del os.environ["ASSAY"]
            self.assertEqual(assert_gate("x.h5"), "mine gate x.h5")
            os.environ["PATH"] = "/nowhere"
            self.assertEqual(self.refusal(GateError, assert_gate, "x.h5"),
                             "the program assay is not found: give assay=, set the environment "
                             "variable ASSAY, or put it into PATH")
            os.environ["ASSAY"] = "/nowhere/assay"
            self.assertEqual(self.refusal(GateError, assert_gate, "x.h5"),
                             "the environment variable ASSAY names '/nowhere/assay', which is no "
                             "program to be run")

    def test_other_ends(self):
        path = self.script("kill -SEGV $$")
        self.assertIn("ended by SIGSEGV", self.refusal(GateError, assert_gate, SAMPLE, assay=path))
        path = self.script("echo oops >&2; exit 77")
        self.assertEqual(self.refusal(GateError, assert_gate, SAMPLE, assay=path),
                         "assay gate: exit code 77\noops")


if __name__ == "__main__":
    unittest.main()
