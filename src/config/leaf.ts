import { z } from 'zod'
import type { Resource } from '../../schema/resource.js'
import { parseId } from '../int64.js'
import { parseDuration } from './duration.js'

export type Resources = Readonly<Record<string, Resource>>

/*
 * Every leaf says, as its error, what is expected of it: problems.ts adds what was found and what to type.
 */

export const textLeaf = (error: string) => z.string({ error }).min(1, { error })
export const flag = (doc: string) => z.boolean({ error: 'true or false' }).default(false).describe(doc)

export const whole = (from: number, to: number) => {
  const error = `a whole number from ${from} to ${to}`
  return z.int({ error }).min(from, { error }).max(to, { error })
}

export const durationLeaf = (preset: string, doc: string) => {
  const error = `an ISO 8601 duration such as "${preset}"`
  return z
    .string({ error })
    .refine((value) => parseDuration(value) !== undefined, { error })
    .transform((value) => parseDuration(value) ?? 0)
    .prefault(preset)
    .describe(doc)
}

/** A text, or `{"file": PATH}`, which the loader has replaced by the file's text before this is asked. */
export const secret = (error: string) =>
  z.union(
    [textLeaf(error), z.strictObject({ file: textLeaf('the path of a file').describe('Path of the file.') })],
    {
      error: `${error}, or {"file": "PATH"}`,
    },
  )

const tenantId = z
  .unknown()
  .refine((value) => parseId(value) !== undefined, { error: 'the id of a tenant: a positive whole number' })
  .transform((value) => parseId(value) ?? 0)
  .meta({ type: ['integer', 'string'], pattern: '^[0-9]{1,19}$', minimum: 1 })

/** Which tenants: everywhere that a choice of them is written. */
export const tenantChoice = (doc: string) => {
  const error = '"all" or a list of tenant ids such as [1, 2]'
  return z
    .union([z.literal('all'), z.array(tenantId).min(1, { error })], { error })
    .prefault('all')
    .describe(doc)
}

/** Which resources: everywhere that a choice of them is written. */
export const resourceChoice = (resources: Resources, doc: string) => {
  const names = Object.keys(resources)
  const error = '"all" or a list of resource names'
  return z
    .union(
      [z.literal('all'), z.array(z.enum(names, { error: 'the name of a resource' })).min(1, { error })],
      { error },
    )
    .prefault('all')
    .describe(doc)
}

/** JSON Schema of what a file may say (not of what becomes of it). */
export function jsonSchema(shape: z.ZodType, head: { title: string; description: string }): object {
  const { $schema, ...body } = z.toJSONSchema(shape, {
    io: 'input',
    // The settings of all resources look the same; written out twenty times each editor shows their texts in place.
    reused: 'inline',
    unrepresentable: 'any',
  })
  return { $schema, ...head, ...body }
}
