#!/usr/bin/env python3
"""Counts the odd English of comments and pages, so that there is less of it with every change.

    check_language.py                    compares the tree with counts.txt; exit code 1 if a count rose
    check_language.py --list PATH ...    lists every odd form below these files or folders
    check_language.py --update           writes today's counts to counts.txt
    check_language.py --texts FILE       lists every odd form of a file's paragraphs, such as help
                                         texts; exit code 1 if there is one
    check_language.py --selftest         checks made-up texts, each of which has one odd form

A comment block is a run of lines that hold only a comment, a comment behind code, or a docstring. It
is odd if it has at least four words and one of the forms below. A page is a Markdown file; its
sentences are counted without code, tables, lists and headings. docs/style.md says what to write instead.
"""

import argparse
import ast
import io
import pathlib
import re
import subprocess
import sys
import tempfile
import tokenize

HERE = pathlib.Path(__file__).resolve().parent
COUNTS = HERE / "counts.txt"
LONG_SENTENCE = 35  # the most words of a sentence that is not long
FEWEST_WORDS = 4  # the fewest words of a block that is counted

# The name of each odd form, and the pattern that finds it in one sentence.
SENTENCE_FORMS = [
    ("begins with 'Of'", re.compile(r"^Of\b(?! course)")),
    ("begins with a question word and asks nothing",
     re.compile(r"^(?:What|Whose|Which|Who|Whether|Where|How|Why)\b(?!.*\?\W*$)", re.S)),
]
# The name of each odd form, and the pattern that finds it in a whole block.
BLOCK_FORMS = [
    ("'alone' for 'only'", re.compile(r"\balone\b(?!-)")),
    ("'is none' for 'is not'", re.compile(r"\b(?:is|are|was|were|be|that has|which has) none\b")),
    ("'where' for 'if'",
     re.compile(r"\bwhere (?:nothing|none|no \w+|neither|it|they|there|that|this|one|all|both|any|each)"
                r" ?(?:is|are|was|were|has|have|can|does|do|may|gives?|fits?|takes?)?\b")),
    ("a case hung on a semicolon",
     re.compile(r";\s+(?:else|empty|null|none|nothing|otherwise|\"\"|-?\d+|infinity|NaN)\b[^;.]{0,40}[.:]?\s*$"
                r"|;\s+else\b|\b(?:0|null|empty|nothing|none|negative|\"\"):\s", re.M)),
    ("'so many' for a number", re.compile(r"\bso many (?!that\b)", re.I)),
    ("'mended' for 'fixed'", re.compile(r"\b[Mm]end(?:ed|s|ing)?\b")),
    ("'by itself' for 'separately'", re.compile(r"\bby (?:itself|themselves)\b")),
]
# Words that have another one in docs/style.md.
WORDS = [
    ("'miss' for 'mismatch'", re.compile(r"\bmisses\b|\bmissed elements?\b", re.I)),
]

CODE = "Code"  # stands for a piece of code in a sentence
SENTENCE_END = re.compile(rf"(?<=[.!?])\s+(?=[\"'`(]?[A-Z])|(?<=:)\s+(?=[\"'`(]?(?!{CODE}\b)[A-Z])")

SOURCES = ("framework", "datasets", "matchers", "tools", "python", "tests", "benchmarks", "examples")
ENDINGS = (".cc", ".h", ".py", ".pyi", ".cmake", ".sh")


def sentences_of(text):
    """Splits at '.', '!' or '?' before a capital letter or code, and at ':' before a capital letter."""
    text = re.sub(r"\s+", " ", text).strip()
    return [s for s in SENTENCE_END.split(text) if s]


def words_of(text):
    return re.findall(r"[A-Za-z][A-Za-z'\-]*", text)


def odd_forms(text):
    """Returns the names of the odd forms of a comment block or a paragraph."""
    text = re.sub(r"`[^`]*`", CODE, text)
    if len(words_of(text)) < FEWEST_WORDS:
        return []
    found = [name for name, form in BLOCK_FORMS + WORDS if form.search(text)]
    for name, form in SENTENCE_FORMS:
        if any(form.search(s) for s in sentences_of(text)):
            found.append(name)
    return found


def line_comments(text, whole, behind=None):
    """Yields (line, text) of comments: lines that `whole` matches together, others one by one."""
    block, first = [], 0
    for number, line in enumerate(text.splitlines() + [""], 1):
        match = whole.match(line)
        if match:
            first = first if block else number
            block.append(match.group(1) or "")
            continue
        if block:
            yield first, "\n".join(block)
            block = []
        after = behind.search(line) if behind else None
        if after:
            yield number, after.group(1)


def python_comments(text):
    """Yields (line, text) of the comment blocks and docstrings of Python."""
    block, first, last = [], 0, 0
    try:
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            if token.type != tokenize.COMMENT or token.string.startswith("#!"):
                continue
            line = token.start[0]
            if block and line == last + 1:
                block.append(token.string.lstrip("# "))
            else:
                if block:
                    yield first, "\n".join(block)
                block, first = [token.string.lstrip("# ")], line
            last = line
        tree = ast.parse(text)
    except (SyntaxError, tokenize.TokenError):
        return
    if block:
        yield first, "\n".join(block)
    for node in ast.walk(tree):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
            docstring = ast.get_docstring(node)
            if docstring:
                yield node.body[0].lineno, docstring


def slash_comments(text):
    """Yields (line, text) of the comments of C++."""
    return line_comments(text, re.compile(r"\s*//+(?:\s(.*)|$)"),
                         re.compile(r"(?:[;,{})\]]|^\s*#\w.*)\s+// (.*)$"))


def hash_comments(text):
    """Yields (line, text) of the comment blocks of CMake and of shells."""
    return line_comments(text, re.compile(r"\s*#(?!!)\s?(.*)"))


def paragraphs(text):
    """Yields (line, text) of a page's paragraphs, without code, tables, lists, headings and quotes."""
    block, first, in_code = [], 0, False
    for number, line in enumerate(text.splitlines() + [""], 1):
        if line.lstrip().startswith("```"):
            in_code = not in_code
            continue
        is_prose = not in_code and re.match(r"[A-Za-z`*_\[\"'(]", line) and not line.startswith("* ")
        # A line of a list may go on, indented, in the next ones: they belong to the list.
        if is_prose:
            first = first if block else number
            block.append(line)
        elif block:
            yield first, " ".join(block)
            block = []


def comments_of(path, text):
    if path.suffix in (".cc", ".h"):
        return slash_comments(text)
    if path.suffix in (".py", ".pyi"):
        return python_comments(text)
    return hash_comments(text)


def plain_text(paragraph):
    """Returns a paragraph without marks: links become their words, and code becomes one word."""
    paragraph = re.sub(r"`[^`]*`", CODE, paragraph)
    paragraph = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", paragraph)
    return re.sub(r"[*_]{1,2}", "", paragraph)


def files_of(root):
    listed = subprocess.run(["git", "-C", str(root), "ls-files", "-co", "--exclude-standard"],
                            capture_output=True, text=True)
    names = listed.stdout.split("\n") if listed.returncode == 0 else [
        str(p.relative_to(root)) for p in root.rglob("*") if p.is_file()]
    return sorted(pathlib.Path(n) for n in names if n and (root / n).is_file())


def room_of(path):
    """Returns the room of a file: framework/judge for framework/assay/judge/x.cc, and the first folder for other
    sources."""
    parts = path.parts
    if parts[:2] == ("framework", "assay") and len(parts) > 3:
        return f"framework/{parts[2]}"
    return parts[0] if len(parts) > 1 else "."


class Counted:
    def __init__(self):
        self.blocks = {}  # {room: number of its comment blocks}
        self.odd = {}  # {room: number of its odd blocks}
        self.places = []  # (path, line, form, text)
        self.sentences = {}  # {page: lengths of its sentences in words}
        self.odd_paragraphs = {}  # {page: number of its odd paragraphs}


def is_page(path):
    return path.suffix == ".md" and (path.parts[0] == "docs" or len(path.parts) == 1)


def count(root):
    counted = Counted()
    for path in files_of(root):
        is_source = path.suffix in ENDINGS and path.parts[0] in SOURCES
        if not is_source and not is_page(path):
            continue
        text = (root / path).read_text(encoding="utf-8", errors="replace")
        if is_source:
            room = room_of(path)
            for line, block in comments_of(path, text):
                if len(words_of(block)) < FEWEST_WORDS:
                    continue
                counted.blocks[room] = counted.blocks.get(room, 0) + 1
                forms = odd_forms(block)
                counted.odd[room] = counted.odd.get(room, 0) + bool(forms)
                counted.places += [(path, line, form, block) for form in forms]
        else:
            page = str(path)
            lengths = counted.sentences.setdefault(page, [])
            counted.odd_paragraphs.setdefault(page, 0)
            for line, paragraph in paragraphs(text):
                plain = plain_text(paragraph)
                lengths += [len(words_of(s)) for s in sentences_of(plain)]
                forms = odd_forms(plain)
                counted.odd_paragraphs[page] += bool(forms)
                counted.places += [(path, line, form, paragraph) for form in forms]
                counted.places += [(path, line, f"{len(words_of(s))} words in a sentence", s)
                                   for s in sentences_of(plain) if len(words_of(s)) > LONG_SENTENCE]
    return counted


def odd_texts(text):
    """Returns a line for each odd form, and each long sentence, of the paragraphs of a text."""
    lines = []
    for paragraph in filter(None, text.split("\n\n")):
        forms = odd_forms(paragraph)
        forms += [f"{len(words_of(s))} words in a sentence" for s in sentences_of(plain_text(paragraph))
                  if len(words_of(s)) > LONG_SENTENCE]
        lines += [f"{form}: {' '.join(paragraph.split())}" for form in forms]
    return lines


def table_of(counted):
    """Returns the lines of counts.txt as {what is counted: its number}."""
    rows = {f"comments {room}": n for room, n in counted.odd.items()}
    rows.update({f"paragraphs {page}": n for page, n in counted.odd_paragraphs.items()})
    for page, lengths in counted.sentences.items():
        rows[f"long {page}"] = sum(n > LONG_SENTENCE for n in lengths)
    return dict(sorted(rows.items()))


def read_counts(text):
    rows = {}
    for line in text.splitlines():
        if line and not line.startswith("#"):
            key, _, number = line.rpartition(" ")
            rows[key] = int(number)
    return rows


def compared(now, limits):
    """Returns a line for each count that rose. A row without a limit may not have any odd form."""
    return [f"{key}: {n} odd, at most {limits.get(key, 0)} allowed" for key, n in now.items()
            if n > limits.get(key, 0)]


def summary(counted):
    odd, blocks = sum(counted.odd.values()), sum(counted.blocks.values())
    lengths = [n for page in counted.sentences.values() for n in page]
    longer = sum(n > LONG_SENTENCE for n in lengths)
    average = sum(lengths) / max(len(lengths), 1)
    return (f"language: {odd} of {blocks} comment blocks and {sum(counted.odd_paragraphs.values())} "
            f"paragraphs have odd forms; a page's sentence has {average:.1f} words, "
            f"{100 * longer / max(len(lengths), 1):.1f} % have more than {LONG_SENTENCE}")


def selftest():
    odd = {
        "Of a product K is the number of terms.": "begins with 'Of'",
        "What each element is bounded by.": "begins with a question word and asks nothing",
        "It reads the header alone from the file.": "'alone' for 'only'",
        "Such an output is none of the case's.": "'is none' for 'is not'",
        "Reads the default where nothing is said about it.": "'where' for 'if'",
        "The number of threads; else all cores.": "a case hung on a semicolon",
        "Elements that follow: so many of them.": "'so many' for a number",
        "This mended a wrong bound last week.": "'mended' for 'fixed'",
        "Each part is rounded by itself here.": "'by itself' for 'separately'",
        "The misses of a verdict are listed.": "'miss' for 'mismatch'",
    }
    for text, form in odd.items():
        if odd_forms(text) != [form]:
            return f"{text!r} should have {form!r} only and has {odd_forms(text)}"
    for text in ("For a product, K is the number of terms. Returns the bound of each element.",
                 "Which arithmetic did a kernel use?", "Of course this is fine to write.",
                 "Reads the file where the sums begin.", "There are so many that it stops.",
                 "Call `alone` here and there."):
        if odd_forms(text):
            return f"{text!r} has no odd form, and {odd_forms(text)} was found"
    source = "// Of a file, this is\n// one block.\nint x;  // what remains alone here now\n"
    if [n for n, _ in slash_comments(source)] != [1, 3]:
        return "blocks of C++ are not found"
    python = '"""Reads one thing."""\n# Of a file it is the first.\nx = 1\n'
    if [n for n, _ in python_comments(python)] != [2, 1]:
        return "blocks of Python are not found"
    if len(sentences_of(plain_text("Call this: `x`. `y` is next, see: Here it is."))) != 3:
        return "sentences are not split before code"
    if [t.split(":")[0] for t in odd_texts("Reads it.\n\nReads the header alone here.\n")] != [
            "'alone' for 'only'"]:
        return "odd texts of a file are not found"
    page = "# Title\n\nOne sentence. Two\nsentences.\n\n- a list\n  goes on\n\n```\ncode\n```\n| a | b |\n"
    if list(paragraphs(page)) != [(3, "One sentence. Two sentences.")]:
        return "paragraphs of a page are not found"
    with tempfile.TemporaryDirectory() as name:
        root = pathlib.Path(name)
        (root / "framework/assay/judge").mkdir(parents=True)
        (root / "framework/assay/judge/x.h").write_text("// Of a case the first output.\n")
        (root / "docs").mkdir()
        (root / "docs/x.md").write_text("word " * 40 + "end.\n")
        now = table_of(count(root))
        if now != {"comments framework/judge": 1, "long docs/x.md": 1, "paragraphs docs/x.md": 0}:
            return f"a made-up tree is counted as {now}"
        if len(compared(now, {"long docs/x.md": 1})) != 1 or compared(now, now):
            return "a count that rose is not reported"
    return ""


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--root", type=pathlib.Path, default=HERE.parents[1])
    parser.add_argument("--list", nargs="+", type=pathlib.Path, metavar="PATH")
    parser.add_argument("--update", action="store_true")
    parser.add_argument("--selftest", action="store_true")
    parser.add_argument("--texts", type=pathlib.Path, metavar="FILE")
    options = parser.parse_args()
    if options.selftest:
        problem = selftest()
        print("language: " + (problem or "the checker finds every form"))
        return 1 if problem else 0
    if options.texts:
        lines = odd_texts(options.texts.read_text(encoding="utf-8"))
        print("".join(line + "\n" for line in lines), end="")
        return 1 if lines else 0
    counted = count(options.root.resolve())
    if options.list:
        wanted = [p.resolve().relative_to(options.root.resolve()) for p in options.list]
        for path, line, form, text in counted.places:
            if any(path == w or w in path.parents for w in wanted):
                print(f"{path}:{line}: {form}: {' '.join(text.split())[:160]}")
        return 0
    now = table_of(counted)
    if options.update:
        COUNTS.write_text("# The most odd forms that each room and page may have (check_language.py).\n"
                          + "".join(f"{key} {n}\n" for key, n in now.items() if n > 0))
    print(summary(counted))
    problems = compared(now, read_counts(COUNTS.read_text()) if COUNTS.exists() else {})
    for problem in problems:
        print("  " + problem)
    if problems:
        print("Reword what is new (--list PATH shows it), or say in the change why it may stay.")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
