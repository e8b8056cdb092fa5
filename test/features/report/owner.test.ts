/**
 * The beginning of the owner's page, from a synced sandbox: each number is what a query on the views gives, written here
 * without the report's own code.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { sql } from 'kysely'
import { beforeAll, describe, expect, it } from 'vitest'
import { systemClock } from '../../../src/engine/base/clock.js'
import type { ReportData, ReportScope } from '../../../src/features/report/data.js'
import type { ReportOptions } from '../../../src/features/report/read/opening.js'
import { readReport } from '../../../src/features/report/read/read.js'
import type { TaskList } from '../../../src/features/report/tasklist.js'
import { shopsync } from '../../support/harness/call.js'
import { configure } from '../../support/harness/place.js'
import { sandboxOfFile } from '../../support/harness/sandbox.js'
import { scratch } from '../../support/harness/scratch.js'
import { type Kind, reopen, type Warehouse, warehouses } from '../../support/harness/warehouse.js'

const sandbox = await sandboxOfFile({
  tenants: [
    { id: 101, shops: 2, repairOrders: 220 },
    { id: 102, shops: 1, repairOrders: 70 },
  ],
  seed: 7,
})

const dayMs = 86_400_000
const later = (day: string, days: number): string =>
  new Date(Date.parse(day) + days * dayMs).toISOString().slice(0, 10)
const todayIn = (timeZone: string, at: number): string =>
  new Intl.DateTimeFormat('en-CA', { timeZone, dateStyle: 'short' }).format(at)

describe.each(warehouses())('$name', (kind: Kind) => {
  const address = kind.address()
  const views = kind.name === 'sqlite' ? '' : `${address.schema}_analytics.`
  let warehouse: Warehouse
  let data: ReportData
  let config = ''
  let nowMicros = 0n
  let options: ReportOptions

  type Row = Readonly<Record<string, unknown>>
  async function rows(query: string): Promise<Row[]> {
    const { db } = warehouse.dialect.views(undefined)
    return (await sql.raw<Row>(query.replaceAll('@', views)).execute(db)).rows
  }
  const number = async (query: string): Promise<number> => Number((await rows(query))[0]?.n ?? 0)

  beforeAll(async () => {
    config = configure(sandbox, address, [], {
      sync: { resources: 'all' },
      report: { timeZone: 'America/Chicago', waitingForParts: [' waiting FOR parts'] },
    })
    expect((await shopsync(['sync', '--config', config])).code).toBe(0)
    warehouse = await reopen(address)
    nowMicros = systemClock.nowMicros()
    options = {
      ...{ warehouse, label: 'the warehouse', schema: undefined, tenants: null, nowMicros },
      source: { baseUrl: sandbox.url, partnerId: sandbox.partnerId },
      ...{ timeZone: 'America/Chicago', staleAfterMs: 3_600_000, deletesUncheckedAfterMs: 3_600_000 },
      ...{ contacts: true, waitingForParts: [' waiting FOR parts'] },
    }
    data = await readReport(options)
    return () => warehouse.close()
  })

  const scope = (id: string, of = data): ReportScope => {
    const found = of.scopes.find((one) => one.id === id)
    if (!found) throw new Error(`no scope ${id}`)
    return found
  }
  const list = (id: TaskList['id'], of = 'all'): TaskList => {
    const found = scope(of).tasks.find((one) => one.id === id)
    if (!found) throw new Error(`no list ${id}`)
    return found
  }

  it('begins with the last day on which a shop was open, next to the same weekday a week before', async () => {
    const zones = await rows('select distinct time_zone from @dim_shops')
    const todays = zones.map(({ time_zone }) => todayIn(String(time_zone), Number(nowMicros / 1000n)))
    const [today = ''] = todays.sort()
    const [last] = await rows(
      `select max(cast(day as text)) as day from @shop_days where is_open_day and cast(day as text) < '${today}'`,
    )
    const { period } = scope('all').day!
    expect(period.from).toBe(String(last?.day))
    expect(period.compared[0]?.from).toBe(later(period.from, -7))
    for (const id of ['all', '101', 'shop-101-1']) {
      const where = (day: string, column = 'day') =>
        `cast(${column} as text) = '${day}'${id === 'all' ? '' : id === '101' ? ' and tenant_id = 101' : " and shop_key = '101-1'"}`
      const { amounts, comparisons } = scope(id).day!
      const value = (name: string) => amounts.get(name)?.numerator ?? 0
      const sum = (column: string, view: string, day: string, more = '', on = 'day') =>
        number(`select coalesce(sum(${column}), 0) as n from @${view} where ${where(day, on)}${more}`)
      expect(value('sales_cents')).toBe(await sum('sales_cents', 'daily_sales', period.from))
      expect(value('cars')).toBe(
        await number(
          `select count(distinct vehicle_key) as n from @orders where state = 'invoice' and ${where(period.from, 'closed_on')}`,
        ),
      )
      const paid = (more = '') => sum('amount_cents', 'payments_ledger', period.from, more, 'paid_on')
      expect(value('collected_cents')).toBe(await paid())
      expect(value('deposits_cents')).toBe(await paid(' and is_deposit'))
      const before = comparisons[0]?.before.get('sales_cents')?.numerator ?? 0
      expect(before).toBe(await sum('sales_cents', 'daily_sales', later(period.from, -7)))
    }
  })

  it('counts what is to be done, and lists it with names', async () => {
    const shops = await rows('select shop_key, time_zone from @dim_shops')
    const at = Number(nowMicros / 1000n)
    const today = shops
      .map(
        ({ shop_key, time_zone }) =>
          `(shop_key = '${shop_key}' and DAY = '${todayIn(String(time_zone), at)}')`,
      )
      .join(' or ')
    const on = (column: string): string => `(${today.replaceAll('DAY', `cast(${column} as text)`)})`
    const since = later(new Date(at).toISOString().slice(0, 10), -90)
    const isRecent = `cast(recommended_on as text) >= '${since}'`
    const unpaid = `receivables r join ${views}orders o on o.repair_order_key = r.repair_order_key
      where r.is_owed and o.picked_up_at is not null`
    const expected: [TaskList['id'], string, string][] = [
      ['appointments', 'count(*)', `appointment_load where ${on('day')}`],
      ['pick-ups', 'count(*)', `orders where state <> 'estimate' and ${on('due_out_on')}`],
      ['late', 'count(*)', 'work_in_progress where is_late'],
      ['waiting for parts', 'count(*)', "work_in_progress where status_name = 'Waiting for parts'"],
      ['unpaid', 'count(*)', unpaid],
      ['overdue', 'count(*)', 'receivables where days > 30 and balance_cents > 0'],
      ['approved unsold', 'count(*)', `recommendation_conversion where is_approved_unsold and ${isRecent}`],
      ['to sell', 'count(*)', `recommendation_conversion where is_to_sell and ${isRecent}`],
    ]
    for (const [id, what, from] of expected)
      expect([id, list(id).count]).toEqual([id, await number(`select ${what} as n from @${from}`)])
    expect(list('unpaid').cents).toBe(
      await number(`select coalesce(sum(r.balance_cents), 0) as n from @${unpaid}`),
    )
    expect(list('to sell').cents).toBe(
      await number(
        `select coalesce(sum(value_cents), 0) as n from @recommendation_conversion where is_to_sell and ${isRecent}`,
      ),
    )
    const counted = scope('all').tasks.map(({ count }) => count)
    // On a Sunday, there are neither appointments nor promised pick-ups.
    expect(counted.filter((count) => count > 0).length).toBeGreaterThan(3)
    // The parts add up, and each list shows the most urgent ones of all its shops.
    for (const { id, count, tasks } of scope('all').tasks) {
      expect(list(id, '101').count + list(id, '102').count).toBe(count)
      expect(list(id, 'shop-101-1').count + list(id, 'shop-101-2').count).toBe(list(id, '101').count)
      const cents = tasks.map((task) => task.cents ?? 0)
      if (id === 'to sell' || id === 'overdue') expect(cents).toEqual([...cents].sort((a, b) => b - a))
    }
    for (const task of list('unpaid').tasks.slice(0, 5)) {
      const [order] = await rows(
        `select o.customer_name, o.advisor_name, o.technician_name, o.status_name, c.phone, c.email
        from @orders o join @dim_customers c on c.customer_key = o.customer_key
        where o.number = ${task.order} and o.balance_cents ${task.cents === null ? 'is null' : `= ${task.cents}`}`,
      )
      const {
        customer,
        advisor,
        technician,
        status,
        contacts: [phone, email],
      } = task
      expect({
        ...{ customer_name: customer, advisor_name: advisor, technician_name: technician },
        ...{ status_name: status, phone, email },
      }).toEqual(order)
    }
  })

  it('projects the month from the open days of each shop', async () => {
    const end = scope('all').day!.period.from
    const month = end.slice(0, 7)
    const first = `${month}-01`
    const open = await rows(
      `select shop_key, cast(day as text) as day, sales_cents from @shop_days where is_open_day and cast(day as text) >= '${later(end, -40)}'`,
    )
    const begun = await rows(
      'select shop_key, cast(first_day as text) as first_day from @dim_shops where first_day is not null',
    )
    const { completeDay, projection } = { completeDay: later(end, 1), projection: scope('all').projection }
    // Only if yesterday was open does the last open day end the complete days.
    const told = await number(
      `select count(*) as n from @shop_days where is_open_day and cast(day as text) = '${end}'`,
    )
    expect(told).toBeGreaterThan(0)
    const next = new Date(Date.UTC(Number(month.slice(0, 4)), Number(month.slice(5)), 1))
      .toISOString()
      .slice(0, 10)
    const today = todayIn('America/Phoenix', Number(nowMicros / 1000n))
    if (today !== completeDay || !projection) return
    let cents = 0
    for (const { shop_key, first_day } of begun) {
      const days = open
        .filter((row) => row.shop_key === shop_key && String(row.day) < completeDay)
        .map(({ day }) => String(day))
      const own = days.filter((day) => day >= first)
      const sold = await number(
        `select coalesce(sum(sales_cents), 0) as n from @daily_sales where shop_key = '${shop_key}' and cast(day as text) >= '${first}' and cast(day as text) < '${completeDay}'`,
      )
      const from = [String(first_day), later(completeDay, -28)].sort()[1]!
      let coming = 0
      for (let day = completeDay; day < next; day = later(day, 1)) {
        const weekday = (of: string) => new Date(of).getUTCDay() === new Date(day).getUTCDay()
        let times = 0
        for (let one = from; one < completeDay; one = later(one, 1)) if (weekday(one)) times++
        const opened = days.filter((one) => one >= from && weekday(one)).length
        if (opened > 0 && 2 * opened >= times) coming++
      }
      cents += sold + (own.length === 0 ? 0 : (sold / own.length) * coming)
    }
    expect(projection.all.cents).toBe(Math.round(cents))
  })

  it('names a business by what its shops have in common, unless the configuration does', () => {
    const named = sandbox.store.all(101, 'shops').map(({ name }) => String(name))
    const title = scope('101').title
    expect(title).not.toMatch(/^tenant /)
    expect(named.length).toBeGreaterThan(1)
    for (const name of named) expect(name.startsWith(title.replace(/ \(101\)$/, ''))).toBe(true)
  })

  it('shows phones and addresses only with report.contacts, and bears that there are none', async () => {
    const [first] = await rows(
      "select phone, email from @dim_customers where phone is not null and email <> '' limit 1",
    )
    expect(first).toBeDefined()
    const phones = new Set(
      (await rows('select phone from @dim_customers where phone is not null')).map(({ phone }) => phone),
    )
    const shown = (of: ReportData) => of.scopes.flatMap(({ tasks }) => tasks.flatMap((one) => one.tasks))
    expect(shown(data).some(({ contacts: [phone] }) => phone)).toBe(true)
    for (const {
      contacts: [phone],
    } of shown(data))
      if (phone) expect(phones.has(phone)).toBe(true)
    const silent = await readReport({ ...options, contacts: false, waitingForParts: [] })
    expect(shown(silent).flatMap(({ contacts }) => contacts)).toEqual([])
    expect(scope('all', silent).tasks.map(({ id }) => id)).not.toContain('waiting for parts')
    const pageOf = async (contacts: boolean): Promise<string> => {
      const file = join(scratch(), 'report.html')
      const own = join(scratch(), 'config.json')
      const document = JSON.parse(readFileSync(config, 'utf8')) as { report: object }
      writeFileSync(own, JSON.stringify({ ...document, report: { ...document.report, contacts } }), {
        mode: 0o600,
      })
      expect((await shopsync(['report', '--out', file, '--config', own])).code).toBe(0)
      return readFileSync(file, 'utf8')
    }
    expect((await pageOf(true)).includes('>phone</th>')).toBe(true)
    expect((await pageOf(false)).includes('>phone</th>')).toBe(false)
    // A warehouse whose customers have neither.
    const { db } = warehouse
    await sql
      .raw(`delete from ${kind.name === 'sqlite' ? '' : `${address.schema}.`}customer_phones`)
      .execute(db)
    await sql
      .raw(
        `update ${kind.name === 'sqlite' ? '' : `${address.schema}.`}customers set phone = null, email = null`,
      )
      .execute(db)
    expect((await pageOf(true)).includes('>phone</th>')).toBe(false)
  })
})
