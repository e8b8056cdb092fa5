/** Writes the committed files that are generated from the declarations. Run at the end of `npm run build`. */
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { figures } from '../schema/figures/index.js'
import { resources } from '../schema/index.js'
import { Bug } from './engine/base/errors.js'
import { configReference, presetReference } from './engine/config/reference.js'
import { configSchema } from './engine/config/schema.js'
import { asTables, stateTableList } from './engine/model/state.js'
import { type Table, tablesOf } from './engine/model/table.js'
import { figureComplaints } from './features/analytics/figurecheck.js'
import { describeModel } from './features/dictionary/describe.js'
import { writeFolder } from './features/dictionary/folder.js'
import { keysToSet } from './features/dictionary/keystoset.js'
import { toMarkdownPages } from './features/dictionary/markdown.js'
import { eventTables } from './features/events/tables.js'
import { metricReference } from './features/health/metricnames.js'
import { jobSchema } from './features/jobs/jobfile.js'
import { features } from './main.js'
import { commandReference } from './shell/commandreference.js'
import { commandsOf, sectionsOf, stateTablesOf, stepsOf } from './shell/features.js'
import { messageReference, reasonReference } from './shell/messagereference.js'

/** Replaces the text between the two marks of that name in a hand-written page. */
function writeBetween(file: URL, name: string, text: string): void {
  const page = readFileSync(file, 'utf8')
  const [before, after] = [`<!-- ${name}: written by the build -->`, `<!-- end of ${name} -->`]
  const [from, to] = [page.indexOf(before), page.indexOf(after)]
  if (from < 0 || to < from) throw new Bug(`${file.pathname} lacks the marks of ${name}`)
  writeWhenChanged(file, `${page.slice(0, from + before.length)}\n${text}\n${page.slice(to)}`)
}

/** The folder of package.json, whether this file runs from `dist` or from the sources. */
function projectRoot(): URL {
  for (let folder = new URL('.', import.meta.url); folder.pathname !== '/'; folder = new URL('..', folder)) {
    if (existsSync(new URL('package.json', folder))) return folder
  }
  throw new Bug('No package.json above this file')
}

function writeWhenChanged(file: URL, text: string): void {
  if (existsSync(file) && readFileSync(file, 'utf8') === text) return
  mkdirSync(new URL('.', file), { recursive: true })
  writeFileSync(file, text)
  process.stderr.write(`wrote ${fileURLToPath(file)}\n`)
}

/** Tables that aren't in every warehouse, so the dictionary leaves them out: each with a heading and its columns. */
const columnTables = (tables: readonly Table[]): string =>
  tables
    .map(({ name, doc, key, columns }) => {
      const rows = columns.map((column) => `| \`${column.name}\` | ${column.kind} | ${column.doc} |`)
      const head = `**${name}**: ${doc} Key: ${key.join(', ')}.`
      return [`${head}\n`, '| column | kind | meaning |', '| --- | --- | --- |', ...rows].join('\n')
    })
    .join('\n\n')

/** The texts of the program's source files. */
const sources = (folder: URL): string[] =>
  readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts') && !name.startsWith('sandbox'))
    .sort()
    .map((name) => readFileSync(new URL(name, folder), 'utf8'))

const complaints = figureComplaints(figures)
if (complaints.length > 0) {
  process.stderr.write(`${complaints.join('\n')}\n`)
  process.exit(1)
}

const root = projectRoot()
const own = stateTableList(await stateTablesOf(features))
const dictionary = describeModel(Object.values(resources), own)
writeFolder(fileURLToPath(new URL('schema/dictionary', root)), toMarkdownPages(dictionary))
writeBetween(new URL('docs/analytics.md', root), 'keys', keysToSet(dictionary))
const config = configSchema({ tablesOf, sections: await sectionsOf(features) })
const job = jobSchema(await stepsOf(features))
writeWhenChanged(new URL('schema/config.schema.json', root), `${JSON.stringify(config, null, 2)}\n`)
writeWhenChanged(new URL('schema/job.schema.json', root), `${JSON.stringify(job, null, 2)}\n`)
writeWhenChanged(new URL('docs/configuration.md', root), configReference(config, job))
writeBetween(
  new URL('docs/privacy.md', root),
  'preset',
  presetReference(Object.values(resources).flatMap((resource) => tablesOf(resource))),
)
writeWhenChanged(new URL('docs/commands.md', root), commandReference(commandsOf(features)))
writeBetween(new URL('docs/operations.md', root), 'metrics', metricReference())
writeBetween(new URL('docs/webhooks.md', root), 'tables', columnTables(asTables(eventTables)))
writeBetween(new URL('docs/runbook.md', root), 'codes', reasonReference())
writeBetween(new URL('docs/runbook.md', root), 'messages', messageReference(sources(new URL('src/', root))))
