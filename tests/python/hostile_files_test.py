"""Reads the files of tests/datasets/make_files.py. Every valid file is read as it was meant. A file that a
reader has to refuse is refused with the program's own message."""
import collections
import hashlib
import json
import os
import pathlib
import re
import sys
import tempfile
import unittest
from unittest import mock

import numpy as np

import assay
from assay import FileError, NoCaseError
from support import ROOT, assay as program, run


def tensors(case):
    """Yields (path below the case, tensor) for each tensor of a case."""
    everything = [(f"inputs/{name}", value) for name, value in case.inputs.items()]
    for output, of in case.outputs.items() or [("", case)]:
        below = f"/{output}" if output else ""
        everything.append((f"golden{below}", of.golden))
        for part, values in (("outputs", of.recorded), ("accumulators", of.accumulators),
                             ("residuals", of.residuals)):
            everything += [(f"{part}/{name}{below}", value) for name, value in values.items()]
    for path, value in everything:
        if isinstance(value, (list, dict)):
            items = value.items() if isinstance(value, dict) else enumerate(value)
            yield from ((f"{path}/{name}", one) for name, one in items if one is not None)
        elif value is not None:
            yield path, value


@mock.patch.dict(os.environ, {"ASSAY_MAX_DATASET_GIB": "1"})  # the files of make_files.py are made for this limit
class HostileFiles(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory(prefix="assay_python_test_")
        cls.addClassCleanup(folder.cleanup)
        cls.directory = pathlib.Path(folder.name)
        run(sys.executable, "-B", ROOT / "tests/datasets/make_files.py", cls.directory)
        manifest = json.loads((cls.directory / "manifest.json").read_text())
        cls.good = [entry for entry in manifest if entry["accept"]]
        cls.bad = [entry for entry in manifest if not entry["accept"]]

    def test_good_files_read_as_they_were_meant(self):
        self.assertGreater(len(self.good), 20)
        for entry in self.good:
            with self.subTest(entry["file"]), assay.open(self.directory / entry["file"]) as file:
                found = [{"case": case.name, "tensor": path, "dtype": tensor.dtype,
                          "shape": list(tensor.shape),
                          "bits": hashlib.sha256(np.ascontiguousarray(tensor.bits)).hexdigest()}
                         for case in file for path, tensor in tensors(case)]
                order = lambda tensor: (tensor["case"], tensor["tensor"])
                self.assertEqual(sorted(found, key=order), sorted(entry["expect"], key=order))

    def test_bad_files_are_refused(self):
        self.assertGreater(len(self.bad), 200)
        for entry in self.bad:
            path = self.directory / entry["file"]
            with self.subTest(entry["file"]), self.assertRaises(FileError) as caught:
                with assay.open(path, layout="dataset") as file:
                    for _ in file:
                        pass
            said = str(caught.exception)
            self.assertTrue(said.startswith(f"{path}: "), said)
            self.assertIn(entry["object"], said)
            self.assertNotRegex(said, r"[\x00-\x1f\x7f]")
            if entry["reason"] == "no case" and "empty_groups" not in entry["file"]:
                self.assertIsInstance(caught.exception, NoCaseError)

    def test_messages_are_those_of_the_program(self):
        # These messages have a reason from HDF5 or zlib, or a number of bytes that float64 does not hold, so they are
        # not compared.
        of_libraries = r"truncated or corrupt|mod_2_64|attr_op_bool"
        compared, other = collections.Counter(), self.directory / "other.h5"
        for entry in self.bad:
            path = self.directory / entry["file"]
            if compared[entry["reason"]] == 3 or re.search(of_libraries, str(entry)):
                continue
            with self.subTest(entry["file"]), self.assertRaises(FileError) as caught:
                with assay.open(path, layout="dataset") as file:
                    for _ in file:
                        pass
            _, said = program("emulate", path, "--machine", "exact", "--out", other, check=False)
            self.assertIn(f"error: {caught.exception}", said.splitlines())
            compared[entry["reason"]] += 1
        self.assertGreater(len(compared), 20)
        self.assertGreater(sum(compared.values()), 50)


if __name__ == "__main__":
    unittest.main(verbosity=2)
