/*
 * The section `report` of the configuration: days, zones and names for people who read the data, and the schema of the
 * views.
 */
import { z } from 'zod'
import { nameFields } from '../../../schema/naming.js'
import { choice, isSchemaName, schemaName, section, textLeaf, timeZoneLeaf } from './leaf.js'
import type { Problem } from './problems.js'
import { configSection, settingsOf, type WithSections } from './section.js'

/** Days, zones and names for people who read the data. */
export interface ReportConfig {
  readonly timeZone: string
  /** By TENANT/SHOP. */
  readonly shopTimeZones: Readonly<Record<string, string>>
  /** How a tax rate of 8.25% is sent: 8.25, or 0.0825. */
  readonly taxRates: 'percent' | 'fraction'
  /** What views do with records that have left their list and can still be read by id. */
  readonly unlisted: 'keep' | 'leave out'
  /** Postgres schema of the views; undefined: the tables' schema plus `_analytics`. */
  readonly schema: string | undefined
  /** The fields that make up a name, by resource; only those in the configuration. */
  readonly names: Readonly<Record<string, readonly string[]>>
  /** By tenant. */
  readonly tenantNames: Readonly<Record<string, string>>
  /** Whether the report shows phones and e-mail addresses of customers. */
  readonly contacts: boolean
  /** Names of the statuses of orders that wait for parts. */
  readonly waitingForParts: readonly string[]
}

const fieldName = /^[A-Za-z]\w{0,62}$/
const fieldError = 'the name of a field as the API sends it'
const field = textLeaf(fieldError).regex(fieldName, { error: fieldError })

const nameError = `${fieldError}, or a list of such names that are joined by spaces`

/** One field or several, as a list. */
const nameOf = (resource: string) =>
  z
    .union([field, z.array(field, { error: nameError }).min(1, { error: nameError })], { error: nameError })
    .transform((fields) => (typeof fields === 'string' ? [fields] : fields))
    .optional()
    .describe(
      `Which fields make up the names of ${resource}; default: ${(nameFields[resource] ?? []).map((fields) => fields.join(' ')).join(', else ')}.`,
    )

const shopKey = /^[1-9]\d{0,18}\/[1-9]\d{0,18}$/
const shopError = 'a tenant and a shop, such as "101/3"'
const tenantKey = /^[1-9]\d{0,18}$/
const tenantError = 'the id of a tenant, such as "101"'

const statusError = 'the name of a status, such as "Waiting for parts"'

const shape = section(
  {
    timeZone: timeZoneLeaf(
      'The time zone that defines days, by its IANA name; a shop may have its own: see shopTimeZones.',
    ).prefault('UTC'),
    shopTimeZones: z
      .record(z.string().regex(shopKey, { error: shopError }), timeZoneLeaf('Time zone of that shop.'), {
        error: 'an object such as {"101/3": "America/Chicago"}',
      })
      .prefault({})
      .meta({
        description:
          "Time zones of individual shops, by TENANT/SHOP. They take precedence over a shop's time_zone from the API, which takes precedence over timeZone.",
        examples: [{ '101/3': 'America/Denver' }],
      }),
    taxRates: choice(['percent', 'fraction'], '"percent" or "fraction"')
      .default('percent')
      .describe('What the API sends for a tax of 8.25%: 8.25 ("percent") or 0.0825 ("fraction").'),
    unlisted: choice(['keep', 'leave out'], '"keep" or "leave out"')
      .default('keep')
      .describe(
        'What views do with records that the source no longer lists but still shows by their id, such as archived ones (_unlisted_at): "keep" them, or "leave out" like deleted ones.',
      ),
    schema: schemaName
      .optional()
      .describe(
        'Postgres schema that holds the views for analysts; default: the name in warehouse.schema followed by _analytics.',
      ),
    names: section(
      Object.fromEntries(Object.keys(nameFields).map((resource) => [resource, nameOf(resource)])),
      'Which fields make up the name of a shop, a vehicle and so on: one field, or several joined by spaces, from columns or from _extra.',
    ),
    tenantNames: z
      .record(
        z.string().regex(tenantKey, { error: tenantError }),
        textLeaf('a name such as "Main Street Auto"').describe('Name of that tenant.'),
        { error: 'an object such as {"101": "Main Street Auto"}' },
      )
      .prefault({})
      .meta({
        description: 'Names of tenants, by id. The API sends none.',
        examples: [{ '101': 'Main Street Auto' }],
      }),
    contacts: z
      .boolean({ error: 'true or false' })
      .default(false)
      .describe("Whether the lists in the report show customers' phone numbers and email addresses."),
    waitingForParts: z
      .array(textLeaf(statusError), { error: 'a list of names such as ["Waiting for parts"]' })
      .prefault([])
      .meta({
        description:
          'Names of the statuses that mean that an order waits for parts, as status_name in the views shows them. The report then lists these orders. The API documentation names no status.',
        examples: [['Waiting for parts']],
      }),
  },
  'Days, zones and names in the views for analysts and in the report.',
)

/** Without the settings that were left out. */
const given = <T>(settings: Readonly<Record<string, T | undefined>>): Record<string, T> =>
  Object.fromEntries(Object.entries(settings).filter((entry): entry is [string, T] => entry[1] !== undefined))

/** Views among the tables would take their names, or be taken for tables that somebody changed. */
function schemaProblems(views: string | undefined, tables: string): Problem[] {
  if (views === tables)
    return [
      {
        path: 'report.schema',
        found: JSON.stringify(views),
        expected: 'another schema than warehouse.schema, which holds the tables',
        hint: `Leave it out for "${tables}_analytics"`,
      },
    ]
  if (views !== undefined || isSchemaName(`${tables}_analytics`)) return []
  return [
    {
      path: 'warehouse.schema',
      found: JSON.stringify(tables),
      expected: 'a name of at most 53 characters, because the schema of the views adds _analytics',
      hint: 'Shorten it, or name the schema of the views in report.schema',
    },
  ]
}

export const reportSection = configSection({
  name: 'report',
  after: 'alerts',
  shape,
  problems: ({ schema }, { sections }) => {
    const { url, schema: tables = '' } = (sections.warehouse ?? {}) as { url?: unknown; schema?: string }
    // SQLite has no schemas.
    return String(url).startsWith('sqlite:') ? [] : schemaProblems(schema, tables)
  },
  read: (document): ReportConfig => ({ ...document, schema: document.schema, names: given(document.names) }),
})

export const reportSettings = settingsOf(reportSection)

/** What rows are made with, by name: those of derived tables, of snapshots and of zones. The rest is only about pages. */
export function shapingSettings(config: WithSections): Record<string, unknown> {
  const { schema: _, contacts: _contacts, waitingForParts: _parts, ...shaping } = reportSettings(config)
  return Object.fromEntries(Object.entries(shaping).map(([name, value]) => [`report.${name}`, value]))
}
