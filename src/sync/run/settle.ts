import type { MovedColumn } from '../../warehouse/columns.js'
import { asWriter, type Dependencies, type WriterLease } from './context.js'

const words: Readonly<Record<MovedColumn['to'], string>> = {
  column: 'Values of a field moved from _extra into its column',
  _extra: 'A column is no longer configured: its values moved back into _extra; the column stays, empty',
}

/**
 * Moves values to where the configuration wants them, before a run stores anything: a record that comes during the move
 * would else be moved or not, as chance has it.
 */
export async function settleColumns(
  { warehouse, observer }: Pick<Dependencies, 'warehouse' | 'observer'>,
  lease: Pick<WriterLease, 'fence' | 'signal'>,
): Promise<readonly MovedColumn[]> {
  const moved = await warehouse.settleColumns(lease)
  for (const { table, column, to, values } of moved) observer.notice?.(words[to], { table, column, values })
  return moved
}

/** As `settleColumns`, without a run; claims the warehouse only where something is to be moved. */
export async function settleAlone(
  deps: Pick<Dependencies, 'warehouse' | 'clock' | 'signal'>,
): Promise<readonly MovedColumn[]> {
  if (!(await deps.warehouse.isUnsettled())) return []
  return asWriter(deps, 'migrate', (lease) => deps.warehouse.settleColumns(lease))
}
