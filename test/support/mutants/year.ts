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

const mutant = (
  broken: string,
  played: Pick<YearMutant, 'from' | 'days' | 'says'>,
  breaks: () => Breakage,
): YearMutant => ({ ...played, broken, breakage: breaks() })

export const yearMutants: readonly YearMutant[] = [
  mutant(
    'loses a record between the page and its row',
    { from: 0, days: 1, says: /a whole sync of notes .* left record/ },
    () =>
      breaking('engine/model/flatten/flatten').compileFlatten((sound, resource, options) => {
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
      }),
  ),
  mutant(
    'moves the watermark with each page, and forgets a killed walk',
    { from: 9, days: 1, says: /a whole sync of notes .* left record/ },
    () =>
      breaking('engine/run/walkstore').pageStatements((sound, walk, commit, memory) => {
        const { progress, outcome } = commit
        if (outcome || !progress) return sound(walk, commit, memory)
        const moved = walk.cursor.warehouse.db
          .updateTable('sync_cursors')
          .set({ walk: null, watermark: progress.ceiling, planned_watermark: progress.ceiling })
          .where('tenant_id', '=', walk.cursor.tenantId)
          .where('resource', '=', walk.cursor.resource.name)
        return [...sound(walk, commit, memory), moved.compile()]
      }),
  ),
  mutant('starts walks at the watermark, without the overlap', { from: 0, days: 2, says: lost }, () =>
    breaking('engine/run/resumecursor').floorOf((sound, watermark) => sound(watermark, 0)),
  ),
  mutant(
    'reports deletions, but marks nothing',
    { from: 0, days: 2, says: /a whole reconcile of .* left record/ },
    () => breaking('engine/run/tombstone').markDeleted(async (_sound, _warehouse, _task, gone) => [...gone]),
  ),
  mutant(
    'reports ok for a run with skipped cursors',
    { from: 4, days: 1, says: /less than whole, and not said/ },
    () =>
      breaking('engine/run/runend').reportOf((sound, ...given) => ({
        ...sound(...given),
        status: 'ok',
      })),
  ),
  mutant(
    'continues at an address that nobody has adopted',
    { from: 20, days: 1, says: /an address that nobody has adopted/ },
    () =>
      breaking('engine/warehouse/sourceidentity').checkSourceIdentity((sound, warehouse, asked) =>
        sound(warehouse, asked).catch(() => undefined),
      ),
  ),
]
