// SPDX-License-Identifier: Apache-2.0
// sample.ts: () => a small Run that shows every kind of shape, made from closed forms and one-degree-
// of-freedom equations; the page plays it when it carries no run. Nothing here is the engine.
import type { Body, Quat, Run, Shape, SoftMesh, Vec3 } from './format';

const kGravity = 9.81;
export const kStill: { position: Vec3; quaternion: Quat } = { position: [0, 0, 0], quaternion: [1, 0, 0, 0] };

/** Rotation by `angle` about a unit axis. */
export function turn(axis: Vec3, angle: number): Quat {
  const s = Math.sin(angle / 2);
  return [Math.cos(angle / 2), s * axis[0], s * axis[1], s * axis[2]];
}

export interface BodyState {
  p: Vec3;
  q: Quat;
  v: Vec3;
  w: Vec3;
}

export interface ContactState {
  a: number;
  b: number;
  point: Vec3;
  normal: Vec3; // from b to a
  force: Vec3;
  set: number;
}

/** Collects states frame by frame and packs them into a Run. */
export class Recorder {
  private readonly poses: number[] = [];
  private readonly velocities: number[] = [];
  private readonly contacts: ContactState[] = [];
  private readonly offset = [0];
  private readonly time: number[] = [];

  constructor(readonly name: string, readonly planar: boolean, readonly bodies: Body[]) {}

  frame(t: number, states: BodyState[], contacts: ContactState[]): void {
    this.time.push(t);
    for (const s of states) {
      this.poses.push(...s.p, ...s.q);
      this.velocities.push(...s.v, ...s.w);
    }
    for (const c of contacts) this.contacts.push(c);
    this.offset.push(this.contacts.length);
  }

  run(extra: Partial<Run> = {}): Run {
    const flat = (get: (c: ContactState) => Vec3) => {
      const out = new Float32Array(3 * this.contacts.length);
      this.contacts.forEach((c, i) => out.set(get(c), 3 * i));
      return out;
    };
    return {
      name: this.name, planar: this.planar, frames: this.time.length, count: this.bodies.length, bodies: this.bodies,
      time: Float64Array.from(this.time), poses: Float32Array.from(this.poses), velocities: Float32Array.from(this.velocities),
      alive: null,
      lengths: null,
      contacts: {
        offset: Uint32Array.from(this.offset), a: Int32Array.from(this.contacts, (c) => c.a), b: Int32Array.from(this.contacts, (c) => c.b),
        point: flat((c) => c.point), normal: flat((c) => c.normal), force: flat((c) => c.force),
        set: Uint8Array.from(this.contacts, (c) => c.set),
      },
      joints: [], meshes: [], signals: [], ...extra,
    };
  }
}

export function body(name: string, shapes: Shape[], fixed = false): Body {
  return { name, shapes, fixed, colour: null, visuals: [] };
}

/** Regular icosahedron with circumradius r, one face down. */
export function icosahedron(r: number): { vertices: Float32Array; faces: Uint32Array; key: string; down: number; base: Vec3[] } {
  const g = (1 + Math.sqrt(5)) / 2;
  const raw: Vec3[] = [];
  for (const s of [-1, 1]) for (const t of [-g, g]) raw.push([0, s, t], [s, t, 0], [t, 0, s]);
  // The face (0,-1,-g), (0,1,-g), (g or -g ...) is turned down by a rotation about y.
  const tilt = Math.atan2(1, g * g) - 0; // angle of a face normal from z in the plane y = 0
  const c = Math.cos(tilt);
  const s = Math.sin(tilt);
  const k = r / Math.hypot(1, g);
  const turned = raw.map(([x, y, z]) => [k * (c * x - s * z), k * y, k * (s * x + c * z)] as Vec3);
  const faces: number[] = [];
  const edge = 2 * k * 1.001;
  const far = (a: Vec3, b: Vec3) => Math.hypot(a[0] - b[0], a[1] - b[1], a[2] - b[2]);
  for (let i = 0; i < 12; ++i)
    for (let j = i + 1; j < 12; ++j)
      for (let l = j + 1; l < 12; ++l) {
        const [p, q, o] = [turned[i], turned[j], turned[l]];
        if (far(p, q) > edge || far(q, o) > edge || far(o, p) > edge) continue;
        const n = [
          (q[1] - p[1]) * (o[2] - p[2]) - (q[2] - p[2]) * (o[1] - p[1]),
          (q[2] - p[2]) * (o[0] - p[0]) - (q[0] - p[0]) * (o[2] - p[2]),
          (q[0] - p[0]) * (o[1] - p[1]) - (q[1] - p[1]) * (o[0] - p[0]),
        ];
        const outward = n[0] * p[0] + n[1] * p[1] + n[2] * p[2] > 0;
        faces.push(i, outward ? j : l, outward ? l : j);
      }
  const down = -Math.min(...turned.map((v) => v[2]));
  const base = turned.filter((v) => v[2] < -down + 1e-6 * r);
  return { vertices: Float32Array.from(turned.flat()), faces: Uint32Array.from(faces), key: `icosahedron ${r}`, down, base };
}

/** One step of y'' = f(y, y') by Runge and Kutta. */
function advance(y: number, v: number, dt: number, f: (y: number, v: number) => number): [number, number] {
  const k1 = f(y, v);
  const k2 = f(y + 0.5 * dt * v, v + 0.5 * dt * k1);
  const k3 = f(y + 0.5 * dt * (v + 0.5 * dt * k1), v + 0.5 * dt * k2);
  const k4 = f(y + dt * (v + 0.5 * dt * k2), v + dt * k3);
  return [y + dt * v + (dt * dt / 6) * (k1 + k2 + k3), v + (dt / 6) * (k1 + 2 * k2 + 2 * k3 + k4)];
}

/** Slows by friction from v0, then stays: distance, speed and whether it still slides. */
function braking(v0: number, a: number, t: number): [number, number, boolean] {
  const stop = v0 / a;
  return t < stop ? [v0 * t - 0.5 * a * t * t, v0 - a * t, true] : [0.5 * v0 * stop, 0, false];
}

/** A cantilever that swings in its first mode, as a box of nodes; stress from the curvature. */
function beam(frames: number, dt: number, at: Vec3): SoftMesh {
  const [length, half] = [1.5, 0.09];
  const [nx, ring] = [40, [[-1, -1], [1, -1], [1, 1], [-1, 1]]];
  const nodes = 4 * (nx + 1);
  const triangles: number[] = [];
  for (let i = 0; i < nx; ++i)
    for (let k = 0; k < 4; ++k) {
      const [a, b, c, d] = [4 * i + k, 4 * i + ((k + 1) % 4), 4 * i + 4 + k, 4 * i + 4 + ((k + 1) % 4)];
      triangles.push(a, c, b, b, c, d);
    }
  const e = 4 * nx;
  triangles.push(0, 1, 2, 0, 2, 3, e, e + 2, e + 1, e, e + 3, e + 2);
  // Mode of a clamped-free beam, scaled to 1 at the tip.
  const beta = 1.8751;
  const sigma = 0.7341;
  const mode = (s: number) => 0.5 * (Math.cosh(beta * s) - Math.cos(beta * s) - sigma * (Math.sinh(beta * s) - Math.sin(beta * s)));
  const bend = (s: number) => 0.5 * (Math.cosh(beta * s) + Math.cos(beta * s) - sigma * (Math.sinh(beta * s) + Math.sin(beta * s)));
  const positions = new Float32Array(3 * nodes * frames);
  const scalar = new Float32Array(nodes * frames);
  for (let f = 0; f < frames; ++f) {
    const tip = -0.1 + 0.32 * Math.exp(-0.25 * f * dt) * Math.cos(2 * Math.PI * 1.1 * f * dt);
    for (let i = 0; i <= nx; ++i)
      for (let k = 0; k < 4; ++k) {
        const s = i / nx;
        const slope = (tip * (mode(s + 1e-3) - mode(s - 1e-3))) / 2e-3 / length;
        const o = 3 * (f * nodes + 4 * i + k);
        positions[o] = at[0] + ring[k][0] * half;
        positions[o + 1] = at[1] - s * length + ring[k][1] * half * slope;
        positions[o + 2] = at[2] + tip * mode(s) + ring[k][1] * half;
        scalar[o / 3] = Math.abs(2e9 * half * tip * bend(s) * (beta / length) ** 2);
      }
  }
  return { name: 'beam', nodes, triangles: Uint32Array.from(triangles), positions, scalar, scalarName: 'bending stress [Pa]' };
}

export function gallery(): Run {
  const [frames, dt] = [361, 1 / 60];
  const ico = icosahedron(0.36);
  const [rest, semi] = [0.34, [0.48, 0.3, 0.22] as Vec3];
  const slope = 0.42; // of the ramp [rad]
  const ramp = { a: [-0.9, 0.9], z: [0, 0] };
  ramp.z[1] = 1.8 * Math.tan(slope);
  const rampPoints = [-0.9, 0.9].flatMap((x) => [-0.45, 0.45].flatMap((y) => (x < 0 ? [[x, y, 0], [x, y, 0.02]] : [[x, y, 0], [x, y, ramp.z[1]]]))).flat();
  const wedge: Shape = {
    ...kStill, type: 'hull', key: 'ramp', vertices: Float32Array.from(rampPoints),
    faces: Uint32Array.from([0, 2, 4, 2, 6, 4, 1, 5, 3, 3, 5, 7, 0, 4, 1, 1, 4, 5, 2, 3, 6, 3, 7, 6, 4, 6, 5, 5, 6, 7, 0, 1, 2, 1, 3, 2]),
  };
  const bodies = [
    body('floor', [{ ...kStill, type: 'half_space' }], true),
    body('post', [{ ...kStill, type: 'box', half: [0.09, 0.09, 1.0] }], true),
    body('wall', [{ ...kStill, type: 'box', half: [0.22, 0.1, 0.75] }], true),
    body('ramp', [wedge], true),
    body('ball', [{ ...kStill, type: 'sphere', radius: 0.3 }]),
    body('pendulum', [{ ...kStill, type: 'capsule', radius: 0.09, halfLength: 0.42 },
      { position: [0.5, 0, 0], quaternion: [1, 0, 0, 0], type: 'sphere', radius: 0.17 }]),
    body('egg', [{ ...kStill, type: 'ellipsoid', half: semi }]),
    body('ring', [{ ...kStill, type: 'torus', major: rest, minor: 0.1 }]),
    body('icosahedron', [{ ...kStill, type: 'hull', vertices: ico.vertices, faces: ico.faces, key: ico.key }]),
    body('slider', [{ ...kStill, type: 'box', half: [0.2, 0.2, 0.14] }]),
    ...[0, 1, 2].map((i) => body(`crate ${i + 1}`, [{ ...kStill, type: 'box', half: [0.3 - 0.05 * i, 0.3 - 0.05 * i, 0.2] }])),
    body('bouncer', [{ ...kStill, type: 'sphere', radius: 0.16 }]),
  ];
  const index = new Map(bodies.map((b, i) => [b.name, i]));
  const id = (name: string) => index.get(name) as number;
  const rec = new Recorder('gallery', false, bodies);
  const still = (p: Vec3, q: Quat = [1, 0, 0, 0]): BodyState => ({ p, q, v: [0, 0, 0], w: [0, 0, 0] });
  let swing = 1.25; // pendulum: angle from straight down
  let swingRate = 0;
  let rock = 0.75; // egg: tilt about y
  let rockRate = 0;
  let eggX = 0;
  let [drop, dropRate] = [1.5, 0];
  const slip: number[] = [];
  const energy: number[] = [];
  const [ia, ic] = [semi[0], semi[2]];
  const height = (q: number) => Math.sqrt((ia * Math.sin(q)) ** 2 + (ic * Math.cos(q)) ** 2);
  const dHeight = (q: number) => ((ia * ia - ic * ic) * Math.sin(q) * Math.cos(q)) / height(q);
  const lever2 = (q: number) => height(q) ** 2 + dHeight(q) ** 2;
  const inertia = (ia * ia + ic * ic) / 5;

  for (let k = 0; k < frames; ++k) {
    const t = k * dt;
    const contacts: ContactState[] = [];
    const touch = (a: string, b: string, point: Vec3, normal: Vec3, force: Vec3, set: number) =>
      contacts.push({ a: id(a), b: id(b), point, normal, force, set });
    const up: Vec3 = [0, 0, 1];
    const state = new Map<string, BodyState>();
    state.set('floor', still([0, 0, 0]));
    state.set('post', still([-1.1, 1.05, 1.0]));
    state.set('wall', still([2.1, 0.5, 0.75]));
    state.set('ramp', still([0.4, 1.2, 0]));

    // Backspin: it slides forwards, friction turns the speed round, it rolls back. m = 2 kg.
    const [v0, w0, mu, r, m] = [2.3, -21.4, 0.3, 0.3, 2];
    const grip = (2 * (v0 - r * w0)) / (7 * mu * kGravity);
    const ts = Math.min(t, grip);
    const v = v0 - mu * kGravity * ts;
    const w = w0 + (2.5 * mu * kGravity * ts) / r;
    const x = -0.4 + v0 * ts - 0.5 * mu * kGravity * ts * ts + v * (t - ts);
    const angle = w0 * ts + (1.25 * mu * kGravity * ts * ts) / r + w * (t - ts);
    state.set('ball', { p: [x, -1.35, r], q: turn([0, 1, 0], angle), v: [v, 0, 0], w: [0, w, 0] });
    touch('ball', 'floor', [x, -1.35, 0], up, [t < grip ? -mu * m * kGravity : 0, 0, m * kGravity], t < grip ? 2 : 1);
    slip.push(t < grip ? Math.abs(v - r * w) : 0);

    // Pendulum about y at the top of the post; the arm is 0.75 to its middle.
    const arm = 0.62;
    const pivot: Vec3 = [-1.1, 0.82, 1.86];
    const along: Vec3 = [Math.sin(swing), 0, -Math.cos(swing)];
    state.set('pendulum', {
      p: [pivot[0] + arm * along[0], pivot[1], pivot[2] + arm * along[2]], q: turn([0, 1, 0], Math.PI / 2 - swing),
      v: [arm * Math.cos(swing) * swingRate, 0, arm * Math.sin(swing) * swingRate], w: [0, -swingRate, 0],
    });
    [swing, swingRate] = advance(swing, swingRate, dt, (q, s) => (-kGravity / 0.85) * Math.sin(q) - 0.05 * s);

    // An ellipsoid rocks without sliding: (I + rho^2) q'' + rho rho' q'^2 + g h' = 0, per unit mass.
    const h = height(rock);
    const cx = -2.1 + eggX;
    state.set('egg', {
      p: [cx, -0.15, h], q: turn([0, 1, 0], rock), v: [h * rockRate, 0, dHeight(rock) * rockRate], w: [0, rockRate, 0],
    });
    touch('egg', 'floor', [cx + dHeight(rock), -0.15, 0], up, [0, 0, 1.5 * kGravity], 1);
    const before = rock;
    [rock, rockRate] = advance(rock, rockRate, dt, (q, s) =>
      -(0.5 * s * s * (lever2(q + 1e-5) - lever2(q - 1e-5)) / 2e-5 + kGravity * dHeight(q)) / (inertia + lever2(q)));
    eggX += 0.5 * (height(before) + height(rock)) * (rock - before);

    // Rolls upright, straight ahead.
    const pace = 0.34;
    const roll = rest + 0.1;
    const ringX = -1.0 + pace * t;
    const turned = turn([0, 1, 0], (pace * t) / roll);
    const lay = turn([1, 0, 0], Math.PI / 2);
    state.set('ring', {
      p: [ringX, -0.62, roll],
      q: [turned[0] * lay[0], turned[0] * lay[1], turned[2] * lay[0], -turned[2] * lay[1]],
      v: [pace, 0, 0], w: [0, pace / roll, 0],
    });
    touch('ring', 'floor', [ringX, -0.62, 0], up, [0, 0, 1.2 * kGravity], 1);

    // Pushed once, stopped by friction.
    const [icoS, icoV, icoSlides] = braking(1.9, 0.22 * kGravity, Math.max(0, t - 0.6));
    const moving = t > 0.6;
    const icoAt: Vec3 = [2.35 - (moving ? icoS : 0), -0.95, ico.down];
    state.set('icosahedron', { ...still(icoAt), v: [moving ? -icoV : 0, 0, 0] });
    for (const c of ico.base)
      touch('icosahedron', 'floor', [icoAt[0] + c[0], icoAt[1] + c[1], 0], up,
        [moving && icoSlides ? 0.22 * 1.1 * kGravity : 0, 0, 1.1 * kGravity], moving && icoSlides ? 2 : 1);

    // Down the ramp with friction above the slope: it slows down and stays.
    const down: Vec3 = [-Math.cos(slope), 0, -Math.sin(slope)];
    const normal: Vec3 = [-Math.sin(slope), 0, Math.cos(slope)];
    const brake = kGravity * (0.75 * Math.cos(slope) - Math.sin(slope));
    const [s, sv, slides] = braking(2.0, brake, t);
    const load = 1.6 * kGravity;
    const pull = slides ? 0.75 * load * Math.cos(slope) : load * Math.sin(slope);
    const reachX = 0.62 - s * Math.cos(slope);
    const top: Vec3 = [0.4 + reachX, 1.2, (reachX + 0.9) * Math.tan(slope)];
    state.set('slider', {
      p: [top[0] + 0.14 * normal[0], 1.2, top[2] + 0.14 * normal[2] + 0.012], q: turn([0, 1, 0], -slope),
      v: [down[0] * sv, 0, down[2] * sv], w: [0, 0, 0],
    });
    for (const [i, j] of [[-1, -1], [1, -1], [1, 1], [-1, 1]])
      touch('slider', 'ramp', [top[0] - 0.2 * i * down[0], 1.2 + 0.2 * j, top[2] - 0.2 * i * down[2] + 0.012], normal,
        [0, 1, 2].map((d) => 0.25 * (load * Math.cos(slope) * normal[d] - pull * down[d])) as Vec3, slides ? 2 : 1);

    // Crates at rest: each corner carries a quarter of what stands above.
    let above = 0;
    for (let i = 2; i >= 0; --i) {
      above += (3 - 0.8 * i) * kGravity;
      state.set(`crate ${i + 1}`, still([1.35, -0.1, 0.2 + 0.4 * i]));
      const c = 0.3 - 0.05 * i;
      for (const [a, b] of [[-c, -c], [c, -c], [c, c], [-c, c]])
        touch(`crate ${i + 1}`, i === 0 ? 'floor' : `crate ${i}`, [1.35 + a, -0.1 + b, 0.4 * i], up, [0, 0, above / 4], 1);
    }

    // Bounces on the crates with restitution 0.8, in steps fine enough to see the impact.
    const bottom = 1.2 + 0.16;
    state.set('bouncer', { ...still([1.35, -0.1, bottom + drop]), v: [0, 0, dropRate] });
    for (let i = 0; i < 20; ++i) {
      dropRate -= (kGravity * dt) / 20;
      drop += (dropRate * dt) / 20;
      if (drop < 0) {
        drop = 0;
        dropRate = Math.abs(dropRate) < 0.15 ? 0 : -0.8 * dropRate;
      }
    }
    if (drop < 1e-6) touch('bouncer', 'crate 3', [1.35, -0.1, 1.2], up, [0, 0, 0.5 * kGravity], 1);

    const masses: Record<string, [number, number]> = { ball: [2, 0.4 * 0.09], pendulum: [1, 0.06], egg: [1.5, inertia], ring: [1.2, 0.14], icosahedron: [1.1, 0], slider: [1.6, 0], bouncer: [0.5, 0] };
    energy.push(Object.entries(masses).reduce((sum, [name, [mass, gyration]]) => {
      const b = state.get(name) as BodyState;
      const sq = (u: Vec3) => u[0] ** 2 + u[1] ** 2 + u[2] ** 2;
      return sum + mass * (0.5 * sq(b.v) + 0.5 * gyration * sq(b.w) + kGravity * b.p[2]);
    }, 0));
    rec.frame(t, bodies.map((b) => state.get(b.name) as BodyState), contacts);
  }
  return rec.run({
    joints: [{ name: 'hinge', type: 'revolute', a: id('pendulum'), b: id('post'), anchor: [-0.62, 0, 0], axis: [0, 1, 0] }],
    meshes: [beam(frames, dt, [2.1, 0.42, 1.2])],
    signals: [
      { name: 'energy [J]', values: Float64Array.from(energy) },
      { name: 'slip of the ball [m/s]', values: Float64Array.from(slip) },
    ],
  });
}
