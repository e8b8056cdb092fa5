/** Numbers too small for a double are held as exactly as the warehouse can, and verify finds no difference in them. */
import { sql } from 'kysely'
import { beforeAll, describe, expect, it } from 'vitest'
import { runVerify } from '../../../src/features/reconcile/verifywork.js'
import { template } from '../../../src/sandbox/index.js'
import { depsOf, sync } from '../../support/harness/runs.js'
import { sandboxOfFile } from '../../support/harness/sandbox.js'
import { bothWarehouses, open } from '../../support/harness/warehouse.js'

const sandbox = await sandboxOfFile()
const resources = ['repair_orders', 'vehicles']
const small = [
  '4.9e-324',
  '1e-400',
  '-1e-400',
  '0.0',
  '-0.0',
  '2.4703282292062327e-324',
  '1e-15000',
  `0.${'0'.repeat(330)}7`,
]
const labors = small.map((hours, i) => `{"id":${i + 1},"hours":${hours},"name":${hours}}`)

/** Without an exponent, and without zeros at the end. */
function plainly(token: string): string {
  const [, sign = '', mantissa = '', exponent = '0'] = /^(-?)([\d.]+)(?:e(.*))?$/.exec(token) ?? []
  const [whole = '', fraction = ''] = mantissa.split('.')
  const digits = `${whole}${fraction}`.padStart(1 - Number(exponent) + fraction.length, '0')
  const places = fraction.length - Number(exponent)
  const text = `${digits.slice(0, digits.length - places)}.${digits.slice(digits.length - places)}`
  const trimmed = text.replace(/\.?0*$/, '')
  return trimmed === '0' ? '0' : `${sign}${trimmed}`
}

beforeAll(() => {
  sandbox.store.addTenant({ id: 1 })
  for (const resource of resources)
    sandbox.store.put(1, resource, template(resource, 1, '2026-02-01T00:00:00.000000Z'))
  sandbox.script([
    {
      when: { resource: 'repair_orders' },
      fault: { kind: 'alter', path: 'services', raw: `[{"id":1,"labors":[${labors.join(',')}]}]` },
    },
    {
      when: { resource: 'vehicles' },
      fault: { kind: 'alter', path: 'odd', raw: `[${small.join(',')},{"deep":1e-400}]` },
    },
  ])
})

describe.each(bothWarehouses())('$name', (kind) => {
  it('verify --sample finds them equal, and finds a real difference among them', async () => {
    const warehouse = await open(kind)
    expect(await sync(sandbox, warehouse, { resources })).toMatchObject({ status: 'ok' })
    const isExact = kind.name === 'postgres'
    const text = isExact ? sql<string>`trim_scale(hours)::text` : sql<string>`hours`
    const rows = await warehouse.db
      .selectFrom('repair_order_labors')
      .select(text.as('hours'))
      .orderBy('id')
      .execute()
    // As a database prints them, without trailing zeros. A double has no room for most of them.
    if (isExact) expect(rows.map(({ hours }) => hours)).toEqual(small.map(plainly))
    else expect(rows.map(({ hours }) => Number(hours) + 0)).toEqual(small.map((token) => Number(token) + 0))
    const verify = async () => {
      const { deps, close } = await depsOf(sandbox, warehouse)
      const report = await runVerify(deps, { tenants: null, resources }, { full: false, sample: 5 })
      await close()
      return report
    }
    expect((await verify()).status).toBe('equal')
    await warehouse.db.updateTable('repair_order_labors').set({ hours: 2 }).where('id', '=', 2).execute()
    const differs = await verify()
    expect(differs.cursors.flatMap(({ differences = [] }) => differences)).toMatchObject([
      { table: 'repair_order_labors', row: '1/2', column: 'hours', warehouse: 2 },
    ])
    await warehouse.close()
  })
})
