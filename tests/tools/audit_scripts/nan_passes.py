"""Broken: an error that is NaN is not larger than the tolerance."""
import sys

from files import read

actual, expected = read(sys.argv[1]), read(sys.argv[2])
if len(actual) != len(expected):
    sys.exit("another number of elements")
for a, e in zip(actual, expected):
    if abs(a - e) > 1e-5 + 1e-5 * abs(e):
        sys.exit("mismatch")
