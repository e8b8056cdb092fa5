/* How columns are stored, as the section `privacy` says. Used by privacysection.ts, and by model/privacy.ts. */
import type { Personal, Resource } from '../../../schema/resource.js'

/** What happens to a column's values. `hash`: equal texts of a tenant become equal pseudonyms. */
export type Treatment = 'keep' | 'hash' | 'drop'
export const treatments = ['keep', 'hash', 'drop'] as const satisfies readonly Treatment[]

/** The section `privacy`, checked. */
export interface Privacy {
  /** `pseudonymous`: personal columns are treated as their declarations say. */
  readonly preset: 'none' | 'pseudonymous'
  /** By table and column. They take precedence over the preset. */
  readonly columns: Readonly<Record<string, Readonly<Record<string, Treatment>>>>
  /** The bytes of the key; null if no column is hashed. */
  readonly key: Buffer | null
  /** The number in every pseudonym: it tells those of an earlier key apart. */
  readonly keyVersion: number
  /** `TABLE.COLUMN` of those that the warehouse hides as an earlier version's preset did, and this one's doesn't. */
  readonly held?: ReadonlySet<string> | undefined
}

export const noPrivacy: Privacy = { preset: 'none', columns: {}, key: null, keyVersion: 1 }

/** The mark of a column that the configuration makes of a field: what nobody has judged may be anything, so it is hidden. */
export function promotedMark(
  { undeclared, impersonal = [] }: Pick<Resource, 'undeclared' | 'impersonal'>,
  name: string,
  kind: string,
): Personal | undefined {
  const hidden = kind === 'text' ? 'hash' : 'drop'
  if (!undeclared || !impersonal.includes(name)) return undeclared && { ...undeclared, preset: hidden }
  return { ...undeclared, preset: 'keep', before: hidden }
}

/** How a column of a table is stored. */
export function treatmentOf(
  { preset, columns, held }: Pick<Privacy, 'preset' | 'columns' | 'held'>,
  table: string,
  { name, personal }: { readonly name: string; readonly personal?: Personal | undefined },
): Treatment {
  const chosen = columns[table]?.[name]
  if (chosen !== undefined) return chosen
  if (preset !== 'pseudonymous' || !personal) return 'keep'
  return (held?.has(`${table}.${name}`) ? personal.before : undefined) ?? personal.preset
}
