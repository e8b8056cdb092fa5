/** Orders and payments as the API sends them, for tests whose figures are computed by hand. */

export type Fields = Record<string, unknown>

export const updated = '2026-11-10T00:00:00Z'
export const stamps = (created: string): Fields => ({ created_at: created, updated_at: updated })

/** An order of so many hours at 100 dollars, without fee and taxes. */
export const order = (id: number, closed: string | null, more: Fields = {}, hours = 1): Fields => ({
  id,
  ...stamps('2026-10-20T12:00:00Z'),
  number: id,
  state: closed === null ? 'estimate' : 'invoice',
  shop_id: 1,
  customer_id: 1,
  vehicle_id: 1,
  technician_id: 1,
  advisor_id: 1,
  status_id: null,
  started_at: closed && '2026-10-21T12:00:00Z',
  closed_at: closed,
  picked_up_at: closed,
  taxable: false,
  supply_fee_cents: 0,
  payments: [],
  services: [
    {
      id,
      title: 'Brakes',
      completed: true,
      completed_at: closed,
      labor_rate_cents: 10_000,
      labors: [{ id, name: 'Labor', technician_id: more.technician_id ?? 1, hours, taxable: true }],
    },
  ],
  ...more,
})

export const payment = (
  id: number,
  repair_order_id: number | null,
  created: string,
  amount_cents: unknown = 10_000,
): Fields => ({
  id,
  ...stamps(created),
  repair_order_id,
  amount_cents,
  notes: '',
  payment_type: 'Cash',
  payment_type_details: { type: 'Cash', name: null },
})
