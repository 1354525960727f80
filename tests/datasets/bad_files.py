"""The files to be refused: BAD, a list of (name, reason, object, change, keywords)."""
import re
import zlib

import h5py
import numpy as np
from h5py import h5a, h5d, h5f, h5s, h5t, h5z

from hdf5_files import absent, attr, case, full_case, group, several_case, store
from reference_reader import (BOOL, DAMAGED, DTYPES, F32, F64, I16, I32, I64, I8, U16, U32, U64, U8,
                              changed, enum_type, float_type, native, opaque, string_type)

BAD = []      # /cases/ok and /cases/c are valid until change(f) makes its one defect
C, X, G = "/cases/c", "/cases/c/inputs/x", "/cases/c/golden"

def bad(name, reason, obj, change=lambda f: None, **kw):
    """Adds a file to BAD. Keywords: `inferred` as in make_files.py, `bare` (the file does not have the two cases),
    `latest` (HDF5's newest format), and `patch`, a function that changes the bytes of the whole file."""
    # The object's path is cut before the first character that a message may escape.
    BAD.append((name, reason, re.split(r'[^ -~]|["\\\\]', obj)[0], change, kw))

def remove(f, *paths):
    for path in paths:
        del f[path]

def link(f, path, target):
    if path in f:
        del f[path]
    f[path] = target

def delete_attr(f, path, name):
    h5a.delete(f[path].id, name.encode())

# Defects of the schema and of the cases.
for name, value in (("0", 0), ("3", 3), ("minus_1", -1), ("1_plus_2_to_32", (1 << 32) + 1),
                    ("string", "1"), ("two", [1, 1]), ("null", h5py.Empty("f4"))):
    bad("schema_" + name, "schema", "", lambda f, v=value: attr(f, "assay_schema", v))
bad("schema_float", "schema", "", lambda f: attr(f, "assay_schema", 1.0), inferred=True)
bad("schema_missing", "schema", "", lambda f: delete_attr(f, "/", "assay_schema"))
bad("cases_missing", "no case", "", bare=True)
bad("cases_empty", "no case", "", lambda f: group(f, "/cases"), bare=True)
bad("cases_only_empty_groups", "no case", "", lambda f: (group(f, "/cases/a"),
                                                         group(f, "/cases/b/d")), bare=True,
    inferred=True)
bad("cases_is_dataset", "not a group", "/cases", lambda f: store(f, "/cases", "float32", [1]),
    bare=True)
bad("case_is_dataset", "not a group", C, lambda f: store(f, C, "float32", [1]), inferred=True)
bad("op_missing", "case without op", C, lambda f: delete_attr(f, C, "op"))
bad("op_missing_golden_only", "case without op", C,
    lambda f: (delete_attr(f, C, "op"), remove(f, C + "/inputs", C + "/outputs")))
bad("nested_case", "nested case", C + "/d", lambda f: case(f, "c/d"))
bad("nested_case_deep", "nested case", C + "/d/e", lambda f: case(f, "c/d/e"))
for ch in "-:;*?[](){}<>,+#%@!\"'\\~&|$^` \t\n\r\x7f\u00e9\u2028":
    bad(f"name_{ord(ch):02x}", "case name", f"/cases/p{ch}q", lambda f, ch=ch: case(f, f"p{ch}q"))
for name in ("..", "inputs", "outputs", "golden"):
    bad(f"name_{name.replace('..', 'dotdot')}", "case name", f"/cases/{name}",
        lambda f, name=name: case(f, name))
bad("name_part", "case name", "/cases/a-b", lambda f: case(f, "a-b/c"))
bad("name_last_part", "case name", "/cases/a/b-c", lambda f: case(f, "a/b-c"))
bad("name_part_golden", "case name", "/cases/golden", lambda f: case(f, "golden/c"), inferred=True)
bad("inputs_is_dataset", "not a group", C + "/inputs",
    lambda f: store(f, C + "/inputs", "float32", [1]))
bad("outputs_is_dataset", "not a group", C + "/outputs",
    lambda f: store(f, C + "/outputs", "float32", [1]))
bad("golden_is_group", "not a dataset", G, lambda f: (remove(f, G), group(f, G)))
bad("input_is_group", "not a dataset", X, lambda f: (remove(f, X), group(f, X)), inferred=True)
bad("output_is_group", "not a dataset", C + "/outputs/r", lambda f: group(f, C + "/outputs/r"),
    inferred=True)
bad("input_is_named_type", "not a dataset", C + "/inputs/t",
    lambda f: F32.copy().commit(f[C + "/inputs"].id, b"t"), inferred=True)

# Defects of the attributes of a case.
COMPOUND = np.array((1, 2.0), dtype=[("i", "<i4"), ("f", "<f8")])
for name, what, value in (
        ("op", "int", 3), ("op", "float", 1.5), ("op", "bool", True),
        ("op", "two_strings", ["external", "matmul"]), ("op", "compound", COMPOUND),
        ("op", "null", h5py.Empty("f4")), ("op", "opaque", np.void(b"external")),
        ("op", "no_elements", np.zeros(0, "S8")),
        ("op", "invalid_utf8", np.bytes_(b"ext\xff\xfe")), ("rtol", "string", "0.1"),
        ("rtol", "two", [0.1, 0.2]), ("rtol", "null", h5py.Empty("f4")),
        ("rtol", "compound", COMPOUND), ("atol", "string", "0.1"), ("equal_nan", "string", "yes"),
        ("round_expected", "string", "no"), ("round_expected", "number", 2),
        ("seed", "string", "1"), ("seed", "fraction", 1.5),
        ("tags", "int", 1), ("standard", "int", 1), ("output_dtype", "int", 1)):
    bad(f"attr_{name}_{what}", "attribute", C, lambda f, n=name, v=value: attr(f[C], n, v),
        inferred=what in ("invalid_utf8", "fraction"))
bad("attr_rtol_huge", "attribute", C, lambda f: attr(f[C], "rtol", np.zeros(1 << 15)), latest=True)
bad("attr_op_huge", "attribute", C, lambda f: attr(f[C], "op", np.full(1 << 13, b"external")),
    latest=True)
bad("attr_output_dtype_unknown", "dtype unknown", C, lambda f: attr(f[C], "output_dtype", "float7"),
    inferred=True)

# Defects of the attribute dtype of a dataset, and stored types that cannot hold the dtype.
for obj, where in ((X, "input"), (G, "golden"), (C + "/outputs/rec", "output")):
    bad(f"dtype_missing_{where}", "dtype missing", obj, lambda f, p=obj: delete_attr(f, p, "dtype"))
for dtype in ("float7", "", "Float32", "float32 x", "uint128", "int2", "float8_e4m3",
              "complex256", "external", "floating", "<f4"):
    bad("dtype_unknown_" + (re.sub(r"\W", "_", dtype) or "empty"), "dtype unknown", X,
        lambda f, d=dtype: attr(f[X], "dtype", d))
bad("dtype_int", "attribute", X, lambda f: attr(f[X], "dtype", 1))
bad("dtype_two", "attribute", X, lambda f: attr(f[X], "dtype", ["float32", "float32"]))

TYPES = {       # HDF5 types by the names that they have in STORED
    "f16": float_type("float16"), "bf16": float_type("bfloat16"), "e5m2": float_type("float8_e5m2"),
    "e4m3": float_type("float8_e4m3fn"), "e4m3_bias8": float_type("float8_e4m3fnuz"),
    "e5m2_bias16": float_type("float8_e5m2fnuz"), "e3m2": float_type("float6_e3m2fn"),
    "f16_bias16": float_type("float16", ebias=16), "f16_in_4_bytes": float_type("float16", size=4),
    "f16_pad_one": float_type("float16", inpad=h5t.PAD_ONE),
    "f16_msbset": float_type("float16", norm=h5t.NORM_MSBSET),
    "f16_no_implied_bit": float_type("float16", norm=h5t.NORM_NONE),
    "bf16_bias128": float_type("bfloat16", ebias=128), "f64_bias1022": changed(F64, ebias=1022),
    "float32": F32, "float64": F64, "int8": I8, "int16": I16, "int32": I32, "int64": I64,
    "uint8": U8, "uint16": U16, "uint32": U32, "uint64": U64,
    "uint16_of_12_bits": changed(U16, precision=12), "int32_of_24_bits": changed(I32, precision=24),
    "bitfield": h5t.STD_B8LE, "opaque1": opaque(1), "opaque2": opaque(2), "opaque3": opaque(3),
    "opaque4": opaque(4), "opaque8": opaque(8), "opaque_1GiB": opaque(1 << 30),
    "bool_enum": BOOL, "other_enum": enum_type(RED=0, GREEN=1),
    "swapped_enum": enum_type(FALSE=1, TRUE=0),
    "compound": h5t.py_create(COMPOUND.dtype), "complex": h5t.py_create(np.dtype("c8")),
    "string": string_type(4, h5t.STR_NULLPAD), "array": h5t.array_create(F32, (2,)),
    "vlen_string": h5t.py_create(h5py.string_dtype(), logical=True), "vlen": h5t.vlen_create(F32),
    "complex_swapped": h5t.py_create(np.dtype([("i", "<f4"), ("r", "<f4")])),
    "complex_mixed": h5t.py_create(np.dtype([("real", "<f4"), ("imag", ">f4")])),
    "complex_of_three": h5t.py_create(np.dtype([("r", "<f4"), ("i", "<f4"), ("k", "<f4")])),
    "complex_of_integers": h5t.py_create(np.dtype([("r", "<i4"), ("i", "<i4")])),
    "reference": h5t.STD_REF_OBJ, "region": h5t.STD_REF_DSETREG}
# For each dtype, the stored types that cannot hold it. A ? marks those that are inferred (make_files.py).
STORED = {
    "float64": "float32 int64 f64_bias1022 opaque8",
    "float32": "int32 uint32 float64 f16 opaque4 compound complex string array vlen_string vlen "
               "region",
    "float16": "float32 bf16 f16_bias16 f16_in_4_bytes? f16_msbset f16_no_implied_bit f16_pad_one? "
               "uint8 int16? uint32 opaque1 opaque3 uint16_of_12_bits?",
    "bfloat16": "float64 float32 f16 bf16_bias128 opaque1",
    "float8_e5m2": "e4m3 e5m2_bias16 f16 opaque2 uint16?",
    "float8_e4m3fn": "e5m2 e4m3_bias8 uint16 float32 int8? opaque1?",
    "float8_e4m3fnuz": "e4m3 opaque1?", "float8_e5m2fnuz": "e5m2",
    "hifloat8": "e5m2 float32", "float8_e8m0fnu": "e5m2 float32", "float6_e2m3fn": "e3m2",
    "float6_e3m2fn": "uint16", "float4_e2m1fn": "uint16 float32",
    "float_e5m6": "uint8 float32 f16 opaque2?",
    "tfloat32": "float64 uint32? f16", "hfloat32": "int32 uint16",
    "int8": "uint8 int32", "uint8": "int8 bool_enum bitfield opaque1 opaque_1GiB",
    "uint16": "int16 f16", "uint32": "int32", "uint64": "int64", "uint4": "int8 uint16",
    "int4": "uint16", "int16": "uint16", "int32": "uint32 int64 float32 int32_of_24_bits?",
    "int64": "uint64 float64 reference",
"complex128": "complex float64 opaque8",
    "complex64": "float64 float32 compound complex_swapped complex_mixed complex_of_three "
                 "complex_of_integers uint64 opaque8 array",
    "complex32": "complex float32 uint32 opaque4",
    "bool": "int8? int32 bitfield? other_enum? swapped_enum? opaque1?"}
# Makes a file for each dtype and wrong type. Some datasets are declared and not written.
for dtype, what in ((d, what) for d, names in STORED.items() for what in names.split()):
    name, tid = what.rstrip("?"), TYPES[what.rstrip("?")]
    declared = name in ("vlen_string", "vlen", "reference", "region", "opaque_1GiB")
    raw = None if declared else np.zeros(4, f"V{tid.get_size()}")
    bad(f"stored_{dtype}_as_{name}", "stored type", X,
        lambda f, d=dtype, t=tid, raw=raw: store(f, X, d, raw, tid=t), inferred="?" in what)
for dtype, what, tid, values in (
        ("bool", "two", U8, [0, 1, 2]), ("bool", "255", U8, [255]),
        ("bool", "enum_two", BOOL, [0, 2]),
        ("tfloat32", "lowest_bit", F32, [0x3F800000, 0x3F800001]),
        ("tfloat32", "highest_bit", F32, [0x3F801000]), ("tfloat32", "nan", F32, [0x7F800001]),
        ("hfloat32", "lowest_bit", F32, [0x80000001]),
        ("hfloat32", "highest_bit", F32, [0x3F800800]), ("hfloat32", "nan", F32, [0xFF800001]),
        ("tfloat32", "big_endian", h5t.IEEE_F32BE, [0x3F800001]),
        ("float_e5m6", "bit_12", U16, [0x0FFF, 0x1000]), ("float_e5m6", "bit_15", U16, [0x8000]),
        ("float6_e2m3fn", "bit_6", U8, [0x3F, 0x40]), ("float6_e3m2fn", "bit_7", U8, [0x80]),
        ("uint4", "bit_4", U8, [0x0F, 0x10]), ("int4", "bit_4", U8, [0x0F, 0x10]),
        ("int4", "too_small", I8, [0x07, 0xF7]), ("int4", "too_large", I8, [0x10]),
        ("float4_e2m1fn", "bit_4", U8, [0x0F, 0x10]), ("float4_e2m1fn", "bit_7", U8, [0x80]),
        ("float6_e3m2fn", "float_type_bit_6", float_type("float6_e3m2fn"), [0x40]),
        ("float4_e2m1fn", "float_type_bit_4", float_type("float4_e2m1fn"), [0x10])):
    bad(f"value_{dtype}_{what}", "value", X,
        lambda f, d=dtype, t=tid, v=values: store(f, X, d, np.array(v, DTYPES[d][0]), tid=t))
bad("value_last_chunk", "value", X, lambda f: store(
    f, X, "bool", [0] * 9999 + [2], chunk=(1000,), filters=("shuffle", "deflate")))
bad("null_dataspace", "null dataspace", X, lambda f: store(f, X, "float32", shape="null"))

# Storage outside the file, and links that lead out of the file, nowhere, in circles or too deep. An external link leads
# to a valid object, unless the name of its file says otherwise.
OTHER, N = "../good/native.h5", "/cases/native/float32"
for obj, there in ((X, N + "/inputs/x"), (G, N + "/golden"), (C + "/inputs", N + "/inputs"),
                   (C + "/outputs/far", N + "/golden"), (C, N), ("/cases", "/cases")):
    bad("external_link_" + obj[1:].replace("/", "_"), "external link", obj,
        lambda f, p=obj, t=there: link(f, p, h5py.ExternalLink(OTHER, t)))
bad("external_link_to_nowhere", "external link", X,
    lambda f: link(f, X, h5py.ExternalLink("no_such_file.h5", "/x")))
bad("external_link_to_itself", "external link", X,
    lambda f: link(f, X, h5py.ExternalLink("external_link_to_itself.h5", "/cases/ok/inputs/x")))
for name, obj, door, soft in (("", X, "/", {X: "/door" + N + "/inputs/x"}),
                              ("s", X, N + "/inputs/x", {"/step": "/door", X: "/step"}),
                              ("_case", C, "/", {C: "/door" + N})):
    bad(f"soft_link{name}_outside", "external link", obj, lambda f, door=door, soft=soft: (
        link(f, "/door", h5py.ExternalLink(OTHER, door)),
        [link(f, path, h5py.SoftLink(to)) for path, to in soft.items()]))
for obj in (X, G, C):
    bad("soft_link_dangling_" + obj[1:].replace("/", "_"), "dangling soft link", obj,
        lambda f, p=obj: link(f, p, h5py.SoftLink("/no/such/object")))
bad("soft_link_to_itself", "link cycle", X, lambda f: link(f, X, h5py.SoftLink(X)))
bad("soft_link_pair", "link cycle", X, lambda f: (
    link(f, X, h5py.SoftLink("y")), link(f, C + "/inputs/y", h5py.SoftLink("x"))))
bad("cycle_group", "link cycle", "/cases/g/g",
    lambda f: (group(f, "/cases/g"), link(f, "/cases/g/g", f["/cases/g"])))
bad("cycle_of_two", "link cycle", "/cases/g/h/g",
    lambda f: (group(f, "/cases/g/h"), link(f, "/cases/g/h/g", f["/cases/g"])))
bad("cycle_cases", "link cycle", "/cases/g", lambda f: link(f, "/cases/g", f["/cases"]))
bad("cycle_soft", "link cycle", "/cases/g/up",
    lambda f: (group(f, "/cases/g"), link(f, "/cases/g/up", h5py.SoftLink("/cases"))))
bad("cycle_case", "nested case", C + "/again", lambda f: link(f, C + "/again", f[C]))
bad("cycle_in_case", "link cycle", C + "/extra/up",
    lambda f: (group(f, C + "/extra"), link(f, C + "/extra/up", f[C + "/extra"])), inferred=True)
bad("cycle_case_in_case", "nested case", C + "/extra/up",
    lambda f: (group(f, C + "/extra"), link(f, C + "/extra/up", f[C])))
bad("deep", "too deep", "/cases/g/g/g", lambda f: case(f, "g/" * 100 + "c"), inferred=True)

def maze(f):
    """Makes 40 groups with 2^40 paths through them."""
    for i in range(40):
        group(f, f"/maze/{i}")
    for i in range(40):
        for name in "ab":
            link(f, f"/maze/{i}/{name}", f[f"/maze/{i + 1}"] if i < 39 else f["/cases/ok"])
    link(f, "/cases/m", f["/maze/0"])

bad("maze", "too many ways", "/cases/m", maze, inferred=True)
for name, file, size in (("", b"raw.bin", 16), ("_missing", b"no_such_file.bin", 16),
                         ("_absolute", b"/etc/hostname", 16),
                         ("_unlimited", b"raw.bin", h5f.UNLIMITED)):
    bad("external_storage" + name, "external storage", X,
        lambda f, file=file, size=size: store(
            f, X, "float32", plist=lambda p: p.set_external(file, 0, size)))
FOUR = h5s.create_simple((4,))
for name, source, there in (("", b"../good/schema_int8.h5", X), ("_missing", b"no_such_file.h5", X),
                            ("_same_file", b".", "/cases/ok/inputs/x")):
    bad("virtual" + name, "virtual dataset", X, lambda f, source=source, there=there: store(
        f, X, "float32", plist=lambda p: p.set_virtual(FOUR, source, there.encode(), FOUR)))

# Filters, sizes.
def optional(number, *values):
    return lambda p: p.set_filter(number, h5z.FLAG_OPTIONAL, values)

for name, set_it in (("lzf", optional(h5z.FILTER_LZF)), ("nbit", optional(h5z.FILTER_NBIT)),
                     ("unregistered", optional(32004, 1)),
                     ("scaleoffset", lambda p: p.set_scaleoffset(h5z.SO_FLOAT_DSCALE, 2)),
                     ("szip", lambda p: p.set_szip(h5z.SZIP_NN_OPTION_MASK, 8)),
                     ("after_deflate", lambda p: (p.set_deflate(6), optional(h5z.FILTER_LZF)(p)))):
    bad("filter_" + name, "filter", X,
        lambda f, s=set_it: store(f, X, "float32", np.arange(64), chunk=(16,), plist=s))
for name, inferred, kw in (
        ("chunked", False, dict(shape=(1 << 40,), chunk=(1 << 10,))),
        ("contiguous", False, dict(shape=(1 << 40,))),
        ("deflated", False, dict(shape=(1 << 20, 1 << 20), chunk=(64, 64), filters=("deflate",))),
        ("product_is_0_mod_2_64", False, dict(shape=(1 << 31, 1 << 31), chunk=(1, 1))),
        ("product_is_16_mod_2_64", False, dict(shape=((1 << 62) + 4,), chunk=(1,))),
        ("rank_32", False, dict(shape=(4,) * 32, chunk=(1,) * 32)),
        ("beside_0", True, dict(shape=(1 << 62, 1 << 62, 0), chunk=(1, 1, 1))),
        ("number_of_chunks", True, dict(shape=(1 << 25,), chunk=(1,))),
        ("chunk", True, dict(shape=(4,), chunk=(1 << 29,), maxshape=(h5s.UNLIMITED,),
                             filters=("deflate",)))):
    bad("size_" + name, "size", X, lambda f, kw=kw: store(f, X, "float32", **kw), inferred=inferred)

# Files that are cut or damaged.
def flip(marker, at=0, mask=0xFF, last=False):
    """Returns a patch that inverts the bits `mask` of one byte: `at` bytes after the beginning of a marker, which must
    be there."""
    def patch(data):
        where = (data.rindex(marker) if last else data.index(marker)) + at
        return data[:where] + bytes([data[where] ^ mask]) + data[where + 1:]
    return patch

WAVE = (np.arange(1000) % 37 * 0.125).astype("<f4")
bad("text", "not an HDF5 file", "", patch=lambda b: b"op,x,golden\nrelu,1,1\n" * 50)
bad("zero_bytes", "not an HDF5 file", "", patch=lambda b: b"")
bad("one_byte", "not an HDF5 file", "", patch=lambda b: b[:1])
bad("zeros", "not an HDF5 file", "", patch=lambda b: bytes(len(b)))
bad("signature_broken", "not an HDF5 file", "", patch=flip(b"\x89HDF", 1))
bad("signature_only", DAMAGED, "", patch=lambda b: b[:8])
for latest in (False, True):
    for what, cut in (("half", lambda n: n // 2), ("three_quarters", lambda n: n * 3 // 4),
                      ("100_bytes", lambda n: 100), ("last_byte", lambda n: n - 1)):
        bad(f"truncated_{what}{'_latest' * latest}", DAMAGED, "",
            patch=lambda b, cut=cut: b[:cut(len(b))], latest=latest)
bad("superblock_version", DAMAGED, "", patch=flip(b"\x89HDF", 8))
bad("superblock_checksum", DAMAGED, "", patch=flip(b"\x89HDF", 44), latest=True)
for marker in ("TREE", "SNOD", "HEAP"):
    for last in (False, True):
        bad(f"metadata_{marker}_{'last' if last else 'first'}", DAMAGED, "",
            patch=flip(marker.encode(), 1, last=last))
bad("metadata_GCOL", DAMAGED, "", patch=flip(b"GCOL"))      # the global heap, which holds variable-length strings
bad("metadata_checksum", DAMAGED, "", patch=flip(b"OHDR", 20, last=True), latest=True)
bad("metadata_attribute_name", DAMAGED, "", patch=flip(b"dtype\0", 1), latest=True)  # checksum
for name, reason, count in (("shape", "size", 1 << 40), ("shape_by_one", DAMAGED, 12346)):
    bad("metadata_" + name, reason, X, lambda f: store(f, X, "float32", np.arange(12345)),
        patch=lambda b, n=count: b.replace((12345).to_bytes(8, "little"), n.to_bytes(8, "little")))
DEFLATED, SHUFFLED = (zlib.compress(data.tobytes(), 5)
                      for data in (WAVE, WAVE.view("u1").reshape(-1, 4).T))
for name, filters, patch in (
        ("fletcher32", "fletcher32", flip(WAVE.tobytes(), 2000, 0x10)),
        ("checksum", "fletcher32", flip(WAVE.tobytes(), 4000, 0x10)),
        ("deflate", "deflate", flip(DEFLATED, len(DEFLATED) // 2)),
        ("deflate_header", "deflate", flip(DEFLATED)),
        ("adler32", "deflate", flip(DEFLATED, len(DEFLATED) - 1)),
        ("all_filters", "shuffle deflate fletcher32", flip(SHUFFLED, 60))):
    bad("chunk_" + name, DAMAGED, X,
        lambda f, n=filters: store(f, X, "float32", WAVE, chunk=(1000,), filters=n.split()),
        patch=patch)
# Chunks whose data are shorter or longer than the chunk. HDF5 1.10.8 reads them without an error,
# and fills short ones with what was in memory.
for name, filters, mask, data in (
        ("short", ("deflate",), 0, zlib.compress(bytes(16))),
        ("long", ("deflate",), 0, zlib.compress(bytes(5000))),
        ("much_longer", ("deflate",), 0, zlib.compress(bytes(1 << 24))),
        ("no_elements", ("deflate",), 0, zlib.compress(b"")),
        ("short_unfiltered", ("deflate",), 1, bytes(16)),
        ("long_unfiltered", ("deflate",), 1, bytes(4001)),
        ("half_a_stream", ("deflate",), 0, zlib.compress(WAVE.tobytes())[:20]),
        ("shorter_than_a_checksum", ("fletcher32",), 0, bytes(3)),
        ("shuffled_short", ("shuffle",), 0, bytes(3999)),
        ("stored_long", ("deflate",), 1, bytes(20000))):
    bad("chunk_" + name, DAMAGED, X, lambda f, filters=filters, data=data, mask=mask: store(
        f, X, "float32", shape=(1000,), chunk=(1000,),
        filters=filters).id.write_direct_chunk((0,), data, filter_mask=mask), inferred=True)
# Elements that were never written have the fill value. These files have none, so HDF5 1.10.8 returns what was in
# memory, and the files must be refused.
NO_FILL = lambda p: p.set_fill_time(h5d.FILL_TIME_NEVER)
bad("never_written", "never written", X, lambda f: store(f, X, "float32", plist=NO_FILL),
    inferred=True)
bad("never_written_chunks", "never written", X,
    lambda f: store(f, X, "float32", chunk=(2,), plist=NO_FILL), inferred=True)
bad("never_written_chunk", "never written", X,
    lambda f: store(f, X, "float32", shape=(8,), chunk=(4,), plist=NO_FILL)
    .id.write_direct_chunk((4,), bytes(16)), inferred=True)

# Schema 2: errors that schema 1 refuses are refused in the groups of several outputs, too.
S = "/cases/s"
SY, SO = S + "/golden/y", S + "/outputs/rec/y"

def several(name, reason, obj, change, **kw):
    bad("several_" + name, reason, obj, lambda f: (several_case(f, "s"), change(f)), **kw)

several("golden_is_dataset", "not a group", S + "/golden",
        lambda f: (remove(f, S + "/golden"), store(f, S + "/golden", "float64", [1])))
several("output_is_dataset", "not a group", S + "/outputs/rec",
        lambda f: (remove(f, S + "/outputs/rec"), store(f, S + "/outputs/rec", "float32", [1])))
several("golden_is_empty", "empty group", S + "/golden",
        lambda f: (remove(f, S + "/golden"), group(f, S + "/golden")), inferred=True)
several("output_is_empty", "empty group", S + "/outputs/none",
        lambda f: group(f, S + "/outputs/none"), inferred=True)
several("golden_of_groups", "not a dataset", S + "/golden/g", lambda f: group(f, S + "/golden/g/h"))
several("output_of_groups", "not a dataset", S + "/outputs/rec/g",
        lambda f: group(f, S + "/outputs/rec/g"))
several("output_name", "output name", S + "/outputs/rec/a b",
        lambda f: store(f, S + "/outputs/rec/a b", "float32", [1]))
several("golden_name", "output name", S + "/golden/a-b",
        lambda f: store(f, S + "/golden/a-b", "float32", [1]))
for at, where in ((SY, "golden"), (SO, "output"), (S + "/inputs/l/1", "list")):
    several(f"dtype_missing_{where}", "dtype missing", at,
            lambda f, at=at: delete_attr(f, at, "dtype"))
    several(f"stored_{where}", "stored type", at,
            lambda f, at=at: store(f, at, "float32", [1.5], tid=F64))
    several(f"external_link_{where}", "external link", at, lambda f, at=at: link(
        f, at, h5py.ExternalLink(OTHER, N + "/golden")))
    several(f"external_storage_{where}", "external storage", at, lambda f, at=at: store(
        f, at, "float32", plist=lambda p: p.set_external(b"raw.bin", 0, 16)))
    several(f"virtual_{where}", "virtual dataset", at, lambda f, at=at: store(
        f, at, "float32", plist=lambda p: p.set_virtual(
            FOUR, b".", b"/cases/ok/inputs/x", FOUR)))
    several(f"size_{where}", "size", at, lambda f, at=at: store(
        f, at, "float32", shape=(1 << 40,), chunk=(1 << 10,)))
    several(f"dangling_{where}", "dangling soft link", at,
            lambda f, at=at: link(f, at, h5py.SoftLink("/no/such/object")))
    several(f"null_{where}", "null dataspace", at,
            lambda f, at=at: store(f, at, "float32", shape="null"))
several("external_group", "external link", S + "/outputs/rec", lambda f: link(
    f, S + "/outputs/rec", h5py.ExternalLink(OTHER, "/cases")))
several("rtol_of_output", "attribute", SY, lambda f: attr(f[SY], "rtol", "a"))
several("output_dtype_of_output", "dtype unknown", SY,
        lambda f: attr(f[SY], "output_dtype", "float7"), inferred=True)
several("list_empty", "empty group", S + "/inputs/e", lambda f: group(f, S + "/inputs/e"),
        inferred=True)
several("list_gap", "list", S + "/inputs/l", lambda f: remove(f, S + "/inputs/l/1"))
several("list_name", "list", S + "/inputs/l", lambda f: store(f, S + "/inputs/l/x", "int8", [1]))
several("list_leading_zero", "list", S + "/inputs/l",
        lambda f: (remove(f, S + "/inputs/l/2"), store(f, S + "/inputs/l/02", "int8", [1])))
several("list_of_lists", "not a dataset", S + "/inputs/l/3", lambda f: group(f, S + "/inputs/l/3/0"))
several("absent_with_elements", "absent", S + "/inputs/x",
        lambda f: attr(f[S + "/inputs/x"], "absent", np.int64(1)))
several("absent_word", "attribute", S + "/inputs/bias",
        lambda f: attr(f[S + "/inputs/bias"], "absent", "yes"))
several("absent_two", "attribute", S + "/inputs/bias",
        lambda f: attr(f[S + "/inputs/bias"], "absent", np.int64(2)), inferred=True)
several("absent_outside", "external storage", S + "/inputs/bias", lambda f: attr(store(
    f, S + "/inputs/bias", "uint8", shape=(0,), plist=lambda p: p.set_external(b"raw.bin", 0, 0)),
    "absent", np.int64(1)))
bad("absent_in_schema_1", "absent", X, lambda f: absent(f, X), inferred=True)
