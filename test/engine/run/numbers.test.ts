/**
 * Numbers arrive as they were sent: with every digit if the warehouse can hold it, as the token in text or JSON, and in
 * quarantine if neither can hold them.
 */
import { sql } from 'kysely'
import { beforeAll, describe, expect, it } from 'vitest'
import { template } from '../../../src/sandbox/index.js'
import { verify } from '../../support/harness/commands.js'
import { sync } from '../../support/harness/runs.js'
import { sandboxOfFile } from '../../support/harness/sandbox.js'
import { bothWarehouses, open, rowsOf, type Warehouse } from '../../support/harness/warehouse.js'

const sandbox = await sandboxOfFile()
const resources = ['repair_orders', 'vehicles', 'shops']
/** Those that no double holds, not even nearly. */
const lost = ['123456789012345.123456', '1e400']
const sentHours = [
  ...lost,
  ...['33.33333333333333333333', '0.30000000000000004', '12345678.12345678901', '1.50'],
  // Too small for a double.
  ...['4.9e-324', '1e-400', '-1e-400', '0.0', '-0.0', '2.4703282292062327e-324', '1e-15000'],
  `0.${'0'.repeat(330)}7`,
]
const sentNames = ['1.10', '1e5', '9007199254740993', '-0', '7', '1.0', ...sentHours.slice(6)]
const labors = sentHours.map((hours, i) => `{"id":${i + 1},"hours":${hours},"name":${sentNames[i]}}`)
const odd =
  '{"price":1.10,"long":0.1000000000000000055511151231257827,"deep":[1.0,{"x":12345678901234567890}]}'

/**
 * JSON that each resource's newest record sends exactly like this: the sandbox prints its own numbers as JavaScript
 * does.
 */
const sent: readonly (readonly [resource: string, path: string, raw: string])[] = [
  ['repair_orders', 'services', `[{"id":1,"labors":[${labors.join(',')}]}]`],
  ['vehicles', 'odd', `[${odd},{"huge":1e400},{"deep":1e-400}]`],
  ['shops', 'beyond', '1e200000'],
]

/** Without an exponent, and without zeros at the end. */
function plainly(token: string): string {
  const [, sign = '', whole = '', fraction = '', exponent = '0'] =
    /^(-?)(\d+)(?:\.(\d+))?(?:e(.*))?$/.exec(token) ?? []
  const point = whole.length + Number(exponent)
  const digits = `${'0'.repeat(Math.max(0, 1 - point))}${whole}${fraction}`.padEnd(point, '0')
  const at = Math.max(point, 1)
  const text = `${digits.slice(0, at)}.${digits.slice(at)}`.replace(/\.?0*$/, '')
  return text === '0' ? '0' : `${sign}${text}`
}

beforeAll(() => {
  sandbox.store.addTenant({ id: 1 })
  for (const resource of resources)
    sandbox.store.put(1, resource, template(resource, 1, '2026-02-01T00:00:00.000000Z'))
  sandbox.script(
    sent.map(([resource, path, raw]) => ({ when: { resource }, fault: { kind: 'alter', path, raw } })),
  )
})

describe.each(bothWarehouses())('$name', (kind) => {
  const isExact = kind.name === 'postgres'
  let warehouse: Warehouse
  beforeAll(async () => {
    warehouse = await open(kind)
    expect(await sync(sandbox, warehouse, { resources })).toMatchObject({ status: 'ok' })
  })
  const quarantined = async (resource: string) =>
    (await rowsOf(warehouse, 'sync_quarantine')).filter((row) => row.resource === resource)

  it('in columns of numbers and of text', async () => {
    const text = isExact ? sql<string>`trim_scale(hours)::text` : sql<string>`hours`
    const labors = warehouse.db.selectFrom('repair_order_labors').select(['name', text.as('hours')])
    const rows = await labors.orderBy('id').execute()
    const hours = rows.map((row) => row.hours)
    // As a database prints them. A double has no room for most of them.
    if (isExact) expect(hours).toEqual(sentHours.map(plainly))
    else {
      const held = sentHours.map((token) => (lost.includes(token) ? null : Number(token) + 0))
      expect(hours.map((value) => (value === null ? null : Number(value) + 0))).toEqual(held)
    }
    expect(rows.map(({ name }) => name)).toEqual(sentNames)
    const told = (await quarantined('repair_orders')).map(({ path, value }) => [path, value])
    const missing = lost.map((token, i) => [`services[0].labors[${i}].hours`, token])
    expect(told).toEqual(isExact ? [] : missing)
  })

  it('in _extra', async () => {
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
      isExact ? `{"huge":1${'0'.repeat(400)}}` : '{"huge":1e400}',
    ])
      expect(extra).toContain(part)
    expect(await extraOf('shops')).toContain(isExact ? '' : '"beyond":1e200000')
    const told = (await quarantined('shops')).map(({ value, reason }) => [value, reason])
    expect(told).toEqual(isExact ? [['1e200000', 'a number that numeric cannot hold: beyond']] : [])
  })

  it('and another run finds nothing to write, and the comparison field by field no difference but a real one', async () => {
    const again = await sync(sandbox, warehouse, { resources, mode: 'full' })
    expect(again.rows_upserted).toBe(0)
    expect((await verify(sandbox, warehouse, { resources, sample: 10 })).status).toBe('equal')
    await warehouse.db.updateTable('repair_order_labors').set({ hours: 2 }).where('id', '=', 8).execute()
    const { cursors } = await verify(sandbox, warehouse, { resources, sample: 10 })
    expect(cursors.flatMap(({ differences = [] }) => differences)).toMatchObject([
      { table: 'repair_order_labors', row: '1/8', column: 'hours', warehouse: 2 },
    ])
  })
})
