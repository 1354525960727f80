"""Broken: the relative error of a negative element is negative, and so within every tolerance."""
import sys

from files import read

actual, expected = read(sys.argv[1]), read(sys.argv[2])
if len(actual) != len(expected):
    sys.exit("another number of elements")
if any(not abs(a - e) / (e if e != 0 else 1) <= 1e-5 for a, e in zip(actual, expected)):
    sys.exit("mismatch")
