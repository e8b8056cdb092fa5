import { Stop } from '../engine/base/errors.js'
import type { Shard } from '../engine/base/shard.js'

/* Parses values of flags, whose type is unknown when commander returns them. */

/** The values of a flag that may be repeated. */
export const listOf = (value: unknown): string[] => (Array.isArray(value) ? value.map(String) : [])

/** The whole number that a flag has. undefined without the flag. */
export function wholeNumber(
  flag: string,
  value: unknown,
  {
    from = 0,
    to,
    example,
  }: { readonly from?: number | undefined; readonly to?: number; readonly example: number },
): number | undefined {
  if (value === undefined) return undefined
  const number = /^\d+$/.test(String(value)) ? Number(value) : Number.NaN
  if (number >= from && number <= (to ?? Number.MAX_SAFE_INTEGER)) return number
  const range = to !== undefined ? ` from ${from} to ${to}` : from > 0 ? `, ${from} or more` : ''
  throw new Stop(`Found ${flag} "${value}", expected a whole number${range}`, {
    exitCode: 2,
    hint: `Type ${to === undefined ? 'for example ' : ''}${flag} ${example}`,
  })
}

/** The most shards there can be. */
const mostShards = 64

const numberWords = [
  '',
  'one',
  'two',
  'three',
  'four',
  'five',
  'six',
  'seven',
  'eight',
  'nine',
  'ten',
  'eleven',
  'twelve',
]

/** The shard that --shard names. undefined without the flag. */
export function shardNamed(value: unknown): Shard | undefined {
  if (value === undefined) return undefined
  const [, index, of] = /^(\d{1,3})\/(\d{1,3})$/.exec(String(value)) ?? []
  const shard = { index: Number(index), of: Number(of) }
  const isPossible = of !== undefined && shard.of >= 1 && shard.of <= mostShards
  if (isPossible && shard.index < shard.of) return shard
  const many = isPossible ? shard.of : 8
  const range = isPossible
    ? many === 1
      ? '0/1'
      : `I/N with I from 0 to ${many - 1}`
    : `I/N with N from 1 to ${mostShards}, and I from 0`
  throw new Stop(
    `Found ${value}, expected ${range}: the first of ${numberWords[many] ?? many} is 0/${many}`,
    {
      exitCode: 2,
      hint: `Type --shard 0/${many}`,
    },
  )
}
