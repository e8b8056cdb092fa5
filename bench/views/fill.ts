/**
 * A made-up business with this many repair orders, written directly into a warehouse's tables with SQL that works in
 * both databases: views.ts needs rows to measure, not a source. The product itself then computes the totals.
 */
import { days, type Filling } from './tables.js'

export const tenants = 4

/** The statements that make the numbers and days used by the fillings. */
export function counters(orders: number): string[] {
  return [
    `create table bench_numbers as with recursive n (i) as (select cast(1 as bigint) union all select i + 1 from n where i < ${orders * 6}) select i from n`,
    'create table bench_days (n integer primary key, day text not null)',
    'create table bench_tenants (t integer primary key)',
    `insert into bench_tenants values ${Array.from({ length: tenants }, (_, n) => `(${101 + n})`).join(', ')}`,
  ]
}

/** The days before today, newest last. */
export function dayRows(today: number): string {
  const rows = Array.from({ length: days + 10 }, (_, n) => {
    const day = new Date(today - (days - n) * 86_400_000).toISOString().slice(0, 10)
    return `(${n}, '${day}')`
  })
  return `insert into bench_days values ${rows.join(', ')}`
}

/** `named`: the table's name in the database. */
export const insertOf = ({ rows, columns }: Filling, named: string): string =>
  `insert into ${named} (tenant_id, ${Object.keys(columns).join(', ')}) select t, ${Object.values(columns).join(', ')} from bench_tenants cross join bench_numbers where i <= ${rows}`
