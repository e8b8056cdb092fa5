/* What a listener stored because of events is told while it stays up, gathered: no run ends there. */
import { fromMicros } from '../../engine/base/timestamp.js'
import { thenEvery, thenSettings } from '../../engine/config/thensection.js'
import type { CommandContext } from '../../shell/command.js'
import { receiverIds } from '../../shell/deliverto.js'
import { lastRung } from './changes.js'
import { isNested, tellEntries, tellTrouble } from './tellentries.js'
import { type Rung, readTold } from './told.js'

/** What one program that listens remembers. */
interface Listening {
  /** In ms since the epoch. */
  toldAt: number
  /** The telling that is under way. It may take as long as a command does, and alerts must not wait for it. */
  underWay: Promise<unknown> | undefined
}

const listening = new WeakMap<CommandContext, Listening>()

const isSame = (one: Rung | undefined, other: Rung | undefined): boolean =>
  one?.run_id === other?.run_id && one?.rows === other?.rows

/** Looks once a minute whether anything was rung that an entry hasn't been told. */
export async function followRings(context: CommandContext): Promise<void> {
  const { config, clock } = context
  const entries = thenSettings(config)
  if (entries.length === 0 || isNested(context)) return
  const warehouse = await context.open('there')
  if (!warehouse) return
  const rung = await lastRung(warehouse)
  const own = listening.get(context) ?? { toldAt: 0, underWay: undefined }
  if (!listening.has(context)) {
    listening.set(context, own)
    context.onClose(async () => void (await own.underWay))
  }
  const now = Number(clock.nowMicros() / 1000n)
  // A clock that was set back must not keep it silent for long.
  const isEarly = now >= own.toldAt && now < own.toldAt + thenEvery(config)
  if (own.underWay || isEarly || !rung || rung.rows === 0) return
  const told = await readTold(warehouse)
  if (receiverIds(entries).every((id) => isSame(told[id]?.rung, rung))) return
  own.toldAt = now
  const at = fromMicros(clock.nowMicros())
  const run = { run_id: rung.run_id, job: null, started_at: at, finished_at: at, status: 'ok' as const }
  own.underWay = tellEntries(context, warehouse, {
    run,
    entries,
    scope: null,
    isFor: (_on, { lists }) => lists.length > 0,
  })
    .catch((error: unknown) => tellTrouble(context, error))
    .finally(() => {
      own.underWay = undefined
    })
}
