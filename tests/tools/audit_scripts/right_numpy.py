"""Right: numpy.testing, with tolerances of float32."""
import sys

import numpy

actual, expected = (numpy.fromfile(path, numpy.float32) for path in sys.argv[1:3])
assert actual.size > 0
numpy.testing.assert_allclose(actual, expected, rtol=1e-5, atol=1e-5)
