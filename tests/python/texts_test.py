"""Tests texts of Python that C++ would cut or cannot hold, and texts of files that Python cannot hold: paths and names
with U+0000, surrogates, or bytes that are not UTF-8."""
import os
import pathlib
import unittest

import h5py
import numpy as np

import assay
from assay import Case, FileError, Tensor
from support import TestCase

X = np.arange(6, dtype=np.float32)


class Zero(TestCase):
    def setUp(self):
        super().setUp()
        self.path = self.directory / "a.h5"
        assay.write(self.path, Case("a", op="relu", inputs={"x": X}, golden=X.astype(float)))
        self.before = self.path.read_bytes()

    def tearDown(self):
        self.assertEqual(self.path.read_bytes(), self.before, "the file that was there changed")
        self.assertEqual(os.listdir(self.directory), ["a.h5"], "something was left behind")

    def test_paths(self):
        cut = f"{self.path}\0.tmp"
        said = f"the text {cut!r} holds U+0000, at which a name or a path would be cut"
        class Path:
            def __fspath__(self):
                return cut
        for path in cut, Path():
            for call in (lambda: assay.write(path, Case("b", op="relu", golden=X)),
                         lambda: assay.open(path), lambda: assay.gate(path),
                         lambda: assay.gate(self.path, outputs=path),
                         lambda: assay.gate(self.path, outputs=[path]),
                         lambda: assay.gate(self.path, machine="ascend910b", json=path),
                         lambda: assay.campaign(path), lambda: assay.identify(path),
                         lambda: assay.compare(X, X, standards=path)):
                self.assertEqual(self.refusal(ValueError, call), said)
        self.assertIn("holds U+0000", self.refusal(ValueError, assay.open, os.fsencode(cut)))
        self.assertIn("holds U+0000", self.refusal(ValueError, assay.open, self.path, table="a\0b"))

    def test_names(self):
        for case in (Case("a\0b", op="relu", golden=X), Case("b", op="re\0lu", golden=X),
                     Case("b", op="relu", inputs={"x\0": X}), Case("b", recorded={"npu\0": X}),
                     Case("b", golden=X, attributes={"x_a\0": 1}),
                     Case("b", golden=X, attributes={"x_a": "1\0"})):
            self.assertIn("holds U+0000", self.refusal(ValueError, assay.write, self.path, case))
        with assay.open(self.path) as d:
            self.assertIn("holds U+0000", self.refusal(ValueError, d.read, "a\0b"))
            self.assertIn("holds U+0000", self.refusal(ValueError, d.info, name="a\0b"))
        self.assertIn("holds U+0000", self.refusal(ValueError, assay.compare, X, X, standard="a\0"))

    def test_surrogates(self):
        said = "the text 'a\\ud800b' holds a surrogate, which is no character"
        name = "a\ud800b"
        with assay.open(self.path) as d:
            for call in (lambda: d.read(name), lambda: d.info(name), lambda: d[name],
                         lambda: d.case_names(name), lambda: d.put_output("a", name, X),
                         lambda: d.put_output("a", "npu", X, machine=name),
                         lambda: assay.open(name), lambda: assay.gate(name),
                         lambda: assay.gate(self.path, recorded=name),
                         lambda: assay.write(self.path, Case(name, golden=X)),
                         lambda: assay.write(self.path, Case("b", op=name, golden=X)),
                         lambda: assay.write(self.path, Case("b", inputs={name: X}, golden=X)),
                         lambda: assay.write(self.path, Case("b", golden=X, attributes={name: 1})),
                         lambda: assay.write(self.path, Case("b", golden=X, attributes={"x_a": name})),
                         lambda: assay.compare(X, X, standard=name),
                         lambda: assay.golden(name, x=X), lambda: assay.identify(name)):
                self.assertEqual(self.refusal(ValueError, call), said)
        # Surrogates from U+DC80 to U+DCFF stand for bytes, here as in Python's own functions for files.
        self.assertEqual(self.refusal(FileError, assay.open, str(self.directory / "no\udcff.h5")),
                         f"{self.directory}/no\\xff.h5: cannot be opened: No such file or directory")
        self.assertIn("/cases/a\\xffb: is no case name", self.refusal(
            FileError, assay.write, self.path, Case("a\udcffb", op="relu", golden=X)))


class Bytes(TestCase):
    def test_names_of_files(self):
        path = os.fsdecode(os.fsencode(self.directory) + b"/caf\xe9.h5")
        self.assertEqual(assay.write(path, Case("a", op="relu", golden=X, recorded={"npu": X})), 1)
        self.assertEqual(os.listdir(os.fsencode(self.directory)), [b"caf\xe9.h5"])
        for one in path, pathlib.Path(path), os.fsencode(path):
            with assay.open(one) as d:
                self.assertEqual((d.path, d.case_names()), (path, ["a"]))
        report = assay.gate(path, recorded="npu")
        self.assertEqual(report.exit_code, 0)
        self.assertIn("1 case: 1 pass", str(report))
        self.assertEqual(report.to_dict()["outcome"], "pass")

    def test_names_in_files(self):
        path = self.directory / "a.h5"
        with h5py.File(path, "w") as f:
            f.attrs["assay_schema"] = 1
            group = f.create_group("cases/a")
            group.attrs.update({"op": "external", "output_dtype": "float32"})
            group.create_dataset("golden", data=X.astype(float)).attrs["dtype"] = "float64"
            outputs = group.create_group("outputs")
            for name in b"bad\xff", b"esc\x1b\nx":
                outputs.create_dataset(name, data=X).attrs["dtype"] = "float32"
        with assay.open(path) as d:
            case = d["a"]
            self.assertEqual(sorted(case.recorded), ["bad\udcff", "esc\x1b\nx"])
            self.assertEqual(sorted(d.info("a").recorded), ["bad\udcff", "esc\x1b\nx"])
        for name in case.recorded:
            report = assay.gate(path, recorded=name)
            self.assertEqual(report.exit_code, 0)
            for text in str(report), repr(report), report._repr_html_():
                self.assertNotRegex(text, "[\x00-\x08\x0b-\x1f\x7f\ud800-\udfff]")
            self.assertEqual(len(str(report).strip().splitlines()), 4, str(report))


class Devices(TestCase):
    def test_a_device_that_is_none(self):
        for device in None, 1, "cpu", (1,), (1, 2, 3), ("cpu", 0), [1.5, 0], ("\udcff", 1):
            class Odd:
                def __dlpack__(self, **_):
                    raise AssertionError("was asked for its memory")
                def __dlpack_device__(self):
                    return device
            said = self.refusal(TypeError, assay.compare, Odd(), X)
            self.assertEqual(said, "actual: the __dlpack_device__() of a Odd gave "
                             f"{device!r}, not two integers, so that its device is not known; pass a numpy copy")

    def test_a_protocol_that_gives_no_capsule(self):
        for given in None, 1, "x", b"dltensor":
            class Odd:
                def __dlpack__(self, **_):
                    return given
            said = self.refusal(TypeError, Tensor.of, Odd())
            self.assertIn("a Odd cannot be read as it is: ", said)


if __name__ == "__main__":
    unittest.main(verbosity=2)
