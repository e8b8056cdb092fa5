import { count, firstOf, paragraphs, plural, span } from '../../engine/base/format.js'
import type { CopyProgress } from './passes.js'
import type { CopyReport } from './work.js'

/** What is being done, for the progress line. `elapsed`: milliseconds since the copy started. */
export function copyStep(
  { pass, table, tables, allTables, rows, allRows }: CopyProgress,
  elapsed: number,
): string {
  const share = allRows > 0 ? rows / allRows : 1
  // Both passes take about the same time; an estimate needs a while.
  const toGo = share < 0.02 || elapsed < 2000 ? '' : `about ${span((elapsed / share) * (1 - share))} to go, `
  return `${toGo}${pass} ${table} (${Math.min(tables + 1, allTables)} of ${allTables})`
}

/** How far an interrupted copy got. */
export function copyResumption(progress: CopyProgress | undefined): string {
  if (!progress) return 'nothing was copied'
  const { pass, tables, allTables } = progress
  const done =
    pass === 'copying'
      ? `${tables} of ${allTables} tables are copied`
      : 'all rows are copied, but not all are compared'
  return `${done}; the same command again resumes there`
}

export function copyText({
  from,
  to,
  status,
  resumed,
  rows,
  quarantined,
  left_out,
  tables,
}: CopyReport): string {
  const differing = tables.filter(({ equal }) => !equal)
  const shown = (all: readonly string[]): string =>
    firstOf(all, 10, String, (others) => `and ${count(others)} more`)
  if (status === 'differs')
    return paragraphs([
      `${to} is not the same as ${from} in ${plural(differing.length, 'table')}:`,
      shown(
        differing.map(
          ({ table, rows: found, original }) =>
            `${table}: ${plural(found, 'row')}, expected ${original?.rows === found ? 'other values' : count(original?.rows ?? 0)}`,
        ),
      ),
      'The copy is not finished, and no command uses it. Type the same command again: what differs is copied again.',
    ])
  return paragraphs([
    `${to} is a copy of ${from}: ${plural(rows, 'row')} in ${plural(tables.length, 'table')}, every value compared${resumed ? '; this resumed an earlier copy' : ''}.`,
    quarantined === 0
      ? ''
      : `${plural(quarantined, 'value')} could not be stored there and ${quarantined === 1 ? 'is' : 'are'} now null: shopsync quarantine list on that warehouse shows them.`,
    left_out.length === 0 ? '' : `Not copied, because shopsync did not create them:\n${shown(left_out)}`,
    'Nothing was changed in the original. To use the copy, name it in warehouse.url, then type shopsync migrate (it creates the views) and shopsync status.',
  ])
}
