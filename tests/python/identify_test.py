"""Tests that assay.identify() finds the same as `assay identify`, for files, cases and arrays."""
import json
import unittest

import numpy as np

import assay
from assay import Case
from support import ROOT, TestCase, assay as program

SAMPLE = ROOT / "datasets/samples/hopper_tf32.h5"
NORMAL = "tf32/normal/k64"
RNG = np.random.default_rng(2)
A, B = (RNG.standard_normal(shape).astype("f2") for shape in ((32, 128), (128, 32)))
OUT = assay.emulate("matmul", "hopper", a=A, b=B, output_dtype="float32")


class Files(TestCase):
    def test_what_the_program_finds(self):
        report = assay.identify(SAMPLE, case=NORMAL, threads=2)
        _, said = program("identify", SAMPLE, "--case", NORMAL, "--json", "-")
        self.assertEqual(report.to_dict(), json.loads(said))
        _, said = program("identify", SAMPLE, "--case", NORMAL)
        self.assertEqual(str(report), said)
        (finding,) = report
        self.assertTrue(report)
        self.assertEqual((finding.case, finding.producer, finding.op, finding.outcome, finding.model),
                         (NORMAL, "h200", "matmul", "found", "hopper"))
        self.assertEqual(finding.parameters["compute_dtype"], "tfloat32")
        self.assertIsNone(finding.nearest)

    def test_functions_of_each_element(self):
        x = np.linspace(-20, 20, 4000).astype("f4")
        out = np.exp(x.astype("f8")).astype("f4")
        report = assay.identify("exp", out, x=x)
        (finding,) = report
        self.assertEqual((finding.outcome, finding.note, finding.nearest), ("found", "", None))
        self.assertLessEqual(finding.function["largest_ulps"], 0.5)
        self.assertEqual(finding.function, report.to_dict()["cases"][0]["function"])
        (wrong,) = assay.identify("exp", out * np.float32(1.001), x=x)
        self.assertEqual(wrong.outcome, "none")
        self.assertGreater(wrong.function["largest_ulps"], 1000)
        self.assertIsNone(assay.identify("matmul", OUT, a=A, b=B, evidence=False)[0].function)

    def test_a_machine_file(self):
        out = self.directory / "machine.json"
        assay.identify(SAMPLE, case=NORMAL, out=out, name="mine", device="a GPU")
        self.assertEqual(json.loads(out.read_text())["name"], "mine")

    def test_mistakes(self):
        self.assertEqual(self.refusal(assay.NoCaseError, assay.identify, SAMPLE, recorded="npu"),
                         f"{SAMPLE}: has no recorded outputs to identify")
        self.assertEqual(self.refusal(assay.FileError, assay.identify, "nowhere.h5"),
                         "nowhere.h5: cannot be opened: No such file or directory")
        self.assertIn("no case matches 'x*'", self.refusal(assay.NoCaseError, assay.identify, SAMPLE,
                                                           case="x*"))
        self.assertEqual(self.refusal(TypeError, assay.identify, SAMPLE, cases="x"),
                         "identify() got an unexpected keyword argument 'cases': did you mean 'case'?")
        self.assertEqual(self.refusal(TypeError, assay.identify, SAMPLE, threads="2"),
                         "threads: int | None is needed, not '2'")
        self.assertIn("--family: unknown operator 'x'", self.refusal(ValueError, assay.identify, SAMPLE, family="x"))


class Memory(TestCase):
    def test_one_product(self):
        report = assay.identify("matmul", OUT, a=A, b=B)
        (finding,) = report
        self.assertEqual((finding.outcome, finding.model, finding.parameters, finding.is_row,
                          finding.elements), ("found", "hopper", {}, True, 1024))
        self.assertEqual(repr(report),
                         "<IdentificationReport matmul (output): " + finding.sentence + ">")
        self.assertEqual(repr(finding), "<Finding matmul (output): " + finding.sentence + ">")
        self.assertTrue(str(finding).startswith("matmul (output): Hopper's tensor cores"))
        chunk = finding.evidence["chunk"]
        self.assertEqual((chunk["value"], chunk["of"], chunk["same"]), ("16", 1024, []))
        self.assertEqual(report.to_dict()["cases"][0]["model"], "hopper")
        self.assertEqual((len(report), report[-1].model), (1, "hopper"))
        self.refusal(IndexError, report.__getitem__, 1)
        self.assertTrue(finding._repr_html_().startswith("<pre>matmul (output): "))

    def test_what_the_file_of_it_gives(self):
        bias = RNG.standard_normal(32).astype("f4")
        a, b = np.ascontiguousarray(A.T), np.ascontiguousarray(B.T)
        turned = {"transpose_a": True, "transpose_b": True}
        out = assay.emulate("matmul", "ascend910b", a=a, b=b, bias=bias, output_dtype="float32", **turned)
        of_arrays = assay.identify("matmul", out, a=a, b=b, bias=bias, **turned)
        path = self.directory / "one.h5"
        case = Case("matmul", op="matmul", inputs={"a": a, "b": b, "bias": bias},
                    recorded={"output": out}, attributes={"output_dtype": "float32", **turned})
        assay.write(path, case)
        of_file = assay.identify(path).to_dict()["cases"]
        self.assertEqual(of_arrays.to_dict()["cases"], of_file)
        self.assertEqual(assay.identify(case).to_dict()["cases"], of_file)
        self.assertEqual(of_arrays[0].model, "ascend910b")

    def test_cases(self):
        with assay.open(SAMPLE) as file:
            cases = [file[name] for name in file.case_names("tf32/normal/k6*")]
        report = assay.identify(cases, recorded="h200", evidence=False)
        self.assertEqual([f.case for f in report], [case.name for case in cases])
        self.assertTrue(report)
        self.assertEqual(report[0].evidence, {})
        self.assertEqual(self.refusal(assay.CaseError, assay.identify, cases, recorded="npu"),
                         f"case {cases[0].name}: no recorded output of 'npu' to identify")

    def test_nothing_fits(self):
        x = RNG.standard_normal((16, 16)).astype("f4")
        (finding,) = report = assay.identify("matmul", x, a=x, b=x)
        self.assertFalse(report)
        self.assertEqual((finding.outcome, finding.nearest["of"]), ("none", 256))
        self.assertIn("nothing fits of ", str(finding))

    def test_what_is_none(self):
        x = np.ones((2, 3), "f2")
        (finding,) = assay.identify("softmax", x, x=x)
        self.assertEqual(finding.outcome, "not_identified")
        self.assertTrue(finding.why)
        for error, text, arguments, keywords in (
                (TypeError, 'identify("matmul", output, ...) needs the output that matmul gave',
                 ("matmul",), {}),
                (TypeError, "identify() takes a file, an operator's name and its output, or cases, not "
                 "a int", (3,), {}),
                (TypeError, "identify() takes cases, not a int", ([3],), {}),
                (ValueError, "identify() of no cases", ([],), {}),
                (TypeError, "identify(op, output, ...) takes an operator's name, not a int", (3, x), {}),
                (ValueError, "unknown input of matmul 'A': did you mean 'a'?; known: a, b, bias",
                 ("matmul", x), {"A": x}),
                (TypeError, "threads cannot be 'x'", ("matmul", x), {"a": x, "b": x, "threads": "x"}),
                (TypeError, "identify() of cases got an unexpected keyword argument 'foo'",
                 (Case("c", recorded={"p": x}),), {"foo": 1})):
            self.assertEqual(self.refusal(error, assay.identify, *arguments, **keywords), text)


if __name__ == "__main__":
    unittest.main(verbosity=2)
