import { resolve } from 'node:path'
import { Stop } from '../../engine/base/errors.js'
import type { ToolPlace } from '../../engine/warehouse/views/bitools.js'
import type { Command, Invocation } from '../../shell/command.js'
import type { Outline } from '../../shell/configuration.js'
import { stateTablesOf } from '../../shell/features.js'
import type { DbtOptions } from './dbtmodels.js'
import type { Dictionary } from './dictionary.js'
import type { Files } from './folder.js'

/** How each format writes the dictionary, as text or as a file. Writers are loaded on demand. */
const writers: Readonly<Record<string, (content: Dictionary, outline: Outline) => Promise<string | Buffer>>> =
  {
    md: async (content) => (await import('./markdown.js')).toMarkdown(content),
    html: async (content) => (await import('./page/dictionarypage.js')).toHtml(content),
    dbt: dbtSources,
    superset: supersetDatasets,
  }

/** Formats that can be written as a folder. */
const folders: Readonly<Record<string, (content: Dictionary, outline: Outline) => Promise<Files>>> = {
  md: async (content) => (await import('./markdown.js')).toMarkdownPages(content),
  dbt: dbtProject,
}

/** What to type for the formats that are a single file. */
const typed: Readonly<Record<string, string>> = {
  html: 'shopsync dictionary --format html > dictionary.html',
  json: 'shopsync dictionary --format json > dictionary.json',
  superset: 'shopsync dictionary --format superset > datasets.zip',
}

async function filesOf(content: Dictionary, outline: Outline, format: string): Promise<Files> {
  const files = await folders[format]?.(content, outline)
  if (files) return files
  const expected = Object.keys(folders).join(' or ')
  throw new Stop(`Found --out with the format ${format}, which is one file; expected ${expected}`, {
    exitCode: 2,
    hint: `Type ${typed[format]}`,
  })
}

const anHour = 3_600_000

async function dbtOptions(outline: Outline): Promise<DbtOptions> {
  const [{ biToolsOf }, { statusSettings }] = await Promise.all([
    import('../../engine/warehouse/openwarehouse.js'),
    import('../../engine/config/attention.js'),
  ])
  const staleHours = Math.max(1, Math.round(statusSettings(outline).staleAfter / anHour))
  return { ...(await biToolsOf(await placeOf(outline))), staleHours }
}

async function dbtSources(content: Dictionary, outline: Outline): Promise<string> {
  const { toDbt } = await import('./dbtmodels.js')
  return toDbt(content, await dbtOptions(outline))
}

async function dbtProject(content: Dictionary, outline: Outline): Promise<Files> {
  const { toDbtProject } = await import('./dbtproject.js')
  return toDbtProject(content, await dbtOptions(outline))
}

async function supersetDatasets(content: Dictionary, outline: Outline): Promise<Buffer> {
  const [{ toSuperset }, { biToolsOf }] = await Promise.all([
    import('./supersetexport.js'),
    import('../../engine/warehouse/openwarehouse.js'),
  ])
  return toSuperset(content, await biToolsOf(await placeOf(outline)))
}

async function placeOf(outline: Outline): Promise<ToolPlace> {
  const { reportSettings } = await import('../../engine/config/reportsection.js')
  return { ...outline.warehouse, views: reportSettings(outline).schema }
}

async function describe(
  invocation: Pick<Invocation, 'features' | 'globals' | 'io'>,
): Promise<{ content: Dictionary; outline: Outline }> {
  const [{ describeModel }, { model }, { resources }, configuration] = await Promise.all([
    import('./describe.js'),
    import('../../engine/model/registry.js'),
    import('../../../schema/index.js'),
    import('../../shell/configuration.js'),
  ])
  const outline = await configuration.outline(invocation, ['report', 'status'])
  const { list, state } = model(resources, outline.resources, await stateTablesOf(invocation.features))
  const declared = list.map((entry) => entry.resource)
  return { content: describeModel(declared, state), outline }
}

export const dictionaryCommand: Command = {
  name: 'dictionary',
  group: 'Read the data',
  summary: 'the data dictionary: every table and column, and what it means',
  help: `
Needs no configuration; with one, it shows the columns that resources.NAME.columns adds and the tables of
resources.NAME.history, and the sources of dbt and the datasets of Superset are those of its warehouse (without one: of
Postgres).`,
  examples: [
    ['shopsync dictionary', 'one document of Markdown'],
    ['shopsync dictionary --out dictionary', 'a folder: a page for each relation, README.md first'],
    [
      'shopsync dictionary --format html > dictionary.html',
      'a page for each relation in one file: search, joins, examples',
    ],
    ['shopsync dictionary --format dbt > sources.yml', 'the sources of dbt'],
    ['shopsync dictionary --format dbt --out dbt', 'a folder that dbt runs: sources, models, metrics'],
    ['shopsync dictionary --format superset > datasets.zip', 'for Superset: Datasets, Import'],
  ],
  options: [
    {
      flags: '--format <format>',
      description: 'format of the output (default: md)',
      choices: ['md', 'json', 'html', 'dbt', 'superset'],
    },
    { flags: '--out <folder>', description: 'write a folder instead: pages (md), a project (dbt)' },
  ],
  run: async (invocation) => {
    const { options, out } = invocation
    const { content, outline } = await describe(invocation)
    const format = out.json ? 'json' : String(options.format ?? 'md')
    if (options.out !== undefined) {
      const files = await filesOf(content, outline, format)
      const { writeFolder } = await import('./folder.js')
      writeFolder(resolve(invocation.io.workingDirectory, String(options.out)), files)
      out.print(`Wrote ${Object.keys(files).length} files to ${options.out}`)
      return 0
    }
    const written = await writers[format]?.(content, outline)
    if (typeof written === 'string') out.result(written)
    else if (written) out.file(written, typed.superset ?? '')
    else await out.document(content)
    return 0
  },
}
