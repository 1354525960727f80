#!/usr/bin/env python3
"""Tests the gate's page in Chromium: counts, filters, sorting, explanations, hostile texts, size.

    html_browser_test.py

ASSAY names the program. Exits with 77 if there is no Chromium here.
"""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

import h5py
import numpy as np

import browser

ASSAY = os.environ["ASSAY"]
SAMPLES = pathlib.Path(__file__).resolve().parents[2] / "datasets" / "samples"
EVIL = ['<script>window.evil=1</script>', '</script><img src=x onerror=window.evil=1>',
        '"><svg onload=window.evil=1>', "' onmouseover='window.evil=1", '\u202ereversed\u202c',
        'esc\x1b[31mred', 'w' * 400, '<!--<script>', '\\u003cb\\u003e', '{{7*7}}']


def write(path, cases):
    """cases: (name, operator, golden, {producer: output})."""
    with h5py.File(path, "w") as file:
        file.attrs["assay_schema"] = 1
        for name, op, golden, outputs in cases:
            case = file.create_group("cases/" + name)
            case.attrs["op"] = op
            for place, data in {"golden": golden,
                                **{"outputs/" + p: o for p, o in outputs.items()}}.items():
                case[place] = data
                case[place].attrs["dtype"] = str(data.dtype)


def matrix(rows=64, columns=128):
    return (1 + np.arange(rows * columns, dtype="f8").reshape(rows, columns) / 1024).astype("f4")


def off(golden, places, by=1.5):
    output = golden.copy()
    output[places] *= by
    return output


# The index of the column of mismatches, if the cases are not grouped.
MISSES = 5


class Page(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(tempfile.mkdtemp(prefix="assay_html_"))
        cls.browser = browser.Browser()

    @classmethod
    def tearDownClass(cls):
        cls.browser.__exit__()
        shutil.rmtree(cls.folder)

    def gate(self, *arguments, code=None):
        """Opens the page of a gate. Returns the seconds that it took."""
        ran = subprocess.run([ASSAY, "gate", *arguments, "-q", "--html", "page.html"],
                             cwd=self.folder, capture_output=True, text=True, timeout=300,
                             stdin=subprocess.DEVNULL)
        self.assertTrue((self.folder / "page.html").exists(), ran.stdout + ran.stderr)
        if code is not None:
            self.assertEqual(ran.returncode, code, ran.stdout + ran.stderr)
        seconds = self.open()
        self.assertEqual(self.browser.complaints(), [])
        return seconds

    def open(self):
        return self.browser.open((self.folder / "page.html").as_uri())

    def value(self, script):
        return self.browser.value(script)

    def texts(self, selector):
        return self.value(f"[...document.querySelectorAll({json.dumps(selector)})].map(e => e.textContent)")

    def names(self):
        return self.texts("#cases tr.row td.name code")

    def click(self, selector, number=0):
        self.value(f"document.querySelectorAll({json.dumps(selector)})[{number}].click()")

    def choose(self, control, text):
        self.value(f"""{{const e = document.getElementById({json.dumps(control)});
            e.value = {json.dumps(text)} === '' ? '' :
                ([...(e.options || [])].find(o => o.textContent.startsWith({json.dumps(text)} + ' (')) || {{value: {json.dumps(text)}}}).value;
            e.dispatchEvent(new Event(e.tagName === 'SELECT' ? 'change' : 'input'));}}""")

    def cards(self):
        numbers = self.value("Object.fromEntries([...document.querySelectorAll('.card')].map(c => "
                             "[c.lastChild.textContent.trim(), c.querySelector('b').textContent]))")
        return {word: int(number.replace(" ", "")) for word, number in numbers.items()}

    # Three cases pass. Others fail in a row, in a block, everywhere, or with NaN. One is untrusted.
    def make_some(self):
        golden = matrix()
        wrong = golden.copy()
        wrong[5, 7] = np.nan
        cases = [(f"layer{i}", "gelu", golden, {"npu": golden + np.float32(1e-7)}) for i in (107, 7, 12)]
        cases += [("row", "matmul", golden, {"npu": off(golden, np.s_[3, :])}),
                  ("block", "matmul", golden, {"npu": off(golden, np.s_[16:32, 32:64], 1.25)}),
                  ("half", "softmax", golden, {"npu": golden * np.float32(0.5)}),
                  ("nan", "softmax", golden, {"npu": wrong}),
                  ("zeros", "softmax", np.full((8, 8), 1e-30, "f4"), {"npu": np.zeros((8, 8), "f4")})]
        write(self.folder / "some.h5", cases)

    def test_counts_filters_and_sorting(self):
        self.make_some()
        self.gate("some.h5", "--standard", "torch", code=1)
        self.assertEqual(self.cards(), {"cases": 8, "pass": 3, "fail": 4, "untrusted": 1})
        self.assertEqual(self.texts("#shown"), ["8 of 8 rows"])
        groups = self.texts("#cases tr.group td")
        self.assertEqual(groups, ["matmul2 rows2 fail", "softmax3 rows2 fail1 untrusted", "gelu3 rows3 pass"])
        self.assertEqual(self.names(), ["block", "row", "half", "nan", "zeros", "layer7", "layer12", "layer107"])
        # Without groups, cases are sorted by name, with numbers in their numeric order.
        self.click("#grouped")
        self.click("#cases th button")
        self.assertEqual(self.names(), ["block", "half", "layer7", "layer12", "layer107", "nan", "row", "zeros"])
        self.click("#cases th button")
        self.assertEqual(self.names()[:3], ["zeros", "row", "nan"])
        self.assertEqual(self.value("document.querySelector('#cases th').getAttribute('aria-sort')"), "descending")
        # If cases are sorted by a number, here the mismatches, the largest is first.
        self.click("#cases th button", MISSES)
        self.assertEqual(self.names()[:4], ["half", "block", "row", "nan"])
        self.click("#cases th button", MISSES)
        self.assertEqual(self.names()[-1], "half")
        # A third click restores the first order: failures first.
        self.click("#cases th button", MISSES)
        self.assertEqual(self.names(), ["block", "half", "nan", "row", "zeros", "layer7", "layer12", "layer107"])
        self.choose("outcome", "pass")
        self.assertEqual(self.names(), ["layer7", "layer12", "layer107"])
        self.assertEqual(self.texts("#shown"), ["3 of 8 rows"])
        self.choose("outcome", "")
        self.choose("operator", "softmax")
        self.assertEqual(self.names(), ["half", "nan", "zeros"])
        self.choose("search", "NAN")
        self.assertEqual(self.names(), ["nan"])
        self.choose("search", "no such case")
        self.assertEqual(self.names(), [])
        self.choose("search", "")
        self.choose("operator", "")
        # A group closes.
        self.click("#grouped")
        self.click("#cases tr.group button")
        self.assertEqual(self.names()[0], "half")
        # A link in the summary sets the filter for the operator, too.
        self.click("[data-operator=gelu]")
        self.assertEqual(self.names(), ["layer7", "layer12", "layer107"])
        self.assertEqual(self.browser.complaints(), [])

    def test_what_a_failure_shows(self):
        self.make_some()
        self.gate("some.h5", "--standard", "torch", "--case", "block", code=1)
        inside = "#cases tr.detail .inside"
        self.assertEqual(len(self.texts(inside)), 1, "the first failures are open")
        self.assertRegex(self.texts(inside + " .why")[0], r"^512 of 8 192 elements \(6\.2 %\) differ by more than ")
        self.assertIn("where: in an aligned tile: rows 16 to 31, columns 32 to 63", self.texts(inside + " p")[1])
        self.assertEqual(self.texts(inside + " .worst th"), ["worst 5", "actual", "expected", "error", "bound", "ulp"])
        self.assertEqual(len(self.texts(inside + " .worst tbody tr")), 5)
        # The map has blocks of 2 x 4 elements. 8 by 8 of them are full, and no others.
        cells = self.texts(inside + " svg.heat rect.cell")
        self.assertEqual(len(cells), 64)
        self.assertEqual(cells[0], "rows 16 to 17, columns 32 to 35: 8 mismatches")
        self.assertTrue(all(c.endswith(": 8 mismatches") for c in cells))
        # The histogram counts every element.
        bars = self.texts(inside + " svg.histogram rect.bar")
        counts = [int(re.search(r": ([\d ]+) elements?$", b)[1].replace(" ", "")) for b in bars]
        self.assertEqual(sum(counts), 2 * 8192, "of errors, and of ulps")
        self.assertTrue(any(b.startswith("0, or next to it: 7 680 ") for b in bars), bars)
        line = self.texts(inside + " .repro pre")[0]
        self.assertRegex(line, r" gate some\.h5 --case block --recorded npu --standard torch$")
        again = subprocess.run([ASSAY, "repro", line], cwd=self.folder, capture_output=True, text=True)
        self.assertEqual(again.returncode, 1, again.stderr)
        self.assertIn("512 of 8 192 elements", again.stdout)
        # The copy button copies the command line that reproduces the verdict.
        self.browser.call("Browser.grantPermissions", permissions=["clipboardReadWrite", "clipboardSanitizedWrite"])
        self.value("""navigator.clipboard.writeText = text => { window.pasted = text; return Promise.resolve(); }""")
        self.click(inside + " .repro button")
        self.assertEqual(self.value("window.pasted"), line)
        self.assertEqual(self.texts(inside + " .repro button"), ["copied"])
        # The explanation closes and opens again.
        self.click("#cases td.name button")
        self.assertEqual(self.texts(inside), [])
        self.click("#cases td.name button")
        self.assertEqual(len(self.texts(inside)), 1)
        self.assertEqual(self.browser.complaints(), [])

    def test_hostile_texts_are_inert(self):
        golden = matrix(4, 4)
        path = self.folder / "<img src=x onerror=window.evil=1>.h5"
        write(path, [(f"case{i}", evil, golden, {"p": off(golden, np.s_[1, 1])})
                     for i, evil in enumerate(EVIL)])
        (self.folder / "known.json").write_text(json.dumps({"schema": 1, "known_failures": [
            # A reason with a control character would be refused, so that it is removed.
            {"cases": f"case{i}", "reason": evil.replace("\x1b", ""), "expires": "2999-01-01"}
            for i, evil in enumerate(EVIL)]}))
        for more in ([], ["--known-failures", "known.json"]):
            self.gate(path.name, "--standard", "torch", *more)
            self.assertEqual(self.value("document.querySelectorAll('#cases tr.row').length"), len(EVIL))
            self.assertEqual(self.value("document.querySelectorAll('img, iframe, object, embed, link, script[src]').length"), 0)
            self.assertEqual(self.value("document.scripts.length"), 2)
            for i in range(len(EVIL)):
                self.value(f"{{const b = document.querySelectorAll('#cases td.name button')[{i}]; "
                           "if (b.getAttribute('aria-expanded') === 'false') b.click();}")
            self.assertEqual(len(self.texts("#cases tr.detail")), len(EVIL))
            page = self.value("document.body.innerText")
            for evil in EVIL:
                # Directions of writing are also shown as escapes (base/printable.h).
                shown = evil.replace("\x1b", "\\x1b")
                self.assertIn(shown.replace("\u202e", "\\u202e").replace("\u202c", "\\u202c"), page)
            self.value("document.querySelectorAll('*').forEach(e => e.dispatchEvent(new Event('mouseover')))")
            self.assertEqual(self.value("typeof window.evil"), "undefined")
            self.assertEqual(self.browser.complaints(), [])
            wide = self.value("[document.documentElement.scrollWidth, innerWidth]")
            self.assertLessEqual(wide[0], wide[1], "a long name does not widen the page")
            for _ in range(2):
                table = self.value("[document.querySelector('#cases table').clientWidth, innerWidth]")
                self.assertLess(table[0], 1.3 * table[1], "nor the table")
                self.click("#grouped")

    def test_a_script_that_is_not_the_page_s_does_not_run(self):
        self.make_some()
        self.gate("some.h5", "--standard", "torch")
        page = (self.folder / "page.html").read_text()
        (self.folder / "page.html").write_text(page.replace("</h1>", "</h1><script>window.evil=1</script>", 1))
        self.open()
        self.assertEqual(self.value("typeof window.evil"), "undefined")
        self.assertEqual(len(self.names()), 8, "and the page's own does")

    def test_works_without_scripts(self):
        self.make_some()
        self.gate("some.h5", "--standard", "torch")
        self.browser.scripts(False)
        self.addCleanup(self.browser.scripts, True)
        self.open()
        page = self.value("document.body.innerText")
        self.assertEqual(self.cards(), {"cases": 8, "pass": 3, "fail": 4, "untrusted": 1})
        for text in ("What did not pass", "differ by more than", "worst 5:", "where: ", "reproduce: ", "layer107"):
            self.assertIn(text, page)
        self.assertEqual(self.value("document.querySelectorAll('noscript tr').length"), 9)
        self.assertEqual(self.value("document.querySelectorAll('#cases *').length"), 0)

    def test_labels_are_whole_and_columns_wide_enough(self):
        for arguments in (["operators.h5", "--machine", "ascend910b"], ["transformer_gemms.h5"]):
            self.gate(str(SAMPLES / arguments[0]), *arguments[1:])
            for wide, dark in ((1280, False), (1280, True), (420, False)):
                self.browser.size(wide, 900)
                self.browser.dark(dark)
                clipped = self.value("""[...document.querySelectorAll('svg')].flatMap(svg => {
                    const box = svg.getBoundingClientRect();
                    return [...svg.querySelectorAll('text')].filter(t => {
                        const b = t.getBoundingClientRect();
                        return b.left < box.left - 0.5 || b.right > box.right + 0.5 || b.bottom > box.bottom + 2;
                    }).map(t => t.textContent);})""")
                self.assertEqual(clipped, [])
                bound = self.value("Math.min(...[...document.querySelectorAll('#cases td.bound')].map(e => e.clientWidth))")
                self.assertGreaterEqual(bound, 240)
                self.assertLessEqual(self.value("document.documentElement.scrollWidth"), wide)
        self.browser.size(1280, 900)
        self.browser.dark(False)

    def test_labels_of_an_axis_do_not_touch(self):
        golden = matrix()
        rng = np.random.default_rng(1)
        write(self.folder / "wide.h5", [
            (f"e{e}", "op", golden, {"p": (golden + rng.normal(size=golden.shape) * 10.0 ** rng.uniform(-e, e, golden.shape)).astype("f4")})
            for e in (0, 1, 3, 9, 30)])
        self.gate("wide.h5", "--standard", "torch", code=1)
        boxes = self.value("""[...document.querySelectorAll('svg.histogram')].map(svg =>
            [...svg.querySelectorAll('text')].map(t => { const b = t.getBoundingClientRect();
                return [b.left, b.right, b.top, b.bottom]; }))""")
        self.assertEqual(len(boxes), 10)
        for texts in boxes:
            self.assertGreaterEqual(len(texts), 4)
            for i, a in enumerate(texts):
                for b in texts[:i]:
                    self.assertFalse(a[0] < b[1] and b[0] < a[1] and a[2] < b[3] - 3 and b[2] < a[3] - 3, (a, b))

    def test_texts_can_be_read_in_light_and_dark(self):
        self.make_some()
        self.gate("some.h5", "--standard", "torch")
        for dark in (False, True):
            self.browser.dark(dark)
            ratio = self.value("""(() => {
                const light = c => { const [r, g, b] = c.match(/[\\d.]+/g).map(v => v / 255).map(v =>
                    v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4); return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
                const behind = e => { for (; e; e = e.parentElement) { const c = getComputedStyle(e).backgroundColor;
                    if (c !== 'rgba(0, 0, 0, 0)') return c; } return 'rgb(255, 255, 255)'; };
                return Math.min(...[...document.querySelectorAll('body *')].filter(e => e.checkVisibility() &&
                    [...e.childNodes].some(n => n.nodeType === 3 && n.data.trim()) && e.tagName !== 'SCRIPT').map(e => {
                    const style = getComputedStyle(e), svg = e.namespaceURI.endsWith('svg');
                    const a = light(svg ? style.fill : style.color), b = light(behind(e));
                    return (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05); }));})()""")
            self.assertGreaterEqual(ratio, 4.5, "WCAG 2.1, 1.4.3")
        self.browser.dark(False)

    def many(self, count):
        """Writes cases that are an ulp off, and one in fifty that is far off. Returns the file's
        name."""
        name = f"many{count}.h5"
        if not (self.folder / name).exists():
            golden = matrix(4, 8)
            right, wrong = np.nextafter(golden, np.float32(9)), off(golden, np.s_[1, :])
            kinds = [(i % 40, i % 50 == 7) for i in range(count)]
            write(self.folder / name, [(f"kind/{op}_{is_wrong}", f"op{op}", golden, {"npu": wrong if is_wrong else right})
                                       for op, is_wrong in sorted(set(kinds))])
            # HDF5 copies a case in a tenth of the time that h5py needs to make it.
            with h5py.File(self.folder / name, "r+") as file:
                model = file.create_group("cases/model")
                made = {kind: file["cases/kind/%d_%s" % kind] for kind in set(kinds)}
                for i, kind in enumerate(kinds):
                    model.copy(made[kind], f"layer{i}/{'fwd' if i % 2 else 'bwd'}")
                del file["cases/kind"]
        return name

    def check_many(self, bound, failed, limit):
        count = 20000
        seconds = self.gate(self.many(count), *bound)
        self.assertEqual(self.cards(), {"cases": count, "pass": count - failed, "fail": failed})
        size = (self.folder / "page.html").stat().st_size
        self.assertLess(size, limit)
        # The limit allows for a loaded machine. An idle machine needs some tenths of it.
        self.assertLess(seconds, 4)
        slow = self.value("""(() => { let most = 0; const e = document.getElementById('search');
            for (const text of ['layer1', 'layer19999', 'no such', '']) {
              const start = performance.now(); e.value = text; e.dispatchEvent(new Event('input'));
              document.body.getBoundingClientRect(); most = Math.max(most, performance.now() - start); }
            for (const button of document.querySelectorAll('#cases th button')) {
              const start = performance.now(); button.click();
              document.body.getBoundingClientRect(); most = Math.max(most, performance.now() - start); }
            return most; })()""")
        self.assertLess(slow, 1500, "milliseconds of a filter or a sort")
        self.choose("search", "layer19999/fwd")
        self.assertEqual(self.names(), ["model/layer19999/fwd"])
        self.assertEqual(self.browser.complaints(), [])
        print(f"{count} cases, {failed} fail: {size / 1e6:.1f} MB, {seconds:.2f} s, {slow:.0f} ms")

    def test_20000_cases_of_which_some_fail(self):
        self.check_many(["--standard", "torch"], 400, 8e6)

    def test_20000_cases_all_failing(self):
        self.check_many(["--rtol", "0", "--atol", "0"], 20000, 40e6)

    def test_more_rows_come_when_asked_for(self):
        self.gate(self.many(900), "--rtol", "1", "--atol", "1")
        self.click("#grouped")
        self.assertEqual(len(self.names()), 200)
        self.click("button.more")
        self.assertEqual(len(self.names()), 400)
        self.assertEqual(self.names()[399], "model/layer399/fwd")


if __name__ == "__main__":
    if browser.program() is None:
        print("skipped: there is no Chromium on this machine (Debian: apt-get install chromium)")
        sys.exit(77)
    unittest.main(verbosity=2)
