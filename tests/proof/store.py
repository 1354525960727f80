"""Writes cases to dataset files by h5py (docs/dataset.md) and judges them by `assay gate`."""
import json
import pathlib
import re
import subprocess
import sys
import time

import h5py
import numpy as np

from number_formats import encode

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "docs"))
from generated import decisive  # noqa: E402,F401 -- the scripts of this folder use it


class Array:
    """Values with the dtype that they have in the file. The values must be representable in it."""

    def __init__(self, values, dtype):
        self.values, self.dtype = np.asarray(values), dtype
        self.stored = encode(self.values, dtype)


def golden64(values):
    """Returns a golden result, rounded once to float64."""
    return Array(np.asarray(values, np.float64), "float64")


class File:
    """A dataset file that is being written. Tensors that several cases share are stored once (hard links)."""

    def __init__(self, path, inputs=True):
        self.path, self.file, self.names, self.shared = pathlib.Path(path), h5py.File(path, "w"), [], {}
        self.file.attrs["assay_schema"] = 1
        self.inputs = inputs

    def _put(self, group, name, array):
        if id(array) in self.shared:
            group[name] = self.shared[id(array)][0]
            return
        made = group.create_dataset(name, data=array.stored)
        made.attrs["dtype"] = array.dtype
        # The array is kept alive, so that no other array gets its id.
        self.shared[id(array)] = made, array

    def add(self, name, op, inputs, golden, output, attributes=(), producer="kernel"):
        name = re.sub(r"[^A-Za-z0-9_.=/]", "_", name)
        case = self.file.create_group(f"cases/{name}")
        case.attrs["op"] = op
        case.attrs["output_dtype"] = output.dtype
        for key, value in dict(attributes).items():
            case.attrs[key] = value
        if self.inputs:
            for key, array in inputs.items():
                self._put(case, f"inputs/{key}", array)
        if golden is not None:
            self._put(case, "golden", golden)
        if output.stored is not None:
            self._put(case, f"outputs/{producer}", output)
        self.names.append(name)
        return name

    def close(self):
        self.file.close()


def run_assay(tool, *arguments, allowed=(0, 1, 3, 4)):
    ran = subprocess.run([tool, *map(str, arguments)], capture_output=True, text=True)
    if ran.returncode not in allowed:
        sys.exit(f"assay {' '.join(map(str, arguments))}: exit code {ran.returncode}\n{ran.stderr[-3000:]}")
    return ran


def gate(tool, path, *options, recorded="kernel", allowed=(0, 1, 2, 3, 4)):
    """Returns {case name: its entry in the JSON report} of `assay gate PATH`, and the seconds that it took."""
    report, began = pathlib.Path(str(path) + ".json"), time.time()
    source = ["--recorded", recorded] if recorded else []
    run_assay(tool, "gate", path, *source, *options, "--json", report, "--quiet", allowed=allowed)
    cases = {case["case"]: case for case in json.loads(report.read_text())["cases"]}
    return cases, time.time() - began
