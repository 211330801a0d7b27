// SPDX-License-Identifier: Apache-2.0
// colour.ts: (theme, value) => colours. One table for page and scene, so legend and picture agree.
import { Color } from 'three';

export type Theme = 'light' | 'dark';
export type ColourMode = 'body' | 'speed' | 'force' | 'set';
export const kColourModes: readonly ColourMode[] = ['body', 'speed', 'force', 'set'];

export interface SceneColours {
  fixed: string; // bodies that never move
  ground: string;
  grid: string;
  gridStrength: number;
  flatGround: string; // planar half-planes
  accent: string; // picked body, trail
  arrow: string;
  joint: string;
  sky: string;
  earth: string;
  ambient: number;
  key: number;
  fill: number;
}

export const kScene: Record<Theme, SceneColours> = {
  light: {
    fixed: '#c3c9d1', ground: '#f9fafc', grid: '#8c99ad', gridStrength: 0.34, flatGround: '#d9dee5', accent: '#1463ff',
    arrow: '#d6336c', joint: '#667386', sky: '#ffffff', earth: '#c9cdd4', ambient: 1.85, key: 1.5, fill: 0.35,
  },
  dark: {
    fixed: '#6b7482', ground: '#2b323d', grid: '#93a4bd', gridStrength: 0.22, flatGround: '#2a303a', accent: '#6ea8ff',
    arrow: '#ff6b8b', joint: '#c9d3e0', sky: '#e6edff', earth: '#555a66', ambient: 1.3, key: 1.75, fill: 0.4,
  },
};

/** Muted neighbours that stay apart from each other and from the set colours' meaning. */
const kBodies = ['#6ea3e8', '#f0a868', '#6fc3a8', '#e58c9a', '#a897df', '#e8c968', '#6cc0d8', '#b5c474', '#d69bc8', '#93a7c6'];

export const kSetColours = ['#8794a7', '#2ba587', '#f0a030', '#9b7ede'];

const kScales: Record<'speed' | 'force' | 'scalar', string[]> = {
  speed: ['#35508f', '#3b7fae', '#4fb3a6', '#a9d08a', '#f6e58d'],
  force: ['#4d4a78', '#8a4f86', '#cf5f72', '#f2925d', '#fbd98b'],
  scalar: ['#3b4f93', '#4a8fb8', '#8fc6a8', '#f0d28a', '#d9674f'],
};

export const kTableSize = 256;

/** Linear-light table r g b for `kTableSize` values from 0 to 1; blended in sRGB so that it looks even. */
export function colourTable(scale: keyof typeof kScales): Float32Array {
  const stops = kScales[scale].map((c) => parseInt(c.slice(1), 16));
  const table = new Float32Array(3 * kTableSize);
  const colour = new Color();
  for (let i = 0; i < kTableSize; ++i) {
    const x = (i / (kTableSize - 1)) * (stops.length - 1);
    const k = Math.min(Math.floor(x), stops.length - 2);
    const mix = (shift: number) => {
      const a = (stops[k] >> shift) & 255;
      const b = (stops[k + 1] >> shift) & 255;
      return (a + (b - a) * (x - k)) / 255;
    };
    colour.setRGB(mix(16), mix(8), mix(0), 'srgb').toArray(table, 3 * i);
  }
  return table;
}

/** The same scale for a CSS gradient. */
export function cssGradient(scale: keyof typeof kScales): string {
  return `linear-gradient(90deg, ${kScales[scale].join(', ')})`;
}

export function bodyColour(index: number, given: string | null, fixed: boolean, theme: Theme): string {
  if (given) return given;
  return fixed ? kScene[theme].fixed : kBodies[index % kBodies.length];
}

/** Three or four figures, no noise: 0.00123, 12.3, 4.57e+6. */
export function figure(x: number): string {
  if (!Number.isFinite(x)) return String(x);
  const a = Math.abs(x);
  if (Number.isInteger(x) && a < 1e6) return String(x);
  if (a >= 1e5 || a < 1e-3) return x.toExponential(2);
  return x.toFixed(a >= 100 ? 1 : a >= 10 ? 2 : a >= 1 ? 3 : 4);
}

/** A number among others of size `scale`: three decimals of it, no minus before zero. */
export function figureOf(x: number, scale: number): string {
  if (!Number.isFinite(x)) return String(x);
  const decimals = 3 + Math.max(0, -Math.floor(Math.log10(Math.max(scale, 1e-30))) - 1);
  if (decimals > 6) return Math.abs(x) < 1e-6 * scale ? '0' : x.toExponential(2);
  const text = x.toFixed(decimals);
  return Number(text) === 0 ? (0).toFixed(decimals) : text;
}
