// SPDX-License-Identifier: Apache-2.0
// ground.ts: half-spaces => grid planes that fade out (space), filled half-planes (plane).
// A plane is cut where another half-space begins, so a container of five shows as a room; seen from
// inside the matter it is not drawn, so one looks into the room.
import {
  BufferAttribute, BufferGeometry, Color, Group, InstancedMesh, Matrix4, Mesh, MeshBasicMaterial, MeshLambertMaterial,
  PlaneGeometry, Quaternion, Vector3, Vector4,
} from 'three';
import type { SceneColours } from './colour';
import type { Run, Shape } from './format';
import type { Extent } from './measure';
import { flatMaterial } from './materials';

const kMostPlanes = 8; // that cut each other; more are drawn whole

interface GridUniforms {
  cell: { value: number };
  reach: { value: number };
  lineColour: { value: Color };
  strength: { value: number };
  planes: { value: Vector4[] };
  planeCount: { value: number };
}

type Patch = { vertexShader: string; fragmentShader: string; uniforms: Record<string, unknown> };

/** Lines one pixel wide at every cell, stronger at every tenth; all fades out at `reach`. */
function gridPatch(uniforms: GridUniforms, instanced: boolean) {
  return (shader: Patch) => {
    Object.assign(shader.uniforms, uniforms);
    const own = instanced ? 'float(gl_InstanceID)' : '-1.0';
    const world = instanced ? 'modelMatrix * instanceMatrix' : 'modelMatrix';
    shader.vertexShader =
      'varying vec2 vGrid;\nvarying vec3 vAt;\nvarying float vOwn;\nuniform float reach;\n' +
      shader.vertexShader.replace(
        '#include <begin_vertex>',
        `#include <begin_vertex>
        vGrid = position.xy * reach;
        vAt = (${world} * vec4(position, 1.0)).xyz;
        vOwn = ${own};`,
      );
    shader.fragmentShader =
      `varying vec2 vGrid; varying vec3 vAt; varying float vOwn;
      uniform float cell, reach, strength; uniform vec3 lineColour;
      uniform vec4 planes[${kMostPlanes}]; uniform float planeCount;
      float gridLine(vec2 p, float size) {
        vec2 q = p / size;
        vec2 w = max(fwidth(q), 1e-6);
        vec2 d = abs(fract(q - 0.5) - 0.5) / w;
        // Lines closer than some pixels become an even tone instead of flicker.
        return (1.0 - min(min(d.x, d.y), 1.0)) * (1.0 - smoothstep(0.15, 0.5, max(w.x, w.y)));
      }\n` +
      shader.fragmentShader.replace(
        '#include <color_fragment>',
        `#include <color_fragment>
        for (int i = 0; i < ${kMostPlanes}; ++i) {
          if (float(i) >= planeCount || abs(float(i) - vOwn) < 0.5) continue;
          if (dot(planes[i].xyz, vAt) - planes[i].w < -1e-4 * reach) discard;
        }
        float line = max(gridLine(vGrid, cell) * 0.55, gridLine(vGrid, 10.0 * cell));
        diffuseColor.rgb = mix(diffuseColor.rgb, lineColour, strength * line);
        diffuseColor.a *= 1.0 - smoothstep(0.25, 1.0, length(vGrid) / reach);`,
      );
  };
}

interface HalfSpace {
  body: number;
  shape: Shape;
}

export class Ground {
  readonly object = new Group();
  /** Height of the highest half-space that points up: no camera goes below it. */
  floor: number | null = null;
  private readonly halfSpaces: HalfSpace[];
  private readonly uniforms: GridUniforms;
  private readonly mesh: InstancedMesh;
  private readonly planar: boolean;
  private readonly backdrop: Mesh<PlaneGeometry, MeshBasicMaterial> | null = null;
  private readonly matrix = new Matrix4();
  private readonly offset = new Matrix4();

  constructor(run: Run, private readonly extent: Extent) {
    this.halfSpaces = run.bodies.flatMap((b, body) =>
      b.shapes.filter((s) => s.type === 'half_space').map((shape) => ({ body, shape })));
    const n = Math.max(1, this.halfSpaces.length);
    const cell = 10 ** Math.floor(Math.log10(extent.radius * 0.45));
    const reach = extent.radius * (run.planar ? 12 : 5);
    this.uniforms = {
      cell: { value: cell }, reach: { value: reach }, lineColour: { value: new Color() }, strength: { value: 0.3 },
      planes: { value: Array.from({ length: kMostPlanes }, () => new Vector4()) }, planeCount: { value: 0 },
    };
    if (run.planar) {
      this.mesh = new InstancedMesh(halfPlaneGeometry(), flatMaterial(false), n);
      const material = new MeshBasicMaterial({ transparent: true, opacity: 0, depthWrite: false });
      material.onBeforeCompile = (shader) => {
        gridPatch(this.uniforms, false)(shader);
        // Lines only: the page's own background shows between them.
        shader.fragmentShader = shader.fragmentShader.replace(
          'diffuseColor.a *=', 'diffuseColor = vec4(lineColour, strength * line);\ndiffuseColor.a *=');
      };
      this.backdrop = new Mesh(new PlaneGeometry(2, 2), material);
      this.backdrop.scale.setScalar(reach);
      this.backdrop.position.set(...snapped(extent.centre, cell), -0.02 * extent.radius);
      this.backdrop.renderOrder = -2;
      this.object.add(this.backdrop);
    } else {
      const material = new MeshLambertMaterial({ transparent: true, depthWrite: false });
      material.onBeforeCompile = (shader) => gridPatch(this.uniforms, true)(shader);
      this.mesh = new InstancedMesh(new PlaneGeometry(2, 2), material, n);
      this.mesh.receiveShadow = true;
    }
    this.mesh.count = this.halfSpaces.length;
    this.mesh.frustumCulled = false;
    this.mesh.renderOrder = -1;
    this.mesh.visible = this.halfSpaces.length > 0;
    this.planar = run.planar;
    this.object.add(this.mesh);
  }

  setColours(c: SceneColours): void {
    this.uniforms.lineColour.value.set(c.grid);
    this.uniforms.strength.value = c.gridStrength;
    const material = this.mesh.material as MeshLambertMaterial;
    material.color.set(this.planar ? c.flatGround : c.ground);
  }

  place(pose: Float32Array): void {
    const { cell, reach } = this.uniforms;
    const centre = new Vector3(...this.extent.centre);
    const normal = new Vector3();
    this.floor = null;
    this.halfSpaces.forEach(({ body, shape }, i) => {
      const k = 7 * body;
      this.matrix.compose(
        new Vector3(pose[k], pose[k + 1], pose[k + 2]),
        new Quaternion(pose[k + 4], pose[k + 5], pose[k + 6], pose[k + 3]),
        new Vector3(1, 1, 1));
      const [w, x, y, z] = shape.quaternion;
      this.offset.compose(new Vector3(...shape.position), new Quaternion(x, y, z, w), new Vector3(1, 1, 1));
      this.matrix.multiply(this.offset);
      const local = centre.clone().applyMatrix4(this.offset.copy(this.matrix).invert());
      normal.setFromMatrixColumn(this.matrix, 2);
      const d = normal.dot(new Vector3().setFromMatrixPosition(this.matrix));
      if (!this.planar && normal.z > 0.99) this.floor = Math.max(this.floor ?? -Infinity, d / normal.z);
      if (i < kMostPlanes) {
        this.uniforms.planes.value[i].set(normal.x, normal.y, normal.z, d);
      }
      // Near the bodies, but by whole cells: the lines stay where they are in the shape's frame.
      const [sx, sy] = snapped([local.x, this.planar ? 0 : local.y, 0], cell.value);
      this.matrix.multiply(this.offset.makeTranslation(sx, sy, this.planar ? -0.005 * this.extent.radius : 0));
      this.matrix.scale(new Vector3(reach.value, reach.value, 1));
      this.mesh.setMatrixAt(i, this.matrix);
    });
    this.uniforms.planeCount.value = this.planar ? 0 : Math.min(this.halfSpaces.length, kMostPlanes);
    this.mesh.instanceMatrix.needsUpdate = true;
  }
}

function snapped(p: ArrayLike<number>, cell: number): [number, number] {
  return [Math.round(p[0] / (10 * cell)) * 10 * cell, Math.round(p[1] / (10 * cell)) * 10 * cell];
}

/** Matter below y = 0; `edge` is 0 at the surface only. */
function halfPlaneGeometry(): BufferGeometry {
  const g = new BufferGeometry();
  g.setAttribute('position', new BufferAttribute(new Float32Array([-1, -1, 0, 1, -1, 0, 1, 0, 0, -1, 0, 0]), 3));
  g.setAttribute('edge', new BufferAttribute(new Float32Array([1, 1, 0, 0]), 1));
  g.setIndex([0, 1, 2, 0, 2, 3]);
  return g;
}
