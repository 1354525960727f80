"""Broken: compares only the first 100 elements."""
import sys

from files import read

actual, expected = read(sys.argv[1]), read(sys.argv[2])
if len(actual) != len(expected):
    sys.exit("another number of elements")
for i in range(min(100, len(expected))):
    if not abs(actual[i] - expected[i]) <= 1e-5 + 1e-5 * abs(expected[i]):
        sys.exit(f"mismatch at {i}")
