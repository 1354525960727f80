#!/usr/bin/env python3
"""Makes the tables of docs/evidence/diagnosis.md, before and after.

    docs/make_diagnosis.py build/release/bin/assay          writes them
    docs/make_diagnosis.py build/release/bin/assay --check  exit code 1 if they differ

Plants the causes of tests/proof/planted_causes.py and asks `assay gate` about each of them. "Before" is what the
program said of the same plants before it held causes against chance (tests/proof/before_diagnosis.csv)."""
import pathlib
import re
import subprocess
import sys
import tempfile

from generated import ROOT, write_or_check

sys.path.insert(0, str(ROOT / "tests/proof"))
import diagnosis

PAGE, PROOF = ROOT / "docs/evidence/diagnosis.md", ROOT / "tests/proof"


def main(tool, check):
    with tempfile.TemporaryDirectory() as folder:
        counts = pathlib.Path(folder) / "counts.csv"
        ran = subprocess.run(
            [sys.executable, str(PROOF / "diagnosis.py"), "--assay", tool, "--counts", str(counts)],
            stdout=subprocess.DEVNULL,
        )
        now = diagnosis.read_counts(counts)
    before = diagnosis.read_counts(PROOF / "before_diagnosis.csv")
    causes, chance = diagnosis.tables([("before", before), ("now", now)])
    page = PAGE.read_text()
    for name, content in (("causes", causes), ("chance", chance)):
        page = re.sub(
            rf"<!-- {name} -->\n.*?<!-- end of {name} -->",
            lambda _: f"<!-- {name} -->\n{content}\n<!-- end of {name} -->",
            page,
            flags=re.S,
        )
    return write_or_check("make_diagnosis.py", {PAGE: page}, check) or ran.returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], "--check" in sys.argv[2:]))
