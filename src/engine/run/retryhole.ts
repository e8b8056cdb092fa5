/*
 * Retries what failed in a cursor's earlier walks. Remembered holes, with two requests per run: walks begin behind those
 * that remain. Pages that couldn't be read because of their size, with one request per day that fails. cursorwalk.ts
 * does so before each walk.
 */
import { endOfSecond } from '../base/timestamp.js'
import type { Hole } from '../list/anomalies.js'
import { cutBefore, epoch } from '../list/cutpoint.js'
import type { Memory } from '../list/memory.js'
import { nextLarger } from '../list/pagesize.js'
import type { WalkPage } from '../list/types.js'
import type { FlatPage } from '../model/flatten/batch.js'
import type { Fetched } from '../warehouse/store/versionbatch.js'
import type { CursorList } from './cursorlist.js'

/**
 * Extra places in addition to the hole's own, since times may be printed with less precision than they have, and the
 * list may move.
 */
const margin = 2

/**
 * Retries a hole with two requests: how many records are newer than the one behind it, and the page on which it then
 * is. Returns the page if it answers, and whether it shows everything there: then nothing is missing.
 */
async function tryHole<P extends FlatPage<unknown>>(
  list: CursorList<P>,
  { after, records }: Hole,
  most: number,
): Promise<{ readonly page: WalkPage<Fetched<P>>; readonly isClosed: boolean } | undefined> {
  const newer = (await list.attempt(after, 1, 1))?.total
  if (newer === undefined) return undefined
  const place = pageOver(Math.max(0, newer - records - margin), newer + 1, most)
  const page = await list.attempt(cutBefore(after), place.page, place.perPage)
  if (!page) return undefined
  const isEnd = page.total <= place.page * place.perPage
  return { page, isClosed: isEnd || page.observed.some(({ updatedAt }) => updatedAt <= after) }
}

/**
 * Retries the remembered hole that has waited longest. `from`: the list has to be read from there, because a hole has
 * closed. Until that is done, nothing is stored, so that a killed walk leaves it to the next one.
 */
export async function retryHole<P extends FlatPage<unknown>>(
  list: CursorList<P>,
  memory: Memory,
): Promise<{
  readonly memory: Memory
  /** What to store with the page. */
  readonly toStore?: Memory | undefined
  readonly page?: WalkPage<Fetched<P>> | undefined
  readonly from?: string | undefined
}> {
  const { holes: [hole, ...others] = [], ...rest } = memory
  const { most } = list
  const answer = hole && (await tryHole(list, hole, Math.min(most, memory.size ?? most)))
  const left = hole && !answer?.isClosed ? [...others, hole] : others
  const after = left.length > 0 ? { ...rest, holes: left } : rest
  const from = answer?.isClosed ? hole?.from : undefined
  return {
    memory: after,
    page: answer?.page,
    from,
    toStore: from === undefined ? after : undefined,
  }
}

/** The smallest page that holds the places from `from` to `to`, if the source serves pages of that size. */
function pageOver(from: number, to: number, most: number): { page: number; perPage: number } {
  for (let perPage = to - from; perPage < most; perPage++) {
    const page = Math.floor(from / perPage)
    if (to <= (page + 1) * perPage) return { page: page + 1, perPage }
  }
  return { page: Math.floor(from / most) + 1, perPage: most }
}

/**
 * Where a walk begins so that it doesn't meet a remembered hole: behind it. A record that becomes visible late there
 * waits until the hole closes; then the list is read from `from`.
 */
export function beyondHoles(
  floor: string,
  memory: Memory,
): { readonly floor: string; readonly memory: Memory } {
  const { holes = [] } = memory
  const isAbove = ({ until }: Hole): boolean => endOfSecond(until) > floor
  if (!holes.some(isAbove)) return { floor, memory }
  const tops = holes.filter(isAbove).map(({ until }) => endOfSecond(until))
  return {
    floor: tops.reduce((top, time) => (time > top ? time : top), floor),
    memory: {
      ...memory,
      holes: holes.map((hole) => (isAbove(hole) ? { ...hole, from: earlier(hole.from, floor) } : hole)),
    },
  }
}

const earlier = (one: string | undefined, other: string): string =>
  one !== undefined && one < other ? one : other

/** Once a day, requests the first page of the whole list in larger sizes until one fails, if large pages couldn't be read. */
export async function tryLarger<P extends FlatPage<unknown>>(
  list: CursorList<P>,
  memory: Memory,
  today: string,
): Promise<Memory> {
  const { readable, ...rest } = memory
  if (!readable || readable.triedOn === today) return memory
  list.readable = undefined
  const { most } = list
  let { size } = readable
  for (let next = nextLarger(size, most); size < most && (await list.attempt(epoch, 1, next)); ) {
    size = next
    next = nextLarger(size, most)
  }
  if (size >= most) return rest
  list.readable = size
  return { ...rest, readable: { size, triedOn: today } }
}

/**
 * The memory with the size of pages that the list has turned out to need. undefined if that was known. It is stored with
 * the next page: a walk that is cut short has learned it for the walk that resumes it.
 */
export const withReadable = <P extends FlatPage<unknown>>(
  { readable: size }: CursorList<P>,
  memory: Memory,
  today: string,
): Memory | undefined =>
  size === undefined || size === memory.readable?.size
    ? undefined
    : { ...memory, readable: { size, triedOn: today } }
