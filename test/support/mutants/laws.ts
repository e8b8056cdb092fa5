/**
 * The laws of the design, and what breaks each of them: one function of the program at a time, with a case stored in
 * test/laws/pins that has to reveal the fault. `sh tools/pins.sh` searches for such cases.
 */
import { fromMicros } from '../../../src/engine/base/timestamp.js'
import type { Balance, Counted } from '../../../src/engine/list/standing.js'
import type { Version } from '../../../src/engine/warehouse/store/versionbatch.js'
import { type Breakage, breaking, type Mutants } from './breakage.js'

export interface LawMutant {
  readonly law: string
  readonly breakage: Breakage
  /** A file of test/support/world/laws, and the kind of its cases, one of which reveals the fault. */
  readonly played: string
  readonly cases: string
  /** The file in test/laws/pins, and what is broken in short; docs/dev/promises.md has the words. */
  readonly pin: string
  /** The law's error. */
  readonly says: RegExp
}

/** The counts of a book that closes, with the same records seen. */
const closed = ({ distinct }: Balance): Counted => ({
  balance: { first: distinct, last: distinct, distinct, entered: 0, fallen: 0 },
  isDoubtful: false,
  vanished: 0,
  isLate: false,
  hasTies: false,
})

const misled = /^Error: (Wrong |Lost|Still not (done|equal)|Record \d+ (was rolled back|is there))/

/** Later than every request. */
const forever = '~'

/** Takes each stored version for a different one. */
const storedAs = (taken: (version: Version) => Version): Breakage =>
  breaking('engine/warehouse/store/session').SharedSession.versions(async (sound, ...given) => {
    const versions = await sound(...given)
    return new Map([...versions].map(([id, version]) => [id, taken(version)]))
  })

/** Mutants of a law, by their pins. `where`: a file of the laws, and the kind of its cases. */
function ofLaw(law: string, where: string, says: RegExp, mutants: Mutants): LawMutant[] {
  const [played = '', cases = ''] = where.split(' ')
  return Object.entries(mutants).map(([pin, breaks]) => ({
    law,
    played,
    cases,
    says,
    pin,
    breakage: breaks(),
  }))
}

export const laws: readonly LawMutant[] = [
  ...ofLaw('1 Replay', 'order replay', /Law 1/, {
    'register-entered-twice': () =>
      breaking('engine/warehouse/store/register').enterRows((sound, db, key, rows) => {
        const { page } = key as unknown as { page?: { records: readonly unknown[] } }
        return sound(db, key, page ? { ...rows, came: page.records.length } : rows)
      }),
  }),
  ...ofLaw('2 Order', 'order order', /Law 2/, {
    'ties-without-a-guard': () => storedAs((version) => ({ ...version, syncedAt: '' })),
  }),
  ...ofLaw('3 Crash', 'crash commits', /Law 3/, {
    'progress-before-rows': () =>
      breaking('engine/warehouse/warehouse').Writer.apply(async function (sound, batch) {
        await this.write(batch.statements)
        return sound({ ...batch, statements: [] })
      }),
  }),
  ...ofLaw('4 Dialects', 'dialects any', /Law 4/, {
    'children-kept-on-sqlite': () =>
      breaking('engine/warehouse/sqlite/session').SqliteSession.prune(async () => 0),
  }),
  ...ofLaw('5 Watermark', 'motion any', /Law 5/, {
    'watermark-with-the-first-page': () =>
      breaking('engine/run/walkstore').pageStatements((sound, walk, commit, memory) => {
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
      }),
  }),
  ...ofLaw('6 Motion', 'motion any', misled, {
    'no-stepping-back': () => breaking('engine/list/count').fallen(() => 0),
    'watermark-of-the-last-response': () =>
      breaking('engine/list/evidence').judgeReading((sound, reading, ...rest) => {
        const outcome = sound(reading, ...rest)
        return { ...outcome, ceiling: reading.walk.newest || outcome.ceiling }
      }),
    'no-overlap': () => breaking('engine/run/resumecursor').floorOf((sound, from) => sound(from, 0)),
    'equal-version-kept': () => storedAs((version) => ({ ...version, syncedAt: forever })),
    'no-count-and-ties': () => breaking('engine/list/walkstate').mayReadOn(() => false),
    'ties-not-read-again': () => breaking('engine/list/books').Book.isShort(() => false),
  }),
  ...ofLaw('6 Motion', 'motion comparisons', misled, {
    'deletions-not-asked-for': () =>
      breaking('engine/run/confirm').Confirmation.ask(async (_sound, candidates) => ({
        gone: candidates.map((one) => ({ ...one, askedAt: fromMicros(BigInt(Date.now()) * 1000n) })),
        moved: [],
      })),
  }),
  ...ofLaw('6 Motion', 'motion histories', misled, {
    'deletions-not-marked': () =>
      breaking('engine/run/tombstone').markDeleted(async (_sound, _warehouse, _task, gone) => [...gone]),
  }),
  ...ofLaw('9 Books', 'motion any', misled, {
    'books-not-closed': () =>
      breaking('engine/list/books').Book.counted(function () {
        return closed(this.balance())
      }),
    'books-closed-at-least': () =>
      breaking('engine/list/books').Book.counted(function (sound) {
        const balance = this.balance()
        return balance.distinct >= balance.last ? closed(balance) : sound()
      }),
    'ties-unnoticed': () => breaking('engine/list/ties').TieWatch.follow(() => {}),
  }),
  ...ofLaw('9 Books', 'motion exchanges', misled, {
    'late-unthought-of': () =>
      breaking('engine/run/resumecursor').walkPlan((sound, ...given) => {
        const { nextFloor: _, ...blind } = sound(...given)
        return blind
      }),
    'zone-not-read-again': () => breaking('engine/list/books').Book.needsZone(() => false),
    'gone-counted-as-seen': () => breaking('engine/list/books').Book.vanished(() => {}),
  }),
  ...ofLaw('9 Books', 'motion wideZone', misled, {
    'older-part-whole': () => breaking('engine/list/olderpart').OlderPart.isWhole(() => true),
  }),
]
