/** The shops' own days: which zone a shop has, when its days begin, and that the warehouse and the program agree. */
import fc from 'fast-check'
import { DateTime } from 'luxon'
import { describe, expect, it } from 'vitest'
import { resources } from '../../../schema/index.js'
import { fromMicros } from '../../../src/engine/base/timestamp.js'
import { isTimeZone } from '../../../src/engine/config/timezone.js'
import { model } from '../../support/harness/model.js'
import { someOf } from '../../support/harness/size.js'
import {
  dayOf,
  daysOf,
  endDay,
  make,
  prepareViews,
  query,
  railsZones,
  refresh,
  shopTime,
  viewRows,
  zoneFinder,
  zoneNamed,
} from '../../support/harness/views.js'
import {
  bothWarehouses,
  minutesBetween,
  open,
  rowsOf,
  type Warehouse,
  warehouses,
} from '../../support/harness/warehouse.js'

const now = '2026-11-22T00:00:00Z'
const end = endDay(BigInt(Date.parse(now)) * 1000n)
const instant = (ms: number): string => fromMicros(BigInt(ms) * 1000n)

const zones = [
  ...['UTC', 'America/Chicago', 'Europe/Berlin', 'Asia/Kathmandu', 'Australia/Lord_Howe', 'Pacific/Apia'],
  ...['America/Sao_Paulo', 'Asia/Beirut', 'Africa/Casablanca'],
]

/** By luxon, and from when on until when there is a calendar. */
function luxons(zone: string, ms: number): [day: string | null, clock: string | null] {
  const there = DateTime.fromMillis(ms, { zone })
  const day = there.toISODate() ?? ''
  const isIn = day >= '1990-01-01' && day < '2037-01-01' && there.year < 10_000
  return isIn ? [day, there.toFormat('yyyy-MM-dd HH:mm:ss')] : [null, null]
}

/** Around each midnight of days. */
const around = (...days: readonly string[]): number[] =>
  days.flatMap((day) => Array.from({ length: 85 }, (_, half) => Date.parse(day) + (half - 30) * 18e5))

/** Some clock changes on these; in 2011, Apia had no December 30. */
const early = around('2010-11-07', '2011-03-27', '2011-04-02', '2011-10-15', '2011-10-30', '2011-12-29')
const late = around('2018-02-18', '2018-11-04', '2026-03-08', '2026-03-29', '2026-10-25', '2026-11-01')

/** Where a month begins, where the calendar and the indexes by UTC day begin and end, and far beyond. */
const edges = [
  ...['2012-03-01', '0002-01-01', '1989-12-30', '1989-12-31', '1990-01-01', '1990-01-01T06:00Z'],
  ...['2037-01-01', '2037-01-01T06:00Z', '2039-01-01', '2060-01-01', '9999-12-31'],
].map((day) => Date.parse(day))

const ours = (zone: string, ms: number) => {
  const time = shopTime(zone, instant(ms), end)
  return [time?.day ?? null, time?.local ?? null]
}

describe('the day of an instant', () => {
  it('matches luxon, also around changes of clocks, and where the calendar ends', () => {
    const [min, max] = ['1990-01-02', '2036-12-30'].map((day) => Date.parse(day))
    const any = fc.sample(fc.integer({ min: min!, max: max! }), 50)
    const instants = [...early, ...late, ...edges].flatMap((ms) => [ms - 1, ms]).concat(any)
    for (const zone of zones)
      expect(instants.map((ms) => [zone, ms, ...ours(zone, ms)])).toEqual(
        instants.map((ms) => [zone, ms, ...luxons(zone, ms)]),
      )
  })

  it('begins once, at the first time: 00:01 on November 7 was followed by 23:01 on the 6th', () => {
    const there = ['02:29:59.999999', '02:30:00.000000', '02:45:00.000000'].map((time) =>
      dayOf('America/St_Johns', `2010-11-07T${time}Z`, end),
    )
    expect(there).toEqual(['2010-11-06', '2010-11-07', '2010-11-07'])
  })

  it('begins and ends less than a day apart from a UTC day, wherever it is', () => {
    for (const zone of someOf(80, Intl.supportedValuesOf('timeZone')))
      for (const { first: number, days, start, end: last } of daysOf(zone).runs(7305, end)) {
        const isNear = Math.abs(start - number * 86_400) < 86_400
        // The next day may have been skipped.
        const endsInTime = last <= (number + days + 1) * 86_400
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

const stamps = { updated_at: instant(0), _synced_at: instant(0) }

type Appointment = typeof stamps & {
  readonly tenant_id: number
  readonly id: number
  readonly shop_id?: number
  readonly start_at: string | null
}

async function storeAppointments({ db }: Warehouse, rows: readonly Appointment[]): Promise<void> {
  for (let i = 0; i < rows.length; i += 100)
    await db
      .insertInto('appointments')
      .values(rows.slice(i, i + 100))
      .execute()
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
    const warehouse = await open(kind)
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
    const warehouse = await open(kind, promoted)
    await store(warehouse, [[101, 1, '{}']])
    const { db } = warehouse
    await db
      .updateTable('shops')
      .set({ time_zone: 'Europe/Berlin' } as never)
      .execute()
    await refresh(warehouse)
    expect(await zonesOf(warehouse)).toEqual([
      ['0/0', 'UTC', 'default'],
      ['101/1', 'Europe/Berlin', 'shop'],
    ])
  })

  it('the calendar has each day once and the clocks of each zone in use without a gap, and grows by itself', async () => {
    const warehouse = await open(kind)
    const clocksIn = async (zone: string) => {
      const rows = (await rowsOf(warehouse, 'report_clocks')).filter((row) => row.zone === zone)
      return rows.sort((a, b) => (String(a.from_at) < String(b.from_at) ? -1 : 1))
    }
    const settings = { timeZone: 'Pacific/Apia', shopTimeZones: { '101/3': 'UTC' } }
    await refresh(warehouse, settings)
    const days = await rowsOf(warehouse, 'report_calendar')
    expect(days).toHaveLength(end - 7305)
    const leap = days.find(({ day }) => day === '2024-02-29') ?? {}
    expect(Object.values(leap).join(' ')).toBe('19782 2024-02-29 2024-02-01 4')
    const [even, apia, usual] = [await clocksIn('UTC'), await clocksIn('Pacific/Apia'), await clocksIn('')]
    // A row for each month from 1990 to 2036, and the one that ends the last day.
    expect(even).toHaveLength(47 * 12 + 1)
    expect(usual).toEqual(apia.map((row) => ({ ...row, zone: '' })))
    for (const rows of [even, apia]) {
      expect(rows.slice(1).map(({ from_at }) => from_at)).toEqual(rows.slice(0, -1).map((row) => row.to_at))
      expect(rows.every(({ from_at, utc_month }) => String(from_at).startsWith(String(utc_month)))).toBe(true)
    }
    const { from_at, to_at, change, ...month } = apia.find(({ utc_month }) => utc_month === '2024-02') ?? {}
    expect([from_at, to_at, change]).toEqual([
      '2024-02-01T00:00:00.000000Z',
      '2024-03-01T00:00:00.000000Z',
      null,
    ])
    expect(Object.values(month).join(' ')).toBe('Pacific/Apia 2024-02 780 780')

    // The usual zone is another one, and later a year has passed.
    await refresh(warehouse, { ...settings, timeZone: 'UTC' })
    expect(await clocksIn('')).toEqual(even.map((row) => ({ ...row, zone: '' })))
    await refresh(warehouse, settings, '2027-01-01T00:00:00Z')
    expect(await rowsOf(warehouse, 'report_calendar')).toHaveLength(days.length + 365)
    expect(await clocksIn('UTC')).toHaveLength(even.length + 12)
  })

  it("a view's days match the program's, by the zone of the tenant's shop", async () => {
    const warehouse = await open(kind)
    // London has a day that begins with UTC's and ends an hour earlier.
    const own = { '101/1': 'Europe/London', '101/2': 'Pacific/Apia', '101/3': 'America/St_Johns' }
    const others = { '102/1': 'Asia/Kathmandu', '102/2': 'America/Sao_Paulo', '102/3': 'Australia/Lord_Howe' }
    const settings = { timeZone: 'America/Chicago', shopTimeZones: { ...own, ...others } }
    await prepareViews(warehouse, settings)
    const expected: string[] = []
    for (const [shop, zone] of Object.entries({ ...settings.shopTimeZones, '101/9': 'America/Chicago' })) {
      const [tenant_id = 0, shop_id = 0] = shop.split('/').map(Number)
      const instants = [null, ...[...early, ...edges].flatMap((ms) => [ms - 1, ms])]
      const rows = instants.map((ms, i) => {
        const [day, clock] = ms === null ? [] : ours(zone, ms)
        const id = shop_id * 10_000 + i
        expected.push(`${tenant_id} ${id} ${day ?? ''} ${clock ?? ''}`)
        return { ...stamps, tenant_id, id, shop_id, start_at: ms === null ? null : instant(ms) }
      })
      await storeAppointments(warehouse, rows)
    }
    const columns = 'tenant_id, appointment_id, day, start_at_local'
    const found = await query(warehouse, `select ${columns} from {appointment_load}`)
    expect(found.map((row) => Object.values(row).join(' ')).sort()).toEqual(expected.sort())
  })

  it.runIf(kind.name === 'sqlite')('a condition on days finds rows by their UTC day', async () => {
    const warehouse = await open(kind)
    await prepareViews(warehouse, { timeZone: 'America/Chicago', shopTimeZones: {} })
    const from = Date.parse('2024-01-01')
    const rows = Array.from({ length: 3000 }, (_, id) => {
      return { ...stamps, tenant_id: 101, id, shop_id: 1, start_at: instant(from + id * 6 * 36e5) }
    })
    await storeAppointments(warehouse, rows)
    // As far as a reader gets that was built without samples of values.
    for (const text of ['analyze appointments', 'delete from sqlite_stat4', 'analyze sqlite_schema'])
      await query(warehouse, text)
    const where = "tenant_id = 101 and day between '2025-06-01' and '2025-06-30'"
    for (const [view, days] of [
      ['appointment_load', 120],
      ['shop_days', 30],
    ]) {
      const text = `select count(*) as n from ${view} where ${where}`
      expect(await query(warehouse, text)).toEqual([{ n: days }])
      const plan = await query(warehouse, `explain query plan ${text}`)
      expect(plan.map(({ detail }) => detail).join('\n')).toMatch(
        /report_shifted_days_by_day \(day>\? AND day<\?\)(.|\n)*appointments_by_start_at_utc_day \(tenant_id=\? AND <expr>=\?\)/,
      )
    }
  })

  it.runIf(kind.name === 'sqlite')('no row is lost without a calendar', async () => {
    const warehouse = await open(kind)
    await make(warehouse)
    const rows = [null, '2025-06-01', '2037-06-01', '1066-10-14', '9999-12-31'].map((day, id) => {
      return { ...stamps, tenant_id: 101, id, start_at: day === null ? null : instant(Date.parse(day)) }
    })
    await storeAppointments(warehouse, rows)
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
      await expect(query(warehouse, change)).rejects.toThrow(/has to stay whole/)
    expect(await daysIn('appointment_load')).toHaveLength(rows.length)
    await refresh(warehouse, {}, '2027-01-01T00:00:00Z')
    expect(await daysIn('appointment_load')).toContainEqual(['2037-06-01', undefined])
    await query(warehouse, 'delete from report_clocks')
    expect(await daysIn('appointment_load')).toEqual(without)
  })

  it.runIf(kind.name === 'sqlite')('there is no view without all the days that it joins', async () => {
    const warehouse = await open(kind)
    // Somebody's own table, in which the days can't be.
    await query(warehouse, 'create table report_shifted_days (n integer)')
    await make(warehouse).catch(() => undefined)
    const made = (): Promise<unknown[]> =>
      query(warehouse, "select name from sqlite_schema where type = 'view'")
    expect(await made()).toEqual([])
    await query(warehouse, 'drop table report_shifted_days')
    await make(warehouse)
    expect(await made()).not.toEqual([])
  })

  test('an idle refresh writes nothing', async () => {
    const warehouse = await open(kind)
    const settings = { timeZone: 'Europe/Berlin', tenantNames: { '101': 'Main Street Auto', '102': 'Other' } }
    await refresh(warehouse, settings)
    const rows = (await rowsOf(warehouse, 'report_tenants')).map((row) => Object.values(row).join(' '))
    expect(rows).toEqual(['101 Main Street Auto', '102 Other'])
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
