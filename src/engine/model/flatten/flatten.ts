/**
 * Makes the tuples of the warehouse tables from one page's records, with readers that are composed from the declaration
 * once. Everything that stores records uses it, through ResourceModel.flatten.
 *
 * No two tuples of one table have the same key: a page can contain a record twice, and Postgres refuses to touch a row
 * twice in one statement.
 */
import type { Resource } from '../../../../schema/resource.js'
import { Bug } from '../../base/errors.js'
import type { NumberForm } from '../../base/numbertoken.js'
import { canonical } from '../../base/timestamp.js'
import { placeOf, type Table, tablesOf, tupleColumns } from '../table.js'
import type { FlatPage, Flatten, Tuple, Value } from './batch.js'
import { convert } from './convert.js'
import type { PageTarget } from './members.js'
import { composeReader, type ReadRecord } from './readers.js'
import { type DeclaredValue, type Embedded, PageFindings, SlowPath } from './slowpath.js'

/** Positions, in the tuples of a root table, of the columns by which versions are compared. */
interface RootPlaces {
  readonly id: number
  readonly version: number
  readonly created: number
}

const rootPlaces = (table: Table): RootPlaces => ({
  id: placeOf(table, 'id'),
  version: placeOf(table, 'updated_at'),
  created: placeOf(table, 'created_at'),
})

interface EmbeddedUnit {
  readonly name: string
  readonly table: string
  readonly read: ReadRecord
  readonly places: RootPlaces
}

function embeddedUnit(resource: Resource): EmbeddedUnit {
  const [table, ...children] = tablesOf(resource)
  const name = resource.embeddedAs
  if (!table || children.length > 0 || !name) throw new Bug(`${resource.name} cannot be embedded`)
  return { name, table: table.name, read: composeReader(resource, name), places: rootPlaces(table) }
}

function embeddedOf(
  unit: EmbeddedUnit,
  findings: PageFindings,
  { careful, form }: Omit<ReadingWay, 'strict'>,
): Embedded {
  const sink = new SlowPath(findings, true)
  sink.careful = careful
  sink.form = form
  const { id, version } = unit.places
  const target: PageTarget = { sink, tables: [], strict: false, plain: !careful }
  const embedded = {
    name: unit.name,
    rows: new Map(),
    row: (record: unknown) => unit.read(record, target),
    versionAt: version,
    idAt: id,
    sink,
  }
  sink.embedded = embedded
  return embedded
}

interface ReadingWay {
  readonly careful: boolean
  /** As PageTarget.strict. */
  readonly strict: boolean
  readonly form: NumberForm
}

interface PageReading {
  readonly tuples: Tuple[][]
  readonly findings: PageFindings
  readonly embedded: Embedded | null
}

interface FlattenPlan {
  readonly resource: Resource
  readonly tables: readonly Table[]
  readonly places: RootPlaces
  readonly read: ReadRecord
  readonly embedded: EmbeddedUnit | null
  /** For each table whose rows have ids: its index, and the positions of the id and of the record's id. */
  readonly keyed: readonly {
    readonly index: number
    readonly id: number
    /** -1 in the root table. */
    readonly owner: number
  }[]
}

function read(
  plan: FlattenPlan,
  records: readonly unknown[],
  { careful, strict, form }: ReadingWay,
): PageReading {
  const findings = new PageFindings(plan.resource.name)
  const tuples: Tuple[][] = plan.tables.map(() => [])
  const sink = new SlowPath(findings)
  sink.careful = careful
  sink.form = form
  sink.embedded = plan.embedded && embeddedOf(plan.embedded, findings, { careful, form })
  const target: PageTarget = { sink, tables: tuples, strict, plain: !careful }
  const { id, version, created } = plan.places
  const roots = tuples[0] ?? []
  for (const record of records) {
    const tuple = plan.read(record, target)
    if (tuple === null) continue
    roots.push(tuple)
    findings.records.push({
      id: tuple[id],
      updatedAt: tuple[version],
      createdAt: tuple[created] ?? null,
    } as FlatPage['records'][number])
  }
  return { tuples, findings, embedded: sink.embedded }
}

const member = (record: unknown, name: string): unknown =>
  typeof record === 'object' && record !== null ? (record as Record<string, unknown>)[name] : undefined

/** Whether no two rows have the same key. The same id in two records is rare, so whole keys are compared only then. */
function areDistinct(tuples: readonly Tuple[], { id, owner }: FlattenPlan['keyed'][number]): boolean {
  if (new Set(tuples.map((tuple) => tuple[id])).size === tuples.length) return true
  return owner >= 0 && new Set(tuples.map((tuple) => `${tuple[owner]} ${tuple[id]}`)).size === tuples.length
}

const keyOf = (record: unknown): Value => {
  const id = member(record, 'id')
  return id === null || id === undefined ? null : convert.id(id, 'double').value
}

const versionOf = (record: unknown): string => {
  const version = member(record, 'updated_at')
  return (typeof version === 'string' ? canonical(version) : null) ?? ''
}

/** One version of each record: the newest, or the first of equally new ones. Newest first. */
function newestOfEach(records: readonly unknown[]): unknown[] {
  const all = records.map((record) => ({ record, id: keyOf(record), version: versionOf(record) }))
  all.sort((a, b) => (a.version === b.version ? 0 : a.version < b.version ? 1 : -1))
  const seen = new Set<Value>()
  const kept = all.filter(({ id, version }) => {
    if (id === null || version === '') return true
    if (seen.has(id)) return false
    seen.add(id)
    return true
  })
  return kept.map(({ record }) => record)
}

/** Adds the rows of embedded records. If they are of the page's own resource, the newer version of a record wins. */
function placeEmbedded(
  plan: FlattenPlan,
  rows: Map<string, Tuple[]>,
  { embedded, findings }: PageReading,
): void {
  if (embedded === null || plan.embedded === null) return
  const own = rows.get(plan.embedded.table)
  if (own === undefined) {
    rows.set(plan.embedded.table, [...embedded.rows.values()])
    return
  }
  const { id, version, created } = plan.places
  for (const [i, tuple] of own.entries()) {
    const other = embedded.rows.get(tuple[id] ?? null)
    if (other === undefined) continue
    embedded.rows.delete(tuple[id] ?? null)
    if (String(other[version]) <= String(tuple[version])) continue
    own[i] = other
    findings.records[i] = {
      id: other[id],
      updatedAt: other[version],
      createdAt: other[created] ?? null,
    } as FlatPage['records'][number]
  }
  own.push(...embedded.rows.values())
}

function assemble(plan: FlattenPlan, outcome: PageReading): FlatPage {
  const { findings } = outcome
  const rows = new Map(plan.tables.map((table, index) => [table.name, outcome.tuples[index] ?? []]))
  placeEmbedded(plan, rows, outcome)
  return {
    records: findings.records,
    rows,
    quarantine: findings.entries(),
    unstorable: findings.unstorable,
    drift: findings.drifts(),
  }
}

function planOf(resource: Resource, embedded: Resource | undefined): FlattenPlan {
  const tables = tablesOf(resource)
  const [root] = tables
  if (!root) throw new Bug(`${resource.name} has no table`)
  const unit = embedded ? embeddedUnit(embedded) : null
  return {
    resource,
    tables,
    places: rootPlaces(root),
    read: composeReader(resource, unit?.name),
    embedded: unit,
    keyed: tables.flatMap((table, index) =>
      table.key.includes('id')
        ? [{ index, id: placeOf(table, 'id'), owner: placeOf(table, table.owner ?? '') }]
        : [],
    ),
  }
}

/** Duplicates are rare, and checking every item isn't cheap: check once per page, and read again if there are any. */
function readAll(plan: FlattenPlan, records: readonly unknown[], way: ReadingWay): PageReading {
  const outcome = read(plan, records, way)
  const clean = plan.keyed.every((table) => areDistinct(outcome.tuples[table.index] ?? [], table))
  return clean ? outcome : read(plan, newestOfEach(records), { ...way, strict: true })
}

export function compileFlatten(
  resource: Resource,
  options: {
    /** The resource whose records also appear inside the records of others (`embeddedAs`). Its table comes last. */
    readonly embedded?: Resource | undefined
  } = {},
): Flatten {
  if (resource.list === 'strings')
    return (records, _careful, numbers) => flattenStrings(resource, numbers?.tokens() ?? records)
  const plan = planOf(resource, options.embedded)
  return (records, careful, numbers) => {
    const way = { careful, strict: false, form: numbers?.form ?? 'double' }
    const outcome = readAll(plan, records, way)
    const isRead = !numbers || !outcome.findings.wantsTokens || !numbers.isOdd()
    return assemble(plan, isRead ? outcome : readAll(plan, numbers.tokens(), way))
  }
}

/** Flattens a list of plain strings: each is its own key, equal ones make one row, and no records are counted. */
function flattenStrings(resource: Resource, items: readonly unknown[]): FlatPage {
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
