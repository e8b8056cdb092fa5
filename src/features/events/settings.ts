/* The section `events` of the configuration: where the source's events are received, and what limits apply. */
import { z } from 'zod'
import { resources } from '../../../schema/index.js'
import { durationLeaf, flag, secret, section, share, textLeaf, whole } from '../../engine/config/leaf.js'
import type { Problem } from '../../engine/config/problems.js'
import { Secret } from '../../engine/config/secret.js'
import { configSection, settingsOf } from '../../engine/config/section.js'

export interface EventSettings {
  readonly host: string
  readonly port: number
  readonly path: string
  readonly tls: { readonly cert: string; readonly key: string } | undefined
  readonly allowInsecure: boolean
  /** undefined: the API's own secret. */
  readonly secrets: readonly Secret[] | undefined
  readonly maxBodyBytes: number
  /** Milliseconds. */
  readonly keep: number
  readonly lateAfter: number
  readonly settle: number
  /** Share of each rate window, 0 to 1. */
  readonly requestShare: number
  /** Which resources' cursors an event makes due besides its own, by resource; undefined: as declared. */
  readonly also: Readonly<Record<string, readonly string[]>> | undefined
}

const pathError = 'a path such as "/webhooks"'
const file = (what: string) => textLeaf(`the path of ${what} in PEM`)

const shape = section(
  {
    host: textLeaf('a host name or an address such as "127.0.0.1"')
      .default('127.0.0.1')
      .describe('Address at which `shopsync listen` receives events.'),
    port: whole(0, 65535).default(8787).describe('Port; 0: any that is free.'),
    path: z
      .string({ error: pathError })
      .regex(/^\/[^\s?#]*$/, { error: pathError })
      .default('/webhooks')
      .describe('Path of the address that is registered with the source.'),
    tls: z
      .strictObject({
        cert: file('the certificate').describe(
          "File with the certificate and its chain, relative to the configuration's folder; read again when it changes. Without tls, plain http.",
        ),
        key: file('the key').describe('File with the key.'),
      })
      .optional()
      .describe('Certificate for https.'),
    allowInsecure: flag(
      'Allow plain http on an address that other machines can reach, for a network in which something else terminates TLS.',
    ),
    secrets: z
      .array(secret('the API secret as the source sends it'), { error: 'a list of one or two secrets' })
      .min(1, { error: 'a list of one or two secrets' })
      .max(2, { error: 'a list of one or two secrets' })
      .optional()
      .describe(
        'The secrets that an event may carry: two, while you replace one with another. Default: api.secret.',
      ),
    maxBodyBytes: whole(1024, 64 * 1024 * 1024)
      .default(4 * 1024 * 1024)
      .describe('Largest event to accept, in bytes.'),
    keep: durationLeaf('P30D', 'How long events are kept after they are settled.'),
    lateAfter: durationLeaf(
      'PT15M',
      'How long an event may be due and not settled before an alert is sent.',
      'P30D',
    ),
    settle: durationLeaf(
      'PT2S',
      'The shortest time between two walks of one cursor that events cause.',
      'PT1H',
    ),
    requestShare: share(1)
      .default(0.5)
      .describe(
        'The share of each rate-limit window that these walks may take while planned work waits; with targets, at any time, spread over the window.',
      ),
    also: z
      .record(z.string(), z.array(textLeaf('the name of a resource')))
      .optional()
      .meta({
        description:
          'By resource: which other lists, ones without events of their own, an event of that resource also makes due. docs/webhooks.md has the defaults.',
        examples: [{ repair_orders: ['payments'] }],
      }),
  },
  "The source's events (docs/webhooks.md): used by `shopsync listen`, and by `schedule` where schedule.events is true.",
)

/** A secret from a file: the loader has already replaced it with the file's text. */
const asSecret = (text: string | { readonly file: string }): Secret =>
  new Secret(typeof text === 'string' ? text : text.file)

/** The first name in `also` that isn't a resource. */
function alsoProblems(also: Readonly<Record<string, readonly string[]>> = {}): Problem[] {
  const names = [...Object.keys(also), ...Object.values(also).flat()]
  const unknown = names.find((name) => !Object.hasOwn(resources, name))
  if (unknown !== undefined)
    return [{ path: 'events.also', found: JSON.stringify(unknown), expected: 'the name of a resource' }]
  const isList = (name: string): boolean => resources[name]?.list !== 'strings'
  const plain = names.find((name) => !isList(name))
  if (plain !== undefined)
    return [
      { path: 'events.also', found: JSON.stringify(plain), expected: 'a resource whose records have ids' },
    ]
  const silent = Object.keys(also).find((name) => resources[name]?.announced !== true)
  if (silent === undefined) return []
  return [
    {
      path: 'events.also',
      found: JSON.stringify(silent),
      expected: 'a resource that has events',
      hint: 'docs/webhooks.md names them',
    },
  ]
}

export const eventSection = configSection({
  name: 'events',
  after: 'schedule',
  shape,
  secrets: ['events.secrets[]'],
  problems: ({ also }) => alsoProblems(also),
  read: ({ secrets, tls, also, ...rest }): EventSettings => ({
    ...rest,
    tls,
    also,
    secrets: secrets?.map(asSecret),
  }),
})

export const eventSettings = settingsOf(eventSection)
