/**
 * The year (test/long/year.test.ts), and what some of its days have to notice: one function of the program is broken at
 * a time.
 */
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
    breakage: breaking(() => import('../../../src/engine/model/flatten/flatten.js')).function(
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
    breakage: breaking(() => import('../../../src/engine/run/walkstore.js')).function(
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
    breakage: breaking(() => import('../../../src/engine/run/resumecursor.js')).function(
      'floorOf',
      (sound) => (watermark) => sound(watermark, 0),
    ),
    from: 0,
    days: 2,
    says: lost,
  },
  {
    broken: 'reports deletions, but marks nothing',
    breakage: breaking(() => import('../../../src/engine/run/tombstone.js')).function(
      'markDeleted',
      () => async (_warehouse, _task, gone) => [...gone],
    ),
    from: 0,
    days: 2,
    says: /a whole reconcile of .* left record/,
  },
  {
    broken: 'reports ok for a run with skipped cursors',
    breakage: breaking(() => import('../../../src/engine/run/runend.js')).function(
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
    breakage: breaking(() => import('../../../src/engine/warehouse/sourceidentity.js')).function(
      'checkSourceIdentity',
      (sound) => (warehouse, asked) => sound(warehouse, asked).catch(() => undefined),
    ),
    from: 20,
    days: 1,
    says: /an address that nobody has adopted/,
  },
]
