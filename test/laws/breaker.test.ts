/** The circuit breaker: a response that would mean the loss of many records at once isn't trusted. */
import { describe, expect, it } from 'vitest'
import { type Rule, template } from '../../src/sandbox/index.js'
import { syncInOrder } from '../support/harness/runs.js'
import { sandboxOfFile } from '../support/harness/sandbox.js'
import { bothWarehouses, open, rowsOf, type Warehouse } from '../support/harness/warehouse.js'
import { interposed } from '../support/world/interposed.js'

const sandbox = await sandboxOfFile()

const time = (n: number): string => new Date(Date.parse('2026-01-01T00:00:00Z') + n * 60_000).toISOString()
const emptied: Rule = { when: { tenant: 1, resource: 'notes' }, fault: { kind: 'empty' } }
const emptiedMidway: Rule = { when: { tenant: 1, resource: 'notes', from: 4 }, fault: { kind: 'empty' } }

type Case = readonly [name: string, mode: 'full' | 'first', rule: Rule]
const cases: readonly Case[] = [
  ['a full walk that finds nothing', 'full', emptied],
  ['a walk whose list empties under it', 'full', emptiedMidway],
  ['a first load whose list empties under it', 'first', emptiedMidway],
]
const options = { resources: ['notes'] }

/** The source shows too little: either that isn't trusted, or this throws. */
async function law(warehouse: Warehouse, [, mode, rule]: Case): Promise<void> {
  sandbox.reset()
  for (const id of [1, 2]) sandbox.store.addTenant({ id })
  for (let id = 1; id <= 1200; id++) sandbox.store.put(1, 'notes', template('notes', id, time(id)))
  sandbox.store.put(2, 'notes', template('notes', 1, time(1)))
  if (mode === 'full') await syncInOrder(sandbox, warehouse, options)
  const before = await rowsOf(warehouse, 'sync_cursors')
  sandbox.script([rule])
  const report = await syncInOrder(sandbox, warehouse, {
    ...options,
    mode: mode === 'full' ? 'full' : 'sync',
  })
  const [struck, other] = [1, 2].map((id) => report.cursors.find((cursor) => cursor.tenant_id === id))
  expect(struck).toMatchObject({ status: 'failed', completeness: 'unproven' })
  expect(struck?.error).toContain('which is not plausible')
  expect(other).toMatchObject({ status: 'ok' })
  const watermark = (rows: Record<string, unknown>[]): unknown =>
    rows.find((row) => row.tenant_id === 1)?.watermark ?? null
  expect(watermark(await rowsOf(warehouse, 'sync_cursors'))).toBe(watermark(before))
  const rows = await rowsOf(warehouse, 'notes')
  expect(rows.every((row) => row._deleted_at === null)).toBe(true)
  sandbox.script([])
  expect((await syncInOrder(sandbox, warehouse, options)).status).toBe('ok')
  expect((await rowsOf(warehouse, 'notes')).filter((row) => row.tenant_id === 1)).toHaveLength(1200)
}

describe.each(bothWarehouses())('$name', (kind) => {
  it.each(cases)('does not trust %s', async (...given) => {
    const warehouse = await open(kind)
    await law(warehouse, given)
    await warehouse.close()
  })

  it('would notice a walk that does not know how many rows there were', async () => {
    const warehouse = await open(kind)
    const forgetful = interposed(warehouse, { countRows: () => async () => 0 })
    await expect(law(forgetful, cases[0]!)).rejects.toThrow(/status/)
    await warehouse.close()
  })
})
