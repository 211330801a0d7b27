# SPDX-License-Identifier: Apache-2.0
"""The architecture check passes on this tree and fails on each thing it forbids."""
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
CHECK = ROOT / "tools/check_rooms.py"
COPIED = ["cmake", "src", "include", "apps", "examples", "tests", "bench"]


def run(root):
    done = subprocess.run([sys.executable, "-B", CHECK, root], capture_output=True, text=True)
    return done.returncode, done.stdout


class ThisTree(unittest.TestCase):
    def test_is_clean(self):
        code, text = run(ROOT)
        self.assertEqual(code, 0, text)


class Copy(unittest.TestCase):
    """A copy of the sources, clean before each change."""

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.root = Path(cls.folder.name)
        for name in COPIED:
            if (ROOT / name).is_dir():
                shutil.copytree(ROOT / name, cls.root / name, ignore=shutil.ignore_patterns("data"))

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def change(self, path):
        """The file at `path`, put back as it was when the test ends."""
        target = self.root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        before = target.read_bytes() if target.exists() else None
        self.addCleanup(target.unlink if before is None else lambda: target.write_bytes(before))
        return target

    def append(self, path, text):
        target = self.change(path)
        if not target.exists():
            target.write_text("// SPDX-License-Identifier: Apache-2.0\n")
        with target.open("a") as file:
            file.write(text + "\n")

    def expect(self, message):
        code, text = run(self.root)
        self.assertEqual(code, 1, text)
        self.assertIn(message, text)
        self.assertIn("1 violations", text)

    def test_umbrella_is_for_users(self):
        self.append("include/orthant/orthant.hpp", "#include <vector>")
        self.expect("orthant.hpp includes public headers of rooms only")

    def test_rooms_do_not_include_the_umbrella(self):
        self.append("src/step/extra.cpp", '#include "orthant/orthant.hpp"')
        self.expect("room 'step' may not include 'orthant/orthant.hpp'")

    def test_copy_is_clean(self):
        code, text = run(self.root)
        self.assertEqual(code, 0, text)

    def test_room_above(self):
        self.append("src/math/law.cpp", '#include "orthant/problem/problem.hpp"')
        self.expect("room 'math' may not include 'orthant/problem/problem.hpp'")

    def test_room_beside(self):
        self.append("src/solver/extra.cpp", '#include "orthant/shape/shape.hpp"')
        self.expect("room 'solver' may not include 'orthant/shape/shape.hpp'")

    def test_public_header(self):
        self.append("include/orthant/base/version.hpp", '#include "orthant/math/law.hpp"')
        self.expect("room 'base' may not include 'orthant/math/law.hpp'")

    def test_what_a_public_header_declares_is_visible(self):
        self.append("include/orthant/math/extra.hpp", "namespace orthant {")
        self.expect("expected 'namespace ORTHANT_EXPORT orthant {'")

    def test_angle_brackets_are_no_way_round(self):
        self.append("src/base/base.cpp", "#include <orthant/math/law.hpp>")
        self.expect("room 'base' may not include 'orthant/math/law.hpp'")

    def test_foreign_library(self):
        self.append("src/problem/problem.cpp", "#  include <hdf5.h>")
        self.expect("room 'problem' may not include <hdf5.h>")

    def test_library_with_the_same_beginning(self):
        self.append("src/problem/problem.cpp", "#include <EigenPretender/Core>")
        self.expect("room 'problem' may not include <EigenPretender/Core>")

    def test_header_of_a_room_that_is_needed(self):
        self.append("src/math/shared.hpp", "#pragma once")
        self.append("src/problem/problem.cpp", '#include "math/shared.hpp"')
        self.assertEqual(run(self.root)[0], 0)

    def test_header_of_a_room_that_is_not(self):
        self.append("src/shape/shared.hpp", "#pragma once")
        self.append("src/problem/problem.cpp", '#include "shape/shared.hpp"')
        self.expect("room 'problem' may not include 'shape/shared.hpp'")

    def test_private_header_of_another_room(self):
        self.append("src/math/secret.hpp", "// math/secret.hpp: nothing. Private to\n// the room.\n#pragma once")
        self.append("src/problem/problem.cpp", '#include "math/secret.hpp"')
        self.expect("'math/secret.hpp' is private to the room 'math'")

    def test_private_header_in_public_one(self):
        self.append("src/math/secret.hpp", "#pragma once")
        self.append("include/orthant/math/law.hpp", '#include "math/secret.hpp"')
        self.expect("a public header may not include 'math/secret.hpp'")

    def test_header_of_a_room_by_a_way_round(self):
        self.append("src/math/shared.hpp", "#pragma once")
        self.append("tests/math/extra_test.cpp", '#include "../../src/math/shared.hpp"')
        self.expect("'../../src/math/shared.hpp' is not public")

    def test_header_of_a_room_in_a_test(self):
        self.append("src/math/shared.hpp", "#pragma once")
        self.append("tests/math/extra_test.cpp", '#include "math/shared.hpp"')
        self.assertEqual(run(self.root)[0], 0)

    def test_header_of_a_room_in_the_command(self):
        self.append("src/math/shared.hpp", "#pragma once")
        self.append("apps/orthant/extra.cpp", '#include "math/shared.hpp"')
        self.expect("'math/shared.hpp' is not public")

    def test_file_outside_the_rooms(self):
        self.append("src/attic/old.cpp", "int old();")
        self.expect("src/attic/old.cpp: not in a room")

    def test_cycle_in_the_table(self):
        table = self.change("cmake/rooms.txt")
        lines = [line.replace("|", "| math ", 1) if line.startswith("base ") else line
                 for line in table.read_text().splitlines()]
        table.write_text("\n".join(lines) + "\n")
        self.expect("room 'base' needs 'math', which is not above it")

    def test_missing_licence_line(self):
        self.change("src/math/extra.cpp").write_text("int extra();\n")
        self.expect("src/math/extra.cpp:1: no line 'SPDX")

    def test_too_long(self):
        self.append("src/math/extra.cpp", "\n" * 800)
        self.expect("src/math/extra.cpp: 802 lines, at most 800")


if __name__ == "__main__":
    unittest.main()
