"""Cases are read back as they were written. A refusal names the file, the object and the reason, and leaves the
file as it was."""
import os
import resource
import signal
import subprocess
import sys
import unittest

import h5py
import numpy as np

import assay
from assay import Case, CaseError, FileError, NoCaseError, Tensor, write
from support import FORMATS, SAMPLE, TestCase, codes, run, tensor


def small_case(name="c", **keywords):
    return Case(name, inputs={"x": np.float32([-1, 0, 2.5])}, golden=np.float64([0, 0, 2.5]),
                recorded={"npu": np.float32([0, 0, 2.5])}, **keywords)


class RoundTrips(TestCase):
    def test_every_code_of_every_format(self):
        for compress in (False, True):
            path = self.directory / f"{compress}.h5"
            cases = [Case(f"codes/{name}", inputs={"x": tensor(name)}, golden=tensor(name),
                          recorded={"npu": tensor(name)}) for name in FORMATS]
            self.assertEqual(write(path, cases, compress=compress), len(FORMATS))
            with assay.open(path) as file:
                self.assertEqual(file.case_names(), sorted(c.name for c in cases))
                for case in cases:
                    read = file.read(case.name)
                    for got in (read.inputs["x"], read.golden, read.recorded["npu"]):
                        self.assertEqual(got.dtype, case.golden.dtype)
                        self.assertEqual(got.bits.tobytes(), codes(got.dtype).tobytes())

    def test_shapes_and_layouts(self):
        path = self.directory / "shapes.h5"
        rows = np.arange(120, dtype="<f4").reshape(2, 3, 4, 5)
        arrays = {"scalar": np.float16(1.5), "empty": np.zeros((0, 3), "f4"),
                  "beside_0": np.zeros((2, 0, 4), "i2"), "rank4": rows, "fortran": rows.T,
                  "strided": rows[:, ::2, ::-1], "broadcast": np.broadcast_to(np.int8(3), (2, 3)),
                  "big_endian": rows.astype(">f4"), "list": [1.5, 2.5], "flags": [True, False]}
        for compress in (False, True):
            write(path, Case("c", inputs=arrays), compress=compress)
            with assay.open(path) as file:
                read = file.read("c").inputs
            for name, array in arrays.items():
                expected = np.asarray(array)
                self.assertEqual(read[name].shape, expected.shape, name)
                self.assertEqual(read[name].dtype, expected.dtype.name, name)
                np.testing.assert_array_equal(read[name].numpy(), expected, name)

    def test_rows_that_are_cases(self):
        path = self.directory / "rows.h5"
        x = np.arange(60, dtype="f4").reshape(12, 5)
        packed = Case("x2", inputs={"x": x}, golden=x * 2.0, recorded={"npu": x * np.float32(2)},
                      attributes={"output_dtype": "float32"})
        for says_so in (True, False):
            write(path, packed, attributes={"rows_are_cases": 1} if says_so else None)
            with assay.open(path, rows_are_cases=not says_so) as file:
                self.assertEqual(file.case_names(), [f"x2/{i:02}" for i in range(12)])
                for i, case in enumerate(file):
                    np.testing.assert_array_equal(case.inputs["x"].numpy(), x[i])
                    np.testing.assert_array_equal(case.golden.numpy(), x[i] * 2.0)
                    np.testing.assert_array_equal(case.recorded["npu"].numpy(), x[i] * 2)
                    self.assertEqual(case.attributes["output_dtype"], "float32")
                self.assertEqual(file.info("x2/03").golden.shape, (5,))
                with self.assertRaisesRegex(ValueError, "holds cases as the rows of arrays"):
                    file.append(packed)
            options = {} if says_so else {"rows_are_cases": True}
            report = assay.gate(path, standard="torch", **options)
            self.assertEqual(len(report), 12)
            self.assertEqual(report.outcome, "pass")

    def test_complex_arrays(self):
        path = self.directory / "complex.h5"
        grid = np.arange(24).reshape(4, 6) * (1 - 2j)
        half = np.arange(24, dtype="f2").reshape(4, 3, 2)
        arrays = {"c8": grid.astype("c8"), "c16": grid, "scalar": np.complex64(3 - 4j),
                  "empty": np.zeros((0, 3), "c8"), "fortran": np.asfortranarray(grid),
                  "strided": grid[::2, ::-1], "big_endian": grid.astype(">c16"),
                  "special": np.array([complex(np.nan, -0.0), complex(-np.inf, np.nan)], "c8")}
        for compress in (False, True):
            write(path, Case("c", inputs={**arrays, "half": Tensor.of(half, "complex32")}),
                  compress=compress)
            with assay.open(path) as file:
                read = file.read("c").inputs
            for name, array in arrays.items():
                self.assertEqual(read[name].shape, array.shape, name)
                self.assertEqual(read[name].dtype, array.dtype.name, name)
                self.assertEqual(read[name].numpy().tobytes(),
                                 array.astype(array.dtype.newbyteorder("<")).tobytes(), name)
            self.assertEqual((read["half"].dtype, read["half"].shape), ("complex32", (4, 3)))
            np.testing.assert_array_equal(read["half"].numpy(), half)
        with h5py.File(path) as file:  # h5py reads the elements as complex numbers
            np.testing.assert_array_equal(file["cases/c/inputs/c8"][()], grid.astype("c8"))
        self.assertEqual(self.refusal(ValueError, Tensor.of, half[..., 0], "complex32"),
                         "an array of the parts of complex32 must have a last dimension of 2, but it has the "
                         "shape (4, 3)")
        self.refusal(TypeError, Tensor.of, half, "complex64")

    def test_bits_that_arithmetic_would_change(self):
        signalling = np.array([0x7F800001, 0xFFBFFFFF, 0x80000000, 0x00000001], "<u4")
        for array in (signalling.view("<f4"), signalling.astype(">u4").view(">f4")):
            self.assertEqual(Tensor.of(array).bits.tobytes(), signalling.tobytes())
        half = np.array([0x7C01, 0xFE55, 0x8000, 0x0001], "<u2")
        write(self.directory / "h.h5", Case("c", golden=half.view("<f2")))
        with assay.open(self.directory / "h.h5") as file:
            self.assertEqual(file.read("c").golden.bits.tobytes(), half.tobytes())

    def test_attributes(self):
        attributes = {"rtol": 1e-3, "atol": 0, "equal_nan": True, "seed": -7, "tags": "a,b",
                      "why": "größer als ±½ ulp", "big": 2**63 - 1, "small": -2**63, "x y-z": "",
                      "endless": float("inf"), "transpose_a": False}
        case = small_case("a/b.c=1", op="mine", attributes=attributes)
        case.machines["npu"] = "ascend910b"
        root = {"description": "three rows", "license": "CC0-1.0"}
        write(self.directory / "a.h5", case, attributes=root)
        with assay.open(self.directory / "a.h5") as file:
            self.assertEqual(file.attributes, {**root, "assay_schema": 1})
            read = file.read("a/b.c=1")
            self.assertEqual((read.op, read.attributes), ("mine", attributes))
            self.assertEqual(read.machines, {"npu": "ascend910b"})
            # The case that was read is written again, and gives the same bytes.
            write(self.directory / "b.h5", file, attributes=file.attributes)
        self.assertEqual((self.directory / "a.h5").read_bytes(),
                         (self.directory / "b.h5").read_bytes())

    def test_the_same_content_is_the_same_file(self):
        first, second = self.directory / "1.h5", self.directory / "2.h5"
        write(first, small_case())
        write(second, small_case())
        self.assertEqual(first.read_bytes(), second.read_bytes())
        # A file that is written in another second has the same bytes, too, because no object stores a time.
        timed = self.directory / "timed.h5"
        with h5py.File(timed, "w") as file:
            file.create_dataset("x", data=[1.0], track_times=True)
        self.assertEqual([self.times_kept(timed), self.times_kept(first)], [1, 0])

    def times_kept(self, path):
        """Returns how many objects of a file store the time of their last change."""
        with h5py.File(path) as file:
            objects = [file.id]
            file.visititems(lambda name, item: objects.append(item.id))
            addresses = [h5py.h5o.get_info(one).addr for one in objects]
        self.assertGreater(len(addresses), 1)
        return sum("mtime" in run("h5debug", path, str(at))[1] for at in addresses)

    def test_one_case_is_read_without_the_others(self):
        path = self.directory / "two.h5"
        write(path, [small_case("good"), small_case("broken")])
        with h5py.File(path, "r+") as file:
            file["cases/broken/golden"].attrs["dtype"] = "float7"
            del file["cases/broken/inputs/x"]
            file["cases/broken/inputs/x"] = h5py.ExternalLink("nowhere.h5", "/x")
        with assay.open(path) as file:
            self.assertEqual(file.case_names(), ["broken", "good"])
            self.assertEqual(file.read("good").golden.numpy().tolist(), [0, 0, 2.5])
            only = file.read("good", inputs=False, golden=False)
            self.assertEqual((only.inputs, only.golden, list(only.recorded)), ({}, None, ["npu"]))
            self.assertEqual(self.refusal(FileError, file.read, "broken"),
                             f"{path}: /cases/broken/inputs/x: is an external link; a dataset file "
                             "must hold all its data")

    def test_info_and_globs(self):
        path = self.directory / "g.h5"
        write(path, [small_case("gemm/m1"), small_case("gemm/m22"), small_case("relu")])
        with assay.open(path) as file:
            self.assertEqual(file.case_names("gemm/*"), ["gemm/m1", "gemm/m22"])
            self.assertEqual(file.case_names("*m?"), ["gemm/m1"])
            info = file.info("relu")
            self.assertEqual((info.inputs["x"].dtype, info.golden.shape), ("float32", (3,)))
            self.assertEqual(self.refusal(NoCaseError, file.case_names, "gem[a-l]*"),
                             f"{path}: no case matches 'gem[a-l]*'; it has 3 cases, the first is 'gemm/m1'")

    def test_sample_that_cpp_wrote(self):
        with h5py.File(SAMPLE) as raw, assay.open(SAMPLE) as file:
            names = file.case_names()
            self.assertGreaterEqual(len(names), 5)
            compared = 0
            for case in file:
                tensors = {"golden": case.golden}
                for part, values in (("inputs", case.inputs), ("outputs", case.recorded)):
                    tensors.update({f"{part}/{n}": t for n, t in values.items()})
                for path, got in tensors.items():
                    if got is None:
                        continue
                    stored = raw[f"cases/{case.name}/{path}"]
                    # An older version of assay wrote the file, with strings of a fixed length.
                    self.assertEqual(got.dtype, np.array(stored.attrs["dtype"]).astype(str).item())
                    if got.dtype in ("float64", "float32", "float16"):
                        np.testing.assert_array_equal(got.numpy(), stored[()])
                        compared += 1
            self.assertGreaterEqual(compared, len(names))


class Refusals(TestCase):
    def setUp(self):
        super().setUp()
        self.path = self.directory / "f.h5"
        write(self.path, small_case())
        self.before = self.path.read_bytes()

    def tearDown(self):
        self.assertEqual(self.path.read_bytes(), self.before, "the file that was there changed")
        self.assertEqual(os.listdir(self.directory), ["f.h5"], "something was left behind")

    def expect(self, reason, *cases, error=FileError, **keywords):
        self.assertEqual(self.refusal(error, write, self.path, cases, **keywords), reason)

    def test_names(self):
        bad = ("is no case name; use parts of letters, digits, '_', '.' and '='")
        for name in ("a-b", "a b", "a//b", "", "/a", "a/golden/b", "a/..", "ä", "a*", "a\n"):
            shown = name.replace("\n", "\\n")
            self.expect(f"{self.path}: /cases/{shown}: {bad}", small_case(name))
        self.expect(f"{self.path}: /cases/c: is there already", small_case(), small_case())
        self.expect(f"{self.path}: /cases/c: is there already", small_case("c/d"), small_case())
        self.expect(f"{self.path}: /cases/c/d/e: lies inside the case /cases/c; cases do not nest",
                    small_case(), small_case("c/d/e"))
        self.expect(f"{self.path}: /cases/c: 'a/b' is no name of an operand or producer; use letters, "
                    "digits, '_', '.' and '='", Case("c", recorded={"a/b": [1.0]}))
        self.expect(f"{self.path}: /cases/c: the 1 inputs of the list 'a' must be a/0 to a/0; there is "
                    "no a/0", Case("c", inputs={"a/b": [1.0]}))

    def test_attributes(self):
        at = "case c: "
        for attributes, reason in (
                ({"rtoll": 1}, "its attribute 'rtoll' is unknown: did you mean 'rtol'?; to keep it as a note of "
                               "your own, name it x_rtoll"),
                ({"Standrad": "torch"}, "its attribute 'Standrad' is unknown: did you mean "
                                        "'standard'?; to keep it as a note of your own, name it x_Standrad"),
                ({"rtol": "0.1"}, "its attribute 'rtol' must be a number, but it is '0.1'"),
                ({"seed": 1.5}, "its attribute 'seed' must be an integer, but it is '1.5'"),
                ({"equal_nan": 2}, "its attribute 'equal_nan' must be a bool, but it is '2'"),
                ({"tags": 3}, "its attribute 'tags' must be a string, but it is '3'"),
                ({"output_dtype": "halve"}, "its output_dtype 'halve' is no dtype that assay "
                 "knows; docs/formats.md lists all"),
                ({"output_dtype": "fp8"}, "its output_dtype 'fp8' may be float8_e4m3fn, "
                 "float8_e5m2, float8_e4m3fnuz, float8_e5m2fnuz, float8_e8m0fnu: which one?")):
            self.expect(at + reason, small_case(attributes=attributes), error=CaseError)
        for value, error in ((None, TypeError), ([1, 2], TypeError), (2**64, ValueError)):
            self.refusal(error, write, self.path, small_case(attributes={"x": value}))

    def test_arrays(self):
        for array, reason in (
                (np.uint16([1]), "uint16 may be bit patterns of bfloat16, float16 or integers: say "
                 "which format, assay.Tensor.of(array, dtype=...)"),
                (np.longdouble([1]), f"{np.dtype('g').name} is no dtype that assay knows; a tensor is "
                 "of one of those of assay.list_dtypes()"),
                (np.ma.masked_array([1.0], [True]),
                 "a masked array's mask would be lost: fill it first")):
            self.expect(f"case c: inputs/x: {reason}", Case("c", inputs={"x": array}),
                        error=TypeError)
        for array in (["text"], [object()], np.zeros(2, "G"), np.zeros(2, "M8[s]"),
                      np.zeros(2, [("a", "f4")])):
            self.refusal(TypeError, write, self.path, Case("c", golden=array))

    def test_nothing_to_write(self):
        self.expect(f"{self.path}: would hold no case; nothing was written", error=NoCaseError)
        self.assertIn("an assay.Case is needed, not a str", self.refusal(TypeError, write, self.path, "c"))

    def test_an_error_half_way(self):
        def cases():
            yield small_case("a")
            raise ZeroDivisionError("of the caller")
        self.assertEqual(self.refusal(ZeroDivisionError, write, self.path, cases()),
                         "of the caller")

    def test_places(self):
        self.assertEqual(self.refusal(FileError, write, self.directory, small_case()),
                         f"{self.directory}: is a directory; name a file to write")
        self.assertEqual(self.refusal(FileError, write, "/dev/null", small_case()),
                         "/dev/null: is not a regular file")
        nowhere = self.directory / "no/such/f.h5"
        self.assertEqual(self.refusal(FileError, write, nowhere, small_case()),
                         f"{nowhere}: cannot be written: No such file or directory")

    def test_full_disk(self):
        script = ("import resource, sys\nimport numpy as np\nfrom assay import *\n"
                  "resource.setrlimit(resource.RLIMIT_FSIZE, (100000, 100000))\n"
                  "try:\n    write(sys.argv[1], [Case(f'c{i}', golden=np.ones(9000)) for i in "
                  "range(5)])\nexcept FileError as error:\n    print(error)\n")
        said = subprocess.run([sys.executable, "-c", script, self.path], stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, encoding="utf-8", check=True,
                              preexec_fn=lambda: signal.signal(signal.SIGXFSZ, signal.SIG_IGN))
        self.assertEqual(said.stdout, f"{self.path}: cannot be written: File too large\n")

    def test_killed(self):
        script = ("import os, signal, sys\nimport numpy as np\nfrom assay import *\n"
                  "def cases():\n    yield Case('a', golden=np.ones(9000))\n"
                  "    os.kill(os.getpid(), signal.SIGKILL)\n    yield Case('b')\n"
                  "write(sys.argv[1], cases())\n")
        done = subprocess.run([sys.executable, "-c", script, self.path], check=False)
        self.assertEqual(done.returncode, -signal.SIGKILL)
        self.assertEqual(self.path.read_bytes(), self.before)
        for left in self.directory.glob("f.h5.tmp.*"):  # a killed process cannot remove its temporary file
            left.unlink()

    def test_files_that_are_none(self):
        nowhere = self.directory / "nowhere.h5"
        self.assertEqual(self.refusal(FileError, assay.open, nowhere),
                         f"{nowhere}: cannot be opened: No such file or directory")
        self.assertIn(f"{self.directory}: is in no layout that assay knows",
                      self.refusal(FileError, assay.open, self.directory))
        for path in (__file__, "/dev/null"):
            self.assertTrue(self.refusal(FileError, assay.open, path).startswith(f"{path}: "))


class Tensors(TestCase):
    def test_patterns_need_a_dtype_of_their_width(self):
        for row in assay.list_dtypes():
            name, width = row["name"], row["storage_bytes"]
            if not row["is_float"] or row["is_complex"]:
                continue
            self.assertEqual(Tensor.of(codes(name), name).dtype, name)
            wider = codes(name).astype("u2" if width == 1 else "u1")
            said = self.refusal(TypeError, Tensor.of, wider, name)
            self.assertEqual(said, f"an array of {wider.dtype} holds no {name}, and assay does not convert it; "
                                   f"round it yourself, or give its bit patterns as "
                             f"uint{8 * width}")
        self.refusal(TypeError, Tensor.of, np.float32([1]), "bfloat16")
        self.refusal(TypeError, Tensor.of, np.float64([1]), "float32")
        self.refusal(TypeError, Tensor.of, np.uint8([1]), "int8")
        self.refusal(TypeError, Tensor.of, Tensor.of([1.0]), "float32")
        self.assertIn("unknown dtype 'fp33'",
                      self.refusal(ValueError, Tensor.of, np.float32([1]), "fp33"))
        self.assertEqual(self.refusal(ValueError, Tensor.of, np.uint8([1]), "fp8"),
                         "'fp8' may be float8_e4m3fn, float8_e5m2, float8_e4m3fnuz, "
                         "float8_e5m2fnuz, float8_e8m0fnu: which one?")

    def test_bits_beyond_the_format(self):
        for name, value, shown in (
                ("tfloat32", np.float32(1 + 2**-11), "0x3f801000"),
                ("hfloat32", np.float32(1 + 2**-12), "0x3f800800"),
                ("float_e5m6", np.uint16(0x1000), "0x1000"), ("bool", np.uint8(2), "0x2"),
                ("float6_e2m3fn", np.uint8(0x40), "0x40"), ("float6_e3m2fn", np.uint8(0x80), "0x80"),
                ("float4_e2m1fn", np.uint8(0x10), "0x10")):
            array = np.zeros((2, 3), value.dtype)
            Tensor.of(array, name)
            array[1, 2] = value
            self.assertEqual(self.refusal(ValueError, Tensor.of, array, name),
                             f"element [1, 2] is {shown}, which is no {name} (it has bits beyond "
                             "the format)")
        self.assertEqual(Tensor.of(np.float32([1 + 2**-10]), "tfloat32").numpy()[0], 1 + 2**-10)

    def test_as_a_numpy_array(self):
        values = np.float16([1.5, -2])
        copy = np.asarray(Tensor.of(values))
        self.assertEqual(copy.dtype, np.float16)
        copy[0] = 0  # does not change the tensor, because `copy` has memory of its own
        np.testing.assert_array_equal(np.asarray(Tensor.of(values), np.float64), [1.5, -2])
        self.refusal(TypeError, np.asarray, tensor("hifloat8"))

    def test_equality_is_of_bits(self):
        nan = np.float32([np.nan])
        self.assertEqual(Tensor.of(nan), Tensor.of(nan.copy()))
        self.assertNotEqual(Tensor.of(np.float32([0])), Tensor.of(np.float32([-0.0])))
        self.assertNotEqual(Tensor.of(np.zeros(1, "u1"), "hifloat8"), Tensor.of(np.zeros(1, "u1")))
        self.assertNotEqual(Tensor.of(np.zeros((1, 2))), Tensor.of(np.zeros((2, 1))))


if __name__ == "__main__":
    # Tests that kill a process must not leave core files in the directory of the build.
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    unittest.main(verbosity=2)
