// SPDX-License-Identifier: Apache-2.0
// pick.ts: (ray, poses) => the body it meets first.
// By formula on the true shapes: no read-back from the graphics card, the same answer on every machine.
import { Matrix4, Quaternion, Vector3 } from 'three';
import { poseMatrix } from './extras';
import type { Run, Shape } from './format';

/** Signed distance, negative inside; only for the kinds that sphere tracing serves. */
function distance(s: Shape, p: Vector3): number {
  switch (s.type) {
    case 'sphere':
      return p.length() - s.radius;
    case 'capsule':
      return Math.hypot(p.x - Math.max(-s.halfLength, Math.min(s.halfLength, p.x)), p.y, p.z) - s.radius;
    case 'box': {
      const q = [Math.abs(p.x) - s.half[0], Math.abs(p.y) - s.half[1], Math.abs(p.z) - s.half[2]];
      return Math.hypot(...q.map((x) => Math.max(x, 0))) + Math.min(Math.max(...q), 0);
    }
    case 'cylinder': {
      const x = Math.abs(p.x) - s.halfLength;
      const r = Math.hypot(p.y, p.z) - s.radius;
      return Math.hypot(Math.max(x, 0), Math.max(r, 0)) + Math.min(Math.max(x, r), 0);
    }
    case 'cone': { // farther from the base plane or the slope: never more than the distance
      const slant = Math.hypot(s.radius, 2 * s.halfLength);
      const side = (2 * s.halfLength * Math.hypot(p.y, p.z) + s.radius * (p.x - s.halfLength)) / slant;
      return Math.max(side, -s.halfLength - p.x);
    }
    case 'torus':
      return Math.hypot(Math.hypot(p.x, p.y) - s.major, p.z) - s.minor;
    default:
      return Infinity;
  }
}

function trace(s: Shape, o: Vector3, d: Vector3, far: number, tiny: number): number {
  const p = new Vector3();
  for (let t = 0, i = 0; i < 160 && t < far; ++i) {
    const h = distance(s, p.copy(o).addScaledVector(d, t));
    if (h < tiny) return t;
    t += h;
  }
  return Infinity;
}

function ellipsoid(half: readonly number[], o: Vector3, d: Vector3): number {
  const p = new Vector3(o.x / half[0], o.y / half[1], o.z / half[2]);
  const e = new Vector3(d.x / half[0], d.y / half[1], d.z / half[2]);
  const a = e.dot(e);
  const b = p.dot(e);
  const root = b * b - a * (p.dot(p) - 1);
  return root < 0 ? Infinity : (-b - Math.sqrt(root)) / a;
}

function triangles(vertices: Float32Array, faces: Uint32Array, o: Vector3, d: Vector3): number {
  const at = (i: number) => new Vector3().fromArray(vertices, 3 * i);
  let best = Infinity;
  for (let f = 0; f < faces.length; f += 3) {
    const a = at(faces[f]);
    const u = at(faces[f + 1]).sub(a);
    const v = at(faces[f + 2]).sub(a);
    const n = u.clone().cross(v);
    const slope = n.dot(d);
    if (slope >= 0) continue; // seen from behind, or along it
    const q = o.clone().sub(a);
    const t = -n.dot(q) / slope;
    const r = d.clone().cross(q);
    const x = v.dot(r) / slope;
    const y = -u.dot(r) / slope;
    if (x >= 0 && y >= 0 && x + y <= 1 && t >= 0) best = Math.min(best, t);
  }
  return best;
}

/** Is the point of the plane inside the planar shape? */
export function insideFlat(s: Shape, x: number, y: number): boolean {
  switch (s.type) {
    case 'disc':
      return Math.hypot(x, y) <= s.radius;
    case 'stadium':
      return Math.hypot(x - Math.max(-s.halfLength, Math.min(s.halfLength, x)), y) <= s.radius;
    case 'rectangle':
      return Math.abs(x) <= s.half[0] && Math.abs(y) <= s.half[1];
    case 'ellipse':
      return (x / s.half[0]) ** 2 + (y / s.half[1]) ** 2 <= 1;
    case 'polygon': {
      const v = s.vertices;
      let left = 0;
      const n = v.length / 2;
      for (let i = 0; i < n; ++i) {
        const j = (i + 1) % n;
        const side = (v[2 * j] - v[2 * i]) * (y - v[2 * i + 1]) - (v[2 * j + 1] - v[2 * i + 1]) * (x - v[2 * i]);
        left += side >= 0 ? 1 : -1;
      }
      return Math.abs(left) === n; // either sense of rotation
    }
    default:
      return false;
  }
}

const kFlat = new Set(['disc', 'stadium', 'rectangle', 'ellipse', 'polygon']);

/** Distance along the ray (unit direction, shape frame) or Infinity. */
export function hitShape(s: Shape, o: Vector3, d: Vector3, far: number, tiny: number): number {
  if (kFlat.has(s.type)) {
    const t = -o.z / d.z;
    return t >= 0 && insideFlat(s, o.x + t * d.x, o.y + t * d.y) ? t : Infinity;
  }
  if (s.type === 'ellipsoid') return ellipsoid(s.half, o, d);
  if (s.type === 'hull' || s.type === 'mesh') return triangles(s.vertices, s.faces, o, d);
  return s.type === 'half_space' ? Infinity : trace(s, o, d, far, tiny);
}

export function pickBody(
  run: Run, pose: Float32Array, alive: Uint8Array, reach: readonly number[], origin: Vector3, direction: Vector3,
): number {
  let best = Infinity;
  let found = -1;
  const body = new Matrix4();
  const turn = new Quaternion();
  const local = new Matrix4();
  const o = new Vector3();
  const d = new Vector3();
  const c = new Vector3();
  for (let i = 0; i < run.count; ++i) {
    const r = reach[i];
    if (!alive[i] || !(r > 0)) continue;
    c.set(pose[7 * i], pose[7 * i + 1], pose[7 * i + 2]).sub(origin);
    const along = c.dot(direction);
    if (c.lengthSq() - along * along > r * r || along + r < 0 || along - r > best) continue;
    poseMatrix(pose, i, body);
    for (const s of run.bodies[i].shapes) {
      const [w, x, y, z] = s.quaternion;
      local.makeRotationFromQuaternion(turn.set(x, y, z, w)).setPosition(...s.position).premultiply(body).invert();
      o.copy(origin).applyMatrix4(local);
      d.copy(direction).transformDirection(local);
      const t = hitShape(s, o, d, along + 2 * r, 1e-4 * r);
      if (t >= 0 && t < best) {
        best = t;
        found = i;
      }
    }
  }
  return found;
}
