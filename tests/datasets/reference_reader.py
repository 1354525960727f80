"""A small reader of dataset files, written only from the page that describes them.

make_files.py uses it as an oracle. It checks that a file has the defect that it claims and no
other. It shares nothing with the C++ reader.
"""
import hashlib
import math
import re
import zlib

import h5py
import numpy as np
from h5py import h5a, h5d, h5f, h5g, h5l, h5o, h5s, h5t, h5z

# For each name of a dtype: the numpy dtype in which assay stores it, and the number of bits that a value may use.
DTYPES = {
    "float64": ("<f8", 64), "float32": ("<f4", 32), "float16": ("<u2", 16), "bfloat16": ("<u2", 16),
    "float8_e4m3fn": ("u1", 8), "float8_e5m2": ("u1", 8), "float8_e4m3fnuz": ("u1", 8),
    "float8_e5m2fnuz": ("u1", 8), "hifloat8": ("u1", 8), "tfloat32": ("<u4", 32),
    "hfloat32": ("<u4", 32), "float4_e2m1fn": ("u1", 4), "float6_e2m3fn": ("u1", 6),
    "float6_e3m2fn": ("u1", 6), "float8_e8m0fnu": ("u1", 8), "float_e5m6": ("<u2", 12),
    "int8": ("i1", 8), "uint8": ("u1", 8), "int16": ("<i2", 16), "int32": ("<i4", 32),
    "int64": ("<i8", 64), "bool": ("u1", 1), "uint16": ("<u2", 16), "uint32": ("<u4", 32),
    "uint64": ("<u8", 64), "int4": ("u1", 4), "uint4": ("u1", 4), "float4_e1m2fn": ("u1", 4),
    "complex128": ("<c16", 128), "complex64": ("<c8", 64), "complex32": ("<u4", 32)}
PARTS = {"complex128": "float64", "complex64": "float32", "complex32": "float16"}
UNUSED_LOW_BITS = {"tfloat32": 13, "hfloat32": 12}
# For each name of a dtype: the fields of its HDF5 float type (sign position, exponent position, exponent size, mantissa
# position, mantissa size), and the bias. float8_e8m0fnu has no sign, and hifloat8 has no fixed fields, so that neither
# can be an HDF5 float type.
FIELDS = {
    "float16": ((15, 10, 5, 0, 10), 15), "bfloat16": ((15, 7, 8, 0, 7), 127),
    "float8_e5m2": ((7, 2, 5, 0, 2), 15), "float8_e4m3fn": ((7, 3, 4, 0, 3), 7),
    "float8_e4m3fnuz": ((7, 3, 4, 0, 3), 8), "float8_e5m2fnuz": ((7, 2, 5, 0, 2), 16),
    "float6_e2m3fn": ((5, 3, 2, 0, 3), 1), "float6_e3m2fn": ((5, 2, 3, 0, 2), 3),
    "float4_e2m1fn": ((3, 1, 2, 0, 1), 1), "float4_e1m2fn": ((3, 2, 1, 0, 2), 1)}

U8, U16, U32, U64 = h5t.STD_U8LE, h5t.STD_U16LE, h5t.STD_U32LE, h5t.STD_U64LE
I8, I16, I32, I64 = h5t.STD_I8LE, h5t.STD_I16LE, h5t.STD_I32LE, h5t.STD_I64LE
F32, F64 = h5t.IEEE_F32LE, h5t.IEEE_F64LE
STR_NULLTERM = 0        # HDF5's H5T_STR_NULLTERM, for which h5py has no name
BIG_ENDIAN = {"float64": h5t.IEEE_F64BE, "float32": h5t.IEEE_F32BE, "int16": h5t.STD_I16BE,
              "int32": h5t.STD_I32BE, "int64": h5t.STD_I64BE, "uint16": h5t.STD_U16BE,
              "uint32": h5t.STD_U32BE, "uint64": h5t.STD_U64BE}
# The enumeration in which h5py stores a bool: FALSE = 0 and TRUE = 1, as int8.
BOOL = h5t.py_create(np.dtype(bool), logical=True)

def changed(base, **properties):
    t = base.copy()
    for name, value in properties.items():
        getattr(t, "set_" + name)(*(value if name == "fields" else (value,)))
    return t

def float_type(name, **properties):
    fields, bias = FIELDS[name]
    own = dict(fields=fields, precision=fields[0] + 1, size=(fields[0] + 8) // 8, ebias=bias)
    return changed(F32, **{**own, **properties})

def string_type(size, pad, cset=h5t.CSET_ASCII):
    return changed(h5t.C_S1, size=size, strpad=pad, cset=cset)

def opaque(size, tag=b"bits"):
    t = h5t.create(h5t.OPAQUE, size)
    t.set_tag(tag)
    return t

def enum_type(**members):
    t = h5t.enum_create(I8)
    for name, value in members.items():
        t.enum_insert(name.encode(), value)
    return t

def compound(names, part, order=h5t.ORDER_LE):
    member = float_type(part) if part in FIELDS else h5t.py_create(np.dtype(DTYPES[part][0]))
    member = changed(member, order=order)
    t = h5t.create(h5t.COMPOUND, 2 * member.get_size())
    for i, name in enumerate(names):
        t.insert(name, i * member.get_size(), member)
    return t

def native(dtype):
    """Returns the stored type that a writer uses for this dtype: the first column of the page's
    table."""
    if dtype in ("float16", "bfloat16", "float8_e5m2"):
        return float_type(dtype)
    if dtype == "complex32":     # h5py lacks complex32, and cannot open a compound of float16 with the members r and i
        return compound((b"real", b"imag"), "float16")
    storage, _ = DTYPES[dtype]
    return F32 if dtype in UNUSED_LOW_BITS else h5t.py_create(np.dtype(storage))

def patterns(dtype):
    """Returns every bit pattern for up to 16 bits. For wider formats, returns the corners and a
    spread."""
    storage, bits = DTYPES[dtype]
    storage = np.dtype(storage)
    if dtype in PARTS:
        parts = patterns(PARTS[dtype])
        return parts[:len(parts) // 2 * 2].view(storage)
    if dtype in UNUSED_LOW_BITS:
        low = UNUSED_LOW_BITS[dtype]
        return (np.arange(0, 1 << 32, 37 << low, dtype="<u8")).astype("<u4")
    if bits <= 16:
        return np.arange(1 << bits).astype("<u2").astype(f"<u{storage.itemsize}").view(storage)
    spread = np.arange(999, dtype="<u8") * np.uint64(0x9E3779B97F4A7C15) >> np.uint64(64 - bits)
    spread = spread.astype(f"<u{bits // 8}")
    one = 1 << (bits - 1)
    corners = np.array([0, one, one - 1, 2 * one - 1, 1, one + 1], spread.dtype)
    return np.concatenate([corners, spread]).view(storage)

DAMAGED = "truncated or corrupt"

class Refused(Exception):
    """Raised if a file must be refused. The arguments are the reason and the object."""

CAP = 1 << 30        # the most bytes of a dataset, and of a chunk
MOST_CHUNKS, MOST_GROUPS_DEEP, MOST_SECOND_WAYS = 1 << 24, 64, 1000
STRINGS, NUMBERS, FLAGS, INTEGERS = ("string",), ("int", "float"), ("bool",), ("int",)
KNOWN = {"op": STRINGS, "output_dtype": STRINGS, "standard": STRINGS, "tags": STRINGS,
         "source": STRINGS, "why": STRINGS, "rtol": NUMBERS, "atol": NUMBERS, "equal_nan": FLAGS,
         "round_expected": FLAGS, "seed": INTEGERS}

def refuse(reason, where):
    raise Refused(reason, where)

def get_attr(oid, name, kinds, where, reason="attribute"):
    """Returns the one value of an attribute, or None if there is no such attribute."""
    if not h5a.exists(oid, name.encode()):
        return None
    a = h5a.open(oid, name.encode())
    tid, space = a.get_type(), a.get_space()
    kind = {h5t.STRING: "string", h5t.INTEGER: "int", h5t.FLOAT: "float"}.get(tid.get_class())
    if tid.equal(BOOL):
        kind = "bool"
    one = space.get_simple_extent_type() != h5s.NULL and space.get_simple_extent_npoints() == 1
    if kind not in kinds or not one:
        refuse(reason, where)
    value = np.empty(a.shape, a.dtype)
    a.read(value)
    value = value.reshape(-1)[0]
    if kind != "string":
        return value
    try:
        raw = value if isinstance(value, bytes) else value.encode()
        return raw.split(b"\0")[0].rstrip(b" ").decode()
    except UnicodeDecodeError:
        return refuse(reason, where)

def follow(root, base, name, where, depth=0):
    """Returns the object behind a link, if the path to it stays in the file."""
    info = base.links.get_info(name)
    if info.type == h5l.TYPE_EXTERNAL:
        refuse("external link", where)
    if info.type == h5l.TYPE_HARD:
        return h5o.open(base, name)
    if depth > 16:
        refuse("link cycle", where)
    target = base.links.get_val(name)
    here = root if target.startswith(b"/") else base
    for part in target.split(b"/"):
        if part and part != b".":
            if not isinstance(here, h5g.GroupID) or not here.links.exists(part):
                refuse("dangling soft link", where)
            here = follow(root, here, part, where, depth + 1)
    return here

def allowed(tid, dtype):
    storage, bits = DTYPES[dtype]
    types, kind = [native(dtype)], tid.get_class()
    if np.dtype(storage).itemsize > 1:
        types += [BIG_ENDIAN.get(dtype), h5t.IEEE_F32BE if dtype in UNUSED_LOW_BITS else None,
                  h5t.STD_U16BE if storage == "<u2" else None]
    if dtype in FIELDS:
        types += [float_type(dtype), float_type(dtype, order=h5t.ORDER_BE),
                  U16 if bits == 16 else U8]
    if dtype in PARTS:
        types += [compound(names, part, order) for names in ((b"r", b"i"), (b"real", b"imag"))
                  for part in [PARTS[dtype]] for order in (h5t.ORDER_LE, h5t.ORDER_BE)]
    types += [BOOL] if dtype == "bool" else [I8] if dtype == "int4" else []
    opaque_size = {"float16": 2, "bfloat16": 2, "float8_e5m2": 1}.get(dtype)
    return (kind == h5t.OPAQUE and tid.get_size() == opaque_size
            or any(t is not None and tid.equal(t) for t in types))

def check_chunks(d, plist, chunk_bytes, where):
    """Undoes the filters of every existing chunk. Its length must then be right."""
    if not plist.get_nfilters():
        return
    filters = [plist.get_filter(i)[0] for i in range(plist.get_nfilters())]
    for i in range(d.get_num_chunks()):
        info = d.get_chunk_info(i)
        over_edge = any(o + c > n
                        for o, c, n in zip(info.chunk_offset, plist.get_chunk(), d.shape))
        if over_edge and info.size == chunk_bytes and info.filter_mask == 0:
            continue      # this may be an unfiltered chunk, because a file may leave chunks over the edge unfiltered
        mask, data = d.read_direct_chunk(info.chunk_offset)
        for n, one in reversed(list(enumerate(filters))):
            if mask >> n & 1:
                continue
            if one == h5z.FILTER_DEFLATE:
                data = zlib.decompress(data)
            elif one == h5z.FILTER_FLETCHER32:
                data = data[:-4]
        if len(data) != chunk_bytes:
            refuse(DAMAGED, where)

def check_sources(d, where):
    plist = d.get_create_plist()
    if plist.get_layout() == h5d.VIRTUAL:
        refuse("virtual dataset", where)
    if plist.get_external_count():
        refuse("external storage", where)
    known = (h5z.FILTER_DEFLATE, h5z.FILTER_SHUFFLE, h5z.FILTER_FLETCHER32)
    if any(plist.get_filter(i)[0] not in known for i in range(plist.get_nfilters())):
        refuse("filter", where)

def read_dataset(d, where):
    if not isinstance(d, h5d.DatasetID):
        refuse("not a dataset", where)
    check_sources(d, where)
    plist, space, tid = d.get_create_plist(), d.get_space(), d.get_type()
    if space.get_simple_extent_type() == h5s.NULL:
        refuse("null dataspace", where)
    dtype = get_attr(d, "dtype", STRINGS, where)
    if dtype not in DTYPES:
        refuse("dtype missing" if dtype is None else "dtype unknown", where)
    if not allowed(tid, dtype):
        refuse("stored type", where)
    shape, chunked = space.get_simple_extent_dims(), plist.get_layout() == h5d.CHUNKED
    chunk = plist.get_chunk() if chunked else ()
    chunk_bytes = tid.get_size() * math.prod(chunk)      # cannot overflow, because Python's integers have any size
    chunks = math.prod(-(-n // c) for n, c in zip(shape, chunk))
    if max(tid.get_size() * math.prod(n or 1 for n in shape), chunk_bytes) > CAP:
        refuse("size", where)
    if math.prod(shape):
        if chunks > MOST_CHUNKS:
            refuse("size", where)
        missing = d.get_num_chunks() < chunks if chunked else d.get_storage_size() == 0
        if missing and plist.get_fill_time() == h5d.FILL_TIME_NEVER:
            refuse("never written", where)
        if chunked:
            check_chunks(d, plist, chunk_bytes, where)
    raw = np.empty(d.shape, f"V{tid.get_size()}")
    d.read(h5s.ALL, h5s.ALL, raw, mtype=tid)
    bits = np.frombuffer(raw.tobytes(), DTYPES[dtype][0].replace("f", "u"))
    if tid.get_class() in (h5t.INTEGER, h5t.FLOAT) and tid.get_order() == h5t.ORDER_BE:
        bits = bits.byteswap()
    elif dtype in PARTS and tid.get_member_type(0).get_order() == h5t.ORDER_BE:
        bits = bits.view(f"u{tid.get_size() // 2}").byteswap()
    if dtype == "int4":     # -8 to -1 are 0xF8 to 0xFF as integers of 8 bits, and get the codes 0x08 to 0x0F
        bits = np.where(bits >= 0xF8, bits - np.uint8(0xF0), bits).astype("u1")
    low, used = UNUSED_LOW_BITS.get(dtype, 0), DTYPES[dtype][1]
    if low and (bits & ((1 << low) - 1)).any() or used < 8 * bits.itemsize and (bits >> used).any():
        refuse("value", where)
    return {"dtype": dtype, "shape": list(d.shape),
            "bits": hashlib.sha256(bits.tobytes()).hexdigest()}

def check_attributes(g, where):
    for name, kinds in KNOWN.items():
        value = get_attr(g, name, kinds, where)
        if name == "output_dtype" and value not in (None, *DTYPES):
            refuse("dtype unknown", where)

def is_absent(d, where, schema):
    flag = get_attr(d, "absent", ("int", "bool"), where)
    if flag is None:
        return False
    if flag not in (0, 1):
        refuse("attribute", where)
    if not flag:
        return False
    if not isinstance(d, h5d.DatasetID):
        refuse("not a dataset", where)
    check_sources(d, where)
    space = d.get_space()
    if space.get_simple_extent_type() != h5s.NULL and space.get_simple_extent_npoints() or schema == 1:
        refuse("absent", where)
    return True

def read_case(root, g, where, found, schema):
    check_attributes(g, where)
    case_name = where[len("/cases/"):]

    def take(h, child, at):
        """Adds a dataset of the group h to `found`, unless it stands for an absent tensor."""
        below = follow(root, h, child, at)
        if not is_absent(below, at, schema):
            found.append({"case": case_name, "tensor": at[len(where) + 1:], **read_dataset(below, at)})

    def outputs(h, at, golden):
        """Adds all datasets in a group of several outputs to `found`. Checks the attributes of golden results."""
        if not isinstance(h, h5g.GroupID):
            refuse("not a group", at)
        if not list(h):
            refuse("empty group", at)
        for name in list(h):
            path = f"{at}/{name.decode()}"
            if not re.fullmatch(rb"[A-Za-z0-9_.=]+", name):
                refuse("output name", path)
            take(h, name, path)
            if golden:
                check_attributes(h5o.open(h, name), path)

    def has_several():
        if schema == 1:
            return False
        here = [b"golden"] if g.links.exists(b"golden") else []
        groups = [follow(root, g, one, f"{where}/golden") for one in here]
        if g.links.exists(b"outputs"):
            recorded = follow(root, g, b"outputs", f"{where}/outputs")
            if isinstance(recorded, h5g.GroupID):
                groups += [follow(root, recorded, one, f"{where}/outputs/{one.decode()}")
                           for one in list(recorded)]
        return any(isinstance(one, h5g.GroupID) for one in groups)

    several = has_several()

    def look_for_nested(h, path, ancestors):
        for child in list(h):
            at = f"{path}/{child.decode()}"
            below = follow(root, h, child, at)
            if isinstance(below, h5g.GroupID):
                if h5a.exists(below, b"op"):
                    refuse("nested case", at)
                address = h5o.get_info(below).addr
                if address in ancestors:
                    refuse("link cycle", at)
                look_for_nested(below, at, ancestors | {address})

    for child in list(g):
        at = f"{where}/{child.decode()}"
        below = follow(root, g, child, at)
        if child == b"golden":
            if several:
                outputs(below, at, True)
            else:
                take(g, child, at)
        elif child in (b"inputs", b"outputs"):
            if not isinstance(below, h5g.GroupID):
                refuse("not a group", at)
            for n in list(below):
                path = f"{at}/{n.decode()}"
                one = follow(root, below, n, path)
                if child == b"outputs" and several:
                    outputs(one, path, False)
                elif child == b"inputs" and schema == 2 and isinstance(one, h5g.GroupID):
                    members = list(one)
                    if not members:
                        refuse("empty group", path)
                    if set(members) != {str(i).encode() for i in range(len(members))}:
                        refuse("list", path)
                    for member in members:
                        take(one, member, f"{path}/{member.decode()}")
                else:
                    take(below, n, path)
    look_for_nested(g, where, frozenset())

def read_cases(root, g, where, ancestors, found, ways, schema):
    address = h5o.get_info(g).addr
    if address in ancestors:
        refuse("link cycle", where)
    if len(ancestors) > MOST_GROUPS_DEEP:
        refuse("too deep", where)
    ways[address] = ways.get(address, 0) + 1
    if sum(ways.values()) - len(ways) > MOST_SECOND_WAYS:
        refuse("too many ways", where)
    if h5a.exists(g, b"op"):
        return read_case(root, g, where, found, schema)
    children = list(g)
    if where != "/cases" and set(children) & {b"inputs", b"outputs", b"golden"}:
        refuse("case without op", where)
    for child in children:
        at = f"{where}/{child.decode()}"
        if (not re.fullmatch(rb"[A-Za-z0-9_.=]+", child)
                or child in (b".", b"..", b"inputs", b"outputs", b"golden")):
            refuse("case name", at)
        below = follow(root, g, child, at)
        if not isinstance(below, h5g.GroupID):
            refuse("not a group", at)
        read_cases(root, below, at, ancestors | {address}, found, ways, schema)

def read_file(path):
    """Returns the tensors of a valid file. Raises Refused with a reason and an object for any other
    file."""
    try:
        f = h5f.open(path.encode(), h5f.ACC_RDONLY)
    except OSError as error:
        reason = "not an HDF5 file" if "signature not found" in str(error) else DAMAGED
        raise Refused(reason, "")
    found = []
    try:
        root = h5g.open(f, b"/")
        schema = get_attr(root, "assay_schema", INTEGERS, "", "schema")
        if schema not in (1, 2):
            refuse("schema", "")
        if root.links.exists(b"cases"):
            cases = follow(root, root, b"cases", "/cases")
            if not isinstance(cases, h5g.GroupID):
                refuse("not a group", "/cases")
            read_cases(root, cases, "/cases", frozenset(), found, {}, schema)
        if not found:
            refuse("no case", "")
        return found
    except (OSError, RuntimeError, KeyError, ValueError, zlib.error) as error:
        raise Refused(DAMAGED, None) from error       # wherever it was
