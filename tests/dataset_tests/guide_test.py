#!/usr/bin/env python3
"""Follows docs/guide.md as a reader does: writes its files and runs its commands, in the order of the page, against the
installed package. Each command exits with the code that the page states, and prints what the page shows.

    guide_test.py SOURCE BUILD CMAKE COMPILER [TEST...]

tests/docs/page.py says how a page is followed.
"""
import os
import pathlib
import sys
import unittest

from installed import COMPILER, PREFIX, ROOT, SOURCE, install

sys.path.insert(0, str(pathlib.Path(SOURCE) / "tests/docs"))
import page  # noqa: E402


class Guide(unittest.TestCase):
    def test_every_step(self):
        install()
        folder = ROOT / "first hour"
        folder.mkdir()
        path = [str(PREFIX / "bin"), str(pathlib.Path(sys.executable).parent), os.environ["PATH"]]
        environment = {**os.environ, "PATH": ":".join(path), "CMAKE_PREFIX_PATH": str(PREFIX), "CXX": COMPILER,
                       "PYTHONPATH": str(PREFIX / "lib/python3/dist-packages"), "PYTHONDONTWRITEBYTECODE": "1"}
        text = (pathlib.Path(SOURCE) / "docs/guide.md").read_text()
        files, commands, texts = page.follow(self, text, folder, environment, ["yaml"])
        self.assertGreater(min(files, commands, texts), 2)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[5:], verbosity=2)
