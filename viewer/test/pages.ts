// SPDX-License-Identifier: Apache-2.0
// pages.ts DIR: writes the three sample runs as pages into DIR, to look at.
import { readFileSync, writeFileSync, mkdirSync } from 'node:fs';
import { pageWith } from './encode';
import { pile, planar, stack } from './sample';

const dir = process.argv[2] ?? 'node_modules/.cache/orthant/pages';
mkdirSync(dir, { recursive: true });
const page = readFileSync('dist/viewer.html', 'utf8');
for (const run of [stack(), planar(), pile()]) {
  const file = `${dir}/${run.name.replaceAll(' ', '_')}.html`;
  writeFileSync(file, pageWith(page, run));
  console.log(file);
}
