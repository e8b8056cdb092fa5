/**
 * The totals of orders again, in SQL: written from docs/totals.md and not from the rule, in integers that both
 * databases compute the same way. Percentages and rates must have at most four decimals, so that products fit 64 bits.
 * It can't handle orders with absurd values or with something in quarantine.
 */
import { sql } from 'kysely'
import type { Warehouse } from '../support/harness/warehouse.js'

/** A quotient rounded half away from zero. */
const rounded = (top: string, bottom: string): string =>
  `(case when (${top}) >= 0 then 1 else -1 end * case when (${bottom}) >= 0 then 1 else -1 end * ((2 * abs(${top}) + abs(${bottom})) / (2 * abs(${bottom}))))`

const nano = 1_000_000_000
/** Decimals of percentages and rates. */
const fine = 10_000
const nanosOf = (column: string): string => `cast(round(${column} * ${nano}) as bigint)`
const finely = (column: string): string => `cast(round(${column} * ${fine}) as bigint)`

/**
 * One line for each labor, part, sublet and hazmat: its kind, amount, whether it is taxable, its cost, its position.
 */
const lines = `
  select l.tenant_id, l.repair_order_id, 'labor' as kind,
    case when l.hours is null then null when ${nanosOf('l.hours')} = 0 then 0
      when s.labor_rate_cents is null then null else ${rounded(`${nanosOf('l.hours')} * s.labor_rate_cents`, String(nano))} end as amount,
    l.taxable, 0 as cost, 0 as no_cost,
    coalesce(${nanosOf('l.hours')}, 0) as hours,
    case when s.labor_rate_cents is null then 0 else coalesce(${nanosOf('l.hours')}, 0) end as rated, l.service_id, l.id
  from repair_order_labors l left join repair_order_services s on s.tenant_id = l.tenant_id and s.repair_order_id = l.repair_order_id and s.id = l.service_id
  union all
  select tenant_id, repair_order_id, 'part',
    case when quantity is null then null when ${nanosOf('quantity')} = 0 then 0
      when quoted_price_cents is null then null else ${rounded(`${nanosOf('quantity')} * quoted_price_cents`, String(nano))} end,
    taxable,
    case when quantity is null or (cost_cents is null and ${nanosOf('quantity')} <> 0) then 0
      when ${nanosOf('quantity')} = 0 then 0 else ${rounded(`${nanosOf('quantity')} * cost_cents`, String(nano))} end,
    case when quantity is null or (cost_cents is null and ${nanosOf('quantity')} <> 0) then 1 else 0 end, 0, 0, service_id, id
  from repair_order_parts
  union all
  select tenant_id, repair_order_id, 'sublet', price_cents, taxable, coalesce(cost_cents, 0),
    case when cost_cents is null then 1 else 0 end, 0, 0, service_id, id
  from repair_order_sublets
  union all
  select tenant_id, repair_order_id, 'hazmat',
    case when quantity is null then null when ${nanosOf('quantity')} = 0 then 0
      when fee_cents is null then null else ${rounded(`${nanosOf('quantity')} * fee_cents`, String(nano))} end,
    taxable, 0, 0, 0, 0, service_id, id
  from repair_order_hazmats`

const kinds = ['labor', 'part', 'sublet', 'hazmat'] as const
const summed = kinds.flatMap((kind) => [
  `coalesce(sum(case when kind = '${kind}' then amount end), 0) as ${kind}_gross`,
  `coalesce(sum(case when kind = '${kind}' and coalesce(l.taxable, yes) = yes then amount end), 0) as ${kind}_taxable`,
  `coalesce(sum(case when kind = '${kind}' and coalesce(l.taxable, yes) = yes and amount is null then 1 else 0 end), 0) as ${kind}_open`,
])

/** The tax of one kind: on its taxable lines minus their share of the discount, and on anything else that is taxed. */
function tax(kind: (typeof kinds)[number], discount: string, besides: string): string {
  const gross = `${kind}_gross`
  const rate = `${kind}_tax_rate`
  const top = `case when ${gross} = 0 then ${besides} else ${kind}_taxable * (${gross} - ${discount}) + ${besides} * ${gross} end`
  const bottom = `case when ${gross} = 0 then 1 else ${gross} end`
  const exact = rounded(`(${top}) * ${finely(rate)}`, `(${bottom}) * ${100 * fine}`)
  return `case when taxable = no then 0 when taxable is null or ${besides} is null or ${kind}_open > 0 then null
    when (${top}) = 0 then 0 when ${rate} is null then null else ${exact} end`
}

/** A discount above 0 takes its gross at most. */
function discount(kind: string): string {
  const gross = `${kind}_gross`
  const percentage = rounded(`${gross} * ${finely(`${kind}_discount_percentage`)}`, String(100 * fine))
  const sent = `coalesce(${kind}_discount_cents, case when ${kind}_discount_percentage is not null then ${percentage} end, 0)`
  return `case when ${sent} <= 0 or ${sent} <= ${gross} then ${sent} when ${gross} > 0 then ${gross} else 0 end`
}

/** The part of a discount that no line gets. */
const unshared = (kind: string): string => `case when ${kind}_gross = 0 then ${kind}_discount else 0 end`

/** The tax on the first taxable lines of a kind, up to this amount; nothing if nothing is taxed. */
function taxUpTo(kind: (typeof kinds)[number], upTo: string): string {
  const discounted = kind === 'labor' || kind === 'part' ? `${kind}_discount` : '0'
  const exact = rounded(
    `(${upTo}) * (${kind}_gross - ${discounted}) * ${finely(`${kind}_tax_rate`)}`,
    `${kind}_gross * ${100 * fine}`,
  )
  return `(case when taxable = no or ${kind}_gross = 0 or ${kind}_tax_rate is null then 0 else ${exact} end)`
}

const begins = `
with flags as (select YES as yes, NO as no),
line as (${lines}),
bill as (
  select o.tenant_id, o.id, ${summed.map(asWhole).join(', ')},
    ${asWhole('coalesce(sum(hours), 0) as hours')}, ${asWhole('coalesce(sum(rated), 0) as rated')},
    ${asWhole("coalesce(sum(case when kind = 'part' then cost end), 0) as parts_cost")},
    ${asWhole("coalesce(sum(case when kind = 'sublet' then cost end), 0) as sublets_cost")},
    ${asWhole('coalesce(sum(no_cost), 0) as without_cost')},
    ${asWhole('coalesce(sum(case when kind is not null and amount is null then 1 else 0 end), 0) as without_price')}
  from repair_orders o cross join flags left join line l on l.tenant_id = o.tenant_id and l.repair_order_id = o.id
  group by o.tenant_id, o.id
),
paid as (
  select tenant_id, repair_order_id, count(*) as payments, ${asWhole('coalesce(sum(amount_cents), 0) as paid')}
  from repair_order_payments group by tenant_id, repair_order_id
),
discounted as (
  select b.*, yes, no, o.taxable, o.supply_fee_cents, o.labor_tax_rate, o.part_tax_rate, o.sublet_tax_rate, o.hazmat_tax_rate,
    coalesce(p.payments, 0) as payments, coalesce(p.paid, 0) as paid,
    ${discount('labor')} as labor_discount, ${discount('part')} as part_discount
  from bill b cross join flags join repair_orders o on o.tenant_id = b.tenant_id and o.id = b.id
  left join paid p on p.tenant_id = o.tenant_id and p.repair_order_id = o.id
),
taxed as (
  select d.*, ${tax('labor', 'labor_discount', '0')} as labor_tax, ${tax('part', 'part_discount', 'supply_fee_cents')} as part_tax,
    ${tax('sublet', '0', '0')} as sublet_tax, ${tax('hazmat', '0', '0')} as hazmat_tax,
    labor_gross - labor_discount + part_gross - part_discount + sublet_gross + hazmat_gross as sales
  from discounted d
),
whole as (
  select t.*, labor_tax + part_tax + sublet_tax + hazmat_tax as tax,
    case when without_price = 0 then sales + supply_fee_cents + labor_tax + part_tax + sublet_tax + hazmat_tax end as total
  from taxed t
)`

const text = `${begins}
select tenant_id, id as repair_order_id, hours, rated, labor_gross as labor_cents, labor_discount as labor_discount_cents,
  part_gross as parts_cents, part_discount as parts_discount_cents, sublet_gross as sublets_cents,
  hazmat_gross as hazmats_cents, sales as sales_cents, supply_fee_cents, labor_tax as labor_tax_cents,
  part_tax as parts_tax_cents, sublet_tax as sublets_tax_cents, hazmat_tax as hazmats_tax_cents, tax as tax_cents,
  total as total_cents, parts_cost as parts_cost_cents, sublets_cost as sublets_cost_cents,
  case when without_price + without_cost = 0 then sales - parts_cost - sublets_cost end as gross_profit_cents,
  paid as paid_cents, payments, total - paid as balance_cents, without_price as lines_without_price,
  without_cost as lines_without_cost,
  case when part_tax is not null then part_tax - ${taxUpTo('part', 'part_taxable')} end as supply_fee_tax_cents,
  ${unshared('labor')} + ${unshared('part')} as unshared_discount_cents
from whole order by tenant_id, id`

/** The shares of one kind of line: the share of all lines up to each one, minus the share of those before it. */
function sharesOf(kind: (typeof kinds)[number]): string {
  const off = kind === 'labor' || kind === 'part' ? `${kind}_discount` : undefined
  const share = (upTo: string): string => rounded(`${off} * (${upTo})`, `${kind}_gross`)
  const [up, taxed] = ['coalesce(amount, 0)', `case when line_taxable then coalesce(amount, 0) else 0 end`]
  return `select tenant_id, repair_order_id, kind, line_id, amount as _amount_cents,
    case when amount is null then null when ${off ?? '0'} = 0 or ${kind}_gross = 0 then 0
      else ${off ? `${share('up_to')} - ${share(`up_to - ${up}`)}` : '0'} end as _discount_cents,
    case when amount is not null and ${kind}_tax is not null
      then ${taxUpTo(kind, 'taxable_up_to')} - ${taxUpTo(kind, `taxable_up_to - (${taxed})`)} end as _tax_cents,
    case when kind in ('part', 'sublet') and no_cost = 0 then cost end as _cost_cents
  from placed where kind = '${kind}'`
}

const linesText = `${begins},
placed as (
  select w.*, l.kind, l.repair_order_id, l.id as line_id, l.amount, l.cost, l.no_cost, coalesce(l.taxable, yes) = yes as line_taxable,
    ${asWhole(`sum(coalesce(l.amount, 0)) over (partition by l.tenant_id, l.repair_order_id, l.kind order by l.service_id, l.id) as up_to`)},
    ${asWhole(`sum(case when coalesce(l.taxable, yes) = yes then coalesce(l.amount, 0) else 0 end) over (partition by l.tenant_id, l.repair_order_id, l.kind order by l.service_id, l.id) as taxable_up_to`)}
  from whole w join line l on l.tenant_id = w.tenant_id and l.repair_order_id = w.id
)
${kinds.map(sharesOf).join('\nunion all\n')}
order by 1, 2, 3, 4`

/** A sum as an integer: Postgres returns numerics for sums. */
function asWhole(term: string): string {
  const [value, name] = term.split(/ as (?=\w+$)/)
  return `cast(${value} as bigint) as ${name}`
}

/** The columns that the oracle computes; hours as whole billionths. */
export const totalsBySql = (warehouse: Warehouse): Promise<Record<string, unknown>[]> =>
  answer(warehouse, text)

/** What each line adds to its order, ordered by tenant, order, kind and id. */
export const netsBySql = (warehouse: Warehouse): Promise<Record<string, unknown>[]> =>
  answer(warehouse, linesText)

async function answer(warehouse: Warehouse, text: string): Promise<Record<string, unknown>[]> {
  const [yes, no] = warehouse.dialect.sql.numbers === 'double' ? ['1', '0'] : ['true', 'false']
  const query = sql.raw<Record<string, unknown>>(text.replace('YES', yes).replace('NO', no))
  const { rows } = await warehouse.dialect.transaction(async (session) => {
    const [, schema] =
      /from ("[^"]+")\."repair_orders"/.exec(
        warehouse.db.selectFrom('repair_orders').select('id').compile().sql,
      ) ?? []
    if (schema) await session.run(sql.raw(`set local search_path to ${schema}`).compile(warehouse.db))
    return session.run(query.compile(warehouse.db))
  })
  return rows.map((row) => ({ ...row }))
}

/** A figure over the lines of one kind of the service `s`. */
const ofService = (table: string, figure: string): string =>
  `(select ${figure} from TABLE_${table} l where l.tenant_id = s.tenant_id and l.repair_order_id = s.repair_order_id and l.service_id = s.id)`

/** From docs/totals.md. */
const absurdHours = 100_000

const lacking = (...amounts: readonly string[]): string =>
  amounts.map((amount) => `count(*) - count(${amount})`).join(' + ')

/**
 * The totals of each service, by the definition that `service_totals` had before services stored them: a subquery over
 * the lines for each figure. It reads the stored nets of lines, which have their own oracle.
 */
export async function servicesBySql(warehouse: Warehouse): Promise<Record<string, unknown>[]> {
  const { table, sumNine, nine: whole } = warehouse.dialect.views().sql
  const nine = ofService('labors', sumNine('l.hours', absurdHours))
  const summed = (kind: string, amount: string): string => ofService(kind, `coalesce(sum(${amount}), 0)`)
  const sums = {
    _labor_cents: summed('labors', 'l._amount_cents'),
    _labor_discount_cents: summed('labors', 'l._discount_cents'),
    _parts_cents: summed('parts', 'l._amount_cents'),
    _parts_discount_cents: summed('parts', 'l._discount_cents'),
    _sublets_cents: summed('sublets', 'l._amount_cents'),
    _hazmats_cents: summed('hazmats', 'l._amount_cents'),
    _cost_cents: `${summed('parts', 'l._cost_cents')} + ${summed('sublets', 'l._cost_cents')}`,
    unknown: [
      ofService('labors', lacking('l._amount_cents')),
      ofService('parts', lacking('l._amount_cents', 'l._cost_cents')),
      ofService('sublets', lacking('l._amount_cents', 'l._cost_cents')),
      ofService('hazmats', lacking('l._amount_cents')),
    ].join(' + '),
    _hours_unknown: ofService('labors', lacking(whole('l.hours', absurdHours))),
  }
  const sales =
    '_labor_cents - _labor_discount_cents + _parts_cents - _parts_discount_cents + _sublets_cents + _hazmats_cents'
  const names = Object.keys(sums).filter((name) => name !== 'unknown')
  const text = `select tenant_id, repair_order_id, id,
      cast(case when abs(nine) < 1000000000000000000 then nine end as bigint) as _labor_nine, ${names.join(', ')},
      case when unknown = 0 then ${sales} - _cost_cents end as _gross_profit_cents
    from (select s.tenant_id, s.repair_order_id, s.id, ${nine} as nine, ${Object.entries(sums)
      .map(([name, sum]) => `cast(${sum} as bigint) as ${name}`)
      .join(', ')} from TABLE_services s) x
    order by 1, 2, 3`
  const named = text.replaceAll(/TABLE_(\w+)/g, (_, kind: string) => table(`repair_order_${kind}`))
  const { rows } = await sql.raw<Record<string, unknown>>(named).execute(warehouse.db)
  const plain = (value: unknown): unknown => (typeof value === 'bigint' ? String(value) : value)
  return rows.map((row) =>
    Object.fromEntries(Object.entries(row).map(([name, value]) => [name, plain(value)])),
  )
}
