"""Tensors: bits, the name of their format and a shape.

Values are never converted: what numpy, ml_dtypes or PyTorch hold is taken as the bit patterns that
it is, and given back so. NaN payloads, signed zeros and subnormals stay as they are.
"""
import dataclasses
import re
import sys
from typing import Optional, Tuple

import numpy as np


@dataclasses.dataclass(frozen=True)
class Format:
    """One number format, as far as storing it goes."""
    name: str                     # in ml_dtypes, and in a dataset's attribute `dtype`
    kind: str                     # "float", "signed", "unsigned", "bool" or "complex"
    storage_bytes: int            # of one element
    bits: int                     # that may be other than zero, above `padding`
    padding: int = 0              # low bits that are zero
    fields: Optional[Tuple[int, int, int]] = None  # exponent and mantissa bits, bias
    native: Optional[str] = None  # the numpy dtype that holds its values

    @property
    def mask(self):
        """The bits of a stored element that a code of the format may have set."""
        return ((1 << self.bits) - 1) << self.padding

    @property
    def parts(self):
        """How many numbers an element is: two of a complex one, the real part first."""
        return 2 if self.kind == "complex" else 1

    @property
    def code_bytes(self):
        """The width of one of them."""
        return self.storage_bytes // self.parts

    @property
    def stored_as_float(self):
        """Whether the schema writes an HDF5 float type."""
        return self.kind == "float" and (self.storage_bytes >= 4 or
                                         self.name in ("float16", "bfloat16", "float8_e5m2"))


FORMATS = {f.name: f for f in (
    Format("float64", "float", 8, 64, fields=(11, 52, 1023), native="float64"),
    Format("float32", "float", 4, 32, fields=(8, 23, 127), native="float32"),
    Format("float16", "float", 2, 16, fields=(5, 10, 15), native="float16"),
    Format("bfloat16", "float", 2, 16, fields=(8, 7, 127)),
    Format("tfloat32", "float", 4, 19, padding=13, fields=(8, 23, 127), native="float32"),
    Format("hfloat32", "float", 4, 20, padding=12, fields=(8, 23, 127), native="float32"),
    Format("float8_e4m3fn", "float", 1, 8, fields=(4, 3, 7)),
    Format("float8_e5m2", "float", 1, 8, fields=(5, 2, 15)),
    Format("float8_e4m3fnuz", "float", 1, 8, fields=(4, 3, 8)),
    Format("float8_e5m2fnuz", "float", 1, 8, fields=(5, 2, 16)),
    Format("float8_e8m0fnu", "float", 1, 8),
    Format("float6_e2m3fn", "float", 1, 6, fields=(2, 3, 1)),
    Format("float6_e3m2fn", "float", 1, 6, fields=(3, 2, 3)),
    Format("float4_e2m1fn", "float", 1, 4, fields=(2, 1, 1)),
    Format("float4_e1m2fn", "float", 1, 4, fields=(1, 2, 1)),
    Format("float_e5m6", "float", 2, 12),
    Format("hifloat8", "float", 1, 8),
    Format("int8", "signed", 1, 8, native="int8"),
    Format("uint8", "unsigned", 1, 8, native="uint8"),
    Format("int16", "signed", 2, 16, native="int16"),
    Format("uint16", "unsigned", 2, 16, native="uint16"),
    Format("int32", "signed", 4, 32, native="int32"),
    Format("uint32", "unsigned", 4, 32, native="uint32"),
    Format("int64", "signed", 8, 64, native="int64"),
    Format("uint64", "unsigned", 8, 64, native="uint64"),
    Format("int4", "signed", 1, 4),
    Format("uint4", "unsigned", 1, 4),
    Format("bool", "bool", 1, 1, native="bool"),
    Format("complex128", "complex", 16, 128, native="complex128"),
    Format("complex64", "complex", 8, 64, native="complex64"),
    Format("complex32", "complex", 4, 32),
)}


# What others call the formats, as framework/assay/format/format.cc has it; a test compares the two.
ALIASES = {"half": "float16", "float": "float32", "single": "float32", "double": "float64",
           "bf16": "bfloat16", "tf32": "tfloat32", "hf32": "hfloat32", "hif8": "hifloat8",
           "short": "int16", "int": "int32", "long": "int64",
           "float4_e1m2": "float4_e1m2fn",
           "chalf": "complex32", "cfloat": "complex64", "cdouble": "complex128"}


def _canonical_name(name):
    name = re.sub("^torch[.]", "", getattr(name, "__name__", str(name)))  # dtypes themselves, too
    return ALIASES.get(name, re.sub("^fp(?=[1-9])", "float", name))


def find_format(name):
    """The row of a name, or of what others call it (fp16, half, torch.bfloat16, fp8_e4m3fn); None
    where there is none."""
    return FORMATS.get(_canonical_name(name))


def no_dtype(name):
    """What is said of a name that is none."""
    family = [known for known in FORMATS if known.startswith(_canonical_name(name) + "_")]
    if family and family[0].startswith("float"):
        return f"'{name}' may be {', '.join(family)}: which one?"
    return f"'{name}' is no dtype that assay knows; `assay list formats` shows all"


def format_named(name):
    """The row of a name, as find_format has it. Raises ValueError with the known ones."""
    fmt = find_format(name)
    if fmt is None:
        raise ValueError(no_dtype(name))
    return fmt


def invalid_element(fmt, bits):
    """Says which element is the first that is no code of the format; "" where there is none."""
    if fmt.bits == 8 * fmt.storage_bytes:
        return ""
    beyond = ~fmt.mask & ((1 << 8 * fmt.storage_bytes) - 1)
    wrong = (bits & bits.dtype.type(beyond)) != 0
    if not wrong.any():
        return ""
    at = np.unravel_index(int(np.argmax(wrong)), wrong.shape)
    return (f"element [{', '.join(str(int(i)) for i in at)}] is 0x{int(bits[at]):x}, which is no "
            f"{fmt.name} (it has bits beyond the format)")


class Tensor:
    """Bit patterns with the name of their format.

    dtype       the format's name
    bits        numpy array of the patterns: unsigned, little-endian, C order, as wide as
                FORMATS[dtype].storage_bytes; of complex elements those of both parts, half as wide,
                in another, last dimension of 2
    attributes  what else a file says of the dataset: str, int, float or bool by name
    """
    __slots__ = ("dtype", "bits", "attributes")
    __hash__ = None

    def __init__(self, dtype, bits, attributes=None):
        """Raises ValueError where an element is no code of the format."""
        fmt = format_named(dtype)
        bits = np.asarray(bits, order="C")
        if bits.dtype != np.dtype(f"<u{fmt.code_bytes}"):
            raise TypeError(f"the bits of {dtype} are uint{8 * fmt.code_bytes}, not {bits.dtype}")
        if fmt.parts == 2 and bits.shape[-1:] != (2,):
            raise ValueError(f"the bits of {dtype} have a last dimension of 2, its parts: not the "
                             f"shape {bits.shape}")
        problem = invalid_element(fmt, bits)
        if problem:
            raise ValueError(problem)
        self.dtype, self.bits, self.attributes = fmt.name, bits, dict(attributes or {})

    @classmethod
    def of(cls, array, dtype=None):
        """The bits of an array, which it may share; a Tensor is returned as it is.

        array  a numpy array (of numpy's dtypes or those of ml_dtypes), a PyTorch tensor on any
               device, or what np.asarray takes
        dtype  the format's name, or what others call it (bf16, torch.half), where the array's own dtype does not say it: bit patterns (an
               unsigned array of the storage's width), float32 that holds tfloat32 or hfloat32,
               and floats in a last dimension of 2 that are the parts of complex numbers (float16 of
               complex32, which numpy lacks). It never converts.

        Raises TypeError where the array's dtype cannot hold the format, ValueError where an element
        is no code of it.
        """
        if isinstance(array, Tensor):
            if dtype is not None and format_named(dtype).name != array.dtype:
                raise TypeError(f"this is a tensor of {array.dtype}, not of {dtype}")
            return array
        held, bits = _bits_of(array)
        if dtype is None:
            if held not in FORMATS or held == "uint16":
                raise TypeError(_no_format(held))
            return cls(held, codes(FORMATS[held], bits))
        fmt = format_named(dtype)
        dtype = fmt.name
        if fmt.parts == 2 and held == f"float{8 * fmt.code_bytes}":
            return cls(dtype, bits)
        narrow = fmt.kind in ("signed", "unsigned") and fmt.bits < 8
        patterns = (held == f"uint{8 * fmt.storage_bytes}" and
                    (fmt.kind in ("float", "bool") or narrow)) or (dtype, held) == ("int4", "int8")
        if not patterns and held not in (dtype, fmt.native):
            raise TypeError(f"an array of {held} holds no {dtype}, and nothing is converted here: "
                            f"round to it yourself, or give its bit patterns as "
                            f"uint{8 * fmt.storage_bytes}")
        return cls(dtype, codes(fmt, bits))

    @property
    def shape(self):
        return self.bits.shape[:-1] if FORMATS[self.dtype].parts == 2 else self.bits.shape

    def numpy(self):
        """A numpy array of the same bits: of numpy's own dtype, else of ml_dtypes'. Raises
        TypeError where neither has the format; `bits` then is all there is. complex32 comes as the
        float16 of its parts, in another, last dimension of 2."""
        fmt = FORMATS[self.dtype]
        if fmt.parts == 2:
            parts = self.bits.view(f"<f{fmt.code_bytes}")
            return parts.view(f"<c{fmt.storage_bytes}")[..., 0] if fmt.native else parts
        if fmt.native:
            return self.bits.view(np.dtype(fmt.native).newbyteorder("<"))
        try:
            import ml_dtypes
        except ImportError:
            raise TypeError(f"numpy has no {self.dtype}: install ml_dtypes, or use .bits") from None
        if not hasattr(ml_dtypes, self.dtype):
            raise TypeError(f"neither numpy nor ml_dtypes {getattr(ml_dtypes, '__version__', '')} "
                            f"has {self.dtype}: use .bits")
        return self.bits.view(getattr(ml_dtypes, self.dtype))

    def torch(self):
        """A PyTorch tensor of the same bits, on the CPU. Raises TypeError where PyTorch has no such
        dtype."""
        import torch
        fmt = FORMATS[self.dtype]
        if fmt.native:
            return torch.from_numpy(np.ascontiguousarray(self.numpy()).reshape(self.shape))
        if fmt.parts == 2:
            return torch.view_as_complex(torch.from_numpy(self.numpy()))
        if not hasattr(torch, self.dtype):
            raise TypeError(f"PyTorch {getattr(torch, '__version__', '')} has no {self.dtype}: use "
                            ".bits")
        # PyTorch has had no uint16 for long.
        carrier = self.bits if fmt.storage_bytes == 1 else self.bits.view("<i2")
        return torch.from_numpy(carrier).view(getattr(torch, self.dtype))

    def __array__(self, dtype=None, copy=None):
        return np.array(self.numpy(), dtype=dtype, copy=True)

    def __eq__(self, other):
        """The same format, shape and bits; NaN equals the same NaN."""
        if not isinstance(other, Tensor):
            return NotImplemented
        return self.dtype == other.dtype and np.array_equal(self.bits, other.bits)

    def __repr__(self):
        return f"Tensor({self.dtype!r}, shape={self.shape})"


def _no_format(held):
    if held == "uint16":
        return ("uint16 may be bit patterns of bfloat16, float16 or integers: say which format, "
                "Tensor.of(array, dtype=...)")
    return f"{held} is no dtype of a dataset file; a tensor is of one of: " + ", ".join(FORMATS)


def codes(fmt, bits):
    """int4 may lie as an integer of 8 bits; its code is the low four. Others stay."""
    if fmt.name != "int4":
        return bits
    return np.where(bits >= 0xf8, bits & np.uint8(0xf), bits)


def _bits_of(array):
    """The name of an array's dtype, and its bit patterns as Tensor.bits holds them."""
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(array, torch.Tensor):
        return _bits_of_torch(torch, array)
    if isinstance(array, np.ma.MaskedArray):
        raise TypeError("a masked array's mask cannot be stored: fill it first")
    array = np.asarray(array)
    width = array.dtype.itemsize
    if array.dtype.kind == "c" and array.dtype.name in FORMATS:
        parts = np.empty(array.shape, array.dtype)
        parts[...] = array  # C order; a 0-dimensional one keeps its shape
        order, half = (">" if array.dtype.str[0] == ">" else "<"), width // 2
        bits = parts.reshape(array.shape + (1,)).view(f"{order}u{half}")
        return array.dtype.name, bits.astype(f"<u{half}", copy=False)
    if array.dtype.hasobject or array.dtype.fields or width not in (1, 2, 4, 8):
        raise TypeError(_no_format(array.dtype.name))
    # By name, for what ml_dtypes registers numpy knows by its name alone.
    order = ">" if array.dtype.str[0] == ">" else "<"
    array = np.asarray(array, order="C")
    return array.dtype.name, array.view(f"{order}u{width}").astype(f"<u{width}", copy=False)


def _bits_of_torch(torch, tensor):
    name = str(tensor.dtype).replace("torch.", "", 1)
    if tensor.layout != torch.strided or tensor.is_quantized:
        raise TypeError("a sparse or quantized PyTorch tensor: make it dense (.to_dense(), "
                        ".int_repr()) first")
    if name not in FORMATS and not name.startswith("uint"):
        raise TypeError(_no_format("torch." + name))
    tensor = tensor.detach().resolve_neg().cpu()
    if name in FORMATS and FORMATS[name].parts == 2:
        tensor = tensor.resolve_conj()
    if name == "complex32":
        return name, _bits_of(torch.view_as_real(tensor).numpy())[1]
    if name in FORMATS and not FORMATS[name].native:  # numpy has no such dtype
        tensor = tensor.view({1: torch.uint8, 2: torch.int16}[FORMATS[name].storage_bytes])
    return name, _bits_of(tensor.numpy())[1]
