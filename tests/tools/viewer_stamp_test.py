# SPDX-License-Identifier: Apache-2.0
"""The committed viewer page was built from the sources beside it and can carry a run."""
import hashlib
import re
import unittest
from pathlib import Path

VIEWER = Path(__file__).resolve().parents[2] / "viewer"
PAGE = (VIEWER / "dist/viewer.html").read_text(encoding="utf-8")
PLACEHOLDER = '<script type="application/json" id="orthant-run">null</script>'


def source_stamp():
    """As viewer/stamp.ts does it."""
    names = [p.relative_to(VIEWER).as_posix() for p in (VIEWER / "src").rglob("*") if p.is_file()]
    names += ["index.html", "package-lock.json", "stamp.ts", "tsconfig.json", "vite.config.ts"]
    digest = hashlib.sha256()
    for name in sorted(names):
        digest.update(name.encode() + b"\0" + (VIEWER / name).read_bytes() + b"\0")
    return digest.hexdigest()


class ViewerPage(unittest.TestCase):
    def test_is_not_stale(self):
        stamp = re.search(r'<meta name="orthant-viewer-sources" content="([0-9a-f]{64})">', PAGE)
        self.assertIsNotNone(stamp, "the page carries no stamp")
        self.assertEqual(stamp[1], source_stamp(), "viewer/src changed: run `make viewer`, commit dist/viewer.html")

    def test_has_one_place_for_a_run(self):
        self.assertEqual(PAGE.count(PLACEHOLDER), 1)

    def test_says_its_charset_early(self):
        self.assertLess(PAGE.encode().index(b'<meta charset="utf-8">'), 1000)  # browsers read 1024 bytes

    def test_loads_nothing(self):
        loads = re.findall(r'<(?:script|img|iframe)[^>]*\ssrc=|<link[^>]*href="(?!data:)', PAGE)
        self.assertEqual(loads, [])

    def test_names_the_licences(self):
        self.assertIn("Apache-2.0", PAGE[:2000])
        self.assertIn("three.js, MIT", PAGE[:2000])
        self.assertIn("The above copyright notice and this permission notice", PAGE[:2000])


if __name__ == "__main__":
    unittest.main()
