/*
 * Whether another scheduler of the warehouse is up. Of two, one runs a job that is due, and the other sees that it is done:
 * neither does harm, but nobody means to have two.
 */
import { instead, isExpected, Stop } from '../../engine/base/errors.js'
import { HeldTurn } from '../../engine/warehouse/lease/heldturn.js'
import { machineName } from '../../engine/warehouse/lease/holder.js'
import type { Writer } from '../../engine/warehouse/warehouse.js'

/** One scheduler's mark in the warehouse. */
export class SchedulerMark {
  private constructor(
    private readonly turn: HeldTurn,
    /** A sentence about the other one; undefined if there is none. */
    readonly other: string | undefined,
  ) {}

  static async set(warehouse: Writer): Promise<SchedulerMark> {
    const turn = new HeldTurn(warehouse, 'scheduler')
    // A warehouse that can't be written now keeps no scheduler from coming up.
    const holder = await turn.take().catch(instead(undefined))
    if (!holder) return new SchedulerMark(turn, undefined)
    const where = `on ${machineName(holder.host)}, pid ${holder.pid}`
    return new SchedulerMark(turn, `Another scheduler of this warehouse is running, ${where}`)
  }

  /** The port isn't available: the other scheduler has it, if there is one. */
  async giveUp(error: unknown): Promise<never> {
    await this.remove()
    if (this.other === undefined || !isExpected(error)) throw error
    throw new Stop(`${this.other}. ${error.message}`, {
      exitCode: 3,
      hint: 'One scheduler per warehouse is enough: end one of the two',
      cause: error,
    })
  }

  remove(): Promise<void> {
    return this.turn.end()
  }
}
