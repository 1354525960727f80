"""Tests cases with several outputs, lists and absent inputs that Python writes and reads and the program judges."""
import pathlib
import tempfile
import unittest

import h5py
import numpy as np

import assay
from assay import Case, FileError, Output, Tensor, write


def top_k():
    """Returns a case of top-k whose ties have another order in the output than in the golden result."""
    x = np.array([[3, 1, 3, 2], [5, 5, 5, 1]], np.float32)
    golden, output = np.array([[0, 2], [0, 1]]), np.array([[2, 0], [2, 0]])
    return Case("topk", inputs={"x": x, "bias": None, "l": [x, x[0]]},
                outputs={
                    "values": Output(np.take_along_axis(x, golden, 1),
                                     {"npu": np.take_along_axis(x, output, 1)},
                                     attributes={"rtol": 1e-3, "atol": 0.0}),
                    "indices": Output(golden, {"npu": output},
                                      attributes={"standard": "indices", "of": "x", "axis": 1}),
                    "scratch": Output(recorded={"npu": np.zeros(3, np.float16)}, compared=False)})


class Several(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="assay_python_test_")
        self.addCleanup(folder.cleanup)
        self.path = pathlib.Path(folder.name) / "several.h5"

    def written(self, case):
        write(self.path, case)
        return self.path

    def test_are_read_as_they_were_written(self):
        with assay.open(self.written(top_k())) as file:
            case, info = file.read("topk"), file.info("topk")
            self.assertEqual(file.attributes["assay_schema"], 2)
        self.assertIsNone(case.inputs["bias"])
        self.assertIsNone(case.golden)
        self.assertEqual(case.recorded, {})
        self.assertFalse(case.outputs["scratch"].compared)
        self.assertEqual([one.shape for one in case.inputs["l"]], [(2, 4), (4,)])
        for name, output in top_k().outputs.items():
            self.assertEqual(case.outputs[name].recorded["npu"], Tensor.of(output.recorded["npu"]))
            self.assertEqual(case.outputs[name].attributes, output.attributes)
        self.assertEqual(case.outputs["indices"].golden, Tensor.of(top_k().outputs["indices"].golden))
        self.assertEqual(info.outputs["scratch"].recorded["npu"].dtype, "float16")
        self.assertFalse(info.outputs["scratch"].compared)
        self.assertEqual(info.outputs["indices"].golden.shape, (2, 2))
        first = self.path.read_bytes()
        write(self.path, case)
        self.assertEqual(self.path.read_bytes(), first)

    def test_a_golden_result_that_is_yet_to_be_computed_keeps_its_attributes(self):
        case = top_k()
        case.outputs["values"].golden = None
        with assay.open(self.written(case)) as file:
            back = file.read("topk")
        self.assertIsNone(back.outputs["values"].golden)
        self.assertTrue(back.outputs["values"].compared)
        self.assertEqual(back.outputs["values"].attributes, case.outputs["values"].attributes)
        with self.assertRaisesRegex(assay.NotComparable,
                                    "the output 'values' of case topk has no golden"):
            assay.gate(self.path, recorded="npu").check()

    def test_h5py_finds_them_where_the_page_says(self):
        with h5py.File(self.written(top_k())) as file:
            case = file["cases/topk"]
            self.assertEqual(case["golden/indices"].attrs["of"], "x")
            self.assertEqual(case["golden/scratch"].attrs["absent"], 1)
            self.assertEqual(case["golden/scratch"].size, 0)
            self.assertEqual(case["inputs/bias"].attrs["absent"], 1)
            self.assertEqual(sorted(case["inputs/l"]), ["0", "1"])

    def test_what_needs_no_more_is_schema_1(self):
        x = np.ones(3, np.float32)
        with assay.open(self.written(Case("c", inputs={"x": [1.0, 2.0]}, golden=x))) as file:
            self.assertEqual(file.attributes["assay_schema"], 1)
            self.assertEqual(file.read("c").inputs["x"].shape, (2,))

    def test_the_gate_judges_each(self):
        report = assay.gate(self.written(top_k()), recorded="npu")
        self.assertEqual([c.output for c in report], ["indices", "scratch", "values"][::2])
        self.assertIn("1 case of 2 outputs: 1 pass", str(report))
        self.assertTrue(top_k().judge(output_name="indices"))
        wrong = top_k()
        wrong.outputs["indices"].recorded["npu"][0, 0] = 1
        with self.assertRaisesRegex(AssertionError, "topk:indices: fail: 1 of 4 indices are wrong: 1 "
                                    "at a value that differs"):
            assay.gate(self.written(wrong), recorded="npu").check()
        with self.assertRaisesRegex(AssertionError, "1 of 4 indices are wrong"):
            wrong.judge(output_name="indices").check()
        self.assertTrue(wrong.judge(top_k().outputs["indices"].recorded["npu"], output_name="indices"))
        with self.assertRaisesRegex(assay.CaseError, "case topk: "):
            wrong.judge()
        missing = top_k()
        del missing.outputs["values"].recorded["npu"]
        with self.assertRaisesRegex(assay.NotComparable, "topk:values: not_comparable: there is no "
                                    "recorded output of 'npu'"):
            assay.gate(self.written(missing), recorded="npu").check()

    def test_what_cannot_be_stored_is_refused(self):
        def refused(**changes):
            case = top_k()
            for name, value in changes.items():
                setattr(case, name, value)
            with self.assertRaises((FileError, ValueError)) as caught:
                write(self.path, case)
            return str(caught.exception)
        at = f"{self.path}: /cases/topk"
        beside = ("case topk: it has outputs by name; move golden, recorded, accumulators, residuals and "
                  "machines to each assay.Output")
        self.assertEqual(refused(golden=np.ones(3)), beside)
        self.assertEqual(refused(recorded={"npu": np.ones(3)}), beside)
        self.assertEqual(refused(machines={"npu": "ascend910b"}), beside)
        self.assertEqual(refused(outputs={"y": Output(np.ones(1), compared=False)}),
                         "case topk: outputs/y has a golden result, but also compared=False; leave one of the "
                         "two out")
        self.assertEqual(refused(outputs={"y": Output(np.ones(1), accumulators={"npu": np.ones(1)})}),
                         "case topk: it has an accumulator or residual of 'npu', but no output of that producer; "
                         "give the output, too")
        self.assertIn("did you mean 'rtol'?",
                      refused(outputs={"y": Output(np.ones(1), attributes={"rtoll": 1.0})}))
        self.assertEqual(refused(outputs={"a b": Output(np.ones(1))}),
                         f"{at}: 'a b' is no name of an output; use letters, digits, '_', '.' and '='")
        with self.assertRaisesRegex(TypeError, "case topk: outputs/npu is a dict; it must be an "
                                    "assay.Output"):
            write(self.path, Case("topk", outputs={"npu": {"y": np.ones(1)}}))


if __name__ == "__main__":
    unittest.main(verbosity=2)
