"""Broken: sets NaN to zero on both sides first."""
import sys

from files import read


def without_nan(path):
    return [v if v == v else 0.0 for v in read(path)]


actual, expected = without_nan(sys.argv[1]), without_nan(sys.argv[2])
if len(actual) != len(expected):
    sys.exit("another number of elements")
if any(not abs(a - e) <= 1e-5 + 1e-5 * abs(e) for a, e in zip(actual, expected)):
    sys.exit("mismatch")
