/**
 * Writes dist/bin, the program as it is installed: the compiled files and the libraries that every command needs, put
 * together into a few files. Node 20 spends 0.2 s on opening them one by one, a quarter of an hourly run that finds
 * nothing new. Threads are entries of their own: they are started by their files' names. Run by `npm run build`.
 */
import { chmodSync, readFileSync, rmSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { rolldown } from 'rolldown'

const dist = fileURLToPath(new URL('../dist/', import.meta.url))
const { dependencies } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'))
const together = ['commander', 'fastest-levenshtein', 'kysely', 'luxon', 'zod']
const libraries = Object.keys(dependencies).filter((name) => !together.includes(name))

/** The files that a file loads before it runs, itself among them. */
function loadedBy(file, found = new Set()) {
  if (found.has(file)) return found
  found.add(file)
  for (const [, name] of readFileSync(file, 'utf8').matchAll(/^(?:import|export)[^'"()]*?'(\.[^']+)'/gm))
    loadedBy(resolve(dirname(file), name), found)
  return found
}

const input = {
  shopsync: 'src/entry.js',
  pagethread: 'src/pagethread.js',
  receiverthread: 'src/receiverthread.js',
  writerthread: 'src/engine/warehouse/sqlite/thread/writerthread.js',
}
const [start, thread] = [input.shopsync, input.writerthread].map((file) => loadedBy(dist + file))
// It waits for the command to end, and nothing that the command loads may wait for it.
start.delete(dist + input.shopsync)
const isCommander = (file) => /node_modules\/(commander|fastest-levenshtein)\//.test(file)

const bundle = await rolldown({
  cwd: dist,
  input,
  platform: 'node',
  external: libraries.map((name) => new RegExp(`^${name}(/|$)`)),
  logLevel: 'warn',
})
rmSync(`${dist}bin`, { recursive: true, force: true })
await bundle.write({
  dir: `${dist}bin`,
  format: 'esm',
  chunkFileNames: '[name]-[hash].js',
  // What every start loads is one file, and what a thread shares with it another one.
  codeSplitting: {
    groups: [
      { name: 'shared', test: (file) => start.has(file) && thread.has(file) },
      { name: 'start', test: (file) => isCommander(file) || (start.has(file) && !thread.has(file)) },
    ],
  },
})
await bundle.close()
chmodSync(`${dist}bin/shopsync.js`, 0o755)
