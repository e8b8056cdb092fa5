/* Queries about the data itself: how fresh and complete it is, and how it arrived. */
import { sql } from 'kysely'
import type { Int64 } from '../../../../schema/resource.js'
import { type Db, readerOf } from '../../../engine/warehouse/database.js'
import { rowName } from '../../../engine/warehouse/state/cursors.js'
import { firstEnds } from '../../../engine/warehouse/state/runcursors.js'
import { listRuns } from '../../../engine/warehouse/state/runs.js'
import { type CursorHealth, type HealthRule, tenantRows, tenantStandings } from '../../health/cursorhealth.js'
import { readHealth, seenCursors } from '../../health/readhealth.js'
import type { Subject } from './reportdays.js'

/** A list behind the figures: its health, its tenant's name, and what of it is in quarantine. */
export interface ListHealth extends CursorHealth {
  readonly tenant_name: string
  readonly quarantined: number
}

/** The lists of the chosen tenants, and those that no run has begun although they should be read. */
export interface ListsFound {
  readonly lists: readonly ListHealth[]
  readonly unread: readonly CursorHealth[]
}

export async function askLists(
  db: Db,
  subject: Subject,
  {
    synced,
    exceptTenants,
    rule,
  }: {
    /** Resources that are synced. */
    readonly synced: readonly string[]
    /** `sync.exceptTenants`: their rows are in the figures like all others. */
    readonly exceptTenants: readonly Int64[]
    readonly rule: HealthRule
  },
): Promise<ListsFound> {
  const begun = await seenCursors(db)
  const [known, names] = [new Set(begun.map(rowName)), new Set(begun.map(({ resource }) => resource))]
  const ofTenants = new Set(begun.map(({ tenant_id }) => String(tenant_id)))
  const chosen = { tenants: subject.tenants, exceptTenants: [] }
  const tenants = tenantStandings(await tenantRows(db).execute(), chosen).filter(({ tenant_id }) =>
    ofTenants.has(String(tenant_id)),
  )
  const missing = new Set(synced.filter((resource) => !names.has(resource)))
  const asked = { tenants, resources: [...new Set([...names, ...synced])], missing }
  const found = await readHealth(db, begun, asked, rule)
  const named = new Map((await askNames(subject)).map((row) => [String(row.tenant_id), row.tenant_name]))
  const kept = new Map((await countQuarantine(db)).map((row) => [rowName(row), Number(row.n)]))
  return {
    lists: found
      .filter((cursor) => known.has(rowName(cursor)))
      .map((cursor) => ({
        ...cursor,
        tenant_name: named.get(String(cursor.tenant_id)) ?? `tenant ${cursor.tenant_id}`,
        quarantined: kept.get(rowName(cursor)) ?? 0,
      })),
    unread: found.filter(
      (cursor) =>
        !known.has(rowName(cursor)) &&
        cursor.state !== 'revoked' &&
        synced.includes(cursor.resource) &&
        !exceptTenants.some((tenant) => String(tenant) === String(cursor.tenant_id)),
    ),
  }
}

const askNames = ({ db }: Subject) =>
  db.selectFrom('dim_tenants').select(['tenant_id', 'tenant_name']).execute()

const countQuarantine = (db: Db) =>
  db
    .selectFrom('sync_quarantine')
    .groupBy(['tenant_id', 'resource'])
    .select((eb) => ['tenant_id', 'resource', eb.fn.countAll<Int64>().as('n')])
    .execute()

/** Runs since an instant. */
export const askRuns = (db: Db, since: string) => listRuns(readerOf(db), { since, withEvents: false })

export const askQuarantine = (db: Db, tenants: readonly Int64[] | null) =>
  db
    .selectFrom('sync_quarantine')
    .select(['resource', 'reason'])
    .select((eb) => [
      sql<unknown>`count(*)`.as('values'),
      eb.fn.max<string>('last_seen_at').as('last_seen_at'),
    ])
    .$if(tenants !== null, (query) => query.where('tenant_id', 'in', tenants ?? []))
    .groupBy(['resource', 'reason'])
    .orderBy('values', 'desc')
    .orderBy('resource')
    .orderBy('reason')
    .limit(30)
    .execute()

export const askDrift = (db: Db) =>
  db
    .selectFrom('sync_drift')
    .select(['resource', 'path', 'kind', 'detail', 'example', 'first_seen_at'])
    .orderBy('first_seen_at', 'desc')
    .orderBy('resource')
    .orderBy('path')
    .limit(25)
    .execute()

/** How many kinds there are. */
export const countDrift = (db: Db) =>
  db.selectFrom('sync_drift').select(sql<unknown>`count(*)`.as('all')).executeTakeFirst()

/** How many of them were first seen after the first complete run of their list. */
export const countLaterDrift = (db: Db) =>
  db
    .selectFrom('sync_drift as d')
    .select(sql<unknown>`count(*)`.as('all'))
    .innerJoin(firstEnds(db).as('first'), 'first.resource', 'd.resource')
    .whereRef('d.first_seen_at', '>', 'first.at')
    .executeTakeFirst()
