/*
 * Everything that decides what a stored row looks like, as one short text: the settings by name, each with a digest of
 * its value, and the program's own tables and rules. Equal texts make equal rows. The warehouse keeps the text
 * (src/engine/warehouse/lease/oneconfiguration.ts); digests keep it short, and keep names of customers out of messages.
 */
import { createHash } from 'node:crypto'
import { derivedTables, resources } from '../../../schema/index.js'
import { keyCheck } from './privacy.js'
import type { Model } from './resourcemodel.js'
import { derivedTable, type Table, tablesOf } from './table.js'

/** What a program makes of records, whatever its configuration: an older one must not write beside a newer one. */
export const programKey = 'program'

/** The order of members means nothing. */
const sorted = (_: string, value: unknown): unknown =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
    ? Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)))
    : value

const digest = (text: string): string => createHash('sha256').update(text).digest('hex').slice(0, 12)

const columnsOf = ({ name, columns }: Table): unknown => [
  name,
  columns.map((column) => [column.name, column.kind]),
]

const ofProgram = (): string =>
  JSON.stringify([
    Object.values(resources).flatMap(tablesOf).map(columnsOf),
    Object.values(derivedTables).map((derived) => [derived.version, columnsOf(derivedTable(derived))]),
  ])

/** Only what differs from the defaults, so a new resource changes nothing. `enabled` shapes no row: hosts may share lists. */
function ofResources({ list, privacy, hidden }: Model): Record<string, unknown> {
  const found: Record<string, unknown> = {}
  if (hidden.size > 0) found.privacy = [[...hidden], privacy.keyVersion, keyCheck(privacy)]
  for (const { name, resource, promoted, history, path } of list) {
    if (Object.keys(promoted).length > 0) found[`resources.${name}.columns`] = promoted
    if (history) found[`resources.${name}.history`] = true
    if (path !== (resource.path ?? name)) found[`resources.${name}.path`] = path
  }
  return found
}

/** `ofFeatures`: the settings of features that shape rows, by name. */
export function rowSettingsText(model: Model, ofFeatures: Readonly<Record<string, unknown>>): string {
  const settings = Object.entries({ ...ofResources(model), ...ofFeatures })
  const digests = settings.map(([name, value]) => [name, digest(JSON.stringify(value, sorted))])
  return JSON.stringify({ ...Object.fromEntries(digests), [programKey]: digest(ofProgram()) }, sorted)
}
