"""The formats for the scripts that test rules, as codes: the value of a code, and the code of a
value."""
import numpy as np


def bfloat16_bits(x):
    bits = np.asarray(x, np.float32).view(np.uint32).astype(np.uint64)
    nan = np.isnan(x)
    out = ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype(np.uint16)
    return np.where(nan, np.uint16(0x7FC0), out)


def of_bfloat16(bits):
    return (bits.astype(np.uint32) << 16).view(np.float32).astype(np.float64)


def fp8_table(exponent_bits, bias, is_e5m2, fnuz=False):
    mantissa = 7 - exponent_bits
    values = np.zeros(256)
    for code in range(256):
        e, m = (code >> mantissa) & (2**exponent_bits - 1), code & (2**mantissa - 1)
        v = m * 2.0 ** (1 - bias - mantissa) if e == 0 else (1 + m / 2**mantissa) * 2.0 ** (e - bias)
        if is_e5m2 and e == 31 and not fnuz:
            v = np.inf if m == 0 else np.nan
        if not is_e5m2 and code & 0x7F == 0x7F and not fnuz:
            v = np.nan
        values[code] = -v if code & 0x80 else v
    if fnuz:
        values[0x80] = np.nan
    return values


E4M3, E5M2 = fp8_table(4, 7, False), fp8_table(5, 15, True)
E4M3_FNUZ, E5M2_FNUZ = fp8_table(4, 8, False, True), fp8_table(5, 16, True, True)
E8M0 = np.append(2.0 ** np.arange(-127, 128), np.nan)


def hifloat8(code):
    """Returns the value of a code of hifloat8. After the sign, a prefix says how wide the exponent is."""
    if code in (0x00, 0x80, 0x6F, 0xEF):
        return {0x00: 0.0, 0x80: np.nan, 0x6F: np.inf, 0xEF: -np.inf}[code]
    sign, rest = -1.0 if code & 0x80 else 1.0, code & 0x7F
    for prefix, length, exponent_bits, mantissa in (
            (0b11, 2, 4, 1), (0b10, 2, 3, 2), (0b01, 2, 2, 3), (0b001, 3, 1, 3), (0b0001, 4, 0, 3)):
        if rest >> (7 - length) == prefix:
            field = rest >> mantissa & ((1 << exponent_bits) - 1)
            e = 0
            if exponent_bits:  # the field is the exponent's sign, and its magnitude without the leading one
                e = field & ((1 << exponent_bits - 1) - 1) | 1 << exponent_bits - 1
                e = -e if field >> exponent_bits - 1 else e
            return sign * (1 + (rest & (1 << mantissa) - 1) / 2**mantissa) * 2.0**e
    return sign * 2.0 ** ((rest & 7) - 23)


HIFLOAT8 = np.array([hifloat8(code) for code in range(256)])
E2M1 = np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6])
E2M1, E1M2 = np.concatenate([E2M1, -E2M1]), np.concatenate([np.arange(8.0), -np.arange(8.0)]) / 4


# For each name of a format: the function from codes to values, the dtype of codes, the number of mantissa bits, and the
# exponents of the smallest normal number and of the largest number.
FORMATS = {
    "float16": (lambda b: b.view(np.float16).astype(np.float64), np.uint16, 10, -14, 15),
    "bfloat16": (of_bfloat16, np.uint16, 7, -126, 127),
    "float32": (lambda b: b.view(np.float32).astype(np.float64), np.uint32, 23, -126, 127),
    "float64": (lambda b: b.view(np.float64), np.uint64, 52, -1022, 1023),
    "hfloat32": (lambda b: b.view(np.float32).astype(np.float64), np.uint32, 11, -126, 127),
    "hifloat8": (lambda b: HIFLOAT8[b], np.uint8, 3, -15, 15),
    "float4_e2m1fn": (lambda b: E2M1[b], np.uint8, 1, 0, 2),
    "float4_e1m2fn": (lambda b: E1M2[b], np.uint8, 2, 0, 0),
    "float8_e4m3fn": (lambda b: E4M3[b], np.uint8, 3, -6, 8),
    "float8_e5m2": (lambda b: E5M2[b], np.uint8, 2, -14, 15),
    "float8_e4m3fnuz": (lambda b: E4M3_FNUZ[b], np.uint8, 3, -7, 7),
    "float8_e5m2fnuz": (lambda b: E5M2_FNUZ[b], np.uint8, 2, -15, 15),
    "float8_e8m0fnu": (lambda b: E8M0[b], np.uint8, 0, -127, 127),
}


# The number of bits of a code, for formats in which it is less than the dtype's.
WIDTH = {"float4_e2m1fn": 4, "float4_e1m2fn": 4, "hfloat32": 20}
# The number of unused bits below a code, for formats that have such bits.
SHIFT = {"hfloat32": 12}


def ulp(name, g):
    _, _, mantissa, low, high = FORMATS[name]
    size = np.abs(g)
    if not np.isfinite(size):
        return 0
    e = low if size == 0 else int(np.floor(np.log2(size)))
    while size != 0 and 2.0 ** (e + 1) <= size:
        e += 1
    while size != 0 and 2.0**e > size:
        e -= 1
    return 2.0 ** (min(max(e, low), high) - mantissa)


def ulps(name, x):
    """Returns the spacing of the format at each value. All subnormal numbers have the same spacing."""
    _, _, mantissa, low, high = FORMATS[name]
    e = np.where(x == 0, low, np.frexp(np.where(np.isfinite(x), x, 1))[1] - 1)
    return np.ldexp(1.0, np.clip(e, low, high) - mantissa)


def rounded(name, x):
    """Rounds to nearest, ties to even. An overflow becomes infinite, or the largest value for
    float4."""
    _, _, mantissa, _, high = FORMATS[name]
    unit = ulps(name, x)
    y = np.where(np.isfinite(x), np.copysign(np.rint(x / unit) * unit, x), x)
    largest = (2 - 2.0**-mantissa) * 2.0**high
    if name.startswith("float4"):
        return np.clip(y, -largest, largest)
    return np.where(np.abs(y) > largest, np.copysign(np.inf, x), y)


def masked(name, codes):
    """Returns the codes with all bits cleared that a code of the format does not have."""
    dtype = FORMATS[name][1]
    width, shift = WIDTH.get(name, bits_of(dtype)), SHIFT.get(name, 0)
    return codes & dtype((2**width - 1) << shift)


def encode(name, a):
    decode, dtype, *_ = FORMATS[name]
    with np.errstate(all="ignore"):
        if name == "float32":
            return a.astype(np.float32).view(np.uint32)
        if name == "float16":
            return a.astype(np.float16).view(np.uint16)
        if name == "bfloat16":
            return bfloat16_bits(a)
        if name == "float64":
            return a.view(np.uint64)
        if name == "hfloat32":
            bits = a.astype(np.float32).view(np.uint32)
            return ((bits + 0x7FF + ((bits >> 12) & 1)) & 0xFFFFF000).astype(np.uint32)
    values = decode(np.arange(2 ** WIDTH.get(name, 8)))
    table = np.where(np.isfinite(values), values, 1e300)
    return np.abs(table[None, :] - a[:, None]).argmin(axis=1).astype(np.uint8)


def bits_of(dtype):
    return np.iinfo(dtype).bits
