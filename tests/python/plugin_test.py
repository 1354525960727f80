"""Tests the pytest plugin, run as users run it."""
import os
import re
import subprocess
import sys
import unittest
import xml.etree.ElementTree

import numpy as np

import assay
from assay import Case, Output, write
from support import TestCase

try:
    import pytest  # noqa: F401
except ImportError:
    print("pytest is not installed: skipped")
    sys.exit(77)
try:
    import xdist
except ImportError:
    xdist = None

RNG = np.random.default_rng(5)
TESTS = """\
import numpy as np
import assay

@assay.cases("golden.h5", "mm/*")
def test_mm(assay_case):
    inputs = assay_case.arrays()
    out = (inputs["a"].astype("f4") @ inputs["b"].astype("f4")).astype("f2")
    if assay_case.name in WRONG:
        out[1, 2] += 9
    assay_case.check(out)

@assay.cases("golden.h5", "two")
def test_two(assay_case):
    x = assay_case.inputs["x"].numpy()
    assay_case.check(x, output_name="y")
    report = assay_case.check(x * (2 if "two" not in WRONG else 3), output_name="z")
    assert report.name == "two", report

def test_other():
    pass
"""


class Plugin(TestCase):
    def setUp(self):
        super().setUp()
        self.golden = self.directory / "golden.h5"
        cases = []
        for name in ("mm/a", "mm/b", "mm/c", "else"):
            a, b = (RNG.standard_normal(shape).astype("f2") for shape in ((4, 8), (8, 6)))
            cases.append(Case(name, op="matmul", inputs={"a": a, "b": b},
                              golden=a.astype("f8") @ b.astype("f8"),
                              recorded={"other": np.zeros((4, 6), "f2")}))
        x = RNG.standard_normal((3, 4)).astype("f4")
        cases.append(Case("two", inputs={"x": x}, outputs={"y": Output(x.astype("f8")), "z": Output(x * 2.0)},
                          attributes={"output_dtype": "float32"}))
        write(self.golden, cases, attributes={"license": "CC0-1.0"})

    def pytest(self, *words, wrong=()):
        (self.directory / "test_it.py").write_text(f"WRONG = {wrong!r}\n{TESTS}")
        done = subprocess.run([sys.executable, "-B", "-m", "pytest", "-p", "assay.pytest_plugin",
                               "-p", "no:cacheprovider", "-q", *words], cwd=self.directory,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, encoding="utf-8",
                              check=False, env={**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"})
        return done.returncode, done.stdout

    def test_a_test_a_case(self):
        status, said = self.pytest("-vv")
        self.assertEqual(status, 0, said)
        for name in ("mm/a", "mm/b", "mm/c"):
            self.assertIn(f"test_mm[{name}] PASSED", said)
        self.assertIn("= assay =", said)
        self.assertIn("\n5 pass\n", said)
        self.assertIn("5 passed", said)
        self.assertFalse((self.directory / ".assay").exists())

    def test_failures(self):
        xml_path = self.directory / "junit.xml"
        status, said = self.pytest(f"--junitxml={xml_path}", wrong=("mm/b", "two"))
        self.assertEqual(status, 1, said)
        self.assertIn(f"assay_case = <AssayCase mm/b of {self.golden}>", said)
        self.assertIn("AssertionError: mm/b: 1 of 24 elements", said)
        self.assertRegex(said, r"\nfail  mm/b: 1 of 24 elements .*\nfail  two:z: 12 of 12 .*\n"
                         r"2 fail, 3 pass\n")
        kept = re.search(r"kept: (\S+)", said)[1]
        with assay.open(kept) as file:
            self.assertTrue(file.attributes["x_golden_file"].endswith("golden.h5"))
            self.assertEqual(file["mm/b"].judge().verdicts[0].worst[0].index, (1, 2))
        suite = xml.etree.ElementTree.parse(xml_path)
        by_case = {}
        for case in suite.iter("testcase"):
            by_case[case.get("name")] = {p.get("name"): p.get("value")
                                         for p in case.iter("property")}
        self.assertEqual({name for names in by_case.values() for name in names},
                         {"assay_case", "assay_output", "assay_outcome", "assay_standard",
                          "assay_mismatches", "assay_worst_ratio", "assay_max_abs_error",
                          "assay_max_rel_error"})
        self.assertEqual(by_case["test_mm[mm/b]"]["assay_outcome"], "fail")
        self.assertEqual(by_case["test_mm[mm/b]"]["assay_mismatches"], "1")
        self.assertEqual(by_case["test_mm[mm/a]"]["assay_outcome"], "pass")
        self.assertIn("assay_max_abs_error", by_case["test_mm[mm/a]"])
        self.assertEqual(by_case["test_other"], {})

    @unittest.skipIf(xdist is None, "pytest-xdist is not installed")
    def test_several_processes(self):
        status, said = self.pytest("-p", "xdist", "-n", "2", wrong=("mm/a", "mm/c"))
        self.assertEqual(status, 1, said)
        self.assertIn("\n2 fail, 3 pass\n", said)
        self.assertEqual(len(list((self.directory / ".assay/failed").glob("*.h5"))), 2)

    def test_update_keeps_the_golden_results_of_failures(self):
        before = self.golden_of("mm/b"), self.golden_of("two", "z")
        status, said = self.pytest("--assay-update", wrong=("mm/b", "two"))
        self.assertEqual(status, 1, said)
        self.assertIn("golden.h5: 3 golden results replaced", said)
        self.assertRegex(said, r"\nfail  mm/b: 1 of 24 elements .*\nfail  two:z: 12 of 12 ")
        self.assertIn("the golden result stays; --assay-update-failing replaces it by this output", said)
        self.assertEqual((self.golden_of("mm/b"), self.golden_of("two", "z")), before)
        self.assertEqual(self.golden_of("mm/a").dtype, "float64", "as precise as before")

    def test_update_makes_the_first_golden_result(self):
        with assay.open(self.golden) as file:
            cases = [file.read(name) for name in file.case_names()]
        for case in cases:
            if case.name == "mm/a":
                case.golden = None
        write(self.golden, cases)
        status, said = self.pytest("--assay-update", "-k", "mm/a")
        self.assertEqual(status, 0, said)
        self.assertIn("golden.h5: 1 golden results replaced", said)
        self.assertEqual(self.golden_of("mm/a").dtype, "float16", "that of the output")

    def golden_of(self, name, part=""):
        with assay.open(self.golden) as file:
            case = file.read(name)
        return (case.outputs[part] if part else case).golden

    def test_update(self):
        before = self.golden.read_bytes()
        status, said = self.pytest("-p", "xdist", "-n", "2", "--assay-update-failing", wrong=("mm/b", "two")) \
            if xdist else self.pytest("--assay-update-failing", wrong=("mm/b", "two"))
        self.assertEqual(status, 0, said)
        self.assertRegex(said, r"\nupdated  mm/b: would be fail: 1 of 24 elements .*\nupdated  two:z: would be fail: ")
        self.assertIn("golden.h5: 5 golden results replaced", said)
        self.assertIn("5 updated", said)
        self.assertIn("1 passed, 4 skipped", said)
        self.assertNotEqual(self.golden.read_bytes(), before)
        with assay.open(self.golden) as file:
            self.assertEqual(file.case_names(), ["else", "mm/a", "mm/b", "mm/c", "two"])
            self.assertEqual(file["two"].outputs["z"].golden.numpy().tolist(),
                             (file["two"].inputs["x"].numpy() * 3).tolist())
            self.assertEqual(file["mm/b"].golden.dtype, "float64")
            self.assertEqual(file["else"].golden.dtype, "float64")
            self.assertEqual(list(file["mm/b"].recorded), ["other"])
            self.assertEqual(file.attributes["license"], "CC0-1.0")
        status, said = self.pytest(wrong=("mm/b", "two"))
        self.assertEqual(status, 0, said)

    def test_tests_of_one_case_keep_their_own(self):
        (self.directory / "test_same.py").write_text(
            "import pytest, assay, numpy as np\n"
            "@pytest.mark.parametrize('factor', [2, 3])\n@assay.cases('golden.h5', 'mm/a')\n"
            "def test_it(assay_case, factor):\n"
            "    assay_case.check((assay_case.case.golden.numpy() * factor).astype('f2'))\n"
            "@assay.cases('golden.h5', 'mm/a')\ndef test_none(assay_case):\n"
            "    assay_case.check(None)\n")
        _, said = self.pytest("test_same.py")
        self.assertEqual(len(list((self.directory / ".assay/failed").glob("*.h5"))), 2)
        self.assertIn("TypeError: the output of case mm/a is None: what was called gave nothing", said)
        self.assertNotIn("_case.py", said)

    def test_mistakes(self):
        test = self.directory / "test_mistake.py"
        test.write_text("import assay\n@assay.cases('nowhere.h5')\ndef test(assay_case):\n    pass\n")
        status, said = self.pytest("test_mistake.py")
        self.assertNotEqual(status, 0)
        self.assertIn("nowhere.h5: cannot be opened: No such file or directory", said)
        test.write_text("def test(assay_case):\n    pass\n")
        _, said = self.pytest("test_mistake.py")
        self.assertIn('assay_case needs @assay.cases("golden.h5")', said)
        test.write_text("import assay\n@assay.cases('golden.h5', 'no*')\ndef test(assay_case):\n"
                        "    pass\n")
        self.assertIn("no case matches 'no*'", self.pytest("test_mistake.py")[1])


if __name__ == "__main__":
    unittest.main(verbosity=2)
