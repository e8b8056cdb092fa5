/**
 * A calendar of other rules or another version: the views stay as they were until it is filled again, wherever the
 * upgrade is interrupted.
 */
import { sql } from 'kysely'
import { describe, expect, it } from 'vitest'
import { make, prepareViews, refresh, viewRows } from '../../support/harness/views.js'
import {
  bothWarehouses,
  type Kind,
  migrate,
  reopen,
  type Warehouse,
} from '../../support/harness/warehouse.js'

const settings = { timeZone: 'America/Chicago' }
/** The last and the first hour of days, on both sides of a day of 25 hours. */
const hours = [
  '2024-11-03T04:30',
  '2024-11-03T05:30',
  '2024-11-04T05:30',
  '2024-11-04T06:30',
  '2025-07-01T00:00',
]

async function withAppointments(
  kind: Kind,
): Promise<{ warehouse: Warehouse; again: () => Promise<Warehouse> }> {
  const address = await kind.migrated()
  const warehouse = await reopen(address)
  await prepareViews(warehouse, settings)
  const stamps = { updated_at: '2026-01-01T00:00:00.000000Z', _synced_at: '2026-01-01T00:00:00.000000Z' }
  const rows = hours.map((at, i) => ({ ...stamps, tenant_id: 101, id: i + 1, start_at: `${at}:00.000000Z` }))
  await warehouse.db.insertInto('appointments').values(rows).execute()
  return { warehouse, again: () => reopen(address) }
}

const run = (warehouse: Warehouse, text: string): Promise<unknown> => {
  const named = text.replaceAll(/\{(\w+)\}/g, (_, name: string) => warehouse.dialect.views().sql.table(name))
  return sql.raw(named).execute(warehouse.db)
}

const old = ['report_utc_days', 'report_days', 'report_near_days']

/** The tables as such a version left them, with one of its views. */
async function asBefore(warehouse: Warehouse): Promise<void> {
  const store = warehouse.dialect.views()
  await run(warehouse, 'delete from {report_clocks}')
  // What it had and this version hasn't.
  for (const table of old) await run(warehouse, `create table {${table}} (zone text)`)
  const view = store.relation('appointment_load')
  await run(warehouse, `drop view ${view}`)
  await run(warehouse, `create view ${view} as select 'of before' as day`)
  const live = await store.live((query) => warehouse.db.executeQuery(query))
  const known = { appointment_load: { wanted: 'of before', made: live.get('appointment_load') } }
  await warehouse.db
    .updateTable('sync_meta')
    .set({ value: JSON.stringify(known) })
    .where('name', '=', store.memory)
    .execute()
  await run(warehouse, "update {sync_meta} set value = 'of before' where name in ('model', 'calendar')")
}

describe.each(bothWarehouses())('on $name', (kind) => {
  const ends = kind.name === 'sqlite' ? ['the tables', 'the calendar'] : ['the calendar']
  it.each(ends)('the days stay when it ends after %s', async (last) => {
    const { warehouse, again } = await withAppointments(kind)
    const daysIn = async (one: Warehouse) => (await viewRows(one, 'appointment_load')).map(({ day }) => day)
    const days = await daysIn(warehouse)
    expect(new Set(days)).toEqual(new Set(['2024-11-02', '2024-11-03', '2024-11-04', '2025-06-30']))
    await asBefore(warehouse)
    await warehouse.close()

    const cut = await again()
    await migrate(cut)
    expect(await make(cut, settings)).toEqual({ made: [], troubles: [], isPostponed: true })
    expect(await daysIn(cut)).toEqual(['of before'])
    if (last === 'the calendar') await refresh(cut, settings)
    await cut.close()

    const whole = await again()
    await migrate(whole)
    await make(whole, settings)
    await refresh(whole, settings)
    await make(whole, settings)
    expect(await daysIn(whole)).toEqual(days)
    for (const table of old) await expect(run(whole, `select * from {${table}}`)).rejects.toThrow(table)
  })
})
