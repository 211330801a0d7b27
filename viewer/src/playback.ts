// SPDX-License-Identifier: Apache-2.0
// playback.ts: (run, wall clock) => frame, fraction, and the poses between two frames.
import type { Run } from './format';

/** Last frame whose time is <= t. */
export function frameAt(time: Float64Array, t: number): number {
  let low = 0;
  let high = time.length - 1;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (time[middle] <= t) low = middle;
    else high = middle - 1;
  }
  return low;
}

export class Playback {
  frame = 0;
  fraction = 0; // of the way to the next frame; 0 whenever paused
  playing = false;
  loop = true;
  speed = 1; // seconds of the run a second
  private t: number;

  constructor(readonly time: Float64Array) {
    this.t = time[0];
    // Runs of microseconds and of hours are both watched in some ten seconds.
    const length = this.duration;
    if (length > 0 && (length < 0.5 || length > 180)) this.speed = 2 ** Math.round(Math.log2(length / 8));
  }

  get duration(): number {
    return this.time[this.time.length - 1] - this.time[0];
  }

  get now(): number {
    return this.playing ? this.t : this.time[this.frame];
  }

  /** Moves on by `seconds` of wall clock; true when something changed. */
  advance(seconds: number): boolean {
    if (!this.playing || this.time.length < 2) return false;
    const last = this.time[this.time.length - 1];
    this.t += seconds * this.speed;
    if (this.t >= last) {
      if (this.loop) {
        this.t = this.time[0];
      } else {
        this.t = last;
        this.playing = false;
      }
    }
    this.settle();
    return true;
  }

  seekTime(t: number): void {
    this.t = Math.min(Math.max(t, this.time[0]), this.time[this.time.length - 1]);
    this.settle();
  }

  seekFrame(frame: number): void {
    this.frame = Math.min(Math.max(Math.round(frame), 0), this.time.length - 1);
    this.t = this.time[this.frame];
    this.fraction = 0;
  }

  play(on: boolean): void {
    if (on && !this.loop && this.frame === this.time.length - 1) this.seekFrame(0);
    this.playing = on;
    this.settle();
  }

  private settle(): void {
    const k = (this.frame = frameAt(this.time, this.t));
    const step = k + 1 < this.time.length ? this.time[k + 1] - this.time[k] : 0;
    this.fraction = this.playing && step > 0 ? (this.t - this.time[k]) / step : 0;
  }
}

/** Poses at frame + fraction: straight lines and normalised quaternions, the shorter way round. */
export function blendPoses(run: Run, frame: number, fraction: number, pose: Float32Array, alive: Uint8Array): void {
  const n = run.count;
  const from = frame * n * 7;
  if (run.alive) alive.set(run.alive.subarray(frame * n, (frame + 1) * n));
  if (fraction <= 0 || frame + 1 >= run.frames) {
    pose.set(run.poses.subarray(from, from + 7 * n));
    return;
  }
  const p = run.poses;
  const to = from + 7 * n;
  const f = fraction;
  for (let k = 0; k < 7 * n; k += 7) {
    const a = from + k;
    // A body that is gone in the next frame stays where it was.
    const b = run.alive && !run.alive[(frame + 1) * n + k / 7] ? a : to + k;
    for (let i = 0; i < 3; ++i) pose[k + i] = p[a + i] + f * (p[b + i] - p[a + i]);
    const dot = p[a + 3] * p[b + 3] + p[a + 4] * p[b + 4] + p[a + 5] * p[b + 5] + p[a + 6] * p[b + 6];
    const g = dot < 0 ? -f : f;
    const w = (1 - f) * p[a + 3] + g * p[b + 3];
    const x = (1 - f) * p[a + 4] + g * p[b + 4];
    const y = (1 - f) * p[a + 5] + g * p[b + 5];
    const z = (1 - f) * p[a + 6] + g * p[b + 6];
    const s = 1 / (Math.sqrt(w * w + x * x + y * y + z * z) || 1);
    pose[k + 3] = w * s;
    pose[k + 4] = x * s;
    pose[k + 5] = y * s;
    pose[k + 6] = z * s;
  }
}
