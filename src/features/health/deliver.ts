/*
 * Delivers one message to a rule's receiver, within its own time limit. Used by tellrules.ts and by the test of
 * alerts.
 */

import { createHash, createHmac } from 'node:crypto'
import type { Clock } from '../../engine/base/clock.js'
import { toJson } from '../../engine/base/printjson.js'
import type { Io } from '../../shell/io.js'
import { callCommand } from './alertcommand.js'
import type { Message } from './alerttext.js'
import { type Persistence, type Sent, sendPatiently } from './send.js'
import type { NamedRule } from './telling.js'

/** Never throws. */
export function deliver(
  { id, rule }: NamedRule,
  message: Message,
  how: Persistence & {
    /** Values that must not reach a program or appear in output. */
    readonly secrets: readonly string[]
    readonly programs: Pick<Io, 'environment' | 'workingDirectory'>
  },
): Promise<Sent> {
  const body = toJson(message.body)
  const { command, webhook, secret } = rule
  if (webhook !== undefined)
    return postWebhook(
      { url: webhook.reveal(), key: secret?.reveal(), name: messageName(id, message), body },
      how,
    )
  return callCommand({ command: command ?? [], input: body, limitMs: how.budgetMs, ...how })
}

interface Posting {
  readonly url: string
  /** In base64, with or without `whsec_`; undefined: not signed. */
  readonly key: string | undefined
  readonly name: string
  readonly body: string
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

/**
 * The id of a message (webhook-id). The same news to the same rule has the same id. A receiver recognizes a repeat,
 * which happens if the answer was lost or the process died before it could record it.
 */
function messageName(ruleId: string, { news }: Pick<Message, 'news'>): string {
  return `msg_${createHash('sha256')
    .update(JSON.stringify([ruleId, news]))
    .digest('hex')
    .slice(0, 32)}`
}
