/**
 * How records get into the sets of forgotten records (forgottensets.ts) and leave them. `shopsync forget` does so, and the
 * commit of a page that shows such a record first. Which records those are, the closure says.
 */
import { type CompiledQuery, sql } from 'kysely'
import type { Int64 } from '../../../schema/resource.js'
import { toJson } from '../base/printjson.js'
import type { PageForgotten } from '../model/flatten/batch.js'
import { type ForgetPlan, type ForgottenState, isAway } from '../model/forgotten.js'
import type { Model } from '../model/resourcemodel.js'
import type { Db } from './database.js'
import { wasPreparedBefore } from './fence.js'
import { addTo, ForgottenClosure, idParts, type Reached } from './forgottenclosure.js'
import { ForgetRows } from './forgottenrows.js'
import { type Preparing, preparedAgain, type Receipt } from './forgottensets.js'
import { demandRefill } from './layout.js'
import type { Session } from './transaction.js'
import { type Applied, type Batch, wholeName } from './versionbatch.js'

/** The entries of one tenant. */
export class ForgottenEntries {
  readonly closure: ForgottenClosure
  readonly rows: ForgetRows

  constructor(
    private readonly db: Db,
    model: Pick<Model, 'list' | 'forgotten'>,
    private readonly tenantId: Int64,
    /** The row of the lease under which the statements are executed. */
    private readonly lease = wholeName,
  ) {
    this.closure = new ForgottenClosure(db, model, tenantId)
    this.rows = new ForgetRows(db, model, tenantId, lease)
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
  async enter(session: Pick<Session, 'run'>, receipt: Receipt): Promise<void> {
    const { customer_id: id, begun_at: since } = receipt
    const row = { record_id: id, owner_id: id, state: 'hidden', since }
    await session.run(this.raising())
    await session.run(
      this.db
        .insertInto('sync_forgotten_records')
        .values({ tenant_id: this.tenantId, resource: this.#subject, ...row })
        .onConflict((c) => c.columns(['tenant_id', 'resource', 'record_id']).doUpdateSet(row))
        .compile(),
    )
    await session.run(this.keepReceipt(receipt))
    await this.#store(session, await this.#reachedFrom(session, id), id)
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

  /** Lets a person's records back in; of others who are forgotten, everything is judged again. The lists have to be read. */
  async lift(session: Pick<Session, 'run'>, person: Int64, at: string): Promise<void> {
    const { db, tenantId } = this
    await session.run(this.raising())
    await session.run(
      db
        .deleteFrom('sync_forgotten_records')
        .where((eb) => eb.and({ tenant_id: tenantId, owner_id: person }))
        .compile(),
    )
    const others = db
      .selectFrom('sync_forgotten_records')
      .select('record_id')
      .where((eb) => eb.and({ tenant_id: tenantId, resource: this.#subject, state: 'hidden' }))
    for (const { record_id } of (await session.run(others.compile())).rows)
      await this.#judgeAgain(session, record_id, 'kept')
    const { plans, subject } = this.closure
    for (const { resource } of plans)
      await session.run(
        demandRefill(db, resource.name, `${subject.resource.singular} ${person} is back`, at, tenantId),
      )
  }

  /**
   * After a page was stored: follows the references of records that are forgotten with others, and empties what was here
   * before them; and judges again what somebody else refers to by now. By the stored rows: an older version in the page
   * says nothing.
   */
  async arrived(session: Pick<Session, 'run'>, resource: string, page: PageForgotten): Promise<void> {
    const { closure, rows } = this
    const plan = closure.plan(resource)
    const owners = await closure.ownersOf(session, plan, [...page.entering, ...page.sharing])
    const entering = new Map<Int64, Set<Int64>>()
    for (const id of page.entering) {
      const owner = owners.get(id)
      if (owner !== undefined) addTo(entering, owner, id)
    }
    for (const [owner, ids] of entering) {
      const own = await closure.admitted(session, plan, ids, false)
      const known = new Map([...own].filter(([, state]) => state !== 'kept'))
      const from = new Map(known.size > 0 ? [[resource, new Set(known.keys())]] : [])
      const reached = new Map(await closure.reach(session, from, true))
      // The page was taken for theirs, and isn't: it has to be read again, whole.
      const others = [...ids].flatMap((id) => (known.has(id) ? [] : [[id, 'wanted'] as const]))
      reached.set(resource, new Map([...(reached.get(resource) ?? []), ...others, ...known]))
      await this.#store(session, reached, owner)
      for (const [name, states] of reached)
        for (const ids of idParts([...states].flatMap(([id, state]) => (isAway(state) ? [id] : []))))
          for (const { query } of rows.emptying(closure.plan(name), ids)) await session.run(query)
      await session.run(rows.examples)
    }
    const judged = new Set(page.sharing.flatMap((id) => owners.get(id) ?? []))
    for (const owner of judged) await this.#judgeAgain(session, owner, 'wanted')
  }

  #reachedFrom(session: Pick<Session, 'run'>, person: Int64): Promise<Reached> {
    return this.closure.reach(session, new Map([[this.#subject, new Set([person])]]), false)
  }

  /** What no reference leads to any more, or has others too, isn't forgotten any more. */
  async #judgeAgain(session: Pick<Session, 'run'>, person: Int64, state: ForgottenState): Promise<void> {
    const { db, tenantId } = this
    const reached = await this.#reachedFrom(session, person)
    const entries = db
      .selectFrom('sync_forgotten_records')
      .select(['resource', 'record_id'])
      .where((eb) => eb.and({ tenant_id: tenantId, owner_id: person }))
      .where('resource', '<>', this.#subject)
      .where('state', 'in', ['hidden', 'expected'])
    const left = new Map<string, Set<Int64>>()
    for (const { resource, record_id } of (await session.run(entries.compile())).rows)
      if (!isAway(reached.get(resource)?.get(record_id))) addTo(left, resource, record_id)
    for (const [resource, ids] of left)
      for (const some of idParts(ids))
        await session.run(
          db
            .updateTable('sync_forgotten_records')
            .set({ state })
            .where((eb) => eb.and({ tenant_id: tenantId, resource }))
            .where('record_id', 'in', some)
            .compile(),
        )
    await this.#store(session, reached, person)
  }

  /** What is forgotten with anybody stays so; what was kept for others goes if they are forgotten, too. */
  async #store(session: Pick<Session, 'run'>, reached: Reached, owner: Int64): Promise<void> {
    const { db, tenantId } = this
    const person = db
      .selectFrom('sync_forgotten_records')
      .select('since')
      .where((eb) => eb.and({ tenant_id: tenantId, resource: this.#subject, record_id: owner }))
    const since = (await session.run(person.compile())).rows[0]?.since ?? null
    for (const [resource, states] of reached)
      for (const some of idParts(states)) {
        const rows = some.map(([record_id, state]) => ({
          ...{ tenant_id: tenantId, resource, record_id },
          ...{ owner_id: owner, state, since },
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
  }
}

/** Stores a page with what it enters. If something was forgotten meanwhile, the page is prepared again. */
export async function applyForgetting(
  warehouse: Preparing & { readonly db: Db; readonly model: Model },
  batch: Omit<Batch, 'fence'>,
  apply: (batch: Omit<Batch, 'fence'>) => Promise<Applied>,
): Promise<Applied> {
  const { db, model, leaseName } = warehouse
  const { tenantId, resource } = batch
  const entries = new ForgottenEntries(db, model, tenantId, leaseName)
  for (let { page } = batch; ; ) {
    // Another thread may store the page: it gets no functions.
    const { again: _, ...forgotten } = page.forgotten ?? nobody
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
      return { ...applied, reassigned: forgotten.reassigned.length }
    } catch (error) {
      const again = wasPreparedBefore(error) ? await preparedAgain(warehouse, batch, page) : undefined
      if (again === undefined) throw error
      page = again
    }
  }
}

const nobody: PageForgotten = { generation: 0, entering: [], sharing: [], reassigned: [] }
