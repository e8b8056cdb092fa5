/*
 * The statements and reads of the table `tenants` and of its authorizations: which tenants there are, which are
 * revoked, and what in their authorizations couldn't be stored as it came.
 */
import {
  type CompiledQuery,
  type Expression,
  type ExpressionBuilder,
  type Insertable,
  type SqlBool,
  sql,
} from 'kysely'
import type { Int64 } from '../../../../schema/resource.js'
import { Stop } from '../../base/errors.js'
import { count } from '../../base/format.js'
import { inParts } from '../../base/parts.js'
import { toMicros } from '../../base/timestamp.js'
import type { StateRows } from '../../model/state.js'
import type { Database, Db, Reader, WaryReader } from '../database.js'
import { stampsBegin, stampsEnd } from '../store/voidstamps.js'
import { readMeta, storeMeta } from './meta.js'

export interface KnownTenant {
  readonly tenantId: Int64
  /** When the tenant was found revoked. null while it is granted. */
  readonly revokedAt: string | null
}

export async function knownTenants(warehouse: Reader): Promise<KnownTenant[]> {
  const rows = await warehouse.read((db) =>
    db.selectFrom('tenants').select(['tenant_id', 'revoked_at']).execute(),
  )
  return rows.map(({ tenant_id, revoked_at }) => ({ tenantId: tenant_id, revokedAt: revoked_at }))
}

/** Which tenants are granted according to the last run. `all`: tenants that the warehouse knows. */
export async function readGranted(warehouse: Reader) {
  const known = await knownTenants(warehouse)
  const ids = (isGranted: boolean): Int64[] =>
    known
      .filter(({ revokedAt }) => (revokedAt === null) === isGranted)
      .map(({ tenantId }) => tenantId)
      .sort((a, b) => (a < b ? -1 : 1))
  return {
    all: known.length,
    granted: ids(true),
    revoked: ids(false),
    forgotten: await readForgotten(warehouse),
  }
}

/** When the source was last queried for the authorizations, in microseconds. null if it never was. */
export async function lastAuthorizations(warehouse: Reader): Promise<bigint | null> {
  const row = await warehouse.read((db) =>
    db
      .selectFrom('tenants')
      .select((eb) => eb.fn.max<string | null>('_synced_at').as('at'))
      .executeTakeFirst(),
  )
  return row?.at ? toMicros(row.at) : null
}

/** What an authorization tells of a tenant, and that it is not revoked. */
const grantColumns = [
  'authorization_id',
  'api_partner_id',
  'api_tenant_id',
  'writable',
  '_extra',
  '_synced_at',
  'revoked_at',
] as const

/** Whether a tenant is stored as of an earlier request: another process may have asked later. A void stamp decides nothing. */
const isOlder = (
  eb: ExpressionBuilder<Database, 'tenants'>,
  than: Expression<unknown>,
): Expression<SqlBool> => {
  const stored = eb.ref('tenants._synced_at')
  return sql<SqlBool>`(${stored} is null or ${stored} <= ${than} or ${stored} > ${stampsEnd(eb)})`
}

/**
 * Copies of these tenants, or of all, have to be made again (docs/increments.md): rows change without a stamp of their own, or
 * go. With each such change, or before the first one under a lease: copies are made when the lease has ended.
 */
export const demandRebuild = (db: Db, tenants?: readonly Int64[]): CompiledQuery =>
  db
    .updateTable('tenants')
    .set({ rebuild_from: (eb) => stampsBegin(eb) })
    .$if(tenants !== undefined, (query) => query.where('tenant_id', 'in', [...new Set(tenants)]))
    .compile()

/**
 * The tenants as their authorizations show them: they are granted. Copies take a new one whole: it may have been forgotten
 * before.
 */
export function* grantTenants(
  db: Db,
  rows: readonly Insertable<StateRows['tenants']>[],
): Generator<CompiledQuery> {
  for (const part of inParts(rows))
    yield db
      .insertInto('tenants')
      .values((eb) => part.map((row) => ({ ...row, revoked_at: null, rebuild_from: stampsBegin(eb) })))
      .onConflict((c) =>
        c
          .column('tenant_id')
          .doUpdateSet((eb) =>
            Object.fromEntries(grantColumns.map((name) => [name, eb.ref(`excluded.${name}`)])),
          )
          .where((eb) => isOlder(eb, eb.ref('excluded._synced_at'))),
      )
      .compile()
}

export const revokeTenant = (db: Db, tenantId: Int64, at: string): CompiledQuery =>
  db
    .updateTable('tenants')
    .set({ revoked_at: at })
    .where('tenant_id', '=', tenantId)
    .where('revoked_at', 'is', null)
    .where((eb) => isOlder(eb, sql`${at}`))
    .compile()

/** Forgotten tenants, which stay out of the warehouse. Empty for a warehouse that hasn't been migrated yet. */
export const forgottenTenants = async (warehouse: WaryReader): Promise<ReadonlySet<Int64>> =>
  (await warehouse.has('sync_forgotten')) ? readForgotten(warehouse) : new Set()

/** The same for a warehouse whose tables are up to date. */
export const readForgotten = async (warehouse: Reader): Promise<ReadonlySet<Int64>> => {
  const rows = await warehouse.read((db) => db.selectFrom('sync_forgotten').select('tenant_id').execute())
  return new Set(rows.map(({ tenant_id }) => tenant_id))
}

export function refuseForgotten(
  { tenants, isTyped }: { readonly tenants: readonly Int64[] | null; readonly isTyped?: boolean },
  forgotten: ReadonlySet<Int64>,
): void {
  const [first, ...more] = isTyped ? (tenants ?? []).filter((id) => forgotten.has(id)) : []
  if (first === undefined) return
  throw new Stop(
    `Tenant ${[first, ...more].join(', ')} was forgotten and is left out, expected another tenant`,
    {
      exitCode: 2,
      hint: `To let it back in, type shopsync forget --tenant ${first} --lift; the next sync then loads it if it is granted`,
    },
  )
}

/** Stops if none of the tenants is known. In a warehouse that doesn't know any tenants yet, all are accepted. */
export function refuseUnknown(
  named: readonly Int64[],
  known: readonly Int64[],
  excepted: readonly Int64[] = [],
): void {
  const unknown = named.filter((id) => !known.includes(id) && !excepted.includes(id))
  if (unknown.length === 0 || known.length === 0) return
  const shown = known.slice(0, 20).join(', ')
  const more = known.length > 20 ? ` and ${count(known.length - 20)} others` : ''
  throw new Stop(`The warehouse has no tenant ${unknown.join(', ')}`, {
    exitCode: 2,
    hint: `Expected one of ${shown}${more}`,
  })
}

/** Remembers that a tenant was forgotten: it stays out, and a warehouse without tenants isn't missing any. */
export const rememberForgotten = (db: Db, tenantId: Int64, at: string): CompiledQuery =>
  db
    .insertInto('sync_forgotten')
    .values({ tenant_id: tenantId, forgotten_at: at })
    .onConflict((c) => c.column('tenant_id').doUpdateSet({ forgotten_at: at }))
    .compile()

export const liftForgotten = (db: Db, tenantId: Int64): CompiledQuery =>
  db.deleteFrom('sync_forgotten').where('tenant_id', '=', tenantId).compile()

/** In sync_meta: tenants whose rows are erased, or about to be, and may have left traces in the database's files. */
const tracesMark = 'tenant_traces'

/** Tenants that an interrupted or incomplete erasure still has to finish. */
export const tenantsWithTraces = async (warehouse: Reader): Promise<string[]> =>
  ((await readMeta(warehouse, tracesMark)) ?? '').split(' ').filter((id) => id !== '')

export const rememberTraces = (db: Db, tenants: readonly string[]): CompiledQuery =>
  storeMeta(db, tracesMark, tenants.join(' '))
