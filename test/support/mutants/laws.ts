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

const Book = breaking(() => import('../../../src/engine/list/books.js'))
/** The counts of a book that closes, with the same records seen. */
const closed = ({ distinct }: Balance): Counted => ({
  balance: { first: distinct, last: distinct, distinct, entered: 0, fallen: 0 },
  ...{ isDoubtful: false, hasVanished: false, isLate: false, hasTies: false },
})
const misled = /^Error: (Wrong |Lost|Still not done|Record \d+ (was rolled back|is there))/

/** Later than every request. */
const forever = '~'

/** Takes each stored version for a different one. */
const storedAs = (taken: (version: Version) => Version): Breakage =>
  breaking(() => import('../../../src/engine/warehouse/session.js')).method(
    'SharedSession',
    'versions',
    (sound) =>
      async function (...given) {
        const versions = await sound.apply(this, given)
        return new Map([...versions].map(([id, version]) => [id, taken(version)]))
      },
  )

const replay = { law: '1 Replay', played: 'order', cases: 'replay', says: /Law 1/ }
const order = { law: '2 Order', played: 'order', cases: 'order', says: /Law 2/ }
const crash = { law: '3 Crash', played: 'crash', cases: 'commits', says: /Law 3/ }
const dialects = { law: '4 Dialects', played: 'dialects', cases: 'any', says: /Law 4/ }
const watermark = { law: '5 Watermark', played: 'watermark', cases: 'any', says: /Law 5/ }
const motion = { law: '6 Motion', played: 'motion', cases: 'any', says: misled }
const unknown = { law: '7 Drift', played: 'drift', cases: 'any', says: /Law 7/ }
const cost = { law: '8 Cost', played: 'cost', cases: 'any', says: /Law 8/ }
const honest = { law: '9 Books', played: 'motion', cases: 'any', says: misled }

export const laws: readonly LawMutant[] = [
  {
    ...replay,
    broken: 'enters the whole page in the register each time it is applied',
    breakage: breaking(() => import('../../../src/engine/warehouse/register/register.js')).function(
      'enterRows',
      (sound) => (db, key, row, rows) => {
        const { page } = key as unknown as { page?: { records: NonNullable<typeof rows.came> } }
        return sound(db, key, row, page ? { ...rows, came: page.records } : rows)
      },
    ),
    pin: 'register-entered-twice',
  },
  {
    ...order,
    broken: 'lets an earlier request win if two versions have the same updated_at',
    breakage: storedAs((version) => ({ ...version, syncedAt: '' })),
    pin: 'ties-without-a-guard',
  },
  {
    ...crash,
    broken: 'commits the progress of a page before its rows',
    breakage: breaking(() => import('../../../src/engine/warehouse/warehouse.js')).method(
      'Warehouse',
      'apply',
      (sound) =>
        async function (batch) {
          await this.write(batch.statements)
          return sound.call(this, { ...batch, statements: [] })
        },
    ),
    pin: 'progress-before-rows',
  },
  {
    ...dialects,
    broken: 'keeps, on SQLite, the children that a new version lacks',
    breakage: breaking(() => import('../../../src/engine/warehouse/sqlite/session.js')).method(
      'SqliteSession',
      'prune',
      () => async () => 0,
    ),
    pin: 'children-kept-on-sqlite',
  },
  {
    ...watermark,
    broken: 'moves the watermark with the first page',
    breakage: breaking(() => import('../../../src/engine/run/walkstore.js')).function(
      'pageStatements',
      (sound) => (walk, commit, memory) => {
        const { progress, outcome } = commit
        if (outcome || !progress) return sound(walk, commit, memory)
        const { db } = walk.cursor.warehouse
        const { tenantId, resource } = walk.cursor.key
        const early = db
          .insertInto('sync_cursors')
          .values({ tenant_id: tenantId, resource, watermark: progress.ceiling })
          .onConflict((c) =>
            c.columns(['tenant_id', 'resource']).doUpdateSet({ watermark: progress.ceiling }),
          )
        return [...sound(walk, commit, memory), early.compile()]
      },
    ),
    pin: 'watermark-with-the-first-page',
  },
  {
    ...motion,
    cases: 'deletesBehind',
    broken: "doesn't notice that the total decreased, so the walk doesn't step back",
    breakage: breaking(() => import('../../../src/engine/list/count.js')).function('fallen', () => () => 0),
    pin: 'no-stepping-back',
  },
  {
    ...motion,
    cases: 'tiedBehind',
    broken: 'takes the newest record of all responses as the watermark, not that of the first',
    breakage: breaking(() => import('../../../src/engine/list/evidence.js')).function(
      'judgeReading',
      (sound) =>
        (reading, ...rest) => {
          const outcome = sound(reading, ...rest)
          return { ...outcome, ceiling: reading.walk.newest || outcome.ceiling }
        },
    ),
    pin: 'watermark-of-the-last-response',
  },
  {
    ...motion,
    broken: 'starts walks at the watermark, without the overlap',
    breakage: breaking(() => import('../../../src/engine/run/resumecursor.js')).function(
      'floorOf',
      (sound) => (from) => sound(from, 0),
    ),
    pin: 'no-overlap',
  },
  {
    ...motion,
    broken: 'never overwrites an equal version',
    breakage: storedAs((version) => ({ ...version, syncedAt: forever })),
    pin: 'equal-version-kept',
  },
  {
    ...motion,
    cases: 'shuffledTies',
    broken: "doesn't read again what ties hide",
    breakage: Book.getter('Book', 'isShort', () => () => false),
    pin: 'ties-not-read-again',
  },
  {
    ...motion,
    broken: "doesn't read a list without a count often enough for what ties hide",
    breakage: breaking(() => import('../../../src/engine/list/walkstate.js')).function(
      'mayReadOn',
      () => () => false,
    ),
    pin: 'no-count-and-ties',
  },
  {
    ...motion,
    cases: 'comparisons',
    broken: 'takes what a list lacks for deleted, without asking for it by id',
    breakage: breaking(() => import('../../../src/engine/run/confirm.js')).method(
      'Confirmation',
      'ask',
      () => async (candidates) => ({
        gone: candidates.map((one) => ({ ...one, askedAt: fromMicros(BigInt(Date.now()) * 1000n) })),
        moved: [],
      }),
    ),
    pin: 'deletions-not-asked-for',
  },
  {
    ...unknown,
    broken: 'reports again what was already reported',
    breakage: breaking(() => import('../../../src/engine/warehouse/drift.js')).function(
      'writeDrift',
      (sound) => async (db, session, stamps, entries) => {
        await sound(db, session, stamps, entries)
        return [...entries]
      },
    ),
    pin: 'drift-reported-twice',
  },
  {
    ...cost,
    broken: 'reads the whole list in each run',
    breakage: breaking(() => import('../../../src/engine/list/memory.js')).function(
      'isSearchDue',
      () => async () => true,
    ),
    pin: 'whole-list-each-run',
  },
  {
    ...honest,
    broken: "trusts books that aren't closed",
    breakage: Book.getter(
      'Book',
      'counted',
      () =>
        function () {
          return closed(this.balance())
        },
    ),
    pin: 'books-not-closed',
  },
  {
    ...honest,
    broken: 'closes the books if at least as many records were seen as exist',
    breakage: Book.getter(
      'Book',
      'counted',
      (sound) =>
        function () {
          const balance = this.balance()
          return balance.distinct >= balance.last ? closed(balance) : sound.call(this)
        },
    ),
    pin: 'books-closed-at-least',
  },
  {
    ...honest,
    broken: 'ignores ties that two responses share',
    breakage: breaking(() => import('../../../src/engine/list/ties.js')).method(
      'TieWatch',
      'follow',
      () => () => {},
    ),
    pin: 'ties-unnoticed',
  },
  {
    ...honest,
    cases: 'exchanges',
    broken: 'ignores that records may come late',
    breakage: breaking(() => import('../../../src/engine/run/resumecursor.js')).function(
      'walkPlan',
      (sound) =>
        (...given) => {
          const { nextFloor: _, ...blind } = sound(...given)
          return blind
        },
    ),
    pin: 'late-unthought-of',
  },
  {
    ...honest,
    cases: 'exchanges',
    broken: "doesn't read the late zone again",
    breakage: Book.getter('Book', 'needsZone', () => () => false),
    pin: 'zone-not-read-again',
  },
  {
    ...honest,
    cases: 'wideZone',
    broken: 'treats the part behind the late zone as complete',
    breakage: breaking(() => import('../../../src/engine/list/olderpart.js')).getter(
      'OlderPart',
      'isWhole',
      () => () => true,
    ),
    pin: 'older-part-whole',
  },
]
