#!/usr/bin/env python3
"""Writes files of arrays for array_file_test.cc, and reads the files that this test writes.

    array_files.py make DIR    writes files and DIR/manifest.json: what each array is, or why it is refused
    array_files.py torch DIR   the same by PyTorch itself. Exits with 77 if there is no PyTorch
    array_files.py check DIR   reads the files in the list DIR/written.json with independent readers

Python's own pickle makes the files of PyTorch's layout, with stand-ins for PyTorch's classes.
"""
import collections
import io
import json
import pathlib
import pickle
import struct
import sys
import types
import zipfile

import numpy as np

rng = np.random.default_rng(17)
TOO_LARGE = ("shape [4611686018427387904, 4611686018427387904] is not valid; extents must be at least 0 and "
             "their product below 2^63")


def module(name, **members):
    made = types.ModuleType(name)
    for key, value in members.items():
        value.__module__, value.__qualname__, value.__name__ = name, key, key
        setattr(made, key, value)
    sys.modules[name] = made
    return made


class Storage:
    def __init__(self, kind, key, count, data):
        self.kind, self.key, self.count, self.data = kind, key, count, data


class Call:
    """A call of one of PyTorch's functions in a pickle. It is made without PyTorch."""

    def __init__(self, function, *arguments):
        self.made = function, arguments

    def __reduce__(self):
        return self.made


def stand_ins():
    storages = {k: type(k, (), {}) for k in (
        "FloatStorage", "DoubleStorage", "HalfStorage", "BFloat16Storage", "CharStorage", "ByteStorage",
        "ShortStorage", "IntStorage", "LongStorage", "BoolStorage", "ComplexFloatStorage",
        "ComplexDoubleStorage")}
    dtypes = {k: type(k, (), {}) for k in (
        "float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz", "float8_e5m2fnuz", "float8_e8m0fnu", "uint16", "uint32",
        "uint64", "complex32")}
    torch = module("torch", **storages, **dtypes, Tensor=type("Tensor", (), {}))
    utils = module("torch._utils", **{k: (lambda *a: None) for k in (
        "_rebuild_tensor", "_rebuild_tensor_v2", "_rebuild_tensor_v3", "_rebuild_parameter",
        "_rebuild_parameter_with_state", "_rebuild_sparse_tensor")})
    storage = module("torch.storage", UntypedStorage=type("UntypedStorage", (), {}))
    tensor = module("torch._tensor", _rebuild_from_type_v2=lambda *a: None)
    return torch, utils, storage, tensor


class Pickler(pickle.Pickler):
    def persistent_id(self, value):
        if isinstance(value, Storage):
            return ("storage", value.kind, value.key, "cpu", value.count)
        return None


def torch_archive(path, root, protocol=2, byteorder=None, storages=None, prefix="archive/", raw=None,
                  compression=zipfile.ZIP_STORED):
    stored = {}
    if raw is None:
        out = io.BytesIO()
        pickler = Pickler(out, protocol)
        pickler.dump(root)
        raw = out.getvalue()

    def walk(value):
        if isinstance(value, Storage):
            stored[value.key] = value.data
        elif isinstance(value, Call):
            walk(value.made[1])
        elif isinstance(value, dict):
            walk(list(value.values()))
        elif isinstance(value, (list, tuple)):
            for one in value:
                walk(one)
    walk(root)
    with zipfile.ZipFile(path, "w", compression) as z:
        z.writestr(prefix + "data.pkl", raw)
        if byteorder is not None:
            z.writestr(prefix + "byteorder", byteorder)
        for key, data in (stored if storages is None else storages).items():
            z.writestr(f"{prefix}data/{key}", data)
        z.writestr(prefix + "version", "3\n")


def safetensors(header, data, length=None):
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack("<Q", len(text) if length is None else length) + text + data


def varint(value):
    value &= (1 << 64) - 1
    out = b""
    while True:
        out += bytes([value & 127 | (128 if value > 127 else 0)])
        value >>= 7
        if value == 0:
            return out


def field(number, wire, payload):
    return varint(number << 3 | wire) + payload


def blob(number, data):
    return field(number, 2, varint(len(data)) + data)


def onnx(dims, dtype, body, packed=False):
    shape = blob(1, b"".join(map(varint, dims))) if packed else b"".join(field(1, 0, varint(d)) for d in dims)
    return shape + field(2, 0, varint(dtype)) + blob(8, b"name") + body


class Maker:
    def __init__(self, folder):
        self.folder, self.manifest = pathlib.Path(folder), []

    def path(self, name):
        return self.folder / name

    def bytes(self, name, data):
        self.path(name).write_bytes(data)
        return name

    def good(self, path, dtype, array, said="", shape=None):
        array = np.asarray(array, order="C")
        self.manifest.append({"path": path, "dtype": dtype, "said": said,
                              "shape": list(array.shape if shape is None else shape),
                              "bytes": array.astype(array.dtype.newbyteorder("<")).tobytes().hex()})

    def bad(self, path, message, said=""):
        self.manifest.append({"path": path, "error": message, "said": said})

    def close(self):
        self.path("manifest.json").write_text(json.dumps(self.manifest))


def make_npy(m):
    x = rng.standard_normal((4, 6)).astype("f4")
    np.save(m.path("x.npy"), x)
    m.good("x.npy", "float32", x)
    np.save(m.path("f.npy"), np.asfortranarray(x))
    m.good("f.npy", "float32", x)
    bits = rng.integers(0, 0x7F00, (3, 5)).astype("u2")
    np.save(m.path("v.npy"), bits.view("V2"))
    m.good("v.npy", "bfloat16", bits, "bfloat16")
    np.save(m.path("golden_0_bfloat16.npy"), bits.view("V2"))
    m.good("golden_0_bfloat16.npy", "bfloat16", bits)
    m.bad("v.npy", "v.npy: holds 2-byte patterns; give their dtype with --dtype (float16, bfloat16, "
          "float_e5m6, int16, uint16)")
    np.save(m.path("u2.npy"), bits)
    m.good("u2.npy", "uint16", bits, "uint16")
    m.good("u2.npy", "float16", bits, "float16")
    m.bad("u2.npy", "u2.npy: holds 2-byte patterns; give their dtype with --dtype (float16, bfloat16, "
          "float_e5m6, int16, uint16)")
    m.bad("u2.npy", "u2.npy: holds 2-byte patterns, which cannot be float32; choose one of float16, bfloat16, "
                    "float_e5m6, "
          "int16, uint16", "fp32")
    np.save(m.path("u8.npy"), np.array([1 << 63, 1], "u8"))
    m.good("u8.npy", "uint64", np.array([1 << 63, 1], "u8"))
    np.save(m.path("small.npy"), np.array([-8, 7, -1], "i1"))
    m.good("small.npy", "int4", np.array([8, 7, 15], "u1"), "int4")
    m.good("small.npy", "int8", np.array([-8, 7, -1], "i1"))
    codes = rng.integers(0, 0x70, (2, 3)).astype("u1")
    m.bytes("f1.npy", npy_header("<f1", "(2, 3)") + codes.tobytes())
    m.good("f1.npy", "float8_e5m2", codes, "float8_e5m2")
    np.savez(m.path("two.npz"), x=x, y_float16=bits.astype("f2"))
    m.good("two.npz:/x", "float32", x)
    m.good("two.npz:/y_float16.npy", "float16", bits.astype("f2"))
    m.bad("two.npz:/z", "two.npz: z: does not exist; the file holds x, y_float16")
    m.bad("two.npz", "two.npz: holds 2 arrays (x, y_float16): name one, as in two.npz:/x")
    turned = (x - 2j * x[::-1]).astype("c8")
    for name, array in (("c8.npy", turned), ("c16be.npy", turned.astype(">c16")),
                        ("cf.npy", np.asfortranarray(turned)), ("c0.npy", turned[0, 0])):
        np.save(m.path(name), array)
        m.good(name, array.dtype.name, array)
    m.good("c8.npy", "complex64", turned, "complex64")
    np.savez(m.path("c.npz"), c=turned)
    m.good("c.npz:/c", "complex64", turned)
    # NumPy has no complex32, so its files have the real and the imaginary part as two float16 elements.
    halves = rng.standard_normal((3, 4, 2)).astype("f2")
    for name, array in (("golden_0_complex32.npy", halves), ("long_complex32.npy", halves.reshape(3, 8)),
                        ("said.npy", halves.reshape(3, 8))):
        np.save(m.path(name), array)
        m.good(name, "complex32", halves, "complex32" if name == "said.npy" else "", (3, 4))
    m.good("said.npy", "float16", halves.reshape(3, 8))
    m.good("said.npy", "float16", halves.reshape(3, 8), "complex64")
    np.save(m.path("odd_complex32.npy"), halves[0, :3, 0])
    m.good("odd_complex32.npy", "float16", halves[0, :3, 0])
    m.bad("odd_complex32.npy", "odd_complex32.npy: holds float16 of shape [3], which are no pairs of complex32: the "
          "last extent must be even", "complex32")
    np.save(m.path("columns.npy"), np.asfortranarray(halves[0]))
    m.bad("columns.npy", "columns.npy: holds float16 of shape [4, 2], which are no pairs of complex32: the parts of "
          "an element must lie one after the other", "complex32")
    np.save(m.path("c32.npy"), np.zeros(2, "G"))
    m.bad("c32.npy", f"c32.npy: holds elements of type '{np.dtype('G').str}': floats for which assay has no "
                     "dtype; save others, as in x.astype('float64') or x.astype('complex128')")
    m.bytes("deep.npy", npy_header("<f4", "(" + "1, " * 70 + ")") + bytes(4))
    m.bad("deep.npy", "deep.npy: its .npy header has more than 64 extents")
    m.bytes("huge.npy", npy_header("<f4", "(4611686018427387904, 4611686018427387904)") + bytes(4))
    m.bad("huge.npy", "huge.npy: " + TOO_LARGE)


def npy_header(descr, shape):
    text = f"{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}".encode()
    text += b" " * (-(10 + len(text) + 1) % 64) + b"\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text


def make_torch(m):
    torch, utils, storage, tensor = stand_ins()
    hooks = collections.OrderedDict()
    x = rng.standard_normal((4, 6)).astype("f4")
    base = Storage(torch.FloatStorage, "0", 24, x.tobytes())

    def v2(of, offset, size, stride, *more):
        return Call(utils._rebuild_tensor_v2, of, offset, size, stride, False, hooks, *more)
    whole = v2(base, 0, (4, 6), (6, 1))
    for protocol in (2, 3, 4, 5):
        torch_archive(m.path(f"one{protocol}.pt"), whole, protocol)
        m.good(f"one{protocol}.pt", "float32", x)
    torch_archive(m.path("noprefix.pth"), whole, prefix="", compression=zipfile.ZIP_DEFLATED)
    m.good("noprefix.pth", "float32", x)
    torch_archive(m.path("big.pt"), v2(Storage(torch.FloatStorage, "0", 24, x.astype(">f4").tobytes()), 0,
                                       (4, 6), (6, 1)), byteorder="big")
    m.good("big.pt", "float32", x)
    torch_archive(m.path("little.pt"), whole, byteorder="little")
    m.good("little.pt", "float32", x)
    torch_archive(m.path("middle.pt"), whole, byteorder="middle")
    m.bad("middle.pt", "middle.pt: archive/byteorder: is 'middle', neither little nor big")
    cube = rng.standard_normal((3, 4, 5))
    shared = Storage(torch.DoubleStorage, "7", 60, cube.tobytes())
    half = rng.standard_normal(5).astype("f2")
    state = collections.OrderedDict([("w", Call(utils._rebuild_parameter, whole, True, hooks))])
    state._metadata = {"version": 1}
    nested = {
        "model": state,
        "list": [whole, (v2(base, 7, (3, 2), (6, 3)), 3, None, "text", 1.5)],
        "views": {0: v2(shared, 0, (5, 4, 3), (1, 5, 20)), 1: v2(shared, 20, (4, 3), (5, 2)),
                  -1: v2(shared, 3, (2, 1, 7), (0, 99, 1)), 3: v2(shared, 59, (), ())},
        "old": Call(utils._rebuild_tensor, base, 6, (6,), (1,)),
        "type": Call(tensor._rebuild_from_type_v2, utils._rebuild_tensor_v2, torch.Tensor,
                     (base, 0, (24,), (1,), False, hooks), {"note": 1}),
        "state": Call(utils._rebuild_parameter_with_state, whole, True, hooks, {"a": 1}),
        "half": v2(Storage(torch.HalfStorage, "h", 5, half.tobytes()), 0, (5,), (1,), {"conj": False}),
        "none": v2(Storage(torch.FloatStorage, "n", 0, b""), 0, (0, 3), (3, 1)),
        "big": 1 << 100, "bytes": b"12345", "dtype": torch.float8_e5m2,
    }
    torch_archive(m.path("nested.pt"), nested)
    flat = cube.ravel()
    for name, dtype, array in (
            ("model/w", "float32", x), ("list/0", "float32", x),
            ("list/1/0", "float32", x.ravel()[7:].copy()[[0, 3, 6, 9, 12, 15]].reshape(3, 2)),
            ("views/0", "float64", cube.transpose(2, 1, 0)), ("views/3", "float64", flat[59]),
            ("views/1", "float64", np.array([[flat[20 + 5 * i + 2 * j] for j in range(3)] for i in range(4)])),
            ("views/-1", "float64", np.array([[flat[3:10]], [flat[3:10]]])),
            ("old", "float32", x[1]), ("type", "float32", x.ravel()), ("state", "float32", x),
            ("half", "float16", half), ("none", "float32", np.zeros((0, 3), "f4"))):
        m.good("nested.pt:/" + name, dtype, array)
    kinds = {"BFloat16Storage": ("bfloat16", "u2"), "CharStorage": ("int8", "i1"), "ByteStorage": ("uint8", "u1"),
             "ShortStorage": ("int16", "i2"), "IntStorage": ("int32", "i4"), "LongStorage": ("int64", "i8"),
             "BoolStorage": ("bool", "u1")}
    tensors = {}
    for kind, (dtype, code) in kinds.items():
        values = (np.arange(6) % 2 if dtype == "bool" else rng.integers(0, 100, 6)).astype(code).reshape(2, 3)
        tensors[dtype] = v2(Storage(getattr(torch, kind), kind, 6, values.tobytes()), 0, (2, 3), (3, 1))
        m.good("kinds.pt:/" + dtype, dtype, values)
    for dtype in ("float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz", "float8_e5m2fnuz", "float8_e8m0fnu"):
        values = rng.integers(0, 0x70, (2, 3)).astype("u1")
        tensors[dtype] = Call(utils._rebuild_tensor_v3, Storage(storage.UntypedStorage, dtype, 6, values.tobytes()),
                              0, (2, 3), (3, 1), False, hooks, getattr(torch, dtype))
        m.good("kinds.pt:/" + dtype, dtype, values)
    for dtype in ("uint16", "uint32", "uint64"):
        values = rng.integers(0, 60000, (2, 3)).astype(dtype)
        tensors[dtype] = Call(utils._rebuild_tensor_v3,
                              Storage(storage.UntypedStorage, dtype, values.nbytes, values.tobytes()),
                              0, (2, 3), (3, 1), False, hooks, getattr(torch, dtype))
        m.good("kinds.pt:/" + dtype, dtype, values)
    for kind, dtype, code in (("ComplexFloatStorage", "complex64", "c8"), ("ComplexDoubleStorage", "complex128", "c16")):
        values = (rng.standard_normal((2, 3)) * (1 - 2j)).astype(code)
        tensors[dtype] = v2(Storage(getattr(torch, kind), dtype, 6, values.T.tobytes()), 0, (2, 3), (1, 2))
        m.good("kinds.pt:/" + dtype, dtype, values)
    values = rng.standard_normal((2, 3, 2)).astype("f2")
    tensors["complex32"] = Call(utils._rebuild_tensor_v3, Storage(storage.UntypedStorage, "c", 24, values.tobytes()),
                                0, (2, 3), (3, 1), False, hooks, torch.complex32)
    m.good("kinds.pt:/complex32", "complex32", values, shape=(2, 3))
    torch_archive(m.path("kinds.pt"), tensors)
    # Older PyTorch writes no complex32, so the real and the imaginary part are two float16 elements. Here the tensor is
    # every second row of its storage.
    rows = rng.standard_normal((4, 3, 2)).astype("f2")
    torch_archive(m.path("halves.pt"), v2(Storage(torch.HalfStorage, "0", 24, rows.tobytes()), 0, (2, 3, 2), (12, 2, 1)))
    m.good("halves.pt", "complex32", rows[::2], "complex32", (2, 3))
    m.good("halves.pt", "float16", rows[::2])
    torch_archive(m.path("apart.pt"), v2(Storage(torch.HalfStorage, "0", 24, rows.tobytes()), 0, (4, 2), (1, 4)))
    m.bad("apart.pt", "apart.pt: holds float16 of shape [4, 2], which are no pairs of complex32: the parts of an "
          "element must lie one after the other", "complex32")

    patterns = rng.integers(0, 0x70, (2, 3)).astype("u1")
    for name, said in (("patterns.pt", "hifloat8"), ("golden_0_hifloat8.pt", "")):
        torch_archive(m.path(name), v2(Storage(torch.ByteStorage, "0", 6, patterns.tobytes()), 0, (2, 3), (3, 1)))
        m.good(name, "hifloat8", patterns, said)
    m.good("patterns.pt", "uint8", patterns)
    m.good("patterns.pt", "uint8", patterns, "float32")

    def bad(name, message, root=whole, **how):
        torch_archive(m.path(name), root, **how)
        m.bad(name, name + ": " + message)
    bad("conj.pt", "is negated or conjugated lazily; save x.resolve_neg() or x.resolve_conj()",
        v2(Storage(torch.ComplexFloatStorage, "0", 3, bytes(24)), 0, (3,), (1,), {"conj": True}))
    bad("neg.pt", "is negated or conjugated lazily; save x.resolve_neg() or x.resolve_conj()",
        v2(base, 0, (4,), (1,), {"neg": True}))
    bad("sparse.pt", "its pickle names torch._utils._rebuild_sparse_tensor, which is no part of a tensor; it is "
        "not executed, and the file is not read", Call(utils._rebuild_sparse_tensor, 1))
    bad("beyond.pt", "reaches beyond its storage 0, which has 96 bytes", v2(base, 1, (4, 6), (6, 1)))
    bad("overflow.pt", "reaches beyond its storage 0, which has 96 bytes",
        v2(base, 0, (4, 6), (1 << 62, 1 << 62)))
    bad("elements.pt", TOO_LARGE,
        v2(base, 0, (1 << 62, 1 << 62), (0, 0)))
    bad("negative.pt", "its pickle is damaged: a size or stride is no whole number of at least 0",
        v2(base, 23, (24,), (-1,)))
    bad("expand.pt", "repeats the 96 bytes of its storage to 4000000000, which is more than assay reads; save a "
                     "copy of the tensor, as x.contiguous() makes",
        v2(base, 0, (1000, 1000000), (0, 0)))
    bad("rank.pt", "its pickle is damaged: size and stride differ in length", v2(base, 0, (4, 6), (1,)))
    bad("missing.pt", "its storage 0 is not in the archive", storages={})
    bad("short.pt", "its storage 0 has 95 bytes where the pickle says 96: the file is truncated or corrupt",
        storages={"0": bytes(95)})
    bad("storage.pt", "its pickle is damaged: its storage has too many elements",
        v2(Storage(torch.FloatStorage, "0", 1 << 62, b""), 0, (4,), (1,)))
    bad("keys.pt", "a dict has a key that is neither text nor a number; save it with other keys", {(1, 2): whole})
    bad("nothing.pt", "holds no arrays", {"a": 1})
    loop = []
    loop.append(loop)
    bad("loop.pt", "its pickle nests lists and dicts more than 64 deep", raw=pickle.dumps(loop, 2))
    bomb = [1]
    for _ in range(40):
        bomb = [bomb, bomb]
    bad("laughs.pt", "its pickle has more than 1000000 values, counting those that are repeated", raw=pickle.dumps(bomb, 2))
    raws = {
        "system": (b"\x80\x02cos\nsystem\nX\x04\0\0\0true\x85R.",
                   "its pickle names os.system, which is no part of a tensor; it is not executed, and the file is "
                   "not read"),
        "eval": (b"\x80\x04\x8c\x08builtins\x8c\x04eval\x93\x8c\x011\x85R.",
                 "its pickle names builtins.eval, which is no part of a tensor; it is not executed, and the file is "
                 "not read"),
        "inst": (b"\x80\x02(ios\nsystem\n.", "its pickle has the opcode 0x69 at byte 3, which tensors do not need; "
                 "it is not executed"),
        "newobj": (b"\x80\x02ctorch\nTensor\n)\x81.", "its pickle has the opcode 0x81 at byte 17, which tensors do "
                   "not need; it is not executed"),
        "state": (b"\x80\x02]}b.", "its pickle is damaged: it sets the state of what has none"),
        "call": (b"\x80\x02])R.", "its pickle is damaged: it calls what is no function"),
        "end": (b"\x80\x02X\xff\xff\xff\xffab", "its pickle is damaged: it ends too early"),
        "empty": (b"", "its pickle is damaged: it ends too early"),
        "stack": (b"\x80\x02.", "its pickle is damaged: its stack is empty"),
        "mark": (b"\x80\x02t.", "its pickle is damaged: it has no mark"),
        "memo": (b"\x80\x02h\x07.", "its pickle is damaged: it takes what it has not put"),
        "add": (b"\x80\x02NNa.", "its pickle is damaged: it adds to what is no list or dict"),
        "protocol": (b"\x80\x09N.", "its pickle has protocol 9, but assay reads only protocols 2 to 5; save the "
                                    "tensor with one of these"),
        "persistent": (b"\x80\x02NQ.", "holds no arrays"),
        "many": (b"\x80\x02(" + b"N" * 2100000 + b"t.", "its pickle makes more than 2097152 values, the most "
                                                        "that assay reads"),
    }
    for name, (raw, message) in raws.items():
        bad(f"p_{name}.pt", message, raw=raw, compression=zipfile.ZIP_DEFLATED)
    with zipfile.ZipFile(m.path("bomb.pt"), "w", zipfile.ZIP_DEFLATED, compresslevel=1) as z:
        with z.open("a/data.pkl", "w") as member:
            for _ in range(65):
                member.write(bytes(1 << 20))
    m.bad("bomb.pt", "bomb.pt: a/data.pkl: has 68157440 bytes, but assay reads at most 67108864 bytes of it")
    with zipfile.ZipFile(m.path("other.pt"), "w") as z:
        z.writestr("a.txt", "text")
    m.bad("other.pt", "other.pt: is no file of torch.save: its archive has no data.pkl")
    m.bytes("legacy.pt", b"\x80\x02\x8a\x0al\xfc\x9cF\xf9 j\xa8P\x19.")
    m.bad("legacy.pt", "legacy.pt: is not in the zip format of torch.save: it is truncated, or of PyTorch before "
          "1.6; load it there, and save it again by a newer one")
    m.bytes("cut.pt", m.path("nested.pt").read_bytes()[:-40])
    m.bad("cut.pt:/half", "cut.pt: is no zip archive, or is truncated")


def make_safetensors(m):
    x = rng.standard_normal((2, 3)).astype("f4")
    codes = rng.integers(0, 0x70, 5).astype("u1")
    bits = rng.integers(0, 0x7F00, (2, 2)).astype("u2")
    four = rng.integers(0, 16, (3, 4)).astype("u1")
    packed = (four.ravel()[0::2] | four.ravel()[1::2] << 4).astype("u1")
    parts = [("x", "F32", x, x.tobytes(), "float32"), ("layer.0/b", "BF16", bits, bits.tobytes(), "bfloat16"),
             ("e4", "F8_E4M3", codes, codes.tobytes(), "float8_e4m3fn"),
             ("e5", "F8_E5M2", codes, codes.tobytes(), "float8_e5m2"),
             ("e8", "F8_E8M0", codes, codes.tobytes(), "float8_e8m0fnu"),
             ("f4", "F4", four, packed.tobytes(), "float4_e2m1fn"),
             ("u4", "U32", np.array([7, 1 << 31], "u4"), struct.pack("<II", 7, 1 << 31), "uint32"),
             ("i", "I64", np.int64(-3), struct.pack("<q", -3), "int64"),
             ("no", "BOOL", np.zeros((0, 4), "u1"), b"", "bool"),
             ("c", "C64", np.array([1 - 2j, 3j], "c8"), np.array([1 - 2j, 3j], "c8").tobytes(), "complex64"),
             ("yes", "BOOL", np.array([1, 0], "u1"), b"\1\0", "bool")]
    header, data = {"__metadata__": {"format": "pt"}}, b""
    for name, code, array, raw, _ in parts:
        header[name] = {"dtype": code, "shape": list(array.shape), "data_offsets": [len(data), len(data) + len(raw)]}
        data += raw
    m.bytes("all.safetensors", safetensors(header, data))
    for name, _, array, _, dtype in parts:
        m.good("all.safetensors:/" + name, dtype, array)
    one = {"x": {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}}
    m.bytes("one.safetensors", safetensors(json.dumps(one).encode() + b"     ", bytes(8)))
    m.good("one.safetensors", "float32", np.zeros(2, "f4"))

    def bad(name, message, header, data=bytes(8), length=None):
        m.bytes(name + ".safetensors", safetensors(header, data, length))
        m.bad(name + ".safetensors", f"{name}.safetensors: {message}")

    def entry(**changes):
        return {"x": {**one["x"], **changes}}
    bad("over", "is truncated in its header, or no safetensors file: the header would have 18446744073709551615 "
        "bytes, the file has 77", one, length=(1 << 64) - 1)
    bad("cut", "x: is truncated: its bytes end at 8, the file's at 7", one, bytes(7))
    bad("behind", "has 1 bytes behind its arrays", one, bytes(9))
    bad("size", "x: has 8 bytes; F32 of shape [3] needs 12", entry(shape=[3]))
    bad("overflow", TOO_LARGE,
        entry(shape=[1 << 62, 1 << 62]))
    bad("extent", "x: 'shape' must be a list of whole numbers of at least 0", entry(shape=[1 << 63]))
    bad("negative", "x: 'shape' must be a list of whole numbers of at least 0", entry(shape=[-2]))
    bad("real", "x: 'data_offsets' must be a list of whole numbers of at least 0", entry(data_offsets=[0.0, 8]))
    bad("order", "x: 'data_offsets' must be where its bytes begin and end", entry(data_offsets=[8, 0]))
    bad("gap", "x: its bytes begin at 4, but those of the array before end at 0",
        entry(shape=[1], data_offsets=[4, 8]))
    bad("overlap", "y: its bytes begin at 4, but those of the array before end at 8",
        {**one, "y": {"dtype": "F32", "shape": [1], "data_offsets": [4, 8]}})
    bad("dtype", "x: holds elements of C128, which assay does not read; save them as a dtype of "
        "docs/formats.md", entry(dtype="C128", shape=[1]))
    bad("twice", "x: stands twice in its JSON", json.dumps(one).encode()[:-1] + b', "x": {}}')
    bad("list", "its JSON is no object {...}", b"[]", b"")
    bad("deep", "its JSON is nested too deeply", b'{"x": ' + b"[" * 100000 + b"]" * 100000 + b"}", b"")
    bad("nodtype", "x: 'dtype' must be a string", {"x": {"shape": [], "data_offsets": [0, 0]}}, b"")
    bad("control", "a\\x1b[2J: an array's name must be UTF-8 without control characters", {"a\x1b[2J": one["x"]})
    bad("none", "holds no arrays", {}, b"")
    m.bytes("short.safetensors", b"1234")
    m.bad("short.safetensors", "short.safetensors: is truncated in its header")


def make_onnx(m):
    x = rng.standard_normal((2, 3)).astype("f4")
    m.bytes("raw.pb", onnx((2, 3), 1, blob(9, x.tobytes())))
    m.good("raw.pb", "float32", x)
    m.bytes("floats.pb", onnx((2, 3), 1, blob(4, x.tobytes()), packed=True))
    m.good("floats.pb", "float32", x)
    m.bytes("each.pb", onnx((2,), 1, b"".join(field(4, 5, v.tobytes()) for v in x[0, :2])))
    m.good("each.pb", "float32", x[0, :2])
    m.bytes("doubles.pb", onnx((3,), 11, blob(10, x[0].astype("f8").tobytes())))
    m.good("doubles.pb", "float64", x[0].astype("f8"))
    m.bytes("int64.pb", onnx((3,), 7, blob(7, b"".join(map(varint, (-1, 1 << 40, 5))))))
    m.good("int64.pb", "int64", np.array([-1, 1 << 40, 5]))
    for code, dtype, kind in ((6, "int32", "i4"), (5, "int16", "i2"), (3, "int8", "i1"), (2, "uint8", "u1"),
                              (9, "bool", "u1"), (10, "float16", "u2"), (16, "bfloat16", "u2"),
                              (17, "float8_e4m3fn", "u1"), (18, "float8_e4m3fnuz", "u1"),
                              (19, "float8_e5m2", "u1"), (20, "float8_e5m2fnuz", "u1"),
                              (24, "float8_e8m0fnu", "u1")):
        values = np.array([1, 0, 1] if dtype == "bool" else [100, -3 if kind[0] == "i" else 3, 7]).astype(kind)
        m.bytes(f"{dtype}.pb", onnx((3,), code, blob(5, b"".join(varint(int(v)) for v in values))))
        m.good(f"{dtype}.pb", dtype, values)
        m.bytes(f"raw_{dtype}.pb", onnx((3,), code, blob(9, values.tobytes())))
        m.good(f"raw_{dtype}.pb", dtype, values)
    for code, dtype in ((12, "uint32"), (13, "uint64")):
        values = np.array([1 << 31, 3], dtype)
        m.bytes(f"{dtype}.pb", onnx((2,), code, blob(11, b"".join(varint(int(v)) for v in values))))
        m.good(f"{dtype}.pb", dtype, values)
    for code, dtype, number, width in ((14, "complex64", 4, "f4"), (15, "complex128", 10, "f8")):
        values = np.array([1 - 2j, -0.0, 3.5j]).astype(dtype)
        m.bytes(f"{dtype}.pb", onnx((3,), code, blob(number, values.tobytes())))
        m.good(f"{dtype}.pb", dtype, values)
        m.bytes(f"raw_{dtype}.pb", onnx((3,), code, blob(9, values.tobytes())))
        m.good(f"raw_{dtype}.pb", dtype, values)
        m.bytes(f"short_{dtype}.pb", onnx((3,), code, blob(number, values.tobytes()[:-values.itemsize // 2])))
        m.bad(f"short_{dtype}.pb", f"short_{dtype}.pb: has {5 * values.itemsize // 2} bytes of elements; {dtype} of "
              f"shape [3] needs {3 * values.itemsize}")
    m.bytes("wide_int32.pb", onnx((1,), 12, blob(5, varint(1))))
    m.bad("wide_int32.pb", "wide_int32.pb: holds its elements in a field that is not one of uint32")
    m.bytes("int4.pb", onnx((3,), 22, blob(5, varint(0x9f) + varint(2))))
    m.good("int4.pb", "int4", np.array([15, 9, 2], "u1"))
    m.bytes("four.pb", onnx((5,), 23, blob(9, bytes([0x21, 0x43, 0x05]))))
    m.good("four.pb", "float4_e2m1fn", np.array([1, 2, 3, 4, 5], "u1"))
    m.bytes("scalar.pb", onnx((), 1, blob(9, x[0, 0].tobytes())))
    m.good("scalar.pb", "float32", x[0, 0])

    def bad(name, message, data):
        m.bytes(name + ".pb", data)
        m.bad(name + ".pb", f"{name}.pb: {message}")
    bad("size", "has 24 bytes of elements; float32 of shape [3, 3] needs 36", onnx((3, 3), 1, blob(9, x.tobytes())))
    bad("overflow", TOO_LARGE,
        onnx((1 << 62, 1 << 62), 1, blob(9, b"")))
    bad("extent", "is damaged: its shape has more than 64 extents, or one of 2^63 or more", onnx((-1,), 1, blob(9, b"")))
    bad("cut", "is truncated, or no ONNX TensorProto: a field reaches beyond its end",
        onnx((2, 3), 1, blob(9, x.tobytes()))[:-1])
    bad("length", "is truncated, or no ONNX TensorProto: a field reaches beyond its end",
        onnx((2,), 1, field(9, 2, varint((1 << 64) - 1))))
    bad("number", "is no ONNX TensorProto, or is damaged: a number in it does not end", b"\xff" * 20)
    bad("model", "is an ONNX ModelProto, but assay reads only a TensorProto; save each tensor in a file of its "
                 "own, as "
        "onnx.save_tensor does", field(1, 0, varint(8)) + blob(2, b"producer"))
    bad("external", "keeps its elements in another file (external data), which assay does not read; save the "
                    "tensor with its data in one file",
        onnx((2,), 1, blob(13, blob(1, b"location") + blob(2, b"/etc/passwd")) + field(14, 0, varint(1))))
    bad("strings", "holds text, which assay does not compare; save a tensor of numbers", onnx((1,), 8, blob(6, b"text")))
    bad("kind", "holds elements of TensorProto.DataType 99, which assay does not read; save them as a dtype of "
        "docs/formats.md",
        onnx((1,), 99, blob(9, bytes(8))))
    bad("field", "holds its elements in a field that is not one of float16", onnx((1,), 10, blob(4, bytes(4))))
    bad("two", "holds its elements in two fields of the TensorProto; save the tensor again",
        onnx((1,), 1, blob(4, bytes(4)) + blob(9, bytes(4))))
    bad("wide", "element 0 is 300, which is no uint8", onnx((1,), 2, blob(5, varint(300))))
    bad("empty", "is no ONNX TensorProto: it has no data type", b"")


def make_raw(m):
    x = rng.standard_normal((2, 3, 4)).astype("f4")
    bits = rng.integers(0, 0x7F00, (2, 3, 4)).astype("u2")
    for name, dtype, array in (
            ("golden_0_bfloat16__shape_2x3x4.bin", "bfloat16", bits), ("x.2x3x4xf32.bin", "float32", x),
            ("out_2x3x4xbf16.bin", "bfloat16", bits), ("scalar_0_float32__shape_scalar.bin", "float32", x[0, 0, 0]),
            ("a_b_float8_e4m3fn__shape_24.bin", "float8_e4m3fn", (bits & 0x3F).astype("u1").ravel()),
            ("o.2x3x4xf32", "float32", x), ("golden_1_complex64__shape_3x4.bin", "complex64", (x[0] - 1j * x[1]).astype("c8")),
            ("z_complex128__shape_scalar.bin", "complex128", np.complex128(1 - 2j)), ("t_fp16__shape_24.dat", "float16", bits.ravel())):
        m.bytes(name, array.tobytes())
        m.good(name, dtype, array)
    m.bytes("input_0_bfloat16.bin", bits.tobytes())
    m.good("input_0_bfloat16.bin", "bfloat16", bits.ravel())
    m.bytes("side.bin", x.tobytes())
    m.path("side.bin.json").write_text('{"dtype": "float32", "shape": [6, 4]}')
    m.good("side.bin", "float32", x, shape=(6, 4))
    m.bytes("half.bin", x.tobytes())
    m.path("half.bin.json").write_text('{"shape": [24]}')
    m.good("half.bin", "float32", x, "float32", (24,))
    m.bytes("p_float4_e2m1fn__shape_3.bin", bytes([0x21, 0x03]))
    m.good("p_float4_e2m1fn__shape_3.bin", "float4_e2m1fn", np.array([1, 2, 3], "u1"))

    def bad(name, message, data=bytes(24), sidecar=None):
        m.bytes(name, data)
        if sidecar is not None:
            m.path(name + ".json").write_text(sidecar)
        m.bad(name, message)
    bad("n.bin", "n.bin: is read as raw bytes, and nothing says what they are: give --dtype, name it as in "
        "x_bfloat16.bin, or write n.bin.json with {\"dtype\": \"bfloat16\", \"shape\": [2, 3]}")
    bad("input_2_none.bin", "input_2_none.bin: is an absent tensor, as its name says (none): it has no elements", b"")
    bad("w_float32.bin", "w_float32.bin: has 23 bytes, which are no whole elements of float32 (4 bytes each)",
        bytes(23))
    bad("s_float32__shape_5.bin", "s_float32__shape_5.bin: has 24 bytes; float32 of shape [5] needs 20")
    bad("x_float32__shape_2xx3.bin", "x_float32__shape_2xx3.bin: its name says the shape '2xx3', which must be extents "
        "joined by x, or scalar")
    bad("o_float32__shape_4611686018427387904x4611686018427387904.bin",
        "o_float32__shape_4611686018427387904x4611686018427387904.bin: " + TOO_LARGE)
    bad("c_float32.bin", "c_float32.bin.json: says float16, the name of c_float32.bin float32",
        sidecar='{"dtype": "float16"}')
    bad("d.6xf32.bin", "d.6xf32.bin.json: says the shape [2, 3], the name of d.6xf32.bin [6]",
        sidecar='{"shape": [2, 3]}')
    bad("k.bin", "k.bin.json: unknown key 'type'; known: dtype, shape", sidecar='{"type": "float16"}')
    bad("l.bin", "l.bin.json: unknown dtype 'float17': did you mean 'float16'?; docs/formats.md lists all",
        sidecar='{"dtype": "float17"}')


def make_with_torch(m):
    import torch
    x = torch.randn(4, 6, dtype=torch.float64)
    kinds = {"float64": torch.float64, "float32": torch.float32, "float16": torch.float16, "bfloat16": torch.bfloat16,
             "int8": torch.int8, "uint8": torch.uint8, "int16": torch.int16, "int32": torch.int32,
             "int64": torch.int64, "bool": torch.bool, "complex64": torch.complex64, "complex128": torch.complex128}
    tensors, wanted = {}, {}
    for name, kind in kinds.items():
        tensors[name] = (x * 50).to(kind) if name != "uint8" else (x * 50).abs().to(kind)
    base = tensors["float32"]
    views = {"t": base.t(), "slice": base[1:3, ::2], "expand": base[0].expand(3, 6), "flat": base.reshape(-1),
             "parameter": torch.nn.Parameter(base[2:]), "grad": base.clone().requires_grad_(True),
             "scalar": base[0, 0], "empty": base[:0]}
    for name, value in {**tensors, **views}.items():
        plain = value.detach()
        wanted[name] = plain.contiguous().view(torch.int16).numpy() if plain.dtype is torch.bfloat16 else (
            plain.numpy())
    dtypes = {name: name if name in kinds else "float32" for name in wanted}
    torch.save({"all": tensors, "views": [views]}, m.path("torch.pt"))
    for name in wanted:
        m.good(("torch.pt:/all/" if name in kinds else "torch.pt:/views/0/") + name, dtypes[name], wanted[name])
    turned = tensors["complex64"] * (1 - 2j)
    for name, value in (("turned.pt", turned.t()), ("imaginary.pt", turned.imag)):
        torch.save(value, m.path(name))
        m.good(name, str(value.dtype)[6:], value.numpy())
    torch.save(turned.conj(), m.path("conj.pt"))
    # PyTorch 1.13 loses the lazy conjugation when it writes the file. Newer versions record it.
    if torch.equal(torch.load(m.path("conj.pt")), turned):
        m.good("conj.pt", "complex64", turned.numpy())
    else:
        m.bad("conj.pt", "conj.pt: is negated or conjugated lazily; save x.resolve_neg() or x.resolve_conj()")
    torch.save(base, m.path("alone.pt"))
    m.good("alone.pt", "float32", wanted["float32"])
    linear = torch.nn.Sequential(torch.nn.Linear(3, 2), torch.nn.BatchNorm1d(2))
    torch.save(linear.state_dict(), m.path("state.pt"))
    for name, value in linear.state_dict().items():
        m.good("state.pt:/" + name, str(value.dtype)[6:], value.numpy())
    torch.save(base, m.path("old.pt"), _use_new_zipfile_serialization=False)
    m.bad("old.pt", "old.pt: is not in the zip format of torch.save: it is truncated, or of PyTorch before 1.6; "
          "load it there, and save it again by a newer one")
    torch.save(linear, m.path("module.pt"))
    m.bad("module.pt", "module.pt: its pickle names torch.nn.modules.container.Sequential, which is no part of a "
          "tensor; it is not executed, and the file is not read")
    torch.jit.save(torch.jit.script(linear), m.path("script.pt"))
    m.manifest.append({"path": "script.pt", "error": None, "said": ""})


def read_torch(path):
    """Returns the arrays of a .pt file, read by Python's own unpickler, as (dtype or storage,
    shape, bytes of the storage, offset, strides, requires_grad)."""
    archive = zipfile.ZipFile(path)
    assert archive.testzip() is None
    prefix = next(n for n in archive.namelist() if n.endswith("data.pkl"))[:-len("data.pkl")]
    assert archive.read(prefix + "byteorder") == b"little" and archive.read(prefix + "version") == b"3\n"

    class Unpickler(pickle.Unpickler):
        def find_class(self, module, name):
            if (module, name) == ("collections", "OrderedDict"):
                return collections.OrderedDict
            if module == "torch._utils":
                assert name in ("_rebuild_tensor_v2", "_rebuild_tensor_v3"), name
                return lambda of, offset, size, stride, grad, hooks, *dtype: (
                    dtype[0] if dtype else of[0], size, of[1], offset, stride, grad)
            return f"{module}.{name}"

        def persistent_load(self, identity):
            word, kind, key, location, count = identity
            assert (word, location) == ("storage", "cpu")
            data = archive.read(f"{prefix}data/{key}")
            return kind, data, count
    return Unpickler(io.BytesIO(archive.read(prefix + "data.pkl"))).load()


def check(folder):
    """Checks that every file of the list holds what the list gives: {"path", "kind", "arrays":
    {name: {dtype, shape, bytes}}}."""
    folder = pathlib.Path(folder)
    native = {"float64": "<f8", "float32": "<f4", "float16": "<f2", "int8": "|i1", "uint8": "|u1", "int16": "<i2",
              "int32": "<i4", "int64": "<i8", "bool": "|b1", "complex64": "<c8", "complex128": "<c16"}
    later = {"uint16": "<u2", "uint32": "<u4", "uint64": "<u8"}
    width = {"bfloat16": 2, "float_e5m6": 2, "tfloat32": 4, "hfloat32": 4}
    try:
        import torch
    except ImportError:
        torch = None
    count = by_torch = 0
    for entry in json.loads((folder / "written.json").read_text()):
        path, kind = folder / entry["path"], entry["kind"]
        known = torch is not None and all(a["dtype"] in (*native, "bfloat16") for a in entry["arrays"].values())
        for name, wanted in entry["arrays"].items():
            count += 1
            data, shape, dtype = bytes.fromhex(wanted["bytes"]), tuple(wanted["shape"]), wanted["dtype"]
            if kind in ("npy", "npz"):
                array = np.load(path) if kind == "npy" else np.load(path)[name]
                if dtype == "complex32":  # the parts
                    dtype, shape = "float16", (*shape, 2)
                assert array.dtype.str == {**native, **later}.get(dtype, f"|V{width.get(dtype, 1)}"), (array.dtype, dtype)
                assert array.shape == shape and array.tobytes() == data, path
            elif kind == "safetensors":
                raw = path.read_bytes()
                length = struct.unpack("<Q", raw[:8])[0]
                assert length % 8 == 0
                head = json.loads(raw[8:8 + length])[name]
                begin, end = head["data_offsets"]
                got = raw[8 + length + begin:8 + length + end]
                if dtype == "float4_e2m1fn":
                    got = bytes(b for pair in got for b in (pair & 15, pair >> 4))[:len(data)]
                assert tuple(head["shape"]) == shape and got == data, (path, name)
            elif kind == "pt":
                root = read_torch(path)
                of, size, stored, offset, stride, grad = root if name == "" else root[name]
                assert tuple(size) == shape and stored == data and offset == 0 and grad is False, (path, name)
                assert (list(stride) == [int(np.prod(shape[i + 1:])) for i in range(len(shape))]), stride
                if known:
                    by_torch += 1
                    loaded = torch.load(path) if name == "" else torch.load(path)[name]
                    assert str(loaded.dtype) == "torch." + dtype and tuple(loaded.shape) == shape
                    if loaded.dtype is torch.bfloat16:
                        loaded = loaded.view(torch.int16)
                    assert loaded.numpy().tobytes() == data, (path, name)
            elif kind == "bin":
                assert path.read_bytes() == data, path
    assert count > 150 and (torch is None or by_torch >= 25), (count, by_torch)
    print(count, "arrays,", by_torch if torch is not None else "none", "by PyTorch")


def main():
    command, folder = sys.argv[1:]
    if command == "check":
        return check(folder)
    maker = Maker(folder)
    if command == "torch":
        try:
            import torch  # noqa: F401
        except ImportError:
            return sys.exit(77)
        make_with_torch(maker)
    else:
        make_npy(maker)
        make_torch(maker)
        make_safetensors(maker)
        make_onnx(maker)
        make_raw(maker)
    maker.close()


if __name__ == "__main__":
    main()
