/**
 * What each column's rows are like, in `sync_privacy`:
 *
 * (no row):  they are as the API sent them.
 * hiding:    they are being hidden. A run after a kill continues after the last record that is done.
 * hidden:    they are hidden, in the way that the row says.
 * traces:    they are, but a program that was reading kept earlier values in the database's files. `migrate` tries again.
 * reading:   the configuration hides less since, or with another key: the lists are read whole, and then it is `hidden`,
 *            or the row is gone.
 *
 * Less privacy is never taken from a configuration alone: a file that lost a line would bring customers' names into the
 * warehouse, and nobody would know. `shopsync migrate --loosen-privacy` says that it is meant. Used by hiding.ts, and in
 * every claim of the lease (oneconfiguration.ts).
 */
import { type CompiledQuery, sql } from 'kysely'
import type { Int64 } from '../../../../schema/resource.js'
import { Stop } from '../../base/errors.js'
import { joinedNames } from '../../base/format.js'
import { noPrivacy } from '../../config/treatment.js'
import { historyName } from '../../model/historytable.js'
import { type HiddenColumn, keyCheck } from '../../model/privacy.js'
import type { Model } from '../../model/resourcemodel.js'
import type { StateRows } from '../../model/state.js'
import type { Table } from '../../model/table.js'
import { type Db, readJson } from '../database.js'
import type { Dialect } from '../dialect.js'

export type Known = StateRows['sync_privacy']

/** What a process hides. */
export type Hides = Pick<Model, 'privacy' | 'hidden' | 'byName'>

export const hidesNothing: Hides = { privacy: noPrivacy, hidden: new Map(), byName: new Map() }

/** The row that tells keys apart has this name and no table. */
export const keyRow = { table: '', column: 'key' } as const

export const storedPrivacy = (db: Db) => db.selectFrom('sync_privacy').selectAll()

/** Where `_extra` is hidden, quarantined values are: a rule that became stricter is applied to what is there, once. */
export const quarantined = {
  table: 'sync_quarantine',
  name: 'value',
  treatment: 'short',
  domain: '',
} as const

export function wantedOf({ hidden }: Pick<Hides, 'hidden'>): (HiddenColumn & { readonly table: string })[] {
  const columns = [...hidden].flatMap(([table, all]) => all.map((column) => ({ ...column, table })))
  return columns.some(({ name }) => name === '_extra') ? [...columns, quarantined] : columns
}

export const nameOf = ({ table, column }: Pick<Known, 'table' | 'column'>): string => `${table}.${column}`

/** The resource's own table, for that table and for its versions. */
const recordTable = ({ byName }: Pick<Hides, 'byName'>, table: string): Table | undefined =>
  [...byName.values()].find(({ resource }) => resource.name === table || historyName(resource) === table)
    ?.tables[0]

/** The columns as `privacy` names them, each once: a version's are those of its record and of its nested lists. */
export const configuredNames = (
  hides: Pick<Hides, 'byName'>,
  rows: readonly Pick<Known, 'table' | 'column'>[],
): string[] => [
  ...new Set(
    rows.map(({ table, column }) =>
      column.includes('.') ? column : `${recordTable(hides, table)?.name ?? table}.${column}`,
    ),
  ),
]

/** The columns that this version's preset keeps and an earlier one's hid, where the configuration leaves them to the preset. */
export const mayHold = ({ privacy, tables }: Pick<Model, 'privacy' | 'tables'>): string[] =>
  privacy.preset === 'none'
    ? []
    : tables.flatMap(({ name: table, columns }) =>
        columns.flatMap(({ name, personal }) =>
          personal?.before && privacy.columns[table]?.[name] === undefined ? [`${table}.${name}`] : [],
        ),
      )

/** Those of them that the warehouse hides: a default that became looser loosens nothing that is stored. */
export function heldColumns(
  model: Parameters<typeof mayHold>[0],
  known: readonly Pick<Known, 'table' | 'column'>[],
): Set<string> {
  const hidden = new Set(known.map(nameOf))
  return new Set(mayHold(model).filter((name) => hidden.has(name)))
}

/** The columns of which this process would store more than the warehouse may have. */
export function loosened(known: readonly Known[], hides: Hides): Known[] {
  const wanted = new Map(wantedOf(hides).map((one) => [`${one.table}.${one.name}`, one.treatment]))
  return known.filter(({ table, column, mode }) => {
    if (table === keyRow.table) return false
    // A column that is no longer configured is part of `_extra` again.
    const fields = recordTable(hides, table)?.columns
    const isField = column.includes('.') || (fields?.some(({ name }) => name === column) ?? true)
    const now = wanted.get(`${table}.${column}`) ?? (isField ? undefined : wanted.get(`${table}._extra`))
    return now === undefined || (mode === 'drop' && now === 'hash')
  })
}

const otherKey = (where: string, found: string, expected: string, hint: string): Stop =>
  new Stop(`The pseudonyms in ${where} were made with ${found}, expected ${expected}; nothing was done`, {
    exitCode: 2,
    hint,
  })

/** The most columns that a message names. */
export const mostNamed = 8

/** Throws Stop if this process would store more of a column than the warehouse may have, or other pseudonyms. */
export function refuseLooser(known: readonly Known[], hides: Hides, where: string): void {
  const loose = loosened(known, hides)
  if (loose.length > 0)
    throw new Stop(
      `The warehouse ${where} hides ${joinedNames(configuredNames(hides, loose), mostNamed)}, and this configuration does not, or less; nothing was done`,
      {
        exitCode: 2,
        hint: 'Put the setting back under privacy; or type shopsync migrate --loosen-privacy, and the lists are read in full',
      },
    )
  const check = keyCheck(hides.privacy)
  const key = known.find(({ table }) => table === keyRow.table)
  if (!key || check === null) return
  const [theirs, ours] = [Number(key.key_version), hides.privacy.keyVersion]
  if (ours < theirs)
    throw otherKey(
      where,
      `keyVersion ${theirs}`,
      `${ours} or less`,
      'Put privacy.key and privacy.keyVersion back',
    )
  if (ours === theirs && key.mode !== check)
    throw otherKey(
      where,
      `another key of version ${theirs}`,
      'this one',
      `Use that key, or set privacy.keyVersion to ${theirs + 1}: every list with hashed columns is then read in full once`,
    )
}

/** What is to be done with one column. */
export interface Hiding extends HiddenColumn {
  readonly table: string
  readonly doneTo: string | null
}

/** Which of the columns aren't hidden yet as configured in stored rows. */
export function unhidden(
  known: readonly Known[],
  wanted: readonly (HiddenColumn & { readonly table: string })[],
): Hiding[] {
  const states = new Map(known.map((row) => [nameOf(row), row]))
  return wanted.flatMap((column) => {
    const state = states.get(`${column.table}.${column.name}`)
    if (state?.mode === column.treatment && state.state !== 'hiding') return []
    const isResumed = state?.mode === column.treatment && state.done_to !== null
    const doneTo = isResumed ? JSON.stringify(readJson(state.done_to)) : null
    return [{ ...column, doneTo }]
  })
}

/** The columns whose stored rows aren't hidden yet. */
export const waitingToHide = async ({ db }: Pick<Dialect, 'db'>, hides: Hides): Promise<Hiding[]> =>
  unhidden(await storedPrivacy(db).execute(), wantedOf(hides))

/** Whether a claim of the lease has anything to do: for traces and for lists that were read, too. */
export async function isUnhidden({ db }: Pick<Dialect, 'db'>, hides: Hides): Promise<boolean> {
  const known = await storedPrivacy(db).execute()
  if (isNewKey(known, hides) || known.some(({ state }) => /^(reading|traces)$/.test(state ?? ''))) return true
  return unhidden(known, wantedOf(hides)).length > 0
}

/** The ids are kept as texts, since JSON may round them. */
export function recordIn(doneTo: string | null): readonly [tenant: Int64, record: Int64] | undefined {
  if (doneTo === null) return undefined
  const [tenant = '0', record = '0'] = JSON.parse(doneTo) as string[]
  return [BigInt(tenant), BigInt(record)]
}

/** The resources whose records make rows of a table, or versions of one. */
export const resourcesOf = ({ list }: Pick<Model, 'list'>, table: string): string[] =>
  list.flatMap(({ name, resource, tables }) =>
    historyName(resource) === table || tables.some((one) => one.name === table) ? [name] : [],
  )

/** Whether the key is a newer one than that of the stored pseudonyms. */
export const isNewKey = (known: readonly Known[], { privacy }: Hides): boolean => {
  const key = known.find(({ table }) => table === keyRow.table)
  return key !== undefined && keyCheck(privacy) !== null && Number(key.key_version) < privacy.keyVersion
}

export const note = (db: Db, rows: readonly Known[]): CompiledQuery =>
  db
    .insertInto('sync_privacy')
    .values([...rows])
    .onConflict((c) =>
      c.columns(['table', 'column']).doUpdateSet((eb) => ({
        mode: eb.ref('excluded.mode'),
        key_version: eb.ref('excluded.key_version'),
        state: eb.ref('excluded.state'),
        done_to: eb.ref('excluded.done_to'),
        since: eb.ref('excluded.since'),
      })),
    )
    .compile()

export function keyNote({ privacy }: Hides, at: string): Known[] {
  const mode = keyCheck(privacy)
  const row = { ...keyRow, key_version: privacy.keyVersion, state: 'hidden', done_to: null, since: at }
  return mode === null ? [] : [{ ...row, mode }]
}

/** Removes pseudonyms of earlier keys. */
export const withoutOlder = (db: Db, { table, column, key_version: version }: Known): CompiledQuery =>
  db
    .updateTable(table as 'tenants')
    .set({ [column]: null } as never)
    .where(sql<boolean>`${sql.ref(column)} like 'h%:%' and ${sql.ref(column)} not like ${`h${version}:%`}`)
    .compile()
