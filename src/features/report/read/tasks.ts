/*
 * What somebody has to act on today: appointments and promised pick-ups, late work, parts that are missing, unpaid
 * invoices, and work still to sell. Each list is counted by shop, and read up to a limit.
 */

import { type Kysely, type SqlBool, sql } from 'kysely'
import { contactColumns } from '../../../../schema/views/dim_customers.js'
import { inParts } from '../../../engine/base/parts.js'
import type { Task, TaskList } from '../tasklist.js'
import { isOf, type Part } from './findings.js'
import { countWhere, numberFrom, type Subject } from './reportdays.js'
import type { ShopClock } from './shopclock.js'
import { type TaskQuestion, taskQuestions } from './taskquestions.js'

/** In a list, for each shop if shops can be chosen, otherwise altogether. */
const mostTasks = 40

type Row = Readonly<Record<string, unknown>>

/** Through the builder, which knows the schema that the views are in. */
const viewsOf = (db: Subject['db']): Kysely<Record<string, Record<string, unknown>>> =>
  db as unknown as Kysely<Record<string, Record<string, unknown>>>

const text = (value: unknown): string | null =>
  value === null || value === undefined || value === '' ? null : String(value)

const located = (row: Row) => ({ tenant_id: row.tenant_id, shop_key: text(row.shop_key) })

/** The rows of a list. Those of another day than the shop's today are left out once they are read. */
function rowsOf(
  { db, tenants, day }: Subject,
  { view, where, ...question }: TaskQuestion,
  days: readonly string[],
) {
  const onDays = sql<SqlBool>`${sql.ref(question.day ?? 'tenant_id')} in (${sql.join(days.map((one) => sql.lit(one)))})`
  return {
    query: viewsOf(db)
      .selectFrom(view)
      .where(sql<SqlBool>`${sql.raw(where)}`)
      .$if(question.day !== undefined, (query) => query.where(onDays))
      .$if(tenants !== null, (query) => query.where('tenant_id', 'in', tenants ?? [])),
    dayText: question.day === undefined ? sql<null>`null` : day(question.day),
  }
}

async function countsOf(subject: Subject, question: TaskQuestion, clocks: ShopClock) {
  const { query, dayText } = rowsOf(subject, question, clocks.todays)
  const rows = await query
    .select(['tenant_id', 'shop_key', dayText.as('day')])
    .select([
      sql`count(*)`.as('all'),
      countWhere(sql.raw(question.apart)).as('apart'),
      countWhere(sql.raw(question.ahead ?? `not (${question.apart})`)).as('ahead'),
      sql`coalesce(sum(${sql.raw(question.cents)}), 0)`.as('cents'),
      sql`count(${sql.raw(question.cents)})`.as('known'),
    ])
    .groupBy(['tenant_id', 'shop_key', ...(question.day === undefined ? [] : [dayText])] as never)
    .execute()
  return rows
    .filter((row) => question.day === undefined || row.day === clocks.today(text(row.shop_key)))
    .map((row) => ({
      ...located(row),
      all: numberFrom(row.all),
      apart: numberFrom(row.apart),
      ahead: numberFrom(row.ahead),
      cents: numberFrom(row.cents),
      known: numberFrom(row.known),
    }))
}

async function askInParts<T>(keys: readonly string[], ask: (part: string[]) => Promise<T[]>): Promise<T[]> {
  const found: T[] = []
  for (const part of inParts(keys)) found.push(...(await ask(part)))
  return found
}

/** What the page shows of an order, wherever it is listed. */
async function ordersOf({ db }: Subject, keys: readonly string[]) {
  const rows = await askInParts(keys, (part) =>
    db
      .selectFrom('orders')
      .select(['repair_order_key', 'number', 'customer_key', 'customer_name', 'advisor_name'])
      .select(['technician_name', 'status_name'])
      .where('repair_order_key', 'in', part)
      .execute(),
  )
  return new Map(
    rows.map((row) => [
      row.repair_order_key ?? '',
      {
        number: text(row.number),
        customerKey: row.customer_key,
        customer: row.customer_name,
        advisor: row.advisor_name,
        technician: row.technician_name,
        status: row.status_name,
      },
    ]),
  )
}

async function contactsOf({ db }: Subject, keys: readonly string[]) {
  const rows = await askInParts(keys, (part) =>
    db
      .selectFrom('dim_customers')
      .select(['customer_key', ...contactColumns])
      .where('customer_key', 'in', part)
      .execute(),
  )
  return new Map(rows.map((row) => [row.customer_key ?? '', contactColumns.map((name) => text(row[name]))]))
}

/** The first rows of a list: of each shop, or of all. */
async function firstRows(
  subject: Subject,
  question: TaskQuestion,
  { clocks, byShop }: { readonly clocks: ShopClock; readonly byShop: boolean },
): Promise<readonly Row[]> {
  const { query, dayText } = rowsOf(subject, question, clocks.todays)
  const { apart, isDone = false, order, cents, title, time, days, since, view } = question
  const groups = [...(byShop ? ['shop_key'] : []), ...(question.day === undefined ? [] : [question.day])]
  const partition = groups.length === 0 ? '' : `partition by ${groups.join(', ')} `
  const or = (expression: string | undefined) => sql.raw<unknown>(expression ?? 'null')
  const ranked = query
    .$if(isDone, (of) => of.where(sql<SqlBool>`not (${sql.raw(apart)})`))
    .select(['tenant_id', 'shop_key', 'repair_order_key', dayText.as('day')])
    .select([
      or(cents).as('cents'),
      or(title).as('title'),
      or(time).as('time'),
      or(days).as('days'),
      (since === undefined ? sql<null>`null` : subject.day(since)).as('since'),
      or(view === 'appointment_load' ? 'staff_name' : undefined).as('staff'),
      sql`row_number() over (${sql.raw(`${partition}order by ${order}`)})`.as('place'),
      sql`row_number() over (order by ${sql.raw(order)})`.as('position'),
    ])
  const rows = await viewsOf(subject.db)
    .selectFrom(ranked.as('ranked'))
    .selectAll()
    .where(sql<SqlBool>`place <= ${sql.lit(mostTasks)}`)
    .orderBy('position')
    .execute()
  return rows.filter((row) => question.day === undefined || row.day === clocks.today(text(row.shop_key)))
}

const dayNumber = (day: string): number => Date.parse(`${day}T00:00:00Z`) / 86_400_000

function daysOf({ days, since, shop_key }: Row, clocks: ShopClock): number | null {
  if (days !== null) return Math.floor(numberFrom(days))
  const from = text(since)
  return from === null ? null : Math.max(0, dayNumber(clocks.today(text(shop_key))) - dayNumber(from))
}

/**
 * All lists. `byShop`: the first rows of each shop are needed, since shops or businesses can be chosen. `contacts`:
 * whether phones and e-mail addresses are shown.
 */
export async function tasksOf(
  subject: Subject,
  clocks: ShopClock,
  {
    byShop,
    contacts,
    ...choice
  }: Parameters<typeof taskQuestions>[0] & { readonly byShop: boolean; readonly contacts: boolean },
) {
  const lists = []
  for (const question of taskQuestions(choice))
    lists.push({
      id: question.id,
      counts: await countsOf(subject, question, clocks),
      rows: await firstRows(subject, question, { clocks, byShop }),
    })
  const keys = new Set(lists.flatMap(({ rows }) => rows.flatMap((row) => text(row.repair_order_key) ?? [])))
  const orders = await ordersOf(subject, [...keys])
  const customers = new Set([...orders.values()].flatMap(({ customerKey }) => customerKey ?? []))
  const reached = contacts ? await contactsOf(subject, [...customers]) : undefined
  const taskOf = (row: Row): Omit<Task, 'shop'> => {
    const order = orders.get(text(row.repair_order_key) ?? '')
    const contacts = reached?.get(order?.customerKey ?? '') ?? []
    const { customer = null, advisor = null, technician = null, status = null } = order ?? {}
    const time = text(row.time)
    return {
      order: order?.number ?? null,
      title: text(row.title),
      customer,
      contacts,
      advisor,
      status,
      technician: text(row.staff) ?? technician,
      time: time === null ? null : clocks.timeText(time, text(row.shop_key)),
      days: daysOf(row, clocks),
      cents: row.cents === null ? null : numberFrom(row.cents),
    }
  }
  return lists.map(({ id, counts, rows }) => ({
    id,
    counts,
    rows: rows.map((row) => ({ ...located(row), task: taskOf(row) })),
  }))
}

/** The lists of a part, with the first rows of all its shops. */
export const tasksIn = (
  found: Awaited<ReturnType<typeof tasksOf>>,
  part: Part,
  nameOf: (shopKey: string | null) => string,
): TaskList[] =>
  found.map(({ id, counts, rows }) => {
    const own = counts.filter((row) => isOf(part, row))
    const sum = (of: (row: (typeof own)[number]) => number): number =>
      own.reduce((all, row) => all + of(row), 0)
    return {
      id,
      count: sum((row) => row.all),
      apart: sum((row) => row.apart),
      ahead: sum((row) => row.ahead),
      cents: sum((row) => row.cents),
      unknown: sum((row) => row.all - row.known),
      tasks: rows
        .filter((row) => isOf(part, row))
        .slice(0, mostTasks)
        .map(({ shop_key, task }) => ({ ...task, shop: nameOf(shop_key) })),
    }
  })
