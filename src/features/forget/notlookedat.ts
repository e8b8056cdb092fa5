/**
 * What a receipt can't answer for: lists that were never read to their end, and records that say something about a person
 * while no reference leads from them to anybody. They stay as they are: to empty the records of nobody knows whom was
 * judged worse than to say that somebody has to look at them.
 */
import { type RawBuilder, sql } from 'kysely'
import type { Int64, Shape } from '../../../schema/resource.js'
import { inParts } from '../../engine/base/parts.js'
import type { ForgetPlan, PersonalReference } from '../../engine/model/forgotten.js'
import type { Table } from '../../engine/model/table.js'
import {
  type Asking,
  among,
  type ForgottenClosure,
  type Owned,
  ofType,
  put,
} from '../../engine/warehouse/hiding/forgottenclosure.js'
import type { NotLookedAt } from '../../engine/warehouse/hiding/forgottenrecords.js'
import { cursorsWithin } from '../../engine/warehouse/state/cursors.js'

export async function notLookedAt(session: Asking, closure: ForgottenClosure): Promise<NotLookedAt[]> {
  const { db, tenantId } = closure
  const cursors = await cursorsWithin(session, db, ['last_success_at'], { tenants: [tenantId] })
  const read = new Set(cursors.flatMap((row) => (row.last_success_at === null ? [] : row.resource)))
  const lists = closure.plans.flatMap(({ resource: { name } }): NotLookedAt[] =>
    read.has(name) ? [] : [{ table: name, reason: 'not_read', rows: null }],
  )
  const undecided: NotLookedAt[] = []
  for (const [table, ids] of await undecidedRecords(session, closure)) {
    const rows = await countTelling(session, closure, { plan: closure.plan(table), ids })
    if (rows > 0) undecided.push({ table, reason: 'leads_to_nobody', rows })
  }
  return [...lists, ...undecided]
}

/**
 * The records from which no reference leads to anybody, by any number of steps: what is led to from `startsOf` without
 * anybody, but for what is led to from where that ends. Each group of such records has one that `startsOf` finds: who
 * follows its references comes to a record that could name a person and doesn't, to one that refers to nothing stored, or
 * to one that nothing with a name refers to.
 */
async function undecidedRecords(
  session: Asking,
  closure: ForgottenClosure,
): Promise<ReadonlyMap<string, ReadonlySet<Int64>>> {
  const somebodys = new Map<string, Map<Int64, Int64>>()
  const nobodys = new Map<string, Map<Int64, Int64>>()
  const sorted = async (plan: ForgetPlan, ids: Iterable<Int64>) => {
    const { name } = plan.resource
    const all = [...ids]
    const theirs = new Set(await closure.somebodys(session, plan, all))
    for (const id of all) put(theirs.has(id) ? somebodys : nobodys, name, id, id)
    return new Map(all.map((id) => [id, theirs.has(id) ? 'kept' : 'hidden'] as const))
  }
  for (const [name, ids] of await startsOf(session, closure)) await sorted(closure.plan(name), ids.keys())
  await closure.reach(session, new Map(nobodys), sorted)
  const led = await closure.reach(session, somebodys, async ({ resource: { name } }, ids) => {
    const back = ids.filter((id) => nobodys.get(name)?.has(id))
    return new Map(back.map((id) => [id, 'hidden'] as const))
  })
  const left = [...nobodys].map(([name, ids]) => {
    const undecided = [...ids.keys()].filter((id) => !led.get(name)?.has(id))
    return [name, new Set(undecided)] as const
  })
  return new Map(left)
}

async function startsOf(session: Asking, closure: ForgottenClosure): Promise<Owned> {
  const { db, tenantId } = closure
  const starts = new Map<string, Map<Int64, Int64>>()
  for (const plan of closure.plans) {
    const { resource } = plan
    if (plan === closure.subject) continue
    const query = db
      .selectFrom(`${resource.name} as r` as 'any root as r')
      .select('r.id')
      .where('r.tenant_id', '=', tenantId)
      .where((eb) => eb.and(startingAt(closure, plan)))
    for (const { id } of (await session.run(query.compile())).rows) put(starts, resource.name, id, id)
  }
  return starts
}

/** The conditions on a record of which it isn't plain that it leads to somebody. */
function startingAt(closure: ForgottenClosure, { resource, references }: ForgetPlan): RawBuilder<boolean>[] {
  const own = references.filter(({ table }) => table === resource.name)
  const subject = closure.subject.resource.name
  const names = own.filter(({ to, type }) => to === subject && type === undefined)
  const rows = (table: string, column: string, value: string): RawBuilder<boolean> =>
    sql<boolean>`exists ${closure.db
      .selectFrom(`${table} as x` as 'any root as x')
      .select('x.tenant_id')
      .whereRef('x.tenant_id', '=', sql`r.tenant_id`)
      .where(sql<boolean>`${sql.ref(`x.${column}`)} = ${sql.ref(value)}`)}`
  if (names.length > 0) return names.map(({ column }) => sql<boolean>`${sql.ref(`r.${column}`)} is null`)
  if (own.length > 0)
    return [
      ...own.map((reference) => {
        const { to, column } = reference
        const there =
          to === subject ? sql<boolean>`${sql.ref(`r.${column}`)} is not null` : rows(to, 'id', `r.${column}`)
        return sql<boolean>`not (coalesce(${ofType(reference, 'r.')}, ${sql.lit(false)}) and ${there})`
      }),
      ...otherTypes(resource.fields, own),
    ]
  return closure.references
    .filter(
      ({ from, to }) =>
        to === resource.name && closure.plan(from).names.some(({ type }) => type === undefined),
    )
    .map(({ table, column }) => sql<boolean>`not ${rows(table, column, 'r.id')}`)
}

/** A record of several types may be of one that is nobody's, such as a tag on a shop. */
function otherTypes(fields: Shape, own: readonly PersonalReference[]): RawBuilder<boolean>[] {
  const columns = new Set(own.flatMap(({ type }) => type?.column ?? []))
  return [...columns].flatMap((column) => {
    const field = fields[column]
    const persons = own.map(({ type }) => type?.entity)
    const others = (field?.type === 'field' && field.values?.filter((one) => !persons.includes(one))) || []
    const type = sql.ref(`r.${column}`)
    return others.length > 0 ? [sql<boolean>`(${type} is null or ${type} not in (${sql.join(others)}))`] : []
  })
}

/** How many of these records say something about a person, in their own table or in a nested list. */
async function countTelling(
  session: Asking,
  { db, tenantId }: ForgottenClosure,
  { plan, ids }: { readonly plan: ForgetPlan; readonly ids: ReadonlySet<Int64> },
): Promise<number> {
  const { resource, tables, columns } = plan
  const telling = (table: Table, alias: string): RawBuilder<boolean>[] =>
    (columns.get(table.name) ?? []).map((name) => {
      const value = sql.ref(`${alias}.${name}`)
      const isText = table.columns.some((column) => column.name === name && column.kind === 'text')
      return isText ? sql<boolean>`${value} <> ''` : sql<boolean>`${value} is not null`
    })
  const conditions = tables.flatMap((table) => {
    const here = telling(table, table.role === 'root' ? 'r' : 'x')
    if (here.length === 0 || table.role === 'root') return here
    return sql<boolean>`exists ${db
      .selectFrom(`${table.name} as x` as 'any root as x')
      .select('x.tenant_id')
      .whereRef('x.tenant_id', '=', sql`r.tenant_id`)
      .where(sql<boolean>`${sql.ref(`x.${table.owner ?? 'id'}`)} = r.id`)
      .where((eb) => eb.or(here))}`
  })
  let found = 0
  for (const some of inParts(ids)) {
    const query = db
      .selectFrom(`${resource.name} as r` as 'any root as r')
      .select((eb) => eb.fn.countAll<Int64>().as('n'))
      .where('r.tenant_id', '=', tenantId)
      .where(sql<boolean>`r.id in ${among(some)}`)
      .where((eb) => eb.or(conditions))
    found += Number((await session.run(query.compile())).rows[0]?.n ?? 0)
  }
  return found
}
