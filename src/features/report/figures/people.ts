/* Customers by month: new ones, and returning ones. */
import customersFigureOf from '../../../../schema/figures/customers.js'
import newCustomers from '../../../../schema/figures/new_customers.js'
import { plural } from '../../../engine/base/format.js'
import { figureAmount, leftOutText } from '../amounts.js'
import type { Figure } from '../chart.js'
import { percentText } from '../numberwords.js'
import { aboutPartial, type FigureInput, lastWhole, overMonths } from './overmonths.js'

export function customersFigure(input: FigureInput): Figure {
  const { scope } = input
  const last = lastWhole(input)
  const all = last && figureAmount(last[1], customersFigureOf)
  const isNew = last && figureAmount(last[1], newCustomers)
  return {
    id: 'customers',
    title: 'Customers: new and returning',
    finding:
      last && all
        ? `${last[0]}: ${percentText(isNew ?? 0, all)} of ${plural(all, 'customer')} came for the first time.`
        : '',
    definition:
      'Customers with an invoice in the month. New customers had none before; returning customers did. Each customer counts once per month.',
    leftOut: [...leftOutText(scope.months, customersFigureOf), ...aboutPartial(scope.span)],
    chart: {
      shape: 'columns',
      unit: 'count',
      ...overMonths(scope.span),
      series: [
        {
          name: 'Returning',
          color: 'blue',
          values: scope.months.map((month) => {
            const customers = figureAmount(month, customersFigureOf)
            return customers === null
              ? null
              : Math.max(0, customers - (figureAmount(month, newCustomers) ?? 0))
          }),
        },
        {
          name: 'New',
          color: 'orange',
          values: scope.months.map((month) => figureAmount(month, newCustomers)),
        },
      ],
    },
    extra: [],
    nothing: 'No customer has had an invoice yet.',
  }
}
