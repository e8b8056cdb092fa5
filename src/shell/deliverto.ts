/* Delivers a message to a command or a webhook of the user's, within its own time limit. */
import { createHash, createHmac } from 'node:crypto'
import type { Clock } from '../engine/base/clock.js'
import { visible } from '../engine/base/escape.js'
import type { Receiver } from '../engine/config/receivershape.js'
import { type Called, callCommand, type Programs } from './callcommand.js'
import { type Persistence, type Sent, sendPatiently } from './send.js'

/** `name`: a receiver of webhooks recognizes by it what it has had before. */
interface Parcel {
  readonly name: string
  readonly body: string
}

/** Never throws. The body is JSON, which keeps its meaning: a program may mail it as it is. */
export function deliverTo(
  { command, webhook, secret }: Receiver,
  { name, body }: Parcel,
  how: Persistence & {
    /** Values that must not reach a program or appear in output. */
    readonly secrets: readonly string[]
    readonly programs: Programs
    /** See `callCommand`. */
    readonly goesOn?: boolean | undefined
  },
): Promise<Called> {
  const parcel = { name, body: visible(body) }
  if (webhook !== undefined)
    return postWebhook({ url: webhook.reveal(), key: secret?.reveal(), ...parcel }, how)
  return callCommand({ command: command ?? [], input: parcel.body, limitMs: how.budgetMs, ...how })
}

interface Posting extends Parcel {
  readonly url: string
  /** In base64, with or without `whsec_`; undefined: not signed. */
  readonly key: string | undefined
}

/** The headers that identify the message and, with a key, prove that it came from here unchanged. */
function webhookHeaders(
  { key, name, body }: Omit<Posting, 'url'>,
  clock: Pick<Clock, 'nowMicros'>,
): Record<string, string> {
  const timestamp = String(clock.nowMicros() / 1_000_000n)
  const headers = {
    'content-type': 'application/json',
    'webhook-id': name,
    'webhook-timestamp': timestamp,
  }
  if (key === undefined) return headers
  const bytes = Buffer.from(key.replace(/^whsec_/, ''), 'base64')
  const signature = createHmac('sha256', bytes).update(`${name}.${timestamp}.${body}`).digest('base64')
  return { ...headers, 'webhook-signature': `v1,${signature}` }
}

export const postWebhook = (posting: Posting, how: Persistence): Promise<Sent> =>
  sendPatiently(
    {
      method: 'POST',
      url: posting.url,
      headers: webhookHeaders(posting, how.clock),
      body: posting.body,
    },
    how,
  )

/** The id of a message (webhook-id): the same news to the same receiver has the same one. */
export const messageId = (...news: readonly unknown[]): string =>
  `msg_${createHash('sha256').update(JSON.stringify(news)).digest('hex').slice(0, 32)}`

/**
 * What receivers are remembered by: a digest, because the address is a secret. Whatever else of their settings changes,
 * what they were told stays known. Those with the same address or command are numbered.
 */
export function receiverIds(receivers: readonly Pick<Receiver, 'webhook' | 'command'>[]): string[] {
  const seen = new Map<string, number>()
  return receivers.map(({ webhook, command }) => {
    const whom = JSON.stringify(webhook?.reveal() ?? command)
    const digest = createHash('sha256').update(whom).digest('hex').slice(0, 16)
    const number = (seen.get(digest) ?? 0) + 1
    seen.set(digest, number)
    return number === 1 ? digest : `${digest}-${number}`
  })
}
