/** Which records are forgotten with which, as queries for their ids: the part of forgetstatements.ts that changes nothing. */
import { type RawBuilder, sql } from 'kysely'
import type { Int64 } from '../../../schema/resource.js'
import { type ForgetLink, type ForgetPlan, refersTo } from '../model/forgotten.js'
import type { Model } from '../model/resourcemodel.js'
import { type Db, rootTable } from './database.js'
import { wholeName } from './versionbatch.js'

/** Ids of one resource's records: a list, or a query for them in parentheses, as Kysely puts it into a statement. */
export type RecordIds = readonly Int64[] | RawBuilder<{ id: Int64 }>

export const among = (ids: RecordIds): RawBuilder<unknown> => (isList(ids) ? sql`(${sql.join(ids)})` : ids)

const isList = (ids: RecordIds): ids is readonly Int64[] => Array.isArray(ids)

/** As quarantine names records. */
export const namesAmong = (ids: RecordIds): RawBuilder<unknown> =>
  isList(ids) ? sql`(${sql.join(ids.map(String))})` : sql`(select cast(i.id as text) from ${ids} as i)`

export const ofType = ({ typedBy }: ForgetLink, entity: string, prefix = ''): RawBuilder<boolean> =>
  typedBy === undefined
    ? sql<boolean>`1 = 1`
    : sql<boolean>`${sql.ref(prefix + typedBy)} = ${sql.lit(entity)}`

/** Queries about the records of one tenant. */
export abstract class ForgetIds {
  protected readonly plans: readonly ForgetPlan[]

  constructor(
    protected readonly db: Db,
    protected readonly model: Pick<Model, 'list' | 'forgotten'>,
    protected readonly tenantId: Int64,
    /** The row of the lease under which the statements are executed. */
    protected readonly lease = wholeName,
  ) {
    this.plans = model.list.flatMap(({ forgets }) => forgets ?? [])
  }

  /** Ids of these that are forgotten. */
  protected hidden({ resource }: ForgetPlan, ids: RecordIds): RawBuilder<{ id: Int64 }> {
    return sql<{ id: Int64 }>`${this.db
      .selectFrom('sync_forgotten_records')
      .select('record_id as id')
      .where('tenant_id', '=', this.tenantId)
      .where('resource', '=', sql.lit(resource.name))
      .where('state', '=', sql.lit('hidden'))
      .where(sql<boolean>`record_id in ${among(ids)}`)}`
  }

  /** Ids of what these records refer to. */
  protected referred(
    { resource }: ForgetPlan,
    { column }: ForgetLink,
    ids: RecordIds,
  ): RawBuilder<{ id: Int64 }> {
    return sql<{ id: Int64 }>`${this.db
      .selectFrom(rootTable(resource))
      .select(sql<Int64>`${sql.ref(column)}`.as('id'))
      .where('tenant_id', '=', this.tenantId)
      .where(sql<boolean>`id in ${among(ids)}`)
      .where(sql<boolean>`${sql.ref(column)} is not null`)}`
  }

  /** Ids of the records that refer to these. */
  protected idsBy(
    theirs: ForgetPlan,
    link: ForgetLink,
    owner: ForgetPlan,
    ids: RecordIds,
  ): RawBuilder<{ id: Int64 }> {
    return sql<{ id: Int64 }>`${this.db
      .selectFrom(rootTable(theirs.resource))
      .select('id')
      .where('tenant_id', '=', this.tenantId)
      .where(sql<boolean>`${sql.ref(link.column)} in ${among(ids)}`)
      .where(ofType(link, owner.resource.entity))}`
  }

  protected *dependents({ resource }: ForgetPlan) {
    for (const theirs of this.plans)
      for (const link of theirs.self) if (refersTo(link, theirs.resource, resource)) yield { theirs, link }
  }

  protected *others(plan: ForgetPlan) {
    for (const link of plan.other)
      for (const target of this.plans)
        if (refersTo(link, plan.resource, target.resource)) yield { link, target }
  }
}
