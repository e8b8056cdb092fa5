/**
 * The year (test/long/year.test.ts), and what some of its days have to notice: one function of the program is broken at
 * a time.
 */
import type * as flatten from '../../../src/engine/model/flatten/flatten.js'
import type * as resume from '../../../src/engine/run/resumecursor.js'
import type * as runend from '../../../src/engine/run/runend.js'
import type * as tombstone from '../../../src/engine/run/tombstone.js'
import type * as ends from '../../../src/engine/run/walkstore.js'
import type * as belonging from '../../../src/engine/warehouse/sourceidentity.js'
import { type Breakage, breaking } from './breakage.js'

export interface YearMutant {
  /** What the broken function does. */
  readonly broken: string
  readonly breakage: Breakage
  /** The days that reveal it, from the first one on. */
  readonly from: number
  readonly days: number
  readonly says: RegExp
}

const lost = /a whole sync of .* left record/

export const yearMutants: readonly YearMutant[] = [
  {
    broken: 'loses a record between the page and its row',
    breakage: breaking<typeof flatten>('src/engine/model/flatten/flatten.ts').function(
      'compileFlatten',
      (sound) => (resource, options) => {
        const flat = sound(resource, options)
        return (...given) => {
          const page = flat(...given)
          return {
            ...page,
            rows: new Map(
              [...page.rows].map(([name, rows]) => [name, name === resource.name ? rows.slice(0, 99) : rows]),
            ),
          }
        }
      },
    ),
    from: 0,
    days: 1,
    says: /a whole sync of notes .* left record/,
  },
  {
    broken: 'moves the watermark with each page, and forgets a killed walk',
    breakage: breaking<typeof ends>('src/engine/run/walkstore.ts').function(
      'pageStatements',
      (sound) => (walk, commit, memory) => {
        const { progress, outcome } = commit
        if (outcome || !progress) return sound(walk, commit, memory)
        const moved = walk.cursor.warehouse.db
          .updateTable('sync_cursors')
          .set({ walk: null, watermark: progress.ceiling, planned_watermark: progress.ceiling })
          .where('tenant_id', '=', walk.cursor.tenantId)
          .where('resource', '=', walk.cursor.resource.name)
        return [...sound(walk, commit, memory), moved.compile()]
      },
    ),
    from: 9,
    days: 1,
    says: /a whole sync of notes .* left record/,
  },
  {
    broken: 'starts walks at the watermark, without the overlap',
    breakage: breaking<typeof resume>('src/engine/run/resumecursor.ts').function(
      'floorOf',
      (sound) => (watermark) => sound(watermark, 0),
    ),
    from: 0,
    days: 2,
    says: lost,
  },
  {
    broken: 'reports deletions, but marks nothing',
    breakage: breaking<typeof tombstone>('src/engine/run/tombstone.ts').function(
      'markDeleted',
      () => async (_warehouse, _task, gone) => [...gone],
    ),
    from: 0,
    days: 2,
    says: /a whole reconcile of .* left record/,
  },
  {
    broken: 'reports ok for a run with skipped cursors',
    breakage: breaking<typeof runend>('src/engine/run/runend.ts').function(
      'reportOf',
      (sound) =>
        (...given) => ({ ...sound(...given), status: 'ok' }),
    ),
    from: 4,
    days: 1,
    says: /less than whole, and not said/,
  },
  {
    broken: 'continues at an address that nobody has adopted',
    breakage: breaking<typeof belonging>('src/engine/warehouse/sourceidentity.ts').function(
      'checkSourceIdentity',
      (sound) => (warehouse, asked) => sound(warehouse, asked).catch(() => undefined),
    ),
    from: 20,
    days: 1,
    says: /an address that nobody has adopted/,
  },
]
