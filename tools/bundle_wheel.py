# SPDX-License-Identifier: Apache-2.0
"""bundle_wheel.py WHEEL FOLDER: the wheel with its shared libraries inside and an honest platform tag.

Copies every library that the extension needs, but those of any Linux with Python (libc, libm,
libstdc++, …), into orthant.libs under names of their own, and points the extension there. Debian's HDF5
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
LICENCES = {"liborthant": "Apache-2.0", "libtbb": "Apache-2.0", "libmetis": "Apache-2.0", "libklu": "LGPL-2.1+",
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


def collect(extension):
    """{soname: file} of everything to bundle, followed to the end."""
    paths, found, todo = where(extension), {}, needed(extension)
    while todo:
        name = todo.pop()
        if name in found or SYSTEM.match(name):
            continue
        found[name] = Path(paths[name])
        licence_of(name)
        todo += [n for n in needed(found[name]) if n not in cut(name)]
    return found


def newest_glibc(paths):
    text = "".join(run("readelf", "-V", p) for p in paths)
    return max(tuple(map(int, v.split("."))) for v in re.findall(r"GLIBC_(2\.\d+)", text))


def forget_versions(path, gone):
    """The loader insists on every library that symbol versions are asked of. Asks libc instead for the
    versions of libraries that were cut off, and makes versions and functions weak: their absence is
    then no error. None of them is ever called."""
    if not gone:
        return
    data = bytearray(path.read_bytes())
    sections = run("readelf", "-S", "-W", path)
    place = {name: (int(offset, 16), int(size, 16)) for name, offset, size in re.findall(
        r"\] (\.\S+) +\S+ +[0-9a-f]+ ([0-9a-f]+) ([0-9a-f]+)", sections)}
    strings, needs = place[".dynstr"][0], place[".gnu.version_r"][0]

    def entry(at):  # Elf64_Verneed: version, count, file, aux, next
        version, count, file, aux, further = struct.unpack_from("<HHIII", data, at)
        end = data.index(0, strings + file)
        return data[strings + file:end].decode(), count, file, aux, further

    entries, at = [], needs
    while True:
        entries.append((at, *entry(at)))
        if entries[-1][-1] == 0:
            break
        at += entries[-1][-1]
    libc = next(file for _, name, _, file, *_ in entries if name == "libc.so.6")
    versions = set()
    for at, name, count, _, aux, _ in entries:
        if name not in gone:
            continue
        struct.pack_into("<I", data, at + 4, libc)
        one = at + aux
        for _ in range(count):  # Elf64_Vernaux: hash, flags, other, name, next
            flags, = struct.unpack_from("<H", data, one + 4)
            struct.pack_into("<H", data, one + 4, flags | 2)  # VER_FLG_WEAK
            versions.add(struct.unpack_from("<H", data, one + 6)[0])
            one += struct.unpack_from("<I", data, one + 12)[0]
    symbols, numbers = place[".dynsym"], place[".gnu.version"][0]
    for i in range(symbols[1] // 24):  # Elf64_Sym: name, info, …
        if struct.unpack_from("<H", data, numbers + 2 * i)[0] & 0x7FFF in versions:
            info = symbols[0] + 24 * i + 4
            data[info] = 2 << 4 | data[info] & 15  # STB_WEAK
    path.write_bytes(data)


def bundle(root, extension):
    libs = root / "orthant.libs"
    libs.mkdir()
    found = collect(extension)
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
    for name, own in names.items():
        if name in needed(extension):
            run("patchelf", "--replace-needed", name, own, extension)
    run("patchelf", "--set-rpath", "$ORIGIN/../orthant.libs", extension)
    for name in sorted(names):
        print(f"  {name:32} {licence_of(name)}")
    return [extension, *(libs / own for own in names.values())]


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
        files = bundle(root, next((root / "orthant").glob("_core*.so")))
        major, minor = newest_glibc(files)
        tag = f"manylinux_{major}_{minor}_x86_64"
        info = next(root.glob("*.dist-info")) / "WHEEL"
        info.write_text(re.sub(r"(?m)^(Tag: \S+?-\S+?)-linux_x86_64$", rf"\1-{tag}", info.read_text()))
        target = folder / wheel.name.replace("linux_x86_64", tag)
        pack(root, target)
    print(f"{target} ({target.stat().st_size / 1e6:.1f} MB)")


if __name__ == "__main__":
    main()
