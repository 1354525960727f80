#!/usr/bin/env python3
"""Checks that code in Markdown is that of the compiled examples. A block after the comment `<!-- snippet: FILE -->` must
be the text of FILE. After `<!-- snippet: FILE 21-23 -->`, it must be these lines of FILE without their common indent.
With `--write`, blocks that differ are replaced by the text of FILE."""
import pathlib
import re
import subprocess
import sys
import textwrap

PATTERN = re.compile(r"<!-- snippet: (\S+)(?: (\d+)-(\d+))? -->\n```\w*\n(.*?)```", re.S)


def wanted(match):
    text = pathlib.Path(match[1]).read_text()
    if match[2]:
        text = textwrap.dedent("".join(text.splitlines(True)[int(match[2]) - 1:int(match[3])]))
    return text


def main():
    write = "--write" in sys.argv
    listed = subprocess.run(["git", "ls-files", "-co", "--exclude-standard", "*.md"],
                            capture_output=True, text=True).stdout.split()
    pages = [pathlib.Path(p) for p in listed] or [pathlib.Path("README.md")]
    found = bad = 0
    for page in pages:
        text = page.read_text()

        def check(match):
            nonlocal found, bad
            found += 1
            source = wanted(match)
            if match[4] == source:
                return match[0]
            if not write:
                bad += 1
                print(f"{page}: the snippet is not {match[1]}; tests/docs/check_snippets.py --write "
                      "copies it in")
            return match[0][:match.start(4) - match.start()] + source + "```"

        updated = PATTERN.sub(check, text)
        if write and updated != text:
            page.write_text(updated)
    if found == 0:
        print("no snippet was found")
        return 1
    print(f"{found} snippets, {bad} differ")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
