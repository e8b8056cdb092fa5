import type { ToolPlace } from '../../engine/warehouse/bitools.js'
import { type Command, type Invocation, stateTablesOf } from '../../shell/command.js'
import type { Outline } from '../../shell/configuration.js'
import type { Dictionary } from './dictionary.js'

/** How each format writes the dictionary, as text or as a file; its writer is loaded when it is asked for. */
const writers: Readonly<Record<string, (content: Dictionary, outline: Outline) => Promise<string | Buffer>>> =
  {
    md: async (content) => (await import('./markdown.js')).toMarkdown(content),
    html: async (content) => (await import('./page/dictionarypage.js')).toHtml(content),
    dbt: dbtSources,
    superset: supersetDatasets,
  }

const anHour = 3_600_000

async function dbtSources(content: Dictionary, outline: Outline): Promise<string> {
  const [{ toDbt }, { biToolsOf }, { statusSettings }] = await Promise.all([
    import('./dbtmodels.js'),
    import('../../engine/warehouse/openwarehouse.js'),
    import('../status/settings.js'),
  ])
  const staleHours = Math.max(1, Math.round(statusSettings(outline).staleAfter / anHour))
  const { dbt } = await biToolsOf(await placeOf(outline))
  return toDbt(content, { ...dbt, staleHours })
}

async function supersetDatasets(content: Dictionary, outline: Outline): Promise<Buffer> {
  const [{ toSuperset }, { biToolsOf }] = await Promise.all([
    import('./supersetexport.js'),
    import('../../engine/warehouse/openwarehouse.js'),
  ])
  const { superset } = await biToolsOf(await placeOf(outline))
  return toSuperset(content, superset)
}

async function placeOf(outline: Outline): Promise<ToolPlace> {
  const { reportSettings } = await import('../analytics/settings.js')
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
  summary: 'the data dictionary: every table and column, and what it means',
  help: `
Needs no configuration; with one, it shows the columns that resources.NAME.columns adds and the tables of
resources.NAME.history, and the sources of dbt and the datasets of Superset are those of its warehouse (without one: of
Postgres).`,
  examples: [
    ['shopsync dictionary > dictionary.md', 'a page of Markdown'],
    ['shopsync dictionary --format html > dictionary.html', 'one page: search, joins, examples, a diagram'],
    ['shopsync dictionary --format dbt > sources.yml', 'the sources of dbt'],
    ['shopsync dictionary --format superset > datasets.zip', 'Superset: Datasets, Import'],
  ],
  options: [
    {
      flags: '--format <format>',
      description: 'md (default), json, html, dbt or superset',
      choices: ['md', 'json', 'html', 'dbt', 'superset'],
    },
  ],
  run: async (invocation) => {
    const { options, out } = invocation
    const { content, outline } = await describe(invocation)
    const write = out.json ? undefined : writers[String(options.format ?? 'md')]
    const written = await write?.(content, outline)
    if (typeof written === 'string') out.result(written)
    else if (written) out.file(written, 'shopsync dictionary --format superset > datasets.zip')
    else await out.document(content)
    return 0
  },
}
