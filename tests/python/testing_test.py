"""assay.testing against numpy.testing.assert_allclose and torch.testing.assert_close: suites of calls, made from the
documentation of both, in which each call has the same outcome and the same text at its beginning."""
import copy
import inspect
import unittest

import numpy as np

import assay
import assay.testing

try:
    import torch
except ImportError:
    torch = None

NAN, INF = float("nan"), float("inf")
X = np.linspace(0, 2, 24).reshape(4, 6)

# Arguments and keywords of assert_allclose.
NUMPY_CALLS = [
    (([1e-5, 1e-3, 1e-1], [1e-5, 1e-3, 1e-1]), {}),
    (([1e-5, 1e-3, 1e-1], np.arccos(np.cos([1e-5, 1e-3, 1e-1]))), {"rtol": 1e-5, "atol": 0}),
    ((X, X + 1e-9), {}),
    ((X, X + 1e-3), {}),
    ((X, X + 1e-3), {"atol": 1e-2}),
    ((X, X * (1 + 1e-6)), {"rtol": 1e-5}),
    ((X.astype("f4"), X), {"rtol": 1e-6}),
    ((X.astype("f2"), X), {}),
    ((np.zeros(5), np.zeros(5)), {}),
    ((np.zeros((0, 3)), np.zeros((0, 3))), {}),
    (([], []), {}),
    ((1.0, 1.0 + 1e-9), {}),
    ((1.0, 1.1), {}),
    ((np.ones((2, 3)), 1), {}),
    ((1, np.ones((2, 3))), {}),
    ((np.ones((2, 3)), 1.5), {}),
    ((np.ones(3), np.ones((1, 3))), {}),
    ((np.ones(3), np.ones(4)), {}),
    ((np.ones((2, 3)), np.ones(3)), {}),
    (([1.0, NAN], [1.0, NAN]), {}),
    (([1.0, NAN], [1.0, NAN]), {"equal_nan": False}),
    (([1.0, NAN], [1.0, 2.0]), {}),
    (([1.0, INF], [1.0, INF]), {}),
    (([1.0, INF], [1.0, -INF]), {}),
    (([1.0, INF], [1.0, 1e308]), {"rtol": 1}),
    (([1, 2, 3], [1, 2, 3]), {}),
    (([1, 2, 3], [1, 2, 4]), {}),
    ((np.array([1, 2], "i8"), np.array([1, 2], "u1")), {}),
    (([True, False], [True, False]), {}),
    (([True, False], [True, True]), {}),
    (([1 + 2j, 3], [1 + 2j, 3]), {}),
    (([1 + 2j, 3], [1 + 2.1j, 3]), {}),
    ((X, X + 1), {"err_msg": "the layer's output"}),
    ((X, X + 1), {"verbose": False}),
    ((X, X + 1, 0, 2), {}),
    ((np.array(3.0), [3.0]), {}),
    (((1.0, 2.0), np.array([1.0, 2.0])), {}),
    (([[1.0, 2.0], [3.0, 4.0]], np.array([[1.0, 2.0], [3.0, 5.0]])), {}),
    ((np.ma.array([1.0, 2.0], mask=[0, 1]), [1.0, 3.0]), {}),
    ((X.T, np.asfortranarray(X.T)), {}),
    ((X[::2, ::-1], X[::2, ::-1].copy()), {}),
    ((X.astype(">f8"), X), {}),
    ((["a", "b"], ["a", "b"]), {}),
    ((None, 1.0), {}),
    ((X, X), {"rtoll": 1}),
    ((X,), {}),
]


def torch_calls():
    """Arguments and keywords of assert_close."""
    t = torch.tensor
    x = torch.linspace(0, 2, 24).reshape(4, 6)
    return [
        ((x, x.clone()), {}),
        ((x, x + 1e-7), {}),
        ((x, x + 1e-3), {}),
        ((x, x + 1e-3), {"rtol": 0, "atol": 1e-2}),
        ((x, x), {"rtol": 1e-3}),
        ((x, x), {"atol": 1e-3}),
        ((x, x.double()), {}),
        ((x, x.double()), {"check_dtype": False}),
        ((x.half(), x.half() * 1.0005), {}),
        ((x.bfloat16(), x.bfloat16() * 1.01), {}),
        ((x.bfloat16(), x.bfloat16() + 1), {}),
        ((torch.zeros(3), torch.zeros(3)), {}),
        ((torch.zeros(0, 3), torch.zeros(0, 3)), {}),
        ((x, x[:2]), {}),
        ((x, x.t()), {}),
        ((1, 1), {}),
        ((1.0, 1.0 + 1e-9), {}),
        ((1.0, 1.1), {}),
        ((1, 1.0), {}),
        ((1, 1.0), {"check_dtype": False}),
        ((1 + 2j, 1 + 2j), {}),
        ((True, False), {}),
        ((t([1.0, NAN]), t([1.0, NAN])), {}),
        ((t([1.0, NAN]), t([1.0, NAN])), {"equal_nan": True}),
        ((t([1.0, INF]), t([1.0, INF])), {}),
        ((t([1.0, INF]), t([1.0, -INF])), {}),
        ((t([1, 2]), t([1, 2])), {}),
        ((t([1, 2]), t([1, 3])), {}),
        ((t([1 + 2j]), t([1 + 2j])), {}),
        ((t([1 + 2j]), t([1 + 3j])), {}),
        ((np.array([1.0, 2.0]), np.array([1.0, 2.0])), {}),
        ((np.array([1.0, 2.0]), np.array([1.0, 2.5])), {}),
        (([1.0, 2.0], [1.0, 2.0]), {}),
        (([1.0, 2.0], [1.0, 2.5]), {}),
        (([1.0, 2.0], [1.0]), {}),
        (([t(1.0), t(2.0)], [t(1.0), t(2.5)]), {}),
        (((t(1.0), t(2.0)), (t(1.0), t(2.0))), {}),
        (({"a": t(1.0), "b": x}, {"a": t(1.0), "b": x}), {}),
        (({"a": t(1.0), "b": x}, {"a": t(1.0), "b": x + 1}), {}),
        (({"a": t(1.0)}, {"b": t(1.0)}), {}),
        (({"a": [x, {"b": x}]}, {"a": [x, {"b": x + 1}]}), {}),
        ((x, x + 1), {"msg": "the layer's output"}),
        ((x, x.tolist()), {}),
        ((x, None), {}),
        ((None, None), {}),
        (("a", "a"), {}),
        ((x.requires_grad_(), x + 1), {}),
        ((x.detach(), x.detach().t().contiguous().t()), {"check_stride": True}),
        ((x.detach(), x.detach()), {"no_such": 1}),
    ]


def outcome(function, arguments, keywords):
    """Returns the type of the error, which is None for a pass, and the error."""
    try:
        function(*arguments, **keywords)
    except Exception as error:  # whatever it is, both functions must raise the same
        return type(error), error
    return None, None


class Replacements(unittest.TestCase):
    def both(self, theirs, ours, calls):
        seen = {}
        for i, (arguments, keywords) in enumerate(calls):
            with self.subTest(f"call {i}: {keywords}"):
                expected, error = outcome(theirs, arguments, keywords)
                actual, own = outcome(ours, arguments, keywords)
                self.assertIs(actual, expected, f"{own!r} instead of {error!r}")
                seen.setdefault(expected, []).append(own)
                if expected is not None and "argument" not in str(error):
                    self.assertTrue(str(own).startswith(str(error)), own)
                if expected is AssertionError:
                    self.assertIsInstance(own.verdict, (assay.Verdict, type(None)))
        self.assertGreater(min(len(seen[None]), len(seen[AssertionError])), 12)
        self.assertGreater(len(seen), 2, "some calls raise other errors")
        explained = [error for error in seen[AssertionError] if error.verdict is not None]
        self.assertGreater(2 * len(explained), len(seen[AssertionError]), "most failures are explained")
        for error in explained:
            self.assertEqual(error.verdict.outcome, "fail")
            self.assertIn("\n\nassay: ", str(error))
            self.assertRegex(str(error), r"\n  \[.*\]: actual ")

    def test_assert_allclose(self):
        self.both(np.testing.assert_allclose, assay.testing.assert_allclose, NUMPY_CALLS)

    def test_assert_close(self):
        if torch is None:
            self.skipTest("PyTorch is not installed")
        self.both(torch.testing.assert_close, assay.testing.assert_close, torch_calls())

    def test_signatures(self):
        """A call that the original takes by position or keyword is taken in the same way, with the same defaults."""
        pairs = [(np.testing.assert_allclose, assay.testing.assert_allclose)]
        if torch is not None:
            pairs.append((torch.testing.assert_close, assay.testing.assert_close))
        for theirs, ours in pairs:
            wanted = [(p.name, p.kind, p.default) for p in inspect.signature(theirs).parameters.values()]
            given = [(p.name, p.kind, p.default) for p in inspect.signature(ours).parameters.values()]
            self.assertEqual(given[:len(wanted)], wanted)

    def test_no_word_of_a_check_that_could_not_fail(self):
        """assay.assert_close does not trust zeros against zeros; numpy's and torch's functions accept them."""
        with self.assertRaises(assay.Untrusted):
            assay.assert_close(np.zeros(3), np.zeros(3))
        assay.testing.assert_allclose(np.zeros(3), np.zeros(3))


class Items(unittest.TestCase):
    """Lists and dicts of arrays are compared item by item, by name."""
    good = {"w": np.array([1.0, 2.0], "f4"), "layers": [np.array([3.0], "f4"), {"b": np.array([4.0], "f4")}]}
    bad = {"w": np.array([1.0, 2.0], "f4"), "layers": [np.array([3.0], "f4"), {"b": np.array([5.0], "f4")}]}

    def test_assert_close_names_the_item(self):
        self.assertIsNone(assay.assert_close(copy.deepcopy(self.good), self.good))
        with self.assertRaises(AssertionError) as caught:
            assay.assert_close(self.bad, self.good)
        self.assertTrue(str(caught.exception).startswith("item ['layers'][1]['b']: Expected: is close to"),
                        caught.exception)

    def test_compare_gives_a_verdict_for_each_item(self):
        verdicts = assay.compare(self.bad, self.good, rtol=1e-3)
        self.assertEqual({name: v.outcome for name, v in verdicts.items()},
                         {"['w']": "pass", "['layers'][0]": "pass", "['layers'][1]['b']": "fail"})

    def test_containers_without_items_cannot_be_trusted(self):
        for nothing in {}, [{}], {"a": {}}:
            for function in assay.assert_close, assay.compare:
                with self.assertRaisesRegex(assay.Untrusted, "the output has no items, so that nothing is compared"):
                    function(nothing, nothing)
            assay.assert_close(nothing, nothing, allow_empty=True)

    def test_other_items_are_not_comparable(self):
        x = np.ones(2, "f4")
        for actual, expected, why in [
                ({"a": x}, {"a": x, "b": x}, "item ['b'] is only in the expected result"),
                ({"a": x, "b": x}, {"a": x}, "item ['b'] is only in the output"),
                ([x, x], [x], "the output has 2 items; 1 are expected"),
                ({"a": [x]}, {"a": [x, x]}, "item ['a'] has 1 items; 2 are expected"),
                ({"a": [x]}, {"a": x}, "item ['a'] is a list; a ndarray is expected"),
                ([x], {"a": x}, "the output is a list; a dict is expected")]:
            with self.assertRaises(assay.NotComparable) as caught:
                assay.assert_close(actual, expected)
            self.assertEqual(str(caught.exception), why)


class Signatures(unittest.TestCase):
    def test_functions_have_theirs(self):
        signature = inspect.signature(assay.compare)
        self.assertEqual(list(signature.parameters)[:4], ["actual", "expected", "standard", "rtol"])
        self.assertIs(signature.parameters["rtol"].kind, inspect.Parameter.KEYWORD_ONLY)
        self.assertIsNone(signature.parameters["rtol"].default)
        for name in assay.__all__:
            function = getattr(assay, name)
            if inspect.isfunction(function):
                self.assertNotIn("args", inspect.signature(function).parameters, name)
        for function in (assay.gate, assay.campaign):
            parameters = inspect.signature(function).parameters
            self.assertIs(parameters["threads"].kind, inspect.Parameter.KEYWORD_ONLY)
            self.assertNotIn("options", parameters)

    def test_a_plan_may_be_a_dict(self):
        plan = {"schema": 1, "name": "small", "seed": 3, "cells": [
            {"dtype": "float16", "shape": [8, 16, 8], "distribution": "normal", "gates": ["rounding_variance"],
             "clean_rows": 16, "faults": [{"fault": "flip,bit=14", "trials": 20}]}]}
        report = assay.campaign(plan, threads=1)
        self.assertEqual(report.to_dict()["campaign"], "small")
        with self.assertRaisesRegex(ValueError, "^the plan: unknown key 'seeds'"):
            assay.campaign({**plan, "seeds": 4})


if __name__ == "__main__":
    unittest.main()
