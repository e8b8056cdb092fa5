import { through } from '../through.js'
import { col, defineView } from '../view.js'

export default defineView({
  name: 'changes',
  doc: 'Up to which stamp the tables are settled: what copies of them are continued by (docs/increments.md). Rows whose `_synced_at` is below `through` change no more without getting a later one.',
  grain: 'the whole warehouse: one row',
  columns: {
    through: col.timestamp.always(
      'No row will be stored with an earlier `_synced_at` than this any more. It never goes back. On SQLite it has the form of `_synced_at`, not that of other views.',
      { asStored: true },
    ),
  },
  isForAll: true,
  example: 'select through from changes',
  build: () => ({ select: { through: through() }, from: '(select 1 as one) x' }),
})
