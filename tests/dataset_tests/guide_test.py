#!/usr/bin/env python3
"""docs/guide.md as a reader follows it: its files are written, its commands run, in its order, against the installed
package; each exits with what the page says, and prints what the page shows.

    guide_test.py SOURCE BUILD CMAKE COMPILER [TEST...]

A block of code after `<!-- file: NAME -->` is that file; one of `sh` else is commands, a line each, `# exit code N`
behind those that do not exit with 0; one of `text` is lines that the commands before it printed, in that order, each
of which may have more before and behind.
"""
import os
import pathlib
import re
import subprocess
import sys
import unittest

from installed import COMPILER, PREFIX, ROOT, SOURCE, install

BLOCK = re.compile(r"(?:<!-- file: (\S+) -->\n)?```(\w+)\n(.*?)```", re.S)


class Guide(unittest.TestCase):
    def test_every_step(self):
        install()
        folder = ROOT / "first hour"
        folder.mkdir()
        path = [str(PREFIX / "bin"), str(pathlib.Path(sys.executable).parent), os.environ["PATH"]]
        environment = {**os.environ, "PATH": ":".join(path), "CMAKE_PREFIX_PATH": str(PREFIX), "CXX": COMPILER,
                       "PYTHONPATH": str(PREFIX / "lib/python3/dist-packages"), "PYTHONDONTWRITEBYTECODE": "1"}
        files = commands = texts = 0
        printed = ""
        for name, language, text in BLOCK.findall((pathlib.Path(SOURCE) / "docs/guide.md").read_text()):
            if name:
                (folder / name).parent.mkdir(exist_ok=True)
                (folder / name).write_text(text)
                files += 1
            elif language == "sh":
                printed = ""
                for line in text.splitlines():
                    code = re.search(r"  # exit code (\d)$", line)
                    ran = subprocess.run(["sh", "-c", line], cwd=folder, env=environment, text=True,
                                         stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
                    self.assertEqual(ran.returncode, int(code[1]) if code else 0, f"{line}\n{ran.stdout}")
                    printed += ran.stdout
                    commands += 1
            elif language == "text":
                at = 0
                for line in text.splitlines():
                    found = printed.find(line.strip(), at)
                    self.assertGreaterEqual(found, 0, f"'{line}' is not in\n{printed[at:]}")
                    at = found + len(line.strip())
                texts += 1
            else:
                self.assertEqual(language, "yaml", text)  # the one language that is shown alone
        self.assertGreater(min(files, commands, texts), 2)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[5:], verbosity=2)
