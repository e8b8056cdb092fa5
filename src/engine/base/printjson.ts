import { randomUUID } from 'node:crypto'

/** Like JSON.stringify, but prints bigints as integers with every digit. A value that JSON can't hold becomes null. */
export function toJson(value: unknown, indent?: number): string {
  // JSON.stringify rejects bigints, so each one passes through as a string with a mark that no other text can contain.
  const mark = `int64:${randomUUID()}:`
  const text: string | undefined = JSON.stringify(
    value,
    (_key, item: unknown) => (typeof item === 'bigint' ? `${mark}${item}` : item),
    indent,
  )
  return (text ?? 'null').replaceAll(new RegExp(`"${mark}(-?\\d+)"`, 'g'), '$1')
}
