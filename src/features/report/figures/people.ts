import { count, plural } from '../../../engine/base/format.js'
import type { ChartColor, Figure } from '../chart.js'
import { moneyText, percentText } from '../numberwords.js'
import { aboutPartial, type FigureInput, lastWhole, overMonths, sumOf } from './sales.js'

/* Customers, and what they owe. */

export function customersFigure(input: FigureInput): Figure {
  const { months, scope } = input
  const last = lastWhole(input)
  return {
    id: 'customers',
    title: 'Customers: new and returning',
    finding:
      last && last[1].customers > 0
        ? `${last[0]}: ${percentText(last[1].newCustomers, last[1].customers)} of ${plural(last[1].customers, 'customer')} came for the first time.`
        : '',
    definition:
      'Customers with an invoice in the month: new ones had none before, returning ones had. Each customer counts once a month.',
    leftOut: aboutPartial(months),
    chart: {
      shape: 'columns',
      unit: 'count',
      ...overMonths(months),
      series: [
        {
          name: 'Returning',
          color: 'blue',
          values: scope.months.map(({ customers, newCustomers }) => customers - newCustomers),
        },
        { name: 'New', color: 'orange', values: scope.months.map(({ newCustomers }) => newCustomers) },
      ],
    },
    extra: [],
    nothing: 'No customer has had an invoice yet.',
  }
}

/** In the order in which customers are lost. */
const standings: readonly (readonly [standing: string, name: string, color: ChartColor])[] = [
  ['active', 'active', 'blue'],
  ['lapsing', 'lapsing', 'orange'],
  ['lost', 'lost', 'grey'],
]

export function standingFigure({ scope }: FigureInput): Figure {
  const of = (standing: string) => scope.standings.find((line) => line.standing === standing)
  const never = of('never')?.customers ?? 0
  const visited = sumOf(standings, ([standing]) => of(standing)?.customers ?? 0)
  return {
    id: 'standing',
    title: 'Customers by their last visit',
    finding:
      visited > 0
        ? `${percentText(of('lapsing')?.customers ?? 0, visited)} are lapsing: a call may bring them back.`
        : '',
    definition:
      'All customers who ever had an invoice, by the day of the last one. Active: up to 180 days ago. Lapsing: up to a year ago. Lost: longer ago.',
    leftOut: never > 0 ? [`${plural(never, 'customer')} without any invoice are left out.`] : [],
    chart: {
      shape: 'bars',
      unit: 'count',
      of: 'last visit',
      categories: standings.map(([, name]) => name),
      series: [
        {
          name: 'Customers',
          color: 'blue',
          colors: standings.map(([, , color]) => color),
          values: standings.map(([standing]) => of(standing)?.customers ?? 0),
        },
      ],
    },
    extra: [
      {
        title: 'Sales so far',
        cells: standings.map(([standing]) => moneyText(of(standing)?.salesCents ?? 0)),
      },
    ],
    nothing: 'No customer has had an invoice yet.',
  }
}

const ages = ['0 to 30', '31 to 60', '61 to 90', 'over 90'] as const
const ageColors: readonly ChartColor[] = ['step2', 'step3', 'step4', 'step5']

export function receivablesFigure({ scope }: FigureInput): Figure {
  const of = (bucket: string) => scope.receivables.find((line) => line.bucket === bucket)
  const unknown = sumOf(scope.receivables, (line) => line.unknown)
  const overpaid = sumOf(scope.receivables, (line) => line.overpaid)
  const credits = sumOf(scope.receivables, (line) => line.creditCents)
  const atLeast = sumOf(scope.receivables, (line) => line.atLeastCents)
  const cents = sumOf(scope.receivables, (line) => line.cents)
  const old = sumOf(ages.slice(1), (bucket) => of(bucket)?.cents ?? 0)
  return {
    id: 'receivables',
    title: 'Receivables by age',
    finding:
      cents > 0
        ? `${moneyText(cents)} to collect, ${percentText(old, cents)} of it for more than 30 days.`
        : '',
    definition:
      'What is to be collected: the positive balances of invoices, by the days since they were closed.',
    leftOut: [
      ...(unknown > 0
        ? [
            `${plural(unknown, 'invoice')} with an unknown total ${unknown === 1 ? 'is' : 'are'} left out${atLeast > 0 ? `; at least ${moneyText(atLeast)} is owed there` : ''}.`,
          ]
        : []),
      ...(overpaid > 0
        ? [
            `Credits are apart: ${moneyText(credits)} on ${plural(overpaid, 'invoice')} paid beyond the total.`,
          ]
        : []),
    ],
    chart: {
      shape: 'columns',
      unit: 'money',
      of: 'days since closing',
      categories: ages.map((age) => `${age} days`),
      series: [
        {
          name: 'Open',
          color: 'step3',
          colors: ageColors,
          values: ages.map((age) => of(age)?.cents ?? 0),
        },
      ],
    },
    extra: [
      { title: 'Invoices', cells: ages.map((age) => count(of(age)?.invoices ?? 0)) },
      { title: 'Credits', cells: ages.map((age) => moneyText(of(age)?.creditCents ?? 0)) },
      { title: 'Of unknown total', cells: ages.map((age) => count(of(age)?.unknown ?? 0)) },
    ],
    nothing: 'Nothing is owed.',
  }
}
