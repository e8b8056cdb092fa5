/*
 * The section `alerts` of the configuration: which problems are reported to whom, and which address is called after
 * each run.
 */
import { z } from 'zod'
import { addressProblem } from '../../engine/config/address.js'
import { choice, durationLeaf, secret, section, textLeaf } from '../../engine/config/leaf.js'
import type { Problem } from '../../engine/config/problems.js'
import { checkReceiver, type Receiver, receiverShape, toReceiver } from '../../engine/config/receivershape.js'
import { Secret } from '../../engine/config/secret.js'
import { configSection, settingsOf } from '../../engine/config/section.js'

/** The kinds of incidents that a rule of `alerts` can report. */
export const alertKinds = [
  'failed',
  'unproven',
  'stale',
  'deletes_unchecked',
  'revoked',
  'drift',
  'quarantine',
  'events',
  'behind_target',
  'quiet',
  'workers',
] as const
export type AlertKind = (typeof alertKinds)[number]

/** Kinds that a rule has to name: a target may be impossible to meet, and a quiet shop may be closed. */
const namedKinds: readonly AlertKind[] = ['behind_target', 'quiet']

/** What a rule without kinds reports. */
const usualKinds = alertKinds.filter((kind) => !namedKinds.includes(kind))

/** Kinds that are a suspicion: they are shown and reported, but while only such an incident is open, all is well. */
export const isSuspicion = (kind: AlertKind): boolean => kind === 'quiet'

/** Which problems are reported to whom: a command, or a webhook with or without a signing key. */
export interface AlertRule extends Receiver {
  readonly on: readonly AlertKind[]
  /** How many milliseconds a problem has to last first. */
  readonly after: number
}

/** `heartbeat`: the address called after each run. */
export interface AlertSettings {
  readonly name?: string | undefined
  readonly rules: readonly AlertRule[]
  readonly heartbeat: Secret | undefined
}

const kindsError = `a list of ${alertKinds.map((kind) => `"${kind}"`).join(', ')}`

const rule = z
  .strictObject(
    {
      on: z
        .array(choice(alertKinds, `one of ${alertKinds.join(', ')}`), { error: kindsError })
        .min(1, { error: kindsError })
        .prefault(usualKinds)
        .describe(
          'What this rule reports; everything by default. failed: a cursor or a whole run failed. unproven: something may be missing. stale: no complete run for status.staleAfter. deletes_unchecked: deletions not checked for status.deletesUncheckedAfter. revoked: a tenant is no longer granted. drift: fields or values seen for the first time. quarantine: values that could not be stored. events: an event receiver that accepts none or has ended, events that wait, records that events announce but no list shows. behind_target: for an hour, most changes of a resource came later than its target; reported only to rules that name it. quiet: a list has had nothing new for three days or longer, although it usually has at least 16 changes a day; reported only to rules that name it. workers: no worker takes what waits for two minutes, or three in a row have died of one shard.',
        ),
      ...receiverShape('["/usr/local/bin/notify", "ops"]'),
      after: durationLeaf(
        'PT0S',
        'How long trouble must last before it is reported. drift is reported at once.',
      ),
    },
    { error: 'an object such as {"command": ["/usr/local/bin/notify", "ops"]}' },
  )
  .superRefine(checkReceiver('a rule'))
  .describe('What to report, and to which command or webhook.')

const shape = section(
  {
    name: textLeaf('a name such as "production"')
      .optional()
      .describe(
        "The name of this installation, which starts every message. Default: this machine's host name.",
      ),
    rules: z
      .array(rule, { error: 'a list of rules such as [{"webhook": "https://hooks.example.com/…"}]' })
      .prefault([])
      .describe(
        'Who is told when something needs attention, and when it is resolved. Each rule works on its own.',
      ),
    heartbeat: secret('an address such as "https://hc-ping.com/…"').optional().meta({
      description:
        "An address that is called after each run that ends with exit code 0 or 1, with it as the parameter exit: a dead man's switch, for a service that notices when the calls stop. The address is a secret.",
    }),
  },
  'Who is told when something needs attention. Every command that records a run reports what opened and what was resolved.',
)

/** Mistakes in the addresses. The addresses are secrets too, so no message quotes them. */
function addressProblems({ rules, heartbeat }: z.output<typeof shape>, allowInsecure: boolean): Problem[] {
  const webhooks = rules.map(({ webhook }, i) => [`alerts.rules[${i}].webhook`, webhook] as const)
  return [...webhooks, ['alerts.heartbeat', heartbeat] as const].flatMap(([path, address]) =>
    typeof address === 'string' ? (addressProblem(path, address, allowInsecure) ?? []) : [],
  )
}

const toAlerts = ({ name, rules, heartbeat }: z.output<typeof shape>): AlertSettings => ({
  name,
  rules: rules.map(({ on, after, ...receiver }): AlertRule => ({ on, after, ...toReceiver(receiver) })),
  heartbeat: typeof heartbeat === 'string' ? new Secret(heartbeat) : undefined,
})

export const alertSection = configSection({
  name: 'alerts',
  after: 'history',
  shape,
  secrets: ['alerts.rules[].webhook', 'alerts.rules[].secret', 'alerts.heartbeat'],
  problems: (document, { allowInsecure }) => addressProblems(document, allowInsecure),
  read: toAlerts,
})

export const alertSettings = settingsOf(alertSection)
