"""Golden files in pytest (docs/python.md), loaded by the entry point or by -p assay.pytest_plugin.

    @assay.cases("gemms.h5", "gemm/*")
    def test_gemm(assay_case):
        assay_case.check(my_gemm(**assay_case.arrays()))
"""
import os
import pathlib
import re

import pytest

import assay

from ._items import with_text

_SAID = pytest.StashKey()  # has for each test item a list with [outcome, case, why] of each check


def cases(path, glob="", **options):
    """Runs a test once for each case of a golden file. The fixture `assay_case` is that case.

    path      the file, or a folder in one of list_layouts(); relative to the test's file
    glob      selects cases by their names
    options   those of assay.open()
    """
    return pytest.mark.assay_cases(path=os.fspath(path), glob=glob, options=options)


class AssayCase:
    """A case of a golden file in a test."""

    def __init__(self, request, path, name, options):
        self._request, self._path, self._name, self._options = request, path, name, options
        self._case = None

    def __repr__(self):
        return f"<AssayCase {self._name} of {self._path}>"

    @property
    def name(self):
        return self._name

    @property
    def path(self):
        return self._path

    @property
    def case(self):
        """The assay.Case, which is read when it is first needed."""
        if self._case is None:
            with assay.open(self._path, **self._options) as dataset:
                self._case = dataset.read(self._name, recorded=False)
        return self._case

    @property
    def inputs(self):
        return self.case.inputs

    @property
    def attributes(self):
        return self.case.attributes

    def arrays(self):
        """Returns the inputs as numpy arrays by name, and as Tensors for dtypes that numpy does not
        have."""
        return {name: _array(value) for name, value in self.case.inputs.items()}

    def check(self, output, **request):
        """Judges an output by the case's own bound, or by the options of Case.judge(). Returns the
        CaseReport if the output passes. Raises AssertionError with the report of the mismatches,
        assay.Untrusted or assay.NotComparable. With --assay-update an output that passes becomes the
        golden result, and so does an output without a golden result. An output that does not pass
        replaces the golden result only with --assay-update-failing."""
        __tracebackhide__ = True
        if output is None:
            raise TypeError(f"the output of case {self._name} is None: what was called gave nothing")
        report = self.case.judge(output, **request)
        part = request.get("output_name")
        update = self._request.config.getoption("assay_update")
        is_first = self._golden(part) is None
        if update and (report.passed or is_first or update == "failing"):
            self._keep("update", output, request)
            why = "" if report.passed or is_first else f"would be {report.outcome}: {report.why}"
            self._note("updated", part, why, {})
            return report
        self._note(report.outcome, part, report.why, _numbers(report))
        if not report.passed:
            kept = self._keep("failed", output, request)
            text = f"\nkept: {kept}"
            if update:
                text += "\nthe golden result stays; --assay-update-failing replaces it by this output"
            try:
                report.check()
            except Exception as error:
                raise with_text(error, f"{error}{text}") from None
        return report

    def _golden(self, part):
        """Returns the golden result of an output, or None."""
        return _output_of(self.case, part).golden

    def _note(self, outcome, part, why, numbers):
        item = self._request.node
        which = {"assay_case": self._name, **({"assay_output": part} if part else {})}
        for name, value in {**which, "assay_outcome": outcome, **numbers}.items():
            item.user_properties.append((name, value))
        title = f"{self._name}:{part}" if part else self._name
        item.stash.setdefault(_SAID, []).append([outcome, title, why])

    def _keep(self, kind, output, request):
        """Writes the case with this output to a file of its own and returns the file's path."""
        __tracebackhide__ = True
        with assay.open(self._path, **self._options) as dataset:
            case = dataset.read(self._name, recorded=False)
        part = request.get("output_name")
        tensor = assay.Tensor.of(output, request.get("dtype"))
        golden = self._golden(part)
        if kind == "update" and golden is not None and golden.shape == tensor.shape:
            tensor = tensor.astype(golden.dtype)  # the file keeps the precision of its golden results
        _output_of(case, part).recorded = {request.get("producer") or "pytest": tensor}
        case.file = ""
        node = self._request.node  # its name is part of the file's name, because several tests may have the same case
        words = re.sub(r"[^A-Za-z0-9_.=]+", "_", f"{node.path.stem}_{node.name}_{part or ''}")
        target = _folder(self._request.config, kind) / f"{words.strip('_')}.h5"
        assay.write(target, case, attributes={"description": "kept by pytest",
                                              "x_golden_file": self._path})
        return target


def _array(value):
    if isinstance(value, list):
        return [_array(one) for one in value]
    if value is None:
        return None
    try:
        return value.numpy()
    except TypeError:
        return value


def _output_of(case, part):
    """Returns the part of a case that holds the results of one output: the case itself if `part` is empty."""
    return case.outputs.setdefault(part, assay.Output()) if part else case


def _numbers(report):
    """Returns JUnit's properties for a verdict."""
    if not report.verdicts:
        return {}
    verdict = next((v for v in report.verdicts if v.outcome == report.outcome), report.verdicts[0])
    numbers = {"assay_standard": verdict.standard, "assay_mismatches": verdict.mismatches,
               "assay_worst_ratio": verdict.worst_ratio}
    metrics = verdict.metrics or {}
    for name in ("max_abs_error", "max_rel_error"):
        if name in metrics:
            numbers[f"assay_{name}"] = metrics[name]
    return numbers


def _folder(config, kind):
    """Returns the folder where tensors are kept. All workers of xdist share it."""
    root = pathlib.Path(config.getoption("assay_keep") or config.rootpath / ".assay")
    folder = root / kind
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def pytest_addoption(parser):
    group = parser.getgroup("assay")
    group.addoption("--assay-update", action="store_const", const="passing", dest="assay_update",
                    help="write the outputs of assay_case tests that pass, or that have no golden result yet, as "
                         "golden results, in the golden results' dtype")
    group.addoption("--assay-update-failing", action="store_const", const="failing", dest="assay_update",
                    help="the same for all outputs; the summary shows those that would have failed")
    group.addoption("--assay-keep", dest="assay_keep", metavar="DIR",
                    help="where outputs that did not pass are kept (default: .assay)")


def pytest_configure(config):
    config.addinivalue_line("markers", "assay_cases(path, glob, options): a test for each case of "
                                       "a golden file; @assay.cases(path, glob) sets it")
    if config.getoption("assay_update") and not hasattr(config, "workerinput"):
        for left in _folder(config, "update").glob("*.h5"):
            left.unlink()


def pytest_generate_tests(metafunc):
    marker = metafunc.definition.get_closest_marker("assay_cases")
    if marker is None:
        if "assay_case" in metafunc.fixturenames:
            raise pytest.UsageError(f"{metafunc.definition.nodeid}: assay_case needs "
                                    "@assay.cases(\"golden.h5\")")
        return
    path = pathlib.Path(marker.kwargs["path"])
    if not path.is_absolute():
        path = metafunc.definition.path.parent / path
    try:
        with assay.open(path, **marker.kwargs["options"]) as dataset:
            names = dataset.case_names(marker.kwargs["glob"])
    except assay.FileError as error:
        raise pytest.UsageError(f"{metafunc.definition.nodeid}: {error}") from None
    places = [(str(path), name, marker.kwargs["options"]) for name in names]
    metafunc.parametrize("assay_case", places, ids=names, indirect=True)


@pytest.fixture
def assay_case(request):
    """The case of a golden file for this test. @assay.cases(path) chooses the cases."""
    return AssayCase(request, *request.param)


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    report = (yield).get_result()
    said = item.stash.get(_SAID, [])
    if report.when != "call" or not said:
        return
    report.assay_said = said  # xdist carries it
    if report.passed and item.config.getoption("assay_update"):
        path, line, _ = item.location
        report.outcome = "skipped"
        report.longrepr = (path, line, "its output becomes the golden result")


def pytest_sessionfinish(session):
    config = session.config
    if config.getoption("assay_update") and not hasattr(config, "workerinput"):
        config.assay_updated = _update(config)


def _update(config):
    """Puts the kept outputs into their golden files, each file once. Returns their number for each
    file."""
    files = {}
    for kept in sorted(_folder(config, "update").glob("*.h5")):
        with assay.open(kept) as dataset:
            path = dataset.attributes["x_golden_file"]
            files.setdefault(path, []).extend(dataset)
        kept.unlink()
    counts = {}
    for path, changed in files.items():
        with assay.open(path) as dataset:
            by_name, replaced = {}, set()
            for case in changed:
                whole = by_name.setdefault(case.name, dataset.read(case.name))
                for part, kept in case.outputs.items() or [("", case)]:
                    for tensor in kept.recorded.values():
                        _output_of(whole, part).golden = tensor
                        replaced.add((case.name, part))
            everything = [by_name.get(name) or dataset.read(name) for name in dataset.case_names()]
            assay.write(path, everything, attributes=dataset.attributes)
        counts[path] = len(replaced)
    return counts


def pytest_terminal_summary(terminalreporter, config):
    said = []
    for reports in terminalreporter.stats.values():
        for report in reports:
            said += getattr(report, "assay_said", [])
    if not said:
        return
    terminalreporter.section("assay")
    counts = {}
    for outcome, name, why in sorted(said, key=lambda one: one[1]):
        counts[outcome] = counts.get(outcome, 0) + 1
        if why and outcome != "pass":
            terminalreporter.write_line(f"{outcome}  {name}: {why}")
    for path, count in getattr(config, "assay_updated", {}).items():
        terminalreporter.write_line(f"{path}: {count} golden results replaced")
    terminalreporter.write_line(", ".join(f"{count} {outcome}"
                                          for outcome, count in sorted(counts.items())))
