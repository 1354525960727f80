"""Broken: compares the output with itself."""
import sys

from files import read

actual, expected = read(sys.argv[1]), read(sys.argv[1])
if any(a != e for a, e in zip(actual, expected) if a == a):
    sys.exit("mismatch")
