"""The changes that tests/mutation/mutants.py makes to a line of C++. The code is as clang-format leaves
it: an operator with spaces on both sides has two operands, and `<` of a template has none."""

import dataclasses
import re

TOKEN = re.compile(
    r"""(?P<comment>//[^\n]*|/\*[\s\S]*?\*/)"""
    r"""|(?P<raw>\bR"(?P<fence>[^()\\\s]{0,16})\([\s\S]*?\)(?P=fence)")"""
    r"""|(?P<text>"(?:\\[\s\S]|[^"\\\n])*")"""
    r"""|\b\d[\w'.]*"""
    r"""|'(?:\\.|[^'\\\n])*'""")

PAIRS = {
    "comparison": [("<", "<="), ("<=", "<"), ("==", "!="), ("!=", "=="), (">", ">="), (">=", ">")],
    "arithmetic": [("+", "-"), ("-", "+"), ("*", "/"), ("/", "*")],
    "logical": [("&&", "||"), ("||", "&&")],
    "assignment": [("+=", "-="), ("-=", "+="), ("*=", "/="), ("/=", "*=")],
}
NUMBER = re.compile(r"(?<![\w.])(0[xX][0-9a-fA-F']+(?:\.[0-9a-fA-F]*)?(?:p[+-]?\d+)?|\d[\d']*\.?\d*"
                    r"(?:e[+-]?\d+)?)([fFuUlL]*)(?![\w.])")
# Matches a line that is one statement and declares nothing, so that it can be removed.
STATEMENT = re.compile(
    r"(?:if \(.*\) .*|(?:\+\+|--)[\w.\->\[\]()*]+|[\w.\->\[\]()*:]+(?:\+\+|--)|"
    r"\*?[\w.\->:]+(?:\[[^=]*\]|\([^=]*\))*(?:[.\->]+\w+)* (?:[-+*/|&%^]|<<|>>)?= .*|"
    r"(?!return\b|throw\b)[\w.\->:]+(?:\[[^=]*\])*(?:[.\->]+\w+)*\(.*\)|break|continue);$")
# Functions for which the order of two arguments does not matter.
SYMMETRIC = {"max", "min", "swap", "hypot", "fmax", "fmin", "gcd", "lcm", "abs"}
WORDS_BEFORE_BRACKETS = {"if", "for", "while", "switch", "return", "sizeof", "catch"}
NUMERIC = re.compile(r"\b(?:double|float|int|std::u?int\d+_t|std::size_t|__int128|long)\s+[\w:~]+\($")


@dataclasses.dataclass(frozen=True)
class Mutant:
    line: int  # from 1
    kind: str
    before: str
    after: str


def blanked(text):
    """Returns `text` with its comments and literals of text as blanks, of the same length and lines."""

    def blank(match):
        if match.group("comment") or match.group("raw") or match.group("text") or match[0][0] == "'":
            keep = "" if match.group("comment") else '"'
            inner = re.sub(r"[^\n]", " ", match[0])
            return keep + inner[1:-1] + keep if keep else inner
        return match[0]

    return TOKEN.sub(blank, text)


def scopes(code):
    """Returns for each line of blanked code "function", "table" or "", depending on where its first character
    is, and the text before the body of the function."""
    stack, found, header = [], [], ""
    for number, line in enumerate(code.split("\n")):
        if line.lstrip().startswith("#"):
            found.append(("", ""))
            continue
        inner = next(((kind, head) for kind, head in reversed(stack)
                      if kind in ("function", "table")), ("", ""))
        if stack and stack[-1][0] == "other":
            inner = ("", "")
        found.append(inner)
        for character in line:
            if character == "{":
                stack.append((scope_of(header, stack), header.strip()))
                header = ""
            elif character == "}":
                if stack:
                    stack.pop()
                header = ""
            elif character == ";":
                header = ""
            else:
                header += character
        header += " "
    return found


def scope_of(header, stack):
    header = header.strip()
    within = stack[-1][0] if stack else "space"
    if within == "function":
        return "function"
    if re.search(r"\]\s*$|\]\s*(?:\([^{}]*\))\s*(?:mutable\s*)?(?:->\s*[\w:<>&*]+)?$", header) and (
            "[" in header) and not re.search(r"\w\[[^\]]*\]\s*$", header):
        return "function"  # a lambda
    if within == "table":
        return "table"
    if re.match(r"(?:inline\s+)?namespace\b|extern\b", header):
        return "space"
    if re.search(r"(?:^|\s)(?:struct|class|union)\s", header) and "(" not in header:
        return "space"
    if re.search(r"\benum\b", header):
        return "other"
    if re.search(r"(?<![=!<>])=(?!=)\s*$|\]\s*$", header) or (
            "=" in header and re.search(r"=\s*[\w:<>]*\s*$", header)):
        return "table"
    if "(" in header:
        return "function"
    return "table" if within == "table" else "other"


def closing(code, start):
    """Returns the position of the bracket that closes the one at `start`, or -1 if it is not in this line."""
    depth = 0
    for at in range(start, len(code)):
        if code[at] in "([{":
            depth += 1
        elif code[at] in ")]}":
            depth -= 1
            if depth == 0:
                return at
    return -1


def term_end(code, start):
    """Returns the position after the term that begins at `start`, or -1 if the term goes on in the next line."""
    at = start
    while at < len(code):
        if code[at] in "([{":
            at = closing(code, at)
            if at < 0:
                return -1
        elif code[at] in ")]},;":
            return at
        elif re.match(r" (?:[-+<>?:]|[<>=!]=|&&|\|\||<<|>>) ", code[at:]):
            return at
        at += 1
    return -1


def arguments(code, opened, closed):
    parts, depth, start = [], 0, opened + 1
    for at in range(opened + 1, closed):
        if code[at] in "([{":
            depth += 1
        elif code[at] in ")]}":
            depth -= 1
        elif code[at] == "," and depth == 0:
            parts.append((start, at))
            start = at + 1
    parts.append((start, closed))
    return parts


def like(one, other):
    """Returns true if two arguments look as though one could stand for the other."""

    def sort_of(text):
        if '"' in text or "[&" in text or "[=" in text or "{" in text:
            return None
        if re.fullmatch(r"-?[\d.][\w.]*", text):
            return "number"
        return "expression"

    casts = one.startswith("static_cast") == other.startswith("static_cast")
    return one != other and casts and sort_of(one) == sort_of(other) == "expression"


def changed_number(match):
    """Returns the changed forms of a constant as (kind, text). An integer has several."""
    digits, suffix = match.group(1), match.group(2)
    hexadecimal = digits.lower().startswith("0x")
    if "." in digits or "p" in digits.lower() or (not hexadecimal and "e" in digits.lower()):
        value = float.fromhex(digits) if hexadecimal else float(digits.replace("'", ""))
        return [] if value == 0 else [("float constant", f"(2 * {match[0]})")]
    value = int(digits.replace("'", ""), 0 if hexadecimal else 10)
    text = hex if hexadecimal else str
    changed = [("integer constant", text(value + 1) + suffix)]
    if value > 0:
        changed.append(("integer constant", text(value - 1) + suffix))
    return changed


def mutants_of_line(line, code, before, table, header):
    """Returns all (kind, changed line) of a line. `code` is the line with its texts blanked, and `before`
    is the last character of code before it."""
    made = []

    def put(kind, start, end, text):
        made.append((kind, line[:start] + text + line[end:]))

    constants = "table" if table else None
    for match in NUMBER.finditer(code):
        for kind, text in changed_number(match):
            put(constants or kind, match.start(), match.end(), text)
    for match in re.finditer(r"\b(true|false)\b", code):
        put(constants or "truth", match.start(), match.end(),
            "false" if match[0] == "true" else "true")
    if table:
        return made
    for kind, pairs in PAIRS.items():
        for old, new in pairs:
            for match in re.finditer(r"(?<= )" + re.escape(old) + r"(?= |$)", code):
                put(kind, match.start(), match.end(), new)
    for match in re.finditer(r"(?<=[( !])!(?=[\w(])", code):
        put("logical", match.start(), match.end(), "")
    for match in re.finditer(r" [-+] ", code):
        end = term_end(code, match.end())
        if end >= 0:
            put("term", match.start(), end, "")
    for match in re.finditer(r"([\w:]*\w)\(", code):
        name = match.group(1).split("::")[-1]
        closed = closing(code, match.end() - 1)
        if closed < 0 or name in SYMMETRIC or name in WORDS_BEFORE_BRACKETS:
            continue
        parts = arguments(code, match.end() - 1, closed)
        texts = [line[start:end].strip() for start, end in parts]
        for i in range(len(parts) - 1):
            if like(texts[i], texts[i + 1]) and not re.search(r"^(?:const )?[\w:<>]+[&*]? \w+$",
                                                              texts[i]):
                order = texts[:i] + [texts[i + 1], texts[i]] + texts[i + 2:]
                put("swapped", match.end(), closed, ", ".join(order))
    stripped = code.strip()
    indent = line[:len(line) - len(line.lstrip())]
    if before in ";{}:" and STATEMENT.match(stripped):
        made.append(("removed", indent + ";"))
    match = re.match(r"\s*(?:if \(.*\) )?return (.+);$", code)
    if match and match.group(1)[0] != "{":
        start, end = match.span(1)
        value = line[start:end]
        logical = re.search(r" (?:[<>=!]=|<|>|&&|\|\|) |^!|^(?:true|false)$", code[start:end])
        if logical or re.search(r"\bbool\s+[\w:]+\(", header):
            if " ? " not in value:
                put("negated", start, end, f"!({value})")
        elif NUMERIC.search(header[:header.find("(") + 1]) and value != "0":  # 0 has no sign to change
            put("negated", start, end, f"-({value})")
    return made


def is_same(one, other):
    """Returns true if two lines differ only in blanks and brackets."""
    return re.sub(r"[\s()]", "", one) == re.sub(r"[\s()]", "", other)


def mutants_of(text):
    """Returns all mutants of a source text, in the order of its lines. No mutant is the same text."""
    code = blanked(text)
    lines, codes = text.split("\n"), code.split("\n")
    found, before = [], ";"
    where = scopes(code)
    for i, (line, bare) in enumerate(zip(lines, codes)):
        scope, header = where[i]
        skipped = re.search(r"\b(?:static_assert|assert|using|typedef|template)\b", bare)
        if scope and not skipped and not bare.lstrip().startswith("#"):
            seen = set()
            for kind, changed in mutants_of_line(line, bare, before, scope == "table", header):
                if not is_same(changed, line) and changed not in seen:
                    seen.add(changed)
                    found.append(Mutant(i + 1, kind, line, changed))
        if bare.strip() and not bare.lstrip().startswith("#"):
            before = bare.rstrip()[-1]
    return found
