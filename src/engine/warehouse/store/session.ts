/**
 * The part of a session that SQLite and Postgres share: statements that differ in only a few words. sqlite/session.ts
 * and postgres/session.ts extend it. Both databases take $1, $2, … as parameters.
 */
import type { CompiledQuery } from 'kysely'
import type { Int64 } from '../../../../schema/resource.js'
import { allSettled } from '../../base/allsettled.js'
import { Bug } from '../../base/errors.js'
import type { Tuple } from '../../model/flatten/batch.js'
import type { Table } from '../../model/table.js'
import type { Parameter, Rows, Session } from '../transaction.js'
import type { BatchStamp, Version } from './versionbatch.js'

export abstract class SharedSession<R extends Rows<R>> implements Session<R> {
  abstract run<T>(query: CompiledQuery<T>): Promise<{ rows: T[]; affected: number }>
  abstract upsert(table: Table, rows: R, shared: BatchStamp, which: 'all' | 'differing'): Promise<number>
  abstract insert(table: Table, rows: R, shared: BatchStamp): Promise<number>
  abstract load(table: Table, tuples: readonly Tuple[]): Promise<void>
  abstract prune(table: Table, tenantId: Int64, owners: readonly Int64[], rows: R): Promise<number>
  abstract countSettled(table: Table, rows: R, shared: BatchStamp): Promise<number>
  abstract ask<T extends unknown[]>(
    text: string,
    parameters: readonly Parameter[],
  ): Promise<{ rows: T[]; affected: number }>
  /** A table's name as it is written in a statement. */
  protected abstract from(table: string): string
  /** The condition that a value is in a parameter's list. */
  protected abstract within(parameter: string, type: 'bigint' | 'text'): string
  /** The end of a `select` that locks the rows it finds. */
  protected abstract readonly locking: string

  async versions(
    table: Table,
    tenantId: Int64,
    ids: readonly Int64[],
    how: 'locked' | 'unlocked' = 'locked',
  ): Promise<Map<Int64, Version>> {
    const { rows } = await this.ask<[Int64, string, string, string | null, string | null]>(
      `select id, updated_at, _synced_at, _deleted_at, _unlisted_at from ${this.from(table.name)} where tenant_id = $1 and id ${this.within('$2', 'bigint')} ${how === 'locked' ? this.locking : ''}`,
      [tenantId, ids],
    )
    return new Map(
      rows.map(([id, updatedAt, syncedAt, deletedAt, unlistedAt]) => [
        id,
        { updatedAt, syncedAt, deletedAt, unlistedAt },
      ]),
    )
  }

  async confirm(table: Table, ids: readonly Int64[], { tenantId, syncedAt }: BatchStamp): Promise<void> {
    await this.ask(
      `update ${this.from(table.name)} set _synced_at = $1 where tenant_id = $2 and id ${this.within('$3', 'bigint')} and _synced_at < $1`,
      [syncedAt, tenantId, ids],
    )
  }

  async childrenMatch(table: Table, owners: readonly Int64[], rows: R, shared: BatchStamp): Promise<boolean> {
    const [stored, alike] = await allSettled([
      this.countOwned(table, shared.tenantId, owners),
      this.countSettled(table, rows, shared),
    ])
    return stored === rows.owners.length && alike === rows.owners.length
  }

  async countOwned(table: Table, tenantId: Int64, owners: readonly Int64[]): Promise<number> {
    const { rows } = await this.ask<[Int64]>(
      `select count(*) from ${this.from(table.name)} where ${this.ownedBy(table)}`,
      [tenantId, owners],
    )
    return Number(rows[0]?.[0] ?? 0)
  }

  async clearQuarantine(
    resource: string,
    recordIds: readonly string[],
    { tenantId, syncedAt }: BatchStamp,
  ): Promise<void> {
    await this.ask(
      `delete from ${this.from('sync_quarantine')} where tenant_id = $1 and resource = $2 and record_id ${this.within('$3', 'text')} and last_seen_at < $4`,
      [tenantId, resource, recordIds, syncedAt],
    )
  }

  /** The condition on the child rows of the tenant `$1` and the owners `$2`. */
  protected ownedBy(table: Table): string {
    if (!table.owner) throw new Bug(`${table.name} has no owner`)
    return `tenant_id = $1 and "${table.owner}" ${this.within('$2', 'bigint')}`
  }
}
