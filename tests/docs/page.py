"""Follows a page as a reader does: writes its files and runs its commands, in the order of the page.

A block of code after `<!-- file: NAME -->` is that file. Another block of `sh` holds commands, one a line, with
`# exit code N` behind a command that does not exit with 0. A block of `text` holds lines that the commands before it
printed, in that order. Each line may be a part of a printed line. A block in one of the languages in `shown` is
neither written nor run."""
import re
import subprocess

BLOCK = re.compile(r"(?:<!-- file: (\S+) -->\n)?```(\w+)\n(.*?)```", re.S)


def follow(test, page, folder, environment, shown):
    """Follows a page's text in a folder. Returns its numbers of files, commands and texts."""
    files = commands = texts = 0
    printed = ""
    for name, language, text in BLOCK.findall(page):
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
                test.assertEqual(ran.returncode, int(code[1]) if code else 0, f"{line}\n{ran.stdout}")
                printed += ran.stdout
                commands += 1
        elif language == "text":
            at = 0
            for line in text.splitlines():
                found = printed.find(line.strip(), at)
                test.assertGreaterEqual(found, 0, f"'{line}' is not in\n{printed[at:]}")
                at = found + len(line.strip())
            texts += 1
        else:
            test.assertIn(language, shown, text)
    return files, commands, texts
