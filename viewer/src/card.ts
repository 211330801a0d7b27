// SPDX-License-Identifier: Apache-2.0
// card.ts: numbers of the picked body in the current frame: as recorded, not blended.
import { figure, figureOf, kSetColours } from './colour';
import { el, tool } from './dom';
import { kSetNames, type Run } from './format';
import { speedOf } from './measure';
import type { Viewer } from './viewer';

export class BodyCard {
  private body = -1; // whose frame is built; only numbers change after that

  constructor(
    private readonly root: HTMLElement, private readonly viewer: Viewer, private readonly letGo: () => void,
    private readonly flipFollow: () => void,
  ) {}

  /** The next write builds everything again. */
  reset(): void {
    this.body = -1;
  }

  write(): void {
    const { run, picked, playback, options } = this.viewer;
    this.root.hidden = picked < 0 || !run;
    if (picked < 0 || !run) {
      this.body = -1;
      return;
    }
    const body = run.bodies[picked];
    if (this.body !== picked) {
      this.body = picked;
      const close = tool('close', 'Let go of the body', 'Esc', this.letGo);
      close.classList.add('close');
      const follow = el('button', 'tool', 'Follow');
      follow.type = 'button';
      follow.title = 'Camera follows the body (O)';
      follow.setAttribute('aria-pressed', String(options.follow));
      follow.addEventListener('click', this.flipFollow);
      const row = el('div', 'row');
      row.append(follow);
      const kinds = [...new Set(body.shapes.map((s) => s.type.replace('_', ' ')))].join(', ');
      this.root.replaceChildren(
        el('h2', '', body.name), el('p', 'kind', `${kinds || 'no shape'}${body.fixed ? ', fixed' : ''}`), close,
        el('dl'), el('h3'), el('ul'), row);
    }
    const k = playback.frame;
    const n = run.count;
    const pose = run.poses.subarray(7 * (k * n + picked), 7 * (k * n + picked) + 7);
    const { size, ranges } = this.viewer;
    const pace = ranges?.speed ?? 1;
    const triple = (v: ArrayLike<number>, o: number, scale: number) =>
      [0, 1, 2].slice(0, run.planar ? 2 : 3).map((i) => figureOf(v[o + i], scale)).join('  ');
    const rows: [string, string][] = [['position [m]', triple(pose, 0, size)]];
    if (run.planar) rows.push(['angle [°]', ((180 / Math.PI) * Math.atan2(2 * pose[3] * pose[6], 1 - 2 * pose[6] ** 2)).toFixed(1)]);
    if (run.velocities) {
      const o = 6 * (k * n + picked);
      rows.push(['velocity [m/s]', triple(run.velocities, o, pace)]);
      rows.push(['spin [rad/s]', run.planar ? figureOf(run.velocities[o + 5], 1) : triple(run.velocities, o + 3, 1)]);
    }
    rows.push(['speed [m/s]', figure(speedOf(run, k, picked))]);
    const list = this.root.querySelector('dl') as HTMLElement;
    list.replaceChildren(...rows.flatMap(([a, b]) => [el('dt', '', a), el('dd', '', b)]));
    this.contacts(run, k, picked);
  }

  private contacts(run: Run, frame: number, body: number): void {
    const title = this.root.querySelector('h3') as HTMLElement;
    const list = this.root.querySelector('ul') as HTMLElement;
    title.hidden = list.hidden = !run.contacts;
    if (!run.contacts) return;
    const c = run.contacts;
    const mine: { other: number; force: number; set: number }[] = [];
    for (let i = c.offset[frame]; i < c.offset[frame + 1]; ++i) {
      if (c.a[i] !== body && c.b[i] !== body) continue;
      mine.push({
        other: c.a[i] === body ? c.b[i] : c.a[i],
        force: Math.hypot(c.force[3 * i], c.force[3 * i + 1], c.force[3 * i + 2]), set: c.set[i],
      });
    }
    mine.sort((a, b) => b.force - a.force);
    title.textContent = mine.length === 0 ? 'No contact' : `${mine.length} contact${mine.length === 1 ? '' : 's'}`;
    list.replaceChildren(...mine.slice(0, 5).map((m) => {
      const li = el('li');
      const swatch = el('i', 'swatch');
      swatch.style.background = kSetColours[m.set];
      li.append(swatch, el('span', '', run.bodies[m.other]?.name ?? 'world'), el('em', '', kSetNames[m.set]), el('b', '', `${figure(m.force)} N`));
      return li;
    }));
    if (mine.length > 5) list.append(el('li', '', `and ${mine.length - 5} more`));
  }
}
