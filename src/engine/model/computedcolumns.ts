import type { Resource } from '../../../schema/resource.js'
import { madeColumns, nameColumn } from './flatten/recordname.js'

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

/** The name of a record, and other fields, for views: made when the record is stored, of fields that may be in `_extra`. */
const computedNames = (resource: Resource) =>
  madeColumns(resource).map(({ name, kind, doc }) => ({
    name,
    kind,
    nullable: true,
    doc,
    computedBy: nameColumn,
  }))

/** In a tuple they come last, empty: their fields are part of `_extra`. Rows that no list shows keep their values. */
const leftColumns = ({ left = {}, undeclared: personal }: Resource) =>
  Object.entries(left).map(([name, kind]) => ({
    name,
    kind,
    nullable: true,
    doc: 'Not in the API documentation, and no longer a column by configuration: read again, a record leaves it empty.',
    personal,
    isLeft: true as const,
  }))

/** The columns of a resource's own table that no page of the source fills (`computedBy`, `isLeft`). */
export const addedColumns = (resource: Resource) => [...computedNames(resource), ...leftColumns(resource)]
