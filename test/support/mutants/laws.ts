/**
 * The laws of the design, and what breaks each of them: one function of the program at a time, with a case stored in
 * test/laws/pins that has to reveal the fault. `npm run pins` searches for such cases.
 */
import { fromMicros } from '../../../src/engine/base/timestamp.js'
import type { Balance, Counted } from '../../../src/engine/list/standing.js'
import type { Version } from '../../../src/engine/warehouse/versionbatch.js'
import { type Breakage, breaking } from './breakage.js'

export interface LawMutant {
  readonly law: string
  /** What the broken function does. */
  readonly broken: string
  readonly breakage: Breakage
  /** A file of test/support/world/laws, and the kind of its cases, one of which reveals the fault. */
  readonly played: string
  readonly cases: string
  /** The file in test/laws/pins. */
  readonly pin: string
  /** The law's error. */
  readonly says: RegExp
}

/** The counts of a book that closes, with the same records seen. */
const closed = ({ distinct }: Balance): Counted => ({
  balance: { first: distinct, last: distinct, distinct, entered: 0, fallen: 0 },
  ...{ isDoubtful: false, hasVanished: false, isLate: false, hasTies: false },
})

const misled = /^Error: (Wrong |Lost|Still not (done|equal)|Record \d+ (was rolled back|is there))/

/** Later than every request. */
const forever = '~'

/** Takes each stored version for a different one. */
const storedAs = (taken: (version: Version) => Version): Breakage =>
  breaking('engine/warehouse/session').SharedSession.versions(async (sound, ...given) => {
    const versions = await sound(...given)
    return new Map([...versions].map(([id, version]) => [id, taken(version)]))
  })

const replay = { law: '1 Replay', played: 'order', cases: 'replay', says: /Law 1/ }
const order = { law: '2 Order', played: 'order', cases: 'order', says: /Law 2/ }
const crash = { law: '3 Crash', played: 'crash', cases: 'commits', says: /Law 3/ }
const dialects = { law: '4 Dialects', played: 'dialects', cases: 'any', says: /Law 4/ }
const watermark = { law: '5 Watermark', played: 'motion', cases: 'any', says: /Law 5/ }
const motion = { law: '6 Motion', played: 'motion', cases: 'any', says: misled }
const honest = { law: '9 Books', played: 'motion', cases: 'any', says: misled }

const pinned = (
  law: Pick<LawMutant, 'law' | 'played' | 'cases' | 'says'>,
  pin: string,
  broken: string,
  breaks: () => Breakage,
): LawMutant => ({ ...law, pin, broken, breakage: breaks() })

export const laws: readonly LawMutant[] = [
  pinned(
    replay,
    'register-entered-twice',
    'enters the whole page in the register each time it is applied',
    () =>
      breaking('engine/warehouse/register/register').enterRows((sound, db, key, row, rows) => {
        const { page } = key as unknown as { page?: { records: NonNullable<typeof rows.came> } }
        return sound(db, key, row, page ? { ...rows, came: page.records } : rows)
      }),
  ),
  pinned(
    order,
    'ties-without-a-guard',
    'lets an earlier request win if two versions have the same updated_at',
    () => storedAs((version) => ({ ...version, syncedAt: '' })),
  ),
  pinned(crash, 'progress-before-rows', 'commits the progress of a page before its rows', () =>
    breaking('engine/warehouse/warehouse').Warehouse.apply(async function (sound, batch) {
      await this.write(batch.statements)
      return sound({ ...batch, statements: [] })
    }),
  ),
  pinned(dialects, 'children-kept-on-sqlite', 'keeps, on SQLite, the children that a new version lacks', () =>
    breaking('engine/warehouse/sqlite/session').SqliteSession.prune(async () => 0),
  ),
  pinned(watermark, 'watermark-with-the-first-page', 'moves the watermark with the first page', () =>
    breaking('engine/run/walkstore').pageStatements((sound, walk, commit, memory) => {
      const { progress, outcome } = commit
      if (outcome || !progress) return sound(walk, commit, memory)
      const { db } = walk.cursor.warehouse
      const { tenantId, resource } = walk.cursor.key
      const early = db
        .insertInto('sync_cursors')
        .values({ tenant_id: tenantId, resource, watermark: progress.ceiling })
        .onConflict((c) => c.columns(['tenant_id', 'resource']).doUpdateSet({ watermark: progress.ceiling }))
      return [...sound(walk, commit, memory), early.compile()]
    }),
  ),
  pinned(
    { ...motion, cases: 'deletesBehind' },
    'no-stepping-back',
    "doesn't notice that the total decreased, so the walk doesn't step back",
    () => breaking('engine/list/count').fallen(() => 0),
  ),
  pinned(
    { ...motion, cases: 'tiedBehind' },
    'watermark-of-the-last-response',
    'takes the newest record of all responses as the watermark, not that of the first',
    () =>
      breaking('engine/list/evidence').judgeReading((sound, reading, ...rest) => {
        const outcome = sound(reading, ...rest)
        return { ...outcome, ceiling: reading.walk.newest || outcome.ceiling }
      }),
  ),
  pinned(motion, 'no-overlap', 'starts walks at the watermark, without the overlap', () =>
    breaking('engine/run/resumecursor').floorOf((sound, from) => sound(from, 0)),
  ),
  pinned(motion, 'equal-version-kept', 'never overwrites an equal version', () =>
    storedAs((version) => ({ ...version, syncedAt: forever })),
  ),
  pinned(
    { ...motion, cases: 'shuffledTies' },
    'ties-not-read-again',
    "doesn't read again what ties hide",
    () => breaking('engine/list/books').Book.isShort(() => false),
  ),
  pinned(
    motion,
    'no-count-and-ties',
    "doesn't read a list without a count often enough for what ties hide",
    () => breaking('engine/list/walkstate').mayReadOn(() => false),
  ),
  pinned(
    { ...motion, cases: 'comparisons' },
    'deletions-not-asked-for',
    'takes what a list lacks for deleted, without asking for it by id',
    () =>
      breaking('engine/run/confirm').Confirmation.ask(async (_sound, candidates) => ({
        gone: candidates.map((one) => ({ ...one, askedAt: fromMicros(BigInt(Date.now()) * 1000n) })),
        moved: [],
      })),
  ),
  pinned(
    { ...motion, cases: 'histories' },
    'deletions-not-marked',
    'reports deletions, but marks nothing',
    () => breaking('engine/run/tombstone').markDeleted(async (_sound, _warehouse, _task, gone) => [...gone]),
  ),
  pinned(honest, 'books-not-closed', "trusts books that aren't closed", () =>
    breaking('engine/list/books').Book.counted(function () {
      return closed(this.balance())
    }),
  ),
  pinned(
    honest,
    'books-closed-at-least',
    'closes the books if at least as many records were seen as exist',
    () =>
      breaking('engine/list/books').Book.counted(function (sound) {
        const balance = this.balance()
        return balance.distinct >= balance.last ? closed(balance) : sound()
      }),
  ),
  pinned(honest, 'ties-unnoticed', 'ignores ties that two responses share', () =>
    breaking('engine/list/ties').TieWatch.follow(() => {}),
  ),
  pinned({ ...honest, cases: 'exchanges' }, 'late-unthought-of', 'ignores that records may come late', () =>
    breaking('engine/run/resumecursor').walkPlan((sound, ...given) => {
      const { nextFloor: _, ...blind } = sound(...given)
      return blind
    }),
  ),
  pinned({ ...honest, cases: 'exchanges' }, 'zone-not-read-again', "doesn't read the late zone again", () =>
    breaking('engine/list/books').Book.needsZone(() => false),
  ),
  pinned(
    { ...honest, cases: 'wideZone' },
    'older-part-whole',
    'treats the part behind the late zone as complete',
    () => breaking('engine/list/olderpart').OlderPart.isWhole(() => true),
  ),
]
