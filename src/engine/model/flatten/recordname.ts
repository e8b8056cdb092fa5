/**
 * The name of a record, such as a shop's: which fields it is made of (schema/naming.ts, `report.names`), and the text
 * that they make. It is stored with the record, so that views need no function for JSON, which SQLite before 3.38 and
 * DuckDB don't have. Used by flatten, and by warehouse/recordnames.ts when names are made of other fields than before.
 */
import { nameFields } from '../../../../schema/naming.js'
import type { Resource } from '../../../../schema/resource.js'

/** The column of a resource's own table. */
export const nameColumn = '_name'

/** The first of these lists of fields that has a text makes the name. undefined if the records have no names. */
export function namesOf({
  name,
  names,
  fields,
  hidden = [],
}: Pick<Resource, 'name' | 'names' | 'fields' | 'hidden'>): readonly (readonly string[])[] | undefined {
  const usual = Object.hasOwn(nameFields, name) ? nameFields[name] : undefined
  const lists = usual && names ? [names, ...usual] : usual
  if (hidden.length === 0) return lists
  const isShown = (field: string): boolean =>
    !hidden.includes(Object.hasOwn(fields, field) ? field : '_extra')
  return lists?.map((list) => list.filter(isShown))
}

/** The name. null if all fields are blank. */
export function nameFrom(
  lists: readonly (readonly string[])[],
  textOf: (field: string) => string | null,
): string | null {
  for (const fields of lists) {
    const texts = fields.map((field) => textOf(field)?.trim() ?? '')
    const name = texts.filter((text) => text !== '').join(' ')
    if (name !== '') return name
  }
  return null
}
