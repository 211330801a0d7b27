# SPDX-License-Identifier: Apache-2.0
"""ranks_test.py ORTHANT [RANKS [TEST...]]: runs on 1 to RANKS ranks have the same bits; checkpoints go on with
another number of ranks; what goes wrong is said once. Needs mpirun; more ranks than cores are fine. ORTHANT_KILLS: how many
runs of each kind lose a rank (3)."""
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

ORTHANT = str(Path(sys.argv[1]).resolve())
RANKS = int(sys.argv[2]) if len(sys.argv) > 2 else 4
KILLS = int(os.environ.get("ORTHANT_KILLS", 3))
KILL_SEED = int(os.environ.get("ORTHANT_KILL_SEED", 1))
ROOT = Path(__file__).resolve().parents[2]
CROWDS = ROOT / "bench/crowds"
MPIRUN = ["mpirun", "--allow-run-as-root", "--oversubscribe", "--bind-to", "none"]
ENV = dict(os.environ, OMPI_MCA_btl_vader_single_copy_mechanism="none", OMPI_MCA_rmaps_base_oversubscribe="1",
           OMPI_MCA_mpi_yield_when_idle="1")

CROWD = [str(CROWDS / "crowd.yaml"), "--set", "side=32", "--set", "layers=4", "--steps", "24"]
DRIFT = [str(CROWDS / "drift.yaml"), "--set", "side=24", "--steps", "12"]
# Bodies without overlap (ReLCP): islands in a periodic box, one island on a floor, a colony that divides.
RODS = [str(CROWDS / "rods.yaml"), "--set", "side=6", "--steps", "12"]
MANY_RODS = [str(CROWDS / "rods.yaml"), "--set", "side=13", "--steps", "8"]
PILE = [str(CROWDS / "drift.yaml"), "--set", "step.constraints=relcp", "--set", "step.accuracy=exact",
        "--set", "step.solver.tolerance=1e-7", "--steps", "4"]
COLONY = [str(ROOT / "scenes/yaml/colony.yaml"), "--set", "generations=6", "--steps", "4500"]
BOX = [str(ROOT / "scenes/yaml/spheres_in_a_box.yaml"), "--steps", "60"]


def orthant(ranks, *arguments, timeout=300):
    return subprocess.run([*MPIRUN, "-n", str(ranks), ORTHANT, *arguments], env=ENV, text=True, capture_output=True,
                          timeout=timeout)


def run(ranks, *arguments):
    return orthant(ranks, "run", *arguments)


def report(folder):
    return json.loads((Path(folder) / "report.json").read_text())


class Ranks(unittest.TestCase):
    def setUp(self):
        self.folder = Path(tempfile.mkdtemp(prefix="orthant_mpi_"))

    def tearDown(self):
        shutil.rmtree(self.folder)

    def hashes(self, scene, counts, parts=True):
        found = {}
        for n in counts:
            out = self.folder / f"r{n}"
            done = run(n, *scene, "-o", str(out))
            self.assertIn(done.returncode, (0, 1), done.stdout + done.stderr)
            found[n] = report(out)["state_hash"]
            if n > 1 and not parts:
                self.assertGreater(float(re.search(r"neighbours and \S+ \((\S+) kB\) to all", done.stdout)[1]), 0)
            elif n > 1:  # most of the steps were really shared out
                shared, steps = map(int, re.search(r"(\d+) of (\d+) steps shared out", done.stdout).groups())
                self.assertGreater(shared, steps // 2, done.stdout)
        return found

    def same(self, scene, parts=True):
        alone = self.folder / "alone"  # without a launcher
        done = subprocess.run([ORTHANT, "run", *scene, "-o", str(alone)], text=True, capture_output=True)
        self.assertIn(done.returncode, (0, 1), done.stderr)
        found = self.hashes(scene, range(1, RANKS + 1), parts)
        self.assertEqual(set(found.values()), {report(alone)["state_hash"]}, found)
        for n in found:
            for name in ("deepest", "worst_residual", "mean_contacts", "iterations"):
                self.assertEqual(report(self.folder / f"r{n}")[name], report(alone)[name], (n, name))

    def test_frictional_crowd(self):
        self.same(CROWD)

    def test_frictional_crowd_to_its_tolerance(self):
        self.same([*CROWD[:-1], "8", "--set", "step.accuracy=standard"])

    def test_overdamped_rods_without_friction(self):
        self.same(DRIFT)

    def test_rods_in_a_periodic_box_without_overlap(self):
        self.same(RODS, parts=False)
        self.assertLessEqual(report(self.folder / "r3")["deepest"], 1.0001e-5)

    def test_many_rods_are_cut_into_parts(self):
        self.same(MANY_RODS, parts=False)
        for n in range(2, RANKS + 1):
            done = run(n, *MANY_RODS, "--overwrite", "-o", str(self.folder / f"r{n}"))
            steps, parted, imbalance = re.search(r"each of (\d+) steps; (\d+) of them in parts, imbalance (\S+) %",
                                                 done.stdout).groups()
            self.assertGreater(int(parted), int(steps) // 2, done.stdout)
            self.assertLess(float(imbalance), 10)

    def test_one_large_island_without_overlap(self):
        self.same(PILE, parts=False)
        self.assertGreater(report(self.folder / "r2")["mean_constraints"], 4096)  # iterations made together

    def test_a_colony_that_grows_and_divides(self):
        self.same(COLONY, parts=False)
        self.assertEqual(report(self.folder / "r1")["bodies"], 64)

    def test_steps_whose_contacts_are_recorded(self):
        # A record is made of all contacts of a step, which then takes another path: on all ranks alike.
        self.same(BOX, parts=False)

    def test_experiments_have_the_state_of_one_process(self):
        for name, size, counts in (("rods", "600", (0, 1, 2, 3, 4)), ("colony", "32", (0, 2)),
                                   ("compaction", "40", (0, 3))):
            found = {}
            for n in counts:
                out = self.folder / f"{name}{n}"
                arguments = ["reproduce", name, "--quick", "--size", size, "-o", str(out)]
                done = orthant(n, *arguments) if n > 0 else subprocess.run([ORTHANT, *arguments], text=True,
                                                                          capture_output=True)
                self.assertIn(done.returncode, (0, 1), done.stdout + done.stderr)
                self.assertEqual(done.stdout.count("checks hold"), 1, done.stdout)  # said by one rank
                found[n] = self.trace_of(done.stdout, out / name)
            self.assertEqual(len(set(found.values())), 1, (name, found))

    def trace_of(self, text, folder):
        """The state that an experiment ends in: rods print its hash, a colony and a compaction leave where the
        bodies are."""
        found = re.findall(r"\b[0-9a-f]{16}\b", text)
        for name in ("colony.csv", "compaction_packed.csv"):
            if (folder / name).exists():
                found.append((folder / name).read_text())
        self.assertEqual(len(found), 1, text)
        return found[0]

    def test_fast_sums_are_as_good(self):
        folders = [self.folder / "plain", self.folder / "fast"]
        self.assertIn(run(3, *PILE, "-o", str(folders[0])).returncode, (0, 1))
        self.assertIn(run(3, *PILE, "--fast-sums", "-o", str(folders[1])).returncode, (0, 1))
        plain, fast = map(report, folders)
        self.assertEqual(plain["ranks"]["sums"], "in order")
        self.assertEqual(fast["ranks"]["sums"], "fast: they depend on the ranks")
        self.assertEqual(fast["failed_steps"], plain["failed_steps"])
        self.assertLessEqual(fast["worst_residual"], 1e-7)
        self.assertAlmostEqual(fast["mean_constraints"] / plain["mean_constraints"], 1, delta=0.01)
        self.assertAlmostEqual(fast["mean_contacts"] / plain["mean_contacts"], 1, delta=0.01)
        self.assertLess(fast["deepest"], 1e-5 * 0.03 + 1e-12)

    def test_a_checkpoint_goes_on_with_another_number_of_ranks(self):
        for name, scene, steps in (("crowd", CROWD, (9, 17, 24)), ("rods", RODS, (4, 9, 12))):
            whole, cut = self.folder / f"{name}_whole", self.folder / f"{name}_cut"
            self.assertIn(run(2, *scene, "-o", str(whole)).returncode, (0, 1))
            begun = [*scene[:-1], str(steps[0])]
            self.assertIn(run(3, *begun, "-o", str(cut)).returncode, (0, 1))
            self.assertIn(run(2, "--resume", "--steps", str(steps[1]), "-o", str(cut)).returncode, (0, 1))
            self.assertIn(run(4, "--resume", "--steps", str(steps[2]), "-o", str(cut)).returncode, (0, 1))
            self.assertEqual(report(cut)["state_hash"], report(whole)["state_hash"], name)

    def test_killed_ranks_of_a_crowd_lose_nothing_before_the_checkpoint(self):
        self.kill_ranks(CROWD, "40")

    def test_killed_ranks_of_rods_lose_nothing_before_the_checkpoint(self):
        self.kill_ranks(RODS, "60")

    def test_killed_ranks_of_rods_in_parts_lose_nothing_before_the_checkpoint(self):
        self.kill_ranks(MANY_RODS, "30")

    def kill_ranks(self, scene, steps):
        scene = [*scene[:-1], steps, "--set", "record.checkpoint_every=5"]
        dice = random.Random(KILL_SEED)
        whole = self.folder / "whole"
        begun = time.time()
        self.assertIn(run(2, *scene, "-o", str(whole)).returncode, (0, 1))
        duration = time.time() - begun
        expected = report(whole)["state_hash"]
        killed = resumed = 0
        for attempt in range(4 * KILLS):
            if killed == KILLS:
                break
            cut = self.folder / f"cut{attempt}"
            ranks, delay = dice.randint(2, RANKS), duration * dice.uniform(0.1, 1.0)
            with self.subTest(seed=KILL_SEED, attempt=attempt, ranks=ranks, delay=delay):
                job = subprocess.Popen([*MPIRUN, "-n", str(ranks), ORTHANT, "run", *scene, "-o", str(cut)], env=ENV,
                                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
                time.sleep(delay)
                alive = subprocess.run(["ps", "-o", "pid=", "--ppid", str(job.pid)], text=True,
                                       capture_output=True).stdout.split()
                if not alive:  # not begun yet, or over
                    job.wait(timeout=120)
                    continue
                try:
                    os.kill(int(dice.choice(alive)), signal.SIGKILL)
                except ProcessLookupError:
                    pass
                if job.wait(timeout=120) == 0:
                    continue  # it was over
                killed += 1
                saved = (cut / "checkpoint.h5").exists()
                step = report(cut)["step"] if saved else 0
                again = ["--resume", "--steps", steps] if saved else [*scene, "--overwrite"]
                done = run(dice.randint(1, RANKS), *again, "-o", str(cut))
                self.assertIn(done.returncode, (0, 1), done.stderr)
                self.assertEqual(report(cut)["state_hash"], expected)
                resumed += step > 0
                shutil.rmtree(cut)
        self.assertEqual(killed, KILLS, "runs were over before ranks could be killed")
        if KILLS >= 10:
            self.assertGreater(resumed, KILLS // 4)  # else nothing of checkpoints was tried

    def test_errors_reach_the_user_once(self):
        wrong = [
            (["no_such.yaml", "-o", str(self.folder / "x")], "no_such.yaml"),
            ([*CROWD, "--set", "nonsense=1", "-o", str(self.folder / "x")], "nonsense"),
            ([*CROWD, "-o", "/proc/nowhere/run"], "cannot be written"),
            ([*RODS, "-o", "/proc/nowhere/run"], "cannot be written"),
            (CROWD, "expected a folder"),
        ]
        for arguments, message in wrong:
            with self.subTest(message=message):
                done = run(3, *arguments)
                self.assertNotEqual(done.returncode, 0)
                told = [line for line in done.stderr.splitlines() if line.startswith("orthant: ")]
                self.assertEqual(len(told), 1, done.stderr)
                self.assertIn(message, told[0])
        self.assertFalse((self.folder / "x" / "checkpoint.h5").exists())

    def test_what_the_first_rank_cannot_write_ends_an_experiment_on_all(self):
        (self.folder / "index.html").mkdir()
        done = orthant(2, "reproduce", "capsules", "--quick", "-o", str(self.folder), timeout=60)
        self.assertNotEqual(done.returncode, 0)
        self.assertRegex(done.stderr, r"(?m)^orthant: .*index\.html.* \(rank 0\)$")

    def test_a_step_is_explained_once(self):
        done = run(3, *RODS[:-2], "--explain", "2")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stdout.count("step 2, t = "), 1, done.stdout)

    def test_a_misspelt_experiment_is_told_once(self):
        for ranks in (1, 2):
            done = orthant(ranks, "reproduce", "capsule", timeout=60)
            self.assertNotEqual(done.returncode, 0)
            self.assertEqual(done.stderr.count("did you mean capsules?"), 1, done.stderr)

    def test_more_ranks_than_cells(self):
        few = [str(CROWDS / "crowd.yaml"), "--set", "side=5", "--set", "layers=3", "--steps", "4"]
        for name, scene in (("few", few), ("two", [str(CROWDS / "rods.yaml"), "--set", "side=2", "--steps", "4"])):
            found = {}
            for n in (1, 3):
                out = self.folder / f"{name}{n}"
                done = run(n, *scene, "-o", str(out))
                self.assertIn(done.returncode, (0, 1), done.stderr)
                found[n] = report(out)["state_hash"]
            self.assertEqual(found[1], found[3])


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], "-v", *sys.argv[3:]])
