/*
 * Forgets single customers: what says something about them goes, ids and numbers stay (docs/warehouse.md, Forgetting
 * a customer). The entries come first: from then on nothing comes back, whatever becomes of the work. Safe to repeat.
 */
import { randomUUID } from 'node:crypto'
import type { Int64 } from '../../../schema/resource.js'
import { Stop } from '../../engine/base/errors.js'
import { type ForgetPlan, subjectOf } from '../../engine/model/forgotten.js'
import type { Model } from '../../engine/model/resourcemodel.js'
import type { Dependencies } from '../../engine/run/runcontext.js'
import { now } from '../../engine/run/tenant.js'
import { rootTable } from '../../engine/warehouse/database.js'
import { ForgottenClosure } from '../../engine/warehouse/hiding/forgottenclosure.js'
import {
  ForgottenEntries,
  type NotLookedAt,
  type Receipt,
  readForgottenRecords,
  storedReceipts,
} from '../../engine/warehouse/hiding/forgottenrecords.js'
import { notRemoved } from '../../engine/warehouse/layout/interference.js'
import { openLease } from '../../engine/warehouse/lease/openlease.js'
import type { Session } from '../../engine/warehouse/transaction.js'
import type { Warehouse, Writer } from '../../engine/warehouse/warehouse.js'
import type { ForgottenLine } from '../../shell/forgottenfile.js'
import { notLookedAt } from './notlookedat.js'

/** One customer of a tenant. */
export interface Person {
  readonly tenantId: Int64
  readonly id: Int64
}

type Needs<W extends Warehouse = Writer> = Pick<Dependencies<W>, 'warehouse' | 'clock' | 'leaseMs'> & {
  readonly signal?: AbortSignal
  /** Puts a line on disk. */
  readonly record?: (line: ForgottenLine) => void
}

/** Where this program has no hands. */
const elsewhereToo =
  'copies of the warehouse, reports on disk and caches of BI tools keep what they hold, and the source what it has'

/** Records whose rows are emptied in one transaction. */
const recordsAtOnce = 500

const plansOf = ({ list }: Model): readonly ForgetPlan[] => list.flatMap(({ forgets }) => forgets ?? [])

/** Stops unless all of them are in the warehouse: a mistyped id would erase nothing, and nobody would notice. */
export async function checkPersons(
  { warehouse }: Pick<Needs<Warehouse>, 'warehouse'>,
  persons: readonly Person[],
): Promise<void> {
  const plans = plansOf(warehouse.model)
  const subject = subjectOf(plans)
  const isKnown = async ({ tenantId, id }: Person): Promise<boolean> => {
    const isThere = (table: string, column: string): Promise<boolean> =>
      warehouse.read(async (db) => {
        const query = db
          .selectFrom(rootTable({ name: table }))
          .select('tenant_id')
          .limit(1)
        const here = query.where('tenant_id', '=', tenantId).where(column as 'id', '=', id)
        return (await here.executeTakeFirst()) !== undefined
      })
    if (await isThere(subject.resource.name, 'id')) return true
    for (const { names } of plans)
      for (const { table, column, type } of names)
        if (type === undefined && (await isThere(table, column))) return true
    return false
  }
  for (const person of persons)
    if (!(await isKnown(person)))
      throw new Stop(
        `The warehouse has no ${subject.resource.singular} ${person.id} of tenant ${person.tenantId}`,
        {
          exitCode: 2,
          hint: `Expected an id of ${subject.resource.name}; after a sync it is there, unless the source does not have it`,
        },
      )
}

/** Before anything is done. `before`: of work that was cut short, or is repeated. */
const begun = ({ tenantId, id }: Person, at: string, before?: Receipt): Receipt => ({
  id: before?.id ?? randomUUID(),
  tenant_id: tenantId,
  customer_id: id,
  begun_at: before?.begun_at ?? at,
  done_at: null,
  rows: before?.rows ?? 0,
  tables: before?.tables ?? [],
  kept: [],
  traces_left: null,
  not_looked_at: [],
  elsewhere: '',
})

interface Way {
  /** In transactions that last, or all in one that is undone. */
  step<T>(work: (session: Session) => Promise<T>): Promise<T>
  /** Whether the table is as this version needs it. */
  isThere(table: string): boolean
}

/** What would be forgotten, and what couldn't be looked at: it is done in a transaction, and undone. */
export async function countForgotten(
  deps: Needs<Warehouse>,
  persons: readonly Person[],
): Promise<Pick<Receipt, 'tables' | 'kept' | 'not_looked_at'>> {
  const { warehouse } = deps
  const undo = new Error('undo')
  const receipts: Receipt[] = []
  const missed: NotLookedAt[] = []
  const behind = new Set<string>()
  const isThere = (table: string): boolean =>
    warehouse.interfered.unchanged([table]) === undefined || !behind.add(table)
  await emptiedTables(warehouse)
  const counting = async (session: Session): Promise<never> => {
    for (const person of persons) {
      const entries = new ForgottenEntries(warehouse.db, warehouse.model, person.tenantId)
      const receipt = begun(person, now(deps))
      await entries.enter(session, receipt)
      receipts.push(await empty(deps, entries, receipt, { step: (work) => work(session), isThere }))
    }
    for (const table of behind) missed.push({ table, reason: 'not_migrated', rows: null })
    for (const closure of closures(deps, persons)) missed.push(...(await notLookedAt(session, closure)))
    throw undo
  }
  await warehouse
    .trying(() => warehouse.dialect.transaction(counting))
    .catch((error: unknown) => (error === undo ? undefined : Promise.reject(error)))
  const all = (of: 'tables' | 'kept'): Receipt['tables'] => {
    const counts = new Map<string, number>()
    for (const { table, rows } of receipts.flatMap((receipt) => receipt[of])) add(counts, table, rows)
    return counted(counts)
  }
  return { tables: all('tables'), kept: all('kept'), not_looked_at: missed }
}

/** The tables that may have something of a person, and their columns. Rows that can't be seen aren't emptied either. */
async function emptiedTables(warehouse: Warehouse) {
  const { model } = warehouse
  await readForgottenRecords(warehouse)
  const columns = new Map(plansOf(model).flatMap((plan) => [...plan.columns]))
  const tables = [...columns.keys(), ...model.forgotten.histories]
  await warehouse.interfered.refuseHidden(tables)
  return { columns, tables }
}

const add = (counts: Map<string, number>, table: string, rows: number): void =>
  void (rows > 0 && counts.set(table, (counts.get(table) ?? 0) + rows))

const counted = (counts: ReadonlyMap<string, number>): Receipt['tables'] =>
  [...counts].map(([table, rows]) => ({ table, rows }))

/** One for each tenant. */
const closures = ({ warehouse }: Needs<Warehouse>, persons: readonly Person[]): ForgottenClosure[] =>
  [...new Set(persons.map(({ tenantId }) => tenantId))].map(
    (tenantId) => new ForgottenClosure(warehouse.db, warehouse.model, tenantId),
  )

/** Forgets these customers. */
export async function forgetPersons(deps: Needs, persons: readonly Person[]): Promise<Receipt[]> {
  const { record } = deps
  // Erasing depends on no setting: it must not fail because of another configuration.
  await using lease = await openLease({ ...deps, shapesRows: false }, 'forget')
  const { warehouse } = lease
  const { columns, tables } = await emptiedTables(warehouse)
  const known = await storedReceipts(warehouse)
  const at = now(deps)
  const receipts = persons.map((person) => {
    const { tenantId, id } = person
    const before = known.find((one) => one.tenant_id === tenantId && one.customer_id === id)
    return begun(person, at, before)
  })
  for (const receipt of receipts) record?.(receipt)
  const way: Way = { step: (work) => warehouse.transaction(work), isThere: () => true }
  const entriesOf = ({ tenant_id }: Receipt) => new ForgottenEntries(warehouse.db, warehouse.model, tenant_id)
  for (const receipt of receipts) await way.step((session) => entriesOf(receipt).enter(session, receipt))
  const emptied: Receipt[] = []
  // It grows while rows are emptied: to clean up all tables would take longer than everything else. Of runs since then that
  // emptied rows, nothing is known.
  const isRepeated = known.some((one) => receipts.some(({ id }) => id === one.id))
  const touched = tables.filter((table) => isRepeated && columns.get(table)?.length !== 0)
  const changed = ['sync_quarantine', 'sync_drift', ...touched]
  const { left, elsewhere } = await warehouse.dialect.erase(
    changed,
    async () => {
      for (const receipt of receipts)
        emptied.push(await empty({ ...deps, warehouse }, entriesOf(receipt), receipt, way))
      const also = emptied.flatMap((receipt) => receipt.tables.map(({ table }) => table))
      changed.push(...new Set(also.filter((table) => !changed.includes(table))))
    },
    columns,
  )
  const missed = new Map<Int64, readonly NotLookedAt[]>()
  for (const closure of closures({ ...deps, warehouse }, persons))
    missed.set(closure.tenantId, await way.step((session) => notLookedAt(session, closure)))
  const done: Receipt[] = []
  for (const receipt of emptied) {
    const ended = {
      ...receipt,
      done_at: now(deps),
      traces_left: left,
      not_looked_at: missed.get(receipt.tenant_id) ?? [],
      elsewhere: `${elsewhere}; ${elsewhereToo}`,
    }
    await warehouse.write([entriesOf(receipt).keepReceipt(ended)])
    record?.(ended)
    done.push(ended)
  }
  lease.throwIfLost()
  return done
}

/** Empties everything of one customer, dependents first. What is done is in the receipt, should it be cut short. */
async function empty(
  { warehouse, signal }: Needs<Warehouse>,
  entries: ForgottenEntries,
  receipt: Receipt,
  { step, isThere }: Way,
): Promise<Receipt> {
  const { rows, closure } = entries
  const { customer_id: person } = receipt
  const doubted = await warehouse.interfered.ask()
  let soFar = receipt
  /** Counts the rows that the work changes; it may be repeated. */
  const counting = async (
    work: (session: Session, counts: Map<string, number>) => Promise<Int64 | undefined>,
  ): Promise<Int64 | undefined> => {
    const [last, after] = await step(async (session) => {
      const counts = new Map(soFar.tables.map(({ table, rows }) => [table, rows]))
      const next = await work(session, counts)
      const tables = counted(counts)
      const sum = tables.reduce((all, { rows }) => all + rows, 0)
      const kept = { ...soFar, tables, rows: sum }
      await session.run(entries.keepReceipt(kept))
      return [next, kept] as const
    })
    soFar = after
    return last
  }
  for (const plan of [...closure.plans.filter((one) => one !== closure.subject), closure.subject]) {
    let last: Int64 | undefined
    do {
      signal?.throwIfAborted()
      const after = last
      last = await counting(async (session, counts) => {
        const next = await session.run(entries.next(plan, person, after, recordsAtOnce))
        const ids = next.rows.map(({ record_id }) => record_id)
        for (const { table, query, isStamp } of ids.length > 0 ? rows.emptying(plan, ids) : []) {
          if (!isThere(table)) continue
          const { affected } = await session.run(query)
          if (!isStamp) add(counts, table, affected)
          // A trigger may keep rows as they were, without an error.
          const left = doubted.has(table) ? (await session.run(query)).affected : 0
          if (left > 0) throw notRemoved(warehouse.where, table, left)
        }
        return ids.at(-1)
      })
    } while (last !== undefined)
  }
  await counting(async (session, counts) => {
    await rows.clearReports(session, counts)
    return undefined
  })
  const kept = await step((session) => session.run(entries.kept(person)))
  return { ...soFar, kept: kept.rows.map(({ resource, n }) => ({ table: resource, rows: Number(n) })) }
}

/** Lets forgotten customers back in: the next sync reads their lists whole. Stops if one was not forgotten. */
export async function liftPersons(
  deps: Needs,
  persons: readonly Person[],
): Promise<readonly { readonly tenant_id: Int64; readonly customer_id: Int64; readonly lifted: true }[]> {
  const { warehouse, record } = deps
  const subject = subjectOf(plansOf(warehouse.model))
  const known = await storedReceipts(warehouse)
  const isForgotten = ({ tenantId, id }: Person): boolean =>
    known.some((one) => one.tenant_id === tenantId && one.customer_id === id)
  for (const person of persons)
    if (!isForgotten(person))
      throw new Stop(`${person.tenantId}/${person.id} was not forgotten`, {
        exitCode: 2,
        hint:
          known.length === 0
            ? `No ${subject.resource.singular} is forgotten: there is nothing to lift`
            : `Expected one of ${known
                .slice(0, 20)
                .map((one) => `${one.tenant_id}/${one.customer_id}`)
                .join(', ')}`,
      })
  await using lease = await openLease({ ...deps, shapesRows: false }, 'forget')
  const at = now(deps)
  for (const { tenantId, id } of persons) {
    const entries = new ForgottenEntries(warehouse.db, warehouse.model, tenantId)
    // First the file: a customer whom it has and the warehouse hasn't would look like a restored backup.
    record?.({ tenant_id: tenantId, customer_id: id, lifted_at: at })
    await lease.warehouse.transaction((session) => entries.lift(session, id, at))
  }
  lease.throwIfLost()
  return persons.map(({ tenantId, id }) => ({ tenant_id: tenantId, customer_id: id, lifted: true as const }))
}
