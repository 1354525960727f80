"""Tests the wheel, which one command makes and which is used in an environment of its own."""
import os
import pathlib
import subprocess
import sys
import unittest
import zipfile

from support import ROOT, TestCase

# The environment without PYTHONPATH, so that the package is found only if the wheel is installed.
PLAIN = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}


def run(*words, cwd=None, env=None, check=True):
    done = subprocess.run([os.fspath(word) for word in words], stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, encoding="utf-8", cwd=cwd, env=env or PLAIN,
                          check=False)
    if check and done.returncode != 0:
        raise AssertionError(f"{words} exited with {done.returncode}:\n{done.stdout}")
    return done.stdout


@unittest.skipIf(subprocess.run([sys.executable, "-c", "import setuptools, pip, venv, ensurepip, wheel"],
                                check=False, stderr=subprocess.DEVNULL).returncode,
                 "pip, venv, setuptools or wheel is not installed")
class Wheel(TestCase):
    def test_one_command_and_a_clean_environment(self):
        run(sys.executable, "-m", "pip", "wheel", "--no-index", "--no-build-isolation", "--no-deps",
            "-w", self.directory, ROOT)
        (wheel,) = self.directory.glob("assay-*.whl")
        with zipfile.ZipFile(wheel) as file:
            names = file.namelist()
        for name in ("assay/__init__.py", "assay/_core.pyi", "assay/py.typed", "assay/torch.py",
                     "assay/pytest_plugin.py"):
            self.assertIn(name, names)
        self.assertEqual(sum(name.startswith("assay/_core.cpython-") for name in names), 1)
        environment = self.directory / "env"
        run(sys.executable, "-m", "venv", "--system-site-packages", environment)
        python = environment / "bin/python"
        run(python, "-m", "pip", "install", "--no-index", wheel)
        said = run(python, "-c", "import assay, numpy as np\n"
                   "assay.assert_close(np.ones(3, 'f4'), np.ones(3))\n"
                   "print(assay.__file__, assay._core.__file__, assay.__version__)",
                   cwd=self.directory)
        self.assertEqual(said.count(str(environment)), 2, said)
        test = self.directory / "test_it.py"
        test.write_text("def test(pytestconfig):\n    assert pytestconfig.pluginmanager.hasplugin('assay')\n")
        said = run(python, "-m", "pytest", "-q", test, cwd=self.directory, check=False)
        if "No module named pytest" not in said:
            self.assertIn("1 passed", said)  # the test passes if the wheel's entry point has loaded the plugin


if __name__ == "__main__":
    unittest.main(verbosity=2)
