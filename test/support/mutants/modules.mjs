/**
 * Writes dist/modules.d.ts, the types of all files of src/ and schema/ by their paths, so that breakage.ts can break what
 * is exported by any of them. Run by `npm run build`.
 */
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('../../../', import.meta.url))
const filesIn = (folder) =>
  readdirSync(`${root}${folder}`, { recursive: true })
    .filter((name) => name.endsWith('.ts'))
    .map((name) => `${folder}/${name.slice(0, -'.ts'.length)}`)
    .sort()
const types = ['schema', 'src']
  .flatMap(filesIn)
  .map((path) => `  readonly '${path.replace(/^src\//, '')}': typeof import('../${path}.js')`)
mkdirSync(`${root}dist`, { recursive: true })
writeFileSync(`${root}dist/modules.d.ts`, `export interface Modules {\n${types.join('\n')}\n}\n`)
