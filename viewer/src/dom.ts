// SPDX-License-Identifier: Apache-2.0
// dom.ts: elements, icons and buttons for the page. Text goes in as text, never as markup: names come
// from files.

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

export function icon(name: string): string {
  return `<svg viewBox="0 0 24 24" aria-hidden="true">${kIcons[name]}</svg>`;
}

export function byId<T extends Element = HTMLElement>(id: string): T {
  return document.getElementById(id) as unknown as T;
}

export function el<K extends keyof HTMLElementTagNameMap>(tag: K, cls = '', text = ''): HTMLElementTagNameMap[K] {
  const e = document.createElement(tag);
  if (cls) e.className = cls;
  if (text) e.textContent = text;
  return e;
}

export function tool(name: string, label: string, key: string, action: () => void, text = ''): HTMLButtonElement {
  const b = el('button', text ? 'tool' : 'tool icon');
  b.type = 'button';
  b.innerHTML = icon(name) + (text ? `<span class="label">${text}</span>` : '');
  b.setAttribute('aria-label', label);
  b.title = key ? `${label} (${key})` : label;
  b.addEventListener('click', action);
  return b;
}
