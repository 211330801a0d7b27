// SPDX-License-Identifier: Apache-2.0
// bodies.ts: (poses of one instant, colours) => instance matrices, one draw call a shape kind.
// Matrices are written straight into the instance buffers: 10,000 bodies cost about a millisecond.
import { BatchedMesh, BufferGeometry, Color, Group, InstancedBufferAttribute, InstancedMesh, Matrix4 } from 'three';
import type { Run, Shape } from './format';
import {
  boxGeometry, capsuleGeometry, discGeometry, hullGeometry, polygonGeometry, rectangleGeometry, sphereGeometry,
  stadiumGeometry, torusGeometry, turnedGeometry,
} from './geometry';
import { depthMaterial, flatMaterial, solidMaterial } from './materials';

type Drawn = Exclude<Shape, { type: 'half_space' }>;

interface Slot {
  body: number;
  shape: Drawn;
  colour: string | null; // its own, where bodies have their own colours
}

/** Shape kinds that share a geometry share a draw call. */
const kGroupOf: Record<Drawn['type'], string> = {
  sphere: 'sphere', ellipsoid: 'sphere', capsule: 'capsule', box: 'box', torus: 'torus', hull: 'hull',
  cylinder: 'cylinder', cone: 'cone', mesh: 'hull',
  disc: 'disc', ellipse: 'ellipse', rectangle: 'rectangle', stadium: 'stadium', polygon: 'polygon',
};

/** Where matrices and colours of a group go. */
interface Sink {
  object: InstancedMesh | BatchedMesh;
  matrices: Float32Array; // 16 a slot
  colours: Float32Array; // 3 a slot
  flushMatrices(): void;
  flushColours(): void;
  /** Radius and half length of rods, 2 a slot; null: no rods. */
  stretch: InstancedBufferAttribute | null;
}

/** Rounder where there are few. */
function fineness(count: number): number {
  return count <= 200 ? 14 : count <= 1500 ? 9 : count <= 5000 ? 6 : 4;
}

function unitGeometry(kind: string, n: number): BufferGeometry {
  switch (kind) {
    case 'sphere': return sphereGeometry(n);
    case 'capsule': return capsuleGeometry(Math.max(3, n - 3));
    case 'torus': return torusGeometry(Math.max(2, Math.round(n / 2)));
    case 'box': return boxGeometry();
    case 'cylinder': return turnedGeometry(Math.max(3, Math.round(n / 2)), 1);
    case 'cone': return turnedGeometry(Math.max(3, Math.round(n / 2)), 0);
    case 'disc': return discGeometry(n >= 9 ? 64 : 32, true);
    case 'ellipse': return discGeometry(n >= 9 ? 64 : 32, false);
    case 'rectangle': return rectangleGeometry();
    case 'stadium': return stadiumGeometry(n >= 9 ? 32 : 16);
    default: throw new Error(`no unit geometry for ${kind}`);
  }
}

function ownGeometry(shape: Drawn): BufferGeometry {
  if (shape.type === 'hull' || shape.type === 'mesh') return hullGeometry(shape.vertices, shape.faces);
  if (shape.type === 'polygon') return polygonGeometry(shape.vertices);
  throw new Error(`${shape.type} has no geometry of its own`);
}

function instancedSink(kind: string, geometry: BufferGeometry, slots: Slot[], planar: boolean): Sink {
  const stretched = geometry.hasAttribute('second');
  const material = planar && geometry.hasAttribute('edge') ? flatMaterial(stretched) : solidMaterial(stretched);
  const mesh = new InstancedMesh(geometry, material, slots.length);
  const colours = new InstancedBufferAttribute(new Float32Array(3 * slots.length).fill(1), 3);
  mesh.instanceColor = colours;
  let attribute: InstancedBufferAttribute | null = null;
  if (stretched) {
    const stretch = new Float32Array(2 * slots.length);
    slots.forEach(({ shape }, i) => {
      if (shape.type === 'torus') stretch.set([shape.minor, shape.major], 2 * i);
      if (shape.type === 'capsule' || shape.type === 'stadium') stretch.set([shape.radius, shape.halfLength], 2 * i);
    });
    attribute = new InstancedBufferAttribute(stretch, 2);
    geometry.setAttribute('stretch', attribute);
    mesh.customDepthMaterial = depthMaterial();
  }
  mesh.name = kind;
  return {
    object: mesh,
    matrices: mesh.instanceMatrix.array as Float32Array,
    colours: colours.array as Float32Array,
    flushMatrices: () => { mesh.instanceMatrix.needsUpdate = true; },
    flushColours: () => { colours.needsUpdate = true; },
    stretch: attribute,
  };
}

/** Many different hulls: one multi-draw over a merged geometry. */
function batchedSink(kind: string, slots: Slot[], unique: Map<string, BufferGeometry>, planar: boolean): Sink {
  let vertices = 0;
  let indices = 0;
  for (const g of unique.values()) {
    vertices += g.getAttribute('position').count;
    indices += g.index?.count ?? 0;
  }
  const mesh = new BatchedMesh(slots.length, vertices, indices, planar ? flatMaterial(false) : solidMaterial(false));
  mesh.perObjectFrustumCulled = false;
  mesh.sortObjects = false;
  const ids = new Map([...unique].map(([key, g]) => [key, mesh.addGeometry(g)]));
  const instances = slots.map(({ shape }) => mesh.addInstance(ids.get((shape as { key: string }).key) as number));
  mesh.name = kind;
  const matrices = new Float32Array(16 * slots.length);
  const colours = new Float32Array(3 * slots.length).fill(1);
  const matrix = new Matrix4();
  const colour = new Color();
  return {
    object: mesh,
    matrices,
    colours,
    flushMatrices: () => instances.forEach((id, i) => mesh.setMatrixAt(id, matrix.fromArray(matrices, 16 * i))),
    flushColours: () => instances.forEach((id, i) => mesh.setColorAt(id, colour.fromArray(colours, 3 * i))),
    stretch: null,
  };
}

/** Offsets of one group's slots in the body, flat for the loop: position, quaternion, scale. */
const kLocal = 10;

class ShapeGroup {
  readonly sink: Sink;
  private readonly body: Int32Array;
  private readonly local: Float32Array;
  private readonly plain: Uint8Array; // shape frame = body frame
  private readonly own: (Color | null)[];

  constructor(kind: string, slots: Slot[], planar: boolean, fine: number) {
    if (kind === 'hull' || kind === 'polygon') {
      const unique = new Map<string, BufferGeometry>();
      for (const { shape } of slots) {
        const key = (shape as { key: string }).key;
        if (!unique.has(key)) unique.set(key, ownGeometry(shape));
      }
      const only = unique.size === 1 ? [...unique.values()][0] : null;
      this.sink = only ? instancedSink(kind, only, slots, planar) : batchedSink(kind, slots, unique, planar);
    } else {
      this.sink = instancedSink(kind, unitGeometry(kind, fine), slots, planar);
    }
    this.sink.object.frustumCulled = false; // instances are everywhere; no bounding sphere per frame
    this.sink.object.castShadow = this.sink.object.receiveShadow = !planar;
    this.own = slots.map((s) => (s.colour ? new Color(s.colour) : null));
    this.body = Int32Array.from(slots, (s) => s.body);
    this.plain = new Uint8Array(slots.length);
    this.local = new Float32Array(kLocal * slots.length);
    slots.forEach(({ shape }, i) => {
      const scale = [1, 1, 1];
      if (shape.type === 'sphere' || shape.type === 'disc') scale.fill(shape.radius);
      if (shape.type === 'cylinder' || shape.type === 'cone') scale.splice(0, 3, shape.halfLength, shape.radius, shape.radius);
      if ('half' in shape) shape.half.forEach((h, k) => { scale[k] = h || 1; });
      this.local.set([...shape.position, ...shape.quaternion, ...scale], kLocal * i);
      this.plain[i] = shape.quaternion[0] === 1 && shape.position.every((x) => x === 0) ? 1 : 0;
    });
  }

  /** m = X_body X_shape S; bodies that are not alive shrink to nothing. */
  place(pose: Float32Array, alive: Uint8Array): void {
    const { body, local, plain } = this;
    const m = this.sink.matrices;
    for (let i = 0, o = 0, l = 0; i < body.length; ++i, o += 16, l += kLocal) {
      const k = 7 * body[i];
      let px = pose[k], py = pose[k + 1], pz = pose[k + 2];
      let w = pose[k + 3], x = pose[k + 4], y = pose[k + 5], z = pose[k + 6];
      if (plain[i] === 0) {
        const lx = local[l], ly = local[l + 1], lz = local[l + 2];
        const tx = 2 * (y * lz - z * ly), ty = 2 * (z * lx - x * lz), tz = 2 * (x * ly - y * lx);
        px += lx + w * tx + y * tz - z * ty;
        py += ly + w * ty + z * tx - x * tz;
        pz += lz + w * tz + x * ty - y * tx;
        const aw = w, ax = x, ay = y, az = z;
        const bw = local[l + 3], bx = local[l + 4], by = local[l + 5], bz = local[l + 6];
        w = aw * bw - ax * bx - ay * by - az * bz;
        x = aw * bx + ax * bw + ay * bz - az * by;
        y = aw * by - ax * bz + ay * bw + az * bx;
        z = aw * bz + ax * by - ay * bx + az * bw;
      }
      const on = alive[body[i]];
      const sx = on * local[l + 7], sy = on * local[l + 8], sz = on * local[l + 9];
      m[o] = (1 - 2 * (y * y + z * z)) * sx;
      m[o + 1] = 2 * (x * y + w * z) * sx;
      m[o + 2] = 2 * (x * z - w * y) * sx;
      m[o + 4] = 2 * (x * y - w * z) * sy;
      m[o + 5] = (1 - 2 * (x * x + z * z)) * sy;
      m[o + 6] = 2 * (y * z + w * x) * sy;
      m[o + 8] = 2 * (x * z + w * y) * sz;
      m[o + 9] = 2 * (y * z - w * x) * sz;
      m[o + 10] = (1 - 2 * (x * x + y * y)) * sz;
      m[o + 12] = px;
      m[o + 13] = py;
      m[o + 14] = pz;
      m[o + 15] = 1;
    }
    this.sink.flushMatrices();
  }

  /** Rods that grow get the length they have in a frame. */
  resize(lengths: Float32Array, first: number): void {
    const stretch = this.sink.stretch;
    if (!stretch) return;
    const { body } = this;
    const values = stretch.array as Float32Array;
    for (let i = 0; i < body.length; ++i) {
      const length = lengths[first + body[i]];
      if (length > 0) values[2 * i + 1] = 0.5 * length - values[2 * i];
    }
    stretch.needsUpdate = true;
  }

  /** `rgb` holds three linear numbers per body; `own`: what has a colour of its own keeps it. */
  paint(rgb: Float32Array, own: boolean): void {
    const { body } = this;
    const c = this.sink.colours;
    for (let i = 0; i < body.length; ++i) {
      const colour = own ? this.own[i] : null;
      if (colour) {
        colour.toArray(c, 3 * i);
        continue;
      }
      const k = 3 * body[i];
      c[3 * i] = rgb[k];
      c[3 * i + 1] = rgb[k + 1];
      c[3 * i + 2] = rgb[k + 2];
    }
    this.sink.flushColours();
  }
}

/** All bodies with an extent; half-spaces are drawn by ground.ts. */
export class BodyField {
  readonly object = new Group();
  readonly groups: ShapeGroup[] = [];

  constructor(run: Run) {
    const slots = new Map<string, Slot[]>();
    run.bodies.forEach((b, body) => {
      const drawn = b.visuals.length > 0 ? b.visuals : b.shapes.map((shape) => ({ shape, colour: null }));
      for (const { shape, colour } of drawn) {
        if (shape.type === 'half_space') continue;
        const kind = kGroupOf[shape.type];
        const list = slots.get(kind);
        if (list) list.push({ body, shape, colour });
        else slots.set(kind, [{ body, shape, colour }]);
      }
    });
    for (const [kind, list] of slots) {
      const group = new ShapeGroup(kind, list, run.planar, fineness(run.count));
      this.groups.push(group);
      this.object.add(group.sink.object);
    }
  }

  place(pose: Float32Array, alive: Uint8Array): void {
    for (const g of this.groups) g.place(pose, alive);
  }

  resize(lengths: Float32Array, first: number): void {
    for (const g of this.groups) g.resize(lengths, first);
  }

  paint(rgb: Float32Array, own: boolean): void {
    for (const g of this.groups) g.paint(rgb, own);
  }

  setShadows(on: boolean): void {
    for (const g of this.groups) g.sink.object.castShadow = g.sink.object.receiveShadow = on;
  }
}
