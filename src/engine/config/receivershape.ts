/*
 * Who is told something: a program, or a webhook with or without a signing key. Shared by the rules of `alerts` and the
 * entries of `then`.
 */
import { z } from 'zod'
import { secret, textLeaf } from './leaf.js'
import { Secret } from './secret.js'

export interface Receiver {
  /** A program and its arguments. */
  readonly command: readonly string[] | undefined
  readonly webhook: Secret | undefined
  readonly secret: Secret | undefined
}

/** Standard Webhooks: base64, with or without the prefix `whsec_`. */
function isSigningKey(text: string): boolean {
  const key = text.replace(/^whsec_/, '')
  return key.length % 4 === 0 && /^[A-Za-z0-9+/]+={0,2}$/.test(key)
}

/** The settings of a receiver. `example`: a command, as a list in JSON. */
export const receiverShape = (example: string) => ({
  command: z
    .array(textLeaf(`the program, then its arguments, such as ${example}`), {
      error: `a list such as ${example}`,
    })
    .min(1, { error: `a list such as ${example}` })
    .optional()
    .describe(
      "A program and its arguments; it gets the message as JSON on stdin. It runs without a shell, in the configuration's folder.",
    ),
  webhook: secret('an address such as "https://hooks.example.com/services/…"').optional().meta({
    description:
      'The address to POST the message to, as JSON. The address is a secret and is never shown; take it from the environment.',
  }),
  secret: secret('a key in base64 such as "whsec_…"').optional().meta({
    description:
      'Key that signs the messages to webhook, as in the Standard Webhooks specification: base64, with or without the prefix whsec_.',
  }),
})

/** As it is written, with its files read. */
interface TypedReceiver {
  readonly command?: readonly string[] | undefined
  readonly webhook?: z.output<ReturnType<typeof secret>> | undefined
  readonly secret?: TypedReceiver['webhook']
}

/** `what` a receiver is called in a message, such as `a rule`. */
export const checkReceiver =
  (what: string) =>
  ({ command, webhook, secret: key }: TypedReceiver, context: z.RefinementCtx): void => {
    const issue = (path: string, message: string): void =>
      context.addIssue({ code: 'custom', path: [path], message })
    if (command === undefined && webhook === undefined) issue('webhook', 'either "webhook" or "command"')
    if (command !== undefined && webhook !== undefined)
      issue('command', `none next to "webhook": ${what} has one of the two`)
    if (key !== undefined && webhook === undefined)
      issue('secret', 'none: only messages to a webhook are signed')
    if (typeof key === 'string' && !isSigningKey(key))
      context.addIssue({
        code: 'custom',
        path: ['secret'],
        message: 'a key in base64, with or without the prefix "whsec_"',
        params: { hint: 'Type echo "whsec_$(openssl rand -base64 24)" to make a new one' },
      })
  }

const secretOf = (value: TypedReceiver['webhook']): Secret | undefined =>
  typeof value === 'string' ? new Secret(value) : undefined

export const toReceiver = ({ command, webhook, secret: key }: TypedReceiver): Receiver => ({
  command,
  webhook: secretOf(webhook),
  secret: secretOf(key),
})
