"""Broken: compares as many elements as both files have."""
import sys

from files import read

actual, expected = read(sys.argv[1]), read(sys.argv[2])
if any(not abs(a - e) <= 1e-5 + 1e-5 * abs(e) for a, e in zip(actual, expected)):
    sys.exit("mismatch")
