"""Writes HDF5 files piece by piece, and keeps what a reader should find in them."""
import hashlib
import re

import h5py
import numpy as np
from h5py import h5a, h5d, h5f, h5g, h5p, h5s, h5t

from reference_reader import DTYPES, F32, native

expected, expected_attrs = {}, []     # what a reader must find in the file that is being written

contents = {}                         # the bytes of the tensors of all files, by their sha256

def create(path, latest=False, userblock=0):
    access, creation = h5p.create(h5p.FILE_ACCESS), h5p.create(h5p.FILE_CREATE)
    access.set_fclose_degree(h5f.CLOSE_STRONG)
    creation.set_obj_track_times(False)      # with times, no two runs would write the same bytes
    if latest:
        access.set_libver_bounds(h5f.LIBVER_LATEST, h5f.LIBVER_LATEST)
    if userblock:
        creation.set_userblock(userblock)
    return h5py.File(h5f.create(path.encode(), h5f.ACC_TRUNC, creation, access))

def group(f, path):
    here = f
    for part in filter(None, path.split("/")):
        if part not in here:
            plist = h5p.create(h5p.GROUP_CREATE)
            plist.set_obj_track_times(False)
            h5g.create(here.id, part.encode(), None, plist)
        here = here[part]
    return here

def attr(obj, name, value, tid=None, note=False):
    """Writes an attribute, with the type `tid` or the one that numpy chooses.

    If `note` is true, the manifest lists the attribute.
    """
    if h5a.exists(obj.id, name.encode()):
        h5a.delete(obj.id, name.encode())
    if isinstance(value, h5py.Empty):
        h5a.create(obj.id, name.encode(), F32, h5s.create(h5s.NULL))
        return
    text = np.asarray(value).dtype.kind == "U"
    data = np.array(value, dtype=h5py.string_dtype() if text else None)
    kind = tid or h5t.py_create(data.dtype, logical=True)
    space = h5s.create_simple(data.shape) if data.shape else h5s.create(h5s.SCALAR)
    h5a.create(obj.id, name.encode(), kind, space).write(data, mtype=None if text else kind)
    if note:
        one = data.reshape(-1)[0]
        one = one.split(b"\0")[0].decode().rstrip(" ") if isinstance(one, bytes) else one
        kinds = {"b": "bool", "i": "int", "u": "int", "f": "float"}
        kind = "string" if isinstance(one, str) else kinds[data.dtype.kind]
        text = one if kind == "string" else repr(one.item()).lower()
        expected_attrs.append({"object": obj.name, "name": name, "kind": kind, "value": text})

def expect(path, dtype, bits, shape=None):
    parts = re.fullmatch(r"/cases/(.*?)/(inputs/[^/]+(?:/\d+)?|golden(?:/[^/]+)?|outputs/[^/]+"
                         r"(?:/[^/]+)?)", path)
    if not parts or dtype not in DTYPES:
        return
    case, tensor = parts.groups()
    bits = np.asarray(bits, DTYPES[dtype][0])
    digest = hashlib.sha256(bits.tobytes()).hexdigest()
    contents[digest] = bits.tobytes()
    expected[case, tensor] = {"case": case, "tensor": tensor, "dtype": dtype,
                              "shape": list(bits.shape if shape is None else shape),
                              "bits": digest}

def store(f, path, dtype, bits=None, tid=None, shape=None, chunk=None, maxshape=None, filters=(),
          plist=None):
    """Stores one dataset at `path`, in place of what is there. The bits are never converted. If
    `bits` is None, the dataset is declared and not written.
    """
    if path in f:
        del f[path]
    parent, name = path.rsplit("/", 1)
    if tid is None:
        tid = native(dtype)
    if bits is not None:
        bits = np.asarray(bits)
        storage = np.dtype(DTYPES[dtype][0]) if dtype in DTYPES else None
        if storage and bits.dtype.kind in "iuf" and tid.get_size() == storage.itemsize:
            bits = bits.astype(storage)
        shape = bits.shape if shape is None else shape
    shape = (4,) if shape is None else shape
    creation = h5p.create(h5p.DATASET_CREATE)
    creation.set_obj_track_times(False)
    if chunk:
        creation.set_chunk(chunk)
    for one in filters:
        getattr(creation, "set_" + one)()
    if plist:
        plist(creation)
    if shape == "null":
        space = h5s.create(h5s.NULL)
    else:
        space = h5s.create_simple(shape, maxshape) if len(shape) else h5s.create(h5s.SCALAR)
    dataset = h5d.create(group(f, parent).id, name.encode(), tid, space, creation)
    if bits is not None:
        swap = tid.get_class() in (h5t.INTEGER, h5t.FLOAT) and tid.get_order() == h5t.ORDER_BE
        dataset.write(h5s.ALL, h5s.ALL,
                      np.ascontiguousarray(bits.byteswap() if swap else bits).reshape(shape),
                      mtype=tid)
    dataset = h5py.Dataset(dataset)
    if dtype is not None:
        attr(dataset, "dtype", dtype)
    if bits is not None and bits.dtype.kind != "V":
        expect(path, dtype, bits, shape)
    return dataset

def case(f, name, dtype="float32", bits=(1, 2, 3, 4), **kw):
    """Writes a case with one input."""
    attr(group(f, "/cases/" + name), "op", "external")
    store(f, f"/cases/{name}/inputs/x", dtype, bits, **kw)

def full_case(f, name):
    case(f, name)
    store(f, f"/cases/{name}/golden", "float64", [1.25, 2.5, 3.75, 5])
    store(f, f"/cases/{name}/outputs/rec", "float32", [1.25, 2.5, 3.75, 5])

def absent(f, path, tid=None, **kw):
    """Stores an empty dataset with the attribute `absent`."""
    d = store(f, path, "uint8", shape=kw.pop("shape", (0,)), tid=tid, **kw)
    attr(d, "absent", np.int64(1))

def several_case(f, name):
    """Writes a case of schema 2. It has two outputs, a third one that is not compared, a list, and an absent input."""
    attr(f, "assay_schema", 2)
    at = f"/cases/{name}"
    case(f, name)
    for i in range(3):
        store(f, f"{at}/inputs/l/{i}", "float32", [i, 2 * i])
    absent(f, at + "/inputs/bias")
    store(f, at + "/golden/y", "float64", [1.25, 2.5])
    store(f, at + "/golden/n", "int32", [3])
    absent(f, at + "/golden/scratch")
    attr(f[at + "/golden/y"], "rtol", 0.5)
    for output, dtype, bits in (("y", "float32", [1.25, 2.5]), ("n", "int32", [3]),
                                ("scratch", "float16", [0, 1, 2])):
        store(f, f"{at}/outputs/rec/{output}", dtype, bits)
    store(f, at + "/outputs/part/y", "float32", [1, 2])
