#!/usr/bin/env python3
"""Tests the installed package: projects elsewhere that use find_package(assay CONFIG) are built and run. One of them is
the example of a team's own operator.

    package_test.py SOURCE BUILD CMAKE COMPILER [TEST...]

BUILD is a finished build of SOURCE.
"""
import pathlib
import shutil
import sys
import tempfile
import unittest

import h5py
import numpy as np

from installed import BUILD, CMAKE, COMPILER, CTEST, PREFIX, ROOT, SOURCE, configure, install, run

PROJECT = """cmake_minimum_required(VERSION 3.25)
project(consumer LANGUAGES CXX)
find_package(assay 0.2 CONFIG REQUIRED)
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


def setUpModule():
    install()


class Package(unittest.TestCase):
    root, prefix = ROOT, PREFIX

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
        code, out = configure(project, build)
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

    def test_the_command_line_comes_without_its_parser(self):
        """A team does not need CLI11: no header and no target uses it."""
        self.assertTrue((self.prefix / "include/assay/command_line.h").exists())
        for path in self.prefix.rglob("*"):
            if path.suffix in (".cmake", ".h"):
                self.assertNotIn("CLI/", path.read_text(), path)
                self.assertNotIn("CLI11", path.read_text(), path)

    def test_program_runs_where_it_was_put(self):
        code, out = run(self.prefix / "bin/assay", "--version")
        self.assertEqual(code, 0, out)

    def test_wrong_version_is_refused(self):
        project = self.project("later", "cmake_minimum_required(VERSION 3.25)\nproject(later LANGUAGES CXX)\n"
                                        "find_package(assay 99 CONFIG REQUIRED)\n")
        code, out = configure(project, project / "build")
        self.assertNotEqual(code, 0)
        self.assertIn("requested version \"99\"", " ".join(out.split()))

    def test_a_partial_build_is_not_installed(self):
        """The files that are not built are named before anything is written."""
        build, prefix = self.root / "partial", self.root / "nothing"
        code, out = run(CMAKE, "-S", SOURCE, "-B", build, "-G", "Ninja", f"-DCMAKE_CXX_COMPILER={COMPILER}",
                        "-DASSAY_DATASETS=OFF", "-DASSAY_TESTS=OFF", "-DASSAY_EXAMPLES=OFF", "-DASSAY_BENCHMARKS=OFF")
        self.assertEqual(code, 0, out)
        code, out = run(CMAKE, "--install", build, "--prefix", prefix)
        self.assertNotEqual(code, 0)
        self.assertIn("assay: nothing was installed, because this is not built yet: libassay_framework.a "
                      "libassay_matchers.a libassay_cuda.a. Build all of it (cmake --build", " ".join(out.split()))
        self.assertFalse(prefix.exists())

    def test_subproject_configures(self):
        """A project adds assay with add_subdirectory() and calls assay_add_dataset_tests() itself."""
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
        # `ops` is not built and cannot list its cases. ctest must say so and nothing else.
        code, out = run(CTEST, "-N", cwd=build)
        self.assertIn("Total Tests: 1", out)
        self.assertIn("NOT_BUILT", out)
        self.assertNotIn("CMake Error", out)


    def test_fetched_content_configures(self):
        """Uses FetchContent as README does, with the source that is already here."""
        project = self.project("fetching", """cmake_minimum_required(VERSION 3.25)
project(fetching LANGUAGES C CXX)
include(FetchContent)
FetchContent_Declare(assay URL https://localhost/assay.tar.gz)
FetchContent_MakeAvailable(assay)
add_executable(ops ops.cc)
target_link_libraries(ops PRIVATE assay::matchers)
""")
        (project / "ops.cc").write_text("int main() {}\n")
        code, out = run(CMAKE, "-S", project, "-B", project / "build", "-G", "Ninja",
                        f"-DCMAKE_CXX_COMPILER={COMPILER}", f"-DFETCHCONTENT_SOURCE_DIR_ASSAY={SOURCE}")
        self.assertEqual(code, 0, out)


class OwnOperator(unittest.TestCase):
    """examples/own_operator: copied elsewhere, built against the package, and used."""

    @classmethod
    def setUpClass(cls):
        cls.source = ROOT / "own operator"  # with a blank, so that every path has one
        shutil.copytree(pathlib.Path(SOURCE) / "examples/own_operator", cls.source)
        cls.build = cls.source / "build"
        code, out = configure(cls.source, cls.build, "-DCMAKE_CXX_FLAGS=-Wall -Wextra -Wconversion -Wshadow -Werror")
        assert code == 0, out
        code, out = run(CMAKE, "--build", cls.build)
        assert code == 0, out

    def assay(self, *arguments, code=0):
        """Runs team_assay in a folder of the test's own, expects the exit code and returns the output."""
        if not hasattr(self, "folder"):
            keep = tempfile.TemporaryDirectory(prefix="assay_own_")
            self.addCleanup(keep.cleanup)
            self.folder = pathlib.Path(keep.name)
        got, out = run(self.build / "team_assay", *arguments, cwd=self.folder)
        self.assertEqual(got, code, out)
        return out

    def ctest(self, *arguments):
        return run(CTEST, "--output-on-failure", *arguments, cwd=self.build)

    def test_its_tests_pass_and_a_wrong_kernel_fails_them(self):
        code, out = self.ctest()
        self.assertEqual(code, 0, out)
        for name in ("team_cases.swiglu.swiglu/bfloat16/64x256/normal/seed0",
                     "team_cases.swiglu.ascend910b.swiglu/bfloat16/64x256/normal/seed0",
                     "Swiglu.KernelAndEmulationMatchTheGoldenResult"):
            self.assertIn(name, out)
        self.assertIn("100% tests passed, 0 tests failed out of 11", out)

        kernel = self.source / "swiglu_kernel.cc"
        right = kernel.read_text()
        self.addCleanup(kernel.write_text, right)
        self.assertIn("std::exp(-v)", right)
        kernel.write_text(right.replace("std::exp(-v)", "std::exp(v)"))
        code, out = run(CMAKE, "--build", self.build)
        self.assertEqual(code, 0, out)
        code, out = self.ctest()
        self.assertNotEqual(code, 0, out)
        # The kernel's four cases and one GoogleTest fail. The emulation is still right.
        self.assertIn("5 tests failed out of 11", out)
        self.assertNotIn("team_cases.swiglu.ascend910b", out[out.index("The following tests FAILED"):])

    def test_the_command_line_knows_it(self):
        self.assertIn("\nswiglu: ", self.assay("list", "operators"))
        self.assertIn("team_assay gate ", self.assay("gate", "--help"))
        made = ("--dtype", "bfloat16", "--shape", "9,33", "--distribution", "normal,deviation=3", "--seed", "7")
        self.assay("generate", "swiglu", *made, "--out", "inputs.h5", "--no-golden")
        out = self.assay("generate", "swigul", *made, "--out", "no.h5", code=2)
        self.assertIn("unknown operator 'swigul': did you mean 'swiglu'?", out)
        self.assay("golden", "inputs.h5", "--out", "golden.h5", "--tolerance")
        self.assay("emulate", "inputs.h5", "--machine", "ascend910b", "--out", "npu.h5")
        self.assertIn("swiglu", self.assay("inspect", "golden.h5"))
        for source in (("--outputs", "npu.h5"), ("--machine", "ascend910b"), ("--machine", "hopper")):
            self.assertIn("1 pass", self.assay("gate", "golden.h5", *source))
        self.assay("inject", "npu.h5", "--fault", "flip,bit=14,seed=1", "--out", "broken.h5")
        self.assertIn("fail: 1 of 297 elements", self.assay("gate", "golden.h5", "--outputs", "broken.h5", code=1))
        # `assay` does not have the team's operator. It can judge recorded outputs, and reports that it cannot emulate
        # it.
        self.assertEqual(run(PREFIX / "bin/assay", "gate", "golden.h5", "--outputs", "npu.h5", cwd=self.folder)[0], 0)
        code, out = run(PREFIX / "bin/assay", "gate", "golden.h5", "--machine", "ascend910b", cwd=self.folder)
        self.assertEqual(code, 3, out)
        self.assertIn("assay does not emulate the operator 'swiglu'", out)

    def test_golden_results_are_numpys(self):
        self.assay("generate", "swiglu", "--dtype", "bfloat16", "--shape", "100,100", "--distribution",
                   "normal,deviation=5", "--out", "cases.h5")
        with h5py.File(self.folder / "cases.h5") as f:
            case = f["cases/swiglu/bfloat16/100x100/normal.deviation=5/seed0"]

            def read(name):
                data = np.empty(case[name].shape, "u2")
                case[name].id.read(h5py.h5s.ALL, h5py.h5s.ALL, data, case[name].id.get_type())
                return (data.astype("u4") << 16).view("f4").astype("f8")

            x, gate, golden = read("inputs/x"), read("inputs/gate"), case["golden"][...]
        self.assertEqual(golden.dtype, "f8")
        np.testing.assert_allclose(golden, x / (1 + np.exp(-x)) * gate, rtol=1e-15, atol=0)

    def test_its_campaign_runs(self):
        out = self.assay("campaign", self.source / "plan.json", "--out", "campaign")
        self.assertIn("swiglu", out)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[5:], verbosity=2)
