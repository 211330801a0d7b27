# SPDX-License-Identifier: Apache-2.0
"""Installs a build tree into an empty prefix, moves it, builds a consumer against it and runs it."""
import os
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

BUILD, CXX, VERSION, HAS_COMMAND = sys.argv[1:5]
HERE = Path(__file__).resolve().parent


def run(*command, **more):
    done = subprocess.run([str(part) for part in command], text=True, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, **more)
    if done.returncode != 0:
        raise AssertionError(f"{command} gave {done.returncode}:\n{done.stdout}")
    return done.stdout


class Packaging(unittest.TestCase):
    def test_consumer(self):
        with tempfile.TemporaryDirectory() as folder:
            first, prefix, build = (Path(folder) / name for name in ("first", "moved", "build"))
            run("cmake", "--install", BUILD, "--prefix", first)
            first.rename(prefix)  # an absolute path inside the package would break here
            run("cmake", "-S", HERE / "consumer", "-B", build, "-G", "Ninja",
                f"-DCMAKE_PREFIX_PATH={prefix}", f"-DCMAKE_CXX_COMPILER={CXX}",
                "-DCMAKE_BUILD_TYPE=Release")
            run("cmake", "--build", build)
            self.assertEqual(run(build / "consumer").strip(), VERSION)
            for path in [*prefix.rglob("*.cmake"), *prefix.rglob("*.hpp")]:
                self.assertNotIn(str(HERE.parents[1]), path.read_text(), path)
            self.assertEqual([*prefix.rglob("*.py*")], [], "Python files in the prefix")
            if HAS_COMMAND == "1":
                clean = {name: value for name, value in os.environ.items() if name != "LD_LIBRARY_PATH"}
                self.assertIn(VERSION, run(prefix / "bin/orthant", "--version", env=clean))

    def test_only_the_public_interface_is_visible(self):
        with tempfile.TemporaryDirectory() as folder:
            run("cmake", "--install", BUILD, "--prefix", folder)
            library = next(Path(folder).rglob("liborthant.so"), None)
            if library is None:
                self.skipTest("a static library hides nothing")
            headers = Path(folder, "include/orthant").rglob("*.hpp")
            public = set(re.findall(r"\w+", "".join(path.read_text() for path in headers)))
            symbols = re.findall(r"^\w+ T (.*)$", run("nm", "-DC", "--defined-only", library), re.M)
            self.assertGreater(len(symbols), 300)
            for symbol in symbols:  # its class, or the function itself: orthant::internal::Stage::pull()
                scope = re.sub(r"\[abi:\w+\]|<.*|\(.*", "", symbol)
                names = [name for name in scope.split("::")
                         if name not in ("orthant", "internal", "io", "formulations")]
                self.assertIn(names[0], public, symbol)

    def test_wrong_version_is_refused(self):
        with tempfile.TemporaryDirectory() as folder:
            source, prefix = Path(folder) / "source", Path(folder) / "prefix"
            source.mkdir()
            (source / "CMakeLists.txt").write_text(
                "cmake_minimum_required(VERSION 3.25)\nproject(c LANGUAGES CXX)\n"
                "find_package(orthant 9.0 CONFIG REQUIRED)\n")
            run("cmake", "--install", BUILD, "--prefix", prefix)
            with self.assertRaisesRegex(AssertionError, "version"):
                run("cmake", "-S", source, "-B", Path(folder) / "build", "-G", "Ninja",
                    f"-DCMAKE_PREFIX_PATH={prefix}", f"-DCMAKE_CXX_COMPILER={CXX}")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
