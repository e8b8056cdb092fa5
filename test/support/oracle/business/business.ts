/** Businesses: their records, the zones of their shops, and what the rows of their views are made from. */
import { type Fields, list, type Row } from './amounts.js'
import { type Bill, billOf, idOf } from './bills.js'

/** One tenant's records, by resource; live ones only. */
export interface Records {
  readonly tenant: number
  of(resource: string): readonly Fields[]
  /** Records that were deleted after they had been stored. */
  gone(resource: string): readonly Fields[]
}

const formats = new Map<string, Intl.DateTimeFormat>()
const clocks = new Map<string, Intl.DateTimeFormat>()
const days = new Map<string, string>()

/**
 * The day of an instant in a zone, according to the runtime's own calendar. Cached, since queries for first visits need
 * it often: to make a format takes longer than to use it.
 */
export function dayIn(zone: string, instant: unknown): string | null {
  if (typeof instant !== 'string') return null
  const format =
    formats.get(zone) ??
    new Intl.DateTimeFormat('en-CA', { timeZone: zone, year: 'numeric', month: '2-digit', day: '2-digit' })
  formats.set(zone, format)
  const day = days.get(`${zone} ${instant}`) ?? format.format(new Date(instant))
  days.set(`${zone} ${instant}`, day)
  return day
}

/** What a clock in a zone shows at an instant, according to the runtime's own calendar. */
export function clockIn(zone: string, instant: unknown): string | null {
  if (typeof instant !== 'string') return null
  const format =
    clocks.get(zone) ??
    new Intl.DateTimeFormat('en-GB', { timeZone: zone, timeStyle: 'medium', hourCycle: 'h23' })
  clocks.set(zone, format)
  return `${dayIn(zone, instant)} ${format.format(new Date(instant))}`
}

const daysApart = (from: string, to: string): number => (Date.parse(to) - Date.parse(from)) / 86_400_000

export interface World {
  readonly tenants: readonly Records[]
  zoneOf(tenant: number, shop: unknown): string
  readonly now: string
  /** Those that the configuration names. */
  readonly tenantNames?: Readonly<Record<string, string>>
}

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

/** One tenant, with what its views are made from. */
export class Business {
  readonly bills: readonly Bill[]
  readonly byOrder: ReadonlyMap<number, Bill>
  readonly deleted: readonly Bill[]

  constructor(
    readonly records: Records,
    private readonly world: World,
  ) {
    this.bills = records.of('repair_orders').map(billOf)
    this.byOrder = new Map(this.bills.map((bill) => [idOf(bill.order), bill]))
    this.deleted = records.gone('repair_orders').map(billOf)
  }

  get tenant(): number {
    return this.records.tenant
  }

  zone(shop: unknown): string {
    return this.world.zoneOf(this.tenant, shop)
  }

  /** The calendar begins in 1990. */
  day(shop: unknown, instant: unknown): string | null {
    const day = dayIn(this.zone(shop), instant)
    return day === null || day < '1990-01-01' ? null : day
  }

  clock(shop: unknown, instant: unknown): string | null {
    return this.day(shop, instant) === null ? null : clockIn(this.zone(shop), instant)
  }

  closed({ shop_id, closed_at }: Fields): string | null {
    return this.day(shop_id, closed_at)
  }

  age({ shop_id, closed_at }: Fields): number | null {
    const [closed, today] = [this.closed({ shop_id, closed_at }), this.day(shop_id, this.world.now)]
    return closed === null || today === null ? null : daysApart(closed, today)
  }

  get invoices(): readonly Bill[] {
    return this.bills.filter(({ order }) => order.state === 'invoice')
  }

  get now(): string {
    return this.world.now
  }

  readonly #found = new Map<string, Map<unknown, Fields>>()

  record(resource: string, id: unknown): Fields | undefined {
    const all = this.#found.get(resource) ?? new Map(this.records.of(resource).map((one) => [one.id, one]))
    this.#found.set(resource, all)
    return all.get(id)
  }

  /** The name of a record: what people call it, otherwise its kind and id. */
  nameOf(resource: NamedResource, id: unknown): string | null {
    if (id === null || id === undefined) return null
    const { called, by } = names[resource]
    const record = this.record(resource, id) ?? {}
    const isText = (value: unknown): value is string => typeof value === 'string' && value.trim() !== ''
    const found = by.map((fields) => fields.map((field) => record[field]).filter(isText))
    return found.find((texts) => texts.length > 0)?.join(' ') ?? `${called} ${id}`
  }

  /** Id, key and name of a record, under the names that columns have for it. */
  named(columns: string, resource: NamedResource, id: unknown): Row {
    return {
      [`${columns}_id`]: id ?? null,
      [`${columns}_key`]: key(this.tenant, id ?? null),
      [`${columns}_name`]: this.nameOf(resource, id),
    }
  }

  /** The tenant and a shop of it. */
  shop(id: unknown): Row {
    return {
      tenant_id: this.tenant,
      tenant_name: this.world.tenantNames?.[this.tenant] ?? `tenant ${this.tenant}`,
      ...this.named('shop', 'shops', id),
    }
  }

  /** What the rows of an order, of its lines and of its services have in common. */
  head(order: Fields | undefined): Row {
    const { id, shop_id, number, state, status_id } = order ?? {}
    return {
      ...this.shop(shop_id),
      repair_order_id: id ?? null,
      repair_order_key: key(this.tenant, id ?? null),
      number: number ?? null,
      state: state ?? null,
      status_id: status_id ?? null,
      status_name: this.nameOf('statuses', status_id),
      created_on: this.day(shop_id, order?.created_at),
      started_on: this.day(shop_id, order?.started_at),
      closed_on: this.day(shop_id, order?.closed_at),
      due_out_on: this.day(shop_id, order?.due_out_at),
    }
  }

  /** Who and what an order is about. */
  people(order: Fields | undefined): Row {
    return {
      ...this.named('customer', 'customers', order?.customer_id),
      ...this.named('vehicle', 'vehicles', order?.vehicle_id),
      ...this.named('technician', 'staffs', order?.technician_id),
      ...this.named('advisor', 'staffs', order?.advisor_id),
    }
  }
}

export type NamedResource = keyof typeof names

/** By which fields records are called, in the order of preference. */
const names = {
  customers: { called: 'customer', by: [['company'], ['first_name', 'last_name']] },
  shops: { called: 'shop', by: [['name']] },
  staffs: { called: 'staff', by: [['first_name', 'last_name']] },
  statuses: { called: 'status', by: [['name']] },
  vehicles: { called: 'vehicle', by: [['name']] },
  vendors: { called: 'vendor', by: [['name']] },
} as const

/** An instant as views show it. */
export function instantOf(value: unknown): string | null {
  const [, day, time, fraction = ''] = /^([\d-]+)T([\d:]+)(?:\.(\d+))?Z$/.exec(String(value)) ?? []
  return day === undefined ? null : `${day} ${time}.${fraction.padEnd(6, '0')}`
}

export const key = (...ids: readonly unknown[]): string | null =>
  ids.some((id) => id === null || id === undefined) ? null : ids.join('-')

export const hourOf = (clock: string | null): number | null =>
  clock === null ? null : Number(clock.slice(11, 13))

/**
 * Whether no other invoice of the customer was closed earlier: on an earlier day of its shop, else at an earlier
 * instant of the same day, else with a lower id.
 */
export function isFirstVisit(business: Business, order: Fields): boolean | null {
  const day = business.closed(order)
  if (order.state !== 'invoice' || typeof order.customer_id !== 'number' || day === null) return null
  return !business.invoices.some(({ order: other }) => {
    if (other.customer_id !== order.customer_id) return false
    const on = business.closed(other)
    if (on === null) return false
    if (on !== day) return on < day
    const later = Date.parse(String(order.closed_at)) - Date.parse(String(other.closed_at))
    return later > 0 || (later === 0 && idOf(other) < idOf(order))
  })
}

/** Whole minutes, rounded down; the sandbox sends whole seconds. */
export const minutesFrom = (from: unknown, to: unknown): bigint | null =>
  typeof from === 'string' && typeof to === 'string'
    ? BigInt(Math.floor((Date.parse(to) - Date.parse(from)) / 60_000))
    : null

export const inspected = (order: Fields): readonly Fields[] =>
  list(order, 'services').flatMap((service) => list(service, 'inspections'))
