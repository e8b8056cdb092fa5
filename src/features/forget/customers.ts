/*
 * Forgets single customers: what says something about them goes, ids and numbers stay (docs/warehouse.md, Forgetting
 * a customer). The entries come first: from then on nothing comes back, whatever becomes of the work. Safe to repeat.
 */
import { randomUUID } from 'node:crypto'
import type { Int64 } from '../../../schema/resource.js'
import { Bug, Stop } from '../../engine/base/errors.js'
import type { ForgetPlan } from '../../engine/model/forgotten.js'
import type { Model } from '../../engine/model/resourcemodel.js'
import type { Dependencies } from '../../engine/run/runcontext.js'
import { now } from '../../engine/run/tenant.js'
import { rootTable } from '../../engine/warehouse/database.js'
import { ForgetStatements } from '../../engine/warehouse/forgetstatements.js'
import type { Emptying } from '../../engine/warehouse/forgottenrows.js'
import { type Receipt, readForgottenRecords, storedReceipts } from '../../engine/warehouse/forgottensets.js'
import { notRemoved } from '../../engine/warehouse/interference.js'
import { openLease } from '../../engine/warehouse/openlease.js'
import type { Session } from '../../engine/warehouse/transaction.js'
import type { Warehouse } from '../../engine/warehouse/warehouse.js'
import type { ForgottenLine } from '../../shell/forgottenfile.js'

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

/** How the records are forgotten that people name. */
function subjectOf(model: Model): ForgetPlan {
  const subject = plansOf(model).find(({ resource }) => resource.forgettable)
  if (!subject) throw new Bug('No resource has persons')
  return subject
}

/** Stops unless all of them are in the warehouse: a mistyped id would erase nothing, and nobody would notice. */
export async function checkPersons(
  { warehouse, model }: Pick<Needs, 'warehouse' | 'model'>,
  persons: readonly Person[],
): Promise<void> {
  const subject = subjectOf(model)
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
    for (const { resource, self } of plansOf(model))
      for (const { of, column } of self)
        if (of === subject.resource.name && (await isThere(resource.name, column))) return true
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

/** What would be forgotten, by table. It is done in a transaction, and undone. */
export async function countForgotten(
  { warehouse, model, clock }: Needs,
  persons: readonly Person[],
): Promise<{ readonly tables: Receipt['tables'] }> {
  const counts = new Map<string, number>()
  const undo = new Error('undo')
  await readForgottenRecords(warehouse)
  const all = plansOf(model)
  await warehouse
    .trying(() =>
      warehouse.dialect.transaction(async (session) => {
        for (const person of persons) {
          const statements = new ForgetStatements(warehouse.db, model, person.tenantId)
          await enter({ session, statements, subject: subjectOf(model) }, begun(person, now({ clock })))
          for (const plan of all) {
            const part = await session.run(
              statements.next(plan, person.id, undefined, Number.MAX_SAFE_INTEGER),
            )
            const ids = part.rows.map(({ record_id }) => record_id)
            for (let i = 0; i < ids.length; i += recordsAtOnce)
              await run(warehouse, session, statements.emptying(plan, ids.slice(i, i + recordsAtOnce)), {
                counts,
                doubted: new Set(),
              })
          }
          await statements.clearReports(session, counts)
        }
        throw undo
      }),
    )
    .catch((error: unknown) => (error === undo ? undefined : Promise.reject(error)))
  return { tables: counted(counts) }
}

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
  elsewhere: '',
})

interface Entering {
  readonly session: Session
  readonly statements: ForgetStatements
  readonly subject: ForgetPlan
}

async function enter({ session, statements, subject }: Entering, receipt: Receipt): Promise<void> {
  await session.run(statements.raising())
  await session.run(statements.seed(subject, receipt))
  await session.run(statements.keepReceipt(subject, receipt))
  for (const query of statements.entries(subject, [receipt.customer_id])) await session.run(query)
}

/** Forgets these customers. */
export async function forgetPersons(deps: Needs, persons: readonly Person[]): Promise<Receipt[]> {
  const { model, record } = deps
  const subject = subjectOf(model)
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
  const statementsFor = (tenantId: Int64) => new ForgetStatements(warehouse.db, model, tenantId)
  for (const receipt of receipts)
    await warehouse.transaction((session) =>
      enter({ session, subject, statements: statementsFor(receipt.tenant_id) }, receipt),
    )
  const emptied: Receipt[] = []
  // It grows while rows are emptied: to clean up all tables would take longer than everything else. Of runs since then that
  // emptied rows, nothing is known.
  const isRepeated = known.some((one) => receipts.some(({ id }) => id === one.id))
  const touched = tables.filter((table) => isRepeated && columns.get(table)?.length !== 0)
  const changed = ['sync_quarantine', 'sync_drift', ...touched]
  const { left, elsewhere } = await warehouse.dialect.erase(
    changed,
    async () => {
      for (const receipt of receipts) emptied.push(await empty({ ...deps, warehouse }, subject, receipt))
      const also = emptied.flatMap((receipt) => receipt.tables.map(({ table }) => table))
      changed.push(...new Set(also.filter((table) => !changed.includes(table))))
    },
    columns,
  )
  const done: Receipt[] = []
  for (const receipt of emptied) {
    const ended = {
      ...receipt,
      done_at: now(deps),
      traces_left: left,
      elsewhere: `${elsewhere}; ${elsewhereToo}`,
    }
    await warehouse.write([statementsFor(receipt.tenant_id).keepReceipt(subject, ended)])
    record?.(ended)
    done.push(ended)
  }
  lease.throwIfLost()
  return done
}

/** Empties everything of one customer, dependents first. What is done is in the receipt, should it be cut short. */
async function empty(
  { warehouse, model, signal }: Needs,
  subject: ForgetPlan,
  receipt: Receipt,
): Promise<Receipt> {
  const { tenant_id: tenantId, customer_id: person } = receipt
  const statements = new ForgetStatements(warehouse.db, model, tenantId)
  const doubted = await warehouse.interfered.ask()
  let counts = new Map(receipt.tables.map(({ table, rows }) => [table, rows]))
  const soFar = (): Receipt => {
    const tables = counted(counts)
    return { ...receipt, tables, rows: tables.reduce((sum, { rows }) => sum + rows, 0) }
  }
  const others = plansOf(model).filter((plan) => plan.isEntered && plan !== subject)
  for (const plan of [...others, subject]) {
    let last: Int64 | undefined
    do {
      signal?.throwIfAborted()
      const before = new Map(counts)
      const after = last
      last = await warehouse.transaction(async (session) => {
        // It may be repeated.
        counts = new Map(before)
        const { rows } = await session.run(statements.next(plan, person, after, recordsAtOnce))
        const ids = rows.map(({ record_id }) => record_id)
        if (ids.length === 0) return undefined
        await run(warehouse, session, statements.emptying(plan, ids), { counts, doubted })
        await session.run(statements.keepReceipt(subject, soFar()))
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
    await statements.clearReports(session, counts)
    await session.run(statements.keepReceipt(subject, soFar()))
  })
  return { ...soFar(), kept: kept.map(({ resource, n }) => ({ table: resource, rows: Number(n) })) }
}

/** Lets forgotten customers back in: the next sync reads their lists whole. Stops if one was not forgotten. */
export async function liftPersons(
  deps: Needs,
  persons: readonly Person[],
): Promise<readonly { readonly tenant_id: Int64; readonly customer_id: Int64; readonly lifted: true }[]> {
  const { warehouse, model, record } = deps
  const subject = subjectOf(model)
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
    const statements = new ForgetStatements(warehouse.db, model, tenantId)
    // First the file: a customer whom it has and the warehouse hasn't would look like a restored backup.
    record?.({ tenant_id: tenantId, customer_id: id, lifted_at: at })
    await lease.warehouse.write([...statements.lifting(subject, id, at)])
  }
  lease.throwIfLost()
  return persons.map(({ tenantId, id }) => ({ tenant_id: tenantId, customer_id: id, lifted: true as const }))
}
