import { categoryOfRecommendation, isOrderGone, worthOfRecommendation } from '../lines.js'
import { col, common, defineView, takes, type ViewWords } from '../view.js'

const isDone = '(coalesce(p.done, false) or coalesce(p.imported, false))'

/** Its order closed without it, but may have been opened again. */
const isSold = `(${isDone} or coalesce(r.imported, false))`
const isApproved = '(coalesce(p.approved, false) or coalesce(r.approved, false))'

const days = (q: ViewWords) => ({
  recommended: q.shopDay('d', 'p.tenant_id', 'o.shop_id', 'r.created_at'),
  unsold: q.shopDay('y', 'p.tenant_id', 'o.shop_id', 'p.created_at'),
  decided: q.shopDay('z', 'p.tenant_id', 'o.shop_id', 'p.approval_at'),
})

export default defineView({
  name: 'earlier_recommendations',
  doc: 'What was recommended for a vehicle on earlier visits and was unsold when its order was closed, and what became of it since.',
  grain: 'one past recommendation of a vehicle',
  columns: {
    recommended_on: col.day(
      "The day it was recommended, in the shop's time zone; null if that recommendation is unknown.",
    ),
    unsold_on: col.day(
      "The day it became a past recommendation, since its order was closed, in the shop's time zone.",
    ),
    ...common,
    past_recommendation_id: col.id.always('The past recommendation.'),
    past_recommendation_key: col.text.unique('Key of the past recommendation: TENANT-ID. Unique.'),
    recommendation_id: col.id('The recommendation that was unsold.'),
    recommendation_key: col.text('Key of that recommendation, as in `recommendation_conversion`: TENANT-ID.'),
    repair_order_id: col.id('The order it was recommended on.'),
    repair_order_key: col.text('Key of that order: TENANT-ID.'),
    number: col.integer('Number of that order.'),
    customer_id: col.id('The customer of that order.'),
    customer_key: col.key('dim_customers', 'Key of the customer: TENANT-ID.'),
    customer_name: col.text('Name of the customer.', { personal: true }),
    vehicle_id: col.id('The vehicle it was recommended for.'),
    vehicle_key: col.key('dim_vehicles', 'Key of the vehicle: TENANT-ID.'),
    vehicle_name: col.text('Name of the vehicle, from report.names; otherwise `vehicle 17`.', {
      personal: true,
    }),
    description: col.text('Title of the recommended service.'),
    decision: col.text.always(
      '`approved` if approved since, `declined` or `undecided`. What was decided on its order is in `recommendation_conversion`.',
    ),
    imported: col.boolean('Whether it was added to an order as a service since.'),
    done: col.boolean.always(
      'Whether staff closed it: it was sold since, or marked done by hand, and is no longer shown to the customer.',
    ),
    is_to_sell: col.boolean.always(
      'Whether it can still be sold: it is neither approved nor on an order nor done, and its order is not gone.',
    ),
    value_cents: col.cents(
      'The quick price; otherwise the total of its lines before discount and tax; null if a line has no price, or that recommendation is unknown.',
    ),
    category_id: col.id('Category of the recommended service; null for a quick one.'),
    category: col.text('Text of the category.'),
    decided_on: col.day(
      "The day it was approved or declined since, in the shop's time zone; null if the source names none.",
    ),
    recommended_at: col.timestamp('When it was recommended.'),
    recommended_at_local: col.text("The same, in the shop's local time: YYYY-MM-DD HH:MM:SS."),
    unsold_at: col.timestamp('When it became a past recommendation.'),
    unsold_at_local: col.text("The same, in the shop's local time: YYYY-MM-DD HH:MM:SS."),
    decided_at: col.timestamp('When it was approved or declined since; null if the source names no instant.'),
    decided_at_local: col.text("The same, in the shop's local time: YYYY-MM-DD HH:MM:SS."),
    is_approved_unsold: col.boolean.always(
      'Whether the customer approved it, on its order or since, and it is neither on an order nor done. Its order is not gone: call them.',
    ),
    order_gone: col.boolean.always('Whether the order it was recommended on is deleted or unknown.'),
  },
  example:
    "select vehicle_key, vehicle_name, description, recommended_on, value_cents from earlier_recommendations where decision = 'declined' and is_to_sell order by recommended_on, past_recommendation_key limit 10",
  build: (q) => {
    const { recommended, unsold, decided } = days(q)
    return {
      select: {
        recommended_on: recommended.day,
        unsold_on: unsold.day,
        tenant_id: 'p.tenant_id',
        tenant_name: q.tenantName('p.tenant_id'),
        shop_id: 'o.shop_id',
        shop_key: q.key('o.tenant_id', 'o.shop_id'),
        shop_name: q.name('shops', 'h', 'o.shop_id'),
        past_recommendation_id: 'p.id',
        past_recommendation_key: q.key('p.tenant_id', 'p.id'),
        recommendation_id: 'p.recommendation_id',
        recommendation_key: q.key('p.tenant_id', 'p.recommendation_id'),
        repair_order_id: 'r.repair_order_id',
        repair_order_key: q.key('r.tenant_id', 'r.repair_order_id'),
        ...takes('o', 'number', 'customer_id'),
        customer_key: q.key('o.tenant_id', 'o.customer_id'),
        customer_name: q.name('customers', 'c', 'o.customer_id'),
        ...takes('p', 'vehicle_id', 'description', 'imported'),
        vehicle_key: q.key('p.tenant_id', 'p.vehicle_id'),
        vehicle_name: q.name('vehicles', 'v', 'p.vehicle_id'),
        decision:
          "case when p.approved is null then 'undecided' when p.approved = true then 'approved' else 'declined' end",
        done: isDone,
        is_to_sell: `not (${isSold} or ${isApproved} or ${isOrderGone})`,
        value_cents: worthOfRecommendation(q),
        category_id: categoryOfRecommendation,
        category: 'k.text',
        decided_on: decided.day,
        recommended_at: 'r.created_at',
        recommended_at_local: recommended.local,
        unsold_at: 'p.created_at',
        unsold_at_local: unsold.local,
        decided_at: 'p.approval_at',
        decided_at_local: decided.local,
        is_approved_unsold: `${isApproved} and not (${isSold} or ${isOrderGone})`,
        order_gone: isOrderGone,
      },
      from: `{past_recommendations} p
      left join {recommendations} r on r.tenant_id = p.tenant_id and r.id = p.recommendation_id and r._deleted_at is null
      left join {repair_order_totals} o on o.tenant_id = r.tenant_id and o.repair_order_id = r.repair_order_id and o._deleted_at is null
      left join {shops} h on h.tenant_id = o.tenant_id and h.id = o.shop_id
      left join {customers} c on c.tenant_id = o.tenant_id and c.id = o.customer_id
      left join {vehicles} v on v.tenant_id = p.tenant_id and v.id = p.vehicle_id
      left join {categories} k on k.tenant_id = r.tenant_id and k.id = ${categoryOfRecommendation}
      ${recommended.join} ${unsold.join} ${decided.join}
      where p._deleted_at is null`,
    }
  },
})
