/**
 * Recomputes derived tables whose rule or settings have changed since their rows were stored, such as those of a
 * warehouse that an older program filled. Runs do so under their lease, before any other work; so does `migrate`.
 *
 * What the rows of a tenant were computed with is in `sync_derived`:
 *
 * (no row):   nobody has computed them. If the tenant has no records yet, the row is created as finished, since rows
 *             will be stored with their records from then on.
 * under way:  `finished_at` is null; records up to `done_to` are done. A run after a kill continues there, unless rule
 *             or settings have changed again.
 * finished:   all rows were computed with that rule and those settings.
 */
import { type CompiledQuery, sql } from 'kysely'
import type { Int64 } from '../../../../schema/resource.js'
import { Bug } from '../../base/errors.js'
import { inParts } from '../../base/parts.js'
import type { Shard } from '../../base/shard.js'
import type { DerivedModel, Model, ResourceModel } from '../../model/resourcemodel.js'
import type { StateRows } from '../../model/state.js'
import { type Db, type Reader, rootTable } from '../database.js'
import type { Dialect } from '../dialect.js'
import type { InterferedTables } from '../layout/interference.js'
import { isOfShard } from '../state/shardsql.js'
import { briefly, type Session, type Transact } from '../transaction.js'
import { deriveStored, type Rules } from './derived.js'

const recordsAtOnce = 500

/** One derived table of one tenant whose rows were computed with another rule or other settings. */
interface Outdated {
  readonly resource: ResourceModel
  readonly derived: DerivedModel
  readonly tenantId: Int64
  /** The last record that an earlier run computed with the current rule and settings. null if there is none. */
  readonly doneTo: Int64 | null
  /** How many records it has computed. */
  readonly done: number
  /** Whether the tenant has records that rows follow from. */
  readonly hasRecords: boolean
}

export interface Recomputed {
  readonly table: string
  readonly tenantId: Int64
  readonly records: number
}

type State = StateRows['sync_derived']

/** The tenants that have records, live or deleted. */
async function withRecords(db: Db, { tables: [root] }: ResourceModel): Promise<ReadonlySet<Int64>> {
  if (!root) throw new Bug('A resource without a table')
  const rows = await db
    .selectFrom('tenants as t')
    .select('t.tenant_id')
    .where(({ exists, selectFrom }) =>
      exists(
        selectFrom(rootTable(root))
          .select('id')
          .whereRef(`${root.name}.tenant_id` as never, '=', 't.tenant_id'),
      ),
    )
    .execute()
  return new Set(rows.map(({ tenant_id }) => tenant_id))
}

/** The derived tables of tenants that aren't finished in this version of their rule. `isCurrent`: whether a state counts. */
async function unfinished(
  db: Db,
  { list }: Model,
  isCurrent: (state: State) => boolean,
  shard?: Shard,
): Promise<Outdated[]> {
  const all = list.flatMap((resource) => resource.derived.map((derived) => ({ resource, derived })))
  if (all.length === 0) return []
  const isOurs = isOfShard(sql.ref('tenant_id'), shard)
  const states = await db.selectFrom('sync_derived').selectAll().where(isOurs).execute()
  const tenants = await db.selectFrom('tenants').select('tenant_id').where(isOurs).execute()
  const found: Outdated[] = []
  for (const { resource, derived } of all) {
    const { name, version } = derived.declared
    const own = states.filter((row) => row.name === name && row.version === version && isCurrent(row))
    const known = new Map(own.map((row) => [row.tenant_id, row]))
    const waiting = tenants.filter(({ tenant_id: id }) => (known.get(id)?.finished_at ?? null) === null)
    const filled = waiting.length > 0 ? await withRecords(db, resource) : undefined
    for (const { tenant_id: tenantId } of waiting) {
      const { done_to: doneTo = null, records } = known.get(tenantId) ?? {}
      const hasRecords = filled?.has(tenantId) ?? false
      found.push({ resource, derived, tenantId, doneTo, done: Number(records ?? 0), hasRecords })
    }
  }
  return found
}

/** The part of a warehouse that is needed to recompute its derived tables. */
interface DerivedWarehouse extends Reader {
  readonly interfered: InterferedTables
  /** The row of the lease under which it is written. */
  readonly leaseName: string
  readonly dialect: Dialect
  readonly rules: Rules
  transaction<T>(work: (session: Session) => Promise<T>): Promise<T>
}

/** What was computed with another rule, or other settings, than the current ones. */
export const readOutdated = (
  warehouse: Reader & { readonly rules: Rules },
  model: Model,
  shard?: Shard,
): Promise<Outdated[]> =>
  warehouse.read((db) =>
    unfinished(db, model, (row) => row.settings === warehouse.rules.textOf(row.tenant_id), shard),
  )

/**
 * The tables in which rows of some tenant were computed with another version of a rule, or are just being recomputed: a reader of
 * the new version's columns would show only half. Settings aren't checked, since a warehouse knows them only once it
 * has been written to.
 */
export async function halfComputed(warehouse: Reader, model: Model): Promise<string[]> {
  const found = await warehouse.read((db) => unfinished(db, model, () => true))
  return [...new Set(found.flatMap(({ derived, hasRecords }) => (hasRecords ? derived.table.name : [])))]
}

/** The number of stored records, including deleted ones, of some tenants or of all. */
export async function countRecords(
  warehouse: Reader,
  { tables: [root] }: ResourceModel,
  tenants?: readonly Int64[],
): Promise<number> {
  if (!root) throw new Bug('A resource without a table')
  let records = 0
  for (const part of tenants ? inParts(tenants) : [undefined]) {
    const rows = await warehouse.read((db) => {
      const query = db.selectFrom(rootTable(root)).select((eb) => eb.fn.countAll<Int64>().as('n'))
      return (part ? query.where('tenant_id', 'in', part) : query).execute()
    })
    records += Number(rows[0]?.n ?? 0)
  }
  return records
}

const noteState = ({ db }: Dialect, rows: readonly State[]): CompiledQuery =>
  db
    .insertInto('sync_derived')
    .values([...rows])
    .onConflict((c) =>
      c.columns(['tenant_id', 'name']).doUpdateSet((eb) => ({
        version: eb.ref('excluded.version'),
        settings: eb.ref('excluded.settings'),
        done_to: eb.ref('excluded.done_to'),
        records: eb.ref('excluded.records'),
        finished_at: eb.ref('excluded.finished_at'),
      })),
    )
    .compile()

/** The next records of a tenant, in the order of their ids. */
function nextIds(
  { db }: Dialect,
  { resource, tenantId }: Outdated,
  after: Int64 | null,
): CompiledQuery<{ id: Int64 }> {
  const [root] = resource.tables
  if (!root) throw new Bug(`${resource.name} has no table`)
  const query = db.selectFrom(rootTable(root)).select('id').where('tenant_id', '=', tenantId)
  const rest = after === null ? query : query.where('id', '>', after)
  return rest.orderBy('id').limit(recordsAtOnce).compile()
}

/** How rows are recomputed: in transactions of the lease's holder. */
interface Recomputing {
  readonly lease: string
  readonly dialect: Dialect
  readonly rules: Rules
  readonly transact: Transact
  /** Now, canonical. */
  readonly at: () => string
  /** Called with how many records of a tenant are done, several hundred at a time. */
  readonly progress?: ((table: string, tenantId: Int64, done: number) => void) | undefined
}

async function recomputeOne(
  { dialect, lease, rules, transact, at, progress }: Recomputing,
  one: Outdated,
): Promise<Recomputed> {
  const { resource, derived, tenantId } = one
  const { name, version } = derived.declared
  const state = { tenant_id: tenantId, name, version, settings: rules.textOf(tenantId) }
  let { doneTo, done } = one
  for (;;) {
    const ids = await transact(async (session) => {
      const { rows } = await session.run(nextIds(dialect, one, doneTo))
      const found = rows.map(({ id }) => id)
      if (found.length > 0)
        await deriveStored(
          { dialect, session, resource, settings: rules.of(tenantId), tenantId, lease },
          found,
        )
      const isLast = found.length < recordsAtOnce
      const reached = { done_to: isLast ? null : (found.at(-1) ?? null), records: done + found.length }
      await session.run(noteState(dialect, [{ ...state, ...reached, finished_at: isLast ? at() : null }]))
      return found
    })
    doneTo = ids.at(-1) ?? doneTo
    done += ids.length
    progress?.(name, tenantId, done)
    if (ids.length < recordsAtOnce) return { table: name, tenantId, records: done - one.done }
  }
}

/**
 * Recomputes, under a lease, whatever was computed with another rule or other settings. Returns the tables that had
 * records.
 */
export async function recompute(
  warehouse: DerivedWarehouse,
  model: Model,
  {
    signal,
    shard,
    ...heard
  }: Pick<Recomputing, 'at' | 'progress'> & {
    readonly signal: AbortSignal
    /** The tenants to do it for. undefined: all. */
    readonly shard?: Shard | undefined
  },
): Promise<Recomputed[]> {
  const { dialect, rules, leaseName: lease } = warehouse
  const transact = briefly(warehouse, signal)
  const how = { dialect, lease, rules, transact, ...heard }
  warehouse.interfered.forgetUnchanged('derived')
  const all = await readOutdated(warehouse, model, shard)
  const empty = all.filter(({ hasRecords }) => !hasRecords)
  if (empty.length > 0) {
    const finished = empty.map(({ derived: { declared }, tenantId }) => ({
      tenant_id: tenantId,
      name: declared.name,
      version: declared.version,
      settings: how.rules.textOf(tenantId),
      done_to: null,
      records: 0,
      finished_at: how.at(),
    }))
    for (const some of inParts(finished))
      await how.transact((session) => session.run(noteState(how.dialect, some)))
  }
  const done: Recomputed[] = []
  for (const one of all.filter(({ hasRecords }) => hasRecords)) {
    const work = () => recomputeOne(how, one)
    const end = await warehouse.interfered.changing('derived', one.derived.table.name, work)
    if (end) done.push(end)
  }
  return done
}
