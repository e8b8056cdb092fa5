/** Businesses: their records, the zones of their shops, and what the rows of their views have in common. */
import { type Fields, list, type Row } from './amounts.js'
import { type Bill, billOf, idOf } from './bills.js'

/** One tenant's records, by resource; live ones only. */
export interface Records {
  readonly tenant: number
  of(resource: string): readonly Fields[]
  /** Records that were deleted after they had been stored. */
  gone(resource: string): readonly Fields[]
}

export interface World {
  readonly tenants: readonly Records[]
  zoneOf(tenant: number, shop: unknown): string
  readonly now: string
  /** Those that the configuration names. */
  readonly tenantNames?: Readonly<Record<string, string>>
}

const formats = new Map<string, Intl.DateTimeFormat>()
const clocks = new Map<string, string>()

/**
 * What a clock in a zone shows at an instant, according to the runtime's own calendar. Cached, since a row has many instants:
 * to make a format takes longer than to use it.
 */
function clockIn(zone: string, instant: string): string {
  // In Sweden, people write days as we do.
  const format =
    formats.get(zone) ??
    new Intl.DateTimeFormat('sv-SE', { timeZone: zone, dateStyle: 'short', timeStyle: 'medium' })
  formats.set(zone, format)
  const clock = clocks.get(`${zone} ${instant}`) ?? format.format(new Date(instant))
  clocks.set(`${zone} ${instant}`, clock)
  return clock
}

export const daysApart = (from: string, to: string): number =>
  (Date.parse(to) - Date.parse(from)) / 86_400_000

/** Whole minutes, rounded down; the sandbox sends whole seconds. */
export const minutesFrom = (from: unknown, to: unknown): bigint | null =>
  typeof from === 'string' && typeof to === 'string'
    ? BigInt(Math.floor((Date.parse(to) - Date.parse(from)) / 60_000))
    : null

/** Groups rows by the values of `of`, each group with its first member. */
export function groups<T>(rows: readonly T[], of: (row: T) => readonly unknown[]): [T, T[]][] {
  const found = new Map<string, [T, T[]]>()
  for (const row of rows) {
    const key = JSON.stringify(of(row))
    const group = found.get(key)
    if (group) group[1].push(row)
    else found.set(key, [row, [row]])
  }
  return [...found.values()]
}

/** By which fields records are called, in the order of preference. */
const callings = {
  customers: { called: 'customer', by: [['company'], ['first_name', 'last_name']] },
  shops: { called: 'shop', by: [['name']] },
  staffs: { called: 'staff', by: [['first_name', 'last_name']] },
  statuses: { called: 'status', by: [['name']] },
  vehicles: { called: 'vehicle', by: [['name']] },
  vendors: { called: 'vendor', by: [['name']] },
} as const

/** What a column refers to whose name is this and `_id`, as far as views have a name beside it. */
const named: Readonly<Record<string, keyof typeof callings>> = {
  customer: 'customers',
  shop: 'shops',
  staff: 'staffs',
  from_staff: 'staffs',
  to_staff: 'staffs',
  technician: 'staffs',
  advisor: 'staffs',
  status: 'statuses',
  vehicle: 'vehicles',
  vendor: 'vendors',
}

const isText = (value: unknown): value is string => typeof value === 'string' && value.trim() !== ''

/** One tenant, with what its views are made from. */
export class Business {
  readonly tenant: number
  readonly bills: readonly Bill[]
  readonly invoices: readonly Bill[]
  readonly deleted: readonly Bill[]
  readonly #byOrder: ReadonlyMap<unknown, Bill>

  constructor(
    readonly records: Records,
    private readonly world: World,
  ) {
    this.tenant = records.tenant
    this.bills = records.of('repair_orders').map(billOf)
    this.invoices = this.bills.filter(({ order }) => order.state === 'invoice')
    this.deleted = records.gone('repair_orders').map(billOf)
    this.#byOrder = new Map(this.bills.map((bill) => [bill.order.id, bill]))
  }

  get now(): string {
    return this.world.now
  }

  /** The bill of the order that a record names, if that is there. */
  billOf(record: Fields | undefined): Bill | undefined {
    return this.#byOrder.get(record?.repair_order_id)
  }

  orderOf(record: Fields | undefined): Fields | undefined {
    return this.billOf(record)?.order
  }

  /** Whether a record names an order that isn't there. */
  hasLostOrder(record: Fields | undefined): boolean {
    return typeof record?.repair_order_id === 'number' && this.orderOf(record) === undefined
  }

  zone(shop: unknown): string {
    return this.world.zoneOf(this.tenant, shop)
  }

  /** What the clock of a shop shows. The calendar begins in 1990, and reaches to the end of the tenth year from now. */
  clock(shop: unknown, instant: unknown): string | null {
    const clock = typeof instant === 'string' ? clockIn(this.zone(shop), instant) : ''
    return clock < '1990' || clock >= String(Number(this.now.slice(0, 4)) + 11) ? null : clock
  }

  day(shop: unknown, instant: unknown): string | null {
    return this.clock(shop, instant)?.slice(0, 10) ?? null
  }

  today(shop: unknown): string {
    return this.day(shop, this.now) ?? ''
  }

  closed({ shop_id, closed_at }: Fields): string | null {
    return this.day(shop_id, closed_at)
  }

  /** Days since an order was closed. */
  age(order: Fields): number | null {
    const closed = this.closed(order)
    return closed === null ? null : daysApart(closed, this.today(order.shop_id))
  }

  /** The days on which some of the invoices were closed, in order. */
  closings(bills: readonly Bill[]): string[] {
    const days = bills.map(({ order }) => this.closed(order)).filter((day) => day !== null)
    return [...new Set(days)].sort()
  }

  readonly #found = new Map<string, Map<unknown, Fields>>()

  record(resource: string, id: unknown): Fields | undefined {
    const all = this.#found.get(resource) ?? new Map(this.records.of(resource).map((one) => [one.id, one]))
    this.#found.set(resource, all)
    return all.get(id)
  }

  /** The name of a record: what people call it, otherwise its kind and id. */
  nameOf(resource: keyof typeof callings, id: unknown): string | null {
    if (id === null || id === undefined) return null
    const { called, by } = callings[resource]
    const record = this.record(resource, id) ?? {}
    const found = by.map((fields) => fields.map((field) => record[field]).filter(isText))
    return found.find((texts) => texts.length > 0)?.join(' ') ?? `${called} ${id}`
  }

  category(id: unknown): Row {
    return { category_id: id, category: this.record('categories', id)?.text }
  }

  /** A key for tools that relate one column; null as soon as an id is. */
  key(...ids: readonly unknown[]): string | null {
    const isLacking = ids.some((id) => id === null || id === undefined)
    return isLacking ? null : [this.tenant, ...ids].join('-')
  }

  /**
   * A row of a view with what goes without saying: its tenant, beside each id the key and the name, and beside each instant
   * the day and the clock of the row's shop. What the row says itself goes before that.
   */
  completed(row: Row): Row {
    const told: Row = {
      tenant_id: this.tenant,
      tenant_name: this.world.tenantNames?.[this.tenant] ?? `tenant ${this.tenant}`,
    }
    const instants: Row = {}
    for (const [column, value] of Object.entries(row)) {
      const [, what = '', is] = /^(.*)_(id|at)$/.exec(column) ?? []
      if (is === 'at') {
        told[`${what}_on`] = this.day(row.shop_id, value)
        told[`${column}_local`] = this.clock(row.shop_id, value)
        instants[column] = shownInstant(value)
      }
      if (is !== 'id') continue
      told[`${what}_key`] = this.key(value)
      const resource = named[what]
      if (resource) told[`${what}_name`] = this.nameOf(resource, value)
    }
    return { ...told, ...row, ...instants }
  }

  /** What rows about an order begin with. */
  about(order: Fields | undefined): Row {
    return { ...order, repair_order_id: order?.id }
  }

  /** What rows about a record begin with that names an order: whether that is there or not. */
  aboutOrderOf(record: Fields | undefined): Row {
    const { shop_id, number } = this.orderOf(record) ?? {}
    return {
      shop_id,
      number,
      repair_order_id: record?.repair_order_id,
      order_gone: this.hasLostOrder(record),
    }
  }

  #firstVisits: ReadonlySet<unknown> | undefined

  /**
   * Whether no other invoice of the customer was closed earlier: on an earlier day of its shop, else at an earlier
   * instant of the same day, else with a lower id.
   */
  isFirstVisit(order: Fields): boolean | null {
    const [customer, day] = [order.customer_id, this.closed(order)]
    if (order.state !== 'invoice' || typeof customer !== 'number' || day === null) return null
    this.#firstVisits ??= new Set(
      groups(
        this.invoices.filter((one) => this.closed(one.order) !== null),
        (one) => [one.order.customer_id],
      ).map(([, own]) => own.map((one) => one.order).sort((a, b) => this.#whichFirst(a, b))[0]?.id),
    )
    return this.#firstVisits.has(order.id)
  }

  #whichFirst(a: Fields, b: Fields): number {
    const [first, second] = [a, b].map((one) => `${this.closed(one)} ${shownInstant(one.closed_at)}`)
    return first === second ? idOf(a) - idOf(b) : String(first) < String(second) ? -1 : 1
  }
}

/** An instant as views show it. */
function shownInstant(value: unknown): string | null {
  const [, day, time, fraction = ''] = /^([\d-]+)T([\d:]+)(?:\.(\d+))?Z$/.exec(String(value)) ?? []
  return day === undefined ? null : `${day} ${time}.${fraction.padEnd(6, '0')}`
}

export const inspected = (order: Fields): readonly Fields[] =>
  list(order, 'services').flatMap((service) => list(service, 'inspections'))
