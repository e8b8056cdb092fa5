import { categoryOfRecommendation, isOrderGone, worthOfRecommendation } from '../lines.js'
import { col, common, defineView, type JoinedDay, type ViewWords } from '../view.js'

/**
 * The most that its past recommendations tell of what became of it once its order was closed: 3 sold, 2 done, 1 approved.
 * Of what is done, nobody asks whether it was approved.
 */
const became = `(
        select max(case when p.imported = true then 3 when p.done = true then 2 when p.approved = true then 1 else 0 end)
        from {past_recommendations} p where p.tenant_id = r.tenant_id and p.recommendation_id = r.id and p._deleted_at is null)`

const isDone = '(coalesce(r.imported, false) or r.became >= 2)'
const isApproved = '(coalesce(r.approved, false) or r.became = 1)'

const recommended = (q: ViewWords): JoinedDay => q.shopDay('d', 'r.tenant_id', 'o.shop_id', 'r.created_at')

export default defineView({
  name: 'recommendation_conversion',
  doc: 'Recommended work and what became of it: decided at once, or sold on a later visit.',
  grain: 'one recommendation on a repair order',
  columns: {
    recommended_on: col.day("The day it was recommended, in the shop's time zone."),
    ...common,
    recommendation_id: col.id.always('The recommendation.'),
    recommendation_key: col.text.unique('Key of the recommendation: TENANT-ID. Unique.'),
    repair_order_id: col.id('The order it was recommended on.'),
    repair_order_key: col.text('Key of that order: TENANT-ID.'),
    customer_id: col.id('The customer of that order.'),
    customer_key: col.key('dim_customers', 'Key of the customer: TENANT-ID.'),
    customer_name: col.text('Name of the customer.', { personal: true }),
    description: col.text('Title of the recommended service.'),
    kind: col.text.always('`quick` if it has a price but no service, otherwise `service`.'),
    decision: col.text.always('`approved`, `declined` or `undecided`.'),
    imported: col.boolean('Whether it was added to an order as a service.'),
    sold_later: col.boolean.always(
      'Whether it was unsold when its order was closed but was added to an order later.',
    ),
    value_cents: col.cents(
      'The quick price; otherwise the total of its lines before discount and tax; null if a line has no price.',
    ),
    done: col.boolean.always(
      'Whether staff closed it: it was sold on an order, sold later, or marked done by hand, and is no longer shown to the customer.',
    ),
    is_to_sell: col.boolean.always(
      'Whether it can still be sold: it is neither approved nor on an order nor done, and its order exists.',
    ),
    category_id: col.id('Category of the recommended service; null for a quick one.'),
    category: col.text('Text of the category.'),
    recommended_at: col.timestamp('When it was recommended.'),
    recommended_at_local: col.text("The same, in the shop's local time: YYYY-MM-DD HH:MM:SS."),
    vehicle_id: col.id('The vehicle of that order.'),
    vehicle_key: col.key('dim_vehicles', 'Key of the vehicle: TENANT-ID.'),
    vehicle_name: col.text('Name of the vehicle, from report.names; otherwise `vehicle 17`.', {
      personal: true,
    }),
    is_approved_unsold: col.boolean.always(
      'Whether the customer approved it, at once or since, and it is neither on an order nor done, such as a quick one that no order took over. Its order exists: call them.',
    ),
    order_gone: col.boolean.always('Whether its order is deleted or unknown.'),
  },
  example:
    'select decision, count(*) as recommendations, sum(value_cents) as value_cents, count(*) - count(value_cents) as without_value from recommendation_conversion group by decision order by decision',
  build: (q) => ({
    select: {
      recommended_on: recommended(q).day,
      tenant_id: 'r.tenant_id',
      tenant_name: q.tenantName('r.tenant_id'),
      shop_id: 'o.shop_id',
      shop_key: q.key('o.tenant_id', 'o.shop_id'),
      shop_name: q.name('shops', 'h', 'o.shop_id'),
      recommendation_id: 'r.id',
      recommendation_key: q.key('r.tenant_id', 'r.id'),
      repair_order_id: 'r.repair_order_id',
      repair_order_key: q.key('r.tenant_id', 'r.repair_order_id'),
      customer_id: 'o.customer_id',
      customer_key: q.key('o.tenant_id', 'o.customer_id'),
      customer_name: q.name('customers', 'c', 'o.customer_id'),
      description: 'r.description',
      kind: "case when r.quick_price_cents is not null then 'quick' else 'service' end",
      decision:
        "case when r.approved is null then 'undecided' when r.approved = true then 'approved' else 'declined' end",
      imported: 'r.imported',
      sold_later: 'r.became = 3',
      value_cents: worthOfRecommendation(q),
      done: isDone,
      is_to_sell: `not (${isDone} or ${isApproved} or ${isOrderGone})`,
      category_id: categoryOfRecommendation,
      category: 'k.text',
      recommended_at: 'r.created_at',
      recommended_at_local: recommended(q).local,
      vehicle_id: 'o.vehicle_id',
      vehicle_key: q.key('o.tenant_id', 'o.vehicle_id'),
      vehicle_name: q.name('vehicles', 'v', 'o.vehicle_id'),
      is_approved_unsold: `${isApproved} and not (${isDone} or ${isOrderGone})`,
      order_gone: isOrderGone,
    },
    from: `(
      select r.*, coalesce(${became}, 0) as became from {recommendations} r where r._deleted_at is null) r
      left join {repair_order_totals} o on o.tenant_id = r.tenant_id and o.repair_order_id = r.repair_order_id and o._deleted_at is null
      left join {shops} h on h.tenant_id = o.tenant_id and h.id = o.shop_id
      left join {customers} c on c.tenant_id = o.tenant_id and c.id = o.customer_id
      left join {vehicles} v on v.tenant_id = o.tenant_id and v.id = o.vehicle_id
      left join {categories} k on k.tenant_id = r.tenant_id and k.id = ${categoryOfRecommendation} ${recommended(q).join}`,
  }),
})
