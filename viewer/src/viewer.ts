// SPDX-License-Identifier: Apache-2.0
// viewer.ts: (run, options, clock) => picture. Holds what is shown; knows nothing of buttons.
// A picture is drawn only when something changed: a paused page costs nothing.
import { Color, Group, Mesh, Vector3, type Material, type Object3D } from 'three';
import { BodyField } from './bodies';
import { bodyColour, colourTable, kScene, kSetColours, kTableSize, type ColourMode, type Theme } from './colour';
import { ContactField } from './contacts';
import { Halo, JointField, SoftSurface, Trail } from './extras';
import type { Run } from './format';
import { Ground } from './ground';
import { bodyForces, extentOf, rangesOf, speedOf, type Extent, type Ranges } from './measure';
import { pickBody } from './pick';
import { blendPoses, Playback } from './playback';
import { Stage } from './stage';

export interface Options {
  colour: ColourMode;
  points: boolean;
  forces: boolean;
  joints: boolean;
  trail: boolean;
  shadows: boolean;
  theme: Theme;
  arrowScale: number;
  follow: boolean;
}

export interface Stats {
  pictures: number; // drawn since the last reset
  drawCalls: number; // of the last picture, shadows included
  triangles: number;
  scriptMs: number; // median of the last pictures: everything from clock to submitted picture
  scriptMsHigh: number; // 95 of 100 are below
  fps: number;
  shapeKinds: number;
  bodies: number;
}

const kRemembered = 240;
const kShadowBodies = 4000; // more, and the second pass costs more than it shows
const kShownContacts = 150; // more, and arrows hide the bodies; one asks for them

function dispose(object: Object3D): void {
  object.traverse((o) => {
    if (!(o instanceof Mesh) && !('geometry' in o)) return;
    const { geometry, material } = o as Mesh;
    geometry.dispose();
    for (const m of Array.isArray(material) ? material : [material]) (m as Material).dispose();
    if ('dispose' in o && typeof o.dispose === 'function') o.dispose();
  });
}

/** Everything that belongs to one run. */
class Scenery {
  readonly object = new Group();
  readonly extent: Extent;
  readonly ranges: Ranges;
  readonly bodies: BodyField;
  readonly ground: Ground;
  readonly contacts: ContactField;
  readonly joints: JointField;
  readonly trail: Trail;
  readonly halo: Halo;
  readonly soft: SoftSurface[];
  readonly pose: Float32Array;
  readonly alive: Uint8Array;
  readonly rgb: Float32Array;
  readonly value: Float32Array; // scratch: force a body
  painted = -1;

  constructor(readonly run: Run) {
    this.extent = extentOf(run);
    this.ranges = rangesOf(run);
    this.bodies = new BodyField(run);
    this.ground = new Ground(run, this.extent);
    const { radius, bodyRadius } = this.extent;
    const sizes = bodyRadius.filter((r) => r > 0).sort((a, b) => a - b);
    const middle = sizes[sizes.length >> 1] ?? radius;
    const size = Math.min(0.02 * radius, 0.15 * middle);
    this.contacts = new ContactField(run, this.ranges.contactsAFrame, this.ranges.contactForce, Math.min(0.22 * radius, 2.5 * middle), size);
    this.joints = new JointField(run, this.extent);
    this.trail = new Trail(run);
    this.halo = new Halo(run, this.extent);
    this.soft = run.meshes.map((m, i) => new SoftSurface(m, run, i));
    this.object.add(this.ground.object, this.bodies.object, ...this.soft.map((s) => s.object), this.contacts.object);
    if (run.joints.length > 0) this.object.add(this.joints.object);
    this.object.add(this.trail.object, this.halo.object);
    this.pose = new Float32Array(7 * run.count);
    this.alive = new Uint8Array(run.count).fill(1);
    this.rgb = new Float32Array(3 * run.count);
    this.value = new Float32Array(run.count);
  }
}

export class Viewer {
  readonly options: Options = {
    colour: 'body', points: true, forces: true, joints: true, trail: true, shadows: true, theme: 'light', arrowScale: 1,
    follow: false,
  };
  readonly stage: Stage;
  playback = new Playback(new Float64Array(1));
  picked = -1;
  private scenery: Scenery | null = null;
  private dirty = true;
  private last = 0;
  private readonly times: number[] = [];
  private readonly stamps: number[] = [];
  private pictures = 0;
  private drawCalls = 0;
  private readonly tables = { speed: colourTable('speed'), force: colourTable('force') };

  /** `shown` is called after every picture, `loaded` after a new run is in place. */
  constructor(canvas: HTMLCanvasElement, private readonly shown: (now: number) => void) {
    this.stage = new Stage(canvas, () => this.touch());
    requestAnimationFrame(this.tick);
  }

  get run(): Run | null {
    return this.scenery?.run ?? null;
  }

  get ranges(): Ranges | null {
    return this.scenery?.ranges ?? null;
  }

  /** Radius of all that is seen [m]. */
  get size(): number {
    return this.scenery?.extent.radius ?? 1;
  }

  get scalarRange() {
    return this.scenery?.soft.find((s) => s.range)?.range ?? null;
  }

  touch(): void {
    this.dirty = true;
  }

  load(run: Run): void {
    const next = new Scenery(run); // before anything is taken away: it may throw
    if (this.scenery) {
      this.stage.scene.remove(this.scenery.object);
      dispose(this.scenery.object);
    }
    this.scenery = next;
    this.stage.scene.add(next.object);
    this.playback = new Playback(run.time);
    this.picked = -1;
    this.options.follow = false;
    this.options.points = this.options.forces = next.ranges.contactsAFrame <= kShownContacts;
    this.options.shadows = !run.planar && run.count <= kShadowBodies;
    if (this.options.colour !== 'body' && !this.has(this.options.colour)) this.options.colour = 'body';
    this.stage.setRun(run.planar, next.extent, () => next.ground.floor);
    this.apply();
    this.resetStats();
  }

  /** Can the run be coloured this way? */
  has(mode: ColourMode): boolean {
    const run = this.run;
    if (!run) return false;
    return mode === 'body' || (mode === 'speed' ? run.frames > 1 || run.velocities !== null : run.contacts !== null);
  }

  set(change: Partial<Options>): void {
    Object.assign(this.options, change);
    this.apply();
  }

  private apply(): void {
    const s = this.scenery;
    if (!s) return;
    const { options } = this;
    const colours = kScene[options.theme];
    this.stage.setColours(colours);
    this.stage.setShadows(options.shadows && !s.run.planar);
    s.bodies.setShadows(options.shadows && !s.run.planar);
    s.ground.setColours(colours);
    s.joints.setColour(colours.joint);
    s.joints.object.visible = options.joints;
    s.contacts.setColours(colours.arrow, options.theme === 'dark' ? '#11151b' : '#ffffff');
    s.contacts.show(options.points, options.forces);
    s.contacts.setArrowScale(options.arrowScale);
    s.painted = -1;
    this.touch();
  }

  resize(width: number, height: number): void {
    this.stage.resize(width, height);
    this.scenery?.contacts.setPixels(this.stage.halfPixels);
    this.touch();
  }

  pick(body: number): void {
    const s = this.scenery;
    if (!s) return;
    this.picked = body >= 0 && body < s.run.count ? body : -1;
    if (this.picked < 0) this.options.follow = false;
    s.trail.follow(this.picked);
    s.halo.follow(this.picked);
    s.painted = -1;
    this.touch();
  }

  /** Holds the bodies where they are now, without those that left the world. */
  fit(view?: Vector3): void {
    const s = this.scenery;
    if (!s) return;
    const { low, high, radius, bodyRadius } = s.extent;
    const cloud: number[] = [];
    for (let i = 0; i < s.run.count; ++i) {
      const p = s.pose.subarray(7 * i, 7 * i + 3);
      if (!s.alive[i] || s.run.bodies[i].fixed || low.some((l, d) => p[d] < l - radius || p[d] > high[d] + radius)) continue;
      cloud.push(p[0], p[1], p[2], Math.min(bodyRadius[i], radius));
    }
    this.stage.fit(view, cloud.length > 0 ? cloud : undefined);
  }

  /** The body under a point of the page, or -1. */
  bodyAt(clientX: number, clientY: number): number {
    const s = this.scenery;
    if (!s) return -1;
    const { origin, direction } = this.stage.ray(clientX, clientY);
    return pickBody(s.run, s.pose, s.alive, s.extent.bodyRadius, origin, direction);
  }

  /** Where a body's origin is on the page. */
  whereIs(body: number): { x: number; y: number } {
    const p = this.scenery?.pose ?? new Float32Array(7 * (body + 1));
    return this.stage.project(new Vector3(p[7 * body], p[7 * body + 1], p[7 * body + 2]));
  }

  private update(): void {
    const s = this.scenery;
    if (!s) return;
    const { playback, options } = this;
    const { frame, fraction } = playback;
    const before = this.picked >= 0 ? s.pose.slice(7 * this.picked, 7 * this.picked + 3) : null;
    blendPoses(s.run, frame, fraction, s.pose, s.alive);
    if (before && options.follow) {
      const at = 7 * this.picked;
      this.stage.shift(new Vector3(s.pose[at] - before[0], s.pose[at + 1] - before[1], s.pose[at + 2] - before[2]));
    }
    if (s.run.lengths) s.bodies.resize(s.run.lengths, frame * s.run.count);
    s.bodies.place(s.pose, s.alive);
    s.ground.place(s.pose);
    s.contacts.place(frame);
    if (options.joints && s.run.joints.length > 0) s.joints.place(s.pose);
    for (const soft of s.soft) soft.place(frame, fraction);
    const accent = kScene[options.theme].accent;
    s.trail.place(frame, options.trail, accent);
    s.halo.place(s.pose, s.alive, accent);
    if (s.painted < 0 || (options.colour !== 'body' && s.painted !== frame)) {
      this.colourBodies(s, frame);
      s.bodies.paint(s.rgb, options.colour === 'body');
      s.painted = frame;
    }
  }

  private colourBodies(s: Scenery, frame: number): void {
    const { colour, theme } = this.options;
    const { run, rgb, value } = s;
    const c = new Color();
    if (colour === 'body') {
      run.bodies.forEach((b, i) => c.set(bodyColour(i, b.colour, b.fixed, theme)).toArray(rgb, 3 * i));
      return;
    }
    const fixed = new Color(kScene[theme].fixed).toArray();
    if (colour === 'set') {
      const sets = kSetColours.map((x) => new Color(x).toArray());
      value.fill(0);
      // Sliding says more than sticking, sticking more than floating.
      const rank = [0, 2, 3, 1];
      const back = [0, 3, 1, 2];
      const contacts = run.contacts;
      if (contacts)
        for (let i = contacts.offset[frame]; i < contacts.offset[frame + 1]; ++i) {
          const r = rank[contacts.set[i]];
          for (const body of [contacts.a[i], contacts.b[i]]) if (body >= 0 && value[body] < r) value[body] = r;
        }
      for (let i = 0; i < run.count; ++i) rgb.set(run.bodies[i].fixed ? fixed : sets[back[value[i]]], 3 * i);
      return;
    }
    const table = this.tables[colour];
    const most = colour === 'speed' ? s.ranges.speed : s.ranges.bodyForce;
    if (colour === 'force') bodyForces(run, frame, value);
    const scale = most > 0 ? (kTableSize - 1) / most : 0;
    for (let i = 0; i < run.count; ++i) {
      if (run.bodies[i].fixed) {
        rgb.set(fixed, 3 * i);
        continue;
      }
      const x = (colour === 'speed' ? speedOf(run, frame, i) : value[i]) * scale;
      const t = 3 * Math.min(kTableSize - 1, x | 0);
      rgb[3 * i] = table[t];
      rgb[3 * i + 1] = table[t + 1];
      rgb[3 * i + 2] = table[t + 2];
    }
  }

  private readonly tick = (now: number): void => {
    requestAnimationFrame(this.tick);
    const begin = performance.now();
    const seconds = Math.min(0.1, Math.max(0, (now - this.last) / 1000));
    this.last = now;
    const moved = this.playback.advance(seconds);
    this.stage.controls?.update();
    if (moved || this.dirty) this.draw(now, begin);
  };

  private draw(now: number, begin: number): void {
    this.dirty = false;
    this.update();
    this.drawCalls = this.stage.render();
    this.shown(now);
    ++this.pictures;
    this.times.push(performance.now() - begin);
    this.stamps.push(now);
    if (this.times.length > kRemembered) {
      this.times.shift();
      this.stamps.shift();
    }
  }

  /** Plays `pictures` one after the other without waiting for the screen: what the script alone costs. */
  measure(pictures: number): Stats {
    this.resetStats();
    for (let i = 0; i < pictures; ++i) {
      const begin = performance.now();
      this.playback.advance(1 / 60);
      this.draw(begin, begin);
    }
    return this.stats;
  }

  resetStats(): void {
    this.times.length = this.stamps.length = this.pictures = 0;
  }

  get stats(): Stats {
    const sorted = [...this.times].sort((a, b) => a - b);
    const at = (q: number) => sorted[Math.min(sorted.length - 1, Math.floor(q * sorted.length))] ?? 0;
    const span = (this.stamps.at(-1) ?? 0) - (this.stamps[0] ?? 0);
    return {
      pictures: this.pictures,
      drawCalls: this.drawCalls,
      triangles: this.stage.renderer.info.render.triangles,
      scriptMs: at(0.5),
      scriptMsHigh: at(0.95),
      fps: span > 0 ? (1000 * (this.stamps.length - 1)) / span : 0,
      shapeKinds: new Set(this.run?.bodies.flatMap((b) => b.shapes.map((s) => s.type))).size,
      bodies: this.run?.count ?? 0,
    };
  }
}
