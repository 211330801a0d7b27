// SPDX-License-Identifier: Apache-2.0
// plot.ts: signals over time => lanes under the scene. Drawn once a layout; a frame only moves the cursor.
import { figure } from './colour';
import type { Signal } from './format';

const kLaneHeight = 46;
const kMostLanes = 3;
const kNoise = 1e-7; // of the value: less is drawn as a straight line, not blown up to the full height
const kColours = ['#4f8de0', '#e0894f', '#3fae8f', '#b57fc9', '#c9a53f', '#d96a84', '#5aaec4', '#8f9c55'];

interface Lane {
  signal: Signal;
  colour: string;
  low: number;
  high: number;
  log: boolean;
}

function laneOf(signal: Signal, colour: string): Lane {
  let low = Infinity;
  let high = -Infinity;
  let positive = true;
  for (const v of signal.values) {
    if (!Number.isFinite(v)) continue;
    low = Math.min(low, v);
    high = Math.max(high, v);
    positive &&= v > 0;
  }
  if (!(high >= low)) low = high = 0;
  // Residuals live over many decades: more than three, and the lane is logarithmic.
  const log = positive && high > 1e3 * low;
  return { signal, colour, low, high, log };
}

export class PlotStrip {
  private lanes: Lane[] = [];
  private shown: Lane[] = [];
  private time: Float64Array = new Float64Array(1);
  private readonly context: CanvasRenderingContext2D;
  private readonly values: HTMLElement[] = [];
  private width = 1; // asking the page every frame would make it lay itself out

  constructor(
    private readonly root: HTMLElement, private readonly list: HTMLElement, private readonly area: HTMLElement,
    private readonly canvas: HTMLCanvasElement, private readonly cursor: HTMLElement,
    private readonly limits: HTMLElement, private readonly seek: (fraction: number) => void,
    private readonly resized: () => void,
  ) {
    this.context = canvas.getContext('2d') as CanvasRenderingContext2D;
    let dragging = false;
    const at = (e: PointerEvent) => {
      const box = area.getBoundingClientRect();
      this.seek(Math.min(Math.max((e.clientX - box.left) / box.width, 0), 1));
    };
    area.addEventListener('pointerdown', (e) => {
      dragging = true;
      area.setPointerCapture(e.pointerId);
      at(e);
    });
    area.addEventListener('pointermove', (e) => { if (dragging) at(e); });
    area.addEventListener('pointerup', () => { dragging = false; });
    area.addEventListener('pointercancel', () => { dragging = false; });
  }

  /** The first few are shown; `keep` names those that were chosen before. */
  setSignals(signals: Signal[], time: Float64Array, keep: Set<string> | null = null): void {
    this.time = time;
    this.lanes = signals.map((s, i) => laneOf(s, kColours[i % kColours.length]));
    this.shown = this.lanes.filter((l, i) => (keep ? keep.has(l.signal.name) : i < kMostLanes));
    this.list.replaceChildren();
    this.values.length = 0;
    for (const lane of this.lanes) {
      const button = document.createElement('button');
      button.type = 'button';
      button.className = 'signal';
      button.setAttribute('aria-pressed', String(this.shown.includes(lane)));
      button.title = `Plot ${lane.signal.name}`;
      const dot = document.createElement('i');
      dot.style.background = lane.colour;
      const name = document.createElement('span');
      name.textContent = lane.signal.name;
      const value = document.createElement('b');
      button.append(dot, name, value);
      button.addEventListener('click', () => {
        if (this.shown.includes(lane)) this.shown = this.shown.filter((l) => l !== lane);
        else this.shown = this.lanes.filter((l) => l === lane || this.shown.includes(l));
        button.setAttribute('aria-pressed', String(this.shown.includes(lane)));
        this.draw();
        this.resized();
      });
      this.list.append(button);
      this.values.push(value);
    }
    this.root.hidden = this.lanes.length === 0;
    this.draw();
  }

  get chosen(): Set<string> {
    return new Set(this.shown.map((l) => l.signal.name));
  }

  get visible(): boolean {
    return !this.root.hidden;
  }

  show(on: boolean): void {
    this.root.hidden = !on || this.lanes.length === 0;
    if (on) this.draw();
  }

  /** Lanes from scratch: after a change of size, theme or choice. */
  draw(): void {
    const ratio = window.devicePixelRatio || 1;
    const rows = Math.max(this.shown.length, 1);
    const height = Math.max(kLaneHeight * rows, Math.min(this.lanes.length, 3) * 30);
    this.area.style.height = `${height}px`;
    this.list.style.maxHeight = `${height}px`;
    const width = (this.width = this.area.clientWidth);
    if (width < 2) return;
    this.canvas.width = Math.round(width * ratio);
    this.canvas.height = Math.round(height * ratio);
    const c = this.context;
    c.setTransform(ratio, 0, 0, ratio, 0, 0);
    c.clearRect(0, 0, width, height);
    const style = getComputedStyle(this.root);
    this.limits.replaceChildren();
    const laneHeight = height / rows;
    this.shown.forEach((lane, i) => {
      this.drawLane(lane, i * laneHeight, laneHeight, width, style.getPropertyValue('--line'));
      const label = document.createElement('div');
      label.style.height = `${laneHeight}px`;
      const top = document.createElement('span');
      // Where both ends read the same, the upper one tells by how much it is more.
      const same = lane.high > lane.low && figure(lane.high) === figure(lane.low);
      top.textContent = same ? `+${figure(lane.high - lane.low)}` : figure(lane.high);
      const bottom = document.createElement('span');
      bottom.textContent = `${figure(lane.low)}${lane.log ? ' log' : ''}`;
      label.append(top, bottom);
      this.limits.append(label);
    });
  }

  private drawLane(lane: Lane, top: number, height: number, width: number, line: string): void {
    const c = this.context;
    const map = lane.log ? Math.log10 : (v: number) => v;
    const low = map(lane.low);
    const span = Math.max(map(lane.high) - low, kNoise * Math.abs(low)) || 1;
    const room = height - 14;
    const y = (v: number) => top + height - 7 - ((map(v) - low) / span) * room;
    const { time } = this;
    const first = time[0];
    const length = time[time.length - 1] - first || 1;
    const x = (k: number) => ((time[k] - first) / length) * width;
    c.strokeStyle = line;
    c.lineWidth = 1;
    c.beginPath();
    c.moveTo(0, Math.round(top + height) - 0.5);
    c.lineTo(width, Math.round(top + height) - 0.5);
    c.stroke();

    // Lowest and highest value of each pixel column: no spike is lost, no run is too long.
    const curve = new Path2D();
    const n = lane.signal.values.length;
    let begun = false;
    const start = { x: 0, y: 0 };
    let endX = 0;
    for (let k = 0; k < n;) {
      const column = Math.floor(x(k));
      let a = Infinity;
      let b = -Infinity;
      let last = NaN;
      const at = x(k);
      for (; k < n && Math.floor(x(k)) === column; ++k) {
        const v = lane.signal.values[k];
        if (!Number.isFinite(v)) continue;
        a = Math.min(a, v);
        b = Math.max(b, v);
        last = v;
      }
      if (Number.isNaN(last)) continue;
      if (!begun) {
        curve.moveTo(at, y(a));
        start.x = at;
        begun = true;
      }
      curve.lineTo(at, y(a));
      if (b > a) curve.lineTo(at, y(b));
      curve.lineTo(at, y(last));
      endX = at;
    }
    if (!begun) return;
    const area = new Path2D(curve);
    area.lineTo(endX, top + height - 1);
    area.lineTo(start.x, top + height - 1);
    c.globalAlpha = 0.13;
    c.fillStyle = lane.colour;
    c.fill(area);
    c.globalAlpha = 1;
    c.strokeStyle = lane.colour;
    c.lineWidth = 1.5;
    c.lineJoin = 'round';
    c.stroke(curve);
  }

  moveCursor(fraction: number): void {
    this.cursor.style.transform = `translateX(${fraction * this.width}px)`;
  }

  showValues(frame: number): void {
    this.lanes.forEach((lane, i) => { this.values[i].textContent = figure(lane.signal.values[frame]); });
  }
}
