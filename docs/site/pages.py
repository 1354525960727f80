#!/usr/bin/env python3
"""Doxygen's filter for a page in Markdown: prints it with links as Doxygen resolves them.

    pages.py PAGE

A link to a heading, of this page or of another one, leads to the heading's name, which has the page's name in front. A
link to a file that is no page becomes its text."""

import pathlib
import re
import sys

SOURCE = pathlib.Path(__file__).resolve().parents[2]


def pages():
    """Returns the pages of the site."""
    return [SOURCE / "README.md", *sorted((SOURCE / "docs").rglob("*.md")), *sorted((SOURCE / "examples").rglob("*.md"))]


def anchor(page, heading):
    """Returns the name of a heading (written as in a link, after the #) in the whole site."""
    name = page.relative_to(SOURCE).with_suffix("").as_posix()
    return re.sub(r"[^\w-]", "-", f"{name}--{heading}")


def slug(heading):
    """Returns the name that GitHub gives a heading."""
    text = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading)
    return re.sub(r"[^\w\- ]", "", text.lower()).replace(" ", "-")


def linked(page, match):
    text, to = match[1], match[2]
    if re.match(r"[a-z]+:", to):
        return f"[{text}]({to})"
    file, _, heading = to.partition("#")
    target = (page.parent / file).resolve() if file else page
    if target.is_dir():
        target = target / "README.md"
    if target not in pages():
        return text
    if not heading:  # the page itself, which Doxygen knows by the name of its title
        heading = slug(re.search(r"^# (.*)", target.read_text(encoding="utf-8"), re.M)[1])
    return f"[{text}](#{anchor(target, heading)})"


def with_links(page, text):
    def replaced(match):
        paragraph = text.rfind("\n\n", 0, match.start())
        is_code = text.count("`", max(paragraph, 0), match.start()) % 2 == 1
        return match[0] if is_code else linked(page, match)
    return re.sub(r"\[([^]\[]*(?:\[[^]]*\][^]\[]*)*)\]\(([^)\s]+)\)", replaced, text)


def plain(text):
    """Returns text outside of code so that no sign means anything to Doxygen."""
    return text.replace("\\|", "&#124;").replace("@", "\\@")


def filtered(page):
    is_code, seen = False, set()
    parts = re.split(r"^(```.*?^```)", page.read_text(encoding="utf-8"), flags=re.M | re.S)
    text = "".join(part if part.startswith("```") else with_links(page, part) for part in parts)
    for line in text.splitlines():
        if line.startswith("```"):
            is_code = not is_code
        elif not is_code:
            heading = re.fullmatch(r"#+ (.*)", line)
            # Every other part is code between backticks.
            line = re.sub(r"\*\*(`[^`]*`[^*`]*)\*\*", r"<b>\1</b>", line)  # bold code
            parts = line.split("`")
            line = "`".join(part if i % 2 else plain(part) for i, part in enumerate(parts))
            if heading and (name := slug(heading[1])) not in seen:
                seen.add(name)
                line += f" {{#{anchor(page, name)}}}"
        yield line


if __name__ == "__main__":
    print("\n".join(filtered(pathlib.Path(sys.argv[1]).resolve())))
