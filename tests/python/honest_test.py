"""Right kernels in other styles (tests/trial/honest.py): no trial calls one of them wrong, and the runner reports wrong ones,
crashes and hangs by name. The test python.honest_in_a_thousand_draws runs more draws at night."""
import contextlib
import io
import os
import pathlib
import re
import signal
import sys
import unittest
from unittest import mock

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/trial"))

import honest  # noqa: E402
from honest_kernels import KERNELS, Kernel  # noqa: E402
from support import TestCase  # noqa: E402

import assay  # noqa: E402


def right(x):
    return x + np.float32(0)


def wrong(x):
    return x * np.float32(1.01)


def crashes(x):
    os.kill(os.getpid(), signal.SIGSEGV)


def hangs(x):
    signal.pause()


class Runner(TestCase):
    def ran(self, functions, *arguments):
        """Runs kernels of cast from float32 to float32, and returns the exit code and what was printed."""
        rows = {fn.__name__: Kernel(fn, "cast", "a plant", ["float32"], False, {"output_dtype": "float32"})
                for fn in functions}
        printed = io.StringIO()
        with mock.patch.dict(KERNELS, rows, clear=True), contextlib.redirect_stdout(printed):
            code = honest.main([*arguments])
        return code, printed.getvalue()

    def test_right(self):
        table = self.directory / "table.md"
        code, text = self.ran([right], "--draws", "59", "--piece", "20", "--table", str(table))
        self.assertEqual(code, 0, text)
        self.assertRegex(text, r"(?m)^right +cast +\d+ draws passed, .* pass ")
        passed = int(re.search(r"1 kernels of 1 operators: (\d+) draws passed", text)[1])
        self.assertGreater(passed, 40)
        self.assertIn(f"fewer than {1 - 0.05 ** (1 / passed):.2g} of such draws", text)
        self.assertIn(f"| cast | 1 | float32 | {passed} |", table.read_text())

    def test_wrong_ones_are_named(self):
        code, text = self.ran([right, wrong, crashes, hangs], "--draws", "3", "--call-seconds", "1", "--jobs", "4")
        self.assertEqual(code, 1)
        self.assertRegex(text, r"(?m)^wrong +cast .* wrong result ")
        self.assertRegex(text, r"(?m)^crashes +cast .* crash ")
        self.assertRegex(text, r"(?m)^hangs +cast .* hang ")
        self.assertIn("3 findings", text)
        self.assertNotIn("confidence", text)
        # The line `repeat` finds the same.
        seed = re.search(r"repeat: honest.py --only wrong --draws 3 --trial-seed (\d+)", text)[1]
        self.assertEqual(self.ran([wrong], "--draws", "3", "--trial-seed", seed)[0], 1)

    def test_time_limit(self):
        code, text = self.ran([right], "--draws", "100000000", "--piece", "100000000", "--time-limit", "1")
        self.assertEqual(code, 0, text)
        self.assertRegex(text, r"pass, time limit")
        self.assertGreater(int(re.search(r"operators: ([\d,]+) draws passed", text)[1].replace(",", "")), 10)

    def test_unknown_names(self):
        with self.assertRaises(SystemExit), contextlib.redirect_stderr(io.StringIO()) as printed:
            self.ran([right], "--only", "left")
        self.assertIn("--only left: no kernel has such a name", printed.getvalue())


class Kernels(TestCase):
    def test_all_operators_have_kernels(self):
        self.assertEqual({kernel.op for kernel in KERNELS.values()}, {row["name"] for row in assay.list_operators()})
        self.assertGreater(len(KERNELS), 60)

    def test_no_trial_calls_one_wrong(self):
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            code = honest.main(["--draws", "20", "--jobs", "1"])
        self.assertEqual(code, 0, printed.getvalue())


if __name__ == "__main__":
    sys.exit(unittest.main(verbosity=2))
