/* Which rows of which views somebody has to act on today. */
import { atLeastDue } from '../../../../schema/open.js'
import type { TaskList } from '../tasklist.js'

/** How a list is read from a view; all texts are SQL that works in both databases. */
export interface TaskQuestion {
  readonly id: TaskList['id']
  readonly view: string
  readonly where: string
  /** The day column: only rows of the shop's today count. */
  readonly day?: string
  /** Rows that are counted apart (TaskList). */
  readonly apart: string
  /** Rows that are still to come; by default, those that aren't counted apart. */
  readonly ahead?: string
  /** Whether those rows need nobody any more, and so aren't in the list. */
  readonly isDone?: boolean
  readonly cents: string
  /** Most urgent first; columns that make the order total. */
  readonly order: string
  readonly title: string
  /** The shop's local time of day, `HH:MM`. */
  readonly time?: string
  readonly days?: string
  /** The day since which it waits, instead of `days`. */
  readonly since?: string
}

const paidUp = atLeastDue('orders')

const open =
  "case when state = 'estimate' then 'not begun' when state = 'in_progress' then 'in work' else 'finished' end"
/** As the views of both databases compare with: `YYYY-MM-DD HH:MM:SS.ffffff`, in UTC. */
const instant = (canonical: string): string => `'${canonical.slice(0, 10)} ${canonical.slice(11, 26)}'`
const clock = (column: string): string => `substr(${column}, 12, 5)`

export function taskQuestions({
  now,
  toSellSince,
  waitingForParts,
}: {
  /** A canonical instant. */
  readonly now: string
  readonly toSellSince: string
  readonly waitingForParts: readonly string[]
}): readonly TaskQuestion[] {
  const statuses = waitingForParts.map((name) => `'${name.trim().toLowerCase().replaceAll("'", "''")}'`)
  const work = { view: 'work_in_progress', cents: 'sales_cents', title: open, apart: 'is_estimate' }
  const waits = { days: 'cast(minutes_open as bigint) / 1440', order: 'minutes_open desc, repair_order_key' }
  const isRecent = `recommended_on >= '${toSellSince}'`
  const advice = {
    view: 'recommendation_conversion',
    cents: 'value_cents',
    title: 'description',
    since: 'recommended_on',
    order: 'coalesce(value_cents, 0) desc, recommendation_key',
  }
  return [
    {
      id: 'appointments',
      view: 'appointment_load',
      where: 'true',
      day: 'day',
      apart: "outcome = 'came'",
      ahead: `outcome <> 'came' and start_at > ${instant(now)}`,
      cents: 'cast(null as bigint)',
      title: 'title',
      order: 'start_at, appointment_key',
      time: clock('start_at_local'),
    },
    {
      id: 'pick-ups',
      view: 'orders',
      // An estimate promises nothing.
      where: "state <> 'estimate'",
      day: 'due_out_on',
      apart: 'picked_up_at is not null',
      isDone: true,
      cents: 'coalesce(total_cents, sales_cents)',
      title: open,
      order: 'due_out_at, repair_order_key',
      time: clock('due_out_at_local'),
    },
    { id: 'late', ...work, where: 'is_late', ...waits },
    ...(statuses.length === 0
      ? []
      : [
          {
            id: 'waiting for parts' as const,
            ...work,
            ...waits,
            where: `lower(trim(status_name)) in (${statuses.join(', ')})`,
          },
        ]),
    {
      id: 'unpaid',
      view: 'orders',
      apart: 'false',
      cents: 'balance_cents',
      title: open,
      where: `state = 'invoice' and picked_up_at is not null and ${paidUp} > 0`,
      order: `${paidUp} desc, repair_order_key`,
      since: 'picked_up_on',
    },
    {
      id: 'overdue',
      view: 'receivables',
      where: 'days > 30 and balance_cents > 0',
      apart: 'false',
      cents: 'balance_cents',
      title: 'null',
      order: 'balance_cents desc, repair_order_key',
      days: 'days',
    },
    { id: 'approved unsold', ...advice, where: `is_approved_unsold and ${isRecent}`, apart: 'false' },
    { id: 'to sell', ...advice, where: `is_to_sell and ${isRecent}`, apart: "decision = 'undecided'" },
  ]
}
