/** Which columns of the warehouse's tables a view reads, found in its declaration. */
import type { View, ViewQuery, ViewWords } from './view.js'

/** Words that say nothing but the arguments they were given: what is left names the columns. */
const bare: ViewWords = {
  now: '',
  key: (...all) => all.join(' '),
  // Names of people and places are shown, never computed with; without one, the id is shown.
  name: () => '',
  tenantName: () => '',
  ids: () => '',
  enabled: (resources) => [...resources],
  liveRows: () => '',
  zone: (...all) => all.join(' '),
  day: (...all) => all.join(' '),
  shopDay: (_, ...all) => ({ day: all.join(' '), local: '', join: '' }),
  dayNumber: (day) => day,
  month: (day) => day,
  dayText: (day) => day,
  minutes: (...all) => all.join(' '),
  nine: (number) => number,
  units: (number) => number,
  sumNine: (number) => number,
  summand: (value = '') => value,
  sums: (_keys, _names, query) => query,
  fromNine: (whole) => whole,
  quotient: (...all) => all.join(' '),
  amount: (units, cents) => `${units} ${cents}`,
}

const isList = (built: ViewQuery | readonly ViewQuery[]): built is readonly ViewQuery[] =>
  Array.isArray(built)

/** By table: the columns that the view's queries name, whatever they do with them. */
export function columnsRead(view: View): Map<string, Set<string>> {
  const built = view.build(bare)
  const found = new Map<string, Set<string>>()
  for (const query of isList(built) ? built : [built]) {
    const text = [query.with ?? '', ...Object.values(query.select), query.from].join('\n')
    for (const [, table = '', alias = ''] of text.matchAll(/\{(\w+)\}\s+(?:as\s+)?(\w+)/g)) {
      const columns = found.get(table) ?? new Set<string>()
      found.set(table, columns)
      for (const [, column = ''] of text.matchAll(new RegExp(`\\b${alias}\\.(\\w+)`, 'g')))
        columns.add(column)
    }
  }
  return found
}
