/* Every declared figure for a period, including figures added later. */
import { count } from '../../engine/base/format.js'
import { leftOutOf } from './amounts.js'
import type { PeriodAnswer } from './data.js'
import { cellOf, type Ranking } from './ranking.js'
import { flowFigures } from './read/gather.js'

/** Every declared figure for the period, with what it leaves out. A new figure shows up here by itself. */
export function figuresRanking({ period, amounts }: PeriodAnswer): Ranking {
  return {
    id: 'figures',
    title: `Every figure, ${period.label}`,
    finding: '',
    definition:
      'For definitions and SQL: shopsync dictionary. The view shop_months has the same figures by month.',
    leftOut: [],
    of: 'figure',
    columns: ['Amount', 'Left out'],
    rows: [...flowFigures]
      .sort((a, b) => (a.label < b.label ? -1 : 1))
      .map((figure) => {
        const left = leftOutOf(amounts, figure)
        const words = left > 0 && figure.leavesOut ? `${count(left)} ${figure.leavesOut.what}` : ''
        return { name: figure.label, bar: null, cells: [cellOf(amounts, figure), { text: words }] }
      }),
    nothing: 'No figures are declared.',
    isWordy: true,
  }
}
