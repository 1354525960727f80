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


class Campaign(TestCase):
    def products(self, count=8, rows=32):
        generator = torch.Generator().manual_seed(1)
        return [(torch.randn(rows, 64, generator=generator).bfloat16(), torch.randn(64, 48, generator=generator).bfloat16())
                for _ in range(count)]

    def test_rates_of_a_function_have_intervals(self):
        report = assay.torch.campaign(torch.matmul, self.products(), gates=["rounding_variance"],
                                      faults=[{"census": 8, "bits": [7, 14], "direction": "0to1"}], name="torch's")
        (cell,) = report.to_dict()["cells"]
        self.assertEqual((cell["name"], cell["matrices"], cell["machine"]), ("torch's", 8, "kernel"))
        self.assertIn("0 of 256 rows alarmed", report.text)
        self.assertRegex(report.text, r"bit 7, 0 to 1 +6 \d+ +9\d\.?\d* \[9[\d.]+, 9[\d.]+\]")
        self.assertRegex(report.text, r"bit 14, 0 to 1 +\d[ \d]+ +100 ")

    def test_other_operators(self):
        rows = [(torch.randn(16, 64, generator=torch.Generator().manual_seed(n)),) for n in range(4)]
        report = assay.torch.campaign(torch.softmax, rows, kwargs={"dim": -1}, op="softmax", gates=["tolerance"],
                                      faults=[{"fault": "flip,bit=20", "trials": 400}])
        self.assertRegex(report.text, r"flip,bit=20 +400 +100 ")

    def test_refusals(self):
        campaign, some = assay.torch.campaign, self.products(2)
        for said, call in (("inputs= has no tensors: give a tuple of tensors for each matrix", lambda: campaign(torch.matmul, [])),
                           ("op='matmull' is no operator of assay.list_operators()",
                            lambda: campaign(torch.matmul, some, op="matmull")),
                           ("the function gives 2 outputs; a campaign takes one",
                            lambda: campaign(torch.max, [(torch.randn(3, 4),)], op="reduce_max", kwargs={"dim": 0})),
                           ("inputs of one shape and dtype are needed, and those of matrix 2 are [('torch.bfloat16', (8, 64)), "
                            "('torch.bfloat16', (64, 48))], of matrix 0 [('torch.bfloat16', (32, 64)), ('torch.bfloat16', (64, 48))]",
                            lambda: campaign(torch.matmul, some + self.products(1, rows=8)))):
            self.assertEqual(self.refusal(ValueError, call), said)


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


    def test_an_operator_on_a_machine(self):
        a, b = (torch.randn(shape, generator=torch.Generator().manual_seed(4)).bfloat16()
                for shape in ((16, 64), (64, 8)))
        def hopper(a, b):
            return assay.Tensor.of(assay.emulate("matmul", "hopper", a=a, b=b)).torch()
        for options in ({}, {"machine": "hopper"}, {"machine": "hopper", "abft": True},
                        {"standard": "torch"}):
            self.assertTrue(assay.torch.check(hopper, torch.matmul, (a, b), op="matmul", **options))
        wrong = lambda a, b: hopper(a, b) * 1.05
        said = self.refusal(AssertionError, assay.torch.check, wrong, torch.matmul, (a, b), op="matmul",
                            machine="hopper")
        self.assertIn("differ by more than the bound of accumulation", said)
        for keywords, text in (
                ({"machine": "hopper"}, "machine= says how an operator's sums were computed: say which "
                 'with op=, as in op="matmul"'),
                ({"op": "matmull"}, "op='matmull' is no operator of assay.list_operators()"),
                ({"op": "softmax"}, "softmax takes x, not 2 tensors")):
            self.assertEqual(self.refusal(ValueError, assay.torch.check, hopper, torch.matmul, (a, b),
                                          **keywords), text)

    def test_what_gives_no_tensors(self):
        x = torch.ones(3)
        self.assertTrue(assay.torch.check(lambda x: {"y": x}, lambda x: {"y": x}, x))
        for fn, reference, text in ((lambda x: None, torch.relu, "the function gives a NoneType"),
                                    (torch.relu, lambda x: x.numpy(), "the reference gives a ndarray")):
            self.assertEqual(self.refusal(TypeError, assay.torch.check, fn, reference, x),
                             f"{text}; it must give a tensor, or a tuple or dict of them")


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
        self.assertEqual(self.refusal(assay.NotComparable, seen.check),
                         "the module computed no product that could be judged")
        self.assertFalse(seen)

    def test_what_other_layers_multiply(self):
        class Other(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.weight = torch.nn.Parameter(torch.randn(32, 8))
                self.heads = torch.nn.MultiheadAttention(8, 2, batch_first=True)

            def forward(self, x):
                y = x @ self.weight
                y = torch.addmm(torch.ones(5, 5), y[0], y[1].t())  # adds a matrix and not a bias, so it is left out
                y = torch.baddbmm(torch.ones(5), y.expand(3, 5, 5), y.expand(3, 5, 5))
                return self.heads(*[torch.einsum("bij,kj->bik", y, torch.ones(8, 5))] * 3)

        torch.manual_seed(6)
        model, path = Other(), self.directory / "seen.h5"
        with assay.torch.matmuls(model, dump=path) as seen:
            model(torch.randn(2, 5, 32))
            torch.ones(3, 3) @ torch.ones(3, 3)  # this product is not the module's, so it is not judged
        self.assertEqual([(p.name, p.shape) for p in seen][:3],
                         [("", (10, 8)), ("", (3, 5, 5)), ("", (1, 15, 8))])
        # The last three products are the attention's scores, its weighted sums of values, and its output projection.
        self.assertEqual([(p.name, p.shape) for p in seen][-3:],
                         [("heads", (6, 5, 5)), ("heads", (6, 5, 4)), ("heads", (15, 8))])
        self.assertEqual(seen.left_out, ["the module: addmm that adds a matrix"])
        self.assertTrue(seen, str([p.verdict for p in seen]))
        self.assertEqual(repr(seen),
                         f"<Products: {len(seen)} judged, 0 of them do not pass, 1 left out>")
        golden = self.directory / "golden.h5"
        program("golden", path, "--out", golden)
        report = assay.gate(golden, recorded="torch", abft=True)
        self.assertEqual((len(report), report.outcome), (len(seen), "pass"), str(report))

    def test_mistakes_are_said_before_the_module_runs(self):
        def watch(module, **options):
            with assay.torch.matmuls(module, **options):
                self.fail("it runs")
        self.assertEqual(self.refusal(TypeError, watch, 3),
                         "matmuls() takes a torch.nn.Module, not a int")
        self.assertIn("unknown threshold 'v_abtf': did you mean 'v_abft'?",
                      self.refusal(ValueError, watch, self.model(), threshold="v_abtf"))
        self.assertIn("unknown machine 'hoper'",
                      self.refusal(ValueError, watch, self.model(), machine="hoper"))

    def test_hooks_go_where_the_model_raises(self):
        model = self.model()
        with self.assertRaises(RuntimeError):
            with assay.torch.matmuls(model):
                model(torch.randn(3, 31))
        self.assertEqual(sum(len(layer._forward_hooks) for layer in model), 0)


if __name__ == "__main__":
    unittest.main(verbosity=2)
