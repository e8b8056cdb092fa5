/* How columns are stored, as the section `privacy` says. Used by privacysection.ts, and by model/privacy.ts. */
import type { Personal } from '../../../schema/resource.js'

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
}

export const noPrivacy: Privacy = { preset: 'none', columns: {}, key: null, keyVersion: 1 }

/** The mark of a column that the configuration makes of a field: what nobody has judged may be anything, so it is hidden. */
export const promotedMark = (undeclared: Personal | undefined, kind: string): Personal | undefined =>
  undeclared && { ...undeclared, preset: kind === 'text' ? 'hash' : 'drop' }

/** How a column of a table is stored. */
export function treatmentOf(
  { preset, columns }: Pick<Privacy, 'preset' | 'columns'>,
  table: string,
  { name, personal }: { readonly name: string; readonly personal?: Personal | undefined },
): Treatment {
  const chosen = columns[table]?.[name]
  if (chosen !== undefined) return chosen
  return preset === 'pseudonymous' ? (personal?.preset ?? 'keep') : 'keep'
}
