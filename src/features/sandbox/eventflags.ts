import { Stop } from '../../engine/base/errors.js'
import type { WebhookOptions } from '../../sandbox/index.js'
import { listOf, wholeNumber } from '../../shell/flags.js'

/* The flags of `shopsync sandbox` that send events. */

export const eventFlags = [
  {
    flags: '--webhook <url>',
    description: 'send events to this address (https, or http on this machine); may be repeated',
    repeatable: true,
  },
  {
    flags: '--webhook-events <names>',
    description: 'send only these events, separated by commas (default: all 36)',
  },
  { flags: '--events-drop <share>', description: 'lose this share of the events, from 0 to 1 (default: 0)' },
  { flags: '--events-twice <share>', description: 'send this share of the events twice (default: 0)' },
  {
    flags: '--events-delay <ms>',
    description:
      'delay each event by a random time up to this many milliseconds, so they overtake each other (default: 0)',
  },
  {
    flags: '--events-retry <n>',
    description:
      'resend an event that is not answered with 2xx, up to n times, after growing pauses (default: 0)',
  },
]

const longestDelay = 86_400_000

/** undefined if no address is given. */
export async function webhooksOf(
  options: Readonly<Record<string, unknown>>,
): Promise<WebhookOptions | undefined> {
  const urls = listOf(options['webhook'])
  const drop = shareOf('--events-drop', options['eventsDrop'])
  const twice = shareOf('--events-twice', options['eventsTwice'])
  const delayMs = wholeNumber('--events-delay', options['eventsDelay'], { to: longestDelay, example: 5000 })
  const retry = wholeNumber('--events-retry', options['eventsRetry'], { to: 1000, example: 5 })
  const isAsked = [options['webhookEvents'], drop, twice, delayMs, retry].some((value) => value !== undefined)
  if (urls.length === 0 && isAsked)
    throw new Stop('Found a flag for events but no --webhook, expected an address to send them to', {
      exitCode: 2,
      hint: 'Type for example --webhook http://127.0.0.1:8787/webhooks',
    })
  if (urls.length === 0) return undefined
  const events = await namesOf(options['webhookEvents'])
  await checkAddresses(urls)
  return {
    hooks: urls.map((url) => ({ url, events })),
    ...(drop !== undefined && { drop }),
    ...(twice !== undefined && { twice }),
    ...(delayMs !== undefined && { delayMs }),
    ...(retry !== undefined && { retry }),
  }
}

function shareOf(flag: string, value: unknown): number | undefined {
  if (value === undefined) return undefined
  const text = String(value)
  const share = /^(\d+(\.\d+)?|\.\d+)$/.test(text) ? Number(text) : Number.NaN
  if (share <= 1) return share
  throw new Stop(`Found ${flag} "${text}", expected a number from 0 to 1`, {
    exitCode: 2,
    hint: `Type for example ${flag} 0.05`,
  })
}

async function namesOf(value: unknown): Promise<readonly string[] | undefined> {
  if (value === undefined) return undefined
  const { EVENT_NAMES } = await import('../../sandbox/index.js')
  const names = String(value)
    .split(',')
    .map((name) => name.trim())
  const wrong = names.find((name) => !EVENT_NAMES.includes(name))
  if (wrong === undefined) return names
  throw new Stop(`Found --webhook-events "${wrong}", expected names of events`, {
    exitCode: 2,
    hint: `Expected one of ${EVENT_NAMES.join(', ')}`,
  })
}

async function checkAddresses(urls: readonly string[]): Promise<void> {
  const { isDeliverable, MOST_WEBHOOKS } = await import('../../sandbox/index.js')
  const wrong = urls.find((url) => !isDeliverable(url))
  if (wrong !== undefined)
    throw new Stop(`Found --webhook "${wrong}", expected an https address, or an http one of this machine`, {
      exitCode: 2,
      hint: 'Type for example --webhook http://127.0.0.1:8787/webhooks',
    })
  if (urls.length > MOST_WEBHOOKS)
    throw new Stop(`Found --webhook ${urls.length} times, expected it at most ${MOST_WEBHOOKS} times`, {
      exitCode: 2,
    })
}
