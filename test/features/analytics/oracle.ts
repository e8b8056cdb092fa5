/**
 * The business views again, in memory: from the records as the API sends them, and from docs/totals.md and the columns'
 * descriptions, not from the SQL of the views or the rule of the totals. Shares no code with the product.
 */

export interface Fields {
  readonly [name: string]: unknown
}
export type Row = Record<string, unknown>

/** One tenant's records, by resource; live ones only. */
export interface Records {
  readonly tenant: number
  of(resource: string): readonly Fields[]
  /** Orders that were deleted after they were stored. */
  readonly deletedOrders?: readonly Fields[]
}

const unit = 10n ** 9n
const absurdCents = 9n * 10n ** 9n
const absurdPrice = 10n ** 9n
/** Of one line. Sums, percentages and rates may be larger. */
const absurdHours = 10n ** 5n
const absurdUnits = 10n ** 6n
/** For a tax, or for a percentage of a sum. */
const absurdSum = 9n * 10n ** 15n

const magnitude = (value: bigint): bigint => (value < 0n ? -value : value)

/** A quotient, rounded half away from zero. */
function divided(top: bigint, bottom: bigint): bigint {
  const size = (2n * magnitude(top) + magnitude(bottom)) / (2n * magnitude(bottom))
  return top < 0n === bottom < 0n ? size : -size
}

/** Hours, quantities, rates in billionths, from the decimals that a person reads; null if unknown or absurd. */
export function nanos(value: unknown, absurd = unit): bigint | null {
  if (typeof value !== 'number') return null
  const [whole = '0', fraction = ''] = magnify(String(value)).replace('-', '').split('.')
  const all = BigInt(whole) * 10n ** 30n + BigInt(fraction.slice(0, 30).padEnd(30, '0'))
  const size = divided(all, 10n ** 21n)
  return size >= absurd * unit ? null : value < 0 ? -size : size
}

/** Writes `1e-10` in full. */
function magnify(text: string): string {
  const [mantissa = '0', exponent] = text.split('e')
  if (exponent === undefined) return text
  const [whole = '0', fraction = ''] = mantissa.replace('-', '').split('.')
  const shift = Number(exponent)
  const digits = whole + fraction
  const point = whole.length + shift
  const padded = point <= 0 ? `0.${'0'.repeat(-point)}${digits}` : digits.padEnd(point, '0')
  const placed =
    point <= 0 || point >= padded.length ? padded : `${padded.slice(0, point)}.${padded.slice(point)}`
  return mantissa.startsWith('-') ? `-${placed}` : placed
}

/** Cents that count; null if unknown or absurd. */
export function cents(value: unknown): bigint | null {
  if (typeof value !== 'number' || !Number.isSafeInteger(value)) return null
  return magnitude(BigInt(value)) >= absurdCents ? null : BigInt(value)
}

const hoursOf = (value: unknown): bigint | null => nanos(value, absurdHours)
export const unitsOf = (value: unknown): bigint | null => nanos(value, absurdUnits)

/** The price or cost of one unit; null if unknown or absurd. */
export function priceOf(value: unknown): bigint | null {
  if (typeof value !== 'number') return null
  return magnitude(BigInt(value)) >= absurdPrice ? null : BigInt(value)
}

/** The value of units at a price; null if unknown or absurd. */
export function worth(units: bigint | null, price: unknown): bigint | null {
  if (units === 0n) return 0n
  const each = priceOf(price)
  if (units === null || each === null) return null
  const amount = divided(units * each, unit)
  return magnitude(amount) >= absurdCents ? null : amount
}

export const sum = (values: readonly (bigint | null)[]): bigint =>
  values.reduce<bigint>((all, one) => all + (one ?? 0n), 0n)
const unknowns = (values: readonly (bigint | null)[]): number =>
  values.filter((value) => value === null).length
/** null as soon as one is. */
const sumOfAll = (values: readonly (bigint | null)[]): bigint | null =>
  values.includes(null) ? null : sum(values)

export const list = (record: Fields, name: string): readonly Fields[] =>
  (record[name] as Fields[] | null | undefined) ?? []

/** A number shown by a view of hours or units. */
const shownNanos = (value: bigint | null): number | null =>
  value === null || magnitude(value) >= unit * unit ? null : Number(value) / 1e9

export type Kind = 'labor' | 'part' | 'sublet' | 'hazmat'

export interface Line {
  readonly kind: Kind
  readonly service: Fields
  readonly item: Fields
  readonly units: bigint | null
  readonly price: unknown
  readonly amount: bigint | null
  readonly cost: bigint | null
  /** Whether lines of this kind have a cost. */
  readonly costs: boolean
}

const isProfitKnown = ({ amount, cost, costs }: Line): boolean => amount !== null && (!costs || cost !== null)

const idOf = ({ id }: Fields): number => Number(id)

function linesOf(services: readonly Fields[]): Line[] {
  return services.flatMap((service): Line[] => [
    ...list(service, 'labors').map((item): Line => {
      const units = hoursOf(item.hours)
      const price = service.labor_rate_cents
      return {
        kind: 'labor',
        service,
        item,
        units,
        price,
        amount: worth(units, price),
        cost: null,
        costs: false,
      }
    }),
    ...list(service, 'parts').map((item): Line => {
      const [units, price] = [unitsOf(item.quantity), item.quoted_price_cents]
      const cost = worth(units, item.cost_cents)
      return { kind: 'part', service, item, units, price, amount: worth(units, price), cost, costs: true }
    }),
    ...list(service, 'sublets').map((item): Line => {
      const [price, cost] = [item.price_cents, cents(item.cost_cents)]
      return { kind: 'sublet', service, item, units: unit, price, amount: cents(price), cost, costs: true }
    }),
    ...list(service, 'hazmats').map((item): Line => {
      const [units, price] = [unitsOf(item.quantity), item.fee_cents]
      return {
        kind: 'hazmat',
        service,
        item,
        units,
        price,
        amount: worth(units, price),
        cost: null,
        costs: false,
      }
    }),
  ])
}

export interface Bill {
  readonly order: Fields
  readonly lines: readonly Line[]
  readonly gross: Readonly<Record<Kind, bigint>>
  readonly discount: Readonly<Record<Kind, bigint>>
  readonly sales: bigint
  readonly fee: bigint | null
  readonly taxes: readonly (bigint | null)[]
  readonly tax: bigint | null
  readonly total: bigint | null
  readonly profit: bigint | null
  readonly paid: bigint
  readonly balance: bigint | null
  readonly hours: bigint
}

const kinds: readonly Kind[] = ['labor', 'part', 'sublet', 'hazmat']

function discountOf(order: Fields, kind: Kind, gross: bigint): bigint {
  if (kind !== 'labor' && kind !== 'part') return 0n
  const percent = nanos(order[`${kind}_discount_percentage`])
  const share = percent === null ? 0n : divided(gross * percent, 100n * unit)
  const sent = cents(order[`${kind}_discount_cents`]) ?? (magnitude(share) >= absurdSum ? 0n : share)
  const most = gross > 0n ? gross : 0n
  return sent > most ? most : sent
}

function taxOf(
  order: Fields,
  kind: Kind,
  lines: readonly Line[],
  discount: bigint,
  fee: bigint | null,
): bigint | null {
  if (order.taxable === false) return 0n
  if (order.taxable !== true || fee === null) return null
  const taxable = lines.filter(({ item }) => item.taxable !== false)
  if (taxable.some(({ amount }) => amount === null)) return null
  const [gross, base] = [sum(lines.map(({ amount }) => amount)), sum(taxable.map(({ amount }) => amount))]
  const [top, bottom] = gross === 0n ? [fee, 1n] : [base * (gross - discount) + fee * gross, gross]
  if (top === 0n) return 0n
  const rate = nanos(order[`${kind}_tax_rate`])
  const tax = rate === null ? null : divided(top * rate, bottom * 100n * unit)
  return tax === null || magnitude(tax) >= absurdSum ? null : tax
}

function billOf(order: Fields): Bill {
  const lines = linesOf(list(order, 'services'))
  const of = (kind: Kind): Line[] => lines.filter((line) => line.kind === kind)
  const each = (value: (kind: Kind) => bigint): Record<Kind, bigint> =>
    Object.fromEntries(kinds.map((kind) => [kind, value(kind)])) as Record<Kind, bigint>
  const gross = each((kind) => sum(of(kind).map(({ amount }) => amount)))
  const discount = each((kind) => discountOf(order, kind, gross[kind]))
  const fee = cents(order.supply_fee_cents)
  const taxes = kinds.map((kind) => taxOf(order, kind, of(kind), discount[kind], kind === 'part' ? fee : 0n))
  const sales = sum(kinds.map((kind) => gross[kind] - discount[kind]))
  const tax = sumOfAll(taxes)
  const isPriced = lines.every(({ amount }) => amount !== null)
  const isCosted = lines.every(({ costs, cost }) => !costs || cost !== null)
  const total = isPriced ? sumOfAll([sales, fee, tax]) : null
  const paid = sum(list(order, 'payments').map(({ amount_cents }) => cents(amount_cents)))
  return {
    ...{ order, lines, gross, discount, sales, fee, taxes, tax, total, paid },
    profit: isPriced && isCosted ? sales - sum(lines.map(({ cost }) => cost)) : null,
    balance: total === null ? null : total - paid,
    hours: sum(of('labor').map(({ units }) => units)),
  }
}

/**
 * The shares of a tax on the lines of one kind, in the order of services and lines; null if the tax is unknown, and for
 * lines without an amount.
 */
function taxShares(bill: Bill, kind: Kind, sorted: readonly Line[]): (bigint | null)[] {
  const { order, gross, discount, taxes } = bill
  const rate = nanos(order[`${kind}_tax_rate`]) ?? 0n
  const whole = gross[kind]
  const isTaxed = order.taxable === true && whole !== 0n
  const taxOn = (base: bigint): bigint => {
    const exact = isTaxed ? divided(base * (whole - discount[kind]) * rate, whole * 100n * unit) : 0n
    return exact > absurdSum ? absurdSum : exact < -absurdSum ? -absurdSum : exact
  }
  let base = 0n
  return sorted.map(({ amount, item }) => {
    if (taxes[kinds.indexOf(kind)] === null || amount === null) return null
    const before = taxOn(base)
    if (item.taxable !== false) base += amount
    return taxOn(base) - before
  })
}

/** The shares of a discount, in the order of services and lines: each is a difference of rounded running sums. */
function shares(discount: bigint, gross: bigint, amounts: readonly bigint[]): bigint[] {
  if (discount === 0n || gross === 0n) return amounts.map(() => 0n)
  let upTo = 0n
  let given = 0n
  return amounts.map((amount) => {
    upTo += amount
    const share = divided(discount * upTo, gross) - given
    given += share
    return share
  })
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

  constructor(
    readonly records: Records,
    private readonly world: World,
  ) {
    this.bills = records.of('repair_orders').map(billOf)
    this.byOrder = new Map(this.bills.map((bill) => [idOf(bill.order), bill]))
  }

  get tenant(): number {
    return this.records.tenant
  }

  day(shop: unknown, instant: unknown): string | null {
    return dayIn(this.world.zoneOf(this.tenant, shop), instant)
  }

  clock(shop: unknown, instant: unknown): string | null {
    return clockIn(this.world.zoneOf(this.tenant, shop), instant)
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
}

const key = (...ids: readonly unknown[]): string | null => (ids.includes(null) ? null : ids.join('-'))

const hourOf = (clock: string | null): number | null => (clock === null ? null : Number(clock.slice(11, 13)))

/** The lines of one kind in the order in which they get their shares. */
const inOrder = ({ lines }: Bill, kind: Kind): Line[] =>
  lines
    .filter((line) => line.kind === kind)
    .sort((a, b) => idOf(a.service) - idOf(b.service) || idOf(a.item) - idOf(b.item))

function orderLines(business: Business): Row[] {
  const { tenant } = business
  return business.bills.flatMap((bill) =>
    kinds.flatMap((kind) => {
      const { order, gross, discount } = bill
      const sorted = inOrder(bill, kind)
      const off = shares(
        discount[kind],
        gross[kind],
        sorted.map(({ amount }) => amount ?? 0n),
      )
      const taxes = taxShares(bill, kind, sorted)
      const nets = sorted.map(({ amount }, i) => (amount ?? 0n) - (off[i] ?? 0n))
      const known = sorted.map(isProfitKnown)
      return sorted.map(({ service, item, units, price, amount, cost, costs }, i) => ({
        tenant_id: tenant,
        repair_order_id: order.id,
        closed_on: business.closed(order),
        service_id: service.id,
        service_key: key(tenant, order.id, service.id),
        kind,
        line_id: item.id,
        line_key: `${kind}-${key(tenant, order.id, item.id)}`,
        quantity: shownNanos(units),
        price_cents: kind === 'sublet' ? cents(price) : priceOf(price),
        amount_cents: amount ?? 0n,
        discount_cents: off[i] ?? 0n,
        net_cents: nets[i],
        cost_cents: costs ? cost : null,
        price_unknown: amount === null,
        taxable: item.taxable !== false,
        tax_cents: taxes[i],
        net_where_cost_known_cents: costs && cost !== null ? nets[i] : 0n,
        inventory_key: kind === 'part' ? key(tenant, item.part_inventory_id ?? null) : null,
        vendor_id: kind === 'sublet' ? (item.vendor_id ?? null) : null,
        gross_profit_cents: known[i] ? (nets[i] ?? 0n) - (cost ?? 0n) : null,
        net_where_profit_known_cents: known[i] ? nets[i] : 0n,
      }))
    }),
  )
}

function serviceTotals(business: Business): Row[] {
  return business.bills.flatMap(({ order, lines, gross, discount }) => {
    const services = [...list(order, 'services')].sort((a, b) => idOf(a) - idOf(b))
    const grossOf = (service: Fields, kind: Kind): bigint =>
      sum(lines.filter((line) => line.service === service && line.kind === kind).map(({ amount }) => amount))
    const off = (kind: Kind): bigint[] =>
      shares(
        discount[kind],
        gross[kind],
        services.map((service) => grossOf(service, kind)),
      )
    const [laborOff, partsOff] = [off('labor'), off('part')]
    return services.map((service, i) => {
      const own = lines.filter((line) => line.service === service)
      const labors = own.filter(({ kind }) => kind === 'labor')
      const sales = sum(own.map(({ amount }) => amount)) - (laborOff[i] ?? 0n) - (partsOff[i] ?? 0n)
      const cost = sum(own.map((line) => line.cost))
      const isKnown = own.every(isProfitKnown)
      return {
        tenant_id: business.tenant,
        repair_order_id: order.id,
        service_id: service.id,
        service_key: key(business.tenant, order.id, service.id),
        labor_hours: shownNanos(sum(labors.map(({ units }) => units))),
        lines_without_hours: unknowns(labors.map(({ units }) => units)),
        labor_cents: grossOf(service, 'labor'),
        labor_discount_cents: laborOff[i],
        parts_cents: grossOf(service, 'part'),
        parts_discount_cents: partsOff[i],
        sublets_cents: grossOf(service, 'sublet'),
        hazmats_cents: grossOf(service, 'hazmat'),
        sales_cents: sales,
        cost_cents: cost,
        gross_profit_cents: isKnown ? sales - cost : null,
        sales_where_profit_known_cents: isKnown ? sales : 0n,
        completed_on: business.day(order.shop_id, service.completed_at),
        completed_at_local: business.clock(order.shop_id, service.completed_at),
        rated_hours:
          priceOf(service.labor_rate_cents) === null ? 0 : shownNanos(sum(labors.map(({ units }) => units))),
      }
    })
  })
}

function dailySales(business: Business): Row[] {
  const all = business.invoices
  return groups(all, ({ order }) => [order.shop_id, business.closed(order)]).map(([{ order }, bills]) => {
    const known = bills.filter(({ total }) => total !== null)
    const distinct = (name: string): number =>
      new Set(bills.flatMap((bill) => (bill.order[name] === null ? [] : [bill.order[name]]))).size
    return {
      tenant_id: business.tenant,
      shop_id: order.shop_id,
      day: business.closed(order),
      invoices: bills.length,
      cars: distinct('vehicle_id'),
      customers: distinct('customer_id'),
      labor_hours: shownNanos(
        sum(bills.map(({ hours }) => (magnitude(hours) >= unit * unit ? null : hours))),
      ),
      sales_cents: sum(bills.map(({ sales }) => sales)),
      discount_cents: sum(bills.map(({ discount }) => discount.labor + discount.part)),
      supply_fee_cents: sum(bills.map(({ fee }) => fee)),
      tax_cents: sum(bills.map(({ tax }) => tax)),
      total_cents: sum(bills.map(({ total }) => total)),
      invoices_without_total: bills.length - known.length,
      gross_profit_cents: sum(bills.map(({ profit }) => profit)),
      invoices_without_profit: unknowns(bills.map(({ profit }) => profit)),
      paid_cents: sum(bills.map(({ paid }) => paid)),
      paid_where_total_known_cents: sum(known.map(({ paid }) => paid)),
      sales_where_profit_known_cents: sum(bills.map(({ profit, sales }) => (profit === null ? null : sales))),
    }
  })
}

function technicianHours(business: Business): Row[] {
  const labors = business.invoices.flatMap(({ order, lines }) =>
    lines.filter(({ kind }) => kind === 'labor').map((line) => ({ order, line })),
  )
  const technician = ({ item }: Line): unknown => item.technician_id ?? null
  return groups(labors, ({ order, line }) => [order.shop_id, business.closed(order), technician(line)]).map(
    ([{ order, line: first }, own]) => {
      const rated = own.filter(({ line }) => priceOf(line.price) !== null)
      return {
        tenant_id: business.tenant,
        shop_id: order.shop_id,
        day: business.closed(order),
        technician_id: technician(first),
        invoices: new Set(own.map((one) => one.order.id)).size,
        sold_hours: shownNanos(sum(own.map(({ line }) => line.units))),
        rated_hours: shownNanos(sum(rated.map(({ line }) => line.units))),
        labor_cents: sum(own.map(({ line }) => line.amount)),
        hours_unknown: unknowns(own.map(({ line }) => line.units)),
        lines: own.length,
      }
    },
  )
}

function partsMargin(business: Business): Row[] {
  const { tenant } = business
  return business.invoices.flatMap((bill) => {
    const { order, gross, discount } = bill
    const sorted = inOrder(bill, 'part')
    const off = shares(
      discount.part,
      gross.part,
      sorted.map(({ amount }) => amount ?? 0n),
    )
    return sorted.map(({ item, units, price, amount, cost }, i) => {
      const net = amount === null ? 0n : amount - (off[i] ?? 0n)
      const isKnown = amount !== null && cost !== null
      return {
        tenant_id: tenant,
        repair_order_id: order.id,
        day: business.closed(order),
        part_id: item.id,
        part_key: key(tenant, order.id, item.id),
        quantity: shownNanos(units),
        quoted_price_cents: priceOf(price),
        unit_cost_cents: priceOf(item.cost_cents),
        sold_cents: amount ?? 0n,
        cost_cents: cost,
        margin_cents: isKnown ? amount - cost : null,
        net_cents: net,
        net_margin_cents: isKnown ? net - cost : null,
        net_where_margin_known_cents: isKnown ? net : 0n,
        sold_where_margin_known_cents: isKnown ? amount : 0n,
        inventory_key: key(tenant, item.part_inventory_id ?? null),
      }
    })
  })
}

/** What a recommendation would bring. */
export function worthOfRecommendation(one: Fields): bigint | null {
  if (typeof one.quick_price_cents === 'number') return cents(one.quick_price_cents)
  const service = one.service as Fields | null
  return service?.id ? sumOfAll(linesOf([service]).map(({ amount }) => amount)) : null
}

function recommendations(business: Business): Row[] {
  const past = business.records.of('past_recommendations')
  return business.records.of('recommendations').map((one) => {
    const isQuick = typeof one.quick_price_cents === 'number'
    const own = past.filter(({ recommendation_id }) => recommendation_id === one.id)
    const isDone = [one, ...own].some(({ imported, done }) => imported === true || done === true)
    const isApproved = [one, ...own].some(({ approved }) => approved === true)
    const order = business.byOrder.get(Number(one.repair_order_id))?.order
    const isGone = typeof one.repair_order_id === 'number' && order === undefined
    return {
      tenant_id: business.tenant,
      recommendation_id: one.id,
      recommended_on: business.day(order?.shop_id, one.created_at),
      kind: isQuick ? 'quick' : 'service',
      value_cents: worthOfRecommendation(one),
      recommended_at_local: business.clock(order?.shop_id, one.created_at),
      category_id: (one.service as Fields | null)?.category_id ?? null,
      done: isDone,
      is_to_sell: !isDone && !isApproved && !isGone,
      is_approved_unsold: !isDone && isApproved && !isGone,
      order_gone: isGone,
      vehicle_key: key(business.tenant, order?.vehicle_id ?? null),
    }
  })
}

function earlierRecommendations(business: Business): Row[] {
  const original = new Map(business.records.of('recommendations').map((one) => [one.id, one]))
  return business.records.of('past_recommendations').map((one) => {
    const source = original.get(one.recommendation_id)
    const order = business.byOrder.get(Number(source?.repair_order_id))?.order
    const isDone = one.done === true || one.imported === true
    const { approved } = one
    const isSold = isDone || source?.imported === true
    const isApproved = approved === true || source?.approved === true
    const isGone = typeof source?.repair_order_id === 'number' && order === undefined
    return {
      tenant_id: business.tenant,
      past_recommendation_id: one.id,
      recommended_on: business.day(order?.shop_id, source?.created_at),
      unsold_on: business.day(order?.shop_id, one.created_at),
      decided_on: business.day(order?.shop_id, one.approval_at),
      recommended_at_local: business.clock(order?.shop_id, source?.created_at),
      unsold_at_local: business.clock(order?.shop_id, one.created_at),
      decided_at_local: business.clock(order?.shop_id, one.approval_at),
      repair_order_id: source?.repair_order_id ?? null,
      customer_id: order?.customer_id ?? null,
      vehicle_key: key(business.tenant, one.vehicle_id ?? null),
      decision: approved === true ? 'approved' : approved === false ? 'declined' : 'undecided',
      done: isDone,
      is_to_sell: !isSold && !isApproved && !isGone,
      is_approved_unsold: !isSold && isApproved && !isGone,
      order_gone: isGone,
      value_cents: source ? worthOfRecommendation(source) : null,
      category_id: (source?.service as Fields | null | undefined)?.category_id ?? null,
    }
  })
}

const named = (text: unknown): string =>
  typeof text === 'string' && text.trim() !== '' ? text.trim() : '(none)'

/** A payment with its order, and its shop: that of its order, even if that was deleted. */
export function placedPayment(business: Business, payment: Fields) {
  const bill = business.byOrder.get(Number(payment.repair_order_id))
  const deleted = business.records.deletedOrders?.find(({ id }) => id === payment.repair_order_id)
  const shop = (bill?.order ?? deleted)?.shop_id ?? null
  const [day, closed] = [business.day(shop, payment.created_at), bill ? business.closed(bill.order) : null]
  const isDeposit = bill !== undefined && (closed === null || (day !== null && day < closed))
  return { payment, bill, shop, day, closed, isDeposit, amount: cents(payment.amount_cents) }
}

/** An invoice is settled by the payment from which on all that was paid until then, and later, covers its total. */
function paymentsLedger(business: Business): Row[] {
  const all = business.records.of('payments').map((payment) => placedPayment(business, payment))
  // A payment without an order is alone.
  const ofOrder = ({ payment: { repair_order_id: order, id } }: (typeof all)[number]): unknown[] =>
    order === null || order === undefined ? ['alone', id] : [order]
  return groups(all, ofOrder).flatMap(([{ bill }, payments]) => {
    const sorted = payments.toSorted(({ payment: a }, { payment: b }) => {
      const [first, second] = [String(a.created_at), String(b.created_at)]
      return first < second ? -1 : first > second ? 1 : idOf(a) < idOf(b) ? -1 : 1
    })
    const upTo = sorted.map((_, i) => sum(sorted.slice(0, i + 1).map(({ amount }) => amount)))
    const { total = null, order } = bill ?? {}
    const short = total === null ? -1 : upTo.findLastIndex((paid) => paid < total)
    const isShort = total !== null && (short >= 0 || total > 0n)
    const settling = order?.state === 'invoice' && isShort ? short + 1 : -1
    return sorted.map(({ payment, shop, day, closed, isDeposit, amount }, i) => {
      const between =
        day !== null && closed !== null ? (Date.parse(day) - Date.parse(closed)) / 86_400_000 : null
      return {
        tenant_id: business.tenant,
        payment_id: payment.id,
        paid_on: day,
        paid_at_local: business.clock(shop, payment.created_at),
        closed_on: closed,
        shop_id: shop,
        repair_order_id: payment.repair_order_id ?? null,
        state: order?.state ?? null,
        customer_id: order?.customer_id ?? null,
        amount_cents: amount,
        is_refund: amount !== null && amount < 0n,
        is_deposit: isDeposit,
        paid_so_far_cents: upTo[i],
        settled_on: i === settling ? day : null,
        days_to_pay: i === settling && between !== null ? Math.max(0, between) : null,
        order_gone: bill === undefined,
        notes: payment.notes ?? null,
      }
    })
  })
}

function paymentsDaily(business: Business): Row[] {
  const rows = business.records.of('payments').map((payment) => {
    const details = (payment.payment_type_details ?? {}) as Fields
    return { ...placedPayment(business, payment), type: named(details.type), typeName: named(details.name) }
  })
  return groups(rows, ({ shop, day, type, typeName }) => [shop, day, type, typeName]).map(([first, own]) => ({
    tenant_id: business.tenant,
    shop_id: first.shop,
    day: first.day,
    type: first.type,
    type_name: first.typeName,
    payments: own.length,
    amount_cents: sum(own.map(({ amount }) => amount)),
    refunds: own.filter(({ amount }) => amount !== null && amount < 0n).length,
    refund_payments: own.filter(({ amount }) => amount !== null && amount < 0n).length,
    refund_cents: sum(own.map(({ amount }) => (amount !== null && amount < 0n ? amount : 0n))),
    amounts_unknown: unknowns(own.map(({ amount }) => amount)),
    deposit_cents: sum(own.map(({ isDeposit, amount }) => (isDeposit ? amount : 0n))),
    order_gone_cents: sum(own.map(({ bill, amount }) => (bill ? 0n : amount))),
  }))
}

function paymentsCheck(business: Business): Row[] {
  const listed = new Map<number, bigint>()
  for (const { repair_order_id, amount_cents } of business.records.of('payments'))
    listed.set(
      Number(repair_order_id),
      (listed.get(Number(repair_order_id)) ?? 0n) + (cents(amount_cents) ?? 0n),
    )
  const paid = business.bills.filter(
    ({ order }) => list(order, 'payments').length > 0 || listed.has(idOf(order)),
  )
  const difference = ({ order, paid: own }: Bill): bigint => (listed.get(idOf(order)) ?? 0n) - own
  const month = ({ order }: Bill): string | null => business.closed(order)?.slice(0, 7) ?? null
  return groups(paid, (bill) => [bill.order.shop_id, month(bill)]).map(([first, own]) => {
    const differ = own.filter((bill) => difference(bill) !== 0n)
    return {
      tenant_id: business.tenant,
      shop_id: first.order.shop_id,
      month: month(first),
      orders: own.length,
      equal: own.length - differ.length,
      differ: differ.length,
      difference_cents: sum(differ.map(difference)),
    }
  })
}

/** The earliest and the latest of them. */
const first = (days: readonly (string | null)[]): string | null =>
  days.filter((day) => day !== null).sort()[0] ?? null
const last = (days: readonly (string | null)[]): string | null =>
  days
    .filter((day) => day !== null)
    .sort()
    .at(-1) ?? null

/** Days since a shop closed its first invoice. */
function daysOpen(business: Business, shop: unknown): number {
  const ages = business.invoices
    .filter(({ order }) => order.shop_id === shop)
    .map(({ order }) => business.age(order) ?? 0)
  return Math.max(-1, ...ages)
}

function inventoryValue(business: Business): Row[] {
  const takenFrom = (item: Fields): (string | null)[] =>
    business.invoices.flatMap(({ order, lines }) =>
      lines
        .filter((line) => line.item.part_inventory_id === item.id && (line.units ?? 0n) > 0n)
        .map(() => business.closed(order)),
    )
  const sold = business.invoices
    .filter(({ order }) => (business.age(order) ?? 1000) <= 365)
    .flatMap(({ lines }) => lines.filter(({ kind }) => kind === 'part'))
  return business.records.of('inventories').map((item) => {
    const [onHand, ordered, least] = [
      unitsOf(item.quantity_on_hand),
      unitsOf(item.quantity_ordered_for_stock),
      unitsOf(item.min_stock),
    ]
    const value = worth(onHand, item.cost_cents)
    const own = sold.filter((line) => line.item.part_inventory_id === item.id)
    const cost = sum(own.map((line) => line.cost))
    const isNew = daysOpen(business, item.shop_id ?? null) < 60
    return {
      tenant_id: business.tenant,
      inventory_id: item.id,
      quantity_on_hand: shownNanos(onHand),
      min_stock: shownNanos(least),
      max_stock: shownNanos(unitsOf(item.max_stock)),
      quantity_ordered_for_stock: shownNanos(ordered),
      units_short:
        onHand === null || ordered === null || least === null
          ? null
          : shownNanos(least > onHand + ordered ? least - onHand - ordered : 0n),
      on_hand_cents: value,
      below_min: onHand === null || ordered === null || least === null ? null : onHand + ordered < least,
      sold_12_months: shownNanos(sum(own.map(({ units }) => units))),
      sold_unknown: unknowns(own.map(({ units }) => units)),
      sold_without_cost: unknowns(own.map((line) => line.cost)),
      sold_cost_cents: cost,
      last_sold_on: last(takenFrom(item)),
      shop_is_new: isNew,
      created_on: business.day(item.shop_id, item.created_at),
      turns: value === null || value <= 0n || isNew ? null : Number(divided(100n * cost, value)) / 100,
    }
  })
}

function purchases(business: Business): Row[] {
  return business.records.of('purchase_records').flatMap((record) =>
    list(record, 'line_items').map((item, position) => {
      const plain = unitsOf(item.quantity)
      const units = plain === null || record.is_return !== true ? plain : -magnitude(plain)
      return {
        tenant_id: business.tenant,
        purchase_record_id: record.id,
        position,
        day: business.day(record.shop_id, record.created_at),
        quantity: shownNanos(units),
        amount_cents: worth(units, item.cost_cents),
        inventory_key: key(business.tenant, item.inventory_id ?? null),
        entered_at_local: business.clock(record.shop_id, record.created_at),
      }
    }),
  )
}

function receivables(business: Business): Row[] {
  return business.invoices
    .filter(({ balance }) => balance !== 0n)
    .map(({ order, total, sales, paid, balance, fee, taxes }) => {
      const due = balance ?? sales + (fee ?? 0n) + sum(taxes) - paid
      const days = business.age(order)
      return {
        tenant_id: business.tenant,
        repair_order_id: order.id,
        total_cents: total,
        sales_cents: sales,
        paid_cents: paid,
        balance_cents: balance,
        at_least_due_cents: due > 0n ? due : 0n,
        is_owed: due > 0n,
        days,
        bucket:
          days === null
            ? null
            : days <= 30
              ? '0 to 30'
              : days <= 60
                ? '31 to 60'
                : days <= 90
                  ? '61 to 90'
                  : 'over 90',
      }
    })
}

function totalsCheck(business: Business): Row[] {
  const month = ({ order }: Bill): string | null => business.closed(order)?.slice(0, 7) ?? null
  return groups(business.invoices, (bill) => [bill.order.shop_id, month(bill)]).map(([first, bills]) => {
    const which = ({ total, paid, balance }: Bill): string => {
      if (total === null || balance === null) return 'total_unknown'
      if (paid === 0n && total !== 0n) return 'unpaid'
      if (balance === 0n) return 'equal_to_the_cent'
      return magnitude(balance) <= 5n ? 'off_by_rounding' : 'off_by_more'
    }
    const names = ['unpaid', 'total_unknown', 'equal_to_the_cent', 'off_by_rounding', 'off_by_more']
    return {
      tenant_id: business.tenant,
      shop_id: first.order.shop_id,
      month: month(first),
      invoices: bills.length,
      ...Object.fromEntries(names.map((name) => [name, bills.filter((bill) => which(bill) === name).length])),
    }
  })
}

const inspections = (business: Business): Row[] =>
  business.bills.flatMap(({ order }) =>
    list(order, 'services').flatMap((service) =>
      list(service, 'inspections').map((one) => ({
        tenant_id: business.tenant,
        repair_order_id: order.id,
        closed_on: business.closed(order),
        service_id: service.id,
        inspection_id: one.id,
        name: one.name ?? null,
        result: one.state ?? null,
        inspected_on: business.day(order.shop_id, one.updated_at),
        inspected_at_local: business.clock(order.shop_id, one.updated_at),
      })),
    ),
  )

const handovers = (business: Business): Row[] =>
  business.records.of('assignments').map((one) => {
    const order = business.byOrder.get(Number(one.repair_order_id))?.order
    const when = (instant: unknown): string | null => business.clock(order?.shop_id, instant)
    return {
      tenant_id: business.tenant,
      assignment_id: one.id,
      day: business.day(order?.shop_id, one.created_at),
      from_staff_id: one.transfer_from_id ?? null,
      to_staff_id: one.transfer_to_id ?? null,
      created_at_local: when(one.created_at),
      accepted_at_local: when(one.accepted_at),
      cancelled_at_local: when(one.cancelled_at),
      outcome: one.cancelled_at ? 'cancelled' : one.accepted_at ? 'accepted' : 'open',
    }
  })

/** Parts of open orders, and what is known of their stock items. */
function partsOnOrder(business: Business): Row[] {
  const items = new Map(business.records.of('inventories').map((item) => [item.id, item]))
  const bought = business.records
    .of('purchase_records')
    .filter(({ is_return }) => is_return !== true)
    .flatMap((record) => list(record, 'line_items').map((item) => ({ at: record.created_at, item })))
  return business.bills
    .filter(({ order }) => order.state !== 'invoice')
    .flatMap(({ order, lines }) =>
      lines
        .filter(({ kind }) => kind === 'part')
        .map(({ service, item: part, units }) => {
          const inventory = part.part_inventory_id ?? null
          const item = items.get(inventory)
          const since = bought.filter(
            (one) =>
              one.item.inventory_id === inventory &&
              Date.parse(String(one.at)) >= Date.parse(String(order.created_at)),
          )
          const shown = (name: string): number | null => shownNanos(unitsOf(item?.[name]))
          return {
            tenant_id: business.tenant,
            shop_id: order.shop_id,
            created_on: business.day(order.shop_id, order.created_at),
            repair_order_key: key(business.tenant, order.id),
            service_key: key(business.tenant, order.id, service.id),
            part_key: key(business.tenant, order.id, part.id),
            number: order.number ?? null,
            part_number: part.number ?? null,
            is_estimate: order.state === 'estimate',
            inventory_key: key(business.tenant, inventory),
            vendor_key: key(business.tenant, item?.primary_vendor_id ?? null),
            quantity: shownNanos(units),
            needed: shown('quantity_needed'),
            ordered: shown('quantity_ordered'),
            received:
              inventory === null ? null : shownNanos(sum(since.map((one) => unitsOf(one.item.quantity)))),
            returned: shown('quantity_returned'),
            allocated: shown('quantity_in_progress'),
            on_hand: shown('quantity_on_hand'),
          }
        }),
    )
}

function cannedJobHours(business: Business): Row[] {
  const sold = business.invoices.flatMap(({ order, lines }) =>
    list(order, 'services').map((service) => ({
      service,
      hours: lines
        .filter((line) => line.service === service && line.kind === 'labor')
        .map(({ units }) => units),
    })),
  )
  return business.records.of('canned_jobs').map((job) => {
    const planned = list(job, 'labors').map(({ hours }) => hoursOf(hours))
    const own = sold.filter(({ service }) => service.canned_job_id === job.id)
    const hours = own.flatMap((one) => one.hours)
    return {
      tenant_id: business.tenant,
      canned_job_key: key(business.tenant, job.id),
      shop_key: key(business.tenant, job.shop_id ?? null),
      book_hours: shownNanos(sum(planned)),
      times_sold: own.length,
      hours_sold: shownNanos(sum(hours)),
      book_lines_without_hours: unknowns(planned),
      lines_without_hours: unknowns(hours),
    }
  })
}

function customerValue(business: Business): Row[] {
  return business.records.of('customers').map(({ id }) => {
    const own = business.invoices.filter(({ order }) => order.customer_id === id)
    const days = [...new Set(own.map(({ order }) => business.closed(order)))]
      .filter((day) => day !== null)
      .sort()
    return {
      tenant_id: business.tenant,
      customer_id: id,
      visits: days.length,
      invoices: own.length,
      first_visit_on: days.at(0) ?? null,
      second_visit_on: days.at(1) ?? null,
      last_visit_on: days.at(-1) ?? null,
      sales_cents: sum(own.map(({ sales }) => sales)),
    }
  })
}

/** What happened to an appointment's order, in its own shop's days. */
function orderOf(business: Business, appointment: Fields): Row {
  const order = business.byOrder.get(Number(appointment.repair_order_id))?.order
  const { shop_id, created_at, started_at } = order ?? {}
  const isOver = Date.parse(String(appointment.start_at)) <= Date.now()
  const open = isOver ? 'work not begun' : 'to come'
  const outcome = order === undefined ? 'order gone' : started_at ? 'came' : open
  return {
    outcome: typeof appointment.repair_order_id === 'number' ? outcome : 'no order',
    order_created_on: business.day(shop_id, created_at),
    work_begun_on: business.day(shop_id, started_at),
  }
}

const appointmentLoad = (business: Business): Row[] =>
  business.records.of('appointments').map((one) => ({
    tenant_id: business.tenant,
    appointment_id: one.id,
    day: business.day(one.shop_id, one.start_at),
    start_at_local: business.clock(one.shop_id, one.start_at),
    created_on: business.day(one.shop_id, one.created_at),
    created_at_local: business.clock(one.shop_id, one.created_at),
    ...orderOf(business, one),
  }))

const cardAttempts = (business: Business): Row[] =>
  business.records.of('payment_transactions').map((one) => {
    const shop = business.byOrder.get(Number(one.repair_order_id))?.order.shop_id
    return {
      tenant_id: business.tenant,
      payment_transaction_id: one.id,
      day: business.day(shop, one.created_at),
      attempted_at_local: business.clock(shop, one.created_at),
      failed: one.status !== 'approved',
    }
  })

/** The exempt part of an order: null if it is unknown whether it is taxable. */
export function exemptOf(bill: Bill): bigint | null {
  if (bill.order.taxable === false) return bill.sales
  if (bill.order.taxable !== true) return null
  return sum(
    kinds.flatMap((kind) => {
      const sorted = inOrder(bill, kind)
      const amounts = sorted.map(({ amount }) => amount ?? 0n)
      const off = shares(bill.discount[kind], bill.gross[kind], amounts)
      return sorted.map(({ item }, i) => (item.taxable === false ? (amounts[i] ?? 0n) - (off[i] ?? 0n) : 0n))
    }),
  )
}

/** What is taxed at a rate other than 0, with the supply fee if parts are: null if it is unknown. */
export function taxableOf(bill: Bill): bigint | null {
  const { order, gross, discount, fee } = bill
  if (order.taxable === false) return 0n
  if (order.taxable !== true) return null
  const ofKinds = kinds.map((kind) => {
    const rate = nanos(order[`${kind}_tax_rate`])
    if (rate === 0n) return 0n
    const sorted = inOrder(bill, kind)
    const amounts = sorted.map(({ amount }) => amount ?? 0n)
    const off = shares(discount[kind], gross[kind], amounts)
    const exempt = sum(
      sorted.map(({ item }, i) => (item.taxable === false ? (amounts[i] ?? 0n) - (off[i] ?? 0n) : 0n)),
    )
    if (kind === 'part' && fee === null) return null
    const taxed = gross[kind] - discount[kind] - exempt + (kind === 'part' ? (fee ?? 0n) : 0n)
    return rate === null && taxed !== 0n ? null : taxed
  })
  return sumOfAll(ofKinds)
}

export function untaxedOf(bill: Bill): bigint | null {
  const taxed = taxableOf(bill)
  return taxed === null || bill.fee === null ? null : bill.sales + bill.fee - taxed
}

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

const inspected = (order: Fields): readonly Fields[] =>
  list(order, 'services').flatMap((service) => list(service, 'inspections'))

function orders(business: Business): Row[] {
  /** The tax of parts that isn't on any part. */
  const feeTax = (bill: Bill): bigint | null => {
    const [, tax] = bill.taxes
    if (tax === undefined || tax === null) return null
    const sorted = inOrder(bill, 'part')
    return tax - sum(taxShares(bill, 'part', sorted))
  }
  return business.bills.map(({ order, lines, gross, discount, hours, taxes, ...bill }) => ({
    tenant_id: business.tenant,
    repair_order_id: order.id,
    closed_on: business.closed(order),
    labor_hours: shownNanos(hours),
    labor_cents: gross.labor,
    labor_discount_cents: discount.labor,
    parts_cents: gross.part,
    parts_discount_cents: discount.part,
    sublets_cents: gross.sublet,
    hazmats_cents: gross.hazmat,
    sales_cents: bill.sales,
    supply_fee_cents: bill.fee,
    labor_tax_cents: taxes[0],
    parts_tax_cents: taxes[1],
    sublets_tax_cents: taxes[2],
    hazmats_tax_cents: taxes[3],
    tax_cents: bill.tax,
    total_cents: bill.total,
    gross_profit_cents: bill.profit,
    paid_cents: bill.paid,
    balance_cents: bill.balance,
    lines_without_price: unknowns(lines.map(({ amount }) => amount)),
    lines_without_cost: unknowns(lines.filter(({ costs }) => costs).map(({ cost }) => cost)),
    taxable: order.taxable ?? null,
    supply_fee_tax_cents: feeTax({ order, lines, gross, discount, hours, taxes, ...bill }),
    unshared_discount_cents: sum(kinds.map((kind) => (gross[kind] === 0n ? discount[kind] : 0n))),
    created_at_local: business.clock(order.shop_id, order.created_at),
    closed_at_local: business.clock(order.shop_id, order.closed_at),
    closed_hour: hourOf(business.clock(order.shop_id, order.closed_at)),
    exempt_sales_cents: exemptOf({ order, lines, gross, discount, hours, taxes, ...bill }),
    is_first_visit: isFirstVisit(business, order),
    taxable_sales_cents: taxableOf({ order, lines, gross, discount, hours, taxes, ...bill }),
    untaxed_sales_cents: untaxedOf({ order, lines, gross, discount, hours, taxes, ...bill }),
    started_at_local: business.clock(order.shop_id, order.started_at),
    picked_up_at_local: business.clock(order.shop_id, order.picked_up_at),
    due_in_on: business.day(order.shop_id, order.due_in_at),
    due_in_at_local: business.clock(order.shop_id, order.due_in_at),
    due_out_on: business.day(order.shop_id, order.due_out_at),
    due_out_at_local: business.clock(order.shop_id, order.due_out_at),
    odometer: order.odometer ?? null,
    odometer_out: order.odometer_out ?? null,
    updated_at_local: business.clock(order.shop_id, order.updated_at),
    sales_where_profit_known_cents: bill.profit === null ? 0n : bill.sales,
    minutes_to_close: minutesFrom(order.created_at, order.closed_at),
    ...Object.fromEntries(
      ['red', 'yellow', 'green'].map((color) => [
        `inspections_${color}`,
        inspected(order).filter(({ state }) => state === color).length,
      ]),
    ),
    ...Object.fromEntries(kinds.map((kind) => [`${kind}_tax_rate`, order[`${kind}_tax_rate`] ?? null])),
  }))
}

function workInProgress(business: Business): Row[] {
  return business.bills
    .filter(({ order }) => order.state !== 'invoice')
    .map(({ order, sales }) => ({
      tenant_id: business.tenant,
      repair_order_id: order.id,
      sales_cents: sales,
      created_at_local: business.clock(order.shop_id, order.created_at),
      started_at_local: business.clock(order.shop_id, order.started_at),
      due_out_on: business.day(order.shop_id, order.due_out_at),
      due_out_at_local: business.clock(order.shop_id, order.due_out_at),
      is_estimate: order.started_at === null || order.started_at === undefined,
    }))
}

/** Only shops that have sold something: the others are in the dimension because something refers to them. */
function shops(business: Business): Row[] {
  return groups(business.invoices, ({ order }) => [order.shop_id]).map(([{ order }, bills]) => ({
    tenant_id: business.tenant,
    shop_id: order.shop_id,
    first_day: first(bills.map((bill) => business.closed(bill.order))),
    is_revoked: false,
  }))
}

const tenants = (business: Business): Row[] => [
  {
    tenant_id: business.tenant,
    first_day: first(business.invoices.map(({ order }) => business.closed(order))),
    is_revoked: false,
  },
]

const views: Readonly<Record<string, (business: Business) => Row[]>> = {
  orders,
  order_lines: orderLines,
  service_totals: serviceTotals,
  daily_sales: dailySales,
  technician_hours: technicianHours,
  parts_margin: partsMargin,
  parts_on_order: partsOnOrder,
  canned_job_hours: cannedJobHours,
  customer_value: customerValue,
  recommendation_conversion: recommendations,
  earlier_recommendations: earlierRecommendations,
  payments_daily: paymentsDaily,
  payments_check: paymentsCheck,
  payments_ledger: paymentsLedger,
  inspections,
  handovers,
  appointment_load: appointmentLoad,
  card_attempts: cardAttempts,
  inventory_value: inventoryValue,
  purchases,
  receivables,
  totals_check: totalsCheck,
  work_in_progress: workInProgress,
  dim_shops: shops,
  dim_tenants: tenants,
}

export const checkedViews = Object.keys(views)

/** The rows of a view for all tenants, with the columns that are checked. */
export function expectedRows(view: string, world: World): Row[] {
  const rows = views[view]
  if (!rows) throw new Error(`no oracle of ${view}`)
  return world.tenants.flatMap((records) => rows(new Business(records, world)))
}
