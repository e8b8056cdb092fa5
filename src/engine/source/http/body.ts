import { isUtf8 } from 'node:buffer'
import { gunzipSync } from 'node:zlib'
import { Retry } from '../../base/errors.js'
import { type Parsed, parseJson } from './exactjson.js'
import type { RawReply } from './transport.js'

/** The body is larger than the cap; another attempt would not make it smaller. */
export const TOO_LARGE = Symbol('too large')

/** Throws Retry when the body is no JSON; the message names the kind of content that was found, never the content. */
export function readBody(reply: RawReply, maxBytes: number): Parsed | typeof TOO_LARGE {
  if (reply.tooLarge) return TOO_LARGE
  const unpacked = decoded(reply, maxBytes)
  if (unpacked === TOO_LARGE) return TOO_LARGE
  const bytes = startsWithMark(unpacked) ? unpacked.subarray(3) : unpacked
  if (!isUtf8(bytes)) throw new Retry(`the body (${bytes.length} bytes) is no valid UTF-8`)
  try {
    return parseJson(bytes)
  } catch {
    const type = reply.headers['content-type']?.replace(/[^\w/.+-].*$/s, '').slice(0, 60) || 'no type'
    const begin = bytes.toString('latin1', 0, 100)
    const like = /^\s*</.test(begin) ? 'looks like HTML' : begin === '' ? 'is empty' : 'is no valid JSON'
    throw new Retry(`the body (${bytes.length} bytes of ${type}) ${like}, expected JSON`)
  }
}

function decoded(reply: RawReply, maxBytes: number): Buffer | typeof TOO_LARGE {
  const encoding = reply.headers['content-encoding']?.trim().toLowerCase() ?? 'identity'
  if (encoding === 'identity' || encoding === '') return reply.body
  if (encoding !== 'gzip' && encoding !== 'x-gzip')
    throw new Retry('the body has a content-encoding that was not asked for, expected gzip or none')
  try {
    return gunzipSync(reply.body, { maxOutputLength: maxBytes })
  } catch (error) {
    if (error instanceof RangeError) return TOO_LARGE
    throw new Retry(`the body (${reply.body.length} bytes) does not unpack as gzip`)
  }
}

/** The byte order mark. */
const startsWithMark = (bytes: Buffer): boolean => bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf
