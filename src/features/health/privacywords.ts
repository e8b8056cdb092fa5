/* What `privacy` hides, in the words of `shopsync status`. Used by src/features/health/words.ts. */
import { joinedNames, plural } from '../../engine/base/format.js'
import type { PrivacyStatus } from '../../engine/warehouse/pendingprivacy.js'
import { mostNamed } from '../../engine/warehouse/privacystate.js'

export function privacyText({ hidden, unfinished, traces_left, reading }: PrivacyStatus): string {
  const named = (columns: readonly string[]): string => joinedNames(columns, mostNamed)
  return [
    hidden === 0 ? '' : `Privacy hides ${plural(hidden, 'column')}.`,
    unfinished.length === 0
      ? ''
      : `Stored values are not hidden yet in ${named(unfinished)}. The next command that writes hides them first; shopsync migrate does so now.`,
    traces_left
      ? "The database's files may still contain values from before. End the programs that read it, then type shopsync migrate."
      : '',
    reading.length === 0
      ? ''
      : `Lists are read in full because of ${named(reading)}: only the source has what they hide.`,
  ]
    .filter((line) => line !== '')
    .join('\n')
}
