/* `shopsync listen`: receives events and rings, until a signal comes. Used by the command. */
import { once } from 'node:events'
import { Stop } from '../../engine/base/errors.js'
import type { CommandContext } from '../../shell/command.js'
import { wholeNumber } from '../../shell/flags.js'
import { type EventSettings, eventSettings } from '../events/settings.js'
import { Hearing } from './hearing.js'
import { throwIfReplaced, untilReplaced } from './replaced.js'

type Flags = Readonly<Record<string, unknown>>

const text = (value: unknown): string | undefined => (typeof value === 'string' ? value : undefined)

/** The configured settings, overridden by the flags. */
export function settingsBy(flags: Flags, configured: EventSettings): EventSettings {
  const port = wholeNumber('--port', flags['port'], { to: 65_535, example: 8787 })
  const [cert, key] = [text(flags['tlsCert']), text(flags['tlsKey'])]
  if ((cert === undefined) !== (key === undefined))
    throw new Stop(`Found --tls-${cert === undefined ? 'key' : 'cert'} only, expected both files`, {
      exitCode: 2,
      hint: 'Type --tls-cert FILE --tls-key FILE',
    })
  const tls = cert !== undefined && key !== undefined ? { cert, key } : configured.tls
  return { ...configured, host: text(flags['host']) ?? configured.host, port: port ?? configured.port, tls }
}

export async function listenUntilEnd(context: CommandContext): Promise<number> {
  const { invocation, config } = context
  const { options, signals, out } = invocation
  const settings = settingsBy(options, eventSettings(config))
  signals.expected = true
  const warehouse = await context.readyWarehouse()
  const rings = options['ring'] !== false
  const hearing = await Hearing.open(context, warehouse, { settings, rings })
  try {
    await out.answer(
      { url: hearing.url, pid: process.pid, rings },
      `Events are received at ${hearing.url}${rings ? '' : ' and only stored'}. Stop with Ctrl-C.`,
    )
    const end = untilReplaced(warehouse, context.clock, signals.signal)
    if (!end.aborted) await once(end, 'abort')
    throwIfReplaced(end)
  } finally {
    await hearing.close()
  }
  return 0
}
