#!/usr/bin/env python3
"""Doxygen's filter for a header: prints it with its comments as Doxygen's.

    comments.py HEADER

A block of // lines describes what follows it, up to the next empty line or the next comment. A // after code describes
that code. Indented lines of a comment, and what is between backticks, are code. All else is plain text, in which no
character has a meaning for Doxygen."""

import re
import sys

COMMENT = re.compile(r"( {0,4})//(?!/)(.*)")
SIGN = re.compile(r"[@\\<>#%&$*~|`\[\]]")
# Lines at which the declarations that share a comment end.
ENDS_A_GROUP = re.compile(r"\s*((template|struct|class|enum|namespace|union|public|private|protected|#)\b|#|$)")


def escaped(text):
    if text.count("`") % 2:  # the code goes on in another line, so its backtick is text
        return SIGN.sub(r"\\\g<0>", text)
    # Every other part is code.
    return "`".join(part if i % 2 else SIGN.sub(r"\\\g<0>", part) for i, part in enumerate(text.split("`")))


def block(lines):
    """Returns a comment of // lines as one of Doxygen's."""
    is_code = False
    for line in lines:
        indent, text = COMMENT.fullmatch(line).groups()
        if text.startswith("   ") != is_code and text.strip():
            is_code = not is_code
            yield f"{indent}/// @code{{.cpp}}" if is_code else f"{indent}/// @endcode"
        yield f"{indent}///{text}" if is_code else f"{indent}/// {escaped(text.strip())}"
    if is_code:
        yield f"{indent}/// @endcode"


def described(lines, begin):
    """Returns the end of the declarations that a comment before line `begin` describes."""
    indent = len(lines[begin]) - len(lines[begin].lstrip()) if begin < len(lines) else 0
    end = begin
    while end < len(lines) and lines[end].strip() and not COMMENT.fullmatch(lines[end]):
        if len(lines[end]) - len(lines[end].lstrip()) < indent or ENDS_A_GROUP.match(lines[end]) or trailing(
                lines[end]) != lines[end]:
            break
        end += 1
    return end


def filtered(lines):
    at = 0
    while at < len(lines):
        begin = at
        while at < len(lines) and COMMENT.fullmatch(lines[at]):
            at += 1
        if at > begin:
            yield from block(lines[begin:at])
            end = described(lines, at)
            indent = " " * (len(lines[begin]) - len(lines[begin].lstrip()))
            # Several declarations share the comment.
            if sum(line.startswith(indent) and line[len(indent):len(indent) + 1].strip() not in ("", "}")
                   for line in lines[at:end]) > 1:
                yield indent + "///@{"
                yield from (trailing(line) for line in lines[at:end])
                yield indent + "///@}"
                at = end
        else:
            yield trailing(lines[at])
            at += 1


def trailing(line):
    match = re.fullmatch(r"(.*\S)\s+//\s?([^\"]*)", line)
    return line if match is None or line.startswith("#") else f"{match[1]}  ///< {escaped(match[2])}"


if __name__ == "__main__":
    with open(sys.argv[1], encoding="utf-8") as header:
        print("\n".join(filtered(header.read().splitlines())))
