/**
 * The sets of forgotten records in the warehouse, and the statements by which records get there and lose what says
 * something about a person (docs/privacy.md, Forgetting a customer). What is forgotten with whom follows from the
 * declarations (model/forgotten.ts).
 *
 * Who may change a set, and who hears of it: `shopsync forget` under its lease, so no page is under way; and the commit
 * of a page that shows a record of a forgotten customer for the first time. Either raises `sync_lease.forgotten`. Each
 * commit of a page compares it with the number that the page was prepared with, in the statement that checks the fence,
 * and a page of an earlier set is prepared again (Warehouse.apply).
 */
import { type CompiledQuery, type RawBuilder, sql } from 'kysely'
import type { Int64 } from '../../../schema/resource.js'
import { toJson } from '../base/printjson.js'
import { type ForgetLink, type ForgetPlan, type PageForgotten, refersTo, rowsGo } from '../model/forgotten.js'
import { historyName } from '../model/historytable.js'
import type { Model, ResourceModel } from '../model/resourcemodel.js'
import type { Reader } from './cursors.js'
import { type Db, readJson, rootTable } from './database.js'
import type { Dialect } from './dialect.js'
import { demandRefill } from './layout.js'
import type { Session } from './transaction.js'

type Source = Reader & {
  readonly model: Pick<Model, 'list' | 'forgotten'>
  readonly dialect: Pick<Dialect, 'catalog'>
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
      .where('name', '=', 'run')
      .executeTakeFirst()
    const generation = lease?.forgotten ?? 0
    let query = db
      .selectFrom('sync_forgotten_records')
      .select(['tenant_id', 'resource', 'record_id', 'state'])
    if (tenantId !== undefined) query = query.where('tenant_id', '=', tenantId)
    const found = new Map<Int64, Map<string, Map<Int64, boolean>>>()
    if (tenantId !== undefined) found.set(tenantId, new Map())
    for (const { tenant_id, resource, record_id, state } of await query.execute()) {
      const records = found.get(tenant_id) ?? new Map<string, Map<Int64, boolean>>()
      const ids = records.get(resource) ?? new Map<Int64, boolean>()
      found.set(tenant_id, records.set(resource, ids.set(record_id, state === 'hidden')))
    }
    if (tenantId === undefined) Object.assign(forgotten, { generation, tenants: new Map() })
    for (const [tenant, records] of found) forgotten.tenants.set(tenant, { generation, records })
  })
}

/** The same for commands that only read: they may meet the warehouse of an older program. */
export async function readForgottenThere(warehouse: Source & { has(name: string): Promise<boolean> }) {
  if (await warehouse.has('sync_forgotten_records')) await readForgottenRecords(warehouse)
}

/** Ids of one resource's records: a list, or a query for them in parentheses, as Kysely puts it into a statement. */
type Ids = readonly Int64[] | RawBuilder<{ id: Int64 }>

const among = (ids: Ids): RawBuilder<unknown> => (isList(ids) ? sql`(${sql.join(ids)})` : ids)

const isList = (ids: Ids): ids is readonly Int64[] => Array.isArray(ids)

/** As quarantine names records. */
const namesAmong = (ids: Ids): RawBuilder<unknown> =>
  isList(ids) ? sql`(${sql.join(ids.map(String))})` : sql`(select cast(i.id as text) from ${ids} as i)`

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
  /** Where else traces may be, such as in backups. */
  readonly elsewhere: string
}

/** The receipts in the warehouse. Empty for one that hasn't been migrated yet. */
export async function storedReceipts(
  warehouse: Reader & { has(name: string): Promise<boolean> },
): Promise<Receipt[]> {
  if (!(await warehouse.has('sync_forgotten_records'))) return []
  const rows = await warehouse.read((db) =>
    db.selectFrom('sync_forgotten_records').select('receipt').where('receipt', 'is not', null).execute(),
  )
  return rows.map(({ receipt }) => readJson(receipt) as Receipt)
}

/** Records that aren't forgotten any more, and whose values have to be requested. */
export const wantedRecords = (warehouse: Reader) =>
  warehouse.read((db) =>
    db
      .selectFrom('sync_forgotten_records')
      .select(['tenant_id', 'resource', 'record_id'])
      .where('state', '=', 'wanted')
      .orderBy('tenant_id')
      .orderBy('resource')
      .orderBy('record_id')
      .execute(),
  )

/** The records were read. Those by which others are forgotten stay on record. */
export const settleWanted = (
  db: Db,
  { forgets, name }: Pick<ResourceModel, 'forgets' | 'name'>,
  tenantId: Int64,
  ids: readonly Int64[],
): CompiledQuery => {
  const here = { tenant_id: tenantId, resource: name, state: 'wanted' }
  return forgets?.isEntered
    ? db
        .updateTable('sync_forgotten_records')
        .set({ state: 'kept' })
        .where((eb) => eb.and(here))
        .where('record_id', 'in', [...ids])
        .compile()
    : db
        .deleteFrom('sync_forgotten_records')
        .where((eb) => eb.and(here))
        .where('record_id', 'in', [...ids])
        .compile()
}

/** A statement, and the table whose rows it changes. */
export interface Emptying {
  readonly table: string
  readonly query: CompiledQuery
}

const reason = ' (erased on request)'

/** The statements about forgotten records of one tenant. */
export class ForgetStatements {
  readonly #plans: readonly ForgetPlan[]

  constructor(
    private readonly db: Db,
    private readonly model: Pick<Model, 'list' | 'forgotten'>,
    private readonly tenantId: Int64,
  ) {
    this.#plans = model.list.flatMap(({ forgets }) => forgets ?? [])
  }

  /** Raises the number that pages are compared with. Before any other statement that waits for the lease's row. */
  get raising(): CompiledQuery {
    return this.db
      .updateTable('sync_lease')
      .set({ forgotten: sql<Int64>`coalesce(forgotten, 0) + 1` })
      .where('name', '=', 'run')
      .compile()
  }

  /** What commits with a page that shows records of forgotten customers for the first time, or of their new owners. */
  ofPage(plan: ForgetPlan, { entering, sharing }: PageForgotten): CompiledQuery[] {
    if (entering.length + sharing.length === 0) return []
    const statements: CompiledQuery[] = [this.raising]
    if (entering.length > 0) {
      // By the stored rows: an older version in the page says nothing.
      for (const link of plan.self)
        if (link.of !== undefined) statements.push(this.#enter(plan, link, link.of, { ids: entering }))
      const hidden = this.#hidden(plan, entering)
      statements.push(...this.entries(plan, hidden))
      for (const { query } of this.#emptied(plan, hidden)) statements.push(query)
    }
    if (sharing.length > 0) statements.push(...this.#shared(plan, sharing))
    return statements
  }

  /** Enters what is forgotten with these records, which are entered. */
  *entries(plan: ForgetPlan, ids: Ids): Generator<CompiledQuery> {
    for (const { theirs, link } of this.#dependents(plan))
      if (theirs.isEntered) {
        yield this.#enter(theirs, link, plan.resource.name, { of: ids })
        yield* this.entries(theirs, this.#idsBy(theirs, link, plan, ids))
      }
    for (const { link, target } of this.#others(plan)) {
      yield this.#enterOther(plan, link, target, ids)
      yield* this.entries(target, this.#hidden(target, this.#referred(plan, link, ids)))
    }
  }

  /** Empties these records, which are entered, and those that are forgotten with them and aren't entered themselves. */
  *emptying(plan: ForgetPlan, ids: Ids): Generator<Emptying> {
    for (const { theirs, link } of this.#dependents(plan))
      if (!theirs.isEntered) yield* this.#rows(theirs, this.#idsBy(theirs, link, plan, ids))
    yield* this.#rows(plan, ids)
  }

  /** Examples of the lists whose records are forgotten with others may be theirs. */
  get examples(): CompiledQuery {
    const names = this.#plans.map(({ resource }) => resource.name)
    return this.db
      .updateTable('sync_drift')
      .set({ example: null })
      .where('tenant_id', '=', this.tenantId)
      .where('resource', 'in', names)
      .where('example', 'is not', null)
      .compile()
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
    yield this.raising
    const theirs = sql<{ id: Int64 }>`${db
      .selectFrom('sync_forgotten_records')
      .select('record_id as id')
      .where('tenant_id', '=', tenantId)
      .where('owner_id', '=', person)}`
    // First everything that others have too, while it is known who has it.
    for (const owner of this.#plans)
      for (const { link, target } of this.#others(owner)) {
        const shared = this.#referred(owner, link, theirs)
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
    for (const owner of this.#plans)
      for (const { link, target } of this.#others(owner)) {
        const lifting = sql<{ id: Int64 }>`${db
          .selectFrom('sync_forgotten_records')
          .select('record_id as id')
          .where((eb) => eb.and({ tenant_id: tenantId, resource: target.resource.name, state: 'lifting' }))}`
        const left = sql<{ id: Int64 }>`${db
          .selectFrom(rootTable(owner.resource))
          .select('id')
          .where('tenant_id', '=', tenantId)
          .where(sql<boolean>`${sql.ref(link.column)} in ${among(lifting)}`)}`
        yield this.#enterOther(owner, link, target, left)
      }
    yield db
      .deleteFrom('sync_forgotten_records')
      .where((eb) => eb.and({ tenant_id: tenantId, state: 'lifting' }))
      .compile()
    for (const { resource } of this.#plans)
      yield demandRefill(db, resource.name, `${plan.resource.singular} ${person} is back`, at, tenantId)
  }

  /** Examples of the lists whose records are forgotten with others, and values that are such an example themselves. */
  async clearDrift(session: Pick<Session, 'run'>, { list }: Pick<Model, 'list'>): Promise<void> {
    const { db, tenantId } = this
    await session.run(this.examples)
    for (const { name, forgets } of list) {
      if (!forgets) continue
      const shown = db
        .selectFrom('sync_drift')
        .select(['path', 'kind', 'detail'])
        .where('tenant_id', '=', tenantId)
        .where('resource', '=', name)
        .where('detail', '<>', '')
      for (const key of (await session.run(shown.compile())).rows)
        if (forgets.places.hides(key.path))
          await session.run(
            db
              .deleteFrom('sync_drift')
              .where((eb) => eb.and({ resource: name, ...key }))
              .compile(),
          )
    }
  }

  /** Ids of these that are forgotten. */
  #hidden({ resource }: ForgetPlan, ids: Ids): RawBuilder<{ id: Int64 }> {
    return sql<{ id: Int64 }>`${this.db
      .selectFrom('sync_forgotten_records')
      .select('record_id as id')
      .where('tenant_id', '=', this.tenantId)
      .where('resource', '=', sql.lit(resource.name))
      .where('state', '=', sql.lit('hidden'))
      .where(sql<boolean>`record_id in ${among(ids)}`)}`
  }

  /** Ids of what these records refer to. */
  #referred({ resource }: ForgetPlan, { column }: ForgetLink, ids: Ids): RawBuilder<{ id: Int64 }> {
    return sql<{ id: Int64 }>`${this.db
      .selectFrom(rootTable(resource))
      .select(sql<Int64>`${sql.ref(column)}`.as('id'))
      .where('tenant_id', '=', this.tenantId)
      .where(sql<boolean>`id in ${among(ids)}`)
      .where(sql<boolean>`${sql.ref(column)} is not null`)}`
  }

  /** Ids of the records that refer to these. */
  #idsBy(theirs: ForgetPlan, link: ForgetLink, owner: ForgetPlan, ids: Ids): RawBuilder<{ id: Int64 }> {
    return sql<{ id: Int64 }>`${this.db
      .selectFrom(rootTable(theirs.resource))
      .select('id')
      .where('tenant_id', '=', this.tenantId)
      .where(sql<boolean>`${sql.ref(link.column)} in ${among(ids)}`)
      .where(ofType(link, owner.resource.entity))}`
  }

  *#dependents({ resource }: ForgetPlan) {
    for (const theirs of this.#plans)
      for (const link of theirs.self) if (refersTo(link, theirs.resource, resource)) yield { theirs, link }
  }

  *#others(plan: ForgetPlan) {
    for (const link of plan.other)
      for (const target of this.#plans)
        if (refersTo(link, plan.resource, target.resource)) yield { link, target }
  }

  /** Enters records whose owner is entered: those with these ids, or of these owners. */
  #enter(
    { resource }: ForgetPlan,
    link: ForgetLink,
    owner: string,
    those: { readonly ids?: Ids; readonly of?: Ids },
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
  #enterOther(plan: ForgetPlan, { column }: ForgetLink, target: ForgetPlan, ids: Ids): CompiledQuery {
    const { db } = this
    const { name } = plan.resource
    const here = sql.ref(`r.${column}`)
    const others = db
      .selectFrom(`${name} as x` as 'any root as x')
      .select('x.id')
      .whereRef('x.tenant_id', '=', sql`r.tenant_id`)
      .where(sql<boolean>`${sql.ref(`x.${column}`)} = ${here}`)
      .where((eb) => eb.not(eb.exists(this.#entryOf(name, 'x'))))
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
  #entryOf(resource: string, alias: string) {
    return this.db
      .selectFrom('sync_forgotten_records as g')
      .select('g.record_id')
      .where(sql<boolean>`g.tenant_id = ${sql.ref(`${alias}.tenant_id`)}`)
      .where('g.resource', '=', sql.lit(resource))
      .where(sql<boolean>`g.record_id = ${sql.ref(`${alias}.id`)}`)
      .where('g.state', '=', sql.lit('hidden'))
  }

  /** What these records of others refer to isn't forgotten any more: it is requested by id, with what depends on it. */
  *#shared(plan: ForgetPlan, ids: readonly Int64[]): Generator<CompiledQuery> {
    for (const { link, target } of this.#others(plan)) {
      const theirs = sql<{ id: Int64 }>`${this.db
        .selectFrom(`${plan.resource.name} as x` as 'any root as x')
        .select(sql<Int64>`${sql.ref(`x.${link.column}`)}`.as('id'))
        .where('x.tenant_id', '=', this.tenantId)
        .where('x.id', 'in', [...ids])
        .where((eb) => eb.not(eb.exists(this.#entryOf(plan.resource.name, 'x'))))}`
      yield this.db
        .updateTable('sync_forgotten_records')
        .set({ state: 'wanted' })
        .where('tenant_id', '=', this.tenantId)
        .where('resource', '=', target.resource.name)
        .where('state', '=', 'hidden')
        .where(sql<boolean>`record_id in ${among(theirs)}`)
        .compile()
      for (const one of this.#dependents(target))
        yield this.#enter(one.theirs, one.link, target.resource.name, { of: theirs }, 'wanted')
    }
  }

  *#emptied(plan: ForgetPlan, ids: Ids): Generator<Emptying> {
    yield* this.#rows(plan, ids)
    for (const { theirs, link } of this.#dependents(plan))
      yield* this.#emptied(theirs, this.#idsBy(theirs, link, plan, ids))
    for (const { link, target } of this.#others(plan))
      yield* this.#emptied(target, this.#hidden(target, this.#referred(plan, link, ids)))
    yield { table: 'sync_drift', query: this.examples }
  }

  /** Empties the rows of these records, their versions and what is in quarantine for them. */
  *#rows(plan: ForgetPlan, ids: Ids): Generator<Emptying> {
    const { db, tenantId } = this
    const { resource, tables, columns } = plan
    for (const one of tables) {
      const { name, owner = 'id' } = one
      const nulls = columns.get(name) ?? []
      const here = sql<boolean>`${sql.ref(owner)} in ${among(ids)}`
      const table = rootTable({ name })
      if (rowsGo(plan, one))
        yield {
          table: name,
          query: db.deleteFrom(table).where('tenant_id', '=', tenantId).where(here).compile(),
        }
      else if (nulls.length > 0)
        yield {
          table: name,
          query: db
            .updateTable(table)
            .set(Object.fromEntries(nulls.map((column) => [column, null])))
            .where('tenant_id', '=', tenantId)
            .where(here)
            .where((eb) => eb.or(nulls.map((column) => sql<boolean>`${sql.ref(column)} is not null`)))
            .compile(),
        }
    }
    const history = historyName(resource)
    if (history !== undefined && this.model.forgotten.histories.includes(history))
      yield {
        table: history,
        query: db
          .deleteFrom(rootTable({ name: history }))
          .where('tenant_id', '=', tenantId)
          .where(sql<boolean>`id in ${among(ids)}`)
          .compile(),
      }
    yield {
      table: 'sync_quarantine',
      query: db
        .updateTable('sync_quarantine')
        .set({ value: null, reason: sql<string>`coalesce(reason, '') || ${sql.lit(reason)}` })
        .where('tenant_id', '=', tenantId)
        .where('resource', '=', resource.name)
        .where('value', 'is not', null)
        .where(sql<boolean>`record_id in ${namesAmong(ids)}`)
        .compile(),
    }
  }
}

const ofType = ({ typedBy }: ForgetLink, entity: string, prefix = ''): RawBuilder<boolean> =>
  typedBy === undefined
    ? sql<boolean>`1 = 1`
    : sql<boolean>`${sql.ref(prefix + typedBy)} = ${sql.lit(entity)}`
