/** What applies to every declaration of a figure, including future ones: `npm run build` refuses a wrong one. */
import { describe, expect, it } from 'vitest'
import { type DeclaredFigure, defineFigure } from '../../../schema/figure.js'
import { figures } from '../../../schema/figures/index.js'
import orders from '../../../schema/views/orders.js'
import { figureComplaints } from '../../support/harness/views.js'

describe('a declaration', () => {
  const good = {
    name: 'sales_cents',
    label: 'Sales',
    doc: 'Sales.',
    unit: 'cents',
    relation: orders,
  } as const
  const rest = { day: 'closed_on', by: [], lists: ['repair_orders'] } as const
  const wrong = (figure: object): string[] => figureComplaints([figure as DeclaredFigure])

  it('of the product has no faults', () => {
    expect(figureComplaints(figures)).toEqual([])
    expect(wrong(defineFigure({ ...good, ...rest, numerator: { sum: 'sales_cents' } }))).toEqual([])
  })

  it.each([
    [
      'a column that is not there',
      { numerator: { sum: 'sale_cents' } },
      'found sale_cents, expected columns of orders: ',
    ],
    [
      'a condition on one',
      { numerator: { sum: 'sales_cents' }, where: "stat = 'invoice'" },
      'found stat, expected',
    ],
    [
      'a dimension that is not there',
      { numerator: { sum: 'sales_cents' }, by: ['advisor'] },
      'found advisor, expected',
    ],
    [
      'a sum of a rate',
      { numerator: { sum: 'labor_tax_rate' } },
      'found a sum of labor_tax_rate, expected cents, hours or counts',
    ],
    [
      'a sum of a text',
      { numerator: { sum: 'coalesce(number, 0) + shop_name' } },
      'found a sum of shop_name, expected',
    ],
    [
      'a day that is none',
      { numerator: { sum: 'sales_cents' }, day: 'closed_at' },
      'found the timestamp closed_at as its day',
    ],
    [
      'a unit that its name denies',
      { numerator: { sum: 'sales_cents' }, name: 'sales' },
      'found the unit cents under the name sales',
    ],
    [
      'a figure to split that is not there',
      { numerator: { sum: 'sales_cents' }, splits: 'turnover' },
      'found that it splits turnover',
    ],
    [
      'a snapshot that is not there',
      { numerator: { sum: 'sales_cents' }, snapshot: 'x' },
      'found the snapshot x, expected a column of daily_snapshots',
    ],
  ])('with %s is refused, with its file and what was expected', (_, part, words) => {
    const [first = ''] = wrong({ ...good, ...rest, ...part })
    expect(first).toContain(`schema/figures/${'name' in part ? part.name : 'sales_cents'}.ts: `)
    expect(first).toContain(words)
  })
})
