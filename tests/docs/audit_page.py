#!/usr/bin/env python3
"""Follows the example in docs/audit.md as a reader does (page.py says how).

    audit_page.py ASSAY    the program, as it was built
"""
import os
import pathlib
import sys
import tempfile
import unittest

import page

ASSAY = pathlib.Path(sys.argv[1]).resolve()
ROOT = pathlib.Path(__file__).resolve().parents[2]


class Audit(unittest.TestCase):
    def test_every_step(self):
        with tempfile.TemporaryDirectory(prefix="assay_audit_page_") as folder:
            folder = pathlib.Path(folder)
            programs = folder / "bin"
            programs.mkdir()
            (programs / "assay").symlink_to(ASSAY)
            (programs / "python3").symlink_to(sys.executable)
            environment = {**os.environ, "PATH": f"{programs}:{os.environ['PATH']}"}
            text = (ROOT / "docs/audit.md").read_text()
            text = text[text.index("## An example"):]
            counts = page.follow(self, text, folder, environment, ["json"])
        self.assertGreaterEqual(counts, (1, 4, 2))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
