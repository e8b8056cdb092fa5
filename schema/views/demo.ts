/** Queries that the demo runs on the warehouse it has filled, in SQLite's SQL: joins that count nothing twice. */
export interface ExampleQuery {
  readonly title: string
  /** What the query's numbers mean, and what they do not. */
  readonly note: string
  readonly sql: string
  readonly columns: readonly {
    readonly name: string
    readonly title: string
    readonly kind: 'text' | 'count' | 'money' | 'hours' | 'percent'
  }[]
}

const revenue: ExampleQuery = {
  title: 'Revenue by month',
  note: 'Invoices by the month in which they were closed. Before discounts, supply fees and tax.',
  sql: `
with line as (
  select l.tenant_id, l.repair_order_id, 'labor' as kind, l.hours * s.labor_rate_cents as cents
    from repair_order_labors l
    join repair_order_services s on s.tenant_id = l.tenant_id and s.id = l.service_id
  union all
  select tenant_id, repair_order_id, 'parts', quantity * quoted_price_cents from repair_order_parts
  union all
  select tenant_id, repair_order_id, 'sublets', price_cents from repair_order_sublets
  union all
  select tenant_id, repair_order_id, 'hazmats', quantity * fee_cents from repair_order_hazmats
)
select substr(o.closed_at, 1, 7) as month,
       count(distinct o.tenant_id || '/' || o.id) as invoices,
       round(sum(case when kind = 'labor' then cents else 0 end)) as labor,
       round(sum(case when kind = 'parts' then cents else 0 end)) as parts,
       round(sum(case when kind = 'sublets' then cents else 0 end)) as sublets,
       round(sum(case when kind = 'hazmats' then cents else 0 end)) as hazmats,
       round(sum(coalesce(cents, 0))) as total
  from repair_orders o
  left join line on line.tenant_id = o.tenant_id and line.repair_order_id = o.id
 where o.state = 'invoice' and o._deleted_at is null
 group by month
 order by month desc
 limit 12`,
  columns: [
    { name: 'month', title: 'month', kind: 'text' },
    { name: 'invoices', title: 'invoices', kind: 'count' },
    { name: 'labor', title: 'labor $', kind: 'money' },
    { name: 'parts', title: 'parts $', kind: 'money' },
    { name: 'sublets', title: 'sublets $', kind: 'money' },
    { name: 'hazmats', title: 'hazmats $', kind: 'money' },
    { name: 'total', title: 'total $', kind: 'money' },
  ],
}

const hours: ExampleQuery = {
  title: "Technicians' hours",
  note: 'Hours sold on invoices that were closed in the last 90 days of the data, and what they brought before discounts and tax.',
  sql: `
with recent as (
  select tenant_id, id from repair_orders
   where state = 'invoice' and _deleted_at is null
     and substr(closed_at, 1, 10) > (select date(max(closed_at), '-90 days') from repair_orders)
)
select l.tenant_id as tenant,
       coalesce(t.first_name || ' ' || t.last_name, 'staff ' || l.technician_id) as technician,
       count(distinct l.repair_order_id) as invoices,
       sum(l.hours) as hours,
       round(sum(l.hours * s.labor_rate_cents)) as labor
  from recent o
  join repair_order_labors l on l.tenant_id = o.tenant_id and l.repair_order_id = o.id
  join repair_order_services s on s.tenant_id = l.tenant_id and s.id = l.service_id
  left join staffs t on t.tenant_id = l.tenant_id and t.id = l.technician_id
 group by l.tenant_id, l.technician_id
 order by hours desc
 limit 10`,
  columns: [
    { name: 'tenant', title: 'tenant', kind: 'text' },
    { name: 'technician', title: 'technician', kind: 'text' },
    { name: 'invoices', title: 'invoices', kind: 'count' },
    { name: 'hours', title: 'hours', kind: 'hours' },
    { name: 'labor', title: 'labor $', kind: 'money' },
  ],
}

const margin: ExampleQuery = {
  title: 'Parts margin',
  note: 'Parts on invoices, by brand: what they were sold for (before discounts and tax) and what they had cost.',
  sql: `
select coalesce(p.brand, '(none)') as brand,
       sum(p.quantity) as units,
       round(sum(p.quantity * p.quoted_price_cents)) as sold,
       round(sum(p.quantity * p.cost_cents)) as cost,
       round(sum(p.quantity * (p.quoted_price_cents - p.cost_cents))) as margin,
       100.0 * sum(p.quantity * (p.quoted_price_cents - p.cost_cents))
             / nullif(sum(p.quantity * p.quoted_price_cents), 0) as percent
  from repair_orders o
  join repair_order_parts p on p.tenant_id = o.tenant_id and p.repair_order_id = o.id
 where o.state = 'invoice' and o._deleted_at is null
 group by p.brand
 order by margin desc
 limit 10`,
  columns: [
    { name: 'brand', title: 'brand', kind: 'text' },
    { name: 'units', title: 'units', kind: 'count' },
    { name: 'sold', title: 'sold $', kind: 'money' },
    { name: 'cost', title: 'cost $', kind: 'money' },
    { name: 'margin', title: 'margin $', kind: 'money' },
    { name: 'percent', title: 'margin %', kind: 'percent' },
  ],
}

export const exampleQueries: readonly ExampleQuery[] = [revenue, hours, margin]

/** A first query for the reader to try, in one line. */
export const firstQuestion = 'select state, count(*) from repair_orders group by state'
