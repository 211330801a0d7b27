// SPDX-License-Identifier: Apache-2.0
// sample.ts: () => three runs to look at and to test with: a pyramid, a planar sieve, a pile of many.
// Toys: closed forms and a position-based heap of balls, enough to give a page something to draw.
import type { Body, Run, Shape, Vec3 } from '../src/format';
import { body, icosahedron, kStill, Recorder, turn, type BodyState, type ContactState } from '../src/sample';

const kGravity = 9.81;

/** The same numbers on every machine. */
export class SplitMix {
  private state: bigint;
  constructor(seed: number) { this.state = BigInt(seed); }
  next(): number {
    const mask = (1n << 64n) - 1n;
    this.state = (this.state + 0x9e3779b97f4a7c15n) & mask;
    let z = this.state;
    z = ((z ^ (z >> 30n)) * 0xbf58476d1ce4e5b9n) & mask;
    z = ((z ^ (z >> 27n)) * 0x94d049bb133111ebn) & mask;
    return Number((z ^ (z >> 31n)) >> 11n) / 2 ** 53;
  }
}

/** A pyramid of cubes: they fall into place row by row; what lies carries what has landed on it. */
export function stack(rows = 9): Run {
  const [h, mass, dt, frames] = [0.25, 5, 1 / 60, 240];
  const bodies: Body[] = [body('floor', [{ ...kStill, type: 'half_space' }], true)];
  const cubes: { row: number; column: number; x: number; z: number; lands: number; from: number }[] = [];
  const id = new Map<string, number>();
  for (let row = 0; row < rows; ++row)
    for (let column = 0; column < rows - row; ++column) {
      const from = 0.5 + 0.25 * row + 0.03 * ((7 * column + 3 * row) % 5);
      const start = 0.22 * row + 0.02 * column;
      cubes.push({
        row, column, x: (column - (rows - row - 1) / 2) * 2.06 * h, z: h + 2 * h * row, from, lands: start + Math.sqrt((2 * from) / kGravity),
      });
      id.set(`${row},${column}`, bodies.length);
      bodies.push(body(`cube ${row + 1}.${column + 1}`, [{ ...kStill, type: 'box', half: [h, h, h] }]));
    }
  const ball = bodies.length;
  bodies.push(body('ball', [{ ...kStill, type: 'sphere', radius: 0.3 }]));
  const rec = new Recorder('stack', false, bodies);
  for (let k = 0; k < frames; ++k) {
    const t = k * dt;
    const states: BodyState[] = [{ p: [0, 0, 0], q: [1, 0, 0, 0], v: [0, 0, 0], w: [0, 0, 0] }];
    const contacts: ContactState[] = [];
    const load = new Map<string, number>();
    for (const c of cubes) {
      const start = c.lands - Math.sqrt((2 * c.from) / kGravity);
      const s = Math.max(0, Math.min(t, c.lands) - start);
      states.push({ p: [c.x, 0, c.z + c.from - 0.5 * kGravity * s * s], q: [1, 0, 0, 0], v: [0, 0, t < c.lands ? -kGravity * s : 0], w: [0, 0, 0] });
    }
    for (const c of [...cubes].reverse()) {
      if (t < c.lands) continue;
      const key = `${c.row},${c.column}`;
      const weight = (load.get(key) ?? 0) + mass * kGravity;
      const under = c.row === 0 ? ['floor'] : [`${c.row - 1},${c.column}`, `${c.row - 1},${c.column + 1}`];
      for (const [side, u] of under.entries()) {
        load.set(u, (load.get(u) ?? 0) + weight / under.length);
        const [from, to] = c.row === 0 ? [-h, h] : side === 0 ? [-h, -0.03 * h] : [0.03 * h, h];
        for (const [x, y] of [[from, -h], [to, -h], [to, h], [from, h]])
          contacts.push({
            a: id.get(key) as number, b: c.row === 0 ? 0 : (id.get(u) as number), point: [c.x + x, y, c.z - h], normal: [0, 0, 1],
            force: [0, 0, weight / under.length / 4], set: 1,
          });
      }
    }
    const v = 1.5;
    const x = -3 + v * t;
    states.push({ p: [x, -1.2, 0.3], q: turn([0, 1, 0], (v * t) / 0.3), v: [v, 0, 0], w: [0, v / 0.3, 0] });
    contacts.push({ a: ball, b: 0, point: [x, -1.2, 0], normal: [0, 0, 1], force: [0, 0, 4 * kGravity], set: 1 });
    rec.frame(t, states, contacts);
  }
  const energy = (run: Run, k: number) => cubes.reduce((sum, _, i) => {
    const o = k * run.count + 1 + i;
    const speed = run.velocities as Float32Array;
    return sum + mass * (0.5 * speed[6 * o + 2] ** 2 + kGravity * run.poses[7 * o + 2]);
  }, 0);
  const run = rec.run();
  run.signals = [{ name: 'energy [J]', values: Float64Array.from(run.time, (_, k) => energy(run, k)) }];
  return run;
}

interface Wall {
  body: number;
  /** Distance and outward normal of a point. */
  gap(p: Vec3): [number, Vec3];
}

interface Touch {
  i: number;
  j: number; // ball, or -1 - wall
  normal: Vec3;
  push: number;
}

/** Balls pushed apart until nothing overlaps, velocities from the positions; cells of one diameter. */
export class Heap {
  readonly p: Float64Array;
  readonly v: Float64Array;
  readonly spin: Float64Array; // angle along the last direction of motion, for show
  touches: Touch[] = [];

  constructor(readonly r: Float64Array, positions: Vec3[], readonly walls: Wall[], readonly planar: boolean, readonly down: Vec3) {
    this.p = Float64Array.from(positions.flat());
    this.v = new Float64Array(this.p.length);
    this.spin = new Float64Array(positions.length);
  }

  step(dt: number, rounds: number, record: boolean): void {
    const { p, v, r } = this;
    const n = r.length;
    const old = p.slice();
    for (let i = 0; i < n; ++i)
      for (let d = 0; d < 3; ++d) {
        v[3 * i + d] = 0.999 * v[3 * i + d] + dt * this.down[d];
        p[3 * i + d] += dt * v[3 * i + d];
      }
    const pairs = this.pairs();
    if (record) this.touches = [];
    for (let round = 0; round < rounds; ++round) {
      const note = record && round === rounds - 1;
      for (let k = 0; k < pairs.length; k += 2) this.separate(pairs[k], pairs[k + 1], old, note);
      for (let i = 0; i < n; ++i) this.walls.forEach((w, j) => this.keepOut(i, w, j, old, note));
    }
    for (let k = 0; k < p.length; ++k) v[k] = (p[k] - old[k]) / dt;
    for (let i = 0; i < n; ++i) this.spin[i] -= (p[3 * i] - old[3 * i]) / r[i];
  }

  /** Pairs nearer than a tenth beyond touching; a hashed grid in flat arrays. */
  private pairs(): number[] {
    const { p, r } = this;
    const n = r.length;
    const cell = 2.2 * r.reduce((most, x) => Math.max(most, x), 0);
    const size = 1 << 16;
    const head = new Int32Array(size).fill(-1);
    const next = new Int32Array(n);
    const hash = (x: number, y: number, z: number) => (Math.imul(x, 73856093) ^ Math.imul(y, 19349663) ^ Math.imul(z, 83492791)) & (size - 1);
    const out: number[] = [];
    const dz = this.planar ? 0 : 1;
    const seen: number[] = [];
    for (let i = 0; i < n; ++i) {
      const x = Math.floor(p[3 * i] / cell), y = Math.floor(p[3 * i + 1] / cell), z = Math.floor(p[3 * i + 2] / cell);
      seen.length = 0;
      for (let a = -1; a <= 1; ++a)
        for (let b = -1; b <= 1; ++b)
          for (let c = -dz; c <= dz; ++c) {
            const h = hash(x + a, y + b, z + c);
            if (seen.includes(h)) continue; // two cells in one bucket: a pair only once
            seen.push(h);
            for (let j = head[h]; j >= 0; j = next[j]) {
              const reach = 1.1 * (r[i] + r[j]);
              const dx = p[3 * i] - p[3 * j], dy = p[3 * i + 1] - p[3 * j + 1], e = p[3 * i + 2] - p[3 * j + 2];
              if (dx * dx + dy * dy + e * e < reach * reach) out.push(i, j);
            }
          }
      const h = hash(x, y, z);
      next[i] = head[h];
      head[h] = i;
    }
    return out;
  }

  private separate(i: number, j: number, old: Float64Array, note: boolean): void {
    const { p, r } = this;
    const dx = p[3 * i] - p[3 * j], dy = p[3 * i + 1] - p[3 * j + 1], dz = p[3 * i + 2] - p[3 * j + 2];
    const far = Math.sqrt(dx * dx + dy * dy + dz * dz);
    const push = r[i] + r[j] - far;
    if (push <= 0 || far === 0) return;
    const normal: Vec3 = [dx / far, dy / far, dz / far];
    for (let k = 0; k < 3; ++k) {
      p[3 * i + k] += 0.5 * push * normal[k];
      p[3 * j + k] -= 0.5 * push * normal[k];
    }
    this.rub(i, j, normal, push, old);
    if (note) this.touches.push({ i, j, normal, push });
  }

  private keepOut(i: number, wall: Wall, index: number, old: Float64Array, note: boolean): void {
    const { p, r } = this;
    const [gap, normal] = wall.gap([p[3 * i], p[3 * i + 1], p[3 * i + 2]]);
    const push = r[i] - gap;
    if (push <= 0) return;
    for (let k = 0; k < 3; ++k) p[3 * i + k] += push * normal[k];
    this.rub(i, -1, normal, push, old);
    if (note) this.touches.push({ i, j: -1 - index, normal, push });
  }

  /** Takes part of the tangential motion of this step away. */
  private rub(i: number, j: number, n: Vec3, push: number, old: Float64Array): void {
    const { p } = this;
    const own = j >= 0;
    const x = p[3 * i] - old[3 * i] - (own ? p[3 * j] - old[3 * j] : 0);
    const y = p[3 * i + 1] - old[3 * i + 1] - (own ? p[3 * j + 1] - old[3 * j + 1] : 0);
    const z = p[3 * i + 2] - old[3 * i + 2] - (own ? p[3 * j + 2] - old[3 * j + 2] : 0);
    const along = x * n[0] + y * n[1] + z * n[2];
    const tx = x - along * n[0], ty = y - along * n[1], tz = z - along * n[2];
    const size = Math.sqrt(tx * tx + ty * ty + tz * tz);
    if (size === 0) return;
    const share = (own ? 0.5 : 1) * Math.min(1, (0.4 * push) / size);
    p[3 * i] -= share * tx;
    p[3 * i + 1] -= share * ty;
    p[3 * i + 2] -= share * tz;
    if (!own) return;
    p[3 * j] += share * tx;
    p[3 * j + 1] += share * ty;
    p[3 * j + 2] += share * tz;
  }
}

function heapContacts(heap: Heap, first: number, mass: (i: number) => number, dt: number): ContactState[] {
  return heap.touches.map(({ i, j, normal, push }) => {
    const { p, v, r } = heap;
    const force = (mass(i) * push) / (dt * dt);
    const slide = [0, 1, 2].map((k) => v[3 * i + k] - (j >= 0 ? v[3 * j + k] : 0));
    const along = slide[0] * normal[0] + slide[1] * normal[1] + slide[2] * normal[2];
    const size = Math.hypot(...slide.map((x, k) => x - along * normal[k]));
    return {
      a: first + i, b: j >= 0 ? first + j : heap.walls[-1 - j].body,
      point: [0, 1, 2].map((k) => p[3 * i + k] - r[i] * normal[k]) as Vec3, normal,
      force: normal.map((x) => force * x) as Vec3, set: size > 0.05 ? 2 : 1,
    };
  });
}

function plane(index: number, at: Vec3, normal: Vec3): Wall {
  return { body: index, gap: (p) => [(p[0] - at[0]) * normal[0] + (p[1] - at[1]) * normal[1] + (p[2] - at[2]) * normal[2], normal] };
}

/** Convex outline, counter-clockwise, in the plane. */
function outline(index: number, points: number[][], grow: number): Wall {
  return {
    body: index,
    gap: ([x, y]) => {
      let [best, nx, ny, inside] = [Infinity, 0, 1, true];
      let [deep, dx, dy] = [-Infinity, 0, 1];
      points.forEach(([ax, ay], i) => {
        const [bx, by] = points[(i + 1) % points.length];
        const [ex, ey] = [bx - ax, by - ay];
        const length = Math.hypot(ex, ey) || 1;
        const s = Math.max(0, Math.min(1, ((x - ax) * ex + (y - ay) * ey) / (length * length)));
        const [qx, qy] = [x - ax - s * ex, y - ay - s * ey];
        const d = Math.hypot(qx, qy);
        const side = ((x - ax) * ey - (y - ay) * ex) / length;
        if (side > 0) inside = false;
        if (side > deep) [deep, dx, dy] = [side, ey / length, -ex / length];
        if (d < best && d > 0) [best, nx, ny] = [d, qx / d, qy / d];
      });
      return points.length > 2 && inside ? [deep - grow, [dx, dy, 0]] : [best - grow, [nx, ny, 0]];
    },
  };
}

const around = (n: number, f: (angle: number) => number[]) => Array.from({ length: n }, (_, i) => f((2 * Math.PI * i) / n));

/** Discs fall through pegs of every planar shape into a trough; a pendulum swings beside. */
export function planar(count = 260, frames = 240): Run {
  const random = new SplitMix(7);
  const bodies: Body[] = [];
  const walls: Wall[] = [];
  const states: BodyState[] = [];
  const still = (p: Vec3, angle = 0): BodyState => ({ p, q: turn([0, 0, 1], angle), v: [0, 0, 0], w: [0, 0, 0] });
  const put = (name: string, shape: Shape, at: Vec3, angle: number, points: number[][], grow = 0) => {
    const [c, s] = [Math.cos(angle), Math.sin(angle)];
    walls.push(outline(bodies.length, points.map(([x, y]) => [at[0] + c * x - s * y, at[1] + s * x + c * y]), grow));
    bodies.push(body(name, [shape], true));
    states.push(still(at, angle));
  };
  for (const [name, at, angle] of [['floor', [0, 0, 0], 0], ['left wall', [-3, 0, 0], -1.15], ['right wall', [3, 0, 0], 1.15]] as [string, Vec3, number][]) {
    walls.push(plane(bodies.length, at, [-Math.sin(angle), Math.cos(angle), 0]));
    bodies.push(body(name, [{ ...kStill, type: 'half_space' }], true));
    states.push(still(at, angle));
  }
  put('bar', { ...kStill, type: 'stadium', radius: 0.14, halfLength: 0.6 }, [-1.5, 2.5, 0], -0.35, [[-0.6, 0], [0.6, 0]], 0.14);
  put('bar 2', { ...kStill, type: 'stadium', radius: 0.14, halfLength: 0.6 }, [1.6, 2.3, 0], 0.35, [[-0.6, 0], [0.6, 0]], 0.14);
  put('plank', { ...kStill, type: 'rectangle', half: [0.62, 0.12, 0] }, [0, 3.4, 0], 0.25, [[-0.62, -0.12], [0.62, -0.12], [0.62, 0.12], [-0.62, 0.12]]);
  const hexagon = around(6, (a) => [0.34 * Math.cos(a), 0.34 * Math.sin(a)]);
  put('hexagon', { ...kStill, type: 'polygon', vertices: Float32Array.from(hexagon.flat()), key: 'hexagon' }, [0.1, 1.6, 0], 0.2, hexagon);
  const triangle = [[-0.4, -0.25], [0.4, -0.25], [0, 0.42]];
  put('triangle', { ...kStill, type: 'polygon', vertices: Float32Array.from(triangle.flat()), key: 'triangle' }, [-1.5, 1.1, 0], 0, triangle);
  put('ellipse', { ...kStill, type: 'ellipse', half: [0.5, 0.24, 0] }, [1.5, 1.0, 0], 0.3, around(40, (a) => [0.5 * Math.cos(a), 0.24 * Math.sin(a)]));
  const arm = bodies.length;
  bodies.push(body('pendulum', [{ ...kStill, type: 'rectangle', half: [0.55, 0.06, 0] }, { position: [0.55, 0, 0], quaternion: [1, 0, 0, 0], type: 'disc', radius: 0.17 }]));
  const first = bodies.length;
  const radii = new Float64Array(count);
  const start: Vec3[] = [];
  for (let i = 0; i < count; ++i) {
    radii[i] = 0.075 + 0.06 * random.next();
    const level = Math.floor(i / 20);
    start.push([-2.95 + 0.31 * ((i % 20) + 0.5 * (level % 2)) + 0.1 * random.next(), 4.2 + 0.29 * level, 0]);
    bodies.push(body(`disc ${i + 1}`, [{ ...kStill, type: 'disc', radius: radii[i] }]));
  }
  const heap = new Heap(radii, start, walls, true, [0, -kGravity, 0]);
  const rec = new Recorder('planar', true, bodies);
  const mass = (i: number) => 100 * radii[i] ** 2;
  const energy: number[] = [];
  const deepest: number[] = [];
  const [dt, inner] = [1 / 60, 4];
  let [q, rate] = [1.1, 0];
  for (let k = 0; k < frames; ++k) {
    const across: Vec3 = [Math.sin(q), -Math.cos(q), 0];
    const pendulum: BodyState = {
      p: [3.1 + 0.55 * across[0], 4.6 + 0.55 * across[1], 0], q: turn([0, 0, 1], q - Math.PI / 2),
      v: [0.55 * Math.cos(q) * rate, 0.55 * Math.sin(q) * rate, 0], w: [0, 0, rate],
    };
    const discs: BodyState[] = start.map((_, i) => ({
      p: [heap.p[3 * i], heap.p[3 * i + 1], 0], q: turn([0, 0, 1], heap.spin[i]),
      v: [heap.v[3 * i], heap.v[3 * i + 1], 0], w: [0, 0, -heap.v[3 * i] / radii[i]],
    }));
    rec.frame(k * dt, [...states, pendulum, ...discs], heapContacts(heap, first, mass, dt / inner));
    energy.push(discs.reduce((s, d, i) => s + mass(i) * (0.5 * (d.v[0] ** 2 + d.v[1] ** 2) + kGravity * d.p[1]), 0));
    deepest.push(Math.max(1e-9, ...heap.touches.map((x) => x.push)));
    for (let i = 0; i < inner; ++i) heap.step(dt / inner, 6, i === inner - 1);
    for (let i = 0; i < 8; ++i) {
      rate -= ((kGravity / 0.9) * Math.sin(q) * dt) / 8;
      q += (rate * dt) / 8;
    }
  }
  return rec.run({
    joints: [{ name: 'hinge', type: 'revolute', a: arm, b: -1, anchor: [-0.55, 0, 0], axis: [0, 0, 1] }],
    signals: [{ name: 'energy [J]', values: Float64Array.from(energy) }, { name: 'deepest [m]', values: Float64Array.from(deepest) }],
  });
}

/** Many bodies of six kinds: a block of them collapses into a box of five half-spaces. */
export function pile(count = 10000, frames = 24, stride = 9): Run {
  const random = new SplitMix(11);
  const r = 0.1;
  const side = 3.1 * Math.cbrt(count / 10000);
  const bodies: Body[] = [];
  const walls: Wall[] = [];
  const quarter = Math.PI / 2;
  const sides: [string, Vec3, Vec3, [Vec3, number]][] = [
    ['floor', [0, 0, 0], [0, 0, 1], [[0, 0, 1], 0]],
    ['west', [-side, 0, 0], [1, 0, 0], [[0, 1, 0], quarter]], ['east', [side, 0, 0], [-1, 0, 0], [[0, 1, 0], -quarter]],
    ['south', [0, -side, 0], [0, 1, 0], [[1, 0, 0], -quarter]], ['north', [0, side, 0], [0, -1, 0], [[1, 0, 0], quarter]],
  ];
  const fixed: BodyState[] = sides.map(([name, at, normal, [axis, angle]]) => {
    walls.push(plane(bodies.length, at, normal));
    bodies.push(body(name, [{ ...kStill, type: 'half_space' }], true));
    return { p: at, q: turn(axis, angle), v: [0, 0, 0], w: [0, 0, 0] };
  });
  const first = bodies.length;
  const hulls = [0.98, 1.02, 1.06].map((k) => icosahedron(k * r));
  const start: Vec3[] = [];
  const [row, column] = [Math.floor((0.9 * side) / (2.2 * r)), Math.floor((2 * side - 2 * r) / (2.2 * r))];
  const tilt: [Vec3, number][] = [];
  for (let i = 0; i < count; ++i) {
    const pick = random.next();
    const shape: Shape =
      pick < 0.4 ? { ...kStill, type: 'sphere', radius: r }
      : pick < 0.55 ? { ...kStill, type: 'box', half: [0.078, 0.07, 0.062] }
      : pick < 0.7 ? { ...kStill, type: 'capsule', radius: 0.062, halfLength: 0.05 }
      : pick < 0.8 ? { ...kStill, type: 'ellipsoid', half: [0.115, 0.09, 0.08] }
      : pick < 0.9 ? { ...kStill, type: 'torus', major: 0.072, minor: 0.034 }
      : { ...kStill, type: 'hull', ...hulls[i % 3] };
    bodies.push(body(`${shape.type} ${i + 1}`, [shape]));
    const level = Math.floor(i / (row * column));
    const jitter = () => 0.3 * r * (random.next() - 0.5);
    start.push([
      -side + 1.2 * r + 2.2 * r * (i % row) + jitter(), -side + 1.2 * r + 2.2 * r * (Math.floor(i / row) % column) + jitter(),
      1.2 * r + 2.2 * r * level + jitter() + 0.05,
    ]);
    const a: Vec3 = [random.next() - 0.5, random.next() - 0.5, random.next() - 0.5];
    const n = Math.hypot(...a) || 1;
    tilt.push([[a[0] / n, a[1] / n, a[2] / n], 6.28 * random.next()]);
  }
  const heap = new Heap(new Float64Array(count).fill(r), start, walls, false, [0, 0, -kGravity]);
  const rec = new Recorder(count >= 10000 ? 'pile of ten thousand' : 'pile', false, bodies);
  const dt = 1 / 150;
  for (let k = 0; k < frames; ++k) {
    rec.frame(k * stride * dt, [
      ...fixed,
      ...start.map((_, i): BodyState => ({
        p: [heap.p[3 * i], heap.p[3 * i + 1], heap.p[3 * i + 2]], q: turn(tilt[i][0], tilt[i][1] + heap.spin[i]),
        v: [heap.v[3 * i], heap.v[3 * i + 1], heap.v[3 * i + 2]], w: [0, 0, 0],
      })),
    ], heapContacts(heap, first, () => 4, dt));
    for (let i = 0; i < stride; ++i) heap.step(dt, 3, i === stride - 1);
  }
  return rec.run();
}
