/** A copy equals the original: every table, and every cursor's progress, on every kind of warehouse. */
import { beforeAll, describe, expect, it } from 'vitest'
import type { Sandbox } from '../../../src/sandbox/index.js'
import { Desk } from '../../support/harness/desk.js'
import type { Address } from '../../support/harness/place.js'
import { sync } from '../../support/harness/runs.js'
import { sandboxOfFile } from '../../support/harness/sandbox.js'
import { isWhole } from '../../support/harness/size.js'
import { bothWarehouses, lookAt, migrate, plannedChanges, reopen } from '../../support/harness/warehouse.js'
import { registersAgree } from '../../support/oracle/registers.js'
import {
  everything,
  fillRichly,
  look,
  oddTenant,
  rich,
  richSettings,
  sentHours,
} from '../../support/world/copying.js'

type Tables = Awaited<ReturnType<typeof everything>>
type Row = Record<string, unknown>

const deskOf = (sandbox: Sandbox, address: Address) =>
  new Desk(sandbox, address, 'all', { resources: richSettings })

/** Copies one warehouse into another, by the program. */
async function copyBy(sandbox: Sandbox, from: Address, to: Address) {
  const schema = to.url.startsWith('sqlite:') ? [] : ['--to-schema', to.schema]
  const ended = await deskOf(sandbox, from).done('copy --json --to', to.url, ...schema)
  return ended.json<{ tables: { table: string; equal: boolean }[] }>()
}

/** What `migrate` would change. */
const lacking = (address: Address): Promise<unknown> => lookAt(address, plannedChanges, rich)

describe.each(bothWarehouses())('from $name', (kind) => {
  const from = kind.address()
  let original: Tables
  let sandbox: Sandbox
  beforeAll(async () => {
    sandbox = await sandboxOfFile({ tenants: 1, repairOrders: 6, seed: 3, until: '2026-01-01T00:00:00Z' })
    const warehouse = await reopen(from, rich)
    await migrate(warehouse)
    await fillRichly(sandbox, warehouse)
    // A copy leaves out who was forgotten, as the original does.
    const { db } = warehouse
    const forgotten_at = '2026-01-01T00:00:00.000000Z'
    const gone = {
      tenant_id: oddTenant,
      resource: 'notes',
      record_id: 999_999,
      state: 'hidden',
      since: forgotten_at,
    }
    await warehouse.write([
      db.insertInto('sync_forgotten').values({ tenant_id: 902, forgotten_at }).compile(),
      db.insertInto('sync_forgotten_records').values(gone).compile(),
    ])
    original = await everything(warehouse)
    await warehouse.close()
  })

  it('contains a bit of everything', () => {
    const filled = Object.keys(original).filter((name) => original[name]?.length)
    for (const name of ['walk_parts', 'quarantine', 'columns', 'registers', 'forgotten', 'forgotten_records'])
      expect(filled).toContain(`sync_${name}`)
    expect(filled).toContain('notes_history')
    expect(original.notes).toContainEqual(expect.objectContaining({ _deleted_at: expect.any(String) }))
    expect(original.vehicles).toContainEqual(expect.objectContaining({ vin: '1FTFW', miles: 12.5 }))
  })

  it.each(bothWarehouses())('to $name: every table is the same', async (other) => {
    const [to, again] = [other.address(), kind.address()]
    const report = await copyBy(sandbox, from, to)
    const isLossy = kind.name === 'postgres' && other.name === 'sqlite'
    expect(report).toMatchObject({
      status: 'ok',
      resumed: false,
      left_out: [],
      quarantined: isLossy ? lost.length : 0,
    })
    expect(report.tables.filter(({ equal }) => !equal)).toEqual([])
    expect(await lacking(to)).toEqual([])
    const copied = await look(to)
    expect(Object.keys(copied)).toEqual(Object.keys(original))
    for (const [name, rows] of Object.entries(copied))
      if (!isLossy || !changedByLoss.has(name)) expect(rows, name).toEqual(original[name])
    if (isLossy) expectLosses(original, copied)
    expect(await look(from)).toEqual(original)
    // The way back into Postgres is that from Postgres to Postgres.
    const isKnown = other === kind || (kind.name === 'postgres' && !isWhole())
    if (isKnown) return
    const returned = await copyBy(sandbox, to, again)
    expect(returned).toMatchObject({ status: 'ok', quarantined: 0 })
    for (const [name, rows] of Object.entries(await look(again))) expect(rows, name).toEqual(copied[name])
    await expectGoesOn(sandbox, to, copied)
  })
})

/** The hours that a double can't represent. */
const lost = [0, 3]
const changedByLoss = new Set(['repair_order_labors', 'sync_quarantine'])

function expectLosses(original: Tables, copied: Tables): void {
  const hoursOf = ({ repair_order_labors = [] }: Tables): unknown[] =>
    repair_order_labors.filter(({ tenant_id }) => tenant_id === oddTenant).map(({ hours }) => hours)
  expect(hoursOf(copied)).toEqual(hoursOf(original).map((hours, i) => (lost.includes(i) ? null : hours)))
  const known = original.sync_quarantine ?? []
  const isNew = (row: Row): boolean =>
    !known.some(({ path, record_id }) => path === row.path && record_id === row.record_id)
  const added = (copied.sync_quarantine ?? []).filter(isNew)
  expect(added).toMatchObject([
    {
      tenant_id: oddTenant,
      resource: 'repair_orders',
      record_id: '6',
      path: 'services[1].labors[0].hours',
      value: sentHours[0],
      reason: 'a number that a double cannot hold',
    },
    { path: 'services[1].labors[3].hours', value: `1${'0'.repeat(400)}` },
  ])
  expect(copied.sync_quarantine).toHaveLength(known.length + 2)
}

/** The next sync continues where the original stopped, and the source has nothing that the copy lacks. */
async function expectGoesOn(sandbox: Sandbox, address: Address, copied: Tables): Promise<void> {
  const warehouse = await reopen(address, rich)
  const notices: [string, Record<string, unknown>][] = []
  const report = await sync(sandbox, warehouse, { known: rich, notices })
  expect(notices.map(([message]) => message)).toContain('Resuming a walk')
  const begun = new Set(
    (copied.sync_cursors ?? []).flatMap((row) => (row.watermark ? [`${row.tenant_id} ${row.resource}`] : [])),
  )
  const idle = report.cursors.filter(({ tenant_id, resource }) => begun.has(`${tenant_id} ${resource}`))
  expect(idle.length).toBeGreaterThan(20)
  expect(idle.map(({ requests }) => requests)).toEqual(idle.map(() => 1))
  expect(new Set(idle.map(({ completeness }) => completeness))).toEqual(new Set(['proven']))
  await registersAgree(warehouse, 20)
  await warehouse.close()
  expect((await deskOf(sandbox, address).done('verify --json')).json()).toMatchObject({ status: 'equal' })
}
