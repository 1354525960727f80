"""assay.torch.guard(), on the CPU: the host runs the kernels of devices there. Skipped where PyTorch is missing."""
import sys
import unittest

try:
    import torch
except ImportError:
    print("PyTorch is not installed: skipped")
    sys.exit(77)

import assay
import assay.torch
from support import TestCase


class Guard(TestCase):
    def setUp(self):
        super().setUp()
        torch.manual_seed(1)

    def layer(self, dtype=None):
        return torch.nn.Sequential(torch.nn.Linear(24, 40), torch.nn.ReLU(), torch.nn.Linear(40, 16)).to(dtype or torch.bfloat16)

    def flip(self, row, bit=14):
        """A mode that flips a bit of the first element of a row of each product."""
        class Flip(torch.overrides.TorchFunctionMode):
            def __torch_function__(self, function, types, args=(), kwargs=None):
                out = function(*args, **(kwargs or {}))
                if function.__name__ in ("linear", "matmul"):
                    out.detach().view(torch.int16)[row, 0] ^= 2**bit
                return out
        return Flip()

    def test_training_that_is_right_passes_with_its_gradients(self):
        for dtype in (torch.float32, torch.bfloat16):
            model = self.layer(dtype)
            optimizer = torch.optim.SGD(model.parameters(), 1e-2)
            with assay.torch.guard(model, backward=True) as guard:
                for _ in range(4):
                    optimizer.zero_grad()
                    model(torch.randn(10, 24, dtype=dtype)).float().square().mean().backward()
                    optimizer.step()  # the sums of the weights are made anew
            guard.check()
            report = guard.report()
            self.assertTrue(report)
            self.assertEqual(report.steps, 4)
            self.assertEqual([(one.name, one.call, one.calls, one.checks) for one in report.products if "grad" not in one.call],
                             [("0", "linear", 4, 40), ("2", "linear", 4, 40)])
            self.assertEqual(sorted({one.call for one in report.products}),
                             ["grad of linear's left operand", "grad of linear's right operand", "linear"])
            self.assertEqual(report.left_out, {})

    def test_autocast(self):
        model = self.layer(torch.float32)
        with assay.torch.guard(model, backward=True) as guard, torch.autocast("cpu", torch.bfloat16):
            model(torch.randn(10, 24)).float().square().mean().backward()
        guard.check()
        self.assertEqual([one.call for one in guard.report().products if "grad" not in one.call], ["linear", "linear"])

    def test_inference_mode(self):
        with torch.inference_mode():
            model = self.layer()
            with assay.torch.guard(model) as guard:
                for _ in range(2):
                    model(torch.randn(10, 24).to(torch.bfloat16))
        guard.check()
        self.assertEqual([one.calls for one in guard.report().products], [2, 2])

    def test_a_flip_is_named(self):
        model = self.layer()
        x = torch.randn(10, 24).to(torch.bfloat16)
        with torch.no_grad(), assay.torch.guard(model) as guard:
            model(x)
            with self.flip(row=7):
                model(x)
            model(x)
        report = guard.report()
        self.assertFalse(report)
        # The second product gets the wrong row as its input, and is right for it but for its own flip.
        self.assertEqual([(one.flagged, one.first_step, one.first_row) for one in report.products],
                         [(1, 2, (0, 7)), (1, 2, (0, 7))])
        with self.assertRaises(AssertionError) as caught:
            guard.check()
        self.assertRegex(str(caught.exception),
                         r"2 of 60 checks of 6 products in 3 steps are above their threshold\n"
                         r"  .: linear \[10, \d+\]: 1 of 30 checks are above their threshold, first in step 2: row 7 is off by "
                         r"[^ ]+, and rounding explains [^ ]+")

    def test_thresholds(self):
        x = torch.randn(10, 24).to(torch.bfloat16)
        for threshold in ("rounding_variance,groups=0", "v_abft", "a_abft"):
            with torch.no_grad(), assay.torch.guard(self.layer(), threshold=threshold) as guard:
                guard._model(x)
            guard.check()
        with torch.no_grad(), assay.torch.guard(self.layer(), threshold="sea_abft") as guard:
            guard._model(x)
        with self.assertRaises(assay.Untrusted) as caught:
            guard.check()
        self.assertIn("0: linear: no kernel computes the threshold sea_abft", str(caught.exception))

    def test_what_is_not_checked_is_listed(self):
        class Model(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.weight = torch.nn.Parameter(torch.randn(6, 6))
                self.conv = torch.nn.Conv1d(1, 1, 3)

            def forward(self, x):
                return torch.addmm(x, x, self.weight) + torch.einsum("ij,jk->ik", x, self.weight) + (x @ self.weight[0])[:, None] + \
                    self.conv(x[:, None]).sum()
        model = Model()
        with torch.no_grad(), assay.torch.guard(model) as guard:
            model(torch.randn(6, 6))
        self.assertEqual(guard.report().left_out, {
            "addmm that adds a matrix": 1, "einsum: its products are inside of the call": 1,
            "matmul of a vector": 1, "conv: conv1d: a convolution": 1})
        with self.assertRaises(assay.Untrusted) as caught:
            guard.check()
        self.assertTrue(str(caught.exception).startswith("no product was checked\nnot checked: "))

    def test_the_model_is_as_before_afterwards(self):
        model = self.layer()
        x = torch.randn(3, 24).to(torch.bfloat16)
        before = model(x)
        with assay.torch.guard(model) as guard:
            with self.assertRaises(RuntimeError):
                model(x[:, :5])
            self.assertTrue(torch.equal(model(x), before))
        self.assertNotIn("forward", model.__dict__)
        self.assertTrue(torch.equal(model(x), before))
        self.assertEqual(guard.report().steps, 2)

    def test_wrong_arguments(self):
        with self.assertRaises(TypeError) as caught:
            assay.torch.guard(torch.randn)
        self.assertIn("guard() takes a torch.nn.Module", str(caught.exception))
        with self.assertRaises(ValueError) as caught:
            assay.torch.guard(torch.nn.ReLU())
        self.assertEqual(str(caught.exception), "guard(): the model has no parameters, so that its device is not known")
        for wrong in ({"threshold": "v_abtf"}, {"machine": "hoper"}):
            with self.assertRaises(ValueError):
                assay.torch.guard(self.layer(), **wrong)


if __name__ == "__main__":
    unittest.main()
