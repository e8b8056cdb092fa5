import type { Resource } from '../../../../schema/resource.js'
import { placeOf, tablesOf, tupleColumns } from '../table.js'
import type { Flattened, Tuple, Value } from './batch.js'
import type { DeclaredValue } from './slowpath.js'
import { PageFindings, SlowPath } from './slowpath.js'

/** Flattens a list of plain strings: each is its own key, equal ones make one row, and no records are counted. */
export function flattenStrings(resource: Resource, items: readonly unknown[]): Flattened {
  const findings = new PageFindings(resource.name)
  const sink = new SlowPath(findings)
  const [table] = tablesOf(resource)
  const rows = new Map<string, Tuple[]>()
  if (!table) return { records: [], rows, quarantine: [], unstorable: 0, drift: [] }
  const key = table.key[1] ?? 'name'
  const site: DeclaredValue = { kind: 'text', path: '', values: null }
  const seen = new Set<Value>()
  const tuples: Tuple[] = []
  for (const item of items) {
    const name = sink.stringItem(item, site)
    if (name === null || seen.has(name)) continue
    seen.add(name)
    const tuple: Tuple = tupleColumns(table).map(() => null)
    tuple[placeOf(table, key)] = name
    tuples.push(tuple)
  }
  rows.set(table.name, tuples)
  return {
    records: [],
    rows,
    quarantine: findings.entries(),
    unstorable: findings.unstorable,
    drift: findings.drifts(),
  }
}
