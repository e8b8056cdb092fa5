/** The shops' own days: which zone a shop has, when its days begin, and that the warehouse and the program agree. */
import fc from 'fast-check'
import { sql } from 'kysely'
import { DateTime } from 'luxon'
import { afterAll, describe, expect, it } from 'vitest'
import { resources } from '../../../schema/index.js'
import appointmentLoad from '../../../schema/views/appointment_load.js'
import { fromMicros } from '../../../src/engine/base/timestamp.js'
import { isTimeZone } from '../../../src/engine/config/timezone.js'
import { model } from '../../support/harness/model.js'
import { known } from '../../support/harness/runs.js'
import { someOf } from '../../support/harness/size.js'
import {
  dayOf,
  daysOf,
  endDay,
  localOf,
  make,
  prepareViews,
  railsZones,
  refresh,
  viewRows,
  viewText,
  zoneFinder,
  zoneNamed,
} from '../../support/harness/views.js'
import {
  bothWarehouses,
  type Kind,
  minutesBetween,
  open,
  rowsOf,
  type Warehouse,
  warehouses,
} from '../../support/harness/warehouse.js'

const now = '2026-11-22T00:00:00Z'
const end = endDay(BigInt(Date.parse(now)) * 1000n)
const instant = (ms: number): string => fromMicros(BigInt(ms) * 1000n)

describe('the day of an instant', () => {
  const zones = [
    ...['UTC', 'America/Chicago', 'Europe/Berlin', 'Asia/Kathmandu', 'Australia/Lord_Howe', 'Pacific/Apia'],
    ...['America/Sao_Paulo', 'Asia/Beirut', 'Africa/Casablanca'],
  ]
  const ours = (zone: string, ms: number) => [dayOf(zone, instant(ms), end), localOf(zone, instant(ms), end)]
  const luxons = (zone: string, ms: number) => {
    const there = DateTime.fromMillis(ms, { zone })
    return [there.toISODate(), there.toFormat('yyyy-MM-dd HH:mm:ss')]
  }

  it('matches luxon', () => {
    const from = Date.parse('1990-01-02T00:00:00Z')
    const until = Date.parse('2036-12-30T00:00:00Z')
    fc.assert(
      fc.property(fc.constantFrom(...zones), fc.integer({ min: from, max: until }), (zone, ms) => {
        expect(ours(zone, ms)).toEqual(luxons(zone, ms))
      }),
      { numRuns: 500 },
    )
  })

  it('matches luxon around each midnight of days on which clocks change', () => {
    const days = [
      '2026-03-08',
      '2026-11-01',
      '2026-03-29',
      '2026-10-25',
      '2018-11-04',
      '2018-02-18',
      '2011-12-31',
    ]
    for (const zone of zones) {
      const instants = days.flatMap((day) =>
        Array.from({ length: 85 }, (_, half) => Date.parse(`${day}T00:00:00Z`) + (half - 30) * 18e5),
      )
      const around = instants.flatMap((ms) => [ms - 1, ms])
      expect(around.map((ms) => [zone, ms, ...ours(zone, ms)])).toEqual(
        around.map((ms) => [zone, ms, ...luxons(zone, ms)]),
      )
    }
  })

  it.each([
    ['America/Chicago', '1990-01-01T05:59:59.999999Z', null],
    ['America/Chicago', '1990-01-01T06:00:00.000000Z', '1990-01-01'],
    ['America/Chicago', '2037-01-01T05:59:59.999999Z', '2036-12-31'],
    ['America/Chicago', '2037-01-01T06:00:00.000000Z', null],
    ['UTC', '0001-01-01T00:00:00.000000Z', null],
    ['UTC', '9999-12-31T00:00:00.000000Z', null],
    // 00:01 on November 7 was followed by 23:01 on the 6th: the day begins once, at the first time.
    ['America/St_Johns', '2010-11-07T02:29:59.999999Z', '2010-11-06'],
    ['America/St_Johns', '2010-11-07T02:30:00.000000Z', '2010-11-07'],
    ['America/St_Johns', '2010-11-07T02:45:00.000000Z', '2010-11-07'],
  ])('in %s at %s is %s', (zone, at, day) => {
    expect(dayOf(zone, at, end)).toBe(day)
    expect(localOf(zone, at, end) === null).toBe(day === null)
  })

  it('begins and ends less than a day apart from a UTC day, wherever it is', () => {
    const dayMs = 864e5
    const first = Date.parse('1990-01-01') / dayMs
    for (const zone of someOf(80, Intl.supportedValuesOf('timeZone')))
      for (const { first: number, days, start, end: last } of daysOf(zone).runs(first, end)) {
        const isNear = Math.abs(start - number * 86_400) < 86_400
        // The next day may have been skipped.
        const endsInTime = last - (number + days + 1) * 86_400 <= 0
        if (!isNear || !endsInTime)
          expect([zone, number, isNear, endsInTime]).toEqual([zone, number, true, true])
      }
  })
})

it('minutes between two instants are rounded down, also before 1970 and across years', () => {
  const micros = fc.bigInt({ min: -(10n ** 16n), max: 10n ** 17n })
  const minute = 60_000_000n
  fc.assert(
    fc.property(micros, micros, (from, to) => {
      const exact = to - from
      const down = (exact - (((exact % minute) + minute) % minute)) / minute
      expect(minutesBetween(fromMicros(from), fromMicros(to))).toBe(Number(down))
    }),
    { numRuns: 1000 },
  )
})

it('zones have names of the IANA list, and for APIs that send them, those of Rails', () => {
  const isOne = ['UTC', 'America/Chicago', 'Europe/Berlin', 'Asia/Kathmandu', 'US/Central', 'CST6CDT']
  const isNone = ['UTC-6', 'UTC+01:00', 'GMT-5', '-06:00', 'EST', 'CST', 'america/chicago', 'Chicago', '']
  expect([...isOne, ...isNone].filter(isTimeZone)).toEqual(isOne)
  expect(Object.values(railsZones).filter((zone) => !isTimeZone(zone))).toEqual([])
  expect(['Central Time (US & Canada)', ' Kathmandu ', 'constructor'].map(zoneNamed)).toEqual([
    'America/Chicago',
    'Asia/Kathmandu',
    undefined,
  ])
})

const opened: Warehouse[] = []
afterAll(() => Promise.all(opened.map((warehouse) => warehouse.close())))
/** Each its own: making views changes what a kept one may not. */
async function fresh(kind: Kind, of = known): Promise<Warehouse> {
  opened.push(await open(kind, of))
  return opened.at(-1) as Warehouse
}

const zonesOf = async (warehouse: Warehouse): Promise<unknown[]> =>
  (await rowsOf(warehouse, 'report_zones')).map(({ tenant_id, shop_id, zone, origin }) => [
    `${tenant_id}/${shop_id}`,
    zone,
    origin,
  ])

/** Two tenants with colliding ids. */
const shops = [
  [101, 1, '{"time_zone":"Central Time (US & Canada)"}'],
  [101, 2, '{"time_zone":"UTC-6"}'],
  [101, 3, '{"time_zone":"Europe/Berlin"}'],
  [101, 4, '{"name":"None"}'],
  [102, 1, '{"time_zone":"Asia/Kathmandu"}'],
] as const

/** Appointments of those shops, before and at the start of days on which some clock changes. */
function appointmentsAt(zones: Readonly<Record<string, string>>) {
  const stamps = { updated_at: instant(0), _synced_at: instant(0) }
  const instants = [
    '2010-11-07',
    '2011-03-27',
    '2011-04-02',
    '2011-10-15',
    '2011-10-30',
    '2011-12-29',
  ].flatMap((from) => Array.from({ length: 24 * 2 * 2 }, (_, half) => Date.parse(from) + half * 18e5))
  // Where a month begins, where the calendar and the indexes by UTC day begin and end, and far beyond.
  const edges = [
    '2012-03-01',
    '0002-01-01',
    '1989-12-30',
    '1989-12-31',
    '1990-01-01',
    '2039-01-01',
    '2060-01-01',
    '9999-12-31',
  ]
  const all = [...instants, ...edges.map((day) => Date.parse(day))].flatMap((ms) => [ms - 1, ms])
  return Object.entries(zones).flatMap(([shop, zone]) => {
    const [tenant_id = 0, shop_id = 0] = shop.split('/').map(Number)
    return [null, ...all.map(instant)].map((start_at, i) => ({
      ...stamps,
      tenant_id,
      id: shop_id * 10_000 + i,
      shop_id,
      start_at,
      day: start_at === null ? null : dayOf(zone, start_at, end),
      local: start_at === null ? null : localOf(zone, start_at, end),
    }))
  })
}

const store = ({ db }: Warehouse, rows: typeof shops | readonly (readonly [number, number, string])[]) =>
  Promise.all(
    rows.map(([tenant_id, id, extra]) =>
      db
        .insertInto('shops')
        .values({ tenant_id, id, updated_at: instant(0), _synced_at: instant(0), _extra: extra })
        .onConflict((c) => c.columns(['tenant_id', 'id']).doUpdateSet({ _extra: extra }))
        .execute(),
    ),
  )

describe.each(bothWarehouses())('in $name', (kind) => {
  /** For what is above the dialects. */
  const test = it.runIf(warehouses().includes(kind))
  it('a shop has the configured zone, else its own, else the default', async () => {
    const warehouse = await fresh(kind)
    await store(warehouse, shops)
    const settings = {
      timeZone: 'America/Denver',
      shopTimeZones: { '101/3': 'UTC', '103/9': 'UTC' },
    }
    const first = await refresh(warehouse, settings)
    const all = [
      ['0/0', 'America/Denver', 'default'],
      ['101/1', 'America/Chicago', 'shop'],
      ['101/2', 'America/Denver', 'unknown'],
      ['101/3', 'UTC', 'configuration'],
      ['102/1', 'Asia/Kathmandu', 'shop'],
      ['103/9', 'UTC', 'configuration'],
    ]
    expect(await zonesOf(warehouse)).toEqual(all)
    expect(first.changed).toHaveLength(6)
    const find = zoneFinder(first.zones)
    expect([find(101, 1), find(102, 1), find(101, 4), find(7, null)]).toEqual([
      'America/Chicago',
      'Asia/Kathmandu',
      'America/Denver',
      'America/Denver',
    ])
    expect((await refresh(warehouse, settings)).changed).toEqual([])

    // Only what changes is reported: those orders have other days from now on.
    await store(warehouse, [
      [101, 1, '{"time_zone":"Europe/Berlin"}'],
      [102, 1, '{}'],
    ])
    const { changed } = await refresh(warehouse, { ...settings, timeZone: 'UTC' })
    const told = changed.map(({ tenantId, shopId }) => `${tenantId}/${shopId}`).sort()
    expect(told).toEqual(['0/0', '101/1', '101/2', '102/1'])
  })

  test('the zone is read from a configured column', async () => {
    const promoted = model(resources, { shops: { columns: { time_zone: 'text' } } })
    const warehouse = await fresh(kind, promoted)
    await store(warehouse, [[101, 1, '{}']])
    const { db } = warehouse
    await db
      .updateTable('shops')
      .set({ time_zone: 'Europe/Berlin' } as never)
      .execute()
    await refresh(warehouse, {}, { model: promoted })
    expect(await zonesOf(warehouse)).toEqual([
      ['0/0', 'UTC', 'default'],
      ['101/1', 'Europe/Berlin', 'shop'],
    ])
  })

  it('the calendar has each day once and the clocks of each zone in use without a gap, and grows by itself', async () => {
    const warehouse = await fresh(kind)
    const clocksIn = async (zone: string) => {
      const rows = (await rowsOf(warehouse, 'report_clocks')).filter((row) => row.zone === zone)
      return rows.sort((a, b) => (String(a.from_at) < String(b.from_at) ? -1 : 1))
    }
    const settings = { timeZone: 'Pacific/Apia', shopTimeZones: { '101/3': 'UTC' } }
    await refresh(warehouse, settings)
    const days = await rowsOf(warehouse, 'report_days')
    expect(days).toHaveLength(end - 7305)
    expect(days.find(({ day }) => day === '2024-02-29')).toEqual({
      zone: 'UTC',
      from_at: '2024-02-29T00:00:00.000000Z',
      day: '2024-02-29',
      month: '2024-02-01',
      day_number: 19_782,
      weekday: 4,
    })
    const [even, apia, usual] = [await clocksIn('UTC'), await clocksIn('Pacific/Apia'), await clocksIn('')]
    // A row for each month from 1990 to 2036, and the one that ends the last day.
    expect(even).toHaveLength(47 * 12 + 1)
    expect(usual).toEqual(apia.map((row) => ({ ...row, zone: '' })))
    for (const rows of [even, apia]) {
      expect(rows.slice(1).map(({ from_at }) => from_at)).toEqual(rows.slice(0, -1).map((row) => row.to_at))
      expect(rows.every(({ from_at, utc_month }) => String(from_at).startsWith(String(utc_month)))).toBe(true)
    }
    expect(apia.find(({ utc_month }) => utc_month === '2024-02')).toEqual({
      zone: 'Pacific/Apia',
      utc_month: '2024-02',
      from_at: '2024-02-01T00:00:00.000000Z',
      to_at: '2024-03-01T00:00:00.000000Z',
      clock_minutes: 780,
      day_minutes: 780,
      day_before: '2024-01-31',
      last_day: '2024-02-29',
      day_after: '2024-03-01',
      change: null,
    })

    // The usual zone is another one, and later a year has passed.
    await refresh(warehouse, { ...settings, timeZone: 'UTC' })
    expect(await clocksIn('')).toEqual(even.map((row) => ({ ...row, zone: '' })))
    await refresh(warehouse, settings, { now: '2027-01-01T00:00:00Z' })
    expect(await rowsOf(warehouse, 'report_days')).toHaveLength(days.length + 365)
    expect(await clocksIn('UTC')).toHaveLength(even.length + 12)
  })

  it("a view's days match the program's, and each part of the join is needed", async () => {
    const warehouse = await fresh(kind)
    // London has a day that begins with UTC's and ends an hour earlier; the same shop of another tenant is elsewhere.
    const shopZones = { '101/1': 'Europe/London', '101/2': 'Pacific/Apia', '101/3': 'America/St_Johns' }
    const others = { '102/1': 'Asia/Kathmandu', '102/2': 'America/Sao_Paulo', '102/3': 'Australia/Lord_Howe' }
    const settings = { timeZone: 'America/Chicago', shopTimeZones: { ...shopZones, ...others } }
    await prepareViews(warehouse, settings)
    const rows = appointmentsAt({ ...settings.shopTimeZones, '101/9': 'America/Chicago' })
    for (let i = 0; i < rows.length; i += 100)
      await warehouse.db
        .insertInto('appointments')
        .values(rows.slice(i, i + 100).map(({ day: _, local: _local, ...row }) => row))
        .execute()
    const { query: text } = viewText(appointmentLoad, warehouse.dialect.views().sql, {
      model: known,
      unlisted: 'keep',
    })
    const daysOf = async (query: string): Promise<unknown[]> => {
      const all = await sql
        .raw(`select v.tenant_id, v.appointment_id, v.day, v.start_at_local from (${query}) v`)
        .execute(warehouse.db)
      return all.rows.map((row) => Object.values(row as object).join(' ')).sort()
    }
    const right = rows
      .map(({ tenant_id, id, day, local }) => `${tenant_id} ${id} ${day ?? ''} ${local ?? ''}`)
      .sort()
    expect(await daysOf(text)).toEqual(right)
    const parts: Readonly<Record<string, [RegExp, string][]>> = {
      sqlite: [
        [/d_clock\.zone = (?=coalesce)/, "'UTC' = "],
        [/d_clock\.from_at <= a\.start_at/, 'true'],
        [/d_clock\.to_at > a\.start_at/, 'true'],
        [/d\.utc_day = /, "d.utc_day = '2011-10-30' and '2011-10-30' = "],
        [/(?<=d\.shift = .*)d_clock\.day_minutes\) < 0 then -1/, '0) < 0 then -1'],
        [/, 9\)(?=\s+left join| left join)/, ', 1)'],
        [/a\.start_at >= '1989-12-30'/, 'true'],
        [/a\.start_at < '2060-01-03'/, 'true'],
        [/d_clock\.day_before/, "''"],
        [/d_clock\.last_day/, "'2011-10-30'"],
      ],
      postgres: [
        [/d_clock\.zone = (?=coalesce)/, "'UTC' = "],
        [/d_clock\.day_minutes\[/, 'd_clock.clock_minutes['],
        [/d_clock\.clock_minutes\[/, 'd_clock.day_minutes['],
      ],
    }
    const both: [RegExp, string][] = [[/d_zone\.tenant_id = a\.tenant_id and/, '']]
    for (const [part, without] of someOf(3, [...both, ...(parts[kind.name] ?? [])])) {
      expect(text).toMatch(part)
      expect([part, await daysOf(text.replace(part, without))]).not.toEqual([part, right])
    }
  })

  it.runIf(kind.name === 'sqlite')('a condition on days finds rows by their UTC day', async () => {
    const warehouse = await fresh(kind)
    await prepareViews(warehouse, { timeZone: 'America/Chicago', shopTimeZones: {} })
    const rows = Array.from({ length: 3000 }, (_, id) => ({
      tenant_id: 101,
      id,
      shop_id: 1,
      start_at: instant(Date.parse('2024-01-01') + id * 6 * 36e5),
      updated_at: instant(0),
      _synced_at: instant(0),
    }))
    for (let i = 0; i < rows.length; i += 100)
      await warehouse.db
        .insertInto('appointments')
        .values(rows.slice(i, i + 100))
        .execute()
    // As far as a reader gets that was built without samples of values.
    await sql.raw('analyze appointments').execute(warehouse.db)
    await sql.raw('delete from sqlite_stat4').execute(warehouse.db)
    await sql.raw('analyze sqlite_schema').execute(warehouse.db)
    const where = "tenant_id = 101 and day between '2025-06-01' and '2025-06-30'"
    for (const [view, days] of [
      ['appointment_load', 120],
      ['shop_days', 30],
    ]) {
      const query = `select count(*) as n from ${view} where ${where}`
      const { rows: found } = await sql.raw<{ n: number }>(query).execute(warehouse.db)
      expect(found).toEqual([{ n: days }])
      const plan = await sql.raw<{ detail: string }>(`explain query plan ${query}`).execute(warehouse.db)
      expect(plan.rows.map(({ detail }) => detail).join('\n')).toMatch(
        /report_shifted_days_by_day \(day>\? AND day<\?\)(.|\n)*appointments_by_start_at_utc_day \(tenant_id=\? AND <expr>=\?\)/,
      )
    }
  })

  it.runIf(kind.name === 'sqlite')('no row is lost without a calendar', async () => {
    const warehouse = await fresh(kind)
    await make(warehouse)
    const rows = [null, '2025-06-01', '1066-10-14', '9999-12-31'].map((day, id) => ({
      updated_at: instant(0),
      _synced_at: instant(0),
      tenant_id: 101,
      id,
      start_at: day === null ? null : instant(Date.parse(day)),
    }))
    await warehouse.db.insertInto('appointments').values(rows).execute()
    const daysIn = async (view: string): Promise<unknown[]> =>
      (await viewRows(warehouse, view)).map((row) => [row.day, row.appointments_kept_left_out])
    const without = rows.map(() => [null, undefined])
    expect(await daysIn('appointment_load')).toEqual(without)
    expect(await daysIn('shop_days')).toEqual([[null, rows.length]])

    // With one, and after somebody tried to empty what the views join.
    await refresh(warehouse)
    const [one, ...others] = [['2025-06-01', undefined], ...without.slice(1)]
    expect(await daysIn('appointment_load')).toEqual(expect.arrayContaining([one, ...others]))
    for (const change of ['delete from report_shifted_days', "update report_shifted_days set utc_day = ''"])
      await expect(sql.raw(change).execute(warehouse.db)).rejects.toThrow(/has to stay whole/)
    expect(await daysIn('appointment_load')).toHaveLength(rows.length)
    await sql`delete from report_clocks`.execute(warehouse.db)
    expect(await daysIn('appointment_load')).toEqual(without)
  })

  it.runIf(kind.name === 'sqlite')('there is no view without all the days that it joins', async () => {
    const warehouse = await fresh(kind)
    // Somebody's own table, in which the days can't be.
    await sql`create table report_shifted_days (n integer)`.execute(warehouse.db)
    await make(warehouse).catch(() => undefined)
    const views = sql`select name from sqlite_schema where type = 'view'`
    expect((await views.execute(warehouse.db)).rows).toEqual([])
    await sql`drop table report_shifted_days`.execute(warehouse.db)
    await make(warehouse)
    expect((await views.execute(warehouse.db)).rows).not.toEqual([])
  })

  test('an idle refresh writes nothing', async () => {
    const warehouse = await fresh(kind)
    const settings = { timeZone: 'Europe/Berlin', tenantNames: { '101': 'Main Street Auto', '102': 'Other' } }
    await refresh(warehouse, settings)
    expect(await rowsOf(warehouse, 'report_tenants')).toMatchObject([
      { tenant_id: 101, name: 'Main Street Auto' },
      { tenant_id: 102, name: 'Other' },
    ])
    let writes = 0
    const watched = new Proxy(warehouse, {
      get: (target, name) => {
        if (name === 'write') writes++
        const value = Reflect.get(target, name) as unknown
        return typeof value === 'function' ? value.bind(target) : value
      },
    })
    await refresh(watched, settings)
    expect(writes).toBe(0)
    await refresh(watched, { ...settings, tenantNames: { '101': 'Main Street Auto' } })
    expect(writes).toBe(1)
    expect(await rowsOf(warehouse, 'report_tenants')).toHaveLength(1)
  })
})
