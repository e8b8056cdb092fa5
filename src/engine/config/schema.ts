/*
 * The configuration file: every setting with its check, its default and its description. load.ts checks a file against
 * it; the build writes schema/config.schema.json from it, for editors.
 */
import { z } from 'zod'
import { resources as declared } from '../../../schema/index.js'
import { kinds, type Resource } from '../../../schema/resource.js'
import { arrange } from '../base/arrange.js'
import { logLevels } from './config.js'
import {
  apiSecret,
  choice,
  durationLeaf,
  durationOrAutoLeaf,
  flag,
  jsonSchema,
  positiveDurationLeaf,
  type Resources,
  resourceChoice,
  schemaName,
  schemaReference,
  secret,
  section,
  share,
  type TableLister,
  tenantChoice,
  tenantList,
  trimmedLeaf,
  whole,
} from './leaf.js'
import { privacy } from './privacysection.js'
import type { ConfigSection } from './section.js'

const isPartnerId = (value: unknown): boolean =>
  (typeof value === 'string' && /^[\x21-\x7e]+$/.test(value.trim())) ||
  typeof value === 'bigint' ||
  Number.isSafeInteger(value)

const partnerId = z
  .unknown()
  .refine(isPartnerId, { error: 'the partner identifier: a whole number, or a text without spaces' })
  .transform((value) => String(value).trim())
  .meta({
    description: 'Partner identifier, as issued by the operator of the API (header X-Api-Partner-Id).',
    type: ['string', 'integer'],
    minLength: 1,
  })

const timeouts = section(
  {
    connect: durationLeaf('PT10S', 'To open a connection.', 'P20D'),
    headers: durationLeaf('PT30S', 'From the request to the first line of the response.', 'P20D'),
    body: durationLeaf('PT60S', 'Between two chunks of a response body.', 'P20D'),
    // Zero ends every request whose answer isn't there at once. 25 days overflow the timer, with the same effect.
    request: positiveDurationLeaf(
      'PT60S',
      'From the request to the end of the response, including the whole body. Longer than zero.',
      'P20D',
    ),
  },
  'How long to wait before a request counts as failed, as ISO 8601 durations.',
)

const retry = section(
  {
    attempts: whole(1, 20).default(6).describe('How many times a request is sent before its cursor fails.'),
    base: durationLeaf(
      'PT0.5S',
      'Longest pause before the first retry. It doubles with each retry, and each pause is a random part of it.',
    ),
    max: durationLeaf('PT30S', 'Longest pause between two attempts.'),
  },
  'Retries after lost connections, timeouts and server errors.',
)

const api = z
  .strictObject(
    {
      baseUrl: trimmedLeaf('an address such as "https://api.example.com"').meta({
        description:
          'Address of the API, without api/v1. Plain http is refused except for loopback addresses (see allowInsecure).',
        examples: ['https://api.example.com'],
      }),
      partnerId,
      secret: apiSecret.meta({
        description:
          'Partner secret (header X-Api-Secret). Take it from the environment as "${NAME}", or from a file as {"file": "PATH"}.',
        examples: ['${SHOPSYNC_API_SECRET}', { file: '/run/secrets/shopsync' }],
      }),
      rateReserve: share(0.9)
        .default(0)
        .describe('Share of each rate-limit window to leave for other clients of the API.'),
      allowInsecure: flag(
        'Allow plain http to other machines. The secret then crosses the network in clear text.',
      ),
      proxy: z
        .union([secret('the address of a proxy'), z.literal(false)], {
          error: 'an address such as "http://proxy.example.com:3128", {"file": "PATH"}, or false',
        })
        .default('environment')
        .meta({
          description:
            'HTTP proxy through which the API is reached, "http://USER:PASSWORD@HOST:PORT"; it only opens tunnels, and never sees a request or the secret. "environment": HTTPS_PROXY, unless NO_PROXY names the host. false: none.',
          examples: ['http://proxy.example.com:3128'],
        }),
      timeouts,
      maxWait: durationLeaf(
        'PT1H',
        'Longest wait when the API asks for one. If it asks for longer, cursors end as failed, and the next run tries again.',
        'P20D',
      ),
      maxBodyBytes: whole(65_536, 1_073_741_824)
        .default(67_108_864)
        .describe('Largest response to read; a larger one counts as failed.'),
      pageSize: whole(1, 100)
        .default(100)
        .describe(
          "The most records to request at once, if a gateway in front of the API can't pass larger responses on.",
        ),
      concurrency: whole(1, 64)
        .default(8)
        .describe('Connections to the API; each carries one request at a time.'),
      gzip: flag(
        'Request compressed responses: less traffic, more work for the processor. Worth it only on slow networks.',
      ),
      retry,
    },
    { error: 'an object with baseUrl, partnerId and secret' },
  )
  .describe('The API that shopsync reads.')

const warehouse = z
  .strictObject(
    {
      url: secret('"sqlite:PATH" or "postgres://USER@HOST/DATABASE"').meta({
        description:
          'Address of the warehouse: "sqlite:PATH" (relative to the folder of this file) or "postgres://USER:PASSWORD@HOST/DATABASE".',
        examples: ['sqlite:./warehouse.db', 'postgres://shopsync:${PGPASSWORD}@localhost/warehouse'],
      }),
      schema: schemaName
        .default('shopsync')
        .describe('Postgres schema that holds the tables; SQLite has none.'),
      pooler: flag(
        'Set this if a pooler in transaction mode (PgBouncer, Supavisor) is in front of Postgres: nothing is then kept in a session between transactions.',
      ),
      autoMigrate: flag(
        'Create and extend the tables when a run starts. If false, a run stops while tables are out of date, and `shopsync migrate` brings them up to date.',
        true,
      ),
    },
    { error: 'an object with url' },
  )
  .describe('The database that shopsync writes.')

const sync = (resources: Resources) =>
  section(
    {
      tenants: tenantChoice('The tenants to sync: all that have granted access, or only these.'),
      exceptTenants: tenantList(
        'Tenants to leave out without a warning, such as a customer who left. Their rows stay until `shopsync forget`.',
      ),
      resources: resourceChoice(resources, 'The resources to sync: all that are enabled, or only these.'),
      overlap: durationOrAutoLeaf(
        'PT5M',
        'How far before the watermark each run starts, to catch records that became visible late. "auto": at least twice the largest lateness of 30 days, from a minute to six hours.',
      ),
      concurrency: whole(1, 64)
        .default(8)
        .describe('How many cursors (one resource of one tenant) a run works on at a time.'),
    },
    'What a sync reads, and how.',
  )

const columnName = 'the name of a field as the API sends it'

/** Every table has these columns already, in Postgres or in SQLite. */
const systemColumns = /^(tableoid|[xc]min|[xc]max|ctid|rowid|oid)$/i

const history = flag(
  'Keep versions that are replaced or deleted, with their nested rows, in NAME_history (docs/history.md).',
)

const noHistory = z
  .literal(false, { error: 'false, for names in a bare list have no versions' })
  .default(false)
  .describe('Always false: names in a bare list have no versions.')

const resource = (of: Resource, tablesOf: TableLister) => {
  const taken = (tablesOf(of)[0]?.columns ?? []).map(({ name }) => name)
  return z
    .strictObject({
      enabled: flag('false: no request asks for the resource.', true),
      path: trimmedLeaf('a path below tenants/:tenant_id/')
        .regex(/^[\w.-]+(\/[\w.-]+)*$/, { error: `a path below tenants/:tenant_id/ such as "${of.name}"` })
        .optional()
        .describe('Path below tenants/:tenant_id/, if the API uses a different one.'),
      columns: z
        .record(z.string().regex(/^[A-Za-z]\w{0,62}$/, { error: columnName }), choice(kinds), {
          error: 'an object such as {"vin": "text"}',
        })
        .superRefine((columns, context) => {
          // SQLite doesn't distinguish names that only differ in case, and one configuration fits both databases.
          const known = new Map(taken.map((name) => [name.toLowerCase(), name]))
          for (const name of Object.keys(columns)) {
            if (systemColumns.test(name)) {
              const message = `a field that has no column yet; databases have a column ${name} of their own`
              context.addIssue({ code: 'custom', path: [name], message, params: { isKey: true } })
              continue
            }
            const other = known.get(name.toLowerCase())
            known.set(name.toLowerCase(), other ?? name)
            if (other === undefined) continue
            const there = `${of.name}.${other} already exists`
            const why = other === name ? there : `${there}, and SQLite takes both names for one column`
            const message = `a field that has no column yet; ${why}`
            context.addIssue({ code: 'custom', path: [name], message, params: { isKey: true } })
          }
        })
        .prefault({})
        .meta({
          description:
            'Fields that the API sends but its documentation does not show, by name and type. Each gets a column of its own and is no longer part of _extra; the list is read in full once for it.',
          examples: [{ vin: 'text', year: 'integer' }],
        }),
      history: of.list === 'records' ? history : noHistory,
    })
    .optional()
    .describe(of.doc)
}

/** The engine's own sections as people write them, with `${NAME}` and `{"file"}` already replaced. */
const ownSections = (tablesOf: TableLister, resources: Resources) => ({
  $schema: schemaReference,
  api,
  warehouse,
  sync: sync(resources),
  resources: section(
    Object.fromEntries(Object.values(resources).map((of) => [of.name, resource(of, tablesOf)])),
    'Settings of individual resources.',
  ),
  privacy: privacy(resources, tablesOf),
  history: section(
    {
      keep: durationLeaf(
        'P90D',
        'How long runs, their cursors and requests are kept. Of runs that found nothing new and are older than a week, one row per day and cursor is kept.',
      ),
    },
    'The history of runs, for `shopsync runs` and `shopsync why`.',
  ),
  log: section(
    {
      level: choice(logLevels)
        .optional()
        .describe('Lowest severity to log; default: warn on a terminal, else info.'),
      format: choice(['auto', 'text', 'json'], '"auto", "text" or "json"')
        .default('auto')
        .describe('Lines of text or of JSON; auto: text on a terminal, else JSON.'),
    },
    'Messages on stderr.',
  ),
})

/** What a configuration is checked against. */
export interface Checks {
  readonly tablesOf: TableLister
  /** The sections of the features. */
  readonly sections: readonly ConfigSection[]
  readonly resources?: Resources
}

function shapeOf({ tablesOf, sections, resources = declared }: Checks) {
  const own = Object.entries(ownSections(tablesOf, resources)).map(
    ([name, shape]) => [name, { shape }] as const,
  )
  const groups = sections.map((one) => ({ [one.name]: one }))
  const all = arrange<Pick<ConfigSection, 'shape' | 'after'>>(Object.fromEntries(own), groups)
  return z.strictObject(Object.fromEntries(all.map(([name, { shape }]) => [name, shape])), {
    error: 'an object',
  })
}

/** To make one takes longer than to check a file against it, and programs that stay up check several. */
const shapes = new WeakMap<Checks['sections'], ReturnType<typeof shapeOf>>()

/** The configuration, including the features' sections. */
export function configShape(checks: Checks): ReturnType<typeof shapeOf> {
  const isUsual = (checks.resources ?? declared) === declared
  const shape = (isUsual && shapes.get(checks.sections)) || shapeOf(checks)
  if (isUsual) shapes.set(checks.sections, shape)
  return shape
}

/** The engine's own sections, after the check. */
export type ConfigDocument = {
  [N in keyof ReturnType<typeof ownSections>]: z.output<ReturnType<typeof ownSections>[N]>
}

/** JSON Schema of the configuration file. */
export function configSchema(checks: Checks): object {
  return jsonSchema(configShape(checks), {
    title: 'shopsync configuration',
    description: 'Settings of shopsync. In any text, ${NAME} is replaced by the environment variable NAME.',
  })
}
