import type { Resource } from '../../../schema/resource.js'

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
