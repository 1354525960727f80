import numpy as np
from assay_data import Case, assert_gate, write

a = np.random.default_rng(7).standard_normal((64, 128), dtype=np.float32)
b = np.random.default_rng(8).standard_normal((128, 32), dtype=np.float32)
write("gemms.h5", Case("gemm/m64", op="matmul", inputs={"a": a, "b": b},
                       golden=a.astype(np.float64) @ b.astype(np.float64), outputs={"numpy": a @ b},
                       attributes={"output_dtype": "float32", "standard": "torch"}))
print(assert_gate("gemms.h5", recorded="numpy"))
