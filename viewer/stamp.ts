// SPDX-License-Identifier: Apache-2.0
// stamp.ts: (sources on disk) => one sha256 that the built page carries.
// tests/tools/viewer_stamp_test.py computes the same number, so a page older than its sources fails.
import { createHash } from 'node:crypto';
import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';

const kSingleFiles = ['index.html', 'package-lock.json', 'stamp.ts', 'tsconfig.json', 'vite.config.ts'];

/** Names under src/ and the files that shape the build, each followed by its bytes. */
export function sourceStamp(root: string): string {
  const inSrc = readdirSync(join(root, 'src'), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => `src/${entry.name}`);
  const hash = createHash('sha256');
  for (const name of [...inSrc, ...kSingleFiles].sort()) {
    hash.update(name + '\0');
    hash.update(readFileSync(join(root, name)));
    hash.update('\0');
  }
  return hash.digest('hex');
}
