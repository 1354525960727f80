#!/usr/bin/env python3
"""Tests assay_add_dataset_tests() in a project of its own: the tests that ctest finds, runs and refuses.

    discovery_test.py SOURCE PROGRAM CMAKE

PROGRAM is a built program whose main calls assay::run_dataset_tests. The project imports it, so nothing is compiled.
"""
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

import h5py
import numpy as np

SOURCE, PROGRAM, CMAKE = pathlib.Path(sys.argv[1]), sys.argv[2], sys.argv[3]
CTEST = str(pathlib.Path(CMAKE).with_name("ctest"))

BFLOAT16 = h5py.h5t.IEEE_F32LE.copy()
BFLOAT16.set_fields(15, 7, 8, 0, 7)
BFLOAT16.set_size(2)
BFLOAT16.set_ebias(127)


def to_bfloat16(values):
    """Returns the bits of float32 values rounded to bfloat16, ties to even."""
    bits = values.astype("f4").view("u4").astype("u8")
    return ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype("u2")


def put(group, path, values, dtype):
    if dtype == "bfloat16":
        group[path] = to_bfloat16(values)
    else:
        group[path] = values.astype({"float64": "f8", "float32": "f4"}[dtype])
    group[path].attrs["dtype"] = dtype


def make_cases(path, names, op="matmul", dtype="float32", size=8, **attributes):
    """Writes a file with one case for each name. The dtype "mixed" alternates between bfloat16 and float32."""
    rng = np.random.default_rng(len(names))
    with h5py.File(path, "w") as f:
        f.attrs["assay_schema"] = 1
        for i, name in enumerate(names):
            own = ("bfloat16", "float32")[i % 2] if dtype == "mixed" else dtype
            a, b = rng.integers(-8, 9, (2, size, size)).astype("f4")
            case = f.create_group("cases/" + name)
            case.attrs["op"] = op
            case.attrs["output_dtype"] = own
            for key, value in attributes.items():
                case.attrs[key] = value
            put(case, "inputs/a", a, own)
            put(case, "inputs/b", b, own)
            put(case, "golden", a.astype("f8") @ b.astype("f8"), "float64")


class Discovery(unittest.TestCase):
    def setUp(self):
        keep = tempfile.TemporaryDirectory(prefix="assay discovery ")  # with a blank, so that every path has blanks
        self.addCleanup(keep.cleanup)
        self.root = pathlib.Path(keep.name)
        self.data = self.root / "data.h5"

    def configure(self, arguments="DATASETS data.h5", *options, refused=None):
        (self.root / "CMakeLists.txt").write_text(f"""cmake_minimum_required(VERSION 3.25)
project(team LANGUAGES NONE)
enable_testing()
include([==[{SOURCE}/cmake/AssayDatasetTests.cmake]==])
add_executable(ops IMPORTED)
set_target_properties(ops PROPERTIES IMPORTED_LOCATION [==[{PROGRAM}]==])
assay_add_dataset_tests(ops {arguments})
""")
        done = subprocess.run([CMAKE, "-S", self.root, "-B", self.root / "build", *options], capture_output=True, text=True)
        said = done.stdout + done.stderr
        if refused is None:
            self.assertEqual(done.returncode, 0, said)
        else:
            self.assertNotEqual(done.returncode, 0, said)
            self.assertIn(refused, " ".join(said.split()))

    def ctest(self, *options):
        done = subprocess.run([CTEST, *options], cwd=self.root / "build", capture_output=True, text=True)
        self.out = done.stdout + done.stderr
        return done.returncode

    def names(self, *options):
        """Returns the names of the tests that ctest would run."""
        self.ctest("-N", *options)
        return re.findall(r"^ *Test +#\d+: (\S+)", self.out, re.MULTILINE)

    def assert_fails_saying(self, words, *options):
        self.assertNotEqual(self.ctest("--output-on-failure", *options), 0, self.out)
        self.assertIn("tests failed", self.out)  # ctest also fails if it finds no test, so this is checked
        self.assertNotIn("No tests were found", self.out)
        self.assertIn(words, self.out)

    # ------------------------------------------------------------------------------------------ runs

    def test_one_test_a_case(self):
        make_cases(self.data, ["layer0/fwd", "layer0/bwd", "x.y=1_z"])
        self.configure()
        self.assertEqual(sorted(self.names()), ["ops.data.layer0/bwd", "ops.data.layer0/fwd", "ops.data.x.y=1_z"])
        self.assertEqual(self.ctest(), 0, self.out)
        self.assertIn("100% tests passed, 0 tests failed out of 3", self.out)
        self.assertEqual(self.names("-R", "layer0"), ["ops.data.layer0/bwd", "ops.data.layer0/fwd"])

    def test_a_thousand_cases(self):
        make_cases(self.data, [f"group{i % 10}/case{i}" for i in range(1000)], dtype="mixed")
        self.configure()
        self.assertEqual(len(self.names()), 1000)
        self.assertEqual(self.ctest("-j2", "--quiet"), 0, self.out)
        self.assertEqual(len(self.names("-L", "bfloat16")), 500)

    def test_whole_file_as_one_test(self):
        make_cases(self.data, ["a", "b", "c"])
        self.configure("DATASETS data.h5 WHOLE LABELS nightly slow PROPERTIES TIMEOUT 60")
        self.assertEqual(self.names(), ["ops.data"])
        self.assertEqual(self.ctest("-V"), 0, self.out)
        for name in "abc":
            self.assertIn(f"{name}: pass", self.out)
        self.assertEqual(self.names("-L", "^nightly$"), ["ops.data"])
        self.assertEqual(self.names("-L", "^slow$"), ["ops.data"])

    def test_several_files(self):
        make_cases(self.data, ["a"])
        (self.root / "more").mkdir()
        make_cases(self.root / "more/other.h5", ["a", "b"])
        self.configure("DATASETS data.h5 more/other.h5")
        self.assertEqual(sorted(self.names()), ["ops.data.a", "ops.other.a", "ops.other.b"])
        self.assertEqual(self.ctest(), 0, self.out)

    def test_files_of_one_name_are_kept_apart_or_refused(self):
        make_cases(self.data, ["a"])
        (self.root / "more").mkdir()
        make_cases(self.root / "more/data.h5", ["b"])
        try:
            self.configure("DATASETS data.h5 more/data.h5")
        except AssertionError:
            return  # CMake may refuse two files of one name
        self.assertEqual(len(self.names()), 2, "the cases of one of two files are lost")

    # ------------------------------------------------------------------------------ labels and options

    def test_labels_are_op_dtype_tags_and_those_given(self):
        make_cases(self.data, ["a", "b"], dtype="mixed", tags="recorded,layer0")
        self.configure("DATASETS data.h5 LABELS nightly gemm")
        self.assertEqual(self.names("-L", "^bfloat16$"), ["ops.data.a"])
        self.assertEqual(self.names("-L", "^float32$"), ["ops.data.b"])
        for label in ("matmul", "recorded", "layer0", "nightly", "gemm"):
            self.assertEqual(len(self.names("-L", f"^{label}$")), 2, label)
        self.assertEqual(self.ctest("-L", "bfloat16"), 0, self.out)
        self.assertIn("out of 1", self.out)

    def test_texts_of_the_file_run_nothing_and_steer_nothing(self):
        # This text would end an argument of CMake's and steer a terminal, if it were not escaped.
        evil = "x]==]) message(FATAL_ERROR forged) #\x1b[31m\nFORGED"
        make_cases(self.data, ["a"], tags=evil)
        with h5py.File(self.data, "r+") as f:
            f["cases/a"].attrs["op"] = evil
        self.configure()
        self.assertEqual(self.names(), ["ops.data.a"])
        ran = subprocess.run([PROGRAM, self.data], capture_output=True, text=True, check=False)
        self.assertEqual(ran.returncode, 3, ran)
        self.assertNotIn("\x1b", ran.stdout)
        self.assertNotIn("\nFORGED", ran.stdout)
        self.assertIn("\\x1b[31m\\nFORGED", ran.stdout)

    def test_dtype_label_is_that_of_the_first_input(self):
        make_cases(self.data, ["a"], dtype="bfloat16")
        with h5py.File(self.data, "r+") as f:
            del f["cases/a"].attrs["output_dtype"]
        self.configure()
        self.assertEqual(self.names("-L", "^bfloat16$"), ["ops.data.a"])

    def test_cases_and_standard(self):
        make_cases(self.data, ["layer0/a", "layer1/a", "layer1/b"], standard="triton_ascend")
        self.configure("DATASETS data.h5 CASES layer1/* STANDARD torch \"ulp(2)\"")
        self.assertEqual(self.names(), ["ops.data.layer1/a", "ops.data.layer1/b"])
        self.assertEqual(self.ctest("-V"), 0, self.out)
        self.assertIn("within 2 ulp", self.out)

    def test_machine_puts_the_emulation_under_test(self):
        """The emulation's tests stand beside those of the program's own function. They also exist if the program has no
        function for the operator, such as `add` in sample_ops."""
        make_cases(self.data, ["a"])
        make_cases(self.root / "sums.h5", ["b"], op="add")
        with h5py.File(self.root / "sums.h5", "r+") as f:
            case = f["cases/b"]
            case["golden"][...] = case["inputs/a"][...].astype("f8") + case["inputs/b"][...]
        self.configure("DATASETS data.h5)\n"
                       "assay_add_dataset_tests(ops DATASETS data.h5 sums.h5 MACHINE ascend910b LABELS emulated)\n"
                       "assay_add_dataset_tests(ops DATASETS data.h5 MACHINE ampere,kept_bits=23 WHOLE")
        self.assertEqual(sorted(self.names()), ["ops.data.a", "ops.data.ampere_kept_bits=23", "ops.data.ascend910b.a",
                                                "ops.sums.ascend910b.b"])
        self.assertEqual(self.names("-L", "^ascend910b$", "-L", "emulated"), ["ops.data.ascend910b.a",
                                                                              "ops.sums.ascend910b.b"])
        self.assertEqual(self.names("-L", "^ampere"), ["ops.data.ampere_kept_bits=23"])
        # The tensor cores of this machine do not take float32.
        self.assert_fails_saying("a: not_comparable: the matrix unit of ampere,kept_bits=23 takes")
        self.assertIn("1 tests failed out of 4", self.out)

    def test_machines_and_standards_of_files(self):
        """Files of machines and standards are found beside the CMakeLists.txt, and the reproducers name them."""
        make_cases(self.data, ["a"])
        with h5py.File(self.data, "r+") as f:
            f["cases/a/golden"][0, 0] += 2
        (self.root / "own unit.json").write_text(json.dumps(
            {"schema": 1, "name": "team_unit", "matrix_unit": [{"input": "float32", "chunk": 4}]}))
        (self.root / "own.json").write_text(json.dumps({"standards": [
            {"name": name, "why": "a test", "dtypes": {"float32": {"atol": atol}}}
            for name, atol in (("loose", 3), ("strict", 1))]}))
        self.configure('DATASETS data.h5 MACHINE "own unit.json" STANDARDS own.json STANDARD loose)\n'
                       'assay_add_dataset_tests(ops DATASETS data.h5 MACHINE "own unit.json,chunk=8" STANDARD '
                       'own.json:strict)\n'
                       "assay_add_dataset_tests(ops DATASETS data.h5 STANDARD own.json:loose WHOLE")
        self.assertEqual(sorted(self.names()), ["ops.data", "ops.data.own_unit.a", "ops.data.own_unit_chunk=8.a"])
        self.assert_fails_saying("a: fail: 1 of 64 elements")
        self.assertIn("1 tests failed out of 3", self.out)
        line = re.search(r"reproduce: (.*)", self.out).group(1)
        done = subprocess.run(line, shell=True, capture_output=True, text=True, cwd="/")
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn("a: fail: 1 of 64 elements", done.stdout)

    def test_a_failing_emulation_has_a_reproducer(self):
        make_cases(self.data, ["a"])
        with h5py.File(self.data, "r+") as f:
            f["cases/a/golden"][0, 0] += 1
        self.configure("DATASETS data.h5 MACHINE ascend910b")
        self.assert_fails_saying("a: fail: 1 of 64 elements")
        line = re.search(r"reproduce: (.*)", self.out).group(1)
        self.assertIn(" --machine ascend910b", line)
        done = subprocess.run(line, shell=True, capture_output=True, text=True)
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn("a: fail: 1 of 64 elements", done.stdout)

    def test_empty_values_are_refused(self):
        make_cases(self.data, ["a"])
        for keyword in ("CASES", "MACHINE", "STANDARDS", "REFERENCE_IMPLEMENTATION", "STANDARD", "ABFT", "LABELS", "PROPERTIES"):
            refusal = f"the value of {keyword} is empty; is a variable not set?"
            self.configure(f'DATASETS data.h5 {keyword} "${{UNSET}}"', refused=refusal)
            if keyword != "ABFT":  # ABFT is also valid without a value
                self.configure(f"DATASETS data.h5 {keyword} ${{UNSET}} WHOLE", refused=refusal)
        self.configure('DATASETS data.h5 STANDARD torch ""', refused="the value of STANDARD is empty")
        self.configure('DATASETS ""', refused="the value of DATASETS is empty")
        self.configure("DATASETS data.h5 ABFT")
        self.assertEqual(self.ctest(), 0, self.out)
        for option in ("--case", "--machine", "--standards", "--standard", "--reference-implementation", "--abft", "--label", "--ctest"):
            done = subprocess.run([PROGRAM, self.data, option, ""], capture_output=True, text=True)
            self.assertEqual((done.returncode, done.stderr),
                             (2, f"error: {option}: the value is empty; is a variable not set?\n"))

    def test_a_benchmark_that_nobody_recorded_is_refused(self):
        make_cases(self.data, ["a"])
        with h5py.File(self.data, "r+") as f:
            put(f["cases/a"], "outputs/gpu", f["cases/a/golden"][...], "float32")
        self.configure("DATASETS data.h5 REFERENCE_IMPLEMENTATION npu")
        self.assert_fails_saying("error: --reference-implementation: unknown producer 'npu': did you mean 'gpu'?; known: gpu")
        self.configure("DATASETS data.h5 REFERENCE_IMPLEMENTATION gpu")
        self.assertEqual(self.ctest(), 0, self.out)

    def test_a_case_with_a_misspelt_attribute_fails_alone(self):
        make_cases(self.data, ["bad", "good"])
        with h5py.File(self.data, "r+") as f:
            f["cases/bad"].attrs["standrad"] = "torch"
        self.configure()
        self.assertEqual(self.names(), ["ops.data.bad", "ops.data.good"])
        self.assert_fails_saying("its attribute 'standrad' is unknown: did you mean 'standard'?")
        self.assertIn("1 tests failed out of 2", self.out)
        done = subprocess.run([PROGRAM, self.data], capture_output=True, text=True)
        self.assertEqual(done.returncode, 2)
        self.assertIn("good: pass", done.stdout)

    def test_machine_that_is_none_and_operators_without_emulation(self):
        make_cases(self.data, ["a"])
        self.configure("DATASETS data.h5 MACHINE ascend")
        self.assert_fails_saying("unknown machine 'ascend'")
        make_cases(self.data, ["a"], op="wrong_matmul")
        self.configure("DATASETS data.h5 MACHINE ascend910b")
        self.assert_fails_saying("a: not_comparable: assay does not emulate the operator 'wrong_matmul'")

    def test_standard_that_is_none_is_no_fault_of_the_operator(self):
        make_cases(self.data, ["a"])
        self.configure("DATASETS data.h5 STANDARD tourch")
        self.assert_fails_saying("unknown standard 'tourch': did you mean 'torch'?")
        self.assertNotIn("the operator threw", self.out)

    def test_properties(self):
        make_cases(self.data, ["a"], op="wrong_matmul")
        self.configure("DATASETS data.h5 PROPERTIES WILL_FAIL TRUE TIMEOUT 60")
        self.assertEqual(self.ctest(), 0, self.out)

    def test_several_configurations(self):
        make_cases(self.data, ["a"])
        self.configure("DATASETS data.h5", "-G", "Ninja Multi-Config")
        for config in ("Debug", "Release"):
            self.assertEqual(self.ctest("-C", config), 0, self.out)
            self.assertIn("out of 1", self.out)

    # ------------------------------------------------------------------------------------ must fail

    def test_wrong_operator_fails_with_a_reproducer(self):
        make_cases(self.data, ["a"], op="wrong_matmul")
        self.configure()
        self.assert_fails_saying("a: fail: 1 of 64 elements")
        line = re.search(r"reproduce: (.*)", self.out).group(1)
        done = subprocess.run(line, shell=True, capture_output=True, text=True)
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn("a: fail: 1 of 64 elements", done.stdout)

    def test_what_an_operator_gives_beside_its_result(self):
        make_cases(self.data, ["a"], dtype="bfloat16", size=64)
        self.configure("DATASETS data.h5 ABFT residual_compensated")
        self.assertEqual(self.ctest(), 0, self.out)
        make_cases(self.data, ["a"], dtype="bfloat16", size=64, x_flip=1)
        self.configure("DATASETS data.h5 STANDARD torch ABFT")
        self.assertEqual(self.ctest(), 0, self.out)
        self.configure("DATASETS data.h5 STANDARD torch ABFT residual_compensated")
        self.assert_fails_saying("a: abft: fail: 1 of 512 checks of 16 columns is above residual_compensated")
        make_cases(self.data, ["a"])
        self.configure("DATASETS data.h5 ABFT residual_compensated")
        self.assert_fails_saying("outputs of float32 are not cast from a wider accumulator, so that they have no "
                                 "residual")

    def test_an_operator_may_give_a_tensor_of_a_device(self):
        make_cases(self.data, ["a"], op="device_matmul")
        self.configure()
        self.assertEqual(self.ctest("--verbose"), 0, self.out)
        self.assertIn("a: pass: all 64 elements", self.out)
        self.assertIn("note: judged on the host, to which the output was copied from host:0: cases are judged there\n",
                      self.out)

    def test_whole_file_fails_by_one_case(self):
        make_cases(self.data, ["a", "b"])
        with h5py.File(self.data, "r+") as f:
            f["cases/b"].attrs["op"] = "wrong_matmul"
        self.configure("DATASETS data.h5 WHOLE")
        self.assert_fails_saying("b: fail: ")
        self.assertIn("a: pass: ", self.out)

    def test_operators_that_break_fail(self):
        for op, words in (("throwing_matmul", "no device"), ("empty_matmul", "empty"), ("flat_matmul", "shape"),
                          ("conv", "no function is registered for the operator 'conv'; registered: ")):
            make_cases(self.data, ["a"], op=op)
            self.configure()
            self.assert_fails_saying(words)

    def test_untrusted_case_fails(self):
        make_cases(self.data, ["a"], atol=1e9)
        self.configure()
        self.assert_fails_saying("untrusted")

    def test_file_without_a_case_fails(self):
        for whole in ("", " WHOLE"):
            make_cases(self.data, [])
            self.configure("DATASETS data.h5" + whole)
            self.assert_fails_saying("holds no case" if "cases" in h5py.File(self.data) else "the file holds no cases")

    def test_glob_that_matches_none_fails(self):
        make_cases(self.data, ["a"])
        for whole in ("", " WHOLE"):
            self.configure("DATASETS data.h5 CASES zzz*" + whole)
            self.assert_fails_saying("no case matches 'zzz*'")

    def test_missing_corrupt_and_foreign_files_fail(self):
        self.configure()
        self.assert_fails_saying("No such file or directory")
        self.data.write_text("no HDF5")
        self.assert_fails_saying("is not an HDF5 file")
        make_cases(self.data, ["a", "b"])
        whole = self.data.read_bytes()
        self.data.write_bytes(whole[:len(whole) // 2])
        self.assert_fails_saying("truncated")
        self.data.write_bytes(b"")
        self.assert_fails_saying("is empty")

    def test_a_file_damaged_after_it_was_listed_fails(self):
        make_cases(self.data, ["a", "b"])
        self.configure()
        self.assertEqual(self.ctest(), 0, self.out)
        whole = self.data.read_bytes()
        self.data.write_bytes(whole[:len(whole) // 2])
        self.assert_fails_saying("truncated")
        self.data.unlink()
        self.assert_fails_saying("No such file or directory")

    def test_program_that_is_not_built_fails(self):
        make_cases(self.data, ["a"])
        (self.root / "CMakeLists.txt").write_text("")
        global PROGRAM
        program, PROGRAM = PROGRAM, "/nonexistent/program"
        self.addCleanup(lambda: globals().update(PROGRAM=program))
        self.configure()
        self.assertNotEqual(self.ctest(), 0, self.out)
        self.assertIn("NOT_BUILT", self.out)

    def test_datasets_are_required(self):
        for arguments in ("", "DATASETS", "data.h5", "WHOLE"):
            with self.assertRaisesRegex(AssertionError, "assay_add_dataset_tests"):
                self.configure(arguments)

    # ---------------------------------------------------------------------------------- listed again

    def test_changed_dataset_is_listed_again(self):
        make_cases(self.data, ["a"])
        self.configure()
        self.assertEqual(self.names(), ["ops.data.a"])
        make_cases(self.data, ["a", "b"])
        self.assertEqual(self.names(), ["ops.data.a", "ops.data.b"])
        make_cases(self.data, ["c"])
        self.assertEqual(self.names(), ["ops.data.c"])
        self.assertEqual(self.ctest(), 0, self.out)

    def test_dataset_replaced_by_an_older_file_is_listed_again(self):
        """A file may be replaced by one with an older time of change, as cp -p, rsync -t and an unpacked archive do."""
        make_cases(self.data, ["a"])
        other = self.root / "other.h5"
        make_cases(other, ["b", "c"])
        os.utime(other, (1e9, 1e9))
        self.configure()
        self.assertEqual(self.names(), ["ops.data.a"])
        os.replace(other, self.data)
        self.assertEqual(self.names(), ["ops.data.b", "ops.data.c"])

    def test_changed_arguments_are_listed_again(self):
        make_cases(self.data, ["a", "b"])
        self.configure()
        self.assertEqual(len(self.names()), 2)
        self.configure("DATASETS data.h5 CASES b LABELS late")
        self.assertEqual(self.names(), ["ops.data.b"])
        self.assertEqual(self.names("-L", "late"), ["ops.data.b"])

    def test_unchanged_dataset_is_not_listed_again(self):
        make_cases(self.data, ["a"])
        os.utime(self.data, (1e9, 1e9))
        self.configure()
        self.names()
        lists = list((self.root / "build").glob("**/*-tests.cmake"))
        self.assertEqual(len(lists), 1)
        before = lists[0].stat().st_mtime_ns
        self.names()
        self.assertEqual(lists[0].stat().st_mtime_ns, before)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[4:], verbosity=2)
