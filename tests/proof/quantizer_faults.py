"""Faults of quantizers and of what undoes them."""
import numpy as np

import exact
from number_formats import round_to
from plant import F32, Setting, generator
from store import Array

# ---- quantizers


def quantizers(size):
    rows, n = {"small": (4, 256), "large": (32, 1024)}[size]
    for dtype in ("float32", "bfloat16"):
        for out, largest in (("int8", 127.0), ("float8_e4m3fn", 448.0)):
            for scaling, width in (("row", n), ("1x128", 128)):
                rng = generator("quantize", dtype, out, scaling, size)
                x = round_to(rng.standard_normal((rows, n)) * np.exp(rng.standard_normal((rows, 1))), dtype)
                amax = np.abs(x.reshape(rows, -1, width)).max(axis=-1)
                exact_amax = np.repeat(amax, width, axis=1).astype(np.longdouble)
                # The product x * largest is exact, so that ties stay ties.
                golden = x * largest / exact_amax
                single, scale = x.astype(F32), np.repeat((amax / largest).astype(F32), width, axis=1)
                # A quotient by a float32 scale has a relative error of 2 u. A product with the reciprocal of the scale
                # has one of 3 u.
                bound = 4 * exact.U32 * np.abs(np.asarray(golden, np.float64))
                stored = Array(np.rint(golden), "int8") if out == "int8" else None
                right = [single / scale, single * (F32(1) / scale)]
                s = Setting(
                    "quantize",
                    f"{dtype}_to_{out}_{scaling}_{size}",
                    size,
                    f"{dtype} to {out}",
                    "quantize",
                    {"x": Array(x, dtype)},
                    {"scaling": scaling},
                    golden,
                    bound,
                    out,
                    right,
                    stored,
                )
                yield from s.controls()
                yield from s.plant("truncated codes", s.rounded(right[0], "toward_zero"))
                if out == "int8":
                    yield from s.plant("floor of the quotient", s.rounded(right[0], "down"))
                    wrong = np.array(s.right[0])
                    wrong[1] = np.clip(wrong[1] + 1, -128, 127)
                    yield from s.plant("codes of one row one too large", wrong)
                    yield from s.plant("range of 128 for 127", s.rounded(single * (F32(128) / (scale * F32(127)))))
                    away = np.trunc(right[0] + np.copysign(F32(0.5), right[0]))
                    yield from s.plant("ties away from zero", s.rounded(away))
                else:
                    yield from s.plant("range of 240 for 448", s.rounded(right[0] * F32(240 / 448)))
                yield from s.plant("scale in bfloat16", s.rounded(single / round_to(scale, "bfloat16").astype(F32)))
                yield from s.plant("scale in float16", s.rounded(single / round_to(scale, "float16").astype(F32)))
                shift, axis = (width, 1) if scaling == "1x128" else (1, 0)
                yield from s.plant(
                    "scale of the neighbouring block", s.rounded(single / np.roll(scale, shift, axis=axis))
                )


def affine_quantizers(size):
    """Yields plants of codes with a zero point. assay does not know their operator, so that only the golden result
    decides."""
    rows, n = {"small": (4, 256), "large": (32, 1024)}[size]
    rng = generator("affine", size)
    x = rng.uniform(-1, 3, (rows, n)).astype(F32)
    low, high = x.min(axis=1, keepdims=True), x.max(axis=1, keepdims=True)
    scale = ((high - low) / F32(255)).astype(F32)
    zero = np.rint(-128 - low / scale)
    golden = x.astype(np.longdouble) / scale + zero
    bound = 4 * exact.U32 * (np.abs(x / scale) + np.abs(zero))
    right = [x / scale + zero.astype(F32), x * (F32(1) / scale) + zero.astype(F32)]
    right = [np.clip(one, -128, 127) for one in right]
    golden = np.clip(golden, -128, 127)
    s = Setting(
        "quantize_affine (unknown to assay)",
        f"float32_to_int8_{size}",
        size,
        "float32 to int8",
        "quantize_affine",
        {"x": Array(x, "float32"), "scale": Array(scale, "float32"), "zero_point": Array(zero, "float32")},
        {},
        golden,
        bound,
        "int8",
        right,
        Array(s_round(golden), "int8"),
    )
    yield from s.controls()
    yield from s.plant("zero point missing", s.rounded(x / scale))
    yield from s.plant("zero point one too large", s.rounded(x / scale + zero + 1))
    yield from s.plant("truncated codes", s.rounded(right[0], "toward_zero"))
    yield from s.plant("scale in bfloat16", s.rounded(x / round_to(scale, "bfloat16") + zero))
    yield from s.plant("zero point of the neighbouring row", s.rounded(x / scale + np.roll(zero, 1, axis=0)))


def s_round(golden):
    return np.clip(np.rint(np.asarray(golden, np.float64)), -128, 127)


def dequantizers(size):
    rows, n = {"small": (4, 256), "large": (32, 1024)}[size]
    for dtype in ("int8", "float8_e4m3fn"):
        for out in ("float32", "bfloat16"):
            rng = generator("dequantize", dtype, out, size)
            codes = rng.integers(-127, 128, (rows, n)).astype(float)
            codes = codes if dtype == "int8" else round_to(codes * 3, dtype)
            scale = np.exp(rng.standard_normal(rows)).astype(F32)
            golden = codes.astype(np.longdouble) * scale[:, None]
            s = Setting(
                "dequantize",
                f"{dtype}_to_{out}_{size}",
                size,
                f"{dtype} to {out}",
                "dequantize",
                {"x": Array(codes, dtype), "scale": Array(scale, "float32")},
                {"scaling": "row"},
                golden,
                2 * exact.U32 * np.abs(np.asarray(golden, np.float64)),
                out,
                [codes.astype(F32) * scale[:, None], np.asarray(golden, np.float64)],
            )
            yield from s.controls()
            yield from s.plant("scale in bfloat16", s.rounded(codes * round_to(scale, "bfloat16")[:, None]))
            yield from s.plant("scale of the neighbouring row", s.rounded(codes * np.roll(scale, 1)[:, None]))
            yield from s.plant("codes one too large", s.rounded((codes + 1) * scale[:, None]))
            if out == "bfloat16":
                yield from s.plant(
                    "truncated output", s.rounded(codes * scale[:, None].astype(np.float64), "toward_zero")
                )
