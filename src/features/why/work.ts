/*
 * The history of a row: the request that wrote it, earlier runs, its quarantine entries, and the record at the source
 * now. Used by `shopsync why`.
 */

import type { Int64 } from '../../../schema/resource.js'
import { views } from '../../../schema/views/index.js'
import { describeError, Skip, Stop } from '../../engine/base/errors.js'
import { parseInt64 } from '../../engine/base/int64.js'
import { nearest } from '../../engine/config/nearest.js'
import type { Model, ResourceModel } from '../../engine/model/resourcemodel.js'
import type { Table } from '../../engine/model/table.js'
import { byIdNow } from '../../engine/run/byid.js'
import { flatList } from '../../engine/run/cursorlist.js'
import type { Dependencies } from '../../engine/run/runcontext.js'
import { rootOf } from '../../engine/run/tenant.js'
import { rootTable } from '../../engine/warehouse/database.js'
import { forgottenSince, readForgottenThere } from '../../engine/warehouse/hiding/forgottenrecords.js'
import { storedForms } from '../../engine/warehouse/hiding/privacystate.js'
import { knownSince } from '../../engine/warehouse/state/runs.js'
import { foreignText } from '../../engine/warehouse/state/sourceidentity.js'
import { knownTenants } from '../../engine/warehouse/state/tenants.js'
import type { Warehouse } from '../../engine/warehouse/warehouse.js'
import { type BelongsTo, belongsTo } from '../../shell/belongingwords.js'
import { type LastEvent, lastEventOf } from '../events/eventview.js'
import { isUnreadable, type UnreadableInbox, watchInbox } from '../events/watchinbox.js'
import { type QuietList, quietLists } from '../health/quietlists.js'
import type { Quarantined } from '../quarantine/work.js'
import { type ContentDifference, compareContent } from '../reconcile/content.js'
import {
  type Earlier,
  type EndedVersion,
  earlierRuns,
  endedVersions,
  type Provenance,
  whoBrought,
} from './provenance.js'

/** A row and its history. */
export interface Told {
  readonly table: string
  readonly tenant_id: Int64
  /** For a row that is part of a record: the record's own row. */
  readonly owner: { readonly table: string; readonly id: Int64 } | null
  /** The stored row. */
  readonly row: Readonly<Record<string, unknown>>
  readonly state: 'live' | 'deleted'
  readonly brought: Provenance
  /** Runs of its cursor that wrote rows before that. */
  readonly earlier: readonly Earlier[]
  readonly quarantine: readonly Quarantined[]
  /** The last event that rang for its record; absent if nobody ever listened, null if none came. */
  readonly event?: LastEvent | UnreadableInbox | null | undefined
  /** Ended versions of the record, newest first; empty if none are kept. */
  readonly versions: readonly EndedVersion[]
  /** Since when it belongs to a forgotten customer: earlier versions were erased. Absent if it does not. */
  readonly erased_since?: string | undefined
  /** The record that the row belongs to, as the source has it now. */
  readonly source:
    | {
        readonly answer: 'exists'
        readonly updated_at: string | null
        readonly differences: readonly ContentDifference[]
      }
    | { readonly answer: 'gone' | 'not asked' | 'failed'; readonly reason: string }
}

/** The document of `why`. */
export interface Why {
  readonly table: string
  /** The resource whose records the rows come from. */
  readonly resource: string
  readonly id: string
  /** Tenants in the question that the warehouse knows nothing about. */
  readonly unknown_tenants: readonly Int64[]
  readonly known_tenants: readonly Int64[]
  readonly belongs_to: BelongsTo | null
  readonly rows: readonly Told[]
  /** Of the lists that the rows come from, or would: those that are quiet. Absent if there are none. */
  readonly quiet?: readonly QuietList[] | undefined
  /** The start of the oldest run on record: nothing earlier is recorded. */
  readonly known_since: string | null
}

type Reading = Pick<Dependencies<Warehouse>, 'warehouse' | 'source' | 'signal' | 'stamps' | 'clock'>
type Row = Readonly<Record<string, unknown>>
/** How many rows one question covers at most: each costs a request. */
export const mostRows = 100

export interface Question {
  readonly table: string
  /**
   * An id, or a name. For a row that is part of a record: its own id, which several records may show, or the record's
   * id if its rows have none of their own; `RECORD/ID` identifies one row.
   */
  readonly id: string
  /** null: all. */
  readonly tenants: readonly Int64[] | null
}

function tableOf(model: Model, name: string): { table: Table; resource: ResourceModel } {
  const table = model.tableByName.get(name)
  const resource = table && model.byName.get(table.resource)
  if (table && resource) return { table, resource }
  const tables = [...model.tableByName.keys()]
  const near = nearest(name, tables)
  const isView = views.some((view) => view.name === name)
  const isOther = [...model.state, ...model.histories].some((one) => one.name === name)
  if (isOther)
    throw new Stop(`The rows of ${name} aren't records of a list, expected a table of such rows`, {
      exitCode: 2,
      hint: `Expected one of ${tables.join(', ')}`,
    })
  throw new Stop(isView ? `${name} is a view, expected a table` : `There is no table ${name.slice(0, 100)}`, {
    exitCode: 2,
    hint: near ? `Did you mean ${near}?` : `Expected one of ${tables.join(', ')}`,
  })
}

/**
 * The columns that a question may use: for a part, its record's id, and what tells it from the record's other parts.
 */
function namedColumns({ key, owner }: Table, isPair: boolean): string[] {
  const [, first = 'id', ...others] = key
  const last = others.at(-1)
  if (owner === undefined || last === undefined) return [first]
  return isPair ? [first, last] : [last === 'id' ? last : first]
}

function keyValues(
  table: Table,
  text: string,
): readonly (readonly [column: string, value: Int64 | string])[] {
  const [, , second] = table.key
  const isText = table.columns.some(({ name, kind }) => name === table.key[1] && kind === 'text')
  const parts = isText || second === undefined ? [text] : text.split('/')
  const columns = namedColumns(table, parts.length > 1)
  const values = isText ? parts : parts.map(parseInt64)
  const found = columns.flatMap((column, i) => {
    const value = values[i]
    return value === undefined ? [] : [[column, value] as const]
  })
  if (found.length === columns.length && parts.length === columns.length) return found
  const pair = second === undefined ? '' : `, or ${table.key[1]} and ${table.key.at(-1)} as 8/17`
  throw new Stop(
    `Found the id "${text}", expected a whole number: ${namedColumns(table, false).join()} of ${table.name}${pair}`,
    {
      exitCode: 2,
      hint: `Type for example shopsync why ${table.name} ${second === undefined ? '17' : '8/17'}`,
    },
  )
}

async function readRows(warehouse: Warehouse, table: Table, question: Question): Promise<Row[]> {
  const values = keyValues(table, question.id)
  return warehouse.read(async (db) => {
    let query = db
      .selectFrom(table.name as 'tenants')
      .selectAll()
      .limit(mostRows)
    for (const [column, value] of values) query = query.where(column as 'tenant_id', '=', value as Int64)
    for (const column of table.key) query = query.orderBy(column as 'tenant_id')
    if (question.tenants) query = query.where('tenant_id', 'in', [...question.tenants])
    return (await query.execute()) as unknown as Row[]
  })
}

/** Requests the record that a row belongs to from the source. */
async function askSource(
  deps: Reading,
  resource: ResourceModel,
  tenantId: Int64,
  id: Int64 | null,
): Promise<Told['source']> {
  if (id === null || resource.resource.list === 'strings')
    return { answer: 'not asked', reason: 'a name in a plain list: every sync reads the whole list' }
  const cursor = { ...deps, tenantId, resource }
  const list = flatList(cursor, 'lookup')
  try {
    const { answers, isOffered } = await byIdNow(deps, list).ask([id])
    const answer = answers.get(id)
    if (!answer || !isOffered)
      return { answer: 'not asked', reason: 'it does not answer by id for this list' }
    if (answer.kind === 'gone') return { answer: 'gone', reason: 'it answers that this id does not exist' }
    if (answer.kind !== 'record')
      return { answer: 'failed', reason: `it does not show the record: found ${answer.found}` }
    const { flattened } = answer.fetched
    const differences = await compareContent(deps.warehouse, cursor, id, flattened)
    return { answer: 'exists', updated_at: flattened.records[0]?.updatedAt ?? null, differences }
  } catch (error) {
    if (error instanceof Skip) return { answer: 'failed', reason: describeError(error) }
    throw error
  }
}

/** Another source than the warehouse's has other records under the same ids: its answer would mislead. */
const notAsked =
  ({ source }: Reading, { base_url: baseUrl, partner_id: partnerId }: BelongsTo): typeof askSource =>
  async () => ({ answer: 'not asked', reason: foreignText({ baseUrl, partnerId }, source.address) })

const quarantineOf = (
  warehouse: Warehouse,
  resource: string,
  tenantId: Int64,
  id: Int64 | null,
): Promise<Quarantined[]> =>
  warehouse.read((db) =>
    db
      .selectFrom('sync_quarantine')
      .selectAll()
      .where('tenant_id', '=', tenantId)
      .where('resource', '=', resource)
      .where('record_id', '=', String(id))
      .orderBy('path')
      .execute(),
  )

/** The row of the record that a part belongs to. */
const readRecord = (
  warehouse: Warehouse,
  resource: ResourceModel,
  tenantId: Int64,
  id: Int64,
): Promise<Row | undefined> =>
  warehouse.read((db) =>
    db
      .selectFrom(rootTable(rootOf(resource)))
      .select(['updated_at', '_deleted_at'])
      .where('tenant_id', '=', tenantId)
      .where('id', '=', id)
      .executeTakeFirst(),
  )

async function tell(
  deps: Reading,
  ask: typeof askSource,
  { table, resource }: { table: Table; resource: ResourceModel },
  row: Row,
): Promise<Told> {
  const tenantId = row.tenant_id as Int64
  const id = (row[table.owner ?? 'id'] ?? null) as Int64 | null
  const syncedAt = String(row._synced_at)
  const cursor = { tenantId, resource: resource.name }
  const isPart = table.owner !== undefined && id !== null
  // A part has neither a version nor a deletion mark of its own.
  const record = isPart ? await readRecord(deps.warehouse, resource, tenantId, id) : row
  const deleted = typeof record?._deleted_at === 'string'
  const version = typeof record?.updated_at === 'string' ? record.updated_at : null
  const heard = await watchInbox(deps.warehouse, async (inbox) => ({
    event: await lastEventOf(inbox, cursor, id),
  }))
  const event = heard && isUnreadable(heard) ? heard : heard?.event
  const erased = id === null ? undefined : await forgottenSince(deps.warehouse, resource, tenantId, id)
  const quarantine = await quarantineOf(deps.warehouse, resource.name, tenantId, id)
  const forms = await storedForms(deps.warehouse, cursor)
  return {
    table: table.name,
    tenant_id: tenantId,
    owner: isPart ? { table: rootOf(resource).name, id } : null,
    row: forms.row(table, row),
    state: deleted ? 'deleted' : 'live',
    brought: await whoBrought(deps.warehouse, cursor, { syncedAt, version, deleted: deleted && !isPart }),
    earlier: await earlierRuns(deps.warehouse, cursor, syncedAt),
    quarantine: quarantine.map((entry) => resource.places.entry(entry)),
    event,
    versions: await endedVersions(deps.warehouse, resource, tenantId, id),
    erased_since: erased,
    source: await ask(deps, resource, tenantId, id),
  }
}

/**
 * The history of every row that the question matches, for every selected tenant: one id may be part of several records.
 */
export async function tellWhy(
  deps: Reading & Pick<Dependencies, 'config'>,
  question: Question,
): Promise<Why> {
  const { interfered, model } = deps.warehouse
  const known = tableOf(model, question.table)
  interfered.refuseUnchanged(known.resource, model.embedded)
  await readForgottenThere(deps.warehouse)
  const rows = await readRows(deps.warehouse, known.table, question)
  const belongs = await belongsTo(deps.warehouse, deps.source.address)
  const told: Told[] = []
  for (const row of rows)
    told.push(
      await tell(deps, belongs?.configured === false ? notAsked(deps, belongs) : askSource, known, row),
    )
  const tenants = (await knownTenants(deps.warehouse)).map(({ tenantId }) => tenantId)
  const asked = rows.length > 0 ? rows.map((row) => row.tenant_id as Int64) : question.tenants
  const { exceptTenants } = deps.config.sync
  const lists = { resources: [known.resource.name], tenants: asked, exceptTenants }
  const quiet = await deps.warehouse.read((db) =>
    quietLists(deps.warehouse, db, lists, deps.clock.nowMicros()),
  )
  return {
    table: question.table,
    resource: known.resource.name,
    id: question.id,
    unknown_tenants: (question.tenants ?? []).filter((tenant) => !tenants.includes(tenant)),
    known_tenants: tenants,
    belongs_to: belongs,
    rows: told,
    quiet: quiet.length > 0 ? quiet : undefined,
    known_since: await knownSince(deps.warehouse),
  }
}
