"""Rounds numbers to the formats that operators use, and encodes them as bit patterns.

Every rounding here starts from float64 (or longdouble) and happens once. The code uses only frexp, ldexp
and rint, which are exact or correctly rounded, so it is right by the definition of the formats: a number
is rounded to a multiple of its quantum, 2^(exponent - precision), and the quantum never falls below the
smallest subnormal number."""
import numpy as np

# For each format: the precision with the leading bit, the exponent emin of the smallest normal number 2^emin, and the
# largest finite value.
FORMATS = {
    "float32": (24, -126, float(np.finfo(np.float32).max)),
    "float16": (11, -14, 65504.0),
    "bfloat16": (8, -126, float(np.ldexp(2 - 2.0**-7, 127))),
    "tfloat32": (11, -126, float(np.ldexp(2 - 2.0**-10, 127))),
    "float8_e4m3fn": (4, -6, 448.0),
    "float8_e5m2": (3, -14, 57344.0),
}


def quantum(x, name):
    """Returns the distance between neighbouring values of the format around each x, before rounding."""
    precision, emin, _ = FORMATS[name]
    _, exponent = np.frexp(np.asarray(x))
    exponent = np.where(np.asarray(x) == 0, emin, exponent)
    return np.ldexp(1.0, np.maximum(exponent - precision, emin - precision + 1))


def round_to(x, name, mode="nearest_even"):
    """Returns x rounded once to the format, as float64 values. Values beyond the range become infinite
    (float8_e4m3fn: the largest value), or the largest value if the mode is toward_zero."""
    if name == "float64":
        return np.asarray(x, np.float64)
    _, _, largest = FORMATS[name]
    x = np.asarray(x)
    with np.errstate(all="ignore"):
        q = quantum(x, name).astype(x.dtype)
        ratio = x / q  # exact, because q is a power of two
        rounded = {"nearest_even": np.rint, "toward_zero": np.trunc, "down": np.floor}[mode](ratio) * q
    beyond = np.abs(rounded) > largest
    limit = largest if mode == "toward_zero" or name == "float8_e4m3fn" else np.inf
    rounded = np.where(beyond & np.isfinite(x), np.copysign(limit, x), rounded)
    return np.asarray(np.where(np.isfinite(x), rounded, x), np.float64)


def _e4m3fn_values():
    codes = np.arange(256)
    sign = np.where(codes >> 7, -1.0, 1.0)
    exponent, mantissa = (codes >> 3) & 15, codes & 7
    value = np.where(exponent == 0, np.ldexp(mantissa / 8.0, -6), np.ldexp(1 + mantissa / 8.0, exponent - 7))
    value = np.where((exponent == 15) & (mantissa == 7), np.nan, value)
    return sign * value


E4M3FN = _e4m3fn_values()


def encode(values, name):
    """Returns the array that a dataset file stores for values that the format represents exactly:
    numpy floats and integers as they are, bfloat16 as uint16 patterns, float8_e4m3fn as uint8 patterns."""
    values = np.asarray(values)
    if name == "bfloat16":
        single = values.astype(np.float32)
        bits = single.view(np.uint32)
        finite = np.isfinite(single)
        assert not np.any(bits[finite] & 0xFFFF), "values are not bfloat16"
        return (bits >> 16).astype(np.uint16)
    if name == "float8_e4m3fn":
        magnitudes = E4M3FN[:127]
        code = np.searchsorted(magnitudes, np.abs(values).astype(np.float64))
        assert np.array_equal(magnitudes[code], np.abs(values)), "values are not float8_e4m3fn"
        return (code | np.where(np.signbit(values), 128, 0)).astype(np.uint8)
    out = values.astype(np.dtype(name))
    if out.dtype.kind == "f" and name != "float64":
        assert np.array_equal(
            out.astype(np.float64), values.astype(np.float64), equal_nan=True
        ), f"values are not {name}"
    return out
