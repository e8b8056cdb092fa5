/*
 * The settings `then` and `thenEvery`: what runs after a run. Read by src/features/then; a job's file has the same
 * entries, so the shape of one is here.
 */
import { z } from 'zod'
import { addressProblem } from './address.js'
import { choice, positiveDurationLeaf } from './leaf.js'
import type { Problem } from './problems.js'
import { checkReceiver, type Receiver, receiverShape, toReceiver } from './receivershape.js'
import { configSection, settingsOf } from './section.js'

/** After which runs: `changed` anything in the warehouse, `finished` with exit code 0 or 1, or `ok` with 0. */
const occasions = ['changed', 'finished', 'ok'] as const

/** What runs after a run. */
export interface ThenEntry extends Receiver {
  readonly on: (typeof occasions)[number]
  /** How many milliseconds it may take. */
  readonly timeout: number
}

const example = '["dbt", "build"]'

const entry = z
  .strictObject(
    {
      ...receiverShape(example),
      on: choice(occasions, 'one of changed, finished, ok')
        .default('changed')
        .describe(
          'After which runs. changed: anything new, different or deleted was stored since it was last told. finished: every run that came to its end, exit code 0 or 1. ok: exit code 0.',
        ),
      timeout: positiveDurationLeaf(
        'PT15M',
        'How long it may take. A command is then killed, with everything it started; a webhook is given up after 30 seconds at the latest.',
        'P1D',
      ),
    },
    { error: `an object such as {"command": ${example}}` },
  )
  .superRefine(checkReceiver('an entry'))
  .describe('A command or a webhook that is told what a run changed.')

const list = z.array(entry, { error: `a list such as [{"command": ${example}}]` })

/** The entries of the configuration. */
const shape = list
  .prefault([])
  .describe(
    'What runs after every run that writes, in this order, such as dbt build: each gets a JSON document about what changed on stdin or as its body (docs/increments.md). The `then` of a job replaces it.',
  )

/** The entries of a job's file. */
export const jobThenShape = list
  .transform((entries) => entries.map(toEntry))
  .optional()
  .meta({
    description:
      'What runs after each run of the job, instead of `then` of the configuration; an empty list: nothing (docs/increments.md).',
    examples: [[{ command: ['dbt', 'build'] }]],
  })

const toEntry = ({ on, timeout, ...receiver }: z.output<typeof entry>): ThenEntry => ({
  on,
  timeout,
  ...toReceiver(receiver),
})

/** Mistakes in the addresses of webhooks. They are secrets, so no message quotes them. */
export const thenProblems = (
  entries: readonly { readonly webhook?: unknown }[],
  allowInsecure: boolean,
): Problem[] =>
  entries.flatMap(({ webhook }, i) =>
    typeof webhook === 'string' ? (addressProblem(`then[${i}].webhook`, webhook, allowInsecure) ?? []) : [],
  )

/** The paths of secrets among the entries. */
export const thenSecrets = ['then[].webhook', 'then[].secret']

export const thenSection = configSection({
  name: 'then',
  after: 'history',
  shape,
  secrets: thenSecrets,
  problems: (entries, { allowInsecure }) => thenProblems(entries, allowInsecure),
  read: (entries) => entries.map(toEntry),
})

export const thenEverySection = configSection({
  name: 'thenEvery',
  after: 'then',
  shape: positiveDurationLeaf(
    'PT5M',
    'How often `then` is told, at the most, what a listener stored because of events. What came in between is told together.',
  ),
})

export const thenSettings = settingsOf(thenSection)
export const thenEvery = settingsOf(thenEverySection)
