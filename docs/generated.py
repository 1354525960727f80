"""Pages that programs of this folder make: written, or held to what they would be now."""
import difflib
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent


def write_or_check(program, pages, check):
    """Writes the text of each path of `pages`; with `check` prints what differs instead. The exit code:
    1 where something differs that is only checked."""
    differ = False
    for path, content in pages.items():
        before = path.read_text() if path.exists() else ""
        if before == content:
            continue
        differ = True
        if check:
            sys.stdout.writelines(difflib.unified_diff(before.splitlines(True), content.splitlines(True),
                                                       str(path.relative_to(ROOT)), "as it is"))
        else:
            path.write_text(content)
    if check and differ:
        print(f"docs/{program} build/release/bin/assay writes it as it is now")
        return 1
    return 0


def decisive(case):
    """Returns the verdict that decides the outcome of a case in a report; {} if it has none."""
    verdicts = case["verdicts"]
    return next((v for v in verdicts if v["outcome"] == case["outcome"]), verdicts[0] if verdicts else {})
