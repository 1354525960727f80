#!/usr/bin/env python3
"""Counts lines of code: lines that hold something other than a comment or a blank.

    python3 tests/static/count_code.py            # the working tree
    python3 tests/static/count_code.py COMMIT     # a commit

Counts the C++ and Python files that git knows under framework/, datasets/, matchers/, tools/ and
python/, and prints one line for each folder and the sum. Docstrings of Python count as code.
"""

import re
import subprocess
import sys

FOLDERS = ("framework", "datasets", "matchers", "tools", "python")
ENDINGS = (".cc", ".h", ".py")

# String and character literals stay, and comments are removed.
CPP_TOKEN = re.compile(
    r'R"(?P<tag>[^(\s]*)\((?:.|\n)*?\)(?P=tag)"'
    r'|"(?:\\.|[^"\\\n])*"'
    r"|'(?:\\.|[^'\\\n])+'"
    r"|(?P<comment>//[^\n]*|/\*(?:.|\n)*?\*/)"
)


def code_lines(path, text):
    if path.endswith(".py"):
        return sum(1 for line in text.split("\n") if line.strip() and not line.strip().startswith("#"))
    # A digit separator (1'000) would begin a character literal.
    text = re.sub(r"(?<=[0-9a-fA-F])'(?=[0-9a-fA-F])", "", text)
    text = CPP_TOKEN.sub(lambda match: "" if match.group("comment") else match.group(0), text)
    return sum(1 for line in text.split("\n") if line.strip())


def git(*arguments):
    return subprocess.run(("git",) + arguments, check=True, capture_output=True).stdout.decode("utf-8")


def files_of(commit):
    """Yields pairs of a path and its text."""
    names = git("ls-tree", "-r", "--name-only", commit) if commit else git("ls-files")
    for path in names.split("\n"):
        if not path.startswith(tuple(folder + "/" for folder in FOLDERS)) or not path.endswith(ENDINGS):
            continue
        if commit:
            yield path, git("show", f"{commit}:{path}")
        else:
            try:
                with open(path, encoding="utf-8") as file:
                    yield path, file.read()
            except FileNotFoundError:
                continue  # the file was deleted without a commit of it


def main():
    commit = sys.argv[1] if len(sys.argv) > 1 else None
    counts = dict.fromkeys(FOLDERS, 0)
    for path, text in files_of(commit):
        counts[path.split("/")[0]] += code_lines(path, text)
    for folder, count in counts.items():
        print(f"{folder:12}{count:8,}")
    print(f"{'together':12}{sum(counts.values()):8,}")


if __name__ == "__main__":
    main()
