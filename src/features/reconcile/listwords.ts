/* What a comparison says of itself where it is not sure. `reconcile` and `verify` use it. */
import { plural } from '../../engine/base/format.js'
import type { ComparedCursor } from './comparing.js'

export const differingText = (records: number): string =>
  `Of ${plural(records, 'record')} the source says different things by id and in its list, or from one answer to the next. Nothing of them was changed; the next reconcile asks once more`

export const unevenText = ({ source, warehouse }: ComparedCursor): string =>
  `Records kept moving while the counts were compared: ${source} at the source, ${warehouse} in the warehouse. Differences that were found are repaired; the next reconcile looks again`

/** `more`: records that a filter by time keeps back. */
export const beforeAllText = (more: number): string | undefined =>
  more === 0
    ? undefined
    : `The source counts ${plural(more, 'record')} more without updated_after than with the earliest time that it takes: its list was read without it and compared whole. No sync sees these records change: tell the API's operator`
