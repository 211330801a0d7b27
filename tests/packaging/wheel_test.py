# SPDX-License-Identifier: Apache-2.0
"""wheel_test.py [WHEEL]: builds the wheel (or takes one), installs it into an empty folder and uses it
there: every library it loads is its own or of any Linux with Python. The command `orthant` comes along."""
import os
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PYTHON = ROOT / ".venv/bin/python"
GIVEN = sys.argv[1:2]
USE = """
import re, sys
import numpy as np
import orthant as ot
assert abs(ot.solve_lcp(np.eye(2), [-1.0, 2.0]).z - [1, 0]).max() < 1e-12
path = sys.argv[1]
ot.save_problem(path, ot.make_lcp(np.eye(2), [1.0, 2.0]))  # HDF5
assert ot.read_problem(path).row_count == 2
b = ot.ModelBuilder()
b.add_body("floor", motion=ot.Motion.Fixed, shapes=[ot.Shape.half_space()])
b.add_body("cube", position=(0, 0, 0.6), shapes=[ot.Shape.box(0.5, 0.5, 0.5)])
run = ot.Simulator(b.build()).rollout(50)
assert abs(run.of("cube", "z")[-1] - 0.5) < 1e-9
assert "orthant-run" in run.show().html
print("\\n".join(sorted(set(re.findall(r"(/\\S+\\.so\\S*)", open("/proc/self/maps").read())))))
"""


def run(*command, **more):
    done = subprocess.run([str(part) for part in command], text=True, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, **more)
    if done.returncode != 0:
        raise AssertionError(f"{command} gave {done.returncode}:\n{done.stdout}")
    return done.stdout


class Wheel(unittest.TestCase):
    def test_runs_without_the_build_tree(self):
        with tempfile.TemporaryDirectory() as folder:
            wheel, place = Path(folder) / "wheel", Path(folder) / "place"
            if not GIVEN:
                run(ROOT / "tools/build_wheel.sh", wheel)
            file = Path(GIVEN[0]).resolve() if GIVEN else next(wheel.glob("*.whl"))
            self.assertRegex(file.name, r"manylinux_2_\d+_x86_64\.whl$")
            run(PYTHON, "-m", "pip", "install", "-q", "--disable-pip-version-check", "--no-deps",
                "--target", place, file)
            clean = {name: value for name, value in os.environ.items()
                     if name not in ("LD_LIBRARY_PATH", "PYTHONPATH")}
            loaded = run(PYTHON, "-c", USE, Path(folder) / "p.hdf5", cwd=folder,
                         env={**clean, "PYTHONPATH": str(place)}).split()
            ours = [path for path in loaded if str(place) in path]
            self.assertTrue(any("libhdf5" in path for path in ours))
            for path in loaded:
                if re.search(r"lib(orthant|tbb|hdf5|metis|klu|qhull|curl)", path):
                    self.assertIn(str(place), path)
            command = place / "bin/orthant"  # the entry point, which needs the environment's paths
            there = {**clean, "PYTHONPATH": str(place)}
            self.assertRegex(run(command, "--version", env=there), r"\d+\.\d+\.\d+")
            run(command, "new", "heap", cwd=folder, env=there)
            run(command, "run", "heap.yaml", "-o", "out", "--quiet", cwd=folder, env=there)
            self.assertTrue(any((Path(folder) / "out").iterdir()))
            libraries = run("ldd", place / "orthant_command/orthant", env=clean)
            self.assertNotIn("not found", libraries)
            for path in re.findall(r"=> (/\S*lib(?:tbb|hdf5|metis|klu|qhull|fmt|yaml)\S*)", libraries):
                self.assertIn("orthant.libs", path)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
