#!/usr/bin/python3
"""The installed package: find_package(assay CONFIG) in a project elsewhere, built and run.

    package_test.py SOURCE BUILD CMAKE COMPILER

BUILD is a finished build of SOURCE.
"""
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

import h5py
import numpy as np

SOURCE, BUILD, CMAKE, COMPILER = sys.argv[1:5]
CTEST = str(pathlib.Path(CMAKE).with_name("ctest"))

PROJECT = """cmake_minimum_required(VERSION 3.25)
project(consumer LANGUAGES CXX)
find_package(assay 0.1 CONFIG REQUIRED)
enable_testing()
add_executable(ops ops.cc)
target_link_libraries(ops PRIVATE assay::datasets)
assay_add_dataset_tests(ops DATASETS gemms.h5 STANDARD torch LABELS nightly)
add_executable(first_test first_test.cc)
target_link_libraries(first_test PRIVATE assay::matchers GTest::gtest_main)
add_test(NAME first COMMAND first_test)
add_test(NAME program COMMAND assay::assay gate ${CMAKE_CURRENT_SOURCE_DIR}/gemms.h5 --machine exact)
"""

FIRST = """#include <assay/matchers.h>
#include <gtest/gtest.h>
#include <vector>

TEST(First, Passes) {
  const std::vector<float> out = {1.0f, 2.0f}, golden = {1.0f, 2.0f};
  EXPECT_THAT(out, assay::CloseTo(golden));
}
"""


def run(*command, **options):
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True, **options)
    return done.returncode, done.stdout + done.stderr


class Package(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        keep = tempfile.TemporaryDirectory(prefix="assay_package_")
        cls.addClassCleanup(keep.cleanup)
        cls.root = pathlib.Path(keep.name)
        cls.prefix = cls.root / "moved"
        code, out = run(CMAKE, "--install", BUILD, "--prefix", cls.root / "prefix")
        assert code == 0, out
        # Nothing may lean on where it was installed first.
        os.rename(cls.root / "prefix", cls.prefix)

    def project(self, name, text):
        project = self.root / name
        project.mkdir()
        (project / "CMakeLists.txt").write_text(text)
        return project

    def test_consumer_builds_and_runs(self):
        project = self.project("consumer", PROJECT)
        (project / "first_test.cc").write_text(FIRST)
        (project / "ops.cc").write_text((pathlib.Path(SOURCE) / "tests/dataset_tests/sample_ops.cc").read_text())
        a, b = np.arange(12, dtype="f4").reshape(3, 4), np.arange(8, dtype="f4").reshape(4, 2)
        with h5py.File(project / "gemms.h5", "w") as f:
            f.attrs["assay_schema"] = 1
            case = f.create_group("cases/small")
            case.attrs["op"], case.attrs["output_dtype"] = "matmul", "float32"
            for path, data in {"inputs/a": a, "inputs/b": b, "golden": a.astype("f8") @ b}.items():
                case[path] = data
                case[path].attrs["dtype"] = str(data.dtype)
        build = project / "build"
        code, out = run(CMAKE, "-S", project, "-B", build, "-G", "Ninja", f"-DCMAKE_PREFIX_PATH={self.prefix}",
                        f"-DCMAKE_CXX_COMPILER={COMPILER}")
        self.assertEqual(code, 0, out)
        code, out = run(CMAKE, "--build", build)
        self.assertEqual(code, 0, out)
        code, out = run(CTEST, "--output-on-failure", cwd=build)
        self.assertEqual(code, 0, out)
        for name in ("ops.gemms.small", "first", "program"):
            self.assertIn(name, out)
        self.assertIn("100% tests passed, 0 tests failed out of 3", out)
        code, out = run(CTEST, "-N", "-L", "nightly", cwd=build)
        self.assertIn("Total Tests: 1", out)

    def test_no_path_of_the_build_is_left_in_the_package(self):
        for path in self.prefix.rglob("*"):
            if path.suffix in (".cmake", ".h"):
                text = path.read_text()
                for place in (SOURCE, BUILD, str(self.root)):
                    self.assertNotIn(place, text, path)

    def test_every_public_header_is_installed(self):
        for room in ("framework", "datasets", "matchers"):
            top = pathlib.Path(SOURCE) / room
            for header in top.rglob("*.h"):
                self.assertTrue((self.prefix / "include" / header.relative_to(top)).exists(), header)

    def test_program_runs_where_it_was_put(self):
        code, out = run(self.prefix / "bin/assay", "--version")
        self.assertEqual(code, 0, out)

    def test_fast_math_is_an_error_for_users_too(self):
        """It changes what a comparison means: NaN and infinity, and the order of sums."""
        source = self.root / "fast.cc"
        source.write_text("#include <assay/judge/verdict.h>\nint main() {}\n")
        compile = (COMPILER, "-std=c++20", "-fsyntax-only", "-I", self.prefix / "include", source)
        code, out = run(*compile)
        self.assertEqual(code, 0, out)
        code, out = run(*compile, "-ffast-math")
        self.assertNotEqual(code, 0)
        self.assertIn("fast-math", out)

    def test_wrong_version_is_refused(self):
        project = self.project("later", "cmake_minimum_required(VERSION 3.25)\nproject(later LANGUAGES CXX)\n"
                                        "find_package(assay 99 CONFIG REQUIRED)\n")
        code, out = run(CMAKE, "-S", project, "-B", project / "build", f"-DCMAKE_PREFIX_PATH={self.prefix}",
                        f"-DCMAKE_CXX_COMPILER={COMPILER}")
        self.assertNotEqual(code, 0)
        self.assertIn("requested version \"99\"", " ".join(out.split()))

    def test_subproject_configures(self):
        """add_subdirectory(assay) instead of a package, the function called from the project above it."""
        project = self.project("above", f"""cmake_minimum_required(VERSION 3.25)
project(above LANGUAGES C CXX)
enable_testing()
add_subdirectory([==[{SOURCE}]==] assay)
add_executable(ops [==[{SOURCE}/tests/dataset_tests/sample_ops.cc]==])
target_link_libraries(ops PRIVATE assay::datasets)
assay_add_dataset_tests(ops DATASETS gemms.h5)
""")
        build = project / "build"
        code, out = run(CMAKE, "-S", project, "-B", build, "-G", "Ninja", f"-DCMAKE_CXX_COMPILER={COMPILER}")
        self.assertEqual(code, 0, out)
        # Not built, ops cannot list its cases; ctest must say so, and nothing else.
        code, out = run(CTEST, "-N", cwd=build)
        self.assertIn("Total Tests: 1", out)
        self.assertIn("NOT_BUILT", out)
        self.assertNotIn("CMake Error", out)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[5:], verbosity=2)
