/**
 * The register: how many live rows a cursor should have (docs/dev/architecture.md, What else the engine rests on). Whatever
 * adds or removes live rows changes it in the same transaction; reconcile compares it with the rows
 * (src/features/reconcile).
 */
import { type CompiledQuery, sql } from 'kysely'
import type { Int64 } from '../../../../schema/resource.js'
import type { Table } from '../../model/table.js'
import { compiledOnce, type Db, type Reader, rootTable } from '../database.js'
import { type CursorKey, cursorColumns } from '../state/cursors.js'

/**
 * Whether a table keeps a register: its rows are records, and no other resource may add rows to it. Without that, nothing
 * shows how many rows should exist.
 */
export const keepsRegister = (root: Table, embedded: readonly Table[]): boolean =>
  root.columns.some(({ name }) => name === 'updated_at') && !embedded.some(({ name }) => name === root.name)

/**
 * The statement that locks a cursor's register until the transaction ends: pages that write the same rows wait for each
 * other here, before they look which of them exist. Creates a register if there is none; if the table already has rows,
 * nothing shows whether these are all.
 */
export const openRegister = (db: Db, { tenantId: tenant_id }: CursorKey, root: Table): CompiledQuery =>
  compiledOnce(db, `openRegister ${root.name}`, { tenant_id }, (key) => {
    const one = db.selectFrom(rootTable(root)).select(sql`1`.as('one'))
    const rows = one.where('tenant_id', '=', key.tenant_id)
    return db
      .insertInto('sync_registers')
      .values((eb) => ({
        ...key,
        resource: root.resource,
        live_rows: eb.case().when(eb.exists(rows)).then(null).else(0).end(),
      }))
      .onConflict((c) =>
        c.columns(['tenant_id', 'resource']).doUpdateSet((eb) => ({
          live_rows: eb.fn.coalesce('sync_registers.live_rows', 'excluded.live_rows'),
        })),
      )
  })

const updateOf = (db: Db, { tenantId, resource }: CursorKey) =>
  db.updateTable('sync_registers').where('tenant_id', '=', tenantId).where('resource', '=', resource)

/** Like `openRegister`, but doesn't create a register. */
export const lockRegister = (db: Db, key: CursorKey): CompiledQuery =>
  updateOf(db, key)
    .set((eb) => ({ live_rows: eb.ref('live_rows') }))
    .compile()

/**
 * The statement that enters how many live rows were added and removed. undefined if that changes nothing. An unknown
 * number stays unknown.
 */
export function enterRows(
  db: Db,
  key: CursorKey,
  { came, went }: { readonly came: number; readonly went: number },
): CompiledQuery | undefined {
  if (came === went) return undefined
  const values = { ...cursorColumns(key), more: came - went }
  return compiledOnce(db, 'enterRows', values, ({ tenant_id: tenantId, resource, more }) =>
    updateOf(db, { tenantId, resource }).set((eb) => ({ live_rows: eb('live_rows', '+', more) })),
  )
}

const expectedOf = (db: Db, { tenantId, resource }: CursorKey) =>
  db
    .selectFrom('sync_registers')
    .select('live_rows')
    .where('tenant_id', '=', tenantId)
    .where('resource', '=', resource)

const liveOf = (db: Db, root: Table, tenantId: Int64) =>
  db
    .selectFrom(rootTable(root))
    .select((eb) => eb.fn.countAll<Int64>().as('n'))
    .where('tenant_id', '=', tenantId)
    .where('_deleted_at', 'is', null)

/** How many live rows a cursor should have. undefined if nothing shows that. */
export async function expectedRows(warehouse: Reader, key: CursorKey): Promise<number | undefined> {
  const row = await warehouse.read((db) => expectedOf(db, key).executeTakeFirst())
  return row?.live_rows == null ? undefined : Number(row.live_rows)
}

/** How a cursor's register compares with its rows. `unknown`: nothing shows how many there should be. */
export interface RegisterFinding {
  readonly is: 'equal' | 'different' | 'unknown'
  readonly expected: number
  readonly found: number
}

/** Both numbers come from one statement, so they are of one moment, whoever else is writing. */
export async function compareRegister(
  warehouse: Reader,
  key: CursorKey,
  root: Table,
): Promise<RegisterFinding> {
  const row = await warehouse.read((db) =>
    db
      .selectNoFrom([expectedOf(db, key).as('expected'), liveOf(db, root, key.tenantId).as('found')])
      .executeTakeFirstOrThrow(),
  )
  const found = Number(row.found)
  if (row.expected === null) return { is: 'unknown', expected: found, found }
  const expected = Number(row.expected)
  return { is: expected === found ? 'equal' : 'different', expected, found }
}

/** The statements that let a register say what the table has; the first locks it, so no page is half counted. */
export const recounted = (db: Db, key: CursorKey, root: Table): CompiledQuery[] => [
  openRegister(db, key, root),
  updateOf(db, key)
    .set({ live_rows: liveOf(db, root, key.tenantId) })
    .compile(),
]
