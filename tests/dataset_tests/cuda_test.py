#!/usr/bin/env python3
"""Compiles examples/cuda with CUDA's compiler, against the installed package and in a folder that tests/cuda/pack made.
Without a device, the example's tests are skipped.

    cuda_test.py SOURCE BUILD CMAKE COMPILER [TEST...]
"""
import os
import pathlib
import shutil
import subprocess
import sys
import tarfile
import unittest

from installed import BUILD, CMAKE, CTEST, ROOT, SOURCE, configure, install, run

NVCC = shutil.which("nvcc") or shutil.which("nvcc", path="/usr/local/cuda/bin")
TESTS = 7
NO_DEVICE = "there is no CUDA device: "


@unittest.skipUnless(NVCC, "there is no nvcc here")
class Example(unittest.TestCase):
    def test_it_compiles_and_says_why_tests_are_skipped(self):
        install()
        source = ROOT / "cuda kernels"  # with a blank, so that every path has one
        shutil.copytree(pathlib.Path(SOURCE) / "examples/cuda", source)
        code, out = configure(source, source / "build", f"-DCMAKE_CUDA_COMPILER={NVCC}",
                              "-DCMAKE_CXX_FLAGS=-Wall -Wextra -Wconversion -Wshadow -Werror",
                              "-DCMAKE_CUDA_FLAGS=-Werror all-warnings")
        self.assertEqual(code, 0, out)
        code, out = run(CMAKE, "--build", source / "build")
        self.assertEqual(code, 0, out)
        code, out = run(CTEST, "--verbose", cwd=source / "build")
        self.assertEqual(code, 0, out)
        self.assertIn(f"100% tests passed, 0 tests failed out of {TESTS}", out)
        if NO_DEVICE in out:
            self.assertEqual(out.count(NO_DEVICE), TESTS, out)
            self.assertEqual(out.count("(Skipped)"), TESTS, out)


class Pack(unittest.TestCase):
    pack = pathlib.Path(SOURCE) / "tests/cuda/pack"

    def refusal(self, *arguments):
        code, out = run("bash", self.pack, *arguments)
        self.assertEqual(code, 2, out)
        return out.strip()

    def test_what_cannot_be_packed_is_refused(self):
        usage = "usage: tests/cuda/pack [--build FOLDER] [--python INCLUDE] FILE.tar.xz"
        file, nowhere = ROOT / "refused.tar.xz", ROOT / "nowhere"
        for arguments, text in (
            ((), "give the file to write, which ends with .tar.xz"),
            (("pack.zip",), "give the file to write, which ends with .tar.xz"),
            (("a.tar.xz", "b.tar.xz"), "two files are named, a.tar.xz and b.tar.xz; give one"),
            (("--pyton", file), f"unknown option --pyton; {usage}"),
            (("--build",), "--build needs a value"),
            ((nowhere / "a.tar.xz",), f"there is no folder {nowhere}"),
            (("--build", nowhere, file),
             f"there is no build in {nowhere}; build all of it first (cmake --build --preset release)"),
            (("--build", BUILD, "--python", nowhere, file),
             f"there is no Python.h in {nowhere}; install the headers of that Python"),
        ):
            self.assertEqual(self.refusal(*arguments), f"tests/cuda/pack: {text}")
        self.assertFalse(file.exists())

    def test_run_refuses_what_it_cannot_do(self):
        tests = pathlib.Path(SOURCE) / "tests/cuda/run"
        self.assertEqual(run("bash", tests, "exampel"), (
            2, "tests/cuda/run: there is no part 'exampel'; the parts are example, verdicts and sanitizer\n"))
        self.assertEqual(run("bash", tests, "example"), (
            2, "tests/cuda/run: the example needs a folder that tests/cuda/pack made, and this folder is another one\n"))

    @unittest.skipUnless(NVCC, "there is no nvcc here")
    def test_the_example_is_built_from_what_was_packed(self):
        file = ROOT / "pack.tar.xz"
        code, out = run("bash", self.pack, "--build", BUILD, file)
        self.assertEqual(code, 0, out)
        self.assertLess(file.stat().st_size, 25 << 20)
        with tarfile.open(file) as archive:
            self.assertEqual({name.split("/")[0] for name in archive.getnames()}, {"assay-cuda"})
            archive.extractall(ROOT)
        unpacked = ROOT / "assay-cuda"
        for path in unpacked.rglob("*.cmake"):
            self.assertNotIn(BUILD, path.read_text(), path)
        environment = dict(os.environ, PATH=f"{pathlib.Path(CMAKE).parent}:{os.environ['PATH']}")
        done = subprocess.run([unpacked / "tests/cuda/run"], capture_output=True, text=True, env=environment)
        if NO_DEVICE in done.stdout:
            self.assertEqual(done.returncode, 77, done.stdout + done.stderr)
            self.assertEqual(done.stderr.splitlines()[-1],
                             "tests/cuda/run: tests of the example were skipped, for the reason above")
        else:
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        used = (unpacked / "build/example/CMakeCache.txt").read_text()
        for package in ("GTest", "fmt", "hwy"):
            self.assertIn(f"{package}_DIR:UNINITIALIZED={unpacked}/prefix/lib/x86_64-linux-gnu/cmake/{package}\n",
                          used.replace(":PATH=", ":UNINITIALIZED="))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[5:], verbosity=2)
