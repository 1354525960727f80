"""Computes softmax for the tests of `assay trial`: right, or wrong in the way that the first argument names.

    softmax.py WAY INPUT OUTPUT [AXIS]
    softmax.py WAY FOLDER
"""
import json
import os
import sys
import time

import numpy as np

LONG = 5  # rows of more elements are computed wrong


def softmax(way, x, axis):
    if x.size == 0:
        return x.copy()
    wide = x.astype(np.float64)
    e = np.exp(wide - wide.max(axis=axis, keepdims=True))
    y = (e / e.sum(axis=axis, keepdims=True)).astype(x.dtype)
    if x.shape[-1] > LONG:
        if way == "tail":
            y[..., LONG:] = 0
        elif way == "nan":
            y[..., -1] = np.nan
        elif way == "exit":
            print("working")
            print("ValueError: the row is too long\n", file=sys.stderr)
            sys.exit(3)
        elif way == "notfound":
            sys.exit(127)
        elif way == "crash":
            os.kill(os.getpid(), 11)
        elif way == "hang":
            time.sleep(1000)
        elif way == "interrupts":  # sends one Ctrl-C to the process of the file
            file = os.environ["INTERRUPTED"]
            if os.path.exists(file):
                with open(file) as f:
                    process = int(f.read())
                os.remove(file)
                os.kill(process, 2)
    if way == "shape":
        y = y.reshape(-1)
    elif way == "dtype":
        y = y.astype(np.float64)
    return y


def spoil(way, file):
    """Changes or removes the file of the input, in ways that do so."""
    if way == "spoils":
        with open(file, "r+b") as f:
            f.seek(-1, os.SEEK_END)
            last = f.read(1)[0]
            f.seek(-1, os.SEEK_END)
            f.write(bytes([last ^ 1]))
    elif way == "removes":
        os.remove(file)


def main():
    way = sys.argv[1]
    if way == "skips":
        print("needs a card")
        sys.exit(77)
    if len(sys.argv) > 3:
        x = np.load(sys.argv[2])
        axis = int(sys.argv[4]) if len(sys.argv) > 4 else -1
        if way == "ranks" and x.ndim > 2:
            print("not supported: more than 2 dimensions")
            return
        y = softmax(way, x, axis)
        spoil(way, sys.argv[2])
        if way != "nofile":
            np.save(sys.argv[3], y)
        return
    before = {}
    for name in sorted(os.listdir(sys.argv[2])):
        folder = os.path.join(sys.argv[2], name)
        with open(os.path.join(folder, "case.json")) as f:
            case = json.load(f)
        assert case["operator"] == "softmax"
        x = np.load(os.path.join(folder, case["inputs"]["x"]["file"]))
        assert list(x.shape) == case["inputs"]["x"]["shape"] == case["output"]["shape"]
        if way == "ranks" and x.ndim > 2:
            print(f"{name}: not supported: more than 2 dimensions")
            continue
        y = softmax(way, x, case["attributes"]["axis"])
        if way == "stale":
            y = before.setdefault(x.shape, y)
        spoil(way, os.path.join(folder, case["inputs"]["x"]["file"]))
        np.save(os.path.join(folder, case["output"]["file"]), y)


main()
