#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Cuts a concave mesh into convex pieces with CoACD and writes them as the objects of one OBJ file.

    pip install coacd
    tools/decompose_mesh.py link.stl -o link_pieces.obj --threshold 0.05

A URDF whose <collision> names the written file has a hull for each piece with `pieces: true` in the
scene. STL (text or binary) and OBJ are read. CoACD: Wei et al., Approximate convex decomposition for
3D meshes with collision-aware concavity and tree search, 2022.
"""

import argparse
import pathlib
import struct
import sys


def read_stl(data):
    """Corners and triangles; the same place is one corner."""
    count = struct.unpack_from("<I", data, 80)[0] if len(data) >= 84 else 0
    if len(data) == 84 + 50 * count:
        rows = struct.iter_unpack("<12fH", data[84:])
        points = [row[k:k + 3] for row in rows for k in (3, 6, 9)]  # after the normal
    else:
        words = (line.split() for line in data.decode(errors="replace").splitlines())
        points = [tuple(float(x) for x in w[1:4]) for w in words if w and w[0] == "vertex"]
    places = {}
    indices = [places.setdefault(p, len(places)) for p in points]
    return [list(p) for p in places], [indices[k:k + 3] for k in range(0, len(indices) - 2, 3)]


def read_obj(data):
    corners, triangles = [], []
    for line in data.decode(errors="replace").splitlines():
        words = line.split()
        if words[:1] == ["v"]:
            corners.append([float(x) for x in words[1:4]])
        elif words[:1] == ["f"]:
            face = [int(w.split("/")[0]) for w in words[1:]]
            face = [i - 1 if i > 0 else len(corners) + i for i in face]
            triangles += [[face[0], face[k - 1], face[k]] for k in range(2, len(face))]
    return corners, triangles


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("mesh", type=pathlib.Path, help=".stl or .obj")
    parser.add_argument("-o", "--output", type=pathlib.Path, required=True, help=".obj to write")
    parser.add_argument("--threshold", type=float, default=0.05, help="concavity that stays, 0.01 ... 1")
    parser.add_argument("--most", type=int, default=-1, help="pieces at the most")
    args = parser.parse_args()
    try:
        import coacd
        import numpy as np
    except ImportError:
        sys.exit("decompose_mesh.py: needs CoACD: pip install coacd")
    data = args.mesh.read_bytes()
    corners, triangles = (read_obj if args.mesh.suffix.lower() == ".obj" else read_stl)(data)
    if len(triangles) == 0:
        sys.exit(f"{args.mesh}: has no triangles")
    mesh = coacd.Mesh(np.array(corners), np.array(triangles))
    pieces = coacd.run_coacd(mesh, threshold=args.threshold, max_convex_hull=args.most)
    lines, first = [], 1
    for number, (points, faces) in enumerate(pieces):
        lines.append(f"o piece_{number}")
        lines += ["v %.9g %.9g %.9g" % tuple(p) for p in points]
        lines += ["f %d %d %d" % tuple(int(i) + first for i in f) for f in faces]
        first += len(points)
    args.output.write_text("\n".join(lines) + "\n")
    print(f"{args.output}: {len(pieces)} pieces")


if __name__ == "__main__":
    main()
