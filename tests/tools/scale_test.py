#!/usr/bin/env python3
"""Campaigns and trials on many processes end with the same bytes as on one: under MPI, and as a Slurm
job array.

    scale_test.py Mpi | Slurm

ASSAY and ASSAY_MPI name the programs. Exits with 77 if there is no MPI here.
"""
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
ASSAY = os.environ["ASSAY"]
ASSAY_MPI = os.environ.get("ASSAY_MPI", "")
RESULTS = ["results.json", "results.csv", "results.txt"]

PLAN = {
    "schema": 1, "name": "small", "seed": 3,
    "defaults": {"machine": "ascend910b", "shape": [16, 64, 32], "clean_rows": 2000,
                 "faults": [{"census": 20}]},
    "cells": [{"dtype": ["bfloat16", "float16"], "distribution": ["normal,scale=0.1"],
               "gates": ["rounding_variance", "v_abft"]}],
}
# The options of a small trial.
TRIAL = ["softmax", "--rank", "1-2", "--max-elements", "200"]
EXACT = ["--machine", "exact", "--emulate"]
WRONG = ["--machine", "hopper", "--emulate", "--standard", "bit_equal"]
# A program. Python starts faster without the packages of its installation.
PROGRAM = ["--", sys.executable, "-I", "-S", str(ROOT / "tests/tools/trial_scripts/softmax.py"), "right", "{folder}"]
# A plan that takes long enough to be stopped before its end.
LONG = {**PLAN, "defaults": {**PLAN["defaults"], "shape": [64, 1024, 128], "clean_rows": 20000}}


class Scale(unittest.TestCase):
    def setUp(self):
        self.dir = pathlib.Path(tempfile.mkdtemp(prefix="assay_scale_"))
        self.addCleanup(shutil.rmtree, self.dir)
        self.environment = {k: v for k, v in os.environ.items()
                            if not k.startswith(("SLURM_", "GTEST_"))}

    def write(self, name, plan):
        (self.dir / name).write_text(plan if isinstance(plan, str) else json.dumps(plan))

    def run_here(self, *command, **environment):
        return subprocess.run(command, cwd=self.dir, env={**self.environment, **environment},
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=300)

    def run_well(self, *command, **environment):
        ran = self.run_here(*command, **environment)
        self.assertEqual(ran.returncode, 0, ran.stdout + ran.stderr)
        return ran

    def assert_same_results(self, a, b):
        for name in RESULTS:
            one = (self.dir / a / name).read_bytes()
            self.assertGreater(len(one), 100)
            self.assertEqual(one, (self.dir / b / name).read_bytes(), name)

    def assert_same_trials(self, a, b, but=("command", "seconds")):
        """Compares two results of trials. `but` names what may differ."""
        one, two = (json.loads((self.dir / name).read_text()) for name in (a, b))
        for key in but:
            one.pop(key), two.pop(key)
        self.assertEqual(one, two)
        self.assertEqual(list(one), list(two))


class Mpi(Scale):
    # These options keep Open MPI quiet in containers: it uses no network, and no copies between processes by the
    # kernel.
    MPIRUN = ["mpirun", "-q", "--allow-run-as-root", "--oversubscribe", "--bind-to", "none",
              "--mca", "btl", "self,vader", "--mca", "btl_vader_single_copy_mechanism", "none"]

    def mpi(self, ranks, *arguments, **environment):
        return [*self.MPIRUN, "-n", str(ranks), ASSAY_MPI, *arguments]

    def one(self, plan, folder):
        return self.run_well(ASSAY, "campaign", plan, "--out", folder, "--threads", "1")

    def blocks(self, folder):
        return sorted(p.name for p in (self.dir / folder / "blocks").glob("*.txt"))

    def test_the_bytes_of_one_process(self):
        self.write("plan.json", PLAN)
        alone = self.one("plan.json", "one")
        # An MPI job ignores a shard that the environment sets.
        ran = self.run_well(*self.mpi(4, "campaign", "plan.json", "--out", "four"),
                            SLURM_ARRAY_TASK_ID="1", SLURM_ARRAY_TASK_COUNT="2")
        self.assert_same_results("one", "four")
        self.assertEqual(ran.stdout, alone.stdout)
        # One line says how fast the campaign was, and counts what all ranks computed.
        counted = re.compile(r"^(\d+ matrices and [\d ]+ verdicts) in .* verdicts/s\n$")
        self.assertEqual(counted.match(ran.stderr)[1], counted.match(alone.stderr)[1])
        self.assertEqual(self.blocks("one"), self.blocks("four"))

    def test_threads_and_no_folder(self):
        self.write("plan.json", PLAN)
        self.one("plan.json", "one")
        ran = self.run_well(*self.mpi(3, "campaign", "plan.json", "--threads", "2", "-qq", "--json",
                                      "x.json"))
        self.assertEqual(ran.stdout + ran.stderr, "")
        self.assertEqual((self.dir / "x.json").read_bytes(),
                         (self.dir / "one/results.json").read_bytes())

    def test_a_precision_stops_at_the_same_look(self):
        plan = {**PLAN, "defaults": {**PLAN["defaults"], "precision": {"half_width": 0.3}}}
        self.write("plan.json", plan)
        self.one("plan.json", "one")
        self.run_well(*self.mpi(4, "campaign", "plan.json", "--out", "four"))
        self.assert_same_results("one", "four")
        self.assertEqual(self.blocks("one"), self.blocks("four"))
        matrices = [c["matrices"] for c in
                    json.loads((self.dir / "one/results.json").read_text())["cells"]]
        # All 2000 rows take 125 matrices of 16 rows. The campaign stopped before, when its precision was reached.
        self.assertLess(max(matrices), 125)

    def test_goes_on_after_a_rank_was_killed(self):
        self.write("plan.json", LONG)
        self.one("plan.json", "one")
        job = subprocess.Popen(self.mpi(3, "campaign", "plan.json", "--out", "killed"),
                               cwd=self.dir, env=self.environment, stdin=subprocess.DEVNULL,
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        while len(self.blocks("killed")) < 3 and job.poll() is None:
            time.sleep(0.01)
        children = pathlib.Path(f"/proc/{job.pid}/task/{job.pid}/children").read_text().split()
        self.assertEqual(len(children), 3)
        os.kill(int(children[-1]), signal.SIGKILL)
        self.assertNotEqual(job.wait(timeout=60), 0)
        self.assertLess(len(self.blocks("killed")), len(self.blocks("one")))
        self.assertFalse((self.dir / "killed/results.json").exists())
        self.run_well(*self.mpi(3, "campaign", "plan.json", "--out", "killed", "--resume"))
        self.assert_same_results("one", "killed")

    def test_errors_are_one_line(self):
        self.write("plan.json", PLAN)
        self.write("bad.json", {**PLAN, "cels": []})
        self.one("plan.json", "one")
        for arguments, says in [
                (["bad.json"], r"error: bad\.json: .*'cels'.*"),
                (["none.json"], r"error: none\.json: cannot be read: No such file or directory"),
                (["plan.json", "--resume"], r"error: --resume needs --out DIR"),
                (["plan.json", "--out", "one"], r"error: one: already holds results; .*")]:
            ran = self.run_here(*self.mpi(4, "campaign", *arguments))
            self.assertEqual(ran.returncode, 2)
            self.assertRegex(ran.stderr, f"^{says}\n$")
            self.assertEqual(ran.stdout, "")
        ran = self.run_here(*self.mpi(2, "campaign", "plan.json", "--shard", "1/2"))
        self.assertEqual(ran.returncode, 2)
        self.assertEqual(ran.stderr, "error: unexpected arguments: --shard 1/2\n"
                         "Run with --help for more information.\n")
        help_text = self.run_well(*self.mpi(2, "campaign", "--help")).stdout
        self.assertEqual(help_text.count("Usage: "), 1)

    def test_an_error_on_another_rank_ends_all(self):
        # Rank 1 works in another folder, which does not have the plan's dataset.
        sample = ROOT / "datasets/samples/transformer_gemms.h5"
        shutil.copy(sample, self.dir / "d.h5")
        (self.dir / "elsewhere").mkdir()
        cell = {"dataset": "d.h5", "gates": ["v_abft"], "faults": [{"census": 1}]}
        drawn = {**LONG["defaults"], **LONG["cells"][0]}
        self.write("plan.json", {**LONG, "defaults": {}, "cells": [cell, drawn]})
        ran = self.run_here(*self.mpi(1, "campaign", "plan.json", "--out", "out"), ":",
                            "-n", "1", "-wdir", str(self.dir / "elsewhere"), ASSAY_MPI, "campaign",
                            "plan.json", "--out", "out")
        self.assertEqual(ran.returncode, 2, ran.stdout + ran.stderr)
        self.assertRegex(ran.stderr, r"^error: rank 1 \(.+\): d\.h5: .*\n$")
        self.assertFalse((self.dir / "out/results.json").exists())
        # The part that was finished before the error is kept, so that the campaign can be resumed.
        self.run_well(*self.mpi(2, "campaign", "plan.json", "--out", "out", "--resume"))
        self.one("plan.json", "one")
        self.assert_same_results("one", "out")

    def test_a_rank_that_was_started_otherwise_ends_all(self):
        # The plan is larger than what MPI sends before a receiver is ready, and rank 1 ends without receiving it.
        self.write("plan.json", {**LONG, "about": "x" * 1000000})
        ran = self.run_here(*self.mpi(1, "campaign", "plan.json"), ":", "-n", "1", ASSAY_MPI,
                            "campaign", "plan.json", "--frob")
        self.assertEqual(ran.returncode, 2, ran.stdout + ran.stderr)
        self.assertRegex(ran.stderr, r"^error: rank 1 \(.+\): .* not expected: --frob\n$")

    def trial(self, ranks, *options):
        return self.mpi(ranks, "trial", *TRIAL, *options)

    def test_a_trial_has_the_result_of_one_process(self):
        reports = ["--draws", "40", "--junit", "r.xml", "--html", "r.html", "--json"]
        alone = self.run_well(ASSAY, "trial", *TRIAL, *EXACT, *reports, "one.json")
        xml, html = ((self.dir / name).read_text() for name in ("r.xml", "r.html"))
        # An MPI job ignores a shard that the environment sets.
        ran = self.run_well(*self.trial(3, *EXACT, *reports, "three.json", "--out", "out.json"),
                            SLURM_ARRAY_TASK_ID="1", SLURM_ARRAY_TASK_COUNT="2")
        self.assertEqual(ran.stdout, alone.stdout)
        self.assertEqual(ran.stderr, "")
        self.assert_same_trials("one.json", "three.json")
        self.assert_same_trials("one.json", "out.json")
        times = re.compile(r' time="[^"]*"|>[0-9.e-]+ s<|[^ ]*assay(-mpi)? trial [^<]*')
        self.assertEqual(times.sub("", (self.dir / "r.xml").read_text()), times.sub("", xml))
        self.assertEqual(times.sub("", (self.dir / "r.html").read_text()), times.sub("", html))
        # Rank 0 tries a single input without the others.
        one = self.run_well(ASSAY, "trial", *TRIAL, *EXACT, "--only", "3")
        self.assertEqual(self.run_well(*self.trial(2, *EXACT, "--only", "3")).stdout, one.stdout)

    def test_a_trial_with_a_finding(self):
        wrong = [*WRONG, "--draws", "100"]
        every = [*wrong, "--keep-going"]
        one = self.run_here(ASSAY, "trial", *TRIAL, *every, "--json", "one.json")
        ran = self.run_here(*self.trial(3, *every, "--json", "three.json", "--keep", "kept"))
        self.assertEqual((one.returncode, ran.returncode), (1, 1), ran.stderr)
        self.assertEqual(ran.stdout, one.stdout)
        self.assertEqual(ran.stderr, "note: wrote 2 files to kept\n")
        self.assert_same_trials("one.json", "three.json")
        self.assertEqual(sorted(path.name for path in (self.dir / "kept").iterdir()),
                         ["wrong_result.cc", "wrong_result.h5"])
        # Without --keep-going, all ranks end at the first failure. It is that of one process.
        self.run_here(ASSAY, "trial", *TRIAL, *wrong, "--json", "one.json", "-qq")
        wrong[-1] = "1000000"
        ran = self.run_here(*self.trial(3, *wrong, "--json", "three.json", "-qq"))
        self.assertEqual((ran.returncode, ran.stdout + ran.stderr), (1, ""))
        first, of_three = (json.loads((self.dir / name).read_text())["failures"][0]
                           for name in ("one.json", "three.json"))
        self.assertEqual(first, of_three)

    def test_a_trial_goes_on_after_an_interrupt(self):
        options = [*EXACT, "--out", "out.json"]
        job = subprocess.Popen(self.trial(3, *options, "--draws", "1000000"), cwd=self.dir,
                               env=self.environment, stdin=subprocess.DEVNULL,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        # mpirun itself would end the ranks one second after Ctrl-C. An interrupt of one rank ends all.
        ranks = self.ranks_of(job, 3)
        time.sleep(1)
        os.kill(ranks[1], signal.SIGINT)
        out, error = job.communicate(timeout=60)
        self.assertRegex(out, "^softmax: no failure in ")
        self.assertEqual(error, "note: add --resume out.json to continue on 3 ranks\n")
        part = json.loads((self.dir / "out.json").read_text())
        self.assertEqual(part["was_interrupted"], True)
        draws = max(part["next"]) + 20
        options += ["--draws", str(draws), "--resume", "out.json"]
        ran = self.run_here(*self.trial(2, *options))
        self.assertEqual(ran.returncode, 2)
        self.assertEqual(ran.stderr, "error: the earlier run joins 3 shards that ended at different inputs, so only "
                         "3 ranks of `assay-mpi trial` can continue it\n")
        self.run_well(*self.trial(3, *options))
        self.run_well(ASSAY, "trial", *TRIAL, *EXACT, "--draws", str(draws), "--json", "one.json", "-q")
        self.assert_same_trials("one.json", "out.json")

    def ranks_of(self, job, count):
        """Returns the processes of an MPI job, which has just been started."""
        end = time.monotonic() + 60
        while time.monotonic() < end:
            ranks = pathlib.Path(f"/proc/{job.pid}/task/{job.pid}/children").read_text().split()
            names = [pathlib.Path(f"/proc/{rank}/comm").read_text().strip() for rank in ranks]
            if names == [pathlib.Path(ASSAY_MPI).name] * count:
                return [int(rank) for rank in ranks]
            time.sleep(0.01)
        self.fail(f"{count} ranks did not start")

    def test_a_killed_rank_ends_a_trial(self):
        job = subprocess.Popen(self.trial(3, *EXACT, "--draws", "100000000", "--json", "x.json"), cwd=self.dir,
                               env=self.environment, stdin=subprocess.DEVNULL,
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.kill(self.ranks_of(job, 3)[-1], signal.SIGKILL)
        self.assertNotEqual(job.wait(timeout=60), 0)
        self.assertFalse((self.dir / "x.json").exists())

    def test_errors_of_a_trial_are_one_line(self):
        for options, says in [
                (["trial", *TRIAL, *EXACT, "--resume", "no.json"],
                 r"error: no\.json: cannot be read: No such file or directory"),
                (["trial", *TRIAL, *EXACT, "--shard", "1/2"],
                 r"error: unexpected arguments: --shard 1/2\nRun with --help for more information\.")]:
            ran = self.run_here(*self.mpi(3, *options))
            self.assertEqual(ran.returncode, 2)
            self.assertRegex(ran.stderr, f"^{says}\n$")
            self.assertEqual(ran.stdout, "")
        # Rank 1 works in another folder, which does not have the program.
        shutil.copy("/bin/true", self.dir / "program")
        (self.dir / "elsewhere").mkdir()
        program = ["--", "./program", "{inputs}", "{output}"]
        ran = self.run_here(*self.trial(1, *program), ":", "-n", "1", "-wdir", str(self.dir / "elsewhere"),
                            ASSAY_MPI, "trial", *TRIAL, *program)
        self.assertEqual(ran.returncode, 2, ran.stdout + ran.stderr)
        self.assertRegex(ran.stderr, r"^error: rank 1 \(.+\): \./program: cannot be started: .*\n$")
        self.assertEqual(ran.stdout, "")


class Slurm(Scale):
    SCRIPT = str(ROOT / "examples/slurm/campaign.sbatch")
    TRIAL_SCRIPT = str(ROOT / "examples/slurm/trial.sbatch")

    # Replaces sbatch: it records its options, runs the script as Slurm would, and prints a job's number and cluster.
    SBATCH = """#!/usr/bin/env bash
set -euo pipefail
echo "$*" >>sbatch.txt
array=1-1
while [[ $1 == --* ]]; do
  case $1 in --array=*) array=${1#*=} ;; esac
  shift
done
export SLURM_ARRAY_TASK_MIN=${array%-*} SLURM_ARRAY_TASK_MAX=${array#*-}
export SLURM_ARRAY_TASK_COUNT=$((SLURM_ARRAY_TASK_MAX - SLURM_ARRAY_TASK_MIN + 1))
for ((i = SLURM_ARRAY_TASK_MIN; i <= SLURM_ARRAY_TASK_MAX; ++i)); do
  SLURM_ARRAY_TASK_ID=$i SLURM_CPUS_PER_TASK=1 bash "$@" >>jobs.log 2>&1
done
echo '41;cluster'
"""

    def submit(self, *command):
        (self.dir / "bin").mkdir(exist_ok=True)
        self.write("bin/sbatch", self.SBATCH)
        (self.dir / "bin/sbatch").chmod(0o755)
        return self.run_here("bash", *command, ASSAY=ASSAY,
                             PATH=f"{self.dir}/bin:{os.environ['PATH']}")

    def test_array_and_merge(self):
        self.write("plan.json", PLAN)
        self.run_well(ASSAY, "campaign", "plan.json", "--out", "one", "--threads", "1")
        ran = self.submit(self.SCRIPT, "plan.json", "out", "3")
        self.assertEqual(ran.returncode, 0, ran.stdout + ran.stderr)
        self.assertEqual((self.dir / "sbatch.txt").read_text().splitlines(), [
            f"--parsable --array=1-3 {self.SCRIPT} shard plan.json out 3",
            "--dependency=afterok:41 --kill-on-invalid-dep=yes --cpus-per-task=1 "
            f"{self.SCRIPT} merge plan.json out 3"])
        self.assert_same_results("one", "out")

    def test_a_shard_that_is_missing_is_run_once_more(self):
        self.write("plan.json", PLAN)
        self.run_well(ASSAY, "campaign", "plan.json", "--out", "one", "--threads", "1")

        # `count` is the number of shards in a job array, which is less than 3 if only some shards are run again.
        def shard(i, count):
            self.run_well("bash", self.SCRIPT, "shard", "plan.json", "out", "3", ASSAY=ASSAY,
                          SLURM_ARRAY_TASK_ID=str(i), SLURM_ARRAY_TASK_COUNT=str(count))

        shard(1, 3)
        shard(3, 3)
        merge = ["bash", self.SCRIPT, "merge", "plan.json", "out", "3"]
        self.assertEqual(self.run_here(*merge, ASSAY=ASSAY).returncode, 2)
        shard(2, 1)
        shard(2, 1)  # as if Slurm had requeued the task after its end
        self.run_well(*merge, ASSAY=ASSAY)
        self.assert_same_results("one", "out")

    def test_the_environment_alone(self):
        self.write("plan.json", PLAN)
        self.run_well(ASSAY, "campaign", "plan.json", "--out", "one", "--threads", "1")
        for i in (5, 6):
            self.run_well(ASSAY, "campaign", "plan.json", "--out", f"part{i}",
                          SLURM_ARRAY_TASK_ID=str(i), SLURM_ARRAY_TASK_COUNT="2",
                          SLURM_ARRAY_TASK_MIN="5")
        self.run_well(ASSAY, "merge", "part5", "part6", "--out", "out")
        self.assert_same_results("one", "out")

    def test_usage(self):
        for arguments in [[], ["plan.json", "out"], ["shard", "plan.json", "out", "0"],
                          ["plan.json", "out", "x"]]:
            ran = self.run_here("bash", self.SCRIPT, *arguments)
            self.assertEqual(ran.returncode, 2)
            self.assertEqual(ran.stderr, "usage: campaign.sbatch [shard|merge] PLAN OUT SHARDS\n")

    def test_a_trial(self):
        options = [*TRIAL, "--draws", "20", *EXACT]
        self.run_well(ASSAY, "trial", *options, "--json", "one.json", "-q")
        ran = self.submit(self.TRIAL_SCRIPT, "out", "3", *options)
        self.assertEqual(ran.returncode, 0, ran.stdout + ran.stderr)
        self.assertEqual((self.dir / "sbatch.txt").read_text().splitlines(), [
            f"--parsable --array=1-3 {self.TRIAL_SCRIPT} shard out 3 {' '.join(options)}",
            "--dependency=afterok:41 --kill-on-invalid-dep=yes --cpus-per-task=1 "
            f"{self.TRIAL_SCRIPT} merge out 3"])
        self.assert_same_trials("one.json", "out/result.json")

    def test_a_trial_with_a_finding(self):
        options = [*TRIAL, "--draws", "2", *WRONG]
        ran = self.submit(self.TRIAL_SCRIPT, "out", "2", *options)
        # The shards did their work, and the merge has the exit code of the finding.
        self.assertEqual(len((self.dir / "sbatch.txt").read_text().splitlines()), 2)
        self.assertEqual(ran.returncode, 1, ran.stdout + ran.stderr)
        self.assertEqual(json.loads((self.dir / "out/result.json").read_text())["failures"][0]["finding"],
                         "wrong result")
        # An error ends the array's task, so that nothing is merged.
        ran = self.submit(self.TRIAL_SCRIPT, "bad", "2", "softmax", *EXACT, "--draws", "-1")
        self.assertEqual(ran.returncode, 2)
        self.assertFalse((self.dir / "bad/result.json").exists())

    def test_a_trial_of_a_program(self):
        options = [*TRIAL, "--draws", "2", *PROGRAM]
        self.run_well(ASSAY, "trial", *TRIAL, "--draws", "2", "--json", "one.json", "-q", *PROGRAM)
        ran = self.submit(self.TRIAL_SCRIPT, "out", "2", *options)
        self.assertEqual(ran.returncode, 0, ran.stdout + ran.stderr)
        self.assert_same_trials("one.json", "out/result.json")

    def test_a_trial_that_was_requeued_goes_on(self):
        self.run_well(ASSAY, "trial", *TRIAL, *EXACT, "--draws", "40", "--json", "one.json", "-q")

        def shard(i, draws):
            self.run_well("bash", self.TRIAL_SCRIPT, "shard", "out", "2", *TRIAL, *EXACT, "--draws",
                          str(draws), "--jobs", "1", ASSAY=ASSAY, SLURM_ARRAY_TASK_ID=str(i))

        (self.dir / "out").mkdir()
        shard(1, 40)
        merge = ["bash", self.TRIAL_SCRIPT, "merge", "out", "2"]
        self.assertEqual(self.run_here(*merge, ASSAY=ASSAY).returncode, 2)
        shard(2, 13)  # as if the task had been killed here
        shard(2, 40)
        shard(2, 40)  # as if Slurm had requeued the task after its end
        self.run_well(*merge, ASSAY=ASSAY)
        self.assert_same_trials("one.json", "out/result.json")

    def test_a_trial_in_the_environment_of_an_array(self):
        line = [ASSAY, "trial", *TRIAL, *EXACT, "--draws", "20"]
        self.run_well(*line, "--json", "one.json", "-q")
        for i in (5, 7):
            array = {"SLURM_ARRAY_TASK_ID": str(i), "SLURM_ARRAY_TASK_COUNT": "3",
                     "SLURM_ARRAY_TASK_MIN": "5"}
            ran = self.run_well(*line, "--out", f"{i}.json", **array)
            self.assertEqual(ran.stderr, f"note: this is the part of task {i - 4} of 3 of a Slurm job array; `assay "
                             "trial --merge` joins the parts, and --shard 1/1 tries all inputs\n")
        self.run_well(*line, "--shard", "2/3", "--out", "6.json", **array)
        self.run_well(ASSAY, "trial", "--merge", "5.json", "6.json", "7.json", "--json", "all.json", **array)
        self.assert_same_trials("one.json", "all.json")
        # A pass of a part is never taken for a pass of all inputs.
        ran = self.run_here(*line, **array)
        self.assertEqual(ran.returncode, 2)
        self.assertEqual(ran.stdout, "")
        self.assertEqual(ran.stderr, "error: this is task 3 of 3 of a Slurm job array, which tries only its part of "
                         "the inputs; add --out FILE for `assay trial --merge`, or --shard 1/1 to try all inputs\n")
        self.run_well(*line, "--shard", "1/1", "--json", "whole.json", **array)
        self.assert_same_trials("one.json", "whole.json")
        # One input is not divided.
        self.run_well(*line, "--only", "3", **array)

    def test_usage_of_the_trial(self):
        usage = "usage: trial.sbatch [shard|merge] OUT SHARDS [OP OPTIONS... -- PROGRAM...]\n"
        for arguments, says in [
                ([], usage), (["out", "3"], usage), (["shard", "out", "0", "add"], usage),
                (["out", "x", "add"], usage), (["merge", "out", "3", "add"], usage),
                (["out", "3", "add", "--shard=1/2"],
                 "trial.sbatch: --shard=1/2: this script sets the shards and their files; leave it out\n"),
                (["out", "3", "add", "--html", "x.html"],
                 "trial.sbatch: --html: each shard would write it; give it to `assay trial --merge out/part-*.json` "
                 "instead\n"),
                (["shard", "out", "3", "add", "--only", "3"],
                 "trial.sbatch: --only: this script tries all inputs in shards; leave it out\n")]:
            ran = self.run_here("bash", self.TRIAL_SCRIPT, *arguments)
            self.assertEqual(ran.returncode, 2)
            self.assertEqual(ran.stderr, says)


if __name__ == "__main__":
    if sys.argv[1:2] == ["Mpi"] and not (ASSAY_MPI and shutil.which("mpirun")):
        print("skipped: there is no assay-mpi in this build (MPI was not found, or the preset is without "
              "it), or no mpirun")
        sys.exit(77)
    unittest.main(verbosity=2)
