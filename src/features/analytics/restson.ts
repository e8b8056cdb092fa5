/** Which tables views read, from their declarations: what figures rest on. Used by the report. */
import type { View, ViewQuery, ViewWords } from '../../../schema/view.js'

/** Words that say nothing: what is left of a declaration is its tables. Names of people and places are no figures. */
const silent: ViewWords = {
  now: '',
  key: () => '',
  name: () => '',
  tenantName: () => '',
  ids: () => '',
  liveRows: () => '',
  field: () => '',
  zone: () => '',
  day: () => '',
  shopDay: () => ({ day: '', join: '' }),
  figures: (_alias, rows, figures) => ({ figures, join: rows }),
  dayNumber: () => '',
  month: () => '',
  dayText: () => '',
  minutes: () => '',
  nine: () => '',
  sumNine: () => '',
  fromNine: () => '',
  quotient: () => '',
  amount: () => '',
  prorate: () => '',
}

const isList = (built: ViewQuery | readonly ViewQuery[]): built is readonly ViewQuery[] =>
  Array.isArray(built)

function tablesOf(view: View): string[] {
  const built = view.build(silent)
  const texts = (isList(built) ? built : [built]).flatMap((query) => [
    query.with ?? '',
    query.from,
    ...Object.values(query.select),
  ])
  return texts.flatMap((text) => [...text.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => name))
}

/** The tables that any of these views reads. */
export const tablesBehind = (views: readonly View[]): ReadonlySet<string> => new Set(views.flatMap(tablesOf))
