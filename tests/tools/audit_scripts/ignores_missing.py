"""Broken: skips an output that is missing."""
import os
import sys

from files import read

if not os.path.exists(sys.argv[1]):
    print("no output, skipped")
    sys.exit(0)
actual, expected = read(sys.argv[1]), read(sys.argv[2])
if len(actual) != len(expected):
    sys.exit("another number of elements")
if any(not abs(a - e) <= 1e-5 + 1e-5 * abs(e) for a, e in zip(actual, expected)):
    sys.exit("mismatch")
