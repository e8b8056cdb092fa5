/* `shopsync listen`: receives events and rings, until a signal comes. Used by the command. */
import { once } from 'node:events'
import { Stop } from '../../engine/base/errors.js'
import type { CommandContext } from '../../shell/command.js'
import { wholeNumber } from '../../shell/flags.js'
import type { Opening } from '../../shell/stayup.js'
import { Hearing } from './hearing.js'
import { ReplacementWatch } from './replaced.js'
import { type EventSettings, eventSettings } from './settings.js'

type Flags = Readonly<Record<string, unknown>>

const text = (value: unknown): string | undefined => (typeof value === 'string' ? value : undefined)

/** The configured settings, overridden by the flags. */
function settingsBy(flags: Flags, configured: EventSettings): EventSettings {
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

export async function listenUntilEnd(context: CommandContext, opening: Opening): Promise<number> {
  const { invocation, config, clock } = context
  const { options, signals } = invocation
  const given = settingsBy(options, eventSettings(config))
  const settings = { ...given, port: opening.port('events', given.port) }
  signals.expected = true
  const warehouse = await opening.warehouse()
  const rings = options['ring'] !== false
  const watch = new ReplacementWatch(warehouse, clock, signals.signal)
  let hearing: Hearing | undefined
  try {
    const superseded = (error: Error): void => watch.superseded(error)
    hearing = await Hearing.open(context, warehouse, { settings, rings, superseded })
    const { url } = hearing
    await opening.isUp(
      { url, pid: process.pid, rings },
      `Events are received at ${url}${rings ? '' : ' and only stored'}. Stop with Ctrl-C.`,
      { events: url },
    )
    if (!watch.signal.aborted) await once(watch.signal, 'abort')
    await watch.throwIfReplaced()
  } finally {
    watch.close()
    await hearing?.close()
  }
  return 0
}
