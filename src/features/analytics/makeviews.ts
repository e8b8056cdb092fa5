/**
 * Makes the views of schema/views/ in a warehouse whose tables are up to date, and makes those again whose declaration
 * or configuration has changed. If a relation of the user's own has the same name, it is reported and left alone.
 * `migrate` calls this, and so does every command that writes, unless warehouse.autoMigrate is false.
 */
import { createHash } from 'node:crypto'
import { allSettled } from '../../engine/base/allsettled.js'
import { Skip } from '../../engine/base/errors.js'
import type { Dialect } from '../../engine/warehouse/dialect.js'
import { tablesToRewrite } from '../../engine/warehouse/layout/rewrites.js'
import { metaQuery, storeMeta } from '../../engine/warehouse/state/meta.js'
import { halfComputed } from '../../engine/warehouse/store/recompute.js'
import {
  type RunStatement,
  type ViewStore,
  type ViewTrouble,
  viewEdition,
  type WantedView,
} from '../../engine/warehouse/views/viewstore.js'
import type { Warehouse, Writer } from '../../engine/warehouse/warehouse.js'
import { isOutdatedCalendar } from './calendar.js'
import type { ViewSettings } from './viewwords.js'

export interface ViewsWanted extends ViewSettings {
  /** `report.schema`; undefined: the warehouse's default. */
  readonly schema?: string | undefined
  /** A digest of all that the views are made from: equal texts make equal views. undefined: nobody knows. */
  readonly inputs?: string | undefined
  /** Whether the warehouse belongs to the configured source: nothing is remembered in another one. */
  readonly belongsHere?: () => Promise<boolean>
}

/** What was made or would be, and what could not be. */
export interface ViewsMade {
  readonly made: readonly { readonly table: string; readonly what: string }[]
  readonly troubles: readonly ViewTrouble[]
  /** The rows or the days that some views read have to be made first. */
  readonly isPostponed?: true | undefined
}

/**
 * What is remembered of a view: its declared text when it was made, and the text the database then showed. Under
 * `inputsName`: what all of them were made from, once none was stale.
 */
type Remembered = Readonly<Record<string, { readonly wanted: string; readonly made: string }>>

const inputsName = ' inputs'

const digestOf = (value: unknown): string =>
  createHash('sha256').update(JSON.stringify(value)).digest('hex').slice(0, 20)

const digestOfView = (view: WantedView): string => digestOf([viewEdition, view])

/** What is remembered of the views themselves: a program that knows no inputs may have made them again. */
const digestOfAll = (known: Remembered): string =>
  digestOf(
    Object.entries(known)
      .filter(([name]) => name !== inputsName)
      .sort(([a], [b]) => (a < b ? -1 : 1)),
  )

/** The same, made from these inputs. */
const madeFrom = (inputs: string, known: Remembered): Remembered => ({
  ...known,
  [inputsName]: { wanted: inputs, made: digestOfAll(known) },
})

/** Making the texts takes 5 % of a run that finds nothing new, so a run that needs none doesn't load what makes them. */
async function wantedViews(
  warehouse: Warehouse,
  store: ViewStore,
  settings: ViewsWanted,
): Promise<WantedView[]> {
  const { declaredViews } = await import('./declaredviews.js')
  return [...declaredViews(store, settings), ...store.published(warehouse.tables)]
}

async function remembered({ db }: Dialect, store: ViewStore, run: RunStatement): Promise<Remembered> {
  const { rows } = await run(metaQuery(db, store.memory).compile())
  return rows[0]?.value ? (JSON.parse(rows[0].value) as Remembered) : {}
}

/** A user's own relation of that name is never replaced. */
const isOurs = ({ known, live }: ViewsFound, name: string): boolean =>
  !live.has(name) || live.get(name) === known[name]?.made

const whatOf = ({ live }: Pick<ViewSurvey, 'live'>, name: string): string =>
  live.has(name) ? 'replace view' : 'create view'

const inTheWay = (name: string, store: ViewStore): ViewTrouble => ({
  message: `The view ${name} was not made: something of that name, which shopsync did not make, is in ${store.where}`,
  hint: `Rename or drop ${name} there, then type shopsync migrate`,
})

interface ViewsFound {
  readonly known: Remembered
  readonly live: ReadonlyMap<string, string>
}

interface ViewSurvey extends ViewsFound {
  readonly stale: readonly WantedView[]
}

const foundViews = async (
  warehouse: Warehouse,
  store: ViewStore,
  run: RunStatement,
): Promise<ViewsFound> => ({
  known: await remembered(warehouse.dialect, store, run),
  live: await store.live(run),
})

/** Whether every view is as it was made, from the same as now. */
const areAsMade = ({ known, live }: ViewsFound, { inputs }: ViewsWanted): boolean =>
  inputs !== undefined &&
  known[inputsName]?.wanted === inputs &&
  known[inputsName].made === digestOfAll(known) &&
  Object.entries(known).every(([name, { made }]) => name === inputsName || live.get(name) === made)

/** What has to be made, compared with what exists. */
function survey({ known, live }: ViewsFound, wanted: readonly WantedView[]): ViewSurvey {
  const stale = wanted.filter((view) => {
    const last = known[view.name]
    return last === undefined || last.wanted !== digestOfView(view) || live.get(view.name) !== last.made
  })
  return { known, live, stale }
}

/** Makes the stale views in the current transaction. */
async function makeStale(
  warehouse: Warehouse,
  store: ViewStore,
  { wanted, inputs }: { readonly wanted: readonly WantedView[]; readonly inputs: string | undefined },
  run: RunStatement,
): Promise<ViewsMade> {
  const found = survey(await foundViews(warehouse, store, run), wanted)
  const { known, stale } = found
  const troubles: ViewTrouble[] = []
  const made: { name: string; what: string; digest: string }[] = []
  for (const view of stale) {
    const { name } = view
    const trouble = isOurs(found, name) ? await store.make(run, view) : inTheWay(name, store)
    if (trouble) troubles.push(trouble)
    else made.push({ name, what: whatOf(found, name), digest: digestOfView(view) })
  }
  if (made.length > 0) {
    await store.tidy(run)
    const after = await store.live(run)
    const fresh = made.map(({ name, digest }) => [name, { wanted: digest, made: after.get(name) ?? '' }])
    const now = madeFrom(troubles.length === 0 ? (inputs ?? '') : '', {
      ...known,
      ...Object.fromEntries(fresh),
    })
    await run(storeMeta(warehouse.db, store.memory, JSON.stringify(now)))
  }
  return { made: made.map(({ name, what }) => ({ table: name, what })), troubles }
}

/** If a table lacks a column or is locked by someone else, only the views are affected: rows are still synced. */
const troubleOfTable = (error: unknown): ViewTrouble | undefined =>
  error instanceof Skip
    ? {
        message: `The views for analysts stay as they were: ${error.message}`,
        hint: error.hint ?? 'Type shopsync migrate',
      }
    : undefined

/** The views are what they would be if they were made now: the next run doesn't compare their texts. */
async function allAsMade(
  warehouse: Writer,
  store: ViewStore,
  { known }: ViewsFound,
  { inputs, belongsHere = async () => true }: ViewsWanted,
): Promise<ViewsMade> {
  if (inputs === undefined) return { made: [], troubles: [] }
  const now = madeFrom(inputs, known)
  if (digestOf(now) !== digestOf(known) && (await belongsHere()))
    await warehouse.write([storeMeta(warehouse.db, store.memory, JSON.stringify(now))])
  return { made: [], troubles: [] }
}

/** The tables whose rows are still being filled, or could not be changed. Others' changes never wait for them. */
async function waitingTables(warehouse: Warehouse, { model }: ViewsWanted): Promise<string[]> {
  const [rewritten, half] = await allSettled([tablesToRewrite(warehouse), halfComputed(warehouse, model)])
  const refused = warehouse.interfered.allUnchanged().flatMap(({ details }) => details.table ?? [])
  return [...rewritten, ...half, ...refused]
}

/** Takes two short queries if nothing has changed. Never throws for problems that only affect the views. */
export async function makeViews(warehouse: Writer, settings: ViewsWanted): Promise<ViewsMade> {
  const { dialect } = warehouse
  const store = dialect.views(settings.schema)
  const ask: RunStatement = (query) => warehouse.read((db) => db.executeQuery(query))
  const found = await foundViews(warehouse, store, ask)
  if (areAsMade(found, settings)) return { made: [], troubles: [] }
  const wanted = await wantedViews(warehouse, store, settings)
  const { stale } = survey(found, wanted)
  if (stale.length === 0) return allAsMade(warehouse, store, found, settings)
  // Until then the existing views stay: they read nothing that is still being filled, so they stay correct.
  if (await isOutdatedCalendar(warehouse)) return { made: [], troubles: [], isPostponed: true }
  const waiting = (await waitingTables(warehouse, settings)).map((name) => store.sql.table(name))
  const ready = wanted.filter(({ query }) => !waiting.some((table) => query.includes(table)))
  const isPostponed = stale.some((view) => !ready.includes(view)) || undefined
  const now = stale.filter((view) => ready.includes(view))
  if (now.length === 0) return { made: [], troubles: [], isPostponed }
  const obstacle = await store.obstacle(ask)
  if (obstacle) return { made: [], troubles: [obstacle] }
  try {
    const ours = now.filter(({ name }) => isOurs(found, name))
    for (const query of await store.beforehand(ask, ours))
      await warehouse.transaction((session) => session.run(query))
    return await warehouse.transaction(async (session) => {
      await dialect.catalog.prepare(session)
      const run: RunStatement = (query) => session.run(query)
      await store.prepare(run)
      const inputs = isPostponed ? undefined : settings.inputs
      return { ...(await makeStale(warehouse, store, { wanted: ready, inputs }, run)), isPostponed }
    })
  } catch (error) {
    const trouble = store.troubleOf(error) ?? troubleOfTable(error)
    if (!trouble) throw error
    return { made: [], troubles: [trouble] }
  }
}

/**
 * What `makeViews` would make and what is in its way, as far as a read can show. Users' views that depend on ours only
 * come to light when ours are made.
 */
export async function plannedViews(warehouse: Warehouse, settings: ViewsWanted): Promise<ViewsMade> {
  const store = warehouse.dialect.views(settings.schema)
  const ask: RunStatement = (query) => warehouse.read((db) => db.executeQuery(query))
  const known = (await warehouse.has('sync_meta')) ? await remembered(warehouse.dialect, store, ask) : {}
  const live = await store.live(ask)
  if (areAsMade({ known, live }, settings)) return { made: [], troubles: [] }
  const found = survey({ known, live }, await wantedViews(warehouse, store, settings))
  const names = found.stale.map(({ name }) => name)
  if (names.length === 0) return { made: [], troubles: [] }
  const obstacle = await store.obstacle(ask)
  if (obstacle) return { made: [], troubles: [obstacle] }
  return {
    made: names
      .filter((name) => isOurs(found, name))
      .map((name) => ({ table: name, what: whatOf(found, name) })),
    troubles: names.filter((name) => !isOurs(found, name)).map((name) => inTheWay(name, store)),
  }
}
