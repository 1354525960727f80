#!/usr/bin/env python3
"""Tests what is installed and what cpack makes of it: the tree of `cmake --install`, three Debian packages, and an
archive that carries its libraries. The program of a package runs in a root of its own (chroot) with the files of the
Debian packages that it depends on, and of theirs. The program of the archive runs in a root that holds only the C
library.

    packages_test.py SOURCE BUILD CMAKE COMPILER [TEST...]

BUILD is a finished build of SOURCE. The roots are made of this system's packages: a release of Debian other than this
one, maintainer scripts and apt's own choice of versions are not covered.
"""
import json
import os
import pathlib
import pty
import re
import select
import shutil
import subprocess
import sys
import time
import unittest

from installed import BUILD, CMAKE, PREFIX, ROOT, SOURCE, install, run

# The environment of programs that run in the roots. It has nothing of this process's environment.
PLAIN = {"PATH": "/usr/bin:/bin"}
GLIBC = re.compile(r"^(linux-vdso|ld-linux[\w-]*|lib(c|m|dl|rt|pthread|resolv))\.so\.\d+$")


def cpack(generator):
    """Returns the packages that cpack makes with a generator. They are made once."""
    made = ROOT / generator
    if not made.exists():
        code, out = run(pathlib.Path(CMAKE).with_name("cpack"), "--config", pathlib.Path(BUILD) / "CPackConfig.cmake",
                        "-G", generator, "-B", made, "-D", "CPACK_THREADS=0", cwd=ROOT)
        assert code == 0, out
    return sorted(p for p in made.iterdir() if p.is_file())


def in_namespace(*command):
    """Returns the command in a namespace of mounts, and also of users if we are not root."""
    user = [] if os.geteuid() == 0 else ["--map-root-user"]
    return ["unshare", "--mount", *user, *command]


def chroot_works():
    return shutil.which("unshare") and run(*in_namespace("chroot", "/", "true"))[0] == 0


def run_in(root, *command, cwd="/"):
    """Runs a command in the root. The root has this system's /proc, because a program finds its own path there."""
    (root / "proc").mkdir(exist_ok=True)
    script = 'mount --rbind /proc "$1/proc" && root=$1 cwd=$2 && shift 2 && exec chroot "$root" /bin/sh -c \'' \
             'cd "$0" && exec "$@"\' "$cwd" "$@"'
    environment = {**PLAIN, "PATH": PLAIN["PATH"] + ":/usr/sbin:/sbin"}
    return run(*in_namespace("sh", "-c", script, "sh", root, cwd, *command), env=environment)


class Status:
    """The packages that are installed on this system, as dpkg's status file lists them."""

    def __init__(self):
        fields = ("Package", "Status", "Provides", "Pre-Depends", "Depends")
        code, out = run("dpkg-query", "-W", "-f", "\\t".join(f"${{{f}}}" for f in fields) + "\\n")
        assert code == 0, out
        self.needs, self.providers = {}, {}
        for line in out.splitlines():
            name, status, provides, *needs = line.split("\t")
            if not status.endswith(" installed"):
                continue
            self.needs[name] = ", ".join(n for n in needs if n)
            for word in [name, *(p.split()[0] for p in provides.split(",") if p.strip())]:
                self.providers.setdefault(word.split(":")[0], name)

    def choice(self, alternatives):
        for word in alternatives.split("|"):
            name = word.split()[0].split(":")[0]
            if name in self.providers:
                return self.providers[name]
        raise AssertionError(f"'{alternatives.strip()}' is not installed here")

    def closure(self, depends):
        """Returns the packages that a Depends field names, and all packages that these depend on."""
        found, todo = set(), [depends]
        while todo:
            for alternatives in filter(str.strip, todo.pop().split(",")):
                name = self.choice(alternatives)
                if name not in found:
                    found.add(name)
                    todo.append(self.needs[name])
        return found


def make_root(root, packages):
    """Makes a root with copies of the files that these packages have on this system, without /usr/share and /etc."""
    root.mkdir()
    for folder in ("bin", "sbin", "lib", "lib64"):
        if os.path.islink("/" + folder):
            (root / "usr" / folder).mkdir(parents=True, exist_ok=True)
            (root / folder).symlink_to(os.readlink("/" + folder))
    for package in packages:
        code, out = run("dpkg-query", "--listfiles", package)
        assert code == 0, out
        for line in out.splitlines():
            if not line.startswith("/") or line.startswith(("/usr/share/", "/etc", "/proc")):
                continue
            source, target = pathlib.Path(line), root / line[1:]
            if source.is_symlink() or source.is_file():
                target.parent.mkdir(parents=True, exist_ok=True)
                if not os.path.lexists(target):
                    shutil.copy2(source, target, follow_symlinks=False)


def type_into_zsh(functions, typed, awaited):
    """Returns what an interactive zsh writes to its terminal."""
    here, there = pty.openpty()
    shell = subprocess.Popen(["zsh", "-f", "-i"], stdin=there, stdout=there, stderr=there, start_new_session=True,
                             env={**PLAIN, "TERM": "dumb", "HOME": str(ROOT)}, cwd=ROOT)
    os.close(there)
    written = ""

    def read_until(text):
        nonlocal written
        end = time.monotonic() + 20
        while text not in written and time.monotonic() < end:
            if select.select([here], [], [], 0.1)[0]:
                written += os.read(here, 65536).decode(errors="replace").replace("\a", "")

    try:
        os.write(here, f"PS1=; fpath=({functions} $fpath); autoload -Uz compinit; compinit -u -D; "
                       "print REA''DY\n".encode())
        read_until("READY")
        written = ""
        os.write(here, typed.encode())
        read_until(awaited)
        return written
    finally:
        shell.kill()
        shell.wait()
        os.close(here)


def libraries(program):
    """Returns the name and the path of each library that the program loads, as ldd resolves them."""
    code, out = run("ldd", program)
    assert code == 0, out
    found = {}
    for name, place in re.findall(r"^\t(\S+)(?: => (.*))? \(0x", out, re.M):
        found[pathlib.Path(name).name] = place or name
    return found


class Installed(unittest.TestCase):
    """Tests the tree of cmake --install, which was moved from its prefix to another folder."""

    @classmethod
    def setUpClass(cls):
        install()

    def test_no_folder_is_empty(self):
        self.assertEqual([p for p in PREFIX.rglob("*") if p.is_dir() and not any(p.iterdir())], [])

    def test_what_lies_in_the_repository_lies_there_too(self):
        share = PREFIX / "share/assay"
        source = pathlib.Path(SOURCE)
        listed = [str(p.relative_to(source)) for top in ("plans", "datasets", "docs", "examples",
                              *["python"] * (pathlib.Path(BUILD) / "python").exists())
                  for p in (source / top).rglob("*") if p.is_file() and "__pycache__" not in p.parts]
        self.assertGreater(len(listed), 60)
        for name in listed:
            places = {"plans": share, "datasets": share, "docs": PREFIX / "share/doc/assay",
                      "examples": PREFIX / "share/doc/assay",
                      "python": PREFIX / "lib/python3/dist-packages"}
            top = name.split("/")[0]
            if name.startswith(("datasets/assay/", "python/src/", "python/CMakeLists.txt")):
                continue
            path = places[top] / (name.removeprefix("python/") if top == "python" else name)
            self.assertEqual(path.read_bytes(), (pathlib.Path(SOURCE) / name).read_bytes(), path)
        for name in ("README.md", "CHANGELOG.md", "LICENSE"):
            self.assertTrue((PREFIX / "share/doc/assay" / name).is_file())

    def test_plans_find_their_datasets(self):
        named = 0
        for plan in (PREFIX / "share/assay/plans").glob("*.json"):
            for path in re.findall(r'"(\.\./[^"]+)"', plan.read_text()):
                self.assertTrue((plan.parent / path).is_file(), f"{plan}: {path}")
                named += 1
        self.assertGreater(named, 2)

    def test_links_between_pages_lead_somewhere(self):
        docs = PREFIX / "share/doc/assay"
        pages = [docs / "README.md", *(docs / "docs").rglob("*.md")]
        self.assertGreater(len(pages), 20)
        for page in pages:
            for link in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text()):
                self.assertTrue((page.parent / link).exists(), f"{page.relative_to(docs)}: {link}")

    def help_of(self, *command):
        code, out = run(PREFIX / "bin/assay", *command, "--help-all" if command else "--help")
        self.assertEqual(code, 0, out)
        return out

    def test_every_subcommand_has_a_page_with_its_options(self):
        commands = re.findall(r"^  (\w+) {2,}", self.help_of().split("Judge outputs:")[1], re.M)
        self.assertGreater(len(commands), 14)
        man = PREFIX / "share/man/man1"
        self.assertEqual(sorted(p.name for p in man.iterdir()),
                         sorted(["assay.1"] + [f"assay-{c}.1" for c in commands]))
        completion = (PREFIX / "share/bash-completion/completions/assay").read_text()
        zsh = (PREFIX / "share/zsh/site-functions/_assay").read_text()
        for command in commands:
            page = (man / f"assay-{command}.1").read_text().replace("\\-", "-")
            options = re.findall(r"^  (?:-\w,)?(--[\w-]+)", self.help_of(command), re.M)
            self.assertGreater(len(options), 1, command)
            for option in options:
                self.assertIn(option, page, command)
                self.assertRegex(completion, rf"\s{command}\)\n(?:.*\n)*?.*{option}[ ']")
                self.assertRegex(zsh, rf"\s{command}\)\n(?:.*\n)*?.*'\*?{option}[=\[]")

    @unittest.skipUnless(shutil.which("groff"), "groff is not here")
    def test_pages_are_right_roff(self):
        for page in (PREFIX / "share/man/man1").iterdir():
            code, out = run("groff", "-man", "-ww", "-W", "break", "-z", "-Tutf8", page)
            self.assertEqual((code, out), (0, ""), page)

    def complete(self, *words):
        """Returns what bash offers for the last of the words."""
        script = PREFIX / "share/bash-completion/completions/assay"
        code, out = run("bash", "--norc", "-c", 'source "$0"; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _assay; '
                        'printf "%s\\n" "${COMPREPLY[@]}"', script, *words)
        self.assertEqual(code, 0, out)
        return out.split()

    def test_bash_completes(self):
        self.assertEqual(self.complete("assay", "ga"), ["gate"])
        self.assertEqual(self.complete("assay", "gate", "g.h5", "--mach"), ["--machine"])
        for before in (["--machine"], ["--machine", "="]):
            self.assertEqual(self.complete("assay", "gate", *before, "asc"), ["ascend910b"])
        self.assertIn("hopper", self.complete("assay", "gate", "--machine", "="))
        self.assertEqual(self.complete("assay", "gate", "--abft", "v_"), ["v_abft"])
        self.assertEqual(self.complete("assay", "gate", "--standard", "bit"), ["bit_equal"])
        self.assertEqual(self.complete("assay", "list", "stan"), ["standards"])
        self.assertEqual(self.complete("assay", "generate", "mat"), ["matmul"])
        self.assertEqual(self.complete("assay", "generate", "matmul", "--distribution", "hil"), ["hilbert"])
        for option in ("--dtype", "--output-dtype"):
            self.assertEqual(self.complete("assay", "generate", "matmul", option, "bf"), ["bfloat16"])
        self.assertIn("flip", self.complete("assay", "inject", "g.h5", "--fault", "fl"))
        self.assertEqual(self.complete("assay", "gate", "g.h5", "--infinity", "sa"), ["saturating"])
        self.assertEqual(self.complete("assay", "study", "fp"), ["fp8"])
        self.assertEqual(self.complete("assay", "man", "merg"), ["merge"])
        self.assertEqual(self.complete("assay", "pack", "--layout", "sid"), ["sides"])
        self.assertEqual(self.complete("assay", "unpack", "g.h5", "--as", "saf"), ["safetensors"])
        # Names of files are completed by bash itself, so the function offers none.
        self.assertEqual(self.complete("assay", "gate", ""), [])
        self.assertEqual(self.complete("assay", "gate", "--outputs", "--m"), [])

    def test_words_that_are_offered_are_taken(self):
        table = PREFIX / "share/assay/datasets/samples/operators.h5"
        for option in ("--standard", "--machine", "--infinity", "--abft"):
            words = self.complete("assay", "gate", option, "")
            self.assertGreater(len(words), 2, option)
            for word in words:
                machine = [] if option == "--machine" else ["--machine", "exact"]
                code, out = run(PREFIX / "bin/assay", "gate", table, *machine, "--case", "no/such", option, word)
                # The program names the missing case only if it has accepted the options.
                self.assertIn("no/such", out, (option, word))

    @unittest.skipUnless(shutil.which("zsh"), "zsh is not here")
    def test_zsh_completes(self):
        """Types words and Tab into an interactive zsh, as a user would, and checks what Tab completes."""
        folder = PREFIX / "share/zsh/site-functions"
        keys = {"assay ga\t": "gate", "assay gate --mach\t": "--machine=", "assay list stan\t": "standards",
                "assay gate --machine=asc\t": "ascend910b"}
        for typed, completed in {"assay ga\t": "assay gate ", "assay gate --mach\t": "assay gate --machine=",
                                 "assay list stan\t": "assay list standards ",
                                 "assay gate --machine=asc\t": "assay gate --machine=ascend910b "}.items():
            self.assertIn(completed, type_into_zsh(PREFIX / "share/zsh/site-functions", typed, completed), typed)

    @unittest.skipUnless((pathlib.Path(BUILD) / "python").exists(), "built without the Python module")
    def test_python_package(self):
        environment = {**os.environ, "PYTHONPATH": str(PREFIX / "lib/python3/dist-packages"),
                       "PATH": f"{PREFIX / 'bin'}:{os.environ['PATH']}"}
        code, out = run(sys.executable, "-B", "-c", "import assay, numpy as np\n"
                        "x = np.ones((2, 3), 'f4')\nassay.assert_close(x, x.copy(), standard='torch')\n"
                        "print(assay.__file__, assay._core.__file__)", env=environment, cwd=ROOT)
        self.assertEqual(code, 0, out)
        self.assertIn(str(PREFIX), out)

    def test_version_names_the_commit(self):
        code, out = run(PREFIX / "bin/assay", "--version")
        self.assertRegex(out, r"^assay \d+\.\d+\.\d+ \((commit [0-9a-f]{7,}(-dirty)?, )?HDF5 ")


@unittest.skipUnless(shutil.which("git"), "git is not here")
class Commit(unittest.TestCase):
    """Tests cmake/AssayCommit.cmake, which every build runs."""

    def setUp(self):
        self.tree = ROOT / self.id().rsplit(".", 1)[1]
        (self.tree / "cmake").mkdir(parents=True)
        shutil.copy(pathlib.Path(SOURCE) / "cmake/commit.txt", self.tree / "cmake")
        self.out = self.tree / "commit.cc"

    def git(self, *command, cwd=None):
        code, out = run("git", "-c", "user.name=t", "-c", "user.email=t@localhost", *command, cwd=cwd or self.tree)
        self.assertEqual(code, 0, out)
        return out.strip()

    def commit(self):
        code, out = run(CMAKE, "-D", f"SOURCE={self.tree}", "-D", f"OUT={self.out}", "-P",
                        pathlib.Path(SOURCE) / "cmake/AssayCommit.cmake")
        self.assertEqual((code, out), (0, ""))
        return re.search(r'return "(.*)";', self.out.read_text())[1]

    def test_of_a_repository(self):
        self.git("init", "-q")
        (self.tree / ".gitignore").write_text("commit.cc\n")
        self.git("add", "-A")
        self.git("commit", "-qm", "first")
        head = self.git("rev-parse", "HEAD")
        self.assertEqual(self.commit(), head[:12])
        before = self.out.stat().st_mtime_ns
        self.assertEqual(self.commit(), head[:12])
        self.assertEqual(self.out.stat().st_mtime_ns, before, "is compiled again though nothing changed")
        (self.tree / ".gitignore").write_text("commit.cc\nmore\n")
        self.assertEqual(self.commit(), head[:12] + "-dirty")

    def test_of_an_archive(self):
        """git archive writes the commit into cmake/commit.txt."""
        source = ROOT / "archived"
        source.mkdir()
        (source / "cmake").mkdir()
        for name in (".gitattributes", "cmake/commit.txt"):
            shutil.copy(pathlib.Path(SOURCE) / name, source / name)
        self.git("init", "-q", cwd=source)
        self.git("add", "-A", cwd=source)
        self.git("commit", "-qm", "first", cwd=source)
        self.git("archive", "--format=tar", "-o", "a.tar", "HEAD", cwd=source)
        self.assertEqual(run("tar", "xf", source / "a.tar", "-C", self.tree)[0], 0)
        self.assertTrue(self.git("rev-parse", "HEAD", cwd=source).startswith(self.commit()))
        self.assertGreaterEqual(len(self.commit()), 7)

    def test_of_neither(self):
        self.assertEqual(self.commit(), "")

    def test_a_copy_inside_another_repository_has_not_its_commit(self):
        outer = ROOT / "outer"
        shutil.move(self.tree, outer / "third_party")
        self.tree = outer / "third_party"
        self.out = self.tree / "commit.cc"
        self.git("init", "-q", cwd=outer)
        self.git("add", "-A", cwd=outer)
        self.git("commit", "-qm", "first", cwd=outer)
        self.assertEqual(self.commit(), "")


SAMPLE = ("gate", "datasets/samples/operators.h5", "--machine", "ascend910b", "--json", "/result.json")


class Gates(unittest.TestCase):
    def gates_in(self, root, program, share):
        """Checks that the program runs in the root and judges a sample there."""
        code, out = run_in(root, program, "--version")
        self.assertEqual(code, 0, out)
        self.assertTrue(out.startswith("assay "), out)
        code, out = run_in(root, program, *SAMPLE, cwd=share)
        self.assertEqual(code, 0, out)
        cases = json.loads((root / "result.json").read_text())["cases"]
        self.assertGreater(len(cases), 30)
        code, out = run_in(root, program, "gate", "datasets/samples/operators.h5", "--machine", "volta", cwd=share)
        self.assertIn(code, (1, 3), out)  # this machine cannot compute all of the operators


@unittest.skipUnless(shutil.which("dpkg-shlibdeps") and shutil.which("file"), "dpkg-dev or file is not here")
class Deb(Gates):
    @classmethod
    def setUpClass(cls):
        cls.debs = {p.name.split("_")[0]: p for p in cpack("DEB")}

    def field(self, package, name):
        return run("dpkg-deb", "--field", self.debs[package], name)[1].strip()

    def test_there_are_three(self):
        self.assertEqual(sorted(self.debs), ["assay", "assay-dev", "python3-assay"])
        self.assertEqual(self.field("assay", "Version"), self.field("assay-dev", "Version"))

    def test_no_file_is_in_two_and_none_is_missing(self):
        install_all = ROOT / "all"
        code, out = run(CMAKE, "--install", BUILD, "--prefix", install_all)
        self.assertEqual(code, 0, out)
        files = {}
        for name, path in self.debs.items():
            folder = ROOT / f"files_{name}"
            self.assertEqual(run("dpkg-deb", "-x", path, folder)[0], 0)
            files[name] = {str(p.relative_to(folder / "usr")) for p in folder.rglob("*") if not p.is_dir()}
            self.assertEqual([p for p in folder.rglob("*") if p.is_dir() and not any(p.iterdir())], [])
        self.assertEqual(sum(map(len, files.values())), len(set().union(*files.values())))
        here = {str(p.relative_to(install_all)) for p in install_all.rglob("*") if not p.is_dir()}
        here -= {"bin/assay-mpi"}  # no package has this program, because it needs one kind of MPI

        # Debian has another folder for the zsh completions of packages.
        moved = {"share/zsh/site-functions/_assay": "share/zsh/vendor-completions/_assay"}
        self.assertEqual(set().union(*files.values()), {moved.get(f, f) for f in here})

    def test_depends_say_what_the_program_loads(self):
        needed = {w for w in re.findall(r"[\w.+-]+", re.sub(r"\([^)]*\)", "", self.field("assay", "Depends")))}
        owners = set()
        program = ROOT / "of_deb"
        run("dpkg-deb", "-x", self.debs["assay"], program)
        code, out = run("readelf", "--dynamic", "--wide", program / "usr/bin/assay")
        self.assertEqual(code, 0, out)
        self.assertNotIn("PATH)", out)  # no RPATH or RUNPATH: libraries are found only where the system looks
        places = libraries(program / "usr/bin/assay")
        for name in re.findall(r"NEEDED.*\[(.*)\]", out):
            place = os.path.realpath(places[name])
            owner = next(o for o in (run("dpkg", "-S", p) for p in (place, place.removeprefix("/usr"))) if o[0] == 0)
            owners.add(owner[1].split(":")[0])
        self.assertEqual(needed, owners)

    def test_dev_depends_on_what_its_config_looks_for(self):
        code, out = run("dpkg-query", "-W", *[w.split()[0] for w in self.field("assay-dev", "Depends").split(",")[1:]])
        self.assertEqual(code, 0, out)  # each package is installed on this system, where assay was built
        self.assertIn(f"assay (= {self.field('assay', 'Version')})", self.field("assay-dev", "Depends"))

    @unittest.skipUnless(chroot_works(), "no chroot here")
    def test_it_is_installed_and_used_in_a_root_of_what_it_depends_on(self):
        root = ROOT / "deb_root"
        packages = Status().closure(self.field("assay", "Depends"))
        self.assertLess(len(packages), 120)
        # The root also gets a shell, which run_in() needs, and coreutils.
        make_root(root, packages | {"dash", "coreutils"} | Status().closure("dash, coreutils"))
        self.assertFalse((root / "usr/bin/python3").exists())
        self.assertEqual(run("dpkg-deb", "-x", self.debs["assay"], ROOT / "unpacked")[0], 0)
        shutil.copytree(ROOT / "unpacked", root, dirs_exist_ok=True, symlinks=True)
        self.gates_in(root, "assay", "/usr/share/assay")


@unittest.skipUnless(shutil.which("readelf"), "binutils are not here")
class Archive(Gates):
    @classmethod
    def setUpClass(cls):
        (cls.archive,) = cpack("TGZ")
        cls.place = ROOT / "some where" / "else"
        cls.place.mkdir(parents=True)
        code, out = run("tar", "xzf", cls.archive, "-C", cls.place)
        assert code == 0, out
        (cls.top,) = cls.place.iterdir()

    def test_it_has_one_folder_of_its_own_name(self):
        self.assertEqual(self.archive.name, self.top.name + ".tar.gz")

    def test_nothing_but_the_c_library_is_the_systems(self):
        found = libraries(self.top / "bin/assay")
        carried = {n for n, place in found.items() if pathlib.Path(place).resolve().is_relative_to(self.top.resolve())}
        self.assertEqual([n for n in found if n not in carried and not GLIBC.match(n)], [])
        self.assertIn("libstdc++.so.6", carried)
        # The libraries that the program loads from the archive are those of the folder lib/assay.
        self.assertEqual({p.name for p in (self.top / "lib/assay").iterdir() if p.name in found}, carried)
        self.assertLess(len(carried), 14, "HDF5's shared library brings an HTTP client")

    def test_it_says_which_c_library_it_needs(self):
        page = (self.top / "share/doc/assay/PORTABLE.md").read_text()
        said = re.search(r"glibc (\d+)\.(\d+) or newer", page)
        needed = set()
        for file in [self.top / "bin/assay", *(self.top / "lib/assay").iterdir()]:
            needed |= {(int(a), int(b)) for a, b in re.findall(r"\(GLIBC_(\d+)\.(\d+)",
                                                               run("objdump", "-T", file)[1])}
        self.assertEqual((int(said[1]), int(said[2])), max(needed))
        for library in (self.top / "lib/assay").iterdir():
            if not library.is_symlink():
                self.assertIn(f"- {library.name}", page)

    def test_licences_of_what_is_carried_come_with_it(self):
        page = (self.top / "share/doc/assay/PORTABLE.md").read_text()
        named = re.findall(r"^- \S+ \((licences/\S+)\)$", page, re.M)
        if shutil.which("dpkg"):
            self.assertEqual(len(named), page.count("\n- "))
        for name in named:
            self.assertGreater((self.top / "share/doc/assay" / name).stat().st_size, 100, name)

    @unittest.skipUnless(chroot_works(), "no chroot here")
    def test_it_runs_where_there_is_nothing_but_the_c_library(self):
        root = ROOT / "bare root"
        make_root(root, {"libc6", "dash"})
        self.assertFalse(list(root.rglob("libstdc++*")))
        shutil.copytree(self.place, root / "any place", symlinks=True)
        top = f"/any place/{self.top.name}"
        self.gates_in(root, f"{top}/bin/assay", f"{top}/share/assay")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[5:], verbosity=2)
