# SPDX-License-Identifier: Apache-2.0
"""bundle_wheel.py WHEEL FOLDER: the wheel with its shared libraries inside and an honest platform tag.

Copies every library that extension, command and liborthant need, but those of any Linux with Python (libc, libm,
libstdc++, …), into orthant.libs under names of their own, and points all three there. Debian's HDF5
is linked with libcurl and libcrypto for one driver (files on S3) that we never open: these two are cut
off, or they would bring thirty libraries. The tag is manylinux with the newest glibc symbol found. A
library whose package is GPL alone stops it.
"""
import base64
import hashlib
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

SYSTEM = re.compile(r"^(ld-linux.*|lib(c|m|dl|rt|pthread|stdc\+\+|gcc_s))\.so")
CUT = {"libhdf5": ["libcurl.so.4", "libcrypto.so.3"]}
# Looked up in Debian's copyright files; LGPL ones stay exchangeable, being separate files.
LICENCES = {"libtbb": "Apache-2.0", "libmetis": "Apache-2.0", "libklu": "LGPL-2.1+",
            "libamd": "BSD-3-Clause", "libcolamd": "BSD-3-Clause", "libbtf": "LGPL-2.1+",
            "libsuitesparseconfig": "BSD-3-Clause", "libhdf5": "BSD-3-Clause (HDF5)",
            "libsz": "BSD-2-Clause (libaec)", "libaec": "BSD-2-Clause", "libz": "Zlib",
            "libqhull": "Qhull", "libyaml-cpp": "MIT", "libtinyxml2": "Zlib",
            "liburdfdom": "BSD-3-Clause", "libconsole_bridge": "BSD-3-Clause", "libfmt": "MIT"}


def run(*command):
    return subprocess.run([str(c) for c in command], check=True, text=True,
                          capture_output=True).stdout


def needed(path):
    return re.findall(r"\(NEEDED\).*\[(.*?)\]", run("readelf", "-d", path))


def where(path):
    """{soname: file} of all that the loader would take."""
    return dict(re.findall(r"^\s*(\S+) => (/\S+)", run("ldd", path), re.M))


def licence_of(name):
    for prefix, licence in LICENCES.items():
        if name.startswith(prefix):
            return licence
    sys.exit(f"bundle_wheel: {name} has no known licence; look it up and add it to LICENCES")


def cut(name):
    return next((names for prefix, names in CUT.items() if name.startswith(prefix)), [])


def collect(programs):
    """{soname: file} of everything to bundle, followed to the end; `programs` are in the wheel already."""
    paths, found, present = {}, {}, {program.name for program in programs}
    todo = [name for program in programs for name in needed(program)]
    for program in programs:
        paths.update(where(program))
    while todo:
        name = todo.pop()
        if name in found or name in present or SYSTEM.match(name):
            continue
        found[name] = Path(paths[name])
        licence_of(name)
        todo += [n for n in needed(found[name]) if n not in cut(name)]
    return found


def newest_glibc(paths):
    text = "".join(run("readelf", "-V", p) for p in paths)
    return max(tuple(map(int, v.split("."))) for v in re.findall(r"GLIBC_(2\.\d+)", text))


def forget_versions(path, gone):
    """The loader insists on every library that symbol versions are asked of. Takes the libraries that were cut
    off out of that list, and makes their functions weak and without a version: their absence is then no
    error. None of them is ever called."""
    if not gone:
        return
    data = bytearray(path.read_bytes())
    sections = run("readelf", "-S", "-W", path)
    place = {name: (int(offset, 16), int(size, 16)) for name, offset, size in re.findall(
        r"\] (\.\S+) +\S+ +[0-9a-f]+ ([0-9a-f]+) ([0-9a-f]+)", sections)}
    strings = place[".dynstr"][0]

    # Elf64_Verneed: version, count, file, aux, next; the last two are offsets from the entry.
    entries, at = [], place[".gnu.version_r"][0]
    while True:
        _, count, file, aux, further = struct.unpack_from("<HHIII", data, at)
        name = data[strings + file:data.index(0, strings + file)].decode()
        entries.append((at, name, count, file, at + aux))
        if further == 0:
            break
        at += further
    versions = set()
    for _, name, count, _, one in entries:
        for _ in range(count if name in gone else 0):  # Elf64_Vernaux: hash, flags, other, name, next
            versions.add(struct.unpack_from("<H", data, one + 6)[0])
            one += struct.unpack_from("<I", data, one + 12)[0]
    # The entries that stay are written to the first places of the list.
    kept = [entry for entry in entries if entry[1] not in gone]
    for i, (_, _, count, file, aux) in enumerate(kept):
        at = entries[i][0]
        further = entries[i + 1][0] - at if i + 1 < len(kept) else 0
        struct.pack_into("<HHIII", data, at, 1, count, file, aux - at, further)
    symbols, numbers = place[".dynsym"], place[".gnu.version"][0]
    for i in range(symbols[1] // 24):  # Elf64_Sym: name, info, …
        if struct.unpack_from("<H", data, numbers + 2 * i)[0] & 0x7FFF in versions:
            struct.pack_into("<H", data, numbers + 2 * i, 1)  # VER_NDX_GLOBAL
            info = symbols[0] + 24 * i + 4
            data[info] = 2 << 4 | data[info] & 15  # STB_WEAK
    path.write_bytes(data)


def bundle(root, programs):
    libs = root / "orthant.libs"
    libs.mkdir()
    found = collect(programs)
    names = {}
    for name, path in found.items():
        digest = hashlib.sha256(path.read_bytes()).hexdigest()[:8]
        stem, _, rest = name.partition(".so")
        names[name] = f"{stem}-{digest}.so{rest}"  # no other package's copy is taken for ours
        shutil.copy(path, libs / names[name])
        (libs / names[name]).chmod(0o755)
    for name, own in names.items():
        file = libs / own
        for gone in cut(name):
            run("patchelf", "--remove-needed", gone, file)
        run("patchelf", "--set-soname", own, "--set-rpath", "$ORIGIN", file)
        for other in needed(file):
            if other in names:
                run("patchelf", "--replace-needed", other, names[other], file)
        forget_versions(file, cut(name))
    for program in programs:
        for name in needed(program):
            if name in names:
                run("patchelf", "--replace-needed", name, names[name], program)
        run("patchelf", "--set-rpath", "$ORIGIN:$ORIGIN/../orthant:$ORIGIN/../orthant.libs", program)
        program.chmod(0o755)  # which unpacking forgot
    for name in sorted(names):
        print(f"  {name:32} {licence_of(name)}")
    return [*programs, *(libs / own for own in names.values())]


def pack(root, target):
    info = next(root.glob("*.dist-info"))
    lines = []
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as out:
        for path in sorted(p for p in root.rglob("*") if p.is_file() and p.name != "RECORD"):
            name = path.relative_to(root).as_posix()
            digest = base64.urlsafe_b64encode(hashlib.sha256(path.read_bytes()).digest())
            lines.append(f"{name},sha256={digest.rstrip(b'=').decode()},{path.stat().st_size}")
            out.write(path, name)
        record = f"{info.name}/RECORD"
        out.writestr(record, "\n".join([*lines, f"{record},,"]) + "\n")


def main():
    wheel, folder = Path(sys.argv[1]), Path(sys.argv[2])
    with tempfile.TemporaryDirectory() as temporary:
        root = Path(temporary) / "wheel"
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(root)
        files = bundle(root, [*(root / "orthant").glob("*.so*"), root / "orthant_command/orthant"])
        major, minor = newest_glibc(files)
        tag = f"manylinux_{major}_{minor}_x86_64"
        info = next(root.glob("*.dist-info")) / "WHEEL"
        info.write_text(re.sub(r"(?m)^(Tag: \S+?-\S+?)-linux_x86_64$", rf"\1-{tag}", info.read_text()))
        target = folder / wheel.name.replace("linux_x86_64", tag)
        pack(root, target)
    print(f"{target} ({target.stat().st_size / 1e6:.1f} MB)")


if __name__ == "__main__":
    main()
