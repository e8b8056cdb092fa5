/**
 * Starts the program's threads from its bundle, as they start where it is installed: loaded file by file, a thread takes
 * three times as long, and most tests that fill a SQLite warehouse start one. A program with a fault has no bundle, and
 * starts its own files.
 */
import { existsSync } from 'node:fs'
import { createRequire, syncBuiltinESMExports } from 'node:module'
import { basename, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Worker, WorkerOptions } from 'node:worker_threads'
import { root } from './tree.js'

const threads = createRequire(import.meta.url)('node:worker_threads') as { Worker: typeof Worker }
const own = join(root, 'dist/src/')

function bundled(file: string | URL): string | URL {
  const path = file instanceof URL && file.protocol === 'file:' ? fileURLToPath(file) : ''
  const found = join(root, 'dist/bin', basename(path))
  return path.startsWith(own) && existsSync(found) ? found : file
}

threads.Worker = class extends threads.Worker {
  constructor(file: string | URL, options?: WorkerOptions) {
    super(bundled(file), options)
  }
}
syncBuiltinESMExports()
