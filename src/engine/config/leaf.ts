/*
 * Kinds of settings that the configuration and the jobs share. Each one's error names the value that is expected;
 * problems.ts adds the value that was found and a hint. Used by schema.ts and features/jobs/jobfile.ts.
 */
import { z } from 'zod'
import type { Personal, Resource } from '../../../schema/resource.js'
import { parseId } from '../base/int64.js'
import { parseDuration } from './duration.js'
import { isHeaderValue } from './secret.js'
import { isTimeZone, nearestTimeZone } from './timezone.js'

// A configuration is checked once, so compiling each check would cost more than it saves.
z.config({ jitless: true })

export type Resources = Readonly<Record<string, Resource>>

/** The tables of a resource, as far as a configuration refers to tables and columns: the model's `tablesOf`. */
export type TableLister = (resource: Resource) => readonly {
  readonly name: string
  readonly columns: readonly {
    readonly name: string
    readonly kind: string
    readonly references?: string | undefined
    readonly personal?: Personal | undefined
  }[]
  readonly key: readonly string[]
}[]

export const textLeaf = (error: string) => z.string({ error }).min(1, { error })

const schemaError =
  'the name of a Postgres schema, such as "shopsync": at most 63 lower case letters, digits and _, without pg_ at the beginning'
const schemaPattern = /^(?!pg_|information_schema$)[a-z_][a-z0-9_]{0,62}$/

/** Whether a schema may have this name. Postgres keeps pg_ for itself, and cuts longer names off without an error. */
export const isSchemaName = (name: string): boolean => schemaPattern.test(name)

export const schemaName = z.string({ error: schemaError }).regex(schemaPattern, { error: schemaError })

export const flag = (doc: string, preset = false) =>
  z.boolean({ error: 'true or false' }).default(preset).describe(doc)

/** A choice from a list of words. */
export const choice = <const T extends readonly string[]>(words: T, error = `one of ${words.join(', ')}`) =>
  z.enum(words, { error })

export const whole = (from: number, to: number) => {
  const error = `a whole number from ${from} to ${to}`
  return z.int({ error }).min(from, { error }).max(to, { error })
}

export const share = (most: number) => {
  const error = `a number from 0 to ${most}`
  return z.number({ error }).min(0, { error }).max(most, { error })
}

/** An optional group of settings, each with a default. */
export const section = <T extends z.core.$ZodShape>(shape: T, doc: string) =>
  z
    .strictObject(shape)
    .prefault({} as never)
    .describe(doc)

/** A duration of at most `most`. The limit keeps times that are computed with it within range. */
export const durationLeaf = (preset: string, doc: string, most?: string) =>
  durationOf(`an ISO 8601 duration such as "${preset}"`, () => true, { preset, doc, most })

/** The same, where zero would mean that there is no time at all. */
export const positiveDurationLeaf = (preset: string, doc: string, most?: string) =>
  durationOf(`an ISO 8601 duration longer than zero, such as "${preset}"`, (value) => value > 0, {
    preset,
    doc,
    most,
  })

function durationOf(
  error: string,
  isRight: (milliseconds: number) => boolean,
  { preset, doc, most = 'P3650D' }: { preset: string; doc: string; most?: string | undefined },
) {
  const longest = parseDuration(most) ?? 0
  const tooLong = `${error}, of at most ${most}`
  const isDuration = (value: string): boolean => {
    const milliseconds = parseDuration(value)
    return milliseconds !== undefined && isRight(milliseconds)
  }
  return z
    .string({ error })
    .refine(isDuration, { error, abort: true })
    .refine((value) => (parseDuration(value) ?? 0) <= longest, { error: tooLong })
    .transform((value) => parseDuration(value) ?? 0)
    .prefault(preset)
    .describe(doc)
}

/**
 * An address or a credential for another server. None begins or ends with a blank or a line break, but what is copied,
 * or written by other programs into a variable, often does.
 */
export const trimmedLeaf = (error: string) => z.string({ error }).trim().min(1, { error })

/** A text, or `{"file": PATH}`, which the loader replaces with the text of the file before the check. */
export const secret = (error: string) =>
  z.union(
    [
      trimmedLeaf(error),
      z.strictObject({ file: textLeaf('the path of a file').describe('Path of the file.') }),
    ],
    { error: `${error}, or {"file": "PATH"}` },
  )

/** Checked here, not with the first request: by then a run has created the warehouse. */
export const apiSecret = secret('the partner secret').superRefine((value, context) => {
  if (typeof value !== 'string' || isHeaderValue(value)) return
  context.addIssue({
    code: 'custom',
    message: 'the partner secret: printable ASCII on one line',
    params: { hint: 'Copy it again as the API operator issued it' },
  })
})

const tenantId = z
  .unknown()
  .refine((value) => parseId(value) !== undefined, { error: 'the id of a tenant: a positive whole number' })
  .transform((value) => parseId(value) ?? 0)
  .meta({ type: ['integer', 'string'], pattern: '^[0-9]{1,19}$', minimum: 1 })

const allOr = <T extends z.ZodType>(item: T, error: string, doc: string) =>
  z
    .union([z.literal('all'), z.array(item).min(1, { error })], { error })
    .prefault('all' as never)
    .describe(doc)

/** A choice of tenants, in the configuration and in jobs. */
export const tenantChoice = (doc: string) =>
  allOr(tenantId, '"all" or a list of tenant ids such as [1, 2]', doc)

/** Tenants, in the configuration. */
export const tenantList = (doc: string) =>
  z.array(tenantId, { error: 'a list of tenant ids such as [1, 2]' }).prefault([]).describe(doc)

/** A choice of resources, in the configuration and in jobs. */
export const resourceChoice = (resources: Resources, doc: string) =>
  allOr(choice(Object.keys(resources), 'the name of a resource'), '"all" or a list of resource names', doc)

/** The location of the file's JSON Schema; every file may have it. */
export const schemaReference = z
  .string()
  .optional()
  .describe('Where the JSON Schema of this file is, for editors.')

/** JSON Schema of a file's text, for editors. Defaults and transformed values aren't in it. */
export function jsonSchema(shape: z.ZodType, head: { title: string; description: string }): object {
  const { $schema, ...body } = z.toJSONSchema(shape, {
    io: 'input',
    // The settings of every resource look the same. Written out for each, their descriptions show up in the editor.
    reused: 'inline',
    unrepresentable: 'any',
  })
  return { $schema, ...head, ...body }
}

const zoneError = 'the name of a time zone such as "America/Chicago"'
const placeHint =
  'Use a place name from the IANA list: an offset has no daylight saving time, and databases read its sign backwards'

/** A duration, or "auto" for a measured one. */
export const durationOrAutoLeaf = (preset: string, doc: string, most = 'P3650D') => {
  const error = `an ISO 8601 duration such as "${preset}", or "auto"`
  const longest = parseDuration(most) ?? 0
  const isAuto = (value: string): boolean => value === 'auto'
  return z
    .string({ error })
    .refine((value) => isAuto(value) || parseDuration(value) !== undefined, { error, abort: true })
    .refine((value) => isAuto(value) || (parseDuration(value) ?? 0) <= longest, {
      error: `${error}, of at most ${most}`,
    })
    .transform((value) => (isAuto(value) ? ('auto' as const) : (parseDuration(value) ?? 0)))
    .prefault(preset)
    .describe(doc)
}

/** The name of a time zone from the IANA list. */
export const timeZoneLeaf = (doc: string) =>
  z
    .string({ error: zoneError })
    .superRefine((value, context) => {
      if (isTimeZone(value)) return
      const near = nearestTimeZone(value)
      const hint = near ? `Did you mean "${near}"?` : placeHint
      context.addIssue({ code: 'custom', message: zoneError, params: { hint } })
    })
    .describe(doc)
