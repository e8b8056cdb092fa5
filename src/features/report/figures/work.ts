import { count, plural } from '../../../engine/base/format.js'
import type { ChartColor, Figure } from '../chart.js'
import { cycleBands } from '../data.js'
import { hoursText, moneyText, percentText } from '../numberwords.js'
import { aboutPartial, type FigureInput, lastWhole, overMonths, sumOf } from './sales.js'

/* Who did the work, how long it took, what parts brought, and what became of recommendations. */

const mostTechnicians = 12

export function techniciansFigure(input: FigureInput): Figure {
  const { scope } = input
  const month = lastWhole(input)?.[0] ?? ''
  const shown = scope.technicians.slice(0, mostTechnicians)
  const hidden = scope.technicians.length - shown.length
  const rest = sumOf(scope.technicians.slice(mostTechnicians), ({ hours }) => hours)
  return {
    id: 'technicians',
    title: 'Technicians’ hours sold',
    finding:
      month === ''
        ? ''
        : `${month}: ${hoursText(sumOf(scope.technicians, ({ hours }) => hours))} hours by ${plural(scope.technicians.filter(({ hours }) => hours > 0).length, 'technician')}.`,
    definition: `Labor hours on invoices that were closed in ${month}, beside the average of the three months before it.`,
    leftOut: [
      ...(hidden > 0
        ? [`${plural(hidden, 'technician')} with ${hoursText(rest)} hours together are not drawn.`]
        : []),
      ...(scope.hoursWithoutTechnician > 0.05
        ? [`${hoursText(scope.hoursWithoutTechnician)} hours name no technician.`]
        : []),
    ],
    chart: {
      shape: 'bars',
      unit: 'hours',
      of: 'technician',
      categories: shown.map(({ name }) => name),
      series: [
        { name: month, color: 'blue', values: shown.map(({ hours }) => hours) },
        { name: 'Three months before', color: 'grey', values: shown.map(({ usualHours }) => usualHours) },
      ],
    },
    extra: [{ title: 'Invoices', cells: shown.map(({ invoices }) => count(invoices)) }],
    nothing: 'No hours have been sold yet.',
  }
}

/** `0 under 5`, as the view sorts it: the number goes, the dollars stay. */
const bandName = (band: string): string =>
  /^\d /.test(band)
    ? `$${band
        .slice(2)
        .replace(/(\d) to (\d)/, '$1 to $$$2')
        .replace(/^under /, 'under $')}`.replace('$under', 'under')
    : band

export function marginFigure({ scope }: FigureInput): Figure {
  const bands = scope.costBands
  const known = bands.filter(({ band }) => band !== 'unknown')
  // Sold, cost and margin are of the same lines: those whose price and cost are known.
  const sold = sumOf(known, ({ soldCents }) => soldCents)
  const without = sumOf(bands, ({ withoutCost }) => withoutCost)
  return {
    id: 'parts-margin',
    title: 'Parts margin by cost',
    finding:
      sold > 0
        ? `${percentText(
            sumOf(known, ({ marginCents }) => marginCents),
            sold,
          )} over all parts of known price and cost.`
        : '',
    definition:
      'Of parts on invoices of the last twelve whole months, by what one unit cost: what is left of the price after the cost, before discounts.',
    leftOut: without > 0 ? [`${plural(without, 'line')} without a known price or cost are left out.`] : [],
    chart: {
      shape: 'columns',
      unit: 'percent',
      of: 'cost of a unit',
      categories: known.map(({ band }) => bandName(band)),
      series: [
        {
          name: 'Margin',
          color: 'green',
          values: known.map(({ marginCents, soldCents }) =>
            soldCents === 0 ? null : (100 * marginCents) / soldCents,
          ),
        },
      ],
    },
    extra: [
      { title: 'Lines', cells: known.map(({ parts }) => count(parts)) },
      { title: 'Sold', cells: known.map(({ soldCents }) => moneyText(soldCents)) },
      { title: 'Cost', cells: known.map(({ costCents }) => moneyText(costCents)) },
    ],
    nothing: 'No part has been sold yet.',
  }
}

export function adviceFigure({ months, scope }: FigureInput): Figure {
  const { advice } = scope
  const all = sumOf(advice, (a) => a.approved + a.soldLater + a.declined + a.undecided)
  const sold = sumOf(advice, (a) => a.approved + a.soldLater)
  const without = sumOf(advice, ({ withoutValue }) => withoutValue)
  const series = (
    [
      ['Approved', 'blue', 'approved'],
      ['Sold later', 'sky', 'soldLater'],
      ['Undecided', 'grey', 'undecided'],
      ['Declined', 'rust', 'declined'],
    ] as const
  ).map(([name, color, key]) => ({ name, color, values: advice.map((month) => month[key]) }))
  return {
    id: 'recommendations',
    title: 'Recommendations',
    finding: all > 0 ? `${percentText(sold, all)} of ${count(all)} were sold, at once or later.` : '',
    definition:
      'By the month in which they were made. Sold later: declined or undecided at first, and taken into an order afterwards.',
    leftOut: [
      ...(without > 0 ? [`${plural(without, 'recommendation')} without a known price are in no value.`] : []),
      ...aboutPartial(months),
    ],
    chart: { shape: 'columns', unit: 'count', ...overMonths(months), series },
    extra: [
      { title: 'Value', cells: advice.map(({ valueCents }) => moneyText(valueCents)) },
      {
        title: 'Sold',
        cells: advice.map((a) =>
          percentText(a.approved + a.soldLater, a.approved + a.soldLater + a.declined + a.undecided),
        ),
      },
    ],
    nothing: 'Nothing has been recommended yet.',
  }
}

const steps: readonly ChartColor[] = ['step1', 'step2', 'step3', 'step4', 'step5']

export function cycleFigure({ months, scope }: FigureInput): Figure {
  const { cycles } = scope
  const totals = cycles.map(({ bands }) => sumOf(bands, (orders) => orders))
  const without = sumOf(cycles, ({ unknown }) => unknown)
  const late = sumOf(cycles, (month) => month.late)
  const due = sumOf(cycles, (month) => month.due)
  return {
    id: 'cycle-time',
    title: 'Cycle time',
    finding: due > 0 ? `${percentText(late, due)} of orders that had a promised time were late.` : '',
    definition:
      'Invoices by the time from when the order was created until the car was picked up, in percent of the month in which they were closed. Late: closed after the promised time.',
    leftOut: [
      ...(without > 0
        ? [`${plural(without, 'invoice')} not picked up yet, or without a time, are left out.`]
        : []),
      ...aboutPartial(months),
    ],
    chart: {
      shape: 'columns',
      unit: 'percent',
      isWhole: true,
      ...overMonths(months),
      series: cycleBands.map((name, band) => ({
        name,
        color: steps[band] ?? 'grey',
        values: cycles.map(({ bands }, i) =>
          (totals[i] ?? 0) === 0 ? null : (100 * (bands[band] ?? 0)) / (totals[i] ?? 1),
        ),
      })),
    },
    extra: [
      { title: 'Orders', cells: totals.map((orders) => count(orders)) },
      { title: 'Late', cells: cycles.map((month) => percentText(month.late, month.due)) },
    ],
    nothing: 'No order has been picked up yet.',
  }
}
