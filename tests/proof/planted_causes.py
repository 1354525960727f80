"""Plants causes in results, each with the text by which a failure's explanation names it, and failures without a cause.

The table KINDS was written before anybody looked at how assay decides what it names. A kind has the operators and
dtypes in which it occurs, a function that changes a right result, and a regular expression. The explanation is right if
the first cause that it names matches. If two causes give the same elements, the expression allows both."""
import dataclasses
import typing

import numpy as np

import product_faults
from number_formats import E4M3FN, round_to
from right_data import SEED
from store import Array, golden64

F32 = np.float32
SIZES = {"small": (16, 32, 24), "middle": (24, 64, 40), "large": (64, 128, 96)}  # M, K, N


@dataclasses.dataclass
class Setting:
    """Operands, the exact result, and a right result. Plants change the right result."""

    op: str
    operand: str  # dtypes
    out: str
    inputs: dict  # values
    golden: np.ndarray
    before: np.ndarray  # the result before the last rounding
    attributes: dict = dataclasses.field(default_factory=dict)

    @property
    def right(self):
        return round_to(self.before, self.out)

    def rounded(self, values, mode="nearest_even"):
        return round_to(np.asarray(values, np.float64), self.out, mode)


@dataclasses.dataclass
class Kind:
    name: str
    accepts: str  # a regular expression of right texts, in which {bit}, {row} and so on stand for words of the plant
    settings: list  # each is "op operand out", and seeds take turns among them
    plant: typing.Callable  # a function (setting, generator) -> values, or (values, words of the expression)
    standard: str = ""  # the standard, or "" for the gate's own choice
    square: bool = False
    shape: typing.Callable = None  # a function that changes (M, K, N)


@dataclasses.dataclass
class Plant:
    name: str
    kind: str
    size: str
    accepts: str
    standard: str
    setting: Setting
    output: np.ndarray  # values, or bit patterns if `bits` is set
    bits: bool = False

    def stored(self):
        if not self.bits:
            return Array(self.output, self.setting.out)
        made = Array(np.zeros(self.output.shape), self.setting.out)
        made.stored = self.output.astype(made.stored.dtype.str.replace("f", "u")).view(made.stored.dtype)
        return made


# ---- settings


def setting_of(words, shape, rng):
    op, operand, out = words.split()
    m, k, n = shape

    def draw(*of):
        return round_to(rng.standard_normal(of), operand)

    if op == "matmul":
        a, b, bias = draw(m, k), draw(k, n), round_to(3 * rng.standard_normal(n), out)
        before = np.matmul(a.astype(F32), b.astype(F32)).astype(F32) + bias.astype(F32)
        return Setting(op, operand, out, {"a": a, "b": b, "bias": bias}, np.matmul(a, b) + bias, before)
    if op == "add":
        x, y = draw(m, n), draw(m, n)
        return Setting(op, operand, out, {"a": x, "b": y}, x + y, (x.astype(F32) + y.astype(F32)))
    x = draw(m, n) + (0.5 if op == "reduce_sum" else 0)
    x = round_to(x, operand)
    attributes = {"axis": -1}
    if op == "reduce_sum":
        return Setting(op, operand, out, {"x": x}, x.sum(axis=-1), x.astype(F32).sum(axis=-1, dtype=F32), attributes)
    if op == "softmax":
        e = np.exp(x - x.max(axis=-1, keepdims=True))
        golden = e / e.sum(axis=-1, keepdims=True)
        return Setting(op, operand, out, {"x": x}, golden, golden.astype(F32), attributes)
    assert op == "layernorm"
    weight, bias = round_to(1 + 0.4 * rng.standard_normal(n), operand), round_to(rng.standard_normal(n), operand)
    attributes["eps"] = 1e-5
    plain = normalized(x)
    golden = plain * weight + bias
    return Setting(op, operand, out, {"x": x, "weight": weight, "bias": bias}, golden, golden.astype(F32), attributes)


def normalized(x, count=None):
    mean = x.mean(axis=-1, keepdims=True)
    return (x - mean) / np.sqrt(((x - mean) ** 2).mean(axis=-1, keepdims=True) + 1e-5)


# ---- bits

BITS = {"float32": (32, 23), "float16": (16, 10), "bfloat16": (16, 7), "float8_e4m3fn": (8, 3)}


def bits_of(values, dtype):
    stored = Array(values, dtype).stored
    return stored.view(f"u{stored.dtype.itemsize}").astype(np.uint64)


class Bits(np.ndarray):
    """An array of bit patterns instead of values."""


def as_bits(patterns):
    return np.asarray(patterns, np.uint64).view(Bits)


def some(rng, of, most):
    """Returns 1 to `most` distinct indices in order."""
    return np.sort(rng.choice(of, size=int(rng.integers(1, most + 1)), replace=False))


def flip(choose_bit, where):
    def plant(s, rng):
        width, mantissa = BITS[s.out]
        bit = choose_bit(rng, width, mantissa)
        bits = bits_of(s.right, s.out)
        bits[where(rng, bits.shape)] ^= np.uint64(1 << bit)
        return as_bits(bits), {"bit": bit}

    return plant


def low(rng, width, mantissa):
    # The bit is worth 16 to 1024 ulps of float32, which is more than a rounding error.
    return int(rng.integers(4, 11))


def high(rng, width, mantissa):
    return mantissa - 1 - int(rng.integers(0, 2))


def exponent(rng, width, mantissa):
    return int(rng.integers(mantissa, width - 1))


def sign(rng, width, mantissa):
    return width - 1


def any_high(rng, width, mantissa):
    return int(rng.integers(mantissa - 2, width))


def one_element(rng, shape):
    return tuple(int(rng.integers(0, n)) for n in shape)


def one_row(rng, shape):
    return (int(rng.integers(0, shape[0])),)


def one_column(rng, shape):
    return (slice(None), int(rng.integers(0, shape[1])))


def everywhere(rng, shape):
    return slice(None)


def stuck(s, rng):
    bit, bits = any_high(rng, *BITS[s.out]), bits_of(s.right, s.out)
    mask = np.uint64(1 << bit)
    share = np.mean((bits & mask) != 0)
    return as_bits(bits & ~mask if share > 0.5 else bits | mask), {"bit": bit}


def reversed_bytes(s, rng):
    width = BITS[s.out][0] // 8
    bits = bits_of(s.right, s.out).astype(f"<u{width}")
    return as_bits(bits.byteswap())


def swapped_halves(s, rng):
    bits = bits_of(s.right, s.out)
    return as_bits((bits >> np.uint64(16)) | ((bits & np.uint64(0xFFFF)) << np.uint64(16)))


# ---- places


def in_rows(value, most=4):
    def plant(s, rng):
        out = s.right
        out[some(rng, out.shape[0], most)] = value
        return out

    return plant


def nan_where_zero(s, rng):
    rows = some(rng, s.golden.shape[0], 3)
    for name in ("a", "b"):
        s.inputs[name][rows] = 0
    s.golden[rows] = 0
    s.before[rows] = 0
    return in_place(s.right, rows, np.nan)


def in_place(values, where, value):
    values[where] = value
    return values


def zero_columns(s, rng):
    out = s.right
    out[:, some(rng, out.shape[1], 4)] = 0
    return out


def a_tile(rng, shape, side=8):
    row, column = (side * int(rng.integers(0, n // side)) for n in shape)
    return (slice(row, row + side), slice(column, column + side))


def zero_tile(s, rng):
    out = s.right
    out[a_tile(rng, out.shape)] = 0
    return out


def tail(value):
    """The last rows of the output are not written."""

    def plant(s, rng):
        out = s.right
        rows = int(rng.integers(2, 8))
        shape = out[-rows:].shape
        if value == "stale":  # another call's result
            out[-rows:] = s.rounded(rng.permuted(s.before.ravel())[: rows * out.shape[1]].reshape(shape))
        elif value == "garbage":
            bits = bits_of(out, s.out)
            bits[-rows:] = rng.integers(0, 1 << BITS[s.out][0], shape, dtype=np.uint64)
            return as_bits(bits)
        else:
            out[-rows:] = value
        return out

    return plant


def repeat_rows(s, rng):
    out = s.right
    rows = 1 + 2 * some(rng, (out.shape[0] - 1) // 2, 4)
    out[rows] = out[rows - 1]
    return out


def repeat_columns(s, rng):
    out = s.right
    columns = 1 + 2 * some(rng, (out.shape[1] - 1) // 2, 4)
    out[:, columns] = out[:, columns - 1]
    return out


def repeat_tile(s, rng):
    out = s.right
    side = 8
    row, column = side * int(rng.integers(0, out.shape[0] // side)), side * int(rng.integers(1, out.shape[1] // side))
    rows, columns = slice(row, row + side), slice(column, column + side)
    out[rows, columns] = out[rows, column - side : column]
    return out


def transposed(s, rng):
    return s.right.T.reshape(s.right.shape)


def shifted(s, rng):
    return np.roll(s.right.ravel(), int(rng.choice([-1, 1]))).reshape(s.right.shape)


def shifted_rows(s, rng):
    return np.roll(s.right, int(rng.choice([-1, 1])), axis=0)


def shifted_columns(s, rng):
    return np.roll(s.right, int(rng.choice([-1, 1])), axis=1)


def exchanged_rows(s, rng):
    out = s.right
    one, other = rng.choice(out.shape[0], 2, replace=False)
    out[[one, other]] = out[[other, one]]
    return out


def permuted_rows(s, rng):
    return s.right[rng.permutation(s.right.shape[0])]


# ---- operands


def bias_times(factor):
    def plant(s, rng):
        return s.rounded(s.before + (factor - 1) * s.inputs["bias"].astype(F32))

    return plant


def bias_by_row(s, rng):
    bias = s.inputs["bias"].astype(F32)
    return s.rounded(s.before - bias + bias[: s.golden.shape[0], None])


def times(factors):
    def plant(s, rng):
        return s.rounded(s.before * rng.choice(factors))

    return plant


def without_weight(s, rng):
    return s.rounded(normalized(s.inputs["x"]) + s.inputs["bias"])


def product(s, a=None, b=None):
    a, b = (s.inputs[key] if one is None else one for key, one in (("a", a), ("b", b)))
    return np.matmul(a.astype(F32), b.astype(F32)) + s.inputs["bias"].astype(F32)


def rounded_inputs(dtype):
    def plant(s, rng):
        return s.rounded(product(s, round_to(s.inputs["a"], dtype), round_to(s.inputs["b"], dtype)))

    return plant


def accumulator(dtype):
    def plant(s, rng):
        terms = s.inputs["a"].astype(F32)[:, None, :] * s.inputs["b"].astype(F32).T[None]
        return s.rounded(product_faults.narrow_sum(terms, dtype, int(rng.choice([8, 16]))) + s.inputs["bias"])

    return plant


def truncated(s, rng):
    return s.rounded(s.before, "toward_zero")


def without_terms(choose):
    def plant(s, rng):
        first, last = choose(rng, s.inputs["a"].shape[1])
        part = np.matmul(s.inputs["a"][:, first:last].astype(F32), s.inputs["b"][first:last].astype(F32))
        return s.rounded(s.before - part), {"first": first, "last": last - 1}

    return plant


def terms_twice(s, rng):
    k = s.inputs["a"].shape[1]
    first = 16 * int(rng.integers(0, k // 16))
    part = np.matmul(s.inputs["a"][:, first : first + 16].astype(F32), s.inputs["b"][first : first + 16].astype(F32))
    return s.rounded(s.before + part)


def a_part(rng, k):
    parts = int(rng.choice([2, 4]))
    which = int(rng.integers(0, parts))
    return which * k // parts, (which + 1) * k // parts


def rounded_parts(s, rng):
    a, b, k = s.inputs["a"], s.inputs["b"], s.inputs["a"].shape[1]
    total = s.inputs["bias"].astype(F32)
    for first in (0, k // 2):
        part = np.matmul(a[:, first : first + k // 2].astype(F32), b[first : first + k // 2].astype(F32))
        total = total + round_to(part, "float16").astype(F32)
    return s.rounded(total)


def negatives_cut(s, rng):
    return np.maximum(s.right, 0)


def negatives_scaled(s, rng):
    return s.rounded(np.where(s.before < 0, 0.1 * s.before, s.before))


def stale_row_sum(s, rng):
    """Some rows of a softmax are divided by the sum of the row above."""
    x = s.inputs["x"]
    sums = np.exp(x - x.max(axis=-1, keepdims=True)).sum(axis=-1, keepdims=True)
    rows = 1 + 2 * some(rng, (x.shape[0] - 1) // 2, 4)
    out = np.array(s.before, np.float64)
    out[rows] *= sums[rows] / sums[rows - 1]
    return s.rounded(out)


def stale_row_max(s, rng):
    """The numerators of some rows of a softmax use the maximum of the row above, but their sum uses the row's own
    maximum."""
    x = s.inputs["x"]
    top = x.max(axis=-1, keepdims=True)
    rows = 1 + 2 * some(rng, (x.shape[0] - 1) // 2, 4)
    out = np.array(s.before, np.float64)
    out[rows] *= np.exp(top[rows] - top[rows - 1])
    return s.rounded(out)


def without_last(s, rng):
    return s.rounded(s.before - s.inputs["x"][:, -1].astype(F32))


def overflow(s, rng):
    """Some elements are infinite, as if their float16 sum had overflowed on its way."""
    out = s.right
    places = rng.choice(out.size, int(rng.integers(4, 20)), replace=False)
    out.ravel()[places] = np.copysign(np.inf, out.ravel()[places])
    return out


def float8_overflow(s, rng):
    """Results near the end of the range become NaN in place of the largest value."""
    large = some(rng, s.golden.size, 12)
    s.inputs["a"].ravel()[large], s.inputs["b"].ravel()[large] = 224.0, 232 - 8.0
    s.golden.ravel()[large] = 448.0
    s.before.ravel()[large] = 448.0
    bits = bits_of(s.right, s.out)
    bits.ravel()[large] = 0x7F
    return as_bits(bits)


def float8_beyond(s, rng):
    """The exact result is beyond the range of the output. The kernel saturates, as most kernels do."""
    large = some(rng, s.golden.size, 12)
    s.inputs["a"].ravel()[large], s.inputs["b"].ravel()[large] = 448.0, 416.0
    s.golden.ravel()[large] = 864.0
    s.before.ravel()[large] = 864.0
    return s.rounded(s.before)


def read_as(s, rng):
    other = {"float16": "bfloat16", "bfloat16": "float16"}[s.out]
    return as_bits(bits_of(round_to(s.before, other), other))


def flushed(s, rng):
    s.golden *= 2.0**-126 / 4
    s.before = s.golden
    for name in ("a", "b"):
        s.inputs[name] = s.inputs[name] * 2.0**-128
        s.inputs[name] = round_to(s.inputs[name], "float32")
    s.golden = s.inputs["a"] + s.inputs["b"]
    s.before = s.golden
    out = s.right
    return np.where(np.abs(out) < 2.0**-126, 0, out)


def with_three(plant):
    """Adds to a plant three wrong elements elsewhere, which have nothing to do with its pattern."""

    def planted(s, rng):
        made = plant(s, rng)
        made, words = made if isinstance(made, tuple) else (made, {})
        others = bits_of(s.right, s.out)
        out = np.array(made) if isinstance(made, Bits) else bits_of(made, s.out)
        untouched = np.flatnonzero((out == others).ravel())
        if len(untouched) < 3:
            untouched = np.arange(out.size)
        for place in rng.choice(untouched, 3, replace=False):
            wrong = s.rounded(s.right.ravel()[place] + np.sqrt(np.mean(s.right**2)) * rng.uniform(1, 2))
            out.ravel()[place] = bits_of(np.array([wrong]), s.out)[0]
        return as_bits(out), words

    return planted


F32_ANY = ["matmul float32 float32", "add float32 float32", "layernorm float32 float32", "softmax float32 float32"]
NARROW = [
    "matmul bfloat16 bfloat16",
    "matmul float16 float16",
    "layernorm float16 float16",
    "layernorm bfloat16 bfloat16",
]
ANY = [F32_ANY[0], NARROW[0], F32_ANY[1], NARROW[1], F32_ANY[2], NARROW[2], NARROW[3]]
PRODUCTS = [F32_ANY[0], NARROW[0], NARROW[1], "matmul bfloat16 float32"]
WIDE = ["matmul float32 float32"]
TO_F32 = ["matmul float16 float32", "matmul bfloat16 float32"]
BIASED = PRODUCTS + [F32_ANY[2], NARROW[2]]
THEORY = "expected_error"
BIT = r"\bbit {bit}\b"
SOME_NAN = r"\b(NaN|nan)\b(?!.*flipped)"
UNWRITTEN = r"written|stale"

KINDS = [
    Kind("one flip, low mantissa", BIT, F32_ANY[1:2], flip(low, one_element)),
    Kind("one flip, high mantissa", BIT, ANY, flip(high, one_element)),
    Kind("one flip, exponent", BIT, ANY, flip(exponent, one_element)),
    Kind("one flip, sign", BIT + "|sign", ANY, flip(sign, one_element)),
    Kind("one bit flipped in a row", BIT, ANY, flip(any_high, one_row)),
    Kind("one bit flipped in a column", BIT, ANY, flip(any_high, one_column)),
    Kind("one bit flipped everywhere", BIT + "|factor|times|sign|negated", ANY, flip(any_high, everywhere)),
    Kind("stuck bit", BIT + "|sign|negative values", ANY, stuck),
    Kind("reversed bytes", r"bytes .*reversed", ANY, reversed_bytes),
    Kind("swapped halves of a word", r"halves", F32_ANY[:3], swapped_halves),
    Kind("NaN rows", SOME_NAN, ANY, in_rows(np.nan)),
    Kind("NaN rows where 0 is expected", SOME_NAN, ["add float32 float32", "add float16 float16"], nan_where_zero),
    Kind("overflow to infinity", r"overflow|infinit", [NARROW[1], NARROW[2], F32_ANY[0]], overflow),
    Kind("float8 overflow to NaN", r"overflow|" + SOME_NAN, ["add float8_e4m3fn float8_e4m3fn"], float8_overflow),
    Kind(
        "float8 result beyond the range",
        r"rounds to NaN.*saturat",
        ["add float8_e4m3fn float8_e4m3fn"],
        float8_beyond,
        "torch",
    ),
    Kind("all zeros", r"\b0\b.*written|never written", ANY, in_rows(0) and (lambda s, rng: np.zeros_like(s.right))),
    Kind("zero rows", r"\b0\b.*written|zero", ANY, in_rows(0)),
    Kind("zero columns", r"\b0\b.*written|zero", ANY, zero_columns),
    Kind("zero tile", r"\b0\b.*written|zero", ANY, zero_tile),
    Kind("tail of zeros", r"tail.*written|0.*written", ANY, tail(0)),
    Kind("tail of an old value", UNWRITTEN, ANY, tail(1.5)),
    Kind("tail of another result", UNWRITTEN, ANY, tail("stale")),
    Kind("tail of garbage", UNWRITTEN, ANY, tail("garbage")),
    Kind("rows that repeat the row above", r"repeat.*row|rows? .*(repeat|above)|the row above", ANY, repeat_rows),
    Kind("columns that repeat the left one", r"repeat.*column|columns? .*(repeat|left)", ANY, repeat_columns),
    Kind("a tile that repeats the left one", r"repeat|columns? .*left|moved", ANY, repeat_tile),
    Kind("transposed", r"transpose", ANY, transposed),
    Kind("shifted by one element", r"moved (by )?one element|shift|moved one column", ANY, shifted),
    Kind("shifted by one row", r"moved one row", ANY, shifted_rows),
    Kind("shifted by one column", r"moved one column", ANY, shifted_columns),
    Kind("two rows exchanged", r"rows? .*exchanged", ANY, exchanged_rows),
    Kind("permuted rows", r"rows? .*(permut|another order|other order|other rows)", ANY, permuted_rows),
    Kind("missing bias", r"bias.*(missing|not added)|(missing|without).*bias", BIASED, bias_times(0)),
    Kind("bias added twice", r"bias.*(twice|2 times)", BIASED, bias_times(2)),
    Kind("bias by row", r"bias.*row", PRODUCTS, bias_by_row, square=True),
    Kind("missing scale", r"times|factor|scale", ANY, times([8.0, 11.3137085, 22.627417])),
    Kind("wrong factor of 2", r"times (0.5|2)\b|factor", ANY, times([2.0, 0.5])),
    Kind("missing weight", r"weight", [F32_ANY[2], NARROW[2], NARROW[3]], without_weight),
    Kind("operands in tfloat32", r"those of .*(tfloat32|float16).* inputs", WIDE, rounded_inputs("tfloat32"), THEORY),
    Kind("operands in bfloat16", r"those of bfloat16 inputs", WIDE, rounded_inputs("bfloat16"), THEORY),
    Kind("operands in float16", r"those of .*(tfloat32|float16).* inputs", WIDE, rounded_inputs("float16"), THEORY),
    Kind("operands in float8", r"those of float8_e4m3fn inputs", TO_F32, rounded_inputs("float8_e4m3fn"), THEORY),
    Kind("float16 accumulator", r"float16 accumulat", TO_F32[:1] + NARROW[1:2], accumulator("float16"), THEORY),
    Kind("bfloat16 accumulation", r"bfloat16 accumulat", TO_F32 + NARROW[:1], accumulator("bfloat16"), THEORY),
    Kind("truncated output", r"truncat|toward zero|cut off", NARROW[:2] + NARROW[2:], truncated),
    Kind("last K tile missing", r"last.* K\b|K\b.*missing|terms", PRODUCTS, without_terms(lambda rng, k: (k - 16, k))),
    Kind(
        "K tail dropped",
        r"last.* K\b|K\b.*missing|terms",
        PRODUCTS,
        without_terms(lambda rng, k: (k - k % 32, k)),
        shape=lambda m, k, n: (m, k + 5, n),
    ),
    Kind("split-K part missing", r"part.* K\b|K\b.*(part|missing)|terms", PRODUCTS, without_terms(a_part)),
    Kind("parts rounded to float16", r"parts? .*rounded to float16", TO_F32[1:], rounded_parts, THEORY),
    Kind("a K tile added twice", r"terms.*twice|K\b.*twice|twice.*K\b", PRODUCTS, terms_twice),
    Kind("negative values cut to 0", r"negative values", ANY, negatives_cut),
    Kind("leaky activation", r"negative values", ANY, negatives_scaled),
    Kind("stale sum of a softmax row", r"rows?\b.*(factor|times)|(factor|times).*rows?", F32_ANY[3:], stale_row_sum),
    Kind(
        "stale maximum of a softmax row", r"rows?\b.*(factor|times)|(factor|times).*rows?", F32_ANY[3:], stale_row_max
    ),
    Kind("last element of a sum missing", r"last (element|term)", ["reduce_sum float32 float32"], without_last),
    Kind("negated", r"sign|negated|times -1|bit", ANY, lambda s, rng: -s.right),
    Kind("bits of another 16-bit dtype", r"read as|those of another dtype", NARROW, read_as),
    Kind("subnormal numbers flushed", r"subnormal", ["add float32 float32"], flushed),
    Kind("zero rows and three others", r"\b0\b.*written|zero", ANY, with_three(in_rows(0))),
    Kind("tail of zeros and three others", r"tail.*written|0.*written", ANY, with_three(tail(0))),
    Kind("one bit in a column and three others", BIT, ANY, with_three(flip(any_high, one_column))),
    Kind(
        "repeated rows and three others",
        r"repeat.*row|rows? .*(repeat|above)|the row above",
        ANY,
        with_three(repeat_rows),
    ),
    Kind("transposed and three others", r"transpose", ANY, with_three(transposed)),
]


def generator(*words):
    return np.random.default_rng([SEED, *[int.from_bytes(str(w).encode(), "big") % 2**63 for w in words]])


def plants(seeds):
    """Yields the plants of each kind at each size. Each seed gives one."""
    for kind in KINDS:
        for size, shape in SIZES.items():
            for seed in range(seeds):
                rng = generator(kind.name, size, seed)
                m, k, n = shape if kind.shape is None else kind.shape(*shape)
                shape_now = (m, k, m) if kind.square else (m, k, n)
                words = kind.settings[seed % len(kind.settings)]
                s = setting_of(words, shape_now, rng)
                made = kind.plant(s, rng)
                made, found = made if isinstance(made, tuple) else (made, {})
                accepts = kind.accepts
                for key, value in found.items():
                    accepts = accepts.replace("{" + key + "}", str(value))
                yield Plant(
                    f"{kind.name}/{size}/{seed}",
                    kind.name,
                    size,
                    accepts,
                    kind.standard,
                    s,
                    np.asarray(made),
                    isinstance(made, Bits),
                )


# ---- failures without a cause


def noise(s, rng, share):
    """Adds independent errors to a share of the elements. The errors have one size, or are relative to each element."""
    level = 10 ** rng.uniform(-3, 0.5)
    size = np.sqrt(np.mean(s.golden**2)) if rng.integers(0, 2) else np.abs(s.golden)
    error = level * size * rng.standard_normal(s.golden.shape)
    return s.rounded(s.before + np.where(rng.random(s.golden.shape) < share, error, 0))


def all_noise(s, rng):
    return noise(s, rng, 1.0)


def some_noise(s, rng):
    return noise(s, rng, 10 ** rng.uniform(-2, -0.3))


def fine_noise(s, rng):
    """Adds errors of about the size of those of narrow arithmetic."""
    level = 10 ** rng.uniform(-4.5, -1.5)
    return s.rounded(s.before + level * np.sqrt(np.mean(s.golden**2)) * rng.standard_normal(s.golden.shape))


def chance_flips(s, rng):
    """Flips a random bit in each of many elements."""
    bits = bits_of(s.right, s.out)
    places = rng.choice(bits.size, max(4, int(bits.size * 10 ** rng.uniform(-2.5, -0.5))), replace=False)
    flips = rng.integers(BITS[s.out][1] - 3, BITS[s.out][0], places.size)
    bits.ravel()[places] ^= np.left_shift(np.uint64(1), flips.astype(np.uint64))
    return as_bits(bits)


def random_bits(s, rng):
    """Elements at random places have random bits."""
    bits = bits_of(s.right, s.out)
    places = rng.choice(bits.size, int(rng.integers(4, max(5, bits.size // 20))), replace=False)
    bits.ravel()[places] = rng.integers(0, 1 << BITS[s.out][0], places.size, dtype=np.uint64)
    return as_bits(bits)


def other_values(s, rng):
    """Elements at random places have values like those of other elements."""
    out = s.right
    places = rng.choice(out.size, int(rng.integers(4, max(5, out.size // 10))), replace=False)
    spread = np.sqrt(np.mean(s.golden**2))
    out.ravel()[places] = s.rounded(spread * rng.standard_normal(places.size))
    return out


def few_values(s, rng):
    """One to three elements have values like those of other elements."""
    out = s.right
    places = rng.choice(out.size, int(rng.integers(1, 4)), replace=False)
    out.ravel()[places] = s.rounded(np.sqrt(np.mean(s.golden**2)) * rng.standard_normal(places.size))
    return out


def all_values(s, rng):
    """An output that has nothing to do with the operands."""
    return s.rounded(np.sqrt(np.mean(s.golden**2)) * rng.standard_normal(s.golden.shape))


CHANCE = [all_noise, some_noise, fine_noise, chance_flips, random_bits, other_values, few_values, all_values]
CHANCE_SETTINGS = ANY + ["softmax float32 float32", "reduce_sum float32 float32", *TO_F32]


def chance_failures(count):
    """Yields failures that have no cause: every second one is judged by `expected_error`."""
    for number in range(count):
        rng = generator("chance", number)
        size = list(SIZES)[number % 3]
        s = setting_of(CHANCE_SETTINGS[number % len(CHANCE_SETTINGS)], SIZES[size], rng)
        function = CHANCE[(number // 2) % len(CHANCE)]
        made = function(s, rng)
        yield Plant(
            f"chance/{function.__name__}/{number}",
            function.__name__,
            size,
            "",
            THEORY if number % 2 else "",
            s,
            np.asarray(made),
            isinstance(made, Bits),
        )


assert len(E4M3FN) == 256
