import numpy as np
import assay

a = np.random.default_rng(7).standard_normal((64, 128), dtype=np.float32)
b = np.random.default_rng(8).standard_normal((128, 32), dtype=np.float32)
golden = assay.golden("matmul", a=a, b=b)           # by the operator's reference, in float64
assay.assert_close(a @ b, golden, standard="torch")
assay.assert_product(a @ b, a, b)                   # by checksums: no golden result is needed

assay.write("gemms.h5", assay.Case("gemm/m64", op="matmul", inputs={"a": a, "b": b}, golden=golden,
                                   recorded={"numpy": a @ b},
                                   attributes={"output_dtype": "float32", "standard": "torch"}))
print(assay.gate("gemms.h5", recorded="numpy"))
