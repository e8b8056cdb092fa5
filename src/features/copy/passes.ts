/**
 * The tables of a copy, one after the other: written first, then read again on both sides and compared (copyrows.ts).
 * Used by src/features/copy/work.ts.
 */
import type { Model } from '../../engine/model/resourcemodel.js'
import type { Column, Table } from '../../engine/model/table.js'
import { quarantineStatements } from '../../engine/warehouse/state/quarantine.js'
import type { Warehouse, Writer } from '../../engine/warehouse/warehouse.js'
import { type ConversionError, ConversionErrors } from './conversionerrors.js'
import type { CopiedTables } from './copiedtables.js'
import { type Copied, compareTable, copyTable, type Held, type Sum } from './copyrows.js'
import { firstTables, makeIndexes, makeTables } from './copytarget.js'

/** How far a copy has got. */
export interface CopyProgress {
  readonly pass: 'copying' | 'comparing'
  readonly table: string
  /** Finished tables of this pass, and how many there are. */
  readonly tables: number
  readonly allTables: number
  /** Finished rows of both passes, and how many there are. */
  readonly rows: number
  readonly allRows: number
}

/** `rows` and `digest` of the copy; those of the original are added if they differ. */
export interface ComparedTable extends Sum {
  readonly table: string
  readonly equal: boolean
  readonly original?: Sum | undefined
}

/** A copy in progress. */
export interface Copying extends Copied, Pick<CopiedTables, 'tables'> {
  readonly model: Model
  readonly target: Writer
  readonly source: Held
  readonly counts: ReadonlyMap<string, number>
  readonly onProgress?: (progress: CopyProgress) => void
  readonly signal: AbortSignal
}

/** Reports the rows of one table after the other. */
function progressOf({ counts, onProgress }: Copying, pass: CopyProgress['pass']) {
  const all = [...counts.values()].reduce((sum, n) => sum + n, 0)
  let [tables, before] = [0, pass === 'copying' ? 0 : all]
  return {
    rows: (table: Table, rows: number): void =>
      onProgress?.({
        pass,
        table: table.name,
        tables,
        allTables: counts.size,
        rows: before + rows,
        allRows: 2 * all,
      }),
    done: (table: Table): void => {
      tables++
      before += counts.get(table.name) ?? 0
    },
  }
}

/** Returns the tables of the copy: a part has all, because views read state, too, and no migration completes it. */
export async function copyTables(copying: Copying, before: Warehouse): Promise<readonly Table[]> {
  const { tables, target, part } = copying
  const own = part ? target.tables : firstTables(target)
  const all = [...tables, ...own.filter(({ name }) => !tables.some((one) => one.name === name))]
  await makeTables(target, all)
  await copyEach(copying, before)
  await makeIndexes(target, all, copying)
  return all
}

export async function copyEach(copying: Copying, before: Warehouse): Promise<void> {
  const { tables, counts, target, source, signal } = copying
  const progress = progressOf(copying, 'copying')
  for (const table of tables) {
    const onRows = (rows: number): void => progress.rows(table, rows)
    const { part, emptied } = copying
    const how = { source, target, before, onRows, signal, part, emptied }
    await copyTable(table, counts.get(table.name) ?? 0, how)
    progress.done(table)
  }
}

/** Quarantine first: the copy's own entries are added while the other tables are compared. */
const quarantineFirst = (tables: readonly Table[]): Table[] =>
  tables.toSorted((a, b) => Number(b.name === 'sync_quarantine') - Number(a.name === 'sync_quarantine'))

export function compare(
  copying: Copying,
  eyes: Warehouse,
): Promise<{ readonly tables: ComparedTable[]; readonly quarantined: number }> {
  const { model, source, signal, tables, part, emptied } = copying
  const progress = progressOf(copying, 'comparing')
  return eyes.read(() =>
    eyes.dialect.atOneInstant(async ({ db }) => {
      const errors = new ConversionErrors(model, source.db)
      let quarantined = 0
      const compared: ComparedTable[] = []
      for (const table of quarantineFirst(tables)) {
        const waiting: (() => Promise<ConversionError>)[] = []
        const flush = async (): Promise<void> => {
          const lost: ConversionError[] = []
          for (const find of waiting.splice(0)) lost.push(await find())
          quarantined += lost.length
          await keepConversionErrors(copying, lost)
        }
        const sums = await compareTable(table, {
          source,
          target: { dialect: eyes.dialect, db },
          part,
          emptied,
          onUnfit: (tuple, column: Column, value, reason) =>
            void waiting.push(() => errors.of(table, tuple, column, value, reason)),
          onRows: async (rows) => {
            progress.rows(table, rows)
            await flush()
          },
          signal,
        })
        await flush()
        compared.push(asCompared(table, sums))
        progress.done(table)
      }
      return { quarantined, tables: compared }
    }),
  )
}

function asCompared({ name }: Table, { source, target }: { source: Sum; target: Sum }): ComparedTable {
  const equal = source.rows === target.rows && source.digest === target.digest
  return { table: name, ...target, equal, original: equal ? undefined : source }
}

/** Puts values that the target can't hold into its quarantine. */
async function keepConversionErrors({ target }: Copying, errors: readonly ConversionError[]): Promise<void> {
  const { db } = target
  const statements = errors.flatMap(({ entry, ...site }) => quarantineStatements(db, site, [entry]))
  if (statements.length > 0) await target.write(statements)
}
