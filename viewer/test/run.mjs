// SPDX-License-Identifier: Apache-2.0
// run.mjs [NAME]: the TypeScript file test/NAME.ts in node (default: all tests); `unit` checks the types first.
// Exit 77 where the browser or the packages are absent: `tools/setup viewer` installs them.
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
if (!existsSync(`${root}/node_modules/esbuild`)) {
  console.log('skipped: the packages of viewer/ are not installed; tools/setup viewer does it');
  process.exit(77);
}
const { build } = await import('esbuild');
const out = `${root}/node_modules/.cache/orthant`;
mkdirSync(out, { recursive: true });
const names = process.argv[2] ? [process.argv[2]] : ['unit', 'browser'];
for (const name of names) {
  if (name === 'unit') {
    const types = spawnSync(process.execPath, [`${root}/node_modules/typescript/bin/tsc`, '--noEmit'], { stdio: 'inherit', cwd: root });
    if (types.status !== 0) process.exit(1);
  }
  // three.js goes into the bundle; playwright stays outside, it finds its files by its own path.
  await build({
    entryPoints: [`${root}/test/${name}.ts`], outfile: `${out}/${name}.mjs`, bundle: true, platform: 'node',
    format: 'esm', external: ['playwright-core'], logLevel: 'warning',
  });
  const { status } = spawnSync(process.execPath, [`${out}/${name}.mjs`, ...process.argv.slice(3)], { stdio: 'inherit', cwd: root });
  if (status !== 0) process.exit(status ?? 1);
}
