"""Shared by the tests of the Python package: the program, directories, and every code of a format.

The environment says where things are: PYTHONPATH the package, ASSAY the program."""
import collections
import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest
from unittest import mock

import numpy as np

from assay import Tensor, list_dtypes

ROOT = pathlib.Path(__file__).resolve().parents[2]
SAMPLE = ROOT / "datasets/samples/transformer_gemms.h5"
H5DUMP = shutil.which("h5dump")

# For each format, the number of bits that stored elements may have set. This is a copy from docs/dataset.md.
USED_BITS = {"float64": 64, "float32": 32, "float16": 16, "bfloat16": 16, "tfloat32": 32,
             "hfloat32": 32, "float8_e4m3fn": 8, "float8_e5m2": 8, "float8_e4m3fnuz": 8,
             "float8_e5m2fnuz": 8, "float8_e8m0fnu": 8, "float6_e2m3fn": 6, "float6_e3m2fn": 6,
             "float4_e2m1fn": 4, "float_e5m6": 12, "hifloat8": 8, "int8": 8, "uint8": 8,
             "int16": 16, "int32": 32, "int64": 64, "bool": 1, "uint16": 16, "uint32": 32,
             "uint64": 64, "int4": 4, "uint4": 4, "float4_e1m2fn": 4}
WIDTHS = {name: 8 if bits == 64 else 4 if bits == 32 else 2 if bits > 8 else 1
          for name, bits in USED_BITS.items()}
Format = collections.namedtuple("Format", "storage_bytes padding")
PARTS = {"complex128": "float64", "complex64": "float32", "complex32": "float16"}
ZERO_LOW_BITS = {"tfloat32": 13, "hfloat32": 12}
FORMATS = {row["name"]: Format(row["storage_bytes"], ZERO_LOW_BITS.get(row["name"], 0))
           for row in list_dtypes()}
NATIVE = {"float64", "float32", "float16", "int8", "uint8", "int16", "int32", "int64", "bool",
          "uint16", "uint32", "uint64", "complex128", "complex64"}


def codes(name):
    """Returns every code of a format of at most 16 bits. For a wider format, returns the corners and a
    spread. For a complex format, returns pairs of codes of its parts."""
    if name in PARTS:
        parts = codes(PARTS[name])
        return parts[:len(parts) // 2 * 2].reshape(-1, 2)
    used, width = USED_BITS[name], WIDTHS[name]
    if used <= 16:
        return np.arange(1 << used, dtype=np.int64).astype(f"<u{width}")
    low = ZERO_LOW_BITS.get(name, 0)
    spread = np.arange(5000, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    corners = [0, 1 << low, 1 << used - 1, (1 << used - 1) - 1, (1 << used) - 1]
    bits = np.concatenate([np.array(corners, np.uint64), spread >> np.uint64(64 - used)])
    return (bits >> np.uint64(low) << np.uint64(low)).astype(f"<u{width}")


def tensor(name):
    """Returns a tensor of all codes that codes() returns for the format."""
    bits = codes(name)
    return Tensor.of(bits.view(name) if name in NATIVE - {*PARTS} else bits, name)


def run(*words, check=True):
    """Runs a program. Returns its exit status and its output."""
    environment = dict(os.environ)
    if words[0] == os.environ.get("ASSAY"):
        environment.pop("LD_PRELOAD", None)  # only this interpreter needs the sanitizer's runtime, for the module
    done = subprocess.run([os.fspath(word) for word in words], stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, encoding="utf-8", errors="replace", check=False,
                          env=environment)
    if check and done.returncode != 0:
        raise AssertionError(f"{words} exited with {done.returncode}:\n{done.stdout}")
    return done.returncode, done.stdout


def assay(*words, check=True):
    return run(os.environ["ASSAY"], *words, check=check)


class TestCase(unittest.TestCase):
    """A test case that has a directory of its own, self.directory."""
    maxDiff = None

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="assay_python_test_")
        self.addCleanup(folder.cleanup)
        self.directory = pathlib.Path(folder.name)
        temporary = mock.patch("tempfile.tempdir", folder.name)  # failed gates leave their files here, too
        temporary.start()
        self.addCleanup(temporary.stop)

    def refusal(self, error, action, *arguments, **keywords):
        """Returns the message of the error that a call raises. The error has exactly this type."""
        with self.assertRaises(error) as caught:
            action(*arguments, **keywords)
        self.assertIs(type(caught.exception), error, caught.exception)
        return str(caught.exception)


assert {*USED_BITS, *PARTS} == set(FORMATS), "a format is missing here or there"
