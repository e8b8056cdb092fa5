import { plural } from '../../engine/base/format.js'
import type { Snapshot } from './work.js'

export const snapshotText = ({ shops }: Snapshot): string =>
  shops === 0
    ? 'snapshot: no shops yet, so nothing was recorded. Type shopsync sync first'
    : `snapshot: recorded where ${plural(shops, 'shop')} ${shops === 1 ? 'stands' : 'stand'} today, in daily_snapshots`
