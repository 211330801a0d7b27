// SPDX-License-Identifier: Apache-2.0
// vite.config.ts: viewer/src => dist/viewer.html, one file with script and style inside.
// The page is opened from disk and mailed around, so nothing may be loaded from anywhere.
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { defineConfig, type Plugin } from 'vite';
import { sourceStamp } from './stamp';

const root = fileURLToPath(new URL('.', import.meta.url));
// The licence of three.js asks to travel with every copy.
const kLicence = readFileSync(`${root}/node_modules/three/LICENSE`, 'utf8').trim();
const kNotice = `<!-- Orthant viewer, Apache-2.0. Contains three.js, MIT:\n\n${kLicence}\n-->`;

/** Puts the one chunk and the one style sheet into the page and drops them as files. */
function inline(): Plugin {
  return {
    name: 'orthant-inline',
    enforce: 'post',
    generateBundle(_, bundle) {
      const page = Object.values(bundle).find((f) => f.fileName.endsWith('.html'));
      if (page?.type !== 'asset') throw new Error('no page in the bundle');
      let html = String(page.source);
      for (const file of Object.values(bundle)) {
        if (file === page) continue;
        // Functions as replacements: a `$&` in the code must stay as it is.
        if (file.type === 'chunk') {
          const code = file.code.replace(/<\/script/g, '<\\/script');
          html = html.replace(/<script type="module"[^>]*><\/script>/, '');
          html = html.replace('</body>', () => `<script type="module">${code}</script>\n</body>`);
        } else {
          html = html.replace(/<link rel="stylesheet"[^>]*>/, () => `<style>${String(file.source)}</style>`);
        }
        delete bundle[file.fileName];
      }
      const stamp = `<meta name="orthant-viewer-sources" content="${sourceStamp(root)}">`;
      // After the charset, which browsers look for in the first 1024 bytes.
      html = html.replace('<meta charset="utf-8">', (charset) => `${charset}\n${stamp}\n${kNotice}`);
      page.fileName = 'viewer.html';
      page.source = html;
    },
  };
}

export default defineConfig({
  root,
  base: './',
  plugins: [inline()],
  build: {
    outDir: 'dist',
    emptyOutDir: true,
    target: 'es2022',
    assetsInlineLimit: 1e8,
    modulePreload: false,
    cssCodeSplit: false,
    chunkSizeWarningLimit: 2000,
  },
});
