import { defineFigure } from '../figure.js'
import orders from '../views/orders.js'

export default defineFigure({
  name: 'tax_cents',
  label: 'Sales tax',
  doc: 'Taxes on invoices, as far as they are known: at least so much is due. A tax of one kind counts although another kind of the same invoice is unknown.',
  unit: 'cents',
  relation: orders,
  where: "state = 'invoice'",
  day: 'closed_on',
  numerator: {
    sum: 'coalesce(labor_tax_cents, 0) + coalesce(parts_tax_cents, 0) + coalesce(sublets_tax_cents, 0) + coalesce(hazmats_tax_cents, 0)',
  },
  leavesOut: { what: 'invoices with a tax that is unknown', count: 'tax_cents is null' },
  by: ['advisor_key', 'advisor_name', 'customer_source'],
  lists: ['repair_orders'],
  instead: [
    {
      sql: "select sum(tax_cents) from orders where state = 'invoice'",
      why: "The sum of an invoice's taxes is null as soon as one of them is unknown: those that are known are left out with it.",
    },
  ],
})
