/**
 * What is forgotten with a person: which records, and what of their rows. Which records: all that the declared references lead to (model/forgotten.ts), from record to
 * record, in both directions, by any number of steps. `shopsync forget`, its dry run, the commit of a page that shows such
 * a record for the first time, and the receipt follow the same references here.
 *
 * Where it ends: at a record that names another person, and at one that another person has too, if several may have it. A
 * record that isn't stored leads on like any other, because what belongs to it may be. Every step only takes what no
 * earlier one took, so references that form a ring end it, too.
 *
 * What of their rows: what schema/ declares to say something about a person, in them, in their versions, in quarantine and
 * in drift. Ids and numbers stay.
 */
import { type Compilable, type CompiledQuery, type RawBuilder, sql } from 'kysely'
import type { Int64, Resource } from '../../../../schema/resource.js'
import { parseId } from '../../base/int64.js'
import { inParts } from '../../base/parts.js'
import {
  type ForgetPlan,
  type ForgottenState,
  forgottenReason,
  isAway,
  type PersonalReference,
  rowsGo,
  subjectOf,
} from '../../model/forgotten.js'
import { historyName } from '../../model/historytable.js'
import type { Model } from '../../model/resourcemodel.js'
import type { Table } from '../../model/table.js'
import { type Db, rootTable } from '../database.js'
import { stampsBegin } from '../store/voidstamps.js'
import type { Session } from '../transaction.js'

/** Records by resource and id, each with the person with whom it is forgotten. */
export type Owned = ReadonlyMap<string, ReadonlyMap<Int64, Int64>>
export type Reached = Map<string, Map<Int64, { readonly state: ForgottenState; readonly owner: Int64 }>>
export type Asking = Pick<Session, 'run'>

export const among = (ids: readonly Int64[]): RawBuilder<unknown> => sql`(${sql.join(ids)})`

export const ofType = ({ type }: Pick<PersonalReference, 'type'>, prefix = ''): RawBuilder<boolean> =>
  type === undefined
    ? sql<boolean>`1 = 1`
    : sql<boolean>`${sql.ref(prefix + type.column)} = ${sql.lit(type.entity)}`

async function idsOf(session: Asking, query: Compilable<{ readonly id: Int64 }>): Promise<Int64[]> {
  return (await session.run(query.compile())).rows.map(({ id }) => id)
}

export function put<V>(all: Map<string, Map<Int64, V>>, resource: string, id: Int64, value: V): void {
  const some = all.get(resource) ?? new Map<Int64, V>()
  all.set(resource, some.set(id, value))
}

/** The records of one tenant. */
export class ForgottenClosure {
  readonly plans: readonly ForgetPlan[]
  readonly subject: ForgetPlan
  readonly references: readonly PersonalReference[]

  constructor(
    readonly db: Db,
    { list }: Model,
    readonly tenantId: Int64,
  ) {
    this.plans = list.flatMap(({ forgets }) => forgets ?? [])
    this.subject = subjectOf(this.plans)
    this.references = this.plans.flatMap(({ references }) => references)
  }

  plan(resource: string): ForgetPlan {
    return this.plans.find(({ resource: { name } }) => name === resource) ?? this.subject
  }

  /**
   * Everything that these records lead to, as far as `admit` lets it: it ends where a record is left out, or kept. By
   * default, who is forgotten with them.
   */
  async reach(
    session: Asking,
    from: Owned,
    admit = (plan: ForgetPlan, ids: readonly Int64[]): Promise<ReadonlyMap<Int64, ForgottenState>> =>
      this.admitted(session, plan, ids),
  ): Promise<Reached> {
    const reached: Reached = new Map()
    for (let wave = from; wave.size > 0; ) {
      const found = new Map<string, Map<Int64, Int64>>()
      for (const [name, owners] of wave)
        for await (const step of this.steps(session, name, [...owners.keys()])) {
          const { resource, to } = step
          const isKnown = reached.get(resource)?.has(to) || from.get(resource)?.has(to)
          if (!isKnown) put(found, resource, to, owners.get(step.from) ?? step.from)
        }
      const next = new Map<string, Map<Int64, Int64>>()
      for (const [name, owners] of found)
        for (const [id, state] of await admit(this.plan(name), [...owners.keys()])) {
          const owner = owners.get(id) ?? id
          put(reached, name, id, { state, owner })
          if (isAway(state)) put(next, name, id, owner)
        }
      wave = next
    }
    return reached
  }

  /** All steps along a reference, from these records to others. None leads to a person: whom a record names, its admission asks. */
  async *steps(
    session: Asking,
    name: string,
    ids: readonly Int64[],
  ): AsyncGenerator<{ readonly from: Int64; readonly to: Int64; readonly resource: string }> {
    for (const reference of this.references) {
      const { from, to, owner, column } = reference
      const ways = [
        ...(from === name && to !== this.subject.resource.name ? [[owner, column, to] as const] : []),
        ...(to === name ? [[column, owner, from] as const] : []),
      ]
      for (const [known, wanted, resource] of ways)
        for (const some of inParts(ids)) {
          const pairs = this.#rowsOf(reference)
            .select([
              sql<Int64>`${sql.ref(`x.${known}`)}`.as('from'),
              sql<Int64>`${sql.ref(`x.${wanted}`)}`.as('to'),
            ])
            .where(sql<boolean>`${sql.ref(`x.${known}`)} in ${among(some)}`)
            .where(sql<boolean>`${sql.ref(`x.${wanted}`)} is not null`)
          for (const row of (await session.run(pairs.compile())).rows) yield { ...row, resource }
        }
    }
  }

  /** Which of these records are forgotten with one that leads to them. */
  async admitted(
    session: Asking,
    plan: ForgetPlan,
    ids: Iterable<Int64>,
  ): Promise<Map<Int64, ForgottenState>> {
    const admitted = new Map<Int64, ForgottenState>()
    for (const some of inParts(ids)) {
      const out = new Set(await this.#others(session, plan, some))
      const shared = new Set(plan.resource.shared ? await this.#sharing(session, plan, some) : [])
      const stored = plan.names.length > 0 ? await this.stored(session, plan.resource, some) : undefined
      for (const id of some) {
        if (out.has(id)) continue
        admitted.set(id, shared.has(id) ? 'kept' : stored?.has(id) === false ? 'expected' : 'hidden')
      }
    }
    return admitted
  }

  /** Those of these records that name anybody, or are forgotten. */
  async somebodys(session: Asking, plan: ForgetPlan, ids: Iterable<Int64>): Promise<Int64[]> {
    const found: Int64[] = []
    for (const some of inParts(ids)) {
      for (const [id, state] of await this.entries(session, plan, some)) if (isAway(state)) found.push(id)
      for (const { column, ...reference } of plan.names) {
        const isNamed = sql<boolean>`${sql.ref(`x.${column}`)} is not null`
        found.push(...(await idsOf(session, this.#recordsOf(reference, some).where(isNamed))))
      }
    }
    return found
  }

  /** Those of these records that name somebody else, or refer to one that does. */
  async #others(session: Asking, plan: ForgetPlan, ids: readonly Int64[]): Promise<Int64[]> {
    const found: Int64[] = []
    for (const name of plan.names) {
      const query = this.#recordsOf(name, ids).where(this.#namesAnother(name, 'x'))
      found.push(...(await idsOf(session, query)))
    }
    for (const reference of plan.references)
      for (const name of this.plan(reference.to).names.filter(({ table }) => table === reference.to)) {
        const others = this.db
          .selectFrom(`${name.table} as y` as 'any root as y')
          .select('y.id')
          .where('y.tenant_id', '=', this.tenantId)
          .where(sql<boolean>`y.id = ${sql.ref(`x.${reference.column}`)}`)
          .where(this.#namesAnother(name, 'y'))
        const query = this.#recordsOf(reference, ids).where(sql<boolean>`exists ${others}`)
        found.push(...(await idsOf(session, query)))
      }
    return found
  }

  /** Those of these records that a record of somebody else refers to. */
  async #sharing(session: Asking, { resource }: ForgetPlan, ids: readonly Int64[]): Promise<Int64[]> {
    const found: Int64[] = []
    for (const { column, ...to } of this.references.filter((one) => one.to === resource.name))
      for (const name of this.plan(to.from).names.filter(({ table }) => table === to.table)) {
        const query = this.#recordsOf({ ...to, owner: column }, ids).where(this.#namesAnother(name, 'x'))
        found.push(...(await idsOf(session, query)))
      }
    return found
  }

  /** What is on record about these records. */
  async entries(
    session: Asking,
    { resource }: ForgetPlan,
    ids: Iterable<Int64>,
  ): Promise<Map<Int64, ForgottenState>> {
    const found = new Map<Int64, ForgottenState>()
    for (const some of inParts(ids)) {
      const query = this.db
        .selectFrom('sync_forgotten_records')
        .select(['record_id', 'state'])
        .where((eb) => eb.and({ tenant_id: this.tenantId, resource: resource.name }))
        .where('record_id', 'in', some)
      for (const { record_id, state } of (await session.run(query.compile())).rows)
        found.set(record_id, state as ForgottenState)
    }
    return found
  }

  /** Those of these ids that have a row. */
  async stored(session: Asking, resource: Resource, ids: readonly Int64[]): Promise<Set<Int64>> {
    if (ids.length === 0) return new Set()
    const query = this.db
      .selectFrom(rootTable(resource))
      .select('id')
      .where('tenant_id', '=', this.tenantId)
      .where('id', 'in', [...ids])
    return new Set(await idsOf(session, query))
  }

  /** Whether a record names a person who isn't forgotten. One that was forgotten before it got another name stays so. */
  #namesAnother(name: PersonalReference, alias: string): RawBuilder<boolean> {
    const named = sql.ref(`${alias}.${name.column}`)
    const own = sql.ref(`${alias}.${name.owner}`)
    const isType = ofType(name, `${alias}.`)
    return sql<boolean>`${named} is not null and ${isType} and not exists ${this.#entry(name.to, named)} and not exists ${this.#entry(name.from, own)}`
  }

  #entry(resource: string, id: RawBuilder<unknown>) {
    return this.db
      .selectFrom('sync_forgotten_records as g')
      .select('g.record_id')
      .where('g.tenant_id', '=', this.tenantId)
      .where('g.resource', '=', sql.lit(resource))
      .where(sql<boolean>`g.record_id = ${id}`)
      .where('g.state', '=', sql.lit('hidden'))
  }

  /** Who is forgotten, and what stays so although the source gives it to another person by now. */
  async seeds(session: Asking): Promise<Owned> {
    const seeds = new Map<string, Map<Int64, Int64>>()
    const entries = this.db
      .selectFrom('sync_forgotten_records as f')
      .select(['f.record_id as id', 'f.owner_id as owner'])
      .where('f.tenant_id', '=', this.tenantId)
      .where('f.state', '=', sql.lit('hidden'))
    const { name: subject } = this.subject.resource
    const persons = await session.run(entries.where('f.resource', '=', sql.lit(subject)).compile())
    for (const { id, owner } of persons.rows) put(seeds, subject, id, owner)
    for (const name of this.plans.flatMap(({ names }) => names)) {
      const named = sql.ref(`x.${name.column}`)
      const given = entries
        .innerJoin(`${name.table} as x` as 'any root as x', (join) =>
          join
            .onRef('x.tenant_id', '=', 'f.tenant_id')
            .on(sql<boolean>`${sql.ref(`x.${name.owner}`)} = f.record_id`),
        )
        .where('f.resource', '=', sql.lit(name.from))
        .where(sql<boolean>`${named} is not null and ${ofType(name, 'x.')}`)
        .where(sql<boolean>`not exists ${this.#entry(name.to, named)}`)
      for (const { id, owner } of (await session.run(given.compile())).rows) put(seeds, name.from, id, owner)
    }
    return seeds
  }

  /** Who among these records is forgotten with whom, by what is stored: the first person of each. */
  async ownersOf(session: Asking, plan: ForgetPlan, ids: readonly Int64[]): Promise<Map<Int64, Int64>> {
    const owners = new Map<Int64, Int64>()
    const own = { table: plan.resource.name, owner: 'id', column: 'id', from: '', to: plan.resource.name }
    for (const reference of [own, ...plan.references])
      for (const some of inParts(ids)) {
        const { owner, column, to } = reference
        const query = this.#rowsOf(reference)
          .innerJoin('sync_forgotten_records as f', (join) =>
            join
              .onRef('f.tenant_id', '=', 'x.tenant_id')
              .on('f.resource', '=', sql.lit(to))
              .on(sql<boolean>`f.record_id = ${sql.ref(`x.${column}`)}`)
              .on('f.state', 'in', [sql.lit('hidden'), sql.lit('expected')]),
          )
          .select([sql<Int64>`${sql.ref(`x.${owner}`)}`.as('id'), sql<Int64>`min(f.owner_id)`.as('owner')])
          .where(sql<boolean>`${sql.ref(`x.${owner}`)} in ${among(some)}`)
          .groupBy(sql.ref(`x.${owner}`))
        for (const { id, owner: person } of (await session.run(query.compile())).rows)
          if (!owners.has(id)) owners.set(id, person)
      }
    return owners
  }

  /** The rows by which these records refer to others. */
  #recordsOf(reference: Pick<PersonalReference, 'table' | 'owner' | 'type'>, ids: readonly Int64[]) {
    const owner = sql.ref(`x.${reference.owner}`)
    return this.#rowsOf(reference)
      .select(sql<Int64>`${owner}`.as('id'))
      .where(sql<boolean>`${owner} in ${among(ids)}`)
  }

  #rowsOf({ table, type }: Pick<PersonalReference, 'table' | 'type'>) {
    return this.db
      .selectFrom(`${table} as x` as 'any root as x')
      .where('x.tenant_id', '=', this.tenantId)
      .where(ofType({ type }, 'x.'))
  }
}

/** A statement, and the table whose rows it changes. */
interface Emptying {
  readonly table: string
  readonly query: CompiledQuery
  /** It says that the records have changed, and takes nothing out of them. */
  readonly isStamp?: true
}

/** Takes what says something about a person out of the stored rows of one tenant. */
export class ForgetRows {
  readonly #db: Db
  readonly #tenantId: Int64

  constructor(
    private readonly closure: ForgottenClosure,
    private readonly model: Model,
    /** The row of the lease under which the statements are executed. */
    private readonly lease: string,
  ) {
    this.#db = closure.db
    this.#tenantId = closure.tenantId
  }

  /** Empties the rows of these records, their versions and what is in quarantine for them. */
  *emptying(plan: ForgetPlan, ids: readonly Int64[]): Generator<Emptying> {
    const { resource, tables, columns } = plan
    for (const table of tables)
      if (table.role !== 'child') yield { table: table.name, query: this.#stamped(table, ids), isStamp: true }
    for (const table of tables) {
      const { name, owner = 'id' } = table
      const nulls = columns.get(name) ?? []
      if (rowsGo(plan, table)) yield { table: name, query: this.#removed(name, owner, ids) }
      else if (nulls.length > 0)
        yield {
          table: name,
          query: this.#db
            .updateTable(rootTable(table))
            .set(Object.fromEntries(nulls.map((column) => [column, null])))
            .where('tenant_id', '=', this.#tenantId)
            .where(sql<boolean>`${sql.ref(owner)} in ${among(ids)}`)
            .where((eb) => eb.or(nulls.map((column) => sql<boolean>`${sql.ref(column)} is not null`)))
            .compile(),
        }
    }
    const history = historyName(resource)
    if (history !== undefined && this.model.forgotten.histories.includes(history))
      yield { table: history, query: this.#removed(history, 'id', ids) }
    yield { table: 'sync_quarantine', query: this.#unquoted(resource, ids.map(String)) }
  }

  /** Copies of these records are made again, with their nested lists (docs/increments.md). */
  #stamped(table: Table, ids: readonly Int64[]): CompiledQuery {
    return this.#db
      .updateTable(rootTable(table))
      .set({ _synced_at: (eb) => sql<string>`${stampsBegin(eb, this.lease)}` })
      .where('tenant_id', '=', this.#tenantId)
      .where(sql<boolean>`${sql.ref(table.owner ?? 'id')} in ${among(ids)}`)
      .where('_synced_at', '<', (eb) => stampsBegin(eb, this.lease))
      .compile()
  }

  #removed(name: string, owner: string, ids: readonly Int64[]): CompiledQuery {
    return this.#db
      .deleteFrom(rootTable({ name }))
      .where('tenant_id', '=', this.#tenantId)
      .where(sql<boolean>`${sql.ref(owner)} in ${among(ids)}`)
      .compile()
  }

  /** Takes the values out of what quarantine has for these records. */
  #unquoted({ name }: Resource, records: readonly string[]): CompiledQuery {
    return this.#db
      .updateTable('sync_quarantine')
      .set({ value: null, reason: sql<string>`coalesce(reason, '') || ${sql.lit(forgottenReason)}` })
      .where('tenant_id', '=', this.#tenantId)
      .where('resource', '=', name)
      .where('value', 'is not', null)
      .where('record_id', 'in', [...records])
      .compile()
  }

  /** Clears what nobody knows to be whose: examples, and values of records that no table has. `counts`: rows by table. */
  async clearReports(session: Asking, counts: Map<string, number>): Promise<void> {
    await session.run(this.examples)
    for (const plan of this.closure.plans) {
      await this.#clearValues(session, plan)
      const cleared = await this.#clearUnstored(session, plan)
      if (cleared > 0) counts.set('sync_quarantine', (counts.get('sync_quarantine') ?? 0) + cleared)
    }
  }

  /** Examples of the lists whose records are forgotten with others may be theirs. */
  get examples(): CompiledQuery {
    const names = this.closure.plans.map(({ resource }) => resource.name)
    return this.#db
      .updateTable('sync_drift')
      .set({ example: null })
      .where('tenant_id', '=', this.#tenantId)
      .where('resource', 'in', names)
      .where('example', 'is not', null)
      .compile()
  }

  /** Values of hidden fields that aren't in an enumeration: they are examples themselves. */
  async #clearValues(session: Asking, { resource: { name: resource }, places }: ForgetPlan): Promise<void> {
    const shown = this.#db
      .selectFrom('sync_drift')
      .select(['path', 'kind', 'detail'])
      .where('tenant_id', '=', this.#tenantId)
      .where('resource', '=', resource)
      .where('detail', '<>', '')
    for (const { path, kind, detail } of (await session.run(shown.compile())).rows)
      if (places.hides(path))
        await session.run(
          this.#db
            .deleteFrom('sync_drift')
            .where((eb) => eb.and({ resource, path, kind, detail }))
            .compile(),
        )
  }

  /** Records that are only in quarantine. */
  async #clearUnstored(session: Asking, { resource }: ForgetPlan): Promise<number> {
    const entries = this.#db
      .selectFrom('sync_quarantine')
      .select('record_id')
      .distinct()
      .where((eb) => eb.and({ tenant_id: this.#tenantId, resource: resource.name }))
      .where('value', 'is not', null)
    let cleared = 0
    for (const some of inParts((await session.run(entries.compile())).rows)) {
      const names = some.map(({ record_id }) => record_id)
      const ids = names.flatMap((name) => parseId(name) ?? [])
      const stored = new Set([...(await this.closure.stored(session, resource, ids))].map(String))
      const unstored = names.filter((name) => !stored.has(name))
      if (unstored.length > 0) cleared += (await session.run(this.#unquoted(resource, unstored))).affected
    }
    return cleared
  }
}
