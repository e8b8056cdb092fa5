/** What a premise of docs/guarantees.md rests on in the program. */
import { sql } from 'kysely'
import { judged } from '../../../src/engine/list/verdict.js'
import { wholeOutcome } from '../../../src/engine/run/cursorwork.js'
import type { Transport } from '../../../src/engine/source/http/transport.js'
import { breaking, type Mutants } from './breakage.js'

/** As thrown by code that knows nothing of error classes. */
const unclassed = (error: unknown): Error => (error instanceof Error ? error : new Error(String(error)))

export const premises: Mutants = {
  "doesn't check what its commits rest on": () =>
    breaking('engine/warehouse/lease/fence').checkFence(async () => {}),
  "doesn't notice that the database is another one": () =>
    breaking('engine/warehouse/lease/fence').checkFence((sound, dialect, session, given) =>
      sound({ ...dialect, server: sql<string>`${given?.server ?? ''}` }, session, given),
    ),
  'lets programs that stay up go on with what they remember of another database': () =>
    breaking('engine/warehouse/lease/fence').isEarlier(() => false),
  "doesn't notice that tables were dropped and made again from a dump": () =>
    breaking('engine/warehouse/lease/fence', 'postgres').checkFence(async () => {}),
  'makes a new warehouse of an empty file in its place': () =>
    breaking('shell/stayup').Opening.warehouse(function (sound) {
      Object.defineProperty(this, 'isFirst', { value: true })
      return sound()
    }),
  "doesn't look at the file": () => breaking('engine/warehouse/sqlite/file').NamedFile.isGone(() => false),
  'lets programs that stay up go on without their file': () =>
    breaking('shell/replaced').ReplacementWatch.isReplaced(async () => false),
  'follows a clock that jumps': () => breaking('engine/base/clock').Stamps.hold(() => {}),
  'leaves stamps behind a clock that leaped until the next heartbeat': () =>
    breaking('engine/base/clock').Stamps.hold((sound, until) => sound(until)),
  'trusts the newest updated_at of a response, whatever the clocks show': () =>
    breaking('engine/list/clocks', 'daily').ceilingOf((sound, { observed }) => sound({ observed })),
  'requests whole lists from 1970 on': () =>
    breaking('engine/run/wholelists', 'daily').Beginning.ask((_sound, send) => send('1970-01-01T00:00:00Z')),
  'walks from the stored watermark, whatever the clocks show': () =>
    breaking('engine/run/stampsahead', 'daily').believedWatermark(async (_sound, _cursor, stored) => stored),
  'takes the floor of a first load for a watermark': () =>
    breaking('engine/list/walkstate', 'daily').ceilingReached((_sound, ceiling) => ceiling),
  "leaves the walk's own late records out of complete_through": () =>
    breaking('engine/run/lateness', 'daily').completeThrough((sound, began, known) => sound(began, known)),
  'reads the late zone again in every walk': () => breaking('engine/list/books').Book.needsZone(() => true),
  'treats a tenant that is missing from a short list as revoked': () =>
    breaking('engine/run/authorizations', 'daily').saysWhoIsGranted(() => true),
  "doesn't know which resources have ever answered": () =>
    breaking('engine/run/absence', 'daily').explainAbsence((sound, { tenant, resource }, error) =>
      sound({ tenant, resource, state: undefined }, error),
    ),
  "never takes a list's rest for over": () =>
    breaking('features/targets/restinglists').restingLists((sound, warehouse, nowMs, waits) =>
      sound(warehouse, nowMs, { ...waits, atLeast: Number.POSITIVE_INFINITY }),
    ),
  'accepts that nothing is granted': () =>
    breaking('engine/run/askauthorizations', 'daily').firstAuthorizations(async (sound, ask) => ({
      ...(await sound(ask)),
      reason: null,
    })),
  'prints nothing with --quiet, not even what needs attention': () =>
    breaking('shell/output').Output.complain(() => {}),
  'opens a warehouse for reading as if for writing': () =>
    breaking('engine/warehouse/openwarehouse').openDialect((sound, options) =>
      sound({ ...options, existing: false }),
    ),
  'counts what goes to quarantine again for every request': () =>
    breaking('engine/run/runend', 'daily').withQuarantine(async (_sound, _context, end) => end),
  'continues although the warehouse belongs to another source': () =>
    breaking('engine/warehouse/state/sourceidentity', 'daily').checkSourceIdentity(
      (sound, warehouse, asked) => sound(warehouse, asked).catch(() => undefined),
    ),
  'never notices that the source behaves differently': () =>
    breaking('features/check/probe').changesBetween(() => []),
  'works in any time zone': () => breaking('engine/warehouse/postgres/sessiontime').checkZone(() => {}),
  'leaves the search path to the role and the database': () =>
    breaking('engine/warehouse/postgres/connection').connecting((sound, ...given) => {
      const { config, ...more } = sound(...given)
      return { config: { ...config, options: '-c DateStyle=ISO' }, ...more }
    }),
  'sends statements that need no transaction without one, behind a pooler too': () =>
    breaking('engine/warehouse/postgres/connectionpool').settledPool((sound, of) => sound(of, false)),
  'fails where two make the same at the same moment, without a lock that others can take': () =>
    breaking('engine/warehouse/postgres/drivererrors').isMadeMeanwhile(() => false),
  'believes every expiry, however far away': () =>
    breaking('engine/warehouse/lease/holder').isOver(
      (_sound, expiresAt, now) => expiresAt === null || expiresAt <= now,
    ),
  'treats anything in the future as fresh': () =>
    breaking('engine/base/format', 'daily').isOlderThan(
      (_sound, timestamp, nowMicros, milliseconds) =>
        Number(nowMicros) / 1000 - Date.parse(timestamp) > milliseconds,
    ),
  'waits for the end of a response as long as bytes come': () =>
    breaking('engine/source/http/transport').Transport.get(function (sound, ...given) {
      const its = this as unknown as {
        options: ConstructorParameters<typeof Transport>[0]
      }
      its.options = { ...its.options, timeouts: { ...its.options.timeouts, request: 2 ** 30 } }
      return sound(...given)
    }),
  'reads no list completely for a missing table or column': () =>
    breaking('engine/warehouse/layout/layout', 'daily').consequencesOf((sound, ...given) => ({
      ...sound(...given),
      refills: new Map(),
    })),
  'reads no list again when a column left the configuration': () =>
    breaking('engine/warehouse/layout/trackedcolumns').trackedChanges(() => []),
  'knows no column that an earlier configuration left': () =>
    breaking('engine/warehouse/layout/trackedcolumns').leftColumns(() => ({})),
  'writes on with an older configuration': () =>
    breaking('engine/warehouse/lease/oneconfiguration', 'daily').RowSettings.check(() => {}),
  'forgets which configuration it has stored': () =>
    breaking('engine/warehouse/lease/oneconfiguration', 'daily').RowSettings.stored(() => {}),
  "doesn't compare the settings of features": () =>
    breaking('engine/model/rowsettings').rowSettingsText((sound, model) => sound(model, {})),
  'never reads the configuration again': () =>
    breaking('shell/stayup').stayUp((sound, invocation, work) =>
      sound(invocation, (given, opening) =>
        work(given, opening).catch((error) => Promise.reject(new Error(String(error)))),
      ),
    ),
  "doesn't notice numbers that a double rounds": () =>
    breaking('engine/source/http/longnumbers', 'daily').mayRound(() => false),
  'uses the nearest double for a number, however far off it is': () =>
    breaking('engine/base/numbertoken', 'sqlite').nearDouble((_sound, text) => Number(text)),
  "can't tell an error of one table from other errors of Postgres": () =>
    breaking('engine/warehouse/postgres/drivererrors', 'postgres').classify((_sound, error) =>
      unclassed(error),
    ),
  "can't tell an error of one table from other errors of SQLite": () =>
    breaking('engine/warehouse/sqlite/drivererrors', 'sqlite').classify((_sound, error) => unclassed(error)),
  "doesn't know which table the statement was about that the database refused": () =>
    breaking('engine/warehouse/classify').ofStatement((_sound, error) => error),
  "lets a table that can't be changed end the run": () =>
    breaking('engine/warehouse/layout/interference').refusalOf(() => undefined),
  'ends the run if the zones of the shops cannot be read': () =>
    breaking('engine/warehouse/store/learnedrules', 'postgres').unreadableRules((_sound, error) => {
      throw error
    }),
  "doesn't know which table a migration was changing": () =>
    breaking('engine/warehouse/classify', 'postgres').ofTable((_sound, error) => error),
  "doesn't read back what it wrote to a table that has a trigger": () =>
    breaking('engine/warehouse/layout/interference').checkStored(async () => {}),
  "doesn't look for what was added to a table that it can't write": () =>
    breaking('engine/warehouse/layout/interference').InterferedTables.explained(
      async (_sound, error) => error,
    ),
  'believes that a row is marked as deleted because it said so': () =>
    breaking('engine/run/tombstone').checkMarked(async () => {}),
  "doesn't ask whether rows may be hidden": () =>
    breaking('engine/warehouse/layout/interference', 'postgres').InterferedTables.refuseHidden(
      async () => {},
    ),
  'goes on with a database in any encoding': () =>
    breaking('engine/warehouse/openwarehouse', 'postgres').refuseNarrow(
      async (_sound, warehouse) => warehouse,
    ),
  'sends keys of any length': () => breaking('engine/model/flatten/slowpath').isKey(() => true),
  'waits forever on a connection that has gone silent': () =>
    breaking('engine/warehouse/postgres/connectionpool').endSilentConnections((sound, pool, options) =>
      sound(pool, options, 2 ** 30),
    ),
  'treats the end of the time limit as a signal': () =>
    breaking('engine/run/ending').endingOf((sound, signal) => sound(signal) && 'interrupted'),
  "doesn't report that it was told to wait too long": () =>
    breaking('engine/source/rate/wait').tooLong((sound, ...given) => {
      const skip = sound(...given)
      return Object.assign(skip, { details: { ...skip.details, code: undefined } })
    }),
  'leaves deleted rows in the SQLite file, and reports that nothing is left': () =>
    breaking('engine/warehouse/sqlite/erase', 'sqlite').withoutTraces(() => ({
      left: null,
      elsewhere: 'nowhere',
    })),
  'leaves dead versions in the tables of Postgres, and reports that nothing is left': () =>
    breaking('engine/warehouse/postgres/erase', 'postgres').vacuum(async () => ({
      left: null,
      elsewhere: 'nowhere',
    })),
  "keeps the planner's statistics of a table that is empty afterwards": () =>
    breaking('engine/warehouse/postgres/erase', 'postgres').clearStatistics(async () => undefined),
  "doesn't know who was forgotten": () =>
    breaking('engine/warehouse/state/tenants', 'daily').readForgotten(async () => new Set()),
  'treats every list as newest first': () =>
    breaking('engine/list/observed', 'daily').isOutOfOrder(() => false),
  'takes the second position of a record for that of another one, forever': () =>
    breaking('engine/list/evidence', 'daily').judgeReading((sound, ...given) => {
      const outcome = sound(...given)
      const isTwice = outcome.reason === 'listed_twice'
      return isTwice ? { ...outcome, verdict: 'unproven', reason: 'totals_disagree' } : outcome
    }),
  'forgets how often it has searched for records that are counted but never shown': () =>
    breaking('engine/list/memory', 'daily').recalled((sound, ...given) => {
      const { outcome, memory: whole } = sound(...given)
      const { surplus: _, ...rest } = whole
      return { outcome, memory: rest }
    }),
  'believes a list that hides half of its records once it was searched twice': () =>
    breaking('engine/list/verdict').isSettledAsHidden((_sound, { searches }) => searches >= 2),
  'reads nothing beyond the end that the total gives': () =>
    breaking('engine/list/closebooks', 'daily').lookPast(async () => undefined),
  'takes a page that is shorter than requested for the last one': () =>
    breaking('engine/list/pagesize', 'daily').PageSize.isFull(
      (_sound, { records }, perPage) => records >= perPage,
    ),
  'ignores the page that exists according to total_pages': () =>
    breaking('engine/list/pagesize', 'daily').PageSize.isFull((sound, { goesOn: _, ...page }, perPage) =>
      sound(page, perPage),
    ),
  "gives up on a page that doesn't answer, with all its records": () =>
    breaking('engine/run/isolate', 'daily').isolate((_sound, _source, _request, failure) =>
      Promise.reject(failure),
    ),
  'forgets that the list has to be read behind a page that answers again, if the walk is killed': () =>
    breaking('engine/run/retryhole', 'daily').retryHole(async (sound, ...given) => {
      const retried = await sound(...given)
      return { ...retried, toStore: retried.memory }
    }),
  'forgets the size of pages that arrive, so each run tries the larger ones again and again': () =>
    breaking('engine/run/retryhole', 'daily').withReadable(() => undefined),
  'never tries a larger page again': () =>
    breaking('engine/run/retryhole', 'daily').tryLarger((_sound, _list, memory) => Promise.resolve(memory)),
  "doesn't follow a source that was restored from a backup": () =>
    breaking('engine/run/sourceregression').askForRegressions(async (sound, ...given) => ({
      ...(await sound(...given)),
      older: [],
    })),
  "counts what came after a cursor's claim as a difference": () =>
    breaking('features/reconcile/dryrun').DryRun.counts((sound, ...given) => {
      const { newer, ...tally } = sound(...given)
      return { ...tally, missing: tally.missing + newer, newer: 0 }
    }),
  'calls a list of names complete that it has not read': () =>
    breaking('engine/run/nameslist', 'daily').NamesSync.run(async function () {
      return { ...this.progress, outcome: wholeOutcome(0) }
    }),
  'calls a range complete without comparing with its count': () =>
    breaking('engine/list/range', 'daily').RangeWalk.run(async (sound) => {
      const outcome = await sound()
      return judged({ basis: { by: 'page', missing: 0 } }, outcome)
    }),
  'believes any number of deletions': () =>
    breaking('engine/run/deletionguard', 'daily').DeletionGuard.trips(() => false),
  'reports nothing about records that could not be stored': () =>
    breaking('engine/run/cursorwalk', 'daily').CursorWalk.run(async (sound) => ({
      ...(await sound()),
      unstorable: 0,
    })),
  "doesn't look at the id of an answer, or whether it is a record": () =>
    breaking('engine/run/answerbyid', 'daily').otherThan(() => undefined),
  'ends the cursor at the first refusal': () =>
    breaking('engine/run/answerbyid', 'daily').answerOfFailure((_sound, error) => {
      throw error
    }),
  'ignores the configured time zone': () =>
    breaking('features/analytics/zones').refreshZones((sound, warehouse, settings) =>
      sound(warehouse, { ...settings, shopTimeZones: {} }),
    ),
  "doesn't check what is in the place of a view": () =>
    breaking('engine/warehouse/sqlite/views/viewstore', 'sqlite').viewStore((sound, ...given) => ({
      ...sound(...given),
      live: async () => new Map(),
    })),
  'removes nothing of the history of runs': () =>
    breaking('engine/run/prunehistory').pruneHistory(async () => {}),
}
