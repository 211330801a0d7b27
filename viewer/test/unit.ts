// SPDX-License-Identifier: Apache-2.0
// unit.ts: what needs no browser: the format, time, picking, geometry against closed forms.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Vector3 } from 'three';
import type { InstancedBufferGeometry, Mesh } from 'three';
import { figure, figureOf } from '../src/colour';
import { ContactField } from '../src/contacts';
import { decodeRun, decodeText, FormatError, type Run, type Shape, type Vec3 } from '../src/format';
import { bakedPositions } from '../src/geometry';
import { extentOf, rangesOf } from '../src/measure';
import { hitShape, insideFlat } from '../src/pick';
import { blendPoses, frameAt, Playback } from '../src/playback';
import { gallery, icosahedron, kStill, turn } from '../src/sample';
import { encodeRun, pageWith, kPlaceholder } from './encode';
import { pile, planar, stack } from './sample';

const kRuns: [string, () => Run][] = [
  ['gallery', gallery], ['stack', () => stack(4)], ['planar', () => planar(30, 40)], ['pile', () => pile(60, 4, 3)],
];

for (const [name, make] of kRuns)
  test(`${name} survives writing and reading`, () => {
    const run = make();
    const back = decodeRun(JSON.parse(JSON.stringify(encodeRun(run))));
    assert.deepEqual(back.poses, run.poses);
    assert.deepEqual(back.contacts, run.contacts);
    assert.deepEqual(back.bodies.map((b) => b.name), run.bodies.map((b) => b.name));
    assert.deepEqual(back.bodies.map((b) => b.shapes.map((s) => s.type)), run.bodies.map((b) => b.shapes.map((s) => s.type)));
    assert.deepEqual(back.signals, run.signals);
    for (let k = 0; k < 7 * run.frames * run.count; k += 7) {
      const q = run.poses.subarray(k + 3, k + 7);
      assert.ok(Math.abs(Math.hypot(...q) - 1) < 1e-5);
    }
  });

test('a page that carries a run can be opened again, even with </script> in a name', () => {
  const run = stack(2);
  run.name = 'a </script> b';
  const page = pageWith(`<!doctype html>${kPlaceholder}<script>0</script>`, run);
  assert.equal(decodeText(page).name, run.name);
  assert.throws(() => decodeText(`<!doctype html>${kPlaceholder}`), /carries no run/);
});

test('a broken file is refused with the field, the rule and the value', () => {
  type Broken = Record<string, unknown>;
  const cases: [(j: Broken) => void, RegExp][] = [
    [(j) => { j.format = 'other'; }, /format: expected 'orthant-view', got 'other'/],
    [(j) => { j.version = 2; }, /version: this page reads version 1, got 2/],
    [(j) => { j.frames = 0; }, /frames: expected a whole number >= 1, got 0/],
    [(j) => { j.bodies_count = 99; }, /bodies_count: 99, but there are/],
    [(j) => { j.poses = 'AAAA'; }, /poses: expected \d+ numbers of 4 bytes, got 3 bytes/],
    [(j) => { j.time = '!!'; }, /time: not valid base64/],
    [(j) => { ((j.bodies as Broken[])[1].shapes as Broken[])[0].type = 'pyramid'; }, /bodies\[1\]\.shapes\[0\]\.type: unknown shape 'pyramid'/],
    [(j) => { ((j.bodies as Broken[])[1].shapes as Broken[])[0].half = [1, -1, 1]; }, /half\[1\]: expected a positive number, got -1/],
    [(j) => { (j.contacts as Broken).set = 'AA=='; }, /contacts\.set: expected/],
    [(j) => { j.joints = [{ a: 0, b: 1000 }]; }, /joints\[0\]\.b: 1000 is beyond the bodies/],
    [(j) => { j.signals = { energy: 'AAAAAAAAAAA=' }; }, /signals\.energy: expected/],
    [(j) => { j.time = Buffer.from(new Float64Array(240).fill(NaN).buffer).toString('base64'); }, /time: frame 0 is NaN/],
  ];
  for (const [damage, message] of cases) {
    const json = JSON.parse(JSON.stringify(encodeRun(stack(2)))) as Broken;
    damage(json);
    assert.throws(() => decodeRun(json), (e: Error) => e instanceof FormatError && message.test(e.message), String(message));
  }
  assert.throws(() => decodeText('{"format": '), /not JSON/);
});

test('the frame of a time, at the ends and between', () => {
  const time = Float64Array.of(0, 0.1, 0.1, 0.3);
  assert.deepEqual([-1, 0, 0.05, 0.1, 0.2, 0.3, 9].map((t) => frameAt(time, t)), [0, 0, 0, 2, 2, 3, 3]);
});

test('play goes round or stops, and a pause shows a recorded frame', () => {
  const p = new Playback(Float64Array.of(0, 1, 2));
  p.play(true);
  p.advance(0.5);
  assert.deepEqual([p.frame, p.fraction], [0, 0.5]);
  p.play(false);
  assert.equal(p.fraction, 0);
  p.play(true);
  p.advance(3);
  assert.deepEqual([p.playing, p.frame], [true, 0]);
  p.loop = false;
  p.advance(5);
  assert.deepEqual([p.playing, p.frame], [false, 2]);
});

test('between frames a body turns the shorter way and stays rigid', () => {
  const run = { ...stack(1), frames: 2, count: 1, alive: null } as Run;
  const half = Math.SQRT1_2;
  // The second quaternion has the other sign: the same rotation by 90 degrees about z.
  run.poses = Float32Array.of(0, 0, 0, 1, 0, 0, 0, 2, 0, 0, -half, 0, 0, -half);
  const pose = new Float32Array(7);
  blendPoses(run, 0, 0.5, pose, new Uint8Array(1));
  assert.equal(pose[0], 1);
  assert.ok(Math.abs(pose[3] - Math.cos(Math.PI / 8)) < 1e-6 && Math.abs(pose[6] - Math.sin(Math.PI / 8)) < 1e-6);
});

const ico = icosahedron(1);
const kSolids: [Shape, number][] = [
  [{ ...kStill, type: 'sphere', radius: 0.5 }, (4 / 3) * Math.PI * 0.125],
  [{ ...kStill, type: 'capsule', radius: 0.3, halfLength: 0.7 }, Math.PI * 0.09 * 1.4 + (4 / 3) * Math.PI * 0.027],
  [{ ...kStill, type: 'box', half: [0.2, 0.3, 0.4] }, 8 * 0.024],
  [{ ...kStill, type: 'ellipsoid', half: [0.2, 0.3, 0.4] }, (4 / 3) * Math.PI * 0.024],
  [{ ...kStill, type: 'torus', major: 0.6, minor: 0.2 }, 2 * Math.PI ** 2 * 0.6 * 0.04],
  [{ ...kStill, type: 'cylinder', radius: 0.3, halfLength: 0.7 }, Math.PI * 0.09 * 1.4],
  [{ ...kStill, type: 'cone', radius: 0.3, halfLength: 0.7 }, (Math.PI * 0.09 * 1.4) / 3],
  [{ ...kStill, type: 'mesh', ...ico }, (5 / 12) * (3 + Math.sqrt(5)) * (1 / Math.sin((2 * Math.PI) / 5)) ** 3],
  [{ ...kStill, type: 'hull', ...ico }, (5 / 12) * (3 + Math.sqrt(5)) * (1 / Math.sin((2 * Math.PI) / 5)) ** 3],
];

for (const [shape, volume] of kSolids)
  test(`triangles of a ${shape.type} enclose its volume, seen from outside`, () => {
    const p = bakedPositions({ ...shape, position: [1, 2, 3], quaternion: turn([0.6, 0, 0.8], 1) }, 0);
    let sum = 0;
    for (let i = 0; i < p.length; i += 9) {
      const [a, b, c] = [0, 3, 6].map((k) => new Vector3(p[i + k] - 1, p[i + k + 1] - 2, p[i + k + 2] - 3));
      sum += a.dot(b.cross(c)) / 6;
    }
    assert.ok(sum > 0.94 * volume && sum < 1.0001 * volume, `${sum} for ${volume}`);
  });

const kRays: [Shape, Vec3, Vec3, number][] = [
  [{ ...kStill, type: 'sphere', radius: 0.5 }, [-3, 0, 0.3], [1, 0, 0], 3 - 0.4],
  [{ ...kStill, type: 'capsule', radius: 0.3, halfLength: 0.7 }, [-3, 0, 0], [1, 0, 0], 2],
  [{ ...kStill, type: 'capsule', radius: 0.3, halfLength: 0.7 }, [0.6, 0, 5], [0, 0, -1], 4.7],
  [{ ...kStill, type: 'box', half: [0.2, 0.3, 0.4] }, [0.1, 0.1, 5], [0, 0, -1], 4.6],
  [{ ...kStill, type: 'ellipsoid', half: [0.2, 0.3, 0.4] }, [0, -5, 0], [0, 1, 0], 4.7],
  [{ ...kStill, type: 'torus', major: 0.6, minor: 0.2 }, [0.6, 0, 5], [0, 0, -1], 4.8],
  [{ ...kStill, type: 'cylinder', radius: 0.3, halfLength: 0.7 }, [0.6, 0, 5], [0, 0, -1], 4.7],
  [{ ...kStill, type: 'cylinder', radius: 0.3, halfLength: 0.7 }, [-3, 0.2, 0], [1, 0, 0], 2.3],
  [{ ...kStill, type: 'cone', radius: 0.3, halfLength: 0.7 }, [0, 0, 5], [0, 0, -1], 4.85],
  [{ ...kStill, type: 'hull', ...ico }, [0, 0, -5], [0, 0, 1], 5 - ico.down],
];

test('rays meet shapes where the formula says, and miss beside them', () => {
  for (const [shape, o, d, t] of kRays)
    assert.ok(Math.abs(hitShape(shape, new Vector3(...o), new Vector3(...d), 100, 1e-6) - t) < 1e-4, shape.type);
  const torus = kSolids[4][0];
  assert.equal(hitShape(torus, new Vector3(0, 0, 5), new Vector3(0, 0, -1), 100, 1e-6), Infinity); // through the hole
  for (const [shape] of kSolids)
    assert.equal(hitShape(shape, new Vector3(2, 2, 5), new Vector3(0, 0, -1), 100, 1e-6), Infinity, shape.type);
});

test('points of the plane are inside or outside planar shapes', () => {
  const square = Float32Array.of(0, 0, 1, 0, 1, 1, 0, 1);
  const cases: [Shape, number, number, boolean][] = [
    [{ ...kStill, type: 'disc', radius: 1 }, 0.7, 0.7, true], [{ ...kStill, type: 'disc', radius: 1 }, 0.8, 0.8, false],
    [{ ...kStill, type: 'stadium', radius: 0.2, halfLength: 1 }, 1.15, 0.1, true],
    [{ ...kStill, type: 'stadium', radius: 0.2, halfLength: 1 }, 1.15, 0.19, false],
    [{ ...kStill, type: 'rectangle', half: [1, 0.5, 0] }, 0.9, -0.4, true], [{ ...kStill, type: 'rectangle', half: [1, 0.5, 0] }, 0.9, 0.6, false],
    [{ ...kStill, type: 'ellipse', half: [2, 1, 0] }, 1.9, 0.1, true], [{ ...kStill, type: 'ellipse', half: [2, 1, 0] }, 1.9, 0.5, false],
    [{ ...kStill, type: 'polygon', vertices: square, key: 'p' }, 0.9, 0.1, true],
    [{ ...kStill, type: 'polygon', vertices: square, key: 'p' }, 1.1, 0.1, false],
  ];
  for (const [shape, x, y, inside] of cases) assert.equal(insideFlat(shape, x, y), inside, `${shape.type} ${x} ${y}`);
});

test('the extent holds the bodies and forgets one that fell out of the world', () => {
  const run = stack(3);
  const e = extentOf(run);
  assert.ok(Math.abs(e.low[2]) < 1e-6, 'cubes stand on the floor');
  const far = { ...run, poses: run.poses.slice() };
  const o = 7 * ((run.frames - 1) * run.count + 1);
  far.poses[o + 2] = -1e6;
  assert.deepEqual(extentOf(far).low, e.low);
  assert.ok(rangesOf(run).speed > 1 && rangesOf(run).contactForce > 0);
});

test('the extent follows a body that is thrown, but not one of many', () => {
  const run = stack(1);
  const thrown = { ...run, poses: run.poses.slice() };
  const body = run.bodies.findIndex((b) => !b.fixed);
  for (let k = 0; k < run.frames; ++k) thrown.poses[7 * (k * run.count + body)] = (20 * k) / run.frames;
  const e = extentOf(thrown);
  assert.ok(e.high[0] > 14 && e.high[0] < 21, `sees ${e.high[0]} m of 20`);
});

test('a stack in the sample carries its weight', () => {
  const run = stack(4);
  const c = run.contacts;
  assert.ok(c);
  let up = 0;
  const last = run.frames - 1;
  for (let i = c.offset[last]; i < c.offset[last + 1]; ++i) if (c.b[i] === 0) up += c.force[3 * i + 2];
  assert.ok(Math.abs(up - (10 * 5 + 4) * 9.81) < 1e-3);
});

test('arrows show what carries the moving body, whichever is written first', () => {
  const run = stack(1);
  const c = run.contacts;
  assert.ok(c);
  const arrows = (r: Run) => {
    const field = new ContactField(r, 100, 1, 1, 1);
    field.show(false, true);
    field.place(r.frames - 1);
    const mesh = field.object.children[0] as Mesh<InstancedBufferGeometry>;
    return [...mesh.geometry.getAttribute('force').array.slice(0, 3 * mesh.geometry.instanceCount)];
  };
  const swapped: Run = { ...run, contacts: { ...c, a: c.b, b: c.a, force: c.force.map((f) => -f) } };
  const plain = arrows(run);
  assert.ok(plain.length > 0 && plain.some((f) => f > 0) && plain.every((f) => f >= 0));
  assert.deepEqual(arrows(swapped).map((f) => f + 0), plain);
});

test('numbers are short, and small worlds keep their digits', () => {
  assert.deepEqual([0, 12, 1234567.8, 0.00012, 3.14159, -42.123].map(figure), ['0', '12', '1.23e+6', '1.20e-4', '3.142', '-42.12']);
  assert.deepEqual([figureOf(-1e-9, 2), figureOf(1.23456, 2), figureOf(0.0123456, 0.02), figureOf(1.5e-6, 3e-6)], ['0.000', '1.235', '0.0123', '1.50e-6']);
});
