"""Checks the mutants that changes.py makes of small texts, and the functions of mutants.py."""

import json
import pathlib
import sys
import tempfile
import types

import changes
import mutants

HEAD = "int f(int a, int b) {\n"

# A program that behaves like one of GoogleTest with four tests, one of which is disabled.
FAKE_TESTS = f"""#!{sys.executable}
import json, sys
options = dict(word[len("--gtest_"):].partition("=")[::2] for word in sys.argv[1:])
if "list_tests" in options:
    print("Running main()\\nA.\\n  known\\n  fresh\\n  DISABLED_off\\nT/B.\\n  x/0  # GetParam() = 7")
else:
    asked = open(options["flagfile"]).read()
    assert asked == "--gtest_filter=A.fresh:T/B.x/0\\n", asked
    tests = [("A", "fresh"), ("T/B", "x/0")]
    json.dump({{"testsuites": [{{"name": s, "testsuite": [{{"name": t, "time": "0.25s"}}]}}
                             for s, t in tests]}}, open(options["output"][len("json:"):], "w"))
"""

# Lines of a function's body, each with all of its mutants.
LINES = [
    ("  if (a < 7) return g;", [
        ("comparison", "  if (a <= 7) return g;"), ("integer constant", "  if (a < 8) return g;"),
        ("integer constant", "  if (a < 6) return g;"), ("removed", "  ;"),
        ("negated", "  if (a < 7) return -(g);")]),
    ("  const int c = a - b * d;", [
        ("arithmetic", "  const int c = a + b * d;"), ("arithmetic", "  const int c = a - b / d;"),
        ("term", "  const int c = a;")]),
    ("  done = !found && x == y;", [
        ("logical", "  done = !found || x == y;"), ("logical", "  done = found && x == y;"),
        ("comparison", "  done = !found && x != y;"), ("removed", "  ;")]),
    ("  h(a, b);", [("swapped", "  h(b, a);"), ("removed", "  ;")]),
    ("  sum += 0x1p-3;", [
        ("float constant", "  sum += (2 * 0x1p-3);"), ("assignment", "  sum -= 0x1p-3;"),
        ("removed", "  ;")]),
    ("  const bool is = true;", [("truth", "  const bool is = false;")]),
    ("  ++count;", [("removed", "  ;")]),
    ("  return a == b;", [
        ("comparison", "  return a != b;"), ("negated", "  return !(a == b);")]),
    ("  return 0;", [("integer constant", "  return 1;")]),
    # Some mutants of these lines are not made, because they would change nothing. These are a swap of two equal arguments or
    # of the arguments of std::max, and 0.0 times 2. Comments, strings and static_assert are not changed.
    ("  h(a, a);", [("removed", "  ;")]),
    ("  double z = 0.0;", []),
    ("  std::vector<int> t;  // 3 < 4 + 5", []),
    ("  g = std::max(a, b);", [("removed", "  ;")]),
    ('  throw Error("1 < 2, true");', []),
    ("  static_assert(a < 3);", []),
]


def run():
    for line, expected in LINES:
        found = changes.mutants_of(HEAD + line + "\n}\n")
        made = {(m.kind, m.after) for m in found}
        assert made == set(expected), f"{line}: {sorted(made ^ set(expected))}"
        assert all(m.line == 2 and m.before == line for m in found)
    assert not changes.mutants_of("#include <a>\nnamespace a {\nextern int b;\nenum C { kD = 3 };\n}\n")
    # In a table, only the constants are changed.
    table = changes.mutants_of('constexpr Row kRows[] = {\n    {.name = "a1", .bits = 4 + b,\n};\n')
    assert [(m.kind, m.after[-13:-1]) for m in table] == [
        ("table", ".bits = 5 + b"[:12]), ("table", ".bits = 3 + b"[:12])] or len(table) == 2, table
    assert changes.is_same("f(a);", "f((a));") and not changes.is_same("f(a);", "f(b);")
    # The same seed gives the same mutants.
    with tempfile.TemporaryDirectory() as directory:
        root = pathlib.Path(directory)
        (root / "framework/assay/judge").mkdir(parents=True)
        body = "\n".join(f"  x = a + {i} * b;" for i in range(20))
        (root / "framework/assay/judge/a.cc").write_text(HEAD + body + "\n}\n")
        first, again, other = ([m for _, m in zip(range(30), mutants.candidates(
            root, ["judge"], seed)["judge"])] for seed in (1, 1, 2))
        assert first == again and first != other and len(set(first)) == 30
        # A known equivalent is found by its texts, not by its line.
        listed = root / "equivalent.txt"
        listed.write_text("# words\n\na.cc\n- x = 1;\n+ x = 2;\nNobody reads x.\n\na.cc\n- ++y;\n+ ;\n"
                          "Nor y.\n")
        assert mutants.equivalents(listed) == {("a.cc", "x = 1;", "x = 2;"): "Nobody reads x.",
                                               ("a.cc", "++y;", ";"): "Nor y."}
        # A test that the file of durations does not have is measured, and a test that no longer exists is left out.
        program, times = root / "a_test", root / "durations.json"
        program.write_text(FAKE_TESTS)
        program.chmod(0o755)
        times.write_text(json.dumps({"a_test": {"A.gone": 1.0, "A.known": 2.0}}))
        built = types.SimpleNamespace(directory=root)
        expected = {"A.known": 2.0, "A.fresh": 0.25, "T/B.x/0": 0.25}
        assert mutants.durations(built, "a_test", times, 10) == expected
        assert json.loads(times.read_text()) == {"a_test": expected}
        assert mutants.durations(built, "a_test", times, 1) == {"A.fresh": 0.25, "T/B.x/0": 0.25}
    # The quick tests come first, one instance of each before the others.
    parts = mutants.phases({"A/T.x/1": 0.2, "A/T.x/2": 0.1, "B.y": 3, "Runner.z": 1}, ["Runner.*"])
    assert [names for names, _ in parts] == [["A/T.x/2"], ["A/T.x/1"], ["B.y"]], parts
    low, high = mutants.wilson(95, 100)
    assert 0.888 < low < 0.889 and 0.978 < high < 0.979, (low, high)
    print("mutants.py: the changes are as they should be")
    return 0
