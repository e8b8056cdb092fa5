/**
 * Writes schema/index.ts, the only registry, from the files in this folder: to add a resource, add its file. Run by
 * `npm run build`; a test compares the result with what is committed.
 */
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const folder = fileURLToPath(new URL('.', import.meta.url))
const notResources = new Set(['index.ts', 'resource.ts'])

const names = readdirSync(folder)
  .filter((file) => file.endsWith('.ts') && !notResources.has(file))
  .map((file) => file.slice(0, -'.ts'.length))
  .filter((name) => readFileSync(`${folder}${name}.ts`, 'utf8').includes('defineResource('))
  .sort()

/** The files in a folder that make a declaration with that word. */
const declaredIn = (place, word) =>
  readdirSync(`${folder}${place}`)
    .filter((file) => file.endsWith('.ts'))
    .map((file) => file.slice(0, -'.ts'.length))
    .filter((name) => readFileSync(`${folder}${place}/${name}.ts`, 'utf8').includes(`${word}(`))
    .sort()
/** An empty interface that extends others, on one line if the formatter would put it on one. */
const extending = (name, others) => {
  const line = `export interface ${name} extends ${others.join(', ')} {}`
  return line.length <= 110 ? line : `export interface ${name}\n  extends ${others.join(',\n    ')} {}`
}
const derivedNames = declaredIn('derived', 'defineDerived')

const imports = [
  ...names.map((name) => [name, name]),
  ['resource', 'type { Resource, TablesOf }'],
  ['derive', 'type { Derived, TableOfDerived }'],
  ...derivedNames.map((name) => [`derived/${name}`, name]),
].sort()
const text = `/** GENERATED from the files of this folder by registry.mjs (npm run build). */
${imports.map(([file, what]) => `import ${what} from './${file}.js'`).join('\n')}

const declared = {
${names.map((name) => `  ${name},`).join('\n')}
}

/** Every declared resource, by name. */
export const resources: Readonly<Record<string, Resource>> = declared

/** The warehouse's tables, as Kysely sees them: computed from the declarations, one by one. */
${extending(
  'ResourceTables',
  names.map((name) => `Tables<'${name}'>`),
)}
type Tables<N extends keyof typeof declared> = TablesOf<(typeof declared)[N]>

const declaredDerived = {
${derivedNames.map((name) => `  ${name},`).join('\n')}
}

/** Every derived table, by name. */
export const derivedTables: Readonly<Record<string, Derived>> = declaredDerived

/** The derived tables, as Kysely sees them. */
${extending(
  'DerivedRows',
  derivedNames.map((name) => `DerivedRow<'${name}'>`),
)}
type DerivedRow<N extends keyof typeof declaredDerived> = TableOfDerived<(typeof declaredDerived)[N]>
`
const file = `${folder}index.ts`
const before = (() => {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    return ''
  }
})()
if (before !== text) writeFileSync(file, text)

/* The views: schema/views/index.ts. */

const viewFolder = `${folder}views/`
const viewNames = readdirSync(viewFolder)
  .filter((name) => name.endsWith('.ts'))
  .map((name) => name.slice(0, -'.ts'.length))
  .filter((name) => readFileSync(`${viewFolder}${name}.ts`, 'utf8').includes('defineView('))
  .sort()
const viewText = `/** GENERATED from the files of this folder by ../registry.mjs (npm run build). */
import type { RowOfView, View } from '../view.js'
${viewNames.map((name) => `import ${name} from './${name}.js'`).join('\n')}

const declared = {
${viewNames.map((name) => `  ${name},`).join('\n')}
}

/** Every declared view, in the order of their names. */
export const views: readonly View[] = Object.values(declared)

/** The views as Kysely sees them. */
export type ViewRows = { [N in keyof typeof declared]: RowOfView<(typeof declared)[N]> }
`
const viewIndex = `${viewFolder}index.ts`
let known = ''
try {
  known = readFileSync(viewIndex, 'utf8')
} catch {
  // It doesn't exist yet.
}
if (known !== viewText) writeFileSync(viewIndex, viewText)

/* The figures: schema/figures/index.ts. */

const figureNames = declaredIn('figures', 'defineFigure')
const figureText = `/** GENERATED from the files of this folder by ../registry.mjs (npm run build). */
import type { DeclaredFigure } from '../figure.js'
${figureNames.map((name) => `import ${name} from './${name}.js'`).join('\n')}

const declared = {
${figureNames.map((name) => `  ${name},`).join('\n')}
}

/** Every declared figure, in the order of their names. */
export const figures: readonly DeclaredFigure[] = Object.values(declared)
`
const figureIndex = `${folder}figures/index.ts`
const figuresBefore = existsSync(figureIndex) ? readFileSync(figureIndex, 'utf8') : ''
if (figuresBefore !== figureText) writeFileSync(figureIndex, figureText)
