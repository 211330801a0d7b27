# SPDX-License-Identifier: Apache-2.0
"""gradient_test.py BIN [RANKS]: gradients on 1 to RANKS ranks are those of one process, certificates included."""
import json
import os
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

BIN = Path(sys.argv[1]).resolve()
RANKS = int(sys.argv[2]) if len(sys.argv) > 2 else 4
SCENES = Path(__file__).resolve().parents[2] / "scenes/yaml"
MPIRUN = ["mpirun", "--allow-run-as-root", "--oversubscribe", "--bind-to", "none"]
ENV = dict(os.environ, OMPI_MCA_btl_vader_single_copy_mechanism="none", OMPI_MCA_rmaps_base_oversubscribe="1",
           OMPI_MCA_mpi_yield_when_idle="1")


def grad(ranks, scene, *arguments):
    program = [*MPIRUN, "-n", str(ranks), BIN / "orthant-mpi"] if ranks else [BIN / "orthant"]
    return subprocess.run([str(word) for word in [*program, "grad", scene, *arguments]], env=ENV, text=True,
                          capture_output=True, timeout=300)


class Gradients(unittest.TestCase):
    def report(self, ranks, *arguments):
        with tempfile.TemporaryDirectory() as folder:
            name = Path(folder) / "report.json"
            done = grad(ranks, *arguments, "--json", name)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            return json.loads(name.read_text())["losses"], done.stdout

    def same(self, *arguments):
        alone, _ = self.report(0, *arguments)
        numbers = [row["gradient"] for loss in alone for row in loss["gradient"]]
        self.assertGreater(sum(number != 0 for number in numbers), 3)
        for ranks in range(1, RANKS + 1):
            found, text = self.report(ranks, *arguments)
            for a, b in zip(alone, found, strict=True):
                self.assertEqual([row["name"] for row in a["gradient"]], [row["name"] for row in b["gradient"]])
                largest = max(abs(row["gradient"]) for row in a["gradient"])
                for one, other in zip(a["gradient"], b["gradient"]):
                    self.assertLessEqual(abs(one["gradient"] - other["gradient"]), 1e-12 * largest, one["name"])
            self.assertEqual(found, alone)  # every bit, and what the certificate says
            told = re.search(r"(\d+) ranks: rank 0 walked (\d+) of (\d+) stretches, sent (\d+) messages", text)
            count, mine, stretches, messages = map(int, told.groups())
            self.assertEqual((count, mine), (ranks, -(-stretches // ranks)))
            self.assertEqual(messages > 0, ranks > 1)
        return alone

    def test_friction_and_inputs_at_a_kink(self):
        losses = self.same(SCENES / "dominoes.yaml", "--steps", 60, "--loss", "kinetic", "--loss", "position(tile3).x")
        self.assertTrue(any("side" in row for loss in losses for row in loss["gradient"]))

    def test_located_impacts(self):
        losses = self.same(SCENES / "bounce.yaml", "--steps", 150, "--loss", "energy", "--set", "step.impact_events=true")
        self.assertGreater(losses[0]["certificate"]["impacts"], 0)

    def test_rows_found_on_the_way(self):
        self.same(SCENES / "vortices.yaml", "--steps", 40, "--loss", "kinetic")

    def test_joints_and_controls(self):
        losses = self.same(SCENES / "arm.yaml", "--steps", 50, "--loss", "kinetic")
        self.assertTrue(any(row["name"].startswith("control(") for row in losses[0]["gradient"]))

    def test_what_is_wrong_is_told_once_by_all(self):
        scene = SCENES / "dominoes.yaml"
        for arguments, message in [
                ([scene, "--steps", 30, "--loss", "kinetic", "--set", "step.solver.tolerance=1e-18"], "converge"),
                ([scene, "--loss", "position(nobody).x"], "nobody"),
                (["no_such.yaml", "--loss", "kinetic"], "no_such.yaml"),
                ([scene, "--steps", 9, "--loss", "kinetic", "--json", "/proc/nowhere/report.json"], "/proc/nowhere")]:
            with self.subTest(message=message):
                alone, done = grad(0, *arguments), grad(3, *arguments)
                self.assertEqual((alone.returncode, done.returncode), (2, 2), done.stdout + done.stderr)
                told = [line for line in done.stderr.splitlines() if line.startswith("orthant: ")]
                self.assertEqual(told, alone.stderr.splitlines()[:1])
                self.assertIn(message, told[0])


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], "-v"])
