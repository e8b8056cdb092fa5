/*
 * Whether the warehouse of a program that stays up is still the one that it opened: its file may be replaced, and a
 * database restored or restarted; or a process with a newer configuration may have written it. Used by `listen`,
 * `schedule` and `worker`, which then open everything again.
 */
import type { Clock } from '../engine/base/clock.js'
import { isEarlier, type TokenAt, tokenNow, wentBack } from '../engine/warehouse/lease/fence.js'
import { isSuperseded } from '../engine/warehouse/lease/oneconfiguration.js'
import type { Warehouse } from '../engine/warehouse/warehouse.js'

/** Milliseconds between two looks at it. */
const betweenLooks = 1000
/** How many looks to wait for a file that is being copied, or is gone. */
const mostLooks = 60

export class ReplacementWatch {
  readonly #ended = new AbortController()
  readonly #end = (): void => this.#ended.abort()
  #seen: TokenAt | undefined

  /** Looks until it is closed, or the program's signal fires. */
  constructor(
    private readonly warehouse: Pick<Warehouse, 'dialect' | 'where'>,
    private readonly clock: Clock,
    private readonly program: AbortSignal,
  ) {
    program.addEventListener('abort', this.#end, { once: true })
    if (program.aborted) this.#end()
    void this.#watch()
  }

  close(): void {
    this.program.removeEventListener('abort', this.#end)
    this.#end()
  }

  /** Fires when the program should end, or open everything again. */
  get signal(): AbortSignal {
    return this.#ended.signal
  }

  /** Looks now. A program that goes on would answer from what nobody else sees, and write from a memory of it. */
  async isReplaced(): Promise<boolean> {
    const { dialect, where } = this.warehouse
    if (dialect.file.isGone())
      this.#ended.abort(
        wentBack(`The file of the warehouse ${where} was replaced or removed while this program was up`),
      )
    // A database that doesn't answer, or is being restored and has no lease yet, says nothing.
    const now = await tokenNow(dialect).catch(() => undefined)
    if (now && this.#seen && isEarlier(now, this.#seen))
      this.#ended.abort(
        wentBack(
          `The database of the warehouse ${where} was restarted or replaced while this program was up`,
        ),
      )
    this.#seen = now ?? this.#seen
    return this.#ended.signal.aborted
  }

  /** Work has found that a process with other settings has written the warehouse. */
  superseded(error: Error): void {
    this.#ended.abort(error)
  }

  /** After the end: throws if it was because of a replacement, once a file that is still being copied is complete. */
  async throwIfReplaced(): Promise<void> {
    const { clock, program, warehouse } = this
    if (program.aborted) return
    if (isSuperseded(this.signal.reason)) throw this.signal.reason
    let before: string | undefined
    for (let looks = 0; looks < mostLooks && !program.aborted; looks++) {
      const there = warehouse.dialect.file.atPath()
      if (there !== undefined && there === before) break
      before = there
      await clock.sleep(betweenLooks, program)
    }
    throw this.#ended.signal.reason
  }

  async #watch(): Promise<void> {
    const { signal } = this
    while (!signal.aborted && !(await this.isReplaced())) await this.clock.sleep(betweenLooks, signal)
  }
}
