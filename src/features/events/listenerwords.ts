/* What is wrong with a listener, in words: for status and alerts. */
import { atSecond } from '../../engine/base/format.js'
import type { ListenerView } from './eventview.js'

interface Words {
  /** After "The receiver at …". */
  readonly found: string
  readonly advice: string
}

const other: Words = { found: 'is not ready', advice: 'Check the log of shopsync listen' }

/** By sync_listeners.trouble. */
const words: Readonly<Record<string, Words>> = {
  database: {
    found: 'accepts no events: they cannot be stored',
    advice: 'Check that the database answers, and read the log of shopsync listen',
  },
  disk_full: {
    found: 'accepts no events: the disk is nearly full',
    advice: 'Free some space: less than 256 MB is left',
  },
  backlog: {
    found: 'accepts no events: 200,000 of them wait',
    advice:
      'Find out what keeps runs from reading the lists: type shopsync status and shopsync events list --state waiting',
  },
  certificate: {
    found: 'has a certificate that has expired',
    advice: 'Renew its files; they are read again within seconds',
  },
  wrong_secret: {
    found: 'receives only wrong secrets',
    advice: 'The secret was changed on one side: set api.secret, or events.secrets',
  },
  turns: {
    found: 'stores events, but cannot read the lists that they make due',
    advice: 'Read the log of shopsync listen; it tries again, and every sync reads these lists',
  },
}

/** A sentence without its full stop. */
export function listenerMessage({ state, address, host, seen_at, trouble }: ListenerView): string {
  const name = `The receiver of events at ${address} on ${host}`
  return state === 'lost'
    ? `${name} died without reporting: it was last seen at ${atSecond(seen_at)}`
    : `${name} ${(words[trouble ?? ''] ?? other).found}`
}

export const listenerAdvice = ({ state, trouble }: ListenerView): string =>
  state === 'lost'
    ? 'Start shopsync listen again: every event that it answered is stored, and every sync reads what those name'
    : (words[trouble ?? ''] ?? other).advice
