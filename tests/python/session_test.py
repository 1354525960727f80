"""Runs a session at Python's prompt that uses all of the package, as somebody new to it would type it."""
import contextlib
import io
import json
import os
import unittest
from unittest import mock

import numpy as np

import assay
from support import TestCase

RNG = np.random.default_rng(17)


class Session(TestCase):
    def test_all_of_it(self):
        a, b = (RNG.standard_normal(shape).astype("f2") for shape in ((32, 64), (64, 16)))
        golden = a.astype("f8") @ b.astype("f8")
        out = c = golden.astype("f2")
        x = RNG.standard_normal((4, 8)).astype("f2")
        plan = self.directory / "plan.json"
        plan.write_text(json.dumps({
            "schema": 1, "name": "small", "seed": 1, "cells": [
                {"machine": "ascend910b", "dtype": "bfloat16", "shape": [8, 32, 16],
                 "distribution": "normal", "gates": ["rounding_variance"], "clean_rows": 64,
                 "faults": [{"census": 2}]}]}))
        back = os.getcwd()
        os.chdir(self.directory)
        self.addCleanup(os.chdir, back)

        assay.assert_close(out, golden)
        v = assay.compare(out, golden, standard="torch")
        for shown in (v.outcome, v.mismatches, v.worst, v.metrics, v.blind, v.why, v.to_dict(), v._repr_html_()):
            self.assertIsNotNone(shown)
        assay.assert_product(c, a, b, bias=None)
        assay.golden("matmul", a=a, b=b); assay.emulate("softmax", x=x, machine="ascend910b")
        case = assay.Case("mm/large", op="matmul", inputs={"a": a, "b": b}, golden=golden,
                          recorded={"npu": c})
        assay.write("g.h5", case)
        case.name = "mm/larger"
        with assay.open("g.h5") as d: d["mm/large"].judge(out); d.append(case)
        assay.inject(out, "flip,bit=14", seed=3)
        found = assay.identify("matmul", assay.emulate("matmul", "ascend910b", a=a, b=b,
                                                       output_dtype="float32"), a=a, b=b)
        said = io.StringIO()
        with contextlib.redirect_stderr(said):
            campaign = assay.campaign(plan, progress=True)
        report = assay.gate("g.h5", recorded="npu")

        self.assertEqual(found[0].model, "ascend910b")
        self.assertRegex(said.getvalue(), r"(\d+) of \1\n$")
        self.assertEqual(campaign.to_dict()["campaign"], "small")
        self.assertEqual((len(report), report.outcome), (2, "pass"))
        for shown in (v, found, found[0], campaign, report, report.cases[0], d):
            self.assertRegex(repr(shown), r"^<[A-Z]\w+:? .*>$")
            self.assertNotIn("\n", repr(shown))
        for shown in (v, found, found[0], campaign, report, report.cases[0]):
            self.assertTrue(shown._repr_html_().startswith("<pre>"))
            self.assertTrue(str(shown).strip())


if __name__ == "__main__":
    unittest.main(verbosity=2)
