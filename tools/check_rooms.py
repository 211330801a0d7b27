#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""check_rooms.py [ROOT]: the rules of the house => exit code 1 and one line per violation.

1. A room includes only itself, the rooms and outside headers of its row in cmake/rooms.txt, and the
   standard library; of other rooms the public headers (orthant/<room>/...) and those of src/<room>/ whose
   banner does not say "Private to the room". A public header includes public headers only and opens its
   namespace with ORTHANT_EXPORT: what it declares is visible in the shared library.
   orthant/orthant.hpp gathers public headers for users and stands above all rooms, which may not include it.
2. apps, examples, python and scenes use public headers only; tests and bench those of src/<room>/ as well.
3. The table has no cycle: a room needs only rooms above it.
4. Every source opens with its SPDX line and has at most 800 lines.
"""
import re
import sys
from pathlib import Path

MAX_LINES = 800
SPDX = "SPDX-License-Identifier: Apache-2.0"
CPP = {".cpp", ".hpp"}
OUTSIDE = ["apps", "bench", "examples", "python", "scenes", "tests"]
INSIDERS = {"bench", "tests"}  # of OUTSIDE: they look into the rooms
PRIVATE = re.compile(r"Private(\s|//)+to(\s|//)+the(\s|//)+room")
BANNER = 800  # characters at the top of a header
# What the SPDX and size rules look at, besides C++.
SOURCES = {".py", ".cmake", ".sh"}
SOURCE_NAMES = {"CMakeLists.txt", "Makefile", "setup", "run"}
SKIPPED = {"build", ".git", ".venv", "node_modules", "__pycache__"}

STANDARD = set("""
algorithm any array atomic barrier bit bitset charconv chrono codecvt compare complex concepts
condition_variable coroutine deque exception execution filesystem format forward_list fstream
functional future initializer_list iomanip ios iosfwd iostream istream iterator latch limits list
locale map memory memory_resource mutex new numbers numeric optional ostream queue random ranges
ratio regex scoped_allocator semaphore set shared_mutex source_location span sstream stack stdexcept
stop_token streambuf string string_view strstream syncstream system_error thread tuple type_traits
typeindex typeinfo unordered_map unordered_set utility valarray variant vector version cassert
cctype cerrno cfenv cfloat cinttypes climits clocale cmath csetjmp csignal cstdarg cstddef cstdint
cstdio cstdlib cstring ctime cuchar cwchar cwctype
""".split())
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')


def read_table(root):
    """rooms.txt => {room: (rooms it needs, outside headers)}, in order, and its own errors."""
    table, errors = {}, []
    for number, line in enumerate((root / "cmake/rooms.txt").read_text().splitlines(), 1):
        if not re.match(r"[a-z]", line):
            continue
        where = f"cmake/rooms.txt:{number}"
        parts = [part.strip() for part in line.split("|")]
        if len(parts) != 3:
            errors.append(f"{where}: expected 'room | rooms | outside headers'")
            continue
        room, needs, outside = parts[0], parts[1].split(), parts[2].split()
        for need in needs:
            if need not in table:
                errors.append(f"{where}: room '{room}' needs '{need}', which is not above it")
        table[room] = (needs, outside)
    return table, errors


def includes(path):
    """(line number, quoted?, header) of every #include."""
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        match = INCLUDE.match(line)
        if match:
            yield number, match[1] == '"', match[2]


def cpp_files(folder):
    return sorted(p for p in folder.rglob("*") if p.suffix in CPP) if folder.is_dir() else []


def is_private(root, header):
    return PRIVATE.search((root / "src" / header).read_text(encoding="utf-8")[:BANNER])


def check_room_file(root, path, room, public, table):
    needs, outside = table[room]
    for number, quoted, header in includes(path):
        where = f"{path.relative_to(root)}:{number}"
        if header.startswith("orthant/"):
            other = header.split("/")[1]
            if other != room and other not in needs:
                yield f"{where}: room '{room}' may not include '{header}'"
        elif header in STANDARD and not quoted:
            continue
        elif any(header == name or header.startswith(name + "/") for name in outside):
            continue
        elif quoted and public:
            yield f"{where}: a public header may not include '{header}'"
        elif quoted and (root / "src" / header).is_file():
            other = header.split("/")[0]
            if other != room and other not in needs:
                yield f"{where}: room '{room}' may not include '{header}'"
            elif other != room and is_private(root, header):
                yield f"{where}: '{header}' is private to the room '{other}'"
        elif quoted:
            yield f"{where}: no header '{header}'; use its full path"
        else:
            yield f"{where}: room '{room}' may not include <{header}> (cmake/rooms.txt)"


def check_visible(root, path):
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        if re.match(r"namespace orthant\b", line):
            yield f"{path.relative_to(root)}:{number}: expected 'namespace ORTHANT_EXPORT orthant {{'"


def check_umbrella(root, path, table):
    for number, _, header in includes(path):
        parts = header.split("/")
        if len(parts) < 3 or parts[0] != "orthant" or parts[1] not in table:
            yield f"{path.relative_to(root)}:{number}: orthant.hpp includes public headers of rooms only"


def check_rooms(root, table):
    for folder, public in ((root / "src", False), (root / "include/orthant", True)):
        for path in cpp_files(folder):
            relative = path.relative_to(folder)
            if public and str(relative) == "orthant.hpp":
                yield from check_umbrella(root, path, table)
                continue
            if len(relative.parts) < 2 or relative.parts[0] not in table:
                yield f"{path.relative_to(root)}: not in a room of cmake/rooms.txt"
                continue
            yield from check_room_file(root, path, relative.parts[0], public, table)
            if public:
                yield from check_visible(root, path)


def check_outside(root):
    source = (root / "src").resolve()
    for name, path in ((name, p) for name in OUTSIDE for p in cpp_files(root / name)):
        for number, quoted, header in includes(path):
            if not quoted:
                continue
            where = f"{path.relative_to(root)}:{number}"
            local = (path.parent / header).resolve()
            room = name not in INSIDERS and (source / header).is_file()
            ours = local.is_file() or (root / name / header).is_file()
            if source in local.parents or "../src" in header or (room and not ours):
                yield f"{where}: '{header}' is not public"
            elif header.startswith("orthant/") and not (root / "include" / header).is_file():
                yield f"{where}: '{header}' is not a public header"


def check_sources(root):
    for path in sorted(root.rglob("*")):
        relative = path.relative_to(root)
        if SKIPPED.intersection(relative.parts) or not path.is_file() or path.is_symlink():
            continue
        if path.suffix not in CPP | SOURCES and path.name not in SOURCE_NAMES:
            continue
        lines = path.read_text(encoding="utf-8").splitlines()
        if not any(SPDX in line for line in lines[:2]):
            yield f"{relative}:1: no line '{SPDX}' at the top"
        if len(lines) > MAX_LINES:
            yield f"{relative}: {len(lines)} lines, at most {MAX_LINES}"


def main():
    root = Path(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).parent.parent).resolve()
    table, errors = read_table(root)
    errors += [*check_rooms(root, table), *check_outside(root), *check_sources(root)]
    for error in errors:
        print(error)
    print(f"check_rooms: {len(table)} rooms, {len(errors)} violations")
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())
