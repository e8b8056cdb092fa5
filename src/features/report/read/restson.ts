/* Which lists the report's figures depend on: the tables that its views read. */
import type { View, ViewQuery, ViewWords } from '../../../../schema/view.js'
import { views as declaredViews } from '../../../../schema/views/index.js'
import type { Warehouse } from '../../../engine/warehouse/warehouse.js'

/** The resources whose rows these views show. */
export function restsOn(names: readonly string[], { tables }: Warehouse): ReadonlySet<string> {
  const read = tablesBehind(declaredViews.filter(({ name }) => names.includes(name)))
  const all = tables.filter(({ name }) => read.has(name)).map(({ resource }) => resource)
  return new Set(all.filter((resource) => resource !== ''))
}

/** Words without a meaning, which leave only a declaration's tables. Names of people and places aren't figures. */
const silent: ViewWords = {
  now: '',
  key: () => '',
  name: () => '',
  tenantName: () => '',
  ids: () => '',
  enabled: () => [],
  liveRows: () => '',
  zone: () => '',
  day: () => '',
  shopDay: () => ({ day: '', join: '' }),
  get byMonth() {
    return silent
  },
  dayNumber: () => '',
  month: () => '',
  dayText: () => '',
  minutes: () => '',
  nine: () => '',
  sumNine: () => '',
  summand: () => '',
  sums: () => '',
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
const tablesBehind = (views: readonly View[]): ReadonlySet<string> => new Set(views.flatMap(tablesOf))
