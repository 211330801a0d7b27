# SPDX-License-Identifier: Apache-2.0
"""ranks_test.py ORTHANT [RANKS]: runs on 1 to RANKS ranks have the same bits; checkpoints go on with another
number of ranks; what goes wrong is said once. Needs mpirun; more ranks than cores are fine. ORTHANT_KILLS: how many
runs lose a rank (3)."""
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
CROWDS = Path(__file__).resolve().parents[2] / "bench/crowds"
MPIRUN = ["mpirun", "--allow-run-as-root", "--oversubscribe", "--bind-to", "none"]
ENV = dict(os.environ, OMPI_MCA_btl_vader_single_copy_mechanism="none", OMPI_MCA_rmaps_base_oversubscribe="1",
           OMPI_MCA_mpi_yield_when_idle="1")

CROWD = [str(CROWDS / "crowd.yaml"), "--set", "side=32", "--set", "layers=4", "--steps", "24"]
DRIFT = [str(CROWDS / "drift.yaml"), "--set", "side=24", "--steps", "12"]


def run(ranks, *arguments):
    return subprocess.run([*MPIRUN, "-n", str(ranks), ORTHANT, "run", *arguments], env=ENV, text=True,
                          capture_output=True, timeout=300)


def report(folder):
    return json.loads((Path(folder) / "report.json").read_text())


class Ranks(unittest.TestCase):
    def setUp(self):
        self.folder = Path(tempfile.mkdtemp(prefix="orthant_mpi_"))

    def tearDown(self):
        shutil.rmtree(self.folder)

    def hashes(self, scene, counts):
        found = {}
        for n in counts:
            out = self.folder / f"r{n}"
            done = run(n, *scene, "-o", str(out))
            self.assertIn(done.returncode, (0, 1), done.stdout + done.stderr)
            found[n] = report(out)["state_hash"]
            if n > 1:  # most of the steps were really shared out
                shared, steps = map(int, re.search(r"(\d+) of (\d+) steps shared out", done.stdout).groups())
                self.assertGreater(shared, steps // 2, done.stdout)
        return found

    def same(self, scene):
        alone = self.folder / "alone"  # without a launcher
        done = subprocess.run([ORTHANT, "run", *scene, "-o", str(alone)], text=True, capture_output=True)
        self.assertIn(done.returncode, (0, 1), done.stderr)
        found = self.hashes(scene, range(1, RANKS + 1))
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

    def test_a_checkpoint_goes_on_with_another_number_of_ranks(self):
        whole = self.folder / "whole"
        self.assertIn(run(2, *CROWD, "-o", str(whole)).returncode, (0, 1))
        cut = self.folder / "cut"
        scene = CROWD[:-2]
        self.assertIn(run(3, *scene, "--steps", "9", "-o", str(cut)).returncode, (0, 1))
        self.assertIn(run(2, "--resume", "--steps", "17", "-o", str(cut)).returncode, (0, 1))
        self.assertIn(run(4, "--resume", "--steps", "24", "-o", str(cut)).returncode, (0, 1))
        self.assertEqual(report(cut)["state_hash"], report(whole)["state_hash"])

    def test_killed_ranks_end_the_run_and_nothing_before_the_checkpoint_is_lost(self):
        dice = random.Random(KILL_SEED)
        scene = [*CROWD[:-1], "40", "--set", "record.checkpoint_every=5"]
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
                again = ["--resume"] if saved else [*scene, "--overwrite"]
                done = run(dice.randint(1, RANKS), *again, "-o", str(cut), "--steps", "40")
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
            ([*CROWD, "--set", "step.accuracy=exact", "-o", str(self.folder / "x")], "accuracy exact"),
            ([*CROWD, "-o", "/proc/nowhere/run"], "cannot be written"),
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

    def test_more_ranks_than_cells(self):
        scene = [str(CROWDS / "crowd.yaml"), "--set", "side=5", "--set", "layers=3", "--steps", "4"]
        found = {}
        for n in (1, 3):
            out = self.folder / f"few{n}"
            self.assertIn(run(n, *scene, "-o", str(out)).returncode, (0, 1))
            found[n] = report(out)["state_hash"]
        self.assertEqual(found[1], found[3])


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], "-v"])
