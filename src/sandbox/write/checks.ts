import { parseInstant } from '../instant.js'

/** Returns the complaint about a value of a request body, or undefined. */
export type ValueCheck = (value: unknown) => string | undefined

export interface BodyField {
  readonly check: ValueCheck
  readonly required: boolean
}

export const required = (check: ValueCheck): BodyField => ({ check, required: true })
export const optional = (check: ValueCheck): BodyField => ({ check, required: false })

const unless =
  (message: string, test: (value: unknown) => boolean): ValueCheck =>
  (value) =>
    test(value) ? undefined : message

const isText = (value: unknown): value is string => typeof value === 'string'

export const check = {
  integer: unless('is not an integer', Number.isSafeInteger),
  string: unless('is not a string', isText),
  filled: unless('is not a string with something in it', (value) => isText(value) && value.trim() !== ''),
  boolean: unless('is not true or false', (value) => typeof value === 'boolean'),
  timestamp: unless(
    'is not an ISO 8601 datetime with a timezone',
    (value) => isText(value) && parseInstant(value) !== undefined,
  ),
  oneOf: (values: Iterable<string>): ValueCheck => {
    const known = [...values]
    return unless(`is not one of ${known.join(', ')}`, (value) => isText(value) && known.includes(value))
  },
  /** An empty text is accepted: it empties the field. */
  matching: (pattern: RegExp, message: string): ValueCheck =>
    unless(message, (value) => isText(value) && (value === '' || pattern.test(value))),
  unless,
}
