/**
 * Writes computed columns of stored lines whose values have changed (derived.ts). A changed time zone affects no line,
 * and a changed rate only taxed ones; the others aren't touched.
 */
import type { Lines, Stored, StoredRow } from '../../../../schema/derive.js'
import type { Int64 } from '../../../../schema/resource.js'
import { Bug } from '../../base/errors.js'
import type { Column, Table } from '../../model/table.js'
import type { Dialect } from '../dialect.js'
import { demandRebuild } from '../state/tenants.js'
import type { Session } from '../transaction.js'
import { quoted } from './versiontext.js'

/** Rows per statement. Their JSON has a few hundred kilobytes. */
const linesAtOnce = 5000

const columnNamed = ({ name, columns }: Table, wanted: string): Column => {
  const found = columns.find((column) => column.name === wanted)
  if (!found) throw new Bug(`${name} has no column ${wanted}`)
  return found
}

/** A value as JSON, every digit kept. */
const asJson = (value: Stored): string =>
  typeof value === 'bigint' ? String(value) : JSON.stringify(value ?? null)

export class ChangedLines {
  readonly #targets: readonly {
    readonly table: Table
    /** The columns of its key, including the tenant. */
    readonly key: readonly Column[]
    readonly computed: readonly Column[]
    readonly rows: (readonly Stored[])[]
  }[]

  constructor(tables: readonly Table[], by: string) {
    this.#targets = tables.flatMap((table) => {
      const computed = table.columns.filter(({ computedBy }) => computedBy === by)
      const key = table.key.map((name) => columnNamed(table, name))
      return computed.length > 0 ? [{ table, key, computed, rows: [] }] : []
    })
  }

  /** `rows`: the rows of one record as the rule read them. `lines`: what the rule computes for them. */
  add(tenantId: Int64, id: Int64, rows: Readonly<Record<string, readonly StoredRow[]>>, lines: Lines): void {
    for (const { table, key, computed, rows: changed } of this.#targets)
      for (const [i, row] of (rows[table.name] ?? []).entries()) {
        const values = lines[table.name]?.slice(i * computed.length, (i + 1) * computed.length) ?? []
        if (computed.every(({ name }, j) => (row[name] ?? null) === (values[j] ?? null))) continue
        const own = key.slice(1).map(({ name }) => (name === table.owner ? id : (row[name] ?? null)))
        changed.push([tenantId, ...own, ...computed.map((_, j) => values[j] ?? null)])
      }
  }

  async write(where: { readonly dialect: Dialect; readonly session: Session }): Promise<void> {
    for (const { table, key, computed, rows } of this.#targets)
      await updateListed(where, { table, key, set: computed, rows })
    // Of lines, only their records have stamps, and those say which request brought them.
    const tenants = this.#targets.flatMap(({ rows }) => rows.map(([tenantId]) => tenantId as Int64))
    if (tenants.length > 0) await where.session.run(demandRebuild(where.dialect.db, tenants))
  }
}

/** Sets columns of rows that are given by their keys: in each row the key's values, then those to set. */
export async function updateListed(
  { dialect, session }: { readonly dialect: Dialect; readonly session: Session },
  {
    table,
    key,
    set,
    rows,
  }: {
    readonly table: Pick<Table, 'name'>
    /** Including the tenant. */
    readonly key: readonly Column[]
    readonly set: readonly Column[]
    readonly rows: readonly (readonly Stored[])[]
  },
): Promise<void> {
  // The tenant is one of the given values. If it were a parameter, SQLite without statistics would read all lines of the
  // tenant for each of these.
  const given = dialect.sql.listed('$1', [...key, ...set])
  const values = set.map(({ name }) => `${quoted(name)} = v.${quoted(name)}`)
  const same = key.map(({ name }) => `l.${quoted(name)} = v.${quoted(name)}`)
  const text = `update ${dialect.sql.versionWords.from(table.name)} as l set ${values.join(', ')} from ${given} as v where ${same.join(' and ')}`
  for (let i = 0; i < rows.length; i += linesAtOnce) {
    const some = rows.slice(i, i + linesAtOnce).map((row) => `[${row.map(asJson).join(',')}]`)
    await session.ask(text, [`[${some.join(',')}]`])
  }
}
