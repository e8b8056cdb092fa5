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
import { ForgottenClosure, idParts } from '../../engine/warehouse/forgottenclosure.js'
import { ForgottenEntries } from '../../engine/warehouse/forgottenentries.js'
import type { Emptying } from '../../engine/warehouse/forgottenrows.js'
import {
  type NotLookedAt,
  type Receipt,
  readForgottenRecords,
  storedReceipts,
} from '../../engine/warehouse/forgottensets.js'
import { notRemoved } from '../../engine/warehouse/interference.js'
import { openLease } from '../../engine/warehouse/openlease.js'
import type { Session } from '../../engine/warehouse/transaction.js'
import type { Warehouse } from '../../engine/warehouse/warehouse.js'
import type { ForgottenLine } from '../../shell/forgottenfile.js'
import { notLookedAt } from './notlookedat.js'

/** One customer of a tenant. */
export interface Person {
  readonly tenantId: Int64
  readonly id: Int64
}

type Needs = Pick<Dependencies, 'warehouse' | 'model' | 'clock' | 'leaseMs'> & {
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
  { warehouse, model }: Pick<Needs, 'warehouse' | 'model'>,
  persons: readonly Person[],
): Promise<void> {
  const plans = plansOf(model)
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

/** Runs the statements, and counts the rows that they changed, by table. */
async function run(
  warehouse: Pick<Warehouse, 'where'>,
  session: Session,
  statements: Iterable<Emptying>,
  { counts, doubted }: { readonly counts: Map<string, number>; readonly doubted: ReadonlySet<string> },
): Promise<void> {
  for (const { table, query, isStamp } of statements) {
    const { affected } = await session.run(query)
    if (affected > 0 && !isStamp) counts.set(table, (counts.get(table) ?? 0) + affected)
    // A trigger may keep rows as they were, without an error.
    const left = doubted.has(table) ? (await session.run(query)).affected : 0
    if (left > 0) throw notRemoved(warehouse.where, table, left)
  }
}

const counted = (counts: ReadonlyMap<string, number>): Receipt['tables'] =>
  [...counts].map(([table, rows]) => ({ table, rows }))

/** What would be forgotten, by table, and what couldn't be looked at. It is done in a transaction, and undone. */
export async function countForgotten(
  { warehouse, model, clock }: Needs,
  persons: readonly Person[],
): Promise<Pick<Receipt, 'tables' | 'not_looked_at'>> {
  const counts = new Map<string, number>()
  const missed: NotLookedAt[] = []
  const behind = new Set<string>()
  const isThere = ({ table }: Emptying): boolean =>
    warehouse.interfered.unchanged([table]) === undefined || !behind.add(table)
  const undo = new Error('undo')
  await readForgottenRecords(warehouse)
  const counting = async (session: Session): Promise<never> => {
    for (const person of persons) {
      const entries = new ForgottenEntries(warehouse.db, model, person.tenantId)
      await entries.enter(session, begun(person, now({ clock })))
      for (const plan of plansOf(model)) {
        const next = entries.next(plan, person.id, undefined, Number.MAX_SAFE_INTEGER)
        const ids = (await session.run(next)).rows.map(({ record_id }) => record_id)
        for (const some of idParts(ids)) {
          const statements = [...entries.rows.emptying(plan, some)].filter(isThere)
          await run(warehouse, session, statements, { counts, doubted: new Set() })
        }
      }
      await entries.rows.clearReports(session, counts)
    }
    for (const table of behind) missed.push({ table, reason: 'not_migrated', rows: null })
    for (const { tenantId } of oneOfEachTenant(persons))
      missed.push(...(await notLookedAt(session, new ForgottenClosure(warehouse.db, model, tenantId))))
    throw undo
  }
  await warehouse
    .trying(() => warehouse.dialect.transaction(counting))
    .catch((error: unknown) => (error === undo ? undefined : Promise.reject(error)))
  return { tables: counted(counts), not_looked_at: missed }
}

const oneOfEachTenant = (persons: readonly Person[]): Person[] =>
  persons.filter(({ tenantId }, i) => persons.findIndex((one) => one.tenantId === tenantId) === i)

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

/** Forgets these customers. */
export async function forgetPersons(deps: Needs, persons: readonly Person[]): Promise<Receipt[]> {
  const { model, record } = deps
  // Erasing depends on no setting: it must not fail because of another configuration.
  await using lease = await openLease({ ...deps, shapesRows: false }, 'forget')
  const { warehouse } = lease
  await readForgottenRecords(warehouse)
  const columns = new Map(plansOf(model).flatMap((plan) => [...plan.columns]))
  const tables = [...columns.keys(), ...model.forgotten.histories]
  await warehouse.interfered.refuseHidden(tables)
  const known = await storedReceipts(warehouse)
  const at = now(deps)
  const receipts = persons.map((person) => {
    const { tenantId, id } = person
    const before = known.find((one) => one.tenant_id === tenantId && one.customer_id === id)
    return begun(person, at, before)
  })
  for (const receipt of receipts) record?.(receipt)
  const entriesFor = (tenantId: Int64) => new ForgottenEntries(warehouse.db, model, tenantId)
  for (const receipt of receipts)
    await warehouse.transaction((session) => entriesFor(receipt.tenant_id).enter(session, receipt))
  const emptied: Receipt[] = []
  // It grows while rows are emptied: to clean up all tables would take longer than everything else. Of runs since then that
  // emptied rows, nothing is known.
  const isRepeated = known.some((one) => receipts.some(({ id }) => id === one.id))
  const touched = tables.filter((table) => isRepeated && columns.get(table)?.length !== 0)
  const changed = ['sync_quarantine', 'sync_drift', ...touched]
  const { left, elsewhere } = await warehouse.dialect.erase(
    changed,
    async () => {
      for (const receipt of receipts) emptied.push(await empty({ ...deps, warehouse }, receipt))
      const also = emptied.flatMap((receipt) => receipt.tables.map(({ table }) => table))
      changed.push(...new Set(also.filter((table) => !changed.includes(table))))
    },
    columns,
  )
  const missed = new Map<Int64, readonly NotLookedAt[]>()
  for (const { tenantId } of oneOfEachTenant(persons))
    missed.set(
      tenantId,
      await warehouse.transaction((session) => notLookedAt(session, entriesFor(tenantId).closure)),
    )
  const done: Receipt[] = []
  for (const receipt of emptied) {
    const ended = {
      ...receipt,
      done_at: now(deps),
      traces_left: left,
      not_looked_at: missed.get(receipt.tenant_id) ?? [],
      elsewhere: `${elsewhere}; ${elsewhereToo}`,
    }
    await warehouse.write([entriesFor(receipt.tenant_id).keepReceipt(ended)])
    record?.(ended)
    done.push(ended)
  }
  lease.throwIfLost()
  return done
}

/** Empties everything of one customer, dependents first. What is done is in the receipt, should it be cut short. */
async function empty({ warehouse, model, signal }: Needs, receipt: Receipt): Promise<Receipt> {
  const { tenant_id: tenantId, customer_id: person } = receipt
  const entries = new ForgottenEntries(warehouse.db, model, tenantId)
  const { rows, closure } = entries
  const doubted = await warehouse.interfered.ask()
  let counts = new Map(receipt.tables.map(({ table, rows }) => [table, rows]))
  const soFar = (): Receipt => {
    const tables = counted(counts)
    return { ...receipt, tables, rows: tables.reduce((sum, { rows }) => sum + rows, 0) }
  }
  const others = closure.plans.filter((plan) => plan !== closure.subject)
  for (const plan of [...others, closure.subject]) {
    let last: Int64 | undefined
    do {
      signal?.throwIfAborted()
      const before = new Map(counts)
      const after = last
      last = await warehouse.transaction(async (session) => {
        // It may be repeated.
        counts = new Map(before)
        const next = await session.run(entries.next(plan, person, after, recordsAtOnce))
        const ids = next.rows.map(({ record_id }) => record_id)
        if (ids.length === 0) return undefined
        await run(warehouse, session, rows.emptying(plan, ids), { counts, doubted })
        await session.run(entries.keepReceipt(soFar()))
        return ids.at(-1)
      })
    } while (last !== undefined)
  }
  const kept = await warehouse.read((db) =>
    db
      .selectFrom('sync_forgotten_records')
      .select((eb) => ['resource', eb.fn.countAll<Int64>().as('n')])
      .where((eb) => eb.and({ tenant_id: tenantId, owner_id: person, state: 'kept' }))
      .groupBy('resource')
      .execute(),
  )
  const found = counts
  await warehouse.transaction(async (session) => {
    counts = new Map(found)
    await rows.clearReports(session, counts)
    await session.run(entries.keepReceipt(soFar()))
  })
  return { ...soFar(), kept: kept.map(({ resource, n }) => ({ table: resource, rows: Number(n) })) }
}

/** Lets forgotten customers back in: the next sync reads their lists whole. Stops if one was not forgotten. */
export async function liftPersons(
  deps: Needs,
  persons: readonly Person[],
): Promise<readonly { readonly tenant_id: Int64; readonly customer_id: Int64; readonly lifted: true }[]> {
  const { warehouse, model, record } = deps
  const subject = subjectOf(plansOf(model))
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
    const entries = new ForgottenEntries(warehouse.db, model, tenantId)
    // First the file: a customer whom it has and the warehouse hasn't would look like a restored backup.
    record?.({ tenant_id: tenantId, customer_id: id, lifted_at: at })
    await lease.warehouse.transaction((session) => entries.lift(session, id, at))
  }
  lease.throwIfLost()
  return persons.map(({ tenantId, id }) => ({ tenant_id: tenantId, customer_id: id, lifted: true as const }))
}
