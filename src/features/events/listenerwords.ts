/* What is wrong with a listener, in words: for status and alerts. */
import { atSecond } from '../../engine/base/format.js'
import type { ListenerView } from './eventview.js'

interface Words {
  /** After "The receiver at …". */
  readonly found: string
  readonly advice: string
}

const other: Words = { found: 'is not ready', advice: 'See the log of shopsync listen' }

/** By sync_listeners.trouble. */
const words: Readonly<Record<string, Words>> = {
  database: {
    found: 'takes no events: they cannot be stored',
    advice: 'See whether the database answers, and the log of shopsync listen',
  },
  disk_full: {
    found: 'takes no events: the disk is nearly full',
    advice: 'Make room: less than 256 MB are left',
  },
  backlog: {
    found: 'takes no events: 200,000 of them wait',
    advice:
      'See what keeps runs from reading the lists: shopsync status, shopsync events list --state waiting',
  },
  certificate: {
    found: 'has a certificate that has expired',
    advice: 'Renew its files: they are read again within seconds',
  },
  wrong_secret: {
    found: 'is sent wrong secrets, and no right one',
    advice: 'The secret has been changed at one end: set api.secret, or events.secrets',
  },
}

export const listenerCause = ({ state, trouble }: ListenerView): string =>
  state === 'lost' ? 'listener_ended' : (trouble ?? 'not_ready')

/** A sentence without its full stop. */
export function listenerMessage({ state, address, host, seen_at, trouble }: ListenerView): string {
  const name = `The receiver of events at ${address} on ${host}`
  return state === 'lost'
    ? `${name} ended without a word: it was last heard of at ${atSecond(seen_at)}`
    : `${name} ${(words[trouble ?? ''] ?? other).found}`
}

export const listenerAdvice = ({ state, trouble }: ListenerView): string =>
  state === 'lost'
    ? 'Start shopsync listen again: what it answered is stored, and every sync reads what it names'
    : (words[trouble ?? ''] ?? other).advice
