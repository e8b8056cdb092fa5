/** The periods that readers can choose, what each is compared with, and which shops count. */
import { describe, expect, it } from 'vitest'
import type { FigureRow } from '../../../src/features/analytics/figuresql.js'
import type { ReportPeriod } from '../../../src/features/report/data.js'
import { periodAnswer } from '../../../src/features/report/read/foldperiod.js'
import { paceMonths, periodsOf } from '../../../src/features/report/read/periods.js'
import { isOpenSince, monthsOf } from '../../../src/features/report/read/reportdays.js'
import { amounts } from './sample.js'

function calendarOf(first: string, today: string, completeDay = today) {
  const months = monthsOf({ first, today, completeDay })
  const whole = months.findLastIndex(({ isPartial }) => !isPartial)
  return { months, lastMonth: whole === -1 ? null : whole, completeDay }
}

const rangesOf = (periods: readonly ReportPeriod[]): string[][] =>
  periods.map(({ id, from, to, compared }) => [
    `${id} ${from} ${to}`,
    ...compared.map((range) => `${range.from} ${range.to}`),
  ])

describe('periods', () => {
  it('are the last month, the month so far and twelve months, compared with the same number of days before', () => {
    const calendar = calendarOf('2024-01-02', '2026-11-23')
    expect(rangesOf(periodsOf(calendar))).toEqual([
      ['last-month 2026-10-01 2026-11-01', '2026-09-01 2026-10-01', '2025-10-01 2025-11-01'],
      ['month-to-date 2026-11-01 2026-11-23', '2026-10-01 2026-10-23', '2025-11-01 2025-11-23'],
      ['last-12-months 2025-11-01 2026-11-01', '2024-11-01 2025-11-01'],
    ])
    expect(periodsOf(calendar)[1]).toMatchObject({
      label: 'November 1 to 22, 2026',
      compared: [{ label: 'Oct 1 to 22, 2026' }, { label: 'Nov 1 to 22, 2025' }],
    })
    expect(paceMonths(calendar)).toEqual(['2026-11', '2026-10', '2025-11'])
  })

  it('compare the last days of a long month with all of a short one', () => {
    const [, running] = periodsOf(calendarOf('2024-01-02', '2026-03-31'))
    expect(running).toMatchObject({
      to: '2026-03-31',
      compared: [
        { from: '2026-02-01', to: '2026-03-01', label: 'Feb 1 to 28, 2026' },
        { from: '2025-03-01', to: '2025-03-31' },
      ],
    })
  })

  it('have no month so far on its first day, and none if the data ends with a month', () => {
    const first = calendarOf('2026-01-02', '2026-11-01')
    expect(periodsOf(first).map(({ id }) => id)).toEqual(['last-month', 'last-12-months'])
    expect(paceMonths(first)).toEqual([])
    const stale = calendarOf('2026-01-02', '2026-11-20', '2026-10-12')
    expect(rangesOf(periodsOf(stale))[1]?.[0]).toBe('month-to-date 2026-10-01 2026-10-12')
  })

  it('are the first month only if there is no other, and none without invoices', () => {
    expect(rangesOf(periodsOf(calendarOf('2026-11-10', '2026-11-23')))).toEqual([
      ['month-to-date 2026-11-01 2026-11-23', '2026-10-01 2026-10-23', '2025-11-01 2025-11-23'],
    ])
    expect(periodsOf({ months: [], lastMonth: null, completeDay: '2026-11-23' })).toEqual([])
  })

  it('of fewer than twelve months start with the data, and are compared with nothing', () => {
    const [, , year] = periodsOf(calendarOf('2026-03-02', '2026-11-23'))
    expect(year).toMatchObject({ from: '2026-03-01', to: '2026-11-01', compared: [] })
  })
})

describe('the same shops', () => {
  it('are those whose first invoice is before the period, or in its first three days', () => {
    const since = (day: string | null) => isOpenSince(day, '2026-09-01')
    expect([since('2026-08-31'), since('2026-09-03'), since('2026-09-04'), since(null)]).toEqual([
      ...[true, true, false, false],
    ])
  })

  const [period] = periodsOf(calendarOf('2024-01-02', '2026-11-23'))
  const row = (shop: string | null, cents: number | null, left = 0): FigureRow => ({
    keys: { tenant_id: '101', shop_key: shop },
    values: amounts({ sales_cents: [cents, null, left] }),
  })
  const shops = [
    ['101-1', '2024-05-01'],
    ['101-2', '2026-09-20'],
    ['101-3', '2024-05-01'],
    ['101-4', null],
  ].map(([key, day]) => ({
    ...{ tenant_id: 101, tenant_name: '', shop_key: key ?? null, shop_name: key ?? null },
    ...{ first_day: day ?? null, time_zone: 'UTC' },
  }))
  const answerOf = (all: readonly FigureRow[], before: readonly FigureRow[], of = shops) =>
    periodAnswer(
      {
        ...{ period: period!, all, distinct: [], compared: [before, []], comparedCounts: [] },
        ...{ advisors: [], technicians: [], techniciansBefore: [], categories: [], costBands: [] },
      },
      {
        ...{ shops: of, lists: [], unread: [], customers: [], receivables: [], totals: [] },
        ...{ payments: [], recommendations: [], cycles: [] },
      },
      {},
      String,
    )
  const sales = (of: ReadonlyMap<string, { readonly numerator: number | null }> | undefined) =>
    of?.get('sales_cents')?.numerator

  it('are added up on both sides: one that has closed is included, a new one is on neither', () => {
    const { comparisons, amounts: whole } = answerOf(
      [row('101-1', 500), row('101-2', 300), row(null, 7)],
      [row('101-1', 400), row('101-2', 20), row('101-3', 50)],
    )
    const [before] = comparisons
    expect([sales(whole), sales(before?.now), sales(before?.before)]).toEqual([807, 500, 450])
    expect(before?.shopsLeftOut).toBe(1)
  })

  it('include rows without a shop if no shop is left out', () => {
    const [before] = answerOf(
      [row('101-1', 500), row(null, 7)],
      [row('101-1', 400), row(null, 3)],
    ).comparisons
    expect([sales(before?.now), sales(before?.before), before?.shopsLeftOut]).toEqual([507, 403, 0])
  })

  it('have no distinct count that was not counted over all of them', () => {
    const cars = (shop: string, count: number): FigureRow => ({
      keys: { tenant_id: '101', shop_key: shop },
      values: amounts({ cars: count }),
    })
    const { comparisons } = answerOf(
      [cars('101-1', 5), cars('101-3', 4)],
      [cars('101-1', 6), cars('101-3', 3)],
    )
    expect(comparisons[0]?.now.get('cars')?.numerator).toBeNull()
    expect(comparisons[0]?.before.get('cars')?.numerator).toBeNull()
  })

  it('are none if no shop reaches back', () => {
    const late = shops.map((shop) => ({ ...shop, first_day: '2026-10-05' }))
    expect(answerOf([row('101-1', 500)], [], late).comparisons).toEqual([])
  })

  it('a shop without any data is unknown, and counted', () => {
    const { amounts: whole } = answerOf([row('101-1', null, 4)], [])
    expect(whole.get('sales_cents')).toEqual({ numerator: null, denominator: null, leftOut: 4 })
  })
})
