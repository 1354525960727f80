"""Computes softmax for the tests of `assay trial`: right, or wrong in the way that the first argument names.

    softmax.py WAY INPUT OUTPUT [AXIS]
    softmax.py WAY FOLDER

The tests start this program some thousand times. It therefore does without numpy, which takes 100 ms to import, and
imports nothing that its way does not need.
"""
import math
import os
import sys
from array import array

LONG = 5  # rows of more elements are computed wrong


class Values:
    """The elements of an array in C order, and its shape."""

    def __init__(self, shape, elements, code="f"):
        self.shape = tuple(shape)
        self.elements = array(code, elements)

    def copy(self):
        return Values(self.shape, self.elements)


def load(path):
    """Reads a file of NumPy's format, in version 1 and with elements of float32."""
    with open(path, "rb") as f:
        data = f.read()
    assert data[:8] == b"\x93NUMPY\x01\x00", data[:8]
    begin = 10 + int.from_bytes(data[8:10], "little")
    header = eval(data[10:begin], {"__builtins__": {}})
    assert (header["descr"], header["fortran_order"]) == ("<f4", False), header
    elements = array("f")
    elements.frombytes(data[begin:])
    assert len(elements) == math.prod(header["shape"]), header
    return Values(header["shape"], elements)


def save(path, values):
    header = repr({"descr": {"f": "<f4", "d": "<f8"}[values.elements.typecode], "fortran_order": False,
                   "shape": values.shape}).encode()
    header += b" " * (-(len(header) + 11) % 64) + b"\n"
    with open(path, "wb") as f:
        f.write(b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header + values.elements.tobytes())


def softmax_of(row):
    """Returns the softmax of some numbers, computed in float64."""
    most = math.nan if any(map(math.isnan, row)) else max(row)
    e = [math.exp(x - most) for x in row]
    total = math.fsum(e)
    return [x / total for x in e]


def softmax(way, x, axis):
    y = x.copy()
    if not x.elements:
        return y
    size = x.shape[axis]
    stride = math.prod(x.shape[axis % len(x.shape) + 1:])
    for block in range(0, len(x.elements), size * stride):
        for first in range(block, block + stride):
            row = slice(first, first + size * stride, stride)
            y.elements[row] = array("f", softmax_of(x.elements[row]))
    last = x.shape[-1]
    if last > LONG:
        if way == "tail":
            for row in range(0, len(y.elements), last):
                y.elements[row + LONG:row + last] = array("f", [0] * (last - LONG))
        elif way == "nan":
            for row in range(0, len(y.elements), last):
                y.elements[row + last - 1] = math.nan
        elif way == "exit":
            print("working", flush=True)
            print("ValueError: the row is too long\n", file=sys.stderr)
            sys.exit(3)
        elif way == "notfound":
            sys.exit(127)
        elif way == "crash":
            os.kill(os.getpid(), 11)
        elif way == "hang":
            import time
            time.sleep(1000)
        elif way == "interrupts":  # sends one Ctrl-C to the process of the file
            file = os.environ["INTERRUPTED"]
            if os.path.exists(file):
                with open(file) as f:
                    process = int(f.read())
                os.remove(file)
                os.kill(process, 2)
    if way == "shape":
        y.shape = (len(y.elements),)
    elif way == "dtype":
        y = Values(y.shape, y.elements, "d")
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
        x = load(sys.argv[2])
        axis = int(sys.argv[4]) if len(sys.argv) > 4 else -1
        if way == "ranks" and len(x.shape) > 2:
            print("not supported: more than 2 dimensions")
            return
        y = softmax(way, x, axis)
        spoil(way, sys.argv[2])
        if way != "nofile":
            save(sys.argv[3], y)
        return
    import json
    before = {}
    for name in sorted(os.listdir(sys.argv[2])):
        folder = os.path.join(sys.argv[2], name)
        with open(os.path.join(folder, "case.json")) as f:
            case = json.load(f)
        assert case["operator"] == "softmax"
        x = load(os.path.join(folder, case["inputs"]["x"]["file"]))
        assert list(x.shape) == case["inputs"]["x"]["shape"] == case["output"]["shape"]
        if way == "ranks" and len(x.shape) > 2:
            print(f"{name}: not supported: more than 2 dimensions")
            continue
        y = softmax(way, x, case["attributes"]["axis"])
        if way == "stale":
            y = before.setdefault(x.shape, y)
        spoil(way, os.path.join(folder, case["inputs"]["x"]["file"]))
        save(os.path.join(folder, case["output"]["file"]), y)


main()
