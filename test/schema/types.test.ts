import { test } from 'vitest'
import type { ResourceTables } from '../../schema/index.js'
import type { Int64 } from '../../schema/resource.js'

/** Exact: the two are the same type, neither wider nor narrower (house style: the type trap). */
type Same<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false
/** Compiles only if they are, or aren't, as stated. */
const same = <A, B>(_: Same<A, B>): void => undefined

interface Seen {
  _synced_at: string
  _deleted_at: string | null
  _unlisted_at: string | null
  _extra: unknown
}
interface Root extends Seen {
  tenant_id: Int64
  id: Int64
  created_at: string | null
  updated_at: string
}
/** An item of a list in a record. */
interface Item {
  tenant_id: Int64
  position: number
  _synced_at: string
}
type Plain<T> = { [K in keyof T]: T[K] }
type Row<T extends keyof ResourceTables> = ResourceTables[T]

test('the row of a resource has exactly its columns, and only keys are never null', () => {
  same<Row<'shops'>, Plain<Root>>(true)
  same<Row<'notes'>, Plain<Root & { description: string | null; repair_order_id: Int64 | null }>>(true)
  same<Row<'notes'>, Plain<Root & { description: string; repair_order_id: Int64 | null }>>(false)
  same<Row<'customer_payment_types'>, Plain<Seen & { tenant_id: Int64; name: string }>>(true)
  same<Row<'repair_orders'>['odometer'], Int64 | null>(true)
  same<Row<'repair_orders'>['part_discount_percentage'], number | null>(true)
  same<Row<'repair_orders'>['label_text'], string | null>(true)
})

test('children carry the ids of their owners, at every depth, and are keyed by id or position', () => {
  interface Inspection extends Item {
    id: Int64
    canned_job_id: Int64
    created_at: string | null
    updated_at: string | null
    name: string | null
  }
  same<Row<'canned_job_inspections'>, Plain<Inspection>>(true)
  same<Row<'repair_order_hazmats'>['repair_order_id' | 'service_id'], Int64>(true)
  same<Row<'repair_order_hazmats'>['taxable'], boolean | null>(true)
  same<Row<'recommendation_services'>['recommendation_id'], Int64>(true)
  same<Extract<keyof Row<'recommendation_services'>, 'service_id'>, never>(true)
  same<Extract<keyof Row<'recommendation_labors'>, 'service_id'>, 'service_id'>(true)
  same<Extract<keyof Row<'customer_phones'>, 'id'>, never>(true)
  same<Row<'customer_shops'>, Plain<Item & { customer_id: Int64; shop_id: Int64 }>>(true)
  same<Row<'inventory_tags'>, Plain<Item & { inventory_id: Int64; tag: string | null }>>(true)
})
