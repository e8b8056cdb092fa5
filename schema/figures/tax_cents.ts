import { defineFigure } from '../figure.js'
import orders from '../views/orders.js'

export default defineFigure({
  name: 'tax_cents',
  label: 'Sales tax',
  doc: 'Known taxes on invoices: at least this much is due. If one tax on an invoice is unknown, the others still count.',
  unit: 'cents',
  relation: orders,
  where: "state = 'invoice'",
  day: 'closed_on',
  numerator: {
    sum: 'coalesce(labor_tax_cents, 0) + coalesce(parts_tax_cents, 0) + coalesce(sublets_tax_cents, 0) + coalesce(hazmats_tax_cents, 0)',
  },
  leavesOut: { what: 'invoices with an unknown tax', count: 'tax_cents is null' },
  by: ['advisor_key', 'advisor_name', 'customer_source'],
  lists: ['repair_orders'],
  instead: [
    {
      sql: "select sum(tax_cents) from orders where state = 'invoice'",
      why: "An invoice's `tax_cents` is null if one of its taxes is unknown, so the known ones are left out too.",
    },
  ],
})
