// SPDX-License-Identifier: Apache-2.0
// legend.ts: what the colours mean, how long the arrows are.
import { cssGradient, figure, kSetColours } from './colour';
import { el } from './dom';
import { kSetNames } from './format';
import type { Viewer } from './viewer';

/** Fills `legend`, hides it when there is nothing to explain. */
export function writeLegend(legend: HTMLElement, viewer: Viewer): void {
  const { options, ranges, run, scalarRange } = viewer;
  legend.replaceChildren();
  const scale = (title: string, gradient: string, low: number, high: number) => {
    const block = el('div');
    const bar = el('div', 'scale');
    bar.style.background = gradient;
    const ends = el('div', 'ends');
    ends.append(el('span', '', figure(low)), el('span', '', figure(high)));
    block.append(el('div', '', title), bar, ends);
    legend.append(block);
  };
  if (options.colour === 'speed' && ranges) scale('speed [m/s]', cssGradient('speed'), 0, ranges.speed);
  if (options.colour === 'force' && ranges) scale('contact force on a body [N]', cssGradient('force'), 0, ranges.bodyForce);
  if (scalarRange) scale(scalarRange.name, cssGradient('scalar'), scalarRange.low, scalarRange.high);
  if (run?.contacts && (options.colour === 'set' || options.points)) {
    const sets = el('div', 'sets');
    for (const i of [1, 2, 0, 3]) {
      if (i === 3 && !run.contacts.set.includes(3)) continue;
      const s = el('span');
      const swatch = el('i', 'swatch');
      swatch.style.background = kSetColours[i];
      s.append(swatch, kSetNames[i]);
      sets.append(s);
    }
    legend.append(sets);
  }
  if (run?.contacts && options.forces) {
    const label = el('label', '', 'arrow length');
    const input = el('input');
    input.type = 'range';
    input.min = '-3';
    input.max = '3';
    input.step = '0.1';
    input.value = String(Math.log2(options.arrowScale));
    input.addEventListener('input', () => viewer.set({ arrowScale: 2 ** Number(input.value) }));
    label.append(input);
    legend.append(label);
  }
  legend.hidden = legend.childElementCount === 0;
}
