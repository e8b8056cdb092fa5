import { firstInvoiceDay } from '../open.js'
import { col, common, defineView } from '../view.js'

export default defineView({
  name: 'dim_shops',
  doc: 'Shops, with names and time zones. Other views refer to this one by shop_key.',
  grain: 'one shop of a tenant, including those that only other rows refer to',
  columns: {
    shop_key: col.text.unique('Key of the shop: TENANT-ID. Unique.'),
    tenant_id: common.tenant_id,
    tenant_name: common.tenant_name,
    shop_id: col.id.always('The shop.'),
    shop_name: col.text.always('Name of the shop, from report.names; otherwise `shop 3`.'),
    time_zone: col.text.always('Its time zone, which decides its days.'),
    is_deleted: col.boolean.always('Whether it is no longer at the source.'),
    first_day: col.day(
      "The day it closed its first invoice, in the shop's time zone; null before that. Don't compare a period that began earlier with a later one.",
    ),
    is_revoked: col.boolean.always(
      'Whether its tenant has revoked access. Its rows are kept but no longer updated.',
    ),
  },
  example: 'select shop_key, shop_name from dim_shops order by shop_name limit 20',
  build: (q) => ({
    with: `ids as (${q.ids('shops')})`,
    select: {
      shop_key: q.key('i.tenant_id', 'i.id'),
      tenant_id: 'i.tenant_id',
      tenant_name: q.tenantName('i.tenant_id'),
      shop_id: 'i.id',
      shop_name: q.name('shops', 'r', 'i.id'),
      time_zone: q.zone('i.tenant_id', 'i.id'),
      is_deleted: 'r._deleted_at is not null',
      first_day: firstInvoiceDay('i.tenant_id', 'i.id'),
      is_revoked: 'w.revoked_at is not null',
    },
    from: `ids i
left join {shops} r on r.tenant_id = i.tenant_id and r.id = i.id
left join {tenants} w on w.tenant_id = i.tenant_id`,
  }),
})
