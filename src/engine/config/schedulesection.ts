/* The sections `schedule` and `workers` of the configuration: the programs that stay up and run jobs. */
import { z } from 'zod'
import { flag, section, textLeaf, timeZoneLeaf, whole } from './leaf.js'
import type { Problem } from './problems.js'
import { configSection, settingsOf } from './section.js'

/** Where a program that stays up listens. */
const listenLeaf = (port: number, audience: string, does: string) =>
  z
    .union(
      [
        z.literal(false),
        z.strictObject({
          host: textLeaf('a host name or an address such as "127.0.0.1"')
            .default('127.0.0.1')
            .describe(audience),
          port: whole(0, 65535).default(port).describe('Port to listen on; 0: any free one.'),
        }),
      ],
      { error: `false, or an object such as {"host": "127.0.0.1", "port": ${port}}` },
    )
    .prefault({})
    .meta({ description: does, examples: [{ host: '127.0.0.1', port }] })

const shape = section(
  {
    timeZone: timeZoneLeaf(
      "The time zone of the jobs' schedules, by its IANA name. A fixed hour that daylight saving time skips is due when the gap ends, and one that comes twice is due once.",
    ).prefault('UTC'),
    listen: listenLeaf(
      8788,
      'Address to listen on. Anyone who can reach it can read the report: there is no password.',
      'Where `shopsync schedule` serves health, metrics and the report; false: nowhere.',
    ),
    events: flag(
      "Receive the source's events next to the jobs, as `shopsync listen` does; the section events sets the address.",
    ),
    shards: whole(0, 64)
      .default(0)
      .describe(
        'Into how many shards each job is divided for workers (docs/scale.md, Workers): when a job is due, `shopsync schedule` puts them into the queue instead of running it. 0: it runs jobs itself. Postgres only.',
      ),
    work: flag('With shards: also work on them, like one `shopsync worker`.'),
  },
  'Settings of `shopsync schedule`.',
)

/** The longest name of the schema of tables beside which the schema of the queue has room. */
const longestSchema = 44

/** What a warehouse needs for shards. */
function shardProblems(shards: number, { url, schema = '' }: { url?: unknown; schema?: string }): Problem[] {
  if (shards === 0) return []
  const path = 'schedule.shards'
  if (String(url).startsWith('sqlite:'))
    return [
      {
        path,
        found: `${shards} and a SQLite warehouse`,
        expected: '0: workers need one on Postgres',
        hint: 'Remove it, or first type shopsync copy --to postgres://user:password@host:5432/database',
      },
    ]
  if (schema.length <= longestSchema) return []
  const expected = `at most ${longestSchema} characters, because the queue for workers is in ${schema}_queue`
  return [{ path: 'warehouse.schema', found: `${schema.length} characters`, expected }]
}

export const scheduleSection = configSection({
  name: 'schedule',
  after: 'report',
  shape,
  problems: ({ shards }, { sections }) =>
    shardProblems(shards, (sections.warehouse ?? {}) as { url?: unknown; schema?: string }),
})

export const scheduleSettings = settingsOf(scheduleSection)

export const workersSection = configSection({
  name: 'workers',
  after: 'schedule',
  shape: section(
    {
      listen: listenLeaf(
        8789,
        'Address to listen on. What it serves contains no customer data.',
        'Where `shopsync worker` serves health and metrics; false: nowhere.',
      ),
    },
    'Settings of `shopsync worker`.',
  ),
})

export const workerSettings = settingsOf(workersSection)
