import { col, common, defineView } from '../view.js'

export default defineView({
  name: 'dim_staffs',
  doc: 'Staff, with names. Other views refer to this one by staff_key, technician_key or advisor_key.',
  grain: 'one member of staff of a tenant, including those that only other rows refer to',
  columns: {
    staff_key: col.text.unique('Key of the member of staff: TENANT-ID. Unique.'),
    tenant_id: common.tenant_id,
    tenant_name: common.tenant_name,
    staff_id: col.id.always('The staff.'),
    staff_name: col.text.always('First and last name; otherwise `staff 9`.', { personal: true }),
    is_advisor: col.boolean('Whether this is a service advisor.'),
    is_technician: col.boolean('Whether this is a technician.'),
    is_active: col.boolean('Active.'),
    is_deleted: col.boolean.always('Whether it is no longer at the source.'),
  },
  example: 'select staff_key, staff_name from dim_staffs order by staff_name limit 20',
  build: (q) => ({
    with: `ids as (${q.ids('staffs')})`,
    select: {
      staff_key: q.key('i.tenant_id', 'i.id'),
      tenant_id: 'i.tenant_id',
      tenant_name: q.tenantName('i.tenant_id'),
      staff_id: 'i.id',
      staff_name: q.name('staffs', 'r', 'i.id'),
      is_advisor: 'r.advisor',
      is_technician: 'r.technician',
      is_active: 'r.active',
      is_deleted: 'r._deleted_at is not null',
    },
    from: `ids i
left join {staffs} r on r.tenant_id = i.tenant_id and r.id = i.id`,
  }),
})
