"""Tests the results of compare, assert_close, assert_product, Case.judge, golden, emulate and inject, and their messages
word for word."""
import os
import re
import subprocess
import sys
import threading
import time
import unittest
from unittest import mock

import numpy as np

import assay
from assay import Case
from support import SAMPLE, TestCase

RNG = np.random.default_rng(11)
GOLDEN = RNG.standard_normal((20, 50))
OUT = GOLDEN.astype("f4")
BAD = OUT.copy()
BAD[3, 7] = 5

APPROVED = """\
Expected: is close to the float64 reference of shape [20, 50] (standard torch)
  Actual: float32 [20, 50], which fails: 1 of 1 000 elements (0.1 %) differs by more than atol 1e-05 + rtol 1.3e-06 * |expected|
which are:
  [3, 7]: actual 5 (0x40a00000), expected EXPECTED, error"""


class Compare(TestCase):
    def test_a_pass(self):
        v = assay.compare(OUT, GOLDEN, standard="torch")
        self.assertTrue(v)
        self.assertEqual((v.outcome, v.passed, v.sites, v.mismatches, v.worst, v.dtype, v.shape),
                         ("pass", True, 1000, 0, [], "float32", (20, 50)))
        self.assertEqual(v.why, "all 1 000 elements within atol 1e-05 + rtol 1.3e-06 * |expected|")
        self.assertEqual(repr(v), f"<Verdict pass: {v.why}>")
        self.assertIsNone(v.check())
        error = np.abs(OUT.astype("f8") - GOLDEN)
        self.assertEqual(v.metrics["max_abs_error"], error.max())
        self.assertAlmostEqual(v.metrics["rmse"], np.sqrt((error ** 2).mean()), delta=1e-20)
        self.assertEqual({row["name"] for row in assay.list_metrics()}, set(v.metrics))

    def test_a_failure(self):
        v = assay.compare(BAD, GOLDEN, standard="torch")
        self.assertFalse(v)
        (mismatch,) = v.worst
        self.assertEqual((v.outcome, v.mismatches, mismatch.index, mismatch.linear, mismatch.actual,
                          mismatch.actual_bits), ("fail", 1, (3, 7), 157, 5.0, 0x40a00000))
        self.assertEqual(mismatch.expected, float(OUT[3, 7]))
        self.assertEqual(mismatch.error, abs(5 - float(OUT[3, 7])))
        self.assertEqual(v.to_dict()["mismatches"], 1)
        self.assertIn("&lt;", assay.compare(BAD, GOLDEN, standard="cann_l0")._repr_html_() + "&lt;")
        self.assertTrue(v._repr_html_().startswith("<pre>1 of 1 000 elements"))
        self.assertEqual(self.refusal(AssertionError, v.check), str(v))

    def test_torch_takes_the_looser_tolerance_of_both_dtypes(self):
        # Each value is compared with 1. Its error is between the tolerances of both dtypes, so only the looser one
        # passes.
        for output, golden, value in (("float32", "float16", 1 + 2 ** -11), ("float16", "float32", 1 + 2 ** -10),
                                      ("float32", "float64", 1 + 2 ** -17), ("float64", "float32", 1 + 9e-6)):
            a, e = np.full(4, value, output), np.ones(4, golden)
            self.assertEqual(a[0], value)
            self.assertEqual(assay.compare(a, e, standard="torch").outcome, "pass", (output, golden))
            assay.assert_close(a, e, standard="torch")
            case = Case("x", golden=e, attributes={"output_dtype": output})
            self.assertEqual(case.judge(a, standard="torch").outcome, "pass", (output, golden))
            wider = np.dtype(max(output, golden, key=lambda name: np.dtype(name).itemsize))
            a, e = a.astype(wider), e.astype(wider)
            self.assertEqual(assay.compare(a, e, standard="torch").outcome, "fail", wider)
            case = Case("x", golden=e, attributes={"output_dtype": wider.name})
            self.assertEqual(case.judge(a, standard="torch").outcome, "fail", wider)

    def test_metrics_are_those_of_what_was_judged(self):
        # Copies of small arrays are kept until the metrics are read. For large arrays the metrics are computed at once.
        for shape in ((20, 50), (200, 500)):
            golden = RNG.standard_normal(shape)
            out = golden.astype("f4")
            v = assay.compare(out, golden)
            expected = np.abs(out.astype("f8") - golden).max()
            out[:] = 0
            golden[:] = 1
            self.assertEqual(v.metrics["max_abs_error"], expected)
            self.assertEqual(v.to_dict()["outcome"], "pass")

    def test_without_metrics(self):
        for out, golden in ((OUT, GOLDEN), (np.tile(OUT, (20, 20)), np.tile(GOLDEN, (20, 20)))):
            v = assay.compare(out, golden, metrics=False)
            self.assertEqual((v.outcome, v.metrics), ("pass", None))

    def test_other_outcomes(self):
        zeros = assay.compare(np.zeros(3, "f4"), np.zeros(3))
        self.assertEqual(zeros.outcome, "untrusted")
        self.assertIn("an output of zeros would pass too", self.refusal(assay.Untrusted, zeros.check))
        other = assay.compare(OUT, GOLDEN[:3])
        self.assertEqual(self.refusal(assay.NotComparable, other.check),
                         "the output's shape is [20, 50], the expected one is [3, 50]; nothing is "
                         "broadcast")
        self.assertIsNone(other.metrics)
        same = assay.compare(OUT, OUT)
        self.assertEqual(same.outcome, "untrusted")
        self.assertIn("in the same memory", same.why)  # also if the metrics are computed later from copies
        for error in (assay.GateError, assay.NotComparable, assay.Untrusted):
            self.assertFalse(issubclass(error, AssertionError))

    def test_integers_and_fractions(self):
        """Integers do not pass because float expected values round to them."""
        expected = np.array([0.25, 3, 1])
        for dtype in (np.int8, np.int32, np.int64, np.uint8, np.bool_):
            output = np.rint(expected).astype(dtype)
            for options in ({}, {"atol": 0.5}, {"standard": "torch"}, {"standard": "bit_equal"}):
                v = assay.compare(output, expected, **options)
                self.assertEqual(v.outcome, "not_comparable")
                self.assertIn("1 of 3 expected values (float64) is not a whole number: 0.25 at [0]; ", v.why)
        v = assay.compare(np.int32([0, 3, 1]), np.rint(expected))
        self.assertEqual(v.outcome, "pass")
        self.assertEqual(v.notes, ["the output is int32 and the expected result is float64, but all expected values are "
                                   "whole numbers"])

    def test_policies(self):
        golden = np.array([1.0, np.nan, np.inf, 0.0])
        out = golden.astype("f4")
        self.assertEqual(assay.compare(out, golden, rtol=0.1, atol=0, equal_nan=False).mismatches, 1)
        self.assertEqual(assay.compare(out, golden, rtol=0.1, atol=0, equal_nan=True).mismatches, 0)
        out[0] = 2
        v = assay.compare(out, golden, rtol=0.1, atol=0, equal_nan=True, max_mismatches=1)
        self.assertEqual((v.mismatches, v.forgiven), (1, 1))
        out[2] = np.finfo("f4").max
        self.assertEqual(assay.compare(out, golden, rtol=2, atol=0, equal_nan=True).mismatches, 1)
        self.assertEqual(assay.compare(out, golden, rtol=2, atol=0, equal_nan=True,
                                       infinity="saturating").mismatches, 0)

    def test_standards_of_ones_own(self):
        path = self.directory / "mine.json"
        path.write_text('{"standards": [{"name": "mine", "why": "a test", "dtypes": '
                        '{"float32": {"rtol": 0, "atol": 10}}}]}')
        v = assay.compare(BAD, GOLDEN, standard="mine", standards=path)
        self.assertEqual((v.standard, v.mismatches), ("mine", 0))

    def test_refusals(self):
        for keywords, error, text in (
                ({"standard": "toch"}, ValueError, "unknown standard 'toch': did you mean 'torch'?"),
                ({"rtol": -1}, ValueError, "rtol: a tolerance is a number of at least 0, not -1"),
                ({"rtol": float("nan")}, ValueError, "rtol: a tolerance"),
                ({"rtol": "x"}, TypeError, "rtol cannot be 'x'"),
                ({"infinity": "no"}, ValueError, "infinity"),
                ({"tol": 1}, TypeError, "compare() got an unexpected keyword argument 'tol'"),
                ({"standard": ["torch", "numpy"]}, ValueError, "compare() judges by one standard"),
                ({"dtype": "float16"}, TypeError, "actual: an array of float32 holds no float16")):
            self.assertIn(text, self.refusal(error, assay.compare, OUT, GOLDEN, **keywords))

    def test_a_third_partys_output(self):
        third = (GOLDEN * (1 + 1e-6 * RNG.standard_normal(GOLDEN.shape))).astype("f4")
        # Metrics of the small array are computed when they are read, and those of the large one at once.
        for out in (OUT, np.tile(OUT, (20, 20))):
            golden, other = (np.tile(x, np.array(out.shape) // OUT.shape) for x in (GOLDEN, third))
            v = assay.compare(out, golden, standard="cann_l0", reference_implementation=other)
            self.assertEqual((v.outcome, len(v.readings), v.passed), ("pass", 3, True))
            self.assertGreater(v.metrics["rmse"], 0)
        wrong = (OUT * 1.001).astype("f4")
        v = assay.compare(wrong, GOLDEN, standard="cann_l0", reference_implementation=third)
        self.assertEqual(v.outcome, "fail")
        # The gate decides the same for this case if it has the third party's output, too.
        case = Case("c", golden=GOLDEN, recorded={"npu": wrong, "gpu": third},
                    attributes={"output_dtype": "float32"})
        report = case.judge(producer="npu", standard="cann_l0", reference_implementation="gpu")
        self.assertEqual(report.verdicts[0].to_dict(), v.to_dict())
        path = self.directory / "g.h5"
        assay.write(path, case)
        report = assay.gate(path, recorded="npu", standard="cann_l0", reference_implementation="gpu")
        self.assertEqual(report.cases[0].why, v.why)
        said = self.refusal(AssertionError, assay.assert_close, wrong, GOLDEN, standard="cann_l0",
                            reference_implementation=third)
        self.assertIn("MERE over the reference implementation's <= 2", said)
        codes = assay.compare(OUT.view("u4"), GOLDEN, standard="cann_l0", dtype="float32",
                              reference_implementation=third.view("u4"))
        self.assertEqual(codes.outcome, "pass")

    def test_without_a_third_partys_output(self):
        v = assay.compare(OUT, GOLDEN, standard="cann_l0")
        self.assertEqual((v.outcome, v.why), (
            "not_comparable", "the standard cann_l0 compares with a third party's output of the same "
            "case, but none is given; give reference_implementation=ARRAY"))
        self.assertIn("none is given; give reference_implementation=ARRAY",
                      self.refusal(assay.NotComparable, assay.assert_close, OUT, GOLDEN,
                                   standard="cann_l0"))
        v = assay.compare(OUT, GOLDEN, standard="cann_l0", reference_implementation=OUT)
        self.assertEqual((v.outcome, v.why),
                         ("not_comparable", "reference_implementation: an output cannot be its own reference implementation"))
        v = assay.compare(OUT, GOLDEN, standard="cann_l0", reference_implementation=OUT[:3].copy())
        self.assertEqual(v.why, "the reference implementation's output has the shape [3, 50], but the expected "
                                "result has [20, 50]")
        self.assertEqual(self.refusal(ValueError, assay.compare, OUT, GOLDEN, reference_implementation=OUT.copy()),
                         "reference_implementation is given, but no requested standard compares with a third "
                         "party's output; leave it out, or request such a standard, for example cann_l0")

    def test_arguments_of_other_types(self):
        for call, error, text in (
                (lambda: assay.compare(None, GOLDEN), TypeError,
                 "actual: a NoneType is no array of numbers"),
                (lambda: assay.compare(OUT, "golden"), TypeError,
                 "expected: a str is no array of numbers"),
                (lambda: assay.compare(OUT), TypeError,
                 "compare(actual: object, expected: object, **kwargs) was called with (ndarray)"),
                (lambda: assay.golden(3, a=OUT), TypeError,
                 "golden(op: str, **kwargs) was called with (int, a=ndarray)"),
                (lambda: assay.compare(OUT, GOLDEN, standard=3), TypeError,
                 "standard must be a name or a list of names, not 3"),
                (lambda: assay.compare(OUT, GOLDEN, threads="x"), TypeError, "threads cannot be 'x'"),
                (lambda: assay.compare(OUT, GOLDEN, threads=-1), ValueError,
                 "threads must be at least 0 (0 means all), not -1"),
                (lambda: assay.compare(OUT, GOLDEN, metrics="x"), TypeError,
                 "metrics is True or False, not 'x'"),
                (lambda: assay.compare(OUT, GOLDEN, standards="nowhere.json"), assay.FileError,
                 "nowhere.json: cannot be read: No such file or directory"),
                (lambda: assay.campaign("nowhere.json"), assay.FileError,
                 "nowhere.json: cannot be read: No such file or directory"),
                (lambda: assay.golden("softmax"), ValueError,
                 "softmax needs its inputs by name: x (...)"),
                (lambda: assay.golden("matmul", a=OUT, b=OUT, output_dtype=OUT), ValueError,
                 "unknown input of matmul 'output_dtype'; known: a, b, bias"),
                (lambda: assay.inject(OUT, "zero", seed=-1), ValueError,
                 "seed must be a whole number from 0 to 2^64 - 1, not -1"),
                (lambda: assay.open(SAMPLE)[0], TypeError, "a case is found by its name, not by a int"),
                (lambda: assay.gate(3), TypeError,
                 "expected str, bytes or os.PathLike object, not int"),
                (lambda: assay.write("x.h5", 3), TypeError,
                 "an assay.Case or an iterable of them is needed, not a int"),
                (lambda: Case(3, golden=GOLDEN).judge(OUT), TypeError,
                 "a name must be a str, not 3"),
                (lambda: Case("c", inputs=[OUT], golden=GOLDEN).judge(OUT), TypeError,
                 "case c: inputs is a list; it must be a dict"),
                (lambda: Case("c", golden=GOLDEN, attributes=None).judge(OUT), TypeError,
                 "case c: attributes is a NoneType; it must be a dict"),
                (lambda: assay.Tensor(OUT), TypeError, "Tensor.of(array) makes a Tensor")):
            self.assertEqual(self.refusal(error, call), text)
        self.assertNotIn(0, assay.open(SAMPLE))
        said = self.refusal(ValueError, assay.compare, [[1], [2, 3]], GOLDEN)
        self.assertTrue(said.startswith("actual: numpy makes no array of a list: "), said)
        bits = OUT.astype("f2").view("u2")
        for dtype in ("float16", np.float16, np.dtype("f2")):
            self.assertEqual(assay.compare(bits, GOLDEN, dtype=dtype).dtype, "float16")


class AssertClose(TestCase):
    def test_the_text_of_the_matcher(self):
        assay.assert_close(OUT, GOLDEN, standard="torch")
        said = self.refusal(AssertionError, assay.assert_close, BAD, GOLDEN, standard="torch")
        expected = re.search(r"expected (\S+ \(0x\w+\))", said)[1]
        self.assertEqual(said[:len(APPROVED) - len("EXPECTED") + len(expected)],
                         APPROVED.replace("EXPECTED", expected))

    def test_several_standards(self):
        assay.assert_close(OUT, GOLDEN, standard=["torch", "ulp(1)"])
        said = self.refusal(AssertionError, assay.assert_close, BAD, GOLDEN,
                            standard=["torch", "bit_equal"])
        self.assertIn("(standard torch and bit equality)", said)

    def test_other_outcomes(self):
        said = self.refusal(assay.Untrusted, assay.assert_close, np.zeros(3, "f4"), np.zeros(3))
        self.assertIn("  Actual: float32 [3], which cannot be trusted: ", said)
        said = self.refusal(assay.NotComparable, assay.assert_close, OUT, GOLDEN[0])
        self.assertIn("which cannot be compared: the output's shape is [20, 50]", said)

    def test_the_environment(self):
        script = ("import numpy as np, assay\nassay.assert_close(np.float32([1, 2.5]), "
                  "np.array([1, 2.0]), standard='torch')\n")
        def run(**environment):
            done = subprocess.run([sys.executable, "-c", script], stderr=subprocess.PIPE,
                                  encoding="utf-8", env={**os.environ, **environment}, check=False)
            return done.returncode, done.stderr
        status, said = run()
        self.assertEqual(status, 1)
        self.assertNotIn("environment", said)
        self.assertEqual(run(ASSAY_ATOL="0.5"), (
            0, "[ assay    ] the environment overrides tolerances: ASSAY_ATOL=0.5\n"))
        status, said = run(ASSAY_ATOL="0.4")
        self.assertEqual(status, 1)
        self.assertIn("overridden by the environment: ASSAY_ATOL=0.4", said)
        self.assertIn("ValueError: the environment's ASSAY_RTOL='x' must be a number",
                      run(ASSAY_RTOL="x")[1])


class Interrupted(TestCase):
    def test_ctrl_c_stops_what_takes_long(self):
        script = """\
import os, signal, sys, threading, time
import numpy as np, assay
rng = np.random.default_rng(1)
a = rng.standard_normal((2048, 2048)).astype("f2")
x = rng.standard_normal((64, 4096)).astype("f4")
for work in (lambda: assay.emulate("matmul", "hopper", a=a, b=a),
             lambda: assay.golden("matmul", a=np.tile(a, (4, 1)), b=a),
             lambda: assay.identify("matmul", x @ x.T + np.float32(1e-3), a=x, b=x.T)):
    threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT)).start()
    begin = time.monotonic()
    try:
        work()
        print("came to its end")
    except KeyboardInterrupt:
        print("stopped" if time.monotonic() - begin < 5 else "late")
print(assay.compare(np.ones(3, "f4"), np.ones(3)).outcome)
"""
        done = subprocess.run([sys.executable, "-c", script], stdout=subprocess.PIPE, encoding="utf-8",
                              stderr=subprocess.STDOUT, check=False, timeout=120)
        self.assertEqual(done.stdout, "stopped\nstopped\nstopped\npass\n")


class Products(TestCase):
    def test_checksums(self):
        a, b = RNG.standard_normal((2, 64, 64)).astype("f2")
        bias = RNG.standard_normal(64).astype("f2")
        c = (a.astype("f8") @ b.astype("f8") + bias).astype("f2")
        assay.assert_product(c, a, b, bias)
        assay.assert_product(c, np.ascontiguousarray(a.T), b.T, bias, transpose_a=True,
                             transpose_b=True)
        wrong = c.copy()
        wrong[5, 9] += 8
        v = assay.check_product(wrong, a, b, bias)
        self.assertEqual((v.outcome, v.flagged, bool(v)), ("fail", 1, False))
        said = self.refusal(AssertionError, assay.assert_product, wrong, a, b, bias)
        self.assertEqual(said, str(v))
        self.assertIn("element [5, 9]: actual ", said)
        self.assertIn("unknown threshold", self.refusal(ValueError, assay.assert_product, c, a, b,
                                                        threshold="v_abtf"))
        self.refusal(ValueError, assay.assert_product, c, a, b, machine="hoper")

    def test_as_the_gate_of_the_same_case_says(self):
        a, b = (RNG.standard_normal(shape).astype("f2") for shape in ((3, 2, 24, 40), (40, 33)))
        c = (a.astype("f8") @ b.astype("f8")).astype("f2")
        c[1, 1, 7, 9] += 9
        for machine in (None, "ascend910b", "hopper"):
            case = Case("product", op="matmul", inputs={"a": a, "b": b}, golden=c.astype("f8"))
            report = case.judge(c, abft=True, machine=machine, rtol=1, atol=1)
            for order in "CF":
                laid_out = (np.asarray(x, order=order) for x in (c, a, b))
                self.assertEqual(str(assay.check_product(*laid_out, machine=machine)),
                                 str(report.abft))
        eight = assay.Tensor.of(np.ones((4, 4), "u1"), "float8_e4m3fn")
        self.assertIn("name the machine", assay.check_product(np.ones((4, 4), "f4"), eight,
                                                                     eight).why)
        self.assertEqual(self.refusal(ValueError, assay.check_product, c, a, b, accumulator=c),
                         "the threshold rounding_variance does not use an accumulator or a residual; use "
                         "residual_compensated")
        for wrong, why in (((c[:2], a, b), "the output's shape is [2, 2, 24, 33], the product's is "
                            "[3, 2, 24, 33]"),
                           ((c, a, a), "a [3, 2, 24, 40] and b [3, 2, 24, 40] do not multiply: K is 40 "
                            "in a and 24 in b"),
                           ((c, a, b, a), "bias [3, 2, 24, 40] must have the shape [33]")):
            v = assay.check_product(*wrong)
            self.assertEqual((v.outcome, v.why), ("not_comparable", why))

    def test_what_the_kernel_gave_beside_its_output(self):
        a, b = (RNG.standard_normal(shape).astype("f2") for shape in ((8, 64), (64, 32)))
        before = a.astype("f4") @ b.astype("f4")
        c = before.astype("f2")
        wrong = c.copy()
        wrong.view("u2")[3, 5] ^= 1  # the lowest bit
        sums = (before - c).reshape(8, 2, 16).sum(2, dtype="f4")
        for beside in ({"accumulator": before}, {"residual": sums}):
            assay.assert_product(c, a, b, threshold="residual_compensated", **beside)
            turned = {name: np.asfortranarray(value) for name, value in beside.items()}
            assay.assert_product(c, a, b, threshold="residual_compensated", **turned)
            # Without the accumulator or residual, the rounding errors of the cast hide the fault.
            assay.assert_product(wrong, a, b)
            self.assertIn("1 of 32 checks of 16 columns is above residual_compensated",
                          self.refusal(AssertionError, assay.assert_product, wrong, a, b,
                                       threshold="residual_compensated", **beside))


class Cases(TestCase):
    def case(self):
        a, b = (RNG.standard_normal(shape).astype("f2") for shape in ((8, 16), (16, 4)))
        golden = a.astype("f8") @ b.astype("f8")
        return Case("mm/x", op="matmul", inputs={"a": a, "b": b}, golden=golden,
                    recorded={"npu": golden.astype("f2")})

    def test_judge(self):
        case = self.case()
        report = case.judge()
        self.assertEqual((report.outcome, report.producer, report.name, report.passed),
                         ("pass", "npu", "mm/x", True))
        self.assertEqual(repr(report), f"<CaseReport mm/x pass: {report.why}>")
        wrong = case.recorded["npu"].copy()
        wrong[2, 3] = 77
        report = case.judge(wrong, abft=True)
        self.assertEqual((report.outcome, report.abft.outcome), ("fail", "fail"))
        said = self.refusal(AssertionError, report.check)
        self.assertTrue(said.startswith("mm/x: 1 of 32 elements"), said)
        self.assertIn("[2, 3]: actual 77", said)
        self.assertTrue(case.judge(wrong, rtol=0, atol=1e3, max_blind=1).verdicts[0].mismatches == 0)
        with assay.open(SAMPLE) as file:
            case = file["layer0/attn_out.fwd"]
        self.assertTrue(case.judge(producer="h200"))
        self.assertIn("no recorded output of 'h100'",
                      self.refusal(assay.CaseError, case.judge, producer="h100"))

    def test_an_output_that_is_the_golden_result_itself(self):
        x = OUT.copy()
        case = Case("c", golden=x, attributes={"output_dtype": "float32"})
        self.assertEqual(case.judge(x).outcome, "untrusted")
        self.assertEqual(case.judge(x.copy()).outcome, "pass")

    def test_golden_and_emulate(self):
        case = self.case()
        a, b = case.inputs["a"], case.inputs["b"]
        golden = assay.golden("matmul", a=a, b=b)
        np.testing.assert_allclose(golden, case.golden, rtol=1e-12)
        self.assertEqual(case.result(), assay.Tensor.of(golden))
        out = assay.emulate("matmul", "ascend910b", a=a, b=b)
        self.assertEqual(out.dtype, np.float16)
        self.assertEqual(case.emulate("ascend910b"), assay.Tensor.of(out))
        wide = assay.emulate("matmul", machine="hopper", a=a, b=b, output_dtype="float32")
        self.assertEqual(wide.dtype, np.float32)
        x = assay.Tensor.of(np.uint16([[0x3f80, 0xc000, 0]]), "bfloat16")
        soft = assay.emulate("softmax", machine="ascend910b", x=x)
        self.assertEqual((soft.dtype, soft.shape), ("bfloat16", (1, 3)))
        np.testing.assert_allclose(assay.golden("softmax", x=np.float32([[0, 0]])), [[0.5, 0.5]])
        np.testing.assert_array_equal(assay.golden("reduce_sum", x=np.float32([[1, 2], [3, 4]]),
                                                   axis=0), [4, 6])
        for call, text in ((lambda: assay.golden("matmull", a=a, b=b),
                            "unknown operator 'matmull': did you mean 'matmul'?"),
                           (lambda: assay.golden("matmul", a=a), "needs the input 'b'"),
                           (lambda: assay.golden("matmul", a=a, b=b, transpose_c=True),
                            "transpose_c"),
                           (lambda: assay.emulate("matmul", "hoper", a=a, b=b),
                            "unknown machine 'hoper'"),
                           (lambda: assay.golden("matmul", a=a, b=b[:3]), "do not multiply")):
            self.assertIn(text, str(self.assertRaisesText(call)))

    def assertRaisesText(self, call):
        with self.assertRaises(ValueError) as caught:
            call()
        return caught.exception

    def test_inject(self):
        done = assay.inject(OUT, "flip,bit=22", seed=3)
        (flip,) = done.flips
        self.assertEqual(OUT[flip["index"]], flip["before"])
        self.assertEqual(done.output[flip["index"]], flip["after"])
        self.assertEqual(flip["before_bits"] ^ flip["after_bits"], 1 << 22)
        self.assertEqual(np.count_nonzero(done.output != OUT), 1)
        self.assertEqual(assay.inject(OUT, "flip,bit=22,seed=3").flips, done.flips)
        self.assertNotEqual(assay.inject(OUT, "flip,bit=22", seed=4).flips, done.flips)
        codes = assay.inject(np.zeros(4, "u2"), "flip,bit=14,at=2", dtype="bfloat16").output
        self.assertEqual((codes.dtype, codes.bits.tolist()), ("bfloat16", [0, 0, 0x4000, 0]))
        self.refusal(ValueError, assay.inject, OUT, "flop")
        self.refusal(ValueError, assay.inject, OUT, "flip,bit=32")


class Tables(TestCase):
    def test_each_lists_what_the_program_lists(self):
        from support import assay as program
        for table, word in (("operators", "matmul"), ("machines", "ascend910b"),
                            ("standards", "torch"), ("thresholds", "v_abft"),
                            ("distributions", "normal"), ("attributes", "rtol"),
                            ("layouts", "msprobe"), ("array_formats", "npz")):
            rows = getattr(assay, f"list_{table}")()
            names = [row["name"] for row in rows]
            self.assertIn(word, names)
            _, said = program("list", table)
            for name in names:
                self.assertIn(name, said)
        (matmul,) = [row for row in assay.list_operators() if row["name"] == "matmul"]
        self.assertEqual([i["name"] for i in matmul["inputs"]], ["a", "b", "bias"])
        self.assertIn("transpose_a", [p["name"] for p in matmul["parameters"]])
        self.assertIn("matmul: a (..., M, K), b (..., K, N)", assay.golden.__doc__)
        self.assertGreater(len(assay.list_faults()), 10)
        self.assertGreater(len(assay.list_mutations()), 5)


class Threads(TestCase):
    def test_the_interpreters_lock_is_released(self):
        golden = np.broadcast_to(GOLDEN[0, 0], (3000, 10000))
        out = np.broadcast_to(OUT[0, 0], (3000, 10000))
        ticks, done = [], threading.Event()

        def tick():
            while not done.is_set():
                ticks.append(time.perf_counter())
                time.sleep(0.001)
        thread = threading.Thread(target=tick)
        thread.start()
        begin = time.perf_counter()
        verdict = assay.compare(out, golden, standard="torch", threads=1)
        end = time.perf_counter()
        done.set()
        thread.join()
        self.assertTrue(verdict)
        self.assertGreater(sum(begin < t < end for t in ticks), 3)

    def test_several_threads_judge_at_once(self):
        with assay.open(SAMPLE) as file:
            names, outcomes = file.case_names(), {}

            def judge(name):
                outcomes[name] = file[name].judge(producer="h200").outcome
            threads = [threading.Thread(target=judge, args=(name,)) for name in names]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        self.assertEqual(set(outcomes.values()), {"pass"})
        self.assertEqual(len(outcomes), len(names))


if __name__ == "__main__":
    unittest.main(verbosity=2)
