/*
 * Commands that stay up. When what they rest on was replaced, they close everything and open it again as at their start,
 * in the same process: nobody has to restart them, and nothing that they remember outlives what it was about. So they do
 * when a process with a newer configuration has written the warehouse, and then go on with that.
 */
import { Stop } from '../engine/base/errors.js'
import { atSecond } from '../engine/base/format.js'
import type { Reason } from '../engine/base/reasons.js'
import { fromMicros } from '../engine/base/timestamp.js'
import { sourceAddress } from '../engine/config/sourceaddress.js'
import { OtherSettings } from '../engine/warehouse/lease/oneconfiguration.js'
import { checkSourceIdentity } from '../engine/warehouse/state/sourceidentity.js'
import type { Writer } from '../engine/warehouse/warehouse.js'
import type { CommandContext, Invocation } from './command.js'
import { withContext } from './commandcontext.js'

/** What a program that stays up throws when it has to open everything again. */
const reasonsToReopen: ReadonlySet<Reason | undefined> = new Set(['warehouse_went_back'])

const isReasonToReopen = (error: unknown): error is Stop =>
  error instanceof OtherSettings || (error instanceof Stop && reasonsToReopen.has(error.details.code))

/** The configuration was read again, and is the same: reading it a third time would not help. */
const twoConfigurations = ({ where, names }: OtherSettings): Stop =>
  new Stop(
    `Two configurations shape the warehouse ${where}: the one that was used last has other values of ${names.join(', ')}, and this program's is the same as before`,
    {
      exitCode: 2,
      hint: 'Give every host and container the same configuration, then start this program again',
    },
  )

/** One time of opening everything. */
export class Opening {
  #made: string | undefined

  constructor(
    private readonly context: CommandContext,
    private readonly isFirst: boolean,
    /** The ports that the system chose, by their use: the same ones are opened again. */
    private readonly ports: Map<string, number>,
  ) {}

  /**
   * The warehouse, ready to be written. Only the first opening creates one: an empty file or database in the place of a
   * warehouse is more likely a mistake, or a restore that has only begun. Throws Stop if it belongs to another source.
   */
  async warehouse(): Promise<Writer> {
    const { context } = this
    const warehouse = await (this.isFirst ? context.open('create') : context.open('write'))
    this.#made = warehouse.madeAs
    await checkSourceIdentity(warehouse, sourceAddress(context.config.api))
    return warehouse
  }

  /**
   * The port to open. If 0 is configured, the system chose one at the first opening, and later ones take the same again.
   * `use`: what it is for.
   */
  port(use: string, configured: number): number {
    return configured === 0 ? (this.ports.get(use) ?? 0) : configured
  }

  /** Reports once that the program is up; later only in the log. */
  async isUp(
    document: object,
    text: string,
    urls: Readonly<Record<string, string | undefined>>,
  ): Promise<void> {
    for (const [use, url] of Object.entries(urls)) if (url) this.ports.set(use, Number(new URL(url).port))
    const { out } = this.context.invocation
    if (this.isFirst) await out.answer({ ...document, warehouse_made: this.#made }, text)
    else this.context.log.info(urls, 'Everything was opened again')
  }
}

/** Calls `work` until it ends for another reason than that everything has to be opened again. */
export async function stayUp(
  invocation: Invocation,
  work: (context: CommandContext, opening: Opening) => Promise<number>,
): Promise<number> {
  const { signal } = invocation.signals
  const ports = new Map<string, number>()
  let before: { readonly text: string; readonly by: OtherSettings } | undefined
  for (let isFirst = true; ; isFirst = false) {
    const exitCode = await withContext(invocation, async (context) => {
      const { text } = await context.rowSettings()
      if (text === before?.text) throw twoConfigurations(before.by)
      try {
        const code = await work(context, new Opening(context, isFirst, ports))
        if (signal.aborted)
          invocation.out.print(`Stopped: ${atSecond(fromMicros(context.clock.nowMicros()))}`)
        return code
      } catch (error) {
        if (!isReasonToReopen(error)) throw error
        if (signal.aborted) return 0
        before = error instanceof OtherSettings && error.names.length > 0 ? { text, by: error } : undefined
        const fields = { reason: error.details.code, error: error.message }
        if (before) context.log.info(fields, 'The configuration has changed, and is read again')
        else context.log.warn(fields, 'Everything is opened again')
        return undefined
      }
    })
    if (exitCode !== undefined) return exitCode
  }
}
