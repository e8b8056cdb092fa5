/**
 * Generated records in a quarter of the memory, for a sandbox of many tenants: their texts are compressed in blocks of
 * neighbors, which a page of a list shows together. Used by ../data/world.ts.
 */
import { deflateRawSync, inflateRawSync } from 'node:zlib'
import type { StoredRecord } from './collection.js'

/** Characters in a block. In longer ones they take less room, but a single record takes longer to read. */
const blockLength = 65_536

/** Blocks whose texts are kept once they were read: as many as the longest list of a tenant has. */
const mostOpen = 256
const opened = new Map<Block, readonly string[]>()

class Block {
  readonly #compressed: Buffer

  constructor(texts: readonly string[]) {
    // JSON text has no line breaks. The copy is as large as its content; the original may be a part of something larger.
    this.#compressed = Buffer.from(deflateRawSync(texts.join('\n'), { level: 1 }))
  }

  get texts(): readonly string[] {
    const known = opened.get(this)
    if (known) return known
    const texts = inflateRawSync(this.#compressed).toString().split('\n')
    const [oldest] = opened.keys()
    if (oldest && opened.size >= mostOpen) opened.delete(oldest)
    opened.set(this, texts)
    return texts
  }
}

class PackedRecord implements StoredRecord {
  readonly #block: Block
  readonly #place: number

  constructor(
    readonly key: number,
    readonly micros: StoredRecord['micros'],
    readonly seq: number,
    block: Block,
    place: number,
  ) {
    this.#block = block
    this.#place = place
  }

  get text(): string {
    return this.#block.texts[this.#place] ?? ''
  }
}

/** The same records, in the same order. */
export function packed(records: readonly StoredRecord[]): StoredRecord[] {
  const found = new Map<StoredRecord, StoredRecord>()
  let [neighbors, length]: [StoredRecord[], number] = [[], 0]
  const close = (): void => {
    const block = new Block(neighbors.map(({ text }) => text))
    for (const [place, record] of neighbors.entries())
      found.set(record, new PackedRecord(record.key, record.micros, record.seq, block, place))
    neighbors = []
    length = 0
  }
  for (const record of records.toSorted((a, b) =>
    a.micros === b.micros ? a.seq - b.seq : a.micros < b.micros ? -1 : 1,
  )) {
    neighbors.push(record)
    length += record.text.length
    if (length >= blockLength) close()
  }
  if (neighbors.length > 0) close()
  return records.map((record) => found.get(record) ?? record)
}
