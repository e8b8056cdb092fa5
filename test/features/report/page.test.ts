/**
 * The report of two lifelike businesses: its page, complete in one file, and its numbers, each of which is what a query on the
 * views gives. The views themselves are compared with the oracle of the business elsewhere.
 */
import { randomBytes } from 'node:crypto'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { sql } from 'kysely'
import { beforeAll, describe, expect, it } from 'vitest'
import { done, shopsync } from '../../support/harness/call.js'
import { configure } from '../../support/harness/place.js'
import { sandboxOfFile } from '../../support/harness/sandbox.js'
import { scratch } from '../../support/harness/scratch.js'
import { type Kind, reopen, type Warehouse, warehouses } from '../../support/harness/warehouse.js'
import { order, stamps } from '../../support/world/handmade.js'
import { itIs, makeReport, numberOf, type Page } from './reportpage.js'

/** A Wednesday, on which it is day in every zone of the shops: they were open yesterday. */
const today = '2026-11-18'
itIs(`${today}T20:00:00Z`)

/** A business of two years, and one that opened recently. */
const sandbox = await sandboxOfFile({
  tenants: [
    { id: 101, shops: 2, repairOrders: 450, technicians: 1 },
    { id: 102, shops: 1, repairOrders: 120, technicians: 1 },
  ],
  seed: 7,
})
const { store } = sandbox

/** Two customers who came long ago. */
for (const [id, closed] of [
  [9001, '2025-01-14T17:00:00Z'],
  [9002, '2026-02-10T17:00:00Z'],
] as const) {
  store.put(101, 'customers', { id, ...stamps(closed), first_name: 'Ann' })
  store.put(101, 'repair_orders', order(id, closed, { customer_id: id, vehicle_id: id, ...stamps(closed) }))
}

/** People and places have names that a page must not take for its own words. */
const evil = '</script><script>alert("x")</script><img src=x onerror=alert(1)>&'
const named = {
  shops: 'name',
  customers: 'last_name',
  staffs: 'last_name',
  recommendations: 'description',
  appointments: 'title',
  statuses: 'name',
}
for (const [resource, field] of Object.entries(named))
  for (const [i, id] of store.ids(101, resource).entries())
    store.change(101, resource, id, { [field]: `${evil} ${i}` })

/** There are more technicians than lines. */
for (const { id, services } of store.all(101, 'repair_orders'))
  store.change(101, 'repair_orders', id, {
    services: (services as { labors: object[] }[]).map((service) => ({
      ...service,
      labors: service.labors.map((labor) => ({ ...labor, technician_id: 200 + (id % 14) })),
    })),
  })

const dayMs = 86_400_000
const later = (day: string, days: number): string =>
  new Date(Date.parse(day) + days * dayMs).toISOString().slice(0, 10)
/** `2026-10` of `Oct 2026` and `October 2026`. */
const monthOf = (text: string): string => later(`${text.replace(' ', ' 1 ')} UTC`, 0).slice(0, 7)
const dollars = (cents: number): string =>
  `$${Math.round(cents / 100).toLocaleString('en-US')}`.replace('$-', '−$')

describe.each(warehouses())('$name', (kind: Kind) => {
  const report = {
    timeZone: 'America/Chicago',
    waitingForParts: [` ${evil.toUpperCase()} 0`],
    tenantNames: { 101: evil },
  }
  let views = ''
  let warehouse: Warehouse
  let address: Awaited<ReturnType<Kind['viewed']>>
  let page: Page
  let answered: unknown
  const configured = (settings: object): string =>
    configure(sandbox, address, [], { sync: { resources: 'all' }, report: settings })

  type Row = Readonly<Record<string, unknown>>
  /** Views are written with an @. */
  const rows = async (query: string): Promise<Row[]> =>
    (await sql.raw<Row>(query.replaceAll('@', views)).execute(warehouse.dialect.views(undefined).db)).rows
  const of = async (query: string): Promise<number> =>
    Number(Object.values((await rows(`select ${query}`))[0] ?? {})[0] ?? 0)

  beforeAll(async () => {
    address = await kind.viewed()
    views = kind.name === 'sqlite' ? '' : `${address.schema}_analytics.`
    const config = configured({ ...report, contacts: true })
    await done(config, 'sync')
    warehouse = await reopen(address)
    const made = await makeReport(config)
    page = made.page
    answered = made.document.answers
  })

  const count = (part: string | RegExp): number => page.html.split(part).length - 1
  /** The sum of columns. */
  const sumOf = (id: string, from: number, to = from + 1): number =>
    [...page.rows(id).values()]
      .flatMap((cells) => cells.slice(from, to))
      .reduce((sum, cell) => sum + numberOf(cell), 0)

  describe('the page', () => {
    it('draws every chart for wide and narrow screens, from zero, with incomplete months hatched', () => {
      const [figures, empty] = [count('<figure'), count('<p class="nothing">')]
      expect(count('<svg class="narrow"')).toBeGreaterThanOrEqual(figures - empty)
      expect(count(/<svg class="(?:half|full)"/)).toBe(count('<svg class="narrow"'))
      expect(count('<figcaption>')).toBe(figures)
      expect(page.part('101-average-order')).toMatch(/>\$0<\/text>/)
      expect(count('fill="url(#hatch-blue)"')).toBeGreaterThan(0)
      expect(/NaN|undefined|Infinity/.exec(page.html)).toBeNull()
    })

    it('loads nothing from elsewhere, and tells the browser so', () => {
      const found = (address: RegExp) => [...page.html.matchAll(address)].map(([, one = '']) => one)
      const linked = found(/(?:src|href|action)="([^"]*)"/g)
      expect(linked.filter((one) => !/^(#|data:,)/.test(one))).toEqual([])
      const written = found(/(https?:\/\/[^"'\s<]*)/g)
      expect(written.filter((one) => !one.startsWith('http://www.w3.org/'))).toEqual([])
      expect(count('default-src &#39;none&#39;')).toBe(1)
    })

    it('shows names as text, whatever they are', () => {
      expect([count('<script'), count('<img')]).toEqual([1, 0])
      expect(count('&lt;/script&gt;&lt;script&gt;alert')).toBeGreaterThan(30)
    })

    it('has all, businesses and shops to choose, without what only a business has, and no place twice', () => {
      expect(page.choices('scope')).toHaveLength(5)
      const ids = page.ids('')
      expect(new Set(ids).size).toBe(ids.length)
      const ofShop = page.ids('shop-101-1-')
      expect(ofShop).toEqual(expect.arrayContaining(['shop-101-1-sales', 'shop-101-1-advisors-last-month']))
      expect(ofShop.filter((id) => /standing|cycle|shops-/.test(id))).toEqual([])
    })

    it('has a number and no bar for all other people, so that the bars of the first can be seen', () => {
      const lines = page.part('101-technicians-last-month').split('<tr>').slice(2)
      expect(lines.map((line) => line.includes('<i style="--part:'))).toEqual([
        ...Array(10).fill(true),
        false,
      ])
      expect([...page.rows('101-technicians-last-month').keys()].at(-1)).toBe('4 other technicians')
    })

    it('tells what each sum leaves out, and in the owner’s words', () => {
      expect(page.caption('101-sales')).toMatch(/Left out: \d+ invoices? without a known cost or price\./)
      expect(count('isn’t comparable with shop systems that subtract pay')).toBeGreaterThanOrEqual(2)
      const ours = /at_least_due_cents|[Qq]uarantine|\d lists?\b|UTC|Freshness|Runs|rate limit|Drift/
      expect(ours.exec(page.html)).toBeNull()
      expect(page.summary('101-to-sell')).toMatch(/\d+ recommendations; the first \d+ below/)
    })
  })

  describe('its numbers', () => {
    it('has the figures of shop_months in its months, to the cent', async () => {
      const sums = ['sales_cents', 'gross_profit_cents', 'invoices']
      const ratio = ['gross_margin_numerator', 'gross_margin_denominator']
      const columns = [...sums, ...ratio].map((column) => `sum(${column}) as ${column}`)
      // The page's clock isn't the view's, which has a later month's appointments once that month has begun.
      const until = `where month <= '${today.slice(0, 7)}' group by month`
      const months = await rows(`select month, ${columns.join(', ')} from @shop_months ${until}`)
      const expected = months.map((row) => {
        const [above = 0, below = 0] = ratio.map((column) => Number(row[column]))
        const [sales = 0, profit = 0, invoices] = sums.map((column) => Number(row[column]))
        const margin = below === 0 ? 0 : Number(((100 * above) / below).toFixed(1))
        return [row.month, [sales, profit / 100, margin, invoices]] as const
      })
      // Gross profit, margin, invoices; the shops are before them.
      const sold = (cells: readonly string[]): number =>
        cells.slice(0, -3).reduce((all, cell) => all + Math.round(100 * numberOf(cell)), 0)
      const shown = [...page.rows('all-sales')].map(
        ([head, cells]) => [monthOf(head), [sold(cells), ...cells.slice(-3).map(numberOf)]] as const,
      )
      expect(shown.length).toBeGreaterThan(12)
      expect(new Map(expected)).toMatchObject(new Map(shown))
      const own = [...page.rows('101-sales').values()].reduce((all, cells) => all + sold(cells), 0)
      expect(own).toBe(await of('sum(sales_cents) from @shop_months where tenant_id = 101'))
    })

    it('answers for the last month, compared with the one before for the shops that were open in both', async () => {
      const { facts, answer } = page.card('all-month-last-month')
      expect(answered).toContainEqual(expect.objectContaining({ id: 'month', answer }))
      const sum = (column: string, month = '2026-10') =>
        of(`sum(${column}) from @shop_months where month = '${month}'`)
      expect(['Sales', 'Gross profit', 'Average repair order'].map((label) => facts.get(label)?.[0])).toEqual(
        [
          dollars(await sum('sales_cents')),
          dollars(await sum('gross_profit_cents')),
          dollars(
            (await sum('average_repair_order_numerator')) / (await sum('average_repair_order_denominator')),
          ),
        ],
      )
      const same =
        "shop_key in (select shop_key from @shop_months where month = '2026-09' and cast(first_day as text) <= '2026-09-03')"
      const now = await of(`sum(sales_cents) from @shop_months where month = '2026-10' and ${same}`)
      const earlier = await of(`sum(sales_cents) from @shop_months where month = '2026-09' and ${same}`)
      const change = (100 * (now - earlier)) / earlier
      expect(answer).toContain(
        `${Math.abs(change).toFixed(1)}% ${change > 0 ? 'above' : 'below'} the month before`,
      )
    })

    const advice = 'count(*) from @recommendation_conversion where'
    const unpaid =
      '@receivables r join @orders o on o.repair_order_key = r.repair_order_key where r.is_owed and o.picked_up_at is not null'
    const owed = "from @receivables where bucket = '0 to 30' and balance_cents > 0"
    const open = 'count(*) from @work_in_progress where'
    /** The label of a fact of today, or a part and its row or columns; and which of its values, or columns. */
    type Place =
      | readonly [where: string, from?: number, to?: number]
      | readonly [id: string, row: string, i: number]
    const shownAt = ([where, from = 0, to]: Place): number => {
      const first = (text = '0'): number => numberOf(/[\d,]+/.exec(text)?.[0])
      if (typeof from === 'string') return first(page.rows(where).get(from)?.[Number(to)])
      if (where.startsWith('all-')) return sumOf(where, from, to)
      return first(page.card('all-today').facts.get(where)?.[from])
    }
    it.each<[place: Place, query: string]>([
      [['Appointments'], `count(*) from @appointment_load where day = '${today}'`],
      [['Promised pick-ups'], `count(*) from @orders where state <> 'estimate' and due_out_on = '${today}'`],
      [['Late'], `${open} is_late`],
      [['Waiting for parts'], `${open} status_name = '${evil} 0'`],
      [['Picked up and unpaid', 1], `count(*) from ${unpaid}`],
      [['Picked up and unpaid'], `round(sum(r.balance_cents) / 100.0) from ${unpaid}`],
      [['Overdue', 1], 'count(*) from @receivables where days > 30 and balance_cents > 0'],
      [['Still to sell'], `${advice} is_to_sell and cast(recommended_on as text) >= '${later(today, -90)}'`],
      [['all-receivables', '0 to 30 days', 0], `round(sum(balance_cents) / 100.0) ${owed}`],
      [['all-receivables', '0 to 30 days', 1], `count(*) ${owed}`],
      ...['active', 'lapsing', 'lost'].map((name): [Place, string] => [
        ['all-standing', name, 0],
        `count(*) from @customer_value where standing = '${name}'`,
      ]),
      [['all-recommendations', 0, 5], `${advice} true`],
      [['all-recommendations', 0, 3], `${advice} decision = 'approved' or imported or sold_later`],
      [['all-recommendations', 2, 3], `${advice} decision = 'approved' and is_approved_unsold`],
    ])('counts as the views do: %s', async (place, query) => {
      expect(shownAt(place)).toBe(await of(query))
      expect(shownAt(place)).toBeGreaterThan(0)
    })

    it('counts the paid invoices that it compares with their payments', async () => {
      const paid = 'sum(equal_to_the_cent + off_by_rounding + off_by_more) from @totals_check'
      expect(numberOf(/of ([\d,]+) paid invoices/.exec(page.html)?.[1])).toBe(await of(paid))
    })

    it.each([
      ['all-advisors-last-month', 'gross_profit_cents', 'orders'],
      ['all-categories-last-month', 'sales_cents', 'service_totals'],
    ])('ranks by what adds up: %s', async (id, column, view) => {
      const all = await of(
        `sum(${column}) from @${view} where state = 'invoice' and cast(closed_on as text) like '2026-10-%'`,
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
        const days = `max(cast(day as text)) as day from @shop_days where is_open_day`
        const [last] = await rows(`select ${days} and cast(day as text) < '${today}'`)
        const day = String(last?.day)
        const sum = (what: string, view: string, column = 'day', date = day) =>
          of(`coalesce(${what}, 0) from @${view} where cast(${column} as text) = '${date}'${where}`)
        const { answer, facts } = page.card(`${scope}-yesterday`)
        expect(later(`${answer.split(':')[0]?.replace(/^\w+, /, '')} UTC`, 0)).toBe(day)
        const sold = await sum('sum(sales_cents)', 'daily_sales')
        const invoiced = "count(distinct case when state = 'invoice' then vehicle_key end)"
        const deposits = 'sum(case when is_deposit then amount_cents end)'
        expect(['Sales', 'Cars', 'Collected', 'Deposits'].map((label) => facts.get(label)?.[0])).toEqual([
          dollars(sold),
          String(await sum(invoiced, 'orders', 'closed_on')),
          dollars(await sum('sum(amount_cents)', 'payments_ledger', 'paid_on')),
          dollars(await sum(deposits, 'payments_ledger', 'paid_on')),
        ])
        const before = await sum('sum(sales_cents)', 'daily_sales', 'day', later(day, -7))
        const trend = facts.get('Sales')?.find((text) => text.includes(' vs. '))
        if (before > 0 && sold > 0)
          expect(numberOf(/([+−\d.]+)%/.exec(trend ?? '')?.[1])).toBeCloseTo(
            (100 * (sold - before)) / before,
            1,
          )
      },
    )

    it('lists what is to be done with names, the most urgent first; the lists of its parts add up', async () => {
      const lateIn = (scope: string): number =>
        numberOf(page.card(`${scope}-today`).facts.get('Late')?.[0]?.split(' ')[0])
      expect([lateIn('101') + lateIn('102'), lateIn('shop-101-1') + lateIn('shop-101-2')]).toEqual([
        lateIn('all'),
        lateIn('101'),
      ])
      for (const id of ['all-to-sell', 'all-overdue']) {
        const amounts = page.column(id, 'amount').map(numberOf)
        expect(amounts).toEqual(amounts.toSorted((a, b) => b - a))
      }
      const [heads = [], ...listed] = page.table('all-unpaid')
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
        expect(found.map((row) => Object.values(columns).map((name) => row[name] ?? ''))).toContainEqual(
          shown,
        )
      }
      expect(page.table('all-to-sell')[0]).toEqual(
        expect.arrayContaining(['order', 'shop', 'customer', 'what', 'amount']),
      )
    })
  })

  it('shows phones and addresses only with report.contacts, and bears that there are none', async () => {
    const found = await rows('select phone from @dim_customers where phone is not null')
    const shown = page.ids('all-').filter((id) => page.table(id)[0]?.includes('phone'))
    expect(shown.length).toBeGreaterThan(1)
    for (const phone of shown.flatMap((id) => page.column(id, 'phone')))
      expect(['–', ...found.map((row) => row.phone)]).toContain(phone)
    const without = (await makeReport(configured({ timeZone: 'UTC' }), '--tenant', '102')).page
    expect(without.html.includes('>phone</th>')).toBe(false)
    expect(without.has('102-waiting-for-parts')).toBe(false)
    await warehouse.db.deleteFrom('customer_phones' as never).execute()
    await warehouse.db
      .updateTable('customers' as 'tenants')
      .set({ phone: null, email: null } as never)
      .execute()
    const none = (await makeReport(configured({ ...report, contacts: true }), '--tenant', '102')).page
    expect(none.html.includes('>phone</th>')).toBe(false)
  })

  it.runIf(kind.name === 'postgres')(
    'tells a role that lacks a right which one it needs, and no more',
    async () => {
      const role = `reads_${randomBytes(4).toString('hex')}`
      const url = new URL(address.url)
      url.username = role
      const config = configure(sandbox, { ...address, url: url.href }, [], { sync: { resources: 'all' } })
      const does = (words: string) => sql.raw(words).execute(warehouse.db)
      const tried = () => shopsync(['report', '--out', join(scratch(), 'r.html'), '--config', config])
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

describe('its file', () => {
  const folder = scratch()
  const config = configure(sandbox, { url: `sqlite:${join(folder, 'none.db')}`, schema: '' }, ['notes'])

  it('replaces an older one, with its rights, when it is complete, and leaves nothing else', async () => {
    const file = join(folder, 'page.html')
    writeFileSync(file, 'old', { mode: 0o644 })
    const ended = await shopsync(['report', '--out', file, '--config', config])
    expect(ended.code, ended.stderr).toBe(0)
    expect(readFileSync(file, 'utf8')).toContain('No data yet')
    expect(readdirSync(folder)).toEqual(['page.html'])
  })
})
