#!/usr/bin/env python3
"""Writes files for array_file_test.cc: files that others accept, and files that are refused because
of their kind.

    array_refusals.py npy DIR    .npy files in every spelling of a dtype, judged by numpy.load itself
    array_refusals.py onnx DIR   the other messages of onnx.proto, by its published field numbers
"""
import itertools
import string
import struct
import sys
import warnings

import numpy as np

from array_files import Maker, blob, field, onnx, varint

WORDS = sorted({name for name in np.sctypeDict if isinstance(name, str) and name.isprintable()} | {
    "half", "single", "double", "float", "int", "bool", "complex", "long", "object", "str", "bytes", "uint", "void",
    "longdouble", "short", "ushort", "byte", "ubyte", "intc", "uintc", "intp", "uintp", "longlong", "ulonglong",
    "bfloat16", "float8_e5m2", "tfloat32", "", "<", "f4,f4", "(2,)f4", "2f4", "datetime64[ns]", "M8[ns]", "m8[s]"})
CODES = sorted(set(string.ascii_letters + "?") | {
    f"{kind}{width}" for kind in string.ascii_letters for width in (0, 1, 2, 3, 4, 8, 10, 16, 32, 64)})
NAMES = {"b1": "bool", "i1": "int8", "i2": "int16", "i4": "int32", "i8": "int64", "u1": "uint8", "u2": "uint16",
         "u4": "uint32", "u8": "uint64", "f2": "float16", "f4": "float32", "f8": "float64", "c8": "complex64", "c16": "complex128"}


def npy(header, data, version=1):
    text = header.encode()
    length = struct.pack("<H" if version == 1 else "<I", len(text) + 1)
    return b"\x93NUMPY" + bytes([version, 0]) + length + text + b"\n" + data


def header(descr="'<f4'", order="False", shape="(3,)"):
    return f"{{'descr': {descr}, 'fortran_order': {order}, 'shape': {shape}, }}"


def loaded(path):
    try:
        return np.load(path, allow_pickle=False)
    except Exception:  # numpy refuses the file, by any kind of error
        return None


def make_npy(m):
    data = bytes(range(1, 97))
    taken = refused = 0

    def add(text, elements, version=1):
        nonlocal taken, refused
        name = f"{taken + refused}.npy"
        m.bytes(name, npy(text, elements, version))
        array = loaded(m.path(name))
        code = None if array is None else array.dtype.str[1:]
        if code in NAMES:
            # NumPy's uint16 may hold bits of another dtype, so that the user must give the dtype.
            m.good(name, NAMES[code], array, "uint16" if code == "u2" else "")
            taken += 1
        else:
            m.bad(name, None)
            refused += 1

    for order, code in itertools.chain(itertools.product(("", "<", ">", "|", "=", "!", "@"), CODES),
                                       itertools.product(("", "<", ">"), WORDS)):
        try:
            size = 3 * np.dtype(order + code).itemsize
        except Exception:
            size = 96
        if size <= len(data):
            is_bool = code in ("?", "b1") or code.startswith("bool")
            add(header(repr(order + code)), b"\1\0\1" if is_bool else data[:size])
    for version in (1, 2, 3):
        for text in (header(), header(shape="(3L,)"), header(shape="(1L, 3L)"), header(shape="( 3 , )"),
                     header(shape="(3,1,)"), header(order="True", shape="(1, 3)"),
                     "{'shape': (3,), 'fortran_order': False, 'descr': '<f4'}", "  " + header(), header() + "   ",
                     header("\"<f4\""), header("[('a', '<f4')]")):
            add(text, data[:12], version)
    for shape in ("()", "(1L)", "3", "(3.0,)", "('3',)", "(3LL,)", "(L3,)", "(3L1,)"):
        add(header(shape=shape), data[:4 if shape == "()" else 12])
    assert taken > 300 and refused > 100


def make_onnx(m):
    floats = onnx((2,), 1, blob(9, bytes(8)))
    nameless = field(1, 0, varint(2)) + field(2, 0, varint(1)) + blob(4, bytes(8))
    way_out = (", but assay reads only a TensorProto; save each tensor in a file of its own, as onnx.save_tensor "
               "does")
    sequence_of = "is an ONNX SequenceProto" + way_out
    either = "is an ONNX SequenceProto or OptionalProto" + way_out
    empty = "is an empty ONNX SequenceProto or OptionalProto, or a TensorProto without elements"
    name, kind = blob(1, b"states"), lambda elem_type: field(2, 0, varint(elem_type))
    one = name + kind(1) + blob(3, floats)
    sparse = blob(1, floats) + blob(2, onnx((2,), 7, blob(7, b"\0\1"))) + field(3, 0, varint(9))
    long_name = blob(1, b"a name that would be a tensor of very many extents, beyond those of any tensor at all")
    for at, (data, message) in enumerate((
            (one, either), (one + blob(3, floats), sequence_of), (kind(1) + blob(3, nameless), either),
            (name + kind(1) + blob(3, floats) * 3, sequence_of), (long_name + kind(1) + blob(3, floats), either),
            (blob(1, b"abcdefghijklmnop") + kind(1) + blob(3, floats), either),
            (name + kind(2) + blob(4, sparse), either), (name + kind(3) + blob(5, one), either),
            (name + kind(3) + blob(5, one) * 2, sequence_of), (name + kind(5) + blob(7, one), either),
            (name + kind(4) + blob(6, name + kind(7) + field(3, 0, varint(1)) + blob(5, one)), either),
            (name + kind(1), empty), (blob(1, b"a") + kind(1), empty), (kind(1), empty), (long_name + kind(7), empty),
            (name + kind(7) + field(3, 0, varint(1)) + field(3, 0, varint(2)) + blob(5, one),
             "is an ONNX MapProto" + way_out),
            (name + kind(7) + blob(3, varint(1) + varint(2)) + blob(5, one), "is an ONNX MapProto" + way_out),
            (name + kind(8) + blob(4, b"key") + blob(5, one), "is an ONNX MapProto" + way_out),
            (sparse, "is an ONNX SparseTensorProto" + way_out),
            (field(1, 0, varint(8)) + blob(2, b"producer"), "is an ONNX ModelProto" + way_out),
            (field(1, 0, varint(8)) + blob(7, blob(2, b"graph") + bytes([0x80, 1, 0])) + blob(8, b""),
             "is an ONNX ModelProto" + way_out),
            (field(1, 0, varint(8)) + blob(8, blob(1, b"") + field(2, 0, varint(17))),
             "is an ONNX ModelProto" + way_out),
            (blob(1, floats) + blob(2, b"a node"), None), (b"a text, and no message at all", None),
            (onnx((2,), 1, field(3, 2, varint(4) + field(1, 0, varint(0)) + field(2, 0, varint(2)))),
             "holds a segment of a tensor; save the whole tensor in one file"),
            (onnx((1,), 8, blob(6, b"text")), "holds text, which assay does not compare; save a tensor of numbers"),
            (onnx((1,), 8, blob(9, b"text")),
             "holds elements of TensorProto.DataType 8 (STRING), which assay does not read; save them as a dtype of "
             "docs/formats.md"))):
        m.bytes(f"{at}.pb", data)
        m.bad(f"{at}.pb", message and f"{at}.pb: {message}")
    for at, data in enumerate((nameless, floats, onnx((3,), 1, blob(4, bytes(12)), packed=True),
                               onnx((0,), 1, b""), onnx((2, 0), 1, b"", packed=True))):
        m.bytes(f"good_{at}.pb", data)
        shape = ((2,), (2,), (3,), (0,), (2, 0))[at]
        m.good(f"good_{at}.pb", "float32", np.zeros(shape, "f4"))


def main():
    warnings.simplefilter("ignore")
    command, folder = sys.argv[1:]
    maker = Maker(folder)
    {"npy": make_npy, "onnx": make_onnx}[command](maker)
    maker.close()


if __name__ == "__main__":
    main()
