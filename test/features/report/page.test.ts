/** The page as text: its contents for one business, for several, for very many and for none. */
import { describe, expect, it } from 'vitest'
import grossProfit from '../../../schema/figures/gross_profit_cents.js'
import { leftOutOf } from '../../../src/features/report/amounts.js'
import type { ReportData } from '../../../src/features/report/data.js'
import { draw } from '../../../src/features/report/draw/option.js'
import { averageOrderFigure, paceFigure } from '../../../src/features/report/figures/sales.js'
import { trendOf } from '../../../src/features/report/numberwords.js'
import type { OperationsData } from '../../../src/features/report/operationsdata.js'
import { operationsPage } from '../../../src/features/report/page/operationspage.js'
import { reportPage } from '../../../src/features/report/page/reportpage.js'
import { runsPage } from '../../../src/features/report/page/runspage.js'
import { advisorsRanking, marginRanking } from '../../../src/features/report/ranking.js'
import { answersText } from '../../../src/features/report/reporttext.js'
import { trustSentence } from '../../../src/features/report/trustsentence.js'
import { amounts, sampleOperations, sampleReport, sampleTrust } from './sample.js'

/** Charts are only drawn if a test looks at them. */
const page = (data: ReportData, drawn = false): string => reportPage(data, drawn ? draw : () => '<svg></svg>')

const count = (text: string, part: string | RegExp): number =>
  [...text.matchAll(new RegExp(part, 'g'))].length

/** Whether the page contains it: a failure shows the words and not the whole page. */
const expectIn = (text: string, ...parts: readonly (string | RegExp)[]): void => {
  for (const part of parts)
    expect(typeof part === 'string' ? text.includes(part) : part.test(text), String(part)).toBe(true)
}
const expectNotIn = (text: string, ...parts: readonly (string | RegExp)[]): void => {
  for (const part of parts)
    expect(typeof part === 'string' ? text.includes(part) : part.test(text), String(part)).toBe(false)
}

const one = sampleReport()

const operations = (data: OperationsData, isServed = false): string =>
  operationsPage(data, () => '<svg></svg>', isServed)
const runs = (of: OperationsData['runs']): string => runsPage(of, 1_795_335_300_000_000n)

describe('the page', () => {
  it('shows yesterday, today, the month and the trust first, in order, and draws every chart for wide and narrow screens', () => {
    const text = page(one, true)
    const headings = [...text.matchAll(/<h[23][^>]*>([^<]*)/g)].map(([, title]) => title)
    expect(headings.slice(0, 6)).toEqual([
      ...['How was yesterday?', 'What needs attention today?'],
      ...['How was last month?', 'How is this month going?', 'Can I trust it?', 'Lists to act on'],
    ])
    expect(headings).toEqual(
      expect.arrayContaining([
        'Shops, October 2026',
        'Sales and gross profit by month and shop',
        'Sales pace, November 2026',
        'Average repair order',
        'Sales by service category, October 2026',
        'Gross profit by advisor, October 2026',
        'Gross profit per hour',
        'Effective labor rate',
        'Hours per order',
        'Hours sold by technician, October 2026',
        'Parts margin by unit cost, October 2026',
        'Cycle time',
        'Recommendations',
        'Customers: new and returning',
        'Customers by their last visit',
        'Receivables by age',
      ]),
    )
    const figures = count(text, '<figure')
    expect(count(text, '<svg class="narrow"')).toBe(figures)
    expect(count(text, '<svg class="(half|full)"')).toBe(figures)
    expect(count(text, '<figcaption>')).toBe(figures)
  })

  it('loads nothing from elsewhere, and tells the browser so', () => {
    const text = page(one, true)
    const addresses = [...text.matchAll(/(?:src|href|action)="([^"]*)"/g)].map(([, address]) => address)
    expect(addresses.filter((address) => !/^(#|data:,)/.test(address ?? ''))).toEqual([])
    expect([...text.matchAll(/https?:\/\/[^"'\s<]*/g)].map(([found]) => found)).not.toContainEqual(
      expect.not.stringMatching(/^http:\/\/www\.w3\.org\//),
    )
    expectIn(text, 'default-src &#39;none&#39;')
    expect(count(text, '<script')).toBe(1)
  })

  it('hatches incomplete months, and names them', () => {
    const text = page(one, true)
    expectIn(text, 'fill="url(#hatch-blue)"')
    expectIn(text, 'id="hatch-blue"')
    expectIn(text, 'November 2026 is incomplete')
    const months = one.months.map((month) => ({ ...month, isPartial: false }))
    const whole = { ...one, months, scopes: one.scopes.map((scope) => ({ ...scope, span: months })) }
    expectNotIn(page(whole, true), 'fill="url(#hatch')
    expectNotIn(page(whole, true), 'is incomplete')
  })

  it('shows what each sum leaves out', () => {
    const text = page(one)
    const without = one.scopes[0]?.months.reduce((sum, month) => sum + leftOutOf(month, grossProfit), 0)
    expectIn(text, `Left out: ${without} invoices without a known cost or price.`)
    expectIn(
      text,
      'Left out: 58 unpaid invoices, and 17 invoices for which the source doesn’t tell everything',
    )
    expectIn(text, 'Left out: 1 invoice whose total isn’t known in full, with at least $42 owed')
    expect(
      text.match(/isn’t comparable with shop systems that subtract pay/g)?.length,
    ).toBeGreaterThanOrEqual(2)
  })

  it('shows names as text, whatever they are', () => {
    const evil = '</script><script>alert("x")</script><img src=x onerror=alert(1)>&'
    const named: ReportData = {
      ...sampleReport({ tenants: 2 }),
      warehouse: evil,
    }
    const [first, ...others] = named.scopes
    const scope = {
      ...first!,
      title: evil,
      soldBy: { ...first!.soldBy, lines: first!.soldBy.lines.map((shop) => ({ ...shop, name: evil })) },
      periods: first!.periods.map((answer) => ({
        ...answer,
        technicians: answer.technicians.map((line) => ({ ...line, name: evil })),
      })),
      tasks: first!.tasks.map((list) => ({
        ...list,
        tasks: list.tasks.map((task) => ({
          ...task,
          customer: evil,
          shop: evil,
          title: evil,
          contacts: [evil, evil],
        })),
      })),
    }
    const text = page(
      {
        ...named,
        scopes: [scope, ...others],
        tenants: named.tenants.map((line) => ({ ...line, name: evil })),
      },
      true,
    )
    expect(count(text, '<script')).toBe(1)
    expect(count(text, '<img')).toBe(0)
    expect(count(text, '&lt;/script&gt;&lt;script&gt;alert')).toBeGreaterThan(8)
  })
})

describe('the owner’s page and the operator’s', () => {
  it('share no figure: runs, drift, the rate limit and UTC are the operator’s', () => {
    expectNotIn(page(sampleReport({ tenants: 3 })), 'UTC', 'Freshness', 'Runs', 'rate limit', 'Drift')
    const text = operations(sampleOperations)
    const headings = [...text.matchAll(/<h3[^>]*>([^<]*)/g)].map(([, title]) => title)
    expect(headings).toEqual([
      ...[
        'Incidents: 1 open',
        'Freshness by resource',
        'Targets, last 24 hours',
        'Runs by day',
        'Requests and rate limit',
        'Last runs',
      ],
      ...['Events', 'Quarantine', 'Drift: 1 kind, 1 since the first load'],
    ])
    expectIn(
      text,
      'deletions were last checked 4 days ago. Type shopsync reconcile',
      'listening since 06:00 UTC',
    )
    expectIn(text, 'failed: HTTP 500', 'All times are UTC')
    expectNotIn(text, 'href="/runs"')
    expectIn(operations(sampleOperations, true), 'href="/runs"')
  })

  it('report it if nothing was synced, nothing is wrong, and nobody listens', () => {
    expectIn(operations({ ...sampleOperations, isEmpty: true }), 'No data yet')
    const calm = operations({ ...sampleOperations, incidents: [], events: [] })
    expectIn(calm, 'No incident is open.')
    expectNotIn(calm, '>Events<')
    expectIn(runs([]), 'No runs on record yet.')
    expectIn(runs(Array(50).fill(sampleOperations.runs[0]!)), 'The 38 runs before')
  })

  it('a page of runs shows what failed, and escapes it', () => {
    const [run] = sampleOperations.runs
    const evil = '<script>alert(1)</script>'
    const text = runs([run!, { ...run!, status: 'failed', error: evil, failures: [] }])
    expectIn(text, 'Last runs', 'tenant 101, notes', 'HTTP 500', '&lt;script&gt;alert(1)')
    expect(count(text, '<script')).toBe(1)
    const drifted = operations({
      ...sampleOperations,
      drift: [{ ...sampleOperations.drift[0]!, path: evil, example: evil }],
      incidents: [{ ...sampleOperations.incidents[0]!, message: evil }],
    })
    expect(count(drifted, '<script')).toBe(1)
  })

  it('name a request by its list', () => {
    const message = 'GET /api/v1/tenants/101/notes?updated_after=0001-01-01T00%3A00&page=1 answered 500'
    const text = operations({
      ...sampleOperations,
      incidents: [{ ...sampleOperations.incidents[0]!, message }],
    })
    expectIn(text, 'GET notes answered 500')
    expectNotIn(text, 'updated_after')
  })
})

describe('any number of businesses', () => {
  it('one has no choice and no comparison', () => {
    const text = page(one)
    expectNotIn(text, 'data-pick="scope"')
    expectNotIn(text, 'highest sales first')
  })

  it('a business with few shops can be viewed by shop, without what only a business has', () => {
    const text = page(sampleReport({ withShops: true }))
    expect(count(text, 'data-scope="')).toBe(3)
    expectIn(text, 'Shop <select data-pick="scope">', 'Shop 2</option>')
    const [, shop = ''] = text.split('data-scope="shop-101-2"')
    expectIn(shop, 'Sales and gross profit by month', 'Gross profit by advisor')
    expectNotIn(shop, 'Customers by their last visit', 'Cycle time', '<h2>Shops')
  })

  it('few can be selected, each with all figures', () => {
    const text = page(sampleReport({ tenants: 3 }))
    expect(count(text.split('data-pick="period"')[0] ?? '', '<option')).toBe(4)
    expect(count(text, 'data-scope="')).toBe(4)
    expect(count(text, 'Can I trust it\\?')).toBe(4)
    const ids = [...text.matchAll(/ id="([^"]+)"/g)].map(([, id]) => id)
    expect(new Set(ids).size).toBe(ids.length)
  })

  it('500 are compared in a table that shows the first 15 until asked, and can be searched', () => {
    const text = page(sampleReport({ tenants: 500 }), true)
    expect(count(text, '<tr data-name=')).toBe(500)
    expectIn(text, 'data-search')
    expectNotIn(text, 'data-pick="scope"')
    expectIn(text, 'The first 15 of 500 businesses are shown.', 'data-all>Show all 500<', 'class="stack cut"')
    // Too many shops for colors: one plain bar for all of them.
    expectNotIn(text, 'other shops', ' by month and shop')
    expectIn(text, 'Sales and gross profit by month<')
    expect(text.length).toBeLessThan(1_500_000)
  })
})

describe('what must not mislead', () => {
  const scope = one.scopes[0]!

  it('all other people have a number and no bar, so that the bars of the first can be seen', () => {
    const advisors = Array.from({ length: 400 }, (_, i) => ({
      ...{ key: `101-${i}`, name: `Advisor ${i}` },
      amounts: amounts({ gross_profit_cents: 10_000 - i, sales_cents: 20_000 }),
    }))
    const { rows } = advisorsRanking({ ...scope.periods[0]!, advisors })
    expect(rows.map(({ bar }) => bar).slice(0, 2)).toEqual([1, 0.9999])
    expect(rows.at(-1)).toMatchObject({ name: '390 other advisors', bar: null })
    expect(rows).toHaveLength(11)
  })

  it('an axis begins at zero', () => {
    const figure = averageOrderFigure({ lastMonth: one.lastMonth, scope })
    expectIn(draw(figure.chart, { width: 536, height: 250, isNarrow: false }), />\$0<\/text>/)
    expectNotIn(page(one), 'axis does not start')
  })

  it('the pace is of the shops that its text compares, with the projection dashed', () => {
    const figure = paceFigure({ lastMonth: one.lastMonth, scope })
    expect(figure.chart.series.at(-1)).toMatchObject({ name: 'Projected', isDashed: true })
    expect(figure.chart.series.at(-1)?.values.slice(28)).toEqual([expect.any(Number), 9_300_000, null])
    expect(figure.finding).toContain('Projected for the month: ≈\u00a0$94,000')
    expectIn(draw(figure.chart, { width: 536, height: 250, isNarrow: false }), 'stroke-dasharray')
    const newer = scope.periods.map((answer) => ({
      ...answer,
      comparisons: answer.comparisons.map((one) => ({ ...one, shops: 2, shopsLeftOut: 1 })),
    }))
    const words = paceFigure({ lastMonth: one.lastMonth, scope: { ...scope, periods: newer } })
    expect(words.definition).toMatch(/The lines are of the same 2 of 3 shops, which sold \$\d/)
    expect(words.finding).toContain('the month before (same 2 of 3 shops)')
  })

  it('the owner reads no word of the machinery', () => {
    expectNotIn(page(one), 'at_least_due_cents', /[Qq]uarantine/, /\d lists?\b/, 'unknown total are')
    expectIn(page(one), '<dt>Set aside</dt><dd><b>3 values</b>', '60 of 60')
  })

  it('yesterday has its figures, each next to the same weekday, and the projection is marked', () => {
    const text = page(one)
    expectIn(
      text,
      'Saturday, November 21, 2026: $4,120 of sales, 20.0% below the Saturday before (same 2 of 3 shops).',
    )
    for (const label of ['Sales', 'Cars', 'Average repair order', 'Collected', 'Deposits'])
      expectIn(text, `<dt>${label}</dt>`)
    expectIn(
      text,
      '−20.0% <small>vs. Sat, Nov 14</small>',
      '<dt>Projected for the month</dt><dd><b>≈\u00a0$94,000</b>',
    )
    const none = { ...one, scopes: [{ ...scope, day: null, projection: null }] }
    expectIn(page(none), 'How was yesterday?', 'No shop was open.')
    expectNotIn(page(none), 'Projected')
  })

  it('lists have advisor, technician and status; phones only if there are any', () => {
    const text = page(one)
    for (const head of ['advisor', 'technician', 'status', 'days since pick-up'])
      expectIn(text, `>${head}</th>`)
    expectNotIn(text, '>phone</th>', '>email</th>')
    expectIn(
      text,
      '5 orders',
      '6 cars, 1 of them picked up',
      '38 recommendations; the first 1 below',
      '8:00 AM CST',
    )
    const phone = '(615) 555-3747'
    const tasks = scope.tasks.map((list) => ({
      ...list,
      tasks: list.tasks.map((task) => ({ ...task, contacts: [phone] })),
    }))
    expectIn(page({ ...one, scopes: [{ ...scope, tasks }] }), '>phone</th>', phone)
  })
})

describe('the operator’s page', () => {
  it('has a headline, zeros apart, and colors what is late', () => {
    const [target] = sampleOperations.targets
    const late = { ...sampleOperations, targets: [{ ...target!, met: 0, missed: 9 }] }
    expectIn(
      operations(late),
      '9 of 9 lists proven · oldest 19 minutes · 1 incident open · next run Nov 22, 2026, 09:00 UTC',
      '<td class="none">0</td>',
      '<td class="text trouble">0.0%</td>',
    )
    expectNotIn(operations({ ...sampleOperations, nextRun: null }), 'next run')
  })

  it('folds the drift that the first load saw, and names the worst tenants', () => {
    expectIn(
      operations({ ...sampleOperations, driftSince: 0, driftSeen: 24 }),
      '<summary>Drift: 24 kinds, all seen by the first load',
    )
    expectNotIn(operations(sampleOperations), '<summary>Drift')
    const worst = {
      ...{ tenant: 'Main Street Auto', lists: 21, failing: 3, unproven: 1, stale: 0 },
      completeThrough: '2026-11-20T07:55:12.000000Z',
    }
    expectIn(
      operations({ ...sampleOperations, troubled: { all: 40, worst: [worst] } }),
      'Tenants that need attention: 40',
      'Main Street Auto',
      'The worst 1 of 40.',
    )
    expectNotIn(operations(sampleOperations), 'Tenants that need attention')
  })

  it('shows the id of each run', () => {
    expectIn(runs(sampleOperations.runs), '<small>20261122T080001Z-1</small>')
  })
})

describe('little data', () => {
  it('a warehouse that was never synced gets a kind sentence', () => {
    const empty = { ...one, months: [], lastMonth: null, periods: [], scopes: [], tenants: [] }
    const text = page(empty)
    expectIn(text, 'No data yet')
    expectIn(text, 'Run shopsync sync')
    expectNotIn(text, '<figure')
    expect(answersText(empty)).toContain('Run shopsync sync')
  })

  it('a business without invoices has charts that say so', () => {
    const scope = one.scopes[0]!
    const none: ReportData = {
      ...one,
      months: [],
      lastMonth: null,
      periods: [],
      scopes: [
        {
          ...scope,
          ...{ span: [], months: [], advice: [], cycles: [], byShop: [], periods: [], pace: [] },
          ...{ receivables: [], standings: [] },
          needs: { ...scope.needs, receivables: { ...scope.needs.receivables, unknown: 0 } },
        },
      ],
    }
    const text = page(none, true)
    expectIn(
      text,
      'No invoice has been closed yet.',
      'Nothing is owed.',
      'No day of this month is complete yet.',
    )
    expectNotIn(text, /NaN|undefined|Infinity/, '<select')
  })

  it('shows what is unknown as unknown, and counts it', () => {
    const scope = one.scopes[0]!
    const unknown = amounts({
      ...{ sales_cents: 120_000, invoices: 4, gross_profit_cents: [null, null, 4] },
      ...{ gross_margin: [null, null, 4], average_repair_order: [120_000, 4] },
    })
    const [first] = scope.periods
    const answer = { ...first!, amounts: unknown, comparisons: [] }
    const text = page({
      ...one,
      scopes: [{ ...scope, periods: [answer], months: scope.months.map(() => unknown) }],
    })
    expectIn(text, '<dt>Gross profit</dt><dd><b>–</b>', 'leaves out 4 invoices')
    expectNotIn(text.split('Every figure')[0] ?? '', '– gross margin')
    expectIn(text, 'Not compared with the year before: no shop has data that far back.')
    expectNotIn(text, /NaN|undefined|Infinity/)
  })
})

describe('can I trust it?', () => {
  const trust = sampleTrust(60)
  const said = (more: object) => trustSentence({ ...trust, ...more }, one.madeAt)

  it('names lists that are unavailable, which are no reason for doubt', () => {
    expect(said({ unavailable: 1 })).toEqual({
      sentence: expect.stringMatching(/^Yes\..*, without 1 set of records that the source doesn’t offer\.$/),
      tone: 'good',
    })
  })

  it.each([
    [
      'rows of another source',
      { foreign: 'http://a (partner 42)' },
      'the data is from http://a (partner 42)',
      'bad',
    ],
    ['a list that may be incomplete', { failing: 2 }, '2 of 60 sets of records may be incomplete', 'bad'],
    ['a tenant without a grant', { revoked: ['Main'] }, 'Main no longer grants access', 'bad'],
    [
      'totals that payments do not equal',
      { totals: { ...trust.totals, equal: 970, rounding: 9, more: 21 } },
      'payments match the total on only 97.9% of 1,000 paid invoices',
      'bad',
    ],
    [
      'a list without an end',
      { completeThrough: null },
      'not every set of records has been read to its end',
      'watch',
    ],
    [
      'a first load under way',
      { isLoading: true, completeThrough: null, verdicts: { ...trust.verdicts, none: 40 } },
      'entirely: the first load is under way, and not every set of records has been read yet. For',
      'watch',
    ],
    ['old data', { isStale: true }, 'some of the data is 19 minutes old', 'watch'],
    [
      'very old data',
      { isStale: true, completeThrough: '2026-11-12T08:15:00.000000Z' },
      'some of the data is 10 days old',
      'watch',
    ],
    [
      'deletions that nobody checked',
      { deletesUnchecked: 60 },
      'deletions in 60 of 60 sets of records',
      'watch',
    ],
    ['an incident', { incidents: { open: 1, kinds: ['drift'] } }, '1 incident is open (drift)', 'watch'],
  ])("isn't answered with yes if %s", (_, more, words, tone) => {
    const { sentence, tone: found } = said(more)
    expect([sentence.startsWith('Not entirely: '), found]).toEqual([true, tone])
    expectIn(sentence, words)
  })

  it('is yes at 98 %, with nothing to compare, and no if there is nothing', () => {
    const of = (equal: number, rounding: number, more: number) =>
      said({ totals: { ...trust.totals, equal, rounding, more } }).sentence
    expectIn(of(970, 10, 20), 'Yes. The data is complete')
    expectIn(of(0, 0, 0), 'Yes. The data is complete')
    expect(said({ lists: 0 })).toMatchObject({ tone: 'bad', sentence: expect.stringMatching(/^No: /) })
  })

  it('names each problem, worst first', () => {
    const { sentence, tone } = said({
      ...{ isStale: true, failing: 1, foreign: 'http://a (partner 42)' },
      incidents: { open: 2, kinds: ['stale'] },
    })
    expect(sentence).toMatch(
      /the data is from .*, so nothing is updated; 1 of 60 sets of records may be incomplete; some of the data is 19 minutes old; 2 incidents are open \(stale\)/,
    )
    expect(tone).toBe('bad')
  })
})

describe('shares and changes', () => {
  it('divide by what they cover, and nothing crosses zero', () => {
    const [answer] = one.scopes[0]!.periods
    const known = answer!.costBands.map((line) => line.amounts.get('parts_margin')!)
    const of = (key: 'numerator' | 'denominator') => known.reduce((sum, value) => sum + (value[key] ?? 0), 0)
    const ranking = marginRanking(answer!)
    expect(ranking.finding).toBe(
      `${((100 * of('numerator')) / of('denominator')).toFixed(1)}% across all parts.`,
    )
    expect(ranking.leftOut).toEqual(['Left out: 12 parts without a known price or cost.'])
    expect([trendOf(-5, 10), trendOf(5, -10), trendOf(-5, -10)]).toEqual([null, null, null])
    expect(trendOf(0, 10)?.text).toBe('−100.0%')
  })

  it('compare the same shops, and show how many are left out', () => {
    const text = page(one)
    expectIn(text, /the month before and [\d.]+% (above|below) the year before \(same 2 of 3 shops\)/)
    expectIn(text, /vs\. Oct 2025<\/small><\/span><span class="same">same 2 of 3 shops<\/span>/)
    expectIn(text, 'Changes compare the same shops')
  })

  it('distinguishes credits from what is to be collected', () => {
    const scope = one.scopes[0]!
    const receivables = scope.receivables.map((line) => ({ ...line, overpaid: 1 }))
    const owed = { ...scope.needs.receivables, overpaid: 4 }
    const text = page({
      ...one,
      scopes: [{ ...scope, receivables, needs: { ...scope.needs, receivables: owed, creditCents: 2000 } }],
    })
    expectIn(text, 'Credits are not included: $20 on 4 overpaid invoices.')
    expectIn(text, 'credits of $20 on 4 invoices not included', '$12,518 to collect ($3,398 of it overdue)')
  })
})

describe('the answers in words', () => {
  it('are those of the page', () => {
    const text = answersText(one)
    expectIn(text, 'Can I trust it?')
    expectIn(text, 'Yes. The data is complete up to 19 minutes before this report.')
    expectIn(text, /October 2026: \$[\d,]+ of sales/)
    expectIn(text, '4 of 7 appointments and 5 of 6 promised pick-ups still due today')
    expectIn(text, '5 orders past the promised time')
    const [, sales = ''] = /Sales +(\$[\d,]+)/.exec(text) ?? []
    expect(page(one)).toContain(`<b>${sales}</b>`)
  })
})
