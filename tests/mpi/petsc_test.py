# SPDX-License-Identifier: Apache-2.0
"""petsc_test.py BIN LIBRARY [RANKS]: our Tao type in programs of PETSc, and orthant-petsc, on 1 to RANKS ranks."""
import csv
import os
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

BIN, LIBRARY = Path(sys.argv[1]).resolve(), str(Path(sys.argv[2]).resolve())
RANKS = int(sys.argv[3]) if len(sys.argv) > 3 else 4
ROOT = Path(__file__).resolve().parents[2]
DATA = ROOT / "tests/data"
MPIRUN = ["mpirun", "--allow-run-as-root", "--oversubscribe", "--bind-to", "none"]
ENV = dict(os.environ, OMPI_MCA_btl_vader_single_copy_mechanism="none", OMPI_MCA_rmaps_base_oversubscribe="1",
           OMPI_MCA_mpi_yield_when_idle="1")


def run(ranks, program, *arguments):
    return subprocess.run([*MPIRUN, "-n", str(ranks), str(BIN / program), *map(str, arguments)], env=ENV, text=True,
                          capture_output=True, timeout=300)


class TaoType(unittest.TestCase):
    """In a program that knows nothing of it."""

    def obstacle(self, ranks, *arguments, code=0):
        done = run(ranks, "example_petsc_obstacle", "-dll_append", LIBRARY, *arguments)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        found = re.search(r"^(\w+) on (\d+) ranks: (\w+) after (\d+) iterations, gradient \S+, objective (\S+), "
                          r"sum (\S+), error (\S+)$", done.stdout, re.M)
        self.assertIsNotNone(found, done.stdout + done.stderr)
        self.assertEqual(found[2], str(ranks))
        return found[1], found[3], int(found[4]), *map(float, found.group(5, 6, 7))

    def test_obstacle_has_the_exact_solution(self):
        errors = []
        for ranks in range(1, RANKS + 1):
            kind, outcome, _, _, _, error = self.obstacle(ranks, "-tao_type", "orthant")
            self.assertEqual((kind, outcome), ("orthant", "CONVERGED_GATOL"))
            errors.append(error)
        self.assertLess(max(errors), 1e-3)
        self.assertLess(max(errors) - min(errors), 1e-7)
        fine = self.obstacle(2, "-tao_type", "orthant", "-da_grid_x", 127, "-da_grid_y", 127)
        self.assertLess(fine[-1], 0.4 * errors[0])  # the square of the mesh width, but for where it lifts off

    def test_both_bounds_hold_as_other_types_find(self):
        pressed = ["-load", 3, "-ceiling", 1.1, "-tao_gatol", 1e-10]
        _, _, _, objective, total, _ = self.obstacle(1, "-tao_type", "tron", *pressed)
        free = self.obstacle(1, "-tao_type", "orthant", "-load", 3)
        self.assertGreater(objective - free[3], 1)  # the ceiling matters
        for ranks in range(1, RANKS + 1):
            found = self.obstacle(ranks, "-tao_type", "orthant", *pressed)
            self.assertAlmostEqual(found[3] / objective, 1, delta=1e-12)
            self.assertAlmostEqual(found[4] / total, 1, delta=1e-7)

    def test_options_and_log(self):
        done = self.obstacle(2, "-tao_type", "orthant", "-tao_max_it", 7, code=1)
        self.assertEqual(done[1:3], ("DIVERGED_MAXITS", 7))
        loose, tight = (self.obstacle(2, "-tao_type", "orthant", "-tao_gatol", t)[2] for t in (1e-3, 1e-10))
        self.assertLess(loose, tight)
        text = run(2, "example_petsc_obstacle", "-dll_append", LIBRARY, "-tao_type", "orthant", "-tao_view", "-log_view",
                   "-tao_orthant_release", "500", "-load", "3", "-ceiling", "1.1").stdout
        self.assertIn("release 500.", text)
        iterations = int(re.search(r"after (\d+) iterations", text)[1])
        events = {name: int(count) for name, count in re.findall(r"^(TaoOrthant\w+) +(\d+)", text, re.M)}
        self.assertEqual(events["TaoOrthantPrec"], iterations)
        self.assertGreater(events["TaoOrthantProj"], 0)
        self.assertGreater(events["TaoOrthantLook"], iterations // 50)
        wrong = run(1, "example_petsc_obstacle", "-dll_append", LIBRARY, "-tao_type", "orthant", "-tao_orthant_refresh", 0)
        self.assertNotEqual(wrong.returncode, 0)
        self.assertIn("-tao_orthant_refresh must be positive", wrong.stderr)

    def box(self, ranks, *arguments):
        done = run(ranks, "box_problems", *arguments)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        words = done.stdout.split()
        return words[1], {words[i]: float(words[i + 1]) for i in range(2, len(words), 2)}

    def test_minimum_of_nearly_parallel_rows_in_bounds_of_all_kinds(self):
        for block in (1, 2, 8, 11, 0):
            sums = set()
            for ranks in range(1, RANKS + 1):
                outcome, found = self.box(ranks, "-block", block)
                self.assertEqual(outcome, "CONVERGED_GATOL")
                self.assertLess(found["missed"], 1e-8, (block, ranks))
                self.assertGreater(min(found["low"], found["free"], found["high"]), 0)
                sums.add(round(found["sum"], 6))
            self.assertEqual(len(sums), 1, sums)

    def test_steps_in_the_metric_of_blocks_pay(self):
        with_blocks, without = (self.box(2, "-block", 8, "-tao_orthant_blocks", b)[1]["iterations"] for b in (1, 0))
        self.assertLess(10 * with_blocks, without)

    def test_an_objective_that_is_not_quadratic_is_refused(self):
        done = run(2, "box_problems", "-block", 3, "-quartic", 1)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("Tao type orthant is for quadratic objectives", done.stderr)


class Command(unittest.TestCase):
    """orthant-petsc"""

    def table(self, ranks, *arguments):
        with tempfile.TemporaryDirectory() as folder:
            name = Path(folder) / "table.csv"
            done = run(ranks, "orthant-petsc", *arguments, "-csv", name)
            return done, list(csv.DictReader(name.read_text().splitlines())) if name.exists() else []

    def test_one_judge_accepts_every_answer(self):
        files = [DATA / "lcp/lcp_mmc.dat", DATA / "fclib/BoxesStack1-i100000-32.hdf5.dat",
                 DATA / "fclib/LMGC_100_PR_PerioBox-i00361-60-03000.hdf5", DATA / "fclib/FrictionContactProblem00071.dat"]
        for ranks in range(1, RANKS + 1):
            done, rows = self.table(ranks, *files, "-frictionless", "-engines", "ours,bntr,orthant")
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            self.assertEqual([row["engine"] for row in rows], ["ours", "tao bntr", "tao orthant"] * len(files))
            for row in rows:
                self.assertLessEqual(float(row["residual"]), 1e-8, row)

    def test_an_answer_that_misses_its_tolerance_is_told(self):
        done, rows = self.table(2, DATA / "lcp/lcp_mmc.dat", "-engines", "orthant", "-tao_max_it", "3")
        self.assertEqual(done.returncode, 1)
        self.assertEqual((rows[0]["outcome"], rows[0]["iterations"]), ("DIVERGED_MAXITS", "3"))
        self.assertGreater(float(rows[0]["residual"]), 1e-8)

    def test_bad_input_is_told_once(self):
        for arguments, message in [
                ([DATA / "fclib/Rover1039.dat"], "has friction"),
                ([DATA / "lcp/lcp_ortiz.dat"], "unsymmetric"),
                (["no_such.dat"], "no_such.dat"),
                (["-engines", "ours"], "expected problem files"),
                ([DATA / "lcp/lcp_mmc.dat", "-engines", "ours,simplex"], "unknown engine 'simplex'"),
                ([DATA / "lcp/lcp_mmc.dat", "-engines", ""], "expected one engine at least"),
                ([DATA / "lcp/lcp_mmc.dat", "-tolerance", "0"], "-tolerance: expected a positive number"),
                ([DATA / "lcp/lcp_mmc.dat", "-tolerance", "-1e-8"], "-tolerance: expected a positive number"),
                ([DATA / "lcp/lcp_mmc.dat", "-csv", "/proc/nowhere/table.csv"], "cannot be written")]:
            with self.subTest(message=message):
                done = run(3, "orthant-petsc", *arguments)
                self.assertEqual(done.returncode, 2, done.stdout + done.stderr)
                told = [line for line in done.stderr.splitlines() if line.startswith("orthant-petsc: ")]
                self.assertEqual(len(told), 1, done.stderr)
                self.assertIn(message, told[0])


class Configuration(unittest.TestCase):
    def test_a_missing_petsc_is_said_in_one_message(self):
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / "CMakeLists.txt").write_text(
                "cmake_minimum_required(VERSION 3.25)\nproject(p LANGUAGES NONE)\n"
                "set(CMAKE_FIND_USE_SYSTEM_ENVIRONMENT_PATH OFF)\nset(CMAKE_FIND_USE_CMAKE_SYSTEM_PATH OFF)\n"
                f"include({ROOT}/cmake/Petsc.cmake)\n")
            env = {name: value for name, value in os.environ.items() if not name.startswith("PETSC")}
            done = subprocess.run(["cmake", "-G", "Ninja", "-S", folder, "-B", folder + "/build"], text=True,
                                  capture_output=True, env=env)
            self.assertNotEqual(done.returncode, 0)
            self.assertIn("apt-get install petsc-dev", done.stderr)
            self.assertEqual(done.stderr.count("CMake Error"), 1, done.stderr)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], "-v"])
