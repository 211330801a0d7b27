// SPDX-License-Identifier: Apache-2.0
// materials.ts: three.js materials with the few lines that our geometries need in their shaders.
import { DoubleSide, MeshBasicMaterial, MeshDepthMaterial, MeshStandardMaterial, RGBADepthPacking, type Material } from 'three';

type Patch = { vertexShader: string; fragmentShader: string };

/** position * p0 + second * p1, see geometry.ts. */
function stretch(shader: Patch): void {
  shader.vertexShader =
    'attribute vec3 second;\nattribute vec2 stretch;\n' +
    shader.vertexShader.replace(
      '#include <begin_vertex>',
      'vec3 transformed = position * stretch.x + second * stretch.y;',
    );
}

function patched<M extends Material>(material: M, key: string, patches: ((s: Patch) => void)[]): M {
  if (patches.length > 0) {
    material.onBeforeCompile = (shader) => patches.forEach((patch) => patch(shader));
    material.customProgramCacheKey = () => key;
  }
  return material;
}

export function solidMaterial(stretched: boolean): MeshStandardMaterial {
  return patched(
    new MeshStandardMaterial({ roughness: 0.62, metalness: 0, vertexColors: true }),
    'solid-stretch',
    stretched ? [stretch] : [],
  );
}

export function depthMaterial(): MeshDepthMaterial {
  return patched(new MeshDepthMaterial({ depthPacking: RGBADepthPacking }), 'depth-stretch', [stretch]);
}

/** Flat fill with a rim of constant width in pixels; `edge` from geometry.ts. */
function rim(shader: Patch): void {
  shader.vertexShader =
    'attribute float edge;\nvarying float vEdge;\n' +
    shader.vertexShader.replace('#include <begin_vertex>', '#include <begin_vertex>\nvEdge = edge;');
  shader.fragmentShader =
    'varying float vEdge;\n' +
    shader.fragmentShader.replace(
      '#include <color_fragment>',
      `#include <color_fragment>
      float slope = length(vec2(dFdx(vEdge), dFdy(vEdge)));
      float inside = slope > 0.0 ? vEdge / slope : 0.0;
      diffuseColor.rgb *= mix(0.42, 1.0, smoothstep(1.1, 2.3, inside));`,
    );
}

export function flatMaterial(stretched: boolean): MeshBasicMaterial {
  return patched(
    new MeshBasicMaterial({ side: DoubleSide }),
    stretched ? 'flat-stretch' : 'flat',
    stretched ? [rim, stretch] : [rim],
  );
}
