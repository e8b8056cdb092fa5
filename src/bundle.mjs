/**
 * Writes dist/bin, the program as it is installed: the compiled files, and of the libraries that they import those named
 * below and those in `devDependencies`, bundled into a few files. The other `dependencies` stay outside. Threads are
 * entries of their own: they are started by their files' names. Run by `npm run build`.
 */
import { createHash } from 'node:crypto'
import { chmodSync, copyFileSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { rolldown } from 'rolldown'

const dist = fileURLToPath(new URL('../dist/', import.meta.url))
const { dependencies } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'))

/** Of many files, which nearly every command would open one by one: 0.2 s on Node 20 (CONTRIBUTING.md, Dependencies). */
const bundled = ['commander', 'fastest-levenshtein', 'kysely', 'string-width', 'undici', 'zod']

/** The files that a file loads before it runs, itself among them. */
function loadedBy(file, found = new Set()) {
  if (found.has(file)) return found
  found.add(file)
  for (const [, name] of readFileSync(file, 'utf8').matchAll(/^(?:import|export)[^'"()]*?'(\.[^']+)'/gm))
    loadedBy(resolve(dirname(file), name), found)
  return found
}

/** The license of each library among the bundled files: their terms ask for it in every copy. */
function licensesOf(files) {
  const folders = files.flatMap((file) => /^.*\/node_modules\/(?:@[^/]+\/)?[^/]+\//.exec(file)?.[0] ?? [])
  return [...new Set(folders)]
    .sort()
    .map((folder) => {
      const { name, version, license } = JSON.parse(readFileSync(`${folder}package.json`, 'utf8'))
      const texts = readdirSync(folder).filter((file) => /^(licen[cs]e|notice)(\.\w+)?$/i.test(file))
      const words = texts.map((file) => readFileSync(folder + file, 'utf8').trim())
      return [`${name} ${version} (${license})`, ...words].join('\n\n')
    })
    .join(`\n\n${'-'.repeat(78)}\n\n`)
}

const input = {
  entry: 'src/entry.js',
  pagethread: 'src/pagethread.js',
  receiverthread: 'src/receiverthread.js',
  writerthread: 'src/engine/warehouse/sqlite/thread/writerthread.js',
}
const [start, thread] = [input.entry, input.writerthread].map((file) => loadedBy(dist + file))
// The entry awaits the command (top-level await): a chunk that imported the entry would wait for itself.
start.delete(dist + input.entry)
const isCommander = (file) => /node_modules\/(commander|fastest-levenshtein)\//.test(file)

const bundle = await rolldown({
  cwd: dist,
  input,
  platform: 'node',
  external: Object.keys(dependencies)
    .filter((name) => !bundled.includes(name))
    .map((name) => new RegExp(`^${name}(/|$)`)),
  logLevel: 'warn',
})
rmSync(`${dist}bin`, { recursive: true, force: true })
const { output } = await bundle.write({
  dir: `${dist}bin`,
  format: 'esm',
  chunkFileNames: '[name]-[hash].js',
  // One file for what every start loads, and another for what a start shares with the writer thread.
  codeSplitting: {
    groups: [
      { name: 'shared', test: (file) => start.has(file) && thread.has(file) },
      { name: 'start', test: (file) => isCommander(file) || (start.has(file) && !thread.has(file)) },
    ],
  },
})
await bundle.close()
writeFileSync(`${dist}bin/LICENSES.txt`, licensesOf(output.flatMap(({ moduleIds = [] }) => moduleIds)))
// Names all files by what they contain: what a warehouse remembers of one program doesn't count for another.
const contents = createHash('sha256')
for (const { fileName, code = '' } of output) contents.update(`${fileName}\n${code}\n`)
const program = contents.digest('hex').slice(0, 20)
// Beside the module that reads it, for the tests too: they run the compiled files.
for (const folder of ['bin', 'src/shell']) writeFileSync(`${dist}${folder}/program.txt`, program)
copyFileSync(fileURLToPath(new URL('start.mjs', import.meta.url)), `${dist}bin/shopsync.js`)
chmodSync(`${dist}bin/shopsync.js`, 0o755)
