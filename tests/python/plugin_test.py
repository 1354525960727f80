"""The pytest plugin, run as users run it."""
import os
import re
import subprocess
import sys
import unittest
import xml.etree.ElementTree

import numpy as np

import assay
from assay import Case, write
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
                              outputs={"other": np.zeros((4, 6), "f2")}))
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
        self.assertIn("\n3 pass\n", said)
        self.assertIn("4 passed", said)
        self.assertFalse((self.directory / ".assay").exists())

    def test_failures(self):
        xml_path = self.directory / "junit.xml"
        status, said = self.pytest(f"--junitxml={xml_path}", wrong=("mm/b",))
        self.assertEqual(status, 1, said)
        self.assertIn("AssertionError: mm/b: 1 of 24 elements", said)
        self.assertRegex(said, r"\nfail  mm/b: 1 of 24 elements .*\n1 fail, 2 pass\n")
        kept = re.search(r"kept: (\S+)", said)[1]
        with assay.open(kept) as file:
            self.assertTrue(file.attributes["x_golden_file"].endswith("golden.h5"))
            self.assertEqual(file["mm/b"].judge().verdicts[0].worst[0].index, (1, 2))
        suite = xml.etree.ElementTree.parse(xml_path)
        by_case = {}
        for case in suite.iter("testcase"):
            by_case[case.get("name")] = {p.get("name"): p.get("value")
                                         for p in case.iter("property")}
        self.assertEqual(by_case["test_mm[mm/b]"]["assay_outcome"], "fail")
        self.assertEqual(by_case["test_mm[mm/b]"]["assay_misses"], "1")
        self.assertEqual(by_case["test_mm[mm/a]"]["assay_outcome"], "pass")
        self.assertIn("assay_max_abs_error", by_case["test_mm[mm/a]"])
        self.assertEqual(by_case["test_other"], {})

    @unittest.skipIf(xdist is None, "pytest-xdist is not installed")
    def test_several_processes(self):
        status, said = self.pytest("-p", "xdist", "-n", "2", wrong=("mm/a", "mm/c"))
        self.assertEqual(status, 1, said)
        self.assertIn("\n2 fail, 1 pass\n", said)
        self.assertEqual(len(list((self.directory / ".assay/failed").glob("*.h5"))), 2)

    def test_update(self):
        before = self.golden.read_bytes()
        status, said = self.pytest("-p", "xdist", "-n", "2", "--assay-update", wrong=("mm/b",)) \
            if xdist else self.pytest("--assay-update", wrong=("mm/b",))
        self.assertEqual(status, 0, said)
        self.assertIn("golden.h5: 3 golden results replaced", said)
        self.assertIn("3 updated", said)
        self.assertNotEqual(self.golden.read_bytes(), before)
        with assay.open(self.golden) as file:
            self.assertEqual(file.case_names(), ["else", "mm/a", "mm/b", "mm/c"])
            self.assertEqual(file["mm/b"].golden.dtype, "float16")
            self.assertEqual(file["else"].golden.dtype, "float64")
            self.assertEqual(list(file["mm/b"].outputs), ["other"])
            self.assertEqual(file.attributes["license"], "CC0-1.0")
        status, said = self.pytest(wrong=("mm/b",))
        self.assertEqual(status, 0, said)

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
    unittest.main()
