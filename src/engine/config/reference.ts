/*
 * The reference for the configuration and for job files, as Markdown generated from their JSON Schemas:
 * docs/configuration.md, and the table of docs/privacy.md. Used by the build (src/artifacts.ts).
 */
import type { TableLister } from './leaf.js'
import { treatmentOf } from './treatment.js'

/** The parts of a JSON Schema that settings use. */
interface SettingSchema {
  readonly title?: string
  readonly description?: string
  readonly type?: string | readonly string[]
  readonly default?: unknown
  readonly const?: unknown
  readonly enum?: readonly unknown[]
  readonly examples?: readonly unknown[]
  readonly anyOf?: readonly SettingSchema[]
  readonly properties?: Readonly<Record<string, SettingSchema>>
  readonly required?: readonly string[]
  readonly items?: SettingSchema
  readonly additionalProperties?: boolean | SettingSchema
  readonly minimum?: number
  readonly maximum?: number
}

/** Sections with members named after resources or tables that are all alike: one is shown for all. */
const alike: Readonly<Record<string, string>> = { resources: 'NAME', privacy: 'TABLE' }

const isSection = ({ properties, additionalProperties }: SettingSchema): boolean =>
  properties !== undefined || typeof additionalProperties === 'object'

interface Row {
  readonly key: string
  readonly schema: SettingSchema
  readonly isRequired: boolean
}

/** The settings below a section, with their paths starting with the section's name. */
function rowsOf(path: string, schema: SettingSchema, isRequired = false): Row[] {
  const standIn = alike[path]
  const members = Object.entries(schema.properties ?? {})
  const own = { key: path, schema, isRequired }
  const rest = schema.additionalProperties
  const shown = standIn === undefined ? members : members.filter(([, member]) => !isSection(member))
  const [alikeOne] = members.filter(([, member]) => isSection(member))
  if (members.length > 0)
    return [
      ...shown.flatMap(([name, member]) =>
        rowsOf(`${path}.${name}`, member, schema.required?.includes(name) ?? false),
      ),
      ...(standIn !== undefined && alikeOne ? rowsOf(`${path}.${standIn}`, alikeOne[1]) : []),
      ...(path === 'targets' && typeof rest === 'object' ? rowsOf(`${path}.NAME`, rest) : []),
    ]
  if (/^privacy\./.test(path) && typeof rest === 'object') return rowsOf(`${path}.COLUMN`, rest)
  if (schema.items?.properties) return [own, ...rowsOf(`${path}[]`, schema.items)]
  return [own]
}

const code = (value: unknown): string => `\`${JSON.stringify(value)}\``

/** The values that a setting takes, in words. */
function valueText(schema: SettingSchema): string {
  const { anyOf, enum: words, minimum, maximum, items, additionalProperties } = schema
  if (anyOf) return [...new Set(anyOf.map(valueText))].join(' or ')
  if (schema.const !== undefined) return code(schema.const)
  if (words) return words.length > 10 ? `one of ${words.length} names` : words.map(code).join(', ')
  if (schema.properties)
    return `{${Object.keys(schema.properties)
      .map((name) => `"${name}": …`)
      .join(', ')}}`
  if (items) return `list of: ${items.properties ? 'objects' : valueText(items)}`
  if (typeof additionalProperties === 'object') return `object of: ${valueText(additionalProperties)}`
  if (typeof schema.default === 'string' && /^-?P[\dT]/.test(schema.default)) return 'duration'
  const kinds = typeof schema.type === 'string' ? [schema.type] : (schema.type ?? [])
  const names = kinds.map((kind) => kindNames[kind] ?? kind)
  return `${names.join(' or ')}${boundsText(minimum, maximum)}`
}

const kindNames: Readonly<Record<string, string>> = {
  string: 'text',
  integer: 'whole number',
  boolean: 'true or false',
}

function boundsText(from: number | undefined, to: number | undefined): string {
  if (to !== undefined && to < Number.MAX_SAFE_INTEGER) return `, ${from ?? 0} to ${to}`
  return from === undefined ? '' : `, ${from} or more`
}

const cell = (text: string): string => text.replaceAll('|', '\\|').replaceAll('\n', ' ')

/** A long list of words is better in the description than in the column of defaults. */
function defaultText({ schema, isRequired }: Row): string {
  if (schema.default === undefined) return isRequired ? 'required' : ''
  const text = JSON.stringify(schema.default)
  return text.length > 60 ? 'all' : `\`${text}\``
}

function tableOf(rows: readonly Row[]): string {
  const lines = rows.map((row) => {
    const { key, schema } = row
    const isOpen = ['{}', '[]', undefined].includes(JSON.stringify(schema.default))
    const example = isOpen ? schema.examples?.[0] : undefined
    const meaning = `${schema.description ?? ''}${example === undefined ? '' : ` Such as ${code(example)}.`}`
    return `| \`${key}\` | ${cell(valueText(schema))} | ${cell(defaultText(row))} | ${cell(meaning)} |`
  })
  return ['| setting | takes | default | meaning |', '| --- | --- | --- | --- |', ...lines].join('\n')
}

/** The sections of a schema, each with a table of its settings. Settings without a section come first. */
function sections(schema: SettingSchema, level: string): string[] {
  const members = Object.entries(schema.properties ?? {}).filter(([name]) => name !== '$schema')
  const single = members.filter(([, { properties }]) => !properties)
  const grouped = members.filter(([, { properties }]) => properties)
  const required = new Set(schema.required)
  return [
    ...(single.length === 0
      ? []
      : [tableOf(single.flatMap(([name, member]) => rowsOf(name, member, required.has(name))))]),
    ...grouped.flatMap(([name, member]) => [
      `${level} ${name}`,
      ...(member.description ? [member.description] : []),
      tableOf(rowsOf(name, member)),
    ]),
  ]
}

/** The whole docs/configuration.md. */
export function configReference(config: SettingSchema, job: SettingSchema): string {
  const parts = [
    '# Configuration reference',
    `The build writes this page from the checks of the configuration (\`src/engine/config/schema.ts\`, \`src/features/jobs/jobfile.ts\`); editors complete and explain the settings from \`schema/config.schema.json\` and \`schema/job.schema.json\`. Durations are ISO 8601, such as \`"PT5M"\` or \`"P3D"\`. \`\${NAME}\` in any text is replaced from the environment or from \`shopsync.env\`. An unknown key is an error that names the nearest known one.`,
    '## config.json',
    ...sections(config, '###'),
    '## jobs/NAME.json',
    ...(job.description ? [job.description] : []),
    ...sections(job, '###'),
  ]
  return `${parts.join('\n\n')}\n`
}

/** What the preset of `privacy` does with each personal column. */
export function presetReference(tables: ReturnType<TableLister>): string {
  const policy = { preset: 'pseudonymous', columns: {} } as const
  const lines = tables.flatMap(({ name: table, columns }) => {
    const marked = columns.filter(({ personal }) => personal !== undefined)
    const names = (wanted: string): string =>
      marked
        .filter((column) => treatmentOf(policy, table, column) === wanted)
        .map(({ name }) => `\`${name}\``)
        .join(', ')
    return marked.length > 0
      ? [`| \`${table}\` | ${names('hash')} | ${names('drop')} | ${names('keep')} |`]
      : []
  })
  return ['| table | hashed | dropped | kept |', '| --- | --- | --- | --- |', ...lines].join('\n')
}
