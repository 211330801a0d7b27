# SPDX-License-Identifier: Apache-2.0
"""The README shows the example that is compiled and run, and its links lead somewhere."""
import re
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")


class Readme(unittest.TestCase):
    def test_example_is_the_compiled_one(self):
        name = re.search(r"<!-- (examples/\S+\.cpp)", README)[1]
        shown = re.search(r"```cpp\n(.*?)```", README, re.S)[1]
        source = (ROOT / name).read_text(encoding="utf-8")
        code = re.sub(r"^(//.*\n)+", "", source)
        self.assertEqual(shown.strip(), code.strip())

    def test_links_exist(self):
        pages = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").rglob("*.md")]
        for page in pages:
            text = page.read_text(encoding="utf-8")
            text = re.sub(r"^```.*?^```", "", text, flags=re.S | re.M)  # a lambda is no link
            targets = re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", text)
            targets += re.findall(r'(?:src|srcset)="([^":]+)"', text)
            for target in targets:
                with self.subTest(page=page.name, target=target):
                    self.assertTrue((page.parent / target).exists())

    def test_one_version(self):
        def found(path, pattern):
            return re.search(pattern, (ROOT / path).read_text(encoding="utf-8"), re.M)[1]

        version = found("CMakeLists.txt", r"^project\(orthant VERSION (\S+)")
        self.assertEqual(found("pyproject.toml", r'^version = "(.*)"$'), version)
        self.assertEqual(found("CITATION.cff", r"^version: (.*)$"), version)
        self.assertIn(f"## [{version}]", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"))
        minor = version.rsplit(".", 1)[0]
        for path in ("docs/install.md", "docs/reference.md", "tests/packaging/consumer/CMakeLists.txt"):
            self.assertEqual(found(path, r"find_package\(orthant (\S+) CONFIG"), minor, path)

    def test_every_scene_is_in_the_gallery(self):
        page = (ROOT / "docs/gallery.md").read_text(encoding="utf-8")
        for scene in sorted((ROOT / "scenes/yaml").glob("*.yaml")):
            text = scene.read_text(encoding="utf-8")
            description = re.search(r"^description: (.*)$", text, re.M)
            if description is None:  # a part that others include
                continue
            with self.subTest(scene=scene.stem):
                self.assertIn(f"| `{scene.stem}.yaml` | {description[1]} |", page)
                self.assertIn(f'href="gallery/{scene.stem}.html"', page)

    def test_the_walk_leads_somewhere(self):
        """The files that docs/architecture.md names exist and hold the functions said to be there."""
        page = (ROOT / "docs/architecture.md").read_text(encoding="utf-8")
        files = re.findall(r"`((?:src|include|tests|cmake|docs)/[\w./]+\.\w+)`", page)
        self.assertGreaterEqual(len(files), 15)
        for path in files:
            self.assertTrue((ROOT / path).exists(), path)
        names = re.findall(r"`(\w+)(?:\(\))?` (?:in\s+|\()`(src/[\w./]+)`", page)
        self.assertGreaterEqual(len(names), 3)
        for name, path in names:
            self.assertIn(f"{name}(", (ROOT / path).read_text(encoding="utf-8"), path)

    def test_every_room_is_described(self):
        table = (ROOT / "cmake/rooms.txt").read_text(encoding="utf-8")
        page = (ROOT / "docs/architecture.md").read_text(encoding="utf-8")
        for room in re.findall(r"^([a-z_]+) +\|", table, re.M):
            self.assertIn(f"| `{room}` |", page, f"docs/architecture.md has no row for '{room}'")


if __name__ == "__main__":
    unittest.main()
