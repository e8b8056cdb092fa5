import { boolean, cents, datedStamps, defineResource, id, many, number, ref, text } from './resource.js'

const lineItems = many(
  {
    table: 'line_items',
    key: 'position',
    fields: {
      inventory_id: ref('inventories', 'Inventory received.'),
      quantity: number('Quantity.'),
      list_price_cents: cents('List price.'),
      cost_cents: cents('Cost.'),
      ecomm_integrator_part_id: text('Identifier of the part from the parts eComm integrator, if any.'),
    },
  },
  'What was bought or returned, line by line.',
)

export default defineResource({
  name: 'purchase_records',
  singular: 'purchase_record',
  entity: 'PurchaseRecord',
  announced: true,
  doc: 'Purchases of parts from vendors, and returns.',
  source: 'Resources: PurchaseRecord',
  grain: 'one purchase or return of a shop',
  fields: {
    id: id('Id of the purchase record.'),
    ...datedStamps,
    shop_id: ref('shops', 'Shop where the order was created.'),
    invoice_number: text('Invoice number.'),
    vendor_id: ref('vendors', 'Vendor.'),
    payment_type: text('Form of payment used for the parts.'),
    ecomm_integrator_order_id: text('Identifier from the parts eComm integrator, if any.'),
    is_return: boolean('true if this record is a return.'),
    line_items: lineItems,
  },
})
