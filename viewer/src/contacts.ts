// SPDX-License-Identifier: Apache-2.0
// contacts.ts: contacts of one frame => points coloured by set, force arrows; two draw calls.
// Both are placed in the vertex shader from the recorded arrays: a frame costs a copy.
import {
  BufferAttribute, BufferGeometry, Color, DynamicDrawUsage, Group, InstancedBufferAttribute, InstancedBufferGeometry,
  Mesh, Points, ShaderMaterial,
} from 'three';
import { kSetColours } from './colour';
import type { Run } from './format';

const kPointVertex = `
attribute float set;
uniform vec3 colours[4];
uniform float size, pixels;
varying vec3 tint;
void main() {
  tint = colours[int(set + 0.5)];
  gl_Position = projectionMatrix * modelViewMatrix * vec4(position, 1.0);
  float onScreen = size * projectionMatrix[1][1] * pixels / gl_Position.w;
  gl_PointSize = clamp(onScreen, pixels * 0.018, pixels * 0.042);
}`;

const kPointFragment = `
varying vec3 tint;
uniform vec3 rim;
void main() {
  float r = 2.0 * length(gl_PointCoord - 0.5);
  float w = fwidth(r);
  float alpha = 1.0 - smoothstep(1.0 - w, 1.0, r);
  if (alpha <= 0.0) discard;
  gl_FragColor = vec4(mix(tint, rim, smoothstep(0.76 - w, 0.76, r)), alpha);
  #include <colorspace_fragment>
}`;

// position is in arrow widths, span in arrow lengths, both along x of the arrow. Beyond `longest` only
// the logarithm grows: an impact is a hundred weights and would leave the picture.
const kArrowVertex = `
attribute float span;
attribute vec3 point, force;
uniform float scale, width, longest;
varying float light;
void main() {
  float f = length(force);
  float x0 = f * scale / longest;
  float l = longest * (x0 > 1.0 ? 1.0 + log(x0) : x0);
  float w = min(width, 0.2 * l);
  vec3 x = f > 0.0 ? force / f : vec3(1.0, 0.0, 0.0);
  vec3 y = normalize(cross(x, abs(x.z) < 0.9 ? vec3(0.0, 0.0, 1.0) : vec3(0.0, 1.0, 0.0)));
  vec3 z = cross(x, y);
  vec3 p = point + x * (position.x * w + span * l) + y * position.y * w + z * position.z * w;
  vec3 n = mat3(viewMatrix) * (x * normal.x + y * normal.y + z * normal.z);
  light = 0.82 + 0.18 * dot(normalize(n), normalize(vec3(-0.4, 0.7, 0.6)));
  gl_Position = projectionMatrix * viewMatrix * vec4(p, 1.0);
}`;

const kArrowFragment = `
uniform vec3 tint;
varying float light;
void main() {
  gl_FragColor = vec4(tint * light, 0.92);
  #include <colorspace_fragment>
}`;

/** Unit arrow: shaft of radius 1, head of radius 2.6 and length 6. */
function arrowGeometry(): InstancedBufferGeometry {
  const n = 12;
  const position: number[] = [];
  const normal: number[] = [];
  const span: number[] = [];
  const index: number[] = [];
  const ring = (x: number, r: number, s: number, nx: number, nr: number) => {
    const first = position.length / 3;
    for (let i = 0; i < n; ++i) {
      const c = Math.cos((2 * Math.PI * i) / n);
      const d = Math.sin((2 * Math.PI * i) / n);
      position.push(x, r * c, r * d);
      normal.push(nx, nr * c, nr * d);
      span.push(s);
    }
    return first;
  };
  const wall = (p: number, q: number) => {
    for (let i = 0; i < n; ++i) {
      const j = (i + 1) % n;
      index.push(p + i, p + j, q + i, p + j, q + j, q + i);
    }
  };
  wall(ring(0, 1, 0, 0, 1), ring(-6, 1, 1, 0, 1));
  wall(ring(-6, 0, 1, -1, 0), ring(-6, 2.6, 1, -1, 0));
  wall(ring(-6, 2.6, 1, 0.4, 0.92), ring(0, 0, 1, 0.4, 0.92));
  const g = new InstancedBufferGeometry();
  g.setAttribute('position', new BufferAttribute(new Float32Array(position), 3));
  g.setAttribute('normal', new BufferAttribute(new Float32Array(normal), 3));
  g.setAttribute('span', new BufferAttribute(new Float32Array(span), 1));
  g.setIndex(index);
  return g;
}

export class ContactField {
  readonly object = new Group();
  private readonly points: Points<BufferGeometry, ShaderMaterial>;
  private readonly arrows: Mesh<InstancedBufferGeometry, ShaderMaterial>;
  private readonly baseScale: number;
  private readonly baseLength: number;
  private frame = -1;

  /** `most` contacts in any frame; `newton` is the force drawn `length` long. */
  constructor(private readonly run: Run, most: number, newton: number, length: number, size: number) {
    const linear = kSetColours.map((c) => new Color(c));
    const attribute = (n: number, instanced: boolean) => {
      const array = new Float32Array(n * Math.max(most, 1));
      const a = instanced ? new InstancedBufferAttribute(array, n) : new BufferAttribute(array, n);
      return a.setUsage(DynamicDrawUsage);
    };
    const g = new BufferGeometry();
    g.setAttribute('position', attribute(3, false));
    g.setAttribute('set', attribute(1, false));
    this.points = new Points(g, new ShaderMaterial({
      vertexShader: kPointVertex, fragmentShader: kPointFragment, transparent: true, depthTest: false,
      uniforms: { colours: { value: linear }, size: { value: size }, pixels: { value: 500 }, rim: { value: new Color() } },
    }));
    const h = arrowGeometry();
    h.setAttribute('point', attribute(3, true));
    h.setAttribute('force', attribute(3, true));
    this.arrows = new Mesh(h, new ShaderMaterial({
      vertexShader: kArrowVertex, fragmentShader: kArrowFragment, transparent: true, depthTest: false,
      uniforms: {
        scale: { value: newton > 0 ? length / newton : 0 }, width: { value: 0.02 * length }, longest: { value: length }, tint: { value: new Color() },
      },
    }));
    for (const o of [this.points, this.arrows]) o.frustumCulled = false;
    this.arrows.renderOrder = 10;
    this.points.renderOrder = 11;
    this.object.add(this.arrows, this.points);
    this.baseLength = length;
    this.baseScale = this.arrows.material.uniforms.scale.value as number;
  }

  show(points: boolean, arrows: boolean): void {
    if ((points && !this.points.visible) || (arrows && !this.arrows.visible)) this.frame = -1;
    this.points.visible = points;
    this.arrows.visible = arrows;
  }

  setArrowScale(factor: number): void {
    this.arrows.material.uniforms.scale.value = this.baseScale * factor;
    this.arrows.material.uniforms.longest.value = this.baseLength * factor;
  }

  setColours(arrow: string, rim: string): void {
    (this.arrows.material.uniforms.tint.value as Color).set(arrow);
    (this.points.material.uniforms.rim.value as Color).set(rim);
  }

  setPixels(height: number): void {
    this.points.material.uniforms.pixels.value = height;
  }

  private still(body: number): boolean {
    return body < 0 || this.run.bodies[body].fixed;
  }

  place(frame: number): void {
    const c = this.run.contacts;
    if (!c || frame === this.frame) return;
    this.frame = frame;
    const from = c.offset[frame];
    const to = c.offset[frame + 1];
    const n = to - from;
    const copy = (g: BufferGeometry, name: string, source: Float32Array | Uint8Array, w: number) => {
      const a = g.getAttribute(name) as BufferAttribute;
      (a.array as Float32Array).set(source.subarray(w * from, w * to));
      a.clearUpdateRanges();
      a.addUpdateRange(0, w * n);
      a.needsUpdate = true;
    };
    if (this.points.visible) {
      copy(this.points.geometry, 'position', c.point, 3);
      copy(this.points.geometry, 'set', c.set, 1);
      this.points.geometry.setDrawRange(0, n);
    }
    if (this.arrows.visible) {
      copy(this.arrows.geometry, 'point', c.point, 3);
      copy(this.arrows.geometry, 'force', c.force, 3);
      this.arrows.geometry.instanceCount = n;
      // Recorded on body a; where that is the floor, one wants to see what carries b.
      const force = this.arrows.geometry.getAttribute('force').array as Float32Array;
      for (let i = 0; i < n; ++i)
        if (this.still(c.a[from + i]) && !this.still(c.b[from + i]))
          for (let d = 3 * i; d < 3 * i + 3; ++d) force[d] = -force[d];
    }
  }
}
