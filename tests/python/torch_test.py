"""assay.torch: check() and matmuls(). Skipped where PyTorch is missing."""
import sys
import unittest

try:
    import torch
except ImportError:
    print("PyTorch is not installed: skipped")
    sys.exit(77)

import assay
from support import TestCase, assay as program


def float32_softmax(x, dim=-1):
    return torch.softmax(x.float(), dim).to(x.dtype)


class Check(TestCase):
    def test_a_pass_and_a_failure(self):
        x = torch.randn(8, 64, generator=torch.Generator().manual_seed(1))
        self.assertTrue(assay.torch.check(float32_softmax, torch.softmax, (x, -1)))
        self.assertTrue(assay.torch.check(float32_softmax, torch.softmax, x, kwargs={"dim": 0}))
        self.assertTrue(assay.torch.check(float32_softmax, torch.softmax, (x.bfloat16(), -1),
                                          standard="ulp(1)"))
        wrong = lambda x, dim: float32_softmax(x, dim) * 1.01
        said = self.refusal(AssertionError, assay.torch.check, wrong, torch.softmax, (x, -1))
        self.assertRegex(said, r"^\d+ of 512 elements \(\S+ %\) differ by more than")
        self.assertFalse(assay.torch.check(wrong, torch.softmax, (x, -1), raise_exception=False))
        self.assertTrue(assay.torch.check(wrong, torch.softmax, (x, -1), rtol=0.02, atol=0))

    def test_several_outputs(self):
        x = torch.randn(4, 16, generator=torch.Generator().manual_seed(2)).requires_grad_()
        self.assertTrue(assay.torch.check(lambda x: torch.max(x, 1), lambda x: torch.max(x, 1), x))
        wrong = lambda x: (torch.max(x, 1)[0], torch.max(x, 1)[1] + 1)
        said = self.refusal(AssertionError, assay.torch.check, wrong, lambda x: torch.max(x, 1), x)
        self.assertTrue(said.startswith("output 1: "), said)
        self.assertEqual(self.refusal(assay.NotComparable, assay.torch.check, lambda x: x,
                                      lambda x: (x, x), x),
                         "the function gives 1 outputs, its reference 2")


class Broken(torch.nn.Linear):
    def forward(self, x):
        y = super().forward(x)
        y[..., 3] += 1
        return y


class Matmuls(TestCase):
    def model(self, last=torch.nn.Linear):
        torch.manual_seed(3)
        return torch.nn.Sequential(torch.nn.Linear(32, 64), torch.nn.ReLU(), last(64, 16, False))

    def test_each_is_judged(self):
        model, x = self.model(), torch.randn(2, 5, 32)
        path = self.directory / "seen.h5"
        with assay.torch.matmuls(model, dump=path) as seen:
            model(x)
        seen.check()
        self.assertEqual([(p.name, p.shape, p.verdict.outcome) for p in seen],
                         [("0", (2, 5, 64), "pass"), ("2", (2, 5, 16), "pass")])
        self.assertEqual(sum(len(layer._forward_hooks) for layer in model), 0)
        golden = self.directory / "golden.h5"
        program("golden", path, "--out", golden)
        report = assay.gate(golden, recorded="torch", abft=True)
        self.assertEqual((len(report), report.outcome), (2, "pass"), str(report))

    def test_a_wrong_one_is_named(self):
        model = self.model(Broken)
        with assay.torch.matmuls(model) as seen:
            model(torch.randn(7, 32))
        self.assertEqual([p.verdict.passed for p in seen], [True, False])
        said = self.refusal(AssertionError, seen.check)
        self.assertTrue(said.startswith("2: 7 of 7 row checks are above rounding_variance"), said)

    def test_none(self):
        with assay.torch.matmuls(torch.nn.ReLU()) as seen:
            pass
        self.assertIn("no product was computed", self.refusal(assay.NotComparable, seen.check))

    def test_hooks_go_where_the_model_raises(self):
        model = self.model()
        with self.assertRaises(RuntimeError):
            with assay.torch.matmuls(model):
                model(torch.randn(3, 31))
        self.assertEqual(sum(len(layer._forward_hooks) for layer in model), 0)


if __name__ == "__main__":
    unittest.main()
