/**
 * What is stored of forgotten customers (docs/warehouse.md, Forgetting a customer): who they are, and the records that are
 * forgotten with them; how a run and its pages read that, and how records get there and leave again.
 *
 * Who may change it, and who hears of it: `shopsync forget` under its lease, so no page is under way; and the commit
 * of a page that shows a record of a forgotten customer for the first time. Either raises `sync_lease.forgotten` in the
 * row of its lease: the tenants of other holders have sets of their own. Each
 * commit of a page compares it with the number that the page was prepared with, in the statement that checks the fence,
 * and a page of an earlier set is prepared again (Warehouse.apply).
 */
import { type CompiledQuery, sql } from 'kysely'
import type { Int64 } from '../../../../schema/resource.js'
import { Bug } from '../../base/errors.js'
import { inParts } from '../../base/parts.js'
import { toJson } from '../../base/printjson.js'
import type { Shard } from '../../base/shard.js'
import type { FlatPage, PageForgotten } from '../../model/flatten/batch.js'
import { type ForgetPlan, type ForgottenState, isAway, nothingForgotten } from '../../model/forgotten.js'
import { historyName } from '../../model/historytable.js'
import type { Model, ResourceModel } from '../../model/resourcemodel.js'
import { type Db, type Reader, readJson, rootTable, type WaryReader } from '../database.js'
import type { Dialect } from '../dialect.js'
import { wasPreparedBefore } from '../lease/fence.js'
import { type CursorKey, demandRefill } from '../state/cursors.js'
import { isOfShard } from '../state/shardsql.js'
import { type Applied, type Batch, type EncodedPage, wholeName } from '../store/versionbatch.js'
import { type Asking, ForgetRows, ForgottenClosure, put, type Reached } from './forgottenclosure.js'

type Source = Reader & {
  readonly model: Model
  readonly dialect: Dialect
  /** The row of the lease under which it is written. */
  readonly leaseName: string
}

/** Reads the sets, or the set of one tenant. The number comes first: what is newer than it is compared again. */
export async function readForgottenRecords(warehouse: Source, tenantId?: Int64): Promise<void> {
  const { forgotten, list } = warehouse.model
  const live = await warehouse.read(() => warehouse.dialect.catalog.liveColumns())
  const names = list.flatMap(({ resource }) => historyName(resource) ?? [])
  forgotten.histories = names.filter((name) => live.some(({ table }) => table === name))
  await warehouse.read(async (db) => {
    const lease = await db
      .selectFrom('sync_lease')
      .select('forgotten')
      .where('name', '=', warehouse.leaseName)
      .executeTakeFirst()
    const generation = lease?.forgotten ?? 0
    let query = db
      .selectFrom('sync_forgotten_records')
      .select(['tenant_id', 'resource', 'record_id', 'state'])
    if (tenantId !== undefined) query = query.where('tenant_id', '=', tenantId)
    const found = new Map<Int64, Map<string, Map<Int64, ForgottenState>>>()
    if (tenantId !== undefined) found.set(tenantId, new Map())
    for (const { tenant_id, resource, record_id, state } of await query.execute()) {
      const records = found.get(tenant_id) ?? new Map<string, Map<Int64, ForgottenState>>()
      const ids = records.get(resource) ?? new Map<Int64, ForgottenState>()
      found.set(tenant_id, records.set(resource, ids.set(record_id, state as ForgottenState)))
    }
    if (tenantId === undefined) Object.assign(forgotten, { generation, tenants: new Map() })
    for (const [tenant, records] of found) forgotten.tenants.set(tenant, { generation, records })
  })
}

type Preparing = Source & { encode(page: FlatPage, key: CursorKey): EncodedPage }

/** The page with what was forgotten since. undefined if it can't be prepared again. */
async function preparedAgain(
  warehouse: Preparing,
  key: CursorKey,
  page: EncodedPage,
): Promise<EncodedPage | undefined> {
  await readForgottenRecords(warehouse, key.tenantId)
  const again = page.forgotten?.again
  if (again) return warehouse.encode(again(), key)
  const { generation = 0, records } = warehouse.model.forgotten.tenants.get(key.tenantId) ?? {}
  return records?.size === 0 ? { ...page, forgotten: { ...nothingForgotten, generation } } : undefined
}

/** The same for commands that only read: they may meet the warehouse of an older program. */
export async function readForgottenThere(warehouse: Source & WaryReader) {
  if (await warehouse.has('sync_forgotten_records')) await readForgottenRecords(warehouse)
}

export interface NotLookedAt {
  readonly table: string
  /**
   * `not_read`: its list was never read to the end. `leads_to_nobody`: no reference leads to a person. `not_migrated`:
   * the table is to be changed first.
   */
  readonly reason: 'not_read' | 'leads_to_nobody' | 'not_migrated'
  /** How many rows that concerns; null for a list. */
  readonly rows: number | null
}

/** What is known about a customer who was forgotten. Nothing in it says who that was. */
export interface Receipt {
  readonly id: string
  readonly tenant_id: Int64
  readonly customer_id: Int64
  readonly begun_at: string
  /** null: it has to be done again. */
  readonly done_at: string | null
  readonly rows: number
  readonly tables: readonly { readonly table: string; readonly rows: number }[]
  /** What other customers have too, and was kept. */
  readonly kept: readonly { readonly table: string; readonly rows: number }[]
  /** Why traces remain in the database's files; null if none do. */
  readonly traces_left: string | null
  /** What may say something about the person and could not be looked at. */
  readonly not_looked_at: readonly NotLookedAt[]
  /** Where else traces may be, such as in backups. */
  readonly elsewhere: string
}

/** The receipts in the warehouse. Empty for one that hasn't been migrated yet. */
export async function storedReceipts(warehouse: WaryReader): Promise<Receipt[]> {
  if (!(await warehouse.has('sync_forgotten_records'))) return []
  const rows = await warehouse.read((db) =>
    db.selectFrom('sync_forgotten_records').select('receipt').where('receipt', 'is not', null).execute(),
  )
  return rows.map(({ receipt }) => readJson(receipt) as Receipt)
}

/** Since when a record is forgotten. undefined if it isn't. */
export async function forgottenSince(
  warehouse: WaryReader,
  { name: resource }: ResourceModel,
  tenantId: Int64,
  id: Int64,
): Promise<string | undefined> {
  if (!(await warehouse.has('sync_forgotten_records'))) return undefined
  const entry = await warehouse.read((db) =>
    db
      .selectFrom('sync_forgotten_records')
      .select('since')
      .where((eb) => eb.and({ tenant_id: tenantId, resource, record_id: id, state: 'hidden' }))
      .executeTakeFirst(),
  )
  return entry?.since ?? undefined
}

/** Records that aren't forgotten any more, and whose values have to be requested. */
export const wantedRecords = (warehouse: Reader, shard?: Shard) =>
  warehouse.read((db) =>
    db
      .selectFrom('sync_forgotten_records')
      .select(['tenant_id', 'resource', 'record_id'])
      .where('state', '=', 'wanted')
      .where(isOfShard(sql.ref('tenant_id'), shard))
      .orderBy('tenant_id')
      .orderBy('resource')
      .orderBy('record_id')
      .execute(),
  )

/** The records were read. They stay on record: what belongs to others, too, isn't judged again with each page. */
export const settleWanted = (
  db: Db,
  { name: resource }: ResourceModel,
  tenantId: Int64,
  ids: readonly Int64[],
): CompiledQuery =>
  db
    .updateTable('sync_forgotten_records')
    .set({ state: 'kept' })
    .where((eb) => eb.and({ tenant_id: tenantId, resource, state: 'wanted' }))
    .where('record_id', 'in', [...ids])
    .compile()

/** The entries of one tenant. */
export class ForgottenEntries {
  readonly closure: ForgottenClosure
  readonly rows: ForgetRows

  constructor(
    private readonly db: Db,
    model: Model,
    private readonly tenantId: Int64,
    /** The row of the lease under which the statements are executed. */
    private readonly lease = wholeName,
  ) {
    this.closure = new ForgottenClosure(db, model, tenantId)
    this.rows = new ForgetRows(this.closure, model, lease)
  }

  get #subject(): string {
    return this.closure.subject.resource.name
  }

  /** Raises the number that pages of a row's holder are compared with. Before any other statement that waits for the lease's row. */
  raising(): CompiledQuery {
    return this.db
      .updateTable('sync_lease')
      .set({ forgotten: sql<Int64>`coalesce(forgotten, 0) + 1` })
      .where('name', '=', this.lease)
      .compile()
  }

  /** Enters a person, and all that belongs to them. */
  async enter(session: Asking, receipt: Receipt): Promise<void> {
    const { customer_id: id, begun_at: since } = receipt
    const row = { record_id: id, owner_id: id, state: 'hidden', since, receipt: toJson(receipt) }
    await session.run(this.raising())
    await session.run(
      this.db
        .insertInto('sync_forgotten_records')
        .values({ tenant_id: this.tenantId, resource: this.#subject, ...row })
        .onConflict((c) => c.columns(['tenant_id', 'resource', 'record_id']).doUpdateSet(row))
        .compile(),
    )
    const person = new Map([[this.#subject, new Map([[id, id]])]])
    await this.#store(session, await this.closure.reach(session, person))
  }

  keepReceipt(receipt: Receipt): CompiledQuery {
    return this.db
      .updateTable('sync_forgotten_records')
      .set({ receipt: toJson(receipt) })
      .where('tenant_id', '=', this.tenantId)
      .where('resource', '=', this.#subject)
      .where('record_id', '=', receipt.customer_id)
      .compile()
  }

  /** The next records that were forgotten with a person. */
  next({ resource }: ForgetPlan, person: Int64, after: Int64 | undefined, limit: number) {
    let query = this.db
      .selectFrom('sync_forgotten_records')
      .select('record_id')
      .where((eb) => eb.and({ tenant_id: this.tenantId, resource: resource.name, state: 'hidden' }))
      .where('owner_id', '=', person)
    if (after !== undefined) query = query.where('record_id', '>', after)
    return query.orderBy('record_id').limit(limit).compile()
  }

  /** How many records that refer to a person stay whole, since they are others', too. */
  kept(person: Int64) {
    return this.db
      .selectFrom('sync_forgotten_records')
      .select((eb) => ['resource', eb.fn.countAll<Int64>().as('n')])
      .where((eb) => eb.and({ tenant_id: this.tenantId, owner_id: person, state: 'kept' }))
      .groupBy('resource')
      .orderBy('resource')
      .compile()
  }

  /** Lets a person's records back in; of others who are forgotten, everything is judged again. The lists have to be read. */
  async lift(session: Asking, person: Int64, at: string): Promise<void> {
    const { db, tenantId } = this
    await session.run(this.raising())
    await session.run(
      db
        .deleteFrom('sync_forgotten_records')
        .where((eb) => eb.and({ tenant_id: tenantId, owner_id: person }))
        .compile(),
    )
    await this.#store(session, await this.#judgedAgain(session, 'kept'))
    const { plans, subject } = this.closure
    for (const { resource } of plans)
      await session.run(
        demandRefill(db, resource.name, `${subject.resource.singular} ${person} is back`, at, tenantId),
      )
  }

  /**
   * After a page was stored: enters what it shows of forgotten persons, with all that leads to, and empties what was here
   * before. By the stored rows: an older version in the page says nothing. Where something turns out to be somebody
   * else's, everything of the tenant is judged again: what was taken for theirs because of it goes along.
   */
  async arrived(session: Asking, resource: string, { entering, sharing }: PageForgotten): Promise<void> {
    const { closure, rows } = this
    const plan = closure.plan(resource)
    const owners = await closure.ownersOf(session, plan, entering)
    const admitted = await closure.admitted(session, plan, owners.keys())
    const known = await closure.entries(session, plan, owners.keys())
    const isOthers = (id: Int64): boolean => isAway(known.get(id)) && !isAway(admitted.get(id))
    const isWhole = sharing.length > 0 || [...owners.keys()].some(isOthers)
    const theirs = new Map([...owners].filter(([id]) => isAway(admitted.get(id))))
    const reached = isWhole
      ? await this.#judgedAgain(session, 'wanted')
      : await closure.reach(session, new Map([[resource, theirs]]), async (to, ids) => {
          // What is forgotten already has led on before.
          const entered = await closure.entries(session, to, ids)
          return closure.admitted(
            session,
            to,
            ids.filter((id) => !isAway(entered.get(id))),
          )
        })
    for (const [id, owner] of owners) {
      const isTheirs = isWhole ? isAway(reached.get(resource)?.get(id)?.state) : theirs.has(id)
      if (isTheirs) put(reached, resource, id, { state: 'hidden', owner })
      // The page was taken for theirs, and isn't: it has to be read again, whole.
      else if (!known.has(id)) put(reached, resource, id, { state: 'wanted', owner })
    }
    for (const [name, ids] of await this.#store(session, reached))
      for (const some of inParts(ids))
        for (const { query } of rows.emptying(closure.plan(name), some)) await session.run(query)
    await session.run(rows.examples)
  }

  /**
   * What everybody who is forgotten leads to by now. What isn't among that any more, and is somebody else's, or led to
   * only by such a record, isn't forgotten any more. The rest stays: to show what was a forgotten person's because the
   * source has taken their name out of it was judged worse.
   */
  async #judgedAgain(session: Asking, released: ForgottenState): Promise<Reached> {
    const { db, tenantId, closure } = this
    const seeds = await closure.seeds(session)
    const reached = await closure.reach(session, seeds)
    const entries = db
      .selectFrom('sync_forgotten_records')
      .select(['resource', 'record_id', 'owner_id'])
      .where((eb) => eb.and({ tenant_id: tenantId }))
      .where('state', 'in', ['hidden', 'expected'])
    const lost = new Map<string, Map<Int64, Int64>>()
    for (const { resource, record_id: id, owner_id } of (await session.run(entries.compile())).rows)
      if (!isAway(reached.get(resource)?.get(id)?.state) && !seeds.get(resource)?.has(id))
        put(lost, resource, id, owner_id)
    const others = new Map<string, Map<Int64, Int64>>()
    for (const [name, owners] of lost) {
      const admitted = await closure.admitted(session, closure.plan(name), owners.keys())
      for (const [id, owner] of owners) if (!isAway(admitted.get(id))) put(others, name, id, owner)
    }
    const behind = await closure.reach(session, others, async ({ resource: { name } }, ids) => {
      const also = ids.filter((id) => lost.get(name)?.has(id))
      return new Map(also.map((id) => [id, 'hidden'] as const))
    })
    for (const [resource, ids] of [...others, ...behind])
      for (const some of inParts(ids.keys()))
        await session.run(
          db
            .updateTable('sync_forgotten_records')
            .set({ state: released })
            .where((eb) => eb.and({ tenant_id: tenantId, resource }))
            .where('record_id', 'in', some)
            .compile(),
        )
    return reached
  }

  /**
   * What is forgotten with anybody stays so; what was kept for others goes if they are forgotten, too. Returns the records
   * that weren't forgotten before, by resource.
   */
  async #store(session: Asking, reached: Reached): Promise<Map<string, Int64[]>> {
    const { db, tenantId, closure } = this
    const persons = db
      .selectFrom('sync_forgotten_records')
      .select(['record_id', 'since'])
      .where((eb) => eb.and({ tenant_id: tenantId, resource: this.#subject }))
    const since = new Map(
      (await session.run(persons.compile())).rows.map((row) => [row.record_id, row.since]),
    )
    const fresh = new Map<string, Int64[]>()
    for (const [resource, states] of reached)
      for (const some of inParts(states)) {
        const ids = some.map(([id]) => id)
        const known = await closure.entries(session, closure.plan(resource), ids)
        const isFresh = (id: Int64): boolean => isAway(states.get(id)?.state) && known.get(id) !== 'hidden'
        fresh.set(resource, [...(fresh.get(resource) ?? []), ...ids.filter(isFresh)])
        const rows = some.map(([record_id, { state, owner }]) => ({
          tenant_id: tenantId,
          resource,
          record_id,
          owner_id: owner,
          state,
          since: since.get(owner) ?? null,
        }))
        await session.run(
          db
            .insertInto('sync_forgotten_records')
            .values(rows)
            .onConflict((c) =>
              c
                .columns(['tenant_id', 'resource', 'record_id'])
                .doUpdateSet((eb) => ({
                  state: eb.ref('excluded.state'),
                  owner_id: eb.ref('excluded.owner_id'),
                }))
                .where(sql<boolean>`excluded.state = 'hidden' and sync_forgotten_records.state <> 'hidden'`),
            )
            .compile(),
        )
      }
    return fresh
  }
}

/** Stores a page with what it enters. If something was forgotten meanwhile, the page is prepared again. */
export async function applyForgetting(
  warehouse: Preparing & { readonly db: Db },
  batch: Omit<Batch, 'fence'>,
  apply: (batch: Omit<Batch, 'fence'>) => Promise<Applied>,
): Promise<Applied> {
  const { db, model, leaseName } = warehouse
  const { tenantId, resource } = batch
  const entries = new ForgottenEntries(db, model, tenantId, leaseName)
  for (let { page } = batch; ; ) {
    // Another thread may store the page: it gets no functions.
    const { again: _, ...forgotten } = page.forgotten ?? nothingForgotten
    const reassigned = await reassignedIn(warehouse, entries.closure.subject, { ...batch, page })
    const prepared = { ...batch, page: { ...page, forgotten } }
    const judged: typeof prepared = {
      ...prepared,
      statements: [...batch.statements, entries.raising()],
      closing: (session) => entries.arrived(session, resource, forgotten),
    }
    try {
      const applied = await apply(
        forgotten.entering.length + forgotten.sharing.length > 0 ? judged : prepared,
      )
      return { ...applied, reassigned }
    } catch (error) {
      const again = wasPreparedBefore(error) ? await preparedAgain(warehouse, batch, page) : undefined
      if (again === undefined) throw error
      // Refused for a set that hasn't changed: the page would be prepared again for ever.
      if (again.forgotten?.generation === page.forgotten?.generation)
        throw new Bug('A page was prepared again although nothing was forgotten since')
      page = again
    }
  }
}

/** The forgotten records of a page that the source gives to another person: a person's own id, if the one who has it was created at another time. */
async function reassignedIn(
  warehouse: Reader,
  { resource: { name } }: ForgetPlan,
  { tenantId, resource, page }: Pick<Batch, 'tenantId' | 'resource' | 'page'>,
): Promise<readonly Int64[]> {
  const { reassigned } = page.forgotten ?? nothingForgotten
  if (resource !== name || reassigned.length === 0) return reassigned
  const stored = await warehouse.read((db) =>
    db
      .selectFrom(rootTable({ name }))
      .select(['id', sql<string | null>`created_at`.as('created_at')])
      .where('tenant_id', '=', tenantId)
      .where('id', 'in', [...reassigned])
      .execute(),
  )
  const before = new Map(stored.map(({ id, created_at }) => [id, created_at]))
  return page.records.flatMap(({ id, createdAt }) => {
    const known = before.get(id) ?? createdAt
    return createdAt !== null && createdAt !== known ? id : []
  })
}
