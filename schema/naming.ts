/**
 * Which fields make the name of a record, where the configuration (`report.names`) does not say: the first of these
 * lists that gives a text. A field is read from its column, or from `_extra` where the API's document does not show it.
 * What has no name is called by its kind and id, such as `shop 3`. Used by views, and by the check of the configuration.
 */
export const nameFields: Readonly<Record<string, readonly (readonly string[])[]>> = {
  customers: [['company'], ['first_name', 'last_name']],
  shops: [['name']],
  staffs: [['first_name', 'last_name']],
  statuses: [['name']],
  vehicles: [['name']],
  vendors: [['name']],
}

/** The record that may say in which time zone a shop works, and the field that does, which the document does not show. */
export const zoneField = { resource: 'shops', field: 'time_zone' } as const
