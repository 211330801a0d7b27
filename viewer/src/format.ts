// SPDX-License-Identifier: Apache-2.0
// format.ts: text of format "orthant-view" (docs/viewer.md) => Run, typed arrays ready to draw.
// Everything is checked here once, so that drawing code may index without asking.

export class FormatError extends Error {}

export type Vec3 = [number, number, number];
export type Quat = [number, number, number, number]; // w x y z

interface Placed {
  position: Vec3;
  quaternion: Quat;
}

export type Shape = Placed &
  (
    | { type: 'sphere' | 'disc'; radius: number }
    | { type: 'capsule' | 'stadium' | 'cylinder' | 'cone'; radius: number; halfLength: number }
    | { type: 'box' | 'ellipsoid'; half: Vec3 }
    | { type: 'rectangle' | 'ellipse'; half: Vec3 } // half[2] is 0
    | { type: 'torus'; major: number; minor: number }
    | { type: 'hull' | 'mesh'; vertices: Float32Array; faces: Uint32Array; key: string }
    | { type: 'polygon'; vertices: Float32Array; key: string }
    | { type: 'half_space' }
  );

export interface Body {
  name: string;
  fixed: boolean;
  colour: string | null;
  shapes: Shape[];
  /** Drawn in place of the shapes where there are any. */
  visuals: { shape: Shape; colour: string | null }[];
}

export interface Contacts {
  offset: Uint32Array; // frame k owns [offset[k], offset[k + 1])
  a: Int32Array;
  b: Int32Array;
  point: Float32Array;
  normal: Float32Array;
  force: Float32Array; // world axes, on body a [N]
  set: Uint8Array; // index into kSetNames
}

export const kSetNames = ['separate', 'stick', 'slide', 'floating'] as const;

export interface Joint {
  name: string;
  type: string;
  a: number;
  b: number;
  anchor: Vec3;
  axis: Vec3;
}

export interface SoftMesh {
  name: string;
  nodes: number;
  triangles: Uint32Array;
  positions: Float32Array;
  scalar: Float32Array | null;
  scalarName: string;
}

export interface Signal {
  name: string;
  values: Float64Array;
}

export interface Run {
  name: string;
  planar: boolean;
  frames: number;
  count: number;
  bodies: Body[];
  time: Float64Array;
  poses: Float32Array; // frame, body, (x y z, w x y z)
  velocities: Float32Array | null; // frame, body, (linear, angular)
  alive: Uint8Array | null;
  lengths: Float32Array | null; // frame, body: of rods that grow, from tip to tip; 0: as its shape
  contacts: Contacts | null;
  joints: Joint[];
  meshes: SoftMesh[];
  signals: Signal[];
}

type Json = Record<string, unknown>;

function bytesOf(text: string, where: string): Uint8Array<ArrayBuffer> {
  try {
    const native = (Uint8Array as unknown as { fromBase64?: (s: string) => Uint8Array<ArrayBuffer> }).fromBase64;
    if (native) return native.call(Uint8Array, text);
    const binary = atob(text);
    const bytes = new Uint8Array(binary.length);
    for (let i = 0; i < binary.length; ++i) bytes[i] = binary.charCodeAt(i);
    return bytes;
  } catch {
    throw new FormatError(`${where}: not valid base64`);
  }
}

interface ArrayType<T> {
  new (buffer: ArrayBuffer): T;
  readonly BYTES_PER_ELEMENT: number;
}

/** A base64 array; `length` is checked when given. */
function arrayOf<T>(type: ArrayType<T>, value: unknown, where: string, length?: number): T {
  if (typeof value !== 'string') throw new FormatError(`${where}: expected base64 text`);
  const bytes = bytesOf(value, where);
  const size = type.BYTES_PER_ELEMENT;
  if (bytes.byteLength % size !== 0 || (length !== undefined && bytes.byteLength !== length * size)) {
    const wanted = length === undefined ? `a multiple of ${size} bytes` : `${length} numbers of ${size} bytes`;
    throw new FormatError(`${where}: expected ${wanted}, got ${bytes.byteLength} bytes`);
  }
  return new type(bytes.buffer);
}

function objectOf(value: unknown, where: string): Json {
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw new FormatError(`${where}: expected an object`);
  return value as Json;
}

function listOf(value: unknown, where: string): unknown[] {
  if (value === undefined || value === null) return [];
  if (!Array.isArray(value)) throw new FormatError(`${where}: expected a list`);
  return value;
}

function numberOf(value: unknown, where: string, positive = false): number {
  if (typeof value !== 'number' || !Number.isFinite(value) || (positive && !(value > 0)))
    throw new FormatError(`${where}: expected a ${positive ? 'positive ' : ''}number, got ${String(value)}`);
  return value;
}

function countOf(value: unknown, where: string, least: number): number {
  const n = numberOf(value, where);
  if (!Number.isInteger(n) || n < least) throw new FormatError(`${where}: expected a whole number >= ${least}, got ${n}`);
  return n;
}

function tupleOf(value: unknown, where: string, length: number): number[] {
  if (!Array.isArray(value) || value.length !== length) throw new FormatError(`${where}: expected ${length} numbers`);
  return value.map((x, i) => numberOf(x, `${where}[${i}]`));
}

function vec3Of(value: unknown, where: string, otherwise: Vec3): Vec3 {
  return value === undefined ? otherwise : (tupleOf(value, where, 3) as Vec3);
}

function textOf(value: unknown, otherwise: string): string {
  return typeof value === 'string' ? value : otherwise;
}

// What a spatial shape looks like in the plane; the writer may name either.
const kPlanar: Record<string, string> = { sphere: 'disc', capsule: 'stadium', box: 'rectangle', ellipsoid: 'ellipse' };

function shapeOf(value: unknown, where: string, planar: boolean): Shape {
  const s = objectOf(value, where);
  const placed: Placed = {
    position: vec3Of(s.position, `${where}.position`, [0, 0, 0]),
    quaternion: s.quaternion === undefined ? [1, 0, 0, 0] : (tupleOf(s.quaternion, `${where}.quaternion`, 4) as Quat),
  };
  const size = (key: string) => numberOf(s[key], `${where}.${key}`, true);
  const sizes = (key: string): Vec3 => {
    const list = listOf(s[key], `${where}.${key}`);
    const n = list.length === 2 ? 2 : 3;
    const v = tupleOf(list, `${where}.${key}`, n).map((x, i) => numberOf(x, `${where}.${key}[${i}]`, true));
    return [v[0], v[1], v[2] ?? 0];
  };
  const given = textOf(s.type, '?');
  const type = planar ? (kPlanar[given] ?? given) : given;
  switch (type) {
    case 'sphere':
    case 'disc':
      return { ...placed, type, radius: size('radius') };
    case 'capsule':
    case 'stadium':
    case 'cylinder':
    case 'cone':
      return { ...placed, type, radius: size('radius'), halfLength: size('half_length') };
    case 'box':
    case 'rectangle':
      return { ...placed, type, half: sizes('half') };
    case 'ellipsoid':
    case 'ellipse':
      return { ...placed, type, half: sizes('semi_axes') };
    case 'torus':
      return { ...placed, type, major: size('major'), minor: size('minor') };
    case 'hull':
    case 'mesh': {
      const vertices = arrayOf(Float32Array, s.vertices, `${where}.vertices`);
      const faces = arrayOf(Uint32Array, s.faces, `${where}.faces`);
      if (vertices.length % 3 || faces.length % 3) throw new FormatError(`${where}: vertices and faces come in threes`);
      if (faces.some((i) => 3 * i >= vertices.length)) throw new FormatError(`${where}.faces: index beyond the vertices`);
      return { ...placed, type, vertices, faces, key: `${String(s.vertices)}|${String(s.faces)}` };
    }
    case 'polygon': {
      const vertices = arrayOf(Float32Array, s.vertices, `${where}.vertices`);
      if (vertices.length % 2 || vertices.length < 6) throw new FormatError(`${where}: a polygon has 3 vertices or more`);
      return { ...placed, type, vertices, key: String(s.vertices) };
    }
    case 'half_space':
      return { ...placed, type };
    default:
      throw new FormatError(`${where}.type: unknown shape '${given}'`);
  }
}

function bodyOf(value: unknown, index: number, planar: boolean): Body {
  const where = `bodies[${index}]`;
  const b = objectOf(value, where);
  const colour = textOf(b.colour, '');
  return {
    name: textOf(b.name, `body ${index}`),
    fixed: b.fixed === true,
    colour: /^#[0-9a-f]{6}$/i.test(colour) ? colour : null,
    shapes: listOf(b.shapes, `${where}.shapes`).map((s, i) => shapeOf(s, `${where}.shapes[${i}]`, planar)),
    visuals: (b.visuals === undefined ? [] : listOf(b.visuals, `${where}.visuals`)).map((v, i) => {
      const own = textOf(objectOf(v, `${where}.visuals[${i}]`).colour, '');
      return { shape: shapeOf(v, `${where}.visuals[${i}]`, planar), colour: /^#[0-9a-f]{6}$/i.test(own) ? own : null };
    }),
  };
}

function contactsOf(value: unknown, frames: number, bodies: number): Contacts {
  const c = objectOf(value, 'contacts');
  const offset = arrayOf(Uint32Array, c.offset, 'contacts.offset', frames + 1);
  for (let k = 0; k < frames; ++k)
    if (offset[k + 1] < offset[k]) throw new FormatError(`contacts.offset: falls at frame ${k}`);
  const n = offset[frames];
  const contacts: Contacts = {
    offset,
    a: arrayOf(Int32Array, c.a, 'contacts.a', n),
    b: arrayOf(Int32Array, c.b, 'contacts.b', n),
    point: arrayOf(Float32Array, c.point, 'contacts.point', 3 * n),
    normal: arrayOf(Float32Array, c.normal, 'contacts.normal', 3 * n),
    force: arrayOf(Float32Array, c.force, 'contacts.force', 3 * n),
    set: arrayOf(Uint8Array, c.set, 'contacts.set', n),
  };
  for (const side of [contacts.a, contacts.b])
    if (side.some((i) => i >= bodies)) throw new FormatError('contacts: a body index is beyond the bodies');
  if (contacts.set.some((s) => s >= kSetNames.length)) throw new FormatError('contacts.set: values are 0 to 3');
  return contacts;
}

function jointOf(value: unknown, index: number, bodies: number): Joint {
  const where = `joints[${index}]`;
  const j = objectOf(value, where);
  const side = (key: string) => {
    const i = countOf(j[key], `${where}.${key}`, -1);
    if (i >= bodies) throw new FormatError(`${where}.${key}: ${i} is beyond the bodies`);
    return i;
  };
  return {
    name: textOf(j.name, `joint ${index}`),
    type: textOf(j.type, 'joint'),
    a: side('a'),
    b: side('b'),
    anchor: vec3Of(j.anchor_a, `${where}.anchor_a`, [0, 0, 0]),
    axis: vec3Of(j.axis_a, `${where}.axis_a`, [0, 0, 1]),
  };
}

function meshOf(value: unknown, index: number, frames: number): SoftMesh {
  const where = `meshes[${index}]`;
  const m = objectOf(value, where);
  const nodes = countOf(m.nodes, `${where}.nodes`, 1);
  const triangles = arrayOf(Uint32Array, m.triangles, `${where}.triangles`);
  if (triangles.length % 3 || triangles.some((i) => i >= nodes))
    throw new FormatError(`${where}.triangles: not threes of node indices`);
  return {
    name: textOf(m.name, `mesh ${index}`),
    nodes,
    triangles,
    positions: arrayOf(Float32Array, m.positions, `${where}.positions`, frames * nodes * 3),
    scalar: m.scalar == null ? null : arrayOf(Float32Array, m.scalar, `${where}.scalar`, frames * nodes),
    scalarName: textOf(m.scalar_name, 'scalar'),
  };
}

/** Throws FormatError that names the field, the rule and the value. */
export function decodeRun(json: unknown): Run {
  const r = objectOf(json, 'run');
  if (r.format !== 'orthant-view') throw new FormatError(`format: expected 'orthant-view', got '${String(r.format)}'`);
  if (r.version !== 1) throw new FormatError(`version: this page reads version 1, got ${String(r.version)}`);
  const frames = countOf(r.frames, 'frames', 1);
  const planar = r.planar === true;
  const bodies = listOf(r.bodies, 'bodies').map((b, i) => bodyOf(b, i, planar));
  const count = bodies.length;
  if (r.bodies_count !== undefined && r.bodies_count !== count)
    throw new FormatError(`bodies_count: ${String(r.bodies_count)}, but there are ${count} bodies`);
  const time = arrayOf(Float64Array, r.time, 'time', frames);
  for (let k = 0; k < frames; ++k)
    if (!Number.isFinite(time[k]) || (k > 0 && time[k] < time[k - 1]))
      throw new FormatError(`time: frame ${k} is ${time[k]} s; times must be finite and never fall`);
  return {
    name: textOf(r.name, 'run'),
    planar,
    frames,
    count,
    bodies,
    time,
    poses: arrayOf(Float32Array, r.poses, 'poses', frames * count * 7),
    velocities: r.velocities == null ? null : arrayOf(Float32Array, r.velocities, 'velocities', frames * count * 6),
    alive: r.alive == null ? null : arrayOf(Uint8Array, r.alive, 'alive', frames * count),
    lengths: r.lengths == null ? null : arrayOf(Float32Array, r.lengths, 'lengths', frames * count),
    contacts: r.contacts == null ? null : contactsOf(r.contacts, frames, count),
    joints: listOf(r.joints, 'joints').map((j, i) => jointOf(j, i, count)),
    meshes: listOf(r.meshes, 'meshes').map((m, i) => meshOf(m, i, frames)),
    signals: Object.entries(r.signals == null ? {} : objectOf(r.signals, 'signals')).map(([name, values]) => ({
      name,
      values: arrayOf(Float64Array, values, `signals.${name}`, frames),
    })),
  };
}

/** A run from a dropped file: the JSON itself, or a page that carries one. */
export function decodeText(text: string): Run {
  let body = text;
  if (/^\s*</.test(text)) {
    // Written in pieces: the page must hold the placeholder's own text only once.
    const open = '<' + 'script type="application/json" id="orthant-run">';
    const found = new RegExp(`${open}([\\s\\S]*?)</` + 'script>').exec(text);
    if (!found || found[1].trim() === 'null') throw new FormatError('this page carries no run');
    body = found[1];
  }
  let json: unknown;
  try {
    json = JSON.parse(body);
  } catch (e) {
    throw new FormatError(`not JSON: ${(e as Error).message}`);
  }
  return decodeRun(json);
}
