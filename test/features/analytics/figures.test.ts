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

  const sum = { numerator: { sum: 'sales_cents' } }
  it.each<[part: object, complaint: string]>([
    [{ numerator: { sum: 'sale_cents' } }, 'found sale_cents, expected columns of orders: '],
    [{ ...sum, where: "stat = 'invoice'" }, 'found stat, expected'],
    [{ ...sum, by: ['advisor'] }, 'found advisor, expected'],
    [
      { numerator: { sum: 'labor_tax_rate' } },
      'found a sum of labor_tax_rate, expected cents, hours or counts',
    ],
    [{ numerator: { sum: 'coalesce(number, 0) + shop_name' } }, 'found a sum of shop_name, expected'],
    [{ ...sum, day: 'closed_at' }, 'found the timestamp closed_at as its day'],
    [{ ...sum, name: 'sales' }, 'found the unit cents under the name sales'],
    [{ ...sum, splits: 'turnover' }, 'found that it splits turnover'],
    [{ ...sum, snapshot: 'x' }, 'found the snapshot x, expected a column of daily_snapshots'],
  ])('with %j is refused, with its file and what was expected', (part, complaint) => {
    const [first = ''] = wrong({ ...good, ...rest, ...part })
    expect(first).toContain(`schema/figures/${'name' in part ? part.name : 'sales_cents'}.ts: `)
    expect(first).toContain(complaint)
  })
})
