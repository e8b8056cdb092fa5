import { randomUUID } from 'node:crypto'

/** As JSON.stringify, with bigints printed as integers, digit by digit. A value that JSON cannot hold becomes null. */
export function toJson(value: unknown, indent?: number): string {
  // JSON.stringify refuses a bigint: each one passes as a string with a mark that no other text can hold.
  const mark = `int64:${randomUUID()}:`
  const text: string | undefined = JSON.stringify(
    value,
    (_key, item: unknown) => (typeof item === 'bigint' ? `${mark}${item}` : item),
    indent,
  )
  return (text ?? 'null').replaceAll(new RegExp(`"${mark}(-?\\d+)"`, 'g'), '$1')
}
