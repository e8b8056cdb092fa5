/* The section `privacy` of the configuration: which columns are hidden, and how. Used by schema.ts and load.ts. */
import { z } from 'zod'
import { derivedTables } from '../../../schema/index.js'
import type { Resource } from '../../../schema/resource.js'
import { columnsRead } from '../../../schema/viewreads.js'
import { views } from '../../../schema/views/index.js'
import { choice, type Resources, secret, section, type TableLister, whole } from './leaf.js'
import { type Problem, unknownKey } from './problems.js'
import { promotedMark, type Treatment, treatmentOf, treatments } from './treatment.js'

const words = '"keep", "hash" or "drop"'

/** Base64 of 32 bytes and more. */
const shortest = 32

const makeKey = 'Type openssl rand -base64 32, and keep the key where the secret of the API is'

/** The bytes of a key; undefined if the text isn't base64. */
export const privacyKey = (text: string): Buffer | undefined =>
  /^[A-Za-z0-9+/_-]+={0,2}$/.test(text) ? Buffer.from(text, 'base64') : undefined

export const privacy = (resources: Resources, tablesOf: TableLister) => {
  const treatment = choice(treatments, words).describe(
    '"keep": stored as the API sends it. "hash": texts are stored as pseudonyms, equal ones as equal. "drop": null is stored.',
  )
  const columns = (of: { readonly name: string }) =>
    z
      .record(z.string(), treatment, { error: 'an object such as {"email": "keep"}' })
      .optional()
      .describe(`How columns of ${of.name} are stored.`)
  const tables = Object.values(resources).flatMap((of) =>
    tablesOf(of).map((table) => [table.name, columns(table)] as const),
  )
  return section(
    {
      preset: choice(['none', 'pseudonymous'])
        .default('none')
        .describe(
          '"pseudonymous": names, addresses, numbers and cards are hashed, free text is dropped (docs/privacy.md lists the columns). "none": everything is kept. Columns named below take precedence.',
        ),
      key: secret('the key of the pseudonyms')
        .optional()
        .meta({
          description:
            'The key of the pseudonyms: base64 of 32 bytes or more, needed as soon as a column is hashed. Anyone who has it can find out whose pseudonym one is.',
          examples: ['${SHOPSYNC_PRIVACY_KEY}', { file: '/run/secrets/shopsync-privacy' }],
        }),
      keyVersion: whole(1, 999)
        .default(1)
        .describe(
          'The number in every pseudonym. Raise it by one with a new key: the lists are then read in full once.',
        ),
      ...(Object.fromEntries(tables) as Record<string, ReturnType<typeof columns>>),
    },
    'Which columns are kept out of the warehouse, by table and column (docs/privacy.md).',
  )
}

/** The treatments in a checked section, by table. */
export const treatmentsIn = (chosen: object): Readonly<Record<string, Readonly<Record<string, Treatment>>>> =>
  Object.fromEntries(
    Object.entries(chosen).filter(
      ([, value]) => typeof value === 'object' && value !== null && !('file' in value),
    ),
  ) as Record<string, Record<string, Treatment>>

type ListedTable = ReturnType<TableLister>[number]

/** What derived tables and views are made of, by table. */
function computedWith(): Map<string, Set<string>> {
  const found = new Map<string, Set<string>>()
  const reads = [
    ...Object.values(derivedTables).flatMap((derived) => Object.entries(derived.reads)),
    ...views.flatMap((view) => [...columnsRead(view)]),
  ]
  for (const [table, columns] of reads)
    for (const column of columns) found.set(table, (found.get(table) ?? new Set()).add(column))
  return found
}

const holdsTogether =
  'it holds rows together or figures are computed with it: hide the columns of customers instead'

/** Why a column can't be treated that way. */
function wrongTreatment(
  table: ListedTable,
  column: ListedTable['columns'][number],
  treatment: Treatment,
  computed: ReadonlySet<string> | undefined,
): string | undefined {
  if (treatment === 'keep') return undefined
  const { name, kind, references, personal } = column
  if (name === '_extra')
    return treatment === 'hash'
      ? '"keep" or "drop", for _extra is not one text: make the field a column (resources.NAME.columns), then hash that'
      : undefined
  const isOwn = name.startsWith('_') || name === 'position' || name === 'updated_at' || name === 'created_at'
  if (isOwn || table.key.includes(name) || references !== undefined) return `"keep", for ${holdsTogether}`
  if (!personal && computed?.has(name)) return `"keep", for ${holdsTogether}`
  if (personal && derivedReads(table.name, name)) return `"keep", for ${holdsTogether}`
  if (treatment === 'hash' && kind !== 'text') return '"keep" or "drop", for only text can be hashed'
  return undefined
}

const derivedReads = (table: string, column: string): boolean =>
  Object.values(derivedTables).some(({ reads }) => reads[table]?.includes(column))

/** A misspelled column would be stored in a way that nobody chose. */
export function privacyProblems(
  {
    privacy: chosen,
    resources: settings,
  }: {
    readonly privacy: {
      readonly preset: 'none' | 'pseudonymous'
      readonly key?: string | { readonly file: string } | undefined
    }
    readonly resources: Readonly<
      Record<string, { readonly columns?: Readonly<Record<string, string>> | undefined } | undefined>
    >
  },
  tablesOf: TableLister,
  resources: Resources,
): Problem[] {
  const columns = treatmentsIn(chosen)
  const isUsed = chosen.preset !== 'none' || Object.keys(columns).length > 0
  if (!isUsed) return []
  const computed = computedWith()
  let isHashed = false
  const problems = Object.values(resources).flatMap((of) =>
    tablesOf(of).flatMap((table, i): Problem[] => {
      const all = [
        ...table.columns,
        ...(i === 0 ? promotedColumns(of, settings[of.name]?.columns ?? {}) : []),
      ]
      isHashed ||= all.some(
        (column) => treatmentOf({ preset: chosen.preset, columns }, table.name, column) === 'hash',
      )
      return Object.entries(columns[table.name] ?? {}).flatMap(([name, treatment]): Problem[] => {
        const path = `privacy.${table.name}.${name}`
        const column = all.find((one) => one.name === name)
        if (!column)
          return [
            unknownKey(
              path,
              name,
              all.map((one) => one.name),
              `a column of ${table.name}`,
            ),
          ]
        const expected = wrongTreatment(table, column, treatment, computed.get(table.name))
        return expected === undefined ? [] : [{ path, found: JSON.stringify(treatment), expected }]
      })
    }),
  )
  return [...problems, ...(isHashed ? keyProblems(chosen) : [])]
}

/** The columns that the configuration adds to a resource's own table. */
const promotedColumns = (
  resource: Pick<Resource, 'undeclared' | 'impersonal'>,
  columns: Readonly<Record<string, string>>,
): ListedTable['columns'][number][] =>
  Object.entries(columns).map(([name, kind]) => ({
    name,
    kind,
    personal: promotedMark(resource, name, kind),
  }))

function keyProblems({ key }: Parameters<typeof privacyProblems>[0]['privacy']): Problem[] {
  const path = 'privacy.key'
  const expected = `base64 of ${shortest} bytes or more, since a column is hashed`
  if (key === undefined) return [{ path, found: 'nothing', expected, hint: makeKey }]
  const bytes = typeof key === 'string' ? privacyKey(key) : undefined
  if (bytes && bytes.length >= shortest) return []
  const found = bytes ? `one of ${bytes.length} bytes` : 'a text that is not base64 (not shown)'
  return [{ path, found, expected, hint: makeKey }]
}
