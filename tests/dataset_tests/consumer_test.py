#!/usr/bin/env python3
"""Builds users' programs outside of the tree with every compiler. Each component is found without the others. The
user's own compiler flags do not change assay, and assay does not change them.

    consumer_test.py SOURCE BUILD CMAKE COMPILER[,COMPILER...] [TEST...]

BUILD is a finished build of SOURCE.
"""
import pathlib
import platform
import re
import sys
import unittest

from installed import COMPILER, COMPILERS, PREFIX, ROOT, SOURCE, configure, install, run


def setUpModule():
    install()


VERDICTS = """cmake_minimum_required(VERSION 3.25)
project(verdicts LANGUAGES CXX)
find_package(assay 0.2 CONFIG REQUIRED)
foreach(target framework matchers cuda datasets command_line)
  foreach(property COMPILE_OPTIONS COMPILE_DEFINITIONS LINK_OPTIONS)
    get_target_property(value assay::${target} INTERFACE_${property})
    if(value)
      message(FATAL_ERROR "assay::${target} puts ${property} on its users: ${value}")
    endif()
  endforeach()
endforeach()
add_executable(plain verdicts.cc)
target_compile_options(plain PRIVATE -O2)
add_executable(fast verdicts.cc)
target_compile_options(fast PRIVATE -Ofast -march=native)
target_link_options(fast PRIVATE -Ofast)
foreach(target plain fast)
  target_link_libraries(${target} PRIVATE assay::matchers)
endforeach()
# The user's own contraction, with and without assay.
foreach(target with without)
  add_library(${target} OBJECT kernel.cc)
  target_compile_features(${target} PRIVATE cxx_std_20)
  target_compile_options(${target} PRIVATE -O2 -march=native -ffp-contract=fast)
endforeach()
target_link_libraries(with PRIVATE assay::matchers assay::datasets)
"""
KERNEL = "double kernel(double a, double b, double c) { return a * b + c; }\n"


class Flags(unittest.TestCase):
    def built(self, project, compiler):
        """Builds the project with the compiler, and returns the build folder."""
        build = project / pathlib.Path(compiler).name
        code, out = configure(project, build, compiler=compiler)
        self.assertEqual(code, 0, out)
        code, out = run("ninja", "-C", build)
        self.assertEqual(code, 0, out)
        return build

    def test_verdicts_of_an_ofast_program(self):
        """A program that is compiled with -Ofast flushes subnormals in the whole process, and assumes that there are no
        NaN and infinity. assay's verdicts in it must be the same as with -O2."""
        project = ROOT / "verdicts"
        project.mkdir()
        (project / "CMakeLists.txt").write_text(VERDICTS)
        (project / "kernel.cc").write_text(KERNEL)
        (project / "verdicts.cc").write_text(
            (pathlib.Path(SOURCE) / "tests/dataset_tests/verdicts.cc").read_text())
        texts = {}
        for compiler in COMPILERS:
            with self.subTest(compiler):
                build = self.built(project, compiler)
                for program in ("plain", "fast"):
                    for mode in ("nearest", "upward"):
                        code, out = run(build / program, mode)
                        self.assertEqual(code, 0, out)
                        environment, text = out.split("\n", 1)
                        texts[compiler, program, mode] = text
                        if platform.machine() == "x86_64":
                            self.assertEqual(environment, "flushes" if program == "fast" else "gradual")
                objects = [build / f"CMakeFiles/{t}.dir/kernel.cc.o" for t in ("with", "without")]
                self.assertEqual(*[o.read_bytes() for o in objects])
        self.assertEqual(len(texts), 4 * len(COMPILERS))
        expected = next(iter(texts.values()))
        self.assertGreater(expected.count("\n"), 40)
        for word in ("nan", "inf", "fails", "passes", "subnormal"):
            self.assertIn(word, expected)
        for key, text in texts.items():
            self.assertEqual(text, expected, key)

    def test_a_program_that_uses_all_that_is_promised(self):
        """It includes every promised header but those for Eigen and CUDA. It is compiled with strict warnings, and with
        flags that change the program's own arithmetic (those of -Ofast, a word that clang 19 warns of)."""
        project = ROOT / "everything"
        project.mkdir()
        (project / "CMakeLists.txt").write_text("""cmake_minimum_required(VERSION 3.25)
project(everything LANGUAGES CXX)
find_package(assay 0.2 CONFIG REQUIRED)
add_executable(everything everything.cc)
target_compile_options(everything PRIVATE -O3 -ffast-math -Wall -Wextra -Wpedantic -Wconversion -Werror)
target_link_libraries(everything PRIVATE assay::matchers assay::command_line)
""")
        text = (pathlib.Path(SOURCE) / "tests/dataset_tests/everything.cc").read_text()
        (project / "everything.cc").write_text(text)
        listed = (pathlib.Path(SOURCE) / "cmake/PublicHeaders.cmake").read_text()
        for header in re.findall(r"^  (assay/\S+\.h)", listed, re.M):
            if not header.endswith(("eigen.h", "cuda.h")):
                self.assertIn(f"#include <{header}>", text)
        for compiler in COMPILERS:
            with self.subTest(compiler):
                build = self.built(project, compiler)
                code, out = run(build / "everything", build)
                self.assertEqual(code, 0, out)
                self.assertIn("everything works\n", out)

    def test_a_subproject_of_a_fast_math_project_is_compiled_without_it(self):
        project = ROOT / "fast_parent"
        project.mkdir()
        (project / "CMakeLists.txt").write_text(f"""cmake_minimum_required(VERSION 3.25)
project(fast_parent LANGUAGES C CXX)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
add_compile_options(-Ofast -Wpedantic -Werror)
add_subdirectory([==[{SOURCE}]==] assay)
""")
        code, out = configure(project, project / "build")
        self.assertEqual(code, 0, out)
        # float_environment.cc refuses to compile with fast-math. It compiles here, so the user's flag does not reach
        # it. exact.cc has integers of 128 bits, which are no part of standard C++.
        code, out = run("ninja", "-C", project / "build",
                        *[f"assay/CMakeFiles/assay_framework.dir/framework/assay/{source}.cc.o"
                          for source in ("base/float_environment", "judge/exact")])
        self.assertEqual(code, 0, out)
        commands = (project / "build/compile_commands.json").read_text()
        self.assertEqual(commands.count(" -Ofast "), commands.count("-fno-fast-math -ffp-contract=off"))


class Subproject(unittest.TestCase):
    def test_it_builds_whatever_warnings_its_parent_asks_for(self):
        """Each source is compiled separately, because a subproject does not unite them. Every warning would be an error,
        and the parent's flags change its own arithmetic. Then FetchContent gets the same sources, in the same build
        folder, so that nothing is compiled again."""
        project = ROOT / "strict_parent"
        project.mkdir()
        (project / "CMakeLists.txt").write_text(f"""cmake_minimum_required(VERSION 3.25)
project(strict_parent LANGUAGES C CXX)
add_compile_options(-O0 -ffast-math -Wall -Wextra -Wpedantic -Wconversion -Werror)
if(FETCH)
  include(FetchContent)
  FetchContent_Declare(assay URL file:///nowhere.tar.gz BINARY_DIR ${{CMAKE_BINARY_DIR}}/assay)
  FetchContent_MakeAvailable(assay)
else()
  add_subdirectory([==[{SOURCE}]==] assay)
endif()
add_executable(everything everything.cc)
target_link_libraries(everything PRIVATE assay::matchers assay::command_line)
""")
        (project / "everything.cc").write_text((pathlib.Path(SOURCE) / "tests/dataset_tests/everything.cc").read_text())
        build = project / "build"
        for way in ("-DFETCH=OFF", "-DFETCH=ON"):
            with self.subTest(way):
                code, out = configure(project, build, "-DCMAKE_BUILD_TYPE=Debug", way,
                                      f"-DFETCHCONTENT_SOURCE_DIR_ASSAY={SOURCE}")
                self.assertEqual(code, 0, out)
                code, out = run("ninja", "-C", build, "everything")
                self.assertEqual(code, 0, out[-5000:])
                code, out = run(build / "everything", project)
                self.assertEqual(code, 0, out)
                self.assertIn("everything works\n", out)
                (build / "everything").unlink()


class Components(unittest.TestCase):
    def project(self, name, text, sources=()):
        project = ROOT / name
        project.mkdir()
        (project / "CMakeLists.txt").write_text(
            f"cmake_minimum_required(VERSION 3.25)\nproject({name} LANGUAGES CXX)\n{text}")
        for file, source in sources:
            (project / file).write_text(source)
        return project

    def test_the_framework_alone_asks_for_nothing_else(self):
        project = self.project("alone", """find_package(assay CONFIG REQUIRED COMPONENTS framework)
foreach(other matchers cuda datasets command_line)
  if(TARGET assay::${other})
    message(FATAL_ERROR "assay::${other} came unasked")
  endif()
endforeach()
add_executable(alone alone.cc)
target_link_libraries(alone PRIVATE assay::framework)
""", [("alone.cc", """#include <assay/judge.h>
#include <vector>
int main() {
  const std::vector<float> a = {1, 2};
  return assay::judge(assay::view(a), assay::view(a), assay::Bound{}).mismatches == 0 ? 0 : 1;
}
""")])
        none = [f"-DCMAKE_DISABLE_FIND_PACKAGE_{p}=ON" for p in ("GTest", "HDF5", "CLI11", "ZLIB", "Eigen3", "libzip")]
        nowhere = ["-DASSAY_HDF5_LIBRARY=ASSAY_HDF5_LIBRARY-NOTFOUND", "-DCMAKE_IGNORE_PATH=/"]
        code, out = configure(project, project / "build", *none, *nowhere[:1])
        self.assertEqual(code, 0, out)
        code, out = run("ninja", "-C", project / "build")
        self.assertEqual(code, 0, out)
        self.assertEqual(run(project / "build/alone")[0], 0)

    def test_a_component_that_is_missing_is_named(self):
        project = self.project("missing", "find_package(assay CONFIG REQUIRED COMPONENTS framework telescope)\n")
        code, out = configure(project, project / "build")
        self.assertNotEqual(code, 0)
        self.assertIn("this build of assay has no component 'telescope'; it has framework, datasets, matchers, cuda, "
                      "command_line", " ".join(out.split()))
        self.assertEqual(out.count("CMake Error"), 1, out)

    def test_one_that_is_optional_may_be_missing(self):
        project = self.project("optional", """find_package(assay CONFIG REQUIRED COMPONENTS framework
  OPTIONAL_COMPONENTS telescope)
if(assay_telescope_FOUND OR NOT assay_framework_FOUND)
  message(FATAL_ERROR "the components are mixed up")
endif()
""")
        code, out = configure(project, project / "build")
        self.assertEqual(code, 0, out)

    def test_a_build_of_the_framework_alone_needs_no_other_library(self):
        code, out = run(CMAKE_PROGRAM, "-S", SOURCE, "-B", ROOT / "framework_alone", "-G", "Ninja",
                        f"-DCMAKE_CXX_COMPILER={COMPILER}", "-DASSAY_MATCHERS=OFF", "-DASSAY_DATASETS=OFF",
                        *[f"-DCMAKE_DISABLE_FIND_PACKAGE_{p}=ON"
                          for p in ("GTest", "HDF5", "CLI11", "ZLIB", "Eigen3", "libzip", "MPI")])
        self.assertEqual(code, 0, out)
        code, out = run("ninja", "-C", ROOT / "framework_alone", "-t", "targets", "all")
        self.assertEqual(code, 0, out)
        self.assertIn("libassay_framework.a", out)
        for other in ("libassay_matchers.a", "libassay_datasets.a", "libassay_command_line.a", "main.cc.o", "_test.cc.o"):
            self.assertNotIn(other, out)

    def test_a_library_that_is_missing_is_named_with_the_way_out(self):
        for package, message in {
                "GTest": "assay: GoogleTest with gmock was not found; install it (Debian: libgtest-dev and "
                         "libgmock-dev), or build without assay::matchers: -DASSAY_MATCHERS=OFF",
                "CLI11": "assay: CLI11 was not found; install it (Debian: libcli11-dev), or build without the command "
                         "line: -DASSAY_COMMAND_LINE=OFF"}.items():
            with self.subTest(package):
                code, out = run(CMAKE_PROGRAM, "-S", SOURCE, "-B", ROOT / f"no_{package}", "-G", "Ninja",
                                f"-DCMAKE_CXX_COMPILER={COMPILER}", f"-DCMAKE_DISABLE_FIND_PACKAGE_{package}=ON",
                                "-DASSAY_TESTS=OFF", "-DASSAY_EXAMPLES=OFF", "-DASSAY_BENCHMARKS=OFF")
                self.assertNotEqual(code, 0)
                self.assertIn(message, " ".join(out.split()))
                self.assertEqual(out.count("CMake Error"), 1, out)


if __name__ == "__main__":
    CMAKE_PROGRAM = sys.argv[3]
    unittest.main(argv=sys.argv[:1] + sys.argv[5:], verbosity=2)
