import type { Micros } from '../instant.js'

/** One attempt to deliver one event to one address, or the decision not to. Instants are those of the sandbox clock. */
export interface EventDelivery {
  /** The `id` of the event, the same in all attempts. */
  readonly event: string
  /** The event's name as it was sent. */
  readonly name: string
  /** The tenant whose record changed. */
  readonly tenant: number
  /** The id of that record. */
  readonly record: number
  readonly url: string
  /** 1 for the first, more for retries. */
  readonly attempt: number
  /** When the record changed. */
  readonly changed: Micros
  /** null until a connection accepted it, and forever if it was dropped. */
  sent: Micros | null
  /** When it was answered or failed. null until then. */
  ended: Micros | null
  status: number | null
  /** Why there is no status. `dropped` if the sandbox was told to lose the event. */
  error: string | null
}

/** A sandbox that runs for weeks must not grow. */
const MOST = 200_000

/** All attempts, oldest first. */
export class DeliveryLog {
  readonly lines: EventDelivery[] = []

  open(line: EventDelivery): EventDelivery {
    this.lines.push(line)
    if (this.lines.length > MOST) this.lines.splice(0, MOST / 2)
    return line
  }

  clear(): void {
    this.lines.length = 0
  }
}
