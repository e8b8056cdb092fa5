/* Lists of what somebody has to act on, as plain values, and their words. */

/** An order, appointment or recommendation that somebody has to act on. A null is unknown or doesn't apply. */
export interface Task {
  readonly order: string | null
  /** What it is about: the title of an appointment, the recommended work, the state of an order. */
  readonly title: string | null
  readonly shop: string
  readonly customer: string | null
  /** In the order of `contactColumns`; empty without `report.contacts`. */
  readonly contacts: readonly (string | null)[]
  readonly advisor: string | null
  readonly technician: string | null
  readonly status: string | null
  /** The shop's clock time today, with its zone; otherwise null. */
  readonly time: string | null
  /** How many days it has waited. */
  readonly days: number | null
  readonly cents: number | null
}

export interface TaskList {
  readonly id:
    | 'appointments'
    | 'pick-ups'
    | 'late'
    | 'waiting for parts'
    | 'unpaid'
    | 'overdue'
    | 'approved unsold'
    | 'to sell'
  readonly count: number
  /** How many of them came already, were picked up already, are undecided. */
  readonly apart: number
  /** How many are still to come; of lists without a time, those that aren't counted apart. */
  readonly ahead: number
  /** The sum of the known amounts, and how many are unknown. */
  readonly cents: number
  readonly unknown: number
  /** The most urgent ones first, without those that are done. */
  readonly tasks: readonly Task[]
}

/** How a list is shown: its name, which day its column of days counts from, and what its rows are. */
export const taskWords: Readonly<
  Record<
    TaskList['id'],
    { readonly title: string; readonly noun: string; readonly days: string; readonly first: string }
  >
> = {
  appointments: { title: 'Appointments today', noun: 'appointment', days: '', first: 'earliest first' },
  'pick-ups': { title: 'Promised today', noun: 'car', days: '', first: 'earliest first' },
  late: { title: 'Past the promised time', noun: 'order', days: 'days open', first: 'longest first' },
  'waiting for parts': {
    title: 'Waiting for parts',
    noun: 'order',
    days: 'days open',
    first: 'longest first',
  },
  unpaid: {
    title: 'Picked up and unpaid',
    noun: 'invoice',
    days: 'days since pick-up',
    first: 'largest first',
  },
  overdue: { title: 'Overdue invoices', noun: 'invoice', days: 'days since closing', first: 'largest first' },
  'approved unsold': {
    title: 'Approved, on no order',
    noun: 'recommendation',
    days: 'days since then',
    first: 'largest first',
  },
  'to sell': {
    title: 'Still to sell',
    noun: 'recommendation',
    days: 'days since then',
    first: 'largest first',
  },
}
