// SPDX-License-Identifier: Apache-2.0
// measure.ts: run => sizes for the camera, ranges for colour scales, derived signals.
// Ranges are of the whole run, so that a colour means the same in every frame.
import type { Run, Signal } from './format';
import { bakedPositions, reach } from './geometry';

export interface Extent {
  centre: [number, number, number];
  radius: number;
  low: [number, number, number];
  high: [number, number, number];
  bodyRadius: number[]; // reach of each body from its origin
  cloud: number[]; // x y z r of some bodies in some frames: what the camera must hold
}

/** Frames looked at where all would be too many. */
function sampled(run: Run, most: number): number[] {
  const n = Math.min(run.frames, most);
  return Array.from({ length: n }, (_, i) => Math.round((i * (run.frames - 1)) / Math.max(n - 1, 1)));
}

type Box = Float64Array; // low x y z, high x y z

function emptyBox(): Box {
  return Float64Array.of(Infinity, Infinity, Infinity, -Infinity, -Infinity, -Infinity);
}

function include(box: Box, x: number, y: number, z: number): void {
  if (!Number.isFinite(x + y + z)) return;
  const p = [x, y, z];
  for (let i = 0; i < 3; ++i) {
    box[i] = Math.min(box[i], p[i]);
    box[3 + i] = Math.max(box[3 + i], p[i]);
  }
}

/** Box of a body in its own frame; empty without an extent. Equal bodies are looked at once. */
function localBoxes(run: Run): Box[] {
  const known = new Map<string, Box>();
  return run.bodies.map((b) => {
    const key = JSON.stringify(b.shapes.map((s) => ('key' in s ? [s.key, s.position, s.quaternion] : s)));
    let box = known.get(key);
    if (!box) {
      box = emptyBox();
      for (const s of b.shapes) {
        const p = bakedPositions(s, 0);
        for (let i = 0; i < p.length; i += 3) include(box, p[i], p[i + 1], p[i + 2]);
      }
      known.set(key, box);
    }
    return box;
  });
}

/** Box of a body as it stands in a frame: its turned box, but no further than its reach. */
function bodyBox(out: Box, local: Box, reach: number, p: Float32Array, o: number): void {
  out.set(emptyBox());
  const [w, x, y, z] = [p[o + 3], p[o + 4], p[o + 5], p[o + 6]];
  for (let i = 0; i < 8; ++i) {
    const a = local[i & 1 ? 3 : 0], b = local[i & 2 ? 4 : 1], c = local[i & 4 ? 5 : 2];
    const tx = 2 * (y * c - z * b), ty = 2 * (z * a - x * c), tz = 2 * (x * b - y * a);
    include(out, p[o] + a + w * tx + y * tz - z * ty, p[o + 1] + b + w * ty + z * tx - x * tz, p[o + 2] + c + w * tz + x * ty - y * tx);
  }
  for (let d = 0; d < 3; ++d) {
    out[d] = Math.max(out[d], p[o + d] - reach);
    out[3 + d] = Math.min(out[3 + d], p[o + d] + reach);
  }
}

function join(out: Box, other: Box): void {
  for (let d = 0; d < 3; ++d) {
    out[d] = Math.min(out[d], other[d]);
    out[3 + d] = Math.max(out[3 + d], other[3 + d]);
  }
}

function sizeOf(box: Box): number {
  return Math.max(box[3] - box[0], box[4] - box[1], box[5] - box[2]);
}

/** Is `inner` within `box` grown by `share` of its size on every side? */
function nearBy(inner: Box, box: Box, share: number): boolean {
  const room = share * sizeOf(box);
  return [0, 1, 2].every((i) => inner[i] >= box[i] - room && inner[3 + i] <= box[3 + i] + room);
}

/** How far a point is outside a box; inside: 0. */
function awayFrom(box: Box, p: Float32Array, o: number): number {
  return Math.hypot(...[0, 1, 2].map((d) => Math.max(0, box[d] - p[o + d], p[o + d] - box[3 + d])));
}

const kMostMotion = 0.75; // of all places where bodies were seen
const kMostBodies = 500; // that are asked for it

/** Box around the bodies, without those that fly away and without huge fixed ones. */
export function extentOf(run: Run): Extent {
  const local = localBoxes(run);
  const bodyRadius = run.bodies.map((b) => Math.max(0, ...b.shapes.map(reach)));
  const all = run.bodies.map((_, i) => i).filter((i) => bodyRadius[i] > 0);
  const moving = all.filter((i) => !run.bodies[i].fixed);
  const alive = (k: number, i: number) => !run.alive || run.alive[k * run.count + i] !== 0;
  const box = emptyBox();
  const one = emptyBox();
  const at = (k: number, i: number) => bodyBox(one, local[i], bodyRadius[i], run.poses, 7 * (k * run.count + i));
  const cloud: number[] = [];
  // The ball around the origin or around the box, whichever is smaller: an origin may lie far off its body.
  const hold = (k: number, i: number) => {
    const o = 7 * (k * run.count + i);
    const half = 0.5 * Math.hypot(one[3] - one[0], one[4] - one[1], one[5] - one[2]);
    if (half < bodyRadius[i]) cloud.push(0.5 * (one[0] + one[3]), 0.5 * (one[1] + one[4]), 0.5 * (one[2] + one[5]), half);
    else cloud.push(run.poses[o], run.poses[o + 1], run.poses[o + 2], bodyRadius[i]);
  };
  for (const i of moving)
    if (alive(0, i)) {
      at(0, i);
      join(box, one);
      hold(0, i);
    }
  for (const m of run.meshes) for (let i = 0; i < 3 * m.nodes; i += 3) {
    include(box, m.positions[i], m.positions[i + 1], m.positions[i + 2]);
    cloud.push(m.positions[i], m.positions[i + 1], m.positions[i + 2], 0);
  }
  // Where most of the motion is: a thrown ball ends far from where it began. What only few do does not count.
  const some = moving.filter((_, n) => n % Math.ceil(moving.length / kMostBodies) === 0);
  const far = some.flatMap((i) =>
    sampled(run, 16).filter((k) => alive(k, i)).map((k) => ({ k, i, away: awayFrom(box, run.poses, 7 * (k * run.count + i)) })));
  far.sort((a, b) => a.away - b.away);
  for (const { k, i } of far.slice(0, Math.floor(kMostMotion * far.length))) {
    at(k, i);
    join(box, one);
    hold(k, i);
  }
  const start = box.slice();
  const takeIfNear = (k: number, i: number, share: number) => {
    at(k, i);
    if (sizeOf(start) >= 0 && !nearBy(one, start, share)) return;
    join(box, one);
    // A long thin body reaches far in one direction only: its box's corners, not its reach.
    if (run.bodies[i].fixed) for (let c = 0; c < 8; ++c) cloud.push(one[c & 1 ? 3 : 0], one[c & 2 ? 4 : 1], one[c & 4 ? 5 : 2], 0);
    else hold(k, i);
  };
  for (const i of all) if (run.bodies[i].fixed) takeIfNear(0, i, 0.6);
  for (const k of sampled(run, 16)) for (const i of moving) if (alive(k, i)) takeIfNear(k, i, 1);
  // A pendulum's pivot belongs to the picture, where it is not too far off.
  for (const j of run.joints) {
    if (j.a < 0) continue;
    const [w, x, y, z] = run.poses.subarray(7 * j.a + 3, 7 * j.a + 7);
    const [a, b, c] = j.anchor;
    const tx = 2 * (y * c - z * b), ty = 2 * (z * a - x * c), tz = 2 * (x * b - y * a);
    const p = run.poses.subarray(7 * j.a, 7 * j.a + 3);
    const at = [p[0] + a + w * tx + y * tz - z * ty, p[1] + b + w * ty + z * tx - x * tz, p[2] + c + w * tz + x * ty - y * tx];
    if (!nearBy(Float64Array.of(...at, ...at), start, 1)) continue;
    include(box, at[0], at[1], at[2]);
    cloud.push(at[0], at[1], at[2], 0);
  }
  if (!(sizeOf(box) >= 0)) box.set([-1, -1, -1, 1, 1, 1]);
  const low = [...box.slice(0, 3)] as Extent['low'];
  const high = [...box.slice(3)] as Extent['high'];
  const centre = low.map((l, i) => 0.5 * (l + high[i])) as Extent['centre'];
  const radius = 0.5 * Math.hypot(...low.map((l, i) => high[i] - l)) || 1;
  return { centre, radius, low, high, bodyRadius, cloud };
}

/** Value below which 98 % lie; a single spike must not darken everything else. */
function high(values: number[]): number {
  const finite = values.filter(Number.isFinite).sort((a, b) => a - b);
  return finite.length === 0 ? 0 : finite[Math.min(finite.length - 1, Math.floor(0.98 * finite.length))];
}

/** Linear speed of a body in a frame [m/s]; from the poses where no velocities were written. */
export function speedOf(run: Run, frame: number, body: number): number {
  const n = run.count;
  if (run.velocities) {
    const v = run.velocities;
    const o = 6 * (frame * n + body);
    return Math.sqrt(v[o] * v[o] + v[o + 1] * v[o + 1] + v[o + 2] * v[o + 2]); // hypot is slow
  }
  const k = Math.max(1, Math.min(frame, run.frames - 1));
  if (run.frames < 2 || !(run.time[k] > run.time[k - 1])) return 0;
  const a = 7 * ((k - 1) * n + body);
  const b = 7 * (k * n + body);
  const p = run.poses;
  return Math.hypot(p[b] - p[a], p[b + 1] - p[a + 1], p[b + 2] - p[a + 2]) / (run.time[k] - run.time[k - 1]);
}

export interface Ranges {
  speed: number;
  bodyForce: number; // sum of |f| on a body [N]
  contactForce: number; // one contact [N]
  contactsAFrame: number; // most in any frame
}

/** Adds |f| of the frame's contacts to both bodies. */
export function bodyForces(run: Run, frame: number, out: Float32Array): void {
  out.fill(0);
  const c = run.contacts;
  if (!c) return;
  for (let i = c.offset[frame]; i < c.offset[frame + 1]; ++i) {
    const x = c.force[3 * i], y = c.force[3 * i + 1], z = c.force[3 * i + 2];
    const f = Math.sqrt(x * x + y * y + z * z);
    if (c.a[i] >= 0) out[c.a[i]] += f;
    if (c.b[i] >= 0) out[c.b[i]] += f;
  }
}

export function rangesOf(run: Run): Ranges {
  const speeds: number[] = [];
  const bodies: number[] = [];
  const contacts: number[] = [];
  const sum = new Float32Array(run.count);
  const stride = Math.max(1, Math.floor(run.count / 500));
  for (const k of sampled(run, 40)) {
    for (let i = 0; i < run.count; i += stride) if (!run.bodies[i].fixed) speeds.push(speedOf(run, k, i));
    bodyForces(run, k, sum);
    for (let i = 0; i < run.count; i += stride) if (sum[i] > 0 && !run.bodies[i].fixed) bodies.push(sum[i]);
    const c = run.contacts;
    if (!c) continue;
    const leap = 1 + Math.floor((c.offset[k + 1] - c.offset[k]) / 1000);
    for (let i = c.offset[k]; i < c.offset[k + 1]; i += leap) {
      const f = Math.hypot(c.force[3 * i], c.force[3 * i + 1], c.force[3 * i + 2]);
      if (f > 0) contacts.push(f);
    }
  }
  let most = 0;
  if (run.contacts)
    for (let k = 0; k < run.frames; ++k) most = Math.max(most, run.contacts.offset[k + 1] - run.contacts.offset[k]);
  return { speed: high(speeds), bodyForce: high(bodies), contactForce: high(contacts), contactsAFrame: most };
}

/** What can be plotted when the writer gave little. */
export function derivedSignals(run: Run): Signal[] {
  const have = new Set(run.signals.map((s) => s.name));
  const out: Signal[] = [];
  if (run.contacts && !have.has('contacts')) {
    const offset = run.contacts.offset;
    out.push({ name: 'contacts', values: Float64Array.from(run.time, (_, k) => offset[k + 1] - offset[k]) });
  }
  if (run.count > 0 && run.frames * run.count <= 5e6 && !have.has('fastest body [m/s]')) {
    const values = Float64Array.from(run.time, (_, k) => {
      let most = 0;
      for (let i = 0; i < run.count; ++i) if (!run.bodies[i].fixed) most = Math.max(most, speedOf(run, k, i));
      return most;
    });
    out.push({ name: 'fastest body [m/s]', values });
  }
  return out;
}
