# SPDX-License-Identifier: Apache-2.0
"""docs_test.py ORTHANT: the commands of the tutorial, the gallery, the recipes and docs/command.md run as printed.

A block ```yaml that begins with "# name.yaml" is that file; the blocks ```sh of a page are run in order, in one
folder. Pictures that a page shows must exist.
"""
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ORTHANT = Path(sys.argv[1]).resolve()
ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted((ROOT / "docs/tutorial").glob("*.md"))


def run(line: str, folder: str) -> None:
    done = subprocess.run(["bash", "-euc", line], cwd=folder, text=True, capture_output=True, timeout=300,
                          env={"PATH": f"{ORTHANT.parent}:/usr/bin:/bin", "HOME": folder})
    if done.returncode != 0:
        raise AssertionError(f"{line}\ngave {done.returncode}:\n{done.stdout}{done.stderr}")


class Docs(unittest.TestCase):
    def test_tutorial_runs(self):
        self.assertEqual(len(PAGES), 5)
        for page in [*PAGES, ROOT / "docs/gallery.md"]:
            with self.subTest(page=page.name), tempfile.TemporaryDirectory() as folder:
                commands = 0
                for kind, text in re.findall(r"^```(yaml|sh)\n(.*?)^```", page.read_text(encoding="utf-8"), re.S | re.M):
                    if kind == "yaml":
                        name = re.match(r"# (\S+\.yaml)\n", text)
                        self.assertIsNotNone(name, "a scene without the name of its file")
                        (Path(folder) / name[1]).write_text(text, encoding="utf-8")
                    else:
                        run(text.replace("SCENES/", f"{ROOT}/scenes/yaml/"), folder)
                        commands += 1
                self.assertGreater(commands, 0)

    def test_every_chapter_ends_with_a_picture(self):
        for page in PAGES:
            with self.subTest(page=page.name):
                last = page.read_text(encoding="utf-8").split("## ")[-1]
                picture = re.search(r"!\[[^\]]+\]\(([^)]+)\)", last)
                self.assertIsNotNone(picture)
                self.assertTrue((page.parent / picture[1]).exists())

    def test_recipes_run(self):
        """In order, in one folder with the files they name. `fit` runs in the tutorial, `validate` in tests of its own."""
        text = (ROOT / "docs/howto.md").read_text(encoding="utf-8").split("## Troubleshooting")[0]
        lines = [line for line in re.findall(r"`(orthant [^`]*)`", text)
                 if not line.startswith(("orthant fit", "orthant validate"))]
        self.assertGreater(len(lines), 12)
        with tempfile.TemporaryDirectory() as folder:
            for source, name in (("scenes/yaml/incline.yaml", "slope.yaml"), ("tests/data/fclib/CubeH8.hdf5", "problem.hdf5"),
                                 ("tests/data/fclib/FC3D_Example1_SBM.dat", "stack.dat")):
                shutil.copy(ROOT / source, Path(folder, name))
            for line in lines:
                with self.subTest(line=line):
                    if line.startswith("orthant run heap.yaml -o run"):  # each recipe begins a run
                        shutil.rmtree(Path(folder, "run"), ignore_errors=True)
                    run(line.replace("--time 20", "--time 0.15"), folder)
                    if line == "orthant new heap":  # the lines matter here, not the length of the runs
                        scene = Path(folder, "heap.yaml")
                        short, count = re.subn(r"^run:\n  time: \S+", "run:\n  time: 0.1", scene.read_text(), flags=re.M)
                        self.assertEqual(count, 1)
                        scene.write_text(short)

    def test_commands_of_the_reference_run(self):
        """Lines of docs/command.md that are complete: they name a scene of the source tree."""
        text = (ROOT / "docs/command.md").read_text(encoding="utf-8")
        lines = re.findall(r"^    (orthant .*scenes/yaml/.*)$", text, re.M)
        self.assertGreater(len(lines), 0)
        for line in lines:
            with self.subTest(line=line), tempfile.TemporaryDirectory() as folder:
                run(line.replace("scenes/yaml/", f"{ROOT}/scenes/yaml/"), folder)

    def test_the_options_are_those_of_the_command(self):
        """Every option of --help is in the docs; every option of a section of docs/command.md is in --help."""
        def help_of(*command):
            done = subprocess.run([ORTHANT, *command, "--help"], text=True, capture_output=True, check=True)
            return set(re.findall(r"--[a-z][a-z-]*", done.stdout)) - {"--help", "--help-all", "--output"}

        docs = "".join(page.read_text(encoding="utf-8") for page in (ROOT / "docs").rglob("*.md"))
        written = set(re.findall(r"--[a-z][a-z-]*", docs))
        sections = dict(re.findall(r"^## (\w+)\n(.*?)(?=^## |\Z)", (ROOT / "docs/command.md").read_text(encoding="utf-8"), re.M | re.S))
        listed = subprocess.run([ORTHANT, "--help"], text=True, capture_output=True, check=True).stdout
        commands = re.findall(r"^  (\w+)  ", listed.split("Subcommands:")[1].split("Examples:")[0], re.M)
        self.assertGreater(len(commands), 10)
        for command in commands:
            options = help_of(command)
            with self.subTest(command=command):
                self.assertEqual(options - written, set(), "not in docs")
                self.assertEqual(set(re.findall(r"--[a-z][a-z-]*", sections.get(command, ""))) - options - {"--help"}, set(),
                                 "not of this command")
        wrong = subprocess.run([ORTHANT, "solve", "x", "--method", "?"], text=True, capture_output=True, check=False).stderr
        methods = re.search(r"^\| `--method` \| (.*?);", sections["solve"], re.M)[1]
        self.assertEqual(re.findall(r"`(\w+)`", methods), wrong.split("allowed: ")[1].strip().split(", "))


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[2:]])
