"""Reads the files of tests/datasets/make_files.py: every valid one as it was meant, and none of those
that a reader has to refuse. Where the reason lies in the file and not in HDF5, the message is the
C++ reader's, word for word."""
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

import h5py

from assay_data import Dataset, DatasetError, NoCaseError
from assay_data.case import KNOWN
from support import ROOT, assay, run

CAP = 1 << 30  # that the script's files are made for


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
            with self.subTest(entry["file"]), Dataset(self.directory / entry["file"], CAP) as file:
                found = [{"case": case.name, "tensor": path, "dtype": tensor.dtype,
                          "shape": list(tensor.shape),
                          "bits": hashlib.sha256(tensor.bits.tobytes()).hexdigest()}
                         for case in file for path, tensor in case.tensors()
                         if tensor is not None]
                order = lambda tensor: (tensor["case"], tensor["tensor"])
                self.assertEqual(sorted(found, key=order), sorted(entry["expect"], key=order))
                self.check_attributes(file, entry["attrs"])

    def check_attributes(self, file, listed):
        objects = {"/": file.attributes}
        for case in file:
            at = f"/cases/{case.name}"
            objects[at] = {**case.attributes, "op": case.op}
            for path, tensor in case.tensors():
                if tensor is None:  # absent
                    continue
                objects[f"{at}/{path}"] = {**tensor.attributes, "dtype": tensor.dtype}
        for one in listed:
            if one["object"] not in objects:  # groups that are no case
                continue
            value = objects[one["object"]][one["name"]]
            self.assertEqual(type(value).__name__, one["kind"].replace("string", "str"))
            self.assertEqual(value if isinstance(value, str) else repr(value).lower(), one["value"])

    def test_bad_files_are_refused(self):
        self.assertGreater(len(self.bad), 200)
        for entry in self.bad:
            path = self.directory / entry["file"]
            with self.subTest(entry["file"]), self.assertRaises(DatasetError) as caught:
                with Dataset(path, CAP) as file:
                    for _ in file:
                        pass
            said = str(caught.exception)
            self.assertTrue(said.startswith(f"{path}: "), said)
            self.assertIn(entry["object"], said)
            self.assertNotRegex(said, r"[\x00-\x1f\x7f]")
            if entry["reason"] == "no case" and "empty_groups" not in entry["file"]:
                self.assertIsInstance(caught.exception, NoCaseError)

    def test_messages_are_those_of_the_program(self):
        # In these the reason is HDF5's or zlib's, or a number of bytes beyond float64.
        of_libraries = r"truncated or corrupt|mod_2_64|attr_op_bool"
        compared, other = collections.Counter(), self.directory / "other.h5"
        for entry in self.bad:
            path = self.directory / entry["file"]
            if compared[entry["reason"]] == 3 or re.search(of_libraries, str(entry)):
                continue
            with self.subTest(entry["file"]), self.assertRaises(DatasetError) as caught:
                with Dataset(path, CAP) as file:
                    for _ in file:
                        pass
            with mock.patch.dict(os.environ, {"ASSAY_MAX_DATASET_GIB": str(CAP >> 30)}):
                _, program = assay("emulate", path, "--machine", "exact", "--out", other,
                                   check=False)
            self.assertIn(f"error: {caught.exception}", program.splitlines())
            compared[entry["reason"]] += 1
        self.assertGreater(len(compared), 20)
        self.assertGreater(sum(compared.values()), 50)


class KnownAttributes(unittest.TestCase):
    """The list of attributes stands in the C++ reader and here: both must be the same."""

    def test_the_list_is_that_of_the_program(self):
        status, printed = assay("list", "attributes")
        self.assertEqual(status, 0)
        rows = [re.split(r"  +", line) for line in printed.splitlines()]
        self.assertEqual(rows[0], ["attribute", "value", "meaning"])
        self.assertEqual([(name, kind) for name, kind, _ in rows[1:]],
                         [(name, kind) for name, (kind, _) in KNOWN.items()])

    def test_both_refuse_the_same_values(self):
        values = {"text": "x", "zero": 0, "one": 1, "two": 2, "half": 0.5, "yes": True}
        refused = 0
        with tempfile.TemporaryDirectory(prefix="assay_python_test_") as folder:
            path = pathlib.Path(folder) / "case.h5"
            for attribute in KNOWN:
                for what, value in values.items():
                    with self.subTest(attribute=attribute, value=what):
                        with h5py.File(path, "w") as file:
                            file.attrs["assay_schema"] = 1
                            case = file.create_group("cases/c")
                            case.attrs["op"] = "external"
                            case.attrs[attribute] = value
                        try:
                            with Dataset(path) as file:
                                list(file)
                            said = ""
                        except DatasetError as error:
                            said = str(error)
                        status, printed = assay("inspect", path, check=False)
                        self.assertEqual(status == 0, said == "", printed)
                        self.assertIn(f"error: {said}" if said else "1 case", printed)
                        refused += said != ""
        self.assertGreater(refused, 30)


if __name__ == "__main__":
    unittest.main()
