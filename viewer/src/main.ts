// SPDX-License-Identifier: Apache-2.0
// main.ts: the run in the page, a dropped file or the sample => a Ui; window.orthantViewer for scripts.
import './style.css';
import { kColourModes, type ColourMode, type Theme } from './colour';
import { byId } from './dom';
import { decodeRun, decodeText, FormatError, type Run } from './format';
import { gallery } from './sample';
import { Ui } from './ui';

const system = window.matchMedia('(prefers-color-scheme: dark)');
const calm = window.matchMedia('(prefers-reduced-motion: reduce)');
const wanted = new URLSearchParams(location.hash.slice(1));

function storedTheme(): Theme | null {
  const named = wanted.get('theme');
  if (named === 'light' || named === 'dark') return named;
  try {
    const t = localStorage.getItem('orthant-theme');
    return t === 'light' || t === 'dark' ? t : null;
  } catch {
    return null; // no storage for pages from disk in some browsers
  }
}

const picker = document.createElement('input');
picker.type = 'file';
picker.accept = '.json,.html,application/json,text/html';
picker.addEventListener('change', () => { void open(picker.files?.[0]); });

/** Without WebGL 2 there is nothing to show but the reason. */
function start(): Ui {
  try {
    return new Ui(() => picker.click());
  } catch (e) {
    document.body.innerHTML = '<p style="margin:3em;font:16px system-ui">This page draws with WebGL 2, which this browser does not offer.</p>';
    throw e;
  }
}

const ui = start();
ui.setTheme(storedTheme() ?? (system.matches ? 'dark' : 'light'), false);
system.addEventListener('change', () => { if (!storedTheme()) ui.setTheme(system.matches ? 'dark' : 'light', false); });

const welcome = byId('welcome');

function show(run: Run): void {
  ui.load(run);
  welcome.hidden = true;
  const colour = wanted.get('colour') as ColourMode | null;
  if (colour && kColourModes.includes(colour)) ui.set({ colour });
  for (const key of ['points', 'forces', 'joints', 'trail', 'shadows'] as const)
    if (wanted.has(key)) ui.set({ [key]: wanted.get(key) !== '0' });
  if (wanted.has('frame')) ui.seekFrame(Number(wanted.get('frame')) || 0);
  const pick = run.bodies.findIndex((b) => b.name === wanted.get('pick'));
  if (pick >= 0) ui.pick(pick);
  ui.setPlaying(!wanted.has('paused') && !calm.matches && run.frames > 1);
}

function complain(e: unknown): void {
  const text = e instanceof FormatError ? e.message : `This run cannot be shown: ${(e as Error).message}`;
  if (welcome.hidden) {
    ui.toast(text);
    return;
  }
  (welcome.querySelector('.error') as HTMLElement).textContent = text;
}

async function open(file: File | undefined): Promise<void> {
  if (!file) return;
  try {
    show(decodeText(await file.text()));
  } catch (e) {
    complain(e);
  }
}

function greet(error: unknown): void {
  welcome.innerHTML = `<div>
    <svg width="44" height="44" viewBox="0 0 44 44" aria-hidden="true"><path d="M6 38V8M6 38h30" stroke="currentColor" stroke-width="2.500" stroke-linecap="round" fill="none"/><circle cx="16.500" cy="28" r="8" fill="#5b8fd6"/><rect x="25" y="25" width="11" height="11" rx="1.500" fill="#e39a5f"/><circle cx="27" cy="16" r="5.500" fill="#62b39b"/></svg>
    <h1>Orthant viewer</h1>
    <p>Plays what a run recorded: bodies, contacts, forces, signals.</p>
    <div class="drop"><strong>Drop a run here</strong>a page made by <code>orthant view RUN -o run.html</code> or its JSON</div>
    <div class="actions"><button type="button" class="button" data-do="open">Open a file…</button><button type="button" class="button first" data-do="sample">Play the sample</button></div>
    <p class="error" role="alert"></p></div>`;
  welcome.addEventListener('click', (e) => {
    const action = (e.target as HTMLElement).dataset.do;
    if (action === 'open') picker.click();
    if (action === 'sample') welcome.hidden = true;
  });
  welcome.hidden = false;
  if (error) complain(error);
  (welcome.querySelector('[data-do=sample]') as HTMLElement).focus();
}

for (const type of ['dragover', 'dragenter']) window.addEventListener(type, (e) => {
  e.preventDefault();
  document.body.classList.add('dragging');
});
window.addEventListener('dragleave', (e) => { if (!e.relatedTarget) document.body.classList.remove('dragging'); });
window.addEventListener('drop', (e) => {
  e.preventDefault();
  document.body.classList.remove('dragging');
  void open(e.dataTransfer?.files[0]);
});

let failure: unknown = null;
let run: Run | null = null;
try {
  const json: unknown = JSON.parse(byId('orthant-run').textContent ?? 'null');
  if (json !== null) run = decodeRun(json);
} catch (e) {
  failure = e;
}
show(run ?? gallery());
if (!run) greet(failure);

/** For tests and for people with a console; not a promise of an interface. */
const api = {
  ui,
  viewer: ui.viewer,
  load: (json: unknown) => show(decodeRun(json)),
  get stats() { return ui.viewer.stats; },
};
declare global {
  interface Window { orthantViewer: typeof api }
}
window.orthantViewer = api;
