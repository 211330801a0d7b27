// SPDX-License-Identifier: Apache-2.0
// browser.ts: the built page in Debian's headless Chromium, from disk, no network.
import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { chromium, type BrowserContext, type Page } from 'playwright-core';
import type { Run } from '../src/format';
import { encodeRun, pageWith } from './encode';
import { pile, planar, stack } from './sample';

const kChromium = process.env.ORTHANT_CHROMIUM ?? '/usr/bin/chromium';
if (!existsSync(kChromium)) {
  console.log(`skipped: no ${kChromium}; tools/setup viewer installs it`);
  process.exit(77);
}
const kFlags = [
  '--headless', '--no-sandbox', '--disable-gpu', '--use-gl=angle', '--use-angle=swiftshader', '--enable-unsafe-swiftshader',
  '--disable-quic', '--no-first-run', '--disable-background-networking', '--disable-component-update', '--disable-sync',
];
const kWait = { timeout: 90_000 };
const kMostCallsBeyondKinds = 10;
const kMostScriptMs = 4;

const dir = mkdtempSync(join(tmpdir(), 'orthant-viewer-'));
const built = readFileSync('dist/viewer.html', 'utf8');
let context: BrowserContext;

before(async () => {
  context = await chromium.launchPersistentContext(join(dir, 'profile'), {
    executablePath: kChromium, args: kFlags, viewport: { width: 1000, height: 640 }, colorScheme: 'light',
    ...kWait,
  });
  // A machine that builds beside the tests may take longer than the usual half minute for a page.
  context.setDefaultTimeout(kWait.timeout);
});
after(async () => {
  await context?.close();
  rmSync(dir, { recursive: true, force: true });
});

interface Opened {
  page: Page;
  requests: string[];
  errors: string[];
}

/** A page with the run inside (or none), opened from disk, once it has drawn. */
async function open(run: Run | null, hash = 'paused'): Promise<Opened> {
  const file = join(dir, `${run?.name.replaceAll(' ', '_') ?? 'empty'}.html`);
  writeFileSync(file, run ? pageWith(built, run) : built);
  const page = await context.newPage();
  const requests: string[] = [];
  const errors: string[] = [];
  page.on('request', (r) => { requests.push(r.url()); });
  page.on('pageerror', (e) => { errors.push(e.message); });
  page.on('console', (m) => { if (m.type() === 'error') errors.push(m.text()); });
  await page.goto(`file://${file}#${hash}`);
  await page.waitForFunction(() => window.orthantViewer?.stats.pictures > 0, null, kWait);
  return { page, requests, errors };
}

const frame = (page: Page) => page.evaluate(() => window.orthantViewer.viewer.playback.frame);

async function close({ page, requests, errors }: Opened): Promise<void> {
  assert.deepEqual(errors, []);
  assert.deepEqual(requests.filter((u) => !u.startsWith('data:')).map((u) => u.slice(0, 7)), ['file://'], 'one file, nothing else');
  await page.close();
}

/** Waits for the next picture after `act`. */
async function redrawn(page: Page, act: () => Promise<unknown>): Promise<void> {
  const n = await page.evaluate(() => window.orthantViewer.stats.pictures);
  await act();
  await page.waitForFunction((k) => window.orthantViewer.stats.pictures > k, n, kWait);
}

/** Share of the canvas that is covered, and how many different colours are in it. */
async function painted(page: Page): Promise<{ covered: number; colours: number }> {
  return page.evaluate(() => {
    const { stage } = window.orthantViewer.viewer;
    stage.render();
    const gl = stage.renderer.getContext();
    const [w, h] = [gl.drawingBufferWidth, gl.drawingBufferHeight];
    const pixels = new Uint8Array(4 * w * h);
    gl.readPixels(0, 0, w, h, gl.RGBA, gl.UNSIGNED_BYTE, pixels);
    const seen = new Set<number>();
    let covered = 0;
    for (let i = 0; i < pixels.length; i += 4) {
      if (pixels[i + 3] > 200) ++covered;
      seen.add((pixels[i] >> 3) * 1024 + (pixels[i + 1] >> 3) * 32 + (pixels[i + 2] >> 3));
    }
    return { covered: covered / (w * h), colours: seen.size };
  });
}

test('an empty page welcomes, refuses a broken file, plays a dropped one', async () => {
  const opened = await open(null);
  const { page } = opened;
  const drop = (text: string) => page.evaluate((t) => {
    const data = new DataTransfer();
    data.items.add(new File([t], 'run.json'));
    window.dispatchEvent(new DragEvent('drop', { dataTransfer: data, bubbles: true, cancelable: true }));
  }, text);
  assert.ok(await page.isVisible('#welcome'));
  await drop('{"format": "something else"}');
  await page.waitForSelector('#welcome .error:has-text("expected \'orthant-view\'")', kWait);
  await drop(JSON.stringify(encodeRun(stack(3))));
  await page.waitForSelector('#welcome', { state: 'hidden', ...kWait });
  assert.equal(await page.textContent('#title h1'), 'stack');
  await close(opened);
});

test('the sample shows every kind of shape', async () => {
  const opened = await open(null, 'paused&frame=30');
  await opened.page.click('text=Play the sample');
  const { covered, colours } = await painted(opened.page);
  assert.ok(covered > 0.2 && colours > 40, `${covered} covered, ${colours} colours`);
  await close(opened);
});

for (const run of [stack(6), planar(60, 30)])
  test(`at first all bodies of ${run.name} are in sight, also after turning the camera`, async () => {
    const opened = await open(run);
    for (const key of [null, 'v', '1', '3']) {
      if (key) await opened.page.keyboard.press(key);
      const outside = await opened.page.evaluate(() => {
        const { viewer } = window.orthantViewer;
        const box = viewer.stage.canvas.getBoundingClientRect();
        viewer.stage.camera.updateMatrixWorld();
        return viewer.run!.bodies.filter((b, i) => {
          const { x, y } = viewer.whereIs(i);
          return !b.fixed && (x < box.left || x > box.right || y < box.top || y > box.bottom);
        }).map((b) => b.name);
      });
      assert.deepEqual(outside, [], `after ${key ?? 'loading'}`);
    }
    await close(opened);
  });

test('the eye stays above the floor, however one turns, pans or zooms', async () => {
  const opened = await open(stack(6));
  const lowest = await opened.page.evaluate(() => {
    const { stage } = window.orthantViewer.viewer;
    const { camera, controls } = stage;
    let low = Infinity;
    for (const [x, y, z] of [[5, 0, -3], [0.1, 0, -8], [-4, 4, -0.5]]) {
      camera.position.set(x, y, z);
      controls!.update();
      low = Math.min(low, camera.position.z);
    }
    return low;
  });
  assert.ok(lowest > 0, `eye at ${lowest}`);
  await close(opened);
});

test('on a phone nothing covers the tools', async () => {
  const opened = await open(stack(6));
  const { page } = opened;
  await page.setViewportSize({ width: 390, height: 780 });
  await page.keyboard.press('1');
  // The new size and view take effect with a frame or two: look where the body is until it is hit.
  for (let tries = 0; tries < 20 && !(await page.$('#card h2')); ++tries) {
    await page.waitForTimeout(300);
    const at = await page.evaluate(() => window.orthantViewer.viewer.whereIs(1));
    await page.mouse.click(at.x, at.y);
  }
  await page.waitForSelector('#card h2', kWait);
  const covered = await page.evaluate(() => {
    const buttons = [...document.querySelectorAll<HTMLElement>('#tools .tool, #transport .tool, #transport select')];
    return buttons.filter((b) => {
      const r = b.getBoundingClientRect();
      const top = document.elementFromPoint(r.left + r.width / 2, r.top + r.height / 2);
      return r.right > innerWidth || !(top && (b === top || b.contains(top)));
    }).map((b) => b.title || b.textContent);
  });
  assert.deepEqual(covered, []);
  await page.setViewportSize({ width: 1000, height: 640 });
  await close(opened);
});

test('a run plays, pauses, steps and scrubs', async () => {
  const opened = await open(stack(5));
  const { page } = opened;
  assert.equal(await frame(page), 0);
  await page.keyboard.press('Space');
  await page.waitForFunction(() => window.orthantViewer.viewer.playback.frame > 3, null, kWait);
  await page.click('button[aria-label=Pause]');
  const at = await frame(page);
  await page.keyboard.press('ArrowRight');
  await page.keyboard.press('Shift+ArrowRight');
  assert.equal(await frame(page), at + 11);
  await page.keyboard.press('ArrowLeft');
  assert.equal(await frame(page), at + 10);
  const bar = await page.locator('#scrub').boundingBox();
  assert.ok(bar);
  await page.mouse.click(bar.x + 0.5 * bar.width, bar.y + 0.5 * bar.height);
  assert.ok(Math.abs((await frame(page)) - 119.5) < 4, String(await frame(page)));
  const lanes = await page.locator('#lanes').boundingBox();
  assert.ok(lanes);
  await page.mouse.click(lanes.x + 0.25 * lanes.width, lanes.y + 10);
  assert.ok(Math.abs((await frame(page)) - 59.75) < 2, String(await frame(page)));
  await page.keyboard.press('End');
  assert.equal(await frame(page), 239);
  await close(opened);
});

test('a click picks a body and shows its numbers; forces, colours, theme and help are one key away', async () => {
  const opened = await open(stack(5), 'paused&frame=200');
  const { page } = opened;
  const ball = await page.evaluate(() => {
    const { viewer } = window.orthantViewer;
    return viewer.whereIs(viewer.run!.bodies.findIndex((b) => b.name === 'ball'));
  });
  await page.mouse.click(ball.x, ball.y);
  await page.waitForSelector('#card h2:has-text("ball")', kWait);
  const card = (await page.textContent('#card')) ?? '';
  assert.match(card, /position \[m\]2\.000 +-1\.200 +0\.300/); // x = -3 + 1.5 t at t = 200/60
  assert.match(card, /velocity \[m\/s\]1\.500 +0\.000 +0\.000/);
  assert.match(card, /1 contact.*floor.*stick.*39\.24 N/s);
  await page.keyboard.press('Escape');
  assert.ok(await page.isHidden('#card'));

  const calls = () => page.evaluate(() => window.orthantViewer.stats.drawCalls);
  await redrawn(page, () => page.keyboard.press('Escape'));
  const first = await calls();
  const pressed = () => page.getAttribute('button[aria-label="Force arrows"]', 'aria-pressed');
  const was = await pressed();
  await redrawn(page, () => page.keyboard.press('f'));
  assert.notEqual(await pressed(), was);
  assert.equal(Math.abs((await calls()) - first), 1, 'all arrows are one draw call');
  await redrawn(page, () => page.click('button[aria-label="Force arrows"]'));
  assert.equal(await calls(), first);

  for (const legend of ['speed [m/s]', 'contact force on a body [N]']) {
    await page.keyboard.press('c');
    assert.ok(((await page.textContent('#legend')) ?? '').includes(legend));
  }
  await page.keyboard.press('c');
  assert.equal(await page.getAttribute('button:text-is("Set")', 'aria-checked'), 'true');
  assert.equal(await page.getAttribute('html', 'data-theme'), 'light');
  await page.keyboard.press('t');
  assert.equal(await page.getAttribute('html', 'data-theme'), 'dark');
  await page.keyboard.press('?');
  assert.ok(await page.isVisible('#help'));
  await page.keyboard.press('Escape');
  assert.ok(await page.isHidden('#help'));
  const unnamed = await page.evaluate(() =>
    [...document.querySelectorAll('button, input, select, canvas:not([aria-hidden])')]
      .filter((e) => !e.closest('[hidden]') && !e.getAttribute('aria-label') && !e.textContent?.trim() && !e.closest('label'))
      .map((e) => e.outerHTML));
  assert.deepEqual(unnamed, [], 'every control has a name');
  await close(opened);
});

test('a planar run is looked at straight from above, and its bodies can be picked', async () => {
  const run = planar(80, 60);
  const opened = await open(run, 'paused&frame=59');
  const { page } = opened;
  assert.equal(await page.evaluate(() => window.orthantViewer.viewer.stage.planar), true);
  for (const name of ['hexagon', 'bar', 'disc 7']) {
    const i = run.bodies.findIndex((b) => b.name === name);
    const at = await page.evaluate((b) => window.orthantViewer.viewer.whereIs(b), i);
    assert.equal(await page.evaluate(({ x, y }) => window.orthantViewer.viewer.bodyAt(x, y), at), i, name);
  }
  const { colours } = await painted(page);
  assert.ok(colours > 15, `${colours} colours`);
  await close(opened);
});

test('ten thousand bodies: few draw calls, little script', async () => {
  const page = await context.newPage();
  const errors: string[] = [];
  page.on('pageerror', (e) => { errors.push(e.message); });
  page.on('console', (m) => { if (m.type() === 'error') errors.push(m.text()); });
  // Drawing itself is left out: in software it takes seconds, and it is no script. The calls are counted
  // here, below three.js, so the number does not rest on its own bookkeeping.
  await page.addInitScript(() => {
    const count = window as unknown as { draws: number };
    count.draws = 0;
    const none = () => { ++count.draws; };
    const gl = WebGL2RenderingContext.prototype as unknown as Record<string, unknown>;
    for (const f of ['drawElementsInstanced', 'drawArraysInstanced', 'drawElements', 'drawArrays']) gl[f] = none;
    const extension = WebGL2RenderingContext.prototype.getExtension as (name: string) => unknown;
    gl.getExtension = function (this: WebGL2RenderingContext, name: string) {
      const found = extension.call(this, name); // asked in any case: that switches it on
      return name === 'WEBGL_multi_draw' ? { multiDrawElementsWEBGL: none, multiDrawArraysWEBGL: none } : found;
    };
  });
  const run = pile(10000, 10, 4);
  const file = join(dir, 'pile.html');
  writeFileSync(file, pageWith(built, run));
  const devtools = await context.newCDPSession(page);
  // Processor time of the page's main thread: what other programs do meanwhile does not count.
  await devtools.send('Performance.enable', { timeDomain: 'threadTicks' });
  const busy = async () =>
    (await devtools.send('Performance.getMetrics')).metrics.find((m) => m.name === 'TaskDuration')?.value ?? NaN;
  await page.goto(`file://${file}#paused`);
  await page.waitForFunction(() => window.orthantViewer?.stats.pictures > 0, null, kWait);
  const warm = 60;
  const pictures = 120;
  await page.evaluate((n) => {
    const { ui, viewer } = window.orthantViewer;
    ui.setPlaying(true);
    viewer.measure(n);
  }, warm);
  const kinds = new Set(run.bodies.flatMap((b) => b.shapes.map((s) => s.type))).size;
  for (const look of [{ colour: 'body' }, { colour: 'speed' }, { colour: 'set', points: true, forces: true }, { colour: 'body', points: false, forces: false, shadows: true }] as const) {
    await page.evaluate(({ look, n }) => {
      window.orthantViewer.ui.set(look);
      window.orthantViewer.viewer.measure(n); // programs are compiled, buffers grown
    }, { look, n: 30 });
    const begin = await busy();
    const stats = await page.evaluate((n) => window.orthantViewer.viewer.measure(n), pictures);
    const script = (1000 * ((await busy()) - begin)) / pictures;
    const draws = await page.evaluate(() => {
      const count = window as unknown as { draws: number };
      window.orthantViewer.ui.seekFrame(8); // bodies touch
      window.orthantViewer.ui.setPlaying(false);
      count.draws = 0;
      const told = window.orthantViewer.viewer.measure(1).drawCalls;
      window.orthantViewer.ui.setPlaying(true);
      return [told, count.draws];
    });
    console.log(`${JSON.stringify(look)}: ${run.count} bodies, ${kinds} kinds, ${draws[0]} draw calls, ` +
      `${script.toFixed(2)} ms processor time and ${stats.scriptMs.toFixed(2)} ms by the clock (median) a frame`);
    assert.equal(draws[0], draws[1]);
    assert.ok(draws[0] <= kinds + kMostCallsBeyondKinds, `${draws[0]} draw calls`);
    assert.ok(script > 0 && script <= kMostScriptMs, `${script} ms per frame`);
  }
  assert.deepEqual(errors, []);
  await page.close();
});
