import { Extra, members, names } from './extra.js'
import type { Tag } from './types.js'

export type Cell = string | number | boolean | null
export type Row = Cell[]

/** The source prints milliseconds; the warehouse holds microseconds. */
export const time = (text: string): string => `${text.slice(0, 23)}000Z`
export const timeOrNull = (text: string | null): string | null =>
  text === null ? null : `${text.slice(0, 23)}000Z`

const known = names('id created_at updated_at taggable_type taggable_id name value')
const extra = new Extra()

/** A row of `integrator_tags`, which stand inside records of all kinds. */
export function tagRow(t: Tag): Row {
  if (members(t) !== known.size) extra.add(t, known, '')
  const [created, updated] = [time(t.created_at), time(t.updated_at)]
  return [t.id, created, updated, t.taggable_type, t.taggable_id, t.name, t.value, extra.take()]
}
