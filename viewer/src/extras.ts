// SPDX-License-Identifier: Apache-2.0
// extras.ts: joints, trail and halo of the picked body, deformable meshes.
import {
  BackSide, BufferAttribute, BufferGeometry, DoubleSide, DynamicDrawUsage, Group, InstancedBufferAttribute, InstancedMesh,
  LineBasicMaterial, LineSegments, Matrix4, Mesh, MeshBasicMaterial, MeshStandardMaterial, Quaternion, Vector3,
} from 'three';
import { Line2 } from 'three/examples/jsm/lines/Line2.js';
import { LineGeometry } from 'three/examples/jsm/lines/LineGeometry.js';
import { LineMaterial } from 'three/examples/jsm/lines/LineMaterial.js';
import { bodyColour, colourTable, kTableSize, type Theme } from './colour';
import type { Run, SoftMesh } from './format';
import { bakedPositions, capsuleGeometry } from './geometry';
import { solidMaterial } from './materials';
import type { Extent } from './measure';

const kXAxis = new Vector3(1, 0, 0);

/** Body pose as a matrix. */
export function poseMatrix(pose: Float32Array, body: number, out: Matrix4): Matrix4 {
  const k = 7 * body;
  return out.compose(
    new Vector3(pose[k], pose[k + 1], pose[k + 2]),
    new Quaternion(pose[k + 4], pose[k + 5], pose[k + 6], pose[k + 3]),
    new Vector3(1, 1, 1));
}

/** A pin along the axis at the anchor, thin lines to the two bodies; seen through the bodies. */
export class JointField {
  readonly object = new Group();
  private readonly pins: InstancedMesh;
  private readonly links: LineSegments<BufferGeometry, LineBasicMaterial>;

  constructor(private readonly run: Run, extent: Extent) {
    const n = run.joints.length;
    const geometry = capsuleGeometry(5);
    const stretch = new Float32Array(2 * n);
    run.joints.forEach((j, i) => {
      const sizes = [j.a, j.b].filter((b) => b >= 0).map((b) => extent.bodyRadius[b]).filter((r) => r > 0);
      const r = Math.min(0.012 * extent.radius, 0.1 * Math.min(...sizes, extent.radius));
      const round = !['revolute', 'hinge', 'prismatic', 'slider', 'cylindrical'].includes(j.type);
      stretch.set([r, round ? 0 : 1.2 * r], 2 * i);
    });
    geometry.setAttribute('stretch', new InstancedBufferAttribute(stretch, 2));
    const material = solidMaterial(true);
    material.depthTest = false;
    material.transparent = true;
    this.pins = new InstancedMesh(geometry, material, n);
    const lines = new BufferGeometry();
    lines.setAttribute('position', new BufferAttribute(new Float32Array(12 * n), 3).setUsage(DynamicDrawUsage));
    this.links = new LineSegments(lines, new LineBasicMaterial({ transparent: true, opacity: 0.5, depthTest: false }));
    this.links.renderOrder = 5;
    this.pins.renderOrder = 6;
    for (const o of [this.pins, this.links]) o.frustumCulled = false;
    this.object.add(this.links, this.pins);
  }

  setColour(colour: string): void {
    (this.pins.material as MeshStandardMaterial).color.set(colour);
    this.links.material.color.set(colour);
  }

  place(pose: Float32Array): void {
    const body = new Matrix4();
    const line = this.links.geometry.getAttribute('position') as BufferAttribute;
    const at = new Vector3();
    const axis = new Vector3();
    const one = new Vector3(1, 1, 1);
    this.run.joints.forEach((j, i) => {
      if (j.a >= 0) poseMatrix(pose, j.a, body);
      else body.identity();
      at.set(...j.anchor).applyMatrix4(body);
      axis.set(...j.axis).transformDirection(body);
      const turn = new Quaternion().setFromUnitVectors(kXAxis, axis.lengthSq() > 0 ? axis.normalize() : kXAxis);
      [j.a, j.b].forEach((b, side) => {
        line.setXYZ(4 * i + 2 * side, at.x, at.y, at.z);
        if (b >= 0 && !this.run.bodies[b].fixed) line.setXYZ(4 * i + 2 * side + 1, pose[7 * b], pose[7 * b + 1], pose[7 * b + 2]);
        else line.setXYZ(4 * i + 2 * side + 1, at.x, at.y, at.z);
      });
      this.pins.setMatrixAt(i, body.compose(at, turn, one));
    });
    this.pins.instanceMatrix.needsUpdate = true;
    line.needsUpdate = true;
  }
}

/** Path of one body up to the current frame. */
export class Trail {
  readonly object: Line2;
  private readonly material = new LineMaterial({ linewidth: 2.5, transparent: true, opacity: 0.9 });
  private body = -1;
  private step = 1;

  constructor(private readonly run: Run) {
    this.object = new Line2(new LineGeometry(), this.material);
    this.object.frustumCulled = false;
    this.object.visible = false;
    this.object.renderOrder = 4;
  }

  /** -1 for none. */
  follow(body: number): void {
    if (body === this.body) return;
    this.body = body;
    if (body < 0) return;
    this.step = Math.max(1, Math.ceil(this.run.frames / 4000));
    const points: number[] = [];
    for (let k = 0; k < this.run.frames; k += this.step) {
      const o = 7 * (k * this.run.count + body);
      points.push(this.run.poses[o], this.run.poses[o + 1], this.run.poses[o + 2]);
    }
    this.object.geometry.dispose();
    const geometry = new LineGeometry();
    if (points.length >= 6) geometry.setPositions(points);
    this.object.geometry = geometry;
  }

  place(frame: number, show: boolean, colour: string): void {
    const parts = Math.floor(frame / this.step);
    this.object.visible = show && this.body >= 0 && parts > 0 && this.run.frames > 1;
    this.object.geometry.instanceCount = parts;
    this.material.color.set(colour);
  }
}

/** The picked body's shapes, a little grown, drawn inside out behind it. */
export class Halo {
  readonly object = new Mesh(new BufferGeometry(), new MeshBasicMaterial({ side: BackSide }));
  private body = -1;

  constructor(private readonly run: Run, private readonly extent: Extent) {
    this.object.visible = false;
    this.object.matrixAutoUpdate = false;
    this.object.frustumCulled = false;
    if (run.planar) this.object.material.side = DoubleSide;
  }

  follow(body: number): void {
    this.body = body;
    this.object.visible = body >= 0;
    if (body < 0) return;
    const grow = Math.max(0.035 * this.extent.bodyRadius[body], 0.003 * this.extent.radius);
    const parts = this.run.bodies[body].shapes.map((s) => bakedPositions(s, grow));
    const all = new Float32Array(parts.reduce((n, p) => n + p.length, 0));
    let at = 0;
    for (const p of parts) {
      all.set(p, at);
      at += p.length;
    }
    this.object.geometry.dispose();
    this.object.geometry = new BufferGeometry();
    this.object.geometry.setAttribute('position', new BufferAttribute(all, 3));
  }

  place(pose: Float32Array, alive: Uint8Array, colour: string): void {
    if (this.body < 0) return;
    this.object.visible = alive[this.body] !== 0;
    this.object.material.color.set(colour);
    poseMatrix(pose, this.body, this.object.matrix);
    if (this.run.planar) this.object.matrix.premultiply(new Matrix4().makeTranslation(0, 0, -0.002 * this.extent.radius));
  }
}

export interface ScalarRange {
  name: string;
  low: number;
  high: number;
}

/** A surface whose nodes move; coloured by its scalar where there is one. */
export class SoftSurface {
  readonly object: Mesh<BufferGeometry, MeshStandardMaterial | MeshBasicMaterial>;
  readonly range: ScalarRange | null = null;
  private readonly table = colourTable('scalar');

  constructor(private readonly mesh: SoftMesh, private readonly run: Run, index: number) {
    const g = new BufferGeometry();
    g.setAttribute('position', new BufferAttribute(new Float32Array(3 * mesh.nodes), 3).setUsage(DynamicDrawUsage));
    g.setIndex(new BufferAttribute(mesh.triangles, 1));
    const painted = mesh.scalar !== null;
    if (painted) g.setAttribute('color', new BufferAttribute(new Float32Array(3 * mesh.nodes), 3).setUsage(DynamicDrawUsage));
    const options = { side: DoubleSide, vertexColors: painted } as const;
    const material = run.planar ? new MeshBasicMaterial(options) : new MeshStandardMaterial({ ...options, roughness: 0.7 });
    if (!painted) material.color.set(bodyColour(index + 2, null, false, 'light' satisfies Theme));
    this.object = new Mesh(g, material);
    this.object.frustumCulled = false;
    this.object.castShadow = this.object.receiveShadow = !run.planar;
    if (mesh.scalar) {
      let low = Infinity;
      let high = -Infinity;
      for (const s of mesh.scalar) {
        if (s < low) low = s;
        if (s > high) high = s;
      }
      this.range = { name: mesh.scalarName, low, high };
    }
  }

  place(frame: number, fraction: number): void {
    const n = 3 * this.mesh.nodes;
    const position = this.object.geometry.getAttribute('position') as BufferAttribute;
    const array = position.array as Float32Array;
    const from = this.mesh.positions.subarray(n * frame, n * (frame + 1));
    if (fraction > 0 && frame + 1 < this.run.frames) {
      const to = this.mesh.positions.subarray(n * (frame + 1), n * (frame + 2));
      for (let i = 0; i < n; ++i) array[i] = from[i] + fraction * (to[i] - from[i]);
    } else {
      array.set(from);
    }
    position.needsUpdate = true;
    if (!this.run.planar) this.object.geometry.computeVertexNormals();
    if (!this.mesh.scalar || !this.range) return;
    const colour = this.object.geometry.getAttribute('color') as BufferAttribute;
    const rgb = colour.array as Float32Array;
    const { low, high } = this.range;
    const scale = high > low ? (kTableSize - 1) / (high - low) : 0;
    for (let i = 0, o = frame * this.mesh.nodes; i < this.mesh.nodes; ++i, ++o) {
      const t = 3 * Math.max(0, Math.min(kTableSize - 1, Math.round((this.mesh.scalar[o] - low) * scale) || 0));
      rgb[3 * i] = this.table[t];
      rgb[3 * i + 1] = this.table[t + 1];
      rgb[3 * i + 2] = this.table[t + 2];
    }
    colour.needsUpdate = true;
  }
}
