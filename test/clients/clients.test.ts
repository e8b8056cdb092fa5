/**
 * Real clients on both warehouses: DuckDB, which attaches them and reads the text of SQLite's views as its own SQL, and
 * pandas. Each sees the same rows and sums of every view. They come from pip; if they can't be installed, the suite
 * reports what is missing and is skipped.
 */
import { beforeAll, describe, expect, it } from 'vitest'
import { views } from '../../schema/views/index.js'
import { postgresUrl, warehouses } from '../support/harness/warehouse.js'
import { businessIn } from '../support/world/business.js'
import { client, here, lackingFor, run } from './environment.js'

interface Summary {
  readonly rows: number
  readonly sums: Readonly<Record<string, number>>
}
type Seen = Readonly<
  Record<string, Readonly<Record<string, Summary>> & { readonly untyped: readonly string[] }>
>

type Flags = Readonly<
  Record<
    string,
    { readonly type: string; readonly naive: number; readonly right: number; readonly rows: number }
  >
>

const lacking = await lackingFor('DuckDB and pandas')

const names = views.map(({ name }) => name)

describe.skipIf(lacking !== undefined)('DuckDB and pandas', () => {
  let seen: Seen
  let flags: Flags
  beforeAll(async () => {
    const places = []
    for (const kind of warehouses()) places.push(await businessIn(kind))
    const [lite, postgres] = places
    const file = lite?.address.url.replace('sqlite:', '') ?? ''
    const schema = postgres?.warehouse.dialect.views().where ?? ''
    const { stdout } = await run(client('python'), [here('read.py'), file, postgresUrl(), schema], {
      maxBuffer: 1e8,
    })
    ;({ views: seen, flags } = JSON.parse(stdout) as { views: Seen; flags: Flags })
    for (const { warehouse } of places) await warehouse.close()
  })

  it('find every view', () => {
    expect(Object.keys(seen).sort()).toEqual([...names].sort())
  })

  it("pandas has SQLite's flags as integers, whose opposite needs a conversion", () => {
    const { sqlite, postgres } = flags
    expect([sqlite?.type, postgres?.type]).toEqual(['Int64', 'boolean'])
    for (const { right, rows } of [sqlite, postgres].flatMap((flag) => flag ?? [])) expect(right).toBe(rows)
    expect(postgres?.naive).toBe(postgres?.right)
    expect(sqlite?.naive).not.toBe(sqlite?.right)
  })

  it.each(names)('read %s the same way', (name) => {
    const { untyped, ...clients } = seen[name] ?? { untyped: [] }
    expect(untyped).toEqual([])
    const [first, ...others] = Object.values(clients) as Summary[]
    expect(others).toHaveLength(3)
    for (const other of others) expect(other).toEqual(first)
    if (!name.startsWith('dim_vehicles')) expect(first?.rows).toBeGreaterThan(0)
  })
})
