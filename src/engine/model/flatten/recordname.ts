/**
 * Columns that are made of a record's fields, whether these have columns or not: its name, such as a shop's
 * (schema/naming.ts, `report.names`), and what views show of undeclared fields. They are stored with the record, so that
 * views need no function for JSON, which SQLite before 3.38 and DuckDB don't have. Used by flatten, and by
 * warehouse/layout/recordnames.ts when they are made of other fields than before.
 */
import { nameFields, shownFields } from '../../../../schema/naming.js'
import type { Resource } from '../../../../schema/resource.js'

/** The name, a column of a resource's own table. All columns of this file are computed by it (Column.computedBy). */
export const nameColumn = '_name'

/** The first of these lists of fields that has a text makes the name. undefined if the records have no names. */
export function namesOf({
  name,
  names,
}: Pick<Resource, 'name' | 'names'>): readonly (readonly string[])[] | undefined {
  const usual = Object.hasOwn(nameFields, name) ? nameFields[name] : undefined
  return usual && names ? [names, ...usual] : usual
}

/** These columns. The first of a column's lists of fields that has a text makes it; hidden fields have none. */
export function madeColumns(resource: Pick<Resource, 'name' | 'names' | 'fields' | 'hidden'>) {
  const { fields, hidden = [] } = resource
  const lists = namesOf(resource)
  if (!lists) return []
  const isShown = (field: string): boolean =>
    !hidden.includes(Object.hasOwn(fields, field) ? field : '_extra')
  const shownOf = (all: readonly (readonly string[])[]) => all.map((list) => list.filter(isShown))
  const shown = Object.entries(shownFields[resource.name] ?? {}).map(([field, kind]) => ({
    name: `_${field}`,
    kind: kind === 'year' ? ('integer' as const) : ('text' as const),
    doc: `Its ${field}, from the field of that name; null if there is none.`,
    lists: shownOf([[field]]),
  }))
  const doc = 'Its name, made of the fields that report.names says; null if they have no text.'
  return [{ name: nameColumn, kind: 'text' as const, doc, lists: shownOf(lists) }, ...shown]
}

const year = /^([1-9]\d{3})(?:\.0*)?$/

/** The column's value. null if all fields are blank, or if there is no year in them. */
export function madeOf(
  { lists, kind }: ReturnType<typeof madeColumns>[number],
  textOf: (field: string) => string | null,
): string | number | null {
  for (const fields of lists) {
    const texts = fields.map((field) => textOf(field)?.trim() ?? '')
    const text = texts.filter((each) => each !== '').join(' ')
    if (text === '') continue
    if (kind === 'text') return text
    const digits = year.exec(text)?.[1]
    return digits === undefined ? null : Number(digits)
  }
  return null
}
