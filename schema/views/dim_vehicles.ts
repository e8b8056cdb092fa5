import { col, common, defineView } from '../view.js'

export default defineView({
  name: 'dim_vehicles',
  doc: 'Vehicles, with names. Other views refer to this one by vehicle_key.',
  grain: 'one vehicle of a tenant, including those that only other rows refer to',
  columns: {
    vehicle_key: col.text.unique('Key of the vehicle: TENANT-ID. Unique.'),
    tenant_id: common.tenant_id,
    tenant_name: common.tenant_name,
    vehicle_id: col.id.always('The vehicle.'),
    vehicle_name: col.text.always('Name of the vehicle, from report.names; otherwise `vehicle 17`.', {
      personal: true,
    }),
    is_deleted: col.boolean.always('Whether it is no longer at the source.'),
    year: col.integer('Model year, from the field `year`; null if it has none of four digits.', {
      unit: 'year',
    }),
    make: col.text('Make, from the field `make`.'),
    model: col.text('Model, from the field `model`.'),
  },
  example: 'select vehicle_key, vehicle_name from dim_vehicles order by vehicle_name limit 20',
  build: (q) => ({
    with: `ids as (${q.ids('vehicles')})`,
    select: {
      vehicle_key: q.key('i.tenant_id', 'i.id'),
      tenant_id: 'i.tenant_id',
      tenant_name: q.tenantName('i.tenant_id'),
      vehicle_id: 'i.id',
      vehicle_name: q.name('vehicles', 'r', 'i.id'),
      is_deleted: 'r._deleted_at is not null',
      year: 'r._year',
      make: 'r._make',
      model: 'r._model',
    },
    from: `ids i
left join {vehicles} r on r.tenant_id = i.tenant_id and r.id = i.id`,
  }),
})
