import { col, common, defineView } from '../view.js'

export default defineView({
  name: 'dim_vendors',
  doc: 'Vendors of parts and of sublet work, with names. Other views refer to this one by vendor_key.',
  grain: 'one vendor of a tenant, including those that only other rows refer to',
  columns: {
    vendor_key: col.text.unique('Key of the vendor: TENANT-ID. Unique.'),
    tenant_id: common.tenant_id,
    tenant_name: common.tenant_name,
    vendor_id: col.id.always('The vendor.'),
    vendor_name: col.text.always('Name of the vendor, from report.names; otherwise `vendor 2`.'),
    shop_id: common.shop_id,
    shop_key: common.shop_key,
    is_deleted: col.boolean.always('Whether it is no longer at the source.'),
  },
  example: 'select vendor_key, vendor_name from dim_vendors order by vendor_name limit 20',
  build: (q) => ({
    with: `ids as (${q.ids('vendors')})`,
    select: {
      vendor_key: q.key('i.tenant_id', 'i.id'),
      tenant_id: 'i.tenant_id',
      tenant_name: q.tenantName('i.tenant_id'),
      vendor_id: 'i.id',
      vendor_name: q.name('vendors', 'r', 'i.id'),
      shop_id: 'r.shop_id',
      shop_key: q.key('i.tenant_id', 'r.shop_id'),
      is_deleted: 'r._deleted_at is not null',
    },
    from: `ids i
left join {vendors} r on r.tenant_id = i.tenant_id and r.id = i.id`,
  }),
})
