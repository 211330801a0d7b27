// SPDX-License-Identifier: Apache-2.0
// encode.ts: Run => JSON of format "orthant-view", and a page that carries it, as `orthant view` does.
import type { Run, Shape } from '../src/format';

function base64(a: ArrayBufferView): string {
  return Buffer.from(a.buffer, a.byteOffset, a.byteLength).toString('base64');
}

function shapeJson(s: Shape): object {
  const placed = { type: s.type, position: s.position, quaternion: s.quaternion };
  switch (s.type) {
    case 'sphere':
    case 'disc': return { ...placed, radius: s.radius };
    case 'capsule':
    case 'stadium': return { ...placed, radius: s.radius, half_length: s.halfLength };
    case 'box': return { ...placed, half: s.half };
    case 'rectangle': return { ...placed, half: s.half.slice(0, 2) };
    case 'ellipsoid': return { ...placed, semi_axes: s.half };
    case 'ellipse': return { ...placed, semi_axes: s.half.slice(0, 2) };
    case 'torus': return { ...placed, major: s.major, minor: s.minor };
    case 'cylinder':
    case 'cone': return { ...placed, radius: s.radius, half_length: s.halfLength };
    case 'mesh':
    case 'hull': return { ...placed, vertices: base64(s.vertices), faces: base64(s.faces) };
    case 'polygon': return { ...placed, vertices: base64(s.vertices) };
    case 'half_space': return placed;
  }
}

export function encodeRun(run: Run): object {
  const c = run.contacts;
  return {
    format: 'orthant-view', version: 1, name: run.name, planar: run.planar, units: 'SI', frames: run.frames,
    bodies_count: run.count,
    bodies: run.bodies.map((b) => ({
      name: b.name, fixed: b.fixed, ...(b.colour ? { colour: b.colour } : {}), shapes: b.shapes.map(shapeJson),
      visuals: b.visuals.map(({ shape, colour }) => ({ ...shapeJson(shape), ...(colour ? { colour } : {}) })),
    })),
    time: base64(run.time), poses: base64(run.poses),
    ...(run.velocities ? { velocities: base64(run.velocities) } : {}),
    ...(run.alive ? { alive: base64(run.alive) } : {}),
    ...(run.lengths ? { lengths: base64(run.lengths) } : {}),
    ...(c ? {
      contacts: {
        offset: base64(c.offset), a: base64(c.a), b: base64(c.b), point: base64(c.point), normal: base64(c.normal),
        force: base64(c.force), set: base64(c.set),
      },
    } : {}),
    joints: run.joints.map((j) => ({ name: j.name, type: j.type, a: j.a, b: j.b, anchor_a: j.anchor, axis_a: j.axis })),
    meshes: run.meshes.map((m) => ({
      name: m.name, nodes: m.nodes, triangles: base64(m.triangles), positions: base64(m.positions),
      ...(m.scalar ? { scalar: base64(m.scalar), scalar_name: m.scalarName } : {}),
    })),
    signals: Object.fromEntries(run.signals.map((s) => [s.name, base64(s.values)])),
  };
}

export const kPlaceholder = '<script type="application/json" id="orthant-run">null</script>';

export function pageWith(page: string, run: Run): string {
  const json = JSON.stringify(encodeRun(run)).replaceAll('</', '<\\/');
  return page.replace(kPlaceholder, () => kPlaceholder.replace('null', () => json));
}
