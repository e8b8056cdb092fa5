/*
 * Dead man's switches: an address that is called after each run that came to its end. Who listens there misses the call
 * when a run was killed, when its machine is down, or when nothing starts it any more, which no alert of ours can tell.
 */
import { type Clock, systemClock } from '../../engine/base/clock.js'
import { type Sent, sendPatiently } from './send.js'

/** A run that has ended must not wait long for somebody else's server. */
const budgetMs = 15_000

/** The address with the exit code as its parameter `exit`; the query that it has stays as it is. */
export function beatAddress(url: string, exit: number): string {
  const address = new URL(url)
  address.hash = ''
  const parameter = `exit=${exit}`
  address.search = address.search === '' ? parameter : `${address.search}&${parameter}`
  return address.href
}

/** Calls a heartbeat with the exit code of the run that has ended, some seconds at most. Never throws. */
export const beat = (
  url: string,
  exit: number,
  clock: Clock = systemClock,
  signal?: AbortSignal,
  withinMs = budgetMs,
): Promise<Sent> =>
  sendPatiently({ method: 'GET', url: beatAddress(url, exit) }, { clock, budgetMs: withinMs, signal })
