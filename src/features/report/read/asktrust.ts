/* Queries about the data itself: how fresh and complete it is, and how it arrived. */
import { sql } from 'kysely'
import type { Int64 } from '../../../../schema/resource.js'
import type { Db } from '../../../engine/warehouse/database.js'
import { ofRuns } from '../../../engine/warehouse/runs.js'
import type { Subject } from './reportdays.js'

export const askFreshness = ({ db, tenants }: Subject) =>
  db
    .selectFrom('freshness')
    .select([
      'tenant_id',
      'tenant_name',
      'resource',
      'complete_through',
      'deletes_checked_at',
      'verdict',
      'status',
      'live_rows',
      'quarantined',
      'revoked',
    ])
    .$if(tenants !== null, (query) => query.where('tenant_id', 'in', tenants ?? []))
    .execute()

export type FreshnessRow = Awaited<ReturnType<typeof askFreshness>>[number]

/** Runs since an instant. */
export const askRuns = (db: Db, since: string) =>
  db
    .selectFrom('sync_runs')
    .select(['status', 'started_at', 'requests', 'rate_limited'])
    .where('started_at', '>=', since)
    .where(ofRuns)
    .execute()

export type RunRow = Awaited<ReturnType<typeof askRuns>>[number]

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

export const countDrift = (db: Db) =>
  db.selectFrom('sync_drift').select(sql<unknown>`count(*)`.as('all')).executeTakeFirst()
