"""The valid files: GOOD, a list of (name, write, inferred, keywords of create)."""
import ctypes
import zlib

import h5py
import numpy as np
from h5py import h5d, h5p, h5s, h5t

from hdf5_files import absent, attr, case, expect, full_case, group, several_case, store
from reference_reader import (BIG_ENDIAN, BOOL, DTYPES, STR_NULLTERM, U16, U8, UNUSED_LOW_BITS,
                              float_type, native, opaque, patterns, string_type)

# A tuple for each file: its name, the function that writes it, `inferred`, and keywords of create(). `inferred` is true
# if docs/dataset.md does not say word for word that such a file is valid (see make_files.py).
GOOD = []

def good(name, inferred=False, **kw):
    return lambda write: GOOD.append((name, write, inferred, kw))

SMALL = ("float8_e4m3fnuz", "float8_e5m2fnuz", "float6_e2m3fn", "float6_e3m2fn", "float4_e2m1fn",
         "float4_e1m2fn")
OPAQUE = {"float16": 2, "bfloat16": 2, "float8_e5m2": 1}
# For each file, `rows` has the cases: name, dtype, stored type. The values are those of patterns().
for name, inferred, rows in (
        ("big_endian", False, [(d, d, t) for d, t in BIG_ENDIAN.items()]),
        ("big_endian_floats", True, [(d, d, float_type(d, order=h5t.ORDER_BE))
                                     for d in ("float16", "bfloat16")]),
        ("big_endian_uint16", True,
         [(d, d, h5t.STD_U16BE) for d in ("float16", "bfloat16", "float_e5m6")]),
        ("big_endian_float32", True, [(d, d, h5t.IEEE_F32BE) for d in UNUSED_LOW_BITS]),
        ("bit_patterns", False, [("float16", "float16", U16), ("bfloat16", "bfloat16", U16),
                                 ("float8_e5m2", "float8_e5m2", U8)]),
        ("opaque", False, [(f"{d}/tag_{tag}", d, opaque(n, tag.encode())) for d, n in OPAQUE.items()
                           for tag in ("", "bits", d)]),
        ("float_types", False,
         [(d, d, float_type(d)) for d in ("float16", "bfloat16", "float8_e5m2", "float8_e4m3fn")]),
        ("float_types_small", True, [(d, d, float_type(d)) for d in SMALL]),
        ("bool", False, [("enum", "bool", BOOL), ("uint8", "bool", U8)])):
    good(name, inferred)(lambda f, name=name, rows=rows: [
        case(f, f"{name}/{c}", d, patterns(d), tid=t) for c, d, t in rows])

@good("int4_of_8_bits")
def _(f):
    case(f, "int4", "int4", np.arange(-8, 8).astype("i1").view("u1"), tid=h5t.STD_I8LE)
    expect("/cases/int4/inputs/x", "int4", np.arange(-8, 8).view("u8") & 15)

# Complex elements that are big-endian, or whose members have names that h5py does not write.
@good("complex_of_others")
def _(f):
    for dtype, part in (("complex64", h5t.IEEE_F32BE), ("complex128", h5t.IEEE_F64BE),
                        ("complex64", h5t.IEEE_F32LE)):
        big, width = part.get_order() == h5t.ORDER_BE, part.get_size()
        tid = h5t.create(h5t.COMPOUND, 2 * width)
        for i, name in enumerate((b"r", b"i") if big else (b"real", b"imag")):
            tid.insert(name, i * width, part)
        bits = patterns(dtype)
        raw = bits.view(f"u{width}").byteswap() if big else bits
        name = f"complex/{dtype}_{'big' if big else 'little'}"
        store(f, f"/cases/{name}/inputs/x", dtype, raw.view(f"V{2 * width}"), tid=tid)
        attr(f[f"/cases/{name}"], "op", "external")
        expect(f"/cases/{name}/inputs/x", dtype, bits)

@good("native")
def _(f):
    for name in ("description", "source", "license"):
        attr(f, name, "text of " + name, note=True)
    for dtype in DTYPES:
        case(f, f"native/{dtype}", dtype, patterns(dtype))
        store(f, f"/cases/native/{dtype}/outputs/rec", dtype, patterns(dtype)[::-1])
        store(f, f"/cases/native/{dtype}/golden", "float64", np.arange(7.0))

@good("filters")
def _(f):
    for filters in ("deflate", "shuffle", "fletcher32", "shuffle deflate", "deflate fletcher32",
                    "shuffle fletcher32", "shuffle deflate fletcher32",
                    "fletcher32 shuffle deflate"):
        name, filters = "filters/" + filters.replace(" ", "_"), filters.split()
        case(f, name, "float32", np.arange(35).reshape(5, 7), chunk=(2, 3), filters=filters)
        store(f, f"/cases/{name}/inputs/y", "bfloat16", patterns("bfloat16"), chunk=(5000,),
              filters=filters)
        store(f, f"/cases/{name}/inputs/z", "hifloat8", patterns("hifloat8"), chunk=(256,),
              filters=filters)
        store(f, f"/cases/{name}/golden", "float64", np.arange(64) / 8, tid=h5t.IEEE_F64BE,
              chunk=(9,), filters=filters)
    # A chunk may record that a filter was left out for it. Here the first chunk is raw, and the
    # second deflated.
    case(f, "filters/none", chunk=(3,))
    masked, values = "/cases/filters/none/inputs/masked", np.arange(8, dtype="<f4")
    d = store(f, masked, "float32", shape=(8,), chunk=(4,), filters=("deflate",))
    d.id.write_direct_chunk((0,), values[:4].tobytes(), filter_mask=1)
    d.id.write_direct_chunk((4,), zlib.compress(values[4:].tobytes()))
    expect(masked, "float32", values)

# Chunks that do not divide the shape, are larger than the shape, or have no filters.
@good("chunks", inferred=True)
def _(f):
    unlimited, everything = h5s.UNLIMITED, ("shuffle", "deflate", "fletcher32")
    for shape in ((7,), (5, 6), (3, 4, 5), (2, 3, 1, 4), (1, 2, 3, 2, 3)):
        values = np.arange(np.prod(shape)).reshape(shape)
        for name, chunk in (("ones", [1 for _ in shape]), ("halves", [(n + 1) // 2 for n in shape]),
                            ("whole", shape), ("rows", [1, *shape[1:]]),
                            ("larger", [9] * len(shape)), ("last", [*shape[:-1], 2])):
            name = f"chunks/{len(shape)}/{name}"
            case(f, name, "int16", values, chunk=tuple(chunk), filters=everything,
                 maxshape=(unlimited,) * len(shape))
            store(f, f"/cases/{name}/inputs/plain", "float64", values, chunk=tuple(chunk),
                  maxshape=(unlimited,) * len(shape))
    noise = patterns("int32")[:999]      # deflate makes these bytes longer
    case(f, "noise", "int32", noise, chunk=(500,), filters=("deflate",))
    case(f, "deflated_twice", "int32", noise, chunk=(500,),
         filters=("deflate", "fletcher32", "deflate"))
    case(f, "odd_checksum", "uint8", np.arange(255), chunk=(51,), filters=("fletcher32",))
    case(f, "more_than_a_block", "float32", np.arange(100000), chunk=(100000,),
         filters=("fletcher32",))
    early = lambda p: p.set_alloc_time(h5d.ALLOC_TIME_EARLY)
    for name, most in (("fixed", (10,)), ("unlimited", (unlimited,))):
        case(f, f"early/{name}", bits=np.arange(4), chunk=(2,), maxshape=most, plist=early)

@good("unfiltered_edges", inferred=True, latest=True)
def _(f):
    # h5py does not have H5Pset_chunk_opts, so HDF5 itself is called.
    library = ctypes.CDLL(h5p.__file__)
    library.H5Pset_chunk_opts.argtypes = ctypes.c_int64, ctypes.c_uint
    for filters in (("deflate",), ("shuffle", "deflate", "fletcher32")):
        case(f, "_".join(filters), "int32", np.arange(35).reshape(5, 7), chunk=(2, 3),
             filters=filters, plist=lambda p: library.H5Pset_chunk_opts(p.id, 2))

@good("shapes")
def _(f):
    for rank, shape in enumerate(((), (120,), (1, 120), (5, 1, 24), (2, 3, 4, 5), (1, 2, 3, 4, 5))):
        case(f, f"rank/{rank}", "int32", np.arange(np.prod(shape, dtype=int)).reshape(shape))
    for dtype in DTYPES:
        case(f, f"scalar/{dtype}", dtype, patterns(dtype)[1])
    case(f, "scalar/opaque", "float16", np.array(0x3C00, "<u2"), tid=opaque(2))
    case(f, "scalar/enum", "bool", np.array(1, "u1"), tid=BOOL)
    attr(group(f, "/cases/matmul/batched"), "op", "matmul")
    for name, shape in (("inputs/a", (2, 3, 4)), ("inputs/b", (2, 4, 5)), ("inputs/bias", (5,)),
                        ("outputs/h200", (2, 3, 5)), ("golden", (2, 3, 5))):
        store(f, "/cases/matmul/batched/" + name, "float64" if name == "golden" else "float32",
              np.ones(shape))

@good("no_elements", inferred=True)
def _(f):
    case(f, "empty/flat", bits=np.zeros(0))
    case(f, "empty/rows", bits=np.zeros((0, 3)))
    case(f, "empty/chunked", bits=np.zeros((2, 0)), chunk=(2, 2),
         maxshape=(h5s.UNLIMITED, h5s.UNLIMITED), filters=("deflate",))

@good("attributes")
def _(f):
    for name in ("known", "one_element", "widths"):
        full_case(f, name)
    known, one, widths = (f["/cases/" + name] for name in ("known", "one_element", "widths"))
    for name, value in (("op", "matmul"), ("output_dtype", "bfloat16"), ("standard", "strict"),
                        ("tags", "a,b,c"), ("why", "0,1 °C: größer als ±½ ulp"),
                        ("source", np.bytes_("fixed length")), ("seed", 12345), ("rtol", 1e-3),
                        ("atol", np.float32(0.25)), ("equal_nan", True), ("machine", "hopper"),
                        ("nan_payload", "kept"), ("transpose_a", False)):
        attr(known, name, value, note=True)
    for name, value in (("op", ["external"]), ("tags", np.array([b"fixed"])), ("seed", [7]),
                        ("rtol", [0.5]), ("equal_nan", [True])):
        attr(one, name, value, note=True)
    attr(one["inputs/x"], "dtype", ["float32"])
    for order, end in (("<", "le"), (">", "be")):
        for kind in ("i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8"):
            attr(widths, f"{kind}_{end}_min", np.array(np.iinfo(kind).min, order + kind), note=True)
            attr(widths, f"{kind}_{end}_max", np.array(np.iinfo(kind).max, order + kind), note=True)
        for kind in ("f2", "f4", "f8"):
            attr(widths, f"{kind}_{end}", np.array(-0.375, order + kind), note=True)
    for pad, what, end in ((STR_NULLTERM, "null_term", b"\0"),
                           (STR_NULLTERM, "null_term_junk", b"\0junk"),
                           (h5t.STR_NULLPAD, "null_pad_exact", b""),
                           (h5t.STR_NULLPAD, "null_pad", b"\0\0\0\0"),
                           (h5t.STR_SPACEPAD, "space_pad", b"    ")):
        for cset in (h5t.CSET_ASCII, h5t.CSET_UTF8):
            c = f"string_{what}_{cset}"
            full_case(f, c)
            for obj, name, text in ((f["/cases/" + c], "op", b"external" + end),
                                    (f[f"/cases/{c}/inputs/x"], "dtype", b"float32" + end)):
                attr(obj, name, np.array(text, f"S{len(text)}"), string_type(len(text), pad, cset),
                     note=True)

@good("unknown_attributes")
def _(f):
    full_case(f, "group/c")
    for path in ("/", "/cases", "/cases/group", "/cases/group/c", "/cases/group/c/inputs",
                 "/cases/group/c/inputs/x", "/cases/group/c/golden"):
        for name, value in (("x_text", "free text"), ("x-int", -3), ("x float", 0.5),
                            ("x_bool", True), ("CLASS", np.bytes_("ARRAY"))):
            attr(f[path], name, value, note=True)

for name, value in (("int8", np.int8(1)), ("uint64", np.uint64(1)),
                    ("int64_be", np.array(1, ">i8")), ("one_element", np.array([1]))):
    good("schema_" + name)(lambda f, value=value: (full_case(f, "c"),
                                                   attr(f, "assay_schema", value)))

@good("links")
def _(f):
    full_case(f, "plain")
    case(f, "parts", bits=np.arange(4))
    attr(group(f, "/store/away"), "op", "external")
    golden = np.arange(4) / 2
    store(f, "/store/away/golden", "float64", golden)
    # Soft links to a case, to a dataset through the first link, within a group, and to a group.
    for path, target, dtype, bits in (
            ("/cases/whole", "/store/away", None, None),
            ("/cases/parts/golden", "/cases/whole/golden", "float64", golden),
            ("/cases/parts/inputs/same", "x", "float32", np.arange(4)),
            ("/cases/parts/outputs", "/cases/plain/outputs", None, None)):
        f[path] = h5py.SoftLink(target)
        expect(path, dtype, bits)
    expect("/cases/whole/golden", "float64", golden)
    expect("/cases/parts/outputs/rec", "float32", [1.25, 2.5, 3.75, 5])
    f["/cases/parts/inputs/hard"] = f["/cases/plain/inputs/x"]
    expect("/cases/parts/inputs/hard", "float32", [1, 2, 3, 4])

@good("names")
def _(f):
    for name in ("a", "0", "A.b=c_D", "k=1.5/n=2_3/v1.0", "...", "a..b", "=", "_", ".hidden",
                 "inputs1", "my_outputs", "golden.1/Golden",
                 "deep/" * 20 + "er"):
        case(f, name)

@good("storage", inferred=True)
def _(f):
    case(f, "compact", plist=lambda p: p.set_layout(h5d.COMPACT))
    case(f, "resizable", bits=np.arange(6).reshape(2, 3), chunk=(4, 4), maxshape=(h5s.UNLIMITED, 9))
    named = float_type("float16")
    named.commit(group(f, "/types").id, b"float16")
    case(f, "committed_type", "float16", patterns("float16")[:99], tid=named)
    case(f, "never_written", bits=None, shape=(5,),
         plist=lambda p: p.set_fill_value(np.array(1.5, "f4")))
    expect("/cases/never_written/inputs/x", "float32", np.full(5, 1.5))
    partly = "/cases/never_written/inputs/partly"
    d = store(f, partly, "float32", shape=(6,), chunk=(4,), filters=("deflate",),
              plist=lambda p: p.set_fill_value(np.array(-2, "f4")))
    d.id.write_direct_chunk((0,), zlib.compress(np.arange(4, dtype="<f4").tobytes()))
    expect(partly, "float32", [0, 1, 2, 3, -2, -2])
    late = "/cases/never_written/inputs/late"
    d = store(f, late, "float32", shape=(6,), chunk=(4,), filters=("deflate",),
              plist=lambda p: p.set_fill_value(np.array(-2, "f4")))
    d.id.write_direct_chunk((4,), zlib.compress(np.arange(4, dtype="<f4").tobytes()))
    expect(late, "float32", [-2, -2, -2, -2, 0, 1])

@good("userblock", inferred=True, userblock=512)
def _(f):
    full_case(f, "c")

# HDF5's newest format: new object headers, the five chunk indexes, and dense links and attributes.
@good("latest", latest=True)
def _(f):
    for i in range(20):
        full_case(f, f"many/{i}")
        attr(f["/cases/many/0"], f"hint{i}", i, note=True)
    early, unlimited = (lambda p: p.set_alloc_time(h5d.ALLOC_TIME_EARLY)), h5s.UNLIMITED
    for name, kw in (("single", dict(chunk=(5, 8))), ("fixed", dict(chunk=(2, 3))),
                     ("extensible", dict(chunk=(2, 3), maxshape=(unlimited, 8))),
                     ("btree", dict(chunk=(2, 3), maxshape=(unlimited, unlimited))),
                     ("implicit", dict(chunk=(2, 3), plist=early))):
        for filters in ((), ("shuffle", "deflate", "fletcher32")):
            if not (filters and name == "implicit"):
                case(f, f"index/{name}{'_filtered' * bool(filters)}",
                     bits=np.arange(40).reshape(5, 8), filters=filters, **kw)

@good("schema_2")
def _(f):
    several_case(f, "several/all")
    full_case(f, "one")
    case(f, "scalars")
    for output in ("a", "b"):
        store(f, f"/cases/scalars/golden/{output}", "float64", np.array(1.5))
        store(f, f"/cases/scalars/outputs/rec/{output}", "float32", np.array(2.0))
    case(f, "no_golden")
    store(f, "/cases/no_golden/outputs/rec/y", "float32", [1])
    case(f, "absent_null")
    absent(f, "/cases/absent_null/inputs/y", shape="null")
    attr(store(f, "/cases/absent_null/inputs/z", "float32", [1]), "absent", np.int64(0))
