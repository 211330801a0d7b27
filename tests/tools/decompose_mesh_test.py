# SPDX-License-Identifier: Apache-2.0
"""Meshes are read and pieces written as they should be; with CoACD at hand, an angle is cut in two."""
import importlib.util
import os
import struct
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TOOL = ROOT / "tools/decompose_mesh.py"
spec = importlib.util.spec_from_file_location("decompose_mesh", TOOL)
tool = importlib.util.module_from_spec(spec)
spec.loader.exec_module(tool)

# Stands in for CoACD (and numpy): says what it was given, returns two tetrahedra.
STAND_IN = """
def Mesh(corners, triangles):
    assert len(corners) == 4 and len(triangles) == 4, (corners, triangles)
def run_coacd(mesh, threshold, max_convex_hull):
    assert threshold == 0.1 and max_convex_hull == 7
    faces = [(0, 1, 2), (0, 1, 3), (0, 2, 3), (1, 2, 3)]
    first = [(0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 0.123456789)]
    return [(first, faces), ([(x + 2, y, z) for x, y, z in first], faces)]
"""

CORNERS = [(0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1)]
FACES = [(0, 2, 1), (0, 1, 3), (0, 3, 2), (1, 2, 3)]


def angle_obj():
    """A prism over an L: two boxes of 1 x 1 x 3 and 2 x 1 x 1."""
    outline = [(0, 0), (3, 0), (3, 1), (1, 1), (1, 3), (0, 3)]
    lines = [f"v {x} {y} {z}" for z in (0, 1) for x, y in outline]
    caps = [(1, 2, 3), (1, 3, 4), (1, 4, 5), (1, 5, 6)]
    lines += [f"f {c} {b} {a}" for a, b, c in caps]
    lines += [f"f {a + 6} {b + 6} {c + 6}" for a, b, c in caps]
    for i in range(6):
        j = (i + 1) % 6
        lines.append(f"f {i + 1} {j + 1} {j + 7} {i + 7}")
    return "\n".join(lines)


class Reading(unittest.TestCase):
    def check(self, corners, triangles):
        self.assertEqual(len(corners), 4)
        found = {tuple(sorted(tuple(corners[i]) for i in t)) for t in triangles}
        self.assertEqual(found, {tuple(sorted(CORNERS[i] for i in f)) for f in FACES})

    def test_binary_stl(self):
        data = b" " * 80 + struct.pack("<I", 4)
        for face in FACES:
            data += struct.pack("<12fH", 0, 0, 0, *(x for i in face for x in CORNERS[i]), 0)
        self.check(*tool.read_stl(data))

    def test_text_stl(self):
        lines = ["solid x"]
        for face in FACES:
            lines += ["facet normal 0 0 0", "outer loop"]
            lines += ["vertex %g %g %g" % CORNERS[i] for i in face]
            lines += ["endloop", "endfacet"]
        self.check(*tool.read_stl("\n".join(lines + ["endsolid"]).encode()))

    def test_obj_with_polygons_and_indices_from_the_end(self):
        text = "v 0 0 0\nv 1 0 0\nv 1 1 0\nv 0 1 0\nf -4//1 -3//1 -2//1 -1//1\n"
        corners, triangles = tool.read_obj(text.encode())
        self.assertEqual(len(corners), 4)
        self.assertEqual(triangles, [[0, 1, 2], [0, 2, 3]])


class Command(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def run_tool(self, *args, path=None):
        environment = dict(os.environ, PYTHONPATH=str(path or ""))
        command = [sys.executable, "-B", TOOL, *map(str, args)]
        return subprocess.run(command, capture_output=True, text=True, env=environment)

    def test_pieces_are_objects_of_one_file(self):
        (self.folder / "coacd.py").write_text(STAND_IN)
        (self.folder / "numpy.py").write_text("array = list\n")
        mesh, out = self.folder / "mesh.obj", self.folder / "out.obj"
        faces = "".join("f %d %d %d\n" % tuple(i + 1 for i in f) for f in FACES)
        mesh.write_text("".join("v %g %g %g\n" % c for c in CORNERS) + faces)
        done = self.run_tool(mesh, "-o", out, "--threshold", 0.1, "--most", 7, path=self.folder)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("2 pieces", done.stdout)
        lines = out.read_text().splitlines()
        self.assertEqual([x for x in lines if x.startswith("o ")], ["o piece_0", "o piece_1"])
        self.assertIn("v 2 0 0.123456789", lines)
        used = [int(i) for x in lines if x.startswith("f ") for i in x.split()[1:]]
        self.assertEqual((min(used[:12]), max(used[:12])), (1, 4))
        self.assertEqual((min(used[12:]), max(used[12:])), (5, 8))

    def test_says_what_is_missing(self):
        (self.folder / "coacd.py").write_text("raise ImportError")
        done = self.run_tool("x.stl", "-o", "y.obj", path=self.folder)
        self.assertEqual(done.returncode, 1)
        self.assertIn("pip install coacd", done.stderr)

    @unittest.skipUnless(importlib.util.find_spec("coacd"), "CoACD is not installed")
    def test_an_angle_becomes_convex_pieces(self):
        mesh, out = self.folder / "angle.obj", self.folder / "out.obj"
        mesh.write_text(angle_obj())
        done = self.run_tool(mesh, "-o", out)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertGreaterEqual(out.read_text().count("o piece_"), 2)


if __name__ == "__main__":
    unittest.main()
