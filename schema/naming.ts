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

/**
 * Fields that the document doesn't show and views do, each by itself. They are stored with the record, as its name is,
 * in columns of these names after a `_`. A `year` has four digits; anything else counts as none.
 */
export const shownFields: Readonly<Record<string, Readonly<Record<string, 'text' | 'year'>>>> = {
  vehicles: { year: 'year', make: 'text', model: 'text' },
}

/** The record that may contain a shop's time zone, and its field, which the document doesn't show. */
export const zoneField = { resource: 'shops', field: 'time_zone' } as const
