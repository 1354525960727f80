#!/usr/bin/env python3
"""Tests the headers as they are installed. The list names the promised ones, at most 25. Their own includes are in
assay/detail, or of the standard library, or what ALLOWED lists. They contain no floating-point arithmetic. Each promised
one compiles separately with one compiler (the class Alone: each of all), and all compile in one file with every compiler.
The class Nvcc compiles them with CUDA's compiler, if that is installed.

    headers_test.py SOURCE BUILD CMAKE COMPILER[,COMPILER...] [TEST...]

BUILD is a finished build of SOURCE.
"""
import itertools
import multiprocessing.pool
import os
import pathlib
import platform
import re
import shutil
import sys
import unittest

from installed import COMPILER, COMPILERS, PREFIX, ROOT, SOURCE, install, run

INCLUDE = PREFIX / "include"
# Pairs of patterns: the name of a public header, and the names of third-party headers that it may include.
ALLOWED = [(r"assay/(detail/)?matchers(/.*)?\.h", r"(gmock|gtest)/"), (r"assay/(tensor|matchers)/eigen\.h", r"Eigen/"),
           (r"assay/tensor/cuda\.h", r"cuda_\w+\.h")]
# Types of the names of CUDA's, so that the header for them compiles without CUDA.
CUDA = pathlib.Path(SOURCE) / "tests/tensor/cuda_shim"
WARNINGS = ("-Wall", "-Wextra", "-Wconversion", "-Wshadow", "-Werror")
# Instructions whose meaning an optimiser may change under -ffast-math or contraction: scalar and
# packed arithmetic and comparisons of numbers, as g++ writes them for x86-64. Moves and conversions
# do not count.
ARITHMETIC = re.compile(r"^\s+v?(add|sub|mul|div|sqrt|max|min|u?comi|cmp\w*|round|rcp|rsqrt|fn?m(add|sub)\w*)[sp][sd]\b|"
                        r"^\s+f(add|sub|mul|div|sqrt|u?comi?|abs|chs)\w*\b")

# Types that installed headers declare and do not define. Each has the reason why no user needs its definition. An enum
# with its underlying type is complete when it is declared, and a type within a class belongs to the source of this class.
OPAQUE = {
    "assay::abft::CheckedProduct": "only the functions of a threshold's row take it, and only assay calls these",
    "assay::abft::Prepared": "only the functions of a threshold's row take it, and only assay calls these",
    "assay::abft::RowForms": "only the functions of a threshold's row take it, and only assay calls these",
    "assay::h5::ChecksumTable": "of private members of DatasetFile",
    "assay::h5::CopySource": "of private members of DatasetFile",
    "assay::h5::FileLook": "a friend of DatasetFile"}


def setUpModule():
    install()


def types_of(text):
    """Returns the names of the types that the text of a header only declares, and of those that it defines, both in
    namespaces and not within classes. Friends are not declarations."""
    text = re.sub(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|^\s*#[^\n]*', "", text, flags=re.S | re.M)
    text = re.sub(r"\btemplate\s*<(?:[^<>]|<(?:[^<>]|<[^<>]*>)*>)*>", "", text)
    declared, defined = set(), set()
    scopes = []  # a name for each open brace: of a namespace, or None
    for found in re.finditer(r"\bnamespace\s+([\w:\s]*)\{|\benum\b[^;{]*[;{]|(friend\s+)?\b(?:struct|class|union)\s+"
                             r"(?:\[\[\w+\]\]\s*)?([\w:]+)([^;{}()=]*)([;{])|[{}]", text):
        namespace, friend, name, _, end = found.groups()
        if name:
            if None not in scopes and not friend:
                full = "::".join([*scopes, name])
                (defined if end == "{" else declared).add(full)
        if found[0] == "}":
            scopes.pop()
        elif namespace is not None:
            scopes.append("::".join(part for part in re.split(r"\s*::\s*", namespace.strip())
                                    if not part.startswith("inline ")))
        elif found[0].endswith("{"):
            scopes.append(None)
    return declared, defined


def only_declared(texts):
    """Returns the types that some of these headers declare and none of them defines."""
    types = [types_of(text) for text in texts]
    return set().union(*(declared for declared, _ in types)) - set().union(*(defined for _, defined in types))


def listed():
    """Returns the public headers by component, as cmake/PublicHeaders.cmake lists them."""
    text = (pathlib.Path(SOURCE) / "cmake/PublicHeaders.cmake").read_text()
    return {name: headers.split() for name, headers in re.findall(r"^set\(assay_(\w+)_headers\s+([^)]*)\)", text, re.M)}


def promised():
    return sorted(h for headers in listed().values() for h in headers)


def all_headers():
    return sorted(str(p.relative_to(INCLUDE)) for p in INCLUDE.rglob("*") if p.is_file())


def includes(header):
    return re.findall(r'^\s*#\s*include\s*[<"]([^>"]+)[>"]', (INCLUDE / header).read_text(), re.M)


def compile_headers(test, separately, in_one_file):
    """Compiles each header of `separately` with one compiler. If asked, compiles all together with every compiler."""
    together = "".join(f"#include <{h}>\n" for h in all_headers())
    # A header that lacks an include fails with every compiler. So only the last compiler, which
    # is the fastest if there are several, compiles each header separately.
    alone = [(h, f"#include <{h}>\n#include <{h}>\n") for h in separately]
    whole = [("all", together), ("all, Eigen first", "#include <Eigen/Core>\n" + together)] if in_one_file else []
    tasks = [(COMPILERS[-1], text) for text in alone] + list(itertools.product(COMPILERS, whole))

    def compile(task):
        i, (compiler, (name, text)) = task
        source = ROOT / f"alone{i}.cc"
        source.write_text(text + "int main() {}\n")
        return f"{name} with {compiler}", *run(compiler, "-std=c++20", "-fsyntax-only", *WARNINGS, "-I", INCLUDE,
                                               "-isystem", EIGEN, "-isystem", CUDA, source)

    with multiprocessing.pool.ThreadPool(len(os.sched_getaffinity(0))) as pool:
        for name, code, out in pool.map(compile, enumerate(tasks), chunksize=1):
            with test.subTest(name):
                test.assertEqual(code, 0, out)


class Headers(unittest.TestCase):
    def test_the_promised_ones_are_those_of_the_list(self):
        self.assertEqual(set(listed()), {"framework", "cuda", "datasets", "matchers", "command_line"})
        self.assertEqual([h for h in all_headers() if not h.startswith("assay/detail/")], promised())
        self.assertLessEqual(len(promised()), 25)
        self.assertGreater(len(all_headers()), len(promised()) + 20, "the others are in assay/detail")

    def test_the_page_lists_them(self):
        page = (pathlib.Path(SOURCE) / "docs/api.md").read_text()
        self.assertEqual(sorted(set(re.findall(r"`(assay/[a-z_/]+\.h)`", page))), promised())

    def test_names_are_in_a_namespace_of_the_minor_version(self):
        cmake = (pathlib.Path(SOURCE) / "CMakeLists.txt").read_text()
        major, minor = re.search(r"^project\(assay VERSION (\d+)\.(\d+)", cmake, re.M).groups()
        opened = {}
        for header in all_headers():
            for namespace in re.findall(r"^namespace assay[^{]*", (INCLUDE / header).read_text(), re.M):
                opened.setdefault(namespace.rstrip(), header)
        for namespace, header in opened.items():
            self.assertRegex(namespace, rf"^namespace assay::inline v{major}_{minor}(::\w+)*$", header)

    def test_all_that_is_installed_is_needed(self):
        """Every header of assay/detail is included by a promised one, directly or through others."""
        needed, waiting = set(promised()), promised()
        while waiting:
            for included in includes(waiting.pop()):
                if included.startswith("assay/") and included not in needed:
                    needed.add(included)
                    waiting.append(included)
        self.assertEqual(sorted(needed), all_headers())

    def test_what_they_include_is_installed_or_the_standard_library(self):
        headers = set(all_headers())
        for header in headers:
            for included in includes(header):
                with self.subTest(f"{header} includes {included}"):
                    if included.startswith("assay/"):
                        self.assertIn(included, headers)
                    elif not re.fullmatch(r"[a-z0-9_]+", included):
                        self.assertTrue(any(re.fullmatch(of, header) and re.match(what, included)
                                            for of, what in ALLOWED))

    def test_types_that_they_declare_are_defined_in_one_of_them(self):
        """A user could not use a function whose types no installed header defines."""
        texts = [(INCLUDE / header).read_text() for header in all_headers()]
        self.assertGreater(len(set().union(*(types_of(text)[1] for text in texts))), 100)
        self.assertEqual(sorted(only_declared(texts)), sorted(OPAQUE))

    def test_the_search_finds_a_type_that_is_only_declared(self):
        header = """#pragma once
        namespace assay::inline v0_2 {
        struct Here;  // struct Comment;
        template <typename T, class U = std::vector<int>> class Missing;
        struct [[nodiscard]] Here final : public Base<int> { struct Impl; enum class E { k }; friend class Friend; };
        enum class Complete : std::uint8_t;
        namespace inner { union Other; struct Here; void f(struct Argument& a) { if (a) { struct Local; } } }
        }  // namespace assay
        namespace assay::inline v0_2::tools { class Last; struct Elsewhere; }
        """
        self.assertEqual(only_declared([header, "namespace assay::tools { class Elsewhere : A {}; }"]),
                         {"assay::Missing", "assay::inner::Other", "assay::inner::Here", "assay::tools::Last"})

    def test_the_framework_includes_no_other_component(self):
        for header in all_headers():
            if not re.match(r"assay/(detail/)?(datasets|dataset_tests|matchers|command_line)\b", header):
                for included in includes(header):
                    self.assertNotRegex(included, r"^assay/(detail/)?(datasets|dataset_tests|matchers|command_line)\b")

    def test_what_a_matcher_cannot_take_says_what_to_write(self):
        """The compiler's message has our text, and the code that it suggests compiles."""
        program = """#include <assay/matchers.h>
#include <cstdint>
#include <span>
#include <vector>
int main() {{
  const {type} a{{}}, e{{}};
  (void)testing::Matcher<const {type}&>(assay::{matcher}).Matches(a);
  {more}
}}
"""
        of_bits = ("{0}-bit unsigned integers may be bit patterns or numbers. Patterns: say of which format, as in "
                   'view_bits(v, assay::format_named("{1}"), shape), on both sides. Numbers: '
                   'view_bits(v, assay::format_named("uint{0}"), shape), on both sides.')
        wrong = []
        for container in ("std::vector<{}>", "std::span<const {}>"):
            wrong.append((container.format("std::uint16_t"), of_bits.format(16, "bfloat16")))
        wrong.append(("std::vector<std::string>", "assay has no view() of this type."))
        tasks = [(compiler, type, matcher, said) for compiler in COMPILERS for type, said in wrong
                 for matcher in ("CloseTo(e)", "CloseTo(std::vector<float>{})", "SnrAtLeast(e, 3)")]
        # Unsigned integers of 32 and 64 bits are always numbers, so a matcher takes vectors of them.
        tasks += [(compiler, f"std::vector<std::uint{bits}_t>", "CloseTo(e)", "")
                  for compiler in COMPILERS for bits in (32, 64)]
        # The view of a temporary would be left without its elements.
        tasks += [(compiler, "std::vector<float>", f"CloseTo({view})", "deleted function")
                  for compiler in COMPILERS
                  for view in ('assay::view_bits(std::vector<std::uint16_t>{}, assay::format_named("bf16"), {0})',
                               "assay::view(std::vector<float>{})")]

        flags = ("-std=c++20", *WARNINGS, "-I", INCLUDE)
        before = {}  # for each compiler, the header that takes most of the time of compiling, compiled once
        for i, compiler in enumerate(COMPILERS):
            before[compiler] = ROOT / f"wrong{i}.h"
            before[compiler].write_text("#include <assay/matchers.h>\n")
            code, out = run(compiler, *flags, "-x", "c++-header", before[compiler], "-o", f"{before[compiler]}.gch")
            self.assertEqual(code, 0, out)

        def compile(task):
            i, (compiler, type, matcher, said) = task
            source = ROOT / f"wrong{i}.cc"
            source.write_text(program.format(type=type, matcher=matcher, more=""))
            return task[1], *run(compiler, "-fsyntax-only", *flags, "-Winvalid-pch", "-include", before[compiler], source)

        with multiprocessing.pool.ThreadPool(len(os.sched_getaffinity(0))) as pool:
            for (compiler, type, matcher, said), code, out in pool.map(compile, enumerate(tasks), chunksize=1):
                with self.subTest(f"{matcher} of {type} with {compiler}"):
                    self.assertEqual(code == 0, said == "", out)
                    self.assertIn(said.replace('"', '\\"') if "clang" in compiler and said else said, out)
                    if type != "std::vector<std::string>":  # the compiler's message for this type shows the concepts
                        self.assertNotIn("eval", out)

    def test_examples_include_promised_headers_alone(self):
        headers = set(promised())
        sources = [p for p in (pathlib.Path(SOURCE) / "examples").rglob("*") if p.suffix in (".cc", ".h")]
        self.assertGreater(len(sources), 10)
        for source in sources:
            for included in re.findall(r'#include [<"](assay/[^>"]+)[>"]', source.read_text()):
                self.assertIn(included, headers, source)

    def test_they_name_no_library_of_the_inside(self):
        for header in all_headers():
            text = (INCLUDE / header).read_text()
            for name in ("hid_t", "H5", "nlohmann", "hwy", "CLI::", "fmt::"):
                self.assertNotIn(name, text, header)

    def test_each_promised_one_compiles_alone_and_all_in_one_file(self):
        compile_headers(self, promised(), in_one_file=True)

    @unittest.skipUnless(platform.machine() == "x86_64" and "clang" not in COMPILER, "reads what g++ writes for x86-64")
    def test_they_hold_no_arithmetic(self):
        """A user's -ffast-math or contraction would change floating-point arithmetic in a header. The test compiles
        every inline function of the headers and checks that its assembly has no such arithmetic."""
        source = ROOT / "inline.cc"
        own = "".join(f"#include <{h}>\n" for h in all_headers() if not h.endswith("eigen.h"))
        # This function has arithmetic, to check that the test would find it.
        source.write_text(own + "namespace assay { inline double found(double a) { return a + 1; } }\n")
        code, out = run(COMPILER, "-std=c++20", "-O1", "-fkeep-inline-functions", "-S", "-o", "-", "-I", INCLUDE,
                        "-isystem", CUDA, source)
        self.assertEqual(code, 0, out)
        bad, functions, here = set(), set(), ""
        for line in out.splitlines():
            if label := re.match(r"(_Z\w+):", line):
                here = label[1]
                if re.match(r"_ZN?K?5assay|_ZNK5assay", here):
                    functions.add(here)
            elif here in functions and ARITHMETIC.match(line):
                bad.add(here)
        self.assertGreater(len(functions), 30)
        self.assertEqual(bad, {"_ZN5assay5foundEd"})


class Alone(unittest.TestCase):
    def test_each_of_all_headers_compiles_alone(self):
        compile_headers(self, all_headers(), in_one_file=False)


NVCC = shutil.which("nvcc") or shutil.which("nvcc", path="/usr/local/cuda/bin")


@unittest.skipUnless(NVCC, "there is no nvcc here")
class Nvcc(unittest.TestCase):
    """A file of CUDA may include every promised header, and its kernels' element types have views."""

    def compiled(self, name, headers, *flags):
        source = ROOT / f"{name}.cu"
        source.write_text("".join(f"#include <{h}>\n" for h in headers) + """#include <vector>
__global__ void twice(const __half* x, __half* y) { y[threadIdx.x] = x[threadIdx.x] + x[threadIdx.x]; }
TEST(Twice, OfHalf) {
  const std::vector<__half> out(4), golden(4);
  const std::vector<__nv_bfloat16> other(4);
  EXPECT_THAT(out, assay::CloseTo(golden));
  EXPECT_THAT(other, assay::CloseTo(other));
}
""")
        return run(NVCC, "-std=c++20", "-ccbin", COMPILER, *flags, "-I", INCLUDE, "-isystem", EIGEN, "-c", "-o",
                   ROOT / f"{name}.o", source)

    def test_every_promised_header_compiles(self):
        code, out = self.compiled("all", promised())
        self.assertEqual(code, 0, out)

    def test_without_a_warning(self):
        code, out = self.compiled("strict", [h for h in promised() if not h.endswith("eigen.h")], "-Werror", "all-warnings")
        self.assertEqual(code, 0, out)


if __name__ == "__main__":
    EIGEN = sys.argv[5]
    unittest.main(argv=sys.argv[:1] + sys.argv[6:], verbosity=2)
