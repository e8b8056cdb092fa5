/**
 * The statements by which records get into the sets of forgotten records (forgottensets.ts), leave them, and lose what says
 * something about a person. `shopsync forget` runs them, and the commit of a page that shows such a record first.
 */
import { type CompiledQuery, sql } from 'kysely'
import type { Int64 } from '../../../schema/resource.js'
import { toJson } from '../base/printjson.js'
import type { PageForgotten } from '../model/flatten/batch.js'
import type { ForgetLink, ForgetPlan } from '../model/forgotten.js'
import type { Model } from '../model/resourcemodel.js'
import { type Db, rootTable } from './database.js'
import { wasPreparedBefore } from './fence.js'
import { among, ofType, type RecordIds } from './forgottenids.js'
import { ForgetRows } from './forgottenrows.js'
import { type Preparing, preparedAgain, type Receipt } from './forgottensets.js'
import { demandRefill } from './layout.js'
import type { Batch } from './versionbatch.js'

/** The statements about forgotten records of one tenant. */
export class ForgetStatements extends ForgetRows {
  /** Raises the number that pages of a row's holder are compared with. Before any other statement that waits for the lease's row. */
  raising(): CompiledQuery {
    return this.db
      .updateTable('sync_lease')
      .set({ forgotten: sql<Int64>`coalesce(forgotten, 0) + 1` })
      .where('name', '=', this.lease)
      .compile()
  }

  /** What commits with a page that shows records of forgotten customers for the first time, or of their new owners. */
  ofPage(plan: ForgetPlan, { entering, sharing }: PageForgotten): CompiledQuery[] {
    if (entering.length + sharing.length === 0) return []
    const statements: CompiledQuery[] = [this.raising()]
    if (entering.length > 0) {
      // By the stored rows: an older version in the page says nothing.
      for (const link of plan.self)
        if (link.of !== undefined) statements.push(this.enter(plan, link, link.of, { ids: entering }))
      const hidden = this.hidden(plan, entering)
      statements.push(...this.entries(plan, hidden))
      for (const { query } of this.emptied(plan, hidden)) statements.push(query)
    }
    if (sharing.length > 0) statements.push(...this.shared(plan, sharing))
    return statements
  }

  /** Enters what is forgotten with these records, which are entered. */
  *entries(plan: ForgetPlan, ids: RecordIds): Generator<CompiledQuery> {
    for (const { theirs, link } of this.dependents(plan))
      if (theirs.isEntered) {
        yield this.enter(theirs, link, plan.resource.name, { of: ids })
        yield* this.entries(theirs, this.idsBy(theirs, link, plan, ids))
      }
    for (const { link, target } of this.others(plan)) {
      yield this.enterOther(plan, link, target, ids)
      yield* this.entries(target, this.hidden(target, this.referred(plan, link, ids)))
    }
  }

  /** Enters a person, whatever else is known about their records. */
  seed({ resource }: ForgetPlan, { customer_id: id, begun_at: since }: Receipt): CompiledQuery {
    const row = { record_id: id, owner_id: id, state: 'hidden', since }
    return this.db
      .insertInto('sync_forgotten_records')
      .values({ tenant_id: this.tenantId, resource: resource.name, ...row })
      .onConflict((c) => c.columns(['tenant_id', 'resource', 'record_id']).doUpdateSet(row))
      .compile()
  }

  keepReceipt({ resource }: ForgetPlan, receipt: Receipt): CompiledQuery {
    return this.db
      .updateTable('sync_forgotten_records')
      .set({ receipt: toJson(receipt) })
      .where('tenant_id', '=', this.tenantId)
      .where('resource', '=', resource.name)
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

  /** Lets a person's records back in: those that others have too are judged again. The lists have to be read. */
  *lifting(plan: ForgetPlan, person: Int64, at: string): Generator<CompiledQuery> {
    const { db, tenantId } = this
    yield this.raising()
    const theirs = sql<{ id: Int64 }>`${db
      .selectFrom('sync_forgotten_records')
      .select('record_id as id')
      .where('tenant_id', '=', tenantId)
      .where('owner_id', '=', person)}`
    // First everything that others have too, while it is known who has it.
    for (const owner of this.plans)
      for (const { link, target } of this.others(owner)) {
        const shared = this.referred(owner, link, theirs)
        yield db
          .updateTable('sync_forgotten_records')
          .set({ state: 'lifting' })
          .where('tenant_id', '=', tenantId)
          .where('resource', '=', target.resource.name)
          .where(sql<boolean>`record_id in ${among(shared)}`)
          .compile()
      }
    yield db
      .deleteFrom('sync_forgotten_records')
      .where('tenant_id', '=', tenantId)
      .where('owner_id', '=', person)
      .where('state', '<>', 'lifting')
      .compile()
    for (const owner of this.plans)
      for (const { link, target } of this.others(owner)) {
        const lifting = sql<{ id: Int64 }>`${db
          .selectFrom('sync_forgotten_records')
          .select('record_id as id')
          .where((eb) => eb.and({ tenant_id: tenantId, resource: target.resource.name, state: 'lifting' }))}`
        const left = sql<{ id: Int64 }>`${db
          .selectFrom(rootTable(owner.resource))
          .select('id')
          .where('tenant_id', '=', tenantId)
          .where(sql<boolean>`${sql.ref(link.column)} in ${among(lifting)}`)}`
        yield this.enterOther(owner, link, target, left)
      }
    yield db
      .deleteFrom('sync_forgotten_records')
      .where((eb) => eb.and({ tenant_id: tenantId, state: 'lifting' }))
      .compile()
    for (const { resource } of this.plans)
      yield demandRefill(db, resource.name, `${plan.resource.singular} ${person} is back`, at, tenantId)
  }

  /** Enters records whose owner is entered: those with these ids, or of these owners. */
  private enter(
    { resource }: ForgetPlan,
    link: ForgetLink,
    owner: string,
    those: { readonly ids?: RecordIds; readonly of?: RecordIds },
    state = 'hidden',
  ): CompiledQuery {
    const { db } = this
    const entity = this.model.list.find(({ name }) => name === owner)?.resource.entity ?? ''
    const own = sql.ref(`r.${link.column}`)
    let found = db
      .selectFrom(`${resource.name} as r` as 'any root as r')
      .innerJoin('sync_forgotten_records as f', (join) =>
        join
          .onRef('f.tenant_id', '=', 'r.tenant_id')
          .on('f.resource', '=', sql.lit(owner))
          .on(sql<boolean>`f.record_id = ${own}`)
          .on('f.state', '=', sql.lit(state)),
      )
      .select((eb) => [
        'r.tenant_id',
        sql<string>`${sql.lit(resource.name)}`.as('resource'),
        'r.id as record_id',
        eb.fn.min('f.owner_id').as('owner_id'),
        sql<string>`${sql.lit(state)}`.as('state'),
        eb.fn.min('f.since').as('since'),
      ])
      .where('r.tenant_id', '=', this.tenantId)
      .where(ofType(link, entity, 'r.'))
    if (those.ids) found = found.where(sql<boolean>`r.id in ${among(those.ids)}`)
    if (those.of) found = found.where(sql<boolean>`${own} in ${among(those.of)}`)
    return db
      .insertInto('sync_forgotten_records')
      .columns(['tenant_id', 'resource', 'record_id', 'owner_id', 'state', 'since'])
      .expression(found.groupBy(['r.tenant_id', 'r.id']))
      .onConflict((c) => c.columns(['tenant_id', 'resource', 'record_id']).doNothing())
      .compile()
  }

  /** Enters what these records refer to. It is forgotten only if all that refer to it are. */
  private enterOther(
    plan: ForgetPlan,
    { column }: ForgetLink,
    target: ForgetPlan,
    ids: RecordIds,
  ): CompiledQuery {
    const { db } = this
    const { name } = plan.resource
    const here = sql.ref(`r.${column}`)
    const others = db
      .selectFrom(`${name} as x` as 'any root as x')
      .select('x.id')
      .whereRef('x.tenant_id', '=', sql`r.tenant_id`)
      .where(sql<boolean>`${sql.ref(`x.${column}`)} = ${here}`)
      .where((eb) => eb.not(eb.exists(this.entryOf(name, 'x'))))
    const found = db
      .selectFrom(`${name} as r` as 'any root as r')
      .innerJoin('sync_forgotten_records as f', (join) =>
        join
          .onRef('f.tenant_id', '=', 'r.tenant_id')
          .on('f.resource', '=', sql.lit(name))
          .onRef('f.record_id', '=', 'r.id')
          .on('f.state', '=', sql.lit('hidden')),
      )
      .select((eb) => [
        'r.tenant_id',
        sql<string>`${sql.lit(target.resource.name)}`.as('resource'),
        sql<Int64>`${here}`.as('record_id'),
        eb.fn.min('f.owner_id').as('owner_id'),
        sql<string>`case when exists ${others} then 'kept' else 'hidden' end`.as('state'),
        eb.fn.min('f.since').as('since'),
      ])
      .where('r.tenant_id', '=', this.tenantId)
      .where(sql<boolean>`r.id in ${among(ids)}`)
      .where(sql<boolean>`${here} is not null`)
      .groupBy(['r.tenant_id', sql`${here}`])
    return db
      .insertInto('sync_forgotten_records')
      .columns(['tenant_id', 'resource', 'record_id', 'owner_id', 'state', 'since'])
      .expression(found)
      .onConflict((c) =>
        c
          .columns(['tenant_id', 'resource', 'record_id'])
          .doUpdateSet((eb) => ({ state: eb.ref('excluded.state'), owner_id: eb.ref('excluded.owner_id') }))
          .where(sql<boolean>`excluded.state = 'hidden' or sync_forgotten_records.state = 'lifting'`),
      )
      .compile()
  }

  /** The entry of a record that is forgotten. */
  private entryOf(resource: string, alias: string) {
    return this.db
      .selectFrom('sync_forgotten_records as g')
      .select('g.record_id')
      .where(sql<boolean>`g.tenant_id = ${sql.ref(`${alias}.tenant_id`)}`)
      .where('g.resource', '=', sql.lit(resource))
      .where(sql<boolean>`g.record_id = ${sql.ref(`${alias}.id`)}`)
      .where('g.state', '=', sql.lit('hidden'))
  }

  /** What these records of others refer to isn't forgotten any more: it is requested by id, with what depends on it. */
  private *shared(plan: ForgetPlan, ids: readonly Int64[]): Generator<CompiledQuery> {
    for (const { link, target } of this.others(plan)) {
      const theirs = sql<{ id: Int64 }>`${this.db
        .selectFrom(`${plan.resource.name} as x` as 'any root as x')
        .select(sql<Int64>`${sql.ref(`x.${link.column}`)}`.as('id'))
        .where('x.tenant_id', '=', this.tenantId)
        .where('x.id', 'in', [...ids])
        .where((eb) => eb.not(eb.exists(this.entryOf(plan.resource.name, 'x'))))}`
      yield this.db
        .updateTable('sync_forgotten_records')
        .set({ state: 'wanted' })
        .where('tenant_id', '=', this.tenantId)
        .where('resource', '=', target.resource.name)
        .where('state', '=', 'hidden')
        .where(sql<boolean>`record_id in ${among(theirs)}`)
        .compile()
      for (const one of this.dependents(target))
        yield this.enter(one.theirs, one.link, target.resource.name, { of: theirs }, 'wanted')
    }
  }
}

/** Stores a page with what it enters. If something was forgotten meanwhile, the page is prepared again. */
export async function applyForgetting<
  B extends Pick<Batch, 'tenantId' | 'resource' | 'page' | 'statements'>,
  T,
>(
  warehouse: Preparing & { readonly db: Db; readonly model: Model },
  batch: B,
  apply: (batch: B) => Promise<T>,
): Promise<T> {
  const { db, model, leaseName } = warehouse
  const forgets = model.byName.get(batch.resource)?.forgets
  for (let { page } = batch; ; ) {
    // Another thread may store the page: it gets no functions.
    const { again: _, ...forgotten } = page.forgotten ?? { generation: 0, entering: [], sharing: [] }
    const its = new ForgetStatements(db, model, batch.tenantId, leaseName)
    const entries = forgets ? its.ofPage(forgets, forgotten) : []
    try {
      const statements = [...batch.statements, ...entries]
      return await apply({ ...batch, page: { ...page, forgotten }, statements })
    } catch (error) {
      const again = wasPreparedBefore(error) ? await preparedAgain(warehouse, batch, page) : undefined
      if (again === undefined) throw error
      page = again
    }
  }
}
