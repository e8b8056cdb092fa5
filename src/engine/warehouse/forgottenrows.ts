/** Takes what says something about a person out of stored rows, their versions, quarantine and drift. */
import { type CompiledQuery, sql } from 'kysely'
import { type ForgetPlan, rowsGo } from '../model/forgotten.js'
import { historyName } from '../model/historytable.js'
import type { Model } from '../model/resourcemodel.js'
import { rootTable } from './database.js'
import { among, ForgetIds, namesAmong, type RecordIds } from './forgottenids.js'
import type { Session } from './transaction.js'

/** A statement, and the table whose rows it changes. */
export interface Emptying {
  readonly table: string
  readonly query: CompiledQuery
}

const reason = ' (erased on request)'

export abstract class ForgetRows extends ForgetIds {
  /** Empties these records, which are entered, and those that are forgotten with them and aren't entered themselves. */
  *emptying(plan: ForgetPlan, ids: RecordIds): Generator<Emptying> {
    for (const { theirs, link } of this.dependents(plan))
      if (!theirs.isEntered) yield* this.rows(theirs, this.idsBy(theirs, link, plan, ids))
    yield* this.rows(plan, ids)
  }

  protected *emptied(plan: ForgetPlan, ids: RecordIds): Generator<Emptying> {
    yield* this.rows(plan, ids)
    for (const { theirs, link } of this.dependents(plan))
      yield* this.emptied(theirs, this.idsBy(theirs, link, plan, ids))
    for (const { link, target } of this.others(plan))
      yield* this.emptied(target, this.hidden(target, this.referred(plan, link, ids)))
    yield { table: 'sync_drift', query: this.examples }
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

  /** Empties the rows of these records, their versions and what is in quarantine for them. */
  private *rows(plan: ForgetPlan, ids: RecordIds): Generator<Emptying> {
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
