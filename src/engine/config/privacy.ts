/* The section `privacy` of the configuration: how columns are stored. Used by schema.ts and load.ts. */
import { z } from 'zod'
import type { Resource } from '../../../schema/resource.js'
import { type Resources, section, type TableLister } from './leaf.js'
import { type Problem, unknownKey } from './problems.js'

const only =
  '"keep", the default and the only treatment in this version. "hash" and "drop" are refused, not ignored: to keep data out of the warehouse, disable its resource'

const keep = (name: string) =>
  z
    .literal('keep', {
      error: ({ input }) =>
        input === 'hash' || input === 'drop'
          ? `"keep", the only treatment in this version: to keep the data out of the warehouse, disable the resource, "resources": {"${name}": {"enabled": false}}`
          : '"keep"',
    })
    .describe('"keep": stored as the API sends it.')

export const privacy = (resources: Resources, tablesOf: TableLister) => {
  const columns = (of: Resource) =>
    z
      .record(z.string(), keep(of.name), { error: 'an object such as {"email": "keep"}' })
      .optional()
      .describe('By column: "keep".')
  const tables = Object.values(resources).flatMap((of) =>
    tablesOf(of).map(({ name }) => [name, columns(of)] as const),
  )
  return section(
    Object.fromEntries(tables) as Record<string, ReturnType<typeof columns>>,
    `How columns are stored, by table and column: ${only} (resources.NAME.enabled).`,
  )
}

/** A misspelled column would be stored in a way that nobody chose. */
export function privacyProblems(
  {
    privacy: chosen,
    resources: settings,
  }: {
    readonly privacy: Readonly<Record<string, Readonly<Record<string, 'keep'>> | undefined>>
    readonly resources: Readonly<Record<string, { readonly columns?: object | undefined } | undefined>>
  },
  tablesOf: TableLister,
  resources: Resources,
): Problem[] {
  return Object.values(resources).flatMap((of) =>
    tablesOf(of).flatMap(({ name: table, columns }, i) => {
      const promoted = i === 0 ? Object.keys(settings[of.name]?.columns ?? {}) : []
      const known = [...columns.map(({ name }) => name), ...promoted]
      const wrong = Object.keys(chosen[table] ?? {}).filter((name) => !known.includes(name))
      return wrong.map((name) => unknownKey(`privacy.${table}.${name}`, name, known, `a column of ${table}`))
    }),
  )
}
