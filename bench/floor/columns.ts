import { resources } from '../../schema/index.js'
import type { Kind } from '../../schema/resource.js'
import { model } from '../../test/support/model.js'
import type { ResourceName } from '../source/climate.js'
import { tablesOf } from './flatten.js'

/** Names, keys and kinds of the tables that the product makes; plain data, for a thread. */
export type Columns = readonly {
  readonly name: string
  readonly key: readonly string[]
  readonly columns: readonly { readonly name: string; readonly kind: Kind }[]
}[]

/** The tables of these resources, each once. */
export function columnsOf(wanted: readonly ResourceName[]): Columns {
  const { tableByName } = model(resources)
  const names = new Set(wanted.flatMap((resource) => tablesOf[resource]))
  return [...names].map((name) => {
    const table = tableByName.get(name)
    if (!table) throw new Error(`There is no table ${name}`)
    return {
      name,
      key: table.key,
      columns: table.columns.map(({ name: column, kind }) => ({ name: column, kind })),
    }
  })
}

export const quoted = (name: string): string => `"${name}"`

/** The newest write wins, whatever it says. */
export function upsertTail({ key, columns }: Columns[number]): string {
  const set = columns
    .filter((column) => !key.includes(column.name))
    .map(({ name }) => `${quoted(name)} = excluded.${quoted(name)}`)
  return `on conflict (${key.map(quoted).join(', ')}) do update set ${set.join(', ')}`
}
