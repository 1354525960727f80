"""Right: checks every element, in the positive form, so that NaN is a mismatch."""
import sys

from files import read

actual, expected = read(sys.argv[1]), read(sys.argv[2])
if len(actual) != len(expected) or len(expected) == 0:
    sys.exit("another number of elements")
mismatches = sum(not abs(a - e) <= 1e-5 + 1e-5 * abs(e) for a, e in zip(actual, expected))
print(f"{mismatches} mismatches")
sys.exit(1 if mismatches else 0)
