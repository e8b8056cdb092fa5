/*
 * What others made or set on a table that keeps its rows from being stored as they were sent: a missing right, a trigger,
 * row-level security, a view in the table's place. The databases describe it (catalog.ts of
 * postgres/ and sqlite/); errors and `shopsync check` name it.
 */
import type { Int64 } from '../../../../schema/resource.js'
import { Retry, Skip, Stop } from '../../base/errors.js'
import { plural } from '../../base/format.js'
import type { ResourceModel } from '../../model/resourcemodel.js'
import type { Table } from '../../model/table.js'
import type { Dialect, Interference } from '../dialect.js'
import type { Batch } from '../store/versionbatch.js'
import type { Rows, Session } from '../transaction.js'
import { tablesBehind } from './layout.js'

function foundText(found: readonly Interference[]): string {
  const tables = [...new Set(found.map(({ table }) => table))]
  const problems = (of: string | undefined): string =>
    found.flatMap(({ table, problem }) => (table === of ? problem : [])).join(', ')
  return tables.map((table) => `Found on ${table}: ${problems(table)}`).join('. ')
}

/** What the database did to rows without an error. */
const unlike = (where: string, table: string, did: string, hint: string): Skip =>
  new Skip(`The warehouse ${where} ${did}, without an error`, {
    reason: 'failed',
    code: 'warehouse',
    table,
    hint,
  })

/** Rows that the database left out, or holds differently than they were sent, without an error. */
const notStored = (
  where: string,
  table: string,
  { stored, sent }: { readonly stored: number; readonly sent: number },
): Skip =>
  unlike(
    where,
    table,
    `changed or left out ${plural(sent - stored, 'row')} of ${table}, of ${sent} that were sent`,
    'Expected the database to store rows as they are sent: drop what was added to the table',
  )

/** Rows that the database kept although they were removed. */
export const notRemoved = (where: string, table: string, rows: number): Skip =>
  unlike(
    where,
    table,
    `kept ${plural(rows, 'row')} of ${table} that ${rows === 1 ? 'was' : 'were'} to be removed`,
    'Expected the database to remove rows: drop what was added to the table',
  )

/** Live rows that the database didn't mark as deleted. */
export const notMarked = (where: string, table: string, rows: number): Skip =>
  unlike(
    where,
    table,
    `did not mark ${plural(rows, 'row')} of ${table} as deleted, whose ${rows === 1 ? 'record is' : 'records are'} gone`,
    'Expected the database to update rows as it is told: drop what was added to the table',
  )

/** Of rows that may be hidden, it can't be said whether they are missing. */
const hiddenRows = (where: string, { table, problem, hint }: Interference): Skip =>
  new Skip(`The warehouse ${where} may hide rows of ${table}, so they can't be compared: found ${problem}`, {
    reason: 'failed',
    code: 'warehouse',
    hint,
  })

/**
 * Reads back what a batch wrote to a table that something interferes with, or of which less was stored than was sent. A row
 * counts as stored if another page of ours wrote a newer version of it: the guard knows, by its version and stamp.
 * `owners`: the records that should have no other child rows.
 */
export async function checkStored<R extends Rows<R>>(
  { where, session, batch }: { readonly where: string; readonly session: Session<R>; readonly batch: Batch },
  table: Table,
  rows: R,
  { owners = [], isShort = false }: { readonly owners?: readonly Int64[]; readonly isShort?: boolean } = {},
): Promise<void> {
  if (!isShort && !batch.readBack?.has(table.name)) return
  const sent = rows.owners.length
  const stored = sent > 0 ? await session.countSettled(table, rows, batch) : 0
  if (stored < sent) throw notStored(where, table.name, { stored, sent })
  const left = owners.length > 0 ? (await session.countOwned(table, batch.tenantId, owners)) - sent : 0
  if (left > 0) throw notRemoved(where, table.name, left)
}

/**
 * What the database says of one table that it didn't let be changed, or that others hold. undefined: it is everybody's
 * trouble.
 */
export function refusalOf(error: unknown): Skip | undefined {
  const found = error instanceof Retry ? error.details.cause : error
  const { code } = found instanceof Skip ? found.details : {}
  return found instanceof Skip && (code === 'warehouse' || code === 'not_migrated') ? found : undefined
}

/** The kinds of changes that are made before rows are stored: of columns, of rows, of what is hidden or follows from them. */
type TableChange = 'structure' | 'rows' | 'privacy' | 'derived'

/** What was found on the tables. It is looked for once under each lease. */
export class InterferedTables {
  /** The tables that could not be changed as this version or configuration asks, with why. */
  readonly #unchanged = new Map<string, Map<TableChange, Skip>>()
  #found: Promise<readonly Interference[]> | undefined

  constructor(
    private readonly dialect: Dialect,
    private readonly find: () => Promise<readonly Interference[]>,
  ) {}

  /** Throws the error as `explained` says it. What a table lacks since it could not be changed is the trouble of that change. */
  async explain(error: unknown, written: readonly Table[]): Promise<never> {
    const table = error instanceof Skip ? error.details.table : undefined
    throw (
      (table === undefined ? undefined : this.unchanged([table])) ?? (await this.explained(error, written))
    )
  }

  /**
   * The same error, with what was found on its table: a database rarely names the trigger. Only asked when something is
   * off. `written`: the tables that were written, for an error that names none, such as that of a trigger that waits for
   * the commit.
   */
  async explained<E>(error: E, written: readonly Table[] = []): Promise<E | Skip | Stop> {
    if (!(error instanceof Skip || error instanceof Stop)) return error
    const { table } = error.details
    if (table === undefined && (error instanceof Stop || written.length === 0)) return error
    const tables = table === undefined ? written.map(({ name }) => name) : [table]
    const found = await this.#on(tables).catch(() => [])
    const text = foundText(found)
    // Work within work is explained once.
    if (found.length === 0 || error.message.includes(text)) return error
    const message = `${error.message}. ${text}`
    const hint = [...new Set([error.hint ?? '', ...found.map((each) => each.hint)])]
      .filter(Boolean)
      .join('. ')
    return error instanceof Skip
      ? new Skip(message, { ...error.details, reason: error.reason, hint })
      : new Stop(message, { ...error.details, exitCode: error.exitCode, hint })
  }

  /** What may have refused rows. An index that was added changes none, and is named only here. */
  async #on(tables: readonly string[]): Promise<readonly Interference[]> {
    const { catalog } = this.dialect
    const found = (await catalog.interferences(tables)).filter(({ table }) => table !== undefined)
    const added = (await catalog.liveIndexes()).filter(
      // Ours are all named like this (ddl.ts).
      ({ table, name, isPrimary }) =>
        tables.includes(table) && !isPrimary && !name.startsWith(`${table}_by_`),
    )
    return [
      ...found,
      ...added.map(({ table, name }) => ({
        table,
        problem: `the index ${name}`,
        hint: '',
        isHarmful: false,
      })),
    ]
  }

  /**
   * Makes a change of one table. If the database refuses it, the lists whose rows go there wait, and no other: undefined is
   * returned. What concerns everybody is thrown.
   */
  async changing<T>(change: TableChange, table: string, work: () => Promise<T>): Promise<T | undefined> {
    try {
      const done = await work()
      this.#unchanged.get(table)?.delete(change)
      return done
    } catch (error) {
      const refusal = refusalOf(error)
      if (!refusal) throw error
      await this.keepBack(change, table, refusal)
      return undefined
    }
  }

  async keepBack(change: TableChange, table: string, refusal: Skip): Promise<void> {
    const found = await this.explained(refusal)
    const text = `The table ${table} could not be changed as this version or configuration asks: ${found.message}`
    const details = { ...found.details, reason: 'failed', code: 'not_migrated', table } as const
    // What was kept back before is explained.
    const why = found.details.code === 'not_migrated' ? found : new Skip(text, details)
    this.#unchanged.set(table, (this.#unchanged.get(table) ?? new Map()).set(change, why))
  }

  /**
   * Throws Skip while one of a resource's tables can't be changed: no row is stored in a form that nobody wants any more.
   * Every commit asks.
   */
  refuseUnchanged(resource: ResourceModel, embedded: ResourceModel | undefined): void {
    if (this.#unchanged.size === 0) return
    const why = this.unchanged(tablesBehind(resource, embedded))
    if (why) throw why
  }

  /** Why one of the tables is as it was; undefined if all could be changed. */
  unchanged(tables: readonly string[]): Skip | undefined {
    for (const name of tables) for (const why of this.#unchanged.get(name)?.values() ?? []) return why
    return undefined
  }

  allUnchanged(): Skip[] {
    return [...this.#unchanged.values()].flatMap((changes) => [...changes.values()])
  }

  /** Before such changes are looked for again: others may have made them since. */
  forgetUnchanged(change: TableChange): void {
    for (const changes of this.#unchanged.values()) changes.delete(change)
  }

  /** The tables whose rows are read back. */
  async ask(): Promise<ReadonlySet<string>> {
    return new Set((await this.found()).flatMap(({ table }) => table ?? []))
  }

  /** Throws Skip if rows of one of the tables may be hidden: they would count as missing, or as equal. */
  async refuseHidden(tables: readonly string[]): Promise<void> {
    const hidden = (await this.found()).find(({ table, hides }) => hides && tables.includes(table ?? ''))
    if (hidden) throw hiddenRows(this.dialect.where, hidden)
  }

  forget(): void {
    this.#found = undefined
  }

  found(): Promise<readonly Interference[]> {
    this.#found ??= this.find().catch((error) => {
      this.forget()
      throw error
    })
    return this.#found
  }
}
