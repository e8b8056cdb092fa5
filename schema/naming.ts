/**
 * Which fields make up a record's name if the configuration (`report.names`) doesn't say: the first of these lists that
 * yields a text. A field is one of its columns, or one that the API documentation doesn't show. The name is stored with
 * the record, in the column `_name`. A record without a name is called by its kind and id, such as `shop 3`.
 */
export const nameFields: Readonly<Record<string, readonly (readonly string[])[]>> = {
  customers: [['company'], ['first_name', 'last_name']],
  shops: [['name']],
  staffs: [['first_name', 'last_name']],
  statuses: [['name']],
  vehicles: [['name']],
  vendors: [['name']],
}

/** The record that may contain a shop's time zone, and its field, which the document doesn't show. */
export const zoneField = { resource: 'shops', field: 'time_zone' } as const
