"""Number formats as HDF5 types. HDF5 never converts a value: every read and write uses the file's
own type, and the bits are handed on as they lie."""
from h5py import h5t

from .tensor import FORMATS

ENUM_NAMES = (b"FALSE", b"TRUE")


def _float_type(fmt):
    """The float type with a format's fields."""
    if fmt.storage_bytes == 8:
        return h5t.IEEE_F64LE.copy()
    stored = h5t.IEEE_F32LE.copy()
    if fmt.storage_bytes == 4:  # tfloat32 and hfloat32 too
        return stored
    exponent, mantissa, bias = fmt.fields
    stored.set_fields(fmt.bits - 1, mantissa, exponent, 0, mantissa)
    stored.set_precision(fmt.bits)
    stored.set_size(fmt.storage_bytes)
    stored.set_ebias(bias)
    return stored


def _integer_type(width, signed):
    return {(1, True): h5t.STD_I8LE, (2, True): h5t.STD_I16LE, (4, True): h5t.STD_I32LE,
            (8, True): h5t.STD_I64LE, (1, False): h5t.STD_U8LE,
            (2, False): h5t.STD_U16LE, (4, False): h5t.STD_U32LE,
            (8, False): h5t.STD_U64LE}[width, signed].copy()


# The members of a complex element: those that h5py makes its complex numbers of, and those that the
# schema writes where it has none.
_PARTS = (b"r", b"i")
_LONG_PARTS = (b"real", b"imag")


def _part(fmt):
    return FORMATS[f"float{8 * fmt.code_bytes}"]


def _complex_type(fmt):
    stored = h5t.create(h5t.COMPOUND, fmt.storage_bytes)
    for i, name in enumerate(_PARTS if fmt.native else _LONG_PARTS):
        stored.insert(name, i * fmt.code_bytes, _float_type(_part(fmt)))
    return stored


def _complex_order(tid, fmt):
    names = tuple(tid.get_member_name(i) for i in range(tid.get_nmembers()))
    if fmt.parts != 2 or names not in (_PARTS, _LONG_PARTS) or tid.get_size() != fmt.storage_bytes:
        return None
    members = [tid.get_member_type(i) for i in range(2)]
    if tid.get_member_offset(1) != fmt.code_bytes or any(m.get_class() != h5t.FLOAT for m in members):
        return None
    orders = {byte_order(member, _part(fmt)) for member in members}
    return orders.pop() if len(orders) == 1 else None


def stored_type(fmt):
    """The type that the schema writes for a format."""
    if fmt.parts == 2:
        return _complex_type(fmt)
    if fmt.stored_as_float:
        return _float_type(fmt)
    return _integer_type(fmt.storage_bytes, fmt.kind == "signed" and fmt.bits >= 8)


def is_bool_enum(tid):
    """Whether a type is the enumeration that h5py stores a bool as."""
    if tid.get_size() != 1 or tid.get_nmembers() != 2:
        return False
    members = {tid.get_member_name(i): tid.get_member_value(i) for i in range(2)}
    return members == {name: value for value, name in enumerate(ENUM_NAMES)}


def words(tid):
    """A stored type in words, for messages."""
    kind, size = tid.get_class(), tid.get_size()
    if kind == h5t.INTEGER:
        sign = " signed" if tid.get_sign() == h5t.SGN_2 else "n unsigned"
        return f"a{sign} {8 * size}-bit integer"
    if kind == h5t.FLOAT:
        _, _, exponent, _, mantissa = tid.get_fields()
        return (f"a {8 * size}-bit float (exponent {exponent} bits, mantissa {mantissa}, bias "
                f"{tid.get_ebias()})")
    if kind == h5t.OPAQUE:
        return f"{size} opaque bytes"
    return {h5t.STRING: "a string", h5t.COMPOUND: "a compound", h5t.ENUM: "an enumeration",
            h5t.REFERENCE: "a reference", h5t.ARRAY: "an array",
            h5t.VLEN: "a variable-length sequence", h5t.BITFIELD: "a bit field",
            }.get(kind, "a type of another class")


def byte_order(tid, fmt):
    """"<" or ">", as a stored type holds elements of a format; None where it cannot hold it."""
    kind = tid.get_class()
    if kind == h5t.OPAQUE:
        fits = (fmt.stored_as_float and fmt.storage_bytes <= 2 and
                tid.get_size() == fmt.storage_bytes)
        return "<" if fits else None
    if kind == h5t.ENUM:
        return "<" if fmt.kind == "bool" and is_bool_enum(tid) else None
    if kind == h5t.COMPOUND:
        return _complex_order(tid, fmt)
    if kind not in (h5t.INTEGER, h5t.FLOAT) or fmt.parts == 2:
        return None
    readable = [_float_type(fmt)] if fmt.fields else []
    if fmt.kind != "float" or fmt.storage_bytes <= 2:
        readable.append(_integer_type(fmt.storage_bytes, fmt.kind == "signed"))
    if fmt.name == "int4":  # the codes
        readable.append(_integer_type(1, False))
    for candidate in readable:
        for order, sign in ((h5t.ORDER_LE, "<"), (h5t.ORDER_BE, ">")):
            candidate.set_order(order)
            if tid.equal(candidate):
                return sign
    return None
