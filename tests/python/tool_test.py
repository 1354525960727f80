"""Tests that the C++ program reads the files of the Python package, and the other way round."""
import re
import unittest

import h5py
import numpy as np

from assay import Case, Tensor, open as open_dataset, write
from support import FORMATS, H5DUMP, PARTS, SAMPLE, TestCase, assay, codes, run, tensor


class Tool(TestCase):
    def setUp(self):
        super().setUp()
        self.path = self.directory / "codes.h5"
        write(self.path, [Case(name, inputs={"x": tensor(name)}, golden=tensor(name),
                               recorded={"python": tensor(name)}) for name in FORMATS],
              attributes={"description": "every code"})

    def test_inspect_shows_what_was_written(self):
        _, said = assay("inspect", self.path)
        self.assertIn("description: every code", said)
        self.assertIn(f"{len(FORMATS)} cases", said)
        for name in FORMATS:
            shown = f"{name} [{len(codes(name))}]"
            self.assertRegex(said, rf"(?m)^{name} +external +x {re.escape(shown)} +"
                             rf"{re.escape(shown)} +python {re.escape(shown)}")

    def test_the_program_reads_the_same_bits(self):
        for name in FORMATS:
            with self.subTest(name):
                raw, other = self.directory / "raw", self.directory / "other"
                bits = codes(name)
                raw.write_bytes(bits.tobytes())
                bits[-1] ^= bits.dtype.type(1 << FORMATS[name].padding)
                other.write_bytes(bits.tobytes())
                for file, status in ((raw, 0), (other, 1)):
                    words = ["compare", f"{self.path}:/cases/{name}/golden", file, "--dtype", name,
                             "--shape", len(bits), "--standard", "bit_equal"]
                    got, said = assay(*map(str, words), check=False)
                    self.assertEqual(got, status, said)

    def test_python_reads_what_the_program_wrote(self):
        # `assay inject` writes each output again, with the lowest bit of the first element changed.
        other = self.directory / "injected.h5"
        for name in FORMATS:
            with self.subTest(name):
                if name in PARTS:
                    _, said = assay("inject", self.path, "--fault", "flip,bit=0", "--case", name,
                                    "--recorded", "python", "--out", other, check=False)
                    self.assertIn(f"{name}: the output is {name}, but faults can be put only into real numbers; "
                                  f"record its parts as {PARTS[name]}\n", said)
                    continue
                low = FORMATS[name].padding
                assay("inject", self.path, "--fault", f"flip,bit={low},at=0", "--case",
                      name, "--recorded", "python", "--out", other)
                with open_dataset(other) as file:
                    read = file.read(name).recorded["python"]
                expected = codes(name)
                expected[0] ^= expected.dtype.type(1 << low)
                self.assertEqual(read.dtype, name)
                self.assertEqual(read.bits.tobytes(), expected.tobytes())

    def test_names_that_others_have(self):
        # Files have the format's standard name, even if the case that is written uses another one.
        write(self.path, Case("c", golden=Tensor.of(np.uint16([0x3f80]), "bf16"),
                              attributes={"output_dtype": "bf16"}))
        with open_dataset(self.path) as file:
            case = file.read("c")
            self.assertEqual((case.golden.dtype, case.attributes["output_dtype"]),
                             ("bfloat16", "bfloat16"))
        with h5py.File(self.path, "r+") as file:
            # Without checksums, the changes below are not taken for damage.
            del file["checksums"], file.attrs["assay_checksums"]
            file["cases/c"].attrs["output_dtype"] = "torch.bfloat16"
            file["cases/c/golden"].attrs["dtype"] = "bf16"
        with open_dataset(self.path) as file:
            case = file.read("c")
            self.assertEqual((case.golden.dtype, case.attributes["output_dtype"]),
                             ("bfloat16", "bfloat16"))

    def test_golden_and_emulate(self):
        rng = np.random.default_rng(3)
        a, b = (rng.standard_normal(shape).astype("f2") for shape in ((4, 6), (6, 5)))
        source, golden, npu = (self.directory / f"{n}.h5" for n in ("in", "golden", "npu"))
        write(source, Case("gemm", op="matmul", inputs={"a": a, "b": b}))
        assay("golden", source, "--out", golden)
        assay("emulate", golden, "--machine", "ascend910b", "--out", npu)
        with open_dataset(npu) as file:
            case = file.read("gemm")
        np.testing.assert_array_equal(case.inputs["a"].numpy(), a)
        # Each element is a sum of six products of float16 numbers, so numpy's float64 result is nearly exact.
        np.testing.assert_allclose(case.golden.numpy(), a.astype("f8") @ b.astype("f8"), rtol=1e-12)
        self.assertEqual(case.recorded["ascend910b"].dtype, "float16")
        np.testing.assert_allclose(case.recorded["ascend910b"].numpy().astype("f8"),
                                   case.golden.numpy(), rtol=2**-9, atol=2**-9)

    def test_sample_comes_through_python(self):
        copy = self.directory / "copy.h5"
        with open_dataset(SAMPLE) as file:
            producer = next(iter(file)).recorded
            write(copy, file, attributes=file.attributes)
        for name in producer:
            results = [assay("gate", path, "--recorded", name, "--json", "-", check=False)
                       for path in (SAMPLE, copy)]
            verdicts = [(status, re.findall(r'"(?:outcome|max_abs_error|bad_elements)": *[^,\n]*',
                                            said)) for status, said in results]
            self.assertTrue(verdicts[0][1])
            self.assertEqual(*verdicts)


class Stored(TestCase):
    """Tests how other HDF5 programs see the files."""
    VALUES = [0.0, -0.0, 1.5, -2.0, 0.25, float("inf"), float("-inf")]
    BITS = {"float16": [0, 0x8000, 0x3E00, 0xC000, 0x3400, 0x7C00, 0xFC00],
            "bfloat16": [0, 0x8000, 0x3FC0, 0xC000, 0x3E80, 0x7F80, 0xFF80],
            "float8_e5m2": [0, 0x80, 0x3E, 0xC0, 0x34, 0x7C, 0xFC]}

    def test_true_values_in_h5dump(self):
        path = self.directory / "f.h5"
        write(path, [Case(name, golden=Tensor.of(np.array(bits, f"<u{FORMATS[name].storage_bytes}")
                                                  .view("f2" if name == "float16" else None or
                                                        f"<u{FORMATS[name].storage_bytes}"), name))
                     for name, bits in self.BITS.items()])
        self.assertIsNotNone(H5DUMP, "h5dump is missing (package hdf5-tools)")
        for name in self.BITS:
            _, said = run(H5DUMP, "-y", "-d", f"/cases/{name}/golden", path)
            data = re.search(r"DATA \{\n(.*?)\n *\}", said, re.S)[1]
            self.assertEqual([str(float(v)) for v in data.split(",")], list(map(str, self.VALUES)))

    def test_stored_types(self):
        path = self.directory / "f.h5"
        write(path, [Case(name, golden=tensor(name)) for name in FORMATS])
        # The fields of each HDF5 float type: (sign position, exponent position, exponent size, mantissa position,
        # mantissa size), and the bias.
        fields = {"float16": ((15, 10, 5, 0, 10), 15), "bfloat16": ((15, 7, 8, 0, 7), 127),
                  "float8_e5m2": ((7, 2, 5, 0, 2), 15), "float64": ((63, 52, 11, 0, 52), 1023)}
        for name in ("float32", "tfloat32", "hfloat32"):
            fields[name] = ((31, 23, 8, 0, 23), 127)
        integers = {"int8": "i1", "int16": "<i2", "int32": "<i4", "int64": "<i8",
                    "uint16": "<u2", "uint32": "<u4", "uint64": "<u8",
                    "float_e5m6": "<u2", "complex128": "<c16", "complex64": "<c8",
                    "complex32": [("real", "<f2"), ("imag", "<f2")]}
        with h5py.File(path) as file:
            for name in FORMATS:
                stored = file[f"cases/{name}/golden"].id.get_type()
                if name in fields:
                    self.assertEqual((stored.get_fields(), stored.get_ebias()), fields[name])
                    self.assertEqual(stored.get_size() * 8, fields[name][0][0] + 1)
                else:
                    self.assertEqual(stored.dtype, np.dtype(integers.get(name, "u1")), name)


if __name__ == "__main__":
    unittest.main(verbosity=2)
