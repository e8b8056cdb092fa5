/** Takes what says something about a person out of stored rows, their versions, quarantine and drift. */
import { type CompiledQuery, type RawBuilder, sql } from 'kysely'
import type { Int64, Resource } from '../../../../schema/resource.js'
import { parseId } from '../../base/int64.js'
import { type ForgetPlan, forgottenReason, rowsGo } from '../../model/forgotten.js'
import { historyName } from '../../model/historytable.js'
import type { Model } from '../../model/resourcemodel.js'
import type { Table } from '../../model/table.js'
import { type Db, rootTable } from '../database.js'
import { wholeName } from '../store/versionbatch.js'
import { stampsBegin } from '../store/voidstamps.js'
import type { Session } from '../transaction.js'
import { among } from './forgottenclosure.js'

/** A statement, and the table whose rows it changes. */
interface Emptying {
  readonly table: string
  readonly query: CompiledQuery
  /** It says that the records have changed, and takes nothing out of them. */
  readonly isStamp?: true
}

/** Entries of quarantine that are looked up by one statement. */
const namesAtOnce = 500

/** The rows of one tenant. */
export class ForgetRows {
  private readonly plans: readonly ForgetPlan[]

  constructor(
    private readonly db: Db,
    private readonly model: Pick<Model, 'list' | 'forgotten'>,
    private readonly tenantId: Int64,
    /** The row of the lease under which the statements are executed. */
    private readonly lease = wholeName,
  ) {
    this.plans = model.list.flatMap(({ forgets }) => forgets ?? [])
  }

  /** Examples of the lists whose records are forgotten with others may be theirs. */
  get examples(): CompiledQuery {
    const names = this.plans.map(({ resource }) => resource.name)
    return this.db
      .updateTable('sync_drift')
      .set({ example: null })
      .where('tenant_id', '=', this.tenantId)
      .where('resource', 'in', names)
      .where('example', 'is not', null)
      .compile()
  }

  /** Clears what nobody knows to be whose: examples, and values of records that no table has. `counts`: rows by table. */
  async clearReports(session: Pick<Session, 'run'>, counts: Map<string, number>): Promise<void> {
    await session.run(this.examples)
    for (const plan of this.plans) {
      await this.clearValues(session, plan)
      const cleared = await this.clearUnstored(session, plan)
      if (cleared > 0) counts.set('sync_quarantine', (counts.get('sync_quarantine') ?? 0) + cleared)
    }
  }

  /** Values of hidden fields that aren't in an enumeration: they are examples themselves. */
  private async clearValues(
    session: Pick<Session, 'run'>,
    { resource: { name }, places }: ForgetPlan,
  ): Promise<void> {
    const { db } = this
    const shown = db
      .selectFrom('sync_drift')
      .select(['path', 'kind', 'detail'])
      .where('tenant_id', '=', this.tenantId)
      .where('resource', '=', name)
      .where('detail', '<>', '')
    for (const key of (await session.run(shown.compile())).rows)
      if (places.hides(key.path))
        await session.run(
          db
            .deleteFrom('sync_drift')
            .where((eb) => eb.and({ resource: name, ...key }))
            .compile(),
        )
  }

  /** Records that are only in quarantine. */
  private async clearUnstored(session: Pick<Session, 'run'>, { resource }: ForgetPlan): Promise<number> {
    const { db, tenantId } = this
    const entries = db
      .selectFrom('sync_quarantine')
      .select('record_id')
      .distinct()
      .where((eb) => eb.and({ tenant_id: tenantId, resource: resource.name }))
      .where('value', 'is not', null)
    const names = (await session.run(entries.compile())).rows.map((row) => row.record_id)
    let cleared = 0
    for (let i = 0; i < names.length; i += namesAtOnce) {
      const some = names.slice(i, i + namesAtOnce)
      // No record has this id: without any, the list would be empty.
      const ids = [0, ...some.flatMap((name) => parseId(name) ?? [])]
      const stored = db
        .selectFrom(rootTable(resource))
        .select('id')
        .where('tenant_id', '=', tenantId)
        .where('id', 'in', ids)
      const isStored = new Set((await session.run(stored.compile())).rows.map(({ id }) => String(id)))
      const unstored = some.filter((name) => !isStored.has(name))
      if (unstored.length > 0)
        cleared += (await session.run(this.unquoted(resource, sql`(${sql.join(unstored)})`))).affected
    }
    return cleared
  }

  /** Takes the values out of what quarantine has for these records. */
  private unquoted({ name }: Resource, records: RawBuilder<unknown>): CompiledQuery {
    return this.db
      .updateTable('sync_quarantine')
      .set({ value: null, reason: sql<string>`coalesce(reason, '') || ${sql.lit(forgottenReason)}` })
      .where('tenant_id', '=', this.tenantId)
      .where('resource', '=', name)
      .where('value', 'is not', null)
      .where(sql<boolean>`record_id in ${records}`)
      .compile()
  }

  /** Copies of these records are made again, with their nested lists (docs/increments.md). */
  private stamped(table: Table, ids: readonly Int64[]): CompiledQuery {
    return this.db
      .updateTable(rootTable(table))
      .set({ _synced_at: (eb) => sql<string>`${stampsBegin(eb, this.lease)}` })
      .where('tenant_id', '=', this.tenantId)
      .where(sql<boolean>`${sql.ref(table.owner ?? 'id')} in ${among(ids)}`)
      .where('_synced_at', '<', (eb) => stampsBegin(eb, this.lease))
      .compile()
  }

  /** Empties the rows of these records, their versions and what is in quarantine for them. */
  *emptying(plan: ForgetPlan, ids: readonly Int64[]): Generator<Emptying> {
    const { db, tenantId } = this
    const { resource, tables, columns } = plan
    for (const table of tables)
      if (table.role !== 'child') yield { table: table.name, query: this.stamped(table, ids), isStamp: true }
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
    yield { table: 'sync_quarantine', query: this.unquoted(resource, sql`(${sql.join(ids.map(String))})`) }
  }
}
