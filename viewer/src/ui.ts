// SPDX-License-Identifier: Apache-2.0
// ui.ts: buttons, keys and readouts around a Viewer.
import { Quaternion, Vector3 } from 'three';
import { cssGradient, figure, kColourModes, kSetColours, type ColourMode, type Theme } from './colour';
import { kSetNames, type Run, type Signal } from './format';
import { derivedSignals, speedOf } from './measure';
import { PlotStrip } from './plot';
import { Viewer, type Options } from './viewer';

const kIcons: Record<string, string> = {
  play: '<path d="M7 5l12 7-12 7z" fill="currentColor"/>',
  pause: '<path d="M8 5v14M16 5v14" stroke-width="3.4"/>',
  back: '<path d="M17 6l-8 6 8 6zM6 6v12"/>',
  forward: '<path d="M7 6l8 6-8 6zM18 6v12"/>',
  loop: '<path d="M4 11V9a3 3 0 013-3h11M15 3l3 3-3 3M20 13v2a3 3 0 01-3 3H6M9 21l-3-3 3-3"/>',
  points: '<circle cx="7" cy="8" r="2.6" fill="currentColor"/><circle cx="17" cy="10" r="2.6" fill="currentColor"/><circle cx="10" cy="17" r="2.6" fill="currentColor"/>',
  forces: '<path d="M12 21V4M6.5 9.500L12 4l5.500 5.500"/>',
  joints: '<circle cx="12" cy="12" r="3"/><path d="M14 10l6-6M10 14l-6 6"/>',
  trail: '<path d="M3 18c5 1 4-9 9-9s3 6 8-3" stroke-dasharray="3 3"/><circle cx="20" cy="6" r="1.8" fill="currentColor"/>',
  shadows: '<circle cx="12" cy="9" r="5.500"/><path d="M5 20h14" stroke-width="2.600"/>',
  fit: '<path d="M4 9V4h5M20 9V4h-5M4 15v5h5M20 15v5h-5"/>',
  plots: '<path d="M4 4v16h16M7 15l4-5 3 3 5-7"/>',
  light: '<circle cx="12" cy="12" r="4"/><path d="M12 3v2M12 19v2M3 12h2M19 12h2M5.600 5.600L7 7M17 17l1.400 1.400M5.600 18.400L7 17M17 7l1.400-1.400"/>',
  dark: '<path d="M20 14.500A8 8 0 119.500 4a6.500 6.500 0 0010.500 10.500z"/>',
  open: '<path d="M3 7a2 2 0 012-2h4l2 2h8a2 2 0 012 2v8a2 2 0 01-2 2H5a2 2 0 01-2-2z"/>',
  help: '<circle cx="12" cy="12" r="9"/><path d="M9.500 9.500a2.600 2.600 0 115 .8c-.6 1.300-2.500 1.500-2.500 3.200M12 17h.01"/>',
  close: '<path d="M6 6l12 12M18 6L6 18"/>',
};

const kKeys: [string, string][] = [
  ['Space', 'play or pause'], ['← →', 'one frame back, forward'], ['Shift ← →', 'ten frames'], ['↑ ↓', 'faster, slower'],
  ['Home End', 'first, last frame'], ['L', 'repeat at the end'], ['C', 'next colouring'], ['F', 'force arrows'],
  ['P', 'contact points'], ['J', 'joints'], ['R', 'trail of the picked body'], ['S', 'shadows'], ['G', 'plots'],
  ['V', 'fit the bodies into view'], ['1 2 3', 'look along x, y, z'], ['O', 'camera follows the picked body'],
  ['T', 'dark or light'], ['Esc', 'let go of the body'], ['?', 'this help'],
];

const kModeNames: Record<ColourMode, string> = { body: 'Body', speed: 'Speed', force: 'Force', set: 'Set' };
const kTextEvery = 80; // ms between changes of numbers while playing; faster cannot be read

export function icon(name: string): string {
  return `<svg viewBox="0 0 24 24" aria-hidden="true">${kIcons[name]}</svg>`;
}

export function byId<T extends Element = HTMLElement>(id: string): T {
  return document.getElementById(id) as unknown as T;
}

function el<K extends keyof HTMLElementTagNameMap>(tag: K, cls = '', text = ''): HTMLElementTagNameMap[K] {
  const e = document.createElement(tag);
  if (cls) e.className = cls;
  if (text) e.textContent = text;
  return e;
}

function tool(name: string, label: string, key: string, action: () => void, text = ''): HTMLButtonElement {
  const b = el('button', text ? 'tool' : 'tool icon');
  b.type = 'button';
  b.innerHTML = icon(name) + (text ? `<span class="label">${text}</span>` : '');
  b.setAttribute('aria-label', label);
  b.title = key ? `${label} (${key})` : label;
  b.addEventListener('click', action);
  return b;
}

export class Ui {
  readonly viewer: Viewer;
  private readonly plots: PlotStrip;
  private readonly toggles = new Map<keyof Options | 'plots', HTMLButtonElement>();
  private readonly modes = new Map<ColourMode, HTMLButtonElement>();
  private readonly play: HTMLButtonElement;
  private readonly loop: HTMLButtonElement;
  private readonly speed: HTMLSelectElement;
  private readonly theme: HTMLButtonElement;
  private readonly scrub = byId<HTMLInputElement>('scrub');
  private readonly clock = byId('clock');
  private readonly card = byId('card');
  private readonly help = byId<HTMLDialogElement>('help');
  private signals: Signal[] = [];
  private textAt = 0;
  private plotsOn = true;
  private cardBody = -1;
  private readonly triad = new Quaternion(9, 9, 9, 9); // as drawn; none yet

  constructor(private readonly openFile: () => void) {
    this.viewer = new Viewer(byId<HTMLCanvasElement>('canvas'), (now) => this.shown(now));
    this.plots = new PlotStrip(
      byId('strip'), byId('signals'), byId('lanes'), byId('lanes').querySelector('canvas') as HTMLCanvasElement,
      byId('cursor'), byId('limits'), (f) => this.seekFraction(f), () => this.layout());

    const transport = byId('transport');
    this.play = tool('play', 'Play', 'Space', () => this.setPlaying(!this.viewer.playback.playing));
    this.play.classList.add('play');
    this.loop = tool('loop', 'Repeat at the end', 'L', () => this.setLoop(!this.viewer.playback.loop));
    this.speed = el('select');
    this.speed.setAttribute('aria-label', 'Speed of play');
    this.speed.title = 'Speed of play (↑ ↓)';
    this.speed.addEventListener('change', () => {
      this.viewer.playback.speed = Number(this.speed.value);
      this.speed.blur();
    });
    transport.append(
      this.play, tool('back', 'One frame back', '←', () => this.step(-1)),
      tool('forward', 'One frame forward', '→', () => this.step(1)), this.loop, this.speed);

    const tools = byId('tools');
    const colour = el('div');
    colour.setAttribute('role', 'radiogroup');
    colour.setAttribute('aria-label', 'Colour by');
    colour.append(el('span', 'caption label', 'Colour'));
    for (const mode of kColourModes) {
      const b = el('button', 'tool', kModeNames[mode]);
      b.type = 'button';
      b.setAttribute('role', 'radio');
      b.title = `Colour by ${mode === 'set' ? 'set: stick, slide, separate' : mode} (C)`;
      b.addEventListener('click', () => this.set({ colour: mode }));
      this.modes.set(mode, b);
      colour.append(b);
    }
    const shown = el('div');
    const toggle = (key: keyof Options & ('points' | 'forces' | 'joints' | 'trail' | 'shadows'), label: string, k: string) => {
      const b = tool(key, label, k, () => this.set({ [key]: !this.viewer.options[key] }));
      this.toggles.set(key, b);
      shown.append(b);
    };
    toggle('points', 'Contact points', 'P');
    toggle('forces', 'Force arrows', 'F');
    toggle('joints', 'Joints', 'J');
    toggle('trail', 'Trail of the picked body', 'R');
    toggle('shadows', 'Shadows', 'S');
    const plots = tool('plots', 'Plots', 'G', () => this.showPlots(!this.plotsOn));
    this.toggles.set('plots', plots);
    shown.append(plots);
    const page = el('div');
    this.theme = tool('dark', 'Dark theme', 'T', () => this.setTheme(this.viewer.options.theme === 'dark' ? 'light' : 'dark'));
    page.append(
      tool('fit', 'Fit the bodies into view', 'V', () => this.viewer.fit()), this.theme,
      tool('open', 'Open another run', '', this.openFile), tool('help', 'Keyboard shortcuts', '?', () => this.showHelp()));
    tools.append(colour, shown, page);

    this.scrub.addEventListener('input', () => this.seekFraction(Number(this.scrub.value)));
    this.buildHelp();
    this.listen();
    this.layout();
  }

  private listen(): void {
    const canvas = this.viewer.stage.canvas;
    let down = { x: 0, y: 0 };
    canvas.addEventListener('pointerdown', (e) => { down = { x: e.clientX, y: e.clientY }; });
    canvas.addEventListener('pointerup', (e) => {
      // A drag turns the camera; only a click picks.
      if (Math.hypot(e.clientX - down.x, e.clientY - down.y) < 4 && e.button === 0) this.pick(this.viewer.bodyAt(e.clientX, e.clientY));
    });
    window.addEventListener('keydown', (e) => this.key(e));
    new ResizeObserver(() => this.layout()).observe(byId('view'));
  }

  private key(e: KeyboardEvent): void {
    if (e.ctrlKey || e.metaKey || e.altKey || this.help.open) return;
    const target = e.target as HTMLElement;
    if (target instanceof HTMLSelectElement) return;
    if (target instanceof HTMLButtonElement && (e.key === ' ' || e.key === 'Enter')) return;
    if (target instanceof HTMLInputElement && target !== this.scrub) return;
    const { options } = this.viewer;
    const flip = (key: 'points' | 'forces' | 'joints' | 'trail' | 'shadows') => () => this.set({ [key]: !options[key] });
    const actions: Record<string, () => void> = {
      ' ': () => this.setPlaying(!this.viewer.playback.playing),
      ArrowLeft: () => this.step(e.shiftKey ? -10 : -1),
      ArrowRight: () => this.step(e.shiftKey ? 10 : 1),
      ArrowUp: () => this.setSpeed(this.viewer.playback.speed * 2),
      ArrowDown: () => this.setSpeed(this.viewer.playback.speed / 2),
      Home: () => this.seekFrame(0),
      End: () => this.seekFrame(Infinity),
      l: () => this.setLoop(!this.viewer.playback.loop),
      c: () => this.nextColour(),
      f: flip('forces'), p: flip('points'), j: flip('joints'), r: flip('trail'), s: flip('shadows'),
      g: () => this.showPlots(!this.plotsOn),
      v: () => this.viewer.fit(),
      1: () => this.look(1, 0, 0.001),
      2: () => this.look(0, -1, 0.001),
      3: () => this.look(0, -0.001, 1),
      o: () => this.setFollow(!options.follow),
      t: () => this.setTheme(options.theme === 'dark' ? 'light' : 'dark'),
      Escape: () => this.pick(-1),
      '?': () => this.showHelp(),
    };
    const action = actions[e.key.length === 1 ? e.key.toLowerCase() : e.key];
    if (!action) return;
    e.preventDefault();
    action();
  }

  private look(x: number, y: number, z: number): void {
    if (!this.viewer.stage.planar) this.viewer.fit(new Vector3(x, y, z).normalize());
  }

  load(run: Run): void {
    this.viewer.load(run);
    (byId('title').querySelector('h1') as HTMLElement).textContent = run.name;
    const many = (n: number, word: string) => `${n.toLocaleString('en')} ${word}${n === 1 ? '' : 's'}`;
    const moving = run.bodies.filter((b) => !b.fixed).length;
    const parts = [moving === 1 ? '1 body' : `${moving.toLocaleString('en')} bodies`];
    if (run.joints.length) parts.push(many(run.joints.length, 'joint'));
    if (run.meshes.length) parts.push(run.meshes.length === 1 ? '1 mesh' : `${run.meshes.length} meshes`);
    parts.push(many(run.frames, 'frame'), `${figure(this.viewer.playback.duration)} s`);
    (byId('title').querySelector('p') as HTMLElement).textContent = parts.join(' · ');
    document.title = `${run.name} · Orthant`;
    this.signals = [...run.signals, ...derivedSignals(run)];
    this.plots.setSignals(this.signals, run.time);
    this.plots.show(this.plotsOn);
    this.pick(-1);
    this.setSpeed(this.viewer.playback.speed);
    this.setLoop(true);
    this.refresh();
    this.layout();
    this.viewer.stage.fit(); // only now has the view its shape
  }

  set(change: Partial<Options>): void {
    if (change.colour && !this.viewer.has(change.colour)) return;
    this.viewer.set(change);
    this.refresh();
  }

  setPlaying(on: boolean): void {
    this.viewer.playback.play(on);
    this.viewer.touch();
    this.refresh();
  }

  setLoop(on: boolean): void {
    this.viewer.playback.loop = on;
    this.loop.setAttribute('aria-pressed', String(on));
  }

  setSpeed(speed: number): void {
    this.viewer.playback.speed = speed;
    const label = (s: number) => (s >= 1 ? `${figureShort(s)}×` : `1/${figureShort(1 / s)}×`);
    const base = 2 ** Math.round(Math.log2(speed));
    const list = [1 / 16, 1 / 8, 1 / 4, 1 / 2, 1, 2, 4, 8, 16].map((f) => (base > 16 || base < 1 / 16 ? f * base : f));
    this.speed.replaceChildren(...list.map((s) => {
      const o = el('option', '', label(s));
      o.value = String(s);
      o.selected = s === base;
      return o;
    }));
  }

  setTheme(theme: Theme, remember = true): void {
    document.documentElement.dataset.theme = theme;
    if (remember) {
      try {
        localStorage.setItem('orthant-theme', theme);
      } catch { /* pages from disk may have no storage; the choice then lasts for this page */ }
    }
    this.set({ theme });
    this.theme.innerHTML = icon(theme === 'dark' ? 'light' : 'dark');
    this.theme.setAttribute('aria-label', theme === 'dark' ? 'Light theme' : 'Dark theme');
    this.theme.title = `${theme === 'dark' ? 'Light' : 'Dark'} theme (T)`;
    this.plots.draw();
  }

  setFollow(on: boolean): void {
    this.viewer.set({ follow: on && this.viewer.picked >= 0 });
    this.cardBody = -1;
    this.writeCard();
  }

  showPlots(on: boolean): void {
    this.plotsOn = on;
    this.plots.show(on);
    this.refresh();
    this.layout();
  }

  nextColour(): void {
    const usable = kColourModes.filter((m) => this.viewer.has(m));
    this.set({ colour: usable[(usable.indexOf(this.viewer.options.colour) + 1) % usable.length] });
  }

  step(frames: number): void {
    const { playback } = this.viewer;
    if (playback.playing) this.setPlaying(false);
    this.seekFrame(playback.frame + frames);
  }

  seekFrame(frame: number): void {
    const last = (this.viewer.run?.frames ?? 1) - 1;
    this.viewer.playback.seekFrame(Math.min(frame, last));
    this.textAt = 0;
    this.viewer.touch();
  }

  seekFraction(f: number): void {
    const { playback } = this.viewer;
    playback.seekTime(playback.time[0] + f * playback.duration);
    this.textAt = 0;
    this.viewer.touch();
  }

  pick(body: number): void {
    this.viewer.pick(body);
    this.cardBody = -1;
    this.writeCard();
    const run = this.viewer.run;
    if (!run) return;
    // The picked body joins the plots; what was chosen stays.
    const keep = this.plots.chosen;
    const mine: Signal[] = body < 0 ? [] : [
      { name: `${run.bodies[body].name}: speed [m/s]`, values: Float64Array.from(run.time, (_, k) => speedOf(run, k, body)) },
      { name: `${run.bodies[body].name}: height [m]`, values: Float64Array.from(run.time, (_, k) => run.poses[7 * (k * run.count + body) + (run.planar ? 1 : 2)]) },
    ];
    this.plots.setSignals([...this.signals, ...mine], run.time, keep);
    this.plots.show(this.plotsOn);
    this.textAt = 0;
    this.layout();
  }

  /** Buttons and legend say what is on. */
  private refresh(): void {
    const { options, run, playback } = this.viewer;
    for (const [mode, b] of this.modes) {
      b.setAttribute('aria-checked', String(mode === options.colour));
      b.disabled = !this.viewer.has(mode);
    }
    const usable: Record<string, boolean> = {
      points: !!run?.contacts, forces: !!run?.contacts, joints: !!run && run.joints.length > 0,
      trail: !!run && run.frames > 1, shadows: !!run && !run.planar, plots: this.signals.length > 0,
    };
    for (const [key, b] of this.toggles) {
      const on = key === 'plots' ? this.plotsOn : options[key] === true;
      b.disabled = !usable[key];
      b.setAttribute('aria-pressed', String(on && usable[key]));
    }
    this.play.innerHTML = icon(playback.playing ? 'pause' : 'play');
    this.play.setAttribute('aria-label', playback.playing ? 'Pause' : 'Play');
    this.play.title = playback.playing ? 'Pause (Space)' : 'Play (Space)';
    this.writeLegend();
  }

  private writeLegend(): void {
    const { options, ranges, run, scalarRange } = this.viewer;
    const legend = byId('legend');
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
      input.addEventListener('input', () => this.viewer.set({ arrowScale: 2 ** Number(input.value) }));
      label.append(input);
      legend.append(label);
    }
    legend.hidden = legend.childElementCount === 0;
  }

  private writeCard(): void {
    const { run, picked, playback, options } = this.viewer;
    this.card.hidden = picked < 0 || !run;
    if (picked < 0 || !run) {
      this.cardBody = -1;
      return;
    }
    const body = run.bodies[picked];
    if (this.cardBody !== picked) {
      this.cardBody = picked;
      const close = tool('close', 'Let go of the body', 'Esc', () => this.pick(-1));
      close.classList.add('close');
      const follow = el('button', 'tool', 'Follow');
      follow.type = 'button';
      follow.title = 'Camera follows the body (O)';
      follow.setAttribute('aria-pressed', String(options.follow));
      follow.addEventListener('click', () => this.setFollow(!options.follow));
      const row = el('div', 'row');
      row.append(follow);
      const kinds = [...new Set(body.shapes.map((s) => s.type.replace('_', ' ')))].join(', ');
      this.card.replaceChildren(
        el('h2', '', body.name), el('p', 'kind', `${kinds || 'no shape'}${body.fixed ? ', fixed' : ''}`), close,
        el('dl'), el('h3'), el('ul'), row);
    }
    const k = playback.frame;
    const n = run.count;
    const pose = run.poses.subarray(7 * (k * n + picked), 7 * (k * n + picked) + 7);
    const triple = (v: ArrayLike<number>, o = 0) => [0, 1, 2].slice(0, run.planar ? 2 : 3).map((i) => v[o + i].toFixed(3)).join('  ');
    const rows: [string, string][] = [['position [m]', triple(pose)]];
    if (run.planar) rows.push(['angle [°]', ((180 / Math.PI) * Math.atan2(2 * pose[3] * pose[6], 1 - 2 * pose[6] ** 2)).toFixed(1)]);
    if (run.velocities) {
      const o = 6 * (k * n + picked);
      rows.push(['velocity [m/s]', triple(run.velocities, o)]);
      rows.push(['spin [rad/s]', run.planar ? run.velocities[o + 5].toFixed(3) : triple(run.velocities, o + 3)]);
    }
    rows.push(['speed [m/s]', figure(speedOf(run, k, picked))]);
    const list = this.card.querySelector('dl') as HTMLElement;
    list.replaceChildren(...rows.flatMap(([a, b]) => [el('dt', '', a), el('dd', '', b)]));
    this.writeContacts(run, k, picked);
  }

  private writeContacts(run: Run, frame: number, body: number): void {
    const title = this.card.querySelector('h3') as HTMLElement;
    const list = this.card.querySelector('ul') as HTMLElement;
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

  /** After every picture; numbers less often while playing, for they could not be read. */
  private shown(now: number): void {
    const { playback } = this.viewer;
    const f = playback.duration > 0 ? (playback.now - playback.time[0]) / playback.duration : 0;
    this.plots?.moveCursor(f);
    this.scrub.value = String(f);
    this.scrub.style.setProperty('--done', `${100 * f}%`);
    this.turnTriad();
    if (playback.playing && now - this.textAt < kTextEvery) return;
    this.textAt = now;
    this.clock.innerHTML = `${figureTime(playback.now, playback.duration)} s<small>frame ${playback.frame} of ${playback.time.length - 1}</small>`;
    this.scrub.setAttribute('aria-valuetext', `${figure(playback.now)} seconds, frame ${playback.frame}`);
    this.plots?.showValues(playback.frame);
    this.writeCard();
    if (!playback.playing && this.play.getAttribute('aria-label') === 'Pause') this.refresh();
  }

  private turnTriad(): void {
    const camera = this.viewer.stage.camera;
    if (camera.quaternion.equals(this.triad)) return;
    this.triad.copy(camera.quaternion);
    const svg = byId('triad');
    const axes: [string, Vector3, string][] = [
      ['x', new Vector3(1, 0, 0), '#d9534f'], ['y', new Vector3(0, 1, 0), '#4fa85a'], ['z', new Vector3(0, 0, 1), '#4a86d8'],
    ];
    const back = camera.quaternion.clone().invert();
    svg.innerHTML = axes.map(([name, v, colour]) => ({ name, colour, p: v.applyQuaternion(back) }))
      .filter(({ p }) => Math.hypot(p.x, p.y) > 0.05).sort((a, b) => a.p.z - b.p.z)
      .map(({ name, colour, p }) => {
        const x = (20 * p.x).toFixed(1);
        const y = (-20 * p.y).toFixed(1);
        return `<line x1="0" y1="0" x2="${x}" y2="${y}" stroke="${colour}"/>` +
          `<text x="${(26 * p.x).toFixed(1)}" y="${(-26 * p.y).toFixed(1)}" fill="${colour}">${name}</text>`;
      }).join('');
  }

  layout(): void {
    const view = byId('view');
    this.viewer.resize(view.clientWidth, view.clientHeight);
    this.plots.draw();
  }

  showHelp(): void {
    this.help.showModal();
  }

  private buildHelp(): void {
    const close = tool('close', 'Close', 'Esc', () => this.help.close());
    close.classList.add('close');
    const keys = el('div', 'keys');
    for (const [key, what] of kKeys) {
      const row = el('div');
      row.append(el('span', '', what), el('kbd', '', key));
      keys.append(row);
    }
    this.help.append(el('h2', '', 'Keyboard shortcuts'), close, keys);
    this.help.addEventListener('click', (e) => { if (e.target === this.help) this.help.close(); });
    this.help.addEventListener('keydown', (e) => { if (e.key === '?') this.help.close(); });
  }

  toast(text: string): void {
    const t = byId('toast');
    t.textContent = text;
    t.hidden = false;
    window.setTimeout(() => { t.hidden = true; }, 6000);
  }
}

function figureShort(x: number): string {
  return x >= 1e5 ? x.toExponential(0) : String(Math.round(x * 100) / 100);
}

/** As many decimals as the length of the run deserves, so that the clock does not jump about. */
function figureTime(t: number, duration: number): string {
  if (duration > 0 && duration < 0.01) return t.toExponential(3);
  return t.toFixed(Math.max(0, Math.min(6, 3 - Math.floor(Math.log10(Math.max(duration, 1e-9)) / 1.5))));
}
