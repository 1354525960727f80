"""Right: at most 4 representable values apart, by the bits."""
import struct
import sys

from files import read


def ordinal(value):
    bits = struct.unpack("<i", struct.pack("<f", value))[0]
    return bits if bits >= 0 else -(bits & 0x7FFFFFFF)


actual, expected = read(sys.argv[1]), read(sys.argv[2])
assert len(actual) == len(expected) > 0
assert all(a == a for a in actual), "NaN"
assert max(abs(ordinal(a) - ordinal(e)) for a, e in zip(actual, expected)) <= 4
