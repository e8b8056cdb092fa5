import type { Resource } from '../../../schema/resource.js'
import { nameColumn, namesOf } from './flatten/recordname.js'

/**
 * The columns of a nested table that follow from the whole record. In a tuple they come after all others: flatten
 * leaves them empty, and the rule of their derived table fills them (flatten/derivedvalues.ts).
 */
export const computedColumns = ({ computed }: Resource, array: string) =>
  Object.entries(computed?.columns[array] ?? {}).map(([name, { kind, doc }]) => ({
    name,
    kind,
    nullable: true,
    mayBeNull: true,
    doc,
    computedBy: computed?.by ?? '',
  }))

/** The name of a record, for views. It is made when the record is stored, of fields that may be in `_extra`. */
export const computedName = (resource: Resource) =>
  namesOf(resource)
    ? [
        {
          name: nameColumn,
          kind: 'text' as const,
          nullable: true,
          doc: 'Its name, made of the fields that report.names says; null if they have no text.',
          computedBy: nameColumn,
        },
      ]
    : []
