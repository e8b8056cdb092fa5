/**
 * The register: which live rows a cursor should have (docs/architecture.md, What else the engine rests on). apply.ts
 * enters every row that is added or removed; reconcile compares the register with the rows (src/features/reconcile).
 */
import { type CompiledQuery, sql } from 'kysely'
import type { Int64 } from '../../../../schema/resource.js'
import type { StateRows } from '../../model/state.js'
import type { Table } from '../../model/table.js'
import { compiledOnce, type Db, rootTable } from '../database.js'
import type { CursorKey } from '../state/cursors.js'
import type { Session } from '../transaction.js'
import { digest, type SetDifference, Sketch } from './sketch.js'

type RegisterRow = Pick<StateRows['sync_registers'], 'live_rows' | 'sketch'>

/** The live rows that a cursor should have, according to everything that was written. */
export interface Register {
  readonly live: number
  readonly sketch: Sketch
}

const idsAtOnce = 5000

/**
 * Whether a table keeps a register: its rows need an id and a version, and no other resource may add rows to it.
 * Without that, nothing shows which rows should exist.
 */
export const keepsRegister = (root: Table, embedded: readonly Table[]): boolean =>
  root.columns.some(({ name }) => name === 'updated_at') && !embedded.some(({ name }) => name === root.name)

/**
 * The statement that reads a cursor's register and locks its row until the transaction ends. Creates a register if
 * there is none; if the table already has rows, nothing shows whether these are all.
 */
export const openRegister = (
  db: Db,
  { tenantId: tenant_id }: CursorKey,
  root: Table,
): CompiledQuery<RegisterRow> =>
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
      .returning(['live_rows', 'sketch'])
  })

/** Like `openRegister`, but doesn't create a register: returns no row if there is none. */
export const lockRegister = (db: Db, { tenantId, resource }: CursorKey): CompiledQuery<RegisterRow> =>
  db
    .updateTable('sync_registers')
    .set((eb) => ({ live_rows: eb.ref('live_rows') }))
    .where('tenant_id', '=', tenantId)
    .where('resource', '=', resource)
    .returning(['live_rows', 'sketch'])
    .compile()

export const registerOf = (row: RegisterRow | undefined): Register | null =>
  row === undefined || row.live_rows === null
    ? null
    : { live: Number(row.live_rows), sketch: Sketch.decode(row.sketch) }

function writeRegister(db: Db, { tenantId, resource }: CursorKey, { live, sketch }: Register): CompiledQuery {
  return db
    .updateTable('sync_registers')
    .set({ live_rows: live, sketch: sketch.encode() })
    .where('tenant_id', '=', tenantId)
    .where('resource', '=', resource)
    .compile()
}

/** The statement that enters live rows that were added or removed. undefined if there are none. */
export function enterRows(
  db: Db,
  key: CursorKey,
  row: RegisterRow | undefined,
  {
    came = [],
    went = [],
  }: Partial<
    Readonly<Record<'came' | 'went', readonly { readonly id: Int64; readonly updatedAt: string }[]>>
  >,
): CompiledQuery | undefined {
  const register = came.length + went.length === 0 ? null : registerOf(row)
  if (!register) return undefined
  const { live, sketch } = register
  for (const { id, updatedAt } of came) sketch.add({ id, version: digest(updatedAt) })
  for (const { id, updatedAt } of went) sketch.add({ id, version: digest(updatedAt) }, -1)
  return writeRegister(db, key, { live: live + came.length - went.length, sketch })
}

/** Reads a register without locking it: another transaction may change it meanwhile. */
export const readRegister = (db: Db, { tenantId, resource }: CursorKey): CompiledQuery<RegisterRow> =>
  db
    .selectFrom('sync_registers')
    .select(['live_rows', 'sketch'])
    .where('tenant_id', '=', tenantId)
    .where('resource', '=', resource)
    .compile()

/** A register of the live rows that are in the table now. */
export async function countLive(
  db: Db,
  /** Runs a statement, in a transaction or not. */
  run: <R>(query: CompiledQuery<R>) => Promise<{ readonly rows: R[] }>,
  root: Table,
  tenantId: Int64,
): Promise<Register> {
  const sketch = new Sketch()
  let live = 0
  for (let last: Int64 | undefined; ; ) {
    let query = db
      .selectFrom(rootTable(root))
      .select(['id', 'updated_at'])
      .where('tenant_id', '=', tenantId)
      .where('_deleted_at', 'is', null)
      .orderBy('id')
      .limit(idsAtOnce)
    if (last !== undefined) query = query.where('id', '>', last)
    const { rows } = await run(query.compile())
    for (const { id, updated_at } of rows) sketch.add({ id, version: digest(updated_at) })
    live += rows.length
    last = rows.at(-1)?.id
    if (rows.length < idsAtOnce) return { live, sketch }
  }
}

/**
 * The rows that the register has and the table doesn't, and vice versa. undefined if there are too many for a sketch to
 * name.
 */
export function vanished(register: Register, found: Register): SetDifference | undefined {
  const difference = register.sketch.against(found.sketch)
  if (!difference) return undefined
  return register.live - found.live === difference.more.length - difference.less.length
    ? difference
    : undefined
}

/** Opens a register and writes the result of the work. Writes nothing if the work returns undefined. */
export async function changeRegister(
  db: Db,
  session: Session,
  key: CursorKey,
  root: Table,
  work: (register: Register | null) => Promise<Register | undefined>,
): Promise<void> {
  const opened = await session.run(openRegister(db, key, root))
  const changed = await work(registerOf(opened.rows[0]))
  if (changed) await session.run(writeRegister(db, key, changed))
}
