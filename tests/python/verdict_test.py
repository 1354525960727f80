"""Tests what a Verdict is beside its numbers: copies, pickles, masks, and the attribute of errors."""
import copy
import math
import pickle
import unittest

import numpy as np

import assay
from assay import Tensor, compare

RNG = np.random.default_rng(3)
X = RNG.standard_normal((6, 5)).astype("f4")


def same(a, b):
    """True if two values are equal, where NaN equals NaN."""
    if isinstance(a, dict):
        return isinstance(b, dict) and a.keys() == b.keys() and all(same(a[key], b[key]) for key in a)
    if isinstance(a, (list, tuple)):
        return len(a) == len(b) and all(same(x, y) for x, y in zip(a, b))
    return a == b or (isinstance(a, float) and isinstance(b, float) and math.isnan(a) and math.isnan(b))


def verdicts():
    """Yields verdicts of every rule, outcome and kind of element."""
    off = X.copy()
    off[1, 2] += 1
    off[4] = np.nan
    yield compare(X + np.float32(1e-7), X)
    yield compare(off, X, rtol=1e-3, atol=1e-5)
    yield compare(off, X, metrics=False, standard="torch")
    yield compare(off, X, standard="ulp(3)", max_mismatches=40)
    yield compare(off, X, standard="bit_equal", equal_nan=True)
    yield compare(X, X)
    yield compare(np.zeros((2, 3), "f4"), np.zeros((2, 3), "f4"))
    yield compare(np.zeros((0, 3)), np.zeros((0, 3)), allow_empty=True)
    yield compare(X, X[:2])
    yield compare(X + 1j, X + 1.5j, standard="torch")
    yield compare(np.arange(5), np.arange(5) + (np.arange(5) == 2))
    yield compare(RNG.random(4000, "f4"), RNG.random(4000, "f4"), standard="distribution(uniform)")
    yield compare(Tensor.of(X * 1.001).astype("bfloat16"), X.astype("f8"))
    reference = X * np.float32(1.0001)
    for standard in assay.list_standards():
        try:
            yield compare(X.astype("f2"), X.astype("f8"), standard=standard["name"],
                          reference_implementation=reference.astype("f2") if "l" in standard["name"] else None)
        except ValueError:
            continue


class Copies(unittest.TestCase):
    shown = ["outcome", "passed", "sites", "mismatches", "forgiven", "special_mismatches", "worst_ratio", "nonzero",
             "blind", "blind_share", "metrics", "readings", "tests", "why", "where", "notes", "standard", "bound",
             "dtype", "shape", "text"]

    def test_all_that_it_shows(self):
        """The names above are all properties of a verdict but `worst` and `mask`, which are compared in their own way."""
        self.assertEqual(sorted(name for name, member in vars(assay.Verdict).items() if isinstance(member, property)),
                         sorted([*self.shown, "worst", "mask"]))

    def test_pickles_and_copies_are_the_same(self):
        outcomes, count = set(), 0
        for verdict in verdicts():
            outcomes.add(verdict.outcome)
            count += 1
            for other in (pickle.loads(pickle.dumps(verdict)), copy.copy(verdict), copy.deepcopy(verdict)):
                with self.subTest(verdict.text):
                    for name in self.shown:
                        self.assertTrue(same(getattr(verdict, name), getattr(other, name)), name)
                    self.assertTrue(same(verdict.to_dict(), other.to_dict()))
                    self.assertEqual(repr(verdict.worst), repr(other.worst))
                    self.assertEqual([(m.index, m.actual_bits, m.expected_bits, m.ulps) for m in verdict.worst],
                                     [(m.index, m.actual_bits, m.expected_bits, m.ulps) for m in other.worst])
                    if verdict.outcome != "not_comparable":
                        self.assertTrue((verdict.mask == other.mask).all())
        self.assertEqual(outcomes, {"pass", "fail", "untrusted", "not_comparable"})
        self.assertGreater(count, 30)

    def test_a_state_of_another_version_is_refused(self):
        make, state = compare(X, X + 1).__reduce_ex__(2)[:2]
        verdict = assay.Verdict.__new__(assay.Verdict)
        for wrong in (((1, 2), None), ((), None)):
            with self.assertRaisesRegex(ValueError, "of another version of assay cannot be unpickled"):
                verdict.__setstate__(wrong)
        self.assertTrue(make and state)


class Masks(unittest.TestCase):
    def test_every_mismatch(self):
        off = X + (RNG.random(X.shape) < 0.4).astype("f4")
        for options in ({"rtol": 1e-3, "atol": 0}, {"standard": "ulp(2)"}, {"standard": "bit_equal"}):
            verdict = compare(off, X, **options)
            self.assertEqual(verdict.mask.dtype, bool)
            self.assertTrue((verdict.mask == (off != X)).all())
            self.assertEqual(verdict.mask.sum(), verdict.mismatches)
        self.assertFalse(compare(X + np.float32(1e-7), X).mask.any())
        self.assertEqual(compare(np.float32(1), np.float32(2)).mask.shape, ())

    def test_of_large_arrays_only_if_asked_for(self):
        large = RNG.random((300, 400)).astype("f4")
        off = large.copy()
        off[7, 9] += 1
        verdict = compare(off, large)
        with self.assertRaisesRegex(ValueError, r"ask for it with compare\(\.\.\., mask=True\)"):
            verdict.mask
        verdict = compare(off, large, mask=True)
        off[:] = large  # the mask does not change with the arrays
        self.assertEqual(np.argwhere(verdict.mask).tolist(), [[7, 9]])


class Errors(unittest.TestCase):
    def test_they_carry_the_verdict(self):
        golden = assay.golden("matmul", a=X.astype("f2"), b=X.T.astype("f2"))
        case = assay.Case("mm", op="matmul", inputs={"a": X.astype("f2"), "b": X.T.astype("f2")}, golden=golden)
        wrong = golden.astype("f4") + 1
        raisers = [(lambda: assay.assert_close(X + 1, X), AssertionError, assay.Verdict),
                   (lambda: assay.assert_close(X, X), assay.Untrusted, assay.Verdict),
                   (lambda: assay.assert_close(X, X[:1]), assay.NotComparable, assay.Verdict),
                   (lambda: assay.assert_close({"w": X + 1}, {"w": X}), AssertionError, assay.Verdict),
                   (lambda: compare(X + 1, X).check(), AssertionError, assay.Verdict),
                   (lambda: assay.assert_product(wrong, X.astype("f2"), X.T.astype("f2")), AssertionError,
                    assay.AbftVerdict),
                   (lambda: assay.judge_case(case, wrong.astype("f2")).check(), AssertionError, assay.CaseReport)]
        for call, error, kind in raisers:
            with self.assertRaises(error) as caught:
                call()
            self.assertIsInstance(caught.exception.verdict, kind)
            self.assertFalse(caught.exception.verdict.passed)


class Tensors(unittest.TestCase):
    def test_length_and_indexing(self):
        for dtype in ("float32", "bfloat16", "float8_e4m3fn", "complex64", "complex32", "tfloat32", "int8", "float16"):
            tensor = Tensor.of(np.arange(12, dtype="f4").reshape(3, 4) if "complex" not in dtype
                               else np.arange(12).reshape(3, 4).astype("c8")).astype(dtype)
            self.assertEqual(len(tensor), 3)
            for key in (0, -1, slice(1, 3), (slice(None), 2), (slice(None, None, -1), slice(None, None, 2)), (1, 2),
                        Ellipsis, np.array([2, 0])):
                part = tensor[key]
                self.assertEqual(part.dtype, dtype)
                bits = tensor.bits[key]
                self.assertEqual(part.shape, bits.shape[:-1] if "complex" in dtype else bits.shape)
                self.assertTrue((part.bits == bits).all(), (dtype, key))
        with self.assertRaisesRegex(TypeError, "len"):
            len(Tensor.of(np.float32(1)))
        with self.assertRaises(IndexError):
            Tensor.of(X)[9]

    def test_astype(self):
        self.assertEqual(Tensor.of(X).astype("float16"), Tensor.of(X.astype("f2")))
        self.assertEqual(Tensor.of(X.astype("f2")).astype("float64"), Tensor.of(X.astype("f2").astype("f8")))
        self.assertEqual(Tensor.of(X).astype(np.float32), Tensor.of(X))
        with self.assertRaisesRegex(TypeError, "one is complex and one is real"):
            Tensor.of(X).astype("complex64")


if __name__ == "__main__":
    unittest.main()
