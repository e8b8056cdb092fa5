/**
 * Numbers arrive as they were sent: with every digit if the warehouse can hold it, as the token in text or JSON, and in
 * quarantine if neither can hold them.
 */
import { sql } from 'kysely'
import { beforeAll, describe, expect, it } from 'vitest'
import { runVerify } from '../../../src/features/reconcile/verifywork.js'
import { template } from '../../../src/sandbox/index.js'
import { depsOf, known, sync } from '../../support/harness/runs.js'
import { sandboxOfFile } from '../../support/harness/sandbox.js'
import { bothWarehouses, open, rowsOf } from '../../support/harness/warehouse.js'

const sandbox = await sandboxOfFile()
const resources = ['repair_orders', 'vehicles', 'shops']
const time = '2026-02-01T00:00:00.000000Z'
const sentHours = [
  '123456789012345.123456',
  '33.33333333333333333333',
  '0.30000000000000004',
  '12345678.12345678901',
  '1e400',
  '1.50',
]
const sentNames = ['1.10', '1e5', '9007199254740993', '-0', '7', '1.0']
const labors = sentHours.map((hours, i) => `{"id":${i + 1},"hours":${hours},"name":${sentNames[i]}}`)
const odd =
  '{"price":1.10,"long":0.1000000000000000055511151231257827,"deep":[1.0,{"x":12345678901234567890}]}'
const huge = '{"huge":1e400}'

/**
 * JSON that each resource's newest record sends exactly like this: the sandbox prints its own numbers as JavaScript
 * does.
 */
const sent: readonly (readonly [resource: string, path: string, raw: string])[] = [
  ['repair_orders', 'services', `[{"id":1,"labors":[${labors.join(',')}]}]`],
  ['vehicles', 'odd', `[${odd},${huge}]`],
  ['shops', 'beyond', '1e200000'],
]

beforeAll(() => {
  sandbox.store.addTenant({ id: 1 })
  for (const resource of resources) sandbox.store.put(1, resource, template(resource, 1, time))
  sandbox.script(
    sent.map(([resource, path, raw]) => ({ when: { resource }, fault: { kind: 'alter', path, raw } })),
  )
})

/** The same in both warehouses, and what they hold differently. */
const hours = [null, 33.333333333333336, 0.30000000000000004, 12345678.12345679, null, 1.5]
describe.each(bothWarehouses())('$name', (kind) => {
  const isExact = kind.name === 'postgres'
  const begin = async () => {
    const warehouse = await open(kind)
    const report = await sync(sandbox, warehouse, { resources })
    expect(report.cursors.map(({ status }) => status)).toEqual(['ok', 'ok', 'ok'])
    return warehouse
  }

  it('in columns of numbers and of text', async () => {
    const warehouse = await begin()
    const text = isExact ? sql<string>`hours::text` : sql<string>`hours`
    const rows = await warehouse.db
      .selectFrom('repair_order_labors')
      .select(['name', text.as('hours')])
      .orderBy('id')
      .execute()
    if (isExact) {
      expect(rows.slice(0, 4).map((row) => row.hours)).toEqual(sentHours.slice(0, 4))
      expect(rows[4]?.hours).toBe(`1${'0'.repeat(400)}`)
      expect(Number(rows[5]?.hours)).toBe(1.5)
    } else expect(rows.map((row) => row.hours)).toEqual(hours)
    expect(rows.map(({ name }) => name)).toEqual(sentNames)
    const quarantined = (await rowsOf(warehouse, 'sync_quarantine'))
      .filter(({ resource }) => resource === 'repair_orders')
      .map(({ path, value }) => [path, value])
    const lost = [0, 4].map((i) => [`services[0].labors[${i}].hours`, sentHours[i]])
    expect(quarantined).toEqual(isExact ? [] : lost)
    await warehouse.close()
  })

  it('in _extra', async () => {
    const warehouse = await begin()
    const extraOf = async (table: 'vehicles' | 'shops'): Promise<string> => {
      const extra = sql<string | null>`cast(_extra as text)`.as('extra')
      const [row] = await warehouse.db.selectFrom(table).select(extra).execute()
      return row?.extra?.replaceAll(' ', '') ?? ''
    }
    const extra = await extraOf('vehicles')
    // jsonb has its own order, and prints a value, not a token.
    for (const part of [
      '"price":1.10',
      '"long":0.1000000000000000055511151231257827',
      '[1.0,{"x":12345678901234567890}]',
    ])
      expect(extra).toContain(part)
    expect(extra).toContain(isExact ? `{"huge":1${'0'.repeat(400)}}` : huge)
    expect(await extraOf('shops')).toContain(isExact ? '' : '"beyond":1e200000')
    const quarantined = (await rowsOf(warehouse, 'sync_quarantine')).filter(
      ({ resource }) => resource === 'shops',
    )
    expect(quarantined.map(({ value, reason }) => [value, reason])).toEqual(
      isExact ? [['1e200000', 'a number that numeric cannot hold: beyond']] : [],
    )
    await warehouse.close()
  })

  it('and the comparison field by field agrees, and another run finds nothing to write', async () => {
    const warehouse = await begin()
    const { deps, close } = await depsOf(sandbox, warehouse, { known })
    const { status } = await runVerify(deps, { tenants: null, resources }, { full: false, sample: 10 })
    await close()
    expect(status).toBe('equal')
    const again = await sync(sandbox, warehouse, { resources, mode: 'full' })
    expect(again.rows_upserted).toBe(0)
    await warehouse.close()
  })
})
