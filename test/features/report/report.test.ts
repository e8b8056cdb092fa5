/**
 * The report of a real warehouse, made by the program from a synced sandbox: its numbers match the views, and it reads
 * and never writes.
 */
import { randomBytes } from 'node:crypto'
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { type KyselyPlugin, sql } from 'kysely'
import { beforeAll, describe, expect, it } from 'vitest'
import { systemClock } from '../../../src/engine/base/clock.js'
import { withAlerts } from '../../../src/features/health/tables.js'
import { readReport } from '../../../src/features/report/read/read.js'
import { type Ended, shopsync } from '../../support/harness/call.js'
import { configure } from '../../support/harness/place.js'
import { known } from '../../support/harness/runs.js'
import { sandboxOfFile } from '../../support/harness/sandbox.js'
import { scratch } from '../../support/harness/scratch.js'
import {
  type Dialect,
  type Kind,
  type OneInstant,
  reopen,
  Warehouse,
  warehouses,
} from '../../support/harness/warehouse.js'

/** Months of one, and weeks of the other, which opened recently. */
const sandbox = await sandboxOfFile({
  tenants: [
    { id: 101, shops: 2, repairOrders: 900 },
    { id: 102, shops: 1, repairOrders: 200 },
  ],
  seed: 5,
})

const few = await sandboxOfFile({ tenants: 2, repairOrders: 3, seed: 5 })

const run = (config: string, ...words: string[]): Promise<Ended> => shopsync([...words, '--config', config])

const dollars = (cents: number, digits = 2): string =>
  new Intl.NumberFormat('en-US', { style: 'currency', currency: 'USD', minimumFractionDigits: digits })
    .format(digits === 0 ? Math.round(cents / 100) : cents / 100)
    .replace(digits === 0 ? /\.00$/ : /^$/, '')

const monthNames = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec']

/** `2026-10` of `Oct 2026`. */
const monthOf = (text: string): string =>
  `${text.slice(-4)}-${String(monthNames.indexOf(text.slice(0, 3)) + 1).padStart(2, '0')}`

const monthsLater = (month: string, months: number): string => {
  const number = Number(month.slice(0, 4)) * 12 + Number(month.slice(5)) - 1 + months
  return `${Math.floor(number / 12)}-${String((number % 12) + 1).padStart(2, '0')}`
}

/** A single number from a query on the views. */
async function numberIn(warehouse: Warehouse, query: string): Promise<number> {
  const { db } = warehouse.dialect.views(undefined)
  const { rows } = await sql.raw<{ n: unknown }>(query).execute(db)
  return Number(rows[0]?.n ?? 0)
}

describe.each(warehouses())('$name', (kind: Kind) => {
  const address = kind.address()
  const views = kind.name === 'sqlite' ? '' : `${address.schema}_analytics.`
  let config = ''
  let page = ''
  let ended: Ended
  let warehouse: Warehouse
  const of = (query: string): Promise<number> => numberIn(warehouse, query.replaceAll('@', views))

  beforeAll(async () => {
    config = configure(sandbox, address, [])
    const document = JSON.parse(readFileSync(config, 'utf8')) as {
      sync: { resources: unknown }
      report?: unknown
    }
    document.sync.resources = 'all'
    document.report = { tenantNames: { [String(sandbox.tenantIds[0])]: 'Main <b>Street</b> & Sons' } }
    writeFileSync(config, JSON.stringify(document))
    expect((await run(config, 'sync')).code).toBe(0)
    warehouse = await reopen(address)
    const file = join(scratch(), 'report.html')
    ended = await run(config, 'report', '--out', file)
    page = existsSync(file) ? readFileSync(file, 'utf8') : ''
    return () => warehouse.close()
  })

  /** The numbers of a figure's table: the texts of each row, by the text of its first cell. */
  function tableOf(id: string): Map<string, string[]> {
    const [, figure = ''] = page.split(`id="${id}"`)
    const [, body = ''] = /<tbody>(.*?)<\/tbody>/s.exec(figure) ?? []
    const text = (cell: string): string => cell.replaceAll(/<[^>]*>/g, '').replace(' incomplete', '')
    return new Map(
      [...body.matchAll(/<tr><th scope="row">(.*?)<\/th>(.*?)<\/tr>/gs)].map(([, head = '', rest = '']) => [
        text(head),
        [...rest.matchAll(/<td[^>]*>(.*?)<\/td>/gs)].map(([, cell = '']) => text(cell)),
      ]),
    )
  }

  const titleOf = (id: string): string => {
    const [, panel = ''] = page.split(`id="${id}-title">`)
    return panel.slice(0, panel.indexOf('<')).split(', ').at(-1) ?? ''
  }

  it('is written, and also answers the questions on the terminal', () => {
    expect(ended.code, ended.stderr).toBe(0)
    expect(ended.stdout).toContain('Can I trust it?')
    expect(ended.stdout).toContain('How was last month?')
    expect(ended.stdout).toContain('What needs attention today?')
    expect(ended.stdout).toMatch(/The report: .*report\.html/)
    expect(page.startsWith('<!doctype html>')).toBe(true)
  })

  it('has the figures of shop_months in its months, to the cent', async () => {
    const rows = tableOf('all-sales')
    expect(rows.size).toBeGreaterThan(1)
    for (const [head, cells] of rows) {
      const where = `where month = '${monthOf(head)}'`
      // Gross profit, margin, invoices; the shops are before them.
      const [profit, margin, invoices] = cells.slice(-3)
      const sold = cells.slice(0, -3).reduce((sum, cell) => sum + Number(cell.replaceAll(/[$,–]/g, '')), 0)
      const sum = (column: string) => of(`select sum(${column}) as n from @shop_months ${where}`)
      expect(Math.round(sold * 100)).toBe(await sum('sales_cents'))
      expect(profit).toBe(dollars(await sum('gross_profit_cents')))
      const percent = (100 * (await sum('gross_margin_numerator'))) / (await sum('gross_margin_denominator'))
      expect(margin).toBe(`${percent.toFixed(1)}%`)
      expect(invoices).toBe(new Intl.NumberFormat('en-US').format(await sum('invoices')))
    }
    const tenantSales = await of(
      `select sum(sales_cents) as n from @shop_months where tenant_id = ${sandbox.tenantIds[0]}`,
    )
    const shown = [...tableOf(`${sandbox.tenantIds[0]}-sales`).values()]
      .flatMap((cells) => cells.slice(0, -3))
      .reduce((sum, cell) => sum + Number(cell.replaceAll(/[$,–]/g, '')), 0)
    expect(Math.round(shown * 100)).toBe(tenantSales)
  })

  it('answers with the figures of shop_months, and only compares shops that were open in both months', async () => {
    const asked = await run(config, 'report', '--out', '/dev/null', '--json')
    const [, month] = asked.json<{
      answers: { answer: string; facts: { label: string; value: string }[] }[]
    }>().answers
    const [, name = '', year = ''] = /^(\w+) (\d{4}):/.exec(month?.answer ?? '') ?? []
    const last = monthOf(`${name.slice(0, 3)} ${year}`)
    const sum = (column: string, more = '') =>
      of(`select sum(${column}) as n from @shop_months where month = '${last}' ${more}`)
    const value = (label: string) => month?.facts.find((fact) => fact.label === label)?.value
    const whole = (cents: number): string => dollars(cents, 0)
    expect(value('Sales')).toBe(whole(await sum('sales_cents')))
    expect(value('Gross profit')).toBe(whole(await sum('gross_profit_cents')))
    expect(value('Average repair order')).toBe(
      whole((await sum('average_repair_order_numerator')) / (await sum('average_repair_order_denominator'))),
    )
    const before = monthsLater(last, -1)
    const same = `and shop_key in (select shop_key from @shop_months where month = '${before}'
      and cast(first_day as text) <= '${before}-03')`
    const earlier = await of(
      `select sum(sales_cents) as n from @shop_months where month = '${before}' ${same}`,
    )
    // Whether a shop of the sandbox was open for two whole months depends on today's date.
    if (earlier === 0) {
      expect(month?.answer).not.toContain('the month before')
      return
    }
    const now = await sum('sales_cents', same)
    const percent = Math.abs((100 * (now - earlier)) / earlier)
    const compared = percent.toFixed(1)
    const side = now > earlier ? 'above' : 'below'
    expect(month?.answer).toContain(
      `, ${compared === '0.0' ? 'the same as' : `${compared}% ${side}`} the month before`,
    )
    const newer = await of(`select count(*) as n from @shop_months where month = '${last}' and sales_cents > 0
      and shop_key not in (select shop_key from @shop_months where month = '${before}'
        and cast(first_day as text) <= '${before}-03')`)
    const [, few = '0', all = few] =
      /same (\d+) of (\d+) shops/.exec(month?.answer.split(' and ')[0] ?? '') ?? []
    expect(Number(all) - Number(few)).toBe(newer)
  })

  it('has the counts and sums of the views in its other figures', async () => {
    const [open] = [...tableOf('all-receivables').values()]
    const bucket = "from @receivables where bucket = '0 to 30'"
    expect(open?.slice(0, 2)).toEqual([
      dollars(await of(`select coalesce(sum(balance_cents), 0) as n ${bucket} and balance_cents > 0`), 0),
      String(await of(`select count(*) as n ${bucket} and balance_cents > 0`)),
    ])
    const standing = tableOf('all-standing')
    for (const name of ['active', 'lapsing', 'lost'])
      expect(standing.get(name)?.[0]).toBe(
        String(await of(`select count(*) as n from @customer_value where standing = '${name}'`)),
      )
    const advice = [...tableOf('all-recommendations').values()]
    const sumOf = (from: number, to: number): number =>
      advice
        .flatMap((cells) => cells.slice(from, to))
        .reduce((sum, cell) => sum + Number(cell.replace(',', '')), 0)
    const recommended = 'select count(*) as n from @recommendation_conversion'
    expect(sumOf(0, 5)).toBe(await of(recommended))
    const isCounted = "decision = 'approved' or imported or sold_later"
    expect(sumOf(0, 3)).toBe(await of(`${recommended} where ${isCounted}`))
    const unsold = await of(`${recommended} where decision = 'approved' and is_approved_unsold`)
    expect([sumOf(2, 3), unsold > 0]).toEqual([unsold, true])
    const late = await of('select sum(case when is_late then 1 else 0 end) as n from @work_in_progress')
    expect(page).toContain(`<b>${late} order${late === 1 ? '' : 's'}</b>`)
    const checked = await of(
      'select sum(equal_to_the_cent + off_by_rounding + off_by_more) as n from @totals_check',
    )
    expect(page).toContain(`of ${new Intl.NumberFormat('en-US').format(checked)} paid invoices`)
  })

  it("ranks each period's advisors, technicians and categories by their figures", async () => {
    const month = monthOf(titleOf('all-advisors-last-month'))
    const where = `where state = 'invoice' and cast(closed_on as text) like '${month}-%'`
    const cents = (cells: readonly string[] | undefined): number =>
      Number(cells?.[0]?.replaceAll(/[$,]/g, ''))
    const sumOf = (id: string): number =>
      [...tableOf(id).values()].reduce((sum, cells) => sum + Math.round(cents(cells)), 0)
    const profit = await of(`select sum(gross_profit_cents) as n from @orders ${where}`)
    expect(Math.abs(sumOf('all-advisors-last-month') - profit / 100)).toBeLessThan(12)
    const services = await of(`select sum(sales_cents) as n from @service_totals ${where}`)
    expect(Math.abs(sumOf('all-categories-last-month') - services / 100)).toBeLessThan(12)
  })

  it("doesn't say yes while deletions are unchecked, an incident is open, or a grant is gone", async () => {
    // Whether the figures can be trusted doesn't depend on how many there are.
    const place = await kind.viewed()
    const small = configure(few, place, ['payments', 'notes', 'shops'])
    expect((await run(small, 'sync')).code).toBe(0)
    const own = await reopen(place)
    const { db } = own
    const answer = async (): Promise<string> => {
      const asked = await run(small, 'report', '--out', '/dev/null', '--json')
      expect(asked.code, asked.stderr).toBe(0)
      return asked.json<{ answers: { answer: string }[] }>().answers[0]?.answer ?? ''
    }
    // The first load has seen everything.
    expect(await answer()).not.toContain('deletions in')
    await db.updateTable('sync_cursors').set({ deletes_checked_at: null }).execute()
    expect(await answer()).toMatch(
      /^Not entirely: .*deletions in \d+ of \d+ sets of records have not been checked recently/,
    )
    const at = (ms: number): string => new Date(Date.now() - ms).toISOString().replace('Z', '000Z')
    await db
      .updateTable('sync_cursors')
      .set({ deletes_checked_at: at(60_000) })
      .execute()
    expect(await answer()).not.toContain('deletions in')
    await db
      .updateTable('sync_cursors')
      .set({ deletes_checked_at: at(4 * 86_400_000) })
      .execute()
    expect(await answer()).toContain('deletions in')
    await db
      .updateTable('sync_cursors')
      .set({ deletes_checked_at: at(60_000) })
      .execute()
    // A list that no figure depends on says nothing about the figures.
    await db
      .updateTable('sync_cursors')
      .set({ completeness: 'unproven' })
      .where('resource', '=', 'notes')
      .execute()
    expect(await answer()).not.toContain('may be incomplete')
    await db
      .updateTable('sync_cursors')
      .set({ completeness: 'unproven' })
      .where('resource', '=', 'payments')
      .execute()
    expect(await answer()).toMatch(/^Not entirely: 2 of \d+ sets of records may be incomplete/)
    await db.updateTable('sync_cursors').set({ completeness: 'proven' }).execute()
    const since = at(0)
    const incident = { tenant_id: 0, resource: '', kind: 'failed', since, opened_at: since, told: '{}' }
    await withAlerts(db).insertInto('sync_alerts').values(incident).execute()
    expect(await answer()).toContain('1 incident is open (failed)')
    await withAlerts(db).deleteFrom('sync_alerts').execute()
    const gone = Number(few.tenantIds[1])
    await db.updateTable('tenants').set({ revoked_at: since }).where('tenant_id', '=', gone).execute()
    expect(await answer()).toContain(' no longer grants access')
    await own.close()
  })

  it("doesn't say yes about a warehouse whose source isn't the configured one, on any page", async () => {
    const folder = scratch()
    const foreign = join(folder, 'config.json')
    const small = configure(few, await kind.viewed(), ['payments', 'notes', 'shops'])
    expect((await run(small, 'sync')).code).toBe(0)
    writeFileSync(foreign, readFileSync(small, 'utf8').replace(few.url, 'http://127.0.0.1:9'))
    const of = (...words: string[]): Promise<Ended> =>
      shopsync([...words, '--config', foreign], { cwd: folder })
    expect((await of('status')).code).toBe(1)
    const words = `the data is from ${few.url} (partner ${few.partnerId}), but the configuration names`
    const text = await of('report')
    expect(text.code, text.stderr).toBe(0)
    expect(text.stdout).toContain(`Not entirely: ${words}`)
    expect(readFileSync(join(folder, 'report.html'), 'utf8')).toContain(words)
    const asked = await of('report', '--json')
    expect(asked.json()).toMatchObject({
      belongs_to: { base_url: few.url, configured: false },
      answers: [{ answer: expect.stringContaining(words), tone: 'bad' }, {}, {}, {}],
    })
    const operations = await of('report', '--operations')
    const operator = readFileSync(join(folder, 'operations.html'), 'utf8')
    for (const found of [operations.stdout, operator])
      for (const part of [`✗ Source: ${few.url}`, 'so runs are refused', 'shopsync adopt --same-data'])
        expect(found).toContain(part)
    expect(page).not.toContain('the data is from')
  })

  it('shows names as text', () => {
    expect(page).toContain('Main &lt;b&gt;Street&lt;/b&gt; &amp; Sons')
    expect(page.includes('<b>Street')).toBe(false)
  })

  it('covers one tenant if one is named, and reports it if there is no such tenant', async () => {
    const file = join(scratch(), 'one.html')
    const one = await run(config, 'report', '--out', file, '--tenant', String(sandbox.tenantIds[1]), '--json')
    expect(one.code, one.stderr).toBe(0)
    expect(one.json()).toMatchObject({
      file,
      tenants: 1,
      answers: [{ question: 'Can I trust it?' }, {}, {}, {}],
    })
    const text = readFileSync(file, 'utf8')
    expect(text.includes('data-pick="scope"')).toBe(false)
    expect(text.includes('Main &lt;b&gt;')).toBe(false)
    const none = await run(config, 'report', '--out', file, '--tenant', '999999')
    expect(none.code).toBe(2)
    expect(none.stderr).toMatch(/Found no data of tenant 999999, expected .*shopsync status/)
  })

  it('is a step of a job, checked before the first step starts', async () => {
    const folder = dirname(config)
    const job = (steps: object[]): void =>
      writeFileSync(
        join(folder, 'jobs/page.json'),
        JSON.stringify({ description: 'Writes the page.', steps }),
      )
    const runJob = (): Promise<Ended> =>
      shopsync(['run', 'page', '--config', config, '--json'], { cwd: folder })
    mkdirSync(join(folder, 'jobs'))
    job([{ command: 'report', out: 'page.html', tenants: [sandbox.tenantIds[0]] }])
    const made = await runJob()
    expect(made.code, made.stderr).toBe(0)
    expect(made.json()).toMatchObject({ mode: 'job', status: 'ok', requests: 0, cursors: [] })
    expect(readFileSync(join(folder, 'page.html'), 'utf8')).toContain('Main &lt;b&gt;Street')
    job([{ command: 'report', operations: true }])
    const operated = await runJob()
    expect(operated.code, operated.stderr).toBe(0)
    expect(readFileSync(join(folder, 'operations.html'), 'utf8')).toContain('Last runs')
    job([{ command: 'sync' }, { command: 'report', out: 'nowhere/page.html' }])
    const refused = await runJob()
    expect(refused.code).toBe(2)
    expect(refused.json()).toMatchObject({ error: { message: expect.stringContaining('Found no folder') } })
  })

  it('writes the operator’s page with --operations, for the named tenants', async () => {
    const folder = scratch()
    const of = (...words: string[]): Promise<Ended> =>
      shopsync(['report', '--operations', '--config', config, ...words], { cwd: folder })
    const made = await of()
    expect(made.code, made.stderr).toBe(0)
    expect(made.stdout).toContain("The operator's page: operations.html")
    const text = readFileSync(join(folder, 'operations.html'), 'utf8')
    for (const part of ['Freshness', 'Last runs', 'Quarantine', 'Drift', 'repair_orders'])
      expect([part, text.includes(part)]).toEqual([part, true])
    const asked = await of('--tenant', String(sandbox.tenantIds[1]), '--json')
    expect(asked.json()).toMatchObject({ file: join(folder, 'operations.html'), resources: 21 })
    expect((await of('--tenant', '999999')).code).toBe(2)
  })

  it('shows one instant, whatever is written between two of its queries', async () => {
    const read = async (of: Warehouse): Promise<object> => {
      const now = {
        source: { baseUrl: sandbox.url, partnerId: sandbox.partnerId },
        timeZone: 'UTC',
        staleAfterMs: 3_600_000,
        deletesUncheckedAfterMs: 3_600_000,
        nowMicros: systemClock.nowMicros(),
      }
      const asked = { warehouse: of, label: '', schema: undefined, tenants: null, ...now }
      const { months, scopes } = await readReport(asked)
      return { months, scopes: scopes.map(({ trust, needs, ...amounts }) => amounts) }
    }
    const setDeleted = (at: string | null) =>
      warehouse.db.updateTable('repair_order_totals').set({ _deleted_at: at })
    const eyes = await reopen(address)
    /** The warehouse seen through another connection: after its first answer, someone deletes every order. */
    const disturbed = async (atOneInstant: Dialect['atOneInstant']): Promise<object> => {
      let isDone = false
      const disturb: KyselyPlugin = {
        transformQuery: ({ node }) => node,
        transformResult: async ({ result }) => {
          if (!isDone) {
            isDone = true
            await setDeleted('2026-11-22T00:00:00.000000Z').execute()
          }
          return result
        },
      }
      const through = (of: OneInstant): OneInstant => ({
        db: of.db,
        views: (schema) => {
          const store = of.views(schema)
          return { ...store, db: store.db.withPlugin(disturb) }
        },
      })
      const dialect = {
        ...eyes.dialect,
        atOneInstant: (work) => atOneInstant((of) => work(through(of))),
      } as Dialect
      try {
        return await read(new Warehouse({ dialect, model: known }))
      } finally {
        await setDeleted(null).execute()
      }
    }
    const before = await read(warehouse)
    expect(await disturbed((work) => eyes.dialect.atOneInstant(work))).toEqual(before)
    // Query by query, the months would be those before, and their sales those after.
    const apart = { db: eyes.dialect.db, views: () => eyes.dialect.views() }
    expect(await disturbed((work) => work(apart))).not.toEqual(before)
    await eyes.close()
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
      )
      const does = (words: string) => sql.raw(words).execute(warehouse.db)
      const tried = () => run(file, 'report', '--out', join(scratch(), 'r.html'))
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

  it('says what to type if the views were not made', async () => {
    const elsewhere = await kind.viewed()
    const bare = configure(sandbox, elsewhere, ['notes'])
    const document = JSON.parse(readFileSync(bare, 'utf8')) as { warehouse: object }
    expect((await run(bare, 'sync')).code).toBe(0)
    const other = await reopen(elsewhere)
    const { db } = other.dialect.views(undefined)
    await sql
      .raw(`drop view ${kind.name === 'sqlite' ? '' : `${elsewhere.schema}_analytics.`}customer_value`)
      .execute(db)
    await other.close()
    writeFileSync(
      bare,
      JSON.stringify({ ...document, warehouse: { ...document.warehouse, autoMigrate: false } }),
    )
    const { code, stderr } = await run(bare, 'report', '--out', join(scratch(), 'r.html'))
    expect(code).toBe(2)
    expect(stderr).toMatch(/Found no view customer_value in .*, expected .*\. Type shopsync migrate/)
  })
})

describe("a place that can't be written to", () => {
  const config = configure(sandbox, { url: `sqlite:${join(scratch(), 'none.db')}`, schema: '' }, ['notes'])
  const file = join(dirname(config), 'file')
  const folder = join(dirname(config), 'folder')
  beforeAll(() => {
    writeFileSync(file, 'kept')
    mkdirSync(folder)
  })

  it.each([
    ['a folder', () => folder, /Found a folder at .*, expected a file .*--out .*report\.html/],
    ['a folder that is not there', () => join(folder, 'no/r.html'), /Found no folder .*mkdir -p/],
    ['a file in a file', () => join(file, 'r.html'), /Found no folder /],
    ['no name', () => '', /Found no name, expected a file/],
  ])('%s: exit 2, reported before any work', async (_what, place, words) => {
    const { code, stderr, stdout } = await run(config, 'report', '--out', place())
    expect(code).toBe(2)
    expect(stderr).toMatch(words)
    expect(stdout).toBe('')
    expect(readdirSync(folder)).toEqual([])
  })

  it.runIf(existsSync('/dev/full'))('a device that is full: exit 1, and what to check', async () => {
    const { code, stderr } = await run(config, 'report', '--out', '/dev/full')
    expect(code).toBe(1)
    expect(stderr).toMatch(/could not be written to \/dev\/full \(ENOSPC\).*disk is full/)
  })

  it('leaves nothing next to the report, and keeps an older one in place until the new one is complete', async () => {
    const ended = await run(config, 'report', '--out', file)
    expect(ended.code, ended.stderr).toBe(0)
    expect(ended.stdout).toContain('There is no warehouse yet: there is no file ')
    expect(readFileSync(file, 'utf8')).toContain('No data yet')
    expect(readdirSync(dirname(config)).sort()).toEqual(['config.json', 'file', 'folder'])
  })
})
