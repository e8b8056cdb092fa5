import { idMark, repairOrder, updatedMark } from './record.js'

/** How many orders differ in their text; the others repeat them with ids and times of their own. */
const bodies = 400
/** Ids of one order; more than it has rows. */
const idsPerRecord = 64
const firstId = 1_000_000_000
const digits = String(idMark).length

/** The JSON text of one order, and where its ids and its updated_at stand in it. */
interface Template {
  readonly text: Buffer
  /** Offset and number of each id in turn. */
  readonly ids: Int32Array
  readonly updatedAt: number
}

function template(seed: number): Template {
  const text = Buffer.from(JSON.stringify(repairOrder(seed)))
  // Every mark is ASCII: byte offsets are those of the same text read as Latin-1.
  const found = text.toString('latin1').matchAll(/9000000(\d{3})/g)
  const ids = Int32Array.from([...found].flatMap((match) => [match.index, Number(match[1])]))
  return { text, ids, updatedAt: text.indexOf(updatedMark) }
}

const templates = Array.from({ length: bodies }, (_, seed) => template(seed))

const templateOf = (record: number, version: number): Template =>
  templates[(record * 7 + version * 13) % bodies] as Template

/** A number of ten digits over the mark, which has as many; all are below 2^31, where division is cheap. */
function writeDigits(target: Buffer, at: number, value: number): void {
  let rest = value | 0
  for (let i = at + digits - 1; i >= at; i--) {
    const next = (rest / 10) | 0
    target[i] = 48 + rest - next * 10
    rest = next
  }
}

export const sizeOf = (record: number, version: number): number => templateOf(record, version).text.length

/** Writes one order into a page; returns where it ends. A later version has another body, under ids of the same range. */
export function writeRecord(
  page: Buffer,
  at: number,
  record: number,
  version: number,
  updatedAt: number,
): number {
  const { text, ids, updatedAt: updated } = templateOf(record, version)
  text.copy(page, at)
  const first = firstId + record * idsPerRecord
  for (let i = 0; i < ids.length; i += 2) writeDigits(page, at + (ids[i] ?? 0), first + (ids[i + 1] ?? 0))
  page.write(new Date(updatedAt).toISOString(), at + updated, 'latin1')
  return at + text.length
}
