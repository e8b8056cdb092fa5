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
interface Stamped extends Item {
  id: Int64
  created_at: string | null
  updated_at: string | null
  name: string | null
}
type Plain<T> = { [K in keyof T]: T[K] }

test('the row of a resource has exactly its columns, and only keys are never null', () => {
  same<ResourceTables['categories'], Plain<Root & { text: string | null }>>(true)
  same<ResourceTables['shops'], Plain<Root>>(true)
  same<ResourceTables['notes'], Plain<Root & { description: string | null; repair_order_id: Int64 | null }>>(
    true,
  )
})

test('a list of strings has rows without id and version', () => {
  same<ResourceTables['customer_payment_types'], Plain<Seen & { tenant_id: Int64; name: string }>>(true)
})

test('children carry the ids of their owners, at every depth', () => {
  interface Hazmat extends Stamped {
    repair_order_id: Int64
    service_id: Int64
    fee_cents: Int64 | null
    taxable: boolean | null
    quantity: number | null
  }
  same<ResourceTables['repair_order_hazmats'], Plain<Hazmat>>(true)
  same<ResourceTables['canned_job_inspections'], Plain<Stamped & { canned_job_id: Int64 }>>(true)
  same<ResourceTables['recommendation_services']['recommendation_id'], Int64>(true)
  same<Extract<keyof ResourceTables['recommendation_services'], 'service_id'>, never>(true)
  same<Extract<keyof ResourceTables['recommendation_labors'], 'service_id'>, 'service_id'>(true)
})

test('plain values are null only if their position is the key', () => {
  same<ResourceTables['customer_shops'], Plain<Item & { customer_id: Int64; shop_id: Int64 }>>(true)
  same<ResourceTables['inventory_tags'], Plain<Item & { inventory_id: Int64; tag: string | null }>>(true)
})

test('what may be null keeps its kind, and items identified by position have no key of their own', () => {
  interface Phone extends Item {
    customer_id: Int64
    number: string | null
    national: string | null
    international: string | null
    country_code: string | null
    label: string | null
    preferred: boolean | null
  }
  same<ResourceTables['customer_phones'], Plain<Phone>>(true)
  same<ResourceTables['customer_phones'], Plain<Phone & { id: Int64 }>>(false)
  same<ResourceTables['repair_orders']['label_text'], string | null>(true)
  same<ResourceTables['repair_orders']['odometer'], Int64 | null>(true)
  same<ResourceTables['repair_orders']['part_discount_percentage'], number | null>(true)
})
