/* Alerts by webhook, signed after the Standard Webhooks specification. Used by deliver.ts. */
import { createHmac } from 'node:crypto'
import type { Clock } from '../../engine/base/clock.js'
import { type Persistence, type Sent, sendPatiently } from './send.js'

export interface Posting {
  readonly url: string
  /** In base64, with or without `whsec_`; undefined: nothing is signed. */
  readonly key: string | undefined
  readonly name: string
  readonly body: string
}

/** The headers that say which message it is and, with a key, that it came from here unchanged. */
export function webhookHeaders(
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
