// SPDX-License-Identifier: Apache-2.0
// stage.ts: renderer, lights and camera. Space: z up, perspective, orbit. Plane: y up, looking down
// -z, no perspective, pan and zoom only.
import {
  DirectionalLight, HemisphereLight, MOUSE, OrthographicCamera, PCFShadowMap, PerspectiveCamera,
  Raycaster, Scene, TOUCH, Vector2, Vector3, WebGLRenderer,
} from 'three';
import { OrbitControls } from 'three/examples/jsm/controls/OrbitControls.js';
import type { SceneColours } from './colour';
import type { Extent } from './measure';

const kView = new Vector3(0.62, -1, 0.5).normalize(); // from the bodies to the eye
const kFilled = 0.84; // share of the picture that bodies may take at first
const kMostPixels = 2; // device pixels a CSS pixel; more costs a lot and shows little

interface Axes {
  view: Vector3; // from the bodies to the eye
  right: Vector3;
  up: Vector3;
}

function each(cloud: readonly number[], centre: Vector3, take: (p: Vector3, r: number) => void): void {
  const p = new Vector3();
  for (let i = 0; i < cloud.length; i += 4) {
    p.set(cloud[i], cloud[i + 1], cloud[i + 2]).sub(centre);
    if (Number.isFinite(p.lengthSq())) take(p, cloud[i + 3]);
  }
}

/** Slopes to left, right, bottom, top. */
function widen(span: number[], x: number, y: number, r: number, deep: number): void {
  span[0] = Math.min(span[0], (x - r) / deep);
  span[1] = Math.max(span[1], (x + r) / deep);
  span[2] = Math.min(span[2], (y - r) / deep);
  span[3] = Math.max(span[3], (y + r) / deep);
}

/** Smallest distance from which all is seen within the given slopes; 0 for nothing. */
function distance(cloud: readonly number[], centre: Vector3, { view, right, up }: Axes, tanX: number, tanY: number): number {
  let far = 0;
  each(cloud, centre, (p, r) => {
    far = Math.max(far, p.dot(view) + (Math.abs(p.dot(right)) + r) / tanX, p.dot(view) + (Math.abs(p.dot(up)) + r) / tanY);
  });
  return far;
}

/** Moves `centre` until as much is seen to the left as to the right, above as below. */
function recentre(cloud: readonly number[], centre: Vector3, { view, right, up }: Axes, far: number): void {
  const span = [Infinity, -Infinity, Infinity, -Infinity];
  each(cloud, centre, (p, r) => widen(span, p.dot(right), p.dot(up), r, Math.max(far - p.dot(view), 0.01 * far)));
  if (!(span[1] >= span[0])) return;
  // Less than the whole way: what is near moves faster than what is far.
  centre.addScaledVector(right, 0.3 * far * (span[0] + span[1])).addScaledVector(up, 0.3 * far * (span[2] + span[3]));
}

export class Stage {
  readonly renderer: WebGLRenderer;
  readonly scene = new Scene();
  camera: PerspectiveCamera | OrthographicCamera = new PerspectiveCamera(34, 1, 0.01, 100);
  controls: OrbitControls | null = null;
  private floor: () => number | null = () => null;
  private readonly key = new DirectionalLight('#fffaf2', 2);
  private readonly fill = new DirectionalLight('#eaf1ff', 0.4); // from the other side, no shadow
  private readonly sky = new HemisphereLight('#ffffff', '#888888', 1.2);
  private extent: Extent = { centre: [0, 0, 0], radius: 1, low: [-1, -1, -1], high: [1, 1, 1], bodyRadius: [], cloud: [] };
  private width = 1;
  private height = 1;

  constructor(readonly canvas: HTMLCanvasElement, private readonly changed: () => void) {
    this.renderer = new WebGLRenderer({ canvas, antialias: true, alpha: true, powerPreference: 'high-performance' });
    this.renderer.setClearColor(0, 0);
    this.renderer.shadowMap.type = PCFShadowMap;
    this.renderer.info.autoReset = false; // one count for shadows and picture together
    this.key.shadow.mapSize.set(2048, 2048);
    this.key.shadow.radius = 5;
    this.key.shadow.intensity = 0.75;
    this.scene.add(this.key, this.key.target, this.fill, this.sky);
    this.fill.position.set(1, -0.5, 0.3);
  }

  /** A camera and light for the run's size; the eye stays above `floor`, where there is one. */
  setRun(planar: boolean, extent: Extent, floor: () => number | null): void {
    this.extent = extent;
    this.floor = floor;
    this.controls?.dispose();
    const r = extent.radius;
    if (planar) {
      this.camera = new OrthographicCamera(-1, 1, 1, -1, 0.1 * r, 40 * r);
    } else {
      this.camera = new PerspectiveCamera(34, 1, 0.01 * r, 60 * r);
      this.camera.up.set(0, 0, 1);
    }
    const controls = new OrbitControls(this.camera, this.canvas);
    controls.enableDamping = true;
    controls.dampingFactor = 0.12;
    controls.zoomToCursor = true;
    controls.screenSpacePanning = true;
    if (planar) {
      controls.enableRotate = false;
      controls.mouseButtons = { LEFT: MOUSE.PAN, MIDDLE: MOUSE.DOLLY, RIGHT: MOUSE.PAN };
      controls.touches = { ONE: TOUCH.PAN, TWO: TOUCH.DOLLY_PAN };
    } else {
      controls.maxDistance = 30 * r;
      controls.minDistance = 0.02 * r;
    }
    controls.addEventListener('change', () => {
      this.keepAbove();
      this.changed();
    });
    this.controls = controls;

    const centre = new Vector3(...extent.centre);
    this.key.target.position.copy(centre);
    this.key.position.copy(centre).addScaledVector(new Vector3(-0.45, -0.62, 1).normalize(), 4 * r);
    const box = this.key.shadow.camera;
    box.left = box.bottom = -1.5 * r;
    box.right = box.top = 1.5 * r;
    box.near = 0.5 * r;
    box.far = 9 * r;
    box.updateProjectionMatrix();
    this.key.shadow.bias = -0.0004;
    this.key.shadow.normalBias = 0.004 * r;
    this.fit();
  }

  setColours(c: SceneColours): void {
    this.sky.color.set(c.sky);
    this.sky.groundColor.set(c.earth);
    this.sky.intensity = c.ambient;
    this.key.intensity = c.key;
    this.fill.intensity = c.fill;
  }

  setShadows(on: boolean): void {
    this.renderer.shadowMap.enabled = on;
    this.key.castShadow = on;
  }

  get planar(): boolean {
    return this.camera instanceof OrthographicCamera;
  }

  /** Device pixels of half the canvas' height, for sizes on screen. */
  get halfPixels(): number {
    return 0.5 * this.height * this.renderer.getPixelRatio();
  }

  resize(width: number, height: number): void {
    if (width < 1 || height < 1) return;
    this.width = width;
    this.height = height;
    this.renderer.setPixelRatio(Math.min(window.devicePixelRatio || 1, kMostPixels));
    this.renderer.setSize(width, height, false);
    if (this.camera instanceof PerspectiveCamera) {
      this.camera.aspect = width / height;
    } else {
      const half = this.camera.top;
      this.camera.right = (half * width) / height;
      this.camera.left = -this.camera.right;
    }
    this.camera.updateProjectionMatrix();
  }

  /** All balls x y z r of `cloud` just inside the picture, a margin around. */
  fit(view: Vector3 = kView, cloud: readonly number[] = this.extent.cloud): void {
    const { radius } = this.extent;
    const centre = new Vector3(...this.extent.centre);
    const aspect = this.width / this.height;
    if (this.camera instanceof OrthographicCamera) {
      const span = [Infinity, -Infinity, Infinity, -Infinity];
      each(cloud, new Vector3(), (p, r) => widen(span, p.x, p.y, r, 1));
      if (!(span[1] >= span[0])) span.splice(0, 4, -radius, radius, -radius, radius);
      const half = (0.5 / kFilled) * Math.max(span[3] - span[2], (span[1] - span[0]) / aspect, 1e-6 * radius);
      centre.set(0.5 * (span[0] + span[1]), 0.5 * (span[2] + span[3]), 0);
      this.camera.top = half;
      this.camera.bottom = -half;
      this.camera.right = half * aspect;
      this.camera.left = -half * aspect;
      this.camera.zoom = 1;
      this.camera.position.set(centre.x, centre.y, 20 * radius);
    } else {
      const right = new Vector3().crossVectors(this.camera.up, view);
      if (right.lengthSq() < 1e-6) right.set(1, 0, 0);
      right.normalize();
      const up = new Vector3().crossVectors(view, right);
      const tan = Math.tan((this.camera.fov * Math.PI) / 360);
      const axes = { view, right, up };
      let far = radius;
      for (let round = 0; round < 12; ++round) {
        far = distance(cloud, centre, axes, kFilled * tan * aspect, kFilled * tan) || far;
        recentre(cloud, centre, axes, far);
      }
      far = distance(cloud, centre, axes, kFilled * tan * aspect, kFilled * tan) || far;
      this.camera.position.copy(centre).addScaledVector(view, far);
    }
    this.controls?.target.copy(centre);
    this.camera.updateProjectionMatrix();
    this.controls?.update();
    this.changed();
  }

  /** Lifts eye and target together where the eye has gone below the floor: by turning, panning or zooming. */
  private keepAbove(): void {
    const floor = this.planar ? null : this.floor();
    if (floor === null) return;
    const missing = floor + 0.02 * this.extent.radius - this.camera.position.z;
    if (missing > 0) this.shift(new Vector3(0, 0, missing));
  }

  /** Moves eye and target together. */
  shift(by: Vector3): void {
    this.camera.position.add(by);
    this.controls?.target.add(by);
  }

  /** Ray through a point of the page. */
  ray(clientX: number, clientY: number): { origin: Vector3; direction: Vector3 } {
    const box = this.canvas.getBoundingClientRect();
    const at = new Vector2(((clientX - box.left) / box.width) * 2 - 1, 1 - ((clientY - box.top) / box.height) * 2);
    const caster = new Raycaster();
    caster.setFromCamera(at, this.camera);
    return { origin: caster.ray.origin, direction: caster.ray.direction };
  }

  /** Where a point of the world is on the page. */
  project(p: Vector3): { x: number; y: number } {
    const box = this.canvas.getBoundingClientRect();
    const q = p.clone().project(this.camera);
    return { x: box.left + ((q.x + 1) / 2) * box.width, y: box.top + ((1 - q.y) / 2) * box.height };
  }

  render(): number {
    this.renderer.info.reset();
    this.renderer.render(this.scene, this.camera);
    return this.renderer.info.render.calls;
  }
}
