/**
 * The numbers of a report, from a synced sandbox: each is what a query on the views gives, written here without the report's
 * own code. The views themselves are compared with the oracle of the business elsewhere.
 */
import { randomBytes } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { sql } from 'kysely'
import { beforeAll, describe, expect, it } from 'vitest'
import { shopsync } from '../../support/harness/call.js'
import { configure } from '../../support/harness/place.js'
import { sandboxOfFile } from '../../support/harness/sandbox.js'
import { scratch } from '../../support/harness/scratch.js'
import { type Kind, reopen, type Warehouse, warehouses } from '../../support/harness/warehouse.js'
import { type Made, makeReport, numberOf } from './reportpage.js'

/** A business of two years, and one that opened recently. */
const sandbox = await sandboxOfFile({
  tenants: [
    { id: 101, shops: 2, repairOrders: 450, technicians: 1 },
    { id: 102, shops: 1, repairOrders: 120, technicians: 1 },
  ],
  seed: 7,
})

const dayMs = 86_400_000
const dayOf = (at: number): string => new Date(at).toISOString().slice(0, 10)
const later = (day: string, days: number): string => dayOf(Date.parse(day) + days * dayMs)
const todayIn = (timeZone: string): string =>
  new Intl.DateTimeFormat('en-CA', { timeZone, dateStyle: 'short' }).format(Date.now())
/** `2026-10` of `Oct 2026` and `October 2026`. */
const monthOf = (text: string): string => later(`${text.replace(' ', ' 1 ')} UTC`, 0).slice(0, 7)
const monthBefore = (month: string): string => later(`${month}-01`, -1).slice(0, 7)
const dollars = (cents: number): string =>
  `$${Math.round(cents / 100).toLocaleString('en-US')}`.replace('$-', '−$')

describe.each(warehouses())('$name', (kind: Kind) => {
  const address = kind.address()
  const views = kind.name === 'sqlite' ? '' : `${address.schema}_analytics.`
  const settings = { timeZone: 'America/Chicago', waitingForParts: [' waiting FOR parts'] }
  let warehouse: Warehouse
  let config = ''
  let made: Made

  type Row = Readonly<Record<string, unknown>>
  /** Views are written with an @. */
  async function rows(query: string): Promise<Row[]> {
    const { db } = warehouse.dialect.views(undefined)
    return (await sql.raw<Row>(query.replaceAll('@', views)).execute(db)).rows
  }
  const of = async (query: string): Promise<number> =>
    Number(Object.values((await rows(query))[0] ?? {})[0] ?? 0)

  beforeAll(async () => {
    config = configure(sandbox, address, [], {
      sync: { resources: 'all' },
      report: { ...settings, contacts: true },
    })
    const synced = await shopsync(['sync', '--config', config])
    expect(synced.code, synced.stderr).toBe(0)
    warehouse = await reopen(address)
    made = await makeReport(config)
    return () => warehouse.close()
  })

  const table = (id: string): Map<string, string[]> => made.page.rows(id)
  /** The sum of columns. */
  const sumOf = (id: string, from: number, to = from + 1): number =>
    [...table(id).values()]
      .flatMap((cells) => cells.slice(from, to))
      .reduce((sum, cell) => sum + numberOf(cell), 0)

  it('has the figures of shop_months in its months, to the cent', async () => {
    expect(table('all-sales').size).toBeGreaterThan(1)
    for (const [head, cells] of table('all-sales')) {
      const sum = (column: string) =>
        of(`select sum(${column}) from @shop_months where month = '${monthOf(head)}'`)
      // Gross profit, margin, invoices; the shops are before them.
      const sold = cells.slice(0, -3).reduce((all, cell) => all + Math.round(100 * numberOf(cell)), 0)
      const margin = (100 * (await sum('gross_margin_numerator'))) / (await sum('gross_margin_denominator'))
      const [profit, percent, invoices] = cells.slice(-3).map(numberOf)
      expect([head, sold, profit, percent, invoices]).toEqual([
        ...[head, await sum('sales_cents'), (await sum('gross_profit_cents')) / 100],
        ...[Number(margin.toFixed(1)), await sum('invoices')],
      ])
    }
    const own = [...table('101-sales').values()].flatMap((cells) => cells.slice(0, -3))
    const sold = own.reduce((all, cell) => all + Math.round(100 * numberOf(cell)), 0)
    expect(sold).toBe(await of('select sum(sales_cents) from @shop_months where tenant_id = 101'))
  })

  it('answers for the last month, compared with the one before for the shops that were open in both', async () => {
    const { facts, answer } = made.page.card('all-month-last-month')
    expect(made.answers.get('month')).toMatchObject({ answer })
    const last = monthOf(answer.split(':')[0] ?? '')
    const before = monthBefore(last)
    const ofMonth = (month: string, column: string, more = '') =>
      of(`select sum(${column}) from @shop_months where month = '${month}' ${more}`)
    const value = (label: string) => facts.get(label)?.[0]
    expect(value('Sales')).toBe(dollars(await ofMonth(last, 'sales_cents')))
    expect(value('Gross profit')).toBe(dollars(await ofMonth(last, 'gross_profit_cents')))
    const [cents, orders] = ['numerator', 'denominator'].map((part) =>
      ofMonth(last, `average_repair_order_${part}`),
    )
    expect(value('Average repair order')).toBe(dollars((await cents!) / (await orders!)))
    const same = `and shop_key in (select shop_key from @shop_months where month = '${before}' and cast(first_day as text) <= '${before}-03')`
    const [now, earlier] = [
      await ofMonth(last, 'sales_cents', same),
      await ofMonth(before, 'sales_cents', same),
    ]
    const change = (100 * (now - earlier)) / earlier
    const words = `${Math.abs(change).toFixed(1)}% ${change > 0 ? 'above' : 'below'} the month before`
    // Whether a shop of the sandbox was open for two whole months depends on today's date.
    if (earlier === 0) expect(answer).not.toContain('the month before')
    else expect(answer).toContain(words.startsWith('0.0') ? 'the same as the month before' : words)
  })

  it('has the counts and sums of the views in its other figures', async () => {
    const bucket = "from @receivables where bucket = '0 to 30' and balance_cents > 0"
    const [open] = [...table('all-receivables').values()]
    expect(open?.slice(0, 2)).toEqual([
      dollars(await of(`select sum(balance_cents) ${bucket}`)),
      String(await of(`select count(*) ${bucket}`)),
    ])
    for (const name of ['active', 'lapsing', 'lost'])
      expect([name, numberOf(table('all-standing').get(name)?.[0])]).toEqual([
        ...[name, await of(`select count(*) from @customer_value where standing = '${name}'`)],
      ])
    const advice = 'select count(*) from @recommendation_conversion'
    const unsold = await of(`${advice} where decision = 'approved' and is_approved_unsold`)
    const counted = await of(`${advice} where decision = 'approved' or imported or sold_later`)
    expect([
      sumOf('all-recommendations', 0, 5),
      sumOf('all-recommendations', 0, 3),
      sumOf('all-recommendations', 2),
    ]).toEqual([...[await of(advice), counted, unsold]])
    expect(unsold).toBeGreaterThan(0)
    const checked = await of(
      'select sum(equal_to_the_cent + off_by_rounding + off_by_more) from @totals_check',
    )
    expect(made.page.html.includes(`of ${checked.toLocaleString('en-US')} paid invoices`)).toBe(true)
  })

  it.each([
    ['all-advisors-last-month', 'gross_profit_cents', 'orders'],
    ['all-categories-last-month', 'sales_cents', 'service_totals'],
  ])('ranks by what adds up: %s', async (id, column, view) => {
    const month = monthOf(made.page.title(id).split(', ').at(-1) ?? '')
    const all = await of(
      `select sum(${column}) from @${view} where state = 'invoice' and cast(closed_on as text) like '${month}-%'`,
    )
    // Each line is in whole dollars.
    expect(Math.abs(sumOf(id, 0) - all / 100)).toBeLessThan(12)
  })

  it.each([
    ['all', ''],
    ['101', ' and tenant_id = 101'],
    ['shop-101-1', " and shop_key = '101-1'"],
  ])(
    'begins with the last day on which a shop was open, next to the same weekday before: %s',
    async (scope, where) => {
      const zones = await rows('select distinct time_zone from @dim_shops')
      const [today = ''] = zones.map(({ time_zone }) => todayIn(String(time_zone))).sort()
      const [last] = await rows(
        `select max(cast(day as text)) as day from @shop_days where is_open_day and cast(day as text) < '${today}'`,
      )
      const day = String(last?.day)
      const on = (date: string, column: string) => `cast(${column} as text) = '${date}'${where}`
      const sum = (what: string, view: string, date: string, column = 'day', more = '') =>
        of(`select coalesce(${what}, 0) from @${view} where ${on(date, column)}${more}`)
      const { answer, facts } = made.page.card(`${scope}-yesterday`)
      expect(later(`${answer.split(':')[0]?.replace(/^\w+, /, '')} UTC`, 0)).toBe(day)
      const sold = await sum('sum(sales_cents)', 'daily_sales', day)
      const shown = ['Sales', 'Cars', 'Collected', 'Deposits'].map((label) => facts.get(label)?.[0])
      expect(shown).toEqual([
        dollars(sold),
        String(
          await sum('count(distinct vehicle_key)', 'orders', day, 'closed_on', " and state = 'invoice'"),
        ),
        dollars(await sum('sum(amount_cents)', 'payments_ledger', day, 'paid_on')),
        dollars(await sum('sum(amount_cents)', 'payments_ledger', day, 'paid_on', ' and is_deposit')),
      ])
      const before = await sum('sum(sales_cents)', 'daily_sales', later(day, -7))
      const trend = facts.get('Sales')?.find((text) => text.includes(' vs. '))
      if (before > 0 && sold > 0)
        expect(Math.abs(numberOf(/([+−\d.]+)%/.exec(trend ?? '')?.[1]))).toBeCloseTo(
          Math.abs((100 * (sold - before)) / before),
          1,
        )
    },
  )

  it('counts what is to be done, and lists it with names, the most urgent first', async () => {
    const shops = await rows('select shop_key, time_zone from @dim_shops')
    const today = (column: string): string =>
      shops
        .map(
          ({ shop_key, time_zone }) =>
            `(shop_key = '${shop_key}' and cast(${column} as text) = '${todayIn(String(time_zone))}')`,
        )
        .join(' or ')
    const recent = `cast(recommended_on as text) >= '${later(dayOf(Date.now()), -90)}'`
    const unpaid = `receivables r join ${views}orders o on o.repair_order_key = r.repair_order_key where r.is_owed and o.picked_up_at is not null`
    const { facts } = made.page.card('all-today')
    const fact = (label: string, i: number): number =>
      numberOf(/[\d,]+/.exec(facts.get(label)?.[i] ?? '0')?.[0])
    const count = (from: string) => of(`select count(*) from @${from}`)
    const late = await count('work_in_progress where is_late')
    const shown = {
      appointments: fact('Appointments', 0),
      promised: fact('Promised pick-ups', 0),
      late: fact('Late', 0),
      parts: fact('Waiting for parts', 0),
      unpaid: fact('Picked up and unpaid', 1),
      overdue: fact('Overdue', 1),
      toSell: fact('Still to sell', 0),
    }
    expect(shown).toEqual({
      appointments: await count(`appointment_load where ${today('day')}`),
      promised: await count(`orders where state <> 'estimate' and (${today('due_out_on')})`),
      late,
      parts: await count("work_in_progress where status_name = 'Waiting for parts'"),
      unpaid: await count(unpaid),
      overdue: await count('receivables where days > 30 and balance_cents > 0'),
      toSell: await count(`recommendation_conversion where is_to_sell and ${recent}`),
    })
    // On a Sunday, there are neither appointments nor promised pick-ups.
    expect(Object.values(shown).filter((one) => one > 0).length).toBeGreaterThan(2)
    expect(facts.get('Picked up and unpaid')?.[0]).toBe(
      dollars(await of(`select sum(r.balance_cents) from @${unpaid}`)),
    )
    // The parts add up.
    const lateIn = (scope: string): number =>
      numberOf(made.page.card(`${scope}-today`).facts.get('Late')?.[0]?.split(' ')[0])
    expect([lateIn('101') + lateIn('102'), lateIn('shop-101-1') + lateIn('shop-101-2')]).toEqual([
      late,
      lateIn('101'),
    ])
    for (const id of ['all-to-sell', 'all-overdue']) {
      const amounts = made.page.column(id, 'amount').map(numberOf)
      expect(amounts).toEqual([...amounts].sort((a, b) => b - a))
    }
    const [heads = [], ...listed] = made.page.table('all-unpaid')
    const columns = {
      customer: 'customer_name',
      advisor: 'advisor_name',
      technician: 'technician_name',
      status: 'status_name',
      phone: 'phone',
      email: 'email',
    }
    for (const line of listed.slice(0, 5)) {
      const shown = Object.keys(columns).map((head) => line[heads.indexOf(head)]?.replace('–', ''))
      const found = await rows(
        `select ${Object.values(columns).join(', ')} from @orders o join @dim_customers c on c.customer_key = o.customer_key where o.number = ${line[0]}`,
      )
      expect(found.map((row) => Object.values(columns).map((name) => row[name] ?? ''))).toContainEqual(shown)
    }
  })

  it('projects the month from the open days of each shop', async () => {
    const yesterday = made.page.card('all-yesterday')
    const end = later(later(`${yesterday.answer.split(':')[0]?.replace(/^\w+, /, '')} UTC`, 0), 1)
    const projected = yesterday.facts.get('Projected for the month')
    const first = `${later(end, -1).slice(0, 7)}-01`
    // Only if a shop was open yesterday does the last open day end the complete days.
    if (projected === undefined || end !== todayIn('America/Phoenix')) return
    const next = later(first, 31).slice(0, 7)
    const open = await rows(
      `select shop_key, cast(day as text) as day from @shop_days where is_open_day and cast(day as text) >= '${later(end, -40)}' and cast(day as text) < '${end}'`,
    )
    let cents = 0
    for (const { shop_key, first_day } of await rows(
      'select shop_key, cast(first_day as text) as first_day from @dim_shops where first_day is not null',
    )) {
      const days = open.filter((row) => row.shop_key === shop_key).map(({ day }) => String(day))
      const sold = await of(
        `select coalesce(sum(sales_cents), 0) from @daily_sales where shop_key = '${shop_key}' and cast(day as text) >= '${first}' and cast(day as text) < '${end}'`,
      )
      const from = [String(first_day), later(end, -28)].sort()[1]!
      let coming = 0
      for (let day = end; day < `${next}-01`; day = later(day, 1)) {
        const isAlike = (one: string) => new Date(one).getUTCDay() === new Date(day).getUTCDay()
        let times = 0
        for (let one = from; one < end; one = later(one, 1)) if (isAlike(one)) times++
        const opened = days.filter((one) => one >= from && isAlike(one)).length
        if (opened > 0 && 2 * opened >= times) coming++
      }
      const own = days.filter((day) => day >= first).length
      cents += sold + (own === 0 ? 0 : (sold / own) * coming)
    }
    expect(projected[0]).toBe(`≈ ${dollars(cents)}`)
  })

  it('shows phones and addresses only with report.contacts, and bears that there are none', async () => {
    const schema = kind.name === 'sqlite' ? '' : `${address.schema}.`
    const phones = (await rows('select phone from @dim_customers where phone is not null')).map(
      ({ phone }) => phone,
    )
    const shown = made.page.ids('all-').filter((id) => made.page.table(id)[0]?.includes('phone'))
    expect(shown.length).toBeGreaterThan(1)
    for (const phone of shown.flatMap((id) => made.page.column(id, 'phone')))
      expect(['–', ...phones]).toContain(phone)
    const silent = configure(sandbox, address, [], {
      sync: { resources: 'all' },
      report: { timeZone: 'America/Chicago' },
    })
    const without = (await makeReport(silent, '--tenant', '102')).page
    expect(without.html.includes('>phone</th>')).toBe(false)
    expect(without.has('all-waiting-for-parts')).toBe(false)
    await sql.raw(`delete from ${schema}customer_phones`).execute(warehouse.db)
    await sql.raw(`update ${schema}customers set phone = null, email = null`).execute(warehouse.db)
    const none = (await makeReport(config, '--tenant', '102')).page
    expect(none.html.includes('>phone</th>')).toBe(false)
  })

  it.runIf(kind.name === 'postgres')(
    'tells a role that lacks a right which one it needs, and no more',
    async () => {
      const role = `reads_${randomBytes(4).toString('hex')}`
      const file = join(scratch(), 'config.json')
      const url = new URL(address.url)
      url.username = role
      const document = JSON.parse(readFileSync(config, 'utf8')) as { warehouse: object }
      writeFileSync(
        file,
        JSON.stringify({ ...document, warehouse: { ...document.warehouse, url: url.href } }),
        { mode: 0o600 },
      )
      const does = (words: string) => sql.raw(words).execute(warehouse.db)
      const tried = () => shopsync(['report', '--out', join(scratch(), 'r.html'), '--config', file])
      await does(`create role ${role} login`)
      try {
        const refused = await tried()
        expect(refused.code).toBe(3)
        const [, grants = ''] = /needs: (.*)/.exec(refused.stderr) ?? []
        expect(grants).not.toMatch(/create|insert|update/i)
        for (const grant of grants.split('; ')) await does(grant.replace('ROLE', role))
        const allowed = await tried()
        expect(allowed.code, allowed.stderr).toBe(0)
      } finally {
        await does(`drop owned by ${role}; drop role ${role}`)
      }
    },
  )
})
