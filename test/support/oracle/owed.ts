/**
 * What a source owes a warehouse that follows it: the last change of each record that no claim has covered yet. Whatever
 * claims something (a watermark, a verdict, a reconcile) covers some of it: that has to be there, and is then settled.
 * And nothing that the source has may be marked as deleted.
 */
import { canonical } from '../../../src/engine/base/timestamp.js'
import type { Sandbox, Store, StoreChange } from '../../../src/sandbox/index.js'
import type { Warehouse } from '../harness/warehouse.js'

/** The `updated_at` that a change gave its record; null where it was deleted. */
export function versionOf(store: Store, { action, tenant, resource, id }: StoreChange): string | null {
  const record = action === 'deleted' ? undefined : store.get(tenant, resource, id)
  return record ? canonical(String(record.updated_at)) : null
}

export interface Owed {
  readonly id: number
  /** null: it was deleted. */
  readonly updatedAt: string | null
  /** Counts the changes of the source. */
  readonly serial: number
}

export interface OwedList {
  readonly tenant: number
  readonly resource: string
}

/** What is claimed of a list, and by whom: for the error. */
export interface Claim extends OwedList {
  readonly covers: (owed: Owed) => boolean
  readonly says: string
}

const nameOf = ({ tenant, resource }: OwedList): string => `${tenant} ${resource}`

export class Debts {
  readonly #owed = new Map<string, Map<number, Owed>>()
  readonly #deleted = new Map<string, Set<number>>()
  /** The number of the last change. */
  serial = 0

  constructor(private readonly sandbox: Sandbox) {
    sandbox.store.onChange((change) => this.#changed(change))
  }

  #changed(change: StoreChange): void {
    const { id } = change
    const updatedAt = versionOf(this.sandbox.store, change)
    this.#of(change).set(id, { id, updatedAt, serial: ++this.serial })
    if (updatedAt === null) this.#deletedOf(change).add(id)
    else this.#deletedOf(change).delete(id)
  }

  #of(list: OwedList): Map<number, Owed> {
    const there = this.#owed.get(nameOf(list)) ?? new Map<number, Owed>()
    this.#owed.set(nameOf(list), there)
    return there
  }

  #deletedOf(list: OwedList): Set<number> {
    const there = this.#deleted.get(nameOf(list)) ?? new Set<number>()
    this.#deleted.set(nameOf(list), there)
    return there
  }

  /** Records, not deletions, that nothing has claimed. */
  get unclaimed(): string[] {
    return [...this.#owed].flatMap(([name, owed]) =>
      [...owed.values()].flatMap(({ id, updatedAt }) => (updatedAt === null ? [] : `${name} ${id}`)),
    )
  }

  /** Settles what a claim covers; an error if the warehouse doesn't have it. */
  async settle(warehouse: Warehouse, { covers, says, ...list }: Claim): Promise<void> {
    const owed = this.#of(list)
    const due = [...owed.values()].filter(covers)
    if (due.length === 0) return
    const rows = await warehouse.db
      .selectFrom(list.resource as 'notes')
      .select(['id', 'updated_at', '_deleted_at'])
      .where('tenant_id', '=', list.tenant)
      .where(
        'id',
        'in',
        due.map(({ id }) => id),
      )
      .execute()
    const byId = new Map(rows.map((row) => [Number(row.id), row]))
    for (const { id, updatedAt } of due) {
      const row = byId.get(id)
      const isThere = row !== undefined && row._deleted_at === null
      if (updatedAt === null ? isThere : !isThere || row.updated_at < updatedAt)
        throw new Error(
          `${says} of ${list.resource} of tenant ${list.tenant} left record ${id} at ${row?.updated_at}, deleted ${row?._deleted_at}, owed ${updatedAt}`,
        )
      owed.delete(id)
    }
  }

  /** Only what the source has deleted is marked as deleted. */
  async checkMarks(warehouse: Warehouse, says: string): Promise<void> {
    for (const resource of new Set([...this.#deleted.keys()].map((name) => name.split(' ')[1] ?? ''))) {
      const rows = await warehouse.db
        .selectFrom(resource as 'notes')
        .select(['tenant_id', 'id'])
        .where('_deleted_at', 'is not', null)
        .execute()
      for (const { tenant_id, id } of rows)
        if (!this.#deletedOf({ tenant: Number(tenant_id), resource }).has(Number(id)))
          throw new Error(`${says}: ${tenant_id} ${resource} ${id} is marked as deleted`)
    }
  }
}
