// SPDX-License-Identifier: Apache-2.0
// ui.ts: buttons, keys and readouts around a Viewer.
import { Quaternion, Vector3 } from 'three';
import { BodyCard } from './card';
import { figure, kColourModes, type ColourMode, type Theme } from './colour';
import { byId, el, icon, tool } from './dom';
import type { Run, Signal } from './format';
import { writeLegend } from './legend';
import { derivedSignals, speedOf } from './measure';
import { PlotStrip } from './plot';
import { Viewer, type Options } from './viewer';

const kKeys: [string, string][] = [
  ['Space', 'play or pause'], ['← →', 'one frame back, forward'], ['Shift ← →', 'ten frames'], ['↑ ↓', 'faster, slower'],
  ['Home End', 'first, last frame'], ['L', 'repeat at the end'], ['C', 'next colouring'], ['F', 'force arrows'],
  ['P', 'contact points'], ['J', 'joints'], ['R', 'trail of the picked body'], ['S', 'shadows'], ['G', 'plots'],
  ['V', 'fit the bodies into view'], ['1 2 3', 'look along x, y, z'], ['O', 'camera follows the picked body'],
  ['T', 'dark or light'], ['Esc', 'let go of the body'], ['?', 'this help'],
];

const kModeNames: Record<ColourMode, string> = { body: 'Body', speed: 'Speed', force: 'Force', set: 'Set' };
const kTextEvery = 80; // ms between changes of numbers while playing; faster cannot be read

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
  private readonly card: BodyCard;
  private readonly help = byId<HTMLDialogElement>('help');
  private signals: Signal[] = [];
  private textAt = 0;
  private plotsOn = true;
  private readonly triad = new Quaternion(9, 9, 9, 9); // as drawn; none yet

  constructor(private readonly openFile: () => void) {
    this.viewer = new Viewer(byId<HTMLCanvasElement>('canvas'), (now) => this.shown(now));
    this.card = new BodyCard(byId('card'), this.viewer, () => this.pick(-1), () => this.setFollow(!this.viewer.options.follow));
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
      b.title = `Colour by ${mode === 'set' ? 'set: stick, slide, separate, floating (between two of them)' : mode} (C)`;
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
    this.card.reset();
    this.card.write();
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
    this.card.reset();
    this.card.write();
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
    writeLegend(byId('legend'), this.viewer);
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
    this.card.write();
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
