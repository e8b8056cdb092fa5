/**
 * A day of three shops whose events are lost (5 %), doubled (10 %), late by up to half an hour (20 %) and out of order:
 * no cursor ever claims what the source contradicts, and at the end the warehouse equals the source, and a warehouse
 * without events, cell by cell. EVENT_HOURS=… shortens it, EVENT_SEED=… plays another day.
 */
import { describe, expect, it } from 'vitest'
import { known } from '../support/harness/runs.js'
import { bothWarehouses, contents, rowsOf, type Warehouse } from '../support/harness/warehouse.js'
import { compare, expected } from '../support/oracle/cells.js'
import { EventDay } from '../support/world/eventday.js'

const { EVENT_HOURS = '24', EVENT_SEED = '20260302' } = process.env

/** Only live rows: the warehouse with events has rows of records that came and went between two runs of the other. */
async function liveContents(warehouse: Warehouse): Promise<Record<string, unknown>> {
  const all = (await contents(warehouse)) as Record<string, Record<string, unknown>[]>
  for (const { tables } of known.list) {
    const [root] = tables
    if (!root) continue
    const gone = new Set(
      (await rowsOf(warehouse, root.name))
        .filter(({ _deleted_at }) => _deleted_at !== null)
        .map((row) => `${row.tenant_id} ${row.id ?? row.name}`),
    )
    for (const table of tables)
      all[table.name] = (all[table.name] ?? []).filter(
        (row) => !gone.has(`${row.tenant_id} ${row[table.owner ?? table.key[1] ?? '']}`),
      )
  }
  return Object.fromEntries(
    Object.entries(all).map(([name, rows]) => [
      name,
      rows.filter(({ _deleted_at }) => _deleted_at !== true).map(({ _seen_from: _, ...row }) => row),
    ]),
  )
}

describe.each(bothWarehouses())('on $name', (kind) => {
  it('claims nothing wrong, and is equal at the end', async () => {
    const day = await EventDay.open(kind, Number(EVENT_SEED))
    try {
      await day.run(Number(EVENT_HOURS))
      const states = new Map<string, number>()
      for (const state of await day.events.states()) states.set(state, (states.get(state) ?? 0) + 1)
      console.log(kind.name, JSON.stringify(day.tally), JSON.stringify(Object.fromEntries(states)))
      expect([...states.keys()].filter((state) => state.startsWith('waiting'))).toEqual([])
      await day.end()
      const oracle = expected(day.sandbox)
      expect(await compare(day.hearing, oracle)).toBeGreaterThan(1000)
      await compare(day.deaf, oracle)
      expect(await liveContents(day.hearing)).toEqual(await liveContents(day.deaf))
    } finally {
      await day.close()
    }
  })
})
