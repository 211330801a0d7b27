// SPDX-License-Identifier: Apache-2.0
// geometry.ts: shape kind => unit geometry that instances stretch.
// A capsule cannot be scaled out of another one, nor a torus: their vertices are
// position * p0 + second * p1 with the instance's (p0, p1) = (radius, half length) or (minor, major),
// and the normals stay right because no scale is involved.
import { BufferAttribute, BufferGeometry, BoxGeometry, Matrix4, Quaternion, Vector3 } from 'three';
import type { Shape } from './format';

class Builder {
  position: number[] = [];
  normal: number[] = [];
  second: number[] = [];
  tone: number[] = [];
  index: number[] = [];

  vertex(p: number[], n: number[], tone = 1, second: number[] = [0, 0, 0]): number {
    this.position.push(...p);
    this.normal.push(...n);
    this.second.push(...second);
    this.tone.push(tone, tone, tone);
    return this.position.length / 3 - 1;
  }

  build(withSecond: boolean): BufferGeometry {
    const g = new BufferGeometry();
    const set = (name: string, list: number[]) => g.setAttribute(name, new BufferAttribute(new Float32Array(list), 3));
    set('position', this.position);
    set('normal', this.normal);
    set('color', this.tone);
    if (withSecond) set('second', this.second);
    g.setIndex(this.index);
    return g;
  }
}

// Half of the octants a little darker: one sees a ball roll.
const kDarkTone = 0.8;

/** Octahedron face (sx, sy, sz) subdivided n times and pushed onto the sphere. */
function octant(b: Builder, n: number, s: number[], tone: number, second: number[]): void {
  const rows: number[][] = [];
  for (let i = 0; i <= n; ++i) {
    const row: number[] = [];
    for (let j = 0; j <= n - i; ++j) {
      const v = new Vector3(s[0] * (n - i - j), s[1] * i, s[2] * j).normalize().toArray();
      row.push(b.vertex(v, v, tone, second));
    }
    rows.push(row);
  }
  const flip = s[0] * s[1] * s[2] < 0;
  const triangle = (x: number, y: number, z: number) => b.index.push(x, flip ? z : y, flip ? y : z);
  for (let i = 0; i < n; ++i)
    for (let j = 0; j < n - i; ++j) {
      triangle(rows[i][j], rows[i + 1][j], rows[i][j + 1]);
      if (j < n - i - 1) triangle(rows[i + 1][j], rows[i + 1][j + 1], rows[i][j + 1]);
    }
}

const kSigns = [-1, 1];

export function sphereGeometry(n: number): BufferGeometry {
  const b = new Builder();
  for (const x of kSigns)
    for (const y of kSigns) for (const z of kSigns) octant(b, n, [x, y, z], x * y * z > 0 ? 1 : kDarkTone, [0, 0, 0]);
  return b.build(false);
}

/** Axis x: unit half spheres moved by second = (+-1, 0, 0), and the wall between them. */
export function capsuleGeometry(n: number): BufferGeometry {
  const b = new Builder();
  for (const y of kSigns)
    for (const z of kSigns) {
      const tone = y * z > 0 ? 1 : kDarkTone;
      for (const x of kSigns) octant(b, n, [x, y, z], tone, [x, 0, 0]);
      const wall: number[] = [];
      for (let i = 0; i <= n; ++i) {
        const r = new Vector3(0, y * (n - i), z * i).normalize().toArray();
        wall.push(b.vertex(r, r, tone, [-1, 0, 0]), b.vertex(r, r, tone, [1, 0, 0]));
      }
      for (let i = 0; i < n; ++i) {
        const [p, q, r, s] = wall.slice(2 * i, 2 * i + 4);
        if (y * z > 0) b.index.push(p, r, q, q, r, s);
        else b.index.push(p, q, r, q, s, r);
      }
    }
  return b.build(true);
}

/** Axis x, radius 1, from -1 to 1; the + end has the radius `tip`: 1 a cylinder, 0 a cone. */
export function turnedGeometry(n: number, tip: number): BufferGeometry {
  const b = new Builder();
  const around = 8 * n;
  const slope = (1 - tip) / 2;
  for (let quarter = 0; quarter < 4; ++quarter) {
    const tone = quarter % 2 ? 1 : kDarkTone;
    for (let i = (quarter * around) / 4; i < ((quarter + 1) * around) / 4; ++i) {
      const at = (k: number) => [Math.cos((2 * Math.PI * k) / around), Math.sin((2 * Math.PI * k) / around)];
      const corner = (k: number, x: number) => {
        const [c, s] = at(k);
        const r = x > 0 ? tip : 1;
        return b.vertex([x, r * c, r * s], new Vector3(slope, c, s).normalize().toArray(), tone);
      };
      const [p, q, r, s] = [corner(i, -1), corner(i + 1, -1), corner(i, 1), corner(i + 1, 1)];
      b.index.push(p, q, r);
      if (tip > 0) b.index.push(q, s, r);
      for (const x of tip > 0 ? [-1, 1] : [-1]) {
        const end = (c: number, d: number) => b.vertex([x, c, d], [x, 0, 0], tone);
        const [u, v] = [at(i), at(i + 1)];
        const [m, f, g] = [end(0, 0), end(u[0], u[1]), end(v[0], v[1])];
        if (x > 0) b.index.push(m, f, g);
        else b.index.push(m, g, f);
      }
    }
  }
  return b.build(false);
}

/** Axis z: position walks round the tube, second along the ring. */
export function torusGeometry(n: number): BufferGeometry {
  const b = new Builder();
  const around = 8 * n;
  const across = 4 * n;
  for (let quarter = 0; quarter < 8; ++quarter) {
    const first = b.position.length / 3;
    for (let i = 0; i <= around / 8; ++i)
      for (let j = 0; j <= across; ++j) {
        const u = (2 * Math.PI * (quarter * (around / 8) + i)) / around;
        const v = (2 * Math.PI * j) / across;
        const p = [Math.cos(u) * Math.cos(v), Math.sin(u) * Math.cos(v), Math.sin(v)];
        b.vertex(p, p, quarter % 2 ? 1 : kDarkTone, [Math.cos(u), Math.sin(u), 0]);
      }
    for (let i = 0; i < around / 8; ++i)
      for (let j = 0; j < across; ++j) {
        const p = first + i * (across + 1) + j;
        const q = p + across + 1;
        b.index.push(p, q, p + 1, q, q + 1, p + 1);
      }
  }
  return b.build(true);
}

export function boxGeometry(): BufferGeometry {
  const g = new BoxGeometry(2, 2, 2);
  g.deleteAttribute('uv');
  g.setAttribute('color', new BufferAttribute(new Float32Array(72).fill(1), 3));
  return g;
}

/** Flat faces: every triangle has its own corners. */
export function hullGeometry(vertices: Float32Array, faces: Uint32Array): BufferGeometry {
  const g = new BufferGeometry();
  const position = new Float32Array(3 * faces.length);
  faces.forEach((v, i) => position.set(vertices.subarray(3 * v, 3 * v + 3), 3 * i));
  g.setAttribute('position', new BufferAttribute(position, 3));
  g.setAttribute('color', new BufferAttribute(new Float32Array(position.length).fill(1), 3));
  g.computeVertexNormals();
  return g;
}

/**
 * A flat convex outline as a fan. `edge` is 0 on the rim and 1 in the middle: the shader divides it
 * by its screen gradient and has the distance to the rim in pixels, whatever the scale.
 */
function fan(outline: number[][], second: number[][] | null, marker: boolean): BufferGeometry {
  const n = outline.length;
  const position: number[] = [];
  const edge: number[] = [];
  const offsets: number[] = [];
  const index: number[] = [];
  let cx = 0;
  let cy = 0;
  if (!second)
    for (const [x, y] of outline) {
      cx += x / n;
      cy += y / n;
    }
  position.push(cx, cy, 0);
  offsets.push(0, 0, 0);
  edge.push(1);
  outline.forEach(([x, y], i) => {
    position.push(x, y, 0);
    offsets.push(second ? second[i][0] : 0, 0, 0);
    edge.push(0);
    index.push(0, 1 + i, 1 + ((i + 1) % n));
  });
  if (marker) {
    // A spoke in the colour of the rim: one sees a disc roll.
    const first = position.length / 3;
    for (const [x, y] of [[0, -0.025], [1, -0.025], [1, 0.025], [0, 0.025]]) {
      position.push(x * 0.985, y, 0.002);
      offsets.push(0, 0, 0);
      edge.push(0);
    }
    index.push(first, first + 1, first + 2, first, first + 2, first + 3);
  }
  const g = new BufferGeometry();
  g.setAttribute('position', new BufferAttribute(new Float32Array(position), 3));
  g.setAttribute('edge', new BufferAttribute(new Float32Array(edge), 1));
  if (second) g.setAttribute('second', new BufferAttribute(new Float32Array(offsets), 3));
  g.setIndex(index);
  return g;
}

function circle(n: number): number[][] {
  return Array.from({ length: n }, (_, i) => [Math.cos((2 * Math.PI * i) / n), Math.sin((2 * Math.PI * i) / n)]);
}

export const discGeometry = (n: number, marker: boolean) => fan(circle(n), null, marker);
export const rectangleGeometry = () => fan([[-1, -1], [1, -1], [1, 1], [-1, 1]], null, false);

export function stadiumGeometry(n: number): BufferGeometry {
  const outline: number[][] = [];
  const second: number[][] = [];
  for (const side of [1, -1])
    for (let i = 0; i <= n; ++i) {
      const angle = (side > 0 ? -0.5 : 0.5) * Math.PI + (Math.PI * i) / n;
      outline.push([Math.cos(angle), Math.sin(angle)]);
      second.push([side]);
    }
  return fan(outline, second, false);
}

export function polygonGeometry(vertices: Float32Array): BufferGeometry {
  const outline: number[][] = [];
  for (let i = 0; i < vertices.length; i += 2) outline.push([vertices[i], vertices[i + 1]]);
  return fan(outline, null, false);
}

/** Largest distance of a point of the shape from the body's origin; 0 for a half-space. */
export function reach(s: Shape): number {
  const offset = Math.hypot(...s.position);
  switch (s.type) {
    case 'sphere':
    case 'disc':
      return offset + s.radius;
    case 'capsule':
    case 'stadium':
      return offset + s.radius + s.halfLength;
    case 'cylinder':
    case 'cone':
      return offset + Math.hypot(s.radius, s.halfLength);
    case 'box':
    case 'rectangle':
      return offset + Math.hypot(...s.half);
    case 'ellipsoid':
    case 'ellipse':
      return offset + Math.max(...s.half);
    case 'torus':
      return offset + s.major + s.minor;
    case 'hull':
    case 'mesh':
    case 'polygon': {
      const step = s.type === 'polygon' ? 2 : 3;
      let r = 0;
      for (let i = 0; i < s.vertices.length; i += step)
        r = Math.max(r, Math.hypot(...s.vertices.subarray(i, i + step)));
      return offset + r;
    }
    case 'half_space':
      return 0;
  }
}

/** One shape in body coordinates, grown by `grow`: the halo of the picked body. */
export function bakedPositions(s: Shape, grow: number): Float32Array {
  const at = new Matrix4();
  const scale = new Vector3(1, 1, 1);
  let g: BufferGeometry | null = null;
  let p0 = 1;
  let p1 = 0;
  switch (s.type) {
    case 'sphere':
    case 'disc':
      g = s.type === 'sphere' ? sphereGeometry(10) : discGeometry(64, false);
      scale.setScalar(s.radius + grow);
      break;
    case 'ellipsoid':
    case 'ellipse':
    case 'box':
    case 'rectangle':
      g = s.type === 'box' ? boxGeometry() : s.type === 'rectangle' ? rectangleGeometry()
        : s.type === 'ellipsoid' ? sphereGeometry(10) : discGeometry(64, false);
      scale.set(s.half[0] + grow, s.half[1] + grow, s.half[2] + grow);
      break;
    case 'capsule':
    case 'stadium':
      g = s.type === 'capsule' ? capsuleGeometry(8) : stadiumGeometry(24);
      p0 = s.radius + grow;
      p1 = s.halfLength;
      break;
    case 'cylinder':
    case 'cone':
      g = turnedGeometry(6, s.type === 'cone' ? 0 : 1);
      scale.set(s.halfLength + grow, s.radius + grow, s.radius + grow);
      break;
    case 'torus':
      g = torusGeometry(5);
      p0 = s.minor + grow;
      p1 = s.major;
      break;
    case 'hull':
    case 'mesh':
      g = hullGeometry(s.vertices, s.faces);
      scale.setScalar(1 + grow / Math.max(reach(s), 1e-9));
      break;
    case 'polygon':
      g = polygonGeometry(s.vertices);
      scale.setScalar(1 + grow / Math.max(reach(s), 1e-9));
      break;
    case 'half_space':
      return new Float32Array(0);
  }
  const [w, x, y, z] = s.quaternion;
  at.compose(new Vector3(...s.position), new Quaternion(x, y, z, w), scale);
  const flat = g.index ? g.toNonIndexed() : g;
  const position = flat.getAttribute('position') as BufferAttribute;
  const second = flat.getAttribute('second') as BufferAttribute | undefined;
  const out = new Float32Array(3 * position.count);
  const v = new Vector3();
  const w2 = new Vector3();
  for (let i = 0; i < position.count; ++i) {
    v.fromBufferAttribute(position, i);
    if (second) v.multiplyScalar(p0).addScaledVector(w2.fromBufferAttribute(second, i), p1);
    v.applyMatrix4(at).toArray(out, 3 * i);
  }
  return out;
}
