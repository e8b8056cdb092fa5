// biome-ignore-all lint/suspicious/noTemplateCurlyInString: ${NAME} is what people type into the file
import { z } from 'zod'
import { resources as declared } from '../../schema/index.js'
import type { Kind, Resource } from '../../schema/resource.js'
import { tablesOf } from '../model/tables.js'
import { logLevels } from './config.js'
import {
  durationLeaf,
  flag,
  jsonSchema,
  type Resources,
  resourceChoice,
  secret,
  tenantChoice,
  textLeaf,
  whole,
} from './leaf.js'

const kinds = [
  'id',
  'integer',
  'cents',
  'number',
  'boolean',
  'text',
  'timestamp',
  'json',
] as const satisfies readonly Kind[]

const isPartnerId = (value: unknown): boolean =>
  (typeof value === 'string' && value !== '') || typeof value === 'bigint' || Number.isSafeInteger(value)

const api = z
  .strictObject(
    {
      baseUrl: textLeaf('an address such as "https://api.example.com"').meta({
        description:
          'Address of the API, without api/v1. Plain http is refused except for loopback addresses (see allowInsecure).',
        examples: ['https://api.example.com'],
      }),
      partnerId: z
        .unknown()
        .refine(isPartnerId, { error: 'the partner identifier: a text or a whole number' })
        .transform(String)
        .meta({
          description: 'Partner identifier, as issued by the operator of the API (header X-Api-Partner-Id).',
          type: ['string', 'integer'],
          minLength: 1,
        }),
      secret: secret('the partner secret').meta({
        description:
          'Partner secret (header X-Api-Secret). Best taken from the environment as "${NAME}", or from a file as {"file": "PATH"}.',
        examples: ['${SHOPSYNC_API_SECRET}', { file: '/run/secrets/shopsync' }],
      }),
      rateReserve: z
        .number({ error: 'a number from 0 to 0.9' })
        .min(0, { error: 'a number from 0 to 0.9' })
        .max(0.9, { error: 'a number from 0 to 0.9' })
        .default(0)
        .describe('Share of each rate-limit window that is left for others.'),
      allowInsecure: flag(
        'Allow plain http to other machines. The secret then crosses the network in clear text.',
      ),
      timeouts: z
        .strictObject({
          connect: durationLeaf('PT10S', 'For a connection to come about.'),
          headers: durationLeaf('PT30S', 'From the request to the first line of the answer.'),
          body: durationLeaf('PT60S', 'Between two pieces of the body of an answer.'),
        })
        .prefault({})
        .describe('How long to wait before a request counts as failed, as ISO 8601 durations.'),
      maxBodyBytes: whole(65_536, 1_073_741_824)
        .default(67_108_864)
        .describe('Largest answer that is read; a larger one counts as failed.'),
      concurrency: whole(1, 64).default(8).describe('Connections to the API, which is requests at one time.'),
      gzip: flag('Ask for compressed answers: less traffic for more work; worth it on slow lines only.'),
      retry: z
        .strictObject({
          attempts: whole(1, 20).default(6).describe('How often a request is sent before its cursor fails.'),
          base: durationLeaf(
            'PT0.5S',
            'Longest first pause; it doubles from try to try, and its length is drawn at random.',
          ),
          max: durationLeaf('PT30S', 'Longest pause between two tries.'),
        })
        .prefault({})
        .describe('What is done about lost connections, time-outs and server errors.'),
    },
    { error: 'an object with baseUrl, partnerId and secret' },
  )
  .describe('The API that is read.')

const warehouse = z
  .strictObject(
    {
      url: secret('"sqlite:PATH" or "postgres://USER@HOST/DATABASE"').meta({
        description:
          'Where the warehouse is: "sqlite:PATH" (relative to the working directory) or "postgres://USER:PASSWORD@HOST/DATABASE".',
        examples: ['sqlite:./warehouse.db', 'postgres://shopsync:${PGPASSWORD}@localhost/warehouse'],
      }),
      schema: z
        .string({ error: 'the name of a Postgres schema, such as "shopsync"' })
        .regex(/^[a-z_][a-z0-9_]{0,62}$/, {
          error: 'the name of a Postgres schema: lower case letters, digits and _',
        })
        .default('shopsync')
        .describe('Postgres schema that holds the tables; SQLite has none.'),
      autoMigrate: z
        .boolean({ error: 'true or false' })
        .default(true)
        .describe(
          'Create and extend the tables when a run starts. If false, a run stops until `shopsync migrate` was run.',
        ),
    },
    { error: 'an object with url' },
  )
  .describe('The database that is written.')

const sync = (resources: Resources) =>
  z
    .strictObject({
      tenants: tenantChoice('The tenants to sync: all that have granted access, or these.'),
      resources: resourceChoice(resources, 'The resources to sync: all that are enabled, or these.'),
      overlap: durationLeaf(
        'PT5M',
        'How far before its watermark a run starts again, for records that became visible late.',
      ),
      concurrency: whole(1, 64)
        .default(8)
        .describe('Cursors (a resource of a tenant) that are worked on at one time.'),
    })
    .prefault({})
    .describe('What is synced, and how.')

const columnName = 'the name of a field as the API sends it'

const resource = (of: Resource) => {
  const taken = new Set(tablesOf(of)[0]?.columns.map((column) => column.name))
  return z
    .strictObject({
      enabled: z.boolean({ error: 'true or false' }).default(true).describe('false: it is never asked for.'),
      path: textLeaf('a path below tenants/:tenant_id/')
        .regex(/^[\w.-]+(\/[\w.-]+)*$/, { error: `a path below tenants/:tenant_id/ such as "${of.name}"` })
        .optional()
        .describe('Path below tenants/:tenant_id/, if the API has it elsewhere.'),
      columns: z
        .record(
          z.string().regex(/^[A-Za-z]\w{0,62}$/, { error: columnName }),
          z.enum(kinds, { error: `one of ${kinds.join(', ')}` }),
          {
            error: 'an object such as {"vin": "text"}',
          },
        )
        .superRefine((columns, context) => {
          for (const name of Object.keys(columns).filter((key) => taken.has(key))) {
            const message = `a field that has no column yet; ${of.name}.${name} is there already`
            context.addIssue({ code: 'custom', path: [name], message })
          }
        })
        .prefault({})
        .describe(
          'Fields that the API sends and its document does not show, to be columns instead of parts of _extra: name and type.',
        ),
    })
    .optional()
    .describe(of.doc)
}

const perResource = (resources: Resources) => {
  const shape = Object.fromEntries(Object.values(resources).map((of) => [of.name, resource(of)]))
  return z.strictObject(shape).prefault({}).describe('Settings of single resources.')
}

const keep = z.literal('keep', {
  error: (issue) =>
    issue.input === 'hash' || issue.input === 'drop'
      ? '"keep", for this version cannot hash or drop columns yet; leave the resource out (resources.NAME.enabled) if its data may not be stored'
      : '"keep"',
})

const privacy = (resources: Resources) => {
  const tables = Object.values(resources).flatMap((of) => tablesOf(of).map((table) => table.name))
  const columns = z.record(z.string(), keep).optional().describe('Column and what becomes of it.')
  return z
    .strictObject(Object.fromEntries(tables.map((table) => [table, columns])))
    .prefault({})
    .describe(
      'What becomes of a column: per table and column "keep", which is what happens anyway; "hash" and "drop" are refused in this version.',
    )
}

/** The configuration as it is written, `${NAME}` and `{"file"}` already resolved. */
export const configShape = (resources: Resources = declared) =>
  z.strictObject(
    {
      $schema: z.string().optional().describe('Where the JSON Schema of this file is, for editors.'),
      api,
      warehouse,
      sync: sync(resources),
      resources: perResource(resources),
      privacy: privacy(resources),
      reconcile: z
        .strictObject({
          maxDeletes: z
            .number({ error: 'a number from 0 to 1' })
            .min(0, { error: 'a number from 0 to 1' })
            .max(1, { error: 'a number from 0 to 1' })
            .default(0.2)
            .describe(
              "Share of a cursor's rows that may be marked deleted at once; more needs --accept-deletes.",
            ),
        })
        .prefault({})
        .describe('What `shopsync reconcile` may do.'),
      status: z
        .strictObject({
          staleAfter: durationLeaf(
            'PT26H',
            'A cursor whose last complete run is older is stale, and `status` exits with 1.',
          ),
        })
        .prefault({})
        .describe('When `shopsync status` complains.'),
      log: z
        .strictObject({
          level: z
            .enum(logLevels, { error: `one of ${logLevels.join(', ')}` })
            .optional()
            .describe('Least severe messages to log; default: warn on a terminal, else info.'),
          format: z
            .enum(['auto', 'text', 'json'], { error: '"auto", "text" or "json"' })
            .default('auto')
            .describe('Lines of text or of JSON; auto: text on a terminal, else JSON.'),
        })
        .prefault({})
        .describe('Messages on stderr.'),
    },
    { error: 'an object' },
  )

export type ConfigDocument = z.output<ReturnType<typeof configShape>>

/** JSON Schema of the configuration file. */
export function configSchema(resources: Resources = declared): object {
  return jsonSchema(configShape(resources), {
    title: 'shopsync configuration',
    description: 'Settings of shopsync. In any text, ${NAME} is replaced by the environment variable NAME.',
  })
}
