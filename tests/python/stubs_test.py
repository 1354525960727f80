"""The stubs python/assay/_core.pyi say what the module has: every name, argument and type, and no other.

    stubs_test.py           compares
    stubs_test.py --write   writes them anew"""
import ast
import inspect
import pathlib
import re
import sys
import unittest

import numpy as np

import assay
from assay import _core

STUBS = pathlib.Path(__file__).resolve().parents[2] / "python/assay/_core.pyi"
BOUND = ("standard: str | Sequence[str] | None = None, rtol: float | None = None, "
         "atol: float | None = None, equal_nan: bool | None = None, infinity: str | None = None, "
         "nan_accepts: bool | None = None, allow_empty: bool | None = None, max_mismatches: int | None = None, "
         "max_mismatch_fraction: float | None = None, max_blind: float | None = None, "
         "standards: str | PathLike[str] | None = None, threads: int | None = None")
DTYPES = "dtype: object = None, golden_dtype: object = None, reference_implementation: object = None"
# The keywords of functions that the module takes as a dict, so that pybind11 does not list them.
KEYWORDS = {"compare": f"*, {BOUND}, {DTYPES}, metrics: bool = True, mask: bool = False", "assert_close": f"*, {BOUND}, {DTYPES}",
            "judge_case": f"*, {BOUND}, producer: str | None = None, output_name: str | None = None, "
                          "machine: str | None = None, abft: bool | str | None = None, "
                          "reference_implementation: str | None = None, dtype: object = None",
            "golden": "**inputs: object", "emulate": "**inputs: object",
            "identify": "**options: object",
            "__exit__": "*error: object"}
RESULTS = {"read": "Case", "__getitem__": "Case", "info": "Case", "to_dict": "dict",
           "__enter__": "Dataset", "__iter__": "Iterator"}
TYPES = [(r"\bassay\._core\.", ""), (r"\bnumpy\.ndarray\b", "np.ndarray"), (r"\bhandle\b", "object"),
         (r"\bOptional\[([^\[\]]*)\]", r"\1 | None"), (r"\bList\[", "list["), (r"\bDict\[", "dict["),
         (r"\bTuple\[", "tuple["), (r"\bInjection\b", "Injection"), (r"\bos\.PathLike\b", "PathLike[str]")]


def command_keywords(command, taken):
    """Returns the options of a command line as keywords, without those that are arguments already."""
    return "*, " + ", ".join(f"{name}: {kind} = {value}" for name, kind, value in _core._command_options(command)
                             if name not in taken)


KEYWORDS["gate"] = command_keywords("gate", ["outputs"])
KEYWORDS["campaign"] = command_keywords("campaign", [])


def typed(text):
    for pattern, replacement in TYPES:
        text = re.sub(pattern, replacement, text)
    return text


def function(name, doc, indent):
    """Returns the stub of a function from the signature that pybind11 writes as the first line of its docstring."""
    found = re.match(r"\w+\((.*)\)(?: -> (.*))?$", (doc or "").split("\n")[0])
    arguments, result = found[1], typed(found[2] or "None")
    arguments = re.sub(r"\bself: [\w.]+", "self", typed(arguments))
    keywords = KEYWORDS.get(name)
    if keywords:
        arguments = re.sub(r"(, )?\*\*?\w+$", "", arguments)
        arguments = ", ".join(part for part in (arguments, keywords) if part)
    if result == "object":
        result = RESULTS.get(name, result)
    if name == "__eq__":
        arguments = "self, other: object"
    return f"{indent}def {name}({arguments}) -> {result}: ..."


def property_type(member):
    found = re.match(r"\(.*\) -> (.*)$", (member.fget.__doc__ or "").split("\n")[0].strip())
    return typed(found[1]) if found else "object"


def class_lines(cls):
    bases = [base.__name__ for base in cls.__bases__
             if base is not object and base.__name__ != "pybind11_object"]
    lines = [f"class {cls.__name__}({', '.join(bases)}):".replace("()", "")]
    own = [name for name in vars(cls)
           if not name.startswith("__") or name in ("__array__", "__bool__", "__contains__", "__enter__",
                                                    "__eq__", "__exit__", "__getitem__", "__iter__",
                                                    "__len__")]
    for name in sorted(own):
        member = inspect.getattr_static(cls, name)
        if isinstance(member, property):
            lines += ["    @property", f"    def {name}(self) -> {property_type(member)}: ..."]
        elif isinstance(member, staticmethod) or name == "of":
            lines += ["    @staticmethod", function(name, getattr(cls, name).__doc__, "    ")]
        elif callable(member):
            lines.append(function(name, member.__doc__, "    "))
    return lines if len(lines) > 1 else [lines[0] + " ..."]


def stubs():
    lines = ["# Made by tests/python/stubs_test.py --write.", "from os import PathLike",
             "from typing import Iterator, Sequence", "", "import numpy as np", "",
             "from ._case import Case", "", "__version__: str", ""]
    classes = {name: value for name, value in vars(_core).items() if inspect.isclass(value)}
    depth = lambda item: (len(item[1].__mro__), item[0])
    for _, cls in sorted(classes.items(), key=depth):
        lines += [*class_lines(cls), ""]
    for name, value in sorted(vars(_core).items()):
        if callable(value) and name not in classes and not name.startswith("_"):
            lines.append(function(name, value.__doc__, ""))
    return "\n".join(lines) + "\n"


class Stubs(unittest.TestCase):
    maxDiff = None

    def test_they_are_those_of_the_module(self):
        self.assertEqual(STUBS.read_text(), stubs(), "stubs_test.py --write mends it")

    def test_they_name_what_the_module_has(self):
        tree = ast.parse(STUBS.read_text())
        named = {node.name for node in tree.body if isinstance(node, (ast.ClassDef, ast.FunctionDef))}
        self.assertEqual(named | {"__version__"},
                         {name for name in vars(_core)
                          if not name.startswith("_") or name == "__version__"})
        for node in tree.body:
            if not isinstance(node, ast.ClassDef):
                continue
            for member in node.body:
                if isinstance(member, ast.FunctionDef):
                    self.assertTrue(hasattr(getattr(_core, node.name), member.name), member.name)

    def test_the_package_has_all_of_it(self):
        # The package has the first two only as methods of Case, and assay.torch.guard() calls the others.
        hidden = {"case_golden", "case_emulate", "device_checksum", "DeviceChecksum", "DeviceFindings", "DeviceWeights"}
        self.assertEqual({name for name in vars(_core) if not name.startswith("_")} - hidden,
                         {name for name in assay.__all__ if hasattr(_core, name)})

    def test_keywords_are_taken(self):
        golden = np.array([1.0, 2.0])
        out = golden.astype("f4")
        case = assay.Case("c", golden=golden, attributes={"output_dtype": "float32"})
        calls = {"compare": lambda **k: assay.compare(out, golden, **k),
                 "assert_close": lambda **k: assay.assert_close(out, golden, **k),
                 "judge_case": lambda **k: assay.judge_case(case, out, **k)}
        for name, call in calls.items():
            keywords = re.findall(r"(\w+): ", KEYWORDS[name])
            self.assertGreater(len(keywords), 10)
            for keyword in keywords:
                call(**{keyword: None})
            with self.assertRaises(TypeError):
                call(no_such_keyword=None)

    def test_everything_says_what_it_is(self):
        for name in assay.__all__:
            if name not in ("torch",):
                self.assertTrue(getattr(assay, name).__doc__, name)
        for name, cls in vars(_core).items():
            if not inspect.isclass(cls):
                continue
            self.assertEqual(cls.__module__, "assay", name)
            for word, member in vars(cls).items():
                if word.startswith("_") or issubclass(cls, Exception):
                    continue
                lines = (member.__doc__ or "").strip().split("\n")
                signature = 0 if isinstance(member, property) else 1
                self.assertTrue("".join(lines[signature:]), f"{name}.{word} says nothing")


if __name__ == "__main__":
    if sys.argv[1:] == ["--write"]:
        STUBS.write_text(stubs())
    else:
        unittest.main(verbosity=2)
