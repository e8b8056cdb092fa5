/* What `privacy` hides, in the words of `shopsync status`. Used by src/features/health/words.ts. */
import { plural } from '../../engine/base/format.js'
import type { PrivacyStatus } from '../../engine/warehouse/pendingprivacy.js'

/** The most columns that are named. */
const fewColumns = 8

export function privacyText({ hidden, unfinished, reading }: PrivacyStatus): string {
  const named = (columns: readonly string[]): string =>
    columns.length > fewColumns
      ? `${columns.slice(0, fewColumns).join(', ')} and ${columns.length - fewColumns} more`
      : columns.join(', ')
  return [
    hidden === 0 ? '' : `Privacy hides ${plural(hidden, 'column')}.`,
    unfinished.length === 0
      ? ''
      : `Stored values are not hidden yet in ${named(unfinished)}. The next command that writes hides them first; shopsync migrate does so now.`,
    reading.length === 0
      ? ''
      : `Lists are read in full because of ${named(reading)}: only the source has what they hide.`,
  ]
    .filter((line) => line !== '')
    .join('\n')
}
